/* json.c - a configuration as config.json, and back. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "train/config/config.h"
#include "train/config/version.h"
#include "train/io/given.h"
#include "train/io/number.h"

/* What stands in config.json beside the options: said, but not read back. */
static const struct {
    const char *name, *value;
} remarks[] = {{"version", QKV_VERSION}, {"precision", REAL_NAME}, {"compiler", QKV_COMPILER},
               {"flags", QKV_FLAGS},     {"numbers", QKV_NUMBERS}, {NULL, NULL}};

static json_t *value_of(const qkv_config *c, const data_option *o) {
    char text[QKV_CONFIG_TEXT_SIZE + 64];
    const double x = qkv_config_number(c, o);
    switch (o->kind) {
        case DATA_KIND_INT: return json_integer((json_int_t)x);
        case DATA_KIND_REAL: return json_real(x);
        case DATA_KIND_FLAG: return json_boolean(x != 0);
        default: return json_string(qkv_config_get(c, o, text, sizeof text));
    }
}

/* Enough digits for every real to be read back as it is: 15 keep 0.003 readable, 17 are always
 * enough. */
static int digits_needed(const qkv_config *c) {
    const data_option *o;
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++) {
        char text[QKV_IO_NUMBER];
        double x, back;
        if (o->kind != DATA_KIND_REAL) continue;
        x = qkv_config_number(c, o);
        if (!qkv_io_parse_real(qkv_io_format_real(x, 15, text), &back) || back != x) return 17;
    }
    return 15;
}

static json_t *object_of_config(const qkv_config *c) {
    json_t *root = json_object();
    const data_option *o;
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++)
        if (o->kind != DATA_KIND_SECTION) json_object_set_new(root, o->field, value_of(c, o));
    for (int i = 0; remarks[i].name; i++)
        json_object_set_new(root, remarks[i].name, json_string(remarks[i].value));
    return root;
}

static char *text_of(const qkv_config *c, json_t *root) {
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION((size_t)digits_needed(c)));
    json_decref(root);
    return text;
}

char *qkv_config_to_json(const qkv_config *c) { return text_of(c, object_of_config(c)); }

/* ---- how a run saves ---- */

static const char EVERY[] = "save_every", KEEP[] = "keep";

char *qkv_config_to_json_saving(const qkv_config *c, const qkv_config_saving *saving) {
    json_t *root = object_of_config(c);
    json_object_set_new(
        root, EVERY,
        saving->every == QKV_CONFIG_SAVE_LOG ? json_string("log") : json_integer(saving->every));
    json_object_set_new(root, KEEP, json_integer(saving->keep));
    return text_of(c, root);
}

/* A whole number from `least` on into *to, if it is there. */
static bool read_count(const json_t *root, const char *key, int least, int *to, char *error) {
    enum { MOST = 1000000000 };
    const json_t *x = json_object_get(root, key);
    if (!x) return true;
    if (!json_is_integer(x) || json_integer_value(x) < least || json_integer_value(x) > MOST)
        return qkv_io_fail(error, "'%s' is no whole number from %d on", key, least);
    *to = (int)json_integer_value(x);
    return true;
}

bool qkv_config_read_saving(const char *text, size_t n, qkv_config_saving *saving, char *error) {
    json_t *root = json_loadb(text, n, 0, NULL);
    const char *word = json_string_value(json_object_get(root, EVERY));
    bool log = word && strcmp(word, "log") == 0;
    if (log) saving->every = QKV_CONFIG_SAVE_LOG;
    bool ok = (log || read_count(root, EVERY, 0, &saving->every, error)) &&
              read_count(root, KEEP, 1, &saving->keep, error);
    json_decref(root);
    return ok;
}

/* ---- reading ---- */

bool qkv_config_is_remark(const char *key) {
    for (int i = 0; remarks[i].name; i++)
        if (strcmp(key, remarks[i].name) == 0) return true;
    return strcmp(key, EVERY) == 0 || strcmp(key, KEEP) == 0;
}

/* Every JSON value goes through the text form, so that one set of rules judges both doors. */
static bool set_from(qkv_config *c, const char *key, const json_t *value, char *error) {
    char number[QKV_IO_NUMBER], why[QKV_IO_ERROR];
    const data_option *o = qkv_config_option_find(c, key);
    const char *text = number;
    if (!o) return qkv_config_unknown(c, key, error);
    bool right = o->kind == DATA_KIND_INT    ? json_is_integer(value)
                 : o->kind == DATA_KIND_REAL ? json_is_number(value)
                 : o->kind == DATA_KIND_FLAG ? json_is_boolean(value)
                                             : json_is_string(value);
    if (!right) return qkv_io_fail(error, "'%.60s' has a value of the wrong type", key);
    if (json_is_integer(value))
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        qkv_io_format_exact(json_real_value(value), number);
    else
        text = json_is_string(value) ? json_string_value(value)
               : json_is_true(value) ? "true"
                                     : "false";
    if (qkv_config_set(c, o, text, why)) return true;
    return qkv_io_fail(error, "'%.60s': %.300s", key, why);
}

/* The object that the text is; NULL with a sentence. */
static json_t *object_of(const char *text, size_t n, char *error) {
    json_error_t where;
    const char *wrong = qkv_io_begin_text(&text, &n);
    if (wrong) return qkv_io_fail(error, "the file %s", wrong), NULL;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
    if (json_is_object(root)) return root;
    if (root)
        qkv_io_fail(error, "not a JSON object");
    else
        qkv_io_fail(error, "line %d: %.200s", where.line, where.text);
    json_decref(root);
    return NULL;
}

bool qkv_config_is_object(const char *text, size_t n, char *error) {
    if (!QKV_IO_GIVEN(error, text)) return false;
    json_t *root = object_of(text, n, error);
    json_decref(root);
    return root != NULL;
}

bool qkv_config_from_json(qkv_config *c, const char *text, size_t n, char *error) {
    if (!QKV_IO_GIVEN(error, c, text)) return false;
    json_t *root = object_of(text, n, error);
    if (!root) return false;
    const char *key;
    json_t *value = json_object_get(root, "task");  // first: it decides which others there are
    bool ok = !value || set_from(c, "task", value, error);
    if (ok && !qkv_config_task(c)) ok = qkv_config_no_task(c, error);
    if (ok)
        json_object_foreach(root, key, value) {
            if (!qkv_config_is_remark(key) && !(ok = set_from(c, key, value, error))) break;
        }
    json_decref(root);
    return ok;
}

bool qkv_config_same_numbers(const char *text, size_t n) {
    qkv_io_begin_text(&text, &n);
    json_t *root = json_loadb(text, n, 0, NULL);
    const char *then = json_string_value(json_object_get(root, "numbers"));
    const bool same = !json_is_object(root) || strcmp(then ? then : "1", QKV_NUMBERS) == 0;
    json_decref(root);
    return same;
}

bool qkv_config_same_build(const char *text, size_t n) {
    qkv_io_begin_text(&text, &n);
    json_t *root = json_loadb(text, n, 0, NULL);
    bool same = root != NULL;
    for (int i = 0; remarks[i].name; i++) {
        const char *then = json_string_value(json_object_get(root, remarks[i].name));
        same = same && then && strcmp(then, remarks[i].value) == 0;
    }
    json_decref(root);
    return same;
}
