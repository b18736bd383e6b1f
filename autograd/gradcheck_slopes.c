/* gradcheck_slopes.c - slopes by differences, and what they say close to where a slope bends or jumps.
 *
 * A difference over +-2h sees a knee (huber) or a kink (relu) that is as close as that, and is off then,
 * though backward is right. So where both disagree it is looked at more closely: with smaller steps,
 * which do not reach as far, and from either side. */
#include <math.h>

#include "autograd/gradcheck_internal.h"

static double loss(const ag_check *c, int k) {
    double sum = 0;
    for (size_t i = 0; i < c->root->val.n; i++)
        sum += (double)c->cotangent[k][i] * (double)c->root->val.x[i];
    return sum;
}

/* Sum of weight[j] L(x + shift[j] h) / h, for each loss. */
static void stencil(ag_check *c, real *x, int n, const double *shift, const double *weight,
                    double h, double out[CHECK_COTANGENTS]) {
    const real kept = *x;
    for (int k = 0; k < CHECK_COTANGENTS; k++) out[k] = 0;
    for (int j = 0; j < n; j++) {
        *x = (real)((double)kept + shift[j] * h);
        ag_forward(c->graph);
        for (int k = 0; k < CHECK_COTANGENTS; k++) out[k] += weight[j] * loss(c, k) / h;
    }
    *x = kept;
}

void ag_check_slopes(ag_check *c, real *x, double h, double out[CHECK_COTANGENTS]) {
    static const double shift[] = {-2, -1, 1, 2}, weight[] = {1 / 12., -8 / 12., 8 / 12., -1 / 12.};
    stencil(c, x, 4, shift, weight, h, out);
}

/* From x on in the direction of h. */
static void one_sided(ag_check *c, real *x, double h, double out[CHECK_COTANGENTS]) {
    static const double shift[] = {0, 1, 2}, weight[] = {-1.5, 2, -0.5};
    stencil(c, x, 3, shift, weight, h, out);
}

double ag_check_tolerance(double largest, double numeric) {
    return 1e-9 * (largest > 1 ? largest : 1) + 1e-7 * fabs(numeric);
}

/* What rounding may do to a slope over steps of h. */
static double rounding(const ag_check *c, int k, double h) {
    double size = 0;
    for (size_t i = 0; i < c->root->val.n; i++)
        size += fabs((double)c->cotangent[k][i] * (double)c->root->val.x[i]);
    return 1e-15 * size / h;
}

/* Is it the slope right here, or on one side of here, or between both where it jumps? */
static bool is_right_here(ag_check *c, real *x, int k, double analytic, double largest) {
    static const double side = 1e-5;
    double near[CHECK_COTANGENTS], left[CHECK_COTANGENTS], right[CHECK_COTANGENTS];
    double h = AG_CHECK_STEP;
    for (int i = 0; i < 4; i++) {
        h /= 4;
        ag_check_slopes(c, x, h, near);
        if (fabs(analytic - near[k]) <= ag_check_tolerance(largest, near[k]) + rounding(c, k, h))
            return true;
    }
    one_sided(c, x, -side, left);
    one_sided(c, x, side, right);
    const double tol = ag_check_tolerance(largest, analytic) + rounding(c, k, side),
                 jump = fabs(left[k] - right[k]);
    return fabs(analytic - left[k]) <= tol || fabs(analytic - right[k]) <= tol ||
           (jump > 0.05 * (fabs(left[k]) + fabs(right[k])) && analytic > fmin(left[k], right[k]) &&
            analytic < fmax(left[k], right[k]));
}

ag_check_point ag_check_look_closer(ag_check *c, real *x, int k, double analytic, double largest) {
    double left[CHECK_COTANGENTS], right[CHECK_COTANGENTS];
    const real kept = *x;
    if (!is_right_here(c, x, k, analytic, largest)) return AG_CHECK_WRONG;
    *x = (real)((double)kept - 3 * AG_CHECK_STEP);
    ag_check_slopes(c, x, AG_CHECK_STEP / 8, left);
    *x = (real)((double)kept + 3 * AG_CHECK_STEP);
    ag_check_slopes(c, x, AG_CHECK_STEP / 8, right);
    *x = kept;
    return fabs(left[k] - right[k]) > 0.05 * (fabs(left[k]) + fabs(right[k])) ? AG_CHECK_KINK
                                                                              : AG_CHECK_KNEE;
}

bool ag_check_moves(ag_check *c, real *x) {
    static const double far[] = {-1, 1, -1000, 1000};
    const real kept = *x;
    bool moved = false;
    for (int j = 0; j < 4 && !moved; j++) {
        *x = kept + (real)far[j];
        ag_forward(c->graph);
        moved = !ag_check_same_bits(c->again, c->root->val.x, c->root->val.n);
    }
    *x = kept;
    return moved;
}
