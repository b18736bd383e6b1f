/* The gradient check refuses every mutant and accepts every right op: one test an op, made from the
 * catalogue. Where a mutant survives, the op's samples (or the check) are too weak, and the line
 * says for which input. */
#include "tests/lib/mutants.h"

#include <stdlib.h>
#include <string.h>

#include "autograd/gradcheck.h"
#include "tests/lib/check.h"

enum { MOST_OPS = 256, LEAST = 60, LEAST_OF_AN_OP = 3 };

static const ag_op *target;  // the op whose mutant is under check, and the mutant
static bool plain;           // by its plain loops, not by its fast form
static ag_op wrong;
static int rejected, all;

static ag_node *sample_of_target(ag_graph *g, int i) {
    ag_plain(g, plain);
    return target->sample(g, i);
}

/* The target's samples, with the mutant put in its place. */
static ag_node *mutated_sample(ag_graph *g, int i) {
    ag_node *root = sample_of_target(g, i);
    if (!root || ag_error(g)) return root;
    for (int n = 0; n < ag_count(g); n++)
        if (ag_at(g, n)->op == target) ag_at(g, n)->op = &wrong;
    ag_forward(g);
    return root;
}

static bool is_accepted(const mutant *m, int input) {
    ag_check_report report;
    wrong = mutant_of(m, target, input);
    return ag_gradcheck(mutated_sample, target->facts & AG_KINKS, &report);
}

/* What the samples of an op offer to mutants: the most inputs, two that learn, values kept. */
typedef struct {
    int inputs;
    bool two, saves;
} offer;

static offer offer_of(const ag_op *op) {
    offer o = {0};
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(params);
    for (int i = 0; sample_of_target(g, i); i++, ag_graph_reset(g))
        for (int n = 0; n < ag_count(g); n++) {
            const ag_node *node = ag_at(g, n);
            if (node->op != op) continue;
            if (node->n_in > o.inputs) o.inputs = node->n_in;
            o.saves |= node->n_save > 0;
            for (int k = 1; k < node->n_in; k++)
                o.two |= node->in[k] != node->in[0] && node->in[k]->wants_grad &&
                         node->in[0]->wants_grad;
        }
    ag_graph_free(g);
    ag_params_free(params);
    return o;
}

static bool is_applicable(const mutant *m, const offer *o) {
    if (m->op && strcmp(m->op, target->name) != 0) return false;
    return (m->kind != MUTANT_TWO_INPUTS || o->two) && (m->kind != MUTANT_SAVES || o->saves);
}

/* Checks one mutant on one input. Returns whether it counts; a survivor is named. */
static bool counts(const mutant *m, int input) {
    bool accepted = is_accepted(m, input);
    if (!mutant_differed()) return false;
    all++;
    if (!accepted) return rejected++, true;
    printf("survived: %s%s, input %d: %s\n", target->name, plain ? ", plain" : "", input, m->what);
    return true;
}

static void form_rejects_mutants(void) {
    const mutant unchanged = {0};
    assert_true(is_accepted(&unchanged, 0));
    offer o = offer_of(target);
    int counted = 0, rejected_before = rejected;
    for (const mutant *m = mutants; m->what; m++) {
        if (!is_applicable(m, &o)) continue;
        const int first = m->kind == MUTANT_SECOND  ? 1
                          : m->kind == MUTANT_THIRD ? 2
                                                    : 0,
                  end = m->kind == MUTANT_EACH_INPUT ? o.inputs : first + 1;
        for (int k = first; k < end; k++) counted += counts(m, k);
    }
    assert_true(counted >= LEAST_OF_AN_OP);
    assert_int_equal(rejected - rejected_before, counted);
}

/* Of its plain loops, and of its fast form if it has one. */
static void mutants_are_rejected(void **state) {
    target = *(const ag_op *const *)*state;
    assert_non_null(target->sample);
    if (!target->backward) return;  // nothing passes back: there is nothing to be spoiled
    plain = true;
    form_rejects_mutants();
    plain = false;
    if (ag_has_fast(target)) form_rejects_mutants();
}

static void every_mutant_has_its_op(void **state) {
    (void)state;
    for (const mutant *m = mutants; m->what; m++) {
        bool found = !m->op;
        for (int i = 0; ag_ops[i]; i++) found |= m->op && strcmp(ag_ops[i]->name, m->op) == 0;
        if (!found) fail_msg("the mutant '%s' of '%s' has no op", m->what, m->op);
    }
}

static void there_are_enough(void **state) {
    (void)state;
    printf("mutants rejected %d / %d\n", rejected, all);
    assert_true(all >= LEAST);
    assert_int_equal(rejected, all);
}

int main(void) {
    static struct CMUnitTest tests[MOST_OPS + 2] = {cmocka_unit_test(every_mutant_has_its_op)};
    size_t n = 1;
    for (int i = 0; ag_ops[i] && i < MOST_OPS; i++)
        tests[n++] = (struct CMUnitTest){ag_ops[i]->name, mutants_are_rejected, NULL, NULL,
                                         (void *)&ag_ops[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(there_are_enough);
    return check_run(tests, n);
}
