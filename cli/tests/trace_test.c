/* trace verify and trace check, from outside. */
#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <string.h>
#include <unistd.h>

static const char script[] = "version: 1\nsteps:\n"
                             "- reply:\n    calls:\n"
                             "    - {id: c1, name: calculator, arguments: {expression: \"1+1\"}}\n"
                             "    - {id: c2, name: now}\n"
                             "- reply: {text: It is 2.}\n";

/* The log of a run of that script, in a new folder. */
static const char *new_log(const char **trace)
{
    const char *dir = testing_dir();
    *trace = path_of("%s/t.jsonl", dir);
    CHECK_STATUS(ASSAY("run", "--fake", write_text(dir, "s.yaml", script), "--trace", *trace, "p"),
                 0);
    const char *log = read_text(*trace, NULL);
    CU_ASSERT_FATAL(log != NULL);
    return log;
}

/* ---- verify ---- */

/* The quickstart's traces, with its tool file and with the set; and what there is to say without.
 */
static void quickstart(void)
{
    const char *run = path_of("%s/run", testing_dir());
    CHECK_STATUS(ASSAY("eval", SOURCE_DIR "/goldens/quickstart.yaml", "--fake", "--out", run), 0);
    struct program_options shell = {.program = "/bin/sh"};
    const char *tools = "--tools '" SOURCE_DIR "/goldens/quickstart/tools.yaml'";
    const char *const with[] = {tools, "--set '" SOURCE_DIR "/goldens/quickstart.yaml'"};
    for (size_t i = 0; i < 2; i++) {
        const char *command =
            path_of("'%s/assay' trace verify '%s'/traces/*.jsonl %s", BUILD_DIR, run, with[i]);
        const struct ran *r = ASSAY_WITH(&shell, "-c", command);
        CHECK_STATUS(r, 0);
        CU_ASSERT_EQUAL(count_lines(r->out), 18);
        CHECK_OUT(r, "/clock.jsonl: verified, 10 events\n");
        CU_ASSERT(strstr(r->out, "interrupted") == NULL);
    }
    const char *clock = path_of("%s/traces/clock.jsonl", run);
    const struct ran *r = ASSAY("trace", "verify", clock);
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "--tools");
    const char *command = path_of("'%s/assay' trace check '%s'/traces/*.jsonl", BUILD_DIR, run);
    r = ASSAY_WITH(&shell, "-c", command);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "18 files checked: 0 errors, 0 warnings\n");
}

/* One byte is changed in every line in turn: never verified, and told with a line that is not
 * before it. */
static void changed(void)
{
    const char *trace;
    const char *log = new_log(&trace);
    unsigned number = 1;
    for (const char *line = log; *line != '\0'; line = strchr(line, '\n') + 1, number++) {
        size_t at = (size_t)(strchr(line, '\n') - log) - 3;
        at -= log[at] == '"';
        const char *text =
            path_of("%.*s%c%s", (int)at, log, log[at] == 'x' ? 'y' : 'x', log + at + 1);
        write_text(path_of("%.*s", (int)(strrchr(trace, '/') - trace), trace), "t.jsonl", text);
        const struct ran *r = ASSAY("trace", "verify", trace);
        CU_ASSERT(r->status == 1 || (r->status == 2 && number == 1));
        CHECK_ONE_LINE(r);
        bool told = false;
        for (unsigned i = number; i <= count_lines(log); i++) {
            told = told || strstr(r->err, path_of("t.jsonl:%u:", i)) != NULL;
        }
        if (!told) {
            FAIL("line %u, changed to %s\n%s", number, text, r->err);
        }
        r = ASSAY("trace", "check", trace);
        CHECK_STATUS(r, 1);
        CHECK_OUT(r, "error");
    }
    CU_ASSERT_EQUAL(number, 13);
}

static void cut_off(void)
{
    const char *trace;
    const char *log = new_log(&trace);
    const char *dir = path_of("%.*s", (int)(strrchr(trace, '/') - trace), trace);
    const char *at = strstr(log, "{\"seq\":6");
    write_bytes(dir, "t.jsonl", log, (size_t)(at - log));
    const struct ran *r = ASSAY("trace", "verify", trace);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, path_of("%s: verified, but interrupted after 5 events\n", trace));
    r = ASSAY("trace", "check", trace);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "ends without run_end [interrupted]");
    write_bytes(dir, "t.jsonl", log, (size_t)(at - log) + 9);
    CHECK_STATUS(ASSAY("trace", "verify", trace), 0);
    r = ASSAY("trace", "check", trace);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, ":6: warning: the last line is cut off [torn]");
}

static void no_logs(void)
{
    const char *dir = testing_dir();
    const char *const texts[] = {"",
                                 "\n",
                                 "{}\n",
                                 "[]\n",
                                 "{\"seq\":1}\n",
                                 "\xff\xfe\n",
                                 "{\"seq\":1,\"t_ms\":0,\"type\":\"run_start\",\"schema\":2}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *file = write_text(dir, "t.jsonl", texts[i]);
        const struct ran *r = ASSAY("trace", "verify", file);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, path_of("%s:1", file));
        CHECK_STATUS(ASSAY("resume", file, "x", "--fake", "s"), 2);
    }
    CHECK_STATUS(ASSAY("trace", "verify", path_of("%s/none", dir)), 2);
    CHECK_STATUS(ASSAY("trace", "check", path_of("%s/none", dir)), 2);
    CHECK_STATUS(ASSAY("trace", "verify"), 2);
    CHECK_STATUS(ASSAY("trace", "check"), 2);
    CHECK_STATUS(ASSAY("trace", "verify", "a", "--tools", "now", "--set", "s"), 2);
}

/* ---- check ---- */

#define START "{\"seq\":1,\"t_ms\":0,\"type\":\"run_start\",\"schema\":1,\"system\":\"s\"}\n"
#define SAYS  "{\"seq\":2,\"t_ms\":0,\"type\":\"user_message\",\"content\":\"u\"}\n"
#define CALLS                                                                                      \
    "{\"seq\":3,\"t_ms\":5,\"type\":\"llm_reply\",\"content\":null,\"calls\":[{\"id\":\"a\","      \
    "\"name\":\"f\",\"arguments\":\"{}\"},{\"id\":\"b\",\"name\":\"f\",\"arguments\":\"{}\"}]}\n"
#define RESULT(seq, id)                                                                            \
    "{\"seq\":" seq ",\"t_ms\":5,\"type\":\"tool_result\",\"call_id\":\"" id                       \
    "\",\"content\":\"x\"}\n"
#define MORE(seq) "{\"seq\":" seq ",\"t_ms\":6,\"type\":\"user_message\",\"content\":\"v\"}\n"

static void mistakes(void)
{
    static const struct {
        const char *text;
        const char *told; /* NULL = nothing but that it is cut off */
    } cases[] = {
        {START SAYS CALLS RESULT("4", "b") RESULT("5", "a") MORE("6"), NULL}, /* as they came */
        {START SAYS CALLS RESULT("4", "b"), NULL}, /* the other was under way */
        {START SAYS CALLS RESULT("4", "a") MORE("5"), ":5: error: messages[4]: call b has no"},
        {START SAYS CALLS RESULT("4", "a") RESULT("5", "a"), ":5: error: messages["},
        {START SAYS RESULT("3", "a"), ":3: error: messages[2]: a result for call a"},
        {START SAYS CALLS RESULT("5", "a"), ":4: error: seq is 5 behind 3"},
        {START SAYS SAYS, ":3: error: seq is 2 behind 2"},
        {START SAYS CALLS "{\"seq\":4,\"t_ms\":4,\"type\":\"final\"}\n",
         ":4: error: t_ms falls from 5 to 4 [bad_time]"},
        {START "{\"seq\":2,\"t_ms\":0,\"type\":\"user_mesage\"}\n",
         ":2: error: no event has the type \"user_mesage\"; did you mean user_message"},
        {START "{\"seq\":2,\"t_ms\":0,\"type\":\"run_end\",\"sum\":\"0000000000000000\"}\n",
         ":2: error: the lines before have the sum "},
        {START "{\"seq\":2\n", ":2: error: no event: "},
        {START START, "[second_start]"},
        {"{\"seq\":1,\"t_ms\":0,\"type\":\"user_message\",\"content\":\"u\"}\n", "[no_start]"},
    };
    const char *dir = testing_dir();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *file = write_text(dir, "t.jsonl", cases[i].text);
        const struct ran *r = ASSAY("trace", "check", file);
        CHECK_STATUS(r, cases[i].told == NULL ? 0 : 1);
        CHECK_OUT(r, cases[i].told == NULL ? "0 errors, 1 warning" : cases[i].told);
        r = ASSAY("trace", "check", file, "--json");
        size_t n = 0;
        CU_ASSERT(json_lines(r->out, &n) && n >= 1);
    }
}

/* Requests of three providers, whole and as bare lists of messages. */
static void requests(void)
{
    static const struct {
        const char *text;
        const char *told; /* NULL = all is well */
    } cases[] = {
        {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", NULL},
        {"[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"tool_calls\":[{\"id\":"
         "\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
         "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"1\"}]",
         NULL},
        {"[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"tool_calls\":[{\"id\":"
         "\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
         "{\"role\":\"user\",\"content\":\"1\"}]",
         "messages[2]: call c has no result yet [history]"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"system\",\"content\":"
         "\"1\"}]}",
         "messages[1]: a system message may only come first"},
        {"{\"system\":\"s\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":"
         "\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":"
         "{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\"}]}"
         "]}",
         NULL},
        {"[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"content\":[{\"type\":"
         "\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}]},{\"role\":\"user\",\"content\":"
         "[{\"type\":\"tool_result\",\"tool_use_id\":\"u\"}]}]",
         "expected the result of call t, got u"},
        {"{\"input\":[{\"role\":\"user\",\"content\":\"x\"},{\"type\":\"function_call\","
         "\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"},{\"type\":"
         "\"function_call_output\",\"call_id\":\"c\",\"output\":\"1\"}]}",
         NULL},
        {"[{\"role\":\"user\",\"content\":\"x\"},{\"type\":\"function_call\",\"call_id\":\"c\","
         "\"name\":\"f\",\"arguments\":\"{}\"}]",
         "call c has no result"},
        {"{\"x\":1}", "neither an event log nor a request"},
        {"17", "neither an event log nor a request"},
        {"[", "invalid"},
    };
    const char *dir = testing_dir();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = ASSAY("trace", "check", write_text(dir, "r.json", cases[i].text));
        CHECK_STATUS(r, cases[i].told == NULL ? 0 : 1);
        CHECK_OUT(r, cases[i].told == NULL ? "0 errors, 0 warnings" : cases[i].told);
    }
}

/* Each log by the tools of its own task, though tasks of a long set do not stay in memory. */
static void verified_by_tools_of_tasks(void)
{
    const char *dir = testing_dir(), *out = path_of("%s/out", dir);
    const char *steps = write_text(dir, "f.script.yaml",
                                   "version: 1\nsteps:\n- reply: {calls: [{name: look}]}\n"
                                   "- reply: {text: So.}\n");
    const char *set =
        write_text(dir, "set.yaml",
                   "version: 1\nname: s\ntasks:\n"
                   "- {id: a, prompt: p, tools: [{name: look, answers: [{result: 1}]}]}\n"
                   "- {id: b, prompt: q, tools: [{name: other, answers: [{result: 2}]}]}\n");
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--script", steps, "--out", out), 0);
    const struct ran *r =
        ASSAY("trace", "verify", "--set", set, path_of("%s/traces/b.jsonl", out),
              path_of("%s/traces/a.jsonl", out), path_of("%s/traces/b.jsonl", out));
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "/a.jsonl: verified");
    CHECK_OUT(r, "/b.jsonl: verified");
}

TESTS(trace, {"traces_of_the_quickstart_verify", quickstart},
      {"a_changed_byte_of_any_line_is_rejected", changed},
      {"a_log_that_is_cut_off_verifies_so_far", cut_off},
      {"files_that_are_no_logs_are_told_so", no_logs},
      {"mistakes_in_logs_are_found_at_their_lines", mistakes},
      {"requests_of_three_providers_are_checked", requests},
      {"trace_verify_takes_the_tools_of_each_task", verified_by_tools_of_tasks})
