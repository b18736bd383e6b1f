/* cmd_data.c - qkv data: examples of a task as a person reads them, and a check of what a task
 * promises. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "train/cli/data_check.h"
#include "train/cli/json.h"
#include "train/cli/progress.h"
#include "train/cli/settings.h"
#include "train/cli/train_summary.h"

typedef struct {
    cli_settings settings;
    long n;
    bool json, check;
    const char *split;
} request;

const cli_option cli_data_options[] = {
    CLI_HEADING("Examples"),
    CLI_OWN(request, settings, cli_settings_take, "seed", "N", "of the examples", .def = "1"),
    CLI_INT(request, n, "n", "N", 3, 1, 1000000, "how many examples", .without = "check"),
    CLI_CHOICE(request, split, "split", "train|valid|test|heldout", "of which split",
               .def = "train", .without = "check"),
    CLI_FLAG(request, check, "check", "prove on 10000 examples what the task promises"),
    CLI_OPTION_PLUGIN_LOADED(request, "your own tasks"),
    CLI_FLAG(request, json, "json", "a line of JSON for each example", .without = "check"),
    CLI_END};

static int configure(const request *r, const char *task, qkv_config *c, data_spec *spec) {
    char error[QKV_IO_ERROR];
    qkv_config_setting given[CLI_MAXOPTIONS + 1] = {{"task", task}};
    memcpy(given + 1, r->settings.given, (size_t)r->settings.n_given * sizeof *given);
    qkv_config_parts parts = {
        .plugin = r->settings.plugin, .given = given, .n_given = r->settings.n_given + 1};
    qkv_config_status s = qkv_config_make(&parts, c, spec, error);
    if (s == QKV_CONFIG_NO_TASK) return cli_unknown_task("data", task, c->plugin);
    if (s != QKV_CONFIG_OK) return cli_error(CLI_USAGE, "data", "%s", error);
    if (strcmp(r->split, "heldout") != 0 || spec->has_held_out) return CLI_OK;
    data_release(spec);
    return cli_error(CLI_USAGE, "data",
                     "--split heldout: this task holds nothing out (pairs does with --hold-out, "
                     "coref does)");
}

/* ---- showing ---- */

static void print_position(const data_batch *b, data_side_name side, int t) {
    char text[256];
    fputs(data_position(b, side, 0, t, text, sizeof text), stdout);
}

static void print_example(const data_spec *s, const data_batch *b, long number) {
    static const char *const names[DATA_SIDES] = {"sequence", "memory"};
    printf("example %ld\n", number);
    for (int side = DATA_SIDES - 1; side >= 0; side--) {
        if (s->side[side].T == 0) continue;
        printf("  %-9s", names[side]);
        for (int t = 0; t < data_length(b, (data_side_name)side, 0); t++) {
            printf("%s", t ? " | " : "");
            print_position(b, (data_side_name)side, t);
        }
        printf("\n");
    }
    for (int t = 0; t < s->side[DATA_SEQUENCE].T; t++)
        for (int r = 0; r < s->n_readouts; r++) {
            char answer[DATA_SYMBOL];
            if (b->rows.target[r][t] < 0) continue;
            printf("  asked at %d (", t);
            print_position(b, DATA_SEQUENCE, t);
            printf("): %s %s", s->readout[r].name,
                   data_answer(&s->readout[r], b->rows.target[r][t], answer));
            if (b->rows.source[r][t] >= 0) {
                printf(", which stands at %s%d (", s->store == DATA_MEMORY ? "memory " : "",
                       b->rows.source[r][t]);
                print_position(b, s->store, b->rows.source[r][t]);
                printf(")");
            }
            printf("\n");
        }
}

static json_t *numbers(const int *x, int n) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(list, json_integer(x[i]));
    return list;
}

static void print_json(const data_spec *s, const data_batch *b, long number) {
    static const char *const names[DATA_SIDES] = {"sequence", "memory"};
    json_t *o = json_pack("{s:I}", "example", (json_int_t)number);
    for (int side = 0; side < DATA_SIDES; side++) {
        json_t *streams = json_array();
        for (int i = 0; i < s->side[side].n_streams; i++)
            json_array_append_new(
                streams, json_pack("{s:s,s:o}", "stream", s->side[side].stream[i].name, "ids",
                                   numbers(b->rows.ids[side][i], s->side[side].T)));
        if (s->side[side].T)
            json_object_set_new(o, names[side], streams);
        else
            json_decref(streams);
    }
    json_t *readouts = json_array();
    for (int r = 0; r < s->n_readouts; r++)
        json_array_append_new(
            readouts, json_pack("{s:s,s:o,s:o}", "readout", s->readout[r].name, "targets",
                                numbers(b->rows.target[r], s->side[DATA_SEQUENCE].T), "sources",
                                numbers(b->rows.source[r], s->side[DATA_SEQUENCE].T)));
    json_object_set_new(o, "readouts", readouts);
    cli_print_json(o);
}

int cli_data(int argc, char **argv) {
    request r = {.json = false};
    qkv_config c;
    data_spec spec = {0};
    int first = 0;
    bool done = false;
    int code = cli_settings_begin(&r.settings, argc, argv, false, cli_data_options);
    if (code == CLI_OK) code = cli_read(argc, argv, r.settings.option, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    if (argc - first != 1)
        return cli_error(CLI_USAGE, "data", "one task is needed (qkv list tasks), %d are given",
                         argc - first);
    code = configure(&r, argv[first], &c, &spec);
    if (code != CLI_OK) return code;
    tensor_arena *arena = tensor_arena_new(NULL);
    data_batch one;
    if (!arena || !data_batch_new(arena, &spec, 1, &one)) {
        tensor_arena_free(arena);
        data_release(&spec);
        return cli_error(CLI_FAILED, "data", "out of memory");
    }
    if (!r.json) cli_facts_words(&c, &spec);
    r.n = data_at_most(&spec, r.split, (int)r.n);
    if (r.check) cli_progress_begin("data", r.json);
    if (r.check) code = cli_check_data(&c, &spec, &one);
    for (long e = 0; !r.check && e < r.n; e++) {
        data_fill(&one, (uint64_t)c.seed, r.split, (uint64_t)e, 1);
        if (one.wrong) code = cli_error(CLI_FAILED, "data", "the task is wrong: %s", one.wrong);
        if (one.wrong) break;
        (r.json ? print_json : print_example)(&spec, &one, e);
    }
    tensor_arena_free(arena);
    data_release(&spec);
    return code;
}
