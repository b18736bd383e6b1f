/* train_summary.h - what a finished run says, in words or as JSON. */
#ifndef QKV_CLI_TRAIN_SUMMARY_H
#define QKV_CLI_TRAIN_SUMMARY_H

#include "train/cli/cli.h"

void cli_summary_json(const qkv_run_summary *s);
void cli_summary_words(const qkv_run_summary *s, const data_spec *spec);

#endif
