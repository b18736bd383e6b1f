/* depth.c - what the last layer gets from the earlier ones.
 *
 * Ablation: one of the last layer's Q, K, V is computed from the embedding alone, as if the
 * earlier layers had written nothing; everything else stays. Whichever of them then breaks the
 * answer is the one that is contextual. How: the stream that enters the last layer is overwritten
 * by the embedding for one replay, what that makes of q, k and v is kept, and put in place of the
 * real one.
 *
 * Looking: tasks whose keys and values stand at positions of their own. Of the two, the later one
 * should look at the earlier one in the first layer ("layers.first_to_partner"); the question looks
 * at the key ("layers.last_to_key") or at the value ("layers.last_to_value") in the last.
 *
 * What does V carry? In mqar the later token of each pair (the key in the order vk,
 * the value in the order kv) is sent through the last layer's W^V W^O and the unembedding, as if a
 * question looked at it and nothing else. "ov_probe.embedding": how often the answer is the pair's
 * value when the token is its embedding alone; "ov_probe.after_first": with what the earlier layers
 * added to it; "ov_probe.first_only": from that addition alone. */
#include <stdio.h>
#include <string.h>

#include "train/probe/look.h"
#include "train/probe/observe.h"
#include "train/study/probe.h"

enum { EXAMPLES = 256, STREAMS = 3 };

/* ---- the stream that enters the last layer ---- */

typedef enum {
    WHOLE,      // as it is
    EMBEDDING,  // the embedding alone
    WRITTEN     // what the earlier layers added to it
} stream_of;

static void set_embedding(ag_node *node, void *embed) {
    memcpy(node->val.x, ((const ag_node *)embed)->val.x, node->val.n * sizeof(real));
}

static void take_embedding_away(ag_node *node, void *embed) {
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] -= ((const ag_node *)embed)->val.x[i];
}

/* Replays the worker with the stream changed so. Its nodes then hold what follows from that. */
static bool entering(qkv_trainer *t, qkv_trainer_worker *w, stream_of stream) {
    static ag_hook_fn *const changes[] = {NULL, set_embedding, take_embedding_away};
    ag_node *entering = qkv_probe_find(w, "layer%d.out", qkv_probe_last_layer(t) - 1),
            *embed = ag_find(w->graph, "embed");
    if (!changes[stream]) return qkv_probe_replay(w);
    if (!ag_hook(entering, changes[stream], embed)) return false;
    bool ran = qkv_probe_replay(w);
    ag_unhook(entering, changes[stream], embed);
    return ran;
}

/* Does the model have two layers of attention within the sequence? Else false with a sentence. */
static bool has_contexts(qkv_trainer *t, char *error) {
    const data_spec *s = qkv_trainer_spec(t);
    if (qkv_probe_last_layer(t) < 1)
        return qkv_io_fail(error, "the model has one layer, none before its last");
    if (s->store == DATA_MEMORY)
        return qkv_io_fail(error, "attention reads a memory, which no earlier layer writes to");
    return qkv_probe_has_nodes(t, "weights q k v logits", error);
}

/* Where key and value of an entry stand whose answer is at `source`. False: the task has no positions of
 * their own for them. */
static bool places(const data_spec *s, int source, int *key, int *value) {
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
        if (!places(qkv_trainer_spec(t), w->source[0][n], &key, &value)) continue;
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
    ok = entering(t, w, EMBEDDING);
    for (int i = 0; ok && i < 3; i++) {
        ag_node *node =
            qkv_probe_node(t, w, qkv_probe_last_layer(t), (const char *[]){"q", "k", "v"}[i]);
        ok = qkv_probe_patch_take(arena, node, &patch[i]);
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

bool qkv_study_probe_run_layers(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    static const char *const names[CASES] = {"intact", "without_q", "without_k", "without_v",
                                             "without_all"};
    tally sum = {0};
    if (!has_contexts(t, error) || !qkv_probe_see(t, "test", EXAMPLES, 0, ablation, &sum, error))
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

/* ---- what V carries ---- */

typedef struct {
    const ag_param_entry *wo, *u;  // [H*E,D], NULL: side by side; [D,N]
    long rows, right[STREAMS];
} said;

/* o [D] = the heads' parts of v [G*E] through W^O. */
static void map_back(const qkv_trainer *t, const said *sum, const real *v, real *o) {
    const qkv_config *c = qkv_trainer_config(t);
    int D = c->d_model, E = c->d_v, group = c->heads / c->kv_heads;
    memset(o, 0, (size_t)D * sizeof *o);
    for (int i = 0; i < c->heads * E; i++) {
        real x = v[i / E / group * E + i % E];
        if (!sum->wo) o[i] = x;
        for (int d = 0; sum->wo && d < D; d++) o[d] += x * sum->wo->val.x[(ptrdiff_t)i * D + d];
    }
}

static int name_of(const said *sum, int D, const real *o, real *logits) {
    int N = sum->u->val.shape.dim[1];
    memset(logits, 0, (size_t)N * sizeof *logits);
    for (int d = 0; d < D; d++)
        for (int i = 0; i < N; i++) logits[i] += o[d] * sum->u->val.x[(ptrdiff_t)d * N + i];
    return qkv_trainer_argmax(logits, N);
}

static bool count_said(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    static const stream_of streams[STREAMS] = {EMBEDDING, WHOLE, WRITTEN};
    said *sum = ctx;
    const data_spec *s = qkv_trainer_spec(t);
    const ag_node *v = qkv_probe_node(t, w, qkv_probe_last_layer(t), "v");
    int D = qkv_trainer_config(t)->d_model, S = v->val.shape.dim[1], width = v->val.shape.dim[2];
    real *o = tensor_arena_reals(arena, (size_t)D);
    real *logits = tensor_arena_reals(arena, (size_t)s->readout[0].classes);
    bool ok = o && logits;
    for (int i = 0; ok && i < STREAMS; i++) {
        ok = entering(t, w, streams[i]);
        for (int n = 0; ok && n < qkv_probe_rows(w); n++) {
            int key, value, b = qkv_probe_row_example(t, w, n);
            places(s, w->source[0][n], &key, &value);
            int at = b * S + (key > value ? key : value);
            map_back(t, sum, v->val.x + (ptrdiff_t)at * width, o);
            sum->right[i] += name_of(sum, D, o, logits) == w->target[0][n];
        }
    }
    sum->rows += qkv_probe_rows(w);
    return ok;
}

bool qkv_study_probe_run_ov_probe(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    static const char *const names[STREAMS] = {"embedding", "after_first", "first_only"};
    const data_spec *s = qkv_trainer_spec(t);
    const qkv_config *c = qkv_trainer_config(t);
    said sum = {.wo = qkv_probe_matrix(t, qkv_probe_last_layer(t), "wo"),
                .u = ag_params_find(qkv_trainer_params(t), "unembed.value")};
    if (strcmp(s->task->name, "mqar") != 0)
        return qkv_io_fail(error, "this probe is of the task 'mqar', not of '%s'", s->task->name);
    if (!has_contexts(t, error)) return false;
    if (c->norm != NN_NORM_NONE)
        return qkv_io_fail(error, "a norm stands between the layer and the unembedding");
    if (!sum.u || c->readout == NN_READOUT_LOCAL || (c->wo && !sum.wo))
        return qkv_io_fail(error, "the model has no W^O and unembedding of its own");
    if (!qkv_probe_see(t, "test", EXAMPLES, 0, count_said, &sum, error)) return false;
    for (int i = 0; i < STREAMS; i++)
        qkv_probe_measure_add(out,
                              (double)sum.right[i] / (sum.rows ? (double)sum.rows : (double)NAN),
                              "ov_probe.%s", names[i]);
    return true;
}
