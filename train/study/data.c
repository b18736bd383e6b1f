/* data.c - the files of one's own that a study names: found beside it, and known by their checksum. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/crc32.h"
#include "train/io/given.h"
#include "train/study/members.h"

static const char *dumped(qkv_study *s, json_t *o) {
    char *text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    const char *kept = text ? qkv_study_member_copy(s, text) : NULL;
    free(text);
    return kept;
}

/* Puts the directory of the study's file before the files that the options name; *n: how many. */
static bool place(json_t *o, const qkv_config *c, const char *file, int *n, char *error) {
    const char *end = strrchr(file, '/');
    const data_option *k;
    *n = 0;
    for (int i = 0; (k = qkv_config_option_at(c, i)); i++) {
        const char *value = json_string_value(json_object_get(o, k->field));
        char dir[QKV_IO_PATH], path[QKV_IO_PATH];
        if (!value || !*value || k->kind != DATA_KIND_FILE) continue;
        ++*n;
        if (!end || *value == '/') continue;
        snprintf(dir, sizeof dir, "%.*s", end == file ? 1 : (int)(end - file), file);
        if (!qkv_io_path(path, dir, value, error)) return false;
        if (json_object_set_new(o, k->field, json_string(path)) != 0)
            return qkv_io_fail(error, "out of memory");
    }
    return true;
}

/* The checksum of the files of a variant, once they are read. */
static bool checksum_of(const char *json, const struct qkv_config_plugin *plugin, char *out,
                        size_t size, char *error) {
    qkv_config_parts parts = {.plugin = plugin, .json = json, .n = strlen(json)};
    qkv_config c;
    data_spec spec;
    if (qkv_config_make(&parts, &c, &spec, error) != QKV_CONFIG_OK) return false;
    data_release(&spec);
    const data_option *k = qkv_config_option_named(&c, "data-checksum");
    *out = '\0';
    if (k) qkv_config_get(&c, k, out, size);
    return true;
}

static bool find(qkv_study *s, qkv_study_variant *v, const char *file,
                 const struct qkv_config_plugin *plugin, char *error) {
    char checksum[QKV_CONFIG_TEXT_SIZE + 8], why[QKV_IO_ERROR];
    qkv_config c;
    int files = 0;
    json_t *o = json_loads(v->json, 0, NULL);
    const char *task = json_string_value(json_object_get(o, "task"));
    qkv_config_default(&c);
    qkv_config_use_plugin(&c, plugin);
    bool ok = o != NULL || qkv_io_fail(error, "out of memory");
    if (ok && task && qkv_config_set(&c, qkv_config_option_named(&c, "task"), task, why) &&
        qkv_config_task(&c))
        ok = place(o, &c, file, &files, error);
    if (ok && files) {
        const char *placed = dumped(s, o);
        ok = placed ? checksum_of(placed, plugin, checksum, sizeof checksum, error)
                    : qkv_io_fail(error, "out of memory");
        if (ok) {
            const data_option *k = qkv_config_option_named(&c, "data-checksum");
            if (k) json_object_set_new(o, k->field, json_string(checksum));
            v->json = dumped(s, o);
            // the same files elsewhere are the same set-up, others in their place are not
            v->key = qkv_io_crc32(v->key, checksum, strlen(checksum));
            ok = v->json != NULL || qkv_io_fail(error, "out of memory");
        }
    }
    json_decref(o);
    return ok;
}

bool qkv_study_find_data(qkv_study *s, const char *file, const struct qkv_config_plugin *plugin,
                         char *error) {
    if (!QKV_IO_GIVEN(error, s, file)) return false;
    char why[QKV_IO_ERROR];
    for (int i = 0; i < s->n_variants; i++)
        if (!find(s, &s->variant[i], file, plugin, why))
            return qkv_io_fail(error, "the variant '%.60s': %.400s", s->variant[i].name, why);
    return true;
}
