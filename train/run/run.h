/* run.h - one training run in a directory of its own.
 *
 *   config.json                  every resolved option
 *   metrics.csv                  what was measured at each evaluated step
 *   levels.csv                   the losses of models that know a part of the answer
 *   step-00000600.safetensors    checkpoints; best.safetensors: the one of lowest held-out loss
 *   probe/                       attention and circuits before and after training
 */
#ifndef QKV_RUN_RUN_H
#define QKV_RUN_RUN_H

#include <signal.h>

#include "train/config/config.h"
#include "train/run/checkpoint.h"
#include "train/run/metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    QKV_RUN_DONE,
    QKV_RUN_FAILED,
    QKV_RUN_USAGE,     // options that do not belong together
    QKV_RUN_DAMAGED,   // a file of the run is damaged
    QKV_RUN_DIVERGED,  // a number is not finite; the last checkpoint is good
    QKV_RUN_STOPPED    // asked to stop; the state is saved
} qkv_run_status;

/* What does not change a result. */
typedef struct {
    const char *dir;
    int threads;
    bool force;           // replace an earlier run in dir
    bool resume;          // go on from dir's latest checkpoint
    int save_every;       // steps between checkpoints; 0: only at the end
    int keep;             // how many of them stay
    bool detect_anomaly;  // look at every number of every step (qkv_trainer_detect_anomaly)
    const volatile sig_atomic_t
        *stop;  // not 0: finish the step, save, return QKV_RUN_STOPPED; may be NULL
    void (*progress)(void *ctx, int step, int steps, double loss,
                     double accuracy);              // after each step; may be NULL
    void (*warn)(void *ctx, const char *sentence);  // a save that failed; may be NULL
    void *ctx;
} qkv_run_options;

typedef struct {
    qkv_run_moment last;        // scores on fresh test examples, circuits
    qkv_trainer_levels levels;  // what their loss compares with
    int steps, steps99;         // first evaluated step with accuracy >= 0.99; -1: none
    double seconds;
    bool nothing_to_do;  // resumed, but it had all its steps
} qkv_run_summary;

/* Runs a resolved configuration to its end. A sentence in error (QKV_IO_ERROR) unless QKV_RUN_DONE. */
qkv_run_status qkv_run_train(const qkv_io *io, const qkv_config *c, const data_spec *spec,
                             const qkv_run_options *options, qkv_run_summary *out, char *error);

/* config.json of a run directory, resolved (plugin may be NULL); and a trainer with its latest
 * weights. NULL with status and error. */
qkv_run_status qkv_run_open_config(const qkv_io *io, const char *dir,
                                   const struct qkv_config_plugin *plugin, qkv_config *c,
                                   data_spec *spec, char *error);
qkv_trainer *qkv_run_open(const qkv_io *io, const char *dir, const struct qkv_config_plugin *plugin,
                          int threads, qkv_run_progress *progress, qkv_run_status *status,
                          char *error);

#ifdef __cplusplus
}
#endif
#endif
