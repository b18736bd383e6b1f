/* interventions.h - causal tests of "Q and K decide where, V decides what": change one thing, see
 * what follows.
 *
 * For tasks with keys and values. t is the entry that holds the answer, j another one of the same
 * example. */
#pragma once

#include "train/trainer/trainer.h"

TENSOR_C_BEGIN

/* Fractions of the examples, or means over them. */
typedef struct {
    const char *key, *name;           // "swap_keys" in a measure's name; what it does, in words
    double looks_at_t, looks_at_j;    // greatest weight on the entry
    double attention_t, attention_j;  // weight on the entry
    double moved;           // total variation between this attention and the clean one, 0..1
    double says_t, says_j;  // answer is the value that stood at t (at j) before the change
} qkv_probe_intervention;

enum {
    QKV_PROBE_CLEAN,
    QKV_PROBE_SWAP_KEYS,
    QKV_PROBE_SWAP_VALUES,
    QKV_PROBE_OTHER_QUERY,
    QKV_PROBE_RANDOM_VALUES,
    QKV_PROBE_INTERVENTIONS
};

/* Q and K of example X, V of example Y: t is where X's answer stands. */
typedef struct {
    int pairs;
    double says_y_at_t;     // answer is what Y stores where X looks
    double says_x, says_y;  // answer is X's own, Y's own
} qkv_probe_activation_patching;

/* The memory's embedding is key + value; on the way to K, or to V, one part is replaced by its
 * table's mean. */
typedef struct {
    const char *k_sees, *v_sees;
    double accuracy, in_context, answer_attention;
} qkv_probe_ablation;

enum { QKV_PROBE_ABLATIONS = 9 };

typedef struct {
    int examples;
    qkv_probe_intervention changed[QKV_PROBE_INTERVENTIONS];
    qkv_probe_activation_patching cross;
    qkv_probe_ablation ablated[QKV_PROBE_ABLATIONS];
} qkv_probe_interventions;

/* Runs everything on about `count` examples of a split. False with a sentence in error (no keys
 * and values, memory). */
bool qkv_probe_intervene(qkv_trainer *t, const char *split, int count, qkv_probe_interventions *out,
                         char *error);

/* Its third part, in ablation.c: one loaded micro-batch, sums over the examples whose right[e] >= 0
 * added to out->ablated. */
bool qkv_probe_ablate(tensor_arena *arena, qkv_trainer *t, qkv_trainer_worker *w, const int *right,
                      qkv_probe_interventions *out);

/* ---- examples that are lines of words ---- */

/* Where the answer t and another word j stand, and a word of another line that may be put there; -1: none. */
typedef struct {
    int t, j, put;
} qkv_probe_words;

/* Means over the lines that have all three. */
typedef struct {
    const char *key, *name;           // as above
    double attention_t, attention_j;  // on the two places
    double moved;                     // as above
    double says_t, says_j, says_new;  // the word that stood at t, at j; the new one
} qkv_probe_exchange;

enum { QKV_PROBE_EXCHANGES = 4 };  // clean; t and j exchanged; t replaced; j replaced

typedef struct {
    int examples;
    qkv_probe_exchange changed[QKV_PROBE_EXCHANGES];
} qkv_probe_exchanges;

/* As qkv_probe_intervene(), on examples whose position t is the answer. */
bool qkv_probe_exchange_words(qkv_trainer *t, const char *split, int count,
                              qkv_probe_exchanges *out, char *error);

/* Why no words can be exchanged, as half a sentence; NULL: they can. */
const char *qkv_probe_words_missing(qkv_trainer *t);

/* The words of the worker's example e, by data_answers_of_words(); of several possible ones j is
 * drawn, or without `random` the first. Exchanges two words with all their features. */
qkv_probe_words qkv_probe_words_choose(qkv_trainer *t, const int *class_of, int e, rng *random);
void qkv_probe_words_swap(qkv_trainer *t, int e, int i, int j);

/* ---- the loaded example 0, changed by hand ---- */

/* Positions of the store; other -1: one was changed, else the two were exchanged. */
typedef struct {
    int at, other;
} qkv_probe_changed;

/* "2,5" exchanges what stands at two positions, "key:2,5" their symbols of the stream "key"; "2=Ben" puts a
 * symbol, of the first stream that has it, at one. Where the right answer then stands is not told anew. False
 * with a sentence in error. */
bool qkv_probe_change(qkv_trainer *t, const char *text, qkv_probe_changed *out, char *error);

TENSOR_C_END
