/* clang-format off */
/* The loop.
 *
 * Invariants, cited by number in tests:
 *  I1  The history passes history_check whenever a model is called.
 *  I2  Each call of a reply gets exactly one result in the history, under its id, in call order.
 *  I3  An assistant message enters the history before the results of its calls.
 *  I4  The system message, if any, is message 0, and the only one.
 *  I5  Time never runs backwards; t_ms in the log never falls.
 *  I6  At most one model call is open, and none while a tool runs.
 *  I7  CMD_FINISH comes exactly once and last; after it nothing is fed, commanded or logged.
 *  I8  tool_start lines stand in call order, tool_result lines in the order of finishing.
 *  I9  Budgets are looked at before each step and after each reply that wants more; time also while
 *      waiting.
 *  I10 A call is never carried out when its reply was cut, nor beside a terminal call.
 *  I11 seq counts every line from 1 without a gap.
 *
 *              user message
 *     IDLE ───────────────────► MODEL ◄────────────────────────────┐
 *                               │ │ ▲                              │
 *             failure, tries left │ │ retry_at                     │ all answered, budgets left
 *                               │ ▼ │                              │
 *                               │ BACKOFF                          │
 *               reply with calls│                                  │
 *                               ▼                                  │
 *                             TOOLS ───────────────────────────────┘
 *
 *     any ──► DONE
 *
 *  state    event                        goes to   because
 *  IDLE     user message                 MODEL     a step begins (or DONE: a budget of nothing)
 *  MODEL    reply without calls          DONE      completed, truncated, refused
 *  MODEL    reply that pauses            MODEL     the history is sent again, PAUSES_MAX times
 *  MODEL    reply with calls             TOOLS     they are started, or all refused and answered
 *  MODEL    reply with a terminal call   DONE      completed; siblings are cancelled
 *  MODEL    failure                      BACKOFF   retryable and tries left; else DONE
 *  BACKOFF  time                         MODEL     the next attempt
 *  TOOLS    tool result, time            TOOLS     until every call is answered
 *  TOOLS    the last answer              MODEL     the next step; or DONE: a budget, repeats
 *  any      cancel, time budget          DONE      open work stopped, open calls CANCELLED
 *  any      failure: miss or mismatch    DONE      nothing sensible can follow
 */
/* clang-format on */
#include "kernel/core/kernel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/core/kernel_int.h"

#define STATUS_NAME(id, text) [id] = text,

static const char *const status_names[] = {RUN_STATUSES(STATUS_NAME)};

const char *run_status_name(enum run_status s)
{
    return status_names[s];
}

bool run_status_of_name(struct str name, enum run_status *out)
{
    for (size_t i = 0; i < sizeof status_names / sizeof status_names[0]; i++) {
        if (str_is(name, status_names[i])) {
            *out = (enum run_status)i;
            return true;
        }
    }
    return false;
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

/* ---- commands and history ---- */

static void command(struct kernel *k, struct command c)
{
    if (k->n_commands == k->cap_commands) {
        size_t cap = k->cap_commands == 0 ? 16 : k->cap_commands * 2;
        struct command *bigger = arena_array(k->arena, cap, sizeof *bigger);
        for (size_t i = 0; i < k->n_commands; i++) {
            bigger[i] = k->commands[(k->first_command + i) % k->cap_commands];
        }
        k->commands = bigger;
        k->first_command = 0;
        k->cap_commands = cap;
    }
    k->commands[(k->first_command + k->n_commands++) % k->cap_commands] = c;
}

static void remember_results(struct kernel *k)
{
    for (size_t i = 0; i < k->n_calls; i++) {
        const struct call *c = &k->calls[i];
        struct str content = c->output.content;
        assert(c->state == CALL_ANSWERED);
        if (!c->output.ok) {
            struct buf text = {0};
            buf_addz(&text, "{\"ok\":false,\"error\":");
            error_add(&text, &c->output);
            buf_char(&text, '}');
            content = arena_str(k->arena, buf_str(&text));
            buf_free(&text);
        }
        remember(k, (struct message){.role = ROLE_TOOL, .call_id = c->id, .content = content});
    }
    k->n_calls = 0;
}

/* ---- the end ---- */

static void answer_call(struct kernel *k, struct call *c, struct tool_output o)
{
    assert(c->state != CALL_ANSWERED);
    c->output = o;
    c->state = CALL_ANSWERED;
    log_tool_result(k, c);
    call_learn(k, c);
}

/* Answers every call that is still open with `code`, stopping what runs. */
static void close_calls(struct kernel *k, const char *code, struct str message)
{
    for (size_t i = 0; i < k->n_calls; i++) {
        struct call *c = &k->calls[i];
        if (c->state == CALL_ANSWERED) {
            continue;
        }
        if (c->state == CALL_RUNNING) {
            command(k, (struct command){.kind = CMD_STOP_TOOL, .call_id = c->id, .name = c->name});
        }
        answer_call(k, c, call_error(k, code, message, false));
    }
    remember_results(k);
}

static void finish(struct kernel *k, enum run_status status, struct str reason)
{
    if ((k->state == STATE_MODEL && k->attempt > 0) || k->state == STATE_SUMMARY) {
        command(k, (struct command){.kind = CMD_STOP_MODEL});
    }
    close_calls(k, "CANCELLED", STR("the run ended before this call was carried out"));
    k->state = STATE_DONE;
    k->result.status = status;
    k->result.reason = arena_str(k->arena, reason);
    k->result.steps = k->step;
    k->result.calls_made = k->calls_made;
    k->result.usage = k->usage;
    k->result.cost_nano = k->cost_nano;
    k->result.currency = k->config.currency;
    k->result.ended_ms = k->now;
    log_run_end(k);
    command(k, (struct command){.kind = CMD_FINISH, .status = status});
}

static void complete(struct kernel *k, struct str answer)
{
    k->result.answer = answer.p == NULL ? STR("") : answer;
    log_final(k, k->result.answer);
    finish(k, RUN_COMPLETED, STR("completed"));
}

/* ---- budgets ---- */

/* "1 step", "2 steps" */
static struct str counted(struct kernel *k, int64_t n, const char *what)
{
    return arena_printf(k->arena, "%lld %s%s", (long long)n, what, n == 1 ? "" : "s");
}

/* "0.5 USD" */
static struct str money(struct kernel *k, int64_t nano)
{
    struct buf b = {0};
    nano_add(&b, nano);
    buf_char(&b, ' ');
    buf_add(&b, k->config.currency);
    struct str s = arena_str(k->arena, buf_str(&b));
    buf_free(&b);
    return s;
}

/* Ends the run for a spent budget of `limit`. The tokens are named where the provider told them. */
static void finish_spent(struct kernel *k, enum run_status status, struct str limit)
{
    bool known = k->tokens > 0 && k->usage.input >= 0 && k->usage.output >= 0;
    struct str tokens = known ? counted(k, k->tokens, "token") : STR("");
    struct str steps = counted(k, k->step, "step");
    finish(k, status,
           arena_printf(k->arena, "the budget of %.*s is spent after %.*s%s%.*s", STR_FMT(limit),
                        STR_FMT(steps), known ? " and " : "", STR_FMT(tokens)));
}

/* When the time of this user message is up. */
static uint64_t time_limit(const struct kernel *k)
{
    return k->base.ms + (uint64_t)k->config.budget.seconds * 1000;
}

/* Ends the run when a budget is spent; true when it did. */
static bool over_budget(struct kernel *k, bool before_step)
{
    const struct budget *b = &k->config.budget;
    enum run_status status;
    const char *what;
    int64_t limit;
    if (before_step && k->step - k->base.steps >= b->steps) {
        status = RUN_MAX_STEPS, what = "step", limit = b->steps;
    } else if (k->tokens - k->base.tokens >= b->tokens) {
        status = RUN_TOKEN_BUDGET, what = "token", limit = b->tokens;
    } else if (k->now >= time_limit(k)) {
        status = RUN_TIME_BUDGET, what = "second", limit = b->seconds;
    } else if (k->cost_nano >= 0 && k->cost_nano - k->base.cost_nano >= b->cost_nano) {
        finish_spent(k, RUN_COST_BUDGET, money(k, b->cost_nano));
        return true;
    } else if (before_step && k->calls_made - k->base.calls > b->calls) {
        status = RUN_CALL_BUDGET, what = "tool call", limit = b->calls;
    } else {
        return false;
    }
    finish_spent(k, status, counted(k, limit, what));
    return true;
}

/* ---- calling the model ---- */

static void call_model(struct kernel *k)
{
    k->state = STATE_MODEL;
    k->attempt++;
    k->attempt_at = k->now;
    command(k, (struct command){.kind = CMD_CALL_MODEL,
                                .messages = k->history,
                                .n_messages = k->n_history,
                                .step = k->step,
                                .attempt = k->attempt});
}

static void start_step(struct kernel *k)
{
    k->state = STATE_IDLE;
    k->attempt = 0;
    if (over_budget(k, true)) {
        return;
    }
    k->step++;
    log_step_start(k);
    if (compact(k)) {
        k->state = STATE_SUMMARY;
        command(k, (struct command){.kind = CMD_SUMMARISE,
                                    .messages = k->history + k->dropping_from,
                                    .n_messages = k->dropping,
                                    .step = k->step});
        return;
    }
    call_model(k);
}

/* The summary has come, or will not: the step goes on in both cases. */
static void on_summary(struct kernel *k, struct str text)
{
    compact_with(k, text.n == 0 ? (struct str){NULL, 0} : arena_str(k->arena, text));
    k->attempt = 0;
    call_model(k);
}

static int64_t backoff(struct kernel *k, int64_t base, int64_t tries)
{
    int64_t cap = k->config.backoff_cap_ms;
    int64_t wait = base;
    for (int64_t i = 1; i < tries && wait < cap; i++) {
        wait *= 2;
    }
    wait = wait > cap ? cap : wait;
    return wait / 2 + (int64_t)rng_below(&k->rng, (uint64_t)(wait - wait / 2) + 1);
}

/* Why the run ends with this failure: with the HTTP status, unless the message tells it already. */
static struct str failure_reason(struct kernel *k, const struct failure *f)
{
    if (f->status == 0 || f->class == FAIL_MISS || f->class == FAIL_SCRIPT ||
        str_starts(f->message, "HTTP status ")) {
        return f->message;
    }
    struct buf text = {0};
    buf_fmt(&text, "HTTP %d: ", f->status);
    buf_add(&text, f->message);
    struct str reason = arena_str(k->arena, buf_str(&text));
    buf_free(&text);
    return reason;
}

static void on_failure(struct kernel *k, const struct failure *f)
{
    bool again = fail_retryable(f->class) && k->attempt < k->config.model_attempts &&
                 f->retry_after_ms <= k->config.backoff_cap_ms; /* a longer wait is no wait */
    if (!again) {
        log_failure(k, f, -1);
        enum run_status status = f->class == FAIL_MISS     ? RUN_CASSETTE_MISS
                                 : f->class == FAIL_SCRIPT ? RUN_SCRIPT_MISMATCH
                                                           : RUN_MODEL_ERROR;
        k->attempt = 0; /* the call has ended by itself */
        k->result.failed = f->class;
        finish(k, status, failure_reason(k, f));
        return;
    }
    int64_t wait = backoff(k, k->config.backoff_ms, k->attempt);
    if (f->retry_after_ms >= 0) {
        wait = f->retry_after_ms;
    }
    log_failure(k, f, wait);
    if (f->shown) {
        log_discard(k, "the reply broke off and is asked for again");
    }
    k->state = STATE_BACKOFF;
    k->retry_at = k->now + (uint64_t)wait;
}

/* ---- tools ---- */

/* Neither refused nor answered from the cache. */
static bool runnable(const struct call *c)
{
    return c->refusal.code.n == 0 && !c->refusal.ok;
}

static void run_call(struct kernel *k, struct call *c)
{
    c->state = CALL_RUNNING;
    c->attempt++;
    c->started_at = k->now;
    c->due = k->now + (uint64_t)k->config.tools[c->tool].timeout_ms;
    command(k, (struct command){.kind = CMD_CALL_TOOL,
                                .step = k->step,
                                .attempt = c->attempt,
                                .call_id = c->id,
                                .name = c->name,
                                .arguments = c->checked,
                                .tool = c->tool,
                                .order = c->order,
                                .request_id = c->request_id});
}

/* Whether somebody has to be asked before this call is carried out. */
static bool must_ask(const struct kernel *k, const struct call *c)
{
    return runnable(c) && !c->approved && !k->always[c->tool] &&
           k->config.tiers[k->config.tools[c->tool].tier] == TIER_POLICY_ASK;
}

static void ask(struct kernel *k, struct call *c)
{
    c->state = CALL_ASKING;
    log_approval_required(k, c);
    command(k, (struct command){.kind = CMD_ASK_APPROVAL,
                                .step = k->step,
                                .call_id = c->id,
                                .name = c->name,
                                .arguments = c->checked,
                                .tool = c->tool,
                                .order = c->order});
}

/* Logs the start of every call whose turn has come, in call order: all, up to one that must be
 * asked about; in a serial batch one at a time. */
static void ready_calls(struct kernel *k)
{
    for (size_t i = 0; i < k->n_calls; i++) {
        struct call *c = &k->calls[i];
        if (c->state == CALL_ASKING ||
            (k->serial && c->state != CALL_WAITING && c->state != CALL_ANSWERED)) {
            return;
        }
        if (c->state != CALL_WAITING) {
            continue;
        }
        if (must_ask(k, c)) {
            ask(k, c);
            return;
        }
        log_tool_start(k, c);
        c->state = CALL_READY;
        if (k->serial) {
            return;
        }
    }
}

/* Carries out what is ready; refused calls and repeated ones with a known result are answered at
 * once. */
static bool carry_out(struct kernel *k)
{
    bool answered = false;
    for (size_t i = 0; i < k->n_calls; i++) {
        struct call *c = &k->calls[i];
        if (c->state != CALL_READY) {
            continue;
        }
        if (runnable(c)) {
            run_call(k, c);
        } else {
            answer_call(k, c, c->refusal);
            answered = true;
        }
    }
    return answered;
}

/* Starts what may start. In a serial batch an answered call makes room for the next. */
static void start_calls(struct kernel *k)
{
    do {
        ready_calls(k);
    } while (carry_out(k) && k->serial);
}

/* Goes on when every call has its answer. */
static void settle(struct kernel *k)
{
    for (size_t i = 0; i < k->n_calls; i++) {
        if (k->calls[i].state != CALL_ANSWERED) {
            return;
        }
    }
    remember_results(k);
    if (k->over_repeats || calls_alternate(k)) {
        finish(k, RUN_REPEATED_CALLS, STR("the model keeps making the same calls"));
        return;
    }
    if (k->config.no_progress > 0 && k->nothing_new >= k->config.no_progress) {
        finish(k, RUN_NO_PROGRESS, STR("the last tool results added nothing new"));
        return;
    }
    start_step(k);
}

static struct str with_retries(struct kernel *k, struct str message, int64_t retries)
{
    if (retries == 0) {
        return message;
    }
    return arena_printf(k->arena, "%.*s (after %lld %s)",
                        STR_FMT(utf8_prefix(message, ERROR_MESSAGE_CHARS - 40)), (long long)retries,
                        retries == 1 ? "retry" : "retries");
}

/* A tool has ended, or its time has. */
static void end_call(struct kernel *k, struct call *c, struct tool_output o)
{
    const struct tool_spec *tool = &k->config.tools[c->tool];
    if (!o.ok && o.retryable && c->attempt <= k->config.tool_retries &&
        (tool->tier == TIER_READ || tool->idempotent)) {
        int64_t wait = backoff(k, k->config.tool_backoff_ms, c->attempt);
        c->output = o;
        c->state = CALL_BACKOFF;
        c->due = k->now + (uint64_t)wait;
        log_tool_retry(k, c, wait);
        return;
    }
    if (!o.ok) {
        o.message = with_retries(k, o.message, c->attempt - 1);
        if (o.retryable) {
            call_unsee(k, c);
        }
    }
    answer_call(k, c, o);
    if (k->serial) {
        start_calls(k);
    }
    settle(k);
}

/* ---- replies ---- */

static void count_usage(struct kernel *k, const struct usage *u)
{
    int64_t cost = usage_cost_nano(u, k->config.price);
    usage_add(&k->usage, u);
    k->tokens += (u->input > 0 ? u->input : 0) + (u->output > 0 ? u->output : 0);
    k->cost_nano = k->cost_nano < 0 || cost < 0 ? -1 : k->cost_nano + cost;
}

static void remember_reply(struct kernel *k, const struct reply *r)
{
    struct message m = {.role = ROLE_ASSISTANT,
                        .content_null = r->content_null,
                        .content = arena_str(k->arena, r->content),
                        .reasoning = r->reasoning.p == NULL ? r->reasoning
                                                            : arena_str(k->arena, r->reasoning),
                        .n_calls = k->n_calls};
    m.calls = arena_array(k->arena, k->n_calls, sizeof *m.calls);
    for (size_t i = 0; i < k->n_calls; i++) {
        const struct call *c = &k->calls[i];
        /* providers refuse a history with a nameless call, and the model shall hear of its slip */
        struct str name = c->name.n == 0 ? STR("unnamed") : c->name;
        m.calls[i] = (struct tool_call){c->id, name, c->arguments};
    }
    remember(k, m);
}

/* The terminal call is the answer; its siblings are never begun. */
static void end_by_tool(struct kernel *k, struct call *terminal)
{
    log_tool_start(k, terminal);
    answer_call(k, terminal, (struct tool_output){.ok = true, .content = STR("{\"ok\":true}")});
    close_calls(k, "CANCELLED", STR("another call of the same reply ended the run"));
    complete(k, terminal->checked);
}

/* A reply that neither answers nor calls: the history is sent again, as often as PAUSES_MAX, or
 * until the model has said the same three times (K9). */
static void on_pause(struct kernel *k, const struct reply *r, struct str why)
{
    uint64_t text = rng_hash(0, r->content.p, r->content.n);
    k->pauses_same = k->pauses > 0 && text == k->last_text ? k->pauses_same + 1 : 1;
    k->last_text = text;
    if (++k->pauses > PAUSES_MAX || (k->pauses_same >= SAME_TEXT_MAX && r->content.n > 0)) {
        finish(k, RUN_NO_PROGRESS, why);
        return;
    }
    start_step(k);
}

static void on_last_words(struct kernel *k, const struct reply *r)
{
    switch (r->stop) {
    case STOP_MAX_TOKENS:
        finish(k, RUN_TRUNCATED, STR("the reply was cut at its token limit"));
        return;
    case STOP_CONTENT_FILTER:
        finish(k, RUN_REFUSED, STR("the provider's content filter stopped the reply"));
        return;
    case STOP_REFUSAL: finish(k, RUN_REFUSED, STR("the model refused to answer")); return;
    case STOP_PAUSE: on_pause(k, r, STR("the model paused again and again")); return;
    case STOP_END_TURN:
    case STOP_TOOL_USE:
    case STOP_STOP_SEQUENCE:
        if (str_trim(r->content).n == 0) { /* nothing said and nothing asked for is no answer */
            on_pause(k, r, STR("the model says nothing"));
            return;
        }
        complete(k, k->history[k->n_history - 1].content);
        return;
    }
}

static void on_reply(struct kernel *k, const struct reply *from)
{
    struct tool_call written;
    struct reply copy = *from;
    const struct reply *r = &copy;
    if (call_in_text(k, from, &written)) {
        copy.calls = &written;
        copy.n_calls = 1;
    }
    bool cut = r->stop == STOP_MAX_TOKENS || r->stop == STOP_CONTENT_FILTER;
    count_usage(k, &r->usage);
    calls_take(k, r, cut);
    log_reply(k, r);
    if (r->n_calls > 0 || r->content.n > 0) { /* providers refuse an empty assistant message */
        remember_reply(k, r);
    }
    k->attempt = 0;
    if (r->n_calls == 0) {
        on_last_words(k, r);
        return;
    }
    k->pauses = 0;
    if (r->stop == STOP_CONTENT_FILTER) {
        finish(k, RUN_REFUSED, STR("the provider's content filter stopped the reply"));
        return;
    }
    struct call *terminal = calls_terminal(k);
    if (terminal != NULL) {
        end_by_tool(k, terminal);
        return;
    }
    if (over_budget(k, false)) {
        return;
    }
    k->state = STATE_TOOLS;
    start_calls(k);
    settle(k);
}

/* ---- time ---- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t kernel_deadline(const struct kernel *k)
{
    if (k->state == STATE_DONE || k->state == STATE_IDLE) {
        return UINT64_MAX;
    }
    uint64_t at = time_limit(k);
    if (k->state == STATE_BACKOFF) {
        at = min_u64(at, k->retry_at);
    }
    for (size_t i = 0; i < k->n_calls; i++) {
        if (k->calls[i].state == CALL_RUNNING || k->calls[i].state == CALL_BACKOFF) {
            at = min_u64(at, k->calls[i].due);
        }
    }
    return at;
}

static void time_out(struct kernel *k, struct call *c)
{
    command(k, (struct command){.kind = CMD_STOP_TOOL, .call_id = c->id, .name = c->name});
    struct tool_output o = call_error(k, "TIMEOUT",
                                      arena_printf(k->arena, "no result within %lld ms",
                                                   (long long)k->config.tools[c->tool].timeout_ms),
                                      true);
    end_call(k, c, o);
}

static void on_time(struct kernel *k)
{
    if (k->state == STATE_IDLE) {
        return;
    }
    if (k->now >= time_limit(k)) {
        finish_spent(k, RUN_TIME_BUDGET, counted(k, k->config.budget.seconds, "second"));
        return;
    }
    if (k->state == STATE_BACKOFF && k->now >= k->retry_at) {
        call_model(k);
        return;
    }
    for (size_t i = 0; k->state == STATE_TOOLS && i < k->n_calls; i++) {
        struct call *c = &k->calls[i];
        if (c->state == CALL_RUNNING && k->now >= c->due) {
            time_out(k, c);
        } else if (c->state == CALL_BACKOFF && k->now >= c->due) {
            run_call(k, c);
        }
    }
}

/* ---- people ---- */

static void on_user_message(struct kernel *k, struct str text)
{
    if (k->step > 0) { /* each message has the whole budget */
        k->base = (struct spent){.steps = k->step,
                                 .tokens = k->tokens,
                                 .calls = k->calls_made,
                                 .cost_nano = k->cost_nano < 0 ? 0 : k->cost_nano,
                                 .ms = k->now};
    }
    k->pauses = 0;
    log_user_message(k, text);
    remember(k, (struct message){.role = ROLE_USER, .content = arena_str(k->arena, text)});
    start_step(k);
}

static void on_approval(struct kernel *k, struct call *c, enum decision decision)
{
    log_approval(k, c, decision);
    c->state = CALL_WAITING;
    c->approved = true;
    if (decision == DECIDED_DENY) {
        c->refusal = call_error(k, "DENIED", STR("the user did not allow this call"), false);
    } else if (decision == DECIDED_ALWAYS) {
        k->always[c->tool] = true;
    }
    start_calls(k);
    settle(k);
}

/* ---- going on after an end or a crash ---- */

/* A call that was under way when the process died: carried out again where that is harmless, else
 * answered, since nobody knows what it did. */
static void resume_call(struct kernel *k, struct call *c)
{
    const struct tool_spec *tool = &k->config.tools[c->tool];
    if (tool->tier == TIER_READ || tool->idempotent) {
        c->attempt--;
        run_call(k, c);
        return;
    }
    answer_call(
        k, c,
        call_error(k, "CANCELLED",
                   STR("the run was interrupted during this call; whether it took effect is not "
                       "known"),
                   false));
}

static void resume_calls(struct kernel *k)
{
    for (size_t i = 0; i < k->n_calls; i++) {
        struct call *c = &k->calls[i];
        switch (c->state) {
        case CALL_RUNNING: resume_call(k, c); break;
        case CALL_ASKING: c->state = CALL_WAITING; break;
        case CALL_READY:
        case CALL_WAITING:
        case CALL_BACKOFF:
        case CALL_ANSWERED: break;
        }
    }
    start_calls(k);
    settle(k);
}

/* Tools may have changed: what was found in the old list is looked up in the new one. */
static void reconfigure(struct kernel *k, const struct kernel_config *to)
{
    struct kernel_config before = k->config;
    k->config = *to;
    k->config.run = before.run; /* what the log's first line says stays */
    k->config.seed = before.seed;
    k->config.started_at = before.started_at;
    k->config.system = before.system;
    if (k->cost_nano > 0 && !str_eq(to->currency, before.currency)) {
        k->cost_nano = -1; /* amounts of two currencies have no sum */
    }
    bool *always = arena_array(k->arena, to->n_tools, sizeof *always);
    for (size_t i = 0; i < before.n_tools; i++) {
        const struct tool_spec *tool = tool_find(to->tools, to->n_tools, before.tools[i].name);
        if (tool != NULL) {
            always[tool - to->tools] = k->always[i];
        }
    }
    k->always = always;
    for (size_t i = 0; i < k->n_calls; i++) {
        struct call *c = &k->calls[i];
        const struct tool_spec *tool = tool_find(to->tools, to->n_tools, c->name);
        c->tool = tool == NULL ? SIZE_MAX : (size_t)(tool - to->tools);
        if (tool == NULL && c->state != CALL_ANSWERED) {
            c->state = CALL_WAITING;
            c->refusal = call_error(k, "UNKNOWN_TOOL", STR("this tool is offered no more"), false);
        }
    }
}

/* Whether the last thing said is an answer, so that the user is next. */
static bool answered(const struct kernel *k)
{
    const struct message *last = k->n_history == 0 ? NULL : &k->history[k->n_history - 1];
    return last == NULL || last->role == ROLE_SYSTEM ||
           (last->role == ROLE_ASSISTANT && last->n_calls == 0);
}

static void on_resume(struct kernel *k, const struct event *ev)
{
    struct kernel_config before = k->config;
    if (ev->config != NULL) {
        reconfigure(k, ev->config);
    }
    if (ev->text.p != NULL && k->state != STATE_DONE) {
        close_calls(k, "CANCELLED",
                    STR("the user said something else before this call was carried out"));
        k->state = STATE_DONE;
    }
    log_resume(k, &before);
    k->attempt = 0;
    switch (k->state) {
    case STATE_IDLE: break;
    case STATE_DONE:
        k->result = (struct run_result){.answer = {NULL, 0}};
        k->state = STATE_IDLE;
        if (ev->text.p != NULL) {
            on_user_message(k, ev->text);
        } else if (!answered(k)) {
            start_step(k);
        }
        break;
    case STATE_MODEL:
    case STATE_BACKOFF: call_model(k); break;
    case STATE_SUMMARY: on_summary(k, (struct str){NULL, 0}); break;
    case STATE_TOOLS: resume_calls(k); break;
    }
}

/* ---- the public face ---- */

static struct call *call_in(struct kernel *k, enum call_state state, struct str id)
{
    for (size_t i = 0; i < k->n_calls; i++) {
        if (k->calls[i].state == state && str_eq(k->calls[i].id, id)) {
            return &k->calls[i];
        }
    }
    return NULL;
}

struct kernel *kernel_new(const struct kernel_config *config)
{
    assert(config->budget.steps >= 0 && config->budget.seconds >= 0);
    assert(config->max_consecutive >= 2 && config->model_attempts >= 1);
    struct kernel *k = mem_zero(sizeof *k);
    k->config = *config;
    k->arena = arena_new();
    k->rng = rng_seeded(config->seed);
    k->result.answer = (struct str){NULL, 0};
    k->always = arena_array(k->arena, config->n_tools, sizeof *k->always);
    k->cost_nano = config->price == NULL ? -1 : 0;
    if (config->system.p != NULL) {
        remember(k, (struct message){.role = ROLE_SYSTEM, .content = config->system});
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

/* The output kept in the kernel's own memory, its message within the limit. */
static struct tool_output own_output(struct kernel *k, const struct tool_output *from)
{
    if (from->ok) {
        return (struct tool_output){.ok = true,
                                    .content = arena_str(k->arena, from->content),
                                    .truncated = from->truncated};
    }
    struct tool_output o =
        call_error(k, from->code.n == 0 ? "TOOL_ERROR" : arena_cstr(k->arena, from->code),
                   from->message, from->retryable);
    if (from->hint.n > 0) {
        o.hint = arena_str(k->arena, from->hint);
    }
    return o;
}

bool kernel_takes(struct kernel *k, const struct event *ev)
{
    switch (ev->kind) {
    case EV_USER_MESSAGE: return k->state == STATE_IDLE;
    case EV_REPLY: return k->state == STATE_MODEL;
    case EV_APPROVAL: return call_in(k, CALL_ASKING, ev->call_id) != NULL;
    case EV_SUMMARY: return k->state == STATE_SUMMARY;
    case EV_RESUME: return k->state != STATE_IDLE || ev->text.p != NULL;
    case EV_FAILURE:
        return k->state == STATE_MODEL || k->state == STATE_SUMMARY ||
               ((ev->failure->class == FAIL_MISS || ev->failure->class == FAIL_SCRIPT) &&
                k->state != STATE_DONE);
    case EV_TOOL_RESULT:
        return k->state == STATE_TOOLS && call_in(k, CALL_RUNNING, ev->call_id) != NULL;
    case EV_CANCEL:
    case EV_TIME: return k->state != STATE_DONE;
    }
    return false;
}

int kernel_feed(struct kernel *k, const struct event *ev, uint64_t now_ms)
{
    if (now_ms < k->now || !kernel_takes(k, ev)) {
        return ERR_STATE;
    }
    if (k->log_taken == k->log.n) {
        buf_clear(&k->log);
        k->log_taken = 0;
    }
    k->now = now_ms;
    switch (ev->kind) {
    case EV_USER_MESSAGE: on_user_message(k, ev->text); break;
    case EV_APPROVAL: on_approval(k, call_in(k, CALL_ASKING, ev->call_id), ev->decision); break;
    case EV_SUMMARY:
        if (ev->reply != NULL) {
            count_usage(k, &ev->reply->usage);
        }
        on_summary(k, ev->text);
        break;
    case EV_RESUME: on_resume(k, ev); break;
    case EV_REPLY: on_reply(k, ev->reply); break;
    case EV_FAILURE:
        if (k->state == STATE_SUMMARY && ev->failure->class != FAIL_MISS &&
            ev->failure->class != FAIL_SCRIPT) {
            on_summary(k, (struct str){NULL, 0});
        } else {
            on_failure(k, ev->failure);
        }
        break;
    case EV_TOOL_RESULT:
        end_call(k, call_in(k, CALL_RUNNING, ev->call_id), own_output(k, ev->output));
        break;
    case EV_CANCEL:
        log_cancel(k, ev->text);
        finish(k, RUN_CANCELLED, ev->text);
        break;
    case EV_TIME: on_time(k); break;
    }
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
    switch (k->state) {
    case STATE_IDLE: return STAGE_WAITING;
    case STATE_DONE: return STAGE_ENDED;
    case STATE_MODEL:
    case STATE_BACKOFF:
    case STATE_SUMMARY:
    case STATE_TOOLS: return STAGE_WORKING;
    }
    return STAGE_ENDED;
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
