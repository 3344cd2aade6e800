/* Reading requests, names and URLs, and what equals its absence. Bodies follow the examples of the
 * OpenAI and Anthropic API references. */
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/json.h"
#include "kernel/wire/wire.h"

static const struct val *parse(struct arena *arena, const char *text)
{
    struct val *v = NULL;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(json_parse(arena, NULL, str_of(text), &v, &e), 0);
    return v;
}

struct reading_case {
    enum wire_format format;
    const char *body;
    const char *want; /* messages a line each, then the tools */
};

static const struct reading_case readings[] = {
    {WIRE_CHAT,
     "{\"model\":\"m\",\"messages\":["
     "{\"role\":\"developer\",\"content\":\"Be brief.\"},"
     "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"What "
     "\"},{\"type\":\"image_url\","
     "\"image_url\":{\"url\":\"u\"}},{\"type\":\"text\",\"text\":\"now?\"}]},"
     "{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"Hm.\",\"tool_calls\":[{"
     "\"id\":"
     "\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},{\"id\":"
     "\"b\","
     "\"type\":\"custom\",\"custom\":{\"name\":\"g\",\"input\":\"ls\"}}]},"
     "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"1\"},"
     "{\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":[{\"type\":\"text\",\"text\":\"2\"}]}],"
     "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}},"
     "{\"type\":\"custom\",\"custom\":{\"name\":\"g\"}}]}",
     "system \"Be brief.\"\nuser \"What now?\"\nassistant null reasoning \"Hm.\" [a f {}] [b g "
     "ls]\n"
     "tool a \"1\"\ntool b \"2\"\ntools f g\n"},
    {WIRE_CHAT,
     "{\"messages\":[{\"role\":\"assistant\",\"content\":null,\"function_call\":{\"name\":\"f\","
     "\"arguments\":\"{}\"}},{\"role\":\"function\",\"name\":\"f\",\"content\":\"1\"}],"
     "\"functions\":[{\"name\":\"f\"}]}",
     "assistant null [f f {}]\ntool f \"1\"\ntools f\n"},
    {WIRE_RESPONSES, "{\"input\":\"Hi\",\"instructions\":\"Be brief.\"}",
     "system \"Be brief.\"\nuser \"Hi\"\ntools\n"},
    {WIRE_RESPONSES,
     "{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"Hi\"}]},"
     "{\"type\":\"reasoning\",\"id\":\"r\",\"summary\":[]},"
     "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":"
     "\"So\"}]},"
     "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"},"
     "{\"type\":\"reasoning\",\"id\":\"r\",\"summary\":[]},"
     "{\"type\":\"function_call\",\"call_id\":\"b\",\"name\":\"f\",\"arguments\":\"{}\"},"
     "{\"type\":\"custom_tool_call\",\"call_id\":\"c\",\"name\":\"g\",\"input\":\"ls\"},"
     "{\"type\":\"function_call_output\",\"call_id\":\"a\",\"output\":\"1\"},"
     "{\"type\":\"function_call_output\",\"call_id\":\"b\",\"output\":[{\"type\":\"input_text\","
     "\"text\":\"2\"}]},"
     "{\"type\":\"function_call\",\"call_id\":\"d\",\"name\":\"f\",\"arguments\":\"{}\"}],"
     "\"tools\":[{\"type\":\"function\",\"name\":\"f\"},{\"type\":\"web_search\"}]}",
     "user \"Hi\"\nassistant \"So\" [a f {}] [b f {}] [c g ls]\ntool a \"1\"\ntool b \"2\"\n"
     "assistant null [d f {}]\ntools f web_search\n"},
    {WIRE_MESSAGES,
     "{\"system\":[{\"type\":\"text\",\"text\":\"Be \"},{\"type\":\"text\",\"text\":\"brief.\"}],"
     "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},"
     "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"Hm.\","
     "\"signature\":"
     "\"s\"},{\"type\":\"text\",\"text\":\"So\"},{\"type\":\"tool_use\",\"id\":\"a\",\"name\":"
     "\"f\","
     "\"input\":{\"x\": 1}}]},"
     "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":"
     "[{\"type\":\"text\",\"text\":\"1\"}]},{\"type\":\"text\",\"text\":\"And?\"}]}],"
     "\"tools\":[{\"name\":\"f\",\"input_schema\":{}},{\"type\":\"web_search_20250305\",\"name\":"
     "\"web_search\"}]}",
     "system \"Be brief.\"\nuser \"Hi\"\nassistant \"So\" reasoning \"Hm.\" [a f {\"x\": 1}]\n"
     "tool a \"1\"\nuser \"And?\"\ntools f web_search\n"},
    /* nothing is known of these */
    {WIRE_CHAT, "[]", "tools\n"},
    {WIRE_CHAT, "{\"messages\":[1,{\"role\":2},{}],\"tools\":{}}", "tools\n"},
    {WIRE_RESPONSES, "{\"input\":[1,{\"type\":\"item_reference\",\"id\":\"x\"}],\"tools\":[1]}",
     "tools\n"},
    {WIRE_MESSAGES, "{\"messages\":[1,{\"role\":\"assistant\"}],\"system\":1}",
     "assistant null\ntools\n"},
};

static void add_message(struct buf *out, const struct message *m)
{
    buf_addz(out, role_name(m->role));
    if (m->role == ROLE_TOOL) {
        buf_fmt(out, " %.*s", STR_FMT(m->call_id));
    }
    buf_char(out, ' ');
    if (m->content_null) {
        buf_addz(out, "null");
    } else {
        json_add_string(out, m->content);
    }
    if (m->reasoning.n > 0) {
        buf_addz(out, " reasoning ");
        json_add_string(out, m->reasoning);
    }
    for (size_t i = 0; i < m->n_calls; i++) {
        buf_fmt(out, " [%.*s %.*s %.*s]", STR_FMT(m->calls[i].id), STR_FMT(m->calls[i].name),
                STR_FMT(m->calls[i].arguments));
    }
    buf_char(out, '\n');
}

static void reads_requests(void)
{
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        struct arena *arena = arena_new();
        struct buf got = {0};
        struct message *messages = NULL;
        struct str *tools = NULL;
        const struct val *body = parse(arena, readings[i].body);
        size_t n = wire_request_messages(readings[i].format, body, arena, &messages);
        for (size_t k = 0; k < n; k++) {
            add_message(&got, &messages[k]);
        }
        n = wire_offered_tools(readings[i].format, body, arena, &tools);
        buf_addz(&got, "tools");
        for (size_t k = 0; k < n; k++) {
            buf_fmt(&got, " %.*s", STR_FMT(tools[k]));
        }
        buf_char(&got, '\n');
        buf_char(&got, '\0');
        CHECK_TEXT(got.p, readings[i].want);
        buf_free(&got);
        arena_free(arena);
    }
}

struct default_case {
    enum wire_format format;
    const char *body;
    const char *want; /* canonical */
};

static const struct default_case default_cases[] = {
    {WIRE_CHAT,
     "{\"model\":\"m\",\"stream\":false,\"n\":1.0,\"temperature\":1,\"top_p\":1,\"stop\":null,"
     "\"tool_choice\":\"auto\",\"parallel_tool_calls\":true,\"tools\":[{}]}",
     "{\"model\":\"m\",\"tools\":[{}]}"},
    {WIRE_CHAT, "{\"tool_choice\":\"none\"}", "{}"},
    {WIRE_CHAT, "{\"tool_choice\":\"none\",\"tools\":[{}]}",
     "{\"tool_choice\":\"none\",\"tools\":[{}]}"},
    {WIRE_CHAT, "{\"temperature\":0,\"stream\":true,\"n\":2,\"store\":true}",
     "{\"n\":2,\"store\":true,\"stream\":true,\"temperature\":0}"},
    {WIRE_CHAT, "{\"n\":2,\"n\":1}", "{}"},
    {WIRE_CHAT, "{\"n\":1,\"n\":2}", "{\"n\":2}"},
    {WIRE_CHAT,
     "{\"messages\":[{\"content\":null,\"stream\":false,\"tool_calls\":[],\"refusal\":null},"
     "{\"content\":\"\",\"tool_calls\":[{\"id\":null}]},{\"content\":\"x\",\"content\":null},7]}",
     "{\"messages\":[{\"stream\":false},{\"content\":\"\",\"tool_calls\":[{\"id\":null}]},{},7]}"},
    {WIRE_CHAT, "{\"messages\":[{\"content\":null,\"content\":\"x\"}],\"tools\":7}",
     "{\"messages\":[{\"content\":\"x\"}],\"tools\":7}"},
    {WIRE_CHAT,
     "{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"\","
     "\"strict\":false,\"parameters\":{\"strict\":null}}},"
     "{\"function\":{\"strict\":null,\"description\":\"d\"}},{\"function\":{\"strict\":true}}]}",
     "{\"tools\":[{\"function\":{\"name\":\"f\",\"parameters\":{\"strict\":null}},\"type\":"
     "\"function\"},{\"function\":{\"description\":\"d\"}},{\"function\":{\"strict\":true}}]}"},
    {WIRE_CHAT, "{\"max_tokens\":5}", "{\"max_completion_tokens\":5}"},
    {WIRE_CHAT, "{\"max_tokens\":5,\"max_completion_tokens\":null}",
     "{\"max_completion_tokens\":5}"},
    {WIRE_CHAT, "{\"max_tokens\":5,\"max_completion_tokens\":6}",
     "{\"max_completion_tokens\":6,\"max_tokens\":5}"},
    {WIRE_RESPONSES, "{\"input\":[{\"status\":null,\"type\":\"message\"}],\"max_tokens\":1}",
     "{\"input\":[{\"type\":\"message\"}],\"max_tokens\":1}"},
    {WIRE_RESPONSES,
     "{\"store\":true,\"truncation\":\"disabled\",\"text\":{\"format\":{\"type\":\"text\"}},"
     "\"previous_response_id\":null,\"n\":1}",
     "{\"n\":1}"},
    /* calls of the history, as wire_encode_request sends them and as they came */
    {WIRE_CHAT,
     "{\"messages\":[{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"a.b c\","
     "\"arguments\":\"{\\\"x\\\": \"}},{\"function\":{\"name\":\"f-1\",\"arguments\":"
     "\"{ }\"}},{\"function\":{\"name\":\"\",\"arguments\":\"[1]\"}}]}]}",
     "{\"messages\":[{\"tool_calls\":[{\"function\":{\"arguments\":\"{}\",\"name\":"
     "\"a_b_c\"},\"id\":\"a\"},{\"function\":{\"arguments\":\"{ }\",\"name\":\"f-1\"}},"
     "{\"function\":{\"arguments\":\"{}\",\"name\":\"unnamed\"}}]}]}"},
    {WIRE_MESSAGES,
     "{\"tool_choice\":{\"type\":\"auto\"},\"stream\":false,\"temperature\":1.0,"
     "\"max_tokens\":1}",
     "{\"max_tokens\":1}"},
};

static void leaves_defaults_out(void)
{
    for (size_t i = 0; i < sizeof default_cases / sizeof default_cases[0]; i++) {
        struct arena *arena = arena_new();
        struct buf got = {0};
        const struct val *body = parse(arena, default_cases[i].body);
        json_add_canonical(&got, wire_without_defaults(default_cases[i].format, body, arena));
        buf_char(&got, '\0');
        CHECK_TEXT(got.p, default_cases[i].want);
        buf_free(&got);
        arena_free(arena);
    }
}

static void tells_formats_by_url(void)
{
    static const struct {
        const char *url;
        int format; /* -1 = none */
    } cases[] = {
        {"https://api.openai.com/v1/chat/completions", WIRE_CHAT},
        {"https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
         WIRE_CHAT},
        {"https://api.openai.com/v1/responses", WIRE_RESPONSES},
        {"https://api.anthropic.com/v1/messages?beta=true", WIRE_MESSAGES},
        {"http://127.0.0.1:1/v1/messages#x", WIRE_MESSAGES},
        {"https://api.openai.com/v1/threads/t/messages", -1},
        {"https://api.openai.com/v1/models?x=/responses", -1},
        {"https://api.anthropic.com/v1/messages/count_tokens", -1},
        {"", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum wire_format f = WIRE_CHAT;
        bool found = wire_of_url(str_of(cases[i].url), &f);
        CU_ASSERT_EQUAL(found ? (int)f : -1, cases[i].format);
    }
}

static void names_formats_both_ways(void)
{
    static const enum wire_format formats[] = {WIRE_CHAT, WIRE_RESPONSES, WIRE_MESSAGES};
    static const char *const names[] = {"openai", "responses", "anthropic"};
    enum wire_format f = WIRE_CHAT;
    for (size_t i = 0; i < 3; i++) {
        CHECK_TEXT(wire_provider(formats[i]), names[i]);
        CU_ASSERT_TRUE(wire_of_provider(str_of(names[i]), &f));
        CU_ASSERT_EQUAL(f, formats[i]);
    }
    CU_ASSERT_FALSE(wire_of_provider(STR("gemini"), &f));
}

static void names_ends_both_ways(void)
{
    static const char *const names[] = {"clean",   "reset", "timeout", "refused",
                                        "stopped", "miss",  "mismatch"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        enum http_end end = HTTP_CLEAN;
        CU_ASSERT_TRUE(http_end_of_name(str_of(names[i]), &end));
        CHECK_TEXT(http_end_name(end), names[i]);
    }
    enum http_end end = HTTP_CLEAN;
    CU_ASSERT_FALSE(http_end_of_name(STR("Clean"), &end));
}

static void finds_headers(void)
{
    static const struct http_header headers[] = {{{"Content-Type", 12}, {"a", 1}},
                                                 {{"content-type", 12}, {"b", 1}},
                                                 {{"Empty", 5}, {NULL, 0}}};
    CU_ASSERT_TRUE(str_is(http_header_get(headers, 3, "CONTENT-TYPE"), "a"));
    CU_ASSERT_PTR_NOT_NULL(http_header_get(headers, 3, "empty").p);
    CU_ASSERT_PTR_NULL(http_header_get(headers, 3, "content").p);
}

TESTS(request, {"wire_reads_messages_and_tools_of_requests", reads_requests},
      {"wire_leaves_out_what_equals_its_absence", leaves_defaults_out},
      {"wire_tells_the_format_by_the_urls_path", tells_formats_by_url},
      {"wire_names_formats_both_ways", names_formats_both_ways},
      {"http_names_ends_both_ways", names_ends_both_ways},
      {"http_finds_headers_without_case", finds_headers})
