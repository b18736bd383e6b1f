/* factors.c - lists like "*.wq=0.5,embed.*=0": a number for each parameter that a pattern names. */
#include <stdio.h>
#include <string.h>

#include "train/config/config.h"
#include "train/io/given.h"
#include "train/io/number.h"

bool qkv_config_factor(const char *list, const char *name, double *factor, char *error) {
    if (!QKV_IO_GIVEN(error, list, name, factor)) return false;
    char copy[QKV_CONFIG_TEXT_SIZE], *rest = NULL;
    *factor = 1;
    snprintf(copy, sizeof copy, "%s", list);
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *number = strchr(word, '=');
        double x;
        if (!number || !qkv_io_parse_real(number + 1, &x) || !(x >= 0 && x <= 1e9))
            return qkv_io_fail(error, "'%.60s' is not NAME=X with an X between 0 and 1e9", word);
        *number = '\0';
        if (ag_matches(word, name)) *factor = x;
    }
    return true;
}
