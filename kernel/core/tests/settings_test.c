/* What a log's first line and its resume lines say of a run: every setting comes back as it was,
 * and a damaged line is refused, with its number. */
#include <stdio.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/core/tests/hand.h"

static int config_of(struct str log, struct kernel_config *out, struct err *e)
{
    return kernel_config_of_log(hand.arena, "log", log, hand.tools, N_TOOLS, out, e);
}

/* ---- the first line ---- */

/* A configuration in which nothing is as usual. */
static struct kernel_config unusual(void)
{
    static const struct price price = {1, 2, 3, 4, 5, NULL, 0};
    struct kernel_config c = hand.config;
    c.provider = STR("anthropic");
    c.system = STR("be exact");
    c.budget = (struct budget){1, 2, 3, 4000000005, 6, 7};
    c.repeat = REPEAT_CACHE;
    c.max_consecutive = 8;
    c.no_progress = 9;
    c.tiers[TIER_READ] = TIER_POLICY_ASK;
    c.tiers[TIER_WRITE] = TIER_POLICY_DENY;
    c.tiers[TIER_DANGER] = TIER_POLICY_ASK;
    c.context_tokens = 10;
    c.compaction = COMPACT_SUMMARISE;
    c.keep_steps = 11;
    c.fenced_calls = c.close_names = true;
    c.price = &price;
    c.tool_retries = 12;
    c.tool_backoff_ms = 13;
    c.model_attempts = 14;
    c.backoff_ms = 15;
    c.backoff_cap_ms = 16;
    c.currency = STR("CNY");
    c.n_tools = 2;
    return c;
}

static void check_settings(const struct kernel_config *a, const struct kernel_config *b)
{
    CU_ASSERT_TRUE(str_eq(a->provider, b->provider) && str_eq(a->currency, b->currency));
    CU_ASSERT_TRUE(a->budget.steps == b->budget.steps && a->budget.tokens == b->budget.tokens);
    CU_ASSERT_TRUE(a->budget.seconds == b->budget.seconds &&
                   a->budget.cost_nano == b->budget.cost_nano);
    CU_ASSERT_TRUE(a->budget.calls == b->budget.calls &&
                   a->budget.calls_per_reply == b->budget.calls_per_reply);
    CU_ASSERT_TRUE(a->repeat == b->repeat && a->max_consecutive == b->max_consecutive);
    CU_ASSERT_TRUE(a->no_progress == b->no_progress && a->context_tokens == b->context_tokens);
    CU_ASSERT_EQUAL(memcmp(a->tiers, b->tiers, sizeof a->tiers), 0);
    CU_ASSERT_TRUE(a->compaction == b->compaction && a->keep_steps == b->keep_steps);
    CU_ASSERT_TRUE(a->fenced_calls == b->fenced_calls && a->close_names == b->close_names);
    CU_ASSERT_TRUE(price_equal(a->price, b->price) && a->n_tools == b->n_tools);
    CU_ASSERT_TRUE(a->tool_retries == b->tool_retries && a->tool_backoff_ms == b->tool_backoff_ms);
    CU_ASSERT_TRUE(a->model_attempts == b->model_attempts && a->backoff_ms == b->backoff_ms);
    CU_ASSERT_EQUAL(a->backoff_cap_ms, b->backoff_cap_ms);
}

static void every_setting_comes_back(void)
{
    struct kernel_config read;
    struct err e;
    hand_set_up();
    struct kernel_config c = unusual();
    struct kernel *k = kernel_new(&c);
    CU_ASSERT_EQUAL_FATAL(config_of(kernel_take_log(k), &read, &e), 0);
    check_settings(&read, &c);
    CU_ASSERT_TRUE(str_eq(read.run, c.run) && read.seed == c.seed);
    CU_ASSERT_TRUE(str_eq(read.started_at, c.started_at) && str_eq(read.model, c.model));
    CU_ASSERT_TRUE(str_eq(read.system, c.system));
    CU_ASSERT_TRUE(str_eq(read.tools[1].name, c.tools[1].name));
    kernel_free(k);
    hand_tear_down();
}

#define FIRST "{\"seq\":1,\"t_ms\":0,\"type\":\"run_start\",\"schema\":1,"

static void damaged_first_lines_are_refused(void)
{
    static const struct {
        const char *line;
        int rc;
        const char *says;
    } cases[] = {
        {"", ERR_INPUT, "begins with run_start"},
        {FIRST "\"tools\":[]}", ERR_INPUT, "begins with run_start"}, /* no newline */
        {"\n", ERR_INPUT, "no event"},
        {"garbage\n", ERR_INPUT, "no event"},
        {"[]\n", ERR_INPUT, "needs type and t_ms"},
        {"{\"type\":\"run_start\"}\n", ERR_INPUT, "needs type and t_ms"},
        {"{\"type\":\"run_start\",\"t_ms\":-1}\n", ERR_INPUT, "needs type and t_ms"},
        {"{\"type\":\"run_start\",\"t_ms\":0}\n", ERR_INPUT, "schema 1"},
        {"{\"type\":\"run_start\",\"t_ms\":0,\"schema\":2}\n", ERR_INPUT, "schema 1"},
        {"{\"type\":\"step_start\",\"t_ms\":0,\"step\":1}\n", ERR_INPUT, "begins with run_start"},
        {FIRST "\"tools\":[\"nobody\"]}\n", ERR_NOT_FOUND, "the tool nobody"},
        {FIRST "\"tools\":[1]}\n", ERR_INPUT, "name"},
        {FIRST "\"budget\":{\"steps\":-1}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"budget\":{\"tokens\":-1}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"budget\":{\"seconds\":-1}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"budget\":{\"seconds\":2147483647}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"budget\":{\"cost_usd\":-1}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"budget\":{\"calls\":-1}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"budget\":{\"calls_per_reply\":-1}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"config\":{\"max_consecutive\":1}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"config\":{\"model_attempts\":0}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"config\":{\"keep_steps\":0}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"config\":{\"backoff_ms\":-5}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"config\":{\"backoff_ms\":9999999999}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"config\":{\"fenced_calls\":2}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"config\":{\"close_names\":2}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"config\":{\"summarise\":2}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"config\":{\"tier_read\":3}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"config\":{\"tier_danger\":-1}}\n", ERR_INPUT, "out of range"},
        {FIRST "\"config\":{\"price\":1}}\n", ERR_INPUT, "price"},
        {FIRST "\"config\":{\"price\":{}}}\n", ERR_INPUT, "price"},
        {FIRST "\"config\":{\"price\":{\"input\":1,\"output\":-1}}}\n", ERR_INPUT, "price"},
        {FIRST "\"config\":{\"price\":{\"input\":1,\"output\":\"1\"}}}\n", ERR_INPUT, "price"},
        {FIRST "\"config\":{\"price\":{\"input\":1,\"cached\":-1,\"output\":1}}}\n", ERR_INPUT,
         "price"},
        {FIRST "\"config\":{\"price\":{\"input\":1,\"cache_write\":[],\"output\":1}}}\n", ERR_INPUT,
         "price"},
        {FIRST "\"config\":{\"price\":{\"input\":1,\"output\":1,\"reasoning\":1e99}}}\n", ERR_INPUT,
         "price"},
        {FIRST
         "\"config\":{\"price\":{\"input\":1,\"output\":1,\"above\":[{\"tokens\":5,\"input\":1,"
         "\"output\":1},{\"tokens\":5,\"input\":1,\"output\":1}]}}}\n",
         ERR_INPUT, "price"},
        {FIRST "\"config\":{\"price\":{\"input\":1,\"output\":1,\"above\":[{\"tokens\":5}]}}}\n",
         ERR_INPUT, "price"},
    };
    hand_set_up();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kernel_config c;
        struct err e = {0};
        int rc = config_of(str_of(cases[i].line), &c, &e);
        CU_ASSERT_EQUAL(rc, cases[i].rc);
        CU_ASSERT_EQUAL(e.line, 1);
        if (rc != cases[i].rc || strstr(e.message, cases[i].says) == NULL) {
            printf("\n%s", cases[i].line);
            CHECK_TEXT(e.message, cases[i].says);
        }
    }
    hand_tear_down();
}

/* ---- resume ---- */

/* The line that tells of a resume with this configuration. */
static const char *resumed_with(const struct kernel_config *c)
{
    size_t from = hand.log.n;
    CU_ASSERT_EQUAL(
        hand_feed((struct event){.kind = EV_RESUME, .config = c, .text = STR("and")}, 5), 0);
    struct str line = str_slice(buf_str(&hand.log), from, hand.log.n);
    return arena_cstr(hand.arena, str_slice(line, 0, str_find(line, STR("\n"))));
}

static void resume_tells_what_changed(void)
{
    const struct {
        size_t offset;
        const char *says;
    } budgets[] = {
        {offsetof(struct budget, steps), "\"budget\":{\"steps\":3,"},
        {offsetof(struct budget, tokens), "\"tokens\":3,"},
        {offsetof(struct budget, seconds), "\"seconds\":3,"},
        {offsetof(struct budget, cost_nano), "\"cost_usd\":0.000000003}"},
        {offsetof(struct budget, calls), "\"calls\":3}"},
        {offsetof(struct budget, calls_per_reply), "\"calls_per_reply\":3}"},
    };
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_END_TURN, "well", NULL);
    CHECK_TEXT(strstr(resumed_with(&hand.config), "\"changed\""),
               "\"changed\":{},\"content\":\"and\"}");
    hand_reply(5, STOP_END_TURN, "well", NULL);
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
        struct kernel_config c = hand.config;
        memcpy((char *)&c.budget + budgets[i].offset, &(int64_t){3}, sizeof(int64_t));
        CU_ASSERT_PTR_NOT_NULL(strstr(resumed_with(&c), budgets[i].says));
        hand_reply(5, STOP_END_TURN, "well", NULL);
        CU_ASSERT_PTR_NOT_NULL(strstr(resumed_with(&hand.config), "\"changed\":{\"budget\":{"));
        hand_reply(5, STOP_END_TURN, "well", NULL);
    }
    hand_tear_down(); /* the log is fed again with all of it */
}

static void resume_keeps_every_setting(void)
{
    hand_set_up();
    hand_begin();
    hand_reply(1, STOP_END_TURN, "well", NULL);
    struct kernel_config c = unusual();
    c.budget.steps = 20;
    c.budget.tokens = 1000;
    c.context_tokens = 1000;
    c.model = STR("m-2");
    const char *line = resumed_with(&c);
    CU_ASSERT_PTR_NOT_NULL(strstr(line, "\"changed\":{\"model\":\"m-2\",\"provider\":\"anthropic\","
                                        "\"tools\":[\"lookup\",\"refund\"],\"budget\":{"));
    CU_ASSERT_PTR_NOT_NULL(strstr(line, "\"config\":{\"repeat\":\"cache\",\"max_consecutive\":8,"));
    hand_reply(5, STOP_END_TURN, "well", NULL);
    /* and back */
    CU_ASSERT_PTR_NOT_NULL(strstr(resumed_with(&hand.config), "\"repeat\":\"block\""));
    hand_reply(5, STOP_END_TURN, "well", NULL);
    c = hand.config;
    c.repeat = REPEAT_ALLOW;
    CU_ASSERT_PTR_NOT_NULL(strstr(resumed_with(&c), "\"repeat\":\"allow\""));
    hand_tear_down();
}

/* Replaces the first `what` of the session's log; the line that is refused then. */
static void check_damage(const char *what, const char *with, int want_rc, unsigned want_line)
{
    struct buf log = {0};
    struct err e = {0};
    struct kernel_replay out = {.tools = hand.tools, .n_tools = 2};
    size_t at = str_find(buf_str(&hand.log), str_of(what));
    CU_ASSERT_NOT_EQUAL_FATAL(at, SIZE_MAX);
    buf_add(&log, str_slice(buf_str(&hand.log), 0, at));
    buf_addz(&log, with);
    buf_add(&log, str_slice(buf_str(&hand.log), at + strlen(what), hand.log.n));
    struct kernel *k = kernel_new(&hand.config);
    int rc = kernel_replay(k, "log", buf_str(&log), SIZE_MAX, &out, &e);
    if (rc != want_rc || e.line != want_line) {
        printf("\n%s: %d, line %u: %s\n", with, rc, e.line, e.message);
    }
    CU_ASSERT_EQUAL(rc, want_rc);
    CU_ASSERT_EQUAL(e.line, want_line);
    buf_free(&out.missing);
    buf_free(&log);
    kernel_free(k);
}

static void damaged_lines_are_refused(void)
{
    hand_set_up();
    hand_begin();
    hand_fails(1, FAIL_SERVER, -1);
    hand_tick(kernel_deadline(hand.k));
    hand_reply(1000, STOP_TOOL_USE, NULL, "a", "lookup", "{}", NULL);
    hand_tool_fails(1001, "a", "TOOL_ERROR", true);
    hand_tick(kernel_deadline(hand.k));
    hand_crash(SIZE_MAX);
    hand_resume(2000, NULL);
    hand_tool_fails(2001, "a", "TOOL_ERROR", true);
    hand_reply(2002, STOP_END_TURN,
               "价价价价价价价价价价价价价价价价价价价价价价价价价价价价价价 well", NULL);
    struct kernel_config c = hand.config;
    c.n_tools = 2;
    hand_feed((struct event){.kind = EV_RESUME, .config = &c, .text = STR("and")}, 3000);
    CHECK_TEXT(hand_types(), "run_start user_message step_start llm_failure llm_reply tool_start "
                             "tool_retry resume tool_result step_start llm_reply final run_end "
                             "resume user_message step_start");
    check_damage("\"class\":\"server\"", "\"class\":\"servant\"", ERR_INPUT, 4);
    check_damage("\"stop\":\"tool_use\"", "\"stop\":\"tool_used\"", ERR_INPUT, 5);
    check_damage("\"call_id\":\"a\",\"attempt\":1", "\"call_id\":\"b\",\"attempt\":1", ERR_INPUT,
                 7);
    check_damage("\"changed\":{}", "\"changed\":{},\"not_begun\":[\"b\"]", ERR_INPUT, 8);
    check_damage("\"changed\":{}", "\"changed\":{},\"not_begun\":1", ERR_INPUT, 8);
    check_damage("\"changed\":{}", "\"changed\":{\"config\":{\"keep_steps\":0}}", ERR_INPUT, 8);
    check_damage("\"changed\":{}", "\"changed\":{\"tools\":[\"nobody\"]}", ERR_NOT_FOUND, 8);
    check_damage("(after 1 retry)", "after 1 retry)", ERR_INPUT, 9);
    check_damage("it broke (after 1 retry)", "(after 1 retry)", ERR_INPUT, 9);
    check_damage("\"calls\":[]", "\"calls\":1", ERR_INPUT, 11);
    check_damage(" well\"}", " wxll\"}", ERR_INPUT, 12);
    check_damage(" well\"}", " wexl\"}", ERR_INPUT, 12);
    check_damage(" well\"}", " welx\"}", ERR_INPUT, 12);
    check_damage("\"sum\":\"", "\"sum\":\"0", ERR_INPUT, 13);
    check_damage("\"status\":\"completed\"", "\"status\":\"complete\"", ERR_INPUT, 13);
    check_damage("\"type\":\"resume\",\"changed\":{\"tools\"",
                 "\"type\":\"presume\",\"changed\":{\"tools\"", ERR_INPUT, 14);
    check_damage("\"type\":\"llm_failure\"", "\"type\":\"nothing\"", ERR_INPUT, 4);
    hand_tear_down();
}

static void names_of_ends_come_back(void)
{
    enum run_status s = RUN_COMPLETED;
    for (int i = 0; i <= RUN_CANCELLED; i++) {
        CU_ASSERT_TRUE(run_status_of_name(str_of(run_status_name((enum run_status)i)), &s));
        CU_ASSERT_EQUAL(s, (enum run_status)i);
    }
    CU_ASSERT_FALSE(run_status_of_name(STR("complete"), &s));
}

TESTS(settings, {"log_gives_every_setting_back", every_setting_comes_back},
      {"log_refuses_damaged_first_lines", damaged_first_lines_are_refused},
      {"log_tells_what_a_resume_changed", resume_tells_what_changed},
      {"log_keeps_the_settings_of_a_resume", resume_keeps_every_setting},
      {"replay_refuses_damaged_lines", damaged_lines_are_refused},
      {"run_status_names_come_back", names_of_ends_come_back})
