/* settings.c - options of a run on a command line: which there are, and setting them. */
#include "train/cli/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- which there are ---- */

static char *keep(cli_settings *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static char *keep(cli_settings *s, const char *format, ...) {
    char *text = s->text + s->used;
    size_t room = sizeof s->text - s->used;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, room, format, args);
    va_end(args);
    s->used += (size_t)n < room ? (size_t)n + 1 : room - 1;
    return text;
}

static void add(cli_settings *s, cli_option o) {
    for (int i = 0; i < s->n_options; i++)
        if (*o.name && strcmp(s->option[i].name, o.name) == 0) return;
    if (s->n_options + 1 < CLI_MAXOPTIONS) s->option[s->n_options++] = o;
}

/* One of a run's options; a flag and its opposite. */
static void add_option(cli_settings *s, const data_option *of, const char *help, const char *def) {
    const bool flag = of->kind == DATA_KIND_FLAG;
    cli_option o = {of->option, flag ? NULL : of->argument, help, def, .take = cli_settings_take};
    add(s, o);
    if (!flag) return;
    o.name = keep(s, "no-%s", o.name);
    o.help = o.help ? "" : NULL;
    o.def = NULL;
    add(s, o);
}

/* The default that holds for this task: "2 for induction" where it recommends another one. */
static const char *default_of(cli_settings *s, const data_option *o, const qkv_config *plain,
                              const qkv_config *c) {
    char usual[QKV_CONFIG_TEXT_SIZE + 64], value[QKV_CONFIG_TEXT_SIZE + 64];
    if (strcmp(o->field, "task") == 0) return o->def;
    qkv_config_get(plain, o, usual, sizeof usual);
    qkv_config_get(c, o, value, sizeof value);
    const char *word = value;
    if (o->kind == DATA_KIND_FLAG) word = *value == 't' ? "yes" : "no";
    if (strcmp(usual, value) != 0) return keep(s, "%s for %s", word, c->task);
    return o->kind == DATA_KIND_REAL && o->def ? o->def : keep(s, "%s", word);
}

/* "Task induction (recommended: --layers 2 ...)" */
static const char *heading_of(cli_settings *s, const qkv_config *c) {
    char list[QKV_CONFIG_RECOMMENDED];
    qkv_config_recommended(c, list);
    return keep(s, "Task %s%s%s%s", c->task, *list ? " (recommended: " : "", list,
                *list ? ")" : "");
}

/* The options of one configuration, with help. */
static void add_shown(cli_settings *s, const qkv_config *plain, const qkv_config *c, bool model) {
    const data_option *o;
    bool begun = false;
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++) {
        if (!model && !o->of_task) continue;
        if (o->of_task && !begun) add(s, (cli_option)CLI_HEADING(heading_of(s, c)));
        begun = begun || o->of_task;
        if (o->kind == DATA_KIND_SECTION)
            add(s, (cli_option)CLI_HEADING(o->option));
        else
            add_option(s, o, o->help, default_of(s, o, plain, c));
    }
}

/* The options of other tasks are known, too: what they belong to can be said. */
static void add_others(cli_settings *s) {
    const data_task *task;
    for (int i = 0; (task = qkv_config_task_at(s->plugin, i)); i++)
        for (const data_option *o = task->options; o && o->option; o++)
            add_option(s, o, NULL, NULL);
}

static int list(cli_settings *s, const char *task, bool model, const cli_option *own) {
    char error[QKV_IO_ERROR];
    qkv_config plain, c;
    qkv_config_default(&plain);
    qkv_config_use_plugin(&plain, s->plugin);
    if (task && !qkv_config_set(&plain, qkv_config_option_find(&plain, "task"), task, error))
        return cli_error(CLI_USAGE, s->command, "--task: %s", error);
    if (!qkv_config_task(&plain)) return cli_unknown_task(s->command, task, s->plugin);
    c = plain;
    if (!qkv_config_recommend(&c, error)) return cli_error(CLI_FAILED, s->command, "%s", error);
    add_shown(s, &plain, &c, model);
    for (; own->name; own++) add(s, *own);
    add_others(s);
    s->option[s->n_options] = (cli_option)CLI_END;
    return CLI_OK;
}

/* ---- looking ahead ---- */

/* Does it name the option? Two letters are enough. */
static bool names(const char *argument, const char *option) {
    size_t n = strncmp(argument, "--", 2) == 0 ? strcspn(argument + 2, "=") : 0;
    return n >= 2 && n <= strlen(option) && strncmp(argument + 2, option, n) == 0;
}

/* The value that argv[i] gives to the option, or NULL. */
static const char *value_at(int argc, char **argv, int i, const char *option) {
    const char *word = argv[i] + 2;
    if (!names(argv[i], option)) return NULL;
    size_t n = strcspn(word, "=");
    return word[n] ? word + n + 1 : i + 1 < argc ? argv[i + 1] : NULL;
}

static bool names_a_task(const cli_settings *s, const char *word) {
    const data_task *task;
    for (int i = 0; (task = qkv_config_task_at(s->plugin, i)); i++)
        if (strcmp(task->name, word) == 0) return true;
    return false;
}

int cli_settings_begin(cli_settings *s, int argc, char **argv, bool model, const cli_option *own) {
    const char *task = NULL, *value;
    int n = 1, code = CLI_OK;
    *s = (cli_settings){.command = argv[0]};
    while (n < argc && strcmp(argv[n], "--") != 0) n++;
    for (int i = 1; i < n && code == CLI_OK; i++)
        if ((value = value_at(n, argv, i, "plugin")))
            code = cli_load_plugin(s->command, value, &s->plugin);
    for (int i = 1; i < n; i++) {
        if (model && (value = value_at(n, argv, i, "task"))) task = value;
        if (!model && !task && names_a_task(s, argv[i])) task = argv[i];
    }
    bool named = task || !model;  // else --data alone means the task that reads lines
    for (int i = 1; i < n; i++)   // by another run, too
        named =
            named || names(argv[i], "config") || names(argv[i], "from") || names(argv[i], "resume");
    for (int i = 1; i < n && !named && !task; i++)
        if (value_at(n, argv, i, "data")) code = cli_settings_note(s, "task", task = "file");
    return code == CLI_OK ? list(s, task, model, own) : code;
}

/* ---- what is given ---- */

int cli_settings_note(cli_settings *s, const char *name, const char *value) {
    if (s->n_given == CLI_MAXOPTIONS) return cli_error(CLI_USAGE, s->command, "too many options");
    s->given[s->n_given++] = (qkv_config_setting){name, value};
    return CLI_OK;
}

int cli_settings_take(const char *command, const cli_option *o, const char *value, void *field) {
    (void)command;
    return cli_settings_note(field, o->name, value);
}

int cli_settings_loaded(const char *command, const cli_option *o, const char *value, void *field) {
    (void)command, (void)o;
    ((cli_settings *)field)->plugin_file = value;
    return CLI_OK;
}

static const data_option *option_of(const qkv_config *c, const char *name) {
    return qkv_config_option_named(c, strncmp(name, "no-", 3) == 0 ? name + 3 : name);
}

int cli_settings_used(const cli_settings *s, const qkv_config *c, data_spec *spec) {
    char error[QKV_IO_ERROR];
    for (int i = 0; i < s->n_given; i++) {
        const data_option *o = option_of(c, s->given[i].name);
        if (o && !qkv_config_is_used(c, spec, o, error))
            return data_release(spec), cli_error(CLI_USAGE, s->command, "%s", error);
    }
    return CLI_OK;
}
