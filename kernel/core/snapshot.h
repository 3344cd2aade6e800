/* A kernel's state as text, so that a long event log need not be fed from its start. A snapshot
 * stands for the first lines of one log and holds a hash of their bytes, and one of itself: it is
 * used with that log alone, by kernel_replay, and only as it was written. The log stays the whole
 * truth: a snapshot can be lost, or passed over, at no cost but time. */
#ifndef KERNEL_CORE_SNAPSHOT_H
#define KERNEL_CORE_SNAPSHOT_H

#include "kernel/core/kernel.h"

enum {
    SNAPSHOT_LINES = 64,           /* of the log at least between two */
    SNAPSHOT_BYTES_MAX = 256 << 20 /* larger ones are not made */
};

/* How every snapshot begins. */
#define SNAPSHOT_BEGINNING "{\"snapshot\":"

/* The latest snapshot of a run; all 0 = none yet. */
struct snapshot_mark {
    int64_t lines;  /* of the log then */
    uint64_t bytes; /* likewise */
    size_t size;    /* its own bytes */
};

/* Whether a snapshot is worth its bytes: SNAPSHOT_LINES behind the last one, and when the log has
 * grown by as much as that one's size, so that all before the newest are together no larger than
 * the log. To be asked when kernel_take_log has given lines and nothing has been fed since. */
bool kernel_snapshot_due(const struct kernel *k, const struct snapshot_mark *last);

/* Appends the state behind the last line that kernel_take_log gave, as one line of JSON, and tells
 * of it in *mark (may be NULL). The same state gives the same bytes. False, and nothing is
 * appended, where no snapshot can be taken: calls of a reply are open, a model call is to be tried
 * again, a summary is being made, lines wait to be taken (all of which passes), or it would be
 * larger than SNAPSHOT_BYTES_MAX. To be called where kernel_snapshot_due is to be asked. */
bool kernel_snapshot(const struct kernel *k, struct buf *out,
                     struct snapshot_mark *mark) MUST_CHECK;
#endif
