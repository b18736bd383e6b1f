/* chain.c - nodes that are computed a band at a time. A stored node that runs by rows heads a chain of
 * streamed ones: when it runs, it asks them for some rows after the other, in memory that stays in the
 * cache. Who looks at one of them gets it stored. */
#include <string.h>

#include "autograd/graph_internal.h"

/* The stored node whose chain a node is in; NULL if nobody reads it yet. */
static ag_node *head_of(ag_node *node) {
    while (node && ag_own(node)->streamed) node = ag_own(node)->reader;
    return node;
}

/* ---- memory ---- */

/* Takes care that buffer i has room for n numbers. */
static bool buffer_room(ag_graph *g, int i, size_t n) {
    if (i >= g->n_buffers) {
        ag_buffer *more = ag_take(g, (size_t)(i + 4), sizeof *more);
        if (!more) return false;
        if (g->n_buffers) memcpy(more, g->buffers, (size_t)g->n_buffers * sizeof *more);
        g->buffers = more;
        g->n_buffers = i + 4;
    }
    ag_buffer *b = &g->buffers[i];
    if (b->n >= n && b->x) return true;
    *b = (ag_buffer){ag_take(g, n, sizeof(real)), n};
    return b->x != NULL;
}

static int new_buffer(ag_graph *g, int *n, size_t size) {
    buffer_room(g, *n, size);
    return (*n)++;
}

static size_t band_size(const ag_node *node) {
    const tensor_shape s = ag_planes(node);
    const int T = s.rank > 1 ? s.dim[s.rank - 2] : 1;
    return (size_t)ag_band_rows(T, tensor_width(s)) * (size_t)ag_band_ld(tensor_width(s));
}

/* May a node write its band over its first input's, and the gradient's likewise? */
static bool writes_over(const ag_node *node) {
    const ag_node *x = node->in[0];
    const unsigned needed = AG_IN_PLACE | AG_NO_X;
    for (int k = 1; k < node->n_in; k++)
        if (node->in[k] == x) return false;
    return ag_states(node, needed) && ag_own(x)->streamed && ag_states(x, AG_NO_Y);
}

/* Gives each node of the chain its buffers, and memory for what it keeps of each row. */
static void give_memory(ag_node *head) {
    ag_graph *g = head->graph;
    int n = 0;
    for (ag_node *m = ag_own(head)->last; m != head; m = ag_own(m)->previous)
        ag_own(m)->x = writes_over(m) ? ag_own(m->in[0])->x : new_buffer(g, &n, band_size(m));
    for (ag_node *m = ag_own(head)->next; m; m = ag_own(m)->next) {
        const ag_node *reader = ag_own(m)->reader;
        const bool shares = reader != head && writes_over(reader) && reader->in[0] == m;
        if (m->wants_grad)
            ag_own(m)->dx = shares ? ag_own(reader)->dx : new_buffer(g, &n, band_size(m));
    }
    for (ag_node *m = head; m; m = ag_own(m)->next) {
        const ag_by_rows *r = ag_rows_of(m);
        const size_t room = r->room ? r->room(m) : 0, rows = tensor_rows(m->val.shape);
        ag_own(m)->room = room ? new_buffer(g, &n, room) : -1;
        if (ag_own(m)->streamed && r->keeps && !ag_own(m)->kept)
            ag_own(m)->kept = ag_take(g, rows * (size_t)r->keeps, sizeof(real));
    }
}

/* ---- chains ---- */

void ag_link_chain(ag_node *head) {
    ag_own(head)->next = ag_own(head)->previous = NULL;
    ag_own(head)->last = head;
    for (ag_node *m = head; m; m = ag_own(m)->next)
        for (int k = 0; k < m->n_in; k++) {
            ag_node *in = m->in[k], *last = ag_own(head)->last;
            bool seen = !ag_own(in)->streamed;
            for (int j = 0; j < k; j++) seen = seen || m->in[j] == in;
            if (seen) continue;
            AG_ASSERT(ag_own(in)->reader == m);
            ag_own(in)->previous = last;
            ag_own(in)->next = NULL;
            ag_own(last)->next = ag_own(head)->last = in;
        }
    give_memory(head);
}

/* A node that was written over gets memory of its own, and its value. */
static void take_back(ag_node *node) {
    ag_own(ag_own(node)->taker)->over = NULL;
    ag_own(node)->taker = NULL;
    node->val.x = ag_take(node->graph, node->val.n, sizeof(real));
    if (node->val.x) ag_run_node(node);
}

/* A node that was streamed leaves its chain and heads what is behind it. */
static void store_planes(ag_node *node) {
    ag_node *head = head_of(node);
    for (int k = 0; k < node->n_in && ag_is_whole(node); k++) ag_store(node->in[k]);
    ag_own(node)->streamed = false;
    ag_own(node)->reader = NULL;
    if (head) ag_link_chain(head);
    ag_link_chain(node);
    node->graph->nodes_with_grads = 0;  // it has none yet
    ag_make(node);
}

ag_node *ag_store(ag_node *node) {
    if (!node) return NULL;
    if (ag_own(node)->taker)
        take_back(node);
    else if (ag_own(node)->streamed)
        store_planes(node);
    else
        return node;
    return node->graph->failed ? &node->graph->inert.node : node;
}

void ag_stream(ag_graph *g, int rows) {
    if (!g) return;
    g->stream_rows = rows > 0 ? rows : 0;
    for (int i = 0; !g->stream_rows && i < g->nodes.n; i++) ag_store(g->nodes.at[i]);
}

/* ---- reading some rows ---- */

/* Runs a streamed node's part of its chain for one band. */
static void run_up_to(ag_node *node, const ag_band *b) {
    for (ag_node *m = ag_own(head_of(node))->last;; m = ag_own(m)->previous) {
        ag_rows_of(m)->forward(m, b);
        if (m == node) return;
    }
}

bool ag_read_rows(ag_node *node, size_t plane, int t, int n, real *out) {
    if (!node || !out) return false;
    const tensor_shape s = node->val.shape;
    const int S = tensor_width(s), T = s.rank > 1 ? s.dim[s.rank - 2] : 1;
    const bool streamed = ag_own(node)->streamed && head_of(node);
    if (!streamed) ag_store(node);
    if (node->graph->failed || T == 0 || t < 0 || n < 0 || n > T - t ||
        plane >= tensor_rows(s) / (size_t)T)
        return false;
    ag_band b = {.T = T, .S = S, .plane = plane, .cols = S, .first = true, .ld = ag_band_ld(S)};
    const int most = streamed ? ag_band_rows(T, S) : n;
    for (const int end = t + n; t < end; t += b.n) {
        b.t = t;
        b.n = end - t < most ? end - t : most;
        if (streamed) run_up_to(node, &b);
        const ag_strip x = ag_band_of(node, &b);
        for (int r = 0; r < b.n; r++, out += S)
            memcpy(out, x.x + r * x.ld, (size_t)S * sizeof(real));
    }
    return true;
}
