/* info_json.c - the same for machines. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "train/cli/info.h"
#include "train/cli/json.h"
#include "train/probe/look.h"

static json_t *count(size_t n) { return json_integer((json_int_t)n); }

/* Every option; what config.json says about the program is left out: it would be this one. */
static json_t *config_of(const qkv_config *c, json_t *differs) {
    char *all = qkv_config_to_json(c);
    json_t *config = all ? json_loads(all, 0, NULL) : NULL, *options = json_object();
    const data_option *o;
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++) {
        if (o->kind == DATA_KIND_SECTION) continue;
        json_object_set(options, o->field, json_object_get(config, o->field));
        if (info_differs(c, o)) json_array_append_new(differs, json_string(o->field));
    }
    json_decref(config);
    free(all);
    return options;
}

static json_t *parameters_of(ag_params *params) {
    json_t *all = json_array();
    for (int k = 0; k < ag_params_count(params); k++) {
        const ag_param_entry *p = ag_params_at(params, k);
        json_t *one = json_object(), *shape = json_array();
        for (int d = 0; d < p->val.shape.rank; d++)
            json_array_append_new(shape, json_integer(p->val.shape.dim[d]));
        json_object_set_new(one, "name", cli_json_text(p->name));
        json_object_set_new(one, "shape", shape);
        json_object_set_new(one, "count", count(p->val.n));
        json_object_set_new(one, "norm", cli_json_number(qkv_probe_norm(p->val.x, p->val.n)));
        json_object_set_new(one, "decays", json_boolean(info_decays(p)));
        json_object_set_new(one, "frozen", json_boolean(p->frozen));
        json_object_set_new(one, "part",
                            json_string(qkv_probe_part_names[qkv_probe_part_of(p->name)]));
        json_array_append_new(all, one);
    }
    return all;
}

static json_t *sublayer(const qkv_probe_account_sublayer *s, double usual) {
    json_t *rows = json_array(), *o = json_object();
    for (int i = 0; i < s->n_rows; i++) {
        const qkv_probe_account_row *r = &s->row[i];
        json_array_append_new(
            rows, json_pack("{s:s,s:s,s:[i,i],s:o}", "name", r->name, "formula", r->formula,
                            "shape", r->rows, r->cols, "count", count(r->n)));
    }
    json_object_set_new(o, "rows", rows);
    json_object_set_new(o, "count", count(s->n));
    json_object_set_new(o, "usual", json_integer((json_int_t)usual));
    json_object_set_new(o, "copies", json_integer(s->copies));
    return o;
}

static json_t *account_of(const qkv_probe_account *a, int d) {
    json_t *o = json_object(), *parts = json_object(), *work = json_object();
    for (int i = 0; i < QKV_PROBE_PARTS; i++)
        json_object_set_new(parts, qkv_probe_part_names[i], count(a->part[i]));
    for (int i = 0; i < QKV_PROBE_WORKS; i++)
        json_object_set_new(work, qkv_probe_work_names[i], cli_json_number(a->work[i]));
    json_object_set_new(o, "attention", sublayer(&a->attention, 4.0 * d * d));
    json_object_set_new(o, "feed_forward", sublayer(&a->feed_forward, 8.0 * d * d));
    json_object_set_new(o, "parts", parts);
    json_object_set_new(o, "flops_per_token", cli_json_number(a->flops));
    json_object_set_new(o, "work", work);
    json_object_set_new(o, "cached_formula", json_string(a->cache_formula));
    json_object_set_new(o, "cached_per_layer", json_integer(a->cache_layer));
    json_object_set_new(o, "cached_per_token", json_integer(a->cache_sequence));
    json_object_set_new(o, "cached_per_memory_token", json_integer(a->cache_memory));
    return o;
}

void info_print_json(const info *i) {
    const qkv_probe_account *a = &i->account;
    const qkv_config *c = qkv_trainer_config(i->t);
    json_t *o = json_object(), *differs = json_array();
    json_object_set_new(o, "run", cli_json_text(i->run));
    json_object_set_new(o, "step", i->trained ? json_integer(i->progress.step) : json_null());
    json_object_set_new(o, "best_step", json_integer(i->progress.best_step));
    json_object_set_new(o, "best_loss", cli_json_number(i->progress.best_loss));
    json_object_set_new(o, "config", config_of(c, differs));
    json_object_set_new(o, "differs", differs);
    json_object_set_new(o, "parameters", parameters_of(qkv_trainer_params(i->t)));
    json_object_set_new(o, "total", count(a->total));
    json_object_set_new(o, "learned", count(a->learned));
    json_object_set_new(o, "account", account_of(a, c->d_model));
    cli_print_json(o);
}
