/* make.c - the one way to a resolved configuration. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/config/config.h"
#include "train/io/number.h"

static const qkv_config_option *option_of(const char *name) {
    for (const qkv_config_option *o = qkv_config_options; o->option; o++)
        if (o->kind != QKV_CONFIG_SECTION &&
            (strcmp(o->option, name) == 0 || strcmp(o->field, name) == 0))
            return o;
    return NULL;
}

static bool apply(qkv_config *c, const qkv_config_setting *s, char *error) {
    char why[QKV_IO_ERROR];
    const qkv_config_option *o = option_of(s->name);
    bool negated = !o && strncmp(s->name, "no-", 3) == 0;
    if (negated) o = option_of(s->name + 3);
    if (!o || (negated && o->kind != QKV_CONFIG_FLAG))
        return qkv_io_fail(error, "there is no option --%.60s", s->name);
    const char *value = negated ? "false" : s->value ? s->value : "true";
    return qkv_config_set(c, o, value, why) ||
           qkv_io_fail(error, "--%s: %.400s", negated ? s->name : o->option, why);
}

/* The task that the JSON names, if it names one. */
static bool name_task(qkv_config *c, const qkv_config_parts *p, char *error) {
    json_t *root = p->json ? json_loadb(p->json, p->n, 0, NULL) : NULL;
    const char *task = json_string_value(json_object_get(root, "task"));
    char why[QKV_IO_ERROR];
    bool ok = !task || qkv_config_set(c, option_of("task"), task, why) ||
              qkv_io_fail(error, "'task': %.400s", why);
    json_decref(root);
    return ok;
}

/* Does every option stand in it? One that is missing would silently have its default. */
static bool is_whole(const qkv_config_parts *p, char *error) {
    json_t *root = json_loadb(p->json, p->n, 0, NULL);
    const char *missing = NULL;
    for (const qkv_config_option *o = qkv_config_options; o->option && !missing; o++)
        if (o->kind != QKV_CONFIG_SECTION && !json_object_get(root, o->field)) missing = o->field;
    json_decref(root);
    return !missing || qkv_io_fail(error, "it lacks '%s'", missing);
}

qkv_config_status qkv_config_make(const qkv_config_parts *p, qkv_config *c, data_spec *spec,
                                  char *error) {
    qkv_config_default(c);
    c->plugin = p->plugin;
    if (!name_task(c, p, error)) return QKV_CONFIG_BAD_JSON;
    for (int i = 0; i < p->n_given; i++)
        if (strcmp(p->given[i].name, "task") == 0 && !apply(c, &p->given[i], error))
            return QKV_CONFIG_BAD_OPTION;
    if (qkv_config_task(c) && !qkv_config_recommend(c, error)) return QKV_CONFIG_UNFIT;
    if (p->json && !qkv_config_from_json(c, p->json, p->n, error)) return QKV_CONFIG_BAD_JSON;
    if (p->json && p->whole && !is_whole(p, error)) return QKV_CONFIG_BAD_JSON;
    for (int i = 0; i < p->n_given; i++)
        if (!apply(c, &p->given[i], error)) return QKV_CONFIG_BAD_OPTION;
    if (!qkv_config_task(c)) {
        qkv_config_resolve(c, spec, error);  // says so
        return QKV_CONFIG_NO_TASK;
    }
    return qkv_config_resolve(c, spec, error) ? QKV_CONFIG_OK : QKV_CONFIG_UNFIT;
}

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
