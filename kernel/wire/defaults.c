/* Members of a request that say what their absence says. Sources: "Create chat completion" and
 * "Create a model response" of the OpenAI API reference, "Create a Message" of Anthropic's. */
#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

enum { FOR_CHAT = 1, FOR_RESPONSES = 2, FOR_MESSAGES = 4, FOR_ALL = 7 };

/* A member and the canonical JSON text of its default. null is every member's. */
struct default_member {
    unsigned formats;
    const char *key;
    const char *value;
};

static const struct default_member defaults[] = {
    {FOR_ALL, "stream", "false"},
    {FOR_ALL, "temperature", "1"},
    {FOR_ALL, "service_tier", "\"auto\""},
    {FOR_CHAT | FOR_RESPONSES, "top_p", "1"},
    {FOR_CHAT | FOR_RESPONSES, "parallel_tool_calls", "true"},
    {FOR_CHAT, "n", "1"},
    {FOR_CHAT, "presence_penalty", "0"},
    {FOR_CHAT, "frequency_penalty", "0"},
    {FOR_CHAT, "logprobs", "false"},
    {FOR_CHAT, "store", "false"},
    {FOR_CHAT, "response_format", "{\"type\":\"text\"}"},
    {FOR_RESPONSES, "store", "true"},
    {FOR_RESPONSES, "background", "false"},
    {FOR_RESPONSES, "truncation", "\"disabled\""},
    {FOR_RESPONSES, "text", "{\"format\":{\"type\":\"text\"}}"},
};

static unsigned bit_of(enum wire_format f)
{
    switch (f) {
    case WIRE_CHAT: return FOR_CHAT;
    case WIRE_RESPONSES: return FOR_RESPONSES;
    case WIRE_MESSAGES: return FOR_MESSAGES;
    }
    return 0;
}

static bool is_json(const struct val *v, const char *canonical)
{
    struct buf text = {0};
    json_add_canonical(&text, v);
    bool same = str_is(buf_str(&text), canonical);
    buf_free(&text);
    return same;
}

/* "auto" where tools are offered; "none" where none are (OpenAI). */
static bool default_choice(enum wire_format f, const struct val *body, const struct val *v)
{
    const struct val *tools = val_get(body, "tools");
    bool offered = val_is(tools, VAL_ARRAY) && tools->count > 0;
    if (f == WIRE_MESSAGES) {
        return is_json(v, "{\"type\":\"auto\"}");
    }
    return str_is(val_text(v), offered ? "auto" : "none");
}

static bool is_default(enum wire_format f, const struct val *body, struct str key,
                       const struct val *v)
{
    if (val_is(v, VAL_NULL)) {
        return true;
    }
    if (str_is(key, "tool_choice")) {
        return default_choice(f, body, v);
    }
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        if ((defaults[i].formats & bit_of(f)) != 0 && str_is(key, defaults[i].key)) {
            return is_json(v, defaults[i].value);
        }
    }
    return false;
}

const struct val *wire_without_defaults(enum wire_format f, const struct val *body,
                                        struct arena *arena)
{
    struct val *out = arena_alloc(arena, sizeof *out);
    *out = *body;
    out->raw = STR("");
    out->members = arena_array(arena, body->count, sizeof *out->members);
    out->count = 0;
    for (size_t i = 0; i < body->count; i++) {
        const struct member *m = &body->members[i];
        /* of duplicates the last decides for all */
        if (!is_default(f, body, m->key, val_find(body, m->key))) {
            out->members[out->count++] = *m;
        }
    }
    return out;
}
