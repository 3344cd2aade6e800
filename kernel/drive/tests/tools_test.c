#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ci/testing/testing.h"
#include "kernel/base/json.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/tools.h"

enum { CALLS_MAX = 64 };

/* 2026-11-29T18:00:00.413Z */
static const int64_t started_at_ms = 1795975200413;

/* A session's worth of tools; what came is noted as lines. */
static struct {
    struct toolset *set;
    struct loop *loop;
    struct sched *sched;
    struct toolbox *box;
    struct buf seen;
    char path[512];
} t;

static void write_tools(const char *text)
{
    int n = snprintf(t.path, sizeof t.path, "%s/tools.yaml", testing_dir());
    CU_ASSERT_FATAL(n > 0 && n < (int)sizeof t.path);
    FILE *f = fopen(t.path, "wb");
    CU_ASSERT_FATAL(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void begin(const char *tools)
{
    struct err e;
    write_tools(tools);
    t.set = toolset_new();
    int rc = toolset_add_file(t.set, t.path, &e);
    if (rc != 0) {
        printf("\n%s:%u:%u: %s\n", e.file, e.line, e.column, e.message);
    }
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    t.loop = loop_new();
    t.sched = sched_virtual(t.loop);
    t.box = toolbox_local(t.set, t.sched, t.loop, started_at_ms);
}

static void end(void)
{
    t.box->ops->free(t.box);
    sched_free(t.sched);
    loop_free(t.loop);
    toolset_free(t.set);
    buf_free(&t.seen);
}

static void note(void *ctx, const struct tool_output *o, bool miss)
{
    CU_ASSERT_FALSE(miss);
    buf_fmt(&t.seen, "%s@%d ", (const char *)ctx, (int)sched_now(t.sched));
    if (o->ok) {
        buf_add(&t.seen, o->content);
    } else {
        buf_fmt(&t.seen, "%.*s%s: %.*s", STR_FMT(o->code), o->retryable ? "!" : "",
                STR_FMT(o->message));
    }
    buf_char(&t.seen, '\n');
}

static struct tool_run *call(const char *id, uint32_t order, const char *name,
                             const char *arguments)
{
    /* The sink's context is only read, as the call's name. */
    static char ids[CALLS_MAX][8];
    static unsigned turn;
    char *kept = ids[turn++ % CALLS_MAX];
    CU_ASSERT(snprintf(kept, sizeof ids[0], "%s", id) < (int)sizeof ids[0]);
    const struct tool_request rq = {.call_id = str_of(id),
                                    .name = str_of(name),
                                    .arguments = str_of(arguments),
                                    .order = order,
                                    .attempt = 1,
                                    .request_id = STR("0123-7")};
    size_t before = t.seen.n;
    struct tool_run *run = t.box->ops->start(t.box, &rq, (struct tool_sink){kept, note});
    CU_ASSERT_EQUAL(t.seen.n, before); /* nothing from inside start */
    return run;
}

static void expect(const char *want)
{
    loop_run(t.loop);
    buf_char(&t.seen, '\0');
    CHECK_TEXT(t.seen.p, want);
    buf_clear(&t.seen);
}

static void expect_part(const char *part)
{
    loop_run(t.loop);
    if (str_find(buf_str(&t.seen), str_of(part)) == SIZE_MAX) {
        printf("\n  got %.*s  want %s\n", STR_FMT(t.seen), part);
        CU_FAIL("a part is missing");
    }
    buf_clear(&t.seen);
}

/* ---- loading ---- */

static void loads_every_key(void)
{
    begin("version: 1\n"
          "tools:\n"
          "- {builtin: calculator, tier: danger, timeout_ms: 7, max_output: 0}\n"
          "- name: get_order_status\n"
          "  description: Look up an order.\n"
          "  parameters: {type: object, properties: {order_id: {type: string}}, "
          "required: [order_id]}\n"
          "  tier: write\n"
          "  serial: true\n"
          "  idempotent: true\n"
          "  polling: true\n"
          "  timeout_ms: 1000\n"
          "  max_output: 99\n"
          "  examples: [{order_id: \"1\"}]\n"
          "  answers: [{result: x}]\n"
          "- {name: submit, terminal: true}\n"
          "- {name: go, command: [sh]}\n");
    size_t n;
    const struct tool_spec *s = toolset_specs(t.set, &n);
    CU_ASSERT_EQUAL_FATAL(n, 4);
    CU_ASSERT_TRUE(str_is(s[0].name, "calculator"));
    CU_ASSERT_TRUE(str_is(s[0].description, "Evaluate an arithmetic expression exactly."));
    CU_ASSERT_TRUE(str_is(s[0].parameters,
                          "{\"type\":\"object\",\"properties\":{\"expression\":{\"type\":"
                          "\"string\"}},\"required\":[\"expression\"],"
                          "\"additionalProperties\":false}"));
    CU_ASSERT_TRUE(s[0].tier == TIER_DANGER && s[0].timeout_ms == 7 && s[0].max_output == 0);
    CU_ASSERT_TRUE(str_is(s[1].parameters, "{\"type\":\"object\",\"properties\":{\"order_id\":{"
                                           "\"type\":\"string\"}},\"required\":[\"order_id\"]}"));
    CU_ASSERT_TRUE(s[1].tier == TIER_WRITE && s[1].serial && s[1].idempotent && s[1].polling);
    CU_ASSERT_TRUE(!s[1].terminal && s[1].timeout_ms == 1000 && s[1].max_output == 99);
    CU_ASSERT_PTR_NOT_NULL(s[1].validator);
    CU_ASSERT_TRUE(s[2].terminal);
    CU_ASSERT_TRUE(str_is(s[2].parameters, "{\"type\":\"object\",\"properties\":{}}"));
    CU_ASSERT_TRUE(s[2].timeout_ms == 30000 && s[2].max_output == 4000 && s[2].tier == TIER_READ);
    enum tool_source source;
    CU_ASSERT_TRUE(toolset_source(t.set, STR("go"), &source) && source == TOOL_COMMAND);
    CU_ASSERT_TRUE(toolset_source(t.set, STR("submit"), &source) && source == TOOL_BUILTIN);
    CU_ASSERT_FALSE(toolset_source(t.set, STR("nobody"), &source));
    end();
}

#define HEAD "version: 1\ntools:\n"
static const struct {
    const char *text;
    int code;
    unsigned line;
    unsigned column;
    const char *part;
} refused[] = {
    {"version: 1\ntool: []\n", ERR_INPUT, 2, 1, "tools"},
    {"version: 2\ntools: []\n", ERR_INPUT, 1, 10, "version"},
    {"version: 1\n", ERR_INPUT, 1, 1, "tools"},
    {"version: 1\ntools: {}\n", ERR_INPUT, 2, 8, "list"},
    {HEAD "- 7\n", ERR_INPUT, 3, 3, "map"},
    {HEAD "- {name: a, timeout: 1, answers: [{result: 1}]}\n", ERR_INPUT, 3, 13, "timeout_ms"},
    {HEAD "- {answers: [{result: 1}]}\n", ERR_INPUT, 3, 3, "name"},
    {HEAD "- {name: a b, answers: [{result: 1}]}\n", ERR_INPUT, 3, 10, "letters"},
    {HEAD "- {name: 7, answers: [{result: 1}]}\n", ERR_INPUT, 3, 10, "string"},
    {HEAD "- {name: a}\n", ERR_INPUT, 3, 3, "no source"},
    {HEAD "- {name: a, command: [x], answers: [{result: 1}]}\n", ERR_INPUT, 3, 36, "both"},
    {HEAD "- {builtin: calculator, command: [x]}\n", ERR_INPUT, 3, 34, "both"},
    {HEAD "- {builtin: calculator, name: x}\n", ERR_INPUT, 3, 31, "brings its own name"},
    {HEAD "- {builtin: calc}\n", ERR_INPUT, 3, 13, "calculator, search_docs, now, task_done"},
    {HEAD "- {builtin: read_file}\n", ERR_INPUT, 3, 3, "`root: DIR`"},
    {HEAD "- {builtin: read_file, root: \"\"}\n", ERR_INPUT, 3, 30, "folder"},
    {HEAD "- {builtin: read_file, root: 7}\n", ERR_INPUT, 3, 30, "string"},
    {HEAD "- now\n", ERR_INPUT, 3, 3, "write {builtin: now}"},
    {HEAD "- {builtin: now, root: x}\n", ERR_INPUT, 3, 24, "read_file, write_file and list_files"},
    {HEAD "- {name: a, command: [sh], root: x}\n", ERR_INPUT, 3, 34, "list_files"},
    {HEAD "- {name: a, http: x}\n", ERR_INPUT, 3, 19, "map"},
    {HEAD "- {name: a, http: {}}\n", ERR_INPUT, 3, 19, "url"},
    {HEAD "- {name: a, http: {uri: x}}\n", ERR_INPUT, 3, 20, "url"},
    {HEAD "- {name: a, http: {url: x}}\n", ERR_INPUT, 3, 25, "http://HOST/PATH"},
    {HEAD "- {name: a, http: {url: \"http://\"}}\n", ERR_INPUT, 3, 25, "http://HOST/PATH"},
    {HEAD "- {name: a, http: {url: \"http:///x\"}}\n", ERR_INPUT, 3, 25, "http://HOST/PATH"},
    {HEAD "- {name: a, http: {url: \"ftp://h/\"}}\n", ERR_INPUT, 3, 25, "http://HOST/PATH"},
    {HEAD "- {name: a, http: {url: \"http://h/a b\"}}\n", ERR_INPUT, 3, 25, "blanks"},
    {HEAD "- {name: a, http: {url: \"http://h/#x\"}}\n", ERR_INPUT, 3, 25, "fragment"},
    {HEAD "- {name: a, http: {url: \"http://u:p@h/\"}}\n", ERR_INPUT, 3, 25, "no user"},
    {HEAD "- {name: a, http: {url: \"http://h/\", method: post}}\n", ERR_INPUT, 3, 46, "POST"},
    {HEAD "- {name: a, http: {url: \"http://h/\", headers: []}}\n", ERR_INPUT, 3, 47, "map"},
    {HEAD "- {name: a, http: {url: \"http://h/\", headers: {a b: c}}}\n", ERR_INPUT, 3, 48,
     "name of a header"},
    {HEAD "- {name: a, http: {url: \"http://h/\", headers: {X: 7}}}\n", ERR_INPUT, 3, 51, "quotes"},
    {HEAD "- {name: a, http: {url: \"http://h/\", headers: {X: \"a\\nb\"}}}\n", ERR_INPUT, 3, 51,
     "one line"},
    {HEAD "- {name: a, http: {url: \"http://h/\", headers: {X: \"${1}\"}}}\n", ERR_INPUT, 3, 51,
     "${NAME}"},
    {HEAD "- {name: a, http: {url: \"http://h/\", headers: {X: \"a${B\"}}}\n", ERR_INPUT, 3, 51,
     "${NAME}"},
    {HEAD "- {name: a, http: {url: \"http://h/\", headers: {X: a, x: b}}}\n", ERR_INPUT, 3, 54,
     "twice"},
    {HEAD "- {name: a, http: {url: \"http://h/\", headers: {content-length: \"1\"}}}\n", ERR_INPUT,
     3, 48, "leave it out"},
    {HEAD "- {name: a, command: []}\n", ERR_INPUT, 3, 22, "1 to 256 words"},
    {HEAD "- {name: a, command: [sleep, 5]}\n", ERR_INPUT, 3, 30, "put it in quotes"},
    {HEAD "- {name: a, command: x}\n", ERR_INPUT, 3, 22, "list"},
    {HEAD "- {name: a, answers: []}\n", ERR_INPUT, 3, 22, "1 to 10000 answers"},
    {HEAD "- {name: a, answers: [{}]}\n", ERR_INPUT, 3, 23, "either `result` or `error`"},
    {HEAD "- {name: a, answers: [{error: {code: X}}]}\n", ERR_INPUT, 3, 31, "message"},
    {HEAD "- {name: a, answers: [{result: 1, times: 0}]}\n", ERR_INPUT, 3, 42, "times"},
    {HEAD "- {name: a, answers: [{result: 1, delay_ms: -1}]}\n", ERR_INPUT, 3, 45, "delay_ms"},
    {HEAD "- {name: a, answers: [{result: 1, when: {x: {regex: \"(\"}}}]}\n", ERR_INPUT, 3, 53, ""},
    {HEAD "- {name: a, terminal: true, tier: big}\n", ERR_INPUT, 3, 35, "read"},
    {HEAD "- {name: a, terminal: yes}\n", ERR_INPUT, 3, 23, "terminal"},
    {HEAD "- {name: a, terminal: true, timeout_ms: 0}\n", ERR_INPUT, 3, 41, "timeout_ms"},
    {HEAD "- {name: a, terminal: true, max_output: -1}\n", ERR_INPUT, 3, 41, "max_output"},
    {HEAD "- {name: a, terminal: true, examples: {}}\n", ERR_INPUT, 3, 39, "list"},
    {HEAD "- {name: a, terminal: true, parameters: []}\n", ERR_INPUT, 3, 41, "map"},
    {HEAD "- {name: a, terminal: true, parameters: {type: string}}\n", ERR_INPUT, 3, 48, "object"},
    {HEAD "- name: a\n  terminal: true\n  parameters:\n    properties:\n      x: {type: strin}\n",
     ERR_INPUT, 7, 17, "strin is no type"},
    {HEAD "- {name: a, terminal: true}\n- {name: a, terminal: true}\n", ERR_INPUT, 4, 10,
     "already a tool called a"},
    {"", ERR_INPUT, 1, 1, ""},
};

static void refuses_bad_files_with_their_place(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct toolset *set = toolset_new();
        struct err e = {0};
        write_tools(refused[i].text);
        CU_ASSERT_EQUAL(toolset_add_file(set, t.path, &e), refused[i].code);
        bool good = e.line == refused[i].line && e.column == refused[i].column &&
                    strcmp(e.file, t.path) == 0 &&
                    str_find(str_of(e.message), str_of(refused[i].part)) != SIZE_MAX;
        if (!good) {
            printf("\n%s  gave %u:%u: %s\n", refused[i].text, e.line, e.column, e.message);
        }
        CU_ASSERT_TRUE(good);
        toolset_free(set);
    }
}

static void refuses_missing_files_and_second_names(void)
{
    struct toolset *set = toolset_new();
    struct err e;
    CU_ASSERT_EQUAL(toolset_add_file(set, "/nowhere/tools.yaml", &e), ERR_NOT_FOUND);
    CU_ASSERT_EQUAL(toolset_add_builtin(set, STR("now"), &e), 0);
    CU_ASSERT_EQUAL(toolset_add_builtin(set, STR("now"), &e), ERR_INPUT);
    CU_ASSERT_EQUAL(toolset_add_builtin(set, STR("then"), &e), ERR_NOT_FOUND);
    write_tools(HEAD "- {builtin: now}\n");
    CU_ASSERT_EQUAL(toolset_add_file(set, t.path, &e), ERR_INPUT);
    size_t n;
    CU_ASSERT_PTR_NOT_NULL(toolset_specs(set, &n));
    CU_ASSERT_EQUAL(n, 1);
    toolset_free(set);
}

/* ---- answers ---- */

static void builtins_answer(void)
{
    begin(HEAD "- {builtin: calculator}\n- {builtin: search_docs}\n- {builtin: now}\n"
               "- {builtin: task_done}\n");
    call("c", 1, "calculator", "{\"expression\":\"42.4-38.2\"}");
    expect("c@0 {\"ok\":true,\"expression\":\"42.4-38.2\",\"value\":4.2}\n");
    call("n", 2, "now", "{}");
    expect("n@0 {\"ok\":true,\"utc\":\"2026-11-29T18:00:00.413Z\"}\n");
    call("d", 3, "task_done", "{\"report\":\"x\"}");
    expect("d@0 {\"ok\":true}\n");
    call("s", 4, "search_docs", "{\"query\":\"MCP\"}");
    expect_part("s@0 {\"ok\":true,\"summary\":\"1 document found.\",\"items\":[{\"id\":\"mcp\"");
    call("s", 5, "search_docs", "{\"query\":\"refund?\",\"limit\":1}");
    expect_part("\"id\":\"refund-policy\"");
    call("s", 6, "search_docs", "{\"query\":\"days\",\"limit\":1}");
    expect_part("\"summary\":\"3 documents found.\",\"items\":[{\"id\":\"return-policy\"");
    call("s", 7, "search_docs", "{\"query\":\"zeppelin\"}");
    expect("s@0 {\"ok\":true,\"summary\":\"No documents found.\",\"items\":[]}\n");
    call("u", 8, "nobody", "{}");
    expect("u@0 UNKNOWN_TOOL: there is no tool called nobody\n");
    call("j", 9, "now", "[1");
    expect("j@0 BAD_ARGUMENTS: the arguments are not a JSON object\n");
    end();
}

static const char canned_tools[] =
    HEAD "- name: status\n"
         "  answers:\n"
         "  - {when: {id: \"7\"}, times: 1, error: {message: busy, retryable: true}}\n"
         "  - {when: {id: \"7\"}, result: {state: shipped, n: 1.50}, delay_ms: 5}\n"
         "  - {when: {id: \"8\"}, result: plain text}\n"
         "  - {when: {id: \"9\"}, error: {code: GONE, message: no such order}}\n"
         "- {name: always, answers: [{result: null}]}\n";

static void canned_answers(void)
{
    begin(canned_tools);
    call("a", 1, "status", "{\"id\":\"7\",\"extra\":1}");
    expect("a@0 TOOL_ERROR!: busy\n");
    call("a", 2, "status", "{\"id\":\"7\"}");
    call("b", 3, "status", "{\"id\":\"8\"}");
    expect("b@0 plain text\na@5 {\"state\":\"shipped\",\"n\":1.50}\n");
    call("c", 4, "status", "{\"id\":\"9\"}");
    call("d", 5, "always", "{\"any\":1}");
    expect("c@5 GONE: no such order\nd@5 null\n");
    call("e", 6, "status", "{\"id\":\"10\"}");
    expect("e@5 TOOL_ERROR: no canned answer of status fits these arguments: {\"id\":\"10\"}\n");
    struct toolbox *first = t.box;
    t.box = toolbox_local(t.set, t.sched, t.loop, started_at_ms);
    call("f", 7, "status", "{\"id\":\"7\"}"); /* counts anew for each session */
    expect("f@5 TOOL_ERROR!: busy\n");
    first->ops->free(first);
    end();
}

static void same_time_comes_in_call_order(void)
{
    begin(HEAD "- {name: x, answers: [{result: 1, delay_ms: 3}]}\n- {builtin: task_done}\n");
    call("b", 2, "x", "{}");
    call("a", 1, "x", "{}");
    struct tool_run *gone = call("c", 3, "x", "{}");
    t.box->ops->stop(t.box, gone);
    expect("a@3 1\nb@3 1\n");
    call("d", 4, "x", "{}"); /* dropped with the box */
    end();
}

/* ---- commands ---- */

static void commands_answer(void)
{
    begin(HEAD
          "- {name: cat, command: [cat]}\n"
          "- {name: where, command: [sh, -c, \"test -f tools.yaml && echo $((1+1)) $OTHER\"]}\n"
          "- {name: fails, command: [sh, -c, \"echo out; echo it broke >&2; exit 3\"]}\n"
          "- {name: dies, command: [sh, -c, \"kill -9 $$\"]}\n"
          "- {name: none, command: [./no-such-program-here]}\n"
          "- {name: deaf, command: [\"true\"]}\n"
          "- {name: which, command: [sh, -c, \"echo $ASSAY_REQUEST_ID\"]}\n"
          "- {name: flood, command: [sh, -c, \"while :; do echo 0123456789abcdef; done\"]}\n"
          "- {name: hang, timeout_ms: 50, command: [sh, -c, \"sleep 600 & sleep 600\"]}\n"
          "- {name: leaves, command: [sh, -c, \"sleep 600 & echo done\"]}\n");
    call("a", 1, "cat", "{\"x\":\"\\u00e9\"}");
    expect("a@0 {\"x\":\"\\u00e9\"}\n");
    call("a", 2, "where", "{}");
    expect("a@0 2\n");
    call("a", 3, "fails", "{}");
    expect("a@0 TOOL_ERROR: the command sh ended with status 3: it broke\n");
    call("a", 4, "dies", "{}");
    expect("a@0 TOOL_ERROR: the command sh was ended by signal 9\n");
    call("a", 5, "none", "{}");
    expect("a@0 TOOL_ERROR: cannot start the command ./no-such-program-here: no such file or "
           "directory\n");
    call("a", 6, "deaf", "{}");
    expect("a@0 \n");
    call("a", 7, "flood", "{}");
    expect("a@0 TOOL_ERROR: the command sh wrote more than 1048576 bytes\n");
    call("a", 8, "hang", "{}");
    expect("a@0 TIMEOUT!: the command sh took longer than 50 ms\n");
    call("a", 9, "leaves", "{}");
    expect("a@0 done\n");
    call("a", 10, "which", "{}");
    expect("a@0 0123-7\n");
    end();
}

/* One newline at the end is the shell's, every other belongs to the result. */
static void command_results_lose_one_newline(void)
{
    static const struct {
        const char *printed;
        const char *result;
    } cases[] = {{"x", "x"},           {"x\\n", "x"},   {"x\\r\\n", "x"}, {"x\\n\\n", "x\n"},
                 {"a\\nb\\n", "a\nb"}, {"x\\r", "x\r"}, {"\\n", ""},      {"x \\n", "x "}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char tools[256];
        char want[64];
        snprintf(tools, sizeof tools, HEAD "- {name: p, command: [printf, '%s']}\n",
                 cases[i].printed);
        snprintf(want, sizeof want, "a@0 %s\n", cases[i].result);
        begin(tools);
        call("a", 1, "p", "{}");
        expect(want);
        end();
    }
}

static void failures_tell_the_end_of_stderr(void)
{
    begin(HEAD
          "- {name: trace, command: [sh, -c, \"for i in 1 2 3 4 5 6 7 8 9; do echo at line $i of "
          "the file orders.py >&2; done; echo 'KeyError: sku' >&2; exit 1\"]}\n"
          "- {name: line, command: [sh, -c, \"printf 'begin%0300d end' 0 >&2; exit 1\"]}\n"
          "- {name: blank, command: [sh, -c, \"echo why >&2; printf '%0999d' 0 | tr 0 '\\n' >&2; "
          "exit 1\"]}\n");
    call("a", 1, "trace", "{}");
    expect("a@0 TOOL_ERROR: the command sh ended with status 1: at line 5 of the file orders.py at "
           "line 6 of the file orders.py at line 7 of the file orders.py at line 8 of the file "
           "orders.py at line 9 of the file orders.py KeyError: sku\n");
    call("a", 2, "line", "{}");
    expect_part("status 1: 000");
    call("a", 3, "line", "{}");
    expect_part("000 end\n");
    call("a", 4, "blank", "{}");
    expect("a@0 TOOL_ERROR: the command sh ended with status 1: why\n");
    end();
}

/* ---- doubts ---- */

static void write_file(const char *name, const char *text, bool executable)
{
    char path[600];
    snprintf(path, sizeof path, "%.*s/%s", (int)(strlen(t.path) - strlen("/tools.yaml")), t.path,
             name);
    FILE *f = fopen(path, "wb");
    CU_ASSERT_FATAL(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
    CU_ASSERT_EQUAL(chmod(path, executable ? 0755 : 0644), 0);
}

static void missing_programs_are_named(void)
{
    static const struct {
        const char *command;
        const char *part; /* "" = it is there */
    } cases[] = {
        {"sh", ""},
        {"/bin/sh", ""},
        {"./own", ""},
        {"no-such-program-here", "\"no-such-program-here\" of the tool \"a\" is not in PATH"},
        {"own", "not in PATH; install it, or name a file of the tool file's folder as ./own"},
        {"./gone", "\"./gone\" of the tool \"a\" is not there"},
        {"./plain", "chmod +x"},
        {"/", "cannot be executed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char tools[256];
        struct err e = {0};
        snprintf(tools, sizeof tools, HEAD "- {builtin: now}\n- {name: a, command: [%s, x]}\n",
                 cases[i].command);
        begin(tools);
        write_file("own", "#!/bin/sh\n", true);
        write_file("plain", "x", false);
        int rc = toolset_programs(t.set, &e);
        CU_ASSERT_EQUAL(rc, cases[i].part[0] == '\0' ? 0 : ERR_IO);
        bool said = str_find(str_of(e.message), str_of(cases[i].part)) != SIZE_MAX;
        bool placed = rc == 0 || (e.line == 4 && e.column == 23 && strcmp(e.file, t.path) == 0);
        if (!said || !placed) {
            printf("\n  %s gave %s:%u:%u: %s\n", cases[i].command, e.file, e.line, e.column,
                   e.message);
        }
        CU_ASSERT(said && placed);
        end();
    }
}

static void note_finding(void *ctx, const struct finding *f)
{
    CU_ASSERT_STRING_EQUAL(f->file, t.path);
    buf_fmt(ctx, "%u:%u %s %.*s\n", f->line, f->column, f->code, STR_FMT(f->message));
}

static void doubts_about_tools_are_found(void)
{
    begin(HEAD
          "- builtin: calculator\n"
          "- name: quote\n"
          "  parameters: {type: object, properties: {sku: {}, quantity: {}}, required: [sku, "
          "quantty]}\n"
          "  answers:\n"
          "  - {when: {sku: x, quantitty: 2}, result: 1}\n"
          "  - {when: {zzz: 2}, result: 1}\n"
          "- {name: gone, command: [./gone]}\n"
          "- {name: open, parameters: {type: object, additionalProperties: true, required: [x]}, "
          "answers: [{when: {y: 1}, result: 1}]}\n"
          "- {name: free, parameters: {type: object, required: [x]}, command: [sh]}\n");
    struct buf all = {0};
    toolset_check(t.set, note_finding, &all);
    struct str shown = str_slice(buf_str(&all), 0, str_find(buf_str(&all), STR("folder ")) + 7);
    all.n = shown.n; /* the path of the test's folder is left out */
    buf_char(&all, '\0');
    CHECK_TEXT(all.p,
               "5:83 undeclared_required `required` names \"quantty\", a parameter that the tool "
               "\"quote\" does not have; did you mean \"quantity\"?\n"
               "7:21 unknown_when_parameter the `when` of an answer names \"quantitty\", a "
               "parameter that the tool \"quote\" does not have; did you mean \"quantity\"?\n"
               "8:13 unknown_when_parameter the `when` of an answer names \"zzz\", a parameter "
               "that the tool \"quote\" does not have\n"
               "9:26 missing_program the program \"./gone\" of the tool \"gone\" is not there, "
               "seen from the folder "
               "");
    buf_free(&all);
    end();
}

static void what_models_and_sessions_never_see_is_found(void)
{
    begin(HEAD "- name: bare\n"
               "  parameters: {order_id: {type: string}}\n"
               "  answers: [{result: 1, times: 1}, {result: 2}, {when: {order_id: a}, result: 3}]\n"
               "- name: typed\n"
               "  parameters: {type: object, properties: {n: {type: integer, maximum: 9}}}\n"
               "  answers:\n"
               "  - {when: {n: 3}, result: 1}\n"
               "  - {when: {n: \"3\"}, result: 2}\n"
               "  - {when: {n: 10}, result: 3}\n"
               "  - {when: {n: {range: [1, 4]}}, result: 4}\n"
               "  - result: 5\n"
               "- {name: any, parameters: {anyOf: [{type: object}]}, answers: [{result: 1}]}\n"
               "- {name: none, answers: [{result: 1}]}\n"
               "- {name: empty, parameters: {type: object}, answers: [{result: 1}]}\n"
               "- {name: shut, parameters: {type: object, additionalProperties: false}, answers: "
               "[{result: 1}]}\n");
    struct buf all = {0};
    toolset_check(t.set, note_finding, &all);
    buf_char(&all, '\0');
    CHECK_TEXT(all.p,
               "4:15 no_object the parameters of the tool \"bare\" are no schema of `type: "
               "object`, and models are told nothing of them; write {type: object, properties: "
               "{order_id: ...}, required: [...]}\n"
               "5:49 unreachable_answer this answer is never given: one before it fits every "
               "call; put that one last, or give it `when` or `times`\n"
               "10:16 unreachable_answer this answer is never given: the tool \"typed\" does not "
               "take this \"n\": value: expected a whole number, got a string \"3\"\n"
               "11:16 unreachable_answer this answer is never given: the tool \"typed\" does not "
               "take this \"n\": value: expected at most 9, got a number 10\n"
               "16:29 no_properties OpenAI refuses the parameters of the tool \"empty\": object "
               "schema missing properties; write properties: {}\n");
    buf_free(&all);
    end();
}

static void many_commands_wait_their_turn(void)
{
    begin(HEAD "- {name: cat, command: [cat]}\n- {name: hang, command: [sleep, \"600\"]}\n");
    for (uint32_t i = 1; i <= 40; i++) {
        call("x", i, "cat", "{}");
    }
    loop_run(t.loop);
    size_t lines = 0;
    for (size_t i = 0; i < t.seen.n; i++) {
        lines += t.seen.p[i] == '\n';
    }
    CU_ASSERT_EQUAL(lines, 40);
    buf_clear(&t.seen);
    struct tool_run *runs[40];
    for (uint32_t i = 0; i < 40; i++) {
        runs[i] = call("x", 41 + i, "hang", "{}");
    }
    for (int i = 39; i >= 0; i--) {
        t.box->ops->stop(t.box, runs[i]);
    }
    call("y", 99, "cat", "{}");
    expect("y@0 {}\n");
    call("z", 100, "hang", "{}"); /* killed with the box */
    end();
}

/* The tool inherits the pipe's end: it is at its end when every process that holds it is dead. */
static void command_dies_with_its_program(void)
{
    int alive[2];
    int ready[2];
    CU_ASSERT_FATAL(pipe(alive) == 0 && pipe(ready) == 0);
    fflush(NULL);
    pid_t program = fork();
    CU_ASSERT_FATAL(program >= 0);
    if (program == 0) {
        close(alive[0]);
        char command[256];
        snprintf(command, sizeof command,
                 HEAD "- {name: hang, command: [sh, -c, \"echo >&%d; exec sleep 3000\"]}\n",
                 ready[1]);
        begin(command);
        call("a", 1, "hang", "{}");
        loop_run(t.loop);
        _exit(0);
    }
    close(alive[1]);
    char byte;
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    CU_ASSERT_EQUAL(kill(program, SIGKILL), 0);
    CU_ASSERT_EQUAL(waitpid(program, NULL, 0), program);
    struct pollfd end_of_all = {.fd = alive[0], .events = POLLIN};
    int ended = poll(&end_of_all, 1, 900000); /* only a failing test waits so long */
    CU_ASSERT_TRUE(ended == 1 && read(alive[0], &byte, 1) == 0);
    close(alive[0]);
    close(ready[0]);
    close(ready[1]);
}

TESTS(tools, {"tool_file_sets_every_key", loads_every_key},
      {"tool_file_errors_have_place_and_advice", refuses_bad_files_with_their_place},
      {"toolset_refuses_missing_files_and_second_names", refuses_missing_files_and_second_names},
      {"builtin_tools_answer", builtins_answer},
      {"canned_tools_answer_by_arguments_and_count", canned_answers},
      {"results_of_one_millisecond_come_in_call_order", same_time_comes_in_call_order},
      {"command_tools_answer_or_say_why_not", commands_answer},
      {"command_results_lose_one_newline", command_results_lose_one_newline},
      {"command_failures_tell_the_end_of_stderr", failures_tell_the_end_of_stderr},
      {"missing_programs_are_named_with_their_place", missing_programs_are_named},
      {"doubts_about_tools_are_found", doubts_about_tools_are_found},
      {"tools_what_models_and_sessions_never_see_is_found",
       what_models_and_sessions_never_see_is_found},
      {"command_tools_wait_when_too_many_run", many_commands_wait_their_turn},
      {"command_tools_die_with_the_program", command_dies_with_its_program})
