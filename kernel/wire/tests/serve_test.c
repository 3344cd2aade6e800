/* What we serve in the formats of Messages and Responses: bodies and streams in the order of events
 * that the Anthropic and OpenAI API references show. */
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/wire/tests/rendering.h"

static struct tool_call call = {{"c1", 2}, {"f", 1}, {"{\"x\":1}", 7}};

static struct reply reply_with_call(void)
{
    return (struct reply){.content = STR("So."),
                          .reasoning = STR("Hm."),
                          .calls = &call,
                          .n_calls = 1,
                          .stop = STOP_TOOL_USE,
                          .usage = {100, 64, 10, 9, 3}};
}

static void check_body(enum wire_format f, const struct reply *r,
                       const struct wire_reply_options *o, const char *want)
{
    struct buf out = {0};
    struct buf ends = {0};
    struct err e;
    CU_ASSERT_EQUAL(wire_encode_reply(f, r, o, &out, &ends, &e), 0);
    size_t n = ends.n / sizeof(size_t);
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(&last, ends.p + i * sizeof last, sizeof last);
        CU_ASSERT_TRUE_FATAL(last <= out.n);
        CU_ASSERT_TRUE(!o->stream || str_ends((struct str){out.p, last}, "\n\n"));
    }
    CU_ASSERT_TRUE(n > 0 && last == out.n);
    buf_char(&out, '\0');
    CHECK_TEXT(out.p, want);
    buf_free(&out);
    buf_free(&ends);
}

static void check_pieces(enum wire_format f, const struct reply *r,
                         const struct wire_reply_options *o, const char *const *pieces, size_t n)
{
    struct buf want = {0};
    for (size_t i = 0; i < n; i++) {
        buf_addz(&want, pieces[i]);
    }
    buf_char(&want, '\0');
    check_body(f, r, o, want.p);
    buf_free(&want);
}

/* ---- Messages ---- */

static const struct wire_reply_options as_message = {.model = {"m", 1}, .id = {"msg_1", 5}};

static void serves_messages(void)
{
    struct reply r = reply_with_call();
    check_body(WIRE_MESSAGES, &r, &as_message,
               "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","
               "\"content\":[{\"type\":\"thinking\",\"thinking\":\"Hm.\"},"
               "{\"type\":\"text\",\"text\":\"So.\"},"
               "{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"f\",\"input\":{\"x\":1}}],"
               "\"stop_reason\":\"tool_use\",\"stop_sequence\":null,\"usage\":{\"input_tokens\":26,"
               "\"cache_creation_input_tokens\":10,\"cache_read_input_tokens\":64,"
               "\"output_tokens\":9}}");
    r = (struct reply){.content_null = true, .stop = STOP_MAX_TOKENS, .usage = USAGE_UNKNOWN};
    check_body(WIRE_MESSAGES, &r, &as_message,
               "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","
               "\"content\":[],\"stop_reason\":\"max_tokens\",\"stop_sequence\":null,"
               "\"usage\":{\"input_tokens\":0,\"output_tokens\":0}}");
}

#define EVENT(type)  "event: " type "\ndata: {\"type\":\"" type "\""
#define DELTA(index) EVENT("content_block_delta") ",\"index\":" index ",\"delta\":{\"type\":"
#define START(index) EVENT("content_block_start") ",\"index\":" index ",\"content_block\":"
#define STOP(index)  EVENT("content_block_stop") ",\"index\":" index "}\n\n"

static const char *const message_pieces[] = {
    EVENT("message_start"),
    ",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":"
    "\"m\",",
    "\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":"
    "26,",
    "\"cache_creation_input_tokens\":10,\"cache_read_input_tokens\":64,",
    "\"output_tokens\":1}}}\n\n",
    START("0"),
    "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
    EVENT("ping"),
    "}\n\n",
    DELTA("0"),
    "\"thinking_delta\",\"thinking\":\"Hm.\"}}\n\n",
    DELTA("0"),
    "\"signature_delta\",\"signature\":\"EqQ=\"}}\n\n",
    STOP("0"),
    START("1"),
    "{\"type\":\"redacted_thinking\",\"data\":\"x\"}}\n\n",
    STOP("1"),
    START("2"),
    "{\"type\":\"text\",\"text\":\"\"}}\n\n",
    DELTA("2"),
    "\"text_delta\",\"text\":\"So.\"}}\n\n",
    STOP("2"),
    START("3"),
    "{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"f\",\"input\":{}}}\n\n",
    DELTA("3"),
    "\"input_json_delta\",\"partial_json\":\"{\\\"x\\\"\"}}\n\n",
    DELTA("3"),
    "\"input_json_delta\",\"partial_json\":\":1}\"}}\n\n",
    STOP("3"),
    EVENT("message_delta"),
    ",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},",
    "\"usage\":{\"input_tokens\":26,\"cache_creation_input_tokens\":10,"
    "\"cache_read_input_tokens\":64,\"output_tokens\":9}}\n\n",
    EVENT("message_stop"),
    "}\n\n",
};

static void streams_messages(void)
{
    struct reply r = reply_with_call();
    struct wire_reply_options o = as_message;
    o.stream = true;
    o.piece_bytes = 4;
    r.reasoning = STR("");
    r.parts = STR("{\"anthropic\":[{\"type\":\"thinking\",\"thinking\":\"Hm.\",\"signature\":"
                  "\"EqQ=\"},{\"type\":\"redacted_thinking\",\"data\":\"x\"},3,null]}");
    check_pieces(WIRE_MESSAGES, &r, &o, message_pieces,
                 sizeof message_pieces / sizeof message_pieces[0]);
}

/* A reader of JSON takes the last of two members with one name. */
static void streams_the_last_of_two_members(void)
{
    struct reply r = {.stop = STOP_END_TURN, .usage = USAGE_UNKNOWN};
    struct wire_reply_options o = as_message;
    struct buf out = {0};
    o.stream = true;
    r.parts = STR("{\"anthropic\":[{\"type\":\"thinking\",\"thinking\":\"first\",\"thinking\":"
                  "\"last\",\"signature\":\"EqQ=\"}]}");
    CU_ASSERT_EQUAL(wire_encode_reply(WIRE_MESSAGES, &r, &o, &out, NULL, NULL), 0);
    CU_ASSERT(str_find(buf_str(&out), STR("\"thinking_delta\",\"thinking\":\"last\"")) != SIZE_MAX);
    CU_ASSERT(str_find(buf_str(&out), STR("\"thinking_delta\",\"thinking\":\"first\"")) ==
              SIZE_MAX);
    buf_free(&out);
}

/* ---- Responses ---- */

static const struct wire_reply_options as_response = {
    .model = {"m", 1}, .id = {"resp_1", 6}, .created_s = 7};

#define RESPONSE(status, incomplete)                                                               \
    "{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":7,\"status\":\"" status             \
    "\",\"error\":null,\"incomplete_details\":" incomplete                                         \
    ",\"instructions\":null,\"metadata\":{},\"model\":\"m\",\"output\":["
#define REST                                                                                       \
    "],\"parallel_tool_calls\":true,\"temperature\":1.0,\"tool_choice\":\"auto\",\"tools\":[],"    \
    "\"top_p\":1.0,\"usage\":"
#define USAGE                                                                                      \
    "{\"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":64,\"cache_write_tokens\":" \
    "10},\"output_tokens\":9,\"output_tokens_details\":{\"reasoning_tokens\":3},"                  \
    "\"total_tokens\":109}"
#define SUMMARY "{\"type\":\"summary_text\",\"text\":\"Hm.\"}"
#define ITEM0   "{\"id\":\"rs_resp_1_0\",\"type\":\"reasoning\",\"summary\":[" SUMMARY "]}"
#define TEXT_PART(text)                                                                            \
    "{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":\"" text "\"}"
#define ITEM1(status, content)                                                                     \
    "{\"id\":\"msg_resp_1_1\",\"type\":\"message\",\"status\":\"" status                           \
    "\",\"role\":\"assistant\",\"content\":[" content "]}"
#define ITEM2(status, arguments)                                                                   \
    "{\"id\":\"fc_resp_1_2\",\"type\":\"function_call\",\"status\":\"" status                      \
    "\",\"arguments\":\"" arguments "\",\"call_id\":\"c1\",\"name\":\"f\"}"
#define OUTPUT                                                                                     \
    ITEM0 "," ITEM1("completed", TEXT_PART("So.")) "," ITEM2("completed", "{\\\"x\\\":1}")

static void serves_responses(void)
{
    struct reply r = reply_with_call();
    check_body(WIRE_RESPONSES, &r, &as_response,
               RESPONSE("completed", "null") OUTPUT REST USAGE "}");
    r = (struct reply){.content = STR(""), .stop = STOP_MAX_TOKENS, .usage = USAGE_UNKNOWN};
    check_body(
        WIRE_RESPONSES, &r, &as_response,
        RESPONSE(
            "incomplete",
            "{\"reason\":\"max_output_tokens\"}") "{\"id\":\"msg_resp_1_0\",\"type\":\"message\","
                                                  "\"status\":\"completed\","
                                                  "\"role\":\"assistant\",\"content\":[" TEXT_PART(
                                                      "") "]}" REST "null}");
}

#define NUMBERED(type, n) EVENT(type) ",\"sequence_number\":" n
#define INNER(type, n, id, index)                                                                  \
    NUMBERED(type, n) ",\"item_id\":\"" id "\",\"output_index\":" index

static const char *const response_pieces[] = {
    NUMBERED("response.created", "0"),
    ",\"response\":",
    RESPONSE("in_progress", "null"),
    REST,
    "null}}\n\n",
    NUMBERED("response.in_progress", "1"),
    ",\"response\":",
    RESPONSE("in_progress", "null"),
    REST,
    "null}}\n\n",
    NUMBERED("response.output_item.added", "2"),
    ",\"output_index\":0,\"item\":{\"id\":\"rs_resp_1_0\",\"type\":\"reasoning\",",
    "\"summary\":[]}}\n\n",
    INNER("response.reasoning_summary_part.added", "3", "rs_resp_1_0", "0"),
    ",\"summary_index\":0,\"part\":{\"type\":\"summary_text\",\"text\":\"\"}}\n\n",
    INNER("response.reasoning_summary_text.delta", "4", "rs_resp_1_0", "0"),
    ",\"summary_index\":0,\"delta\":\"Hm.\"}\n\n",
    INNER("response.reasoning_summary_text.done", "5", "rs_resp_1_0", "0"),
    ",\"summary_index\":0,\"text\":\"Hm.\"}\n\n",
    INNER("response.reasoning_summary_part.done", "6", "rs_resp_1_0", "0"),
    ",\"summary_index\":0,\"part\":",
    SUMMARY,
    "}\n\n",
    NUMBERED("response.output_item.done", "7"),
    ",\"output_index\":0,\"item\":",
    ITEM0,
    "}\n\n",
    NUMBERED("response.output_item.added", "8"),
    ",\"output_index\":1,\"item\":",
    ITEM1("in_progress", ""),
    "}\n\n",
    INNER("response.content_part.added", "9", "msg_resp_1_1", "1"),
    ",\"content_index\":0,\"part\":",
    TEXT_PART(""),
    "}\n\n",
    INNER("response.output_text.delta", "10", "msg_resp_1_1", "1"),
    ",\"content_index\":0,\"delta\":\"So.\",\"logprobs\":[]}\n\n",
    INNER("response.output_text.done", "11", "msg_resp_1_1", "1"),
    ",\"content_index\":0,\"text\":\"So.\",\"logprobs\":[]}\n\n",
    INNER("response.content_part.done", "12", "msg_resp_1_1", "1"),
    ",\"content_index\":0,\"part\":",
    TEXT_PART("So."),
    "}\n\n",
    NUMBERED("response.output_item.done", "13"),
    ",\"output_index\":1,\"item\":",
    ITEM1("completed", TEXT_PART("So.")),
    "}\n\n",
    NUMBERED("response.output_item.added", "14"),
    ",\"output_index\":2,\"item\":",
    ITEM2("in_progress", ""),
    "}\n\n",
    INNER("response.function_call_arguments.delta", "15", "fc_resp_1_2", "2"),
    ",\"delta\":\"{\\\"x\\\"\"}\n\n",
    INNER("response.function_call_arguments.delta", "16", "fc_resp_1_2", "2"),
    ",\"delta\":\":1}\"}\n\n",
    INNER("response.function_call_arguments.done", "17", "fc_resp_1_2", "2"),
    ",\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}\n\n",
    NUMBERED("response.output_item.done", "18"),
    ",\"output_index\":2,\"item\":",
    ITEM2("completed", "{\\\"x\\\":1}"),
    "}\n\n",
    NUMBERED("response.completed", "19"),
    ",\"response\":",
    RESPONSE("completed", "null"),
    OUTPUT,
    REST,
    USAGE,
    "}}\n\n",
};

static void streams_responses(void)
{
    struct reply r = reply_with_call();
    struct wire_reply_options o = as_response;
    o.stream = true;
    o.piece_bytes = 4;
    check_pieces(WIRE_RESPONSES, &r, &o, response_pieces,
                 sizeof response_pieces / sizeof response_pieces[0]);
}

/* ---- errors ---- */

static void serves_error_bodies(void)
{
    static const char *const want[] = {
        "{\"error\":{\"message\":\"No\",\"type\":\"overloaded_error\",\"param\":null,\"code\":null}"
        "}",
        "{\"error\":{\"message\":\"No\",\"type\":\"overloaded_error\",\"param\":null,\"code\":null}"
        "}",
        "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"No\"},"
        "\"request_id\":null}"};
    for (size_t f = 0; f < 3; f++) {
        struct buf out = {0};
        wire_encode_error((enum wire_format)f, 529, STR("No"), &out);
        buf_char(&out, '\0');
        CHECK_TEXT(out.p, want[f]);
        buf_free(&out);
    }
}

/* An error after the answer has begun is read as one, with its message. */
static void serves_errors_in_streams(void)
{
    static const char *const want[] = {"failure server 200 No \"way\"\n",
                                       "failure server 200 No \"way\"\n",
                                       "failure server 200 No \"way\"\n"};
    for (size_t f = 0; f < 3; f++) {
        struct buf body = {0};
        struct buf got = {0};
        wire_encode_error_event((enum wire_format)f, 500, STR("No \"way\""), &body);
        struct answer a = {(enum wire_format)f, 200,        NULL,    0,
                           buf_str(&body),      HTTP_CLEAN, STR(""), false};
        rendering_of(&a, SPLIT_BYTES, &got, NULL);
        buf_char(&got, '\0');
        CHECK_TEXT(got.p, want[f]);
        buf_free(&got);
        buf_free(&body);
    }
}

TESTS(serve, {"messages_serves_messages_as_anthropic_does", serves_messages},
      {"messages_streams_events_as_anthropic_does", streams_messages},
      {"messages_streams_the_last_of_two_members", streams_the_last_of_two_members},
      {"responses_serves_responses_as_openai_does", serves_responses},
      {"responses_streams_events_as_openai_does", streams_responses},
      {"wire_serves_each_providers_error_body", serves_error_bodies},
      {"wire_reads_the_errors_it_puts_into_streams", serves_errors_in_streams})
