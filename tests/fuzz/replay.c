/* replay.c - what the fuzzers found worth keeping, as a test that needs no fuzzer: every file of
 * tests/fuzz/corpus/TARGET is given to its target, whole and cut at every length. Run from the root
 * of the tree. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/lib/check.h"
#include "train/config/config.h"
#include "train/io/io.h"

typedef struct {
    const char *dir;
    int (*target)(const uint8_t *data, size_t n);
    int files;
} corpus;

/* In a block of just that length, for sanitizers. */
static void give(const corpus *c, const void *data, size_t n) {
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    if (n) memcpy(copy, data, n);
    assert_int_equal(c->target(copy, n), 0);
    free(copy);
}

static bool replay_file(void *ctx, const char *name) {
    corpus *c = ctx;
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    void *data;
    size_t n = 0;
    if (!qkv_io_path(path, c->dir, name, error) ||
        qkv_io_read_file(&qkv_io_posix, NULL, path, 1 << 20, &data, &n, error) != QKV_IO_OK)
        fail_msg("%s", error);
    for (size_t k = 0; k <= n; k++) give(c, data, k);
    tensor_malloc.release(NULL, data);
    c->files++;
    return true;
}

/* Messages of the option parser go nowhere. */
static void replay(const char *dir, int (*target)(const uint8_t *data, size_t n)) {
    corpus c = {dir, target, 0};
    fflush(stdout);
    int nowhere = open("/dev/null", O_WRONLY), out = dup(1), err = dup(2);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    int listed = qkv_io_posix.list(NULL, dir, replay_file, &c);
    fflush(stdout);
    dup2(out, 1);
    dup2(err, 2);
    close(nowhere);
    close(out);
    close(err);
    assert_int_equal(listed, 0);
    assert_true(c.files > 5);
    print_message("    %d files of %s, cut at every length\n", c.files, dir);
}

static void files_of_tensors(void **state) {
    (void)state, replay("tests/fuzz/corpus/safetensors", fuzz_safetensors);
}
static void configurations(void **state) {
    (void)state, replay("tests/fuzz/corpus/config", fuzz_config);
}
static void command_lines(void **state) {
    (void)state, replay("tests/fuzz/corpus/options", fuzz_options);
}
static void examples(void **state) { (void)state, replay("tests/fuzz/corpus/corpus", fuzz_corpus); }

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(files_of_tensors),
    cmocka_unit_test(configurations),
    cmocka_unit_test(command_lines),
    cmocka_unit_test(examples),
};
CHECK_MAIN(tests)
