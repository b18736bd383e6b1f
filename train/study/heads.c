/* heads.c - which head's matrices find, and which say, the answer to each question (head_circuits.h).
 *
 * "circuits.head0.first.qk": the margin of head 0's QK for the question "first", the score of the
 * key that is asked for less the mean of the others; "circuits.head0.first.ov": of its OV, the logit
 * of the value that was fetched, as the answer "first". A question's finder is the head with the
 * greatest margin of QK. Means over questions: "circuits.finds", "circuits.says": the margins of the
 * finder; "circuits.finds_all", "circuits.says_all": the share of symbols for which its greatest
 * entry is the right one; "circuits.others_find", "circuits.others_say": the margins of the other
 * heads; "circuits.same": the finder's OV has the greatest margin, too. "circuits.apart": 1 if each
 * question has another finder, else 0. */
#include "train/probe/head_circuits.h"
#include "train/study/probe.h"

static const qkv_probe_head_circuit *circuit(const qkv_probe_head_circuits *c, int head,
                                             int question) {
    return &c->of[head * c->questions + question];
}

typedef struct {
    double finds, says, finds_all, says_all, others_find, others_say, same, apart;
} summary;

/* Means over the questions that have circuits. */
static summary summarise(const qkv_probe_head_circuits *c) {
    summary s = {.apart = 1};
    double n = 0, others = c->heads > 1 ? c->heads - 1 : 1;
    for (int r = 0; r < c->questions; r++) n += !c->missing[r];
    for (int r = 0; r < c->questions; r++) {
        if (c->missing[r]) continue;
        const int finder = qkv_probe_finder(c, r);
        for (int h = 0; h < c->heads; h++) {
            const qkv_probe_head_circuit *x = circuit(c, h, r);
            const bool own = h == finder;
            *(own ? &s.finds : &s.others_find) += x->qk_margin / n / (own ? 1 : others);
            *(own ? &s.says : &s.others_say) += x->ov_margin / n / (own ? 1 : others);
            if (own) s.finds_all += x->qk_diag / n, s.says_all += x->ov_diag / n;
        }
        s.same += (qkv_probe_sayer(c, r) == finder) / n;
        for (int k = 0; k < r; k++)
            if (!c->missing[k] && qkv_probe_finder(c, k) == finder) s.apart = 0;
    }
    return s;
}

static void report(const qkv_trainer *t, const qkv_probe_head_circuits *c,
                   qkv_probe_measures *out) {
    const summary s = summarise(c);
    for (int h = 0; h < c->heads; h++)
        for (int r = 0; r < c->questions; r++) {
            const char *name = qkv_trainer_spec(t)->readout[r].name;
            if (c->missing[r]) continue;
            qkv_probe_measure_add(out, circuit(c, h, r)->qk_margin, "circuits.head%d.%.30s.qk", h,
                                  name);
            qkv_probe_measure_add(out, circuit(c, h, r)->ov_margin, "circuits.head%d.%.30s.ov", h,
                                  name);
        }
    qkv_probe_measure_add(out, s.finds, "circuits.finds");
    qkv_probe_measure_add(out, s.says, "circuits.says");
    qkv_probe_measure_add(out, s.finds_all, "circuits.finds_all");
    qkv_probe_measure_add(out, s.says_all, "circuits.says_all");
    qkv_probe_measure_add(out, s.same, "circuits.same");
    qkv_probe_measure_add(out, s.apart, "circuits.apart");
    if (c->heads == 1) return;
    qkv_probe_measure_add(out, s.others_find, "circuits.others_find");
    qkv_probe_measure_add(out, s.others_say, "circuits.others_say");
}

bool qkv_study_probe_run_circuits(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_probe_head_circuits c = {.questions = 0};
    bool ok =
        (arena && qkv_probe_head_circuits_of(t, arena, &c)) || qkv_io_fail(error, "out of memory");
    if (ok && !qkv_probe_head_circuits_any(&c))
        ok = qkv_io_fail(error, "there are no circuits: %s", c.missing[0]);
    if (ok) report(t, &c, out);
    tensor_arena_free(arena);
    return ok;
}
