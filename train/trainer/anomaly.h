/* anomaly.h - where a number that is not finite came from. */
#pragma once

#include "autograd/ag.h"

TENSOR_C_BEGIN

/* The node that first made a number which is not finite. */
typedef struct {
    const ag_node *node;  // NULL: every number of the graph is finite
    const ag_node *of;    // NULL: it is in the node's value; else in the gradient of this input
} qkv_trainer_anomaly;

/* Are all values of the graph finite, and all gradients that its last backward pass computed? */
bool qkv_trainer_all_finite(ag_graph *g);

/* The first node in forward order whose value is not finite; if there is none, the first in
 * backward order whose backward made a gradient not finite. Call it after ag_backward(), with no
 * earlier gradients in the buffer of the parameters; gradients are not to be used afterwards. */
qkv_trainer_anomaly qkv_trainer_first_not_finite(ag_graph *g);

/* What was found, as the second half of a sentence: "the first value that is not finite is in node
 * 'layer0.attn.scores' (scores), forward". Returns out. */
char *qkv_trainer_anomaly_text(qkv_trainer_anomaly a, char *out, size_t size);

/* The first parameter that holds a number which is not finite, or NULL. */
const ag_param_entry *qkv_trainer_first_bad_parameter(ag_params *p);

TENSOR_C_END
