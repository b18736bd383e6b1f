/* textmap.c - maps as characters, for a terminal. */
#include <math.h>
#include <string.h>

#include "train/plot/data.h"

enum { WIDTH = 80, NAMES = 14 };

/* The largest absolute value of a map. */
static double reach(const qkv_plot_map *m) {
    double most = 0;
    for (int r = 0; r < m->rows; r++) {
        for (int c = 0; c < m->cols; c++) most = fmax(most, fabs(qkv_plot_map_value(m, r, c)));
    }
    return most;
}

/* A weight from 0 to 1 in tenths; '.' is less than half a tenth. */
static char tenths(double weight) {
    double x = floor(weight * 10 + 0.5);
    return weight < 0.05 ? '.' : x >= 10 ? '*' : x > 0 ? "0123456789"[(int)x] : '.';
}

static char shade(double x, double most) {
    double part = most > 0 ? x / most : 0;
    return part >= 0.5 ? '#' : part >= 0.2 ? '+' : part <= -0.5 ? '=' : part <= -0.2 ? '-' : '.';
}

/* A name, right-aligned in NAMES characters, what is not printable ASCII as '?'. */
static void name(FILE *out, const char *text) {
    char shown[NAMES];
    snprintf(shown, sizeof shown, "%s", text);
    for (char *p = shown; *p; p++) {
        if (*p < ' ' || *p > '~') *p = '?';
    }
    fprintf(out, "%*s ", NAMES, shown);
}

/* Cells three characters wide, so that [ ] can frame the target; two or one where the map is wide.
 */
static void map(FILE *out, const qkv_plot_map *m, bool attention, double most) {
    int room = (WIDTH - NAMES - 1) / m->cols, width = room > 3 ? 3 : room;
    fprintf(out, "%s\n", m->file);
    for (int r = 0; r < m->rows; r++) {
        name(out, qkv_plot_map_row_name(m, r));
        for (int c = 0; c < m->cols; c++) {
            double x = qkv_plot_map_value(m, r, c);
            char mark = attention ? tenths(x) : shade(x, most);
            bool target = width == 3 && qkv_plot_map_target(m, r, c);
            fprintf(out,
                    width == 3   ? "%c%c%c"
                    : width == 2 ? "%c%c"
                                 : "%c",
                    width == 1 ? mark
                    : target   ? '['
                               : ' ',
                    mark, target ? ']' : ' ');
        }
        putc('\n', out);
    }
    putc('\n', out);
}

/* Circuits: a map and its neighbour (panels 0 and 1, 2 and 3, ...) share one range. */
static double shared_reach(const qkv_plot_maps *all, int panel) {
    double most = 0;
    for (int i = 0; i < all->n; i++) {
        if (all->map[i].panel / 2 == panel / 2) most = fmax(most, reach(&all->map[i]));
    }
    return most;
}

qkv_plot_status qkv_plot_maps_text(FILE *out, const qkv_plot_maps *all, char *why) {
    bool attention = qkv_plot_table_column(&all->map[0].table, "weight") >= 0;
    for (int i = 0; i < all->n; i++) {
        if (all->map[i].cols <= WIDTH - NAMES - 1) continue;
        qkv_plot_say(why, "%s has %d columns, too many for text", all->map[i].file,
                     all->map[i].cols);
        return QKV_PLOT_SKIPPED;
    }
    fputs(attention ? "Attention in tenths (* is 1, . less than half a tenth), queries down, "
                      "positions across;\n"
                      "[ ] where the right answer stands.\n\n"
                    : "# and + strongly and weakly positive, = and - negative, . near zero, each "
                      "pair (keys,\n"
                      "values) against its own largest: from one half, from one fifth.\n\n",
          out);
    for (int i = 0; i < all->n; i++)
        map(out, &all->map[i], attention, shared_reach(all, all->map[i].panel));
    return QKV_PLOT_OK;
}
