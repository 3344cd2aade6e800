/* The first seam: a model that answers a request. Implementations wrap each other freely. */
#ifndef KERNEL_LLM_H
#define KERNEL_LLM_H

#include "kernel/core/model.h"

struct llm;
struct llm_call; /* one request under way; owned by the llm, gone after its end or stop */

/* What is asked. Views live until the call's end. */
struct llm_request {
    struct str model;
    const struct message *messages;
    size_t n_messages;
    const struct tool_spec *tools;
    size_t n_tools;
    bool stream;
    struct str temperature; /* number text; n 0 = not sent */
    int64_t max_tokens;     /* -1 = not sent */
};

/* Where the answer goes. delta: zero or more pieces of text; then exactly one end with either reply
 * or failure set (views valid during the call). Never called from inside start. */
struct llm_sink {
    void *ctx;
    void (*delta)(void *ctx, struct str text);
    void (*end)(void *ctx, const struct reply *reply, const struct failure *failure);
};

struct llm_ops {
    struct llm_call *(*start)(struct llm *m, const struct llm_request *rq, struct llm_sink sink);
    /* No sink call follows. May be called from inside the call's own delta. */
    void (*stop)(struct llm *m, struct llm_call *call);
    void (*free)(struct llm *m);
};

/* The first member of every implementation. */
struct llm {
    const struct llm_ops *ops;
};
#endif
