#include "train/plot/draft.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIRECTORY = O_RDONLY | O_DIRECTORY | O_CLOEXEC };

qkv_plot_status qkv_plot_draft_open(qkv_plot_draft *d, const char *dir, char *why) {
    *d = (qkv_plot_draft){.plots = -1, .fd = -1};
    if (mkdir(dir, 0777) && errno != EEXIST) {
        return qkv_plot_say(why, "cannot make the directory %s: %s", dir, strerror(errno));
    }
    d->plots = open(dir, DIRECTORY);
    if (d->plots < 0)
        return qkv_plot_say(why, "cannot open the directory %s: %s", dir, strerror(errno));
    size_t n = strlen(dir) + sizeof "/.drawing-XXXXXX";
    d->path = malloc(n);
    if (!d->path) return qkv_plot_say(why, "out of memory");
    snprintf(d->path, n, "%s/.drawing-XXXXXX", dir);
    if (!mkdtemp(d->path)) {
        qkv_plot_say(why, "cannot write in %s: %s", dir, strerror(errno));
        free(d->path);
        d->path = NULL;
        return QKV_PLOT_FAILED;
    }
    d->fd = open(d->path, DIRECTORY);
    if (d->fd < 0) return qkv_plot_say(why, "cannot open %s: %s", d->path, strerror(errno));
    return QKV_PLOT_OK;
}

/* The draft holds files only. */
static void empty(int fd) {
    int again = openat(fd, ".", DIRECTORY);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    if (!dir) {
        if (again >= 0) close(again);
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) unlinkat(fd, e->d_name, 0);
    closedir(dir);
}

void qkv_plot_draft_close(qkv_plot_draft *d) {
    if (d->fd >= 0) {
        empty(d->fd);
        close(d->fd);
    }
    if (d->path) rmdir(d->path);
    if (d->plots >= 0) close(d->plots);
    free(d->path);
    *d = (qkv_plot_draft){.plots = -1, .fd = -1};
}

FILE *qkv_plot_draft_file(qkv_plot_draft *d, const char *name, char *why) {
    int fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (f) return f;
    qkv_plot_say(why, "cannot write %s/%s: %s", d->path, name, strerror(errno));
    if (fd >= 0) close(fd);
    return NULL;
}

qkv_plot_status qkv_plot_draft_close_file(FILE *f, const char *name, char *why) {
    errno = 0;
    bool bad = fflush(f) || ferror(f);
    int reason = errno;
    if (fclose(f)) {
        if (!reason) reason = errno;
        bad = true;
    }
    if (!bad) return QKV_PLOT_OK;
    return qkv_plot_say(why, "cannot write %s: %s", name,
                        reason ? strerror(reason) : "an error while writing");
}

qkv_plot_status qkv_plot_draft_end_line(qkv_plot_draft *d, const char *name, char *why) {
    int fd = openat(d->fd, name, O_WRONLY | O_APPEND | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, "\n", 1) == 1;
    if (fd >= 0 && close(fd)) ok = false;
    return ok ? QKV_PLOT_OK : qkv_plot_say(why, "cannot write %s: %s", name, strerror(errno));
}

bool qkv_plot_draft_has(const qkv_plot_draft *d, const char *name) {
    return faccessat(d->fd, name, F_OK, 0) == 0;
}

static FILE *open_in(int dir, const char *name) {
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) return fdopen(fd, "r");
    if (fd >= 0) close(fd);
    return NULL;
}

/* Is there an older file of this name, with other bytes in it? */
static bool differs(const qkv_plot_draft *d, const char *name) {
    FILE *old = open_in(d->plots, name), *new = open_in(d->fd, name);
    bool different = false;
    if (old && new) {
        int a, b;
        do {
            a = getc(old);
            b = getc(new);
        } while (a == b && a != EOF);
        different = a != b;
    }
    if (old) fclose(old);
    if (new) fclose(new);
    return different;
}

qkv_plot_status qkv_plot_draft_keep(qkv_plot_draft *d, const char *name, bool backup, char *why) {
    char kept[64];
    snprintf(kept, sizeof kept, "%s~", name);
    if (backup && differs(d, name) && renameat(d->plots, name, d->plots, kept)) {
        return qkv_plot_say(why, "cannot keep the edited %s as %s: %s", name, kept,
                            strerror(errno));
    }
    if (renameat(d->fd, name, d->plots, name)) {
        return qkv_plot_say(why, "cannot replace %s: %s", name, strerror(errno));
    }
    return QKV_PLOT_OK;
}
