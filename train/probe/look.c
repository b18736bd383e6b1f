#include "train/probe/look.h"

#include <stdarg.h>
#include <stdio.h>

bool train_refuse(char *error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(error, TRAIN_ERROR, format, args);
    va_end(args);
    return false;
}

bool train_replay(train_worker *w) {
    ag_set_run(w->graph, (ag_run){.training = false});
    return ag_forward(w->graph);
}

bool train_see(train_trainer *t, const char *split, int count, double total, train_see_fn *see,
               void *ctx, char *error) {
    train_worker *w = train_trainer_worker(t);
    tensor_arena *arena = tensor_arena_new(NULL);
    bool ok = arena != NULL;
    for (int first = 0; ok && first < count; first += w->B) {
        int n = count - first < w->B ? count - first : w->B;
        train_load(t, w, split, (uint64_t)first, n, total);
        ok = train_replay(w) && see(t, w, arena, ctx);
        tensor_arena_reset(arena);
    }
    tensor_arena_free(arena);
    const char *why = ag_error(w->graph);
    return ok || train_refuse(error, "%s", why ? why : "out of memory during a probe");
}

int train_rows(const train_worker *w) {
    int n = 0;
    while (n < w->n_rows && w->rows[n] >= 0) n++;
    return n;
}

int train_row_example(const train_trainer *t, const train_worker *w, int n) {
    return w->rows[n] / train_trainer_spec(t)->side[DATA_SEQUENCE].T;
}

int train_row_position(const train_trainer *t, const train_worker *w, int n) {
    return w->rows[n] % train_trainer_spec(t)->side[DATA_SEQUENCE].T;
}

int train_answer(const train_trainer *t, const train_worker *w, int r, int n) {
    int classes = train_trainer_spec(t)->readout[r].classes;
    return train_argmax(w->out.logits[r]->val.x + (ptrdiff_t)n * classes, classes);
}

int *train_ids(const train_trainer *t, train_worker *w, data_side_name side, int stream,
               int example) {
    return w->data.rows.ids[side][stream] +
           (ptrdiff_t)example * train_trainer_spec(t)->side[side].T;
}

real *train_row_of(const ag_node *node, int b, int h, int at) {
    const int *dim = node->val.shape.dim;  // [B,H,T,S]
    return node->val.x + (((ptrdiff_t)b * dim[1] + h) * dim[2] + at) * dim[3];
}

double train_mean_at(const ag_node *node, int b, int at, int s) {
    int H = node->val.shape.dim[1];
    double sum = 0;
    for (int h = 0; h < H; h++) sum += (double)train_row_of(node, b, h, at)[s];
    return sum / H;
}

int train_looks_at(const ag_node *node, int b, int at) {
    int best = 0;
    double most = train_mean_at(node, b, at, 0);
    for (int s = 1; s < node->val.shape.dim[3]; s++) {
        double x = train_mean_at(node, b, at, s);
        if (x > most) most = x, best = s;
    }
    return best;
}

bool train_sees(const train_trainer *t, int at, int s) {
    const data_spec *spec = train_trainer_spec(t);
    if (spec->store == DATA_MEMORY) return true;
    ag_mask mask = train_model_config(train_trainer_config(t), spec).attention.mask;
    return s < ag_mask_limit(mask, at, spec->side[spec->store].T) && !(mask.no_self && s == at);
}

static char *full_name(train_trainer *t, int layer, const char *name, char out[96]) {
    snprintf(out, 96, "layer%d.%s.%s", layer, train_looker(train_trainer_spec(t)), name);
    return out;
}

ag_node *train_node(train_trainer *t, train_worker *w, int layer, const char *name) {
    char full[96];
    return ag_find(w->graph, full_name(t, layer, name, full));
}

ag_param_entry *train_matrix(train_trainer *t, int layer, const char *name) {
    char full[96];
    return ag_params_find(train_trainer_params(t), full_name(t, layer, name, full));
}

ag_node *train_scores_node(train_trainer *t, train_worker *w) {
    const ag_node *weights = w->weights[train_last(t)];
    ag_node *scores = train_node(t, w, train_last(t), "scores");
    if (!weights || !scores) return NULL;
    return tensor_same_shape(scores->val.shape, weights->val.shape) ? scores : NULL;
}

bool train_gate_is_open(train_trainer *t) {
    const ag_node *gate = train_trainer_worker(t)->gate;
    return !gate || gate->val.x[0] != 0;
}

void train_set_gate(train_trainer *t, bool open) {
    train_at_step(t, open ? train_trainer_config(t)->scores_from : 0);
}

int train_last(const train_trainer *t) { return train_trainer_config(t)->layers - 1; }
