/* Requests of Anthropic Messages. Source: Anthropic API reference, "Create a Message", and the
 * guides "Tool use" and "Extended thinking". What is sent is what is set, in a fixed order. */
#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

/* The provider wants a limit. This is the most that every model it still serves takes. */
enum { MAX_TOKENS_USUAL = 8192 };

/* A request under way. Roles alternate: messages of one role side by side become one. */
struct request {
    const struct llm_request *rq;
    struct arena *arena;
    struct buf *out;
};

static void add_text(struct buf *out, struct str text)
{
    if (str_trim(text).n > 0) { /* a text of only white space is refused */
        encode_begin(out, "text");
        json_put_text(out, "text", text);
        buf_char(out, '}');
    }
}

static void add_system(const struct request *r)
{
    const struct llm_request *rq = r->rq;
    struct buf text = {0};
    for (size_t i = 0; i < rq->n_messages; i++) {
        if (rq->messages[i].role == ROLE_SYSTEM) {
            buf_addz(&text, text.n > 0 ? "\n\n" : "");
            buf_add(&text, rq->messages[i].content);
        }
    }
    if (str_trim(buf_str(&text)).n > 0) {
        json_put_text(r->out, "system", buf_str(&text));
    }
    buf_free(&text);
}

static void add_result(const struct request *r, const struct message *m)
{
    encode_begin(r->out, "tool_result");
    json_put_text(r->out, "tool_use_id", history_id(m->call_id, r->arena));
    if (str_trim(m->content).n > 0) {
        json_put_text(r->out, "content", m->content);
    }
    if (str_starts(m->content, "{\"ok\":false,\"error\":{")) { /* as the loop tells a failure */
        json_put_bool(r->out, "is_error", true);
    }
    buf_char(r->out, '}');
}

static void add_call(const struct request *r, const struct tool_call *call)
{
    char room[HISTORY_NAME_MAX];
    encode_begin(r->out, "tool_use");
    json_put_text(r->out, "id", history_id(call->id, r->arena));
    json_put_text(r->out, "name", history_name(r->rq->tools, r->rq->n_tools, call->name, room));
    json_key(r->out, "input");
    buf_add(r->out, str_trim(history_arguments(call->arguments)));
    buf_char(r->out, '}');
}

static void add_assistant(const struct request *r, const struct message *m)
{
    struct part *parts = NULL;
    size_t n = parts_of(m, WIRE_MESSAGES, r->arena, &parts);
    for (size_t i = 0; i < n; i++) {
        switch (parts[i].kind) {
        case PART_TEXT: add_text(r->out, parts[i].text); break;
        case PART_CALL: add_call(r, parts[i].call); break;
        case PART_OWN: encode_own(r->out, &parts[i]); break;
        }
    }
}

static bool same_turn(const struct message *a, const struct message *b)
{
    return b->role != ROLE_SYSTEM && (a->role == ROLE_ASSISTANT) == (b->role == ROLE_ASSISTANT);
}

/* Messages [from, to), all of one role, as one: the results of tools, then texts. */
static void add_turn(const struct request *r, size_t from, size_t to)
{
    const struct message *all = r->rq->messages;
    struct buf *out = r->out;
    size_t start = out->n;
    json_next(out);
    buf_char(out, '{');
    json_put_text(out, "role", all[from].role == ROLE_ASSISTANT ? STR("assistant") : STR("user"));
    json_key(out, "content");
    buf_char(out, '[');
    size_t empty = out->n;
    for (size_t i = from; i < to; i++) {
        if (all[i].role == ROLE_TOOL) {
            add_result(r, &all[i]);
        }
    }
    for (size_t i = from; i < to; i++) {
        if (all[i].role == ROLE_USER) {
            add_text(out, all[i].content);
        } else if (all[i].role == ROLE_ASSISTANT) {
            add_assistant(r, &all[i]);
        }
    }
    if (out->n == empty) { /* nothing that can be said */
        out->n = start;
        return;
    }
    buf_addz(out, "]}");
}

static void add_messages(const struct request *r)
{
    const struct llm_request *rq = r->rq;
    json_key(r->out, "messages");
    buf_char(r->out, '[');
    for (size_t from = 0, to; from < rq->n_messages; from = to) {
        to = from + 1;
        if (rq->messages[from].role == ROLE_SYSTEM) {
            continue;
        }
        while (to < rq->n_messages && same_turn(&rq->messages[from], &rq->messages[to])) {
            to++;
        }
        add_turn(r, from, to);
    }
    buf_char(r->out, ']');
}

static void add_tools(const struct request *r)
{
    const struct llm_request *rq = r->rq;
    json_key(r->out, "tools");
    buf_char(r->out, '[');
    for (size_t i = 0; i < rq->n_tools; i++) {
        json_next(r->out);
        buf_char(r->out, '{');
        encode_tool(r->out, &rq->tools[i], "input_schema");
        buf_char(r->out, '}');
    }
    buf_char(r->out, ']');
}

void messages_encode(const struct llm_request *rq, struct buf *out)
{
    struct request r = {rq, arena_new(), out};
    buf_char(out, '{');
    json_put_text(out, "model", rq->model);
    json_put_int(out, "max_tokens", rq->max_tokens >= 0 ? rq->max_tokens : MAX_TOKENS_USUAL);
    add_system(&r);
    add_messages(&r);
    if (rq->n_tools > 0) {
        add_tools(&r);
    }
    encode_stream(out, rq);
    encode_temperature(out, rq);
    buf_char(out, '}');
    arena_free(r.arena);
}
