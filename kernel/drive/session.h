/* A session: one kernel, driven. It carries out the kernel's commands over an llm and a toolbox and
 * feeds back what happened, at the scheduler's time. */
#ifndef KERNEL_DRIVE_SESSION_H
#define KERNEL_DRIVE_SESSION_H

#include "kernel/core/kernel.h"
#include "kernel/drive/sched.h"
#include "kernel/llm.h"
#include "kernel/toolbox.h"

struct session;

struct session_options {
    struct kernel_config config; /* views must outlive the session */
    struct str prompt;           /* likewise; p NULL with resume NULL: session_say comes first */
    /* NULL = a new run. Else one that kernel_replay has brought up, which goes on with `config`
     * and, where prompt.p is not NULL, with that message; the session frees it. sched_skip(sched,
     * kernel_now) must have been called. */
    struct kernel *resume;
    struct llm *llm; /* these three must outlive it */
    struct toolbox *tools;
    struct sched *sched;
    bool stream;            /* ask for streaming, hand on deltas */
    struct str temperature; /* number text; n 0 = not sent */
    int64_t max_tokens;     /* -1 = not sent */
    void *ctx;
    /* Whole lines of the event log, as soon as they are made. Nonzero = they could not be kept: the
     * run is cancelled. May be NULL. */
    int (*log)(void *ctx, struct str lines);
    void (*delta)(void *ctx, struct str text); /* may be NULL */
    /* A call whose tier wants approval: answer with session_approve, now or later. NULL = denied at
     * once. */
    void (*ask)(void *ctx, struct str call_id, struct str name, struct str arguments);
    void (*done)(void *ctx); /* once a message, when its run is over; session_result is valid then;
                                free later or here */
};

/* The one message by which a model is asked for the summary that CMD_SUMMARISE wants; in arena. */
const struct message *session_summary_request(const struct command *c, struct arena *arena);

/* Starts a run; its first steps happen in the loop's next turn. */
struct session *session_new(const struct session_options *o);

/* Stops what is open, closes the log with `cancelled` and calls done. Nothing after the end.
 * From inside `log` it takes effect when log has returned. */
void session_cancel(struct session *s, struct str reason);

/* Ends the run as a cassette miss, for what was asked by `ask` and is not recorded. Not from inside
 * ask; nothing after the end. */
void session_miss(struct session *s, struct str why);

/* Decides about a call that `ask` has told. Ignored for any other. */
void session_approve(struct session *s, struct str call_id, enum decision decision);

/* The user's next message (or first, where the session has no prompt), after the end of the run
 * before: the history goes on, and the message has the whole budget. The text is copied. Its first
 * steps happen in the loop's next turn. Not while a run is on, nor when the log could not be kept.
 */
void session_say(struct session *s, struct str text);

const struct kernel *session_kernel(const struct session *s);
bool session_result(const struct session *s, struct run_result *out);

/* Stops everything still open, without a word to the log. NULL allowed. Not from inside log. */
void session_free(struct session *s);
#endif
