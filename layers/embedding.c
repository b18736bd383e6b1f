/* embedding.c - the streams of a sequence, looked up and summed        ids: [B,T] -> [B,T,D] */
#include "autograd/sample.h"
#include "layers/affine.h"
#include "tensor/scalar.h"

/* The streams' tables "NAME.STREAM", their rows summed at each position; with_positions: and one
 * row a position. */
static ag_node *look_up(ag_graph *g, const char *name, int B, const nn_sequence *s,
                        const nn_model_config *c, bool with_positions) {
    ag_node *table[AG_EMBED_MAX];
    const int *ids[AG_EMBED_MAX];
    bool unit = c->embed_init == NN_EMBED_UNIT;
    ag_init start = {unit ? AG_UNIT_ROWS : AG_NORMAL, unit ? 1 : c->embed_std, 0, 0};
    int n = 0, D = c->d_model, part = s->n_streams ? D / s->n_streams : D;
    for (; n < s->n_streams && n < AG_EMBED_MAX - 1; n++) {
        if (c->embed_init == NN_EMBED_SPLIT) start.from = n * part, start.columns = part;
        table[n] = ag_param(g, ag_text(g, "%s.%s", name, s->stream[n]),
                            tensor_dims(2, s->vocab[n], D), start);
        ids[n] = s->ids[n];
    }
    if (with_positions) {
        const int rows = s->positions ? s->positions : s->T;
        table[n] = ag_param(g, ag_text(g, "%s.position", name), tensor_dims(2, rows, D), start);
        if (s->first) table[n] = ag_slice(table[n], 0, s->first, s->first + s->T);
        ids[n++] = NULL;
    }
    return ag_embedding(n, table, ids, tensor_dims(2, B, s->T));
}

/* [T,D]: sin and cos of t / 10000^(2i/D) in columns 2i and 2i+1, t from `first` on. Source: Vaswani et
 * al., 2017, section 3.5. */
static ag_node *sinusoids(ag_graph *g, const char *name, int first, int T, int D) {
    ag_node *p = ag_input(g, ag_text(g, "%s.sinusoids", name), tensor_dims(2, T, D));
    for (size_t i = 0; i < p->val.n; i++) {
        int t = first + (int)i / D, d = (int)i % D, even = d - d % 2;
        double angle = t / tensor_pow(10000, (double)even / D);
        p->val.x[i] = (real)(d % 2 ? tensor_cos(angle) : tensor_sin(angle));
    }
    return p;
}

/* y[t] = x[t-1], y[0] = 0. */
static ag_node *shift(ag_graph *g, ag_node *x, const char *name, int B, int T, int D) {
    ag_node *nothing = ag_input(g, ag_text(g, "%s.before", name), tensor_dims(3, B, 1, D));
    return ag_concat(2, (ag_node *[]){nothing, ag_slice(x, 1, 0, T - 1)}, 1);
}

/* The same of a sequence that begins later: the tokens before are there, in the ids. */
static ag_node *before(ag_graph *g, const char *name, int B, const nn_sequence *s,
                       const nn_model_config *c) {
    nn_sequence earlier = *s;
    if (B > 1) return ag_fail_graph(g, "token shift goes on with one sequence at a time");
    for (int i = 0; i < s->n_streams; i++) earlier.ids[i]--;
    return look_up(g, name, B, &earlier, c, false);
}

/* [T,1]: s->scale for the first s->scaled positions, 1 for the others. */
static ag_node *factors(ag_graph *g, const char *name, const nn_sequence *s) {
    ag_node *f = ag_input(g, ag_text(g, "%s.scale", name), tensor_dims(2, s->T, 1));
    for (size_t i = 0; i < f->val.n; i++)
        f->val.x[i] = s->first + (int)i < s->scaled ? (real)s->scale : 1;
    return f;
}

ag_node *nn_embedding(ag_graph *g, const char *name, int B, const nn_sequence *s,
                      const nn_model_config *c) {
    if (!g || !name || !s || !c) return nn_missing(g, "embedding");
    for (int i = 0; i < s->n_streams && i < AG_EMBED_MAX; i++)
        if (!s->stream[i] || !s->ids[i])
            return ag_fail_graph(g, "%s: stream %d has no name or no ids", name, i);
    int D = c->d_model;
    ag_node *x = look_up(g, name, B, s, c, c->positions == NN_POSITIONS_LEARNED);
    if (c->positions == NN_POSITIONS_SINUSOIDAL)
        x = ag_add(x, sinusoids(g, name, s->first, s->T, D));
    if (c->token_shift) {
        const char *previous = ag_text(g, "%s.previous", name);
        x = ag_add(x, s->first ? before(g, previous, B, s, c)
                               : shift(g, look_up(g, previous, B, s, c, false), name, B, s->T, D));
    }
    if (s->scaled > 0) x = ag_mul(x, factors(g, name, s));
    return ag_name(x, "%s", name);
}

ag_node *nn_sample_embedding(ag_graph *g, int i) {
    static const nn_positions positions[] = {NN_POSITIONS_NONE, NN_POSITIONS_LEARNED,
                                             NN_POSITIONS_SINUSOIDAL};
    if (i >= 3) return NULL;
    nn_sequence s = {.scaled = i,
                     .scale = 0.7,
                     .T = 4,
                     .n_streams = 2,
                     .stream = {"key", "value"},
                     .vocab = {5, 3}};
    s.ids[0] = ag_sample_ids(g, 8, 5, false);
    s.ids[1] = ag_sample_ids(g, 8, 3, true);
    nn_model_config c = {
        .d_model = 3, .positions = positions[i], .token_shift = i == 2, .embed_std = 0.3};
    return nn_embedding(g, "embed", 2, &s, &c);
}
