/* main.c - the program qkv: finds the command and runs it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "train/cli/cli.h"
#include "train/cli/guard.h"
#include "train/cli/stop.h"
#include "train/config/version.h"

#ifndef QKV_COMMIT  // the Makefile says both
#define QKV_COMMIT "unknown"
#define QKV_ARCH   "unknown"
#endif

static const struct {
    const char *name, *operands, *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
#define COMMAND(name, operands, summary) {#name, operands, summary, cli_##name},
#include "train/cli/commands.def"
#undef COMMAND
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void help(void) {
    printf("qkv - see how attention learns\n\n");
    for (int i = 0; i < COMMANDS; i++)
        printf("  qkv %-10s %s\n", commands[i].name, commands[i].summary);
    printf(
        "\n`qkv COMMAND --help` lists a command's options.\n"
        "Exit codes: 0 ok, 1 failure, 2 usage, 3 damaged file, 4 diverged, 5 wrong gradient, 6 no "
        "gnuplot.\n");
}

static int unknown(const char *name) {
    const char *names[COMMANDS + 1] = {NULL};
    for (int i = 0; i < COMMANDS; i++) names[i] = commands[i].name;
    return cli_unknown(NULL, "unknown command", name, names, "qkv --help");
}

/* "qkv help train" is "qkv train --help". */
static int help_of(char *name) {
    static char option[] = "--help";
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].run(2, (char *[]){name, option, NULL});
    return unknown(name);
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        help();
        return cli_finish(CLI_USAGE);
    }
    const char *name = argv[1];
    if (strcmp(name, "help") == 0 && argc > 2) return cli_finish(help_of(argv[2]));
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        help();
        return cli_finish(CLI_OK);
    }
    if (strcmp(name, "--version") == 0) {
        printf("qkv %s (%s, %s, ARCH=%s, commit %s)\n", QKV_VERSION, REAL_NAME, QKV_COMPILER,
               QKV_ARCH, QKV_COMMIT);
        return cli_finish(CLI_OK);
    }
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return cli_finish(commands[i].run(argc - 1, argv + 1));
    return unknown(name);
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error of write(), not a death
    cli_begin_files();
    cli_clean_on_signals();
    const int code = run(argc, argv);
    cli_guard_ends();
    return code;
}
