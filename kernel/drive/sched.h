/* Time for one session: what its "now" is and what is due when. A virtual scheduler jumps from one
 * due thing to the next (fake and replay); a real one follows the event loop's clock. Everything
 * that a session hears comes through here, so that recording and replay see the same milliseconds.
 */
#ifndef KERNEL_DRIVE_SCHED_H
#define KERNEL_DRIVE_SCHED_H

#include <stdbool.h>
#include <stdint.h>

struct loop; /* the event loop: see loop.h */
struct sched;
struct timer;

/* A virtual clock, starting at 0. loop: asked to run it (loop_run) when something is due. */
struct sched *sched_virtual(struct loop *loop);

/* The loop's monotonic clock, counted from now on. */
struct sched *sched_real(struct loop *loop);

/* A virtual clock on which things come when their time is there by the wall, `thousandths` (≥ 1)
 * thousandths as fast as it: what comes and its milliseconds are those of sched_virtual. */
struct sched *sched_paced(struct loop *loop, uint32_t thousandths);

/* Makes a real clock of one from sched_virtual, which goes on from its `now`; others stay as they
 * are. Also from inside a callback. */
void sched_make_real(struct sched *s);

/* Moves `now` on by ms while nothing is due: for a run that goes on where another process left it,
 * or after a while that a recording knows of. */
void sched_skip(struct sched *s, uint64_t ms);

/* Frees it; things still due are dropped. NULL allowed. */
void sched_free(struct sched *s);

/* True for a paced one too. */
bool sched_is_virtual(const struct sched *s);

/* Milliseconds since it was made: the one authoritative now; constant during a callback. */
uint64_t sched_now(const struct sched *s);

/* Calls fn(arg) when `delay_ms` has passed, never from inside this call. Things due at the same
 * millisecond come by `order`, then in order of posting. order: 0 for everything but tool results,
 * which carry their call's number. Where a lower nonzero order becomes due in a millisecond in
 * which a higher one has already come, the clock moves on by 1 ms first. The handle is valid until
 * fn is called or sched_cancel. */
struct timer *sched_post(struct sched *s, uint64_t delay_ms, uint32_t order, void (*fn)(void *arg),
                         void *arg);
/* Calls fn(arg) at an absolute millisecond (now if past). Under a real clock `now` is exactly
 * `at_ms` in the callback unless it has moved past it, so that a late wake-up leaves no trace.
 * Comes after everything else due at that millisecond. */
struct timer *sched_wake(struct sched *s, uint64_t at_ms, void (*fn)(void *arg), void *arg);
void sched_cancel(struct sched *s, struct timer *t); /* t NULL allowed */

/* Work in the world is under way (a child process): virtual time stands still and nothing is
 * delivered until all of it has ended, so that its results come by `order`. Calls nest. */
void sched_hold(struct sched *s);
void sched_release(struct sched *s);

/* Brings `now` up to date before handing on something that came from outside (real clock only). It
 * never moves past something that is still to be delivered, so late timers leave no trace. */
void sched_touch(struct sched *s);
#endif
