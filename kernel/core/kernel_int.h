/* Inside the kernel: its state, and what its files do for each other. */
#ifndef KERNEL_CORE_KERNEL_INT_H
#define KERNEL_CORE_KERNEL_INT_H

#include "kernel/base/hash.h"
#include "kernel/base/rng.h"
#include "kernel/core/kernel.h"

enum { ALTERNATION_STEPS = 6, PAUSES_MAX = 3, SAME_TEXT_MAX = 3, ERROR_MESSAGE_CHARS = 200 };

enum state {
    STATE_IDLE,    /* no user message yet */
    STATE_MODEL,   /* a model call is open */
    STATE_BACKOFF, /* a model call failed; the next attempt is due at retry_at */
    STATE_SUMMARY, /* a summary of old turns is being made, before the next model call */
    STATE_TOOLS,   /* the calls of the last reply are being carried out */
    STATE_DONE
};

enum call_state {
    CALL_WAITING, /* not started: a serial batch, an earlier one asks, or the batch has not begun */
    CALL_ASKING,  /* approval is being asked for; later calls wait */
    CALL_READY,   /* its tool_start is logged, and it is not begun */
    CALL_RUNNING,
    CALL_BACKOFF, /* failed, to be tried again at `due` */
    CALL_ANSWERED
};

/* A hash table of what begins with a link, in the kernel's memory; it grows with what it holds, so
 * that a kernel that waits takes little, and a long run finds fast. */
struct link {
    struct link *next;
    uint64_t hash;
};

struct links {
    struct link **slots;
    size_t n_slots; /* a power of 2, or 0 */
    size_t n;
};

/* A distinct call of this run: tool and canonical arguments. */
struct seen {
    struct link link;
    struct str key;
    int64_t count;
    struct str result; /* of the last time it succeeded; p NULL = none */
};

/* A call of the last reply. */
struct call {
    enum call_state state;
    uint32_t order; /* in the run, from 1 */
    struct str id;
    struct str name;
    struct str arguments; /* as sent */
    struct str request_id;
    bool approved;      /* needs no asking (any more) */
    struct str checked; /* to run with: an object, maybe coerced; n 0 = not runnable */
    bool coerced;
    size_t tool;                /* index of its spec; SIZE_MAX = unknown */
    struct seen *seen;          /* NULL = not counted */
    struct tool_output refusal; /* why it will not run; code.n 0 = it will */
    struct tool_output output;  /* its answer, once ANSWERED */
    int64_t attempt;
    int64_t start_seq;   /* of its tool_start in the log */
    uint64_t started_at; /* of this attempt */
    uint64_t due;        /* RUNNING: its timeout. BACKOFF: the next attempt */
};

/* What a budget counts. */
struct spent {
    int64_t steps;
    int64_t tokens;
    int64_t calls;
    int64_t cost_nano;
    uint64_t ms;
};

/* What lasts beyond a batch, and later decisions or lines depend on, is kept by snapshot.c too. */
struct kernel {
    struct kernel_config config;
    struct arena *arena;
    struct rng rng;
    enum state state;
    bool cold; /* brought up from its log, and not yet gone on with: what is open in `state` is not
                  open in the world */
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

    struct links told;   /* tool results' contents, by their hash alone */
    int64_t nothing_new; /* results in a row that added nothing */
    bool *always;        /* by tool: approved for the rest of the run */
    int64_t pauses_same; /* replies in a row with the same text and no call */
    uint64_t last_text;

    int64_t *sizes;     /* estimated tokens of each message of the history */
    int64_t tools_size; /* of the tools' definitions, which go with each request */
    int64_t size;       /* all of these: what a request takes */
    int64_t size_left;  /* what the last compaction could not get below; 0 = none */
    size_t dropping;    /* STATE_SUMMARY: messages [first, first + dropping) are being summarised */
    size_t dropping_from;
    int64_t shortened; /* STATE_SUMMARY: results shortened before */

    struct spent base; /* what earlier user messages had used, which the budget does not count */
    int64_t cost_nano; /* -1 = unknown */

    struct links seen;      /* of struct seen */
    struct seen *last_seen; /* the latest counted call, and how often in a row */
    int64_t streak;
    uint64_t step_sign[ALTERNATION_STEPS]; /* newest last; 0 = none */
    bool over_repeats;                     /* end the run when the batch is answered */

    struct usage usage;
    int64_t tokens; /* input + output, estimated where they are not known: for the budget alone */
    struct run_result result;

    struct command *commands; /* a ring of pending ones */
    size_t first_command, n_commands, cap_commands;

    struct buf log;
    size_t log_taken;
    int64_t seq;
    uint64_t logged; /* bytes of the whole log */
    void *sum;       /* XXH3 state over every byte of the log */
};

/* ---- price.c ---- */

/* Appends nano-units as a plain decimal number: 500000000 is 0.5. */
void nano_add(struct buf *out, int64_t nano);

/* Appends a price (NULL = none) as a JSON value: amounts for a million tokens, and in `above` what
 * they are for longer inputs. */
void price_add(struct buf *out, const struct price *p);

/* What price_add wrote, in arena; absent and null are NULL. False for anything else. */
bool price_read(struct arena *arena, const struct val *v, const struct price **out);

/* ---- kernel.c ---- */

/* Appends a command. What a cold kernel would stop is not open; what nobody was told to begin is
 * taken back. */
void command_add(struct kernel *k, struct command c);

/* A copy of s in the kernel's memory, U+FFFD for each byte that is not UTF-8: what the loop works
 * with is what its log can hold. p NULL stays so. */
struct str own_text(struct kernel *k, struct str s);

void run_user_message(struct kernel *k, struct str text);

/* ---- step.c ---- */

/* Ends the run: what is open is stopped, open calls are answered. */
void run_finish(struct kernel *k, enum run_status status, struct str reason);
void run_complete(struct kernel *k, struct str answer);

/* When the time of this user message is up. */
uint64_t run_time_limit(const struct kernel *k);

/* Ends the run when its time, or any budget, is spent; true when it did. */
bool run_over_time(struct kernel *k);
bool run_over_budget(struct kernel *k, bool before_step);

void step_start(struct kernel *k);
void step_call_model(struct kernel *k);
void step_ask_summary(struct kernel *k);

/* The step goes on with a summary; text n 0 = none came. usage: what it took; NULL = no model made
 * it. */
void step_summary(struct kernel *k, struct str text, const struct usage *usage);

/* ---- batch.c ---- */

/* Starts what may start of the last reply's calls, and goes on when all are answered. */
void batch_start(struct kernel *k);

/* The call with this id in this state, or NULL. */
struct call *batch_call(struct kernel *k, enum call_state state, struct str id);

void batch_result(struct kernel *k, struct call *c, const struct tool_output *o);
void batch_approve(struct kernel *k, struct call *c, enum decision decision);

/* Time limits that are due, retries that are due, and when the next of either is (UINT64_MAX =
 * never). */
void batch_time(struct kernel *k);
void batch_retry(struct kernel *k);
uint64_t batch_deadline(const struct kernel *k);

/* Stops what runs and answers every open call CANCELLED; why: of those that were not begun. */
void batch_close(struct kernel *k, struct str why);

/* The terminal call is answered as done; its siblings are never begun. */
void batch_end_by(struct kernel *k, struct call *terminal);

/* After a crash: the start of this call, or of all whose line is `seq` or later, had not reached
 * the log, so they were not begun. */
void batch_not_begun(struct kernel *k, struct str id);
void batch_begun_before(struct kernel *k, int64_t seq);
void batch_resume(struct kernel *k);

/* ---- reply.c ---- */
void reply_take(struct kernel *k, const struct reply *from);
void reply_failed(struct kernel *k, const struct failure *f);

/* The wait before another try: base · 2^(tries - 1) up to the cap, the upper half of it at random.
 */
int64_t retry_wait(struct kernel *k, int64_t base, int64_t tries);

/* Adds what a model call took; gives the counts as they are believed. guess: what the budget of
 * tokens counts for an input or output that the provider does not tell. */
struct usage usage_take(struct kernel *k, const struct usage *from, const struct usage *guess);

/* ---- resume.c ---- */
void resume(struct kernel *k, const struct event *ev);

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
void log_approval_required(struct kernel *k, const struct call *c);
void log_approval(struct kernel *k, const struct call *c, enum decision decision);
/* usage: of the model call that made the summary; NULL = there was none. */
void log_compaction(struct kernel *k, int64_t dropped, struct str summary,
                    const struct usage *usage);

/* What is another than before, and what the user said (p NULL = nothing). */
void log_resume(struct kernel *k, const struct kernel_config *before, struct str text);
void log_run_end(struct kernel *k);

/* Appends tools, budget and the settings that are not at their defaults: members as the log's first
 * line has them. */
void log_config(struct buf *b, const struct kernel_config *c);

/* XXH3 of every byte of the log. */
uint64_t log_sum(const struct kernel *k);

/* The log so far is `all`, and nothing of it waits to be taken. */
void log_continue(struct kernel *k, struct str all);

/* Appends the error of a tool as an object, as the log and the model see it. */
void error_add(struct buf *out, const struct tool_output *o);

/* ---- call.c: what a reply asked for ---- */

/* Takes the calls of a reply into k->calls: ids made unique, arguments checked, repeats counted,
 * refusals noted. `cut`: the reply was truncated, so no call may run. */
void calls_take(struct kernel *k, const struct reply *r, bool cut);

/* A failure with one of TOOL_ERRORS; message is cut to ERROR_MESSAGE_CHARS. */
struct tool_output call_error(struct kernel *k, const char *code, struct str message,
                              bool retryable);

/* The first runnable call of a terminal tool, or NULL. */
struct call *calls_terminal(struct kernel *k);

/* A retryable failure does not count as seen. */
void call_unsee(struct kernel *k, struct call *c);

/* Whether the last replies went A B A B A B. */
bool calls_alternate(const struct kernel *k);

/* A call that stands as {"name", "arguments"} in the only fenced block of a reply without calls;
 * false when there is none or config.fenced_calls is off. */
bool call_in_text(struct kernel *k, const struct reply *r, struct tool_call *out);

/* Neither refused nor answered from the cache. */
bool runnable(const struct call *c);

/* Whether doing it twice does no harm: it only reads, or is idempotent. */
bool tool_repeatable(const struct tool_spec *tool);

/* Makes an empty table's slots for n links; adds one. */
void links_reserve(struct kernel *k, struct links *t, size_t n);
void links_add(struct kernel *k, struct links *t, struct link *l);

/* Forgets what was called before, and what results told. */
void calls_forget(struct kernel *k);

/* Notes a result for the repeat cache, and whether it tells something new. */
void call_learn(struct kernel *k, const struct call *c);

/* ---- replay.c ---- */

/* Tools (out of n specs, by name), budget, price and settings as the log's first line has them in v
 * into c, whose views live in keep. */
int config_read(struct arena *keep, const struct val *v, const struct tool_spec *specs, size_t n,
                struct kernel_config *c) MUST_CHECK;

/* ---- snapshot.c ---- */

/* Brings a fresh kernel, whose first line was taken, to where the snapshot stands: behind k->seq
 * lines, k->logged bytes of `log`. False, and k is as before, where the snapshot is not whole, not
 * of this log, of another version or of other tools than `specs`, or stands behind more than
 * lines_max lines. */
bool kernel_restore(struct kernel *k, struct str snapshot, struct str log, size_t lines_max,
                    const struct tool_spec *specs, size_t n_specs) MUST_CHECK;

/* ---- compact.c: keeping the history within its size ---- */

/* The estimated tokens of a message. */
int64_t message_size(const struct message *m);

/* Takes the tools of k->config into the size, in the place of those before. */
void size_tools(struct kernel *k);

/* Appends a message; what was handed out in a command stays where it is. */
void remember(struct kernel *k, struct message m);

/* Makes the history smaller when it is over config.context_tokens and that was not tried in vain
 * before. True when a summary has been asked for: the next model call waits for compact_with. */
bool compact(struct kernel *k);

/* Goes on with the summary that was asked for; p NULL = none came, the turns are dropped without.
 * usage: of the model call that made it; NULL = there was none. */
void compact_with(struct kernel *k, struct str summary, const struct usage *usage);
#endif
