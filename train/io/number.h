/* number.h - numbers as text, the same in every locale. */
#pragma once

#include <stdbool.h>

#include "tensor/linkage.h"

TENSOR_C_BEGIN

/* The whole text is one number, finite and without leading space; false otherwise (also on
 * overflow). */
bool qkv_io_parse_real(const char *text, double *out);
bool qkv_io_parse_int(const char *text, long *out);

/* Is the whole text a whole number, or any number, of whatever size? */
bool qkv_io_is_whole(const char *text);
bool qkv_io_is_real(const char *text);

enum { QKV_IO_NUMBER = 32 };

/* "%.*g" with a point; NaN and infinities as "nan", "inf", "-inf". Returns out. */
char *qkv_io_format_real(double x, int digits, char out[QKV_IO_NUMBER]);

/* The fewest digits of 15..17 that read back as the same double. */
char *qkv_io_format_exact(double x, char out[QKV_IO_NUMBER]);

TENSOR_C_END
