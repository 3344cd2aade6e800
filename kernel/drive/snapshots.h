/* The snapshot beside an event log, LOG.snap: with it a long log is opened at once. It says nothing
 * that the log does not say, and may be deleted at any time. */
#ifndef KERNEL_DRIVE_SNAPSHOTS_H
#define KERNEL_DRIVE_SNAPSHOTS_H

#include "kernel/base/arena.h"
#include "kernel/core/kernel.h"

struct snapshots;

/* Keeps one for the log at `path`, a file that is open to be written and by nobody else. anew: the
 * log begins now, so a snapshot that is there is an older one's, and is removed. NULL where none is
 * kept: "-", no regular file, or LOG.snap is there and no snapshot. The caller owns it. */
struct snapshots *snapshots_new(const char *path, bool anew);

/* To be called when lines of k's log are in the file and before anything else is fed: takes a
 * snapshot where one is due. One that cannot be written is no error, and the last that is tried. s
 * NULL allowed. */
void snapshots_take(struct snapshots *s, const struct kernel *k);

void snapshots_free(struct snapshots *s); /* NULL allowed */

/* What stands beside the log at `path`, into arena; p NULL where nothing does. Only kernel_replay
 * can tell whether it is of use. */
struct str snapshots_read(struct arena *arena, const char *path);
#endif
