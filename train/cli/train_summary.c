/* train_summary.c - what a finished run learned, in words or as one line of JSON. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "train/cli/json.h"
#include "train/cli/train_summary.h"

static void add_number(json_t *o, const char *key, double x) {
    json_object_set_new(o, key, isfinite(x) ? json_real(x) : json_null());
}

void cli_summary_json(const qkv_run_summary *s, const char *dir) {
    const qkv_trainer_scores *r = &s->last.scores;
    const qkv_probe_circuits *c = &s->last.circuits;
    const double none = (double)NAN;
    const struct {
        const char *key;
        double x;
    } circuits[] = {{"qk_diag", c->qk_diag},     {"qk_margin", c->qk_margin},
                    {"qk_ratio", c->qk_ratio},   {"ov_diag", c->ov_diag},
                    {"ov_margin", c->ov_margin}, {"ov_ratio", c->ov_ratio}};
    json_t *o = json_object();
    add_number(o, "accuracy", r->accuracy);
    add_number(o, "loss", r->loss);
    add_number(o, "answer_attention", r->answer_attention);
    add_number(o, "in_context", r->in_context);
    for (size_t i = 0; i < sizeof circuits / sizeof *circuits; i++)
        add_number(o, circuits[i].key, s->last.has_circuits ? circuits[i].x : none);
    json_object_set_new(o, "steps99", s->steps99 < 0 ? json_null() : json_integer(s->steps99));
    json_object_set_new(o, "steps", json_integer(s->steps));
    add_number(o, "seconds", s->seconds);
    json_t *run = json_string(dir);
    char shown[QKV_IO_PATH];
    json_object_set_new(o, "run",
                        run ? run : json_string(qkv_io_printable(dir, shown, sizeof shown)));
    cli_print_json(o);
}

void cli_summary_words(const qkv_run_summary *s, const data_spec *spec, const char *dir) {
    const qkv_trainer_scores *r = &s->last.scores;
    const qkv_probe_circuits *k = &s->last.circuits;
    char shown[QKV_IO_PATH];
    printf(
        "After %d steps (%.2f s) %.1f %% of the answers to fresh questions are right; a blind "
        "guess has %.1f %%",
        s->steps, s->seconds, 100 * r->accuracy, 100 * spec->chance);
    if (spec->in_context > 0)
        printf(",\na model that cannot match %.1f %%", 100 * spec->in_context);
    printf(".\n");
    if (s->steps99 >= 0) printf("99 %% was first reached at step %d.\n", s->steps99);
    if (isnan(r->answer_attention)) {
        printf("The run is in %s\n", qkv_io_printable(dir, shown, sizeof shown));
        return;
    }
    printf("Q and K: %.1f %% of the attention is on the entry that holds the answer",
           100 * r->answer_attention);
    if (s->last.has_circuits)
        printf(
            ";\n  %.0f of %d keys are what their own question matches best, values steer %.1f %% "
            "as much as keys",
            k->qk_diag * k->rows[QKV_PROBE_QK_KEY], k->rows[QKV_PROBE_QK_KEY], 100 * k->qk_ratio);
    printf(".\n");
    if (s->last.has_circuits)
        printf(
            "V and O: %.0f of %d values, once fetched, are said as themselves; keys leak into the "
            "answer %.1f %% as much.\n",
            k->ov_diag * k->rows[QKV_PROBE_OV_VALUE], k->rows[QKV_PROBE_OV_VALUE],
            100 * k->ov_ratio);
    printf("The run is in %s\n", qkv_io_printable(dir, shown, sizeof shown));
}
