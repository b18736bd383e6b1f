/* partner.c - how far W^Q = W^K can go in the task partner, by weights that are set and not learned.
 *
 * Let f(a) be what a key a puts into the common projection, g(v) what a value does. The question for a
 * wants the entry (b, w) and not (a, v), the question for b the other way round. With d = f(a) - f(b):
 *
 *     margin of a's question      f(a) . (f(b) + g(w) - f(a) - g(v))
 *     the sum of both questions'  -|d|^2 + d . (g(w) - g(v))
 *
 * If K is shown keys only, g = 0: the sum is below 0, and one of the two is wrong: half at most. If
 * values take part, both can be right; but in the same example with v and w exchanged the second term
 * has the other sign. The four margins add up to -2 |d|^2, so three quarters can be right, not all.
 *
 * The weights here reach that: f(b) is a pair's own direction, f(a) a little longer and with a part of 1
 * along one more, along which every value has a size of its own. b's question then finds a in any case,
 * and a's question finds b when w is the greater of the two, which is half of the time.
 * "partner.by_hand": the accuracy; "partner.keys_only": the same with g = 0.
 *
 * Where attention looks is not all there is: the question reaches the answer through the residual, too. Say
 * both partners get nearly the same attention, a's entry a little more. b's question is right by that. a's
 * has a flag, which only the unembedding reads: it prefers later values by more than that little. So a's
 * question gets the later value of the two, and half of these are right: three quarters again, with K shown
 * keys only: "partner.flagged". For a linear reader, values in no match, no more than about that
 * is possible (docs/findings.md). */
#include <math.h>
#include <string.h>

#include "train/probe/look.h"
#include "train/study/probe.h"

enum { EXAMPLES = 2000 };

typedef enum { KEYS_ONLY, BY_HAND, FLAGGED, WAYS } way;
static const char *const way_name[WAYS] = {"keys_only", "by_hand", "flagged"};

/* The stream: a direction for each pair of keys, the one more (or the flag), one for each value. */
typedef struct {
    int more, values, width;
} layout;

static layout layout_of(const data_spec *s) {
    const int pairs = data_symbols(data_key(s)) / 2;
    return (layout){pairs, pairs + 1, pairs + 1 + data_symbols(data_value(s))};
}

static void set(ag_param_entry *p, int row, int col, double x) {
    p->val.x[(ptrdiff_t)row * p->val.shape.dim[1] + col] = (real)x;
}

static void set_by_hand(qkv_trainer *t, way how) {
    const data_spec *s = qkv_trainer_spec(t);
    const layout at = layout_of(s);
    const bool flag = how == FLAGGED;
    const double length = flag ? 20 : 300, longer = length + (flag ? 0.004 : 0.5),
                 size = how == BY_HAND ? 200 : 0;
    const int V = data_symbols(data_value(s));
    for (int i = 0; i < ag_params_count(qkv_trainer_params(t)); i++) {
        tensor *x = &ag_params_at(qkv_trainer_params(t), i)->val;
        memset(x->x, 0, x->n * sizeof *x->x);
    }
    for (int k = 0; k < data_symbols(data_key(s)); k++) {
        set(qkv_probe_param(t, "embed.key"), k, k / 2, k % 2 ? length : longer);
        if (k % 2 == 0) set(qkv_probe_param(t, "embed.key"), k, at.more, 1);
    }
    for (int v = 0; v < V; v++) {
        set(qkv_probe_param(t, "embed.value"), v, at.more, size * (v - 0.5 * (V - 1)));
        set(qkv_probe_param(t, "embed.value"), v, at.values + v, 1);
        set(qkv_probe_param(t, "layer0.attn.wv"), at.values + v, at.values + v, 1);
        set(qkv_probe_param(t, "unembed.value"), at.values + v, v, flag ? 1000 : 10);
        if (flag) set(qkv_probe_param(t, "unembed.value"), at.more, v, 8 * v);
    }
    for (int d = 0; d < at.width; d++) {
        if (d < (flag ? at.more : at.values)) set(qkv_probe_param(t, "layer0.attn.wq"), d, d, 1);
        set(qkv_probe_param(t, "layer0.attn.wo"), d, d, 1);
    }
}

static const char *does_not_fit(qkv_trainer *t) {
    const qkv_config *c = qkv_trainer_config(t);
    const data_spec *s = qkv_trainer_spec(t);
    if (strcmp(s->task->name, "partner") != 0) return "this probe is of the task 'partner'";
    const bool plain = c->layers == 1 && c->heads == 1 && c->tie == NN_TIE_QK && !c->latent &&
                       c->norm == NN_NORM_NONE && c->positions == NN_POSITIONS_NONE && !c->d_ff &&
                       c->wq && c->wk && c->wv && c->wo && !c->qk_norm && !c->tie_unembedding &&
                       c->soft_cap == 0 && c->scale == NN_SCALE_SQRT;
    if (!plain || !qkv_probe_param(t, "layer0.attn.wq"))
        return "the weights are for one layer, one head, W^Q = W^K, and nothing else";
    const int width = layout_of(s).width;
    return c->d_model < width || c->d_k != c->d_model || c->d_v != c->d_model
               ? "the stream and the head are too narrow for the weights"
               : NULL;
}

bool qkv_study_probe_run_partner(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    const char *why = does_not_fit(t);
    if (why) return qkv_io_fail(error, "%s", why);
    tensor_arena *arena = tensor_arena_new(NULL);
    real *kept = arena ? tensor_arena_reals(arena, ag_params_size(qkv_trainer_params(t))) : NULL;
    bool ok = kept != NULL;
    if (!kept) qkv_io_fail(error, "out of memory");
    const bool open = qkv_probe_gate_is_open(t);
    qkv_probe_set_gate(t, true);
    qkv_probe_params_copy(qkv_trainer_params(t), kept, false);
    for (way how = 0; ok && how < WAYS; how++) {
        qkv_trainer_scores e;
        set_by_hand(t, how);
        ok = qkv_trainer_evaluate(t, "test", 0, EXAMPLES, &e, error);
        if (ok) qkv_probe_measure_add(out, e.accuracy, "partner.%s", way_name[how]);
    }
    qkv_probe_params_copy(qkv_trainer_params(t), kept, true);
    qkv_probe_set_gate(t, open);
    tensor_arena_free(arena);
    return ok;
}
