/* scripts.h - the .gp files of this directory, carried inside the program.
 *
 * The definitions are written by embed.sh. A script that is handed out is qkv_plot_common followed
 * by its own lines. Both are lists of lines, each ending in '\n'; NULL ends a list. */
#pragma once

struct qkv_plot_script {
    const char *name;  // "loss"; NULL ends the table
    const char *const *lines;
};

extern const char *const qkv_plot_common[];
extern const struct qkv_plot_script qkv_plot_scripts[];
