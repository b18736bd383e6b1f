/* lesson.c - a lesson's file against the keys that it may have. */
#include "train/cli/lesson.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/cli/cli.h"

#define PANELS " say own cards attention qk ov shares loss norms step lesson "
enum { MOST_BYTES = 1 << 20 };

typedef struct {
    const char *name;
    bool (*fits)(json_t *value, const char *where, const char *words, char *error);
    const char *words;  // which texts it may be, each between blanks; NULL: any
    bool needed;
} key;

/* ---- the kinds of values ---- */

static bool is_text(json_t *v, const char *where, const char *words, char *error) {
    char word[64];
    if (!json_is_string(v)) return qkv_io_fail(error, "%s: a text is needed", where);
    snprintf(word, sizeof word, " %.60s ", json_string_value(v));
    return !words || strstr(words, word) ||
           qkv_io_fail(error, "%s: '%.60s' is not one of:%s", where, json_string_value(v), words);
}

static bool is_count(json_t *v, const char *where, const char *words, char *error) {
    (void)words;
    return (json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= 1000000) ||
           qkv_io_fail(error, "%s: a whole number from 0 to 1000000 is needed", where);
}

static bool is_flag(json_t *v, const char *where, const char *words, char *error) {
    (void)words;
    return json_is_boolean(v) || qkv_io_fail(error, "%s: true or false is needed", where);
}

static bool is_list(json_t *v, const char *where, const char *words, char *error) {
    json_t *one;
    size_t i;
    if (json_array_size(v) == 0) return qkv_io_fail(error, "%s: a list of texts is needed", where);
    json_array_foreach(v, i, one) if (!is_text(one, where, words, error)) return false;
    return true;
}

/* {"en": "...", "zh": "..."}; English is shown where a language is missing. */
static bool is_said(json_t *v, const char *where, const char *words, char *error) {
    const char *language;
    json_t *text;
    (void)words;
    if (!json_object_get(v, "en"))
        return qkv_io_fail(error, "%s: texts by language are needed, \"en\" among them", where);
    json_object_foreach(v, language, text)
        if (!json_is_string(text))
            return qkv_io_fail(error, "%s.%.20s: a text is needed", where, language);
    return true;
}

/* Options as on the command line: {"lr": 0.1, "tie": "qk"}, on top of what the task recommends. */
static bool is_options(json_t *v, const char *where, const char *words, char *error) {
    const char *name;
    json_t *value, *task = json_object_get(v, "task");
    qkv_config c;
    char why[QKV_IO_ERROR];
    (void)words;
    if (!json_is_object(v)) return qkv_io_fail(error, "%s: options by name are needed", where);
    qkv_config_default(&c);
    const char *named = task ? json_string_value(task) : "pairs";
    bool ok = named && data_find(named) &&
              qkv_config_set(&c, qkv_config_option_named(&c, "task"), named, why) &&
              qkv_config_recommend(&c, why);
    if (!ok) return qkv_io_fail(error, "%s, task: there is no such task", where);
    json_object_foreach(v, name, value) {
        const data_option *o = qkv_config_option_named(&c, name);
        char *text = json_is_string(value) ? strdup(json_string_value(value))
                                           : json_dumps(value, JSON_ENCODE_ANY);
        if (!o)
            ok = qkv_io_fail(error, "%s: this task has no option '%.40s'", where, name);
        else if (!text || !qkv_config_set(&c, o, text, why))
            ok = qkv_io_fail(error, "%s: %s", where, text ? why : "out of memory");
        free(text);
        if (!ok) return false;
    }
    return true;
}

/* ---- objects of known keys ---- */

static bool is_object(json_t *v, const char *where, const key *keys, char *error) {
    const char *name;
    json_t *value;
    char place[160];
    if (!json_is_object(v)) return qkv_io_fail(error, "%s: an object {...} is needed", where);
    json_object_foreach(v, name, value) {
        const key *k = keys;
        while (k->name && strcmp(k->name, name) != 0) k++;
        if (!k->name) return qkv_io_fail(error, "%s: there is no key '%.40s'", where, name);
        snprintf(place, sizeof place, "%.100s, %s", where, name);
        if (!k->fits(value, place, k->words, error)) return false;
    }
    for (const key *k = keys; k->name; k++)
        if (k->needed && !json_object_get(v, k->name))
            return qkv_io_fail(error, "%s: the key '%s' is missing", where, k->name);
    return true;
}

static bool is_change(json_t *v, const char *where, const char *words, char *error) {
    static const key keys[] = {
        {"set", is_options, NULL, false}, {"beside", is_options, NULL, false},
        {"step", is_count, NULL, false},  {"example", is_count, NULL, false},
        {"inside", is_text, NULL, false}, {"swap", is_text, " key value ", false},
        {"ask", is_count, NULL, false},   {"put", is_text, NULL, false},
        {"at", is_count, NULL, false},    {"hide", is_count, NULL, false},
        {"off", is_count, NULL, false},   {"random", is_text, " wq wk wv wo ", false},
        {NULL, NULL, NULL, false}};
    (void)words;
    return is_object(v, where, keys, error);
}

static bool is_tries(json_t *v, const char *where, const char *words, char *error) {
    static const key keys[] = {
        {"set", is_options, NULL, true}, {"text", is_said, NULL, true}, {NULL, NULL, NULL, false}};
    json_t *one;
    size_t i;
    (void)words;
    json_array_foreach(v, i, one) if (!is_object(one, where, keys, error)) return false;
    return json_array_size(v) > 1 || qkv_io_fail(error, "%s: two tries are needed", where);
}

static bool is_question(json_t *v, const char *where, const char *words, char *error) {
    static const key keys[] = {{"share", is_text, NULL, false},
                               {"which", is_list, NULL, false},
                               {"best", is_tries, NULL, false},
                               {NULL, NULL, NULL, false}};
    if (json_is_string(v)) return is_text(v, where, words, error);
    if (!is_object(v, where, keys, error)) return false;
    return json_object_size(v) == 1 || qkv_io_fail(error, "%s: one question is needed", where);
}

static bool are_cards(json_t *v, const char *where, const char *words, char *error) {
    static const key keys[] = {{"text", is_said, NULL, true},
                               {"after", is_said, NULL, false},
                               {"set", is_options, NULL, false},
                               {"beside", is_options, NULL, false},
                               {"step", is_count, NULL, false},
                               {"example", is_count, NULL, false},
                               {"inside", is_text, NULL, false},
                               {"frame", is_text, PANELS, false},
                               {"question", is_question, " looks says effect share ", false},
                               {"change", is_change, NULL, false},
                               {NULL, NULL, NULL, false}};
    char place[40];
    json_t *one;
    size_t i;
    (void)words;
    json_array_foreach(v, i, one) {
        snprintf(place, sizeof place, "card %zu", i + 1);
        if (!is_object(one, place, keys, error)) return false;
    }
    return json_array_size(v) > 0 || qkv_io_fail(error, "%s: a list of cards is needed", where);
}

json_t *cli_lesson_read(const char *path, char *error) {
    static const key keys[] = {{"title", is_said, NULL, true},    {"study", is_text, NULL, false},
                               {"words", is_flag, NULL, false},   {"show", is_list, PANELS, false},
                               {"careful", is_said, NULL, false}, {"cards", are_cards, NULL, true},
                               {NULL, NULL, NULL, false}};
    char why[QKV_IO_ERROR], shown[200];
    json_error_t at;
    void *text;
    size_t n;
    if (qkv_io_read_file(&cli_files, NULL, path, MOST_BYTES, &text, &n, error) != QKV_IO_OK)
        return NULL;
    json_t *lesson = json_loadb(text, n, JSON_REJECT_DUPLICATES, &at);
    tensor_malloc.release(NULL, text);
    if (!lesson) snprintf(why, sizeof why, "line %d: %.200s", at.line, at.text);
    if (lesson && is_object(lesson, "the lesson", keys, why)) return lesson;
    json_decref(lesson);
    qkv_io_fail(error, "%s: %s", qkv_io_printable(path, shown, sizeof shown), why);
    return NULL;
}
