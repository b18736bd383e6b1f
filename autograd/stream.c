/* stream.c - which nodes are streamed, the chains that they make, and what becomes of them when
 * somebody looks. */
#include <string.h>

#include "autograd/graph_internal.h"

void ag_stream(ag_graph *g, int rows) {
    if (!g) return;
    g->stream_rows = rows > 0 ? rows : 0;
    for (int i = 0; !g->stream_rows && i < g->nodes.n; i++) ag_store(g->nodes.at[i]);
}

/* The stored node whose chain a node is in; NULL if nobody reads it yet. */
static ag_node *head_of(ag_node *node) {
    while (node && node->streamed) node = node->flow->reader;
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

static size_t band_size(const ag_node *node) {
    const tensor_shape s = ag_planes(node);
    const int T = s.rank > 1 ? s.dim[s.rank - 2] : 1;
    return (size_t)ag_band_rows(T, tensor_width(s)) * (size_t)ag_band_ld(tensor_width(s));
}

/* May it write its band over its first input's? */
static bool in_place(const ag_node *node) {
    const ag_node *x = node->in[0];
    for (int k = 1; k < node->n_in; k++)
        if (node->in[k] == x) return false;
    return node->op->rows->in_place && x->streamed && !x->op->rows->reads_y;
}

static int new_buffer(ag_graph *g, int *n, size_t size) {
    buffer_room(g, *n, size);
    return (*n)++;
}

/* Gives each node of the chain its buffers, and memory for what it keeps of each row. */
static void give_memory(ag_node *head) {
    ag_graph *g = head->graph;
    int n = 0;
    for (ag_node *m = head->flow->last; m != head; m = m->flow->previous)
        m->flow->x = in_place(m) ? m->in[0]->flow->x : new_buffer(g, &n, band_size(m));
    for (ag_node *m = head->flow->next; m; m = m->flow->next) {
        const ag_node *reader = m->flow->reader;
        const bool shares = reader != head && in_place(reader) && reader->in[0] == m;
        if (m->wants_grad)
            m->flow->dx = shares ? reader->flow->dx : new_buffer(g, &n, band_size(m));
    }
    for (ag_node *m = head; m; m = m->flow->next) {
        const ag_by_rows *r = m->op->rows;
        const size_t room = r->room ? r->room(m) : 0;
        m->flow->own = room ? new_buffer(g, &n, room) : -1;
        if (m->streamed && r->keeps && !m->flow->kept)
            m->flow->kept = ag_take(g, tensor_rows(m->val.shape) * (size_t)r->keeps, sizeof(real));
    }
}

/* ---- chains ---- */

/* Puts together a stored node's chain. */
static void link_chain(ag_node *head) {
    head->flow->next = head->flow->previous = NULL;
    head->flow->last = head;
    for (ag_node *m = head; m; m = m->flow->next)
        for (int k = 0; k < m->n_in; k++) {
            ag_node *in = m->in[k];
            bool seen = !in->streamed;
            for (int j = 0; j < k; j++) seen = seen || m->in[j] == in;
            if (seen) continue;
            in->flow->previous = head->flow->last;
            in->flow->next = NULL;
            head->flow->last->flow->next = in;
            head->flow->last = in;
        }
    give_memory(head);
}

static bool reads(const ag_node *node, const ag_node *in) {
    for (int k = 0; k < node->n_in; k++)
        if (node->in[k] == in) return true;
    return false;
}

/* Backward of a chain runs where its head stands. Does that change the order in which the parts of
 * some gradient are added, and with it the bits? It does if another node between the chain's first
 * and its head has a part in it. */
static bool changes_order(const ag_node *head) {
    int first = head->index;
    for (const ag_node *m = head; m; m = m->flow->next)
        if (m->index < first) first = m->index;
    for (const ag_node *m = head; m; m = m->flow->next)
        for (int k = 0; k < m->n_in; k++)
            for (int i = first; i <= head->index && m->in[k]->wants_grad; i++) {
                const ag_node *other = head->graph->nodes.at[i];
                if (other != m && other->wants_grad && reads(other, m->in[k])) return true;
            }
    return false;
}

/* ---- what is streamed ---- */

static bool may_be_streamed(const ag_node *node) {
    const ag_graph *g = node->graph;
    const tensor_shape s = node->val.shape;
    if (!g->stream_rows || !g->share_grads || s.rank < 2 || s.dim[s.rank - 2] <= g->stream_rows)
        return false;
    if (node->val.x || node->n_in == 0) return false;
    if (node->op->rows == &ag_elementwise && (node->n_save || node->n_in > AG_EACH_MOST))
        return false;
    bool goes_on = !node->op->rows->whole;  // an elementwise op only carries on a chain
    for (int k = 0; k < node->n_in; k++) goes_on = goes_on || node->in[k]->streamed;
    return goes_on && tensor_same_shape(s, ag_planes(node));
}

void ag_plan(ag_node *node) {
    const ag_by_rows *rows = node->op->rows;
    const bool stream = rows && may_be_streamed(node), runs = rows && (stream || !rows->whole);
    for (int k = 0; k < node->n_in; k++) {
        ag_node *in = node->in[k];
        if (!in->streamed) continue;
        const ag_node *reader = in->flow->reader;
        if (runs && (!reader || reader == node) &&
            tensor_same_shape(in->val.shape, ag_planes(node)))
            in->flow->reader = node;
        else
            ag_store(in);
    }
    if (!runs) return;
    node->flow = ag_take(node->graph, 1, sizeof *node->flow);
    if (!node->flow) return;
    *node->flow = (ag_flow){.last = node, .x = -1, .dx = -1, .own = -1};
    node->streamed = stream;
    if (stream) return;
    link_chain(node);
    if (node->flow->next && changes_order(node))
        while (node->flow->last != node && !node->graph->failed) ag_store(node->flow->last);
}

ag_node *ag_store(ag_node *node) {
    if (!node) return NULL;
    ag_graph *g = node->graph;
    if (node->lent) {
        ag_take_back(node);
        return g->failed ? &g->inert : node;
    }
    if (!node->streamed) return node;
    ag_node *head = head_of(node);
    for (int k = 0; k < node->n_in && node->op->rows->whole; k++) ag_store(node->in[k]);
    node->streamed = false;
    node->flow->reader = NULL;
    if (head) link_chain(head);
    link_chain(node);
    g->nodes_with_grads = 0;  // it has none yet
    return ag_make(node) ? node : &g->inert;
}

/* ---- reading some rows ---- */

/* Runs a streamed node's part of its chain for one band. */
static void run_up_to(ag_node *node, const ag_band *b) {
    for (ag_node *m = head_of(node)->flow->last;; m = m->flow->previous) {
        m->op->rows->forward(m, b);
        if (m == node) return;
    }
}

bool ag_read_rows(ag_node *node, size_t plane, int t, int n, real *out) {
    if (!node || !out) return false;
    const tensor_shape s = node->val.shape;
    const int S = tensor_width(s), T = s.rank > 1 ? s.dim[s.rank - 2] : 1;
    if (node->lent || (node->streamed && !head_of(node))) ag_store(node);
    if (node->graph->failed || T == 0 || t < 0 || n < 0 || n > T - t ||
        plane >= tensor_rows(s) / (size_t)T)
        return false;
    ag_band b = {.T = T, .S = S, .plane = plane, .cols = S, .first = true, .ld = ag_band_ld(S)};
    const int most = node->streamed ? ag_band_rows(T, S) : n;
    for (const int end = t + n; t < end; t += b.n) {
        b.t = t;
        b.n = end - t < most ? end - t : most;
        if (node->streamed) run_up_to(node, &b);
        const ag_strip x = ag_band_of(node, &b);
        for (int r = 0; r < b.n; r++, out += S)
            memcpy(out, x.x + r * x.ld, (size_t)S * sizeof(real));
    }
    return true;
}
