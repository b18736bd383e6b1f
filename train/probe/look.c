/* look.c - what the probes share. */
#include "train/probe/look.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tensor/flush.h"

bool qkv_probe_replay(qkv_trainer_worker *w) {
    ag_set_run(w->graph, (ag_run){.training = false});
    const tensor_flush before = tensor_flush_begin();  // as when it was trained
    const bool ok = ag_forward(w->graph);
    tensor_flush_end(before);
    return ok;
}

bool qkv_probe_see(qkv_trainer *t, const char *split, int count, double total,
                   qkv_probe_see_fn *see, void *ctx, char *error) {
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    tensor_arena *arena = tensor_arena_new(NULL);
    bool ok = arena != NULL;
    count = data_at_most(qkv_trainer_spec(t), split, count);
    if (total <= 0) total = count;
    for (int first = 0; ok && first < count; first += w->B) {
        int n = count - first < w->B ? count - first : w->B;
        qkv_trainer_load(t, w, split, (uint64_t)first, n, total);
        ok = qkv_probe_replay(w) && see(t, w, arena, ctx);
        tensor_arena_reset(arena);
    }
    tensor_arena_free(arena);
    return ok || qkv_trainer_fail(t, error);
}

int qkv_probe_rows(const qkv_trainer_worker *w) {
    int n = 0;
    while (n < w->n_rows && w->rows[n] >= 0) n++;
    return n;
}

int qkv_probe_row_example(const qkv_trainer *t, const qkv_trainer_worker *w, int n) {
    return w->rows[n] / qkv_trainer_spec(t)->side[DATA_SEQUENCE].T;
}

int qkv_probe_row_position(const qkv_trainer *t, const qkv_trainer_worker *w, int n) {
    return w->rows[n] % qkv_trainer_spec(t)->side[DATA_SEQUENCE].T;
}

int qkv_probe_answer(const qkv_trainer *t, const qkv_trainer_worker *w, int r, int n) {
    int classes = qkv_trainer_spec(t)->readout[r].classes;
    return qkv_trainer_argmax(w->out.logits[r]->val.x + (ptrdiff_t)n * classes, classes);
}

int *qkv_probe_ids(const qkv_trainer *t, qkv_trainer_worker *w, data_side_name side, int stream,
                   int example) {
    return w->data.rows.ids[side][stream] + (ptrdiff_t)example * qkv_trainer_spec(t)->side[side].T;
}

real *qkv_probe_row_of(const ag_node *node, int b, int h, int at) {
    const int *dim = node->val.shape.dim;  // [B,H,T,S]
    return node->val.x + (((ptrdiff_t)b * dim[1] + h) * dim[2] + at) * dim[3];
}

double qkv_probe_mean_at(const ag_node *node, int b, int at, int s) {
    int H = node->val.shape.dim[1];
    double sum = 0;
    for (int h = 0; h < H; h++) sum += (double)qkv_probe_row_of(node, b, h, at)[s];
    return sum / H;
}

int qkv_probe_looks_at(const ag_node *node, int b, int at) {
    int best = 0;
    double most = qkv_probe_mean_at(node, b, at, 0);
    for (int s = 1; s < node->val.shape.dim[3]; s++) {
        double x = qkv_probe_mean_at(node, b, at, s);
        if (x > most) most = x, best = s;
    }
    return best;
}

bool qkv_probe_side_sees(const qkv_trainer *t, const qkv_trainer_worker *w, data_side_name rows,
                         data_side_name cols, int b, int at, int s) {
    const data_side *side = qkv_trainer_spec(t)->side;
    const int keys = w ? data_length(&w->data, cols, b) : side[cols].T;
    if (at >= (w ? data_length(&w->data, rows, b) : side[rows].T) || s >= keys) return false;
    if (rows == DATA_MEMORY || cols == DATA_MEMORY) return true;
    const ag_mask mask =
        qkv_config_model(qkv_trainer_config(t), qkv_trainer_spec(t)).attention.mask;
    return s < ag_mask_limit(mask, at, keys) && !(mask.no_self && s == at);
}

bool qkv_probe_sees(const qkv_trainer *t, const qkv_trainer_worker *w, int b, int at, int s) {
    return qkv_probe_side_sees(t, w, DATA_SEQUENCE, qkv_trainer_spec(t)->store, b, at, s);
}

double qkv_probe_dot(const real *a, const real *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

double qkv_probe_norm(const real *x, size_t n) {
    double squares = 0;
    for (size_t i = 0; i < n; i++) squares += (double)x[i] * (double)x[i];
    return sqrt(squares);
}

void qkv_probe_params_copy(ag_params *p, real *flat, bool back) {
    for (int i = 0; flat && i < ag_params_count(p); i++) {
        const ag_param_entry *e = ag_params_at(p, i);
        real *at = flat + e->offset;
        if (e->val.n) memcpy(back ? e->val.x : at, back ? at : e->val.x, e->val.n * sizeof *at);
    }
}

enum { NAME = 192 };

ag_node *qkv_probe_find(const qkv_trainer_worker *w, const char *format, ...) {
    char name[NAME];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return ag_find(w->graph, name);
}

ag_param_entry *qkv_probe_param(qkv_trainer *t, const char *format, ...) {
    char name[NAME];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return ag_params_find(qkv_trainer_params(t), name);
}

ag_node *qkv_probe_node(qkv_trainer *t, qkv_trainer_worker *w, int layer, const char *name) {
    return qkv_probe_find(w, "layer%d.%s.%s", layer,
                          qkv_trainer_attention_name(qkv_trainer_spec(t)), name);
}

ag_param_entry *qkv_probe_matrix(qkv_trainer *t, int layer, const char *name) {
    return qkv_probe_param(t, "layer%d.%s.%s", layer,
                           qkv_trainer_attention_name(qkv_trainer_spec(t)), name);
}

const qkv_probe_node_name qkv_probe_node_names[] = {
    {"q", "[B,T,H*E]", "queries"},
    {"k", "[B,S,G*E]", "keys"},
    {"v", "[B,S,G*E]", "values"},
    {"scores", "[B,H,T,S]", "what the softmax sees"},
    {"weights", "[B,H,T,S]", "attention weights"},
    {"mix", "[B,T,H*E]", "weights times values"},
    {NULL, NULL, NULL}};

static bool has_node(qkv_trainer *t, const char *name, char *error) {
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    const qkv_probe_node_name *known = qkv_probe_node_names;
    const int last = qkv_probe_last_layer(t);
    const char *attention = qkv_trainer_attention_name(qkv_trainer_spec(t));
    if (strcmp(name, "logits") == 0)
        return w->out.logits[0] || qkv_io_fail(error, "the answer is a vector, not one of classes");
    while (known->name && strcmp(known->name, name) != 0) known++;
    ag_node *node = qkv_probe_node(t, w, last, name);
    if (ag_error(w->graph)) return qkv_io_fail(error, "%s", ag_error(w->graph));
    if (!node)
        return qkv_io_fail(error, "the block has no node 'layer%d.%s.%s' %s: %s", last, attention,
                           name, known->name ? known->shape : "", known->name ? known->what : "");
    bool right = strcmp(name, "weights") == 0  ? qkv_trainer_has_attention(t)
                 : strcmp(name, "scores") == 0 ? qkv_probe_scores_node(t, w) != NULL
                                               : true;
    return right || qkv_io_fail(error, "the node 'layer%d.%s.%s' has not the shape %s", last,
                                attention, name, known->shape);
}

bool qkv_probe_has_nodes(qkv_trainer *t, const char *needs, char *error) {
    char list[64], *rest = NULL;
    snprintf(list, sizeof list, "%s", needs);
    for (char *name = strtok_r(list, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        if (!has_node(t, name, error)) return false;
    return true;
}

ag_node *qkv_probe_scores_node(qkv_trainer *t, qkv_trainer_worker *w) {
    const ag_node *weights = qkv_trainer_weights(w, qkv_probe_last_layer(t));
    ag_node *scores = qkv_probe_node(t, w, qkv_probe_last_layer(t), "scores");
    if (!weights || !scores) return NULL;
    return tensor_same_shape(scores->val.shape, weights->val.shape) ? scores : NULL;
}

bool qkv_probe_gate_is_open(qkv_trainer *t) {
    const ag_node *gate = qkv_trainer_any_worker(t)->gate;
    return !gate || gate->val.x[0] != 0;
}

void qkv_probe_set_gate(qkv_trainer *t, bool open) {
    qkv_trainer_at_step(t, open ? qkv_trainer_config(t)->scores_from : 0);
}

int qkv_probe_last_layer(const qkv_trainer *t) { return qkv_trainer_config(t)->layers - 1; }
