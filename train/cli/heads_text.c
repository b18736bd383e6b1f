#include "train/cli/heads_text.h"

#include <math.h>
#include <stdio.h>

#include "train/cli/cli.h"
#include "train/cli/json.h"

static const char through[3] = {'Q', 'K', 'V'};

char *cli_heads_jobs(const qkv_probe_heads *h, int site, int head, char *out, size_t size) {
    size_t n = 0;
    out[0] = '\0';
    for (int i = 0; i < QKV_PROBE_LOOKS && n < size; i++)
        if (qkv_probe_head_does(h, site, head, (qkv_probe_look)i))
            n +=
                (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", qkv_probe_look_names[i]);
    return out;
}

static void print_number(double x) { cli_print("%10.3f", x); }

static void print_looks(const qkv_probe_heads *h) {
    char jobs[80];
    printf(
        "\nWhere each head looks: its mean weight on each (evenly: if it looked at all "
        "alike)\n\n%-20s",
        "");
    for (int i = 0; i < QKV_PROBE_LOOKS; i++) printf("%10s", qkv_probe_look_names[i]);
    printf("  does\n");
    for (int k = 0; k < h->n_sites; k++) {
        for (int head = 0; head < h->heads; head++) {
            printf("%-13s head %d", h->site[k].name, head);
            for (int i = 0; i < QKV_PROBE_LOOKS; i++)
                print_number(h->look[(k * h->heads + head) * QKV_PROBE_LOOKS + i]);
            printf("  %s\n", cli_heads_jobs(h, k, head, jobs, sizeof jobs));
        }
        printf("%-20s", "       evenly");
        for (int i = 0; i < QKV_PROBE_LOOKS; i++) print_number(h->chance[k * QKV_PROBE_LOOKS + i]);
        printf("\n");
    }
}

/* The position looked at that gives a head the most of what it says. */
static int loudest(const qkv_probe_heads *h, int i) {
    int best = 0;
    for (int s = 1; s < h->columns; s++)
        if (fabs(h->from_position[i * h->columns + s]) >
            fabs(h->from_position[i * h->columns + best]))
            best = s;
    return best;
}

static void print_attribution(const qkv_trainer *t, const qkv_probe_heads *h) {
    if (h->no_attribution) {
        printf("\nWho says the answer: not defined, %s.\n", h->no_attribution);
        return;
    }
    cli_print("\nWho says the answer: its logit, less the mean of all, is %.2f, of which\n\n",
              h->logit);
    cli_print("%-20s%10.2f\n", "embedding", h->from_embedding);
    for (int i = 0; i < h->n_sites * h->heads; i++) {
        const int at = loudest(h, i);
        if (h->site[i / h->heads].rows == DATA_MEMORY) continue;  // it writes to the memory alone
        cli_print("%-13s head %d%10.2f    most of it from position %d (%.2f)\n",
                  h->site[i / h->heads].name, i % h->heads, h->from_head[i], at,
                  h->from_position[i * h->columns + at]);
    }
    for (int l = 0; qkv_trainer_config(t)->d_ff && l < qkv_trainer_config(t)->layers; l++)
        cli_print("layer%d.mlp%20.2f\n", l, h->from_mlp[l]);
    cli_print("%-20s%10.2f\n", "rest (biases)", h->from_rest);
}

static void print_composition(const qkv_probe_heads *h) {
    const int n = h->n_sites * h->heads;
    bool any = false;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            const int at = a * n + b;
            const double x[3] = {h->composed[0][at], h->composed[1][at], h->composed[2][at]};
            if (isnan(x[0]) && isnan(x[1]) && isnan(x[2])) continue;
            if (!any)
                printf(
                    "\nWhose writing each head reads, through its queries, keys, "
                    "values\n\n%-42s%10c%10c%10c\n",
                    "", through[0], through[1], through[2]);
            any = true;
            printf("%-13s head %d -> %-13s head %d", h->site[a / h->heads].name, a % h->heads,
                   h->site[b / h->heads].name, b % h->heads);
            for (int c = 0; c < 3; c++) print_number(x[c]);
            printf("\n");
        }
    if (!any) return;
    cli_print("%-43s%9.3f%10.3f%10.3f\n", "random matrices", h->random[0], h->random[1],
              h->random[2]);
    if (h->no_composition) printf("(Through Q and K not defined: %s.)\n", h->no_composition);
}

static void print_ways(const char *name, const double *x) {
    printf("%-20s", name);
    for (int way = 0; way < QKV_PROBE_WAYS; way++) print_number(x[way]);
    printf("\n");
}

static void print_ablation(const qkv_probe_heads *h, int layers) {
    char name[64];
    cli_print("\nAccuracy without it (%.3f with all), replaced by\n\n%-20s", h->accuracy, "");
    for (int way = 0; way < QKV_PROBE_WAYS; way++) printf("%10s", qkv_probe_way_names[way]);
    printf("\n");
    for (int i = 0; i < h->n_sites * h->heads; i++) {
        snprintf(name, sizeof name, "%-13s head %d", h->site[i / h->heads].name, i % h->heads);
        print_ways(name, h->ablated + i * QKV_PROBE_WAYS);
    }
    for (int k = 0; k < h->n_sites + layers; k++) {
        const double *x = h->no_sublayer + k * QKV_PROBE_WAYS;
        if (k < h->n_sites)
            snprintf(name, sizeof name, "%s, all heads", h->site[k].name);
        else
            snprintf(name, sizeof name, "layer%d.mlp", k - h->n_sites);
        if (!isnan(x[0]) && (k >= h->n_sites || h->heads > 1)) print_ways(name, x);
    }
    for (int k = 0; k < h->n_sites; k++)
        for (int at = 0; at < h->site[k].o->val.shape.dim[1]; at++) {
            const double *x = h->no_position + (k * h->rows + at) * QKV_PROBE_WAYS;
            if (x[QKV_PROBE_MEAN] > h->accuracy - 0.02) continue;
            snprintf(name, sizeof name, "%s at %d", h->site[k].name, at);
            print_ways(name, x);
        }
    printf("(Of single positions those whose mean costs 2 %% or more.)\n");
}

static void print_circuits(const qkv_trainer *t, const qkv_probe_head_circuits *c) {
    const data_spec *s = qkv_trainer_spec(t);
    if (!qkv_probe_head_circuits_any(c)) {
        printf("\nEach head's circuits: not defined, %s.\n", c->missing[0]);
        return;
    }
    printf(
        "\nEach head's circuits. QK: the share of questions that it matches best with their own "
        "key, and that\nscore less the mean of the others. OV: of values that it says as "
        "themselves, and that logit\n\n%-20s  %-10s%10s%10s%10s%10s\n",
        "", "asked", "QK", "margin", "OV", "margin");
    for (int i = 0; i < c->heads * c->questions; i++) {
        const qkv_probe_head_circuit *x = &c->of[i];
        const int r = i % c->questions;
        if (c->missing[r]) continue;
        printf("layer0.%-6s head %d  %-10.10s", qkv_trainer_attention_name(s), i / c->questions,
               s->readout[r].name);
        cli_print("%10.3f%10.2f%10.3f%10.2f\n", x->qk_diag, x->qk_margin, x->ov_diag, x->ov_margin);
    }
}

void cli_heads_print(const qkv_trainer *t, const qkv_probe_heads *h,
                     const qkv_probe_head_circuits *c) {
    print_looks(h);
    print_circuits(t, c);
    print_attribution(t, h);
    print_composition(h);
    if (h->ablated) print_ablation(h, qkv_trainer_config(t)->layers);
}

/* ---- JSON ---- */

static json_t *numbers(const double *x, int n) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(list, cli_json_number(x[i]));
    return list;
}

static json_t *head_json(const qkv_probe_heads *h, int k, int head) {
    const int i = k * h->heads + head;
    json_t *o = json_object(), *does = json_array();
    json_object_set_new(o, "site", json_string(h->site[k].name));
    json_object_set_new(o, "head", json_integer(head));
    for (int look = 0; look < QKV_PROBE_LOOKS; look++)
        if (qkv_probe_head_does(h, k, head, (qkv_probe_look)look))
            json_array_append_new(does, json_string(qkv_probe_look_names[look]));
    json_object_set_new(o, "does", does);
    for (int look = 0; look < QKV_PROBE_LOOKS; look++)
        json_object_set_new(o, qkv_probe_look_names[look],
                            cli_json_number(h->look[i * QKV_PROBE_LOOKS + look]));
    if (h->from_head) {
        json_object_set_new(o, "logit", cli_json_number(h->from_head[i]));
        json_object_set_new(o, "logit_from_position",
                            numbers(h->from_position + i * h->columns, h->columns));
    }
    for (int way = 0; h->ablated && way < QKV_PROBE_WAYS; way++) {
        char name[32];
        snprintf(name, sizeof name, "without_%s", qkv_probe_way_names[way]);
        json_object_set_new(o, name, cli_json_number(h->ablated[i * QKV_PROBE_WAYS + way]));
    }
    return o;
}

static json_t *site_json(const qkv_probe_heads *h, int k) {
    json_t *o = json_object(), *chance = json_object();
    json_object_set_new(o, "site", json_string(h->site[k].name));
    for (int look = 0; look < QKV_PROBE_LOOKS; look++)
        json_object_set_new(chance, qkv_probe_look_names[look],
                            cli_json_number(h->chance[k * QKV_PROBE_LOOKS + look]));
    json_object_set_new(o, "evenly", chance);
    if (!h->no_sublayer) return o;
    json_object_set_new(o, "without", numbers(h->no_sublayer + k * QKV_PROBE_WAYS, QKV_PROBE_WAYS));
    json_t *places = json_array();
    for (int at = 0; at < h->site[k].o->val.shape.dim[1]; at++)
        json_array_append_new(
            places, numbers(h->no_position + (k * h->rows + at) * QKV_PROBE_WAYS, QKV_PROBE_WAYS));
    json_object_set_new(o, "without_position", places);
    return o;
}

static json_t *composition_json(const qkv_probe_heads *h) {
    json_t *list = json_array();
    const int n = h->n_sites * h->heads;
    for (int i = 0; i < n * n; i++) {
        const int a = i / n, b = i % n;
        if (isnan(h->composed[0][i]) && isnan(h->composed[1][i]) && isnan(h->composed[2][i]))
            continue;
        json_t *o =
            json_pack("{s:s,s:i,s:s,s:i}", "from", h->site[a / h->heads].name, "from_head",
                      a % h->heads, "to", h->site[b / h->heads].name, "to_head", b % h->heads);
        for (int c = 0; c < 3; c++)
            json_object_set_new(o, (const char *[]){"q", "k", "v"}[c],
                                cli_json_number(h->composed[c][i]));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *circuits_json(const qkv_trainer *t, const qkv_probe_head_circuits *c) {
    json_t *list = json_array();
    for (int i = 0; i < c->heads * c->questions; i++) {
        const int r = i % c->questions;
        if (c->missing[r]) continue;
        json_t *o = json_pack("{s:i,s:s}", "head", i / c->questions, "question",
                              qkv_trainer_spec(t)->readout[r].name);
        json_object_set_new(o, "qk_diag", cli_json_number(c->of[i].qk_diag));
        json_object_set_new(o, "qk_margin", cli_json_number(c->of[i].qk_margin));
        json_object_set_new(o, "ov_diag", cli_json_number(c->of[i].ov_diag));
        json_object_set_new(o, "ov_margin", cli_json_number(c->of[i].ov_margin));
        json_array_append_new(list, o);
    }
    return list;
}

json_t *cli_heads_json(const qkv_trainer *t, const qkv_probe_heads *h,
                       const qkv_probe_head_circuits *c) {
    json_t *o = json_object(), *heads = json_array(), *sites = json_array();
    for (int k = 0; k < h->n_sites; k++) {
        json_array_append_new(sites, site_json(h, k));
        for (int head = 0; head < h->heads; head++)
            json_array_append_new(heads, head_json(h, k, head));
    }
    json_object_set_new(o, "examples", json_integer(h->examples));
    json_object_set_new(o, "accuracy", cli_json_number(h->accuracy));
    json_object_set_new(o, "loss", cli_json_number(h->loss));
    json_object_set_new(o, "heads", heads);
    json_object_set_new(o, "sites", sites);
    if (h->from_head) {
        json_object_set_new(o, "logit", cli_json_number(h->logit));
        json_object_set_new(o, "logit_from_embedding", cli_json_number(h->from_embedding));
        json_object_set_new(o, "logit_from_mlp",
                            numbers(h->from_mlp, qkv_trainer_config(t)->layers));
        json_object_set_new(o, "logit_from_rest", cli_json_number(h->from_rest));
    }
    json_object_set_new(o, "circuits", circuits_json(t, c));
    json_object_set_new(o, "composition", composition_json(h));
    json_object_set_new(o, "random_composition", numbers(h->random, 3));
    return o;
}
