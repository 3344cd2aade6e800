/* Something that answers tool calls: built-in, command, canned, a cassette, a recorder around any.
 */
#ifndef KERNEL_TOOLBOX_H
#define KERNEL_TOOLBOX_H

#include "kernel/core/model.h"

struct toolbox;
struct tool_run; /* one call under way; owned by the toolbox, gone after its end or stop */

struct tool_request {
    struct str call_id;
    struct str name;
    struct str arguments;  /* a JSON object */
    uint32_t order;        /* of the call in the run, from 1; passed on to sched_post */
    int64_t attempt;       /* from 1 */
    struct str request_id; /* as in struct command: the same for each attempt and after a resume */
};

/* Exactly one end, never from inside start. `output` is raw: not yet truncated. With `miss` set the
 * call was not in a cassette and could not be run: output->message says why and what to try. */
struct tool_sink {
    void *ctx;
    void (*end)(void *ctx, const struct tool_output *output, bool miss);
};

struct toolbox_ops {
    /* Views of rq need to live only during start. */
    struct tool_run *(*start)(struct toolbox *t, const struct tool_request *rq,
                              struct tool_sink sink);
    void (*stop)(struct toolbox *t, struct tool_run *run); /* no sink call follows */
    void (*free)(struct toolbox *t);
};

/* The first member of every implementation. */
struct toolbox {
    const struct toolbox_ops *ops;
};
#endif
