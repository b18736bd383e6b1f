/* params.h - parameters kept in a file: saved and loaded by name, in the safetensors format, which
 * Python's safetensors (and so PyTorch, JAX and numpy programs) reads and writes.
 * Source: https://github.com/huggingface/safetensors, "Format".
 *
 *     char error[QKV_IO_ERROR];
 *     if (!qkv_io_params_save(&qkv_io_posix, NULL, "model.safetensors", params, error)) puts(error);
 *     ... in another program, after the same model is recorded:
 *     if (qkv_io_params_load(&qkv_io_posix, NULL, "model.safetensors", params, error)) puts(error);
 *
 * A parameter called "mlp.up.w" of shape [I,O] is the tensor "mlp.up.w" of shape [I,O] in the file,
 * row-major. What an optimiser keeps of it (its moments) is not saved.
 *
 * io: qkv_io_posix, the system's own files; mem: the memory used while at it, NULL: malloc. Nothing stays
 * allocated. A call that fails leaves one sentence in error (QKV_IO_ERROR bytes). */
#pragma once

#include "autograd/ag.h"
#include "train/io/io.h"

TENSOR_C_BEGIN

/* Writes all parameters, frozen ones too, in the order in which they were asked for: as F32, or F64
 * where `real` is double (qkv-double). The file is replaced whole, or stays as it was
 * (qkv_io_write_file). It carries a checksum, the note "crc32", which other readers ignore. */
bool qkv_io_params_save(const qkv_io *io, const tensor_allocator *mem, const char *path,
                        ag_params *p, char *error);

/* Sets all parameters that there are, frozen ones too, to the tensors of their names; a graph that is
 * recorded uses them from its next ag_forward() on. So record the model first, then load.
 *
 * The file must hold exactly these names, each with its parameter's shape. Numbers may be F64, F32, F16
 * or BF16: F64 is rounded to the nearest float where `real` is float, all else is exact. A number that
 * only F64 can hold (1e300) is refused, infinities and NaN are taken as they are. A checksum is
 * compared if there is one: a program that changes a file must leave out the note "crc32".
 *
 * Otherwise: QKV_IO_ABSENT, QKV_IO_FAILED (no memory, too), or QKV_IO_DAMAGED if the file is not
 * whole or does not fit these parameters: then the sentence names what is missing, what there is besides,
 * and what has another shape. Unless QKV_IO_OK no parameter was changed. */
qkv_io_status qkv_io_params_load(const qkv_io *io, const tensor_allocator *mem, const char *path,
                                 ag_params *p, char *error);

TENSOR_C_END
