/* norms.c - how large the attention matrices are: ||W||_F / sqrt(d_model), 1 for an orthogonal map of
 * the whole stream. Matching wants large ones, copying wants 1. "norms.wq" is of the last layer, earlier
 * layers are "norms.layer0.wq"; also the learned temperature. */
#include <math.h>
#include <stdio.h>

#include "train/probe/look.h"
#include "train/probe/measure.h"

static double frobenius(const ag_param_entry *w) {
    double squares = 0;
    for (size_t i = 0; i < w->val.n; i++) squares += (double)w->val.x[i] * (double)w->val.x[i];
    return sqrt(squares);
}

bool train_probe_norms(train_trainer *t, train_measures *out, char *error) {
    static const char *const names[] = {"wq", "wk", "wv", "wo", "wd"};
    int before = out->n;
    for (int l = 0; l <= train_last(t); l++) {
        char where[24] = "";
        if (l < train_last(t)) snprintf(where, sizeof where, "layer%d.", l);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const ag_param_entry *w = train_matrix(t, l, names[i]);
            double width = sqrt(train_trainer_config(t)->d_model);
            if (w) train_measure_add(out, frobenius(w) / width, "norms.%s%s", where, names[i]);
        }
        const ag_param_entry *temperature = train_matrix(t, l, "temperature");
        if (temperature)
            train_measure_add(out, (double)temperature->val.x[0], "norms.%stemperature", where);
    }
    return out->n > before || train_refuse(error, "the model has no attention matrices");
}
