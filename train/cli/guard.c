/* guard.c - who ended the process?
 *
 * exit() runs what atexit() was given; _exit() and _Exit() are this file's own, which a plugin's calls
 * find first, since the program exports its names. A crash is a signal. Whose code was running is read
 * off the stack: the first frame that lies within a plugin. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // dl_iterate_phdr
#endif
#include "train/cli/guard.h"

#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <execinfo.h>
#else
#define backtrace(frames, n) 0  // one plugin is known without it
#endif

#include "train/cli/cli.h"

enum { MAX_PLUGINS = 16, MAX_FRAMES = 256, STACK = 1 << 16 };

static struct {
    char name[256];
    uintptr_t from, to;  // where it lies; 0, 0: it is being opened
} plugins[MAX_PLUGINS];

static int n_plugins;
static char program[64], left[QKV_IO_PATH];
static pid_t guarded;  // 0: nothing is; a child that a plugin has forked may end as it likes
static volatile sig_atomic_t over;

/* ---- words, as a signal handler may write them ---- */

static void say(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

/* The plugin in whose code, or for whom, the process runs now; -1: none is on the stack. */
static int running(void) {
    void *frame[MAX_FRAMES];
    const int n = backtrace(frame, MAX_FRAMES);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n_plugins; k++)
            if ((uintptr_t)frame[i] >= plugins[k].from && (uintptr_t)frame[i] < plugins[k].to)
                return k;
    for (int k = 0; k < n_plugins; k++)
        if (!plugins[k].to) return k;
    return -1;
}

/* "the plugin 'a.c' ", or all of them for k < 0. */
static void say_plugin(int k) {
    for (int i = 0; i < n_plugins; i++) {
        if (k >= 0 && i != k) continue;
        say(k >= 0 || i == 0 ? "the plugin '" : "or '");
        say(plugins[i].name);
        say("' ");
    }
}

static void accuse(int k, const char *of) {
    say(program);
    say_plugin(k);
    say(of);
    say("\n");
}

static void remove_left(void) {
    if (!*left) return;
    unlink(left);
    *strrchr(left, '/') = '\0';
    rmdir(left);
    *left = '\0';
}

/* ---- the process ends ---- */

static bool is_ours(void) { return over || !guarded || getpid() != guarded; }

static _Noreturn void leave(int code) {
    for (;;) syscall(SYS_exit_group, code);
}

static void end_by_plugin(const char *how) {
    if (is_ours()) return;
    over = 1;
    accuse(running(), how);
    remove_left();
    leave(CLI_FAILED);
}

static void at_exit(void) {
    if (!is_ours()) fflush(stdout);
    end_by_plugin(
        "ended the program by exit(). A plugin must return what went wrong to its caller");
}

#define BY_EXIT_NOW \
    "ended the program by _exit(). A plugin must return what went wrong to its caller"

_Noreturn void _exit(int code) {
    end_by_plugin(BY_EXIT_NOW);
    leave(code);
}

_Noreturn void _Exit(int code) {
    end_by_plugin(BY_EXIT_NOW);
    leave(code);
}

/* ---- it crashes ---- */

static const struct {
    int number;
    const char *words;
} signals[] = {
    {SIGSEGV, "crashed: it used memory that is not there (SIGSEGV)"},
    {SIGBUS, "crashed: it used memory that is not there (SIGBUS)"},
    {SIGFPE, "crashed: it divided an integer by zero (SIGFPE)"},
    {SIGILL, "crashed: it ran what is no instruction (SIGILL)"},
    {SIGTRAP, "crashed: it ran into a trap (SIGTRAP)"},
    {SIGSYS, "crashed: it asked the system for what there is not (SIGSYS)"},
    {SIGABRT, "crashed: it ended the program by abort() (SIGABRT)"},
};
enum { SIGNALS = sizeof signals / sizeof *signals };

/* What a plugin has handed over, or spoilt, may crash others; or the program has a fault. */
static void say_crashed(int k, const char *words) {
    if (k >= 0) {
        accuse(k, words);
        return;
    }
    say(program);
    say("the program crashed (");
    say(strrchr(words, '(') + 1);
    say(" outside the code of ");
    say_plugin(k);
    say("but perhaps by what that wrote or returned\n");
}

static void on_crash(int number) {
    static volatile sig_atomic_t looking;  // a wild jump leaves a stack that cannot be read
    const char *words = "";
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i].number == number) words = signals[i].words;
    if (!is_ours()) {
        const bool again = looking;
        looking = 1;
        say_crashed(again ? -1 : running(), words);
    }
    over = 1;
    remove_left();
    signal(number, SIG_DFL);
    raise(number);
}

/* On a stack of its own, since the other one may be full. A sanitizer's handlers stay. */
static void catch_crashes(void) {
    static char stack[STACK];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction was, now = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
        sigemptyset(&now.sa_mask);
        if (sigaction(signals[i].number, NULL, &was) == 0 && was.sa_handler == SIG_DFL)
            sigaction(signals[i].number, &now, NULL);
    }
}

/* ---- which plugins there are ---- */

void cli_guard_opens(const char *command, const char *path, const char *object) {
    void *frame[1];
    if (n_plugins == MAX_PLUGINS) return;
    if (!guarded) {
        guarded = getpid();
        snprintf(program, sizeof program, "qkv %s: ", command);
        (void)backtrace(frame, 1);  // loads what it needs while that can be done
        if (atexit(at_exit) != 0 || at_quick_exit(at_exit) != 0) return;  // out of memory
        catch_crashes();
    }
    snprintf(left, sizeof left, "%s", object ? object : "");
    qkv_io_printable(path, plugins[n_plugins].name, sizeof plugins->name);
    n_plugins++;
}

/* Notes where the object lies that has the symbol. */
static int find(struct dl_phdr_info *object, size_t size, void *symbol) {
    uintptr_t from = UINTPTR_MAX, to = 0;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD) continue;
        const uintptr_t begin = (uintptr_t)object->dlpi_addr + part->p_vaddr;
        if (begin < from) from = begin;
        if (begin + part->p_memsz > to) to = begin + part->p_memsz;
    }
    if ((uintptr_t)symbol < from || (uintptr_t)symbol >= to) return 0;
    plugins[n_plugins - 1].from = from;
    plugins[n_plugins - 1].to = to;
    return 1;
}

void cli_guard_opened(const void *symbol) {
    *left = '\0';
    if (!n_plugins || plugins[n_plugins - 1].to) return;  // one more than there is room for
    if (!symbol || !dl_iterate_phdr(find, (void *)(uintptr_t)symbol)) n_plugins--;
}

void cli_guard_ends(void) { over = 1; }
