/* Steps of a run: what begins one, what a model is asked, which budgets end the run, and the end.
 */
#include <assert.h>

#include "kernel/base/tokens.h"
#include "kernel/core/kernel_int.h"

/* ---- the end ---- */

void run_finish(struct kernel *k, enum run_status status, struct str reason)
{
    if (k->state == STATE_MODEL || k->state == STATE_SUMMARY) {
        command_add(k, (struct command){.kind = CMD_STOP_MODEL});
    }
    batch_close(k, STR("the run ended before this call was carried out"));
    k->state = STATE_DONE;
    k->result.status = status;
    k->result.reason = own_text(k, reason);
    k->result.steps = k->step;
    k->result.calls_made = k->calls_made;
    k->result.usage = k->usage;
    k->result.cost_nano = k->cost_nano;
    k->result.currency = k->config.currency;
    k->result.ended_ms = k->now;
    log_run_end(k);
    command_add(k, (struct command){.kind = CMD_FINISH, .status = status});
}

void run_complete(struct kernel *k, struct str answer)
{
    k->result.answer = answer;
    log_final(k, answer);
    run_finish(k, RUN_COMPLETED, STR("completed"));
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

/* Ends the run for a spent budget of `limit`; tokens are "about" where they were estimated. */
static void finish_spent(struct kernel *k, enum run_status status, struct str limit)
{
    int64_t used = k->tokens - k->base.tokens;
    bool known = k->usage.input >= 0 && k->usage.output >= 0;
    struct str after = counted(k, k->step - k->base.steps, "step");
    if (used > 0) {
        struct str tokens = counted(k, used, "token");
        after = arena_printf(k->arena, "%.*s and %s%.*s", STR_FMT(after), known ? "" : "about ",
                             STR_FMT(tokens));
    }
    run_finish(k, status,
               arena_printf(k->arena, "the budget of %.*s is spent after %.*s", STR_FMT(limit),
                            STR_FMT(after)));
}

uint64_t run_time_limit(const struct kernel *k)
{
    return k->base.ms + (uint64_t)k->config.budget.seconds * 1000;
}

bool run_over_time(struct kernel *k)
{
    if (k->now < run_time_limit(k)) {
        return false;
    }
    finish_spent(k, RUN_TIME_BUDGET, counted(k, k->config.budget.seconds, "second"));
    return true;
}

bool run_over_budget(struct kernel *k, bool before_step)
{
    const struct budget *b = &k->config.budget;
    if (before_step && k->step - k->base.steps >= b->steps) {
        finish_spent(k, RUN_MAX_STEPS, counted(k, b->steps, "step"));
    } else if (k->tokens - k->base.tokens >= b->tokens) {
        finish_spent(k, RUN_TOKEN_BUDGET, counted(k, b->tokens, "token"));
    } else if (run_over_time(k)) {
        return true;
    } else if (k->cost_nano >= 0 && k->cost_nano - k->base.cost_nano >= b->cost_nano) {
        finish_spent(k, RUN_COST_BUDGET, money(k, b->cost_nano));
    } else if (before_step && k->calls_made - k->base.calls > b->calls) {
        finish_spent(k, RUN_CALL_BUDGET, counted(k, b->calls, "tool call"));
    } else {
        return false;
    }
    return true;
}

/* ---- asking the model ---- */

void step_call_model(struct kernel *k)
{
    k->state = STATE_MODEL;
    k->attempt++;
    k->attempt_at = k->now;
    command_add(k, (struct command){.kind = CMD_CALL_MODEL,
                                    .messages = k->history,
                                    .n_messages = k->n_history,
                                    .step = k->step,
                                    .attempt = k->attempt});
}

void step_ask_summary(struct kernel *k)
{
    k->state = STATE_SUMMARY;
    command_add(k, (struct command){.kind = CMD_SUMMARISE,
                                    .messages = k->history + k->dropping_from,
                                    .n_messages = k->dropping,
                                    .step = k->step});
}

void step_start(struct kernel *k)
{
    k->state = STATE_IDLE;
    k->attempt = 0;
#ifndef PLANT_NO_BUDGET /* I9: a step begins whatever is spent */
    if (run_over_budget(k, true)) {
        return;
    }
#endif
    k->step++;
    log_step_start(k);
    if (compact(k)) {
        step_ask_summary(k);
    } else {
        step_call_model(k);
    }
}

void step_summary(struct kernel *k, struct str text, const struct usage *usage)
{
    struct usage counts = USAGE_UNKNOWN, guess = {.output = text_tokens(text)};
    if (usage != NULL) {
        for (size_t i = 0; i < k->dropping; i++) {
            guess.input += k->sizes[k->dropping_from + i];
        }
        counts = usage_take(k, usage, &guess);
        usage = &counts;
    }
    text = own_text(k, text);
    compact_with(k, text.n == 0 ? (struct str){NULL, 0} : text, usage);
    k->state = STATE_IDLE;
    k->attempt = 0;
    if (!run_over_budget(k, false)) {
        step_call_model(k);
    }
}
