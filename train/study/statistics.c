/* statistics.c - means, shares and differences over seeds. */
#include "train/study/statistics.h"

#include <math.h>
#include <stdlib.h>

static const double normal = 1.959963984540054;  // the normal distribution's 97.5 %

qkv_study_mean qkv_study_mean_of(const double *x, int n) {
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    const double mean = n ? sum / n : (double)NAN;
    for (int i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
    return (qkv_study_mean){n, mean, n > 1 ? sqrt(squares / (n - 1)) : n ? 0 : (double)NAN};
}

qkv_study_interval qkv_study_wilson(int inside, int of) {
    const double z = normal, n = of, share = of ? inside / n : 0;
    if (!of) return (qkv_study_interval){0, 1};
    const double middle = share + z * z / (2 * n);
    const double half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
    return (qkv_study_interval){inside ? (middle - half) / (1 + z * z / n) : 0,
                                inside < of ? (middle + half) / (1 + z * z / n) : 1};
}

/* The share between -t and t, for whole degrees of freedom: Abramowitz and Stegun, 26.7.3 and 26.7.4. */
static double between(double t, int freedom) {
    const double angle = atan(t / sqrt(freedom)), c = cos(angle), s = sin(angle);
    const double half_turn = 1.5707963267948966;
    double term = freedom % 2 ? c : 1, sum = 0;
    for (int k = freedom % 2 ? 3 : 2; k <= freedom; k += 2) {
        sum += term;
        term *= c * c * (k - 1) / k;
    }
    return freedom % 2 ? (angle + s * sum) / half_turn : s * sum;
}

double qkv_study_student(int freedom) {
    double low = 0, high = 1;
    if (freedom < 1) return (double)NAN;
    while (between(high, freedom) < 0.95) high *= 2;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (between(middle, freedom) < 0.95)
            low = middle;
        else
            high = middle;
    }
    return high;
}

qkv_study_interval qkv_study_mean_interval(const qkv_study_mean *m) {
    if (m->n < 2) return (qkv_study_interval){(double)NAN, (double)NAN};
    const double half = qkv_study_student(m->n - 1) * m->sd / sqrt(m->n);
    return (qkv_study_interval){m->mean - half, m->mean + half};
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void qkv_study_sort(double *x, int n) { qsort(x, (size_t)n, sizeof *x, by_size); }

double qkv_study_quantile(const double *sorted, int n, double part) {
    if (n < 1) return (double)NAN;
    const double at = part * (n - 1);
    const int below = (int)floor(at), above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}
