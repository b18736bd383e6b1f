/* weights.h - the parameters of a model from a safetensors file of whatever program. */
#pragma once

#include "train/io/io.h"
#include "train/trainer/trainer.h"

/* Replaces all parameters by the tensors of these names: F32, F64, F16 or BF16. A checkpoint's
 * moments and numbers are passed over. QKV_IO_DAMAGED with a sentence that names what is missing,
 * what there is besides, and what has another shape; then, and whenever it is not QKV_IO_OK, the
 * model is as it was. */
qkv_io_status qkv_run_load_weights(const qkv_io *io, qkv_trainer *t, const char *path, char *error);
