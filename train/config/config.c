/* config.c - the options as a table; setting and showing them. */
#include "train/config/config.h"

#include <stdio.h>
#include <string.h>

#include "train/config/plugin.h"
#include "train/io/given.h"
#include "train/io/number.h"

#define FIELD(field_, option_) \
    .field = #field_, .option = (option_), .offset = offsetof(qkv_config, field_)
const data_option qkv_config_options[] = {
#define SECTION(title) {.kind = DATA_KIND_SECTION, .field = "", .option = (title)},
#define TEXT(field_, option_, def_, argument_, ...) \
    {.kind = DATA_KIND_TEXT,                        \
     FIELD(field_, option_),                        \
     .def = def_,                                   \
     .argument = argument_,                         \
     .greatest = QKV_CONFIG_TEXT_SIZE,              \
     .help = __VA_ARGS__},
#define INT(field_, option_, def_, least_, greatest_, argument_, ...) \
    {.kind = DATA_KIND_INT,                                           \
     FIELD(field_, option_),                                          \
     .def = #def_,                                                    \
     .number = def_,                                                  \
     .argument = argument_,                                           \
     .least = least_,                                                 \
     .greatest = greatest_,                                           \
     .help = __VA_ARGS__},
#define REAL(field_, option_, def_, least_, greatest_, argument_, ...) \
    {.kind = DATA_KIND_REAL,                                           \
     FIELD(field_, option_),                                           \
     .def = #def_,                                                     \
     .number = def_,                                                   \
     .argument = argument_,                                            \
     .least = least_,                                                  \
     .greatest = greatest_,                                            \
     .help = __VA_ARGS__},
#define CHOICE(field_, option_, def_, choices_, ...) \
    {.kind = DATA_KIND_CHOICE,                       \
     FIELD(field_, option_),                         \
     .def = def_,                                    \
     .argument = TENSOR_WORDS(choices_),             \
     .choices = TENSOR_WORDS(choices_),              \
     .help = __VA_ARGS__},
#define FLAG(field_, option_, def_, ...) \
    {.kind = DATA_KIND_FLAG,             \
     FIELD(field_, option_),             \
     .def = #def_,                       \
     .number = def_,                     \
     .argument = "",                     \
     .help = __VA_ARGS__},
#include "train/config/config.def"
    DATA_END};

static const data_option *table_of_task(const qkv_config *c) {
    const data_task *task = qkv_config_task(c);
    return task ? task->options : NULL;
}

static int length(const data_option *table) {
    int n = 0;
    while (table && table[n].option) n++;
    return n;
}

const data_option *qkv_config_option_at(const qkv_config *c, int i) {
    enum { BEFORE = 2 };  // the section "Task" and the option "task"
    const data_option *own = table_of_task(c), *o;
    int n = length(own);
    if (i < BEFORE) return &qkv_config_options[i];
    o = i < BEFORE + n ? &own[i - BEFORE] : &qkv_config_options[i - n];
    return o->option ? o : NULL;
}

const data_option *qkv_config_option_find(const qkv_config *c, const char *field) {
    const data_option *o = data_option_find(qkv_config_options, field);
    return o ? o : data_option_find(table_of_task(c), field);
}

const data_option *qkv_config_option_named(const qkv_config *c, const char *option) {
    const data_option *o;
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++)
        if (o->kind != DATA_KIND_SECTION && strcmp(o->option, option) == 0) return o;
    return NULL;
}

/* The struct in which the option's field lies. */
static const void *fields_of(const qkv_config *c, const data_option *o) {
    return o->of_task ? (const void *)c->of_task.byte : (const void *)c;
}
static void *fields_to_set(qkv_config *c, const data_option *o) {
    return o->of_task ? (void *)c->of_task.byte : (void *)c;
}

bool qkv_config_choose(qkv_config *c, const char *field, double x) {
    const data_option *o = qkv_config_option_find(c, field);
    return o && data_option_set(o, fields_to_set(c, o), x);
}

/* The options of a task that has just been chosen begin at their defaults. */
static void begin_task(qkv_config *c) { data_options_reset(table_of_task(c), &c->of_task); }

void qkv_config_reset(qkv_config *c, const data_option *o) {
    char *fields = fields_to_set(c, o);
    data_option_reset(o, fields);
    if (fields + o->offset == c->task) begin_task(c);
}

void qkv_config_use_plugin(qkv_config *c, const qkv_config_plugin *plugin) {
    c->plugin = plugin;
    begin_task(c);
}

void qkv_config_default(qkv_config *c) {
    memset(c, 0, sizeof *c);
    for (const data_option *o = qkv_config_options; o->option; o++) qkv_config_reset(c, o);
    qkv_config_use_plugin(c, NULL);
}

static bool set_number(void *field, const data_option *o, const char *text, char *error) {
    long whole = 0;
    double x = 0;
    bool is_int = o->kind == DATA_KIND_INT;
    char least[QKV_IO_NUMBER], greatest[QKV_IO_NUMBER];
    bool read = is_int ? qkv_io_parse_int(text, &whole) : qkv_io_parse_real(text, &x);
    if (is_int ? !qkv_io_is_whole(text) : !qkv_io_is_real(text))
        return qkv_io_fail(error, "'%.60s' is not a %s", text, is_int ? "whole number" : "number");
    if (is_int) x = (double)whole;
    if (!read || !(x >= o->least && x <= o->greatest))  // not read: too large or small a number
        return qkv_io_fail(error, "%.60s is not between %s and %s", text,
                           qkv_io_format_real(o->least, 12, least),
                           qkv_io_format_real(o->greatest, 12, greatest));
    if (is_int)
        *(int *)field = (int)whole;
    else
        *(double *)field = x;
    return true;
}

static bool set_text(qkv_config *c, char *field, const data_option *o, const char *text,
                     char *error) {
    if (strlen(text) >= (size_t)o->greatest)
        return qkv_io_fail(error, "longer than %d characters", (int)o->greatest - 1);
    bool another_task = field == c->task && strcmp(field, text) != 0;
    strcpy(field, text);
    if (another_task) begin_task(c);
    return true;
}

bool qkv_config_set(qkv_config *c, const data_option *o, const char *text, char *error) {
    if (!QKV_IO_GIVEN(error, c, o, text)) return false;
    void *field = (char *)fields_to_set(c, o) + o->offset;
    int index;
    switch (o->kind) {
        case DATA_KIND_INT:
        case DATA_KIND_REAL: return set_number(field, o, text, error);
        case DATA_KIND_CHOICE:
            if ((index = data_choice_index(o->choices, text)) >= 0)
                return *(int *)field = index, true;
            return qkv_io_fail(error, "'%.60s' is none of %s", text, o->choices);
        case DATA_KIND_FLAG:
            if ((index = data_choice_index("false|true", text)) >= 0)
                return *(bool *)field = index, true;
            return qkv_io_fail(error, "'%.60s' is neither true nor false", text);
        case DATA_KIND_FILE:
        case DATA_KIND_TEXT: return set_text(c, field, o, text, error);
        case DATA_KIND_SECTION: break;
    }
    return false;
}

char *qkv_config_get(const qkv_config *c, const data_option *o, char *out, size_t size) {
    const void *field = (const char *)fields_of(c, o) + o->offset;
    char number[QKV_IO_NUMBER];
    const char *word = o->choices;
    switch (o->kind) {
        case DATA_KIND_INT: snprintf(out, size, "%d", *(const int *)field); break;
        case DATA_KIND_REAL:
            snprintf(out, size, "%s", qkv_io_format_exact(*(const double *)field, number));
            break;
        case DATA_KIND_FLAG:
            snprintf(out, size, "%s", *(const bool *)field ? "true" : "false");
            break;
        case DATA_KIND_FILE:
        case DATA_KIND_TEXT: snprintf(out, size, "%s", (const char *)field); break;
        case DATA_KIND_CHOICE:
            for (int i = *(const int *)field; i > 0; i--) word += strcspn(word, "|") + 1;
            snprintf(out, size, "%.*s", (int)strcspn(word, "|"), word);
            break;
        case DATA_KIND_SECTION: out[0] = '\0';
    }
    return out;
}

double qkv_config_number(const qkv_config *c, const data_option *o) {
    return data_option_number(o, fields_of(c, o));
}

/* "--pairs, --keys": what the task has. */
static void list_options(const data_task *task, char *out, size_t size) {
    size_t n = 0;
    snprintf(out, size, "no options of its own");
    for (const data_option *o = task->options; o && o->option && n < size; o++)
        n += (size_t)snprintf(out + n, size - n, "%s--%s", n ? ", " : "", o->option);
}

bool qkv_config_unknown(const qkv_config *c, const char *name, char *error) {
    if (!QKV_IO_GIVEN(error, c, name)) return false;
    const data_task *own = qkv_config_task(c), *task;
    const char *option = name;
    char owners[128] = "", has[256];
    size_t n = 0;
    int several = 0;
    for (int i = 0; own && (task = qkv_config_task_at(c->plugin, i)); i++)
        for (const data_option *o = task->options; o && o->option && n < sizeof owners; o++)
            if (strcmp(o->field, name) == 0 || strcmp(o->option, name) == 0)
                option = o->option, n += (size_t)snprintf(owners + n, sizeof owners - n, "%s%s",
                                                          several++ ? ", " : "", task->name);
    if (!several) return qkv_io_fail(error, "there is no option '%.60s'", name);
    list_options(own, has, sizeof has);
    return qkv_io_fail(error, "--%s belongs to the task%s %s; %s has %s", option,
                       several > 1 ? "s" : "", owners, own->name, has);
}
