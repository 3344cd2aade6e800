/* Answers of real servers and their quirks: quirks.txt and recordings of the corpus. */
#include <stdio.h>
#include <string.h>

#include "cassettes/cassette.h"
#include "ci/testing/testing.h"
#include "kernel/wire/tests/rendering.h"

enum { HEADERS_MAX = 4 };

/* One case of quirks.txt. */
struct quirk {
    struct str name;
    struct answer answer;
    struct http_header headers[HEADERS_MAX];
    struct str expect;
};

static enum wire_format format_named(struct str name)
{
    if (str_is(name, "responses")) {
        return WIRE_RESPONSES;
    }
    return str_is(name, "messages") ? WIRE_MESSAGES : WIRE_CHAT;
}

static int number_in(struct str s)
{
    int n = 0;
    for (size_t i = 0; i < s.n; i++) {
        CU_ASSERT_FATAL(s.p[i] >= '0' && s.p[i] <= '9');
        n = n * 10 + (s.p[i] - '0');
    }
    return n;
}

static void read_setting(struct quirk *q, struct str line, bool *cut)
{
    size_t space = str_find(line, STR(" "));
    struct str key = str_slice(line, 0, space);
    struct str value = str_slice(line, space == SIZE_MAX ? line.n : space + 1, line.n);
    if (str_is(key, "format")) {
        q->answer.format = format_named(value);
    } else if (str_is(key, "status")) {
        q->answer.status = number_in(value);
    } else if (str_is(key, "cut")) {
        *cut = true;
    } else if (str_is(key, "end")) {
        CU_ASSERT_TRUE_FATAL(http_end_of_name(value, &q->answer.end));
    } else {
        size_t colon = str_find(value, STR(": "));
        CU_ASSERT_TRUE_FATAL(str_is(key, "header") && q->answer.n_headers < HEADERS_MAX);
        q->headers[q->answer.n_headers++] =
            (struct http_header){str_slice(value, 0, colon), str_slice(value, colon + 2, value.n)};
    }
}

/* Lines up to one that starts with `stop`, which is taken too; all of the rest without one. */
static struct str read_until(struct str *text, const char *stop)
{
    struct str start = *text;
    struct str line;
    while (text->n > 0) {
        size_t at = start.n - text->n;
        struct str before = *text;
        (void)rendering_line(text, &line);
        if (str_starts(line, stop)) {
            if (str_is(line, stop)) {
                return str_slice(start, 0, at);
            }
            *text = before; /* the next case's title */
            return str_slice(start, 0, at);
        }
    }
    return start;
}

/* The next case; false at the end. Views point into the file's text. */
static bool read_quirk(struct str *text, struct quirk *q)
{
    struct str line;
    bool cut = false;
    *q = (struct quirk){.answer = {.status = 200, .end = HTTP_CLEAN, .detail = STR("")}};
    do {
        if (!rendering_line(text, &line)) {
            return false;
        }
    } while (!str_starts(line, "== "));
    q->name = str_slice(line, 3, line.n);
    while (rendering_line(text, &line) && !str_is(line, "--- body")) {
        read_setting(q, line, &cut);
    }
    q->answer.body = read_until(text, "--- expect");
    q->answer.body.n -= cut && q->answer.body.n > 0;
    q->expect = read_until(text, "== ");
    while (str_ends(q->expect, "\n\n")) {
        q->expect.n--;
    }
    q->answer.headers = q->headers;
    return true;
}

/* Compares what an answer comes to at every split with what it should. */
static void check_answer(const struct answer *a, struct str name, struct str expect)
{
    for (enum split split = SPLIT_WHOLE; split <= SPLIT_RANDOM; split++) {
        struct buf got = {0};
        struct buf want = {0};
        buf_fmt(&got, "%.*s\n", STR_FMT(name));
        buf_fmt(&want, "%.*s\n", STR_FMT(name));
        rendering_of(a, split, &got, NULL);
        buf_add(&want, expect);
        buf_char(&got, '\0');
        buf_char(&want, '\0');
        CHECK_TEXT(got.p, want.p);
        buf_free(&got);
        buf_free(&want);
    }
}

static void decodes_quirks(void)
{
    struct buf file = {0};
    struct quirk q;
    size_t n = 0;
    rendering_file("kernel/wire/tests/quirks.txt", &file);
    struct str text = buf_str(&file);
    while (read_quirk(&text, &q)) {
        check_answer(&q.answer, q.name, q.expect);
        n++;
    }
    CU_ASSERT_TRUE(n >= 60);
    buf_free(&file);
}

/* Deltas, put together, are the text of the reply. */
static void hands_out_all_text(void)
{
    static const char body[] =
        "data: "
        "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"It \"}}]}\n\n"
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"f\xC3\xA9ll.\"}}]}\n\n"
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
        "data: [DONE]\n\n";
    struct answer a = {WIRE_CHAT, 200, NULL, 0, STR(body), HTTP_CLEAN, STR(""), false};
    for (enum split split = SPLIT_WHOLE; split <= SPLIT_RANDOM; split++) {
        struct buf out = {0};
        struct buf deltas = {0};
        rendering_of(&a, split, &out, &deltas);
        buf_char(&deltas, '\0');
        CHECK_TEXT(deltas.p, "It f\xC3\xA9ll.");
        buf_free(&out);
        buf_free(&deltas);
    }
}

/* A failure says whether a part of the reply had been shown. */
static void tells_what_was_shown(void)
{
    static const char body[] = "data: {\"choices\":[{\"delta\":{\"content\":\"It \"}}]}\n\n";
    for (int asks = 0; asks < 2; asks++) {
        struct wire_decoder *d = wire_decoder_new(WIRE_CHAT, 200, NULL, 0);
        struct wire_result r;
        wire_decoder_feed(d, STR(body));
        if (asks) {
            CU_ASSERT_TRUE(str_is(wire_decoder_delta(d), "It "));
            CU_ASSERT_EQUAL(wire_decoder_delta(d).n, 0);
        }
        wire_decoder_end(d, HTTP_RESET, STR("the wire was cut"), &r);
        CU_ASSERT_FALSE(r.ok);
        CU_ASSERT_EQUAL(r.failure.class, FAIL_CONNECT);
        CU_ASSERT_EQUAL(r.failure.shown, asks == 1);
        CU_ASSERT_TRUE(str_is(r.failure.message, "the wire was cut"));
        wire_decoder_free(d);
    }
}

/* A body beyond 64 MiB is a failure, and its memory is not kept. */
static void bounds_the_body(void)
{
    enum { PIECE_BYTES = 1 << 20 };
    static char piece[PIECE_BYTES];
    struct wire_decoder *d = wire_decoder_new(WIRE_CHAT, 200, NULL, 0);
    struct wire_result r;
    memset(piece, ' ', sizeof piece);
    for (int i = 0; i < 80; i++) {
        wire_decoder_feed(d, (struct str){piece, sizeof piece});
    }
    wire_decoder_end(d, HTTP_CLEAN, STR(""), &r);
    CU_ASSERT_FALSE(r.ok);
    CU_ASSERT_EQUAL(r.failure.class, FAIL_PROTOCOL);
    CU_ASSERT_TRUE(str_is(r.failure.message, "the answer is larger than 64 MiB"));
    wire_decoder_free(d);
}

/* More blocks than any model makes are a failure. */
static void bounds_the_calls(void)
{
    struct wire_decoder *d = wire_decoder_new(WIRE_CHAT, 200, NULL, 0);
    struct wire_result r;
    for (int i = 0; i < 3000; i++) {
        char event[128];
        int n =
            snprintf(event, sizeof event,
                     "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":%d}]}}]}\n\n", i);
        wire_decoder_feed(d, (struct str){event, (size_t)n});
    }
    wire_decoder_end(d, HTTP_CLEAN, STR(""), &r);
    CU_ASSERT_FALSE(r.ok);
    CU_ASSERT_EQUAL(r.failure.class, FAIL_PROTOCOL);
    wire_decoder_free(d);
}

/* ---- corpus ---- */

static struct cassette *load(const char *path)
{
    struct cassette *c = NULL;
    struct err e;
    int rc = cassette_load(path, &c, NULL, &e);
    if (rc != 0) {
        printf("\n%s: %s\n", path, e.message);
    }
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    return c;
}

/* "FILE N": one recording. */
static void check_recording(struct str title, struct str expect)
{
    size_t space = str_find(title, STR(" "));
    char relative[512];
    (void)snprintf(relative, sizeof relative, "cassettes/%.*s", (int)space, title.p);
    const char *path = testing_corpus(relative);
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    struct cassette *c = load(path);
    int n = number_in(str_slice(title, space + 1, title.n));
    CU_ASSERT_TRUE_FATAL(n >= 1 && (size_t)n <= c->n);
    const struct interaction *it = &c->items[n - 1];
    struct answer a = {.brief = true,
                       .status = it->status,
                       .headers = it->headers,
                       .n_headers = it->n_headers,
                       .body = it->body,
                       .end = HTTP_CLEAN,
                       .detail = STR("")};
    CU_ASSERT_TRUE_FATAL(wire_of_url(it->uri, &a.format));
    check_answer(&a, title, expect);
    cassette_free(c);
}

static void decodes_the_corpus(void)
{
    if (testing_corpus("cassettes") == NULL) {
        testing_skip("no corpus");
        return;
    }
    struct buf file = {0};
    struct str line;
    size_t n = 0;
    rendering_file("kernel/wire/tests/corpus_expected.txt", &file);
    struct str text = buf_str(&file);
    while (rendering_line(&text, &line)) {
        if (str_starts(line, "== ")) {
            check_recording(str_slice(line, 3, line.n), read_until(&text, "== "));
            n++;
        }
    }
    CU_ASSERT_TRUE(n >= 100);
    buf_free(&file);
}

TESTS(decode, {"wire_decodes_answers_with_quirks_at_any_split", decodes_quirks},
      {"wire_decodes_recordings_of_the_corpus_at_any_split", decodes_the_corpus},
      {"wire_deltas_are_the_text", hands_out_all_text},
      {"wire_failure_tells_whether_text_was_shown", tells_what_was_shown},
      {"wire_bounds_the_body", bounds_the_body}, {"wire_bounds_the_calls", bounds_the_calls})
