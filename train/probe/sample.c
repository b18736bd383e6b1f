/* sample.c - going on with a text: a window of tokens, of which only the new ones are computed. */
#include "train/probe/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/flush.h"
#include "train/probe/look.h"

struct qkv_probe_sampler {
    tensor_arena *arena;  // holds this, too
    qkv_trainer *t;
    ag_graph *graph;
    nn_past *past;  // NULL: nothing is kept
    nn_model_config model;
    int T, V;
    int n, kept;  // tokens in the window, and how many of them are in the past
    int *window;  // [T]
};

static bool goes_on(const nn_model_config *m) {
    return m->attention.mask.causal && (!m->block || m->block == nn_block);
}

static bool init(qkv_probe_sampler *s, bool keep, char *error) {
    const data_spec *spec = qkv_trainer_spec(s->t);
    s->T = spec->side[DATA_SEQUENCE].T;
    s->V = spec->readout[0].classes;
    s->model = qkv_config_model(qkv_trainer_config(s->t), spec);
    s->window = tensor_arena_take(s->arena, (size_t)s->T, sizeof *s->window);
    s->graph = ag_graph_new(qkv_trainer_params(s->t));
    if (keep && goes_on(&s->model)) s->past = nn_past_new(NULL, s->T);
    s->model.attention.past = s->past;
    const bool room = s->window && s->graph && (s->past || !keep || !goes_on(&s->model));
    return room || qkv_io_fail(error, "out of memory");
}

qkv_probe_sampler *qkv_probe_sampler_new(qkv_trainer *t, bool keep, char *error) {
    const data_spec *spec = qkv_trainer_spec(t);
    if (!data_text_of(spec)) {
        qkv_io_fail(error, "the task '%s' is no text that one could go on with: --task text",
                    spec->task->name);
        return NULL;
    }
    if (qkv_trainer_config(t)->readout == NN_READOUT_VECTOR) {
        qkv_io_fail(error, "the answer is a vector, not a token");
        return NULL;
    }
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_probe_sampler *s = arena ? tensor_arena_take(arena, 1, sizeof *s) : NULL;
    if (!s) {
        tensor_arena_free(arena);
        qkv_io_fail(error, "out of memory");
        return NULL;
    }
    *s = (qkv_probe_sampler){.arena = arena, .t = t};
    if (init(s, keep, error)) return s;
    qkv_probe_sampler_free(s);
    return NULL;
}

void qkv_probe_sampler_free(qkv_probe_sampler *s) {
    if (!s) return;
    nn_past_free(s->past);
    ag_graph_free(s->graph);
    tensor_arena_free(s->arena);
}

/* Puts tokens into the window; where it is full, its last half stays, or less. */
static void add(qkv_probe_sampler *s, const int *ids, int n) {
    if (n > s->T) ids += n - s->T, n = s->T;
    if (s->n + n > s->T) {
        const int half = s->T / 2, stay = half < s->T - n ? half : s->T - n;
        memmove(s->window, s->window + s->n - stay, (size_t)stay * sizeof *ids);
        s->n = stay;
        s->kept = 0;
    }
    memcpy(s->window + s->n, ids, (size_t)n * sizeof *ids);
    s->n += n;
}

/* The gate of the scores, as far open as the trainer's: attention finds it by its name. A block of one's own
 * may make another one, and is run once more with it. */
static void set_gate(qkv_probe_sampler *s, bool recorded) {
    if (!s->model.attention.gated) return;
    ag_node *gate =
        recorded ? ag_find(s->graph, "gate") : ag_input(s->graph, "gate", tensor_dims(0));
    const real open = qkv_probe_gate_is_open(s->t);
    if (ag_error(s->graph) || !gate || (recorded && gate->val.x[0] == open)) return;
    gate->val.x[0] = open;
    if (recorded) ag_forward(s->graph);
}

const real *qkv_probe_sampler_read(qkv_probe_sampler *s, const int *ids, int n, char *error) {
    const data_spec *spec = qkv_trainer_spec(s->t);
    add(s, ids, n);
    const int first = s->past ? s->kept : 0, last = s->n - first - 1, none = -1;
    nn_batch b = {
        .B = 1,
        .sequence = {.T = s->n - first, .n_streams = 1, .first = first, .positions = s->T},
        .n_rows = 1,
        .rows = &last,
        .n_readouts = 1};
    b.sequence.stream[0] = spec->side[DATA_SEQUENCE].stream[0].name;
    b.sequence.vocab[0] = spec->side[DATA_SEQUENCE].stream[0].vocab;
    b.sequence.ids[0] = s->window + first;
    b.readout[0] = (nn_readout){spec->readout[0].name, s->V, &none, NULL};
    ag_graph_reset(s->graph);
    ag_set_run(s->graph, (ag_run){.training = false});
    const tensor_flush before = tensor_flush_begin();  // as when it was trained
    set_gate(s, false);
    const nn_outputs out = nn_model(s->graph, &s->model, &b);
    set_gate(s, true);
    tensor_flush_end(before);
    if (ag_error(s->graph)) return qkv_io_fail(error, "%s", ag_error(s->graph)), NULL;
    s->kept = s->n;
    return out.logits[0]->val.x;
}

/* ---- drawing ---- */

typedef struct {
    double logit;
    int id;
} ranked;

static int by_rank(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->logit != y->logit) return x->logit < y->logit ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

int qkv_probe_draw(const real *logits, int V, double temperature, int top_k, rng *r, double *p) {
    tensor_arena *arena = tensor_arena_new(NULL);
    ranked *of = arena ? tensor_arena_take(arena, (size_t)V, sizeof *of) : NULL;
    double sum = 0, whole = 0, most = -INFINITY;
    if (!of) return tensor_arena_free(arena), -1;
    for (int i = 0; i < V; i++) of[i] = (ranked){(double)logits[i], i};
    for (int i = 0; i < V; i++) most = fmax(most, of[i].logit);
    for (int i = 0; i < V; i++) whole += exp(of[i].logit - most);
    if (top_k > 0 || temperature == 0) qsort(of, (size_t)V, sizeof *of, by_rank);
    const int n = temperature == 0 ? 1 : top_k > 0 && top_k < V ? top_k : V;
    const double by = temperature == 0 ? 1 : temperature;
    for (int i = 0; i < n; i++) sum += exp((of[i].logit - most) / by);
    double left = rng_double(r) * sum;
    int k = 0;
    while (k < n - 1 && (left -= exp((of[k].logit - most) / by)) >= 0) k++;
    const ranked drawn = of[k];
    tensor_arena_free(arena);
    *p = exp(drawn.logit - most) / whole;
    return drawn.id;
}

/* ---- a prompt as an example ---- */

bool qkv_probe_load_prompt(qkv_trainer *t, qkv_trainer_worker *w, const char *prompt, char *error) {
    const data_spec *spec = qkv_trainer_spec(t);
    const data_text *text = data_text_of(spec);
    const int T = spec->side[DATA_SEQUENCE].T;
    if (!text) return qkv_io_fail(error, "the task '%s' takes no prompt", spec->task->name);
    tensor_arena *arena = tensor_arena_new(NULL);
    int *ids = arena ? tensor_arena_take(arena, strlen(prompt) + 1, sizeof *ids) : NULL;
    const int n =
        ids ? data_text_tokens(text, prompt, strlen(prompt), ids, error, QKV_IO_ERROR) : -1;
    if (!ids) qkv_io_fail(error, "out of memory");
    if (n == 0) qkv_io_fail(error, "the prompt is empty");
    if (n > T) qkv_io_fail(error, "the prompt has %d tokens; an example holds %d", n, T);
    const bool ok = n > 0 && n <= T;
    if (ok) {
        qkv_trainer_load(t, w, "test", 0, 1, 1);
        memcpy(qkv_probe_ids(t, w, DATA_SEQUENCE, 0, 0), ids, (size_t)n * sizeof *ids);
        w->data.rows.length[DATA_SEQUENCE][0] = n;
        for (int at = 0; at < T; at++)  // nobody knows what comes after the last
            w->data.rows.target[0][at] = at + 1 < n ? ids[at + 1] : -1;
        qkv_trainer_reload(t, w);
    }
    tensor_arena_free(arena);
    return ok;
}
