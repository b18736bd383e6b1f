/* plugin_names.c - what a plugin may be called by: nothing that is there already. */
#include <string.h>

#include "train/cli/cli.h"
#include "train/config/plugin.h"

typedef struct {
    const char *command, *plugin;
} who;

static bool taken(const who *w, const char *kind, const char *name) {
    cli_error(CLI_FAILED, w->command,
              "'%s': the %s '%s' has a built-in one's name; call it otherwise", w->plugin, kind,
              name);
    return false;
}

static bool among(const cli_option *options, const char *name) {
    for (; options->name; options++)
        if (*options->name && strcmp(options->name, name) == 0) return true;
    return false;
}

/* Every run has these options, whatever its task: of its configuration, of the commands that take a
 * task's options, and beside them in config.json. */
static bool is_of_every_run(const data_option *own) {
    for (const data_option *o = qkv_config_options; o->option; o++)
        if (o->kind != DATA_KIND_SECTION &&
            (strcmp(o->field, own->field) == 0 || strcmp(o->option, own->option) == 0))
            return true;
    return qkv_config_is_remark(own->field) || among(cli_train_options, own->option) ||
           among(cli_data_options, own->option) || strcmp(own->option, "help") == 0;
}

static bool tasks_fit(const who *w, const qkv_config_plugin *p) {
    for (const data_task *const *t = p->tasks; t && *t; t++) {
        if (data_find((*t)->name)) return taken(w, "task", (*t)->name);
        for (const data_option *o = (*t)->options; o && o->option; o++) {
            if (!is_of_every_run(o)) continue;
            cli_error(CLI_FAILED, w->command,
                      "'%s': the task '%s': --%s is an option of every run; call its own otherwise",
                      w->plugin, (*t)->name, o->option);
            return false;
        }
    }
    return true;
}

static bool blocks_fit(const who *w, const qkv_config_plugin *p) {
    for (const qkv_config_plugin_block *b = p->blocks; b && b->name; b++)
        if (strcmp(b->name, "transformer") == 0) return taken(w, "block", b->name);
    return true;
}

static bool ops_fit(const who *w, const qkv_config_plugin *p) {
    for (const ag_op *const *op = p->ops; op && *op; op++)
        for (const ag_op *const *own = ag_ops; *own; own++)
            if (strcmp((*own)->name, (*op)->name) == 0) return taken(w, "op", (*op)->name);
    return true;
}

static bool layers_fit(const who *w, const qkv_config_plugin *p) {
    for (const nn_layer *l = p->layers; l && l->name; l++)
        for (const nn_layer *own = nn_layers; own->name; own++)
            if (strcmp(own->name, l->name) == 0) return taken(w, "layer", l->name);
    return true;
}

bool cli_plugin_fits(const char *command, const char *shown, const qkv_config_plugin *p) {
    const who w = {command, shown};
    return tasks_fit(&w, p) && blocks_fit(&w, p) && ops_fit(&w, p) && layers_fit(&w, p);
}
