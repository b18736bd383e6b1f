/* files.c - what describes a run, and the files of probe/. */
#include "train/run/files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/words.h"
#include "train/probe/attention_map.h"

/* ---- what describes the run ---- */

static bool write_text(const qkv_io *io, const char *dir, const char *name, const char *text,
                       size_t n, char *error) {
    char path[QKV_IO_PATH];
    return qkv_io_path(path, dir, name, error) && qkv_io_write_file(io, path, text, n, error);
}

/* "chance (ln 32)" of one who picks evenly among 32; of three answers "chance (3 ln 16)". */
static void label_of(const data_spec *s, const data_level *l, char out[64]) {
    char times[16] = "";
    const bool even = fabs(l->loss + s->n_readouts * log(l->accuracy)) < 1e-9;
    if (s->n_readouts > 1) snprintf(times, sizeof times, "%d ", s->n_readouts);
    if (even)
        qkv_io_words(out, 64, "%s (%sln %.0f)", l->label, times, 1 / l->accuracy);
    else
        snprintf(out, 64, "%s", l->label);
}

/* What a loss is compared with: loss, the accuracy that goes with it, its name, and what the loss
 * measures. */
static bool add_levels(qkv_trainer *t, qkv_io_text *out) {
    const data_spec *s = qkv_trainer_spec(t);
    bool vector = qkv_trainer_config(t)->readout == NN_READOUT_VECTOR;
    qkv_trainer_levels l;
    if (!qkv_trainer_loss_levels(t, "valid", qkv_trainer_config(t)->eval_examples, &l))
        return false;
    qkv_io_text_add(out, "loss,accuracy,label,measure\n");
    for (int i = 0; i < l.n; i++) {
        char label[64];
        if (!isfinite(l.at[i].loss)) continue;
        label_of(s, &l.at[i], label);
        qkv_io_text_number(out, l.at[i].loss);
        qkv_io_text_add(out, ",");
        if (!isnan(l.at[i].accuracy)) qkv_io_text_number(out, l.at[i].accuracy);
        qkv_io_text_add(out, ",\"%s\",\"%s\"\n", label,
                        vector              ? "squared error"
                        : s->n_readouts > 1 ? "cross-entropy, all answers together (nats)"
                                            : "cross-entropy (nats)");
    }
    return true;
}

/* What the task counted in its data; nothing: there is no such file. */
static void add_facts(const data_spec *s, qkv_io_text *out) {
    data_fact fact[DATA_MAXFACTS];
    const int n = data_facts(s, fact);
    for (int i = 0; i < n; i++) {
        qkv_io_text_add(out, "%s%s,", i ? "" : "name,number\n", fact[i].key);
        qkv_io_text_number(out, fact[i].number);
        qkv_io_text_add(out, "\n");
    }
}

bool qkv_run_write_descriptions(const qkv_io *io, qkv_trainer *t, const qkv_config_saving *saving,
                                const char *dir, char *error) {
    char *json = qkv_config_to_json_saving(qkv_trainer_config(t), saving);
    if (!json) return qkv_io_fail(error, "out of memory");
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text config = {.arena = arena, .failed = !arena}, levels = config, facts = config;
    qkv_io_text_add(&config, "%s\n", json);
    free(json);
    bool ok = add_levels(t, &levels);
    add_facts(qkv_trainer_spec(t), &facts);
    ok = ok && !levels.failed && !config.failed && !facts.failed;
    if (!ok) qkv_trainer_fail(t, error);
    ok = ok && write_text(io, dir, "config.json", config.at, config.n, error);
    ok = ok && write_text(io, dir, "levels.csv", levels.at, levels.n, error);
    if (ok && facts.n) ok = write_text(io, dir, "data.csv", facts.at, facts.n, error);
    tensor_arena_free(arena);
    return ok;
}

/* ---- probes ---- */

enum { MAPS_OF_EXAMPLE = 16 };

bool qkv_run_is_probe(const char *name) {
    static const char *const whens[] = {"before", "after", "keys-swapped", "values-swapped"};
    char known[64];
    for (size_t w = 0; w < sizeof whens / sizeof *whens; w++)
        for (int i = -1; i < QKV_PROBE_CIRCUITS; i++) {
            snprintf(known, sizeof known, "%s-%s.csv",
                     i < 0 ? "attention" : qkv_probe_circuit_names[i], whens[w]);
            if (strcmp(name, known) == 0) return true;
        }
    for (int k = 0; k < MAPS_OF_EXAMPLE; k++) {
        snprintf(known, sizeof known, "example-%d.csv", k);
        if (strcmp(name, known) == 0) return true;
    }
    return strcmp(name, "missing.csv") == 0 || strcmp(name, "frames.csv") == 0;
}

static bool write_attention(const qkv_io *io, qkv_trainer *t, qkv_probe_map_change change,
                            const char *dir, const char *name, qkv_io_text *out, char *error) {
    out->n = 0;
    return (qkv_probe_attention_map(t, change, out) || qkv_trainer_fail(t, error)) &&
           write_text(io, dir, name, out->at, out->n, error);
}

/* Why some maps are not there, for whoever wants to draw them. */
static void add_reason(qkv_io_text *out, const char *maps, const char *why) {
    if (!why) return;
    qkv_io_text_add(out, "%s,", maps);
    qkv_io_text_label(out, why);
    qkv_io_text_put(out, "\n", 1);
}

static bool write_missing(const qkv_io *io, qkv_trainer *t, const char *dir, qkv_io_text *out,
                          char *error) {
    const char *circuits = qkv_probe_circuits_missing(t);
    out->n = 0;
    qkv_io_text_add(out, "maps,why\n");
    add_reason(out, "attention", qkv_probe_attention_missing(t));
    for (int i = 0; i < QKV_PROBE_CIRCUITS; i++)
        add_reason(out, qkv_probe_circuit_names[i], circuits);
    return !out->failed && write_text(io, dir, "missing.csv", out->at, out->n, error);
}

bool qkv_run_write_probes(const qkv_io *io, qkv_trainer *t, const qkv_probe_circuits *circuits,
                          const char *run, const char *when, char *error) {
    char dir[QKV_IO_PATH], name[64];
    if (!qkv_io_path(dir, run, "probe", error) || !qkv_io_make_directory(io, dir, error))
        return false;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text text = {.arena = arena, .failed = !arena};
    bool after = strcmp(when, "after") == 0;
    qkv_io_fail(error, "out of memory");
    bool ok = arena && write_missing(io, t, dir, &text, error);
    if (ok && !qkv_probe_attention_missing(t)) {
        snprintf(name, sizeof name, "attention-%s.csv", when);
        ok = write_attention(io, t, QKV_PROBE_MAP_PLAIN, dir, name, &text, error) &&
             (!after || (write_attention(io, t, QKV_PROBE_MAP_KEYS_SWAPPED, dir,
                                         "attention-keys-swapped.csv", &text, error) &&
                         write_attention(io, t, QKV_PROBE_MAP_VALUES_SWAPPED, dir,
                                         "attention-values-swapped.csv", &text, error)));
    }
    for (qkv_probe_circuit i = 0; ok && circuits && i < QKV_PROBE_CIRCUITS; i++) {
        text.n = 0;
        qkv_probe_circuit_map(circuits, i, &text);
        snprintf(name, sizeof name, "%s-%s.csv", qkv_probe_circuit_names[i], when);
        ok = !text.failed && write_text(io, dir, name, text.at, text.n, error);
    }
    tensor_arena_free(arena);
    return ok;
}

bool qkv_run_write_example(const qkv_io *io, qkv_trainer *t, const char *run, int readout,
                           const char *change, char *error) {
    io = qkv_io_of(io);
    enum { MOST = MAPS_OF_EXAMPLE };
    char dir[QKV_IO_PATH], path[QKV_IO_PATH], name[32];
    qkv_io_text map[MOST];
    if (!qkv_io_path(dir, run, "probe", error) || !qkv_io_make_directory(io, dir, error))
        return false;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_fail(error, "out of memory");
    int n = !arena   ? -1
            : change ? qkv_probe_changed_maps(t, readout, change, MOST, arena, map, error)
                     : qkv_probe_example_maps(
                           t, &(qkv_probe_maps_of){.readout = readout, .most = MOST}, arena, map);
    if (n < 0 && arena && !change) qkv_trainer_fail(t, error);
    if (n == 0) qkv_io_fail(error, "this model has no attention weights to be drawn");
    bool ok = n > 0;
    for (int k = 0; ok && k < MOST; k++) {
        snprintf(name, sizeof name, "example-%d.csv", k);
        if (qkv_io_path(path, dir, name, error)) io->unlink(io->ctx, path);
    }
    for (int k = 0; ok && k < n; k++) {
        snprintf(name, sizeof name, "example-%d.csv", k);
        ok = !map[k].failed && write_text(io, dir, name, map[k].at, map[k].n, error);
    }
    tensor_arena_free(arena);
    return ok;
}

bool qkv_run_write_tape(const qkv_io *io, const qkv_probe_tape *tape, const char *title,
                        const char *run, char *error) {
    char dir[QKV_IO_PATH];
    io = qkv_io_of(io);
    if (!qkv_io_path(dir, run, "probe", error) || !qkv_io_make_directory(io, dir, error))
        return false;
    qkv_io_text text = {.arena = tensor_arena_new(NULL)};
    const bool ok = text.arena ? qkv_probe_tape_graph(tape, title, &text, error) &&
                                     write_text(io, dir, "tape.csv", text.at, text.n, error)
                               : qkv_io_fail(error, "out of memory");
    tensor_arena_free(text.arena);
    return ok;
}
