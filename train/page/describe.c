/* describe.c - the engine's texts: what can be chosen, the run, its rows, its example. */
#include <math.h>
#include <stdio.h>

#include "train/config/version.h"
#include "train/io/json.h"
#include "train/page/engine_internal.h"
#include "train/probe/interventions.h"

/* ---- JSON ---- */

qkv_io_text qkv_page_text_new(qkv_page *p) {
    tensor_arena_reset(p->scratch);
    return (qkv_io_text){.arena = p->scratch};
}

void qkv_page_text_real(qkv_io_text *out, double x) {
    if (isfinite(x))
        qkv_io_text_number(out, x);
    else
        qkv_io_text_add(out, "null");
}

const char *qkv_page_text_end(qkv_page *p, qkv_io_text *out) {
    if (!out->failed && out->at) return out->at;
    qkv_io_fail(p->error, "out of memory");
    return NULL;
}

/* "KEY":"VALUE", with a comma before it unless it is the first. */
static void add_field(qkv_io_text *out, bool first, const char *key, const char *value) {
    qkv_io_text_add(out, "%s\"%s\":", first ? "" : ",", key);
    qkv_io_json_put(out, value);
}

/* ---- what can be chosen ---- */

const char *qkv_page_table(qkv_page *p) {
    qkv_io_text out = qkv_page_text_new(p);
    qkv_io_text_add(&out, "{");
    add_field(&out, true, "version", QKV_VERSION);
    qkv_io_text_add(&out, ",\"tasks\":[");
    for (int i = 0; data_tasks[i]; i++) {
        qkv_io_text_add(&out, i ? ",{" : "{");
        add_field(&out, true, "name", data_tasks[i]->name);
        add_field(&out, false, "summary", data_tasks[i]->summary);
        qkv_io_text_add(&out, "}");
    }
    qkv_io_text_add(&out, "]}");
    return qkv_page_text_end(p, &out);
}

static void add_option(qkv_io_text *out, const data_option *o) {
    static const char *const kinds[] = {"section", "text", "int", "real", "choice", "flag", "text"};
    add_field(out, true, "kind", kinds[o->kind]);
    add_field(out, false, "name", o->option);
    add_field(out, false, "field", o->field);
    add_field(out, false, "choices", o->choices ? o->choices : "");
    add_field(out, false, "help", o->help ? o->help : "");
    add_field(out, false, "needs", o->needs ? o->needs : "");
}

static void add_table(qkv_io_text *out, const qkv_config *c) {
    const data_option *o;
    qkv_io_text_add(out, "\"table\":[");
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++) {
        qkv_io_text_add(out, i ? ",{" : "{");
        add_option(out, o);
        qkv_io_text_add(out, "}");
    }
    qkv_io_text_add(out, "]");
}

/* ---- the run ---- */

static void add_values(qkv_io_text *out, const char *name, const qkv_config *c) {
    char value[QKV_CONFIG_TEXT_SIZE + 64];
    const data_option *o;
    bool first = true;
    qkv_io_text_add(out, "\"%s\":{", name);
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++) {
        if (o->kind == DATA_KIND_SECTION) continue;
        add_field(out, first, o->option, qkv_config_get(c, o, value, sizeof value));
        first = false;
    }
    qkv_io_text_add(out, "}");
}

static void add_symbols(qkv_io_text *out, const data_stream *s, int n) {
    char symbol[DATA_SYMBOL];
    qkv_io_text_add(out, "[");
    for (int i = 0; i < n; i++) {
        qkv_io_text_add(out, i ? "," : "");
        qkv_io_json_put(out, data_symbol(s, i, symbol));
    }
    qkv_io_text_add(out, "]");
}

static void add_sides(qkv_io_text *out, const data_spec *s) {
    qkv_io_text_add(out, "\"sides\":[");
    for (int i = 0; i < DATA_SIDES; i++) {
        qkv_io_text_add(out, "%s{\"T\":%d,\"streams\":[", i ? "," : "", s->side[i].T);
        for (int k = 0; s->side[i].T && k < s->side[i].n_streams; k++) {
            qkv_io_text_add(out, k ? ",{" : "{");
            add_field(out, true, "name", s->side[i].stream[k].name);
            qkv_io_text_add(out, ",\"symbols\":");
            add_symbols(out, &s->side[i].stream[k], s->side[i].stream[k].vocab);
            qkv_io_text_add(out, "}");
        }
        qkv_io_text_add(out, "]}");
    }
    qkv_io_text_add(out, "]");
}

static void add_readouts(qkv_io_text *out, const data_spec *s) {
    char symbol[DATA_SYMBOL];
    qkv_io_text_add(out, "\"readouts\":[");
    for (int r = 0; r < s->n_readouts; r++) {
        qkv_io_text_add(out, r ? ",{" : "{");
        add_field(out, true, "name", s->readout[r].name);
        qkv_io_text_add(out, ",\"classes\":[");
        for (int i = 0; i < s->readout[r].classes; i++) {
            qkv_io_text_add(out, i ? "," : "");
            qkv_io_json_put(out, data_answer(&s->readout[r], i, symbol));
        }
        qkv_io_text_add(out, "]}");
    }
    qkv_io_text_add(out, "]");
}

/* Nodes with attention weights: name, layer, heads, and the sides of their rows and columns. */
static void add_maps(qkv_io_text *out, qkv_trainer *t) {
    static const struct {
        const char *format;
        int rows, cols;
    } kinds[] = {{"encoder%d.attn.weights", DATA_MEMORY, DATA_MEMORY},
                 {"layer%d.attn.weights", DATA_SEQUENCE, DATA_SEQUENCE},
                 {"layer%d.cross.weights", DATA_SEQUENCE, DATA_MEMORY}};
    ag_graph *g = qkv_trainer_any_worker(t)->graph;
    bool first = true;
    qkv_io_text_add(out, "\"maps\":[");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int l = 0; l < qkv_trainer_config(t)->layers; l++) {
            char name[64];
            snprintf(name, sizeof name, kinds[k].format, l);
            const ag_node *node = ag_find_unseen(g, name);
            if (!node || node->val.shape.rank != 4) continue;
            qkv_io_text_add(out, first ? "{" : ",{");
            add_field(out, true, "name", name);
            qkv_io_text_add(out, ",\"layer\":%d,\"heads\":%d,\"rows\":%d,\"cols\":%d}", l,
                            node->val.shape.dim[1], kinds[k].rows, kinds[k].cols);
            first = false;
        }
    qkv_io_text_add(out, "]");
}

static void add_circuits(qkv_io_text *out, const qkv_page_run *r) {
    qkv_io_text_add(out, "\"circuits\":[");
    for (qkv_probe_circuit i = 0; r->has_circuits && i < QKV_PROBE_CIRCUITS; i++) {
        qkv_io_text_add(out, i ? ",{" : "{");
        add_field(out, true, "name", qkv_probe_circuit_names[i]);
        qkv_io_text_add(out, ",\"rows\":");
        add_symbols(out, r->now.circuits.row[i], r->now.circuits.rows[i]);
        qkv_io_text_add(out, ",\"cols\":");
        add_symbols(out, r->now.circuits.col[i], r->now.circuits.cols[i]);
        qkv_io_text_add(out, "}");
    }
    qkv_io_text_add(out, "],\"right\":[");
    for (int i = 0; r->has_circuits && i < r->now.circuits.rows[QKV_PROBE_QK_KEY]; i++)
        qkv_io_text_add(out, "%s%d", i ? "," : "", r->now.circuits.right[i]);
    qkv_io_text_add(out, "]");
}

static void add_matrices(qkv_io_text *out, ag_params *params) {
    bool first = true;
    qkv_io_text_add(out, "\"matrices\":[");
    for (int i = 0; i < ag_params_count(params); i++) {
        if (ag_params_at(params, i)->val.shape.rank != 2) continue;
        qkv_io_text_add(out, first ? "" : ",");
        qkv_io_json_put(out, ag_params_at(params, i)->name);
        first = false;
    }
    qkv_io_text_add(out, "]");
}

const char *qkv_page_describe(qkv_page *p) {
    qkv_page_run *r = p->run;
    if (!r) return NULL;
    const data_spec *s = qkv_trainer_spec(r->t);
    const qkv_config *c = qkv_trainer_config(r->t);
    qkv_config base;
    qkv_config_default(&base);
    if (!qkv_config_set(&base, qkv_config_option_find(&base, "task"), c->task, p->error) ||
        !qkv_config_recommend(&base, p->error))
        return NULL;
    qkv_io_text out = qkv_page_text_new(p);
    qkv_io_text_add(&out, "{\"steps\":%d,\"layers\":%d,\"heads\":%d,\"learned\":%zu,", c->steps,
                    c->layers, c->heads, ag_params_learned(qkv_trainer_params(r->t)));
    add_table(&out, c);
    qkv_io_text_add(&out, ",");
    add_values(&out, "options", c);
    qkv_io_text_add(&out, ",");
    add_values(&out, "base", &base);
    qkv_io_text_add(&out, ",\"asks\":%s", qkv_page_can_ask(r) ? "true" : "false");
    qkv_io_text_add(&out, ",\"store\":%d,\"entries\":%d,\"scored\":%d,\"chance\":", s->store,
                    s->entries, s->scored);
    qkv_page_text_real(&out, s->chance);
    qkv_io_text_add(&out, ",\"in_context\":");
    qkv_page_text_real(&out, s->in_context);
    qkv_io_text_add(&out, ",\"roles\":{\"query\":%d,\"key\":%d,\"value\":%d},", s->roles.query,
                    s->roles.key, s->roles.value);
    add_sides(&out, s);
    qkv_io_text_add(&out, ",");
    add_readouts(&out, s);
    qkv_io_text_add(&out, ",");
    add_maps(&out, r->t);
    qkv_io_text_add(&out, ",");
    add_circuits(&out, r);
    qkv_io_text_add(&out, ",");
    add_matrices(&out, qkv_trainer_params(r->t));
    qkv_io_text_add(&out, "}");
    return qkv_page_text_end(p, &out);
}

const char *qkv_page_rows(qkv_page *p, int from) {
    qkv_page_run *r = p->run;
    if (!r) return NULL;
    qkv_io_text out = qkv_page_text_new(p);
    qkv_io_text_add(&out, "%s", "");
    if (from <= 0) qkv_run_metrics_header(r->t, &out);
    for (int i = from > 0 ? from - 1 : 0; i < r->rows; i++)
        qkv_io_text_add(&out, "%s", r->row[i].text);
    return qkv_page_text_end(p, &out);
}

/* ---- the example ---- */

static void add_ids(qkv_io_text *out, const data_spec *s, const qkv_page_ids *ids) {
    qkv_io_text_add(out, "[");
    for (int i = 0; i < DATA_SIDES; i++) {
        qkv_io_text_add(out, i ? ",[" : "[");
        for (int k = 0; s->side[i].T && k < s->side[i].n_streams; k++) {
            qkv_io_text_add(out, k ? ",[" : "[");
            for (int t = 0; t < s->side[i].T; t++)
                qkv_io_text_add(out, "%s%d", t ? "," : "", ids->ids[i][k][t]);
            qkv_io_text_add(out, "]");
        }
        qkv_io_text_add(out, "]");
    }
    qkv_io_text_add(out, "]");
}

/* Two words that can be exchanged, and a third one that can stand in the place of the first; -1: none.
 * Leaves other examples loaded. */
static qkv_probe_words choose_words(qkv_page *p) {
    qkv_page_run *r = p->run;
    qkv_trainer_worker *w = qkv_trainer_any_worker(r->t);
    const data_spec *s = qkv_trainer_spec(r->t);
    qkv_probe_words none = {-1, -1, -1};
    if (qkv_probe_words_missing(r->t)) return none;
    qkv_trainer_load(r->t, w, "test", (uint64_t)r->number, w->B, w->B);
    const int *class_of = data_answers_of_words(s, p->scratch);
    return class_of ? qkv_probe_words_choose(r->t, class_of, 0, NULL) : none;
}

const char *qkv_page_words(qkv_page *p) {
    qkv_page_run *r = p->run;
    if (!r) return NULL;
    const data_spec *s = qkv_trainer_spec(r->t);
    qkv_trainer_worker *w = qkv_trainer_any_worker(r->t);
    qkv_io_text out = qkv_page_text_new(p);
    bool first = true;
    qkv_io_text_add(&out, "{\"number\":%d,\"question\":%d,\"drawn\":", r->number, r->question);
    add_ids(&out, s, &r->drawn);
    qkv_io_text_add(&out, ",\"changed\":");
    add_ids(&out, s, &r->changed);
    const qkv_probe_words c = choose_words(p);
    qkv_io_text_add(&out, ",\"exchange\":{\"answer\":%d,\"other\":%d,\"put\":%d}", c.t, c.j, c.put);
    qkv_trainer_load(r->t, w, "test", (uint64_t)r->number, 1, 1);
    qkv_io_text_add(&out, ",\"lengths\":[%d,%d],\"questions\":[",
                    data_length(&w->data, DATA_SEQUENCE, 0), data_length(&w->data, DATA_MEMORY, 0));
    for (int t = 0; t < s->side[DATA_SEQUENCE].T; t++) {
        bool asked = false;
        for (int k = 0; k < s->n_readouts; k++) asked = asked || w->data.rows.target[k][t] >= 0;
        if (!asked) continue;
        qkv_io_text_add(&out, "%s%d", first ? "" : ",", t);
        first = false;
    }
    qkv_io_text_add(&out, "]}");
    return qkv_page_text_end(p, &out);
}
