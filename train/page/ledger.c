/* ledger.c - what lowers the held-out loss: the parts of the next step, and of the steps trained so far. */
#include "train/io/json.h"
#include "train/page/engine_internal.h"
#include "train/probe/look.h"

enum { EXAMPLES = 128 };  // the default of qkv ledger

/* The ledger, and memory for a state beside the present one, once somebody asks. */
static bool prepare(qkv_page *p) {
    qkv_page_run *r = p->run;
    const qkv_probe_ledger_options o = {.examples = EXAMPLES};
    if (!r) return qkv_io_fail(p->error, "there is no run");
    if (!r->beside) r->beside = tensor_arena_reals(r->arena, qkv_page_state_size(r));
    if (!r->after)
        r->after = tensor_arena_reals(r->arena, ag_params_size(qkv_trainer_params(r->t)));
    if (!r->beside || !r->after) return qkv_io_fail(p->error, "out of memory");
    if (!r->ledger) r->ledger = qkv_probe_ledger_new(r->t, &o, p->error);
    return r->ledger;
}

static const char *as_text(qkv_page *p, int first, int next, const qkv_probe_ledger_row *row) {
    const qkv_probe_ledger *l = p->run->ledger;
    const struct {
        const char *name;
        double x;
    } numbers[] = {{"before", row->before},
                   {"after", row->after},
                   {"left", row->left},
                   {"allowed", row->allowed}};
    qkv_io_text out = qkv_page_text_new(p);
    qkv_io_text_add(&out, "{\"first\":%d,\"next\":%d,\"examples\":%d", first, next,
                    qkv_probe_ledger_examples(l));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        qkv_io_text_add(&out, ",\"%s\":", numbers[i].name);
        qkv_page_text_real(&out, numbers[i].x);
    }
    qkv_io_text_add(&out, ",\"parts\":[");
    for (int i = 0; i < qkv_probe_ledger_parameters(l); i++) {
        qkv_io_text_add(&out, i ? ",{\"name\":" : "{\"name\":");
        qkv_io_json_put(&out, qkv_probe_ledger_column_at(l, i)->name);
        qkv_io_text_add(&out, ",\"part\":");
        qkv_page_text_real(&out, row->part[i]);
        qkv_io_text_add(&out, "}");
    }
    qkv_io_text_add(&out, "]}");
    return qkv_page_text_end(p, &out);
}

const char *qkv_page_ledger_next(qkv_page *p) {
    qkv_page_run *r = p->run;
    qkv_trainer_step s;
    qkv_probe_ledger_row row;
    if (!prepare(p)) return NULL;
    r->has_gradient = false;  // the trainer computes it once more
    qkv_page_state_copy(r, r->beside, true);
    bool ok = qkv_trainer_gradient(r->t, r->step, &s, p->error);
    if (ok) {
        qkv_trainer_update(r->t, r->step, &s);
        qkv_probe_params_copy(qkv_trainer_params(r->t), r->after, false);
        ok = qkv_probe_ledger_step(r->ledger, r->beside, r->after, &row, p->error);
    }
    qkv_page_state_copy(r, r->beside, false);
    return ok ? as_text(p, r->step, r->step + 1, &row) : NULL;
}

/* The kept state that comes after a step, up to the present one; of several the last that was kept. */
static const qkv_page_state *state_after(const qkv_page_run *r, int step) {
    const qkv_page_state *best = NULL;
    for (int i = 0; i < r->states; i++) {
        const qkv_page_state *s = &r->state[i];
        if (s->step > step && s->step <= r->step && (!best || s->step <= best->step)) best = s;
    }
    return best;
}

const char *qkv_page_ledger_after(qkv_page *p, int from) {
    qkv_page_run *r = p->run;
    qkv_probe_ledger_row row;
    if (!prepare(p)) return NULL;
    if (from >= r->step) return "null";
    const qkv_page_state *a = qkv_page_state_up_to(r, from > 0 ? from : 0);
    if (!a) return qkv_io_fail(p->error, "no state is kept up to step %d", from), NULL;
    const qkv_page_state *b = state_after(r, a->step);
    const int next = b ? b->step : r->step, opens = qkv_trainer_config(r->t)->scores_from;
    if (a->step < opens && opens < next)
        return qkv_io_fail(p->error,
                           "the scores open at step %d, and no state is kept there: go to that "
                           "step once, then compute the ledger again",
                           opens),
               NULL;
    if (!b) qkv_probe_params_copy(qkv_trainer_params(r->t), r->after, false);
    r->has_gradient = false;
    qkv_trainer_at_step(r->t, a->step);
    const bool ok = qkv_probe_ledger_step(r->ledger, a->x, b ? b->x : r->after, &row, p->error);
    qkv_trainer_at_step(r->t, r->step);
    return ok ? as_text(p, a->step, next, &row) : NULL;
}
