/* scalar.h - elementary functions of one double, from + - * / and sqrt alone: the same bits with every
 * compiler, C library and processor, unlike libm's, whose last digits differ. For whatever decides what
 * a training does: rates, corrections, positions. For bulk there are vectors (exp.h, log.h). */
#pragma once

#include "tensor/linkage.h"

TENSOR_C_BEGIN

/* Within 2 units of the last place; NaN stays NaN. */
double tensor_exp(double x);
double tensor_log(double x);    // -infinity at 0, NaN below
double tensor_log1p(double x);  // log(1 + x) of an x from 0 on, a small one too

/* x^y of a finite x > 0, within 3 units of the last place; 0^y is 0 for y > 0. */
double tensor_pow(double x, double y);

/* Of an angle up to 2^20, within 2 units of the last place of 1; beyond, less and less exact. */
double tensor_sin(double x);
double tensor_cos(double x);

TENSOR_C_END
