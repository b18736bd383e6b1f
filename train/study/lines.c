/* lines.c - the loss of every line of a file, by its number there: "lines.12". Sweeps over --without measure
 * it, and say which lines taught which answers. */
#include <math.h>
#include <stdlib.h>

#include "train/io/given.h"
#include "train/study/probe.h"

enum { MOST_LINES = 10000 };

/* -log of the share that a class has in the softmax of logits. */
static double surprise(const real *x, int classes, int class) {
    const int top = qkv_trainer_argmax(x, classes);
    const double most = (double)x[top];
    double others = 0;
    for (int k = 0; k < classes; k++)
        if (k != top) others += exp((double)x[k] - most);
    return log1p(others) + most - (double)x[class];
}

/* The losses of the examples that are loaded, by example: the mean over its answers, summed over readouts. */
static void add_losses(const data_spec *s, const qkv_trainer_worker *w, double *loss) {
    for (int b = 0; b < w->count; b++) loss[b] = 0;
    for (int n = 0; n < w->n_rows && w->rows[n] >= 0; n++)
        for (int r = 0; r < s->n_readouts; r++) {
            const int classes = s->readout[r].classes, target = w->target[r][n];
            if (target < 0) continue;
            loss[w->rows[n] / s->side[DATA_SEQUENCE].T] +=
                surprise(w->out.logits[r]->val.x + (size_t)n * (size_t)classes, classes, target) /
                s->scored;
        }
}

/* Of a split into loss[line]. */
static bool measure(qkv_trainer *t, const char *split, int n, tensor_arena *arena,
                    double *of_line) {
    const data_spec *s = qkv_trainer_spec(t);
    const uint64_t seed = (uint64_t)qkv_trainer_config(t)->seed;
    qkv_trainer_worker *w = qkv_trainer_training_worker(t);
    double *loss = tensor_arena_take(arena, (size_t)w->B, sizeof *loss);
    if (!loss) return false;
    for (int first = 0; first < n; first += w->B) {
        const int count = n - first < w->B ? n - first : w->B;
        qkv_trainer_load(t, w, split, (uint64_t)first, count, count);
        ag_set_run(w->graph, (ag_run){.training = false});
        if (!ag_forward(w->graph)) return false;
        add_losses(s, w, loss);
        for (int b = 0; b < count; b++) {
            const int line = abs(s->task->line(s, split, seed, (uint64_t)(first + b)));
            if (line <= MOST_LINES) of_line[line] = loss[b];
        }
    }
    return true;
}

bool qkv_study_probe_run_lines(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    static const char *const splits[DATA_SPLITS] = {"train", "valid", "test"};
    if (!QKV_IO_GIVEN(error, t, out)) return false;
    const data_spec *s = qkv_trainer_spec(t);
    int all = 0;
    for (int i = 0; i < DATA_SPLITS; i++) all += s->examples[i];
    if (!s->task->line) return qkv_io_fail(error, "its examples are no lines of a file");
    if (qkv_trainer_config(t)->readout == NN_READOUT_VECTOR)
        return qkv_io_fail(error, "a line has a loss of its own where answers are classes");
    if (all > MOST_LINES)
        return qkv_io_fail(error, "the file has %d examples; at most %d are measured", all,
                           MOST_LINES);
    tensor_arena *arena = tensor_arena_new(NULL);
    double *loss = arena ? tensor_arena_take(arena, MOST_LINES + 1, sizeof *loss) : NULL;
    bool ok = loss != NULL;
    for (int line = 0; ok && line <= MOST_LINES; line++) loss[line] = -1;  // no example
    for (int i = 0; i < DATA_SPLITS; i++)
        ok = ok && measure(t, splits[i], s->examples[i], arena, loss);
    for (int line = 1; ok && line <= MOST_LINES; line++)
        if (!(loss[line] < 0)) qkv_probe_measure_add(out, loss[line], "lines.%d", line);
    tensor_arena_free(arena);
    return ok || qkv_trainer_fail(t, error);
}
