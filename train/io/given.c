/* given.c - how a call that leaves a sentence refuses NULL. */
#include "train/io/given.h"

#include <string.h>

bool qkv_io_given(char *error, const char *call, const char *names, size_t n,
                  const void *const *given) {
    if (!error) return false;
    for (size_t i = 0; i < n; i++) {
        const size_t length = strcspn(names, ",");
        if (!given[i])
            return qkv_io_fail(error, "%s() was called with NULL for '%.*s'", call, (int)length,
                               names);
        names += length + strspn(names + length, ", ");
    }
    return true;
}
