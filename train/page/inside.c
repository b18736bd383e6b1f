/* inside.c - one step from inside: the cards from embedding to loss, and what each of them shows.
 *
 * A card is what one node says of the question that is looked at, for one head. Nodes that stand between
 * two cards (a norm, a gather, further layers) have none. */
#include <stdio.h>
#include <string.h>

#include "train/page/engine_internal.h"
#include "train/probe/look.h"

/* ---- the cards ---- */

typedef struct {
    int side, rows, cols;
    ptrdiff_t from, down;
} view;

static void add(qkv_page_cards *s, const char *key, ag_node *node, view v) {
    if (!node || s->n == QKV_PAGE_MOST_CARDS) return;
    for (int i = 0; i < s->n; i++)
        if (s->card[i].node == node) return;
    qkv_page_card *c = &s->card[s->n++];
    *c = (qkv_page_card){.node = node,
                         .side = v.side,
                         .rows = v.rows,
                         .cols = v.cols,
                         .from = v.from,
                         .down = v.down};
    snprintf(c->key, sizeof c->key, "%.15s", key);
}

static ag_node *part(const qkv_page_cards *s, const char *name) {
    char full[96];
    snprintf(full, sizeof full, "%.64s.%s", s->prefix, name);
    return *s->prefix ? ag_find(s->w->graph, full) : NULL;
}

static int width(const ag_node *node) {
    return node && node->val.shape.rank ? tensor_width(node->val.shape) : 1;
}

/* All positions of a side, all numbers of a node [B,T,D]; or the numbers of one head at each. */
static view rows_of(const qkv_page_cards *s, int side, const ag_node *node, int parts, int which) {
    int W = width(node), E = W / parts;
    return (view){side, s->length[side], E, (ptrdiff_t)which * E, W};
}
/* The same at the question alone. */
static view at_question(const qkv_page_cards *s, const ag_node *node, int parts, int which) {
    view v = rows_of(s, s->queries, node, parts, which);
    v.from += s->row * v.down;
    v.rows = 1;
    return v;
}

/* What the block got, where a norm stands between that and the queries. */
static void add_stream(qkv_page_cards *s, const ag_node *x) {
    char name[96];
    const char *prefix = s->queries == DATA_MEMORY ? "encoder" : "layer";
    int layer = 0;
    const bool inner = sscanf(s->prefix + strlen(prefix), "%d", &layer) == 1 && layer > 0;
    snprintf(name, sizeof name, "%s%d.out", prefix, layer - 1);
    if (!inner) snprintf(name, sizeof name, "%s", s->queries == DATA_MEMORY ? "memory" : "embed");
    ag_node *stream = strstr(s->prefix, ".attn") ? ag_find(s->w->graph, name) : NULL;
    if (stream && stream != x) add(s, "e", stream, rows_of(s, s->queries, stream, 1, 0));
}

static void add_attention(qkv_page_cards *s, const qkv_config *c) {
    ag_node *q = part(s, "q"), *k = part(s, "k"), *v = part(s, "v"), *scores = part(s, "scores"),
            *weights = part(s, "weights"), *mix = part(s, "mix"), *o = part(s, "o");
    int H = weights ? weights->val.shape.dim[1] : 1, S = width(weights),
        T = weights ? weights->val.shape.dim[2] : 1, G = c->kv_heads > 0 ? c->kv_heads : H,
        group = s->head / (H / G > 0 ? H / G : 1);
    view row = {s->keys, s->length[s->keys], 1, ((ptrdiff_t)s->head * T + s->row) * S, 1};
    if (q && q->n_in) add_stream(s, q->in[0]);
    if (q && q->n_in) add(s, "x", q->in[0], rows_of(s, s->queries, q->in[0], 1, 0));
    if (k && k->n_in) add(s, "m", k->in[0], rows_of(s, s->keys, k->in[0], 1, 0));
    if (q) add(s, "q", q, at_question(s, q, H, s->head));
    if (k) add(s, "k", k, rows_of(s, s->keys, k, G, group));
    if (v) add(s, "v", v, rows_of(s, s->keys, v, G, group));
    add(s, "scores", scores, row);
    add(s, "weights", weights, row);
    if (mix) add(s, "mix", mix, at_question(s, mix, H, s->head));
    if (o) add(s, "o", o, at_question(s, o, 1, 0));
}

/* From the layer's result to the loss. */
static void add_answer(qkv_page_cards *s, const data_spec *spec) {
    char name[96];
    int layer = 0;
    if (sscanf(s->prefix, "layer%d", &layer) == 1) {
        snprintf(name, sizeof name, "layer%d.out", layer);
        ag_node *out = ag_find(s->w->graph, name);
        if (out) add(s, "out", out, at_question(s, out, 1, 0));
    }
    const qkv_page_card *last = s->n ? &s->card[s->n - 1] : NULL;
    ag_node *final = ag_find(s->w->graph, "final");
    int D = width(final);
    bool same = final && last && last->cols == D && last->rows == 1 &&
                memcmp(final->val.x, last->node->val.x + last->from, (size_t)D * sizeof(real)) == 0;
    if (final && !same) add(s, "final", final, (view){s->queries, 1, D, 0, D});
    for (int r = 0; r < spec->n_readouts; r++) {
        ag_node *logits = s->w->out.logits[r];
        snprintf(name, sizeof name, r ? "logits%d" : "logits", r);
        if (logits) add(s, name, logits, (view){-1, 1, width(logits), 0, width(logits)});
    }
    add(s, "loss", s->w->out.loss, (view){-1, 1, 1, 0, 1});
}

/* Later nodes read earlier ones: in the order of recording. */
static void sort(qkv_page_cards *s) {
    for (int i = 1; i < s->n; i++)
        for (int j = i; j > 0 && s->card[j].node->index < s->card[j - 1].node->index; j--) {
            qkv_page_card kept = s->card[j];
            s->card[j] = s->card[j - 1];
            s->card[j - 1] = kept;
        }
}

void qkv_page_cards_find(qkv_page_cards *s, const qkv_config *c, const data_spec *spec) {
    s->n = 0;
    add_attention(s, c);
    if (!s->n)
        add(s, "x", ag_find(s->w->graph, "embed"),
            rows_of(s, DATA_SEQUENCE, ag_find(s->w->graph, "embed"), 1, 0));
    add_answer(s, spec);
    sort(s);
}

/* ---- who reads whom ---- */

static const qkv_page_card *card_of(const qkv_page_cards *s, const ag_node *node) {
    for (int i = 0; i < s->n; i++)
        if (s->card[i].node == node) return &s->card[i];
    return NULL;
}

void qkv_page_cards_reads(const qkv_page_cards *s, const qkv_page_card *c, qkv_io_text *out) {
    bool *read = tensor_arena_take(out->arena, (size_t)c->node->index + 1, sizeof *read),
         first = true;
    if (!read) out->failed = true;
    for (int i = c->node->index; read && i >= 0; i--) {
        const ag_node *node = ag_at(c->node->graph, i);
        const qkv_page_card *other = card_of(s, node);
        if (i < c->node->index && !read[i]) continue;
        for (int k = 0; k < node->n_in && (!other || other == c); k++)
            read[node->in[k]->index] = true;
        if (!other || other == c) continue;
        qkv_io_text_add(out, "%s\"%s\"", first ? "" : ",", other->key);
        first = false;
    }
}
