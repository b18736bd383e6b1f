/* metrics.h - metrics.csv: one row for each evaluated step.
 *
 * step, losses, accuracy, where attention goes, circuits, norms of weights and of their gradients,
 * lr; wall-clock last. An empty field: the task has no such number. */
#ifndef TRAIN_METRICS_H
#define TRAIN_METRICS_H

#include "train/io.h"
#include "train/probe/circuits.h"
#include "train/text.h"
#include "train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known at one step. */
typedef struct {
    int step;
    double loss;  // of the training batch; NaN before there is one
    train_scores scores;
    bool has_circuits;
    train_circuits circuits;  // of the last layer's head that looks most at the answer
    double lr, seconds;
} train_moment;

void train_metrics_header(train_trainer *t, train_text *out);

/* The row, with the norms of the parameters and of their gradients as they stand. */
void train_metrics_row(train_trainer *t, const train_moment *m, train_text *out);

/* For a run that goes on at `step`: how many bytes of metrics.csv stay (whole rows of earlier
 * steps), and the first kept step with an accuracy of 0.99 or more (-1: none). */
size_t train_metrics_keep(const char *text, size_t n, int step, int *steps99);

#ifdef __cplusplus
}
#endif
#endif
