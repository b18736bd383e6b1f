/* say.c - what the program says: errors, words with numbers, the nearest name to a misspelt one, endings. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/cli/cli.h"
#include "train/cli/progress.h"
#include "train/config/plugin.h"
#include "train/io/words.h"

void cli_print(const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    qkv_io_vwords(line, sizeof line, format, args);
    va_end(args);
    fputs(line, stdout);
}

int cli_error(int code, const char *command, const char *format, ...) {
    char text[1024], shown[1024];
    va_list args;
    va_start(args, format);
    qkv_io_vwords(text, sizeof text, format, args);
    va_end(args);
    if (!*text) snprintf(text, sizeof text, "failed, and what failed left no reason");
    cli_progress_end();
    fprintf(stderr, "qkv%s%s: %s\n", command ? " " : "", command ? command : "",
            qkv_io_printable(text, shown, sizeof shown));
    return code;
}

int cli_code(qkv_io_status s) {
    static const int codes[] = {[QKV_IO_OK] = CLI_OK,
                                [QKV_IO_FAILED] = CLI_FAILED,
                                [QKV_IO_ABSENT] = CLI_FAILED,
                                [QKV_IO_USAGE] = CLI_USAGE,
                                [QKV_IO_DAMAGED] = CLI_DAMAGED,
                                [QKV_IO_DIVERGED] = CLI_DIVERGED,
                                [QKV_IO_NO_GNUPLOT] = CLI_NO_GNUPLOT,
                                [QKV_IO_SKIPPED] = CLI_OK,
                                [QKV_IO_STOPPED] = CLI_FAILED};
    return codes[s];
}

bool cli_terminal(int fd) {
    const char *term = getenv("TERM");
    return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

int cli_finish(int code) {
    cli_progress_end();
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if (fclose(stdout) != 0) failed = true;
    if (!failed) return code;
    fprintf(stderr, "qkv: cannot write the output: %s\n",
            errno ? strerror(errno) : "an earlier write failed");
    return code == CLI_OK ? CLI_FAILED : code;
}

/* ---- nearest names ---- */

/* Levenshtein distance, of names shorter than 64. */
static int distance(const char *a, const char *b) {
    int row[64], n = (int)strlen(b);
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

const char *cli_nearest(const char *name, const char *const *names) {
    const char *best = NULL;
    int least = (int)(strlen(name) + 2) / 3 + 1;
    for (int i = 0; names[i]; i++) {
        if (strlen(name) >= 63 || strlen(names[i]) >= 63) continue;
        int d = distance(name, names[i]);
        if (d < least) least = d, best = names[i];
    }
    return best;
}

int cli_unknown(const char *command, const char *what, const char *name, const char *const *names,
                const char *otherwise) {
    const char *near = cli_nearest(name, names);
    if (near) return cli_error(CLI_USAGE, command, "%s '%s'; did you mean '%s'?", what, name, near);
    return cli_error(CLI_USAGE, command, "%s '%s' (%s)", what, name, otherwise);
}

enum { MAX_NAMES = 128 };

int cli_unknown_task(const char *command, const char *name, const qkv_config_plugin *plugin) {
    const char *names[MAX_NAMES + 1] = {NULL};
    const data_task *task;
    for (int i = 0; i < MAX_NAMES && (task = qkv_config_task_at(plugin, i)); i++)
        names[i] = task->name;
    return cli_unknown(command, "--task: there is no task", name, names,
                       "qkv list tasks; a plugin's own need --plugin");
}

int cli_unknown_block(const char *command, const char *name, const qkv_config_plugin *plugin) {
    const char *names[MAX_NAMES + 1] = {"transformer"};
    const qkv_config_plugin_block *own = plugin ? plugin->blocks : NULL;
    for (int i = 0; i + 1 < MAX_NAMES && own && own[i].name; i++) names[i + 1] = own[i].name;
    return cli_unknown(command, "--block: there is no block", name, names,
                       "built in is transformer; a plugin's own need --plugin");
}

int cli_readout(const char *command, const data_spec *s, const char *name) {
    char has[256] = "";
    for (int r = 0; r < s->n_readouts; r++) {
        size_t n = strlen(has);
        if (!name || strcmp(s->readout[r].name, name) == 0) return r;
        snprintf(has + n, sizeof has - n, "%s%s", n ? ", " : "", s->readout[r].name);
    }
    cli_error(CLI_USAGE, command, "--answer: there is no '%s'; %s has %s", name, s->task->name,
              has);
    return -1;
}
