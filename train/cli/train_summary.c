/* train_summary.c - what a finished run learned, in words or as one line of JSON. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "train/cli/json.h"
#include "train/cli/train_summary.h"

static void add_number(json_t *o, const char *key, double x) {
    json_object_set_new(o, key, isfinite(x) ? json_real(x) : json_null());
}

double cli_summary_seen(const qkv_config *c, const data_spec *spec, bool *all) {
    enum { ASKED = 500, TRAINED = 10000 };
    double trained = (double)c->steps * c->batch;
    *all = trained <= TRAINED;
    return data_seen(spec, (uint64_t)c->seed, "test", ASKED, *all ? (int)trained : TRAINED);
}

void cli_summary_json(const qkv_run_summary *s, const qkv_config *c, const data_spec *spec,
                      const char *dir) {
    bool all;
    const qkv_trainer_scores *r = &s->last.scores;
    const qkv_probe_circuits *k = &s->last.circuits;
    const double none = (double)NAN;
    const struct {
        const char *key;
        double x;
    } circuits[] = {{"qk_diag", k->qk_diag},     {"qk_margin", k->qk_margin},
                    {"qk_ratio", k->qk_ratio},   {"ov_diag", k->ov_diag},
                    {"ov_margin", k->ov_margin}, {"ov_ratio", k->ov_ratio}};
    json_t *o = json_object();
    add_number(o, "accuracy", r->accuracy);
    add_number(o, "loss", r->loss);
    add_number(o, "loss_blind", s->levels.blind);
    add_number(o, "loss_unmatched", s->levels.unmatched);
    add_number(o, "seen", cli_summary_seen(c, spec, &all));
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

/* Answers in classes: the share that is right; vectors: how far they are off. */
static void print_score(const qkv_run_summary *s, const data_spec *spec) {
    const qkv_trainer_scores *r = &s->last.scores;
    printf("After %d steps (%.2f s) ", s->steps, s->seconds);
    if (isnan(r->accuracy)) {
        printf("the squared error of the answers to fresh questions is %.4f", r->loss);
        if (!isnan(s->levels.blind))
            printf(";\nsaying the mean of all answers has %.4f, the mean of what is stored %.4f",
                   s->levels.blind, s->levels.unmatched);
    } else {
        printf("%.1f %% of the answers to fresh questions are right", 100 * r->accuracy);
        if (spec->chance > 0) printf("; a blind guess has %.1f %%", 100 * spec->chance);
        if (spec->in_context > 0)
            printf(",\na model that cannot match %.1f %%", 100 * spec->in_context);
    }
    printf(".\n");
}

/* What the reader should know about the task before he believes the numbers. */
static void print_task(const qkv_config *c, const data_spec *spec) {
    static const double remarkable = 0.01;
    char list[QKV_CONFIG_RECOMMENDED];
    bool all;
    double seen = cli_summary_seen(c, spec, &all);
    if (seen >= remarkable)
        printf("Of these questions %s%.1f %% were shown in training, too.\n",
               all ? "" : "at least ", 100 * seen);
    if (*qkv_config_recommended(c, list)) printf("As the task %s recommends: %s.\n", c->task, list);
}

void cli_summary_words(const qkv_run_summary *s, const qkv_config *c, const data_spec *spec,
                       const char *dir) {
    const qkv_trainer_scores *r = &s->last.scores;
    const qkv_probe_circuits *k = &s->last.circuits;
    char shown[QKV_IO_PATH];
    print_score(s, spec);
    print_task(c, spec);
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
