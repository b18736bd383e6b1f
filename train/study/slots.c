/* slots.c - tasks with several questions: which are answered, and which head looks for which
 * answer. "slots.first": accuracy of the readout "first"; "slots.all": all right;
 * "slots.head0.first": what head 0 of the last layer pays to where that readout's answer stands.
 * "slots.best": the attention on an answer by the head that has most there, mean over readouts.
 * "slots.apart": 1 if each readout's answer has the most attention from another head, else 0. */
#include <math.h>
#include <stdio.h>

#include "train/probe/look.h"
#include "train/study/probe.h"

enum { EXAMPLES = 1000 };

typedef struct {
    long rows, all;
    long right[DATA_MAXREADOUTS], asked[DATA_MAXREADOUTS];
    double *attention;  // [H, readouts]
} tally;

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
