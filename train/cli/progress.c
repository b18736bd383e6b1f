/* progress.c - a thread that writes the line four times a second, so that what computes need not. */
#include "train/cli/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "train/cli/cli.h"
#include "train/io/words.h"

static const double patience = 2;  // seconds before the first line

static struct {
    pthread_mutex_t lock;
    bool has_thread, working, shown;
    const char *who, *what;
    double since;
    long done, total;
} line = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* All that follow are called with the lock held. */
static void show(void) {
    const double spent = qkv_io_seconds() - line.since;
    if (!line.working || spent < patience) return;
    line.shown = true;
    char seconds[40];
    if (line.total > 0 && line.done > 0)
        qkv_io_words(seconds, sizeof seconds, "%.0f s left",
                     spent / (double)line.done * (double)(line.total - line.done));
    else
        qkv_io_words(seconds, sizeof seconds, "%.0f s", spent);
    fprintf(stderr, "\rqkv %s: ", line.who);
    if (line.total > 0)
        fprintf(stderr, "%ld of %ld %s, ", line.done, line.total, line.what);
    else if (*line.what)
        fprintf(stderr, "%s, ", line.what);
    fprintf(stderr, "%s \033[K", seconds);
    fflush(stderr);
}

static void hide(void) {
    if (line.shown) fprintf(stderr, "\r\033[K");
    line.working = line.shown = false;
}

static void *watch(void *unused) {
    const struct timespec quarter = {.tv_nsec = 250000000};
    (void)unused;
    for (;;) {
        nanosleep(&quarter, NULL);
        pthread_mutex_lock(&line.lock);
        show();
        pthread_mutex_unlock(&line.lock);
    }
    return NULL;
}

/* Signals are for the others. It ends with the process; without a thread there is no line. */
static bool start(void) {
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const bool started = pthread_create(&thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_detach(thread);
    return started;
}

void cli_progress_begin(const char *who, bool silent) {
    if (silent || !cli_terminal(STDERR_FILENO)) return;
    pthread_mutex_lock(&line.lock);
    hide();
    line.who = who;
    line.what = "";
    line.since = qkv_io_seconds();
    line.done = line.total = 0;
    line.has_thread = line.has_thread || start();
    line.working = line.has_thread;
    pthread_mutex_unlock(&line.lock);
}

void cli_progress_at(long done, long total, const char *what) {
    pthread_mutex_lock(&line.lock);
    line.done = done;
    line.total = total;
    line.what = what;
    pthread_mutex_unlock(&line.lock);
}

void cli_progress_end(void) {
    pthread_mutex_lock(&line.lock);
    hide();
    pthread_mutex_unlock(&line.lock);
}
