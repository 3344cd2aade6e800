/* A text that comes some bytes at a time, as yaml_source wants it. */
#ifndef KERNEL_BASE_TESTS_PIECES_H
#define KERNEL_BASE_TESTS_PIECES_H

#include <string.h>

#include "kernel/base/str.h"

struct pieces {
    struct str rest;
    size_t most; /* bytes at a time */
    struct str all;
};

static inline bool next_piece(void *ctx, char *out, size_t n, size_t *got)
{
    struct pieces *p = ctx;
    *got = n < p->most ? n : p->most;
    *got = *got < p->rest.n ? *got : p->rest.n;
    if (*got > 0) {
        memcpy(out, p->rest.p, *got);
    }
    p->rest = str_slice(p->rest, *got, p->rest.n);
    return true;
}

static inline bool from_the_start(void *ctx)
{
    struct pieces *p = ctx;
    p->rest = p->all;
    return true;
}
#endif
