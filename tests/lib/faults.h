/* faults.h - file calls which fail on demand, and a directory of its own for each test. */
#ifndef TESTS_FAULTS_H
#define TESTS_FAULTS_H

#include "tests/lib/check.h"
#include "train/io/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a call fails, beside -1 with an errno. */
enum {
    FAULT_SHORT = -1,  // reads and writes move one byte
    FAULT_ZERO = -2,   // reads and writes move nothing and return 0
    FAULT_FULL = -3    // a write moves one byte, all later ones fail with ENOSPC
};

/* The system's calls, one or all of which fail; only syncs are never really made, because they take
 * long. Their letters: Open Read Write siZe Truncate Sync Close reName Unlink Mkdir locK List. */
typedef struct {
    qkv_io io;           // what the library is given: &f->io
    int how;             // an errno or one of the above
    long fail_at;        // the call which fails, counted from 1; 0: none
    bool from_then_on;   // and all calls after it
    long calls, failed;  // so far
    char trace[64];      // the first calls by their letters
    char failed_call;    // the letter of the first that failed
    bool renamed, unlink_failed;
} faults;

void faults_init(faults *f, int how, long fail_at, bool from_then_on);

/* Runs the scenario without a failure, then with each of its calls failing, in every way, alone and
 * with all later ones; `reset` (if any) puts the files back before each run. After each: no
 * descriptor is left, and no temporary file, unless removing it failed. */
void faults_each(void (*scenario)(faults *f, void *ctx), void (*reset)(void *ctx), void *ctx);

/* Setup and teardown of a test: it runs in a new, empty directory. */
int faults_enter(void **state);
int faults_leave(void **state);
#define faults_test(f) cmocka_unit_test_setup_teardown(f, faults_enter, faults_leave)

void faults_put(const char *path, const void *data, size_t n);
void faults_expect(const char *path, const void *data, size_t n);  // that is what it has
int faults_descriptors(void);                                      // open ones
int faults_count(const char *dir, bool only_temporary);            // names in a directory

#ifdef __cplusplus
}
#endif
#endif
