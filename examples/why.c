/* why.c - what one number of attention is made of, and what its gradient is made of. */
#include <math.h>
#include <stdio.h>
#include "qkv.h"

static void print_terms(const char *what, const ag_reasons *r) {
    printf("%s %.4f, of which\n", what, r->value);
    for (size_t i = 0; i < r->n && i < 3; i++)
        printf("  %8.4f = %8.4f x %8.4f  %s[%zu]\n", r->term[i].part, r->term[i].value,
               r->term[i].slope, r->term[i].node->name, r->term[i].at);
}

int main(void) {
    tensor_arena *memory = tensor_arena_new(NULL);
    ag_params *params = ag_params_new(NULL, 1);  // seed 1
    ag_graph *g = ag_graph_new(params);
    const ag_mask all = {0};
    const nn_init init = {.gain = 1};
    ag_reasons why;
    ag_node *x = ag_input(g, "x", tensor_dims(3, 1, 2, 4));  // [B,T,D]: two positions, width four
    for (int i = 0; i < 8; i++) x->val.x[i] = (real)(i % 3 - 1);
    ag_node *q = ag_name(nn_linear(x, "q", 4, &init), "q"), *k = nn_linear(x, "k", 4, &init);
    ag_node *scores = ag_name(ag_scores(q, k, 1, 1 / sqrt(4), all), "scores");
    ag_node *y = ag_mix(ag_softmax(scores, all), nn_linear(x, "v", 4, &init), 1, all);
    ag_backward(ag_sum(ag_mul(y, y), 0, NULL), NULL);
    if (ag_why(scores, 1, memory, &why)) print_terms("the score of query 0 and key 1 is", &why);
    if (ag_why_grad(q, 2, memory, &why)) print_terms("the gradient of q[2] is", &why);
    if (ag_why_path(q, 2, memory, &why)) print_terms("the way up from there begins at", &why);
    if (ag_error(g)) printf("%s\n", ag_error(g));
    ag_graph_free(g), ag_params_free(params), tensor_arena_free(memory);
}
