/* A step of the optimiser over a graph: into which buffer gradients go, what of it counts, and what stays.
 * The values are PyTorch's. */
#include <math.h>
#include <string.h>

#include "tests/lib/check.h"
#include "train/optim/optimizer.h"

static const double TOLERANCE = sizeof(real) == sizeof(double) ? 1e-12 : 2e-5;

enum { STEPS = 4, W = 6, V = 5, ROOM = 256 };

typedef struct {
    ag_params *params;
    ag_graph *g;
    tensor_arena *arena;
    ag_node *w, *v, *c, *loss;
    qkv_optim optim;
    real mine[ROOM];  // a buffer of the caller's
} world;

static void fill(ag_node *node, double first, double step) {
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] = (real)(first + step * (double)i);
}

static ag_node *param(world *x, const char *name, tensor_shape shape) {
    return ag_param(x->g, name, shape, (ag_init){.kind = AG_ONES});
}

/* loss = c sum w^2 + sum v^3 + sum 0.7 w + sum 0.3 w. The 0.7 are frozen before they are recorded, the 0.3
 * afterwards; one parameter is not recorded, another one is, but the loss does not come from it. */
static void open(world *x, qkv_optim_settings s) {
    const tensor_shape matrix = tensor_dims(2, 2, 3), five = tensor_dims(1, V);
    *x = (world){.params = ag_params_new(NULL, 1), .arena = tensor_arena_new(NULL)};
    x->g = ag_graph_new(x->params);
    assert_true(ag_params_freeze_matching(x->params, "frozen"));
    param(x, "unused", tensor_dims(1, 3));
    ag_graph_reset(x->g);
    x->v = param(x, "v", five), x->w = param(x, "w", matrix);
    ag_mul(param(x, "idle", matrix), x->w);
    ag_node *frozen = param(x, "frozen", matrix), *late = param(x, "late", matrix);
    fill(x->w, -0.2, 0.1), fill(x->v, -0.5, 0.3), fill(frozen, 0.7, 0), fill(late, 0.3, 0);
    x->c = ag_input(x->g, "c", tensor_dims(0));
    ag_node *squares = ag_sum(ag_mul(ag_mul(x->w, x->w), x->c), 0, NULL),
            *cubes = ag_sum(ag_mul(ag_mul(x->v, x->v), x->v), 0, NULL),
            *sums = ag_sum(ag_add(ag_mul(x->w, frozen), ag_mul(x->w, late)), 0, NULL);
    x->loss = ag_add(ag_add(squares, cubes), sums);
    late->param->frozen = true;
    for (int i = 0; i < ROOM; i++) x->mine[i] = (real)NAN;
    assert_true(ag_params_size(x->params) <= ROOM);
    assert_true(qkv_optim_init(&x->optim, x->arena, x->params, s));
}

static void end(world *x) {
    ag_graph_free(x->g);
    ag_params_free(x->params);
    tensor_arena_free(x->arena);
}

static double step(world *x, double c) {
    x->c->val.x[0] = (real)c;
    assert_true(ag_forward(x->g) && ag_backward(x->loss, NULL));
    return qkv_optim_step(&x->optim, x->g);
}

/* PyTorch 2.13 in double: torch.optim with lr=.05 over [w, v], momentum=.9 in SGD, weight_decay=.1 for w;
 * before each step both gradients times min(1, 2 / norm), norm that of both together. */
static const struct {
    int method;
    double norm[STEPS], w[W], v[V];
} golden[] = {{QKV_OPTIM_SGD,
               {3.30591893427531, 3.436705184276052, 2.995096735614047, 2.085938379388109},
               {-0.1939879263408884, -0.1944886814411552, -0.1949894365414221, -0.195490191641689,
                -0.1959909467419559, -0.1964917018422228},
               {-0.7625442346391184, -0.2377603068632058, 0.09145328119668697, 0.275316855813079,
                0.3494275686311692}},
              {QKV_OPTIM_ADAM,
               {3.30591893427531, 3.376445065220413, 3.397636294533898, 3.430433355822256},
               {-0.2424990388701689, -0.2207458888423615, -0.1780738996988924, -0.09636920671548901,
                6.428068510338364e-05, 0.09957455692801431},
               {-0.7003944476629871, -0.3973464841723018, -0.05148289691360965, 0.2077824689935027,
                0.5033759180000043}},
              {QKV_OPTIM_ADAMW,
               {3.30591893427531, 3.370527744864303, 3.381597054702644, 3.411652682847984},
               {-0.2460306839974845, -0.2222510138926486, -0.1778649896043476, -0.09702876176617614,
                -0.002435110406713438, 0.09513390337385441},
               {-0.7003815024513508, -0.3973028463642417, -0.05152149164677016, 0.207709168354595,
                0.5033192564035298}}};

static void all_stay(world *x, const char *name, double is) {
    const ag_param_entry *p = ag_params_find(x->params, name);
    for (size_t i = 0; i < p->val.n; i++) assert_true(p->val.x[i] == (real)is);
}

static void steps_are_pytorchs(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof golden / sizeof *golden; k++)
        for (int callers = 0; callers < 2; callers++) {
            qkv_optim_settings s = qkv_optim_adam(0.05);
            s.method = golden[k].method, s.momentum = 0.9, s.weight_decay = 0.1, s.clip = 2;
            world x;
            open(&x, s);
            if (callers) ag_grads_into(x.g, x.mine);
            for (int t = 0; t < STEPS; t++) {
                assert_close(step(&x, t + 1), golden[k].norm[t], 10 * TOLERANCE);
                for (int i = 0; i < W; i++) assert_true(x.w->grad[i] == 0);
                for (int i = 0; i < V; i++) assert_true(x.v->grad[i] == 0);
            }
            for (int i = 0; i < W; i++) assert_close(x.w->val.x[i], golden[k].w[i], TOLERANCE);
            for (int i = 0; i < V; i++) assert_close(x.v->val.x[i], golden[k].v[i], TOLERANCE);
            all_stay(&x, "frozen", 0.7), all_stay(&x, "late", 0.3), all_stay(&x, "unused", 1);
            all_stay(&x, "idle", 1);
            end(&x);
        }
}

/* The gradient of a sum is 1, however often. */
static void a_callers_buffer_is_zeroed(void **state) {
    (void)state;
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(params);
    tensor_arena *arena = tensor_arena_new(NULL);
    ag_node *w = ag_param(g, "w", tensor_dims(1, 1), (ag_init){.kind = AG_ONES}),
            *loss = ag_sum(w, 0, NULL);
    qkv_optim_settings s = {.method = QKV_OPTIM_SGD,
                            .schedule = {.kind = QKV_OPTIM_CONSTANT, .peak = 0.1}};
    qkv_optim o;
    real mine[16];
    assert_true(qkv_optim_init(&o, arena, params, s));
    ag_grads_into(g, mine);
    for (int t = 1; t <= 3; t++) {
        assert_true(ag_forward(g) && ag_backward(loss, NULL));
        assert_true(qkv_optim_step(&o, g) == 1 && mine[0] == 0);
        assert_close(w->val.x[0], 1 - 0.1 * t, 1e-6);
    }
    assert_true(ag_backward(loss, NULL) && ag_backward(loss, NULL));  // two add up
    assert_true(qkv_optim_step(&o, g) == 2);
    assert_close(w->val.x[0], 0.5, 1e-6);
    ag_graph_free(g);
    ag_params_free(params);
    tensor_arena_free(arena);
}

/* Without a backward nothing was written, whatever stands in the buffer. */
static void without_a_gradient_nothing_moves(void **state) {
    (void)state;
    qkv_optim_settings s = qkv_optim_adam(0.05);
    s.method = QKV_OPTIM_ADAMW, s.weight_decay = 0.1;
    world x;
    open(&x, s);
    assert_true(qkv_optim_step(&x.optim, x.g) == 0);  // there is no buffer yet
    ag_grads_into(x.g, x.mine);
    assert_true(qkv_optim_step(&x.optim, x.g) == 0);
    assert_null(ag_param_grad(x.g, x.w->param));
    assert_true(x.w->val.x[0] == (real)-0.2 && x.v->val.x[0] == (real)-0.5);
    assert_true(ag_backward(x.loss, NULL));
    assert_ptr_equal(ag_param_grad(x.g, x.w->param), x.mine + x.w->param->offset);
    assert_null(ag_param_grad(x.g, ag_params_find(x.params, "frozen")));
    assert_null(ag_param_grad(x.g, ag_params_find(x.params, "unused")));
    assert_null(ag_param_grad(x.g, ag_params_find(x.params, "idle")));
    assert_true(qkv_optim_step(&x.optim, x.g) > 0);
    real was = x.w->val.x[0];
    assert_true(qkv_optim_step(&x.optim, x.g) == 0 && x.w->val.x[0] == was);  // all was used up
    step(&x, 1);
    was = x.w->val.x[0];
    ag_sum(ag_add(x.w, x.v), 0, NULL);  // shapes that do not fit
    assert_true(isnan(qkv_optim_step(&x.optim, x.g)) && x.w->val.x[0] == was);
    end(&x);
}

/* Two graphs over the same parameters, in turn: each moves its own. */
static void what_another_graph_has_stays(void **state) {
    (void)state;
    qkv_optim_settings s = qkv_optim_adam(0.05);
    s.method = QKV_OPTIM_SGD, s.momentum = 0.9, s.weight_decay = 0.1;
    world x;
    open(&x, s);
    ag_graph *other = ag_graph_new(x.params);
    ag_node *unused = ag_param(other, "unused", tensor_dims(1, 3), (ag_init){.kind = AG_ONES}),
            *loss = ag_sum(unused, 0, NULL);
    step(&x, 1);
    all_stay(&x, "unused", 1);
    const real was = x.w->val.x[0], v = x.v->val.x[0];
    assert_true(ag_backward(loss, NULL));
    assert_close(qkv_optim_step(&x.optim, other), sqrt(3), 1e-6);
    assert_close(unused->val.x[0], 0.95, 1e-6);
    assert_true(x.w->val.x[0] == was && x.v->val.x[0] == v);
    ag_graph_free(other);
    end(&x);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(steps_are_pytorchs),
    cmocka_unit_test(a_callers_buffer_is_zeroed),
    cmocka_unit_test(without_a_gradient_nothing_moves),
    cmocka_unit_test(what_another_graph_has_stays),
};
CHECK_MAIN(tests)
