/* measure.c - the list of what probes find. */
#include "train/probe/measure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void qkv_probe_measure_add(qkv_probe_measures *m, double x, const char *format, ...) {
    if (!isfinite(x) && !m->names_only) return;
    qkv_probe_measure *at =
        tensor_arena_grow(m->arena, m->at, (size_t)m->n, 1, &m->room, sizeof *at);
    if (!at) {
        m->failed = true;
        return;
    }
    m->at = at;
    va_list args;
    va_start(args, format);
    vsnprintf(m->at[m->n].name, QKV_PROBE_MEASURE, format, args);
    va_end(args);
    m->at[m->n++].x = x;
}

double qkv_probe_measure_get(const qkv_probe_measures *m, const char *name) {
    for (int i = m->n - 1; i >= 0; i--)
        if (strcmp(m->at[i].name, name) == 0) return m->at[i].x;
    return (double)NAN;
}
