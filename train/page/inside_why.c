/* inside_why.c - what a card's number is made of, in numbers of other cards.
 *
 * Every op says what its own numbers are made of (autograd/why.h). Between two cards there may be nodes
 * that no card shows: each of their numbers is asked in turn, with the slope by which it matters, and only
 * cards are named. Where that would be too many, the node is named with all of its part. */
#include <math.h>

#include "autograd/why.h"
#include "train/io/json.h"
#include "train/page/engine_internal.h"

enum { MOST_ASKED = 800, MOST_LEAVES = 8 };

/* d of the number by each number of a node, or of each by the number; linear: slope times value is a part. */
typedef struct {
    double *slope;
    bool linear;
} reach;

typedef struct {
    const qkv_page_cards *s;
    const ag_node *start;
    reach *of;  // [nodes]
    double *
        passed;  // [nodes] what reaches the number by way of a node that was not asked number by number
    tensor_arena *keep, *once;
    bool backward;
    int asked;
    char *error;
} search;

static int card_of(const qkv_page_cards *s, const ag_node *node) {
    for (int i = 0; i < s->n; i++)
        if (s->card[i].node == node) return i;
    return -1;
}

/* A value, or a gradient. */
static double number(const search *a, const ag_node *node, size_t k) {
    if (!a->backward) return (double)node->val.x[k];
    return node->has_grad && node->grad ? (double)node->grad[k] : 0;
}

static bool no_memory(search *a) {
    qkv_io_fail(a->error, "out of memory");
    return false;
}

/* What one number's own reasons add, when it matters by `slope`. */
static bool ask(search *a, ag_node *node, size_t at, double slope, bool linear) {
    ag_reasons why;
    tensor_arena_reset(a->once);
    a->asked++;
    bool ok = a->backward ? ag_why_grad(node, at, a->once, &why) : ag_why(node, at, a->once, &why);
    if (!ok) return qkv_io_fail(a->error, "%s", why.wrong);
    for (size_t k = 0; k < why.n; k++) {
        const ag_term *t = &why.term[k];
        reach *r = &a->of[t->node->index];
        if (t->n > 1) {
            a->passed[t->node->index] += slope * t->part;
            continue;
        }
        if (!r->slope) {
            r->slope = tensor_arena_take(a->keep, t->node->val.n, sizeof *r->slope);
            r->linear = true;
            if (!r->slope) return no_memory(a);
        }
        r->slope[t->at] += slope * t->slope;
        r->linear = r->linear && linear && t->linear;
    }
    return true;
}

/* A node that no card shows, when all that could add to it was asked. */
static bool pass_through(search *a, ag_node *node) {
    const reach *r = &a->of[node->index];
    if (!r->slope || !node->op || card_of(a->s, node) >= 0) return true;
    size_t n = 0;
    for (size_t k = 0; k < node->val.n; k++) n += r->slope[k] != 0;
    bool each = a->asked + (double)n <= MOST_ASKED;
    for (size_t k = 0; k < node->val.n; k++) {
        if (r->slope[k] == 0) continue;
        if (!each)
            a->passed[node->index] += r->slope[k] * number(a, node, k);
        else if (!ask(a, node, k, r->slope[k], r->linear))
            return false;
    }
    return true;
}

static bool find(search *a, const qkv_page_card *c, size_t at) {
    ag_graph *g = c->node->graph;
    const size_t n = (size_t)ag_count(g);
    a->of = tensor_arena_take(a->keep, n, sizeof *a->of);
    a->passed = tensor_arena_take(a->keep, n, sizeof *a->passed);
    if (!a->of || !a->passed) return no_memory(a);
    if (!ask(a, c->node, at, 1, true)) return false;
    for (int i = c->node->index - 1; i >= 0 && !a->backward; i--)
        if (!pass_through(a, ag_at(g, i))) return false;
    for (int i = c->node->index + 1; i < ag_count(g) && a->backward; i++)
        if (!pass_through(a, ag_at(g, i))) return false;
    return true;
}

/* ---- as text ---- */

/* The cell that shows a number of the card's node; -1: none does. */
static int cell_of(const qkv_page_card *c, size_t at) {
    const ptrdiff_t off = (ptrdiff_t)at - c->from, row = off < 0 ? c->rows : off / c->down;
    if (row >= c->rows || off - row * c->down >= c->cols) return -1;
    return (int)(row * c->cols + (off - row * c->down));
}

static void add_list(qkv_io_text *out, int *n, const char *name, int place, double a, double b) {
    qkv_io_text_add(out, "%s[", (*n)++ ? "," : "");
    qkv_io_json_put(out, name ? name : "");
    qkv_io_text_add(out, ",%d,", place);
    qkv_page_text_real(out, a);
    qkv_io_text_add(out, ",");
    qkv_page_text_real(out, b);
    qkv_io_text_add(out, "]");
}

/* [card, cell, slope, part] of what cards show; part: slope times number, null where it is no summand. */
static void add_terms(const search *a, qkv_io_text *out) {
    int n = 0;
    qkv_io_text_add(out, "\"terms\":[");
    for (int i = 0; i < a->s->n; i++) {
        const qkv_page_card *c = &a->s->card[i];
        const reach *r = &a->of[c->node->index];
        for (size_t k = 0; r->slope && k < c->node->val.n; k++) {
            const int cell = r->slope[k] == 0 ? -1 : cell_of(c, k);
            const double x = number(a, c->node, k);
            if (cell >= 0)
                add_list(out, &n, c->key, cell, r->slope[k],
                         r->linear ? r->slope[k] * x : (double)NAN);
        }
    }
    qkv_io_text_add(out, "]");
}

/* [card, cells, part, 0] of what is of a card's node, but not shown by it; and of nodes without a card. */
static void add_others(const search *a, qkv_io_text *out) {
    int n = 0;
    qkv_io_text_add(out, ",\"others\":[");
    for (int i = 0; i < ag_count(a->start->graph); i++) {
        const ag_node *node = ag_at(a->start->graph, i);
        const int card = card_of(a->s, node);
        double part = a->passed[i];
        int numbers = 0;
        for (size_t k = 0; card >= 0 && a->of[i].slope && k < node->val.n; k++) {
            if (a->of[i].slope[k] == 0 || cell_of(&a->s->card[card], k) >= 0) continue;
            part += a->of[i].slope[k] * number(a, node, k);
            numbers++;
        }
        if (part != 0)
            add_list(out, &n, card >= 0 ? a->s->card[card].key : node->name, numbers, part, 0);
    }
    qkv_io_text_add(out, "]");
}

/* [table, row, value, slope] of what the first card's number is the sum of; the leaves that learn. */
static void add_leaves(const search *a, qkv_io_text *out) {
    int n = 0, all = 0;
    qkv_io_text_add(out, ",\"leaves\":[");
    for (int i = 0; i < ag_count(a->start->graph); i++) {
        const ag_node *leaf = ag_at(a->start->graph, i);
        for (size_t k = 0; !leaf->op && leaf->val.shape.rank && a->of[i].slope && k < leaf->val.n;
             k++)
            if (a->of[i].slope[k] != 0 && a->of[i].linear && all++ < MOST_LEAVES)
                add_list(out, &n, leaf->name, (int)(k / (size_t)tensor_width(leaf->val.shape)),
                         (double)leaf->val.x[k], a->of[i].slope[k]);
    }
    qkv_io_text_add(out, "],\"leaf_count\":%d", all);
}

bool qkv_page_cards_why(const qkv_page_cards *s, int card, int cell, bool backward,
                        qkv_io_text *out, char *error) {
    const qkv_page_card *c = &s->card[card];
    const size_t at = (size_t)(c->from + cell / c->cols * c->down + cell % c->cols);
    search a = {.s = s, .start = c->node, .backward = backward, .error = error};
    a.keep = tensor_arena_new(NULL);
    a.once = tensor_arena_new(NULL);
    bool ok = a.keep && a.once ? find(&a, c, at) : no_memory(&a);
    if (ok) {
        qkv_io_text_add(out, ",\"why\":{\"value\":");
        qkv_page_text_real(out, number(&a, c->node, at));
        qkv_io_text_add(out, ",");
        add_terms(&a, out);
        add_others(&a, out);
        if (!backward && card == 0) add_leaves(&a, out);
        qkv_io_text_add(out, "}");
    }
    if (a.keep) tensor_arena_free(a.keep);
    if (a.once) tensor_arena_free(a.once);
    return ok;
}
