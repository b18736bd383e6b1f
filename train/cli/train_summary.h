/* train_summary.h - what a finished run says, in words or as JSON. */
#ifndef TRAIN_CLI_TRAIN_SUMMARY_H
#define TRAIN_CLI_TRAIN_SUMMARY_H

#include "train/cli/cli.h"

void cli_summary_json(const train_summary *s, const char *dir);
void cli_summary_words(const train_summary *s, const data_spec *spec, const char *dir);

#endif
