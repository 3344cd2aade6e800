/* The server's side of Chat Completions, as OpenAI sends it. Source: OpenAI API reference, "Chat"
 * and "Chat streaming". */
#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

static const char *finish_word(enum stop_reason stop)
{
    switch (stop) {
    case STOP_TOOL_USE: return "tool_calls";
    case STOP_MAX_TOKENS: return "length";
    case STOP_CONTENT_FILTER: return "content_filter";
    case STOP_END_TURN:
    case STOP_STOP_SEQUENCE:
    case STOP_REFUSAL:
    case STOP_PAUSE: break;
    }
    return "stop";
}

/* One count inside an object of its own. */
static void add_detail(struct buf *out, const char *object, const char *key, int64_t count)
{
    if (count >= 0) {
        json_key(out, object);
        buf_char(out, '{');
        json_put_int(out, key, count);
        buf_char(out, '}');
    }
}

static void add_usage(struct buf *out, const struct usage *u)
{
    json_key(out, "usage");
    buf_char(out, '{');
    serve_put_count(out, "prompt_tokens", u->input);
    serve_put_count(out, "completion_tokens", u->output);
    serve_put_count(out, "total_tokens", serve_usage_total(u));
    add_detail(out, "prompt_tokens_details", "cached_tokens", u->cached);
    add_detail(out, "completion_tokens_details", "reasoning_tokens", u->reasoning);
    buf_char(out, '}');
}

/* {"id":…,"object":OBJECT,"created":…,"model":… */
static void add_head(const struct writing *w, const char *object)
{
    buf_addz(w->out, "{\"id\":");
    json_add_string(w->out, w->o->id);
    buf_fmt(w->out, ",\"object\":\"%s\",\"created\":%lld,\"model\":", object,
            (long long)w->o->created_s);
    json_add_string(w->out, w->o->model);
}

static void add_call_head(struct buf *out, const struct tool_call *call)
{
    buf_addz(out, "\"id\":");
    json_add_string(out, call->id);
    buf_addz(out, ",\"type\":\"function\",\"function\":{\"name\":");
    json_add_string(out, call->name);
    buf_addz(out, ",\"arguments\":");
}

static void add_calls(const struct writing *w)
{
    const struct reply *r = w->reply;
    struct buf *out = w->out;
    json_key(out, "tool_calls");
    for (size_t i = 0; i < r->n_calls; i++) {
        buf_addz(out, i == 0 ? "[{" : ",{");
        add_call_head(out, &r->calls[i]);
        json_add_string(out, r->calls[i].arguments);
        buf_char(out, '}');
        chat_add_extra(out, w->parts, w->n_parts, i + 1);
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

static void add_content(struct buf *out, struct str content, bool null)
{
    json_key(out, "content");
    if (null) {
        buf_addz(out, "null");
    } else {
        json_add_string(out, content);
    }
}

static void add_whole(const struct writing *w)
{
    const struct reply *r = w->reply;
    struct buf *out = w->out;
    add_head(w, "chat.completion");
    buf_addz(out, ",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\"");
    add_content(out, r->content, r->content_null || serve_refused(r));
    if (serve_refused(r)) {
        json_put_text(out, "refusal", r->content);
    }
    if (r->reasoning.p != NULL) {
        json_put_text(out, "reasoning_content", r->reasoning);
    }
    (void)chat_add_details(out, w->parts, w->n_parts);
    chat_add_extra(out, w->parts, w->n_parts, 0);
    if (r->n_calls > 0) {
        add_calls(w);
    }
    buf_fmt(out, "},\"finish_reason\":\"%s\"}]", finish_word(r->stop));
    if (serve_usage_known(&r->usage)) {
        add_usage(out, &r->usage);
    }
    buf_char(out, '}');
}

/* ---- streams ---- */

static void end_event(const struct writing *w)
{
    buf_addz(w->out, "\n\n");
    serve_note_end(w);
}

static void begin_chunk(const struct writing *w)
{
    buf_addz(w->out, "data: ");
    add_head(w, "chat.completion.chunk");
    buf_addz(w->out, ",\"choices\":[{\"index\":0,\"delta\":{");
}

/* finish NULL: the reply goes on. */
static void end_chunk(const struct writing *w, const char *finish)
{
    if (finish == NULL) {
        buf_addz(w->out, "},\"finish_reason\":null}]");
    } else {
        buf_fmt(w->out, "},\"finish_reason\":\"%s\"}]", finish);
    }
    buf_addz(w->out, w->o->include_usage ? ",\"usage\":null}" : "}");
    end_event(w);
}

/* Chunks whose delta is `before`, a piece as a JSON string, `after`. */
static void add_pieces(const struct writing *w, struct str before, struct str text,
                       const char *after)
{
    while (text.n > 0) {
        size_t n = serve_cut(text, w->o->piece_bytes);
        begin_chunk(w);
        buf_add(w->out, before);
        json_add_string(w->out, str_slice(text, 0, n));
        buf_addz(w->out, after);
        end_chunk(w, NULL);
        text = str_slice(text, n, text.n);
    }
}

static void add_call_chunks(const struct writing *w, size_t index)
{
    const struct tool_call *call = &w->reply->calls[index];
    struct buf before = {0};
    begin_chunk(w);
    buf_fmt(w->out, "\"tool_calls\":[{\"index\":%zu,", index);
    add_call_head(w->out, call);
    buf_addz(w->out, "\"\"}");
    chat_add_extra(w->out, w->parts, w->n_parts, index + 1);
    buf_addz(w->out, "}]");
    end_chunk(w, NULL);
    buf_fmt(&before, "\"tool_calls\":[{\"index\":%zu,\"function\":{\"arguments\":", index);
    add_pieces(w, buf_str(&before), call->arguments, "}}]");
    buf_free(&before);
}

/* A chunk with what stands beside the text, if there is anything. */
static void add_own_chunk(const struct writing *w)
{
    struct buf own = {0};
    (void)chat_add_details(&own, w->parts, w->n_parts);
    chat_add_extra(&own, w->parts, w->n_parts, 0);
    if (own.n > 0) {
        begin_chunk(w);
        buf_add(w->out, buf_str(&own));
        end_chunk(w, NULL);
    }
    buf_free(&own);
}

static void add_stream(const struct writing *w)
{
    const struct reply *r = w->reply;
    bool null = r->content_null || serve_refused(r);
    begin_chunk(w);
    buf_addz(w->out, "\"role\":\"assistant\"");
    add_content(w->out, STR(""), null);
    end_chunk(w, NULL);
    add_pieces(w, STR("\"reasoning_content\":"), r->reasoning, "");
    add_pieces(w, serve_refused(r) ? STR("\"refusal\":") : STR("\"content\":"), r->content, "");
    add_own_chunk(w);
    for (size_t i = 0; i < r->n_calls; i++) {
        add_call_chunks(w, i);
    }
    begin_chunk(w);
    end_chunk(w, finish_word(r->stop));
    if (w->o->include_usage && serve_usage_known(&r->usage)) {
        buf_addz(w->out, "data: ");
        add_head(w, "chat.completion.chunk");
        buf_addz(w->out, ",\"choices\":[]");
        add_usage(w->out, &r->usage);
        buf_char(w->out, '}');
        end_event(w);
    }
    buf_addz(w->out, "data: [DONE]");
    end_event(w);
}

void chat_serve(struct writing *w)
{
    if (w->o->stream) {
        add_stream(w);
    } else {
        add_whole(w);
    }
}
