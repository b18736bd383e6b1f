/* study.h - a claim put to a test: variants of a configuration, several seeds each, measured and
 * judged.
 *
 * A study is data, a JSON file (the built-in ones are the .json files of this directory):
 *
 *   {"name": "partner", "claim": "one sentence", "seeds": 5,
 *    "base": {"task": "partner", "steps": 1500},              options as in config.json
 *    "groups": [{"name": "...", "set": {...}}],               optional: every variant in each group
 *    "variants": [{"name": "tied Q=K", "set": {"tie": "qk"}, "in": ["group", ...]}],
 *    "probes": ["interventions"],                             see probes.def; groups, variants may
 *    add some
 *    "columns": ["steps99", {"measure": "mass", "as": "attention on the answer"}],   of the table
 *    "bands": [{"variant": "tied Q=K", "group": "...", "measure": "accuracy", "most": 0.55}],
 *    "picture": {"kind": "bars", "measures": ["accuracy"], "title": "...", "label": "..."},
 *    "seen": "text with {variant|measure|format}", "holds": "...", "fails": "..."}
 *
 * Measures: accuracy loss mass decoy in_bag all_right (2048 fresh test examples), steps99, seconds,
 * cached (numbers kept for each token: its keys and values, or their latent), qk_* ov_*, whatever
 * the probes find, and MEASURE@STEP for what was evaluated on the way. "A + B" and "A - B" are
 * measures, too. A band holds if every seed is inside.
 *
 * Pictures: "bars" has a bar for each variant (several measures: for each of them, under the
 * variant's name). "lines" is over "x": an option or a measure (a curve for each group), or
 * whatever stands for the # in the measures, as in accuracy@# or lengths.n#.mass (a curve for each
 * measure and variant). "groups" lists those to be shown, "x_label"
 * and "label" are written at the axes. */
#ifndef TRAIN_STUDY_STUDY_H
#define TRAIN_STUDY_STUDY_H

#include "train/io.h"
#include "train/probe/measure.h"
#include "train/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *group, *name;
    const char *json;  // the options that differ from the defaults and the task's recommendation
    const train_probe **probe;
    int n_probes;
    uint32_t key;  // a checksum of json and probes: results of another set-up are not mixed in
} train_variant;

typedef struct {
    const char *measure, *as;  // as: what people read
} train_shown;

typedef struct {
    const char *group, *variant, *measure;  // group "": every group
    double least, most;                     // -inf, inf: open
} train_band;

typedef struct {
    const char *kind, *x, *x_label, *title, *label;  // kind "": no picture
    train_shown *shown;
    const char **group;  // n_groups 0: all of them
    int n_shown, n_groups;
} train_study_picture;

typedef struct {
    tensor_arena *arena;
    const char *name, *claim, *seen, *holds, *fails;
    int seeds, first_seed;
    int n_variants, n_columns, n_bands;
    train_variant *variant;
    train_shown *column;
    train_band *band;
    train_study_picture picture;
} train_study;

/* From JSON text; NULL with a sentence in error (TRAIN_ERROR). Freed by train_study_free. */
train_study *train_study_parse(const char *text, size_t n, char *error);
void train_study_free(train_study *s);

/* The built-in studies, as text; a NULL name ends the list. */
typedef struct {
    const char *name;
    const char *const *lines;
} train_study_file;
extern const train_study_file train_study_files[];

/* ---- one training ---- */

/* Trains variant v with a seed and measures it. False with a sentence in error. stop as in
 * train_run_options. */
bool train_study_job(const train_study *s, int variant, int seed, const struct train_plugin *plugin,
                     int threads, const volatile sig_atomic_t *stop, train_measures *out,
                     char *error);

/* ---- results: one line of JSON for each finished training, in DIR/results.jsonl ---- */

typedef struct {
    int variant, seed;
    char *error;  // NULL: it went well
    train_measures measures;
} train_result;

typedef struct {
    tensor_arena *arena;
    train_result *at;
    int n, room;
} train_results;

/* Reads the results of this study that are there (a torn last line and other set-ups are left out).
 */
train_file_status train_results_read(const train_io *io, const char *path, const train_study *s,
                                     train_results *out, char *error);
bool train_results_add(train_results *r, const train_result *one);
const train_result *train_results_find(const train_results *r, int variant, int seed);

/* One result as a line, malloc'd; NULL: out of memory. */
char *train_result_line(const train_study *s, const train_result *r);

/* ---- running ---- */

typedef struct {
    const char *dir;
    int jobs, threads;  // trainings at once; threads of each
    int part, parts;    // this machine's share: trainings part, part + parts, ... ; parts 1: all
    const struct train_plugin *plugin;
    const volatile sig_atomic_t *stop;
    void (*progress)(void *ctx, int done, int total, double seconds);
    void *ctx;
} train_study_options;

/* Runs the trainings that have no result yet, then leaves all results in *out. TRAIN_STOPPED: the
 * finished ones are kept, the same call goes on. One training that fails does not end the others:
 * its sentence is its result. */
train_status train_study_run(const train_io *io, const train_study *s, const train_study_options *o,
                             train_results *out, char *error);

/* ---- judging ---- */

typedef struct {
    int n, failed;  // seeds measured; trainings that failed
    double mean, sd, least, most;
} train_summary_of;

/* A measure of a result, or a sum: "A + B - C". NaN: not measured, or the training failed. */
double train_result_value(const train_result *r, const char *measure);

train_summary_of train_summarise(const train_study *s, const train_results *r, int variant,
                                 const char *measure);

typedef enum {
    TRAIN_BAND_HOLDS,
    TRAIN_BAND_FAILS,
    TRAIN_BAND_UNKNOWN
} train_band_verdict;  // unknown: nothing measured
train_band_verdict train_band_judge(const train_study *s, const train_results *r,
                                    const train_band *b);

/* "holds" or "fails" as a whole: every band must hold. */
bool train_study_holds(const train_study *s, const train_results *r);

/* The table, the bands and three sentences (claim, seen, verdict), as people read it. */
void train_study_text(const train_study *s, const train_results *r, train_text *out);

/* DIR/table.csv, DIR/seeds.csv and the data of the picture (DIR/bars.csv or DIR/lines.csv). */
bool train_study_write(const train_io *io, const train_study *s, const train_results *r,
                       const char *dir, char *error);

#ifdef __cplusplus
}
#endif
#endif
