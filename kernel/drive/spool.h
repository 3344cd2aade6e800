/* Bytes put aside: in memory while they are few, then in a file that has no name and is gone with
 * the process. */
#ifndef KERNEL_DRIVE_SPOOL_H
#define KERNEL_DRIVE_SPOOL_H

#include "kernel/base/err.h"
#include "kernel/base/str.h"

struct spool;

/* An empty one, owned by the caller, that keeps at most so many bytes in memory. Where no file can
 * be made or written (no room in /tmp), all of them stay there. Never NULL. */
struct spool *spool_new(size_t max_in_memory);
void spool_free(struct spool *s); /* NULL allowed */

/* Appends bytes. Returns where they begin. */
uint64_t spool_add(struct spool *s, struct str bytes);

/* The n bytes at `at`, which were added, into out. ERR_IO: the file cannot be read. */
int spool_read(struct spool *s, uint64_t at, size_t n, char *out, struct err *e) MUST_CHECK;
#endif
