/* basis.c - which coordinates matter? Queries and keys meet in dot products alone, values and W^O in
 * sums alone: turn both of a pair by one rotation R and nothing changes; turn one, and its pair is lost.
 *
 *     (x W_Q R) . (m W_K R) = (x W_Q) . (m W_K)        (m W_V R) (R^T W_O) = m W_V W_O
 *
 * "basis.qk.accuracy": Q and K of the last layer turned together; "basis.k": K alone; "basis.vo": V and
 * W^O; "basis.v": V alone; "basis.none": as it is. Also .answer_attention, and .in_context where the task
 * has it. Random rotations, one a key head. */
#include <math.h>
#include <string.h>

#include "tensor/gemm.h"
#include "tensor/rng.h"
#include "train/probe/look.h"
#include "train/study/probe.h"

enum { EXAMPLES = 1000, MATRICES = 4 };

static const struct {
    const char *name, *turned;  // which of q, k, v, o
} cases[] = {{"none", ""}, {"qk", "qk"}, {"k", "k"}, {"vo", "vo"}, {"v", "v"}};

/* r [n,n]: orthonormal rows, by Gram and Schmidt from normal numbers. */
static void rotation(rng *random, int n, real *r) {
    for (int i = 0; i < n; i++) {
        double squares = 0;
        for (int j = 0; j < n; j++) r[i * n + j] = (real)rng_normal(random);
        for (int pass = 0; pass < 2; pass++)  // twice is enough
            for (int k = 0; k < i; k++) {
                double dot = 0;
                for (int j = 0; j < n; j++) dot += (double)r[i * n + j] * (double)r[k * n + j];
                for (int j = 0; j < n; j++) r[i * n + j] -= (real)dot * r[k * n + j];
            }
        for (int j = 0; j < n; j++) squares += (double)r[i * n + j] * (double)r[i * n + j];
        for (int j = 0; j < n; j++) r[i * n + j] *= (real)(1 / sqrt(squares));
    }
}

/* One head's columns of w [D,H*E] times r; or (rows) r^T times its rows of w [H*E,D]. */
static bool turn(tensor_arena *arena, tensor *w, int head, int E, const real *r, bool rows) {
    const int width = w->shape.dim[1], D = rows ? width : w->shape.dim[0];
    real *part = rows ? w->x + (ptrdiff_t)head * E * width : w->x + (ptrdiff_t)head * E;
    real *to = tensor_arena_reals(arena, (size_t)D * (size_t)E);
    if (!to) return false;
    if (rows)
        gemm_mul(GEMM_SET, E, D, E, (gemm_view){r, 1, E}, (gemm_view){part, width, 1}, to, D);
    else
        gemm_mul(GEMM_SET, D, E, E, (gemm_view){part, width, 1}, (gemm_view){r, E, 1}, to, E);
    for (int i = 0; i < (rows ? E : D); i++)
        memcpy(part + (ptrdiff_t)i * width, to + (ptrdiff_t)i * (rows ? D : E),
               (size_t)(rows ? D : E) * sizeof(real));
    return true;
}

/* Turns the matrices that a case names. */
static bool turn_all(qkv_trainer *t, tensor_arena *arena, const char *turned) {
    const qkv_config *c = qkv_trainer_config(t);
    rng random = rng_stream(1, "basis", 0);
    const int most = c->d_k > c->d_v ? c->d_k : c->d_v, group = c->heads / c->kv_heads;
    real *r = tensor_arena_reals(arena, (size_t)most * (size_t)most);
    bool ok = r != NULL;
    for (int pair = 0; pair < 2; pair++)  // Q and K, then V and O
        for (int g = 0; ok && g < c->kv_heads; g++) {
            const int E = pair ? c->d_v : c->d_k;
            rotation(&random, E, r);
            for (const char *role = turned; ok && *role; role++) {
                if ((*role == 'v' || *role == 'o') != pair) continue;
                const bool many = *role == 'q' || *role == 'o';
                ag_param_entry *w =
                    qkv_probe_matrix(t, qkv_probe_last_layer(t), (const char[]){'w', *role, '\0'});
                for (int h = many ? g * group : g; ok && h < (many ? (g + 1) * group : g + 1); h++)
                    ok = turn(arena, &w->val, h, E, r, *role == 'o');
            }
        }
    return ok;
}

static const char *does_not_fit(qkv_trainer *t) {
    const qkv_config *c = qkv_trainer_config(t);
    for (int m = 0; m < MATRICES; m++)
        if (!qkv_probe_matrix(t, qkv_probe_last_layer(t),
                              (const char *[]){"wq", "wk", "wv", "wo"}[m]))
            return "the last layer has not all of W^Q, W^K, W^V and W^O";
    if (!qkv_trainer_any_worker(t)->out.logits[0]) return "the answer is a vector, not a class";
    return c->bias || c->qk_norm || c->positions == NN_POSITIONS_ROTARY
               ? "biases, norms and positions in a head do not turn with its matrices"
               : NULL;
}

bool qkv_study_probe_run_basis(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    const char *why = does_not_fit(t);
    if (why) return qkv_io_fail(error, "%s", why);
    tensor_arena *arena = tensor_arena_new(NULL);
    real *kept = arena ? tensor_arena_reals(arena, ag_params_size(qkv_trainer_params(t))) : NULL;
    bool ok = kept != NULL;
    qkv_probe_params_copy(qkv_trainer_params(t), kept, false);
    for (size_t i = 0; ok && i < sizeof cases / sizeof *cases; i++) {
        qkv_trainer_scores e;
        ok = turn_all(t, arena, cases[i].turned) &&
             qkv_trainer_evaluate(t, "test", 0, EXAMPLES, &e, error);
        qkv_probe_params_copy(qkv_trainer_params(t), kept, true);
        if (!ok) break;
        qkv_probe_measure_add(out, e.accuracy, "basis.%s.accuracy", cases[i].name);
        qkv_probe_measure_add(out, e.answer_attention, "basis.%s.answer_attention", cases[i].name);
        if (!isnan(e.in_context))
            qkv_probe_measure_add(out, e.in_context, "basis.%s.in_context", cases[i].name);
    }
    tensor_arena_free(arena);
    return ok || qkv_trainer_fail(t, error);
}
