/* members.c - what a study's JSON objects have, checked one member at a time. */
#include "train/study/members.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *qkv_study_member_copy(qkv_study *s, const char *text) {
    size_t n = strlen(text) + 1;
    char *p = tensor_arena_take(s->arena, n, 1);
    return p ? qkv_io_printable(text, p, n) : NULL;  // it will be printed
}

void *qkv_study_member_take(qkv_study *s, size_t n, size_t size, char *error) {
    void *p = tensor_arena_take(s->arena, n, size);
    if (!p) qkv_io_fail(error, "out of memory");
    return p;
}

const char *qkv_study_member_text(qkv_study *s, json_t *o, const char *key, const char *otherwise,
                                  char *error) {
    json_t *v = json_object_get(o, key);
    if (!v && otherwise) return otherwise;
    const char *text = json_is_string(v) ? qkv_study_member_copy(s, json_string_value(v)) : NULL;
    if (!text) qkv_io_fail(error, "'%s' must be a text", key);
    return text;
}

bool qkv_study_member_list(json_t *o, const char *key, json_t **list, char *error) {
    *list = json_object_get(o, key);
    if (*list && !json_is_array(*list)) return qkv_io_fail(error, "'%s' must be a list", key);
    return true;
}

bool qkv_study_member_object(json_t *o, const char *where, const char *const *names, char *error) {
    const char *key;
    json_t *value;
    if (!json_is_object(o)) return qkv_io_fail(error, "%s must be an object", where);
    json_object_foreach(o, key, value) {
        bool found = false;
        for (int i = 0; names[i]; i++) found |= strcmp(names[i], key) == 0;
        if (!found) return qkv_io_fail(error, "%s has no member '%.60s'", where, key);
    }
    return true;
}

bool qkv_study_member_listed(json_t *list, const char *name) {
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v) {
        if (json_is_string(v) && strcmp(json_string_value(v), name) == 0) return true;
    }
    return false;
}

bool qkv_study_member_shown(qkv_study *s, json_t *o, const char *key, qkv_study_shown **out, int *n,
                            char *error) {
    static const char *const members[] = {"measure", "as", "least", "most", NULL};
    json_t *list, *v;
    size_t i;
    if (!qkv_study_member_list(o, key, &list, error)) return false;
    if (!(*out = qkv_study_member_take(s, json_array_size(list), sizeof **out, error)))
        return false;
    json_array_foreach(list, i, v) {
        qkv_study_shown *one = &(*out)[(*n)++];
        if (json_is_string(v)) {
            one->measure = one->as = qkv_study_member_copy(s, json_string_value(v));
            if (!one->measure) return qkv_io_fail(error, "out of memory");
            continue;
        }
        if (!qkv_study_member_object(v, "a measure that is no text", members, error)) return false;
        if (!(one->measure = qkv_study_member_text(s, v, "measure", NULL, error))) return false;
        if (!(one->as = qkv_study_member_text(s, v, "as", one->measure, error))) return false;
        one->counted = json_object_get(v, "least") || json_object_get(v, "most");
        if (!qkv_study_member_limit(v, "least", -(double)INFINITY, &one->least, error) ||
            !qkv_study_member_limit(v, "most", (double)INFINITY, &one->most, error))
            return false;
        if (one->least > one->most)
            return qkv_io_fail(error, "the measure '%.60s' has a 'least' above its 'most'",
                               one->measure);
    }
    return true;
}

bool qkv_study_member_number(json_t *o, const char *key, int least, int otherwise, int *out,
                             char *error) {
    json_t *v = json_object_get(o, key);
    json_int_t x = v ? json_integer_value(v) : otherwise;
    *out = (int)x;
    if ((!v || json_is_integer(v)) && x >= least && x <= 100000) return true;
    qkv_io_fail(error, "'%s' must be a whole number from %d to 100000", key, least);
    return false;
}

bool qkv_study_member_limit(json_t *o, const char *key, double otherwise, double *out,
                            char *error) {
    json_t *v = json_object_get(o, key);
    *out = v ? json_number_value(v) : otherwise;
    return !v || json_is_number(v) || qkv_io_fail(error, "'%s' must be a number", key);
}
