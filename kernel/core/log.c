/* The event log: one JSON object a line, in the format of FORMATS.md. */
#include <assert.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kernel/base/json.h"
#include "kernel/core/kernel_int.h"

static struct buf *begin(struct kernel *k, const char *type)
{
    struct buf *b = &k->log;
    buf_char(b, '{');
    json_put_int(b, "seq", ++k->seq);
    json_put_int(b, "t_ms", (int64_t)k->now);
    json_put_text(b, "type", str_of(type));
    return b;
}

/* Ends the line and takes its bytes, from `from` on, into the sum. */
static void end(struct kernel *k, size_t from)
{
    buf_addz(&k->log, "}\n");
    XXH3_64bits_update(k->sum, k->log.p + from, k->log.n - from);
    k->logged += k->log.n - from;
}

static void put_calls(struct buf *b, const struct call *calls, size_t n)
{
    json_key(b, "calls");
    buf_char(b, '[');
    for (size_t i = 0; i < n; i++) {
        json_next(b);
        tool_call_add(b, &(struct tool_call){calls[i].id, calls[i].name, calls[i].arguments});
    }
    buf_char(b, ']');
}

static void put_budget(struct buf *b, const struct budget *budget)
{
    const struct budget usual = BUDGET_DEFAULT;
    json_key(b, "budget");
    buf_char(b, '{');
    json_put_int(b, "steps", budget->steps);
    json_put_int(b, "tokens", budget->tokens);
    json_put_int(b, "seconds", budget->seconds);
    json_key(b, "cost_usd");
    nano_add(b, budget->cost_nano);
    if (budget->calls != usual.calls) {
        json_put_int(b, "calls", budget->calls);
    }
    if (budget->calls_per_reply != usual.calls_per_reply) {
        json_put_int(b, "calls_per_reply", budget->calls_per_reply);
    }
    buf_char(b, '}');
}

static const char *const repeat_names[] = {
    [REPEAT_BLOCK] = "block", [REPEAT_CACHE] = "cache", [REPEAT_ALLOW] = "allow"};

static void put_price(struct buf *b, const struct kernel_config *c)
{
    json_put_text(b, "currency", c->currency);
    json_key(b, "price");
    price_add(b, c->price);
}

/* The settings of c that are others than those of `than`. */
static void put_settings(struct buf *b, const struct kernel_config *c,
                         const struct kernel_config *than)
{
    const struct {
        const char *name;
        int64_t value, than;
    } numbers[] = {
        {"max_consecutive", c->max_consecutive, than->max_consecutive},
        {"tool_retries", c->tool_retries, than->tool_retries},
        {"tool_backoff_ms", c->tool_backoff_ms, than->tool_backoff_ms},
        {"model_attempts", c->model_attempts, than->model_attempts},
        {"backoff_ms", c->backoff_ms, than->backoff_ms},
        {"backoff_cap_ms", c->backoff_cap_ms, than->backoff_cap_ms},
        {"no_progress", c->no_progress, than->no_progress},
        {"context_tokens", c->context_tokens, than->context_tokens},
        {"keep_steps", c->keep_steps, than->keep_steps},
        {"fenced_calls", c->fenced_calls, than->fenced_calls},
        {"close_names", c->close_names, than->close_names},
        {"summarise", c->compaction == COMPACT_SUMMARISE, than->compaction == COMPACT_SUMMARISE},
        {"tier_read", c->tiers[TIER_READ], than->tiers[TIER_READ]},
        {"tier_write", c->tiers[TIER_WRITE], than->tiers[TIER_WRITE]},
        {"tier_danger", c->tiers[TIER_DANGER], than->tiers[TIER_DANGER]},
    };
    if (c->repeat != than->repeat) {
        json_put_text(b, "repeat", str_of(repeat_names[c->repeat]));
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].value != numbers[i].than) {
            json_put_int(b, numbers[i].name, numbers[i].value);
        }
    }
    if (!price_equal(c->price, than->price) || !str_eq(c->currency, than->currency)) {
        put_price(b, c);
    }
}

static void put_tools(struct buf *b, const struct kernel_config *c)
{
    json_key(b, "tools");
    buf_char(b, '[');
    for (size_t i = 0; i < c->n_tools; i++) {
        json_next(b);
        json_add_string(b, c->tools[i].name);
    }
    buf_char(b, ']');
}

void log_config(struct buf *b, const struct kernel_config *c)
{
    const struct kernel_config usual = kernel_config_default();
    put_tools(b, c);
    put_budget(b, &c->budget);
    json_key(b, "config");
    buf_char(b, '{');
    put_settings(b, c, &usual);
    buf_char(b, '}');
}

void log_open(struct kernel *k)
{
    const struct kernel_config *c = &k->config;
    k->sum = mem_need(XXH3_createState());
    XXH3_64bits_reset(k->sum);
    struct buf *b = begin(k, "run_start");
    json_put_int(b, "schema", 1);
    json_put_text(b, "run", c->run);
    json_put_int(b, "seed", (int64_t)c->seed);
    json_put_text(b, "started_at", c->started_at);
    json_put_text(b, "model", c->model);
    json_put_text(b, "provider", c->provider);
    json_put_text_or_null(b, "system", c->system);
    log_config(b, c);
    end(k, 0);
}

uint64_t log_sum(const struct kernel *k)
{
    return XXH3_64bits_digest(k->sum);
}

void log_continue(struct kernel *k, struct str all)
{
    buf_clear(&k->log);
    k->log_taken = 0;
    k->logged = all.n;
    XXH3_64bits_reset(k->sum);
    XXH3_64bits_update(k->sum, all.p, all.n);
}

void log_close(struct kernel *k)
{
    XXH3_freeState(k->sum);
    buf_free(&k->log);
}

void log_user_message(struct kernel *k, struct str content)
{
    size_t from = k->log.n;
    json_put_text(begin(k, "user_message"), "content", content);
    end(k, from);
}

void log_step_start(struct kernel *k)
{
    size_t from = k->log.n;
    json_put_int(begin(k, "step_start"), "step", k->step);
    end(k, from);
}

void log_reply(struct kernel *k, const struct reply *r)
{
    size_t from = k->log.n;
    struct buf *b = begin(k, "llm_reply");
    json_put_int(b, "step", k->step);
    json_put_text_or_null(b, "content", r->content_null ? (struct str){NULL, 0} : r->content);
    json_put_text_or_null(b, "reasoning", r->reasoning);
    if (r->parts.p != NULL) {
        json_key(b, "parts");
        buf_add(b, r->parts);
    }
    put_calls(b, k->calls, k->n_calls);
    json_put_text(b, "stop", str_of(stop_name(r->stop)));
    json_put_text_or_null(b, "stop_raw", r->stop_raw);
    usage_put(b, &r->usage);
    json_put_known(b, "cost_nano", usage_cost_nano(&r->usage, k->config.price));
    json_put_int(b, "latency_ms", (int64_t)(k->now - k->attempt_at));
    json_put_int(b, "attempts", k->attempt);
    end(k, from);
}

void log_failure(struct kernel *k, const struct failure *f, int64_t retry_in_ms)
{
    size_t from = k->log.n;
#ifdef PLANT_GAP /* I11: a failure leaves a gap in seq */
    k->seq++;
#endif
    struct buf *b = begin(k, "llm_failure");
    json_put_int(b, "step", k->step);
    json_put_text(b, "class", str_of(fail_name(f->class)));
    json_put_known(b, "status", f->status == 0 ? -1 : f->status);
    json_put_text(b, "message", f->message);
    if (f->retry_after_ms >= 0) {
        json_put_int(b, "retry_after_ms", f->retry_after_ms);
    }
    if (f->shown) {
        json_put_bool(b, "shown", true);
    }
    if (retry_in_ms < 0) {
        json_put_bool(b, "final", true);
    } else {
        json_put_int(b, "retry_in_ms", retry_in_ms);
    }
    end(k, from);
}

void log_discard(struct kernel *k, const char *reason)
{
    size_t from = k->log.n;
    struct buf *b = begin(k, "discard");
    json_put_int(b, "step", k->step);
    json_put_text(b, "reason", str_of(reason));
    end(k, from);
}

static struct buf *begin_call(struct kernel *k, const char *type, const struct call *c)
{
    struct buf *b = begin(k, type);
    json_put_int(b, "step", k->step);
    json_put_text(b, "call_id", c->id);
    return b;
}

void log_tool_start(struct kernel *k, const struct call *c)
{
    size_t from = k->log.n;
    struct buf *b = begin_call(k, "tool_start", c);
    json_put_text(b, "name", c->name);
    json_put_text(b, "arguments", c->arguments);
    if (c->coerced) {
        json_put_text(b, "coerced", c->checked);
    }
    end(k, from);
}

void error_add(struct buf *out, const struct tool_output *o)
{
    buf_char(out, '{');
    json_put_text(out, "code", o->code);
    json_put_text(out, "message", o->message);
    json_put_bool(out, "retryable", o->retryable);
    json_put_text_or_null(out, "hint", o->hint.n == 0 ? (struct str){NULL, 0} : o->hint);
    buf_char(out, '}');
}

void log_tool_retry(struct kernel *k, const struct call *c, int64_t retry_in_ms)
{
    size_t from = k->log.n;
    struct buf *b = begin_call(k, "tool_retry", c);
    json_put_int(b, "attempt", c->attempt);
    json_key(b, "error");
    error_add(b, &c->output);
    json_put_int(b, "retry_in_ms", retry_in_ms);
    end(k, from);
}

void log_tool_result(struct kernel *k, const struct call *c)
{
    size_t from = k->log.n;
    struct buf *b = begin_call(k, "tool_result", c);
    json_put_text(b, "name", c->name);
    json_put_bool(b, "ok", c->output.ok);
    if (c->output.ok) {
        json_put_text(b, "content", c->output.content);
    } else {
        json_key(b, "error");
        error_add(b, &c->output);
    }
    json_put_int(b, "latency_ms", c->attempt == 0 ? 0 : (int64_t)(k->now - c->started_at));
    json_put_int(b, "attempts", c->attempt);
    json_put_bool(b, "cached", c->output.cached);
    json_put_bool(b, "truncated", c->output.truncated);
    end(k, from);
}

void log_approval_required(struct kernel *k, const struct call *c)
{
    size_t from = k->log.n;
    struct buf *b = begin_call(k, "approval_required", c);
    json_put_text(b, "name", c->name);
    json_put_text(b, "arguments", c->arguments);
    end(k, from);
}

void log_approval(struct kernel *k, const struct call *c, enum decision decision)
{
    size_t from = k->log.n;
    struct buf *b = begin(k, "approval");
    json_put_text(b, "call_id", c->id);
    json_put_text(b, "decision", str_of(decision_name(decision)));
    end(k, from);
}

void log_compaction(struct kernel *k, int64_t dropped, struct str summary,
                    const struct usage *usage)
{
    size_t from = k->log.n;
    struct buf *b = begin(k, "compaction");
    json_put_int(b, "step", k->step);
    json_put_int(b, "dropped", dropped);
    json_put_int(b, "shortened", k->shortened);
    json_put_text_or_null(b, "summary", summary);
    if (usage != NULL) {
        usage_put(b, usage);
        json_put_known(b, "cost_nano", usage_cost_nano(usage, k->config.price));
    }
    end(k, from);
}

static bool same_tools(const struct kernel_config *a, const struct kernel_config *b)
{
    bool same = a->n_tools == b->n_tools;
    for (size_t i = 0; same && i < a->n_tools; i++) {
        same = str_eq(a->tools[i].name, b->tools[i].name);
    }
    return same;
}

/* The ids of the calls whose start is logged though they were not begun, where there are any. */
static void put_not_begun(struct buf *b, const struct kernel *k)
{
    bool any = false;
    for (size_t i = 0; i < k->n_calls; i++) {
        if (k->calls[i].state != CALL_READY) {
            continue;
        }
        if (!any) {
            json_key(b, "not_begun");
            buf_char(b, '[');
        }
        any = true;
        json_next(b);
        json_add_string(b, k->calls[i].id);
    }
    if (any) {
        buf_char(b, ']');
    }
}

static bool same_budget(const struct budget *a, const struct budget *b)
{
    return a->steps == b->steps && a->tokens == b->tokens && a->seconds == b->seconds &&
           a->cost_nano == b->cost_nano && a->calls == b->calls &&
           a->calls_per_reply == b->calls_per_reply;
}

void log_resume(struct kernel *k, const struct kernel_config *before, struct str text)
{
    const struct kernel_config *now = &k->config;
    size_t from = k->log.n;
    struct buf *b = begin(k, "resume");
    json_key(b, "changed");
    buf_char(b, '{');
    if (!str_eq(now->model, before->model)) {
        json_put_text(b, "model", now->model);
    }
    if (!str_eq(now->provider, before->provider)) {
        json_put_text(b, "provider", now->provider);
    }
    if (!same_tools(now, before)) {
        put_tools(b, now);
    }
    if (!same_budget(&now->budget, &before->budget)) {
        put_budget(b, &now->budget);
    }
    struct buf settings = {0};
    buf_char(&settings, '{');
    put_settings(&settings, now, before);
    if (settings.n > 1) {
        json_key(b, "config");
        buf_add(b, buf_str(&settings));
        buf_char(b, '}');
    }
    buf_free(&settings);
    buf_char(b, '}');
    put_not_begun(b, k);
    if (text.p != NULL) {
        json_put_text(b, "content", text);
    }
    end(k, from);
}

void log_cancel(struct kernel *k, struct str reason)
{
    size_t from = k->log.n;
    json_put_text(begin(k, "cancel"), "reason", reason);
    end(k, from);
}

void log_final(struct kernel *k, struct str answer)
{
    size_t from = k->log.n;
    struct buf *b = begin(k, "final");
    json_put_int(b, "step", k->step);
    json_put_text_or_null(b, "answer", answer);
    end(k, from);
}

void log_run_end(struct kernel *k)
{
    const struct run_result *r = &k->result;
    uint64_t sum = log_sum(k);
    size_t from = k->log.n;
    struct buf *b = begin(k, "run_end");
    json_put_text(b, "status", str_of(run_status_name(r->status)));
    json_put_int(b, "steps", r->steps);
    usage_put(b, &r->usage);
    json_put_known(b, "cost_nano", r->cost_nano);
    json_put_text_or_null(b, "currency", k->config.currency);
    json_put_text_or_null(b, "answer", r->answer);
    json_put_hash(b, "sum", sum);
    end(k, from);
}
