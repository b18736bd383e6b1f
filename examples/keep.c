/* keep.c - parameters in a file: the first run trains and saves them, later ones load them and print the
 * same numbers.
 *
 *     cc keep.c $(pkg-config --cflags --libs qkv) -o keep && ./keep && ./keep
 *
 * Python reads the file, too: safetensors.numpy.load_file("keep.safetensors"). */
#include <stdio.h>
#include "qkv.h"

enum { N = 4, F = 8, STEPS = 300 };
static const real CASES[N][2] = {{-1, -1}, {-1, 1}, {1, -1}, {1, 1}};

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "keep.safetensors";
    char error[QKV_IO_ERROR];
    tensor_arena *memory = tensor_arena_new(NULL);
    ag_params *params = ag_params_new(NULL, 1);  // seed 1
    ag_graph *g = ag_graph_new(params);
    ag_node *x = ag_input(g, "x", tensor_dims(2, N, 2)),
            *want = ag_input(g, "want", tensor_dims(2, N, 1));
    if (ag_error(g)) return fprintf(stderr, "%s\n", ag_error(g)), 1;
    for (int i = 0; i < N; i++) {
        x->val.x[2 * i] = CASES[i][0], x->val.x[2 * i + 1] = CASES[i][1];
        want->val.x[i] = CASES[i][0] * CASES[i][1];  // to be learned: the product
    }
    const nn_init init = {.gain = 1, .bias = true};
    ag_node *hidden = ag_tanh(nn_linear(x, "hidden", F, &init)),
            *y = nn_linear(hidden, "out", 1, &init);
    ag_node *loss = ag_squared_error(y, want, NULL);

    // All parameters are recorded: now they can be loaded.
    qkv_io_status status = qkv_io_params_load(&qkv_io_posix, NULL, path, params, error);
    if (status == QKV_IO_ABSENT) {
        qkv_optim adam;
        if (!qkv_optim_init(&adam, memory, params, qkv_optim_adam(0.05))) return 1;
        for (int step = 0; step < STEPS; step++)
            ag_forward(g), ag_backward(loss, NULL), qkv_optim_step(&adam, g);
        if (!qkv_io_params_save(&qkv_io_posix, NULL, path, params, error))
            return fprintf(stderr, "%s\n", error), 1;
    } else if (status != QKV_IO_OK) {
        return fprintf(stderr, "%s\n", error), 1;
    }
    ag_forward(g);
    if (ag_error(g)) return fprintf(stderr, "%s\n", ag_error(g)), 1;
    fprintf(stderr, "%s %s\n", status == QKV_IO_OK ? "loaded from" : "trained, saved to", path);
    for (int i = 0; i < N; i++)
        printf("%2g x %2g = %.6f\n", (double)CASES[i][0], (double)CASES[i][1], (double)y->val.x[i]);
    ag_graph_free(g), ag_params_free(params), tensor_arena_free(memory);
}
