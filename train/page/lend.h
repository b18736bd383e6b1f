/* lend.h - files for a task that reads some, where there are none: only in the engine of the page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* From now on the file of that name has these n bytes, which were allocated by malloc() and are taken
 * over; NULL: there is no such file any more. The last eight are remembered. False: out of memory. */
bool qkv_page_lend(const char *name, char *bytes, size_t n);
