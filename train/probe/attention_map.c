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

/* Every row of the worker: the same example, row b asking for entry first + b. */
static void ask_for_each(train_trainer *t, train_worker *w, train_map_change change, int first, int count) {
    const data_spec *s = train_trainer_spec(t);
    int T = s->T;
    train_load(t, w, "picture", 0, 1, 1);
    int at = w->rows[0] % T;
    w->count = count;
    for (int b = count - 1; b >= 0; b--) {  // row 0, which is copied from, comes last
        for (int i = 0; i < s->n_streams; i++)
            memmove(w->data.rows.ids[i] + b * T, w->data.rows.ids[i], (size_t)T * sizeof(int));
        w->data.rows.ids[s->roles.query][b * T + at] = w->data.rows.ids[s->roles.key][first + b];
        int *key = w->data.rows.ids[s->roles.key] + b * T, *value = w->data.rows.ids[s->roles.value] + b * T;
        int i = swapped(s->entries, 0), j = swapped(s->entries, 1);
        if (change == TRAIN_MAP_KEYS_SWAPPED) train_swap(key, i, j);
        if (change == TRAIN_MAP_VALUES_SWAPPED) train_swap(value, i, j);
        int source = answer_at(s, change, first + b);
        w->data.rows.target[0][b * T + at] = value[source];
        w->data.rows.source[0][b * T + at] = source;
    }
    train_reload(t, w);
}

static void add_row(const data_spec *s, const train_worker *w, const train_view *view, int b, int row, int at,
                    int source, train_text *out) {
    char asked[DATA_SYMBOL], said[DATA_SYMBOL], symbol[DATA_SYMBOL];
    const data_stream *values = &s->stream[s->roles.value];
    data_symbol(&s->stream[s->roles.query], w->data.rows.ids[s->roles.query][b * s->T + at], asked);
    data_symbol(values, view->answer[b], said);
    for (int col = 0; col < s->T; col++) {
        train_text_add(out, "%d,%d,", row, col);
        train_text_number(out, (double)view->attention[b * s->T + col]);
        train_text_add(out, ",%d,\"%s > %s\",\"", col == source, asked, said);
        if (col == at)
            train_text_add(out, "self");
        else
            for (int i = 0; i < s->n_streams; i++) {
                data_symbol(&s->stream[i], w->data.rows.ids[i][b * s->T + col], symbol);
                train_text_add(out, "%s%s", i && *symbol ? " " : "", symbol);
            }
        train_text_add(out, "\"\n");
    }
}

bool train_attention_map(train_trainer *t, train_map_change change, train_text *out) {
    const data_spec *s = train_trainer_spec(t);
    train_worker *w = train_trainer_worker(t);
    train_view view;
    if (s->roles.key < 0 || s->entries < 2 || !train_view_new(out->arena, t, &view)) return false;
    train_text_add(out, "row,col,weight,target,row_label,col_label\n");
    for (int first = 0; first < s->entries; first += w->B) {
        int count = s->entries - first < w->B ? s->entries - first : w->B;
        ask_for_each(t, w, change, first, count);
        if (!train_observe(t, w, &view)) return false;
        int at = w->rows[0] % s->T;
        for (int b = 0; b < count; b++) add_row(s, w, &view, b, first + b, at, answer_at(s, change, first + b), out);
    }
    return !out->failed;
}
