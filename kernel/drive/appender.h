/* A file that only grows; each append is one write(2), so that it survives kill -9. A regular file
 * is locked as long as it is open (flock), so that two runs never mix their lines. */
#ifndef KERNEL_DRIVE_APPENDER_H
#define KERNEL_DRIVE_APPENDER_H

#include "kernel/base/err.h"
#include "kernel/base/str.h"

struct appender;
enum append_mode { APPEND_NEW /* must not exist */, APPEND_TRUNCATE, APPEND_CONTINUE };
/* ERR_EXISTS, ERR_INPUT (a folder), ERR_IO (also: another appender has it open). path "-" =
 * standard output. */
int appender_open(const char *path, enum append_mode mode, struct appender **out,
                  struct err *e) MUST_CHECK;
/* Whether the file could be opened to append, as far as can be told without making or changing
 * anything. Errors as appender_open, without ERR_EXISTS. */
int appender_check(const char *path, struct err *e) MUST_CHECK;
/* ERR_IO on a full disk and the like, from then on for every append; what was written before stays,
 * and of a file nothing of `data`. */
int appender_add(struct appender *a, struct str data, struct err *e) MUST_CHECK;
/* fsync and close; frees a in every case. */
int appender_close(struct appender *a, struct err *e) MUST_CHECK;
/* Likewise without fsync, which costs more than a whole replayed run: for what can be made again.
 * It survives kill -9 still, but maybe not a loss of power in the next half minute. */
int appender_close_unsynced(struct appender *a, struct err *e) MUST_CHECK;
#endif
