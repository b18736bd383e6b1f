/* runs.c - whole runs of the page's engine, which needs no more than a C library: a line for each, its
 * name and a hash of its rows of metrics and of its last weights. portable.sh compares the lines
 * that several compilers, processors and C libraries print. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "train/page/engine_internal.h"

static const struct {
    const char *name, *options;
} runs[] = {
    {"default", ""},
    {"two-layers", "task=induction\nnorm=layer\nd_ff=64\ndropout=0.1\nsteps=40\n"},
    {"sgd", "optimizer=sgd\nlr=0.5\nsteps=60\n"},
    {"adamw", "optimizer=adamw\nweight_decay=0.1\nclip=1\nschedule=cosine\nsteps=60\n"},
    {"muon", "optimizer=muon\nlr=0.02\nsteps=60\n"},
    {"grouped",
     "heads=4\nkv_heads=2\npositions=rotary\nnorm=rms\nqk_norm=true\nsoft_cap=20\nsteps=60\n"},
};

static uint64_t mixed(uint64_t hash, const void *data, size_t n) {
    const unsigned char *byte = data;
    for (size_t i = 0; i < n; i++) hash = (hash ^ byte[i]) * 1099511628211u;
    return hash;
}

/* The rows without what a clock says, which stands last. */
static uint64_t hash_of_rows(uint64_t hash, const char *row) {
    for (const char *end; (end = strchr(row, '\n')); row = end + 1) {
        const char *last = end;
        while (last > row && *last != ',') last--;
        hash = mixed(hash, row, (size_t)(last - row));
    }
    return hash;
}

static bool run(const char *name, const char *options) {
    qkv_page *p = qkv_page_open();
    if (!p) return false;
    bool ok = qkv_page_start(p, options);
    while (ok && qkv_page_step(p) < qkv_page_end(p)) ok = qkv_page_go(p, qkv_page_end(p), 1000000);
    if (!ok) {
        fprintf(stderr, "%s: %s\n", name, qkv_page_error(p));
        qkv_page_close(p);
        return false;
    }
    uint64_t hash = hash_of_rows(14695981039346656037u, qkv_page_rows(p, 0));
    ag_params *params = qkv_trainer_params(p->run->t);
    for (int i = 0; i < ag_params_count(params); i++) {
        const ag_param_entry *e = ag_params_at(params, i);
        hash = mixed(hash, e->val.x, e->val.n * sizeof(real));
    }
    printf("%s %d %016llx\n", name, qkv_page_step(p), (unsigned long long)hash);
    qkv_page_close(p);
    return true;
}

int main(void) {
    bool ok = true;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        ok = run(runs[i].name, runs[i].options) && ok;
    return !ok;
}
