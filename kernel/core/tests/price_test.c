/* Money. Expected amounts are worked by hand: tokens × price ÷ 10^6. */
#include "kernel/core/replay.h"

#include "ci/testing/testing.h"
#include "kernel/base/json.h"

#include <stdio.h>

/* 2.00, 0.20, 2.50, 10.00 and 12.00 of the currency for a million tokens. */
static const struct price five = {2000000000,  200000000, 2500000000, 10000000000,
                                  12000000000, NULL,      0};
/* The same with one amount for all input and one for all output. */
static const struct price two = {2000000000, -1, -1, 10000000000, -1, NULL, 0};
/* Cheap up to 100 tokens, five times as much up to 200, then ten times. */
static const struct price dear = {1000000000, -1, -1, 10000000000, -1, NULL, 0};
static const struct price middle = {500000000, -1, -1, 5000000000, -1, &dear, 200};
static const struct price tiered = {100000000, -1, -1, 1000000000, -1, &middle, 100};

static void a_reply_costs_what_its_tokens_cost(void)
{
    static const struct {
        const struct price *price;
        struct usage usage; /* input, cached, cache_write, output, reasoning */
        int64_t nano;
    } cases[] = {
        /* 1000 × 2000 + 100 × 10000 */
        {&five, {1000, 0, 0, 100, 0}, 3000000},
        /* 700 × 2000 + 300 × 200 + 100 × 10000: cached tokens are billed once */
        {&five, {1000, 300, 0, 100, 0}, 2460000},
        /* 500 × 2000 + 300 × 200 + 200 × 2500 + 100 × 10000 */
        {&five, {1000, 300, 200, 100, 0}, 2560000},
        /* 1000 × 2000 + 40 × 10000 + 60 × 12000 */
        {&five, {1000, 0, 0, 100, 60}, 3120000},
        /* parts without an amount cost as the whole */
        {&two, {1000, 300, 200, 100, 60}, 3000000},
        /* parts that are unknown are billed with the whole */
        {&five, {1000, -1, -1, 100, -1}, 3000000},
        {&five, {0, 0, 0, 0, 0}, 0},
        /* parts beyond the whole are no more than the whole: 1000 × 200 + 100 × 12000 */
        {&five, {1000, 5000, 5000, 100, 900}, 1400000},
        /* the whole of an unknown count is unknown */
        {&five, {-1, 300, 0, 100, 0}, -1},
        {&five, {1000, 0, 0, -1, 60}, -1},
        {NULL, {1000, 0, 0, 100, 0}, -1},
        /* 10^9 tokens at 2 and 10: 2000 and 10000 of the currency */
        {&five, {1000000000, 0, 0, 1000000000, 0}, INT64_C(12000000000000)},
        {&five, {1000000001, 0, 0, 0, 0}, -1},
        /* 100 × 100 + 10 × 1000; one token more costs all of them the next amount */
        {&tiered, {100, 0, 0, 10, 0}, 20000},
        {&tiered, {101, 0, 0, 10, 0}, 100500},
        {&tiered, {200, 0, 0, 10, 0}, 150000},
        {&tiered, {201, 0, 0, 10, 0}, 301000},
        {&tiered, {-1, 0, 0, 10, 0}, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t got = usage_cost_nano(&cases[i].usage, cases[i].price);
        CU_ASSERT_EQUAL(got, cases[i].nano);
    }
}

/* A price in nano-units below 10^6 gives parts of a nano-unit for one token. */
static void a_reply_is_rounded_half_up_once(void)
{
    static const struct {
        int64_t input, output; /* price */
        int64_t tokens_in, tokens_out;
        int64_t nano;
    } cases[] = {
        {499999, 0, 1, 0, 0},      /* 0.499999 */
        {500000, 0, 1, 0, 1},      /* 0.5 */
        {250000, 250000, 1, 1, 1}, /* 0.25 + 0.25: each alone would be nothing */
        {500000, 500000, 1, 1, 1}, /* 0.5 + 0.5: each alone would be one */
        {749999, 750000, 1, 1, 1}, /* 1.499999 */
        {750000, 750000, 1, 1, 2}, /* 1.5 */
        {1, 0, 1000000000, 0, 1000},
        {PRICE_NANO_MAX, 0, 3, 0, INT64_C(3000000000)}, /* a million for a million: 1 a token */
        {PRICE_NANO_MAX, PRICE_NANO_MAX, 1000000000, 1000000000, INT64_C(2000000000000000000)},
        {PRICE_NANO_MAX + 1, 0, 1, 0, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct price p = {cases[i].input, -1, -1, cases[i].output, -1, NULL, 0};
        struct usage u = {cases[i].tokens_in, 0, 0, cases[i].tokens_out, 0};
        CU_ASSERT_EQUAL(usage_cost_nano(&u, &p), cases[i].nano);
    }
}

static void prices_are_equal_as_amounts(void)
{
    struct price copy = five, tiers = tiered, other = tiered;
    CU_ASSERT_TRUE(price_equal(&five, &copy));
    copy.reasoning = -1;
    CU_ASSERT_FALSE(price_equal(&five, &copy));
    CU_ASSERT_TRUE(price_equal(&tiered, &tiers));
    other.above = 99;
    CU_ASSERT_FALSE(price_equal(&tiered, &other));
    other.beyond = NULL;
    CU_ASSERT_FALSE(price_equal(&tiered, &other));
    CU_ASSERT_TRUE(price_equal(NULL, NULL));
    CU_ASSERT_FALSE(price_equal(&five, NULL));
}

/* ---- in a run ---- */

static struct arena *arena;
static struct kernel *k;
static struct buf all;
static uint64_t now;

static struct kernel_config settings(const struct price *price, const char *currency)
{
    struct kernel_config c = kernel_config_default();
    c.run = STR("000000000001");
    c.seed = 7;
    c.started_at = STR("2026-11-29T18:00:00.000Z");
    c.model = STR("m-1");
    c.price = price;
    c.currency = str_of(currency);
    return c;
}

static void feed(struct event ev)
{
    struct command cmd;
    CU_ASSERT_EQUAL(kernel_feed(k, &ev, ++now), 0);
    buf_add(&all, kernel_take_log(k));
    while (kernel_poll(k, &cmd)) {
    }
}

static void start(const struct kernel_config *c)
{
    arena = arena_new();
    now = 0;
    k = kernel_new(c);
    buf_add(&all, kernel_take_log(k));
    feed((struct event){.kind = EV_USER_MESSAGE, .text = STR("hello")});
}

/* A reply that answers, or that asks for a tool which is not there, so that the run goes on. */
static void answer(bool last, struct usage usage)
{
    struct tool_call call = {STR("c"), STR("nothing"), STR("{}")};
    struct reply r = {.content = last ? STR("done") : STR(""),
                      .reasoning = {NULL, 0},
                      .calls = &call,
                      .n_calls = last ? 0 : 1,
                      .stop = last ? STOP_END_TURN : STOP_TOOL_USE,
                      .usage = usage};
    feed((struct event){.kind = EV_REPLY, .reply = &r});
}

static void stop(void)
{
    kernel_free(k);
    arena_free(arena);
    buf_free(&all);
}

static bool logged(const char *text)
{
    bool found = str_find(buf_str(&all), str_of(text)) != SIZE_MAX;
    if (!found) {
        printf("\n  not logged: %s\n%.*s", text, STR_FMT(buf_str(&all)));
    }
    return found;
}

static void the_cost_of_a_run_is_the_sum_of_its_replies(void)
{
    struct kernel_config c = settings(&five, "CNY");
    struct run_result r;
    start(&c);
    answer(false, (struct usage){1000, 300, 0, 100, 0});
    answer(true, (struct usage){1000, 0, 0, 100, 60});
    CU_ASSERT_TRUE(logged("\"cost_nano\":2460000,\"latency_ms\""));
    CU_ASSERT_TRUE(logged("\"cost_nano\":3120000,\"latency_ms\""));
    CU_ASSERT_TRUE(logged("\"cost_nano\":5580000,\"currency\":\"CNY\""));
    CU_ASSERT_TRUE(kernel_result(k, &r));
    CU_ASSERT_EQUAL(r.cost_nano, 5580000);
    CU_ASSERT_TRUE(str_is(r.currency, "CNY"));
    stop();
}

static void one_unknown_cost_makes_the_sum_unknown(void)
{
    struct kernel_config c = settings(&five, "USD");
    start(&c);
    answer(false, USAGE_UNKNOWN);
    answer(true, (struct usage){1000, 0, 0, 100, 0});
    CU_ASSERT_TRUE(logged("\"cost_nano\":null,\"latency_ms\""));
    CU_ASSERT_TRUE(logged("\"cost_nano\":3000000,\"latency_ms\""));
    CU_ASSERT_TRUE(logged("\"cost_nano\":null,\"currency\":\"USD\""));
    stop();
}

static void a_spent_cost_budget_ends_the_run(void)
{
    struct kernel_config c = settings(&five, "CNY");
    struct run_result r;
    c.budget.cost_nano = 3000000; /* just what one reply costs */
    start(&c);
    answer(false, (struct usage){1000, 0, 0, 100, 0});
    CU_ASSERT_TRUE_FATAL(kernel_result(k, &r));
    CU_ASSERT_EQUAL(r.status, RUN_COST_BUDGET);
    CU_ASSERT_EQUAL(r.cost_nano, 3000000);
    CU_ASSERT_TRUE(
        str_is(r.reason, "the budget of 0.003 CNY is spent after 1 step and 1100 tokens"));
    stop();
}

static void what_is_unpriced_spends_no_cost_budget(void)
{
    struct kernel_config c = settings(NULL, "USD");
    struct run_result r;
    c.budget.cost_nano = 0;
    start(&c);
    answer(false, (struct usage){1000, 0, 0, 100, 0});
    CU_ASSERT_FALSE(kernel_result(k, &r));
    answer(true, (struct usage){1000, 0, 0, 100, 0});
    CU_ASSERT_TRUE_FATAL(kernel_result(k, &r));
    CU_ASSERT_EQUAL(r.status, RUN_COMPLETED);
    CU_ASSERT_EQUAL(r.cost_nano, -1);
    CU_ASSERT_TRUE(logged("\"config\":{}")); /* a log without a price is as it always was */
    stop();
}

/* ---- the log is the whole truth ---- */

/* Feeds the log so far to a kernel that knows nothing but the log. */
static void check_replay(int64_t cost_nano)
{
    struct arena *own = arena_new();
    struct kernel_config c;
    struct kernel_replay out = {0};
    struct run_result r;
    struct err e = {0};
    CU_ASSERT_EQUAL_FATAL(kernel_config_of_log(own, "t", buf_str(&all), NULL, 0, &c, &e), 0);
    struct kernel *again = kernel_new(&c);
    int rc = kernel_replay(again, "t", buf_str(&all), SIZE_MAX, &out, &e);
    if (rc != 0) {
        printf("\n  %s\n", e.message);
    }
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT_TRUE(kernel_result(again, &r));
    CU_ASSERT_EQUAL(r.cost_nano, cost_nano);
    buf_free(&out.missing);
    kernel_free(again);
    arena_free(own);
}

static void a_log_brings_its_price_along(void)
{
    struct kernel_config c = settings(&tiered, "CNY");
    start(&c);
    CU_ASSERT_TRUE(
        logged("\"config\":{\"currency\":\"CNY\",\"price\":{\"input\":0.1,\"output\":1,\"above\":["
               "{\"tokens\":100,\"input\":0.5,\"output\":5},"
               "{\"tokens\":200,\"input\":1,\"output\":10}]}}"));
    answer(false, (struct usage){201, 0, 0, 10, 0});
    answer(true, (struct usage){100, 0, 0, 10, 0});
    check_replay(321000);
    stop();
}

static void a_resumed_run_goes_on_at_its_new_price(void)
{
    struct kernel_config c = settings(&five, "USD");
    start(&c);
    answer(true, (struct usage){1000, 0, 0, 100, 0});
    c.price = &two;
    feed((struct event){.kind = EV_RESUME, .config = &c, .text = STR("and now?")});
    CU_ASSERT_TRUE(logged(
        "\"changed\":{\"config\":{\"currency\":\"USD\",\"price\":{\"input\":2,\"output\":10}}"));
    answer(true, (struct usage){1000, 300, 0, 100, 0});
    check_replay(6000000);
    c.model = STR("m-2"); /* another model at the same price */
    feed((struct event){.kind = EV_RESUME, .config = &c, .text = STR("once more")});
    CU_ASSERT_TRUE(logged("\"changed\":{\"model\":\"m-2\"}"));
    answer(true, (struct usage){1000, 300, 0, 100, 0});
    check_replay(9000000);
    c.price = NULL;
    feed((struct event){.kind = EV_RESUME, .config = &c, .text = STR("the last")});
    CU_ASSERT_TRUE(logged("\"price\":null"));
    answer(true, (struct usage){1000, 300, 0, 100, 0});
    check_replay(-1);
    stop();
}

static void amounts_of_two_currencies_have_no_sum(void)
{
    struct kernel_config c = settings(&five, "USD");
    start(&c);
    answer(true, (struct usage){1000, 0, 0, 100, 0});
    c.currency = STR("CNY");
    feed((struct event){.kind = EV_RESUME, .config = &c, .text = STR("and now?")});
    answer(true, (struct usage){1000, 0, 0, 100, 0});
    CU_ASSERT_TRUE(logged("\"cost_nano\":null,\"currency\":\"CNY\""));
    check_replay(-1);
    stop();
}

static void a_price_that_is_none_is_told(void)
{
    static const char *const prices[] = {
        "1",
        "{\"input\":1}",
        "{\"input\":-1,\"output\":1}",
        "{\"input\":\"1\",\"output\":1}",
        "{\"input\":1e9,\"output\":1}",
        "{\"input\":1,\"output\":1,\"above\":[{\"tokens\":0,\"input\":1,\"output\":1}]}",
        ("{\"input\":1,\"output\":1,\"above\":[{\"tokens\":9,\"input\":1,\"output\":1},"
         "{\"tokens\":9,\"input\":1,\"output\":1}]}"),
        "{\"input\":1,\"output\":1,\"above\":[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]}",
    };
    for (size_t i = 0; i < sizeof prices / sizeof prices[0]; i++) {
        struct arena *own = arena_new();
        struct kernel_config c;
        struct err e = {0};
        struct str log = arena_printf(own,
                                      "{\"seq\":1,\"t_ms\":0,\"type\":\"run_start\",\"schema\":1,"
                                      "\"config\":{\"price\":%s}}\n",
                                      prices[i]);
        CU_ASSERT_EQUAL(kernel_config_of_log(own, "t", log, NULL, 0, &c, &e), ERR_INPUT);
        CU_ASSERT_EQUAL(e.line, 1);
        arena_free(own);
    }
}

TESTS(core_price, {"a_reply_costs_what_its_tokens_cost", a_reply_costs_what_its_tokens_cost},
      {"a_reply_is_rounded_half_up_once", a_reply_is_rounded_half_up_once},
      {"prices_are_equal_as_amounts", prices_are_equal_as_amounts},
      {"the_cost_of_a_run_is_the_sum_of_its_replies", the_cost_of_a_run_is_the_sum_of_its_replies},
      {"one_unknown_cost_makes_the_sum_unknown", one_unknown_cost_makes_the_sum_unknown},
      {"a_spent_cost_budget_ends_the_run", a_spent_cost_budget_ends_the_run},
      {"what_is_unpriced_spends_no_cost_budget", what_is_unpriced_spends_no_cost_budget},
      {"a_log_brings_its_price_along", a_log_brings_its_price_along},
      {"a_resumed_run_goes_on_at_its_new_price", a_resumed_run_goes_on_at_its_new_price},
      {"amounts_of_two_currencies_have_no_sum", amounts_of_two_currencies_have_no_sum},
      {"a_price_that_is_none_is_told", a_price_that_is_none_is_told})
