/* json.c - how commands print JSON. */
#include "train/cli/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

json_t *cli_json_number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

json_t *cli_json_text(const char *text) {
    char shown[QKV_IO_PATH];
    json_t *whole = json_string(text);
    return whole ? whole : json_string(qkv_io_printable(text, shown, sizeof shown));
}

void cli_json_metrics(json_t *o, const qkv_run_moment *m) {
    for (const qkv_run_metric *k = qkv_run_metrics; k->of; k++)
        if (k->name && !(k->of_text && isnan(k->of(m))))
            json_object_set_new(o, k->name, cli_json_number(k->of(m)));
}

void cli_json_levels(json_t *o, const qkv_trainer_levels *l) {
    char key[64];
    json_object_set_new(o, "loss_blind", json_null());
    json_object_set_new(o, "loss_unmatched", json_null());
    for (int i = 0; i < l->n; i++) {
        snprintf(key, sizeof key, "loss_%s", l->at[i].key);
        json_object_set_new(o, key, cli_json_number(l->at[i].loss));
        snprintf(key, sizeof key, "accuracy_%s", l->at[i].key);
        if (!isnan(l->at[i].accuracy))
            json_object_set_new(o, key, cli_json_number(l->at[i].accuracy));
    }
}

void cli_print_json(json_t *o) {
    char *line =
        json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII |
                          (sizeof(real) == 8 ? JSON_REAL_PRECISION(17) : JSON_REAL_PRECISION(9)));
    for (const char *c = line; c && *c; c++) {
        if (*c == 127)
            fputs("\\u007f", stdout);  // jansson takes DEL for a printable character
        else
            putchar(*c);
    }
    if (line) putchar('\n');
    free(line);
    json_decref(o);
}
