/* resolve.c - from options to a model: what belongs together, and what "0: ..." stands for. */
#include <stdio.h>
#include <string.h>

#include "train/config/config.h"
#include "train/config/plugin.h"
#include "train/io/given.h"

const data_task *qkv_config_task_at(const qkv_config_plugin *plugin, int i) {
    const data_task *const *own = plugin ? plugin->tasks : NULL;
    int n = 0;
    for (; own && own[n]; n++)
        if (n == i) return own[i];
    for (int k = 0; k < i - n; k++)
        if (!data_tasks[k]) return NULL;
    return data_tasks[i - n];
}

const data_task *qkv_config_task(const qkv_config *c) {
    const data_task *task;
    for (int i = 0; (task = qkv_config_task_at(c->plugin, i)); i++)
        if (strcmp(task->name, c->task) == 0) return task;
    return NULL;
}

bool qkv_config_no_task(const qkv_config *c, char *error) {
    if (!QKV_IO_GIVEN(error, c)) return false;
    return qkv_io_fail(
        error, "there is no task '%.60s' (qkv list tasks; a plugin's own need --plugin)", c->task);
}

nn_block_fn *qkv_config_block(const qkv_config *c) {
    const qkv_config_plugin_block *own = c->plugin ? c->plugin->blocks : NULL;
    for (int i = 0; own && own[i].name; i++)
        if (strcmp(own[i].name, c->block) == 0) return own[i].block;
    for (const nn_block_kind *b = nn_block_kinds; b->name; b++)
        if (strcmp(b->name, c->block) == 0) return b->block;
    return NULL;
}

static bool resolve_task(qkv_config *c, data_spec *spec, char *error) {
    const data_task *task = qkv_config_task(c);
    if (!task) return qkv_config_no_task(c, error);
    if (!qkv_config_block(c)) {
        qkv_io_fail(error, "there is no block '%.60s' (a plugin's own need --plugin)", c->block);
        return false;
    }
    if (!data_configure_from(task, &c->of_task, &qkv_io_data, spec, error, QKV_IO_ERROR))
        return false;
    c->of_task = spec->options;
    return true;
}

static bool fits_task(const qkv_config *c, const data_spec *spec, char *error) {
    bool across = c->arch == QKV_CONFIG_ARCH_CROSS || c->arch == QKV_CONFIG_ARCH_ENCODER_DECODER;
    bool has_memory = spec->side[DATA_MEMORY].T > 0;
    if (c->readout == NN_READOUT_LOCAL && c->d_model % spec->n_readouts)
        return qkv_io_fail(error, "%d readouts do not divide the width %d", spec->n_readouts,
                           c->d_model);
    if (c->arch == QKV_CONFIG_ARCH_TASK) return true;
    if (across == has_memory) return true;
    qkv_io_fail(error,
                has_memory ? "the task '%s' has a memory: --arch cross or encoder-decoder"
                           : "the task '%s' has no memory: --arch decoder or encoder",
                c->task);
    return false;
}

static bool resolve_heads(qkv_config *c, char *error) {
    if ((!c->d_k || !c->d_v) && c->d_model % c->heads)
        return qkv_io_fail(error, "%d heads do not divide the width %d", c->heads, c->d_model);
    if (!c->d_k) c->d_k = c->d_model / c->heads;
    if (!c->d_v) c->d_v = c->d_model / c->heads;
    if (!c->kv_heads) c->kv_heads = c->heads;
    if (c->heads % c->kv_heads)
        return qkv_io_fail(error, "%d key/value heads do not divide %d heads", c->kv_heads,
                           c->heads);
    if (c->positions == NN_POSITIONS_ROTARY && c->d_k % 2)
        return qkv_io_fail(error, "rotary positions need an even d-k, it is %d", c->d_k);
    return true;
}

/* Ties need equal shapes, and an input taken as it is must have the width that the heads want. */
static bool resolve_projections(const qkv_config *c, char *error) {
    nn_tie tie = (nn_tie)c->tie;
    bool q_tied = tie == NN_TIE_QK || tie == NN_TIE_QV || tie == NN_TIE_QKV,
         v_tied = tie != NN_TIE_NONE && tie != NN_TIE_QK;
    int input = c->latent ? c->latent : c->d_model;
    if (q_tied && c->heads != c->kv_heads)
        return qkv_io_fail(
            error, "Q cannot be tied: there are %d heads of queries and %d of keys and values",
            c->heads, c->kv_heads);
    if (q_tied && c->latent)
        return qkv_io_fail(error, "Q cannot be tied: keys and values come from a latent of %d",
                           c->latent);
    if (v_tied && c->d_k != c->d_v)
        return qkv_io_fail(error, "V cannot be tied: d-k is %d and d-v %d", c->d_k, c->d_v);
    if (!c->wq && c->heads * c->d_k != c->d_model)
        return qkv_io_fail(error, "without W^Q the heads' d-k must add up to the width: %d, not %d",
                           c->d_model, c->heads * c->d_k);
    if (!c->wk && c->kv_heads * c->d_k != input)
        return qkv_io_fail(error, "without W^K the heads' d-k must add up to the width: %d, not %d",
                           input, c->kv_heads * c->d_k);
    if (!c->wv && c->kv_heads * c->d_v != input)
        return qkv_io_fail(error, "without W^V the heads' d-v must add up to the width: %d, not %d",
                           input, c->kv_heads * c->d_v);
    if (!c->wo && c->heads * c->d_v != c->d_model)
        return qkv_io_fail(error, "without W^O the heads' d-v must add up to the width: %d, not %d",
                           c->d_model, c->heads * c->d_v);
    return true;
}

/* A schedule's length is fixed when its run first starts: it does not change when --steps does. */
static bool resolve_schedule(qkv_config *c, char *error) {
    if (c->schedule == QKV_OPTIM_CONSTANT) return true;
    if (!c->schedule_steps) c->schedule_steps = c->steps;
    if (c->schedule == QKV_OPTIM_WSD && !c->decay) c->decay = (c->schedule_steps + 9) / 10;
    if (c->least_lr > c->lr)
        return qkv_io_fail(error, "--least-lr %g is more than --lr %g", c->least_lr, c->lr);
    return true;
}

static bool resolve_ending(qkv_config *c, char *error) {
    if (qkv_config_from_is_file(c->from)) c->moments = false;  // a file of weights has none
    if (c->until_accuracy > 0 && c->readout == NN_READOUT_VECTOR)
        return qkv_io_fail(error, "--until-accuracy: --readout vector has no accuracy");
    if (!*c->from && (!c->moments || *c->from_checksum))
        return qkv_io_fail(error, "--%s belongs to --from",
                           c->moments ? "from-checksum" : "no-moments");
    return true;
}

/* The embedding's table that answers in a readout: of the stream of that name. */
static const data_stream *answering(const data_spec *s, const char *readout) {
    for (int side = 0; side < DATA_SIDES; side++)
        for (int i = 0; s->side[side].T && i < s->side[side].n_streams; i++)
            if (strcmp(s->side[side].stream[i].name, readout) == 0) return &s->side[side].stream[i];
    return NULL;
}

/* --tie-unembedding needs a table for each readout, as large as its answers. */
static bool can_tie(const qkv_config *c, const data_spec *s, char *error) {
    if (!c->tie_unembedding || c->readout == NN_READOUT_VECTOR) return true;
    if (c->readout == NN_READOUT_LOCAL && s->n_readouts > 1)
        return qkv_io_fail(
            error,
            "--tie-unembedding: an embedding is %d wide, and with --readout local an "
            "answer reads %d of that; choose one of the two",
            c->d_model, c->d_model / s->n_readouts);
    for (int r = 0; r < s->n_readouts; r++) {
        const data_readout *out = &s->readout[r];
        const data_stream *table = answering(s, out->name);
        if (!table)
            return qkv_io_fail(error,
                               "--tie-unembedding: the task '%s' answers with a '%.60s' and embeds "
                               "none, so there is no table to tie to",
                               c->task, out->name);
        if (table->vocab < out->classes)
            return qkv_io_fail(error,
                               "--tie-unembedding: the task '%s' has %d answers '%.60s', and an "
                               "embedding of %d; they cannot be one table",
                               c->task, out->classes, out->name, table->vocab);
    }
    return true;
}

bool qkv_config_resolve(qkv_config *c, data_spec *spec, char *error) {
    if (!QKV_IO_GIVEN(error, c, spec)) return false;
    if (!resolve_task(c, spec, error)) return false;
    if (resolve_schedule(c, error) && resolve_ending(c, error) && fits_task(c, spec, error) &&
        resolve_heads(c, error) && resolve_projections(c, error) && can_tie(c, spec, error))
        return true;
    data_release(spec);
    return false;
}

static ag_mask mask_of(const qkv_config *c, const data_spec *spec) {
    bool by_task = c->mask == QKV_CONFIG_MASK_TASK && c->arch != QKV_CONFIG_ARCH_DECODER &&
                   c->arch != QKV_CONFIG_ARCH_ENCODER;
    bool causal = c->mask == QKV_CONFIG_MASK_CAUSAL;
    if (c->mask == QKV_CONFIG_MASK_TASK || c->mask == QKV_CONFIG_MASK_MEMORY)
        causal = c->arch == QKV_CONFIG_ARCH_DECODER ||
                 (c->arch != QKV_CONFIG_ARCH_ENCODER && spec->sees == DATA_CAUSAL);
    bool memory = c->mask == QKV_CONFIG_MASK_MEMORY || (by_task && spec->sees == DATA_ENTRIES);
    memory = memory && spec->store == DATA_SEQUENCE;
    return (ag_mask){.causal = causal, .no_self = !c->self, .memory = memory ? spec->entries : 0};
}

qkv_optim_settings qkv_config_optim(const qkv_config *c) {
    size_t length;
    int first = c->moments ? 0 : qkv_config_from_step(c->from, &length);
    return (qkv_optim_settings){
        .method = c->optimizer,
        .first_step = first,
        .schedule = {.kind = c->schedule,
                     .peak = c->lr,
                     .warmup = c->warmup,
                     .steps = c->schedule_steps ? c->schedule_steps : c->steps,
                     .least = c->least_lr,
                     .decay = c->decay},
        .momentum = c->momentum,
        .beta1 = c->beta1,
        .beta2 = c->beta2,
        .eps = c->eps,
        .weight_decay = c->weight_decay,
        .clip = c->clip};
}

nn_model_config qkv_config_model(const qkv_config *c, const data_spec *spec) {
    nn_init init = {
        .uniform = c->init == QKV_CONFIG_INIT_UNIFORM, .gain = c->init_gain, .bias = c->bias};
    bool encodes = c->arch == QKV_CONFIG_ARCH_ENCODER_DECODER,
         across = spec->side[DATA_MEMORY].T > 0;
    return (nn_model_config){.block = qkv_config_block(c),
                             .layers = c->layers,
                             .d_model = c->d_model,
                             .d_ff = c->d_ff,
                             .encoder_layers = encodes ? c->layers : 0,
                             .self_attention = encodes || !across,
                             .attention = {.heads = c->heads,
                                           .kv_heads = c->kv_heads,
                                           .d_k = c->d_k,
                                           .d_v = c->d_v,
                                           .latent = c->latent,
                                           .tie = (nn_tie)c->tie,
                                           .plain_q = !c->wq,
                                           .plain_k = !c->wk,
                                           .plain_v = !c->wv,
                                           .plain_o = !c->wo,
                                           .scale = (nn_scale)c->scale,
                                           .rotary = c->positions == NN_POSITIONS_ROTARY,
                                           .alibi = c->positions == NN_POSITIONS_ALIBI,
                                           .qk_norm = c->qk_norm,
                                           .softmax_one = c->softmax_one,
                                           .soft_cap = c->soft_cap,
                                           .gated = c->scores_from > 0,
                                           .dropout = c->dropout,
                                           .mask = mask_of(c, spec),
                                           .init = init},
                             .norm = (nn_norm_kind)c->norm,
                             .post_norm = c->post_norm,
                             .activation = (nn_activation)c->activation,
                             .positions = (nn_positions)c->positions,
                             .token_shift = c->token_shift,
                             .residual = c->residual,
                             .tied_unembedding = c->tie_unembedding,
                             .readout = (nn_readout_kind)c->readout,
                             .embed_init = (nn_embed_init)c->embed_init,
                             .embed_std = c->embed_std,
                             .dropout = c->dropout,
                             .label_smoothing = c->label_smoothing,
                             .init = init};
}
