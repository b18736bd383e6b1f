/* gradcheck_apart.c - the gradient check of a plugin's code in a process of its own: it may crash. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "train/cli/gradcheck_apart.h"

/* What ended the child stands before what it was doing, if that is known. */
static void crashed(ag_check_report *r, int status) {
    char how[64], doing[sizeof r->reason];
    snprintf(doing, sizeof doing, "%s", r->reason);
    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "signal %d, %.40s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(how, sizeof how, "exit code %d", WEXITSTATUS(status));
    snprintf(r->reason, sizeof r->reason, "its code ended the process (%s)%s%.200s", how,
             *doing ? ": " : "", doing);
    r->passed = false;
}

typedef struct {
    ag_check_report report;
    bool ended;  // the check has come to its end
} outcome;

bool cli_gradcheck_apart(const ag_op *op, ag_sample_fn *sample, bool has_kinks,
                         ag_check_report *report) {
    outcome *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fflush(stdout);
    pid_t child = shared == MAP_FAILED ? -1 : fork();
    if (child == 0) {
        if (op)
            ag_gradcheck_op(op, &shared->report);
        else
            ag_gradcheck(sample, has_kinks, &shared->report);
        shared->ended = true;
        _exit(0);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR) child = -1;
    if (child < 0) {
        *report = (ag_check_report){.passed = false};
        snprintf(report->reason, sizeof report->reason, "it cannot be checked: %s",
                 strerror(errno));
    } else {
        *report = shared->report;
        if (status != 0 || !shared->ended) crashed(report, status);
    }
    if (shared != MAP_FAILED) munmap(shared, sizeof *shared);
    return report->passed;
}
