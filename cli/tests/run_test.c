#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <cjson/cJSON.h>
#include <string.h>

#define CALL(id, expression)                                                                       \
    "- reply:\n    calls: [{id: " id ", name: calculator, arguments: {expression: \"" expression   \
    "\"}}]\n"

static const char two_steps[] =
    "version: 1\nsteps:\n" CALL("c1", "42.4-38.2") "- reply: {text: It fell by 4.2 points.}\n";

static const char ten_events[] = "run_start user_message step_start llm_reply tool_start "
                                 "tool_result step_start llm_reply final run_end";

static void ten(void)
{
    const char *dir = testing_dir();
    const char *script = write_text(dir, "s.yaml", two_steps);
    const char *trace = path_of("%s/t.jsonl", dir);
    const struct ran *r = ASSAY("run", "--fake", script, "--trace", trace, "How far did it fall?");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "It fell by 4.2 points.\n");
    CHECK_TEXT(r->err, "");
    const char *log = read_text(trace, NULL);
    CHECK_TEXT(event_types(log), ten_events);
    CU_ASSERT(log != NULL && strstr(log, "\\\"value\\\":4.2}") != NULL);
    CU_ASSERT(log_ends(log, "completed"));
}

/* Two runs are the same bytes, and so is what `--trace -` prints. */
static void again(void)
{
    const char *dir = testing_dir();
    const char *script = write_text(dir, "s.yaml", two_steps);
    const char *a = path_of("%s/a.jsonl", dir), *b = path_of("%s/b.jsonl", dir);
    CHECK_STATUS(ASSAY("run", "--fake", script, "--trace", a, "p"), 0);
    CHECK_STATUS(ASSAY("run", "--fake", script, "--trace", b, "p"), 0);
    CU_ASSERT(same_bytes(a, b));
    const struct ran *r = ASSAY("run", "--fake", script, "--trace", "-", "p");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, read_text(a, NULL));
    r = ASSAY("trace", "show", a);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "42.4-38.2");
    CHECK_OUT(r, "It fell by 4.2 points.");
}

static void json(void)
{
    const char *script = write_text(testing_dir(), "s.yaml", two_steps);
    const struct ran *r = ASSAY("run", "--json", "--fake", script, "p");
    CHECK_STATUS(r, 0);
    CU_ASSERT_EQUAL(count_lines(r->out), 1);
    cJSON *end = cJSON_Parse(r->out);
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItem(end, "type"));
    const char *answer = cJSON_GetStringValue(cJSON_GetObjectItem(end, "answer"));
    CHECK_TEXT(type, "run_end");
    CHECK_TEXT(answer, "It fell by 4.2 points.");
    CU_ASSERT_EQUAL(cJSON_GetNumberValue(cJSON_GetObjectItem(end, "steps")), 2);
    cJSON_Delete(end);
}

/* The n-th event of a type, freed by the caller. */
static cJSON *event(const char *log, const char *type, int n)
{
    while (log != NULL && *log != '\0') {
        const char *end = strchr(log, '\n');
        cJSON *line = end == NULL ? NULL : cJSON_ParseWithLength(log, (size_t)(end - log));
        const char *got = cJSON_GetStringValue(cJSON_GetObjectItem(line, "type"));
        if (got != NULL && strcmp(got, type) == 0 && --n == 0) {
            return line;
        }
        cJSON_Delete(line);
        log = end == NULL ? NULL : end + 1;
    }
    return NULL;
}

static int count_events(const char *log, const char *type)
{
    int n = 0;
    cJSON *found;
    while ((found = event(log, type, n + 1)) != NULL) {
        cJSON_Delete(found);
        n++;
    }
    return n;
}

/* error.code of the n-th tool result; "" when it has none. */
static const char *result_code(const char *log, int n)
{
    cJSON *line = event(log, "tool_result", n);
    const cJSON *error = cJSON_GetObjectItem(line, "error");
    const char *code = cJSON_GetStringValue(cJSON_GetObjectItem(error, "code"));
    const char *kept = path_of("%s", code == NULL ? "" : code);
    cJSON_Delete(line);
    return kept;
}

static void repeated(void)
{
    const char *dir = testing_dir();
    const char *script = write_text(dir, "s.yaml",
                                    "version: 1\nsteps:\n" CALL("c1", "1+1")
                                        CALL("c2", "1+1") "- reply: {text: It is 2.}\n");
    const char *trace = path_of("%s/t.jsonl", dir);
    CHECK_STATUS(ASSAY("run", "--fake", script, "--trace", trace, "1+1?"), 0);
    const char *log = read_text(trace, NULL);
    CHECK_TEXT(result_code(log, 1), "");
    CHECK_TEXT(result_code(log, 2), "REPEATED_CALL");
    CU_ASSERT(log_ends(log, "completed"));
}

static void endless(void)
{
    const char *dir = testing_dir();
    const char *script =
        write_text(dir, "s.yaml",
                   "version: 1\nsteps:\n- reply: {calls: [{name: now, arguments: {}}]}\n"
                   "  repeat: forever\n");
    const char *trace = path_of("%s/t.jsonl", dir);
    const struct ran *r =
        ASSAY("run", "--fake", script, "--budget", "steps=2", "--trace", trace, "p");
    CHECK_STATUS(r, 1);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "max_steps");
    const char *log = read_text(trace, NULL);
    CU_ASSERT(log_ends(log, "max_steps"));
    CU_ASSERT_EQUAL(count_events(log, "llm_reply"), 2);
}

static void unknown_tool(void)
{
    const char *dir = testing_dir();
    const char *script = write_text(
        dir, "s.yaml",
        "version: 1\nsteps:\n- reply: {calls: [{name: calculater, arguments: {expression: 1+1}}]}\n"
        "- reply: {text: Sorry.}\n");
    const char *trace = path_of("%s/t.jsonl", dir);
    CHECK_STATUS(ASSAY("run", "--fake", script, "--trace", trace, "1+1?"), 0);
    CHECK_TEXT(result_code(read_text(trace, NULL), 1), "UNKNOWN_TOOL");
}

static void terminal(void)
{
    const char *dir = testing_dir();
    const char *tools =
        write_text(dir, "tools.yaml", "version: 1\ntools:\n- builtin: task_done\n- builtin: now\n");
    const char *script =
        write_text(dir, "s.yaml",
                   "version: 1\nsteps:\n- reply: {calls: [{id: a, name: now, arguments: {}}, "
                   "{id: b, name: task_done, arguments: {report: all done}}]}\n");
    const char *trace = path_of("%s/t.jsonl", dir);
    const struct ran *r =
        ASSAY("run", "--fake", script, "--tools", tools, "--trace", trace, "Do it.");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "all done");
    const char *log = read_text(trace, NULL);
    CU_ASSERT(log_ends(log, "completed"));
    /* the terminal call gets its result, its sibling gets CANCELLED */
    CU_ASSERT_EQUAL(count_events(log, "tool_result"), 2);
    CU_ASSERT(strcmp(result_code(log, 1), "CANCELLED") == 0 ||
              strcmp(result_code(log, 2), "CANCELLED") == 0);
}

static void mismatch(void)
{
    static const struct {
        const char *expect;
        const char *parts[2];
    } cases[] = {
        {"{last_user: {contains: ACME}}", {"ACME", "the prompt"}},
        {"{last_user: hello}", {"hello", "the prompt"}},
        {"{tools: [calculator]}", {"calculator", "search_docs"}},
        {"{system: {regex: ^You}}", {"system", "You"}},
        {"{model: gpt-9}", {"gpt-9", "fake-1"}},
        {"{last_tool: {contains: x}}", {"last_tool", "x"}},
    };
    const char *dir = testing_dir();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *script = write_text(
            dir, "s.yaml",
            path_of("version: 1\nsteps:\n- expect: %s\n  reply: {text: x}\n", cases[i].expect));
        const char *trace = path_of("%s/t.jsonl", dir);
        const struct ran *r = ASSAY("run", "--fake", script, "--trace", trace, "the prompt");
        CHECK_STATUS(r, 1);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, "script_mismatch");
        CHECK_ERR(r, script); /* where the step stands */
        CHECK_ERR(r, "line 3");
        CHECK_ERR(r, cases[i].parts[0]);
        CHECK_ERR(r, cases[i].parts[1]);
        const char *log = read_text(trace, NULL);
        CU_ASSERT(log_ends(log, "script_mismatch"));
        CU_ASSERT_PTR_NULL(strstr(log, "s.yaml")); /* a log holds no path */
    }
}

static void leftover(void)
{
    const char *script = write_text(testing_dir(), "s.yaml",
                                    "version: 1\nsteps:\n- reply: {text: One.}\n"
                                    "- reply: {text: Two.}\n- reply: {text: Three.}\n");
    const struct ran *r = ASSAY("run", "--fake", script, "p");
    CHECK_STATUS(r, 1);
    CHECK_TEXT(r->out, "One.\n");
    CU_ASSERT_EQUAL(count_lines(r->err), 1);
    CHECK_ERR(r, script);
    CHECK_ERR(r, "step 2 (line 4), 3 (line 5) left over");
}

/* Also where a budget ends the run; but not where the script itself says what went wrong. */
static void leftover_after_a_budget(void)
{
    const char *dir = testing_dir();
    const char *script = write_text(dir, "s.yaml", two_steps);
    write_text(dir, "set.yaml",
               "version: 1\nname: s\ndefaults: {tools: [{builtin: calculator}]}\n"
               "tasks: [{id: a, prompt: p, fake: s.yaml, budget: {steps: 1},"
               " expect: {status: max_steps}}]\n");
    const struct ran *r = ASSAY("run", "--fake", script, "--budget", "steps=1", "p");
    CHECK_STATUS(r, 1);
    CHECK_ERR(r, "max_steps");
    CHECK_ERR(r, "left over");
    r = ASSAY("eval", path_of("%s/set.yaml", dir), "--fake", "--out", path_of("%s/out", dir));
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "left over");
    script = write_text(dir, "m.yaml",
                        "version: 1\nsteps:\n- {expect: {last_user: q}, reply: {text: a}}\n"
                        "- reply: {text: b}\n");
    r = ASSAY("run", "--fake", script, "p");
    CHECK_STATUS(r, 1);
    CHECK_ONE_LINE(r);
}

/* What cannot begin leaves the trace of an earlier run, and what cannot be written is said before
 * anything is made. */
static void old_trace_stays(void)
{
    const char *dir = testing_dir();
    const char *trace = write_text(dir, "t.jsonl", "the old one\n");
    const char *lost = path_of("%s/lost.yaml", dir);
    const struct ran *r = ASSAY("run", "--fake", lost, "--trace", trace, "p");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_TEXT(read_text(trace, NULL), "the old one\n");
    r = ASSAY("run", "--fake", lost, "--trace", path_of("%s/new.jsonl", dir), "p");
    CHECK_STATUS(r, 2);
    CU_ASSERT_PTR_NULL(read_text(path_of("%s/new.jsonl", dir), NULL));
    r = ASSAY("run", "--record", lost, "--model", "m", "--base-url", "http://127.0.0.1:1/v1",
              "--trace", path_of("%s/no/t.jsonl", dir), "p");
    CHECK_STATUS(r, 4);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "no/t.jsonl");
    CU_ASSERT_PTR_NULL(read_text(lost, NULL));
}

static void streamed(void)
{
    const char *dir = testing_dir();
    const char *script = write_text(dir, "s.yaml",
                                    "version: 1\nsteps:\n- reply: {text: Let me see., calls: "
                                    "[{name: now, arguments: {}}]}\n- reply: {text: Done.}\n");
    const char *trace = path_of("%s/t.jsonl", dir);
    const struct ran *r = ASSAY("run", "--stream", "--fake", script, "--trace", trace, "p");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "Let me see.Done.\n"); /* as it came, not the answer alone */
    CU_ASSERT(log_ends(read_text(trace, NULL), "completed"));
    r = ASSAY("run", "--stream", "--fake", script, "--trace", "-", "p");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, read_text(trace, NULL));
}

/* A stream that breaks off after some text and is asked for again: a file has the answer once, a
 * terminal is told. A terminal tool's answer is no part of what was said. */
static void broke_off(void)
{
    const char *dir = testing_dir();
    const char *script = write_text(
        dir, "s.yaml",
        "version: 1\nsteps:\n- {fault: {kind: truncate, after_bytes: 900}, reply: {text: \"All is "
        "well that ends well, and this is the end.\", chunk: {bytes: 8}}}\n- reply: {text: \"All "
        "is "
        "well.\", chunk: {bytes: 4}}\n");
    const char *trace = path_of("%s/t.jsonl", dir);
    const struct ran *r = ASSAY("run", "--stream", "--fake", script, "--trace", trace, "p");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "All is well.\n");
    CU_ASSERT(strstr(event_types(read_text(trace, NULL)), " llm_failure discard ") != NULL);
    const char *tool = write_text(dir, "d.yaml",
                                  "version: 1\nsteps:\n- reply: {text: Ready., calls: [{name: "
                                  "task_done, arguments: {report: all}}]}\n");
    r = ASSAY("run", "--stream", "--fake", tool, "--tools", "task_done", "p");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "Ready.\n{\"report\":\"all\"}\n");
    if (!program_has_terminal()) {
        return;
    }
    char seen[512];
    r = program_on_terminal((const char *const[]){"run", "--stream", "--fake", script, "p", NULL},
                            seen, sizeof seen);
    CHECK_STATUS(r, 0);
    CU_ASSERT(strncmp(seen, "All is ", 7) == 0 && strstr(seen, "\r\nAll is well.\r\n") != NULL);
    CHECK_ERR(r, "the answer broke off: it starts again");
}

/* A model's text with what a terminal would obey: colours, the C1 control CSI, and a turn of the
 * writing. */
static void harmless_on_a_terminal(void)
{
    if (!program_has_terminal()) {
        return;
    }
    const char *script =
        write_text(testing_dir(), "s.yaml",
                   "version: 1\nsteps:\n- reply: {text: \"a\\tb\\e[2Jc\\u009b2Jd\\u202ee\\nf\"}\n");
    const char *raw = "a\tb\x1b[2Jc\xc2\x9b"
                      "2Jd\xe2\x80\xae"
                      "e\nf\n";
    for (int stream = 0; stream < 2; stream++) {
        const char *flag = stream == 1 ? "--stream" : "--seed=1";
        char seen[256];
        const struct ran *r = ASSAY("run", flag, "--fake", script, "p");
        CHECK_STATUS(r, 0);
        CHECK_TEXT(r->out, raw); /* a file or pipe gets every byte */
        r = program_on_terminal((const char *const[]){"run", flag, "--fake", script, "p", NULL},
                                seen, sizeof seen);
        CHECK_STATUS(r, 0);
        CHECK_TEXT(seen, "a\tb [2Jc 2Jd e\r\nf\r\n"); /* the terminal's own CR before each LF */
    }
    const struct ran *r = ASSAY("run", "--fake", "no\xc2\x9b\xe2\x80\xaesuch", "p");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "no  such");
}

/* Said before anything is run, but in a replay, which starts no command. */
static void missing_program(void)
{
    const char *dir = testing_dir();
    const char *script = write_text(dir, "s.yaml", "version: 1\nsteps:\n- reply: {text: Hi.}\n");
    const char *tools = write_text(
        dir, "t.yaml", "version: 1\ntools:\n- {name: a, command: [./no-such-program]}\n");
    const char *trace = path_of("%s/t.jsonl", dir);
    const struct ran *r = ASSAY("run", "--fake", script, "--tools", tools, "--trace", trace, "p");
    CHECK_STATUS(r, 4);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, path_of("%s:3:23: ", tools));
    CHECK_ERR(r, "no-such-program");
    CU_ASSERT_PTR_NULL(read_text(trace, NULL));
    const char *set =
        write_text(dir, "set.yaml",
                   "version: 1\nname: s\ndefaults: {tools: t.yaml}\n"
                   "tasks: [{id: a, prompt: p, fake: s.yaml, expect: {no_calls: true}}]\n");
    const char *out = path_of("%s/out", dir);
    r = ASSAY("eval", set, "--fake", "--out", out);
    CHECK_STATUS(r, 4);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, path_of("%s:3:23: ", tools));
    CU_ASSERT_PTR_NULL(read_text(path_of("%s/trials.jsonl", out), NULL));
    r = ASSAY("golden", "check", set);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, path_of("%s:3:23: warning: ", tools));
}

static void one_too_many(void)
{
    const char *script = write_text(testing_dir(), "s.yaml", "version: 1\nsteps:\n" CALL("a", "1"));
    const struct ran *r = ASSAY("run", "--fake", script, "p");
    CHECK_STATUS(r, 1);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "script_mismatch");
}

static void prompt_from_stdin(void)
{
    const char *script = write_text(testing_dir(), "s.yaml",
                                    "version: 1\nsteps:\n- expect: {last_user: {contains: piped}}\n"
                                    "  reply: {text: Read.}\n");
    struct program_options o = {.in = "a piped prompt\n"};
    const struct ran *r = ASSAY_WITH(&o, "run", "--fake", script, "-");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "Read.\n");
    o.in = "caf\xe9";
    r = ASSAY_WITH(&o, "run", "--fake", script, "-");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "UTF-8");
    r = ASSAY("run", "--fake", script, "caf\xe9");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "UTF-8");
    r = ASSAY("run", "--fake", script, "--", "--a piped dash");
    CHECK_STATUS(r, 0);
}

static void empty_prompt(void)
{
    const char *script = write_text(testing_dir(), "s.yaml", two_steps);
    const struct ran *r = ASSAY("run", "--fake", script, "");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "prompt");
}

static void bad_budget(void)
{
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"stepz=3", "did you mean steps"},
        {"steps", "whole number"},
        {"steps=", "whole number"},
        {"steps=0", "at least 1"},
        {"steps=-3", "steps"},
        {"steps=2.5", "whole number"},
        {"steps=abc", "whole number"},
        {"steps=1e9", "whole number"},
        {"steps=0x10", "whole number"},
        {"steps=99999999999999999999999", "steps"},
        {"seconds=9223372036854775807", "seconds"},
        {"cost_usd=-1", "cost_usd"},
        {"cost_usd=1.2.3", "cost_usd"},
        {"cost_usd=.", "cost_usd"},
        {"steps=3,,tokens=4", "unknown key"},
        {"steps=3,tokens", "tokens"},
        {"=3", "unknown key"},
        {",", "unknown key"},
        {"steps=1,steps=2", "twice"},
        {"", "--budget"},
        {"steps=3 ", "whole number"},
        {"steps=\xe9", "steps"},
    };
    const char *script = write_text(testing_dir(), "s.yaml", two_steps);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = ASSAY("run", "--fake", script, "--budget", cases[i].text, "p");
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, "--budget");
        CHECK_ERR(r, cases[i].part);
    }
}

static void each_budget(void)
{
    static const struct {
        const char *budget;
        const char *status;
    } cases[] = {
        {"tokens=100", "token_budget"},
        {"calls=1", "call_budget"},
        {"seconds=1", "time_budget"},
        {"steps=3", "max_steps"},
    };
    const char *dir = testing_dir();
    const char *script = write_text(
        dir, "s.yaml",
        "version: 1\nsteps:\n- reply: {calls: [{name: now, arguments: {}}], ttft_ms: 400, "
        "usage: {input: 40, output: 20}}\n  repeat: forever\n");
    const char *tools =
        write_text(dir, "t.yaml",
                   "version: 1\ntools:\n- name: now\n  polling: true\n"
                   "  parameters: {type: object, properties: {}}\n  answers: [{result: noon}]\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *trace = path_of("%s/t.jsonl", dir);
        const struct ran *r = ASSAY("run", "--fake", script, "--tools", tools, "--budget",
                                    cases[i].budget, "--trace", trace, "p");
        CHECK_STATUS(r, 1);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].status);
        CU_ASSERT(log_ends(read_text(trace, NULL), cases[i].status));
    }
}

static void no_tools(void)
{
    const char *script = write_text(testing_dir(), "s.yaml",
                                    "version: 1\nsteps:\n- expect: {tools: []}\n"
                                    "  reply: {text: None.}\n");
    CHECK_STATUS(ASSAY("run", "--fake", script, "--tools", "", "p"), 0);
}

static void bad_tools(void)
{
    static const struct {
        const char *value;
        const char *part;
    } cases[] = {
        {"calculater", "there are calculator"},
        {"calculator,calculator", "already a tool called calculator"},
        {"calculator,", "comma"},
        {"nothing.yaml", "nothing.yaml"},
    };
    const char *script = write_text(testing_dir(), "s.yaml", two_steps);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = ASSAY("run", "--fake", script, "--tools", cases[i].value, "p");
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
    }
}

/* A slip of the pen (the script's name behind --trace) costs nobody a file; a log is replaced, also
 * one that was cut off in its first line. */
static void foreign_trace(void)
{
    const char *dir = testing_dir();
    const char *script = write_text(dir, "s.yaml", two_steps);
    const struct ran *r = ASSAY("run", "--fake", script, "--trace", script, "p");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "s.yaml: is there and is no event log, so it is not overwritten");
    CHECK_TEXT(read_text(script, NULL), two_steps);
    r = ASSAY("chat", "--fake", script, "--trace", script);
    CHECK_STATUS(r, 2);
    CHECK_TEXT(read_text(script, NULL), two_steps);
    const char *log = path_of("%s/t.jsonl", dir);
    CHECK_STATUS(ASSAY("run", "--fake", script, "--trace", log, "p"), 0);
    r = ASSAY("fork", log, "--at", "2", "--fake", script, "--trace", script);
    CHECK_STATUS(r, 2);
    CHECK_TEXT(read_text(script, NULL), two_steps);
    static const char *const old[] = {"", "{\"s", "{\"seq\":1,\"t_ms\":0,\"ty"};
    for (size_t i = 0; i < sizeof old / sizeof old[0]; i++) {
        write_text(dir, "t.jsonl", old[i]);
        CHECK_STATUS(ASSAY("run", "--fake", script, "--trace", log, "p"), 0);
        CHECK_TEXT(event_types(read_text(log, NULL)), ten_events);
    }
}

/* What is written into logs and requests must be a text: nothing is put in the place of odd bytes.
 */
static void odd_bytes(void)
{
    static const char *const options[] = {"--model", "--system"};
    const char *script = write_text(testing_dir(), "s.yaml", two_steps);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const struct ran *r = ASSAY("run", "--fake", script, options[i], "a\xff", "p");
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, path_of("%s is not UTF-8", options[i]));
    }
    const char *const more[] = {"MODEL=a\xff", NULL};
    const struct program_options o = {.more = more};
    const struct ran *r = ASSAY_WITH(&o, "run", "--base-url", "http://127.0.0.1:1", "p");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "assay: MODEL is not UTF-8");
    CHECK_STATUS(ASSAY_WITH(&o, "run", "--fake", script, "p"), 0);
}

TESTS(run, {"run_of_two_steps_logs_ten_events", ten}, {"run_is_the_same_every_time", again},
      {"run_json_is_the_run_end", json}, {"run_refuses_a_repeated_call", repeated},
      {"run_of_an_endless_script_ends_at_its_step_budget", endless},
      {"run_answers_an_unknown_tool", unknown_tool}, {"run_ends_at_a_terminal_tool", terminal},
      {"run_shows_what_a_script_did_not_expect", mismatch},
      {"run_names_a_missing_program_before_it_begins", missing_program},
      {"run_fails_on_steps_left_over", leftover},
      {"run_fails_on_steps_left_over_by_a_budget", leftover_after_a_budget},
      {"run_that_cannot_begin_leaves_the_old_trace", old_trace_stays},
      {"run_streams_beside_a_trace", streamed},
      {"run_shows_once_an_answer_that_broke_off", broke_off},
      {"run_shows_a_terminal_nothing_it_would_obey", harmless_on_a_terminal},
      {"run_fails_on_a_request_too_many", one_too_many},
      {"run_reads_its_prompt_from_stdin", prompt_from_stdin},
      {"run_refuses_an_empty_prompt", empty_prompt}, {"run_refuses_bad_budgets", bad_budget},
      {"run_ends_at_each_budget", each_budget}, {"run_offers_no_tools_when_told_so", no_tools},
      {"run_refuses_bad_tools", bad_tools}, {"run_traces_over_no_other_file", foreign_trace},
      {"run_takes_no_bytes_that_are_no_text", odd_bytes})
