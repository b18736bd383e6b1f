/* needs.c - has an option an effect? What it needs stands in its line of a table, as words that all
 * must hold:
 *
 *     optimizer=adam|adamw     that option has one of these values
 *     d_ff                     it is not 0
 *     rotary:self_attention    where this option is "rotary": something that follows from others */
#include <stdio.h>
#include <string.h>

#include "train/config/config.h"
#include "train/io/given.h"

/* What follows from the configuration and the task. */
static bool has_self_attention(const qkv_config *c, const data_spec *s) {
    return qkv_config_model(c, s).self_attention;
}
static bool has_several_readouts(const qkv_config *c, const data_spec *s) {
    (void)c;
    return s->n_readouts > 1;
}

/* Blocks of one's own may read all that the transformer's does. */
static bool has_all_of_a_block(const qkv_config *c, const data_spec *s) {
    (void)s;
    for (const nn_block_kind *k = nn_block_kinds; k->name; k++)
        if (strcmp(k->name, c->block) == 0) return k->block == nn_block;
    return true;
}
static bool has_scores(const qkv_config *c, const data_spec *s) {
    return qkv_config_model(c, s).attention.scale != NN_SCALE_ZERO;
}
/* Are two of the projections one matrix? */
static bool has_tied(const qkv_config *c, const data_spec *s) {
    const nn_model_config m = qkv_config_model(c, s);
    const char *q = nn_attention_matrix(&m.attention, 'q'),
               *k = nn_attention_matrix(&m.attention, 'k'),
               *v = nn_attention_matrix(&m.attention, 'v');
    return (k && q && strcmp(k, q) == 0) || (v && q && strcmp(v, q) == 0) ||
           (v && k && strcmp(v, k) == 0);
}

static const struct {
    const char *name, *words;
    bool (*holds)(const qkv_config *c, const data_spec *s);
} facts[] = {
    {"self_attention", "attention within the sequence, which this model does not have",
     has_self_attention},
    {"several_readouts", "tasks with several answers; this one has one", has_several_readouts},
    {"whole_block", "--block transformer (or a block of one's own): this one has no such part",
     has_all_of_a_block},
    {"scores", "scores, and with --scale zero there are none", has_scores},
    {"tied", "projections that there are: without them nothing is one matrix", has_tied}};

static bool is_one_of(const char *value, const char *words) {
    return data_choice_index(words, value) >= 0;
}

/* "--optimizer sgd or --optimizer adam" is said as "--optimizer sgd|adam". */
static bool option_holds(const qkv_config *c, const char *option, const char *need, char *error) {
    char field[32], value[QKV_CONFIG_TEXT_SIZE + 64];
    const char *words = strchr(need, '=');
    snprintf(field, sizeof field, "%.*s", (int)strcspn(need, "="), need);
    const data_option *o = qkv_config_option_find(c, field);
    if (!o) return qkv_io_fail(error, "--%s needs '%s', which is no option", option, field);
    qkv_config_get(c, o, value, sizeof value);
    if (words                       ? is_one_of(value, words + 1)
        : o->kind == DATA_KIND_TEXT ? *value != '\0'
                                    : qkv_config_number(c, o) != 0)
        return true;
    return qkv_io_fail(error, "--%s belongs to --%s%s%s, which is %s here", option, o->option,
                       words ? " " : "", words ? words + 1 : "", *value ? value : "not given");
}

static bool holds(const qkv_config *c, const data_spec *s, const data_option *of, const char *need,
                  char *error) {
    char value[QKV_CONFIG_TEXT_SIZE + 64];
    const char *colon = strchr(need, ':');
    qkv_config_get(c, of, value, sizeof value);
    if (colon && (strncmp(value, need, (size_t)(colon - need)) != 0 || value[colon - need]))
        return true;
    if (colon) need = colon + 1;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strcmp(facts[i].name, need) == 0)
            return facts[i].holds(c, s) ||
                   qkv_io_fail(error, "--%s%s%s belongs to %s", of->option, colon ? " " : "",
                               colon ? value : "", facts[i].words);
    return option_holds(c, of->option, need, error);
}

bool qkv_config_is_used(const qkv_config *c, const data_spec *s, const data_option *o,
                        char *error) {
    if (!QKV_IO_GIVEN(error, c, s, o)) return false;
    char list[160], *rest = NULL;
    snprintf(list, sizeof list, "%s", o->needs ? o->needs : "");
    for (char *need = strtok_r(list, " ", &rest); need; need = strtok_r(NULL, " ", &rest))
        if (!holds(c, s, o, need, error)) return false;
    return true;
}
