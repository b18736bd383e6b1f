/* metrics.h - what is measured of a model: the one table of names that metrics.csv, the JSON of
 * train and eval, and the studies loop over; and metrics.csv itself.
 *
 * In metrics.csv a row for each evaluated step: step, the columns of the table; before the last two
 * the norms of weights and of their gradients. An empty field: the task has no such number. */
#pragma once

#include "train/io/io.h"
#include "train/io/text.h"
#include "train/probe/circuits.h"
#include "train/trainer/loop.h"

TENSOR_C_BEGIN

/* What is known at one step. */
typedef struct {
    int step;
    double loss;  // of the training batch; NaN before there is one
    qkv_trainer_scores scores;
    bool has_circuits;
    qkv_probe_circuits circuits;  // of the last layer's head that looks most at the answer
    double lr, seconds;
} qkv_run_moment;

typedef struct {
    const char *name;    // in JSON, and as a study's measure; NULL: of no use there
    const char *column;  // in metrics.csv; NULL: not there
    double (*of)(const qkv_run_moment *m);  // NaN: not known
    bool after_norms;                       // the columns that stand behind the norms
    bool of_text;                           // only where the task is a text
} qkv_run_metric;

extern const qkv_run_metric qkv_run_metrics[];  // a NULL function ends it

/* A moment of a trainer; circuits, if the model has any, live in the arena. */
qkv_run_moment qkv_run_moment_new(tensor_arena *arena, qkv_trainer *t);

/* Puts scores, and the circuits as the model stands, into the moment. */
void qkv_run_moment_see(qkv_trainer *t, const qkv_trainer_scores *s, qkv_run_moment *m);

/* The same of scores on the first `count` examples of a split, the model being at this step. */
bool qkv_run_moment_look(qkv_trainer *t, const char *split, int count, int step, qkv_run_moment *m,
                         char *error);

/* ---- metrics.csv ---- */

void qkv_run_metrics_header(qkv_trainer *t, qkv_io_text *out);

/* The row, with the norms of the parameters and of their gradients as they stand. */
void qkv_run_metrics_row(qkv_trainer *t, const qkv_run_moment *m, qkv_io_text *out);

/* What metrics.csv tells a run that goes on at `step`. */
typedef struct {
    size_t keep;                // bytes of it that stay: whole rows of earlier steps; 0: no header
    qkv_trainer_course before;  // the evaluations of these rows
    qkv_trainer_course with;    // and of the row of `step` itself, if it is there
    double seconds;             // of the last of them
    size_t keep_clock;          // bytes of clock.csv that stay
} qkv_run_past;

/* False with what is wrong in error ("line 5 is not the row of step 40"): another header, a row of
 * an earlier step that is missing or malformed. What stands after those was never promised: it may
 * be anything. `first`: the step at which the run began. */
bool qkv_run_metrics_read(qkv_trainer *t, const char *text, size_t n, int first, int step,
                          qkv_run_past *out, char *error);

/* The batch's loss in the row of a step; false: there is no such row. */
bool qkv_run_metrics_loss(const char *text, size_t n, int step, double *loss);

/* clock.csv: a row for each checkpoint. Into *out: how many bytes are whole rows up to `step`, and
 * the seconds of the last, if they are more. Missing rows, a torn one, bytes that are no text are a
 * crash's, since nobody waited for the disk; false, with a sentence: a line of text that no run writes. */
#define QKV_RUN_CLOCK_HEADER "step,seconds\n"
bool qkv_run_clock_read(const char *text, size_t n, int step, qkv_run_past *out, char *error);

TENSOR_C_END
