/* NULL in every place of every op and layer, by the lines of ops.def and layers.def: a new line is walked
 * as soon as it is there. Of each parameter the type says what to give instead, once NULL and once not. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autograd/op.h"
#include "layers/nn.h"
#include "tests/lib/check.h"
#include "train/run/run.h"

/* ---- what is given ---- */

/* Which call this is: the leaves' ranks as digits to the base of 4; which pointers are NULL, as bits; the
 * next of each; and the graph that a layer records into. */
static struct {
    ag_graph *g;
    int ranks, null, node, pointer;
    bool nulled;  // one of them was
    int reached;  // ways to the graph: nodes that are not NULL
} now;

/* A pointer, or NULL if it is this one's turn. */
static const void *unless_null(const void *p) {
    const bool null = now.null >> now.pointer++ & 1;
    now.nulled |= null;
    return null ? NULL : p;
}

/* [2], [2,2], [2,2,2] or [2,2,2,2], of ones. */
static ag_node *leaf(void) {
    int rank = 1 + (now.ranks >> 2 * now.node++ & 3);
    ag_node *x = ag_input(now.g, "x", (tensor_shape){.rank = rank, .dim = {2, 2, 2, 2}});
    for (size_t i = 0; x && i < x->val.n && x->val.x; i++) x->val.x[i] = 1;
    x = (ag_node *)(size_t)unless_null(x);
    now.reached += x != NULL;
    return x;
}

static ag_node *const *leaves(void) {
    static ag_node *list[2];
    const int before = now.reached;
    for (int i = 0; i < 2; i++) list[i] = leaf();
    ag_node *const *given = unless_null(list);
    if (!given) now.reached = before;
    return given;
}

static const int INTS[16] = {0};
static const int *const *lists(void) {
    static const int *list[2];
    for (int i = 0; i < 2; i++) list[i] = unless_null(INTS);
    return unless_null(list);
}

static ag_graph *graph(void) {
    now.reached += now.g != NULL;
    return now.g;
}

static const real ONE = 1;
static const nn_init INIT = {.gain = 1, .bias = true};
#define ATTENTION                                                                          \
    {                                                                                      \
        .heads = 1, .kv_heads = 1, .d_k = 2, .d_v = 2, .mask = {.causal = true}, .init = { \
            .gain = 1                                                                      \
        }                                                                                  \
    }
static const nn_attention_config ATTEND = ATTENTION;
static const nn_model_config MODEL = {.layers = 1,
                                      .d_model = 2,
                                      .d_ff = 2,
                                      .self_attention = true,
                                      .attention = ATTENTION,
                                      .embed_std = 1,
                                      .residual = true,
                                      .init = {.gain = 1}};
static const nn_sequence SEQUENCE = {
    .T = 2, .n_streams = 1, .stream = {"key"}, .vocab = {3}, .ids = {INTS}};

/* Most are 1: heads, axes, an end. */
static int number(const char *parameter) {
    const char *name = strrchr(parameter, ' ');
    if (!name || !strcmp(name, " begin") || !strcmp(name, " axis") || !strcmp(name, " first"))
        return 0;
    return !strcmp(name, " n_axes") || strlen(name) > 2 ? 1 : 2;  // B, F, O, n
}

/* An argument for a parameter, as it is declared: "ag_node *x". Of a type that is not here: 0, or NULL. */
#define TYPED(p, type, value) void (*)(type) : (value)
#define GIVE(p)                                                                                   \
    _Generic(                                                                                     \
        (void (*)(p))0, TYPED(p, ag_node *, leaf()), TYPED(p, ag_graph *, graph()),               \
        TYPED(p, ag_node *const *, leaves()), TYPED(p, const int *const *, lists()),              \
        TYPED(p, const int *, (const int *)unless_null(INTS)),                                    \
        TYPED(p, const real *, (const real *)unless_null(&ONE)),                                  \
        TYPED(p, const char *, (const char *)unless_null("name")),                                \
        TYPED(p, const nn_init *, (const nn_init *)unless_null(&INIT)),                           \
        TYPED(p, const nn_sequence *, (const nn_sequence *)unless_null(&SEQUENCE)),               \
        TYPED(p, const nn_attention_config *, (const nn_attention_config *)unless_null(&ATTEND)), \
        TYPED(p, const nn_model_config *, (const nn_model_config *)unless_null(&MODEL)),          \
        TYPED(p, int, number(#p)), TYPED(p, double, 0.5), TYPED(p, ag_mask, (ag_mask){0}),        \
        TYPED(p, tensor_shape, ((tensor_shape){.rank = 1, .dim = {2}})),                          \
        TYPED(p, ag_gelu_form, AG_GELU_ERF), TYPED(p, nn_activation, NN_ACT_GELU),                \
        TYPED(p, nn_norm_kind, NN_NORM_LAYER), default : 0)

#define COUNT(...)                             COUNT_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1)
#define COUNT_(a, b, c, d, e, f, g, h, n, ...) n
#define JOIN(a, b)                             JOIN_(a, b)
#define JOIN_(a, b)                            a##b
#define GIVE_1(a)                              GIVE(a)
#define GIVE_2(a, b)                           GIVE(a), GIVE(b)
#define GIVE_3(a, b, c)                        GIVE(a), GIVE(b), GIVE(c)
#define GIVE_4(a, b, c, d)                     GIVE(a), GIVE(b), GIVE(c), GIVE(d)
#define GIVE_5(a, b, c, d, e)                  GIVE(a), GIVE(b), GIVE(c), GIVE(d), GIVE(e)
#define GIVE_6(a, b, c, d, e, f)               GIVE(a), GIVE(b), GIVE(c), GIVE(d), GIVE(e), GIVE(f)
#define GIVE_7(a, b, c, d, e, f, g)            GIVE_6(a, b, c, d, e, f), GIVE(g)
#define GIVE_8(a, b, c, d, e, f, g, h)         GIVE_7(a, b, c, d, e, f, g), GIVE(h)
#define GIVE_ALL(...)                          JOIN(GIVE_, COUNT(__VA_ARGS__))(__VA_ARGS__)

#define AG_OP(name, parameters, shapes, formula) \
    static ag_node *op_##name(void) { return ag_##name(GIVE_ALL parameters); }
#include "autograd/ops.def"
#undef AG_OP
#define NN_LAYER(name, parameters, shapes, formula) \
    static ag_node *layer_##name(void) { return nn_##name(GIVE_ALL parameters); }
#include "layers/layers.def"
#undef NN_LAYER

typedef struct {
    const char *name;
    ag_node *(*call)(void);
    const char *about;
} constructor;
static const constructor constructors[] = {
#define AG_OP(name, parameters, shapes, formula) {#name, op_##name, shapes "; " formula},
#include "autograd/ops.def"
#undef AG_OP
#define NN_LAYER(name, parameters, shapes, formula) {#name, layer_##name, shapes "; " formula},
#include "layers/layers.def"
#undef NN_LAYER
};
enum { CONSTRUCTORS = sizeof constructors / sizeof *constructors };

/* ---- the walk ---- */

enum { RANKS = 64, POINTERS = 6 };

/* What came of one call: whether pointers were NULL, and whether it was recorded. False: the graph does
 * not tell what a caller must know. */
typedef struct {
    bool nulled, recorded;
} outcome;
static bool one(const constructor *c, bool graph, int ranks, int null, outcome *out) {
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = graph ? ag_graph_new(params) : NULL;
    now.g = g, now.ranks = ranks, now.null = null, now.node = now.pointer = 0, now.nulled = false,
    now.reached = 0;
    ag_node *y = c->call();
    const char *error = ag_error(g);
    bool told = !y || !g ? !y && (!g || !error) : y->graph == g && (!error || y->val.n == 0);
    if (!y && g) told = now.reached == 0;  // there is no graph that could tell
    if (g && error) told &= strlen(error) > 8 && !strstr(error, "(null)");
    if (y && !error) ag_forward(g), ag_backward(y, NULL);
    *out = (outcome){now.nulled, y && !error};
    ag_graph_free(g), ag_params_free(params);
    return told;
}

/* All calls of a constructor: 0, or 1 + the call that was not as it should be. */
static int walk(const constructor *c) {
    int recorded = 0, optional = 0, call = 0;
    for (int graph = 0; graph < 2; graph++)
        for (int ranks = 0; ranks < RANKS; ranks++)
            for (int null = 0; null < 1 << POINTERS; null++, call++) {
                outcome out;
                if (!one(c, graph, ranks, null, &out)) {
                    print_error("%s: leaves %d, NULL %#x: nobody is told\n", c->name, ranks, null);
                    return 1;
                }
                recorded += out.recorded;
                optional += out.recorded && out.nulled;
            }
    if (!recorded)
        print_error("%s: no call was recorded: nothing was walked. Has GIVE what it needs?\n",
                    c->name);
    const bool may = strstr(c->about, "NULL") != NULL;
    if (optional && !may) print_error("%s: NULL is taken, and its line does not say so\n", c->name);
    if (may && !optional) print_error("%s: its line speaks of NULL, which is not taken\n", c->name);
    return !recorded || (optional != 0) != may;
}

/* A crash is told by name, so each constructor is walked in a process of its own. */
static void null_is_told_everywhere(void **state) {
    (void)state;
    int failed = 0;
    assert_true(CONSTRUCTORS > 45);
    for (int i = 0; i < CONSTRUCTORS; i++) {
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            signal(SIGSEGV, SIG_DFL);  // cmocka's would go on with the tests, twice
            _exit(walk(&constructors[i]));
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFSIGNALED(status))
            print_error("%s: %s\n", constructors[i].name, strsignal(WTERMSIG(status)));
        failed += status != 0;
    }
    assert_int_equal(failed, 0);
}

/* A block of one's own that returns nothing. */
static ag_node *nothing(ag_node *x, ag_node *memory, const char *name, const nn_model_config *c) {
    (void)x, (void)memory, (void)name, (void)c;
    return NULL;
}

static void a_model_tells_what_is_missing(void **state) {
    (void)state;
    static const int rows[] = {1, 3};
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(params);
    const nn_batch whole = {.B = 2,
                            .sequence = SEQUENCE,
                            .n_rows = 2,
                            .rows = rows,
                            .n_readouts = 1,
                            .readout = {{"value", 4, rows, NULL}}};
    nn_model_config own = MODEL;
    own.block = nothing;
    nn_batch b[5] = {whole, whole, whole, whole, whole};
    static const char *const words[] = {"stream 0", "stream 0", "rows", "readout 0", "targets"};
    b[0].sequence.stream[0] = NULL, b[1].sequence.ids[0] = NULL, b[2].rows = NULL;
    b[3].readout[0].name = NULL, b[4].readout[0].targets = NULL;
    assert_non_null(nn_model(g, &MODEL, &whole).loss);
    assert_null(ag_error(g));
    for (int i = 0; i < 5; i++) {
        ag_graph_reset(g);
        assert_non_null(nn_model(g, &MODEL, &b[i]).loss);
        if (!ag_error(g) || !strstr(ag_error(g), words[i])) fail_msg("%d: %s", i, ag_error(g));
    }
    ag_graph_reset(g);
    nn_model(g, &own, &whole);
    assert_string_equal(ag_error(g), "the block returned NULL instead of a node, as layer0");
    ag_graph_reset(g);
    assert_non_null(nn_model(g, NULL, &whole).loss);
    assert_non_null(ag_error(g));
    ag_graph_reset(g);
    assert_non_null(nn_model(g, &MODEL, NULL).loss);
    assert_non_null(ag_error(g));
    assert_null(nn_model(NULL, &MODEL, &whole).loss);
    ag_graph_free(g), ag_params_free(params);
}

/* Gradients go into a buffer of the caller's, and then into the graph's own again. */
static void a_buffer_is_taken_back(void **state) {
    (void)state;
    real mine[16] = {0};
    ag_params *params = ag_params_new(NULL, 1);
    for (int before = 0; before < 2; before++) {
        ag_graph *g = ag_graph_new(params);
        ag_node *w = ag_param(g, "w", tensor_dims(1, 2), (ag_init){.kind = AG_ONES, .scale = 0});
        ag_node *y = ag_sum(ag_mul(w, w), 0, NULL);
        if (before) assert_true(ag_backward(y, NULL));
        ag_grads_into(g, mine);
        assert_true(ag_backward(y, NULL));
        assert_ptr_equal(ag_grads(g), mine);
        assert_true(mine[0] == 2 && mine[1] == 2);
        ag_grads_into(g, NULL);
        mine[0] = 7;
        assert_true(ag_backward(y, NULL) && mine[0] == 7);
        assert_true(ag_grads(g) != mine && ag_grads(g)[0] == 2 && w->grad[1] == 2);
        ag_graph_free(g);
    }
    ag_params_free(params);
}

/* ---- what is handed over as a struct ---- */

static bool same(ag_node *node) {
    node->val.shape = node->in[0]->val.shape;
    return true;
}
static void nothing_done(ag_node *node) { (void)node; }

static void an_op_is_whole(void **state) {
    (void)state;
    const ag_op ops[] = {{.name = NULL, .shape = same, .forward = nothing_done},
                         {.name = "x", .forward = nothing_done},
                         {.name = "x", .shape = same},
                         {.name = "x", .shape = same, .forward = nothing_done}};
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(params);
    for (int i = 0; i < 5; i++) {
        ag_graph_reset(g);
        ag_node *x = ag_want_grad(ag_input(g, "x", tensor_dims(1, 2)));
        ag_node *y = ag_apply(i < 4 ? &ops[i] : NULL, 1, &x, NULL, 0);
        if (i == 3) assert_null(ag_error(g));
        if (i == 3) assert_false(ag_backward(y, NULL));  // it has none
        assert_non_null(ag_error(g));
        assert_non_null(strstr(ag_error(g), i == 3 ? "backward" : i == 2 ? "forward" : "lacks"));
    }
    ag_graph_free(g), ag_params_free(params);
}

/* A task of one position, wrong in a way that no compiler sees. */
enum { WORDS, LAST_WORD, ANSWERS, PREFIX, SECOND, WRONG };
static int wrong;
static bool configure(data_spec *s, char *error, size_t size) {
    static const char *const words[] = {NULL, "a", "b"}, *const few[] = {"a", "b", NULL};
    (void)error, (void)size;
    s->side[DATA_SEQUENCE] = (data_side){1, 1, {data_plain("x", "x", 3)}};
    s->n_readouts = s->scored = 1;
    s->readout[0] = (data_readout){"y", "y", 3, NULL, false};
    data_stream *x = &s->side[DATA_SEQUENCE].stream[0];
    if (wrong == WORDS || wrong == LAST_WORD) x->words = wrong == WORDS ? words : few;
    if (wrong == ANSWERS) s->readout[0].words = few;
    if (wrong == PREFIX) s->readout[0].prefix = NULL;
    if (wrong == SECOND) x->second = 2;
    return true;
}
static void example(const data_spec *s, rng *r, const data_example *out) {
    (void)s, (void)r;
    out->ids[DATA_SEQUENCE][0][0] = out->target[0][0] = 0;
}

static void a_task_is_whole(void **state) {
    (void)state;
    static const char *const words[WRONG] = {"one of its words", "one of its words",
                                             "one of its words", "no prefix", "no prefix"};
    const data_task task = {.name = "own", .configure = configure, .example = example};
    data_task less[] = {task, task, task};
    less[0].name = NULL, less[1].configure = NULL, less[2].example = NULL;
    char error[512];
    data_spec spec;
    for (wrong = 0; wrong < WRONG; wrong++) {
        assert_false(data_configure(&task, NULL, &spec, error, sizeof error));
        if (!strstr(error, words[wrong])) fail_msg("%s", error);
    }
    assert_true(data_configure(&task, NULL, &spec, error, sizeof error));
    data_release(&spec);
    for (int i = 0; i < 3; i++) {
        assert_false(data_configure(&less[i], NULL, &spec, error, sizeof error));
        assert_non_null(strstr(error, "it lacks its name, configure() or example()"));
    }
}

/* Neither a directory nor what its name begins with; an option without a name. */
static void options_are_whole(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    const qkv_config_setting nameless = {NULL, "1"};
    const qkv_config_parts parts[] = {{.given = &nameless, .n_given = 1}, {.n_given = 1}};
    const qkv_run_options options = {.threads = 1};
    const qkv_run_opening opening = {.threads = 1};
    qkv_run_summary out;
    qkv_run_progress progress;
    qkv_run_status status = QKV_RUN_DONE;
    qkv_config c;
    data_spec spec;
    assert_int_equal(qkv_config_make(&parts[0], &c, &spec, error), QKV_CONFIG_BAD_OPTION);
    assert_string_equal(error, "an option has no name");
    assert_int_not_equal(qkv_config_make(&parts[1], &c, &spec, error), QKV_CONFIG_OK);
    assert_non_null(strstr(error, "given"));
    qkv_config_default(&c);
    assert_true(qkv_config_resolve(&c, &spec, error));
    assert_int_equal(qkv_run_train(&qkv_io_posix, &c, &spec, &options, &out, error),
                     QKV_RUN_FAILED);
    assert_non_null(strstr(error, "prefix"));
    assert_null(qkv_run_open_at(&qkv_io_posix, &opening, &progress, &status, error));
    assert_true(status == QKV_RUN_FAILED && strstr(error, "dir"));
    data_release(&spec);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(null_is_told_everywhere), cmocka_unit_test(a_model_tells_what_is_missing),
    cmocka_unit_test(a_buffer_is_taken_back),  cmocka_unit_test(an_op_is_whole),
    cmocka_unit_test(a_task_is_whole),         cmocka_unit_test(options_are_whole),
};
CHECK_MAIN(tests)
