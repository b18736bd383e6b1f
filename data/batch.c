/* batch.c - batches of examples, and a guard against tasks that write where they may not.
 *
 * Every array has a margin on both sides which nobody may touch. It is looked at after each
 * filling, and that of the scratch memory after each example; a new spec is tried on single
 * examples, so that an example which writes into its neighbour is found, too. */
#include <stdio.h>
#include <string.h>

#include "data/data.h"

enum { MARGIN = 16, UNTOUCHED = 0x5aa5c33c };

static void fill_with(int *x, int n, int value) {
    for (int i = 0; i < n; i++) x[i] = value;
}

static bool untouched(const int *x, int n) {
    int odd = 0;
    for (int i = 0; x && i < n; i++) odd |= x[i] ^ UNTOUCHED;
    return odd == 0;
}

/* An array of n between its margins; NULL: memory is out. */
static int *guarded(tensor_arena *arena, size_t n) {
    int *x = tensor_arena_take(arena, n + 2 * MARGIN, sizeof(int));
    if (!x) return NULL;
    fill_with(x, MARGIN, UNTOUCHED);
    fill_with(x + MARGIN + n, MARGIN, UNTOUCHED);
    return x + MARGIN;
}

static bool margins_hold(const int *x, size_t n) {
    return untouched(x - MARGIN, MARGIN) && untouched(x + n, MARGIN);
}

/* The margin of scratch has room for a drawing from any vocabulary: that is what is forgotten. */
static int scratch_margin(const data_spec *s) {
    int most = s->side[DATA_SEQUENCE].T + s->side[DATA_MEMORY].T;
    for (int side = 0; side < DATA_SIDES; side++)
        for (int i = 0; i < s->side[side].n_streams; i++)
            most = data_larger(most, s->side[side].stream[i].vocab);
    return most + MARGIN;
}

bool data_batch_new(tensor_arena *arena, const data_spec *spec, int B, data_batch *out) {
    size_t n = (size_t)B * (size_t)spec->side[DATA_SEQUENCE].T;
    *out = (data_batch){.spec = spec, .B = B, .margin = scratch_margin(spec)};
    int *scratch =
        tensor_arena_take(arena, (size_t)spec->scratch + (size_t)out->margin, sizeof(int));
    bool room = (out->rows.scratch = scratch);
    if (room) fill_with(scratch + spec->scratch, out->margin, UNTOUCHED);
    for (int side = 0; side < DATA_SIDES; side++)
        for (int i = 0; i < spec->side[side].n_streams; i++) {
            int *ids = guarded(arena, (size_t)B * (size_t)spec->side[side].T);
            out->rows.ids[side][i] = ids;
            room = room && ids;
        }
    for (int side = 0; side < DATA_SIDES; side++)
        room = (out->rows.length[side] = guarded(arena, (size_t)B)) && room;
    for (int i = 0; i < spec->n_readouts; i++) {
        room = (out->rows.target[i] = guarded(arena, n)) && room;
        room = (out->rows.source[i] = guarded(arena, n)) && room;
        room = (out->rows.distractor[i] = guarded(arena, n)) && room;
    }
    return room;
}

/* The arrays of example b alone. */
static data_example row_of(const data_batch *batch, int b) {
    data_example row = batch->rows;
    const data_side *sides = batch->spec->side;
    size_t at = (size_t)b * (size_t)sides[DATA_SEQUENCE].T;
    for (int s = 0; s < DATA_SIDES; s++)
        for (int i = 0; i < sides[s].n_streams; i++)
            row.ids[s][i] += (size_t)b * (size_t)sides[s].T;
    for (int s = 0; s < DATA_SIDES; s++) row.length[s] += b;
    for (int i = 0; i < batch->spec->n_readouts; i++)
        row.target[i] += at, row.source[i] += at, row.distractor[i] += at;
    return row;
}

/* ---- what a task may not do ---- */

static const char *touched(const data_batch *b) {
    const data_spec *s = b->spec;
    size_t n = (size_t)b->B * (size_t)s->side[DATA_SEQUENCE].T;
    for (int side = 0; side < DATA_SIDES; side++)
        for (int i = 0; i < s->side[side].n_streams; i++)
            if (!margins_hold(b->rows.ids[side][i], (size_t)b->B * (size_t)s->side[side].T))
                return "it writes ids beyond the positions of its side";
    for (int r = 0; r < s->n_readouts; r++)
        if (!margins_hold(b->rows.target[r], n) || !margins_hold(b->rows.source[r], n) ||
            !margins_hold(b->rows.distractor[r], n))
            return "it writes targets, sources or distractors beyond the positions of the sequence";
    for (int side = 0; side < DATA_SIDES; side++)
        if (!margins_hold(b->rows.length[side], (size_t)b->B))
            return "it writes more than one length of a side";
    return NULL;
}

/* Sources and distractors are positions of the store: they index the attention. */
static const char *misplaced(const data_spec *s, const data_example *e) {
    int T = s->side[DATA_SEQUENCE].T, S = *e->length[s->store];
    for (int side = 0; side < DATA_SIDES; side++)
        if (*e->length[side] < (s->side[side].T > 0) || *e->length[side] > s->side[side].T)
            return "a length is not between 1 and the positions of its side";
    for (int r = 0; r < s->n_readouts; r++)
        for (int t = *e->length[DATA_SEQUENCE]; t < T; t++)
            if (e->target[r][t] >= 0) return "something is asked behind the length of the example";
    for (int r = 0; r < s->n_readouts; r++)
        for (int t = 0; t < T; t++)
            if (e->source[r][t] < -1 || e->source[r][t] >= S || e->distractor[r][t] < -1 ||
                e->distractor[r][t] >= S)
                return "a source or a distractor is no position of the store, or padding";
    return NULL;
}

/* Each example has a row of logits for each of at most `scored` positions, and at least one. */
static const char *miscounted(const data_spec *s, const data_example *e) {
    int asked = 0;
    for (int t = 0; t < s->side[DATA_SEQUENCE].T; t++) {
        bool asks = false;
        for (int r = 0; r < s->n_readouts; r++) asks = asks || e->target[r][t] >= 0;
        asked += asks;
    }
    return asked == 0          ? "an example asks nothing: none of its positions has a target"
           : asked > s->scored ? "an example has targets at more positions than spec->scored"
                               : NULL;
}

static const char *wrong_after(const data_batch *b, const data_example *e) {
    if (!untouched(e->scratch + b->spec->scratch, b->margin))
        return "it uses more scratch memory than it asks for in spec->scratch";
    const char *wrong = misplaced(b->spec, e);
    return wrong ? wrong : miscounted(b->spec, e);
}

/* ---- filling ---- */

static void clear(const data_batch *b, const data_example *e, int row, int count) {
    const data_spec *s = b->spec;
    for (int i = 0; i < s->n_readouts; i++) {
        fill_with(e->target[i], s->side[DATA_SEQUENCE].T, -1);
        fill_with(e->source[i], s->side[DATA_SEQUENCE].T, -1);
        fill_with(e->distractor[i], s->side[DATA_SEQUENCE].T, -1);
    }
    for (int side = 0; side < DATA_SIDES; side++) {
        const bool repeats = row >= count && count > 0;
        *e->length[side] = repeats ? *row_of(b, count - 1).length[side] : s->side[side].T;
        for (int i = 0; i < s->side[side].n_streams; i++) {
            int *ids = e->ids[side][i], T = s->side[side].T;
            if (repeats)
                memcpy(ids, row_of(b, count - 1).ids[side][i], (size_t)T * sizeof(int));
            else
                fill_with(ids, T, -1);
        }
    }
}

void data_fill(data_batch *b, uint64_t seed, const char *split, uint64_t first, int count) {
    const bool held_out = strcmp(split, "heldout") == 0, sound = !b->wrong;
    for (int row = 0; row < b->B; row++) {
        data_example e = row_of(b, row);
        clear(b, &e, row, count);
        if (row >= count || b->wrong) continue;
        rng r = rng_stream(seed, split, first + (uint64_t)row);
        e.held_out = held_out;
        e.split = split;
        e.seed = seed;
        e.index = first + (uint64_t)row;
        b->spec->task->example(b->spec, &r, &e);
        b->wrong = wrong_after(b, &e);
    }
    const char *beyond = sound ? touched(b) : NULL;
    if (beyond) b->wrong = beyond;  // whatever else followed from it
}

bool data_try(const data_spec *spec, char *error, size_t size) {
    enum { EXAMPLES = 8 };
    if (!spec || !error) return data_null(error, size);
    tensor_arena *arena = tensor_arena_new(NULL);
    data_batch b;
    bool room = arena && data_batch_new(arena, spec, 1, &b);
    if (!room) snprintf(error, size, "out of memory");
    bool ok = room;
    for (int e = 0; ok && e < EXAMPLES; e++) {
        data_fill(&b, 1, e % 2 && spec->has_held_out ? "heldout" : "train", (uint64_t)e, 1);
        ok = !b.wrong;
    }
    if (room && !ok) snprintf(error, size, "the task '%s' is wrong: %s", spec->task->name, b.wrong);
    tensor_arena_free(arena);
    return ok;
}
