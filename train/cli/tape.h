/* tape.h - what the files of qkv tape share. */
#pragma once

#include <jansson.h>

#include "train/probe/tape.h"

typedef struct {
    qkv_probe_tape tape;
    tensor_arena *arena;
    char head[512];  // which run, step and example it is
} cli_taped;

/* Tables as lists of JSON objects, one a row: nodes, numbers of one node, terms, matrices. */
json_t *cli_tape_nodes(const cli_taped *v, bool backward);
json_t *cli_tape_numbers(const cli_taped *v, const ag_node *node);
json_t *cli_tape_terms(const cli_taped *v, const ag_reasons *r);
json_t *cli_tape_parts(const cli_taped *v, const qkv_probe_tape_update *u);
json_t *cli_tape_at(const ag_node *node, size_t at);

/* Such a table as CSV, without what is a list itself; lets go of it. */
void cli_tape_csv(json_t *rows);

/* The same as text. */
void cli_tape_print_example(const cli_taped *v);
void cli_tape_print_nodes(const cli_taped *v, bool backward);
void cli_tape_print_node(const cli_taped *v, const ag_node *node);
void cli_tape_print_why(const cli_taped *v, const ag_node *y, size_t at, const ag_reasons *r);
void cli_tape_print_why_grad(const cli_taped *v, const ag_node *x, size_t at, const ag_reasons *r);
void cli_tape_print_path(const cli_taped *v, const ag_node *x, size_t at, const ag_reasons *r);
void cli_tape_print_update(const cli_taped *v, const qkv_probe_tape_update *u);

/* y's formula with its numbers in the place of letters, "" where that cannot be written on a line. */
const char *cli_tape_filled(const ag_node *y, const ag_reasons *r, char *out, size_t size);
