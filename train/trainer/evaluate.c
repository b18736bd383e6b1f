/* evaluate.c - what the model does on held-out examples: loss, accuracy, where it looks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/trainer/trainer_internal.h"

/* Sums over one micro-batch. */
typedef struct {
    double loss;
    long right, scored, sourced, distracted, all_right, in_context;
    double *head_attention, distractor;  // distractor: last layer, sum over heads
} tally;

typedef struct {
    qkv_trainer *t;
    const char *split;
    uint64_t first;
    int count;
    tally *micro_batches;
} job;

int qkv_trainer_argmax(const real *x, int n) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

bool qkv_trainer_is_stored(const data_spec *s, const qkv_trainer_worker *w, int example,
                           int value) {
    if (!s || !w) return false;
    const int *ids =
        w->data.rows.ids[s->store][s->roles.value] + (ptrdiff_t)example * s->side[s->store].T;
    const int there = data_length(&w->data, s->store, example);
    for (int e = 0; e < s->entries && e < there; e++)
        if (ids[e] == value) return true;
    return false;
}

static void count_answers(const qkv_trainer *t, const qkv_trainer_worker *w, tally *sum) {
    const data_spec *s = &t->spec;
    int wrong_in = -1;  // the example last seen wrong
    for (int n = 0; n < w->n_rows && w->rows[n] >= 0; n++) {
        int example = w->rows[n] / s->side[DATA_SEQUENCE].T;
        for (int r = 0; r < s->n_readouts; r++) {
            if (w->target[r][n] < 0) continue;
            sum->scored++;
            sum->sourced += w->source[r][n] >= 0;
            sum->distracted += w->source[r][n] >= 0 && w->distractor[r][n] >= 0;
            if (!w->out.logits[r]) continue;
            int answer = qkv_trainer_argmax(
                w->out.logits[r]->val.x + (size_t)n * (size_t)s->readout[r].classes,
                s->readout[r].classes);
            sum->right += answer == w->target[r][n];
            if (answer != w->target[r][n]) wrong_in = example;
            if (s->roles.value >= 0)
                sum->in_context += qkv_trainer_is_stored(s, w, example, answer);
        }
        bool last = n + 1 == w->n_rows || w->rows[n + 1] < 0 ||
                    w->rows[n + 1] / s->side[DATA_SEQUENCE].T != example;
        if (last) sum->all_right += wrong_in != example;
    }
}

/* Rows of one example's weights in one layer, read a few at a time where they are streamed. */
typedef struct {
    int layer, b, from;
} place;

/* Row q of each head's weights, `*apart` numbers apart; `at` says what was read last. */
static const real *rows_of(const qkv_trainer_worker *w, int layer, int b, int q, place *at,
                           ptrdiff_t *apart) {
    ag_node *node = w->weights[layer];
    const int H = node->val.shape.dim[1], T = node->val.shape.dim[2], S = node->val.shape.dim[3];
    if (node->val.x) {
        *apart = (ptrdiff_t)T * S;
        return node->val.x + b * H * *apart + (ptrdiff_t)q * S;
    }
    const int from = q - q % QKV_TRAINER_ROWS_READ,
              n = T - from < QKV_TRAINER_ROWS_READ ? T - from : QKV_TRAINER_ROWS_READ;
    *apart = (ptrdiff_t)QKV_TRAINER_ROWS_READ * S;
    if (at->layer != layer || at->b != b || at->from != from)
        for (int h = 0; h < H; h++)
            ag_read_rows(node, (size_t)b * (size_t)H + (size_t)h, from, n, w->read + h * *apart);
    *at = (place){layer, b, from};
    return w->read + (ptrdiff_t)(q - from) * S;
}

/* Adds the attention that each head pays from scored rows to where the answer stands. */
static void add_attention(const qkv_trainer *t, const qkv_trainer_worker *w, double *attention,
                          double *distractor) {
    place at = {-1, -1, -1};
    const int all = t->spec.side[DATA_SEQUENCE].T, H = t->config.heads;
    int last = t->config.layers - 1;
    for (int l = 0; l < t->config.layers; l++)
        for (int n = 0; w->weights[l] && n < w->n_rows && w->rows[n] >= 0; n++)
            for (int r = 0; r < t->spec.n_readouts; r++) {
                if (w->source[r][n] < 0) continue;
                ptrdiff_t apart;
                const int T = qkv_trainer_queries(t, w, l),
                          at_row = T < all ? w->picked[n] : w->rows[n];
                const real *row = rows_of(w, l, at_row / T, at_row % T, &at, &apart);
                for (int h = 0; h < H; h++, row += apart) {
                    attention[l * H + h] += (double)row[w->source[r][n]];
                    if (l == last && w->distractor[r][n] >= 0)
                        *distractor += (double)row[w->distractor[r][n]];
                }
            }
}

static void run_micro_batch(void *ctx, int micro_batch, int worker) {
    const job *j = ctx;
    qkv_trainer *t = j->t;
    qkv_trainer_worker *w = &t->workers[worker];
    tally *sum = &j->micro_batches[micro_batch];
    int first = micro_batch * t->micro_batch,
        count = j->count - first < t->micro_batch ? j->count - first : t->micro_batch;
    qkv_trainer_load(t, w, j->split, j->first + (uint64_t)first, count, j->count);
    ag_set_run(w->graph, (ag_run){.training = false});
    if (!ag_forward(w->graph)) return;
    sum->loss = (double)w->out.loss->val.x[0];
    count_answers(t, w, sum);
    add_attention(t, w, sum->head_attention, &sum->distractor);
}

/* Adds up the micro-batches in order, and divides. */
static void conclude(qkv_trainer *t, const job *j, int micro_batches, qkv_trainer_scores *out) {
    int heads = t->config.layers * t->config.heads;
    tally all = {0};
    for (int h = 0; h < heads; h++) t->head_attention[h] = 0;
    for (int s = 0; s < micro_batches; s++) {
        const tally *one = &j->micro_batches[s];
        all.loss += one->loss;
        all.right += one->right;
        all.scored += one->scored;
        all.sourced += one->sourced;
        all.distracted += one->distracted;
        all.all_right += one->all_right;
        all.in_context += one->in_context;
        all.distractor += one->distractor;
        for (int h = 0; h < heads; h++) t->head_attention[h] += one->head_attention[h];
    }
    const double scored = all.scored ? (double)all.scored : (double)NAN;
    bool answers = t->config.readout != NN_READOUT_VECTOR, stores = t->spec.roles.value >= 0;
    *out = (qkv_trainer_scores){
        .loss = all.loss,
        .bits = answers && t->spec.characters > 0 ? all.loss / log(2) / t->spec.characters
                                                  : (double)NAN,
        .accuracy = answers ? (double)all.right / scored : (double)NAN,
        .all_right = answers ? (double)all.all_right / j->count : (double)NAN,
        .in_context = answers && stores ? (double)all.in_context / scored : (double)NAN,
        .distractor = t->spec.has_distractor && all.distracted
                          ? all.distractor / (double)all.distracted / t->config.heads
                          : (double)NAN,
        .head_attention = t->head_attention};
    for (int h = 0; h < heads; h++)
        t->head_attention[h] =
            all.sourced ? t->head_attention[h] / (double)all.sourced : (double)NAN;
    if (!qkv_trainer_has_attention(t)) out->answer_attention = out->distractor = (double)NAN;
    for (int h = 0; h < t->config.heads; h++)
        out->answer_attention += t->head_attention[heads - t->config.heads + h] / t->config.heads;
}

bool qkv_trainer_evaluate(qkv_trainer *t, const char *split, uint64_t first, int count,
                          qkv_trainer_scores *out, char *error) {
    if (!QKV_IO_GIVEN(error, t, split, out)) return false;
    count = data_at_most(&t->spec, split, count);
    int micro_batches = (count + t->micro_batch - 1) / t->micro_batch,
        heads = t->config.layers * t->config.heads;
    tensor_arena *arena = tensor_arena_new(t->mem);
    tally *sums = arena ? tensor_arena_take(arena, (size_t)micro_batches, sizeof *sums) : NULL;
    bool room = sums != NULL;
    for (int s = 0; room && s < micro_batches; s++)
        room = (sums[s].head_attention = tensor_arena_take(arena, (size_t)heads, sizeof(double)));
    if (room) {
        job j = {t, split, first, count, sums};
        qkv_trainer_pool_run(t->pool, run_micro_batch, &j, micro_batches);
        conclude(t, &j, micro_batches, out);
    }
    tensor_arena_free(arena);
    if (!room) return qkv_io_fail(error, "out of memory");
    for (int i = 0; i < qkv_trainer_pool_size(t->pool); i++)
        if (ag_error(t->workers[i].graph)) return qkv_trainer_fail(t, error);
    return true;
}
