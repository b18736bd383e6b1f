/* train_summary.c - what a finished run learned, in words or as one line of JSON. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "train/cli/json.h"
#include "train/cli/train_summary.h"

void cli_summary_json(const qkv_run_summary *s) {
    json_t *o = json_object();
    cli_json_metrics(o, &s->last);
    json_object_set_new(o, "steps99", s->steps99 < 0 ? json_null() : json_integer(s->steps99));
    json_object_set_new(o, "steps", json_integer(s->steps));
    json_object_set_new(o, "seconds", cli_json_number(s->seconds));
    json_object_set_new(o, "run", cli_json_text(s->dir));
    cli_print_json(o);
}

void cli_summary_words(const qkv_run_summary *s, const data_spec *spec) {
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
    if (s->ended_early) printf("It ended there by --until-accuracy or --patience.\n");
    if (s->steps99 >= 0) printf("99 %% was first reached at step %d.\n", s->steps99);
    if (isnan(r->answer_attention)) {
        printf("The run is in %s\n", qkv_io_printable(s->dir, shown, sizeof shown));
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
    printf("The run is in %s\n", qkv_io_printable(s->dir, shown, sizeof shown));
}
