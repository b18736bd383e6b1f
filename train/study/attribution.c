/* attribution.c - does attribution patching (patching.h) say what exact patching finds?
 *
 * Pairs of held-out examples, clean 2i and other 2i + 1. The effects are those of each head's queries, keys,
 * values and result at each position, as shares of the mean difference that the pairs have. All of it three
 * times, with W^Q and its bias times 1/4, 1 and 4, which changes how sharp attention is, and nothing else:
 * "attribution.soft", ".own", ".sharp". Of each attention sublayer
 *     ".layer1.attn.weight"     the largest weight of the row that is asked, mean over heads and others
 *     ".layer1.attn.q.seen"     qkv_probe_agreement of its Q (k, v, result), over heads, positions, pairs
 *     ".layer1.attn.q.r"        the correlation of the same
 *     ".layer1.attn.q.wrong"    the share of its effects above 1 % that have the wrong sign */
#include <math.h>
#include <string.h>

#include "train/probe/look.h"
#include "train/probe/patching.h"
#include "train/study/probe.h"

enum { PAIRS = 32 };

/* What the pairs gave: a list of numbers for each part of each site. */
typedef struct {
    int sites, heads, each, pairs;          // each: numbers of a part of a site in one pair
    double size, *weight, *exact, *linear;  // [sites], [QKV_PROBE_PATCHES,sites,PAIRS,each]
} tally;

static bool begin(tally *sum, const qkv_probe_patching *p, int T, tensor_arena *arena) {
    *sum = (tally){.sites = p->n_sites, .heads = p->heads, .each = p->heads * T};
    const size_t n = (size_t)(QKV_PROBE_PATCHES * sum->sites * PAIRS) * (size_t)sum->each;
    sum->weight = tensor_arena_take(arena, (size_t)sum->sites, sizeof(double));
    sum->exact = tensor_arena_take(arena, n, sizeof(double));
    sum->linear = tensor_arena_take(arena, n, sizeof(double));
    if (!sum->weight || !sum->exact || !sum->linear) return false;
    for (size_t i = 0; i < n; i++) sum->exact[i] = sum->linear[i] = (double)NAN;
    return true;
}

static void add(tally *sum, const qkv_probe_patching *p) {
    const double d = p->clean - p->other;
    const int T = sum->each / sum->heads;
    for (int i = 0; i < QKV_PROBE_PATCHES * sum->sites * sum->heads; i++)
        for (int t = 0; t < p->T; t++) {
            const int list = i / sum->heads * PAIRS + sum->pairs;
            const int to = list * sum->each + i % sum->heads * T + t;
            sum->exact[to] = d * p->exact.head_at[i * p->T + t];
            sum->linear[to] = d * p->linear.head_at[i * p->T + t];
        }
    sum->size += fabs(d);
    sum->pairs++;
}

/* How sharp the asked row is on the example that is loaded. */
static void add_weights(tally *sum, const qkv_probe_patching *p) {
    for (int i = 0; i < sum->sites * sum->heads; i++) {
        const ag_node *weights = p->site[i / sum->heads].weights;
        const bool asked = p->site[i / sum->heads].rows == DATA_SEQUENCE;
        const real *row = qkv_probe_row_of(weights, 0, i % sum->heads, asked ? p->position : 0);
        const double most = (double)row[qkv_trainer_argmax(row, weights->val.shape.dim[3])];
        sum->weight[i / sum->heads] += asked ? most / sum->heads : (double)NAN;
    }
}

static bool measure_pairs(qkv_trainer *t, tensor_arena *arena, tally *sum, char *error) {
    qkv_trainer_worker *w = qkv_trainer_tape_worker(t, false, error);
    const int held_out = data_at_most(qkv_trainer_spec(t), "test", 2 * PAIRS);
    qkv_probe_patching p;
    for (int other = 1; w && other < held_out; other += 2) {
        if (!qkv_probe_patching_of(t, "test", (uint64_t)other - 1, (uint64_t)other, arena, &p,
                                   error)) {
            if (ag_error(w->graph)) return false;
            continue;  // there is no question with two answers
        }
        const int T = qkv_trainer_spec(t)->side[DATA_SEQUENCE].T;
        if (!sum->sites && !begin(sum, &p, T, arena)) return qkv_io_fail(error, "out of memory");
        add(sum, &p);
        qkv_trainer_load(t, w, "test", (uint64_t)other, 1, 1);
        if (!qkv_probe_replay(w)) return qkv_trainer_fail(t, error);
        add_weights(sum, &p);
    }
    if (sum->pairs) *error = '\0';  // that of a pair that was left out
    return sum->pairs > 0;
}

static void report(qkv_trainer *t, tally *sum, const char *sharpness, tensor_arena *arena,
                   qkv_probe_measures *out) {
    static const char *const parts[QKV_PROBE_PATCHES] = {"q", "k", "v", "result"};
    int n, numbers = PAIRS * sum->each;
    const qkv_probe_site *site = qkv_probe_sites(t, qkv_trainer_any_worker(t), arena, &n);
    for (int i = 0; site && sum->weight && i < QKV_PROBE_PATCHES * n; i++) {
        double *exact = sum->exact + (ptrdiff_t)i * numbers,
               *linear = sum->linear + (ptrdiff_t)i * numbers, large = 0;
        for (int k = 0; k < numbers; k++) {
            exact[k] /= sum->size / sum->pairs, linear[k] /= sum->size / sum->pairs;
            large += fabs(exact[k]) > 0.01;
        }
        const qkv_probe_agreement a = qkv_probe_agree(exact, linear, numbers);
        const char *name = site[i % n].name, *part = parts[i / n];
        if (i < n)
            qkv_probe_measure_add(out, sum->weight[i] / sum->pairs, "attribution.%s.%s.weight",
                                  sharpness, name);
        qkv_probe_measure_add(out, a.seen, "attribution.%s.%s.%s.seen", sharpness, name, part);
        qkv_probe_measure_add(out, a.r, "attribution.%s.%s.%s.r", sharpness, name, part);
        qkv_probe_measure_add(out, a.wrong / large, "attribution.%s.%s.%s.wrong", sharpness, name,
                              part);
    }
}

/* Multiplies every W^Q and its bias. */
static void sharpen(qkv_trainer *t, real factor) {
    for (int i = 0; i < ag_params_count(qkv_trainer_params(t)); i++) {
        const ag_param_entry *p = ag_params_at(qkv_trainer_params(t), i);
        if (!ag_matches("*.wq", p->name) && !ag_matches("*.bq", p->name)) continue;
        for (size_t k = 0; k < p->val.n; k++) p->val.x[k] *= factor;
    }
}

bool qkv_study_probe_run_attribution(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    static const char *const names[] = {"soft", "own", "sharp"};
    const qkv_config *c = qkv_trainer_config(t);
    if (!c->wq || c->qk_norm || (c->tie != NN_TIE_NONE && c->tie != NN_TIE_KV))
        return qkv_io_fail(error,
                           "it makes attention softer and sharper by W^Q, which is not "
                           "there, not Q's alone, or undone by a norm");
    bool ok = true;
    for (int i = 0; ok && i < 3; i++) {
        tensor_arena *arena = tensor_arena_new(NULL);
        tally sum = {0};
        if (i != 1) sharpen(t, i ? 4 : (real)0.25);
        ok = arena ? measure_pairs(t, arena, &sum, error) : qkv_io_fail(error, "out of memory");
        if (i != 1) sharpen(t, i ? (real)0.25 : 4);  // a power of two: to the bit
        if (ok) report(t, &sum, names[i], arena, out);
        tensor_arena_free(arena);
    }
    return ok;
}
