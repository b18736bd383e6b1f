/* scale.c - how sharp attention is, and what that leaves of the gradient.
 *
 * A = softmax(s) has the derivative J = diag(A) - A A^T. Where one weight is nearly 1, J and with
 * it dL/ds = J dL/dA is nearly 0: the row no longer learns where to look. Per row, over scored rows
 * and heads of the last layer: ||J|| is the Frobenius norm, ||dL/ds|| the length of the gradient of
 * one row's own loss. The mean hides saturated rows, the median shows them. Entropy in nats. The
 * gradients of the matrices are of the mean loss of the same 256 examples, whatever the batch. */
#include <math.h>

#include "train/probe/look.h"
#include "train/study/probe.h"
#include "train/study/statistics.h"

enum { EXAMPLES = 256 };

typedef struct {
    bool backward;         // read gradients, too
    long rows, seen;       // rows; scores of visible pairs
    double score, square;  // sums over those
    double entropy, most, saturated;
    double *jacobian, *gradient;  // [rows]
} tally;

static double jacobian_norm(const real *a, int S) {
    double squares = 0;
    for (int i = 0; i < S; i++)
        for (int j = 0; j < S; j++) {
            double x = i == j ? (double)a[i] * (1 - (double)a[i]) : (double)a[i] * (double)a[j];
            squares += x * x;
        }
    return sqrt(squares);
}

/* One row: scores s, weights a, gradient ds (NULL: none). */
static void add_row(const qkv_trainer *t, const qkv_trainer_worker *w, int b, int at, int S,
                    const real *s, const real *a, const real *ds, tally *sum) {
    double most = 0, squares = 0;
    for (int i = 0; i < S; i++) {
        if (!qkv_probe_sees(t, w, b, at, i)) continue;
        sum->seen++;
        sum->score += (double)s[i];
        sum->square += (double)s[i] * (double)s[i];
        if (a[i] > 0) sum->entropy -= (double)a[i] * log((double)a[i]);
        if ((double)a[i] > most) most = (double)a[i];
        if (ds) squares += (double)ds[i] * (double)ds[i];
    }
    sum->most += most;
    sum->saturated += most > 0.99;
    if (sum->backward) {
        sum->jacobian[sum->rows] = jacobian_norm(a, S);
        sum->gradient[sum->rows] = sqrt(squares);
    }
    sum->rows++;
}

static bool count(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    (void)arena;
    tally *sum = ctx;
    const ag_node *scores = qkv_probe_scores_node(t, w),
                  *weights = qkv_trainer_weights(w, qkv_probe_last_layer(t));
    int H = scores->val.shape.dim[1], S = scores->val.shape.dim[3];
    if (sum->backward) ag_keep_grads(w->graph, true);  // the scores' gradient is looked at
    if (sum->backward && !ag_backward(w->out.loss, NULL)) return false;
    bool has_gradient = sum->backward && scores->wants_grad && scores->has_grad;
    for (int n = 0; n < qkv_probe_rows(w); n++)
        for (int h = 0; h < H; h++) {
            int b = qkv_probe_row_example(t, w, n), at = qkv_probe_row_position(t, w, n);
            const real *s = qkv_probe_row_of(scores, b, h, at);
            add_row(t, w, b, at, S, s, qkv_probe_row_of(weights, b, h, at),
                    has_gradient ? scores->grad + (s - scores->val.x) : NULL, sum);
        }
    return true;
}

static void report(const tally *sum, qkv_probe_measures *out, const char *probe,
                   const char *entropy) {
    double rows = sum->rows ? (double)sum->rows : (double)NAN,
           seen = sum->seen ? (double)sum->seen : (double)NAN;
    double mean = sum->score / seen, variance = sum->square / seen - mean * mean;
    qkv_probe_measure_add(out, sqrt(variance > 0 ? variance : 0), "%s.score_std", probe);
    qkv_probe_measure_add(out, sum->entropy / rows, "%s.%s", probe, entropy);
    qkv_probe_measure_add(out, sum->most / rows, "%s.max_weight", probe);
    qkv_probe_measure_add(out, sum->saturated / rows, "%s.saturated", probe);
}

/* Mean and median; sorts x. */
static void report_rows(double *x, long n, qkv_probe_measures *out, const char *name) {
    double mean = 0;
    for (long i = 0; i < n; i++) mean += x[i] / (double)n;
    qkv_study_sort(x, (int)n);
    qkv_probe_measure_add(out, mean, "scale.%s_mean", name);
    qkv_probe_measure_add(out, n ? (x[(n - 1) / 2] + x[n / 2]) / 2 : (double)NAN, "scale.%s_median",
                          name);
}

/* From the summed gradients of `rows` rows: the norms for their mean loss. */
static void report_weights(qkv_trainer *t, double rows, qkv_probe_measures *out) {
    static const char *const names[] = {"wq", "wk", "wv", "wo"};
    const real *grads = ag_grads(qkv_trainer_any_worker(t)->graph);
    for (int i = 0; i < 4; i++) {
        const ag_param_entry *w = qkv_probe_matrix(t, qkv_probe_last_layer(t), names[i]);
        double squares = 0;
        for (size_t k = 0; w && k < w->val.n; k++) {
            double x = (double)grads[w->offset + k] / rows;
            squares += x * x;
        }
        if (w && !w->frozen) qkv_probe_measure_add(out, sqrt(squares), "scale.grad.%s", names[i]);
    }
}

static bool readable(qkv_trainer *t, char *error) {
    return qkv_probe_has_nodes(t, "weights scores", error);
}

/* The rows, and the gradients, into a buffer which is not the trainer's. */
static bool measure_start(qkv_trainer *t, tensor_arena *arena, qkv_probe_measures *out,
                          char *error) {
    int scored = qkv_trainer_spec(t)->scored;
    size_t rows = (size_t)(EXAMPLES * scored) * (size_t)qkv_trainer_config(t)->heads;
    ag_graph *g = qkv_trainer_any_worker(t)->graph;
    real *was = ag_grads(g),
         *own = tensor_arena_reals(arena, ag_params_size(qkv_trainer_params(t)));
    tally sum = {.backward = true,
                 .jacobian = tensor_arena_take(arena, rows, sizeof(double)),
                 .gradient = tensor_arena_take(arena, rows, sizeof(double))};
    if (!own || !sum.jacobian || !sum.gradient) return qkv_io_fail(error, "out of memory");
    if (was) ag_grads_into(g, own);
    ag_grads_zero(g);  // before the first step it is the graph's own
    const int examples = data_at_most(qkv_trainer_spec(t), "train", EXAMPLES);
    bool ok = qkv_probe_see(t, "train", examples, 1.0 / scored, count, &sum, error);
    if (ok) {
        report(&sum, out, "scale", "entropy");
        report_rows(sum.jacobian, sum.rows, out, "jacobian");
        report_rows(sum.gradient, sum.rows, out, "score_grad");
        report_weights(t, (double)examples * scored, out);
    }
    if (was) ag_grads_into(g, was);
    return ok;
}

bool qkv_study_probe_run_scale(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    if (!readable(t, error)) return false;
    tensor_arena *arena = tensor_arena_new(NULL);
    bool ok = arena ? measure_start(t, arena, out, error) : qkv_io_fail(error, "out of memory");
    tensor_arena_free(arena);
    return ok;
}

bool qkv_study_probe_run_entropy(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    tally sum = {0};
    if (!readable(t, error) || !qkv_probe_see(t, "test", EXAMPLES, 0, count, &sum, error))
        return false;
    report(&sum, out, "entropy", "mean");
    return true;
}
