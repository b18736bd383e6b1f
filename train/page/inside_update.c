/* inside_update.c - looking inside one step: what the next update does to the question. */
#include <string.h>

#include "train/io/json.h"
#include "train/page/engine_internal.h"

static void add_numbers(qkv_io_text *out, const char *name, const double *x, int n) {
    qkv_io_text_add(out, ",\"%s\":[", name);
    for (int i = 0; i < n; i++) {
        qkv_io_text_add(out, i ? "," : "");
        qkv_page_text_real(out, x[i]);
    }
    qkv_io_text_add(out, "]");
}

static void add_part(qkv_trainer *t, const qkv_probe_tape_part *part, qkv_io_text *out) {
    char name[96];
    const double sizes[] = {part->weight, part->grad, part->step};
    const tensor_shape s = part->p->val.shape;
    qkv_io_text_add(out, "{\"name\":");
    qkv_io_json_put(out, part->p->name);
    qkv_io_text_add(out, ",\"matrix\":");
    qkv_io_json_put(out, qkv_probe_tape_matrix(t, part->p->name, name, sizeof name));
    const int cols = s.rank ? tensor_width(s) : 1;
    qkv_io_text_add(out, ",\"rows\":%d,\"cols\":%d", (int)(part->p->val.n / (size_t)cols), cols);
    add_numbers(out, "sizes", sizes, 3);
    add_numbers(out, "moments", part->moment, QKV_OPTIM_MOMENTS);
    add_numbers(out, "part", part->part, QKV_PROBE_TAPE_MEASURES);
    qkv_io_text_add(out, "}");
}

const char *qkv_page_update(qkv_page *p, bool changed) {
    qkv_page_run *r = p->run;
    if (!qkv_page_inside_load(p, changed)) return NULL;
    if (!r->looking && !(r->looking = tensor_arena_new(NULL))) {
        qkv_io_fail(p->error, "out of memory");
        return NULL;
    }
    tensor_arena_reset(r->looking);
    r->update = (qkv_probe_tape_update){0};
    r->has_gradient = false;  // the trainer computes it once more
    qkv_probe_tape_update *u = &r->update;
    if (!qkv_probe_tape_step(&r->tape, r->step, r->looking, u, p->error)) {
        u->n = 0;
        return NULL;
    }
    qkv_io_text out = qkv_page_text_new(p);
    qkv_io_text_add(&out, "{\"step\":%d,\"head\":%d", r->step, u->head);
    const double batch[] = {u->loss, u->grad_norm, u->rate, u->scale};
    add_numbers(&out, "batch", batch, 4);
    add_numbers(&out, "before", u->before, QKV_PROBE_TAPE_MEASURES);
    add_numbers(&out, "after", u->after, QKV_PROBE_TAPE_MEASURES);
    add_numbers(&out, "together", u->together, QKV_PROBE_TAPE_MEASURES);
    qkv_io_text_add(&out, ",\"parts\":[");
    for (int i = 0; i < u->n; i++) {
        qkv_io_text_add(&out, i ? "," : "");
        add_part(r->t, &u->part[i], &out);
    }
    qkv_io_text_add(&out, "]}");
    return qkv_page_text_end(p, &out);
}

const real *qkv_page_update_of(qkv_page *p, const char *name) {
    const qkv_page_run *r = p->run;
    for (int i = 0; r && i < r->update.n; i++)
        if (strcmp(r->update.part[i].p->name, name) == 0)
            return r->update.step + r->update.part[i].p->offset;
    return NULL;
}
