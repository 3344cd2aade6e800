/* The event log: one JSON object a line, in the format of FORMATS.md. */
#include <assert.h>
#include <inttypes.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kernel/base/json.h"
#include "kernel/core/kernel_int.h"

static void key(struct buf *b, const char *name)
{
    buf_char(b, ',');
    buf_char(b, '"');
    buf_addz(b, name);
    buf_addz(b, "\":");
}

static void put_str(struct buf *b, const char *name, struct str s)
{
    key(b, name);
    if (s.p == NULL) {
        buf_addz(b, "null");
    } else {
        json_add_string(b, s);
    }
}

static void put_int(struct buf *b, const char *name, int64_t v)
{
    key(b, name);
    buf_int(b, v);
}

static void put_known(struct buf *b, const char *name, int64_t v)
{
    key(b, name);
    if (v < 0) {
        buf_addz(b, "null");
    } else {
        buf_int(b, v);
    }
}

static void put_bool(struct buf *b, const char *name, bool v)
{
    key(b, name);
    buf_addz(b, v ? "true" : "false");
}

static struct buf *begin(struct kernel *k, const char *type)
{
    struct buf *b = &k->log;
    buf_addz(b, "{\"seq\":");
    buf_int(b, ++k->seq);
    put_int(b, "t_ms", (int64_t)k->now);
    put_str(b, "type", str_of(type));
    return b;
}

/* Ends the line and takes its bytes, from `from` on, into the sum. */
static void end(struct kernel *k, size_t from)
{
    buf_addz(&k->log, "}\n");
    XXH3_64bits_update(k->sum, k->log.p + from, k->log.n - from);
}

static void put_usage(struct buf *b, const struct usage *u)
{
    key(b, "usage");
    buf_addz(b, "{\"input\":");
    if (u->input < 0) {
        buf_addz(b, "null");
    } else {
        buf_int(b, u->input);
    }
    put_known(b, "cached", u->cached);
    put_known(b, "cache_write", u->cache_write);
    put_known(b, "output", u->output);
    put_known(b, "reasoning", u->reasoning);
    buf_char(b, '}');
}

static void put_calls(struct buf *b, const struct call *calls, size_t n)
{
    key(b, "calls");
    buf_char(b, '[');
    for (size_t i = 0; i < n; i++) {
        buf_addz(b, i == 0 ? "{\"id\":" : ",{\"id\":");
        json_add_string(b, calls[i].id);
        put_str(b, "name", calls[i].name);
        put_str(b, "arguments", calls[i].arguments);
        buf_char(b, '}');
    }
    buf_char(b, ']');
}

/* Nano-units as a plain decimal number: 500000000 is 0.5. */
static void put_nano(struct buf *b, const char *name, int64_t nano)
{
    char digits[32];
    int n = 0;
    key(b, name);
    buf_int(b, nano / 1000000000);
    for (int64_t rest = nano % 1000000000, unit = 100000000; rest > 0; unit /= 10) {
        digits[n++] = (char)('0' + rest / unit);
        rest %= unit;
    }
    if (n > 0) {
        buf_char(b, '.');
        buf_add(b, (struct str){digits, (size_t)n});
    }
}

static void put_budget(struct buf *b, const struct budget *budget)
{
    const struct budget usual = BUDGET_DEFAULT;
    key(b, "budget");
    buf_addz(b, "{\"steps\":");
    buf_int(b, budget->steps);
    put_int(b, "tokens", budget->tokens);
    put_int(b, "seconds", budget->seconds);
    put_nano(b, "cost_usd", budget->cost_nano);
    if (budget->calls != usual.calls) {
        put_int(b, "calls", budget->calls);
    }
    if (budget->calls_per_reply != usual.calls_per_reply) {
        put_int(b, "calls_per_reply", budget->calls_per_reply);
    }
    buf_char(b, '}');
}

static const char *repeat_name(enum repeat_policy p)
{
    switch (p) {
    case REPEAT_BLOCK: return "block";
    case REPEAT_CACHE: return "cache";
    case REPEAT_ALLOW: return "allow";
    }
    return "block";
}

/* Settings that are not at their default. */
static void put_config(struct buf *b, const struct kernel_config *c)
{
    const struct kernel_config usual = kernel_config_default();
    const struct {
        const char *name;
        int64_t value, usual;
    } numbers[] = {
        {"max_consecutive", c->max_consecutive, usual.max_consecutive},
        {"tool_retries", c->tool_retries, usual.tool_retries},
        {"tool_backoff_ms", c->tool_backoff_ms, usual.tool_backoff_ms},
        {"model_attempts", c->model_attempts, usual.model_attempts},
        {"backoff_ms", c->backoff_ms, usual.backoff_ms},
        {"backoff_cap_ms", c->backoff_cap_ms, usual.backoff_cap_ms},
    };
    key(b, "config");
    size_t from = b->n;
    if (c->repeat != usual.repeat) {
        put_str(b, "repeat", str_of(repeat_name(c->repeat)));
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].value != numbers[i].usual) {
            put_int(b, numbers[i].name, numbers[i].value);
        }
    }
    if (b->n == from) {
        buf_char(b, '{');
    } else {
        b->p[from] = '{'; /* was the first comma */
    }
    buf_char(b, '}');
}

void log_open(struct kernel *k)
{
    const struct kernel_config *c = &k->config;
    k->sum = XXH3_createState();
    assert(k->sum != NULL);
    XXH3_64bits_reset(k->sum);
    struct buf *b = begin(k, "run_start");
    put_int(b, "schema", 1);
    put_str(b, "run", c->run);
    put_int(b, "seed", (int64_t)c->seed);
    put_str(b, "started_at", c->started_at);
    put_str(b, "model", c->model);
    put_str(b, "provider", c->provider);
    put_str(b, "system", c->system);
    key(b, "tools");
    buf_char(b, '[');
    for (size_t i = 0; i < c->n_tools; i++) {
        if (i > 0) {
            buf_char(b, ',');
        }
        json_add_string(b, c->tools[i].name);
    }
    buf_char(b, ']');
    put_budget(b, &c->budget);
    put_config(b, c);
    end(k, 0);
}

void log_close(struct kernel *k)
{
    XXH3_freeState(k->sum);
    buf_free(&k->log);
}

void log_user_message(struct kernel *k, struct str content)
{
    size_t from = k->log.n;
    put_str(begin(k, "user_message"), "content", content);
    end(k, from);
}

void log_step_start(struct kernel *k)
{
    size_t from = k->log.n;
    put_int(begin(k, "step_start"), "step", k->step);
    end(k, from);
}

void log_reply(struct kernel *k, const struct reply *r)
{
    size_t from = k->log.n;
    struct buf *b = begin(k, "llm_reply");
    put_int(b, "step", k->step);
    put_str(b, "content", r->content_null ? (struct str){NULL, 0} : r->content);
    put_str(b, "reasoning", r->reasoning);
    put_calls(b, k->calls, k->n_calls);
    put_str(b, "stop", str_of(stop_name(r->stop)));
    put_str(b, "stop_raw", r->stop_raw);
    put_usage(b, &r->usage);
    put_known(b, "cost_nano", -1);
    put_int(b, "latency_ms", (int64_t)(k->now - k->attempt_at));
    put_int(b, "attempts", k->attempt);
    end(k, from);
}

void log_failure(struct kernel *k, const struct failure *f, int64_t retry_in_ms)
{
    size_t from = k->log.n;
    struct buf *b = begin(k, "llm_failure");
    put_int(b, "step", k->step);
    put_str(b, "class", str_of(fail_name(f->class)));
    put_known(b, "status", f->status == 0 ? -1 : f->status);
    put_str(b, "message", f->message);
    if (retry_in_ms < 0) {
        put_bool(b, "final", true);
    } else {
        put_int(b, "retry_in_ms", retry_in_ms);
    }
    end(k, from);
}

void log_discard(struct kernel *k, const char *reason)
{
    size_t from = k->log.n;
    struct buf *b = begin(k, "discard");
    put_int(b, "step", k->step);
    put_str(b, "reason", str_of(reason));
    end(k, from);
}

static struct buf *begin_call(struct kernel *k, const char *type, const struct call *c)
{
    struct buf *b = begin(k, type);
    put_int(b, "step", k->step);
    put_str(b, "call_id", c->id);
    return b;
}

void log_tool_start(struct kernel *k, const struct call *c)
{
    size_t from = k->log.n;
    struct buf *b = begin_call(k, "tool_start", c);
    put_str(b, "name", c->name);
    put_str(b, "arguments", c->arguments);
    if (c->coerced) {
        put_str(b, "coerced", c->checked);
    }
    end(k, from);
}

void error_add(struct buf *out, const struct tool_output *o)
{
    buf_addz(out, "{\"code\":");
    json_add_string(out, o->code);
    put_str(out, "message", o->message);
    put_bool(out, "retryable", o->retryable);
    put_str(out, "hint", o->hint.n == 0 ? (struct str){NULL, 0} : o->hint);
    buf_char(out, '}');
}

void log_tool_retry(struct kernel *k, const struct call *c, int64_t retry_in_ms)
{
    size_t from = k->log.n;
    struct buf *b = begin_call(k, "tool_retry", c);
    put_int(b, "attempt", c->attempt);
    key(b, "error");
    error_add(b, &c->output);
    put_int(b, "retry_in_ms", retry_in_ms);
    end(k, from);
}

void log_tool_result(struct kernel *k, const struct call *c)
{
    size_t from = k->log.n;
    struct buf *b = begin_call(k, "tool_result", c);
    put_str(b, "name", c->name);
    put_bool(b, "ok", c->output.ok);
    if (c->output.ok) {
        put_str(b, "content", c->output.content);
    } else {
        key(b, "error");
        error_add(b, &c->output);
    }
    put_int(b, "latency_ms", c->attempt == 0 ? 0 : (int64_t)(k->now - c->started_at));
    put_int(b, "attempts", c->attempt);
    put_bool(b, "cached", false);
    put_bool(b, "truncated", c->output.truncated);
    end(k, from);
}

void log_cancel(struct kernel *k, struct str reason)
{
    size_t from = k->log.n;
    put_str(begin(k, "cancel"), "reason", reason);
    end(k, from);
}

void log_final(struct kernel *k, struct str answer)
{
    size_t from = k->log.n;
    struct buf *b = begin(k, "final");
    put_int(b, "step", k->step);
    put_str(b, "answer", answer);
    end(k, from);
}

void log_run_end(struct kernel *k)
{
    const struct run_result *r = &k->result;
    uint64_t sum = XXH3_64bits_digest(k->sum);
    size_t from = k->log.n;
    struct buf *b = begin(k, "run_end");
    put_str(b, "status", str_of(run_status_name(r->status)));
    put_int(b, "steps", r->steps);
    put_usage(b, &r->usage);
    put_known(b, "cost_nano", r->cost_nano);
    put_str(b, "currency", k->config.currency);
    put_str(b, "answer", r->answer);
    key(b, "sum");
    buf_fmt(b, "\"%016" PRIx64 "\"", sum);
    end(k, from);
}
