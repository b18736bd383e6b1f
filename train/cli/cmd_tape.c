/* cmd_tape.c - qkv tape: one training step of one example, forward, backward and in its effect. */
#include <stdio.h>
#include <string.h>

#include "train/cli/json.h"
#include "train/cli/open.h"
#include "train/cli/progress.h"
#include "train/cli/tape.h"
#include "train/io/npy.h"

typedef enum { LIST, BACKWARD, NODE, WHY, WHY_GRAD, PATH, UPDATE } view;
static const char *const views[] = {"", "backward", "node", "why", "why-grad", "path", "update"};

typedef struct {
    view show;
    long example;
    const char *line, *answer, *npy, *what;  // NAME or NAME[I,J]
    bool train, as_trained, json, csv;
    cli_state state;
} request;

static int take_view(const char *command, const cli_option *o, const char *value, void *field) {
    request *r = (request *)(void *)((char *)field - offsetof(request, show));
    view show = BACKWARD;
    while (show < UPDATE && strcmp(o->name, views[show])) show++;
    if (r->show != LIST && r->show != show)
        return cli_error(CLI_USAGE, command, "--%s and --%s are two views, ask for one",
                         views[r->show], views[show]);
    r->show = show;
    r->what = value;
    return CLI_OK;
}

static const cli_option options[] = {
    CLI_HEADING("Which example"),
    CLI_INT(request, example, "example", "I", 0, 0, 2000000000,
            "which held-out example; with --train: which of the next batch", .without = "line"),
    CLI_TEXT(request, line, "line", "TEXT", "a line of your own: words => answer, or a text"),
    CLI_FLAG(request, train, "train", "an example of the next training batch", .without = "line"),
    CLI_TEXT(request, answer, "answer", "NAME",
             "which readout, where a task has several answers (qkv data TASK)"),
    CLI_HEADING("What to show, instead of the list of all nodes"),
    CLI_OWN(request, show, take_view, "backward", NULL, "the list in the order of backward"),
    CLI_OWN(request, show, take_view, "node", "NAME",
            "the value and the gradient of a node, with the example's words"),
    CLI_OWN(request, show, take_view, "why", "NAME[I,J]", "what a number is made of"),
    CLI_OWN(request, show, take_view, "why-grad", "NAME[I,J]", "what its gradient is made of"),
    CLI_OWN(request, show, take_view, "path", "NAME[I,J]",
            "from it up to the loss, by the largest part each time"),
    CLI_OWN(request, show, take_view, "update", NULL,
            "what the next training step does to the matrices and to this example"),
    CLI_HEADING("How"),
    CLI_FLAG(request, as_trained, "as-trained", "only the rows that training computes, not all"),
    CLI_FLAG(request, json, "json", "one line of JSON", .without = "csv"),
    CLI_FLAG(request, csv, "csv", "the table as CSV, whole"),
    CLI_DIRECTORY(request, npy, "npy",
                  "values and gradients of all nodes, or of --node, as files .npy"),
    CLI_OPTIONS_STATE(request, state),
    CLI_END};

/* ---- files ---- */

static bool write_npy(const char *dir, const ag_node *node, const char *ending, tensor x,
                      char *error) {
    char file[300], path[QKV_IO_PATH], number[16] = "";
    if (ag_find(node->graph, node->name) != node)  // a later one has its name
        snprintf(number, sizeof number, "#%d", node->index);
    snprintf(file, sizeof file, "%.200s%s%s.npy", node->name, number, ending);
    for (char *c = file; *c; c++)
        if (*c == '/') *c = '-';
    return qkv_io_path(path, dir, file, error) && qkv_io_npy_write(&cli_files, path, &x, error);
}

static int write_files(const cli_taped *v, const request *r, const ag_node *only) {
    char error[QKV_IO_ERROR], shown[QKV_IO_PATH];
    int n = 0;
    if (!qkv_io_make_directory(&cli_files, r->npy, error))
        return cli_error(CLI_FAILED, "tape", "%s", error);
    for (int i = 0; i < ag_count(v->tape.w->graph); i++) {
        const ag_node *node = ag_at(v->tape.w->graph, i);
        if (only && node != only) continue;
        tensor grad = node->val;
        grad.x = node->grad;
        if (!write_npy(r->npy, node, "", node->val, error) ||
            (node->has_grad && !write_npy(r->npy, node, ".grad", grad, error)))
            return cli_error(CLI_FAILED, "tape", "%s", error);
        n += 1 + node->has_grad;
    }
    if (!r->json && !r->csv)
        printf("%d files in %s\n", n, qkv_io_printable(r->npy, shown, sizeof shown));
    return CLI_OK;
}

/* ---- views ---- */

static json_t *about(const cli_taped *v) {
    json_t *o = json_object(), *words = json_array();
    char text[128];
    for (int p = 0; p < data_length(&v->tape.w->data, DATA_SEQUENCE, 0); p++)
        json_array_append_new(words, cli_json_text(data_position(&v->tape.w->data, DATA_SEQUENCE, 0,
                                                                 p, text, sizeof text)));
    json_object_set_new(o, "about", cli_json_text(v->head));
    json_object_set_new(o, "words", words);
    json_object_set_new(o, "asked", json_integer(v->tape.question));
    json_object_set_new(o, "loss", cli_json_number((double)v->tape.w->out.loss->val.x[0]));
    return o;
}

static int show_list(const cli_taped *v, const request *r) {
    const bool backward = r->show == BACKWARD;
    if (r->csv) return cli_tape_csv(cli_tape_nodes(v, backward)), CLI_OK;
    if (r->json) {
        json_t *o = about(v);
        json_object_set_new(o, "nodes", cli_tape_nodes(v, backward));
        return cli_print_json(o), CLI_OK;
    }
    cli_tape_print_example(v);
    cli_tape_print_nodes(v, backward);
    return CLI_OK;
}

static int show_node(const cli_taped *v, const request *r, const ag_node *node) {
    if (r->csv) return cli_tape_csv(cli_tape_numbers(v, node)), CLI_OK;
    if (r->json) {
        json_t *o = about(v);
        json_object_set_new(o, "node", cli_json_text(node->name));
        json_object_set_new(o, "numbers", cli_tape_numbers(v, node));
        return cli_print_json(o), CLI_OK;
    }
    cli_tape_print_example(v);
    cli_tape_print_node(v, node);
    return CLI_OK;
}

static int show_why(const cli_taped *v, const request *r, ag_node *node, size_t at) {
    ag_reasons why;
    char filled[400];
    const bool ok = r->show == WHY        ? ag_why(node, at, v->arena, &why)
                    : r->show == WHY_GRAD ? ag_why_grad(node, at, v->arena, &why)
                                          : ag_why_path(node, at, v->arena, &why);
    if (!ok) return cli_error(CLI_FAILED, "tape", "--%s: %s", views[r->show], why.wrong);
    if (r->csv) return cli_tape_csv(cli_tape_terms(v, &why)), CLI_OK;
    if (r->json) {
        json_t *o = about(v);
        json_object_set_new(o, "node", cli_json_text(node->name));
        json_object_set_new(o, "at", cli_tape_at(node, at));
        json_object_set_new(o, r->show == WHY ? "value" : "gradient", cli_json_number(why.value));
        if (r->show == WHY) {
            json_object_set_new(o, "formula", json_string(qkv_probe_tape_formula(node)));
            if (node->op)
                json_object_set_new(
                    o, "filled", json_string(cli_tape_filled(node, &why, filled, sizeof filled)));
            json_object_set_new(o, "together", json_boolean(why.together));
        }
        json_object_set_new(o, "terms", cli_tape_terms(v, &why));
        return cli_print_json(o), CLI_OK;
    }
    cli_tape_print_example(v);
    if (r->show == WHY) cli_tape_print_why(v, node, at, &why);
    if (r->show == WHY_GRAD) cli_tape_print_why_grad(v, node, at, &why);
    if (r->show == PATH) cli_tape_print_path(v, node, at, &why);
    return CLI_OK;
}

static json_t *measures(const double x[QKV_PROBE_TAPE_MEASURES]) {
    json_t *o = json_object();
    for (int m = 0; m < QKV_PROBE_TAPE_MEASURES; m++)
        json_object_set_new(o, qkv_probe_tape_measures[m], cli_json_number(x[m]));
    return o;
}

static int show_update(cli_taped *v, const request *r, int step) {
    char error[QKV_IO_ERROR], text[800];
    qkv_probe_tape_update u;
    if (!qkv_probe_tape_step(&v->tape, step, v->arena, &u, error))
        return cli_error(CLI_FAILED, "tape", "--update: %s", error);
    if (r->csv) return cli_tape_csv(cli_tape_parts(v, &u)), CLI_OK;
    if (r->json) {
        json_t *o = about(v);
        json_object_set_new(o, "method", json_string(u.method->name));
        json_object_set_new(o, "rate", cli_json_number(u.rate));
        json_object_set_new(o, "batch_loss", cli_json_number(u.loss));
        json_object_set_new(o, "grad_norm", cli_json_number(u.grad_norm));
        json_object_set_new(o, "before", measures(u.before));
        json_object_set_new(o, "after", measures(u.after));
        json_object_set_new(o, "together", measures(u.together));
        json_object_set_new(o, "parts", cli_tape_parts(v, &u));
        json_object_set_new(o, "taught",
                            cli_json_text(qkv_probe_tape_taught(&v->tape, &u, text, sizeof text)));
        return cli_print_json(o), CLI_OK;
    }
    cli_tape_print_example(v);
    cli_tape_print_update(v, &u);
    return CLI_OK;
}

static int show(cli_taped *v, const request *r, int step) {
    char error[QKV_IO_ERROR];
    size_t at = 0;
    ag_node *node = NULL;
    const bool of_node = r->show != LIST && r->show != BACKWARD && r->show != UPDATE;
    if (of_node &&
        !(node = qkv_probe_tape_find(&v->tape, r->what, r->show == NODE ? NULL : &at, error)))
        return cli_error(CLI_USAGE, "tape", "--%s: %s", views[r->show], error);
    if (!qkv_probe_tape_run(&v->tape, true, error))
        return cli_error(CLI_FAILED, "tape", "%s", error);
    cli_progress_end();
    if (r->npy) {
        const int code = write_files(v, r, node);
        if (code != CLI_OK || (!r->json && !r->csv)) return code;
    }
    if (r->show == LIST || r->show == BACKWARD) return show_list(v, r);
    if (r->show == NODE) return show_node(v, r, node);
    if (r->show == UPDATE) return show_update(v, r, step);
    return show_why(v, r, node, at);
}

/* ---- the example ---- */

static int load(cli_taped *v, const request *r, const char *run, int step) {
    char error[QKV_IO_ERROR], shown[200], which[160];
    const qkv_config *c = qkv_trainer_config(v->tape.t);
    const data_spec *s = qkv_trainer_spec(v->tape.t);
    uint64_t index = (uint64_t)r->example;
    if (!r->train && !r->line) {
        const int code = cli_has_example("tape", "example", v->tape.t, r->example);
        if (code != CLI_OK) return code;
    }
    if (r->train && r->example >= c->batch)
        return cli_error(CLI_USAGE, "tape", "--example: a batch has the examples 0 to %d",
                         c->batch - 1);
    if (r->train) index += (uint64_t)step * (uint64_t)c->batch;
    const bool ok = r->line
                        ? qkv_probe_tape_load_line(&v->tape, r->line, error)
                        : qkv_probe_tape_load(&v->tape, r->train ? "train" : "test", index, error);
    if (!ok)
        return cli_error(r->line ? CLI_USAGE : CLI_FAILED, "tape", "%s%s",
                         r->line ? "--line: " : "", error);
    snprintf(which, sizeof which,
             r->line    ? "a line of your own"
             : r->train ? "example %ld of the next training batch"
                        : "held-out example %ld",
             r->example);
    snprintf(v->head, sizeof v->head,
             "%s after %d steps, %s of %s, alone: loss scale 1, no dropout%s",
             qkv_io_printable(run, shown, sizeof shown), step, which, s->task->name,
             r->as_trained ? ", only the rows that training computes" : "");
    return CLI_OK;
}

static int tape(void *asked, const cli_opened *run) {
    const request *r = asked;
    char error[QKV_IO_ERROR];
    cli_taped v = {.arena = run->arena};
    const int readout = cli_readout("tape", qkv_trainer_spec(run->t), r->answer);
    if (readout < 0) return CLI_USAGE;
    if (r->show == UPDATE && r->state.weights)
        return cli_error(CLI_USAGE, "tape",
                         "--update needs the optimiser's moments, and a file of weights has none: "
                         "leave out --weights");
    if (!qkv_probe_tape_new(run->t, r->as_trained, run->arena, &v.tape, error))
        return cli_error(CLI_FAILED, "tape", "%s", error);
    v.tape.readout = readout;
    const int code = load(&v, r, run->run, run->step);
    return code == CLI_OK ? show(&v, r, run->step) : code;
}

int cli_tape(int argc, char **argv) {
    request r = {0};
    const char *run;
    bool done;
    int code = cli_read_run(argc, argv, options, &r, &run, &done);
    if (code != CLI_OK || done) return code;
    r.state.silent = r.json || r.csv;
    r.state.any_real = true;
    return cli_look_at("tape", run, &r.state, tape, &r);
}
