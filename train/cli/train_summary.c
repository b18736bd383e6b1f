/* train_summary.c - what a finished run learned, in words or as one line of JSON. */
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "train/cli/json.h"
#include "train/cli/train_summary.h"
#include "train/io/text.h"
#include "train/io/words.h"

double cli_summary_seen(const qkv_config *c, const data_spec *spec, bool *all) {
    enum { ASKED = 500, TRAINED = 10000 };
    double trained = (double)c->steps * c->batch;
    *all = trained <= TRAINED;
    return data_seen(spec, (uint64_t)c->seed, "test", ASKED, *all ? (int)trained : TRAINED);
}

/* Are the training examples answered much better than others, by more than chance would make of so few? */
static bool by_heart(const qkv_run_summary *s, const data_spec *spec) {
    static const double much = 0.1, errors = 3, part = 0.25;
    const qkv_trainer_scores *known = &s->trained, *fresh = &s->last.scores;
    const double n = (double)spec->examples[DATA_TEST], share = fresh->accuracy;
    if (isnan(known->loss)) return false;
    if (isnan(share) || !isnan(fresh->bits))  // how far up to a blind guess's loss?
        return s->levels.n &&
               fresh->loss - known->loss > part * (s->levels.at[0].loss - known->loss);
    if (n < 1) return false;
    const double pooled = (share * n + 1) / (n + 2);  // not 0 where all of a few are right
    return known->accuracy - share > fmax(much, errors * sqrt(pooled * (1 - pooled) / n));
}

void cli_summary_json(const qkv_run_summary *s, const qkv_config *c, const data_spec *spec) {
    bool all;
    json_t *o = json_object();
    cli_json_metrics(o, &s->last);
    cli_json_levels(o, &s->levels);
    cli_facts_json(o, spec);
    if (!isnan(s->trained.loss)) {
        json_object_set_new(o, "train_accuracy", cli_json_number(s->trained.accuracy));
        json_object_set_new(o, "train_loss", cli_json_number(s->trained.loss));
        json_object_set_new(o, "by_heart", json_boolean(by_heart(s, spec)));
    }
    json_object_set_new(o, "seen", cli_json_number(cli_summary_seen(c, spec, &all)));
    json_object_set_new(o, "steps99", s->steps99 < 0 ? json_null() : json_integer(s->steps99));
    json_object_set_new(o, "steps", json_integer(s->steps));
    json_object_set_new(o, "seconds", cli_json_number(s->seconds));
    json_object_set_new(o, "run", cli_json_text(s->dir));
    cli_print_json(o);
}

/* A sentence in lines of a terminal's width. */
static void print_wrapped(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void print_wrapped(const char *format, ...) {
    char words[1024];
    va_list args;
    va_start(args, format);
    qkv_io_vwords(words, sizeof words, format, args);
    va_end(args);
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text text = {.arena = arena, .failed = !arena};
    qkv_io_text_wrap(&text, words, 0, 2, 80);
    printf("%s\n", text.failed ? words : text.at);
    tensor_arena_free(arena);
}

/* "; a blind guess has 3.1 %, a model that cannot match 16.7 %": of the levels, what the score
 * measures. */
static void list_levels(const qkv_trainer_levels *l, bool vector, char *out, size_t size) {
    size_t n = 0;
    *out = '\0';
    for (int i = 0; i < l->n && n < size; i++) {
        const data_level *k = &l->at[i];
        const char *has = n ? "" : " has", *comma = n ? ", " : "; ";
        if (vector)
            n +=
                (size_t)qkv_io_words(out + n, size - n, "%s%s%s %.4f", comma, k->who, has, k->loss);
        else if (!isnan(k->accuracy))
            n += (size_t)qkv_io_words(out + n, size - n, "%s%s%s %.1f %%", comma, k->who, has,
                                      100 * k->accuracy);
    }
}

/* A text: how well it is predicted. */
static void print_text_score(const qkv_run_summary *s) {
    const qkv_trainer_scores *r = &s->last.scores;
    char more[512] = "";
    size_t n = 0;
    for (int i = 0; i < s->levels.n && n < sizeof more; i++)
        n += (size_t)qkv_io_words(more + n, sizeof more - n, "%s%s %.3f", n ? ", " : ". By ",
                                  s->levels.at[i].who, s->levels.at[i].loss);
    print_wrapped(
        "After %d steps (%.2f s) the held-out text costs %.3f nats a token, %.3f bits a character; "
        "%.1f %% of its tokens are predicted right%s.",
        s->steps, s->seconds, r->loss, r->bits, 100 * r->accuracy, more);
}

/* Answers in classes: the share that is right; vectors: how far they are off. */
static void print_score(const qkv_run_summary *s) {
    const qkv_trainer_scores *r = &s->last.scores;
    char more[512];
    if (!isnan(r->bits)) {
        print_text_score(s);
        return;
    }
    list_levels(&s->levels, isnan(r->accuracy), more, sizeof more);
    if (isnan(r->accuracy))
        print_wrapped(
            "After %d steps (%.2f s) the squared error of the answers to fresh questions is "
            "%.4f%s.",
            s->steps, s->seconds, r->loss, more);
    else
        print_wrapped(
            "After %d steps (%.2f s) %.1f %% of the answers to fresh questions are right%s.",
            s->steps, s->seconds, 100 * r->accuracy, more);
}

/* What to think of a great difference between the examples that were trained on and the others. */
static void print_by_heart(const qkv_run_summary *s, const data_spec *spec) {
    const qkv_trainer_scores *known = &s->trained, *fresh = &s->last.scores;
    const bool text = !isnan(fresh->bits), shares = !text && !isnan(fresh->accuracy);
    const char *sooner = s->ended_early ? "" : "; --patience ends training earlier";
    char above[160] = "";
    if (!by_heart(s, spec)) return;
    for (int i = 0; i < s->levels.n && !text; i++) {
        const data_level *l = &s->levels.at[i];
        if (strcmp(l->key, "blind") == 0 && fresh->loss > l->loss)
            qkv_io_words(
                above, sizeof above,
                " The others' loss, %.2f, is above the %.2f of %s: the model is sure of wrong "
                "answers.",
                fresh->loss, l->loss, l->who);
    }
    if (shares)
        print_wrapped(
            "The %d training lines are known by heart: %.1f %% of them are answered right, %.1f %% "
            "of the others.%s More lines are needed%s.",
            spec->examples[DATA_TRAIN], 100 * known->accuracy, 100 * fresh->accuracy, above,
            sooner);
    else
        print_wrapped(
            "The training %s known by heart: %s loss is %.3f there, %.3f on held-out ones.%s More "
            "%s needed%s.",
            text ? "text is" : "lines are", text ? "a token's" : "the", known->loss, fresh->loss,
            above, text ? "text is" : "lines are", sooner);
}

/* ---- before training ---- */

void cli_facts_words(const qkv_config *c, const data_spec *spec) {
    data_fact fact[DATA_MAXFACTS];
    data_level level[DATA_MAXLEVELS];
    char text[1024] = "";
    size_t n = 0;
    const int facts = data_facts(spec, fact);
    for (int i = 0; i < facts && n < sizeof text; i++)
        if (fact[i].number > 0)
            n += (size_t)qkv_io_words(text + n, sizeof text - n, "%s%.0f %s",
                                      n ? ", " : "Data: ", fact[i].number, fact[i].words);
    if (!n) return;
    print_wrapped("%s.", text);
    if (c->readout == NN_READOUT_VECTOR) return;  // its errors are squares, not nats
    const int levels = data_levels(spec, DATA_TEST, level);
    n = 0;
    for (int i = 0; i < levels && n < sizeof text; i++) {
        const bool share = !isnan(level[i].accuracy);
        if (!share && isnan(level[i].loss)) continue;
        n += (size_t)qkv_io_words(text + n, sizeof text - n,
                                  share ? "%s%s %.1f %%" : "%s%s %.4f nats",
                                  n ? ", " : "What can be had without looking: ", level[i].who,
                                  share ? 100 * level[i].accuracy : level[i].loss);
    }
    if (n) print_wrapped("%s.", text);
}

void cli_facts_json(json_t *o, const data_spec *spec) {
    data_fact fact[DATA_MAXFACTS];
    const int n = data_facts(spec, fact);
    json_t *counted = json_object();
    for (int i = 0; i < n; i++)
        json_object_set_new(counted, fact[i].key,
                            fact[i].number == floor(fact[i].number)
                                ? json_integer((json_int_t)fact[i].number)
                                : cli_json_number(fact[i].number));
    if (n)
        json_object_set_new(o, "data", counted);
    else
        json_decref(counted);
}

/* ---- after it ---- */

/* What the reader should know about the task before he believes the numbers. */
static void print_task(const qkv_config *c, const data_spec *spec) {
    static const double remarkable = 0.01;
    char list[QKV_CONFIG_RECOMMENDED];
    bool all;
    double seen = cli_summary_seen(c, spec, &all);
    if (seen >= remarkable)
        print_wrapped("Of these questions %s%.1f %% were shown in training, too.",
                      all ? "" : "at least ", 100 * seen);
    if (*qkv_config_recommended(c, list))
        print_wrapped("As the task %s recommends: %s.", c->task, list);
}

/* "values steer 3.0 % as much as keys"; where there is nothing to divide by, why. */
static const char *compared(double ratio, const char *format, const char *why, char out[160]) {
    if (isfinite(ratio))
        qkv_io_words(out, 160, format, 100 * ratio);
    else
        snprintf(out, 160, "%s", why);
    return out;
}

static void print_roles(const qkv_run_moment *m) {
    const qkv_probe_circuits *k = &m->circuits;
    char more[400] = "", ratio[160];
    if (m->has_circuits)
        qkv_io_words(
            more, sizeof more, "; %.0f of %d keys are what their own question matches best, %s",
            k->qk_diag * k->asked, k->asked,
            compared(k->qk_ratio, "values steer %.1f %% as much as keys",
                     "and no key changes a score: there is nothing to compare values with", ratio));
    print_wrapped("Q and K: %.1f %% of the attention is on the entry that holds the answer%s.",
                  100 * m->scores.answer_attention, more);
    if (m->has_circuits)
        print_wrapped(
            "V and O: %.0f of %d values, once fetched, are said as themselves; %s.",
            k->ov_diag * k->rows[QKV_PROBE_OV_VALUE], k->rows[QKV_PROBE_OV_VALUE],
            compared(k->ov_ratio, "keys leak into the answer %.1f %% as much",
                     "no value changes an answer: there is nothing to compare keys with", ratio));
}

void cli_summary_words(const qkv_run_summary *s, const qkv_config *c, const data_spec *spec) {
    char shown[QKV_IO_PATH];
    print_score(s);
    print_by_heart(s, spec);
    print_task(c, spec);
    if (s->ended_early) printf("It ended there by --until-accuracy or --patience.\n");
    if (s->steps99 >= 0) printf("99 %% was first reached at step %d.\n", s->steps99);
    if (!isnan(s->last.scores.answer_attention)) print_roles(&s->last);
    printf("The run is in %s\n", qkv_io_printable(s->dir, shown, sizeof shown));
}
