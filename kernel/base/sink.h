/* Long text that goes out in pieces: it gathers in a buffer and is handed on when there is enough
 * of it, so that its length does not matter. */
#ifndef KERNEL_BASE_SINK_H
#define KERNEL_BASE_SINK_H

#include "kernel/base/err.h"
#include "kernel/base/str.h"

enum { SINK_BYTES = 64 * 1024 };

/* Zero-initialised it keeps everything. The first failure, of writing or of whoever makes the text
 * (who sets code and error), stops it: nothing is handed on any more. */
struct sink {
    struct buf text; /* append here; owned, freed by sink_end */
    int (*write)(void *ctx, struct str piece, struct err *e); /* NULL = all of it stays in text */
    void *ctx;
    int code;
    struct err error;
};

/* Hands on what has gathered where it is more than SINK_BYTES, but for its last byte, which
 * json_next and the like look at. Returns false once something has failed. */
bool sink_ease(struct sink *s);

/* Hands on the rest and frees the text. Returns 0, or the code of what failed, told in e;
 * ERR_LIMIT: the text did not fit into memory. */
int sink_end(struct sink *s, struct err *e) MUST_CHECK;
#endif
