/* Recordings of other programs in the variants that are found in the wild: each comes over with the
 * same requests and answers, and what does not is told. The files are written after vcrpy's own
 * fixtures (tests/fixtures/migration, tests/integration/cassettes) and the HAR 1.2 specification.
 */
#include "cassettes/tests/rig.h"
#include "kernel/drive/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cassette *import(const char *text, struct buf *left_out, struct err *e)
{
    static char path[600];
    struct cassette *c = NULL;
    snprintf(path, sizeof path, "%s/in", testing_dir());
    CU_ASSERT_EQUAL(file_replace(path, str_of(text), e), 0);
    return cassette_import(path, &c, left_out, e) == 0 ? c : NULL;
}

/* "POST http://h/x [Name: value] request > 200 OK [Name: value] answer\n" for each. */
static void sum_up(const struct cassette *c, struct buf *out)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct interaction *it = &c->items[i];
        const struct http_header *lists[] = {it->request_headers, it->headers};
        const size_t counts[] = {it->n_request_headers, it->n_headers};
        for (size_t side = 0; side < 2; side++) {
            if (side == 0) {
                buf_fmt(out, "%.*s %.*s", STR_FMT(it->method), STR_FMT(it->uri));
            } else {
                buf_fmt(out, " > %d %.*s", it->status, STR_FMT(it->reason));
            }
            for (size_t k = 0; k < counts[side]; k++) {
                buf_fmt(out, " [%.*s: %.*s]", STR_FMT(lists[side][k].name),
                        STR_FMT(lists[side][k].value));
            }
            buf_char(out, ' ');
            buf_add(out, side == 0 ? it->request_body : it->body);
        }
        buf_char(out, '\n');
    }
    buf_char(out, '\0');
}

#define PLAIN "POST http://h/x [A: 1] ask > 200 OK [B: 2] answer\n"

static const struct {
    const char *text;
    const char *sum;
} variants[] = {
    /* version 1, in block and in flow style, without the version, as JSON */
    {"interactions:\n- request:\n    body: ask\n    headers:\n      A:\n      - '1'\n    method: "
     "POST\n    uri: http://h/x\n  response:\n    body:\n      string: answer\n    headers:\n      "
     "B:\n      - '2'\n    status:\n      code: 200\n      message: OK\nversion: 1\n",
     PLAIN},
    {"interactions:\n- request: {body: ask, headers: {A: '1'}, method: POST, uri: 'http://h/x'}\n"
     "  response:\n    body: {string: !!python/unicode \"answer\"}\n    headers: {B: ['2']}\n"
     "    status: {code: 200, message: OK}\n",
     PLAIN},
    {"{\"version\": 1, \"interactions\": [{\"request\": {\"method\": \"POST\", \"uri\": "
     "\"http://h/x\", \"body\": \"ask\", \"headers\": {\"A\": [\"1\"]}}, \"response\": "
     "{\"status\": "
     "{\"code\": 200, \"message\": \"OK\"}, \"headers\": {\"B\": [\"2\"]}, \"body\": {\"string\": "
     "\"answer\"}}}]}",
     PLAIN},
    /* bodies: bytes, base64 under its own key, a file object, none, a map */
    {"interactions:\n- request:\n    body: !!binary YXNr\n    headers: {A: !!binary MQ==}\n"
     "    method: POST\n    uri: http://h/x\n  response:\n    body: {string: !!binary "
     "YW5zd2Vy}\n    headers: {B: [2]}\n    status: {code: 200, message: OK}\n",
     PLAIN},
    {"interactions:\n- request:\n    body: !!python/object/new:_io.BytesIO\n      state: "
     "!!python/tuple\n      - !!binary YXNr\n      - 3\n      - null\n    headers: {A: '1'}\n"
     "    method: POST\n    uri: http://h/x\n  response:\n    body: {base64_string: YW5zd2Vy}\n"
     "    headers: {B: '2'}\n    status: {code: 200, message: OK}\n",
     PLAIN},
    {"interactions:\n- request: {body: null, headers: {}, method: GET, uri: 'http://h/x'}\n"
     "  response: {body: {string: ''}, headers: {x: [no, null]}, status: {code: 204, message: "
     "null}}\n",
     "GET http://h/x  > 204  [x: false] [x: ] \n"},
    {"interactions:\n- request:\n    body: !!python/object/apply:builtins.iter\n      args: "
     "[[!!binary YQ==, sk]]\n    headers: {A: '1'}\n"
     "    method: POST\n    uri: http://h/x\n  response:\n    body: {string: answer}\n"
     "    headers: {B: '2'}\n    status: {code: 200, message: OK}\n",
     PLAIN},
    /* httpx's old stub */
    {"interactions:\n- request: {body: 'ask', headers: {A: ['1']}, method: POST, uri: "
     "'http://h/x'}\n  response:\n    content: answer\n    headers: {B: ['2']}\n    http_version: "
     "HTTP/1.1\n    status_code: 200\nversion: 1\n",
     "POST http://h/x [A: 1] ask > 200  [B: 2] answer\n"},
    /* the form before version 1, YAML and JSON */
    {"# a comment\n- request: !!python/object:vcr.request.Request\n    body: null\n    headers: "
     "!!python/object/apply:__builtin__.frozenset\n    - - !!python/tuple [accept-encoding, "
     "'gzip']\n"
     "      - !!python/tuple [accept, '*/*']\n    host: httpbin.org\n    method: GET\n    path: "
     "/ip\n    port: 80\n    protocol: http\n  response:\n    body: {string: !!python/unicode "
     "\"{\\n}\"}\n    headers: [!!python/unicode \"server: gunicorn\\r\\n\", \"content-length:\n"
     "        3\\r\\n\"]\n    status: {code: 200, message: OK}\n",
     "GET http://httpbin.org/ip [accept-encoding: gzip] [accept: */*]  > 200 OK [server: gunicorn]"
     " [content-length: 3] {\n}\n"},
    {"[{\"request\": {\"body\": null, \"protocol\": \"https\", \"method\": \"GET\", \"headers\": "
     "{\"accept\": \"*/*\"}, \"host\": \"h\", \"path\": \"/ip\", \"port\": 8443}, \"response\": "
     "{\"status\": {\"message\": \"OK\", \"code\": 200}, \"headers\": [\"b: c: d\\r\\n\"], "
     "\"body\": {\"string\": \"x\"}}}]",
     "GET https://h:8443/ip [accept: */*]  > 200 OK [b: c: d] x\n"},
    /* betamax and Ruby's VCR */
    {"{\"http_interactions\": [{\"request\": {\"method\": \"get\", \"uri\": \"http://h/x\", "
     "\"body\": {\"encoding\": \"utf-8\", \"string\": \"\"}, \"headers\": {\"A\": [\"1\"]}}, "
     "\"response\": {\"status\": {\"code\": 200, \"message\": \"OK\"}, \"headers\": {}, \"body\": "
     "{\"encoding\": \"UTF-8\", \"base64_string\": \"eA==\"}}, \"recorded_at\": "
     "\"2026-01-01T00:00:00\"}], \"recorded_with\": \"betamax/0.9\"}",
     "GET http://h/x [A: 1]  > 200 OK x\n"},
    /* gzip: "x" */
    {"interactions:\n- request: {body: '', headers: {}, method: GET, uri: 'http://h/x'}\n"
     "  response:\n    body: {string: !!binary H4sIAAAAAAAAA6sAAIMW3IwBAAAA}\n    headers: "
     "{Content-Encoding: [gzip], Content-Length: ['21'], B: ['2']}\n    status: {code: 200, "
     "message: OK}\n",
     "GET http://h/x  > 200 OK [B: 2] x\n"},
};

static void each_variant_of_vcrpy(void)
{
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        struct buf left_out = {0};
        struct buf sum = {0};
        struct buf file = {0};
        struct err e = {.message = ""};
        struct cassette *c = import(variants[i].text, &left_out, &e);
        CHECK_TEXT(e.message, "");
        CU_ASSERT_PTR_NOT_NULL_FATAL(c);
        sum_up(c, &sum);
        CHECK_TEXT(sum.p, variants[i].sum);
        CU_ASSERT_EQUAL(left_out.n, 0);
        CU_ASSERT(c->ours && c->run.n == 12 && c->seed > 0);
        cassette_write(c, &file);
        buf_char(&file, '\0');
        struct cassette *again = rig_load(file.p);
        CU_ASSERT(again != NULL && again->ours && !again->torn && again->n == c->n);
        CU_ASSERT(str_eq(again->items[0].body, c->items[0].body));
        cassette_free(again);
        cassette_free(c);
        buf_free(&left_out);
        buf_free(&sum);
        buf_free(&file);
    }
}

/* ---- HAR ---- */

#define ENTRY(started, time, request, response, more)                                              \
    "{\"startedDateTime\":\"" started "\",\"time\":" time ",\"request\":{\"httpVersion\":"         \
    "\"HTTP/1.1\",\"cookies\":[],\"headersSize\":-1," request "},\"response\":{\"cookies\":[],"    \
    "\"redirectURL\":\"\"," response "},\"cache\":{}" more "}"
#define HAR(entries)                                                                               \
    "{\"log\":{\"version\":\"1.2\",\"creator\":{\"name\":\"t\",\"version\":\"1\"},\"pages\":[],"   \
    "\"entries\":[" entries "]}}"
#define GET         "\"method\":\"GET\",\"url\":\"https://h/x\",\"headers\":[]"
#define OK(content) "\"status\":200,\"statusText\":\"OK\",\"headers\":[],\"content\":{" content "}"

static const char archive[] = "\xef\xbb\xbf" HAR(
    ENTRY("2026-11-29T18:00:00.250Z", "812.5",
          "\"method\":\"POST\",\"url\":\"https://h/v1/chat/completions\",\"headers\":[{\"name\":"
          "\":method\",\"value\":\"POST\"},{\"name\":\"Content-Type\",\"value\":\"application/"
          "json\"}],\"postData\":{\"mimeType\":\"application/json\",\"text\":\"{\\\"model\\\":\\\"m"
          "\\\"}\"}",
          "\"status\":200,\"statusText\":\"OK\",\"headers\":[{\"name\":\"Content-Encoding\","
          "\"value\":\"br\"},{\"name\":\"B\",\"value\":\"2\"}],\"content\":{\"size\":14,"
          "\"mimeType\":\"text/event-stream\",\"text\":\"data: [DONE]\\n\\n\"}",
          ",\"timings\":{\"blocked\":1.2,\"dns\":-1,\"connect\":-1,\"send\":0.4,\"wait\":300.4,"
          "\"receive\":510}")) /* mitmproxy's times and base64 */;

static void an_archive_keeps_its_times(void)
{
    struct buf left_out = {0};
    struct buf sum = {0};
    struct err e;
    struct cassette *c = import(archive, &left_out, &e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    sum_up(c, &sum);
    CHECK_TEXT(sum.p, "POST https://h/v1/chat/completions [Content-Type: application/json] "
                      "{\"model\":\"m\"} > 200 OK [B: 2] data: [DONE]\n\n\n");
    CU_ASSERT(str_is(c->started_at, "2026-11-29T18:00:00.250Z"));
    CU_ASSERT_EQUAL(c->items[0].at_ms, 0);
    CU_ASSERT_EQUAL(c->items[0].took_ms, 813);
    CU_ASSERT_EQUAL_FATAL(c->items[0].n_chunks, 1);
    CU_ASSERT_EQUAL(c->items[0].chunks[0].at_ms, 301);
    CU_ASSERT_EQUAL(c->items[0].chunks[0].bytes, 14);
    CU_ASSERT_PTR_NOT_NULL(val_get(c->items[0].request_json, "model"));
    cassette_free(c);
    buf_free(&left_out);
    buf_free(&sum);
}

static void an_archive_of_a_proxy(void)
{
    struct buf left_out = {0};
    struct err e;
    struct cassette *c = import(
        HAR(ENTRY("2026-11-29T20:00:01.123456+02:00", "5", GET,
                  OK("\"size\":3,\"mimeType\":\"image/png\",\"encoding\":\"base64\","
                     "\"text\":\"AP8B\""),
                  "") "," ENTRY("2026-11-29T18:00:00.123Z", "-1", GET, OK("\"size\":0"), "")),
        &left_out, &e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT(str_is(c->started_at, "2026-11-29T18:00:00.123Z"));
    CU_ASSERT_EQUAL(c->items[0].at_ms, 1000);
    CU_ASSERT_EQUAL(c->items[1].at_ms, 0);
    CU_ASSERT_EQUAL(c->items[1].took_ms, 0);
    CU_ASSERT(c->items[0].body.n == 3 && memcmp(c->items[0].body.p, "\0\xff\x01", 3) == 0);
    cassette_free(c);
    buf_free(&left_out);
}

/* An entry, and why it is left out. */
static const char *const unfit[][2] = {
    {"3", "missing"},
    {"{\"request\":{" GET "}}", "response"},
    {"{\"request\":{\"method\":\"GET\",\"url\":\"wss://h\"},\"response\":{" OK("") "}}",
     "its address is not HTTP: wss://h"},
    {"{\"request\":{\"method\":\"GET\",\"url\":\"data:text/plain,x\"},\"response\":{" OK("") "}}",
     "its address is not HTTP"},
    {"{\"request\":{" GET "},\"response\":{\"status\":0}}", "no answer came"},
    {"{\"request\":{" GET "},\"response\":{\"status\":101}}", "web socket"},
    {"{\"request\":{" GET "},\"response\":{" OK("\"size\":9") "}}", "body of 9 bytes"},
    {"{\"request\":{" GET "},\"response\":{" OK("\"encoding\":\"rot13\",\"text\":\"a\"") "}}",
     "expected base64, got \"rot13\""},
    {"{\"request\":{" GET "},\"response\":{" OK("\"encoding\":\"base64\",\"text\":\"%\"") "}}",
     "no base64"},
    {"{\"request\":{" GET
     ",\"postData\":{\"params\":[{\"name\":\"a\"}]}},\"response\":{" OK("") "}}",
     "form fields only"},
    {"{\"request\":{\"method\":\"GET\",\"url\":\"http://h\",\"headers\":[{\"value\":\"x\"}]},"
     "\"response\":{" OK("") "}}",
     "name"},
    {"{\"request\":{" GET "},\"response\":{\"status\":1000}}", "status"},
};

static void what_is_left_out_is_told(void)
{
    for (size_t i = 0; i < sizeof unfit / sizeof unfit[0]; i++) {
        char text[2000];
        struct buf left_out = {0};
        struct err e;
        snprintf(text, sizeof text,
                 "{\"log\":{\"entries\":[\n%s,\n{\"request\":{" GET
                 "},\"response\":{" OK("\"text\":\"x\"") "}}]}}",
                 unfit[i][0]);
        struct cassette *c = import(text, &left_out, &e);
        CU_ASSERT_PTR_NOT_NULL_FATAL(c);
        CU_ASSERT_EQUAL(c->n, 1);
        CHECK_HOLDS(buf_str(&left_out), ":2:");
        CHECK_HOLDS(buf_str(&left_out), ": entry 1 is left out: ");
        CHECK_HOLDS(buf_str(&left_out), unfit[i][1]);
        cassette_free(c);
        buf_free(&left_out);
    }
}

static void loading_an_archive_says_how_to_import_it(void)
{
    struct cassette *c = NULL;
    struct err e;
    CU_ASSERT_EQUAL(cassette_parse("t.har", STR(archive), &c, NULL, &e), ERR_INPUT);
    CHECK_HOLDS(str_of(e.message), "assay cassette import t.har -o OUT.yaml");
}

TESTS(import, {"import_takes_each_variant_of_vcrpy", each_variant_of_vcrpy},
      {"import_keeps_an_archives_times", an_archive_keeps_its_times},
      {"import_takes_a_proxys_archive", an_archive_of_a_proxy},
      {"import_tells_what_it_leaves_out", what_is_left_out_is_told},
      {"load_says_how_to_import_an_archive", loading_an_archive_says_how_to_import_it})
