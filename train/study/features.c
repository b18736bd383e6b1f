/* features.c - what can be read from V, and from K, by a linear map?
 *
 * For every stream of the store, a linear map (with a constant) from the last layer's v at the entries to
 * the entry's symbol is fitted by least squares on some examples and tried on others:
 * "features.v.NAME", the share that is right; "features.k.NAME", the same from k. The control:
 * "features.v.NAME.shuffled", fitted to symbols that belong to other entries, tried on their own.
 *
 * What can be read need not be used; but what cannot be read cannot be used by what is linear, W^O. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/probe/look.h"
#include "train/study/probe.h"

enum { EXAMPLES = 600, TRAINED_ON = 400, MOST = 128 };

/* n entries: x [n, width + 1], the last one 1; symbol [n]. The first `fitted` of them are for fitting. */
typedef struct {
    int width, n, fitted, room;
    double *x;
    int *symbol[DATA_MAXSTREAMS];
    char role;
    int examples;
} entries;

static bool collect(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    (void)arena;
    entries *e = ctx;
    const data_spec *s = qkv_trainer_spec(t);
    const ag_node *node = qkv_probe_node(t, w, qkv_probe_last_layer(t), (char[]){e->role, 0});
    const int S = s->side[s->store].T, W = e->width + 1;
    for (int b = 0; b < w->count; b++, e->examples++) {
        const int there = data_length(&w->data, s->store, b);
        for (int at = 0; at < s->entries && at < there && e->n < e->room; at++, e->n++) {
            const real *from = node->val.x + ((ptrdiff_t)b * S + at) * e->width;
            for (int i = 0; i < e->width; i++) e->x[(ptrdiff_t)e->n * W + i] = (double)from[i];
            e->x[(ptrdiff_t)e->n * W + e->width] = 1;
            for (int r = 0; r < s->side[s->store].n_streams; r++)
                e->symbol[r][e->n] = qkv_probe_ids(t, w, s->store, r, b)[at];
            if (e->examples < TRAINED_ON) e->fitted = e->n + 1;
        }
    }
    return true;
}

/* The lower triangle of a [W,W], positive definite, becomes its root: a = L L^T. */
static void cholesky(double *a, int W) {
    for (int j = 0; j < W; j++)
        for (int i = j; i < W; i++) {
            double sum = a[i * W + j];
            for (int k = 0; k < j; k++) sum -= a[i * W + k] * a[j * W + k];
            a[i * W + j] = i == j ? sqrt(sum) : sum / a[j * W + j];
        }
}

/* b [W,V] becomes (L L^T)^-1 b. */
static void solve(const double *l, int W, double *b, int V) {
    for (int i = 0; i < W; i++)
        for (int c = 0; c < V; c++) {
            for (int k = 0; k < i; k++) b[i * V + c] -= l[i * W + k] * b[k * V + c];
            b[i * V + c] /= l[i * W + i];
        }
    for (int i = W - 1; i >= 0; i--)
        for (int c = 0; c < V; c++) {
            for (int k = i + 1; k < W; k++) b[i * V + c] -= l[k * W + i] * b[k * V + c];
            b[i * V + c] /= l[i * W + i];
        }
}

/* x^T x of the entries for fitting, as its root; a small part of its trace keeps it definite. */
static void gram(const entries *e, double *a) {
    const int W = e->width + 1;
    double trace = 0;
    memset(a, 0, (size_t)(W * W) * sizeof *a);
    for (int n = 0; n < e->fitted; n++)
        for (int i = 0; i < W; i++)
            for (int j = 0; j <= i; j++) a[i * W + j] += e->x[n * W + i] * e->x[n * W + j];
    for (int i = 0; i < W; i++) trace += a[i * W + i];
    for (int i = 0; i < W; i++) a[i * W + i] += 1e-6 * trace / W + 1e-9;
    cholesky(a, W);
}

/* The share of the other entries whose symbol is read; `apart`: fitted to that of an entry so far on. */
static double read_share(const entries *e, const double *root, const int *symbol, int V, int apart,
                         double *b) {
    const int W = e->width + 1;
    int right = 0;
    memset(b, 0, (size_t)(W * V) * sizeof *b);
    for (int n = 0; n < e->fitted; n++)
        for (int i = 0; i < W; i++) b[i * V + symbol[(n + apart) % e->fitted]] += e->x[n * W + i];
    solve(root, W, b, V);
    for (int n = e->fitted; n < e->n; n++) {
        double most = -(double)INFINITY;
        int said = 0;
        for (int c = 0; c < V; c++) {
            double y = 0;
            for (int i = 0; i < W; i++) y += e->x[n * W + i] * b[i * V + c];
            if (y > most) most = y, said = c;
        }
        right += said == symbol[n];
    }
    return (double)right / (e->n > e->fitted ? e->n - e->fitted : 1);
}

static bool probe_role(qkv_trainer *t, char role, tensor_arena *arena, qkv_probe_measures *out,
                       char *error) {
    const data_spec *s = qkv_trainer_spec(t);
    const data_side *side = &s->side[s->store];
    const ag_node *node =
        qkv_probe_node(t, qkv_trainer_any_worker(t), qkv_probe_last_layer(t), (char[]){role, 0});
    entries e = {.width = tensor_width(node->val.shape), .role = role};
    const size_t W = (size_t)e.width + 1, n = (size_t)EXAMPLES * (size_t)s->entries;
    int most = 1;
    for (int r = 0; r < side->n_streams; r++) most = data_larger(most, side->stream[r].vocab);
    e.room = (int)n;
    e.x = tensor_arena_take(arena, n * W, sizeof *e.x);
    double *root = tensor_arena_take(arena, W * W, sizeof *root),
           *b = tensor_arena_take(arena, W * (size_t)most, sizeof *b);
    bool ok = e.x && root && b;
    for (int r = 0; r < side->n_streams; r++)
        ok = (e.symbol[r] = tensor_arena_take(arena, n, sizeof(int))) && ok;
    if (!ok) return qkv_io_fail(error, "out of memory");
    if (!qkv_probe_see(t, "test", EXAMPLES, 0, collect, &e, error)) return false;
    if (e.examples <= TRAINED_ON)
        return qkv_io_fail(error, "%d examples are for fitting alone, the task has %d to test by",
                           TRAINED_ON, e.examples);
    gram(&e, root);
    for (int r = 0; r < side->n_streams; r++) {
        const data_stream *stream = &side->stream[r];
        bool whole = true;
        for (int i = 0; i < e.n; i++) whole = whole && e.symbol[r][i] >= 0;
        if (!whole) continue;  // no entry has one of these (the question's), or not all
        qkv_probe_measure_add(out, read_share(&e, root, e.symbol[r], stream->vocab, 0, b),
                              "features.%c.%.30s", role, stream->name);
        if (role == 'v')
            qkv_probe_measure_add(
                out, read_share(&e, root, e.symbol[r], stream->vocab, s->entries + 1, b),
                "features.v.%.30s.shuffled", stream->name);
    }
    return true;
}

bool qkv_study_probe_run_features(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    if (!qkv_probe_has_nodes(t, "v k", error)) return false;
    const qkv_config *c = qkv_trainer_config(t);
    if (qkv_trainer_spec(t)->entries < 2)
        return qkv_io_fail(error, "the task has no entries whose symbols could be read");
    if (c->kv_heads * c->d_v > MOST || c->kv_heads * c->d_k > MOST)
        return qkv_io_fail(error, "keys or values have more than %d numbers", MOST);
    tensor_arena *arena = tensor_arena_new(NULL);
    bool ok = arena ? probe_role(t, 'v', arena, out, error) && probe_role(t, 'k', arena, out, error)
                    : qkv_io_fail(error, "out of memory");
    tensor_arena_free(arena);
    return ok;
}
