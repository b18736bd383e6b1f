/* ledger_train.c - a training with a ledger of its steps. */
#include <string.h>

#include "train/io/given.h"
#include "train/probe/ledger_internal.h"
#include "train/probe/look.h"

typedef struct {
    qkv_probe_ledger *l;
    real *from, *to;  // [size]
    int first;        // the step at which the row begins
    int end, every;
    qkv_probe_ledger_fn *each;
    void *ctx;
    bool failed;
    char *error;
} book;

/* Does a row end after `done` steps? */
static bool is_full(const book *b, int done) {
    return done == b->end || done - b->first >= b->every ||
           done == qkv_trainer_config(b->l->t)->scores_from;
}

static bool updated(void *ctx, int done, const qkv_trainer_step *s) {
    book *b = ctx;
    qkv_probe_ledger_row row;
    char why[QKV_IO_ERROR];
    (void)s;
    if (!is_full(b, done)) return true;
    qkv_probe_params_copy(qkv_trainer_params(b->l->t), b->to, false);
    if (!qkv_probe_ledger_step(b->l, b->from, b->to, &row, why)) {
        qkv_io_fail(b->error, "steps %d to %d: %.400s", b->first, done, why);
        b->failed = true;
        return false;
    }
    const bool on = b->each(b->ctx, b->first, done, &row);
    real *from = b->from;
    b->from = b->to;
    b->to = from;
    b->first = done;
    return on;
}

qkv_trainer_outcome qkv_probe_ledger_train(qkv_probe_ledger *l, int *step, int end, int every,
                                           qkv_probe_ledger_fn *each, void *ctx, char *error) {
    if (!QKV_IO_GIVEN(error, l, step) ||
        (!each && qkv_io_fail(error, "a ledger needs a function that takes its rows")))
        return QKV_TRAINER_FAILED;
    tensor_arena *arena = tensor_arena_new(qkv_trainer_allocator(l->t));
    book b = {.l = l,
              .first = *step,
              .end = end,
              .every = every > 0 ? every : 1,
              .each = each,
              .ctx = ctx,
              .error = error};
    b.from = arena ? tensor_arena_reals(arena, l->size) : NULL;
    b.to = arena ? tensor_arena_reals(arena, l->size) : NULL;
    qkv_trainer_outcome outcome = QKV_TRAINER_FAILED;
    if (b.from && b.to) {
        const qkv_trainer_calls calls = {.updated = updated, .ctx = &b};
        qkv_probe_params_copy(qkv_trainer_params(l->t), b.from, false);
        outcome = qkv_trainer_train(l->t, step, end, NULL, &calls, error);
    } else {
        qkv_io_fail(error, "out of memory");
    }
    tensor_arena_free(arena);
    return b.failed ? QKV_TRAINER_FAILED : outcome;
}
