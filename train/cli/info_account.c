/* info_account.c - the account in words: 4 d^2 against 8 d^2, and what this model makes of it. */
#include <stdio.h>

#include "train/cli/cli.h"
#include "train/cli/info.h"

static void print_sublayer(const char *title, const qkv_probe_account_sublayer *s, double squares,
                           int d) {
    printf("\n  One %s (the model has %d)\n", title, s->copies);
    for (int i = 0; i < s->n_rows; i++) {
        const qkv_probe_account_row *r = &s->row[i];
        char here[40] = "";
        if (r->rows) snprintf(here, sizeof here, "%d x %d", r->rows, r->cols);
        printf("    %-14s %-22s %-14s %10zu\n", r->name, r->formula, here, r->n);
    }
    cli_print("    %-52s %10zu = %.2f d^2\n", "all of it", s->n, (double)s->n / d / d);
    cli_print("    %-52s %10.0f = %.2f d^2\n",
              squares < 8 ? "the usual one: 4 d^2" : "the usual one, F = 4 d: 8 d^2",
              squares * d * d, squares);
}

static void print_parts(const qkv_probe_account *a, bool tied) {
    printf("\n  The whole model\n");
    for (int i = 0; i < QKV_PROBE_PARTS; i++)
        if (a->part[i])
            cli_print("    %-52s %10zu   %5.1f %%\n", qkv_probe_part_names[i], a->part[i],
                      100 * (double)a->part[i] / (double)a->total);
    if (tied) printf("    %-52s %10d\n", "unembeddings: the embeddings' own tables", 0);
    printf("    %-52s %10zu\n", "all parameters", a->total);
}

static void print_work(const qkv_probe_account *a, bool memory) {
    static const char *const formulas[QKV_PROBE_WORKS] = {"2 for each parameter",
                                                          "2 H d_k for each position seen",
                                                          "2 H d_v for each position seen",
                                                          "2 for each parameter",
                                                          "2 for each parameter, where scored",
                                                          ""};
    printf("\n  FLOPs of one token%s, forward\n", memory ? " and its share of the memory" : "");
    for (int i = 0; i < QKV_PROBE_WORKS; i++)
        if (a->work[i] > 0)
            cli_print("    %-12s %-39s %10.0f   %5.1f %%\n", qkv_probe_work_names[i], formulas[i],
                      a->work[i], 100 * a->work[i] / a->flops);
    cli_print("    %-52s %10.0f\n", "all products (* and + are two; training: times 3)", a->flops);
}

static void print_cache(const qkv_probe_account *a) {
    printf("\n  Numbers to keep of one token, for others to attend to it\n");
    if (a->cache_layer < 0) {
        printf("    unknown: the block is a plugin's\n");
        return;
    }
    printf("    %-52s %10d\n", a->cache_formula, a->cache_layer);
    if (a->cache_sequence)
        printf("    %-52s %10d\n", "of a token of the sequence, in all layers", a->cache_sequence);
    if (a->cache_memory)
        printf("    %-52s %10d\n", "of a token of the memory, in all layers", a->cache_memory);
}

void info_print_account(const info *i) {
    const qkv_probe_account *a = &i->account;
    const qkv_config *c = qkv_trainer_config(i->t);
    printf("\nThe account: d = %d, H = %d heads, G = %d of keys and values, d_k = %d, d_v = %d",
           c->d_model, c->heads, c->kv_heads, c->d_k, c->d_v);
    printf(c->d_ff ? ",\nF = %d\n" : "\n", c->d_ff);
    if (a->attention.n_rows) print_sublayer("attention", &a->attention, 4, c->d_model);
    if (a->feed_forward.n_rows)
        print_sublayer("feed-forward", &a->feed_forward, 8, c->d_model);
    else if (a->attention.n_rows)
        cli_print("\n  No feed-forward (--d-ff 0); the usual one, F = 4 d, has 8 d^2 = %.0f\n",
                  8.0 * c->d_model * c->d_model);
    print_parts(a, c->tie_unembedding);
    print_work(a, qkv_trainer_spec(i->t)->side[DATA_MEMORY].T > 0);
    print_cache(a);
}
