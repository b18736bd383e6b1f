/* rows_picture.h - what a picture of rows shows, as CSV for sweep.gp: a map of cells, curves or points. */
#pragma once

#include "train/io/text.h"
#include "train/study/rows.h"

/* Columns by name. y an option: a map, each cell the mean of `colour`, a measure (NULL: accuracy). y a
 * measure, x an option: curves, one for each value of `colour`, an option, in a band from the least to the
 * greatest of the trainings at each x. Both measures, or `scatter`: a point each, in the colour of `colour`.
 * A panel for each value of `panel`. colour and panel may be NULL. */
typedef struct {
    const char *x, *y, *colour, *panel;
    bool scatter;
} qkv_study_view;

bool qkv_study_rows_picture(const qkv_study_rows *r, const qkv_study_view *v, qkv_io_text *out,
                            char *error);
