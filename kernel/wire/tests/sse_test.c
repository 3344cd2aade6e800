/* The event stream grammar (WHATWG HTML 9.2.5, 9.2.6); examples there and hand-worked ones. */
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/wire/wire_int.h"

struct grammar_case {
    const char *name;
    const char *stream;
    const char *events; /* "name|data;" each, a newline in data as "/" */
};

static const struct grammar_case cases[] = {
    {"one event", "data: a\n\n", "|a;"},
    {"a name", "event: x\ndata: a\n\n", "x|a;"},
    {"a name is for one event", "event: x\ndata: a\n\ndata: b\n\n", "x|a;|b;"},
    {"the last name counts", "event: x\nevent: y\ndata: a\n\n", "y|a;"},
    {"several lines", "data: YHOO\ndata: +2\ndata: 10\n\n", "|YHOO/+2/10;"},
    {"comments", ": test stream\n\n:\ndata: first event\nid: 1\n\n", "|first event;"},
    {"empty data", "data\n\ndata\ndata\n\ndata:", "|;|/;|;"},
    {"no space", "data:test\n\ndata: test\n\n", "|test;|test;"},
    {"only one space", "data:  a\n\n", "| a;"},
    {"colons in the value", "data: a: b:c\n\n", "|a: b:c;"},
    {"no data, no event", "event: x\n\ndata: a\n\n", "|a;"},
    {"unknown fields", "foo: 1\n data: no\ndatax: no\ndata: a\n\n", "|a;"},
    {"blank lines", "\n\n\ndata: a\n\n\n\ndata: b\n\n", "|a;|b;"},
    {"CR", "data: a\rdata: b\r\rdata: c\r\r", "|a/b;|c;"},
    {"CRLF", "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", "x|a;|b;"},
    {"mixed line ends", "data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\r", "|a/b/c;|d;"},
    {"BOM",
     "\xEF\xBB\xBF"
     "data: a\n\n",
     "|a;"},
    {"BOM only at the start",
     "data: a\n\n\xEF\xBB\xBF"
     "data: b\n\ndata: c\n\n",
     "|a;|c;"},
    {"no blank line at the end", "data: a\n\ndata: b\n", "|a;|b;"},
    {"no line end at the end", "data: a\n\ndata: b", "|a;|b;"},
    {"a name alone at the end", "data: a\n\nevent: x", "|a;"},
    {"nothing", "", ""},
};

static void add_event(struct buf *out, const struct sse_event *event)
{
    buf_add(out, event->name);
    buf_char(out, '|');
    for (size_t i = 0; i < event->data.n; i++) {
        buf_char(out, event->data.p[i] == '\n' ? '/' : event->data.p[i]);
    }
    buf_char(out, ';');
}

/* The events of a stream that comes in two pieces, the second cut into bytes. */
static void parse_at(struct str stream, size_t cut, struct buf *out)
{
    struct sse s = {0};
    struct sse_event event;
    size_t from = 0;
    while (from < stream.n) {
        struct str piece = str_slice(stream, from, from == 0 && cut > 0 ? cut : from + 1);
        from += piece.n;
        while (sse_next(&s, &piece, &event)) {
            add_event(out, &event);
        }
        CU_ASSERT_EQUAL(piece.n, 0);
    }
    if (sse_end(&s, &event)) {
        add_event(out, &event);
    }
    sse_free(&s);
}

static void follows_the_grammar(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct str stream = str_of(cases[i].stream);
        for (size_t cut = 0; cut <= stream.n; cut++) {
            struct buf got = {0};
            struct buf want = {0};
            buf_fmt(&want, "%s: %s", cases[i].name, cases[i].events);
            buf_fmt(&got, "%s: ", cases[i].name);
            parse_at(stream, cut, &got);
            buf_char(&got, '\0');
            buf_char(&want, '\0');
            CHECK_TEXT(got.p, want.p);
            buf_free(&got);
            buf_free(&want);
        }
    }
}

TESTS(sse, {"sse_follows_the_grammar_at_every_split", follows_the_grammar})
