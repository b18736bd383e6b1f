/* safetensors_fit.c - does a file hold the tensors that somebody wants, and no others? */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "train/io/safetensors.h"

/* Half a sentence that grows while there is room, and counts what is left out. */
typedef struct {
    char *text;
    size_t n;
    int left_out;
} report;

static void say(report *r, const char *before, const char *name, const char *after) {
    char one[200], shown[100];
    const size_t room = QKV_IO_ST_WHAT - 24;  // "; and 4294967295 more"
    int n = snprintf(one, sizeof one, "%s%s'%s'%s", r->n ? "; " : "", before,
                     qkv_io_printable(name, shown, sizeof shown), after);
    if (r->left_out || r->n + (size_t)n >= room) {
        r->left_out++;
        return;
    }
    memcpy(r->text + r->n, one, (size_t)n + 1);
    r->n += (size_t)n;
}

static void shape_text(const uint64_t *dim, int rank, char *out, size_t size) {
    size_t n = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < rank && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%" PRIu64, i ? "," : "", dim[i]);
    if (n < size) snprintf(out + n, size - n, "]");
}

static bool is_real(qkv_io_dtype d) {
    return d == QKV_IO_F64 || d == QKV_IO_F32 || d == QKV_IO_F16 || d == QKV_IO_BF16;
}

static void compare(const qkv_io_stored *has, const qkv_io_stored *want, bool any_real, report *r) {
    char is[40], should[40], more[100];
    if (!has) {
        say(r, "it lacks ", want->name, "");
    } else if (any_real && is_real(want->dtype) ? !is_real(has->dtype)
                                                : has->dtype != want->dtype) {
        snprintf(more, sizeof more, " is %s, not %s", qkv_io_dtype_name(has->dtype),
                 qkv_io_dtype_name(want->dtype));
        say(r, "", want->name, more);
    } else if (has->rank != want->rank ||
               memcmp(has->dim, want->dim, (size_t)want->rank * sizeof *want->dim) != 0) {
        shape_text(has->dim, has->rank, is, sizeof is);
        shape_text(want->dim, want->rank, should, sizeof should);
        snprintf(more, sizeof more, " is %s, not %s", is, should);
        say(r, "", want->name, more);
    }
}

const qkv_io_stored *qkv_io_stored_find(const qkv_io_stored *list, int n, int i, const char *name) {
    if (i < n && strcmp(list[i].name, name) == 0) return &list[i];
    for (int k = 0; k < n; k++)
        if (strcmp(list[k].name, name) == 0) return &list[k];
    return NULL;
}

bool qkv_io_safetensors_fits(const qkv_io_safetensors *file, const qkv_io_stored *want, int n,
                             bool any_real, qkv_io_besides_fn *besides, char *what) {
    report r = {.text = what};
    what[0] = '\0';
    for (int i = 0; i < n; i++)
        compare(qkv_io_stored_find(file->tensor, file->n, i, want[i].name), &want[i], any_real, &r);
    for (int i = 0; i < file->n; i++) {
        const char *name = file->tensor[i].name;
        if (!qkv_io_stored_find(want, n, i, name) && !(besides && besides(name)))
            say(&r, "it also has ", name, "");
    }
    if (r.left_out) snprintf(what + r.n, QKV_IO_ST_WHAT - r.n, "; and %d more", r.left_out);
    return !r.n;
}
