/* Heads and patching: on a model of which every weight was set by hand, each number is known; on any
 * other, parts must add up, and paths must be what a patched run does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/graph_internal.h"  // to see whether hooks are left
#include "tests/lib/check.h"
#include "train/probe/heads.h"
#include "train/probe/look.h"
#include "train/probe/patching.h"

static const double ROUNDING = sizeof(real) == sizeof(double) ? 1e-9 : 2e-4;
enum { EXAMPLES = 40 };

/* "task option=value ...", trained for a few steps. */
static qkv_trainer *model(const char *text, int steps) {
    char list[256], error[QKV_IO_ERROR] = "", *rest = NULL;
    qkv_config c;
    data_spec spec;
    snprintf(list, sizeof list, "%s", text);
    qkv_config_default(&c);
    const char *task = strtok_r(list, " ", &rest);
    if (!qkv_config_set(&c, qkv_config_option_find(&c, "task"), task, error)) fail_msg("%s", error);
    assert_true(qkv_config_recommend(&c, error));
    c.batch = 16;
    for (char *word; (word = strtok_r(NULL, " ", &rest));) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        if (!qkv_config_set(&c, qkv_config_option_find(&c, word), value, error))
            fail_msg("%s", error);
    }
    if (!qkv_config_resolve(&c, &spec, error)) fail_msg("%s", error);
    qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, 1, error);
    if (!t) fail_msg("%s", error);
    for (int step = 0; step < steps; step++) {
        qkv_trainer_step s;
        if (!qkv_trainer_gradient(t, step, &s, error)) fail_msg("%s", error);
        qkv_trainer_update(t, step, &s);
    }
    return t;
}

static tensor_arena *arena;

typedef qkv_probe_heads_parts parts;
static const parts ALL = {true, true, true};

static qkv_probe_heads heads_of(qkv_trainer *t, parts of) {
    qkv_probe_heads h;
    char error[QKV_IO_ERROR] = "";
    if (!qkv_probe_heads_of(t, "test", EXAMPLES, of, arena, &h, error)) fail_msg("%s", error);
    return h;
}

static qkv_probe_patching patched(qkv_trainer *t) {
    qkv_probe_patching p;
    char error[QKV_IO_ERROR] = "";
    if (!qkv_probe_patching_of(t, "test", 0, 1, arena, &p, error)) fail_msg("%s", error);
    return p;
}

/* ---- an induction model, built ---- */

/* The stream: token, position, the token before, what to say. */
enum {
    N = 16,
    L = 6,
    T = 2 * L,
    TOKEN = 0,
    POSITION = N,
    BEFORE = POSITION + T,
    SAY = BEFORE + N,
    E = 32,
    D = 64
};

static void set(qkv_trainer *t, const char *name, int row, int col, double x) {
    ag_param_entry *p = ag_params_find(qkv_trainer_params(t), name);
    if (!p) fail_msg("there is no parameter '%s'", name);
    p->val.x[row * p->val.shape.dim[1] + col] = (real)x;
}

/* Head 0 of layer 0 looks at the position before and writes its token beside; head 0 of layer 1 looks for
 * the token that stands beside, and says the token there. The second heads do nothing. */
static qkv_trainer *built(void) {
    qkv_trainer *t = model("induction heads=2 d_model=64 pairs=6 keys=16", 0);
    for (int i = 0; i < ag_params_count(qkv_trainer_params(t)); i++) {
        tensor *x = &ag_params_at(qkv_trainer_params(t), i)->val;
        memset(x->x, 0, x->n * sizeof *x->x);
    }
    for (int i = 0; i < N; i++) {
        set(t, "embed.token", i, TOKEN + i, 1);
        set(t, "layer0.attn.wv", TOKEN + i, i, 1);
        set(t, "layer0.attn.wo", i, BEFORE + i, 1);
        set(t, "layer1.attn.wq", TOKEN + i, i, 100);
        set(t, "layer1.attn.wk", BEFORE + i, i, 1);
        set(t, "layer1.attn.wv", TOKEN + i, i, 1);
        set(t, "layer1.attn.wo", i, SAY + i, 1);
        set(t, "unembed.token", SAY + i, i, 16);
    }
    for (int p = 0; p < T; p++) {
        set(t, "embed.position", p, POSITION + p, 1);
        set(t, "layer0.attn.wq", POSITION + p, p, 100);
        if (p + 1 < T) set(t, "layer0.attn.wk", POSITION + p, p + 1, 1);
    }
    // the first position has none before it, sees itself, and must not be found by that
    for (int i = 0; i < N; i++) set(t, "layer1.attn.wk", POSITION, i, -1);
    return t;
}

static void built_heads_are_found(void **state) {
    (void)state;
    qkv_trainer *t = built();
    qkv_probe_heads h = heads_of(t, (parts){0});
    assert_int_equal(h.n_sites, 2);
    assert_true(h.accuracy == 1);
    for (int k = 0; k < 2; k++)
        for (int head = 0; head < 2; head++)
            for (int look = 0; look < QKV_PROBE_LOOKS; look++) {
                bool does = head == 0 && (k == 0 ? look == QKV_PROBE_LOOK_PREVIOUS
                                                 : look == QKV_PROBE_LOOK_INDUCTION ||
                                                       look == QKV_PROBE_LOOK_ANSWER);
                double x = h.look[(k * 2 + head) * QKV_PROBE_LOOKS + look],
                       chance = h.chance[k * QKV_PROBE_LOOKS + look];
                if (qkv_probe_head_does(&h, k, head, (qkv_probe_look)look) != does)
                    fail_msg("layer %d head %d, %s: %g", k, head, qkv_probe_look_names[look], x);
                if (does) assert_true(x > 0.999);
                if (head == 1) assert_close(x, chance, 1e-6);  // looks at all alike
            }
    // the mean map of the first head is the band beside the diagonal
    for (int at = 1; at < T; at++) assert_close(h.map[0][at * T + at - 1], 1, 1e-4);
    qkv_trainer_free(t);
}

static void built_writers_are_known(void **state) {
    (void)state;
    qkv_trainer *t = built();
    qkv_probe_heads h = heads_of(t, (parts){.attribution = true, .composition = true});
    assert_close(h.logit, 16 - 1, 1e-3);  // 16, less the mean over 16 classes
    assert_close(h.from_head[2], h.logit, 1e-3);
    assert_true(h.from_head[0] == 0 && h.from_head[1] == 0 && h.from_head[3] == 0);
    assert_true(h.from_embedding == 0);
    double first_half = 0;
    for (int s = 0; s < L; s++) first_half += h.from_position[2 * T + s];
    assert_close(first_half, h.logit, 1e-3);  // answers stand there
    // head 0 of layer 1 reads head 0 of layer 0 through its keys, and nobody else
    for (int c = 0; c < 3; c++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) {
                double x = h.composed[c][a * 4 + b];
                if (a >= 2 || b < 2)
                    assert_true(isnan(x));
                else if (a == 0 && b == 2)
                    assert_close(x, c == 1 ? 1 / sqrt(32) : 0, 1e-6);
            }
    for (int c = 0; c < 3; c++) assert_true(h.random[c] > 0.05 && h.random[c] < 0.25);
    qkv_trainer_free(t);
}

static void built_heads_are_needed(void **state) {
    (void)state;
    qkv_trainer *t = built();
    qkv_probe_heads h = heads_of(t, (parts){.ablation = true});
    for (int way = 0; way < QKV_PROBE_WAYS; way++) {
        assert_true(h.ablated[0 * QKV_PROBE_WAYS + way] < 0.6);
        assert_true(h.ablated[2 * QKV_PROBE_WAYS + way] < 0.4);
        assert_true(h.ablated[1 * QKV_PROBE_WAYS + way] == 1);
        assert_true(h.ablated[3 * QKV_PROBE_WAYS + way] == 1);
        assert_close(h.no_sublayer[way], h.ablated[way], 1e-12);      // head 1 writes nothing
        assert_true(isnan(h.no_sublayer[2 * QKV_PROBE_WAYS + way]));  // there is no mlp
        // what is written at the first position is never used; at a scored one it is
        assert_true(h.no_position[way] == 1);
        assert_true(h.no_position[(h.rows + T - 1) * QKV_PROBE_WAYS + way] < 1);
    }
    qkv_trainer_free(t);
}

static void random_heads_do_nothing(void **state) {
    (void)state;
    for (int seed = 1; seed <= 5; seed++) {
        char text[64];
        snprintf(text, sizeof text, "induction heads=4 d_model=64 seed=%d", seed);
        qkv_trainer *t = model(text, 0);
        qkv_probe_heads h = heads_of(t, (parts){.composition = true});
        for (int i = 0; i < 8; i++)
            for (int look = 0; look < QKV_PROBE_LOOKS; look++) {
                assert_false(qkv_probe_head_does(&h, i / 4, i % 4, (qkv_probe_look)look));
                assert_close(h.look[i * QKV_PROBE_LOOKS + look],
                             h.chance[i / 4 * QKV_PROBE_LOOKS + look], 0.05);
            }
        for (int c = 0; c < 3; c++)
            for (int a = 0; a < 4; a++)
                for (int b = 4; b < 8; b++)
                    assert_close(h.composed[c][a * 8 + b], h.random[c], 0.05);
        qkv_trainer_free(t);
    }
}

/* ---- any model ---- */

static const char *const models[] = {
    "induction heads=4 kv_heads=2 norm=rms d_ff=16 bias=true",
    "mqar pairs=4 d_model=32 heads=2 norm=layer d_ff=8 layers=3 positions=alibi",
    "cross arch=encoder-decoder layers=2 heads=2 norm=rms",
    "cross layers=2 d_ff=8",
    "set3 readout=local heads=3 d_model=48 wo=false residual=true",
    "coref form=11 layers=2 heads=2 latent=8 qk_norm=true softmax_one=true",
    "induction heads=2 positions=rotary tie_unembedding=true norm=layer"};
enum { MODELS = sizeof models / sizeof *models };

/* What the writers say adds up to the logit; biases apart, nothing is left. */
static void attributions_add_up(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        qkv_trainer *t = model(models[i], 20);
        qkv_probe_heads h = heads_of(t, (parts){.attribution = true});
        double sum = h.from_embedding + h.from_rest, from_positions;
        assert_null(h.no_attribution);
        for (int l = 0; l < qkv_trainer_config(t)->layers; l++) sum += h.from_mlp[l];
        for (int k = 0; k < h.n_sites * h.heads; k++) {
            from_positions = 0;
            for (int s = 0; s < h.columns; s++)
                from_positions += h.from_position[k * h.columns + s];
            assert_close(from_positions, h.from_head[k], 1e-9);
            sum += h.from_head[k];
        }
        assert_close(sum, h.logit, 1e-9);
        bool biased = qkv_trainer_config(t)->bias;
        if (!biased && qkv_trainer_config(t)->norm != NN_NORM_LAYER)
            assert_close(h.from_rest, 0, ROUNDING);
        assert_true(fabs(h.from_rest) < 0.2 + fabs(h.logit));
        qkv_trainer_free(t);
    }
}

/* A number of the model in runs that should leave no trace. */
static double behaviour(qkv_trainer *t) {
    qkv_trainer_scores e;
    char error[QKV_IO_ERROR];
    assert_true(qkv_trainer_evaluate(t, "test", 0, 30, &e, error));
    ag_graph *g = qkv_trainer_any_worker(t)->graph;
    for (int i = 0; i < ag_count(g); i++)
        for (ag_hook_entry *k = ag_own(ag_at(g, i))->hooks; k; k = k->next) assert_null(k->fn);
    return e.loss;
}

static void no_trace_is_left(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        qkv_trainer *t = model(models[i], 5);
        double before = behaviour(t);
        heads_of(t, ALL);
        patched(t);
        double after = behaviour(t);
        assert_same_bits(&before, &after, 1);
        qkv_trainer_free(t);
    }
}

/* The ablation of all that a sublayer writes is 0 is what the model without it says: accuracy intact
 * is an evaluation's. */
static void intact_is_what_evaluation_says(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        qkv_trainer *t = model(models[i], 30);
        qkv_trainer_scores e;
        char error[QKV_IO_ERROR];
        qkv_probe_heads h = heads_of(t, (parts){0});
        assert_true(qkv_trainer_evaluate(t, "test", 0, EXAMPLES, &e, error));
        assert_close(h.accuracy, e.accuracy, 1e-12);
        assert_close(h.loss, e.loss, 1e-6);
        for (int k = 0; k < h.n_sites; k++)
            if (h.site[k].cols == qkv_trainer_spec(t)->store && h.site[k].rows == DATA_SEQUENCE &&
                qkv_trainer_spec(t)->n_readouts == 1)
                for (int head = 0; head < h.heads; head++)
                    assert_close(
                        h.look[(k * h.heads + head) * QKV_PROBE_LOOKS + QKV_PROBE_LOOK_ANSWER],
                        e.head_attention[h.site[k].layer * h.heads + head], 1e-5);
        qkv_trainer_free(t);
    }
}

/* ---- patching ---- */

static void built_paths_are_known(void **state) {
    (void)state;
    qkv_trainer *t = built();
    qkv_probe_patching p = patched(t);
    for (int at = 0; at < T;
         at++)  // after the last layer all stands where it is asked, before it nowhere else
        assert_close(p.exact.stream[2 * T + at], at == p.position, 1e-4);
    const double *result = p.exact.head + QKV_PROBE_PATCH_RESULT * 4;
    assert_close(result[2], 1, 1e-4);
    assert_true(result[1] == 0 && result[3] == 0);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 16; i++) {
            double x = p.path[c * 16 + i];
            assert_true(i / 4 < 2 && i % 4 >= 2 ? isfinite(x) : isnan(x));
            if (!(i / 4 == 0 && i % 4 == 2 && c == 1) && isfinite(x)) assert_close(x, 0, 1e-5);
        }
    qkv_trainer_free(t);
}

typedef struct {
    const real *x;
    int n, from, cols, width;
} swap;
static void put(ag_node *node, void *ctx) {
    const swap *s = ctx;
    for (int t = 0; t < s->n; t++)
        memcpy(node->val.x + t * s->width + s->from, s->x + t * s->width + s->from,
               (size_t)s->cols * sizeof(real));
}
static real *first_of(const ag_node *node) {
    size_t n = (size_t)(node->val.shape.dim[1] * node->val.shape.dim[2]);
    real *x = tensor_arena_reals(arena, n);
    memcpy(x, node->val.x, n * sizeof *x);
    return x;
}
static void load(qkv_trainer *t, int example) {
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    qkv_trainer_load(t, w, "test", (uint64_t)example, 1, 1);
    assert_true(qkv_probe_replay(w));
}
static double difference(const qkv_trainer *t, qkv_trainer_worker *w, const qkv_probe_patching *p) {
    int V = qkv_trainer_spec(t)->readout[0].classes, row = 0;
    while (w->rows[row] != p->position) row++;
    const real *logits = w->out.logits[0]->val.x + row * V;
    return (double)logits[p->clean_answer] - (double)logits[p->other_answer];
}

/* Between neighbouring layers a path is: the first head's result is patched, and of all that follows
 * the later head's queries (keys, values) alone are kept. */
static void paths_are_patched_runs(void **state) {
    static const char *const texts[] = {"induction heads=4 kv_heads=2 norm=rms",
                                        "induction heads=2 norm=layer bias=true d_ff=8",
                                        "coref form=11 layers=2 heads=2 latent=8 qk_norm=true",
                                        "induction heads=2 positions=rotary"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        qkv_trainer *t = model(texts[i], 40);
        qkv_trainer_worker *w = qkv_trainer_any_worker(t);
        const qkv_config *c = qkv_trainer_config(t);
        if (c->d_ff) {  // an mlp in between would carry the patch, too: it is made to write nothing
            ag_param_entry *down = ag_params_find(qkv_trainer_params(t), "layer0.mlp.down.w");
            memset(down->val.x, 0, down->val.n * sizeof(real));
        }
        qkv_probe_patching p = patched(t);
        int H = c->heads, n = 2 * H, group = H / c->kv_heads;
        ag_node *mix = ag_find(w->graph, "layer0.attn.mix");
        load(t, 0);
        swap clean = {first_of(mix), p.T, c->d_v, c->d_v, H * c->d_v};  // of head 1
        for (int role = 0; role < 3; role++) {
            char name[] = {'l', 'a', 'y', 'e', 'r', '1',         '.',
                           'a', 't', 't', 'n', '.', "qkv"[role], 0};
            ag_node *to = ag_find(w->graph, name);
            int width = role == 2 ? c->d_v : c->d_k;
            load(t, 1);
            ag_hook(mix, put, &clean);
            load(t, 1);
            ag_unhook(mix, put, &clean);
            swap kept = {first_of(to), p.T, (role ? 0 / group : 0) * width, width,
                         to->val.shape.dim[2]};  // of head 0
            ag_hook(to, put, &kept);
            load(t, 1);
            ag_unhook(to, put, &kept);
            double x = (difference(t, w, &p) - p.other) / (p.clean - p.other);
            assert_close(p.path[(role * n + 1) * n + H], x, 20 * ROUNDING);
        }
        qkv_trainer_free(t);
    }
}

/* The first example's columns from .. from+cols-1 go a part of the way to what they are on clean. */
typedef struct {
    const real *clean;
    int n, from, cols;
    double way;
} pull;
static void pull_it(ag_node *node, void *ctx) {
    const pull *p = ctx;
    const int W = node->val.shape.dim[2];
    for (int i = 0; i < p->n * W; i++)
        if (i % W >= p->from && i % W < p->from + p->cols)
            node->val.x[i] += (real)(p->way * (double)(p->clean[i] - node->val.x[i]));
}
static double pulled(qkv_trainer *t, const qkv_probe_patching *p, ag_node *node, pull by,
                     double way) {
    by.way = way;
    ag_hook(node, pull_it, &by);
    load(t, 1);
    ag_unhook(node, pull_it, &by);
    return (difference(t, qkv_trainer_any_worker(t), p) - p->other) / (p->clean - p->other);
}

static ag_node *part_node(qkv_trainer *t, const qkv_probe_patching *p, int part, int k) {
    static const char *const names[] = {"q", "k", "v", "mix"};
    return qkv_probe_find(qkv_trainer_any_worker(t), "%s.%s", p->site[k].name, names[part]);
}

/* Every part of every head at all positions is the run of another worker with that part hooked; and to
 * first order the slope of that, by finite differences (in doubles). */
static void parts_are_hooked_runs(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        qkv_trainer *t = model(models[i], 20);
        const qkv_config *c = qkv_trainer_config(t);
        const qkv_probe_patching p = patched(t);
        const int H = c->heads, group = H / c->kv_heads, n = p.n_sites * H;
        for (int at = 0; at < QKV_PROBE_PATCHES * n; at++) {
            const int part = at / n, k = at % n / H, width = part < 2 ? c->d_k : c->d_v,
                      h = part == 1 || part == 2 ? at % H / group : at % H;
            ag_node *node = part_node(t, &p, part, k);
            load(t, 0);
            const bool cols = part == 1 || part == 2;
            const bool memory = (cols ? p.site[k].cols : p.site[k].rows) == DATA_MEMORY;
            const pull by = {first_of(node), memory ? node->val.shape.dim[1] : p.T, h * width,
                             width, 0};
            assert_close(p.exact.head[at], pulled(t, &p, node, by, 1), 20 * ROUNDING);
            assert_true(isnan(p.exact.head_at[at * p.T]) == memory);
            if (sizeof(real) == sizeof(float)) continue;
            const double slope =
                (pulled(t, &p, node, by, 1e-4) - pulled(t, &p, node, by, -1e-4)) / 2e-4;
            assert_close(p.linear.head[at], slope, 1e-5 * (1 + fabs(slope)));
        }
        qkv_trainer_free(t);
    }
}

/* Queries, keys and values of all heads at once make clean's attention, and what it fetches. */
static void q_k_and_v_are_all_of_attention(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        qkv_trainer *t = model(models[i], 20);
        const qkv_probe_patching p = patched(t);
        for (int k = 0; k < p.n_sites; k++) {
            ag_node *weights =
                qkv_probe_find(qkv_trainer_any_worker(t), "%s.weights", p.site[k].name);
            ag_node *mix = part_node(t, &p, QKV_PROBE_PATCH_RESULT, k);
            const int *dim = weights->val.shape.dim;
            const int n = dim[1] * dim[2] * dim[3],
                      m = mix->val.shape.dim[1] * mix->val.shape.dim[2];
            pull by[3];
            load(t, 0);
            real *clean = tensor_arena_reals(arena, (size_t)n), *fetched = first_of(mix);
            memcpy(clean, weights->val.x, (size_t)n * sizeof *clean);
            for (int part = 0; part < 3; part++) {
                ag_node *node = part_node(t, &p, part, k);
                by[part] =
                    (pull){first_of(node), node->val.shape.dim[1], 0, node->val.shape.dim[2], 1};
            }
            for (int part = 0; part < 3; part++)
                ag_hook(part_node(t, &p, part, k), pull_it, &by[part]);
            load(t, 1);
            for (int part = 0; part < 3; part++)
                ag_unhook(part_node(t, &p, part, k), pull_it, &by[part]);
            for (int e = 0; e < n; e++) assert_close(weights->val.x[e], clean[e], 10 * ROUNDING);
            for (int e = 0; e < m; e++) assert_close(mix->val.x[e], fetched[e], 10 * ROUNDING);
        }
        qkv_trainer_free(t);
    }
}

/* Where the examples hardly differ, the first order is all: the embeddings are drawn together. What an
 * effect of a millionth of the way has beside that is rounding. */
static void attribution_is_the_first_order(void **state) {
    (void)state;
    if (sizeof(real) == sizeof(float)) return;
    qkv_trainer *t = model("induction heads=4 kv_heads=2 norm=rms d_ff=16", 200);
    ag_param_entry *token = ag_params_find(qkv_trainer_params(t), "embed.token");
    double far = 0, near = 0;
    for (int pass = 0; pass < 2; pass++) {
        const qkv_probe_patching p = patched(t);
        double most = 0;
        for (int i = 0; i < QKV_PROBE_PATCHES * p.n_sites * p.heads; i++)
            if (fabs(p.exact.head[i]) > 1e-6)
                most = fmax(most, fabs(p.linear.head[i] / p.exact.head[i] - 1));
        *(pass ? &near : &far) = most;
        const int row = token->val.shape.dim[1];
        for (int e = row; e < (int)token->val.n; e++)
            token->val.x[e] = (real)((double)token->val.x[e % row] +
                                     1e-6 * (double)(token->val.x[e] - token->val.x[e % row]));
    }
    if (!(far > 0.05 && near < 1e-3))
        fail_msg("%g apart, and %g where they hardly differ", far, near);
    qkv_trainer_free(t);
}

static void agreement_is_counted(void **state) {
    (void)state;
    const double exact[] = {1, -2, 3, 0.005, (double)NAN, 0.5}, linear[] = {2, -4, 6, -1, 9, -0.1};
    qkv_probe_agreement a = qkv_probe_agree(exact, linear, 3);
    assert_close(a.r, 1, 1e-12);
    assert_close(a.seen, 2, 1e-12);
    assert_int_equal(a.n, 3);
    assert_int_equal(a.wrong, 0);
    a = qkv_probe_agree(exact, linear, 6);
    assert_int_equal(a.n, 5);
    assert_int_equal(a.wrong, 1);  // the fourth is too small to count
    a = qkv_probe_agree(exact, linear, 0);
    assert_true(isnan(a.r) && isnan(a.seen));
}

static void what_is_not_defined_is_said(void **state) {
    (void)state;
    char error[QKV_IO_ERROR] = "";
    qkv_probe_patching p;
    qkv_trainer *t = model("pairs norm=layer post_norm=true layers=2", 3);
    qkv_probe_heads h = heads_of(t, ALL);
    assert_non_null(strstr(h.no_attribution, "norm after each sum"));
    assert_non_null(h.no_composition);
    assert_true(isfinite(h.ablated[0]));
    p = patched(t);
    assert_non_null(p.no_path);
    qkv_trainer_free(t);
    t = model("recall", 0);
    h = heads_of(t, ALL);
    assert_non_null(strstr(h.no_attribution, "vector"));
    assert_null(h.ablated);
    assert_false(qkv_probe_patching_of(t, "test", 0, 1, arena, &p, error));
    assert_non_null(strstr(error, "vector"));
    qkv_trainer_free(t);
    t = model("pairs", 0);
    assert_false(qkv_probe_patching_of(t, "test", 3, 3, arena, &p, error));
    assert_non_null(strstr(error, "different answers"));
    qkv_trainer_free(t);
}

static int begin(void **state) {
    (void)state;
    return (arena = tensor_arena_new(NULL)) ? 0 : 1;
}
static int end(void **state) {
    (void)state;
    tensor_arena_free(arena);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
static const struct CMUnitTest tests[] = {
    TEST(built_heads_are_found),
    TEST(built_writers_are_known),
    TEST(built_heads_are_needed),
    TEST(random_heads_do_nothing),
    TEST(attributions_add_up),
    TEST(no_trace_is_left),
    TEST(intact_is_what_evaluation_says),
    TEST(built_paths_are_known),
    TEST(paths_are_patched_runs),
    TEST(parts_are_hooked_runs),
    TEST(q_k_and_v_are_all_of_attention),
    TEST(attribution_is_the_first_order),
    TEST(agreement_is_counted),
    TEST(what_is_not_defined_is_said),
};
CHECK_MAIN(tests)
