/* Starting processes that end with us. */
#ifndef KERNEL_DRIVE_CHILD_INT_H
#define KERNEL_DRIVE_CHILD_INT_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

/* uv_spawn for a process that is killed when we end, even if we are killed. One that stands apart
 * (UV_PROCESS_DETACHED) leads a process group, and has a keeper (Linux): then process->pid is the
 * keeper's, which ends as the process did, once all that this has started is killed. Without a
 * keeper the group is killed, by the caller. */
int spawn_bound(uv_loop_t *loop, uv_process_t *process, const uv_process_options_t *options);

/* Kills what stands apart and still runs, with all that it started. */
void keeper_kill(int pid);

/* Called in the child of a fork by `parent`: returns in the process that shall become the program,
 * which is another one where it is to have a keeper. Elsewhere than on Linux it does nothing. */
void keeper_part(pid_t parent, bool keeps);
#endif
