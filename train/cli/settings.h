/* settings.h - the options of a run as they are given on a command line: those of config.def, and
 * those that the chosen task declares. */
#pragma once

#include "train/cli/cli.h"

typedef struct {
    const char *command;
    cli_option option[CLI_MAXOPTIONS];  // for cli_read()
    int n_options;
    char text[16384];  // what these point to
    size_t used;
    const struct qkv_config_plugin *plugin;
    const char *plugin_file;                   // the last that --plugin named
    qkv_config_setting given[CLI_MAXOPTIONS];  // for qkv_config_make()
    int n_given;
} cli_settings;

/* Looks ahead for --plugin, which it loads, and for the task; then lists the options: `model`: those
 * of every run, too; then the command's own, whose struct begins with these settings. An exit code. */
int cli_settings_begin(cli_settings *s, int argc, char **argv, bool model, const cli_option *own);

/* Notes an option of a run that was found; an exit code. */
int cli_settings_note(cli_settings *s, const char *name, const char *value);
cli_take_fn cli_settings_take;

/* The option --plugin, which cli_settings_begin() has taken. */
#define CLI_OPTION_PLUGIN_LOADED(type, help) \
    CLI_OWN(type, settings, cli_settings_loaded, "plugin", "FILE", help)
cli_take_fn cli_settings_loaded;

/* Refuses what was given and has no effect in the resolved configuration, and releases the spec then. */
int cli_settings_used(const cli_settings *s, const qkv_config *c, data_spec *spec);
