/* clang-format off */
/* The loop.
 *
 * Invariants, cited by number in tests:
 *  I1  The history passes history_check whenever a model is called.
 *  I2  Each call of a reply gets exactly one result in the history, under its id, in call order.
 *  I3  An assistant message enters the history before the results of its calls.
 *  I4  The system message, if any, is message 0, and the only one.
 *  I5  Time never runs backwards; t_ms in the log never falls.
 *  I6  At most one model call is open (a summary is one), and none while a tool runs.
 *  I7  CMD_FINISH comes exactly once and last, until EV_RESUME; after it nothing else is fed, commanded or logged.
 *  I8  tool_start lines stand in call order, tool_result lines in the order of finishing. A call that waits for
 *      approval holds back the later ones of its reply.
 *  I9  Budgets are looked at before each step and after each reply that wants more; time also while waiting. They
 *      count from the user's newest message.
 *  I10 A call is never carried out when its reply was cut, nor beside a terminal call.
 *  I11 seq counts every line from 1 without a gap.
 *
 *                 user message
 *         IDLE ──────────────────► [a step] ◄──────────────────────────────┐
 *          ▲                       │      │ history too big, to be         │
 *          │ resume, the user      │      │ summarised                     │
 *          │ is next               │      ▼                                │
 *          │                       │   SUMMARY                             │
 *          │                       ▼      │ summary, or none came          │
 *          │             ┌──────► MODEL ◄─┘                                │ all answered,
 *          │    retry_at │         │  │                                    │ budgets left
 *          │             │ failure,│  │ reply with calls                   │
 *          │             │ tries   ▼  │                                    │
 *          │             │ left BACKOFF                                    │
 *          │             └─────────┘  ▼                                    │
 *          │                        TOOLS ─────────────────────────────────┘
 *          │
 *         DONE ◄── any
 *
 *  state    event                        goes to   because
 *  IDLE     user message                 a step    (or DONE: a budget of nothing)
 *  a step                                SUMMARY   the history is over context_tokens and is to be summarised
 *  a step                                MODEL     otherwise, maybe with old turns dropped
 *  SUMMARY  summary, failure             MODEL     with the summary, or without one; or DONE: a budget
 *  MODEL    reply without calls          DONE      completed, truncated, refused
 *  MODEL    reply that pauses or is empty  a step  the history is sent again, PAUSES_MAX times
 *  MODEL    reply with calls             TOOLS     they are started, asked about, or refused and answered
 *  MODEL    reply with a terminal call   DONE      completed; siblings are cancelled
 *  MODEL    reply refused or filtered    DONE      refused; its calls are not carried out
 *  MODEL    failure                      BACKOFF   retryable and tries left; else DONE
 *  BACKOFF  time                         MODEL     the next attempt
 *  TOOLS    tool result, time, approval  TOOLS     until every call is answered
 *  TOOLS    the last answer              a step    or DONE: a budget, repeats, nothing new
 *  any      cancel, time budget          DONE      open work stopped, open calls CANCELLED
 *  any      failure: miss or mismatch    DONE      nothing sensible can follow
 *  DONE     resume with a message        a step    as from IDLE
 *  DONE     resume                       IDLE      after last words (completed, refused, truncated): the user is next
 *  DONE     resume                       a step    after any other end
 *
 *  A kernel that kernel_replay brought up is cold: nothing that its log left open is open any more. It takes EV_RESUME
 *  (IDLE also a user message; any also a cancel, before which it is resumed) in every state:
 *  MODEL, BACKOFF                        MODEL     the call is made again, as attempt 1
 *  SUMMARY                               SUMMARY   the summary is asked for again
 *  TOOLS                                 TOOLS     calls not begun are begun, those under way made again if that is
 *                                                  harmless, else CANCELLED; approval is asked for again
 *  any, with a message                   a step    open calls are CANCELLED
 *
 *  Where it is: step.c (steps, budgets, the end), reply.c (replies and failures), call.c (what a reply asked for),
 *  batch.c (carrying it out), compact.c (the history's size), resume.c, log.c, replay.c (feeding a log again).
 */
/* clang-format on */
#include "kernel/core/kernel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/text.h"
#include "kernel/core/kernel_int.h"

#define STATUS_NAME(id, text) [id] = text,

static const char *const status_names[] = {RUN_STATUSES(STATUS_NAME) NULL};

const char *run_status_name(enum run_status s)
{
    return status_names[s];
}

bool run_status_of_name(struct str name, enum run_status *out)
{
    int i = str_index(name, status_names);
    if (i >= 0) {
        *out = (enum run_status)i;
    }
    return i >= 0;
}

static const char *const decision_names[] = {
    [DECIDED_ALLOW] = "allow", [DECIDED_DENY] = "deny", [DECIDED_ALWAYS] = "always", NULL};

const char *decision_name(enum decision d)
{
    return decision_names[d];
}

enum decision decision_of_name(struct str name)
{
    int i = str_index(name, decision_names);
    return i < 0 ? DECIDED_DENY : (enum decision)i;
}

struct kernel_config kernel_config_default(void)
{
    return (struct kernel_config){.provider = STR("openai"),
                                  .system = {NULL, 0},
                                  .budget = BUDGET_DEFAULT,
                                  .repeat = REPEAT_BLOCK,
                                  .max_consecutive = 3,
                                  .context_tokens = 24000,
                                  .compaction = COMPACT_DROP,
                                  .keep_steps = 2,
                                  .tool_retries = 1,
                                  .tool_backoff_ms = 200,
                                  .model_attempts = 3,
                                  .backoff_ms = 500,
                                  .backoff_cap_ms = 60000,
                                  .currency = STR("USD")};
}

/* ---- what the files of the loop share ---- */

static struct command *pending(const struct kernel *k, size_t i)
{
    return &k->commands[(k->first_command + i) % k->cap_commands];
}

/* Whether the command begins what the other would stop. */
static bool begins(const struct command *c, const struct command *stop)
{
    return stop->kind == CMD_STOP_MODEL
               ? c->kind == CMD_CALL_MODEL || c->kind == CMD_SUMMARISE
               : c->kind == CMD_CALL_TOOL && str_eq(c->call_id, stop->call_id);
}

/* Takes back what was to be begun, if nobody has been told yet. */
static bool take_back(struct kernel *k, const struct command *stop)
{
    size_t i = 0;
    while (i < k->n_commands && !begins(pending(k, i), stop)) {
        i++;
    }
    if (i == k->n_commands) {
        return false;
    }
    for (; i + 1 < k->n_commands; i++) {
        *pending(k, i) = *pending(k, i + 1);
    }
    k->n_commands--;
    return true;
}

void command_add(struct kernel *k, struct command c)
{
    bool stops = c.kind == CMD_STOP_MODEL || c.kind == CMD_STOP_TOOL;
    if (stops && (take_back(k, &c) || k->cold)) {
        return; /* it is not open, or not any more */
    }
    if (k->n_commands == k->cap_commands) {
        size_t cap = k->cap_commands == 0 ? 4 : k->cap_commands * 2;
        struct command *bigger = arena_array(k->arena, cap, sizeof *bigger);
        for (size_t i = 0; i < k->n_commands; i++) {
            bigger[i] = *pending(k, i);
        }
        k->commands = bigger;
        k->first_command = 0;
        k->cap_commands = cap;
    }
    k->n_commands++;
    *pending(k, k->n_commands - 1) = c;
}

struct str own_text(struct kernel *k, struct str s)
{
    if (s.p == NULL || utf8_invalid_at(s) == SIZE_MAX) {
        return s.p == NULL ? s : arena_str(k->arena, s);
    }
    struct buf clean = {0};
    for (size_t at = 0; at < s.n;) {
        utf8_add(&clean, utf8_next(s, &at));
    }
    struct str own = arena_str(k->arena, buf_str(&clean));
    buf_free(&clean);
    return own;
}

/* ---- events ---- */

uint64_t kernel_deadline(const struct kernel *k)
{
    if (k->state == STATE_DONE || k->state == STATE_IDLE) {
        return UINT64_MAX;
    }
    uint64_t at = run_time_limit(k);
    uint64_t due = k->state == STATE_BACKOFF ? k->retry_at : batch_deadline(k);
    return due < at ? due : at;
}

static void on_time(struct kernel *k)
{
    if (k->state == STATE_IDLE || run_over_time(k)) {
        return;
    }
    if (k->state == STATE_BACKOFF && k->now >= k->retry_at) {
        step_call_model(k);
    }
    batch_time(k);
    batch_retry(k);
}

/* A cold run is resumed first, so that its log tells why no deadline was heard meanwhile; of what
 * that would begin, nothing is begun. */
static void on_cancel(struct kernel *k, struct str reason)
{
    if (k->cold && k->state != STATE_IDLE) {
        resume(k, &(struct event){.kind = EV_RESUME, .text = {NULL, 0}});
    }
    if (k->state != STATE_DONE) {
        log_cancel(k, reason);
        run_finish(k, RUN_CANCELLED, reason);
    }
}

/* Each message has the whole budget, and may ask for what an earlier one asked for. */
void run_user_message(struct kernel *k, struct str text)
{
    k->base = (struct spent){.steps = k->step,
                             .tokens = k->tokens,
                             .calls = k->calls_made,
                             .cost_nano = k->cost_nano < 0 ? 0 : k->cost_nano,
                             .ms = k->now};
    k->pauses = 0;
#ifdef PLANT_SYSTEM_AGAIN /* I4: each message repeats the system message */
    if (k->config.system.p != NULL) {
        remember(k, (struct message){.role = ROLE_SYSTEM, .content = k->config.system});
    }
#endif
    calls_forget(k);
    text = own_text(k, text);
    log_user_message(k, text);
    remember(k, (struct message){.role = ROLE_USER, .content = text});
    step_start(k);
}

/* A miss or a mismatch ends the run wherever it stands. */
static bool is_fatal(const struct failure *f)
{
    return f->class == FAIL_MISS || f->class == FAIL_SCRIPT;
}

static void on_failure(struct kernel *k, const struct failure *f)
{
    if (k->state == STATE_SUMMARY && !is_fatal(f)) { /* the step goes on without a summary */
        step_summary(k, (struct str){NULL, 0}, NULL);
    } else {
        reply_failed(k, f);
    }
}

/* ---- the public face ---- */

struct kernel *kernel_new(const struct kernel_config *config)
{
    assert(config->budget.steps >= 0 && config->budget.seconds >= 0);
    assert(config->max_consecutive >= 2 && config->model_attempts >= 1 && config->keep_steps >= 1);
    struct kernel *k = mem_zero(sizeof *k);
    k->config = *config;
    k->arena = arena_new();
    k->rng = rng_seeded(config->seed);
    k->always = arena_array(k->arena, config->n_tools, sizeof *k->always);
    k->cost_nano = config->price == NULL ? -1 : 0;
    size_tools(k);
    if (config->system.p != NULL) {
        remember(k, (struct message){.role = ROLE_SYSTEM, .content = own_text(k, config->system)});
    }
    log_open(k);
    return k;
}

void kernel_free(struct kernel *k)
{
    if (k != NULL) {
        log_close(k);
        arena_free(k->arena);
        free(k);
    }
}

/* In every state but the cold ones. */
static bool takes(struct kernel *k, const struct event *ev)
{
    bool yes = false;
    switch (ev->kind) {
    case EV_USER_MESSAGE: yes = k->state == STATE_IDLE; break;
    case EV_REPLY: yes = k->state == STATE_MODEL; break;
    case EV_APPROVAL: yes = batch_call(k, CALL_ASKING, ev->call_id) != NULL; break;
    case EV_SUMMARY: yes = k->state == STATE_SUMMARY; break;
    case EV_RESUME: yes = k->state == STATE_DONE; break;
    case EV_FAILURE:
        yes = k->state == STATE_MODEL || k->state == STATE_SUMMARY ||
              (is_fatal(ev->failure) && k->state != STATE_DONE);
        break;
    case EV_TOOL_RESULT: yes = batch_call(k, CALL_RUNNING, ev->call_id) != NULL; break;
#ifdef PLANT_AFTER_THE_END /* I7: a run can be cancelled when it has ended */
    case EV_CANCEL: yes = true; break;
#else
    case EV_CANCEL:
#endif
    case EV_TIME: yes = k->state != STATE_DONE; break;
    }
    return yes;
}

bool kernel_takes(struct kernel *k, const struct event *ev)
{
    if (k->state == STATE_IDLE) { /* whether cold or not: nothing can be open */
        return ev->kind == EV_RESUME ? ev->text.p != NULL : takes(k, ev);
    }
    return k->cold ? ev->kind == EV_RESUME || (ev->kind == EV_CANCEL && k->state != STATE_DONE)
                   : takes(k, ev);
}

int kernel_feed(struct kernel *k, const struct event *ev, uint64_t now_ms)
{
    bool past = now_ms < k->now;
#ifdef PLANT_PAST /* I5: an event of the past is taken */
    past = false;
#endif
    if (past || !kernel_takes(k, ev)) {
        return ERR_STATE;
    }
    if (k->log_taken == k->log.n) {
        buf_clear(&k->log);
        k->log_taken = 0;
    }
    k->now = now_ms;
#ifndef PLANT_MISSED_WAKE_UP /* the log does not tell whether the driver was in time */
    if (!k->cold && ev->kind != EV_TIME) {
        batch_retry(k); /* no line tells of it, so it must not matter whether it was done in time */
    }
#endif
    switch (ev->kind) {
    case EV_USER_MESSAGE: run_user_message(k, ev->text); break;
    case EV_APPROVAL:
        batch_approve(k, batch_call(k, CALL_ASKING, ev->call_id), ev->decision);
        break;
    case EV_SUMMARY: step_summary(k, ev->text, ev->reply == NULL ? NULL : &ev->reply->usage); break;
    case EV_RESUME: resume(k, ev); break;
    case EV_REPLY: reply_take(k, ev->reply); break;
    case EV_FAILURE: on_failure(k, ev->failure); break;
    case EV_TOOL_RESULT:
        batch_result(k, batch_call(k, CALL_RUNNING, ev->call_id), ev->output);
        break;
    case EV_CANCEL: on_cancel(k, ev->text); break;
    case EV_TIME: on_time(k); break;
    }
    k->cold = false;
    return 0;
}

bool kernel_poll(struct kernel *k, struct command *cmd)
{
    if (k->n_commands == 0) {
        return false;
    }
    *cmd = k->commands[k->first_command];
    k->first_command = (k->first_command + 1) % k->cap_commands;
    k->n_commands--;
    return true;
}

struct str kernel_take_log(struct kernel *k)
{
    struct str lines = {k->log.p + k->log_taken, k->log.n - k->log_taken};
    k->log_taken = k->log.n;
    return lines;
}

bool kernel_result(const struct kernel *k, struct run_result *out)
{
    if (k->state != STATE_DONE) {
        return false;
    }
    *out = k->result;
    return true;
}

enum kernel_stage kernel_stage(const struct kernel *k)
{
    return k->state == STATE_IDLE   ? STAGE_WAITING
           : k->state == STATE_DONE ? STAGE_ENDED
                                    : STAGE_WORKING;
}

uint64_t kernel_now(const struct kernel *k)
{
    return k->now;
}

const struct message *kernel_history(const struct kernel *k, size_t *n)
{
    *n = k->n_history;
    return k->history;
}
