/* cmd_diff.c - qkv diff: where two runs part, and how far apart they are afterwards. Both are trained for
 * once more, side by side, from the first step that both have. */
#include <stdio.h>
#include <string.h>

#include "train/cli/diff.h"
#include "train/cli/json.h"
#include "train/cli/open.h"
#include "train/cli/progress.h"

typedef struct {
    long every, examples;
    cli_sheet_format format;
    cli_state state;
} request;

static const cli_option options[] = {
    CLI_INT(request, every, "every", "N", 0, 1, 1000000000, "steps of a row",
            .def = "a tenth of all"),
    CLI_INT(request, examples, "examples", "N", 512, 1, 10000000,
            "held-out examples that both answer"),
    CLI_SHEET_FORMATS(request, format),
    CLI_OPTION_DATA(request, state),
    CLI_OPTION_PLUGIN(request, state.plugin, "the plugin with the runs' task or block"),
    CLI_END};

/* ---- opening ---- */

static bool lay_out(diff_side *s) { return qkv_run_layout_init(&s->l, s->t, &s->none); }

static void close_side(diff_side *s) {
    qkv_run_layout_free(&s->l);
    qkv_trainer_free(s->t);
    s->l = (qkv_run_layout){0};
    s->t = NULL;
}

static int open_side(const request *r, diff_job *j, int i, int at) {
    diff_side *s = &j->of[i];
    cli_state state = r->state;
    qkv_run_progress progress;
    size_t length;
    int code = CLI_OK;
    state.at = at;
    state.silent = j->sheet.format == CLI_SHEET_JSON;
    close_side(s);
    if (!(s->t = cli_open_run("diff", s->dir, &state, true, &progress, &code))) return code;
    if (!lay_out(s)) return cli_error(CLI_FAILED, "diff", "out of memory");
    if (at != QKV_RUN_NEWEST) return CLI_OK;
    const char *from = qkv_trainer_config(s->t)->from;
    s->first = *from ? qkv_config_from_step(from, &length) : 0;
    s->last = progress.step;
    s->then = qkv_run_layout_checksum(&s->l, true);
    return CLI_OK;
}

/* Have both the same task, and parameters of the same shapes? Moments may differ. */
static int check_shapes(const diff_job *j) {
    const qkv_run_layout *a = &j->of[0].l, *b = &j->of[1].l;
    const data_spec *s = qkv_trainer_spec(j->of[0].t), *other = qkv_trainer_spec(j->of[1].t);
    if (s->task != other->task || s->side[0].T != other->side[0].T || s->scored != other->scored ||
        s->n_readouts != other->n_readouts)
        return cli_error(CLI_USAGE, "diff", "the runs learn different tasks");
    for (int k = 0; k < 2; k++)
        for (int i = QKV_RUN_LAYOUT_STATE; i < (k ? b : a)->n; i++) {
            const qkv_run_layout *l = k ? b : a, *o = k ? a : b;
            const qkv_io_stored *x = &l->tensor[i],
                                *y = qkv_io_stored_find(o->tensor, o->n, i, x->name);
            if (qkv_run_layout_is_moment(x->name)) continue;
            if (!y || y->rank != x->rank ||
                memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim))
                return cli_error(CLI_USAGE, "diff",
                                 "the models differ: '%.100s' of %s %s in the other one", x->name,
                                 j->of[k].shown, y ? "has another shape" : "is not");
        }
    return CLI_OK;
}

static int open_both(const request *r, diff_job *j) {
    int code = CLI_OK;
    for (int i = 0; i < 2 && code == CLI_OK; i++) code = open_side(r, j, i, QKV_RUN_NEWEST);
    if (code == CLI_OK) code = check_shapes(j);
    if (code != CLI_OK) return code;
    const diff_side *a = &j->of[0], *b = &j->of[1];
    j->first = a->first > b->first ? a->first : b->first;
    j->last = a->last < b->last ? a->last : b->last;
    if (j->first > j->last)
        return cli_error(CLI_USAGE, "diff", "steps %d to %d and %d to %d have none in common",
                         a->first, a->last, b->first, b->last);
    for (int i = 0; i < 2 && code == CLI_OK; i++) code = open_side(r, j, i, j->first);
    return code;
}

/* ---- side by side ---- */

static bool take_step(diff_job *j, int step, char *error) {
    for (int i = 0; i < 2; i++)
        if (!qkv_trainer_gradient(j->of[i].t, step, &j->of[i].s, error)) return false;
    const double a = j->of[0].s.loss, b = j->of[1].s.loss;
    if (j->loss_step < 0 && (a < b || a > b)) j->loss_step = step, j->loss[0] = a, j->loss[1] = b;
    for (int i = 0; i < 2; i++) qkv_trainer_update(j->of[i].t, step, &j->of[i].s);
    return true;
}

static int walk(diff_job *j) {
    char error[QKV_IO_ERROR];
    const int tenth = (j->last - j->first + 9) / 10, every = j->every ? j->every
                                                             : tenth  ? tenth
                                                                      : 1;
    j->circuits = true;
    tensor_arena *arena = tensor_arena_new(NULL);
    for (int i = 0; i < 2; i++)
        j->circuits =
            arena && qkv_probe_circuits_new(arena, j->of[i].t, &j->of[i].c) && j->circuits;
    bool ok = arena != NULL || qkv_io_fail(error, "out of memory");
    for (int step = j->first; ok; step++) {
        diff_look(j, step);
        if ((step - j->first) % every == 0 || step == j->last) ok = diff_row(j, step, error);
        if (step == j->last) break;
        ok = ok && take_step(j, step, error);
        cli_progress_at(step - j->first, j->last - j->first, "steps");
    }
    cli_progress_end();
    tensor_arena_free(arena);
    if (!ok)
        return cli_error(j->of[0].s.diverged || j->of[1].s.diverged ? CLI_DIVERGED : CLI_FAILED,
                         "diff", "%s", error);
    for (int i = 0; i < 2; i++)
        if (j->last == j->of[i].last && qkv_run_layout_checksum(&j->of[i].l, true) != j->of[i].then)
            cli_error(CLI_OK, "diff",
                      "note: trained for again %s does not end with the weights of its checkpoint: "
                      "another build or processor made it",
                      j->of[i].shown);
    return CLI_OK;
}

/* ---- what is said ---- */

/* "layer0.attn.wq[3,5]" */
static void name_number(const diff_job *j, char *out, size_t size) {
    const qkv_io_stored *x = &j->of[0].l.tensor[j->tensor];
    const size_t cols = x->rank == 2 ? (size_t)x->dim[1] : 0;
    if (cols)
        snprintf(out, size, "%s[%zu,%zu]", x->name, j->at / cols, j->at % cols);
    else
        snprintf(out, size, "%s[%zu]", x->name, j->at);
}

static bool are_equal(const diff_job *j) { return j->step < 0 && j->loss_step < 0; }

static void print_words(const diff_job *j) {
    char name[200];
    printf("A is %s, B is %s; steps %d to %d.\n", j->of[0].shown, j->of[1].shown, j->first,
           j->last);
    if (are_equal(j)) {
        printf("equal: the same losses, weights and moments in every step\n");
        return;
    }
    if (j->loss_step >= 0)
        cli_print("First other loss: that of step %d, %.9g in A and %.9g in B.\n", j->loss_step,
                  j->loss[0], j->loss[1]);
    if (j->step >= 0) {
        name_number(j, name, sizeof name);
        cli_print("First other state: after %d steps, %s is %.9g in A and %.9g in B.\n", j->step,
                  name, j->number[0], j->number[1]);
    }
    printf(
        "\nHeld-out losses; the share of answers that differ, and how far probabilities moved;\n"
        "of each map and matrix the distance |A - B| / |A|.\n\n");
}

static void print_json(diff_job *j) {
    char name[200];
    json_t *o = json_object();
    json_object_set_new(o, "a", cli_json_text(j->of[0].dir));
    json_object_set_new(o, "b", cli_json_text(j->of[1].dir));
    json_object_set_new(o, "from", json_integer(j->first));
    json_object_set_new(o, "to", json_integer(j->last));
    json_object_set_new(o, "equal", json_boolean(are_equal(j)));
    if (j->loss_step >= 0) json_object_set_new(o, "loss_step", json_integer(j->loss_step));
    if (j->step >= 0) {
        name_number(j, name, sizeof name);
        json_object_set_new(o, "step", json_integer(j->step));
        json_object_set_new(o, "number", cli_json_text(name));
        json_object_set_new(o, "number_a", cli_json_number(j->number[0]));
        json_object_set_new(o, "number_b", cli_json_number(j->number[1]));
    }
    json_object_set(o, "rows", j->sheet.rows);
    cli_print_json(o);
}

/* For people the steps stand side by side, if they are few. */
static void turn(cli_sheet *s) {
    enum { FEW = 12 };
    const char *what;
    json_t *ignored, *row;
    size_t i;
    cli_sheet turned = {.format = s->format};
    if (json_array_size(s->rows) > FEW) return;
    json_object_foreach(json_array_get(s->rows, 0), what, ignored) {
        if (strcmp(what, "step") == 0) continue;
        cli_sheet_row(&turned);
        cli_sheet_text(&turned, "step", what);
        json_array_foreach(s->rows, i, row)
            cli_sheet_text(&turned, json_string_value(json_object_get(row, "step")),
                           json_string_value(json_object_get(row, what)));
    }
    cli_sheet_free(s);
    *s = turned;
}

static void print(diff_job *j) {
    const bool text = j->sheet.format == CLI_SHEET_TEXT;
    if (j->sheet.format == CLI_SHEET_JSON) {
        print_json(j);
        return;
    }
    if (text) print_words(j);
    if (j->sheet.format != CLI_SHEET_CSV) turn(&j->sheet);
    if (!text || !are_equal(j)) cli_sheet_print(&j->sheet);
    if (text && !are_equal(j))
        printf("\nqkv plot %s %s draws both.\n", j->of[0].shown, j->of[1].shown);
}

int cli_diff(int argc, char **argv) {
    request r = {.state = {.at = QKV_RUN_NEWEST}};
    int first = 0;
    bool done;
    int code = cli_read(argc, argv, options, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    if (argc - first != 2)
        return cli_error(CLI_USAGE, "diff", "two run directories are needed, %d are given",
                         argc - first);
    diff_job j = {.every = (int)r.every,
                  .examples = (int)r.examples,
                  .loss_step = -1,
                  .step = -1,
                  .sheet = {.format = r.format}};
    for (int i = 0; i < 2; i++) {
        j.of[i].dir = argv[first + i];
        qkv_io_printable(j.of[i].dir, j.of[i].shown, sizeof j.of[i].shown);
    }
    code = open_both(&r, &j);
    if (code == CLI_OK) code = walk(&j);
    if (code == CLI_FAILED) code = CLI_USAGE;  // as diff(1): 1 says that they differ
    if (code == CLI_OK) print(&j);
    if (code == CLI_OK && !are_equal(&j)) code = CLI_FAILED;
    for (int i = 0; i < 2; i++) close_side(&j.of[i]);
    cli_sheet_free(&j.sheet);
    return code;
}
