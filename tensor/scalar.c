/* scalar.c - series on a short interval, and what brings an argument there. Compiled without fused
 * multiply-add (Makefile). */
#include "tensor/scalar.h"

#include <math.h>

#define ROUND    0x1.8p52  // adding it rounds to an integer
#define LN2_HIGH 0x1.62e42fefap-1
#define LN2_LOW  0x1.cf79abc9e3b3ap-40

/* x = n ln 2 + r, |r| <= ln(2)/2: e^x = 2^n e^r, by Taylor's series. ldexp is exact. */
double tensor_exp(double x) {
    if (!(x < 710)) return x * INFINITY;  // infinite, or NaN
    if (x < -750) return 0;
    const double n = (x * 1.4426950408889634 + ROUND) - ROUND;
    const double r = (x - n * LN2_HIGH) - n * LN2_LOW;
    double tail = 0;
    for (int k = 14; k >= 2; k--) tail = (1 + tail) * r / k;
    return ldexp(1 + (r + r * tail), (int)n);
}

/* ln x of a positive finite x, as a sum of two. x = m 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2
 * atanh(s), s = (m - 1) / (m + 1). */
static double logarithm(double x, double *low) {
    int e;
    double m = frexp(x, &e);
    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    const double f = m - 1, s = f / (2 + f), z = s * s, half = 0.5 * f * f;
    double sum = 0;
    for (int k = 23; k >= 3; k -= 2) sum = (sum + 2.0 / k) * z;
    const double whole = e * LN2_HIGH, high = whole + f, added = high - whole;
    const double rounded = (whole - (high - added)) + (f - added);
    const double rest = ((s * (half + sum) + e * LN2_LOW) - half) + rounded, y = high + rest;
    *low = (high - y) + rest;
    return y;
}

double tensor_log(double x) {
    if (!(x > 0)) return x == 0 ? -INFINITY : NAN;
    if (x == INFINITY) return x;
    double low;
    return logarithm(x, &low);
}

/* 1 + x is rounded; what that takes from x it takes from the logarithm, too. */
double tensor_log1p(double x) {
    const double sum = 1 + x;
    return sum == 1 ? x : tensor_log(sum) * x / (sum - 1);
}

/* fma is exact, in hardware or not. */
double tensor_pow(double x, double y) {
    if (y == 0) return 1;
    if (x == 0) return 0;
    double low;
    const double high = logarithm(x, &low), product = y * high;
    const double rest = y * low + fma(y, high, -product), power = tensor_exp(product);
    return power + power * rest;
}

/* What is left of x after n quarter turns, |r| <= pi/4: pi/2 in three parts, of which n times the first two
 * is exact. */
static double quarter_turns(double x, int *n) {
    const double turns = (x * 0x1.45f306dc9c883p-1 + ROUND) - ROUND;
    *n = (int)fmod(turns, 4);
    return ((x - turns * 0x1.921fb544p+0) - turns * 0x1.0b4611a6p-34) -
           turns * 0x1.3198a2e037073p-69;
}

static double sine_series(double r) {
    double tail = 0;
    for (int k = 18; k >= 2; k -= 2) tail = -(1 + tail) * r * r / (k * (k + 1));
    return r + r * tail;
}

static double cosine_series(double r) {
    double tail = 0;
    for (int k = 19; k >= 3; k -= 2) tail = -(1 + tail) * r * r / (k * (k + 1));
    return 1 - 0.5 * r * r * (1 + tail);
}

static double turned(double x, int ahead) {
    int n;
    const double r = quarter_turns(x, &n);
    n = (n + ahead) & 3;
    const double y = n & 1 ? cosine_series(r) : sine_series(r);
    return n & 2 ? -y : y;
}

double tensor_sin(double x) { return turned(x, 0); }
double tensor_cos(double x) { return turned(x, 1); }
