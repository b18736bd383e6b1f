/* words.c - examples made of words: exchange two of a line, or one for another of its kind, and see
 * where attention goes and what is answered. */
#include <math.h>
#include <stdio.h>

#include "train/io/given.h"
#include "train/probe/experiment.h"
#include "train/probe/interventions.h"

/* One loaded micro-batch of lines. */
typedef struct {
    qkv_probe_experiment on;
    const int *class_of;      // [words] the answer that a word is, or -1
    qkv_probe_words *chosen;  // [B] t -1: the line has none
    qkv_probe_exchanges *sum;
} experiment;

static int *ids(const qkv_trainer_worker *w, const data_spec *s, int stream, int example) {
    return w->data.rows.ids[DATA_SEQUENCE][stream] + (ptrdiff_t)example * s->side[DATA_SEQUENCE].T;
}

const char *qkv_probe_words_missing(qkv_trainer *t) {
    const data_spec *s = qkv_trainer_spec(t);
    return !s->side[DATA_SEQUENCE].stream[0].words || !s->readout[0].words ? "it has no words"
           : s->store != DATA_SEQUENCE                 ? "it looks elsewhere for its answers"
           : !qkv_trainer_has_attention(t)             ? "the model has no attention weights"
           : !qkv_trainer_any_worker(t)->out.logits[0] ? "the answer is a vector, no word"
                                                       : NULL;
}

/* ---- choosing ---- */

/* Do two words have the same features? */
static bool alike(const data_spec *s, const qkv_trainer_worker *w, int e, int p, int f, int q) {
    for (int i = 1; i < s->side[DATA_SEQUENCE].n_streams; i++)
        if (ids(w, s, i, e)[p] != ids(w, s, i, f)[q]) return false;
    return true;
}

/* The k-th other word of line e that is not what word t is (k from 0; of_kind: an answer somewhere,
 * with t's features), or -1. */
static int other_word(const data_spec *s, const qkv_trainer_worker *w, const int *class_of, int e,
                      int t, bool of_kind, int k) {
    const int T = s->side[DATA_SEQUENCE].T, *word = ids(w, s, 0, e);
    for (int p = 0; p < T; p++) {
        const bool asks = w->data.rows.target[0][e * T + p] >= 0;
        if (word[p] < 0 || word[p] == word[t] || asks) continue;
        if (of_kind && (class_of[word[p]] < 0 || !alike(s, w, e, p, e, t))) continue;
        if (k-- == 0) return p;
    }
    return -1;
}

/* What another line's answer is, where line e has no such word; of t's features if there is one. */
static int new_word(const data_spec *s, const qkv_trainer *t, const qkv_trainer_worker *w, int e,
                    int at) {
    const int T = s->side[DATA_SEQUENCE].T;
    int found = -1;
    for (int i = 1; i < w->count; i++) {
        const int f = (e + i) % w->count, source = w->source[0][qkv_probe_scored_row(t, w, f)];
        if (source < 0) continue;
        const int word = ids(w, s, 0, f)[source];
        if (data_count(ids(w, s, 0, e), T, word)) continue;
        if (alike(s, w, e, at, f, source)) return word;
        if (found < 0) found = word;
    }
    return found;
}

qkv_probe_words qkv_probe_words_choose(qkv_trainer *t, const int *class_of, int e, rng *random) {
    const data_spec *s = qkv_trainer_spec(t);
    const qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    qkv_probe_words c = {.t = w->source[0][qkv_probe_scored_row(t, w, e)], .j = -1, .put = -1};
    if (c.t < 0) return c;
    const bool of_kind = other_word(s, w, class_of, e, c.t, true, 0) >= 0;
    int n = 0;
    while (other_word(s, w, class_of, e, c.t, of_kind, n) >= 0) n++;
    if (n)
        c.j = other_word(s, w, class_of, e, c.t, of_kind,
                         random ? (int)rng_below(random, (uint32_t)n) : 0);
    c.put = new_word(s, t, w, e, c.t);
    return c;
}

/* ---- changing ---- */

void qkv_probe_words_swap(qkv_trainer *t, int e, int i, int j) {
    const data_spec *s = qkv_trainer_spec(t);
    for (int k = 0; k < s->side[DATA_SEQUENCE].n_streams; k++)
        qkv_probe_swap(ids(qkv_trainer_any_worker(t), s, k, e), i, j);
}

static void exchange(experiment *b, int e) {
    qkv_probe_words_swap(b->on.t, e, b->chosen[e].t, b->chosen[e].j);
}
static void replace_answer(experiment *b, int e) {
    ids(b->on.w, b->on.spec, 0, e)[b->chosen[e].t] = b->chosen[e].put;
}
static void replace_other(experiment *b, int e) {
    ids(b->on.w, b->on.spec, 0, e)[b->chosen[e].j] = b->chosen[e].put;
}

static const struct {
    const char *key, *name;
    void (*change)(experiment *b, int example);
} changes[] = {{"clean", "clean", NULL},
               {"swap_words", "t and j swapped", exchange},
               {"other_answer", "n put in the place of t", replace_answer},
               {"other_word", "n put in the place of j", replace_other}};
_Static_assert(sizeof changes / sizeof *changes == QKV_PROBE_EXCHANGES,
               "an entry of the enumeration for each change, in this order");

static bool experiment_new(tensor_arena *arena, qkv_trainer *t, qkv_probe_exchanges *sum,
                           experiment *b) {
    *b = (experiment){.sum = sum};
    b->class_of = data_answers_of_words(qkv_trainer_spec(t), arena);
    b->chosen = tensor_arena_take(arena, (size_t)qkv_trainer_any_worker(t)->B, sizeof *b->chosen);
    return b->class_of && b->chosen && qkv_probe_experiment_new(arena, t, "exchanges", &b->on);
}

static void change(void *ctx, int i, int e) {
    experiment *b = ctx;
    if (changes[i].change && b->chosen[e].t >= 0) changes[i].change(b, e);
}

static void tally(void *ctx, int i) {
    const experiment *b = ctx;
    const qkv_probe_experiment *on = &b->on;
    qkv_probe_exchange *sum = &b->sum->changed[i];
    for (int e = 0; e < on->w->count; e++) {
        const qkv_probe_words *c = &b->chosen[e];
        if (c->t < 0) continue;
        const real *now = on->view.attention + (ptrdiff_t)e * on->view.S,
                   *was = on->clean.attention + (ptrdiff_t)e * on->view.S;
        const int says = on->view.answer[e], *word = on->kept + (ptrdiff_t)e * on->view.S;
        for (int s = 0; s < on->view.S; s++) sum->moved += fabs((double)(now[s] - was[s])) / 2;
        sum->attention_t += (double)now[c->t];
        sum->attention_j += (double)now[c->j];
        sum->says_t += says == b->class_of[word[c->t]];
        sum->says_j += says == b->class_of[word[c->j]];
        sum->says_new += says == b->class_of[c->put];
    }
}

static bool run(experiment *b) {
    static const qkv_probe_experiment_plan plan = {QKV_PROBE_EXCHANGES, change, tally};
    for (int e = 0; e < b->on.w->count; e++) {
        b->chosen[e] = qkv_probe_words_choose(b->on.t, b->class_of, e, &b->on.random);
        if (b->chosen[e].j < 0 || b->chosen[e].put < 0) b->chosen[e].t = -1;
        b->sum->examples += b->chosen[e].t >= 0;
    }
    return qkv_probe_experiment_run(&b->on, &plan, b);
}

bool qkv_probe_exchange_words(qkv_trainer *t, const char *split, int count,
                              qkv_probe_exchanges *out, char *error) {
    if (!QKV_IO_GIVEN(error, t, split, out)) return false;
    *out = (qkv_probe_exchanges){0};
    const char *missing = qkv_probe_words_missing(t);
    if (missing)
        return qkv_io_fail(error, "%s: no words can be swapped: %s",
                           qkv_trainer_spec(t)->task->name, missing);
    tensor_arena *arena = tensor_arena_new(NULL);
    experiment b;
    bool ok = arena && experiment_new(arena, t, out, &b);
    count = data_at_most(qkv_trainer_spec(t), split, count);
    for (int first = 0; ok && first < count; first += b.on.w->B) {
        const int n = count - first < b.on.w->B ? count - first : b.on.w->B;
        qkv_trainer_load(t, b.on.w, split, (uint64_t)first, n, n);
        ok = run(&b);
    }
    if (!ok) qkv_trainer_fail(t, error);
    for (int i = 0; i < QKV_PROBE_EXCHANGES; i++) {
        qkv_probe_exchange *c = &out->changed[i];
        double *all[] = {&c->attention_t, &c->attention_j, &c->moved,
                         &c->says_t,      &c->says_j,      &c->says_new};
        c->key = changes[i].key, c->name = changes[i].name;
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            *all[k] /= out->examples ? out->examples : (double)NAN;
    }
    tensor_arena_free(arena);
    return ok;
}
