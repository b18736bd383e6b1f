/* average.c - a question between two keys, and a key that is stored twice: what is in between?
 *
 * The output of a head is the mean of the values, weighted: with weights 1 - w and w on two entries it
 * stands at w on the way from v_a to v_b. Whether the *answer* stands there, too, is another matter: the
 * logits do, and a softmax over them turns a small lead into nearly everything.
 *
 * The question is moved from key a to key b: its embedding is (1 - x/100) of a's and x/100 of b's.
 * "average.atX.weight", b's part of what a and b get; ".pair", what both get; ".place", where the head's
 * output stands between v_a (0) and v_b (1), projected; ".said", b's part of the probability of both
 * answers; ".soft", the same with logits whose difference goes from -2 to 2 only.
 * "average.off", the mean distance of place and weight; "average.predicted_off", of said and what the
 * weight and the logits at both ends predict, straight in between; "average.margin", how far apart
 * those ends are.
 *
 * Stored twice: another entry gets the key that is asked for. "average.twice.pair", the weight on both;
 * ".split", how far the weight is from one half for each; ".off", the distance of place and weight;
 * ".one_of_both", how often the answer is a value of one of them; ".said_split", how far the
 * probability is from one half for each. */
#include <math.h>
#include <stdio.h>

#include "tensor/rng.h"
#include "train/probe/look.h"
#include "train/study/probe.h"

enum { EXAMPLES = 400, STOPS = 11 };

typedef struct {
    double weight, pair, place, difference;  // difference: b's logit minus a's
} view;

typedef struct {
    double weight, pair, place, said, soft;
} stop;

typedef struct {
    rng random;
    double n, off, predicted_off, margin;
    stop at[STOPS];
    double twice_pair, twice_split, twice_off, twice_both, twice_said;
} tally;

/* One question: row n, between the entries a and b. */
typedef struct {
    int n, a, b, key[2], value[2];
} question;

static double softened(double x) { return 1 / (1 + exp(-x)); }

/* What the graph has computed for a question. */
static view look(qkv_trainer *t, qkv_trainer_worker *w, const question *q) {
    const int last = qkv_probe_last_layer(t), E = qkv_trainer_config(t)->d_v,
              b = qkv_probe_row_example(t, w, q->n), at = qkv_probe_row_position(t, w, q->n);
    const ag_node *mix = qkv_probe_node(t, w, last, "mix"), *values = mix->in[1];
    const real *o = mix->val.x + ((ptrdiff_t)b * mix->val.shape.dim[1] + at) * E,
               *row = qkv_probe_row_of(qkv_trainer_weights(w, last), b, 0, at),
               *v = values->val.x + (ptrdiff_t)b * values->val.shape.dim[1] * E,
               *logits = w->out.logits[0]->val.x +
                         (ptrdiff_t)q->n * tensor_width(w->out.logits[0]->val.shape);
    double way = 0, length = 0;
    for (int e = 0; e < E; e++) {
        const double from = (double)v[q->a * E + e], step = (double)v[q->b * E + e] - from;
        way += ((double)o[e] - from) * step;
        length += step * step;
    }
    const double pair = (double)row[q->a] + (double)row[q->b];
    return (view){(double)row[q->b] / pair, pair, length > 0 ? way / length : 0,
                  (double)logits[q->value[1]] - (double)logits[q->value[0]]};
}

/* ---- a question that moves from one key to another ---- */

typedef struct {
    qkv_trainer *t;
    qkv_trainer_worker *w;
    const question *q;  // [n]
    int n;
    double part;
} move;

static void move_questions(ag_node *embed, void *ctx) {
    const move *m = ctx;
    const data_spec *s = qkv_trainer_spec(m->t);
    const int D = tensor_width(embed->val.shape), T = s->side[DATA_SEQUENCE].T;
    const char *name = data_query(s)->name;
    char table[96];
    snprintf(table, sizeof table, "embed.%s", name);
    const real *e = ag_params_find(qkv_trainer_params(m->t), table)->val.x;
    for (int i = 0; i < m->n; i++) {
        const question *q = &m->q[i];
        real *x = embed->val.x + ((ptrdiff_t)qkv_probe_row_example(m->t, m->w, q->n) * T +
                                  qkv_probe_row_position(m->t, m->w, q->n)) *
                                     D;
        for (int d = 0; d < D; d++)
            x[d] += (real)m->part * (e[(ptrdiff_t)q->key[1] * D + d] - e[q->key[0] * D + d]);
    }
}

/* views [n, STOPS] of the questions q [n]. */
static bool travel(qkv_trainer *t, qkv_trainer_worker *w, const question *q, int n, view *views) {
    ag_node *embed = ag_find(w->graph, "embed");
    bool ok = true;
    for (int i = 0; ok && i < STOPS; i++) {
        move m = {t, w, q, n, (double)i / (STOPS - 1)};
        ok = ag_hook(embed, move_questions, &m) && qkv_probe_replay(w);
        ag_unhook(embed, move_questions, &m);
        for (int k = 0; ok && k < n; k++) views[k * STOPS + i] = look(t, w, &q[k]);
    }
    return ok;
}

static void add_journey(const view *v, tally *sum) {
    const view *from = &v[0], *to = &v[STOPS - 1];
    const double swing = to->difference - from->difference;
    sum->n++;
    sum->margin += swing / 2;
    for (int i = 0; i < STOPS; i++) {
        stop *at = &sum->at[i];
        const double said = softened(v[i].difference),
                     gone = (v[i].weight - from->weight) / (to->weight - from->weight);
        at->weight += v[i].weight;
        at->pair += v[i].pair;
        at->place += v[i].place;
        at->said += said;
        at->soft += softened(v[i].difference * 4 / swing);
        sum->off += fabs(v[i].place - v[i].weight) / STOPS;
        sum->predicted_off += fabs(said - softened(from->difference + gone * swing)) / STOPS;
    }
}

/* ---- a key that is stored twice ---- */

static bool store_twice(qkv_trainer *t, qkv_trainer_worker *w, const question *q, int n,
                        tally *sum) {
    const data_spec *s = qkv_trainer_spec(t);
    for (int i = 0; i < n; i++)
        qkv_probe_ids(t, w, s->store, s->roles.key, qkv_probe_row_example(t, w, q[i].n))[q[i].b] =
            q[i].key[0];
    qkv_trainer_reload(t, w);
    bool ok = qkv_probe_replay(w);
    for (int i = 0; ok && i < n; i++) {
        const view v = look(t, w, &q[i]);
        const int answer = qkv_probe_answer(t, w, 0, q[i].n);
        sum->twice_pair += v.pair;
        sum->twice_split += fabs(v.weight - 0.5);
        sum->twice_off += fabs(v.place - v.weight);
        sum->twice_said += fabs(softened(v.difference) - 0.5);
        sum->twice_both += answer == q[i].value[0] || answer == q[i].value[1];
    }
    return ok;
}

/* ---- the probe ---- */

static question choose(qkv_trainer *t, qkv_trainer_worker *w, int n, rng *random) {
    const data_spec *s = qkv_trainer_spec(t);
    const int example = qkv_probe_row_example(t, w, n), a = w->source[0][n];
    const int b = (a + 1 + (int)rng_below(random, (uint32_t)s->entries - 1)) % s->entries;
    const int *key = qkv_probe_ids(t, w, s->store, s->roles.key, example),
              *value = qkv_probe_ids(t, w, s->store, s->roles.value, example);
    return (question){n, a, b, {key[a], key[b]}, {value[a], value[b]}};
}

static bool count(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    tally *sum = ctx;
    const size_t rows = (size_t)qkv_probe_rows(w);
    question *q = tensor_arena_take(arena, rows, sizeof *q);
    view *views = tensor_arena_take(arena, rows * STOPS, sizeof *views);
    if (!q || !views) return false;
    int n = 0;
    for (int row = 0; row < qkv_probe_rows(w); row++)  // a key that is not stored has no place
        if (w->source[0][row] >= 0) q[n++] = choose(t, w, row, &sum->random);
    if (!travel(t, w, q, n, views)) return false;
    for (int i = 0; i < n; i++) add_journey(&views[i * STOPS], sum);
    return store_twice(t, w, q, n, sum);
}

static void report(const tally *sum, qkv_probe_measures *out) {
    for (int i = 0; i < STOPS; i++) {
        const int x = 100 * i / (STOPS - 1);
        qkv_probe_measure_add(out, sum->at[i].weight / sum->n, "average.at%d.weight", x);
        qkv_probe_measure_add(out, sum->at[i].pair / sum->n, "average.at%d.pair", x);
        qkv_probe_measure_add(out, sum->at[i].place / sum->n, "average.at%d.place", x);
        qkv_probe_measure_add(out, sum->at[i].said / sum->n, "average.at%d.said", x);
        qkv_probe_measure_add(out, sum->at[i].soft / sum->n, "average.at%d.soft", x);
    }
    qkv_probe_measure_add(out, sum->off / sum->n, "average.off");
    qkv_probe_measure_add(out, sum->predicted_off / sum->n, "average.predicted_off");
    qkv_probe_measure_add(out, sum->margin / sum->n, "average.margin");
    qkv_probe_measure_add(out, sum->twice_pair / sum->n, "average.twice.pair");
    qkv_probe_measure_add(out, sum->twice_split / sum->n, "average.twice.split");
    qkv_probe_measure_add(out, sum->twice_off / sum->n, "average.twice.off");
    qkv_probe_measure_add(out, sum->twice_both / sum->n, "average.twice.one_of_both");
    qkv_probe_measure_add(out, sum->twice_said / sum->n, "average.twice.said_split");
}

bool qkv_study_probe_run_average(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    const data_spec *s = qkv_trainer_spec(t);
    const qkv_config *c = qkv_trainer_config(t);
    if (s->roles.key < 0 || s->roles.asks_for || s->store != DATA_SEQUENCE || s->scored != 1 ||
        s->entries < 2 || s->readout[0].has_none)
        return qkv_io_fail(error, "it takes one question for a key that is one of several entries");
    if (c->heads != 1 || c->layers != 1)
        return qkv_io_fail(error, "it takes one head, whose output can be seen to be a mean");
    if (!qkv_probe_has_nodes(t, "weights mix logits", error)) return false;
    const ag_node *mix = qkv_probe_node(t, qkv_trainer_any_worker(t), 0, "mix");
    if (mix->op != &ag_op_mix)
        return qkv_io_fail(error, "the node '%s' is not the op 'mix', whose values are read",
                           mix->name);
    tally sum = {.random = rng_stream((uint64_t)c->seed, "average", 0)};
    if (!qkv_probe_see(t, "test", EXAMPLES, 0, count, &sum, error)) return false;
    report(&sum, out);
    return true;
}
