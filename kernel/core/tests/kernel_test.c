/* The loop, driven by hand. Expected values: FEATURES.md's rows (named in the tests), FORMATS.md,
 * and the session in shared/examples. I-numbers are the invariants at the top of kernel.c. */
#include "kernel/core/tests/hand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/text.h"

/* ---- tests ---- */

static void answers_without_tools(void)
{
    hand_set_up();
    hand_begin();
    CU_ASSERT_EQUAL(hand.n_commands, 1);
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_MODEL);
    CU_ASSERT_EQUAL(hand_reply(40, STOP_END_TURN, "hello", NULL), 0);
    CU_ASSERT_EQUAL(hand_status(), RUN_COMPLETED);
    CHECK_TEXT(hand_types(), "run_start user_message step_start llm_reply final run_end");
    CU_ASSERT_TRUE(hand_logged("\"latency_ms\":40,\"attempts\":1"));
    hand_tear_down();
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
    hand_set_up();
    struct tool_spec calculator = hand_tool("calculator", "{\"type\":\"object\"}");
    hand.config.run = STR("5f0c9a31d2e4");
    hand.config.model = STR("fake-1");
    hand.config.tools = &calculator;
    hand.config.n_tools = 1;
    hand.k = kernel_new(&hand.config);
    CU_ASSERT_EQUAL(
        hand_feed(
            (struct event){.kind = EV_USER_MESSAGE,
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
    CU_ASSERT_EQUAL(hand_feed((struct event){.kind = EV_REPLY, .reply = &first}, 412), 0);
    CU_ASSERT_EQUAL(
        hand_result(413, "c1", "{\"ok\":true,\"expression\":\"42.4-38.2\",\"value\":4.2}"), 0);
    struct reply last = {.content = STR("It fell by 4.2 percentage points."),
                         .stop = STOP_END_TURN,
                         .stop_raw = STR("stop"),
                         .usage = {120, -1, -1, 12, -1}};
    CU_ASSERT_EQUAL(hand_feed((struct event){.kind = EV_REPLY, .reply = &last}, 713), 0);
    buf_char(&hand.log, '\0');
    CHECK_TEXT(hand.log.p, want);
    hand.log.n--;
    hand_tear_down();
    schema_free(calculator.validator);
}

/* Started in call order, finished as they come, history in call order (I2 I3 I8). */
static void parallel_results_enter_history_in_call_order(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"id\":\"1\"}", "b", "lookup",
               "{\"id\":\"2\"}", NULL);
    CU_ASSERT_EQUAL(hand.n_commands, 2);
    CU_ASSERT_EQUAL(hand_result(5, "b", "second"), 0);
    CU_ASSERT_EQUAL(hand.n_commands, 0);
    CU_ASSERT_EQUAL(hand_result(9, "a", "first"), 0);
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_MODEL);
    size_t n = 0;
    const struct message *m = kernel_history(hand.k, &n);
    CU_ASSERT_EQUAL_FATAL(n, 4);
    CU_ASSERT_TRUE(str_is(m[2].call_id, "a") && str_is(m[2].content, "first"));
    CU_ASSERT_TRUE(str_is(m[3].call_id, "b") && str_is(m[3].content, "second"));
    hand_check_history();
    CHECK_TEXT(hand_types(), "run_start user_message step_start llm_reply tool_start tool_start "
                             "tool_result tool_result step_start");
    hand_tear_down();
}

static void second_result_for_a_call_is_refused(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", "b", "lookup", "{\"id\":\"2\"}", NULL);
    CU_ASSERT_EQUAL(hand_result(2, "a", "x"), 0);
    size_t before = hand.log.n;
    CU_ASSERT_EQUAL(hand_result(3, "a", "y"), ERR_STATE);
    CU_ASSERT_EQUAL(hand_result(3, "nobody", "y"), ERR_STATE);
    CU_ASSERT_EQUAL(hand_reply(3, STOP_END_TURN, "early", NULL), ERR_STATE);
    CU_ASSERT_EQUAL(hand.log.n, before);
    hand_tear_down();
}

static void time_does_not_run_backwards(void)
{
    hand_set_up();
    hand_begin();
    CU_ASSERT_EQUAL(hand_tick(10), 0);
    CU_ASSERT_EQUAL(hand_tick(9), ERR_STATE);
    hand_tear_down();
}

/* Calls decide, not the finish reason. */
static void stop_with_calls_runs_them_and_tool_use_without_is_final(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_END_TURN, "let me look", "a", "lookup", "{}", NULL);
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_TOOL);
    hand_result(2, "a", "x");
    hand_reply(3, STOP_TOOL_USE, "done", NULL);
    CU_ASSERT_EQUAL(hand_status(), RUN_COMPLETED);
    hand_tear_down();
}

/* A cut reply is never a success, and its calls never run (I10). */
static void cut_replies_do_not_succeed(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_MAX_TOKENS, NULL, "a", "lookup", "{\"id\":\"1\"", NULL);
    CU_ASSERT_EQUAL(hand.n_commands, 1);
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_MODEL);
    CU_ASSERT_TRUE(hand_logged("\"code\":\"TRUNCATED_CALL\""));
    hand_check_history();
    hand_reply(2, STOP_MAX_TOKENS, "half an ans", NULL);
    CU_ASSERT_EQUAL(hand_status(), RUN_TRUNCATED);
    hand_tear_down();
}

static void refusals_and_pauses_are_told_apart(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_PAUSE, "", NULL);
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_MODEL);
    hand_reply(2, STOP_REFUSAL, "I cannot help with that.", NULL);
    CU_ASSERT_EQUAL(hand_status(), RUN_REFUSED);
    hand_tear_down();
    hand_set_up();
    hand_begin();
    for (int i = 0; i < 4; i++) {
        hand_reply((uint64_t)i, STOP_PAUSE, "", NULL);
    }
    CU_ASSERT_EQUAL(hand_status(), RUN_NO_PROGRESS);
    hand_tear_down();
}

static void system_message_stands_once_and_first(void)
{
    hand_set_up();
    hand.config.system = STR("be exact");
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    hand_result(2, "a", "x");
    size_t n = 0, systems = 0;
    const struct message *m = kernel_history(hand.k, &n);
    for (size_t i = 0; i < n; i++) {
        systems += m[i].role == ROLE_SYSTEM;
    }
    CU_ASSERT_TRUE(systems == 1 && m[0].role == ROLE_SYSTEM);
    hand_tear_down();
}

static void terminal_tool_ends_the_run_before_its_siblings(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "refund", "{}", "b", "task_done", "{\"report\":\"ok\"}",
               NULL);
    CU_ASSERT_EQUAL(hand_status(), RUN_COMPLETED);
    CU_ASSERT_EQUAL(hand.n_commands, 1);
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_FINISH);
    CU_ASSERT_TRUE(hand_logged("\"answer\":\"{\\\"report\\\":\\\"ok\\\"}\""));
    CU_ASSERT_EQUAL(hand_times_logged("\"type\":\"tool_start\""), 1);
    CU_ASSERT_TRUE(
        hand_logged("\"call_id\":\"a\",\"name\":\"refund\",\"ok\":false,\"error\":{\"code\":"
                    "\"CANCELLED\""));
    hand_check_history();
    hand_tear_down();
}

static void terminal_tool_with_bad_arguments_does_not_end_the_run(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "b", "task_done", "{}", NULL);
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_MODEL);
    CU_ASSERT_TRUE(hand_logged("BAD_PARAMETERS"));
    hand_tear_down();
}

/* I9 */
static void budgets_end_the_run_with_their_status(void)
{
    hand_set_up();
    hand.config.budget.steps = 2;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", NULL);
    hand_result(2, "a", "x");
    hand_reply(3, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":2}", NULL);
    hand_result(4, "a", "x");
    CU_ASSERT_EQUAL(hand_status(), RUN_MAX_STEPS);
    hand_check_reason("the budget of 2 steps is spent after 2 steps and 30 tokens");
    hand_tear_down();

    hand_set_up();
    hand.config.budget.tokens = 15;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", NULL);
    CU_ASSERT_EQUAL(hand_status(), RUN_TOKEN_BUDGET);
    CU_ASSERT_EQUAL(hand_times_logged("tool_start"), 0);
    hand_check_history();
    hand_tear_down();

    hand_set_up();
    hand.config.budget.seconds = 1;
    hand_begin();
    CU_ASSERT_EQUAL(kernel_deadline(hand.k), 1000);
    hand_tick(1000);
    CU_ASSERT_EQUAL(hand_status(), RUN_TIME_BUDGET);
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_STOP_MODEL);
    hand_check_reason("the budget of 1 second is spent after 1 step");
    hand_tear_down();

    hand_set_up();
    hand.config.budget.calls = 1;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}",
               NULL);
    CU_ASSERT_TRUE(hand_logged("\"code\":\"LIMIT\""));
    hand_result(2, "a", "x");
    CU_ASSERT_EQUAL(hand_status(), RUN_CALL_BUDGET);
    hand_check_reason("the budget of 1 tool call is spent after 1 step and 15 tokens");
    hand_tear_down();
}

/* A reply of 300 characters and a call, and not a word about what it took. */
static void reply_without_usage(uint64_t now, int64_t input, int64_t output)
{
    struct tool_call call = {STR("a"), STR("watch"), STR("{}")};
    struct buf text = {0};
    for (int i = 0; i < 50; i++) {
        buf_addz(&text, "word, ");
    }
    struct reply r = {.content = buf_str(&text),
                      .calls = &call,
                      .n_calls = 1,
                      .stop = STOP_TOOL_USE,
                      .usage = {input, -1, -1, output, -1}};
    CU_ASSERT_EQUAL(hand_feed((struct event){.kind = EV_REPLY, .reply = &r}, now), 0);
    buf_free(&text);
}

/* I9: a word and its comma are two tokens. */
static void tokens_are_estimated_where_the_provider_tells_none(void)
{
    static const struct {
        int64_t input, output, budget;
        size_t steps;
    } cases[] = {{-1, -1, 5000, 100}, {-1, 0, 3000, 100}, {0, -1, 220, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run_result r;
        size_t steps = 0;
        hand_set_up();
        hand.config.budget = (struct budget){1000, cases[i].budget, 120, INT64_MAX, 1000, 10};
        hand_begin();
        while (steps < 100 && kernel_stage(hand.k) != STAGE_ENDED) {
            reply_without_usage(++steps, cases[i].input, cases[i].output);
            if (kernel_stage(hand.k) != STAGE_ENDED) {
                hand_result(steps, "a", "more");
            }
        }
        CU_ASSERT_TRUE_FATAL(kernel_result(hand.k, &r));
        CU_ASSERT_EQUAL(r.status, RUN_TOKEN_BUDGET);
        CU_ASSERT(steps > 1 && steps < 100 && steps <= cases[i].steps);
        CU_ASSERT(str_find(r.reason, STR(" and about ")) != SIZE_MAX);
        CU_ASSERT_EQUAL(r.usage.input, cases[i].input);
        CU_ASSERT_EQUAL(r.usage.output, cases[i].output);
        CU_ASSERT_EQUAL(r.cost_nano, -1);
        CU_ASSERT_EQUAL(hand_logged("\"input\":null"), cases[i].input < 0);
        hand_tear_down();
    }
}

static void an_answer_in_hand_wins_over_a_spent_budget(void)
{
    hand_set_up();
    hand.config.budget.tokens = 15;
    hand_begin();
    hand_reply(1, STOP_END_TURN, "done", NULL);
    CU_ASSERT_EQUAL(hand_status(), RUN_COMPLETED);
    hand_tear_down();
}

static void calls_beyond_the_limit_of_a_reply_get_an_error(void)
{
    hand_set_up();
    hand.config.budget.calls_per_reply = 1;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}",
               NULL);
    CU_ASSERT_EQUAL(hand.n_commands, 1);
    CU_ASSERT_TRUE(hand_logged("\"code\":\"LIMIT\""));
    hand_result(2, "a", "x");
    hand_check_history();
    hand_tear_down();
}

/* By canonical arguments. */
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
        hand_set_up();
        hand_begin();
        hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", cases[i].first, NULL);
        hand_result(2, "a", "x");
        hand_reply(3, STOP_TOOL_USE, NULL, "b", "lookup", cases[i].second, NULL);
        CU_ASSERT_EQUAL(hand_logged("REPEATED_CALL"), cases[i].same);
        CU_ASSERT_EQUAL(hand.commands[0].kind, cases[i].same ? CMD_CALL_MODEL : CMD_CALL_TOOL);
        hand_tear_down();
    }
}

/* However many others were made since. */
static void same_call_much_later_is_blocked(void)
{
    enum { OTHERS = 300 };
    hand_set_up();
    hand.config.budget = (struct budget){2 * OTHERS, INT64_MAX, 100, INT64_MAX, 2 * OTHERS, 10};
    hand_begin();
    uint64_t now = 0;
    for (int i = 0; i < OTHERS; i++) {
        char arguments[32], content[32];
        snprintf(arguments, sizeof arguments, "{\"n\":%d}", i);
        snprintf(content, sizeof content, "result %d", i);
        hand_reply(++now, STOP_TOOL_USE, NULL, "a", "lookup", arguments, NULL);
        CU_ASSERT_EQUAL_FATAL(hand.commands[0].kind, CMD_CALL_TOOL);
        const struct command c = hand.commands[0];
        char id[32];
        snprintf(id, sizeof id, "%.*s", STR_FMT(c.call_id));
        hand_result(++now, id, content);
    }
    CU_ASSERT_FALSE(hand_logged("REPEATED_CALL"));
    for (int i = 0; i < OTHERS; i += 37) {
        char arguments[32];
        snprintf(arguments, sizeof arguments, "{ \"n\": %d }", i);
        hand_reply(++now, STOP_TOOL_USE, NULL, "b", "lookup", arguments, NULL);
        CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_MODEL);
    }
    CU_ASSERT_EQUAL(hand_times_logged("REPEATED_CALL"), (OTHERS + 36) / 37);
    hand_tear_down();
}

static void third_same_call_in_a_row_ends_the_run(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    hand_result(2, "a", "x");
    hand_reply(3, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    hand_reply(4, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    CU_ASSERT_EQUAL(hand_status(), RUN_REPEATED_CALLS);
    CU_ASSERT_EQUAL(hand_times_logged("REPEATED_CALL"), 2);
    hand_tear_down();
}

static void polling_tools_may_repeat(void)
{
    hand_set_up();
    hand_begin();
    for (uint64_t i = 0; i < 8; i++) {
        hand_reply(2 * i, STOP_TOOL_USE, NULL, "a", "watch", "{}", NULL);
        CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_TOOL);
        hand_result(2 * i + 1, "a", "still running");
    }
    hand_tear_down();
}

static void alternating_calls_end_the_run(void)
{
    hand_set_up();
    hand_begin();
    for (uint64_t i = 0; i < 6; i++) {
        hand_reply(2 * i, STOP_TOOL_USE, NULL, "a", "lookup",
                   i % 2 == 0 ? "{\"n\":1}" : "{\"n\":2}", NULL);
        if (i < 2) {
            hand_result(2 * i + 1, "a", "x");
        }
    }
    CU_ASSERT_EQUAL(hand_status(), RUN_REPEATED_CALLS);
    hand_tear_down();
}

static void failed_calls_that_may_be_retried_do_not_count_as_seen(void)
{
    hand_set_up();
    hand.config.tool_retries = 0;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    hand_tool_fails(2, "a", "TOOL_ERROR", true);
    hand_reply(3, STOP_TOOL_USE, NULL, "b", "lookup", "{}", NULL);
    CU_ASSERT_FALSE(hand_logged("REPEATED_CALL"));
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_TOOL);
    hand_tear_down();
}

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
        hand_set_up();
        hand_begin();
        hand_reply(1, STOP_TOOL_USE, NULL, "a", cases[i].name, cases[i].arguments, NULL);
        char code[64];
        snprintf(code, sizeof code, "\"ok\":false,\"error\":{\"code\":\"%s\"", cases[i].code);
        CU_ASSERT_TRUE(hand_logged(code));
        CU_ASSERT_TRUE(hand_logged(cases[i].says));
        CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_MODEL);
        size_t n = 0;
        const struct message *m = kernel_history(hand.k, &n);
        CU_ASSERT_TRUE(str_starts(m[n - 1].content, "{\"ok\":false,\"error\":{\"code\":"));
        hand_check_history();
        hand_tear_down();
    }
}

static void arguments_are_coerced_where_the_schema_allows(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":\"3\"}", NULL);
    CU_ASSERT_EQUAL_FATAL(hand.commands[0].kind, CMD_CALL_TOOL);
    CU_ASSERT_TRUE(str_is(hand.commands[0].arguments, "{\"n\":3}"));
    CU_ASSERT_TRUE(hand_logged("\"coerced\":\"{\\\"n\\\":3}\""));
    hand_tear_down();
}

static void empty_and_null_arguments_mean_none(void)
{
    static const char *const texts[] = {"", "null", " {} "};
    for (size_t i = 0; i < 3; i++) {
        hand_set_up();
        hand_begin();
        hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", texts[i], NULL);
        CU_ASSERT_EQUAL_FATAL(hand.commands[0].kind, CMD_CALL_TOOL);
        CU_ASSERT_TRUE(str_is(hand.commands[0].arguments, "{}"));
        hand_tear_down();
    }
}

static void made_ids_do_not_clash_with_given_ones(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "", "lookup", "{\"n\":1}", "call_1_1", "lookup", "{\"n\":2}",
               NULL);
    CU_ASSERT_EQUAL_FATAL(hand.n_commands, 2);
    CU_ASSERT_TRUE(str_is(hand.commands[1].call_id, "call_1_1"));
    CU_ASSERT_FALSE(str_eq(hand.commands[0].call_id, hand.commands[1].call_id));
    hand_tear_down();
}

static void retried_failures_are_cut_at_characters(void)
{
    /* 200 characters of three bytes each: the message stays UTF-8 */
    char text[601];
    for (size_t i = 0; i < 600; i += 3) {
        memcpy(text + i, "\xe4\xbb\xb7", 3);
    }
    text[600] = '\0';
    hand_set_up();
    hand.config.tool_retries = 1;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    struct tool_output o = {.code = STR("TOOL_ERROR"), .message = str_of(text), .retryable = true};
    struct event ev = {.kind = EV_TOOL_RESULT, .call_id = STR("a"), .output = &o};
    hand_feed(ev, 2);
    hand_tick(kernel_deadline(hand.k));
    hand_feed(ev, 5000);
    CU_ASSERT_EQUAL(utf8_invalid_at(buf_str(&hand.log)), SIZE_MAX);
    CU_ASSERT_TRUE(hand_logged("(after 1 retry)"));
    hand_tear_down();
}

static void repeated_or_missing_ids_are_made_unique(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "a", "lookup", "{\"n\":2}", "",
               "lookup", "{\"n\":3}", NULL);
    CU_ASSERT_EQUAL(hand.n_commands, 3);
    CU_ASSERT_FALSE(str_eq(hand.commands[0].call_id, hand.commands[1].call_id));
    CU_ASSERT_TRUE(hand.commands[2].call_id.n > 0);
    hand_tear_down();
}

static void transient_failures_of_read_tools_are_retried(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    hand_tool_fails(2, "a", "TOOL_ERROR", true);
    CU_ASSERT_TRUE(hand_logged("\"type\":\"tool_retry\""));
    uint64_t due = kernel_deadline(hand.k);
    CU_ASSERT_TRUE(due >= 2 + 100 && due <= 2 + 200);
    hand_tick(due);
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_TOOL);
    CU_ASSERT_EQUAL(hand.commands[0].attempt, 2);
    hand_tool_fails(due + 1, "a", "TOOL_ERROR", true);
    CU_ASSERT_TRUE(hand_logged("it broke (after 1 retry)"));
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_MODEL);
    hand_tear_down();
}

static void write_tools_and_lasting_failures_are_not_retried(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "refund", "{}", "b", "lookup", "{}", NULL);
    hand_tool_fails(2, "a", "TOOL_ERROR", true);
    hand_tool_fails(2, "b", "TOOL_ERROR", false);
    CU_ASSERT_FALSE(hand_logged("tool_retry"));
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_MODEL);
    hand_tear_down();
}

static void serial_tools_run_one_after_another(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "in_turn", "{\"i\":1}", "b", "nothing", "{}", "c",
               "in_turn", "{\"i\":2}", NULL);
    CU_ASSERT_EQUAL(hand.n_commands, 1);
    hand_result(2, "a", "x");
    CU_ASSERT_EQUAL(hand.n_commands, 1);
    CU_ASSERT_TRUE(str_is(hand.commands[0].call_id, "c"));
    hand_result(3, "c", "y");
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_MODEL);
    CHECK_TEXT(hand_types(), "run_start user_message step_start llm_reply tool_start tool_result "
                             "tool_start tool_result tool_start tool_result step_start");
    hand_tear_down();
}

static void tools_that_hang_are_stopped(void)
{
    hand_set_up();
    hand.config.tool_retries = 0;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    CU_ASSERT_EQUAL(kernel_deadline(hand.k), 1 + TOOL_TIMEOUT_MS);
    hand_tick(1 + TOOL_TIMEOUT_MS);
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_STOP_TOOL);
    CU_ASSERT_EQUAL(hand.commands[1].kind, CMD_CALL_MODEL);
    CU_ASSERT_TRUE(hand_logged("\"code\":\"TIMEOUT\""));
    CU_ASSERT_EQUAL(hand_result(1 + TOOL_TIMEOUT_MS, "a", "late"), ERR_STATE);
    hand_tear_down();
}

static void model_failures_are_retried_with_backoff(void)
{
    hand_set_up();
    hand_begin();
    hand_fails(10, FAIL_SERVER, -1);
    uint64_t due = kernel_deadline(hand.k);
    CU_ASSERT_TRUE(due >= 10 + 250 && due <= 10 + 500);
    hand_tick(due);
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_CALL_MODEL);
    CU_ASSERT_EQUAL(hand.commands[0].attempt, 2);
    hand_fails(due + 1, FAIL_RATE_LIMIT, 2000);
    CU_ASSERT_EQUAL(kernel_deadline(hand.k), due + 1 + 2000);
    hand_tick(due + 2001);
    hand_fails(due + 2002, FAIL_SERVER, -1);
    CU_ASSERT_EQUAL(hand_status(), RUN_MODEL_ERROR);
    CU_ASSERT_EQUAL(hand_times_logged("\"type\":\"llm_failure\""), 3);
    CU_ASSERT_TRUE(hand_logged("\"final\":true"));
    hand_tear_down();
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
        hand_set_up();
        hand_begin();
        struct failure f = {.class = cases[i].class,
                            .status = cases[i].status,
                            .retry_after_ms = -1,
                            .message = str_of(cases[i].message)};
        hand_feed((struct event){.kind = EV_FAILURE, .failure = &f}, 1);
        CU_ASSERT_EQUAL(hand_status(), cases[i].ends);
        hand_check_reason(cases[i].reason);
        struct run_result r;
        CU_ASSERT(kernel_result(hand.k, &r) && r.failed == cases[i].class);
        hand_tear_down();
    }
}

static void a_shown_part_is_discarded_before_a_retry(void)
{
    hand_set_up();
    hand_begin();
    struct failure f = {.class = FAIL_CONNECT, .retry_after_ms = -1, .shown = true};
    hand_feed((struct event){.kind = EV_FAILURE, .failure = &f}, 2);
    CHECK_TEXT(hand_types(), "run_start user_message step_start llm_failure discard");
    hand_tear_down();
}

/* A miss of a tool can come while tools run. */
static void a_tool_miss_ends_the_run(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}",
               NULL);
    hand_fails(2, FAIL_MISS, -1);
    CU_ASSERT_EQUAL(hand_status(), RUN_CASSETTE_MISS);
    CU_ASSERT_EQUAL(hand.commands[0].kind, CMD_STOP_TOOL);
    hand_check_history();
    hand_tear_down();
}

/* I2 I7 */
static void cancel_answers_every_open_call(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}",
               NULL);
    hand_result(2, "a", "x");
    hand_feed((struct event){.kind = EV_CANCEL, .text = STR("interrupted")}, 3);
    CU_ASSERT_EQUAL(hand_status(), RUN_CANCELLED);
    CU_ASSERT_TRUE(hand.n_commands == 2 && hand.commands[0].kind == CMD_STOP_TOOL &&
                   hand.commands[1].kind == CMD_FINISH);
    hand_check_history();
    CHECK_TEXT(hand_types(), "run_start user_message step_start llm_reply tool_start tool_start "
                             "tool_result cancel tool_result run_end");
    CU_ASSERT_EQUAL(hand_tick(4), ERR_STATE);
    CU_ASSERT_EQUAL(hand.n_commands, 0);
    hand_tear_down();
}

static void same_events_give_the_same_log(void)
{
    char *logs[2];
    for (int round = 0; round < 2; round++) {
        hand_set_up();
        hand_begin();
        hand_fails(10, FAIL_SERVER, -1);
        hand_tick(kernel_deadline(hand.k));
        hand_reply(5000, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
        hand_tool_fails(5001, "a", "TIMEOUT", true);
        hand_tick(kernel_deadline(hand.k));
        hand_result(6000, "a", "x");
        hand_reply(6001, STOP_END_TURN, "done", NULL);
        buf_char(&hand.log, '\0');
        logs[round] = strdup(hand.log.p);
        hand.log.n--;
        hand_tear_down();
    }
    CHECK_TEXT(logs[0], logs[1]);
    free(logs[0]);
    free(logs[1]);
}

/* The rules of OpenAI's and Anthropic's APIs on tool messages. */
static void history_check_finds_each_fault(void)
{
    struct tool_call one[] = {{STR("a"), STR("f"), STR("{}")}};
    struct tool_call two[] = {{STR("a"), STR("f"), STR("{}")}, {STR("b"), STR("f"), STR("{}")}};
    struct tool_call twins[] = {{STR("a"), STR("f"), STR("{}")}, {STR("a"), STR("f"), STR("{}")}};
    const struct message system = {.role = ROLE_SYSTEM}, user = {.role = ROLE_USER};
    const struct message asks1 = {.role = ROLE_ASSISTANT, .calls = one, .n_calls = 1};
    const struct message asks2 = {.role = ROLE_ASSISTANT, .calls = two, .n_calls = 2};
    const struct message doubled = {.role = ROLE_ASSISTANT, .calls = twins, .n_calls = 2};
    struct tool_call no_id[] = {{STR(""), STR("f"), STR("{}")}};
    struct tool_call no_name[] = {{STR("a"), STR(""), STR("{}")}};
    const struct message idless = {.role = ROLE_ASSISTANT, .calls = no_id, .n_calls = 1};
    const struct message nameless = {.role = ROLE_ASSISTANT, .calls = no_name, .n_calls = 1};
    const struct message asking_user = {.role = ROLE_USER, .calls = one, .n_calls = 1};
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
        {{user, idless}, 2, "messages[1]: call 1 has no id"},
        {{user, nameless}, 2, "messages[1]: call 1 has no tool name"},
        {{asking_user}, 1, "messages[0]: a user message may not call tools"},
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
      {"kernel_estimates_tokens_that_the_provider_does_not_tell",
       tokens_are_estimated_where_the_provider_tells_none},
      {"kernel_prefers_an_answer_to_a_spent_budget", an_answer_in_hand_wins_over_a_spent_budget},
      {"kernel_limits_calls_of_a_reply", calls_beyond_the_limit_of_a_reply_get_an_error},
      {"kernel_blocks_the_same_call_again", same_call_again_is_blocked},
      {"kernel_blocks_a_repeat_after_hundreds_of_others", same_call_much_later_is_blocked},
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
