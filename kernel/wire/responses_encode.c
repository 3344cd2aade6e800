/* Requests of OpenAI Responses. Source: OpenAI API reference, "Create a model response", and the
 * guide "Reasoning models" (encrypted reasoning items without stored state). What is sent is what
 * is set, in a fixed order. */
#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

/* A request under way. */
struct request {
    const struct llm_request *rq;
    struct arena *arena;
    struct buf *out;
};

/* Models that do not reason refuse to be asked for encrypted reasoning. No new ones are made, so
 * they can be named. */
static bool reasons(struct str model)
{
    static const char *const plain[] = {"gpt-3.5", "gpt-4", "chatgpt-", "gpt-5-chat"};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (str_starts(model, plain[i])) {
            return false;
        }
    }
    return true;
}

/* The short form of a message. */
static void add_message(const struct request *r, const char *role, struct str content)
{
    json_next(r->out);
    buf_char(r->out, '{');
    json_put_text(r->out, "role", str_of(role));
    json_put_text(r->out, "content", content);
    buf_char(r->out, '}');
}

static void add_call(const struct request *r, const struct tool_call *call)
{
    char room[HISTORY_NAME_MAX];
    encode_begin(r->out, "function_call");
    json_put_text(r->out, "call_id", history_id(call->id, r->arena));
    json_put_text(r->out, "name", history_name(r->rq->tools, r->rq->n_tools, call->name, room));
    json_put_text(r->out, "arguments", history_arguments(call->arguments));
    buf_char(r->out, '}');
}

static void add_assistant(const struct request *r, const struct message *m)
{
    struct part *parts = NULL;
    size_t n = parts_of(m, WIRE_RESPONSES, r->arena, &parts);
    for (size_t i = 0; i < n; i++) {
        switch (parts[i].kind) {
        case PART_TEXT:
            if (str_trim(parts[i].text).n > 0) {
                add_message(r, "assistant", parts[i].text);
            }
            break;
        case PART_CALL: add_call(r, parts[i].call); break;
        case PART_OWN: encode_own(r->out, &parts[i]); break;
        }
    }
}

static void add_input(const struct request *r, size_t from)
{
    json_key(r->out, "input");
    buf_char(r->out, '[');
    for (size_t i = from; i < r->rq->n_messages; i++) {
        const struct message *m = &r->rq->messages[i];
        switch (m->role) {
        case ROLE_SYSTEM: add_message(r, "system", m->content); break;
        case ROLE_USER: add_message(r, "user", m->content); break;
        case ROLE_ASSISTANT: add_assistant(r, m); break;
        case ROLE_TOOL:
            encode_begin(r->out, "function_call_output");
            json_put_text(r->out, "call_id", history_id(m->call_id, r->arena));
            json_put_text(r->out, "output", m->content);
            buf_char(r->out, '}');
            break;
        }
    }
    buf_char(r->out, ']');
}

/* `strict` is sent, since here its absence means that the schema is rewritten to a strict one. */
static void add_tools(const struct request *r)
{
    json_key(r->out, "tools");
    buf_char(r->out, '[');
    for (size_t i = 0; i < r->rq->n_tools; i++) {
        encode_begin(r->out, "function");
        encode_tool(r->out, &r->rq->tools[i], "parameters");
        json_put_bool(r->out, "strict", false);
        buf_char(r->out, '}');
    }
    buf_char(r->out, ']');
}

void responses_encode(const struct llm_request *rq, struct buf *out)
{
    struct request r = {rq, arena_new(), out};
    bool system = rq->n_messages > 0 && rq->messages[0].role == ROLE_SYSTEM;
    buf_char(out, '{');
    json_put_text(out, "model", rq->model);
    if (system && rq->messages[0].content.n > 0) {
        json_put_text(out, "instructions", rq->messages[0].content);
    }
    add_input(&r, system ? 1 : 0);
    if (rq->n_tools > 0) {
        add_tools(&r);
    }
    encode_stream(out, rq);
    encode_temperature(out, rq);
    if (rq->max_tokens >= 0) {
        json_put_int(out, "max_output_tokens", rq->max_tokens);
    }
    json_put_bool(out, "store", false);
    if (reasons(rq->model)) {
        buf_addz(out, ",\"include\":[\"reasoning.encrypted_content\"]");
    }
    buf_char(out, '}');
    arena_free(r.arena);
}
