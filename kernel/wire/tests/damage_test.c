/* Streams that a bad network or a bad server makes: events left out, doubled, swapped, cut; bytes
 * that are no text; nesting without end; more than memory holds. */
#include <stdlib.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/wire/tests/rendering.h"

static const enum wire_format formats[] = {WIRE_CHAT, WIRE_RESPONSES, WIRE_MESSAGES};

static struct tool_call calls[] = {{{"c1", 2}, {"f", 1}, {"{\"x\":1}", 7}},
                                   {{"c2", 2}, {"g", 1}, {"{\"y\":2}", 7}}};

/* A served stream and where its events end. */
struct stream {
    enum wire_format format;
    struct buf body;
    struct buf ends;
    size_t n;
};

static void stream_make(struct stream *s, enum wire_format f)
{
    struct reply r = {.content = STR("So it is."),
                      .reasoning = STR("Hm."),
                      .calls = calls,
                      .n_calls = 2,
                      .stop = STOP_TOOL_USE,
                      .usage = {9, -1, -1, 5, -1}};
    struct wire_reply_options o = {
        .model = STR("m"), .id = STR("i"), .stream = true, .include_usage = true, .piece_bytes = 4};
    struct err e;
    *s = (struct stream){.format = f};
    CU_ASSERT_EQUAL_FATAL(wire_encode_reply(f, &r, &o, &s->body, &s->ends, &e), 0);
    s->n = s->ends.n / sizeof(size_t);
}

static void stream_free(struct stream *s)
{
    buf_free(&s->body);
    buf_free(&s->ends);
}

static size_t end_of(const struct stream *s, size_t i)
{
    size_t end = 0;
    memcpy(&end, s->ends.p + i * sizeof end, sizeof end);
    return end;
}

static struct str event_of(const struct stream *s, size_t i)
{
    return str_slice(buf_str(&s->body), i == 0 ? 0 : end_of(s, i - 1), end_of(s, i));
}

/* Decodes at once and byte by byte: both come to the same. Returns whether that is a reply. */
static bool decodes(enum wire_format f, struct str body)
{
    struct answer a = {f, 200, NULL, 0, body, HTTP_CLEAN, STR(""), false};
    struct buf whole = {0};
    struct buf bytes = {0};
    rendering_of(&a, SPLIT_WHOLE, &whole, NULL);
    rendering_of(&a, SPLIT_BYTES, &bytes, NULL);
    CU_ASSERT_TRUE(str_eq(buf_str(&whole), buf_str(&bytes)));
    bool ok = !str_starts(buf_str(&whole), "failure");
    buf_free(&whole);
    buf_free(&bytes);
    return ok;
}

/* The events in their order but for event `i`: left out, doubled, or behind the next one. */
static void damage(const struct stream *s, size_t i, int how, struct buf *out)
{
    for (size_t k = 0; k < s->n; k++) {
        size_t from = k;
        if (how == 2 && i + 1 < s->n) {
            from = k == i ? i + 1 : k == i + 1 ? i : k;
        }
        if (how != 0 || k != i) {
            buf_add(out, event_of(s, from));
        }
        if (how == 1 && k == i) {
            buf_add(out, event_of(s, k));
        }
    }
}

static void survives_damaged_streams(void)
{
    for (size_t f = 0; f < 3; f++) {
        struct stream s;
        stream_make(&s, formats[f]);
        CU_ASSERT_TRUE(decodes(s.format, buf_str(&s.body)));
        for (size_t i = 0; i < s.n; i++) {
            for (int how = 0; how < 3; how++) {
                struct buf body = {0};
                damage(&s, i, how, &body);
                (void)decodes(s.format, buf_str(&body));
                buf_free(&body);
            }
        }
        stream_free(&s);
    }
}

/* A stream that is cut before its reason to stop is no answer. */
static void refuses_cut_streams(void)
{
    static const char *const finish[] = {"finish_reason\":\"", "response.completed",
                                         "stop_reason\":\""};
    for (size_t f = 0; f < 3; f++) {
        struct stream s;
        stream_make(&s, formats[f]);
        size_t stop = str_find(buf_str(&s.body), str_of(finish[f]));
        CU_ASSERT_NOT_EQUAL_FATAL(stop, SIZE_MAX);
        for (size_t n = 0; n <= stop; n++) {
            CU_ASSERT_FALSE(decodes(s.format, str_slice(buf_str(&s.body), 0, n)));
        }
        stream_free(&s);
    }
}

/* Bodies that no format takes. */
static void refuses_what_is_no_text(void)
{
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {
        {"data: {\"a\":\"\xFF\"}\n\n", 17},
        {"{\"a\":\"\xC3\"}", 9},
        {"\0\0\0", 3},
        {"data: {\"a\":\0}\n\n", 16},
        {"data: \0\n\n", 9},
        {"data: nul\n\n", 11},
        {"data: {\"a\":1}}\n\n", 17},
        {"event: error\ndata: 7\n\n", 22},
    };
    for (size_t f = 0; f < 3; f++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            CU_ASSERT_FALSE(decodes(formats[f], (struct str){cases[i].bytes, cases[i].n}));
        }
    }
}

static void refuses_deep_nesting(void)
{
    static const char *const frames[][2] = {
        {"", ""},
        {"data: ", "\n\n"},
        {"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"x\","
         "\"a\":",
         "}}\n\n"}};
    for (size_t f = 0; f < 3; f++) {
        for (size_t i = 0; i < 3; i++) {
            struct buf body = {0};
            buf_addz(&body, frames[i][0]);
            for (int k = 0; k < 10000; k++) {
                buf_char(&body, '[');
            }
            for (int k = 0; k < 10000; k++) {
                buf_char(&body, ']');
            }
            buf_addz(&body, frames[i][1]);
            struct answer a = {formats[f],     200,        NULL,    0,
                               buf_str(&body), HTTP_CLEAN, STR(""), false};
            struct buf got = {0};
            rendering_of(&a, SPLIT_WHOLE, &got, NULL);
            CU_ASSERT_TRUE(str_starts(buf_str(&got), "failure protocol"));
            buf_free(&got);
            buf_free(&body);
        }
    }
}

/* A part that is nested deeper than a request may be is not kept; the reply is. */
static void leaves_deep_parts_out(void)
{
    for (int depth = 200; depth < 400; depth += 100) {
        struct buf body = {0};
        buf_addz(&body, "{\"content\":[{\"type\":\"x\",\"a\":");
        for (int k = 0; k < depth; k++) {
            buf_char(&body, '[');
        }
        for (int k = 0; k < depth; k++) {
            buf_char(&body, ']');
        }
        buf_addz(&body, "},{\"type\":\"text\",\"text\":\"So.\"}],\"stop_reason\":\"end_turn\"}");
        struct wire_decoder *d = wire_decoder_new(WIRE_MESSAGES, 200, NULL, 0);
        struct wire_result r;
        wire_decoder_feed(d, buf_str(&body));
        wire_decoder_end(d, HTTP_CLEAN, STR(""), &r);
        CU_ASSERT_TRUE(r.ok && str_is(r.reply.content, "So."));
        CU_ASSERT_EQUAL(r.reply.parts.p != NULL, depth == 200);
        wire_decoder_free(d);
        buf_free(&body);
    }
}

/* One gigabyte: what is kept ends at 64 MiB, whatever the format and whether events end. */
static void bounds_endless_streams(void)
{
    enum { PIECE_BYTES = 4 << 20 };
    static const char *const heads[] = {"data: \"", "data: {}\n\n", ": "};
    char *piece = mem_alloc(PIECE_BYTES);
    memset(piece, 'x', PIECE_BYTES);
    for (size_t f = 0; f < 3; f++) {
        struct wire_decoder *d = wire_decoder_new(formats[f], 200, NULL, 0);
        struct wire_result r;
        wire_decoder_feed(d, str_of(heads[f]));
        for (int i = 0; i < 256; i++) {
            wire_decoder_feed(d, (struct str){piece, PIECE_BYTES});
        }
        wire_decoder_end(d, HTTP_CLEAN, STR(""), &r);
        CU_ASSERT_FALSE(r.ok);
        CU_ASSERT_TRUE(str_is(r.failure.message, "the answer is larger than 64 MiB"));
        wire_decoder_free(d);
    }
    free(piece);
}

TESTS(damage, {"wire_survives_events_left_out_doubled_and_swapped", survives_damaged_streams},
      {"wire_takes_no_cut_stream_for_an_answer", refuses_cut_streams},
      {"wire_refuses_bytes_that_are_no_text", refuses_what_is_no_text},
      {"wire_refuses_nesting_without_end", refuses_deep_nesting},
      {"wire_leaves_out_parts_too_deep_to_send", leaves_deep_parts_out},
      {"wire_bounds_streams_of_a_gigabyte", bounds_endless_streams})
