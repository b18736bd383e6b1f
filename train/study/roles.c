/* roles.c - what follows from changes of Q, K or V, and how attention's output lies among the values.
 *
 * "interventions.", "ablations.": the numbers of interventions.h.
 *
 * Attention's output is a weighted mean: it lies in the convex hull of the values.
 * For random directions u, u . o must lie between the least and the greatest u . v_j of the
 * positions that are seen; o is a head's result before W^O. "hull.inside" is 1, or something is
 * wrong. "hull.width" says how much of that interval the outputs use: the mean of |2 (u . o -
 * least) / length - 1|, 1 at an end. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/rng.h"
#include "train/probe/interventions.h"
#include "train/probe/look.h"
#include "train/study/probe.h"

enum { CHANGED = 2000, EXAMPLES = 100, DIRECTIONS = 8 };

typedef struct {
    rng random;
    double tests, inside, width;
} tally;

/* One direction, for one head at one position; o [E], v [S, row apart]. */
static void test(const qkv_trainer *t, const qkv_trainer_worker *w, int b, int at, const real *u,
                 int E, const real *o, const real *v, int S, int row, tally *sum) {
    double least = INFINITY, greatest = -INFINITY, size = 0;
    for (int s = 0; s < S; s++) {
        if (!qkv_probe_sees(t, w, b, at, s)) continue;
        double x = qkv_probe_dot(u, v + (ptrdiff_t)s * row, E);
        least = fmin(least, x);
        greatest = fmax(greatest, x);
        size = fmax(size, sqrt(qkv_probe_dot(v + (ptrdiff_t)s * row, v + (ptrdiff_t)s * row, E) *
                               qkv_probe_dot(u, u, E)));
    }
    if (least > greatest) return;  // nothing is seen
    double x = qkv_probe_dot(u, o, E), rounding = 16 * (double)REAL_EPSILON * size;
    sum->tests++;
    sum->inside += x >= least - rounding && x <= greatest + rounding;
    if (greatest > least) sum->width += fabs(2 * (x - least) / (greatest - least) - 1);
}

static bool count(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    tally *sum = ctx;
    const ag_node *mix = qkv_probe_node(t, w, qkv_probe_last_layer(t), "mix"), *v = mix->in[1];
    int H = qkv_trainer_config(t)->heads, E = tensor_width(mix->val.shape) / H;
    int T = mix->val.shape.dim[1], S = v->val.shape.dim[1], row = v->val.shape.dim[2];
    int group = H / (row / E);
    real *u = tensor_arena_reals(arena, (size_t)E);
    if (!u) return false;
    for (int n = 0; n < qkv_probe_rows(w); n++)
        for (int i = 0; i < H * DIRECTIONS; i++) {
            int h = i % H, b = qkv_probe_row_example(t, w, n), at = qkv_probe_row_position(t, w, n);
            for (int e = 0; e < E; e++) u[e] = (real)rng_normal(&sum->random);
            test(t, w, b, at, u, E, mix->val.x + ((ptrdiff_t)b * T + at) * H * E + h * E,
                 v->val.x + (ptrdiff_t)b * S * row + h / group * E, S, row, sum);
        }
    return true;
}

bool qkv_study_probe_run_hull(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    const ag_node *mix =
        qkv_probe_node(t, qkv_trainer_any_worker(t), qkv_probe_last_layer(t), "mix");
    if (!qkv_probe_has_nodes(t, "weights mix", error)) return false;
    if (mix->op != &ag_op_mix)
        return qkv_io_fail(error, "the node '%s' is not the op 'mix', whose values are read",
                           mix->name);
    tally sum = {.random = rng_stream((uint64_t)qkv_trainer_config(t)->seed, "hull", 0)};
    if (!qkv_probe_see(t, "test", EXAMPLES, 0, count, &sum, error)) return false;
    double tests = sum.tests > 0 ? sum.tests : (double)NAN;
    qkv_probe_measure_add(out, sum.inside / tests, "hull.inside");
    qkv_probe_measure_add(out, sum.width / tests, "hull.width");
    return true;
}

/* ---- interventions ---- */

bool qkv_study_probe_run_interventions(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    qkv_probe_interventions v;
    if (!qkv_probe_intervene(t, "test", CHANGED, &v, error)) return false;
    for (int i = 0; i < QKV_PROBE_INTERVENTIONS; i++) {
        const qkv_probe_intervention *c = &v.changed[i];
        const char *n = c->key;
        qkv_probe_measure_add(out, c->looks_at_t, "interventions.%s.looks_at_t", n);
        qkv_probe_measure_add(out, c->looks_at_j, "interventions.%s.looks_at_j", n);
        qkv_probe_measure_add(out, c->attention_t, "interventions.%s.attention_t", n);
        qkv_probe_measure_add(out, c->attention_j, "interventions.%s.attention_j", n);
        qkv_probe_measure_add(out, c->moved, "interventions.%s.moved", n);
        qkv_probe_measure_add(out, c->says_t, "interventions.%s.says_t", n);
        qkv_probe_measure_add(out, c->says_j, "interventions.%s.says_j", n);
    }
    qkv_probe_measure_add(out, v.cross.says_y_at_t, "interventions.cross.says_y_at_t");
    qkv_probe_measure_add(out, v.cross.says_x, "interventions.cross.says_x");
    qkv_probe_measure_add(out, v.cross.says_y, "interventions.cross.says_y");
    return true;
}

/* "ablations.key_value.accuracy": what K sees, then what V sees. */
bool qkv_study_probe_run_ablations(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    qkv_probe_interventions v;
    if (!qkv_probe_intervene(t, "test", CHANGED, &v, error)) return false;
    for (int i = 0; i < QKV_PROBE_ABLATIONS; i++) {
        const qkv_probe_ablation *k = &v.ablated[i];
        char sees[2][8];
        const char *const whole[] = {k->k_sees, k->v_sees};
        for (int side = 0; side < 2; side++)
            snprintf(sees[side], 8, "%s",
                     strchr(whole[side], '+')              ? "both"
                     : strncmp(whole[side], "key", 3) == 0 ? "key"
                                                           : "value");
        qkv_probe_measure_add(out, k->accuracy, "ablations.%s_%s.accuracy", sees[0], sees[1]);
        qkv_probe_measure_add(out, k->in_context, "ablations.%s_%s.in_context", sees[0], sees[1]);
        qkv_probe_measure_add(out, k->answer_attention, "ablations.%s_%s.answer_attention", sees[0],
                              sees[1]);
    }
    return true;
}
