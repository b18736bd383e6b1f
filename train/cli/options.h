/* options.h - the options of a command are a table, like those of a task (data/option.h): reading them and
 * --help, which completion reads, and which the man page is held to, are loops over it.
 *
 *     typedef struct { long examples; bool json; } request;
 *     static const cli_option options[] = {
 *         CLI_INT(request, examples, "examples", "N", 2000, 1, 10000000, "test examples"),
 *         CLI_FLAG(request, json, "json", "one line of JSON"),
 *         CLI_END};
 *
 * After the help may stand .needs = "a|b": the option does nothing without --a or --b and is refused then;
 * .without = "a|b": it does nothing beside any of them; .def = "the newest": how help names the default. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    CLI_KIND_OWN,        // whatever `take` makes of it; a flag, if it has no argument
    CLI_KIND_FLAG,       // bool
    CLI_KIND_INT,        // long
    CLI_KIND_REAL,       // double
    CLI_KIND_CHOICE,     // const char *: one of the words of the argument
    CLI_KIND_TEXT,       // const char *
    CLI_KIND_FILE,       // const char *: a path
    CLI_KIND_DIRECTORY,  // the same
} cli_kind;

typedef struct cli_option cli_option;

/* Reads what was given (NULL: of a flag) into the field; an exit code, and a message. */
typedef int cli_take_fn(const char *command, const cli_option *o, const char *value, void *field);

/* A NULL name ends a table; an empty one is a heading; an option without help is not listed. */
struct cli_option {
    const char *name, *argument, *help, *def;
    cli_kind kind;
    double number, least, most;  // of a number: the default, and its range
    size_t offset;               // of the field in the command's struct
    const char *needs, *without;
    cli_take_fn *take;
};

#define CLI_FIELD(type, member, c_type, name_, argument_) \
    .name = name_, .argument = argument_,                 \
    .offset = offsetof(type, member) + _Generic(((type *)0)->member, c_type : 0U)

#define CLI_INT(type, member, name, argument, number_, least_, most_, ...)                      \
    {                                                                                           \
        CLI_FIELD(type, member, long, name, argument), .kind = CLI_KIND_INT, .number = number_, \
                                                       .least = least_, .most = most_,          \
                                                       .help = __VA_ARGS__                      \
    }
#define CLI_REAL(type, member, name, argument, number_, least_, most_, ...)                        \
    {                                                                                              \
        CLI_FIELD(type, member, double, name, argument), .kind = CLI_KIND_REAL, .number = number_, \
                                                         .least = least_, .most = most_,           \
                                                         .help = __VA_ARGS__                       \
    }
#define CLI_FLAG(type, member, name, ...) \
    { CLI_FIELD(type, member, bool, name, NULL), .kind = CLI_KIND_FLAG, .help = __VA_ARGS__ }
#define CLI_CHOICE(type, member, name, words, ...)                                   \
    {                                                                                \
        CLI_FIELD(type, member, const char *, name, words), .kind = CLI_KIND_CHOICE, \
                                                            .help = __VA_ARGS__      \
    }
#define CLI_TEXT(type, member, name, argument, ...)                                   \
    {                                                                                 \
        CLI_FIELD(type, member, const char *, name, argument), .kind = CLI_KIND_TEXT, \
                                                               .help = __VA_ARGS__    \
    }
#define CLI_FILE(type, member, name, ...)                                           \
    {                                                                               \
        CLI_FIELD(type, member, const char *, name, "FILE"), .kind = CLI_KIND_FILE, \
                                                             .help = __VA_ARGS__    \
    }
#define CLI_DIRECTORY(type, member, name, ...)                                          \
    {                                                                                   \
        CLI_FIELD(type, member, const char *, name, "DIR"), .kind = CLI_KIND_DIRECTORY, \
                                                            .help = __VA_ARGS__         \
    }
#define CLI_OWN(type, member, take_, name_, argument_, ...)                                    \
    {                                                                                          \
        .name = name_, .argument = argument_, .offset = offsetof(type, member), .take = take_, \
        .help = __VA_ARGS__                                                                    \
    }
#define CLI_HEADING(title) \
    { .name = "", .help = title }
#define CLI_END \
    { .name = NULL }

/* Sets every field to its default, then reads argv, GNU-style, into the command's struct; operands end up at
 * argv[*first]. --help and -h print help and set *done. Returns an exit code, with a message. */
int cli_read(int argc, char **argv, const cli_option *options, void *request, int *first,
             bool *done);

void cli_help(const char *command, const cli_option *options);

/* The whole number that an option's value is, within a range; an exit code, and a message. */
int cli_whole_number(const char *command, const char *name, const char *text, long least, long most,
                     long *out);
