/* plugin.c - --plugin FILE: a shared object, or a C file that is compiled for this program's
 * precision. */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "train/cli/cli.h"
#include "train/cli/guard.h"
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
        snprintf(header, sizeof header, "%s/%s/train/config/plugin.h", exe, places[i]);
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

/* A member of a part that must not be NULL. */
typedef struct {
    const char *name;
    bool there;
} member;

/* Are all members of a part there? Else an error that names the part and every missing one. */
static int check_members(const char *command, const char *shown, const char *kind, int number,
                         const char *name, const member *m) {
    char which[80], missing[160] = "";
    size_t n = 0;
    if (name)
        snprintf(which, sizeof which, "'%.60s'", name);
    else
        snprintf(which, sizeof which, "number %d", number);
    for (; m->name; m++)
        if (!m->there)
            n += (size_t)snprintf(missing + n, sizeof missing - n, "%s%s", n ? ", " : "", m->name);
    if (!n) return CLI_OK;
    return cli_error(CLI_FAILED, command, "'%s': the %s %s lacks %s; set %s in its descriptor",
                     shown, kind, which, missing, strchr(missing, ',') ? "them" : "it");
}

static int check_parts(const char *command, const char *shown, const qkv_config_plugin *p) {
    int code = CLI_OK;
    for (int i = 0; p->ops && p->ops[i] && code == CLI_OK; i++) {
        const ag_op *op = p->ops[i];
        code = check_members(command, shown, "op", i, op->name,
                             (const member[]){{"name", op->name},
                                              {"shape", op->shape},
                                              {"forward", op->forward},
                                              {"backward", op->backward},
                                              {"sample", op->sample},
                                              {NULL, false}});
    }
    for (int i = 0; p->blocks && p->blocks[i].name && code == CLI_OK; i++)
        code = check_members(
            command, shown, "block", i, p->blocks[i].name,
            (const member[]){
                {"block", p->blocks[i].block}, {"sample", p->blocks[i].sample}, {NULL, false}});
    for (int i = 0; p->layers && p->layers[i].name && code == CLI_OK; i++)
        code = check_members(command, shown, "layer", i, p->layers[i].name,
                             (const member[]){{"sample", p->layers[i].sample}, {NULL, false}});
    for (int i = 0; p->tasks && p->tasks[i] && code == CLI_OK; i++) {
        const data_task *task = p->tasks[i];
        code = check_members(command, shown, "task", i, task->name,
                             (const member[]){{"name", task->name},
                                              {"configure", task->configure},
                                              {"example", task->example},
                                              {NULL, false}});
        if (code == CLI_OK && data_options_wrong(task->options))
            code = cli_error(CLI_FAILED, command, "'%s': the task '%s': %s", shown, task->name,
                             data_options_wrong(task->options));
    }
    return code;
}

static int open_object(const char *command, const char *path, const char *shown,
                       const qkv_config_plugin **out) {
    char absolute[QKV_IO_PATH];
    if (!realpath(path, absolute))
        return cli_error(CLI_FAILED, command, "cannot open the plugin '%s': %s", shown,
                         strerror(errno));
    // Stays open: the program ends with it.
    cli_guard_opens(command, shown, path == shown ? NULL : path);
    void *library = dlopen(absolute, RTLD_NOW | RTLD_LOCAL);
    const qkv_config_plugin *p = library ? dlsym(library, "qkv_plugin") : NULL;
    cli_guard_opened(p);
    if (!library) return cli_error(CLI_FAILED, command, "cannot load the plugin: %s", dlerror());
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
    const int code = check_parts(command, shown, p);
    if (code != CLI_OK) return code;
    if (!cli_plugin_fits(command, shown, p)) return CLI_FAILED;
    *out = p;
    return CLI_OK;
}

/* ---- where the object lies while it is opened ---- */

/* A directory of this process alone, in TMPDIR. */
static int make_directory(const char *command, char directory[QKV_IO_PATH]) {
    const char *parent = getenv("TMPDIR");
    if (!parent || !*parent) parent = "/tmp";
    int n = snprintf(directory, QKV_IO_PATH, "%s/qkv-plugin-XXXXXX", parent);
    if (n >= QKV_IO_PATH - 16) return cli_error(CLI_FAILED, command, "TMPDIR is too long a path");
    if (mkdtemp(directory)) return CLI_OK;
    return cli_error(CLI_FAILED, command,
                     "cannot make a directory for the compiled plugin in '%s': %s (TMPDIR names "
                     "another place)",
                     parent, strerror(errno));
}

static int load(const char *command, const char *path, const qkv_config_plugin **out) {
    size_t n = strlen(path);
    if (n < 2 || strcmp(path + n - 2, ".c") != 0) return open_object(command, path, path, out);
    char directory[QKV_IO_PATH], object[QKV_IO_PATH + 16];
    if (access(path, R_OK) != 0)
        return cli_error(CLI_FAILED, command, "cannot read the plugin '%s': %s", path,
                         strerror(errno));
    int code = make_directory(command, directory);
    if (code != CLI_OK) return code;
    snprintf(object, sizeof object, "%s/plugin.so", directory);
    cli_temporary(object);
    cli_temporary(directory);
    code = compile(command, path, object);
    if (code == CLI_OK) code = open_object(command, object, path, out);
    unlink(object);
    rmdir(directory);
    cli_not_temporary(object);
    cli_not_temporary(directory);
    return code;
}

/* ---- several ---- */

enum { MAX_LOADED = 64 };  // of each kind, of all plugins together

/* What all plugins have, one after another; the program's memory, for as long as it runs. */
static struct {
    qkv_config_plugin all;
    const data_task *tasks[MAX_LOADED + 1];
    qkv_config_plugin_block blocks[MAX_LOADED + 1];
    const ag_op *ops[MAX_LOADED + 1];
    nn_layer layers[MAX_LOADED + 1];
} loaded;

typedef enum { TASK, BLOCK, OP, LAYER, KINDS } plugin_kind;

/* The place of one more name of a kind; -1 if it is known, or there is no room. */
static int place_of(plugin_kind kind, const char *name) {
    static const char *names[KINDS][MAX_LOADED];
    for (int n = 0; n < MAX_LOADED; n++) {
        if (!names[kind][n]) return names[kind][n] = name, n;
        if (strcmp(names[kind][n], name) == 0) return -1;
    }
    return -1;
}

/* Appends what one more plugin has; the name that cannot be, or NULL. */
static const char *append(const qkv_config_plugin *p) {
    int n;
    for (int i = 0; p->tasks && p->tasks[i]; i++) {
        if ((n = place_of(TASK, p->tasks[i]->name)) < 0) return p->tasks[i]->name;
        loaded.tasks[n] = p->tasks[i];
    }
    for (int i = 0; p->blocks && p->blocks[i].name; i++) {
        if ((n = place_of(BLOCK, p->blocks[i].name)) < 0) return p->blocks[i].name;
        loaded.blocks[n] = p->blocks[i];
    }
    for (int i = 0; p->ops && p->ops[i]; i++) {
        if ((n = place_of(OP, p->ops[i]->name)) < 0) return p->ops[i]->name;
        loaded.ops[n] = p->ops[i];
    }
    for (int i = 0; p->layers && p->layers[i].name; i++) {
        if ((n = place_of(LAYER, p->layers[i].name)) < 0) return p->layers[i].name;
        loaded.layers[n] = p->layers[i];
    }
    loaded.all = (qkv_config_plugin){p->abi,        p->real_size, loaded.tasks,
                                     loaded.blocks, loaded.ops,   loaded.layers};
    return NULL;
}

int cli_load_plugin(const char *command, const char *path, const qkv_config_plugin **out) {
    const qkv_config_plugin *one = NULL;
#ifdef QKV_STATIC
    return cli_error(CLI_FAILED, command,
                     "--plugin %s: this program is static and loads no plugins; a build of your "
                     "own (`make`), or "
                     "the Debian package, does",
                     path);
#endif
    int code = load(command, path, &one);
    if (code != CLI_OK || !one) return code;
    const char *twice = append(one);
    if (twice)
        return cli_error(CLI_USAGE, command, "--plugin %s: there is a '%s' of a plugin already",
                         path, twice);
    *out = &loaded.all;
    return CLI_OK;
}

int cli_take_plugin(const char *command, const cli_option *o, const char *value, void *field) {
    (void)o;
    return cli_load_plugin(command, value, field);
}
