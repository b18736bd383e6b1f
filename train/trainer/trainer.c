/* trainer.c - making a trainer: its parameters, its workers, and how a batch is cut. */
#include "train/trainer/trainer.h"

#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/number.h"
#include "train/trainer/trainer_internal.h"

/* Examples of a micro-batch. Its activations should stay in the second-level cache, but for each
 * one all weights are read and all gradients added to once more, which costs the more the wider the
 * model is: 2 d_model tokens balance the two, within 128 to 256, or up to twice as many so that a
 * lane's micro-batches are equal. A function of the configuration alone. */
static int micro_batch_size(const qkv_config *c, int T) {
    const int tokens = c->d_model < 64 ? 128 : c->d_model > 128 ? 256 : 2 * c->d_model;
    const int least = (128 + T - 1) / T, per_lane = (c->batch + c->lanes - 1) / c->lanes;
    const int wanted = (int)((long)per_lane * T / tokens);
    const int micro_batches = wanted < 1          ? 1
                              : wanted < per_lane ? wanted
                                                  : per_lane;  // of one lane
    int size = (per_lane + micro_batches - 1) / micro_batches;
    if (size < least) size = least;
    return size < c->batch ? size : c->batch;
}

/* Longer sequences' scores and weights are not stored unless somebody looks. Up to here nothing is gained
 * by it; at 256 a step is 1.1, at 512 1.3 times as fast, though backward computes them once more. */
enum { STREAM_ROWS = 128 };

static nn_sequence side_of(const data_side *side, int *const *ids, const int *length, int scaled,
                           double scale) {
    nn_sequence s = {.T = side->T,
                     .n_streams = side->n_streams,
                     .length = length,
                     .scaled = scaled,
                     .scale = scale};
    for (int i = 0; i < side->n_streams; i++) {
        s.stream[i] = side->stream[i].name;
        s.vocab[i] = side->stream[i].vocab;
        s.ids[i] = ids[i];
    }
    return s;
}

static nn_batch batch_of(const qkv_trainer *t, const qkv_trainer_worker *w) {
    const data_spec *s = &t->spec;
    nn_batch b = {.B = w->B,
                  .asked = w->asked,
                  .n_rows = w->n_rows,
                  .rows = w->rows,
                  .sources = w->source_rows,
                  .in_memory = s->store == DATA_MEMORY,
                  .n_readouts = s->n_readouts};
    int scaled = s->entry_scale > 0 ? s->entries : 0;
    b.sequence = side_of(&s->side[DATA_SEQUENCE], w->data.rows.ids[DATA_SEQUENCE],
                         w->data.rows.length[DATA_SEQUENCE], s->store == DATA_SEQUENCE ? scaled : 0,
                         s->entry_scale);
    b.memory = side_of(&s->side[DATA_MEMORY], w->data.rows.ids[DATA_MEMORY],
                       w->data.rows.length[DATA_MEMORY], s->store == DATA_MEMORY ? scaled : 0,
                       s->entry_scale);
    for (int r = 0; r < s->n_readouts; r++)
        b.readout[r] =
            (nn_readout){s->readout[r].name, s->readout[r].classes, w->target[r], &w->weight[r]};
    return b;
}

/* Has a node of that name the shape of attention weights? A block of somebody's own may use the
 * name otherwise. */
static bool is_attention(const qkv_trainer *t, const qkv_trainer_worker *w, int layer,
                         const ag_node *node) {
    const data_spec *s = &t->spec;
    const int T = qkv_trainer_queries(t, w, layer);
    return tensor_same_shape(node->val.shape,
                             tensor_dims(4, w->B, t->config.heads, T, s->side[s->store].T));
}

/* The layers' attention weights, and memory to read rows of streamed ones into. False: it is out. */
static bool find_weights(qkv_trainer *t, qkv_trainer_worker *w) {
    const size_t S = (size_t)t->spec.side[t->spec.store].T;
    bool streamed = false;
    for (int l = 0; l < t->config.layers; l++) {
        char name[64];
        snprintf(name, sizeof name, "layer%d.%s.weights", l, qkv_trainer_attention_name(&t->spec));
        ag_node *node = ag_find_unseen(w->graph, name);
        const bool found = node && is_attention(t, w, l, node);
        w->weights[l] = found ? node : NULL;
        streamed = streamed || (found && !node->val.x);
    }
    if (!streamed) return true;
    w->read = tensor_arena_reals(t->arena, QKV_TRAINER_ROWS_READ * S * (size_t)t->config.heads);
    return w->read != NULL;
}

/* Are the rows that can be scored at most half of all, so that it pays to take them out? A block of
 * somebody's own gets all. */
static bool asks_for_some(const qkv_trainer *t) {
    return 2 * t->spec.scored <= t->spec.side[DATA_SEQUENCE].T &&
           qkv_config_model(&t->config, &t->spec).block == nn_block;
}

/* Arrays for the rows that are asked for, `n` of an example. */
static bool asked_init(qkv_trainer *t, qkv_trainer_worker *w, int n) {
    const size_t rows = (size_t)w->B * (size_t)n;
    w->asked_row = tensor_arena_take(t->arena, rows, sizeof(int));
    w->asked_place = tensor_arena_take(t->arena, rows, sizeof(int));
    w->picked = tensor_arena_take(t->arena, (size_t)w->n_rows, sizeof(int));
    w->asked =
        (nn_asked){n, w->asked_row, {w->asked_place, n, t->spec.side[DATA_SEQUENCE].T}, w->picked};
    return w->asked_row && w->asked_place && w->picked;
}

/* Memory for one worker of B examples, and an empty graph. */
static bool worker_init(qkv_trainer *t, qkv_trainer_worker *w, int B, int asked, char *error) {
    const data_spec *s = &t->spec;
    w->B = B;
    w->n_rows = w->B * s->scored;
    bool room = data_batch_new(t->arena, s, w->B, &w->data);
    room = (w->rows = tensor_arena_take(t->arena, (size_t)w->n_rows, sizeof(int))) && room;
    for (int r = 0; r < s->n_readouts; r++) {
        room = (w->target[r] = tensor_arena_take(t->arena, (size_t)w->n_rows, sizeof(int))) && room;
        room = (w->source[r] = tensor_arena_take(t->arena, (size_t)w->n_rows, sizeof(int))) && room;
        room = (w->distractor[r] = tensor_arena_take(t->arena, (size_t)w->n_rows, sizeof(int))) &&
               room;
    }
    room = (w->source_rows = tensor_arena_take(t->arena, (size_t)w->n_rows, sizeof(int))) && room;
    w->weights = tensor_arena_take(t->arena, (size_t)t->config.layers, sizeof(ag_node *));
    room = (asked == 0 || asked_init(t, w, asked)) && room;
    w->graph = room && w->weights ? ag_graph_new(t->params) : NULL;
    return w->graph || qkv_io_fail(error, "out of memory");
}

/* Records its graph; false: memory is out, or the graph has an error. */
static bool worker_record(qkv_trainer *t, qkv_trainer_worker *w, char *error) {
    const data_spec *s = &t->spec;
    ag_keep_grads(w->graph, false);
    ag_stream(w->graph, STREAM_ROWS);
    qkv_trainer_load(t, w, "train", 0, 1, 1);
    nn_model_config model = qkv_config_model(&t->config, s);
    nn_batch batch = batch_of(t, w);
    w->out = nn_model(w->graph, &model, &batch);
    if (ag_error(w->graph)) return qkv_io_fail(error, "%s", ag_error(w->graph));
    w->gate = ag_find(w->graph, "gate");
    if (t->config.scores_from > 0 && !w->gate)
        return qkv_io_fail(error, "--scores-from: the block '%s' has no node 'gate' to open",
                           t->config.block);
    return find_weights(t, w) || qkv_io_fail(error, "out of memory");
}

static bool buffers_init(qkv_trainer *t) {
    size_t P = ag_params_size(t->params);
    int batch_micro_batches = (t->config.batch + t->micro_batch - 1) / t->micro_batch;
    bool room = true;
    t->micro_batches = batch_micro_batches;
    for (int l = 0; l < t->config.lanes && l < batch_micro_batches; l++)  // no others are used
        room = (t->lane[l] = tensor_arena_reals(t->arena, P)) && room;
    room = qkv_optim_init(&t->optim, t->arena, t->params, qkv_config_optim(&t->config)) && room;
    t->losses = tensor_arena_take(t->arena, (size_t)batch_micro_batches, sizeof(double));
    t->squares = tensor_arena_take(t->arena, (size_t)ag_params_count(t->params), sizeof(double));
    t->head_attention =
        tensor_arena_take(t->arena, (size_t)(t->config.layers * t->config.heads), sizeof(double));
    return room && t->losses && t->squares && t->head_attention;
}

/* Freezes what the comma-separated patterns name. */
static bool freeze(qkv_trainer *t, char *error) {
    char list[QKV_CONFIG_TEXT_SIZE], *rest = NULL;
    snprintf(list, sizeof list, "%s", t->config.freeze);
    for (char *pattern = strtok_r(list, ",", &rest); pattern; pattern = strtok_r(NULL, ",", &rest))
        if (!ag_params_freeze_matching(t->params, pattern))
            return qkv_io_fail(error, "out of memory");
    return true;
}

/* The lists that name parameters: has a part a factor, and steps? */
enum { NEVER, MAYBE, ALWAYS };
static const struct {
    const char *option;
    size_t at;
    bool factor;
    int steps;
} lists[QKV_TRAINER_LISTS] = {
    [QKV_TRAINER_FREEZE] = {"freeze", offsetof(qkv_config, freeze), false, NEVER},
    [QKV_TRAINER_GAINS] = {"gains", offsetof(qkv_config, gains), true, NEVER},
    [QKV_TRAINER_RATES] = {"rates", offsetof(qkv_config, rates), true, MAYBE},
    [QKV_TRAINER_GRADIENTS] = {"gradients", offsetof(qkv_config, gradients), true, MAYBE},
    [QKV_TRAINER_HOLD] = {"hold", offsetof(qkv_config, hold), false, ALWAYS}};

static const char *list_of(const qkv_trainer *t, int list) {
    return (const char *)&t->config + lists[list].at;
}

/* Is a part what its list takes? Its factor in *x: 0 where it says none. */
static bool part_fits(const qkv_trainer *t, int list, const qkv_config_part *part, double *x,
                      char *error) {
    *x = 0;
    if (lists[list].factor &&
        (!part->value || !qkv_io_parse_real(part->value, x) || !(*x >= 0 && *x <= 1e9)))
        return qkv_io_fail(error, "'%.60s%s%.60s' is not NAME=X with an X between 0 and 1e9",
                           part->name, part->value ? "=" : "", part->value ? part->value : "");
    if (!lists[list].factor && part->value)
        return qkv_io_fail(error, "'%.60s=%.60s': a name alone is meant", part->name, part->value);
    if (lists[list].steps == NEVER && part->from >= 0)
        return qkv_io_fail(error, "'%.60s' has no steps: it holds for the whole run", part->name);
    if (lists[list].steps == ALWAYS && part->from < 0)
        return qkv_io_fail(error, "'%.60s' needs steps: NAME@A..B; --freeze holds for good",
                           part->name);
    return part->to <= t->config.steps ||
           qkv_io_fail(error, "'%.60s@%d..%d' ends after the last step, which is %d", part->name,
                       part->from, part->to, t->config.steps);
}

/* Reads a list as it is at a step, into out if that is not NULL: a factor for each parameter, that of the
 * last part that fits, else 1. Every part must name something: a misspelt one would otherwise train what was
 * to stay. */
static bool read_list(const qkv_trainer *t, int list, int step, double *out, char *error) {
    const char *rest = list_of(t, list);
    char why[QKV_IO_ERROR];
    qkv_config_part part;
    for (int i = 0; out && i < ag_params_count(t->params); i++) out[i] = 1;
    while (qkv_config_next_part(&rest, &part, why)) {
        bool names = false, now = part.from < 0 || (step >= part.from && step < part.to);
        double x;
        if (!part_fits(t, list, &part, &x, why)) break;
        for (int i = 0; i < ag_params_count(t->params); i++) {
            if (!ag_matches(part.name, ag_params_at(t->params, i)->name)) continue;
            names = true;
            if (out && now) out[i] = x;
        }
        if (!names) qkv_io_fail(why, "no parameter is called '%.400s'", part.name);
        if (!names) break;
    }
    return !*why || qkv_io_fail(error, "--%s: %.400s", lists[list].option, why);
}

/* What single parameters have of their own: a start, a rate, a gradient. */
static bool own_factors(qkv_trainer *t, char *error) {
    const int n = ag_params_count(t->params);
    for (int list = 0; list < QKV_TRAINER_LISTS; list++) {
        if (list != QKV_TRAINER_FREEZE && *list_of(t, list) &&
            !(t->own[list] = tensor_arena_take(t->arena, (size_t)n, sizeof **t->own)))
            return qkv_io_fail(error, "out of memory");
        if (!read_list(t, list, 0, t->own[list], error)) return false;
    }
    const double *gain = t->own[QKV_TRAINER_GAINS];
    for (int i = 0; gain && i < n; i++) {
        tensor *x = &ag_params_at(t->params, i)->val;
        for (size_t k = 0; k < x->n; k++) x->x[k] *= (real)gain[i];
    }
    return true;
}

static bool init(qkv_trainer *t, int threads, char *error) {
    const int asked = asks_for_some(t) ? t->spec.scored : 0;
    if (threads > t->config.lanes) threads = t->config.lanes;
    t->params = ag_params_new(t->mem, (uint64_t)t->config.seed);
    t->pool = qkv_trainer_pool_new(t->mem, threads < 1 ? 1 : threads);
    if (!t->params || !t->pool) return qkv_io_fail(error, "out of memory");
    for (int i = 0; i < qkv_trainer_pool_size(t->pool); i++) {
        if (i == 0 && !freeze(t, error)) return false;
        if (!worker_init(t, &t->workers[i], t->micro_batch, asked, error) ||
            !worker_record(t, &t->workers[i], error))
            return false;
        ag_params_close(t->params);
    }
    if (asked && !worker_init(t, &t->looking, t->micro_batch, 0, error)) return false;
    if (!own_factors(t, error)) return false;
    if (!buffers_init(t)) return qkv_io_fail(error, "out of memory");
    t->optim.rate = t->own[QKV_TRAINER_RATES];
    t->optim.gradient = t->own[QKV_TRAINER_GRADIENTS];
    t->optim.moves = t->own[QKV_TRAINER_HOLD];
    return true;
}

qkv_trainer *qkv_trainer_new(const tensor_allocator *mem, const qkv_config *c,
                             const data_spec *spec, int threads, char *error) {
    if (!QKV_IO_GIVEN(error, c, spec)) return NULL;
    if (!mem) mem = &tensor_malloc;
    tensor_arena *arena = tensor_arena_new(mem);
    qkv_trainer *t = arena ? tensor_arena_take(arena, 1, sizeof *t) : NULL;
    if (!t) {
        tensor_arena_free(arena);
        qkv_io_fail(error, "out of memory");
        return NULL;
    }
    *t = (qkv_trainer){.mem = mem, .arena = arena, .config = *c, .spec = *spec};
    data_retain(&t->spec);
    t->micro_batch = micro_batch_size(c, spec->side[DATA_SEQUENCE].T + spec->side[DATA_MEMORY].T);
    if (init(t, threads, error)) {
        qkv_trainer_at_step(t, 0);
        return t;
    }
    qkv_trainer_free(t);
    return NULL;
}

void qkv_trainer_free(qkv_trainer *t) {
    if (!t) return;
    qkv_trainer_pool_free(t->pool);
    for (int i = 0; i < QKV_TRAINER_MAXLANES; i++) ag_graph_free(t->workers[i].graph);
    ag_graph_free(t->looking.graph);
    for (int i = 0; i < 2; i++) ag_graph_free(t->tape[i].graph);
    ag_params_free(t->params);
    data_release(&t->spec);
    tensor_arena_free(t->arena);
}

bool qkv_trainer_fail(const qkv_trainer *t, char *error) {
    const char *why = t && t->looking.graph ? ag_error(t->looking.graph) : NULL;
    for (int i = 0; t && !why && i < qkv_trainer_pool_size(t->pool); i++)
        why = ag_error(t->workers[i].graph);
    if (why) return qkv_io_fail(error, "%s", why);
    return qkv_io_fail(error, "out of memory");
}

bool qkv_trainer_plain(qkv_trainer *t, char *error) {
    if (!QKV_IO_GIVEN(error, t)) return false;
    for (int i = 0; i < qkv_trainer_pool_size(t->pool); i++) {
        ag_graph_reset(t->workers[i].graph);
        ag_plain(t->workers[i].graph, true);
        if (!worker_record(t, &t->workers[i], error)) return false;
    }
    qkv_trainer_at_step(t, 0);
    return true;
}

const qkv_config *qkv_trainer_config(const qkv_trainer *t) { return t ? &t->config : NULL; }
const data_spec *qkv_trainer_spec(const qkv_trainer *t) { return t ? &t->spec : NULL; }
const tensor_allocator *qkv_trainer_allocator(const qkv_trainer *t) { return t ? t->mem : NULL; }
const qkv_optim *qkv_trainer_optim(const qkv_trainer *t) { return t ? &t->optim : NULL; }
ag_params *qkv_trainer_params(qkv_trainer *t) { return t ? t->params : NULL; }
const real *qkv_trainer_grads(const qkv_trainer *t) { return t ? t->lane[0] : NULL; }
qkv_trainer_worker *qkv_trainer_training_worker(qkv_trainer *t) {
    return t ? &t->workers[0] : NULL;
}

static void set_gate(const qkv_trainer *t, const qkv_trainer_worker *w) {
    if (w->gate) w->gate->val.x[0] = t->open;
}

qkv_trainer_worker *qkv_trainer_any_worker(qkv_trainer *t) {
    qkv_trainer_worker *w = t ? &t->looking : NULL;
    if (!w) return NULL;
    if (!w->graph) return &t->workers[0];  // computes all rows itself
    if (t->recorded) return w;
    char error[QKV_IO_ERROR];
    if (!worker_record(t, w, error)) ag_fail_graph(w->graph, "%s", error);
    set_gate(t, w);
    t->recorded = true;
    return w;
}

qkv_trainer_worker *qkv_trainer_tape_worker(qkv_trainer *t, bool as_trained, char *error) {
    if (!QKV_IO_GIVEN(error, t)) return NULL;
    qkv_trainer_worker *w = &t->tape[as_trained];
    if (w->graph && !ag_error(w->graph)) return w;
    ag_graph_free(w->graph);
    *w = (qkv_trainer_worker){0};
    if (!worker_init(t, w, 1, as_trained && asks_for_some(t) ? t->spec.scored : 0, error))
        return NULL;
    ag_want_all(w->graph, true);
    if (!worker_record(t, w, error)) return NULL;
    ag_keep_grads(w->graph, true);
    set_gate(t, w);
    return w;
}

int qkv_trainer_queries(const qkv_trainer *t, const qkv_trainer_worker *w, int layer) {
    const bool some = w->asked.n > 0 && layer + 1 == t->config.layers;
    return some ? w->asked.n : t->spec.side[DATA_SEQUENCE].T;
}

void qkv_trainer_at_step(qkv_trainer *t, int step) {
    if (!t) return;
    char error[QKV_IO_ERROR];  // the lists were read before
    t->open = step >= t->config.scores_from;
    for (int i = QKV_TRAINER_RATES; i < QKV_TRAINER_LISTS; i++)
        if (t->own[i] && strchr(list_of(t, i), '@')) read_list(t, i, step, t->own[i], error);
    for (int i = 0; i < qkv_trainer_pool_size(t->pool); i++) set_gate(t, &t->workers[i]);
    set_gate(t, &t->looking);
    for (int i = 0; i < 2; i++) set_gate(t, &t->tape[i]);
}

void qkv_trainer_note_source(qkv_trainer *t, const char *from, const char *checksum) {
    if (!t || !from || !checksum) return;
    snprintf(t->config.from, sizeof t->config.from, "%s", from);
    snprintf(t->config.from_checksum, sizeof t->config.from_checksum, "%s", checksum);
    t->optim.settings = qkv_config_optim(&t->config);  // the step at which its moments are 0
}

double qkv_trainer_rate(const qkv_trainer *t, int step) {
    return t ? qkv_optim_rate(&t->optim.settings.schedule, step) : 0;
}

bool qkv_trainer_has_attention(const qkv_trainer *t) {
    return t && t->workers[0].weights[t->config.layers - 1];
}

ag_node *qkv_trainer_weights(const qkv_trainer_worker *w, int layer) {
    ag_node *node = w ? w->weights[layer] : NULL;
    return node && ag_store(node) == node ? node : NULL;
}

const char *qkv_trainer_attention_name(const data_spec *s) {
    return s && s->store == DATA_MEMORY ? "cross" : "attn";
}
const char *qkv_trainer_store_name(const data_spec *s) {
    return s && s->store == DATA_MEMORY ? "memory" : "embed";
}

/* ---- loading a micro-batch ---- */

void qkv_trainer_load(qkv_trainer *t, qkv_trainer_worker *w, const char *split, uint64_t first,
                      int count, double total) {
    if (!t || !w || !split) return;
    data_fill(&w->data, (uint64_t)t->config.seed, split, first, count);
    if (w->data.wrong)
        ag_fail_graph(w->graph, "the task '%s' is wrong: %s", t->spec.task->name, w->data.wrong);
    w->count = count;
    for (int r = 0; r < t->spec.n_readouts; r++)
        w->weight[r] = (real)(1 / (total * t->spec.scored));
    qkv_trainer_reload(t, w);
}

static bool scored_at(const qkv_trainer_worker *w, int n_readouts, int at) {
    for (int r = 0; r < n_readouts; r++)
        if (w->data.rows.target[r][at] >= 0) return true;
    return false;
}

/* Nothing is asked for yet: rows that will not be filled are none, at the first place. */
static void ask_nothing(qkv_trainer_worker *w) {
    for (int i = 0; i < w->B * w->asked.n; i++) w->asked_row[i] = -1, w->asked_place[i] = 0;
    for (int n = 0; n < w->n_rows && w->asked.n > 0; n++) w->picked[n] = -1;
}

/* Row n is one of its example's that are asked for; what is not filled behind it stands at its place. */
static void ask(const qkv_trainer *t, qkv_trainer_worker *w, int n) {
    const int T = t->spec.side[DATA_SEQUENCE].T, b = w->rows[n] / T, R = w->asked.n;
    int i = 0;
    while (i < R && w->asked_row[b * R + i] >= 0) i++;
    if (i == R) return;  // more than the task said
    w->asked_row[b * R + i] = w->rows[n];
    w->picked[n] = b * R + i;
    for (; i < R; i++) w->asked_place[b * R + i] = w->rows[n] % T;
}

void qkv_trainer_reload(qkv_trainer *t, qkv_trainer_worker *w) {
    if (!t || !w) return;
    int n = 0, readouts = t->spec.n_readouts;
    ask_nothing(w);
    for (int at = 0; at < w->B * t->spec.side[DATA_SEQUENCE].T && n < w->n_rows; at++) {
        if (!scored_at(w, readouts, at)) continue;
        w->rows[n] = at;
        if (w->asked.n > 0) ask(t, w, n);
        for (int r = 0; r < readouts; r++) {
            w->target[r][n] = w->data.rows.target[r][at];
            w->source[r][n] = w->data.rows.source[r][at];
            w->distractor[r][n] = w->data.rows.distractor[r][at];
        }
        int source = w->source[0][n];
        w->source_rows[n] =
            source < 0
                ? -1
                : at / t->spec.side[DATA_SEQUENCE].T * t->spec.side[t->spec.store].T + source;
        n++;
    }
    for (; n < w->n_rows; n++) {
        w->rows[n] = w->source_rows[n] = -1;
        for (int r = 0; r < readouts; r++)
            w->target[r][n] = w->source[r][n] = w->distractor[r][n] = -1;
    }
}
