/* muon.h - one step of Muon for a matrix; internal to optim/. */
#pragma once

#include "train/optim/optimizer.h"

/* As qkv_optim_method.matrix says. */
void qkv_optim_muon(const qkv_optim_rule *r, real decay, int rows, int cols, real *w, const real *g,
                    real *const m[QKV_OPTIM_MOMENTS], real *scratch);

/* x [rows,cols] becomes nearly the nearest matrix whose singular values are 1 (they end between 0.68
 * and 1.13; a singular value of 0 stays). scratch: 3 rows cols. */
void qkv_optim_orthogonalise(int rows, int cols, real *x, real *scratch);
