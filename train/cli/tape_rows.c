/* tape_rows.c - qkv tape: the tables of a tape, as JSON and as CSV. */
#include <stdio.h>

#include "train/cli/json.h"
#include "train/cli/tape.h"
#include "train/io/number.h"

json_t *cli_tape_at(const ag_node *node, size_t at) {
    json_t *list = json_array();
    int index[TENSOR_MAXRANK];
    for (int d = node->val.shape.rank - 1; d >= 0; d--) {
        index[d] = (int)(at % (size_t)node->val.shape.dim[d]);
        at /= (size_t)node->val.shape.dim[d];
    }
    for (int d = qkv_probe_tape_first(node); d < node->val.shape.rank; d++)
        json_array_append_new(list, json_integer(index[d]));
    return list;
}

static const char *role_of(const cli_taped *v, const ag_node *node) {
    return node == v->tape.w->out.loss ? "loss"
           : node->op                  ? ""
           : node->param               ? node->param->frozen ? "frozen parameter" : "parameter"
                                       : "input";
}

static json_t *node_row(const cli_taped *v, const ag_node *node) {
    char shape[TENSOR_SHAPE_TEXT], inputs[400] = "";
    size_t n = 0;
    for (int k = 0; k < node->n_in && n < sizeof inputs; k++)
        n += (size_t)snprintf(inputs + n, sizeof inputs - n, "%s%s", k ? " " : "",
                              node->in[k]->name);
    json_t *o = json_object();
    json_object_set_new(o, "index", json_integer(node->index));
    json_object_set_new(o, "node", cli_json_text(node->name));
    json_object_set_new(o, "op", json_string(node->op ? node->op->name : ""));
    json_object_set_new(o, "role", json_string(role_of(v, node)));
    json_object_set_new(o, "formula", json_string(qkv_probe_tape_formula(node)));
    json_object_set_new(o, "inputs", cli_json_text(inputs));
    json_object_set_new(o, "shape", json_string(tensor_shape_text(node->val.shape, shape)));
    json_object_set_new(o, "value", cli_json_number(qkv_probe_tape_size(node->val.x, node->val.n)));
    json_object_set_new(
        o, "gradient",
        cli_json_number(node->has_grad ? qkv_probe_tape_size(node->grad, node->val.n) : 0));
    return o;
}

json_t *cli_tape_nodes(const cli_taped *v, bool backward) {
    json_t *rows = json_array();
    const int n = ag_count(v->tape.w->graph);
    for (int i = 0; i < n; i++)
        json_array_append_new(rows, node_row(v, ag_at(v->tape.w->graph, backward ? n - 1 - i : i)));
    return rows;
}

static void put_place(const cli_taped *v, json_t *o, const ag_node *node, size_t at) {
    char text[400];
    json_object_set_new(o, "place",
                        cli_json_text(qkv_probe_tape_place(node, at, text, sizeof text)));
    json_object_set_new(o, "words",
                        cli_json_text(qkv_probe_tape_words(&v->tape, node, at, text, sizeof text)));
    json_object_set_new(o, "at", cli_tape_at(node, at));
}

json_t *cli_tape_numbers(const cli_taped *v, const ag_node *node) {
    json_t *rows = json_array();
    for (size_t i = 0; i < node->val.n; i++) {
        json_t *o = json_object();
        put_place(v, o, node, i);
        json_object_set_new(o, "value", cli_json_number((double)node->val.x[i]));
        json_object_set_new(o, "gradient",
                            cli_json_number(node->has_grad ? (double)node->grad[i] : 0));
        json_array_append_new(rows, o);
    }
    return rows;
}

json_t *cli_tape_terms(const cli_taped *v, const ag_reasons *r) {
    json_t *rows = json_array();
    for (size_t k = 0; k < r->n; k++) {
        const ag_term *t = &r->term[k];
        json_t *o = json_object();
        json_object_set_new(o, "part", t->linear ? cli_json_number(t->part) : json_null());
        json_object_set_new(o, "node", cli_json_text(t->node->name));
        put_place(v, o, t->node, t->at);
        json_object_set_new(o, "input", json_integer(t->input));
        json_object_set_new(o, "numbers", json_integer((json_int_t)t->n));
        json_object_set_new(o, "value", t->n > 1 ? json_null() : cli_json_number(t->value));
        json_object_set_new(o, "slope", t->n > 1 ? json_null() : cli_json_number(t->slope));
        json_array_append_new(rows, o);
    }
    return rows;
}

json_t *cli_tape_parts(const cli_taped *v, const qkv_probe_tape_update *u) {
    json_t *rows = json_array();
    char name[96];
    (void)v;
    for (int i = 0; i < u->n; i++) {
        const qkv_probe_tape_part *p = &u->part[i];
        json_t *o = json_object();
        json_object_set_new(o, "parameter", cli_json_text(p->p->name));
        json_object_set_new(o, "weight", cli_json_number(p->weight));
        json_object_set_new(o, "gradient", cli_json_number(p->grad));
        for (int m = 0; m < QKV_OPTIM_MOMENTS && u->method->moment[m]; m++)
            json_object_set_new(o, u->method->moment[m], cli_json_number(p->moment[m]));
        json_object_set_new(o, "step", cli_json_number(p->step));
        for (int m = 0; m < QKV_PROBE_TAPE_MEASURES; m++) {
            snprintf(name, sizeof name, "part_%s", qkv_probe_tape_measures[m]);
            json_object_set_new(o, name, cli_json_number(p->part[m]));
        }
        json_array_append_new(rows, o);
    }
    return rows;
}

/* ---- CSV ---- */

static void put_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"') putchar('"');
        putchar((unsigned char)*text < ' ' || *text == 127 ? ' ' : *text);
    }
    putchar('"');
}

static void put_cell(const json_t *value) {
    char number[QKV_IO_NUMBER];
    if (json_is_string(value)) put_text(json_string_value(value));
    if (json_is_integer(value)) printf("%lld", (long long)json_integer_value(value));
    if (json_is_real(value))
        fputs(qkv_io_format_real(json_real_value(value), sizeof(real) == 8 ? 17 : 9, number),
              stdout);
}

void cli_tape_csv(json_t *rows) {
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i), *value;
        const char *key;
        for (int head = i == 0; head >= 0; head--) {
            bool first = true;
            json_object_foreach(row, key, value) {
                if (json_is_array(value)) continue;
                if (!first) putchar(',');
                first = false;
                if (head)
                    fputs(key, stdout);
                else
                    put_cell(value);
            }
            putchar('\n');
        }
    }
    json_decref(rows);
}
