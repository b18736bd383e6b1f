#include "train/probe/patching.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/probe/look.h"

/* What is added to a node's first example, or put in its place: positions at .. at+n-1, columns from ..
 * from+cols-1. */
typedef struct {
    const real *x;  // [T,W] as the node; or [T,cols] to be added
    bool add;
    int at, n, from, cols;
} patch;

typedef struct {
    qkv_trainer *t;
    qkv_trainer_worker *w;
    qkv_probe_patching *out;
    tensor_arena *arena;
    ag_node **stream, **node;           // [layers + 1], [QKV_PROBE_PATCHES,n_sites]; NULL: none
    real **clean_stream, **clean_node;  // what they are on clean
} job;

typedef double effect_fn(const job *j, ag_node *node, patch *p);

static void put(ag_node *node, void *ctx) {
    const patch *p = ctx;
    const int W = node->val.shape.dim[2];
    for (int t = p->at; t < p->at + p->n; t++)
        for (int i = 0; i < p->cols; i++) {
            real *to = &node->val.x[(ptrdiff_t)t * W + p->from + i];
            *to = p->add ? *to + p->x[(ptrdiff_t)t * p->cols + i]
                         : p->x[(ptrdiff_t)t * W + p->from + i];
        }
}

/* The row of logits at a position of the example that is loaded, -1: not scored; and what is asked there.
 * Examples that score other places have the same position in another row. */
static int row_at(const job *j, int position, int *target) {
    for (int n = 0; n < qkv_probe_rows(j->w); n++)
        if (j->w->rows[n] == position && j->w->target[0][n] >= 0) {
            *target = j->w->target[0][n];
            return n;
        }
    return -1;
}

/* The logits there; NULL: it is not scored in this example. */
static const real *logits_of(const job *j) {
    int target;
    const int row = row_at(j, j->out->position, &target);
    const ptrdiff_t V = qkv_trainer_spec(j->t)->readout[0].classes;
    return row < 0 ? NULL : j->w->out.logits[0]->val.x + row * V;
}

static double difference(const job *j) {
    const real *logits = logits_of(j);
    if (!logits) return (double)NAN;
    return (double)logits[j->out->clean_answer] - (double)logits[j->out->other_answer];
}

/* How far the answer comes back with the patch; NaN on a graph's error. */
static double recovered(const job *j, ag_node *node, patch *p) {
    if (!ag_hook(node, put, p)) return (double)NAN;
    const bool ran = qkv_probe_replay(j->w);
    ag_unhook(node, put, p);
    return ran ? (difference(j) - j->out->other) / (j->out->clean - j->out->other) : (double)NAN;
}

/* The same to first order, by gradients on `other`, which was replayed last. */
static double attributed(const job *j, ag_node *node, patch *p) {
    const int W = node->val.shape.dim[2];
    double sum = 0;
    for (int t = p->at; node->has_grad && t < p->at + p->n; t++)
        for (int i = p->from; i < p->from + p->cols; i++) {
            const ptrdiff_t at = (ptrdiff_t)t * W + i;
            sum += (double)node->grad[at] * ((double)p->x[at] - (double)node->val.x[at]);
        }
    return sum / (j->out->clean - j->out->other);
}

/* One backward pass from the difference on `other`. */
static bool go_backward(job *j) {
    ag_node *logits = j->w->out.logits[0];
    const ptrdiff_t V = qkv_trainer_spec(j->t)->readout[0].classes;
    real *cotangent = tensor_arena_reals(j->arena, logits->val.n);
    int target;
    const int row = row_at(j, j->out->position, &target);
    if (!cotangent || row < 0) return cotangent != NULL;
    cotangent[row * V + j->out->clean_answer] = 1;
    cotangent[row * V + j->out->other_answer] = -1;
    const bool ok = ag_backward(logits, cotangent);
    ag_grads_zero(j->w->graph);  // leaves would go on adding
    return ok;
}

static int rows_of(const ag_node *node) { return node->val.shape.dim[1]; }

/* Whether a part stands at the sequence; and how many of its rows both examples have. */
static bool at_sequence(const job *j, int part, int k) {
    const qkv_probe_site *site = &j->out->site[k];
    const bool cols = part == QKV_PROBE_PATCH_K || part == QKV_PROBE_PATCH_V;
    return (cols ? site->cols : site->rows) == DATA_SEQUENCE;
}
static int rows_at(const job *j, int part, int k) {
    return at_sequence(j, part, k) ? j->out->T : rows_of(j->node[part * j->out->n_sites + k]);
}

/* ---- the two runs ---- */

static bool run(job *j, const char *split, uint64_t example) {
    qkv_trainer_load(j->t, j->w, split, example, 1, 1);
    return qkv_probe_replay(j->w);
}

/* The first position at which both examples have an answer, and another one. Leaves `other` loaded. */
static bool choose(job *j, const char *split, uint64_t clean, uint64_t other) {
    const int T = j->out->T;
    int *asked = tensor_arena_take(j->arena, (size_t)T, sizeof(int));
    if (!asked || !run(j, split, clean)) return false;
    for (int t = 0; t < T; t++)
        if (row_at(j, t, &asked[t]) < 0) asked[t] = -1;
    if (!run(j, split, other)) return false;
    j->out->position = T;  // none
    for (int t = T - 1, answer; t >= 0 && j->out->position == T; t--) {
        if (asked[t] < 0 || row_at(j, t, &answer) < 0 || answer == asked[t]) continue;
        j->out->position = t;
        j->out->clean_answer = asked[t];
        j->out->other_answer = answer;
    }
    return true;
}

bool qkv_probe_patching_other(qkv_trainer *t, const char *split, uint64_t clean, uint64_t *other) {
    enum { TRIES = 100 };
    qkv_probe_patching p = {.T = qkv_trainer_spec(t)->side[DATA_SEQUENCE].T};
    tensor_arena *arena = tensor_arena_new(NULL);
    job j = {.t = t, .w = qkv_trainer_any_worker(t), .out = &p, .arena = arena};
    bool found = false;
    const uint64_t tries = (uint64_t)data_at_most(qkv_trainer_spec(t), split, TRIES);
    for (uint64_t i = 0; arena && !found && i < tries; i++) {
        *other = i;
        found = i != clean && choose(&j, split, clean, i) && p.position < p.T;
        tensor_arena_reset(arena);
    }
    tensor_arena_free(arena);
    return found;
}

static real *copy(tensor_arena *arena, const ag_node *node) {
    const size_t n = (size_t)node->val.shape.dim[1] * (size_t)node->val.shape.dim[2];
    real *x = tensor_arena_reals(arena, n);
    if (x) memcpy(x, node->val.x, n * sizeof *x);
    return x;
}

static bool take_clean(job *j, const char *split, uint64_t clean) {
    if (!run(j, split, clean)) return false;
    j->out->clean = difference(j);
    for (int l = 0; l <= j->out->layers; l++)
        if (!(j->clean_stream[l] = copy(j->arena, j->stream[l]))) return false;
    for (int i = 0; i < QKV_PROBE_PATCHES * j->out->n_sites; i++)
        if (j->node[i] && !(j->clean_node[i] = copy(j->arena, j->node[i]))) return false;
    return true;
}

/* ---- activations ---- */

/* One part of head h at all positions, in *all, and at each. */
static void patch_head(job *j, effect_fn *effect, int i, int h, double *all, double *at) {
    const int part = i / j->out->n_sites, k = i % j->out->n_sites;
    const qkv_config *c = qkv_trainer_config(j->t);
    const bool keys = part == QKV_PROBE_PATCH_K || part == QKV_PROBE_PATCH_V;
    const int E = part <= QKV_PROBE_PATCH_K ? c->d_k : c->d_v,
              first = keys ? h / (c->heads / c->kv_heads) * E : h * E;
    ag_node *node = j->node[i];
    patch p = {j->clean_node[i], false, 0, node ? rows_at(j, part, k) : 0, first, E};
    *all = node ? effect(j, node, &p) : (double)NAN;
    p.n = 1;
    for (p.at = 0; p.at < j->out->T; p.at++)
        at[p.at] = node && at_sequence(j, part, k) ? effect(j, node, &p) : (double)NAN;
}

static void patch_activations(job *j, effect_fn *effect, qkv_probe_effects *to) {
    const qkv_probe_patching *o = j->out;
    const int D = qkv_trainer_config(j->t)->d_model;
    for (int l = 0; l <= o->layers; l++)
        for (int t = 0; t < o->T; t++)
            to->stream[l * o->T + t] =
                effect(j, j->stream[l], &(patch){j->clean_stream[l], false, t, 1, 0, D});
    for (int i = 0; i < QKV_PROBE_PATCHES * o->n_sites; i++)
        for (int h = 0, at; h < o->heads; h++) {
            at = i * o->heads + h;
            patch_head(j, effect, i, h, &to->head[at], &to->head_at[at * o->T]);
        }
}

qkv_probe_agreement qkv_probe_agree(const double *exact, const double *linear, int n) {
    qkv_probe_agreement a = {.n = 0};
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < n; i++) {
        if (isnan(exact[i]) || isnan(linear[i])) continue;
        a.n++;
        a.wrong += qkv_probe_wrong_sign(exact[i], linear[i]);
        x += exact[i], y += linear[i];
        xx += exact[i] * exact[i], yy += linear[i] * linear[i], xy += exact[i] * linear[i];
    }
    a.seen = xx > 0 ? xy / xx : (double)NAN;
    const double size = (xx - x * x / a.n) * (yy - y * y / a.n);
    a.r = a.n && size > 0 ? (xy - x * y / a.n) / sqrt(size) : (double)NAN;
    return a;
}

bool qkv_probe_wrong_sign(double exact, double linear) {
    return fabs(exact) > 0.01 && exact * linear < 0;
}

/* ---- paths ---- */

/* One over the root mean square of x [D], after its mean is taken away in layer norm; 1 without norm. */
static double inverse_deviation(const ag_node *norm, const real *x, int D) {
    double mean = 0, squares = 0;
    if (!norm) return 1;
    const bool centred = strcmp(norm->op->name, "layer_norm") == 0;
    for (int d = 0; centred && d < D; d++) mean += (double)x[d] / D;
    for (int d = 0; d < D; d++) squares += ((double)x[d] - mean) * ((double)x[d] - mean) / D;
    return 1 / sqrt(squares + 1e-5);
}

static bool is_norm(const ag_node *n) {
    return n->op &&
           (strcmp(n->op->name, "layer_norm") == 0 || strcmp(n->op->name, "rms_norm") == 0);
}

/* What head h of site k wrote on clean, less what it wrote on other: [T,D]. */
static real *written(job *j, int k, int h, const real *other_mix) {
    const qkv_config *c = qkv_trainer_config(j->t);
    const int D = c->d_model, E = c->d_v, W = c->heads * E, T = rows_of(j->out->site[k].mix);
    real *wo = tensor_arena_reals(j->arena, (size_t)E * (size_t)D);
    real *out = tensor_arena_reals(j->arena, (size_t)T * (size_t)D);
    if (!wo || !out) return NULL;
    qkv_probe_site_writes(j->t, &j->out->site[k], h, wo);
    const real *clean = j->clean_node[QKV_PROBE_PATCH_RESULT * j->out->n_sites + k];
    for (int t = 0; t < rows_at(j, QKV_PROBE_PATCH_RESULT, k); t++)
        for (int e = 0; e < E; e++) {
            const ptrdiff_t at = (ptrdiff_t)t * W + h * E + e;
            const real x = clean[at] - other_mix[at];
            for (int d = 0; d < D; d++) out[t * D + d] += x * wo[e * D + d];
        }
    return out;
}

/* The change of a head's queries, keys or values [T,E] when `delta` [T,D] is added to the stream that it
 * reads, the norm before it done anew. */
static real *read_anew(job *j, int k, int h, char role, const ag_node *projected,
                       const real *delta) {
    const qkv_config *c = qkv_trainer_config(j->t);
    const int D = c->d_model, E = role == 'v' ? c->d_v : c->d_k, T = rows_of(projected);
    const ag_node *x = projected->in[0];
    if (role != 'q' && c->latent) x = x->in[0];
    const ag_node *norm = is_norm(x) ? x : NULL;
    if (norm) x = norm->in[0];
    real *w = tensor_arena_reals(j->arena, (size_t)D * (size_t)E);
    real *out = tensor_arena_reals(j->arena, (size_t)T * (size_t)E);
    real *moved = tensor_arena_reals(j->arena, (size_t)D);
    if (!w || !out || !moved || !qkv_probe_site_reads(j->t, &j->out->site[k], h, role, j->arena, w))
        return NULL;
    for (int t = 0; t < T; t++) {
        const real *old = x->val.x + (ptrdiff_t)t * D;
        for (int d = 0; d < D; d++) moved[d] = old[d] + delta[t * D + d];
        const double before = inverse_deviation(norm, old, D),
                     after = inverse_deviation(norm, moved, D);
        for (int d = 0; d < D; d++) {
            const double change = (double)moved[d] * after - (double)old[d] * before;
            for (int e = 0; e < E; e++) out[t * E + e] += (real)(change * (double)w[d * E + e]);
        }
    }
    return out;
}

static bool reads(const qkv_probe_site *a, const qkv_probe_site *b, char role) {
    const bool later =
        a->layer < b->layer ||
        (a->kind != QKV_PROBE_CROSS && a->kind != b->kind && b->kind == QKV_PROBE_CROSS &&
         (a->layer == b->layer || a->kind == QKV_PROBE_ENCODER));
    return later && a->rows == (role == 'q' ? b->rows : b->cols);
}

static bool patch_paths(job *j) {
    qkv_probe_patching *o = j->out;
    const qkv_config *c = qkv_trainer_config(j->t);
    const int n = o->n_sites * o->heads, group = c->heads / c->kv_heads;
    for (int i = 0; i < 3 * n * n; i++) o->path[i] = (double)NAN;
    for (int a = 0; a < n && !o->no_path; a++) {
        const qkv_probe_site *from = &o->site[a / o->heads];
        real *other = copy(j->arena, from->mix);
        real *delta = other ? written(j, a / o->heads, a % o->heads, other) : NULL;
        if (!delta) return false;
        for (int i = 0; i < 3 * n; i++) {
            const int b = i % n, h = b % o->heads;
            const char role = "qkv"[i / n];
            ag_node *to = j->node[i / n * o->n_sites + b / o->heads];
            if (!to || !reads(from, &o->site[b / o->heads], role)) continue;
            real *x = read_anew(j, b / o->heads, h, role, to, delta);
            if (!x) return false;
            const int E = role == 'v' ? c->d_v : c->d_k;
            o->path[(i / n * n + a) * n + b] = recovered(
                j, to, &(patch){x, true, 0, rows_of(to), (role == 'q' ? h : h / group) * E, E});
            if (!qkv_probe_replay(j->w)) return false;  // as without the patch
        }
    }
    return true;
}

/* ---- all of it ---- */

/* Does `other`, which was replayed last, differ from clean by more than rounding? */
static bool differs(const job *j) {
    const qkv_probe_patching *o = j->out;
    const real *logits = logits_of(j);
    if (!logits) return true;
    const double size =
        fmax(fabs((double)logits[o->clean_answer]), fabs((double)logits[o->other_answer]));
    return fabs(o->clean - o->other) > 4 * (double)REAL_EPSILON * size;
}

static bool no_way(const job *j, char *error) {
    const qkv_probe_patching *o = j->out;
    const data_readout *readout = &qkv_trainer_spec(j->t)->readout[0];
    char a[DATA_SYMBOL], b[DATA_SYMBOL];
    return qkv_io_fail(error,
                       "logit('%.100s') - logit('%.100s') is %.3g on both examples, so no part can "
                       "lead back from one to the other; choose another --other, or train more",
                       data_answer(readout, o->clean_answer, a),
                       data_answer(readout, o->other_answer, b), o->clean);
}

static bool room_for(qkv_probe_effects *e, tensor_arena *arena, size_t layers, size_t heads,
                     size_t T) {
    e->stream = tensor_arena_take(arena, (layers + 1) * T, sizeof(double));
    e->head = tensor_arena_take(arena, heads, sizeof(double));
    e->head_at = tensor_arena_take(arena, heads * T, sizeof(double));
    return e->stream && e->head && e->head_at;
}

static bool room(job *j, tensor_arena *arena, qkv_probe_patching *o) {
    const size_t T = (size_t)o->T, layers = (size_t)o->layers, sites = (size_t)o->n_sites,
                 heads = sites * (size_t)o->heads, nodes = QKV_PROBE_PATCHES * sites;
    o->path = tensor_arena_take(arena, 3 * heads * heads, sizeof(double));
    j->stream = tensor_arena_take(arena, layers + 1, sizeof *j->stream);
    j->clean_stream = tensor_arena_take(arena, layers + 1, sizeof *j->clean_stream);
    j->node = tensor_arena_take(arena, nodes, sizeof *j->node);
    j->clean_node = tensor_arena_take(arena, nodes, sizeof *j->clean_node);
    return room_for(&o->exact, arena, layers, QKV_PROBE_PATCHES * heads, T) &&
           room_for(&o->linear, arena, layers, QKV_PROBE_PATCHES * heads, T) && o->path &&
           j->stream && j->clean_stream && j->node && j->clean_node;
}

/* The streams; and the parts of heads, where they have their shape: a block of one's own need not. */
static bool find_nodes(job *j) {
    const qkv_config *c = qkv_trainer_config(j->t);
    const int n = j->out->n_sites;
    bool found = (j->stream[0] = ag_find(j->w->graph, "embed")) != NULL;
    for (int l = 0; l < j->out->layers; l++)
        found = (j->stream[l + 1] = qkv_probe_find(j->w, "layer%d.out", l)) && found;
    for (int i = 0; i < QKV_PROBE_PATCHES * n; i++) {
        const qkv_probe_site *site = &j->out->site[i % n];
        const int width[] = {c->heads * c->d_k, c->kv_heads * c->d_k, c->kv_heads * c->d_v};
        j->node[i] = i / n == QKV_PROBE_PATCH_RESULT
                         ? site->mix
                         : qkv_probe_find(j->w, "%s.%c", site->name, "qkv"[i / n]);
        const tensor_shape *s = j->node[i] ? &j->node[i]->val.shape : NULL;
        if (s && i / n < QKV_PROBE_PATCH_RESULT && (s->rank != 3 || s->dim[2] != width[i / n]))
            j->node[i] = NULL;
    }
    return found;
}

/* Positions that both examples have. */
static int shorter(qkv_trainer *t, qkv_trainer_worker *w, const char *split, uint64_t clean,
                   uint64_t other) {
    qkv_trainer_load(t, w, split, clean, 1, 1);
    const int length = data_length(&w->data, DATA_SEQUENCE, 0);
    qkv_trainer_load(t, w, split, other, 1, 1);
    const int others = data_length(&w->data, DATA_SEQUENCE, 0);
    return length < others ? length : others;
}

bool qkv_probe_patching_of(qkv_trainer *t, const char *split, uint64_t clean, uint64_t other,
                           tensor_arena *arena, qkv_probe_patching *out, char *error) {
    if (!QKV_IO_GIVEN(error, t, split, arena, out)) return false;
    const qkv_config *c = qkv_trainer_config(t);
    qkv_trainer_worker *w = qkv_trainer_tape_worker(t, false, error);
    if (!w) return false;
    job j = {.t = t, .w = w, .out = out, .arena = arena};
    *out = (qkv_probe_patching){
        .heads = c->heads, .layers = c->layers, .T = shorter(t, w, split, clean, other)};
    if (!w->out.logits[0]) return qkv_io_fail(error, "the answer is a vector, not a class");
    out->site = qkv_probe_sites(t, w, arena, &out->n_sites);
    if (!out->site || !room(&j, arena, out)) return qkv_io_fail(error, "out of memory");
    if (!out->n_sites || !find_nodes(&j)) return qkv_probe_no_sites(t, error);
    if (!c->residual || (c->post_norm && c->norm != NN_NORM_NONE))
        out->no_path = "the stream is no sum of what heads write";
    bool ok = choose(&j, split, clean, other);
    if (ok && out->position == out->T)
        return qkv_io_fail(error, "the two examples have no question with different answers");
    ok = ok && take_clean(&j, split, clean) && run(&j, split, other);
    if (ok) {
        out->other = difference(&j);
        if (!differs(&j)) return no_way(&j, error);
        if ((ok = go_backward(&j))) patch_activations(&j, attributed, &out->linear);
        if (ok) patch_activations(&j, recovered, &out->exact);
        ok = ok && run(&j, split, other) && patch_paths(&j);
    }
    return ok || qkv_trainer_fail(t, error);
}
