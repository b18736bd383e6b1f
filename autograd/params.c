/* params.c - parameters by name, and their initial values. */
#include <math.h>
#include <string.h>

#include "autograd/graph_internal.h"

// Every entry starts a new group of 16 reals: aligned for vectors, never shared between threads.
enum { PAD = 16 };

ag_params *ag_params_new(const tensor_allocator *mem, uint64_t seed) {
    if (!mem) mem = &tensor_malloc;
    tensor_arena *arena = tensor_arena_new(mem);
    ag_params *p = arena ? tensor_arena_take(arena, 1, sizeof *p) : NULL;
    if (!p) {
        tensor_arena_free(arena);
        return NULL;
    }
    *p = (ag_params){.arena = arena, .mem = mem, .seed = seed};
    return p;
}

void ag_params_free(ag_params *p) {
    if (p) tensor_arena_free(p->arena);
}

void ag_params_close(ag_params *p) {
    if (p) p->closed = true;
}
int ag_params_count(const ag_params *p) { return p ? p->n : 0; }
ag_param_entry *ag_params_at(ag_params *p, int i) {
    return i >= 0 && i < ag_params_count(p) ? p->at[i] : NULL;
}
size_t ag_params_size(const ag_params *p) { return p ? p->size : 0; }

ag_param_entry *ag_params_find(ag_params *p, const char *name) {
    for (int i = 0; name && i < ag_params_count(p); i++)
        if (strcmp(p->at[i]->name, name) == 0) return p->at[i];
    return NULL;
}

size_t ag_params_learned(const ag_params *p) {
    size_t total = 0;
    for (int i = 0; i < ag_params_count(p); i++)
        if (!p->at[i]->frozen) total += p->at[i]->val.n;
    return total;
}

/* ---- freezing ---- */

/* '*' matches any run of characters. On a mismatch the last star takes one character more. */
bool ag_matches(const char *pattern, const char *name) {
    const char *star = NULL, *resume = name;
    if (!pattern || !name) return false;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            resume = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}

static bool born_frozen(const ag_params *p, const char *name) {
    for (const frozen_pattern *f = p->frozen; f; f = f->next)
        if (ag_matches(f->text, name)) return true;
    return false;
}

/* NULL when memory is out. */
static const char *copy_text(ag_params *p, const char *text) {
    size_t length = strlen(text) + 1;
    char *copy = tensor_arena_take(p->arena, length, 1);
    return copy ? memcpy(copy, text, length) : NULL;
}

bool ag_params_freeze_matching(ag_params *p, const char *pattern) {
    if (!p || !pattern) return false;
    frozen_pattern *f = tensor_arena_take(p->arena, 1, sizeof *f);
    const char *text = copy_text(p, pattern);
    if (!f || !text) return false;
    *f = (frozen_pattern){.text = text, .next = p->frozen};
    p->frozen = f;
    for (int i = 0; i < p->n; i++) p->at[i]->frozen |= ag_matches(text, p->at[i]->name);
    return true;
}

/* ---- making and finding ---- */

/* Makes every row of x as long as `length`. */
static void set_row_lengths(tensor x, double length) {
    size_t rows = tensor_rows(x.shape), width = (size_t)tensor_width(x.shape);
    for (size_t r = 0; r < rows; r++) {
        real *row = x.x + r * width;
        double squares = 0;
        for (size_t i = 0; i < width; i++) squares += (double)row[i] * (double)row[i];
        for (size_t i = 0; i < width && squares > 0; i++)
            row[i] = (real)((double)row[i] * length / sqrt(squares));
    }
}

static bool inside(ag_init init, int column) {
    return init.columns == 0 || (column >= init.from && column < init.from + init.columns);
}

/* The same bits on every machine: only PCG and + - * / sqrt. */
static void initialise(tensor val, ag_init init, rng stream) {
    size_t width = (size_t)tensor_width(val.shape);
    for (size_t i = 0; i < val.n; i++) switch (init.kind) {
            case AG_ZEROS: val.x[i] = 0; break;
            case AG_ONES: val.x[i] = 1; break;
            case AG_NORMAL:
                if (inside(init, (int)(i % width)))
                    val.x[i] = (real)(init.scale * rng_normal(&stream));
                break;
            case AG_UNIFORM:  // on [-sqrt(3), sqrt(3)] the deviation is 1
                val.x[i] = (real)(init.scale * 1.7320508075688772 * (2 * rng_double(&stream) - 1));
                break;
            case AG_UNIT_ROWS: val.x[i] = (real)rng_normal(&stream); break;
        }
    if (init.kind == AG_UNIT_ROWS) set_row_lengths(val, init.scale);
}

static bool room_for_one(ag_params *p) {
    if (p->n < p->room) return true;
    int room = p->room ? 2 * p->room : 32;
    ag_param_entry **at = tensor_arena_take(p->arena, (size_t)room, sizeof *at);
    if (!at) return false;
    if (p->n) memcpy(at, p->at, (size_t)p->n * sizeof *at);
    p->at = at;
    p->room = room;
    return true;
}

/* NULL when memory is out. */
static ag_param_entry *create(ag_params *p, const char *name, tensor val, ag_init init) {
    ag_param_entry *e = tensor_arena_take(p->arena, 1, sizeof *e);
    const char *copy = copy_text(p, name);
    val.x = tensor_arena_reals(p->arena, (val.n + PAD - 1) / PAD * PAD);
    if (!e || !copy || !val.x || !room_for_one(p)) return NULL;
    *e = (ag_param_entry){
        .name = copy, .val = val, .offset = p->size, .frozen = born_frozen(p, name)};
    initialise(val, init, rng_stream(p->seed, name, 0));
    p->size += (val.n + PAD - 1) / PAD * PAD;
    p->at[p->n++] = e;
    return e;
}

ag_node *ag_param(ag_graph *g, const char *name, tensor_shape shape, ag_init init) {
    if (!g) return NULL;
    if (g->failed) return &g->inert.node;
    if (!name || !*name) return ag_fail_graph(g, "a parameter needs a name");
    ag_params *p = g->params;
    ag_param_entry *e = ag_params_find(p, name);
    if (!e) {
        tensor val = {.shape = shape};
        if (p->closed) return ag_fail_graph(g, "no parameter is called '%s'", name);
        if (!tensor_count(shape, &val.n))
            return ag_fail_graph(g, "parameter '%s': bad shape", name);
        e = create(p, name, val, init);
        if (!e) return ag_fail_graph(g, "out of memory for parameter '%s'", name);
    }
    if (!tensor_same_shape(shape, e->val.shape)) {
        char had[TENSOR_SHAPE_TEXT], asked[TENSOR_SHAPE_TEXT];
        return ag_fail_graph(g, "parameter '%s' has shape %s and was asked for as %s", name,
                             tensor_shape_text(e->val.shape, had), tensor_shape_text(shape, asked));
    }
    for (int i = 0; i < g->leaves.n; i++)
        if (g->leaves.at[i]->param == e) return g->leaves.at[i];
    ag_node *leaf = ag_new_leaf(g, name, e->val, !e->frozen);
    leaf->param = leaf == &g->inert.node ? NULL : e;
    return leaf;
}
