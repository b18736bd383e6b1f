/* npy.h - numpy's file format, version 1.0: six magic bytes, the version, the length of a header, a
 * header that is a Python dictionary, the numbers.
 * Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#pragma once

#include "tensor/shape.h"
#include "train/io/io.h"

TENSOR_C_BEGIN

/* Writes a tensor, as float32 or float64 after this build's `real`, through qkv_io_write_file(). */
bool qkv_io_npy_write(const qkv_io *io, const char *path, const tensor *x, char *error);

TENSOR_C_END
