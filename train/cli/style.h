/* style.h - the options of commands that draw: format, size, pixels an inch, font. */
#ifndef QKV_CLI_STYLE_H
#define QKV_CLI_STYLE_H

#include <stdbool.h>

#include "train/cli/cli.h"
#include "train/plot/plot.h"

/* Their lines in a list of options. */
#define CLI_OPTION_FORMAT \
    { "format", "png|svg|pdf|txt", "", "png" }
#define CLI_OPTION_SIZE                                                                     \
    {                                                                                       \
        "size", "WxH", "pixels, of which 96 are an inch; letters and lines change with it", \
            "as the picture needs"                                                          \
    }
#define CLI_OPTION_DPI \
    { "dpi", "N", "pixels an inch, of a png or an animation", "96" }
#define CLI_OPTION_FONT \
    { "font", "NAME,POINTS", "its name, its size (,15), or both", "sans-serif,13" }

/* Takes one of these; *taken says whether it is one. An exit code. */
int cli_take_style(const char *command, qkv_plot_style *style, const char *name, const char *value,
                   bool *taken);

/* Do they go together? An exit code, and a message. */
int cli_check_style(const char *command, const qkv_plot_style *style);

#endif
