/* evaluate.c - what the model does on held-out examples: loss, accuracy, where it looks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/trainer/trainer_internal.h"

/* Sums over one shard. */
typedef struct {
    double loss;
    long right, scored, all_right, in_bag;
    double *head_mass, decoy;  // decoy: last layer, sum over heads
} tally;

typedef struct {
    qkv_trainer *t;
    const char *split;
    uint64_t first;
    int count;
    tally *shards;
} job;

int qkv_trainer_argmax(const real *x, int n) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

bool qkv_trainer_is_stored(const data_spec *s, const qkv_trainer_worker *w, int example,
                           int value) {
    const int *ids =
        w->data.rows.ids[s->store][s->roles.value] + (ptrdiff_t)example * s->side[s->store].T;
    for (int e = 0; e < s->entries; e++)
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
            if (!w->out.logits[r]) continue;
            int answer = qkv_trainer_argmax(
                w->out.logits[r]->val.x + (size_t)n * (size_t)s->readout[r].classes,
                s->readout[r].classes);
            sum->right += answer == w->target[r][n];
            if (answer != w->target[r][n]) wrong_in = example;
            if (s->roles.value >= 0) sum->in_bag += qkv_trainer_is_stored(s, w, example, answer);
        }
        bool last = n + 1 == w->n_rows || w->rows[n + 1] < 0 ||
                    w->rows[n + 1] / s->side[DATA_SEQUENCE].T != example;
        if (last) sum->all_right += wrong_in != example;
    }
}

/* Adds the attention that each head pays from scored rows to where the answer stands. */
static void add_mass(const qkv_trainer *t, const qkv_trainer_worker *w, double *mass,
                     double *decoy) {
    int T = t->spec.side[DATA_SEQUENCE].T, S = t->spec.side[t->spec.store].T, H = t->config.heads;
    int last = t->config.layers - 1;
    for (int l = 0; l < t->config.layers; l++)
        for (int n = 0; w->weights[l] && n < w->n_rows && w->rows[n] >= 0; n++)
            for (int r = 0; r < t->spec.n_readouts; r++) {
                if (w->source[r][n] < 0) continue;
                int b = w->rows[n] / T, q = w->rows[n] % T;
                for (int h = 0; h < H; h++) {
                    const real *row = w->weights[l]->val.x + ((ptrdiff_t)(b * H + h) * T + q) * S;
                    mass[l * H + h] += (double)row[w->source[r][n]];
                    if (l == last && w->decoy[r][n] >= 0) *decoy += (double)row[w->decoy[r][n]];
                }
            }
}

static void run_shard(void *ctx, int shard, int worker) {
    const job *j = ctx;
    qkv_trainer *t = j->t;
    qkv_trainer_worker *w = &t->workers[worker];
    tally *sum = &j->shards[shard];
    int first = shard * t->shard, count = j->count - first < t->shard ? j->count - first : t->shard;
    qkv_trainer_load(t, w, j->split, j->first + (uint64_t)first, count, j->count);
    ag_set_run(w->graph, (ag_run){.training = false});
    if (!ag_forward(w->graph)) return;
    sum->loss = (double)w->out.loss->val.x[0];
    count_answers(t, w, sum);
    add_mass(t, w, sum->head_mass, &sum->decoy);
}

/* Adds up the shards in order, and divides. */
static void conclude(qkv_trainer *t, const job *j, int shards, qkv_trainer_scores *out) {
    int heads = t->config.layers * t->config.heads;
    tally all = {0};
    for (int h = 0; h < heads; h++) t->head_mass[h] = 0;
    for (int s = 0; s < shards; s++) {
        const tally *one = &j->shards[s];
        all.loss += one->loss;
        all.right += one->right;
        all.scored += one->scored;
        all.all_right += one->all_right;
        all.in_bag += one->in_bag;
        all.decoy += one->decoy;
        for (int h = 0; h < heads; h++) t->head_mass[h] += one->head_mass[h];
    }
    double scored = all.scored ? (double)all.scored : 1;
    bool answers = t->config.readout != NN_READOUT_VECTOR, stores = t->spec.roles.value >= 0;
    *out = (qkv_trainer_scores){
        .loss = all.loss,
        .accuracy = answers ? (double)all.right / scored : (double)NAN,
        .all_right = answers ? (double)all.all_right / j->count : (double)NAN,
        .in_bag = answers && stores ? (double)all.in_bag / scored : (double)NAN,
        .decoy = t->spec.has_decoy ? all.decoy / scored / t->config.heads : (double)NAN,
        .head_mass = t->head_mass};
    for (int h = 0; h < heads; h++) t->head_mass[h] /= scored;
    if (!qkv_trainer_has_attention(t)) out->mass = out->decoy = (double)NAN;
    for (int h = 0; h < t->config.heads; h++)
        out->mass += t->head_mass[heads - t->config.heads + h] / t->config.heads;
}

bool qkv_trainer_evaluate(qkv_trainer *t, const char *split, uint64_t first, int count,
                          qkv_trainer_scores *out, char *error) {
    int shards = (count + t->shard - 1) / t->shard, heads = t->config.layers * t->config.heads;
    tensor_arena *arena = tensor_arena_new(t->mem);
    tally *sums = arena ? tensor_arena_take(arena, (size_t)shards, sizeof *sums) : NULL;
    bool room = sums != NULL;
    for (int s = 0; room && s < shards; s++)
        room = (sums[s].head_mass = tensor_arena_take(arena, (size_t)heads, sizeof(double)));
    if (room) {
        job j = {t, split, first, count, sums};
        qkv_trainer_pool_run(t->pool, run_shard, &j, shards);
        conclude(t, &j, shards, out);
    }
    tensor_arena_free(arena);
    if (!room) return qkv_io_fail(error, "out of memory");
    for (int i = 0; i < qkv_trainer_pool_size(t->pool); i++)
        if (ag_error(t->workers[i].graph))
            return qkv_io_fail(error, "%s", ag_error(t->workers[i].graph));
    return true;
}
