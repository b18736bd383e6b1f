/* config.c - the options as a table; setting, showing and resolving them. */
#include "train/config/config.h"

#include <stdio.h>
#include <string.h>

#include "train/io/number.h"

#define AT(field) offsetof(qkv_config, field)
const qkv_config_option qkv_config_options[] = {
#define SECTION(title) {QKV_CONFIG_SECTION, "", title, "", "", "", "", 0, 0, 0},
#define TEXT(field, option, def, argument, help) \
    {QKV_CONFIG_TEXT, #field, option, def, argument, "", help, 0, 0, AT(field)},
#define INT(field, option, def, least, greatest, argument, help) \
    {QKV_CONFIG_INT, #field, option, #def, argument, "", help, least, greatest, AT(field)},
#define REAL(field, option, def, least, greatest, argument, help) \
    {QKV_CONFIG_REAL, #field, option, #def, argument, "", help, least, greatest, AT(field)},
#define CHOICE(field, option, def, choices, help) \
    {QKV_CONFIG_CHOICE, #field, option, def, choices, choices, help, 0, 0, AT(field)},
#define FLAG(field, option, def, help) \
    {QKV_CONFIG_FLAG, #field, option, #def, "", "", help, 0, 0, AT(field)},
#include "train/config/config.def"
    {QKV_CONFIG_SECTION, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0}};

const qkv_config_option *qkv_config_option_find(const char *field) {
    for (const qkv_config_option *o = qkv_config_options; o->option; o++)
        if (o->kind != QKV_CONFIG_SECTION && strcmp(o->field, field) == 0) return o;
    return NULL;
}

static void *field_of(const qkv_config *c, const qkv_config_option *o) {
    return (char *)(size_t)c + o->offset;
}

void qkv_config_default(qkv_config *c) {
    char error[QKV_IO_ERROR];
    memset(c, 0, sizeof *c);
    for (const qkv_config_option *o = qkv_config_options; o->option; o++)
        if (o->kind != QKV_CONFIG_SECTION) qkv_config_set(c, o, o->def, error);
}

/* The index of a word in "first|second|..."; -1 if it is none of them. */
static int choice_index(const char *choices, const char *word) {
    size_t length = strlen(word);
    for (int i = 0; *choices; i++) {
        size_t n = strcspn(choices, "|");
        if (n == length && strncmp(choices, word, n) == 0) return i;
        choices += n + (choices[n] == '|');
    }
    return -1;
}

static bool set_number(void *field, const qkv_config_option *o, const char *text, char *error) {
    long whole = 0;
    double x = 0;
    bool is_int = o->kind == QKV_CONFIG_INT;
    char least[QKV_IO_NUMBER], greatest[QKV_IO_NUMBER];
    if (is_int ? !qkv_io_parse_int(text, &whole) : !qkv_io_parse_real(text, &x)) {
        qkv_io_fail(error, "'%.60s' is not a %s", text, is_int ? "whole number" : "number");
        return false;
    }
    if (is_int) x = (double)whole;
    if (!(x >= o->least && x <= o->greatest)) {
        qkv_io_fail(error, "%.60s is not between %s and %s", text,
                    qkv_io_format_real(o->least, 12, least),
                    qkv_io_format_real(o->greatest, 12, greatest));
        return false;
    }
    if (is_int)
        *(int *)field = (int)whole;
    else
        *(double *)field = x;
    return true;
}

bool qkv_config_set(qkv_config *c, const qkv_config_option *o, const char *text, char *error) {
    void *field = field_of(c, o);
    int index;
    switch (o->kind) {
        case QKV_CONFIG_INT:
        case QKV_CONFIG_REAL: return set_number(field, o, text, error);
        case QKV_CONFIG_CHOICE:
            if ((index = choice_index(o->choices, text)) >= 0) return *(int *)field = index, true;
            qkv_io_fail(error, "'%.60s' is none of %s", text, o->choices);
            return false;
        case QKV_CONFIG_FLAG:
            if ((index = choice_index("false|true", text)) >= 0)
                return *(bool *)field = index, true;
            qkv_io_fail(error, "'%.60s' is neither true nor false", text);
            return false;
        case QKV_CONFIG_TEXT:
            if (strlen(text) < QKV_CONFIG_TEXT_SIZE) return strcpy(field, text), true;
            qkv_io_fail(error, "longer than %d characters", QKV_CONFIG_TEXT_SIZE - 1);
            return false;
        case QKV_CONFIG_SECTION: break;
    }
    return false;
}

char *qkv_config_get(const qkv_config *c, const qkv_config_option *o, char *out, size_t size) {
    const void *field = field_of(c, o);
    char number[QKV_IO_NUMBER];
    const char *word = o->choices;
    switch (o->kind) {
        case QKV_CONFIG_INT: snprintf(out, size, "%d", *(const int *)field); break;
        case QKV_CONFIG_REAL:
            snprintf(out, size, "%s", qkv_io_format_exact(*(const double *)field, number));
            break;
        case QKV_CONFIG_FLAG:
            snprintf(out, size, "%s", *(const bool *)field ? "true" : "false");
            break;
        case QKV_CONFIG_TEXT: snprintf(out, size, "%s", (const char *)field); break;
        case QKV_CONFIG_CHOICE:
            for (int i = *(const int *)field; i > 0; i--) word += strcspn(word, "|") + 1;
            snprintf(out, size, "%.*s", (int)strcspn(word, "|"), word);
            break;
        case QKV_CONFIG_SECTION: out[0] = '\0';
    }
    return out;
}
