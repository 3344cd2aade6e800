/* Starting children, for who has words of its own where that fails. */
#ifndef KERNEL_DRIVE_CHILD_INT_H
#define KERNEL_DRIVE_CHILD_INT_H

#include "kernel/drive/child.h"

/* child_start; NULL where it cannot be started, with the system's reason in *why. */
struct child *child_new(const struct child_options *o, const char **why);
#endif
