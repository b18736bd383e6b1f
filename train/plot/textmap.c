/* textmap.c - maps as characters, for a terminal. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/plot/data.h"

enum { WIDTH = 80, NAMES = 14, DOWN = 24, ACROSS = WIDTH - NAMES - 1 };

/* The largest absolute value of a map. */
static double reach(const qkv_plot_map *m) {
    double most = 0;
    for (int i = 0; i < m->rows * m->cols; i++) most = fmax(most, fabs(m->x[i]));
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

/* A name, right-aligned in NAMES columns. */
static void name(qkv_io_text *out, const char *text) {
    char all[256], shown[NAMES * 4];
    qkv_io_printable(text, all, sizeof all);
    qkv_io_text_add(out, "%s ", qkv_io_fit(all, -NAMES, shown, sizeof shown));
}

/* A block of cells for one character: the largest number in it, and whether it holds the target. */
static double strongest(const qkv_plot_map *m, int row, int col, int size, bool *target) {
    double most = 0;
    *target = false;
    for (int r = row; r < row + size && r < m->rows; r++)
        for (int c = col; c < col + size && c < m->cols; c++) {
            double x = m->x[r * m->cols + c];
            if (fabs(x) > fabs(most)) most = x;
            *target |= qkv_plot_map_target(m, r, c);
        }
    return most;
}

/* Cells three characters wide, so that [ ] can frame the target; two or one where the map is wide;
 * where it is larger than a screen, size x size cells are one, or (brief) its title is all. */
static void map(qkv_io_text *out, const qkv_plot_map *m, bool attention, bool brief, double most) {
    int size = 1;
    while ((m->rows + size - 1) / size > DOWN || (m->cols + size - 1) / size > ACROSS) size++;
    int cols = (m->cols + size - 1) / size, room = ACROSS / cols, width = room > 3 ? 3 : room;
    const char *title = qkv_plot_map_title(m);
    qkv_io_text_add(out, "%s%s%s\n", m->file, *title ? ": " : "", title);
    if (size > 1 && brief) return;
    if (size > 1) qkv_io_text_add(out, "(each place: the strongest of %d x %d)\n", size, size);
    for (int r = 0; r < m->rows; r += size) {
        name(out, qkv_plot_map_row_name(m, r));
        for (int c = 0; c < m->cols; c += size) {
            bool target;
            double x = strongest(m, r, c, size, &target);
            char text[] = {target ? '[' : ' ', attention ? tenths(x) : shade(x, most),
                           target ? ']' : ' '};
            qkv_io_text_put(out, width == 3 ? text : text + 1, (size_t)width);
        }
        qkv_io_text_put(out, "\n", 1);
    }
    qkv_io_text_put(out, "\n", 1);
}

/* Circuits: a map and its neighbour (panels 0 and 1, 2 and 3, ...) share one range. */
static double shared_reach(const qkv_plot_maps *all, int panel) {
    double most = 0;
    for (int i = 0; i < all->n; i++) {
        if (all->map[i].panel / 2 == panel / 2) most = fmax(most, reach(&all->map[i]));
    }
    return most;
}

void qkv_plot_maps_text(qkv_io_text *out, const qkv_plot_maps *all) {
    bool attention = qkv_io_table_column(&all->map[0].table, "weight") >= 0;
    qkv_io_text_add(out, "%s",
                    attention
                        ? "Attention in tenths (* is 1, . less than half a tenth), queries down,\n"
                          "positions across; [ ] where the right answer stands.\n\n"
                        : "# and + strongly and weakly positive, = and - negative, . near zero,\n"
                          "each pair (keys, values) against its own largest: from one half, from\n"
                          "one fifth; [ ] where the right symbol stands.\n\n");
    bool trained = false;
    for (int i = 0; i < all->n; i++) trained |= strstr(all->map[i].file, "-after") != NULL;
    for (int i = 0; i < all->n; i++)
        map(out, &all->map[i], attention, trained && strstr(all->map[i].file, "-before"),
            shared_reach(all, all->map[i].panel));
}
