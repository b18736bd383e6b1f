/* The tests' own tools: what must fail does fail. */
#include "tests/lib/check.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

/* The exit status of a program of n times the same test, run in a silent child process. */
static int status_of(void (*body)(void **), size_t n) {
    static struct CMUnitTest copies[300];
    for (size_t i = 0; i < n; i++) copies[i] = (struct CMUnitTest){"inner", body, NULL, NULL, NULL};
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        bool silent = freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr);
        _exit(silent ? check_run(copies, n) : 2);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void pass(void **state) { (void)state; }

/* Test bodies which must fail. */
#define WRONG(name, statement)       \
    static void name(void **state) { \
        (void)state;                 \
        statement;                   \
    }

WRONG(off, assert_close(1.0, 1.1, 0.09))
WRONG(off_below, assert_close(1.1, 1.0, 0.09))
WRONG(nan_actual, assert_close(NAN, 1, 1e300))
WRONG(nan_expected, assert_close(1, NAN, INFINITY))
WRONG(nan_allowed, assert_close(1, 1, NAN))
WRONG(two_infinities, assert_close(INFINITY, INFINITY, 1))
WRONG(endless_tolerance, assert_close(1, 2, INFINITY))
WRONG(beyond_float, assert_close(1 + 1e-12, 1, 1e-13))

static void close_is_strict(void **state) {
    (void)state;
    assert_close(1, 1, 0);
    assert_close(1.0, 1.1, 0.11);
    assert_close(1.1f, 1.1, 1e-7);
    void (*const wrong[])(void **) = {off,         off_below,      nan_actual,   nan_expected,
                                      nan_allowed, two_infinities, beyond_float, endless_tolerance};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(status_of(wrong[i], 1), 1);
}

static const double BITS[] = {1, 0.0, NAN};
static const double OTHER_ZERO[] = {1, -0.0, NAN}, OTHER_END[] = {1, 0.0, 2};

WRONG(minus_zero, assert_same_bits(BITS, OTHER_ZERO, 3))
WRONG(no_element, assert_same_bits(BITS, BITS, 0))
WRONG(last_element, assert_same_bits(BITS, OTHER_END, 3))

static void same_bits_is_strict(void **state) {
    (void)state;
    assert_same_bits(BITS, BITS, 3);
    assert_same_bits(BITS, OTHER_END, 2);
    assert_same_bits(BITS, OTHER_ZERO, 1);
    assert_int_equal(status_of(minus_zero, 1), 1);
    assert_int_equal(status_of(last_element, 1), 1);
    assert_int_equal(status_of(no_element, 1), 1);
}

static void exit_status_is_0_or_1(void **state) {
    (void)state;
    assert_int_equal(status_of(pass, 3), 0);
    assert_int_equal(status_of(pass, 0), 1);
    assert_int_equal(status_of(off, 256), 1);  // cmocka would return 256, which is 0 to the shell
    assert_int_equal(status_of(off, 257), 1);
}

static void allocator_counts_and_fails(void **state) {
    (void)state;
    for (int from_then_on = 0; from_then_on <= 1; from_then_on++) {
        check_allocator c;
        check_allocator_init(&c, 3, from_then_on);
        void *block[6] = {NULL};
        for (int i = 1; i <= 5; i++) {
            block[i] = c.mem.alloc(c.mem.ctx, (size_t)i);
            assert_int_equal(block[i] == NULL, from_then_on ? i >= 3 : i == 3);
        }
        assert_int_equal(c.calls, 5);
        assert_int_equal(c.live, from_then_on ? 2 : 4);
        assert_int_equal(c.bytes, from_then_on ? 3 : 12);
        for (int i = 1; i <= 5; i++)
            if (block[i]) c.mem.release(c.mem.ctx, block[i]);
        assert_int_equal(c.live, 0);
        assert_int_equal(c.bytes, 0);
    }
    check_allocator c;
    check_allocator_init(&c, 0, false);
    assert_null(c.mem.alloc(c.mem.ctx, SIZE_MAX / 2));
}

/* Two blocks; what goes wrong when the second is refused is chosen by *ctx. */
enum habit { GOOD, LEAKS, DOES_NOT_TELL, GIVES_UP_ALWAYS };

static bool two_blocks(const tensor_allocator *mem, void *ctx) {
    enum habit habit = *(enum habit *)ctx;
    void *a = mem->alloc(mem->ctx, 1);
    if (!a) return false;
    void *b = mem->alloc(mem->ctx, 1);
    if (b) mem->release(mem->ctx, b);
    if (b || habit != LEAKS) mem->release(mem->ctx, a);
    return habit == DOES_NOT_TELL || (b && habit != GIVES_UP_ALWAYS);
}

WRONG(leaks, check_every_failure(two_blocks, &(enum habit){LEAKS}))
WRONG(does_not_tell, check_every_failure(two_blocks, &(enum habit){DOES_NOT_TELL}))
WRONG(gives_up, check_every_failure(two_blocks, &(enum habit){GIVES_UP_ALWAYS}))

static bool no_block(const tensor_allocator *mem, void *ctx) { return (void)mem, (void)ctx, true; }
WRONG(nothing_to_fail, check_every_failure(no_block, NULL))

static void every_failure_is_checked(void **state) {
    (void)state;
    check_every_failure(two_blocks, &(enum habit){GOOD});
    assert_int_equal(status_of(leaks, 1), 1);
    assert_int_equal(status_of(does_not_tell, 1), 1);
    assert_int_equal(status_of(gives_up, 1), 1);
    assert_int_equal(status_of(nothing_to_fail, 1), 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(close_is_strict),          cmocka_unit_test(same_bits_is_strict),
    cmocka_unit_test(exit_status_is_0_or_1),    cmocka_unit_test(allocator_counts_and_fails),
    cmocka_unit_test(every_failure_is_checked),
};
CHECK_MAIN(tests)
