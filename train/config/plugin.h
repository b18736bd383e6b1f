/* plugin.h - your own ops, layers, blocks and tasks, for the command line.
 *
 * A plugin is one C file (or a shared object made from it) that defines
 *
 *     const qkv_config_plugin qkv_plugin = {
 *         QKV_CONFIG_PLUGIN_ABI, sizeof(real), .tasks = tasks, .blocks = blocks};
 *
 * and is named with --plugin: its tasks are trained with --task, its blocks with --block, and qkv
 * gradcheck checks its ops, layers and blocks. It calls the library that is inside the program;
 * nothing needs to be linked. */
#pragma once

#include "data/data.h"
#include "layers/nn.h"

TENSOR_C_BEGIN

enum { QKV_CONFIG_PLUGIN_ABI = 4 };

typedef struct {
    const char *name, *summary;
    nn_block_fn *block;
    /* The i-th example for the gradient check; NULL ends the list. Not to be left out. */
    ag_node *(*sample)(ag_graph *g, int i);
    bool has_kinks;  // as in ag_op
} qkv_config_plugin_block;

typedef struct qkv_config_plugin {
    int abi, real_size;             // of the headers it was compiled with
    const data_task *const *tasks;  // each list ends with NULL (a NULL name); may be NULL itself
    const qkv_config_plugin_block *blocks;
    const ag_op *const *ops;
    const nn_layer *layers;
} qkv_config_plugin;

extern const qkv_config_plugin qkv_plugin;  // what a plugin defines

TENSOR_C_END
