/* trainer_internal.h - what trainer.c, step.c and evaluate.c share. */
#ifndef TRAIN_TRAINER_INTERNAL_H
#define TRAIN_TRAINER_INTERNAL_H

#include "train/pool.h"
#include "train/trainer.h"

enum { TRAIN_MAXLANES = 64 };

struct train_trainer {
    const tensor_allocator *mem;
    tensor_arena *arena;
    train_config config;
    data_spec spec;
    ag_params *params;
    train_pool *pool;
    int shard, shards;                     // examples of a shard; shards of a batch
    train_worker workers[TRAIN_MAXLANES];  // as many as the pool has threads
    real *lane[TRAIN_MAXLANES];            // gradients; lane 0 gets the sum
    real *mean, *square;                   // the optimiser's memory
    double *losses;                        // [shards]
    double *squares;                       // [parameters] sum of the gradient's squares
    double *head_mass;                     // [layers * heads]
    bool detect;                           // look at every number of every shard
    bool odd[TRAIN_MAXLANES];              // detect: not all of this lane's numbers are finite
};

#endif
