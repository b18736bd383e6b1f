/* progress.h - one line on stderr about what takes longer than two seconds: which command works, how far
 * it is, and how long it will take. Only on a terminal, and never with --quiet or --json. */
#pragma once

#include <stdbool.h>

/* From now on the command `who` ("eval"; it stays the caller's) is working. */
void cli_progress_begin(const char *who, bool silent);

/* How far it is, from any thread: "3 of 40 frames"; total 0: not known, and `what` is what it is at. */
void cli_progress_at(long done, long total, const char *what);

/* The line goes: to be called before anything is printed. cli_error() and cli_finish() do. */
void cli_progress_end(void);
