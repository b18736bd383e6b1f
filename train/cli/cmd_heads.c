/* cmd_heads.c - qkv heads: what each head of a run looks at, says, reads, and is needed for. */
#include <math.h>
#include <stdio.h>

#include "train/cli/draw_maps.h"
#include "train/cli/heads_text.h"
#include "train/cli/json.h"
#include "train/cli/open.h"
#include "train/cli/progress.h"

typedef struct {
    long examples;
    bool json, no_ablation;
    const char *out;
    cli_state state;
} request;

static const cli_option options[] = {
    CLI_INT(request, examples, "examples", "N", 256, 2, 1000000, "held-out examples"),
    CLI_FLAG(request, no_ablation, "no-ablation", "leave out what costs the most time"),
    CLI_DIRECTORY(request, out, "out", "where the mean attention goes, as tables and a picture",
                  .def = "RUN/heads"),
    CLI_OPTIONS_STATE(request, state),
    CLI_FLAG(request, json, "json", "one line of JSON"),
    CLI_END};

/* The mean attention of each head, the first CLI_MAPS of them. */
static void add_maps(const qkv_probe_heads *h, cli_maps *maps) {
    for (int i = 0; i < h->n_sites * h->heads && maps->n < CLI_MAPS; i++) {
        const qkv_probe_site *site = &h->site[i / h->heads];
        const int head = i % h->heads;
        const int T = site->weights->val.shape.dim[2], S = site->weights->val.shape.dim[3];
        char title[160], jobs[80], row[16], col[16];
        cli_heads_jobs(h, i / h->heads, head, jobs, sizeof jobs);
        snprintf(title, sizeof title, "%s head %d%s%s", site->name, head, *jobs ? ": " : "", jobs);
        cli_map_begin(maps);
        for (int t = 0; t < T; t++)
            for (int s = 0; s < S; s++) {
                snprintf(row, sizeof row, "%d", t);
                snprintf(col, sizeof col, "%d", s);
                cli_map_cell(maps, t, s, (double)h->map[i / h->heads][(head * T + t) * S + s], row,
                             col, title);
            }
    }
}

static int report(const request *r, const cli_opened *run, const qkv_probe_heads *h,
                  const qkv_probe_head_circuits *c) {
    char shown[QKV_IO_PATH], dir[QKV_IO_PATH], error[QKV_IO_ERROR];
    cli_maps maps = {.arena = run->arena};
    cli_progress_end();
    if (r->json) {
        json_t *o = cli_heads_json(run->t, h, c);
        json_object_set_new(o, "step", json_integer(run->step));
        cli_print_json(o);
    } else {
        cli_print("%s after %d steps, %d held-out examples: ",
                  qkv_io_printable(run->run, shown, sizeof shown), run->step, h->examples);
        if (isnan(h->accuracy))
            cli_print("squared error %.4f\n", h->loss);
        else
            cli_print("accuracy %.2f %%\n", 100 * h->accuracy);
        cli_heads_print(run->t, h, c);
        printf("\n");
    }
    if (!qkv_io_path(dir, run->run, "heads", error))
        return cli_error(CLI_FAILED, "heads", "%s", error);
    add_maps(h, &maps);
    return cli_maps_draw(&maps, "heads", r->out ? r->out : dir, r->json);
}

static int look(void *asked, const cli_opened *run) {
    const request *r = asked;
    char error[QKV_IO_ERROR];
    const qkv_probe_heads_parts parts = {true, true, !r->no_ablation};
    qkv_probe_heads h;
    qkv_probe_head_circuits circuits;
    if (!qkv_probe_head_circuits_of(run->t, run->arena, &circuits))
        return qkv_trainer_fail(run->t, error), cli_error(CLI_FAILED, "heads", "%s", error);
    if (!qkv_probe_heads_of(run->t, "test", (int)r->examples, parts, run->arena, &h, error))
        return cli_error(CLI_FAILED, "heads", "%s", error);
    return report(r, run, &h, &circuits);
}

int cli_heads(int argc, char **argv) {
    request r = {0};
    const char *run;
    bool done;
    int code = cli_read_run(argc, argv, options, &r, &run, &done);
    if (code != CLI_OK || done) return code;
    r.state.silent = r.json;
    return cli_look_at("heads", run, &r.state, look, &r);
}
