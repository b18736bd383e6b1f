/* grid.h - lists of options' values, and all their combinations.
 *
 * A grid is a JSON object: {"lr": [0.1, 0.01], "d_k": [1, 2, 4], "batch,warmup": [[16, 10], [64, 40]]}.
 * Its cells are the combinations, the last list walking fastest; options that share a list walk together. */
#pragma once

#include <jansson.h>

#include "train/study/study.h"

enum { QKV_STUDY_CELLS = 1000000, QKV_STUDY_VALUE = QKV_CONFIG_TEXT_SIZE + 8 };

/* Adds to the list what a text says of an option: values "a,b,c" of a number or a choice, ranges of a
 * number: "1..20", "a..b:n", "a..b:nlog", "a..b:random:n", "a..b:random:nlog". Of other options the
 * whole text is one value. Values of a range have 6 digits at most. Those drawn at random are the same each
 * time, and a longer list begins with the shorter. One that is in the list already is not added. text NULL:
 * a flag, `yes` its value. False with a sentence, which does not name the option. */
bool qkv_study_grid_add(json_t *list, const data_option *o, const char *text, bool yes,
                        char *error);

/* Are all its members lists as they should be, and how many cells are there? At most QKV_STUDY_CELLS. */
bool qkv_study_grid_count(json_t *grid, int *n, char *error);

/* The options of a cell, as a new object: a new reference; NULL: out of memory. */
json_t *qkv_study_grid_cell(json_t *grid, int i);

/* A list of objects {"name": ..., "set": ..., "grid": ...} with those that have a grid as one for each of
 * its cells: what the cell says is added to "set", and stands in the name for "{lr}"; without a name it is
 * "lr = 0.1, d_k = 4". A new reference; NULL with a sentence. list NULL: NULL without one. */
json_t *qkv_study_grid_expand(json_t *list, char *error);

/* A value as a person writes it. Returns out. */
const char *qkv_study_grid_text(const json_t *value, char out[QKV_STUDY_VALUE]);
