/* fuzz_config.c - any bytes as config.json.
 *
 * Promises: a refusal says why; what is accepted, written out and read again is the same
 * configuration, and resolving it either says what does not fit or leaves sizes that are sizes. */
#include <math.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "train/config/config.h"

static void check_round_trip(const qkv_config *c) {
    qkv_config again;
    char error[QKV_IO_ERROR] = "", a[QKV_CONFIG_TEXT_SIZE + 64], b[QKV_CONFIG_TEXT_SIZE + 64];
    char *text = qkv_config_to_json(c);
    PROMISE(text);
    qkv_config_default(&again);
    PROMISE(qkv_config_from_json(&again, text, strlen(text), error));
    const data_option *o;
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++)
        PROMISE(strcmp(qkv_config_get(c, o, a, sizeof a), qkv_config_get(&again, o, b, sizeof b)) ==
                0);
    free(text);
}

static void read_config(const uint8_t *data, size_t n) {
    qkv_config c;
    data_spec spec;
    char error[QKV_IO_ERROR] = "";
    qkv_config_default(&c);
    if (!qkv_config_from_json(&c, (const char *)data, n, error)) {
        PROMISE(error[0] && strlen(error) < QKV_IO_ERROR);
        return;
    }
    check_round_trip(&c);
    if (!qkv_config_resolve(&c, &spec, error)) {
        PROMISE(error[0] && strlen(error) < QKV_IO_ERROR);
        return;
    }
    PROMISE(c.d_k > 0 && c.d_v > 0 && c.kv_heads > 0 && c.d_model > 0 && c.layers > 0);
    PROMISE(spec.chance >= 0 && spec.chance <= 1 && spec.entries >= 0 && isfinite(c.lr));
    check_round_trip(&c);
}

FUZZ(fuzz_config) {
    read_config(data, n);
    return 0;
}
