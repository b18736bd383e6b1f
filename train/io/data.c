/* data.c - how tasks read files. */
#include <stdio.h>

#include "data/data.h"
#include "train/io/io.h"

static bool read_bytes(void *ctx, const char *path, char **bytes, size_t *n, char *error,
                       size_t size) {
    char why[QKV_IO_ERROR];
    void *data;
    (void)ctx;
    qkv_io_status s = qkv_io_read_file(&qkv_io_posix, NULL, path, (size_t)1 << 32, &data, n, why);
    *bytes = data;
    if (s != QKV_IO_OK) snprintf(error, size, "%s", why);
    return s == QKV_IO_OK;
}

static void release_bytes(void *ctx, char *bytes) {
    (void)ctx;
    tensor_malloc.release(tensor_malloc.ctx, bytes);
}

const data_files qkv_io_data = {read_bytes, release_bytes, NULL};
