/* A program that runs beside us, with our standard streams and environment. It ends when we end,
 * even if we are killed. */
#ifndef KERNEL_DRIVE_CHILD_H
#define KERNEL_DRIVE_CHILD_H

#include <stddef.h>

#include "kernel/base/err.h"
#include "kernel/drive/loop.h"

struct child;

struct child_variable {
    const char *name;
    const char *value;
};

struct child_options {
    struct loop *loop;
    char **argv;                            /* argv[0] is looked up in PATH; ends with NULL */
    const struct child_variable *variables; /* set in its environment, over what is there */
    size_t n_variables;
    void *ctx;
    /* It has ended: with an exit status, or by a signal (else 0). */
    void (*ended)(void *ctx, int status, int signal);
};

/* Starts it. ERR_IO: it cannot be started, or there is no such program. Views are
 * needed only during the call. Owned by the caller. */
int child_start(const struct child_options *o, struct child **out, struct err *e) MUST_CHECK;

/* Sends it a signal, if it has not ended. */
void child_signal(struct child *c, int signal);

/* Lets go of it: what still runs is killed. NULL allowed. */
void child_free(struct child *c);
#endif
