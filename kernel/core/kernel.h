/* The agent loop as a state machine without I/O: feed it what happened, poll it for what to do
 * next, take the lines of its event log. kernel.c opens with its invariants, states and
 * transitions.
 *
 *     struct kernel *k = kernel_new(&config);
 *     kernel_feed(k, &(struct event){.kind = EV_USER_MESSAGE, .text = prompt}, 0);
 *     while (kernel_poll(k, &cmd)) { carry out cmd; later feed its outcome }
 */
#ifndef KERNEL_CORE_KERNEL_H
#define KERNEL_CORE_KERNEL_H

#include "kernel/base/err.h"
#include "kernel/core/model.h"

struct kernel;

/* How a run ended; the words of FORMATS.md. */
#define RUN_STATUSES(X)                                                                            \
    X(RUN_COMPLETED, "completed")                                                                  \
    X(RUN_MAX_STEPS, "max_steps")                                                                  \
    X(RUN_TOKEN_BUDGET, "token_budget")                                                            \
    X(RUN_TIME_BUDGET, "time_budget")                                                              \
    X(RUN_COST_BUDGET, "cost_budget")                                                              \
    X(RUN_CALL_BUDGET, "call_budget")                                                              \
    X(RUN_REPEATED_CALLS, "repeated_calls")                                                        \
    X(RUN_NO_PROGRESS, "no_progress")                                                              \
    X(RUN_TRUNCATED, "truncated")                                                                  \
    X(RUN_REFUSED, "refused")                                                                      \
    X(RUN_SCRIPT_MISMATCH, "script_mismatch")                                                      \
    X(RUN_MODEL_ERROR, "model_error")                                                              \
    X(RUN_CASSETTE_MISS, "cassette_miss")                                                          \
    X(RUN_CANCELLED, "cancelled")

#define KERNEL_ENUM(name, text) name,
enum run_status { RUN_STATUSES(KERNEL_ENUM) };
#undef KERNEL_ENUM

const char *run_status_name(enum run_status s);
bool run_status_of_name(struct str name, enum run_status *out);

/* Limits of what one message of the user may take; a spent one ends the run with a status (I9). */
struct budget {
    int64_t steps;           /* model replies; ≥ 1 */
    int64_t tokens;          /* input + output, all replies and summaries */
    int64_t seconds;         /* since the message */
    int64_t cost_nano;       /* nano-units of the currency; not checked while a cost is unknown */
    int64_t calls;           /* tool calls; the excess gets a LIMIT result */
    int64_t calls_per_reply; /* likewise. A terminal call is never in excess */
};
#define BUDGET_DEFAULT ((struct budget){25, 60000, 120, 500000000, 50, 10})

/* What becomes of a call that was made before since the user's message: an error, the earlier
 * result (read-only tools; others are blocked), or the call itself, as often as the model likes. */
enum repeat_policy { REPEAT_BLOCK, REPEAT_CACHE, REPEAT_ALLOW };

/* What becomes of a call by its tool's tier. */
enum tier_policy { TIER_POLICY_ALLOW, TIER_POLICY_ASK, TIER_POLICY_DENY };

/* How a history that is too big is made smaller: old results are shortened first; then the
 * oldest turns are dropped, or handed to a model to be summarised. */
enum compaction { COMPACT_DROP, COMPACT_SUMMARISE };

/* Everything that decides a run besides the events. Views must stay valid until kernel_free. */
struct kernel_config {
    struct str run;        /* id, [0-9a-f]{12} by custom */
    uint64_t seed;         /* for jitter; ≤ 2^53 */
    struct str started_at; /* RFC 3339 UTC with milliseconds */
    struct str model;
    struct str provider;           /* openai | responses | anthropic */
    struct str system;             /* p NULL = none */
    const struct tool_spec *tools; /* in the order of the wire */
    size_t n_tools;
    struct budget budget;
    enum repeat_policy repeat;
    int64_t max_consecutive;   /* identical calls in a row that end the run; ≥ 2 */
    int64_t no_progress;       /* results in a row that add nothing new end the run; 0 = off */
    enum tier_policy tiers[3]; /* by enum tool_tier */
    int64_t context_tokens;    /* the estimate of a request, its tools among it, above which the
                                  history is compacted; 0 = never */
    enum compaction compaction;
    int64_t keep_steps;        /* newest steps that compaction leaves whole; ≥ 1 */
    bool fenced_calls;         /* a call written as JSON in a fenced block of the text counts */
    bool close_names;          /* a tool name with one likely meaning is taken for it */
    const struct price *price; /* NULL = the model has none: cost is unknown. Written to the log */
    int64_t tool_retries; /* per call, for retryable failures of read-only or idempotent tools */
    int64_t tool_backoff_ms;
    int64_t model_attempts; /* ≥ 1 */
    int64_t backoff_ms;     /* base of the model's backoff */
    int64_t backoff_cap_ms;
    struct str currency; /* of price and of the budget's cost_nano */
};

/* Defaults of every setting; run, started_at, model are empty and must be set. */
struct kernel_config kernel_config_default(void);

enum event_kind {
    EV_USER_MESSAGE, /* text */
    EV_REPLY,        /* reply */
    EV_FAILURE,      /* failure */
    EV_TOOL_RESULT,  /* call_id, output (truncated to the tool's max_output before it is fed) */
    EV_APPROVAL,     /* call_id, decision */
    EV_SUMMARY,      /* text: what CMD_SUMMARISE was answered; usage in reply (may be NULL) */
    EV_RESUME, /* config (NULL = unchanged; run, seed, started_at and system stay in any case), text
                  (p NULL = none): the run goes on after its end, or, when kernel_replay has brought
                  the kernel up from a log, from where that stands: with another model, tools,
                  budget or settings, and with a new user message */
    EV_CANCEL, /* text: the reason */
    EV_TIME    /* nothing but the time */
};

enum decision {
    DECIDED_ALLOW,
    DECIDED_DENY,
    DECIDED_ALWAYS /* allow, and do not ask for this tool again */
};

/* "allow", "deny", "always". */
const char *decision_name(enum decision d);
/* The decision of that name; DECIDED_DENY for an unknown one. */
enum decision decision_of_name(struct str name);

/* Something that happened. Views need to live only during kernel_feed, but those of config until
 * kernel_free. Bytes that are not UTF-8 become U+FFFD, here as in the log. */
struct event {
    enum event_kind kind;
    enum decision decision;
    const struct kernel_config *config;
    struct str text;
    struct str call_id;
    const struct reply *reply;
    const struct failure *failure;
    const struct tool_output *output;
};

enum command_kind {
    CMD_CALL_MODEL, /* messages, n_messages, step, attempt */
    CMD_STOP_MODEL, /* the open model call is no longer wanted; nothing of it may be fed any more */
    CMD_CALL_TOOL,  /* call_id, name, arguments, tool, order, attempt */
    CMD_STOP_TOOL,  /* call_id: likewise */
    CMD_ASK_APPROVAL, /* call_id, name, arguments, tool */
    CMD_SUMMARISE, /* messages, n_messages: to be summarised in words by a model, in a call without
                      tools */
    CMD_FINISH     /* status: the run is over; the last command of a run */
};

/* Something to do. Views are valid until kernel_free. */
struct command {
    enum command_kind kind;
    const struct message *messages;
    size_t n_messages;
    int64_t step;
    int64_t attempt; /* from 1 */
    struct str call_id;
    struct str name;
    struct str arguments; /* a JSON object: checked, "" made {}, coerced where the schema allows */
    size_t tool;          /* index into config.tools */
    uint32_t order; /* of the call in the run, from 1: results due at the same ms are fed by it */
    struct str request_id; /* CMD_CALL_TOOL: names this call in this run, the same after a resume,
                              another for another call in a fork */
    enum run_status status;
};

/* A kernel for one run; config is copied (its views are not). The log's first line is ready at
 * once. Owned by the caller. */
struct kernel *kernel_new(const struct kernel_config *config);
void kernel_free(struct kernel *k); /* NULL allowed */

/* Something happened at now_ms (since the run began; not before the last one fed). A driver feeds
 * EV_TIME at kernel_deadline before anything that is later: wake-ups are not logged, and the log is
 * fed again as if none had been missed.
 * Returns 0; ERR_STATE when the event cannot happen now (a second result for a call, a reply that
 * nobody asked for, anything after the end): nothing changes then. */
int kernel_feed(struct kernel *k, const struct event *ev, uint64_t now_ms) MUST_CHECK;

/* The next thing to do into *cmd; false when there is none until something is fed. */
bool kernel_poll(struct kernel *k, struct command *cmd);

/* When to feed EV_TIME at the latest; UINT64_MAX = never. */
uint64_t kernel_deadline(const struct kernel *k);

/* Log lines made since the last call, whole lines each with its newline; valid until the next
 * kernel_feed. */
struct str kernel_take_log(struct kernel *k);

/* What the run came to. Valid after CMD_FINISH; views until kernel_free. */
struct run_result {
    enum run_status status;
    int64_t steps;
    int64_t calls_made;
    struct usage usage;
    int64_t cost_nano;   /* -1 = unknown */
    struct str currency; /* of cost_nano */
    uint64_t ended_ms;
    struct str answer;      /* p NULL = none */
    struct str reason;      /* for people: why it ended so (the provider's message, the budget) */
    enum fail_class failed; /* of the failure, where the status is model_error */
};
bool kernel_result(const struct kernel *k, struct run_result *out); /* false while it runs */

/* Where the run stands, for those who resume it. */
enum kernel_stage {
    STAGE_WAITING, /* for a user message: none yet, or EV_RESUME without one after the model's last
                      words (completed, refused, truncated) */
    STAGE_WORKING, /* a model, tools or a decision are being waited for */
    STAGE_ENDED
};
enum kernel_stage kernel_stage(const struct kernel *k);

/* Whether kernel_feed would take the event now. */
bool kernel_takes(struct kernel *k, const struct event *ev);

uint64_t kernel_now(const struct kernel *k);

/* The history so far, as the next request would carry it. Valid until the next kernel_feed. */
const struct message *kernel_history(const struct kernel *k, size_t *n);
#endif
