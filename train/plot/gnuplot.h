/* gnuplot.h - finding and running gnuplot, and judging what it left. */
#pragma once

#include "train/plot/data.h"

/* The path of the first executable gnuplot on PATH, for the caller to free; NULL if there is none.
 * Relative entries are passed over: gnuplot runs in a directory that others may have filled. */
char *qkv_plot_gnuplot_find(void);

/* Runs `gnuplot -d -c` with the arguments (a script, then at most seven of its own; NULL ends them) in the
 * directory `dir`, with nothing to read and its output
 * thrown away, and waits for its end. OK says only that it ended with exit code 0, which gnuplot
 * does on a full disk as well: look at the picture. `why` then holds its first complaint, or "". */
qkv_io_status qkv_plot_gnuplot_run(const char *gnuplot, int dir, const char *const *arguments,
                                   char *why);

/* Does the file `name` in the directory `dir` end as a whole picture of its format must (the IEND
 * chunk, </svg>, %%EOF; for text, twenty lines)? */
bool qkv_plot_picture_whole(int dir, const char *name, qkv_plot_format format);
