/* attribution.c - who says the answer: its logit, less the mean of all logits, as a sum over what each
 * head, at each position that it looks at, each mlp and the embedding have written to the stream.
 *
 *     logit = sum over writers c of  c . (gain u) / deviation,   u = U[answer] - mean of U
 *
 * The final norm's deviation is taken as it is in the example; in layer norm u is centred. The rest
 * are biases. Not defined where a norm follows each sum, or where there is no sum. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/probe/heads.h"
#include "train/probe/look.h"

typedef struct {
    qkv_probe_heads *out;
    const ag_node *embed, *stream;  // [B,T,D] before and after the layers
    ag_node **mlp;                  // [layers], NULL: none
    const ag_param_entry *gain;     // of the final norm; NULL: none
    real *u, *a, *wo;               // [D] [E] [E,D]
    long rows;
} tally;

/* u [D] = the direction in the stream that is the answer's logit less the mean of all. */
static bool direction(qkv_trainer *t, int r, int target, real *u) {
    const qkv_config *c = qkv_trainer_config(t);
    const data_readout *readout = &qkv_trainer_spec(t)->readout[r];
    const int D = c->d_model, V = readout->classes;
    const ag_param_entry *w =
        qkv_probe_param(t, "%s.%s", c->tie_unembedding ? "embed" : "unembed", readout->name);
    if (!w && c->tie_unembedding) w = qkv_probe_param(t, "memory.%s", readout->name);
    if (!w) return false;
    const int part = c->tie_unembedding ? D : w->val.shape.dim[0];  // D / R of a local readout
    memset(u, 0, (size_t)D * sizeof *u);
    for (int i = 0; i < part; i++) {
        real mean = 0, *to = &u[part < D ? r * part + i : i];
        for (int v = 0; v < V; v++) {
            const real x = c->tie_unembedding ? w->val.x[(ptrdiff_t)v * D + i]
                                              : w->val.x[(ptrdiff_t)i * V + v];
            mean += x / (real)V;
            if (v == target) *to = x;
        }
        *to -= mean;
    }
    return true;
}

/* The final norm folded into u: what a writer's dot product with it is worth at this position. */
static void through_norm(const tally *sum, nn_norm_kind kind, const real *x, int D) {
    if (!sum->gain) return;
    double mean = 0, centre = 0, squares = 0;
    for (int d = 0; d < D; d++) {
        sum->u[d] *= sum->gain->val.x[d];
        mean += (double)x[d] / D;
        centre += (double)sum->u[d] / D;
    }
    if (kind == NN_NORM_RMS) mean = centre = 0;
    for (int d = 0; d < D; d++) squares += ((double)x[d] - mean) * ((double)x[d] - mean) / D;
    const double inverse = 1 / sqrt(squares + 1e-5);
    for (int d = 0; d < D; d++) sum->u[d] = (real)(((double)sum->u[d] - centre) * inverse);
}

/* The heads of one site at row `at` of example b; returns what they say together. */
static double add_site(qkv_trainer *t, tally *sum, int k, int b, int at) {
    const qkv_config *c = qkv_trainer_config(t);
    const qkv_probe_site *site = &sum->out->site[k];
    const int H = c->heads, E = c->d_v, D = c->d_model, S = site->v->val.shape.dim[1];
    const ptrdiff_t width = site->v->val.shape.dim[2];
    double all = 0;
    for (int h = 0; h < H; h++) {
        const real *w = qkv_probe_row_of(site->weights, b, h, at);
        const real *v = site->v->val.x + (ptrdiff_t)b * S * width + h / (H / c->kv_heads) * E;
        qkv_probe_site_writes(t, site, h, sum->wo);
        for (int e = 0; e < E; e++) sum->a[e] = (real)qkv_probe_dot(sum->wo + e * D, sum->u, D);
        for (int s = 0; s < S; s++) {
            const double x = (double)w[s] * qkv_probe_dot(v + s * width, sum->a, E);
            sum->out->from_position[(k * H + h) * sum->out->columns + s] += x;
            sum->out->from_head[k * H + h] += x;
            all += x;
        }
    }
    return all;
}

static bool add_row(qkv_trainer *t, qkv_trainer_worker *w, tally *sum, int n, int r) {
    const qkv_config *c = qkv_trainer_config(t);
    const int D = c->d_model, V = qkv_trainer_spec(t)->readout[r].classes, target = w->target[r][n];
    const int b = qkv_probe_row_example(t, w, n), at = qkv_probe_row_position(t, w, n);
    const real *logits = w->out.logits[r]->val.x + (ptrdiff_t)n * V;
    const ptrdiff_t row = (ptrdiff_t)w->rows[n] * D;
    double mean = 0, said = 0;
    if (!direction(t, r, target, sum->u)) return false;
    through_norm(sum, (nn_norm_kind)c->norm, sum->stream->val.x + row, D);
    for (int v = 0; v < V; v++) mean += (double)logits[v] / V;
    for (int k = 0; k < sum->out->n_sites; k++)
        if (sum->out->site[k].rows == DATA_SEQUENCE) said += add_site(t, sum, k, b, at);
    for (int l = 0; l < c->layers; l++) {
        const double x = sum->mlp[l] ? qkv_probe_dot(sum->mlp[l]->val.x + row, sum->u, D) : 0;
        sum->out->from_mlp[l] += x;
        said += x;
    }
    const double first = qkv_probe_dot(sum->embed->val.x + row, sum->u, D);
    sum->out->from_embedding += first;
    sum->out->logit += (double)logits[target] - mean;
    sum->out->from_rest += (double)logits[target] - mean - said - first;
    sum->rows++;
    return true;
}

static bool see(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    (void)arena;
    bool ok = true;
    for (int n = 0; ok && n < qkv_probe_rows(w); n++)
        for (int r = 0; ok && r < qkv_trainer_spec(t)->n_readouts; r++)
            if (w->target[r][n] >= 0) ok = add_row(t, w, ctx, n, r);
    return ok;
}

static bool prepare(qkv_trainer *t, tensor_arena *arena, qkv_probe_heads *out, tally *sum) {
    const qkv_config *c = qkv_trainer_config(t);
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    const size_t D = (size_t)c->d_model, E = (size_t)c->d_v, heads = (size_t)out->heads;
    *sum = (tally){.out = out, .embed = ag_find(w->graph, "embed")};
    sum->stream = qkv_probe_find(w, "layer%d.out", c->layers - 1);
    if (c->norm != NN_NORM_NONE) sum->gain = ag_params_find(qkv_trainer_params(t), "norm.gain");
    for (int k = 0; k < out->n_sites; k++) {
        const int S = out->site[k].v->val.shape.dim[1];
        if (S > out->columns) out->columns = S;
    }
    const size_t all = (size_t)out->n_sites * heads;
    out->from_head = tensor_arena_take(arena, all, sizeof(double));
    out->from_position = tensor_arena_take(arena, all * (size_t)out->columns, sizeof(double));
    out->from_mlp = tensor_arena_take(arena, (size_t)c->layers, sizeof(double));
    sum->mlp = tensor_arena_take(arena, (size_t)c->layers, sizeof *sum->mlp);
    sum->u = tensor_arena_reals(arena, D);
    sum->a = tensor_arena_reals(arena, E);
    sum->wo = tensor_arena_reals(arena, D * E);
    for (int l = 0; sum->mlp && l < c->layers; l++)
        sum->mlp[l] = qkv_probe_find(w, "layer%d.mlp.down", l);
    return out->from_head && out->from_position && out->from_mlp && sum->mlp && sum->u && sum->a &&
           sum->wo && sum->embed && sum->stream;
}

static const char *not_defined(qkv_trainer *t) {
    const qkv_config *c = qkv_trainer_config(t);
    if (!qkv_trainer_any_worker(t)->out.logits[0]) return "the answer is a vector, not a class";
    if (!c->residual) return "without residuals the stream is no sum of what was written";
    return c->post_norm && c->norm != NN_NORM_NONE
               ? "with a norm after each sum the stream is no sum of what was written"
               : NULL;
}

bool qkv_probe_attribute(qkv_trainer *t, const char *split, int count, tensor_arena *arena,
                         qkv_probe_heads *out, char *error) {
    if (!QKV_IO_GIVEN(error, t, split, arena, out)) return false;
    tally sum;
    if ((out->no_attribution = not_defined(t))) return true;
    if (!prepare(t, arena, out, &sum)) return qkv_io_fail(error, "out of memory");
    if (!qkv_probe_see(t, split, count, 0, see, &sum, error)) return false;
    const double rows = sum.rows ? (double)sum.rows : (double)NAN;
    const int heads = out->n_sites * out->heads;
    out->logit /= rows, out->from_embedding /= rows, out->from_rest /= rows;
    for (int i = 0; i < heads; i++) out->from_head[i] /= rows;
    for (int i = 0; i < heads * out->columns; i++) out->from_position[i] /= rows;
    for (int l = 0; l < qkv_trainer_config(t)->layers; l++) out->from_mlp[l] /= rows;
    return true;
}
