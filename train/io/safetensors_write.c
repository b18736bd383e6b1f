/* safetensors_write.c - composing a file in memory, and writing it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/json.h"
#include "train/io/safetensors_internal.h"

/* A file that cannot be composed, because of the tensor or note of that name (may be NULL). */
static bool refuse(char *error, const char *path, const char *what, const char *name) {
    char shown[200], which[120];
    qkv_io_fail(error, "cannot write '%s': %s%s%s%s", qkv_io_printable(path, shown, sizeof shown),
                what, name ? " '" : "", name ? qkv_io_printable(name, which, sizeof which) : "",
                name ? "'" : "");
    return false;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Are names no two of which are the same, nor one that is taken, and all UTF-8? The names are sorted. */
static bool are_names(const char **name, int n, const char *taken, const char **bad) {
    if (n) qsort(name, (size_t)n, sizeof *name, by_text);
    for (int i = 0; i < n; i++) {
        *bad = name[i];
        if (!qkv_io_json_can_put(name[i]) || strcmp(name[i], taken) == 0 ||
            (i && strcmp(name[i], name[i - 1]) == 0))
            return false;
    }
    return true;
}

static void put_notes(qkv_io_text *out, const qkv_io_note *notes, int n) {
    qkv_io_text_add(out, "{\"" QKV_IO_ST_NOTES "\":{");
    for (int i = 0; i < n; i++) {
        qkv_io_json_put(out, notes[i].key);
        qkv_io_text_put(out, ":", 1);
        qkv_io_json_put(out, notes[i].value);
        qkv_io_text_put(out, ",", 1);
    }
    qkv_io_text_add(out, "\"" QKV_IO_ST_CRC "\":\"00000000\"}");
}

static void put_tensor(qkv_io_text *out, const qkv_io_stored *t, uint64_t begin) {
    qkv_io_text_put(out, ",", 1);
    qkv_io_json_put(out, t->name);
    qkv_io_text_add(out, ":{\"dtype\":\"%s\",\"shape\":[", qkv_io_dtype_name(t->dtype));
    for (int i = 0; i < t->rank; i++) qkv_io_text_add(out, "%s%" PRIu64, i ? "," : "", t->dim[i]);
    qkv_io_text_add(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, begin + t->bytes);
}

/* May they stand in one file? */
static bool check(tensor_arena *arena, const qkv_io_stored *tensors, int n,
                  const qkv_io_note *notes, int n_notes, const char *path, char *error) {
    const char *bad, **name = tensor_arena_take(arena, (size_t)(n + n_notes), sizeof *name);
    if (!name) return refuse(error, path, "out of memory", NULL);
    for (int i = 0; i < n_notes; i++) name[i] = notes[i].key;
    if (!are_names(name, n_notes, QKV_IO_ST_CRC, &bad))
        return refuse(error, path, "twice the same note, or one that is not UTF-8:", bad);
    for (int i = 0; i < n_notes; i++)
        if (!qkv_io_json_can_put(notes[i].value))
            return refuse(error, path,
                          "twice the same note, or one that is not UTF-8:", notes[i].key);
    for (int i = 0; i < n; i++) {
        uint64_t bytes;
        if (!qkv_io_stored_size(tensors[i].dtype, tensors[i].rank, tensors[i].dim, &bytes) ||
            bytes != tensors[i].bytes || bytes > SIZE_MAX / 4)
            return refuse(error, path, "its size is not that of its shape: tensor",
                          tensors[i].name);
        name[i] = tensors[i].name;
    }
    return are_names(name, n, QKV_IO_ST_NOTES, &bad) ||
           refuse(error, path, "twice the same name, or one that is not UTF-8: tensor", bad);
}

/* The header, filled up with spaces, and the bytes of data. */
static bool put_header(qkv_io_text *out, const qkv_io_stored *tensors, int n,
                       const qkv_io_note *notes, int n_notes, uint64_t *data_bytes) {
    *data_bytes = 0;
    put_notes(out, notes, n_notes);
    for (int i = 0; i < n; i++) {
        put_tensor(out, &tensors[i], *data_bytes);
        if (__builtin_add_overflow(*data_bytes, tensors[i].bytes, data_bytes)) return false;
    }
    qkv_io_text_put(out, "}", 1);
    while (out->n % QKV_IO_ST_LENGTH && !out->failed) qkv_io_text_put(out, " ", 1);
    return !out->failed && *data_bytes < SIZE_MAX / 4;
}

/* The whole file into `to`: length, header, data, and then the checksum. */
static void fill(unsigned char *to, const qkv_io_text *header, const qkv_io_stored *tensors, int n,
                 size_t data_bytes) {
    const size_t head = QKV_IO_ST_LENGTH + header->n;
    unsigned char *data = to + head;
    for (int i = 0; i < QKV_IO_ST_LENGTH; i++)
        to[i] = (unsigned char)((uint64_t)header->n >> 8 * i);
    memcpy(to + QKV_IO_ST_LENGTH, header->at, header->n);
    for (int i = 0; i < n; i++) {
        const size_t bytes = (size_t)tensors[i].bytes;
        if (bytes) memcpy(data, tensors[i].data, bytes);
        data += bytes;
    }
    unsigned char *digits = qkv_io_safetensors_digits(to, head);
    char crc[QKV_IO_ST_DIGITS + 1];
    snprintf(crc, sizeof crc, "%08x",
             qkv_io_safetensors_crc(to, head, digits, to + head, data_bytes));
    memcpy(digits, crc, QKV_IO_ST_DIGITS);
}

static bool compose(tensor_arena *arena, const tensor_allocator *mem, const char *path,
                    const qkv_io_stored *tensors, int n, const qkv_io_note *notes, int n_notes,
                    void **file, size_t *size, char *error) {
    uint64_t data_bytes;
    qkv_io_text header = {.arena = arena};
    if (!check(arena, tensors, n, notes, n_notes, path, error)) return false;
    if (!put_header(&header, tensors, n, notes, n_notes, &data_bytes))
        return refuse(error, path, "out of memory", NULL);
    if (header.n > QKV_IO_ST_HEADER)
        return refuse(error, path, "its header is longer than a reader accepts", NULL);
    *size = QKV_IO_ST_LENGTH + header.n + (size_t)data_bytes;
    *file = mem->alloc(mem->ctx, *size);
    if (!*file) return refuse(error, path, "out of memory", NULL);
    fill(*file, &header, tensors, n, (size_t)data_bytes);
    return true;
}

bool qkv_io_safetensors_compose(const tensor_allocator *mem, const char *path,
                                const qkv_io_stored *tensors, int n, const qkv_io_note *notes,
                                int n_notes, void **file, size_t *size, char *error) {
    if (!QKV_IO_GIVEN(error, path, file, size)) return false;
    if (!mem) mem = &tensor_malloc;
    tensor_arena *arena = tensor_arena_new(mem);
    bool ok = compose(arena, mem, path, tensors, n, notes, n_notes, file, size, error);
    tensor_arena_free(arena);
    return ok;
}

bool qkv_io_safetensors_write(const qkv_io *io, const tensor_allocator *mem, const char *path,
                              const qkv_io_stored *tensors, int n, const qkv_io_note *notes,
                              int n_notes, char *error) {
    void *file;
    size_t size;
    if (!QKV_IO_GIVEN(error, path)) return false;
    if (!mem) mem = &tensor_malloc;
    if (!qkv_io_safetensors_compose(mem, path, tensors, n, notes, n_notes, &file, &size, error))
        return false;
    bool ok = qkv_io_write_file(io, path, file, size, error);
    mem->release(mem->ctx, file);
    return ok;
}
