/* The server's side of the formats: what their writers share, and errors. */
#include <string.h>

#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

bool serve_refused(const struct reply *r)
{
    return r->stop == STOP_REFUSAL && r->n_calls == 0;
}

bool serve_usage_known(const struct usage *u)
{
    return u->input >= 0 || u->output >= 0;
}

int64_t serve_usage_total(const struct usage *u)
{
    bool known = u->input >= 0 && u->output >= 0 && u->input <= INT64_MAX - u->output;
    return known ? u->input + u->output : -1;
}

void serve_put_count(struct buf *out, const char *key, int64_t count)
{
    if (count >= 0) {
        json_put_int(out, key, count);
    }
}

void serve_note_end(const struct writing *w)
{
    if (w->ends != NULL) {
        size_t end = w->out->n;
        char bytes[sizeof end];
        memcpy(bytes, &end, sizeof end);
        buf_add(w->ends, (struct str){bytes, sizeof bytes});
    }
}

size_t serve_cut(struct str s, size_t max)
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

/* Whether a part of the reply is the provider's own of that type. */
static bool has_own(const struct writing *w, const char *type)
{
    for (size_t i = 0; i < w->n_parts; i++) {
        if (w->parts[i].kind == PART_OWN &&
            str_is(val_text(val_get(w->parts[i].own, "type")), type)) {
            return true;
        }
    }
    return false;
}

size_t serve_pieces(const struct writing *w, const char *own_reasoning, struct served **out)
{
    const struct reply *r = w->reply;
    struct served *list = arena_array(w->arena, w->n_parts + 2, sizeof *list);
    size_t n = 0;
    if (r->reasoning.n > 0 && !has_own(w, own_reasoning)) {
        list[n++] = (struct served){.kind = SERVED_REASONING, .text = r->reasoning};
    }
    if (!r->content_null && r->content.p != NULL && (r->content.n == 0 || serve_refused(r))) {
        list[n].kind = serve_refused(r) ? SERVED_REFUSAL : SERVED_TEXT;
        list[n++].text = r->content;
    }
    for (size_t i = 0; i < w->n_parts; i++) {
        const struct part *p = &w->parts[i];
        switch (p->kind) {
        case PART_TEXT: list[n++] = (struct served){.kind = SERVED_TEXT, .text = p->text}; break;
        case PART_CALL: list[n++] = (struct served){.kind = SERVED_CALL, .call = p->call}; break;
        case PART_OWN: list[n++] = (struct served){.kind = SERVED_OWN, .own = p->own}; break;
        }
    }
    *out = list;
    return n;
}

int wire_encode_reply(enum wire_format f, const struct reply *reply,
                      const struct wire_reply_options *o, struct buf *out, struct buf *ends,
                      struct err *e)
{
    struct writing w = {.reply = reply, .o = o, .out = out, .ends = ends, .arena = arena_new()};
    const struct message said = {.role = ROLE_ASSISTANT,
                                 .content = serve_refused(reply) ? STR("") : reply->content,
                                 .parts = reply->parts,
                                 .calls = reply->calls,
                                 .n_calls = reply->n_calls};
    w.n_parts = parts_of(&said, f, w.arena, &w.parts);
    switch (f) {
    case WIRE_CHAT: chat_serve(&w); break;
    case WIRE_RESPONSES: responses_serve(&w); break;
    case WIRE_MESSAGES: messages_serve(&w); break;
    }
    if (!o->stream) {
        serve_note_end(&w);
    }
    arena_free(w.arena);
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
        buf_addz(out, "},\"request_id\":null}");
        break;
    }
}

void wire_encode_error_event(enum wire_format f, int status, struct str message, struct buf *out)
{
    buf_addz(out, f == WIRE_CHAT ? "data: " : "event: error\ndata: ");
    if (f == WIRE_RESPONSES) {
        buf_fmt(out, "{\"type\":\"error\",\"code\":\"%s\",\"message\":", openai_type(status));
        json_add_string(out, message);
        buf_addz(out, ",\"param\":null,\"sequence_number\":1}");
    } else {
        wire_encode_error(f, status, message, out);
    }
    buf_addz(out, "\n\n");
}
