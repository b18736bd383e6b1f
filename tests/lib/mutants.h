/* mutants.h - deliberately wrong ops, to test the tests: the gradient check must refuse every one
 * of them.
 *
 * A mutant takes over an op's descriptor with one function replaced by one that runs the right one and
 * spoils what it did. Most are made for any op, a new one too. */
#ifndef TESTS_MUTANTS_H
#define TESTS_MUTANTS_H

#include "autograd/ag.h"

typedef enum {
    MUTANT_WHOLE,       // one mutant of the op
    MUTANT_EACH_INPUT,  // one for each input: what reaches that one is spoiled
    MUTANT_SECOND,      // one, for the second input
    MUTANT_THIRD,
    MUTANT_TWO_INPUTS,  // makes sense only with two inputs that learn
    MUTANT_SAVES,       // only where forward keeps something for backward
} mutant_kind;

typedef struct {
    const char *op;    // NULL: any op
    const char *what;  // is wrong
    mutant_kind kind;
    void (*forward)(ag_node *);  // NULL: the right one
    void (*backward)(ag_node *);
    int flaw;
    bool tracks;  // notices by itself whether it did anything otherwise
} mutant;

extern const mutant mutants[];  // `what` NULL ends it

/* The descriptor of a mutant of `right`, for one check at a time; `input` is the one it spoils. */
ag_op mutant_of(const mutant *m, const ag_op *right, int input);

/* Whether the mutant made last has done anything otherwise than the right op. "Only the last of
 * several contributions counts" is no error where there is but one: it does not count there. */
bool mutant_differed(void);

#endif
