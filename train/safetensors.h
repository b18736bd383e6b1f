/* safetensors.h - named tensors in one file: 8 bytes with the header's length (little-endian), a
 * JSON header, the data. Python's safetensors reads what is written here.
 * Source: https://github.com/huggingface/safetensors, "Format".
 *
 * The reader takes nothing on trust: it is opened on the header alone, which must account for every
 * byte of the file before anything is allocated for tensors. A file written here carries the note
 * "crc32": the CRC-32 (as zlib's) of the whole file with the note's own eight digits taken as
 * zeros. A file saved by Python with the metadata {"crc32": "00000000", ...} gets it by
 *
 *   raw.replace(b'"crc32":"00000000"', b'"crc32":"%08x"' % zlib.crc32(raw)) */
#ifndef TRAIN_SAFETENSORS_H
#define TRAIN_SAFETENSORS_H

#include "train/io.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TRAIN_ST_MAXRANK = 8, TRAIN_ST_HEADER = 1 << 20 };  // the longest header accepted

typedef enum {
    TRAIN_F64,
    TRAIN_F32,
    TRAIN_F16,
    TRAIN_BF16,
    TRAIN_I64,
    TRAIN_I32,
    TRAIN_I16,
    TRAIN_I8,
    TRAIN_U64,
    TRAIN_U32,
    TRAIN_U16,
    TRAIN_U8,
    TRAIN_BOOL,
    TRAIN_DTYPES
} train_dtype;

const char *train_dtype_name(train_dtype d);  // "F32"
size_t train_dtype_size(train_dtype d);       // 4

/* A tensor in a file. */
typedef struct {
    const char *name;
    train_dtype dtype;
    int rank;
    size_t dim[TRAIN_ST_MAXRANK];
    const void *data;  // `bytes` bytes at no particular alignment: memcpy them
    size_t bytes;      // the product of dim times the dtype's size
    size_t offset;     // where it stands in the data (found by the reader)
} train_stored;

typedef struct {
    const char *key, *value;  // UTF-8
} train_note;

/* Bytes of that many elements: the product of all dimensions times the dtype's size. False when it,
 * or the product of the dimensions that are not 0, would not fit. */
bool train_stored_size(train_dtype dtype, int rank, const size_t *dim, size_t *bytes);

/* Writes tensors in the order given (put those of 8 bytes an element first: then all are aligned)
 * and notes, through train_write_file(). The note "crc32" is added. */
bool train_safetensors_write(const train_io *io, const tensor_allocator *mem, const char *path,
                             const train_stored *tensors, int n, const train_note *notes,
                             int n_notes, char *error);

/* A file being read. */
typedef struct {
    train_stored *tensor;  // [n] in the order of the data
    int n;
    train_note *note;  // [n_notes]
    int n_notes;
    size_t header, data_bytes;  // bytes of the header and of the data
    /* private */
    const train_io *io;
    const tensor_allocator *mem;
    const char *path;
    int fd;
    tensor_arena *arena;
    unsigned char *head, *data;
} train_safetensors;

/* Opens and reads the header; tensor[].data is NULL until it is loaded. On failure there is nothing
 * to close. `path` must stay. mem NULL: tensor_malloc. */
train_file_status train_safetensors_open(train_safetensors *s, const train_io *io,
                                         const tensor_allocator *mem, const char *path,
                                         char *error);

/* Reads the data, and compares the checksum if there is one. */
train_file_status train_safetensors_load(train_safetensors *s, char *error);
void train_safetensors_close(train_safetensors *s);

/* The tensor or note of that name, or NULL. */
const train_stored *train_safetensors_find(const train_safetensors *s, const char *name);
const char *train_safetensors_note(const train_safetensors *s, const char *key);

#ifdef __cplusplus
}
#endif
#endif
