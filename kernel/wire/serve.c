/* The server's side of Chat Completions: reply and error bodies as OpenAI sends them. */
#include <string.h>

#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

/* A reply being written. */
struct writing {
    const struct reply *reply;
    const struct wire_reply_options *o;
    struct buf *out;
    struct buf *ends; /* may be NULL */
};

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

static bool refused(const struct reply *r)
{
    return r->stop == STOP_REFUSAL && r->n_calls == 0;
}

static bool usage_known(const struct usage *u)
{
    return u->input >= 0 || u->output >= 0;
}

static void add_count(struct buf *out, const char *name, int64_t count, bool *first)
{
    if (count >= 0) {
        buf_fmt(out, "%s\"%s\":%lld", *first ? "" : ",", name, (long long)count);
        *first = false;
    }
}

/* One count inside an object of its own. */
static void add_detail(struct buf *out, const char *object, const char *name, int64_t count,
                       bool *first)
{
    if (count >= 0) {
        buf_fmt(out, "%s\"%s\":{\"%s\":%lld}", *first ? "" : ",", object, name, (long long)count);
        *first = false;
    }
}

static void add_usage(struct buf *out, const struct usage *u)
{
    bool first = true;
    bool both = u->input >= 0 && u->output >= 0 && u->input <= INT64_MAX - u->output;
    buf_addz(out, ",\"usage\":{");
    add_count(out, "prompt_tokens", u->input, &first);
    add_count(out, "completion_tokens", u->output, &first);
    add_count(out, "total_tokens", both ? u->input + u->output : -1, &first);
    add_detail(out, "prompt_tokens_details", "cached_tokens", u->cached, &first);
    add_detail(out, "completion_tokens_details", "reasoning_tokens", u->reasoning, &first);
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

static void add_calls(struct buf *out, const struct reply *r)
{
    wire_add_key(out, "tool_calls");
    for (size_t i = 0; i < r->n_calls; i++) {
        buf_addz(out, i == 0 ? "[{" : ",{");
        add_call_head(out, &r->calls[i]);
        json_add_string(out, r->calls[i].arguments);
        buf_addz(out, "}}");
    }
    buf_char(out, ']');
}

static void add_content(struct buf *out, struct str content, bool null)
{
    wire_add_key(out, "content");
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
    add_content(out, r->content, r->content_null || refused(r));
    if (refused(r)) {
        wire_add_key(out, "refusal");
        json_add_string(out, r->content);
    }
    if (r->reasoning.p != NULL) {
        wire_add_key(out, "reasoning_content");
        json_add_string(out, r->reasoning);
    }
    if (r->n_calls > 0) {
        add_calls(out, r);
    }
    buf_fmt(out, "},\"finish_reason\":\"%s\"}]", finish_word(r->stop));
    if (usage_known(&r->usage)) {
        add_usage(out, &r->usage);
    }
    buf_char(out, '}');
}

/* ---- streams ---- */

/* Notes that a piece of the body ends here. */
static void note_end(const struct writing *w)
{
    if (w->ends != NULL) {
        size_t end = w->out->n;
        char bytes[sizeof end];
        memcpy(bytes, &end, sizeof end);
        buf_add(w->ends, (struct str){bytes, sizeof bytes});
    }
}

static void end_event(const struct writing *w)
{
    buf_addz(w->out, "\n\n");
    note_end(w);
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

/* The first piece of `s`: at most `max` bytes (0 = all), cut at a character. */
static size_t piece_size(struct str s, size_t max)
{
    if (max == 0 || s.n <= max) {
        return s.n;
    }
    size_t n = max;
    while (n > 0 && ((unsigned char)s.p[n] & 0xC0) == 0x80) {
        n--;
    }
    if (n > 0) {
        return n;
    }
    n = 1;
    while (n < s.n && ((unsigned char)s.p[n] & 0xC0) == 0x80) {
        n++;
    }
    return n;
}

/* Chunks whose delta is `before`, a piece as a JSON string, `after`. */
static void add_pieces(const struct writing *w, struct str before, struct str text,
                       const char *after)
{
    while (text.n > 0) {
        size_t n = piece_size(text, w->o->piece_bytes);
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
    buf_addz(w->out, "\"\"}}]");
    end_chunk(w, NULL);
    buf_fmt(&before, "\"tool_calls\":[{\"index\":%zu,\"function\":{\"arguments\":", index);
    add_pieces(w, buf_str(&before), call->arguments, "}}]");
    buf_free(&before);
}

static void add_stream(const struct writing *w)
{
    const struct reply *r = w->reply;
    bool null = r->content_null || refused(r);
    begin_chunk(w);
    buf_addz(w->out, "\"role\":\"assistant\"");
    add_content(w->out, STR(""), null);
    end_chunk(w, NULL);
    add_pieces(w, STR("\"reasoning_content\":"), r->reasoning, "");
    add_pieces(w, refused(r) ? STR("\"refusal\":") : STR("\"content\":"), r->content, "");
    for (size_t i = 0; i < r->n_calls; i++) {
        add_call_chunks(w, i);
    }
    begin_chunk(w);
    end_chunk(w, finish_word(r->stop));
    if (w->o->include_usage && usage_known(&r->usage)) {
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

int wire_encode_reply(enum wire_format f, const struct reply *reply,
                      const struct wire_reply_options *o, struct buf *out, struct buf *ends,
                      struct err *e)
{
    if (f != WIRE_CHAT) {
        return err_set(e, ERR_UNSUPPORTED,
                       "replies in the format of provider \"%s\" cannot be served yet; point the "
                       "client at /v1/chat/completions",
                       wire_provider(f));
    }
    struct writing w = {reply, o, out, ends};
    if (o->stream) {
        add_stream(&w);
    } else {
        add_whole(&w);
        note_end(&w);
    }
    if (out->truncated) {
        return err_set(e, ERR_LIMIT, "the reply does not fit into its buffer");
    }
    return 0;
}

/* ---- errors ---- */

static const char *openai_type(int status)
{
    switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 429: return "rate_limit_error";
    case 503:
    case 529: return "overloaded_error";
    default: return status >= 500 ? "server_error" : "invalid_request_error";
    }
}

static const char *anthropic_type(int status)
{
    switch (status) {
    case 413: return "request_too_large";
    case 503: return "api_error";
    default: return status >= 500 && status != 529 ? "api_error" : openai_type(status);
    }
}

void wire_encode_error(enum wire_format f, int status, struct str message, struct buf *out)
{
    switch (f) {
    case WIRE_CHAT:
    case WIRE_RESPONSES:
        buf_addz(out, "{\"error\":{\"message\":");
        json_add_string(out, message);
        buf_fmt(out, ",\"type\":\"%s\",\"param\":null,\"code\":null}}", openai_type(status));
        break;
    case WIRE_MESSAGES:
        buf_fmt(out, "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":",
                anthropic_type(status));
        json_add_string(out, message);
        buf_addz(out, "}}");
        break;
    }
}
