/* knockout.c - which part of a memory token do K and V need? Each path is shown the whole
 * embedding, the key's part alone or the value's part alone (the other part replaced by its
 * table's mean); then K and V are put together. */
#include <stdio.h>
#include <string.h>

#include "train/probe/interventions.h"
#include "train/probe/observe.h"

enum { WHOLE, KEY_ONLY, VALUE_ONLY, SIGHTS };
static const char *const sight_names[SIGHTS] = {"key+value", "key only", "value only"};

static const struct {
    int k, v;
} combinations[TRAIN_KNOCKOUTS] = {
    {WHOLE, WHOLE},    {KEY_ONLY, VALUE_ONLY}, {WHOLE, VALUE_ONLY},
    {KEY_ONLY, WHOLE}, {VALUE_ONLY, WHOLE},    {VALUE_ONLY, VALUE_ONLY},
    {WHOLE, KEY_ONLY}, {KEY_ONLY, KEY_ONLY},   {VALUE_ONLY, KEY_ONLY}};

/* In the embedding of every memory token, replaces the row of one stream by the table's mean. */
typedef struct {
    const data_spec *spec;
    const train_worker *w;
    const ag_param_entry *table;
    int stream;
    real *mean;  // [D]
} blur;

static void blur_embedding(ag_node *node, void *ctx) {
    const blur *b = ctx;
    int D = tensor_width(node->val.shape), S = b->spec->side[b->spec->store].T;
    for (int e = 0; e < b->w->count; e++)
        for (int p = 0; p < b->spec->entries; p++) {
            int id = b->w->data.rows.ids[b->spec->store][b->stream][e * S + p];
            real *x = node->val.x + ((ptrdiff_t)e * S + p) * D;
            for (int d = 0; id >= 0 && d < D; d++)
                x[d] += b->mean[d] - b->table->val.x[(ptrdiff_t)id * D + d];
        }
}

static bool blur_new(tensor_arena *arena, train_trainer *t, train_worker *w, int stream,
                     blur *out) {
    const data_spec *s = train_trainer_spec(t);
    char name[96];
    const data_stream *hidden = &s->side[s->store].stream[stream];
    snprintf(name, sizeof name, "%s.%s", train_store_name(s), hidden->name);
    *out = (blur){s, w, ag_params_find(train_trainer_params(t), name), stream, NULL};
    if (!out->table) return false;
    int D = out->table->val.shape.dim[1], N = data_symbols(hidden);
    out->mean = tensor_arena_reals(arena, (size_t)D);
    for (int i = 0; out->mean && i < N; i++)
        for (int d = 0; d < D; d++)
            out->mean[d] += out->table->val.x[(ptrdiff_t)i * D + d] / (real)N;
    return out->mean != NULL;
}

/* K and V of the last layer under each of the three sights. */
static bool take_sights(tensor_arena *arena, train_trainer *t, train_worker *w, train_patch *k,
                        train_patch *v) {
    const data_spec *s = train_trainer_spec(t);
    char k_name[64], v_name[64];
    snprintf(k_name, sizeof k_name, "layer%d.%s.k", train_trainer_config(t)->layers - 1,
             train_looker(s));
    snprintf(v_name, sizeof v_name, "layer%d.%s.v", train_trainer_config(t)->layers - 1,
             train_looker(s));
    ag_node *embed = ag_find(w->graph, train_store_name(s));
    for (int sight = 0; sight < SIGHTS; sight++) {
        blur hide;
        if (!blur_new(arena, t, w, sight == KEY_ONLY ? s->roles.value : s->roles.key, &hide))
            return false;
        if (sight != WHOLE) ag_hook(embed, blur_embedding, &hide);
        bool ran = ag_forward(w->graph);
        if (sight != WHOLE) ag_unhook(embed, blur_embedding, &hide);
        if (!ran || !train_patch_take(arena, w, k_name, &k[sight]) ||
            !train_patch_take(arena, w, v_name, &v[sight]))
            return false;
    }
    return true;
}

bool train_knock_out(tensor_arena *arena, train_trainer *t, train_worker *w,
                     train_interventions *out) {
    const data_spec *s = train_trainer_spec(t);
    train_patch k[SIGHTS], v[SIGHTS];
    train_view view;
    if (!train_view_new(arena, t, &view) || !take_sights(arena, t, w, k, v)) return false;
    for (int c = 0; c < TRAIN_KNOCKOUTS; c++) {
        train_knockout *sum = &out->knocked[c];
        train_patch *keys = &k[combinations[c].k], *values = &v[combinations[c].v];
        sum->k_sees = sight_names[combinations[c].k];
        sum->v_sees = sight_names[combinations[c].v];
        train_patch_on(keys);
        train_patch_on(values);
        bool ran = train_observe(t, w, &view);
        train_patch_off(values);
        train_patch_off(keys);
        if (!ran) return false;
        for (int e = 0; e < w->count; e++) {
            int n = train_scored_row(t, w, e);
            sum->accuracy += view.answer[e] == w->target[0][n];
            sum->in_bag += train_is_stored(s, w, e, view.answer[e]);
            sum->mass += (double)view.attention[(ptrdiff_t)e * view.S + w->source[0][n]];
        }
    }
    return true;
}
