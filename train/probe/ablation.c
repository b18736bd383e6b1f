/* ablation.c - which part of a memory token do K and V need? Each path is shown the whole
 * embedding, the key's part alone or the value's part alone (the other part replaced by its
 * table's mean); then K and V are put together. */

#include "train/probe/hide.h"
#include "train/probe/interventions.h"
#include "train/probe/look.h"
#include "train/probe/observe.h"

enum { WHOLE, KEY_ONLY, VALUE_ONLY, SIGHTS };
static const char *const sight_names[SIGHTS] = {"key+value", "key only", "value only"};

static const struct {
    int k, v;
} combinations[QKV_PROBE_ABLATIONS] = {
    {WHOLE, WHOLE},    {KEY_ONLY, VALUE_ONLY}, {WHOLE, VALUE_ONLY},
    {KEY_ONLY, WHOLE}, {VALUE_ONLY, WHOLE},    {VALUE_ONLY, VALUE_ONLY},
    {WHOLE, KEY_ONLY}, {KEY_ONLY, KEY_ONLY},   {VALUE_ONLY, KEY_ONLY}};

/* K and V of the last layer under each of the three sights. */
static bool take_sights(tensor_arena *arena, qkv_trainer *t, qkv_trainer_worker *w,
                        qkv_probe_patch *k, qkv_probe_patch *v) {
    const data_spec *s = qkv_trainer_spec(t);
    const int last = qkv_probe_last_layer(t);
    ag_node *embed = ag_find(w->graph, qkv_trainer_store_name(s));
    for (int sight = 0; sight < SIGHTS; sight++) {
        qkv_probe_hidden hide;
        if (!qkv_probe_hide_new(arena, t, w, sight == KEY_ONLY ? s->roles.value : s->roles.key,
                                &hide))
            return false;
        if (sight != WHOLE) ag_hook(embed, qkv_probe_hide, &hide);
        bool ran = ag_forward(w->graph);
        if (sight != WHOLE) ag_unhook(embed, qkv_probe_hide, &hide);
        if (!ran || !qkv_probe_patch_take(arena, qkv_probe_node(t, w, last, "k"), &k[sight]) ||
            !qkv_probe_patch_take(arena, qkv_probe_node(t, w, last, "v"), &v[sight]))
            return false;
    }
    return true;
}

bool qkv_probe_ablate(tensor_arena *arena, qkv_trainer *t, qkv_trainer_worker *w, const int *right,
                      qkv_probe_interventions *out) {
    const data_spec *s = qkv_trainer_spec(t);
    qkv_probe_patch k[SIGHTS], v[SIGHTS];
    qkv_probe_view view;
    if (!qkv_probe_view_new(arena, t, &view) || !take_sights(arena, t, w, k, v)) return false;
    for (int c = 0; c < QKV_PROBE_ABLATIONS; c++) {
        qkv_probe_ablation *sum = &out->ablated[c];
        qkv_probe_patch *keys = &k[combinations[c].k], *values = &v[combinations[c].v];
        sum->k_sees = sight_names[combinations[c].k];
        sum->v_sees = sight_names[combinations[c].v];
        qkv_probe_patch_on(keys);
        qkv_probe_patch_on(values);
        bool ran = qkv_probe_observe(t, w, &view);
        qkv_probe_patch_off(values);
        qkv_probe_patch_off(keys);
        if (!ran) return false;
        for (int e = 0; e < w->count; e++) {
            int n = qkv_probe_scored_row(t, w, e);
            if (right[e] < 0) continue;
            sum->accuracy += view.answer[e] == w->target[0][n];
            sum->in_context += qkv_trainer_is_stored(s, w, e, view.answer[e]);
            sum->answer_attention +=
                (double)view.attention[(ptrdiff_t)e * view.S + w->source[0][n]];
        }
    }
    return true;
}
