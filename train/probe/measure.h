/* measure.h - named numbers about a model: what probes find, and studies judge. */
#pragma once

#include "train/trainer/trainer.h"

TENSOR_C_BEGIN

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
    bool failed;      // memory ran out
    bool names_only;  // a name counts whatever its number: 0/0 stays, too
} qkv_probe_measures;

/* Adds a number under a formatted name; what is 0/0, or infinite, was not measured and is left out, unless
 * names are what is asked for. */
void qkv_probe_measure_add(qkv_probe_measures *m, double x, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The number of that name, or NaN. */
double qkv_probe_measure_get(const qkv_probe_measures *m, const char *name);

TENSOR_C_END
