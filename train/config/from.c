/* from.c - what --from names: RUN, RUN@STEP or a file of weights. */
#include <string.h>

#include "train/config/config.h"
#include "train/io/number.h"

int qkv_config_from_step(const char *from, size_t *length) {
    const char *at = strrchr(from, '@');
    long step;
    *length = strlen(from);
    if (!at || at == from || !qkv_io_parse_int(at + 1, &step) || step < 0 || step > 1000000000)
        return 0;
    *length = (size_t)(at - from);
    return (int)step;
}

bool qkv_config_from_is_file(const char *from) {
    static const char ending[] = ".safetensors";
    size_t n = strlen(from), k = sizeof ending - 1;
    return n > k && strcmp(from + n - k, ending) == 0;
}
