/* sweep_lists.h - options given to qkv sweep, as the definition of a sweep. */
#pragma once

#include "train/cli/settings.h"
#include "train/study/store.h"
#include "train/study/sweep.h"

typedef struct {
    json_t *pairs, *probes;  // as given; NULL: none
} cli_sweep_lists;

/* The options of every run and of the task (the first, of a list), which the help leaves to qkv train; then
 * the command's own. */
int cli_sweep_options(cli_settings *s, int argc, char **argv, const cli_option *own);

/* Take --pair and --probe, into a cli_sweep_lists. */
cli_take_fn cli_sweep_pair, cli_sweep_probe;

/* What the settings that were given say, lists and all: a new reference. An exit code. */
int cli_sweep_define(const cli_sweep_lists *l, const cli_settings *s, json_t **definition);

void cli_sweep_lists_free(cli_sweep_lists *l);
