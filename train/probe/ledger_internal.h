/* ledger_internal.h - what the ledger's files share. */
#pragma once

#include "train/probe/ledger.h"

/* Backward passes: the whole one, and those in which scores, values, or both pass nothing on. */
enum {
    QKV_PROBE_PASS_WHOLE,
    QKV_PROBE_PASS_NO_SCORES,
    QKV_PROBE_PASS_NO_VALUES,
    QKV_PROBE_PASS_NEITHER,
    QKV_PROBE_PASSES
};

/* The ways, as columns count them. */
enum {
    QKV_PROBE_WAY_SCORES,
    QKV_PROBE_WAY_VALUES,
    QKV_PROBE_WAY_PAST,
    QKV_PROBE_WAY_BOTH,
    QKV_PROBE_WAYS
};

struct qkv_probe_ledger {
    tensor_arena *arena;
    qkv_trainer *t;
    qkv_trainer_worker *w;
    int examples;
    int passes;                  // 1, or as many as the ways need
    int sites;                   // attentions whose ways are told apart
    ag_node **scores, **values;  // [sites]
    int n_columns, n_parameters, n_raw;
    qkv_probe_ledger_column *column;
    size_t column_room;
    size_t size;                    // numbers of a vector of parameters
    real *kept, *scratch;           // [size] the trainer's parameters; one micro-batch's gradient
    double *step;                   // [size] what is gone
    double *start, *end, *between;  // [passes * size] gradients
    real *last;                     // [size] where `end` was computed
    double last_loss;
    int last_gate;  // -1: nowhere yet
    double *raw, *part;
    double *dot;  // [points * n_raw] gradient times step at each point of the line
};

/* Makes the columns, and finds the nodes that are cut; false with a sentence. */
bool qkv_probe_ledger_find_columns(qkv_probe_ledger *l, const qkv_probe_ledger_options *o,
                                   char *error);

/* The gradient's products with the step: [parameters] for each pass, then [symbols]. */
void qkv_probe_ledger_dots(const qkv_probe_ledger *l, const double *gradient, double *out);

/* The columns' parts from the integrals of these. */
void qkv_probe_ledger_parts(const qkv_probe_ledger *l, const double *raw, double *part);
