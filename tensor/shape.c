/* shape.c - shapes and their sizes. */
#include "tensor/shape.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

tensor_shape tensor_dims(int rank, ...) {
    tensor_shape s = {.rank = rank};
    if (rank < 0 || rank > TENSOR_MAXRANK) {
        s.rank = -1;
        return s;
    }
    va_list args;
    va_start(args, rank);
    for (int i = 0; i < rank; i++) s.dim[i] = va_arg(args, int);
    va_end(args);
    for (int i = 0; i < rank; i++)
        if (s.dim[i] < 0) s.rank = -1;
    return s;
}

bool tensor_count(tensor_shape s, size_t *n) {
    if (s.rank < 0 || s.rank > TENSOR_MAXRANK) return false;
    size_t product = 1;
    bool empty = false;
    for (int i = 0; i < s.rank; i++) {
        if (s.dim[i] < 0) return false;
        if (s.dim[i] == 0) {
            empty = true;
            continue;
        }
        if (product > SIZE_MAX / sizeof(double) / (size_t)s.dim[i]) return false;
        product *= (size_t)s.dim[i];
    }
    *n = empty ? 0 : product;
    return true;
}

bool tensor_same_shape(tensor_shape a, tensor_shape b) {
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; i++)
        if (a.dim[i] != b.dim[i]) return false;
    return true;
}

int tensor_width(tensor_shape s) { return s.rank > 0 ? s.dim[s.rank - 1] : 1; }

size_t tensor_rows(tensor_shape s) {
    size_t rows = 1;
    for (int i = 0; i + 1 < s.rank; i++) rows *= (size_t)s.dim[i];
    return rows;
}

bool tensor_broadcast(tensor_shape a, tensor_shape b, tensor_shape *out) {
    size_t n;
    int rank = a.rank > b.rank ? a.rank : b.rank;
    *out = (tensor_shape){.rank = rank};
    if (!tensor_count(a, &n) || !tensor_count(b, &n)) return false;
    for (int i = 1; i <= rank; i++) {
        int da = i <= a.rank ? a.dim[a.rank - i] : 1;
        int db = i <= b.rank ? b.dim[b.rank - i] : 1;
        if (da != db && da != 1 && db != 1) return false;
        out->dim[rank - i] = da == 1 ? db : da;
    }
    return true;
}

char *tensor_shape_text(tensor_shape s, char text[TENSOR_SHAPE_TEXT]) {
    size_t at = 0;
    text[at++] = '[';
    for (int i = 0; i < s.rank && at < TENSOR_SHAPE_TEXT - 2; i++) {
        const char *comma = i > 0 ? "," : "";
        int len = snprintf(text + at, TENSOR_SHAPE_TEXT - at, "%s%d", comma, s.dim[i]);
        at += (size_t)len;
    }
    snprintf(text + at, TENSOR_SHAPE_TEXT - at, "]");
    return text;
}
