/* Money through the program: amounts are worked by hand, tokens × price ÷ 10^6. */
#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <stdio.h>
#include <string.h>

/* Asks for a tool twice, then answers: 1000, 2000 and 3000 tokens in, 100 out each time. */
static const char steps[] =
    "steps:\n"
    "- reply: {calls: [{id: c1, name: calculator, arguments: {expression: 1+1}}],\n"
    "          usage: {input: 1000, cached: 400, output: 100, reasoning: 60}}\n"
    "- reply: {calls: [{id: c2, name: calculator, arguments: {expression: 1+2}}],\n"
    "          usage: {input: 2000, output: 100}}\n"
    "- reply: {text: done, usage: {input: 3000, cached: 0, output: 100}}\n";

static const char table[] = "version: 1\n"
                            "tables:\n"
                            "- currency: USD\n"
                            "  models:\n"
                            "  - {match: [m-1, \"m-1-20*\"], input: 2, cached: 0.2, output: 10, "
                            "reasoning: 12}\n"
                            "- currency: CNY\n"
                            "  models:\n"
                            "  - {match: m-2, input: 20, output: 100}\n";

/* 600 × 2 + 400 × 0.2 + 40 × 10 + 60 × 12 is 2400; then 5000 and 7000. */
#define FIRST  "2400000"
#define SECOND "5000000"
#define ALL    "14400000"

static const char *script_of(const char *dir, const char *name, const char *model)
{
    return write_text(dir, name, path_of("version: 1\nmodel: %s\n%s", model, steps));
}

static void replies_and_runs_show_what_they_cost(void)
{
    const char *dir = testing_dir();
    const char *prices = write_text(dir, "prices.yaml", table);
    const char *script = script_of(dir, "s.yaml", "m-1-2026-11-29");
    const char *trace = path_of("%s/t.jsonl", dir);
    const struct ran *r =
        ASSAY("run", "--fake", script, "--prices", prices, "--trace", trace, "--json", "p");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "\"cost_nano\":" ALL ",\"currency\":\"USD\"");
    const char *log = read_text(trace, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    CU_ASSERT_PTR_NOT_NULL(strstr(log, "\"cost_nano\":" FIRST ",\"latency_ms\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(log, "\"cost_nano\":" SECOND ",\"latency_ms\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(log, "\"price\":{\"input\":2,\"cached\":0.2,\"output\":10"));
    r = ASSAY("trace", "show", trace);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "tokens 1000 in (400 cached), 100 out (60 reasoning), cost 0.0024 USD");
    CHECK_OUT(r, "end completed after 3 steps");
    CHECK_OUT(r, "cost 0.0144 USD");
}

static void what_has_no_price_is_unpriced_and_never_free(void)
{
    const char *dir = testing_dir();
    const char *prices = write_text(dir, "prices.yaml", table);
    static const char *const models[] = {"fake-1", "m-1-", "m-11", "M-1", "m"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        const char *script = script_of(dir, "s.yaml", models[i]);
        const char *trace = path_of("%s/t.jsonl", dir);
        const struct ran *r = ASSAY("run", "--fake", script, "--prices", prices, "--trace", trace,
                                    "--budget", "cost_usd=0", "--json", "p");
        CHECK_STATUS(r, 0); /* no cost is known: no cost budget is spent */
        CHECK_OUT(r, "\"cost_nano\":null");
        const char *log = read_text(trace, NULL);
        CU_ASSERT_PTR_NULL(strstr(log, "\"cost_nano\":0"));
        CU_ASSERT_PTR_NULL(strstr(log, "\"price\""));
        CHECK_OUT(ASSAY("trace", "show", trace), ", unpriced\n");
    }
}

static void the_shipped_table_counts_unless_another_is_named(void)
{
    const char *dir = testing_dir();
    const char *prices = write_text(dir, "prices.yaml", table);
    const char *script = script_of(dir, "s.yaml", "gpt-4.1-mini-2025-04-14");
    /* 5600 × 0.40 + 400 × 0.10 + 300 × 1.60 */
    CHECK_OUT(ASSAY("run", "--fake", script, "--json", "p"),
              "\"cost_nano\":2760000,\"currency\":\"USD\"");
    CHECK_OUT(ASSAY("run", "--fake", script, "--prices", prices, "--json", "p"),
              "\"cost_nano\":null");
    /* --model names it too: 6000 × 12 + 300 × 36, of which 400 cached at 1.5 */
    CHECK_OUT(ASSAY("run", "--fake", script, "--model", "qwen3.8-max", "--json", "p"),
              "\"cost_nano\":78600000,\"currency\":\"CNY\"");
}

static void a_spent_cost_budget_ends_the_run(void)
{
    static const struct {
        const char *model, *budget, *says, *cost;
        int status;
    } cases[] = {
        /* checked after each reply: the second one spends it */
        {"m-1", "cost_usd=0.0074", "the budget of 0.0074 USD is spent after 2 steps", "7400000", 1},
        {"m-1", "cost_usd=0.007400001", NULL, ALL, 0},
        {"m-1", "cost_usd=0", "the budget of 0 USD is spent after 0 steps", "0", 1},
        /* the amount is one of the price's currency */
        {"m-2", "cost_usd=0.03", "the budget of 0.03 CNY is spent after 1 step", "30000000", 1},
    };
    const char *dir = testing_dir();
    const char *prices = write_text(dir, "prices.yaml", table);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *script = script_of(dir, "s.yaml", cases[i].model);
        const struct ran *r = ASSAY("run", "--fake", script, "--prices", prices, "--budget",
                                    cases[i].budget, "--json", "p");
        CHECK_STATUS(r, cases[i].status);
        CHECK_OUT(r, path_of("\"cost_nano\":%s,", cases[i].cost));
        if (cases[i].says != NULL) {
            CHECK_OUT(r, "\"status\":\"cost_budget\"");
            CHECK_ERR(r, cases[i].says);
        }
    }
}

static void golden_sets_limit_costs(void)
{
    const char *dir = testing_dir();
    const char *prices = write_text(dir, "prices.yaml", table);
    script_of(dir, "usd.yaml", "m-1");
    script_of(dir, "cny.yaml", "m-2");
    script_of(dir, "none.yaml", "m-3");
    write_text(
        dir, "short.yaml",
        "version: 1\nmodel: m-1\nsteps:\n- reply: {calls: [{id: c, name: calculator, arguments: "
        "{expression: 1+1}}], usage: {input: 2500, output: 0}}\n");
    const char *set = write_text(
        dir, "set.yaml",
        "version: 1\n"
        "name: money\n"
        "defaults: {tools: [{builtin: calculator}]}\n"
        "tasks:\n"
        "- {id: within, prompt: p, fake: usd.yaml, expect: {limits: {cost_usd: 0.0144}}}\n"
        "- {id: beyond, prompt: p, fake: usd.yaml, expect: {limits: {cost_usd: 0.0143}}}\n"
        "- {id: other, prompt: p, fake: cny.yaml, expect: {limits: {cost_usd: 100}}}\n"
        "- {id: unknown, prompt: p, fake: none.yaml, expect: {limits: {cost_usd: 100}}}\n"
        "- {id: spent, prompt: p, fake: short.yaml, budget: {cost_usd: 0.005},\n"
        "   expect: {status: cost_budget}}\n");
    const struct ran *r =
        ASSAY("eval", set, "--fake", "--prices", prices, "--out", path_of("%s/run", dir));
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "within   m-1    pass");
    CHECK_OUT(r, "0.0144 USD");
    CHECK_OUT(r, "expected at most 0.0143 USD, got 0.0144 USD");
    CHECK_OUT(r, "expected at most 100.00 USD, got 0.15 CNY, which is not compared");
    CHECK_OUT(r, "cost unknown: no price for model m-3; --prices FILE can name one");
    CHECK_OUT(r, "spent    m-1    pass");
    CHECK_OUT(r, "2 passed, 3 failed");
    CHECK_OUT(r, ", cost unpriced,");
    r = ASSAY("eval", set, "--fake", "--prices", prices, "--task", "within,other", "--out",
              path_of("%s/two", dir));
    CHECK_OUT(r, ", cost 0.15 CNY + 0.0144 USD,");
    r = ASSAY("eval", set, "--fake", "--prices", prices, "--task", "within", "--json", "--out",
              path_of("%s/one", dir));
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "\"cost_nano\":" ALL ",\"currency\":\"USD\",\"latency_ms\"");
    CHECK_OUT(r, "\"cost_nano\":" ALL ",\"currency\":\"USD\",\"p50_latency_ms\"");
}

/* A bad table is told before anything is run, and before anything is written. */
static void mistakes_are_told_before_anything_is_run(void)
{
    const char *dir = testing_dir();
    const char *script = script_of(dir, "s.yaml", "m-1");
    const char *bad =
        write_text(dir, "bad.yaml", "version: 1\ncurrency: USD\nmodels:\n- {match: m, input: 1}\n");
    const char *trace = path_of("%s/t.jsonl", dir), *out = path_of("%s/out", dir);
    const char *set = write_text(dir, "set.yaml",
                                 "version: 1\nname: s\ntasks:\n- {id: a, prompt: p, fake: s.yaml, "
                                 "expect: {no_calls: true}}\n");
    const struct ran *r = ASSAY("run", "--fake", script, "--prices", bad, "--trace", trace, "p");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "bad.yaml:4:3: \"output\" is missing here");
    CU_ASSERT_PTR_NULL(read_text(trace, NULL));
    r = ASSAY("eval", set, "--fake", "--prices", bad, "--out", out);
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "bad.yaml:4:3: \"output\" is missing here");
    CU_ASSERT_PTR_NULL(read_text(path_of("%s/manifest.json", out), NULL));
    r = ASSAY("run", "--fake", script, "--prices", path_of("%s/none.yaml", dir), "p");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "none.yaml");
    r = ASSAY("run", "--fake", script, "--price", bad, "p");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "did you mean --prices?");
}

TESTS(prices, {"prices_show_what_replies_and_runs_cost", replies_and_runs_show_what_they_cost},
      {"prices_unpriced_is_never_free", what_has_no_price_is_unpriced_and_never_free},
      {"prices_shipped_table_counts_unless_another_is_named",
       the_shipped_table_counts_unless_another_is_named},
      {"prices_spent_cost_budget_ends_the_run", a_spent_cost_budget_ends_the_run},
      {"prices_golden_sets_limit_costs", golden_sets_limit_costs},
      {"prices_mistakes_are_told_before_anything_is_run", mistakes_are_told_before_anything_is_run})
