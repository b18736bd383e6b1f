/* stop.c - the one set-up of signals.
 *
 * People send INT, QUIT, TERM and HUP; batch systems USR1, USR2 or whatever the job asked for, some
 * time before they kill; the kernel XCPU at a limit of processor time, every second until it is the
 * hard one; timers ALRM, VTALRM, PROF; a power supply PWR; a closed pipe PIPE. */
#include "train/cli/stop.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include "train/cli/cli.h"
#include "train/cli/guard.h"

volatile sig_atomic_t cli_stop;

static double first_at;  // when it came; written before cli_stop, read after it

static const int signals[] = {SIGINT,    SIGQUIT, SIGTERM, SIGHUP,  SIGUSR1,   SIGUSR2,
                              SIGXCPU,   SIGALRM, SIGPIPE, SIGPROF, SIGVTALRM,
#ifdef SIGPWR
                              SIGPWR,
#endif
#ifdef SIGSTKFLT
                              SIGSTKFLT,
#endif
#ifdef SIGPOLL
                              SIGPOLL
#endif
};

static bool insists(int number) {
    return number == SIGINT || number == SIGQUIT || number == SIGTERM || number == SIGHUP;
}

static void on_signal(int number) {
    if (cli_stop && insists(number) && qkv_io_seconds() - first_at > 0.5)
        cli_guard_ends(), cli_remove_temporaries(), _exit(CLI_SIGNAL + number);
    if (cli_stop) return;
    first_at = qkv_io_seconds();
    cli_stop = number;
}

/* Ends the process by the same signal, once it is let through. */
static void leave(int number) {
    cli_remove_temporaries();
    signal(number, SIG_DFL);
    raise(number);
}

/* Exchanges one way of handling for another where it is the one there. */
static void exchange(int number, void (*from)(int), void (*to)(int)) {
    struct sigaction was, now = {.sa_handler = to, .sa_flags = SA_RESTART};
    sigemptyset(&now.sa_mask);
    if (sigaction(number, NULL, &was) == 0 && was.sa_handler == from)
        sigaction(number, &now, NULL);  // under nohup SIGHUP stays ignored
}

static void exchange_all(void (*from)(int), void (*to)(int)) {
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) exchange(signals[i], from, to);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) exchange(number, from, to);
}

/* XCPU comes at the soft limit of processor time, KILL at the hard one. Where both are the same, as
 * `ulimit -t` sets them, only KILL would come: the soft one is drawn in, by what it may take to finish
 * a step and save. */
static void leave_time_to_save(void) {
    struct rlimit cpu;
    if (getrlimit(RLIMIT_CPU, &cpu) != 0 || cpu.rlim_max == RLIM_INFINITY ||
        cpu.rlim_cur != cpu.rlim_max || cpu.rlim_max < 2)
        return;
    rlim_t ahead = cpu.rlim_max / 10;
    cpu.rlim_cur -= ahead < 1 ? 1 : ahead > 30 ? 30 : ahead;
    setrlimit(RLIMIT_CPU, &cpu);
}

void cli_clean_on_signals(void) { exchange_all(SIG_DFL, leave); }
void cli_catch_signals(void) {
    exchange_all(leave, on_signal);
    leave_time_to_save();
}
void cli_release_signals(void) { exchange_all(on_signal, leave); }
