/* train_source.h - what qkv train takes over from a run or a file, beside its configuration. */
#pragma once

#include "train/cli/settings.h"

enum { CLI_AS_BEFORE = -2 };

/* How often a run saves, and how many checkpoints it keeps: as given (CLI_AS_BEFORE and 0: not). */
typedef struct {
    long every, keep;
} cli_saving;

/* What is not given is as the run had it whose config.json this is (json NULL: there is none), else as
 * usual. An exit code, and a message. */
int cli_choose_saving(const char *json, size_t n, const char *path, bool resume, cli_saving *s);

/* Says in a line which options of the task come from the checkpoint `from`, and not from the user. */
void cli_note_source(const cli_settings *s, const char *from, const qkv_config *c);
