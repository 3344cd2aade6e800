#include "cassettes/cassette_int.h"
#include "kernel/base/json.h"

static void add_server_calls(struct buf *out, const struct wire_result *r)
{
    if (r->n_server_calls == 0) {
        return;
    }
    json_key(out, "server_calls");
    buf_char(out, '[');
    for (size_t i = 0; i < r->n_server_calls; i++) {
        const struct wire_server_call *c = &r->server_calls[i];
        json_next(out);
        tool_call_add(out, &(struct tool_call){c->id, c->name, c->arguments});
    }
    buf_char(out, ']');
}

static void add_reply(struct buf *out, const struct wire_result *r)
{
    const struct reply *reply = &r->reply;
    buf_char(out, '{');
    json_put_text_or_null(out, "text",
                          reply->content_null ? (struct str){NULL, 0} : reply->content);
    json_put_text_or_null(out, "reasoning", reply->reasoning);
    tool_calls_put(out, reply->calls, reply->n_calls);
    json_put_text(out, "stop", str_of(stop_name(reply->stop)));
    json_put_text_or_null(out, "stop_raw", reply->stop_raw);
    usage_put(out, &reply->usage);
    add_server_calls(out, r);
    buf_char(out, '}');
}

static void add_failure(struct buf *out, const struct failure *f)
{
    buf_addz(out, "{\"error\":{");
    json_put_int(out, "status", f->status);
    json_put_text(out, "class", str_of(fail_name(f->class)));
    json_put_text(out, "message", f->message);
    buf_addz(out, "}}");
}

/* A tool's call and result, under keys of their own. */
static void add_tool(struct buf *out, const struct interaction *it)
{
    json_key(out, "call");
    tool_call_add(out, &(struct tool_call){it->call_id, cassette_tool_name(it), it->request_body});
    json_put_text_or_null(out, "result",
                          it->ended == HTTP_STOPPED ? (struct str){NULL, 0}
                          : it->body.p == NULL      ? STR("")
                                                    : it->body);
}

void cassette_show_json(struct buf *out, const struct reading *r, const char *file)
{
    const struct interaction *it = r->it;
    struct buf uri = {0};
    cassette_redact_url(it->uri, &uri);
    buf_char(out, '{');
    json_put_int(out, "n", it->n);
    json_put_text(out, "kind", str_of(cassette_kind_name(r->kind)));
    json_put_text(out, "method", it->method);
    json_put_text(out, "uri", buf_str(&uri));
    json_put_int(out, "status", it->status);
    json_put_bool(out, "streamed", r->streamed);
    json_put_texts(out, "offered", r->tools, r->n_tools);
    json_key(out, "reply");
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
        json_put_text(out, "ended", str_of(http_end_name(it->ended)));
    }
    json_put_text(out, "file", str_of(file));
    buf_addz(out, "}\n");
    buf_free(&uri);
}
