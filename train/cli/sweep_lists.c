/* sweep_lists.c - options given to qkv sweep, as the definition of a sweep: one value is its base, a list
 * is in its grid. */
#include "train/cli/sweep_lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/config/plugin.h"
#include "train/io/number.h"

static int out_of_memory(void) { return cli_error(CLI_FAILED, "sweep", "out of memory"); }

/* "--task a,b" and "--task=a,b" with the first task alone: its options are those that are listed. A copy, or
 * NULL where there is nothing to cut. */
static char *first_task(const char *before, const char *argument) {
    const char *value = NULL;
    size_t n = strcspn(argument, "=");
    if (before && strcmp(before, "--task") == 0) value = argument;
    if (n == 6 && strncmp(argument, "--task=", 7) == 0) value = argument + 7;
    const char *comma = value ? strchr(value, ',') : NULL;
    return comma ? strndup(argument, (size_t)(comma - argument)) : NULL;
}

/* Shows the command's own options alone: those of a training are known, but not listed. */
static void leave_to_train(cli_settings *s, const cli_option *own) {
    int kept = 0;
    for (int i = 0; i < s->n_options; i++) {
        cli_option o = s->option[i];
        bool listed = false;
        for (const cli_option *k = own; k->name; k++) listed = listed || k->help == o.help;
        if (!listed) o.help = NULL;
        if (listed || *o.name) s->option[kept++] = o;
    }
    s->option[s->n_options = kept] = (cli_option)CLI_END;
}

int cli_sweep_options(cli_settings *s, int argc, char **argv, const cli_option *own) {
    char **cut = calloc((size_t)argc + 1, sizeof *cut),
         **copy = calloc((size_t)argc + 1, sizeof *copy);
    if (!cut || !copy) {
        free(copy);
        free(cut);
        return out_of_memory();
    }
    for (int i = 0; i < argc; i++) {
        copy[i] = first_task(i ? argv[i - 1] : NULL, argv[i]);
        cut[i] = copy[i] ? copy[i] : argv[i];
    }
    const int code = cli_settings_begin(s, argc, cut, true, own);
    if (code == CLI_OK) leave_to_train(s, own);
    for (int i = 0; i < argc; i++) free(copy[i]);
    free(copy);
    free(cut);
    return code;
}

static int append(json_t **list, const char *text) {
    if (!*list) *list = json_array();
    return json_array_append_new(*list, json_string(text)) == 0 ? CLI_OK : out_of_memory();
}

int cli_sweep_pair(const char *command, const cli_option *o, const char *names, void *field) {
    (void)command, (void)o;
    return append(&((cli_sweep_lists *)field)->pairs, names);
}
int cli_sweep_probe(const char *command, const cli_option *o, const char *name, void *field) {
    (void)command, (void)o;
    return append(&((cli_sweep_lists *)field)->probes, name);
}

void cli_sweep_lists_free(cli_sweep_lists *l) {
    json_decref(l->pairs);
    json_decref(l->probes);
}

/* ---- lists ---- */

/* The first task that is given decides which option a name means; the options of others are known, too. */
static const data_option *option_of(const qkv_config *c, const char *name) {
    const char *plain = strncmp(name, "no-", 3) == 0 ? name + 3 : name;
    const data_option *o = qkv_config_option_named(c, plain);
    const data_task *task;
    for (int i = 0; !o && (task = qkv_config_task_at(c->plugin, i)); i++)
        for (const data_option *k = task->options; !o && k && k->option; k++)
            if (strcmp(k->option, plain) == 0) o = k;
    return o;
}

static int choose_task(const cli_settings *s, qkv_config *c) {
    char error[QKV_IO_ERROR], name[64];
    qkv_config_default(c);
    qkv_config_use_plugin(c, s->plugin);
    for (int i = 0; i < s->n_given; i++) {
        if (strcmp(s->given[i].name, "task") != 0) continue;
        const char *value = s->given[i].value;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(value, ","), value);
        if (!qkv_config_set(c, qkv_config_option_find(c, "task"), name, error))
            return cli_error(CLI_USAGE, "sweep", "--task: %s", error);
        break;
    }
    return CLI_OK;
}

/* How many lines the file has that is given. */
static int count_lines(const cli_settings *s, long *n) {
    char error[QKV_IO_ERROR];
    const char *path = NULL;
    void *text = NULL;
    size_t bytes;
    for (int i = 0; i < s->n_given; i++)
        if (strcmp(s->given[i].name, "data") == 0) path = s->given[i].value;
    if (!path) return cli_error(CLI_USAGE, "sweep", "--without: ..n needs --data FILE");
    const qkv_io_status status =
        qkv_io_read_file(&cli_files, NULL, path, (size_t)1 << 30, &text, &bytes, error);
    if (status != QKV_IO_OK) return cli_error(cli_code(status), "sweep", "%s", error);
    *n = data_lines(text, bytes);
    tensor_malloc.release(NULL, text);
    return CLI_OK;
}

/* --without: "1..20", or "1..n" to the last line of the file, leaves out one line after the other; another
 * text is one value. */
static int add_lines(const cli_settings *s, const char *text, json_t *list) {
    char first[24];
    const char *dots = strstr(text, "..");
    long from = 0, to = 0;
    snprintf(first, sizeof first, "%.*s", (int)strcspn(text, "."), text);
    const bool to_end = dots && strcmp(dots, "..n") == 0;
    if (!dots) return json_array_append_new(list, json_string(text)) ? out_of_memory() : CLI_OK;
    if (to_end) {
        const int code = count_lines(s, &to);
        if (code != CLI_OK) return code;
    }
    if (!qkv_io_parse_int(first, &from) || (!to_end && !qkv_io_parse_int(dots + 2, &to)) ||
        from < 1 || to < from || to - from >= QKV_STUDY_CELLS)
        return cli_error(CLI_USAGE, "sweep",
                         "--without: '%s' is no range of lines, as 1..20 or 1..n", text);
    for (; from <= to; from++)
        if (json_array_append_new(list, json_sprintf("%ld", from))) return out_of_memory();
    return CLI_OK;
}

/* {"lr": [0.1, 0.01], ...} of all that was given, in order. */
static int list_values(const cli_settings *s, const qkv_config *c, json_t *lists) {
    char error[QKV_IO_ERROR];
    for (int i = 0; i < s->n_given; i++) {
        const char *name = s->given[i].name;
        const data_option *o = option_of(c, name);
        if (!o) return cli_error(CLI_USAGE, "sweep", "--%s: there is no such option", name);
        if (data_choice_index("from|from_checksum|moments", o->field) >= 0)
            return cli_error(CLI_USAGE, "sweep",
                             "--%s: the cells of a sweep begin at the start, not from a run", name);
        json_t *list = json_object_get(lists, o->field);
        if (!list) json_object_set_new(lists, o->field, list = json_array());
        const bool flag = o->kind == DATA_KIND_FLAG;
        if (strcmp(o->field, "without") == 0) {
            const int code = add_lines(s, s->given[i].value, list);
            if (code != CLI_OK) return code;
        } else if (!qkv_study_grid_add(list, o, flag ? NULL : s->given[i].value,
                                       strncmp(name, "no-", 3) != 0, error))
            return cli_error(CLI_USAGE, "sweep", "--%s: %s", name, error);
    }
    return CLI_OK;
}

/* Makes one list of those that are paired. */
static int pair(json_t *lists, const char *names, json_t *grid) {
    json_t *rows = json_array();
    char key[QKV_STUDY_VALUE] = "";
    for (const char *name = names;; name++) {
        char field[80];
        const size_t n = strcspn(name, ",");
        snprintf(field, sizeof field, "%.*s", (int)n, name);
        for (char *c = field; *c; c++)
            if (*c == '-') *c = '_';
        json_t *list = json_object_get(lists, field);
        if (json_array_size(list) < 2 || (*key && json_array_size(list) != json_array_size(rows))) {
            const size_t given = json_array_size(list), other = json_array_size(rows);
            json_decref(rows);
            return cli_error(CLI_USAGE, "sweep",
                             given < 2 ? "--pair: '%s' has no list of values"
                                       : "--pair: '%s' has %zu values, the one before it %zu",
                             field, given, other);
        }
        for (size_t i = 0; i < json_array_size(list); i++) {
            if (!*key) json_array_append_new(rows, json_array());
            json_array_append(json_array_get(rows, i), json_array_get(list, i));
        }
        snprintf(key + strlen(key), sizeof key - strlen(key), "%s%s", *key ? "," : "", field);
        json_object_del(lists, field);
        name += n;
        if (!*name) break;
    }
    if (!strchr(key, ',')) {
        json_decref(rows);
        return cli_error(CLI_USAGE, "sweep", "--pair: '%s' is one option; give two or more, as A,B",
                         names);
    }
    return json_object_set_new(grid, key, rows) == 0 ? CLI_OK : out_of_memory();
}

/* What is measured, too; where lines are left out in turn, what that does to each. */
static json_t *probes_of(const cli_sweep_lists *l, json_t *grid) {
    json_t *probes = l->probes ? json_copy(l->probes) : json_array(), *list;
    const char *field;
    bool lines = false;
    json_object_foreach(grid, field, list) lines = lines || strstr(field, "without");
    if (lines) json_array_append_new(probes, json_string("lines"));
    return probes;
}

static int divide(json_t *lists, const cli_sweep_lists *l, json_t *base, json_t *grid) {
    const char *field;
    json_t *list;
    for (size_t i = 0; i < json_array_size(l->pairs); i++) {
        const int code = pair(lists, json_string_value(json_array_get(l->pairs, i)), grid);
        if (code != CLI_OK) return code;
    }
    json_object_foreach(lists, field, list) {
        if (json_array_size(list) == 1)
            json_object_set(base, field, json_array_get(list, 0));
        else
            json_object_set(grid, field, list);
    }
    return CLI_OK;
}

int cli_sweep_define(const cli_sweep_lists *l, const cli_settings *s, json_t **definition) {
    qkv_config c;
    json_t *lists = json_object(), *base = json_object(), *grid = json_object();
    int code = choose_task(s, &c);
    if (code == CLI_OK) code = list_values(s, &c, lists);
    if (code == CLI_OK) code = divide(lists, l, base, grid);
    json_decref(lists);
    if (code != CLI_OK) {
        json_decref(base);
        json_decref(grid);
        return code;
    }
    *definition = json_object();
    json_object_set_new(*definition, "base", base);
    json_object_set_new(*definition, "grid", grid);
    json_object_set_new(*definition, "probes", probes_of(l, grid));
    return CLI_OK;
}
