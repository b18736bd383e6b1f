/* mutants_internal.h - what mutants are made of: mutants_spoil.c runs the right function, mutants.c
 * spoils what it did. */
#ifndef TESTS_MUTANTS_INTERNAL_H
#define TESTS_MUTANTS_INTERNAL_H

#include "autograd/op.h"
#include "tests/lib/mutants.h"

/* The mutant under check. */
typedef struct {
    const ag_op *right;
    int input, flaw;
    bool differed;
} mutant_state;
extern mutant_state mutant_now;

#define EACH(statement) \
    for (size_t i = 0; i < n; i++) statement

void *mutant_take(size_t count, size_t size);  // zeroed; never NULL

/* A copy of what stands in the gradient of a node: zeros if nothing was added yet. */
real *mutant_gradient(const ag_node *in);

/* The right op, as it runs in that node: by its fast form, or by its plain loops. */
void mutant_right_forward(ag_node *node);
void mutant_right_backward(ag_node *node);

/* Runs the right backward, then has `how` change what it added to the mutant's input. keep_before: what
 * stood there stays. */
typedef void mutant_spoiler(const ag_node *node, const ag_node *in, real *added, size_t n);
void mutant_spoil(ag_node *node, mutant_spoiler *how, bool keep_before);

/* Runs the right backward with `wanted` as the only input that learns, or with all but that one. */
void mutant_backward_for(ag_node *node, const ag_node *wanted, bool only);

/* Runs it under another gradient of the result. */
void mutant_under(ag_node *node, real (*other)(real));

/* Runs it, but what reaches the mutant's input comes from those results alone that `counts` names. */
void mutant_part(ag_node *node, bool (*counts)(const ag_node *node, size_t i));

/* A number among the op's arguments: "factor":0.5; 1 if there is none. */
double mutant_argument(const ag_node *node, const char *name);

#endif
