/* Killed at any instant: no checkpoint is torn, none is lost that was reported as saved, and the
 * run goes on to the bits of one that was left alone. A writer that overwrites in place must be
 * caught at it.
 *
 * KILLS in the environment: how many kills at random instants each test makes (60 when it is not
 * set; with 1000 or more, a run is also killed at every single file call). QKV is the program's
 * path. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/faults.h"
#include "train/io/safetensors.h"
#include "train/run/run.h"

enum { STEPS = 5, KEEP = 2 };

static uint64_t state_of_random = 1;

static uint32_t below(uint32_t n) {
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state_of_random >> 33) * n >> 31);
}

static long kills(void) {
    const char *text = getenv("KILLS");
    long n = text ? atol(text) : 60;
    return n > 0 ? n : 60;
}

static void sleep_us(long us) {
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

/* A child that does `work` and ends without what would be the test's. */
static pid_t start(void (*work)(void *ctx), void *ctx) {
    fflush(stdout);
    fflush(stderr);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child) return child;
    work(ctx);
    _exit(0);
}

/* True when it was killed, false when it had ended by itself, well. */
static bool end(pid_t child, bool kill_it) {
    int status;
    if (kill_it) kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("a child ended with status %d", status);
    return false;
}

/* ---- comparing runs ---- */

static size_t without_clock(char *text, size_t n) {
    size_t length = 0, comma = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == ',') comma = length;
        if (text[i] == '\n') length = comma;
        text[length++] = text[i];
    }
    return length;
}

/* How a run saves is no part of what comes out. */
static size_t without_saving(char *text, size_t n) {
    char *at = strstr(text, "\"save_every\""), *end = at ? strchr(at, '\n') : NULL;
    if (!end) return n;
    memmove(at, end, n - (size_t)(end - text));
    return n - (size_t)(end - at);
}

static void expect_same_file(const char *a, const char *b, const char *name) {
    void *x[2];
    size_t n[2];
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    for (int i = 0; i < 2; i++) {
        assert_true(qkv_io_path(path, i ? b : a, name, error));
        if (qkv_io_read_file(&qkv_io_posix, NULL, path, 1 << 24, &x[i], &n[i], error) != QKV_IO_OK)
            fail_msg("%s", error);
        if (strcmp(name, "metrics.csv") == 0) n[i] = without_clock(x[i], n[i]);
        if (strcmp(name, "config.json") == 0) n[i] = without_saving(x[i], n[i]);
    }
    if (n[0] != n[1] || memcmp(x[0], x[1], n[0]) != 0)
        fail_msg("%s of %s and %s differ", name, a, b);
    for (int i = 0; i < 2; i++) tensor_malloc.release(NULL, x[i]);
}

/* The tensors alone: best.safetensors also holds the configuration of the process that saved it,
 * --steps included. */
static void expect_same_data(const char *a, const char *b, const char *name) {
    qkv_io_safetensors s[2];
    char path[2][QKV_IO_PATH], error[QKV_IO_ERROR];
    for (int i = 0; i < 2; i++)
        if (!qkv_io_path(path[i], i ? b : a, name, error) ||
            qkv_io_safetensors_open(&s[i], &qkv_io_posix, NULL, path[i], error) != QKV_IO_OK ||
            qkv_io_safetensors_load(&s[i], error) != QKV_IO_OK)
            fail_msg("%s", error);
    if (s[0].data_bytes != s[1].data_bytes || memcmp(s[0].data, s[1].data, s[0].data_bytes) != 0)
        fail_msg("%s of %s and %s differ", name, a, b);
    for (int i = 0; i < 2; i++) qkv_io_safetensors_close(&s[i]);
}

static void expect_same_run(const char *a, const char *b, int steps) {
    char last[64];
    snprintf(last, sizeof last, "step-%08d.safetensors", steps);
    expect_same_file(a, b, last);
    expect_same_data(a, b, "best.safetensors");
    expect_same_file(a, b, "metrics.csv");
    expect_same_file(a, b, "config.json");
}

static void remove_directory(const char *dir) {
    char command[QKV_IO_PATH];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

/* ---- the newest checkpoint ---- */

/* Its step, 0: there is none. A damaged one is a failure, or, when `torn` is given, is counted. */
static int newest(const char *dir, int *torn) {
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    int skipped;
    qkv_io_status s = qkv_run_latest(&qkv_io_posix, NULL, dir, path, &skipped, error);
    if (torn)
        *torn += skipped > 0;
    else if (skipped || (s != QKV_IO_OK && s != QKV_IO_ABSENT))
        fail_msg("%s", error);
    return s == QKV_IO_OK ? atoi(strrchr(path, '/') + 6) : 0;
}

/* ---- a process that does nothing but save ---- */

typedef struct {
    qkv_trainer *t;
    qkv_io io;
    int report[2];  // the steps for which qkv_run_save() returned true
} saver;

static qkv_config small_config(data_spec *spec) {
    qkv_config c;
    char error[QKV_IO_ERROR];
    qkv_config_default(&c);
    qkv_config_choose(&c, "pairs", 2);
    qkv_config_choose(&c, "keys", 3);
    qkv_config_choose(&c, "values", 3);
    c.d_model = 8;
    c.batch = 4;
    c.steps = STEPS;
    c.eval_every = 2;
    c.eval_examples = 4;
    if (!qkv_config_resolve(&c, spec, error)) fail_msg("%s", error);
    return c;
}

/* Every weight is the step's number, so that a mixture of two steps would show. */
static void set_weights(qkv_trainer *t, int step) {
    ag_params *all = qkv_trainer_params(t);
    for (int i = 0; i < ag_params_count(all); i++) {
        const ag_param_entry *p = ag_params_at(all, i);
        for (size_t k = 0; k < p->val.n; k++) p->val.x[k] = (real)step;
    }
}

static void save_for_ever(void *ctx) {
    saver *s = ctx;
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    int skipped;
    qkv_run_progress p = qkv_run_progress_start();
    if (qkv_run_latest(&qkv_io_posix, NULL, ".", path, &skipped, error) == QKV_IO_OK)
        qkv_run_restore(&qkv_io_posix, s->t, &p, path, error);
    // what earlier ones left goes before the first report, for which the killer waits
    if (!qkv_run_prune(&qkv_io_posix, NULL, ".", KEEP, error)) _exit(1);
    for (;;) {
        p.best_step = ++p.step;
        set_weights(s->t, p.step);
        if (!qkv_run_checkpoint_path(path, ".", p.step, error) ||
            !qkv_run_save(&s->io, s->t, &p, "./best.safetensors", error) ||
            !qkv_run_save(&s->io, s->t, &p, path, error) ||
            write(s->report[1], &p.step, sizeof p.step) != sizeof p.step ||
            !qkv_run_prune(&s->io, NULL, ".", KEEP, error))
            _exit(1);
    }
}

/* The last step reported; waits for the first one for at most 20 s. */
static int last_report(int fd, int last, bool wait_for_it) {
    struct pollfd p = {fd, POLLIN, 0};
    for (int step;
         poll(&p, 1, wait_for_it ? 20000 : 0) > 0 && read(fd, &step, sizeof step) == sizeof step;) {
        last = step;
        wait_for_it = false;
    }
    return last;
}

/* Is it whole: a checkpoint of one step, not older than the promised? */
static bool is_whole(saver *s, const char *path, int promised) {
    char error[QKV_IO_ERROR];
    qkv_run_progress p;
    if (qkv_run_restore(&qkv_io_posix, s->t, &p, path, error) != QKV_IO_OK) return false;
    ag_params *all = qkv_trainer_params(s->t);
    for (int i = 0; i < ag_params_count(all); i++)
        for (size_t k = 0; k < ag_params_at(all, i)->val.n; k++)
            if (ag_params_at(all, i)->val.x[k] != (real)p.step) return false;
    return p.step >= promised;
}

/* Starts the saver, kills it after a while. True: all that was promised is there, nothing torn. */
static bool survives_a_kill(saver *s, int *promised) {
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    int torn = 0;
    pid_t child = start(save_for_ever, s);
    *promised = last_report(s->report[0], *promised, true);
    sleep_us(below(8000));
    end(child, true);
    *promised = last_report(s->report[0], *promised, false);
    int found = newest(".", &torn);
    assert_true(qkv_run_checkpoint_path(path, ".", found, error));
    assert_true(faults_count(".", false) < 12);  // temporary files and old ones go
    return !torn && found >= *promised && is_whole(s, path, *promised) &&
           is_whole(s, "./best.safetensors", *promised);
}

static saver saver_new(void) {
    data_spec spec;
    char error[QKV_IO_ERROR];
    qkv_config c = small_config(&spec);
    saver s = {.t = qkv_trainer_new(NULL, &c, &spec, 1, error), .io = qkv_io_posix};
    assert_non_null(s.t);
    assert_int_equal(pipe(s.report), 0);
    return s;
}

static void saver_free(saver *s) {
    qkv_trainer_free(s->t);
    close(s->report[0]);
    close(s->report[1]);
}

static void no_promised_checkpoint_is_lost(void **state) {
    (void)state;
    saver s = saver_new();
    int promised = 0;
    for (long i = 0; i < kills(); i++)
        if (!survives_a_kill(&s, &promised))
            fail_msg("kill %ld: not what was promised, step %d", i + 1, promised);
    print_message(
        "    %ld kills of a process that saves, %d checkpoints promised, none lost, none torn\n",
        kills(), promised);
    saver_free(&s);
}

static int no_sync(void *ctx, int fd) { return (void)ctx, (void)fd, 0; }

static int write_in_place(void *ctx, const char *from, const char *to) {
    char part[256];
    int in = open(from, O_RDONLY | O_CLOEXEC),
        out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    (void)ctx;
    for (ssize_t n; (n = read(in, part, sizeof part)) > 0;)
        if (write(out, part, (size_t)n) != n) _exit(1);
    close(in);
    close(out);
    return unlink(from);
}

static void overwriting_in_place_is_caught(void **state) {
    (void)state;
    saver s = saver_new();
    int torn = 0;
    long n = 0, caught = 0, most = kills() < 500 ? 500 : kills();
    s.io.rename = write_in_place;
    s.io.sync = no_sync;
    for (int promised = 0; n < most && (n < kills() || !caught); n++) {
        bool fine = survives_a_kill(&s, &promised);
        caught += !fine;
        if (!fine) promised = newest(".", &torn);  // the next one starts from there
    }
    print_message("    overwriting in place: caught in %ld of %ld kills\n", caught, n);
    assert_true(caught > 0);
    saver_free(&s);
}

/* ---- a run that kills itself at a file call ---- */

typedef struct {
    qkv_io io;
    long calls, die_at;  // 0: never
    bool resume;
    const char *dir;
} victim;

static void call(void *ctx) {
    victim *v = ctx;
    if (++v->calls == v->die_at) kill(getpid(), SIGKILL);
}

static int v_open(void *ctx, const char *path, int flags) {
    return call(ctx), qkv_io_posix.open(NULL, path, flags);
}
static ssize_t v_read(void *ctx, int fd, void *to, size_t n) {
    return call(ctx), qkv_io_posix.read(NULL, fd, to, n);
}
static int v_size(void *ctx, int fd, uint64_t *n) {
    return call(ctx), qkv_io_posix.size(NULL, fd, n);
}
static int v_truncate(void *ctx, int fd, uint64_t n) {
    return call(ctx), qkv_io_posix.truncate(NULL, fd, n);
}
static int v_sync(void *ctx, int fd) {
    return (void)fd, call(ctx), 0;
}  // a kill takes nothing back that was written
static int v_close(void *ctx, int fd) { return call(ctx), qkv_io_posix.close(NULL, fd); }
static int v_rename(void *ctx, const char *from, const char *to) {
    return call(ctx), qkv_io_posix.rename(NULL, from, to);
}
static int v_unlink(void *ctx, const char *path) {
    return call(ctx), qkv_io_posix.unlink(NULL, path);
}
static int v_mkdir(void *ctx, const char *path) {
    return call(ctx), qkv_io_posix.mkdir(NULL, path);
}
static int v_lock(void *ctx, int fd) { return call(ctx), qkv_io_posix.lock(NULL, fd); }
static int v_list(void *ctx, const char *dir, qkv_io_name_fn *each, void *each_ctx) {
    return call(ctx), qkv_io_posix.list(NULL, dir, each, each_ctx);
}

/* Dies with half of the bytes written. */
static ssize_t v_write(void *ctx, int fd, const void *from, size_t n) {
    victim *v = ctx;
    if (v->calls + 1 == v->die_at && qkv_io_posix.write(NULL, fd, from, n / 2) < 0) _exit(1);
    call(ctx);
    return qkv_io_posix.write(NULL, fd, from, n);
}

static void run_victim(void *ctx) {
    victim *v = ctx;
    data_spec spec;
    qkv_config c = small_config(&spec);
    qkv_run_summary summary = {0};
    char error[QKV_IO_ERROR];
    v->io = (qkv_io){v_open,
                     v_read,
                     v_write,
                     v_size,
                     v_truncate,
                     v_sync,
                     v_close,
                     v_rename,
                     v_unlink,
                     v_mkdir,
                     v_lock,
                     v_list,
                     qkv_io_posix.target,
                     qkv_io_posix.claim,
                     v};
    qkv_run_options o = {
        .dir = v->dir, .threads = 1, .resume = v->resume, .save_every = 1, .keep = KEEP};
    if (qkv_run_train(&v->io, &c, &spec, &o, &summary, error) == QKV_IO_OK) return;
    fprintf(stderr, "%s\n", error);
    _exit(1);
}

static void a_run_killed_at_a_call_goes_on(void **state) {
    (void)state;
    victim whole = {.dir = "whole"};
    run_victim(&whole);
    long n = 0, most = kills();
    for (long i = 0; i < (most >= 1000 ? whole.calls : most); i++, n++) {
        long at = most >= 1000 ? i + 1 : 1 + below((uint32_t)whole.calls);
        victim killed = {.dir = "killed", .die_at = at}, next = {.dir = "killed", .resume = true};
        assert_true(end(start(run_victim, &killed), false));
        if (access("killed", F_OK) == 0) newest("killed", NULL);
        assert_false(end(start(run_victim, &next), false));
        expect_same_run("whole", "killed", STEPS);
        remove_directory("killed");
    }
    print_message("    a run killed at %ld of its %ld file calls, gone on to the same bits\n", n,
                  whole.calls);
}

/* ---- the program ---- */

/* Arguments of qkv train. */
typedef struct {
    const char *dir, *steps, *save_every;
    const char *from;  // NULL, or RUN@STEP
    bool resume;
} program;

/* Is there a run to go on with, or was it killed before it had begun? */
static bool has_begun(const char *dir) {
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    return qkv_io_path(path, dir, "config.json", error) && access(path, F_OK) == 0;
}

static void run_program(void *ctx) {
    const program *p = ctx;
    const char *qkv = getenv("QKV");
    const char *args[32] = {"qkv",          "train",       "--out",     p->dir, "--steps", p->steps,
                            "--save-every", p->save_every, "--threads", "1",    "--quiet"};
    static const char *const own[] = {"--eval-examples", "4", "--d-model", "8",
                                      "--batch",         "4", "--dropout", "0.1"};
    int n = 11;
    args[n++] = p->resume ? "--resume" : "--force";
    if (p->from) args[n++] = "--from", args[n++] = p->from;
    for (size_t i = 0; !p->resume && !p->from && i < sizeof own / sizeof *own; i++)
        args[n++] = own[i];
    execv(qkv, (char *const *)args);
    _exit(127);
}

static void need_program(void) {
    const char *qkv = getenv("QKV");
    if (!qkv || access(qkv, X_OK) != 0) skip();
}

static void twice_n_steps_in_two_processes(void **state) {
    (void)state;
    need_program();
    for (int n = 0; n <= 20; n++) {
        char once[16], twice[16];
        snprintf(once, sizeof once, "%d", n);
        snprintf(twice, sizeof twice, "%d", 2 * n);
        program p = {
            .dir = "whole", .steps = twice, .save_every = once};  // the best one of the same saves
        assert_false(end(start(run_program, &p), false));
        p = (program){.dir = "halves", .steps = once, .save_every = "0"};
        assert_false(end(start(run_program, &p), false));
        p = (program){.dir = "halves", .steps = twice, .save_every = "0", .resume = true};
        assert_false(end(start(run_program, &p), false));
        expect_same_run("whole", "halves", 2 * n);
        remove_directory("whole");
        remove_directory("halves");
    }
    print_message("    N + N steps are 2N, for N from 0 to 20\n");
}

static long now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* What was seen in a directory stays, or is followed by something newer. Returns the newest step. */
static int look_after(long kill, const char *dir, int seen) {
    if (access(dir, F_OK) != 0) return 0;
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    int is = newest(dir, NULL);
    if (is < seen) fail_msg("kill %ld: %s had step %d, and now it is step %d", kill, dir, seen, is);
    assert_true(qkv_io_path(path, dir, "best.safetensors", error));
    if (seen && qkv_run_checkpoint_check(&qkv_io_posix, NULL, path, error) != QKV_IO_OK)
        fail_msg("kill %ld: %s", kill, error);
    return is;
}

/* Two runs, killed again and again: one goes on with itself, the other begins from it, goes on, and is
 * thrown away. The instants are such that about every second time something more has been saved. */
static void a_killed_program_loses_nothing(void **state) {
    (void)state;
    need_program();
    static const char *const dirs[] = {"run", "other"};
    int seen[2] = {0}, begun = 0;
    uint32_t withins[] = {
        60000, 60000};  // to go on with a run; to begin from another one, which takes longer
    long i = 1;
    for (; i <= kills() || (begun == 0 && i <= 20 * kills()); i++) {
        bool other = seen[0] && below(3) == 0;
        if (other && below(4) == 0 && access("other", F_OK) == 0) {
            remove_directory("other");
            seen[1] = 0;
        }
        program p = {.dir = dirs[other], .steps = "100000000", .save_every = "1"};
        p.resume = has_begun(p.dir);
        if (other && !p.resume) p.from = "run";
        uint32_t *within = &withins[p.from != NULL];
        pid_t child = start(run_program, &p);
        sleep_us(below(*within));
        int torn = 0, before = seen[other];
        if (access(p.dir, F_OK) == 0) {
            int is = newest(p.dir, &torn);  // may be removed while it is looked at
            if (is > seen[other]) seen[other] = is;
        }
        end(child, true);
        for (int k = 0; k < 2; k++) seen[k] = look_after(i, dirs[k], seen[k]);
        bool more = seen[other] > before;
        begun += more && p.from;
        if (!more && *within < 4000000) *within += *within / 4;
        if (more && *within > 20000) *within -= *within / 5;
    }
    print_message(
        "    %ld kills of qkv train --save-every 1, up to step %d, %d of them of a run that "
        "had begun from it, none lost, none torn\n",
        i - 1, seen[0], begun);
    assert_true(seen[0] > kills() / 8);
    assert_true(begun > 0);
}

/* Kills `points` trainings to step 30 at random instants; each goes on to the bits of one that was
 * left alone. */
static void kill_and_go_on(const char *from, long points) {
    program p = {.dir = "whole", .steps = "30", .save_every = "1", .from = from};
    long killed = 0, began = now_us();
    assert_false(end(start(run_program, &p), false));
    long takes = now_us() - began;
    for (long tries = 0; killed < points && tries < 20 * points; tries++) {
        p = (program){.dir = "killed", .steps = "30", .save_every = "1", .from = from};
        pid_t child = start(run_program, &p);
        sleep_us((long)below((uint32_t)takes));
        if (end(child, true))
            killed++;
        else
            takes -= takes / 4;  // the first one was slow, for the machine had other work
        p.resume = has_begun("killed");
        if (p.resume) p.from = NULL;
        assert_false(end(start(run_program, &p), false));
        expect_same_run("whole", "killed", 30);
        remove_directory("killed");
    }
    remove_directory("whole");
    print_message(
        "    qkv train%s killed at %ld random instants, each time gone on to the same bits\n",
        from ? " --from" : "", killed);
    assert_int_equal(killed, points);
}

static void a_killed_program_goes_on_to_the_same_bits(void **state) {
    (void)state;
    need_program();
    kill_and_go_on(NULL, kills() / 12 < 50 ? kills() / 12 : 50);
}

/* One that began at a step which its source has no checkpoint of. */
static void a_killed_program_from_another_run_goes_on(void **state) {
    (void)state;
    need_program();
    program p = {.dir = "source", .steps = "20", .save_every = "4"};
    assert_false(end(start(run_program, &p), false));
    kill_and_go_on("source@10", kills() / 12 < 50 ? kills() / 12 : 50);
}

static const struct CMUnitTest tests[] = {
    faults_test(no_promised_checkpoint_is_lost),
    faults_test(overwriting_in_place_is_caught),
    faults_test(a_run_killed_at_a_call_goes_on),
    faults_test(twice_n_steps_in_two_processes),
    faults_test(a_killed_program_loses_nothing),
    faults_test(a_killed_program_goes_on_to_the_same_bits),
    faults_test(a_killed_program_from_another_run_goes_on),
};

/* A kill takes nothing back that was written, on whatever disk: the quick test saves its time. */
int main(void) {
    if (kills() < 1000 && !getenv("TMPDIR") && access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
    return check_run(tests, sizeof tests / sizeof *tests);
}
