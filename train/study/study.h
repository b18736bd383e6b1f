/* study.h - a claim put to a test: variants of a configuration, each trained with several seeds,
 * measured and judged.
 *
 * A study is data, a JSON file: docs/studies.md says what its members are; the built-in ones are the .json
 * files of this directory. All that a study names is looked for before it is trained. "base" and "set" hold
 * no "seed", which is each training's own, and no "from". The interval of a share, of how many seeds are
 * inside a limit, is Wilson's ("Probable Inference", 1927, equation 5), with 95 % confidence. */
#pragma once

#include "train/io/io.h"
#include "train/run/run.h"
#include "train/study/probe.h"

TENSOR_C_BEGIN

typedef struct {
    const char *group, *name;
    const char *json;  // the options that differ from the defaults and the task's recommendation
    const qkv_study_probe **probe;
    int n_probes;
    uint32_t key;  // a checksum of json and probes: results of another set-up are not mixed in
} qkv_study_variant;

typedef struct {
    const char *measure, *as;  // as: what people read
    bool counted;              // how many seeds are inside [least, most], instead of their mean
    double least, most;
} qkv_study_shown;

/* Was a band written down before anything was measured? */
typedef enum { QKV_STUDY_SET_UNSAID, QKV_STUDY_SET_BEFORE, QKV_STUDY_SET_AFTER } qkv_study_set;

typedef struct {
    const char *group, *variant, *measure;  // group "": every group
    double least, most;                     // -inf, inf: open
    double seeds_least, seeds_most;         // share of the seeds that are inside; 1, 1: all
    qkv_study_set set;
    const char *tests;  // a clause of the claim; "": nobody says
} qkv_study_band;

typedef struct {
    const char *kind, *x, *x_label, *title, *label;  // kind "": no picture
    bool log, seeds;  // bars: on a logarithmic axis; lines: every seed is shown
    qkv_study_shown *shown;
    const char **group;  // or variants; n_groups 0: all of them
    int n_shown, n_groups;
} qkv_study_picture;

typedef struct {
    tensor_arena *arena;
    const char *name, *claim, *seen, *holds, *fails;
    int seeds, first_seed;
    bool ends_only;  // of a measure only what it is in the end, nothing of the way
    int n_variants, n_columns, n_bands, n_clauses;
    qkv_study_variant *variant;
    qkv_study_shown *column;
    qkv_study_band *band;
    const char **clause;
    qkv_study_picture picture;
} qkv_study;

/* From JSON text; NULL with a sentence in error (QKV_IO_ERROR). Freed by qkv_study_free. */
qkv_study *qkv_study_parse(const char *text, size_t n, char *error);
void qkv_study_free(qkv_study *s);

/* Files that the study's options name (--data of the task `file`) are beside the study's own, `file`.
 * They are read; results of another content are not mixed in, and a file that changes meanwhile is
 * refused. plugin may be NULL. False with a sentence. */
bool qkv_study_find_data(qkv_study *s, const char *file, const struct qkv_config_plugin *plugin,
                         char *error);

/* The built-in studies, as text; a NULL name ends the list. */
typedef struct {
    const char *name;
    const char *const *lines;
} qkv_study_file;
extern const qkv_study_file qkv_study_files[];

/* ---- one training ---- */

/* What that training is configured as; data_release() the spec. */
bool qkv_study_config(const qkv_study *s, int variant, int seed,
                      const struct qkv_config_plugin *plugin, qkv_config *c, data_spec *spec,
                      char *error);

/* Trains variant v with a seed and measures it. False with a sentence in error. stop as in
 * qkv_run_options. */
bool qkv_study_job(const qkv_study *s, int variant, int seed,
                   const struct qkv_config_plugin *plugin, int threads,
                   const volatile sig_atomic_t *stop, qkv_probe_measures *out, char *error);

/* A training: a variant with a seed. What is known by its id is the same cell in every list. */
typedef struct {
    int variant, seed;
} qkv_study_cell;
uint64_t qkv_study_cell_id(const qkv_study *s, const qkv_study_cell *cell);

/* ---- results: one line of JSON for each finished training, in DIR/results.jsonl ---- */

typedef struct {
    int variant, seed;
    char *error;  // NULL: it went well
    qkv_probe_measures measures;
} qkv_study_result;

typedef struct {
    tensor_arena *arena;
    qkv_study_result *at;
    int n;
    size_t room;
    bool keep_failed;  // lines of trainings that failed count, too
} qkv_study_results;

/* Reads the results of this study that are there, without a torn last line and other set-ups. */
qkv_io_status qkv_study_results_read(const qkv_io *io, const char *path, const qkv_study *s,
                                     qkv_study_results *out, char *error);
/* Results stand in the order of variants and seeds, however they came. */
bool qkv_study_results_add(qkv_study_results *r, const qkv_study_result *one);
/* The same from its line. Trainings that are there already are left out, and failed ones unless
 * keep_failed, so that they are tried again. */
bool qkv_study_results_add_line(const qkv_study *s, const char *line, size_t n,
                                qkv_study_results *out);
const qkv_study_result *qkv_study_results_find(const qkv_study_results *r, int variant, int seed);

/* One result as a line, malloc'd; NULL: out of memory. */
char *qkv_study_result_line(const qkv_study *s, const qkv_study_result *r);

/* ---- running ---- */

typedef struct {
    const char *dir;
    int jobs, threads;  // trainings at once; threads of each
    int part, parts;    // this machine's share: trainings part, part + parts, ... ; parts 1: all
    const struct qkv_config_plugin *plugin;
    const volatile sig_atomic_t *stop;
    void (*progress)(void *ctx, int done, int total, double seconds);
    void *ctx;
} qkv_study_options;

/* Runs the trainings that have no result yet, then leaves all results in *out. QKV_IO_STOPPED: the
 * finished ones are kept, the same call goes on. One training that fails does not end the others:
 * its sentence is its result. Other processes may run cells of the same directory: each is trained
 * once, and the call ends when all are. */
qkv_io_status qkv_study_run_cells(const qkv_io *io, const qkv_study *s, const qkv_study_cell *cells,
                                  int n, const qkv_study_options *o, qkv_study_results *out,
                                  char *error);

/* The same for all of a study, which has the directory for itself. */
qkv_io_status qkv_study_run(const qkv_io *io, const qkv_study *s, const qkv_study_options *o,
                            qkv_study_results *out, char *error);

/* A training without a step: which numbers would be measured, whatever they are. False with a
 * sentence. */
bool qkv_study_rehearse(const qkv_study *s, int variant, const qkv_study_options *o,
                        qkv_probe_measures *out, char *error);

/* Before anything is trained: do all options exist, fit together and have an effect, does every variant
 * measure what its bands, and some variant what columns, picture and sentences name? Variants that have
 * results (known may be NULL) are judged by them, others rehearsed. QKV_IO_USAGE: no, with a
 * sentence. */
qkv_io_status qkv_study_check(const qkv_study *s, const qkv_study_results *known,
                              const qkv_study_options *o, char *error);

/* ---- judging ---- */

typedef struct {
    int n, failed;  // seeds measured; trainings that failed
    double mean, sd, least, most;
} qkv_study_summary;

/* A measure of a result, or a sum: "A + B - C". NaN: not measured, or the training failed. */
double qkv_study_result_value(const qkv_study_result *r, const char *measure);

qkv_study_summary qkv_study_summarise(const qkv_study *s, const qkv_study_results *r, int variant,
                                      const char *measure);

/* Of n seeds measured, how many are inside [least, most]; the interval of Wilson for that share. A seed
 * that has not the measure is outside. */
typedef struct {
    int n, inside;
    double low, high;
} qkv_study_count;
qkv_study_count qkv_study_counted(const qkv_study *s, const qkv_study_results *r, int variant,
                                  const char *measure, double least, double most);

typedef enum {
    QKV_STUDY_BAND_HOLDS,
    QKV_STUDY_BAND_FAILS,
    QKV_STUDY_BAND_UNKNOWN
} qkv_study_band_verdict;  // unknown: a seed was not measured, or its training failed
qkv_study_band_verdict qkv_study_band_judge(const qkv_study *s, const qkv_study_results *r,
                                            const qkv_study_band *b);

/* Is the band about the variant? */
bool qkv_study_about(const qkv_study *s, const qkv_study_band *b, int variant);

/* Does a band test that clause of the claim? */
bool qkv_study_tests(const qkv_study *s, int clause);

/* How many of its trainings have no result, and how many have failed. */
int qkv_study_missing(const qkv_study *s, const qkv_study_results *r);
int qkv_study_failed(const qkv_study *s, const qkv_study_results *r);

/* The study as a whole: every band must hold, of all its trainings, each of which must have gone well.
 * Incomplete: a training is missing or has failed, or a band has not all of its numbers and none
 * fails. Without bands nothing was put to a test. */
typedef enum {
    QKV_STUDY_HOLDS,
    QKV_STUDY_FAILS,
    QKV_STUDY_INCOMPLETE,
    QKV_STUDY_WITHOUT_BANDS
} qkv_study_verdict;
qkv_study_verdict qkv_study_judge(const qkv_study *s, const qkv_study_results *r);

/* The table, the bands and three sentences (claim, seen, verdict: how many bands hold), as people read it. */
void qkv_study_text(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out);

/* DIR/table.csv, DIR/seeds.csv, DIR/cells.csv (a row for each training, with its options as columns) and the
 * data of the picture (DIR/bars.csv or DIR/lines.csv). plugin may be NULL. */
bool qkv_study_write(const qkv_io *io, const qkv_study *s, const qkv_study_results *r,
                     const struct qkv_config_plugin *plugin, const char *dir, char *error);

TENSOR_C_END
