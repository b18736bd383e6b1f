/* attention_map.c - what the pictures of attention and circuits show, as CSV. */
#include "train/probe/attention_map.h"

#include <stdio.h>
#include <string.h>

#include "train/io/words.h"
#include "train/probe/look.h"
#include "train/probe/observe.h"

/* The example of the picture: where its entries stand, and the two of them that are swapped, which
 * are far apart. */
typedef struct {
    uint64_t number;
    int n, *at;  // [n] positions of the store
    int i, j;
} picture;

/* The first example that has two entries, of the first few; it is loaded. */
static bool find_picture(qkv_trainer *t, tensor_arena *arena, picture *out) {
    enum { TRIED = 64 };
    const data_spec *s = qkv_trainer_spec(t);
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    *out = (picture){.at = tensor_arena_take(arena, (size_t)s->entries, sizeof(int))};
    for (; out->at && out->number < TRIED; out->number++) {
        qkv_trainer_load(t, w, "picture", out->number, 1, 1);
        const int *const *ids = (const int *const *)w->data.rows.ids[s->store];
        out->n = 0;
        for (int p = 0; p < s->entries; p++)
            if (data_is_entry(s, ids[s->roles.key], ids[s->roles.value], p)) out->at[out->n++] = p;
        if (out->n < 2) continue;
        out->i = out->at[out->n / 4];
        out->j = out->at[out->n * 5 / 8];
        return true;
    }
    return false;
}

/* Where the value that answers the question for (unchanged) entry `asked` now stands. */
static int answer_at(const picture *x, qkv_probe_map_change change, int asked) {
    if (change != QKV_PROBE_MAP_KEYS_SWAPPED) return asked;
    return asked == x->i ? x->j : asked == x->j ? x->i : asked;
}

/* Repeats example 0 of the worker in every row up to `count`. */
static void repeat(const data_spec *s, qkv_trainer_worker *w, int count) {
    for (int side = 0; side < DATA_SIDES; side++)
        for (int i = 0; i < s->side[side].n_streams; i++)
            for (int b = 1; b < count; b++) {
                int *ids = w->data.rows.ids[side][i], T = s->side[side].T;
                memcpy(ids + (ptrdiff_t)b * T, ids, (size_t)T * sizeof(int));
            }
    w->count = count;
}

/* Every row of the worker: the same example, row b asking for entry first + b. */
static void ask_for_each(qkv_trainer *t, qkv_trainer_worker *w, const picture *x,
                         qkv_probe_map_change change, int first, int count, int *at) {
    const data_spec *s = qkv_trainer_spec(t);
    int T = s->side[DATA_SEQUENCE].T, S = s->side[s->store].T;
    qkv_trainer_load(t, w, "picture", x->number, 1, 1);
    *at = w->rows[0] % T;
    repeat(s, w, count);
    for (int b = 0; b < count; b++) {
        int *key = w->data.rows.ids[s->store][s->roles.key] + (ptrdiff_t)b * S;
        int *value = w->data.rows.ids[s->store][s->roles.value] + (ptrdiff_t)b * S,
            cell = b * T + *at;
        w->data.rows.ids[DATA_SEQUENCE][s->roles.query][cell] =
            data_asks_for(s, key[x->at[first + b]]);
        for (int p = 0; p < T; p++)  // only the asked position is scored
            w->data.rows.target[0][b * T + p] = w->data.rows.source[0][b * T + p] = -1;
        int source = answer_at(x, change, x->at[first + b]);
        if (change == QKV_PROBE_MAP_KEYS_SWAPPED) qkv_probe_swap(key, x->i, x->j);
        if (change == QKV_PROBE_MAP_VALUES_SWAPPED) qkv_probe_swap(value, x->i, x->j);
        w->data.rows.target[0][cell] = value[source];
        w->data.rows.source[0][cell] = source;
    }
    qkv_trainer_reload(t, w);
}

/* One cell with its numbers and the two names. */
static void add_cell(qkv_io_text *out, int row, int col, double x, bool target,
                     const char *row_name, const char *col_name) {
    qkv_io_text_add(out, "%d,%d,", row, col);
    qkv_io_text_number(out, x);
    qkv_io_text_add(out, ",%d,", target);
    qkv_io_text_label(out, row_name);
    qkv_io_text_put(out, ",", 1);
    qkv_io_text_label(out, col_name);
}

/* What stands at position `col` of the store, whoever asks: at the position that asks without what
 * it asks for; "self" if that is all. */
static const char *stored(const data_spec *s, qkv_trainer_worker *w, int b, int col, int at,
                          char *out, size_t size) {
    if (s->store != DATA_SEQUENCE || col != at)
        return data_position(&w->data, s->store, b, col, out, size);
    int cell = b * s->side[DATA_SEQUENCE].T + at,
        *asks = w->data.rows.ids[DATA_SEQUENCE][s->roles.query], asked = asks[cell];
    asks[cell] = -1;
    bool entry = w->data.rows.ids[DATA_SEQUENCE][s->roles.key][cell] >= 0;
    data_position(&w->data, DATA_SEQUENCE, b, col, out, size);
    asks[cell] = asked;
    return entry ? out : "self";
}

static void add_row(const data_spec *s, qkv_trainer_worker *w, const qkv_probe_view *view, int b,
                    int row, int at, int source, qkv_io_text *out) {
    char asked[DATA_SYMBOL], said[DATA_SYMBOL], name[2 * DATA_SYMBOL + 4], text[256];
    int id = w->data.rows.ids[DATA_SEQUENCE][s->roles.query][b * s->side[DATA_SEQUENCE].T + at];
    data_symbol(data_query(s), id, asked);
    data_symbol(data_value(s), view->answer[b], said);
    snprintf(name, sizeof name, "%s > %s", asked, said);
    for (int col = 0; col < view->S; col++) {
        add_cell(out, row, col, (double)view->attention[b * view->S + col], col == source, name,
                 stored(s, w, b, col, at, text, sizeof text));
        qkv_io_text_put(out, "\n", 1);
    }
}

static bool no_symbol(qkv_trainer *t) { return !qkv_trainer_any_worker(t)->out.logits[0]; }

const char *qkv_probe_attention_missing(qkv_trainer *t) {
    const data_spec *s = qkv_trainer_spec(t);
    return s->roles.key < 0                ? data_no_roles(s)
           : s->entries < 2                ? "an example has fewer than two entries"
           : !qkv_trainer_has_attention(t) ? "the model has no attention weights"
           : no_symbol(t)                  ? "the answer is a vector, no symbol"
                                           : NULL;
}

bool qkv_probe_attention_map(qkv_trainer *t, qkv_probe_map_change change, qkv_io_text *out) {
    const data_spec *s = qkv_trainer_spec(t);
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    qkv_probe_view view;
    picture x;
    int at;
    if (qkv_probe_attention_missing(t) || !qkv_probe_view_new(out->arena, t, &view) ||
        !find_picture(t, out->arena, &x))
        return false;
    qkv_io_text_add(out, "row,col,weight,target,row_label,col_label\n");
    for (int first = 0; first < x.n; first += w->B) {
        int count = x.n - first < w->B ? x.n - first : w->B;
        ask_for_each(t, w, &x, change, first, count, &at);
        if (!qkv_probe_observe(t, w, &view)) return false;
        for (int b = 0; b < count; b++)
            add_row(s, w, &view, b, first + b, at, answer_at(&x, change, x.at[first + b]), out);
    }
    return !out->failed;
}

/* Ends a row of a map with its title, which stands in the first. */
static void add_title(qkv_io_text *out, int row, int col, const char *title) {
    qkv_io_text_put(out, ",", 1);
    if (row == 0 && col == 0) qkv_io_text_label(out, title);
    qkv_io_text_put(out, "\n", 1);
}

/* What a circuit's map says, measured. */
static void finding(const qkv_probe_circuits *c, qkv_probe_circuit i, char *out, size_t size) {
    int rows = c->rows[i];
    if (i == QKV_PROBE_QK_KEY)
        qkv_io_words(out, size, "%.0f of %d queries find their key", c->qk_diag * c->asked,
                     c->asked);
    else if (i == QKV_PROBE_OV_VALUE)
        qkv_io_words(out, size, "%.0f of %d values are answered", c->ov_diag * rows, rows);
    else if (isfinite(i == QKV_PROBE_QK_VALUE ? c->qk_ratio : c->ov_ratio))
        qkv_io_words(out, size, "%.2g of the variance beside it",
                     i == QKV_PROBE_QK_VALUE ? c->qk_ratio : c->ov_ratio);
    else
        snprintf(out, size, "beside it nothing varies");
}

void qkv_probe_circuit_map(const qkv_probe_circuits *c, qkv_probe_circuit i, qkv_io_text *out) {
    char row[DATA_SYMBOL], col[DATA_SYMBOL], title[80];
    finding(c, i, title, sizeof title);
    qkv_io_text_add(out, "row,col,value,target,row_label,col_label,title\n");
    for (int r = 0; r < c->rows[i]; r++)
        for (int k = 0; k < c->cols[i]; k++) {
            bool right =
                i == QKV_PROBE_QK_KEY ? k == c->right[r] : i == QKV_PROBE_OV_VALUE && k == r;
            add_cell(out, r, k, (double)c->map[i][r * c->cols[i] + k], right,
                     data_symbol(c->row[i], r, row), data_symbol(c->col[i], k, col));
            add_title(out, r, k, title);
        }
}

/* Where that now stands which was at a position before two of the store were exchanged. */
static int moved(const qkv_probe_maps_of *of, int position) {
    return position == of->at ? of->other : position == of->other ? of->at : position;
}

/* One head of one attention node as a CSV with the symbols of both sides; readout -1: no answer is
 * marked. */
static void add_head(const qkv_trainer_worker *w, const qkv_probe_maps_of *of,
                     const ag_node *weights, int head, data_side_name rows, data_side_name cols,
                     const char *title, int readout, qkv_io_text *out) {
    const data_side_name store = w->data.spec->store;
    const int T = data_length(&w->data, rows, 0), S = data_length(&w->data, cols, 0);
    char row[256], col[256];
    qkv_io_text_add(out, "row,col,weight,target,row_label,col_label,title\n");
    for (int t = 0; t < T; t++)
        for (int s = 0; s < S; s++) {
            const int asks = rows == store ? moved(of, t) : t,
                      from = cols == store ? moved(of, s) : s;
            bool target = readout >= 0 && w->data.rows.target[readout][asks] >= 0 &&
                          w->data.rows.source[readout][asks] == from;
            add_cell(out, t, s, (double)qkv_probe_row_of(weights, 0, head, t)[s], target,
                     data_position(&w->data, rows, 0, t, row, sizeof row),
                     data_position(&w->data, cols, 0, s, col, sizeof col));
            add_title(out, t, s, title);
        }
}

int qkv_probe_example_maps(qkv_trainer *t, const qkv_probe_maps_of *of, tensor_arena *arena,
                           qkv_io_text *out) {
    static const struct {
        const char *format, *title;
        data_side_name rows, cols;
    } kinds[] = {{"encoder%d.attn.weights", "encoder %d", DATA_MEMORY, DATA_MEMORY},
                 {"layer%d.attn.weights", "layer %d", DATA_SEQUENCE, DATA_SEQUENCE},
                 {"layer%d.cross.weights", "layer %d (memory)", DATA_SEQUENCE, DATA_MEMORY}};
    const qkv_config *c = qkv_trainer_config(t);
    const data_spec *s = qkv_trainer_spec(t);
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    int n = 0;
    ag_set_run(w->graph, (ag_run){.training = false});
    if (!ag_forward(w->graph)) return -1;
    for (int layer = of->first_layer; layer < c->layers; layer++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            char name[64], where[32], title[160];
            snprintf(name, sizeof name, kinds[k].format, layer);
            snprintf(where, sizeof where, kinds[k].title, layer);
            const ag_node *weights = ag_find(w->graph, name);
            for (int head = 0;
                 weights && weights->val.shape.rank == 4 && head < c->heads && n < of->most;
                 head++) {
                out[n] = (qkv_io_text){.arena = arena};
                bool answers = layer == c->layers - 1 && kinds[k].cols == s->store &&
                               kinds[k].rows == DATA_SEQUENCE;
                bool named = answers && s->n_readouts > 1 && of->readout >= 0;
                bool remarked = of->remark && *of->remark;
                snprintf(title, sizeof title, "%s head %d%s%.24s%s%.70s", where, head,
                         named ? ": " : "", named ? s->readout[of->readout].name : "",
                         remarked ? ": " : "", remarked ? of->remark : "");
                add_head(w, of, weights, head, kinds[k].rows, kinds[k].cols, title,
                         answers ? of->readout : -1, &out[n++]);
            }
        }
    return n;
}
