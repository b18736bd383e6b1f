/* sweep_slurm.c - qkv sweep --slurm: the script of the jobs, and its submission. */
#define _GNU_SOURCE  // environ
#include "train/cli/sweep_slurm.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "train/cli/cli.h"
#include "train/io/text.h"

static const char head[] =
    "#!/bin/sh\n"
    "#SBATCH --job-name=qkv-sweep\n"
    "#SBATCH --requeue\n"
    "#SBATCH --open-mode=append\n"
    "#SBATCH --cpus-per-task=%ld\n"
    "# Written by qkv sweep --slurm: trains a sweep in parts, then merges them. `sh job.sh "
    "[OPTIONS OF sbatch]`\n"
    "# submits it again. What is trained stays, also when a node is lost and its job begins anew.\n"
    "parts=%ld threads=%ld";

static const char body[] =
    "\n"
    "train() { sweep \"$@\" --threads $threads --jobs $((SLURM_CPUS_PER_TASK / threads)); }\n"
    "case ${1-} in\n"
    "part)\n"
    "    i=$SLURM_ARRAY_TASK_ID\n"
    "    sweep --merge \"$dir\" --out \"$dir/slurm/part-$i\" # the lists, and what is trained "
    "already\n"
    "    train \"$dir/slurm/part-$i\" --part \"$i/$parts\"\n"
    "    ;;\n"
    "merge)\n"
    "    sweep --merge \"$dir\" \"$dir\"/slurm/part-* --out \"$dir\"\n"
    "    train \"$dir\" # what a part did not come to\n"
    "    ;;\n"
    "*)\n"
    "    log=$(printf '%s/slurm' \"$dir\" | sed 's/%/%%/g')\n"
    "    array=$(sbatch --parsable \"$@\" --array=1-$parts --output=\"$log/%a.log\" \"$0\" part) "
    "|| exit\n"
    "    merge=$(sbatch --parsable \"$@\" --dependency=\"afterany:${array%%;*}\" \\\n"
    "        --output=\"$log/merge.log\" \"$0\" merge) || { scancel \"${array%%;*}\"; exit 1; }\n"
    "    echo \"Job ${array%%;*} trains $parts parts, job ${merge%%;*} merges them. squeue shows "
    "both.\"\n"
    "    ;;\n"
    "esac\n";

/* " NAME='PATH'", absolute, as a shell reads it. */
static bool add_path(qkv_io_text *out, const char *name, const char *path) {
    char whole[PATH_MAX];
    if (!realpath(path, whole)) return false;
    qkv_io_text_add(out, " %s='", name);
    for (const char *c = whole; *c; c++)
        qkv_io_text_put(out, *c == '\'' ? "'\\''" : c, *c == '\'' ? 4 : 1);
    qkv_io_text_add(out, "'");
    return true;
}

static int write_script(const cli_sweep_slurm *s, const char *path, tensor_arena *arena) {
    char error[QKV_IO_ERROR], folder[QKV_IO_PATH];
    qkv_io_text out = {.arena = arena, .failed = !arena};
    qkv_io_text_add(&out, head, s->jobs * s->threads, s->parts, s->threads);
    if (!add_path(&out, "qkv", "/proc/self/exe") || !add_path(&out, "dir", s->dir) ||
        (s->plugin && !add_path(&out, "plugin", s->plugin)))
        return cli_error(CLI_FAILED, "sweep", "--slurm: a path cannot be resolved: %s",
                         strerror(errno));
    qkv_io_text_add(&out, "\nsweep() { \"$qkv\" sweep %s\"$@\"; }",
                    s->plugin ? "--plugin \"$plugin\" " : "");
    qkv_io_text_put(&out, body, strlen(body));
    if (out.failed) return cli_error(CLI_FAILED, "sweep", "out of memory");
    if (!qkv_io_path(folder, s->dir, "slurm", error) ||
        !qkv_io_make_directory(&cli_files, folder, error) ||
        !qkv_io_write_file(&cli_files, path, out.at, out.n, error))
        return cli_error(CLI_FAILED, "sweep", "%s", error);
    return CLI_OK;
}

/* sh job.sh OPTIONS */
static int submit(const cli_sweep_slurm *s, char *path) {
    char **args = calloc((size_t)s->n_options + 3, sizeof *args);
    posix_spawn_file_actions_t files;
    pid_t child;
    int status = 0;
    if (!args) return cli_error(CLI_FAILED, "sweep", "out of memory");
    args[0] = "sh";
    args[1] = path;
    memcpy(args + 2, s->options, (size_t)s->n_options * sizeof *args);
    posix_spawn_file_actions_init(&files);
    if (s->quiet) posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", 1, 0);
    const int failed = posix_spawnp(&child, "sh", &files, NULL, args, environ);
    posix_spawn_file_actions_destroy(&files);
    free(args);
    while (!failed && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (!failed && WIFEXITED(status) && WEXITSTATUS(status) == 0) return CLI_OK;
    return cli_error(CLI_FAILED, "sweep",
                     "--slurm: nothing was submitted. `sh '%s' [OPTIONS OF sbatch]` tries again",
                     path);
}

int cli_sweep_submit(const cli_sweep_slurm *s) {
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    if (!qkv_io_path(path, s->dir, "slurm/job.sh", error))
        return cli_error(CLI_FAILED, "sweep", "%s", error);
    tensor_arena *arena = tensor_arena_new(NULL);
    const int code = write_script(s, path, arena);
    tensor_arena_free(arena);
    return code == CLI_OK ? submit(s, path) : code;
}
