/* The loop, driven by hand. Expected values: FEATURES.md's rows (named in the tests), FORMATS.md,
 * and the session in shared/examples. I-numbers are the invariants at the top of kernel.c. */
#include "kernel/core/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"

/* ---- a hand-driven session ---- */

static struct arena *arena;
static struct kernel *k;
static struct buf all_log;
static struct command commands[64];
static size_t n_commands;

static struct tool_spec tool(const char *name, const char *schema)
{
    struct tool_spec t = {.name = str_of(name),
                          .parameters = str_of(schema),
                          .timeout_ms = TOOL_TIMEOUT_MS,
                          .max_output = TOOL_OUTPUT_CHARS};
    struct val *v = NULL;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(json_parse(arena, NULL, t.parameters, &v, &e), 0);
    CU_ASSERT_EQUAL_FATAL(schema_new(v, SCHEMA_2020_12, &t.validator, &e), 0);
    t.schema = v;
    return t;
}

enum { LOOKUP, REFUND, WATCH, DONE_TOOL, SERIAL, N_TOOLS };
static struct tool_spec tools[N_TOOLS];
static struct kernel_config config;

static void set_up(void)
{
    const char *any = "{\"type\":\"object\"}";
    arena = arena_new();
    tools[LOOKUP] =
        tool("lookup", "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},"
                       "\"n\":{\"type\":\"integer\"}},\"additionalProperties\":false}");
    tools[REFUND] = tool("refund", any);
    tools[REFUND].tier = TIER_WRITE;
    tools[WATCH] = tool("watch", any);
    tools[WATCH].polling = true;
    tools[DONE_TOOL] =
        tool("task_done", "{\"type\":\"object\",\"properties\":{\"report\":{\"type\":"
                          "\"string\"}},\"required\":[\"report\"]}");
    tools[DONE_TOOL].terminal = true;
    tools[SERIAL] = tool("in_turn", any);
    tools[SERIAL].serial = true;
    config = kernel_config_default();
    config.run = STR("000000000001");
    config.seed = 7;
    config.started_at = STR("2026-11-29T18:00:00.000Z");
    config.model = STR("m");
    config.tools = tools;
    config.n_tools = N_TOOLS;
}

static void collect(void)
{
    buf_add(&all_log, kernel_take_log(k));
    n_commands = 0;
    while (n_commands < 64 && kernel_poll(k, &commands[n_commands])) {
        n_commands++;
    }
}

static int feed(struct event ev, uint64_t now)
{
    int rc = kernel_feed(k, &ev, now);
    collect();
    return rc;
}

static void begin(void)
{
    k = kernel_new(&config);
    CU_ASSERT_EQUAL(feed((struct event){.kind = EV_USER_MESSAGE, .text = STR("go")}, 0), 0);
}

static void tear_down(void)
{
    kernel_free(k);
    k = NULL;
    buf_free(&all_log);
    for (size_t i = 0; i < N_TOOLS; i++) {
        schema_free(tools[i].validator);
    }
    arena_free(arena);
}

/* "id name arguments" triples end with NULL. */
static int reply(uint64_t now, enum stop_reason stop, const char *text, ...)
{
    struct tool_call calls[16];
    struct reply r = {.content_null = text == NULL,
                      .content = str_of(text),
                      .calls = calls,
                      .stop = stop,
                      .usage = USAGE_UNKNOWN};
    va_list args;
    va_start(args, text);
    for (const char *id = va_arg(args, const char *); id != NULL; id = va_arg(args, const char *)) {
        const char *name = va_arg(args, const char *);
        const char *arguments = va_arg(args, const char *);
        calls[r.n_calls++] = (struct tool_call){str_of(id), str_of(name), str_of(arguments)};
    }
    va_end(args);
    r.usage.input = 10;
    r.usage.output = 5;
    return feed((struct event){.kind = EV_REPLY, .reply = &r}, now);
}

static int result(uint64_t now, const char *id, const char *content)
{
    struct tool_output o = {.ok = true, .content = str_of(content)};
    return feed((struct event){.kind = EV_TOOL_RESULT, .call_id = str_of(id), .output = &o}, now);
}

static int tool_fails(uint64_t now, const char *id, const char *code, bool retryable)
{
    struct tool_output o = {
        .code = str_of(code), .message = STR("it broke"), .retryable = retryable};
    return feed((struct event){.kind = EV_TOOL_RESULT, .call_id = str_of(id), .output = &o}, now);
}

static int fails(uint64_t now, enum fail_class class, int64_t retry_after_ms)
{
    struct failure f = {
        .class = class, .status = 500, .retry_after_ms = retry_after_ms, .message = STR("no")};
    return feed((struct event){.kind = EV_FAILURE, .failure = &f}, now);
}

static int tick(uint64_t now)
{
    return feed((struct event){.kind = EV_TIME}, now);
}

static enum run_status status(void)
{
    struct run_result r = {0};
    CU_ASSERT_TRUE_FATAL(kernel_result(k, &r));
    return r.status;
}

/* The types of the log's lines, with spaces. Checks I5 and I11 on the way. */
static const char *types(void)
{
    static char out[4096];
    struct arena *a = arena_new();
    struct str rest = buf_str(&all_log);
    size_t n = 0;
    int64_t last_seq = 0, last_ms = 0;
    out[0] = '\0';
    while (rest.n > 0) {
        size_t end = str_find(rest, STR("\n"));
        struct val *v = NULL;
        struct err e;
        CU_ASSERT_NOT_EQUAL_FATAL(end, SIZE_MAX);
        CU_ASSERT_EQUAL_FATAL(json_parse(a, NULL, str_slice(rest, 0, end), &v, &e), 0);
        int64_t seq = 0, ms = 0;
        CU_ASSERT_TRUE(val_int(val_get(v, "seq"), &seq) && seq == last_seq + 1);
        CU_ASSERT_TRUE(val_int(val_get(v, "t_ms"), &ms) && ms >= last_ms);
        last_seq = seq;
        last_ms = ms;
        struct str type = val_text(val_get(v, "type"));
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%.*s", n == 0 ? "" : " ", STR_FMT(type));
        rest = str_slice(rest, end + 1, rest.n);
    }
    arena_free(a);
    return out;
}

static bool logged(const char *text)
{
    return str_find(buf_str(&all_log), str_of(text)) != SIZE_MAX;
}

static size_t times_logged(const char *text)
{
    struct str rest = buf_str(&all_log);
    size_t n = 0;
    for (size_t at; (at = str_find(rest, str_of(text))) != SIZE_MAX; n++) {
        rest = str_slice(rest, at + 1, rest.n);
    }
    return n;
}

/* The history is one a provider takes, whenever the model is called (I1). */
static void check_history(void)
{
    size_t n = 0;
    struct err e;
    const struct message *m = kernel_history(k, &n);
    CU_ASSERT_EQUAL(history_check(m, n, &e), 0);
}

/* ---- tests ---- */

static void answers_without_tools(void)
{
    set_up();
    begin();
    CU_ASSERT_EQUAL(n_commands, 1);
    CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_MODEL);
    CU_ASSERT_EQUAL(reply(40, STOP_END_TURN, "hello", NULL), 0);
    CU_ASSERT_EQUAL(status(), RUN_COMPLETED);
    CHECK_TEXT(types(), "run_start user_message step_start llm_reply final run_end");
    CU_ASSERT_TRUE(logged("\"latency_ms\":40,\"attempts\":1"));
    tear_down();
}

static void example_gives_its_log_byte_for_byte(void)
{
    /* shared/examples/margin.trace.jsonl, the log of one session of FORMATS.md */
    const char *path = testing_corpus("../examples/margin.trace.jsonl");
    if (path == NULL) {
        testing_skip("no shared/examples here");
        return;
    }
    static char want[16384];
    FILE *f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    size_t n = fread(want, 1, sizeof want - 1, f);
    fclose(f);
    want[n] = '\0';
    set_up();
    struct tool_spec calculator = tool("calculator", "{\"type\":\"object\"}");
    config.run = STR("5f0c9a31d2e4");
    config.model = STR("fake-1");
    config.tools = &calculator;
    config.n_tools = 1;
    k = kernel_new(&config);
    CU_ASSERT_EQUAL(
        feed((struct event){.kind = EV_USER_MESSAGE,
                            .text = STR("ACME's gross margin fell from 42.4% to 38.2%. By how many "
                                        "percentage points?")},
             0),
        0);
    struct tool_call call = {STR("c1"), STR("calculator"), STR("{\"expression\":\"42.4-38.2\"}")};
    struct reply first = {.content_null = true,
                          .calls = &call,
                          .n_calls = 1,
                          .stop = STOP_TOOL_USE,
                          .stop_raw = STR("tool_calls"),
                          .usage = {100, -1, -1, 10, -1}};
    CU_ASSERT_EQUAL(feed((struct event){.kind = EV_REPLY, .reply = &first}, 412), 0);
    CU_ASSERT_EQUAL(result(413, "c1", "{\"ok\":true,\"expression\":\"42.4-38.2\",\"value\":4.2}"),
                    0);
    struct reply last = {.content = STR("It fell by 4.2 percentage points."),
                         .stop = STOP_END_TURN,
                         .stop_raw = STR("stop"),
                         .usage = {120, -1, -1, 12, -1}};
    CU_ASSERT_EQUAL(feed((struct event){.kind = EV_REPLY, .reply = &last}, 713), 0);
    buf_char(&all_log, '\0');
    CHECK_TEXT(all_log.p, want);
    schema_free(calculator.validator);
    tear_down();
}

/* K4 K5: started in call order, finished as they come, history in call order (I2 I3 I8). */
static void parallel_results_enter_history_in_call_order(void)
{
    set_up();
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"id\":\"1\"}", "b", "lookup", "{\"id\":\"2\"}",
          NULL);
    CU_ASSERT_EQUAL(n_commands, 2);
    CU_ASSERT_EQUAL(result(5, "b", "second"), 0);
    CU_ASSERT_EQUAL(n_commands, 0);
    CU_ASSERT_EQUAL(result(9, "a", "first"), 0);
    CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_MODEL);
    size_t n = 0;
    const struct message *m = kernel_history(k, &n);
    CU_ASSERT_EQUAL_FATAL(n, 4);
    CU_ASSERT_TRUE(str_is(m[2].call_id, "a") && str_is(m[2].content, "first"));
    CU_ASSERT_TRUE(str_is(m[3].call_id, "b") && str_is(m[3].content, "second"));
    check_history();
    CHECK_TEXT(types(), "run_start user_message step_start llm_reply tool_start tool_start "
                        "tool_result tool_result step_start");
    tear_down();
}

static void second_result_for_a_call_is_refused(void)
{
    set_up();
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", "b", "lookup", "{\"id\":\"2\"}", NULL);
    CU_ASSERT_EQUAL(result(2, "a", "x"), 0);
    size_t before = all_log.n;
    CU_ASSERT_EQUAL(result(3, "a", "y"), ERR_STATE);
    CU_ASSERT_EQUAL(result(3, "nobody", "y"), ERR_STATE);
    CU_ASSERT_EQUAL(reply(3, STOP_END_TURN, "early", NULL), ERR_STATE);
    CU_ASSERT_EQUAL(all_log.n, before);
    tear_down();
}

static void time_does_not_run_backwards(void)
{
    set_up();
    begin();
    CU_ASSERT_EQUAL(tick(10), 0);
    CU_ASSERT_EQUAL(tick(9), ERR_STATE);
    tear_down();
}

/* K2: calls decide, not the finish reason. */
static void stop_with_calls_runs_them_and_tool_use_without_is_final(void)
{
    set_up();
    begin();
    reply(1, STOP_END_TURN, "let me look", "a", "lookup", "{}", NULL);
    CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_TOOL);
    result(2, "a", "x");
    reply(3, STOP_TOOL_USE, "done", NULL);
    CU_ASSERT_EQUAL(status(), RUN_COMPLETED);
    tear_down();
}

/* K3: a cut reply is never a success, and its calls never run (I10). */
static void cut_replies_do_not_succeed(void)
{
    set_up();
    begin();
    reply(1, STOP_MAX_TOKENS, NULL, "a", "lookup", "{\"id\":\"1\"", NULL);
    CU_ASSERT_EQUAL(n_commands, 1);
    CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_MODEL);
    CU_ASSERT_TRUE(logged("\"code\":\"TRUNCATED_CALL\""));
    check_history();
    reply(2, STOP_MAX_TOKENS, "half an ans", NULL);
    CU_ASSERT_EQUAL(status(), RUN_TRUNCATED);
    tear_down();
}

static void refusals_and_pauses_are_told_apart(void)
{
    set_up();
    begin();
    reply(1, STOP_PAUSE, "", NULL);
    CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_MODEL);
    reply(2, STOP_REFUSAL, "I cannot help with that.", NULL);
    CU_ASSERT_EQUAL(status(), RUN_REFUSED);
    tear_down();
    set_up();
    begin();
    for (int i = 0; i < 4; i++) {
        reply((uint64_t)i, STOP_PAUSE, "", NULL);
    }
    CU_ASSERT_EQUAL(status(), RUN_NO_PROGRESS);
    tear_down();
}

/* K6 */
static void system_message_stands_once_and_first(void)
{
    set_up();
    config.system = STR("be exact");
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    result(2, "a", "x");
    size_t n = 0, systems = 0;
    const struct message *m = kernel_history(k, &n);
    for (size_t i = 0; i < n; i++) {
        systems += m[i].role == ROLE_SYSTEM;
    }
    CU_ASSERT_TRUE(systems == 1 && m[0].role == ROLE_SYSTEM);
    tear_down();
}

/* K7 */
static void terminal_tool_ends_the_run_before_its_siblings(void)
{
    set_up();
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "refund", "{}", "b", "task_done", "{\"report\":\"ok\"}",
          NULL);
    CU_ASSERT_EQUAL(status(), RUN_COMPLETED);
    CU_ASSERT_EQUAL(n_commands, 1);
    CU_ASSERT_EQUAL(commands[0].kind, CMD_FINISH);
    CU_ASSERT_TRUE(logged("\"answer\":\"{\\\"report\\\":\\\"ok\\\"}\""));
    CU_ASSERT_EQUAL(times_logged("\"type\":\"tool_start\""), 1);
    CU_ASSERT_TRUE(logged("\"call_id\":\"a\",\"name\":\"refund\",\"ok\":false,\"error\":{\"code\":"
                          "\"CANCELLED\""));
    check_history();
    tear_down();
}

static void terminal_tool_with_bad_arguments_does_not_end_the_run(void)
{
    set_up();
    begin();
    reply(1, STOP_TOOL_USE, NULL, "b", "task_done", "{}", NULL);
    CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_MODEL);
    CU_ASSERT_TRUE(logged("BAD_PARAMETERS"));
    tear_down();
}

static void check_reason(const char *want)
{
    struct run_result r;
    CU_ASSERT_FATAL(kernel_result(k, &r));
    CHECK_TEXT(arena_cstr(arena, r.reason), want);
}

/* K8 (I9) */
static void budgets_end_the_run_with_their_status(void)
{
    set_up();
    config.budget.steps = 2;
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", NULL);
    result(2, "a", "x");
    reply(3, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":2}", NULL);
    result(4, "a", "x");
    CU_ASSERT_EQUAL(status(), RUN_MAX_STEPS);
    check_reason("the budget of 2 steps is spent after 2 steps and 30 tokens");
    tear_down();

    set_up();
    config.budget.tokens = 15;
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", NULL);
    CU_ASSERT_EQUAL(status(), RUN_TOKEN_BUDGET);
    CU_ASSERT_EQUAL(times_logged("tool_start"), 0);
    check_history();
    tear_down();

    set_up();
    config.budget.seconds = 1;
    begin();
    CU_ASSERT_EQUAL(kernel_deadline(k), 1000);
    tick(1000);
    CU_ASSERT_EQUAL(status(), RUN_TIME_BUDGET);
    CU_ASSERT_EQUAL(commands[0].kind, CMD_STOP_MODEL);
    check_reason("the budget of 1 second is spent after 1 step");
    tear_down();

    set_up();
    config.budget.calls = 1;
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}", NULL);
    CU_ASSERT_TRUE(logged("\"code\":\"LIMIT\""));
    result(2, "a", "x");
    CU_ASSERT_EQUAL(status(), RUN_CALL_BUDGET);
    check_reason("the budget of 1 tool call is spent after 1 step and 15 tokens");
    tear_down();
}

static void an_answer_in_hand_wins_over_a_spent_budget(void)
{
    set_up();
    config.budget.tokens = 15;
    begin();
    reply(1, STOP_END_TURN, "done", NULL);
    CU_ASSERT_EQUAL(status(), RUN_COMPLETED);
    tear_down();
}

static void calls_beyond_the_limit_of_a_reply_get_an_error(void)
{
    set_up();
    config.budget.calls_per_reply = 1;
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}", NULL);
    CU_ASSERT_EQUAL(n_commands, 1);
    CU_ASSERT_TRUE(logged("\"code\":\"LIMIT\""));
    result(2, "a", "x");
    check_history();
    tear_down();
}

/* K9, block: by canonical arguments. */
static void same_call_again_is_blocked(void)
{
    static const struct {
        const char *first, *second;
        bool same;
    } cases[] = {
        {"{\"id\":\"1\",\"n\":2}", "{ \"n\": 2, \"id\": \"1\" }", true},
        {"{\"n\":1}", "{\"n\":1.0}", true},
        {"{\"n\":9007199254740993}", "{\"n\":9007199254740992}", false},
        {"{\"id\":\"\\u0041\"}", "{\"id\":\"A\"}", true},
        {"{\"id\":\"1\"}", "{\"id\":\"2\"}", false},
        {"", "{}", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set_up();
        begin();
        reply(1, STOP_TOOL_USE, NULL, "a", "lookup", cases[i].first, NULL);
        result(2, "a", "x");
        reply(3, STOP_TOOL_USE, NULL, "b", "lookup", cases[i].second, NULL);
        CU_ASSERT_EQUAL(logged("REPEATED_CALL"), cases[i].same);
        CU_ASSERT_EQUAL(commands[0].kind, cases[i].same ? CMD_CALL_MODEL : CMD_CALL_TOOL);
        tear_down();
    }
}

static void third_same_call_in_a_row_ends_the_run(void)
{
    set_up();
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    result(2, "a", "x");
    reply(3, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    reply(4, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    CU_ASSERT_EQUAL(status(), RUN_REPEATED_CALLS);
    CU_ASSERT_EQUAL(times_logged("REPEATED_CALL"), 2);
    tear_down();
}

static void polling_tools_may_repeat(void)
{
    set_up();
    begin();
    for (uint64_t i = 0; i < 8; i++) {
        reply(2 * i, STOP_TOOL_USE, NULL, "a", "watch", "{}", NULL);
        CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_TOOL);
        result(2 * i + 1, "a", "still running");
    }
    tear_down();
}

static void alternating_calls_end_the_run(void)
{
    set_up();
    begin();
    for (uint64_t i = 0; i < 6; i++) {
        reply(2 * i, STOP_TOOL_USE, NULL, "a", "lookup", i % 2 == 0 ? "{\"n\":1}" : "{\"n\":2}",
              NULL);
        if (i < 2) {
            result(2 * i + 1, "a", "x");
        }
    }
    CU_ASSERT_EQUAL(status(), RUN_REPEATED_CALLS);
    tear_down();
}

static void failed_calls_that_may_be_retried_do_not_count_as_seen(void)
{
    set_up();
    config.tool_retries = 0;
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    tool_fails(2, "a", "TOOL_ERROR", true);
    reply(3, STOP_TOOL_USE, NULL, "b", "lookup", "{}", NULL);
    CU_ASSERT_FALSE(logged("REPEATED_CALL"));
    CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_TOOL);
    tear_down();
}

/* K11 K14 */
static void bad_calls_get_an_error_that_the_model_can_use(void)
{
    static const struct {
        const char *name, *arguments, *code, *says;
    } cases[] = {
        {"lookup", "{\"id\":\"1", "BAD_ARGUMENTS", "arguments incomplete, send them again"},
        {"lookup", "[1]", "BAD_ARGUMENTS", "must be a JSON object, got a list"},
        {"lookup", "id=1", "BAD_ARGUMENTS", "not JSON"},
        {"lookup", "{\"id\":[]}", "BAD_PARAMETERS", "id"},
        {"lookup", "{\"idd\":\"1\"}", "BAD_PARAMETERS", "idd"},
        {"lokup", "{}", "UNKNOWN_TOOL", "did you mean lookup?"},
        {"zzz", "{}", "UNKNOWN_TOOL", "available: lookup, refund"},
        {"", "{}", "UNKNOWN_TOOL", "the call names no tool"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set_up();
        begin();
        reply(1, STOP_TOOL_USE, NULL, "a", cases[i].name, cases[i].arguments, NULL);
        char code[64];
        snprintf(code, sizeof code, "\"ok\":false,\"error\":{\"code\":\"%s\"", cases[i].code);
        CU_ASSERT_TRUE(logged(code));
        CU_ASSERT_TRUE(logged(cases[i].says));
        CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_MODEL);
        size_t n = 0;
        const struct message *m = kernel_history(k, &n);
        CU_ASSERT_TRUE(str_starts(m[n - 1].content, "{\"ok\":false,\"error\":{\"code\":"));
        check_history();
        tear_down();
    }
}

static void arguments_are_coerced_where_the_schema_allows(void)
{
    set_up();
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":\"3\"}", NULL);
    CU_ASSERT_EQUAL_FATAL(commands[0].kind, CMD_CALL_TOOL);
    CU_ASSERT_TRUE(str_is(commands[0].arguments, "{\"n\":3}"));
    CU_ASSERT_TRUE(logged("\"coerced\":\"{\\\"n\\\":3}\""));
    tear_down();
}

static void empty_and_null_arguments_mean_none(void)
{
    static const char *const texts[] = {"", "null", " {} "};
    for (size_t i = 0; i < 3; i++) {
        set_up();
        begin();
        reply(1, STOP_TOOL_USE, NULL, "a", "lookup", texts[i], NULL);
        CU_ASSERT_EQUAL_FATAL(commands[0].kind, CMD_CALL_TOOL);
        CU_ASSERT_TRUE(str_is(commands[0].arguments, "{}"));
        tear_down();
    }
}

static void made_ids_do_not_clash_with_given_ones(void)
{
    set_up();
    begin();
    reply(1, STOP_TOOL_USE, NULL, "", "lookup", "{\"n\":1}", "call_1_1", "lookup", "{\"n\":2}",
          NULL);
    CU_ASSERT_EQUAL_FATAL(n_commands, 2);
    CU_ASSERT_TRUE(str_is(commands[1].call_id, "call_1_1"));
    CU_ASSERT_FALSE(str_eq(commands[0].call_id, commands[1].call_id));
    tear_down();
}

static void retried_failures_are_cut_at_characters(void)
{
    /* 200 characters of three bytes each: the message stays UTF-8 */
    char text[601];
    for (size_t i = 0; i < 600; i += 3) {
        memcpy(text + i, "\xe4\xbb\xb7", 3);
    }
    text[600] = '\0';
    set_up();
    config.tool_retries = 1;
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    struct tool_output o = {.code = STR("TOOL_ERROR"), .message = str_of(text), .retryable = true};
    struct event ev = {.kind = EV_TOOL_RESULT, .call_id = STR("a"), .output = &o};
    feed(ev, 2);
    tick(kernel_deadline(k));
    feed(ev, 5000);
    CU_ASSERT_EQUAL(utf8_invalid_at(buf_str(&all_log)), SIZE_MAX);
    CU_ASSERT_TRUE(logged("(after 1 retry)"));
    tear_down();
}

static void repeated_or_missing_ids_are_made_unique(void)
{
    set_up();
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "a", "lookup", "{\"n\":2}", "",
          "lookup", "{\"n\":3}", NULL);
    CU_ASSERT_EQUAL(n_commands, 3);
    CU_ASSERT_FALSE(str_eq(commands[0].call_id, commands[1].call_id));
    CU_ASSERT_TRUE(commands[2].call_id.n > 0);
    tear_down();
}

/* K12 */
static void transient_failures_of_read_tools_are_retried(void)
{
    set_up();
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    tool_fails(2, "a", "TOOL_ERROR", true);
    CU_ASSERT_TRUE(logged("\"type\":\"tool_retry\""));
    uint64_t due = kernel_deadline(k);
    CU_ASSERT_TRUE(due >= 2 + 100 && due <= 2 + 200);
    tick(due);
    CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_TOOL);
    CU_ASSERT_EQUAL(commands[0].attempt, 2);
    tool_fails(due + 1, "a", "TOOL_ERROR", true);
    CU_ASSERT_TRUE(logged("it broke (after 1 retry)"));
    CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_MODEL);
    tear_down();
}

static void write_tools_and_lasting_failures_are_not_retried(void)
{
    set_up();
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "refund", "{}", "b", "lookup", "{}", NULL);
    tool_fails(2, "a", "TOOL_ERROR", true);
    tool_fails(2, "b", "TOOL_ERROR", false);
    CU_ASSERT_FALSE(logged("tool_retry"));
    CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_MODEL);
    tear_down();
}

/* K22 */
static void serial_tools_run_one_after_another(void)
{
    set_up();
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "in_turn", "{\"i\":1}", "b", "nothing", "{}", "c", "in_turn",
          "{\"i\":2}", NULL);
    CU_ASSERT_EQUAL(n_commands, 1);
    result(2, "a", "x");
    CU_ASSERT_EQUAL(n_commands, 1);
    CU_ASSERT_TRUE(str_is(commands[0].call_id, "c"));
    result(3, "c", "y");
    CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_MODEL);
    CHECK_TEXT(types(), "run_start user_message step_start llm_reply tool_start tool_result "
                        "tool_start tool_result tool_start tool_result step_start");
    tear_down();
}

/* K23 */
static void tools_that_hang_are_stopped(void)
{
    set_up();
    config.tool_retries = 0;
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    CU_ASSERT_EQUAL(kernel_deadline(k), 1 + TOOL_TIMEOUT_MS);
    tick(1 + TOOL_TIMEOUT_MS);
    CU_ASSERT_EQUAL(commands[0].kind, CMD_STOP_TOOL);
    CU_ASSERT_EQUAL(commands[1].kind, CMD_CALL_MODEL);
    CU_ASSERT_TRUE(logged("\"code\":\"TIMEOUT\""));
    CU_ASSERT_EQUAL(result(1 + TOOL_TIMEOUT_MS, "a", "late"), ERR_STATE);
    tear_down();
}

/* K13 */
static void model_failures_are_retried_with_backoff(void)
{
    set_up();
    begin();
    fails(10, FAIL_SERVER, -1);
    uint64_t due = kernel_deadline(k);
    CU_ASSERT_TRUE(due >= 10 + 250 && due <= 10 + 500);
    tick(due);
    CU_ASSERT_EQUAL(commands[0].kind, CMD_CALL_MODEL);
    CU_ASSERT_EQUAL(commands[0].attempt, 2);
    fails(due + 1, FAIL_RATE_LIMIT, 2000);
    CU_ASSERT_EQUAL(kernel_deadline(k), due + 1 + 2000);
    tick(due + 2001);
    fails(due + 2002, FAIL_SERVER, -1);
    CU_ASSERT_EQUAL(status(), RUN_MODEL_ERROR);
    CU_ASSERT_EQUAL(times_logged("\"type\":\"llm_failure\""), 3);
    CU_ASSERT_TRUE(logged("\"final\":true"));
    tear_down();
}

static void lasting_failures_end_the_run_at_once(void)
{
    static const struct {
        enum fail_class class;
        int status;
        const char *message;
        enum run_status ends;
        const char *reason;
    } cases[] = {
        {FAIL_AUTH, 401, "bad key", RUN_MODEL_ERROR, "HTTP 401: bad key"},
        {FAIL_REQUEST, 0, "no such model", RUN_MODEL_ERROR, "no such model"},
        {FAIL_MISS, 0, "not recorded", RUN_CASSETTE_MISS, "not recorded"},
        {FAIL_SCRIPT, 400, "another tool", RUN_SCRIPT_MISMATCH, "another tool"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set_up();
        begin();
        struct failure f = {.class = cases[i].class,
                            .status = cases[i].status,
                            .retry_after_ms = -1,
                            .message = str_of(cases[i].message)};
        feed((struct event){.kind = EV_FAILURE, .failure = &f}, 1);
        CU_ASSERT_EQUAL(status(), cases[i].ends);
        check_reason(cases[i].reason);
        struct run_result r;
        CU_ASSERT(kernel_result(k, &r) && r.failed == cases[i].class);
        tear_down();
    }
}

static void a_shown_part_is_discarded_before_a_retry(void)
{
    set_up();
    begin();
    struct failure f = {.class = FAIL_CONNECT, .retry_after_ms = -1, .shown = true};
    feed((struct event){.kind = EV_FAILURE, .failure = &f}, 2);
    CHECK_TEXT(types(), "run_start user_message step_start llm_failure discard");
    tear_down();
}

/* A miss of a tool can come while tools run. */
static void a_tool_miss_ends_the_run(void)
{
    set_up();
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}", NULL);
    fails(2, FAIL_MISS, -1);
    CU_ASSERT_EQUAL(status(), RUN_CASSETTE_MISS);
    CU_ASSERT_EQUAL(commands[0].kind, CMD_STOP_TOOL);
    check_history();
    tear_down();
}

/* K24 (I2 I7) */
static void cancel_answers_every_open_call(void)
{
    set_up();
    begin();
    reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}", NULL);
    result(2, "a", "x");
    feed((struct event){.kind = EV_CANCEL, .text = STR("interrupted")}, 3);
    CU_ASSERT_EQUAL(status(), RUN_CANCELLED);
    CU_ASSERT_TRUE(n_commands == 2 && commands[0].kind == CMD_STOP_TOOL &&
                   commands[1].kind == CMD_FINISH);
    check_history();
    CHECK_TEXT(types(), "run_start user_message step_start llm_reply tool_start tool_start "
                        "tool_result cancel tool_result run_end");
    CU_ASSERT_EQUAL(tick(4), ERR_STATE);
    CU_ASSERT_EQUAL(n_commands, 0);
    tear_down();
}

static void same_events_give_the_same_log(void)
{
    char *logs[2];
    for (int round = 0; round < 2; round++) {
        set_up();
        begin();
        fails(10, FAIL_SERVER, -1);
        tick(kernel_deadline(k));
        reply(5000, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
        tool_fails(5001, "a", "TIMEOUT", true);
        tick(kernel_deadline(k));
        result(6000, "a", "x");
        reply(6001, STOP_END_TURN, "done", NULL);
        buf_char(&all_log, '\0');
        logs[round] = strdup(all_log.p);
        tear_down();
    }
    CHECK_TEXT(logs[0], logs[1]);
    free(logs[0]);
    free(logs[1]);
}

/* K33: the rules of OpenAI's and Anthropic's APIs on tool messages. */
static void history_check_finds_each_fault(void)
{
    struct tool_call one[] = {{STR("a"), STR("f"), STR("{}")}};
    struct tool_call two[] = {{STR("a"), STR("f"), STR("{}")}, {STR("b"), STR("f"), STR("{}")}};
    struct tool_call twins[] = {{STR("a"), STR("f"), STR("{}")}, {STR("a"), STR("f"), STR("{}")}};
    const struct message system = {.role = ROLE_SYSTEM}, user = {.role = ROLE_USER};
    const struct message asks1 = {.role = ROLE_ASSISTANT, .calls = one, .n_calls = 1};
    const struct message asks2 = {.role = ROLE_ASSISTANT, .calls = two, .n_calls = 2};
    const struct message doubled = {.role = ROLE_ASSISTANT, .calls = twins, .n_calls = 2};
    const struct message a = {.role = ROLE_TOOL, .call_id = STR("a")};
    const struct message b = {.role = ROLE_TOOL, .call_id = STR("b")};
    const struct {
        struct message m[5];
        size_t n;
        const char *says; /* NULL = valid */
    } cases[] = {
        {{system, user, asks2, a, b}, 5, NULL},
        {{user, asks1, a, asks1, a}, 5, NULL},
        {{user, system}, 2, "messages[1]: a system message may only come first"},
        {{user, asks1}, 2, "call a has no result"},
        {{user, asks1, user}, 3, "messages[2]: call a has no result yet"},
        {{user, asks2, b, a}, 4, "messages[2]: expected the result of call a, got b"},
        {{user, asks2, a, user}, 4, "messages[3]: call b has no result yet"},
        {{user, a}, 2, "messages[1]: a result for call a, which nobody made"},
        {{user, asks1, a, a}, 4, "messages[3]: a result for call a, which nobody made"},
        {{user, doubled}, 2, "stands twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e = {0};
        int rc = history_check(cases[i].m, cases[i].n, &e);
        CU_ASSERT_EQUAL(rc, cases[i].says == NULL ? 0 : ERR_STATE);
        if (cases[i].says != NULL && strstr(e.message, cases[i].says) == NULL) {
            CHECK_TEXT(e.message, cases[i].says);
        }
    }
}

TESTS(kernel, {"kernel_answers_without_tools", answers_without_tools},
      {"kernel_gives_the_example_log_byte_for_byte", example_gives_its_log_byte_for_byte},
      {"kernel_puts_parallel_results_in_call_order", parallel_results_enter_history_in_call_order},
      {"kernel_ignores_second_result_for_a_call", second_result_for_a_call_is_refused},
      {"kernel_time_does_not_run_backwards", time_does_not_run_backwards},
      {"kernel_lets_calls_decide_not_the_stop_reason",
       stop_with_calls_runs_them_and_tool_use_without_is_final},
      {"kernel_never_takes_a_cut_reply_for_success", cut_replies_do_not_succeed},
      {"kernel_tells_refusal_and_pause_apart", refusals_and_pauses_are_told_apart},
      {"kernel_keeps_one_system_message_first", system_message_stands_once_and_first},
      {"kernel_ends_at_a_terminal_tool", terminal_tool_ends_the_run_before_its_siblings},
      {"kernel_goes_on_after_a_bad_terminal_call",
       terminal_tool_with_bad_arguments_does_not_end_the_run},
      {"kernel_ends_at_each_budget", budgets_end_the_run_with_their_status},
      {"kernel_prefers_an_answer_to_a_spent_budget", an_answer_in_hand_wins_over_a_spent_budget},
      {"kernel_limits_calls_of_a_reply", calls_beyond_the_limit_of_a_reply_get_an_error},
      {"kernel_blocks_the_same_call_again", same_call_again_is_blocked},
      {"kernel_ends_at_the_third_same_call", third_same_call_in_a_row_ends_the_run},
      {"kernel_lets_polling_tools_repeat", polling_tools_may_repeat},
      {"kernel_ends_at_alternating_calls", alternating_calls_end_the_run},
      {"kernel_does_not_count_retryable_failures_as_seen",
       failed_calls_that_may_be_retried_do_not_count_as_seen},
      {"kernel_answers_bad_calls_with_errors", bad_calls_get_an_error_that_the_model_can_use},
      {"kernel_coerces_arguments_by_schema", arguments_are_coerced_where_the_schema_allows},
      {"kernel_takes_empty_arguments_as_none", empty_and_null_arguments_mean_none},
      {"kernel_made_ids_do_not_clash", made_ids_do_not_clash_with_given_ones},
      {"kernel_cuts_messages_at_characters", retried_failures_are_cut_at_characters},
      {"kernel_makes_call_ids_unique", repeated_or_missing_ids_are_made_unique},
      {"kernel_retries_transient_tool_failures", transient_failures_of_read_tools_are_retried},
      {"kernel_does_not_retry_writes_or_lasting_failures",
       write_tools_and_lasting_failures_are_not_retried},
      {"kernel_runs_serial_tools_in_turn", serial_tools_run_one_after_another},
      {"kernel_stops_tools_that_hang", tools_that_hang_are_stopped},
      {"kernel_retries_model_failures", model_failures_are_retried_with_backoff},
      {"kernel_gives_up_on_lasting_failures", lasting_failures_end_the_run_at_once},
      {"kernel_discards_a_shown_part_before_a_retry", a_shown_part_is_discarded_before_a_retry},
      {"kernel_ends_at_a_tool_miss", a_tool_miss_ends_the_run},
      {"kernel_cancel_answers_open_calls", cancel_answers_every_open_call},
      {"kernel_same_events_same_log", same_events_give_the_same_log},
      {"history_check_finds_each_fault", history_check_finds_each_fault})
