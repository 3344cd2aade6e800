/* assay eval --agent, as a user has it. */
#include "ci/testing/testing.h"
#include "cli/tests/model_server.h"
#include "cli/tests/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGENTS  SOURCE_DIR "/examples/agents"
#define CLIENTS SOURCE_DIR "/build/clients"
#define AGENT   "'" BUILD_DIR "/examples/example_agent'"

/* ---- the examples ---- */

static const char *const example_traces[] = {"margin", "two-margins", "no-tool"};

static void same_runs(const char *a, const char *b)
{
    CU_ASSERT(same_bytes(path_of("%s/results.jsonl", a), path_of("%s/results.jsonl", b)));
    for (size_t i = 0; i < sizeof example_traces / sizeof example_traces[0]; i++) {
        const char *name = example_traces[i];
        CU_ASSERT(same_bytes(path_of("%s/traces/%s.jsonl", a, name),
                             path_of("%s/traces/%s.jsonl", b, name)));
    }
}

/* Judged with scripts, recorded through the proxy, and judged again in the replay, with the model
 * gone: all the same verdicts, and the same bytes as in the recording. */
static void judge_example(const char *command)
{
    struct server s;
    const char *dir = testing_dir();
    const char *set = AGENTS "/tasks.yaml";
    const char *fake = path_of("%s/fake", dir), *recorded = path_of("%s/recorded", dir);
    const char *replayed = path_of("%s/replayed", dir), *cassettes = path_of("%s/tapes", dir);
    const struct program_options here = {.dir = CLIENTS};
    const struct program_options usual = {.dir = dir};
    const struct program_options *o = strstr(command, CLIENTS) != NULL ? &here : &usual;
    const struct ran *r = ASSAY_WITH(o, "eval", set, "--agent", command, "--fake", "--out", fake);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "3 passed, 0 failed, 0 errors");
    CHECK_OUT(r, "5 steps, 3 calls, tokens 630 in, 97 out");
    SERVE(&s, "--script", AGENTS);
    struct program_options live = *o;
    const char *const more[] = {"OPENAI_API_KEY=sk-secret", NULL};
    live.more = more;
    r = ASSAY_WITH(&live, "eval", set, "--agent", command, "--record", cassettes, "--base-url",
                   path_of("%s/s/{task}/v1", s.url), "--out", recorded);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "3 passed, 0 failed, 0 errors");
    CHECK_STATUS(server_end(&s), 0);
    r = ASSAY_WITH(o, "eval", set, "--agent", command, "--replay", cassettes, "--strict", "--out",
                   replayed);
    CHECK_STATUS(r, 0);
    same_runs(recorded, replayed);
    r = ASSAY("score", replayed);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "3 passed, 0 failed, 0 errors");
    CHECK_STATUS(ASSAY("compare", recorded, replayed), 0);
    CHECK_STATUS(ASSAY("trace", "check", path_of("%s/traces/margin.jsonl", fake),
                       path_of("%s/traces/two-margins.jsonl", replayed)),
                 0);
    CU_ASSERT(strstr(read_text(path_of("%s/margin.yaml", cassettes), NULL), "sk-secret") == NULL);
}

static void in_c(void)
{
    judge_example(AGENT);
}

static bool has_clients(void)
{
    if (access(CLIENTS "/stamp", R_OK) != 0) {
        testing_skip("the SDKs are not there (ci/clients installs them)");
        return false;
    }
    return true;
}

static void in_python(void)
{
    if (has_clients()) {
        judge_example("'" CLIENTS "/py/bin/python' '" AGENTS "/agent.py'");
    }
}

/* Node looks for packages beside the program. */
static void in_node(void)
{
    if (has_clients()) {
        const char *copy = CLIENTS "/agent.mjs";
        write_text(CLIENTS, "agent.mjs", read_text(AGENTS "/agent.mjs", NULL));
        judge_example(path_of("node '%s'", copy));
    }
}

/* ---- what the program gets ---- */

static const char *one_task(const char *dir, const char *prompt, const char *expect)
{
    write_text(dir, "s.script.yaml", "version: 1\nsteps:\n- reply: {text: hello}\n");
    return write_text(dir, "set.yaml",
                      path_of("version: 1\nname: one\ndefaults: {budget: {seconds: 30}}\n"
                              "tasks:\n- {id: t, prompt: %s, fake: s.script.yaml, expect: %s}\n",
                              prompt, expect));
}

/* A program that asks no model leaves its script unplayed; that fails, and all else can be seen. */
static const char *answer_to(const char *command)
{
    const char *dir = testing_dir();
    const char *set = one_task(dir, "\"a 'b' \\\"c\\\" $(d); `e` \\\\ *\"", "{answer: xyz}");
    const struct ran *r =
        ASSAY("eval", set, "--fake", "--json", "--agent", command, "--out", path_of("%s/run", dir));
    CHECK_STATUS(r, 1);
    const char *at = strstr(r->out, "\"answer\":");
    return at == NULL ? "" : at;
}

static void prompt_reaches_it(void)
{
    static const char said[] = "\"answer\":\"a 'b' \\\"c\\\" $(d); `e` \\\\ *\",";
    static const char *const commands[] = {
        "cat",
        "printf %s {prompt}",
        "sh -c 'cat'",
        "sh -c 'printf %s \"$ASSAY_PROMPT\"'",
        "sh -c 'printf \"%s\" \"$1\"' sh {prompt}",
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const char *got = answer_to(commands[i]);
        if (strncmp(got, said, sizeof said - 1) != 0) {
            FAIL("%s: %s", commands[i], got);
        }
    }
    CU_ASSERT(strncmp(answer_to("sh -c 'echo $ASSAY_TASK $ASSAY_TRIAL ${OPENAI_API_KEY:+key}'"),
                      "\"answer\":\"t 1 key\",", 19) == 0);
    CU_ASSERT(strncmp(answer_to("echo 'one  two' \"it's\" a\\ b x{task}y"),
                      "\"answer\":\"one  two it's a b xty\",", 31) == 0);
}

static void commands_refused(void)
{
    static const struct {
        const char *command;
        const char *part;
    } cases[] = {
        {"", "--agent"},
        {"   ", "names no program"},
        {"nowhere-to-be-found x", "there is no program nowhere-to-be-found in PATH"},
        {"./nowhere x", "there is no program ./nowhere that can be run"},
        {"cat | cat", "| is for a shell"},
        {"cat > x", "> is for a shell"},
        {"echo $HOME", "$ is for a shell"},
        {"echo \"$HOME\"", "$ is for a shell"},
        {"echo 'x", "a quote ' is not closed"},
        {"echo \"x", "a quote \" is not closed"},
        {"sh -c 'echo {prompt}'", "$ASSAY_PROMPT"},
        {"/bin/bash -ec 'echo x{prompt}'", "$ASSAY_PROMPT"},
    };
    const char *set = one_task(testing_dir(), "hi", "{answer: xyz}");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = ASSAY("eval", set, "--fake", "--agent", cases[i].command);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
    }
    const char *turns = write_text(testing_dir(), "turns.yaml",
                                   "version: 1\nname: turns\ntasks:\n- {id: t, turns: [{user: a}, "
                                   "{user: b}], fake: s.yaml, expect: {answer: x}}\n");
    CHECK_ERR(ASSAY("eval", turns, "--fake", "--agent", "cat"),
              "turns.yaml:4:3: the task t has 2 turns: a program under --agent gets one prompt");
    const struct ran *r = ASSAY("eval", set, "--fake", "--agent", "cat", "--stream");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "--stream does not go with --agent");
}

/* ---- how it ends ---- */

enum { SLOW_S = 64 }; /* a machine on which a shell takes longer is none to test on */

static void failing_program(void)
{
    const char *dir = testing_dir();
    const char *run = path_of("%s/run", dir);
    const char *set = one_task(dir, "hi", "{answer: hello}");
    const struct ran *r = ASSAY("eval", set, "--fake", "--out", run, "--agent",
                                "sh -c 'echo first >&2; echo oh dear >&2; exit 7'");
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "expected completed, got program_failed: the program ended with status 7: oh dear "
                 "(stderr/t.txt)");
    const char *kept = read_text(path_of("%s/stderr/t.txt", run), NULL);
    CU_ASSERT(kept != NULL && strcmp(kept, "first\noh dear\n") == 0);
    CHECK_STATUS(ASSAY("trace", "check", path_of("%s/traces/t.jsonl", run)), 0);
    set = one_task(testing_dir(), "hi", "{status: program_failed}");
    r = ASSAY("eval", set, "--fake", "--agent", "sh -c 'kill -11 $$'");
    CHECK_STATUS(r, 0);
}

/* Runs the program until its limit, and returns what it said on stderr. */
static const char *until_limit(int limit_s, const char *command)
{
    const char *dir = testing_dir(), *run = path_of("%s/run", dir);
    const char *set = write_text(
        dir, "set.yaml",
        path_of("version: 1\nname: slow\ndefaults: {budget: {seconds: %d}}\n"
                "tasks:\n- {id: t, prompt: hi, fake: s.yaml, expect: {status: time_budget}}\n",
                limit_s));
    write_text(dir, "s.yaml", "version: 1\nrules:\n- when: {turn: 9}\n  reply: {text: x}\n");
    const struct ran *r = ASSAY("eval", set, "--fake", "--json", "--out", run, "--agent", command);
    CHECK_OUT(r, "\"status\":\"time_budget\"");
    const char *said = read_text(path_of("%s/stderr/t.txt", run), NULL);
    return said == NULL ? "" : said;
}

/* The limit ends the program and what it has started: that alone holds the pipe open. Where the
 * limit comes before the program has started it (on a busy machine), a longer one is for it. */
static void group_ends_at_limit(void)
{
    char c;
    const char *fifo = path_of("%s/held", testing_dir());
    CU_ASSERT_EQUAL_FATAL(mkfifo(fifo, 0600), 0);
    int fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const char *command =
                   path_of("sh -c 'exec 3> \"%s\"; sleep 3000 & echo started >&2; wait'", fifo),
               *said = "";
    for (int limit_s = 1; *said == '\0' && limit_s <= SLOW_S; limit_s *= 2) {
        said = until_limit(limit_s, command);
    }
    CHECK_TEXT(said, "started\n");
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    CU_ASSERT_EQUAL(poll(&ended, 1, PROGRAM_LIMIT_S * 1000), 1);
    CU_ASSERT_EQUAL(read(fd, &c, 1), 0);
    close(fd);
}

static void output_without_end(void)
{
    const char *set = one_task(testing_dir(), "hi", "{status: program_failed}");
    const struct ran *r = ASSAY("eval", set, "--fake", "--json", "--agent", "yes");
    CHECK_OUT(r, "\"status\":\"program_failed\"");
}

static void script_is_kept_to(void)
{
    const char *dir = testing_dir();
    const char *set = one_task(dir, "hi", "{answer: {contains: hello}}");
    write_text(dir, "s.script.yaml",
               "version: 1\nsteps:\n- expect: {last_user: bye}\n  reply: {text: hello}\n");
    const struct ran *r = ASSAY("eval", set, "--fake", "--agent", AGENT);
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "got script_mismatch");
}

static void asks_nobody(void)
{
    const struct ran *r = ASSAY("eval", one_task(testing_dir(), "hi", "{answer: hello}"), "--fake",
                                "--agent", "true");
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "the program asked no model");
}

/* What does not come through to us is no fault of the program's. */
static void asks_too_much(void)
{
    static const char ask[] = "curl -s -H 'Content-Length: 99999999' -d x "
                              "\"$OPENAI_BASE_URL/chat/completions\"; echo >&2 oh; exit %d\n";
    const char *dir = testing_dir();
    const char *set = one_task(dir, "hi", "{answer: hello}");
    if (access("/usr/bin/curl", X_OK) != 0) {
        testing_skip("curl is not there");
        return;
    }
    const char *loud = write_text(dir, "loud.sh", path_of(ask, 3));
    const char *quiet = write_text(dir, "quiet.sh", path_of(ask, 0));
    const struct ran *r = ASSAY("eval", set, "--fake", "--agent", path_of("sh '%s'", loud));
    CHECK_STATUS(r, 4);
    CHECK_OUT(r, "a request of more than the 64 MiB that one may have was refused; the program "
                 "ended with status 3: oh");
    r = ASSAY("eval", set, "--fake", "--agent", path_of("sh '%s'", quiet));
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "a request of more than the 64 MiB that one may have was refused");
    CU_ASSERT(strstr(r->out, "asked no model") == NULL);
}

/* ---- recordings ---- */

static void misses_are_errors(void)
{
    struct server s;
    const char *dir = testing_dir();
    const char *tapes = path_of("%s/tapes", dir);
    const char *agent = AGENT;
    const char *set = one_task(dir, "hi", "{answer: hello}");
    SERVE(&s, "--script", path_of("%s/s.script.yaml", dir));
    CHECK_STATUS(ASSAY("eval", set, "--agent", agent, "--record", tapes, "--base-url",
                       path_of("%s/v1", s.url), "--out", path_of("%s/a", dir)),
                 0);
    CHECK_STATUS(server_end(&s), 0);
    set = one_task(dir, "ho", "{answer: hello}");
    const struct ran *r =
        ASSAY("eval", set, "--agent", agent, "--replay", tapes, "--out", path_of("%s/b", dir));
    CHECK_STATUS(r, 3);
    CHECK_OUT(r, "recorded \"hi\", sent \"ho\"");
    CHECK_OUT(r, "--record");
    r = ASSAY("eval", set, "--agent", agent, "--replay", dir, "--out", path_of("%s/c", dir));
    CHECK_STATUS(r, 3);
    CHECK_OUT(r, "t.yaml is not there");
}

static void nobody_listens(void)
{
    const char *dir = testing_dir();
    const struct ran *r = ASSAY("eval", one_task(dir, "hi", "{answer: hello}"), "--agent", AGENT,
                                "--base-url", "http://127.0.0.1:1/v1");
    CHECK_STATUS(r, 4);
    CHECK_OUT(r, "error t");
}

/* A program that did not get as far as to ask leaves no recording in the way of the next try. */
static void nothing_recorded(void)
{
    const char *dir = testing_dir();
    const char *set = one_task(dir, "hi", "{answer: hello}");
    CHECK_STATUS(ASSAY("eval", set, "--agent", "false", "--record", path_of("%s/tapes", dir),
                       "--base-url", "http://127.0.0.1:1/v1", "--out", path_of("%s/run", dir)),
                 1);
    CU_ASSERT(access(path_of("%s/tapes/t.yaml", dir), F_OK) != 0);
}

/* Ctrl+C ends what runs, and the trial is as if it had not begun. */
static void interrupted(void)
{
    struct program_running p;
    const char *dir = testing_dir();
    const char *started = path_of("%s/started", dir), *run = path_of("%s/run", dir);
    const char *set = one_task(dir, "hi", "{answer: hello}");
    const char *const words[] = {"eval",
                                 set,
                                 "--fake",
                                 "--out",
                                 run,
                                 "--agent",
                                 path_of("sh -c 'echo > \"%s\"; exec sleep 300'", started),
                                 NULL};
    program_start(words, NULL, &p);
    program_await_file(&p, started);
    kill(p.pid, SIGINT);
    CHECK_STATUS(program_wait(&p), 130);
    CU_ASSERT_EQUAL(count_lines(read_text(path_of("%s/results.jsonl", run), NULL)), 0);
}

TESTS(agent, {"an_agent_in_c_is_judged_recorded_and_judged_again", in_c},
      {"an_agent_with_the_python_sdk_likewise", in_python},
      {"an_agent_with_the_node_sdk_likewise", in_node},
      {"the_prompt_reaches_the_program_whole", prompt_reaches_it},
      {"commands_that_cannot_be_are_refused", commands_refused},
      {"a_program_that_fails_fails_its_trial_and_its_stderr_is_kept", failing_program},
      {"the_limit_ends_the_program_and_what_it_started", group_ends_at_limit},
      {"output_without_end_is_cut_off", output_without_end},
      {"a_script_is_kept_to", script_is_kept_to},
      {"a_program_that_asks_nobody_is_told_of", asks_nobody},
      {"a_request_that_is_too_large_is_told_of", asks_too_much},
      {"what_is_not_recorded_is_an_error", misses_are_errors},
      {"an_endpoint_that_is_not_there_is_an_error", nobody_listens},
      {"a_program_that_failed_before_it_asked_leaves_no_recording", nothing_recorded},
      {"an_interrupt_ends_the_program", interrupted})
