/* options.c - parsing and showing options; errors and endings. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/cli/cli.h"
#include "train/cli/progress.h"
#include "train/config/plugin.h"
#include "train/io/number.h"
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

int cli_code(qkv_run_status s) {
    switch (s) {
        case QKV_RUN_DONE: return CLI_OK;
        case QKV_RUN_USAGE: return CLI_USAGE;
        case QKV_RUN_DAMAGED: return CLI_DAMAGED;
        case QKV_RUN_DIVERGED: return CLI_DIVERGED;
        case QKV_RUN_FAILED:
        case QKV_RUN_STOPPED: break;
    }
    return CLI_FAILED;
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

/* "there is no task 'pears'; did you mean 'pairs'?" */
static int unknown_name(const char *command, const char *what, const char *name,
                        const char *const *names, const char *otherwise) {
    const char *near = cli_nearest(name, names);
    if (near)
        return cli_error(CLI_USAGE, command, "--%s: there is no %s '%s'; did you mean '%s'?", what,
                         what, name, near);
    return cli_error(CLI_USAGE, command, "--%s: there is no %s '%s' (%s)", what, what, name,
                     otherwise);
}

enum { MAX_NAMES = 128 };

int cli_unknown_task(const char *command, const char *name, const qkv_config_plugin *plugin) {
    const char *names[MAX_NAMES + 1] = {NULL};
    const data_task *task;
    for (int i = 0; i < MAX_NAMES && (task = qkv_config_task_at(plugin, i)); i++)
        names[i] = task->name;
    return unknown_name(command, "task", name, names,
                        "qkv list tasks; a plugin's own need --plugin");
}

int cli_unknown_block(const char *command, const char *name, const qkv_config_plugin *plugin) {
    const char *names[MAX_NAMES + 1] = {"transformer"};
    const qkv_config_plugin_block *own = plugin ? plugin->blocks : NULL;
    for (int i = 0; i + 1 < MAX_NAMES && own && own[i].name; i++) names[i + 1] = own[i].name;
    return unknown_name(command, "block", name, names,
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

/* ---- parsing ---- */

/* How many options that are listed begin with these letters; the first two of them in `text`. */
static int beginning_with(const char *letters, const cli_option *options, char *text, size_t size) {
    int n = 0;
    *text = '\0';
    for (int i = 0; options[i].name; i++) {
        size_t at = strlen(text);
        if (!*options[i].name || strncmp(options[i].name, letters, strlen(letters)) != 0) continue;
        if (n < 3 && at < size)
            snprintf(text + at, size - at, "%s--%s", n ? ", " : "", options[i].name);
        n++;
    }
    return n;
}

static int unknown_option(const char *command, const char *given, const cli_option *options) {
    const char *names[CLI_MAXOPTIONS] = {NULL};
    char name[64], candidates[160];
    int n = 0;
    for (int i = 0; options[i].name && n < CLI_MAXOPTIONS - 1; i++)
        if (*options[i].name) names[n++] = options[i].name;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
    bool is_long = strncmp(name, "--", 2) == 0;
    int meant = is_long ? beginning_with(name + 2, options, candidates, sizeof candidates) : 0;
    if (meant > 1)
        return cli_error(CLI_USAGE, command, "option '%s' is ambiguous: %s%s", name, candidates,
                         meant > 3 ? " ..." : "");
    const char *near = is_long ? cli_nearest(name + 2, names) : NULL;
    if (near)
        return cli_error(CLI_USAGE, command, "unknown option '%s'; did you mean '--%s'?", name,
                         near);
    return cli_error(CLI_USAGE, command, "unknown option '%s' (qkv %s --help)", name, command);
}

/* Is one of the options in "--a, --b)" given? Its name comes into `name`. */
static bool any_given(const char *list, const cli_option *options, const bool *given,
                      char name[40]) {
    for (; strncmp(list, "--", 2) == 0; list += strspn(list, ", ")) {
        size_t n = strcspn(list += 2, ",) ");
        snprintf(name, 40, "%.*s", (int)n, list);
        for (int i = 0; options[i].name; i++)
            if (given[i] && strcmp(options[i].name, name) == 0) return true;
        list += n;
    }
    return false;
}

/* "(with --a, --b)" and "(not with --a)" in an option's help are a promise: without them, or with
 * them, it would do nothing. */
static int idle_option(const char *command, const cli_option *options, const bool *given) {
    static const char with[] = "(with ", without[] = "(not with ";
    for (int i = 0; options[i].name; i++) {
        const char *help = given[i] && options[i].help ? options[i].help : "", *list;
        char name[40] = "";
        if ((list = strstr(help, with)) &&
            !any_given(list += sizeof with - 1, options, given, name))
            return cli_error(CLI_USAGE, command, "--%s belongs to %.*s", options[i].name,
                             (int)strcspn(list, ")"), list);
        if ((list = strstr(help, without)) &&
            any_given(list + sizeof without - 1, options, given, name))
            return cli_error(CLI_USAGE, command, "--%s does nothing with --%s", options[i].name,
                             name);
    }
    return CLI_OK;
}

int cli_parse(int argc, char **argv, const cli_option *options, cli_option_fn *found, void *ctx,
              int *first, bool *done) {
    struct option table[CLI_MAXOPTIONS];
    bool given_at[CLI_MAXOPTIONS] = {false};
    int index[CLI_MAXOPTIONS], n = 0, c, at;
    for (int i = 0; options[i].name && n < CLI_MAXOPTIONS - 2; i++) {
        if (!*options[i].name) continue;
        index[n] = i;
        table[n++] = (struct option){
            options[i].name, options[i].argument ? required_argument : no_argument, NULL, 1};
    }
    table[n++] = (struct option){"help", no_argument, NULL, 2};
    table[n] = (struct option){NULL, 0, NULL, 0};
    *done = false;
    opterr = 0;
    optind = 0;  // starts anew
    while ((c = getopt_long(argc, argv, ":h", table, &at)) != -1) {
        const char *given = argv[optind - 1];
        if (c == 'h' || c == 2) {
            cli_help(argv[0], options);
            *done = true;
            return CLI_OK;
        }
        if (c == ':') return cli_error(CLI_USAGE, argv[0], "option '%s' needs a value", given);
        if (c == '?' && (optopt == 1 || optopt == 2))
            return cli_error(CLI_USAGE, argv[0], "option '%.*s' takes no value",
                             (int)strcspn(given, "="), given);
        if (c == '?' && optopt)
            return cli_error(CLI_USAGE, argv[0], "unknown option '-%c' (qkv %s --help)", optopt,
                             argv[0]);
        if (c == '?') return unknown_option(argv[0], given, options);
        int code = found(ctx, options[index[at]].name, optarg);
        if (code != CLI_OK) return code;
        given_at[index[at]] = true;
    }
    *first = optind;
    return idle_option(argv[0], options, given_at);
}

int cli_whole_number(const char *command, const char *name, const char *text, long least, long most,
                     long *out) {
    if (!qkv_io_is_whole(text))
        return cli_error(CLI_USAGE, command, "--%s: '%s' is not a whole number", name, text);
    if (qkv_io_parse_int(text, out) && *out >= least && *out <= most) return CLI_OK;
    return cli_error(CLI_USAGE, command, "--%s: %s is not between %ld and %ld", name, text, least,
                     most);
}

static const char *operands_of(const char *command) {
#define COMMAND(name, operands, summary) \
    if (strcmp(command, #name) == 0) return operands "\n\n" summary;
#include "train/cli/commands.def"
#undef COMMAND
    return "";
}

void cli_help(const char *command, const cli_option *options) {
    printf("usage: qkv %s %s\n", command, operands_of(command));
    for (int i = 0; options[i].name; i++) {
        const cli_option *o = &options[i];
        if (!*o->name) {
            printf("\n%s\n", o->help);
            continue;
        }
        char left[160];
        if (!o->help) continue;
        if (strncmp(o->name, "no-", 3) == 0 && !*o->help) continue;  // said with its positive form
        bool both = options[i + 1].name && strncmp(options[i + 1].name, "no-", 3) == 0 &&
                    strcmp(options[i + 1].name + 3, o->name) == 0;
        snprintf(left, sizeof left, "--%s%s%s%s", both ? "[no-]" : "", o->name,
                 o->argument ? " " : "", o->argument ? o->argument : "");
        printf("  %-26s %s%s", left, strlen(left) > 26 ? "\n                             " : "",
               o->help);
        if (o->def && *o->def) printf("%s(default %s)", *o->help ? " " : "", o->def);
        printf("\n");
    }
}
