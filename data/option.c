/* option.c - tables of options: defaults, values by name, and whether a table is sound. */
#include "data/option.h"

#include <math.h>
#include <string.h>

const data_option *data_option_find(const data_option *table, const char *field) {
    for (const data_option *o = table; field && o && o->option; o++)
        if (o->kind != DATA_KIND_SECTION && strcmp(o->field, field) == 0) return o;
    return NULL;
}

int data_choice_index(const char *choices, const char *word) {
    if (!choices || !word) return -1;
    size_t length = strlen(word);
    for (int i = 0; *choices; i++) {
        size_t n = strcspn(choices, "|");
        if (n == length && strncmp(choices, word, n) == 0) return i;
        choices += n + (choices[n] == '|');
    }
    return -1;
}

static void *field_of(const data_option *o, void *fields) { return (char *)fields + o->offset; }

static void put(const data_option *o, void *fields, double x) {
    void *field = field_of(o, fields);
    if (o->kind == DATA_KIND_REAL)
        *(double *)field = x;
    else if (o->kind == DATA_KIND_FLAG)
        *(bool *)field = x != 0;
    else
        *(int *)field = (int)x;
}

void data_option_reset(const data_option *o, void *fields) {
    switch (o->kind) {
        case DATA_KIND_SECTION: break;
        case DATA_KIND_FILE:
        case DATA_KIND_TEXT: strcpy(field_of(o, fields), o->def); break;
        case DATA_KIND_CHOICE: put(o, fields, data_choice_index(o->choices, o->def)); break;
        default: put(o, fields, o->number);
    }
}

void data_options_reset(const data_option *table, data_options *options) {
    memset(options, 0, sizeof *options);
    for (const data_option *o = table; o && o->option; o++) data_option_reset(o, options->byte);
}

static int count_of(const char *choices) {
    int n = 1;
    for (; *choices; choices++) n += *choices == '|';
    return n;
}

bool data_option_holds(const data_option *o, double x) {
    bool whole = x == floor(x);
    switch (o->kind) {
        case DATA_KIND_INT: return whole && x >= o->least && x <= o->greatest;
        case DATA_KIND_REAL: return x >= o->least && x <= o->greatest;
        case DATA_KIND_CHOICE: return whole && x >= 0 && x < count_of(o->choices);
        case DATA_KIND_FLAG: return x == 0 || x == 1;
        default: return false;
    }
}

bool data_option_set(const data_option *o, void *fields, double x) {
    if (!data_option_holds(o, x)) return false;
    put(o, fields, x);
    return true;
}

bool data_options_set(const data_option *table, data_options *options, const char *field,
                      double x) {
    const data_option *o = data_option_find(table, field);
    return o && data_option_set(o, options->byte, x);
}

double data_option_number(const data_option *o, const void *fields) {
    const void *field = (const char *)fields + o->offset;
    switch (o->kind) {
        case DATA_KIND_REAL: return *(const double *)field;
        case DATA_KIND_FLAG: return *(const unsigned char *)field;  // a bool only if it holds
        case DATA_KIND_INT:
        case DATA_KIND_CHOICE: return *(const int *)field;
        default: return 0;
    }
}

static size_t size_of(const data_option *o) {
    switch (o->kind) {
        case DATA_KIND_FILE:
        case DATA_KIND_TEXT: return o->greatest > 0 ? (size_t)o->greatest : 0;
        case DATA_KIND_REAL: return sizeof(double);
        case DATA_KIND_FLAG: return sizeof(bool);
        default: return sizeof(int);
    }
}

/* Small letters, digits and `joint`, beginning with a letter. */
static bool is_name(const char *name, char joint) {
    const char *letters = "abcdefghijklmnopqrstuvwxyz";
    if (!name || !*name || !strchr(letters, *name) || strlen(name) > 30) return false;
    for (; *name; name++)
        if (*name != joint && !strchr(letters, *name) && !strchr("0123456789", *name)) return false;
    return true;
}

static const char *wrong_default(const data_option *o) {
    switch (o->kind) {
        case DATA_KIND_FILE:
        case DATA_KIND_TEXT:
            if (!o->def || o->greatest > DATA_TEXT_SIZE || strlen(o->def) >= (size_t)o->greatest)
                return "a text of its options has no default, or no room";
            return NULL;
        case DATA_KIND_CHOICE:
            if (!o->choices || !o->def || data_choice_index(o->choices, o->def) < 0)
                return "a default of its options is none of the choices";
            return NULL;
        default:
            return data_option_holds(o, o->number) ? NULL : "a default of its options is no value";
    }
}

const char *data_options_wrong(const data_option *table) {
    int n = 0;
    for (const data_option *o = table; o && o->option; o++) {
        if (++n > DATA_MAXOPTIONS) return "it has too many options";
        if (!o->of_task || o->kind < DATA_KIND_TEXT || o->kind > DATA_KIND_FILE)
            return "an option is not made by DATA_INT(), DATA_TEXT() ...";
        if (!is_name(o->field, '_') || !is_name(o->option, '-') || !o->help || !o->argument)
            return "an option has no name, or one that is not of small letters";
        if (strncmp(o->option, "no-", 3) == 0) return "an option is called \"no-...\"";
        if (o->offset + size_of(o) > DATA_OPTIONS_SIZE) return "its options take too much room";
        if (wrong_default(o)) return wrong_default(o);
        for (const data_option *other = table; other < o; other++)
            if (strcmp(other->field, o->field) == 0 || strcmp(other->option, o->option) == 0)
                return "two of its options have one name";
    }
    return NULL;
}
