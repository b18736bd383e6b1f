/* ledger.h - who took the loss down: each step's change of the held-out loss, allotted to parameters.
 *
 * Along the straight line from theta_t to theta_t+1 the loss changes by the integral of gradient times step,
 * which is a sum over parameters: each gets its part of the change, negative where it took the loss down.
 * The integral is Simpson's rule; a stretch is halved where the parts do not add up to what the loss
 * changed by. What then remains is named `left`.
 * Source: Lan et al., "LCA: Loss Change Allocation for Neural Network Training", 2019, section 2. They
 * integrate by a fixed rule over the training set; here the set is held out and the rule adapts. */
#pragma once

#include "train/trainer/loop.h"

typedef struct {
    int examples;  // the first so many of "valid", or all; at least 1
    const char
        *through;  // tells apart the ways through an attention ("layer0.attn") or ("all") through
                   // any; NULL: no ways
    const char *symbols;  // an embedding's table ("embed.key") whose rows get columns; NULL: none
} qkv_probe_ledger_options;

/* Columns, in this order: every parameter, then the ways, then the symbols.
 *
 * A path from a parameter to the loss enters an attention through its scores (Q and K) or through its
 * values (V), or goes past it (the residual, and all that comes after). "way.scores", "way.values" and
 * "way.past" are the parts of all parameters by these ways; "way.both" (of more than one attention) those of
 * paths through the scores of one and the values of another. "NAME:scores" and so on are the same of a
 * parameter before the attention, which reaches it by several ways. */
typedef enum {
    QKV_PROBE_LEDGER_PARAMETER,
    QKV_PROBE_LEDGER_WAY,
    QKV_PROBE_LEDGER_SYMBOL
} qkv_probe_ledger_kind;

typedef struct {
    char name[112];
    qkv_probe_ledger_kind kind;
    int param;       // as ag_params_at() counts; -1: all
    int way;         // of a way: which
    size_t from, n;  // of a symbol: its numbers
} qkv_probe_ledger_column;

typedef struct qkv_probe_ledger qkv_probe_ledger;

/* A ledger of t's parameters. NULL with a sentence in error: no such attention or table, or memory is out.
 * t must outlive it. */
qkv_probe_ledger *qkv_probe_ledger_new(qkv_trainer *t, const qkv_probe_ledger_options *o,
                                       char *error);
void qkv_probe_ledger_free(qkv_probe_ledger *l);

int qkv_probe_ledger_columns(const qkv_probe_ledger *l);
int qkv_probe_ledger_parameters(const qkv_probe_ledger *l);  // the first so many columns
const qkv_probe_ledger_column *qkv_probe_ledger_column_at(const qkv_probe_ledger *l, int i);
int qkv_probe_ledger_examples(const qkv_probe_ledger *l);

/* One step. The parameters' parts and `left` add up to after - before. */
typedef struct {
    double before, after;  // the held-out loss
    double left;
    double size;         // the sum of the sizes of the parameters' parts
    double allowed;      // how much may be left before a stretch is halved
    int gradients;       // how many were computed
    const double *part;  // [columns], valid until the next step
} qkv_probe_ledger_row;

/* The step between two flat vectors of parameters, as ag_param_entry.offset says. A step that begins where
 * the one before ended is cheaper. The trainer's parameters are put back. Of a frozen parameter the part is
 * 0. False with a sentence: a loss is not finite, or a graph's error. */
bool qkv_probe_ledger_step(qkv_probe_ledger *l, const real *from, const real *to,
                           qkv_probe_ledger_row *out, char *error);

/* Trains from *step up to `end` and hands over a row for each step, or for each straight line over `every`
 * steps; `first` is the step at which the row begins, `next` at which it ends. A row never goes over the
 * step at which --scores-from opens. The training is what it would be without. */
typedef bool qkv_probe_ledger_fn(void *ctx, int first, int next, const qkv_probe_ledger_row *row);
qkv_trainer_outcome qkv_probe_ledger_train(qkv_probe_ledger *l, int *step, int end, int every,
                                           qkv_probe_ledger_fn *each, void *ctx, char *error);
