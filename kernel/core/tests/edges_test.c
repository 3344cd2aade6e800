/* What happens seldom: settings that are off by default, limits, and what comes when something else
 * is under way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/core/tests/hand.h"

/* ---- repeats ---- */

static void cache_gives_earlier_results_of_reads(void)
{
    hand_set_up();
    hand.config.repeat = REPEAT_CACHE;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", "b", "refund", "{}", NULL);
    hand_result(2, "a", "one");
    hand_result(3, "b", "done");
    hand_reply(4, STOP_TOOL_USE, NULL, "c", "lookup", "{}", "d", "refund", "{}", NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 0);
    CU_ASSERT_TRUE(
        hand_logged("\"call_id\":\"c\",\"name\":\"lookup\",\"ok\":true,\"content\":\"one\","
                    "\"latency_ms\":0,\"attempts\":0,\"cached\":true"));
    CU_ASSERT_TRUE(
        hand_logged("\"call_id\":\"d\",\"name\":\"refund\",\"ok\":false,\"error\":{\"code\":"
                    "\"REPEATED_CALL\""));
    hand_tear_down();
}

static void cache_has_nothing_while_the_first_runs(void)
{
    hand_set_up();
    hand.config.repeat = REPEAT_CACHE;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", "b", "lookup", "{}", NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 1);
    CU_ASSERT_TRUE(hand_logged("REPEATED_CALL"));
    hand_tear_down();
}

static void allow_lets_everything_repeat(void)
{
    hand_set_up();
    hand.config.repeat = REPEAT_ALLOW;
    hand_begin();
    for (uint64_t i = 0; i < 14; i++) {
        hand_reply(2 * i, STOP_TOOL_USE, NULL, "a", "lookup",
                   i >= 7 || i % 2 == 0 ? "{\"n\":1}" : "{\"n\":2}", NULL);
        CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 1);
        hand_result(2 * i + 1, "a", "x");
    }
    hand_tear_down();
}

static void the_same_again_is_no_alternation(void)
{
    hand_set_up();
    hand.config.max_consecutive = 10;
    hand_begin();
    for (uint64_t i = 0; i < 7; i++) {
        hand_reply(2 * i, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", NULL);
        if (i == 0) {
            hand_result(1, "a", "x");
        }
        CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
    }
    hand_tear_down();
}

static void each_message_may_repeat_what_an_earlier_one_asked(void)
{
    hand_set_up();
    hand.config.budget.calls = 2;
    hand.config.budget.steps = 3;
    hand_begin();
    for (uint64_t turn = 0; turn < 4; turn++) {
        hand_reply(10 * turn + 1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
        CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 1);
        hand_result(10 * turn + 2, "a", "one");
        hand_reply(10 * turn + 3, STOP_END_TURN, "well", NULL);
        CU_ASSERT_EQUAL(hand_status(), RUN_COMPLETED);
        hand_resume(10 * turn + 4, "and now?");
    }
    CU_ASSERT_FALSE(hand_logged("REPEATED_CALL"));
    hand_tear_down();
}

static void the_same_words_three_times_end_the_run(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_PAUSE, "let me see", NULL);
    hand_reply(2, STOP_PAUSE, "let me see", NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
    hand_reply(3, STOP_PAUSE, "let me see", NULL);
    CU_ASSERT_EQUAL(hand_status(), RUN_NO_PROGRESS);
    hand_tear_down();
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_PAUSE, "one", NULL);
    hand_reply(2, STOP_PAUSE, "two", NULL);
    hand_reply(3, STOP_PAUSE, "three", NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
    hand_tear_down();
}

static void results_that_add_nothing_end_the_run(void)
{
    for (int polling = 0; polling < 2; polling++) {
        hand_set_up();
        hand.config.no_progress = 3;
        hand_begin();
        for (int i = 0; i < 4; i++) {
            char arguments[32];
            snprintf(arguments, sizeof arguments, "{\"n\":%d}", i);
            hand_reply((uint64_t)i, STOP_TOOL_USE, NULL, "a", polling ? "watch" : "lookup",
                       arguments, NULL);
            hand_result((uint64_t)i, "a", "still nothing");
        }
        CU_ASSERT_EQUAL(kernel_stage(hand.k), polling ? STAGE_WORKING : STAGE_ENDED);
        CU_ASSERT_TRUE(polling || hand_status() == RUN_NO_PROGRESS);
        hand_tear_down();
    }
}

/* ---- calls ---- */

static void close_names_are_taken_where_one_is_meant(void)
{
    static const struct {
        const char *name;
        const char *taken; /* NULL = for none */
    } cases[] = {
        {"lokup", "lookup"}, {"lookupp", "lookup"},      {"refnd", "refund"}, {"lok", NULL},
        {"fetch_c", NULL},   {"task-done", "task_done"}, {"watchdogs", NULL}, {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hand_set_up();
        hand.config.close_names = true;
        hand.tools[WATCH].name = STR("fetch_a");
        hand.tools[SERIAL].name = STR("fetch_b");
        hand_begin();
        hand_reply(1, STOP_TOOL_USE, NULL, "a", cases[i].name, "{\"report\":\"x\"}", NULL);
        CU_ASSERT_EQUAL(hand_logged("UNKNOWN_TOOL"), cases[i].taken == NULL);
        if (cases[i].taken != NULL) {
            char name[64];
            snprintf(name, sizeof name, "\"name\":\"%s\"", cases[i].taken);
            CU_ASSERT_TRUE(hand_logged(name));
        }
        hand_tear_down();
    }
}

static void calls_in_the_text_are_taken_where_allowed(void)
{
    static const struct {
        const char *text;
        bool taken;
    } cases[] = {
        {"I look:\n```json\n{\"name\":\"lookup\",\"arguments\":{\"n\":1}}\n```\n", true},
        {"```\n{\"name\":\"lookup\",\"arguments\":{}}```", true},
        {"{\"name\":\"lookup\",\"arguments\":{}}", false},
        {"```{\"name\":\"lookup\",\"arguments\":{}}```", false},
        {"```json\n{\"name\":\"lookup\",\"arguments\":{}}", false},
        {"```a``` is code\n", false},
        {"```json\n{\"name\":\"lookup\",\"arguments\":{}}\n```\n```\nmore\n```", false},
        {"```json\n\n```", false},
        {"```json\n{\"name\":\"lookup\"\n```", false},
        {"```json\n{\"name\":\"lookup\"}\n```", false},
        {"```json\n{\"name\":\"\",\"arguments\":{}}\n```", false},
        {"```json\n{\"name\":\"lookup\",\"arguments\":\"{}\"}\n```", false},
        {"```json\n{\"name\":\"nobody\",\"arguments\":{}}\n```", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int on = 0; on < 2; on++) {
            hand_set_up();
            hand.config.fenced_calls = on == 1;
            hand_begin();
            hand_reply(1, STOP_END_TURN, cases[i].text, NULL);
            CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), cases[i].taken && on ? 1 : 0);
            hand_tear_down();
        }
    }
    hand_set_up(); /* a reply that calls is taken at its word */
    hand.config.fenced_calls = true;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, cases[0].text, "a", "watch", "{}", NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 1);
    CU_ASSERT_TRUE(str_is(hand.commands[0].name, "watch"));
    hand_tear_down();
}

static void made_ids_avoid_earlier_ones(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "call_1_2", "lookup", "{\"n\":1}", "", "lookup", "{\"n\":2}",
               NULL);
    CU_ASSERT_EQUAL_FATAL(hand_commanded(CMD_CALL_TOOL), 2);
    CU_ASSERT_TRUE(str_is(hand.commands[1].call_id, "call_1_2_"));
    hand_tear_down();
}

static void coercion_mends_all_or_nothing(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":\"3\",\"x\":1}", NULL);
    CU_ASSERT_TRUE(hand_logged("BAD_PARAMETERS"));
    CU_ASSERT_FALSE(hand_logged("\"coerced\""));
    hand_tear_down();
}

static void many_tools_are_not_all_listed(void)
{
    struct tool_spec many[25];
    char names[25][16];
    hand_set_up();
    for (size_t i = 0; i < 25; i++) {
        snprintf(names[i], sizeof names[i], "tool_%02zu", i);
        many[i] = hand.tools[LOOKUP];
        many[i].name = str_of(names[i]);
    }
    hand.config.tools = many;
    hand.config.n_tools = 25;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "zzz", "{}", NULL);
    CU_ASSERT_TRUE(hand_logged("tool_18, tool_19\""));
    hand_tear_down();
    hand_set_up();
    hand.config.n_tools = 0;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "zzz", "{}", NULL);
    CU_ASSERT_TRUE(hand_logged("no tools are offered: answer without"));
    hand_tear_down();
}

static void a_terminal_call_may_come_last(void)
{
    hand_set_up();
    hand.config.budget.calls_per_reply = 1;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", "b", "task_done", "{\"report\":\"x\"}",
               NULL);
    CU_ASSERT_EQUAL(hand_status(), RUN_COMPLETED);
    hand_tear_down();
}

/* More commands wait at once than there was room for at first, twice. */
static void many_calls_start_in_order(void)
{
    struct tool_call calls[40];
    char arguments[40][16];
    hand_set_up();
    hand.config.budget.calls_per_reply = 40;
    hand_begin();
    for (int i = 0; i < 40; i++) {
        snprintf(arguments[i], sizeof arguments[i], "{\"n\":%d}", i);
        calls[i] = (struct tool_call){STR(""), STR("lookup"), str_of(arguments[i])};
    }
    struct reply r = {.content_null = true, .calls = calls, .n_calls = 40, .usage = USAGE_UNKNOWN};
    hand_feed((struct event){.kind = EV_REPLY, .reply = &r}, 1);
    CU_ASSERT_EQUAL_FATAL(hand_commanded(CMD_CALL_TOOL), 40);
    for (uint32_t i = 0; i < 40; i++) {
        CU_ASSERT_EQUAL(hand.commands[i].order, i + 1);
    }
    hand_tear_down();
}

/* ---- approval ---- */

static void always_holds_for_the_tool(void)
{
    hand_set_up();
    hand.config.tiers[TIER_WRITE] = TIER_POLICY_ASK;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "refund", "{\"n\":1}", "b", "refund", "{\"n\":2}", "c",
               "set_key", "{}", NULL);
    hand_approve(2, "a", DECIDED_ALWAYS);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 2);
    CU_ASSERT_EQUAL(hand_commanded(CMD_ASK_APPROVAL), 1);
    hand_result(3, "b", "done"); /* while c waits */
    CU_ASSERT_EQUAL(hand.n_commands, 0);
    hand_approve(4, "c", DECIDED_DENY);
    hand_result(5, "a", "done");
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
    hand_crash(SIZE_MAX);
    hand_resume(6, NULL); /* remembered after a crash */
    hand_reply(7, STOP_TOOL_USE, NULL, "a", "refund", "{\"n\":3}", NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 1);
    hand_tear_down();
}

static void denied_tiers_are_never_carried_out(void)
{
    hand_set_up();
    hand.config.tiers[TIER_WRITE] = TIER_POLICY_DENY;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "refund", "{}", NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 0);
    CU_ASSERT_TRUE(hand_logged("\"code\":\"DENIED\""));
    hand_tear_down();
}

static void serial_calls_wait_for_approval(void)
{
    hand_set_up();
    hand.config.tiers[TIER_READ] = TIER_POLICY_ASK;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "in_turn", "{\"n\":1}", "b", "in_turn", "{\"n\":2}",
               NULL);
    hand_approve(2, "a", DECIDED_ALLOW);
    CU_ASSERT_EQUAL(hand_commanded(CMD_ASK_APPROVAL), 0);
    hand_result(3, "a", "one");
    CU_ASSERT_EQUAL(hand_commanded(CMD_ASK_APPROVAL), 1);
    hand_approve(4, "b", DECIDED_DENY);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
    hand_tear_down();
}

/* ---- summaries ---- */

/* A session that has just asked for a summary. */
static void ask_summary(void)
{
    char text[600];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    hand_set_up();
    hand.config.context_tokens = 400;
    hand.config.compaction = COMPACT_SUMMARISE;
    hand.config.keep_steps = 1;
    hand_begin();
    for (int i = 0; hand_commanded(CMD_SUMMARISE) == 0 && i < 10; i++) {
        char arguments[16];
        snprintf(arguments, sizeof arguments, "{\"n\":%d}", i);
        hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", arguments, NULL);
        hand_result(1, "a", text);
    }
    CU_ASSERT_EQUAL(hand_commanded(CMD_SUMMARISE), 1);
}

static void a_step_goes_on_without_its_summary(void)
{
    ask_summary();
    CU_ASSERT_EQUAL(hand_reply(2, STOP_END_TURN, "no", NULL), ERR_STATE);
    hand_fails(2, FAIL_SERVER, -1);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
    CU_ASSERT_TRUE(hand_logged("\"summary\":null}"));
    hand_tear_down();
}

static void a_miss_of_a_summary_ends_the_run(void)
{
    ask_summary();
    hand_fails(2, FAIL_MISS, -1);
    CU_ASSERT_EQUAL(hand_status(), RUN_CASSETTE_MISS);
    CU_ASSERT_EQUAL(hand_commanded(CMD_STOP_MODEL), 0);
    hand_tear_down();
}

static void a_cancelled_summary_is_stopped(void)
{
    ask_summary();
    hand_cancel(2);
    CU_ASSERT_EQUAL(hand_commanded(CMD_STOP_MODEL), 1);
    hand_resume(3, NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_SUMMARISE), 1);
    hand_tear_down();
}

static void a_summary_counts_in_the_budget(void)
{
    ask_summary();
    struct reply r = {.usage = {100000, -1, -1, 5, -1}};
    hand_feed((struct event){.kind = EV_SUMMARY, .text = STR("long"), .reply = &r}, 2);
    CU_ASSERT_EQUAL(hand_status(), RUN_TOKEN_BUDGET);
    CU_ASSERT_EQUAL(hand_commanded(CMD_STOP_MODEL), 0);
    CU_ASSERT_TRUE(hand_logged("\"summary\":\"long\",\"usage\":{\"input\":100000,"));
    hand_tear_down();
}

static void a_summary_is_asked_for_again_after_a_crash(void)
{
    ask_summary();
    hand_crash(SIZE_MAX);
    hand_resume(2, NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_SUMMARISE), 1);
    hand_feed((struct event){.kind = EV_SUMMARY, .text = STR("seen")}, 3);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
    CU_ASSERT_TRUE(hand_logged("\"summary\":\"seen\"}"));
    hand_tear_down();
}

/* 400 characters of three bytes are not long. */
static void short_results_stay_whole(void)
{
    char text[1201];
    for (size_t i = 0; i < 1200; i += 3) {
        memcpy(text + i, "\xe4\xbb\xb7", 3);
    }
    text[1200] = '\0';
    hand_set_up();
    hand.config.context_tokens = 200;
    hand.config.keep_steps = 1;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", NULL);
    hand_result(1, "a", text);
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":2}", NULL);
    hand_result(1, "a", text);
    CU_ASSERT_TRUE(hand_logged("\"dropped\":2,\"shortened\":0"));
    hand_tear_down();
}

/* Older turns go first, whole; then older steps of this one. */
static void turns_are_dropped_before_steps(void)
{
    char text[800];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    hand_set_up();
    hand.config.context_tokens = 300;
    hand.config.keep_steps = 1;
    hand.config.n_tools = 1;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", NULL);
    hand_result(1, "a", "something about one that is not so very short, and more of it, and more");
    hand_reply(1, STOP_END_TURN, "well", NULL);
    hand_resume(2, "and now?");
    CU_ASSERT_FALSE(hand_logged("compaction"));
    for (int i = 2; i < 5; i++) {
        char arguments[16];
        snprintf(arguments, sizeof arguments, "{\"n\":%d}", i);
        hand_reply(2, STOP_TOOL_USE, NULL, "a", "lookup", arguments, NULL);
        hand_result(2, "a", text);
    }
    CU_ASSERT_TRUE(hand_logged("\"dropped\":4,"));
    CU_ASSERT_TRUE(hand_logged("\"dropped\":2,"));
    size_t n = hand_messages();
    CU_ASSERT_EQUAL(hand_message(n - 1)->notice, true);
    CU_ASSERT_TRUE(str_is(hand_message(n - 2)->content, "and now?"));
    CU_ASSERT_EQUAL(hand_message(n - 3)->notice, true);
    hand_check_history();
    hand_tear_down();
}

/* ---- crashes ---- */

static void a_cold_run_may_be_cancelled(void)
{
    for (int tools = 0; tools < 2; tools++) {
        hand_set_up();
        hand_begin();
        if (tools == 1) {
            hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
        }
        hand_crash(SIZE_MAX);
        CU_ASSERT_EQUAL(hand_tick(2), ERR_STATE);
        CU_ASSERT_EQUAL(hand_cancel(2), 0);
        CU_ASSERT_EQUAL(hand_commanded(CMD_FINISH), 1);
        CU_ASSERT_TRUE(hand_logged("\"type\":\"resume\""));
        CU_ASSERT_EQUAL(hand_status(), RUN_CANCELLED);
        CU_ASSERT_EQUAL(hand_cancel(3), ERR_STATE);
        hand_tear_down();
    }
}

/* Going on is what ends such a run, before the cancel can. */
static void a_cold_run_may_have_ended_when_it_is_cancelled(void)
{
    hand_set_up();
    hand.config.budget.steps = 1;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "refund", "{}", NULL);
    hand_crash(SIZE_MAX);
    CU_ASSERT_EQUAL(hand_cancel(2), 0);
    CU_ASSERT_EQUAL(hand_status(), RUN_MAX_STEPS);
    hand_crash(SIZE_MAX);
    CU_ASSERT_EQUAL(hand_cancel(3), ERR_STATE);
    hand_tear_down();
    hand_set_up();
    hand_begin();
    hand_crash(1);
    CU_ASSERT_EQUAL(hand_cancel(3), 0);
    CHECK_TEXT(hand_types(), "run_start cancel run_end");
    hand_tear_down();
}

/* What a driver has not been told to begin, it is not told to stop. */
static void what_was_not_begun_is_not_stopped(void)
{
    struct tool_call calls[] = {{STR("a"), STR("lookup"), STR("{}")},
                                {STR("b"), STR("watch"), STR("{}")},
                                {STR("c"), STR("refund"), STR("{}")}};
    struct reply r = {.content_null = true, .calls = calls, .n_calls = 3, .usage = USAGE_UNKNOWN};
    struct event reply = {.kind = EV_REPLY, .reply = &r};
    struct command c;
    hand_set_up();
    hand_begin();
    CU_ASSERT_EQUAL(kernel_feed(hand.k, &reply, 1), 0);
    CU_ASSERT_TRUE(kernel_poll(hand.k, &c) && str_is(c.call_id, "a"));
    CU_ASSERT_EQUAL(kernel_feed(hand.k, &(struct event){.kind = EV_CANCEL, .text = STR("stop")}, 1),
                    0);
    CU_ASSERT_TRUE(kernel_poll(hand.k, &c) && c.kind == CMD_STOP_TOOL && str_is(c.call_id, "a"));
    CU_ASSERT_TRUE(kernel_poll(hand.k, &c) && c.kind == CMD_FINISH);
    CU_ASSERT_FALSE(kernel_poll(hand.k, &c));
    buf_add(&hand.log, kernel_take_log(hand.k));
    hand_tear_down();
    hand_set_up();
    hand.k = kernel_new(&hand.config);
    CU_ASSERT_EQUAL(
        kernel_feed(hand.k, &(struct event){.kind = EV_USER_MESSAGE, .text = STR("go")}, 1), 0);
    CU_ASSERT_EQUAL(kernel_feed(hand.k, &(struct event){.kind = EV_CANCEL, .text = STR("stop")}, 1),
                    0);
    CU_ASSERT_TRUE(kernel_poll(hand.k, &c) && c.kind == CMD_FINISH);
    buf_add(&hand.log, kernel_take_log(hand.k));
    hand_tear_down();
}

static void a_live_run_cannot_be_resumed(void)
{
    hand_set_up();
    hand_begin();
    CU_ASSERT_EQUAL(hand_resume(1, "and"), ERR_STATE);
    hand_reply(2, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    CU_ASSERT_EQUAL(hand_resume(3, NULL), ERR_STATE);
    hand_tear_down();
}

static void a_run_that_nobody_began_begins(void)
{
    for (int how = 0; how < 2; how++) {
        hand_set_up();
        hand_begin();
        hand_crash(1);
        CU_ASSERT_EQUAL(kernel_stage(hand.k), STAGE_WAITING);
        CU_ASSERT_EQUAL(hand_resume(0, NULL), ERR_STATE);
        int rc = how == 0
                     ? hand_resume(7, "go")
                     : hand_feed((struct event){.kind = EV_USER_MESSAGE, .text = STR("go")}, 7);
        CU_ASSERT_EQUAL(rc, 0);
        CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
        hand_tear_down();
    }
}

static void waiting_calls_go_on_at_once(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    hand_tool_fails(2, "a", "TOOL_ERROR", true);
    hand_crash(SIZE_MAX);
    hand_resume(3, NULL);
    CU_ASSERT_EQUAL_FATAL(hand_commanded(CMD_CALL_TOOL), 1);
    CU_ASSERT_EQUAL(hand.commands[0].attempt, 2);
    hand_result(4, "a", "one");
    hand_fails(5, FAIL_SERVER, -1);
    hand_crash(SIZE_MAX);
    hand_resume(6, NULL);
    CU_ASSERT_EQUAL_FATAL(hand_commanded(CMD_CALL_MODEL), 1);
    CU_ASSERT_EQUAL(hand.commands[0].attempt, 1);
    hand_tear_down();
}

/* A cancel in the very millisecond in which a retry is due: whether the driver woke the loop before
 * makes no difference, since no line tells it. */
static void a_missed_wake_up_makes_no_difference(void)
{
    char *logs[2];
    for (int woken = 0; woken < 2; woken++) {
        hand_set_up();
        hand_begin();
        hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
        hand_tool_fails(2, "a", "TOOL_ERROR", true);
        uint64_t due = kernel_deadline(hand.k);
        if (woken == 1) {
            hand_tick(due);
        }
        hand_cancel(due);
        logs[woken] = strndup(hand.log.p, hand.log.n);
        hand_tear_down();
    }
    CHECK_TEXT(logs[0], logs[1]);
    free(logs[0]);
    free(logs[1]);
    hand_set_up(); /* the same with the model's retry */
    hand_begin();
    hand_fails(1, FAIL_SERVER, -1);
    hand_cancel(kernel_deadline(hand.k));
    CU_ASSERT_EQUAL(hand_status(), RUN_CANCELLED);
    hand_tear_down();
}

/* A tool that is gone answers for each call of it, wherever the call stood. */
static void lost_tools_answer_their_calls(void)
{
    for (int how = 0; how < 4; how++) {
        hand_set_up();
        hand.config.tiers[TIER_READ] = how == 2 ? TIER_POLICY_ASK : TIER_POLICY_ALLOW;
        hand_begin();
        hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
        if (how == 1) {
            hand_tool_fails(2, "a", "TOOL_ERROR", true);
        }
        hand_crash(how == 3 ? hand_lines() - 1 : SIZE_MAX);
        struct kernel_config c = hand.config;
        c.tools = hand.tools + 1;
        c.n_tools = N_TOOLS - 1;
        CU_ASSERT_EQUAL(hand_feed((struct event){.kind = EV_RESUME, .config = &c}, 3), 0);
        CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 0);
        CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
        CU_ASSERT_TRUE(hand_logged(how == 0 ? "whether it took effect" : "offered no more"));
        hand_tear_down();
    }
}

static void what_the_user_says_comes_before_open_calls(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "refund", "{}", NULL);
    hand_crash(SIZE_MAX);
    hand_resume(2, "stop that");
    CHECK_TEXT(hand_types(), "run_start user_message step_start llm_reply tool_start resume "
                             "tool_result user_message step_start");
    CU_ASSERT_TRUE(str_is(hand_message(0)->content, "stop that"));
    hand_tear_down();
}

/* Which ends wait for the user. */
static void resume_goes_on_or_waits(void)
{
    static const struct {
        enum stop_reason stop;
        const char *text;
        bool waits;
    } cases[] = {{STOP_END_TURN, "well", true},
                 {STOP_REFUSAL, "no", true},
                 {STOP_MAX_TOKENS, "wel", true},
                 {STOP_PAUSE, "a", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hand_set_up();
        hand_begin();
        hand_reply(1, cases[i].stop, cases[i].text, NULL);
        if (cases[i].stop == STOP_PAUSE) {
            hand_cancel(2);
        }
        CU_ASSERT_EQUAL(hand_resume(3, NULL), 0);
        CU_ASSERT_EQUAL(kernel_stage(hand.k), cases[i].waits ? STAGE_WAITING : STAGE_WORKING);
        CU_ASSERT_EQUAL(kernel_deadline(hand.k) == UINT64_MAX, cases[i].waits);
        hand_tear_down();
    }
    hand_set_up(); /* a terminal call is an answer */
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "task_done", "{\"report\":\"x\"}", NULL);
    hand_resume(2, NULL);
    CU_ASSERT_EQUAL(kernel_stage(hand.k), STAGE_WAITING);
    CU_ASSERT_EQUAL(hand_tick(500000), 0); /* a run that waits has no time limit */
    hand_tear_down();
}

/* ---- numbers ---- */

static void waits_grow_to_their_cap(void)
{
    hand_set_up();
    hand.config.model_attempts = 6;
    hand.config.backoff_cap_ms = 1500;
    hand_begin();
    uint64_t now = 0;
    static const uint64_t most[] = {500, 1000, 1500, 1500, 1500};
    for (size_t i = 0; i < 5; i++) {
        hand_fails(now, FAIL_OVERLOADED, -1);
        uint64_t wait = kernel_deadline(hand.k) - now;
        CU_ASSERT_TRUE(wait >= most[i] / 2 && wait <= most[i]);
        now += wait;
        hand_tick(now);
    }
    hand_tear_down();
}

static void absurd_counts_are_unknown(void)
{
    const struct price price = {.input = PRICE_NANO_MAX,
                                .cached = -1,
                                .cache_write = -1,
                                .output = PRICE_NANO_MAX,
                                .reasoning = -1};
    hand_set_up();
    hand.config.price = &price;
    hand.config.budget.tokens = INT64_MAX;
    hand.config.budget.cost_nano = INT64_MAX;
    hand_begin();
    struct tool_call call = {STR("a"), STR("watch"), STR("{}")};
    struct reply r = {.calls = &call, .n_calls = 1, .usage = {1000000000, -1, -1, 0, -1}};
    for (uint64_t i = 0; i < 5; i++) { /* 10^18 each: the fifth does not fit */
        hand_feed((struct event){.kind = EV_REPLY, .reply = &r}, i);
        hand_result(i, "a", "x");
    }
    r.usage = (struct usage){INT64_MAX, INT64_MAX, -7, INT64_MAX, 3};
    hand_feed((struct event){.kind = EV_REPLY, .reply = &r}, 9);
    hand_cancel(10);
    struct run_result result;
    CU_ASSERT_TRUE_FATAL(kernel_result(hand.k, &result));
    CU_ASSERT_EQUAL(result.cost_nano, -1);
    CU_ASSERT_EQUAL(result.usage.input, -1);
    CU_ASSERT_TRUE(hand_logged("\"usage\":{\"input\":null,\"cached\":null,\"cache_write\":null,"
                               "\"output\":null,\"reasoning\":3}"));
    hand_tear_down();
}

static void prices_beyond_the_most_are_unknown(void)
{
    const struct usage u = {10, 1, 1, 10, 1};
    const struct price fair = {1000000, 1, 1, 1000000, 1, NULL, 0};
    CU_ASSERT_TRUE(usage_cost_nano(&u, &fair) >= 0);
    const size_t parts[] = {offsetof(struct price, input), offsetof(struct price, cached),
                            offsetof(struct price, cache_write), offsetof(struct price, output),
                            offsetof(struct price, reasoning)};
    for (size_t i = 0; i < 5; i++) {
        struct price p = fair;
        memcpy((char *)&p + parts[i], &(int64_t){PRICE_NANO_MAX + 1}, sizeof(int64_t));
        CU_ASSERT_EQUAL(usage_cost_nano(&u, &p), -1);
        CU_ASSERT_FALSE(price_equal(&p, &fair));
    }
    const struct usage many = {1000000001, -1, -1, 0, -1}, more = {0, -1, -1, 1000000001, -1};
    CU_ASSERT_EQUAL(usage_cost_nano(&many, &fair), -1);
    CU_ASSERT_EQUAL(usage_cost_nano(&more, &fair), -1);
}

static void a_reply_without_content_is_null(void)
{
    hand_set_up();
    hand_begin();
    struct tool_call call = {STR("a"), STR("lookup"), STR("{}")};
    struct reply r = {.content = {NULL, 0}, .calls = &call, .n_calls = 1, .usage = USAGE_UNKNOWN};
    hand_feed((struct event){.kind = EV_REPLY, .reply = &r}, 1);
    hand_result(2, "a", "one");
    CU_ASSERT_TRUE(hand_message(1)->content_null);
    CU_ASSERT_TRUE(hand_logged("\"content\":null"));
    hand_tear_down();
}

TESTS(edges,
      {"kernel_gives_earlier_results_of_reads_from_its_cache",
       cache_gives_earlier_results_of_reads},
      {"kernel_has_no_cached_result_while_the_first_runs", cache_has_nothing_while_the_first_runs},
      {"kernel_lets_everything_repeat_where_allowed", allow_lets_everything_repeat},
      {"kernel_tells_repetition_from_alternation", the_same_again_is_no_alternation},
      {"kernel_counts_repeats_and_budgets_by_message",
       each_message_may_repeat_what_an_earlier_one_asked},
      {"kernel_ends_at_the_same_words_three_times", the_same_words_three_times_end_the_run},
      {"kernel_ends_when_results_add_nothing", results_that_add_nothing_end_the_run},
      {"kernel_takes_close_names_where_one_is_meant", close_names_are_taken_where_one_is_meant},
      {"kernel_takes_calls_in_the_text_where_allowed", calls_in_the_text_are_taken_where_allowed},
      {"kernel_made_ids_avoid_earlier_ones", made_ids_avoid_earlier_ones},
      {"kernel_coerces_all_or_nothing", coercion_mends_all_or_nothing},
      {"kernel_does_not_list_many_tools", many_tools_are_not_all_listed},
      {"kernel_lets_a_terminal_call_come_last", a_terminal_call_may_come_last},
      {"kernel_starts_many_calls_in_order", many_calls_start_in_order},
      {"kernel_remembers_always", always_holds_for_the_tool},
      {"kernel_never_carries_out_denied_tiers", denied_tiers_are_never_carried_out},
      {"kernel_asks_in_turn_in_a_serial_batch", serial_calls_wait_for_approval},
      {"kernel_goes_on_without_a_summary", a_step_goes_on_without_its_summary},
      {"kernel_ends_at_a_miss_of_a_summary", a_miss_of_a_summary_ends_the_run},
      {"kernel_stops_a_cancelled_summary", a_cancelled_summary_is_stopped},
      {"kernel_counts_a_summary_in_the_budget", a_summary_counts_in_the_budget},
      {"kernel_asks_again_for_a_summary_after_a_crash", a_summary_is_asked_for_again_after_a_crash},
      {"kernel_leaves_short_results_whole", short_results_stay_whole},
      {"kernel_drops_turns_before_steps", turns_are_dropped_before_steps},
      {"kernel_may_be_cancelled_when_cold", a_cold_run_may_be_cancelled},
      {"kernel_may_have_ended_when_it_is_cancelled_cold",
       a_cold_run_may_have_ended_when_it_is_cancelled},
      {"kernel_stops_only_what_was_begun", what_was_not_begun_is_not_stopped},
      {"kernel_cannot_be_resumed_while_it_runs", a_live_run_cannot_be_resumed},
      {"kernel_begins_a_run_that_nobody_began", a_run_that_nobody_began_begins},
      {"kernel_goes_on_at_once_after_a_crash", waiting_calls_go_on_at_once},
      {"kernel_does_not_depend_on_wake_ups_that_are_not_logged",
       a_missed_wake_up_makes_no_difference},
      {"kernel_answers_calls_of_lost_tools", lost_tools_answer_their_calls},
      {"kernel_hears_the_user_before_open_calls", what_the_user_says_comes_before_open_calls},
      {"kernel_goes_on_or_waits_by_how_it_ended", resume_goes_on_or_waits},
      {"kernel_waits_grow_to_their_cap", waits_grow_to_their_cap},
      {"kernel_takes_absurd_counts_for_unknown", absurd_counts_are_unknown},
      {"kernel_knows_no_cost_beyond_the_most", prices_beyond_the_most_are_unknown},
      {"kernel_takes_no_content_for_null", a_reply_without_content_is_null})
