/* shape.h - shapes and contiguous row-major tensors.
 *
 * A tensor never owns its memory: the arena it was taken from does. Every size in the library
 * comes from tensor_count(), which refuses overflow. What is written to must be given: not NULL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tensor/real.h"

TENSOR_C_BEGIN

#define TENSOR_MAXRANK 5

typedef struct {
    int rank;                 // 0: a scalar
    int dim[TENSOR_MAXRANK];  // dim[0] varies slowest; 0 is allowed
} tensor_shape;

typedef struct {
    tensor_shape shape;
    size_t n;  // number of elements
    real *x;   // row-major, contiguous, 64-byte aligned
} tensor;

/* The shape of `rank` dimensions given as ints: tensor_dims(3, B, T, D). A rank outside
 * 0..TENSOR_MAXRANK or a negative dimension gives rank -1, which tensor_count() refuses. */
tensor_shape tensor_dims(int rank, ...);

/* The number of elements, into *n. False on a bad rank, a negative dimension, or when the elements
 * (the non-zero dimensions, even if another one is 0) times sizeof(double) would not fit in a
 * size_t. */
bool tensor_count(tensor_shape s, size_t *n);

bool tensor_same_shape(tensor_shape a, tensor_shape b);

/* The last dimension (1 for a scalar), and the product of all others: a tensor seen as rows. */
int tensor_width(tensor_shape s);
size_t tensor_rows(tensor_shape s);

/* The shape as numpy broadcasts a with b; false if they do not fit. */
bool tensor_broadcast(tensor_shape a, tensor_shape b, tensor_shape *out);

/* Writes "[2,3,4]" into text and returns text. */
#define TENSOR_SHAPE_TEXT 64
char *tensor_shape_text(tensor_shape s, char text[TENSOR_SHAPE_TEXT]);

TENSOR_C_END
