/* lend.h - files for a task that reads some, where there are none: only in the engine of the page. */
#ifndef QKV_PAGE_LEND_H
#define QKV_PAGE_LEND_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on the file of that name has this text; the last few are remembered. False: memory is
 * out. */
bool qkv_page_lend(const char *name, const char *text);

#ifdef __cplusplus
}
#endif
#endif
