/* cmd_gradcheck.c - qkv gradcheck: is every backward the derivative of its forward?
 *
 * Finite differences need doubles, so the float program hands over to its twin, built from the
 * same source in double. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "autograd/gradcheck.h"
#include "train/cli/cli.h"
#include "train/cli/gradcheck_apart.h"
#include "train/cli/json.h"
#include "train/cli/progress.h"
#include "train/config/plugin.h"

typedef struct {
    const char *plugin;  // loaded by the program that checks
    bool json;
} request;

static const cli_option options[] = {
    CLI_FILE(request, plugin, "plugin", "your own ops, layers and blocks too"),
    CLI_FLAG(request, json, "json", "one line of JSON for each name"), CLI_END};

enum { MAX_SUBJECTS = 512 };

/* What can be checked: ops and layers, the built-in ones first. */
typedef struct {
    const char *kind, *name;
    const ag_op *op;  // NULL: made of ops
    ag_sample_fn *sample;
    bool has_kinks, own;  // own: a plugin's
} subject;

typedef struct {
    subject at[MAX_SUBJECTS];
    int n;
} subjects;

static void add(subjects *all, subject s) {
    if (all->n < MAX_SUBJECTS) all->at[all->n] = s;
    all->n++;
}

static void add_lists(subjects *all, const ag_op *const *ops, const nn_layer *layers) {
    for (; ops && *ops; ops++) add(all, (subject){"op", (*ops)->name, *ops, NULL, false, false});
    for (; layers && layers->name; layers++)
        add(all, (subject){"layer", layers->name, NULL, layers->sample, false, false});
}

static void collect(subjects *all, const qkv_config_plugin *plugin) {
    add_lists(all, ag_ops, nn_layers);
    if (!plugin) return;
    const int built_in = all->n;
    add_lists(all, plugin->ops, plugin->layers);
    for (const qkv_config_plugin_block *b = plugin->blocks; b && b->name; b++)
        add(all, (subject){"block", b->name, NULL, b->sample, b->has_kinks, false});
    for (int i = built_in; i < all->n && i < MAX_SUBJECTS; i++) all->at[i].own = true;
}

static bool wanted(const subject *s, int n, char **names) {
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], s->name) == 0) return true;
    return n == 0;
}

static int check_names(const subjects *all, int n, char **names) {
    const char *known[MAX_SUBJECTS + 1] = {NULL};
    for (int i = 0; i < all->n; i++) known[i] = all->at[i].name;
    for (int k = 0; k < n; k++) {
        bool found = false;
        for (int i = 0; i < all->n; i++) found |= strcmp(known[i], names[k]) == 0;
        if (found) continue;
        return cli_unknown("gradcheck", "no op, layer or block is called", names[k], known,
                           "qkv list ops, qkv list layers");
    }
    return CLI_OK;
}

static void print_row(const subject *s, const ag_check_report *r, bool json) {
    if (!json) {
        cli_print("%-6s %-18s %8d %12ld %13d %12.1e  %s\n", s->kind, s->name, r->samples,
                  r->coordinates, r->inconclusive, r->worst, r->passed ? "ok" : "WRONG");
        if (!r->passed) printf("       %s\n", r->reason);
        if (r->passed && 2 * r->unmoved > r->coordinates)
            printf("       %ld of %ld numbers of the inputs move nothing in y\n", r->unmoved,
                   r->coordinates);
        return;
    }
    json_t *o =
        json_pack("{s:s,s:s,s:i,s:I,s:I,s:i,s:o,s:b,s:s}", "kind", s->kind, "name", s->name,
                  "samples", r->samples, "coordinates", (json_int_t)r->coordinates, "unmoved",
                  (json_int_t)r->unmoved, "inconclusive", r->inconclusive, "worst",
                  cli_json_number(r->worst), "passed", r->passed, "reason", r->reason);
    cli_print_json(o);
}

static int check_all(const request *r, const subjects *all, int n, char **names) {
    int wrong = 0, checked = 0;
    long coordinates = 0;
    if (!r->json)
        printf("%-6s %-18s %8s %12s %13s %12s  %s\n", "", "", "samples", "coordinates",
               "inconclusive", "worst ratio", "verdict");
    for (int i = 0; i < all->n; i++) {
        const subject *s = &all->at[i];
        ag_check_report report;
        if (!wanted(s, n, names)) continue;
        cli_progress_begin("gradcheck", r->json);
        cli_progress_at(0, 0, s->name);
        wrong += !(s->own  ? cli_gradcheck_apart(s->op, s->sample, s->has_kinks, &report)
                   : s->op ? ag_gradcheck_op(s->op, &report)
                           : ag_gradcheck(s->sample, s->has_kinks, &report));
        checked++;
        coordinates += report.coordinates;
        cli_progress_end();
        print_row(s, &report, r->json);
    }
    if (!r->json)
        printf(
            "\n%d checked, %ld coordinates; the worst ratio is error / tolerance (1e-9 of the "
            "largest gradient + 1e-7 of\n"
            "the coordinate's own): below 1 is right. %d wrong.\n",
            checked, coordinates, wrong);
    return wrong ? CLI_GRADCHECK : CLI_OK;
}

/* Becomes "qkv-double" from the directory of this program. */
static int hand_over(char **argv) {
    char path[QKV_IO_PATH];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
    if (n < 0)
        return cli_error(CLI_FAILED, "gradcheck", "cannot find this program's own path: %s",
                         strerror(errno));
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "qkv-double");
    char **whole = argv - 1;  // main() passed argv + 1: the program's name stands before
    execv(path, whole);
    return cli_error(CLI_FAILED, "gradcheck", "cannot run '%s': %s", path, strerror(errno));
}

int cli_gradcheck(int argc, char **argv) {
    request r = {0};
    subjects all = {.n = 0};
    const qkv_config_plugin *plugin = NULL;
    int first = 0;
    bool done;
    int code = cli_read(argc, argv, options, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    if (sizeof(real) != sizeof(double)) return hand_over(argv);
    if (r.plugin) code = cli_load_plugin("gradcheck", r.plugin, &plugin);
    if (code != CLI_OK) return code;
    collect(&all, plugin);
    if (all.n > MAX_SUBJECTS)
        return cli_error(CLI_FAILED, "gradcheck",
                         "%d ops, layers and blocks; %d can be checked at once", all.n,
                         MAX_SUBJECTS);
    code = check_names(&all, argc - first, argv + first);
    return code == CLI_OK ? check_all(&r, &all, argc - first, argv + first) : code;
}
