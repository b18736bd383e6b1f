/* ablate.c - what remains right without a head, a sublayer, or what a sublayer writes at one position:
 * its numbers are replaced by 0, by their mean over examples, or by those of another example. Zero
 * may be far from anything the model has met; the mean keeps what is always so; another example's
 * value keeps the distribution, too. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/probe/heads.h"
#include "train/probe/look.h"

/* A node whose columns from .. from+cols-1 are replaced, at one position or (-1) at all. */
typedef struct {
    ag_node *node;  // [B,T,W]
    data_side_name side;
    const double *mean;  // [T,W]
    int from, cols, position;
    double *right;  // [WAYS] answers still right
} part;

typedef struct {
    qkv_probe_heads *out;
    ag_node **node;  // [n_nodes] what parts replace: mixes, then what sublayers write
    data_side_name *side;
    double **mean;
    long **have;  // [n_nodes][T] examples that have a position
    part *part;
    int n_nodes, n_parts;
    long scored[QKV_PROBE_WAYS];
} tally;

typedef struct {
    const part *p;
    const int *length[DATA_SIDES];
    int way, count;
    real *clean;  // [B,T,W]
} change;

static void replace(ag_node *node, void *ctx) {
    const change *c = ctx;
    const int T = node->val.shape.dim[1], W = node->val.shape.dim[2];
    memcpy(c->clean, node->val.x, node->val.n * sizeof(real));
    const int *length = c->length[c->p->side];
    for (int b = 0; b < c->count; b++)
        for (int t = 0; t < T && t < length[b]; t++) {
            if (c->p->position >= 0 && t != c->p->position) continue;
            int other = (b + 1) % c->count;
            while (t >= length[other])
                other = (other + 1) % c->count;  // at last the example itself
            real *x = node->val.x + ((ptrdiff_t)b * T + t) * W;
            const real *y = c->clean + ((ptrdiff_t)other * T + t) * W;
            for (int i = c->p->from; i < c->p->from + c->p->cols; i++)
                x[i] = c->way == QKV_PROBE_ZERO   ? 0
                       : c->way == QKV_PROBE_MEAN ? (real)c->p->mean[t * W + i]
                                                  : y[i];
        }
}

/* Answers, and how many of them are right. */
static long answers(const qkv_trainer *t, const qkv_trainer_worker *w, long *right) {
    long scored = 0;
    *right = 0;
    for (int n = 0; n < qkv_probe_rows(w); n++)
        for (int r = 0; r < qkv_trainer_spec(t)->n_readouts; r++) {
            if (w->target[r][n] < 0) continue;
            *right += qkv_probe_answer(t, w, r, n) == w->target[r][n];
            scored++;
        }
    return scored;
}

static int width(const ag_node *node) { return node->val.shape.dim[2]; }

static bool add_means(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    tally *sum = ctx;
    (void)t, (void)arena;
    for (int k = 0; k < sum->n_nodes; k++) {
        const size_t n = sum->node[k]->val.n / (size_t)w->B, W = (size_t)width(sum->node[k]);
        for (int b = 0; b < w->count; b++) {
            const size_t there = (size_t)data_length(&w->data, sum->side[k], b);
            for (size_t i = 0; i < there * W; i++)
                sum->mean[k][i] += (double)sum->node[k]->val.x[(size_t)b * n + i];
            for (size_t at = 0; at < there; at++) sum->have[k][at]++;
        }
    }
    return true;
}

static bool try_parts(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    tally *sum = ctx;
    size_t most = 1;
    for (int k = 0; k < sum->n_nodes; k++)
        if (sum->node[k]->val.n > most) most = sum->node[k]->val.n;
    change c = {.count = w->count, .clean = tensor_arena_reals(arena, most)};
    for (int side = 0; side < DATA_SIDES; side++) c.length[side] = w->data.rows.length[side];
    if (!c.clean) return false;
    long right;
    const int ways = w->count < 2 ? QKV_PROBE_RESAMPLE : QKV_PROBE_WAYS;  // of no other example
    for (int way = 0; way < ways; way++) sum->scored[way] += answers(t, w, &right);
    for (int i = 0; i < sum->n_parts; i++)
        for (c.way = 0; c.way < ways; c.way++) {
            c.p = &sum->part[i];
            if (!ag_hook(c.p->node, replace, &c)) return false;
            const bool ran = qkv_probe_replay(w);
            ag_unhook(c.p->node, replace, &c);
            if (!ran) return false;
            answers(t, w, &right);
            c.p->right[c.way] += (double)right;
        }
    return true;
}

/* The sublayer k: an attention's output, then (from n_sites on) the layers' mlps; NULL: none. */
static ag_node *sublayer(qkv_trainer *t, const qkv_probe_heads *o, int k) {
    return k < o->n_sites
               ? o->site[k].o
               : qkv_probe_find(qkv_trainer_any_worker(t), "layer%d.mlp.down", k - o->n_sites);
}

static bool prepare(qkv_trainer *t, tensor_arena *arena, qkv_probe_heads *o, tally *sum) {
    const qkv_config *c = qkv_trainer_config(t);
    const size_t sites = (size_t)o->n_sites, sublayers = sites + (size_t)c->layers;
    for (int k = 0; k < o->n_sites; k++) {
        const int T = o->site[k].o->val.shape.dim[1];
        if (T > o->rows) o->rows = T;
    }
    const size_t heads = sites * (size_t)o->heads, places = sites * (size_t)o->rows;
    *sum = (tally){.out = o};
    o->ablated = tensor_arena_take(arena, heads * QKV_PROBE_WAYS, sizeof(double));
    o->no_sublayer = tensor_arena_take(arena, sublayers * QKV_PROBE_WAYS, sizeof(double));
    o->no_position = tensor_arena_take(arena, places * QKV_PROBE_WAYS, sizeof(double));
    sum->node = tensor_arena_take(arena, sites + sublayers, sizeof *sum->node);
    sum->side = tensor_arena_take(arena, sites + sublayers, sizeof *sum->side);
    sum->mean = tensor_arena_take(arena, sites + sublayers, sizeof *sum->mean);
    sum->have = tensor_arena_take(arena, sites + sublayers, sizeof *sum->have);
    sum->part = tensor_arena_take(arena, heads + sublayers + places, sizeof *sum->part);
    return o->ablated && o->no_sublayer && o->no_position && sum->node && sum->side && sum->mean &&
           sum->have && sum->part;
}

static const double *add_node(tensor_arena *arena, tally *sum, ag_node *node, data_side_name side) {
    const size_t T = (size_t)node->val.shape.dim[1];
    const int k = sum->n_nodes++;
    sum->node[k] = node;
    sum->side[k] = side;
    sum->mean[k] = tensor_arena_take(arena, T * (size_t)width(node), sizeof(double));
    sum->have[k] = tensor_arena_take(arena, T, sizeof(long));
    return sum->have[k] ? sum->mean[k] : NULL;
}

static bool list_parts(qkv_trainer *t, tensor_arena *arena, qkv_probe_heads *o, tally *sum) {
    const int E = qkv_trainer_config(t)->d_v, layers = qkv_trainer_config(t)->layers;
    for (int k = 0; k < o->n_sites; k++) {
        const double *mean = add_node(arena, sum, o->site[k].mix, o->site[k].rows);
        if (!mean) return false;
        for (int h = 0; h < o->heads; h++)
            sum->part[sum->n_parts++] = (part){o->site[k].mix,
                                               o->site[k].rows,
                                               mean,
                                               h * E,
                                               E,
                                               -1,
                                               o->ablated + (k * o->heads + h) * QKV_PROBE_WAYS};
    }
    for (int k = 0; k < o->n_sites + layers; k++) {
        ag_node *node = sublayer(t, o, k);
        const data_side_name side = k < o->n_sites ? o->site[k].rows : DATA_SEQUENCE;
        const double *mean = node ? add_node(arena, sum, node, side) : NULL;
        if (!node) continue;
        if (!mean) return false;
        const int W = node->val.shape.dim[2];
        sum->part[sum->n_parts++] =
            (part){node, side, mean, 0, W, -1, o->no_sublayer + k * QKV_PROBE_WAYS};
        for (int at = 0; k < o->n_sites && at < node->val.shape.dim[1]; at++)
            sum->part[sum->n_parts++] = (part){
                node, side, mean, 0, W, at, o->no_position + (k * o->rows + at) * QKV_PROBE_WAYS};
    }
    return true;
}

bool qkv_probe_ablate_heads(qkv_trainer *t, const char *split, int count, tensor_arena *arena,
                            qkv_probe_heads *out, char *error) {
    if (!QKV_IO_GIVEN(error, t, split, arena, out)) return false;
    const int layers = qkv_trainer_config(t)->layers;
    tally sum;
    if (!qkv_trainer_any_worker(t)->out.logits[0]) return true;  // nothing is right or wrong
    if (!prepare(t, arena, out, &sum) || !list_parts(t, arena, out, &sum))
        return qkv_io_fail(error, "out of memory");
    if (!qkv_probe_see(t, split, count, 0, add_means, &sum, error)) return false;
    for (int k = 0; k < sum.n_nodes; k++) {
        const size_t T = (size_t)sum.node[k]->val.shape.dim[1], W = (size_t)width(sum.node[k]);
        for (size_t i = 0; i < T * W; i++) {
            const size_t place = i / W;
            if (sum.have[k][place]) sum.mean[k][i] /= (double)sum.have[k][place];
        }
    }
    if (!qkv_probe_see(t, split, count, 0, try_parts, &sum, error)) return false;
    for (int i = 0; i < sum.n_parts; i++)
        for (int way = 0; way < QKV_PROBE_WAYS; way++)
            sum.part[i].right[way] /= sum.scored[way] ? (double)sum.scored[way] : (double)NAN;
    for (int k = out->n_sites; k < out->n_sites + layers; k++)
        for (int way = 0; way < QKV_PROBE_WAYS && !sublayer(t, out, k); way++)
            out->no_sublayer[k * QKV_PROBE_WAYS + way] = (double)NAN;
    return true;
}
