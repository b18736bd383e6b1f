/* safetensors_write.c - composing a file in memory, and writing it. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "train/io/safetensors_internal.h"

/* A file that cannot be composed, because of the tensor or note of that name (may be NULL). */
static bool refuse(char *error, const char *path, const char *what, const char *name) {
    char shown[200], which[120];
    qkv_io_fail(error, "cannot write '%s': %s%s%s%s", qkv_io_printable(path, shown, sizeof shown),
                what, name ? " '" : "", name ? qkv_io_printable(name, which, sizeof which) : "",
                name ? "'" : "");
    return false;
}

static json_t *describe(const qkv_io_stored *t, size_t begin) {
    json_t *shape = json_array();
    for (int i = 0; i < t->rank; i++)
        json_array_append_new(shape, json_integer((json_int_t)t->dim[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", qkv_io_dtype_name(t->dtype), "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)(begin + t->bytes));
}

static bool add_notes(json_t *root, const qkv_io_note *notes, int n, const char *path,
                      char *error) {
    json_t *map = json_object();
    json_object_set_new(root, QKV_IO_ST_NOTES, map);
    for (int i = 0; i < n; i++)
        if (json_object_get(map, notes[i].key) ||
            json_object_set_new(map, notes[i].key, json_string(notes[i].value)) != 0)
            return refuse(error, path,
                          "twice the same note, or one that is not UTF-8:", notes[i].key);
    if (json_object_set_new(map, QKV_IO_ST_CRC, json_string("00000000")) == 0) return true;
    return refuse(error, path, "out of memory", NULL);
}

/* The header as JSON, malloc'd by jansson, and the bytes of data. NULL with a sentence. */
static char *header_text(const qkv_io_stored *tensors, int n, const qkv_io_note *notes, int n_notes,
                         size_t *data_bytes, const char *path, char *error) {
    json_t *root = json_object();
    bool ok = add_notes(root, notes, n_notes, path, error);
    *data_bytes = 0;
    for (int i = 0; ok && i < n; i++) {
        const qkv_io_stored *t = &tensors[i];
        size_t bytes, begin = *data_bytes;
        ok = qkv_io_stored_size(t->dtype, t->rank, t->dim, &bytes) && bytes == t->bytes &&
             !__builtin_add_overflow(begin, bytes, data_bytes) && *data_bytes < SIZE_MAX / 4;
        if (!ok)
            refuse(error, path, "its size is not that of its shape: tensor", t->name);
        else if (!(ok = !json_object_get(root, t->name) &&
                        json_object_set_new(root, t->name, describe(t, begin)) == 0))
            refuse(error, path, "twice the same name, or one that is not UTF-8: tensor", t->name);
    }
    char *text = ok ? json_dumps(root, JSON_COMPACT) : NULL;
    if (ok && !text) refuse(error, path, "out of memory", NULL);
    json_decref(root);
    return text;
}

/* The whole file into `to`: length, header filled up with spaces, data, and then the checksum. */
static void compose(unsigned char *to, const char *text, size_t header,
                    const qkv_io_stored *tensors, int n, size_t data_bytes) {
    size_t head = QKV_IO_ST_LENGTH + header, length = strlen(text);
    unsigned char *data = to + head;
    for (int i = 0; i < QKV_IO_ST_LENGTH; i++) to[i] = (unsigned char)((uint64_t)header >> 8 * i);
    memset(to + QKV_IO_ST_LENGTH, ' ', header);
    memcpy(to + QKV_IO_ST_LENGTH, text, length);
    for (int i = 0; i < n; i++) {
        if (tensors[i].bytes) memcpy(data, tensors[i].data, tensors[i].bytes);
        data += tensors[i].bytes;
    }
    unsigned char *digits = qkv_io_safetensors_digits(to, head);
    char crc[QKV_IO_ST_DIGITS + 1];
    snprintf(crc, sizeof crc, "%08x",
             qkv_io_safetensors_crc(to, head, digits, to + head, data_bytes));
    memcpy(digits, crc, QKV_IO_ST_DIGITS);
}

bool qkv_io_safetensors_write(const qkv_io *io, const tensor_allocator *mem, const char *path,
                              const qkv_io_stored *tensors, int n, const qkv_io_note *notes,
                              int n_notes, char *error) {
    size_t data_bytes;
    char *text = header_text(tensors, n, notes, n_notes, &data_bytes, path, error);
    if (!text) return false;
    if (!mem) mem = &tensor_malloc;
    size_t header = (strlen(text) + 7) / 8 * 8, size = QKV_IO_ST_LENGTH + header + data_bytes;
    unsigned char *file = NULL;
    bool ok = header <= QKV_IO_ST_HEADER ||
              refuse(error, path, "its header is longer than a reader accepts", NULL);
    if (ok && !(file = mem->alloc(mem->ctx, size))) ok = refuse(error, path, "out of memory", NULL);
    if (ok) {
        compose(file, text, header, tensors, n, data_bytes);
        ok = qkv_io_write_file(io, path, file, size, error);
    }
    if (file) mem->release(mem->ctx, file);
    free(text);
    return ok;
}
