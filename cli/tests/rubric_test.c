/* Rubrics, which a judge decides: scripted, live, recorded, replayed, scored again. */
#include "ci/testing/testing.h"
#include "cli/tests/loopback.h"
#include "cli/tests/model_server.h"
#include "cli/tests/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first task passes by two verdicts, the second fails by one, the third asks nobody. */
#define TASKS                                                                                      \
    "tasks:\n"                                                                                     \
    "- id: sorry\n"                                                                                \
    "  prompt: My parcel is lost.\n"                                                               \
    "  expect: {answer: {all: [{rubric: It says sorry.}, {contains: Monday},"                      \
    " {not: {rubric: It blames the customer.}}]}}\n"                                               \
    "- id: date\n"                                                                                 \
    "  prompt: When?\n"                                                                            \
    "  expect: {answer: {rubric: It names a date.}}\n"                                             \
    "- id: plain\n"                                                                                \
    "  prompt: What now?\n"                                                                        \
    "  expect: {answer: {any: [{rubric: It is polite.}, {contains: Monday}]}}\n"

/* What the model and its judge say; they are told apart by their names. */
#define RULES                                                                                      \
    "- when: {model: gpt-4.1-mini, last_user: {contains: blames}}\n"                               \
    "  reply: {text: '{\"pass\": false, \"reason\": \"It does not.\"}',"                           \
    " usage: {input: 300, output: 10}}\n"                                                          \
    "- when: {model: gpt-4.1-mini, last_user: {contains: says sorry}}\n"                           \
    "  reply: {text: 'So: ```json {\"pass\": true, \"reason\": \"It does.\"} ```',"                \
    " usage: {input: 300, output: 10}}\n"                                                          \
    "- when: {model: gpt-4.1-mini}\n"                                                              \
    "  reply: {text: '{\"pass\": false, \"reason\": \"Monday is no date.\"}',"                     \
    " usage: {input: 300, output: 10}}\n"

#define MODEL_RULE                                                                                 \
    "- when: {model: gpt-4.1}\n"                                                                   \
    "  reply: {text: I am sorry. On Monday., usage: {input: 100, output: 5}}\n"

#define SCRIPT "version: 1\nmodel: gpt-4.1\nrules:\n" RULES MODEL_RULE

static const char *rubric_set(const char *dir, const char *judge)
{
    write_text(dir, "s.script.yaml", SCRIPT);
    return write_text(dir, "set.yaml",
                      path_of("version: 1\nname: rubrics\n%s"
                              "defaults: {fake: s.script.yaml}\n" TASKS,
                              judge));
}

#define JUDGE "judge: {model: gpt-4.1-mini, fake: s.script.yaml}\n"

/* What a judge's logs are called, of all that are asked about. */
static const char *const logs[] = {"sorry/1", "sorry/2", "date/1"};

static void same_judged_runs(const char *a, const char *b)
{
    CU_ASSERT(same_bytes(path_of("%s/results.jsonl", a), path_of("%s/results.jsonl", b)));
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        CU_ASSERT(same_bytes(path_of("%s/judge/%s.jsonl", a, logs[i]),
                             path_of("%s/judge/%s.jsonl", b, logs[i])));
    }
    CU_ASSERT(access(path_of("%s/judge/plain", a), R_OK) != 0);
}

/* 100 and 5 tokens a run, 300 and 10 a verdict: 0.00024 USD and 0.000136 USD by the price table. */
static void check_judged(const struct ran *r)
{
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "2 passed, 1 failed, 0 errors\nwhy: answer 1 (rubric 1)\n");
    CHECK_OUT(r, "rubric \"It names a date.\" not met: Monday is no date. (judge gpt-4.1-mini)");
    CHECK_OUT(r, "cost 0.00072 USD, judge 0.000408 USD (3 rubrics)");
    CHECK_OUT(r, "tokens 300 in, 15 out");
}

static void scripted(void)
{
    const char *dir = testing_dir(), *set = rubric_set(dir, JUDGE);
    const char *one = path_of("%s/one", dir), *two = path_of("%s/two", dir);
    CHECK_STATUS(ASSAY("golden", "check", set), 0);
    check_judged(ASSAY("eval", set, "--fake", "--jobs", "1", "--out", one));
    check_judged(ASSAY("eval", set, "--fake", "--out", two));
    same_judged_runs(one, two);
    CHECK_STATUS(ASSAY("trace", "check", path_of("%s/judge/sorry/1.jsonl", one),
                       path_of("%s/judge/sorry/2.jsonl", one),
                       path_of("%s/traces/sorry.jsonl", one)),
                 0);
    const char *trace = read_text(path_of("%s/traces/sorry.jsonl", one), NULL);
    CU_ASSERT(trace != NULL && strstr(trace, "rubric") == NULL);
    const struct ran *r = ASSAY("report", one, "--format", "csv");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "trace,judge_asked,judge_cost_nano\r\n");
    CHECK_OUT(r, "traces/sorry.jsonl,2,272000\r\n");
    CHECK_OUT(r, "traces/plain.jsonl,0,\r\n");
    r = ASSAY("report", one, "--format", "markdown");
    CHECK_OUT(r, "0.00072 USD, judge 0.000408 USD (3 rubrics)");
    r = ASSAY("report", one, "--format", "json");
    CHECK_OUT(r, "\"judge\":{\"asked\":3,\"cost_nano\":408000,\"currency\":\"USD\"}");
    CHECK_OUT(r, "\"judge\":{\"model\":\"gpt-4.1-mini\",\"asked\":1,\"verdicts\":[{\"rubric\":"
                 "\"It names a date.\",\"pass\":false,\"reason\":\"Monday is no date.\"}]");
}

/* ---- live, recorded, replayed ---- */

static const struct {
    const char *provider;
    bool stream;
    const char *judge; /* in the set */
} ways[] = {
    {"openai", false, JUDGE},
    {"openai", true, JUDGE},
    {"responses", false, JUDGE},
    {"responses", true, JUDGE},
    {"anthropic", false, JUDGE},
    {"anthropic", true, JUDGE},
    {"openai", false, "judge: {model: gpt-4.1-mini, provider: anthropic}\n"},
    {"anthropic", true, "judge: {model: gpt-4.1-mini, provider: responses}\n"},
};

static void replay_as_recorded(const char *set, const char *tapes, const char *recorded,
                               const char *dir)
{
    static const char *const matches[] = {"body", "order", "relaxed"};
    for (size_t i = 0; i < sizeof matches / sizeof matches[0]; i++) {
        const char *replayed = path_of("%s/%s", dir, matches[i]);
        const struct ran *r = ASSAY("eval", set, "--replay", tapes, "--match", matches[i],
                                    "--strict", "--out", replayed);
        check_judged(r);
        same_judged_runs(recorded, replayed);
    }
}

static void recorded(size_t way)
{
    const char *dir = testing_dir(), *set = rubric_set(dir, ways[way].judge);
    const char *tapes = path_of("%s/tapes", dir), *out = path_of("%s/recorded", dir);
    struct server s;
    SERVE(&s, "--script", path_of("%s/s.script.yaml", dir));
    const char *const more[] = {s.more[0], path_of("ANTHROPIC_BASE_URL=%s", s.url),
                                "OPENAI_API_KEY=sk-openai-secret",
                                "ANTHROPIC_API_KEY=sk-anthropic-secret", NULL};
    struct program_options o = {.more = more};
    const char *stream = ways[way].stream ? "--stream" : NULL;
    check_judged(ASSAY_WITH(&o, "eval", set, "--record", tapes, "--model", "gpt-4.1", "--provider",
                            ways[way].provider, "--out", out, stream));
    CHECK_STATUS(server_end(&s), 0);
    replay_as_recorded(set, tapes, out, dir);
    const char *tape = read_text(path_of("%s/sorry.yaml", tapes), NULL);
    CU_ASSERT(tape != NULL && strstr(tape, "-secret") == NULL);
    const struct ran *r = ASSAY("cassette", "show", path_of("%s/sorry.yaml", tapes), "--json");
    CU_ASSERT_EQUAL(count_lines(r->out), 3); /* the run's, then the judge's two */
}

static void in_every_format(void)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        recorded(i);
    }
}

/* A rubric that comes later costs the judge alone: the server knows no other model. */
static void rubric_added(void)
{
    const char *dir = testing_dir();
    const char *set = rubric_set(dir, "");
    const char *tapes = path_of("%s/tapes", dir), *none = path_of("%s/none", dir);
    const char *bare =
        write_text(dir, "bare.yaml",
                   "version: 1\nname: bare\ntasks:\n"
                   "- {id: sorry, prompt: My parcel is lost.}\n"
                   "- {id: date, prompt: When?}\n- {id: plain, prompt: What now?}\n");
    struct server s;
    SERVE(&s, "--script", path_of("%s/s.script.yaml", dir));
    struct program_options o = {.more = s.more};
    CHECK_STATUS(
        ASSAY_WITH(&o, "eval", bare, "--record", tapes, "--model", "gpt-4.1", "--out", none), 0);
    CHECK_STATUS(server_end(&s), 0);
    const char *out = path_of("%s/miss", dir);
    const struct ran *r =
        ASSAY("eval", set, "--judge", "gpt-4.1-mini", "--replay", tapes, "--out", out);
    CHECK_STATUS(r, 3);
    CHECK_OUT(r, "1 passed, 0 failed, 2 errors");
    CHECK_OUT(r, "to record what is missing: assay eval --mode all --model gpt-4.1 --base-url ");
    CHECK_OUT(r, "with --mode new_episodes in place of --mode all only the judge is asked");
    SERVE(&s, "--script",
          write_text(testing_dir(), "judge.script.yaml", "version: 1\nrules:\n" RULES));
    o.more = s.more;
    r = ASSAY_WITH(&o, "eval", set, "--judge", "gpt-4.1-mini", "--record", tapes, "--mode", "once",
                   "--model", "gpt-4.1", "--out", path_of("%s/once", dir));
    CHECK_STATUS(r, 3);
    out = path_of("%s/added", dir);
    r = ASSAY_WITH(&o, "eval", set, "--judge", "gpt-4.1-mini", "--record", tapes, "--mode",
                   "new_episodes", "--model", "gpt-4.1", "--out", out);
    check_judged(r);
    CHECK_ERR(r, "recorded 2 cassettes");
    CHECK_STATUS(server_end(&s), 0);
    r = ASSAY("eval", set, "--judge", "gpt-4.1-mini", "--replay", tapes, "--strict", "--out",
              path_of("%s/again", dir));
    check_judged(r);
    CU_ASSERT(same_bytes(path_of("%s/results.jsonl", out), path_of("%s/again/results.jsonl", dir)));
}

/* A program under test: its conversations are its own, the judge is asked behind them. */
static void of_an_agent(void)
{
    static const char agent[] = "'" BUILD_DIR "/examples/example_agent'";
    const char *dir = testing_dir();
    const char *script =
        write_text(dir, "s.script.yaml",
                   "version: 1\nrules:\n"
                   "- when: {model: gpt-4.1-mini}\n"
                   "  reply: {text: '{\"pass\": true, \"reason\": \"It does.\"}',"
                   " usage: {input: 300, output: 10}}\n"
                   "- when: {last_tool: {absent: true}}\n"
                   "  reply: {calls: [{name: calculator, arguments: {expression: 42.4-38.2}}]}\n"
                   "- reply: {text: By 4.2 points.}\n");
    const char *set = write_text(dir, "set.yaml",
                                 "version: 1\nname: agents\n" JUDGE
                                 "tasks:\n- id: t\n  prompt: By how much did it fall?\n"
                                 "  fake: s.script.yaml\n"
                                 "  expect: {calls: {list: [calculator]},"
                                 " answer: {rubric: It names a number.}, limits: {steps: 2}}\n");
    const char *tapes = path_of("%s/tapes", dir), *live = path_of("%s/live", dir);
    const char *replayed = path_of("%s/replayed", dir), *fake = path_of("%s/fake", dir);
    const struct ran *r = ASSAY("eval", set, "--agent", agent, "--fake", "--out", fake);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "judge 0.000136 USD (1 rubric)");
    struct server s;
    SERVE(&s, "--script", script);
    r = ASSAY("eval", set, "--agent", agent, "--record", tapes, "--base-url",
              path_of("%s/v1", s.url), "--out", live);
    CHECK_STATUS(r, 0);
    CHECK_STATUS(server_end(&s), 0);
    r = ASSAY("eval", set, "--agent", agent, "--replay", tapes, "--strict", "--out", replayed);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "2 steps, 1 call");
    static const char *const files[] = {"results.jsonl", "traces/t.jsonl", "judge/t/1.jsonl"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        CU_ASSERT(
            same_bytes(path_of("%s/%s", live, files[i]), path_of("%s/%s", replayed, files[i])));
    }
    CU_ASSERT(strstr(read_text(path_of("%s/traces/t.jsonl", live), NULL), "rubric") == NULL);
}

/* ---- what goes wrong ---- */

/* A judge that never gives a verdict, one that does when it is told, one that fails. */
static void no_verdicts(void)
{
    static const struct {
        const char *steps; /* of the judge */
        int status;
        const char *part;
    } cases[] = {
        {"- reply: {text: I like it.}\n- reply: {text: 'Fine: {\"pass\": \"yes\"}'}\n", 4,
         "the judge j gave no verdict on the rubric \"It is good.\", asked twice: its first JSON "
         "object has no \"pass\" that is true or false (judge/t/1.jsonl of the run has what it "
         "said)"},
        {"- reply: {text: ''}\n- reply: {calls: [{name: pass, arguments: {}}]}\n", 4,
         "asked twice: it is empty, or calls a tool"},
        {"- reply: {text: I like it.}\n- reply: {text: '{\"pass\": true}'}\n", 0, "1 passed"},
        {"- reply: {text: I like it.}\n"
         "- expect: {last_user: {contains: there is no JSON object in it}}\n"
         "  reply: {text: '{\"pass\": false}'}\n",
         1, "rubric \"It is good.\" not met: it gave no reason (judge j)"},
        {"- reply: {text: '{\"pass\": true', stop: max_tokens}\n"
         "- reply: {text: '{\"pass\": true}'}\n",
         0, "1 passed"},
        {"- reply: {calls: [{name: pass, arguments: {}}]}\n- reply: {text: '{\"pass\": true}'}\n",
         0, "1 passed"},
        {"- fault: {status: 401}\n", 4,
         "the judge j could not be asked about the rubric \"It is good.\""},
        {"- expect: {last_user: never}\n  reply: {text: x}\n", 4, "judge.yaml"},
        {"- fault: {status: 503}\n- reply: {text: '{\"pass\": true}'}\n", 0, "1 passed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *dir = testing_dir();
        write_text(dir, "run.yaml", "version: 1\nsteps: [{reply: {text: Good.}}]\n");
        write_text(dir, "judge.yaml", path_of("version: 1\nsteps:\n%s", cases[i].steps));
        const char *set = write_text(dir, "set.yaml",
                                     "version: 1\nname: s\njudge: {model: j, fake: judge.yaml}\n"
                                     "tasks:\n- id: t\n  prompt: p\n  fake: run.yaml\n"
                                     "  expect: {answer: {rubric: It is good.}}\n");
        const struct ran *r = ASSAY("eval", set, "--fake", "--out", path_of("%s/out", dir));
        CHECK_STATUS(r, cases[i].status);
        CHECK_OUT(r, cases[i].part);
    }
}

static void nobody_there(void)
{
    const char *dir = testing_dir();
    const char *set = rubric_set(dir, "judge: {model: gpt-4.1-mini, provider: anthropic}\n");
    struct server s;
    SERVE(&s, "--script", path_of("%s/s.script.yaml", dir));
    const char *const more[] = {s.more[0], path_of("ANTHROPIC_BASE_URL=%s", loopback_refusing()),
                                NULL};
    struct program_options o = {.more = more};
    const char *out = path_of("%s/out", dir), *tapes = path_of("%s/tapes", dir);
    const struct ran *r = ASSAY_WITH(&o, "eval", set, "--model", "gpt-4.1", "--task", "date",
                                     "--record", tapes, "--out", out);
    CHECK_STATUS(r, 4);
    CHECK_OUT(r, "0 passed, 0 failed, 1 error");
    CHECK_OUT(r, "the judge gpt-4.1-mini could not be asked");
    CHECK_OUT(r, "date.failed.yaml");
    CHECK_STATUS(server_end(&s), 0);
}

/* The key of one provider is not shown to another. */
static void one_key_for_two(void)
{
    const char *dir = testing_dir();
    const char *set = rubric_set(dir, "judge: {model: gpt-4.1-mini, provider: anthropic}\n");
    const char *key = write_text(dir, "key", "sk-one\n"), *out = path_of("%s/out", dir);
    CU_ASSERT_EQUAL(chmod(key, 0600), 0);
    const struct ran *r = ASSAY("eval", set, "--model", "gpt-4.1", "--key-file", key, "--out", out);
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "--key-file holds the key of one provider");
    r = ASSAY("eval", set, "--model", "gpt-4.1", "--key-file", key, "--out", out, "--base-url",
              loopback_refusing(), "--task", "plain");
    CHECK_STATUS(r, 4);
}

/* A trial whose judge is being asked is not over: nothing of it is kept. */
static void interrupted(void)
{
    const char *dir = testing_dir();
    const char *set = rubric_set(dir, "judge: {model: gpt-4.1-mini, provider: anthropic}\n");
    struct server s;
    struct program_running running;
    struct loopback *judge = loopback_start(&loopback_hanging, 1);
    SERVE(&s, "--script", path_of("%s/s.script.yaml", dir));
    const char *const more[] = {s.more[0], path_of("ANTHROPIC_BASE_URL=%s", loopback_url(judge)),
                                NULL};
    struct program_options o = {.more = more};
    const char *out = path_of("%s/out", dir), *tapes = path_of("%s/tapes", dir);
    const char *const words[] = {"eval",     set,   "--model", "gpt-4.1", "--task", "date",
                                 "--record", tapes, "--out",   out,       NULL};
    program_start(words, &o, &running);
    loopback_wait_request(judge);
    kill(running.pid, SIGINT);
    const struct ran *r = program_wait(&running);
    CHECK_STATUS(r, 130);
    CHECK_OUT(r, "0 passed, 0 failed, 0 errors");
    CHECK_TEXT(read_text(path_of("%s/trials.jsonl", out), NULL), "");
    CU_ASSERT(access(path_of("%s/date.yaml", tapes), R_OK) != 0);
    CHECK_STATUS(server_end(&s), 0);
    loopback_stop(judge);
}

static void refused_before_anything_is_run(void)
{
    static const struct {
        const char *judge;
        const char *more;
        const char *error;
    } cases[] = {
        {"", NULL, "set.yaml:7:27: nobody judges this rubric: write `judge: MODEL` at the top"},
        {"judge: j\n", NULL, "set.yaml:3:8: with --fake a script plays the judge too: write"},
        {"", "--judge=j",
         "set.yaml:7:27: with --fake a script plays the judge too: write `judge: "},
        {"judge: {model: j, fake: none.yaml}\n", NULL, "none.yaml"},
        {"judge: {model: j, fake: set.yaml}\n", NULL, "set.yaml:"},
        {JUDGE, "--judge=", "--judge"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *dir = testing_dir(), *set = rubric_set(dir, cases[i].judge);
        const char *out = path_of("%s/out", dir);
        const struct ran *r = ASSAY("eval", set, "--fake", "--out", out, cases[i].more);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].error);
        CU_ASSERT(access(out, R_OK) != 0);
    }
}

/* ---- afterwards ---- */

static void scored_again(void)
{
    const char *dir = testing_dir(), *set = rubric_set(dir, JUDGE);
    const char *out = path_of("%s/out", dir), *copy = path_of("%s/copy", dir);
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--out", out), 1);
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--out", copy), 1);
    check_judged(ASSAY("score", out));
    same_judged_runs(out, copy);
    const char *changed =
        write_text(dir, "changed.yaml",
                   "version: 1\nname: rubrics\njudge: j\ntasks:\n"
                   "- {id: sorry, prompt: p, expect: {answer: {not: {rubric: It says sorry.}}}}\n"
                   "- {id: date, prompt: p, expect: {answer: {rubric: It names a day.}}}\n"
                   "- {id: plain, prompt: p, expect: {answer: {contains: Monday}}}\n");
    const struct ran *r = ASSAY("score", out, "--set", changed);
    CHECK_STATUS(r, 4);
    CHECK_OUT(r, "1 passed, 1 failed, 1 error\nwhy: answer 1 (rubric 1), error 1\n");
    CHECK_OUT(r,
              "rubric \"It says sorry.\" is met, and must not be: It does. (judge gpt-4.1-mini)");
    CHECK_OUT(r, "no verdict on the rubric \"It names a day.\" is in this run");
    r = ASSAY("compare", copy, out);
    CHECK_STATUS(r, 1);
}

static void joined(void)
{
    const char *dir = testing_dir(), *set = rubric_set(dir, JUDGE);
    const char *whole = path_of("%s/whole", dir), *both = path_of("%s/both", dir);
    const char *one = path_of("%s/1", dir), *two = path_of("%s/2", dir);
    ASSAY("eval", set, "--fake", "--out", whole);
    ASSAY("eval", set, "--fake", "--shard", "1/2", "--out", one);
    ASSAY("eval", set, "--fake", "--shard", "2/2", "--out", two);
    CHECK_STATUS(ASSAY("merge", one, two, "--out", both), 0);
    same_judged_runs(whole, both);
}

/* The run alone would stay below. */
static void budget(void)
{
    const char *dir = testing_dir(), *set = rubric_set(dir, JUDGE);
    const struct ran *r = ASSAY("eval", set, "--fake", "--jobs", "1", "--max-cost", "0.0005",
                                "--out", path_of("%s/out", dir));
    CHECK_STATUS(r, 1);
    CHECK_OUT(r,
              "stopped: 0.000512 USD are spent, --max-cost is 0.0005 USD; 2 of 3 trials were not "
              "started");
}

TESTS(rubric, {"rubrics_are_judged_by_a_script", scripted},
      {"rubrics_are_recorded_and_replayed_in_every_format", in_every_format},
      {"rubric_that_is_added_asks_the_judge_alone", rubric_added},
      {"rubrics_of_an_agent_are_judged_behind_it", of_an_agent},
      {"rubric_without_a_verdict_is_an_error", no_verdicts},
      {"judge_that_is_not_there_is_an_error", nobody_there},
      {"key_file_is_for_one_provider", one_key_for_two},
      {"trial_whose_judge_is_asked_can_be_interrupted", interrupted},
      {"rubric_that_cannot_be_judged_is_refused", refused_before_anything_is_run},
      {"rubrics_are_scored_again_by_their_verdicts", scored_again},
      {"shards_with_rubrics_are_joined", joined}, {"judges_count_for_the_budget", budget})
