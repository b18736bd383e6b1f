/* pressure.c - who teaches whom: the gradients of the four matrices when one of them is zero.
 *
 *     dL/dv_j = A_j g            V learns wherever attention looks, g being dL/do through W^O
 *     dL/ds_j = A_j (v_j - o) g  Q and K learn only through differences between the values
 *
 * So W^V = 0 or W^O = 0 leaves Q and K without any gradient, and Q = 0 or K = 0 silences the other.
 * "pressure.without_v.wq" is the gradient's norm for W^Q (over all layers) when W^V = 0 everywhere,
 * "pressure.without_v.wq_zero" whether it is exactly zero; "pressure.init...": nothing changed;
 * "pressure.ratio": (V, O) over (Q, K) there. Always with the scores' gate open. Parameters and
 * gate are put back. */
#include <math.h>
#include <string.h>

#include "train/probe/look.h"
#include "train/study/probe.h"

enum { MATRICES = 4, CASES = 6 };
static const char *const matrices[MATRICES] = {"wq", "wk", "wv", "wo"};
static const struct {
    const char *name, *zeroed;
} cases[CASES] = {{"init", ""},       {"without_v", "v"}, {"without_o", "o"},
                  {"without_q", "q"}, {"without_k", "k"}, {"without_qk", "qk"}};

static bool has_matrices(qkv_trainer *t, char *error) {
    for (int l = 0; l <= qkv_probe_last_layer(t); l++)
        for (int m = 0; m < MATRICES; m++) {
            const ag_param_entry *w = qkv_probe_matrix(t, l, matrices[m]);
            if (!w || w->frozen)
                return qkv_io_fail(error, "layer %d has no %s of its own that learns", l,
                                   matrices[m]);
        }
    return true;
}

static void set_zero(qkv_trainer *t, const char *roles) {
    for (; *roles; roles++)
        for (int l = 0; l <= qkv_probe_last_layer(t); l++) {
            ag_param_entry *w = qkv_probe_matrix(t, l, (const char[]){'w', *roles, '\0'});
            memset(w->val.x, 0, w->val.n * sizeof(real));
        }
}

static double gradient_norm(qkv_trainer *t, const char *matrix) {
    double squares = 0;
    for (int l = 0; l <= qkv_probe_last_layer(t); l++) {
        const ag_param_entry *w = qkv_probe_matrix(t, l, matrix);
        const real *g = qkv_trainer_grads(t) + w->offset;
        for (size_t i = 0; i < w->val.n; i++) squares += (double)g[i] * (double)g[i];
    }
    return sqrt(squares);
}

static bool is_zero(qkv_trainer *t, const char *matrix) {
    for (int l = 0; l <= qkv_probe_last_layer(t); l++) {
        const ag_param_entry *w = qkv_probe_matrix(t, l, matrix);
        const real *g = qkv_trainer_grads(t) + w->offset;
        for (size_t i = 0; i < w->val.n; i++)
            if (g[i] != 0) return false;
    }
    return true;
}

static bool try_case(qkv_trainer *t, int c, double norm[MATRICES], qkv_probe_measures *out,
                     char *error) {
    qkv_trainer_step step;
    set_zero(t, cases[c].zeroed);
    if (!qkv_trainer_gradient(t, qkv_trainer_config(t)->scores_from, &step, error)) return false;
    for (int m = 0; m < MATRICES; m++) {
        const char *name = cases[c].name, *matrix = matrices[m];
        norm[m] = gradient_norm(t, matrix);
        qkv_probe_measure_add(out, norm[m], "pressure.%s.%s", name, matrix);
        qkv_probe_measure_add(out, is_zero(t, matrix), "pressure.%s.%s_zero", name, matrix);
    }
    return true;
}

bool qkv_study_probe_run_pressure(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    if (!has_matrices(t, error)) return false;
    tensor_arena *arena = tensor_arena_new(NULL);
    real *kept = arena ? tensor_arena_reals(arena, ag_params_size(qkv_trainer_params(t))) : NULL;
    bool ok = kept != NULL;
    if (!kept) qkv_io_fail(error, "out of memory");
    bool open = qkv_probe_gate_is_open(t);
    qkv_probe_params_copy(qkv_trainer_params(t), kept, false);
    for (int c = 0; ok && c < CASES; c++) {
        double norm[MATRICES];
        ok = try_case(t, c, norm, out, error);
        qkv_probe_params_copy(qkv_trainer_params(t), kept, true);
        if (ok && c == 0)
            qkv_probe_measure_add(out, hypot(norm[2], norm[3]) / hypot(norm[0], norm[1]),
                                  "pressure.ratio");
    }
    qkv_probe_set_gate(t, open);
    tensor_arena_free(arena);
    return ok;
}
