/* config.c - the options as a table; setting, showing and resolving them. */
#include "train/config.h"

#include <stdio.h>
#include <string.h>

#include "train/number.h"

#define AT(field) offsetof(train_config, field)
const train_option train_options[] = {
#define SECTION(title) {TRAIN_OPT_SECTION, "", title, "", "", "", "", 0, 0, 0},
#define TEXT(field, option, def, argument, help) \
    {TRAIN_OPT_TEXT, #field, option, def, argument, "", help, 0, 0, AT(field)},
#define INT(field, option, def, least, greatest, argument, help) \
    {TRAIN_OPT_INT, #field, option, #def, argument, "", help, least, greatest, AT(field)},
#define REAL(field, option, def, least, greatest, argument, help) \
    {TRAIN_OPT_REAL, #field, option, #def, argument, "", help, least, greatest, AT(field)},
#define CHOICE(field, option, def, choices, help) \
    {TRAIN_OPT_CHOICE, #field, option, def, choices, choices, help, 0, 0, AT(field)},
#define FLAG(field, option, def, help) \
    {TRAIN_OPT_FLAG, #field, option, #def, "", "", help, 0, 0, AT(field)},
#include "train/config.def"
    {TRAIN_OPT_SECTION, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0}};

const train_option *train_option_find(const char *field) {
    for (const train_option *o = train_options; o->option; o++)
        if (o->kind != TRAIN_OPT_SECTION && strcmp(o->field, field) == 0) return o;
    return NULL;
}

static void *field_of(const train_config *c, const train_option *o) {
    return (char *)(size_t)c + o->offset;
}

void train_config_default(train_config *c) {
    char error[TRAIN_ERROR];
    memset(c, 0, sizeof *c);
    for (const train_option *o = train_options; o->option; o++)
        if (o->kind != TRAIN_OPT_SECTION) train_config_set(c, o, o->def, error);
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

static bool set_number(void *field, const train_option *o, const char *text, char *error) {
    long whole = 0;
    double x = 0;
    bool is_int = o->kind == TRAIN_OPT_INT;
    char least[TRAIN_NUMBER], greatest[TRAIN_NUMBER];
    if (is_int ? !train_parse_int(text, &whole) : !train_parse_real(text, &x)) {
        snprintf(error, TRAIN_ERROR, "'%.60s' is not a %s", text,
                 is_int ? "whole number" : "number");
        return false;
    }
    if (is_int) x = (double)whole;
    if (!(x >= o->least && x <= o->greatest)) {
        snprintf(error, TRAIN_ERROR, "%.60s is not between %s and %s", text,
                 train_format_real(o->least, 12, least),
                 train_format_real(o->greatest, 12, greatest));
        return false;
    }
    if (is_int)
        *(int *)field = (int)whole;
    else
        *(double *)field = x;
    return true;
}

bool train_config_set(train_config *c, const train_option *o, const char *text, char *error) {
    void *field = field_of(c, o);
    int index;
    switch (o->kind) {
        case TRAIN_OPT_INT:
        case TRAIN_OPT_REAL: return set_number(field, o, text, error);
        case TRAIN_OPT_CHOICE:
            if ((index = choice_index(o->choices, text)) >= 0) return *(int *)field = index, true;
            snprintf(error, TRAIN_ERROR, "'%.60s' is none of %s", text, o->choices);
            return false;
        case TRAIN_OPT_FLAG:
            if ((index = choice_index("false|true", text)) >= 0)
                return *(bool *)field = index, true;
            snprintf(error, TRAIN_ERROR, "'%.60s' is neither true nor false", text);
            return false;
        case TRAIN_OPT_TEXT:
            if (strlen(text) < TRAIN_TEXT) return strcpy(field, text), true;
            snprintf(error, TRAIN_ERROR, "longer than %d characters", TRAIN_TEXT - 1);
            return false;
        case TRAIN_OPT_SECTION: break;
    }
    return false;
}

char *train_config_get(const train_config *c, const train_option *o, char *out, size_t size) {
    const void *field = field_of(c, o);
    char number[TRAIN_NUMBER];
    const char *word = o->choices;
    switch (o->kind) {
        case TRAIN_OPT_INT: snprintf(out, size, "%d", *(const int *)field); break;
        case TRAIN_OPT_REAL:
            snprintf(out, size, "%s", train_format_exact(*(const double *)field, number));
            break;
        case TRAIN_OPT_FLAG:
            snprintf(out, size, "%s", *(const bool *)field ? "true" : "false");
            break;
        case TRAIN_OPT_TEXT: snprintf(out, size, "%s", (const char *)field); break;
        case TRAIN_OPT_CHOICE:
            for (int i = *(const int *)field; i > 0; i--) word += strcspn(word, "|") + 1;
            snprintf(out, size, "%.*s", (int)strcspn(word, "|"), word);
            break;
        case TRAIN_OPT_SECTION: out[0] = '\0';
    }
    return out;
}
