/* How a file that could not be read is told. */
#ifndef KERNEL_DRIVE_FILES_INT_H
#define KERNEL_DRIVE_FILES_INT_H

#include "kernel/base/err.h"

/* Why path could not be opened to read, by its errno: ERR_NOT_FOUND, ERR_INPUT or ERR_IO. */
int file_fail_open(struct err *e, const char *path, int reason);
/* Why reading path failed, by its errno: ERR_INPUT (a folder), ERR_IO. */
int file_fail_read(struct err *e, const char *path, int reason);
#endif
