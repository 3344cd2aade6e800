/* The server's side of Responses, as OpenAI sends it. Source: OpenAI API reference, "The response
 * object" and "Streaming events". */
#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

/* Why the response is not complete, or NULL. */
static const char *incomplete_word(enum stop_reason stop)
{
    switch (stop) {
    case STOP_MAX_TOKENS: return "max_output_tokens";
    case STOP_CONTENT_FILTER: return "content_filter";
    case STOP_END_TURN:
    case STOP_TOOL_USE:
    case STOP_STOP_SEQUENCE:
    case STOP_REFUSAL:
    case STOP_PAUSE: break;
    }
    return NULL;
}

static const char *id_prefix(enum served_kind kind)
{
    static const char *const prefixes[] = {[SERVED_REASONING] = "rs",
                                           [SERVED_TEXT] = "msg",
                                           [SERVED_REFUSAL] = "msg",
                                           [SERVED_CALL] = "fc",
                                           [SERVED_OWN] = "item"};
    return prefixes[kind];
}

/* The reply as items of the output, each with its id. */
static size_t items_of(const struct writing *w, struct served **out)
{
    size_t n = serve_pieces(w, "reasoning", out);
    for (size_t i = 0; i < n; i++) {
        struct served *it = &(*out)[i];
        it->id = arena_printf(w->arena, "%s_%.*s_%zu", id_prefix(it->kind), STR_FMT(w->o->id), i);
    }
    return n;
}

/* A part of a message's content, or of a summary. */
static void add_content(struct buf *out, const struct served *it, struct str text)
{
    switch (it->kind) {
    case SERVED_REASONING:
        buf_addz(out, "{\"type\":\"summary_text\"");
        json_put_text(out, "text", text);
        break;
    case SERVED_REFUSAL:
        buf_addz(out, "{\"type\":\"refusal\"");
        json_put_text(out, "refusal", text);
        break;
    case SERVED_TEXT:
    case SERVED_CALL:
    case SERVED_OWN:
        buf_addz(out, "{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[]");
        json_put_text(out, "text", text);
        break;
    }
    buf_char(out, '}');
}

/* An item that is whole, or (`begun`) as it is added to a stream. */
static void add_item(struct buf *out, const struct served *it, bool begun)
{
    struct str status = begun ? STR("in_progress") : STR("completed");
    if (it->kind == SERVED_OWN) {
        json_add(out, it->own);
        return;
    }
    buf_char(out, '{');
    json_put_text(out, "id", it->id);
    switch (it->kind) {
    case SERVED_REASONING:
        json_put_text(out, "type", STR("reasoning"));
        json_key(out, "summary");
        break;
    case SERVED_TEXT:
    case SERVED_REFUSAL:
        json_put_text(out, "type", STR("message"));
        json_put_text(out, "status", status);
        json_put_text(out, "role", STR("assistant"));
        json_key(out, "content");
        break;
    case SERVED_CALL:
        json_put_text(out, "type", STR("function_call"));
        json_put_text(out, "status", status);
        json_put_text(out, "arguments", begun ? STR("") : it->call->arguments);
        json_put_text(out, "call_id", it->call->id);
        json_put_text(out, "name", it->call->name);
        break;
    case SERVED_OWN: break;
    }
    if (it->kind != SERVED_CALL) {
        buf_char(out, '[');
        if (!begun) {
            add_content(out, it, it->text);
        }
        buf_char(out, ']');
    }
    buf_char(out, '}');
}

static void add_usage(struct buf *out, const struct usage *u)
{
    json_key(out, "usage");
    if (!serve_usage_known(u)) {
        buf_addz(out, "null");
        return;
    }
    buf_char(out, '{');
    serve_put_count(out, "input_tokens", u->input);
    json_key(out, "input_tokens_details");
    buf_char(out, '{');
    serve_put_count(out, "cached_tokens", u->cached);
    serve_put_count(out, "cache_write_tokens", u->cache_write);
    buf_char(out, '}');
    serve_put_count(out, "output_tokens", u->output);
    json_key(out, "output_tokens_details");
    buf_char(out, '{');
    serve_put_count(out, "reasoning_tokens", u->reasoning);
    buf_char(out, '}');
    serve_put_count(out, "total_tokens", serve_usage_total(u));
    buf_char(out, '}');
}

/* The response object; `done`: with its output, as it ended. */
static void add_response(const struct writing *w, const struct served *items, size_t n, bool done)
{
    struct buf *out = w->out;
    const char *incomplete = done ? incomplete_word(w->reply->stop) : NULL;
    const char *status = !done ? "in_progress" : incomplete != NULL ? "incomplete" : "completed";
    buf_char(out, '{');
    json_put_text(out, "id", w->o->id);
    json_put_text(out, "object", STR("response"));
    json_put_int(out, "created_at", w->o->created_s);
    json_put_text(out, "status", str_of(status));
    buf_addz(out, ",\"error\":null,\"incomplete_details\":");
    if (incomplete == NULL) {
        buf_addz(out, "null");
    } else {
        buf_fmt(out, "{\"reason\":\"%s\"}", incomplete);
    }
    buf_addz(out, ",\"instructions\":null,\"metadata\":{}");
    json_put_text(out, "model", w->o->model);
    json_key(out, "output");
    buf_char(out, '[');
    for (size_t i = 0; done && i < n; i++) {
        json_next(out);
        add_item(out, &items[i], false);
    }
    buf_addz(out, "],\"parallel_tool_calls\":true,\"temperature\":1.0,\"tool_choice\":\"auto\","
                  "\"tools\":[],\"top_p\":1.0");
    if (done) {
        add_usage(out, &w->reply->usage);
    } else {
        buf_addz(out, ",\"usage\":null");
    }
    buf_char(out, '}');
}

/* ---- streams ---- */

static void begin_event(struct writing *w, const char *type)
{
    buf_fmt(w->out, "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%lld", type, type,
            (long long)w->events++);
}

static void end_event(const struct writing *w)
{
    buf_addz(w->out, "}\n\n");
    serve_note_end(w);
}

static void response_event(struct writing *w, const char *type, const struct served *items,
                           size_t n, bool done)
{
    begin_event(w, type);
    json_key(w->out, "response");
    add_response(w, items, n, done);
    end_event(w);
}

static void item_event(struct writing *w, const char *type, size_t index, const struct served *it,
                       bool begun)
{
    begin_event(w, type);
    json_put_int(w->out, "output_index", (int64_t)index);
    json_key(w->out, "item");
    add_item(w->out, it, begun);
    end_event(w);
}

/* An event of what is inside item `index`: its part, or the arguments of a call. */
static void begin_inner(struct writing *w, const char *type, size_t index, const struct served *it)
{
    begin_event(w, type);
    json_put_text(w->out, "item_id", it->id);
    json_put_int(w->out, "output_index", (int64_t)index);
    if (it->kind != SERVED_CALL) {
        json_put_int(w->out, it->kind == SERVED_REASONING ? "summary_index" : "content_index", 0);
    }
}

/* The names of the events of an item's inside. */
struct event_names {
    const char *part_added; /* NULL: it has no parts */
    const char *delta;
    const char *done;
    const char *done_key;
    const char *part_done;
};

static struct event_names names_of(const struct served *it)
{
    static const struct event_names names[] = {
        [SERVED_REASONING] = {"response.reasoning_summary_part.added",
                              "response.reasoning_summary_text.delta",
                              "response.reasoning_summary_text.done", "text",
                              "response.reasoning_summary_part.done"},
        [SERVED_TEXT] = {"response.content_part.added", "response.output_text.delta",
                         "response.output_text.done", "text", "response.content_part.done"},
        [SERVED_REFUSAL] = {"response.content_part.added", "response.refusal.delta",
                            "response.refusal.done", "refusal", "response.content_part.done"},
        [SERVED_CALL] = {NULL, "response.function_call_arguments.delta",
                         "response.function_call_arguments.done", "arguments", NULL},
    };
    return names[it->kind];
}

static void part_event(struct writing *w, const char *type, size_t index, const struct served *it,
                       struct str text)
{
    begin_inner(w, type, index, it);
    json_key(w->out, "part");
    add_content(w->out, it, text);
    end_event(w);
}

static void stream_inside(struct writing *w, size_t index, const struct served *it)
{
    struct event_names names = names_of(it);
    struct str all = it->kind == SERVED_CALL ? it->call->arguments : it->text;
    if (names.part_added != NULL) {
        part_event(w, names.part_added, index, it, STR(""));
    }
    for (struct str text = all; text.n > 0;) {
        size_t n = serve_cut(text, w->o->piece_bytes);
        begin_inner(w, names.delta, index, it);
        json_put_text(w->out, "delta", str_slice(text, 0, n));
        buf_addz(w->out, it->kind == SERVED_TEXT ? ",\"logprobs\":[]" : "");
        end_event(w);
        text = str_slice(text, n, text.n);
    }
    begin_inner(w, names.done, index, it);
    if (it->kind == SERVED_CALL) {
        json_put_text(w->out, "name", it->call->name);
    }
    json_put_text(w->out, names.done_key, all);
    buf_addz(w->out, it->kind == SERVED_TEXT ? ",\"logprobs\":[]" : "");
    end_event(w);
    if (names.part_done != NULL) {
        part_event(w, names.part_done, index, it, all);
    }
}

static void add_stream(struct writing *w, const struct served *items, size_t n)
{
    bool complete = incomplete_word(w->reply->stop) == NULL;
    response_event(w, "response.created", items, n, false);
    response_event(w, "response.in_progress", items, n, false);
    for (size_t i = 0; i < n; i++) {
        item_event(w, "response.output_item.added", i, &items[i], true);
        if (items[i].kind != SERVED_OWN) {
            stream_inside(w, i, &items[i]);
        }
        item_event(w, "response.output_item.done", i, &items[i], false);
    }
    response_event(w, complete ? "response.completed" : "response.incomplete", items, n, true);
}

void responses_serve(struct writing *w)
{
    struct served *items = NULL;
    size_t n = items_of(w, &items);
    if (w->o->stream) {
        add_stream(w, items, n);
    } else {
        add_response(w, items, n, true);
    }
}
