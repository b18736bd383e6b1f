/* change.c - an example changed by hand: two places of it exchanged, or another symbol in one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/words.h"
#include "train/probe/attention_map.h"
#include "train/probe/explain.h"
#include "train/probe/interventions.h"
#include "train/probe/observe.h"

static int *ids(const qkv_trainer_worker *w, const data_spec *s, int stream) {
    return w->data.rows.ids[s->store][stream];
}

/* The stream of a name before a colon, and what stands behind it; -1, all of them, where there is no such
 * name. */
static const char *take_stream(const data_side *side, const char *text, int *stream) {
    for (*stream = side->n_streams; --*stream >= 0;) {
        const size_t n = strlen(side->stream[*stream].name);
        if (strncmp(text, side->stream[*stream].name, n) == 0 && text[n] == ':')
            return text + n + 1;
    }
    return text;
}

/* The stream and number of a symbol, as it is written or as it is shown; false: there is none. */
static bool find_symbol(const data_side *side, const char *text, int *stream, int *id) {
    char symbol[DATA_SYMBOL];
    for (*stream = 0; *stream < side->n_streams; ++*stream) {
        const data_stream *s = &side->stream[*stream];
        for (*id = 0; *id < s->vocab; ++*id)
            if ((s->words && strcmp(s->words[*id], text) == 0) ||
                strcmp(data_symbol(s, *id, symbol), text) == 0)
                return true;
    }
    return false;
}

/* A position of the example's store, and what stands behind its number; NULL: it is none. */
static const char *take_position(const data_batch *b, const char *text, int *at) {
    char *end;
    const long x = strtol(text, &end, 10);
    if (end == text || *text < '0' || *text > '9' || x >= data_length(b, b->spec->store, 0))
        return NULL;
    *at = (int)x;
    return end;
}

bool qkv_probe_change(qkv_trainer *t, const char *text, qkv_probe_changed *out, char *error) {
    if (!QKV_IO_GIVEN(error, t, text, out)) return false;
    const data_spec *s = qkv_trainer_spec(t);
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    char shown[80];
    int stream, only, id;
    *out = (qkv_probe_changed){-1, -1};
    const char *end =
        take_position(&w->data, take_stream(&s->side[s->store], text, &only), &out->at);
    if (end && *end == '=' && only < 0) {
        if (!find_symbol(&s->side[s->store], end + 1, &stream, &id))
            return qkv_io_fail(error, "'%s' is no symbol of the model",
                               qkv_io_printable(end + 1, shown, sizeof shown));
        ids(w, s, stream)[out->at] = id;
        return true;
    }
    if (end && *end == ',') end = take_position(&w->data, end + 1, &out->other);
    if (!end || *end || out->other < 0 || out->other == out->at)
        return qkv_io_fail(error,
                           "'%s' is no change: I,J swaps two positions, NAME:I,J their symbols of "
                           "one stream, I=WORD puts a word at one; positions are 0 to %d",
                           qkv_io_printable(text, shown, sizeof shown),
                           data_length(&w->data, s->store, 0) - 1);
    for (int k = 0; k < s->side[s->store].n_streams; k++)
        if (only < 0 || k == only) qkv_probe_swap(ids(w, s, k), out->at, out->other);
    return true;
}

/* ---- before and after ---- */

/* "before, says Ben 0.98" */
static void remark(qkv_trainer *t, tensor_arena *arena, const char *when, int readout,
                   char out[96]) {
    qkv_probe_explanation e;
    char error[QKV_IO_ERROR], said[DATA_SYMBOL];
    snprintf(out, 96, "%s", when);
    if (!qkv_probe_explain(t, arena, 0, readout, &e, error)) return;  // it answers with no class
    data_answer(&qkv_trainer_spec(t)->readout[readout], e.answer, said);
    qkv_io_words(out, 96, "%s, says %s %.2f", when, said, e.confidence);
}

int qkv_probe_changed_maps(qkv_trainer *t, int readout, const char *change, int most,
                           tensor_arena *arena, qkv_io_text *out, char *error) {
    if (!QKV_IO_GIVEN(error, t, change, arena, out)) return -1;
    const int last = qkv_trainer_config(t)->layers - 1;
    char said[96];
    qkv_probe_changed changed;
    remark(t, arena, "before", readout, said);
    qkv_io_text *pair = tensor_arena_take(arena, (size_t)most, sizeof *pair);
    if (!pair) return qkv_io_fail(error, "out of memory"), -1;
    const int n = qkv_probe_example_maps(
        t, &(qkv_probe_maps_of){readout, last, most / 2, said, 0, 0}, arena, pair);
    if (n < 0) qkv_trainer_fail(t, error);
    if (n < 0 || !qkv_probe_change(t, change, &changed, error)) return -1;
    remark(t, arena, "changed", readout, said);
    const bool swapped = changed.other >= 0;
    qkv_probe_example_maps(t,
                           &(qkv_probe_maps_of){readout, last, n, said, swapped ? changed.at : 0,
                                                swapped ? changed.other : 0},
                           arena, pair + n);
    for (int k = 0; k < n; k++) out[2 * k] = pair[k], out[2 * k + 1] = pair[n + k];
    return 2 * n;
}
