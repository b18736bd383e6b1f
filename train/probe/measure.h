/* measure.h - named numbers about a model, and the probes that find them: what studies are made
 * of. */
#ifndef QKV_PROBE_MEASURE_H
#define QKV_PROBE_MEASURE_H

#include "train/trainer/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { QKV_PROBE_MEASURE = 56 };

typedef struct {
    char name[QKV_PROBE_MEASURE];  // "accuracy", "lengths.n24.accuracy"
    double x;                      // NaN: not available
} qkv_probe_measure;

/* A growing list in an arena. */
typedef struct {
    tensor_arena *arena;
    qkv_probe_measure *at;
    int n;
    size_t room;
    bool failed;  // memory ran out
    bool names;   // all names are wanted, those of 0/0, too
} qkv_probe_measures;

/* Adds a number under a formatted name; what is 0/0, or infinite, was not measured and is left out
 * (unless m->names). */
void qkv_probe_measure_add(qkv_probe_measures *m, double x, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The number of that name, or NaN. */
double qkv_probe_measure_get(const qkv_probe_measures *m, const char *name);

/* A probe: names begin with the probe's own and a point. False with a sentence in error
 * (QKV_IO_ERROR) when it does not fit the task or model, or memory is out. None of the three may be
 * NULL. It leaves parameters,
 * hooks and the trainer's behaviour as they were. */
typedef bool qkv_probe_fn(qkv_trainer *t, qkv_probe_measures *out, char *error);

/* Of training; DURING: at every evaluation. */
typedef enum { QKV_PROBE_BEFORE, QKV_PROBE_DURING, QKV_PROBE_AFTER } qkv_probe_time;

typedef struct {
    const char *name, *finds;
    qkv_probe_time when;
    qkv_probe_fn *run;
} qkv_probe;

/* The catalogue, one line each in probes.def; a NULL name ends it. */
#define QKV_PROBE(name, when, finds) qkv_probe_fn qkv_probe_run_##name;
#include "train/probe/probes.def"
#undef QKV_PROBE
extern const qkv_probe qkv_probe_table[];
const qkv_probe *qkv_probe_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
