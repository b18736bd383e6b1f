/* ledger.c - a run's steps, trained for once more with a ledger. */
#include "train/run/ledger.h"

#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/text.h"

enum { MOST_NUMBERS = 1 << 27 };

typedef struct {
    const qkv_run_ledger_options *o;
    tensor_arena *arena;
    qkv_run_ledger *out;
    int first, last;   // steps
    size_t room;       // rows
    const real *then;  // the newest checkpoint's parameters; NULL: the ledger ends before it
    char *error;
} job;

static bool add_row(void *ctx, int first, int next, const qkv_probe_ledger_row *row) {
    job *j = ctx;
    qkv_run_ledger *out = j->out;
    qkv_run_ledger_row *at =
        tensor_arena_grow(j->arena, out->row, (size_t)out->rows, 1, &j->room, sizeof *at);
    double *part = tensor_arena_take(j->arena, (size_t)out->columns, sizeof *part);
    if (!at || !part) return qkv_io_fail(j->error, "out of memory");
    memcpy(part, row->part, (size_t)out->columns * sizeof *part);
    out->row = at;
    at[out->rows++] =
        (qkv_run_ledger_row){first, next, row->before, row->after, row->left, row->allowed, part};
    if (j->o->progress) j->o->progress(j->o->ctx, next - j->first, j->last - j->first);
    return true;
}

static bool copy_columns(const qkv_probe_ledger *l, job *j) {
    qkv_run_ledger *out = j->out;
    const int n = qkv_probe_ledger_columns(l);
    *out = (qkv_run_ledger){.columns = n,
                            .parameters = qkv_probe_ledger_parameters(l),
                            .examples = qkv_probe_ledger_examples(l)};
    out->column = tensor_arena_take(j->arena, (size_t)n, sizeof *out->column);
    for (int i = 0; out->column && i < n; i++) out->column[i] = *qkv_probe_ledger_column_at(l, i);
    return out->column || qkv_io_fail(j->error, "out of memory");
}

/* ---- before anything is trained ---- */

/* Has the run these steps, and the model such columns? Notes where the ledger ends. */
static qkv_io_status check(qkv_trainer *t, const qkv_run_opening *o, int newest, job *j) {
    size_t length;
    char shown[200];
    const char *from = qkv_trainer_config(t)->from;
    const int begun = *from ? qkv_config_from_step(from, &length) : 0;
    qkv_io_printable(o->dir, shown, sizeof shown);
    j->first = j->o->from > begun ? j->o->from : begun;
    j->last = j->o->to == QKV_RUN_NEWEST ? newest : j->o->to;
    if (j->last > newest || j->first >= newest || (j->o->from > 0 && j->o->from < begun))
        return qkv_io_fail(j->error, "'%s' has steps %d to %d; there is none from %d to %d", shown,
                           begun, newest, j->o->from, j->last),
               QKV_IO_USAGE;
    if (j->first >= j->last)
        return qkv_io_fail(j->error, "from step %d to step %d there is nothing", j->first, j->last),
               QKV_IO_USAGE;
    qkv_probe_ledger *l = qkv_probe_ledger_new(t, &j->o->books, j->error);
    if (!l) return QKV_IO_USAGE;
    const int every = j->o->every > 0 ? j->o->every : 1;
    const double rows = (double)(j->last - j->first) / every + 2;
    const bool fits = rows * qkv_probe_ledger_columns(l) < MOST_NUMBERS,
               copied = copy_columns(l, j);
    qkv_probe_ledger_free(l);
    if (!copied) return QKV_IO_FAILED;
    if (fits) return QKV_IO_OK;
    return qkv_io_fail(j->error,
                       "the ledger would have %.0f rows of %d columns; --every makes fewer", rows,
                       j->out->columns),
           QKV_IO_USAGE;
}

/* The newest state: is there what is asked for, and with which parameters must the ledger end? */
static qkv_io_status look_ahead(const qkv_io *io, const qkv_run_opening *o, job *j) {
    qkv_run_progress progress;
    qkv_io_status status;
    qkv_run_opening newest = *o;
    newest.at = QKV_RUN_NEWEST;
    qkv_trainer *t = qkv_run_open_at(io, &newest, &progress, &status, j->error);
    if (!t) return status;
    status = check(t, o, progress.step, j);
    if (status == QKV_IO_OK && j->last == progress.step) {
        ag_params *p = qkv_trainer_params(t);
        real *then = tensor_arena_reals(j->arena, ag_params_size(p));
        qkv_probe_ledger_copy(p, then, false);
        j->then = then;
        if (!then) status = (qkv_io_fail(j->error, "out of memory"), QKV_IO_FAILED);
    }
    qkv_trainer_free(t);
    return status;
}

/* ---- training ---- */

static bool are_those_of_then(ag_params *p, const real *then) {
    bool same = true;
    for (int i = 0; i < ag_params_count(p); i++) {
        const ag_param_entry *e = ag_params_at(p, i);
        same = same && !memcmp(e->val.x, then + e->offset, e->val.n * sizeof *then);
    }
    return same;
}

static qkv_io_status train(qkv_trainer *t, int step, job *j) {
    qkv_probe_ledger *l = qkv_probe_ledger_new(t, &j->o->books, j->error);
    if (!l) return QKV_IO_FAILED;
    const qkv_trainer_outcome end =
        qkv_probe_ledger_train(l, &step, j->last, j->o->every, add_row, j, j->error);
    qkv_probe_ledger_free(l);
    return end == QKV_TRAINER_ENDED      ? QKV_IO_OK
           : end == QKV_TRAINER_DIVERGED ? QKV_IO_DIVERGED
                                         : QKV_IO_FAILED;
}

qkv_io_status qkv_run_ledger_of(const qkv_io *io, const qkv_run_opening *o,
                                const qkv_run_ledger_options *options, tensor_arena *arena,
                                qkv_run_ledger *out, char *error) {
    if (!QKV_IO_GIVEN(error, o, options, arena, out)) return QKV_IO_FAILED;
    job j = {.o = options, .arena = arena, .out = out, .error = error};
    qkv_run_opening begin = *o;
    qkv_run_progress progress;
    char note[QKV_IO_ERROR];
    begin.weights = NULL;
    qkv_io_status status = look_ahead(io, &begin, &j);
    if (status != QKV_IO_OK) return status;
    begin.at = j.first;
    qkv_trainer *t = qkv_run_open_at(io, &begin, &progress, &status, error);
    if (!t) return status;
    snprintf(note, sizeof note, "%s", error);
    status = train(t, progress.step, &j);
    if (status == QKV_IO_OK) {
        const bool other = j.then && !are_those_of_then(qkv_trainer_params(t), j.then);
        snprintf(error, QKV_IO_ERROR, "%s",
                 *note   ? note
                 : other ? "trained for again the run does not end with the weights of its "
                           "checkpoint: another build or processor made it"
                         : "");
    }
    qkv_trainer_free(t);
    return status;
}

/* ---- as a table ---- */

static void put_name(qkv_io_text *t, const char *name) {
    qkv_io_text_add(t, ",");
    qkv_io_text_label(t, name);
}

static void put_number(qkv_io_text *t, double x) {
    qkv_io_text_add(t, ",");
    qkv_io_text_number(t, x);
}

bool qkv_run_ledger_write(const qkv_io *io, const qkv_run_ledger *l, const char *path,
                          char *error) {
    if (!QKV_IO_GIVEN(error, l, path)) return false;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text t = {.arena = arena, .failed = !arena};
    qkv_io_text_add(&t, "step,next,loss,change");
    for (int i = 0; i < l->columns; i++) {
        if (i == l->parameters) qkv_io_text_add(&t, ",left");
        put_name(&t, l->column[i].name);
    }
    qkv_io_text_add(&t, l->columns == l->parameters ? ",left\n" : "\n");
    for (int r = 0; r < l->rows; r++) {
        const qkv_run_ledger_row *row = &l->row[r];
        qkv_io_text_add(&t, "%d,%d", row->first, row->next);
        put_number(&t, row->before);
        put_number(&t, row->after - row->before);
        for (int i = 0; i < l->columns; i++) {
            if (i == l->parameters) put_number(&t, row->left);
            put_number(&t, row->part[i]);
        }
        if (l->columns == l->parameters) put_number(&t, row->left);
        qkv_io_text_add(&t, "\n");
    }
    const bool ok = !t.failed || qkv_io_fail(error, "out of memory");
    const bool written = ok && qkv_io_write_output(io, path, t.at, t.n, NULL, error);
    tensor_arena_free(arena);
    return written;
}
