/* mutants.c - the table of faults, and what each one does.
 *
 * Those for any op leave no element of a gradient out. What is left to an op's own are faults that show
 * only under certain arguments: a mask, groups of heads, rows that are not scored. They must be seen in
 * some sample, or the samples lack those arguments. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/mutants_internal.h"

/* ---- for any op: one input's part spoiled ---- */

#define SPOILER(name, statement)                                                            \
    static void name##_how(const ag_node *node, const ag_node *in, real *added, size_t n) { \
        (void)node, (void)in, (void)added, (void)n;                                         \
        statement;                                                                          \
    }                                                                                       \
    static void name(ag_node *node) { mutant_spoil(node, name##_how, true); }
enum { LANES = 8 };  // of a vector: the same for every machine, so that the mutants are too

SPOILER(slightly_too_large, EACH(added[i] *= (real)1.00001))
SPOILER(nothing, EACH(added[i] = 0))
SPOILER(twice, EACH(added[i] *= 2))
SPOILER(wrong_sign, EACH(added[i] = -added[i]))
SPOILER(last_skipped, if (n) added[n - 1] = 0)
static void skip_tail(real *added, size_t n) {
    for (size_t i = n / LANES * LANES; i < n; i++) {
        mutant_now.differed = true;
        added[i] = 0;
    }
}
SPOILER(tail_skipped, skip_tail(added, n))
SPOILER(first_skipped, if (n) added[0] = 0)
SPOILER(constant_added, EACH(added[i] += (real)1e-6))
SPOILER(nan_at_the_end, if (n) added[n - 1] = (real)NAN)
SPOILER(magnitude_only, EACH(added[i] = (real)fabs((double)added[i])))

static void overwrite_how(const ag_node *node, const ag_node *in, real *added, size_t n) {
    (void)node, (void)in, (void)added, (void)n;
}
static void overwrites(ag_node *node) { mutant_spoil(node, overwrite_how, false); }

static void moved_by(real *added, size_t n, size_t by) {
    real *copy = mutant_take(n, sizeof *copy);
    EACH(copy[(i + by) % n] = added[i]);
    EACH(added[i] = copy[i]);
    free(copy);
}
SPOILER(moved_by_one, moved_by(added, n, 1))
SPOILER(zeros_leak, EACH(if (added[i] == 0) added[i] = (real)1e-6))

/* ---- for any op: the whole backward or forward ---- */

static real one(real x) { return x * 0 + 1; }
static real magnitude(real x) { return x < 0 ? -x : x; }
static real rounded(real x) {  // to 11 bits, as half precision has
    int exponent;
    double part = frexp((double)x, &exponent);
    return (real)ldexp(nearbyint(part * 2048) / 2048, exponent);
}
static void ignores_upstream(ag_node *node) { mutant_under(node, one); }
static void ignores_sign_upstream(ag_node *node) { mutant_under(node, magnitude); }
static void rounds_to_half(ag_node *node) { mutant_under(node, rounded); }

static void all_or_nothing(ag_node *node) {
    for (int k = 0; k < node->n_in; k++)
        if (!node->in[k]->wants_grad) return;
    mutant_right_backward(node);
}

static void with_save_off(ag_node *node) {
    real *kept = mutant_take(node->n_save, sizeof *kept);
    for (size_t i = 0; i < node->n_save; i++) {
        kept[i] = node->save[i];
        node->save[i] *= (real)1.00001;
    }
    mutant_right_backward(node);
    if (node->n_save) memcpy(node->save, kept, node->n_save * sizeof *kept);
    free(kept);
}

static void changes_input(ag_node *node) {
    mutant_right_backward(node);
    if (node->in[0]->val.n) node->in[0]->val.x[0] += (real)1e-9;
}

static void forward_changes_input(ag_node *node) {
    mutant_right_forward(node);
    if (node->in[0]->val.n) node->in[0]->val.x[0] *= (real)(1 + 1e-9);
}

/* Adds to what the last replay left. */
static void forward_accumulates(ag_node *node) {
    size_t n = node->val.n;
    real *old = mutant_take(n, sizeof *old);
    if (n) memcpy(old, node->val.x, n * sizeof *old);
    mutant_right_forward(node);
    EACH(node->val.x[i] += (real)1e-9 * old[i]);
    free(old);
}

static void forward_skips_last(ag_node *node) {
    if (node->val.n == 0) return;
    real old = node->val.x[node->val.n - 1];
    mutant_right_forward(node);
    if (node->val.x[node->val.n - 1] != old) mutant_now.differed = true;
    node->val.x[node->val.n - 1] = old;
}

/* Another function, close to the right one. (A mere factor would not do: the slope of 1.00001 e^x
 * is again its value.) */
static void forward_bent(ag_node *node) {
    mutant_right_forward(node);
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] *= 1 + (real)1e-5 * node->val.x[i];
}

/* What backward needs is kept at the recording only, not at replays. */
static void forward_keeps_old_save(ag_node *node) {
    real *old = mutant_take(node->n_save, sizeof *old);
    if (node->n_save) memcpy(old, node->save, node->n_save * sizeof *old);
    mutant_right_forward(node);
    if (memcmp(node->save, old, node->n_save * sizeof *old) != 0) mutant_now.differed = true;
    if (node->n_save) memcpy(node->save, old, node->n_save * sizeof *old);
    free(old);
}

/* ---- for any op: several results read one mutant_now.input, and their contributions are not added ---- */

enum { LAST_ONLY = 1, FIRST_ONLY, AVERAGE };

static void combine(real *sum, real *count, const real *part, size_t n) {
    EACH(if (part[i] != 0) {
        if (count[i] > 0) mutant_now.differed = true;
        if (mutant_now.flaw == LAST_ONLY || (mutant_now.flaw == FIRST_ONLY && count[i] == 0))
            sum[i] = part[i];
        if (mutant_now.flaw == AVERAGE) sum[i] += part[i];
        count[i]++;
    });
}

/* Backward is linear: run with one element of dy at a time it gives each element's contribution. */
static void combines_wrongly(ag_node *node) {
    ag_node *in = mutant_now.input < node->n_in ? node->in[mutant_now.input] : NULL;
    if (!in || !in->wants_grad) {
        mutant_right_backward(node);
        return;
    }
    size_t n = in->val.n;
    real *before = mutant_gradient(in), *dy = mutant_gradient(node);
    real *sum = mutant_take(n, sizeof *sum), *count = mutant_take(n, sizeof *count);
    mutant_backward_for(node, in, false);
    for (size_t y = 0; y < node->val.n; y++) {
        memset(node->grad, 0, node->val.n * sizeof *dy);
        node->grad[y] = dy[y];
        in->has_grad = false;
        mutant_backward_for(node, in, true);
        if (in->has_grad) combine(sum, count, in->grad, n);
    }
    if (node->val.n) memcpy(node->grad, dy, node->val.n * sizeof *dy);
    in->has_grad = true;
    EACH(in->grad[i] =
             before[i] + (mutant_now.flaw == AVERAGE && count[i] > 0 ? sum[i] / count[i] : sum[i]));
    free(before), free(dy), free(sum), free(count);
}

/* ---- under certain arguments ---- */

SPOILER(moved_by_a_row, moved_by(added, n, (size_t)tensor_width(in->val.shape)))
SPOILER(first_row_skipped,
        for (size_t i = 0; i < n && (int)i < tensor_width(in->val.shape); i++) added[i] = 0)
SPOILER(mean_for_sum, EACH(added[i] *= (real)node->val.n / (real)n))
SPOILER(sum_for_mean, EACH(added[i] *= (real)n / (real)node->val.n))
SPOILER(divided_by_results, EACH(added[i] *= (real)n / (real)node->val.n / (real)node->val.n))
SPOILER(without_factor, EACH(added[i] /= (real)mutant_argument(node, "factor")))
SPOILER(without_weight, EACH(added[i] /= (real)mutant_argument(node, "weight")))
SPOILER(without_share, EACH(added[i] *= 1 - (real)mutant_argument(node, "\"p")))
SPOILER(
    mean_over_all_rows, if (n) {
        const int scored = ag_cross_entropy_scored(node);
        EACH(added[i] *= (real)scored / (real)tensor_rows(in->val.shape));
    })

/* dx[i] += dy[i] as if nothing had been moved, for as many as both have. */
static void straight(ag_node *node) {
    for (int k = 0; k < node->n_in; k++) {
        real *dx = ag_grad(node->in[k]);
        for (size_t i = 0; dx && i < node->in[k]->val.n && i < node->val.n; i++)
            dx[i] += node->grad[i];
    }
}

/* The same from the end. */
static void straight_from_end(ag_node *node) {
    for (int k = 0; k < node->n_in; k++) {
        real *dx = ag_grad(node->in[k]);
        size_t n = node->in[k]->val.n, most = node->val.n;
        for (size_t i = 0; dx && i < n && i < most; i++) dx[n - 1 - i] += node->grad[most - 1 - i];
    }
}

/* The form of the GELU is all of its attr. */
static void as_form(ag_node *node, ag_gelu_form form) {
    const void *kept = node->attr;
    node->attr = &form;
    mutant_right_backward(node);
    node->attr = kept;
}
static void always_erf(ag_node *node) { as_form(node, AG_GELU_ERF); }
static void always_tanh(ag_node *node) { as_form(node, AG_GELU_TANH); }

static bool in_first_batch(const ag_node *node, size_t i) {
    return i < node->val.n / (size_t)node->val.shape.dim[0];
}
static void first_batch_only(ag_node *node) {
    node->val.shape.rank > 0 ? mutant_part(node, in_first_batch) : mutant_right_backward(node);
}

/* Query heads H of width E on G heads of keys or values; which head a result belongs to. */
typedef struct {
    int H, G, h;
} head;
static head head_of(const ag_node *node, size_t i) {
    const tensor_shape y = node->val.shape, in = node->in[0]->val.shape,
                       kv = node->in[1]->val.shape;
    const bool is_scores = y.rank == 4;  // [B,H,T,S]; a mix is [B,T,H*E]
    const int H = is_scores ? y.dim[1] : in.dim[1], E = is_scores ? in.dim[2] / H : y.dim[2] / H;
    const int plane = is_scores ? y.dim[2] * y.dim[3] : E;
    return (head){H, kv.dim[2] / E, (int)(i / (size_t)plane) % H};
}
static bool is_last_of_group(const ag_node *node, size_t i) {
    const head a = head_of(node, i);
    return (a.h + 1) % (a.H / a.G) == 0;
}
static bool is_dealt_round(const ag_node *node, size_t i) {
    const head a = head_of(node, i);
    return a.h % a.G == a.h / (a.H / a.G);
}
static void last_of_group(ag_node *node) { mutant_part(node, is_last_of_group); }
static void dealt_round(ag_node *node) { mutant_part(node, is_dealt_round); }

/* Scores that a mask hides pass their gradient on to q. */
static void mask_leaks(ag_node *node) {
    real *dy = mutant_gradient(node);  // the right one clears what is hidden
    mutant_right_backward(node);
    const tensor_shape y = node->val.shape, q = node->in[0]->val.shape, k = node->in[1]->val.shape;
    const int H = y.dim[1], T = y.dim[2], S = y.dim[3], E = q.dim[2] / H;
    real *dq = ag_grad(node->in[0]);
    for (int i = 0; dq && i < (int)node->val.n; i++)
        if (node->val.x[i] == 0) {  // no visible score of random numbers is
            const int b = i / (H * T * S), h = i / (T * S) % H, t = i / S % T, s = i % S;
            for (int e = 0; e < E; e++)
                dq[((b * T + t) * H + h) * E + e] +=
                    dy[i] * node->in[1]->val.x[(b * S + s) * k.dim[2] + e];
        }
    free(dy);
}

/* ---- the table ---- */

#define ANY(kind, what, function) \
    { NULL, what, kind, NULL, function, 1, false }
#define ANY_FORWARD(kind, what, function, tracks) \
    { NULL, what, kind, function, NULL, 1, tracks }
#define ANY_COMBINED(what, flaw) \
    { NULL, what, MUTANT_EACH_INPUT, NULL, combines_wrongly, flaw, true }
#define OF(op, what, kind, function) \
    { op, what, kind, NULL, function, LAST_ONLY, false }
#define LEAK(op) OF(op, "what has no part in the result learns", MUTANT_WHOLE, zeros_leak)

const mutant mutants[] = {
    ANY(MUTANT_EACH_INPUT, "times 1.00001", slightly_too_large),
    ANY(MUTANT_EACH_INPUT, "zero", nothing),
    ANY(MUTANT_EACH_INPUT, "overwrites instead of adding", overwrites),
    ANY(MUTANT_EACH_INPUT, "counted twice", twice),
    ANY(MUTANT_EACH_INPUT, "wrong sign", wrong_sign),
    ANY(MUTANT_EACH_INPUT, "first element skipped", first_skipped),
    ANY(MUTANT_EACH_INPUT, "last element skipped", last_skipped),
    {NULL, "end of the vector loop skipped", MUTANT_EACH_INPUT, NULL, tail_skipped, 1, true},
    ANY(MUTANT_EACH_INPUT, "everything one place further", moved_by_one),
    ANY(MUTANT_EACH_INPUT, "a constant is added", constant_added),
    ANY(MUTANT_EACH_INPUT, "magnitude without sign", magnitude_only),
    ANY(MUTANT_EACH_INPUT, "NaN in the last element", nan_at_the_end),
    ANY_COMBINED("only the last contribution counts", LAST_ONLY),
    ANY_COMBINED("only the first contribution counts", FIRST_ONLY),
    ANY_COMBINED("mean of the contributions, not sum", AVERAGE),
    ANY(MUTANT_WHOLE, "ignores the gradient from above", ignores_upstream),
    ANY(MUTANT_WHOLE, "ignores its sign", ignores_sign_upstream),
    ANY(MUTANT_WHOLE, "rounds it to half precision", rounds_to_half),
    ANY(MUTANT_TWO_INPUTS, "no gradient at all when one input is frozen", all_or_nothing),
    ANY(MUTANT_SAVES, "kept values off by 1.00001", with_save_off),
    ANY(MUTANT_WHOLE, "backward changes an input", changes_input),
    ANY_FORWARD(MUTANT_WHOLE, "forward changes an input", forward_changes_input, false),
    ANY_FORWARD(MUTANT_WHOLE, "forward adds to the last replay's value", forward_accumulates,
                false),
    ANY_FORWARD(MUTANT_WHOLE, "forward skips the last element", forward_skips_last, true),
    ANY_FORWARD(MUTANT_WHOLE, "forward a little bent", forward_bent, false),
    ANY_FORWARD(MUTANT_SAVES, "kept values are not renewed at a replay", forward_keeps_old_save,
                true),

    OF("add", "only the last of what is repeated", MUTANT_EACH_INPUT, combines_wrongly),
    OF("sub", "only the last of what is repeated", MUTANT_EACH_INPUT, combines_wrongly),
    OF("mul", "only the last of what is repeated", MUTANT_EACH_INPUT, combines_wrongly),
    OF("div", "only the last of what is repeated", MUTANT_EACH_INPUT, combines_wrongly),
    OF("scale", "factor forgotten", MUTANT_WHOLE, without_factor),
    OF("gelu", "always the erf form's slope", MUTANT_WHOLE, always_erf),
    OF("gelu", "always the tanh form's slope", MUTANT_WHOLE, always_tanh),
    LEAK("relu"),
    LEAK("max"),
    LEAK("dropout"),
    OF("dropout", "scale forgotten", MUTANT_WHOLE, without_share),
    OF("sum", "mean for sum", MUTANT_WHOLE, mean_for_sum),
    OF("mean", "sum for mean", MUTANT_WHOLE, sum_for_mean),
    OF("mean", "divided by the number of results", MUTANT_WHOLE, divided_by_results),
    OF("permute", "order forgotten", MUTANT_WHOLE, straight),
    LEAK("slice"),
    OF("slice", "always from the start", MUTANT_WHOLE, straight),
    OF("slice", "always from the end", MUTANT_WHOLE, straight_from_end),
    OF("concat", "all get the first piece", MUTANT_WHOLE, straight),
    OF("concat", "all get the last piece", MUTANT_WHOLE, straight_from_end),
    OF("linear", "bias from the first row", MUTANT_THIRD, first_batch_only),
    OF("matmul", "one batch only", MUTANT_EACH_INPUT, first_batch_only),
    LEAK("embedding"),
    OF("embedding", "row 0 taken for padding", MUTANT_EACH_INPUT, first_row_skipped),
    OF("embedding", "one row further", MUTANT_EACH_INPUT, moved_by_a_row),
    LEAK("gather"),
    OF("gather", "row 0 taken for absent", MUTANT_WHOLE, first_row_skipped),
    OF("gather", "one row further", MUTANT_WHOLE, moved_by_a_row),
    LEAK("softmax"),
    OF("scores", "mask leaks", MUTANT_WHOLE, mask_leaks),
    OF("scores", "factor forgotten", MUTANT_EACH_INPUT, without_factor),
    OF("scores", "first batch row only", MUTANT_EACH_INPUT, first_batch_only),
    OF("scores", "dk from the last head of a group", MUTANT_SECOND, last_of_group),
    OF("scores", "key heads dealt round", MUTANT_SECOND, dealt_round),
    OF("mix", "first batch row only", MUTANT_EACH_INPUT, first_batch_only),
    OF("mix", "dv from the last head of a group", MUTANT_SECOND, last_of_group),
    OF("mix", "value heads dealt round", MUTANT_SECOND, dealt_round),
    LEAK("cross_entropy"),
    OF("cross_entropy", "weight forgotten", MUTANT_WHOLE, without_weight),
    OF("cross_entropy", "mean over all rows", MUTANT_WHOLE, mean_over_all_rows),
    OF("squared_error", "weight forgotten", MUTANT_EACH_INPUT, without_weight),
    {NULL, NULL, MUTANT_WHOLE, NULL, NULL, 0, false},
};
