/* json.c - JSON: a copy of the text in which strings are unescaped in place, and nodes that point into it. */
#include "train/io/json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "data/utf8.h"
#include "train/io/given.h"
#include "train/io/number.h"

/* The parts of this file return false after having set `wrong`. */
typedef struct {
    char *text, *end, *at;
    const char *wrong;
    qkv_io_json *node;           // as many as the text can hold
    const qkv_io_json **member;  // room to sort an object's members in
    int depth;
} reader;

static bool wrong(reader *r, const char *what) {
    r->wrong = what;
    return false;
}

static void skip_blanks(reader *r) {
    while (r->at < r->end && strchr(" \t\n\r", *r->at) && *r->at) r->at++;
}

/* Takes that character, behind blanks. */
static bool take(reader *r, char c) {
    skip_blanks(r);
    if (r->at == r->end || *r->at != c) return false;
    return r->at++, true;
}

/* ---- strings ---- */

/* Four hexadecimal digits. */
static bool read_unit(reader *r, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        if (r->at == r->end || !isxdigit((unsigned char)*r->at))
            return wrong(r, "\\u needs four hexadecimal digits");
        int c = tolower((unsigned char)*r->at);
        *out = *out << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return true;
}

/* What stands behind \u, as UTF-8, which is shorter. */
static bool read_number(reader *r, char **to) {
    uint32_t c, low;
    if (!read_unit(r, &c)) return false;
    if (c == 0) return wrong(r, "\\u0000 is no character of a text");
    if (c >= 0xdc00 && c < 0xe000) return wrong(r, "half of a surrogate pair");
    if (c >= 0xd800 && c < 0xdc00) {
        if (r->end - r->at < 2 || memcmp(r->at, "\\u", 2) != 0)
            return wrong(r, "half of a surrogate pair");
        r->at += 2;
        if (!read_unit(r, &low)) return false;
        if (low < 0xdc00 || low >= 0xe000) return wrong(r, "half of a surrogate pair");
        c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
    }
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    *(*to)++ = (char)(first[more] | c >> 6 * more);
    for (int i = more - 1; i >= 0; i--) *(*to)++ = (char)(0x80 | (c >> 6 * i & 0x3f));
    return true;
}

static bool read_escape(reader *r, char **to) {
    static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    if (r->at == r->end) return wrong(r, "the text ends within a string");
    const char c = *r->at++, *name = c ? strchr(names, c) : NULL;
    if (c == 'u') return read_number(r, to);
    if (!name) return r->at--, wrong(r, "no such escape");
    *(*to)++ = means[name - names];
    return true;
}

static bool read_string(reader *r, const char **out) {
    if (!take(r, '"')) return wrong(r, "a string in quotes is expected");
    char *to = r->at;
    *out = to;
    while (r->at < r->end && *r->at != '"') {
        size_t n = data_utf8_length(r->at, (size_t)(r->end - r->at));
        if (n == 0) return wrong(r, "no UTF-8");
        if ((unsigned char)*r->at < 32) return wrong(r, "a control character within a string");
        if (*r->at == '\\') {
            r->at++;
            if (!read_escape(r, &to)) return false;
            continue;
        }
        memmove(to, r->at, n);
        to += n;
        r->at += n;
    }
    if (r->at == r->end) return wrong(r, "the text ends within a string");
    r->at++;
    *to = '\0';
    return true;
}

/* ---- numbers and words ---- */

static bool skip_digits(reader *r) {
    const char *from = r->at;
    while (r->at < r->end && isdigit((unsigned char)*r->at)) r->at++;
    return r->at > from || wrong(r, "a digit is expected");
}

/* Digits without a point, which begin at `from`. */
static bool read_whole(reader *r, const char *from, int64_t *out) {
    const bool minus = *from == '-';
    *out = 0;
    for (const char *d = from + minus; d < r->at; d++)
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, minus ? '0' - *d : *d - '0', out))
            return wrong(r, "a number beyond 64 bits");
    return true;
}

static bool read_a_number(reader *r, qkv_io_json *out) {
    char *from = r->at, *last;
    bool whole = true;
    if (*r->at == '-') r->at++;
    if (r->at < r->end && *r->at == '0')
        r->at++;
    else if (!skip_digits(r))
        return false;
    if (r->at < r->end && *r->at == '.') {
        whole = false;
        r->at++;
        if (!skip_digits(r)) return false;
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        whole = false;
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
        if (!skip_digits(r)) return false;
    }
    out->kind = whole ? QKV_IO_JSON_WHOLE : QKV_IO_JSON_REAL;
    if (whole) return read_whole(r, from, &out->is.whole);
    last = r->at;  // the copy has room for a 0 there
    const char kept = *last;
    *last = '\0';
    const bool ok = qkv_io_parse_real(from, &out->is.real);
    *last = kept;
    return ok || wrong(r, "a number that no double can be");
}

static bool read_word(reader *r, qkv_io_json *out) {
    static const struct {
        const char *word;
        qkv_io_json_kind kind;
    } words[] = {
        {"null", QKV_IO_JSON_NULL}, {"false", QKV_IO_JSON_FALSE}, {"true", QKV_IO_JSON_TRUE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i].word);
        if ((size_t)(r->end - r->at) < n || memcmp(r->at, words[i].word, n) != 0) continue;
        r->at += n;
        out->kind = words[i].kind;
        return true;
    }
    return wrong(r, "a value is expected");
}

/* ---- lists ---- */

static int by_key(const void *a, const void *b) {
    const qkv_io_json *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

static bool has_no_key_twice(reader *r, const qkv_io_json *object) {
    int n = 0;
    for (const qkv_io_json *m = object->is.first; m; m = m->next) r->member[n++] = m;
    if (n) qsort(r->member, (size_t)n, sizeof *r->member, by_key);
    for (int i = 1; i < n; i++)
        if (by_key(&r->member[i - 1], &r->member[i]) == 0) return wrong(r, "duplicate object key");
    return true;
}

static bool read_value(reader *r, qkv_io_json *out);

/* The elements or members up to the bracket that closes. */
static bool read_list(reader *r, qkv_io_json *out, char close) {
    qkv_io_json **to = &out->is.first;
    const bool object = close == '}';
    out->kind = object ? QKV_IO_JSON_OBJECT : QKV_IO_JSON_ARRAY;
    if (++r->depth > QKV_IO_JSON_DEPTH) return wrong(r, "too many brackets within each other");
    for (bool more = !take(r, close); more; more = !take(r, close)) {
        if (out->n && !take(r, ','))
            return wrong(r, object ? "',' or '}' is expected" : "',' or ']' is expected");
        qkv_io_json *x = r->node++;
        if (object && !read_string(r, &x->key)) return false;
        if (object && !take(r, ':')) return wrong(r, "':' is expected");
        if (!read_value(r, x)) return false;
        *to = x;
        to = &x->next;
        out->n++;
    }
    r->depth--;
    return !object || has_no_key_twice(r, out);
}

static bool read_value(reader *r, qkv_io_json *out) {
    skip_blanks(r);
    if (r->at == r->end) return wrong(r, "the text ends where a value is expected");
    const char c = *r->at;
    if (c == '{' || c == '[') return r->at++, read_list(r, out, c == '{' ? '}' : ']');
    if (c == '"') return out->kind = QKV_IO_JSON_STRING, read_string(r, &out->is.string);
    return c == '-' || isdigit((unsigned char)c) ? read_a_number(r, out) : read_word(r, out);
}

/* ---- a text ---- */

/* Every value but the first stands behind one of these. */
static size_t most_values(const char *text, size_t n) {
    size_t count = 1;
    for (size_t i = 0; i < n; i++) count += text[i] == '[' || text[i] == '{' || text[i] == ',';
    return count;
}

static qkv_io_status damaged(const reader *r, const char *text, char *error) {
    int line = 1, column = 1;
    for (const char *c = text; c < text + (r->at - r->text); c++) {
        line += *c == '\n';
        column = *c == '\n' ? 1 : column + ((*c & 0xc0) != 0x80);
    }
    qkv_io_fail(error, "line %d, column %d: %s", line, column, r->wrong);
    return QKV_IO_DAMAGED;
}

qkv_io_status qkv_io_json_read(tensor_arena *arena, const char *text, size_t n,
                               const qkv_io_json **root, char *error) {
    if (!QKV_IO_GIVEN(error, text, root)) return QKV_IO_FAILED;
    const size_t values = most_values(text, n);
    reader r = {.text = tensor_arena_take(arena, n + 1, 1),
                .node = tensor_arena_take(arena, values, sizeof *r.node),
                .member = tensor_arena_take(arena, values, sizeof *r.member)};
    if (!r.text || !r.node || !r.member) {
        qkv_io_fail(error, "out of memory");
        return QKV_IO_FAILED;
    }
    memcpy(r.text, text, n);
    r.at = r.text;
    r.end = r.text + n;
    qkv_io_json *value = r.node++;
    if (!read_value(&r, value)) return damaged(&r, text, error);
    skip_blanks(&r);
    if (r.at != r.end) {
        r.wrong = "something follows the value";
        return damaged(&r, text, error);
    }
    *root = value;
    return QKV_IO_OK;
}

const qkv_io_json *qkv_io_json_get(const qkv_io_json *object, const char *key) {
    if (!object || object->kind != QKV_IO_JSON_OBJECT) return NULL;
    for (const qkv_io_json *m = object->is.first; m; m = m->next)
        if (strcmp(m->key, key) == 0) return m;
    return NULL;
}

const char *qkv_io_json_string(const qkv_io_json *value) {
    return value && value->kind == QKV_IO_JSON_STRING ? value->is.string : NULL;
}
