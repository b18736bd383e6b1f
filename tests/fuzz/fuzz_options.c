/* fuzz_options.c - any lines as the arguments of `qkv train`, and as numbers.
 *
 * Promises: the exit code is ok or usage; a value that was accepted is in range, and its text gives
 * the same bits again, also under a decimal comma. */
#include <math.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "train/cli/cli.h"
#include "train/io/number.h"

enum { MAX_ARGS = 64, MAX_OPTIONS = 256 };

static void check_number(const char *text) {
    double x, again;
    long whole;
    char shown[QKV_IO_NUMBER];
    if (qkv_io_parse_real(text, &x)) {
        PROMISE(isfinite(x));
        PROMISE(qkv_io_parse_real(qkv_io_format_exact(x, shown), &again) && again == x &&
                signbit(again) == signbit(x));
    }
    if (qkv_io_parse_int(text, &whole)) {
        snprintf(shown, sizeof shown, "%ld", whole);
        long back;
        PROMISE(qkv_io_parse_int(shown, &back) && back == whole);
    }
}

static int found(const char *command, const cli_option *given, const char *value, void *field) {
    qkv_config *c = field, again;
    char error[QKV_IO_ERROR] = "", text[QKV_CONFIG_TEXT_SIZE + 64], same[QKV_CONFIG_TEXT_SIZE + 64];
    const data_option *o;
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++) {
        if (o->kind == DATA_KIND_SECTION || strcmp(o->option, given->name) != 0) continue;
        if (!qkv_config_set(c, o, o->kind == DATA_KIND_FLAG ? "true" : value, error)) {
            PROMISE(error[0] && strlen(error) < QKV_IO_ERROR);
            return cli_error(CLI_USAGE, command, "--%s: %s", given->name, error);
        }
        again = *c;
        qkv_config_get(c, o, text, sizeof text);
        PROMISE(qkv_config_set(&again, o, text, error));
        PROMISE(strcmp(text, qkv_config_get(&again, o, same, sizeof same)) == 0);
    }
    return CLI_OK;
}

/* Cuts the text into arguments at its newlines; argv[0] is the command. */
static int arguments(char *text, char **argv) {
    static char train[] = "train";
    int n = 0;
    argv[n++] = train;
    for (char *end; n < MAX_ARGS; text = end + 1) {
        argv[n++] = text;
        if (!(end = strchr(text, '\n'))) break;
        *end = '\0';
    }
    argv[n] = NULL;
    return n;
}

FUZZ(fuzz_options) {
    cli_option all[MAX_OPTIONS];
    char *argv[MAX_ARGS + 1], *text = malloc(n + 1);
    int k = 0, first = 0;
    bool done;
    qkv_config c;
    data_spec spec;
    char error[QKV_IO_ERROR];
    if (!text) abort();
    if (n) memcpy(text, data, n);
    text[n] = '\0';
    qkv_config_default(&c);
    const data_option *o;
    for (int i = 0; (o = qkv_config_option_at(&c, i)); i++)
        if (o->kind != DATA_KIND_SECTION)
            all[k++] = (cli_option){o->option, o->kind == DATA_KIND_FLAG ? NULL : o->argument,
                                    o->help, o->def, .take = found};
    all[k] = (cli_option)CLI_END;
    int argc = arguments(text, argv);
    for (int i = 1; i < argc; i++) check_number(argv[i]);
    int code = cli_read(argc, argv, all, &c, &first, &done);
    PROMISE(code == CLI_OK || code == CLI_USAGE);
    if (code == CLI_OK && !done) {
        PROMISE(first >= 1 && first <= argc);
        if (!qkv_config_resolve(&c, &spec, error))
            PROMISE(error[0] && strlen(error) < QKV_IO_ERROR);
    }
    free(text);
    return 0;
}
