/* Starting children, for who has words of its own where that fails, and what keeps them. */
#ifndef KERNEL_DRIVE_CHILD_INT_H
#define KERNEL_DRIVE_CHILD_INT_H

#include <sys/types.h>

#include "kernel/drive/child.h"

/* child_start; NULL where it cannot be started, with the system's reason in *why. */
struct child *child_new(const struct child_options *o, const char **why);

/* Called in the child of a fork by `parent`, which shall become a program that is killed when the
 * parent ends, even if that is killed. With `keeps` it may be a keeper instead (Linux) and never
 * return: a process that ends as the program did, once all that this has started is killed. It
 * returns in another one then. Elsewhere than on Linux it does nothing. */
void keeper_part(pid_t parent, bool keeps);

/* Kills a program that leads a process group and still runs: its keeper, or where it has none the
 * group. pid: the one's or the other's. */
void keeper_kill(pid_t pid);
#endif
