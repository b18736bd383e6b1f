/* make.c - the one way to a resolved configuration. */
#include <stdio.h>
#include <string.h>

#include "train/config/config.h"
#include "train/io/given.h"
#include "train/io/json.h"

static bool apply(qkv_config *c, const qkv_config_setting *s, char *error) {
    char why[QKV_IO_ERROR];
    if (!s->name) return qkv_io_fail(error, "an option has no name");
    bool negated = strncmp(s->name, "no-", 3) == 0;
    const char *name = negated ? s->name + 3 : s->name;
    const data_option *o = qkv_config_option_named(c, name);
    if (!o) return qkv_config_unknown(c, name, error);
    const char *value = s->value;
    if (o->kind == DATA_KIND_FLAG) value = negated ? "false" : "true";
    if (!value) return qkv_io_fail(error, "--%s: needs a value", s->name);
    return qkv_config_set(c, o, value, why) || qkv_io_fail(error, "--%s: %.400s", s->name, why);
}

/* What the JSON says; NULL if there is none. qkv_config_from_json() says what is wrong with it. */
static const qkv_io_json *read(tensor_arena *arena, const qkv_config_parts *p) {
    char why[QKV_IO_ERROR];
    const qkv_io_json *root = NULL;
    return p->json && qkv_io_json_read(arena, p->json, p->n, &root, why) == QKV_IO_OK ? root : NULL;
}

/* The task that is given, or else named by the JSON: it decides which options there are. */
static bool name_task(qkv_config *c, const qkv_config_parts *p, char *error) {
    tensor_arena *arena = tensor_arena_new(NULL);
    const char *task = qkv_io_json_string(qkv_io_json_get(read(arena, p), "task"));
    char why[QKV_IO_ERROR];
    bool ok = !task || qkv_config_set(c, qkv_config_option_named(c, "task"), task, why) ||
              qkv_io_fail(error, "'task': %.400s", why);
    tensor_arena_free(arena);
    return ok;
}

/* The options that were given: the task, or all others. */
static bool apply_given(qkv_config *c, const qkv_config_parts *p, bool task, char *error) {
    for (int i = 0; i < p->n_given; i++)
        if ((p->given[i].name && strcmp(p->given[i].name, "task") == 0) == task &&
            !apply(c, &p->given[i], error))
            return false;
    return true;
}

/* Does every option stand in it? One that is missing would silently have its default. */
static bool is_whole(const qkv_config *c, const qkv_config_parts *p, char *error) {
    tensor_arena *arena = tensor_arena_new(NULL);
    const qkv_io_json *root = read(arena, p);
    const char *missing = NULL;
    const data_option *o;
    for (int i = 0; (o = qkv_config_option_at(c, i)) && !missing; i++)
        if (o->kind != DATA_KIND_SECTION && !qkv_io_json_get(root, o->field)) missing = o->field;
    tensor_arena_free(arena);
    return !missing || qkv_io_fail(error, "it lacks '%s'", missing);
}

qkv_config_status qkv_config_make(const qkv_config_parts *parts, qkv_config *c, data_spec *spec,
                                  char *error) {
    if (!QKV_IO_GIVEN(error, parts, c, spec) ||
        (parts->n_given > 0 && !QKV_IO_GIVEN(error, parts->given)))
        return QKV_CONFIG_UNFIT;
    qkv_config_parts behind_mark = *parts, *p = &behind_mark;
    if (p->json) qkv_io_begin_text(&p->json, &p->n);
    qkv_config_default(c);
    qkv_config_use_plugin(c, p->plugin);
    if (!name_task(c, p, error)) return QKV_CONFIG_BAD_JSON;
    if (!apply_given(c, p, true, error)) return QKV_CONFIG_BAD_OPTION;
    if (!qkv_config_task(c)) return qkv_config_no_task(c, error), QKV_CONFIG_NO_TASK;
    if (!qkv_config_recommend(c, error)) return QKV_CONFIG_UNFIT;
    if (p->json && !qkv_config_from_json(c, p->json, p->n, error)) return QKV_CONFIG_BAD_JSON;
    if (p->json && p->whole && !is_whole(c, p, error)) return QKV_CONFIG_BAD_JSON;
    if (!apply_given(c, p, true, error) || !apply_given(c, p, false, error))
        return QKV_CONFIG_BAD_OPTION;
    bool block = qkv_config_block(c) != NULL;
    if (qkv_config_resolve(c, spec, error)) return QKV_CONFIG_OK;
    return block ? QKV_CONFIG_UNFIT : QKV_CONFIG_NO_BLOCK;
}
