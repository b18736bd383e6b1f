/* A whole Transformer and 100 steps of its training against PyTorch, in double: the losses, the
 * first gradients and the last weights that stand in golden/block.h. To make that file again:
 *
 *     python3 tests/golden/make_golden.py > tests/golden/block.h
 */
#include <math.h>
#include <stdlib.h>

#include "tests/golden/model.h"
#include "train/optim/optimizer.h"

static const double TOLERANCE = 1e-9;

static qkv_optim_settings settings_of(int method) {
    qkv_optim_settings s = qkv_optim_adam(golden_lr);
    s.method = method;
    s.beta1 = golden_beta1;
    s.beta2 = golden_beta2;
    s.eps = golden_eps;
    s.weight_decay = method == QKV_OPTIM_ADAMW ? golden_decay : 0;
    return s;
}

static void train(int optimizer) {
    const double *losses = optimizer == QKV_OPTIM_ADAM ? golden_adam_losses : golden_adamw_losses;
    golden_model model = golden_model_new();
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_optim optim;
    assert_true(qkv_optim_init(&optim, arena, model.params, settings_of(optimizer)));
    for (int step = 0; step < GOLDEN_STEPS; step++) {
        assert_close(golden_step(&model), losses[step], TOLERANCE);
        qkv_optim_step(&optim, model.graph);
    }
    for (int i = 0; i < ag_params_count(model.params); i++) {
        const ag_param_entry *p = ag_params_at(model.params, i);
        const golden_param *golden = golden_find(p->name);
        const double *last = optimizer == QKV_OPTIM_ADAM ? golden->adam : golden->adamw;
        for (size_t k = 0; k < p->val.n; k++) assert_close(p->val.x[k], last[k], TOLERANCE);
    }
    tensor_arena_free(arena);
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
    train(QKV_OPTIM_ADAM);
}

static void hundred_steps_of_adamw(void **state) {
    (void)state;
    train(QKV_OPTIM_ADAMW);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(first_gradients),
    cmocka_unit_test(hundred_steps_of_adam),
    cmocka_unit_test(hundred_steps_of_adamw),
};
CHECK_MAIN(tests)
