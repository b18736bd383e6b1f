/* train_source.c - what qkv train takes over from a run or a file, beside its configuration. */
#include "train/cli/train_source.h"

#include <stdio.h>
#include <string.h>

enum { KEEP = 2, KEEP_LOG = 64 };

int cli_choose_saving(const char *json, size_t n, const char *path, bool resume, cli_saving *s) {
    char error[QKV_IO_ERROR], shown[QKV_IO_PATH];
    qkv_config_saving before = {.every = 0};
    if (json && !qkv_config_read_saving(json, n, &before, error))
        return cli_error(CLI_DAMAGED, "train", "'%s': %s",
                         qkv_io_printable(path, shown, sizeof shown), error);
    const bool same = s->every == CLI_AS_BEFORE;
    if (same) s->every = before.every;
    if (s->keep && !s->every && !resume)
        return cli_error(CLI_USAGE, "train", "--keep belongs to --save-every, which is 0 here");
    if (s->keep) return CLI_OK;
    const int usual = s->every == QKV_RUN_SAVE_LOG ? KEEP_LOG : KEEP;
    s->keep = before.keep && (same || before.keep > usual) ? before.keep : usual;
    return CLI_OK;
}

static bool is_given(const cli_settings *s, const char *option) {
    for (int i = 0; i < s->n_given; i++) {
        const char *name = s->given[i].name;
        if (strcmp(name + (strncmp(name, "no-", 3) == 0 ? 3 : 0), option) == 0) return true;
    }
    return false;
}

void cli_note_source(const cli_settings *s, const char *from, const qkv_config *c) {
    char list[400] = "", is[QKV_CONFIG_TEXT_SIZE + 64], usual[sizeof is];
    size_t n = 0;
    const data_option *o;
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++) {
        qkv_config plain = *c;
        if (!o->of_task || is_given(s, o->option)) continue;
        qkv_config_reset(&plain, o);
        qkv_config_get(c, o, is, sizeof is);
        if (strcmp(is, qkv_config_get(&plain, o, usual, sizeof usual)) == 0) continue;
        const bool flag = o->kind == DATA_KIND_FLAG;
        if (n < sizeof list)
            n += (size_t)snprintf(list + n, sizeof list - n, " --%s%s%s%s",
                                  flag && *is == 'f' ? "no-" : "", o->option, flag ? "" : " ",
                                  flag ? "" : is);
    }
    cli_error(CLI_OK, s->command,
              "note: the task %s and every option that you do not give come from '%s'%s%s", c->task,
              from, *list ? ":" : "", list);
}
