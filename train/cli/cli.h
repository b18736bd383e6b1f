/* cli.h - what the commands of the program share. Only train/cli/ prints, reads the environment or
 * exits. */
#pragma once

#include <stdbool.h>

#include "train/cli/options.h"
#include "train/run/run.h"

enum {
    CLI_OK,
    CLI_FAILED,
    CLI_USAGE,
    CLI_DAMAGED,    // an input file
    CLI_DIVERGED,   // a number is not finite
    CLI_GRADCHECK,  // a gradient is wrong
    CLI_NO_GNUPLOT,
    CLI_SIGNAL = 128
};

/* The commands: argv[0] is the command's name; returns the exit code. */
#define COMMAND(name, operands, summary) int cli_##name(int argc, char **argv);
#include "train/cli/commands.def"
#undef COMMAND

/* One line on stderr, "qkv COMMAND: ...", control bytes made harmless; returns `code`. */
int cli_error(int code, const char *command, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* printf() for words and tables with real numbers in them: see qkv_io_words(). Up to 4095 bytes. */
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The file calls of every command, once cli_begin_files() was called: those of the system, and what is only
 * there for a moment is known to cli_remove_temporaries(). */
extern qkv_io cli_files;
void cli_begin_files(void);

/* A file, or an empty directory, that a signal which ends the program removes; and no longer. */
void cli_temporary(const char *path);
void cli_not_temporary(const char *path);
void cli_remove_temporaries(void);  // may be called by a handler of signals

enum { CLI_MAXOPTIONS = 256 };  // the most of a command

/* Opens what --plugin names: a shared object, or a C file which is compiled first; what *out has
 * already, of other files, stays beside it. An exit code, and a message. */
int cli_load_plugin(const char *command, const char *path, const struct qkv_config_plugin **out);
cli_take_fn cli_take_plugin;  // of an option, into a pointer to a plugin
#define CLI_OPTION_PLUGIN(type, member, help) \
    CLI_OWN(type, member, cli_take_plugin, "plugin", "FILE", help)

/* Has a plugin that is complete names of its own only, and all its functions? Else a message. */
bool cli_plugin_fits(const char *command, const char *shown, const struct qkv_config_plugin *p);

/* What the two commands take beside the options of a configuration. */
extern const cli_option cli_train_options[], cli_data_options[];

/* The exit code for what the library said. */
int cli_code(qkv_io_status s);

/* The name nearest to a misspelt one (at most a third of it wrong), or NULL. names end with NULL. */
const char *cli_nearest(const char *name, const char *const *names);

/* A usage error: WHAT 'NAME'; did you mean one of the names? Else `otherwise`, where they are listed. */
int cli_unknown(const char *command, const char *what, const char *name, const char *const *names,
                const char *otherwise);

/* A usage error for a task or a block that does not exist, with the nearest that does. */
int cli_unknown_task(const char *command, const char *name, const struct qkv_config_plugin *plugin);
int cli_unknown_block(const char *command, const char *name,
                      const struct qkv_config_plugin *plugin);

/* The readout of that name; NULL: the first. -1, with a usage error, if the task has none such. */
int cli_readout(const char *command, const data_spec *s, const char *name);

/* Is the stream a terminal that understands cursor movement and colour? */
bool cli_terminal(int fd);

/* Writes out stdout and reports an error (a full disk, a closed descriptor); returns the exit
 * code. */
int cli_finish(int code);
