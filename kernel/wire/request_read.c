/* Reading request bodies of all formats: the tools they offer, and their messages in our model.
 * Lenient: what is not known is left out. */
#include <string.h>

#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

/* Messages as they are found; the array doubles within the arena. */
struct reading {
    struct arena *arena;
    struct message *messages;
    size_t n;
    size_t cap;
};

static struct message *add_message(struct reading *r, enum role role)
{
    if (r->n == r->cap) {
        size_t cap = r->cap == 0 ? 8 : r->cap * 2;
        struct message *grown = arena_array(r->arena, cap, sizeof *grown);
        if (r->n > 0) {
            memcpy(grown, r->messages, r->n * sizeof *grown);
        }
        r->messages = grown;
        r->cap = cap;
    }
    struct message *m = &r->messages[r->n++];
    *m = (struct message){.role = role};
    return m;
}

/* Arguments as text; those of a document that is not JSON (a cassette's parsed body) are written.
 */
static struct str read_arguments(struct arena *arena, const struct val *v)
{
    struct str text = arguments_text(v);
    if (v == NULL || v->kind == VAL_NULL || v->kind == VAL_STRING || text.n > 0) {
        return text;
    }
    struct buf out = {0};
    json_add(&out, v);
    text = arena_str(arena, buf_str(&out));
    buf_free(&out);
    return text;
}

static size_t list_count(const struct val *v)
{
    return val_is(v, VAL_ARRAY) ? v->count : 0;
}

/* The text of one content part in any format: {"text"} of the types that hold text; a bare string.
 */
static struct str part_text(const struct val *part)
{
    struct str refusal = val_text(val_get(part, "refusal"));
    if (val_is(part, VAL_STRING)) {
        return part->text;
    }
    return refusal.n > 0 ? refusal : val_text(val_get(part, "text"));
}

/* Text parts from item `from` to before `to`, joined. p NULL when there are none. */
static struct str parts_text(struct arena *arena, const struct val *parts, size_t from, size_t to)
{
    size_t size = 0;
    size_t found = 0;
    struct str only = {NULL, 0};
    for (size_t i = from; i < to; i++) {
        struct str text = part_text(val_item(parts, i));
        if (text.p != NULL) {
            only = text;
            found++;
            size += text.n;
        }
    }
    if (found <= 1) {
        return only;
    }
    char *p = arena_alloc(arena, size);
    size_t at = 0;
    for (size_t i = from; i < to; i++) {
        struct str text = part_text(val_item(parts, i));
        if (text.n > 0) {
            memcpy(p + at, text.p, text.n);
            at += text.n;
        }
    }
    return (struct str){p, size};
}

/* Content that is a string or a list of parts. p NULL when there is no text. */
static struct str content_text(struct arena *arena, const struct val *content)
{
    if (val_is(content, VAL_STRING)) {
        return content->text.p == NULL ? STR("") : content->text;
    }
    return parts_text(arena, content, 0, list_count(content));
}

static void set_content(struct message *m, struct str text)
{
    m->content_null = m->role == ROLE_ASSISTANT && text.p == NULL;
    m->content = text.p == NULL ? STR("") : text;
}

/* ---- Chat Completions ---- */

static enum role role_of(struct str name)
{
    if (str_is(name, "system") || str_is(name, "developer")) {
        return ROLE_SYSTEM;
    }
    if (str_is(name, "assistant") || str_is(name, "model")) {
        return ROLE_ASSISTANT;
    }
    return str_is(name, "tool") || str_is(name, "function") ? ROLE_TOOL : ROLE_USER;
}

static struct tool_call chat_call(struct arena *arena, const struct val *v)
{
    const struct val *custom = val_get(v, "custom");
    const struct val *from = custom != NULL ? custom : val_get(v, "function");
    return (struct tool_call){
        val_text(val_get(v, "id")), val_text(val_get(from, "name")),
        read_arguments(arena, val_get(from, custom != NULL ? "input" : "arguments"))};
}

static void read_chat_calls(struct reading *r, struct message *m, const struct val *v)
{
    const struct val *calls = val_get(v, "tool_calls");
    const struct val *legacy = val_get(v, "function_call");
    size_t n = list_count(calls);
    if (n > 0) {
        m->calls = arena_array(r->arena, n, sizeof *m->calls);
        for (; m->n_calls < n; m->n_calls++) {
            m->calls[m->n_calls] = chat_call(r->arena, val_item(calls, m->n_calls));
        }
    } else if (val_is(legacy, VAL_OBJECT)) {
        struct str name = val_text(val_get(legacy, "name"));
        m->calls = arena_array(r->arena, 1, sizeof *m->calls);
        m->calls[m->n_calls++] =
            (struct tool_call){name, name, read_arguments(r->arena, val_get(legacy, "arguments"))};
    }
}

static void read_chat(struct reading *r, const struct val *body)
{
    const struct val *list = val_get(body, "messages");
    for (size_t i = 0; i < list_count(list); i++) {
        const struct val *v = val_item(list, i);
        struct str role = val_text(val_get(v, "role"));
        if (role.n == 0) {
            continue;
        }
        struct message *m = add_message(r, role_of(role));
        set_content(m, content_text(r->arena, val_get(v, "content")));
        if (m->role == ROLE_ASSISTANT) {
            struct str reasoning = val_text(val_get(v, "reasoning_content"));
            m->reasoning = reasoning.n > 0 ? reasoning : val_text(val_get(v, "reasoning"));
            read_chat_calls(r, m, v);
        } else if (m->role == ROLE_TOOL) {
            const struct val *id = val_get(v, "tool_call_id");
            m->call_id = val_text(id != NULL ? id : val_get(v, "name"));
        }
    }
}

/* ---- Responses ---- */

/* A call item joins the assistant message before it. The array grows at each power of two. */
static void read_call_item(struct reading *r, const struct val *v, const char *arguments_key)
{
    struct message *m = r->n > 0 ? &r->messages[r->n - 1] : NULL;
    if (m == NULL || m->role != ROLE_ASSISTANT) {
        m = add_message(r, ROLE_ASSISTANT);
        set_content(m, (struct str){NULL, 0});
    }
    size_t n = m->n_calls;
    if ((n & (n - 1)) == 0) {
        struct tool_call *grown = arena_array(r->arena, n == 0 ? 1 : n * 2, sizeof *grown);
        if (n > 0) {
            memcpy(grown, m->calls, n * sizeof *grown);
        }
        m->calls = grown;
    }
    m->calls[m->n_calls++] =
        (struct tool_call){val_text(val_get(v, "call_id")), val_text(val_get(v, "name")),
                           read_arguments(r->arena, val_get(v, arguments_key))};
}

static void read_output_item(struct reading *r, const struct val *v)
{
    const struct val *output = val_get(v, "output");
    struct message *m = add_message(r, ROLE_TOOL);
    m->call_id = val_text(val_get(v, "call_id"));
    set_content(m, val_is(output, VAL_OBJECT) ? read_arguments(r->arena, output)
                                              : content_text(r->arena, output));
}

static void read_input_item(struct reading *r, const struct val *v)
{
    struct str type = val_text(val_get(v, "type"));
    struct str role = val_text(val_get(v, "role"));
    if (str_is(type, "function_call")) {
        read_call_item(r, v, "arguments");
    } else if (str_is(type, "custom_tool_call")) {
        read_call_item(r, v, "input");
    } else if (str_ends(type, "_call_output")) {
        read_output_item(r, v);
    } else if (role.n > 0 && (type.n == 0 || str_is(type, "message"))) {
        struct message *m = add_message(r, role_of(role));
        set_content(m, content_text(r->arena, val_get(v, "content")));
    }
}

static void read_responses(struct reading *r, const struct val *body)
{
    const struct val *input = val_get(body, "input");
    struct str instructions = val_text(val_get(body, "instructions"));
    if (instructions.n > 0) {
        set_content(add_message(r, ROLE_SYSTEM), instructions);
    }
    if (val_is(input, VAL_STRING)) {
        set_content(add_message(r, ROLE_USER), input->text);
    }
    for (size_t i = 0; i < list_count(input); i++) {
        read_input_item(r, val_item(input, i));
    }
}

/* ---- Messages ---- */

static bool block_is(const struct val *v, const char *type)
{
    return str_is(val_text(val_get(v, "type")), type);
}

/* Texts and tool results in the order they stand; texts side by side are one message. */
static void read_user_blocks(struct reading *r, const struct val *blocks)
{
    size_t i = 0;
    while (i < blocks->count) {
        size_t from = i;
        while (i < blocks->count && !block_is(val_item(blocks, i), "tool_result")) {
            i++;
        }
        struct str text = parts_text(r->arena, blocks, from, i);
        if (text.p != NULL) {
            set_content(add_message(r, ROLE_USER), text);
        }
        if (i < blocks->count) {
            const struct val *result = val_item(blocks, i++);
            struct message *m = add_message(r, ROLE_TOOL);
            m->call_id = val_text(val_get(result, "tool_use_id"));
            set_content(m, content_text(r->arena, val_get(result, "content")));
        }
    }
}

static void read_assistant_blocks(struct reading *r, const struct val *blocks)
{
    struct message *m = add_message(r, ROLE_ASSISTANT);
    set_content(m, content_text(r->arena, blocks));
    m->calls = arena_array(r->arena, list_count(blocks), sizeof *m->calls);
    for (size_t i = 0; i < list_count(blocks); i++) {
        const struct val *v = val_item(blocks, i);
        if (block_is(v, "tool_use")) {
            m->calls[m->n_calls++] =
                (struct tool_call){val_text(val_get(v, "id")), val_text(val_get(v, "name")),
                                   read_arguments(r->arena, val_get(v, "input"))};
        } else if (block_is(v, "thinking") && m->reasoning.p == NULL) {
            m->reasoning = val_text(val_get(v, "thinking"));
        }
    }
}

static void read_messages(struct reading *r, const struct val *body)
{
    const struct val *list = val_get(body, "messages");
    struct str system = content_text(r->arena, val_get(body, "system"));
    if (system.n > 0) {
        set_content(add_message(r, ROLE_SYSTEM), system);
    }
    for (size_t i = 0; i < list_count(list); i++) {
        const struct val *v = val_item(list, i);
        const struct val *content = val_get(v, "content");
        struct str role = val_text(val_get(v, "role"));
        if (role.n > 0 && role_of(role) == ROLE_ASSISTANT) {
            read_assistant_blocks(r, content);
        } else if (role.n > 0 && val_is(content, VAL_ARRAY)) {
            read_user_blocks(r, content);
        } else if (role.n > 0) {
            set_content(add_message(r, role_of(role)), content_text(r->arena, content));
        }
    }
}

size_t wire_request_messages(enum wire_format f, const struct val *body, struct arena *arena,
                             struct message **out)
{
    struct reading r = {.arena = arena};
    switch (f) {
    case WIRE_CHAT: read_chat(&r, body); break;
    case WIRE_RESPONSES: read_responses(&r, body); break;
    case WIRE_MESSAGES: read_messages(&r, body); break;
    }
    *out = r.messages;
    return r.n;
}

/* ---- tools ---- */

/* The name of a tool: of its function, its own, or for a provider's nameless tool its type. */
static struct str tool_name(const struct val *tool)
{
    const struct val *found[] = {val_path(tool, "function", "name", NULL),
                                 val_path(tool, "custom", "name", NULL), val_get(tool, "name"),
                                 val_get(tool, "type")};
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        if (val_text(found[i]).n > 0) {
            return val_text(found[i]);
        }
    }
    return STR("");
}

size_t wire_offered_tools(enum wire_format f, const struct val *body, struct arena *arena,
                          struct str **out)
{
    const struct val *lists[] = {val_get(body, "tools"),
                                 f == WIRE_CHAT ? val_get(body, "functions") : NULL};
    size_t n = 0;
    *out = arena_array(arena, list_count(lists[0]) + list_count(lists[1]), sizeof **out);
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < list_count(lists[k]); i++) {
            struct str name = tool_name(val_item(lists[k], i));
            if (name.n > 0) {
                (*out)[n++] = name;
            }
        }
    }
    return n;
}
