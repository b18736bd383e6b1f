/* style.h - the options of commands that draw: format, size, pixels an inch, font. */
#pragma once

#include <stdbool.h>

#include "train/cli/cli.h"
#include "train/plot/plot.h"

/* Their lines in a table, for the member of that type in the command's struct. */
#define CLI_OPTIONS_STYLE(type, style)                                                   \
    CLI_OWN(type, style, cli_take_style, "format", "png|svg|pdf|txt", "", .def = "png"), \
        CLI_OWN(type, style, cli_take_style, "size", "WxH",                              \
                "pixels, of which 96 are an inch; letters and lines change with it",     \
                .def = "as the picture needs"),                                          \
        CLI_OWN(type, style, cli_take_style, "dpi", "N",                                 \
                "pixels an inch, of a png or an animation", .def = "96"),                \
        CLI_OWN(type, style, cli_take_style, "font", "NAME,POINTS",                      \
                "its name, its size (,15), or both", .def = "sans-serif,13")
cli_take_fn cli_take_style;

/* Do they go together? An exit code, and a message. */
int cli_check_style(const char *command, const qkv_plot_style *style);
