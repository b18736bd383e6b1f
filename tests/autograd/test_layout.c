/* The bits of an op do not depend on where its memory stands: compilers make loops that look whether two
 * arrays overlap, and take another way if they may; both ways must round alike. */
#include "tests/lib/stream.h"

enum { DRAWS = 4, LAYOUTS = 8 };

typedef struct {
    rng gaps, values;
} source;

/* Leaves with gaps between them, other ones in each layout; their numbers are those of a draw. */
static ag_node *apart(ag_graph *g, ag_sample_kind kind, tensor_shape shape, void *ctx) {
    source *s = ctx;
    ag_take(g, 1 + rng_below(&s->gaps, 9), 16 * sizeof(real));
    g->source = NULL;
    ag_node *x = ag_sample(g, kind, shape);
    g->source = apart;
    for (size_t n = 0; n < x->val.n; n++) x->val.x[n] *= (real)(0.7 + 0.6 * rng_double(&s->values));
    return x;
}

static ag_node *run(world *w, const ag_op *op, int i, int draw, int layout) {
    source s = {rng_stream(8, op->name, (uint64_t)layout), rng_stream(9, op->name, (uint64_t)draw)};
    w->g->source = apart;
    w->g->source_ctx = &s;
    ag_node *y = op->sample(w->g, i);
    w->g->source = NULL;
    if (!y) return NULL;
    ag_set_run(w->g, (ag_run){.seed = 5, .step = 7, .training = true});
    if (layout % 2) ag_keep_grads(w->g, false);  // then dy stands before what is added to
    for (int n = 0; n < 2; n++) pass(w, y);
    return y;
}

/* Whether there is such a sample. */
static bool compare(const ag_op *op, int i, int draw, int *compared) {
    world first, other;
    open_world(&first);
    ag_node *a = run(&first, op, i, draw, 0);
    for (int layout = 1; a && layout < LAYOUTS; layout++) {
        open_world(&other);
        ag_node *b = run(&other, op, i, draw, layout);
        *compared += a->val.n > 0;
        if (!same_bits(a->val.x, b->val.x, a->val.n) || !same(&first, &other))
            fail_msg("%s, sample %d: other bits in layout %d", op->name, i, layout);
        close_world(&other);
    }
    close_world(&first);
    return a;
}

static void bits_do_not_depend_on_layout(void **state) {
    (void)state;
    int compared = 0;
    for (const ag_op *const *op = ag_ops; *op; op++)
        for (int draw = 0; draw < DRAWS; draw++)
            for (int i = 0; compare(*op, i, draw, &compared);) i++;
    assert_true(compared > 5000);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(bits_do_not_depend_on_layout)};
CHECK_MAIN(tests)
