/* magnitude.c - how large the attention matrices are: ||W||_F / sqrt(d_model), 1 for an orthogonal map
 * of the whole stream. Matching wants large ones, copying wants 1. "norms.wq" is of the last layer,
 * earlier layers are "norms.layer0.wq". "norms.qk" is the product of the two which make queries and
 * keys: what the scores see of their size. Also the learned temperature. */
#include <math.h>
#include <stdio.h>

#include "train/probe/look.h"
#include "train/study/probe.h"

static void add_layer(qkv_trainer *t, int l, qkv_probe_measures *out) {
    static const char *const names[] = {"wq", "wk", "wv", "wo", "wd"};
    const qkv_config *c = qkv_trainer_config(t);
    nn_attention_config a = qkv_config_model(c, qkv_trainer_spec(t)).attention;
    const char *q_name = nn_attention_matrix(&a, 'q'), *k_name = nn_attention_matrix(&a, 'k');
    double width = sqrt(c->d_model);
    char where[24] = "";
    if (l < qkv_probe_last_layer(t)) snprintf(where, sizeof where, "layer%d.", l);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const ag_param_entry *w = qkv_probe_matrix(t, l, names[i]);
        if (w)
            qkv_probe_measure_add(out, qkv_probe_norm(w->val.x, w->val.n) / width, "norms.%s%s",
                                  where, names[i]);
    }
    const ag_param_entry *q = q_name ? qkv_probe_matrix(t, l, q_name) : NULL;
    const ag_param_entry *k = k_name ? qkv_probe_matrix(t, l, k_name) : NULL;
    const ag_param_entry *temperature = qkv_probe_matrix(t, l, "temperature");
    if (q && k)
        qkv_probe_measure_add(out,
                              qkv_probe_norm(q->val.x, q->val.n) *
                                  qkv_probe_norm(k->val.x, k->val.n) / (width * width),
                              "norms.%sqk", where);
    if (temperature)
        qkv_probe_measure_add(out, (double)temperature->val.x[0], "norms.%stemperature", where);
}

bool qkv_study_probe_run_norms(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    int before = out->n;
    for (int l = 0; l <= qkv_probe_last_layer(t); l++) add_layer(t, l, out);
    return out->n > before || qkv_io_fail(error, "the model has no attention matrices");
}
