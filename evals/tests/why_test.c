/* Why trials did not pass: what their lines say, counted. */
#include "ci/testing/testing.h"
#include "evals/rows_int.h"
#include "evals/run_int.h"
#include "evals/trial_lines_int.h"

/* One trial, as its line has it. recall, precision, arguments: of 2. */
struct told {
    enum eval_outcome outcome;
    enum run_status status;
    const char *failed[3];
    int recall, precision, arguments;
    size_t made;
    int64_t expected;
    int64_t asked;
    size_t verdicts;
    const char *message;
};

static struct eval_call calls[3] = {{{"a", 1}, {"{}", 2}, 1}, {{"b", 1}, {"{}", 2}, 1}};

static void make_trial(const struct told *from, struct arena *arena, struct eval_trial *t)
{
    *t = (struct eval_trial){.set = "s",
                             .task = {"t", 1},
                             .trial = 1,
                             .verdict = {.outcome = from->outcome, .scores = {.trajectory = -1}},
                             .result = {.status = from->status, .usage = USAGE_UNKNOWN},
                             .calls = calls,
                             .n_calls = from->made,
                             .expected_calls = from->expected,
                             .code = from->outcome == EVAL_ERROR ? ERR_NET : 0};
    struct eval_scores *s = &t->verdict.scores;
    if (from->expected > 0 || from->made > 0) {
        s->recall = (struct ratio){from->recall, 2};
        s->precision = (struct ratio){from->precision, 2};
        s->arguments = (struct ratio){from->arguments, 2};
    }
    t->verdict.checks = arena_array(arena, 3, sizeof *t->verdict.checks);
    for (size_t i = 0; i < 3 && from->failed[i] != NULL; i++) {
        t->verdict.checks[t->verdict.n_checks++] =
            (struct eval_check){str_of(from->failed[i]), false, str_of(from->message)};
    }
    t->judged.asked = from->asked;
    t->judged.n_verdicts = from->verdicts;
    t->judged.verdicts = arena_array(arena, from->verdicts, sizeof *t->judged.verdicts);
    for (size_t i = 0; i < from->verdicts; i++) {
        t->judged.verdicts[i] = (struct golden_verdict){STR("r"), false, STR("so")};
    }
}

/* The counts of some trials, as the summary has them; "" = none. read: of their lines, read back.
 */
static const char *why_of(const struct told *told, size_t n, bool read, struct arena *arena)
{
    struct eval_report *r = report_new("runs/x");
    for (size_t i = 0; i < n; i++) {
        struct eval_trial t;
        struct buf line = {0};
        make_trial(&told[i], arena, &t);
        t.trial = (int64_t)i + 1;
        eval_trial_json(&line, &t);
        struct str text = arena_str(arena, str_slice(buf_str(&line), 0, line.n - 1));
        buf_free(&line);
        CU_ASSERT_FATAL(!read || run_trial_read(arena, "x", 1, text, &t, NULL) == 0);
        CU_ASSERT_EQUAL(report_add_line(r, &t, text, 0, NULL), 0);
    }
    eval_sum(r, 0);
    struct buf out = {0};
    eval_summary_json(&out, &r->summary);
    size_t at = str_find(buf_str(&out), STR(",\"why\":"));
    const char *why = at == SIZE_MAX ? "" : arena_cstr(arena, str_slice(buf_str(&out), at, out.n));
    buf_free(&out);
    eval_report_free(r);
    return why;
}

#define ONE(name) ",\"why\":[{\"name\":\"" name "\",\"trials\":1}]}"
#define PART(name, kind)                                                                           \
    ",\"why\":[{\"name\":\"" name "\",\"trials\":1,\"kinds\":[{\"name\":\"" kind                   \
    "\",\"trials\":1}]}]}"

static void each_trial_is_counted_in_its_own_words(void)
{
    static const struct {
        struct told told;
        const char *why;
    } cases[] = {
        {{EVAL_PASS, RUN_COMPLETED, {NULL}, 2, 2, 2, 2, 2, 0, 0, NULL}, ""},
        {{EVAL_FAIL, RUN_COMPLETED, {"answer"}, 2, 2, 2, 2, 2, 0, 0, NULL}, ONE("answer")},
        {{EVAL_FAIL, RUN_COMPLETED, {"answer"}, 2, 2, 2, 2, 2, 2, 2, "expected \"rubric \""},
         ONE("answer")},
        {{EVAL_FAIL, RUN_COMPLETED, {"answer"}, 2, 2, 2, 2, 2, 2, 2, "rubric \"r\" not met: so"},
         PART("answer", "rubric")},
        {{EVAL_FAIL, RUN_COMPLETED, {"seconds"}, 2, 2, 2, 2, 2, 1, 1, NULL}, ONE("seconds")},
        {{EVAL_FAIL, RUN_COMPLETED, {"calls"}, 2, 2, 1, 2, 2, 0, 0, NULL},
         PART("calls", "wrong argument")},
        {{EVAL_FAIL, RUN_COMPLETED, {"calls"}, 1, 2, 2, 1, 2, 0, 0, NULL},
         PART("calls", "missing call")},
        {{EVAL_FAIL, RUN_COMPLETED, {"calls"}, 2, 1, 2, 2, 1, 0, 0, NULL},
         PART("calls", "extra call")},
        {{EVAL_FAIL, RUN_COMPLETED, {"calls"}, 1, 1, 2, 2, 2, 0, 0, NULL},
         PART("calls", "wrong tool")},
        {{EVAL_FAIL, RUN_COMPLETED, {"calls"}, 2, 2, 2, 2, 2, 0, 0, NULL}, PART("calls", "order")},
        /* without any call, or where none is expected, both scores are 0 */
        {{EVAL_FAIL, RUN_COMPLETED, {"calls"}, 0, 0, 2, 0, 2, 0, 0, NULL},
         PART("calls", "missing call")},
        {{EVAL_FAIL, RUN_COMPLETED, {"calls"}, 0, 0, 2, 2, 0, 0, 0, NULL},
         PART("calls", "extra call")},
        /* too many to compare: there are no scores */
        {{EVAL_FAIL, RUN_COMPLETED, {"calls"}, 0, 0, 0, 0, 0, 0, 0, NULL}, ONE("calls")},
        {{EVAL_FAIL, RUN_COMPLETED, {"status"}, 2, 2, 2, 2, 2, 0, 0, NULL}, ONE("status")},
        {{EVAL_FAIL, RUN_TIME_BUDGET, {"status"}, 2, 2, 2, 2, 2, 0, 0, NULL}, ONE("time_budget")},
        /* the status was as expected */
        {{EVAL_FAIL, RUN_MAX_STEPS, {"calls_limit"}, 2, 2, 2, 2, 2, 0, 0, NULL},
         ONE("calls_limit")},
        {{EVAL_FAIL, RUN_COMPLETED, {"manners"}, 2, 2, 2, 2, 2, 0, 0, NULL}, ONE("other")},
        {{EVAL_FAIL, RUN_COMPLETED, {NULL}, 2, 2, 2, 2, 2, 0, 0, NULL}, ONE("other")},
        {{EVAL_ERROR, RUN_MODEL_ERROR, {NULL}, 2, 2, 2, 2, 2, 0, 0, NULL}, ONE("model_error")},
        {{EVAL_ERROR, RUN_CASSETTE_MISS, {NULL}, 2, 2, 2, 2, 2, 0, 0, NULL}, ONE("cassette_miss")},
        {{EVAL_ERROR, RUN_COMPLETED, {NULL}, 2, 2, 2, 2, 2, 2, 1, NULL}, ONE("judge")},
        {{EVAL_ERROR, RUN_COMPLETED, {NULL}, 2, 2, 2, 2, 2, 2, 2, NULL}, ONE("error")},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_TEXT(why_of(&cases[i].told, 1, false, arena), cases[i].why);
        CHECK_TEXT(why_of(&cases[i].told, 1, true, arena), cases[i].why);
    }
    arena_free(arena);
}

static void the_most_frequent_comes_first_and_equals_by_name(void)
{
    static const struct told told[] = {
        {EVAL_FAIL, RUN_MAX_STEPS, {"status", "calls", "answer"}, 1, 2, 1, 1, 2, 0, 0, NULL},
        {EVAL_PASS, RUN_COMPLETED, {NULL}, 2, 2, 2, 2, 2, 0, 0, NULL},
        {EVAL_FAIL, RUN_COMPLETED, {"tokens", "calls"}, 2, 2, 1, 2, 2, 0, 0, NULL},
        {EVAL_ERROR, RUN_MODEL_ERROR, {NULL}, 0, 0, 0, 0, 0, 0, 0, NULL},
    };
    struct arena *arena = arena_new();
    CHECK_TEXT(why_of(told, sizeof told / sizeof told[0], true, arena),
               ",\"why\":[{\"name\":\"calls\",\"trials\":2,\"kinds\":["
               "{\"name\":\"wrong argument\",\"trials\":2},{\"name\":\"missing call\",\"trials\":1}"
               "]},{\"name\":\"answer\",\"trials\":1},{\"name\":\"max_steps\",\"trials\":1},"
               "{\"name\":\"model_error\",\"trials\":1},{\"name\":\"tokens\",\"trials\":1}]}");
    arena_free(arena);
}

TESTS(why, {"each_trial_is_counted_in_its_own_words", each_trial_is_counted_in_its_own_words},
      {"the_most_frequent_comes_first_and_equals_by_name",
       the_most_frequent_comes_first_and_equals_by_name})
