/* A program that runs beside us, with our environment as a rule, and with our standard streams or
 * streams of its own. It ends when we end, even if we are killed. */
#ifndef KERNEL_DRIVE_CHILD_H
#define KERNEL_DRIVE_CHILD_H

#include <stddef.h>

#include "kernel/base/arena.h"
#include "kernel/base/err.h"
#include "kernel/drive/loop.h"

struct child;

struct child_variable {
    const char *name;
    const char *value;
    bool spare; /* set only where the environment has none of this name, or an empty one */
};

struct child_options {
    struct loop *loop;
    char **argv;                            /* argv[0] is looked up in PATH; ends with NULL */
    const struct child_variable *variables; /* set in its environment, over what is there */
    size_t n_variables;
    char **environment; /* all of it, ends with NULL; NULL = ours, with `variables` */
    const char *dir;    /* its working folder; NULL = ours */
    /* It stands apart: its standard input is `input`, and what it writes is heard (fd 1, 2). It
     * leads a process group, whose other members are killed when it ends, on Linux with all else
     * that it has started. What is left elsewhere outside of the group and keeps the streams open
     * keeps the child from ending. */
    bool apart;
    struct str input;
    void (*wrote)(void *ctx, int fd, struct str piece);
    void *ctx;
    /* It has ended: with an exit status, or by a signal (else 0). Comes once, after all it wrote.
     * It may be freed there. */
    void (*ended)(void *ctx, int status, int signal);
};

/* Starts it. ERR_IO: it cannot be started, or there is no such program. Views are
 * needed only during the call. Owned by the caller. */
int child_start(const struct child_options *o, struct child **out, struct err *e) MUST_CHECK;

/* Sends it a signal, if it has not ended. */
void child_signal(struct child *c, int signal);

/* Whether the process itself still runs; false while the child has not ended for its streams. */
bool child_is_running(const struct child *c);

/* Kills it, where it stands apart with its group; nothing that it writes is heard any more. `ended`
 * may come from inside of it. */
void child_kill(struct child *c);

/* Lets go of it: what still runs is killed, likewise. NULL allowed. */
void child_free(struct child *c);

/* Whether there is such a program, as execvp looks for it (POSIX) from the folder `dir`. scratch:
 * for its own use. */
bool program_found(struct arena *scratch, const char *program, const char *dir);
#endif
