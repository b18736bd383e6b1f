/* words.h - the parts of a study's report, for text.c and write.c. */
#ifndef TRAIN_STUDY_WORDS_H
#define TRAIN_STUDY_WORDS_H

#include "train/study/study.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The means of all variants. */
void train_study_table(const train_study *s, const train_results *r, train_text *out);

/* The numbers of the picture as CSV, for bars.gp or lines.gp. */
void train_study_picture_data(const train_study *s, const train_results *r, train_text *out);

/* The digits after the point that a number's size deserves. */
int train_study_decimals(double x);

/* Characters of UTF-8 text. */
int train_study_width(const char *text);

#ifdef __cplusplus
}
#endif
#endif
