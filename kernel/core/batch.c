/* A batch: carrying out the calls of one reply, in order, with approval, retries and time limits,
 * until each of them has its answer. */
#include <assert.h>

#include "kernel/base/text.h"
#include "kernel/core/kernel_int.h"

/* What with_retries may add to a message. */
enum { RETRIES_NOTE_CHARS = 40 };

#define STOPPED_CALL "this call was stopped before it ended; whether it took effect is not known"
#define LOST_TOOL    "this tool is offered no more"

/* ---- answers ---- */

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
#ifdef PLANT_LOSE_ERRORS /* I2: what failed is not told */
        if (!c->output.ok) {
            continue;
        }
#endif
        remember(k, (struct message){.role = ROLE_TOOL, .call_id = c->id, .content = content});
    }
#ifdef PLANT_RESULT_FIRST /* I3: the first result stands before its call */
    if (k->n_calls > 0) {
        struct message *m = &k->history[k->n_history - k->n_calls - 1], first = m[0];
        m[0] = m[1];
        m[1] = first;
    }
#endif
    k->n_calls = 0;
}

static void answer_call(struct kernel *k, struct call *c, struct tool_output o)
{
    assert(c->state != CALL_ANSWERED);
    c->output = o;
    c->state = CALL_ANSWERED;
    log_tool_result(k, c);
    call_learn(k, c);
}

static void cancel_call(struct kernel *k, struct call *c, struct str why)
{
    answer_call(k, c, call_error(k, "CANCELLED", why, false));
}

void batch_close(struct kernel *k, struct str why)
{
    for (size_t i = 0; i < k->n_calls; i++) {
        struct call *c = &k->calls[i];
        switch (c->state) {
        case CALL_RUNNING:
#ifndef PLANT_LEAVE_RUNNING /* I7: something is open at the end */
            command_add(k,
                        (struct command){.kind = CMD_STOP_TOOL, .call_id = c->id, .name = c->name});
#endif
            cancel_call(k, c, STR(STOPPED_CALL));
            break;
        case CALL_WAITING:
        case CALL_ASKING:
        case CALL_READY:
        case CALL_BACKOFF: cancel_call(k, c, why); break;
        case CALL_ANSWERED: break;
        }
    }
    remember_results(k);
}

void batch_end_by(struct kernel *k, struct call *terminal)
{
    log_tool_start(k, terminal);
    answer_call(k, terminal, (struct tool_output){.ok = true, .content = STR("{\"ok\":true}")});
    batch_close(k, STR("another call of the same reply ended the run"));
}

/* ---- carrying out ---- */

static void run_call(struct kernel *k, struct call *c)
{
    c->state = CALL_RUNNING;
    c->attempt++;
    c->started_at = k->now;
    c->due = k->now + (uint64_t)k->config.tools[c->tool].timeout_ms;
    command_add(k, (struct command){.kind = CMD_CALL_TOOL,
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
    command_add(k, (struct command){.kind = CMD_ASK_APPROVAL,
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
#ifdef PLANT_OVERTAKE /* I8: later calls overtake one that waits for approval */
            continue;
#else
            return;
#endif
        }
        log_tool_start(k, c);
        c->start_seq = k->seq;
        c->state = CALL_READY;
        if (k->serial) {
            return;
        }
    }
}

/* Carries out what is ready; refused calls and repeated ones with a known result are answered at
 * once. True when one was. */
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
#ifdef PLANT_ANY_ANSWERED /* I6: any answered is taken for all answered */
            if (k->calls[0].state == CALL_ANSWERED) {
                step_call_model(k);
            }
#endif
            return;
        }
    }
    remember_results(k);
    if (k->over_repeats || calls_alternate(k)) {
        run_finish(k, RUN_REPEATED_CALLS, STR("the model keeps making the same calls"));
        return;
    }
    if (k->config.no_progress > 0 && k->nothing_new >= k->config.no_progress) {
        run_finish(k, RUN_NO_PROGRESS, STR("the last tool results added nothing new"));
        return;
    }
    step_start(k);
}

void batch_start(struct kernel *k)
{
    start_calls(k);
    settle(k);
}

/* ---- ends of calls ---- */

static struct str with_retries(struct kernel *k, struct str message, int64_t retries)
{
    if (retries == 0) {
        return message;
    }
    return arena_printf(k->arena, "%.*s (after %lld %s)",
                        STR_FMT(utf8_prefix(message, ERROR_MESSAGE_CHARS - RETRIES_NOTE_CHARS)),
                        (long long)retries, retries == 1 ? "retry" : "retries");
}

/* A tool has ended, or its time has. */
static void end_call(struct kernel *k, struct call *c, struct tool_output o)
{
    const struct tool_spec *tool = &k->config.tools[c->tool];
    if (!o.ok && o.retryable && c->attempt <= k->config.tool_retries && tool_repeatable(tool)) {
        int64_t wait = retry_wait(k, k->config.tool_backoff_ms, c->attempt);
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
    batch_start(k);
}

/* The output kept in the kernel's own memory, its message within the limit. */
static struct tool_output own_output(struct kernel *k, const struct tool_output *from)
{
    if (from->ok) {
        return (struct tool_output){
            .ok = true, .content = own_text(k, from->content), .truncated = from->truncated};
    }
    struct str code = from->code.n == 0 ? STR("TOOL_ERROR") : from->code;
    struct tool_output o =
        call_error(k, arena_cstr(k->arena, own_text(k, code)), from->message, from->retryable);
    if (from->hint.n > 0) {
        o.hint = own_text(k, from->hint);
    }
    return o;
}

void batch_result(struct kernel *k, struct call *c, const struct tool_output *o)
{
    end_call(k, c, own_output(k, o));
}

static void time_out(struct kernel *k, struct call *c)
{
    command_add(k, (struct command){.kind = CMD_STOP_TOOL, .call_id = c->id, .name = c->name});
    end_call(k, c,
             call_error(k, "TIMEOUT",
                        arena_printf(k->arena, "no result within %lld ms",
                                     (long long)k->config.tools[c->tool].timeout_ms),
                        true));
}

void batch_time(struct kernel *k)
{
    for (size_t i = 0; i < k->n_calls; i++) {
        if (k->calls[i].state == CALL_RUNNING && k->now >= k->calls[i].due) {
            time_out(k, &k->calls[i]);
        }
    }
}

void batch_retry(struct kernel *k)
{
    for (size_t i = 0; i < k->n_calls; i++) {
        if (k->calls[i].state == CALL_BACKOFF && k->now >= k->calls[i].due) {
            run_call(k, &k->calls[i]);
        }
    }
}

uint64_t batch_deadline(const struct kernel *k)
{
    uint64_t at = UINT64_MAX;
    for (size_t i = 0; i < k->n_calls; i++) {
        const struct call *c = &k->calls[i];
        if ((c->state == CALL_RUNNING || c->state == CALL_BACKOFF) && c->due < at) {
            at = c->due;
        }
    }
    return at;
}

void batch_approve(struct kernel *k, struct call *c, enum decision decision)
{
    log_approval(k, c, decision);
    c->state = CALL_WAITING;
    c->approved = true;
    switch (decision) {
    case DECIDED_ALLOW: break;
    case DECIDED_DENY:
        c->refusal = call_error(k, "DENIED", STR("the user did not allow this call"), false);
        break;
    case DECIDED_ALWAYS: k->always[c->tool] = true; break;
    }
    batch_start(k);
}

/* ---- after a crash ---- */

static void not_begun(struct call *c)
{
    c->state = CALL_READY;
    c->attempt = 0;
}

void batch_not_begun(struct kernel *k, struct str id)
{
    struct call *c = batch_call(k, CALL_RUNNING, id);
    if (c != NULL) {
        not_begun(c);
    }
}

void batch_begun_before(struct kernel *k, int64_t seq)
{
    for (size_t i = 0; i < k->n_calls; i++) {
        if (k->calls[i].state == CALL_RUNNING && k->calls[i].start_seq >= seq) {
            not_begun(&k->calls[i]);
        }
    }
}

/* A call whose start is logged, on going on after a crash. What had not begun (READY) or waits for
 * a retry is carried out; what was under way is carried out again where that is harmless, else
 * answered, since nobody knows what it did. */
static void resume_started(struct kernel *k, struct call *c)
{
    bool under_way = c->state == CALL_RUNNING;
#ifdef PLANT_REPEAT_EFFECTS /* a call that may have had its effect is made again */
    if (c->tool != SIZE_MAX) {
        run_call(k, c);
        return;
    }
#endif
    if (c->tool == SIZE_MAX && !under_way) {
        answer_call(k, c, call_error(k, "UNKNOWN_TOOL", STR(LOST_TOOL), false));
    } else if (c->tool == SIZE_MAX || (under_way && !tool_repeatable(&k->config.tools[c->tool]))) {
        cancel_call(k, c, STR(STOPPED_CALL));
    } else {
        c->attempt -= under_way ? 1 : 0;
        run_call(k, c);
    }
}

void batch_resume(struct kernel *k)
{
    for (size_t i = 0; i < k->n_calls; i++) {
        struct call *c = &k->calls[i];
        switch (c->state) {
        case CALL_READY:
        case CALL_RUNNING:
        case CALL_BACKOFF: resume_started(k, c); break;
        case CALL_ASKING: /* to be asked about once more */
        case CALL_WAITING:
            c->state = CALL_WAITING;
            if (c->tool == SIZE_MAX && runnable(c)) {
                c->refusal = call_error(k, "UNKNOWN_TOOL", STR(LOST_TOOL), false);
            }
            break;
        case CALL_ANSWERED: break;
        }
    }
    batch_start(k);
}

struct call *batch_call(struct kernel *k, enum call_state state, struct str id)
{
    for (size_t i = 0; i < k->n_calls; i++) {
        if (k->calls[i].state == state && str_eq(k->calls[i].id, id)) {
            return &k->calls[i];
        }
    }
    return NULL;
}
