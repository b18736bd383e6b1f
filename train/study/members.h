/* members.h - what a study's JSON objects have, checked one member at a time: for parse.c. Whatever
 * returns false or NULL leaves a sentence in error (QKV_IO_ERROR). */
#pragma once

#include <jansson.h>

#include "train/study/study.h"

/* In the study's memory: a copy of a text (NULL without a sentence), n zeroed elements. */
const char *qkv_study_member_copy(qkv_study *s, const char *text);
void *qkv_study_member_take(qkv_study *s, size_t n, size_t size, char *error);

/* Is it an object, with members of these names only? `where` says what it should be. */
bool qkv_study_member_object(json_t *o, const char *where, const char *const *names, char *error);

/* A text, or `otherwise`; NULL if it is no text or (otherwise NULL) missing. */
const char *qkv_study_member_text(qkv_study *s, json_t *o, const char *key, const char *otherwise,
                                  char *error);

/* A list, NULL where there is none; false if it is something else. Is the text in the list? */
bool qkv_study_member_list(json_t *o, const char *key, json_t **list, char *error);
bool qkv_study_member_listed(json_t *list, const char *name);

/* A list of measures, each a name or {"measure": name, "as": what people read}. */
bool qkv_study_member_shown(qkv_study *s, json_t *o, const char *key, qkv_study_shown **out, int *n,
                            char *error);

/* A whole number from `least` on; any number. `otherwise` where there is none. */
bool qkv_study_member_number(json_t *o, const char *key, int least, int otherwise, int *out,
                             char *error);
bool qkv_study_member_limit(json_t *o, const char *key, double otherwise, double *out, char *error);

/* The picture of a study whose variants are known: in parse_picture.c. */
bool qkv_study_parse_picture(qkv_study *s, json_t *root, char *error);
