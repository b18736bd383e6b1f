/* store.c - the results of a folder that several processes may add to. */
#include "train/study/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/given.h"

enum { WRITING = 0, CHUNK = 1 << 16 };  // the byte that who appends has claimed; bytes read at once

uint64_t qkv_study_cell_id(const qkv_study *s, const qkv_study_cell *cell) {
    const qkv_study_variant *v = &s->variant[cell->variant];
    const char *part[] = {v->group, v->name};
    uint64_t hash = 14695981039346656037u;  // FNV-1a
    for (int k = 0; k < 2; k++)
        for (const char *c = part[k];; c++) {
            hash = (hash ^ (unsigned char)*c) * 1099511628211u;
            if (!*c) break;
        }
    for (int k = 0; k < 4; k++)
        hash = (hash ^ ((unsigned)cell->seed >> (8 * k) & 255)) * 1099511628211u;
    return hash ^ hash >> 31;
}

static bool claim(qkv_study_store *st, uint64_t byte, int how) {
    const qkv_io *io = st->io;
    return !io->claim || io->claim(io->ctx, st->file.fd, byte, how) == 0;
}

/* A byte behind that of writing, which an off_t holds. */
static uint64_t byte_of(const qkv_study_store *st, const qkv_study_cell *cell) {
    return (qkv_study_cell_id(st->s, cell) >> 2) | 1;
}

/* The whole lines of the tail. */
static bool take_lines(qkv_study_store *st, char *error) {
    size_t from = 0;
    for (char *end; (end = memchr(st->tail + from, '\n', st->n_tail - from));) {
        const size_t n = (size_t)(end - st->tail) - from;
        if (!qkv_study_results_add_line(st->s, st->tail + from, n, st->known))
            return qkv_io_fail(error, "out of memory");
        from += n + 1;
    }
    st->n_tail -= from;
    memmove(st->tail, st->tail + from, st->n_tail);
    return true;
}

static bool read_on(qkv_study_store *st, char *error) {
    for (;;) {
        if (st->room < st->n_tail + CHUNK) {
            char *more = realloc(st->tail, 2 * st->room + CHUNK);
            if (!more) return qkv_io_fail(error, "out of memory");
            st->tail = more;
            st->room = 2 * st->room + CHUNK;
        }
        const ssize_t n = qkv_io_read_up_to(st->io, st->in, st->tail + st->n_tail, CHUNK);
        if (n < 0) return qkv_io_error(error, "read", st->path, errno), false;
        st->n_tail += (size_t)n;
        if (n == 0) return true;
        if (!take_lines(st, error)) return false;
    }
}

/* Others append only with the same claim, so that nobody reads a part of a row that is cut off again. */
bool qkv_study_store_read(qkv_study_store *st, char *error) {
    if (!claim(st, WRITING, QKV_IO_WAIT))
        return qkv_io_error(error, "lock", st->path, errno), false;
    const bool ok = read_on(st, error);
    claim(st, WRITING, QKV_IO_RELEASE);
    return ok;
}

bool qkv_study_store_open(qkv_study_store *st, const qkv_io *io, const qkv_study *s,
                          const char *dir, qkv_study_results *known, char *error) {
    if (!QKV_IO_GIVEN(error, st, s, dir, known)) return false;
    char ignored[QKV_IO_ERROR];
    *st = (qkv_study_store){.io = qkv_io_of(io), .s = s, .known = known, .in = -1};
    if (!qkv_io_path(st->path, dir, "results.jsonl", error)) return st->file.fd = -1, false;
    if (!qkv_io_append_open(&st->file, io, st->path, UINT64_MAX, error)) return false;
    st->in = qkv_io_open(st->io, st->path, O_RDONLY);
    if (st->in < 0) qkv_io_error(error, "open", st->path, errno);
    if (st->in >= 0 && qkv_study_store_read(st, error)) return true;
    qkv_study_store_close(st, ignored);
    return false;
}

/* With the claim to write: what a killed process left of a row becomes a line that is none. */
static bool append(qkv_study_store *st, const char *line, char *error) {
    if (!read_on(st, error)) return false;
    if (st->io->size(st->io->ctx, st->file.fd, &st->file.size) < 0)
        return qkv_io_error(error, "append to", st->path, errno), false;
    if (st->n_tail && !qkv_io_append(&st->file, "\n", 1, error)) return false;
    return qkv_io_append(&st->file, line, strlen(line), error) && read_on(st, error);
}

bool qkv_study_store_add(qkv_study_store *st, const qkv_study_result *r, char *error) {
    char *line = qkv_study_result_line(st->s, r);
    if (!line) return qkv_io_fail(error, "out of memory");
    bool ok = claim(st, WRITING, QKV_IO_WAIT);
    if (!ok) qkv_io_error(error, "lock", st->path, errno);
    ok = ok && append(st, line, error);
    claim(st, WRITING, QKV_IO_RELEASE);
    free(line);
    return ok;
}

bool qkv_study_store_claim(qkv_study_store *st, const qkv_study_cell *cell) {
    return claim(st, byte_of(st, cell), QKV_IO_TRY);
}

void qkv_study_store_release(qkv_study_store *st, const qkv_study_cell *cell) {
    claim(st, byte_of(st, cell), QKV_IO_RELEASE);
}

bool qkv_study_store_close(qkv_study_store *st, char *error) {
    if (st->in >= 0) qkv_io_close(st->io, st->in);
    st->in = -1;
    free(st->tail);
    st->tail = NULL;
    return qkv_io_append_close(&st->file, error);
}
