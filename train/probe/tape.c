/* tape.c - the graph of one example, and what its indices stand for. */
#include "train/probe/tape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/flush.h"
#include "train/io/given.h"
#include "train/probe/explain.h"
#include "train/probe/sample.h"

/* ---- what indices stand for ---- */

static int last_but(tensor_shape s, int n) { return s.rank > n ? s.rank - 1 - n : -1; }

static const data_stream *stream_called(const data_spec *s, data_side_name side, const char *name) {
    for (int i = 0; i < s->side[side].n_streams; i++)
        if (strcmp(s->side[side].stream[i].name, name) == 0) return &s->side[side].stream[i];
    return NULL;
}

/* Tables: a row a symbol, or a column a class. */
static void name_table(const data_spec *s, const char *name, int rank, qkv_probe_tape_axis *axis) {
    static const char *const sides[] = {"embed.", "memory."};
    const data_side_name side[] = {DATA_SEQUENCE, DATA_MEMORY};
    for (int i = 0; i < 2 && rank == 2; i++)
        if (strncmp(name, sides[i], strlen(sides[i])) == 0) {
            axis[0].stream = stream_called(s, side[i], name + strlen(sides[i]));
            if (axis[0].stream) axis[0].kind = QKV_PROBE_TAPE_SYMBOL;
        }
    for (int r = 0; r < s->n_readouts && rank > 0; r++) {
        const char *of = s->readout[r].name;
        const bool unembeds = strncmp(name, "unembed.", 8) == 0 && strcmp(name + 8, of) == 0;
        const bool logits = strncmp(name, "logits.", 7) == 0 && strcmp(name + 7, of) == 0;
        if (!unembeds && !logits) continue;
        axis[rank - 1] = (qkv_probe_tape_axis){QKV_PROBE_TAPE_CLASS, NULL, &s->readout[r]};
        if (logits) axis[0].kind = QKV_PROBE_TAPE_SCORED;
    }
}

/* Rows of y are those of its first input; columns too, or, of a plane [..,T,S], the second one's rows. */
static void follow(const qkv_probe_tape *tape, const ag_node *y, qkv_probe_tape_axis *axis) {
    const ag_node *a = y->in[0], *b = y->n_in > 1 ? y->in[1] : a;
    const tensor_shape s = y->val.shape, of = a->val.shape, second = b->val.shape;
    const int row = last_but(s, 1), from = last_but(of, 1), other = last_but(second, 1);
    if (s.rank == 2 && s.dim[0] == tape->w->n_rows && of.rank == 3)
        axis[0].kind = QKV_PROBE_TAPE_SCORED;  // what is scored is taken out
    else if (row >= 0 && from >= 0 && s.dim[row] == of.dim[from])
        axis[row] = tape->axes[a->index][from];
    else if (row >= 0 && s.rank == 3 && tape->w->asked.n && s.dim[row] == tape->w->asked.n)
        axis[row].kind = QKV_PROBE_TAPE_ASKED;
    if (s.rank < 3) return;
    if (s.rank == of.rank && s.dim[s.rank - 1] == of.dim[of.rank - 1])
        axis[s.rank - 1] = tape->axes[a->index][of.rank - 1];
    else if (s.rank == 4 && second.rank == 3 && s.dim[3] == second.dim[other])
        axis[3] = tape->axes[b->index][other];
    if (s.rank == 4) axis[1].kind = QKV_PROBE_TAPE_HEAD;
}

static void name_axes(qkv_probe_tape *tape) {
    const data_spec *s = qkv_trainer_spec(tape->t);
    for (int i = 0; i < ag_count(tape->w->graph); i++) {
        const ag_node *node = ag_at(tape->w->graph, i);
        qkv_probe_tape_axis *axis = tape->axes[i];
        const bool memory = strcmp(node->name, "memory") == 0;
        if (node->op) follow(tape, node, axis);
        name_table(s, node->name, node->val.shape.rank, axis);
        if (node->val.shape.rank != 3 || !(memory || strcmp(node->name, "embed") == 0)) continue;
        axis[1].kind = memory ? QKV_PROBE_TAPE_MEMORY : QKV_PROBE_TAPE_SEQUENCE;
    }
}

bool qkv_probe_tape_new(qkv_trainer *t, bool as_trained, tensor_arena *arena, qkv_probe_tape *out,
                        char *error) {
    if (!QKV_IO_GIVEN(error, t, arena, out)) return false;
    *out = (qkv_probe_tape){.t = t, .w = qkv_trainer_tape_worker(t, as_trained, error)};
    if (!out->w) return false;
    out->axes = tensor_arena_take(arena, (size_t)ag_count(out->w->graph), sizeof *out->axes);
    if (!out->axes) return qkv_io_fail(error, "out of memory");
    name_axes(out);
    return true;
}

static char *position(const qkv_probe_tape *tape, data_side_name side, int at, char *out,
                      size_t size) {
    const bool there = at >= 0 && at < data_length(&tape->w->data, side, 0);
    return there ? data_position(&tape->w->data, side, 0, at, out, size) : strcpy(out, "-");
}

char *qkv_probe_tape_label(const qkv_probe_tape *tape, const ag_node *node, int dim, int i,
                           char *out, size_t size) {
    char symbol[DATA_SYMBOL] = "";
    *out = '\0';
    if (!tape || !node || dim < 0 || dim >= node->val.shape.rank) return out;
    const qkv_probe_tape_axis a = tape->axes[node->index][dim];
    const int T = qkv_trainer_spec(tape->t)->side[DATA_SEQUENCE].T;
    switch (a.kind) {
        case QKV_PROBE_TAPE_SEQUENCE: return position(tape, DATA_SEQUENCE, i, out, size);
        case QKV_PROBE_TAPE_MEMORY: return position(tape, DATA_MEMORY, i, out, size);
        case QKV_PROBE_TAPE_ASKED:
            return position(tape, DATA_SEQUENCE, tape->w->asked_place[i], out, size);
        case QKV_PROBE_TAPE_SCORED:
            i = i < tape->w->n_rows ? tape->w->rows[i] : -1;
            return position(tape, DATA_SEQUENCE, i < 0 ? -1 : i % T, out, size);
        case QKV_PROBE_TAPE_HEAD: snprintf(out, size, "head %d", i); return out;
        case QKV_PROBE_TAPE_SYMBOL: data_symbol(a.stream, i, symbol); break;
        case QKV_PROBE_TAPE_CLASS: data_answer(a.readout, i, symbol); break;
        case QKV_PROBE_TAPE_NUMBER: break;
    }
    snprintf(out, size, "%s", symbol);
    return out;
}

/* ---- examples ---- */

static bool begin_example(qkv_probe_tape *tape, char *error) {
    const data_spec *s = qkv_trainer_spec(tape->t);
    if (ag_error(tape->w->graph)) return qkv_io_fail(error, "%s", ag_error(tape->w->graph));
    tape->row = qkv_probe_question_row(tape->t, tape->w, tape->readout);
    if (tape->row < 0) return qkv_io_fail(error, "nothing is asked in this example");
    tape->question = tape->w->rows[tape->row] % s->side[DATA_SEQUENCE].T;
    return true;
}

bool qkv_probe_tape_load(qkv_probe_tape *tape, const char *split, uint64_t index, char *error) {
    if (!QKV_IO_GIVEN(error, tape, split)) return false;
    qkv_trainer_load(tape->t, tape->w, split, index, 1, 1);
    return begin_example(tape, error);
}

/* The number of a word among those of a stream, or of a readout. */
static int number_of(const char *const *words, int n, const char *word) {
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0) return i;
    return -1;
}

/* Puts a word, with its features, at position `at`. */
static bool put_word(qkv_probe_tape *tape, int at, char *word, char *error) {
    const data_side *side = &qkv_trainer_spec(tape->t)->side[DATA_SEQUENCE];
    char *rest = NULL, *part = strtok_r(word, "|", &rest);
    for (int k = 0; k < side->n_streams; k++, part = part ? strtok_r(NULL, "|", &rest) : NULL) {
        const data_stream *s = &side->stream[k];
        const int id = part && s->words ? number_of(s->words, s->vocab, part) : -1;
        if (part && id < 0) return qkv_io_fail(error, "the run has no %s '%.60s'", s->name, part);
        tape->w->data.rows.ids[DATA_SEQUENCE][k][at] = id;
    }
    return !part || qkv_io_fail(error, "'%.60s' has too many features", part);
}

/* A word of the line: where one asks it is noted. */
static bool take_word(qkv_probe_tape *tape, int *n, int *asks, char *word, char *error) {
    const int T = qkv_trainer_spec(tape->t)->side[DATA_SEQUENCE].T;
    const size_t length = strlen(word);
    if (*n == T) return qkv_io_fail(error, "an example of this run holds %d words", T);
    if (length > 1 && word[length - 1] == '?') word[length - 1] = '\0', *asks = *n;
    return put_word(tape, (*n)++, word, error);
}

static bool take_line(qkv_probe_tape *tape, char *line, char *error) {
    const data_spec *s = qkv_trainer_spec(tape->t);
    const data_example *e = &tape->w->data.rows;
    int n = 0, asks = -1, answers = -1, target[DATA_MAXREADOUTS];
    char *rest = NULL;
    for (int r = 0; r < DATA_MAXREADOUTS; r++) target[r] = -1;
    for (char *w = strtok_r(line, " \t", &rest); w; w = strtok_r(NULL, " \t", &rest)) {
        if (strcmp(w, "=>") == 0) {
            answers = 0;
        } else if (answers < 0) {
            if (!take_word(tape, &n, &asks, w, error)) return false;
        } else {
            if (answers == s->n_readouts)
                return qkv_io_fail(error, "the line has more than %d answers", s->n_readouts);
            const data_readout *r = &s->readout[answers];
            target[answers] = number_of(r->words, r->classes, w);
            if (target[answers++] < 0)
                return qkv_io_fail(error, "no answer of the run is '%.60s'", w);
        }
    }
    if (n == 0 || answers < s->n_readouts)
        return qkv_io_fail(error, "a line is words, and %d behind => : 'Ann met Ben => Ben'",
                           s->n_readouts);
    for (int r = 0; r < s->n_readouts; r++)
        for (int t = 0; t < s->side[DATA_SEQUENCE].T; t++) {
            const bool here = t == (asks < 0 ? n - 1 : asks);
            const int id = here ? target[r] : -1;
            e->target[r][t] = id;
            e->source[r][t] = e->distractor[r][t] = -1;
            for (int p = 0, found = 0; here && p < n; p++) {  // where the answer stands, if once
                const int word = e->ids[DATA_SEQUENCE][0][p];
                const char *const *words = s->side[DATA_SEQUENCE].stream[0].words;
                if (p == t || word < 0 || strcmp(words[word], s->readout[r].words[id]) != 0)
                    continue;
                e->source[r][t] = found++ ? -1 : p;
            }
        }
    e->length[DATA_SEQUENCE][0] = n;
    qkv_trainer_reload(tape->t, tape->w);
    return true;
}

bool qkv_probe_tape_load_line(qkv_probe_tape *tape, const char *line, char *error) {
    if (!QKV_IO_GIVEN(error, tape, line)) return false;
    const data_spec *s = qkv_trainer_spec(tape->t);
    const bool words = s->side[DATA_SEQUENCE].stream[0].words && s->readout[0].words;
    if (data_text_of(s))
        return qkv_probe_load_prompt(tape->t, tape->w, line, error) && begin_example(tape, error);
    if (!words || s->side[DATA_MEMORY].T > 0)
        return qkv_io_fail(error, "the task '%s' has no words that a line could be made of",
                           s->task->name);
    char *copy = malloc(strlen(line) + 1);
    if (!copy) return qkv_io_fail(error, "out of memory");
    qkv_trainer_load(tape->t, tape->w, "test", 0, 1, 1);
    const bool ok = take_line(tape, strcpy(copy, line), error);
    free(copy);
    return ok && begin_example(tape, error);
}

bool qkv_probe_tape_run(qkv_probe_tape *tape, bool back, char *error) {
    if (!QKV_IO_GIVEN(error, tape)) return false;
    ag_graph *g = tape->w->graph;
    ag_set_run(g, (ag_run){.training = false});
    const tensor_flush before = tensor_flush_begin();  // as when it was trained
    ag_grads_zero(g);
    const bool ok = ag_forward(g) && (!back || ag_backward(tape->w->out.loss, NULL));
    tensor_flush_end(before);
    return ok || qkv_io_fail(error, "%s", ag_error(g));
}
