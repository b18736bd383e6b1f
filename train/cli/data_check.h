/* data_check.h - the proof behind `qkv data --check`. */
#ifndef QKV_CLI_DATA_CHECK_H
#define QKV_CLI_DATA_CHECK_H

#include "train/cli/cli.h"

/* Prints what 10000 examples of the task show of its promises, `one` being a batch of one; returns
 * an exit code. */
int cli_check_data(const qkv_config *c, const data_spec *s, data_batch *one);

#endif
