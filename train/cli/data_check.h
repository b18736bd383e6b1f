/* data_check.h - the proof behind `qkv data --check`. */
#pragma once

#include "train/cli/cli.h"

/* Prints what 10000 examples of the task show of its promises, `one` being a batch of one; returns
 * an exit code. */
int cli_check_data(const qkv_config *c, const data_spec *s, data_batch *one);
