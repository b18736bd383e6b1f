/* cmd_patch.c - qkv patch: which number carries the difference between two examples. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/cli/draw_maps.h"
#include "train/cli/json.h"
#include "train/cli/open.h"
#include "train/cli/progress.h"
#include "train/io/words.h"
#include "train/probe/look.h"
#include "train/probe/patching.h"

typedef struct {
    long clean, other;  // other -1: the first with another answer
    bool attribution, json;
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
    CLI_FLAG(request, attribution, "attribution",
             "beside each effect what a gradient says of it: on other, times the difference"),
    CLI_OPTIONS_STATE(request, state),
    CLI_FLAG(request, json, "json", "one line of JSON"),
    CLI_END};

enum { PARTS = QKV_PROBE_PATCHES, RESULT = QKV_PROBE_PATCH_RESULT, MOST_WRONG = 8 };
static const char *const parts[] = {"Q", "K", "V", "result"};

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

/* The maps of either kind of effect: the streams, then each part of the heads. */
static void add_maps(const qkv_probe_patching *p, bool linear, char (*word)[96], cli_maps *maps) {
    static const char *const titles[] = {"its queries", "its keys", "its values",
                                         "one head's result"};
    const qkv_probe_effects *e = linear ? &p->linear : &p->exact;
    const int n = p->n_sites * p->heads;
    const char *by = linear ? ", by gradient" : "";
    char row[64], title[64];
    cli_map_begin(maps);
    snprintf(title, sizeof title, "the stream after%s", by);
    for (int l = 0; l <= p->layers; l++)
        for (int t = 0; t < p->T; t++) {
            layer_name(l, row);
            cli_map_cell(maps, l, t, e->stream[l * p->T + t], row, word[t], title);
        }
    for (int part = RESULT, i; part >= 0; part--) {
        snprintf(title, sizeof title, "%s%s", titles[part], by);
        cli_map_begin(maps);
        for (i = 0; i < n * p->T; i++) {
            const qkv_probe_site *site = &p->site[i / p->T / p->heads];
            snprintf(row, sizeof row, "%.5s%d h%d",
                     site->name + (site->kind == QKV_PROBE_CROSS ? 7 : 0), site->layer,
                     i / p->T % p->heads);
            cli_map_cell(maps, i / p->T, i % p->T, e->head_at[part * n * p->T + i], row,
                         word[i % p->T], title);
        }
    }
}

/* A head's effect at all positions, and the position of the largest: "0.984 (8)". */
static void print_effect(const qkv_probe_patching *p, int i) {
    const double *at = p->exact.head_at + (ptrdiff_t)i * p->T;
    char cell[48];
    int most = 0;
    for (int t = 1; t < p->T; t++)
        if (at[t] > at[most]) most = t;
    const int n = qkv_io_words(cell, sizeof cell, "%6.3f", p->exact.head[i]);
    if (!isnan(at[0])) snprintf(cell + n, sizeof cell - (size_t)n, " (%d)", most);
    printf("%15s", cell);
}

static void print_text(const qkv_probe_patching *p, char (*clean)[96], char (*other)[96]) {
    const int n = p->n_sites * p->heads;
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
        for (int l = 0; l <= p->layers; l++) cli_print(" %9.3f", p->exact.stream[l * p->T + t]);
        printf("\n");
    }
    printf("\nOf one head, at all positions; in brackets the one where it matters most\n\n%-20s",
           "");
    for (int part = 0; part < PARTS; part++) printf("%15s", parts[part]);
    printf("\n");
    for (int i = 0; i < n; i++) {
        printf("%-13s head %d", p->site[i / p->heads].name, i % p->heads);
        for (int part = 0; part < PARTS; part++) print_effect(p, part * n + i);
        printf("\n");
    }
}

/* ---- attribution ---- */

/* Part k: the stream, then those of heads; how many numbers it has by position. */
static int part_of(const qkv_probe_patching *p, int k, const double **exact,
                   const double **linear) {
    const int n = p->n_sites * p->heads * p->T;
    *exact = k ? p->exact.head_at + (k - 1) * n : p->exact.stream;
    *linear = k ? p->linear.head_at + (k - 1) * n : p->linear.stream;
    return k ? n : (p->layers + 1) * p->T;
}

/* Where number i of part k stands: "layer0.attn head 1 K at 4". */
static void place_of(const qkv_probe_patching *p, int k, int i, char out[96]) {
    char stream[32];
    layer_name(i / p->T, stream);
    if (k == 0)
        snprintf(out, 96, "%s stream at %d", stream, i % p->T);
    else
        snprintf(out, 96, "%s head %d %s at %d", p->site[i / p->T / p->heads].name,
                 i / p->T % p->heads, parts[k - 1], i % p->T);
}

/* The wrong signs of a part, those of the largest effects first. */
static void print_wrong(const qkv_probe_patching *p, int k, int wrong) {
    const double *exact, *linear;
    char place[96];
    const int n = part_of(p, k, &exact, &linear);
    double below = (double)INFINITY;
    for (int shown = 0; shown < wrong && shown < MOST_WRONG; shown++) {
        int most = -1;
        for (int i = 0; i < n; i++)
            if (qkv_probe_wrong_sign(exact[i], linear[i]) && fabs(exact[i]) < below &&
                (most < 0 || fabs(exact[i]) > fabs(exact[most])))
                most = i;
        if (most < 0) return;  // equal ones are shown once
        place_of(p, k, most, place);
        printf("  %-36s", place);
        cli_print("%9.3f %9.3f\n", exact[most], linear[most]);
        below = fabs(exact[most]);
    }
    if (wrong > MOST_WRONG) printf("  and %d more\n", wrong - MOST_WRONG);
}

static void print_attribution(const qkv_probe_patching *p) {
    const int n = p->n_sites * p->heads;
    const double *exact, *linear;
    printf(
        "\nAttribution: the gradient on other times the difference, beside the exact effect; all "
        "positions\n\n%-20s",
        "");
    for (int part = 0; part < PARTS; part++) printf("%19s", parts[part]);
    printf("\n");
    for (int i = 0; i < n; i++) {
        printf("%-13s head %d", p->site[i / p->heads].name, i % p->heads);
        for (int part = 0; part < PARTS; part++)
            cli_print(" %9.3f%9.3f", p->exact.head[part * n + i], p->linear.head[part * n + i]);
        printf("\n");
    }
    printf("\nPosition by position\n\n%-10s %8s %12s %8s %12s\n", "", "numbers", "correlation",
           "seen", "wrong sign");
    for (int k = 0; k <= PARTS; k++) {
        const int numbers = part_of(p, k, &exact, &linear);
        const qkv_probe_agreement a = qkv_probe_agree(exact, linear, numbers);
        printf("%-10s %8d", k ? parts[k - 1] : "stream", a.n);
        cli_print(" %12.3f %8.3f", a.r, a.seen);
        printf(" %12d\n", a.wrong);
        print_wrong(p, k, a.wrong);
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

/* Adds what is known of one head's part. */
static void add_effect(const qkv_probe_patching *p, int i, bool attribution, json_t *to) {
    json_object_set_new(to, "recovered", cli_json_number(p->exact.head[i]));
    json_object_set_new(to, "at", numbers(p->exact.head_at + i * p->T, p->T));
    if (!attribution) return;
    json_object_set_new(to, "attribution", cli_json_number(p->linear.head[i]));
    json_object_set_new(to, "attribution_at", numbers(p->linear.head_at + i * p->T, p->T));
}

static json_t *heads_json(const qkv_probe_patching *p, bool attribution) {
    static const char *const names[] = {"q", "k", "v"};
    const int n = p->n_sites * p->heads;
    json_t *heads = json_array();
    for (int i = 0; i < n; i++) {
        json_t *head =
            json_pack("{s:s,s:i}", "site", p->site[i / p->heads].name, "head", i % p->heads);
        add_effect(p, RESULT * n + i, attribution, head);
        for (int part = 0; part < RESULT; part++) {
            json_t *of = json_object();
            add_effect(p, part * n + i, attribution, of);
            json_object_set_new(head, names[part], of);
        }
        json_array_append_new(heads, head);
    }
    return heads;
}

static json_t *agreement_json(const qkv_probe_patching *p) {
    static const char *const names[] = {"stream", "q", "k", "v", "result"};
    const double *exact, *linear;
    json_t *all = json_object();
    for (int k = 0; k <= PARTS; k++) {
        const int n = part_of(p, k, &exact, &linear);
        const qkv_probe_agreement a = qkv_probe_agree(exact, linear, n);
        json_t *wrong = json_array();
        char place[96];
        for (int i = 0; i < n; i++) {
            place_of(p, k, i, place);
            if (qkv_probe_wrong_sign(exact[i], linear[i]))
                json_array_append_new(wrong, json_string(place));
        }
        json_object_set_new(
            all, names[k],
            json_pack("{s:i,s:o,s:o,s:o}", "numbers", a.n, "correlation", cli_json_number(a.r),
                      "seen", cli_json_number(a.seen), "wrong_sign", wrong));
    }
    return all;
}

static json_t *streams_json(const qkv_probe_patching *p, const qkv_probe_effects *e) {
    json_t *stream = json_array();
    for (int l = 0; l <= p->layers; l++)
        json_array_append_new(stream, numbers(e->stream + l * p->T, p->T));
    return stream;
}

static void print_json(const qkv_probe_patching *p, int step, bool attribution) {
    json_t *o = json_object(), *paths = json_array();
    const int n = p->n_sites * p->heads;
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
    json_object_set_new(o, "stream", streams_json(p, &p->exact));
    if (attribution) {
        json_object_set_new(o, "stream_attribution", streams_json(p, &p->linear));
        json_object_set_new(o, "agreement", agreement_json(p));
    }
    json_object_set_new(o, "heads", heads_json(p, attribution));
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
        print_json(p, step, r->attribution);
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
        if (r->attribution) print_attribution(p);
        printf("\n");
    }
    if (!qkv_io_path(dir, run, "patch", error)) return cli_error(CLI_FAILED, "patch", "%s", error);
    add_maps(p, false, other, &maps);
    if (r->attribution) add_maps(p, true, other, &maps);
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
