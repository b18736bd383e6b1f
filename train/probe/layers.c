/* layers.c - what the last layer gets from the earlier ones.
 *
 * Ablation: one of the last layer's Q, K, V is computed from the embedding alone, as if the
 * earlier layers had written nothing; everything else stays. Whichever of them then breaks the
 * answer is the one that is contextual. How: the stream that enters the last layer is overwritten
 * by the embedding for one replay, what that makes of q, k and v is kept, and put in place of the
 * real one.
 *
 * Looking: tasks whose keys and values stand at positions of their own. Of the two, the later one
 * should look at the earlier one in the first layer ("layers.first_to_partner"); the question looks
 * at the key ("layers.last_to_key") or at the value ("layers.last_to_value") in the last. */
#include <stdio.h>
#include <string.h>

#include "train/probe/contextual.h"
#include "train/probe/look.h"
#include "train/probe/measure.h"
#include "train/probe/observe.h"

enum { EXAMPLES = 256 };

/* ---- for this probe and ov_probe.c ---- */

static void set_embedding(ag_node *node, void *embed) {
    memcpy(node->val.x, ((const ag_node *)embed)->val.x, node->val.n * sizeof(real));
}

static void take_embedding_away(ag_node *node, void *embed) {
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] -= ((const ag_node *)embed)->val.x[i];
}

bool qkv_probe_entering(qkv_trainer *t, qkv_trainer_worker *w, qkv_probe_stream stream) {
    static ag_hook_fn *const changes[] = {NULL, set_embedding, take_embedding_away};
    char name[32];
    snprintf(name, sizeof name, "layer%d.out", qkv_probe_last_layer(t) - 1);
    ag_node *entering = ag_find(w->graph, name), *embed = ag_find(w->graph, "embed");
    if (!changes[stream]) return qkv_probe_replay(w);
    if (!ag_hook(entering, changes[stream], embed)) return false;
    bool ran = qkv_probe_replay(w);
    ag_unhook(entering, changes[stream], embed);
    return ran;
}

bool qkv_probe_has_contexts(qkv_trainer *t, char *error) {
    const data_spec *s = qkv_trainer_spec(t);
    if (qkv_probe_last_layer(t) < 1)
        return qkv_io_fail(error, "the model has one layer, none before its last");
    if (s->store == DATA_MEMORY)
        return qkv_io_fail(error, "attention reads a memory, which no earlier layer writes to");
    return qkv_probe_has_nodes(t, "weights q k v logits", error);
}

bool qkv_probe_places(const data_spec *s, int source, int *key, int *value) {
    *key = source + s->key_at;
    *value = source + s->answer_at;
    return source >= 0 && *key != *value;
}

/* ---- ablation ---- */

enum { INTACT, WITHOUT_Q, WITHOUT_K, WITHOUT_V, WITHOUT_ALL, CASES };

typedef struct {
    long rows, right[CASES], looked;
    double partner, key, value;
} tally;

static void count_right(qkv_trainer *t, const qkv_trainer_worker *w, long *right) {
    for (int n = 0; n < qkv_probe_rows(w); n++)
        for (int r = 0; r < qkv_trainer_spec(t)->n_readouts; r++)
            *right += w->target[r][n] >= 0 && qkv_probe_answer(t, w, r, n) == w->target[r][n];
}

static void count_looks(qkv_trainer *t, const qkv_trainer_worker *w, tally *sum) {
    const ag_node *first = qkv_trainer_weights(w, 0),
                  *last = qkv_trainer_weights(w, qkv_probe_last_layer(t));
    int key, value;
    for (int n = 0; n < qkv_probe_rows(w); n++) {
        for (int r = 0; r < qkv_trainer_spec(t)->n_readouts; r++) sum->rows += w->target[r][n] >= 0;
        if (!qkv_probe_places(qkv_trainer_spec(t), w->source[0][n], &key, &value)) continue;
        int b = qkv_probe_row_example(t, w, n), at = qkv_probe_row_position(t, w, n);
        int early = key < value ? key : value, late = key < value ? value : key;
        sum->looked++;
        if (first) sum->partner += qkv_probe_mean_at(first, b, late, early);
        sum->key += qkv_probe_mean_at(last, b, at, key);
        sum->value += qkv_probe_mean_at(last, b, at, value);
    }
}

static bool ablation(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    tally *sum = ctx;
    qkv_probe_patch patch[3];
    bool ok = true;
    count_looks(t, w, sum);
    count_right(t, w, &sum->right[INTACT]);
    ok = qkv_probe_entering(t, w, QKV_PROBE_EMBEDDING);
    for (int i = 0; ok && i < 3; i++) {
        ag_node *node =
            qkv_probe_node(t, w, qkv_probe_last_layer(t), (const char *[]){"q", "k", "v"}[i]);
        ok = qkv_probe_patch_take(arena, w, node->name, &patch[i]);
    }
    for (int c = WITHOUT_Q; ok && c < CASES; c++) {
        int from = c == WITHOUT_ALL ? 0 : c - WITHOUT_Q, to = c == WITHOUT_ALL ? 3 : from + 1;
        for (int i = from; i < to; i++) qkv_probe_patch_on(&patch[i]);
        ok = qkv_probe_replay(w);
        if (ok) count_right(t, w, &sum->right[c]);
        for (int i = from; i < to; i++) qkv_probe_patch_off(&patch[i]);
    }
    return ok;
}

bool qkv_probe_run_layers(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    static const char *const names[CASES] = {"intact", "without_q", "without_k", "without_v",
                                             "without_all"};
    tally sum = {0};
    if (!qkv_probe_has_contexts(t, error) ||
        !qkv_probe_see(t, "test", EXAMPLES, 0, ablation, &sum, error))
        return false;
    double rows = sum.rows ? (double)sum.rows : 1, looked = (double)sum.looked;
    for (int c = 0; c < CASES; c++)
        qkv_probe_measure_add(out, (double)sum.right[c] / rows, "layers.%s.accuracy", names[c]);
    if (!sum.looked) return true;
    qkv_probe_measure_add(out, sum.partner / looked, "layers.first_to_partner");
    qkv_probe_measure_add(out, sum.key / looked, "layers.last_to_key");
    qkv_probe_measure_add(out, sum.value / looked, "layers.last_to_value");
    return true;
}
