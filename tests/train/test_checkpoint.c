/* Checkpoints: a resumed run has the bits of one that was never interrupted, and what is not this
 * model's is refused without a trace in it. */
#include "train/run/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/faults.h"
#include "train/io/safetensors.h"
#include "train/trainer/trainer_internal.h"

static qkv_config config_of(int optimizer) {
    qkv_config c;
    qkv_config_default(&c);
    qkv_config_choose(&c, "pairs", 2);
    qkv_config_choose(&c, "keys", 3);
    qkv_config_choose(&c, "values", 3);
    c.d_model = 2;
    c.batch = 64;  // several micro-batches, so that lanes and threads have a part in it
    c.lanes = 3;
    c.optimizer = optimizer;
    c.momentum = 0.9;
    c.weight_decay = 0.01;
    return c;
}

static qkv_trainer *trainer_of(const tensor_allocator *mem, qkv_config c, int threads) {
    data_spec spec;
    char error[QKV_IO_ERROR];
    if (!qkv_config_resolve(&c, &spec, error)) fail_msg("%s", error);
    qkv_trainer *t = qkv_trainer_new(mem, &c, &spec, threads, error);
    if (!t) fail_msg("%s", error);
    return t;
}

static void run(qkv_trainer *t, int first, int end) {
    qkv_trainer_step s;
    char error[QKV_IO_ERROR];
    for (int step = first; step < end; step++) {
        if (!qkv_trainer_gradient(t, step, &s, error)) fail_msg("%s", error);
        qkv_trainer_update(t, step, &s);
    }
}

/* Weights and moments, one after the other. The caller frees. */
static real *bits_of(const qkv_trainer *t, size_t *n) {
    size_t P = ag_params_size(t->params);
    real *x = calloc((1 + QKV_OPTIM_MOMENTS) * P, sizeof *x);
    for (int i = 0; i < ag_params_count(t->params); i++) {
        const ag_param_entry *p = ag_params_at(t->params, i);
        memcpy(x + p->offset, p->val.x, p->val.n * sizeof *x);
    }
    for (size_t m = 0; m < QKV_OPTIM_MOMENTS; m++)
        if (t->optim.moment[m]) memcpy(x + (1 + m) * P, t->optim.moment[m], P * sizeof *x);
    *n = (1 + QKV_OPTIM_MOMENTS) * P;
    return x;
}

static void assert_bits(const qkv_trainer *t, const real *expected) {
    size_t n;
    real *x = bits_of(t, &n);
    assert_same_bits(x, expected, n);
    free(x);
}

static void save(const qkv_trainer *t, int step, const char *path) {
    char error[QKV_IO_ERROR];
    qkv_run_progress p = {step, step / 2, 0.1 * step};
    faults plain;
    faults_init(&plain, 0, 0, false);
    if (!qkv_run_save(&plain.io, t, &p, path, error)) fail_msg("%s", error);
}

/* N + N steps with a new trainer in between are 2N steps, whatever the number of threads. */
static void resume_is_exact(int optimizer, int before, int after) {
    enum { N = 20 };
    real *at[2 * N + 1];
    char path[32], error[QKV_IO_ERROR];
    size_t n;
    qkv_trainer *t = trainer_of(NULL, config_of(optimizer), before);
    for (int step = 0; step <= 2 * N; step++) {
        at[step] = bits_of(t, &n);
        snprintf(path, sizeof path, "%d", step);
        if (step <= N) save(t, step, path);
        run(t, step, step + 1);
    }
    qkv_trainer_free(t);
    assert_true(memcmp(at[N], at[2 * N], n * sizeof(real)) != 0);
    for (int step = 0; step <= N; step++) {
        qkv_run_progress p = qkv_run_progress_start();
        qkv_config other = config_of(optimizer);
        t = trainer_of(NULL, other, after);
        run(t, 0, step % 3);  // something to be overwritten
        snprintf(path, sizeof path, "%d", step);
        if (qkv_run_restore(&qkv_io_posix, t, &p, path, error) != QKV_IO_OK) fail_msg("%s", error);
        assert_true(p.step == step && p.best_step == step / 2);
        assert_close(p.best_loss, 0.1 * step, 0);
        assert_bits(t, at[step]);
        run(t, step, 2 * step);
        assert_bits(t, at[2 * step]);
        qkv_trainer_free(t);
    }
    for (int step = 0; step <= 2 * N; step++) free(at[step]);
}

static void resumed_runs_have_the_same_bits(void **state) {
    (void)state;
    resume_is_exact(QKV_OPTIM_SGD, 1, 3);
    resume_is_exact(QKV_OPTIM_ADAM, 1, 3);
    resume_is_exact(QKV_OPTIM_ADAM, 3, 1);
    resume_is_exact(QKV_OPTIM_ADAMW, 1, 1);
}

static void the_file_says_what_it_holds(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    qkv_io_safetensors s;
    qkv_config c = config_of(QKV_OPTIM_ADAM), back;
    qkv_trainer *t = trainer_of(NULL, c, 1);
    save(t, 6, "f");
    assert_int_equal(qkv_io_safetensors_open(&s, &qkv_io_posix, NULL, "f", error), QKV_IO_OK);
    assert_int_equal(s.n, 3 + 3 * ag_params_count(t->params));
    const char *names[] = {"layer0.attn.wq", "optimizer.mean.layer0.attn.wq",
                           "optimizer.square.layer0.attn.wq"};
    for (int i = 0; i < 3; i++) {
        const qkv_io_stored *w = qkv_io_safetensors_find(&s, names[i]);
        assert_true(w && w->rank == 2 && w->dtype == (sizeof(real) == 8 ? QKV_IO_F64 : QKV_IO_F32));
    }
    assert_string_equal(qkv_io_safetensors_note(&s, "format"), "qkv-checkpoint-1");
    qkv_io_safetensors_close(&s);
    assert_int_equal(qkv_run_checkpoint_config(&qkv_io_posix, NULL, "f", NULL, &back, error),
                     QKV_IO_OK);
    char *want = qkv_config_to_json(qkv_trainer_config(t)), *has = qkv_config_to_json(&back);
    assert_string_equal(has, want);
    free(want);
    free(has);
    qkv_trainer_free(t);
}

/* ---- what is not this model's ---- */

enum {
    LACKS,
    EXTRA,
    RENAMED,
    RESHAPED,
    LIFTED,
    RETYPED,
    NO_STATE,
    BAD_STEP,
    BAD_BEST,
    NEWER,
    NO_FORMAT,
    NO_CRC,
    WAYS
};
#define MODEL "'bad' is no checkpoint of this model: "
static const char *const SENTENCES[WAYS] = {
    [LACKS] = MODEL "it lacks 'layer0.attn.wq'",
    [EXTRA] = MODEL "it also has 'layer1.attn.wq'",
    [RENAMED] = MODEL "it lacks 'layer0.attn.wq'",
    [RESHAPED] = MODEL "'layer0.attn.wq' is [4,1], not [2,2]",
    [LIFTED] = MODEL "'layer0.attn.wq' is [2,2,1], not [2,2]",
    [RETYPED] = MODEL "'layer0.attn.wq' is I",
    [NO_STATE] = MODEL "it lacks 'state.step'",
    [BAD_STEP] = "'bad' is damaged: 'state.step' is no step",
    [BAD_BEST] = "'bad' is damaged: 'state.best_step' is no step",
    [NEWER] = "'bad' is no checkpoint: its format is 'qkv-checkpoint-2'",
    [NO_FORMAT] = "'bad' is no checkpoint: its format is ''",
    [NO_CRC] = "'bad' is damaged: it lacks 'crc32'",
};

/* Writes the checkpoint "f" again as "bad", wrong in one way. */
static void write_wrong(int way) {
    qkv_io_safetensors s;
    char error[QKV_IO_ERROR];
    qkv_io_stored t[64], *wq = NULL;
    int64_t step = way == BAD_STEP ? -1 : 5;
    assert_int_equal(qkv_io_safetensors_open(&s, &qkv_io_posix, NULL, "f", error), QKV_IO_OK);
    assert_int_equal(qkv_io_safetensors_load(&s, error), QKV_IO_OK);
    int n = s.n, first = way == NO_STATE, notes = s.n_notes - 1;  // without the checksum
    memcpy(t, s.tensor, (size_t)n * sizeof *t);
    for (int i = 0; i < n; i++)
        if (!strcmp(t[i].name, "layer0.attn.wq")) wq = &t[i];
    if (way == LACKS) *wq = t[--n];
    if (way == EXTRA) t[n] = *wq, t[n++].name = "layer1.attn.wq";
    if (way == RENAMED) wq->name = "layer0.attn.wx";
    if (way == RESHAPED) wq->dim[0] *= 2, wq->dim[1] /= 2;
    if (way == LIFTED) wq->rank = 3, wq->dim[2] = 1;
    if (way == RETYPED) wq->dtype = sizeof(real) == 8 ? QKV_IO_I64 : QKV_IO_I32;
    if (way == BAD_STEP || way == BAD_BEST) t[way == BAD_BEST].data = &step;
    if (way == NEWER) s.note[0].value = "qkv-checkpoint-2";
    if (way == NO_FORMAT) s.note[0].key = "Format";
    assert_true(qkv_io_safetensors_write(&qkv_io_posix, NULL, "bad", t + first, n - first, s.note,
                                         notes, error));
    qkv_io_safetensors_close(&s);
    if (way != NO_CRC) return;
    FILE *file = fopen("bad", "r+b");
    char head[4096];
    size_t length = fread(head, 1, sizeof head - 1, file);
    for (size_t i = 0; i + 8 < length; i++)
        if (!memcmp(head + i, "\"crc32\":", 8)) fseek(file, (long)i + 5, SEEK_SET);
    fputc('3', file);
    fclose(file);
}

static void wrong_files_leave_the_model_alone(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    size_t n;
    qkv_trainer *t = trainer_of(NULL, config_of(QKV_OPTIM_ADAM), 1),
                *sgd = trainer_of(NULL, config_of(QKV_OPTIM_SGD), 1);
    save(t, 4, "f");
    run(t, 0, 3);
    real *before = bits_of(t, &n);
    qkv_run_progress p = {3, 2, 1.5};
    for (int way = 0; way < WAYS; way++) {
        write_wrong(way);
        assert_int_equal(qkv_run_restore(&qkv_io_posix, t, &p, "bad", error), QKV_IO_DAMAGED);
        if (strncmp(error, SENTENCES[way], strlen(SENTENCES[way])))
            fail_msg("%s\n and not %s", error, SENTENCES[way]);
        assert_bits(t, before);
        assert_true(p.step == 3 && p.best_step == 2);
        assert_close(p.best_loss, 1.5, 0);
    }
    assert_int_equal(qkv_run_restore(&qkv_io_posix, t, &p, "none", error), QKV_IO_ABSENT);
    assert_int_equal(qkv_run_restore(&qkv_io_posix, sgd, &p, "f", error), QKV_IO_DAMAGED);
    assert_non_null(strstr(error, "it also has 'optimizer.square."));
    save(sgd, 4, "f");
    assert_int_equal(qkv_run_restore(&qkv_io_posix, t, &p, "f", error), QKV_IO_DAMAGED);
    assert_non_null(strstr(error, "it lacks 'optimizer.square."));
    assert_bits(t, before);
    free(before);
    qkv_trainer_free(t);
    qkv_trainer_free(sgd);
}

/* ---- damage, on a file that lies in memory ---- */

typedef struct {
    unsigned char *bytes;
    size_t n, at;
} memory;

static int memory_open(void *ctx, const char *path, int flags) {
    (void)path, (void)flags;
    return ((memory *)ctx)->at = 0, 99;
}

static ssize_t memory_read(void *ctx, int fd, void *to, size_t n) {
    memory *m = ctx;
    (void)fd;
    if (n > m->n - m->at) n = m->n - m->at;
    memcpy(to, m->bytes + m->at, n);
    m->at += n;
    return (ssize_t)n;
}

static int memory_size(void *ctx, int fd, uint64_t *bytes) {
    (void)fd;
    return *bytes = ((memory *)ctx)->n, 0;
}

static int memory_close(void *ctx, int fd) {
    (void)ctx, (void)fd;
    return 0;
}

static void no_damage_is_restored(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    void *file;
    size_t size, n;
    qkv_trainer *t = trainer_of(NULL, config_of(QKV_OPTIM_SGD), 1);
    run(t, 0, 2);
    save(t, 2, "f");
    real *before = bits_of(t, &n);
    assert_int_equal(qkv_io_read_file(&qkv_io_posix, NULL, "f", 1 << 20, &file, &size, error),
                     QKV_IO_OK);
    memory m = {malloc(size), size, 0};
    qkv_io io = {.open = memory_open,
                 .read = memory_read,
                 .size = memory_size,
                 .close = memory_close,
                 .ctx = &m};
    qkv_run_progress p = {7, 7, 7};
    for (m.n = 0; m.n < size; m.n++) {
        memcpy(m.bytes, file, size);
        assert_int_equal(qkv_run_restore(&io, t, &p, "m", error), QKV_IO_DAMAGED);
    }
    for (size_t bit = 0; bit < 8 * size; bit++) {
        m.bytes[bit / 8] = (unsigned char)(((unsigned char *)file)[bit / 8] ^ 1u << bit % 8);
        if (qkv_run_restore(&io, t, &p, "m", error) != QKV_IO_DAMAGED)
            fail_msg("bit %zu goes unseen", bit);
        m.bytes[bit / 8] = ((unsigned char *)file)[bit / 8];
    }
    assert_bits(t, before);
    assert_int_equal(p.step, 7);
    assert_int_equal(qkv_run_restore(&io, t, &p, "m", error), QKV_IO_OK);
    assert_bits(t, before);
    free(before);
    free(m.bytes);
    tensor_malloc.release(NULL, file);
    qkv_trainer_free(t);
}

static const struct CMUnitTest tests[] = {
    faults_test(resumed_runs_have_the_same_bits),
    faults_test(the_file_says_what_it_holds),
    faults_test(wrong_files_leave_the_model_alone),
    faults_test(no_damage_is_restored),
};
CHECK_MAIN(tests)
