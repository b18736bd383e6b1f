/* members.c - what a study's JSON objects have, checked one member at a time. */
#include "train/study/members.h"

#include <stdio.h>
#include <string.h>

bool train_study_refuse(char *error, const char *format, const char *what) {
    snprintf(error, TRAIN_ERROR, format, what);
    return false;
}

const char *train_member_copy(train_study *s, const char *text) {
    size_t n = strlen(text) + 1;
    char *p = tensor_arena_take(s->arena, n, 1);
    return p ? train_printable(text, p, n) : NULL;  // it will be printed
}

void *train_member_take(train_study *s, size_t n, size_t size, char *error) {
    void *p = tensor_arena_take(s->arena, n, size);
    if (!p) train_study_refuse(error, "%s", "out of memory");
    return p;
}

const char *train_member_text(train_study *s, json_t *o, const char *key, const char *otherwise,
                              char *error) {
    json_t *v = json_object_get(o, key);
    if (!v && otherwise) return otherwise;
    const char *text = json_is_string(v) ? train_member_copy(s, json_string_value(v)) : NULL;
    if (!text) train_study_refuse(error, "'%s' must be a text", key);
    return text;
}

bool train_member_list(json_t *o, const char *key, json_t **list, char *error) {
    *list = json_object_get(o, key);
    if (*list && !json_is_array(*list))
        return train_study_refuse(error, "'%s' must be a list", key);
    return true;
}

bool train_member_object(json_t *o, const char *where, const char *const *names, char *error) {
    const char *key;
    json_t *value;
    if (!json_is_object(o)) return train_study_refuse(error, "%s must be an object", where);
    json_object_foreach (o, key, value) {
        bool found = false;
        for (int i = 0; names[i]; i++) found |= strcmp(names[i], key) == 0;
        if (!found)
            return snprintf(error, TRAIN_ERROR, "%s has no member '%.60s'", where, key), false;
    }
    return true;
}

bool train_member_listed(json_t *list, const char *name) {
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v) {
        if (json_is_string(v) && strcmp(json_string_value(v), name) == 0) return true;
    }
    return false;
}

bool train_member_shown(train_study *s, json_t *o, const char *key, train_shown **out, int *n,
                        char *error) {
    static const char *const members[] = {"measure", "as", NULL};
    json_t *list, *v;
    size_t i;
    if (!train_member_list(o, key, &list, error)) return false;
    if (!(*out = train_member_take(s, json_array_size(list), sizeof **out, error))) return false;
    json_array_foreach(list, i, v) {
        train_shown *one = &(*out)[(*n)++];
        if (json_is_string(v)) {
            one->measure = one->as = train_member_copy(s, json_string_value(v));
            if (!one->measure) return train_study_refuse(error, "%s", "out of memory");
            continue;
        }
        if (!train_member_object(v, "a measure that is no text", members, error)) return false;
        if (!(one->measure = train_member_text(s, v, "measure", NULL, error))) return false;
        if (!(one->as = train_member_text(s, v, "as", one->measure, error))) return false;
    }
    return true;
}

bool train_member_number(json_t *o, const char *key, int least, int otherwise, int *out,
                         char *error) {
    json_t *v = json_object_get(o, key);
    json_int_t x = v ? json_integer_value(v) : otherwise;
    *out = (int)x;
    if ((!v || json_is_integer(v)) && x >= least && x <= 100000) return true;
    snprintf(error, TRAIN_ERROR, "'%s' must be a whole number from %d to 100000", key, least);
    return false;
}

bool train_member_limit(json_t *o, const char *key, double otherwise, double *out, char *error) {
    json_t *v = json_object_get(o, key);
    *out = v ? json_number_value(v) : otherwise;
    return !v || json_is_number(v) || train_study_refuse(error, "'%s' must be a number", key);
}
