/* coref.c - the probe of the task coref: does "it" ask for the noun that the predicate fits?
 *
 * In sentences: scores (Q_it . K_noun, scaled) and weights from the position that is read to both
 * nouns, and whose colour is said, as they are and after a change. ref and other are positions: the
 * original referent's, and the other noun's. Then the sentence itself, "the red animal did not
 * cross the blue street because it was tired" and "... wide". What the matrices say of words is in
 * coref_circuits.c. */
#include <math.h>
#include <string.h>

#include "data/coref.h"
#include "train/probe/look.h"
#include "train/probe/observe.h"
#include "train/study/coref_circuits.h"
#include "train/study/probe.h"

enum { EXAMPLES = 500, CHANGES = 4 };

typedef struct {
    data_coref_places at;
    int change;
    long rows;
    double score_ref, score_other, share, a_ref, a_other, says_ref, says_other;
    double it_to_predicate, first_it, first_ref, first_predicate;  // see add_routes()
} tally;

static int *colours(qkv_trainer *t, qkv_trainer_worker *w, const tally *sum, int b) {
    return qkv_probe_ids(t, w, DATA_SEQUENCE, sum->at.colour_stream, b);
}

/* The changes, for one example. */
static void flip_predicate(qkv_trainer *t, qkv_trainer_worker *w, const tally *sum, int b) {
    int *id = qkv_probe_ids(t, w, DATA_SEQUENCE, sum->at.predicate_stream, b) + sum->at.predicate;
    *id = DATA_COREF_PREDICATES + (*id - DATA_COREF_PREDICATES + 4) % 8;
}
static void swap_nouns(qkv_trainer *t, qkv_trainer_worker *w, const tally *sum, int b) {
    qkv_probe_swap(qkv_probe_ids(t, w, DATA_SEQUENCE, 0, b), sum->at.noun[0], sum->at.noun[1]);
}
static void swap_tags(qkv_trainer *t, qkv_trainer_worker *w, const tally *sum, int b) {
    qkv_probe_swap(colours(t, w, sum, b), sum->at.colour[0], sum->at.colour[1]);
}

static const struct {
    const char *name;
    void (*change)(qkv_trainer *t, qkv_trainer_worker *w, const tally *sum, int b);
} changes[CHANGES] = {{"clean", NULL},
                      {"flipped", flip_predicate},
                      {"nouns_swapped", swap_nouns},
                      {"tags_swapped", swap_tags}};

static void add(qkv_trainer *t, qkv_trainer_worker *w, int n, int ref, tally *sum) {
    const ag_node *scores = qkv_probe_scores_node(t, w),
                  *weights = qkv_trainer_weights(w, qkv_probe_last_layer(t));
    int b = qkv_probe_row_example(t, w, n), at = qkv_probe_row_position(t, w, n), other = 1 - ref;
    const int *colour = colours(t, w, sum, b), *noun = sum->at.noun;
    int says = DATA_COREF_COLOURS + qkv_probe_answer(t, w, 0, n);
    double score_ref = qkv_probe_mean_at(scores, b, at, noun[ref]);
    double score_other = qkv_probe_mean_at(scores, b, at, noun[other]);
    sum->rows++;
    sum->score_ref += score_ref;
    sum->score_other += score_other;
    sum->share += score_ref > score_other;
    sum->a_ref += qkv_probe_mean_at(weights, b, at, noun[ref]);
    sum->a_other += qkv_probe_mean_at(weights, b, at, noun[other]);
    sum->says_ref += says == colour[sum->at.colour[ref]];
    sum->says_other += says == colour[sum->at.colour[other]];
}

/* By which way the predicate meets its noun: who looks at whom, in the last layer and in the first. */
static void add_routes(const qkv_trainer *t, const qkv_trainer_worker *w, int n, int ref,
                       tally *sum) {
    const ag_node *last = qkv_trainer_weights(w, qkv_probe_last_layer(t)),
                  *first = qkv_trainer_weights(w, 0);
    const int b = qkv_probe_row_example(t, w, n), it = qkv_probe_row_position(t, w, n);
    const int predicate = sum->at.predicate, noun = sum->at.noun[ref];
    sum->it_to_predicate += qkv_probe_mean_at(last, b, it, predicate);
    sum->first_it += qkv_probe_mean_at(first, b, it, predicate);
    sum->first_ref += qkv_probe_mean_at(first, b, noun, predicate);
    sum->first_predicate += qkv_probe_mean_at(first, b, predicate, noun);
}

static bool count(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    (void)arena;
    tally *sum = ctx;
    for (int b = 0; changes[sum->change].change && b < w->count; b++)
        changes[sum->change].change(t, w, sum, b);
    qkv_trainer_reload(t, w);
    if (!qkv_probe_replay(w)) return false;
    for (int n = 0; n < qkv_probe_rows(w); n++) {
        const int ref = w->source[0][n] == sum->at.noun[0] ? 0 : 1;
        add(t, w, n, ref, sum);
        if (qkv_trainer_weights(w, 0)) add_routes(t, w, n, ref, sum);
    }
    return true;
}

static bool in_sentences(qkv_trainer *t, data_coref_places at, qkv_probe_measures *out,
                         char *error) {
    for (int c = 0; c < CHANGES; c++) {
        tally sum = {.at = at, .change = c};
        if (!qkv_probe_see(t, "test", EXAMPLES, 0, count, &sum, error)) return false;
        double rows = sum.rows ? (double)sum.rows : (double)NAN;
        const char *name = changes[c].name;
        qkv_probe_measure_add(out, sum.score_ref / rows, "coref.%s.score_ref", name);
        qkv_probe_measure_add(out, sum.score_other / rows, "coref.%s.score_other", name);
        qkv_probe_measure_add(out, sum.share / rows, "coref.%s.share", name);
        qkv_probe_measure_add(out, sum.a_ref / rows, "coref.%s.a_ref", name);
        qkv_probe_measure_add(out, sum.a_other / rows, "coref.%s.a_other", name);
        qkv_probe_measure_add(out, sum.says_ref / rows, "coref.%s.says_ref", name);
        qkv_probe_measure_add(out, sum.says_other / rows, "coref.%s.says_other", name);
        if (c > 0) continue;
        qkv_probe_measure_add(out, sum.it_to_predicate / rows, "coref.last.it_to_predicate");
        qkv_probe_measure_add(out, sum.first_it / rows, "coref.first.it_to_predicate");
        qkv_probe_measure_add(out, sum.first_ref / rows, "coref.first.ref_to_predicate");
        qkv_probe_measure_add(out, sum.first_predicate / rows, "coref.first.predicate_to_ref");
    }
    return true;
}

/* Writes the sentence over example 0; the predicate: tired (animates) or wide. */
static void write_sentence(qkv_trainer *t, qkv_trainer_worker *w, const tally *sum, bool tired) {
    int *word = qkv_probe_ids(t, w, DATA_SEQUENCE, 0, 0), *colour = colours(t, w, sum, 0);
    int *predicate = qkv_probe_ids(t, w, DATA_SEQUENCE, sum->at.predicate_stream, 0);
    word[sum->at.noun[0]] = DATA_COREF_NOUNS;            // animal
    word[sum->at.noun[1]] = DATA_COREF_INANIMATE;        // street
    word[sum->at.verb] = DATA_COREF_VERBS;               // cross
    colour[sum->at.colour[0]] = DATA_COREF_COLOURS;      // red
    colour[sum->at.colour[1]] = DATA_COREF_COLOURS + 1;  // blue
    predicate[sum->at.predicate] = DATA_COREF_PREDICATES + (tired ? 0 : 4);
}

static bool the_sentence(qkv_trainer *t, data_coref_places at, bool tired,
                         qkv_probe_measures *out) {
    const char *name = tired ? "tired" : "wide";
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    tally sum = {.at = at};
    qkv_trainer_load(t, w, "test", 0, 1, 1);
    write_sentence(t, w, &sum, tired);
    qkv_trainer_reload(t, w);
    if (!qkv_probe_replay(w)) return false;
    add(t, w, 0, 0, &sum);  // "ref" is the animal
    qkv_probe_measure_add(out, sum.score_ref, "coref.%s.score_animal", name);
    qkv_probe_measure_add(out, sum.score_other, "coref.%s.score_street", name);
    qkv_probe_measure_add(out, sum.a_ref, "coref.%s.a_animal", name);
    qkv_probe_measure_add(out, sum.a_other, "coref.%s.a_street", name);
    qkv_probe_measure_add(out, tired ? sum.says_ref : sum.says_other, "coref.%s.right", name);
    return true;
}

bool qkv_study_probe_run_coref(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    const data_spec *s = qkv_trainer_spec(t);
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    if (strcmp(s->task->name, "coref") != 0)
        return qkv_io_fail(error, "this probe is of the task 'coref', not of '%s'", s->task->name);
    if (!qkv_probe_scores_node(t, w) || !w->out.logits[0])
        return qkv_io_fail(error, "the model has no attention whose scores could be read");
    data_coref_places at = data_coref_places_of(s->side[DATA_SEQUENCE].T);
    if (!in_sentences(t, at, out, error)) return false;
    if (!the_sentence(t, at, true, out) || !the_sentence(t, at, false, out))
        return qkv_io_fail(error, "%s", ag_error(w->graph));
    return qkv_study_coref_circuits(t, out, error);
}
