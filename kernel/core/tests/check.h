/* A checker of the kernel's numbered invariants (the top of kernel.c), from outside: it sees the
 * configuration, the events fed, the commands, the log's lines, and nothing else of the kernel.
 * It shares no code with kernel/core. Drivers of tests, the fuzz target and simulators hand it
 * everything as it happens, in this order: the event, the lines, the commands. */
#ifndef KERNEL_CORE_TESTS_CHECK_H
#define KERNEL_CORE_TESTS_CHECK_H

#include "kernel/core/kernel.h"

struct check;

/* config: copied, its views must outlive the check. */
struct check *check_new(const struct kernel_config *config);
void check_free(struct check *c); /* NULL allowed */

/* kernel_feed(ev, now) returned rc. */
void check_event(struct check *c, const struct event *ev, int rc, uint64_t now);

/* Whole lines as kernel_take_log gave them, or of a log that is gone on with. */
void check_lines(struct check *c, struct str lines);

void check_command(struct check *c, const struct command *cmd);

/* The process died: nothing that was open is open any more. */
void check_crash(struct check *c);

/* The first invariant that was broken, "I6: a model call beside a tool"; NULL = none so far. */
const char *check_fault(const struct check *c);
#endif
