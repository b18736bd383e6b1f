#include "train/probe/sites.h"

#include <stdio.h>
#include <string.h>

#include "tensor/gemm.h"
#include "train/io/given.h"
#include "train/probe/look.h"

/* Fills a site in; false if the model has none of that name. */
static bool find(qkv_trainer *t, qkv_trainer_worker *w, int layer, qkv_probe_site_kind kind,
                 qkv_probe_site *out) {
    static const char *const formats[] = {"encoder%d.attn", "layer%d.attn", "layer%d.cross"};
    const int H = qkv_trainer_config(t)->heads;
    *out = (qkv_probe_site){.kind = kind,
                            .layer = layer,
                            .rows = kind == QKV_PROBE_ENCODER ? DATA_MEMORY : DATA_SEQUENCE,
                            .cols = kind == QKV_PROBE_SELF ? DATA_SEQUENCE : DATA_MEMORY};
    snprintf(out->name, sizeof out->name, formats[kind], layer);
    out->weights = qkv_probe_find(w, "%s.weights", out->name);
    out->mix = qkv_probe_find(w, "%s.mix", out->name);
    out->o = qkv_probe_find(w, "%s.o", out->name);
    if (!out->o)  // without a sum it is the layer's result itself
        out->o = qkv_probe_find(w, "%.*s.out", (int)strcspn(out->name, "."), out->name);
    if (!out->weights || !out->mix || !out->o || out->mix->n_in != 2) return false;
    out->v = out->mix->in[1];
    const tensor_shape s = out->weights->val.shape;
    return s.rank == 4 && s.dim[1] == H && out->v->val.shape.rank == 3;
}

qkv_probe_site *qkv_probe_sites(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena,
                                int *n) {
    const int layers = qkv_trainer_config(t)->layers;
    qkv_probe_site *at = tensor_arena_take(arena, 3 * (size_t)layers, sizeof *at);
    *n = 0;
    for (int l = 0; at && l < layers; l++) *n += find(t, w, l, QKV_PROBE_ENCODER, &at[*n]);
    for (int l = 0; at && l < layers; l++) {
        *n += find(t, w, l, QKV_PROBE_SELF, &at[*n]);
        *n += find(t, w, l, QKV_PROBE_CROSS, &at[*n]);
    }
    return at;
}

bool qkv_probe_no_sites(const qkv_trainer *t, char *error) {
    if (!QKV_IO_GIVEN(error, t)) return false;
    const char *attention = qkv_trainer_attention_name(qkv_trainer_spec(t));
    return qkv_io_fail(
        error,
        "no layer of the block '%.60s' has attention that can be looked at: the nodes "
        "LAYER.%s.weights [B,H,T,S] and LAYER.%s.mix, made of weights and values "
        "[B,S,G*E]; a block of your own names them with ag_name()",
        qkv_trainer_config(t)->block, attention, attention);
}

ag_param_entry *qkv_probe_site_param(qkv_trainer *t, const qkv_probe_site *site, const char *name) {
    return qkv_probe_param(t, "%s.%s", site->name, name);
}

/* ---- matrices as they act on the stream ---- */

/* The norm between the stream and what the role reads; NULL: none. */
static ag_param_entry *gain_before(qkv_trainer *t, const qkv_probe_site *site, char role) {
    char name[64];
    if (site->kind == QKV_PROBE_CROSS && role != 'q')
        snprintf(name, sizeof name, "encoder.norm.gain");
    else
        snprintf(name, sizeof name, "%s%d.%s.gain",
                 site->kind == QKV_PROBE_ENCODER ? "encoder" : "layer", site->layer,
                 site->kind == QKV_PROBE_CROSS ? "norm_cross" : "norm1");
    return ag_params_find(qkv_trainer_params(t), name);
}

/* w [D,E] = gain w, centred over its rows in layer norm. */
static void fold(const ag_param_entry *gain, bool centred, int D, int E, real *w) {
    for (int e = 0; e < E; e++) {
        real mean = 0;
        for (int d = 0; d < D; d++) mean += (w[d * E + e] *= gain->val.x[d]) / (real)D;
        for (int d = 0; centred && d < D; d++) w[d * E + e] -= mean;
    }
}

bool qkv_probe_site_reads(qkv_trainer *t, const qkv_probe_site *site, int head, char role,
                          tensor_arena *arena, real *out) {
    const qkv_config *c = qkv_trainer_config(t);
    const nn_attention_config a = qkv_config_model(c, qkv_trainer_spec(t)).attention;
    const int D = c->d_model, E = role == 'v' ? c->d_v : c->d_k;
    const int first = (role == 'q' ? head : head / (c->heads / c->kv_heads)) * E;
    const char *matrix = nn_attention_matrix(&a, role);
    const ag_param_entry *w = matrix ? qkv_probe_site_param(t, site, matrix) : NULL;
    const ag_param_entry *latent = role != 'q' ? qkv_probe_site_param(t, site, "wd") : NULL;
    const int I = latent ? latent->val.shape.dim[1] : D;
    real *own = latent ? tensor_arena_reals(arena, (size_t)I * (size_t)E) : out;
    if (!own) return false;
    for (int i = 0; i < I; i++)
        for (int e = 0; e < E; e++)
            own[i * E + e] =
                w ? w->val.x[(ptrdiff_t)i * w->val.shape.dim[1] + first + e] : i == first + e;
    if (latent)
        gemm_mul(GEMM_SET, D, E, I, (gemm_view){latent->val.x, I, 1}, (gemm_view){own, E, 1}, out,
                 E);
    const ag_param_entry *gain = gain_before(t, site, role);
    if (gain) fold(gain, c->norm == NN_NORM_LAYER, D, E, out);
    return true;
}

void qkv_probe_site_writes(qkv_trainer *t, const qkv_probe_site *site, int head, real *out) {
    const qkv_config *c = qkv_trainer_config(t);
    const int D = c->d_model, E = c->d_v;
    const ag_param_entry *wo = qkv_probe_site_param(t, site, "wo");
    for (int e = 0; e < E; e++)
        for (int d = 0; d < D; d++)
            out[e * D + d] = wo ? wo->val.x[(ptrdiff_t)(head * E + e) * D + d] : head * E + e == d;
}
