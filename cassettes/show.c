/* Prints a cassette for people: what was asked and offered, what came back. */
#include "cassettes/cassette_int.h"
#include "kernel/base/text.h"

enum {
    REMEMBERED = 8, /* interactions looked back at for the start of a conversation */
    MESSAGE_CHARS = 400,
    REASONING_CHARS = 400,
    LINE_CHARS = 2000,
    REPLY_LINES = 200,
    SAMPLE_BYTES = 2000 /* of a plain body, for its preview */
};

/* The messages of an earlier request. */
struct earlier {
    const struct message *messages;
    size_t n;
};

struct shower {
    struct buf *out;
    struct arena *arena;
    struct earlier earlier[REMEMBERED]; /* a ring */
    size_t n_earlier;
};

static void label(struct shower *s, const char *name)
{
    buf_fmt(s->out, "   %-10s ", name);
}

/* One line, without what a terminal would obey. */
static void preview(struct shower *s, struct str text, size_t chars)
{
    buf_add(s->out, text_preview(s->arena, text, chars));
}

static void line(struct shower *s, const char *name, struct str text, size_t chars)
{
    label(s, name);
    preview(s, text, chars);
    buf_char(s->out, '\n');
}

/* A text of several lines, all of them behind the label. */
static void lines(struct shower *s, const char *name, struct str text)
{
    size_t shown = 0;
    while (text.n > 0 && shown < REPLY_LINES) {
        line(s, shown == 0 ? name : "", str_cut(&text, '\n'), LINE_CHARS);
        shown++;
    }
    if (text.n > 0) {
        label(s, "");
        buf_fmt(s->out, "… %zu bytes more\n", text.n);
    }
}

static void call(struct shower *s, const char *name, struct str tool, struct str arguments,
                 struct str id)
{
    label(s, name);
    preview(s, tool, MESSAGE_CHARS);
    buf_char(s->out, ' ');
    preview(s, arguments, LINE_CHARS);
    if (id.n > 0) {
        buf_addz(s->out, "  (");
        preview(s, id, MESSAGE_CHARS);
        buf_char(s->out, ')');
    }
    buf_char(s->out, '\n');
}

/* ---- requests ---- */

static bool same_message(const struct message *a, const struct message *b)
{
    if (a->role != b->role || a->n_calls != b->n_calls || !str_eq(a->content, b->content) ||
        !str_eq(a->call_id, b->call_id)) {
        return false;
    }
    for (size_t i = 0; i < a->n_calls; i++) {
        if (!str_eq(a->calls[i].name, b->calls[i].name) ||
            !str_eq(a->calls[i].arguments, b->calls[i].arguments)) {
            return false;
        }
    }
    return true;
}

/* How many messages at the start were shown with an earlier request. */
static size_t shown_before(const struct shower *s, const struct reading *r)
{
    size_t most = 0;
    for (size_t i = 0; i < s->n_earlier && i < REMEMBERED; i++) {
        const struct earlier *e = &s->earlier[i];
        size_t n = 0;
        while (n < e->n && n < r->n_messages && same_message(&e->messages[n], &r->messages[n])) {
            n++;
        }
        most = n > most ? n : most;
    }
    return most;
}

static void show_message(struct shower *s, const struct message *m)
{
    if (m->role == ROLE_TOOL) {
        label(s, "result");
        preview(s, m->call_id, MESSAGE_CHARS);
        buf_addz(s->out, ": ");
        preview(s, m->content, MESSAGE_CHARS);
        buf_char(s->out, '\n');
        return;
    }
    if (m->content.n > 0 || m->n_calls == 0) {
        line(s, role_name(m->role), m->content, MESSAGE_CHARS);
    }
    for (size_t i = 0; i < m->n_calls; i++) {
        call(s, m->content.n == 0 && i == 0 ? role_name(m->role) : "", m->calls[i].name,
             m->calls[i].arguments, m->calls[i].id);
    }
}

static void show_request(struct shower *s, const struct reading *r)
{
    if (r->n_tools > 0) {
        label(s, "offered");
        for (size_t i = 0; i < r->n_tools; i++) {
            buf_addz(s->out, i == 0 ? "" : ", ");
            preview(s, r->tools[i], MESSAGE_CHARS);
        }
        buf_char(s->out, '\n');
    }
    size_t before = shown_before(s, r);
    if (before > 0) {
        label(s, "");
        buf_fmt(s->out, "(%zu message%s as before)\n", before, before == 1 ? "" : "s");
    }
    for (size_t i = before; i < r->n_messages; i++) {
        show_message(s, &r->messages[i]);
    }
    s->earlier[s->n_earlier++ % REMEMBERED] = (struct earlier){r->messages, r->n_messages};
}

/* ---- answers ---- */

static void count(struct shower *s, const char *before, int64_t n, const char *what)
{
    if (n >= 0) {
        buf_fmt(s->out, "%s%lld %s", before, (long long)n, what);
    }
}

static void show_usage(struct shower *s, const struct usage *u)
{
    if (u->input < 0 && u->output < 0) {
        return;
    }
    label(s, "usage");
    count(s, "", u->input, "in");
    count(s, ", ", u->cached, "cached");
    count(s, ", ", u->cache_write, "written to cache");
    count(s, u->input < 0 ? "" : ", ", u->output, "out");
    count(s, ", ", u->reasoning, "reasoning");
    buf_char(s->out, '\n');
}

static void show_reply(struct shower *s, const struct wire_result *r)
{
    const struct reply *reply = &r->reply;
    if (reply->reasoning.n > 0) {
        line(s, "reasoning", reply->reasoning, REASONING_CHARS);
    }
    lines(s, "reply", reply->content);
    for (size_t i = 0; i < r->n_server_calls; i++) {
        const struct wire_server_call *c = &r->server_calls[i];
        call(s, "server", c->name, c->arguments, c->id);
    }
    for (size_t i = 0; i < reply->n_calls; i++) {
        call(s, "call", reply->calls[i].name, reply->calls[i].arguments, reply->calls[i].id);
    }
    label(s, "stop");
    buf_addz(s->out, stop_name(reply->stop));
    if (reply->stop_raw.n > 0 && !str_is(reply->stop_raw, stop_name(reply->stop))) {
        buf_addz(s->out, " (");
        preview(s, reply->stop_raw, MESSAGE_CHARS);
        buf_char(s->out, ')');
    }
    buf_char(s->out, '\n');
    show_usage(s, &reply->usage);
}

static void show_failure(struct shower *s, const struct failure *f)
{
    label(s, "error");
    buf_fmt(s->out, "%s: ", fail_name(f->class));
    preview(s, f->message, LINE_CHARS);
    buf_char(s->out, '\n');
}

/* A body that is no model's: its type, its size, and its start where it is text. */
static void show_body(struct shower *s, const char *name, const struct http_header *headers,
                      size_t n, struct str body)
{
    struct str type = http_header_get(headers, n, "content-type");
    struct str coding = http_header_get(headers, n, "content-encoding");
    struct str sample = str_slice(body, 0, SAMPLE_BYTES);
    label(s, name);
    preview(s, type.n == 0 ? STR("no type") : type, MESSAGE_CHARS);
    buf_fmt(s->out, ", %zu bytes", body.n);
    if (coding.n > 0) {
        buf_addz(s->out, ", left coded (");
        preview(s, coding, MESSAGE_CHARS);
        buf_char(s->out, ')');
    } else if (body.n > 0 && utf8_invalid_at(body) == SIZE_MAX) {
        buf_addz(s->out, ": ");
        preview(s, sample, MESSAGE_CHARS);
    }
    buf_char(s->out, '\n');
}

/* ---- interactions ---- */

static void show_tool(struct shower *s, const struct interaction *it)
{
    call(s, it->decision ? "ask" : "call", cassette_tool_name(it), it->request_body, it->call_id);
    if (it->ended != HTTP_STOPPED) {
        lines(s, it->status == 200 ? "result" : "failure", it->body);
    }
}

/* Number, kind, request line, status, times, how it ended. */
static void show_title(struct shower *s, const struct reading *r)
{
    const struct interaction *it = r->it;
    struct buf uri = {0};
    cassette_redact_url(it->uri, &uri);
    buf_fmt(s->out, "%u  %s  ", it->n, cassette_kind_name(r->kind));
    preview(s, it->method, MESSAGE_CHARS);
    buf_char(s->out, ' ');
    preview(s, buf_str(&uri), LINE_CHARS);
    buf_free(&uri);
    if (it->status != 0) {
        buf_fmt(s->out, "  %d ", it->status);
        preview(s, it->reason, MESSAGE_CHARS);
    }
    if (r->streamed) {
        buf_addz(s->out, "  streamed");
    }
    if (it->at_ms >= 0) {
        buf_fmt(s->out, "  at %lld ms, took %lld ms", (long long)it->at_ms, (long long)it->took_ms);
    }
    if (it->ended != HTTP_CLEAN) {
        buf_fmt(s->out, "  ended: %s", http_end_name(it->ended));
        if (it->detail.n > 0) {
            buf_addz(s->out, ": ");
            preview(s, it->detail, MESSAGE_CHARS);
        }
    }
    buf_char(s->out, '\n');
}

static void show_reading(struct shower *s, const struct reading *r)
{
    const struct interaction *it = r->it;
    show_title(s, r);
    switch (r->kind) {
    case KIND_TOOL: show_tool(s, it); break;
    case KIND_HTTP:
        if (it->request_body.n > 0) {
            show_body(s, "request", it->request_headers, it->n_request_headers, it->request_body);
        }
        show_body(s, "response", it->headers, it->n_headers, it->body);
        break;
    case KIND_CHAT:
    case KIND_RESPONSES:
    case KIND_MESSAGES:
        show_request(s, r);
        if (r->result.ok) {
            show_reply(s, &r->result);
        } else {
            show_failure(s, &r->result.failure);
        }
        break;
    }
    buf_char(s->out, '\n');
}

/* Who wrote it and how much of it there is. */
static void show_head(struct shower *s, const struct cassette *c)
{
    buf_fmt(s->out, "%s: %zu interaction%s", c->path, c->n, c->n == 1 ? "" : "s");
    if (c->ours) {
        buf_addz(s->out, ", run ");
        preview(s, c->run, MESSAGE_CHARS);
        buf_addz(s->out, ", started ");
        preview(s, c->started_at, MESSAGE_CHARS);
    }
    buf_addz(s->out, "\n\n");
}

void cassette_show(const struct cassette *c, bool json, struct buf *out)
{
    struct shower s = {.out = out, .arena = arena_new()};
    if (!json) {
        show_head(&s, c);
    }
    for (size_t i = 0; i < c->n; i++) {
        struct reading r = cassette_reading_of(&c->items[i], s.arena);
        if (json) {
            cassette_show_json(out, &r, c->path);
        } else {
            show_reading(&s, &r);
        }
        cassette_reading_free(&r);
    }
    arena_free(s.arena);
}
