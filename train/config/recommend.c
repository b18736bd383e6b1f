/* recommend.c - what a task recommends: "layers=2 positions=learned no-residual". */
#include <stdio.h>
#include <string.h>

#include "train/config/config.h"
#include "train/io/given.h"

typedef struct {
    const data_option *option;  // NULL: there is none of that name
    const char *value;
} word;

/* The next word of the list, which it cuts up; false after the last. */
static bool next(const qkv_config *c, char **list, char **whole, word *out) {
    *whole = *list + strspn(*list, " ");
    if (!**whole) return false;
    *list = *whole + strcspn(*whole, " ");
    if (**list) *(*list)++ = '\0';
    char *value = strchr(*whole, '=');
    bool negated = strncmp(*whole, "no-", 3) == 0;
    if (value) *value++ = '\0';
    out->option = qkv_config_option_named(c, *whole + (negated ? 3 : 0));
    out->value = negated ? "false" : value ? value : "true";
    return true;
}

static char *list_of(const qkv_config *c, char copy[QKV_CONFIG_RECOMMENDED]) {
    const data_task *task = qkv_config_task(c);
    snprintf(copy, QKV_CONFIG_RECOMMENDED, "%s",
             task && task->recommended ? task->recommended : "");
    return copy;
}

bool qkv_config_recommend(qkv_config *c, char *error) {
    if (!QKV_IO_GIVEN(error, c)) return false;
    char copy[QKV_CONFIG_RECOMMENDED], *list = list_of(c, copy), *whole;
    for (word w; next(c, &list, &whole, &w);)
        if (!w.option || !qkv_config_set(c, w.option, w.value, error))
            return qkv_io_fail(error, "the task '%.60s' recommends '%s', which cannot be set",
                               c->task, whole);
    return true;
}

char *qkv_config_recommended(const qkv_config *c, char out[QKV_CONFIG_RECOMMENDED]) {
    char copy[QKV_CONFIG_RECOMMENDED], *list = list_of(c, copy), *whole;
    size_t n = 0, size = QKV_CONFIG_RECOMMENDED;
    out[0] = '\0';
    for (word w; next(c, &list, &whole, &w) && n < size;) {
        char error[QKV_IO_ERROR], wanted[QKV_CONFIG_TEXT_SIZE + 64], has[QKV_CONFIG_TEXT_SIZE + 64];
        qkv_config other = *c;
        if (!w.option || !qkv_config_set(&other, w.option, w.value, error)) continue;
        qkv_config_get(&other, w.option, wanted, sizeof wanted);
        if (strcmp(wanted, qkv_config_get(c, w.option, has, sizeof has)) != 0) continue;
        bool flag = w.option->kind == DATA_KIND_FLAG;
        n += (size_t)snprintf(out + n, size - n, "%s--%s%s%s%s", n ? " " : "",
                              flag && *w.value == 'f' ? "no-" : "", w.option->option,
                              flag ? "" : " ", flag ? "" : w.value);
    }
    return out;
}
