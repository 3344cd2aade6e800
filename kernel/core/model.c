#include "kernel/core/model.h"

#include "kernel/base/json.h"

#define NAME2(id, text)        [id] = text,
#define NAME3(id, text, retry) [id] = text,
#define RETRY(id, text, retry) [id] = retry,

static const char *const stop_names[] = {STOP_REASONS(NAME2)};
static const char *const fail_names[] = {FAIL_CLASSES(NAME3)};
static const bool fail_retries[] = {FAIL_CLASSES(RETRY)};
static const char *const role_names[] = {
    [ROLE_SYSTEM] = "system",
    [ROLE_USER] = "user",
    [ROLE_ASSISTANT] = "assistant",
    [ROLE_TOOL] = "tool",
};

const char *stop_name(enum stop_reason stop)
{
    return stop_names[stop];
}

bool stop_of_name(struct str name, enum stop_reason *out)
{
    for (size_t i = 0; i < sizeof stop_names / sizeof stop_names[0]; i++) {
        if (str_is(name, stop_names[i])) {
            *out = (enum stop_reason)i;
            return true;
        }
    }
    return false;
}

const char *fail_name(enum fail_class c)
{
    return fail_names[c];
}

bool fail_of_name(struct str name, enum fail_class *out)
{
    for (size_t i = 0; i < sizeof fail_names / sizeof fail_names[0]; i++) {
        if (str_is(name, fail_names[i])) {
            *out = (enum fail_class)i;
            return true;
        }
    }
    return false;
}

bool fail_retryable(enum fail_class c)
{
    return fail_retries[c];
}

const char *role_name(enum role r)
{
    return role_names[r];
}

void tool_call_add(struct buf *out, const struct tool_call *c)
{
    buf_char(out, '{');
    json_put_text(out, "id", c->id);
    json_put_text(out, "name", c->name);
    json_put_text(out, "arguments", c->arguments);
    buf_char(out, '}');
}

void tool_calls_put(struct buf *out, const struct tool_call *calls, size_t n)
{
    json_key(out, "calls");
    buf_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        json_next(out);
        tool_call_add(out, &calls[i]);
    }
    buf_char(out, ']');
}

void usage_put(struct buf *out, const struct usage *u)
{
    json_key(out, "usage");
    buf_char(out, '{');
    json_put_known(out, "input", u->input);
    json_put_known(out, "cached", u->cached);
    json_put_known(out, "cache_write", u->cache_write);
    json_put_known(out, "output", u->output);
    json_put_known(out, "reasoning", u->reasoning);
    buf_char(out, '}');
}

const struct tool_spec *tool_find(const struct tool_spec *specs, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(specs[i].name, name)) {
            return &specs[i];
        }
    }
    return NULL;
}

/* Adds tokens × price ÷ 10^6 to a whole and a millionth part. */
static void add_cost(int64_t *whole, int64_t *millionths, int64_t tokens, int64_t price)
{
    int64_t rest = tokens % 1000000;
    int64_t small = rest * (price % 1000000); /* below 10^12 */
    *whole += tokens / 1000000 * price + rest * (price / 1000000) + small / 1000000;
    *millionths += small % 1000000;
}

/* A part of a whole count: 0 when it is unknown, never more than the whole. */
static int64_t part_of(int64_t part, int64_t whole)
{
    return part < 0 ? 0 : part > whole ? whole : part;
}

int64_t usage_cost_nano(const struct usage *u, const struct price *p)
{
    const int64_t tokens_max = 1000000000, price_max = PRICE_NANO_MAX;
    while (p != NULL && p->beyond != NULL && u->input > p->above) {
        p = p->beyond;
    }
    if (p == NULL || u->input < 0 || u->output < 0 || u->input > tokens_max ||
        u->output > tokens_max || p->input > price_max || p->output > price_max ||
        p->cached > price_max || p->cache_write > price_max || p->reasoning > price_max) {
        return -1;
    }
    int64_t cached = part_of(u->cached, u->input);
    int64_t written = part_of(u->cache_write, u->input - cached);
    int64_t thought = part_of(u->reasoning, u->output);
    int64_t whole = 0, millionths = 0;
    add_cost(&whole, &millionths, u->input - cached - written, p->input);
    add_cost(&whole, &millionths, cached, p->cached < 0 ? p->input : p->cached);
    add_cost(&whole, &millionths, written, p->cache_write < 0 ? p->input : p->cache_write);
    add_cost(&whole, &millionths, u->output - thought, p->output);
    add_cost(&whole, &millionths, thought, p->reasoning < 0 ? p->output : p->reasoning);
    return whole + (millionths + 500000) / 1000000;
}

bool price_equal(const struct price *a, const struct price *b)
{
    while (a != NULL && b != NULL && a != b) {
        if (a->input != b->input || a->cached != b->cached || a->cache_write != b->cache_write ||
            a->output != b->output || a->reasoning != b->reasoning ||
            (a->beyond != NULL && b->beyond != NULL && a->above != b->above)) {
            return false;
        }
        a = a->beyond;
        b = b->beyond;
    }
    return a == b;
}

static int64_t sum_known(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : a + b;
}

void usage_add(struct usage *sum, const struct usage *more)
{
    sum->input = sum_known(sum->input, more->input);
    sum->cached = sum_known(sum->cached, more->cached);
    sum->cache_write = sum_known(sum->cache_write, more->cache_write);
    sum->output = sum_known(sum->output, more->output);
    sum->reasoning = sum_known(sum->reasoning, more->reasoning);
}
