/* model.h - the library's side of block.h: the same model from nn_model(), the same weights by
 * name. Header only, shared by test_golden.c and test_precision.c. */
#ifndef TESTS_GOLDEN_MODEL_H
#define TESTS_GOLDEN_MODEL_H

#include <string.h>

#include "layers/nn.h"
#include "tests/golden/block.h"
#include "tests/lib/check.h"

typedef struct {
    ag_params *params;
    ag_graph *graph;
    ag_node *loss;
} golden_model;

static inline const golden_param *golden_find(const char *name) {
    for (size_t i = 0; i < sizeof golden_params / sizeof *golden_params; i++)
        if (strcmp(golden_params[i].name, name) == 0) return &golden_params[i];
    fail_msg("block.h knows no parameter '%s'", name);
    return NULL;
}

static inline ag_node *golden_record(ag_graph *g) {
    static int rows[GOLDEN_B * GOLDEN_T];
    for (int i = 0; i < GOLDEN_B * GOLDEN_T; i++) rows[i] = i;
    const int E = GOLDEN_D / GOLDEN_H;
    const nn_init init = {.gain = 1, .bias = true};
    const nn_model_config c = {.layers = 1,
                               .d_model = GOLDEN_D,
                               .d_ff = GOLDEN_F,
                               .self_attention = true,
                               .attention = {.heads = GOLDEN_H,
                                             .kv_heads = GOLDEN_H,
                                             .d_k = E,
                                             .d_v = E,
                                             .mask = {.causal = true},
                                             .init = init},
                               .norm = NN_NORM_LAYER,
                               .activation = NN_ACT_GELU,
                               .positions = NN_POSITIONS_LEARNED,
                               .residual = true,
                               .embed_std = 1,
                               .init = init};
    nn_batch batch = {.B = GOLDEN_B,
                      .sequence = {.T = GOLDEN_T, .n_streams = 1},
                      .n_rows = GOLDEN_B * GOLDEN_T,
                      .rows = rows,
                      .n_readouts = 1};
    batch.sequence.stream[0] = "token";
    batch.sequence.vocab[0] = GOLDEN_V;
    batch.sequence.ids[0] = golden_ids;
    batch.readout[0] = (nn_readout){"next", GOLDEN_V, golden_targets, NULL};
    return nn_model(g, &c, &batch).loss;
}

/* The model with its initial weights. Every parameter of block.h must be there, and no other. */
static inline golden_model golden_model_new(void) {
    golden_model m = {.params = ag_params_new(NULL, 1)};
    m.graph = ag_graph_new(m.params);
    m.loss = golden_record(m.graph);
    if (ag_error(m.graph)) fail_msg("%s", ag_error(m.graph));
    assert_int_equal(ag_params_count(m.params), sizeof golden_params / sizeof *golden_params);
    for (int i = 0; i < ag_params_count(m.params); i++) {
        ag_param_entry *p = ag_params_at(m.params, i);
        const golden_param *golden = golden_find(p->name);
        assert_int_equal(p->val.n, golden->n);
        for (size_t k = 0; k < p->val.n; k++) p->val.x[k] = (real)golden->initial[k];
    }
    return m;
}

/* The loss, and the gradient in ag_grads(). */
static inline double golden_step(golden_model *m) {
    assert_true(ag_forward(m->graph));
    ag_grads_zero(m->graph);
    assert_true(ag_backward(m->loss, NULL));
    return (double)m->loss->val.x[0];
}

static inline void golden_model_free(golden_model *m) {
    ag_graph_free(m->graph);
    ag_params_free(m->params);
}

#endif
