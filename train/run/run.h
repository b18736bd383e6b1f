/* run.h - one training run in a directory of its own.
 *
 *   config.json                  every resolved option, and how it saves
 *   metrics.csv                  what was measured at each evaluated step
 *   levels.csv                   the losses of models that know a part of the answer
 *   data.csv                     what was counted in the data, of tasks that read files
 *   step-00000600.safetensors    checkpoints; best.safetensors: the one of lowest held-out loss;
 *                                start.safetensors: where it began, if --from another run
 *   clock.csv                    seconds at each checkpoint
 *   probe/                       attention and circuits before and after training
 *
 * A run is a function of its configuration: a resumed run, a repeated one, and the state at an
 * earlier step that is trained for once more have the same bits. */
#pragma once

#include <signal.h>

#include "train/config/config.h"
#include "train/run/checkpoint.h"
#include "train/run/metrics.h"

TENSOR_C_BEGIN

enum { QKV_RUN_SAVE_LOG = QKV_CONFIG_SAVE_LOG };  // after 1, 2, 4, 8 ... steps

/* What does not change a result. */
typedef struct {
    const char *dir;     // NULL: PREFIX-N, the first that is not there yet
    const char *prefix;  // "runs/pairs"
    const char *const
        *pictures;  // the names of pictures that force removes from plots/; may be NULL
    int threads;
    bool force;      // replace an earlier run in dir
    bool resume;     // go on from dir's latest checkpoint
    int save_every;  // steps between checkpoints; 0: only at the end; or QKV_RUN_SAVE_LOG; noted in
                     // config.json: qkv_config_read_saving() gives a resumed run its own again
    int keep;        // how many of them stay
    bool detect_anomaly;  // look at every number of every step (qkv_trainer_detect_anomaly)
    const volatile sig_atomic_t
        *stop;  // not 0: finish the step, save, return QKV_IO_STOPPED; may be NULL
    void (*begun)(
        void *ctx);  // before the first step, once the directory is the run's; may be NULL
    void (*progress)(void *ctx, int step, int steps, double loss,
                     double accuracy);              // after each step; may be NULL
    void (*warn)(void *ctx, const char *sentence);  // a save that failed; may be NULL
    void *ctx;
} qkv_run_options;

typedef struct {
    qkv_run_moment last;        // scores on fresh test examples, circuits
    qkv_trainer_levels levels;  // what their loss compares with
    qkv_trainer_scores
        trained;  // on the training examples, where they have an end; loss NaN: they have none
    int steps, steps99;  // first evaluated step with accuracy >= 0.99; -1: none
    double seconds;      // of all its legs
    bool nothing_to_do;  // resumed, but it had ended
    bool ended_early;    // by --until-accuracy or --patience
    char dir[QKV_IO_PATH];
} qkv_run_summary;

/* Runs a resolved configuration to its end; one with `from` begins with that state, and its
 * config.json says at which step and with what checksum. A sentence in error (QKV_IO_ERROR) unless
 * QKV_IO_OK. */
qkv_io_status qkv_run_train(const qkv_io *io, const qkv_config *c, const data_spec *spec,
                            const qkv_run_options *options, qkv_run_summary *out, char *error);

/* ---- opening a run ---- */

/* config.json of a run directory, as text (released by tensor_malloc.release). */
qkv_io_status qkv_run_config_text(const qkv_io *io, const char *dir, char **text, size_t *n,
                                  char *error);

enum { QKV_RUN_NEWEST = -1 };

typedef struct {
    const char *dir;
    const struct qkv_config_plugin *plugin;  // may be NULL
    int threads;
    int at;               // the state after so many steps, or QKV_RUN_NEWEST
    const char *weights;  // a safetensors file whose parameters replace the run's own; may be NULL
    const char *data;     // where the file that its task reads is now, or the directory with all of
                          // them, which must be what the run was trained on; NULL: where it was
    bool any_real;  // also checkpoints of a build of the other precision, their numbers converted
} qkv_run_opening;

/* config.json, resolved; every option must stand in it. */
qkv_io_status qkv_run_open_config(const qkv_io *io, const qkv_run_opening *o, qkv_config *c,
                                  data_spec *spec, char *error);

/* A trainer with a run's state: of the newest checkpoint, or of any step that it has behind it, by
 * the nearest earlier checkpoint, or none, and training on from there. NULL with status and error.
 * On success error is empty, or a sentence worth saying: these may not be the bits of then. */
qkv_trainer *qkv_run_open_at(const qkv_io *io, const qkv_run_opening *o, qkv_run_progress *progress,
                             qkv_io_status *status, char *error);

/* The configuration that a run --from `from` has where it says nothing else, as JSON (released by
 * tensor_malloc.release): the other run's, or that of a checkpoint; NULL for a file of weights. */
qkv_io_status qkv_run_source_config(const qkv_io *io, const char *from, char **json, size_t *n,
                                    char *error);

TENSOR_C_END
