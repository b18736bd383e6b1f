/* statistics.h - means, shares and differences over seeds, with what they may be by chance. */
#pragma once

typedef struct {
    double low, high;
} qkv_study_interval;

typedef struct {
    int n;
    double mean, sd;  // NaN: of none; 0: of one
} qkv_study_mean;

/* Of n numbers. */
qkv_study_mean qkv_study_mean_of(const double *x, int n);

/* The 95 % interval of a share of which `inside` of n were seen: Wilson, "Probable Inference", 1927,
 * equation 5. 0 and 1 for n = 0. */
qkv_study_interval qkv_study_wilson(int inside, int n);

/* The 95 % interval of a mean by Student's t. NaN for fewer than 2. */
qkv_study_interval qkv_study_mean_interval(const qkv_study_mean *m);

void qkv_study_sort(double *x, int n);  // the least first

/* The quantile of sorted numbers, between the two nearest (Hyndman and Fan's type 7). NaN: of none. */
double qkv_study_quantile(const double *sorted, int n, double part);

/* Student's t with so many degrees of freedom: the number below which 97.5 % are. */
double qkv_study_student(int freedom);
