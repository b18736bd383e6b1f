/* ledger_columns.c - what a ledger has columns for: parameters, ways, symbols. */
#include <stdio.h>
#include <string.h>

#include "train/probe/ledger_internal.h"
#include "train/probe/sites.h"

enum { MOST_SYMBOLS = 2048 };

static bool add(qkv_probe_ledger *l, qkv_probe_ledger_column c) {
    qkv_probe_ledger_column *at = tensor_arena_grow(l->arena, l->column, (size_t)l->n_columns, 1,
                                                    &l->column_room, sizeof *at);
    if (!at) return false;
    l->column = at;
    at[l->n_columns++] = c;
    return true;
}

static bool add_parameters(qkv_probe_ledger *l, char *error) {
    ag_params *p = qkv_trainer_params(l->t);
    l->n_parameters = ag_params_count(p);
    for (int i = 0; i < l->n_parameters; i++) {
        qkv_probe_ledger_column c = {.kind = QKV_PROBE_LEDGER_PARAMETER, .param = i};
        snprintf(c.name, sizeof c.name, "%s", ag_params_at(p, i)->name);
        if (!add(l, c)) return qkv_io_fail(error, "out of memory");
    }
    return true;
}

/* ---- ways ---- */

static bool read_by_others(ag_graph *g, const ag_node *node, const ag_node *reader) {
    for (int i = node->index + 1; i < ag_count(g); i++) {
        const ag_node *at = ag_at(g, i);
        for (int k = 0; k < at->n_in; k++)
            if (at->in[k] == node && at != reader) return true;
    }
    return false;
}

/* The names that --through could have. */
static void list_sites(const qkv_probe_site *site, int n, char out[160]) {
    size_t used = 0;
    *out = '\0';
    for (int i = 0; i < n && used < 120; i++)
        used += (size_t)snprintf(out + used, 160 - used, "%s%s", i ? ", " : "", site[i].name);
}

static bool find_sites(qkv_probe_ledger *l, const char *through, char *error) {
    int n;
    char names[160];
    const qkv_probe_site *site = qkv_probe_sites(l->t, l->w, l->arena, &n);
    if (ag_error(l->w->graph)) return qkv_trainer_fail(l->t, error);
    if (site && n == 0) return qkv_probe_no_sites(l->t, error);
    l->scores = tensor_arena_take(l->arena, (size_t)n, sizeof *l->scores);
    l->values = tensor_arena_take(l->arena, (size_t)n, sizeof *l->values);
    if (!site || !l->scores || !l->values) return qkv_io_fail(error, "out of memory");
    for (int i = 0; i < n; i++) {
        if (strcmp(through, "all") != 0 && strcmp(through, site[i].name) != 0) continue;
        ag_node *s = site[i].weights->in[0], *v = site[i].v;
        if (!s->op || !v->op || read_by_others(l->w->graph, s, site[i].weights) ||
            read_by_others(l->w->graph, v, site[i].mix))
            return qkv_io_fail(error,
                               "the scores and values of '%s' are read by other nodes, too: the "
                               "ways through it cannot be told apart",
                               site[i].name);
        l->scores[l->sites] = s;
        l->values[l->sites++] = v;
    }
    list_sites(site, n, names);
    return l->sites || qkv_io_fail(error, "there is no attention '%.60s'; there are: %s, or all",
                                   through, names);
}

/* Marks what the nodes are made from. */
static void mark_before(ag_graph *g, ag_node *const *node, int n, bool *mark) {
    for (int i = 0; i < n; i++) mark[node[i]->index] = true;
    for (int i = ag_count(g) - 1; i >= 0; i--) {
        const ag_node *at = ag_at(g, i);
        for (int k = 0; mark[i] && k < at->n_in; k++) mark[at->in[k]->index] = true;
    }
}

static bool add_ways_of(qkv_probe_ledger *l, const char *name, const char *mark, int param) {
    static const char *const ways[QKV_PROBE_WAYS] = {"scores", "values", "past", "both"};
    for (int i = 0; i < (l->passes == QKV_PROBE_PASSES ? QKV_PROBE_WAYS : QKV_PROBE_WAY_BOTH);
         i++) {
        qkv_probe_ledger_column c = {.kind = QKV_PROBE_LEDGER_WAY, .param = param, .way = i};
        snprintf(c.name, sizeof c.name, "%.90s%s%s", name, mark, ways[i]);
        if (!add(l, c)) return false;
    }
    return true;
}

/* Of all parameters, and of each from which both scores and values are made. */
static bool add_ways(qkv_probe_ledger *l, char *error) {
    ag_graph *g = l->w->graph;
    ag_params *p = qkv_trainer_params(l->t);
    const size_t n = (size_t)ag_count(g);
    bool *scores = tensor_arena_take(l->arena, n, sizeof *scores),
         *values = tensor_arena_take(l->arena, n, sizeof *values);
    l->passes = l->sites > 1 ? QKV_PROBE_PASSES : QKV_PROBE_PASS_NEITHER;
    bool ok = scores && values && add_ways_of(l, "way", ".", -1);
    if (ok) mark_before(g, l->scores, l->sites, scores);
    if (ok) mark_before(g, l->values, l->sites, values);
    for (int i = 0; ok && i < ag_count(g); i++) {
        const ag_node *at = ag_at(g, i);
        for (int k = 0; ok && at->param && scores[i] && values[i] && k < l->n_parameters; k++)
            if (ag_params_at(p, k) == at->param) ok = add_ways_of(l, at->param->name, ":", k);
    }
    return ok || qkv_io_fail(error, "out of memory");
}

/* ---- symbols ---- */

/* The stream whose table it is; NULL: positions, or the one before. */
static const data_stream *stream_of(const qkv_probe_ledger *l, const char *table) {
    static const char *const prefix[] = {[DATA_SEQUENCE] = "embed.", [DATA_MEMORY] = "memory."};
    const data_spec *s = qkv_trainer_spec(l->t);
    for (int side = 0; side < 2; side++) {
        const size_t n = strlen(prefix[side]);
        for (int i = 0; i < s->side[side].n_streams; i++)
            if (!strncmp(table, prefix[side], n) &&
                !strcmp(table + n, s->side[side].stream[i].name))
                return &s->side[side].stream[i];
    }
    return NULL;
}

static bool add_symbols(qkv_probe_ledger *l, const char *table, char *error) {
    ag_params *p = qkv_trainer_params(l->t);
    int param = 0;
    while (param < l->n_parameters && strcmp(ag_params_at(p, param)->name, table) != 0) param++;
    const bool embeds = !strncmp(table, "embed.", 6) || !strncmp(table, "memory.", 7);
    if (param == l->n_parameters || !embeds || ag_params_at(p, param)->val.shape.rank != 2)
        return qkv_io_fail(error, "there is no table of embeddings '%.60s'", table);
    const int *dim = ag_params_at(p, param)->val.shape.dim;
    const data_stream *stream = stream_of(l, table);
    if (dim[0] > MOST_SYMBOLS)
        return qkv_io_fail(error, "'%.60s' has %d rows, and at most %d get columns", table, dim[0],
                           MOST_SYMBOLS);
    for (int i = 0; i < dim[0]; i++) {
        char symbol[DATA_SYMBOL];
        qkv_probe_ledger_column c = {.kind = QKV_PROBE_LEDGER_SYMBOL,
                                     .param = param,
                                     .from = (size_t)i * (size_t)dim[1],
                                     .n = (size_t)dim[1]};
        if (stream)
            data_symbol(stream, i, symbol);
        else
            snprintf(symbol, sizeof symbol, "%d", i);
        snprintf(c.name, sizeof c.name, "%.60s[%.40s]", table, symbol);
        if (!add(l, c)) return qkv_io_fail(error, "out of memory");
    }
    return true;
}

bool qkv_probe_ledger_find_columns(qkv_probe_ledger *l, const qkv_probe_ledger_options *o,
                                   char *error) {
    if (ag_error(l->w->graph)) return qkv_trainer_fail(l->t, error);
    if (!add_parameters(l, error)) return false;
    if (o->through && (!find_sites(l, o->through, error) || !add_ways(l, error))) return false;
    const int before = l->n_columns;
    if (o->symbols && !add_symbols(l, o->symbols, error)) return false;
    l->n_raw = l->passes * l->n_parameters + l->n_columns - before;
    return true;
}

/* ---- numbers ---- */

static double product(const double *x, const double *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

void qkv_probe_ledger_dots(const qkv_probe_ledger *l, const double *gradient, double *out) {
    ag_params *p = qkv_trainer_params(l->t);
    for (int pass = 0; pass < l->passes; pass++)
        for (int i = 0; i < l->n_parameters; i++) {
            const ag_param_entry *e = ag_params_at(p, i);
            *out++ = product(gradient + (size_t)pass * l->size + e->offset, l->step + e->offset,
                             e->val.n);
        }
    for (int i = l->n_parameters; i < l->n_columns; i++) {
        const qkv_probe_ledger_column *c = &l->column[i];
        if (c->kind != QKV_PROBE_LEDGER_SYMBOL) continue;
        const size_t at = ag_params_at(p, c->param)->offset + c->from;
        *out++ = product(gradient + at, l->step + at, c->n);
    }
}

/* What came by one way, from what comes in each pass. */
static double by_way(const qkv_probe_ledger *l, const double *pass, int way) {
    const double whole = pass[QKV_PROBE_PASS_WHOLE], no_scores = pass[QKV_PROBE_PASS_NO_SCORES],
                 no_values = pass[QKV_PROBE_PASS_NO_VALUES];
    // through one attention no path goes both ways
    const double neither =
        l->sites > 1 ? pass[QKV_PROBE_PASS_NEITHER] : no_scores + no_values - whole;
    switch (way) {
        case QKV_PROBE_WAY_SCORES: return no_values - neither;
        case QKV_PROBE_WAY_VALUES: return no_scores - neither;
        case QKV_PROBE_WAY_PAST: return neither;
        default: return whole - no_scores - no_values + neither;
    }
}

void qkv_probe_ledger_parts(const qkv_probe_ledger *l, const double *raw, double *part) {
    const double *symbol = raw + (size_t)l->passes * (size_t)l->n_parameters;
    for (int i = 0; i < l->n_columns; i++) {
        const qkv_probe_ledger_column *c = &l->column[i];
        double pass[QKV_PROBE_PASSES] = {0};
        for (int k = 0; k < l->passes && c->kind == QKV_PROBE_LEDGER_WAY; k++)
            for (int j = 0; j < l->n_parameters; j++)
                if (c->param < 0 || c->param == j) pass[k] += raw[k * l->n_parameters + j];
        part[i] = c->kind == QKV_PROBE_LEDGER_PARAMETER ? raw[i]
                  : c->kind == QKV_PROBE_LEDGER_SYMBOL  ? *symbol++
                                                        : by_way(l, pass, c->way);
    }
}
