/* safetensors.c - reading a file: first its header alone, then its data. */
#include "train/safetensors.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "train/config.h"
#include "train/crc32.h"
#include "train/safetensors_internal.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[TRAIN_DTYPES] = {
    [TRAIN_F64] = {"F64", 8},   [TRAIN_F32] = {"F32", 4}, [TRAIN_F16] = {"F16", 2},
    [TRAIN_BF16] = {"BF16", 2}, [TRAIN_I64] = {"I64", 8}, [TRAIN_I32] = {"I32", 4},
    [TRAIN_I16] = {"I16", 2},   [TRAIN_I8] = {"I8", 1},   [TRAIN_U64] = {"U64", 8},
    [TRAIN_U32] = {"U32", 4},   [TRAIN_U16] = {"U16", 2}, [TRAIN_U8] = {"U8", 1},
    [TRAIN_BOOL] = {"BOOL", 1},
};

const char *train_dtype_name(train_dtype d) { return dtypes[d].name; }
size_t train_dtype_size(train_dtype d) { return dtypes[d].size; }

bool train_stored_size(train_dtype dtype, int rank, const size_t *dim, size_t *bytes) {
    size_t product = train_dtype_size(dtype);
    bool empty = false;
    if (rank < 0 || rank > TRAIN_ST_MAXRANK) return false;
    for (int i = 0; i < rank; i++) {
        if (dim[i] == 0) empty = true;
        if (dim[i] != 0 && __builtin_mul_overflow(product, dim[i], &product)) return false;
    }
    *bytes = empty ? 0 : product;
    return true;
}

unsigned char *train_safetensors_digits(unsigned char *head, size_t n) {
    static const char key[] =
        "\"" TRAIN_ST_CRC "\":\"";  // inside another text its quotes would be escaped
    const size_t length = sizeof key - 1;
    for (size_t i = 0; i + length + TRAIN_ST_DIGITS < n; i++)
        if (memcmp(head + i, key, length) == 0) return head + i + length;
    return NULL;
}

uint32_t train_safetensors_crc(const unsigned char *head, size_t n, const unsigned char *digits,
                               const void *data, size_t data_bytes) {
    size_t before = (size_t)(digits - head), after = before + TRAIN_ST_DIGITS;
    uint32_t crc = train_crc32(0, head, before);
    crc = train_crc32(crc, "00000000", TRAIN_ST_DIGITS);
    crc = train_crc32(crc, head + after, n - after);
    return train_crc32(crc, data, data_bytes);
}

/* ---- opening ---- */

static train_file_status damaged(const train_safetensors *s, char *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static train_file_status damaged(const train_safetensors *s, char *error, const char *format, ...) {
    char shown[256], what[200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(error, TRAIN_ERROR, "'%s' is damaged: %s",
             train_printable(s->path, shown, sizeof shown), what);
    return TRAIN_FILE_DAMAGED;
}

static train_file_status unreadable(const train_safetensors *s, char *error, int why) {
    train_io_error(error, "read", s->path, why);
    return TRAIN_FILE_UNREADABLE;
}

/* Reads up to `most` bytes, which must turn out to be n: the file was asked for its size. */
static train_file_status read_exactly(const train_safetensors *s, void *to, size_t most, size_t n,
                                      char *error) {
    char shown[256];
    ssize_t got = train_read_up_to(s->io, s->fd, to, most);
    if (got < 0) return unreadable(s, error, errno);
    if ((size_t)got == n) return TRAIN_FILE_OK;
    snprintf(error, TRAIN_ERROR, "'%s' changed while it was read",
             train_printable(s->path, shown, sizeof shown));
    return TRAIN_FILE_UNREADABLE;
}

/* Reads the length and the header into s->head. */
static train_file_status read_head(train_safetensors *s, uint64_t file_size, char *error) {
    unsigned char length[TRAIN_ST_LENGTH];
    uint64_t header = 0;
    if (file_size < TRAIN_ST_LENGTH)
        return damaged(s, error, "%u bytes are no safetensors file", (unsigned)file_size);
    train_file_status status = read_exactly(s, length, TRAIN_ST_LENGTH, TRAIN_ST_LENGTH, error);
    if (status != TRAIN_FILE_OK) return status;
    for (int i = TRAIN_ST_LENGTH - 1; i >= 0; i--) header = header << 8 | length[i];
    if (header > TRAIN_ST_HEADER)
        return damaged(s, error, "a header of %llu bytes is longer than %d",
                       (unsigned long long)header, TRAIN_ST_HEADER);
    if (header > file_size - TRAIN_ST_LENGTH)
        return damaged(s, error, "a header of %llu bytes does not fit in a file of %llu",
                       (unsigned long long)header, (unsigned long long)file_size);
    s->header = (size_t)header;
    s->head = tensor_arena_take(s->arena, TRAIN_ST_LENGTH + s->header, 1);
    if (!s->head) return unreadable(s, error, ENOMEM);
    memcpy(s->head, length, sizeof length);
    return read_exactly(s, s->head + TRAIN_ST_LENGTH, s->header, s->header, error);
}

train_file_status train_safetensors_open(train_safetensors *s, const train_io *io,
                                         const tensor_allocator *mem, const char *path,
                                         char *error) {
    uint64_t size;
    *s = (train_safetensors){.io = io, .mem = mem ? mem : &tensor_malloc, .path = path, .fd = -1};
    train_file_status status = train_open_file(io, path, &s->fd, &size, error);
    if (status != TRAIN_FILE_OK) return status;
    s->arena = tensor_arena_new(s->mem);
    status = s->arena ? read_head(s, size, error) : unreadable(s, error, ENOMEM);
    if (status == TRAIN_FILE_OK) status = train_safetensors_parse(s, size, error);
    if (status != TRAIN_FILE_OK) train_safetensors_close(s);
    return status;
}

void train_safetensors_close(train_safetensors *s) {
    if (s->fd >= 0) train_close(s->io, s->fd);
    if (s->data) s->mem->release(s->mem->ctx, s->data);
    tensor_arena_free(s->arena);
    *s = (train_safetensors){.fd = -1};
}

/* ---- the data ---- */

static train_file_status check_crc(const train_safetensors *s, char *error) {
    const char *said = train_safetensors_note(s, TRAIN_ST_CRC);
    if (!said) return TRAIN_FILE_OK;
    size_t n = TRAIN_ST_LENGTH + s->header;
    const unsigned char *digits = train_safetensors_digits(s->head, n);
    if (!digits || strlen(said) != TRAIN_ST_DIGITS || memcmp(digits, said, TRAIN_ST_DIGITS) != 0)
        return damaged(s, error, "its checksum cannot be read");
    char is[TRAIN_ST_DIGITS + 1];
    snprintf(is, sizeof is, "%08x",
             train_safetensors_crc(s->head, n, digits, s->data, s->data_bytes));
    return strcmp(is, said) == 0 ? TRAIN_FILE_OK
                                 : damaged(s, error, "its checksum is %s and not %s", is, said);
}

train_file_status train_safetensors_load(train_safetensors *s, char *error) {
    if (s->data) return TRAIN_FILE_OK;
    s->data = s->mem->alloc(s->mem->ctx, s->data_bytes + 1);
    if (!s->data) return unreadable(s, error, ENOMEM);
    train_file_status status = read_exactly(s, s->data, s->data_bytes + 1, s->data_bytes, error);
    if (status == TRAIN_FILE_OK) status = check_crc(s, error);
    if (status != TRAIN_FILE_OK) {
        s->mem->release(s->mem->ctx, s->data);
        s->data = NULL;
        return status;
    }
    for (int i = 0; i < s->n; i++) s->tensor[i].data = s->data + s->tensor[i].offset;
    return TRAIN_FILE_OK;
}

const train_stored *train_safetensors_find(const train_safetensors *s, const char *name) {
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->tensor[i].name, name) == 0) return &s->tensor[i];
    return NULL;
}

const char *train_safetensors_note(const train_safetensors *s, const char *key) {
    for (int i = 0; i < s->n_notes; i++)
        if (strcmp(s->note[i].key, key) == 0) return s->note[i].value;
    return NULL;
}
