/* head_circuits.c - each head's own circuits, question by question. */
#include "train/probe/head_circuits.h"

#include <math.h>

static qkv_probe_head_circuit *at(const qkv_probe_head_circuits *c, int head, int question) {
    return &c->of[head * c->questions + question];
}

bool qkv_probe_head_circuits_of(qkv_trainer *t, tensor_arena *arena, qkv_probe_head_circuits *out) {
    const double none = (double)NAN;
    *out = (qkv_probe_head_circuits){.heads = qkv_trainer_config(t)->heads,
                                     .questions = qkv_trainer_spec(t)->n_readouts};
    out->of = tensor_arena_take(arena, (size_t)(out->heads * out->questions), sizeof *out->of);
    for (int r = 0; out->of && r < out->questions; r++) {
        qkv_probe_circuits c;
        out->missing[r] = qkv_probe_circuits_missing_of(t, r);
        if (!out->missing[r] && !qkv_probe_circuits_new_of(arena, t, r, &c)) return false;
        for (int h = 0; h < out->heads; h++) {
            *at(out, h, r) = (qkv_probe_head_circuit){none, none, none, none};
            if (out->missing[r]) continue;
            qkv_probe_circuits_read(t, 0, h, &c);
            *at(out, h, r) =
                (qkv_probe_head_circuit){c.qk_diag, c.qk_margin, c.ov_diag, c.ov_margin};
        }
    }
    return out->of != NULL;
}

bool qkv_probe_head_circuits_any(const qkv_probe_head_circuits *c) {
    for (int r = 0; r < c->questions; r++)
        if (!c->missing[r]) return true;
    return false;
}

int qkv_probe_finder(const qkv_probe_head_circuits *c, int question) {
    int best = 0;
    for (int h = 1; h < c->heads; h++)
        if (at(c, h, question)->qk_margin > at(c, best, question)->qk_margin) best = h;
    return best;
}

int qkv_probe_sayer(const qkv_probe_head_circuits *c, int question) {
    int best = 0;
    for (int h = 1; h < c->heads; h++)
        if (at(c, h, question)->ov_margin > at(c, best, question)->ov_margin) best = h;
    return best;
}
