/* schedule.c - warm-up, then constant or a cosine. */
#include "train/optim/schedule.h"

#include <math.h>

double qkv_optim_rate(const qkv_optim_schedule *s, int step) {
    if (step < s->warmup) return s->peak * (step + 1) / ((double)s->warmup + 1);
    if (s->kind == QKV_OPTIM_CONSTANT) return s->peak;
    double span = (double)s->steps - s->warmup, done = span > 0 ? (step - s->warmup) / span : 1;
    if (done > 1) done = 1;
    return s->peak * (1 + cos(3.14159265358979323846 * done)) / 2;
}
