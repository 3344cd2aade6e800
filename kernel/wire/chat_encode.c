/* Requests of OpenAI Chat Completions. What is sent is what is set, in a fixed order: the bytes are
 * part of what a cassette is keyed by (WIRE_ENCODER_VERSION). */
#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

void chat_add_extra(struct buf *out, const struct part *parts, size_t n, size_t nth)
{
    size_t calls = 0;
    for (size_t i = 0; i < n && calls <= nth; i++) {
        calls += parts[i].kind == PART_CALL;
        const struct val *extra =
            parts[i].kind == PART_OWN ? val_get(parts[i].own, "extra_content") : NULL;
        if (extra != NULL && calls == nth) {
            json_key(out, "extra_content");
            json_add(out, extra);
            return;
        }
    }
}

bool chat_add_details(struct buf *out, const struct part *parts, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].kind == PART_OWN && val_get(parts[i].own, "type") != NULL) {
            if (!any) {
                json_key(out, "reasoning_details");
                buf_char(out, '[');
            }
            json_next(out);
            buf_add(out, parts[i].text);
            any = true;
        }
    }
    buf_addz(out, any ? "]" : "");
    return any;
}

static void add_calls(struct buf *out, const struct llm_request *rq, const struct message *m,
                      const struct part *parts, size_t n_parts)
{
    json_key(out, "tool_calls");
    for (size_t i = 0; i < m->n_calls; i++) {
        const struct tool_call *call = &m->calls[i];
        char room[HISTORY_NAME_MAX];
        buf_addz(out, i == 0 ? "[{\"id\":" : ",{\"id\":");
        json_add_string(out, call->id);
        buf_addz(out, ",\"type\":\"function\",\"function\":{\"name\":");
        json_add_string(out, history_name(rq->tools, rq->n_tools, call->name, room));
        json_put_text(out, "arguments", history_arguments(call->arguments));
        buf_char(out, '}');
        chat_add_extra(out, parts, n_parts, i + 1);
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

/* What an assistant message has behind its content. */
static void add_said(struct buf *out, const struct llm_request *rq, const struct message *m)
{
    struct arena *arena = m->parts.p != NULL ? arena_new() : NULL;
    struct part *parts = NULL;
    size_t n = arena == NULL ? 0 : parts_of(m, WIRE_CHAT, arena, &parts);
    if (!chat_add_details(out, parts, n) && m->reasoning.p != NULL) {
        json_put_text(out, "reasoning_content", m->reasoning);
    }
    if (m->n_calls > 0) {
        add_calls(out, rq, m, parts, n);
    }
    chat_add_extra(out, parts, n, 0);
    arena_free(arena);
}

static void add_message(struct buf *out, const struct llm_request *rq, const struct message *m)
{
    buf_addz(out, "{\"role\":\"");
    switch (m->role) {
    case ROLE_SYSTEM: buf_addz(out, "system"); break;
    case ROLE_USER: buf_addz(out, "user"); break;
    case ROLE_ASSISTANT: buf_addz(out, "assistant"); break;
    case ROLE_TOOL: buf_addz(out, "tool"); break;
    }
    buf_char(out, '"');
    if (m->role == ROLE_TOOL) {
        json_put_text(out, "tool_call_id", m->call_id);
    }
    json_key(out, "content");
    if (m->role == ROLE_ASSISTANT && m->content_null) {
        buf_addz(out, "null");
    } else {
        json_add_string(out, m->content);
    }
    if (m->role == ROLE_ASSISTANT) {
        add_said(out, rq, m);
    }
    buf_char(out, '}');
}

static void add_tool(struct buf *out, const struct tool_spec *tool)
{
    buf_addz(out, "{\"type\":\"function\",\"function\":{\"name\":");
    json_add_string(out, tool->name);
    if (tool->description.n > 0) {
        json_put_text(out, "description", tool->description);
    }
    if (tool->parameters.n > 0) {
        json_key(out, "parameters");
        buf_add(out, tool->parameters);
    }
    buf_addz(out, "}}");
}

void chat_encode(const struct llm_request *rq, struct buf *out)
{
    buf_addz(out, "{\"model\":");
    json_add_string(out, rq->model);
    json_key(out, "messages");
    buf_char(out, '[');
    for (size_t i = 0; i < rq->n_messages; i++) {
        buf_addz(out, i == 0 ? "" : ",");
        add_message(out, rq, &rq->messages[i]);
    }
    buf_char(out, ']');
    if (rq->n_tools > 0) {
        json_key(out, "tools");
        for (size_t i = 0; i < rq->n_tools; i++) {
            buf_char(out, i == 0 ? '[' : ',');
            add_tool(out, &rq->tools[i]);
        }
        buf_char(out, ']');
    }
    if (rq->stream) {
        buf_addz(out, ",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
    }
    encode_temperature(out, rq);
    if (rq->max_tokens >= 0) {
        json_put_int(out, "max_completion_tokens", rq->max_tokens);
    }
    buf_char(out, '}');
}
