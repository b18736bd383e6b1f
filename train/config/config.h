/* config.h - one flat struct that says everything about a run; generated from config.def.
 *
 * The same table serves the command line, config.json and the help. What does not change a result
 * (threads, where files go) is no part of it. */
#ifndef QKV_CONFIG_CONFIG_H
#define QKV_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "data/data.h"
#include "layers/nn.h"
#include "train/io/io.h"
#include "train/optim/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { QKV_CONFIG_TEXT_SIZE = 128 };

typedef struct {
#define SECTION(title)
#define TEXT(field, option, def, argument, help)                  char field[QKV_CONFIG_TEXT_SIZE];
#define INT(field, option, def, least, greatest, argument, help)  int field;
#define REAL(field, option, def, least, greatest, argument, help) double field;
#define CHOICE(field, option, def, choices, help)                 int field;
#define FLAG(field, option, def, help)                            bool field;
#include "train/config/config.def"
    const struct qkv_config_plugin
        *plugin;  // where tasks and blocks are looked up beside the built-in ones; may be NULL
#undef SECTION
#undef TEXT
#undef INT
#undef REAL
#undef CHOICE
#undef FLAG
} qkv_config;

enum {
    QKV_CONFIG_ARCH_TASK,
    QKV_CONFIG_ARCH_DECODER,
    QKV_CONFIG_ARCH_ENCODER,
    QKV_CONFIG_ARCH_CROSS,
    QKV_CONFIG_ARCH_ENCODER_DECODER
};
enum { QKV_CONFIG_MASK_TASK, QKV_CONFIG_MASK_CAUSAL, QKV_CONFIG_MASK_FULL, QKV_CONFIG_MASK_MEMORY };

typedef enum {
    QKV_CONFIG_SECTION,
    QKV_CONFIG_TEXT,
    QKV_CONFIG_INT,
    QKV_CONFIG_REAL,
    QKV_CONFIG_CHOICE,
    QKV_CONFIG_FLAG
} qkv_config_kind;

typedef struct {
    qkv_config_kind kind;
    const char *field, *option;  // "d_model", "d-model"; a section's title is its option
    const char *def;             // the default as text
    const char *argument, *choices, *help;
    double least, greatest;
    size_t offset;  // of the field in qkv_config
} qkv_config_option;

extern const qkv_config_option
    qkv_config_options[];  // in the order of config.def; a NULL option ends it
const qkv_config_option *qkv_config_option_find(const char *field);

void qkv_config_default(qkv_config *c);

/* Sets one field from text, as given on a command line: numbers are read whole, in range, whatever
 * the locale. False with a sentence ("10abc is not a whole number") in error, which has room for
 * QKV_IO_ERROR. */
bool qkv_config_set(qkv_config *c, const qkv_config_option *o, const char *text, char *error);

/* One field as text, such that qkv_config_set() gives the same bits; returns out, of size
 * `size`. */
char *qkv_config_get(const qkv_config *c, const qkv_config_option *o, char *out, size_t size);

/* Sets what the task recommends (its layers, width ...), to be called before the user's own
 * choices. */
bool qkv_config_recommend(qkv_config *c, char *error);

/* Checks what belongs together, replaces every "0: ..." by what it stands for, and describes the
 * task. */
bool qkv_config_resolve(qkv_config *c, data_spec *spec, char *error);

/* The task and the block of that name, the plugin's first; NULL if there is none. */
const data_task *qkv_config_task(const qkv_config *c);
nn_block_fn *qkv_config_block(const qkv_config *c);

/* The optimiser's part. */
qkv_optim_settings qkv_config_optim(const qkv_config *c);

/* The factor that a list "PATTERN=X,PATTERN=X" (rates, gradients, gains) has for a parameter: the
 * last that fits, else 1. False with a sentence when the list is malformed. */
bool qkv_config_factor(const char *list, const char *name, double *factor, char *error);

/* The model's part of a resolved configuration, for nn_model(). */
nn_model_config qkv_config_model(const qkv_config *c, const data_spec *spec);

/* config.json: every option, then version, precision, compiler and flags. The result is malloc'd;
 * NULL: out of memory. Reading changes only fields that are named; an unknown name or a wrong type
 * is an error. */
char *qkv_config_to_json(const qkv_config *c);
bool qkv_config_from_json(qkv_config *c, const char *text, size_t n, char *error);

#ifdef __cplusplus
}
#endif
#endif
