#include "cassettes/tests/rig.h"
#include "kernel/base/json.h"
#include "kernel/base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void rewrites_the_example_byte_for_byte(void)
{
    const char *text = rig_example();
    if (text == NULL) {
        testing_skip("no examples");
        return;
    }
    struct cassette *c = rig_load(text);
    CU_ASSERT_FATAL(c != NULL);
    struct buf out = {0};
    cassette_add_head(&out, &(struct cassette_head){c->run, c->seed, c->started_at, {0, 0}, NULL});
    for (size_t i = 0; i < c->n; i++) {
        cassette_add_interaction(&out, &c->items[i]);
    }
    buf_char(&out, '\0');
    CHECK_TEXT(out.p, text);
    buf_free(&out);
    cassette_free(c);
}

/* A body and the lines it becomes. */
struct layout {
    struct str body;
    const char *yaml;
};

static const struct layout layouts[] = {
    {{"", 0}, "    body: {string: ''}\n"},
    {{"it's", 4}, "    body: {string: 'it''s'}\n"},
    {{"a\nb", 3}, "    body:\n      string: |-\n        a\n        b\n"},
    {{"a\n\nb\n", 5}, "    body:\n      string: |\n        a\n\n        b\n"},
    {{"a\n\n", 3}, "    body:\n      string: |+\n        a\n\n"},
    {{" a\n", 3}, "    body:\n      string: |2\n         a\n"},
    {{"\n\ta", 3}, "    body:\n      string: |2-\n\n        \ta\n"},
    {{"a\r\nb", 4}, "    body: {string: \"a\\r\\nb\"}\n"},
    {{"\n", 1}, "    body: {string: \"\\n\"}\n"},
    {{"x\xc2\x85y\xe2\x80\xa8z\0\x7f", 10}, "    body: {string: \"x\\x85y\\u2028z\\x00\\x7F\"}\n"},
    {{"\xff\xfe", 2}, "    body:\n      string: !!binary |\n        //4=\n"},
    {{"\xf0\x9f\x98\x80", 4}, "    body: {string: '\xf0\x9f\x98\x80'}\n"},
};

static struct interaction plain(struct str body)
{
    return (struct interaction){.method = STR("GET"),
                                .uri = STR("http://h/x"),
                                .status = 200,
                                .reason = STR("OK"),
                                .body = body};
}

static void chooses_a_form_that_keeps_every_byte(void)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        struct buf out = {0};
        struct interaction it = plain(layouts[i].body);
        cassette_add_interaction(&out, &it);
        CHECK_HOLDS(buf_str(&out), layouts[i].yaml);
        buf_free(&out);
    }
}

/* ---- a property: what is written is read as the same bytes ---- */

static const struct str fragments[] = {
    {"---", 3},
    {"...", 3},
    {": ", 2},
    {" #", 2},
    {"\n", 1},
    {"\r", 1},
    {"\r\n", 2},
    {"\t", 1},
    {" ", 1},
    {"  \n", 3},
    {"\n\n", 2},
    {"'", 1},
    {"\"", 1},
    {"\\", 1},
    {"{", 1},
    {"}", 1},
    {"[", 1},
    {"- request:", 10},
    {"|", 1},
    {">", 1},
    {"%", 1},
    {"&a *a", 5},
    {"!!str", 5},
    {"\xc2\x85", 2},
    {"\xc2\xa0", 2},
    {"\xe2\x80\xa8", 3},
    {"\xe2\x80\xa9", 3},
    {"\xef\xbb\xbf", 3},
    {"\xef\xbf\xbe", 3},
    {"\0", 1},
    {"\x07", 1},
    {"\x1b[1m", 4},
    {"\x7f", 1},
    {"\xc2\x9f", 2},
    {"\xff", 1},
    {"\xed\xa0\x80", 3},
    {"\xf0\x9f\x98\x80", 4},
    {"\xe4\xb8\xad", 3},
    {"data: {}", 8},
    {"a", 1},
    {"0", 1},
    {"yes", 3},
    {"~", 1},
    {"@", 1},
    {"`", 1},
};

static struct str random_body(struct rng *r, struct buf *out)
{
    buf_clear(out);
    uint64_t n = rng_below(r, 7);
    /* Most stay with a few kinds, so that blocks and quoted forms come as well as binary ones. */
    uint64_t kinds = rng_below(r, 3) == 0 ? sizeof fragments / sizeof fragments[0] : 23;
    for (uint64_t i = 0; i < n; i++) {
        buf_add(out, fragments[rng_below(r, kinds)]);
    }
    return buf_str(out);
}

enum { RANDOM_ITEMS = 600 };

/* Whether it would be stored as pretty JSON: equal, not the same bytes. */
static bool is_json(struct str s)
{
    struct arena *arena = arena_new();
    struct val *v = NULL;
    bool json = json_parse(arena, NULL, s, &v, NULL) == 0 &&
                (v->kind == VAL_OBJECT || v->kind == VAL_ARRAY);
    arena_free(arena);
    return json;
}

/* A cassette of random bodies into out; bodies, one after another with their lengths, into want:
 * "hex hex\n" of request and response. */
static void write_random(uint64_t seed, struct buf *out, struct buf *want)
{
    struct rng r = rng_seeded(seed);
    struct buf request = {0};
    struct buf response = {0};
    cassette_add_head(out, &(struct cassette_head){.run = STR("00e1"),
                                                   .seed = 7,
                                                   .started_at = STR("2026-11-29T18:00:00.000Z")});
    for (unsigned i = 0; i < RANDOM_ITEMS; i++) {
        struct interaction it = plain(random_body(&r, &response));
        it.request_body = random_body(&r, &request);
        it.tool = i % 3 == 0;
        it.request_body = is_json(it.request_body) ? STR("{") : it.request_body;
        it.method = it.tool ? STR("CALL") : STR("POST");
        it.uri = it.tool ? STR("tool:a b") : STR("http://h/x#y: z");
        it.call_id = STR("1");
        it.detail = it.body;
        cassette_add_interaction(out, &it);
        for (size_t k = 0; k < it.request_body.n; k++) {
            buf_fmt(want, "%02x", (unsigned char)it.request_body.p[k]);
        }
        buf_char(want, ' ');
        for (size_t k = 0; k < it.body.n; k++) {
            buf_fmt(want, "%02x", (unsigned char)it.body.p[k]);
        }
        buf_char(want, '\n');
    }
    buf_free(&request);
    buf_free(&response);
}

static void hex(struct buf *out, struct str s, char after)
{
    for (size_t k = 0; k < s.n; k++) {
        buf_fmt(out, "%02x", (unsigned char)s.p[k]);
    }
    buf_char(out, after);
}

static void our_loader_reads_the_same_bytes(void)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct buf out = {0};
        struct buf want = {0};
        struct buf got = {0};
        write_random(seed, &out, &want);
        buf_char(&out, '\0');
        buf_char(&want, '\0');
        struct cassette *c = rig_load(out.p);
        CU_ASSERT_FATAL(c != NULL);
        CU_ASSERT(str_is(c->run, "00e1"));
        for (size_t i = 0; i < c->n; i++) {
            hex(&got, c->items[i].request_body, ' ');
            hex(&got, c->items[i].body, '\n');
            CU_ASSERT(str_eq(c->items[i].detail, c->items[i].body));
            CU_ASSERT(c->items[i].tool == (i % 3 == 0));
        }
        buf_char(&got, '\0');
        CHECK_TEXT(got.p, want.p);
        cassette_free(c);
        buf_free(&out);
        buf_free(&want);
        buf_free(&got);
    }
}

static bool write_file(const char *path, struct str s)
{
    FILE *f = fopen(path, "wb");
    return f != NULL && fwrite(s.p, 1, s.n, f) == s.n && fclose(f) == 0;
}

static void pyyaml_reads_the_same_bytes(void)
{
    if (system("python3 -c 'import yaml' 2>/dev/null") != 0) {
        testing_skip("no python3 with yaml");
        return;
    }
    struct buf out = {0};
    struct buf want = {0};
    char path[512], expected[512], command[2048];
    const char *dir = testing_dir();
    write_random(99, &out, &want);
    snprintf(path, sizeof path, "%s/random.yaml", dir);
    snprintf(expected, sizeof expected, "%s/expected.txt", dir);
    CU_ASSERT(write_file(path, buf_str(&out)) && write_file(expected, buf_str(&want)));
    snprintf(command, sizeof command, "python3 '%s/cassettes/tests/pyyaml_reads.py' '%s' '%s'",
             SOURCE_DIR, path, expected);
    CU_ASSERT_EQUAL(system(command), 0);
    buf_free(&out);
    buf_free(&want);
}

static void request_json_stays_equal_and_readable(void)
{
    struct buf out = {0};
    struct interaction it = plain(STR("{}"));
    it.method = STR("POST");
    it.request_body = STR("{\"n\":1.50e3,\"s\":\"\xe2\x80\xa8\xc2\x85\x7f\xef\xbb\xbf\\u0000\","
                          "\"l\":[1,{\"a\":[]}]}");
    cassette_add_interaction(&out, &it);
    CHECK_HOLDS(buf_str(&out), "    body: |\n      {\n        \"n\": 1.50e3,\n        \"s\": "
                               "\"\\u2028\\u0085\\u007f\\ufeff\\u0000\",\n");
    struct buf file = {0};
    cassette_add_head(
        &file, &(struct cassette_head){
                   .run = STR("a"), .seed = 1, .started_at = STR("2026-11-29T18:00:00.000Z")});
    buf_add(&file, buf_str(&out));
    buf_char(&file, '\0');
    struct cassette *c = rig_load(file.p);
    CU_ASSERT_FATAL(c != NULL);
    CHECK_HOLDS(val_text(val_get(c->items[0].request_json, "s")),
                "\xe2\x80\xa8\xc2\x85\x7f\xef\xbb\xbf");
    cassette_free(c);
    buf_free(&file);
    buf_free(&out);
}

/* ---- credentials ---- */

static const char *const secrets[] = {
    "sk-proj-abcdefghijklmnop0123456789",
    "sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "xoxb-123456789012-abcdefghijkl",
    "-----BEGIN RSA PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA\\n-----END RSA PRIVATE KEY-----",
};

static void no_known_key_shape_is_written(void)
{
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        char body[512];
        struct buf out = {0};
        snprintf(body, sizeof body, "{\"a\":\"x\\n%s\",\"b\":\"Bearer %s\",\"c\":\"kept\"}",
                 secrets[i], i == 7 ? "abcdefgh12345678" : secrets[i]);
        struct interaction it = plain(str_of(body));
        it.method = STR("POST");
        it.request_body = str_of(body);
        it.detail = str_of(secrets[i]);
        cassette_add_interaction(&out, &it);
        CU_ASSERT_EQUAL(str_find(buf_str(&out), str_of(secrets[i])), SIZE_MAX);
        rig_without_ids(&out);
        CHECK_HOLDS(buf_str(&out),
                    "{\"a\":\"x\\nREDACTED\",\"b\":\"Bearer REDACTED\",\"c\":\"kept\"}");
        CHECK_HOLDS(buf_str(&out), "        \"a\": \"x\\nREDACTED\",\n");
        buf_free(&out);
    }
}

static void plain_words_are_left_alone(void)
{
    static const char *const words[] = {"task-0123456789abcdefghijklmnop",
                                        "ask-me",
                                        "sk-learn",
                                        "the Bearer of bad news",
                                        "disk-usage-report-2024-12-01-final",
                                        "hf_hub_download_and_load_dataset",
                                        "AKIA",
                                        "-----BEGIN CERTIFICATE-----"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct buf out = {0};
        CU_ASSERT_FALSE(cassette_redact_text(str_of(words[i]), &out));
        CU_ASSERT(str_is(buf_str(&out), words[i]));
        buf_free(&out);
    }
}

/* An answer's body and what is written of it. The key is sk- and 24 letters and digits. */
#define KEY "sk-abcdefghijklmnop12345678"
static const char *const bodies[][2] = {
    /* Chat Completions: content, two calls in turns, a second choice. */
    {"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"is sk-abc\"}}]}\n\n"
     "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"-\"}}]}\n\n"
     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"defghijklmnop\"}}]}\n\n"
     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"1234567890. Bye\"}}]}\n\n"
     "data: [DONE]\n\n",
     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"is REDACTED\"}}]}\n\n"
     "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"-\"}}]}\n\n"
     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"}}]}\n\n"
     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\". Bye\"}}]}\n\n"
     "data: [DONE]\n\n"},
    {"data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
     "\"{\\\"a\\\":\\\"sk\\\\u002dab\"}},{\"index\":1,\"function\":{\"arguments\":\"{}\"}}]}}]}"
     "\r\n\r\n"
     "data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":"
     "\"cdefghijklmnop12345678\\\"}\"},\"index\":0}]}}]}\r\n\r\n",
     "data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
     "\"{\\\"a\\\":\\\"REDACTED\"}},{\"index\":1,\"function\":{\"arguments\":\"{}\"}}]}}]}\r\n\r\n"
     "data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":"
     "\"\\\"}\"},\"index\":0}]}}]}\r\n\r\n"},
    /* Responses: deltas of two kinds, then the whole; Messages: blocks by index. */
    {"event: x\ndata: "
     "{\"type\":\"response.output_text.delta\",\"output_index\":1,\"delta\":\"sk-abcdefghi\"}\n\n"
     "data: {\"type\":\"response.reasoning_text.delta\",\"output_index\":1,\"delta\":\" \"}\n\n"
     "data: "
     "{\"type\":\"response.output_text.delta\",\"output_index\":1,\"delta\":\"jklmnop12345678\"}"
     "\n\n"
     "data: {\"type\":\"response.output_text.done\",\"output_index\":1,\"text\":\"" KEY "\"}\n\n",
     "event: x\ndata: "
     "{\"type\":\"response.output_text.delta\",\"output_index\":1,\"delta\":\"REDACTED\"}\n\n"
     "data: {\"type\":\"response.reasoning_text.delta\",\"output_index\":1,\"delta\":\" \"}\n\n"
     "data: {\"type\":\"response.output_text.delta\",\"output_index\":1,\"delta\":\"\"}\n\n"
     "data: {\"type\":\"response.output_text.done\",\"output_index\":1,\"text\":\"REDACTED\"}\n\n"},
    {"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"thinking\":\"AKIA\"}}\n\n"
     "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"thinking\":\"X\"}}\n\n"
     "data: "
     "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"thinking\":\"IOSFODNN7EXAMPLE\"}}"
     "\n\n",
     "data: "
     "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"thinking\":\"REDACTED\"}}\n\n"
     "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"thinking\":\"X\"}}\n\n"
     "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"thinking\":\"\"}}\n\n"},
    /* JSON lines, two keys in a text, an event cut off, a comment. */
    {"{\"message\":{\"content\":\"" KEY
     ", sk-abcdef\"}}\n{\"message\":{\"content\":\"ghijklmnop12345678\"}}\n",
     "{\"message\":{\"content\":\"REDACTED, REDACTED\"}}\n{\"message\":{\"content\":\"\"}}\n"},
    {": " KEY "\n\ndata: {\"a\":\"sk-abcdefg\"}\n\ndata: {\"a\":\"hijklmnop12345678\"}\n\ndata: "
     "{\"a\":\"sk-abcdefghij\"",
     ": REDACTED\n\ndata: {\"a\":\"REDACTED\"}\n\ndata: {\"a\":\"\"}\n\ndata: "
     "{\"a\":\"sk-abcdefghij\""},
    /* What all events repeat is a name; what comes together is judged together. */
    {"data: {\"model\":\"sk-model-1\",\"d\":\"ta\"}\n\ndata: "
     "{\"model\":\"sk-model-1\",\"d\":\"sk-12345678901234\"}\n\n",
     "data: {\"model\":\"sk-model-1\",\"d\":\"ta\"}\n\ndata: "
     "{\"model\":\"sk-model-1\",\"d\":\"sk-12345678901234\"}\n\n"},
    /* A private key that is cut off takes no event along. */
    {": -----BEGIN PRIVATE KEY-----\nMII\ndata: {\"a\":\"b\"}\n",
     ": REDACTED\ndata: {\"a\":\"b\"}\n"},
    /* No stream: escapes, JSON in a string of JSON, a name, separate texts. */
    {"{\"a\":\"sk\\u002dabcdefghijklmnop1234\\u0035678!\",\"b\":[\"sk-abcdef\","
     "\"ghijklmnop12345678\"]}",
     "{\"a\":\"REDACTED!\",\"b\":[\"sk-abcdef\",\"ghijklmnop12345678\"]}"},
    {"{\"a\":\"{\\\"b\\\":\\\"\\\\u0073k-abcdefghijklmnop12345678\\\"}\",\"" KEY "\":\"\"}",
     "{\"a\":\"{\\\"b\\\":\\\"REDACTED\\\"}\",\"REDACTED\":\"\"}"},
    {"{\"a\":\"-----BEGIN PRIVATE KEY-----\\n\\u004dIIE\\n-----END PRIVATE KEY-----\\n\"}",
     "{\"a\":\"REDACTED\\n\"}"},
};

static void no_key_is_written_however_a_body_says_it(void)
{
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct interaction it = plain(str_of(bodies[i][0]));
        struct buf out = {0};
        struct buf parts = {0};
        cassette_redact_answer(&it, (struct str){NULL, 0}, &out, &parts);
        CHECK_TEXT(rig_without_ids(&out), bodies[i][1]);
        buf_free(&parts);
        buf_free(&out);
    }
}

/* The same key is hidden in each place that a session says it in, so that a replay matches. */
static void a_text_is_judged_alike_in_every_place(void)
{
    static const struct {
        const char *said; /* what a model or a tool said */
        const char *kept;
    } texts[] = {
        {"{\"k\":\"sk\\u002dabcdefghijklmnop12345678\"}", "{\"k\":\"REDACTED\"}"},
        {"task-abcdefghijklmnop12345678", "task-abcdefghijklmnop12345678"},
        {"a\n" KEY "\tb", "a\nREDACTED\tb"},
        {"Bearer abcdefghijkl0123/456", "Bearer REDACTED"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct buf request = {0};
        struct buf want = {0};
        struct buf got = {0};
        struct buf tool = {0};
        buf_char(&request, '{');
        json_put_text(&request, "content", str_of(texts[i].said));
        buf_char(&request, '}');
        cassette_redact_text(str_of(texts[i].said), &tool);
        buf_char(&want, '{');
        json_put_text(&want, "content", buf_str(&tool));
        buf_char(&want, '}');
        cassette_redact_json(buf_str(&request), &got);
        CU_ASSERT(str_eq(buf_str(&got), buf_str(&want)));
        CHECK_TEXT(rig_without_ids(&tool), texts[i].kept);
        buf_free(&request);
        buf_free(&want);
        buf_free(&got);
        buf_free(&tool);
    }
}

/* A URL and what is kept of it. */
static const char *const urls[][2] = {
    {"https://u:p@h.example/v1/x?a=1&key=abc#f",
     "https://REDACTED@h.example/v1/x?a=1&key=REDACTED#f"},
    {"http://h/?API_KEY=k&token=t&sig=s&signature=z",
     "http://h/?API_KEY=REDACTED&token=REDACTED&sig=REDACTED&signature=REDACTED"},
    {"http://h/p?monkey=1&key=", "http://h/p?monkey=1&key="},
    {"http://h/p@q?x=sk-abcdefghijkl0123456789", "http://h/p@q?x=REDACTED"},
    {"tool:key?", "tool:key?"},
};

static void secrets_leave_urls(void)
{
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct buf out = {0};
        bool changed = cassette_redact_url(str_of(urls[i][0]), &out);
        CHECK_TEXT(rig_without_ids(&out), urls[i][1]);
        CU_ASSERT(changed == (strcmp(urls[i][0], urls[i][1]) != 0));
        buf_free(&out);
    }
}

static void chunks_follow_a_redaction(void)
{
    struct cassette_chunk chunks[] = {{1, 5}, {2, 10}, {3, 12}, {4, 3}};
    struct interaction it = plain(STR("data\nsk-0123456789abcdefghi\nz\n"));
    struct buf out = {0};
    it.chunks = chunks;
    it.n_chunks = 4;
    CU_ASSERT_EQUAL_FATAL(it.body.n, 30);
    cassette_add_interaction(&out, &it);
    /* "data\n" + "REDACTED" + "" + "\nz\n": the third began and ended inside the key. */
    CHECK_HOLDS(buf_str(&out), "chunks: [[1, 5], [2, 17], [3, 0], [4, 3]]");
    buf_free(&out);
}

static void only_harmless_headers_are_written(void)
{
    struct http_header request[] = {{STR("Authorization"), STR("Bearer x")},
                                    {STR("content-type"), STR("application/json")},
                                    {STR("Cookie"), STR("a=b")},
                                    {STR("x-api-key"), STR("k")},
                                    {STR("Accept"), STR("*/*")}};
    struct http_header response[] = {{STR("Set-Cookie"), STR("s=1")},
                                     {STR("Retry-After"), STR("3")},
                                     {STR("Date"), STR("Sun, 29 Nov 2026 18:00:00 GMT")},
                                     {STR("X-RateLimit-Remaining-Tokens"), STR("99")},
                                     {STR("openai-organization"), STR("org")}};
    struct interaction it = plain(STR("x"));
    struct buf out = {0};
    it.request_headers = request;
    it.n_request_headers = 5;
    it.headers = response;
    it.n_headers = 5;
    cassette_add_interaction(&out, &it);
    CHECK_HOLDS(buf_str(&out), "headers: {content-type: [application/json], Accept: ['*/*']}\n");
    CHECK_HOLDS(buf_str(&out), "headers: {Retry-After: ['3'], Date: ['Sun, 29 Nov 2026 18:00:00 "
                               "GMT'], X-RateLimit-Remaining-Tokens: ['99']}\n");
    buf_free(&out);
}

TESTS(write, {"write_gives_the_example_byte_for_byte", rewrites_the_example_byte_for_byte},
      {"write_chooses_a_form_that_keeps_every_byte", chooses_a_form_that_keeps_every_byte},
      {"write_is_read_as_the_same_bytes_by_us", our_loader_reads_the_same_bytes},
      {"write_is_read_as_the_same_bytes_by_pyyaml", pyyaml_reads_the_same_bytes},
      {"write_keeps_request_json_equal_and_readable", request_json_stays_equal_and_readable},
      {"write_hides_every_known_key_shape", no_known_key_shape_is_written},
      {"write_hides_a_key_however_a_body_says_it", no_key_is_written_however_a_body_says_it},
      {"write_judges_a_text_alike_in_every_place", a_text_is_judged_alike_in_every_place},
      {"write_leaves_plain_words_alone", plain_words_are_left_alone},
      {"write_takes_secrets_out_of_urls", secrets_leave_urls},
      {"write_moves_chunks_with_a_redaction", chunks_follow_a_redaction},
      {"write_keeps_only_harmless_headers", only_harmless_headers_are_written})
