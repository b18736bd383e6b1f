/* style.c - the size and the font of a picture, from what people write. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "train/plot/plot.h"

int qkv_plot_size_parse(const char *text, qkv_plot_style *style) {
    char *end = NULL;
    const long w = *text >= '1' && *text <= '9' ? strtol(text, &end, 10) : 0;
    const char *high = end && *end == 'x' ? end + 1 : "";
    const long h = *high >= '1' && *high <= '9' ? strtol(high, &end, 10) : 0;
    if (w < QKV_PLOT_LEAST || w > QKV_PLOT_MOST || h < QKV_PLOT_LEAST || h > QKV_PLOT_MOST || *end)
        return 0;
    style->width = (int)w;
    style->height = (int)h;
    return 1;
}

/* It becomes a part of a command to gnuplot: nothing that could end the text. */
int qkv_plot_font_parse(const char *text, qkv_plot_style *style) {
    enum { NAME = 60 };
    const size_t n = strcspn(text, ",");
    char *end = NULL;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr(" -_.", text[i])) return 0;
    if (n > NAME || (n == 0 && !text[n])) return 0;
    if (text[n]) {
        const long points =
            text[n + 1] >= '1' && text[n + 1] <= '9' ? strtol(text + n + 1, &end, 10) : 0;
        if (points < 4 || points > 72 || *end) return 0;
    }
    style->font = text;
    return 1;
}
