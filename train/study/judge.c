/* judge.c - seeds into means, bands into verdicts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/study/study.h"

double train_result_value(const train_result *r, const char *measure) {
    double sum = 0, sign = 1;
    for (;;) {
        char name[TRAIN_MEASURE];
        size_t n = strcspn(measure, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, measure);
        sum += sign * (r->error ? (double)NAN : train_measure_get(&r->measures, name));
        measure += n;
        if (strncmp(measure, " + ", 3) && strncmp(measure, " - ", 3)) break;
        sign = measure[1] == '+' ? 1 : -1;
        measure += 3;
    }
    return *measure ? (double)NAN : sum;
}

train_summary_of train_summarise(const train_study *s, const train_results *r, int variant,
                                 const char *measure) {
    train_summary_of out = {.least = (double)INFINITY, .most = -(double)INFINITY};
    double sum = 0, squares = 0;
    for (int seed = s->first_seed; seed < s->first_seed + s->seeds; seed++) {
        const train_result *one = train_results_find(r, variant, seed);
        if (!one) continue;
        out.failed += one->error != NULL;
        double x = train_result_value(one, measure);
        if (isnan(x)) continue;
        out.n++;
        sum += x;
        out.least = fmin(out.least, x);
        out.most = fmax(out.most, x);
    }
    out.mean = out.n ? sum / out.n : (double)NAN;
    for (int seed = s->first_seed; seed < s->first_seed + s->seeds; seed++) {
        const train_result *one = train_results_find(r, variant, seed);
        double x = one ? train_result_value(one, measure) : (double)NAN;
        if (!isnan(x)) squares += (x - out.mean) * (x - out.mean);
    }
    out.sd = out.n > 1 ? sqrt(squares / (out.n - 1)) : out.n ? 0 : (double)NAN;
    return out;
}

static bool about(const train_study *s, const train_band *b, int variant) {
    const train_variant *v = &s->variant[variant];
    return strcmp(v->name, b->variant) == 0 && (!*b->group || strcmp(v->group, b->group) == 0);
}

train_band_verdict train_band_judge(const train_study *s, const train_results *r,
                                    const train_band *b) {
    train_band_verdict verdict = TRAIN_BAND_HOLDS;
    bool any = false;
    for (int v = 0; v < s->n_variants; v++) {
        if (!about(s, b, v)) continue;
        for (int seed = s->first_seed; seed < s->first_seed + s->seeds; seed++) {
            const train_result *one = train_results_find(r, v, seed);
            if (!one) continue;
            any = true;
            double x = train_result_value(one, b->measure);
            if (!(x >= b->least && x <= b->most))
                verdict = TRAIN_BAND_FAILS;  // not measured: fails, too
        }
    }
    return any ? verdict : TRAIN_BAND_UNKNOWN;
}

bool train_study_holds(const train_study *s, const train_results *r) {
    for (int i = 0; i < s->n_bands; i++)
        if (train_band_judge(s, r, &s->band[i]) != TRAIN_BAND_HOLDS) return false;
    return true;
}
