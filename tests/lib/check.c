/* check.c - what every test program shares. */
#include "tests/lib/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void check_close(double actual, double expected, double tol, const char *what, const char *file,
                 int line) {
    double error = fabs(actual - expected);
    if (error <= tol && tol <= DBL_MAX)
        return;  // never written as `error > tol`: that is false for NaN
    print_error("%s is %.17g, expected %.17g: off by %.3g, allowed %.3g\n", what, actual, expected,
                error, tol);
    _fail(file, line);
}

static void print_bytes(const unsigned char *p, size_t size) {
    for (size_t i = 0; i < size; i++) print_error("%02x", p[i]);
}

void check_same_bits(const void *a, const void *b, size_t n, size_t size, const char *what,
                     const char *file, int line) {
    if (n == 0) {
        print_error("no elements of %s to compare\n", what);
        _fail(file, line);
    }
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
    for (size_t i = 0; i < n; i++, x += size, y += size) {
        if (memcmp(x, y, size) == 0) continue;
        print_error("%s[%zu] has the bytes ", what, i);
        print_bytes(x, size);
        print_error(", expected ");
        print_bytes(y, size);
        print_error("\n");
        _fail(file, line);
    }
}

int check_run(const struct CMUnitTest *tests, size_t n) {
    setvbuf(stdout, NULL, _IOLBF, 0);  // in step with stderr, and nothing lost in a crash
    printf("registered %zu\n", n);
    return _cmocka_run_group_tests("tests", tests, n, NULL, NULL) != 0 || n == 0;
}

/* A block is preceded by this header, padded to the alignment. */
typedef struct {
    size_t size;
    uint64_t mark;  // tells our blocks from other pointers and from ones already released
} header;

enum { ALIGN = 64, RUBBISH = 0xa5 };
static const size_t LARGEST = (size_t)1 << 30;
static const uint64_t MARK = 0x6b636f6c62656572u;

static void *failing_alloc(void *ctx, size_t size) {
    check_allocator *c = (check_allocator *)ctx;
    c->calls++;
    assert_true(size > 0);
    bool fails = c->from_then_on ? c->calls >= c->fail_at : c->calls == c->fail_at;
    void *raw;
    if ((c->fail_at && fails) || size > LARGEST || posix_memalign(&raw, ALIGN, ALIGN + size))
        return NULL;
    memset(raw, RUBBISH, ALIGN + size);
    *(header *)raw = (header){size, MARK};
    c->live++;
    c->bytes += size;
    return (char *)raw + ALIGN;
}

static void failing_release(void *ctx, void *block) {
    check_allocator *c = (check_allocator *)ctx;
    assert_non_null(block);
    header *h = (header *)(void *)((char *)block - ALIGN);
    assert_true(h->mark == MARK);
    h->mark = 0;
    c->live--;
    c->bytes -= h->size;
    free(h);
}

void check_allocator_init(check_allocator *c, long fail_at, bool from_then_on) {
    *c = (check_allocator){.mem = {failing_alloc, failing_release, c},
                           .fail_at = fail_at,
                           .from_then_on = from_then_on};
}

void check_every_failure(bool (*scenario)(const tensor_allocator *mem, void *ctx), void *ctx) {
    check_allocator c;
    check_allocator_init(&c, 0, false);
    bool done = scenario(&c.mem, ctx);
    if (!done || c.live != 0)
        fail_msg("with memory enough: returned %d, %ld blocks left", done, c.live);
    if (c.calls == 0) fail_msg("no allocation was made: none can fail");
    for (long n = 1, calls = c.calls; n <= calls; n++)
        for (int from_then_on = 0; from_then_on <= 1; from_then_on++) {
            check_allocator_init(&c, n, from_then_on);
            done = scenario(&c.mem, ctx);
            if (done || c.live != 0)
                fail_msg("allocation %ld of %ld failed%s: returned %d, %ld blocks left", n, calls,
                         from_then_on ? " and all later ones" : "", done, c.live);
        }
}
