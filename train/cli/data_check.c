/* data_check.c - does a task keep what it promises? Ten thousand examples are looked at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/cli/data_check.h"
#include "train/cli/progress.h"

enum { CHECKED = 10000 };
/* Shares of a split that training shows: from the first on it is said, from the second on the task has
 * fewer examples than a split needs. */
static const double REMARKABLE = 0.01, TOO_MANY = 0.5;

typedef struct {
    int examples;              // looked at: CHECKED, or all where the task has fewer
    long scored, wrong_count;  // rows; examples with another number of them
    long first;                // rows of the first readout, which `classes` counts
    long outside;              // examples with ids outside their vocabulary
    long unrepeatable;         // examples that came out otherwise the second time
    // Rows whose answer stands elsewhere; with none or several right entries.
    long wrong_source, several, unknown;
    long unsaid;  // rows that name no place
    long classes[65536];
} findings;

/* Does the answer stand where its source says, as a symbol of some stream there? */
static bool stands_there(const data_spec *s, const data_batch *b, int readout, int target,
                         int source) {
    char answer[DATA_SYMBOL], symbol[DATA_SYMBOL];
    const data_side *store = &s->side[s->store];
    int at = source + s->answer_at;
    data_answer(&s->readout[readout], target, answer);
    for (int i = 0; source >= 0 && at >= 0 && at < store->T && i < store->n_streams; i++)
        if (strcmp(data_symbol(&store->stream[i], b->rows.ids[s->store][i][at], symbol), answer) ==
            0)
            return true;
    return false;
}

/* Are all ids and targets inside their vocabularies? Asked first: symbols of others cannot be
 * shown. */
static bool inside(const data_spec *s, const data_batch *b) {
    for (int side = 0; side < DATA_SIDES; side++)
        for (int i = 0; i < s->side[side].n_streams; i++)
            for (int t = 0; t < s->side[side].T; t++) {
                int id = b->rows.ids[side][i][t];
                if (id < -1 || id >= s->side[side].stream[i].vocab) return false;
            }
    for (int r = 0; r < s->n_readouts; r++)
        for (int t = 0; t < s->side[DATA_SEQUENCE].T; t++)
            if (b->rows.target[r][t] < -1 || b->rows.target[r][t] >= s->readout[r].classes)
                return false;
    return true;
}

static void check_example(const data_spec *s, const data_batch *b, findings *f) {
    if (!inside(s, b)) {
        f->outside++;
        return;
    }
    for (int r = 0; r < s->n_readouts; r++) {
        int scored = 0;
        for (int t = 0; t < s->side[DATA_SEQUENCE].T; t++) {
            int target = b->rows.target[r][t], source = b->rows.source[r][t];
            if (target < 0) continue;
            scored++;
            if (r == 0) f->first++, f->classes[target < 65536 ? target : 0]++;
            int n = data_right_entries(s, &b->rows, r, t);
            const bool none = s->readout[r].has_none && target == s->readout[r].classes - 1;
            f->unknown += n < 0;
            f->several += n >= 0 && n != !none;
            f->wrong_source += source >= 0 && (none || !stands_there(s, b, r, target, source));
            f->unsaid += source < 0 && !none;
        }
        f->scored += scored;
        f->wrong_count += scored != s->scored;
    }
}

/* Examples of "train" as they are, and a second time. False: the task wrote where it may not. */
static bool look(const qkv_config *c, const data_spec *s, data_batch *b, findings *f) {
    f->examples = data_at_most(s, "train", CHECKED);
    for (int e = 0; e < f->examples; e++) {
        data_fill(b, (uint64_t)c->seed, "train", (uint64_t)e, 1);
        if (b->wrong) return false;
        check_example(s, b, f);
        uint64_t seen = data_fingerprint(b);
        data_fill(b, (uint64_t)c->seed, "train", (uint64_t)e, 1);
        f->unrepeatable += data_fingerprint(b) != seen;
    }
    return true;
}

static const char *yes(bool right) { return right ? "yes" : "NO"; }

static void print_classes(const data_spec *s, const findings *f) {
    long least = f->classes[0], most = f->classes[0];
    int classes = s->readout[0].classes;
    for (int i = 1; i < classes && i < 65536; i++) {
        least = f->classes[i] < least ? f->classes[i] : least;
        most = f->classes[i] > most ? f->classes[i] : most;
    }
    cli_print("  classes                 %d; shares from %.2f to %.2f of an even one\n", classes,
              (double)least * classes / (double)f->first,
              (double)most * classes / (double)f->first);
    cli_print("  blind guess             %.4f; most frequent answer %.4f\n", s->chance,
              (double)most / (double)f->first);
}

static void print_sources(const findings *f) {
    printf("  right source            ");
    if (f->scored && f->unsaid == f->scored) {
        printf("not checked: the task does not say\n");
        return;
    }
    printf("%s (%ld rows where the answer does not stand there", yes(!f->wrong_source),
           f->wrong_source);
    if (f->unsaid) printf(", %ld that name no place", f->unsaid);
    printf(")\n");
}

static void print_findings(const data_spec *s, const findings *f) {
    cli_progress_end();
    printf("%s: %d examples, %ld scored positions (%d an example and readout)\n", s->task->name,
           f->examples, f->scored, s->scored);
    printf("  ids in vocabularies     %s\n", yes(!f->outside));
    printf("  the same every time     %s\n", yes(!f->unrepeatable));
    print_sources(f);
    printf("  exactly one             %s\n", f->several   ? "NO"
                                             : f->unknown ? "not checked: the task does not say"
                                                          : "yes");
    printf("  scored as declared      %s\n", yes(!f->wrong_count));
    if (f->first) print_classes(s, f);
}

/* The share of the splits that training shows, the greatest of them. */
static double print_splits(const qkv_config *c, const data_spec *s) {
    static const char *const splits[] = {"valid", "test", "heldout"}, *const names[] = {
                                                                          "valid rows", "test rows",
                                                                          "held-out rows"};
    double most = 0;
    for (int i = 0; i < 2 + s->has_held_out; i++) {
        double share = data_seen(s, (uint64_t)c->seed, splits[i], CHECKED, CHECKED);
        const int there = data_at_most(s, splits[i], CHECKED);
        cli_print("  %s in train%*s%.0f of %d\n", names[i], (int)(15 - strlen(names[i])), "",
                  share * there, there);
        most = share > most ? share : most;
    }
    return most;
}

int cli_check_data(const qkv_config *c, const data_spec *s, data_batch *b) {
    findings *f = calloc(1, sizeof *f);
    if (!f) return cli_error(CLI_FAILED, "data", "out of memory");
    if (!look(c, s, b, f)) {
        free(f);
        return cli_error(CLI_FAILED, "data", "the task '%s' is wrong: %s", s->task->name, b->wrong);
    }
    print_findings(s, f);
    double seen = print_splits(c, s);
    bool sound =
        !f->outside && !f->unrepeatable && !f->wrong_count && !f->wrong_source && !f->several;
    bool nothing = f->scored == 0, few = seen >= TOO_MANY;
    printf("  verdict                 ");
    if (f->outside)
        printf("NO: %ld of %d examples have an id or a target that is in no vocabulary\n",
               f->outside, f->examples);
    else if (nothing)
        printf("NO: nothing is asked, so nothing was checked\n");
    else if (few)
        printf("NO: the task has fewer examples than a split needs\n");
    else if (!sound)
        printf("NO\n");
    else if (seen >= REMARKABLE)
        cli_print("sound, but %.1f %% of a split are shown in training, too\n", 100 * seen);
    else
        printf("sound\n");
    free(f);
    return sound && !nothing && !few ? CLI_OK : CLI_FAILED;
}
