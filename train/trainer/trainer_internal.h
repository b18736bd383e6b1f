/* trainer_internal.h - what trainer.c, step.c and evaluate.c share. */
#pragma once

#include "train/trainer/pool.h"
#include "train/trainer/trainer.h"

enum { QKV_TRAINER_MAXLANES = 64 };
/* Lists by which single parameters have something of their own. */
enum {
    QKV_TRAINER_FREEZE,
    QKV_TRAINER_GAINS,
    QKV_TRAINER_RATES,
    QKV_TRAINER_GRADIENTS,
    QKV_TRAINER_HOLD,
    QKV_TRAINER_LISTS
};
enum { QKV_TRAINER_ROWS_READ = 4 };  // of streamed weights at a time

struct qkv_trainer {
    const tensor_allocator *mem;
    tensor_arena *arena;
    qkv_config config;
    data_spec spec;
    ag_params *params;
    qkv_trainer_pool *pool;
    int micro_batch, micro_batches;  // examples of a micro-batch; micro-batches of a batch
    qkv_trainer_worker workers[QKV_TRAINER_MAXLANES];  // as many as the pool has threads
    qkv_trainer_worker
        looking;  // for probes, if workers do not compute all rows; recorded when needed
    qkv_trainer_worker tape[2];        // for one example: all rows, those that training computes
    bool recorded, open;               // is `looking`? has --scores-from been reached?
    real *lane[QKV_TRAINER_MAXLANES];  // gradients; lane 0 gets the sum
    qkv_optim optim;
    double *own[QKV_TRAINER_LISTS];         // [parameters] what each has of its own; NULL: nothing
    double *losses;                         // [micro-batches]
    double *squares;                        // [parameters] sum of the gradient's squares
    double *head_attention;                 // [layers * heads]
    bool detect;                            // look at every number of every micro-batch
    bool not_finite[QKV_TRAINER_MAXLANES];  // detect: not all of this lane's numbers are finite
};

/* How many rows of an example a layer's attention has as queries. */
int qkv_trainer_queries(const qkv_trainer *t, const qkv_trainer_worker *w, int layer);
