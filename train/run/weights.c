/* weights.c - parameters from a file that another program wrote. */
#include "train/run/weights.h"

#include "train/run/layout.h"

/* What a checkpoint holds beside the weights. */
static bool is_no_weight(const char *name) {
    return qkv_run_layout_is_moment(name) || qkv_run_layout_is_state(name);
}

qkv_io_status qkv_run_load_weights(const qkv_io *io, qkv_trainer *t, const char *path,
                                   char *error) {
    qkv_io_safetensors file;
    qkv_io_status status =
        qkv_io_safetensors_open(&file, io, qkv_trainer_allocator(t), path, error);
    if (status != QKV_IO_OK) return status;
    file.unchecked = file.n == 0 || !qkv_run_layout_is_state(file.tensor[0].name);
    status = qkv_io_params_read(&file, qkv_trainer_params(t), is_no_weight, error);
    qkv_io_safetensors_close(&file);
    return status;
}
