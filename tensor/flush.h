/* flush.h - subnormal numbers taken for 0, in the calling thread, while numbers are computed in bulk.
 *
 * An operation on a number below the smallest normal one takes a hundred times as long on many
 * processors. Weights, moments and gradients of a long training decay into that range, so what a step
 * costs would depend on its numbers; what they contribute is lost in rounding. Between
 * tensor_flush_begin() and tensor_flush_end() such operands and results are 0.
 *
 * Who trains, evaluates or probes begins when its thread takes up work, and ends before anything else of
 * the program's runs there; what is computed outside has gradual underflow, as IEEE 754 says.
 *
 * Processors differ in what is tiny (before rounding or after it), and WebAssembly has no such mode. A
 * portable build (ARCH=portable), whose bits are the same everywhere, therefore leaves it off: there,
 * as everywhere, the optimiser makes 0 of what decays below the smallest normal number in moments and
 * weights, and softmax of a weight below it, so that subnormal numbers do not last. */
#pragma once

#include <stdint.h>

#include "tensor/linkage.h"

TENSOR_C_BEGIN

/* The thread's state before, for tensor_flush_end(). They nest. */
typedef struct {
    uint64_t control;
} tensor_flush;

tensor_flush tensor_flush_begin(void);
void tensor_flush_end(tensor_flush before);

/* Whether the processor and the build have the mode. */
int tensor_flush_works(void);

TENSOR_C_END
