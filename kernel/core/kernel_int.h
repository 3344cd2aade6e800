/* Inside the kernel: its state, and what its files do for each other. */
#ifndef KERNEL_CORE_KERNEL_INT_H
#define KERNEL_CORE_KERNEL_INT_H

#include "kernel/base/rng.h"
#include "kernel/core/kernel.h"

enum { REPEAT_BUCKETS = 256, ALTERNATION_STEPS = 6, PAUSES_MAX = 3, ERROR_MESSAGE_CHARS = 200 };

enum state {
    STATE_IDLE,    /* no user message yet */
    STATE_MODEL,   /* a model call is open */
    STATE_BACKOFF, /* a model call failed; the next attempt is due at retry_at */
    STATE_TOOLS,   /* the calls of the last reply are being carried out */
    STATE_DONE
};

enum call_state {
    CALL_WAITING, /* not started: a serial batch, or the batch has not begun */
    CALL_RUNNING,
    CALL_BACKOFF, /* failed, to be tried again at `due` */
    CALL_ANSWERED
};

/* A distinct call of this run: tool and canonical arguments. */
struct seen {
    struct seen *next;
    uint64_t hash;
    struct str key;
    int64_t count;
};

/* A call of the last reply. */
struct call {
    enum call_state state;
    uint32_t order; /* in the run, from 1 */
    struct str id;
    struct str name;
    struct str arguments; /* as sent */
    struct str checked;   /* to run with: an object, maybe coerced; n 0 = not runnable */
    bool coerced;
    size_t tool;                /* index of its spec; SIZE_MAX = unknown */
    struct seen *seen;          /* NULL = not counted */
    struct tool_output refusal; /* why it will not run; code.n 0 = it will */
    struct tool_output output;  /* its answer, once ANSWERED */
    int64_t attempt;
    uint64_t started_at; /* of this attempt */
    uint64_t due;        /* RUNNING: its timeout. BACKOFF: the next attempt */
};

struct kernel {
    struct kernel_config config;
    struct arena *arena;
    struct rng rng;
    enum state state;
    uint64_t now;

    struct message *history;
    size_t n_history, cap_history;

    int64_t step;
    int64_t attempt;     /* of the open model call, from 1 */
    uint64_t attempt_at; /* when it began */
    uint64_t retry_at;   /* BACKOFF */
    int64_t pauses;      /* in a row */

    struct call *calls; /* of the last reply */
    size_t n_calls;
    bool serial;        /* they run one after another */
    int64_t calls_made; /* asked for in the whole run */
    uint32_t order;

    struct seen *seen[REPEAT_BUCKETS];
    struct seen *last_seen; /* the latest counted call, and how often in a row */
    int64_t streak;
    uint64_t step_sign[ALTERNATION_STEPS]; /* newest last; 0 = none */
    bool over_repeats;                     /* end the run when the batch is answered */

    struct usage usage;
    int64_t tokens; /* known input + output */
    struct run_result result;

    struct command *commands; /* a ring of pending ones */
    size_t first_command, n_commands, cap_commands;

    struct buf log;
    size_t log_taken;
    int64_t seq;
    void *sum; /* XXH3 state over every byte of the log */
};

/* ---- log.c: one function an event; each appends one whole line ---- */
void log_open(struct kernel *k);
void log_close(struct kernel *k);
void log_user_message(struct kernel *k, struct str content);
void log_step_start(struct kernel *k);
void log_reply(struct kernel *k, const struct reply *r);
void log_failure(struct kernel *k, const struct failure *f, int64_t retry_in_ms); /* < 0: final */
void log_discard(struct kernel *k, const char *reason);
void log_tool_start(struct kernel *k, const struct call *c);
void log_tool_retry(struct kernel *k, const struct call *c, int64_t retry_in_ms);
void log_tool_result(struct kernel *k, const struct call *c);
void log_cancel(struct kernel *k, struct str reason);
void log_final(struct kernel *k, struct str answer);
void log_run_end(struct kernel *k);

/* Appends the error object of K11; as the log and the model see it. */
void error_add(struct buf *out, const struct tool_output *o);

/* ---- call.c: what a reply asked for ---- */

/* Takes the calls of a reply into k->calls: ids made unique, arguments checked, repeats counted,
 * refusals noted. `cut`: the reply was truncated, so no call may run. */
void calls_take(struct kernel *k, const struct reply *r, bool cut);

/* A failure with one of K11's codes; message is cut to ERROR_MESSAGE_CHARS. */
struct tool_output call_error(struct kernel *k, const char *code, struct str message,
                              bool retryable);

/* The first runnable call of a terminal tool, or NULL. */
struct call *calls_terminal(struct kernel *k);

/* A retryable failure does not count as seen (K9). */
void call_unsee(struct kernel *k, struct call *c);

/* Whether the last replies went A B A B A B. */
bool calls_alternate(const struct kernel *k);
#endif
