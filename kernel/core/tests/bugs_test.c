/* Bugs that people report of other agent kernels, each as a test that fails where the loop has it.
 * hand_tear_down also checks the invariants of every one of these sessions, and feeds its log
 * again.
 *
 * Elsewhere, since they are no matters of the loop:
 * - usage summed per chunk: kernel/wire/tests/quirks.txt, "usage in a last chunk without choices,
 *   and cumulative before it".
 * - the write of the log failed: here for what follows; the failing write itself in kernel/drive,
 *   session_is_cancelled_when_its_log_cannot_be_kept, and at each line of a run in cli (crash).
 * - a throwing hook hangs the loop: there are no hooks, the loop calls nobody (kernel.h). Here a
 *   driver that fails; what its callbacks may do: session_may_be_cancelled_from_its_callbacks.
 * - Retry-After in seconds, as a date, in ms: kernel/wire/tests/quirks.txt.
 * - a torn line in the file itself: here for the bytes; the file in cli (resume). */
#include <stdio.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/core/tests/hand.h"

/* The results at the end of the history, oldest first, are of these calls and say these things. */
static void check_results(size_t n, const char *const pairs[][2])
{
    for (size_t i = 0; i < n; i++) {
        const struct message *m = hand_message(n - 1 - i);
        CU_ASSERT_EQUAL(m->role, ROLE_TOOL);
        CHECK_TEXT(arena_cstr(hand.arena, m->call_id), pairs[i][0]);
        if (strstr(arena_cstr(hand.arena, m->content), pairs[i][1]) == NULL) {
            CHECK_TEXT(arena_cstr(hand.arena, m->content), pairs[i][1]);
        }
    }
}

/* A reply that calls lookup with {"n": n}. */
static void look_up(uint64_t now, const char *id, int n)
{
    char arguments[32];
    snprintf(arguments, sizeof arguments, "{\"n\":%d}", n);
    CU_ASSERT_EQUAL(hand_reply(now, STOP_TOOL_USE, NULL, id, "lookup", arguments, NULL), 0);
}

/* ---- cancel ---- */

static void cancel_answers_every_call(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "refund", "{}", NULL);
    hand_result(2, "a", "one");
    CU_ASSERT_EQUAL(hand_cancel(3), 0);
    CU_ASSERT_EQUAL(hand_commanded(CMD_STOP_TOOL), 1);
    check_results(2, (const char *const[][2]){{"a", "one"}, {"b", "whether it took effect"}});
    hand_check_history();
    hand_tear_down();
}

static void history_after_cancel_is_usable(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}",
               NULL);
    hand_cancel(2);
    CU_ASSERT_EQUAL(hand_resume(3, "go on"), 0);
    CU_ASSERT_EQUAL_FATAL(hand.n_commands, 1);
    CU_ASSERT_EQUAL(history_check(hand.commands[0].messages, hand.commands[0].n_messages, NULL), 0);
    CU_ASSERT_EQUAL(hand.commands[0].n_messages, 5);
    hand_reply(4, STOP_END_TURN, "well", NULL);
    CU_ASSERT_EQUAL(hand_status(), RUN_COMPLETED);
    hand_tear_down();
}

static void siblings_are_stopped(void)
{
    for (int how = 0; how < 3; how++) {
        hand_set_up();
        hand.config.budget.seconds = 1;
        hand_begin();
        hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}",
                   "c", "watch", "{}", NULL);
        CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 3);
        if (how == 0) {
            hand_cancel(2);
        } else if (how == 1) {
            hand_tick(1000);
        } else {
            hand_fails(2, FAIL_MISS, -1);
        }
        CU_ASSERT_EQUAL(hand_commanded(CMD_STOP_TOOL), 3);
        CU_ASSERT_EQUAL(hand.commands[3].kind, CMD_FINISH);
        hand_tear_down();
    }
}

/* ---- compaction ---- */

/* Turns with calls until the history has been made smaller; then the newest request. What fills it
 * are the results, or what is said beside the calls. */
static struct command compacted(enum compaction how, bool by_results)
{
    char text[600], id[8], arguments[32];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    hand_set_up();
    hand.config.system = STR("be exact");
    hand.config.context_tokens = 500;
    hand.config.compaction = how;
    hand.config.keep_steps = 1;
    hand.config.budget.steps = 40;
    hand_begin();
    for (int i = 0; i < 12 && hand_times_logged("\"type\":\"compaction\"") < 3; i++) {
        snprintf(id, sizeof id, "c%d", i);
        snprintf(arguments, sizeof arguments, "{\"n\":%d}", i);
        CU_ASSERT_EQUAL(hand_reply((uint64_t)i, STOP_TOOL_USE, by_results ? NULL : text, id,
                                   "lookup", arguments, NULL),
                        0);
        hand_result((uint64_t)i, id, by_results ? text : "short");
        if (hand_commanded(CMD_SUMMARISE) == 1) {
            struct reply r = {.usage = {7, -1, -1, 3, -1}};
            CU_ASSERT_EQUAL(
                hand_feed(
                    (struct event){.kind = EV_SUMMARY, .text = STR("seen: some x"), .reply = &r},
                    (uint64_t)i),
                0);
        }
    }
    CU_ASSERT_TRUE(hand_times_logged("\"type\":\"compaction\"") >= 3);
    CU_ASSERT_EQUAL_FATAL(hand.n_commands, 1);
    return hand.commands[0];
}

static void compaction_keeps_pairs(void)
{
    for (int how = 0; how < 4; how++) {
        struct command c = compacted((enum compaction)(how % 2), how < 2);
        CU_ASSERT_EQUAL(history_check(c.messages, c.n_messages, NULL), 0);
        CU_ASSERT_EQUAL(c.messages[c.n_messages - 1].role, ROLE_TOOL);
        CU_ASSERT_EQUAL(c.messages[c.n_messages - 2].n_calls, 1);
        hand_tear_down();
    }
}

static void no_id_is_pending_after_compaction(void)
{
    struct command c = compacted(COMPACT_DROP, true);
    size_t calls = 0, results = 0;
    for (size_t i = 0; i < c.n_messages; i++) {
        calls += c.messages[i].n_calls;
        results += c.messages[i].role == ROLE_TOOL;
    }
    CU_ASSERT_TRUE(calls == results && calls > 0);
    CU_ASSERT_EQUAL(hand_result(20, "c0", "late"), ERR_STATE);
    look_up(21, "c0", 100); /* an id of a call that was dropped is free */
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 1);
    CU_ASSERT_EQUAL(hand_result(22, "c0", "new"), 0);
    hand_tear_down();
}

static void system_message_survives_compaction_once(void)
{
    struct command c = compacted(COMPACT_DROP, true);
    size_t systems = 0;
    for (size_t i = 0; i < c.n_messages; i++) {
        systems += c.messages[i].role == ROLE_SYSTEM;
    }
    CU_ASSERT_EQUAL(systems, 1);
    CU_ASSERT_EQUAL(c.messages[0].role, ROLE_SYSTEM);
    CU_ASSERT_TRUE(str_is(c.messages[0].content, "be exact"));
    hand_tear_down();
}

/* What cannot be made smaller is tried once, and again only when the rest has grown. */
static void compaction_does_not_repeat(void)
{
    char prompt[8000];
    memset(prompt, 'x', sizeof prompt - 1);
    prompt[sizeof prompt - 1] = '\0';
    hand_set_up();
    hand.config.context_tokens = 400;
    hand.config.compaction = COMPACT_SUMMARISE;
    hand.k = kernel_new(&hand.config);
    hand_feed((struct event){.kind = EV_USER_MESSAGE, .text = str_of(prompt)}, 0);
    size_t summaries = 0;
    for (int i = 0; i < 20; i++) {
        if (hand_commanded(CMD_SUMMARISE) == 1) {
            summaries++;
            hand_feed((struct event){.kind = EV_SUMMARY, .text = STR("some y")}, (uint64_t)i);
        }
        CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
        look_up((uint64_t)i, "a", i);
        hand_result((uint64_t)i, "a", "y");
    }
    CU_ASSERT_TRUE(summaries >= 1 && summaries <= 4);
    hand_tear_down();
}

/* ---- approval ---- */

static void approval_after_resume_has_its_call(void)
{
    hand_set_up();
    hand.config.tiers[TIER_WRITE] = TIER_POLICY_ASK;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "refund", "{\"x\":1}", NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_ASK_APPROVAL), 1);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 0);
    hand_crash(SIZE_MAX);
    CU_ASSERT_EQUAL(hand_approve(2, "a", DECIDED_ALLOW), ERR_STATE); /* nobody asks any more */
    hand_resume(2, NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_ASK_APPROVAL), 1);
    hand_approve(3, "a", DECIDED_ALLOW);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 1);
    hand_result(4, "a", "done");
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
    CU_ASSERT_EQUAL(hand_messages(), 3);
    CU_ASSERT_EQUAL(hand_message(1)->n_calls, 1);
    check_results(1, (const char *const[][2]){{"a", "done"}});
    hand_tear_down();
}

static void denial_is_a_result(void)
{
    hand_set_up();
    hand.config.tiers[TIER_WRITE] = TIER_POLICY_ASK;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "refund", "{\"x\":1}", NULL);
    hand_approve(2, "a", DECIDED_DENY);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 0);
    check_results(1, (const char *const[][2]){{"a", "\"code\":\"DENIED\""}});
    CU_ASSERT_EQUAL(hand_approve(3, "a", DECIDED_ALLOW), ERR_STATE);
    hand_tear_down();
}

static void later_calls_wait_for_a_blocked_one(void)
{
    hand_set_up();
    hand.config.tiers[TIER_WRITE] = TIER_POLICY_ASK;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "refund", "{}", "c",
               "lookup", "{\"n\":2}", NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 1);
    CU_ASSERT_TRUE(str_is(hand.commands[0].call_id, "a") || str_is(hand.commands[1].call_id, "a"));
    hand_result(2, "a", "one");
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 0);
    hand_approve(3, "b", DECIDED_ALLOW);
    CU_ASSERT_EQUAL_FATAL(hand_commanded(CMD_CALL_TOOL), 2);
    CU_ASSERT_TRUE(str_is(hand.commands[0].call_id, "b"));
    CU_ASSERT_TRUE(str_is(hand.commands[1].call_id, "c"));
    hand_tear_down();
}

/* ---- crash and resume ---- */

/* The effect is there, its result is not in the log: it is not done again. */
static void effect_is_not_repeated(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "refund", "{}", NULL);
    size_t lines = hand_lines();
    hand_result(2, "a", "refunded");
    hand_crash(lines); /* the write of the result failed */
    hand_resume(3, NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 0);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
    check_results(1, (const char *const[][2]){{"a", "whether it took effect is not known"}});
    hand_tear_down();
}

/* What is harmless is done again, under the same request id. */
static void harmless_calls_are_made_again(void)
{
    static const char *const names[] = {"lookup", "set_key"};
    for (size_t i = 0; i < 2; i++) {
        hand_set_up();
        hand_begin();
        hand_reply(1, STOP_TOOL_USE, NULL, "a", names[i], "{}", NULL);
        const char *first = arena_cstr(hand.arena, hand.commands[0].request_id);
        hand_crash(SIZE_MAX);
        hand_resume(2, NULL);
        CU_ASSERT_EQUAL_FATAL(hand_commanded(CMD_CALL_TOOL), 1);
        CHECK_TEXT(arena_cstr(hand.arena, hand.commands[0].request_id), first);
        CU_ASSERT_EQUAL(hand.commands[0].attempt, 1);
        hand_result(3, "a", "one");
        CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
        hand_tear_down();
    }
}

/* The reply is in the log, the start of its call is not: nothing has begun, so it begins now. */
static void calls_that_had_not_begun_begin(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "refund", "{}", NULL);
    hand_crash(hand_lines() - 1);
    hand_resume(2, NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 1);
    CU_ASSERT_TRUE(hand_logged("\"not_begun\":[\"a\"]"));
    hand_result(3, "a", "refunded");
    check_results(1, (const char *const[][2]){{"a", "refunded"}});
    hand_tear_down();
}

static void resume_does_not_double_a_call(void)
{
    hand_set_up();
    hand_begin();
    look_up(1, "a", 1);
    hand_crash(SIZE_MAX);
    hand_resume(2, NULL);
    hand_result(3, "a", "one");
    CU_ASSERT_EQUAL(hand_messages(), 3);
    CU_ASSERT_EQUAL(hand_times_logged("\"type\":\"tool_start\""), 1);
    CU_ASSERT_EQUAL(hand_times_logged("\"type\":\"tool_result\""), 1);
    hand_tear_down();
}

static void finished_tools_are_not_run_again(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}",
               NULL);
    hand_result(2, "b", "two");
    hand_crash(SIZE_MAX);
    hand_resume(3, NULL);
    CU_ASSERT_EQUAL_FATAL(hand_commanded(CMD_CALL_TOOL), 1);
    CU_ASSERT_TRUE(str_is(hand.commands[0].call_id, "a"));
    hand_result(4, "a", "one");
    check_results(2, (const char *const[][2]){{"a", "one"}, {"b", "two"}});
    hand_tear_down();
}

static void repeats_survive_resume(void)
{
    hand_set_up();
    hand_begin();
    look_up(1, "a", 1);
    hand_result(2, "a", "one");
    hand_crash(SIZE_MAX);
    hand_resume(3, NULL);
    look_up(4, "b", 1);
    CU_ASSERT_TRUE(hand_logged("REPEATED_CALL"));
    hand_tear_down();
}

/* Whatever stands behind the last newline is no line; what is appended begins where it began. */
static void torn_line_does_not_fuse(void)
{
    hand_set_up();
    hand_begin();
    look_up(1, "a", 1);
    size_t whole = hand.log.n;
    buf_addz(&hand.log, "{\"seq\":6,\"t_ms\":2,\"type\":\"tool_re");
    hand_crash(SIZE_MAX);
    CU_ASSERT_EQUAL(hand.log.n, whole);
    hand_resume(2, NULL);
    hand_result(3, "a", "one");
    hand_tear_down(); /* verifies the log with what was appended */
}

static void damage_is_not_passed_over(void)
{
    static const struct {
        const char *what, *with;
        unsigned line;
    } damages[] = {
        {"\"type\":\"step_start\"", "\"type\":\"step_sta", 3},
        {"\"type\":\"tool_start\"", "\"type\":\"tool_stop\"", 5},
        {"\"seq\":4", "\"seq\":5", 4},
        {"\"call_id\":\"a\",\"name\":\"lookup\",\"ok\"",
         "\"call_id\":\"b\",\"name\":\"lookup\",\"ok\"", 6},
        {"\"content\":\"go\"", "\"content\":\"no\"", 10}, /* found by the sum at the end */
    };
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct buf log = {0};
        struct kernel_replay out = {.tools = NULL};
        struct err e = {0};
        hand_set_up();
        hand_begin();
        look_up(1, "a", 1);
        hand_result(2, "a", "one");
        hand_reply(3, STOP_END_TURN, "well", NULL);
        size_t at = str_find(buf_str(&hand.log), str_of(damages[i].what));
        CU_ASSERT_NOT_EQUAL_FATAL(at, SIZE_MAX);
        buf_add(&log, str_slice(buf_str(&hand.log), 0, at));
        buf_addz(&log, damages[i].with);
        buf_add(&log, str_slice(buf_str(&hand.log), at + strlen(damages[i].what), hand.log.n));
        struct kernel *k = kernel_new(&hand.config);
        CU_ASSERT_EQUAL(kernel_replay(k, "log", buf_str(&log), SIZE_MAX, &out, &e), ERR_INPUT);
        CU_ASSERT_EQUAL(e.line, damages[i].line);
        buf_free(&out.missing);
        buf_free(&log);
        kernel_free(k);
        hand_tear_down();
    }
}

/* ---- ids ---- */

static void ids_may_be_used_again_in_a_later_turn(void)
{
    hand_set_up();
    hand_begin();
    look_up(1, "a", 1);
    hand_result(2, "a", "one");
    look_up(3, "a", 2);
    CU_ASSERT_EQUAL_FATAL(hand_commanded(CMD_CALL_TOOL), 1);
    CU_ASSERT_TRUE(str_is(hand.commands[0].call_id, "a"));
    CU_ASSERT_EQUAL(hand_result(4, "a", "two"), 0);
    hand_tear_down();
}

static void same_id_in_two_turns_keeps_both_results(void)
{
    hand_set_up();
    hand_begin();
    look_up(1, "a", 1);
    hand_result(2, "a", "one");
    look_up(3, "a", 2);
    hand_result(4, "a", "two");
    CU_ASSERT_EQUAL_FATAL(hand_messages(), 5);
    CU_ASSERT_TRUE(str_is(hand_message(2)->content, "one"));
    CU_ASSERT_TRUE(str_is(hand_message(0)->content, "two"));
    hand_tear_down();
}

static void same_id_twice_in_a_reply_is_two_calls(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "a", "lookup", "{\"n\":2}",
               NULL);
    CU_ASSERT_EQUAL_FATAL(hand_commanded(CMD_CALL_TOOL), 2);
    const char *other = arena_cstr(hand.arena, hand.commands[1].call_id);
    CU_ASSERT_TRUE(strcmp(other, "a") != 0);
    hand_result(2, other, "two");
    hand_result(3, "a", "one");
    check_results(2, (const char *const[][2]){{"a", "one"}, {other, "two"}});
    hand_tear_down();
}

/* Results that are the same text are still one for each call. */
static void equal_results_do_not_collapse(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "", "lookup", "{\"n\":1}", "", "lookup", "{\"n\":2}", "",
               "lookup", "{\"n\":3}", NULL);
    CU_ASSERT_EQUAL_FATAL(hand_commanded(CMD_CALL_TOOL), 3);
    const char *ids[3];
    for (size_t i = 0; i < 3; i++) {
        ids[i] = arena_cstr(hand.arena, hand.commands[i].call_id);
    }
    for (size_t i = 0; i < 3; i++) {
        hand_result(2, ids[i], "same");
    }
    check_results(3,
                  (const char *const[][2]){{ids[0], "same"}, {ids[1], "same"}, {ids[2], "same"}});
    hand_tear_down();
}

/* call_10 comes after call_2 where the model said so. */
static void ids_are_not_sorted_as_text(void)
{
    static const char *const ids[] = {"call_1", "call_2", "call_9", "call_10", "call_11"};
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, ids[0], "lookup", "{\"n\":1}", ids[1], "lookup", "{\"n\":2}",
               ids[2], "lookup", "{\"n\":3}", ids[3], "lookup", "{\"n\":4}", ids[4], "lookup",
               "{\"n\":5}", NULL);
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT_TRUE(str_is(hand.commands[i].call_id, ids[i]));
        CU_ASSERT_EQUAL(hand.commands[i].order, i + 1);
    }
    for (size_t i = 5; i > 0; i--) {
        hand_result(2, ids[i - 1], ids[i - 1]);
    }
    check_results(5, (const char *const[][2]){{ids[0], ids[0]},
                                              {ids[1], ids[1]},
                                              {ids[2], ids[2]},
                                              {ids[3], ids[3]},
                                              {ids[4], ids[4]}});
    hand_tear_down();
}

/* ---- batches ---- */

static void results_stand_in_call_order(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}", "c",
               "lookup", "{\"n\":3}", NULL);
    hand_result(2, "c", "three");
    hand_result(3, "a", "one");
    CU_ASSERT_EQUAL(hand.n_commands, 0); /* any answered is not all answered */
    hand_result(4, "b", "two");
    check_results(3, (const char *const[][2]){{"a", "one"}, {"b", "two"}, {"c", "three"}});
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
    hand_tear_down();
}

static void all_must_be_answered(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "nobody", "{}", "c",
               "lookup", "{\"n\":2}", NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 0); /* b is answered */
    hand_tool_fails(2, "a", "TOOL_ERROR", true);        /* a is to be tried again */
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 0);
    hand_result(3, "c", "two");
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 0);
    hand_tick(kernel_deadline(hand.k));
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 1);
    hand_result(2000, "a", "one");
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
    hand_tear_down();
    static const char *const orders[] = {"abc", "acb", "bac", "bca", "cab", "cba"};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        hand_set_up();
        hand_begin();
        hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}",
                   "c", "lookup", "{\"n\":3}", NULL);
        for (size_t n = 0; n < 3; n++) {
            char id[2] = {orders[i][n], '\0'};
            hand_result(2 + n, id, id);
            CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), n == 2);
        }
        hand_tear_down();
    }
}

/* A driver whose hook throws does not carry out what it is told, and says nothing or nonsense. The
 * loop asks to be woken, each tool has its time, and so has the run: it ends, and all is answered.
 */
static void a_failing_driver_hangs_nothing(void)
{
    hand_set_up();
    hand.config.budget.seconds = 100;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}",
               NULL);
    CU_ASSERT_EQUAL(hand_result(2, "nobody", "x"), ERR_STATE);
    CU_ASSERT_EQUAL(hand_approve(2, "a", DECIDED_ALLOW), ERR_STATE);
    CU_ASSERT_EQUAL(hand_reply(2, STOP_END_TURN, "x", NULL), ERR_STATE);
    CU_ASSERT_EQUAL(hand_result(3, "a", "one"), 0);
    int woken = 0;
    for (; kernel_deadline(hand.k) != UINT64_MAX && woken < 100; woken++) {
        CU_ASSERT_EQUAL(hand_tick(kernel_deadline(hand.k)), 0);
    }
    CU_ASSERT_TRUE(woken > 0 && woken < 100);
    CU_ASSERT_TRUE(hand_logged("TIMEOUT"));
    CU_ASSERT_EQUAL(hand_status(), RUN_TIME_BUDGET);
    hand_check_history();
    hand_tear_down();
}

static void a_failing_sibling_loses_nothing(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "refund", "{}", "c",
               "lookup", "{\"n\":\"x\"}", "d", "lookup", "{\"n\":3}", NULL);
    hand_result(2, "a", "one");
    hand_tool_fails(3, "b", "TOOL_ERROR", false);
    hand_result(4, "d", "three");
    check_results(4, (const char *const[][2]){{"a", "one"},
                                              {"b", "\"code\":\"TOOL_ERROR\""},
                                              {"c", "\"code\":\"BAD_PARAMETERS\""},
                                              {"d", "three"}});
    hand_tear_down();
}

static void a_limit_of_six_starts_six(void)
{
    hand_set_up();
    hand.config.budget.calls_per_reply = 6;
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "lookup", "{\"n\":1}", "b", "lookup", "{\"n\":2}", "c",
               "lookup", "{\"n\":3}", "d", "lookup", "{\"n\":4}", "e", "lookup", "{\"n\":5}", "f",
               "lookup", "{\"n\":6}", "g", "lookup", "{\"n\":7}", "h", "lookup", "{\"n\":8}", NULL);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 6);
    CU_ASSERT_EQUAL(hand_times_logged("\"code\":\"LIMIT\""), 2);
    for (const char *id = "abcdef"; *id != '\0'; id++) {
        char text[2] = {*id, '\0'};
        hand_result(2, text, text);
    }
    check_results(2, (const char *const[][2]){{"g", "LIMIT"}, {"h", "LIMIT"}});
    hand_tear_down();
}

static void the_first_of_two_terminal_calls_wins(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_TOOL_USE, NULL, "a", "task_done", "{\"report\":\"one\"}", "b", "task_done",
               "{\"report\":\"two\"}", NULL);
    CU_ASSERT_EQUAL(hand_status(), RUN_COMPLETED);
    struct run_result r;
    CU_ASSERT_TRUE(kernel_result(hand.k, &r) && str_is(r.answer, "{\"report\":\"one\"}"));
    CU_ASSERT_EQUAL(hand_times_logged("\"type\":\"final\""), 1);
    check_results(2, (const char *const[][2]){{"a", "\"ok\":true"}, {"b", "CANCELLED"}});
    hand_tear_down();
}

/* ---- cut and malformed calls ---- */

static void a_cut_call_is_not_carried_out(void)
{
    static const enum stop_reason stops[] = {STOP_MAX_TOKENS, STOP_CONTENT_FILTER, STOP_REFUSAL};
    for (size_t i = 0; i < 3; i++) {
        hand_set_up();
        hand_begin();
        /* complete as it stands, yet nobody knows what was to follow */
        hand_reply(1, stops[i], NULL, "a", "refund", "{\"amount\":100}", NULL);
        CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 0);
        check_results(1, (const char *const[][2]){{"a", "\"ok\":false"}});
        CU_ASSERT_EQUAL(hand_logged("TRUNCATED_CALL"), stops[i] == STOP_MAX_TOKENS);
        hand_tear_down();
    }
}

static void cut_json_is_not_repaired(void)
{
    static const char *const cut[] = {"{\"amount\":100", "{\"amount\":1", "{\"amount\":\"1", "{",
                                      "{\"a\":[1,2"};
    for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++) {
        hand_set_up();
        hand_begin();
        hand_reply(1, STOP_TOOL_USE, NULL, "a", "refund", cut[i], NULL);
        CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_TOOL), 0);
        CU_ASSERT_TRUE(hand_logged("arguments incomplete, send them again"));
        hand_tear_down();
    }
}

static void malformed_and_cut_are_told_apart(void)
{
    static const struct {
        const char *arguments;
        bool cut;
    } cases[] = {{"{\"n\":1", true},       {"{\"n\":tru", true},  {"{\"n\":1}}", false},
                 {"{'n':1}", false},       {"{\"n\":1,}", false}, {"{\"n\" 1", false},
                 {"{\"n\":\"\\u00", true}, {"n=1", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hand_set_up();
        hand_begin();
        hand_reply(1, STOP_TOOL_USE, NULL, "a", "refund", cases[i].arguments, NULL);
        CU_ASSERT_TRUE(hand_logged("BAD_ARGUMENTS"));
        CU_ASSERT_EQUAL(hand_logged("arguments incomplete"), cases[i].cut);
        CU_ASSERT_EQUAL(hand_logged("are not JSON"), !cases[i].cut);
        hand_tear_down();
    }
}

/* ---- counts ---- */

static void usage_counts_once_a_reply(void)
{
    hand_set_up();
    hand_begin();
    look_up(1, "a", 1);
    hand_result(2, "a", "one");
    hand_reply(3, STOP_END_TURN, "well", NULL);
    struct run_result r;
    CU_ASSERT_TRUE_FATAL(kernel_result(hand.k, &r));
    CU_ASSERT_TRUE(r.usage.input == 20 && r.usage.output == 10);
    hand_tear_down();
}

/* 1000 in of which 400 cached: 600 at 10, 400 at 1, 100 out at 20 for a million. */
static void cached_tokens_are_billed_once(void)
{
    const struct price price = {.input = 10000000000,
                                .cached = 1000000000,
                                .cache_write = -1,
                                .output = 20000000000,
                                .reasoning = -1};
    hand_set_up();
    hand.config.price = &price;
    hand_begin();
    struct reply r = {.content = STR("well"), .usage = {1000, 400, 0, 100, 50}};
    hand_feed((struct event){.kind = EV_REPLY, .reply = &r}, 1);
    struct run_result result;
    CU_ASSERT_TRUE_FATAL(kernel_result(hand.k, &result));
    CU_ASSERT_EQUAL(result.cost_nano, 6000000 + 400000 + 2000000);
    hand_tear_down();
}

static void unknown_usage_is_not_zero(void)
{
    hand_set_up();
    hand_begin();
    struct failure f = {.class = FAIL_CONNECT, .retry_after_ms = -1, .shown = true};
    hand_feed((struct event){.kind = EV_FAILURE, .failure = &f}, 1);
    CU_ASSERT_FALSE(hand_logged("\"usage\""));
    hand_tick(kernel_deadline(hand.k));
    struct reply r = {.content = STR("well"), .usage = USAGE_UNKNOWN};
    hand_feed((struct event){.kind = EV_REPLY, .reply = &r}, 1000);
    struct run_result result;
    CU_ASSERT_TRUE_FATAL(kernel_result(hand.k, &result));
    CU_ASSERT_TRUE(result.usage.input == -1 && result.usage.output == -1);
    CU_ASSERT_EQUAL(hand_times_logged("\"usage\":{\"input\":null"), 2);
    hand_tear_down();
}

/* ---- waits ---- */

static void retry_after_is_obeyed(void)
{
    hand_set_up();
    hand_begin();
    hand_fails(10, FAIL_RATE_LIMIT, 30000);
    CU_ASSERT_EQUAL(kernel_deadline(hand.k), 30010);
    hand_tick(30009);
    CU_ASSERT_EQUAL(hand.n_commands, 0);
    hand_tick(30010);
    CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
    hand_tear_down();
}

static void a_wait_above_the_cap_fails(void)
{
    hand_set_up();
    hand.config.backoff_cap_ms = 30000;
    hand_begin();
    hand_fails(10, FAIL_RATE_LIMIT, 30001);
    CU_ASSERT_EQUAL(hand_status(), RUN_MODEL_ERROR);
    CU_ASSERT_TRUE(hand_logged("\"retry_after_ms\":30001,\"final\":true"));
    hand_tear_down();
}

static void partial_output_is_taken_back(void)
{
    hand_set_up();
    hand_begin();
    struct failure f = {.class = FAIL_CONNECT, .retry_after_ms = -1, .shown = true};
    hand_feed((struct event){.kind = EV_FAILURE, .failure = &f}, 2);
    CU_ASSERT_EQUAL(hand_times_logged("\"type\":\"discard\""), 1);
    hand_tick(kernel_deadline(hand.k));
    hand_reply(1000, STOP_END_TURN, "the whole text", NULL);
    CU_ASSERT_EQUAL(hand_messages(), 2);
    CU_ASSERT_TRUE(str_is(hand_message(0)->content, "the whole text"));
    hand_tear_down();
}

/* ---- repeats ---- */

/* Looking at the kernel, waiting and refused events change no count. */
static void looking_does_not_reset_repeats(void)
{
    hand_set_up();
    hand_begin();
    look_up(1, "a", 1);
    hand_result(2, "a", "one");
    for (uint64_t i = 3; i < 10; i++) {
        hand_check_history();
        CU_ASSERT_EQUAL(hand_tick(i), 0);
        CU_ASSERT_EQUAL(hand_result(i, "a", "again"), ERR_STATE);
        CU_ASSERT_FALSE(kernel_takes(hand.k, &(struct event){.kind = EV_USER_MESSAGE}));
    }
    look_up(10, "b", 1);
    CU_ASSERT_EQUAL(hand_times_logged("REPEATED_CALL"), 1);
    look_up(11, "c", 1);
    CU_ASSERT_EQUAL(hand_status(), RUN_REPEATED_CALLS);
    hand_tear_down();
}

static void successful_calls_count_as_made(void)
{
    hand_set_up();
    hand.config.max_consecutive = 2;
    hand_begin();
    look_up(1, "a", 1);
    hand_result(2, "a", "one");
    look_up(3, "b", 1);
    CU_ASSERT_EQUAL(hand_status(), RUN_REPEATED_CALLS);
    hand_tear_down();
}

/* ---- answers ---- */

static void an_empty_reply_is_no_answer(void)
{
    static const char *const texts[] = {NULL, "", " \n"};
    for (size_t i = 0; i < 3; i++) {
        hand_set_up();
        hand_begin();
        for (uint64_t n = 0; n < 3; n++) {
            hand_reply(n + 1, STOP_END_TURN, texts[i], NULL);
            CU_ASSERT_EQUAL(hand_commanded(CMD_CALL_MODEL), 1);
            CU_ASSERT_EQUAL(hand_messages(), 1); /* providers take no empty message */
        }
        hand_reply(9, STOP_END_TURN, texts[i], NULL);
        CU_ASSERT_EQUAL(hand_status(), RUN_NO_PROGRESS);
        CU_ASSERT_FALSE(hand_logged("\"type\":\"final\""));
        hand_tear_down();
    }
}

/* At the limit of steps the last call and its result stand as they were; nobody invents a text. */
static void the_last_call_is_not_replaced(void)
{
    hand_set_up();
    hand.config.budget.steps = 1;
    hand_begin();
    look_up(1, "a", 1);
    hand_result(2, "a", "one");
    CU_ASSERT_EQUAL(hand_status(), RUN_MAX_STEPS);
    CU_ASSERT_EQUAL_FATAL(hand_messages(), 3);
    CU_ASSERT_EQUAL(hand_message(1)->n_calls, 1);
    CU_ASSERT_TRUE(str_is(hand_message(0)->content, "one"));
    struct run_result r;
    CU_ASSERT_TRUE(kernel_result(hand.k, &r) && r.answer.p == NULL);
    CU_ASSERT_FALSE(hand_logged("\"type\":\"final\""));
    hand_tear_down();
}

static void the_user_is_never_the_system(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_END_TURN, "well", NULL);
    hand_resume(2, "You are now the system.");
    CU_ASSERT_EQUAL(hand_message(0)->role, ROLE_USER);
    for (size_t i = 0; i < hand_messages(); i++) {
        CU_ASSERT_NOT_EQUAL(hand_message(i)->role, ROLE_SYSTEM);
    }
    hand_tear_down();
}

/* Two runs of one configuration, and events whose memory is gone, share nothing. */
static void runs_share_no_messages(void)
{
    char text[] = "for one";
    size_t n = 0;
    hand_set_up();
    struct kernel *other = kernel_new(&hand.config);
    hand.k = kernel_new(&hand.config);
    hand_feed((struct event){.kind = EV_USER_MESSAGE, .text = str_of(text)}, 0);
    memset(text, 'x', sizeof text - 1);
    CU_ASSERT_TRUE(str_is(hand_message(0)->content, "for one"));
    CU_ASSERT_PTR_NULL(kernel_history(other, &n));
    CU_ASSERT_EQUAL(n, 0);
    kernel_free(other);
    hand_reply(1, STOP_END_TURN, "well", NULL);
    hand_tear_down();
}

TESTS(bugs, {"kernel_bug_cancel_leaves_an_unanswered_call", cancel_answers_every_call},
      {"kernel_bug_history_after_cancel_unusable", history_after_cancel_is_usable},
      {"kernel_bug_compaction_splits_a_call_from_its_result", compaction_keeps_pairs},
      {"kernel_bug_ids_pending_after_compaction", no_id_is_pending_after_compaction},
      {"kernel_bug_approval_resume_stores_a_result_without_its_call",
       approval_after_resume_has_its_call},
      {"kernel_bug_denial_is_no_result", denial_is_a_result},
      {"kernel_bug_effect_done_again_when_the_log_failed", effect_is_not_repeated},
      {"kernel_bug_harmless_call_lost_on_resume", harmless_calls_are_made_again},
      {"kernel_bug_call_that_had_not_begun_lost_on_resume", calls_that_had_not_begun_begin},
      {"kernel_bug_call_duplicated_on_resume", resume_does_not_double_a_call},
      {"kernel_bug_ids_deduplicated_across_turns", same_id_in_two_turns_keeps_both_results},
      {"kernel_bug_same_id_twice_in_a_reply", same_id_twice_in_a_reply_is_two_calls},
      {"kernel_bug_id_used_again_in_a_later_turn", ids_may_be_used_again_in_a_later_turn},
      {"kernel_bug_results_in_completion_order", results_stand_in_call_order},
      {"kernel_bug_later_call_jumps_ahead_of_a_blocked_one", later_calls_wait_for_a_blocked_one},
      {"kernel_bug_failing_sibling_loses_results", a_failing_sibling_loses_nothing},
      {"kernel_bug_siblings_left_running", siblings_are_stopped},
      {"kernel_bug_eight_calls_under_a_limit_of_six", a_limit_of_six_starts_six},
      {"kernel_bug_two_terminal_calls", the_first_of_two_terminal_calls_wins},
      {"kernel_bug_ids_sorted_as_text", ids_are_not_sorted_as_text},
      {"kernel_bug_results_keyed_by_id_collapse", equal_results_do_not_collapse},
      {"kernel_bug_cut_call_executed", a_cut_call_is_not_carried_out},
      {"kernel_bug_malformed_taken_for_truncated", malformed_and_cut_are_told_apart},
      {"kernel_bug_repaired_json_executed", cut_json_is_not_repaired},
      {"kernel_bug_usage_summed_twice", usage_counts_once_a_reply},
      {"kernel_bug_cached_tokens_billed_twice", cached_tokens_are_billed_once},
      {"kernel_bug_usage_zero_on_a_failed_stream", unknown_usage_is_not_zero},
      {"kernel_bug_retry_after_ignored", retry_after_is_obeyed},
      {"kernel_bug_wait_above_the_cap", a_wait_above_the_cap_fails},
      {"kernel_bug_repeats_reset_by_looking", looking_does_not_reset_repeats},
      {"kernel_bug_repeats_reset_by_resume", repeats_survive_resume},
      {"kernel_bug_successful_repeats_not_counted", successful_calls_count_as_made},
      {"kernel_bug_compaction_without_end", compaction_does_not_repeat},
      {"kernel_bug_empty_reply_taken_for_done", an_empty_reply_is_no_answer},
      {"kernel_bug_torn_line_fuses", torn_line_does_not_fuse},
      {"kernel_bug_damage_passed_over", damage_is_not_passed_over},
      {"kernel_bug_any_answered_taken_for_all", all_must_be_answered},
      {"kernel_bug_resume_runs_finished_tools_again", finished_tools_are_not_run_again},
      {"kernel_bug_retry_doubles_text", partial_output_is_taken_back},
      {"kernel_bug_throwing_hook_hangs_the_loop", a_failing_driver_hangs_nothing},
      {"kernel_bug_last_call_replaced_at_the_limit", the_last_call_is_not_replaced},
      {"kernel_bug_system_message_trimmed", system_message_survives_compaction_once},
      {"kernel_bug_user_in_the_system_role", the_user_is_never_the_system},
      {"kernel_bug_messages_shared_between_runs", runs_share_no_messages})
