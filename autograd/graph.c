/* graph.c - what a graph consists of: nodes, leaves, names; its errors; looking nodes up. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "autograd/graph_internal.h"

static void clear(ag_graph *g) {
    g->nodes = g->leaves = (ag_node_list){0};
    g->inert =
        (ag_private){.node = {.graph = g, .name = "inert", .index = -1, .val.x = &g->nothing}};
    g->own_grads = g->grads = NULL;
    g->own_size = 0;
    g->nodes_with_grads = 0;
    g->shared = NULL;
    g->n_shared = 0;
    g->spans = NULL;
    g->n_spans = g->span_room = 0;
    g->buffers = NULL;
    g->n_buffers = 0;
    g->failed = false;
    g->error[0] = '\0';
    g->frozen_leaf = -1;
    g->samples = rng_stream(0, "sample", 0);
}

void ag_set_run(ag_graph *g, ag_run run) {
    if (g) g->run = run;
}
ag_run ag_get_run(const ag_graph *g) { return g ? g->run : (ag_run){0}; }

ag_graph *ag_graph_new(ag_params *params) {
    if (!params) return NULL;
    ag_graph *g = params->mem->alloc(params->mem->ctx, sizeof *g);
    if (!g) return NULL;
    *g = (ag_graph){.params = params, .arena = tensor_arena_new(params->mem)};
    if (!g->arena) {
        params->mem->release(params->mem->ctx, g);
        return NULL;
    }
    clear(g);
    return g;
}

void ag_graph_free(ag_graph *g) {
    if (!g) return;
    tensor_arena_free(g->arena);
    const tensor_allocator *mem = g->params->mem;
    mem->release(mem->ctx, g);
}

void ag_graph_reset(ag_graph *g) {
    if (!g) return;
    tensor_arena_reset(g->arena);
    clear(g);
}

/* ---- errors ---- */

const char *ag_error(const ag_graph *g) {
    if (!g) return "there is no graph: out of memory for it";
    return g->failed ? g->error : NULL;
}

ag_node *ag_fail_graph(ag_graph *g, const char *format, ...) {
    if (!g) return NULL;
    if (g->failed) return &g->inert.node;
    va_list args;
    va_start(args, format);
    vsnprintf(g->error, sizeof g->error, format, args);
    va_end(args);
    if (!*g->error) snprintf(g->error, sizeof g->error, "an error was raised without a reason");
    g->failed = true;
    return &g->inert.node;
}

bool ag_fail(ag_node *node, const char *format, ...) {
    char where[256], what[256], shape[TENSOR_SHAPE_TEXT];
    int at = snprintf(where, sizeof where, "%s '%s' (", node->op->name, node->name);
    for (int i = 0; i < node->n_in && at < (int)sizeof where; i++)
        at += snprintf(where + at, sizeof where - (size_t)at, "%s%s %s", i ? ", " : "",
                       node->in[i]->name, tensor_shape_text(node->in[i]->val.shape, shape));
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    ag_fail_graph(node->graph, "%s): %s", where, what);
    return false;
}

void *ag_take(ag_graph *g, size_t count, size_t size) {
    void *p = g ? tensor_arena_take(g->arena, count, size) : NULL;
    if (!p) ag_fail_graph(g, "out of memory: %zu x %zu bytes for the graph", count, size);
    return p;
}

/* ---- nodes ---- */

bool ag_list_push(ag_graph *g, ag_node_list *list, ag_node *node) {
    if (list->n == list->room) {
        int room = list->room ? 2 * list->room : 64;
        ag_node **at = ag_take(g, (size_t)room, sizeof *at);
        if (!at) return false;
        if (list->n) memcpy(at, list->at, (size_t)list->n * sizeof *at);
        list->at = at;
        list->room = room;
    }
    list->at[list->n++] = node;
    return true;
}

ag_node *ag_new_node(ag_graph *g) {
    if (g->failed) return &g->inert.node;
    ag_private *own = ag_take(g, 1, sizeof *own);
    ag_node *node = own ? &own->node : NULL;
    if (!node || !ag_list_push(g, &g->nodes, node)) return &g->inert.node;
    node->graph = g;
    node->index = g->nodes.n - 1;
    node->name = "";
    return node;
}

ag_node *ag_new_leaf(ag_graph *g, const char *name, tensor val, bool wants_grad) {
    ag_node *node = ag_new_node(g);
    if (node == &g->inert.node || !ag_list_push(g, &g->leaves, node)) return &g->inert.node;
    node->name = ag_text(g, "%s", name);
    node->val = val;
    node->wants_grad = (wants_grad || g->want_all) && g->frozen_leaf != g->leaves.n - 1;
    return node;
}

ag_node *ag_input(ag_graph *g, const char *name, tensor_shape shape) {
    if (!g) return NULL;
    if (g->failed) return &g->inert.node;
    tensor val = {.shape = shape};
    if (!name) return ag_fail_graph(g, "an input needs a name");
    if (!tensor_count(shape, &val.n))
        return ag_fail_graph(g, "input '%s': bad shape, or too many elements", name);
    val.x = ag_take(g, val.n, sizeof(real));
    return val.x ? ag_new_leaf(g, name, val, false) : &g->inert.node;
}

/* Whether something was computed from it. Only nodes after it can have been. */
static bool is_used(const ag_node *leaf) {
    const ag_node_list *nodes = &leaf->graph->nodes;
    for (int i = leaf->index + 1; i < nodes->n; i++)
        for (int k = 0; k < nodes->at[i]->n_in; k++)
            if (nodes->at[i]->in[k] == leaf) return true;
    return false;
}

ag_node *ag_want_grad(ag_node *leaf) {
    if (!leaf) return NULL;
    ag_graph *g = leaf->graph;
    if (leaf == &g->inert.node) return leaf;
    if (leaf->op)
        return ag_fail_graph(g, "'%s' is no leaf: only inputs and parameters learn", leaf->name);
    if (leaf->wants_grad || is_used(leaf))
        return leaf->wants_grad
                   ? leaf
                   : ag_fail_graph(g,
                                   "'%s' is in use already: ag_want_grad() comes before "
                                   "a leaf's first use",
                                   leaf->name);
    bool frozen =
        g->frozen_leaf >= 0 && g->frozen_leaf < g->leaves.n && g->leaves.at[g->frozen_leaf] == leaf;
    leaf->wants_grad = !frozen;
    return leaf;
}

void ag_want_all(ag_graph *g, bool all) {
    if (g) g->want_all = all;
}

const char *ag_text(ag_graph *g, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = !g || length < 0 ? NULL : ag_take(g, (size_t)length + 1, 1);
    if (!text) return "";
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

ag_node *ag_name(ag_node *node, const char *format, ...) {
    if (!node || node == &node->graph->inert.node) return node;
    char name[256];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    node->name = ag_text(node->graph, "%s", name);
    return node;
}

/* ---- look-up ---- */

int ag_count(const ag_graph *g) { return g ? g->nodes.n : 0; }
ag_node *ag_at(ag_graph *g, int i) { return i >= 0 && i < ag_count(g) ? g->nodes.at[i] : NULL; }

ag_node *ag_find_unseen(ag_graph *g, const char *name) {
    for (int i = name ? ag_count(g) - 1 : -1; i >= 0; i--)
        if (strcmp(g->nodes.at[i]->name, name) == 0) return g->nodes.at[i];
    return NULL;
}
