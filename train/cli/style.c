/* style.c - how pictures are to be drawn, from the options of a command. */
#include "train/cli/style.h"

#include <string.h>

static int take_format(const char *command, qkv_plot_style *style, const char *value) {
    if (qkv_plot_format_parse(value, &style->format) && style->format != QKV_PLOT_GIF)
        return CLI_OK;
    return cli_error(CLI_USAGE, command, "--format: '%s' is none of png, svg, pdf, txt%s", value,
                     style->format == QKV_PLOT_GIF ? "; an animation is a gif, by --animate" : "");
}

int cli_take_style(const char *command, const cli_option *o, const char *value, void *field) {
    qkv_plot_style *style = field;
    long dpi = 0;
    if (strcmp(o->name, "format") == 0) return take_format(command, style, value);
    if (strcmp(o->name, "size") == 0) {
        if (qkv_plot_size_parse(value, style)) return CLI_OK;
        return cli_error(CLI_USAGE, command,
                         "--size: '%s' is not WIDTHxHEIGHT, each between %d and %d, as 800x500",
                         value, QKV_PLOT_LEAST, QKV_PLOT_MOST);
    }
    if (strcmp(o->name, "font") == 0) {
        if (qkv_plot_font_parse(value, style)) return CLI_OK;
        return cli_error(CLI_USAGE, command,
                         "--font: '%s' is not NAME, NAME,POINTS or ,POINTS with 4 to 72 points",
                         value);
    }
    const int code =
        cli_whole_number(command, o->name, value, QKV_PLOT_LEAST_DPI, QKV_PLOT_MOST_DPI, &dpi);
    style->dpi = (int)dpi;
    return code;
}

int cli_check_style(const char *command, const qkv_plot_style *s) {
    enum { MOST_PIXELS = 20000 };
    const double dpi = s->dpi ? s->dpi : 96;
    const int longer = s->width > s->height ? s->width : s->height;
    if (s->format == QKV_PLOT_TXT && (s->width || s->dpi || s->font))
        return cli_error(CLI_USAGE, command, "--%s: a txt has none; it goes with png, svg and pdf",
                         s->width ? "size"
                         : s->dpi ? "dpi"
                                  : "font");
    if (s->dpi && s->format != QKV_PLOT_PNG && s->format != QKV_PLOT_GIF)
        return cli_error(CLI_USAGE, command, "--dpi: a %s has no pixels; it goes with png",
                         qkv_plot_format_name(s->format));
    if (longer * dpi / 96 > MOST_PIXELS)
        return cli_error(CLI_USAGE, command,
                         "--size and --dpi make a picture of %.0f pixels; at most %d can be drawn",
                         longer * dpi / 96, MOST_PIXELS);
    return CLI_OK;
}
