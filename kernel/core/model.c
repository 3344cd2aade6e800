#include "kernel/core/model.h"

#include "kernel/base/json.h"

#define NAME2(id, text)        [id] = text,
#define NAME3(id, text, retry) [id] = text,
#define RETRY(id, text, retry) [id] = retry,

static const char *const stop_names[] = {STOP_REASONS(NAME2) NULL};
static const char *const fail_names[] = {FAIL_CLASSES(NAME3) NULL};
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
    int i = str_index(name, stop_names);
    if (i >= 0) {
        *out = (enum stop_reason)i;
    }
    return i >= 0;
}

const char *fail_name(enum fail_class c)
{
    return fail_names[c];
}

bool fail_of_name(struct str name, enum fail_class *out)
{
    int i = str_index(name, fail_names);
    if (i >= 0) {
        *out = (enum fail_class)i;
    }
    return i >= 0;
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
