/* past.c - keys and values of positions that were read before.
 *
 * Under a causal mask what a position is does not depend on later ones: a sequence can be read piece by
 * piece, and of what went before attention needs the keys and values alone. */
#include "layers/past.h"

#include <string.h>

/* One tensor of one attention: [B,positions,W]. */
typedef struct kept kept;
struct kept {
    const char *name;
    tensor_shape shape;
    real *x;
    kept *next;
};

struct nn_past {
    tensor_arena *arena;  // holds this, too
    int positions;
    kept *list;
};

nn_past *nn_past_new(const tensor_allocator *mem, int positions) {
    tensor_arena *arena = tensor_arena_new(mem);
    nn_past *p = arena ? tensor_arena_take(arena, 1, sizeof *p) : NULL;
    if (p)
        *p = (nn_past){arena, positions, NULL};
    else
        tensor_arena_free(arena);
    return p;
}

void nn_past_free(nn_past *p) {
    if (p) tensor_arena_free(p->arena);
}

/* What is kept under a name, new and empty if need be; NULL: memory is out. */
static kept *find(nn_past *p, const char *name, int B, int W) {
    for (kept *k = p->list; k; k = k->next)
        if (strcmp(k->name, name) == 0) return k;
    char *copy = tensor_arena_take(p->arena, strlen(name) + 1, 1);
    kept *k = tensor_arena_take(p->arena, 1, sizeof *k);
    const size_t n = (size_t)B * (size_t)p->positions * (size_t)W;
    real *x = copy && k ? tensor_arena_reals(p->arena, n) : NULL;
    if (!x) return NULL;
    *k = (kept){strcpy(copy, name), tensor_dims(3, B, p->positions, W), x, p->list};
    return p->list = k;
}

ag_node *nn_past_join(nn_past *p, ag_node *x, const char *name, int first) {
    const tensor_shape s = x->val.shape;
    if (!p || ag_error(x->graph)) return x;
    const int B = s.dim[0], n = s.dim[1], W = s.dim[2];
    kept *k = find(p, name, B, W);
    if (!k) return ag_fail_graph(x->graph, "out of memory for the past of '%s'", name);
    if (!tensor_same_shape(k->shape, tensor_dims(3, B, p->positions, W)) ||
        first + n > p->positions)
        return ag_fail_graph(x->graph, "'%s' has no room for positions %d to %d of %d", name, first,
                             first + n - 1, p->positions);
    ag_node *before =
        first ? ag_input(x->graph, ag_text(x->graph, "%s.past", name), tensor_dims(3, B, first, W))
              : NULL;
    if (ag_error(x->graph)) return x;
    for (int b = 0; b < B; b++) {
        real *at = k->x + (ptrdiff_t)b * p->positions * W;
        if (before)
            memcpy(before->val.x + (ptrdiff_t)b * first * W, at,
                   (size_t)first * (size_t)W * sizeof *at);
        memcpy(at + (ptrdiff_t)first * W, x->val.x + (ptrdiff_t)b * n * W,
               (size_t)n * (size_t)W * sizeof *at);
    }
    return before ? ag_concat(2, (ag_node *[]){before, x}, 1) : x;
}
