/* part.h - "--part I/N": a machine's share of trainings. */
#pragma once

#include "train/cli/options.h"

typedef struct {
    long i, n;  // the i-th of n, from 1; n 0: not given
} cli_part;

cli_take_fn cli_take_part;  // of an option, into a cli_part
