/* clock.c - what time it is. */
#include <time.h>

#include "train/io/io.h"

double qkv_io_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double qkv_io_seconds(void) { return qkv_io_clock(CLOCK_MONOTONIC); }
