/* When the power fails: whatever a file system makes of what was not synced, no checkpoint that was
 * promised is lost, none is accepted that was never saved, and a run goes on to the bits of one
 * that was not interrupted. And would this test see it? Writers that leave one thing out must be
 * caught.
 *
 * STATES in the environment: how many different states after a power loss are looked at (400 when
 * it is not set). */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check.h"
#include "tests/lib/disk.h"
#include "train/io/safetensors.h"
#include "train/run/run.h"

enum { STEPS = 8, KEEP = 2 };

static long states(void) {
    const char *text = getenv("STATES");
    long n = text ? atol(text) : 400;
    return n > 0 ? n : 400;
}

static qkv_config small_config(data_spec *spec) {
    qkv_config c;
    char error[QKV_IO_ERROR];
    qkv_config_default(&c);
    qkv_config_choose(&c, "pairs", 2);
    qkv_config_choose(&c, "keys", 3);
    qkv_config_choose(&c, "values", 3);
    c.d_model = 2;
    c.batch = 4;
    c.steps = STEPS;
    c.eval_every = 3;
    c.eval_examples = 4;
    if (!qkv_config_resolve(&c, spec, error)) fail_msg("%s", error);
    return c;
}

/* ---- writers: the right one, and those which leave something out ---- */

static int no_sync_of_files(void *ctx, int fd) {
    return disk_is_directory(ctx, fd) ? disk_io(ctx).sync(ctx, fd) : 0;
}
static int no_sync_of_names(void *ctx, int fd) {
    return disk_is_directory(ctx, fd) ? 0 : disk_io(ctx).sync(ctx, fd);
}

/* What a failed fsync lost, a second one does not bring back. */
static int sync_again(void *ctx, int fd) {
    return disk_io(ctx).sync(ctx, fd) == 0 ? 0 : disk_io(ctx).sync(ctx, fd);
}

static int write_in_place(void *ctx, const char *from, const char *to) {
    qkv_io io = disk_io(ctx);
    unsigned char part[DISK_BLOCK];
    int in = io.open(ctx, from, O_RDONLY), out = io.open(ctx, to, O_WRONLY | O_CREAT | O_TRUNC);
    for (ssize_t n; (n = io.read(ctx, in, part, sizeof part)) > 0;)
        io.write(ctx, out, part, (size_t)n);
    io.sync(ctx, out);
    io.close(ctx, out);
    io.close(ctx, in);
    return io.unlink(ctx, from);
}

typedef struct {
    const char *name;
    int (*sync)(void *ctx, int fd);
    int (*rename)(void *ctx, const char *from, const char *to);
    bool syncs_fail;  // now and then
} writer;

/* ---- a history of saves ---- */

/* All checkpoints of the history as they were written, which the disk after a power loss is
 * compared with. */
typedef struct {
    disk *d;
    struct {
        unsigned char *bytes;
        size_t n;
    } saved[STEPS + 1];
} history;

/* What qkv_run_save() writes when nothing is in its way. */
static void remember(history *h, const qkv_trainer *t, const qkv_run_progress *p) {
    disk *calm = disk_new();
    qkv_io io = disk_io(calm);
    char error[QKV_IO_ERROR];
    size_t n;
    if (!qkv_run_save(&io, t, p, "f", error)) fail_msg("%s", error);
    const unsigned char *bytes = disk_content(calm, "f", &n);
    h->saved[p->step].bytes = malloc(n);
    memcpy(h->saved[p->step].bytes, bytes, h->saved[p->step].n = n);
    disk_free(calm);
}

/* Saves STEPS checkpoints, each as the best one, too; promises each which qkv_run_save() says is
 * saved. */
static history save_all(const writer *w) {
    history h = {.d = disk_new()};
    data_spec spec;
    qkv_config c = small_config(&spec);
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    qkv_io io = disk_io(h.d);
    if (w->sync) io.sync = w->sync;
    if (w->rename) io.rename = w->rename;
    qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, 1, error);
    assert_true(t && qkv_io_make_directory(&io, "RUN", error));
    for (int step = 1; step <= STEPS; step++) {
        qkv_run_progress p = {step, step, 1.0 / step};
        *ag_params_at(qkv_trainer_params(t), 0)->val.x = (real)step;
        assert_true(qkv_run_checkpoint_path(path, "RUN", step, error));
        remember(&h, t, &p);
        if (w->syncs_fail) disk_fail_sync(h.d, 1 + step % 4);
        if (qkv_run_save(&io, t, &p, "RUN/best.safetensors", error) &&
            qkv_run_save(&io, t, &p, path, error))
            disk_promise(h.d, step);
        disk_fail_sync(h.d, 0);
        qkv_run_prune(&io, NULL, "RUN", KEEP, error);
    }
    qkv_trainer_free(t);
    return h;
}

static void history_free(history *h) {
    for (int i = 0; i <= STEPS; i++) free(h->saved[i].bytes);
    disk_free(h->d);
}

/* ---- what is found after a power loss ---- */

typedef enum { FINE, LOST, TORN, DAMAGED, VERDICTS } verdict;
static const char *const VERDICT[] = {"fine", "lost", "torn but accepted",
                                      "damaged under its final name"};

typedef qkv_io_status accept_fn(const qkv_io *io, const char *path);

static qkv_io_status accept_checked(const qkv_io *io, const char *path) {
    char error[QKV_IO_ERROR];
    return qkv_run_checkpoint_check(io, NULL, path, error);
}

/* A reader which sees no checksum: it has to be caught, too. */
static qkv_io_status accept_header(const qkv_io *io, const char *path) {
    char error[QKV_IO_ERROR];
    qkv_io_safetensors s;
    qkv_io_status status = qkv_io_safetensors_open(&s, io, NULL, path, error);
    if (status == QKV_IO_OK) qkv_io_safetensors_close(&s);
    return status;
}

/* The step whose saved bytes these are; 0: none. */
static int step_of(const history *h, const disk *d, const char *path) {
    size_t n = 0;
    const unsigned char *bytes = disk_content(d, path, &n);
    for (int i = STEPS; bytes && i > 0; i--)
        if (h->saved[i].bytes && h->saved[i].n == n && memcmp(h->saved[i].bytes, bytes, n) == 0)
            return i;
    return 0;
}

/* Each file with the name of a checkpoint is accepted only if it was saved, and one is at least as
 * new as the promised. */
static verdict judge(const history *h, disk *d, int promised, accept_fn *accept) {
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    qkv_io io = disk_io(d);
    int newest = 0, best = 0;
    for (int step = 0; step <= STEPS; step++) {
        if (step)
            qkv_run_checkpoint_path(path, "RUN", step, error);
        else
            strcpy(path, "RUN/best.safetensors");
        qkv_io_status status = accept(&io, path);
        int is = step_of(h, d, path);
        if (status == QKV_IO_OK && (is == 0 || (step && is != step))) return TORN;
        if (status == QKV_IO_DAMAGED && accept == accept_checked) return DAMAGED;
        if (status != QKV_IO_OK) continue;
        if (step)
            newest = step;
        else
            best = is;
    }
    if (newest < promised || best < promised) return LOST;
    if (accept != accept_checked || newest == 0) return FINE;
    int skipped;
    if (qkv_run_latest(&io, NULL, "RUN", path, &skipped, error) != QKV_IO_OK || skipped)
        return LOST;
    return step_of(h, d, path) == newest ? FINE : LOST;
}

/* Everything, nothing, only data, only names, ... and chances in between. */
static disk_luck some_luck(long i, uint64_t *random) {
    double x[3];
    for (int k = 0; k < 3; k++) x[k] = i % 3 == 0 ? disk_below(random, 2) : disk_uniform(random);
    return (disk_luck){x[0], x[1], x[2], disk_below(random, 2)};
}

/* ---- different states ---- */

typedef struct {
    uint64_t *seen;
    size_t room;
    long n, drawn;
} set;

/* False: it was there already. */
static bool insert(set *s, uint64_t sum) {
    size_t i = sum % s->room;
    while (s->seen[i] && s->seen[i] != sum) i = (i + 1) % s->room;
    if (s->seen[i]) return false;
    s->seen[i] = sum;
    s->n++;
    return true;
}

static set set_of(long n) {
    set s = {.room = 2 * (size_t)n + 1};
    s.seen = calloc(s.room, sizeof *s.seen);
    return s;
}

/* A state not seen before, and what had been promised by then; NULL after too many in vain. */
static disk *draw(set *s, const disk *d, uint64_t *random, int *promised) {
    for (int tries = 0; tries < 2000; tries++) {
        long at = disk_below(random, (uint32_t)disk_log(d) + 1);
        disk *after = disk_after_power_loss(d, at, some_luck(s->drawn++, random), random);
        *promised = disk_promised(d, at);
        if (insert(s, disk_sum(after) + (uint64_t)*promised)) return after;
        disk_free(after);
    }
    return NULL;
}

/* ---- the tests ---- */

static void survey(const writer *w, accept_fn *accept, long n, long count[VERDICTS], long *looked) {
    history h = save_all(w);
    uint64_t random = 1;
    set s = set_of(n);
    memset(count, 0, VERDICTS * sizeof *count);
    while (s.n < n) {
        int promised;
        disk *after = draw(&s, h.d, &random, &promised);
        if (!after) break;
        count[judge(&h, after, promised, accept)]++;
        disk_free(after);
    }
    print_message("    %s: %ld states:", w->name, s.n);
    for (int i = 0; i < VERDICTS; i++)
        if (count[i]) print_message(" %ld %s", count[i], VERDICT[i]);
    print_message("\n");
    *looked = s.n;
    free(s.seen);
    history_free(&h);
}

static void nothing_promised_is_lost(void **state) {
    static const writer right[] = {{.name = "the writer"},
                                   {.name = "the writer, fsyncs failing", .syncs_fail = true}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        long count[VERDICTS], looked, n = i ? states() / 4 : states();
        survey(&right[i], accept_checked, n, count, &looked);
        if (count[FINE] != looked || looked < n)
            fail_msg("%ld of %ld states are fine", count[FINE], looked);
    }
}

static void careless_writers_are_caught(void **state) {
    static const struct {
        writer w;
        accept_fn *accept;
        verdict seen;
    } careless[] = {
        {{.name = "no fsync of files", .sync = no_sync_of_files}, accept_checked, DAMAGED},
        {{.name = "no fsync of files, a reader without checksum", .sync = no_sync_of_files},
         accept_header,
         TORN},
        {{.name = "no fsync of directories", .sync = no_sync_of_names}, accept_checked, LOST},
        {{.name = "fsync tried again", .sync = sync_again, .syncs_fail = true},
         accept_checked,
         DAMAGED},
        {{.name = "overwriting in place", .rename = write_in_place}, accept_checked, DAMAGED}};
    (void)state;
    for (size_t i = 0; i < sizeof careless / sizeof *careless; i++) {
        long count[VERDICTS], looked;
        // One state in 200 is torn.
        const long n = careless[i].seen == TORN ? 4 * states() : states() / 2;
        survey(&careless[i].w, careless[i].accept, n, count, &looked);
        if (count[careless[i].seen] == 0)
            fail_msg("%s: none %s", careless[i].w.name, VERDICT[careless[i].seen]);
    }
}

/* ---- a whole run ---- */

/* Promises a step when the directory is synced after its checkpoint got its name, which is when the
 * run goes on. */
static int named;

static int rename_and_note(void *ctx, const char *from, const char *to) {
    const char *step = strstr(to, "/step-");
    if (step) named = atoi(step + 6);
    return disk_io(ctx).rename(ctx, from, to);
}

static int sync_and_promise(void *ctx, int fd) {
    int r = disk_io(ctx).sync(ctx, fd);
    if (r == 0 && named && disk_is_directory(ctx, fd)) disk_promise(ctx, named), named = 0;
    return r;
}

static void run_to_the_end(disk *d, bool resume) {
    data_spec spec;
    qkv_config c = small_config(&spec);
    qkv_io io = disk_io(d);
    char error[QKV_IO_ERROR];
    qkv_run_summary summary = {0};
    qkv_run_options o = {
        .dir = "RUN", .threads = 1, .resume = resume, .save_every = 1, .keep = KEEP};
    io.rename = rename_and_note;
    io.sync = sync_and_promise;
    if (qkv_run_train(&io, &c, &spec, &o, &summary, error) != QKV_RUN_DONE) fail_msg("%s", error);
}

/* The bytes of a metrics file without the wall clock, its last column. */
static size_t without_clock(const unsigned char *text, size_t n, char *out) {
    size_t length = 0, comma = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == ',') comma = length;
        if (text[i] == '\n') length = comma;
        out[length++] = (char)text[i];
    }
    return length;
}

static void expect_same(const disk *a, const disk *b, const char *path) {
    size_t n = 0, m = 0;
    const unsigned char *x = disk_content(a, path, &n), *y = disk_content(b, path, &m);
    if (!x || !y) fail_msg("no %s", path);
    bool clock = strstr(path, "metrics") != NULL;
    char *p = malloc(n + 1), *q = malloc(m + 1);
    n = clock ? without_clock(x, n, p) : (memcpy(p, x, n), n);
    m = clock ? without_clock(y, m, q) : (memcpy(q, y, m), m);
    if (n != m || memcmp(p, q, n) != 0)
        fail_msg("%s differs:\n%.*s\nand not\n%.*s", path, (int)n, p, (int)m, q);
    free(p);
    free(q);
}

static void a_run_goes_on_to_the_same_bits(void **state) {
    static const char *const files[] = {"RUN/step-00000008.safetensors",
                                        "RUN/best.safetensors",
                                        "RUN/config.json",
                                        "RUN/metrics.csv",
                                        "RUN/levels.csv",
                                        "RUN/probe/attention-after.csv"};
    (void)state;
    disk *whole = disk_new();
    uint64_t random = 2;
    long n = states() / 8;
    set s = set_of(n);
    run_to_the_end(whole, false);
    while (s.n < n) {
        int promised, skipped;
        char path[QKV_IO_PATH], error[QKV_IO_ERROR];
        disk *after = draw(&s, whole, &random, &promised);
        assert_non_null(after);
        qkv_io io = disk_io(after);
        qkv_io_status found = qkv_run_latest(&io, NULL, "RUN", path, &skipped, error);
        if (promised &&
            (found != QKV_IO_OK || atoi(strstr(path, "/step-") + 6) < promised || skipped))
            fail_msg("step %d was promised: found %d, %s, %d skipped: %s", promised, found, path,
                     skipped, error);
        run_to_the_end(after, true);
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            expect_same(after, whole, files[i]);
        disk_free(after);
    }
    print_message("    %ld states of a run go on to the same bits\n", s.n);
    free(s.seen);
    disk_free(whole);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(nothing_promised_is_lost),
    cmocka_unit_test(careless_writers_are_caught),
    cmocka_unit_test(a_run_goes_on_to_the_same_bits),
};
CHECK_MAIN(tests)
