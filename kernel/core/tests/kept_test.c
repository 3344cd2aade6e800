/* What a log keeps for others: the parts of replies, which providers want back as they came, and
 * what a model was asked each time. */
#include <stdio.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/core/snapshot.h"
#include "kernel/core/tests/hand.h"

#define PARTS "{\"their_details\":[{\"n\":1.50,\"text\":\"\\u00e9\"},null]}"

enum { DEEP = 510 };

static void say(uint64_t now, const char *text, const char *parts)
{
    struct reply r = {.content = str_of(text), .parts = str_of(parts), .usage = USAGE_UNKNOWN};
    CU_ASSERT_EQUAL(hand_feed((struct event){.kind = EV_REPLY, .reply = &r}, now), 0);
}

static void parts_come_back_as_they_were(void)
{
    hand_set_up();
    hand_begin();
    say(1, "well", PARTS);
    struct str kept = arena_str(hand.arena, hand_message(0)->parts);
    CU_ASSERT_TRUE(hand_logged("\"parts\":{\"their_details\":[{\"n\":1.50,"));
    hand_crash(SIZE_MAX);
    CU_ASSERT_TRUE(str_eq(hand_message(0)->parts, kept));
    struct buf snapshot = {0};
    CU_ASSERT_TRUE(kernel_snapshot(hand.k, &snapshot, NULL));
    CU_ASSERT_NOT_EQUAL(str_find(buf_str(&snapshot), STR("their_details")), SIZE_MAX);
    buf_free(&snapshot);
    hand_resume(2, "and now?");
    CU_ASSERT_EQUAL_FATAL(hand_commanded(CMD_CALL_MODEL), 1);
    CU_ASSERT_TRUE(str_eq(hand.commands[0].messages[1].parts, kept));
    hand_tear_down();
}

/* A reply of parts alone is one to remember; what are no parts is left out. */
static void only_parts_are_parts(void)
{
    static const char *const none[] = {"[1]", "{\"a\":", "", "null"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        hand_set_up();
        hand_begin();
        say(1, "well", none[i]);
        CU_ASSERT_PTR_NULL(hand_message(0)->parts.p);
        CU_ASSERT_FALSE(hand_logged("\"parts\""));
        hand_tear_down();
    }
    struct buf deep = {0}; /* a parser takes it, but not one deeper as it stands in a log */
    buf_addz(&deep, "{\"a\":");
    for (int i = 0; i < 2 * DEEP; i++) {
        buf_char(&deep, i < DEEP ? '[' : ']');
    }
    buf_addz(&deep, "}");
    buf_char(&deep, '\0');
    hand_set_up();
    hand_begin();
    say(1, "well", deep.p);
    CU_ASSERT_PTR_NULL(hand_message(0)->parts.p);
    hand_tear_down();
    buf_free(&deep);
    hand_set_up();
    hand_begin();
    say(1, "", PARTS);
    CU_ASSERT_EQUAL(hand_messages(), 2);
    CU_ASSERT_TRUE(hand_message(0)->parts.n > 0);
    hand_tear_down();
}

/* Each question that was answered, by a reply or a failure, in order; the one that is open is none
 * yet. */
static void a_log_tells_what_was_asked(void)
{
    enum { STEPS = 20 };
    struct kernel_replay out = {.asks = true};
    struct err e = {0};
    hand_set_up();
    hand.config.budget.steps = STEPS * 2;
    hand_begin();
    CU_ASSERT_EQUAL(hand_fails(1, FAIL_SERVER, -1), 0);
    hand_tick(kernel_deadline(hand.k));
    for (int i = 0; i < STEPS; i++) {
        char arguments[32];
        snprintf(arguments, sizeof arguments, "{\"n\":%d}", i);
        hand_reply(5000, STOP_TOOL_USE, NULL, "a", "lookup", arguments, NULL);
        hand_result(5000, "a", arguments);
    }
    out.tools = hand.config.tools;
    out.n_tools = hand.config.n_tools;
    struct kernel *k = kernel_new(&hand.config);
    CU_ASSERT_EQUAL(kernel_replay(k, "log", buf_str(&hand.log), SIZE_MAX, &out, &e), 0);
    CU_ASSERT_EQUAL_FATAL(out.n_asked, 1 + STEPS);
    for (size_t i = 0; i < out.n_asked; i++) {
        CU_ASSERT_EQUAL(out.asked[i].command.kind, CMD_CALL_MODEL);
        CU_ASSERT_EQUAL(out.asked[i].command.n_messages, i == 0 ? 1 : 2 * i - 1);
        CU_ASSERT_EQUAL(out.asked[i].n_tools, hand.config.n_tools);
    }
    buf_free(&out.missing);
    kernel_free(k);
    hand_tear_down();
}

TESTS(kept, {"kernel_keeps_parts_as_they_came", parts_come_back_as_they_were},
      {"kernel_keeps_no_other_parts", only_parts_are_parts},
      {"replay_tells_what_a_model_was_asked", a_log_tells_what_was_asked})
