/* draft.h - a private directory inside the pictures' one, where a picture is made before it takes
 * the old one's place.
 *
 * gnuplot works with this directory as its own, so every file name it sees is fixed. If the process
 * is killed half-way, a directory .drawing-XXXXXX stays behind; the next draft removes it. */
#pragma once

#include "train/plot/data.h"

typedef struct {
    int plots, fd;           // the pictures' directory and the draft in it, locked; -1: not open
    char path[QKV_IO_PATH];  // of the draft; "": there is none
} qkv_plot_draft;

/* Makes dir if there is none (its parent must exist), and the draft. FAILED with the reason
 * otherwise. qkv_plot_draft_close is due in any case: it deletes the draft and what is still in
 * it. */
qkv_io_status qkv_plot_draft_open(qkv_plot_draft *d, const char *dir, char *why);
void qkv_plot_draft_close(qkv_plot_draft *d);

/* Writes a new file of the draft. */
qkv_io_status qkv_plot_draft_write(qkv_plot_draft *d, const char *name, const qkv_io_text *text,
                                   char *why);

/* Ends the last line of a file of the draft, which gnuplot's text terminal does not. */
qkv_io_status qkv_plot_draft_end_line(qkv_plot_draft *d, const char *name, char *why);

bool qkv_plot_draft_has(const qkv_plot_draft *d, const char *name);

/* Moves a file of the draft to where it belongs, over an older one. With `backup`, an older one
 * that differs becomes NAME~ first. */
qkv_io_status qkv_plot_draft_keep(qkv_plot_draft *d, const char *name, bool backup, char *why);
