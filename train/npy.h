/* npy.h - numpy's file format, version 1.0: six magic bytes, the version, the length of a header, a
 * header that is a Python dictionary, the numbers.
 * Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#ifndef TRAIN_NPY_H
#define TRAIN_NPY_H

#include "tensor/shape.h"
#include "train/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes a tensor, as float32 or float64 after this build's `real`, through train_write_file(). */
bool train_npy_write(const train_io *io, const char *path, const tensor *x, char *error);

#ifdef __cplusplus
}
#endif
#endif
