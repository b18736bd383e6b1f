/* safetensors.c - reading a file: first its header alone, then its data. */
#include "train/io/safetensors.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "train/io/crc32.h"
#include "train/io/safetensors_internal.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[QKV_IO_DTYPES] = {
    [QKV_IO_F64] = {"F64", 8},   [QKV_IO_F32] = {"F32", 4}, [QKV_IO_F16] = {"F16", 2},
    [QKV_IO_BF16] = {"BF16", 2}, [QKV_IO_I64] = {"I64", 8}, [QKV_IO_I32] = {"I32", 4},
    [QKV_IO_I16] = {"I16", 2},   [QKV_IO_I8] = {"I8", 1},   [QKV_IO_U64] = {"U64", 8},
    [QKV_IO_U32] = {"U32", 4},   [QKV_IO_U16] = {"U16", 2}, [QKV_IO_U8] = {"U8", 1},
    [QKV_IO_BOOL] = {"BOOL", 1},
};

const char *qkv_io_dtype_name(qkv_io_dtype d) { return dtypes[d].name; }
size_t qkv_io_dtype_size(qkv_io_dtype d) { return dtypes[d].size; }

bool qkv_io_stored_size(qkv_io_dtype dtype, int rank, const uint64_t *dim, uint64_t *bytes) {
    uint64_t product = qkv_io_dtype_size(dtype);
    bool empty = false;
    if (rank < 0 || rank > QKV_IO_ST_MAXRANK) return false;
    for (int i = 0; i < rank; i++) {
        if (dim[i] == 0) empty = true;
        if (dim[i] != 0 && __builtin_mul_overflow(product, dim[i], &product)) return false;
    }
    *bytes = empty ? 0 : product;
    return true;
}

qkv_io_stored qkv_io_stored_of(const char *name, const tensor *x) {
    qkv_io_stored t = {.name = name,
                       .dtype = sizeof(real) == 8 ? QKV_IO_F64 : QKV_IO_F32,
                       .rank = x->shape.rank,
                       .data = x->x,
                       .bytes = x->n * sizeof(real)};
    for (int i = 0; i < t.rank; i++) t.dim[i] = (uint64_t)x->shape.dim[i];
    return t;
}

unsigned char *qkv_io_safetensors_digits(unsigned char *head, size_t n) {
    // Inside another text its quotes would be escaped.
    static const char key[] = "\"" QKV_IO_ST_CRC "\":\"";
    const size_t length = sizeof key - 1;
    for (size_t i = 0; i + length + QKV_IO_ST_DIGITS < n; i++)
        if (memcmp(head + i, key, length) == 0) return head + i + length;
    return NULL;
}

uint32_t qkv_io_safetensors_crc(const unsigned char *head, size_t n, const unsigned char *digits,
                                const void *data, size_t data_bytes) {
    size_t before = (size_t)(digits - head), after = before + QKV_IO_ST_DIGITS;
    uint32_t crc = qkv_io_crc32(0, head, before);
    crc = qkv_io_crc32(crc, "00000000", QKV_IO_ST_DIGITS);
    crc = qkv_io_crc32(crc, head + after, n - after);
    return qkv_io_crc32(crc, data, data_bytes);
}

/* ---- opening ---- */

static qkv_io_status damaged(const qkv_io_safetensors *s, char *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static qkv_io_status damaged(const qkv_io_safetensors *s, char *error, const char *format, ...) {
    char shown[256], what[200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    qkv_io_fail(error, "'%s' is damaged: %s", qkv_io_printable(s->path, shown, sizeof shown), what);
    return QKV_IO_DAMAGED;
}

static qkv_io_status unreadable(const qkv_io_safetensors *s, char *error, int why) {
    qkv_io_error(error, "read", s->path, why);
    return QKV_IO_FAILED;
}

/* Reads up to `most` bytes, which must turn out to be n: the file was asked for its size. */
static qkv_io_status read_exactly(const qkv_io_safetensors *s, void *to, size_t most, size_t n,
                                  char *error) {
    char shown[256];
    ssize_t got = qkv_io_read_up_to(s->io, s->fd, to, most);
    if (got < 0) return unreadable(s, error, errno);
    if ((size_t)got == n) return QKV_IO_OK;
    qkv_io_fail(error, "'%s' changed while it was read",
                qkv_io_printable(s->path, shown, sizeof shown));
    return QKV_IO_FAILED;
}

/* Reads the length and the header into s->head. */
static qkv_io_status read_head(qkv_io_safetensors *s, uint64_t file_size, char *error) {
    unsigned char length[QKV_IO_ST_LENGTH];
    uint64_t header = 0;
    if (file_size < QKV_IO_ST_LENGTH)
        return damaged(s, error, "%u bytes are no safetensors file", (unsigned)file_size);
    qkv_io_status status = read_exactly(s, length, QKV_IO_ST_LENGTH, QKV_IO_ST_LENGTH, error);
    if (status != QKV_IO_OK) return status;
    for (int i = QKV_IO_ST_LENGTH - 1; i >= 0; i--) header = header << 8 | length[i];
    if (header > QKV_IO_ST_HEADER)
        return damaged(s, error, "a header of %llu bytes is longer than %d",
                       (unsigned long long)header, QKV_IO_ST_HEADER);
    if (header > file_size - QKV_IO_ST_LENGTH)
        return damaged(s, error, "a header of %llu bytes does not fit in a file of %llu",
                       (unsigned long long)header, (unsigned long long)file_size);
    s->header = (size_t)header;
    s->head = tensor_arena_take(s->arena, QKV_IO_ST_LENGTH + s->header, 1);
    if (!s->head) return unreadable(s, error, ENOMEM);
    memcpy(s->head, length, sizeof length);
    return read_exactly(s, s->head + QKV_IO_ST_LENGTH, s->header, s->header, error);
}

qkv_io_status qkv_io_safetensors_open(qkv_io_safetensors *s, const qkv_io *io,
                                      const tensor_allocator *mem, const char *path, char *error) {
    uint64_t size;
    *s = (qkv_io_safetensors){.io = io, .mem = mem ? mem : &tensor_malloc, .path = path, .fd = -1};
    qkv_io_status status = qkv_io_open_file(io, path, &s->fd, &size, error);
    if (status != QKV_IO_OK) return status;
    s->arena = tensor_arena_new(s->mem);
    status = s->arena ? read_head(s, size, error) : unreadable(s, error, ENOMEM);
    if (status == QKV_IO_OK) status = qkv_io_safetensors_parse(s, size, error);
    if (status != QKV_IO_OK) qkv_io_safetensors_close(s);
    return status;
}

void qkv_io_safetensors_close(qkv_io_safetensors *s) {
    if (s->fd >= 0) qkv_io_close(s->io, s->fd);
    if (s->data) s->mem->release(s->mem->ctx, s->data);
    tensor_arena_free(s->arena);
    *s = (qkv_io_safetensors){.fd = -1};
}

/* ---- the data ---- */

static qkv_io_status check_crc(const qkv_io_safetensors *s, char *error) {
    const char *said = qkv_io_safetensors_note(s, QKV_IO_ST_CRC);
    if (!said) return QKV_IO_OK;
    size_t n = QKV_IO_ST_LENGTH + s->header;
    const unsigned char *digits = qkv_io_safetensors_digits(s->head, n);
    if (!digits || strlen(said) != QKV_IO_ST_DIGITS || memcmp(digits, said, QKV_IO_ST_DIGITS) != 0)
        return damaged(s, error, "its checksum cannot be read");
    char is[QKV_IO_ST_DIGITS + 1];
    snprintf(is, sizeof is, "%08x",
             qkv_io_safetensors_crc(s->head, n, digits, s->data, s->data_bytes));
    return strcmp(is, said) == 0 ? QKV_IO_OK
                                 : damaged(s, error, "its checksum is %s and not %s", is, said);
}

qkv_io_status qkv_io_safetensors_load(qkv_io_safetensors *s, char *error) {
    if (s->data) return QKV_IO_OK;
    s->data = s->mem->alloc(s->mem->ctx, s->data_bytes + 1);
    if (!s->data) return unreadable(s, error, ENOMEM);
    qkv_io_status status = read_exactly(s, s->data, s->data_bytes + 1, s->data_bytes, error);
    if (status == QKV_IO_OK && !s->unchecked) status = check_crc(s, error);
    if (status != QKV_IO_OK) {
        s->mem->release(s->mem->ctx, s->data);
        s->data = NULL;
        return status;
    }
    for (int i = 0; i < s->n; i++) s->tensor[i].data = s->data + s->tensor[i].offset;
    return QKV_IO_OK;
}

const qkv_io_stored *qkv_io_safetensors_find(const qkv_io_safetensors *s, const char *name) {
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->tensor[i].name, name) == 0) return &s->tensor[i];
    return NULL;
}

const char *qkv_io_safetensors_note(const qkv_io_safetensors *s, const char *key) {
    for (int i = 0; i < s->n_notes; i++)
        if (strcmp(s->note[i].key, key) == 0) return s->note[i].value;
    return NULL;
}
