/* join.c - cross-attention's weights, put to work in one sequence that holds the pairs, too.
 *
 *     cross    q from the question, k and v from the memory           embed.query, memory.key, memory.value
 *     joined   q, k and v from one sequence: pairs, then questions    embed.query, embed.key,  embed.value
 *
 * Where every question sees the pairs alone, the formulas are the same: "join.entries.difference", the
 * greatest difference of a logit by its size, is rounding. Where the sequence is causal a question sees
 * itself and those before it, too, which these weights have never met: "join.causal.accuracy",
 * ".answer_attention". "join.entries.accuracy" is that of the model itself. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/probe/look.h"
#include "train/study/probe.h"

enum { EXAMPLES = 500 };

/* Logits of the scored rows, one after the other. */
typedef struct {
    real *x;
    size_t n, room;
} collected;

static bool collect(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    collected *c = ctx;
    (void)arena;
    const size_t n = (size_t)qkv_probe_rows(w) * (size_t)qkv_trainer_spec(t)->readout[0].classes;
    if (n > c->room - c->n) return false;
    memcpy(c->x + c->n, w->out.logits[0]->val.x, n * sizeof(real));
    c->n += n;
    return true;
}

/* What the parameter of the joined model is called in cross-attention. */
static const char *name_in_cross(const char *name, char out[QKV_PROBE_MEASURE]) {
    const char *attn = strstr(name, ".attn.");
    if (attn)
        snprintf(out, QKV_PROBE_MEASURE, "%.*s.cross.%s", (int)(attn - name), name, attn + 6);
    else if (strncmp(name, "embed.", 6) == 0 && strcmp(name, "embed.query") != 0)
        snprintf(out, QKV_PROBE_MEASURE, "memory.%s", name + 6);
    else
        snprintf(out, QKV_PROBE_MEASURE, "%s", name);
    return out;
}

/* False: one of them has no counterpart. */
static bool lend_parameters(qkv_trainer *from, qkv_trainer *to) {
    for (int i = 0; i < ag_params_count(qkv_trainer_params(to)); i++) {
        ag_param_entry *p = ag_params_at(qkv_trainer_params(to), i);
        char name[QKV_PROBE_MEASURE];
        const ag_param_entry *its =
            ag_params_find(qkv_trainer_params(from), name_in_cross(p->name, name));
        if (!its || its->val.n != p->val.n) return false;
        memcpy(p->val.x, its->val.x, p->val.n * sizeof(real));
    }
    return true;
}

/* The same configuration in one sequence, with the same weights; NULL with a sentence. */
static qkv_trainer *joined(qkv_trainer *t, int mask, char *error) {
    static const char *const of_training[] = {"freeze", "gains", "rates", "gradients", "from"};
    qkv_config c = *qkv_trainer_config(t);
    data_spec spec;
    for (size_t i = 0; i < sizeof of_training / sizeof *of_training; i++)
        qkv_config_reset(&c, qkv_config_option_find(&c, of_training[i]));
    if (!qkv_config_choose(&c, "joined", 1) ||
        !qkv_config_choose(&c, "arch", QKV_CONFIG_ARCH_TASK) ||
        !qkv_config_choose(&c, "mask", mask))
        return qkv_io_fail(error, "this task cannot be joined"), NULL;
    if (!qkv_config_resolve(&c, &spec, error)) return NULL;
    qkv_trainer *other = qkv_trainer_new(NULL, &c, &spec, 1, error);
    data_release(&spec);
    if (other) qkv_probe_set_gate(other, qkv_probe_gate_is_open(t));
    if (!other || lend_parameters(t, other)) return other;
    qkv_trainer_free(other);
    return qkv_io_fail(error, "the joined model has other parameters"), NULL;
}

/* The greatest difference, by the size of what is compared. */
static double difference(const collected *a, const collected *b) {
    double greatest = 0, size = 0;
    for (size_t i = 0; i < a->n; i++) {
        greatest = real_greater(greatest, fabs((double)a->x[i] - (double)b->x[i]));
        size = real_greater(size, fabs((double)a->x[i]));
    }
    return a->n != b->n ? (double)INFINITY : size > 0 ? greatest / size : greatest;
}

static bool compare(qkv_trainer *t, tensor_arena *arena, int mask, const char *name,
                    qkv_probe_measures *out, char *error) {
    const data_spec *s = qkv_trainer_spec(t);
    const size_t room = (size_t)EXAMPLES * (size_t)s->scored * (size_t)s->readout[0].classes;
    collected a = {tensor_arena_reals(arena, room), 0, room},
              b = {a.x ? tensor_arena_reals(arena, room) : NULL, 0, room};
    if (!b.x) return qkv_io_fail(error, "out of memory");
    qkv_trainer *other = joined(t, mask, error);
    qkv_trainer_scores e;
    const bool ok = other && qkv_probe_see(t, "test", EXAMPLES, 0, collect, &a, error) &&
                    qkv_probe_see(other, "test", EXAMPLES, 0, collect, &b, error) &&
                    qkv_trainer_evaluate(other, "test", 0, EXAMPLES, &e, error);
    qkv_trainer_free(other);
    if (!ok) return false;
    qkv_probe_measure_add(out, difference(&a, &b), "join.%s.difference", name);
    qkv_probe_measure_add(out, e.accuracy, "join.%s.accuracy", name);
    qkv_probe_measure_add(out, e.answer_attention, "join.%s.answer_attention", name);
    return true;
}

bool qkv_study_probe_run_join(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    const qkv_config *c = qkv_trainer_config(t);
    const data_spec *s = qkv_trainer_spec(t);
    if (strcmp(s->task->name, "cross") != 0 || s->store != DATA_MEMORY)
        return qkv_io_fail(error, "this probe is of the task 'cross', with a memory");
    if (!qkv_trainer_any_worker(t)->out.logits[0] || c->layers > 1 || c->norm != NN_NORM_NONE ||
        c->arch == QKV_CONFIG_ARCH_ENCODER_DECODER || c->positions != NN_POSITIONS_NONE ||
        c->token_shift)
        return qkv_io_fail(
            error,
            "only one layer of cross-attention alone, without norm and positions, is "
            "the same in one sequence");
    tensor_arena *arena = tensor_arena_new(NULL);
    const bool ok = arena ? compare(t, arena, QKV_CONFIG_MASK_MEMORY, "entries", out, error) &&
                                compare(t, arena, QKV_CONFIG_MASK_TASK, "causal", out, error)
                          : qkv_io_fail(error, "out of memory");
    tensor_arena_free(arena);
    return ok;
}
