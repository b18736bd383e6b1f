/* data_check.c - does a task keep what it promises? Ten thousand examples are looked at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/cli/data_check.h"

enum { CHECKED = 10000 };

typedef struct {
    long scored, wrong_count;  // rows; examples with another number of them
    long outside;              // examples with ids outside their vocabulary
    long unrepeatable;         // examples that came out otherwise the second time
    // Rows whose answer stands elsewhere; with none or several right entries.
    long wrong_source, several, unknown;
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
            f->classes[target < 65536 ? target : 0]++;
            int n = data_right_entries(s, &b->rows, r, t);
            f->unknown += n < 0;
            f->several += n >= 0 && n != 1;
            f->wrong_source += !stands_there(s, b, r, target, source);
        }
        f->scored += scored;
        f->wrong_count += scored != s->scored;
    }
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A hash of all ids of the one example in b. */
static uint64_t fingerprint(const data_spec *s, const data_batch *b) {
    uint64_t h = 1469598103934665603u;
    for (int side = 0; side < DATA_SIDES; side++)
        for (int i = 0; i < s->side[side].n_streams; i++)
            for (int t = 0; t < s->side[side].T; t++)
                h = (h ^ (uint64_t)(unsigned)b->rows.ids[side][i][t]) * 1099511628211u;
    return h;
}

/* Examples of `split` that occur among the sorted `known`. */
static long shared(data_batch *b, const data_spec *s, uint64_t seed, const char *split,
                   const uint64_t *known) {
    long n = 0;
    for (int e = 0; e < CHECKED; e++) {
        data_fill(b, seed, split, (uint64_t)e, 1);
        uint64_t h = fingerprint(s, b);
        n += bsearch(&h, known, CHECKED, sizeof h, by_value) != NULL;
    }
    return n;
}

int cli_check_data(const qkv_config *c, const data_spec *s, data_batch *b) {
    findings *f = calloc(1, sizeof *f);
    uint64_t *seen = malloc(CHECKED * sizeof *seen), seed = (uint64_t)c->seed;
    if (!seen || !f) return free(f), free(seen), cli_error(CLI_FAILED, "data", "out of memory");
    for (int e = 0; e < CHECKED; e++) {
        data_fill(b, seed, "train", (uint64_t)e, 1);
        check_example(s, b, f);
        seen[e] = fingerprint(s, b);
        data_fill(b, seed, "train", (uint64_t)e, 1);
        f->unrepeatable += fingerprint(s, b) != seen[e];
    }
    qsort(seen, CHECKED, sizeof *seen, by_value);
    long least = f->classes[0], most = f->classes[0];
    int classes = s->readout[0].classes;
    for (int i = 1; i < classes && i < 65536; i++) {
        least = f->classes[i] < least ? f->classes[i] : least;
        most = f->classes[i] > most ? f->classes[i] : most;
    }
    bool ok = f->outside == 0 && f->unrepeatable == 0 && f->wrong_count == 0 &&
              f->wrong_source == 0 && f->several == 0;
    printf("%s: %d examples, %ld scored positions (%d an example and readout)\n", s->task->name,
           CHECKED, f->scored, s->scored);
    printf("  ids in vocabularies     %s\n", f->outside ? "NO" : "yes");
    printf("  the same every time     %s\n", f->unrepeatable ? "NO" : "yes");
    printf("  right source            %s (%ld rows where the answer does not stand there)\n",
           f->wrong_source ? "NO" : "yes", f->wrong_source);
    printf("  exactly one             %s\n", f->several   ? "NO"
                                             : f->unknown ? "not checked: the task does not say"
                                                          : "yes");
    printf("  scored as declared      %s\n", f->wrong_count ? "NO" : "yes");
    printf("  classes                 %d; shares from %.2f to %.2f of an even one\n", classes,
           (double)least * classes / (double)f->scored, (double)most * classes / (double)f->scored);
    printf("  blind guess             %.4f; most frequent answer %.4f\n", s->chance,
           (double)most / (double)f->scored);
    printf("  valid rows in train     %ld of %d\n", shared(b, s, seed, "valid", seen), CHECKED);
    printf("  test rows in train      %ld of %d\n", shared(b, s, seed, "test", seen), CHECKED);
    if (s->has_held_out)
        printf("  held-out rows in train  %ld of %d\n", shared(b, s, seed, "heldout", seen),
               CHECKED);
    free(seen);
    free(f);
    return ok ? CLI_OK : CLI_FAILED;
}
