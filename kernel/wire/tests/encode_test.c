/* What we send to Messages and Responses, byte for byte. Expected bytes follow the examples of the
 * Anthropic and OpenAI API references. */
#include "ci/testing/testing.h"
#include "kernel/wire/wire.h"

static void check_request(enum wire_format f, const struct llm_request *rq, const char *want)
{
    struct buf got = {0};
    struct err e;
    CU_ASSERT_EQUAL(wire_encode_request(f, rq, &got, &e), 0);
    buf_char(&got, '\0');
    CHECK_TEXT(got.p, want);
    buf_free(&got);
}

static struct tool_call calls[] = {
    {{"toolu_1", 7}, {"f", 1}, {"{\"x\": 1}", 8}},
    {{"functions.g:0", 13}, {"g h", 3}, {"{\"x\"", 4}},
};

static const struct message messages[] = {
    {.role = ROLE_SYSTEM, .content = {"Be brief.", 9}},
    {.role = ROLE_USER, .content = {"Hi \"you\"", 8}},
    {.role = ROLE_ASSISTANT, .content = {"Let me see.", 11}, .calls = calls, .n_calls = 2},
    {.role = ROLE_TOOL, .call_id = {"toolu_1", 7}, .content = {"1", 1}},
    {.role = ROLE_TOOL,
     .call_id = {"functions.g:0", 13},
     .content = {"{\"ok\":false,\"error\":{\"code\":\"TIMEOUT\"}}", 39}},
    {.role = ROLE_USER, .content = {"And?", 4}},
    {.role = ROLE_ASSISTANT, .content = {" \n", 2}, .reasoning = {"Hm.", 3}},
    {.role = ROLE_USER, .content = {"", 0}},
};

static const struct tool_spec tools[] = {
    {.name = {"f", 1},
     .description = {"Does it.", 8},
     .parameters = {"{\"type\":\"object\",\"properties\":{}}", 33}},
    {.name = {"g", 1}},
};

static struct llm_request request(void)
{
    return (struct llm_request){.model = STR("m"),
                                .messages = messages,
                                .n_messages = sizeof messages / sizeof messages[0],
                                .tools = tools,
                                .n_tools = 2,
                                .stream = true,
                                .temperature = STR("0.5"),
                                .max_tokens = 64};
}

static void encodes_messages(void)
{
    struct llm_request rq = request();
    check_request(
        WIRE_MESSAGES, &rq,
        "{\"model\":\"m\",\"max_tokens\":64,\"system\":\"Be brief.\",\"messages\":["
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi \\\"you\\\"\"}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Let me see.\"},"
        "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"f\",\"input\":{\"x\": 1}},"
        "{\"type\":\"tool_use\",\"id\":\"functions_g_0_b27fd49c62f139c5\",\"name\":\"g_h\","
        "\"input\":{}}]},"
        "{\"role\":\"user\",\"content\":["
        "{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_1\",\"content\":\"1\"},"
        "{\"type\":\"tool_result\",\"tool_use_id\":\"functions_g_0_b27fd49c62f139c5\",\"content\":"
        "\"{\\\"ok\\\":false,\\\"error\\\":{\\\"code\\\":\\\"TIMEOUT\\\"}}\",\"is_error\":true},"
        "{\"type\":\"text\",\"text\":\"And?\"}]}],"
        "\"tools\":[{\"name\":\"f\",\"description\":\"Does it.\",\"input_schema\":"
        "{\"type\":\"object\",\"properties\":{}}},"
        "{\"name\":\"g\",\"input_schema\":{\"type\":\"object\"}}],"
        "\"stream\":true,\"temperature\":0.5}");
    rq = (struct llm_request){
        .model = STR("m"), .messages = messages + 1, .n_messages = 1, .max_tokens = -1};
    check_request(WIRE_MESSAGES, &rq,
                  "{\"model\":\"m\",\"max_tokens\":8192,\"messages\":[{\"role\":\"user\","
                  "\"content\":[{\"type\":\"text\",\"text\":\"Hi \\\"you\\\"\"}]}]}");
}

static void encodes_responses(void)
{
    struct llm_request rq = request();
    check_request(
        WIRE_RESPONSES, &rq,
        "{\"model\":\"m\",\"instructions\":\"Be brief.\",\"input\":["
        "{\"role\":\"user\",\"content\":\"Hi \\\"you\\\"\"},"
        "{\"role\":\"assistant\",\"content\":\"Let me see.\"},"
        "{\"type\":\"function_call\",\"call_id\":\"toolu_1\",\"name\":\"f\",\"arguments\":"
        "\"{\\\"x\\\": 1}\"},"
        "{\"type\":\"function_call\",\"call_id\":\"functions_g_0_b27fd49c62f139c5\",\"name\":"
        "\"g_h\",\"arguments\":\"{}\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"toolu_1\",\"output\":\"1\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"functions_g_0_b27fd49c62f139c5\","
        "\"output\":\"{\\\"ok\\\":false,\\\"error\\\":{\\\"code\\\":\\\"TIMEOUT\\\"}}\"},"
        "{\"role\":\"user\",\"content\":\"And?\"},{\"role\":\"user\",\"content\":\"\"}],"
        "\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"description\":\"Does it.\","
        "\"parameters\":{\"type\":\"object\",\"properties\":{}},\"strict\":false},"
        "{\"type\":\"function\",\"name\":\"g\",\"parameters\":{\"type\":\"object\"},"
        "\"strict\":false}],"
        "\"stream\":true,\"temperature\":0.5,\"max_output_tokens\":64,\"store\":false,"
        "\"include\":[\"reasoning.encrypted_content\"]}");
    rq = (struct llm_request){
        .model = STR("gpt-4o-mini"), .messages = messages + 1, .n_messages = 1, .max_tokens = -1};
    check_request(WIRE_RESPONSES, &rq,
                  "{\"model\":\"gpt-4o-mini\",\"input\":[{\"role\":\"user\",\"content\":"
                  "\"Hi \\\"you\\\"\"}],\"store\":false}");
}

/* ---- parts go back as they came ---- */

struct parts_case {
    enum wire_format format;
    const char *content;
    const char *parts;
    const char *want; /* the assistant's part of the request */
};

#define THINKING "{\"type\":\"thinking\",\"thinking\":\"Hm.\",\"signature\":\"EqQ+/=\"}"
#define CITING                                                                                     \
    "{\"citations\":[{\"type\":\"x\",\"encrypted_index\":\"y\"}],\"type\":\"text\",\"text\":"      \
    "\"b\"}"
#define REASONING                                                                                  \
    "{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"gA=\"}"
#define COMMENT                                                                                    \
    "{\"id\":\"msg_1\",\"type\":\"message\",\"phase\":\"commentary\",\"content\":["                \
    "{\"type\":\"output_text\",\"text\":\"a\"},{\"type\":\"output_text\",\"text\":\"b\"}]}"

static const struct parts_case parts_cases[] = {
    {WIRE_MESSAGES, "ab", "{\"anthropic\":[" THINKING ",1,null," CITING "]}",
     THINKING ",{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"tool_use\",\"id\":\"toolu_1\","
              "\"name\":\"f\",\"input\":{\"x\": 1}}," CITING},
    /* the calls and the text that no part stands for come behind */
    {WIRE_MESSAGES, "ab", "{\"anthropic\":[" THINKING "]}",
     THINKING ",{\"type\":\"text\",\"text\":\"ab\"},{\"type\":\"tool_use\",\"id\":\"toolu_1\","
              "\"name\":\"f\",\"input\":{\"x\": 1}}"},
    /* a part whose text or call the message does not have */
    {WIRE_MESSAGES, "ac",
     "{\"anthropic\":[1," CITING ",{\"type\":\"tool_use\",\"id\":\"other\",\"name\":\"f\","
     "\"input\":{}}]}",
     "{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"c\"},"
     "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"f\",\"input\":{\"x\": 1}}"},
    /* another provider's */
    {WIRE_MESSAGES, "a", "{\"responses\":[" REASONING ",1,null]}",
     "{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"tool_use\",\"id\":\"toolu_1\","
     "\"name\":\"f\",\"input\":{\"x\": 1}}"},
    {WIRE_RESPONSES, "abc", "{\"responses\":[" REASONING "," COMMENT "," REASONING ",null]}",
     REASONING "," COMMENT "," REASONING
               ",{\"type\":\"function_call\",\"call_id\":\"toolu_1\",\"name\":\"f\","
               "\"arguments\":\"{\\\"x\\\": 1}\"},{\"role\":\"assistant\",\"content\":\"c\"}"},
    {WIRE_RESPONSES, "x", "{\"responses\":[" COMMENT "]}",
     "{\"role\":\"assistant\",\"content\":\"x\"},{\"type\":\"function_call\",\"call_id\":"
     "\"toolu_1\",\"name\":\"f\",\"arguments\":\"{\\\"x\\\": 1}\"}"},
    {WIRE_CHAT, "x",
     "{\"openai\":[1,{\"extra_content\":{\"m\":1}},{\"type\":\"reasoning.text\",\"text\":\"Hm.\"},"
     "{\"type\":\"reasoning.encrypted\",\"data\":\"g\"},null,{\"extra_content\":{\"c\":1}}]}",
     "\"x\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"Hm.\"},"
     "{\"type\":\"reasoning.encrypted\",\"data\":\"g\"}],\"tool_calls\":[{\"id\":\"toolu_1\","
     "\"type\":"
     "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\": "
     "1}\"},\"extra_content\":"
     "{\"c\":1}}],\"extra_content\":{\"m\":1}"},
    /* what is no list of parts */
    {WIRE_RESPONSES, "x", "{\"responses\":{\"a\":1}}",
     "{\"role\":\"assistant\",\"content\":\"x\"},{\"type\":\"function_call\",\"call_id\":"
     "\"toolu_1\",\"name\":\"f\",\"arguments\":\"{\\\"x\\\": 1}\"}"},
    {WIRE_RESPONSES, "x", "{\"responses\":[true,-1,99,null,null,null]}",
     "{\"role\":\"assistant\",\"content\":\"x\"},{\"type\":\"function_call\",\"call_id\":"
     "\"toolu_1\",\"name\":\"f\",\"arguments\":\"{\\\"x\\\": 1}\"}"},
};

/* What stands around it, in the order of the formats. */
static const struct {
    const char *before;
    const char *after;
} frames[] = {
    {"{\"model\":\"gpt-4\",\"messages\":[{\"role\":\"assistant\",\"content\":",
     "}],\"max_completion_tokens\":1}"},
    {"{\"model\":\"gpt-4\",\"input\":[", "],\"max_output_tokens\":1,\"store\":false}"},
    {"{\"model\":\"gpt-4\",\"max_tokens\":1,\"messages\":[{\"role\":\"assistant\",\"content\":[",
     "]}]}"},
};

static void sends_parts_back(void)
{
    for (size_t i = 0; i < sizeof parts_cases / sizeof parts_cases[0]; i++) {
        const struct parts_case *c = &parts_cases[i];
        struct message m = {.role = ROLE_ASSISTANT,
                            .content = str_of(c->content),
                            .reasoning = STR("Well."),
                            .parts = str_of(c->parts),
                            .calls = calls,
                            .n_calls = 1};
        struct llm_request rq = {
            .model = STR("gpt-4"), .messages = &m, .n_messages = 1, .max_tokens = 1};
        struct buf want = {0};
        buf_addz(&want, frames[c->format].before);
        buf_addz(&want, c->want);
        buf_addz(&want, frames[c->format].after);
        buf_char(&want, '\0');
        check_request(c->format, &rq, want.p);
        buf_free(&want);
    }
}

static void tells_a_full_buffer(void)
{
    static const enum wire_format formats[] = {WIRE_CHAT, WIRE_RESPONSES, WIRE_MESSAGES};
    for (size_t i = 0; i < 3; i++) {
        struct llm_request rq = request();
        struct buf out = {.max = 100};
        struct err e;
        CU_ASSERT_EQUAL(wire_encode_request(formats[i], &rq, &out, &e), ERR_LIMIT);
        buf_free(&out);
    }
}

TESTS(encode, {"messages_encodes_requests_as_anthropic_takes_them", encodes_messages},
      {"responses_encodes_requests_as_openai_takes_them", encodes_responses},
      {"wire_sends_the_providers_own_parts_back_in_order", sends_parts_back},
      {"wire_tells_that_a_request_does_not_fit", tells_a_full_buffer})
