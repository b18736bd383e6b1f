/* run.h - one training run in a directory of its own.
 *
 *   config.json                  every resolved option
 *   metrics.csv, levels.csv      what was measured at each evaluated step; loss levels to compare
 *   it with
 *   step-00000600.safetensors    checkpoints; best.safetensors: the one of lowest held-out loss
 *   probe/                       attention and circuits before and after training
 */
#ifndef TRAIN_RUN_H
#define TRAIN_RUN_H

#include <signal.h>

#include "train/checkpoint.h"
#include "train/config.h"
#include "train/metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    TRAIN_DONE,
    TRAIN_FAILED,
    TRAIN_USAGE,     // options that do not belong together
    TRAIN_DAMAGED,   // a file of the run is damaged
    TRAIN_DIVERGED,  // a number is not finite; the last checkpoint is good
    TRAIN_STOPPED    // asked to stop; the state is saved
} train_status;

/* What does not change a result. */
typedef struct {
    const char *dir;
    int threads;
    bool force;           // replace an earlier run in dir
    bool resume;          // go on from dir's latest checkpoint
    int save_every;       // steps between checkpoints; 0: only at the end
    int keep;             // how many of them stay
    bool detect_anomaly;  // look at every number of every step (train_detect_anomaly)
    const volatile sig_atomic_t
        *stop;  // not 0: finish the step, save, return TRAIN_STOPPED; may be NULL
    void (*progress)(void *ctx, int step, int steps, double loss,
                     double accuracy);              // after each step; may be NULL
    void (*warn)(void *ctx, const char *sentence);  // a save that failed; may be NULL
    void *ctx;
} train_run_options;

typedef struct {
    train_moment last;   // scores on fresh test examples, circuits
    int steps, steps99;  // first evaluated step with accuracy >= 0.99; -1: none
    double seconds;
    bool nothing_to_do;  // resumed, but it had all its steps
} train_summary;

/* Runs a resolved configuration to its end. A sentence in error (TRAIN_ERROR) unless TRAIN_DONE. */
train_status train_run(const train_io *io, const train_config *c, const data_spec *spec,
                       const train_run_options *options, train_summary *out, char *error);

/* config.json of a run directory, resolved (plugin may be NULL); and a trainer with its latest
 * weights. NULL with status and error. */
train_status train_open_config(const train_io *io, const char *dir,
                               const struct train_plugin *plugin, train_config *c, data_spec *spec,
                               char *error);
train_trainer *train_open_run(const train_io *io, const char *dir,
                              const struct train_plugin *plugin, int threads,
                              train_progress *progress, train_status *status, char *error);

#ifdef __cplusplus
}
#endif
#endif
