/* train.c - all of learning on one page: attention learns to look things up.
 *
 *     cc train.c $(pkg-config --cflags --libs qkv) -o train && ./train
 *
 * An example of the task `pairs` is eight pairs (key, value) and a question, one of the keys:
 *
 *     position   0    1    ...   7     8
 *     key        k6   k21        k3    k21
 *     value      v9   v2         v30   ?      -> v2
 *
 * Letters: B examples side by side, T positions, D numbers a position. */
#include <math.h>
#include <stdio.h>

#include "autograd/ag.h"
#include "data/data.h"
#include "layers/nn.h"
#include "train/optim/optimizer.h"

enum { B = 64, D = 32, STEPS = 300, SEED = 1, KEY = 0, VALUE = 1 };

/* Records the model, from ids to logits [B,T,values]. Each line runs at once, on the examples that
 * the batch holds now, and is kept to be run again. */
static ag_node *record(ag_graph *g, const data_batch *batch) {
    const data_side *row = &batch->spec->side[DATA_SEQUENCE];
    int *const *streams = batch->rows.ids[DATA_SEQUENCE];
    const int *ids[] = {streams[KEY], streams[VALUE]};  // [B,T] each
    const ag_init start = {.kind = AG_NORMAL, .scale = 0.3};
    const ag_mask past = {.causal = true};  // a position sees itself and those before it
    const nn_init init = {.gain = 1};

    // What a position is: its key's vector plus its value's.
    int keys = row->stream[KEY].vocab, values = row->stream[VALUE].vocab;
    ag_node *key = ag_param(g, "embed.key", tensor_dims(2, keys, D), start);
    ag_node *value = ag_param(g, "embed.value", tensor_dims(2, values, D), start);
    ag_node *tables[] = {key, value};
    ag_node *x = ag_embedding(2, tables, ids, tensor_dims(2, B, row->T));  // [B,T,D]

    // Where to look: every position's query meets the keys of the past.
    ag_node *q = nn_linear(x, "q", D, &init), *k = nn_linear(x, "k", D, &init);
    ag_node *scores = ag_scores(q, k, 1, 1 / sqrt(D), past);  // [B,1,T,T], one head
    ag_node *weights = ag_name(ag_softmax(scores, past), "weights");

    // What to fetch there: a weighted mean of values, added to what the position knew.
    ag_node *v = nn_linear(x, "v", D, &init);
    ag_node *fetched = nn_linear(ag_mix(weights, v, 1, past), "o", D, &init);
    return nn_linear(ag_add(x, fetched), "unembed", batch->spec->readout[0].classes, &init);
}

/* The fraction of questions whose greatest logit is the right answer's. */
static double accuracy(const ag_node *logits, const int *target) {
    int right = 0, asked = 0, V = tensor_width(logits->val.shape);
    for (size_t row = 0; row < tensor_rows(logits->val.shape); row++) {
        if (target[row] < 0) continue;  // nothing is asked at this position
        const real *z = logits->val.x + row * (size_t)V;
        int best = 0;
        for (int c = 1; c < V; c++)
            if (z[c] > z[best]) best = c;
        right += best == target[row];
        asked++;
    }
    return (double)right / asked;
}

/* Where the question of the first example looks. */
static void show_attention(ag_graph *g, const data_batch *batch) {
    const data_side *row = &batch->spec->side[DATA_SEQUENCE];
    int asked = row->T - 1;
    const real *w = ag_find(g, "weights")->val.x + asked * row->T;  // [B,1,T,T]: the last query
    char name[DATA_SYMBOL];
    const int *key = batch->rows.ids[DATA_SEQUENCE][KEY];
    printf("\n%s is asked; it looks at ", data_symbol(&row->stream[KEY], key[asked], name));
    for (int s = 0; s < asked; s++)
        printf(" %s %.2f", data_symbol(&row->stream[KEY], key[s], name), (double)w[s]);
    printf("\n");
}

int main(void) {
    char why[256];
    data_spec task;
    data_batch batch;
    tensor_arena *memory = tensor_arena_new(NULL);
    ag_params *params = ag_params_new(NULL, SEED);
    ag_graph *g = params ? ag_graph_new(params) : NULL;
    if (!data_configure(&data_task_pairs, NULL, &task, why, sizeof why)) return puts(why), 1;
    if (!g || !memory || !data_batch_new(memory, &task, B, &batch)) return puts("no memory"), 1;

    data_fill(&batch, SEED, "train", 0, B);
    const int *target = batch.rows.target[0];  // [B,T]: the answer; -1 where nothing is asked
    ag_node *logits = record(g, &batch);
    ag_node *loss = ag_cross_entropy(logits, target, NULL);  // mean of -log p(answer)
    if (ag_error(g)) return puts(ag_error(g)), 1;
    qkv_optim adam;  // remembers each gradient's mean and mean square
    if (!qkv_optim_init(&adam, memory, params, qkv_optim_adam(0.003))) return puts("no memory"), 1;

    for (int step = 0; step <= STEPS; step++) {
        if (step % 50 == 0) {  // a look at examples that training never sees
            data_fill(&batch, SEED, "valid", 0, B);
            ag_forward(g);
            printf("step %3d   loss %.3f   accuracy %5.1f %%\n", step, (double)loss->val.x[0],
                   100 * accuracy(logits, target));
        }
        // New ids, where the graph reads them; the recorded lines in order; and in reverse, which
        // gives d loss / d each parameter.
        data_fill(&batch, SEED, "train", (uint64_t)step * B, B);
        ag_forward(g);
        ag_backward(loss, NULL);
        qkv_optim_step(&adam, g);
    }

    data_fill(&batch, SEED, "valid", 0, B);
    ag_forward(g);
    show_attention(g, &batch);
    if (ag_error(g)) return puts(ag_error(g)), 1;
    ag_graph_free(g);
    ag_params_free(params);
    tensor_arena_free(memory);
    return 0;
}
