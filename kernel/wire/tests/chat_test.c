/* What we send: requests and replies of Chat Completions, byte for byte. Expected bytes are those
 * of the shared example and of the OpenAI API reference. */
#include <string.h>

#include "cassettes/cassette.h"
#include "ci/testing/testing.h"
#include "kernel/base/json.h"
#include "kernel/base/rng.h"
#include "kernel/wire/tests/rendering.h"

static void check_text(struct buf *got, const char *want)
{
    buf_char(got, '\0');
    CHECK_TEXT(got->p, want);
    buf_free(got);
}

/* ---- requests ---- */

static struct tool_call example_call = {
    {"c1", 2}, {"calculator", 10}, {"{\"expression\":\"42.4-38.2\"}", 26}};

static const struct message example_messages[] = {
    {.role = ROLE_USER,
     .content = {"ACME's gross margin fell from 42.4% to 38.2%. By how many percentage points?",
                 76}},
    {.role = ROLE_ASSISTANT, .content_null = true, .calls = &example_call, .n_calls = 1},
    {.role = ROLE_TOOL,
     .call_id = {"c1", 2},
     .content = {"{\"ok\":true,\"expression\":\"42.4-38.2\",\"value\":4.2}", 48}},
};

/* The first and the last request of the shared example, built from their parts. */
static void encodes_the_example(void)
{
    const char *path = testing_corpus("../examples/margin.cassette.yaml");
    struct cassette *c = NULL;
    struct err e;
    if (path == NULL) {
        testing_skip("no examples");
        return;
    }
    CU_ASSERT_EQUAL_FATAL(cassette_load(path, &c, NULL, &e), 0);
    CU_ASSERT_EQUAL_FATAL(c->n, 3);
    struct tool_spec tool = {
        .name = STR("calculator"),
        .description = STR("Evaluate an arithmetic expression exactly."),
        .parameters =
            STR("{\"type\":\"object\",\"properties\":{\"expression\":{\"type\":\"string\"}"
                "},\"required\":[\"expression\"],\"additionalProperties\":false}")};
    for (size_t i = 0; i < c->n; i += 2) {
        struct llm_request rq = {.model = STR("fake-1"),
                                 .messages = example_messages,
                                 .n_messages = i + 1,
                                 .tools = &tool,
                                 .n_tools = 1,
                                 .max_tokens = -1};
        struct buf got = {0};
        struct buf want = {0};
        CU_ASSERT_EQUAL(wire_encode_request(WIRE_CHAT, &rq, &got, &e), 0);
        json_add(&want, c->items[i].request_json);
        buf_char(&want, '\0');
        check_text(&got, want.p);
        buf_free(&want);
    }
    cassette_free(c);
}

static void sends_what_is_set(void)
{
    struct message messages[] = {
        {.role = ROLE_SYSTEM, .content = STR("Be brief.")},
        {.role = ROLE_ASSISTANT, .content = STR(""), .reasoning = STR("So\n")},
    };
    struct llm_request rq = {.model = STR("m\"1"),
                             .messages = messages,
                             .n_messages = 2,
                             .stream = true,
                             .temperature = STR("0"),
                             .max_tokens = 64};
    struct err e;
    struct buf got = {0};
    CU_ASSERT_EQUAL(wire_encode_request(WIRE_CHAT, &rq, &got, &e), 0);
    check_text(&got, "{\"model\":\"m\\\"1\",\"messages\":["
                     "{\"role\":\"system\",\"content\":\"Be brief.\"},"
                     "{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"So\\n\"}],"
                     "\"stream\":true,\"stream_options\":{\"include_usage\":true},"
                     "\"temperature\":0,\"max_completion_tokens\":64}");
}

/* Providers refuse a history with other names, and with arguments that are no object. */
static void sends_back_what_is_accepted(void)
{
#define TEN "0123456789"
    static const struct {
        const char *name, *arguments, *name_sent, *arguments_sent;
    } cases[] = {
        {"get_order-1", "{\"id\": 1}", "get_order-1", "{\"id\": 1}"},
        {"shop.offered", "{}", "shop.offered", "{}"},
        {"shop.get order", "{\"id\": \"1", "shop_get_order", "{}"},
        {"", "", "unnamed", "{}"},
        {"\xe6\x9f\xa5", "null", "___", "{}"},
        {"a\nb\"", "[1]", "a_b_", "{}"},
        {(TEN TEN TEN TEN TEN TEN "abcd"), " {} ", (TEN TEN TEN TEN TEN TEN "abcd"), " {} "},
        {(TEN TEN TEN TEN TEN TEN "abcde"), "{} {}", (TEN TEN TEN TEN TEN TEN "abcd"), "{}"},
        {"f", "not json", "f", "{}"},
        {"f", "\"{}\"", "f", "{}"},
    };
#undef TEN
    struct tool_spec tool = {.name = STR("shop.offered")};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e;
        struct buf got = {0}, want = {0};
        struct tool_call call = {STR("a"), str_of(cases[i].name), str_of(cases[i].arguments)};
        struct message m = {
            .role = ROLE_ASSISTANT, .content_null = true, .calls = &call, .n_calls = 1};
        struct llm_request rq = {.model = STR("m"),
                                 .messages = &m,
                                 .n_messages = 1,
                                 .tools = &tool,
                                 .n_tools = 1,
                                 .max_tokens = -1};
        CU_ASSERT_EQUAL(wire_encode_request(WIRE_CHAT, &rq, &got, &e), 0);
        buf_addz(&want, "{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"content\":null,"
                        "\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":"
                        "{\"name\":");
        json_add_string(&want, str_of(cases[i].name_sent));
        buf_addz(&want, ",\"arguments\":");
        json_add_string(&want, str_of(cases[i].arguments_sent));
        buf_addz(&want, "}}]}],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":"
                        "\"shop.offered\"}}]}");
        buf_char(&want, '\0');
        check_text(&got, want.p);
        buf_free(&want);
    }
}

/* ---- replies ---- */

static struct reply reply_with_call(void)
{
    return (struct reply){.content_null = true,
                          .calls = &example_call,
                          .n_calls = 1,
                          .stop = STOP_TOOL_USE,
                          .usage = {100, -1, -1, 10, -1}};
}

static const struct wire_reply_options plain = {
    .model = {"fake-1", 6}, .id = {"chatcmpl-1", 10}, .created_s = 1796061600};

static void serves_the_example(void)
{
    struct reply r = reply_with_call();
    struct err e;
    struct buf out = {0};
    CU_ASSERT_EQUAL(wire_encode_reply(WIRE_CHAT, &r, &plain, &out, NULL, &e), 0);
    check_text(&out, "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1796061600,"
                     "\"model\":\"fake-1\",\"choices\":[{\"index\":0,\"message\":{\"role\":"
                     "\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":"
                     "\"function\",\"function\":{\"name\":\"calculator\",\"arguments\":"
                     "\"{\\\"expression\\\":\\\"42.4-38.2\\\"}\"}}]},\"finish_reason\":"
                     "\"tool_calls\"}],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10,"
                     "\"total_tokens\":110}}");
    r = (struct reply){.content = STR("It fell by 4.2 percentage points."),
                       .stop = STOP_END_TURN,
                       .usage = USAGE_UNKNOWN};
    CU_ASSERT_EQUAL(wire_encode_reply(WIRE_CHAT, &r, &plain, &out, NULL, &e), 0);
    check_text(&out, "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1796061600,"
                     "\"model\":\"fake-1\",\"choices\":[{\"index\":0,\"message\":{\"role\":"
                     "\"assistant\",\"content\":\"It fell by 4.2 percentage points.\"},"
                     "\"finish_reason\":\"stop\"}]}");
}

#define CHUNK                                                                                      \
    "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1796061600,"    \
    "\"model\":\"fake-1\",\"choices\":["

static void streams_as_openai_does(void)
{
    struct reply r = reply_with_call();
    struct wire_reply_options o = plain;
    struct err e;
    struct buf out = {0};
    struct buf ends = {0};
    r.usage.cached = 64;
    r.usage.reasoning = 0;
    o.stream = true;
    o.include_usage = true;
    o.piece_bytes = 20;
    CU_ASSERT_EQUAL(wire_encode_reply(WIRE_CHAT, &r, &o, &out, &ends, &e), 0);
    CU_ASSERT_EQUAL(ends.n, 7 * sizeof(size_t));
    for (size_t i = 0; i < ends.n / sizeof(size_t); i++) {
        size_t end = 0;
        memcpy(&end, ends.p + i * sizeof end, sizeof end);
        CU_ASSERT_TRUE_FATAL(end <= out.n);
        CU_ASSERT_TRUE(str_ends((struct str){out.p, end}, "\n\n"));
    }
    check_text(
        &out, CHUNK
        "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null},\"finish_reason\":"
        "null}],\"usage\":null}\n\n" CHUNK
        "{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":"
        "\"function\",\"function\":{\"name\":\"calculator\",\"arguments\":\"\"}}]},"
        "\"finish_reason\":null}],\"usage\":null}\n\n" CHUNK
        "{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
        "\"{\\\"expression\\\":\\\"42.4-\"}}]},\"finish_reason\":null}],\"usage\":null}\n\n" CHUNK
        "{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
        "\"38.2\\\"}\"}}]},\"finish_reason\":null}],\"usage\":null}\n\n" CHUNK
        "{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}],\"usage\":null}\n\n" CHUNK
        "],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10,\"total_tokens\":110,"
        "\"prompt_tokens_details\":{\"cached_tokens\":64},\"completion_tokens_details\":"
        "{\"reasoning_tokens\":0}}}\n\n"
        "data: [DONE]\n\n");
    buf_free(&ends);
}

/* A reply that is encoded, at every size of piece, and decoded is the same reply. */
static void check_round_trip(const struct reply *r, const char *want)
{
    for (size_t piece = 0; piece < 9; piece++) {
        struct wire_reply_options o = plain;
        struct err e;
        struct buf body = {0};
        struct buf got = {0};
        o.stream = piece > 0;
        o.include_usage = true;
        o.piece_bytes = piece;
        CU_ASSERT_EQUAL(wire_encode_reply(WIRE_CHAT, r, &o, &body, NULL, &e), 0);
        struct answer a = {WIRE_CHAT, 200, NULL, 0, buf_str(&body), HTTP_CLEAN, STR(""), false};
        rendering_of(&a, SPLIT_RANDOM, &got, NULL);
        struct str text = buf_str(&got);
        struct str line = {NULL, 0};
        if (o.stream) {
            CU_ASSERT_TRUE(rendering_line(&text, &line) && str_is(line, "streamed"));
        }
        struct buf rest = {0};
        buf_add(&rest, text);
        check_text(&rest, want);
        buf_free(&got);
        buf_free(&body);
    }
}

static void decodes_what_it_encodes(void)
{
    struct tool_call calls[] = {
        {STR("a"), STR("f"), STR("{\"city\":\"K\xC3\xB6ln \xF0\x9F\x99\x82\"}")},
        {STR("b"), STR("f"), STR("")}};
    struct reply r = {.content = STR("Gr\xC3\xBC\xC3\x9F\x65 \xE2\x82\xAC\n"),
                      .reasoning = STR("So, \"so\"."),
                      .calls = calls,
                      .n_calls = 2,
                      .stop = STOP_TOOL_USE,
                      .usage = {7, 2, -1, 5, 1}};
    check_round_trip(&r, "text \"Gr\xC3\xBC\xC3\x9F\x65 \xE2\x82\xAC\\n\"\n"
                         "reasoning \"So, \\\"so\\\".\"\n"
                         "call a f {\"city\":\"K\xC3\xB6ln \xF0\x9F\x99\x82\"}\n"
                         "call b f \n"
                         "stop tool_use tool_calls\n"
                         "usage input=7 cached=2 output=5 reasoning=1\n");
    r = (struct reply){.content = STR("No."), .stop = STOP_REFUSAL, .usage = {-1, -1, -1, 3, -1}};
    check_round_trip(&r, "text \"No.\"\nstop refusal stop\nusage output=3\n");
    r = (struct reply){.content_null = true, .stop = STOP_CONTENT_FILTER, .usage = USAGE_UNKNOWN};
    check_round_trip(&r, "text null\nstop content_filter content_filter\nusage\n");
    r = (struct reply){.content = STR("It"), .stop = STOP_MAX_TOKENS, .usage = {0, -1, -1, 0, -1}};
    check_round_trip(&r, "text \"It\"\nstop max_tokens length\nusage input=0 output=0\n");
}

/* Each provider's error body for a status is read as that status's class, with its message. */
static void serves_errors(void)
{
    static const struct {
        int status;
        const char *want;
    } cases[] = {{400, "failure bad_request 400 No \"way\"\n"},
                 {401, "failure auth 401 No \"way\"\n"},
                 {404, "failure bad_request 404 No \"way\"\n"},
                 {429, "failure rate_limit 429 No \"way\"\n"},
                 {500, "failure server 500 No \"way\"\n"},
                 {529, "failure overloaded 529 No \"way\"\n"}};
    static const enum wire_format formats[] = {WIRE_CHAT, WIRE_RESPONSES, WIRE_MESSAGES};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t f = 0; f < 3; f++) {
            struct buf body = {0};
            struct buf got = {0};
            wire_encode_error(formats[f], cases[i].status, STR("No \"way\""), &body);
            struct answer a = {formats[f],     cases[i].status, NULL,    0,
                               buf_str(&body), HTTP_CLEAN,      STR(""), false};
            rendering_of(&a, SPLIT_WHOLE, &got, NULL);
            check_text(&got, cases[i].want);
            buf_free(&body);
        }
    }
}

/* 2^53 is the largest count that is believed, so that sums of counts stay in their type. */
static void counts_have_a_bound(void)
{
    struct reply r = {.content = STR("x"),
                      .stop = STOP_END_TURN,
                      .usage = {INT64_C(1) << 53, -1, -1, (INT64_C(1) << 53) + 1, -1}};
    check_round_trip(&r, "text \"x\"\nstop end_turn stop\nusage input=9007199254740992\n");
    r.usage = (struct usage){INT64_MAX, -1, -1, 1, -1};
    check_round_trip(&r, "text \"x\"\nstop end_turn stop\nusage output=1\n");
}

TESTS(chat, {"chat_encodes_the_requests_of_the_example", encodes_the_example},
      {"chat_sends_only_what_is_set_in_a_fixed_order", sends_what_is_set},
      {"chat_sends_made_up_names_and_broken_arguments_in_a_form_that_is_taken",
       sends_back_what_is_accepted},
      {"chat_serves_the_replies_of_the_example", serves_the_example},
      {"chat_streams_chunks_as_openai_does", streams_as_openai_does},
      {"chat_decodes_what_it_encodes", decodes_what_it_encodes},
      {"chat_counts_have_a_bound", counts_have_a_bound},
      {"wire_reads_the_errors_it_serves", serves_errors})
