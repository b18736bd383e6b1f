/* bench_gemm.c - qkv bench --gemm: matrix products of the sizes that training has, as they lie there:
 * A B in a forward pass, A B^T for the gradient of the input, A^T B for that of the weights. */
#include <stdio.h>
#include <stdlib.h>

#include "tensor/gemm.h"
#include "train/cli/bench.h"
#include "train/cli/cli.h"
#include "train/cli/json.h"
#include "train/cli/progress.h"

static const struct {
    const char *name;
    int m, n, k;
} shapes[] = {{"16", 16, 16, 16},
              {"32", 32, 32, 32},
              {"64", 64, 64, 64},
              {"128", 128, 128, 128},
              {"256", 256, 256, 256},
              {"512", 512, 512, 512},
              {"1024", 1024, 1024, 1024},
              {"tiny q, k, v, o", 128, 32, 32},
              {"tiny up", 128, 128, 32},
              {"tiny down", 128, 32, 128},
              {"small q, k, v, o", 128, 64, 64},
              {"small up", 128, 256, 64},
              {"small down", 128, 64, 256},
              {"medium q, k, v, o", 128, 128, 128},
              {"medium up", 128, 512, 128},
              {"medium down", 128, 128, 512},
              {"large q, k, v, o", 512, 512, 512},
              {"large up", 512, 2048, 512},
              {"large down", 512, 512, 2048}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* y [m,n] = x [m,k] w [k,n], and its two gradients. */
typedef struct {
    int m, n, k;
    const real *x, *w;
    real *y;
} product;

static void forward(void *ctx) {  // y = x w
    const product *p = ctx;
    gemm_mul(GEMM_SET, p->m, p->n, p->k, (gemm_view){p->x, p->k, 1}, (gemm_view){p->w, p->n, 1},
             p->y, p->n);
}
static void input(void *ctx) {  // dx [m,k] = dy [m,n] w^T
    const product *p = ctx;
    gemm_mul(GEMM_SET, p->m, p->k, p->n, (gemm_view){p->x, p->n, 1}, (gemm_view){p->w, 1, p->n},
             p->y, p->k);
}
static void weights(void *ctx) {  // dw [k,n] += x^T dy [m,n]
    const product *p = ctx;
    gemm_mul(GEMM_ADD, p->k, p->n, p->m, (gemm_view){p->x, 1, p->k}, (gemm_view){p->w, p->n, 1},
             p->y, p->n);
}

static const struct {
    const char *name;
    void (*run)(void *);
} forms[] = {{"A B", forward}, {"A B^T", input}, {"A^T B", weights}};

int bench_gemm(double seconds, bool json) {
    enum { MOST = 2048 * 1024 };                               // of any matrix above
    real *block = aligned_alloc(64, 3 * MOST * sizeof(real));  // as a graph's arena is
    if (!block) return cli_error(CLI_FAILED, "bench", "out of memory");
    for (int i = 0; i < 3 * MOST; i++) block[i] = (real)(i % 17 - 8) / 16;
    bench_peak peak = bench_measure_peak();
    cli_progress_end();
    if (!json) {
        cli_print(
            "peak of one core: %.0f GFLOP/s; y [m,n] = x [m,k] w [k,n] and its gradients, in "
            "GFLOP/s\n\n",
            peak.flops / 1e9);
        printf("%-18s %5s %5s %5s %16s %16s %16s\n", "", "m", "n", "k", "y = A B", "dx = A B^T",
               "dw = A^T B");
    }
    for (int s = 0; s < N_SHAPES; s++) {
        product p = {shapes[s].m, shapes[s].n, shapes[s].k, block, block + MOST, block + 2 * MOST};
        double flops = 2.0 * p.m * p.n * p.k;
        if (!json) printf("%-18s %5d %5d %5d", shapes[s].name, p.m, p.n, p.k);
        for (int f = 0; f < 3; f++) {
            double rate = flops / bench_time(forms[f].run, &p, seconds / (3 * N_SHAPES));
            if (json)
                cli_print_json(json_pack("{s:s,s:i,s:i,s:i,s:s,s:o,s:o}", "shape", shapes[s].name,
                                         "m", p.m, "n", p.n, "k", p.k, "form", forms[f].name,
                                         "gflops", cli_json_number(rate / 1e9), "of_peak",
                                         cli_json_number(rate / peak.flops)));
            else
                cli_print("      %5.0f %3.0f%%", rate / 1e9, 100 * rate / peak.flops);
        }
        if (!json) printf("\n");
    }
    free(block);
    return CLI_OK;
}
