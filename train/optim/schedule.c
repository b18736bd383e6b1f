/* schedule.c - warm-up, then constant or a fall. */
#include "train/optim/schedule.h"

#include "tensor/scalar.h"

/* How much of the way from `first` to `end` is behind, from 0 to 1. */
static double part(double step, double first, double end) {
    double done = end > first ? (step - first) / (end - first) : step >= end;
    return done < 0 ? 0 : done > 1 ? 1 : done;
}

double qkv_optim_rate(const qkv_optim_schedule *s, int step) {
    if (step < s->warmup) return s->peak * (step + 1) / ((double)s->warmup + 1);
    const double fall = s->peak - s->least;
    double stable = (double)s->steps - s->decay;
    if (stable < s->warmup) stable = s->warmup;
    switch (s->kind) {
        case QKV_OPTIM_COSINE:
            return s->least +
                   fall *
                       (1 + tensor_cos(3.14159265358979323846 * part(step, s->warmup, s->steps))) /
                       2;
        case QKV_OPTIM_LINEAR: return s->least + fall * (1 - part(step, s->warmup, s->steps));
        case QKV_OPTIM_WSD: return s->least + fall * (1 - part(step, stable, s->steps));
        default: return s->peak;
    }
}
