/* options.c - reading the options of a command, and showing them. */
#include "train/cli/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "data/option.h"
#include "train/cli/cli.h"
#include "train/io/number.h"

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

/* ---- what belongs together ---- */

enum { LIST = 120 };

/* "a|b" as "--a, --b". */
static const char *listed(const char *names, char out[LIST]) {
    size_t n = 0;
    out[0] = '\0';
    for (; *names && n < LIST; names += strcspn(names, "|"), names += *names == '|')
        n += (size_t)snprintf(out + n, LIST - n, "%s--%.*s", n ? ", " : "",
                              (int)strcspn(names, "|"), names);
    return out;
}

/* The one of "a|b" that is given, or NULL. */
static const char *any_given(const char *names, const cli_option *options, const bool *given) {
    for (int i = 0; options[i].name; i++)
        if (given[i] && data_choice_index(names, options[i].name) >= 0) return options[i].name;
    return NULL;
}

static int idle_option(const char *command, const cli_option *options, const bool *given) {
    char list[LIST];
    for (int i = 0; options[i].name; i++) {
        const cli_option *o = &options[i];
        if (!given[i]) continue;
        if (o->needs && !any_given(o->needs, options, given))
            return cli_error(CLI_USAGE, command, "--%s belongs to %s", o->name,
                             listed(o->needs, list));
        if (o->without && any_given(o->without, options, given))
            return cli_error(CLI_USAGE, command, "--%s does nothing with --%s", o->name,
                             any_given(o->without, options, given));
    }
    return CLI_OK;
}

/* ---- reading ---- */

int cli_whole_number(const char *command, const char *name, const char *text, long least, long most,
                     long *out) {
    if (!qkv_io_is_whole(text))
        return cli_error(CLI_USAGE, command, "--%s: '%s' is not a whole number", name, text);
    if (qkv_io_parse_int(text, out) && *out >= least && *out <= most) return CLI_OK;
    return cli_error(CLI_USAGE, command, "--%s: %s is not between %ld and %ld", name, text, least,
                     most);
}

static int take_real(const char *command, const cli_option *o, const char *text, double *out) {
    if (!qkv_io_is_real(text))
        return cli_error(CLI_USAGE, command, "--%s: '%s' is not a number", o->name, text);
    if (qkv_io_parse_real(text, out) && *out >= o->least && *out <= o->most) return CLI_OK;
    return cli_error(CLI_USAGE, command, "--%s: %s is not between %g and %g", o->name, text,
                     o->least, o->most);
}

static int take(const char *command, const cli_option *o, const char *value, void *field) {
    switch (o->kind) {
        case CLI_KIND_OWN: return o->take(command, o, value, field);
        case CLI_KIND_FLAG: return *(bool *)field = true, CLI_OK;
        case CLI_KIND_INT:
            return cli_whole_number(command, o->name, value, (long)o->least, (long)o->most, field);
        case CLI_KIND_REAL: return take_real(command, o, value, field);
        case CLI_KIND_CHOICE:
            if (data_choice_index(o->argument, value) < 0)
                return cli_error(CLI_USAGE, command, "--%s: '%s' is none of %s", o->name, value,
                                 o->argument);
            break;
        case CLI_KIND_TEXT:
        case CLI_KIND_FILE:
        case CLI_KIND_DIRECTORY: break;
    }
    return *(const char **)field = value, CLI_OK;
}

static void set_defaults(const cli_option *options, char *request) {
    for (const cli_option *o = options; o->name; o++) {
        if (o->kind == CLI_KIND_INT) *(long *)(void *)(request + o->offset) = (long)o->number;
        if (o->kind == CLI_KIND_REAL) *(double *)(void *)(request + o->offset) = o->number;
        if (o->kind == CLI_KIND_CHOICE) *(const char **)(void *)(request + o->offset) = o->def;
    }
}

/* What getopt_long() answers wrongly given options with, in words. */
static int refuse(int c, char **argv, const cli_option *options) {
    const char *given = argv[optind - 1];
    if (c == ':') return cli_error(CLI_USAGE, argv[0], "option '%s' needs a value", given);
    if (optopt == 1 || optopt == 2)
        return cli_error(CLI_USAGE, argv[0], "option '%.*s' takes no value",
                         (int)strcspn(given, "="), given);
    if (optopt)
        return cli_error(CLI_USAGE, argv[0], "unknown option '-%c' (qkv %s --help)", optopt,
                         argv[0]);
    return unknown_option(argv[0], given, options);
}

int cli_read(int argc, char **argv, const cli_option *options, void *request, int *first,
             bool *done) {
    struct option table[CLI_MAXOPTIONS];
    bool given[CLI_MAXOPTIONS] = {false};
    int index[CLI_MAXOPTIONS], n = 0, c, at, code = CLI_OK;
    for (int i = 0; options[i].name && n < CLI_MAXOPTIONS - 2; i++) {
        if (!*options[i].name) continue;
        index[n] = i;
        table[n++] = (struct option){
            options[i].name, options[i].argument ? required_argument : no_argument, NULL, 1};
    }
    table[n++] = (struct option){"help", no_argument, NULL, 2};
    table[n] = (struct option){NULL, 0, NULL, 0};
    set_defaults(options, request);
    *done = false;
    opterr = 0;
    optind = 0;  // starts anew
    while (code == CLI_OK && (c = getopt_long(argc, argv, ":h", table, &at)) != -1) {
        if (c == 'h' || c == 2) {
            cli_help(argv[0], options);
            *done = true;
            return CLI_OK;
        }
        if (c != 1) return refuse(c, argv, options);
        const cli_option *o = &options[index[at]];
        code = take(argv[0], o, optarg, (char *)request + o->offset);
        given[index[at]] = true;
    }
    *first = optind;
    return code == CLI_OK ? idle_option(argv[0], options, given) : code;
}

/* ---- showing ---- */

static const char *operands_of(const char *command) {
#define COMMAND(name, operands, summary) \
    if (strcmp(command, #name) == 0) return operands "\n\n" summary;
#include "train/cli/commands.def"
#undef COMMAND
    return "";
}

/* "(with --a)", "(not with --b)" and the default, after what an option is for. */
static void print_conditions(const cli_option *o) {
    char list[LIST];
    bool number = o->kind == CLI_KIND_INT || o->kind == CLI_KIND_REAL;
    const char *blank = *o->help ? " " : "";
    if (o->needs) printf(" (with %s)", listed(o->needs, list));
    if (o->without) printf(" (not with %s)", listed(o->without, list));
    if (o->def && *o->def) printf("%s(default %s)", blank, o->def);
    if (!o->def && number) cli_print("%s(default %.15g)", blank, o->number);
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
        print_conditions(o);
        printf("\n");
    }
}
