/* measure.h - named numbers about a model, and the probes that find them: what studies are made
 * of. */
#ifndef TRAIN_PROBE_MEASURE_H
#define TRAIN_PROBE_MEASURE_H

#include "train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TRAIN_MEASURE = 56 };

typedef struct {
    char name[TRAIN_MEASURE];  // "accuracy", "lengths.n24.accuracy"
    double x;                  // NaN: not available
} train_measure;

/* A growing list in an arena. */
typedef struct {
    tensor_arena *arena;
    train_measure *at;
    int n, room;
    bool failed;  // memory ran out
} train_measures;

/* Adds a number under a formatted name. */
void train_measure_add(train_measures *m, double x, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The number of that name, or NaN. */
double train_measure_get(const train_measures *m, const char *name);

/* A probe: names begin with the probe's own and a point. False with a sentence in error
 * (TRAIN_ERROR) when it does not fit the task or model, or memory is out. It leaves parameters,
 * hooks and the trainer's behaviour as they were. */
typedef bool train_probe_fn(train_trainer *t, train_measures *out, char *error);

typedef enum { TRAIN_PROBE_BEFORE, TRAIN_PROBE_AFTER } train_probe_time;  // of training

typedef struct {
    const char *name, *finds;
    train_probe_time when;
    train_probe_fn *run;
} train_probe;

/* The catalogue, one line each in probes.def; a NULL name ends it. */
#define TRAIN_PROBE(name, when, finds) train_probe_fn train_probe_##name;
#include "train/probe/probes.def"
#undef TRAIN_PROBE
extern const train_probe train_probes[];
const train_probe *train_probe_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
