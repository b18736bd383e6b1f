/* json.c - a configuration as config.json, and back. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "train/config/config.h"
#include "train/config/version.h"
#include "train/io/given.h"
#include "train/io/json.h"
#include "train/io/number.h"

/* What stands in config.json beside the options: said, but not read back. */
static const struct {
    const char *name, *value;
} remarks[] = {{"version", QKV_VERSION}, {"precision", REAL_NAME}, {"compiler", QKV_COMPILER},
               {"flags", QKV_FLAGS},     {"numbers", QKV_NUMBERS}, {NULL, NULL}};

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

/* A real that is told apart from a whole number: 1.0, 3e-5. */
static void put_real(qkv_io_text *out, double x, int digits) {
    char number[QKV_IO_NUMBER];
    qkv_io_format_real(x, digits, number);
    const size_t n = strcspn(number, "e");
    qkv_io_text_put(out, number, n);
    if (number[n])
        qkv_io_text_add(out, "e%s%s", number[n + 1] == '-' ? "-" : "",
                        number + n + 1 + strspn(number + n + 1, "+-0"));
    else if (!strchr(number, '.'))
        qkv_io_text_put(out, ".0", 2);
}

static void put_value(qkv_io_text *out, const qkv_config *c, const data_option *o, int digits) {
    char text[QKV_CONFIG_TEXT_SIZE + 64];
    const double x = qkv_config_number(c, o);
    switch (o->kind) {
        case DATA_KIND_INT: qkv_io_text_add(out, "%" PRId64, (int64_t)x); break;
        case DATA_KIND_REAL: put_real(out, x, digits); break;
        case DATA_KIND_FLAG: qkv_io_text_add(out, "%s", x != 0 ? "true" : "false"); break;
        default: qkv_io_json_put(out, qkv_config_get(c, o, text, sizeof text));
    }
}

static void put_key(qkv_io_text *out, const char *key) {
    qkv_io_text_add(out, "%s\n  ", out->n ? "," : "{");
    qkv_io_json_put(out, key);
    qkv_io_text_put(out, ": ", 2);
}

static void put_config(qkv_io_text *out, const qkv_config *c) {
    const data_option *o;
    const int digits = digits_needed(c);
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++) {
        if (o->kind == DATA_KIND_SECTION) continue;
        put_key(out, o->field);
        put_value(out, c, o, digits);
    }
    for (int i = 0; remarks[i].name; i++) {
        put_key(out, remarks[i].name);
        qkv_io_json_put(out, remarks[i].value);
    }
}

static const char EVERY[] = "save_every", KEEP[] = "keep";

char *qkv_config_to_json_saving(const qkv_config *c, const qkv_config_saving *saving) {
    qkv_io_text out = {.arena = tensor_arena_new(NULL)};
    put_config(&out, c);
    if (saving) {
        put_key(&out, EVERY);
        if (saving->every == QKV_CONFIG_SAVE_LOG)
            qkv_io_json_put(&out, "log");
        else
            qkv_io_text_add(&out, "%d", saving->every);
        put_key(&out, KEEP);
        qkv_io_text_add(&out, "%d", saving->keep);
    }
    qkv_io_text_put(&out, "\n}", 2);
    char *text = out.failed ? NULL : strdup(out.at);
    tensor_arena_free(out.arena);
    return text;
}

char *qkv_config_to_json(const qkv_config *c) { return qkv_config_to_json_saving(c, NULL); }

/* ---- reading ---- */

/* What the text says, into the arena; NULL without a word if it is no JSON. */
static const qkv_io_json *what_it_says(tensor_arena *arena, const char *text, size_t n) {
    char why[QKV_IO_ERROR];
    const qkv_io_json *root = NULL;
    qkv_io_begin_text(&text, &n);
    return qkv_io_json_read(arena, text, n, &root, why) == QKV_IO_OK ? root : NULL;
}

/* A whole number from `least` on into *to, if it is there. */
static bool read_count(const qkv_io_json *root, const char *key, int least, int *to, char *error) {
    enum { MOST = 1000000000 };
    const qkv_io_json *x = qkv_io_json_get(root, key);
    if (!x) return true;
    if (x->kind != QKV_IO_JSON_WHOLE || x->is.whole < least || x->is.whole > MOST)
        return qkv_io_fail(error, "'%s' is no whole number from %d on", key, least);
    *to = (int)x->is.whole;
    return true;
}

bool qkv_config_read_saving(const char *text, size_t n, qkv_config_saving *saving, char *error) {
    if (!QKV_IO_GIVEN(error, text, saving)) return false;
    tensor_arena *arena = tensor_arena_new(NULL);
    const qkv_io_json *root = what_it_says(arena, text, n);
    const char *word = qkv_io_json_string(qkv_io_json_get(root, EVERY));
    bool log = word && strcmp(word, "log") == 0;
    if (log) saving->every = QKV_CONFIG_SAVE_LOG;
    bool ok = (log || read_count(root, EVERY, 0, &saving->every, error)) &&
              read_count(root, KEEP, 1, &saving->keep, error);
    tensor_arena_free(arena);
    return ok;
}

bool qkv_config_is_remark(const char *key) {
    for (int i = 0; remarks[i].name; i++)
        if (strcmp(key, remarks[i].name) == 0) return true;
    return strcmp(key, EVERY) == 0 || strcmp(key, KEEP) == 0;
}

static bool has_type(const qkv_io_json *x, data_kind kind) {
    switch (kind) {
        case DATA_KIND_INT: return x->kind == QKV_IO_JSON_WHOLE;
        case DATA_KIND_REAL: return x->kind == QKV_IO_JSON_WHOLE || x->kind == QKV_IO_JSON_REAL;
        case DATA_KIND_FLAG: return x->kind == QKV_IO_JSON_TRUE || x->kind == QKV_IO_JSON_FALSE;
        default: return x->kind == QKV_IO_JSON_STRING;
    }
}

/* Every JSON value goes through the text form, so that one set of rules judges both doors. */
static bool set_from(qkv_config *c, const qkv_io_json *x, char *error) {
    char number[QKV_IO_NUMBER], why[QKV_IO_ERROR];
    const data_option *o = qkv_config_option_find(c, x->key);
    const char *text = number;
    if (!o) return qkv_config_unknown(c, x->key, error);
    if (!has_type(x, o->kind))
        return qkv_io_fail(error, "'%.60s' has a value of the wrong type", x->key);
    if (x->kind == QKV_IO_JSON_WHOLE)
        snprintf(number, sizeof number, "%" PRId64, x->is.whole);
    else if (x->kind == QKV_IO_JSON_REAL)
        qkv_io_format_exact(x->is.real, number);
    else
        text = x->kind == QKV_IO_JSON_STRING ? x->is.string
               : x->kind == QKV_IO_JSON_TRUE ? "true"
                                             : "false";
    if (qkv_config_set(c, o, text, why)) return true;
    return qkv_io_fail(error, "'%.60s': %.300s", x->key, why);
}

/* The object that the text is; NULL with a sentence. */
static const qkv_io_json *object_of(tensor_arena *arena, const char *text, size_t n, char *error) {
    const qkv_io_json *root;
    const char *wrong = qkv_io_begin_text(&text, &n);
    if (wrong) return qkv_io_fail(error, "the file %s", wrong), NULL;
    if (qkv_io_json_read(arena, text, n, &root, error) != QKV_IO_OK) return NULL;
    if (root->kind == QKV_IO_JSON_OBJECT) return root;
    return qkv_io_fail(error, "not a JSON object"), NULL;
}

bool qkv_config_is_object(const char *text, size_t n, char *error) {
    if (!QKV_IO_GIVEN(error, text)) return false;
    tensor_arena *arena = tensor_arena_new(NULL);
    bool ok = object_of(arena, text, n, error) != NULL;
    tensor_arena_free(arena);
    return ok;
}

bool qkv_config_from_json(qkv_config *c, const char *text, size_t n, char *error) {
    if (!QKV_IO_GIVEN(error, c, text)) return false;
    tensor_arena *arena = tensor_arena_new(NULL);
    const qkv_io_json *root = object_of(arena, text, n, error);
    const qkv_io_json *task =
        qkv_io_json_get(root, "task");  // first: it decides which others there are
    bool ok = root && (!task || set_from(c, task, error));
    if (ok && !qkv_config_task(c)) ok = qkv_config_no_task(c, error);
    for (const qkv_io_json *m = ok ? root->is.first : NULL; ok && m; m = m->next)
        ok = qkv_config_is_remark(m->key) || set_from(c, m, error);
    tensor_arena_free(arena);
    return ok;
}

bool qkv_config_same_numbers(const char *text, size_t n) {
    tensor_arena *arena = tensor_arena_new(NULL);
    const qkv_io_json *root = what_it_says(arena, text, n);
    const char *then = qkv_io_json_string(qkv_io_json_get(root, "numbers"));
    const bool same =
        !root || root->kind != QKV_IO_JSON_OBJECT || strcmp(then ? then : "1", QKV_NUMBERS) == 0;
    tensor_arena_free(arena);
    return same;
}

bool qkv_config_same_build(const char *text, size_t n) {
    tensor_arena *arena = tensor_arena_new(NULL);
    const qkv_io_json *root = what_it_says(arena, text, n);
    bool same = root != NULL;
    for (int i = 0; remarks[i].name; i++) {
        const char *then = qkv_io_json_string(qkv_io_json_get(root, remarks[i].name));
        same = same && then && strcmp(then, remarks[i].value) == 0;
    }
    tensor_arena_free(arena);
    return same;
}
