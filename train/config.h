/* config.h - one flat struct that says everything about a run; generated from config.def.
 *
 * The same table serves the command line, config.json and the help. What does not change a result
 * (threads, where files go) is no part of it. */
#ifndef TRAIN_CONFIG_H
#define TRAIN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "data/data.h"
#include "layers/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TRAIN_TEXT = 128, TRAIN_ERROR = 512 };

typedef struct {
#define SECTION(title)
#define TEXT(field, option, def, argument, help)                  char field[TRAIN_TEXT];
#define INT(field, option, def, least, greatest, argument, help)  int field;
#define REAL(field, option, def, least, greatest, argument, help) double field;
#define CHOICE(field, option, def, choices, help)                 int field;
#define FLAG(field, option, def, help)                            bool field;
#include "train/config.def"
    const struct train_plugin
        *plugin;  // where tasks and blocks are looked up beside the built-in ones; may be NULL
#undef SECTION
#undef TEXT
#undef INT
#undef REAL
#undef CHOICE
#undef FLAG
} train_config;

enum { TRAIN_SGD, TRAIN_ADAM, TRAIN_ADAMW };
enum { TRAIN_CONSTANT, TRAIN_COSINE };
enum {
    TRAIN_ARCH_TASK,
    TRAIN_ARCH_DECODER,
    TRAIN_ARCH_ENCODER,
    TRAIN_ARCH_CROSS,
    TRAIN_ARCH_ENCODER_DECODER
};
enum { TRAIN_MASK_TASK, TRAIN_MASK_CAUSAL, TRAIN_MASK_FULL, TRAIN_MASK_MEMORY };

typedef enum {
    TRAIN_OPT_SECTION,
    TRAIN_OPT_TEXT,
    TRAIN_OPT_INT,
    TRAIN_OPT_REAL,
    TRAIN_OPT_CHOICE,
    TRAIN_OPT_FLAG
} train_kind;

typedef struct {
    train_kind kind;
    const char *field, *option;  // "d_model", "d-model"; a section's title is its option
    const char *def;             // the default as text
    const char *argument, *choices, *help;
    double least, greatest;
    size_t offset;  // of the field in train_config
} train_option;

extern const train_option train_options[];  // in the order of config.def; a NULL option ends it
const train_option *train_option_find(const char *field);

void train_config_default(train_config *c);

/* Sets one field from text, as given on a command line: numbers are read whole, in range, whatever
 * the locale. False with a sentence ("10abc is not a whole number") in error, which has room for
 * TRAIN_ERROR. */
bool train_config_set(train_config *c, const train_option *o, const char *text, char *error);

/* One field as text, such that train_config_set() gives the same bits; returns out, of size
 * `size`. */
char *train_config_get(const train_config *c, const train_option *o, char *out, size_t size);

/* Sets what the task recommends (its layers, width ...), to be called before the user's own
 * choices. */
bool train_config_recommend(train_config *c, char *error);

/* Checks what belongs together, replaces every "0: ..." by what it stands for, and describes the
 * task. */
bool train_config_resolve(train_config *c, data_spec *spec, char *error);

/* The task and the block of that name, the plugin's first; NULL if there is none. */
const data_task *train_find_task(const train_config *c);
nn_block_fn *train_find_block(const train_config *c);

/* The model's part of a resolved configuration, for nn_model(). */
nn_model_config train_model_config(const train_config *c, const data_spec *spec);

/* config.json: every option, then version, precision, compiler and flags. The result is malloc'd;
 * NULL: out of memory. Reading changes only fields that are named; an unknown name or a wrong type
 * is an error. */
char *train_config_to_json(const train_config *c);
bool train_config_from_json(train_config *c, const char *text, size_t n, char *error);

#ifdef __cplusplus
}
#endif
#endif
