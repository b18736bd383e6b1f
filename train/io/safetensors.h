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
#pragma once

#include "autograd/ag.h"
#include "train/io/io.h"

enum { QKV_IO_ST_MAXRANK = 8, QKV_IO_ST_HEADER = 1 << 20 };  // the longest header accepted
enum { QKV_IO_ST_WHAT = QKV_IO_ERROR - 160 };                // room for half a sentence

typedef enum {
    QKV_IO_F64,
    QKV_IO_F32,
    QKV_IO_F16,
    QKV_IO_BF16,
    QKV_IO_I64,
    QKV_IO_I32,
    QKV_IO_I16,
    QKV_IO_I8,
    QKV_IO_U64,
    QKV_IO_U32,
    QKV_IO_U16,
    QKV_IO_U8,
    QKV_IO_BOOL,
    QKV_IO_DTYPES
} qkv_io_dtype;

const char *qkv_io_dtype_name(qkv_io_dtype d);  // "F32"
size_t qkv_io_dtype_size(qkv_io_dtype d);       // 4

/* A tensor in a file. */
typedef struct {
    const char *name;
    qkv_io_dtype dtype;
    int rank;
    uint64_t dim[QKV_IO_ST_MAXRANK];
    const void *data;  // `bytes` bytes at no particular alignment: memcpy them
    uint64_t bytes;    // the product of dim times the dtype's size
    uint64_t offset;   // where it stands in the data (found by the reader)
} qkv_io_stored;

typedef struct {
    const char *key, *value;  // UTF-8
} qkv_io_note;

/* Bytes of that many elements: the product of all dimensions times the dtype's size. False when it,
 * or the product of the dimensions that are not 0, would not fit. */
bool qkv_io_stored_size(qkv_io_dtype dtype, int rank, const uint64_t *dim, uint64_t *bytes);

/* Composes a file of tensors in the order given (put those of 8 bytes an element first: then all are
 * aligned) and notes; the note "crc32" is added. *file, of *size bytes, is released by the caller
 * through mem->release (mem NULL: tensor_malloc). `path`: what the sentence of a failure names. */
bool qkv_io_safetensors_compose(const tensor_allocator *mem, const char *path,
                                const qkv_io_stored *tensors, int n, const qkv_io_note *notes,
                                int n_notes, void **file, size_t *size, char *error);

/* The same into a file, through qkv_io_write_file(). */
bool qkv_io_safetensors_write(const qkv_io *io, const tensor_allocator *mem, const char *path,
                              const qkv_io_stored *tensors, int n, const qkv_io_note *notes,
                              int n_notes, char *error);

/* A file being read. */
typedef struct {
    qkv_io_stored *tensor;  // [n] in the order of the data
    int n;
    qkv_io_note *note;  // [n_notes]
    int n_notes;
    size_t header, data_bytes;  // bytes of the header and of the data
    /* To be set before loading: the note "crc32" is of an earlier file, which another program copied
     * it from, and is not looked at. */
    bool unchecked;
    /* private */
    const qkv_io *io;
    const tensor_allocator *mem;
    const char *path;
    int fd;
    tensor_arena *arena;
    unsigned char *head, *data;
} qkv_io_safetensors;

/* Opens and reads the header; tensor[].data is NULL until it is loaded. On failure there is nothing
 * to close. `path` must stay. mem NULL: tensor_malloc. */
qkv_io_status qkv_io_safetensors_open(qkv_io_safetensors *s, const qkv_io *io,
                                      const tensor_allocator *mem, const char *path, char *error);

/* Reads the data, and compares the checksum if there is one. */
qkv_io_status qkv_io_safetensors_load(qkv_io_safetensors *s, char *error);
void qkv_io_safetensors_close(qkv_io_safetensors *s);

/* The tensor of that name in a list, or NULL; it is looked for at i first. */
const qkv_io_stored *qkv_io_stored_find(const qkv_io_stored *list, int n, int i, const char *name);

/* Is it a name that a file may have besides what is wanted of it? */
typedef bool qkv_io_besides_fn(const char *name);

/* Are the tensors of a file those that are wanted, by name, shape and dtype (any_real: or another of
 * F64, F32, F16, BF16), and no others but those `besides` (NULL: none)? False: what is missing, what
 * there is besides and what is different, as half a sentence in `what` (QKV_IO_ST_WHAT bytes). */
bool qkv_io_safetensors_fits(const qkv_io_safetensors *file, const qkv_io_stored *want, int n,
                             bool any_real, qkv_io_besides_fn *besides, char *what);

/* A tensor of the library as one in a file. */
qkv_io_stored qkv_io_stored_of(const char *name, const tensor *x);

/* The numbers of a tensor in a file, of any of the four real dtypes, as n `real`. */
void qkv_io_stored_read(const qkv_io_stored *from, real *to, size_t n);

/* As qkv_io_params_load() (params.h), of a file that is open: loads its data. */
qkv_io_status qkv_io_params_read(qkv_io_safetensors *file, ag_params *p, qkv_io_besides_fn *besides,
                                 char *error);

/* The tensor or note of that name, or NULL. */
const qkv_io_stored *qkv_io_safetensors_find(const qkv_io_safetensors *s, const char *name);
const char *qkv_io_safetensors_note(const qkv_io_safetensors *s, const char *key);
