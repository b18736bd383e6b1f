/* sharing.c - the probe of the task pointer: does a position look at the one it looks for (target),
 * at the one that looks for it (reverse), or at itself; and whose value does it say? With Q = K the
 * scores are symmetric: target and reverse get the same weight, and "pointer.asymmetry",
 * ||S - S^T||_F / ||S||_F over pairs that see each other, is 0. */
#include <math.h>
#include <string.h>

#include "train/probe/look.h"
#include "train/study/probe.h"

enum { EXAMPLES = 500 };

typedef struct {
    long rows;
    double target, reverse, self, says_target, says_reverse, says_self;
    double scores, difference;  // sums of squares
} tally;

static void add_scores(const qkv_trainer *t, const qkv_trainer_worker *w, const ag_node *scores,
                       int b, tally *sum) {
    int H = scores->val.shape.dim[1], T = scores->val.shape.dim[2];
    for (int h = 0; h < H; h++)
        for (int i = 0; i < T; i++)
            for (int j = 0; j < T; j++) {
                if (!qkv_probe_sees(t, w, b, i, j) || !qkv_probe_sees(t, w, b, j, i)) continue;
                double a = (double)qkv_probe_row_of(scores, b, h, i)[j];
                double back = (double)qkv_probe_row_of(scores, b, h, j)[i];
                sum->scores += a * a;
                sum->difference += (a - back) * (a - back);
            }
}

static bool count(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    (void)arena;
    tally *sum = ctx;
    const ag_node *weights = qkv_trainer_weights(w, qkv_probe_last_layer(t));
    for (int n = 0; n < qkv_probe_rows(w); n++) {
        int b = qkv_probe_row_example(t, w, n), at = qkv_probe_row_position(t, w, n);
        const int *value = qkv_probe_ids(t, w, DATA_SEQUENCE, qkv_trainer_spec(t)->roles.value, b);
        int says = qkv_probe_answer(t, w, 0, n), target = w->source[0][n],
            reverse = w->distractor[0][n];
        sum->target += qkv_probe_mean_at(weights, b, at, target);
        sum->reverse += qkv_probe_mean_at(weights, b, at, reverse);
        sum->self += qkv_probe_mean_at(weights, b, at, at);
        sum->says_target += says == value[target];
        sum->says_reverse += says == value[reverse];
        sum->says_self += says == value[at];
        sum->rows++;
    }
    for (int b = 0; b < w->count; b++) add_scores(t, w, qkv_probe_scores_node(t, w), b, sum);
    return true;
}

bool qkv_study_probe_run_pointer(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    const char *task = qkv_trainer_spec(t)->task->name;
    tally sum = {0};
    if (strcmp(task, "pointer") != 0)
        return qkv_io_fail(error, "this probe is of the task 'pointer', not of '%s'", task);
    if (!qkv_probe_has_nodes(t, "weights scores logits", error)) return false;
    if (!qkv_probe_see(t, "test", EXAMPLES, 0, count, &sum, error)) return false;
    double rows = sum.rows ? (double)sum.rows : (double)NAN;
    qkv_probe_measure_add(out, sum.target / rows, "pointer.target");
    qkv_probe_measure_add(out, sum.reverse / rows, "pointer.reverse");
    qkv_probe_measure_add(out, sum.self / rows, "pointer.self");
    qkv_probe_measure_add(out, sum.says_target / rows, "pointer.says_target");
    qkv_probe_measure_add(out, sum.says_reverse / rows, "pointer.says_reverse");
    qkv_probe_measure_add(out, sum.says_self / rows, "pointer.says_self");
    double asymmetry = sum.scores > 0 ? sqrt(sum.difference / sum.scores) : 0;
    qkv_probe_measure_add(out, asymmetry, "pointer.asymmetry");
    return true;
}
