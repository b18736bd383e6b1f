/* heads.c - where each head looks, over many examples: "heads.layer1.attn.0.induction" and so on;
 * "phase..." is the same of fewer examples, while training. */
#include "train/probe/heads.h"

#include <math.h>
#include <string.h>

#include "train/io/given.h"
#include "train/probe/look.h"

const char *const qkv_probe_look_names[QKV_PROBE_LOOKS] = {"previous", "duplicate", "induction",
                                                           "answer",   "self",      "first"};
const char *const qkv_probe_way_names[QKV_PROBE_WAYS] = {"zero", "mean", "resample"};

typedef struct {
    qkv_probe_heads *out;
    long *rows;         // [n_sites,LOOKS] queries that have something to look at in this way
    long **have, seen;  // [n_sites][T] examples that have a position; all of them
    long right, scored;
    double loss;
} tally;

/* Do two positions carry one symbol in one of the side's streams? Markers do not count. */
static bool same_symbol(const qkv_trainer *t, qkv_trainer_worker *w, data_side_name side, int b,
                        int i, int k) {
    const data_side *s = &qkv_trainer_spec(t)->side[side];
    for (int n = 0; n < s->n_streams; n++) {
        const int *ids = qkv_probe_ids(t, w, side, n, b);
        if (ids[i] >= 0 && ids[i] != s->stream[n].marker && ids[i] == ids[k]) return true;
    }
    return false;
}

/* Does the answer to a question at position `at` stand at s? */
static bool is_answer(const qkv_trainer *t, const qkv_trainer_worker *w, int b, int at, int s) {
    const data_spec *spec = qkv_trainer_spec(t);
    const int cell = b * spec->side[DATA_SEQUENCE].T + at;
    for (int r = 0; r < spec->n_readouts; r++)
        if (w->data.rows.target[r][cell] >= 0 && w->data.rows.source[r][cell] == s) return true;
    return false;
}

/* Is s, as seen from `at`, what a head of this look looks at? */
static bool wanted(const qkv_trainer *t, qkv_trainer_worker *w, const qkv_probe_site *site,
                   int look, int b, int at, int s) {
    const bool answers = site->rows == DATA_SEQUENCE && site->cols == qkv_trainer_spec(t)->store;
    if (look == QKV_PROBE_LOOK_ANSWER) return answers && is_answer(t, w, b, at, s);
    if (look == QKV_PROBE_LOOK_FIRST) return s == 0 && at > 0;
    if (site->rows != site->cols) return false;
    switch (look) {
        case QKV_PROBE_LOOK_PREVIOUS: return s == at - 1;
        case QKV_PROBE_LOOK_DUPLICATE: return s < at && same_symbol(t, w, site->rows, b, at, s);
        case QKV_PROBE_LOOK_INDUCTION:
            return s > 0 && s < at && same_symbol(t, w, site->rows, b, at, s - 1);
        default: return s == at;
    }
}

/* One query: adds its weights and the chance of each look. */
static void add_query(qkv_trainer *t, qkv_trainer_worker *w, tally *sum, int k, int b, int at) {
    const qkv_probe_heads *o = sum->out;
    const qkv_probe_site *site = &o->site[k];
    const int S = site->weights->val.shape.dim[3];
    for (int look = 0; look < QKV_PROBE_LOOKS; look++) {
        int seen = 0, hits = 0;
        for (int s = 0; s < S; s++) {
            if (!qkv_probe_side_sees(t, w, site->rows, site->cols, b, at, s)) continue;
            seen++;
            if (!wanted(t, w, site, look, b, at, s)) continue;
            hits++;
            for (int h = 0; h < o->heads; h++)
                o->look[(k * o->heads + h) * QKV_PROBE_LOOKS + look] +=
                    (double)qkv_probe_row_of(site->weights, b, h, at)[s];
        }
        if (!hits) continue;
        sum->rows[k * QKV_PROBE_LOOKS + look]++;
        o->chance[k * QKV_PROBE_LOOKS + look] += (double)hits / seen;
    }
}

/* Positions that an example does not have are left out of the mean. */
static void add_map(tally *sum, const qkv_trainer_worker *w, int k, int b) {
    const qkv_probe_heads *o = sum->out;
    const int *dim = o->site[k].weights->val.shape.dim;
    const int there = data_length(&w->data, o->site[k].rows, b);
    for (int t = 0; t < there; t++) {
        for (int h = 0; h < dim[1]; h++) {
            const real *row = qkv_probe_row_of(o->site[k].weights, b, h, t);
            real *to = o->map[k] + ((ptrdiff_t)h * dim[2] + t) * dim[3];
            for (int s = 0; s < dim[3]; s++) to[s] += row[s] / (real)o->examples;
        }
        sum->have[k][t]++;
    }
}

/* Where not all examples had a position, the sums are of fewer. */
static void finish_map(const tally *sum, int k) {
    const qkv_probe_heads *o = sum->out;
    const int *dim = o->site[k].weights->val.shape.dim;
    for (int t = 0; t < dim[2]; t++) {
        const long have = sum->have[k][t];
        for (int i = 0; i < dim[1] * dim[3] && have > 0 && have < sum->seen; i++)
            o->map[k][((ptrdiff_t)(i / dim[3]) * dim[2] + t) * dim[3] + i % dim[3]] *=
                (real)sum->seen / (real)have;
    }
}

static bool count(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    tally *sum = ctx;
    (void)arena;
    for (int k = 0; k < sum->out->n_sites; k++)
        for (int b = 0; b < w->count; b++) {
            add_map(sum, w, k, b);
            for (int at = 0; at < sum->out->site[k].weights->val.shape.dim[2]; at++)
                add_query(t, w, sum, k, b, at);
        }
    sum->seen += w->count;
    sum->loss += (double)w->out.loss->val.x[0];
    for (int n = 0; w->out.logits[0] && n < qkv_probe_rows(w); n++)
        for (int r = 0; r < qkv_trainer_spec(t)->n_readouts; r++) {
            if (w->target[r][n] < 0) continue;
            sum->scored++;
            sum->right += qkv_probe_answer(t, w, r, n) == w->target[r][n];
        }
    return true;
}

static bool room(qkv_probe_heads *o, tensor_arena *arena, tally *sum) {
    const size_t sites = (size_t)o->n_sites, heads = (size_t)o->heads;
    o->look = tensor_arena_take(arena, sites * heads * QKV_PROBE_LOOKS, sizeof(double));
    o->chance = tensor_arena_take(arena, sites * QKV_PROBE_LOOKS, sizeof(double));
    o->map = tensor_arena_take(arena, sites, sizeof *o->map);
    sum->rows = tensor_arena_take(arena, sites * QKV_PROBE_LOOKS, sizeof(long));
    sum->have = tensor_arena_take(arena, sites, sizeof *sum->have);
    bool ok = o->look && o->chance && o->map && sum->rows && sum->have;
    for (int k = 0; ok && k < o->n_sites; k++) {
        const int *dim = o->site[k].weights->val.shape.dim;
        o->map[k] = tensor_arena_reals(arena, heads * (size_t)dim[2] * (size_t)dim[3]);
        sum->have[k] = tensor_arena_take(arena, (size_t)dim[2], sizeof **sum->have);
        ok = o->map[k] && sum->have[k];
    }
    return ok;
}

static void divide(qkv_probe_heads *o, const tally *sum) {
    for (int k = 0; k < o->n_sites; k++) finish_map(sum, k);
    for (int k = 0; k < o->n_sites; k++)
        for (int look = 0; look < QKV_PROBE_LOOKS; look++) {
            const long n = sum->rows[k * QKV_PROBE_LOOKS + look];
            const double by = n ? (double)n : (double)NAN;
            o->chance[k * QKV_PROBE_LOOKS + look] /= by;
            for (int h = 0; h < o->heads; h++)
                o->look[(k * o->heads + h) * QKV_PROBE_LOOKS + look] /= by;
        }
    o->accuracy = sum->scored ? (double)sum->right / (double)sum->scored : (double)NAN;
    o->loss = sum->loss;
}

bool qkv_probe_heads_of(qkv_trainer *t, const char *split, int n, qkv_probe_heads_parts parts,
                        tensor_arena *arena, qkv_probe_heads *out, char *error) {
    if (!QKV_IO_GIVEN(error, t, split, arena, out)) return false;
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    tally sum = {.out = out};
    n = data_at_most(qkv_trainer_spec(t), split, n);
    *out = (qkv_probe_heads){.heads = qkv_trainer_config(t)->heads, .examples = n};
    out->site = qkv_probe_sites(t, w, arena, &out->n_sites);
    if (out->site && !out->n_sites) return qkv_probe_no_sites(t, error);
    if (!out->site || !room(out, arena, &sum)) return qkv_io_fail(error, "out of memory");
    if (!qkv_probe_see(t, split, n, 0, count, &sum, error)) return false;
    divide(out, &sum);
    return (!parts.attribution || qkv_probe_attribute(t, split, n, arena, out, error)) &&
           (!parts.composition || qkv_probe_compose(t, arena, out, error)) &&
           (!parts.ablation || qkv_probe_ablate_heads(t, split, n, arena, out, error));
}

bool qkv_probe_head_does(const qkv_probe_heads *h, int site, int head, qkv_probe_look look) {
    const double x = h->look[(site * h->heads + head) * QKV_PROBE_LOOKS + (int)look];
    const double chance = h->chance[site * QKV_PROBE_LOOKS + (int)look];
    return x - chance > (1 - chance) / 2;
}
