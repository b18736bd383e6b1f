/* number.h - numbers as text, the same in every locale. */
#ifndef TRAIN_NUMBER_H
#define TRAIN_NUMBER_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The whole text is one number, finite and without leading space; false otherwise (also on
 * overflow). */
bool train_parse_real(const char *text, double *out);
bool train_parse_int(const char *text, long *out);

enum { TRAIN_NUMBER = 32 };

/* "%.*g" with a point; NaN and infinities as "nan", "inf", "-inf". Returns out. */
char *train_format_real(double x, int digits, char out[TRAIN_NUMBER]);

/* The fewest digits of 15..17 that read back as the same double. */
char *train_format_exact(double x, char out[TRAIN_NUMBER]);

#ifdef __cplusplus
}
#endif
#endif
