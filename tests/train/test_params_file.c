/* Parameters in a file: saved, loaded, and every file that does not fit refused with nothing changed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/faults.h"
#include "train/io/params.h"
#include "train/io/safetensors.h"

static const char *const DTYPE = sizeof(real) == 8 ? "F64" : "F32";

/* Some parameters, of all ranks and one of no numbers, the last frozen. */
static ag_params *some(const tensor_allocator *mem, uint64_t seed) {
    static const char *const names[] = {"scale",  "b",    "layer0.w \"\xc3\xbc\"",
                                        "planes", "none", "still"};
    const ag_init init = {.kind = AG_NORMAL, .scale = 1};
    ag_params *p = ag_params_new(mem, seed);
    ag_graph *g = ag_graph_new(p);
    bool ok = g && ag_params_freeze_matching(p, "still");
    for (int i = 0; i < 6 && ok; i++) {
        tensor_shape s = {.rank = i % 4, .dim = {3, 2, 5}};
        ag_param(g, names[i], i == 4 ? tensor_dims(2, 0, 4) : s, init);
        ok = !ag_error(g);
    }
    ag_graph_free(g);
    assert_true(ok);
    return p;
}

static real *copy_of(ag_params *p, size_t *n) {
    real *x = calloc(1000, sizeof *x);
    *n = 0;
    for (int i = 0; i < ag_params_count(p); i++) {
        const tensor *val = &ag_params_at(p, i)->val;
        if (val->n) memcpy(x + *n, val->x, val->n * sizeof *x);
        *n += val->n;
    }
    assert_true(*n > 40 && *n < 1000);
    return x;
}

static bool same(ag_params *a, ag_params *b) {
    size_t n, m;
    real *x = copy_of(a, &n), *y = copy_of(b, &m);
    bool equal = n == m && memcmp(x, y, n * sizeof *x) == 0;
    free(x), free(y);
    return equal;
}

static void saved_is_loaded(void **state) {
    (void)state;
    char error[QKV_IO_ERROR] = "";
    ag_params *p = some(NULL, 1), *q = some(NULL, 2), *none = ag_params_new(NULL, 1);
    real *b = ag_params_find(p, "b")->val.x;
    b[0] = (real)NAN, b[1] = -(real)INFINITY;
    assert_false(same(p, q));
    assert_true(qkv_io_params_save(&qkv_io_posix, NULL, "f", p, error));
    assert_int_equal(qkv_io_params_load(&qkv_io_posix, NULL, "f", q, error), QKV_IO_OK);
    assert_true(same(p, q));
    assert_true(ag_params_find(q, "still")->frozen && !ag_params_find(q, "b")->frozen);
    // No parameters are a file, too.
    assert_true(qkv_io_params_save(&qkv_io_posix, NULL, "g", none, error));
    assert_int_equal(qkv_io_params_load(&qkv_io_posix, NULL, "g", none, error), QKV_IO_OK);
    assert_int_equal(qkv_io_params_load(&qkv_io_posix, NULL, "f", none, error), QKV_IO_DAMAGED);
    ag_params_free(p), ag_params_free(q), ag_params_free(none);
}

static void the_file_says_what_it_holds(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    qkv_io_safetensors s;
    ag_params *p = some(NULL, 1);
    assert_true(qkv_io_params_save(&qkv_io_posix, NULL, "f", p, error));
    assert_int_equal(qkv_io_safetensors_open(&s, &qkv_io_posix, NULL, "f", error), QKV_IO_OK);
    assert_int_equal(qkv_io_safetensors_load(&s, error), QKV_IO_OK);
    assert_int_equal(s.n, ag_params_count(p));
    for (int i = 0; i < s.n; i++) {
        const ag_param_entry *e = ag_params_at(p, i);
        const qkv_io_stored *t = qkv_io_safetensors_find(&s, e->name);
        assert_true(t && t->rank == e->val.shape.rank && t->bytes == e->val.n * sizeof(real));
        assert_string_equal(qkv_io_dtype_name(t->dtype), DTYPE);
        for (int k = 0; k < t->rank; k++) assert_int_equal(t->dim[k], e->val.shape.dim[k]);
        if (t->bytes) assert_memory_equal(t->data, e->val.x, t->bytes);
    }
    qkv_io_safetensors_close(&s);
    ag_params_free(p);
}

/* ---- other widths ---- */

static qkv_io_status load_w(ag_params *p, qkv_io_dtype dtype, const void *data, char *error) {
    qkv_io_stored t = {.name = "w", .dtype = dtype, .rank = 1, .dim = {3}, .data = data};
    t.bytes = 3 * qkv_io_dtype_size(dtype);
    assert_true(qkv_io_safetensors_write(&qkv_io_posix, NULL, "w", &t, 1, NULL, 0, error));
    return qkv_io_params_load(&qkv_io_posix, NULL, "w", p, error);
}

static void numbers_are_converted(void **state) {
    (void)state;
    const double f64[3] = {0.1, -1e-300, (double)INFINITY}, large[3] = {1, 2, -1e300};
    const float f32[3] = {0.1f, -0.0f, 1e38f};
    const uint16_t f16[3] = {0x3c01, 0x8001, 0x7c00}, bf16[3] = {0x3f81, 0x8000, 0x7f80};
    const int32_t i32[3] = {1, 2, 3};
    char error[QKV_IO_ERROR];
    ag_params *p = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(p);
    ag_node *w = ag_param(g, "w", tensor_dims(1, 3), (ag_init){.kind = AG_ONES, .scale = 0});
    assert_null(ag_error(g));
    assert_int_equal(load_w(p, QKV_IO_F64, f64, error), QKV_IO_OK);
    for (int i = 0; i < 3; i++) assert_true(w->val.x[i] == (real)f64[i]);
    assert_int_equal(load_w(p, QKV_IO_F32, f32, error), QKV_IO_OK);
    for (int i = 0; i < 3; i++) assert_true(w->val.x[i] == (real)f32[i]);
    assert_true(signbit(w->val.x[1]));
    assert_int_equal(load_w(p, QKV_IO_F16, f16, error), QKV_IO_OK);
    assert_true(w->val.x[0] == (real)(1 + 1 / 1024.0) && isinf(w->val.x[2]));
    assert_true(w->val.x[1] == (real)ldexp(-1, -24));
    assert_int_equal(load_w(p, QKV_IO_BF16, bf16, error), QKV_IO_OK);
    assert_true(w->val.x[0] == (real)(1 + 1 / 128.0) && isinf(w->val.x[2]));
    assert_int_equal(load_w(p, QKV_IO_I32, i32, error), QKV_IO_DAMAGED);
    qkv_io_status status = load_w(p, QKV_IO_F64, large, error);
    if (sizeof(real) == 8) {
        assert_int_equal(status, QKV_IO_OK);
    } else {
        assert_int_equal(status, QKV_IO_DAMAGED);
        assert_string_equal(
            error, "'w' does not fit this model: 'w' holds -1e+300, more than a float can");
        assert_true(w->val.x[0] == (real)(1 + 1 / 128.0));  // not even the numbers before it
    }
    ag_graph_free(g), ag_params_free(p);
}

/* ---- what does not fit ---- */

enum { LACKS, EXTRA, RENAMED, RESHAPED, LIFTED, RETYPED, SEVERAL, MANY, DAMAGED, WAYS };
#define FIT "'bad' does not fit this model: "
static const char *const SENTENCES[WAYS] = {
    [LACKS] = FIT "it lacks 'b'",
    [EXTRA] = FIT "it also has 'c'",
    [RENAMED] = FIT "it lacks 'b'; it also has 'B'",
    [RESHAPED] = FIT "'planes' is [5,3,2], not [3,2,5]",
    [LIFTED] = FIT "'b' is [3,1], not [3]",
    [RETYPED] = FIT "'b' is I",
    [SEVERAL] = FIT "it lacks 'b'; 'planes' is [5,3,2], not [3,2,5]; it also has 'B'",
    [MANY] = FIT "it also has 'x0'; it also has 'x1'",
    [DAMAGED] = "'bad' is damaged: its checksum is ",
};

/* The last byte of a file is another one. */
static void spoil(const char *path) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, -1, SEEK_END);
    int last = fgetc(file);
    fseek(file, -1, SEEK_END);
    fputc(last ^ 1, file);
    fclose(file);
}

/* Writes "f" again as "bad", wrong in one way. */
static void write_wrong(int way) {
    static char names[40][8];
    qkv_io_safetensors s;
    char error[QKV_IO_ERROR];
    qkv_io_stored t[64], *b = &t[1], *planes = &t[3];
    assert_int_equal(qkv_io_safetensors_open(&s, &qkv_io_posix, NULL, "f", error), QKV_IO_OK);
    assert_int_equal(qkv_io_safetensors_load(&s, error), QKV_IO_OK);
    int n = s.n;
    memcpy(t, s.tensor, (size_t)n * sizeof *t);
    assert_string_equal(b->name, "b");
    assert_string_equal(planes->name, "planes");
    if (way == RENAMED || way == SEVERAL) b->name = "B";
    if (way == RESHAPED || way == SEVERAL)
        planes->dim[0] = 5, planes->dim[1] = 3, planes->dim[2] = 2;
    if (way == LIFTED) b->rank = 2, b->dim[1] = 1;
    if (way == RETYPED) b->dtype = sizeof(real) == 8 ? QKV_IO_I64 : QKV_IO_I32;
    if (way == EXTRA) t[n] = *b, t[n++].name = "c";
    for (int i = 0; way == MANY && i < 40; i++) {
        snprintf(names[i], sizeof names[i], "x%d", i);
        t[n] = *b, t[n++].name = names[i];
    }
    if (way == LACKS) *b = t[--n];
    assert_true(qkv_io_safetensors_write(&qkv_io_posix, NULL, "bad", t, n, NULL, 0, error));
    qkv_io_safetensors_close(&s);
    if (way == DAMAGED) spoil("bad");
}

static void wrong_files_change_nothing(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    ag_params *p = some(NULL, 1), *q = some(NULL, 2), *as_it_was = some(NULL, 2);
    assert_true(qkv_io_params_save(&qkv_io_posix, NULL, "f", p, error));
    for (int way = 0; way < WAYS; way++) {
        write_wrong(way);
        assert_int_equal(qkv_io_params_load(&qkv_io_posix, NULL, "bad", q, error), QKV_IO_DAMAGED);
        if (strncmp(error, SENTENCES[way], strlen(SENTENCES[way])))
            fail_msg("%s\n and not %s", error, SENTENCES[way]);
        if (way == MANY) assert_string_equal(error + strlen(error) - strlen(" more"), " more");
        assert_true(same(q, as_it_was));
    }
    assert_int_equal(qkv_io_params_load(&qkv_io_posix, NULL, "none", q, error), QKV_IO_ABSENT);
    assert_non_null(strstr(error, "'none'"));
    assert_false(qkv_io_params_save(&qkv_io_posix, NULL, "nowhere/f", p, error));
    assert_non_null(strstr(error, "'nowhere/"));
    ag_params_free(p), ag_params_free(q), ag_params_free(as_it_was);
}

/* ---- memory and files that fail ---- */

static bool save_and_load(const tensor_allocator *mem, void *ctx) {
    (void)ctx;
    char error[QKV_IO_ERROR] = "";
    ag_params *p = some(NULL, 1), *q = some(NULL, 2), *as_it_was = some(NULL, 2);
    bool ok = qkv_io_params_save(&qkv_io_posix, mem, "f", p, error);
    if (ok) ok = qkv_io_params_load(&qkv_io_posix, mem, "f", q, error) == QKV_IO_OK;
    assert_true(ok || *error);
    assert_true(same(q, ok ? p : as_it_was));
    ag_params_free(p), ag_params_free(q), ag_params_free(as_it_was);
    return ok;
}

static void memory_fails(void **state) {
    (void)state;
    check_every_failure(save_and_load, NULL);
}

static void load_f(faults *f, void *ctx) {
    (void)ctx;
    char error[QKV_IO_ERROR] = "";
    ag_params *p = some(NULL, 1), *q = some(NULL, 2), *as_it_was = some(NULL, 2);
    bool ok = qkv_io_params_load(&f->io, NULL, "f", q, error) == QKV_IO_OK;
    assert_true(ok || *error);
    assert_true(same(q, ok ? p : as_it_was));
    ag_params_free(p), ag_params_free(q), ag_params_free(as_it_was);
}

static void files_fail(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    ag_params *p = some(NULL, 1);
    assert_true(qkv_io_params_save(&qkv_io_posix, NULL, "f", p, error));
    ag_params_free(p);
    faults_each(load_f, NULL, NULL);
}

#define IN_A_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, faults_enter, faults_leave)
static const struct CMUnitTest tests[] = {
    IN_A_DIRECTORY(saved_is_loaded),       IN_A_DIRECTORY(the_file_says_what_it_holds),
    IN_A_DIRECTORY(numbers_are_converted), IN_A_DIRECTORY(wrong_files_change_nothing),
    IN_A_DIRECTORY(memory_fails),          IN_A_DIRECTORY(files_fail),
};
CHECK_MAIN(tests)
