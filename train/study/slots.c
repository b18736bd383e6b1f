/* slots.c - tasks with several questions: which are answered, and which head looks for which
 * answer. "slots.first": accuracy of the readout "first"; "slots.all": all right;
 * "slots.head0.first": what head 0 of the last layer pays to where that readout's answer stands.
 * "slots.best": the attention on an answer by the head that has most there, mean over readouts.
 * "slots.apart": 1 if each readout's answer has the most attention from another head, else 0.
 *
 * Of two questions, whoever knows both answers but not which is whose has a loss of 2 ln 2, and may be
 * right in any share from 0 to half. So: "slots.loss", the sum over readouts; "slots.pair", how often a
 * readout's two greatest logits are the two answers; and both again with a small bias added to the
 * logits, for lesser values in the first readout and greater ones in the second: "slots.biased" (all
 * right), "slots.biased_loss". */
#include <math.h>
#include <stdio.h>

#include "train/probe/look.h"
#include "train/study/probe.h"

enum { EXAMPLES = 1000 };

static const double a_little = 0.1;  // of bias, a value

typedef struct {
    long rows, all, pair, biased;
    double loss, biased_loss;
    long right[DATA_MAXREADOUTS], asked[DATA_MAXREADOUTS];
    double *attention;  // [H, readouts]
} tally;

/* Of two readouts at row n: the greatest logit, bias and all; adds to *loss; are the two greatest the two
 * answers? */
static bool read_pair(const qkv_trainer_worker *w, int r, int n, double bias, int *says,
                      double *loss) {
    const ag_node *logits = w->out.logits[r];
    const int V = logits->val.shape.dim[1], own = w->target[r][n], other = w->target[1 - r][n];
    const real *x = logits->val.x + (ptrdiff_t)n * V;
    const double slope = r ? bias : -bias;
    double most = -INFINITY, others = 0, third = -INFINITY;
    for (int v = 0; v < V; v++) {
        const double now = (double)x[v] + slope * v;
        if (now > most) most = now, *says = v;
        if (v != own && v != other) third = fmax(third, now);
    }
    for (int v = 0; v < V; v++)
        if (v != *says) others += exp((double)x[v] + slope * v - most);
    *loss += log1p(others) + most - (double)x[own] - slope * own;
    return third < fmin((double)x[own] + slope * own, (double)x[other] + slope * other);
}

static void count_pair(const qkv_trainer_worker *w, int n, tally *sum) {
    int plain[2] = {-1, -1}, biased[2] = {-1, -1};
    for (int r = 0; r < 2; r++) {
        sum->pair += read_pair(w, r, n, 0, &plain[r], &sum->loss);
        read_pair(w, r, n, a_little, &biased[r], &sum->biased_loss);
    }
    sum->biased += biased[0] == w->target[0][n] && biased[1] == w->target[1][n];
}

static bool count(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    (void)arena;
    tally *sum = ctx;
    int readouts = qkv_trainer_spec(t)->n_readouts, H = qkv_trainer_config(t)->heads;
    const ag_node *weights = qkv_trainer_weights(w, qkv_probe_last_layer(t));
    for (int n = 0; n < qkv_probe_rows(w); n++) {
        int wrong = 0, b = qkv_probe_row_example(t, w, n), at = qkv_probe_row_position(t, w, n);
        for (int r = 0; r < readouts; r++) {
            if (w->target[r][n] < 0) continue;
            bool hit = qkv_probe_answer(t, w, r, n) == w->target[r][n];
            sum->asked[r]++;
            sum->right[r] += hit;
            wrong += !hit;
            for (int h = 0; weights && h < H && w->source[r][n] >= 0; h++)
                sum->attention[h * readouts + r] +=
                    (double)qkv_probe_row_of(weights, b, h, at)[w->source[r][n]];
        }
        sum->all += wrong == 0;
        sum->rows++;
        if (readouts == 2) count_pair(w, n, sum);
    }
    return true;
}

/* Is the head that looks most at an answer another one for each of them? Adds up in *most how much the
 * best ones look, by readouts `asked` so often. */
static bool are_apart(const qkv_trainer *t, const tally *sum, const double *asked, double *most) {
    const int R = qkv_trainer_spec(t)->n_readouts, H = qkv_trainer_config(t)->heads;
    int best[DATA_MAXREADOUTS];
    bool apart = true;
    *most = 0;
    for (int r = 0; r < R; r++) {
        best[r] = 0;
        for (int h = 1; h < H; h++)
            if (sum->attention[h * R + r] > sum->attention[best[r] * R + r]) best[r] = h;
        for (int k = 0; k < r; k++) apart = apart && best[k] != best[r];
        *most += sum->attention[best[r] * R + r] / asked[r];
    }
    return apart;
}

static void report(qkv_trainer *t, const tally *sum, qkv_probe_measures *out) {
    const data_spec *s = qkv_trainer_spec(t);
    double asked[DATA_MAXREADOUTS] = {0};
    for (int r = 0; r < s->n_readouts; r++) {
        asked[r] = sum->asked[r] ? (double)sum->asked[r] : (double)NAN;
        qkv_probe_measure_add(out, (double)sum->right[r] / asked[r], "slots.%.30s",
                              s->readout[r].name);
    }
    qkv_probe_measure_add(out, (double)sum->all / (sum->rows ? (double)sum->rows : (double)NAN),
                          "slots.all");
    if (s->n_readouts == 2 && sum->rows) {
        const double rows = (double)sum->rows;
        qkv_probe_measure_add(out, (double)sum->pair / rows / 2, "slots.pair");
        qkv_probe_measure_add(out, sum->loss / rows, "slots.loss");
        qkv_probe_measure_add(out, (double)sum->biased / rows, "slots.biased");
        qkv_probe_measure_add(out, sum->biased_loss / rows, "slots.biased_loss");
    }
    if (!qkv_trainer_has_attention(t) || !sum->attention) return;
    double best;
    qkv_probe_measure_add(out, are_apart(t, sum, asked, &best), "slots.apart");
    qkv_probe_measure_add(out, best / s->n_readouts, "slots.best");
    for (int h = 0; h < qkv_trainer_config(t)->heads; h++)
        for (int r = 0; r < s->n_readouts; r++)
            qkv_probe_measure_add(out, sum->attention[h * s->n_readouts + r] / asked[r],
                                  "slots.head%d.%.30s", h, s->readout[r].name);
}

bool qkv_study_probe_run_slots(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    const data_spec *s = qkv_trainer_spec(t);
    int heads = qkv_trainer_config(t)->heads;
    if (s->n_readouts < 2)
        return qkv_io_fail(error, "the task '%s' asks one question only", s->task->name);
    if (!qkv_trainer_any_worker(t)->out.logits[0])
        return qkv_io_fail(error, "the model's answer is a vector, not a class");
    tensor_arena *arena = tensor_arena_new(NULL);
    tally sum = {0};
    if (arena)
        sum.attention =
            tensor_arena_take(arena, (size_t)(heads * s->n_readouts), sizeof *sum.attention);
    bool ok = sum.attention ? qkv_probe_see(t, "test", EXAMPLES, 0, count, &sum, error)
                            : qkv_io_fail(error, "out of memory");
    if (ok) report(t, &sum, out);
    tensor_arena_free(arena);
    return ok;
}
