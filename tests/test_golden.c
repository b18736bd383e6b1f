/* A whole Transformer and 100 steps of its training against PyTorch, in double: the losses, the
 * first gradients and the last weights that stand in golden/block.h. To make that file again:
 *
 *     python3 tests/golden/make_golden.py > tests/golden/block.h
 */
#include <math.h>
#include <stdlib.h>

#include "tests/golden/model.h"
#include "train/optimizer.h"

static const double TOLERANCE = 1e-9;

static train_config config_of(int optimizer) {
    train_config c;
    train_config_default(&c);
    c.optimizer = optimizer;
    c.lr = golden_lr;
    c.beta1 = golden_beta1;
    c.beta2 = golden_beta2;
    c.eps = golden_eps;
    c.weight_decay = optimizer == TRAIN_ADAMW ? golden_decay : 0;
    return c;
}

/* m and s are laid out as the flat gradient. */
static void update(golden_model *model, const train_rule *rule, real *m, real *s) {
    for (int i = 0; i < ag_params_count(model->params); i++) {
        ag_param_entry *p = ag_params_at(model->params, i);
        train_apply(rule, p->val.shape.rank == 2, p->val.n, p->val.x,
                    ag_grads(model->graph) + p->offset, m + p->offset, s + p->offset);
    }
}

static void train(int optimizer) {
    const double *losses = optimizer == TRAIN_ADAM ? golden_adam_losses : golden_adamw_losses;
    const train_config c = config_of(optimizer);
    golden_model model = golden_model_new();
    real *m = calloc(ag_params_size(model.params), sizeof *m);
    real *s = calloc(ag_params_size(model.params), sizeof *s);
    assert_true(m && s);
    for (int step = 0; step < GOLDEN_STEPS; step++) {
        assert_close(golden_step(&model), losses[step], TOLERANCE);
        const train_rule rule = train_rule_at(&c, step, 0);
        update(&model, &rule, m, s);
    }
    for (int i = 0; i < ag_params_count(model.params); i++) {
        const ag_param_entry *p = ag_params_at(model.params, i);
        const golden_param *golden = golden_find(p->name);
        const double *last = optimizer == TRAIN_ADAM ? golden->adam : golden->adamw;
        for (size_t k = 0; k < p->val.n; k++) assert_close(p->val.x[k], last[k], TOLERANCE);
    }
    free(m);
    free(s);
    golden_model_free(&model);
}

static void first_gradients(void **state) {
    (void)state;
    golden_model model = golden_model_new();
    golden_step(&model);
    for (int i = 0; i < ag_params_count(model.params); i++) {
        const ag_param_entry *p = ag_params_at(model.params, i);
        const real *g = ag_grads(model.graph) + p->offset;
        for (size_t k = 0; k < p->val.n; k++)
            assert_close(g[k], golden_find(p->name)->gradient[k], 1e-13);
    }
    golden_model_free(&model);
}

static void hundred_steps_of_adam(void **state) {
    (void)state;
    train(TRAIN_ADAM);
}

static void hundred_steps_of_adamw(void **state) {
    (void)state;
    train(TRAIN_ADAMW);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(first_gradients),
    cmocka_unit_test(hundred_steps_of_adam),
    cmocka_unit_test(hundred_steps_of_adamw),
};
CHECK_MAIN(tests)
