/* text.c - a study's table, bands and sentences as people read them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/number.h"
#include "train/io/words.h"
#include "train/study/words.h"

static void add_failures(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out) {
    for (int i = 0; i < r->n; i++) {
        const qkv_study_variant *v = &s->variant[r->at[i].variant];
        if (r->at[i].error)
            qkv_io_text_add(out, "\nfailed: %s%s%s, seed %d: %s\n", v->group, *v->group ? ", " : "",
                            v->name, r->at[i].seed, r->at[i].error);
    }
}

/* The measure as the table calls it, where it does not count seeds. */
static const char *called(const qkv_study *s, const char *measure) {
    for (int c = 0; c < s->n_columns; c++)
        if (!s->column[c].counted && strcmp(s->column[c].measure, measure) == 0)
            return s->column[c].as;
    return measure;
}

/* When all bands were set; UNSAID: not all at one time, or nobody says. */
static qkv_study_set set_all(const qkv_study *s) {
    for (int i = 1; i < s->n_bands; i++)
        if (s->band[i].set != s->band[0].set) return QKV_STUDY_SET_UNSAID;
    return s->n_bands ? s->band[0].set : QKV_STUDY_SET_UNSAID;
}

static void add_bands(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out) {
    static const char *const words[] = {"holds", "FAILS", "not measured"};
    static const char *const set[] = {"", "set before the numbers were seen",
                                      "set after a first look at numbers"};
    const qkv_study_set all = set_all(s);
    if (s->n_bands)
        qkv_io_text_add(out, "\nBands, for every seed unless said otherwise%s%s:\n",
                        all ? "; " : "", set[all]);
    for (int i = 0; i < s->n_bands; i++) {
        const qkv_study_band *b = &s->band[i];
        char least[QKV_IO_NUMBER], most[QKV_IO_NUMBER], said[512];
        qkv_io_format_real(b->least, 6, least);
        qkv_io_format_real(b->most, 6, most);
        bool below = isinf(b->least), above = isinf(b->most);
        snprintf(said, sizeof said, "%.100s%s%.100s: %.100s %s%s%s%s%s", b->group,
                 *b->group ? ", " : "", b->variant, called(s, b->measure),
                 below   ? "<= "
                 : above ? ">= "
                         : "in [",
                 below ? "" : least, below || above ? "" : ", ", above ? "" : most,
                 below || above ? "" : "]");
        if (b->seeds_least < 1)
            qkv_io_words(said + strlen(said), sizeof said - strlen(said),
                         ", with %.0f to %.0f %% of the seeds", 100 * b->seeds_least,
                         100 * b->seeds_most);
        if (!all && b->set)
            snprintf(said + strlen(said), sizeof said - strlen(said), " (%s)", set[b->set]);
        qkv_io_text_add(out, "  %-12s ", words[qkv_study_band_judge(s, r, b)]);
        qkv_io_text_wrap(out, said, 15, 17, 80);
        qkv_io_text_put(out, "\n", 1);
    }
}

/* The variant that "group/name" or "name" means; -1: none. */
static int variant_named(const qkv_study *s, const char *text) {
    for (int v = 0; v < s->n_variants; v++) {
        size_t n = strlen(s->variant[v].group);
        if (n && strncmp(text, s->variant[v].group, n) == 0 && text[n] == '/' &&
            strcmp(text + n + 1, s->variant[v].name) == 0)
            return v;
        if (strcmp(text, s->variant[v].name) == 0) return v;
    }
    return -1;
}

/* "3 of 4 seeds (30 to 95 %)": how many have the measure inside the limit ">= 0.95", "<= 0.5". */
static void add_count(const qkv_study *s, const qkv_study_results *r, int variant,
                      const char *measure, const char *limit, qkv_io_text *out) {
    const double x = strtod(limit + 2, NULL), open = (double)INFINITY;
    const bool least = *limit == '>';
    const qkv_study_count c =
        qkv_study_counted(s, r, variant, measure, least ? x : -open, least ? open : x);
    qkv_io_text_add(out, "%d of %d seeds (%.0f to %.0f %%)", c.inside, c.n, 100 * c.low,
                    100 * c.high);
}

static bool is_limit(const char *format) {
    return strncmp(format, ">=", 2) == 0 || strncmp(format, "<=", 2) == 0;
}

static bool is_format(const char *format) {
    char *end;
    if (strcmp(format, "%") == 0) return true;
    if (!is_limit(format)) return strlen(format) == 1 && *format >= '0' && *format <= '9';
    strtod(format + 2, &end);
    return end > format + 2 && !*end;
}

const char *qkv_study_place_read(const qkv_study *s, const char *inside, size_t n,
                                 qkv_study_place *out) {
    char *rest = NULL;
    snprintf(out->text, sizeof out->text, "%.*s", (int)n, inside);
    const char *name = strtok_r(out->text, "|", &rest);
    out->measure = strtok_r(NULL, "|", &rest);
    out->format = strtok_r(NULL, "|", &rest);
    out->variant = name ? variant_named(s, name) : -1;
    if (n >= sizeof out->text) return "is more than a place has room for";
    if (!name || !out->measure) return "variant|measure is missing";
    if (out->variant < 0) return "the variant is none of the study's";
    if (out->format && !is_format(out->format))
        return "the format is neither %, a number of decimals from 0 to 9, nor a limit like >=0.9";
    return strtok_r(NULL, "|", &rest) ? "there is more than variant|measure|format" : NULL;
}

/* "variant|measure|format": the mean over seeds; format %: as percentage, or the number of
 * decimals, or a limit: the seeds inside it are counted. */
static void add_placeholder(const qkv_study *s, const qkv_study_results *r, const char *inside,
                            size_t n, qkv_io_text *out) {
    qkv_study_place place = {.variant = -1};
    const char *wrong = qkv_study_place_read(s, inside, n, &place);
    const char *measure = place.measure, *format = place.format;
    const int v = place.variant;
    double x = wrong ? (double)NAN : qkv_study_summarise(s, r, v, measure).mean;
    if (!isfinite(x))
        qkv_io_text_add(out, "(not measured)");
    else if (format && is_limit(format))
        add_count(s, r, v, measure, format, out);
    else if (format && strcmp(format, "%") == 0)
        qkv_io_text_add(out, "%.1f %%", 100 * x);
    else if (format)
        qkv_io_text_add(out, "%.*f", atoi(format), x);
    else
        qkv_io_text_add(out, "%.*f", qkv_study_decimals(x), x);
}

/* The text with its {placeholders} filled in. */
static void fill(const qkv_study *s, const qkv_study_results *r, const char *text,
                 qkv_io_text *filled) {
    while (*text) {
        const char *open = strchr(text, '{'), *close = open ? strchr(open, '}') : NULL;
        if (!close) {
            qkv_io_text_add(filled, "%s", text);
            return;
        }
        qkv_io_text_add(filled, "%.*s", (int)(open - text), text);
        add_placeholder(s, r, open + 1, (size_t)(close - open - 1), filled);
        text = close + 1;
    }
}

/* "Label    the words, wrapped". */
static void add_labelled(const char *label, const qkv_io_text *words, qkv_io_text *out) {
    enum { WIDTH = 80, INDENT = 9 };
    qkv_io_text_add(out, "\n%-*s", INDENT, label);
    if (words->at) qkv_io_text_wrap(out, words->at, INDENT, INDENT, WIDTH);
}

static void add_sentence(const qkv_study *s, const qkv_study_results *r, const char *label,
                         const char *text, qkv_io_text *out) {
    qkv_io_text filled = {.arena = out->arena};
    fill(s, r, text, &filled);
    add_labelled(label, &filled, out);
}

/* Why there is no verdict. */
static void add_lack(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out) {
    const int missing = qkv_study_missing(s, r), failed = qkv_study_failed(s, r);
    qkv_io_text_add(out, "\nVerdict  none: ");
    if (missing || failed)
        qkv_io_text_add(out, "%d of its %d trainings %s", missing ? missing : failed,
                        s->n_variants * s->seeds, missing ? "are missing" : "failed");
    else
        qkv_io_text_add(out, "a band has not the numbers of all its seeds");
}

/* "all 3 bands hold", or how many fail, and which. */
static void say_bands(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out) {
    int failing = 0;
    for (int i = 0; i < s->n_bands; i++)
        failing += qkv_study_band_judge(s, r, &s->band[i]) == QKV_STUDY_BAND_FAILS;
    if (s->n_bands == 1)
        qkv_io_text_add(out, "the one band %s", failing ? "fails" : "holds");
    else if (failing)
        qkv_io_text_add(out, "%d of %d bands fail%s", failing, s->n_bands, failing == 1 ? "s" : "");
    else
        qkv_io_text_add(out, "all %d bands hold", s->n_bands);
    for (int i = 0, n = 0; i < s->n_bands; i++) {
        const qkv_study_band *b = &s->band[i];
        if (qkv_study_band_judge(s, r, b) != QKV_STUDY_BAND_FAILS) continue;
        qkv_io_text_add(out, "%s%s%s%s: %s", n++ ? "; " : " (", b->group, *b->group ? ", " : "",
                        b->variant, called(s, b->measure));
    }
    qkv_io_text_add(out, "%s", failing ? ")" : "");
    for (int i = 0; i < s->n_clauses; i++)
        if (!qkv_study_tests(s, i))
            qkv_io_text_add(out, "; no band tests the clause '%s'", s->clause[i]);
    qkv_io_text_add(out, ".");
}

static void add_verdict(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out) {
    const qkv_study_verdict verdict = qkv_study_judge(s, r);
    const char *sentence = verdict == QKV_STUDY_HOLDS ? s->holds : s->fails;
    qkv_io_text words = {.arena = out->arena};
    if (verdict == QKV_STUDY_WITHOUT_BANDS) {
        qkv_io_text_add(out,
                        "\nVerdict  none: the study has no bands, so nothing was put to a test");
    } else if (verdict == QKV_STUDY_INCOMPLETE) {
        add_lack(s, r, out);
    } else {
        say_bands(s, r, &words);
        qkv_io_text_add(&words, "%s", *sentence ? " " : "");
        fill(s, r, sentence, &words);
        add_labelled("Verdict", &words, out);
    }
}

void qkv_study_text(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out) {
    qkv_io_text_add(out, "Study %s: %d variant%s, %d seed%s\n\n", s->name, s->n_variants,
                    s->n_variants == 1 ? "" : "s", s->seeds, s->seeds == 1 ? "" : "s");
    qkv_study_table(s, r, out);
    add_failures(s, r, out);
    add_bands(s, r, out);
    if (*s->claim) add_sentence(s, r, "Claim", s->claim, out);
    if (*s->seen) add_sentence(s, r, "Seen", s->seen, out);
    add_verdict(s, r, out);
    qkv_io_text_add(out, "\n");
}
