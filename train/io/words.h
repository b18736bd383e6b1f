/* words.h - numbers on their way to a person: what is not finite never shows as "nan" or "inf". */
#pragma once

#include <stdarg.h>
#include <stddef.h>

/* As snprintf(), but for real numbers (%f, %e, %g) that are not finite. In a column, which is a
 * conversion with a width, such a number is "-", and a percent sign behind it a blank; in a sentence
 * it is "none" (0/0) or "infinite", without its percent sign. A caller that knows why there is no
 * number says so instead. No %n, no long double, no wide characters. */
int qkv_io_words(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int qkv_io_vwords(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
