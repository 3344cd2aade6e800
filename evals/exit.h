/* The exit statuses of the program. */
#ifndef EVALS_EXIT_H
#define EVALS_EXIT_H

#include "kernel/core/kernel.h"

enum {
    EXIT_OK = 0,
    EXIT_FAILED = 1, /* an expectation failed, or a run did not complete */
    EXIT_USAGE = 2,  /* bad usage or bad input */
    EXIT_MISS = 3,   /* cassette miss or drift */
    EXIT_ENVIRONMENT = 4,
    EXIT_INTERRUPTED = 130
};

/* What an error code and a run's end stand for. */
int exit_of_code(int code);
int exit_of_status(enum run_status s);

/* The gravest of two exit statuses: 130, 2, 3, 4, 1, 0. */
int exit_worse(int a, int b);
#endif
