#include "cassettes/cassette_int.h"
#include "kernel/base/json.h"

static void add_key(struct buf *out, const char *key)
{
    buf_fmt(out, ",\"%s\":", key);
}

static void add_text(struct buf *out, const char *key, struct str s)
{
    add_key(out, key);
    json_add_string(out, s);
}

static void add_text_or_null(struct buf *out, const char *key, struct str s, bool null)
{
    if (null) {
        add_key(out, key);
        buf_addz(out, "null");
    } else {
        add_text(out, key, s);
    }
}

static void add_count(struct buf *out, const char *before, const char *key, int64_t count)
{
    buf_fmt(out, "%s\"%s\":", before, key);
    if (count < 0) {
        buf_addz(out, "null");
    } else {
        buf_int(out, count);
    }
}

static void add_call(struct buf *out, struct str id, struct str name, struct str arguments)
{
    buf_addz(out, "{\"id\":");
    json_add_string(out, id);
    add_text(out, "name", name);
    add_text(out, "arguments", arguments);
    buf_char(out, '}');
}

static void add_server_calls(struct buf *out, const struct wire_result *r)
{
    if (r->n_server_calls == 0) {
        return;
    }
    add_key(out, "server_calls");
    for (size_t i = 0; i < r->n_server_calls; i++) {
        const struct wire_server_call *c = &r->server_calls[i];
        buf_char(out, i == 0 ? '[' : ',');
        add_call(out, c->id, c->name, c->arguments);
    }
    buf_char(out, ']');
}

static void add_reply(struct buf *out, const struct wire_result *r)
{
    const struct reply *reply = &r->reply;
    const struct usage *u = &reply->usage;
    buf_addz(out, "{\"text\":");
    if (reply->content_null) {
        buf_addz(out, "null");
    } else {
        json_add_string(out, reply->content);
    }
    add_text_or_null(out, "reasoning", reply->reasoning, reply->reasoning.p == NULL);
    buf_addz(out, ",\"calls\":[");
    for (size_t i = 0; i < reply->n_calls; i++) {
        buf_addz(out, i == 0 ? "" : ",");
        add_call(out, reply->calls[i].id, reply->calls[i].name, reply->calls[i].arguments);
    }
    buf_char(out, ']');
    add_text(out, "stop", str_of(stop_name(reply->stop)));
    add_text_or_null(out, "stop_raw", reply->stop_raw, reply->stop_raw.p == NULL);
    add_key(out, "usage");
    add_count(out, "{", "input", u->input);
    add_count(out, ",", "cached", u->cached);
    add_count(out, ",", "cache_write", u->cache_write);
    add_count(out, ",", "output", u->output);
    add_count(out, ",", "reasoning", u->reasoning);
    buf_char(out, '}');
    add_server_calls(out, r);
    buf_char(out, '}');
}

static void add_failure(struct buf *out, const struct failure *f)
{
    buf_fmt(out, "{\"error\":{\"status\":%d", f->status);
    add_text(out, "class", str_of(fail_name(f->class)));
    add_text(out, "message", f->message);
    buf_addz(out, "}}");
}

/* A tool's call and result: more than FORMATS.md asks for, under keys of their own. */
static void add_tool(struct buf *out, const struct interaction *it)
{
    add_key(out, "call");
    add_call(out, it->call_id, tool_name(it), it->request_body);
    add_text_or_null(out, "result", it->body, it->ended == HTTP_STOPPED);
}

void show_json(struct buf *out, const struct reading *r)
{
    const struct interaction *it = r->it;
    struct buf uri = {0};
    redact_url(it->uri, &uri);
    buf_fmt(out, "{\"n\":%u", it->n);
    add_text(out, "kind", str_of(kind_name(r->kind)));
    add_text(out, "method", it->method);
    add_text(out, "uri", buf_str(&uri));
    buf_fmt(out, ",\"status\":%d,\"streamed\":%s,\"offered\":[", it->status,
            r->streamed ? "true" : "false");
    for (size_t i = 0; i < r->n_tools; i++) {
        buf_addz(out, i == 0 ? "" : ",");
        json_add_string(out, r->tools[i]);
    }
    buf_addz(out, "],\"reply\":");
    if (r->decoder == NULL) {
        buf_addz(out, "null");
    } else if (r->result.ok) {
        add_reply(out, &r->result);
    } else {
        add_failure(out, &r->result.failure);
    }
    if (it->tool) {
        add_tool(out, it);
    }
    if (it->ended != HTTP_CLEAN) {
        add_text(out, "ended", str_of(http_end_name(it->ended)));
    }
    buf_addz(out, "}\n");
    buf_free(&uri);
}
