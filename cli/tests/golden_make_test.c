#include "ci/testing/testing.h"
#include "cli/tests/program.h"
#include "kernel/base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUICKSTART SOURCE_DIR "/goldens/quickstart.yaml"
#define TOOLS      SOURCE_DIR "/goldens/quickstart/tools.yaml"
#define CASSETTES  SOURCE_DIR "/cassettes/quickstart"

/* The sessions of the shipped set; all of them went well. */
static const char *const sessions[] = {
    "margin-drop",  "margin-drop-zh",  "order-quote",    "order-quote-zh", "three-prices",
    "clock",        "return-policy",   "no-tool-needed", "refuse-refund",  "carrier-slow",
    "unknown-tool", "wrong-arguments", "half-arguments", "missing-order",  "busy-model",
    "stuck-loop",   "step-budget",     "hand-over"};
enum { SESSIONS = sizeof sessions / sizeof sessions[0] };

/* Each session, replayed from the recording that was promoted with it, passes its own task. */
static void every_session_passes_the_task_that_it_makes(void)
{
    const char *dir = testing_dir();
    const char *set = path_of("%s/set.yaml", dir), *runs = path_of("%s/run", dir);
    CHECK_STATUS(ASSAY("eval", QUICKSTART, "--replay", CASSETTES, "--out", runs), 0);
    for (size_t i = 0; i < SESSIONS; i++) {
        const struct ran *r =
            ASSAY("golden", "promote", path_of("%s/traces/%s.jsonl", runs, sessions[i]), "-o", set,
                  "--tools", TOOLS, "--cassette", path_of("%s/%s.yaml", CASSETTES, sessions[i]));
        CHECK_STATUS(r, 0);
        CHECK_OUT(r, path_of("has the task %s, and ", sessions[i]));
    }
    const struct ran *r = ASSAY("golden", "check", set);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "0 errors");
    const char *cassettes = path_of("%s/cassettes", dir);
    r = ASSAY("eval", set, "--replay", cassettes, "--strict", "--out", path_of("%s/again", dir));
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "18 passed, 0 failed, 0 errors");
    /* and a session that goes otherwise does not */
    r = ASSAY("eval", set, "--replay", CASSETTES, "--task", "order-quote", "--out",
              path_of("%s/same", dir));
    CHECK_STATUS(r, 0);
    size_t n = 0;
    const char *text = read_text(set, &n);
    const char *sku = strstr(text, "check_stock: {sku: \"LAMP-01\"}");
    char *changed = malloc(n);
    CU_ASSERT_FATAL(sku != NULL && changed != NULL);
    memcpy(changed, text, n);
    changed[sku - text + sizeof "check_stock: {sku: \"LAMP-0" - 1] = '2';
    write_bytes(dir, "set.yaml", changed, n);
    free(changed);
    r = ASSAY("eval", set, "--replay", cassettes, "--task", "order-quote", "--out",
              path_of("%s/other", dir));
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "call 2 of 4: check_stock.args.sku: expected \"LAMP-02\", got \"LAMP-01\"");
}

/* A conversation has its turns. */
/* Tools and system message of a program under test are its own. */
static void what_an_agent_did_is_a_task_for_agents(void)
{
    static const char log[] =
        "{\"seq\":1,\"t_ms\":0,\"type\":\"run_start\",\"schema\":1,\"run\":\"0\",\"seed\":0,"
        "\"system\":\"Be brief.\",\"agent\":\"python3 a.py\",\"tools\":[\"subtract\"]}\n"
        "{\"seq\":2,\"t_ms\":0,\"type\":\"user_message\",\"content\":\"3 - 1?\"}\n"
        "{\"seq\":3,\"t_ms\":0,\"type\":\"llm_reply\",\"calls\":[{\"id\":\"c\",\"name\":"
        "\"subtract\",\"arguments\":\"{\\\"a\\\":3}\"}]}\n"
        "{\"seq\":4,\"t_ms\":0,\"type\":\"run_end\",\"status\":\"completed\",\"answer\":\"2\"}\n";
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    write_text(dir, "t.jsonl", log);
    CHECK_STATUS(ASSAY_WITH(&in_dir, "golden", "promote", "t.jsonl", "-o", "s.yaml"), 0);
    CHECK_TEXT(read_text(path_of("%s/s.yaml", dir), NULL),
               "version: 1\nname: s\ntasks:\n- id: t\n  prompt: \"3 - 1?\"\n  expect:\n    calls:\n"
               "      mode: exact\n      list:\n      - subtract: {a: 3}\n    answer: \"2\"\n");
    const struct ran *r = ASSAY_WITH(&in_dir, "golden", "promote", "t.jsonl", "-o", "s.yaml",
                                     "--tools", "x.yaml", "--id", "u");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "leave out --tools");
}

static void turns_stay_turns(void)
{
    const char *dir = testing_dir();
    write_text(dir, "set.yaml",
               "version: 1\nname: s\ntasks:\n- id: two\n  turns: [{user: One?}, {user: Two?}]\n"
               "  fake: two.script.yaml\n  expect: {answer: second}\n");
    write_text(dir, "two.script.yaml",
               "version: 1\nsteps:\n- {expect: {last_user: One?}, reply: {text: first}}\n"
               "- {expect: {last_user: Two?}, reply: {text: second}}\n");
    const struct program_options in_dir = {.dir = dir};
    CHECK_STATUS(ASSAY_WITH(&in_dir, "eval", "set.yaml", "--fake", "--out", "run"), 0);
    CHECK_STATUS(ASSAY_WITH(&in_dir, "golden", "promote", "run/traces/two.jsonl", "-o", "set.yaml",
                            "--id", "again"),
                 0);
    CHECK_TEXT(read_text(path_of("%s/set.yaml", dir), NULL),
               "version: 1\nname: s\ntasks:\n- id: two\n  turns: [{user: One?}, {user: Two?}]\n"
               "  fake: two.script.yaml\n  expect: {answer: second}\n"
               "- id: again\n"
               "  turns:\n"
               "  - user: \"One?\"\n"
               "  - user: \"Two?\"\n"
               "  expect:\n"
               "    no_calls: true\n"
               "    answer: \"second\"\n");
}

/* What a task of the set gets, and the session had otherwise, is said; nothing else. */
static void what_the_defaults_say_otherwise_is_said(void)
{
#define USUAL "{\"steps\": 25, \"tokens\": 60000, \"seconds\": 120, \"cost_usd\": 0.5}"
    static const struct {
        const char *system; /* of the session, as JSON */
        const char *defaults;
        const char *said;
    } cases[] = {
        {"null", "{trials: 1}", ""},
        {"\"Be brief.\"", "{trials: 1}", "  system: \"Be brief.\"\n"},
        {"\"Be brief.\"", "{system: Be brief., budget: " USUAL "}", ""},
        {"\"Be brief.\"", "{system: Be long.}", "  system: \"Be brief.\"\n"},
        {"null", "{system: Be long., tools: [{builtin: now}], budget: {steps: 3}, trials: 2}",
         "  system: null\n  tools: null\n  budget: " USUAL "\n  trials: 1\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *dir = testing_dir();
        const struct program_options in_dir = {.dir = dir};
        const char *begin = path_of(
            "version: 1\nname: s\ndefaults: %s\ntasks:\n- {id: a, prompt: p}\n", cases[i].defaults);
        write_text(dir, "s.yaml", begin);
        write_text(
            dir, "t.jsonl",
            path_of("{\"seq\":1,\"t_ms\":0,\"type\":\"run_start\",\"schema\":1,\"system\":%s,"
                    "\"tools\":[],\"budget\":{\"steps\":25,\"tokens\":60000,\"seconds\":120,"
                    "\"cost_usd\":0.5}}\n"
                    "{\"seq\":2,\"t_ms\":0,\"type\":\"user_message\",\"content\":\"Hi\"}\n"
                    "{\"seq\":3,\"t_ms\":0,\"type\":\"run_end\",\"status\":\"completed\","
                    "\"answer\":\"Ho\"}\n",
                    cases[i].system));
        CHECK_STATUS(ASSAY_WITH(&in_dir, "golden", "promote", "t.jsonl", "-o", "s.yaml"), 0);
        CHECK_TEXT(read_text(path_of("%s/s.yaml", dir), NULL),
                   path_of("%s- id: t\n  prompt: \"Hi\"\n%s  expect:\n    no_calls: true\n"
                           "    answer: \"Ho\"\n",
                           begin, cases[i].said));
    }
#undef USUAL
}

static const char start[] =
    "{\"seq\":1,\"t_ms\":0,\"type\":\"run_start\",\"schema\":1,\"run\":\"5f0c9a31d2e4\",\"seed\":7,"
    "\"started_at\":\"2026-11-29T18:00:00.000Z\",\"model\":\"m\",\"provider\":\"openai\","
    "\"system\":null,\"tools\":[%s],\"budget\":{\"steps\":25},\"config\":{}}\n"
    "{\"seq\":2,\"t_ms\":0,\"type\":\"user_message\",\"content\":\"Hi\"}\n%s";

#define END(status)                                                                                \
    "{\"seq\":3,\"t_ms\":0,\"type\":\"run_end\",\"status\":\"" status "\",\"answer\":null}\n"

static void what_is_no_good_session_is_refused(void)
{
    static const struct {
        const char *tools;
        const char *rest;
        const char *says;
    } bad[] = {
        {"", "", "the run is not over"},
        {"", END("model_error"), "model_error, which no task can expect"},
        {"", END("cassette_miss"), "promote a session that went well"},
        {"", "{\"seq\":3", "in the middle of a line"},
        {"", "nonsense\n", "a line of an event log"},
        {"", "{\"seq\":1,\"t_ms\":0,\"type\":\"run_start\"}\n", "a second run begins here"},
        {"\"pay\"", END("completed"), "--tools FILE"},
    };
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[2048];
        snprintf(text, sizeof text, start, bad[i].tools, bad[i].rest);
        write_text(dir, "t.jsonl", text);
        const struct ran *r = ASSAY_WITH(&in_dir, "golden", "promote", "t.jsonl", "-o", "s.yaml");
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, bad[i].says);
        CU_ASSERT(access(path_of("%s/s.yaml", dir), F_OK) != 0);
    }
}

/* A set is added to whole, or not at all. */
static void a_set_that_cannot_be_added_to_stays_as_it_is(void)
{
    static const struct {
        const char *set;
        const char *says;
    } sets[] = {
        {"version: 1\nname: s\ntasks: [{id: a, prompt: p}]\n", "block style"},
        {"version: 1\nname: s\ntasks:\n- {id: a, prompt: p}\ndefaults: {}\n", "last key"},
        {"version: 1\nname: s\ntasks:\n- {id: T, prompt: p}\n", "is taken by this task"},
        {"version: 1\nname: s\ntasks:\n- {id: a}\n", "prompt"},
    };
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    char text[2048];
    snprintf(text, sizeof text, start, "", END("completed"));
    write_text(dir, "t.jsonl", text);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        const char *path = write_text(dir, "s.yaml", sets[i].set);
        const struct ran *r = ASSAY_WITH(&in_dir, "golden", "promote", "t.jsonl", "-o", "s.yaml");
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, sets[i].says);
        CHECK_TEXT(read_text(path, NULL), sets[i].set);
        CU_ASSERT(access(path_of("%s/s.yaml.draft", dir), F_OK) != 0);
    }
    const char *path =
        write_text(dir, "s.yaml", "version: 1\nname: s\ntasks:\n    - {id: a, prompt: p}");
    CHECK_STATUS(ASSAY_WITH(&in_dir, "golden", "promote", "t.jsonl", "-o", "s.yaml"), 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(read_text(path, NULL), "prompt: p}\n    - id: t\n      prompt: "));
}

/* ---- promptfoo ---- */

static const char config[] = "description: A desk\n"
                             "prompts:\n"
                             "- 'Translate into {{language}}: {{ text }}'\n"
                             "- file://chat.json\n"
                             "providers:\n"
                             "- openai:chat:gpt-4.1-mini\n"
                             "- id: anthropic:messages:claude-haiku-4-5\n"
                             "  config: {temperature: 0}\n"
                             "- file://mine.js\n"
                             "defaultTest:\n"
                             "  vars: {language: French}\n"
                             "  assert:\n"
                             "  - {type: latency, threshold: 2500}\n"
                             "tests:\n"
                             "- description: Says hello!\n"
                             "  vars: {text: Hello (world)}\n"
                             "  assert:\n"
                             "  - {type: icontains, value: 'Bonjour (le'}\n"
                             "  - {type: not-contains, value: '{{text}}'}\n"
                             "  - {type: llm-rubric, value: 'is polite, in {{language}}'}\n"
                             "  - {type: similar, value: is polite}\n"
                             "  - {type: contains-any, value: [a, 'b c']}\n"
                             "- vars: {text: Bye, language: German}\n"
                             "  threshold: 0.5\n"
                             "  assert:\n"
                             "  - {type: equals, value: Tschuess}\n"
                             "  - {type: is-json, value: {type: object}}\n"
                             "  - {type: cost, threshold: 0.002}\n"
                             "  - {type: starts-with, value: '1.5'}\n"
                             "  - {type: regex, value: '\\d+'}\n"
                             "- vars: {text: [x, y]}\n";

static const char chat[] = "[{\"role\": \"system\", \"content\": \"Speak {{language}}.\"},\n"
                           " {\"role\": \"user\", \"content\": \"{{text}}\"}]\n";

#define LIMITS "    limits: {seconds: 2.500}\n"
#define HELLO                                                                                      \
    "  expect:\n"                                                                                  \
    "    answer:\n"                                                                                \
    "      all:\n"                                                                                 \
    "      - {regex: \"(?i)Bonjour \\\\(le\"}\n"                                                   \
    "      - {not: {contains: \"Hello (world)\"}}\n"                                               \
    "      - {rubric: \"is polite, in French\"}\n"                                                 \
    "      - {any: [{contains: \"a\"}, {contains: \"b c\"}]}\n" LIMITS
#define BYE                                                                                        \
    "  expect:\n"                                                                                  \
    "    answer:\n"                                                                                \
    "      all:\n"                                                                                 \
    "      - {equals: \"Tschuess\"}\n"                                                             \
    "      - {schema: {\"type\": \"object\"}}\n"                                                   \
    "      - {regex: \"^1\\\\.5\"}\n"                                                              \
    "      - {regex: \"\\\\d+\"}\n"                                                                \
    "    limits: {cost_usd: 0.002, seconds: 2.500}\n"

static const char imported[] =
    "version: 1\n"
    "name: desk\n"
    "models:\n"
    "- {model: \"gpt-4.1-mini\", provider: openai}\n"
    "- {model: \"claude-haiku-4-5\", provider: anthropic}\n"
    "tasks:\n"
    "- id: Says-hello-1-p1\n"
    "  prompt: \"Translate into French: Hello (world)\"\n" HELLO "- id: Says-hello-1-p2\n"
    "  prompt: \"Hello (world)\"\n"
    "  system: \"Speak French.\"\n" HELLO "- id: test-2-p1\n"
    "  prompt: \"Translate into German: Bye\"\n" BYE "- id: test-2-p2\n"
    "  prompt: \"Bye\"\n"
    "  system: \"Speak German.\"\n" BYE;

/* What has a counterpart is taken over, everything else is named with its place. */
static void promptfoo_is_taken_over(void)
{
    static const char *const left[] = {
        "f.yaml:8:3: not taken over: \"config\" of a provider",
        "f.yaml:9:3: not taken over: the provider \"file://mine.js\"",
        "f.yaml:21:5: not taken over: the assert \"similar\" has no counterpart",
        "f.yaml:24:3: not taken over: \"threshold\" of a test",
        "f.yaml:31:16: not taken over: the values of \"text\" are a list: write a test for each",
        "f.yaml:31:3: not taken over: the test cannot be filled into the prompt at line 3",
    };
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    write_text(dir, "f.yaml", config);
    write_text(dir, "chat.json", chat);
    const struct ran *r =
        ASSAY_WITH(&in_dir, "golden", "import", "promptfoo", "f.yaml", "-o", "desk.golden.yaml");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "desk.golden.yaml has 4 tasks; ");
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        CHECK_ERR(r, left[i]);
    }
    CHECK_TEXT(read_text(path_of("%s/desk.golden.yaml", dir), NULL), imported);
    r = ASSAY_WITH(&in_dir, "golden", "import", "promptfoo", "f.yaml", "-o", "desk.golden.yaml");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "is there already and is not overwritten");
}

/* Prompts of one file, no tests at all, and asserts about what a transform makes of the answer. */
static void promptfoo_files_of_prompts_are_taken_over(void)
{
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    write_text(dir, "p.txt", "One?\n---\r\nTwo?\nMore -- of it.\n---\n\n");
    write_text(dir, "f.yaml",
               "prompts: [file://p.txt]\ndefaultTest: {assert: [{type: contains, "
               "value: x}]}\n");
    const struct ran *r =
        ASSAY_WITH(&in_dir, "golden", "import", "promptfoo", "f.yaml", "-o", "p.yaml");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(read_text(path_of("%s/p.yaml", dir), NULL),
               "version: 1\nname: p\ntasks:\n- id: test-1-p1\n  prompt: \"One?\\n\"\n  expect:\n"
               "    answer:\n      all:\n      - {contains: \"x\"}\n- id: test-1-p2\n"
               "  prompt: \"Two?\\nMore -- of it.\\n\"\n  expect:\n    answer:\n      all:\n"
               "      - {contains: \"x\"}\n");
    write_text(dir, "t.yaml",
               "prompts: [a]\n"
               "providers: [openai:m, {id: 'openai:chat:m'}, 'openai:responses:m']\n"
               "tests:\n"
               "- assert: [{type: equals, value: f, transform: output.name}, {type: contains, "
               "value: y}]\n"
               "- {options: {transform: output.x}, assert: [{type: equals, value: f}]}\n"
               "- assert: [{type: contains, value: z}, {type: regex, value: '(['}, {type: is-json, "
               "value: {type: 5}}]\n");
    r = ASSAY_WITH(&in_dir, "golden", "import", "promptfoo", "t.yaml", "-o", "u.yaml");
    CHECK_STATUS(r, 0);
    CHECK_ERR(r, "t.yaml:2:23: not taken over: the provider \"openai:chat:m\" stands here already");
    CHECK_ERR(r,
              "t.yaml:6:40: not taken over: the assert \"regex\": its value cannot be taken over");
    CHECK_ERR(r,
              "t.yaml:4:12: not taken over: the assert \"equals\" looks at a transformed answer");
    CHECK_ERR(r,
              "t.yaml:5:45: not taken over: the assert \"equals\" looks at a transformed answer");
    CHECK_TEXT(
        read_text(path_of("%s/u.yaml", dir), NULL),
        "version: 1\nname: u\nmodels:\n- {model: \"m\", provider: openai}\n"
        "- {model: \"m\", provider: responses}\ntasks:\n- id: test-1\n  prompt: \"a\"\n  expect:\n "
        "   answer:\n"
        "      all:\n      - {contains: \"y\"}\n- id: test-2\n  prompt: \"a\"\n- id: test-3\n"
        "  prompt: \"a\"\n  expect:\n    answer:\n      all:\n      - {contains: \"z\"}\n");
}

static void what_is_no_promptfoo_file_is_refused(void)
{
    static const struct {
        const char *text;
        const char *says;
    } bad[] = {
        {"- a\n", "f.yaml:1:1: expected a map with prompts and tests"},
        {"tests: []\n", "f.yaml:1:1: expected \"prompts\""},
        {"prompts: [a]\ntests: file://x.yaml\n", "f.yaml:2:8: expected \"tests\""},
        {"prompts: [a]\ntests: []\n", "f.yaml:2:8: expected \"tests\""},
        {"prompts: ['{{x}}']\ntests: [{}]\n", "none of these tests can be taken over"},
        {"prompts: [file://x.js]\ntests: [{}]\n", "none of these prompts can be taken over"},
        {"prompts: [a\n", "f.yaml:2:1"},
    };
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_text(dir, "f.yaml", bad[i].text);
        const struct ran *r =
            ASSAY_WITH(&in_dir, "golden", "import", "promptfoo", "f.yaml", "-o", "s.yaml");
        CHECK_STATUS(r, 2);
        CHECK_ERR(r, bad[i].says);
        CU_ASSERT(access(path_of("%s/s.yaml", dir), F_OK) != 0);
    }
    CHECK_STATUS(ASSAY("golden", "import", "promptfo", "a", "-o", "b"), 2);
    CHECK_STATUS(ASSAY("golden", "import", "promptfoo", "a"), 2);
    CHECK_STATUS(ASSAY("golden", "promote", "a"), 2);
}

/* ---- bfcl ---- */

static const char questions[] =
    "{\"id\": \"simple_python_1\", \"question\": [[{\"role\": \"system\", \"content\": \"Be "
    "brief.\"}, "
    "{\"role\": \"user\", \"content\": \"Area?\"}]], \"function\": [{\"name\": \"math.area\", "
    "\"description\": \"Area.\", \"parameters\": {\"type\": \"dict\", \"properties\": {\"base\": "
    "{\"type\": \"float\"}, \"unit\": {\"type\": \"string\"}, \"what\": {\"type\": \"any\"}}, "
    "\"required\": [\"base\"]}}]}\n"
    "{\"id\": \"parallel_2\", \"question\": [[{\"role\": \"user\", \"content\": \"Both?\"}]], "
    "\"function\": [{\"name\": \"f\", \"parameters\": {\"type\": \"dict\", \"properties\": {\"x\": "
    "{\"type\": \"dict\"}}}}]}\n"
    "{\"id\": \"multi_turn_3\", \"question\": [[{\"role\": \"user\", \"content\": \"One.\"}], "
    "[{\"role\": \"user\", \"content\": \"Two.\"}]], \"function\": [{\"name\": \"f\", "
    "\"parameters\": "
    "{\"type\": \"dict\"}}]}\n"
    "{\"id\": \"live_relevance_4\", \"question\": [[{\"role\": \"user\", \"content\": \"Any?\"}]], "
    "\"function\": [{\"name\": \"f\", \"parameters\": {\"type\": \"dict\"}}]}\n";

static const char ground_truth[] =
    "{\"id\": \"simple_python_1\", \"ground_truth\": "
    "[{\"math.area\": {\"base\": [10, 10.5], \"unit\": "
    "[\"cm\", \"\"]}}]}\n"
    "{\"id\": \"parallel_2\", \"ground_truth\": [{\"f\": {\"x\": "
    "[{\"a\": [1, 2]}]}}, {\"f\": {}}]}\n"
    "{\"id\": \"multi_turn_3\", \"ground_truth\": [{\"f\": {}}]}\n"
    "{\"id\": \"live_relevance_4\", \"ground_truth\": [{\"f\": {}}]}\n";

static const char bfcl_imported[] =
    "version: 1\n"
    "name: b\n"
    "tasks:\n"
    "- id: \"simple_python_1\"\n"
    "  system: \"Be brief.\"\n"
    "  prompt: \"Area?\"\n"
    "  tools:\n"
    "  - name: \"math_area\"\n"
    "    description: \"Area.\"\n"
    "    parameters: {\"type\": \"object\", \"properties\": {\"base\": {\"type\": \"number\"}, "
    "\"unit\": "
    "{\"type\": \"string\"}, \"what\": {}}, \"required\": [\"base\"]}\n"
    "    answers: [{result: done}]\n"
    "  expect:\n"
    "    calls:\n"
    "      list:\n"
    "      - \"math_area\": {\"base\": {one_of: [10, 10.5]}, \"unit\": {optional: \"cm\"}}\n"
    "- id: \"parallel_2\"\n"
    "  prompt: \"Both?\"\n"
    "  tools:\n"
    "  - name: \"f\"\n"
    "    description: \"\"\n"
    "    parameters: {\"type\": \"object\", \"properties\": {\"x\": {\"type\": \"object\"}}}\n"
    "    answers: [{result: done}]\n"
    "  expect:\n"
    "    calls:\n"
    "      list:\n"
    "      - parallel:\n"
    "        - \"f\": {\"x\": {\"a\": {one_of: [1, 2]}}}\n"
    "        - \"f\": {}\n";

/* What a set cannot hold is told with its place in the file it comes from, and in little time. */
static void a_set_that_would_be_too_large_is_refused(void)
{
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    struct buf text = {0};
    buf_addz(&text, "prompts:\n- '");
    for (int i = 0; i < 100000; i++) {
        buf_addz(&text, "{{x}}");
    }
    buf_fmt(&text, "'\ntests:\n- vars: {x: '%0100000d'}\n", 1);
    buf_char(&text, '\0');
    write_text(dir, "wide.yaml", text.p);
    buf_clear(&text);
    buf_addz(&text, "prompts: [");
    for (int i = 0; i < 400; i++) {
        buf_fmt(&text, "p%d, ", i);
    }
    buf_addz(&text, "]\ntests:\n");
    for (int i = 0; i < 400; i++) {
        buf_addz(&text, "- {}\n");
    }
    buf_char(&text, '\0');
    write_text(dir, "many.yaml", text.p);
    const struct ran *r =
        ASSAY_WITH(&in_dir, "golden", "import", "promptfoo", "wide.yaml", "-o", "s.yaml");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "wide.yaml:2:3: with its variables filled in, and what was filled in before it, "
                 "this is more than the 64 MiB that a set may have; import it in parts");
    r = ASSAY_WITH(&in_dir, "golden", "import", "promptfoo", "many.yaml", "-o", "s.yaml");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "many.yaml:3:1: 400 tests with 400 prompts are more than the 100000 tasks");
    CU_ASSERT(access(path_of("%s/s.yaml", dir), F_OK) != 0);
    buf_free(&text);
}

#define ANY_QUESTION                                                                               \
    "\"question\": [[{\"role\": \"user\", \"content\": \"Q?\"}]], \"function\": [{\"name\": "      \
    "\"f\", \"parameters\": {\"type\": \"dict\", \"properties\": {}}}]}\n"

/* A mistake in what is made is one at the place that it is made of. */
static void what_makes_no_set_is_told_with_its_place(void)
{
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    write_text(dir, "q.jsonl",
               "{\"id\": \"irrelevance_1\", " ANY_QUESTION
               "\n{\"id\": \"irrelevance/2\", " ANY_QUESTION);
    const struct ran *r =
        ASSAY_WITH(&in_dir, "golden", "import", "bfcl", "q.jsonl", "-o", "s.yaml");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "q.jsonl:3:1: what this makes is no golden set: the id becomes a file name");
    CU_ASSERT(access(path_of("%s/s.yaml", dir), F_OK) != 0);
    CU_ASSERT(access(path_of("%s/s.yaml.draft", dir), F_OK) != 0);
}

static void bfcl_is_taken_over(void)
{
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    write_text(dir, "q.jsonl", questions);
    write_text(dir, "a.jsonl", ground_truth);
    const struct ran *r = ASSAY_WITH(&in_dir, "golden", "import", "bfcl", "q.jsonl", "--answers",
                                     "a.jsonl", "-o", "b.yaml");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "b.yaml has 2 tasks; 2 things were not taken over");
    CHECK_ERR(r, "q.jsonl:3:1: not taken over: the question multi_turn_3: it has several turns");
    CHECK_ERR(r, "q.jsonl:4:1: not taken over: the question live_relevance_4: any call is right");
    CHECK_TEXT(read_text(path_of("%s/b.yaml", dir), NULL), bfcl_imported);
    r = ASSAY_WITH(&in_dir, "golden", "import", "bfcl", "q.jsonl", "-o", "c.yaml");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "--answers");
    write_text(dir, "m.jsonl",
               "{\"id\": \"multi_turn_base_0\", \"question\": [], \"involved_classes\": []}\n");
    r = ASSAY_WITH(&in_dir, "golden", "import", "bfcl", "m.jsonl", "-o", "m.yaml");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "m.jsonl:1:1: this question goes on for several turns with services");
}

static const char code_questions[] =
    "{\"id\": \"simple_java_0\", \"question\": [[{\"role\": \"user\", \"content\": \"J?\"}]], "
    "\"function\": [{\"name\": \"a.f\", \"description\": \"F.\", \"parameters\": {\"type\": "
    "\"dict\", \"properties\": {\"s\": {\"type\": \"String\", \"description\": \"S.\"}, \"l\": "
    "{\"type\": \"long\", \"description\": \"L.\"}, \"xs\": {\"type\": \"ArrayList\", \"items\": "
    "{\"type\": \"integer\"}}, \"m\": {\"type\": \"HashMap\"}, \"any\": {\"type\": \"any\"}}, "
    "\"required\": [\"s\"]}}]}\n"
    "{\"id\": \"simple_javascript_0\", \"question\": [[{\"role\": \"user\", \"content\": "
    "\"S?\"}]], \"function\": [{\"name\": \"f\", \"description\": \"F.\", \"parameters\": "
    "{\"type\": \"dict\", \"properties\": {\"s\": {\"type\": \"String\"}, \"b\": {\"type\": "
    "\"Boolean\"}, \"x\": {\"type\": \"float\"}, \"xs\": {\"type\": \"array\", \"items\": "
    "{\"type\": \"String\"}}, \"d\": {\"type\": \"dict\", \"properties\": {\"k\": {\"type\": "
    "\"integer\"}}}}}}]}\n";

static const char code_truth[] =
    "{\"id\": \"simple_java_0\", \"ground_truth\": [{\"a.f\": {\"s\": [\"a b\"], \"l\": [5], "
    "\"xs\": [[1, 2], \"\"], \"m\": [{\"k\": [50], \"n\": [\"x\", \"\"]}, \"\"], \"any\": "
    "[\"new Path(1)\", \"\"]}}]}\n"
    "{\"id\": \"simple_javascript_0\", \"ground_truth\": [{\"f\": {\"s\": [\"a\"], \"b\": "
    "[true, \"\"], \"x\": [4.0, \"\"], \"xs\": [[\"p\", \"q\"], \"\"], \"d\": [{\"k\": [1, 2], "
    "\"l\": [[3]]}, \"\"]}}]}\n";

/* The verdict of each is the official checker's, but for text behind a value, which it lets pass.
 */
static void arguments_in_java_and_javascript_are_texts(void)
{
    static const struct {
        const char *task;
        const char *arguments;
        int status;
    } cases[] = {
        {"simple_java_0", "s: a b, l: 5L", 0},
        {"simple_java_0", "s: a b, l: 5l, any: new Path(1)", 0},
        {"simple_java_0", "s: a b, l: '5'", 1},
        {"simple_java_0", "s: a b, l: 6L", 1},
        {"simple_java_0", "s: a b, l: 5L, any: new Path(2)", 1},
        {"simple_java_0", "s: a b, l: 5L, xs: 'new ArrayList<Integer>(Arrays.asList(1, 2))'", 0},
        {"simple_java_0", "s: a b, l: 5L, xs: 'new ArrayList<Integer>() {{ add(1); add(2); }}'", 0},
        {"simple_java_0", "s: a b, l: 5L, xs: 'new ArrayList<Integer>(Arrays.asList(1, 3))'", 1},
        {"simple_java_0", "s: a b, l: 5L, xs: 'new ArrayList<Integer>(Arrays.asList(1))'", 1},
        {"simple_java_0",
         "s: a b, l: 5L, m: 'new HashMap<String, Object>() {{ put(\"n\", \"x\"); put(\"k\", 50); "
         "}}'",
         0},
        {"simple_java_0", "s: a b, l: 5L, m: 'new HashMap<String, Object>() {{ put(\"k\", 50); }}'",
         0},
        {"simple_java_0", "s: a b, l: 5L, m: 'new HashMap<String, Object>() {{ put(\"k\", 51); }}'",
         1},
        {"simple_java_0",
         "s: a b, l: 5L, m: 'new HashMap<String, Object>() {{ put(\"k\", 50); put(\"z\", 1); }}'",
         1},
        {"simple_javascript_0", "s: a", 0},
        {"simple_javascript_0", "s: '\"a\"', b: 'true', x: '4.0'", 0},
        {"simple_javascript_0", "s: a, x: '4'", 0},
        {"simple_javascript_0", "s: a, x: '4.5'", 1},
        {"simple_javascript_0", "s: a, b: 'false'", 1},
        {"simple_javascript_0", "s: a, xs: '[\"p\", \"q\"]'", 0},
        {"simple_javascript_0", "s: a, xs: '[\"q\", \"p\"]'", 1},
        {"simple_javascript_0", "s: a, d: '{l: [3], k: 2}'", 0},
        {"simple_javascript_0", "s: a, d: '{k: 2}'", 1},
        {"simple_javascript_0", "s: a, d: '{k: 2, l: [3], z: 1}'", 1},
    };
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    write_text(dir, "q.jsonl", code_questions);
    write_text(dir, "a.jsonl", code_truth);
    CHECK_STATUS(ASSAY_WITH(&in_dir, "golden", "import", "bfcl", "q.jsonl", "--answers", "a.jsonl",
                            "-o", "c.yaml"),
                 0);
    CHECK_STATUS(ASSAY_WITH(&in_dir, "golden", "check", "c.yaml"), 0);
    const char *set = read_text(path_of("%s/c.yaml", dir), NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(set, "{\"type\": \"string\", \"description\": \"Java "
                                       "ArrayList of integer, written as source text.\"}"));
    CU_ASSERT_PTR_NOT_NULL(strstr(set, "{\"type\": \"string\", \"description\": \"L. Java long, "
                                       "written as source text.\"}"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool java = strcmp(cases[i].task, "simple_java_0") == 0;
        write_text(dir, "s.yaml",
                   path_of("version: 1\nsteps:\n- reply: {calls: [{name: %s, arguments: {%s}}]}\n"
                           "- reply: {text: done}\n",
                           java ? "a_f" : "f", cases[i].arguments));
        const struct ran *r = ASSAY_WITH(&in_dir, "eval", "c.yaml", "--fake", "--script", "s.yaml",
                                         "--task", cases[i].task, "--out", path_of("run%zu", i));
        CHECK_STATUS(r, cases[i].status);
    }
}

/* All questions of the leaderboard that ask for calls, or for none. */
static void the_leaderboard_is_taken_over_whole(void)
{
    static const struct {
        const char *category;
        const char *tasks;
        bool answers;
    } categories[] = {
        {"simple_python", "has 400 tasks; 0 things", true},
        {"multiple", "has 200 tasks; 0 things", true},
        {"parallel", "has 200 tasks; 0 things", true},
        {"parallel_multiple", "has 200 tasks; 0 things", true},
        {"irrelevance", "has 240 tasks; 0 things", false},
        {"live_simple", "has 258 tasks; 0 things", true},
        {"simple_java", "has 100 tasks; 0 things", true},
        {"simple_javascript", "has 50 tasks; 0 things", true},
    };
    const char *dir = testing_dir();
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        const char *name = categories[i].category;
        const char *asked = testing_corpus(path_of("bfcl/questions/%s.jsonl", name));
        const char *truth = testing_corpus(path_of("bfcl/answers/%s.jsonl", name));
        if (asked == NULL) {
            testing_skip("the corpus is not there");
            return;
        }
        const char *out = path_of("%s/%s.yaml", dir, name);
        const struct ran *r =
            categories[i].answers
                ? ASSAY("golden", "import", "bfcl", asked, "--answers", truth, "-o", out)
                : ASSAY("golden", "import", "bfcl", asked, "-o", out);
        CHECK_STATUS(r, 0);
        CHECK_OUT(r, categories[i].tasks);
        if (strncmp(name, "simple_java", 11) == 0) {
            CHECK_STATUS(ASSAY("golden", "check", out), 0);
        }
    }
}

TESTS(golden_make,
      {"golden_every_session_passes_the_task_that_it_makes",
       every_session_passes_the_task_that_it_makes},
      {"golden_what_an_agent_did_is_a_task_for_agents", what_an_agent_did_is_a_task_for_agents},
      {"golden_turns_stay_turns", turns_stay_turns},
      {"golden_promoted_task_says_what_the_defaults_say_otherwise",
       what_the_defaults_say_otherwise_is_said},
      {"golden_what_is_no_good_session_is_refused", what_is_no_good_session_is_refused},
      {"golden_a_set_that_cannot_be_added_to_stays_as_it_is",
       a_set_that_cannot_be_added_to_stays_as_it_is},
      {"golden_promptfoo_is_taken_over", promptfoo_is_taken_over},
      {"golden_promptfoo_files_of_prompts_are_taken_over",
       promptfoo_files_of_prompts_are_taken_over},
      {"golden_what_is_no_promptfoo_file_is_refused", what_is_no_promptfoo_file_is_refused},
      {"golden_a_set_that_would_be_too_large_is_refused", a_set_that_would_be_too_large_is_refused},
      {"golden_what_makes_no_set_is_told_with_its_place", what_makes_no_set_is_told_with_its_place},
      {"golden_bfcl_is_taken_over", bfcl_is_taken_over},
      {"golden_bfcl_in_java_and_javascript_has_texts", arguments_in_java_and_javascript_are_texts},
      {"golden_the_leaderboard_is_taken_over_whole", the_leaderboard_is_taken_over_whole})
