/* corpus_splits.c - which examples train, and which are held out. */
#include <stdio.h>
#include <string.h>

#include "data/corpus_internal.h"
#include "data/visible.h"

/* Which words, features and answers training has: [stream or readout][number]. */
typedef struct {
    bool *stream[DATA_CORPUS_STREAMS], *answer[DATA_MAXREADOUTS];
} shown;

static bool shown_new(shown *s, const data_corpus *c, tensor_arena *arena) {
    bool room = true;
    for (int i = 0; i < c->n_streams; i++)
        room = (s->stream[i] = tensor_arena_take(arena, (size_t)c->stream[i].n, 1)) && room;
    for (int r = 0; r < c->n_readouts; r++)
        room = (s->answer[r] = tensor_arena_take(arena, (size_t)c->answer[r].n, 1)) && room;
    return room;
}

/* What training does not show: a feature of a word (0: the word), or an answer; where it stands in its
 * line as data_walk_place() counts. text NULL: it shows all. */
typedef struct {
    const char *kind, *text;
    int word, feature;
} missing;

/* Marks all that example e has as shown; or finds the first that is not. */
static missing visit(shown *s, const data_corpus *c, int e, bool mark) {
    const size_t streams = (size_t)c->n_streams, per = (size_t)(c->asking * c->n_readouts);
    const size_t begin = c->begin[e] * streams, end = c->begin[e + 1] * streams;
    for (size_t i = begin, k = 0; i < end; i++, k = k + 1 < streams ? k + 1 : 0) {
        const int id = c->ids[i];
        bool *seen = s->stream[k];
        if (id < 0 || !seen) continue;
        if (mark) seen[id] = true;
        if (!seen[id])
            return (missing){k ? "feature" : "word", c->stream[k].text[id],
                             (int)((i - begin) / streams), (int)k};
    }
    for (size_t a = 0; a < per; a++) {
        const size_t r = a % (size_t)c->n_readouts;
        const int id = c->target[(size_t)e * per + a];
        bool *answer = s->answer[r];
        if (answer && mark) answer[id] = true;
        if (answer && !answer[id])
            return (missing){"answer", c->answer[r].text[id],
                             (int)(c->begin[e + 1] - c->begin[e] + 1 + a), 0};
    }
    return (missing){0};
}

static bool never_seen(const missing *what, const data_source *source, long number, char *error,
                       size_t size) {
    char word[96];
    data_walk w = data_walk_of(source, error, size);
    while (w.number < number && data_walk_line(&w)) {
    }
    return data_walk_fail(&w, data_walk_place(&w, what->word, what->feature),
                          "the %s '%s' is never seen in training", what->kind,
                          data_visible(what->text, strlen(what->text), word, sizeof word));
}

/* The split of a line that is shared out, by its hash as a number of [0,1). */
static data_split split_of(uint64_t hash, double held_out) {
    const double x = (double)(hash >> 11) * 0x1p-53;
    return x < held_out ? DATA_VALID : x < 2 * held_out ? DATA_TEST : DATA_TRAIN;
}

/* Moves held-out lines that training could not know into training, and refuses those of a file of
 * their own. All are judged by what training had before, so equal lines share their fate. */
static bool settle(data_corpus *c, data_line *line, shown *s, const data_source *sources,
                   char *error, size_t size) {
    for (int e = 0; e < c->n; e++)
        if (line[e].split == DATA_TRAIN) visit(s, c, e, true);
    for (int e = 0; e < c->n; e++) {
        if (line[e].split == DATA_TRAIN) continue;
        const missing what = visit(s, c, e, false);
        if (!what.text) continue;
        if (sources[line[e].source].split != DATA_SPLITS)
            return never_seen(&what, &sources[line[e].source], line[e].number, error, size);
        line[e].split = DATA_TRAIN;
        c->moved++;
    }
    return true;
}

static bool same(const data_corpus *c, int a, int b) {
    const size_t n = c->begin[a + 1] - c->begin[a], streams = (size_t)c->n_streams;
    const size_t asks = (size_t)c->asking, per = asks * (size_t)c->n_readouts;
    return n == c->begin[b + 1] - c->begin[b] &&
           memcmp(c->ids + c->begin[a] * streams, c->ids + c->begin[b] * streams,
                  n * streams * sizeof *c->ids) == 0 &&
           memcmp(c->ask + (size_t)a * asks, c->ask + (size_t)b * asks, asks * sizeof *c->ask) ==
               0 &&
           memcmp(c->target + (size_t)a * per, c->target + (size_t)b * per,
                  per * sizeof *c->target) == 0;
}

/* Counts examples that an earlier one equals, of the same split or of another. */
static bool count_duplicates(data_corpus *c, const data_line *line, tensor_arena *arena) {
    size_t slots = 2;
    while (slots < 2 * (size_t)c->n) slots *= 2;
    int *slot = tensor_arena_take(arena, slots, sizeof *slot);
    for (int e = 0; slot && e < c->n; e++) {
        bool own = false, other = false;
        size_t i = (size_t)line[e].hash & (slots - 1);
        for (; slot[i] && !own; i = (i + 1) & (slots - 1)) {
            if (line[slot[i] - 1].hash != line[e].hash || !same(c, e, slot[i] - 1)) continue;
            own = line[slot[i] - 1].split == line[e].split;
            other = other || !own;
        }
        c->duplicates += own;
        c->shared += other;
        if (!own) slot[i] = e + 1;  // one of each split stands for all that equal it
    }
    return slot != NULL;
}

static bool make_orders(data_corpus *c, const data_line *line, const char *name, char *error,
                        size_t size) {
    static const char *const names[] = {"training", "validation", "test"};
    for (int e = 0; e < c->n; e++) c->count[line[e].split]++;
    for (int s = 0; s < DATA_SPLITS; s++) {
        if (c->count[s] == 0) {
            char shown_name[256];
            snprintf(error, size,
                     "%s: of %d examples (%d repeat another, %d have a word that no line to train "
                     "on has) none is left for %s; give more lines, or a file for each",
                     data_visible_text(name, shown_name, sizeof shown_name), c->n, c->duplicates,
                     c->moved, names[s]);
            return false;
        }
        c->order[s] = tensor_arena_take(c->arena, (size_t)c->count[s], sizeof(int));
        if (!c->order[s]) return false;
        c->count[s] = 0;
    }
    for (int e = 0; e < c->n; e++) c->order[line[e].split][c->count[line[e].split]++] = e;
    return true;
}

bool data_corpus_share(data_corpus *c, data_line *line, const data_source *sources, double held_out,
                       tensor_arena *spare, char *error, size_t size) {
    shown s = {{NULL}, {NULL}};
    for (int e = 0; e < c->n; e++) {
        const data_split own = sources[line[e].source].split;
        line[e].split =
            (unsigned char)(own == DATA_SPLITS ? split_of(line[e].hash, held_out) : own);
    }
    return shown_new(&s, c, spare) && settle(c, line, &s, sources, error, size) &&
           count_duplicates(c, line, spare) && make_orders(c, line, sources[0].name, error, size);
}
