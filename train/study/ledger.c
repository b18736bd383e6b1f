/* ledger.c - who takes the held-out loss down in a training, and when: the run is trained once more, with a
 * ledger of every step (train/probe/ledger.h).
 *
 * A number is how much the loss fell by somebody's steps, in nats; below 0: it rose by them.
 *   "ledger.fall"                         in all
 *   "ledger.q", .k, .v, .o                by W^Q ... of all layers; .embed, .unembed: by the tables
 *   "ledger.scores", .values, .past       by everybody's, through scores, through values, past attention
 *   "ledger.v_half", .qk_half, .values_half, .scores_half
 *                                         the step at which half of it is done
 *   "ledger.v_start", .qk_start           while the loss fell by the first twentieth
 *   "ledger.v_first", .qk_first           while it fell by the first quarter
 *   "ledger.qk_shut"                      the sum of the sizes of W^Q's and W^K's parts before --scores-from
 *   "ledger.left"                         what no part accounts for, of the sum of all sizes */
#include <math.h>
#include <string.h>

#include "train/probe/ledger.h"
#include "train/study/probe.h"

enum { EXAMPLES = 64 };

/* Whose parts are added up. */
enum { Q, K, V, O, EMBED, UNEMBED, SCORES, VALUES, PAST, FALL, GROUPS };
static const char *const groups[GROUPS] = {"q",       "k",      "v",      "o",    "embed",
                                           "unembed", "scores", "values", "past", "fall"};

typedef struct {
    qkv_probe_ledger *l;
    int scores_from, rows;
    double *sum;  // [rows + 1, GROUPS] what has fallen so far
    int *step;    // [rows + 1]
    double left, size, shut;
} tally;

static bool ends_in(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* The group of a column beside FALL; -1: none. */
static int group_of(const qkv_probe_ledger_column *c) {
    static const char *const matrix[] = {".wq", ".wk", ".wv", ".wo"};
    if (c->kind == QKV_PROBE_LEDGER_WAY)
        return strcmp(c->name, "way.scores") == 0   ? SCORES
               : strcmp(c->name, "way.values") == 0 ? VALUES
               : strcmp(c->name, "way.past") == 0   ? PAST
                                                    : -1;
    for (int i = 0; i < 4; i++)
        if (ends_in(c->name, matrix[i])) return Q + i;
    if (strncmp(c->name, "embed.", 6) == 0 || strncmp(c->name, "memory.", 7) == 0) return EMBED;
    return strncmp(c->name, "unembed.", 8) == 0 ? UNEMBED : -1;
}

static bool add_row(void *ctx, int first, int next, const qkv_probe_ledger_row *row) {
    tally *t = ctx;
    double *sum = t->sum + (ptrdiff_t)++t->rows * GROUPS;
    for (int i = 0; i < GROUPS; i++) sum[i] = sum[i - GROUPS];
    t->step[t->rows] = next;
    sum[FALL] += row->before - row->after;
    for (int i = 0; i < qkv_probe_ledger_columns(t->l); i++) {
        const int group = group_of(qkv_probe_ledger_column_at(t->l, i));
        if (group >= 0) sum[group] -= row->part[i];
        if ((group == Q || group == K) && first < t->scores_from) t->shut += fabs(row->part[i]);
    }
    t->left += fabs(row->left);
    t->size += row->size;
    return true;
}

/* The step at which a and b together have done half of what they do in all; NaN: they do nothing. */
static double half(const tally *t, int a, int b) {
    const double *end = t->sum + (ptrdiff_t)t->rows * GROUPS;
    const double all = end[a] + (b >= 0 ? end[b] : 0);
    for (int i = 1; all > 0 && i <= t->rows; i++) {
        const double *sum = t->sum + (ptrdiff_t)i * GROUPS;
        if (sum[a] + (b >= 0 ? sum[b] : 0) >= all / 2) return t->step[i];
    }
    return (double)NAN;
}

/* What has fallen when the loss has fallen by this share of its fall. */
static const double *when_fallen(const tally *t, double share) {
    const double *end = t->sum + (ptrdiff_t)t->rows * GROUPS, *at = t->sum;
    while (at < end && at[FALL] < share * end[FALL]) at += GROUPS;
    return at;
}

static void add_measures(const tally *t, qkv_probe_measures *out) {
    const double *end = t->sum + (ptrdiff_t)t->rows * GROUPS, *start = when_fallen(t, 0.05),
                 *first = when_fallen(t, 0.25);
    for (int i = 0; i < GROUPS; i++) qkv_probe_measure_add(out, end[i], "ledger.%s", groups[i]);
    qkv_probe_measure_add(out, half(t, V, -1), "ledger.v_half");
    qkv_probe_measure_add(out, half(t, Q, K), "ledger.qk_half");
    qkv_probe_measure_add(out, half(t, VALUES, -1), "ledger.values_half");
    qkv_probe_measure_add(out, half(t, SCORES, -1), "ledger.scores_half");
    qkv_probe_measure_add(out, start[V], "ledger.v_start");
    qkv_probe_measure_add(out, start[Q] + start[K], "ledger.qk_start");
    qkv_probe_measure_add(out, first[V], "ledger.v_first");
    qkv_probe_measure_add(out, first[Q] + first[K], "ledger.qk_first");
    if (t->scores_from > 0) qkv_probe_measure_add(out, t->shut, "ledger.qk_shut");
    qkv_probe_measure_add(out, t->left / t->size, "ledger.left");
}

/* Trains once more; the rows go into *sum. */
static bool train(qkv_trainer *t, tally *sum, tensor_arena *arena, char *error) {
    const qkv_config *c = qkv_trainer_config(t);
    const size_t rows = (size_t)c->steps + 1;
    int step = 0;
    sum->sum = tensor_arena_take(arena, rows * GROUPS, sizeof *sum->sum);
    sum->step = tensor_arena_take(arena, rows, sizeof *sum->step);
    if (!sum->sum || !sum->step) return qkv_io_fail(error, "out of memory");
    return qkv_probe_ledger_train(sum->l, &step, c->steps, 1, add_row, sum, error) ==
           QKV_TRAINER_ENDED;
}

bool qkv_study_probe_run_ledger(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    const qkv_config *c = qkv_trainer_config(t);
    if (*c->from)
        return qkv_io_fail(error, "the run began --from another; qkv ledger has its steps");
    qkv_trainer *again = qkv_trainer_new(NULL, c, qkv_trainer_spec(t), 1, error);
    tensor_arena *arena = tensor_arena_new(NULL);
    tally sum = {.scores_from = c->scores_from};
    bool ok = again != NULL;
    if (ok && !arena) ok = qkv_io_fail(error, "out of memory");
    if (ok)
        sum.l = qkv_probe_ledger_new(
            again, &(qkv_probe_ledger_options){.examples = EXAMPLES, .through = "all"}, error);
    ok = ok && sum.l && train(again, &sum, arena, error);
    if (ok) add_measures(&sum, out);
    qkv_probe_ledger_free(sum.l);
    tensor_arena_free(arena);
    qkv_trainer_free(again);
    return ok;
}
