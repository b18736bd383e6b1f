/* write.c - graphs as JSON on stdout, and the numbers that follow. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/referee/builder.h"

void die(const char *why) {
    fprintf(stderr, "graphs: %s\n", why);
    exit(1);
}

void write_ints(const char *key, int n, const int *x) {
    printf(",\"%s\":[", key);
    for (int i = 0; i < n; i++) printf(i ? ",%d" : "%d", x[i]);
    putchar(']');
}

void write_node(const ag_node *x) {
    printf("%s{\"op\":\"%s\"", x->index ? "," : "", x->op ? x->op->name : "leaf");
    write_ints("shape", x->val.shape.rank, x->val.shape.dim);
    if (!x->op) printf(",\"wants\":%d", x->wants_grad);
    if (x->op) {
        printf(",\"in\":[");
        for (int i = 0; i < x->n_in; i++) printf(i ? ",%d" : "%d", x->in[i]->index);
        putchar(']');
    }
    printf(x->op && x->op->arguments ? ",%s}" : "}",
           x->op && x->op->arguments ? x->op->arguments(x) : "");
}

void write_numbers(size_t n, const real *x) {
    if (fwrite(x, sizeof *x, n, stdout) != n) die("cannot write");
}
