/* plan.c - where does a value live, and a gradient, and until when? It follows from what an op, and its
 * fast form, state of themselves (facts): what backward reads, whether it is elementwise, whether it works in
 * place. A value's place is decided when its node is recorded, that of gradients when backward first runs.
 *
 *     value      streamed       a plane of many rows, read by one node alone, by rows, too
 *                written over   read by one node of its size alone, and by no backward
 *                stored         all others, and whatever somebody looks at
 *     gradient   kept           of leaves; of all nodes as long as gradients are kept
 *                shared         else: from the first backward that adds to it to its own
 *                handed over    shared, and standing where its reader's gradient does */
#include <string.h>

#include "autograd/graph_internal.h"

/* How often a node reads another one. */
static int times_read(const ag_node *node, const ag_node *in) {
    int n = 0;
    for (int k = 0; k < node->n_in; k++) n += node->in[k] == in;
    return n;
}

/* Ops that are run by rows write over what they read only in a chain's buffers (chain.c). */
static bool is_in_place(const ag_node *node) {
    return ag_states(node, AG_IN_PLACE) && ag_is_whole(node);
}

/* ---- values: streamed ---- */

/* Backward of a chain runs where its head stands. Does that change the order in which the parts of
 * some gradient are added, and with it the bits? It does if another node between the chain's first
 * and its head has a part in it. */
static bool changes_order(const ag_node *head) {
    int first = head->index;
    for (const ag_node *m = head; m; m = ag_own(m)->next)
        if (m->index < first) first = m->index;
    for (const ag_node *m = head; m; m = ag_own(m)->next)
        for (int k = 0; k < m->n_in; k++)
            for (int i = first; i <= head->index && m->in[k]->wants_grad; i++) {
                const ag_node *other = head->graph->nodes.at[i];
                if (other != m && other->wants_grad && times_read(other, m->in[k])) return true;
            }
    return false;
}

static bool may_be_streamed(const ag_node *node) {
    const ag_graph *g = node->graph;
    const tensor_shape s = node->val.shape;
    if (!g->stream_rows || !g->share_grads || s.rank < 2 || s.dim[s.rank - 2] <= g->stream_rows)
        return false;
    if (node->val.x || node->n_in == 0) return false;
    if (ag_states(node, AG_ELEMENTWISE) && (node->n_save || node->n_in > AG_EACH_MOST))
        return false;
    bool goes_on = !ag_is_whole(node);  // such an op only carries on a chain
    for (int k = 0; k < node->n_in; k++) goes_on = goes_on || ag_own(node->in[k])->streamed;
    return goes_on && tensor_same_shape(s, ag_planes(node));
}

/* Its streamed inputs join its chain, if it runs by rows and is their only reader. */
static void join(ag_node *node, bool by_rows) {
    for (int k = 0; k < node->n_in; k++) {
        ag_node *in = node->in[k], *reader = ag_own(in)->reader;
        if (!ag_own(in)->streamed) continue;
        if (by_rows && (!reader || reader == node) &&
            tensor_same_shape(in->val.shape, ag_planes(node)))
            ag_own(in)->reader = node;
        else
            ag_store(in);
    }
}

static void plan_rows(ag_node *node) {
    ag_private *own = ag_own(node);
    own->streamed = ag_rows_of(node) && may_be_streamed(node);
    own->by_rows = ag_rows_of(node) && (own->streamed || !ag_is_whole(node));
    own->last = node;
    own->x = own->dx = own->room = -1;
    join(node, own->by_rows);
    if (!own->by_rows || own->streamed || node->graph->failed) return;
    ag_link_chain(node);
    if (own->next && changes_order(node))
        while (own->last != node && !node->graph->failed) ag_store(own->last);
}

/* ---- values: written over ---- */

/* Does it stand in the memory of one of its inputs, as a reshape does? */
static bool is_view(const ag_node *node) {
    for (int k = 0; k < node->n_in; k++)
        if (node->in[k]->val.x == node->val.x) return true;
    return false;
}

static bool may_take(const ag_node *node, const ag_node *in) {
    if (!in->op || !ag_states(in, AG_NO_Y) || !in->val.x || ag_own(in)->hooks || is_view(in) ||
        in->val.n != node->val.n || times_read(node, in) > 1)
        return false;
    for (int i = in->index + 1; i < node->index; i++)
        if (times_read(node->graph->nodes.at[i], in)) return false;
    return true;
}

static void plan_over(ag_node *node) {
    const ag_graph *g = node->graph;
    if (!is_in_place(node) || !ag_states(node, AG_NO_X) || node->val.x) return;
    if (!g->stream_rows || !g->share_grads) return;
    for (int k = 0; k < node->n_in; k++) {
        ag_node *in = node->in[k];
        if (!may_take(node, in)) continue;
        ag_own(node)->over = in;
        ag_own(in)->taker = node;
        node->val.x = in->val.x;
        return;
    }
}

void ag_plan_value(ag_node *node) {
    plan_rows(node);
    if (!ag_own(node)->streamed) plan_over(node);
}

/* ---- gradients: shared ----
 *
 * So few live at a time that they stay in cache: 2 to 5 % of a step of width 64. */

enum { NOWHERE = -1, LINE = 64 / (int)sizeof(real) };

static bool is_inner(const ag_node *node) {
    return node->op && node->wants_grad && !ag_own(node)->streamed;
}

/* The lowest place where n numbers fit between what is taken. */
static void span_take(ag_graph *g, ag_node *node) {
    const size_t n = node->val.n / LINE * LINE + LINE;
    size_t at = 0;
    int i = 0;
    AG_ASSERT(g->n_spans < g->span_room);
    for (; i < g->n_spans && g->spans[i].from - at < n; i++) at = g->spans[i].from + g->spans[i].n;
    memmove(g->spans + i + 1, g->spans + i, (size_t)(g->n_spans++ - i) * sizeof *g->spans);
    g->spans[i] = (ag_span){at, n};
    ag_own(node)->grad_at = at;
}

static void span_return(ag_graph *g, const ag_node *node) {
    int i = 0;
    while (i < g->n_spans && g->spans[i].from != ag_own(node)->grad_at) i++;
    AG_ASSERT(i < g->n_spans);
    memmove(g->spans + i, g->spans + i + 1, (size_t)(--g->n_spans - i) * sizeof *g->spans);
}

/* Room for one span a node, none of them taken. */
static bool spans_begin(ag_graph *g) {
    if (g->span_room < g->nodes.n) {
        g->spans = ag_take(g, (size_t)g->nodes.n, sizeof *g->spans);
        g->span_room = g->nodes.n;
    }
    g->n_spans = 0;
    return g->spans != NULL;
}

static bool has_place(const ag_node *node) { return ag_own(node)->grad_at != (size_t)NOWHERE; }

static void place_inputs(ag_graph *g, const ag_node *node) {
    for (int k = 0; k < node->n_in; k++)
        if (is_inner(node->in[k]) && !has_place(node->in[k])) span_take(g, node->in[k]);
}

/* May its first input's gradient take its own one's place? Nobody has added to it yet then. */
static bool hands_over(const ag_node *node) {
    const ag_node *in = node->n_in > 0 ? node->in[0] : NULL;
    return in && is_in_place(node) && is_inner(in) && !has_place(in) && in->val.n == node->val.n &&
           times_read(node, in) == 1;
}

/* Deals out places, in the order in which backward will run; returns how many numbers they are. */
static size_t deal(ag_graph *g) {
    size_t most = 0;
    for (int i = 0; i < g->nodes.n; i++) ag_own(g->nodes.at[i])->grad_at = (size_t)NOWHERE;
    for (int i = g->nodes.n - 1; i >= 0; i--) {
        ag_node *node = g->nodes.at[i];
        if (!is_inner(node)) continue;
        if (!has_place(node)) span_take(g, node);
        const bool over = hands_over(node);
        if (over) ag_own(node->in[0])->grad_at = ag_own(node)->grad_at;
        place_inputs(g, node);
        for (ag_node *m = ag_own(node)->next; m; m = ag_own(m)->next)
            place_inputs(g, m);  // they run when it does
        const ag_span *last = &g->spans[g->n_spans - 1];
        if (last->from + last->n > most) most = last->from + last->n;
        if (!over) span_return(g, node);
    }
    return most;
}

static bool plan_shared(ag_graph *g) {
    if (g->nodes_with_grads == g->nodes.n) return true;
    if (!spans_begin(g)) return false;
    const size_t n = deal(g);
    if (n > g->n_shared) {
        g->shared = ag_take(g, n, sizeof(real));
        g->n_shared = n;
    }
    for (int i = 0; i < g->nodes.n && g->shared; i++) {
        ag_node *node = g->nodes.at[i];
        if (is_inner(node)) node->grad = g->shared + ag_own(node)->grad_at;
    }
    return !g->failed;
}

bool ag_plan_grads(ag_graph *g) {
    if (!ag_own_grads(g) || (g->share_grads && !plan_shared(g))) return false;
    for (int i = g->nodes_with_grads; i < g->nodes.n; i++) {
        ag_node *node = g->nodes.at[i];
        if (!node->wants_grad || node->grad || ag_own(node)->streamed) continue;
        if (node->param)
            node->grad = g->grads + node->param->offset;
        else
            node->grad = ag_take(g, node->val.n, sizeof(real));
        if (!node->grad) return false;
    }
    g->nodes_with_grads = g->nodes.n;
    return true;
}

void ag_keep_grads(ag_graph *g, bool keep) {
    if (!g || g->share_grads == !keep) return;
    g->share_grads = !keep;
    for (int i = 0; keep && i < g->nodes.n; i++) ag_store(g->nodes.at[i]);
    for (int i = 0; i < g->nodes.n; i++)
        if (is_inner(g->nodes.at[i])) {
            g->nodes.at[i]->grad = NULL;
            g->nodes.at[i]->has_grad = false;
        }
    g->nodes_with_grads = 0;
}
