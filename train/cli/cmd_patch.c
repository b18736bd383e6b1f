/* cmd_patch.c - qkv patch: which number carries the difference between two examples. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/cli/draw_maps.h"
#include "train/cli/json.h"
#include "train/cli/open.h"
#include "train/cli/progress.h"
#include "train/probe/look.h"
#include "train/probe/patching.h"

typedef struct {
    long clean, other;  // other -1: the first with another answer
    bool json;
    const char *out;
    cli_state state;
} request;

static const cli_option options[] = {
    CLI_INT(request, clean, "clean", "I", 0, 0, 1000000000,
            "the held-out example whose values are put in"),
    CLI_INT(request, other, "other", "I", -1, 0, 1000000000,
            "the held-out example that the model reads; else the first with another answer",
            .def = ""),
    CLI_DIRECTORY(request, out, "out", "where the maps go, as tables and a picture",
                  .def = "RUN/patch"),
    CLI_OPTIONS_STATE(request, state),
    CLI_FLAG(request, json, "json", "one line of JSON"),
    CLI_END};

/* The example that is read: the one asked for, or the first that answers something else. */
static void choose_other(qkv_trainer *t, request *r) {
    uint64_t other = 0;
    if (r->other >= 0) return;
    r->other = qkv_probe_patching_other(t, "test", (uint64_t)r->clean, &other) ? (long)other : 0;
}

/* What stands at each of the first T positions of an example, in `out` [T][96]. */
static void words_of(qkv_trainer *t, long example, int T, char (*out)[96]) {
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    qkv_trainer_load(t, w, "test", (uint64_t)example, 1, 1);
    for (int at = 0; at < T; at++)
        data_position(&w->data, DATA_SEQUENCE, 0, at, out[at], sizeof out[at]);
}

static void layer_name(int l, char out[32]) {
    if (l == 0)
        snprintf(out, 32, "embedding");
    else
        snprintf(out, 32, "layer%d", l - 1);
}

static void add_maps(const qkv_probe_patching *p, char (*word)[96], cli_maps *maps) {
    char row[64];
    cli_map_begin(maps);
    for (int l = 0; l <= p->layers; l++)
        for (int t = 0; t < p->T; t++) {
            layer_name(l, row);
            cli_map_cell(maps, l, t, p->stream[l * p->T + t], row, word[t], "the stream after");
        }
    cli_map_begin(maps);
    for (int i = 0; i < p->n_sites * p->heads; i++)
        for (int t = 0; t < p->T; t++) {
            snprintf(row, sizeof row, "%.5s%d h%d",
                     p->site[i / p->heads].name +
                         (p->site[i / p->heads].kind == QKV_PROBE_CROSS ? 7 : 0),
                     p->site[i / p->heads].layer, i % p->heads);
            cli_map_cell(maps, i, t, p->head_at[i * p->T + t], row, word[t], "one head's result");
        }
}

static void print_text(const qkv_probe_patching *p, char (*clean)[96], char (*other)[96]) {
    char name[32], a[80], b[80];
    printf("%-4s %-20s %-20s", "at", "clean", "other");
    for (int l = 0; l <= p->layers; l++) {
        layer_name(l, name);
        printf(" %9s", name);
    }
    printf("\n");
    for (int t = 0; t < p->T; t++) {
        printf("%-4d %s %s", t, qkv_io_fit(clean[t], 20, a, sizeof a),
               qkv_io_fit(other[t], 20, b, sizeof b));
        for (int l = 0; l <= p->layers; l++) cli_print(" %9.3f", p->stream[l * p->T + t]);
        printf("\n");
    }
    printf("\nOne head's result, at all positions; and where it matters most\n\n");
    for (int i = 0; i < p->n_sites * p->heads; i++) {
        int at = 0;
        for (int t = 1; t < p->T; t++)
            if (p->head_at[i * p->T + t] > p->head_at[i * p->T + at]) at = t;
        cli_print("%-13s head %d %9.3f", p->site[i / p->heads].name, i % p->heads, p->head[i]);
        if (p->site[i / p->heads].rows == DATA_SEQUENCE)
            cli_print("    at %d: %.3f", at, p->head_at[i * p->T + at]);
        printf("\n");
    }
}

static void print_paths(const qkv_probe_patching *p) {
    const int n = p->n_sites * p->heads;
    bool any = false;
    if (p->no_path) printf("\nPaths between heads: not defined, %s.\n", p->no_path);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            const double x[3] = {p->path[a * n + b], p->path[(n + a) * n + b],
                                 p->path[(2 * n + a) * n + b]};
            if (isnan(x[0]) && isnan(x[1]) && isnan(x[2])) continue;
            if (!any)
                printf("\nOne head's result as another alone reads it\n\n%-43s%9s%10s%10s\n", "",
                       "Q", "K", "V");
            any = true;
            printf("%-13s head %d -> %-13s head %d", p->site[a / p->heads].name, a % p->heads,
                   p->site[b / p->heads].name, b % p->heads);
            for (int i = 0; i < 3; i++) cli_print("%10.3f", x[i]);
            printf("\n");
        }
}

static json_t *numbers(const double *x, int n) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(list, cli_json_number(x[i]));
    return list;
}

static void print_json(const qkv_probe_patching *p, int step) {
    json_t *o = json_object(), *stream = json_array(), *heads = json_array(), *paths = json_array();
    const int n = p->n_sites * p->heads;
    for (int l = 0; l <= p->layers; l++)
        json_array_append_new(stream, numbers(p->stream + l * p->T, p->T));
    for (int i = 0; i < n; i++) {
        json_t *head =
            json_pack("{s:s,s:i}", "site", p->site[i / p->heads].name, "head", i % p->heads);
        json_object_set_new(head, "recovered", cli_json_number(p->head[i]));
        json_object_set_new(head, "at", numbers(p->head_at + i * p->T, p->T));
        json_array_append_new(heads, head);
    }
    for (int i = 0; i < 3 * n * n; i++)
        if (isfinite(p->path[i]))
            json_array_append_new(
                paths,
                json_pack("{s:s,s:i,s:s,s:i,s:s#,s:o}", "from", p->site[i / n % n / p->heads].name,
                          "from_head", i / n % n % p->heads, "to", p->site[i % n / p->heads].name,
                          "to_head", i % n % p->heads, "through", &"qkv"[i / n / n], 1, "recovered",
                          cli_json_number(p->path[i])));
    json_object_set_new(o, "step", json_integer(step));
    json_object_set_new(o, "position", json_integer(p->position));
    json_object_set_new(o, "clean", cli_json_number(p->clean));
    json_object_set_new(o, "other", cli_json_number(p->other));
    json_object_set_new(o, "stream", stream);
    json_object_set_new(o, "heads", heads);
    json_object_set_new(o, "paths", paths);
    cli_print_json(o);
}

static int report(const request *r, const char *run, int step, qkv_trainer *t,
                  const qkv_probe_patching *p, tensor_arena *arena) {
    char dir[QKV_IO_PATH], error[QKV_IO_ERROR], answer[2][DATA_SYMBOL];
    char(*clean)[96] = tensor_arena_take(arena, (size_t)p->T, sizeof *clean);
    char(*other)[96] = tensor_arena_take(arena, (size_t)p->T, sizeof *other);
    cli_maps maps = {.arena = arena};
    if (!clean || !other) return cli_error(CLI_FAILED, "patch", "out of memory");
    words_of(t, r->clean, p->T, clean);
    words_of(t, r->other, p->T, other);
    const data_readout *readout = &qkv_trainer_spec(t)->readout[0];
    cli_progress_end();
    if (r->json) {
        print_json(p, step);
    } else {
        const char *a = data_answer(readout, p->clean_answer, answer[0]),
                   *b = data_answer(readout, p->other_answer, answer[1]);
        char shown[QKV_IO_PATH];
        printf("%s after %d steps\n", qkv_io_printable(run, shown, sizeof shown), step);
        cli_print(
            "Clean is held-out example %ld, other %ld. Asked at position %d, clean's answer is "
            "'%s', the\nother's '%s'. logit('%s') - logit('%s') is %.2f on clean and %.2f on "
            "other. How much of the\nway from other to clean one part's value from clean leads "
            "back (0: nothing, 1: all):\n\n",
            r->clean, r->other, p->position, a, b, a, b, p->clean, p->other);
        print_text(p, clean, other);
        print_paths(p);
        printf("\n");
    }
    if (!qkv_io_path(dir, run, "patch", error)) return cli_error(CLI_FAILED, "patch", "%s", error);
    add_maps(p, other, &maps);
    return cli_maps_draw(&maps, "patch", r->out ? r->out : dir, r->json);
}

static int patch(request *r, const char *run, int step, qkv_trainer *t, tensor_arena *arena) {
    char error[QKV_IO_ERROR];
    qkv_probe_patching p;
    int code = cli_has_example("patch", "clean", t, r->clean);
    if (code == CLI_OK) code = cli_has_example("patch", "other", t, r->other);
    if (code != CLI_OK) return code;
    choose_other(t, r);
    if (!qkv_probe_patching_of(t, "test", (uint64_t)r->clean, (uint64_t)r->other, arena, &p, error))
        return cli_error(CLI_FAILED, "patch", "%s", error);
    return report(r, run, step, t, &p, arena);
}

int cli_patch(int argc, char **argv) {
    request r = {0};
    qkv_run_progress progress;
    const char *run;
    bool done;
    int code = cli_read_run(argc, argv, options, &r, &run, &done);
    if (code != CLI_OK || done) return code;
    r.state.silent = r.json;
    qkv_trainer *t = cli_open_run("patch", run, &r.state, true, &progress, &code);
    if (!t) return code;
    tensor_arena *arena = tensor_arena_new(NULL);
    code = arena ? patch(&r, run, progress.step, t, arena)
                 : cli_error(CLI_FAILED, "patch", "out of memory");
    tensor_arena_free(arena);
    qkv_trainer_free(t);
    return code;
}
