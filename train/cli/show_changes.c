/* show_changes.c - qkv show: what follows when the example is changed. */
#include <stdio.h>
#include <string.h>

#include "train/cli/cli.h"
#include "train/cli/show.h"
#include "train/probe/interventions.h"
#include "train/probe/observe.h"

bool cli_show_explain(cli_shown *v, qkv_probe_explanation *out) {
    char error[QKV_IO_ERROR];
    if (qkv_probe_explain(v->t, v->arena, v->head, v->readout, out, error)) return true;
    cli_error(CLI_FAILED, "show", "%s", error);
    return false;
}

/* Exchanges the symbols of two positions of the store: of one stream, or with -1 whole words. */
static void exchange(cli_shown *v, int stream, int i, int j) {
    if (stream < 0)
        qkv_probe_words_swap(v->t, 0, i, j);
    else
        qkv_probe_swap(v->w->data.rows.ids[v->spec->store][stream], i, j);
}

static void print_place(const cli_shown *v, const qkv_probe_explanation *e, int p) {
    char text[128], place[CLI_SHOW_PLACE * 4];
    cli_show_position(v, v->spec->store, p, text, sizeof text);
    cli_print("    %2d %s  score %8.3f   weight %.3f\n", p,
              qkv_io_fit(text, CLI_SHOW_PLACE, place, sizeof place), e->at[p].score,
              e->at[p].weight);
}

static void print_said(const cli_shown *v, const qkv_probe_explanation *e) {
    char said[DATA_SYMBOL];
    cli_print("    answer %s, with probability %.3f\n", cli_show_answer(v, e->answer, said),
              e->confidence);
}

/* The same example with two positions exchanged: a line for each of the two, and what followed. */
static bool print_change(cli_shown *v, const char *what, const qkv_probe_explanation *before,
                         int stream, int i, int j) {
    qkv_probe_explanation e;
    exchange(v, stream, i, j);
    bool ok = cli_show_explain(v, &e);
    if (ok) {
        bool moved = e.at[j].weight > e.at[i].weight, changed = e.answer != before->answer;
        printf("\n%s at %d and %d swapped: attention %s, the answer %s\n", what, i, j,
               moved ? "moves with them" : "stays", changed ? "changes" : "stays");
        print_place(v, &e, i);
        print_place(v, &e, j);
        print_said(v, &e);
    }
    exchange(v, stream, i, j);
    return ok;
}

/* The entry that is half of all entries away from entry i; -1: there is no other. */
static int entry_far_from(const cli_shown *v, int i, int key, int value) {
    int *const *ids = v->w->data.rows.ids[v->spec->store], n = 0, at = 0;
    for (int p = 0; p < v->spec->entries; p++)
        if (data_is_entry(v->spec, ids[key], ids[value], p)) at = p == i ? n : at, n++;
    if (n < 2) return -1;
    for (int p = 0, k = 0; p < v->spec->entries; p++)
        if (data_is_entry(v->spec, ids[key], ids[value], p) && k++ == (at + n / 2) % n) return p;
    return -1;
}

/* Keys, then values, of the right entry and another one exchanged; in coref the nouns, then their
 * colours; where there are only words, the answer and another one. */
static bool print_chosen(cli_shown *v, const qkv_probe_explanation *e) {
    const data_spec *s = v->spec;
    bool sentence = strcmp(s->task->name, "coref") == 0 && s->side[DATA_SEQUENCE].n_streams == 2;
    int key = sentence ? 0 : s->roles.key, value = sentence ? 1 : s->roles.value, i = e->source;
    if (i < 0) return true;
    if ((key < 0 || value < 0) && !qkv_probe_words_missing(v->t) && v->readout == 0) {
        const int *class_of = data_answers_of_words(s, v->arena);
        int j = class_of ? qkv_probe_words_choose(v->t, class_of, 0, NULL).j : -1;
        return j < 0 || print_change(v, "The words", e, -1, i, j);
    }
    if (key < 0 || value < 0) return true;
    int j = e->distractor >= 0 ? e->distractor : entry_far_from(v, i, key, value);
    if (j < 0 || j == i) return true;
    return print_change(v, sentence ? "The nouns" : "The keys", e, key, i, j) &&
           print_change(v, sentence ? "The colours" : "The values", e, value, i, j);
}

/* Where the question looks most. */
static int most(const qkv_probe_explanation *e) {
    int best = 0;
    for (int p = 1; p < e->S; p++)
        if (e->at[p].weight > e->at[best].weight) best = p;
    return best;
}

/* A change that was asked for; the example is left as it is then. */
static int print_given(cli_shown *v, const qkv_probe_explanation *before, const char *change) {
    char error[QKV_IO_ERROR];
    qkv_probe_changed c;
    qkv_probe_explanation e;
    if (!qkv_probe_change(v->t, change, &c, error))
        return cli_error(CLI_USAGE, "show", "--change: %s", error);
    if (!cli_show_explain(v, &e)) return CLI_FAILED;
    const int was = most(before), is = most(&e);
    if (c.other < 0)
        printf("\nAnother word at %d", c.at);
    else
        printf("\nPositions %d and %d swapped", c.at, c.other);
    if (is == was)
        printf(": attention stays most at %d", was);
    else
        printf(": attention moves from %d to %d", was, is);
    printf(", the answer %s\n", e.answer == before->answer ? "stays" : "changes");
    print_place(v, &e, c.at);
    if (c.other >= 0) print_place(v, &e, c.other);
    for (int k = 0; k < 2; k++) {
        const int p = k ? is : was;
        if (p != c.at && p != c.other && (k == 0 || is != was)) print_place(v, &e, p);
    }
    print_said(v, &e);
    return CLI_OK;
}

int cli_show_changes(cli_shown *v, const qkv_probe_explanation *e, const char *change) {
    if (change) return print_given(v, e, change);
    return print_chosen(v, e) ? CLI_OK : CLI_FAILED;
}
