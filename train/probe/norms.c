/* norms.c - how large the attention matrices are: ||W||_F / sqrt(d_model), 1 for an orthogonal map
 * of the whole stream. Matching wants large ones, copying wants 1. "norms.wq" is of the last layer,
 * earlier layers are "norms.layer0.wq". "norms.qk" is the product of the two which make queries and
 * keys: what the scores see of their size. Also the learned temperature. */
#include <math.h>
#include <stdio.h>

#include "train/probe/look.h"
#include "train/probe/measure.h"

static double frobenius(const ag_param_entry *w) {
    double squares = 0;
    for (size_t i = 0; i < w->val.n; i++) squares += (double)w->val.x[i] * (double)w->val.x[i];
    return sqrt(squares);
}

static void add_layer(train_trainer *t, int l, train_measures *out) {
    static const char *const names[] = {"wq", "wk", "wv", "wo", "wd"};
    const train_config *c = train_trainer_config(t);
    nn_attention_config a = train_model_config(c, train_trainer_spec(t)).attention;
    const char *q_name = nn_attention_matrix(&a, 'q'), *k_name = nn_attention_matrix(&a, 'k');
    double width = sqrt(c->d_model);
    char where[24] = "";
    if (l < train_last(t)) snprintf(where, sizeof where, "layer%d.", l);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const ag_param_entry *w = train_matrix(t, l, names[i]);
        if (w) train_measure_add(out, frobenius(w) / width, "norms.%s%s", where, names[i]);
    }
    const ag_param_entry *q = q_name ? train_matrix(t, l, q_name) : NULL;
    const ag_param_entry *k = k_name ? train_matrix(t, l, k_name) : NULL;
    const ag_param_entry *temperature = train_matrix(t, l, "temperature");
    if (q && k)
        train_measure_add(out, frobenius(q) * frobenius(k) / (width * width), "norms.%sqk", where);
    if (temperature)
        train_measure_add(out, (double)temperature->val.x[0], "norms.%stemperature", where);
}

bool train_probe_norms(train_trainer *t, train_measures *out, char *error) {
    int before = out->n;
    for (int l = 0; l <= train_last(t); l++) add_layer(t, l, out);
    return out->n > before || train_refuse(error, "the model has no attention matrices");
}
