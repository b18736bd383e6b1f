/* clock.c - what time it is. */
#include <time.h>

#include "train/io/io.h"

double qkv_io_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double qkv_io_seconds(void) { return qkv_io_clock(CLOCK_MONOTONIC); }

qkv_io_watch qkv_io_watch_start(void) { return (qkv_io_watch){.last = qkv_io_seconds()}; }

double qkv_io_watch_read(qkv_io_watch *w) {
    double now = qkv_io_seconds();
    if (now > w->last) w->sum += now - w->last;
    w->last = now;
    return w->sum;
}
