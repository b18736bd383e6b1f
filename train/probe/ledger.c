/* ledger.c - one step's change of the held-out loss, as a sum over parameters. */
#include "train/probe/ledger.h"

#include <math.h>
#include <string.h>

#include "tensor/flush.h"
#include "train/io/given.h"
#include "train/probe/ledger_internal.h"
#include "train/probe/look.h"

/* Beside both ends and the middle: two for each stretch that is halved. */
enum { HALVED = 16, POINTS = 3 + 2 * HALVED };

/* Of what was left, so much is left after two halvings where they are of no use: it is rounding. */
static const double NO_USE = 0.8;

/* A place on the line from `from` (0) to `to` (1). */
typedef struct {
    double at, loss;
    const double *dot;
} point;

typedef struct {
    const point *a, *m, *b;
    double left;  // of what the loss changed by here
} stretch;

/* A step that is being allotted. */
typedef struct {
    qkv_probe_ledger *l;
    const real *from, *to;
    point point[POINTS];
    stretch stretch[1 + HALVED];
    int points, stretches, gradients;
    char *error;
} walk;

/* ---- gradients ---- */

static void set_blocks(const qkv_probe_ledger *l, int pass) {
    for (int i = 0; i < l->sites; i++) {
        ag_block(l->scores[i], pass == QKV_PROBE_PASS_NO_SCORES || pass == QKV_PROBE_PASS_NEITHER);
        ag_block(l->values[i], pass == QKV_PROBE_PASS_NO_VALUES || pass == QKV_PROBE_PASS_NEITHER);
    }
}

/* Adds the gradient that stands in scratch; parameters without one get nothing. */
static void add_gradient(const qkv_probe_ledger *l, double *gradient) {
    ag_params *p = qkv_trainer_params(l->t);
    for (int i = 0; i < ag_params_count(p); i++) {
        const ag_param_entry *e = ag_params_at(p, i);
        const real *g = e->frozen ? NULL : ag_param_grad(l->w->graph, e);
        for (size_t k = 0; g && k < e->val.n; k++) gradient[e->offset + k] += (double)g[k];
    }
}

/* Loss and gradients of the micro-batch that is loaded. */
static bool one_micro_batch(const qkv_probe_ledger *l, double *gradient, double *loss) {
    qkv_trainer_worker *w = l->w;
    bool ok = ag_forward(w->graph);
    if (ok) *loss += (double)w->out.loss->val.x[0];
    for (int pass = 0; ok && pass < l->passes; pass++) {
        set_blocks(l, pass);
        ag_grads_into(w->graph, l->scratch);
        ok = ag_backward(w->out.loss, NULL);
        if (ok) add_gradient(l, gradient + (size_t)pass * l->size);
    }
    return ok;
}

/* The held-out loss where the trainer's parameters are, and its gradient in every pass. */
static bool compute(qkv_probe_ledger *l, double *gradient, double *loss, char *error) {
    qkv_trainer_worker *w = l->w;
    bool ok = true;
    memset(gradient, 0, (size_t)l->passes * l->size * sizeof *gradient);
    *loss = 0;
    for (int first = 0; ok && first < l->examples; first += w->B) {
        const int n = l->examples - first < w->B ? l->examples - first : w->B;
        qkv_trainer_load(l->t, w, "valid", (uint64_t)first, n, l->examples);
        ag_set_run(w->graph, (ag_run){.training = false});
        const tensor_flush before = tensor_flush_begin();
        ok = one_micro_batch(l, gradient, loss);
        tensor_flush_end(before);
    }
    set_blocks(l, QKV_PROBE_PASS_WHOLE);
    ag_grads_into(w->graph, NULL);
    if (!ok) return qkv_trainer_fail(l->t, error);
    return isfinite(*loss) || qkv_io_fail(error, "the held-out loss is not finite");
}

/* ---- points ---- */

static const point *note(walk *k, double at, double loss, const double *gradient) {
    double *dot = k->l->dot + (size_t)k->points * (size_t)k->l->n_raw;
    qkv_probe_ledger_dots(k->l, gradient, dot);
    k->point[k->points] = (point){at, loss, dot};
    return &k->point[k->points++];
}

static const point *between(walk *k, double at) {
    qkv_probe_ledger *l = k->l;
    ag_params *p = qkv_trainer_params(l->t);
    double loss;
    for (int i = 0; i < ag_params_count(p); i++) {
        const ag_param_entry *e = ag_params_at(p, i);
        for (size_t j = 0; j < e->val.n; j++)
            e->val.x[j] = (real)((double)k->from[e->offset + j] + at * l->step[e->offset + j]);
    }
    k->gradients++;
    if (!compute(l, l->between, &loss, k->error)) return NULL;
    return note(k, at, loss, l->between);
}

/* Is the gradient at `from` the one at which the step before ended? Then they change places. */
static bool is_known(qkv_probe_ledger *l, const real *from, int gate) {
    ag_params *p = qkv_trainer_params(l->t);
    bool same = l->last_gate == gate;
    for (int i = 0; same && i < ag_params_count(p); i++) {
        const ag_param_entry *e = ag_params_at(p, i);
        same = !memcmp(from + e->offset, l->last + e->offset, e->val.n * sizeof *from);
    }
    if (!same) return false;
    double *end = l->end;
    l->end = l->start;
    l->start = end;
    return true;
}

static bool both_ends(walk *k) {
    qkv_probe_ledger *l = k->l;
    ag_params *p = qkv_trainer_params(l->t);
    const int gate = qkv_probe_gate_is_open(l->t);
    double loss = l->last_loss;
    if (!is_known(l, k->from, gate)) {
        k->gradients++;
        qkv_probe_params_copy(p, (real *)(size_t)k->from, true);
        if (!compute(l, l->start, &loss, k->error)) return false;
    }
    l->last_gate = -1;
    note(k, 0, loss, l->start);
    k->gradients++;
    qkv_probe_params_copy(p, (real *)(size_t)k->to, true);
    if (!compute(l, l->end, &l->last_loss, k->error)) return false;
    note(k, 1, l->last_loss, l->end);
    memcpy(l->last, k->to, l->size * sizeof *l->last);
    l->last_gate = gate;
    return true;
}

/* ---- integrals ---- */

/* Adds Simpson's rule over a stretch, for every product. */
static void add_simpson(const walk *k, const stretch *s, double *raw) {
    const double h = (s->b->at - s->a->at) / 6;
    for (int i = 0; i < k->l->n_raw; i++)
        raw[i] += h * (s->a->dot[i] + 4 * s->m->dot[i] + s->b->dot[i]);
}

static bool put_stretch(walk *k, int at, const point *a, const point *b) {
    stretch s = {a, between(k, (a->at + b->at) / 2), b, b->loss - a->loss};
    if (!s.m) return false;
    for (int i = 0; i < k->l->n_parameters; i++)
        s.left -= (b->at - a->at) / 6 * (a->dot[i] + 4 * s.m->dot[i] + b->dot[i]);
    k->stretch[at] = s;
    return true;
}

/* One unit in the last place of a loss, as a real has it. */
static double last_place(double loss) {
    int exponent = 0;
    frexp(fabs(loss), &exponent);
    return ldexp((double)REAL_EPSILON, exponent - 1);
}

/* Adds everything up; out->part holds it. */
static void conclude(const walk *k, qkv_probe_ledger_row *out) {
    const qkv_probe_ledger *l = k->l;
    memset(l->raw, 0, (size_t)l->n_raw * sizeof *l->raw);
    for (int i = 0; i < k->stretches; i++) add_simpson(k, &k->stretch[i], l->raw);
    qkv_probe_ledger_parts(l, l->raw, l->part);
    *out = (qkv_probe_ledger_row){.before = k->point[0].loss,
                                  .after = k->point[1].loss,
                                  .gradients = k->gradients,
                                  .part = l->part};
    out->left = out->after - out->before;
    for (int i = 0; i < l->n_parameters; i++) {
        out->left -= l->part[i];
        out->size += fabs(l->part[i]);
    }
    out->allowed = (sizeof(real) == 4 ? 1e-4 : 1e-8) * out->size +
                   4 * last_place(fmax(fabs(out->before), fabs(out->after)));
}

/* Halves the stretch where most is left. */
static bool halve(walk *k) {
    int worst = 0;
    for (int i = 1; i < k->stretches; i++)
        if (fabs(k->stretch[i].left) > fabs(k->stretch[worst].left)) worst = i;
    const stretch s = k->stretch[worst];
    return put_stretch(k, worst, s.a, s.m) && put_stretch(k, k->stretches++, s.m, s.b);
}

bool qkv_probe_ledger_step(qkv_probe_ledger *l, const real *from, const real *to,
                           qkv_probe_ledger_row *out, char *error) {
    if (!QKV_IO_GIVEN(error, l, from, to, out)) return false;
    ag_params *p = qkv_trainer_params(l->t);
    walk k = {.l = l, .from = from, .to = to, .stretches = 1, .error = error};
    qkv_probe_params_copy(p, l->kept, false);
    for (int i = 0; i < ag_params_count(p); i++) {
        const ag_param_entry *e = ag_params_at(p, i);
        for (size_t j = e->offset; j < e->offset + e->val.n; j++)
            l->step[j] = (double)to[j] - (double)from[j];
    }
    bool ok = both_ends(&k) && put_stretch(&k, 0, &k.point[0], &k.point[1]);
    if (ok) conclude(&k, out);
    double before = (double)INFINITY;  // what was left two halvings ago
    while (ok && fabs(out->left) > out->allowed && k.stretches <= HALVED &&
           fabs(out->left) < NO_USE * before) {
        before = fabs(out->left);
        ok = halve(&k) && halve(&k);
        if (ok) conclude(&k, out);
    }
    qkv_probe_params_copy(p, l->kept, true);
    return ok;
}

/* ---- a ledger ---- */

static bool take_memory(qkv_probe_ledger *l) {
    const size_t P = l->size, G = P * (size_t)l->passes, raw = (size_t)l->n_raw;
    l->kept = tensor_arena_reals(l->arena, P);
    l->scratch = tensor_arena_reals(l->arena, P);
    l->last = tensor_arena_reals(l->arena, P);
    l->step = tensor_arena_take(l->arena, P, sizeof(double));
    l->start = tensor_arena_take(l->arena, G, sizeof(double));
    l->end = tensor_arena_take(l->arena, G, sizeof(double));
    l->between = tensor_arena_take(l->arena, G, sizeof(double));
    l->raw = tensor_arena_take(l->arena, raw, sizeof(double));
    l->part = tensor_arena_take(l->arena, (size_t)l->n_columns, sizeof(double));
    l->dot = tensor_arena_take(l->arena, POINTS * raw, sizeof(double));
    return l->kept && l->scratch && l->last && l->step && l->start && l->end && l->between &&
           l->raw && l->part && l->dot;
}

qkv_probe_ledger *qkv_probe_ledger_new(qkv_trainer *t, const qkv_probe_ledger_options *o,
                                       char *error) {
    if (!QKV_IO_GIVEN(error, t, o)) return NULL;
    tensor_arena *arena = tensor_arena_new(qkv_trainer_allocator(t));
    qkv_probe_ledger *l = arena ? tensor_arena_take(arena, 1, sizeof *l) : NULL;
    if (!l) return tensor_arena_free(arena), qkv_io_fail(error, "out of memory"), NULL;
    const int wanted = o->examples > 0 ? o->examples : 1;
    *l = (qkv_probe_ledger){.arena = arena,
                            .t = t,
                            .examples = data_at_most(qkv_trainer_spec(t), "valid", wanted),
                            .passes = 1,
                            .size = ag_params_size(qkv_trainer_params(t)),
                            .last_gate = -1};
    // blocked nodes are stored: not among those that train
    l->w = o->through ? qkv_trainer_any_worker(t) : qkv_trainer_training_worker(t);
    bool ok = qkv_probe_ledger_find_columns(l, o, error);
    if (ok && !take_memory(l)) ok = qkv_io_fail(error, "out of memory");
    if (ok) return l;
    qkv_probe_ledger_free(l);
    return NULL;
}

void qkv_probe_ledger_free(qkv_probe_ledger *l) {
    if (l) tensor_arena_free(l->arena);
}

int qkv_probe_ledger_columns(const qkv_probe_ledger *l) { return l ? l->n_columns : 0; }
int qkv_probe_ledger_parameters(const qkv_probe_ledger *l) { return l ? l->n_parameters : 0; }
int qkv_probe_ledger_examples(const qkv_probe_ledger *l) { return l ? l->examples : 0; }
const qkv_probe_ledger_column *qkv_probe_ledger_column_at(const qkv_probe_ledger *l, int i) {
    return l && i >= 0 && i < l->n_columns ? &l->column[i] : NULL;
}
