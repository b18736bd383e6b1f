/* npy.c - a tensor in numpy's format. */
#include "train/io/npy.h"
#include "train/io/given.h"

#include <stdio.h>
#include <string.h>

/* "(2, 3)", "(3,)", "()" */
static void shape_text(tensor_shape s, char *out, size_t size) {
    int n = snprintf(out, size, "(");
    for (int i = 0; i < s.rank; i++)
        n += snprintf(out + n, size - (size_t)n, i ? ", %d" : "%d", s.dim[i]);
    snprintf(out + n, size - (size_t)n, s.rank == 1 ? ",)" : ")");
}

/* Magic, version, length, and a header filled up with blanks so that the numbers begin at a
 * multiple of 64 bytes. Returns its length. */
static size_t write_header(tensor_shape s, unsigned char *out, size_t size) {
    enum { FIXED = 10, ALIGN = 64 };
    char shape[80], *header = (char *)out + FIXED;
    shape_text(s, shape, sizeof shape);
    memset(out, ' ', size);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    int n =
        snprintf(header, size - FIXED, "{'descr': '%cf%d', 'fortran_order': False, 'shape': %s, }",
                 __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>', (int)sizeof(real), shape);
    header[n] = ' ';  // where the text ended
    size_t whole = ((size_t)n + 1 + FIXED + ALIGN - 1) / ALIGN * ALIGN, length = whole - FIXED;
    out[8] = (unsigned char)(length & 255);
    out[9] = (unsigned char)(length >> 8);
    out[whole - 1] = '\n';
    return whole;
}

bool qkv_io_npy_write(const qkv_io *io, const char *path, const tensor *x, char *error) {
    if (!QKV_IO_GIVEN(error, path, x)) return false;
    unsigned char header[256];
    size_t n = write_header(x->shape, header, sizeof header), bytes = x->n * sizeof(real);
    unsigned char *file = tensor_malloc.alloc(tensor_malloc.ctx, n + bytes);
    if (!file) return qkv_io_fail(error, "out of memory");
    memcpy(file, header, n);
    if (bytes) memcpy(file + n, x->x, bytes);
    bool ok = qkv_io_write_file(io, path, file, n + bytes, error);
    tensor_malloc.release(tensor_malloc.ctx, file);
    return ok;
}
