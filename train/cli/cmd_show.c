/* cmd_show.c - qkv show: one example, step by step, for a reader of the formula. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/cli/open.h"
#include "train/io/number.h"
#include "train/probe/explain.h"
#include "train/probe/interventions.h"
#include "train/probe/observe.h"

static const cli_option options[] = {
    {"example", "I", "which held-out example", "0"},
    {"head", "H", "which head of the last layer; -1: the one that looks most at the answer", "-1"},
    {"answer", "NAME", "which readout, where a task has several answers (qkv data TASK)", NULL},
    CLI_OPTION_AT,
    CLI_OPTION_WEIGHTS,
    CLI_OPTION_PLUGIN,
    {NULL, NULL, NULL, NULL}};

typedef struct {
    long example, head;
    const char *answer;
    cli_state state;
} request;

static int take_option(void *ctx, const char *name, const char *value) {
    request *r = ctx;
    bool taken;
    int code = cli_take_state("show", &r->state, name, value, &taken);
    if (taken) return code;
    if (strcmp(name, "answer") == 0) return r->answer = value, CLI_OK;
    long *to = strcmp(name, "head") == 0 ? &r->head : &r->example;
    if (qkv_io_parse_int(value, to) && *to >= (to == &r->head ? -1 : 0) && *to <= 2000000000)
        return CLI_OK;
    return cli_error(CLI_USAGE, "show", "--%s: '%s' is no number of %s", name, value,
                     strcmp(name, "head") == 0 ? "a head" : "an example");
}

/* One open run. */
typedef struct {
    qkv_trainer *t;
    qkv_trainer_worker *w;
    const data_spec *spec;
    tensor_arena *arena;
    int head, readout;
    bool colour;
} view;

static const char *bold(const view *v) { return v->colour ? "\033[1m" : ""; }
static const char *plain(const view *v) { return v->colour ? "\033[0m" : ""; }

static const char *position(const view *v, data_side_name side, int p, char *out, size_t size) {
    char word[128];
    return qkv_io_printable(data_position(&v->w->data, side, 0, p, word, sizeof word), out, size);
}

static const char *answer_text(const view *v, int id, char out[DATA_SYMBOL]) {
    if (id < 0) return strcpy(out, "-");
    char word[DATA_SYMBOL];
    return qkv_io_printable(data_answer(&v->spec->readout[v->readout], id, word), out, DATA_SYMBOL);
}

static void print_tokens(const view *v) {
    static const char *const names[DATA_SIDES] = {"sequence", "memory"};
    char text[128];
    for (int side = DATA_SIDES - 1; side >= 0; side--) {
        int column = 0;
        if (v->spec->side[side].T == 0) continue;
        printf("%-10s", names[side]);
        for (int p = 0; p < data_length(&v->w->data, (data_side_name)side, 0); p++) {
            position(v, (data_side_name)side, p, text, sizeof text);
            int n = (int)strlen(text) + 3;
            if (column && column + n > 68) printf("\n%-10s", ""), column = 0;
            printf("%s%s", column ? " | " : "", text);
            column += n;
        }
        printf("\n");
    }
}

static void print_table(const view *v, const qkv_probe_explanation *e) {
    char text[128], symbol[DATA_SYMBOL];
    printf("\n    %-22s %9s %9s %8s  %-10s %s\n", "position", "q.k", "score", "weight", "says",
           "|weight v|");
    for (int p = 0; p < e->S; p++) {
        const qkv_probe_step_of *s = &e->at[p];
        bool right = p == e->source;
        position(v, v->spec->store, p, text, sizeof text);
        if (!s->visible) {
            printf("    %2d %-19.19s %9s %9s %8s\n", p, text, "-", "hidden", "0");
            continue;
        }
        printf("%s%s %2d %-19.19s %9.3f %9.3f %8.3f  %-10.10s %.3f%s%s\n", right ? bold(v) : "",
               right ? " > " : "   ", p, text, s->product, s->score, s->weight,
               answer_text(v, s->says, symbol), s->length,
               p == e->question && v->spec->store == DATA_SEQUENCE ? "   (the question itself)"
               : p == e->distractor                                ? "   (the distractor)"
                                                                   : "",
               right ? plain(v) : "");
    }
}

static void print_answer(const view *v, const qkv_probe_explanation *e) {
    char said[DATA_SYMBOL], wanted[DATA_SYMBOL];
    answer_text(v, e->answer, said);
    answer_text(v, e->target, wanted);
    printf("\nAnswer");
    if (v->spec->n_readouts > 1) printf(" (%s)", v->spec->readout[v->readout].name);
    if (e->answer == e->target)
        printf(": %s%s%s, with probability %.3f. That is right.\n", bold(v), said, plain(v),
               e->confidence);
    else
        printf(": %s%s%s, with probability %.3f. Right would be %s.\n", bold(v), said, plain(v),
               e->confidence, wanted);
}

static bool explain(view *v, qkv_probe_explanation *out) {
    char error[QKV_IO_ERROR];
    if (qkv_probe_explain(v->t, v->arena, v->head, v->readout, out, error)) return true;
    cli_error(CLI_FAILED, "show", "%s", error);
    return false;
}

/* Exchanges the symbols of two positions of the store: of one stream, or with -1 whole words. */
static void exchange(view *v, int stream, int i, int j) {
    if (stream < 0)
        qkv_probe_words_swap(v->t, 0, i, j);
    else
        qkv_probe_swap(v->w->data.rows.ids[v->spec->store][stream], i, j);
}

/* The same example with two positions exchanged: a line for each of the two, and what followed. */
static bool print_change(view *v, const char *what, const qkv_probe_explanation *before, int stream,
                         int i, int j) {
    qkv_probe_explanation e;
    char text[128], said[DATA_SYMBOL];
    exchange(v, stream, i, j);
    bool ok = explain(v, &e);
    if (ok) {
        bool moved = e.at[j].weight > e.at[i].weight, changed = e.answer != before->answer;
        printf("\n%s of %d and %d exchanged: attention %s, the answer %s\n", what, i, j,
               moved ? "moves with them" : "stays", changed ? "changes" : "stays");
        for (int k = 0; k < 2; k++) {
            int p = k ? j : i;
            printf("    %2d %-19.19s  score %8.3f   weight %.3f\n", p,
                   position(v, v->spec->store, p, text, sizeof text), e.at[p].score,
                   e.at[p].weight);
        }
        printf("    answer %s, with probability %.3f\n", answer_text(v, e.answer, said),
               e.confidence);
    }
    exchange(v, stream, i, j);
    return ok;
}

/* The entry that is half of all entries away from entry i; -1: there is no other. */
static int entry_far_from(const view *v, int i, int key, int value) {
    int *const *ids = v->w->data.rows.ids[v->spec->store], n = 0, at = 0;
    for (int p = 0; p < v->spec->entries; p++)
        if (data_is_entry(v->spec, ids[key], ids[value], p)) at = p == i ? n : at, n++;
    if (n < 2) return -1;
    for (int p = 0, k = 0; p < v->spec->entries; p++)
        if (data_is_entry(v->spec, ids[key], ids[value], p) && k++ == (at + n / 2) % n) return p;
    return -1;
}

/* Keys, then values, of the right entry and another one exchanged; in coref the nouns, then their
 * colours; where there are only words, the answer and another one. */
static bool print_changes(view *v, const qkv_probe_explanation *e) {
    const data_spec *s = v->spec;
    bool sentence = strcmp(s->task->name, "coref") == 0 && s->side[DATA_SEQUENCE].n_streams == 2;
    int key = sentence ? 0 : s->roles.key, value = sentence ? 1 : s->roles.value, i = e->source;
    if (i < 0) return true;
    if ((key < 0 || value < 0) && !qkv_probe_words_missing(v->t) && v->readout == 0) {
        const int *class_of = data_answers_of_words(s, v->arena);
        int j = class_of ? qkv_probe_words_choose(v->t, class_of, 0, NULL).j : -1;
        return j < 0 || print_change(v, "The words", e, -1, i, j);
    }
    if (key < 0 || value < 0) return true;
    int j = e->distractor >= 0 ? e->distractor : entry_far_from(v, i, key, value);
    if (j < 0 || j == i) return true;
    return print_change(v, sentence ? "The nouns" : "The keys", e, key, i, j) &&
           print_change(v, sentence ? "The colours" : "The values", e, value, i, j);
}

/* Of a task with several answers: which one this is about, and how to see the others. */
static void print_other_answers(const view *v) {
    if (v->spec->n_readouts == 1) return;
    printf(", the answer %s (--answer", v->spec->readout[v->readout].name);
    for (int r = 0; r < v->spec->n_readouts; r++)
        printf("%s%s", r ? "|" : " ", v->spec->readout[r].name);
    printf(")");
}

static int show(view *v, const request *r) {
    const qkv_config *c = qkv_trainer_config(v->t);
    qkv_probe_explanation e;
    char text[128];
    qkv_trainer_load(v->t, v->w, "test", (uint64_t)r->example, 1, 1);
    if (v->head < 0) {  // the head with most weight on the answer
        double most = -1;
        int best = 0;
        for (v->head = 0; v->head < c->heads; v->head++) {
            if (!explain(v, &e)) return CLI_FAILED;
            if (e.source >= 0 && e.at[e.source].weight > most)
                most = e.at[e.source].weight, best = v->head;
        }
        v->head = best;
    }
    if (!explain(v, &e)) return CLI_FAILED;
    printf("Held-out example %ld of %s", r->example, v->spec->task->name);
    print_other_answers(v);
    printf("\n\n");
    print_tokens(v);
    position(v, DATA_SEQUENCE, e.question, text, sizeof text);
    printf(
        "\nThe question stands at %d: %s%s%s. Layer %d, head %d: q is its query; k and v are each "
        "position's own.\n",
        e.question, bold(v), text, plain(v), c->layers - 1, v->head);
    print_table(v, &e);
    print_answer(v, &e);
    return print_changes(v, &e) ? CLI_OK : CLI_FAILED;
}

int cli_show(int argc, char **argv) {
    request r = {.head = -1, .state = CLI_STATE_NEWEST};
    int first = 0;
    bool done;
    int code = cli_parse(argc, argv, options, take_option, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    if (argc - first != 1)
        return cli_error(CLI_USAGE, "show", "one run directory is needed, %d are given",
                         argc - first);
    qkv_run_progress progress;
    qkv_trainer *t = cli_open_run("show", argv[first], &r.state, true, &progress, &code);
    if (!t) return code;
    const char *no_colour = getenv("NO_COLOR");
    view v = {.t = t,
              .w = qkv_trainer_any_worker(t),
              .spec = qkv_trainer_spec(t),
              .arena = tensor_arena_new(NULL),
              .head = (int)r.head,
              .colour = cli_terminal(STDOUT_FILENO) && !(no_colour && *no_colour)};
    v.readout = cli_readout("show", v.spec, r.answer);
    code = v.readout < 0 ? CLI_USAGE
           : v.arena     ? show(&v, &r)
                         : cli_error(CLI_FAILED, "show", "out of memory");
    tensor_arena_free(v.arena);
    qkv_trainer_free(t);
    return code;
}
