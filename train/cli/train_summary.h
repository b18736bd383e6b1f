/* train_summary.h - what a finished run says, in words or as JSON. */
#pragma once

#include "train/cli/cli.h"
#include "train/cli/json.h"

/* What was counted in the task's data, and what can be had without looking; nothing of tasks that
 * read none. */
void cli_facts_words(const qkv_config *c, const data_spec *spec);
void cli_facts_json(json_t *o, const data_spec *spec);

void cli_summary_json(const qkv_run_summary *s, const qkv_config *c, const data_spec *spec);
void cli_summary_words(const qkv_run_summary *s, const qkv_config *c, const data_spec *spec);

/* The share of fresh questions that training has shown; *all: of all that it has shown, else of its
 * first ones. */
double cli_summary_seen(const qkv_config *c, const data_spec *spec, bool *all);
