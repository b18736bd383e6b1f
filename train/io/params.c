/* params.c - parameters saved as safetensors, and loaded from whatever program wrote them. */
#include "train/io/params.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/safetensors.h"
#include "train/io/words.h"

static const qkv_io_dtype REAL_DTYPE = sizeof(real) == 8 ? QKV_IO_F64 : QKV_IO_F32;

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

/* The i-th number of a tensor. */
static double number(const qkv_io_stored *t, size_t i) {
    const char *at = (const char *)t->data + i * qkv_io_dtype_size(t->dtype);
    double x;
    float f;
    uint16_t h;
    switch (t->dtype) {
        case QKV_IO_F64: return memcpy(&x, at, sizeof x), x;
        case QKV_IO_F32: return memcpy(&f, at, sizeof f), (double)f;
        case QKV_IO_F16: return memcpy(&h, at, sizeof h), half(h);
        default: return memcpy(&h, at, sizeof h), brain(h);
    }
}

/* ---- the tensors of a list of parameters ---- */

/* All of them, in memory of the caller's; NULL: out of memory. */
static qkv_io_stored *stored(ag_params *p, const tensor_allocator *mem) {
    int n = ag_params_count(p);
    qkv_io_stored *list = mem->alloc(mem->ctx, (size_t)(n + 1) * sizeof *list);
    for (int i = 0; list && i < n; i++) {
        const ag_param_entry *e = ag_params_at(p, i);
        list[i] = qkv_io_stored_of(e->name, &e->val);
    }
    return list;
}

bool qkv_io_params_save(const qkv_io *io, const tensor_allocator *mem, const char *path,
                        ag_params *p, char *error) {
    if (!QKV_IO_GIVEN(error, path, p)) return false;
    static const qkv_io_note note = {"format", "qkv-params-1"};
    if (!mem) mem = &tensor_malloc;
    qkv_io_stored *list = stored(p, mem);
    if (!list) return qkv_io_fail(error, "out of memory");
    bool ok = qkv_io_safetensors_write(io, mem, path, list, ag_params_count(p), &note, 1, error);
    mem->release(mem->ctx, list);
    return ok;
}

/* ---- loading ---- */

static bool misfit(const qkv_io_safetensors *file, const char *what, char *error) {
    char shown[120];
    return qkv_io_fail(error, "'%s' does not fit this model: %s",
                       qkv_io_printable(file->path, shown, sizeof shown), what);
}

/* Are there numbers that became infinite on the way to `real`? */
static bool holds(const qkv_io_safetensors *file, const qkv_io_stored *from, char *error) {
    char what[200], shown[100];
    size_t n = from->dtype == QKV_IO_F64 ? (size_t)from->bytes / sizeof(double) : 0;
    for (size_t i = 0; i < n; i++) {
        double x = number(from, i);
        if (!isfinite(x) || isfinite((real)x)) continue;
        qkv_io_words(what, sizeof what, "'%s' holds %.4g, more than a %s can",
                     qkv_io_printable(from->name, shown, sizeof shown), x, REAL_NAME);
        return misfit(file, what, error);
    }
    return true;
}

void qkv_io_stored_read(const qkv_io_stored *from, real *to, size_t n) {
    if (from->dtype != REAL_DTYPE)
        for (size_t i = 0; i < n; i++) to[i] = (real)number(from, i);
    else if (from->bytes)
        memcpy(to, from->data, (size_t)from->bytes);
}

/* The tensors of the parameters' names. */
static const qkv_io_stored *of(const qkv_io_safetensors *file, ag_params *p, int i) {
    return qkv_io_stored_find(file->tensor, file->n, i, ag_params_at(p, i)->name);
}

static qkv_io_status read(qkv_io_safetensors *file, ag_params *p, const qkv_io_stored *want,
                          qkv_io_besides_fn *besides, char *error) {
    char what[QKV_IO_ST_WHAT];
    int n = ag_params_count(p);
    if (!qkv_io_safetensors_fits(file, want, n, true, besides, what))
        return misfit(file, what, error), QKV_IO_DAMAGED;
    qkv_io_status status = qkv_io_safetensors_load(file, error);
    for (int i = 0; status == QKV_IO_OK && i < n; i++)
        if (!holds(file, of(file, p, i), error)) status = QKV_IO_DAMAGED;
    for (int i = 0; status == QKV_IO_OK && i < n; i++)  // nothing can fail any more
        qkv_io_stored_read(of(file, p, i), ag_params_at(p, i)->val.x, ag_params_at(p, i)->val.n);
    return status;
}

qkv_io_status qkv_io_params_read(qkv_io_safetensors *file, ag_params *p, qkv_io_besides_fn *besides,
                                 char *error) {
    qkv_io_stored *want = stored(p, file->mem);
    if (!want) return qkv_io_fail(error, "out of memory"), QKV_IO_FAILED;
    qkv_io_status status = read(file, p, want, besides, error);
    file->mem->release(file->mem->ctx, want);
    return status;
}

qkv_io_status qkv_io_params_load(const qkv_io *io, const tensor_allocator *mem, const char *path,
                                 ag_params *p, char *error) {
    if (!QKV_IO_GIVEN(error, path, p)) return QKV_IO_FAILED;
    qkv_io_safetensors file;
    qkv_io_status status = qkv_io_safetensors_open(&file, io, mem, path, error);
    if (status != QKV_IO_OK) return status;
    status = qkv_io_params_read(&file, p, NULL, error);
    qkv_io_safetensors_close(&file);
    return status;
}
