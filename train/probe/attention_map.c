#include "train/probe/attention_map.h"

#include <string.h>

#include "train/probe/observe.h"

/* Entries swapped: two that are far apart. */
static int swapped(int entries, int which) { return which == 0 ? entries / 4 : entries * 5 / 8; }

/* Where the value that answers the question for (unchanged) entry `asked` now stands. */
static int answer_at(const data_spec *s, train_map_change change, int asked) {
    int i = swapped(s->entries, 0), j = swapped(s->entries, 1);
    if (change != TRAIN_MAP_KEYS_SWAPPED) return asked;
    return asked == i ? j : asked == j ? i : asked;
}

/* Repeats example 0 of the worker in every row up to `count`. */
static void repeat(const data_spec *s, train_worker *w, int count) {
    for (int side = 0; side < DATA_SIDES; side++)
        for (int i = 0; i < s->side[side].n_streams; i++)
            for (int b = 1; b < count; b++) {
                int *ids = w->data.rows.ids[side][i], T = s->side[side].T;
                memcpy(ids + (ptrdiff_t)b * T, ids, (size_t)T * sizeof(int));
            }
    w->count = count;
}

/* Every row of the worker: the same example, row b asking for entry first + b. */
static void ask_for_each(train_trainer *t, train_worker *w, train_map_change change, int first, int count, int *at) {
    const data_spec *s = train_trainer_spec(t);
    int T = s->side[DATA_SEQUENCE].T, S = s->side[s->store].T;
    train_load(t, w, "picture", 0, 1, 1);
    *at = w->rows[0] % T;
    repeat(s, w, count);
    for (int b = 0; b < count; b++) {
        int *key = w->data.rows.ids[s->store][s->roles.key] + (ptrdiff_t)b * S;
        int *value = w->data.rows.ids[s->store][s->roles.value] + (ptrdiff_t)b * S, cell = b * T + *at;
        w->data.rows.ids[DATA_SEQUENCE][s->roles.query][cell] = data_asks_for(s, key[first + b]);
        for (int p = 0; p < T; p++)  // only the asked position is scored
            w->data.rows.target[0][b * T + p] = w->data.rows.source[0][b * T + p] = -1;
        int i = swapped(s->entries, 0), j = swapped(s->entries, 1), source = answer_at(s, change, first + b);
        if (change == TRAIN_MAP_KEYS_SWAPPED) train_swap(key, i, j);
        if (change == TRAIN_MAP_VALUES_SWAPPED) train_swap(value, i, j);
        w->data.rows.target[0][cell] = value[source];
        w->data.rows.source[0][cell] = source;
    }
    train_reload(t, w);
}

/* The symbols of one position of the store: "k6 v12"; "self" where the question stands. */
static void add_position(const data_spec *s, const train_worker *w, int b, int col, int at, train_text *out) {
    const data_side *store = &s->side[s->store];
    char symbol[DATA_SYMBOL];
    if (s->store == DATA_SEQUENCE && col == at) {
        train_text_add(out, "self");
        return;
    }
    for (int i = 0; i < store->n_streams; i++) {
        data_symbol(&store->stream[i], w->data.rows.ids[s->store][i][b * store->T + col], symbol);
        train_text_add(out, "%s%s", i && *symbol ? " " : "", symbol);
    }
}

static void add_row(const data_spec *s, const train_worker *w, const train_view *view, int b, int row, int at,
                    int source, train_text *out) {
    char asked[DATA_SYMBOL], said[DATA_SYMBOL];
    int id = w->data.rows.ids[DATA_SEQUENCE][s->roles.query][b * s->side[DATA_SEQUENCE].T + at];
    data_symbol(data_query(s), id, asked);
    data_symbol(data_value(s), view->answer[b], said);
    for (int col = 0; col < view->S; col++) {
        train_text_add(out, "%d,%d,", row, col);
        train_text_number(out, (double)view->attention[b * view->S + col]);
        train_text_add(out, ",%d,\"%s > %s\",\"", col == source, asked, said);
        add_position(s, w, b, col, at, out);
        train_text_add(out, "\"\n");
    }
}

bool train_attention_map(train_trainer *t, train_map_change change, train_text *out) {
    const data_spec *s = train_trainer_spec(t);
    train_worker *w = train_trainer_worker(t);
    train_view view;
    int at;
    if (s->roles.key < 0 || s->entries < 2 || !train_has_attention(t) || !train_trainer_worker(t)->out.logits[0] || !train_view_new(out->arena, t, &view)) return false;
    train_text_add(out, "row,col,weight,target,row_label,col_label\n");
    for (int first = 0; first < s->entries; first += w->B) {
        int count = s->entries - first < w->B ? s->entries - first : w->B;
        ask_for_each(t, w, change, first, count, &at);
        if (!train_observe(t, w, &view)) return false;
        for (int b = 0; b < count; b++) add_row(s, w, &view, b, first + b, at, answer_at(s, change, first + b), out);
    }
    return !out->failed;
}
