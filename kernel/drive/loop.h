/* The event loop (libuv), shared by every session of a process. */
#ifndef KERNEL_DRIVE_LOOP_H
#define KERNEL_DRIVE_LOOP_H

#include "kernel/base/err.h"

struct loop;
struct loop_watch;
struct uv_loop_s;

/* A loop. Cheap: libuv is started at first need. The caller owns it. */
struct loop *loop_new(void);
void loop_free(struct loop *l); /* NULL allowed; everything on it must have ended */

/* Runs until nothing is due and nothing is under way, or loop_stop was called. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* Calls fn(arg, signal) when SIGINT, SIGTERM or SIGHUP (as SIGTERM) arrives, first and further
 * times. One watcher a loop. Does not keep loop_run going. */
void loop_on_interrupt(struct loop *l, void (*fn)(void *arg, int signal), void *arg);

/* Calls fn(arg) in every turn of loop_run in which fd can be read or has ended, until loop_unwatch.
 * Keeps loop_run going. fd becomes non-blocking: it should have a file description of its own. NULL
 * where the system cannot watch it (a plain file). */
struct loop_watch *loop_watch(struct loop *l, int fd, void (*fn)(void *arg), void *arg);
void loop_unwatch(struct loop_watch *w); /* NULL allowed; close fd afterwards. Also inside fn */

/* libuv's loop, started if it was not. For the files of drive/ and for fakellm's server. */
struct uv_loop_s *loop_uv(struct loop *l);

/* Calls fn(arg) in the next turn of loop_run. */
void loop_defer(struct loop *l, void (*fn)(void *arg), void *arg);

/* Drops the deferred calls of fn(arg) that have not come yet. */
void loop_undefer(struct loop *l, void (*fn)(void *arg), void *arg);
#endif
