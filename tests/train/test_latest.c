/* A run directory's checkpoints: the newest good one is found, old ones go, and saving or restoring
 * may fail at any call without harm. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/faults.h"
#include "train/io/safetensors.h"
#include "train/run/checkpoint.h"
#include "train/run/files.h"

static qkv_trainer *small_trainer(const tensor_allocator *mem, int seed) {
    qkv_config c;
    data_spec spec;
    char error[QKV_IO_ERROR];
    qkv_config_default(&c);
    qkv_config_choose(&c, "pairs", 2);
    qkv_config_choose(&c, "keys", 3);
    qkv_config_choose(&c, "values", 3);
    c.d_model = 2;
    c.batch = 1;
    c.seed = seed;
    if (!qkv_config_resolve(&c, &spec, error)) fail_msg("%s", error);
    qkv_trainer *t = qkv_trainer_new(mem, &c, &spec, 1, error);
    if (!t) fail_msg("%s", error);
    return t;
}

static void save(const qkv_trainer *t, int step) {
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    qkv_run_progress p = {step, -1, 0};
    faults plain;
    faults_init(&plain, 0, 0, false);
    assert_true(qkv_run_checkpoint_path(path, ".", step, error));
    if (!qkv_run_save(&plain.io, t, &p, path, error)) fail_msg("%s", error);
}

/* Cuts the last byte off a checkpoint. */
static void damage(const char *path) {
    void *data;
    size_t n;
    char error[QKV_IO_ERROR];
    assert_int_equal(qkv_io_read_file(&qkv_io_posix, NULL, path, 1 << 20, &data, &n, error),
                     QKV_IO_OK);
    faults_put(path, data, n - 1);
    tensor_malloc.release(NULL, data);
}

static void expect_latest(qkv_io_status status, const char *path, int skipped,
                          const char *sentence) {
    char found[QKV_IO_PATH] = "", error[QKV_IO_ERROR];
    int n;
    assert_int_equal(qkv_run_latest(&qkv_io_posix, NULL, ".", found, &n, error), status);
    if (path) assert_string_equal(found, path);
    assert_int_equal(n, skipped);
    if (strncmp(error, sentence, strlen(sentence))) fail_msg("%s\n and not %s", error, sentence);
    if (!*sentence) assert_string_equal(error, "");
}

static void the_newest_good_one_is_the_latest(void **state) {
    (void)state;
    char found[QKV_IO_PATH], error[QKV_IO_ERROR];
    int n;
    qkv_trainer *t = small_trainer(NULL, 1);
    expect_latest(QKV_IO_ABSENT, NULL, 0, "there is no checkpoint in '.'");
    assert_int_equal(qkv_run_latest(&qkv_io_posix, NULL, "none", found, &n, error),
                     QKV_IO_UNREADABLE);
    assert_string_equal(error, "cannot list 'none': No such file or directory");
    save(t, 0);
    expect_latest(QKV_IO_OK, "./step-00000000.safetensors", 0, "");
    save(t, 1000000000);  // one digit more than usual
    save(t, 99999999);
    save(t, 7);
    expect_latest(QKV_IO_OK, "./step-1000000000.safetensors", 0, "");
    const char *other[] = {"step-9999999999.safetensors",
                           "step-002000000000.safetensors",
                           "step-2.safetensors",
                           "step-.safetensors",
                           "step-00000009.safetensors~",
                           "step-00000009",
                           "best.safetensors",
                           "Step-00000009.safetensors",
                           "step--0000009.safetensors",
                           "step-2000000000.safetensors.tmp"};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) faults_put(other[i], "x", 1);
    expect_latest(QKV_IO_OK, "./step-1000000000.safetensors", 0, "");
    damage("step-1000000000.safetensors");
    faults_put("step-99999999.safetensors", "", 0);
    expect_latest(QKV_IO_OK, "./step-00000007.safetensors", 2,
                  "'./step-1000000000.safetensors' is damaged: it has ");
    damage("step-00000007.safetensors");
    damage("step-00000000.safetensors");
    expect_latest(QKV_IO_DAMAGED, NULL, 4, "'./step-1000000000.safetensors' is damaged: it has ");
    assert_true(qkv_io_make_directory(&qkv_io_posix, "step-00000005.safetensors", error));
    expect_latest(QKV_IO_UNREADABLE, NULL, 3,
                  "cannot read './step-00000005.safetensors': Is a directory");
    qkv_trainer_free(t);
}

static void others_safetensors_are_no_checkpoints(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    qkv_config c;
    qkv_io_note notes[] = {{"format", "pt"}, {"config", "{\"steps\": \"many\"}"}};
    assert_true(qkv_io_safetensors_write(&qkv_io_posix, NULL, "f", NULL, 0, notes, 1, error));
    assert_int_equal(qkv_run_checkpoint_check(&qkv_io_posix, NULL, "f", error), QKV_IO_DAMAGED);
    assert_string_equal(error, "'f' is no checkpoint: its format is 'pt', not 'qkv-checkpoint-1'");
    notes[0].value = "qkv-checkpoint-1";
    assert_true(qkv_io_safetensors_write(&qkv_io_posix, NULL, "f", NULL, 0, notes, 2, error));
    assert_int_equal(qkv_run_checkpoint_check(&qkv_io_posix, NULL, "f", error), QKV_IO_DAMAGED);
    assert_string_equal(error,
                        "'f' is no checkpoint of this model: it lacks 'state.step'; "
                        "it lacks 'state.best_step'; it lacks 'state.best_loss'");
    assert_int_equal(qkv_run_checkpoint_config(&qkv_io_posix, NULL, "f", NULL, &c, error),
                     QKV_IO_DAMAGED);
    assert_string_equal(
        error, "'f' is damaged: its 'config' is wrong: 'steps' has a value of the wrong type");
    assert_true(qkv_io_safetensors_write(&qkv_io_posix, NULL, "f", NULL, 0, notes, 1, error));
    assert_int_equal(qkv_run_checkpoint_config(&qkv_io_posix, NULL, "f", NULL, &c, error),
                     QKV_IO_DAMAGED);
    assert_string_equal(error, "'f' is damaged: it lacks 'config'");
}

/* ---- pruning ---- */

static bool is_there(int step) {
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    assert_true(qkv_run_checkpoint_path(path, ".", step, error));
    return access(path, F_OK) == 0;
}

static void old_ones_are_pruned(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    qkv_trainer *t = small_trainer(NULL, 1);
    for (int step = 0; step < 60; step += 10) save(t, step);
    faults_put("best.safetensors", "x", 1);
    faults_put(".qkv-1-0.tmp", "x", 1);
    damage("step-00000010.safetensors");
    damage("step-00000040.safetensors");
    assert_true(qkv_run_prune(&qkv_io_posix, NULL, ".", 9, error));
    assert_int_equal(faults_count(".", false), 7);  // all but the temporary one
    assert_true(qkv_run_prune(&qkv_io_posix, NULL, ".", 2, error));
    assert_true(is_there(50) && is_there(40) && is_there(30) && !is_there(20) && !is_there(10) &&
                !is_there(0));
    assert_true(qkv_run_prune(&qkv_io_posix, NULL, ".", 0, error));  // never the last one
    assert_true(is_there(50) && !is_there(40));
    assert_int_equal(faults_count(".", false), 2);
    assert_false(qkv_run_prune(&qkv_io_posix, NULL, "none", 2, error));
    assert_true(qkv_io_make_directory(&qkv_io_posix, "step-00000060.safetensors", error));
    save(t, 40);
    // Is 60 a good one? Then nothing is removed.
    assert_false(qkv_run_prune(&qkv_io_posix, NULL, ".", 1, error));
    assert_true(is_there(50) && is_there(40));
    qkv_trainer_free(t);
}

static void put_five(void *ctx) {
    for (int step = 1; step <= 5; step++) save(ctx, step);
    damage("step-00000004.safetensors");
}

static void prune_scenario(faults *f, void *ctx) {
    char error[QKV_IO_ERROR] = "", path[QKV_IO_PATH] = "";
    int skipped;
    (void)ctx;
    bool done = qkv_run_prune(&f->io, NULL, ".", 2, error);
    assert_true(is_there(5) && is_there(3));
    if (done) assert_true(!is_there(2) && !is_there(1));
    if (!f->failed) assert_true(done);
    if (!done) assert_true(error[0] != '\0');
    f->unlink_failed = false;  // no temporary file was there
    qkv_io_status status = qkv_run_latest(&f->io, NULL, ".", path, &skipped, error);
    assert_true(status == QKV_IO_OK || status == QKV_IO_UNREADABLE);
    if (status == QKV_IO_OK) assert_string_equal(path, "./step-00000005.safetensors");
    if (status != QKV_IO_OK) assert_true(f->failed && error[0] != '\0');
}

static void pruning_survives_every_failure(void **state) {
    (void)state;
    qkv_trainer *t = small_trainer(NULL, 1);
    faults_each(prune_scenario, put_five, t);
    qkv_trainer_free(t);
}

/* ---- the directory ---- */

/* While this one waits for its turn, another run begins and ends in the directory. */
static int lock_after_another(void *ctx, int fd) {
    (void)ctx;
    faults_put("run/config.json", "{}", 2);
    return qkv_io_posix.lock(NULL, fd);
}

static void a_directory_is_looked_at_under_its_lock(void **state) {
    char dir[QKV_IO_PATH], error[QKV_IO_ERROR] = "";
    int lock;
    qkv_io io = qkv_io_posix;
    qkv_run_options o = {.dir = "run"};
    (void)state;
    assert_int_equal(qkv_run_open_directory(&io, &o, dir, &lock, error), QKV_RUN_DONE);
    assert_string_equal(dir, "run");
    qkv_run_close_directory(&io, lock);
    io.lock = lock_after_another;
    assert_int_equal(qkv_run_open_directory(&io, &o, dir, &lock, error), QKV_RUN_FAILED);
    assert_non_null(strstr(error, "'run' is not empty"));
    assert_int_equal(lock, -1);
}

/* A file system which says that the one above is missing, whatever is made. */
static int nothing_can_be_made(void *ctx, const char *path) {
    (void)path;
    if (++*(int *)ctx > 1000) fail_msg("no end of it");
    return errno = strcmp(path, "/a") == 0 ? EEXIST : ENOENT, -1;
}

static void a_directory_that_cannot_be_made_ends(void **state) {
    char dir[QKV_IO_PATH], error[QKV_IO_ERROR];
    int calls = 0, lock;
    qkv_io io = qkv_io_posix;
    (void)state;
    io.mkdir = nothing_can_be_made;
    io.ctx = &calls;
    assert_false(qkv_io_make_directory(&io, "/a/b/c/d", error));
    assert_string_equal(error, "cannot make the directory '/a/b/c/d': No such file or directory");
    qkv_run_options o = {.prefix = "/a/b/c/d"};
    assert_int_equal(qkv_run_open_directory(&io, &o, dir, &lock, error), QKV_RUN_FAILED);
}

/* ---- what is NULL ---- */

/* No table of calls means the system's; what else is NULL is said. */
static void null_is_the_system_or_a_sentence(void **state) {
    char error[QKV_IO_ERROR], path[QKV_IO_PATH];
    int skipped;
    qkv_run_progress p = qkv_run_progress_start();
    qkv_trainer *t = small_trainer(NULL, 1);
    (void)state;
    p.step = 3;
    if (!qkv_run_save(NULL, t, &p, "step-00000003.safetensors", error)) fail_msg("%s", error);
    assert_int_equal(qkv_run_latest(NULL, NULL, ".", path, &skipped, error), QKV_IO_OK);
    assert_int_equal(qkv_run_restore(NULL, t, &p, path, error), QKV_IO_OK);
    assert_true(qkv_run_prune(NULL, NULL, ".", 1, error));
    assert_false(qkv_run_save(NULL, NULL, &p, "f", error));
    assert_string_equal(error, "qkv_run_save() was called with NULL for 't'");
    assert_false(qkv_run_save(NULL, t, NULL, "f", error));
    assert_string_equal(error, "qkv_run_save() was called with NULL for 'p'");
    assert_false(qkv_run_save(NULL, t, &p, NULL, error));
    assert_string_equal(error, "qkv_run_save() was called with NULL for 'path'");
    assert_int_equal(qkv_run_restore(NULL, NULL, &p, "f", error), QKV_IO_UNREADABLE);
    assert_string_equal(error, "qkv_run_restore() was called with NULL for 't'");
    assert_int_equal(qkv_run_restore(NULL, t, &p, NULL, error), QKV_IO_UNREADABLE);
    qkv_run_options o = {.dir = "run", .threads = 1, .keep = 2};
    qkv_run_summary out = {0};
    assert_int_equal(
        qkv_run_train(NULL, qkv_trainer_config(t), qkv_trainer_spec(t), &o, &out, error),
        QKV_RUN_DONE);
    qkv_run_opening opening = {.dir = "run", .threads = 1, .at = QKV_RUN_NEWEST};
    qkv_run_status status;
    qkv_trainer *again = qkv_run_open_at(NULL, &opening, &p, &status, error);
    assert_non_null(again);
    qkv_trainer_free(again);
    qkv_trainer_free(t);
}

/* ---- saving and restoring ---- */

/* A trainer with one state, a file with another's. */
typedef struct {
    check_allocator memory;
    qkv_trainer *mine, *other;
    real here, there;  // one weight of each
} pair;

static real *weight(qkv_trainer *t) { return ag_params_at(qkv_trainer_params(t), 0)->val.x; }

static void pair_init(pair *p) {
    check_allocator_init(&p->memory, 0, false);
    p->mine = small_trainer(&p->memory.mem, 1);
    p->other = small_trainer(NULL, 2);
    p->here = *weight(p->mine);
    p->there = *weight(p->other);
    assert_true(p->here != p->there);
}

static void pair_free(pair *p) {
    qkv_trainer_free(p->mine);
    qkv_trainer_free(p->other);
    assert_int_equal(p->memory.live, 0);
}

static void put_other(void *ctx) {
    pair *p = ctx;
    save(p->other, 1);
    *weight(p->mine) = p->here;
}

/* Saves over the other's file: then that one, or this one's whole, is there. */
static void save_scenario(faults *f, void *ctx) {
    pair *p = ctx;
    char error[QKV_IO_ERROR] = "", why[QKV_IO_ERROR] = "";
    f->renamed = false;
    const char *path = "step-00000001.safetensors";
    qkv_run_progress progress = {1, -1, 0};
    bool done = qkv_run_save(&f->io, p->mine, &progress, path, error);
    if (!done) assert_non_null(strstr(error, "step-00000001.safetensors': "));
    if (!f->failed && !p->memory.fail_at) assert_true(done);
    p->memory.fail_at = 0;
    if (qkv_run_restore(&qkv_io_posix, p->mine, &progress, path, why) != QKV_IO_OK)
        fail_msg("%s", why);
    assert_true(*weight(p->mine) == (done || f->renamed ? p->here : p->there));
}

static void restore_scenario(faults *f, void *ctx) {
    pair *p = ctx;
    char error[QKV_IO_ERROR] = "";
    qkv_run_progress progress = {0, -1, 5};
    qkv_io_status status =
        qkv_run_restore(&f->io, p->mine, &progress, "step-00000001.safetensors", error);
    assert_true(*weight(p->mine) == (status == QKV_IO_OK ? p->there : p->here));
    assert_int_equal(progress.step, status == QKV_IO_OK);
    if (!f->failed && !p->memory.fail_at) assert_int_equal(status, QKV_IO_OK);
    if (status == QKV_IO_OK) return;
    assert_int_equal(status, QKV_IO_UNREADABLE);
    assert_non_null(strstr(error, "step-00000001.safetensors'"));
}

/* The same with each allocation failing. */
static void each_allocation(void (*scenario)(faults *f, void *ctx), pair *p) {
    faults plain;
    faults_init(&plain, 0, 0, false);
    put_other(p);
    long before = p->memory.calls, live = p->memory.live;
    scenario(&plain, p);
    long calls = p->memory.calls - before;
    assert_true(calls > 0);
    for (long n = 1; n <= calls; n++)
        for (int from_then_on = 0; from_then_on <= 1; from_then_on++) {
            put_other(p);
            p->memory.fail_at = p->memory.calls + n;
            p->memory.from_then_on = from_then_on;
            scenario(&plain, p);
            p->memory.fail_at = 0;
            assert_int_equal(p->memory.live, live);
        }
}

static void saving_survives_every_failure(void **state) {
    (void)state;
    pair p;
    pair_init(&p);
    faults_each(save_scenario, put_other, &p);
    each_allocation(save_scenario, &p);
    pair_free(&p);
}

static void restoring_survives_every_failure(void **state) {
    (void)state;
    pair p;
    pair_init(&p);
    faults_each(restore_scenario, put_other, &p);
    each_allocation(restore_scenario, &p);
    pair_free(&p);
}

static const struct CMUnitTest tests[] = {
    faults_test(the_newest_good_one_is_the_latest),
    faults_test(others_safetensors_are_no_checkpoints),
    faults_test(old_ones_are_pruned),
    faults_test(pruning_survives_every_failure),
    faults_test(a_directory_is_looked_at_under_its_lock),
    faults_test(a_directory_that_cannot_be_made_ends),
    faults_test(null_is_the_system_or_a_sentence),
    faults_test(saving_survives_every_failure),
    faults_test(restoring_survives_every_failure),
};
CHECK_MAIN(tests)
