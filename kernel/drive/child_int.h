/* Starting processes that end with us. */
#ifndef KERNEL_DRIVE_CHILD_INT_H
#define KERNEL_DRIVE_CHILD_INT_H

#include <uv.h>

/* uv_spawn for a process that asks to be killed when we end, even if we are killed. */
int spawn_bound(uv_loop_t *loop, uv_process_t *process, const uv_process_options_t *options);
#endif
