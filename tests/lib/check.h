/* check.h - what every test program shares: cmocka with the headers it needs, comparisons which NaN
 * cannot pass, the main function, and an allocator which fails on demand. Link with check.c. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tensor/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

#include <cmocka.h>  // includes nothing itself, and does not say extern "C"

/* |actual - expected| <= tol, in double. NaN fails, and so do infinities, as a tolerance too: ask for
 * those by isnan() and isinf(). (cmocka's assert_float_equal compares as float and lets NaN pass.) */
#define assert_close(actual, expected, tol) \
    check_close((double)(actual), (double)(expected), tol, #actual, __FILE__, __LINE__)
void check_close(double actual, double expected, double tol, const char *what, const char *file,
                 int line);

/* The first n elements of the arrays a and b, of one type, are the same bits: 0 is not -0, a NaN
 * equals itself. No elements are not the same: nothing would be compared. */
#define assert_same_bits(a, b, n)      \
    ((void)sizeof(&(a)[0] == &(b)[0]), \
     check_same_bits(a, b, n, sizeof *(a), #a, __FILE__, __LINE__))
void check_same_bits(const void *a, const void *b, size_t n, size_t size, const char *what,
                     const char *file, int line);

/* The main function of a test program: runs the array `tests` of struct CMUnitTest. First prints
 * "registered N", so that the runner can tell a program which stopped half-way. Exits with 1 when a
 * test failed or none is there (cmocka alone returns the number of failures, and an exit status is
 * taken modulo 256). */
#define CHECK_MAIN(tests) \
    int main(void) { return check_run(tests, sizeof(tests) / sizeof *(tests)); }
int check_run(const struct CMUnitTest *tests, size_t n);

/* An allocator which counts and fails on demand, for one thread. Its blocks are full of rubbish and
 * exactly as long as asked, so that a sanitizer sees one byte too many. Beyond 1 GiB is refused. */
typedef struct {
    tensor_allocator mem;  // what the library is given: &c->mem
    long fail_at;          // the call which fails, counted from 1; 0: none
    bool from_then_on;     // and all calls after it
    long calls, live;      // calls so far, failed ones too; blocks not yet released
    size_t bytes;          // in the live blocks
} check_allocator;

void check_allocator_init(check_allocator *c, long fail_at, bool from_then_on);

/* Runs `scenario` with memory enough, then with each of its allocations failing in turn: that one
 * alone, and that one with all later ones. Each time it must return true if and only if no
 * allocation failed, and leave no block. It must make at least one. */
void check_every_failure(bool (*scenario)(const tensor_allocator *mem, void *ctx), void *ctx);

#ifdef __cplusplus
}
#endif
#endif
