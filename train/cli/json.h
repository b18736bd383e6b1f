/* json.h - how commands print JSON. */
#pragma once

#include <jansson.h>

#include "train/run/metrics.h"

/* A number, null where there is none; text that may be no UTF-8. */
json_t *cli_json_number(double x);
json_t *cli_json_text(const char *text);

/* Adds every metric that has a name; the levels that the loss compares with. */
void cli_json_metrics(json_t *o, const qkv_run_moment *m);
void cli_json_levels(json_t *o, const qkv_trainer_levels *l);

/* One line on stdout, in ASCII without control characters whatever the names in it; then lets go of
 * the object. */
void cli_print_json(json_t *o);
