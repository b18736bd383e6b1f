/* safetensors_header.c - from JSON to tensors that account for every byte of the data. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/json.h"
#include "train/io/safetensors_internal.h"

/* The parts of this file return false after one of these. */
typedef struct {
    qkv_io_safetensors *s;
    qkv_io_status status;
    char *error;
} reader;

static bool damaged(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool damaged(reader *r, const char *format, ...) {
    char shown[256], what[200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    qkv_io_fail(r->error, "'%s' is damaged: %s", qkv_io_printable(r->s->path, shown, sizeof shown),
                what);
    r->status = QKV_IO_DAMAGED;
    return false;
}

static bool wrong(reader *r, const qkv_io_stored *t, const char *what) {
    char shown[80];
    return damaged(r, "tensor '%s' %s", qkv_io_printable(t->name, shown, sizeof shown), what);
}

static void no_memory(reader *r) {
    qkv_io_error(r->error, "read", r->s->path, ENOMEM);
    r->status = QKV_IO_FAILED;
}

static void *take(reader *r, size_t count, size_t size) {
    void *p = tensor_arena_take(r->s->arena, count, size);
    if (!p) no_memory(r);
    return p;
}

static bool read_notes(reader *r, const qkv_io_json *notes) {
    qkv_io_safetensors *s = r->s;
    if (notes->kind != QKV_IO_JSON_OBJECT) return damaged(r, QKV_IO_ST_NOTES " is not an object");
    s->note = take(r, (size_t)notes->n, sizeof *s->note);
    if (!s->note) return false;
    for (const qkv_io_json *m = notes->is.first; m; m = m->next) {
        if (m->kind != QKV_IO_JSON_STRING)
            return damaged(r, QKV_IO_ST_NOTES " holds something else but strings");
        s->note[s->n_notes++] = (qkv_io_note){m->key, m->is.string};
    }
    return true;
}

static bool read_size(const qkv_io_json *value, uint64_t *out) {
    if (!value || value->kind != QKV_IO_JSON_WHOLE || value->is.whole < 0) return false;
    *out = (uint64_t)value->is.whole;
    return true;
}

static bool read_dtype(reader *r, qkv_io_stored *t, const qkv_io_json *value) {
    const char *name = qkv_io_json_string(value);
    if (!name) return wrong(r, t, value ? "has a dtype that is no string" : "has no dtype");
    for (int d = 0; d < QKV_IO_DTYPES; d++)
        if (strcmp(name, qkv_io_dtype_name((qkv_io_dtype)d)) == 0)
            return t->dtype = (qkv_io_dtype)d, true;
    return wrong(r, t, "has an unknown dtype");
}

static bool read_shape(reader *r, qkv_io_stored *t, const qkv_io_json *value) {
    if (!value || value->kind != QKV_IO_JSON_ARRAY)
        return wrong(r, t, value ? "has a shape that is no array" : "has no shape");
    if (value->n > QKV_IO_ST_MAXRANK) return wrong(r, t, "has too many dimensions");
    for (const qkv_io_json *x = value->is.first; x; x = x->next)
        if (!read_size(x, &t->dim[t->rank++]))
            return wrong(r, t, "has a dimension that is no size");
    return qkv_io_stored_size(t->dtype, t->rank, t->dim, &t->bytes) ||
           wrong(r, t, "has a shape beyond all memory");
}

static bool read_offsets(reader *r, qkv_io_stored *t, const qkv_io_json *value) {
    uint64_t end;
    if (!value) return wrong(r, t, "has no data_offsets");
    if (value->kind != QKV_IO_JSON_ARRAY || value->n != 2 ||
        !read_size(value->is.first, &t->offset) || !read_size(value->is.first->next, &end))
        return wrong(r, t, "has data_offsets that are not two sizes");
    if (end < t->offset) return wrong(r, t, "ends before it begins");
    return end - t->offset == t->bytes || wrong(r, t, "has another number of bytes than its shape");
}

static bool read_tensor(reader *r, qkv_io_stored *t, const qkv_io_json *value) {
    *t = (qkv_io_stored){.name = value->key};
    if (value->kind != QKV_IO_JSON_OBJECT) return wrong(r, t, "is not an object");
    if (!read_dtype(r, t, qkv_io_json_get(value, "dtype"))) return false;
    if (!read_shape(r, t, qkv_io_json_get(value, "shape"))) return false;
    if (!read_offsets(r, t, qkv_io_json_get(value, "data_offsets"))) return false;
    return value->n == 3 || wrong(r, t, "has an unknown field");
}

/* By offset; an empty tensor before the one which begins where it stands. */
static int by_offset(const void *a, const void *b) {
    const qkv_io_stored *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Tensors in the order of the data: the next begins where the last ended, and all end with the
 * file. */
static bool check_cover(reader *r, uint64_t data_bytes) {
    qkv_io_safetensors *s = r->s;
    uint64_t end = 0;
    if (s->n) qsort(s->tensor, (size_t)s->n, sizeof *s->tensor, by_offset);
    for (int i = 0; i < s->n; i++) {
        const qkv_io_stored *t = &s->tensor[i];
        if (t->offset < end) return wrong(r, t, "overlaps another");
        if (t->offset > end) return wrong(r, t, "stands after a hole");
        end += t->bytes;
    }
    if (end != data_bytes)
        return damaged(r, "it has %llu bytes of data, its header describes %llu",
                       (unsigned long long)data_bytes, (unsigned long long)end);
    s->data_bytes = (size_t)data_bytes;
    return data_bytes < SIZE_MAX / 2 || damaged(r, "it is larger than all memory");
}

static bool read_root(reader *r, const qkv_io_json *root, uint64_t data_bytes) {
    qkv_io_safetensors *s = r->s;
    s->tensor = take(r, (size_t)root->n, sizeof *s->tensor);
    if (!s->tensor) return false;
    for (const qkv_io_json *m = root->is.first; m; m = m->next) {
        bool is_notes = strcmp(m->key, QKV_IO_ST_NOTES) == 0;
        if (is_notes ? !read_notes(r, m) : !read_tensor(r, &s->tensor[s->n], m)) return false;
        s->n += !is_notes;
    }
    return check_cover(r, data_bytes);
}

qkv_io_status qkv_io_safetensors_parse(qkv_io_safetensors *s, uint64_t file_size, char *error) {
    reader r = {s, QKV_IO_OK, error};
    const char *text = (const char *)s->head + QKV_IO_ST_LENGTH;
    const qkv_io_json *root;
    char why[QKV_IO_ERROR], shown[120];
    if (s->header == 0 || text[0] != '{')
        return damaged(&r, "its header does not begin with '{'"), r.status;
    const qkv_io_status status = qkv_io_json_read(s->arena, text, s->header, &root, why);
    if (status == QKV_IO_OK)
        read_root(&r, root, file_size - QKV_IO_ST_LENGTH - s->header);
    else if (status == QKV_IO_DAMAGED)
        damaged(&r, "its header is no JSON: %s", qkv_io_printable(why, shown, sizeof shown));
    else
        no_memory(&r);
    return r.status;
}
