/* capacity.c - how many random patterns does one softmax tell apart, without any training?
 *
 * n patterns x_j are drawn on the sphere of radius M in d = d_model dimensions: M = embed_std sqrt(d), the
 * size of embeddings, or 1 with embed_init=unit. Each has a content v_j, drawn likewise and independent of
 * it. Pattern i is asked for:
 *
 *     y = sum over j of softmax_j(b x_i . x_j) v_j          retrieved: |y - v_i| <= |v_i| / 2
 *
 * with b = 1 or 1/sqrt(d), as the scores' factor is configured. (Were v_j = x_j, the mean of many patterns
 * near x_i would pass for x_i.) "capacity.n64": the share that is retrieved of 64 patterns (of 3; of 2, 4,
 * 8 ...); "capacity.bits": log2 of the n of which half would be. "capacity_linear": the same without the
 * softmax, y = sum over j of
 * (x_i . x_j) v_j / M^2, which is a matrix of d x d numbers, whatever n.
 *
 * "capacity.bound": log2 of how many are stored at the least with probability 0.9 for the whole draw:
 * Ramsauer et al., "Hopfield Networks is All You Need", 2020, theorem 3, where it applies. With
 * K = M / sqrt(d-1), W the upper branch of Lambert's function:
 *
 *     N = sqrt(p) c^((d-1)/4)    c = b' / W(exp(a + ln b'))    b' = 2 K^2 b / 5
 *     a = 2/(d-1) (1 + ln(2 b K^2 p (d-1)))                    if N >= 2 */
#include <math.h>
#include <string.h>

#include "tensor/rng.h"
#include "train/study/probe.h"

enum { MOST = 1 << 15, ASKED = 128, AT_ONCE = 16 };

typedef struct {
    int d;
    double radius, factor;
    real *x, *v;  // [MOST,d] the patterns, their contents
} patterns;

static void draw(const patterns *p, rng *r, real *x) {
    double squares = 0;
    for (int i = 0; i < p->d; i++) {
        x[i] = (real)rng_normal(r);
        squares += (double)x[i] * (double)x[i];
    }
    for (int i = 0; i < p->d; i++) x[i] *= (real)(p->radius / sqrt(squares));
}

/* How many of the T contents asked for, v [T,d], come back in y [T,d]. */
static int retrieved(const patterns *p, int T, const real *v, const real *y) {
    int n = 0;
    for (int t = 0; t < T; t++) {
        double off = 0;
        for (int i = t * p->d; i < (t + 1) * p->d; i++)
            off += ((double)y[i] - (double)v[i]) * ((double)y[i] - (double)v[i]);
        n += off <= 0.25 * p->radius * p->radius;
    }
    return n;
}

/* The share of n patterns that is retrieved, ASKED being asked for: of few patterns, in several draws of n;
 * -1: the graph's error. */
static double share(qkv_trainer *t, const patterns *p, int n, bool linear) {
    const int T = n < AT_ONCE ? n : AT_ONCE;
    ag_graph *g = ag_graph_new(qkv_trainer_params(t));
    if (!g) return -1;
    ag_node *q = ag_input(g, "asked", tensor_dims(3, 1, T, p->d)),
            *k = ag_input(g, "stored", tensor_dims(3, 1, n, p->d)),
            *v = ag_input(g, "contents", tensor_dims(3, 1, n, p->d));
    const ag_mask all = {0};
    const double factor = linear ? 1 / (p->radius * p->radius) : p->factor;
    ag_node *scores = ag_scores(q, k, 1, factor, all),
            *y = ag_mix(linear ? scores : ag_softmax(scores, all), v, 1, all);
    int found = 0, done = 0;
    for (; done < ASKED && !ag_error(g); done += T) {
        const ptrdiff_t first = (ptrdiff_t)(done / n * n) * p->d, at = (ptrdiff_t)done * p->d;
        memcpy(q->val.x, p->x + at, q->val.n * sizeof(real));
        memcpy(k->val.x, p->x + first, k->val.n * sizeof(real));
        memcpy(v->val.x, p->v + first, v->val.n * sizeof(real));
        if (ag_forward(g)) found += retrieved(p, T, p->v + at, y->val.x);
    }
    const bool ok = !ag_error(g);
    ag_graph_free(g);
    return ok ? (double)found / done : -1;
}

/* Doubles n until nearly nothing is retrieved, and finds where half would be; false: memory is out. */
static bool fill(qkv_trainer *t, const patterns *p, const char *name, bool linear,
                 qkv_probe_measures *out) {
    double last = share(t, p, 3, linear), bits = NAN;
    if (last < 0) return false;
    qkv_probe_measure_add(out, last, "%s.n3", name);
    last = 1;
    for (int n = 2, log2n = 1; n <= MOST && last > 0.02; n *= 2, log2n++) {
        const double now = share(t, p, n, linear);
        if (now < 0) return false;
        qkv_probe_measure_add(out, now, "%s.n%d", name, n);
        if (now < 0.5 && isnan(bits)) bits = log2n - (0.5 - now) / (last - now);
        last = now;
    }
    if (!isnan(bits)) qkv_probe_measure_add(out, bits, "%s.bits", name);
    return true;
}

/* w with w e^w = x, for x > 0. */
static double lambert(double x) {
    double w = log1p(x);
    for (int i = 0; i < 50; i++) w -= (w * exp(w) - x) / (exp(w) * (1 + w));
    return w;
}

static void add_bound(const patterns *s, qkv_probe_measures *out) {
    const double p = 0.1, m = s->d - 1, K2 = s->radius * s->radius / m;
    const double a = 2 / m * (1 + log(2 * s->factor * K2 * p * m)), b = 2 * K2 * s->factor / 5;
    const double bits = (log(p) / 2 + m / 4 * log(b / lambert(exp(a + log(b))))) / log(2);
    if (bits >= 1) qkv_probe_measure_add(out, bits, "capacity.bound");
}

/* linear: without the softmax, and without the bound that is about it. */
static bool run(qkv_trainer *t, bool linear, qkv_probe_measures *out, char *error) {
    const qkv_config *c = qkv_trainer_config(t);
    if (!linear && c->scale != NN_SCALE_SQRT && c->scale != NN_SCALE_NONE)
        return qkv_io_fail(error, "the factor of the scores must be 'sqrt' or 'none'");
    if (c->d_model < 2 || (c->embed_init != NN_EMBED_UNIT && c->embed_std <= 0))
        return qkv_io_fail(error, "patterns need two dimensions and a size above 0");
    patterns p = {.d = c->d_model,
                  .radius = c->embed_init == NN_EMBED_UNIT ? 1 : c->embed_std * sqrt(c->d_model),
                  .factor = c->scale == NN_SCALE_NONE ? 1 : 1 / sqrt(c->d_model)};
    tensor_arena *arena = tensor_arena_new(NULL);
    p.x = arena ? tensor_arena_reals(arena, (size_t)MOST * (size_t)p.d) : NULL;
    p.v = p.x ? tensor_arena_reals(arena, (size_t)MOST * (size_t)p.d) : NULL;
    rng random = rng_stream((uint64_t)c->seed, "capacity", 0);
    for (ptrdiff_t i = 0; p.v && i < MOST; i++) {
        draw(&p, &random, p.x + i * p.d);
        draw(&p, &random, p.v + i * p.d);
    }
    const bool ok = p.v && fill(t, &p, linear ? "capacity_linear" : "capacity", linear, out);
    if (ok && !linear) add_bound(&p, out);
    tensor_arena_free(arena);
    return ok || qkv_io_fail(error, "out of memory");
}

bool qkv_study_probe_run_capacity(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    return run(t, false, out, error);
}

bool qkv_study_probe_run_capacity_linear(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    return run(t, true, out, error);
}
