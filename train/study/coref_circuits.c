/* coref_circuits.c - the words of coref put through the matrices. */
#include "train/study/coref_circuits.h"

#include "data/coref.h"
#include "tensor/gemm.h"
#include "train/probe/circuits.h"
#include "train/probe/look.h"

enum { KIND = 8, NOUNS = 2 * KIND, WORDS = DATA_COREF_WORDS };

typedef struct {
    const ag_param_entry *words, *positions, *wq, *wk, *wv, *wo, *u;  // positions NULL: not learned
    int D, K, V;    // widths: the stream, all heads' keys, all heads' values
    double factor;  // of the scores
    real *asks;     // [KIND, D] what stands at "it": the word, a predicate, the position
    real *q, *k;    // [KIND, K] [WORDS, K]
    real *scores;   // [KIND, WORDS]
    real *v, *o;    // [WORDS, V] [WORDS, D]
    real *says;     // [WORDS, KIND]
} circuits;

static void set_questions(circuits *c) {
    const real *it = c->words->val.x + (ptrdiff_t)DATA_COREF_IT * c->D, *at = NULL;
    if (c->positions) at = c->positions->val.x + (ptrdiff_t)data_coref_places_of(9).read * c->D;
    for (int p = 0; p < KIND; p++)
        for (int d = 0; d < c->D; d++)
            c->asks[p * c->D + d] =
                c->words->val.x[(DATA_COREF_PREDICATES + p) * c->D + d] + it[d] + (at ? at[d] : 0);
}

/* Every predicate with every word; and what every word would make the model say. */
static void read_matrices(circuits *c) {
    gemm_view words = {c->words->val.x, c->D, 1};
    int N = WORDS, D = c->D;
    gemm_mul(GEMM_SET, KIND, c->K, D, (gemm_view){c->asks, D, 1},
             (gemm_view){c->wq->val.x, c->K, 1}, c->q, c->K);
    gemm_mul(GEMM_SET, N, c->K, D, words, (gemm_view){c->wk->val.x, c->K, 1}, c->k, c->K);
    gemm_mul(GEMM_SET, KIND, N, c->K, (gemm_view){c->q, c->K, 1}, (gemm_view){c->k, 1, c->K},
             c->scores, N);
    gemm_mul(GEMM_SET, N, c->V, D, words, (gemm_view){c->wv->val.x, c->V, 1}, c->v, c->V);
    gemm_mul(GEMM_SET, N, D, c->V, (gemm_view){c->v, c->V, 1}, (gemm_view){c->wo->val.x, D, 1},
             c->o, D);
    gemm_mul(GEMM_SET, N, KIND, D, (gemm_view){c->o, D, 1}, (gemm_view){c->u->val.x, KIND, 1},
             c->says, KIND);
}

static double variance(const real *x, int n) {
    double mean = 0, squares = 0;
    for (int i = 0; i < n; i++) mean += (double)x[i] / n;
    for (int i = 0; i < n; i++) squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    return squares / n;
}

/* Sums over predicates. */
typedef struct {
    double fitting, other, never, wins;  // never: fitting, but not trained
    int n_never;
} qk_sums;

/* noun [NOUNS]: the scores that predicate p gives them. */
static void add_predicate(int p, const real *noun, double factor, qk_sums *sum) {
    for (int i = 0; i < NOUNS; i++) {
        int id = DATA_COREF_NOUNS + i;
        bool fits = data_coref_fits(id, p), never = fits && data_coref_held_out(id, p);
        *(fits ? &sum->fitting : &sum->other) += factor * (double)noun[i];
        if (never) sum->never += factor * (double)noun[i];
        sum->n_never += never;
        for (int k = 0; fits && k < NOUNS; k++)
            sum->wins += !data_coref_fits(DATA_COREF_NOUNS + k, p) && noun[i] > noun[k];
    }
}

static void report_qk(const circuits *c, qkv_probe_measures *out) {
    double over_tags = 0, over_nouns = 0;
    qk_sums sum = {0};
    for (int i = 0; i < KIND; i++) {
        const real *row = c->scores + (ptrdiff_t)i * WORDS;
        add_predicate(DATA_COREF_PREDICATES + i, row + DATA_COREF_NOUNS, c->factor, &sum);
        over_tags += variance(row + DATA_COREF_COLOURS, KIND);
        over_nouns += variance(row + DATA_COREF_NOUNS, NOUNS);
    }
    qkv_probe_measure_add(out, sum.fitting / (KIND * KIND), "coref.qk.compatible");
    qkv_probe_measure_add(out, sum.other / (KIND * KIND), "coref.qk.incompatible");
    qkv_probe_measure_add(out, sum.never / sum.n_never, "coref.qk.heldout");
    qkv_probe_measure_add(out, sum.wins / (KIND * KIND * KIND), "coref.qk.wins");
    qkv_probe_measure_add(out, over_tags / over_nouns, "coref.qk.tag_ratio");
}

static void report_ov(const circuits *c, qkv_probe_measures *out) {
    double right = 0, of_tags = 0, of_nouns = 0;
    for (int i = 0; i < KIND; i++) {
        const real *row = c->says + (ptrdiff_t)(DATA_COREF_COLOURS + i) * KIND;
        right += qkv_trainer_argmax(row, KIND) == i;
        of_tags += variance(row, KIND) / KIND;
    }
    for (int i = 0; i < NOUNS; i++)
        of_nouns += variance(c->says + (ptrdiff_t)(DATA_COREF_NOUNS + i) * KIND, KIND) / NOUNS;
    qkv_probe_measure_add(out, right / KIND, "coref.ov.tag_diag");
    qkv_probe_measure_add(out, of_nouns / of_tags, "coref.ov.noun_ratio");
}

/* How often a linear reader tells from x [WORDS, width] of which kind a noun is: it stands halfway between
 * the means of both kinds, made without the two nouns that it is tried on. In shuffled kinds nothing is
 * alike. */
static double reads_kind(const real *x, int width, bool shuffled) {
    int right = 0;
    for (int left_out = 0; left_out < KIND * KIND; left_out++) {
        const int own[2] = {left_out / KIND, left_out % KIND};
        double says[2] = {0};
        for (int d = 0; d < width; d++) {
            double mean[2] = {0}, tried[2] = {0};
            for (int kind = 0; kind < 2; kind++)
                for (int i = 0; i < KIND; i++) {
                    const int noun = shuffled ? 2 * i + kind : KIND * kind + i;
                    const double at = (double)x[(DATA_COREF_NOUNS + noun) * width + d];
                    if (i == own[kind])
                        tried[kind] = at;
                    else
                        mean[kind] += at / (KIND - 1);
                }
            for (int kind = 0; kind < 2; kind++)
                says[kind] += (tried[kind] - (mean[0] + mean[1]) / 2) * (mean[0] - mean[1]);
        }
        right += (says[0] > 0) + (says[1] < 0);
    }
    return right / (2.0 * KIND * KIND);
}

static void report_fits(const circuits *c, qkv_probe_measures *out) {
    qkv_probe_measure_add(out, reads_kind(c->words->val.x, c->D, false), "coref.fits.x");
    qkv_probe_measure_add(out, reads_kind(c->k, c->K, false), "coref.fits.k");
    qkv_probe_measure_add(out, reads_kind(c->v, c->V, false), "coref.fits.v");
    qkv_probe_measure_add(out, reads_kind(c->v, c->V, true), "coref.fits.v_shuffled");
}

/* The parameters; false where the model is made otherwise. */
static bool find(qkv_trainer *t, circuits *c) {
    const qkv_config *o = qkv_trainer_config(t);
    nn_attention_config attention = qkv_config_model(o, qkv_trainer_spec(t)).attention;
    const char *q = nn_attention_matrix(&attention, 'q'), *k = nn_attention_matrix(&attention, 'k');
    const char *v = nn_attention_matrix(&attention, 'v');
    if (o->layers > 1 || qkv_trainer_spec(t)->side[DATA_SEQUENCE].T != 9 || o->latent ||
        o->heads != o->kv_heads)
        return false;
    if (qkv_probe_no_sums(o) || o->bias || o->positions == NN_POSITIONS_SINUSOIDAL) return false;
    if (!q || !k || !v || o->readout != NN_READOUT_FULL) return false;
    *c = (circuits){.words = ag_params_find(qkv_trainer_params(t), "embed.word"),
                    .positions = ag_params_find(qkv_trainer_params(t), "embed.position"),
                    .wq = qkv_probe_matrix(t, 0, q),
                    .wk = qkv_probe_matrix(t, 0, k),
                    .wv = qkv_probe_matrix(t, 0, v),
                    .wo = qkv_probe_matrix(t, 0, "wo"),
                    .u = ag_params_find(qkv_trainer_params(t), "unembed.colour"),
                    .D = o->d_model,
                    .K = o->heads * o->d_k,
                    .V = o->heads * o->d_v};
    c->factor = qkv_probe_score_factor(t, qkv_probe_matrix(t, 0, "temperature"));
    return c->words && c->wq && c->wk && c->wv && c->wo && c->u;
}

bool qkv_study_coref_circuits(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    circuits c;
    if (!find(t, &c)) return true;
    tensor_arena *arena = tensor_arena_new(NULL);
    const struct {
        real **x;
        int width;
    } wanted[] = {{&c.asks, c.D}, {&c.q, c.K}, {&c.k, c.K},    {&c.scores, WORDS},
                  {&c.v, c.V},    {&c.o, c.D}, {&c.says, KIND}};
    bool ok = arena != NULL;
    for (size_t i = 0; ok && i < sizeof wanted / sizeof *wanted; i++)
        ok = (*wanted[i].x = tensor_arena_reals(arena, (size_t)WORDS * (size_t)wanted[i].width));
    if (ok) {
        set_questions(&c);
        read_matrices(&c);
        report_qk(&c, out);
        report_fits(&c, out);
        report_ov(&c, out);
    }
    tensor_arena_free(arena);
    return ok || qkv_io_fail(error, "out of memory");
}
