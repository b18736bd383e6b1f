/* cmd_info.c - qkv info: a run's configuration, its parameters, and the account of its model. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/cli/info.h"
#include "train/cli/open.h"
#include "train/probe/look.h"

enum { WIDTH = 80, CELL = 25, VALUE = QKV_CONFIG_TEXT_SIZE + 8 };

typedef struct {
    bool json;
    cli_state state;
} request;

static const cli_option options[] = {
    CLI_OPTION_DATA(request, state),
    CLI_OPTION_PLUGIN(request, state.plugin, "the plugin with the run's task or block"),
    CLI_FLAG(request, json, "json", "one line of JSON"), CLI_END};

/* ---- the configuration ---- */

static bool same_value(const qkv_config *a, const qkv_config *b, const data_option *o) {
    char x[VALUE], y[VALUE];
    return strcmp(qkv_config_get(a, o, x, sizeof x), qkv_config_get(b, o, y, sizeof y)) == 0;
}

bool info_differs(const qkv_config *c, const data_option *o) {
    qkv_config other = *c;
    data_spec spec;
    char error[QKV_IO_ERROR];
    qkv_config_reset(&other, o);
    if (!qkv_config_resolve(&other, &spec, error)) return true;
    data_release(&spec);
    return !same_value(c, &other, o);
}

/* Is the option what its task recommends? */
static bool is_recommended(const qkv_config *c, const data_option *o) {
    qkv_config plain, r;
    char error[QKV_IO_ERROR];
    qkv_config_default(&plain);
    memcpy(plain.task, c->task, sizeof plain.task);
    qkv_config_use_plugin(&plain, c->plugin);
    r = plain;
    return qkv_config_recommend(&r, error) && !same_value(&plain, &r, o) && same_value(c, &r, o);
}

/* Prints words from column `at` on, later lines indented. */
static void print_words(const char *text, int at, int indent) {
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (at + 1 + n > WIDTH) at = printf("\n%*s", indent, "") - 1;
        at += printf(" %.*s", n, text);
        text += n + (text[n] == ' ');
    }
    printf("\n");
}

static void print_difference(const qkv_config *c, const data_option *o) {
    enum { INDENT = 31 };
    char value[VALUE], shown[VALUE], words[512];
    bool flag = o->kind == DATA_KIND_FLAG;
    qkv_io_printable(qkv_config_get(c, o, value, sizeof value), shown, sizeof shown);
    int n = printf("  --%s%s", flag && *shown == 'f' ? "no-" : "", o->option);
    if (!flag) n += printf(" %s", shown);
    snprintf(words, sizeof words, "%s%s", o->help,
             is_recommended(c, o) ? " (as the task recommends)" : "");
    if (n < INDENT)
        printf("%*s", INDENT - n, "");
    else
        printf("\n%*s", INDENT, "");
    print_words(words, INDENT, INDENT);
}

/* Every option and its value, several in a line: a long one takes more than one cell. */
static void print_all(const qkv_config *c) {
    int column = WIDTH, gap = 0;
    const data_option *o;
    printf("\nAll options");
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++) {
        char value[VALUE], shown[VALUE], item[QKV_CONFIG_TEXT_SIZE + 64];
        if (o->kind == DATA_KIND_SECTION) {
            printf("\n  %s", o->option);
            column = WIDTH;
            continue;
        }
        qkv_io_printable(qkv_config_get(c, o, value, sizeof value), shown, sizeof shown);
        int n = snprintf(item, sizeof item, "%s %s", o->option, *shown ? shown : "(none)");
        bool fits = column + gap + n < WIDTH;
        printf("%*s%s", fits ? gap : 0, "", fits ? "" : "\n    ");
        printf("%s", item);
        column = (fits ? column + gap : 4) + n;
        gap = CELL - n % CELL;
    }
    printf("\n");
}

static void print_config(const qkv_config *c) {
    const data_option *o;
    int n = 0;
    printf("\nWhat differs from the defaults\n");
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++) {
        if (o->kind == DATA_KIND_SECTION || !info_differs(c, o)) continue;
        print_difference(c, o);
        n++;
    }
    if (!n) printf("  nothing\n");
    print_all(c);
}

/* ---- the parameters ---- */

bool info_decays(const ag_param_entry *p) { return p->val.shape.rank >= 2 && !p->frozen; }

static void print_parameters(const info *i) {
    ag_params *params = qkv_trainer_params(i->t);
    const qkv_probe_account *a = &i->account;
    bool finite = true;
    printf("\nParameters                      shape          count      norm  decays  frozen\n");
    for (int k = 0; k < ag_params_count(params); k++) {
        const ag_param_entry *p = ag_params_at(params, k);
        char name[256], shape[TENSOR_SHAPE_TEXT];
        qkv_io_printable(p->name, name, sizeof name);
        finite = finite && isfinite(qkv_probe_norm(p->val.x, p->val.n));
        printf("  %-28s ", name);
        if (strlen(name) > 28) printf("\n%31s", "");
        cli_print("%-12s %8zu %9.4g  %-6s  %s\n", tensor_shape_text(p->val.shape, shape), p->val.n,
                  qkv_probe_norm(p->val.x, p->val.n), info_decays(p) ? "yes" : "no",
                  p->frozen ? "yes" : "no");
    }
    if (!finite) printf("  (norm -: the parameter has numbers that are not finite)\n");
    printf("  %-28s %-12s %8zu   %zu learn, %zu frozen\n", "all", "", a->total, a->learned,
           a->total - a->learned);
    cli_print("  (decays: shrunk by --weight-decay, which is %.9g here)\n",
              qkv_trainer_config(i->t)->weight_decay);
}

/* ---- the command ---- */

/* The run's latest weights; its initial ones where there is no checkpoint. An exit code. */
static int open_run(const char *run, const cli_state *state, info *out) {
    const qkv_run_opening o = cli_opening(run, state);
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    qkv_config c;
    data_spec spec;
    int skipped;
    qkv_io_status status = qkv_run_open_config(&cli_files, &o, &c, &spec, error);
    if (status != QKV_IO_OK) return cli_error(cli_code(status), "info", "%s", error);
    qkv_io_status f = qkv_run_latest(&cli_files, NULL, run, path, &skipped, error);
    bool readable = f == QKV_IO_OK || f == QKV_IO_ABSENT;
    if (readable) out->t = qkv_trainer_new(NULL, &c, &spec, 1, error);
    data_release(&spec);
    if (readable && !out->t) return cli_error(CLI_FAILED, "info", "%s", error);
    out->trained = f == QKV_IO_OK;
    out->progress = qkv_run_progress_start();
    if (out->trained) f = qkv_run_restore(&cli_files, out->t, &out->progress, path, error);
    if (out->trained && f == QKV_IO_OK && *error) cli_error(CLI_OK, "info", "note: %s", error);
    if (f == QKV_IO_OK || f == QKV_IO_ABSENT) return CLI_OK;
    return cli_error(cli_code(f), "info", "%s", error);
}

static void print_text(const info *i) {
    char shown[QKV_IO_PATH];
    printf("%s: ", qkv_io_printable(i->run, shown, sizeof shown));
    if (i->trained)
        printf("%d of %d steps done", i->progress.step, qkv_trainer_config(i->t)->steps);
    else
        printf("no checkpoint; the weights are the initial ones");
    if (i->progress.best_step >= 0)
        cli_print("; lowest held-out loss %.4g at step %d", i->progress.best_loss,
                  i->progress.best_step);
    printf("\n");
    print_config(qkv_trainer_config(i->t));
    print_parameters(i);
    info_print_account(i);
}

int cli_info(int argc, char **argv) {
    request r = {.state = {.at = QKV_RUN_NEWEST}};
    info i = {.t = NULL};
    const char *run;
    bool done;
    int code = cli_read_run(argc, argv, options, &r, &run, &done);
    if (code != CLI_OK || done) return code;
    i.run = run;
    code = open_run(i.run, &r.state, &i);
    if (code == CLI_OK) {
        qkv_probe_account_of(i.t, &i.account);
        (r.json ? info_print_json : print_text)(&i);
    }
    qkv_trainer_free(i.t);
    return code;
}
