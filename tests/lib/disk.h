/* disk.h - a file system in memory whose power can fail.
 *
 * It does what a program sees of a file system, and keeps a log of it. disk_after_power_loss()
 * makes a disk as it may be found when the power failed after any part of the log. The rules are
 * harsher than those of common file systems:
 *
 *   - Of what was written to a file since its last fsync, each block (DISK_BLOCK bytes) is there or
 *     is not, each by itself. The file's length is that after any of the writes. What was never
 *     written reads as zeros, or as rubbish.
 *   - Of what happened to a name (created, renamed to or from, removed) since the last fsync of its
 *     directory, any part is there, independent of other names and of the data. A rename may have
 *     happened to one name and not to the other.
 *   - After an fsync that failed, what was written before it may be lost for ever, whatever a later
 *     fsync says.
 *
 * Paths are taken as they are, but for "./" before them. Not for several threads. */
#ifndef TESTS_DISK_H
#define TESTS_DISK_H

#include "train/io/io.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DISK_BLOCK = 256 };

typedef struct disk disk;

disk *disk_new(void);  // an empty one with the current directory
void disk_free(disk *d);

/* The calls, with the disk as ctx: copy the table to replace some. */
qkv_io disk_io(disk *d);

/* The nth fsync from now on, of a file or a directory, fails with EIO; 0: none. */
void disk_fail_sync(disk *d, int n);

bool disk_is_directory(const disk *d, int fd);

/* Notes in the log that `value` was promised to somebody. disk_promised: the last note in the log's
 * first `at` entries (0: none). disk_log: how many entries there are. */
void disk_promise(disk *d, int value);
int disk_promised(const disk *d, long at);
long disk_log(const disk *d);

/* How much of what was not synced is there, as chances. rubbish: beyond it are no zeros. */
typedef struct {
    double data, size, names;
    bool rubbish;
} disk_luck;

/* A disk as it may be after a power loss when `at` entries of the log had happened. *random is the
 * generator's state. */
disk *disk_after_power_loss(const disk *d, long at, disk_luck luck, uint64_t *random);

/* A checksum of all names and contents. */
uint64_t disk_sum(const disk *d);

/* The content of a file, valid until the disk changes; NULL: there is none. */
const unsigned char *disk_content(const disk *d, const char *path, size_t *n);

/* Uniform in [0, 1) and in 0..n-1. */
double disk_uniform(uint64_t *random);
uint32_t disk_below(uint64_t *random, uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
