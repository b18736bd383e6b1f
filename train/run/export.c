/* export.c - a model's matrices and maps as files. */
#include "train/run/export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/npy.h"
#include "train/io/number.h"
#include "train/io/text.h"
#include "train/probe/circuits.h"
#include "train/probe/interventions.h"
#include "train/probe/look.h"

/* What stands along a side of a matrix: symbols, answers, positions of the example, or numbers. */
typedef struct {
    const data_stream *stream;
    const data_readout *readout;
    const data_side *side;
    int *const *ids;  // of the side's streams
} labels;

typedef struct {
    const qkv_io *io;
    qkv_trainer *t;
    const qkv_run_export_options *o;
    tensor_arena *arena;
    qkv_io_text csv;
    char *error;
} job;

/* ---- one matrix, in each format that is wanted ---- */

char *qkv_run_export_name(const char *name, char *out, size_t size) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t n = 0;
    for (const char *c = name; *c && n + 4 < size; c++) {
        if (strchr(plain, *c) && !(c == name && *c == '.'))
            out[n++] = *c;
        else
            n += (size_t)snprintf(out + n, size - n, "%%%02X", (unsigned char)*c);
    }
    out[n] = '\0';
    return out;
}

static bool file_path(char out[QKV_IO_PATH], const char *dir, const char *kind, const char *name,
                      const char *ending, char *error) {
    char safe[240], file[256], sub[QKV_IO_PATH];
    snprintf(file, sizeof file, "%s%s", qkv_run_export_name(name, safe, sizeof safe), ending);
    return qkv_io_path(sub, dir, kind, error) && qkv_io_path(out, sub, file, error);
}

static void add_label(qkv_io_text *csv, const labels *l, int i) {
    char text[QKV_CONFIG_TEXT_SIZE * 4], symbol[DATA_SYMBOL];
    int n = snprintf(text, sizeof text, "%d", i);
    if (l->stream) data_symbol(l->stream, i, text);
    if (l->readout) data_answer(l->readout, i, text);
    for (int s = 0; l->side && s < l->side->n_streams; s++) {
        data_symbol(&l->side->stream[s], l->ids[s][i], symbol);
        if (*symbol) n += snprintf(text + n, sizeof text - (size_t)n, " %s", symbol);
    }
    qkv_io_text_label(csv, text);
}

static void add_csv(qkv_io_text *csv, const tensor *x, const labels *rows, const labels *cols) {
    int width = tensor_width(x->shape), digits = sizeof(real) == sizeof(double) ? 17 : 9;
    char number[QKV_IO_NUMBER];
    csv->n = 0;
    qkv_io_text_label(csv, "");
    for (int c = 0; c < width; c++) {
        qkv_io_text_add(csv, ",");
        add_label(csv, cols, c);
    }
    qkv_io_text_add(csv, "\n");
    for (size_t r = 0; r < tensor_rows(x->shape); r++) {
        add_label(csv, rows, (int)r);
        for (int c = 0; c < width; c++)
            qkv_io_text_add(
                csv, ",%s",
                qkv_io_format_real((double)x->x[r * (size_t)width + (size_t)c], digits, number));
        qkv_io_text_add(csv, "\n");
    }
}

static bool put(job *j, const char *kind, const char *name, const tensor *x, const labels *rows,
                const labels *cols) {
    char path[QKV_IO_PATH];
    if (j->o->npy && !(file_path(path, j->o->npy, kind, name, ".npy", j->error) &&
                       qkv_io_npy_write(j->io, path, x, j->error)))
        return false;
    if (!j->o->csv) return true;
    add_csv(&j->csv, x, rows, cols);
    if (j->csv.failed) return qkv_io_fail(j->error, "out of memory");
    return file_path(path, j->o->csv, kind, name, ".csv", j->error) &&
           qkv_io_write_file(j->io, path, j->csv.at, j->csv.n, j->error);
}

/* ---- the three kinds ---- */

/* The labels of a parameter's rows and columns: those of tables of symbols. */
static void weight_labels(const data_spec *s, const char *name, labels *rows, labels *cols) {
    const char *last = strrchr(name, '.');
    bool memory = strncmp(name, "memory.", 7) == 0, embed = strncmp(name, "embed.", 6) == 0;
    const data_side *side = &s->side[memory ? DATA_MEMORY : DATA_SEQUENCE];
    for (int i = 0; (memory || embed) && i < side->n_streams; i++)
        if (strcmp(last + 1, side->stream[i].name) == 0) rows->stream = &side->stream[i];
    for (int r = 0; strncmp(name, "unembed.", 8) == 0 && r < s->n_readouts; r++)
        if (strcmp(name + 8, s->readout[r].name) == 0) cols->readout = &s->readout[r];
}

static bool put_weights(job *j, int *n) {
    ag_params *params = qkv_trainer_params(j->t);
    for (int i = 0; i < ag_params_count(params); i++) {
        const ag_param_entry *p = ag_params_at(params, i);
        labels rows = {.stream = NULL}, cols = rows;
        weight_labels(qkv_trainer_spec(j->t), p->name, &rows, &cols);
        if (!put(j, "weights", p->name, &p->val, &rows, &cols)) return false;
        ++*n;
    }
    return true;
}

/* The positions that T queries, or S keys, of a node stand for. */
static labels positions(const data_spec *s, const qkv_trainer_worker *w, const char *node,
                        bool keys, int n) {
    bool memory = strncmp(node, "encoder", 7) == 0 || (keys && strstr(node, ".cross."));
    data_side_name side = memory ? DATA_MEMORY : DATA_SEQUENCE;
    if (s->side[side].T != n) return (labels){.stream = NULL};
    return (labels){.side = &s->side[side], .ids = w->data.rows.ids[side]};
}

static bool put_heads(job *j, const qkv_trainer_worker *w, const ag_node *node, int *n) {
    const data_spec *s = qkv_trainer_spec(j->t);
    const int *dim = node->val.shape.dim;
    int stem = (int)(strlen(node->name) - strlen(".weights"));
    labels rows = positions(s, w, node->name, false, dim[2]);
    labels cols = positions(s, w, node->name, true, dim[3]);
    for (int h = 0; h < dim[1]; h++, ++*n) {
        char name[256];
        tensor one = {.shape = tensor_dims(2, dim[2], dim[3]),
                      .x = qkv_probe_row_of(node, 0, h, 0)};
        one.n = (size_t)dim[2] * (size_t)dim[3];
        snprintf(name, sizeof name, "%.*s.head%d", stem, node->name, h);
        if (!put(j, "attention", name, &one, &rows, &cols)) return false;
    }
    return true;
}

static bool put_attention(job *j, int *n) {
    qkv_trainer_worker *w = qkv_trainer_any_worker(j->t);
    static const char ending[] = ".weights";
    qkv_probe_changed changed;
    qkv_trainer_load(j->t, w, "test", (uint64_t)j->o->example, 1, 1);
    if (j->o->change && !qkv_probe_change(j->t, j->o->change, &changed, j->error)) return false;
    if (!qkv_probe_replay(w)) return qkv_io_fail(j->error, "%s", ag_error(w->graph));
    for (int i = 0; i < ag_count(w->graph); i++) {
        ag_node *node = ag_at(w->graph, i);
        size_t length = strlen(node->name);
        if (node->val.shape.rank != 4 || node->val.shape.dim[0] != w->B || length < sizeof ending)
            continue;
        if (strcmp(node->name + length - strlen(ending), ending) != 0) continue;
        if (!put_heads(j, w, ag_store(node), n)) return false;
    }
    return true;
}

/* What the model says at each scored position of the example, before the softmax. */
static bool put_logits(job *j, int *n) {
    const data_spec *s = qkv_trainer_spec(j->t);
    const qkv_trainer_worker *w = qkv_trainer_any_worker(j->t);
    for (int r = 0; r < s->n_readouts; r++) {
        const ag_node *node = w->out.logits[r];
        labels rows = {.stream = NULL}, cols = {.readout = &s->readout[r]};
        if (!node) continue;
        tensor said = {.shape = tensor_dims(2, qkv_probe_rows(w), s->readout[r].classes),
                       .x = node->val.x};
        said.n = (size_t)said.shape.dim[0] * (size_t)said.shape.dim[1];
        if (!put(j, "logits", s->readout[r].name, &said, &rows, &cols)) return false;
        ++*n;
    }
    return true;
}

/* Every head's, of one question; `of` follows the head's number in the file's name. */
static bool put_circuits_of(job *j, int question, const char *of, int *n) {
    qkv_probe_circuits c;
    if (!qkv_probe_circuits_new_of(j->arena, j->t, question, &c)) return true;
    for (int h = 0; h < qkv_trainer_config(j->t)->heads; h++) {
        qkv_probe_circuits_read(j->t, 0, h, &c);
        for (qkv_probe_circuit i = 0; i < QKV_PROBE_CIRCUITS; i++, ++*n) {
            char name[96];
            tensor map = {.shape = tensor_dims(2, c.rows[i], c.cols[i]), .x = c.map[i]};
            map.n = (size_t)c.rows[i] * (size_t)c.cols[i];
            labels rows = {.stream = c.row[i]}, cols = {.stream = c.col[i]};
            snprintf(name, sizeof name, "%s.head%d%s%.40s", qkv_probe_circuit_names[i], h,
                     *of ? "." : "", of);
            if (!put(j, "circuits", name, &map, &rows, &cols)) return false;
        }
    }
    return true;
}

static bool put_circuits(job *j, int *n) {
    const data_spec *s = qkv_trainer_spec(j->t);
    for (int r = 0; r < s->n_readouts; r++)
        if (!put_circuits_of(j, r, s->n_readouts > 1 ? s->readout[r].name : "", n)) return false;
    return true;
}

/* ---- directories ---- */

static bool stop_at_first(void *ctx, const char *name) {
    (void)name;
    *(bool *)ctx = true;
    return false;
}

static bool is_free(const job *j, const char *dir) {
    bool occupied = false;
    char shown[256];
    if (!dir) return true;
    if (j->io->list(j->io->ctx, dir, stop_at_first, &occupied) != 0 && errno != ENOENT)
        return qkv_io_error(j->error, "read", dir, errno), false;
    if (!occupied || j->o->force) return true;
    return qkv_io_fail(j->error, "'%s' is not empty; --force writes into it",
                       qkv_io_printable(dir, shown, sizeof shown));
}

static bool make_directories(const job *j, const char *dir) {
    static const char *const kinds[] = {"weights", "attention", "logits", "circuits", NULL};
    char path[QKV_IO_PATH];
    for (int i = 0; dir && kinds[i]; i++)
        if (!qkv_io_path(path, dir, kinds[i], j->error) ||
            !qkv_io_make_directory(j->io, path, j->error))
            return false;
    return true;
}

bool qkv_run_export(const qkv_io *io, qkv_trainer *t, const qkv_run_export_options *o,
                    qkv_run_exported *out, char *error) {
    if (!QKV_IO_GIVEN(error, t, o, out)) return false;
    tensor_arena *arena = tensor_arena_new(NULL);
    job j = {.io = qkv_io_of(io),
             .t = t,
             .o = o,
             .arena = arena,
             .csv = {.arena = arena},
             .error = error};
    *out = (qkv_run_exported){0};
    if (!arena) return qkv_io_fail(error, "out of memory");
    if (!t)
        return tensor_arena_free(arena), qkv_io_fail(error, "cannot export: the trainer is NULL");
    bool ok = is_free(&j, o->npy) && is_free(&j, o->csv) && make_directories(&j, o->npy) &&
              make_directories(&j, o->csv) && put_weights(&j, &out->weights) &&
              put_attention(&j, &out->attention) && put_logits(&j, &out->logits) &&
              put_circuits(&j, &out->circuits);
    tensor_arena_free(arena);
    return ok;
}
