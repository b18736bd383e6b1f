/* words.h - the parts of a study's report, for text.c and write.c. */
#pragma once

#include "train/study/study.h"

/* The means of all variants. */
void qkv_study_table(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out);

/* The numbers of the picture as CSV, for bars.gp or lines.gp. */
void qkv_study_picture_data(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out);

/* Is the variant one of those that the picture shows? */
bool qkv_study_is_shown(const qkv_study *s, int variant);

/* What {variant|measure|format} in a text means; returns what is wrong with it, or NULL. */
typedef struct {
    char text[400];                // in which the others lie
    int variant;                   // -1: none of that name
    const char *measure, *format;  // NULL: not given
} qkv_study_place;
const char *qkv_study_place_read(const qkv_study *s, const char *inside, size_t n,
                                 qkv_study_place *out);

/* The digits after the point that a number's size deserves. */
int qkv_study_decimals(double x);
