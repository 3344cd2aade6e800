/* Members of a request that say what their absence says. Sources: "Create chat completion" and
 * "Create a model response" of the OpenAI API reference, "Create a Message" of Anthropic's. */
#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

#include <stdlib.h>

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

/* A member of the request itself. */
static bool is_default(enum wire_format f, const struct val *body, struct str key,
                       const struct val *v)
{
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

/* ---- the request without them ---- */

enum place { IN_BODY, IN_MESSAGE, IN_CALL, IN_CALLED, IN_TOOL, IN_FUNCTION };

struct stripping {
    enum wire_format format;
    const struct val *body;
    struct arena *arena;
};

static bool says_nothing(const struct stripping *s, enum place place, struct str key,
                         const struct val *v)
{
    if (val_is(v, VAL_NULL) && place != IN_CALL && place != IN_CALLED) {
        return true;
    }
    switch (place) {
    case IN_BODY: return is_default(s->format, s->body, key, v);
    case IN_MESSAGE: return str_is(key, "tool_calls") && val_is(v, VAL_ARRAY) && v->count == 0;
    case IN_CALL:
    case IN_CALLED:
    case IN_TOOL: return false;
    case IN_FUNCTION:
        return (str_is(key, "description") && val_is(v, VAL_STRING) && v->text.n == 0) ||
               (str_is(key, "strict") && val_is(v, VAL_BOOL) && !v->boolean);
    }
    return false;
}

/* By key, duplicates in their order. */
static int order_of(const void *a, const void *b)
{
    const struct member *x = *(const struct member *const *)a;
    const struct member *y = *(const struct member *const *)b;
    int order = str_cmp(x->key, y->key);
    return order != 0 ? order : (x > y) - (x < y);
}

static struct val strip(const struct stripping *s, enum place place, const struct val *v);

static struct val strip_list(const struct stripping *s, enum place place, const struct val *list)
{
    if (!val_is(list, VAL_ARRAY)) {
        return *list;
    }
    struct val out = *list;
    out.raw = STR("");
    out.items = arena_array(s->arena, list->count, sizeof *out.items);
    for (size_t i = 0; i < list->count; i++) {
        out.items[i] = strip(s, place, &list->items[i]);
    }
    return out;
}

/* A call of the history counts as it is sent today: the encoders of earlier versions, and other
 * programs, send what a model made up as it came. */
static struct val strip_called(const struct stripping *s, struct member m)
{
    char room[HISTORY_NAME_MAX];
    if (!val_is(&m.value, VAL_STRING)) {
        return m.value;
    }
    return str_is(m.key, "name")
               ? val_of_str(arena_str(s->arena, history_name(NULL, 0, m.value.text, room)))
           : str_is(m.key, "arguments") ? val_of_str(history_arguments(m.value.text))
                                        : m.value;
}

/* What a member that stays holds. Chat Completions' max_tokens is the older name of
 * max_completion_tokens. */
static struct member strip_member(const struct stripping *s, enum place place, struct member m)
{
    bool chat = s->format == WIRE_CHAT;
    switch (place) {
    case IN_BODY:
        if (str_is(m.key, "messages") || str_is(m.key, "input")) {
            m.value = strip_list(s, IN_MESSAGE, &m.value);
        } else if (chat && str_is(m.key, "tools")) {
            m.value = strip_list(s, IN_TOOL, &m.value);
        } else if (chat && str_is(m.key, "max_tokens")) {
            const struct val *newer = val_get(s->body, "max_completion_tokens");
            m.key = newer == NULL || newer->kind == VAL_NULL ? STR("max_completion_tokens") : m.key;
        }
        break;
    case IN_TOOL:
        if (str_is(m.key, "function")) {
            m.value = strip(s, IN_FUNCTION, &m.value);
        }
        break;
    case IN_MESSAGE:
        if (chat && str_is(m.key, "tool_calls")) {
            m.value = strip_list(s, IN_CALL, &m.value);
        }
        break;
    case IN_CALL:
        if (str_is(m.key, "function")) {
            m.value = strip(s, IN_CALLED, &m.value);
        }
        break;
    case IN_CALLED: m.value = strip_called(s, m); break;
    case IN_FUNCTION: break;
    }
    return m;
}

/* A map without the members that say nothing; of duplicates the last decides. */
static struct val strip(const struct stripping *s, enum place place, const struct val *v)
{
    if (!val_is(v, VAL_OBJECT) || v->count == 0) {
        return *v;
    }
    const struct member **sorted = arena_array(s->arena, v->count, sizeof *sorted);
    struct val out = *v;
    out.raw = STR("");
    out.members = arena_array(s->arena, v->count, sizeof *out.members);
    out.count = 0;
    for (size_t i = 0; i < v->count; i++) {
        sorted[i] = &v->members[i];
    }
    qsort(sorted, v->count, sizeof *sorted, order_of);
    for (size_t i = 0; i < v->count; i++) {
        const struct member *m = sorted[i];
        bool last = i + 1 == v->count || !str_eq(m->key, sorted[i + 1]->key);
        if (last && !says_nothing(s, place, m->key, &m->value)) {
            out.members[out.count++] = strip_member(s, place, *m);
        }
    }
    return out;
}

const struct val *wire_without_defaults(enum wire_format f, const struct val *body,
                                        struct arena *arena)
{
    const struct stripping s = {f, body, arena};
    struct val *out = arena_alloc(arena, sizeof *out);
    *out = strip(&s, IN_BODY, body);
    return out;
}
