/* lengths.c - the trained model among other numbers of pairs than it was trained with.
 *
 * A second trainer of another length is made, and the parameters are copied into it by name: they
 * do not depend on the length unless positions are learned. Untouched: the first trainer. */
#include <string.h>

#include "train/probe/look.h"
#include "train/probe/measure.h"

enum { EXAMPLES = 500 };
static const int lengths[] = {2, 4, 8, 12, 16, 24, 31};

static bool copy_parameters(train_trainer *from, train_trainer *to, char *error) {
    ag_params *known = train_trainer_params(from), *wanted = train_trainer_params(to);
    for (int i = 0; i < ag_params_count(wanted); i++) {
        ag_param_entry *e = ag_params_at(wanted, i), *own = ag_params_find(known, e->name);
        if (!own || !tensor_same_shape(e->val.shape, own->val.shape))
            return train_refuse(error, "'%s' has another size for another number of pairs",
                                e->name);
        memcpy(e->val.x, own->val.x, e->val.n * sizeof(real));
    }
    return true;
}

/* The trainer's configuration with n pairs; false where the task does not have so many. */
static bool resize(train_trainer *t, int n, train_config *c, data_spec *spec) {
    char why[TRAIN_ERROR];
    *c = *train_trainer_config(t);
    c->pairs = n;
    c->queries = 0;
    c->lanes = 1;
    c->optimizer = TRAIN_SGD;  // it is not trained: the least memory
    return train_config_resolve(c, spec, why);
}

static bool test_at(train_trainer *t, const train_config *c, const data_spec *spec,
                    train_measures *out, char *error) {
    train_scores s;
    train_trainer *other = train_trainer_new(NULL, c, spec, 1, error);
    if (other) train_set_gate(other, train_gate_is_open(t));
    bool ok = other && copy_parameters(t, other, error) &&
              train_evaluate(other, "test", 0, EXAMPLES, &s, error);
    train_trainer_free(other);
    if (!ok) return false;
    train_measure_add(out, s.accuracy, "lengths.n%d.accuracy", c->pairs);
    train_measure_add(out, s.mass, "lengths.n%d.mass", c->pairs);
    return true;
}

bool train_probe_lengths(train_trainer *t, train_measures *out, char *error) {
    const data_spec *s = train_trainer_spec(t);
    if (s->options.pairs < 1)
        return train_refuse(error, "the task '%s' has no number of pairs", s->task->name);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        train_config c;
        data_spec spec;
        if (resize(t, lengths[i], &c, &spec) && !test_at(t, &c, &spec, out, error)) return false;
    }
    return true;
}
