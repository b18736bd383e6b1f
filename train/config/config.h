/* config.h - one flat struct that says everything about a run; generated from config.def, and with
 * the options that the task declares itself.
 *
 * The same tables serve the command line, config.json and the help. What does not change a result
 * (threads, where files go) is no part of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "data/data.h"
#include "layers/nn.h"
#include "train/io/io.h"
#include "train/optim/optimizer.h"

TENSOR_C_BEGIN

enum { QKV_CONFIG_TEXT_SIZE = 1024 };  // paths, too

typedef struct {
#define SECTION(title)
#define TEXT(field, ...)   char field[QKV_CONFIG_TEXT_SIZE];
#define INT(field, ...)    int field;
#define REAL(field, ...)   double field;
#define CHOICE(field, ...) int field;
#define FLAG(field, ...)   bool field;
#include "train/config/config.def"
#undef SECTION
#undef TEXT
#undef INT
#undef REAL
#undef CHOICE
#undef FLAG
    data_options of_task;  // what the task's own table describes

    /* Where tasks and blocks are looked up beside the built-in ones; may be NULL. */
    const struct qkv_config_plugin *plugin;
} qkv_config;

#define QKV_CONFIG_ARCHS(X)               \
    X(QKV_CONFIG_ARCH_TASK, "task")       \
    X(QKV_CONFIG_ARCH_DECODER, "decoder") \
    X(QKV_CONFIG_ARCH_ENCODER, "encoder") \
    X(QKV_CONFIG_ARCH_CROSS, "cross")     \
    X(QKV_CONFIG_ARCH_ENCODER_DECODER, "encoder-decoder")
enum { QKV_CONFIG_ARCHS(TENSOR_CONSTANT) };

#define QKV_CONFIG_MASKS(X)             \
    X(QKV_CONFIG_MASK_TASK, "task")     \
    X(QKV_CONFIG_MASK_CAUSAL, "causal") \
    X(QKV_CONFIG_MASK_FULL, "full")     \
    X(QKV_CONFIG_MASK_MEMORY, "memory")
enum { QKV_CONFIG_MASKS(TENSOR_CONSTANT) };

#define QKV_CONFIG_INITS(X) \
    X(QKV_CONFIG_INIT_NORMAL, "normal") X(QKV_CONFIG_INIT_UNIFORM, "uniform")
enum { QKV_CONFIG_INITS(TENSOR_CONSTANT) };

extern const data_option qkv_config_options[];  // in the order of config.def; a NULL option ends it

/* The i-th option of this configuration: those of config.def, the task's own after "task". NULL
 * after the last. The line for a field ("d_model"), or for its option ("d-model"); NULL: it has
 * none such. */
const data_option *qkv_config_option_at(const qkv_config *c, int i);
const data_option *qkv_config_option_find(const qkv_config *c, const char *field);
const data_option *qkv_config_option_named(const qkv_config *c, const char *option);

/* Every default, and the built-in tasks. */
void qkv_config_default(qkv_config *c);

/* A plugin's tasks and blocks are known from here on; the options of the task are at their
 * defaults. */
void qkv_config_use_plugin(qkv_config *c, const struct qkv_config_plugin *plugin);

/* Sets one field from text, as given on a command line: numbers are read whole, in range, whatever
 * the locale. Another task begins with its options at their defaults. False with a sentence ("10abc
 * is not a whole number") in error, which has room for QKV_IO_ERROR. */
bool qkv_config_set(qkv_config *c, const data_option *o, const char *text, char *error);

/* Sets a number, a flag or a choice (its index) by the field's name; false if it is out of range, or
 * there is none such. */
bool qkv_config_choose(qkv_config *c, const char *field, double x);

/* Gives one field its default. */
void qkv_config_reset(qkv_config *c, const data_option *o);

/* The number, the index of a choice or the flag that a field holds; 0 for a text. */
double qkv_config_number(const qkv_config *c, const data_option *o);

/* One field as text, such that qkv_config_set() gives the same bits; returns out, of size
 * `size`. */
char *qkv_config_get(const qkv_config *c, const data_option *o, char *out, size_t size);

/* A sentence for a field or option that this configuration lacks: whose it is, and what the task has
 * instead; and one for a task that nobody has. Return false. */
bool qkv_config_unknown(const qkv_config *c, const char *name, char *error);
bool qkv_config_no_task(const qkv_config *c, char *error);

/* Sets what the task recommends (its layers, width ...), to be called before the user's own
 * choices. */
bool qkv_config_recommend(qkv_config *c, char *error);

/* What the task recommends and this configuration has, as options: "--layers 2 --no-residual".
 * Returns out. */
enum { QKV_CONFIG_RECOMMENDED = 512 };
char *qkv_config_recommended(const qkv_config *c, char out[QKV_CONFIG_RECOMMENDED]);

/* Checks what belongs together, replaces every "0: ..." by what it stands for, and describes the
 * task; data_release() what it describes. */
bool qkv_config_resolve(qkv_config *c, data_spec *spec, char *error);

/* An option as given: its name as on a command line ("d-model", "no-bias"), or its field's; value
 * NULL for flags. */
typedef struct {
    const char *name, *value;
} qkv_config_setting;

/* What a configuration is made of. */
typedef struct {
    const struct qkv_config_plugin *plugin;  // may be NULL
    const char *json;                        // a config.json or a part of one; NULL: none
    size_t n;
    bool whole;  // it is a run's: every option must stand in it
    const qkv_config_setting *given;
    int n_given;
} qkv_config_parts;

typedef enum {
    QKV_CONFIG_OK,
    QKV_CONFIG_BAD_JSON,    // the JSON is no configuration
    QKV_CONFIG_BAD_OPTION,  // one of the settings is wrong: "--lr: ..."
    QKV_CONFIG_NO_TASK,     // there is no task, or no block, of that name
    QKV_CONFIG_NO_BLOCK,
    QKV_CONFIG_UNFIT  // they do not belong together
} qkv_config_status;

/* The one way to a resolved configuration: the defaults; what the task recommends; the JSON; the
 * settings, in order. Other than QKV_CONFIG_OK: a sentence in error. */
qkv_config_status qkv_config_make(const qkv_config_parts *parts, qkv_config *c, data_spec *spec,
                                  char *error);

/* Was this config.json written by a program built as this one: version, precision, compiler, flags?
 */
bool qkv_config_same_build(const char *json, size_t n);

/* By one whose engine gives the same bits, on the same processor (QKV_NUMBERS)? True of what is no JSON
 * object, too: qkv_config_from_json() says what that is. */
bool qkv_config_same_numbers(const char *json, size_t n);

/* Where --from says the first step is: the N of "RUN@N", or 0. The length of RUN in *length. */
int qkv_config_from_step(const char *from, size_t *length);

/* Is it a file of weights, not a run: does its name end in .safetensors? */
bool qkv_config_from_is_file(const char *from);

/* Has the option an effect in a resolved configuration? If not, error says what it belongs to. */
bool qkv_config_is_used(const qkv_config *c, const data_spec *s, const data_option *o, char *error);

/* The task and the block of that name, the plugin's first; NULL if there is none. The i-th task that
 * can be named, a plugin's first; NULL after the last. */
const data_task *qkv_config_task(const qkv_config *c);
const data_task *qkv_config_task_at(const struct qkv_config_plugin *plugin, int i);
nn_block_fn *qkv_config_block(const qkv_config *c);

/* The optimiser's part. */
qkv_optim_settings qkv_config_optim(const qkv_config *c);

/* One part of a list (rates, gradients, hold ...): "NAME", "NAME=VALUE", and behind either "@A..B": in the
 * steps that lead from the state after A steps to that after B. */
typedef struct {
    char name[QKV_CONFIG_TEXT_SIZE];  // a pattern with *
    const char *value;                // behind the name, there; NULL: none
    int from, to;                     // -1: always
} qkv_config_part;

/* Takes the next part off the list. False: there is none and error is "", or it is malformed and error
 * says how. A part that was taken may not be moved. */
bool qkv_config_next_part(const char **list, qkv_config_part *out, char *error);

/* The model's part of a resolved configuration, for nn_model(). */
nn_model_config qkv_config_model(const qkv_config *c, const data_spec *spec);

/* config.json: every option, the task's too, then version, precision, compiler and flags. The result
 * is malloc'd; NULL: out of memory. Reading changes only fields that are named; an unknown name (one
 * of another task, too) or a wrong type is an error. */
char *qkv_config_to_json(const qkv_config *c);

/* What a run's config.json says beside its options, for it changes no result: how many steps lie between
 * checkpoints (0: none before the end), and how many of them stay. Written by the second function; read
 * by the third, which leaves alone what is not there, as in older ones. */
enum { QKV_CONFIG_SAVE_LOG = -1 };  // after 1, 2, 4, 8 ... steps
typedef struct {
    int every, keep;
} qkv_config_saving;
char *qkv_config_to_json_saving(const qkv_config *c, const qkv_config_saving *saving);
bool qkv_config_read_saving(const char *text, size_t n, qkv_config_saving *saving, char *error);
bool qkv_config_from_json(qkv_config *c, const char *text, size_t n, char *error);

/* Is it a name that config.json has beside the options? No task may have an option of that name. */
bool qkv_config_is_remark(const char *field);

/* Is it a JSON object at all? Asked where the task, a plugin's perhaps, does not matter. */
bool qkv_config_is_object(const char *text, size_t n, char *error);

TENSOR_C_END
