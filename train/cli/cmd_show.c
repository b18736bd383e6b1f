/* cmd_show.c - qkv show: one example, step by step, for a reader of the formula. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/cli/open.h"
#include "train/cli/progress.h"
#include "train/cli/show.h"

typedef struct {
    long example, head;
    const char *answer, *change;
    cli_state state;
} request;

static const cli_option options[] = {
    CLI_INT(request, example, "example", "I", 0, 0, 2000000000, "which held-out example"),
    CLI_INT(request, head, "head", "H", -1, -1, 2000000000,
            "which head of the last layer; -1: the one that looks most at the answer"),
    CLI_TEXT(request, answer, "answer", "NAME",
             "which readout, where a task has several answers (qkv data TASK)"),
    CLI_TEXT(
        request, change, "change", "CHANGE",
        "I,J swaps two positions, NAME:I,J their symbols of one stream, I=WORD puts a word at one; "
        "default: the two swaps that tell most"),
    CLI_OPTIONS_STATE(request, state),
    CLI_END};

static const char *bold(const cli_shown *v) { return v->colour ? "\033[1m" : ""; }
static const char *plain(const cli_shown *v) { return v->colour ? "\033[0m" : ""; }

const char *cli_show_position(const cli_shown *v, data_side_name side, int p, char *out,
                              size_t size) {
    return data_position(&v->w->data, side, 0, p, out, size);
}

const char *cli_show_answer(const cli_shown *v, int id, char out[DATA_SYMBOL]) {
    if (id < 0) return strcpy(out, "-");
    return data_answer(&v->spec->readout[v->readout], id, out);
}

enum { PLACE = CLI_SHOW_PLACE, SAID = 10 };  // columns; of what a value says

static void print_table(const cli_shown *v, const qkv_probe_explanation *e) {
    char text[128], symbol[DATA_SYMBOL], place[PLACE * 4], said[SAID * 4];
    printf("\n    %-22s %9s %9s %8s  %-10s %s\n", "position", "q.k", "score", "weight", "says",
           "|weight v|");
    for (int p = 0; p < e->S; p++) {
        const qkv_probe_step_of *s = &e->at[p];
        bool right = p == e->source;
        cli_show_position(v, v->spec->store, p, text, sizeof text);
        qkv_io_fit(text, PLACE, place, sizeof place);
        if (!s->visible) {
            printf("    %2d %s %9s %9s %8s\n", p, place, "-", "hidden", "0");
            continue;
        }
        cli_print("%s%s %2d %s %9.3f %9.3f %8.3f  %s %.3f%s%s\n", right ? bold(v) : "",
                  right ? " > " : "   ", p, place, s->product, s->score, s->weight,
                  qkv_io_fit(cli_show_answer(v, s->says, symbol), SAID, said, sizeof said),
                  s->length,
                  p == e->question && v->spec->store == DATA_SEQUENCE ? "   (the question itself)"
                  : p == e->distractor                                ? "   (the distractor)"
                                                                      : "",
                  right ? plain(v) : "");
    }
}

static void print_answer(const cli_shown *v, const qkv_probe_explanation *e) {
    char said[DATA_SYMBOL], wanted[DATA_SYMBOL];
    cli_show_answer(v, e->answer, said);
    cli_show_answer(v, e->target, wanted);
    printf("\nAnswer");
    if (v->spec->n_readouts > 1) printf(" (%s)", v->spec->readout[v->readout].name);
    if (e->answer == e->target)
        cli_print(": %s%s%s, with probability %.3f. That is right.\n", bold(v), said, plain(v),
                  e->confidence);
    else
        cli_print(": %s%s%s, with probability %.3f. Right would be %s.\n", bold(v), said, plain(v),
                  e->confidence, wanted);
}

/* Of a task with several answers: which one this is about, and how to see the others. */
static void print_other_answers(const cli_shown *v) {
    if (v->spec->n_readouts == 1) return;
    printf(", the answer %s (--answer", v->spec->readout[v->readout].name);
    for (int r = 0; r < v->spec->n_readouts; r++)
        printf("%s%s", r ? "|" : " ", v->spec->readout[r].name);
    printf(")");
}

static int show(cli_shown *v, const request *r) {
    const qkv_config *c = qkv_trainer_config(v->t);
    qkv_probe_explanation e;
    char text[128];
    const int code = cli_has_change("show", v->t, r->example, r->change);  // before it prints
    if (code != CLI_OK) return code;
    qkv_trainer_load(v->t, v->w, "test", (uint64_t)r->example, 1, 1);
    if (v->head < 0) {  // the head with most weight on the answer
        double most = -1;
        int best = 0;
        for (v->head = 0; v->head < c->heads; v->head++) {
            if (!cli_show_explain(v, &e)) return CLI_FAILED;
            if (e.source >= 0 && e.at[e.source].weight > most)
                most = e.at[e.source].weight, best = v->head;
        }
        v->head = best;
    }
    if (!cli_show_explain(v, &e)) return CLI_FAILED;
    cli_progress_end();
    printf("Held-out example %ld of %s", r->example, v->spec->task->name);
    print_other_answers(v);
    printf("\n\n");
    cli_print_positions(v->spec, v->w);
    cli_show_position(v, DATA_SEQUENCE, e.question, text, sizeof text);
    printf(
        "\nThe question stands at %d: %s%s%s. Layer %d, head %d: q is its query; k and v are each "
        "position's own.\n",
        e.question, bold(v), text, plain(v), c->layers - 1, v->head);
    print_table(v, &e);
    print_answer(v, &e);
    return cli_show_changes(v, &e, r->change);
}

static int look(void *asked, const cli_opened *run) {
    const request *r = asked;
    const char *no_colour = getenv("NO_COLOR");
    cli_shown v = {.t = run->t,
                   .w = qkv_trainer_any_worker(run->t),
                   .spec = qkv_trainer_spec(run->t),
                   .arena = run->arena,
                   .head = (int)r->head,
                   .colour = cli_terminal(STDOUT_FILENO) && !(no_colour && *no_colour)};
    v.readout = cli_readout("show", v.spec, r->answer);
    const int code =
        v.readout < 0 ? CLI_USAGE : cli_has_example("show", "example", v.t, r->example);
    return code == CLI_OK ? show(&v, r) : code;
}

int cli_show(int argc, char **argv) {
    request r = {0};
    const char *run;
    bool done;
    int code = cli_read_run(argc, argv, options, &r, &run, &done);
    if (code != CLI_OK || done) return code;
    return cli_look_at("show", run, &r.state, look, &r);
}
