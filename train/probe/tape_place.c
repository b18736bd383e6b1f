/* tape_place.c - nodes and numbers of a tape by the way they are written. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/number.h"
#include "train/probe/tape.h"

const char *qkv_probe_tape_formula(const ag_node *node) {
#define AG_OP(name, arguments, shapes, formula) {&ag_op_##name, formula},
    static const struct {
        const ag_op *op;
        const char *formula;
    } formulas[] = {
#include "autograd/ops.def"
    };
#undef AG_OP
    for (size_t i = 0; node && node->op && i < sizeof formulas / sizeof *formulas; i++)
        if (formulas[i].op == node->op) return formulas[i].formula;
    return "";
}

double qkv_probe_tape_size(const real *x, size_t n) {
    double squares = 0;
    for (size_t i = 0; x && i < n; i++) squares += (double)x[i] * (double)x[i];
    return x && n ? sqrt(squares / (double)n) : 0;
}

int qkv_probe_tape_first(const ag_node *node) {
    return node->op && node->val.shape.rank > 2 && node->val.shape.dim[0] == 1;
}

/* The indices of a place. */
static void indices(const ag_node *node, size_t at, int index[TENSOR_MAXRANK]) {
    for (int d = node->val.shape.rank - 1; d >= 0; d--) {
        const size_t n = (size_t)node->val.shape.dim[d];
        index[d] = n ? (int)(at % n) : 0;
        at = n ? at / n : 0;
    }
}

char *qkv_probe_tape_place(const ag_node *node, size_t at, char *out, size_t size) {
    int index[TENSOR_MAXRANK];
    indices(node, at, index);
    size_t n = (size_t)snprintf(out, size, "%s", node->name);
    for (int d = qkv_probe_tape_first(node); d < node->val.shape.rank && n < size; d++)
        n += (size_t)snprintf(out + n, size - n, "%s%d%s",
                              d == qkv_probe_tape_first(node) ? "[" : ",", index[d],
                              d == node->val.shape.rank - 1 ? "]" : "");
    return out;
}

char *qkv_probe_tape_words(const qkv_probe_tape *tape, const ag_node *node, size_t at, char *out,
                           size_t size) {
    int index[TENSOR_MAXRANK];
    char one[96];
    size_t n = 0;
    *out = '\0';
    indices(node, at, index);
    for (int d = qkv_probe_tape_first(node); d < node->val.shape.rank && n < size; d++)
        if (*qkv_probe_tape_label(tape, node, d, index[d], one, sizeof one))
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", one);
    return out;
}

static ag_node *no_node(const qkv_probe_tape *tape, const char *name, char *error) {
    char shown[80];
    const size_t length = strlen(name);
    for (int i = 0; i < ag_count(tape->w->graph); i++) {  // "q" for "layer0.attn.q"
        const char *known = ag_at(tape->w->graph, i)->name;
        const size_t n = strlen(known);
        if (length > 0 && n > length && known[n - length - 1] == '.' &&
            strcmp(known + n - length, name) == 0)
            return qkv_io_fail(error, "no node is called '%s'; did you mean '%s'?",
                               qkv_io_printable(name, shown, sizeof shown), known),
                   NULL;
    }
    qkv_io_fail(error, "no node is called '%s' (qkv tape RUN lists them)",
                qkv_io_printable(name, shown, sizeof shown));
    return NULL;
}

/* "[i,j]" of a node; leading dimensions of one may be left out. */
static bool take_place(const ag_node *node, const char *text, size_t *at, char *error) {
    const tensor_shape s = node->val.shape;
    char shape[TENSOR_SHAPE_TEXT], shown[60], *end;
    long index[TENSOR_MAXRANK];
    int n = 0, given = 0;
    const char *c = text;
    for (; given < TENSOR_MAXRANK && (*c == '[' || *c == ','); c = end, given++) {
        index[given] = strtol(c + 1, &end, 10);
        if (end == c + 1 || !isdigit((unsigned char)c[1])) break;
    }
    bool fits = strcmp(c, "]") == 0 && given <= s.rank;
    for (int d = 0; fits && d < s.rank - given; d++) fits = s.dim[d] == 1;
    for (n = s.rank - given, *at = 0; fits && n < s.rank; n++) {
        fits = index[n - s.rank + given] < s.dim[n];
        *at = *at * (size_t)s.dim[n] + (size_t)(fits ? index[n - s.rank + given] : 0);
    }
    if (fits || (s.rank == 0 && (!*text || strcmp(text, "[]") == 0))) return true;
    return qkv_io_fail(error, "'%s' is no place of '%s', whose shape is %s: say '%s[0%s]'",
                       qkv_io_printable(text, shown, sizeof shown), node->name,
                       tensor_shape_text(s, shape), node->name,
                       s.rank - qkv_probe_tape_first(node) > 2   ? ",0,0"
                       : s.rank - qkv_probe_tape_first(node) > 1 ? ",0"
                                                                 : "");
}

ag_node *qkv_probe_tape_find(const qkv_probe_tape *tape, const char *text, size_t *at,
                             char *error) {
    if (!QKV_IO_GIVEN(error, tape, text)) return NULL;
    char name[256];
    const char *bracket = at ? strrchr(text, '[') : NULL;
    const size_t n = bracket ? (size_t)(bracket - text) : strlen(text);
    snprintf(name, sizeof name, "%.*s", (int)(n < 255 ? n : 255), text);
    long index;
    const bool by_number = *name == '#' && qkv_io_parse_int(name + 1, &index) && index < 1 << 30;
    ag_node *node = by_number ? ag_at(tape->w->graph, (int)index) : ag_find(tape->w->graph, name);
    if (!node) return no_node(tape, name, error);
    return !at || take_place(node, bracket ? bracket : "", at, error) ? node : NULL;
}
