/* pointer.c - the probe of the task pointer: does a position look at the one it looks for (target),
 * at the one that looks for it (reverse), or at itself; and whose value does it say? With Q = K the
 * scores are symmetric: target and reverse get the same weight, and "pointer.asymmetry",
 * ||S - S^T||_F / ||S||_F over pairs that see each other, is 0. */
#include <math.h>
#include <string.h>

#include "train/probe/look.h"
#include "train/probe/measure.h"

enum { EXAMPLES = 500 };

typedef struct {
    long rows;
    double target, reverse, self, says_target, says_reverse, says_self;
    double scores, difference;  // sums of squares
} tally;

static void add_scores(const train_trainer *t, const ag_node *scores, int b, tally *sum) {
    int H = scores->val.shape.dim[1], T = scores->val.shape.dim[2];
    for (int h = 0; h < H; h++)
        for (int i = 0; i < T; i++)
            for (int j = 0; j < T; j++) {
                if (!train_sees(t, i, j) || !train_sees(t, j, i)) continue;
                double a = (double)train_row_of(scores, b, h, i)[j];
                double back = (double)train_row_of(scores, b, h, j)[i];
                sum->scores += a * a;
                sum->difference += (a - back) * (a - back);
            }
}

static bool count(train_trainer *t, train_worker *w, tensor_arena *arena, void *ctx) {
    (void)arena;
    tally *sum = ctx;
    const ag_node *weights = w->weights[train_last(t)];
    for (int n = 0; n < train_rows(w); n++) {
        int b = train_row_example(t, w, n), at = train_row_position(t, w, n);
        const int *value = train_ids(t, w, DATA_SEQUENCE, train_trainer_spec(t)->roles.value, b);
        int says = train_answer(t, w, 0, n), target = w->source[0][n], reverse = w->decoy[0][n];
        sum->target += train_mean_at(weights, b, at, target);
        sum->reverse += train_mean_at(weights, b, at, reverse);
        sum->self += train_mean_at(weights, b, at, at);
        sum->says_target += says == value[target];
        sum->says_reverse += says == value[reverse];
        sum->says_self += says == value[at];
        sum->rows++;
    }
    for (int b = 0; b < w->count; b++) add_scores(t, train_scores_node(t, w), b, sum);
    return true;
}

bool train_probe_pointer(train_trainer *t, train_measures *out, char *error) {
    const char *task = train_trainer_spec(t)->task->name;
    tally sum = {0};
    if (strcmp(task, "pointer") != 0)
        return train_refuse(error, "this probe is of the task 'pointer', not of '%s'", task);
    if (!train_scores_node(t, train_trainer_worker(t)) || !train_trainer_worker(t)->out.logits[0])
        return train_refuse(error, "the model has no attention whose scores could be read");
    if (!train_see(t, "test", EXAMPLES, EXAMPLES, count, &sum, error)) return false;
    double rows = sum.rows ? (double)sum.rows : 1;
    train_measure_add(out, sum.target / rows, "pointer.target");
    train_measure_add(out, sum.reverse / rows, "pointer.reverse");
    train_measure_add(out, sum.self / rows, "pointer.self");
    train_measure_add(out, sum.says_target / rows, "pointer.says_target");
    train_measure_add(out, sum.says_reverse / rows, "pointer.says_reverse");
    train_measure_add(out, sum.says_self / rows, "pointer.says_self");
    double asymmetry = sum.scores > 0 ? sqrt(sum.difference / sum.scores) : 0;
    train_measure_add(out, asymmetry, "pointer.asymmetry");
    return true;
}
