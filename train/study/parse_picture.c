/* parse_picture.c - what a study says of its picture. */
#include <stdio.h>
#include <string.h>

#include "train/study/members.h"

static bool parse_picture_groups(qkv_study *s, json_t *p, char *error) {
    json_t *groups, *v;
    size_t i;
    if (!qkv_study_member_list(p, "groups", &groups, error)) return false;
    s->picture.group =
        qkv_study_member_take(s, json_array_size(groups), sizeof *s->picture.group, error);
    if (!s->picture.group) return false;
    json_array_foreach(groups, i, v) {
        bool known = false;
        for (int k = 0; k < s->n_variants; k++)
            known |= json_is_string(v) && (strcmp(s->variant[k].group, json_string_value(v)) == 0 ||
                                           strcmp(s->variant[k].name, json_string_value(v)) == 0);
        if (!known)
            return qkv_io_fail(error, "%s", "the picture shows a group or variant that is none");
        s->picture.group[s->picture.n_groups] = qkv_study_member_copy(s, json_string_value(v));
        if (!s->picture.group[s->picture.n_groups++]) return qkv_io_fail(error, "out of memory");
    }
    return true;
}

bool qkv_study_parse_picture(qkv_study *s, json_t *root, char *error) {
    static const char *const members[] = {"kind",  "measures", "x",    "x_label", "title",
                                          "label", "groups",   "axis", "seeds",   NULL};
    json_t *o = json_object_get(root, "picture");
    qkv_study_picture *p = &s->picture;
    *p = (qkv_study_picture){.kind = "", .x = "", .x_label = "", .title = "", .label = ""};
    if (!o) return true;
    if (!qkv_study_member_object(o, "the picture", members, error)) return false;
    p->kind = qkv_study_member_text(s, o, "kind", NULL, error);
    p->x = qkv_study_member_text(s, o, "x", "", error);
    p->x_label = p->x ? qkv_study_member_text(s, o, "x_label", p->x, error) : NULL;
    p->title = qkv_study_member_text(s, o, "title", "", error);
    p->label = qkv_study_member_text(s, o, "label", "", error);
    const char *axis = qkv_study_member_text(s, o, "axis", "", error);
    if (!p->kind || !p->x_label || !p->title || !p->label || !axis) return false;
    if (!qkv_study_member_shown(s, o, "measures", &p->shown, &p->n_shown, error)) return false;
    bool bars = strcmp(p->kind, "bars") == 0, lines = strcmp(p->kind, "lines") == 0;
    if (p->n_shown == 0 || !(bars || (lines && *p->x)))
        return qkv_io_fail(
            error, "%s", "a picture has measures and is of the kind 'bars', or 'lines' over an x");
    p->log = strcmp(axis, "log") == 0;
    if ((*axis && !p->log) || (p->log && lines))
        return qkv_io_fail(error, "the axis '%.60s' of a picture is none: bars may have 'log'",
                           axis);
    for (int i = 0; i < p->n_shown; i++)
        if (p->shown[i].counted)
            return qkv_io_fail(error, "%s",
                               "a picture's measures have no 'least' or 'most': columns count, and "
                               "bands judge");
    p->seeds = json_is_true(json_object_get(o, "seeds"));
    if (json_object_get(o, "seeds") && !(p->seeds && lines))
        return qkv_io_fail(error, "%s", "'seeds' of a picture can be true, of lines");
    return parse_picture_groups(s, o, error);
}
