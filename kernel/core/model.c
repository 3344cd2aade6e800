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

bool fail_retryable(enum fail_class c)
{
    return fail_retries[c];
}

const char *role_name(enum role r)
{
    return role_names[r];
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
