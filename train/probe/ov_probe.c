/* ov_probe.c - what does V carry? In mqar the later token of each pair (the key in the order vk,
 * the value in the order kv) is sent through the last layer's W^V W^O and the unembedding, as if a
 * question looked at it and nothing else. "ov_probe.embedding": how often the answer is the pair's
 * value when the token is its embedding alone; "ov_probe.after_first": with what the earlier layers
 * added to it; "ov_probe.first_only": from that addition alone. */
#include <math.h>
#include <string.h>

#include "train/probe/contextual.h"
#include "train/probe/look.h"
#include "train/probe/measure.h"

enum { EXAMPLES = 256, STREAMS = 3 };

typedef struct {
    const ag_param_entry *wo, *u;  // [H*E,D], NULL: side by side; [D,N]
    long rows, right[STREAMS];
} tally;

/* o [D] = the heads' parts of v [G*E] through W^O. */
static void map_back(const qkv_trainer *t, const tally *sum, const real *v, real *o) {
    const qkv_config *c = qkv_trainer_config(t);
    int D = c->d_model, E = c->d_v, group = c->heads / c->kv_heads;
    memset(o, 0, (size_t)D * sizeof *o);
    for (int i = 0; i < c->heads * E; i++) {
        real x = v[i / E / group * E + i % E];
        if (!sum->wo) o[i] = x;
        for (int d = 0; sum->wo && d < D; d++) o[d] += x * sum->wo->val.x[(ptrdiff_t)i * D + d];
    }
}

static int name_of(const tally *sum, int D, const real *o, real *logits) {
    int N = sum->u->val.shape.dim[1];
    memset(logits, 0, (size_t)N * sizeof *logits);
    for (int d = 0; d < D; d++)
        for (int i = 0; i < N; i++) logits[i] += o[d] * sum->u->val.x[(ptrdiff_t)d * N + i];
    return qkv_trainer_argmax(logits, N);
}

static bool count(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    static const qkv_probe_stream streams[STREAMS] = {QKV_PROBE_EMBEDDING, QKV_PROBE_WHOLE,
                                                      QKV_PROBE_WRITTEN};
    tally *sum = ctx;
    const data_spec *s = qkv_trainer_spec(t);
    const ag_node *v = qkv_probe_node(t, w, qkv_probe_last_layer(t), "v");
    int D = qkv_trainer_config(t)->d_model, S = v->val.shape.dim[1], width = v->val.shape.dim[2];
    real *o = tensor_arena_reals(arena, (size_t)D);
    real *logits = tensor_arena_reals(arena, (size_t)s->readout[0].classes);
    bool ok = o && logits;
    for (int i = 0; ok && i < STREAMS; i++) {
        ok = qkv_probe_entering(t, w, streams[i]);
        for (int n = 0; ok && n < qkv_probe_rows(w); n++) {
            int key, value, b = qkv_probe_row_example(t, w, n);
            qkv_probe_places(s, w->source[0][n], &key, &value);
            int at = b * S + (key > value ? key : value);
            map_back(t, sum, v->val.x + (ptrdiff_t)at * width, o);
            sum->right[i] += name_of(sum, D, o, logits) == w->target[0][n];
        }
    }
    sum->rows += qkv_probe_rows(w);
    return ok;
}

bool qkv_probe_run_ov_probe(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    static const char *const names[STREAMS] = {"embedding", "after_first", "first_only"};
    const data_spec *s = qkv_trainer_spec(t);
    const qkv_config *c = qkv_trainer_config(t);
    tally sum = {.wo = qkv_probe_matrix(t, qkv_probe_last_layer(t), "wo"),
                 .u = ag_params_find(qkv_trainer_params(t), "unembed.value")};
    if (strcmp(s->task->name, "mqar") != 0)
        return qkv_io_fail(error, "this probe is of the task 'mqar', not of '%s'", s->task->name);
    if (!qkv_probe_has_contexts(t, error)) return false;
    if (c->norm != NN_NORM_NONE)
        return qkv_io_fail(error, "a norm stands between the layer and the unembedding");
    if (!sum.u || c->readout == NN_READOUT_LOCAL || (c->wo && !sum.wo))
        return qkv_io_fail(error, "the model has no W^O and unembedding of its own");
    if (!qkv_probe_see(t, "test", EXAMPLES, 0, count, &sum, error)) return false;
    for (int i = 0; i < STREAMS; i++)
        qkv_probe_measure_add(out,
                              (double)sum.right[i] / (sum.rows ? (double)sum.rows : (double)NAN),
                              "ov_probe.%s", names[i]);
    return true;
}
