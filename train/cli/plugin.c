/* plugin.c - --plugin FILE: a shared object, or a C file that is compiled for this program's
 * precision. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "train/cli/cli.h"
#include "train/config/plugin.h"

extern char **environ;

/* The directory in which "train/config/plugin.h" is found: beside an installed program, or the source
 * tree of a built one. */
static bool include_directory(char out[QKV_IO_PATH]) {
    static const char *const places[] = {"../include/qkv", "..", "../.."};
    char exe[QKV_IO_PATH - 64];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n < 0) return false;
    exe[n] = '\0';
    char *slash = strrchr(exe, '/');
    if (slash) *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char header[QKV_IO_PATH];
        struct stat there;
        snprintf(header, sizeof header, "%s/%s/train/plugin.h", exe, places[i]);
        snprintf(out, QKV_IO_PATH, "%s/%s", exe, places[i]);
        if (stat(header, &there) == 0) return true;
    }
    return false;
}

/* Compiles a C file into a shared object; the compiler's words go to stderr. */
static int compile(const char *command, const char *source, const char *object) {
    char include[QKV_IO_PATH], option[QKV_IO_PATH + 2], shown[QKV_IO_PATH];
    char absolute[QKV_IO_PATH];  // begins with no '-'
    const char *cc = getenv("CC");
    if (!cc || !*cc || strchr(cc, ' ')) cc = "cc";
    if (!include_directory(include))
        return cli_error(CLI_FAILED, command, "the headers of qkv are not beside this program");
    if (!realpath(source, absolute))
        return cli_error(CLI_FAILED, command, "cannot open '%s': %s", source, strerror(errno));
    if (strcmp(qkv_io_printable(absolute, shown, sizeof shown), absolute) != 0)
        return cli_error(CLI_FAILED, command, "the compiler would print the name of '%s' as it is",
                         source);
    snprintf(option, sizeof option, "-I%s", include);
    const char *precision = sizeof(real) == sizeof(double) ? "-DQKV_DOUBLE" : "-UQKV_DOUBLE";
    const char *args[] = {cc,
                          "-std=gnu11",
                          "-O2",
                          "-fno-math-errno",
                          "-fno-trapping-math",
                          "-shared",
                          "-fPIC",
                          precision,
                          option,
                          "-o",
                          object,
                          absolute,
                          NULL};
    pid_t child;
    int failed = posix_spawnp(&child, cc, NULL, NULL, (char *const *)args, environ), status;
    if (failed)
        return cli_error(CLI_FAILED, command, "cannot run the compiler '%s': %s", cc,
                         strerror(failed));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return cli_error(CLI_FAILED, command, "lost the compiler: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return CLI_OK;
    return cli_error(CLI_FAILED, command, "the plugin '%s' does not compile", source);
}

static int open_object(const char *command, const char *path, const char *shown,
                       const qkv_config_plugin **out) {
    char absolute[QKV_IO_PATH];
    if (!realpath(path, absolute))
        return cli_error(CLI_FAILED, command, "cannot open the plugin '%s': %s", shown,
                         strerror(errno));
    void *library =
        dlopen(absolute, RTLD_NOW | RTLD_LOCAL);  // stays open: the program ends with it
    if (!library) return cli_error(CLI_FAILED, command, "cannot load the plugin: %s", dlerror());
    const qkv_config_plugin *p = dlsym(library, "qkv_plugin");
    if (!p)
        return cli_error(CLI_FAILED, command, "'%s' is no plugin: it defines no qkv_plugin", shown);
    if (p->abi != QKV_CONFIG_PLUGIN_ABI)
        return cli_error(CLI_FAILED, command, "'%s' was made for version %d of plugins, this is %d",
                         shown, p->abi, QKV_CONFIG_PLUGIN_ABI);
    if (p->real_size != (int)sizeof(real))
        return cli_error(
            CLI_FAILED, command,
            "'%s' was compiled for another precision; this program works in %s (give the C file, "
            "or compile it %s -DQKV_DOUBLE)",
            shown, REAL_NAME, sizeof(real) == sizeof(double) ? "with" : "without");
    for (const ag_op *const *op = p->ops; op && *op; op++)
        if (!(*op)->name || !(*op)->shape || !(*op)->forward || !(*op)->backward || !(*op)->sample)
            return cli_error(CLI_FAILED, command,
                             "'%s': the op '%s' lacks one of shape, forward, backward, sample",
                             shown, (*op)->name ? (*op)->name : "");
    for (const data_task *const *task = p->tasks; task && *task; task++)
        if (!(*task)->name || !(*task)->configure || !(*task)->example)
            return cli_error(CLI_FAILED, command, "'%s': the task '%s' lacks configure or example",
                             shown, (*task)->name ? (*task)->name : "");
    *out = p;
    return CLI_OK;
}

int cli_load_plugin(const char *command, const char *path, const qkv_config_plugin **out) {
    size_t n = strlen(path);
    if (n < 2 || strcmp(path + n - 2, ".c") != 0) return open_object(command, path, path, out);
    char directory[] = "/tmp/qkv-plugin-XXXXXX", object[64];
    if (access(path, R_OK) != 0)
        return cli_error(CLI_FAILED, command, "cannot read the plugin '%s': %s", path,
                         strerror(errno));
    if (!mkdtemp(directory))
        return cli_error(CLI_FAILED, command, "cannot make a directory in /tmp: %s",
                         strerror(errno));
    snprintf(object, sizeof object, "%s/plugin.so", directory);
    int code = compile(command, path, object);
    if (code == CLI_OK) code = open_object(command, object, path, out);
    unlink(object);
    rmdir(directory);
    return code;
}
