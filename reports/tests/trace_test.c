#include "ci/testing/testing.h"
#include "kernel/drive/files.h"
#include "reports/report.h"

#include <stdio.h>
#include <string.h>

static int show(const char *log, bool full, struct buf *out, struct err *e)
{
    int rc = report_trace(out, "t.jsonl", str_of(log), full, false, e);
    buf_char(out, '\0');
    return rc;
}

#define START                                                                                      \
    "{\"seq\":1,\"t_ms\":0,\"type\":\"run_start\",\"run\":\"5f\",\"seed\":7,\"started_at\":\"S\"," \
    "\"model\":\"m\",\"provider\":\"openai\",\"system\":\"Be brief.\",\"tools\":[]}\n"
#define START_TEXT                                                                                 \
    "   0.000 s  run 5f, model m (openai), started S, seed 7\n"                                    \
    "              tools: none\n"                                                                  \
    "   0.000 s  system\n"                                                                         \
    "              Be brief.\n"

static void shows_the_example(void)
{
    const char *path = testing_corpus("../examples/margin.trace.jsonl");
    if (path == NULL) {
        testing_skip("no examples beside the checkout");
        return;
    }
    struct arena *arena = arena_new();
    struct str log;
    struct err e;
    struct buf out = {0};
    CU_ASSERT_EQUAL_FATAL(file_read(arena, path, 1 << 20, &log, &e), 0);
    CU_ASSERT_EQUAL(report_trace(&out, path, log, false, false, &e), 0);
    buf_char(&out, '\0');
    CHECK_TEXT(
        out.p,
        "   0.000 s  run 5f0c9a31d2e4, model fake-1 (openai), started 2026-11-29T18:00:00.000Z, "
        "seed 7\n"
        "              tools: calculator\n"
        "   0.000 s  user\n"
        "              ACME's gross margin fell from 42.4% to 38.2%. By how many percentage "
        "points?\n"
        "   0.000 s  step 1\n"
        "   0.412 s  reply tool_use after 0.412 s, tokens 100 in, 10 out, unpriced\n"
        "              call c1 calculator\n"
        "                {\"expression\":\"42.4-38.2\"}\n"
        "   0.412 s  tool c1 calculator\n"
        "   0.413 s  result c1 calculator after 0.001 s\n"
        "              {\"ok\":true,\"expression\":\"42.4-38.2\",\"value\":4.2}\n"
        "   0.413 s  step 2\n"
        "   0.713 s  reply end_turn after 0.300 s, tokens 120 in, 12 out, unpriced\n"
        "              It fell by 4.2 percentage points.\n"
        "   0.713 s  answer: the reply above\n"
        "   0.713 s  end completed after 2 steps, tokens 220 in, 22 out, unpriced\n");
    buf_free(&out);
    arena_free(arena);
}

/* Failures, retries, errors, and an event of a later version. */
static void shows_what_went_wrong(void)
{
    struct buf out = {0};
    struct err e;
    int rc = show(
        START
        "{\"seq\":2,\"t_ms\":5,\"type\":\"llm_failure\",\"step\":1,\"class\":\"rate_limit\","
        "\"status\":429,\"message\":\"slow\\ndown\",\"retry_in_ms\":2000}\n"
        "{\"seq\":3,\"t_ms\":6,\"type\":\"tool_retry\",\"step\":1,\"call_id\":\"c1\",\"attempt\":1,"
        "\"error\":{\"code\":\"TIMEOUT\",\"message\":\"late\",\"retryable\":true,\"hint\":null},"
        "\"retry_in_ms\":500}\n"
        "{\"seq\":4,\"t_ms\":7,\"type\":\"tool_result\",\"step\":1,\"call_id\":\"c1\","
        "\"name\":\"t\",\"ok\":false,\"error\":{\"code\":\"UNKNOWN_TOOL\",\"message\":\"no t\","
        "\"hint\":\"try "
        "u\"},\"latency_ms\":0,\"attempts\":2,\"cached\":false,\"truncated\":false}\n"
        "{\"seq\":5,\"t_ms\":8,\"type\":\"moon_phase\",\"phase\":\"full\"}\n"
        "{\"seq\":6,\"t_ms\":9,\"type\":\"cancel\",\"reason\":\"interrupted\"}\n"
        "{\"seq\":7,\"t_ms\":9,\"type\":\"run_end\",\"status\":\"cancelled\",\"steps\":1,"
        "\"usage\":{\"input\":null,\"output\":null},\"cost_nano\":1500000,\"answer\":null}\n",
        false, &out, &e);
    CU_ASSERT_EQUAL(rc, 0);
    CHECK_TEXT(out.p,
               START_TEXT "   0.005 s  failure rate_limit (HTTP 429): slow down; again in 2.000 s\n"
                          "   0.006 s  retry c1 TIMEOUT: late; again in 0.500 s\n"
                          "   0.007 s  error c1 t after 0.000 s (attempt 2): UNKNOWN_TOOL: no t; "
                          "try u\n"
                          "   0.008 s  moon_phase\n"
                          "              {\"seq\": 5, \"t_ms\": 8, \"type\": \"moon_phase\", "
                          "\"phase\": \"full\"}\n"
                          "   0.009 s  cancel: interrupted\n"
                          "   0.009 s  end cancelled after 1 step, tokens unknown, cost 0.0015\n");
    buf_free(&out);
}

/* Questions, what was decided, a run that goes on, and a history that was made smaller. */
static void shows_what_was_decided(void)
{
    struct buf out = {0};
    struct err e;
    int rc = show(
        START
        "{\"seq\":2,\"t_ms\":5,\"type\":\"approval_required\",\"step\":1,\"call_id\":\"c1\","
        "\"name\":\"refund\",\"arguments\":\"{}\"}\n"
        "{\"seq\":3,\"t_ms\":6,\"type\":\"approval\",\"call_id\":\"c1\",\"decision\":\"deny\"}\n"
        "{\"seq\":4,\"t_ms\":7,\"type\":\"resume\",\"changed\":{}}\n"
        "{\"seq\":5,\"t_ms\":8,\"type\":\"resume\",\"changed\":{\"model\":\"n\"},"
        "\"not_begun\":[\"c1\"],\"content\":\"Go on.\"}\n"
        "{\"seq\":6,\"t_ms\":8,\"type\":\"user_message\",\"content\":\"Go on.\"}\n"
        "{\"seq\":7,\"t_ms\":8,\"type\":\"user_message\",\"content\":\"Go on.\"}\n"
        "{\"seq\":8,\"t_ms\":9,\"type\":\"compaction\",\"step\":2,\"dropped\":3,\"shortened\":1,"
        "\"summary\":\"We spoke of lamps.\"}\n"
        "{\"seq\":9,\"t_ms\":9,\"type\":\"compaction\",\"step\":3,\"dropped\":0,\"shortened\":2,"
        "\"summary\":null}\n",
        false, &out, &e);
    CU_ASSERT_EQUAL(rc, 0);
    CHECK_TEXT(out.p,
               START_TEXT "   0.005 s  ask c1 refund: is it allowed?\n"
                          "   0.006 s  decision c1: deny\n"
                          "   0.007 s  resume\n"
                          "   0.008 s  resume\n"
                          "              changed {\"model\": \"n\"}\n"
                          "              not_begun [\"c1\"]\n"
                          "   0.008 s  user\n"
                          "              Go on.\n"
                          "   0.008 s  user\n"
                          "              Go on.\n"
                          "   0.009 s  compaction: 3 messages left out, 1 result shortened\n"
                          "              We spoke of lamps.\n"
                          "   0.009 s  compaction: 0 messages left out, 2 results shortened\n"
                          "interrupted: the log has no run_end\n");
    buf_free(&out);
}

#define COST(seq, type, more) "{\"seq\":" seq ",\"t_ms\":1,\"type\":\"" type "\"," more "}\n"

/* The currency is the one that the log names before the amounts, or with them. */
static void names_the_currency_of_a_cost(void)
{
    static const struct {
        const char *config, *resume, *end;
        const char *first, *second, *third; /* cost of a reply, of one after a resume, of the run */
    } cases[] = {
        {"{}", "{}", "\"cost_nano\":2000000", "cost 0.001", "cost 0.001", "cost 0.002"},
        {"{}", "{}", "\"cost_nano\":2000000,\"currency\":\"EUR\"", "cost 0.001", "cost 0.001",
         "cost 0.002 EUR"},
        {"{\"currency\":\"CNY\",\"price\":{}}", "{}", "\"cost_nano\":2000000,\"currency\":\"CNY\"",
         "cost 0.001 CNY", "cost 0.001 CNY", "cost 0.002 CNY"},
        {"{\"currency\":\"CNY\",\"price\":{}}", "{\"currency\":\"USD\",\"price\":{}}",
         "\"cost_nano\":null,\"currency\":\"USD\"", "cost 0.001 CNY", "cost 0.001 USD", "unpriced"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char log[2048], want[256];
        struct buf out = {0};
        struct err e;
        snprintf(log, sizeof log,
                 COST("1", "run_start", "\"model\":\"m\",\"config\":%s")
                     COST("2", "llm_reply", "\"stop\":\"end_turn\",\"cost_nano\":1000000")
                         COST("3", "resume", "\"changed\":%s")
                             COST("4", "llm_reply", "\"stop\":\"end_turn\",\"cost_nano\":1000000")
                                 COST("5", "run_end", "\"status\":\"completed\",\"steps\":2,%s"),
                 cases[i].config, cases[i].resume, cases[i].end);
        CU_ASSERT_EQUAL(show(log, false, &out, &e), 0);
        const char *at = out.p;
        const char *const parts[] = {cases[i].first, cases[i].second, cases[i].third};
        for (size_t j = 0; j < 3 && at != NULL; j++) {
            snprintf(want, sizeof want, ", %s\n", parts[j]);
            at = strstr(at, want);
            CU_ASSERT_PTR_NOT_NULL(at);
            at += at != NULL;
        }
        buf_free(&out);
    }
}

static void says_that_a_log_was_cut_off(void)
{
    static const struct {
        const char *log;
        const char *want;
    } cases[] = {
        {START, START_TEXT "interrupted: the log has no run_end\n"},
        {START "{\"seq\":2,\"t_ms\":5,\"ty",
         START_TEXT "the last line (2) was cut off: its 21 bytes are left out\n"
                    "interrupted: the log has no run_end\n"},
        {START "{\"text\":\"\xe6\xa0",
         START_TEXT "the last line (2) was cut off: its 11 bytes are left out\n"
                    "interrupted: the log has no run_end\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = {0};
        struct err e;
        CU_ASSERT_EQUAL(show(cases[i].log, false, &out, &e), 0);
        CHECK_TEXT(out.p, cases[i].want);
        buf_free(&out);
    }
}

static void refuses_what_is_no_log(void)
{
    static const struct {
        const char *log;
        uint32_t line;
    } cases[] = {{"", 0},
                 {"hello\n", 1},
                 {START "[1]\n", 2},
                 {START "{\"seq\":2,\"t_ms\":1}\n", 2},
                 {START "{\"seq\":2,\"type\":\"final\"}\n", 2},
                 {START "{\"seq\":2,\"t_ms\":-1,\"type\":\"final\"}\n", 2},
                 {START "{\"seq\":2,\"t_ms\":1,\n" START, 2},
                 {START "\n" START, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = {0};
        struct err e = {0};
        CU_ASSERT_EQUAL(show(cases[i].log, false, &out, &e), ERR_INPUT);
        CU_ASSERT_EQUAL(e.line, cases[i].line);
        CU_ASSERT_STRING_EQUAL(e.file, "t.jsonl");
        buf_free(&out);
    }
}

static void full_shows_everything(void)
{
    struct buf log = {0}, out = {0};
    struct err e;
    buf_addz(&log, START "{\"seq\":2,\"t_ms\":1,\"type\":\"tool_result\",\"call_id\":\"c\","
                         "\"name\":\"n\",\"ok\":true,\"content\":\"");
    for (int i = 0; i < 1000; i++) {
        buf_addz(&log, "格");
    }
    buf_addz(&log, "\"}\n");
    CU_ASSERT_EQUAL(report_trace(&out, "t", buf_str(&log), false, false, &e), 0);
    CU_ASSERT(str_find(buf_str(&out), STR("… (400 of 1000 characters)")) != SIZE_MAX);
    buf_clear(&out);
    CU_ASSERT_EQUAL(report_trace(&out, "t", buf_str(&log), true, false, &e), 0);
    CU_ASSERT(str_find(buf_str(&out), STR("characters)")) == SIZE_MAX);
    CU_ASSERT(out.n > 3000);
    buf_free(&log);
    buf_free(&out);
}

TESTS(trace, {"trace_shows_the_example", shows_the_example},
      {"trace_shows_what_went_wrong", shows_what_went_wrong},
      {"trace_shows_what_was_decided", shows_what_was_decided},
      {"trace_names_the_currency_of_a_cost", names_the_currency_of_a_cost},
      {"trace_says_that_a_log_was_cut_off", says_that_a_log_was_cut_off},
      {"trace_refuses_what_is_no_log", refuses_what_is_no_log},
      {"trace_shows_everything_when_full", full_shows_everything})
