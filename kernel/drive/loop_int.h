/* What the files of this room keep on a loop, and have of it. */
#ifndef KERNEL_DRIVE_LOOP_INT_H
#define KERNEL_DRIVE_LOOP_INT_H

#include "kernel/drive/loop.h"

struct uv_timer_s;

enum loop_slot { LOOP_SLOT_CURL, LOOP_SLOT_NET, LOOP_SLOT_LIMITER, LOOP_SLOTS };

/* What was put into a slot, NULL when nothing was. */
void *loop_slot(const struct loop *l, enum loop_slot slot);

/* Puts p (not NULL) into an empty slot. loop_free calls free_fn(p) before libuv's loop is closed;
 * it may close handles. */
void loop_slot_set(struct loop *l, enum loop_slot slot, void *p, void (*free_fn)(void *p));

/* A timer of libuv's, not started; its memory goes when the loop has closed it. */
struct uv_timer_s *loop_timer_new(struct loop *l, void *data);
void loop_timer_free(struct uv_timer_s *t);

/* Ends the process with exit status 4 and a message when libuv refuses what the program cannot go
 * on without (out of descriptors, of kernel memory): as for malloc, no caller can do better, and
 * what was written before is on disk. */
void loop_must(const char *what, int uv_code);
#endif
