/* option.h - what can be chosen, described: of a task in its own file, of a run in
 * train/config/config.def. The command line, config.json, the help, the completion and what a
 * task recommends are loops over such tables.
 *
 * The values stand in a struct of the owner's:
 *
 *     typedef struct { int pairs; bool hold_out; } options;
 *     static const data_option table[] = {
 *         DATA_INT(options, pairs, "pairs", 8, 1, 4096, "stored pairs"),
 *         DATA_FLAG(options, hold_out, "hold-out", false, "some combinations never in training"),
 *         DATA_END};
 *
 * A table may be NULL: it is empty; a name that is NULL is found nowhere. Nothing else may be.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tensor/choice.h"
#include "tensor/linkage.h"

TENSOR_C_BEGIN

/* The bytes of a text; those of all options of a task; and how many these may be. */
enum { DATA_TEXT_SIZE = 256, DATA_OPTIONS_SIZE = 1024, DATA_MAXOPTIONS = 16 };

typedef enum {
    DATA_KIND_SECTION,  // a heading, in config.def only
    DATA_KIND_TEXT,     // char[]
    DATA_KIND_INT,      // int
    DATA_KIND_REAL,     // double
    DATA_KIND_CHOICE,   // int: the index of the word
    DATA_KIND_FLAG,     // bool: --option and --no-option
    DATA_KIND_FILE      // char[]: the path of a file, which may move
} data_kind;

typedef struct {
    data_kind kind;
    const char *field, *option;  // "d_model" in config.json, "d-model" (or a title) elsewhere
    const char *def;             // the default of a text or a choice
    double number;               // the default of a number or a flag
    const char *argument;        // what the help calls the value
    const char *choices;         // "first|second|..."
    double least, greatest;      // of a number; of a text greatest is its bytes, the 0 included
    size_t offset;               // of the field in the struct
    bool of_task;
    const char *help;
    const char *needs;  // without which it has no effect ("optimizer=adam|adamw", "d_ff"), or NULL
} data_option;

/* The lines of a task's table; the compiler checks that the field has the kind's type. */
#define DATA_FIELD(type, member, c_type, name)         \
    .field = #member, .option = name, .of_task = true, \
    .offset = offsetof(type, member) + _Generic(((type *)0)->member, c_type : 0U)
#define DATA_INT(type, member, name, def_, least_, greatest_, help_)                \
    {                                                                               \
        .kind = DATA_KIND_INT, DATA_FIELD(type, member, int, name), .number = def_, \
        .argument = "N", .least = least_, .greatest = greatest_, .help = help_      \
    }
#define DATA_REAL(type, member, name, def_, least_, greatest_, help_)                   \
    {                                                                                   \
        .kind = DATA_KIND_REAL, DATA_FIELD(type, member, double, name), .number = def_, \
        .argument = "X", .least = least_, .greatest = greatest_, .help = help_          \
    }
#define DATA_CHOICE(type, member, name, def_, choices_, help_)                      \
    {                                                                               \
        .kind = DATA_KIND_CHOICE, DATA_FIELD(type, member, int, name), .def = def_, \
        .argument = choices_, .choices = choices_, .help = help_                    \
    }
#define DATA_FLAG(type, member, name, def_, help_)                                    \
    {                                                                                 \
        .kind = DATA_KIND_FLAG, DATA_FIELD(type, member, bool, name), .number = def_, \
        .argument = "", .help = help_                                                 \
    }
#define DATA_TEXT(type, member, name, def_, argument_, help_)                         \
    {                                                                                 \
        .kind = DATA_KIND_TEXT, DATA_FIELD(type, member, char *, name), .def = def_,  \
        .argument = argument_, .greatest = sizeof(((type *)0)->member), .help = help_ \
    }
#define DATA_FILE(type, member, name, def_, help_)                                   \
    {                                                                                \
        .kind = DATA_KIND_FILE, DATA_FIELD(type, member, char *, name), .def = def_, \
        .argument = "FILE", .greatest = sizeof(((type *)0)->member), .help = help_   \
    }
#define DATA_END \
    { .option = NULL }

/* The values of a task's options: the bytes of its struct. */
typedef union {
    unsigned char byte[DATA_OPTIONS_SIZE];
    double aligned;
    void *aligned_too;
} data_options;

/* The line for a field ("hold_out"), or NULL. A table may be NULL: it is empty. */
const data_option *data_option_find(const data_option *table, const char *field);

/* The index of a word in "first|second|..."; -1 if it is none of them. */
int data_choice_index(const char *choices, const char *word);

/* Gives one field, or those of a whole table, its default. */
void data_option_reset(const data_option *o, void *fields);
void data_options_reset(const data_option *table, data_options *options);

/* Sets a number, a choice (its index) or a flag; false if it is out of range, or there is no such
 * field. */
bool data_option_set(const data_option *o, void *fields, double x);
bool data_options_set(const data_option *table, data_options *options, const char *field, double x);

/* The number, index or flag that a field holds; 0 for a text. */
double data_option_number(const data_option *o, const void *fields);

/* Is the value within the option's range? */
bool data_option_holds(const data_option *o, double x);

/* What is wrong with a table, as half a sentence; NULL: all is well. */
const char *data_options_wrong(const data_option *table);

TENSOR_C_END
