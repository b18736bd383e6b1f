/* generalise.c - the trained model on what training never showed: "heldout.accuracy", of combinations; and
 * among other numbers of pairs than it was trained with.
 *
 * "lengths.nN.accuracy" and .answer_attention; "lengths.nN.sharper": the accuracy when the last layer's
 * scores are multiplied by ln n / ln n0 in this test alone, n and n0 the places that the last question
 * sees here and saw in training. "lengths.nN.hardest": when they are multiplied by so much that one place
 * gets everything. What helps there was diluted; what is wrong still has a wrong key ahead.
 *
 * A second trainer of another length is made, and the parameters are copied into it by name: they
 * do not depend on the length unless positions are learned. Untouched: the first trainer. */
#include <math.h>
#include <string.h>

#include "train/probe/look.h"
#include "train/study/probe.h"

enum { EXAMPLES = 500, HELD_OUT = 2000, HARD = 10000 };
static const int lengths[] = {2, 4, 8, 12, 16, 24, 31, 64, 128, 256};

static bool copy_parameters(qkv_trainer *from, qkv_trainer *to, char *error) {
    ag_params *known = qkv_trainer_params(from), *wanted = qkv_trainer_params(to);
    for (int i = 0; i < ag_params_count(wanted); i++) {
        ag_param_entry *e = ag_params_at(wanted, i), *own = ag_params_find(known, e->name);
        if (!own || !tensor_same_shape(e->val.shape, own->val.shape))
            return qkv_io_fail(error, "'%s' has another size for another number of pairs", e->name);
        memcpy(e->val.x, own->val.x, e->val.n * sizeof(real));
    }
    return true;
}

/* The trainer's configuration with n pairs; false where the task does not have so many. */
static bool resize(qkv_trainer *t, int n, qkv_config *c, data_spec *spec) {
    char why[QKV_IO_ERROR];
    *c = *qkv_trainer_config(t);
    if (!qkv_config_choose(c, "pairs", n)) return false;
    qkv_config_choose(c, "queries", 0);  // as many as it takes, where it has some
    c->lanes = 1;
    c->optimizer = QKV_OPTIM_SGD;  // it is not trained: the least memory
    return qkv_config_resolve(c, spec, why);
}

static int places(const qkv_trainer *t) {
    const data_spec *s = qkv_trainer_spec(t);
    int seen = 0;
    for (int i = 0; i < s->side[s->store].T; i++)
        seen += qkv_probe_sees(t, NULL, 0, s->side[DATA_SEQUENCE].T - 1, i);
    return seen;
}

static void multiply(ag_node *node, void *factor) {
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] *= *(const real *)factor;
}

/* The factor by which ln n has grown. */
static real longer(const qkv_trainer *t, const qkv_trainer *other) {
    const int here = places(other), there = places(t);
    return here > 1 && there > 1 ? (real)(log(here) / log(there)) : 1;
}

/* The accuracy with scores times a factor; nothing where there are no scores. */
static bool test_sharper(qkv_trainer *other, real factor, int n, const char *name,
                         qkv_probe_measures *out, char *error) {
    ag_node *scores = qkv_probe_scores_node(other, qkv_trainer_training_worker(other));
    qkv_trainer_scores s;
    if (!scores) return true;
    const bool ok = ag_hook(scores, multiply, &factor) &&
                    qkv_trainer_evaluate(other, "test", 0, EXAMPLES, &s, error);
    ag_unhook(scores, multiply, &factor);
    if (ok) qkv_probe_measure_add(out, s.accuracy, "lengths.n%d.%s", n, name);
    return ok;
}

static bool test_at(qkv_trainer *t, int n, const qkv_config *c, data_spec *spec,
                    qkv_probe_measures *out, char *error) {
    qkv_trainer_scores s;
    qkv_trainer *other = qkv_trainer_new(NULL, c, spec, 1, error);
    data_release(spec);
    if (other) qkv_probe_set_gate(other, qkv_probe_gate_is_open(t));
    bool ok = other && copy_parameters(t, other, error) &&
              qkv_trainer_evaluate(other, "test", 0, EXAMPLES, &s, error) &&
              test_sharper(other, longer(t, other), n, "sharper", out, error) &&
              test_sharper(other, HARD, n, "hardest", out, error);
    qkv_trainer_free(other);
    if (!ok) return false;
    qkv_probe_measure_add(out, s.accuracy, "lengths.n%d.accuracy", n);
    qkv_probe_measure_add(out, s.answer_attention, "lengths.n%d.answer_attention", n);
    return true;
}

bool qkv_study_probe_run_lengths(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    const data_spec *s = qkv_trainer_spec(t);
    if (!data_option_find(s->task->options, "pairs"))
        return qkv_io_fail(error, "the task '%s' has no number of pairs", s->task->name);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        qkv_config c;
        data_spec spec;
        if (resize(t, lengths[i], &c, &spec) && !test_at(t, lengths[i], &c, &spec, out, error))
            return false;
    }
    return true;
}

bool qkv_study_probe_run_heldout(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    qkv_trainer_scores s;
    if (!qkv_trainer_spec(t)->has_held_out)
        return qkv_io_fail(error, "the task '%s' holds nothing out",
                           qkv_trainer_spec(t)->task->name);
    if (!qkv_trainer_evaluate(t, "heldout", 0, HELD_OUT, &s, error)) return false;
    qkv_probe_measure_add(out, s.accuracy, "heldout.accuracy");
    qkv_probe_measure_add(out, s.answer_attention, "heldout.answer_attention");
    return true;
}
