/* gradcheck_apart.h - the gradient check of a plugin's code. */
#pragma once

#include "autograd/gradcheck.h"

/* ag_gradcheck_op(), or (op NULL) ag_gradcheck(), in a process of its own: code that crashes, or ends its
 * process, is wrong, and the report says what it was doing. */
bool cli_gradcheck_apart(const ag_op *op, ag_sample_fn *sample, bool has_kinks,
                         ag_check_report *report);
