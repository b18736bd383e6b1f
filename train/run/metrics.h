/* metrics.h - metrics.csv: one row for each evaluated step.
 *
 * step, losses, accuracy, where attention goes, circuits, norms of weights and of their gradients,
 * lr; wall-clock last. An empty field: the task has no such number. */
#ifndef QKV_RUN_METRICS_H
#define QKV_RUN_METRICS_H

#include "train/io/io.h"
#include "train/io/text.h"
#include "train/probe/circuits.h"
#include "train/trainer/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known at one step. */
typedef struct {
    int step;
    double loss;  // of the training batch; NaN before there is one
    qkv_trainer_scores scores;
    bool has_circuits;
    qkv_probe_circuits circuits;  // of the last layer's head that looks most at the answer
    double lr, seconds;
} qkv_run_moment;

void qkv_run_metrics_header(qkv_trainer *t, qkv_io_text *out);

/* The row, with the norms of the parameters and of their gradients as they stand. */
void qkv_run_metrics_row(qkv_trainer *t, const qkv_run_moment *m, qkv_io_text *out);

/* For a run that goes on at `step`: how many bytes of metrics.csv stay (whole rows of earlier
 * steps), and the first kept step with an accuracy of 0.99 or more (-1: none). */
size_t qkv_run_metrics_keep(const char *text, size_t n, int step, int *steps99);

#ifdef __cplusplus
}
#endif
#endif
