/* composition.c - which head reads what which earlier head writes: the size of the product of their
 * matrices against the product of their sizes.
 *
 *     A = W_V W_O of the earlier head [D,D], B = W_Q W_K^T of the later one; row vectors
 *     Q: |A B| / (|A| |B|)    K: |B A^T| / (|B| |A|)    V: |A W_V W_O| / (|A| |W_V W_O|)
 *
 * Norms of Frobenius. Independent random matrices of the same shapes have such a ratio, too; it is
 * measured on a few. Norms before the sublayers are folded in (their division by a deviation cancels
 * in the ratio). Queries and keys that are turned by their position or normalised meet by no one
 * matrix; positions added to scores change nothing of theirs.
 * Source: Elhage et al., 2021, "A Mathematical Framework for Transformer Circuits". */
#include <string.h>

#include "tensor/gemm.h"
#include "tensor/rng.h"
#include "train/io/given.h"
#include "train/probe/heads.h"
#include "train/probe/look.h"

enum { Q, K, V, TRIALS = 16 };

/* One head's matrices [D,E], W_O [E,D], and the sizes of their two products. */
typedef struct {
    real *q, *k, *v, *o;
    double qk, ov;
} head;

typedef struct {
    int D, E, F;             // width of the stream; of queries and keys; of values
    real *wide[2], *narrow;  // scratch: [D,D], [D, max(E,F)]
} sizes;

static gemm_view rows(const real *x, int cols) { return (gemm_view){x, cols, 1}; }
static gemm_view turned(const real *x, int cols) { return (gemm_view){x, 1, cols}; }

/* |a b^T| and |a b| of a [D,I], b [D,I] or [I,D]. */
static double size_of(const sizes *s, const real *a, int I, gemm_view b, real *to) {
    gemm_mul(GEMM_SET, s->D, s->D, I, rows(a, I), b, to, s->D);
    return qkv_probe_norm(to, (size_t)s->D * (size_t)s->D);
}

static void measure(const sizes *s, head *h) {
    h->qk = size_of(s, h->q, s->E, turned(h->k, s->E), s->wide[0]);
    h->ov = size_of(s, h->v, s->F, rows(h->o, s->D), s->wide[0]);
}

/* The three ratios of an earlier head a and a later one b. */
static void ratios(const sizes *s, const head *a, const head *b, double out[3]) {
    const int D = s->D, E = s->E, F = s->F;
    const real *A = s->wide[1];
    size_of(s, a->v, F, rows(a->o, D), s->wide[1]);
    gemm_mul(GEMM_SET, D, E, D, rows(A, D), rows(b->q, E), s->narrow, E);  // A W_Q
    out[Q] = size_of(s, s->narrow, E, turned(b->k, E), s->wide[0]) / (a->ov * b->qk);
    gemm_mul(GEMM_SET, D, E, D, rows(A, D), rows(b->k, E), s->narrow, E);  // A W_K
    out[K] = size_of(s, b->q, E, turned(s->narrow, E), s->wide[0]) / (a->ov * b->qk);
    gemm_mul(GEMM_SET, D, F, D, rows(A, D), rows(b->v, F), s->narrow, F);  // A W_V
    out[V] = size_of(s, s->narrow, F, rows(b->o, D), s->wide[0]) / (a->ov * b->ov);
}

static bool room(const sizes *s, tensor_arena *arena, head *h) {
    const size_t D = (size_t)s->D, E = (size_t)s->E, F = (size_t)s->F;
    *h = (head){tensor_arena_reals(arena, D * E),
                tensor_arena_reals(arena, D * E),
                tensor_arena_reals(arena, D * F),
                tensor_arena_reals(arena, D * F),
                0,
                0};
    return h->q && h->k && h->v && h->o;
}

static void draw(rng *r, real *x, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = (real)rng_normal(r);
}

static bool random_baseline(const sizes *s, tensor_arena *arena, double out[3]) {
    rng r = rng_stream(1, "composition", 0);
    head h[2];
    double one[3];
    if (!room(s, arena, &h[0]) || !room(s, arena, &h[1])) return false;
    for (int i = 0; i < TRIALS; i++) {
        for (int k = 0; k < 2; k++) {
            draw(&r, h[k].q, (size_t)(s->D * s->E)), draw(&r, h[k].k, (size_t)(s->D * s->E));
            draw(&r, h[k].v, (size_t)(s->D * s->F)), draw(&r, h[k].o, (size_t)(s->D * s->F));
            measure(s, &h[k]);
        }
        ratios(s, &h[0], &h[1], one);
        for (int c = 0; c < 3; c++) out[c] += one[c] / TRIALS;
    }
    return true;
}

static bool before(const qkv_probe_site *a, const qkv_probe_site *b) {
    return a != b &&
           (a->layer < b->layer ||
            (a->layer == b->layer && a->kind == QKV_PROBE_SELF && b->kind == QKV_PROBE_CROSS) ||
            (a->kind == QKV_PROBE_ENCODER && b->kind == QKV_PROBE_CROSS));
}

static void compare(qkv_trainer *t, const sizes *s, qkv_probe_heads *out, const head *all, int a,
                    int b) {
    const qkv_probe_site *from = &out->site[a / out->heads], *to = &out->site[b / out->heads];
    const bool defined = !out->no_composition;
    double x[3] = {(double)NAN, (double)NAN, (double)NAN};
    (void)t;
    if (before(from, to)) {
        ratios(s, &all[a], &all[b], x);
        if (from->rows != to->rows || !defined) x[Q] = (double)NAN;
        if (from->rows != to->cols || !defined) x[K] = (double)NAN;
        if (from->rows != to->cols) x[V] = (double)NAN;
    }
    for (int c = 0; c < 3; c++) out->composed[c][a * out->n_sites * out->heads + b] = x[c];
}

bool qkv_probe_compose(qkv_trainer *t, tensor_arena *arena, qkv_probe_heads *out, char *error) {
    if (!QKV_IO_GIVEN(error, t, arena, out)) return false;
    const qkv_config *c = qkv_trainer_config(t);
    const int n = out->n_sites * out->heads, widest = c->d_k > c->d_v ? c->d_k : c->d_v;
    const size_t D = (size_t)c->d_model;
    sizes s = {c->d_model,
               c->d_k,
               c->d_v,
               {tensor_arena_reals(arena, D * D), tensor_arena_reals(arena, D * D)},
               tensor_arena_reals(arena, D * (size_t)widest)};
    head *all = tensor_arena_take(arena, (size_t)n, sizeof *all);
    bool ok = all && s.wide[0] && s.wide[1] && s.narrow;
    out->no_composition = c->post_norm && c->norm ? "a norm follows each sum"
                          : c->positions == NN_POSITIONS_ROTARY
                              ? "queries and keys are turned by their position"
                          : c->qk_norm ? "queries and keys are normalised"
                                       : NULL;
    for (int i = 0; ok && i < 3; i++)
        ok = (out->composed[i] = tensor_arena_take(arena, (size_t)n * (size_t)n, sizeof(double)));
    for (int i = 0; ok && i < n; i++) {
        const qkv_probe_site *site = &out->site[i / out->heads];
        const int h = i % out->heads;
        ok = room(&s, arena, &all[i]) && qkv_probe_site_reads(t, site, h, 'q', arena, all[i].q) &&
             qkv_probe_site_reads(t, site, h, 'k', arena, all[i].k) &&
             qkv_probe_site_reads(t, site, h, 'v', arena, all[i].v);
        if (!ok) break;
        qkv_probe_site_writes(t, site, h, all[i].o);
        measure(&s, &all[i]);
    }
    if (!ok || !random_baseline(&s, arena, out->random)) return qkv_io_fail(error, "out of memory");
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) compare(t, &s, out, all, a, b);
    return true;
}
