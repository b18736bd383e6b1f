/* weights.c - parameters from a file that another program wrote. */
#include "train/run/weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/run/layout.h"

/* ---- numbers of other widths ---- */

static double half(uint16_t x) {
    int exponent = x >> 10 & 31, fraction = x & 1023;
    double size = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                  : exponent == 0 ? ldexp(fraction, -24)
                                  : ldexp(1024 + fraction, exponent - 25);
    return x & 0x8000 ? -size : size;
}

static double brain(uint16_t x) {  // the upper half of a float
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static bool is_real(qkv_io_dtype d) {
    return d == QKV_IO_F64 || d == QKV_IO_F32 || d == QKV_IO_F16 || d == QKV_IO_BF16;
}

/* The i-th number of a tensor. */
static real number(const qkv_io_stored *t, size_t i) {
    const char *at = (const char *)t->data + i * qkv_io_dtype_size(t->dtype);
    double x;
    float f;
    uint16_t h;
    switch (t->dtype) {
        case QKV_IO_F64: return memcpy(&x, at, sizeof x), (real)x;
        case QKV_IO_F32: return memcpy(&f, at, sizeof f), (real)f;
        case QKV_IO_F16: return memcpy(&h, at, sizeof h), (real)half(h);
        default: return memcpy(&h, at, sizeof h), (real)brain(h);
    }
}

/* ---- does it fit? ---- */

/* A sentence that grows while there is room, and counts what is left out. */
typedef struct {
    char text[QKV_IO_ERROR - 160];
    size_t n;
    int left_out;
} report;

static void say(report *r, const char *before, const char *name, const char *after) {
    char one[200], shown[100];
    int n = snprintf(one, sizeof one, "%s%s'%s'%s", r->n ? "; " : "", before,
                     qkv_io_printable(name, shown, sizeof shown), after);
    if (r->left_out || r->n + (size_t)n >= sizeof r->text) {
        r->left_out++;
        return;
    }
    memcpy(r->text + r->n, one, (size_t)n + 1);
    r->n += (size_t)n;
}

static void shape_text(const size_t *dim, int rank, char *out, size_t size) {
    size_t n = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < rank && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%zu", i ? "," : "", dim[i]);
    if (n < size) snprintf(out + n, size - n, "]");
}

static void compare(const qkv_io_stored *has, const qkv_io_stored *want, report *r) {
    char is[40], should[40], more[100];
    if (!has) {
        say(r, "it lacks ", want->name, "");
    } else if (!is_real(has->dtype)) {
        snprintf(more, sizeof more, " is %s", qkv_io_dtype_name(has->dtype));
        say(r, "", want->name, more);
    } else if (has->rank != want->rank ||
               memcmp(has->dim, want->dim, (size_t)want->rank * sizeof *want->dim) != 0) {
        shape_text(has->dim, has->rank, is, sizeof is);
        shape_text(want->dim, want->rank, should, sizeof should);
        snprintf(more, sizeof more, " is %s, not %s", is, should);
        say(r, "", want->name, more);
    }
}

static bool is_weight(const char *name) {
    return !qkv_run_layout_is_moment(name) && !qkv_run_layout_is_state(name);
}

static bool fits(const qkv_io_safetensors *file, const qkv_run_layout *l, char *error) {
    report r = {.n = 0};
    char shown[120], more[40] = "";
    for (int i = 0; i < l->n; i++)
        if (is_weight(l->tensor[i].name))
            compare(qkv_io_safetensors_find(file, l->tensor[i].name), &l->tensor[i], &r);
    for (int i = 0; i < file->n; i++)
        if (is_weight(file->tensor[i].name) &&
            !qkv_run_layout_find(l->tensor, l->n, i, file->tensor[i].name))
            say(&r, "it also has ", file->tensor[i].name, "");
    if (r.left_out) snprintf(more, sizeof more, "; and %d more", r.left_out);
    return !r.n || qkv_io_fail(error, "'%s' does not fit this model: %s%s",
                               qkv_io_printable(file->path, shown, sizeof shown), r.text, more);
}

qkv_io_status qkv_run_load_weights(const qkv_io *io, qkv_trainer *t, const char *path,
                                   char *error) {
    qkv_io_safetensors file;
    qkv_run_layout_state none = {0};
    qkv_run_layout l;
    qkv_io_status status =
        qkv_io_safetensors_open(&file, io, qkv_trainer_allocator(t), path, error);
    if (status != QKV_IO_OK) return status;
    file.unchecked = file.n == 0 || !qkv_run_layout_is_state(file.tensor[0].name);
    if (!qkv_run_layout_init(&l, t, &none)) {
        qkv_io_fail(error, "out of memory");
        status = QKV_IO_UNREADABLE;
    }
    if (status == QKV_IO_OK && !fits(&file, &l, error)) status = QKV_IO_DAMAGED;
    if (status == QKV_IO_OK) status = qkv_io_safetensors_load(&file, error);
    for (int i = 0; status == QKV_IO_OK && i < l.n; i++) {  // nothing can fail any more
        real *to = (real *)(size_t)l.tensor[i].data;
        if (!is_weight(l.tensor[i].name)) continue;
        const qkv_io_stored *from = qkv_io_safetensors_find(&file, l.tensor[i].name);
        for (size_t k = 0; k < l.tensor[i].bytes / sizeof(real); k++) to[k] = number(from, k);
    }
    qkv_run_layout_free(&l);
    qkv_io_safetensors_close(&file);
    return status;
}
