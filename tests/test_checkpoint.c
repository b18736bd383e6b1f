/* Checkpoints: a resumed run has the bits of one that was never interrupted, and what is not this
 * model's is refused without a trace in it. */
#include "train/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tests/faults.h"
#include "train/safetensors.h"
#include "train/trainer_internal.h"

static train_config config_of(int optimizer) {
    train_config c;
    train_config_default(&c);
    c.pairs = 2;
    c.keys = c.values = 3;
    c.d_model = 2;
    c.batch = 64;  // several shards, so that lanes and threads have a part in it
    c.lanes = 3;
    c.optimizer = optimizer;
    c.momentum = 0.9;
    c.weight_decay = 0.01;
    return c;
}

static train_trainer *trainer_of(const tensor_allocator *mem, train_config c, int threads) {
    data_spec spec;
    char error[TRAIN_ERROR];
    if (!train_config_resolve(&c, &spec, error)) fail_msg("%s", error);
    train_trainer *t = train_trainer_new(mem, &c, &spec, threads, error);
    if (!t) fail_msg("%s", error);
    return t;
}

static void run(train_trainer *t, int first, int end) {
    train_step s;
    char error[TRAIN_ERROR];
    for (int step = first; step < end; step++) {
        if (!train_gradient(t, step, &s, error)) fail_msg("%s", error);
        train_update(t, step, &s);
    }
}

/* Weights and moments, one after the other. The caller frees. */
static real *bits_of(const train_trainer *t, size_t *n) {
    size_t P = ag_params_size(t->params);
    real *x = calloc(3 * P, sizeof *x);
    for (int i = 0; i < ag_params_count(t->params); i++) {
        const ag_param_entry *p = ag_params_at(t->params, i);
        memcpy(x + p->offset, p->val.x, p->val.n * sizeof *x);
    }
    memcpy(x + P, t->mean, P * sizeof *x);
    if (t->square) memcpy(x + 2 * P, t->square, P * sizeof *x);
    *n = 3 * P;
    return x;
}

static void assert_bits(const train_trainer *t, const real *expected) {
    size_t n;
    real *x = bits_of(t, &n);
    assert_same_bits(x, expected, n);
    free(x);
}

static void save(const train_trainer *t, int step, const char *path) {
    char error[TRAIN_ERROR];
    train_progress p = {step, step / 2, 0.1 * step};
    faults plain;
    faults_init(&plain, 0, 0, false);
    if (!train_save(&plain.io, t, &p, path, error)) fail_msg("%s", error);
}

/* N + N steps with a new trainer in between are 2N steps, whatever the number of threads. */
static void resume_is_exact(int optimizer, int before, int after) {
    enum { N = 20 };
    real *at[2 * N + 1];
    char path[32], error[TRAIN_ERROR];
    size_t n;
    train_trainer *t = trainer_of(NULL, config_of(optimizer), before);
    for (int step = 0; step <= 2 * N; step++) {
        at[step] = bits_of(t, &n);
        snprintf(path, sizeof path, "%d", step);
        if (step <= N) save(t, step, path);
        run(t, step, step + 1);
    }
    train_trainer_free(t);
    assert_true(memcmp(at[N], at[2 * N], n * sizeof(real)) != 0);
    for (int step = 0; step <= N; step++) {
        train_progress p = train_progress_start();
        train_config other = config_of(optimizer);
        t = trainer_of(NULL, other, after);
        run(t, 0, step % 3);  // something to be overwritten
        snprintf(path, sizeof path, "%d", step);
        if (train_restore(&train_posix, t, &p, path, error) != TRAIN_FILE_OK) fail_msg("%s", error);
        assert_true(p.step == step && p.best_step == step / 2);
        assert_close(p.best_loss, 0.1 * step, 0);
        assert_bits(t, at[step]);
        run(t, step, 2 * step);
        assert_bits(t, at[2 * step]);
        train_trainer_free(t);
    }
    for (int step = 0; step <= 2 * N; step++) free(at[step]);
}

static void resumed_runs_have_the_same_bits(void **state) {
    (void)state;
    resume_is_exact(TRAIN_SGD, 1, 3);
    resume_is_exact(TRAIN_ADAM, 1, 3);
    resume_is_exact(TRAIN_ADAM, 3, 1);
    resume_is_exact(TRAIN_ADAMW, 1, 1);
}

static void the_file_says_what_it_holds(void **state) {
    (void)state;
    char error[TRAIN_ERROR];
    train_safetensors s;
    train_config c = config_of(TRAIN_ADAM), back;
    train_trainer *t = trainer_of(NULL, c, 1);
    save(t, 6, "f");
    assert_int_equal(train_safetensors_open(&s, &train_posix, NULL, "f", error), TRAIN_FILE_OK);
    assert_int_equal(s.n, 3 + 3 * ag_params_count(t->params));
    const char *names[] = {"layer0.attn.wq", "optimizer.mean.layer0.attn.wq",
                           "optimizer.square.layer0.attn.wq"};
    for (int i = 0; i < 3; i++) {
        const train_stored *w = train_safetensors_find(&s, names[i]);
        assert_true(w && w->rank == 2 && w->dtype == (sizeof(real) == 8 ? TRAIN_F64 : TRAIN_F32));
    }
    assert_string_equal(train_safetensors_note(&s, "format"), "qkv-checkpoint-1");
    train_safetensors_close(&s);
    assert_int_equal(train_checkpoint_config(&train_posix, NULL, "f", &back, error), TRAIN_FILE_OK);
    char *want = train_config_to_json(train_trainer_config(t)), *has = train_config_to_json(&back);
    assert_string_equal(has, want);
    free(want);
    free(has);
    train_trainer_free(t);
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
    [RESHAPED] = MODEL "'layer0.attn.wq' has another shape",
    [LIFTED] = MODEL "'layer0.attn.wq' has another shape",
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
    train_safetensors s;
    char error[TRAIN_ERROR];
    train_stored t[64], *wq = NULL;
    int64_t step = way == BAD_STEP ? -1 : 5;
    assert_int_equal(train_safetensors_open(&s, &train_posix, NULL, "f", error), TRAIN_FILE_OK);
    assert_int_equal(train_safetensors_load(&s, error), TRAIN_FILE_OK);
    int n = s.n, first = way == NO_STATE, notes = s.n_notes - 1;  // without the checksum
    memcpy(t, s.tensor, (size_t)n * sizeof *t);
    for (int i = 0; i < n; i++)
        if (!strcmp(t[i].name, "layer0.attn.wq")) wq = &t[i];
    if (way == LACKS) *wq = t[--n];
    if (way == EXTRA) t[n] = *wq, t[n++].name = "layer1.attn.wq";
    if (way == RENAMED) wq->name = "layer0.attn.wx";
    if (way == RESHAPED) wq->dim[0] *= 2, wq->dim[1] /= 2;
    if (way == LIFTED) wq->rank = 3, wq->dim[2] = 1;
    if (way == RETYPED) wq->dtype = sizeof(real) == 8 ? TRAIN_I64 : TRAIN_I32;
    if (way == BAD_STEP || way == BAD_BEST) t[way == BAD_BEST].data = &step;
    if (way == NEWER) s.note[0].value = "qkv-checkpoint-2";
    if (way == NO_FORMAT) s.note[0].key = "Format";
    assert_true(train_safetensors_write(&train_posix, NULL, "bad", t + first, n - first, s.note,
                                        notes, error));
    train_safetensors_close(&s);
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
    char error[TRAIN_ERROR];
    size_t n;
    train_trainer *t = trainer_of(NULL, config_of(TRAIN_ADAM), 1),
                  *sgd = trainer_of(NULL, config_of(TRAIN_SGD), 1);
    save(t, 4, "f");
    run(t, 0, 3);
    real *before = bits_of(t, &n);
    train_progress p = {3, 2, 1.5};
    for (int way = 0; way < WAYS; way++) {
        write_wrong(way);
        assert_int_equal(train_restore(&train_posix, t, &p, "bad", error), TRAIN_FILE_DAMAGED);
        if (strncmp(error, SENTENCES[way], strlen(SENTENCES[way])))
            fail_msg("%s\n and not %s", error, SENTENCES[way]);
        assert_bits(t, before);
        assert_true(p.step == 3 && p.best_step == 2);
        assert_close(p.best_loss, 1.5, 0);
    }
    assert_int_equal(train_restore(&train_posix, t, &p, "none", error), TRAIN_FILE_ABSENT);
    assert_int_equal(train_restore(&train_posix, sgd, &p, "f", error), TRAIN_FILE_DAMAGED);
    assert_non_null(strstr(error, "it also has 'optimizer.square."));
    save(sgd, 4, "f");
    assert_int_equal(train_restore(&train_posix, t, &p, "f", error), TRAIN_FILE_DAMAGED);
    assert_non_null(strstr(error, "it lacks 'optimizer.square."));
    assert_bits(t, before);
    free(before);
    train_trainer_free(t);
    train_trainer_free(sgd);
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
    char error[TRAIN_ERROR];
    void *file;
    size_t size, n;
    train_trainer *t = trainer_of(NULL, config_of(TRAIN_SGD), 1);
    run(t, 0, 2);
    save(t, 2, "f");
    real *before = bits_of(t, &n);
    assert_int_equal(train_read_file(&train_posix, NULL, "f", 1 << 20, &file, &size, error),
                     TRAIN_FILE_OK);
    memory m = {malloc(size), size, 0};
    train_io io = {.open = memory_open,
                   .read = memory_read,
                   .size = memory_size,
                   .close = memory_close,
                   .ctx = &m};
    train_progress p = {7, 7, 7};
    for (m.n = 0; m.n < size; m.n++) {
        memcpy(m.bytes, file, size);
        assert_int_equal(train_restore(&io, t, &p, "m", error), TRAIN_FILE_DAMAGED);
    }
    for (size_t bit = 0; bit < 8 * size; bit++) {
        m.bytes[bit / 8] = (unsigned char)(((unsigned char *)file)[bit / 8] ^ 1u << bit % 8);
        if (train_restore(&io, t, &p, "m", error) != TRAIN_FILE_DAMAGED)
            fail_msg("bit %zu goes unseen", bit);
        m.bytes[bit / 8] = ((unsigned char *)file)[bit / 8];
    }
    assert_bits(t, before);
    assert_int_equal(p.step, 7);
    assert_int_equal(train_restore(&io, t, &p, "m", error), TRAIN_FILE_OK);
    assert_bits(t, before);
    free(before);
    free(m.bytes);
    tensor_malloc.release(NULL, file);
    train_trainer_free(t);
}

static const struct CMUnitTest tests[] = {
    faults_test(resumed_runs_have_the_same_bits),
    faults_test(the_file_says_what_it_holds),
    faults_test(wrong_files_leave_the_model_alone),
    faults_test(no_damage_is_restored),
};
CHECK_MAIN(tests)
