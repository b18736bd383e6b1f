/* judge.c - seeds into means, bands into verdicts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/study/statistics.h"
#include "train/study/study.h"

double qkv_study_result_value(const qkv_study_result *r, const char *measure) {
    double sum = 0, sign = 1;
    for (;;) {
        char name[QKV_PROBE_MEASURE];
        size_t n = strcspn(measure, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, measure);
        sum += sign * (r->error ? (double)NAN : qkv_probe_measure_get(&r->measures, name));
        measure += n;
        if (strncmp(measure, " + ", 3) && strncmp(measure, " - ", 3)) break;
        sign = measure[1] == '+' ? 1 : -1;
        measure += 3;
    }
    return *measure ? (double)NAN : sum;
}

qkv_study_summary qkv_study_summarise(const qkv_study *s, const qkv_study_results *r, int variant,
                                      const char *measure) {
    qkv_study_summary out = {.least = (double)INFINITY, .most = -(double)INFINITY};
    double sum = 0, squares = 0;
    for (int seed = s->first_seed; seed < s->first_seed + s->seeds; seed++) {
        const qkv_study_result *one = qkv_study_results_find(r, variant, seed);
        if (!one) continue;
        out.failed += one->error != NULL;
        double x = qkv_study_result_value(one, measure);
        if (!isfinite(x)) continue;
        out.n++;
        sum += x;
        out.least = fmin(out.least, x);
        out.most = fmax(out.most, x);
    }
    out.mean = out.n ? sum / out.n : (double)NAN;
    for (int seed = s->first_seed; seed < s->first_seed + s->seeds; seed++) {
        const qkv_study_result *one = qkv_study_results_find(r, variant, seed);
        double x = one ? qkv_study_result_value(one, measure) : (double)NAN;
        if (isfinite(x)) squares += (x - out.mean) * (x - out.mean);
    }
    out.sd = out.n > 1 ? sqrt(squares / (out.n - 1)) : out.n ? 0 : (double)NAN;
    return out;
}

qkv_study_count qkv_study_counted(const qkv_study *s, const qkv_study_results *r, int variant,
                                  const char *measure, double least, double most) {
    qkv_study_count out = {0};
    for (int seed = s->first_seed; seed < s->first_seed + s->seeds; seed++) {
        const qkv_study_result *one = qkv_study_results_find(r, variant, seed);
        if (!one) continue;
        const double x = qkv_study_result_value(one, measure);
        out.n++;
        out.inside += isfinite(x) && x >= least && x <= most;
    }
    if (!out.n) return out;
    const qkv_study_interval share = qkv_study_wilson(out.inside, out.n);
    out.low = share.low;
    out.high = share.high;
    return out;
}

bool qkv_study_about(const qkv_study *s, const qkv_study_band *b, int variant) {
    const qkv_study_variant *v = &s->variant[variant];
    return strcmp(v->name, b->variant) == 0 && (!*b->group || strcmp(v->group, b->group) == 0);
}

/* A step that a training may not have reached. */
static bool may_never_come(const char *measure) {
    return strstr(measure, "steps99") || strstr(measure, "steps50") || strstr(measure, "qk90") ||
           strstr(measure, "ov90");
}

qkv_study_band_verdict qkv_study_band_judge(const qkv_study *s, const qkv_study_results *r,
                                            const qkv_study_band *b) {
    qkv_study_band_verdict verdict = QKV_STUDY_BAND_HOLDS;
    bool any = false, lacks = false;
    for (int v = 0; v < s->n_variants; v++) {
        if (!qkv_study_about(s, b, v)) continue;
        const qkv_study_count c = qkv_study_counted(s, r, v, b->measure, b->least, b->most);
        if (!c.n) continue;
        any = true;
        lacks = lacks ||
                (!may_never_come(b->measure) && qkv_study_summarise(s, r, v, b->measure).n < c.n);
        if (c.inside < b->seeds_least * c.n || c.inside > b->seeds_most * c.n)
            verdict = QKV_STUDY_BAND_FAILS;  // a step that was not reached is outside
    }
    return any && !lacks ? verdict : QKV_STUDY_BAND_UNKNOWN;
}

bool qkv_study_tests(const qkv_study *s, int clause) {
    for (int i = 0; i < s->n_bands; i++)
        if (strcmp(s->band[i].tests, s->clause[clause]) == 0) return true;
    return false;
}

int qkv_study_missing(const qkv_study *s, const qkv_study_results *r) {
    int missing = 0;
    for (int v = 0; v < s->n_variants; v++)
        for (int seed = s->first_seed; seed < s->first_seed + s->seeds; seed++)
            missing += !qkv_study_results_find(r, v, seed);
    return missing;
}

int qkv_study_failed(const qkv_study *s, const qkv_study_results *r) {
    int failed = 0;
    for (int i = 0; i < r->n; i++)
        failed += r->at[i].error && r->at[i].seed >= s->first_seed &&
                  r->at[i].seed < s->first_seed + s->seeds;
    return failed;
}

qkv_study_verdict qkv_study_judge(const qkv_study *s, const qkv_study_results *r) {
    bool lacks = false;
    if (s->n_bands == 0) return QKV_STUDY_WITHOUT_BANDS;
    if (qkv_study_missing(s, r) || qkv_study_failed(s, r)) return QKV_STUDY_INCOMPLETE;
    for (int i = 0; i < s->n_bands; i++) {
        const qkv_study_band_verdict one = qkv_study_band_judge(s, r, &s->band[i]);
        if (one == QKV_STUDY_BAND_FAILS) return QKV_STUDY_FAILS;
        lacks = lacks || one == QKV_STUDY_BAND_UNKNOWN;
    }
    return lacks ? QKV_STUDY_INCOMPLETE : QKV_STUDY_HOLDS;
}
