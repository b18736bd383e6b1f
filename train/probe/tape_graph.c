/* tape_graph.c - the graph of a tape laid out as a picture: a column for each step of the way, a node's value
 * as a small map and its gradient as another one below it. */
#include <math.h>
#include <stdio.h>

#include "train/io/given.h"
#include "train/probe/tape.h"

/* Pixels: from column to column, a map, what stands above and below a node's maps; columns of a strip; cells
 * of a map, at most; pixels at the edge. */
enum { ROOM_X = 150, MAP = 88, TITLE = 20, BELOW = 36, ACROSS = 12, CELLS = 32, EDGE = 20 };

typedef struct {
    int column, row;
    double x, y, w, h;  // of its value's map
} spot;

typedef struct {
    const qkv_probe_tape *tape;
    spot *at;     // [nodes]
    int *height;  // [columns] nodes of each
    qkv_io_text *out;
} layout;

static ag_node *node_of(const layout *l, int i) { return ag_at(l->tape->w->graph, i); }

/* A node stands one column behind the last of its inputs, a leaf before the first that reads it. */
static int find_columns(layout *l) {
    const int n = ag_count(l->tape->w->graph);
    int columns = 0;
    for (int i = 0; i < n; i++) {
        const ag_node *y = node_of(l, i);
        for (int k = 0; k < y->n_in; k++)
            if (l->at[y->in[k]->index].column >= l->at[i].column)
                l->at[i].column = l->at[y->in[k]->index].column + 1;
        if (l->at[i].column >= columns) columns = l->at[i].column + 1;
    }
    for (int i = 0; i < n; i++) {
        int first = columns;
        for (int b = i + 1; b < n && !node_of(l, i)->op; b++)
            for (int k = 0; k < node_of(l, b)->n_in; k++)
                if (node_of(l, b)->in[k]->index == i && l->at[b].column < first)
                    first = l->at[b].column;
        if (first < columns && first > 0) l->at[i].column = first - 1;
    }
    return columns;
}

/* What is computed stands above the leaves of its column. */
static void find_rows(layout *l) {
    for (int leaves = 0; leaves < 2; leaves++)
        for (int i = 0; i < ag_count(l->tape->w->graph); i++)
            if ((node_of(l, i)->op == NULL) == leaves) l->at[i].row = l->height[l->at[i].column]++;
}

static spot size_of(const ag_node *node) {
    const tensor_shape shape = node->val.shape;
    const double cols = shape.rank ? shape.dim[shape.rank - 1] : 1,
                 rows = (double)node->val.n / (cols > 0 ? cols : 1);
    const double most = fmax(fmax(cols, rows), 1);
    return (spot){.w = fmin(fmax(MAP * cols / most, 10), 24 * cols),
                  .h = fmin(fmax(MAP * rows / most, 10), 24 * rows)};
}

/* The nodes of a column one below the other, from `top` on; returns where the last one ends. */
static double fill_column(layout *l, int column, double top) {
    for (int row = 0; row < l->height[column]; row++)
        for (int i = 0; i < ag_count(l->tape->w->graph); i++) {
            spot *s = &l->at[i], size = size_of(node_of(l, i));
            if (s->column != column || s->row != row) continue;
            s->w = size.w, s->h = size.h;
            s->x = EDGE + column % ACROSS * ROOM_X;
            s->y = top + TITLE;
            top += TITLE + 2 * s->h + BELOW;
        }
    return top;
}

static void find_places(layout *l, int columns) {
    double top = 2 * EDGE, end = top;
    for (int c = 0; c < columns; c++) {
        if (c % ACROSS == 0) top = end;
        end = fmax(end, fill_column(l, c, top));
    }
}

static void put(layout *l, int kind, double x, double y, double w, double h, double value,
                const char *label) {
    qkv_io_text_add(l->out, "%d,%.1f,%.1f,%.1f,%.1f,%.4f,", kind, x, y, w, h, value);
    qkv_io_text_label(l->out, label);
    qkv_io_text_put(l->out, "\n", 1);
}

/* The mean of the numbers in a block of a matrix. */
static double block(const real *x, int cols, int r0, int r1, int c0, int c1) {
    double sum = 0;
    for (int r = r0; r < r1; r++)
        for (int c = c0; c < c1; c++) sum += (double)x[(ptrdiff_t)r * cols + c];
    return sum / ((double)(r1 - r0) * (c1 - c0));
}

/* A map of numbers, over the largest of them; of many numbers a cell is the mean of some. */
static void put_map(layout *l, int kind, const ag_node *node, const real *x, double left,
                    double top, const spot *s) {
    const int cols = node->val.shape.rank ? tensor_width(node->val.shape) : 1;
    const int rows = cols ? (int)(node->val.n / (size_t)cols) : 0;
    const int across = cols < CELLS ? cols : CELLS, down = rows < CELLS ? rows : CELLS;
    double cell[CELLS * CELLS], largest = 0;
    for (int r = 0; r < down; r++)
        for (int c = 0; c < across; c++) {
            double *to = &cell[r * CELLS + c];
            *to = x ? block(x, cols, rows * r / down, rows * (r + 1) / down, cols * c / across,
                            cols * (c + 1) / across)
                    : 0;
            largest = fmax(largest, fabs(*to));
        }
    for (int r = 0; r < down; r++)
        for (int c = 0; c < across; c++)
            put(l, kind, left + s->w * c / across, top + s->h * r / down, s->w / across,
                s->h / down, largest > 0 ? cell[r * CELLS + c] / largest : 0, "");
    put(l, 2, left, top, s->w, s->h, 0, "");
}

static void put_node(layout *l, int i) {
    const ag_node *node = node_of(l, i);
    const spot *s = &l->at[i];
    char text[160], shape[TENSOR_SHAPE_TEXT];
    snprintf(text, sizeof text, "%.60s", node->name);
    put(l, 4, s->x, s->y - 12, 0, 0, 0, text);
    snprintf(text, sizeof text, "%s",
             node->val.shape.rank ? tensor_shape_text(node->val.shape, shape) : "");
    put(l, 5, s->x, s->y + s->h + (node->has_grad ? s->h + 12 : 10), 0, 0, 0, text);
    put_map(l, 0, node, node->val.x, s->x, s->y, s);
    if (node->has_grad) put_map(l, 1, node, node->grad, s->x, s->y + s->h + 4, s);
    for (int k = 0; k < node->n_in; k++) {
        const spot *from = &l->at[node->in[k]->index];
        const double x = from->x + from->w, y = from->y + from->h / 2;
        put(l, 3, x, y, s->x - x, s->y + s->h / 2 - y, 0, "");
    }
}

bool qkv_probe_tape_graph(const qkv_probe_tape *tape, const char *title, qkv_io_text *out,
                          char *error) {
    if (!QKV_IO_GIVEN(error, tape, title, out)) return false;
    const int n = ag_count(tape->w->graph);
    layout l = {.tape = tape,
                .at = tensor_arena_take(out->arena, (size_t)n, sizeof *l.at),
                .height = tensor_arena_take(out->arena, (size_t)n, sizeof *l.height),
                .out = out};
    if (!l.at || !l.height) return qkv_io_fail(error, "out of memory");
    const int columns = find_columns(&l);
    find_rows(&l);
    find_places(&l, columns);
    qkv_io_text_add(out, "kind,x,y,w,h,value,label\n");
    put(&l, 6, EDGE, 16, 0, 0, 0, title);
    for (int i = 0; i < n; i++) put_node(&l, i);
    return !out->failed || qkv_io_fail(error, "out of memory");
}
