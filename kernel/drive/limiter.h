/* Rate limits that all sessions of a process share: transports whose calls start in the order in
 * which they were made, when limits.h lets them. It stands below a recorder, so that a wait is a
 * part of what is recorded, and a replay, which has none of this, takes the same time. */
#ifndef KERNEL_DRIVE_LIMITER_H
#define KERNEL_DRIVE_LIMITER_H

#include "kernel/drive/limits.h"
#include "kernel/drive/sched.h"

struct limiter;

struct limiter_options {
    struct limits_options limits; /* in_flight 0 = as many as connections may be open */
    /* Told of what a user may want to know of waits: one line. NULL = nobody. */
    void (*tell)(void *ctx, struct str text);
    void *ctx;
};

/* A limiter whose time is that of `clock`, which must outlive it. */
struct limiter *limiter_new(struct sched *clock, const struct limiter_options *o);
void limiter_free(struct limiter *l); /* NULL allowed; its transports are gone */

/* The one of a loop, freed with it; limiter_set, before the first use, says how it limits. */
void limiter_set(struct loop *loop, const struct limiter_options *o);
struct limiter *limiter_of(struct loop *loop);

/* A transport over `inner`, which it owns. A call that waits may be stopped, and the deadlines of
 * `inner` count from when it starts. */
struct transport *limiter_transport(struct limiter *l, struct transport *inner);

/* The newest call of such a transport took so many tokens; -1 = unknown: the estimate stays. */
void limiter_used(struct transport *t, int64_t tokens);
#endif
