/* The server's side of Messages, as Anthropic sends it. Source: Anthropic API reference, "Messages"
 * and "Streaming Messages". */
#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

static const char *stop_word(enum stop_reason stop)
{
    switch (stop) {
    case STOP_END_TURN: return "end_turn";
    case STOP_TOOL_USE: return "tool_use";
    case STOP_MAX_TOKENS: return "max_tokens";
    case STOP_STOP_SEQUENCE: return "stop_sequence";
    case STOP_PAUSE: return "pause_turn";
    case STOP_CONTENT_FILTER: /* this provider has no other word for it */
    case STOP_REFUSAL: break;
    }
    return "refusal";
}

/* The counts of input, of which those of a cache are no part here, and `output`. Clients refuse
 * usage without these two, so that what the script does not say is 0. */
static void add_usage(struct buf *out, const struct usage *u, int64_t output)
{
    int64_t cached = (u->cached > 0 ? u->cached : 0) + (u->cache_write > 0 ? u->cache_write : 0);
    int64_t rest = u->input > cached ? u->input - cached : 0;
    json_key(out, "usage");
    buf_char(out, '{');
    json_put_int(out, "input_tokens", rest);
    serve_put_count(out, "cache_creation_input_tokens", u->cache_write);
    serve_put_count(out, "cache_read_input_tokens", u->cached);
    json_put_int(out, "output_tokens", output > 0 ? output : 0);
    buf_char(out, '}');
}

static void put_null(struct buf *out, const char *key)
{
    json_key(out, key);
    buf_addz(out, "null");
}

/* {"id":…,"type":"message","role":"assistant","model":…,"content":[ */
static void begin_message(const struct writing *w)
{
    buf_char(w->out, '{');
    json_put_text(w->out, "id", w->o->id);
    json_put_text(w->out, "type", STR("message"));
    json_put_text(w->out, "role", STR("assistant"));
    json_put_text(w->out, "model", w->o->model);
    json_key(w->out, "content");
    buf_char(w->out, '[');
}

/* ---- blocks ---- */

/* Arguments as a value. What is no JSON, and what would be read as another text (a string, null),
 * stands as a string of its characters. */
static void add_input(const struct writing *w, struct str arguments)
{
    struct val *v = NULL;
    bool parsed = json_parse(w->arena, NULL, arguments, &v, NULL) == 0;
    if (str_trim(arguments).n == 0) {
        buf_addz(w->out, "{}");
    } else if (parsed && v->kind != VAL_STRING && v->kind != VAL_NULL) {
        buf_add(w->out, v->raw);
    } else {
        json_add_string(w->out, arguments);
    }
}

/* A block that is whole; in a stream (`empty`) as it begins. */
static void add_block(const struct writing *w, const struct served *c, bool empty)
{
    struct buf *out = w->out;
    struct str text = empty ? STR("") : c->text;
    switch (c->kind) {
    case SERVED_REASONING:
        buf_addz(out, "{\"type\":\"thinking\"");
        json_put_text(out, "thinking", text);
        break;
    case SERVED_TEXT:
    case SERVED_REFUSAL:
        buf_addz(out, "{\"type\":\"text\"");
        json_put_text(out, "text", text);
        break;
    case SERVED_CALL:
        buf_addz(out, "{\"type\":\"tool_use\"");
        json_put_text(out, "id", c->call->id);
        json_put_text(out, "name", c->call->name);
        json_key(out, "input");
        add_input(w, empty ? STR("") : c->call->arguments);
        break;
    case SERVED_OWN: json_add(out, c->own); return;
    }
    buf_char(out, '}');
}

static void add_whole(const struct writing *w)
{
    struct served *list = NULL;
    size_t n = serve_pieces(w, "thinking", &list);
    begin_message(w);
    for (size_t i = 0; i < n; i++) {
        json_next(w->out);
        add_block(w, &list[i], false);
    }
    buf_char(w->out, ']');
    json_put_text(w->out, "stop_reason", str_of(stop_word(w->reply->stop)));
    put_null(w->out, "stop_sequence");
    add_usage(w->out, &w->reply->usage, w->reply->usage.output);
    buf_char(w->out, '}');
}

/* ---- streams ---- */

static void begin_event(const struct writing *w, const char *type)
{
    buf_fmt(w->out, "event: %s\ndata: {\"type\":\"%s\"", type, type);
}

static void end_event(const struct writing *w)
{
    buf_addz(w->out, "}\n\n");
    serve_note_end(w);
}

/* One delta of block `index`. `value` is JSON. */
static void add_delta(const struct writing *w, size_t index, const char *type, const char *key,
                      struct str value)
{
    begin_event(w, "content_block_delta");
    json_put_int(w->out, "index", (int64_t)index);
    json_key(w->out, "delta");
    buf_fmt(w->out, "{\"type\":\"%s\",\"%s\":", type, key);
    buf_add(w->out, value);
    buf_char(w->out, '}');
    end_event(w);
}

static void add_pieces(const struct writing *w, size_t index, const char *type, const char *key,
                       struct str text, size_t most)
{
    while (text.n > 0) {
        size_t n = serve_cut(text, most);
        struct buf piece = {0};
        json_add_string(&piece, str_slice(text, 0, n));
        add_delta(w, index, type, key, buf_str(&piece));
        buf_free(&piece);
        text = str_slice(text, n, text.n);
    }
}

/* Whether a member of the provider's own block comes in pieces; of two with one name the last. */
static bool comes_in_pieces(const struct val *own, const struct member *m)
{
    struct str type = val_text(val_get(own, "type"));
    if (val_find(own, m->key) != &m->value) {
        return false;
    }
    if (str_is(type, "thinking")) {
        return val_is(&m->value, VAL_STRING) &&
               (str_is(m->key, "thinking") || str_is(m->key, "signature"));
    }
    if (str_is(type, "text")) {
        return (str_is(m->key, "text") && val_is(&m->value, VAL_STRING)) ||
               (str_is(m->key, "citations") && val_is(&m->value, VAL_ARRAY));
    }
    return str_ends(type, "tool_use") && str_is(m->key, "input") && val_is(&m->value, VAL_OBJECT);
}

/* The provider's own block as it begins: without what comes in pieces. */
static void begin_own(const struct writing *w, const struct val *own)
{
    buf_char(w->out, '{');
    for (size_t i = 0; i < own->count; i++) {
        const struct member *m = &own->members[i];
        json_next(w->out);
        json_add_string(w->out, m->key);
        buf_char(w->out, ':');
        if (!comes_in_pieces(own, m)) {
            json_add(w->out, &m->value);
        } else {
            buf_addz(w->out, m->value.kind == VAL_STRING  ? "\"\""
                             : m->value.kind == VAL_ARRAY ? "[]"
                                                          : "{}");
        }
    }
    buf_char(w->out, '}');
}

static void add_own_deltas(const struct writing *w, size_t index, const struct val *own)
{
    size_t most = w->o->piece_bytes;
    for (size_t i = 0; i < own->count; i++) {
        const struct member *m = &own->members[i];
        struct buf json = {0};
        if (!comes_in_pieces(own, m)) {
            continue;
        }
        if (str_is(m->key, "thinking")) {
            add_pieces(w, index, "thinking_delta", "thinking", m->value.text, most);
        } else if (str_is(m->key, "signature")) {
            add_pieces(w, index, "signature_delta", "signature", m->value.text, 0);
        } else if (str_is(m->key, "text")) {
            add_pieces(w, index, "text_delta", "text", m->value.text, most);
        } else if (str_is(m->key, "input")) {
            json_add(&json, &m->value);
            add_pieces(w, index, "input_json_delta", "partial_json", buf_str(&json), most);
        }
        for (size_t k = 0; val_is(&m->value, VAL_ARRAY) && k < m->value.count; k++) {
            buf_clear(&json);
            json_add(&json, val_item(&m->value, k));
            add_delta(w, index, "citations_delta", "citation", buf_str(&json));
        }
        buf_free(&json);
    }
}

static void stream_block(const struct writing *w, size_t index, const struct served *c)
{
    size_t most = w->o->piece_bytes;
    begin_event(w, "content_block_start");
    json_put_int(w->out, "index", (int64_t)index);
    json_key(w->out, "content_block");
    if (c->kind == SERVED_OWN) {
        begin_own(w, c->own);
    } else {
        add_block(w, c, true);
    }
    end_event(w);
    if (index == 0) {
        begin_event(w, "ping");
        end_event(w);
    }
    switch (c->kind) {
    case SERVED_REASONING: add_pieces(w, index, "thinking_delta", "thinking", c->text, most); break;
    case SERVED_TEXT:
    case SERVED_REFUSAL: add_pieces(w, index, "text_delta", "text", c->text, most); break;
    case SERVED_CALL:
        add_pieces(w, index, "input_json_delta", "partial_json", c->call->arguments, most);
        break;
    case SERVED_OWN: add_own_deltas(w, index, c->own); break;
    }
    begin_event(w, "content_block_stop");
    json_put_int(w->out, "index", (int64_t)index);
    end_event(w);
}

static void add_stream(const struct writing *w)
{
    const struct usage *u = &w->reply->usage;
    struct served *list = NULL;
    size_t n = serve_pieces(w, "thinking", &list);
    begin_event(w, "message_start");
    json_key(w->out, "message");
    begin_message(w);
    buf_char(w->out, ']');
    put_null(w->out, "stop_reason");
    put_null(w->out, "stop_sequence");
    add_usage(w->out, u, u->output > 0 ? 1 : u->output);
    buf_char(w->out, '}');
    end_event(w);
    for (size_t i = 0; i < n; i++) {
        stream_block(w, i, &list[i]);
    }
    begin_event(w, "message_delta");
    json_key(w->out, "delta");
    buf_fmt(w->out, "{\"stop_reason\":\"%s\",\"stop_sequence\":null}", stop_word(w->reply->stop));
    add_usage(w->out, u, u->output); /* all counts again: there are clients that read only these */
    end_event(w);
    begin_event(w, "message_stop");
    end_event(w);
}

void messages_serve(struct writing *w)
{
    if (w->o->stream) {
        add_stream(w);
    } else {
        add_whole(w);
    }
}
