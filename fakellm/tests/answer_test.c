#include "ci/testing/testing.h"
#include "fakellm/tests/scripted.h"
#include "kernel/wire/wire.h"

#include <stdio.h>
#include <string.h>

/* Bodies as they stand in the example cassette (shared/examples/margin.cassette.yaml), whose model
 * the example script plays. */
static const char *const margin_script =
    "version: 1\nmodel: fake-1\nseed: 7\nsteps:\n"
    "- expect:\n    last_user: {contains: margin}\n    tools: [calculator]\n"
    "  reply:\n    calls:\n"
    "    - {id: c1, name: calculator, arguments: {expression: \"42.4-38.2\"}}\n"
    "    usage: {input: 100, output: 10}\n"
    "- expect:\n    last_tool: {contains: \"4.2\"}\n"
    "  reply:\n    text: It fell by 4.2 percentage points.\n"
    "    usage: {input: 120, output: 12}\n";
#define MARGIN_QUESTION                                                                            \
    "{\"role\": \"user\", \"content\": \"ACME's gross margin fell from 42.4% to 38.2%. By how "    \
    "many percentage points?\"}"
#define MARGIN_TOOLS                                                                               \
    "\"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"calculator\", "               \
    "\"description\": \"Evaluate an arithmetic expression exactly.\", \"parameters\": {\"type\": " \
    "\"object\", \"properties\": {\"expression\": {\"type\": \"string\"}}, \"required\": "         \
    "[\"expression\"], \"additionalProperties\": false}}}]"
static const char *const margin_first =
    "{\"model\": \"fake-1\", \"messages\": [" MARGIN_QUESTION "], " MARGIN_TOOLS "}";
static const char *const margin_second =
    "{\"model\": \"fake-1\", \"messages\": [" MARGIN_QUESTION
    ", {\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"c1\", \"type\": "
    "\"function\", \"function\": {\"name\": \"calculator\", \"arguments\": "
    "\"{\\\"expression\\\":\\\"42.4-38.2\\\"}\"}}]}, {\"role\": \"tool\", \"tool_call_id\": "
    "\"c1\", \"content\": "
    "\"{\\\"ok\\\":true,\\\"expression\\\":\\\"42.4-38.2\\\",\\\"value\\\":4.2}\"}], " MARGIN_TOOLS
    "}";

static void answers_the_example_as_its_cassette_does(void)
{
    struct scripted s = scripted_new(margin_script);
    struct fake_answer a;
    scripted_ask(&s, margin_first, &a);
    CU_ASSERT_FALSE(a.mismatch);
    CU_ASSERT_EQUAL(a.status, 200);
    CU_ASSERT(str_is(a.content_type, "application/json"));
    CHECK_TEXT(
        a.body.p,
        "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1796061600,"
        "\"model\":\"fake-1\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
        "\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":"
        "{\"name\":\"calculator\",\"arguments\":\"{\\\"expression\\\":\\\"42.4-38.2\\\"}\"}}]"
        "},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":100,"
        "\"completion_tokens\":10,\"total_tokens\":110}}");
    CU_ASSERT(fake_leftover(s.session).n > 0);
    scripted_ask(&s, margin_second, &a);
    CU_ASSERT_FALSE(a.mismatch);
    CHECK_TEXT(a.body.p,
               "{\"id\":\"chatcmpl-2\",\"object\":\"chat.completion\",\"created\":1796061600,"
               "\"model\":\"fake-1\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
               "\"content\":\"It fell by 4.2 percentage points.\"},\"finish_reason\":\"stop\"}],"
               "\"usage\":{\"prompt_tokens\":120,\"completion_tokens\":12,\"total_tokens\":132}}");
    CU_ASSERT_EQUAL(fake_leftover(s.session).n, 0);
    scripted_free(&s);
}

static void one_request_too_many_is_a_mismatch(void)
{
    struct scripted s = scripted_new("version: 1\nsteps: [{reply: {text: a}}]\n");
    struct fake_answer a;
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT_FALSE(a.mismatch);
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT_TRUE(a.mismatch);
    CU_ASSERT_EQUAL(a.status, 400);
    CU_ASSERT_EQUAL(a.end, HTTP_MISMATCH);
    CU_ASSERT(str_find(a.message, STR("one too many")) != SIZE_MAX);
    CU_ASSERT(str_find(a.message, STR("is made again")) == SIZE_MAX);
    scripted_free(&s);
    s = scripted_new("version: 1\nsteps: [{fault: {status: 503}}]\n");
    scripted_ask(&s, ask_plain, &a);
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT_TRUE(a.mismatch);
    CU_ASSERT(str_find(a.message, STR("a call that fails is made again")) != SIZE_MAX);
    scripted_free(&s);
}

/* A condition that fails, and what the message must hold: what was expected and what came. */
static void a_mismatch_says_what_was_expected_and_what_came(void)
{
    static const struct {
        const char *expect;
        const char *request;
        const char *want;
        const char *got;
    } cases[] = {
        {"{last_user: bye}", NULL, "bye", "hi"},
        {"{last_user: {contains: margin}}", NULL, "margin", "hi"},
        {"{last_user: {regex: '^a+$'}}", NULL, "^a+$", "hi"},
        {"{last_tool: {contains: \"4.2\"}}", NULL, "4.2", "no text"},
        {"{system: {contains: desk}}", NULL, "desk", "no text"},
        {"{model: {one_of: [a, b]}}", NULL, "\"b\"", "\"m\""},
        {"{tools: [now]}", NULL, "[now]", "[]"},
        {"{turn: 2}", NULL, "2", "1"},
        {"{last_tool: {absent: true}}",
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{\"role\":"
         "\"assistant\",\"content\":"
         "null,\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"now\","
         "\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"done\"}]"
         "}",
         "no text", "done"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char yaml[512];
        snprintf(yaml, sizeof yaml, "version: 1\nsteps:\n- expect: %s\n  reply: {text: a}\n",
                 cases[i].expect);
        struct scripted s = scripted_new(yaml);
        struct fake_answer a;
        scripted_ask(&s, cases[i].request != NULL ? cases[i].request : ask_plain, &a);
        CU_ASSERT_TRUE(a.mismatch);
        CU_ASSERT(str_find(a.message, STR("step 1 (line 3)")) != SIZE_MAX);
        CU_ASSERT(str_find(a.message, str_of(cases[i].want)) != SIZE_MAX);
        CU_ASSERT(str_find(a.message, str_of(cases[i].got)) != SIZE_MAX);
        CU_ASSERT_EQUAL(a.n_pieces, 1);
        CU_ASSERT(str_find(a.body, STR("invalid_request_error")) != SIZE_MAX);
        scripted_free(&s);
    }
}

/* An older result is not the newest user's. */
static void a_tool_result_before_the_newest_question_does_not_count(void)
{
    struct scripted s = scripted_new("version: 1\nsteps:\n"
                                     "- expect: {last_tool: {absent: true}, last_user: second}\n"
                                     "  reply: {text: a}\n");
    struct fake_answer a;
    scripted_ask(&s,
                 "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"first\"},{"
                 "\"role\":\"assistant\","
                 "\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\","
                 "\"function\":{\"name\":\"now\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\","
                 "\"tool_call_id\":\"a\",\"content\":\"x\"},{\"role\":\"assistant\",\"content\":"
                 "\"y\"},{\"role\":\"user\",\"content\":\"second\"}]}",
                 &a);
    CU_ASSERT_FALSE(a.mismatch);
    scripted_free(&s);
}

static void what_no_provider_would_take_is_refused(void)
{
    static const struct {
        const char *url;
        const char *body;
        const char *says;
    } cases[] = {
        {"http://h/v1/chat/completions", "<html>", "JSON"},
        {"http://h/v1/chat/completions", "", "JSON"},
        {"http://h/v1/chat/completions", "{\"model\":\"m\",\"messages\":[]}", "empty array"},
        {"http://h/v1/embeddings", "{}", "no model endpoint"},
        {"http://h/v1/responses", "<html>", "JSON"},
        {"http://h/v1/responses", "{\"input\":\"hi\"}", "'model'"},
        {"http://h/v1/messages", "", "JSON"},
        {"http://h/v1/messages", "{\"model\":\"m\",\"messages\":[]}", "max_tokens"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scripted s = scripted_new("version: 1\nsteps: [{reply: {text: a}}]\n");
        struct fake_answer a;
        fake_answer(s.session, str_of(cases[i].url), str_of(cases[i].body), &a);
        CU_ASSERT_EQUAL(a.mismatch, str_ends(str_of(cases[i].url), "embeddings"));
        CU_ASSERT_EQUAL(a.refused, !a.mismatch);
        CU_ASSERT_EQUAL(a.status, 400);
        CU_ASSERT(str_find(a.message, str_of(cases[i].says)) != SIZE_MAX);
        CU_ASSERT(fake_leftover(s.session).n > 0); /* it takes no step */
        scripted_free(&s);
    }
}

/* What a model may do wrong with ids is sent as it is written. */
static void ids_may_be_empty_or_stand_twice(void)
{
    struct scripted s = scripted_new("version: 1\nsteps:\n- reply: {calls: [{id: a, name: f}, "
                                     "{id: a, name: f}, {id: '', name: f}]}\n");
    struct fake_answer a;
    scripted_ask(&s, ask_plain, &a);
    size_t first = str_find(a.body, STR("\"id\":\"a\""));
    CU_ASSERT_FATAL(first != SIZE_MAX);
    struct str rest = str_slice(a.body, first + 1, a.body.n);
    CU_ASSERT(str_find(rest, STR("\"id\":\"a\"")) != SIZE_MAX);
    CU_ASSERT(str_find(rest, STR("\"id\":\"\"")) != SIZE_MAX);
    scripted_free(&s);
}

static const char *const result_without_call =
    "{\"model\":\"m\",\"messages\":[{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"x\"}]}";

static void a_script_may_take_what_a_provider_would_refuse(void)
{
    struct scripted s =
        scripted_new("version: 1\ncheck_requests: false\nsteps: [{reply: {text: a}}]\n");
    struct fake_answer a;
    scripted_ask(&s, "not JSON", &a);
    CU_ASSERT_TRUE(a.refused);
    scripted_ask(&s, result_without_call, &a);
    CU_ASSERT_FALSE(a.refused);
    CU_ASSERT_EQUAL(a.status, 200);
    scripted_free(&s);
}

/* A model that shows no thoughts cannot be given them back. */
static void thoughts_are_wanted_of_a_script_that_has_some(void)
{
    static const char body[] =
        "{\"model\":\"m\",\"max_tokens\":2000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":"
        "1024},\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\","
        "\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}]},{\"role\":"
        "\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\"}]}]}";
    static const char *const scripts[] = {
        "version: 1\nsteps: [{reply: {text: a}}]\n",
        "version: 1\nsteps: [{reply: {text: a, reasoning: Hm.}}]\n"};
    for (int i = 0; i < 2; i++) {
        struct scripted s = scripted_new(scripts[i]);
        struct fake_answer a;
        fake_answer(s.session, STR("http://h/v1/messages"), str_of(body), &a);
        CU_ASSERT_EQUAL(a.refused, i == 1);
        scripted_free(&s);
    }
}

static void a_step_repeats_as_often_as_it_says(void)
{
    struct scripted s = scripted_new("version: 1\nsteps:\n- reply: {text: one}\n  repeat: 2\n"
                                     "- reply: {text: two}\n  repeat: forever\n");
    static const char *const want[] = {"one", "one", "two", "two", "two"};
    struct fake_answer a;
    CU_ASSERT(str_find(fake_leftover(s.session), STR("1 (line 3), 2 (line 5)")) != SIZE_MAX);
    for (size_t i = 0; i < 5; i++) {
        scripted_ask(&s, ask_plain, &a);
        CU_ASSERT_FALSE(a.mismatch);
        CU_ASSERT(str_find(a.body, str_of(want[i])) != SIZE_MAX);
        CU_ASSERT_EQUAL(fake_leftover(s.session).n == 0, i >= 2);
    }
    scripted_free(&s);
}

static void the_first_rule_that_holds_answers(void)
{
    struct scripted s =
        scripted_new("version: 1\nrules:\n- when: {last_user: nobody}\n  reply: {text: never}\n"
                     "- when: {last_user: hi}\n  times: 1\n  reply: {text: once}\n"
                     "- when: {turn: 2}\n  reply: {text: second}\n");
    struct fake_answer a;
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT(str_find(a.body, STR("once")) != SIZE_MAX);
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT(str_find(a.body, STR("second")) != SIZE_MAX);
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT_TRUE(a.mismatch);
    CU_ASSERT(str_find(a.message, STR("nobody")) != SIZE_MAX);
    CU_ASSERT(str_find(a.message, STR("as often as it may")) != SIZE_MAX);
    CU_ASSERT_EQUAL(fake_leftover(s.session).n, 0);
    scripted_free(&s);
}

static void calls_without_an_id_are_numbered(void)
{
    struct scripted s = scripted_new("version: 1\nsteps:\n"
                                     "- reply: {calls: [{name: a}, {name: b, id: own}]}\n"
                                     "- reply: {calls: [{name: c, arguments: '{half'}]}\n");
    struct fake_answer a;
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT(str_find(a.body, STR("\"id\":\"call_1\"")) != SIZE_MAX);
    CU_ASSERT(str_find(a.body, STR("\"id\":\"own\"")) != SIZE_MAX);
    CU_ASSERT(str_find(a.body, STR("\"arguments\":\"{}\"")) != SIZE_MAX);
    CU_ASSERT(str_find(a.body, STR("usage")) == SIZE_MAX);
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT(str_find(a.body, STR("\"id\":\"call_3\"")) != SIZE_MAX);
    CU_ASSERT(str_find(a.body, STR("\"arguments\":\"{half\"")) != SIZE_MAX);
    scripted_free(&s);
}

static void arguments_keep_their_order_and_digits(void)
{
    struct scripted s = scripted_new("version: 1\nsteps:\n- reply: {calls: [{name: a, arguments: "
                                     "{z: 1.50, a: [true, null]}}]}\n");
    struct fake_answer a;
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT(str_find(a.body, STR("{\\\"z\\\":1.50,\\\"a\\\":[true,null]}")) != SIZE_MAX);
    scripted_free(&s);
}

/* Decodes a streamed answer piece by piece, as a client would. */
static void decode(const struct fake_answer *a, struct wire_decoder **d, struct wire_result *out)
{
    struct http_header type = {STR("Content-Type"), a->content_type};
    *d = wire_decoder_new(WIRE_CHAT, a->status, &type, 1);
    for (size_t i = 0; i < a->n_pieces; i++) {
        wire_decoder_feed(*d, str_slice(a->body, i == 0 ? 0 : a->ends[i - 1], a->ends[i]));
    }
    wire_decoder_end(*d, a->end, (struct str){0}, out);
}

static void a_stream_carries_the_same_reply_in_pieces_with_times(void)
{
    static const char *const chunkings[] = {"random", "{bytes: 3}", "{tokens: 2}", "null"};
    for (size_t i = 0; i < sizeof chunkings / sizeof chunkings[0]; i++) {
        char yaml[512];
        snprintf(yaml, sizeof yaml,
                 "version: 1\nseed: 3\nsteps:\n- reply: {text: 毛利率下降了 4.2 个百分点。, "
                 "reasoning: hm, usage: {input: 5, output: 6, cached: 2, reasoning: 1}, "
                 "chunk: %s, ttft_ms: 100, chunk_ms: 7}\n",
                 chunkings[i]);
        struct scripted s = scripted_new(yaml);
        struct fake_answer a;
        struct wire_decoder *d;
        struct wire_result r;
        scripted_ask(&s, ask_stream, &a);
        CU_ASSERT(str_is(a.content_type, "text/event-stream"));
        CU_ASSERT_FATAL(a.n_pieces > 3);
        CU_ASSERT_EQUAL(a.first_ms, 100);
        CU_ASSERT_EQUAL(a.at_ms[0], 100);
        CU_ASSERT_EQUAL(a.at_ms[3], 121);
        CU_ASSERT_EQUAL(a.ends[a.n_pieces - 1], a.body.n);
        decode(&a, &d, &r);
        CU_ASSERT_TRUE_FATAL(r.ok);
        CU_ASSERT(str_is(r.reply.content, "毛利率下降了 4.2 个百分点。"));
        CU_ASSERT(str_is(r.reply.reasoning, "hm"));
        CU_ASSERT_EQUAL(r.reply.stop, STOP_END_TURN);
        CU_ASSERT_EQUAL(r.reply.usage.input, 5);
        CU_ASSERT_EQUAL(r.reply.usage.output, 6);
        CU_ASSERT_EQUAL(r.reply.usage.cached, 2);
        CU_ASSERT_EQUAL(r.reply.usage.reasoning, 1);
        wire_decoder_free(d);
        scripted_free(&s);
    }
}

static void the_same_seed_cuts_at_the_same_places(void)
{
    size_t n[3];
    size_t first[3];
    for (size_t i = 0; i < 3; i++) {
        char yaml[512];
        snprintf(yaml, sizeof yaml,
                 "version: 1\nseed: %d\nsteps:\n- reply: {text: a b c d e f g, chunk: random}\n",
                 i == 2 ? 8 : 7);
        struct scripted s = scripted_new(yaml);
        struct fake_answer a;
        scripted_ask(&s, ask_stream, &a);
        n[i] = a.n_pieces;
        first[i] = a.ends[0] * 1000 + a.ends[1];
        scripted_free(&s);
    }
    CU_ASSERT(n[0] == n[1] && first[0] == first[1]);
    CU_ASSERT(n[0] != n[2] || first[0] != first[2]);
}

/* XXH3-64 with the seed over the turn as 8 little-endian bytes, splitmix64 from there: computed by
 * a program of its own from their descriptions. */
static void random_pieces_are_the_same_on_every_machine(void)
{
    static const size_t want[] = {34, 95, 97, 107, 121, 138};
    struct scripted s = scripted_new(
        "version: 1\nseed: 7\nsteps:\n- reply: {text: a b c d e f g, chunk: random}\n");
    struct fake_answer a;
    scripted_ask(&s, ask_stream, &a);
    CU_ASSERT_FATAL(a.n_pieces > sizeof want / sizeof want[0]);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        CU_ASSERT_EQUAL(a.ends[i], want[i]);
    }
    scripted_free(&s);
}

enum { CHOICES = 40 };

/* Which of the three replies each request got, by their first letters. */
static void choose(const char *seed, int64_t trial, size_t skipped, char out[CHOICES + 1])
{
    char yaml[256];
    snprintf(yaml, sizeof yaml,
             "version: 1\nseed: %s\nsteps:\n"
             "- {replies: [{text: red}, {text: green}, {text: blue}], repeat: forever}\n",
             seed);
    struct scripted s = scripted_new(yaml);
    fake_session_trial(s.session, trial);
    fake_session_skip(s.session, skipped);
    for (size_t i = 0; i < CHOICES; i++) {
        struct fake_answer a;
        struct wire_decoder *d;
        struct wire_result r;
        scripted_ask(&s, ask_plain, &a);
        decode(&a, &d, &r);
        out[i] = r.reply.content.n > 0 ? r.reply.content.p[0] : '?';
        wire_decoder_free(d);
    }
    out[CHOICES] = '\0';
    scripted_free(&s);
}

static void the_seed_chooses_among_replies(void)
{
    char first[CHOICES + 1], again[CHOICES + 1], other[CHOICES + 1], later[CHOICES + 1];
    choose("7", 1, 0, first);
    choose("7", 0, 0, again);
    choose("8", 1, 0, other);
    choose("7", 1, 5, later);
    CHECK_TEXT(again, first);
    CU_ASSERT(strcmp(other, first) != 0);
    CU_ASSERT(strncmp(later, first + 5, CHOICES - 5) == 0); /* also where a run goes on */
    CU_ASSERT(strchr(first, 'r') != NULL && strchr(first, 'g') != NULL &&
              strchr(first, 'b') != NULL && strchr(first, '?') == NULL);
}

static void each_trial_chooses_apart(void)
{
    char first[CHOICES + 1], second[CHOICES + 1], third[CHOICES + 1], again[CHOICES + 1];
    char later[CHOICES + 1];
    choose("7", 1, 0, first);
    choose("7", 2, 0, second);
    choose("7", 3, 0, third);
    choose("7", 2, 0, again);
    choose("7", 2, 5, later);
    CU_ASSERT(strcmp(first, second) != 0 && strcmp(second, third) != 0 &&
              strcmp(first, third) != 0);
    CHECK_TEXT(again, second);
    CU_ASSERT(strncmp(later, second + 5, CHOICES - 5) == 0);
}

static void stop_reasons_reach_the_client(void)
{
    static const struct {
        const char *reply;
        enum stop_reason stop;
    } cases[] = {
        {"{text: a}", STOP_END_TURN},
        {"{calls: [{name: a}]}", STOP_TOOL_USE},
        {"{text: a, stop: max_tokens}", STOP_MAX_TOKENS},
        {"{text: a, stop: content_filter}", STOP_CONTENT_FILTER},
        {"{text: a, stop: refusal}", STOP_REFUSAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char yaml[256];
        snprintf(yaml, sizeof yaml, "version: 1\nsteps: [{reply: %s}]\n", cases[i].reply);
        for (int stream = 0; stream < 2; stream++) {
            struct scripted s = scripted_new(yaml);
            struct fake_answer a;
            struct wire_decoder *d;
            struct wire_result r;
            scripted_ask(&s, stream ? ask_stream : ask_plain, &a);
            decode(&a, &d, &r);
            CU_ASSERT_TRUE_FATAL(r.ok);
            CU_ASSERT_EQUAL(r.reply.stop, cases[i].stop);
            wire_decoder_free(d);
            scripted_free(&s);
        }
    }
}

/* What each fault gives a client: the class of its failure, or a good reply. */
static void each_fault_is_the_failure_it_names(void)
{
    static const struct {
        const char *fault;
        bool ok;
        enum fail_class class;
        int status;
        int64_t first_ms;
    } cases[] = {
        {"{status: 429, retry_after_s: 2.5}", false, FAIL_RATE_LIMIT, 429, 0},
        {"{status: 503, delay_ms: 40}", false, FAIL_OVERLOADED, 503, 40},
        {"{status: 500, message: boom}", false, FAIL_SERVER, 500, 0},
        {"{status: 401}", false, FAIL_AUTH, 401, 0},
        {"{kind: reset}", false, FAIL_CONNECT, 0, 0},
        {"{kind: hang}", false, FAIL_TIMEOUT, 0, 0},
        {"{kind: truncate, after_bytes: 300}", false, FAIL_PROTOCOL, 200, 0},
        {"{kind: truncate}", false, FAIL_PROTOCOL, 200, 0},
        {"{kind: garbage}", false, FAIL_PROTOCOL, 200, 0},
        {"{kind: bad_json}", false, FAIL_PROTOCOL, 200, 0},
        {"{kind: drip}", true, FAIL_TIMEOUT, 200, 0},
        {"{kind: slow_first_byte}", true, FAIL_TIMEOUT, 200, 5000},
        {"{kind: slow_first_byte, delay_ms: 9}", true, FAIL_TIMEOUT, 200, 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char yaml[256];
        snprintf(yaml, sizeof yaml, "version: 1\nsteps: [{fault: %s}]\n", cases[i].fault);
        for (int stream = 0; stream < 2; stream++) {
            struct scripted s = scripted_new(yaml);
            struct fake_answer a;
            struct wire_decoder *d;
            struct wire_result r;
            scripted_ask(&s, stream ? ask_stream : ask_plain, &a);
            CU_ASSERT_FALSE(a.mismatch);
            CU_ASSERT_EQUAL(a.status, cases[i].status);
            CU_ASSERT_EQUAL(a.first_ms, cases[i].first_ms);
            decode(&a, &d, &r);
            bool as_said = r.ok == cases[i].ok && (r.ok || r.failure.class == cases[i].class);
            if (!as_said) {
                printf("\n  %s stream %d: ok %d %s %.*s\n", cases[i].fault, stream, r.ok,
                       r.ok ? "" : fail_name(r.failure.class), STR_FMT(r.failure.message));
            }
            CU_ASSERT(as_said);
            wire_decoder_free(d);
            scripted_free(&s);
        }
    }
}

static void faults_keep_their_details(void)
{
    struct scripted s = scripted_new(
        "version: 1\nsteps:\n- fault: {status: 429, retry_after_s: 2.5, message: slow down}\n"
        "- {reply: {text: abcdef}, fault: {kind: truncate, after_bytes: 30}}\n"
        "- {reply: {text: abcdef}, fault: {kind: drip, bytes: 10, chunk_ms: 3}}\n"
        "- {reply: {text: abcdef}, fault: {kind: wrong_type}}\n"
        "- {reply: {text: abcdef}, fault: {kind: error_event, message: broke}}\n"
        "- {reply: {text: abcdef}, fault: {kind: error_event, message: broke}}\n");
    struct fake_answer a;
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT_EQUAL(a.retry_after_ms, 2500);
    CU_ASSERT(str_find(a.body, STR("slow down")) != SIZE_MAX);
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT_EQUAL(a.body.n, 30);
    CU_ASSERT_EQUAL(a.end, HTTP_CLEAN);
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT_EQUAL(a.ends[0], 10);
    CU_ASSERT_EQUAL(a.at_ms[2], 6);
    CU_ASSERT_EQUAL(a.n_pieces, (a.body.n + 9) / 10);
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT(str_is(a.content_type, "text/html"));
    scripted_ask(&s, ask_plain, &a);
    CU_ASSERT(str_starts(a.body, "{\"error\":"));
    CU_ASSERT(str_find(a.body, STR("broke")) != SIZE_MAX);
    scripted_ask(&s, ask_stream, &a);
    CU_ASSERT(str_starts(a.body, "data: {\"id\""));
    CU_ASSERT(str_find(a.body, STR("\n\ndata: {\"error\"")) != SIZE_MAX);
    CU_ASSERT(str_find(a.body, STR("[DONE]")) == SIZE_MAX);
    CU_ASSERT_EQUAL(a.n_pieces, 2);
    scripted_free(&s);
}

TESTS(fake_answer, {"the_seed_chooses_among_replies", the_seed_chooses_among_replies},
      {"each_trial_chooses_apart", each_trial_chooses_apart},
      {"answers_the_example_as_its_cassette_does", answers_the_example_as_its_cassette_does},
      {"one_request_too_many_is_a_mismatch", one_request_too_many_is_a_mismatch},
      {"a_mismatch_says_what_was_expected_and_what_came",
       a_mismatch_says_what_was_expected_and_what_came},
      {"a_tool_result_before_the_newest_question_does_not_count",
       a_tool_result_before_the_newest_question_does_not_count},
      {"what_no_provider_would_take_is_refused", what_no_provider_would_take_is_refused},
      {"ids_may_be_empty_or_stand_twice", ids_may_be_empty_or_stand_twice},
      {"a_script_may_take_what_a_provider_would_refuse",
       a_script_may_take_what_a_provider_would_refuse},
      {"thoughts_are_wanted_of_a_script_that_has_some",
       thoughts_are_wanted_of_a_script_that_has_some},
      {"a_step_repeats_as_often_as_it_says", a_step_repeats_as_often_as_it_says},
      {"the_first_rule_that_holds_answers", the_first_rule_that_holds_answers},
      {"calls_without_an_id_are_numbered", calls_without_an_id_are_numbered},
      {"arguments_keep_their_order_and_digits", arguments_keep_their_order_and_digits},
      {"a_stream_carries_the_same_reply_in_pieces_with_times",
       a_stream_carries_the_same_reply_in_pieces_with_times},
      {"the_same_seed_cuts_at_the_same_places", the_same_seed_cuts_at_the_same_places},
      {"random_pieces_are_the_same_on_every_machine", random_pieces_are_the_same_on_every_machine},
      {"stop_reasons_reach_the_client", stop_reasons_reach_the_client},
      {"each_fault_is_the_failure_it_names", each_fault_is_the_failure_it_names},
      {"faults_keep_their_details", faults_keep_their_details})
