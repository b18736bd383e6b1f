/* draft.h - a private directory inside the pictures' one, where a picture is made before it takes
 * the old one's place.
 *
 * gnuplot works with this directory as its own, so every file name it sees is fixed. If the process
 * is killed half-way, a directory .drawing-XXXXXX stays behind and may be deleted. */
#ifndef TRAIN_PLOT_DRAFT_H
#define TRAIN_PLOT_DRAFT_H

#include <stdbool.h>
#include <stdio.h>

#include "train/plot/csv.h"

typedef struct {
    int plots, fd;  // descriptors of the pictures' directory and of the draft in it; -1: not open
    char *path;     // of the draft
} train_plot_draft;

/* Makes dir if there is none (its parent must exist), and the draft. FAILED with the reason
 * otherwise. train_plot_draft_close is due in any case: it deletes the draft and what is still in
 * it. */
train_plot_status train_plot_draft_open(train_plot_draft *d, const char *dir, char *why);
void train_plot_draft_close(train_plot_draft *d);

/* A new file of the draft, to be closed by train_plot_draft_close_file, which says whether all of
 * it was written. */
FILE *train_plot_draft_file(train_plot_draft *d, const char *name, char *why);
train_plot_status train_plot_draft_close_file(FILE *f, const char *name, char *why);

/* Ends the last line of a file of the draft, which gnuplot's text terminal does not. */
train_plot_status train_plot_draft_end_line(train_plot_draft *d, const char *name, char *why);

bool train_plot_draft_has(const train_plot_draft *d, const char *name);

/* Moves a file of the draft to where it belongs, over an older one. With `backup`, an older one
 * that differs becomes NAME~ first. */
train_plot_status train_plot_draft_keep(train_plot_draft *d, const char *name, bool backup,
                                        char *why);

#endif
