/* show.h - what the files of qkv show share. */
#pragma once

#include "train/probe/explain.h"

/* One open run, its example loaded. */
typedef struct {
    qkv_trainer *t;
    qkv_trainer_worker *w;
    const data_spec *spec;
    tensor_arena *arena;
    int head, readout;
    bool colour;
} cli_shown;

enum { CLI_SHOW_PLACE = 19 };  // columns of what stands at a position

/* What stands at a position, and an answer as text; they return out. */
const char *cli_show_position(const cli_shown *v, data_side_name side, int p, char *out,
                              size_t size);
const char *cli_show_answer(const cli_shown *v, int id, char out[DATA_SYMBOL]);

/* False, having said why. */
bool cli_show_explain(cli_shown *v, qkv_probe_explanation *out);

/* The example changed and explained again: as `change` says (see qkv_probe_change()), or with NULL in the
 * ways that show what Q and K, and what V do. An exit code. */
int cli_show_changes(cli_shown *v, const qkv_probe_explanation *e, const char *change);
