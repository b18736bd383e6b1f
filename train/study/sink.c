/* sink.c - where does attention go when nothing fits, and what is brought from there?
 *
 * A place brings its weight times the size of its value. Rows are of two kinds: "found", the answer
 * stands somewhere, and "absent", it does not (--absent of the task pairs). For each kind k, last
 * layer, mean over heads: "sink.k.accuracy"; "sink.k.self", the weight on the row's own place;
 * "sink.k.greatest", the greatest weight on an entry; "sink.k.sum" of all weights;
 * "sink.k.size_self", |v W^O| at the own place, "sink.k.size_entries" the mean of the entries,
 * "sink.k.relative" the one over the other; "sink.k.share", the own place's part of all weight times
 * size; "sink.k.brought", the length of what attention adds.
 *
 * Interventions: the value at one place, which is the answer's (found) or the row's own (absent), is 0
 * or that of another entry, and all else as it was: "sink.k.zero", "sink.k.entry", the accuracies. */
#include <math.h>
#include <string.h>

#include "train/probe/look.h"
#include "train/study/probe.h"

enum { EXAMPLES = 1000, FOUND = 0, ABSENT, KINDS, ZERO = 0, ENTRY, CHANGES };

typedef struct {
    double rows, right, self, greatest, sum, size_self, size_entries, share, brought;
    double changed[CHANGES];  // right answers
} kind;

typedef struct {
    kind of[KINDS];
    const ag_param_entry *wo;
    double *o;  // [D]
} tally;

/* o [D] += one head's v [E] through W^O; without W^O the heads' channels stand side by side. */
static void map_back(const tally *sum, const real *v, int head, int E, int D, double *o) {
    for (int e = 0; e < E; e++) {
        const real *row = sum->wo ? sum->wo->val.x + (ptrdiff_t)(head * E + e) * D : NULL;
        if (!row) o[head * E + e] += (double)v[e];
        for (int d = 0; row && d < D; d++) o[d] += (double)v[e] * (double)row[d];
    }
}

static double length(const double *x, int n) {
    double squares = 0;
    for (int i = 0; i < n; i++) squares += x[i] * x[i];
    return sqrt(squares);
}

/* |v W^O| of one head's value. */
static double size_of(const tally *sum, const real *v, int head, int E, int D) {
    memset(sum->o, 0, (size_t)D * sizeof *sum->o);
    map_back(sum, v, head, E, D, sum->o);
    return length(sum->o, D);
}

/* One head of one row: weights a [S], values v [S, width apart]. */
static void add_head(const qkv_trainer *t, const qkv_trainer_worker *w, int b, const tally *sum,
                     const real *a, const real *v, int width, int head, int at, kind *k) {
    const qkv_config *c = qkv_trainer_config(t);
    const int S = qkv_trainer_spec(t)->side[DATA_SEQUENCE].T,
              entries = qkv_trainer_spec(t)->entries, H = c->heads;
    double all = 0, own = 0, most = 0, stored = 0;
    int seen = 0;  // of the entries
    for (int s = 0; s < S; s++) {
        if (!qkv_probe_sees(t, w, b, at, s)) continue;
        const double size = size_of(sum, v + (ptrdiff_t)s * width, head, c->d_v, c->d_model),
                     weight = (double)a[s];
        all += weight * size;
        k->sum += weight / H;
        if (s == at) own = weight * size, k->self += weight / H, k->size_self += size / H;
        if (s < entries) stored += size, seen++, most = fmax(most, weight);
    }
    k->size_entries += seen ? stored / seen / H : 0;
    k->greatest += most / H;
    k->share += all > 0 ? own / all / H : 0;
}

static bool is_right(qkv_trainer *t, const qkv_trainer_worker *w, int n) {
    return qkv_probe_answer(t, w, 0, n) == w->target[0][n];
}

/* ---- the value where attention should go: the answer's place, or the row's own ---- */

typedef struct {
    qkv_trainer *t;
    const qkv_trainer_worker *w;
    int what;
} change;

static void change_values(ag_node *v, void *ctx) {
    const change *c = ctx;
    const int S = v->val.shape.dim[1], width = v->val.shape.dim[2];
    for (int n = 0; n < qkv_probe_rows(c->w); n++) {
        real *first = v->val.x + (ptrdiff_t)qkv_probe_row_example(c->t, c->w, n) * S * width;
        const int source = c->w->source[0][n];
        const int at = source < 0 ? qkv_probe_row_position(c->t, c->w, n) : source;
        real *own = first + (ptrdiff_t)at * width;
        for (int i = 0; i < width; i++)
            own[i] = c->what == ENTRY ? first[(source == 0) * width + i] : 0;
    }
}

static bool count_changed(qkv_trainer *t, qkv_trainer_worker *w, tally *sum) {
    ag_node *v = qkv_probe_node(t, w, qkv_probe_last_layer(t), "mix")->in[1];
    for (int what = 0; what < CHANGES; what++) {
        change c = {t, w, what};
        if (!ag_hook(v, change_values, &c)) return false;
        const bool ran = qkv_probe_replay(w);
        ag_unhook(v, change_values, &c);
        if (!ran) return false;
        for (int n = 0; n < qkv_probe_rows(w); n++)
            sum->of[w->source[0][n] < 0].changed[what] += is_right(t, w, n);
    }
    return true;
}

/* One row: every head's weights and values, and what they add up to. */
static void add_row(qkv_trainer *t, qkv_trainer_worker *w, const tally *sum, int n, kind *k) {
    const qkv_config *c = qkv_trainer_config(t);
    const int last = qkv_probe_last_layer(t), b = qkv_probe_row_example(t, w, n),
              at = qkv_probe_row_position(t, w, n);
    const ag_node *weights = qkv_trainer_weights(w, last), *mix = qkv_probe_node(t, w, last, "mix"),
                  *v = mix->in[1];
    const int T = weights->val.shape.dim[2], S = v->val.shape.dim[1], width = v->val.shape.dim[2];
    k->rows++;
    k->right += is_right(t, w, n);
    for (int h = 0; h < c->heads; h++)
        add_head(t, w, b, sum, qkv_probe_row_of(weights, b, h, at),
                 v->val.x + (ptrdiff_t)b * S * width + h / (c->heads / c->kv_heads) * c->d_v, width,
                 h, at, k);
    memset(sum->o, 0, (size_t)c->d_model * sizeof *sum->o);
    for (int h = 0; h < c->heads; h++)
        map_back(sum, mix->val.x + (((ptrdiff_t)b * T + at) * c->heads + h) * c->d_v, h, c->d_v,
                 c->d_model, sum->o);
    k->brought += length(sum->o, c->d_model);
}

static bool count(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    (void)arena;
    tally *sum = ctx;
    for (int n = 0; n < qkv_probe_rows(w); n++)
        add_row(t, w, sum, n, &sum->of[w->source[0][n] < 0]);
    return count_changed(t, w, sum);
}

static void report(const kind *k, const char *name, qkv_probe_measures *out) {
    const struct {
        const char *name;
        double x;
    } m[] = {{"accuracy", k->right},
             {"self", k->self},
             {"greatest", k->greatest},
             {"sum", k->sum},
             {"size_self", k->size_self},
             {"size_entries", k->size_entries},
             {"relative", k->size_entries > 0 ? k->size_self / k->size_entries * k->rows : 0},
             {"share", k->share},
             {"brought", k->brought},
             {"zero", k->changed[ZERO]},
             {"entry", k->changed[ENTRY]}};
    for (size_t i = 0; i < sizeof m / sizeof *m && k->rows > 0; i++)
        qkv_probe_measure_add(out, m[i].x / k->rows, "sink.%s.%s", name, m[i].name);
}

bool qkv_study_probe_run_sink(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    tally sum = {.wo = qkv_probe_matrix(t, qkv_probe_last_layer(t), "wo")};
    const data_spec *s = qkv_trainer_spec(t);
    if (s->store != DATA_SEQUENCE)
        return qkv_io_fail(error, "the questions see no place of their own, only a memory");
    if (!qkv_probe_has_nodes(t, "weights mix logits", error)) return false;
    const ag_node *mix =
        qkv_probe_node(t, qkv_trainer_any_worker(t), qkv_probe_last_layer(t), "mix");
    if (mix->op != &ag_op_mix)
        return qkv_io_fail(error, "the node '%s' is not the op 'mix', whose values are read",
                           mix->name);
    tensor_arena *arena = tensor_arena_new(NULL);
    if (arena)
        sum.o = tensor_arena_take(arena, (size_t)qkv_trainer_config(t)->d_model, sizeof *sum.o);
    bool ok = sum.o ? qkv_probe_see(t, "test", EXAMPLES, 0, count, &sum, error)
                    : qkv_io_fail(error, "out of memory");
    if (ok) report(&sum.of[FOUND], "found", out);
    if (ok) report(&sum.of[ABSENT], "absent", out);
    tensor_arena_free(arena);
    return ok;
}
