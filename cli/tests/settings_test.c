#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <string.h>

/* Scripts are written as steps below `version` and `steps`. */
#define HEAD   "version: 1\nsteps:\n"
#define SUM(n) "- reply: {calls: [{name: calculator, arguments: {expression: \"" n "\"}}]}\n"
#define TEXT   "- reply: {text: Done.}\n"
#define REFUND "- reply: {calls: [{name: refund, arguments: {order: \"7\", usd: 5}}]}\n"

static const char tool_file[] =
    "version: 1\n"
    "tools:\n"
    "- builtin: calculator\n"
    "- {name: look, tier: read, answers: [{result: seen}]}\n"
    "- {name: note, tier: write, answers: [{result: noted}]}\n"
    "- name: refund\n"
    "  tier: danger\n"
    "  parameters: {type: object, properties: {order: {type: string}, usd: {type: number}}}\n"
    "  answers: [{result: paid}]\n"
    "- {name: broken, tier: read, answers: [{error: {code: TIMEOUT, message: no answer, retryable: "
    "true}}]}\n";

/* Runs a script with one setting and returns the log. */
static const char *log_of(const char *script, int status, const char *flag, const char *value)
{
    const char *dir = testing_dir();
    const char *trace = path_of("%s/t.jsonl", dir);
    const char *words[16] = {"run",     "p",   "--fake", write_text(dir, "s.yaml", script),
                             "--trace", trace, flag,     value};
    CHECK_STATUS(program_run(words, NULL), status);
    const char *log = read_text(trace, NULL);
    return log == NULL ? "" : log;
}

static bool has(const char *log, const char *part)
{
    return strstr(log, part) != NULL;
}

static void repeats(void)
{
    static const char script[] = HEAD SUM("1+1") SUM("1+1") TEXT;
    const char *log = log_of(script, 0, NULL, NULL);
    CU_ASSERT(has(log, "REPEATED_CALL") && has(log, "\"config\":{}"));
    log = log_of(script, 0, "--repeat", "cache");
    CU_ASSERT(!has(log, "REPEATED_CALL") && has(log, "\"cached\":true"));
    CU_ASSERT(has(log, "\"config\":{\"repeat\":\"cache\"}"));
    log = log_of(script, 0, "--repeat", "allow");
    CU_ASSERT(!has(log, "REPEATED_CALL") && !has(log, "\"cached\":true"));
}

static void consecutive(void)
{
    static const char script[] = HEAD SUM("1+1") SUM("1+1") SUM("1+1") TEXT;
    CU_ASSERT(log_ends(log_of(script, 1, NULL, NULL), "repeated_calls"));
    CU_ASSERT(log_ends(log_of(script, 0, "--max-consecutive", "4"), "completed"));
}

static void no_progress(void)
{
    static const char script[] = HEAD SUM("1/0") SUM("2/0") SUM("3/0") SUM("4/0") TEXT;
    static const char again[] = HEAD SUM("1+1") SUM("1+1") SUM("2+2") TEXT;
    CU_ASSERT(log_ends(log_of(script, 0, NULL, NULL), "completed"));
    CU_ASSERT(log_ends(log_of(again, 0, "--no-progress", "2"), "completed"));
    CU_ASSERT(log_ends(
        log_of(HEAD SUM("1+1") SUM("1+1") SUM("2+2") SUM("2+2") TEXT, 1, "--no-progress", "1"),
        "no_progress"));
}

static void tool_retries(void)
{
    const char *dir = testing_dir();
    const char *tools = write_text(dir, "tools.yaml", tool_file);
    const char *script =
        write_text(dir, "s.yaml", HEAD "- reply: {calls: [{name: broken}]}\n" TEXT);
    const struct ran *r = ASSAY("run", "p", "--fake", script, "--tools", tools, "--trace", "-",
                                "--tool-retries", "3");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "\"attempts\":4");
    CHECK_OUT(r, "\"config\":{\"tool_retries\":3");
    r = ASSAY("run", "p", "--fake", script, "--tools", tools, "--trace", "-", "--tool-retries=0");
    CHECK_OUT(r, "\"attempts\":1,\"cached\"");
}

static void attempts(void)
{
    static const char script[] = HEAD "- {fault: {status: 503}, repeat: 4}\n" TEXT;
    CU_ASSERT(log_ends(log_of(script, 4, NULL, NULL), "model_error"));
    const char *log = log_of(script, 0, "--attempts", "5");
    CU_ASSERT(log_ends(log, "completed") && has(log, "\"attempts\":5"));
}

#define LONG                                                                                       \
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "    \
    "sixteen seventeen eighteen nineteen twenty "
#define LONG_SUM(n)                                                                                \
    "- reply: {text: \"" LONG LONG "\", calls: [{name: calculator, arguments: {expression: \"" n   \
    "\"}}]}\n"

static void compaction(void)
{
    static const char drop[] =
        HEAD LONG_SUM("1") LONG_SUM("2") LONG_SUM("3") LONG_SUM("4") LONG_SUM("5") TEXT;
    CU_ASSERT(!has(log_of(drop, 0, NULL, NULL), "\"type\":\"compaction\""));
    const char *log = log_of(drop, 0, "--context-tokens", "400");
    CU_ASSERT(has(log, "\"type\":\"compaction\"") && has(log, "\"summary\":null"));
    CU_ASSERT(has(log, "\"config\":{\"context_tokens\":400}"));
    const char *dir = testing_dir();
    const char *script =
        write_text(dir, "s.yaml",
                   "version: 1\nrules:\n"
                   "- {when: {last_user: {contains: Summarise}}, reply: {text: A short summary.}}\n"
                   "- {times: 1, reply: {text: \"" LONG LONG
                   "\", calls: [{name: calculator, arguments: {expression: \"1\"}}]}}\n"
                   "- {times: 1, reply: {text: \"" LONG LONG
                   "\", calls: [{name: calculator, arguments: {expression: \"2\"}}]}}\n"
                   "- {times: 1, reply: {text: \"" LONG LONG
                   "\", calls: [{name: calculator, arguments: {expression: \"3\"}}]}}\n"
                   "- {times: 1, reply: {text: \"" LONG LONG
                   "\", calls: [{name: calculator, arguments: {expression: \"4\"}}]}}\n"
                   "- {reply: {text: Done.}}\n");
    const struct ran *r = ASSAY("run", "p", "--fake", script, "--trace", "-", "--context-tokens",
                                "400", "--compaction", "summarise");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "\"summary\":\"A short summary.\"");
}

static void fenced(void)
{
    static const char script[] =
        HEAD "- reply:\n    text: |\n      ```json\n      {\"name\": \"calculator\", "
             "\"arguments\": {\"expression\": \"6*7\"}}\n      ```\n- reply: {text: Done.}\n";
    const char *log = log_of(script, 1, NULL, NULL); /* the text is the answer: a step is left */
    CU_ASSERT(!has(log, "tool_start"));
    log = log_of(script, 0, "--fenced-calls", NULL);
    CU_ASSERT(has(log, "tool_start") && has(log, "\"fenced_calls\":1"));
}

static void close_names(void)
{
    static const char script[] =
        HEAD "- reply: {calls: [{name: calculater, arguments: {expression: 6*7}}]}\n" TEXT;
    CU_ASSERT(has(log_of(script, 0, NULL, NULL), "UNKNOWN_TOOL"));
    CU_ASSERT(!has(log_of(script, 0, "--close-names", NULL), "UNKNOWN_TOOL"));
}

/* ---- approval ---- */

struct folder {
    const char *dir, *tools, *script;
};

static struct folder desk(const char *script)
{
    struct folder f = {.dir = testing_dir()};
    f.tools = write_text(f.dir, "tools.yaml", tool_file);
    f.script = write_text(f.dir, "s.yaml", script);
    return f;
}

#define THREE                                                                                      \
    "- reply: {calls: [{name: look}, {name: note}, {name: refund, arguments: {order: \"7\", usd: " \
    "5}}]}\n"

static void tiers(void)
{
    static const struct {
        const char *approve;
        bool look, note, refund; /* carried out */
        const char *config;
    } cases[] = {
        {NULL, true, true, false, "{\"tier_danger\":1}"},
        {"allow", true, true, true, "{}"},
        {"deny", false, false, false, "{\"tier_read\":2,\"tier_write\":2,\"tier_danger\":2}"},
        {"write=deny", true, false, false, "{\"tier_write\":2,\"tier_danger\":1}"},
        {"danger=allow,write=ask", true, false, true, "{\"tier_write\":1}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct folder f = desk(HEAD THREE TEXT);
        const struct ran *r =
            ASSAY("run", "p", "--fake", f.script, "--tools", f.tools, "--trace", "-",
                  cases[i].approve == NULL ? NULL : "--approve", cases[i].approve);
        CHECK_STATUS(r, 0);
        CU_ASSERT(has(r->out, "\"seen\"") == cases[i].look);
        CU_ASSERT(has(r->out, "\"noted\"") == cases[i].note);
        CU_ASSERT(has(r->out, "\"paid\"") == cases[i].refund);
        CHECK_OUT(r, path_of("\"config\":%s}", cases[i].config));
    }
}

static void nobody(void)
{
    struct folder f = desk(HEAD REFUND "- {expect: {last_tool: {contains: DENIED}}, reply: {text: "
                                       "I may not.}}\n");
    const struct ran *r = ASSAY("run", "p", "--fake", f.script, "--tools", f.tools);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "I may not.\n");
    CHECK_ERR(r, "refund is denied: nobody can be asked");
    CHECK_ERR(r, "--decisions FILE");
}

/* The first that fits decides; one that fits none is denied as if there were no file. */
static void decisions(void)
{
    static const struct {
        const char *file, *word;
    } cases[] = {
        {"[{tool: refund, decision: allow}]", "allow"},
        {"[{tool: note, decision: allow}, {tool: refund, decision: always}]", "always"},
        {"[{tool: refund, when: {order: '7'}, decision: allow}]", "allow"},
        {"[{tool: refund, when: {order: '8'}, decision: allow}]", "deny"},
        {"[{tool: refund, when: {usd: {range: [0, 4]}}, decision: allow},"
         " {tool: refund, when: {usd: {range: [0, 9]}}, decision: always},"
         " {tool: refund, decision: deny}]",
         "always"},
        {"[]", "deny"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct folder f = desk(HEAD REFUND TEXT);
        const char *file =
            write_text(f.dir, "d.yaml", path_of("version: 1\ndecisions: %s\n", cases[i].file));
        const struct ran *r = ASSAY("run", "p", "--fake", f.script, "--tools", f.tools,
                                    "--decisions", file, "--trace", "-");
        CHECK_STATUS(r, 0);
        CHECK_OUT(r, path_of("\"decision\":\"%s\"", cases[i].word));
        CU_ASSERT(has(r->out, "\"paid\"") == (strcmp(cases[i].word, "deny") != 0));
    }
}

/* A line that decides nothing is told: it may be a slip, or be thought to keep a tool from running.
 */
static void idle_decisions(void)
{
    struct folder f = desk(HEAD REFUND TEXT);
    const char *file = write_text(f.dir, "d.yaml",
                                  "version: 1\ndecisions:\n- {tool: refnd, decision: deny}\n"
                                  "- {tool: refund, decision: deny}\n");
    const struct ran *r =
        ASSAY("run", "p", "--fake", f.script, "--tools", f.tools, "--decisions", file);
    CHECK_STATUS(r, 0);
    CHECK_ERR(r, "d.yaml:3: warning: no tool of this run is called refnd\n");
    CU_ASSERT_FALSE(has(r->err, "d.yaml:4"));
    r = ASSAY("run", "p", "--fake", f.script, "--tools", f.tools, "--decisions", file, "--approve",
              "allow");
    CHECK_STATUS(r, 0);
    CHECK_ERR(r, "d.yaml:4: warning: calls of refund are allowed unasked, whatever stands here; "
                 "--approve danger=ask asks\n");
}

/* A denial whose pattern runs into the limit on what the model wrote is not passed over. */
static void decisions_in_doubt(void)
{
    struct folder f = desk(HEAD "- reply: {calls: [{name: refund, arguments: {order: "
                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!, usd: 5}}]}\n" TEXT);
    const char *file =
        write_text(f.dir, "d.yaml",
                   "version: 1\ndecisions:\n"
                   "- {tool: refund, when: {order: {regex: '^(a+)+$'}}, decision: deny}\n"
                   "- {tool: refund, decision: allow}\n");
    const struct ran *r = ASSAY("run", "p", "--fake", f.script, "--tools", f.tools, "--decisions",
                                file, "--trace", "-");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "\"decision\":\"deny\"");
    CU_ASSERT_FALSE(has(r->out, "\"paid\""));
}

/* What is always allowed is asked about once. */
static void always(void)
{
    struct folder f =
        desk(HEAD REFUND "- reply: {calls: [{name: refund, arguments: {order: \"8\"}}]}\n" TEXT);
    const char *file =
        write_text(f.dir, "d.yaml", "{version: 1, decisions: [{tool: refund, decision: always}]}");
    const struct ran *r = ASSAY("run", "p", "--fake", f.script, "--tools", f.tools, "--decisions",
                                file, "--trace", "-");
    CHECK_STATUS(r, 0);
    const char *asked = strstr(r->out, "approval_required");
    CU_ASSERT(asked != NULL && strstr(asked + 1, "approval_required") == NULL);
}

static void bad_decisions(void)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"version: 1\n", "d.yaml:1:1: "},
        {"version: 1\ndecisions: {}\n", "d.yaml:2:12: "},
        {"version: 1\ndecisions:\n- {decision: allow}\n", "d.yaml:3:3: "},
        {"version: 1\ndecisions:\n- {tool: refund}\n", "d.yaml:3:3: "},
        {"version: 1\ndecisions:\n- {tool: refund, decision: maybe}\n", "d.yaml:3:28: "},
        {"version: 1\ndecisions:\n- {tool: refund, decison: deny}\n", "did you mean \"decision\"?"},
        {"version: 1\ndecisions:\n- {tool: refund, when: {usd: {regex: 5}}, decision: deny}\n",
         "d.yaml:3:"},
        {"version: 1\ndecisions:\n- {tool: '', decision: deny}\n", "d.yaml:3:10: "},
        {"version: 1\ndecisions:\n- {tool: a, when: [], decision: deny}\n", "d.yaml:3:19: "},
        {"version: 2\ndecisions: []\n", "d.yaml:1:10: "},
        {"version: 1\ndecisions: [\n", "d.yaml:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct folder f = desk(HEAD TEXT);
        const char *file = write_text(f.dir, "d.yaml", cases[i].text);
        const struct ran *r = ASSAY("run", "p", "--fake", f.script, "--decisions", file);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
    }
    CHECK_STATUS(ASSAY("run", "p", "--decisions", "/nowhere.yaml"), 2);
}

/* What resume and fork change stands in the log; the tiers stay as they were. */
static void resumed(void)
{
    struct folder f = desk(HEAD SUM("1+1") SUM("1+1") TEXT);
    const char *trace = path_of("%s/t.jsonl", f.dir), *other = path_of("%s/o.jsonl", f.dir);
    const char *whole = path_of("%s/w.jsonl", f.dir);
    CHECK_STATUS(ASSAY("run", "p", "--fake", f.script, "--tools", f.tools, "--trace", whole,
                       "--approve", "danger=allow"),
                 0);
    CHECK_STATUS(ASSAY("run", "p", "--fake", f.script, "--tools", f.tools, "--trace", trace,
                       "--budget", "steps=1", "--approve", "danger=allow"),
                 1);
    const struct ran *r =
        ASSAY("fork", whole, "--at", "6", "--fake", f.script, "--tools", f.tools, "--trace", other,
              "--repeat", "cache", "--budget", "steps=9", "--approve", "write=deny");
    CHECK_STATUS(r, 0);
    const char *log = read_text(other, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    CU_ASSERT(has(log, "\"config\":{\"repeat\":\"cache\",\"tier_write\":2}"));
    CU_ASSERT(has(log, "\"cached\":true"));
    CU_ASSERT(!has(log, "tier_danger"));
    CHECK_STATUS(ASSAY("resume", trace, "--fake", f.script, "--tools", f.tools, "--budget",
                       "steps=9", "--repeat", "allow"),
                 0);
    log = read_text(trace, NULL);
    CU_ASSERT(log != NULL && has(log, "\"config\":{\"repeat\":\"allow\"}"));
}

static void bad_settings(void)
{
    static const struct {
        const char *flag, *value, *part;
    } cases[] = {
        {"--repeat", "never", "--repeat wants block, cache or allow, got \"never\""},
        {"--compaction", "zip", "--compaction wants drop or summarise"},
        {"--approve", "maybe", "allow, ask or deny for all tools"},
        {"--approve", "reed=ask", "a tier wants read, write or danger"},
        {"--approve", "read=no", "a policy wants allow, ask or deny"},
        {"--approve", "read=ask,read=deny", "read is given twice"},
        {"--approve", "read=ask,", "TIER=POLICY"},
        {"--approve", "", "TIER=POLICY"},
        {"--max-consecutive", "1", "from 2"},
        {"--no-progress", "-1", "from 0"},
        {"--attempts", "0", "from 1"},
        {"--tool-retries", "x", "whole number"},
        {"--context-tokens", "1.5", "whole number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = ASSAY("run", "p", "--fake", "s.yaml", cases[i].flag, cases[i].value);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
    }
}

TESTS(settings, {"repeat_blocks_caches_or_allows", repeats},
      {"max_consecutive_is_when_repeats_end_the_run", consecutive},
      {"no_progress_ends_a_run_that_learns_nothing", no_progress},
      {"tool_retries_is_how_often_a_tool_is_tried_again", tool_retries},
      {"attempts_is_how_often_the_model_is_tried", attempts},
      {"context_tokens_makes_the_history_smaller", compaction},
      {"fenced_calls_are_taken_when_told_so", fenced},
      {"close_names_are_taken_when_told_so", close_names}, {"approve_decides_by_tier", tiers},
      {"approval_without_a_terminal_is_a_denial_that_the_model_reads", nobody},
      {"decisions_of_a_file_are_taken_by_the_first_that_fits", decisions},
      {"decisions_that_decide_nothing_are_told", idle_decisions},
      {"a_denial_in_doubt_is_not_passed_over", decisions_in_doubt},
      {"decisions_may_hold_for_ever", always},
      {"decisions_mistakes_have_their_place", bad_decisions},
      {"settings_may_change_where_a_run_goes_on", resumed},
      {"settings_mistakes_are_one_line", bad_settings})
