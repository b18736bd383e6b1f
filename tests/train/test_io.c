/* Files: written whole or not at all, whatever call fails; read with suspicion; rows appended
 * whole; harmless messages. */
#include "train/io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/faults.h"
#include "train/config/config.h"

static const char OLD[] = "what was there", NEW[] = "what is to be there, and is longer";

static void put_old(void *ctx) {
    (void)ctx;
    faults_put("file", OLD, sizeof OLD);
}

static void write_scenario(faults *f, void *ctx) {
    char error[QKV_IO_ERROR] = "";
    (void)ctx;
    bool done = qkv_io_write_file(&f->io, "file", NEW, sizeof NEW, error);
    if (done || f->renamed)
        faults_expect("file", NEW, sizeof NEW);
    else
        faults_expect("file", OLD, sizeof OLD);
    bool survivable =
        !f->failed || f->how == FAULT_SHORT || (f->how == FAULT_FULL && !f->from_then_on) ||
        (f->how == EINTR && !f->from_then_on && f->failed_call != 'N') ||
        (f->how == EINTR && f->failed_call == 'C' && !strcmp(f->trace, "OKWSNCOSC")) ||
        (f->failed_call == 'K' && f->failed == 1);  // a file system without locks
    if (done != survivable)
        fail_msg("errno %d, calls %s: returned %d: %s", f->how, f->trace, done, error);
    if (!done) assert_non_null(strstr(error, "'file': "));
}

static void a_write_survives_every_failure(void **state) {
    (void)state;
    faults f;
    faults_init(&f, 0, 0, false);
    put_old(NULL);
    write_scenario(&f, NULL);
    // Open, lock, write, sync, rename, close; the directory: open, sync, close.
    assert_string_equal(f.trace, "OKWSNCOSC");
    faults_each(write_scenario, put_old, NULL);
}

static void read_scenario(faults *f, void *ctx) {
    char error[QKV_IO_ERROR] = "";
    void *data;
    size_t n;
    check_allocator *c = ctx;
    check_allocator_init(c, 0, false);
    qkv_io_status status = qkv_io_read_file(&f->io, &c->mem, "file", 100, &data, &n, error);
    bool survivable = !f->failed || f->how == FAULT_SHORT || f->failed_call == 'C' ||
                      (f->how == EINTR && !f->from_then_on) ||
                      (f->how == FAULT_ZERO && !strcmp(f->trace, "OZRRC") &&
                       f->fail_at == 4);  // the end, at the end
    if (f->how == EINTR && f->failed_call == 'Z') survivable = false;
    if ((status == QKV_IO_OK) != survivable)
        fail_msg("way %d, %s: %d, %s", f->how, f->trace, status, error);
    if (status == QKV_IO_OK) {
        assert_memory_equal(data, OLD, n);
        assert_int_equal(((char *)data)[n], 0);
        c->mem.release(c->mem.ctx, data);
    } else {
        assert_int_equal(status, QKV_IO_UNREADABLE);
        assert_non_null(strstr(error, "'file'"));
        assert_null(data);
    }
    assert_int_equal(c->live, 0);
}

static void a_read_survives_every_failure(void **state) {
    (void)state;
    check_allocator c;
    faults_each(read_scenario, put_old, &c);
    faults f;
    char error[QKV_IO_ERROR];
    void *data;
    size_t n;
    faults_init(&f, 0, 0, false);
    check_allocator_init(&c, 1, true);
    assert_int_equal(qkv_io_read_file(&f.io, &c.mem, "file", 100, &data, &n, error),
                     QKV_IO_UNREADABLE);
    assert_string_equal(error, "cannot read 'file': Cannot allocate memory");
}

static void expect_refusal(const char *path, size_t most, qkv_io_status status,
                           const char *sentence) {
    char error[QKV_IO_ERROR];
    void *data;
    size_t n;
    int before = faults_descriptors();
    assert_int_equal(qkv_io_read_file(&qkv_io_posix, NULL, path, most, &data, &n, error), status);
    assert_string_equal(error, sentence);
    assert_int_equal(faults_descriptors(), before);
}

static void what_is_no_file_is_not_read(void **state) {
    (void)state;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    faults_put("long", NEW, 11);
    expect_refusal("none", 10, QKV_IO_ABSENT, "cannot open 'none': No such file or directory");
    expect_refusal("long/x", 10, QKV_IO_UNREADABLE, "cannot open 'long/x': Not a directory");
    expect_refusal(".", 10, QKV_IO_UNREADABLE, "cannot read '.': Is a directory");
    expect_refusal("fifo", 10, QKV_IO_UNREADABLE, "'fifo' is not a regular file");
    expect_refusal("/dev/zero", 10, QKV_IO_UNREADABLE, "'/dev/zero' is not a regular file");
    expect_refusal("/proc/self/stat", 10, QKV_IO_UNREADABLE,
                   "'/proc/self/stat' changed while it was read");
    expect_refusal("long", 10, QKV_IO_DAMAGED, "'long' is longer than 10 bytes");
}

static void sizes_read_back(void **state) {
    (void)state;
    static unsigned char big[3 << 20];
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, sizeof big};
    char error[QKV_IO_ERROR], *paths[] = {"f", "./f", "d/f"};
    for (size_t i = 0; i < sizeof big; i++) big[i] = (unsigned char)(i * 31 >> 3);
    assert_true(qkv_io_make_directory(&qkv_io_posix, "d", error));
    for (size_t p = 0; p < 3; p++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            if (!qkv_io_write_file(&qkv_io_posix, paths[p], big, sizes[i], error))
                fail_msg("%s", error);
            faults_expect(paths[p], big, sizes[i]);
        }
    assert_int_equal(faults_count(".", false), 2);
    assert_int_equal(faults_count("d", false), 1);
}

static void the_system_may_refuse_a_write(void **state) {
    (void)state;
    char error[QKV_IO_ERROR], name[300];
    put_old(NULL);
    assert_int_equal(mkdir("dir", 0777), 0);
    assert_false(qkv_io_write_file(&qkv_io_posix, "dir", NEW, 1, error));
    assert_string_equal(error, "cannot write 'dir': Is a directory");
    assert_false(qkv_io_write_file(&qkv_io_posix, "none/f", NEW, 1, error));
    assert_string_equal(
        error, "cannot create a temporary file beside 'none/f': No such file or directory");
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = 0;
    assert_false(qkv_io_write_file(&qkv_io_posix, name, NEW, 1, error));
    struct rlimit was, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    limit = was;
    limit.rlim_cur = 20;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    bool done = qkv_io_write_file(&qkv_io_posix, "file", NEW, sizeof NEW, error);
    setrlimit(RLIMIT_FSIZE, &was);
    signal(SIGXFSZ, before);
    assert_false(done);
    assert_string_equal(error, "cannot write 'file': File too large");
    faults_expect("file", OLD, sizeof OLD);
    assert_int_equal(faults_count(".", true), 0);
}

static int die(void *ctx, int fd) {
    (void)ctx, (void)fd;
    _exit(7);
}

static void a_killed_writer_leaves_the_old_file(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    int status;
    put_old(NULL);
    pid_t child = fork();
    if (child == 0) {
        qkv_io io = qkv_io_posix;
        io.sync = die;
        qkv_io_write_file(&io, "file", NEW, sizeof NEW, error);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    faults_expect("file", OLD, sizeof OLD);
    assert_int_equal(faults_count(".", true), 1);
}

static void names_in_use_are_passed_over(void **state) {
    (void)state;
    char name[64], error[QKV_IO_ERROR];
    snprintf(name, sizeof name, ".qkv-%ld-0.tmp", (long)getpid());
    faults_put(name, OLD, sizeof OLD);
    assert_true(qkv_io_write_file(&qkv_io_posix, "file", NEW, sizeof NEW, error));
    faults_expect(name, OLD, sizeof OLD);
    faults_expect("file", NEW, sizeof NEW);
}

/* What a write to `path` says; NULL: it was done. */
static const char *write_says(const char *path) {
    static char error[QKV_IO_ERROR];
    return qkv_io_write_file(NULL, path, NEW, sizeof NEW, error) ? NULL : error;
}

static void expect_kind(const char *path, mode_t kind) {
    struct stat s;
    assert_int_equal(lstat(path, &s), 0);
    if ((s.st_mode & S_IFMT) != kind) fail_msg("'%s' was replaced", path);
}

static void links_and_devices_stay_what_they_are(void **state) {
    (void)state;
    assert_int_equal(mkdir("far", 0777) | symlink("file", "link") | symlink("link", "second") |
                         symlink("far/new", "dangling") | symlink("round", "round") |
                         symlink("/dev/full", "full") | symlink("/dev/null", "null"),
                     0);
    put_old(NULL);
    assert_null(write_says("second"));
    assert_null(write_says("dangling"));
    faults_expect("file", NEW, sizeof NEW);
    faults_expect("far/new", NEW, sizeof NEW);
    assert_null(write_says("null"));
    assert_string_equal(write_says("full"), "cannot write 'full': No space left on device");
    assert_string_equal(write_says("round"),
                        "cannot write 'round': Too many levels of symbolic links");
    assert_string_equal(write_says(""), "cannot write '': No such file or directory");
    assert_string_equal(write_says(NULL), "qkv_io_write_file() was called with NULL for 'path'");
    static const char *const links[] = {"link", "second", "dangling", "round", "full", "null"};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) expect_kind(links[i], S_IFLNK);
    assert_int_equal(faults_count(".", true) + faults_count("far", true), 0);
}

static void a_pipe_and_a_descriptor_are_written_to(void **state) {
    char to[64], bytes[2 * sizeof NEW];
    int ends[2];
    (void)state;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    int reader = open("fifo", O_RDONLY | O_NONBLOCK);
    assert_null(write_says("fifo"));
    expect_kind("fifo", S_IFIFO);
    assert_int_equal(read(reader, bytes, sizeof bytes), sizeof NEW);
    assert_memory_equal(bytes, NEW, sizeof NEW);
    close(reader);
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < 2; i++) {
        snprintf(to, sizeof to, "%s/%d", i ? "/dev/fd" : "/proc/self/fd", ends[1]);
        assert_null(write_says(to));
        assert_int_equal(read(ends[0], bytes, sizeof bytes), sizeof NEW);
    }
    close(ends[0]), close(ends[1]);
    assert_non_null(strstr(write_says(to), "Bad file descriptor"));
    int fd = open("log", O_WRONLY | O_CREAT, 0600);  // behind what is there already
    assert_int_equal(write(fd, OLD, sizeof OLD), sizeof OLD);
    snprintf(to, sizeof to, "/dev/fd/%d", fd);
    assert_null(write_says(to));
    close(fd);
    memcpy(bytes, OLD, sizeof OLD), memcpy(bytes + sizeof OLD, NEW, sizeof NEW);
    faults_expect("log", bytes, sizeof OLD + sizeof NEW);
}

/* Of a run's own files other names keep what they had, as a backup by links wants it; those of a file that a
 * user names show the new content. */
static void hard_links(void **state) {
    char error[QKV_IO_ERROR];
    bool device = true;
    (void)state;
    put_old(NULL);
    assert_int_equal(link("file", "other"), 0);
    assert_true(qkv_io_write_output(NULL, "file", NEW, sizeof NEW, &device, error) && !device);
    faults_expect("other", NEW, sizeof NEW);
    put_old(NULL);
    assert_int_equal(unlink("other") | link("file", "other"), 0);
    assert_null(write_says("file"));
    faults_expect("file", NEW, sizeof NEW);
    faults_expect("other", OLD, sizeof OLD);
    assert_true(qkv_io_write_output(NULL, "/dev/null", NEW, sizeof NEW, &device, error) && device);
}

static int no_lock(void *ctx, int fd) { return (void)ctx, (void)fd, errno = ENOLCK, -1; }

/* One that nobody holds goes, whoever's number it has; a living one's stays. */
static void temporary_files_are_swept_by_their_lock(void **state) {
    char error[QKV_IO_ERROR], mine[64];
    (void)state;
    snprintf(mine, sizeof mine, ".qkv-%ld-0.tmp", (long)getpid());
    faults_put(mine, OLD, sizeof OLD);
    faults_put(".qkv-kept", OLD, sizeof OLD);
    faults_put("kept.tmp", OLD, sizeof OLD);
    assert_true(qkv_io_write_file(NULL, "file", NEW, sizeof NEW, error));
    assert_int_equal(faults_count(".", true), 1);  // only a sweep removes it
    qkv_io quiet = qkv_io_posix;
    quiet.lock = no_lock;  // without locks nothing is swept
    assert_int_equal(qkv_io_sweep(&quiet, "."), 0);
    assert_int_equal(faults_count(".", true), 1);
    assert_true(
        qkv_io_make_directory(NULL, ".", error));  // as every command does with its directory
    assert_int_equal(faults_count(".", true), 0);
    assert_int_equal(faults_count(".", false), 3);
}

static int sweep_meanwhile(void *ctx, int fd) {
    int *calls = ctx;
    (void)fd;
    if ((*calls)++ == 0) {
        faults_put(".qkv-1-0.tmp", OLD, sizeof OLD);
        assert_int_equal(faults_count(".", true), 2);
        assert_int_equal(qkv_io_sweep(NULL, "."), 0);
        assert_int_equal(faults_count(".", true), 1);  // the one that is being written
    }
    return 0;
}

static int swept_before(void *ctx, int fd) {
    if ((*(int *)ctx)++ == 0) assert_int_equal(qkv_io_sweep(NULL, "."), 0);
    return qkv_io_posix.lock(NULL, fd);
}

/* A sweep while a file is written; and one before its lock is taken, which removes it: then once more. */
static void a_writer_is_not_disturbed(void **state) {
    char error[QKV_IO_ERROR];
    int calls = 0;
    (void)state;
    qkv_io io = qkv_io_posix;
    io.sync = sweep_meanwhile;
    io.ctx = &calls;
    assert_true(qkv_io_write_file(&io, "file", NEW, sizeof NEW, error));
    faults_expect("file", NEW, sizeof NEW);
    assert_int_equal(faults_count(".", true), 0);
    unlink("file");
    io = qkv_io_posix;
    io.lock = swept_before;
    io.ctx = &calls;
    calls = 0;
    assert_true(qkv_io_write_file(&io, "file", NEW, sizeof NEW, error));
    assert_int_equal(calls, 2);
    faults_expect("file", NEW, sizeof NEW);
}

static void descriptors_close_on_exec(void **state) {
    (void)state;
    int fd = qkv_io_posix.open(NULL, "lock", O_RDWR | O_CREAT),
        other = qkv_io_posix.open(NULL, "lock", O_RDWR);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(qkv_io_posix.lock(NULL, fd), 0);
    assert_int_equal(qkv_io_posix.lock(NULL, other), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    close(fd);
    assert_int_equal(qkv_io_posix.lock(NULL, other), 0);
    close(other);
}

static void make_scenario(faults *f, void *ctx) {
    char error[QKV_IO_ERROR];
    (void)ctx;
    bool done = qkv_io_make_directory(&f->io, "a/b//c/", error);
    if (done) assert_int_equal(faults_count("a/b/c", false), 0);
    if (!f->failed) assert_true(done);
    if (!done) assert_non_null(strstr(error, "'a"));
}

static void no_directories(void *ctx) {
    (void)ctx;
    rmdir("a/b/c");
    rmdir("a/b");
    rmdir("a");
}

static void directories_are_made_with_those_above(void **state) {
    (void)state;
    char error[QKV_IO_ERROR], *good[] = {"x", "x", "x/y", "x/y/", "p//q///r", "/", ".", "x/../z"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!qkv_io_make_directory(&qkv_io_posix, good[i], error)) fail_msg("%s", error);
    faults_put("file", OLD, sizeof OLD);
    assert_false(qkv_io_make_directory(&qkv_io_posix, "file/x", error));
    assert_string_equal(error, "cannot make the directory 'file/x': Not a directory");
    assert_false(qkv_io_make_directory(&qkv_io_posix, "", error));
    faults_each(make_scenario, no_directories, NULL);
}

static const struct CMUnitTest tests[] = {
    faults_test(a_write_survives_every_failure),
    faults_test(a_read_survives_every_failure),
    faults_test(what_is_no_file_is_not_read),
    faults_test(sizes_read_back),
    faults_test(the_system_may_refuse_a_write),
    faults_test(a_killed_writer_leaves_the_old_file),
    faults_test(names_in_use_are_passed_over),
    faults_test(links_and_devices_stay_what_they_are),
    faults_test(a_pipe_and_a_descriptor_are_written_to),
    faults_test(hard_links),
    faults_test(temporary_files_are_swept_by_their_lock),
    faults_test(a_writer_is_not_disturbed),
    faults_test(descriptors_close_on_exec),
    faults_test(directories_are_made_with_those_above),
};
CHECK_MAIN(tests)
