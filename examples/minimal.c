/* minimal.c - attention learns to look up: four keys with a value each, then one of the keys again. */
#include <math.h>
#include <stdio.h>
#include "qkv.h"

enum { B = 64, N = 4, T = N + 1, D = 24, SYMBOLS = 12, STEPS = 100 };  // B examples of T positions
int main(void) {
    static int key[B * T], value[B * T], target[B * T], scratch[SYMBOLS];  // [B,T]
    tensor_arena *memory = tensor_arena_new(NULL);
    ag_params *params = ag_params_new(NULL, 1);  // seed 1
    ag_graph *g = ag_graph_new(params);
    const ag_mask all = {0};  // everyone sees everyone
    const nn_init init = {.gain = 1};
    const ag_init start = {.kind = AG_NORMAL, .scale = 0.3};
    ag_node *table[] = {ag_param(g, "key", tensor_dims(2, SYMBOLS, D), start),
                        ag_param(g, "value", tensor_dims(2, SYMBOLS + 1, D), start)};
    ag_node *x = ag_embedding(2, table, (const int *[]){key, value}, tensor_dims(2, B, T));
    ag_node *q = nn_linear(x, "q", D, &init), *k = nn_linear(x, "k", D, &init);
    ag_node *weights = ag_softmax(ag_scores(q, k, 1, 1 / sqrt(D), all), all);  // [B,1,T,T]
    ag_node *found = nn_linear(ag_mix(weights, nn_linear(x, "v", D, &init), 1, all), "o", D, &init);
    ag_node *loss = ag_cross_entropy(nn_linear(found, "out", SYMBOLS, &init), target, NULL);
    qkv_optim adam;
    if (ag_error(g) || !qkv_optim_init(&adam, memory, params, qkv_optim_adam(0.01))) return 1;
    for (int step = 0; step <= STEPS; step++) {  // what was recorded is replayed, on new examples
        rng r = rng_stream(1, "examples", (uint64_t)step);
        for (int b = 0, *at = key; b < B; b++, at += T) {
            int asked = (int)rng_below(&r, N), *v = value + b * T, *answer = target + b * T;
            rng_choose(&r, SYMBOLS, N, at, scratch);
            for (int t = 0; t < N; t++) v[t] = (int)rng_below(&r, SYMBOLS), answer[t] = -1;
            at[N] = at[asked], v[N] = SYMBOLS, answer[N] = v[asked];  // the last symbol is "?"
        }
        ag_forward(g);
        if (step % 25 == 0) printf("step %3d  loss %.2f\n", step, (double)loss->val.x[0]);
        ag_backward(loss, NULL);
        qkv_optim_step(&adam, g);
    }
    for (int t = 0; t < T; t++)
        printf("%4.2f at key %d\n", (double)weights->val.x[N * T + t], key[t]);
    ag_graph_free(g), ag_params_free(params), tensor_arena_free(memory);
}
