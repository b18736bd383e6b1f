/* gnuplot.c - finding and running gnuplot. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // pipe2, posix_spawn_file_actions_addfchdir_np, environ
#endif

#include "train/plot/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool executable(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *qkv_plot_gnuplot_find(void) {
    const char *path = getenv("PATH");
    if (!path) path = "/usr/local/bin:/usr/bin:/bin";
    size_t most = strlen(path) + sizeof "/gnuplot";
    char *candidate = malloc(most);
    if (!candidate) return NULL;
    for (size_t n; *path; path += n + (path[n] == ':')) {
        n = strcspn(path, ":");
        if (*path != '/') continue;
        snprintf(candidate, most, "%.*s/gnuplot", (int)n, path);
        if (executable(candidate)) return candidate;
    }
    free(candidate);
    return NULL;
}

/* Starts it; its stderr goes into the pipe's writing end. Returns an errno, 0 if all is well. */
static int start(pid_t *pid, const char *gnuplot, int dir, char *const argv[], int complaints) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int err = posix_spawn_file_actions_init(&files);
    if (err) return err;
    if ((err = posix_spawnattr_init(&attr))) {
        posix_spawn_file_actions_destroy(&files);
        return err;
    }
    sigset_t none;
    sigemptyset(&none);
    if (!err) err = posix_spawnattr_setsigmask(&attr, &none);
    if (!err) err = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    if (!err) err = posix_spawn_file_actions_addfchdir_np(&files, dir);
    if (!err) err = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!err) err = posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    if (!err) err = posix_spawn_file_actions_adddup2(&files, complaints, 2);
    if (!err) err = posix_spawn(pid, gnuplot, &files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return err;
}

/* Reads to the end, and keeps the beginning. */
static void listen_to(int fd, char *text, size_t most) {
    size_t n = 0;
    char rest[512];
    for (;;) {
        bool full = n == most - 1;
        ssize_t got = read(fd, full ? rest : text + n, full ? sizeof rest : most - 1 - n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        if (!full) n += (size_t)got;
    }
    text[n] = '\0';
}

/* The first line that names a line of the script, preferably no warning; else the first line that
 * is not blank. */
static void first_complaint(char *text, char *why) {
    const char *best = "";
    int rank = 0;
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        line += strspn(line, " \t");
        int r = strstr(line, "\" line ") ? (strstr(line, "warning") ? 2 : 3)
                : *line && *line != '^'  ? 1
                                         : 0;
        if (r > rank) {
            rank = r;
            best = line;
        }
    }
    snprintf(why, QKV_IO_ERROR, "%.500s", best);
}

qkv_io_status qkv_plot_gnuplot_run(const char *gnuplot, int dir, const char *const *arguments,
                                   char *why) {
    enum { MOST = 12 };
    char *arg[MOST] = {(char *)(uintptr_t) "gnuplot", (char *)(uintptr_t) "-d",
                       (char *)(uintptr_t) "-c"};
    for (int i = 0; i < MOST - 4 && arguments[i]; i++) arg[3 + i] = (char *)(uintptr_t)arguments[i];
    int ends[2] = {-1, -1}, err = 0, code = 0;
    pid_t pid = -1;
    char text[4096] = "";
    if (pipe2(ends, O_CLOEXEC)) err = errno;
    if (!err) err = start(&pid, gnuplot, dir, arg, ends[1]);
    if (ends[1] >= 0) close(ends[1]);
    if (!err) {
        listen_to(ends[0], text, sizeof text);
        // ECHILD: the host lets the system collect its children. The picture will tell.
        while (waitpid(pid, &code, 0) < 0 && errno == EINTR) continue;
    }
    if (ends[0] >= 0) close(ends[0]);
    if (err) return qkv_io_error(why, "run", gnuplot, err), QKV_IO_FAILED;
    first_complaint(text, why);
    if (code == 0) return QKV_IO_OK;
    if (WIFSIGNALED(code))
        qkv_io_fail(why, "gnuplot was ended by signal %d", WTERMSIG(code));
    else if (!*why)
        qkv_io_fail(why, "gnuplot ended with exit code %d", WEXITSTATUS(code));
    return QKV_IO_FAILED;
}
