/* coref.c - "the red animal did not cross the blue street because it was tired": which one, and of
 * what colour?
 *
 * One of two nouns is animate, the predicate fits animate or inanimate ones; asked for is the
 * colour of the noun that it fits. The colour is random, so that knowing the words does not
 * answer: the noun has to be found. A colon stands for two words in one position.
 *
 *     form 9   the N1:C1 did not VERB the N2:C2 because it:PRED       read at "it"
 *     form 11  the N1:C1 did not VERB the N2:C2 because it was PRED   read at "it", which sees all
 *     form 13  the C1 N1 did not VERB the C2 N2 because it was PRED   read at PRED
 *
 * Held out: combinations of referent and predicate with (7 noun + 3 predicate) mod 4 = 0, a
 * quarter, never in training. */
#include <stdio.h>

#include "data/coref.h"

enum {  // short names for here
    THE = DATA_COREF_THE,
    DID = DATA_COREF_DID,
    NOT = DATA_COREF_NOT,
    BECAUSE = DATA_COREF_BECAUSE,
    IT = DATA_COREF_IT,
    WAS = DATA_COREF_WAS,
    VERBS = DATA_COREF_VERBS,
    PREDICATES = DATA_COREF_PREDICATES,
    COLOURS = DATA_COREF_COLOURS,
    NOUNS = DATA_COREF_NOUNS,
    INANIMATE = DATA_COREF_INANIMATE,
    WORDS = DATA_COREF_WORDS
};

static const char *const words[WORDS] = {
    "the",   "did",    "not",    "because", "it",     "was",   "cross",  "leave",  "see",
    "touch", "tired",  "hungry", "scared",  "sleepy", "wide",  "narrow", "broken", "wet",
    "red",   "blue",   "green",  "black",   "white",  "brown", "grey",   "pink",   "animal",
    "dog",   "cat",    "horse",  "boy",     "girl",   "bird",  "child",  "street", "road",
    "river", "bridge", "wall",   "door",    "box",    "table"};

typedef struct {
    int form;
} options;

static const data_option table[] = {
    DATA_INT(options, form, "form", 9, 9, 13, "positions of a sentence: 9, 11 or 13"),
    DATA_END,
};

static bool configure(data_spec *s, char *error, size_t size) {
    const options *o = data_chosen(s);
    if (o->form != 9 && o->form != 11 && o->form != 13)
        return snprintf(error, size, "coref: a sentence has 9, 11 or 13 positions, not %d",
                        o->form),
               false;
    int streams = o->form == 13 ? 1 : 2;
    data_stream word = {"word", "", WORDS, -1, words, 0, NULL};
    s->side[DATA_SEQUENCE] = (data_side){o->form, streams, {word, word}};
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"colour", "c", 8, words + COLOURS, false};
    s->scored = 1;
    s->sees = o->form == 11 ? DATA_FULL : DATA_CAUSAL;
    s->entries = o->form;
    s->answer_at = o->form == 13 ? -1 : 0;
    s->chance = 1.0 / 8;
    s->in_context = 1.0 / 2;
    s->has_distractor = s->has_held_out = true;
    s->scratch = 16;
    return true;
}

typedef struct {
    int noun[2], colour[2], verb, predicate, referent;  // word ids; referent 0 or 1
} sentence;

static sentence draw(rng *r) {
    sentence s;
    int animate_first = (int)rng_below(r, 2), wants_animate = (int)rng_below(r, 2), scratch[8];
    s.noun[0] = (animate_first ? NOUNS : INANIMATE) + (int)rng_below(r, 8);
    s.noun[1] = (animate_first ? INANIMATE : NOUNS) + (int)rng_below(r, 8);
    rng_choose(r, 8, 2, s.colour, scratch);
    s.verb = VERBS + (int)rng_below(r, 4);
    s.predicate = PREDICATES + (wants_animate ? 0 : 4) + (int)rng_below(r, 4);
    s.referent = wants_animate == animate_first ? 0 : 1;
    return s;
}

static bool held_out(const sentence *s) {
    return data_coref_held_out(s->noun[s->referent], s->predicate);
}

static void example(const data_spec *spec, rng *r, const data_example *out) {
    sentence s;
    do s = draw(r);
    while (held_out(&s) != out->held_out);
    int form = spec->side[DATA_SEQUENCE].T, *word = out->ids[DATA_SEQUENCE][0],
        *beside = out->ids[DATA_SEQUENCE][1];
    int at[2] = {1, 6}, n = 0, it;
    for (int k = 0; k < 2; k++) {
        word[n++] = THE;
        if (form == 13) word[n++] = COLOURS + s.colour[k];
        at[k] = n;
        word[n++] = s.noun[k];
        if (form != 13) beside[at[k]] = COLOURS + s.colour[k];
        if (k == 1) break;
        word[n++] = DID;
        word[n++] = NOT;
        word[n++] = s.verb;
    }
    word[n++] = BECAUSE;
    it = n;
    word[n++] = IT;
    if (form == 9)
        beside[it] = s.predicate;
    else
        word[n++] = WAS, word[n++] = s.predicate;
    int read = form == 13 ? n - 1 : it;
    out->target[0][read] = s.colour[s.referent];
    out->source[0][read] = at[s.referent];
    out->distractor[0][read] = at[1 - s.referent];
}

/* Nouns of the class that the predicate fits. */
static int right_entries(const data_spec *s, const data_example *e, int r, int t) {
    const int *word = e->ids[DATA_SEQUENCE][0], *beside = e->ids[DATA_SEQUENCE][1];
    int T = s->side[DATA_SEQUENCE].T, predicate = T == 9 ? beside[t] : word[T - 1], found = 0;
    bool animate = predicate < PREDICATES + 4;
    (void)r;
    for (int i = 0; i < T; i++)
        found += animate ? word[i] >= NOUNS && word[i] < INANIMATE : word[i] >= INANIMATE;
    return found;
}

const data_task data_task_coref = {
    .name = "coref",
    .summary = "a sentence with \"it\": the colour of the noun that is meant",
    .recommended = "positions=learned steps=400",
    .options = table,
    .configure = configure,
    .example = example,
    .right_entries = right_entries,
};
