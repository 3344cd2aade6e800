/* What the files about files share: descriptors to write to, and how a failure is told. */
#ifndef KERNEL_DRIVE_FILES_INT_H
#define KERNEL_DRIVE_FILES_INT_H

#include "kernel/base/err.h"
#include "kernel/base/str.h"

/* ---- files.c ---- */

/* `what` ("cannot write") failed for path, by errno: ERR_INPUT (a folder), ERR_IO. */
int file_fail(struct err *e, const char *path, const char *what, int reason);
/* Why path could not be opened to read, by its errno: ERR_NOT_FOUND, ERR_INPUT or ERR_IO. */
int file_fail_open(struct err *e, const char *path, int reason);

/* ---- files_write.c ---- */

/* Opens without waiting for somebody who reads a pipe; writes then wait as usual. more: flags of
 * open(2). Returns the descriptor or -1 with errno. */
int file_open_to_write(const char *path, int more);
/* Returns 0 or an errno; *done: so many bytes were written. */
int file_write_some(int fd, struct str data, size_t *done);
/* Flushes what can be flushed to disk, and closes fd in every case. Returns 0 or the first errno.
 */
int file_finish(int fd);
#endif
