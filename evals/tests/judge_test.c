#include "ci/testing/testing.h"
#include "evals/judge.h"

#include <stdio.h>
#include <string.h>

/* A set with one task, whose `expect` each case brings. get_price's currency has a default. */
static const char set_head[] =
    "version: 1\n"
    "name: judged\n"
    "tasks:\n"
    "- id: t\n"
    "  prompt: hello\n"
    "  tools:\n"
    "  - name: get_price\n"
    "    description: price\n"
    "    parameters: {type: object, properties: {sku: {type: string}, n: {type: integer},"
    " currency: {type: string, default: EUR}}}\n"
    "    answers: [{result: {}}]\n"
    "  - {name: check_stock, description: stock, parameters: {type: object},"
    " answers: [{result: {}}]}\n"
    "  - {name: refund_order, description: refund, parameters: {type: object},"
    " answers: [{result: {}}]}\n"
    "  expect:\n";

struct made {
    const char *name; /* NULL ends the list */
    const char *arguments;
    int64_t step;
};

struct judge_case {
    const char *name;
    const char *expect; /* YAML lines behind `expect:`, each with four spaces */
    struct made made[6];
    struct run_result result;
    const char *want; /* outcome, scores, failing checks */
};

/* A run of 2 steps and 1.5 s with 20 output tokens. */
#define RESULT(run_status, why, input, cost)                                                       \
    {                                                                                              \
        .status = (run_status), .steps = 2, .usage = {(input), -1, -1, 20, -1},                    \
        .cost_nano = (cost), .ended_ms = 1500, .answer = {"4.2 points", 10}, .reason = {           \
            (why),                                                                                 \
            sizeof(why) - 1                                                                        \
        }                                                                                          \
    }
#define COMPLETED RESULT(RUN_COMPLETED, "", 100, -1)

static const struct judge_case cases[] = {
    {"all well",
     "    calls: {list: [{get_price: {sku: A-1}}, check_stock]}\n    answer: {contains: '4.2'}\n",
     {{"get_price", "{\"sku\":\"A-1\"}", 1}, {"check_stock", "", 2}},
     COMPLETED,
     "pass 1.000000 1.000000 1.000000 1.000000 1.000000 1\n"},
    {"a default spelled out is the same as left out",
     "    calls: {list: [{get_price: {sku: A-1}}]}\n",
     {{"get_price", "{\"sku\":\"A-1\",\"currency\":\"EUR\"}", 1}},
     COMPLETED,
     "pass 1.000000 1.000000 1.000000 1.000000 1.000000 1\n"},
    {"wrong argument",
     "    calls: {list: [get_price, {get_price: {sku: A-1}}, check_stock]}\n",
     {{"get_price", "{}", 1}, {"get_price", "{\"sku\":\"A1\"}", 1}, {"check_stock", "{}", 2}},
     COMPLETED,
     "fail 1.000000 1.000000 1.000000 1.000000 0.666667 0\n"
     "calls: call 2 of 3: get_price.args.sku: expected \"A-1\", got \"A1\"\n"},
    {"each argument that differs is told",
     "    calls: {list: [get_price, {get_price: {sku: A-1, currency: EUR}}]}\n",
     {{"get_price", "{}", 1},
      {"get_price", "{\"sku\":\"A1\",\"currency\":\"USD\",\"at\\nonce\":[1]}", 1}},
     COMPLETED,
     "fail 1.000000 1.000000 1.000000 1.000000 0.500000 0\n"
     "calls: call 2 of 2: get_price.args.sku: expected \"A-1\", got \"A1\"\n"
     "call 2 of 2: get_price.args.currency: expected \"EUR\", got \"USD\"\n"
     "call 2 of 2: get_price.args.at once: not expected (the expectation does not list it; list "
     "it, or set extra_args: ignore), got [1]\n"},
    {"missing and extra",
     "    calls: {list: [get_price, check_stock]}\n    forbid: [refund_order]\n",
     {{"get_price", "{}", 1}, {"refund_order", "{}", 2}, {"refund_order", "{}", 3}},
     COMPLETED,
     /* paired 1, expected 2, made 3 */
     "fail 0.333333 0.333333 0.500000 0.400000 1.000000 0\n"
     "calls: call 2 of 3: expected check_stock, got refund_order\n"
     "call 3 of 3: refund_order was not expected\n"
     "forbid: call 2 of 3: refund_order is forbidden\n"
     "call 3 of 3: refund_order is forbidden\n"},
    {"extra calls that in_order allows do not count as made",
     "    calls: {mode: in_order, list: [get_price]}\n",
     {{"check_stock", "{}", 1}, {"get_price", "{}", 2}, {"get_price", "{}", 3}},
     COMPLETED,
     "pass 1.000000 1.000000 1.000000 1.000000 1.000000 1\n"},
    {"superset without the call",
     "    calls: {mode: superset, list: [get_price, check_stock]}\n",
     {{"refund_order", "{}", 1}, {"get_price", "{}", 2}},
     COMPLETED,
     "fail 0.500000 1.000000 0.500000 0.666667 1.000000 0\n"
     "calls: expected call 2 of 2: check_stock was not made\n"},
    {"missing calls that subset allows do not count as expected",
     "    calls: {mode: subset, list: [get_price, check_stock]}\n",
     {{"check_stock", "{}", 1}},
     COMPLETED,
     "pass 1.000000 1.000000 1.000000 1.000000 1.000000 1\n"},
    {"none made where calls are expected",
     "    calls: {list: [get_price]}\n",
     {{NULL, NULL, 0}},
     COMPLETED,
     "fail 0.000000 0.000000 0.000000 0.000000 null 0\n"
     "calls: expected call 1 of 1: get_price was not made\n"},
    {"order",
     "    calls: {list: [get_price, {parallel: [check_stock, refund_order]}]}\n",
     {{"get_price", "{}", 1}, {"refund_order", "{}", 2}, {"check_stock", "{}", 3}},
     COMPLETED,
     "fail 1.000000 1.000000 1.000000 1.000000 1.000000 0\n"
     "calls: mode exact wants this order: get_price, parallel [check_stock, refund_order]; made "
     "reply 1: get_price; reply 2: refund_order; reply 3: check_stock\n"},
    {"replies of a mode without order",
     "    calls: {mode: any_order, list: [{parallel: [check_stock, refund_order]}]}\n",
     {{"refund_order", "{}", 1}, {"check_stock", "{}", 2}},
     COMPLETED,
     "fail 1.000000 1.000000 1.000000 1.000000 1.000000 0\n"
     "calls: mode any_order wants parallel calls in one reply: parallel [check_stock, "
     "refund_order]; made reply 1: refund_order; reply 2: check_stock\n"},
    {"another call at a place",
     "    calls: {list: [get_price, check_stock]}\n",
     {{"refund_order", "{}", 1}, {"check_stock", "{}", 2}},
     COMPLETED,
     "fail 0.500000 0.500000 0.500000 0.500000 1.000000 0\n"
     "calls: call 1 of 2: expected get_price, got refund_order\n"},
    {"arguments that are no object do not match",
     "    calls: {list: [{get_price: {sku: A-1}}]}\n",
     {{"get_price", "{\"sku\":", 1}},
     COMPLETED,
     "fail 1.000000 1.000000 1.000000 1.000000 0.000000 0\n"
     "calls: call 1 of 1: get_price: expected arguments that are a JSON object, got {\"sku\":\n"},
    {"no calls wanted, none made",
     "    no_calls: true\n",
     {{NULL, NULL, 0}},
     COMPLETED,
     "pass 1.000000 1.000000 1.000000 1.000000 null 1\n"},
    {"no calls wanted, some made",
     "    no_calls: true\n",
     {{"get_price", "{}", 1}, {"check_stock", "{}", 1}},
     COMPLETED,
     "fail 0.000000 0.000000 0.000000 0.000000 null 0\n"
     "no_calls: expected no calls, got 2: get_price, check_stock\n"},
    {"nothing expected of calls",
     "    answer: {contains: '4.2'}\n",
     {{"get_price", "{}", 1}},
     COMPLETED,
     "pass null null null null null -1\n"},
    {"limits that hold exactly",
     "    limits: {steps: 2, calls: 1, tokens: 120, seconds: 1.5}\n",
     {{"get_price", "{}", 1}},
     COMPLETED,
     "pass null null null null null -1\n"},
    {"limits that are exceeded",
     "    limits: {steps: 1, calls: 1, tokens: 119, cost_usd: 0.01, seconds: 1.499}\n",
     {{"get_price", "{}", 1}, {"get_price", "{}", 2}},
     COMPLETED,
     "fail null null null null null -1\n"
     "steps: expected at most 1, got 2\n"
     "calls_limit: expected at most 1, got 2\n"
     "tokens: expected at most 119, got 120\n"
     "cost: cost unknown: no price for model m-1; --prices FILE can name one\n"
     "seconds: expected at most 1.499 s, took 1.500 s\n"},
    {"a known cost",
     "    limits: {cost_usd: 0.01}\n",
     {{NULL, NULL, 0}},
     RESULT(RUN_COMPLETED, "", 100, 10000001),
     "fail null null null null null -1\n"
     "cost: expected at most 0.01 USD, got 0.010000001 USD\n"},
    {"a cost that is just the limit",
     "    limits: {cost_usd: 0.01}\n",
     {{NULL, NULL, 0}},
     RESULT(RUN_COMPLETED, "", 100, 10000000),
     "pass null null null null null -1\n"},
    {"a cost without token counts",
     "    limits: {cost_usd: 0.01}\n",
     {{NULL, NULL, 0}},
     RESULT(RUN_COMPLETED, "", -1, -1),
     "fail null null null null null -1\n"
     "cost: cost unknown: the provider gave no token counts\n"},
    {"unknown tokens do not pass a limit",
     "    limits: {tokens: 1000}\n",
     {{NULL, NULL, 0}},
     RESULT(RUN_COMPLETED, "", -1, -1),
     "fail null null null null null -1\n"
     "tokens: expected at most 1000, but the provider gave no token counts\n"},
    {"a spent budget fails",
     "    answer: {contains: '4.2'}\n",
     {{NULL, NULL, 0}},
     RESULT(RUN_MAX_STEPS, "the budget of 2 steps is spent", 100, -1),
     "fail null null null null null -1\n"
     "status: expected completed, got max_steps: the budget of 2 steps is spent\n"},
    {"a spent budget passes where it is expected",
     "    status: max_steps\n",
     {{NULL, NULL, 0}},
     RESULT(RUN_MAX_STEPS, "", 100, -1),
     "pass null null null null null -1\n"},
    {"completed where a spent budget is expected",
     "    status: repeated_calls\n",
     {{NULL, NULL, 0}},
     RESULT(RUN_COMPLETED, "completed", 100, -1),
     "fail null null null null null -1\n"
     "status: expected repeated_calls, got completed\n"},
    {"a script that did not fit is a failure",
     "    answer: {contains: '4.2'}\n",
     {{NULL, NULL, 0}},
     RESULT(RUN_SCRIPT_MISMATCH, "", 100, -1),
     "fail null null null null null -1\nstatus: expected completed, got script_mismatch\n"},
    {"an endpoint's failure is an error without scores",
     "    calls: {list: [get_price]}\n",
     {{"get_price", "{}", 1}},
     RESULT(RUN_MODEL_ERROR, "", 100, -1),
     "error null null null null null -1\n"},
    {"a miss is an error",
     "    calls: {list: [get_price]}\n",
     {{NULL, NULL, 0}},
     RESULT(RUN_CASSETTE_MISS, "", 100, -1),
     "error null null null null null -1\n"},
    {"a cancelled run has no outcome",
     "    calls: {list: [get_price]}\n",
     {{NULL, NULL, 0}},
     RESULT(RUN_CANCELLED, "", 100, -1),
     "none null null null null null -1\n"},
};

static struct golden_set *load(const char *expect)
{
    const char *dir = testing_dir();
    char path[512];
    snprintf(path, sizeof path, "%s/set.yaml", dir);
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        return NULL;
    }
    fprintf(f, "%s%s", set_head, expect);
    fclose(f);
    struct golden_set *set = NULL;
    struct err e;
    if (golden_load(path, &set, &e) != 0) {
        char text[1600];
        printf("\n%s\n", err_text(&e, text, sizeof text));
    }
    return set;
}

static void show(struct buf *out, const struct eval_verdict *v)
{
    const struct ratio ratios[] = {v->scores.tool_selection, v->scores.precision, v->scores.recall,
                                   v->scores.f1, v->scores.arguments};
    buf_addz(out, eval_outcome_name(v->outcome));
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        buf_char(out, ' ');
        ratio_add(out, ratios[i]);
    }
    buf_fmt(out, " %d\n", v->scores.trajectory);
    for (size_t i = 0; i < v->n_checks; i++) {
        if (!v->checks[i].passed) {
            buf_add(out, v->checks[i].name);
            buf_addz(out, ": ");
            buf_add(out, v->checks[i].message);
            buf_char(out, '\n');
        }
    }
}

static void judges_as_worked_by_hand(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct golden_set *set = load(cases[i].expect);
        CU_ASSERT_PTR_NOT_NULL_FATAL(set);
        struct eval_call calls[6];
        struct eval_run run = {.calls = calls, .model = STR("m-1"), .result = cases[i].result};
        for (; run.n_calls < 6 && cases[i].made[run.n_calls].name != NULL; run.n_calls++) {
            const struct made *m = &cases[i].made[run.n_calls];
            calls[run.n_calls] = (struct eval_call){str_of(m->name), str_of(m->arguments), m->step};
        }
        struct arena *arena = arena_new();
        struct eval_verdict v;
        eval_judge(&set->tasks[0], &run, arena, &v);
        CU_ASSERT_EQUAL(v.scores.success, v.outcome == EVAL_PASS);
        struct buf got = {0};
        show(&got, &v);
        buf_char(&got, '\0');
        if (!testing_text(__FILE__, __LINE__, got.p, cases[i].want)) {
            printf("  case %s\n", cases[i].name);
        }
        buf_free(&got);
        arena_free(arena);
        golden_free(set);
    }
}

/* A reply of a model may hold any number of calls. */
static void long_lists_are_cut_in_messages(void)
{
    enum { MADE = 100000 };
    struct golden_set *set = load("    calls: {list: [get_price, check_stock]}\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(set);
    struct arena *arena = arena_new();
    struct eval_call *calls = arena_array(arena, MADE, sizeof *calls);
    for (size_t i = 0; i < MADE; i++) {
        calls[i] = (struct eval_call){STR("get_price"), STR("{}"), 1};
    }
    struct eval_run run = {
        .calls = calls, .n_calls = MADE, .model = STR("m-1"), .result = {.status = RUN_COMPLETED}};
    struct eval_verdict v;
    eval_judge(&set->tasks[0], &run, arena, &v);
    CU_ASSERT_EQUAL(v.outcome, EVAL_FAIL);
    struct buf b = {0};
    show(&b, &v);
    struct str text = buf_str(&b);
    CU_ASSERT(text.n < 4000);
    /* another call than expected and 99998 not expected, of which 19 are shown */
    CU_ASSERT(str_ends(text, "\nand 99979 more\n"));
    buf_free(&b);
    arena_free(arena);
    golden_free(set);
}

/* Twelve groups of two, each another one, and eleven replies that have two calls: 11! ways to try.
 */
static void a_search_given_up_is_told(void)
{
    enum { GROUPS = 12, MADE = 3 * GROUPS - 2 };
    struct arena *arena = arena_new();
    struct buf expect = {0};
    buf_addz(&expect, "    calls:\n      mode: superset\n      list:\n");
    for (int i = 1; i <= GROUPS; i++) {
        struct str call = arena_printf(arena, "{get_price: {n: {one_of: [0, %d]}}}", i);
        buf_fmt(&expect, "      - parallel: [%s, %s]\n", call.p, call.p);
    }
    buf_char(&expect, '\0');
    struct golden_set *set = load(expect.p);
    CU_ASSERT_PTR_NOT_NULL_FATAL(set);
    struct eval_call calls[MADE];
    for (int i = 0; i < MADE; i++) {
        bool alone = i < GROUPS;
        struct str arguments = arena_printf(arena, "{\"n\":%d}", alone ? i + 1 : 0);
        calls[i] = (struct eval_call){STR("get_price"), arguments, alone ? i : GROUPS + i / 2};
    }
    struct eval_run run = {
        .calls = calls, .n_calls = MADE, .model = STR("m-1"), .result = {.status = RUN_COMPLETED}};
    struct eval_verdict v;
    eval_judge(&set->tasks[0], &run, arena, &v);
    struct buf b = {0};
    show(&b, &v);
    CU_ASSERT_EQUAL(v.outcome, EVAL_FAIL);
    CU_ASSERT(str_find(buf_str(&b), STR("given up: there are too many ways")) != SIZE_MAX);
    buf_free(&b);
    buf_free(&expect);
    arena_free(arena);
    golden_free(set);
}

TESTS(judge, {"judge_decides_as_worked_by_hand", judges_as_worked_by_hand},
      {"judge_cuts_long_lists_in_messages", long_lists_are_cut_in_messages},
      {"judge_tells_of_a_search_that_it_gave_up", a_search_given_up_is_told})
