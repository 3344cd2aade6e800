/* Going on from event logs that were cut off anywhere, forks of them, and verification. */
#include "ci/testing/testing.h"
#include "cli/tests/program.h"
#include "cli/tests/world.h"
#include "evals/resume.h"
#include "evals/rig.h"
#include "kernel/base/rng.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The results of calls that stand whole in the first n bytes. */
static size_t finished(const char *log, size_t n)
{
    size_t found = 0;
    for (const char *at = log; (at = strstr(at, "\"type\":\"tool_result\"")) != NULL; at++) {
        const char *newline = strchr(at, '\n');
        found += newline != NULL && (size_t)(newline - log) < n;
    }
    return found;
}

/* Whether a cut of the log at byte n is to be resumed to its end. The others, all in the middle of
 * a line, must only come to the same as a cut at the beginning of their line. */
static bool wanted(size_t n)
{
    const char *at = world.log + n;
    bool near = n >= 2 && (at[-1] == '\n' || at[-2] == '\n' || at[0] == '\n');
    return near || n % 16 == 0;
}

/* The cut leads to the log `want` and the stage of the last whole line. */
static void leads_to(const struct buf *want, enum kernel_stage stage)
{
    struct err e;
    struct resumed *from = NULL;
    struct appender *a = NULL;
    CU_ASSERT_EQUAL_FATAL(resumed_open(world.trace, SIZE_MAX, world.set, &from, &e), 0);
    CU_ASSERT(from->torn && kernel_stage(from->kernel) == stage);
    CU_ASSERT_EQUAL_FATAL(resumed_trace(from, world.trace, &a, &e), 0);
    CU_ASSERT_EQUAL(appender_close(a, &e), 0);
    resumed_free(from);
    size_t n = 0;
    const char *log = read_text(world.trace, &n);
    CU_ASSERT(n == want->n && memcmp(log, want->p, n) == 0);
}

/* What a cut at the beginning of a line leads to. */
static enum kernel_stage line_leads_to(struct buf *log)
{
    struct err e;
    struct resumed *from = NULL;
    CU_ASSERT_EQUAL_FATAL(resumed_open(world.trace, SIZE_MAX, world.set, &from, &e), 0);
    buf_clear(log);
    buf_add(log, from->log);
    buf_add(log, buf_str(&from->missing));
    enum kernel_stage stage = kernel_stage(from->kernel);
    resumed_free(from);
    return stage;
}

static void every_byte(void)
{
    world_begin();
    size_t resumed = 0;
    struct buf line = {0};
    enum kernel_stage stage = STAGE_WAITING;
    for (size_t n = 0; n <= world.n; n++) {
        unlink(world_path("runs"));
        write_bytes(world.dir, "t.jsonl", world.log, n);
        if (n > 0 && world.log[n - 1] == '\n') {
            stage = line_leads_to(&line);
        }
        if (line.n > 0 && !wanted(n)) {
            leads_to(&line, stage);
            continue;
        }
        if (!world_go_on(world.trace, world.script, world.set)) {
            CU_ASSERT(stage == STAGE_WAITING);
            continue;
        }
        resumed++;
        const char *log = read_text(world.trace, NULL);
        bool good = log_ends(log, "completed") && strstr(log, "\"answer\":\"Done.\"") != NULL &&
                    world_lines("counter") == ADDS &&
                    world_lines("runs") == RUNS - finished(world.log, n) &&
                    world_verifies(world.trace, world.set);
        if (!good) {
            FAIL("cut at %zu: %zu counted, %zu run, %zu finished before", n, world_lines("counter"),
                 world_lines("runs"), finished(world.log, n));
        }
    }
    CU_ASSERT(resumed > 150);
    buf_free(&line);
    world_end();
}

/* One byte is changed, each in turn: the log is refused, at that line or behind it. The last
 * newline alone makes it a log that was cut off. */
static void every_changed_byte(void)
{
    world_begin();
    char *bytes = mem_alloc(world.n);
    memcpy(bytes, world.log, world.n);
    uint32_t line = 1;
    for (size_t i = 0; i + 1 < world.n; i++) {
        struct err e = {.line = 0};
        size_t lines = 0;
        bool ended = false;
        bytes[i] ^= 1;
        write_bytes(world.dir, "t.jsonl", bytes, world.n);
        int rc = log_verify(world.trace, world.set, &lines, &ended, &e);
        if (rc == 0 || e.line < line) {
            FAIL("byte %zu of line %u: %d at %u, %s", i, line, rc, e.line, e.message);
        }
        bytes[i] ^= 1;
        line += bytes[i] == '\n';
    }
    free(bytes);
    world_end();
}

/* ---- by the program ---- */

static const struct ran *resume(void)
{
    return ASSAY("resume", world.trace, "--fake", world.script, "--tools", world.tools);
}

/* At the ends of all lines, one byte before and after. */
static void every_line(void)
{
    world_begin();
    const char *first_end = strchr(world.log, '\n');
    for (const char *at = strchr(first_end + 1, '\n'); at != NULL && at[1] != '\0';
         at = strchr(at + 1, '\n')) {
        for (size_t n = (size_t)(at - world.log); n < (size_t)(at - world.log) + 3; n++) {
            write_bytes(world.dir, "t.jsonl", world.log, n);
            const struct ran *r = resume();
            bool waits = n <= (size_t)(strstr(world.log, "\n{\"seq\":3") - world.log);
            CHECK_STATUS(r, waits ? 2 : 0);
            CHECK_TEXT(r->out, waits ? "" : "Done.\n");
            CHECK_ERR(r, waits                      ? "no user message"
                         : world.log[n - 1] != '\n' ? "cut off and is left out"
                                                    : "");
            CU_ASSERT_EQUAL(world_lines("counter"), ADDS);
        }
    }
    world_end();
}

static void nothing(void)
{
    world_begin();
    const struct ran *r = resume();
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "nothing to resume");
    CHECK_ERR(r, "give a prompt");
    CHECK_TEXT(read_text(world.trace, NULL), world.log);
    world_end();
}

/* A changed byte in the middle is told with its line, and the file stays as it is. */
static void damaged(void)
{
    world_begin();
    const char *at = strstr(world.log, "ool_start");
    const char *bytes = path_of("%.*sT%s", (int)(at - world.log - 1), world.log, at);
    write_text(world.dir, "t.jsonl", bytes);
    const struct ran *r = resume();
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, path_of("%s:5", world.trace));
    CHECK_TEXT(read_text(world.trace, NULL), bytes);
    world_end();
}

/* A new message goes on behind an end; the log keeps its first part byte for byte. */
static void another_message(void)
{
    world_begin();
    const char *more = write_text(world.dir, "more.yaml",
                                  "version: 1\nsteps:\n- {reply: {text: One}, repeat: 4}\n"
                                  "- {expect: {last_user: And now?}, reply: {text: Two.}}\n");
    const struct ran *r = ASSAY("resume", world.trace, "--fake", more, "--tools", world.tools,
                                "--budget", "steps=3", "And now?");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "Two.\n");
    const char *log = read_text(world.trace, NULL);
    CU_ASSERT(strncmp(log, world.log, world.n) == 0);
    CU_ASSERT(strstr(log, "\"budget\":{\"steps\":3,") != NULL);
    CU_ASSERT(world_verifies(world.trace, world.set));
    world_end();
}

static void forks(void)
{
    world_begin();
    size_t lines = count_lines(world.log), at = 0;
    const char *fork = world_path("f.jsonl");
    for (size_t n = 2; n < lines; n += 2) {
        const struct ran *r = ASSAY("fork", world.trace, "--at", path_of("%zu", n), "--trace", fork,
                                    "--fake", world.script, "--tools", world.tools);
        CHECK_STATUS(r, 0);
        CHECK_TEXT(r->out, "Done.\n");
        const char *log = read_text(fork, NULL);
        for (size_t i = 0; i < 2; i++) {
            at = (size_t)(strchr(world.log + at, '\n') - world.log) + 1;
        }
        CU_ASSERT(log != NULL && strncmp(log, world.log, at) == 0);
        CU_ASSERT(world_verifies(fork, world.set));
        CHECK_TEXT(read_text(world.trace, NULL), world.log);
    }
    const struct ran *r = ASSAY("fork", world.trace, "--at", path_of("%zu", lines + 1), "--trace",
                                fork, "--fake", world.script, "--tools", world.tools, "x");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, path_of("holds %zu whole lines", lines));
    r = ASSAY("fork", world.trace, "--at", "2", "--trace", world.trace, "--fake", world.script);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "name another file");
    CHECK_STATUS(ASSAY("fork", world.trace, "--trace", fork), 2);
    CHECK_STATUS(ASSAY("fork", world.trace, "--at", "2"), 2);
    world_end();
}

/* With another prompt, model, tools and budget. */
static void fork_elsewhere(void)
{
    world_begin();
    const char *other = write_text(
        world.dir, "o.yaml",
        "version: 1\nsteps:\n- {reply: {text: x}}\n"
        "- {expect: {last_user: Stop., model: m-2, tools: [now]}, reply: {text: Stopped.}}\n");
    const char *fork = world_path("f.jsonl");
    const struct ran *r =
        ASSAY("fork", world.trace, "--at", "6", "--trace", fork, "--fake", other, "--log-tools",
              world.tools, "--tools", "now", "--model", "m-2", "--budget", "steps=2", "Stop.");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "Stopped.\n");
    CU_ASSERT(world_verifies(fork, world.set));
    world_end();
}

/* The tool kills the program in the middle of its call; its effect was done, and stays done once.
 */
static void killed(void)
{
    const char *dir = testing_dir();
    world.dir = dir;
    const char *tools =
        write_text(dir, "tools.yaml",
                   "version: 1\ntools:\n- name: add\n  tier: write\n  idempotent: true\n"
                   "  command: [sh, -c, \"mkdir done.$ASSAY_REQUEST_ID 2>&- && echo x >> counter; "
                   "echo x >> runs; mkdir killed 2>&- && kill -9 `cat pid`; echo counted\"]\n");
    const char *script = path_of("%s/s.yaml", dir);
    const char *trace = path_of("%s/t.jsonl", dir);
    struct program_options shell = {.program = "/bin/sh"};
    const char *command =
        path_of("sh -c 'echo $$ >\"%s/pid\"; exec \"%s/assay\" run --fake \"%s\" --tools \"%s\" "
                "--trace \"%s\" go'; test $? = 137",
                dir, BUILD_DIR, script, tools, trace);
    write_text(dir, "s.yaml",
               "version: 1\nsteps:\n- reply: {calls: [{id: c1, name: add}]}\n"
               "- reply: {text: Done.}\n");
    CHECK_STATUS(ASSAY_WITH(&shell, "-c", command), 0);
    CHECK_TEXT(event_types(read_text(trace, NULL)),
               "run_start user_message step_start llm_reply tool_start");
    const struct ran *r = ASSAY("resume", trace, "--fake", script, "--tools", tools);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "Done.\n");
    CU_ASSERT_EQUAL(world_lines("counter"), 1);
    CU_ASSERT_EQUAL(world_lines("runs"), 2);
    CHECK_STATUS(ASSAY("trace", "verify", trace, "--tools", tools), 0);
}

/* A recording is taken up where the log ends. */
static void replays(void)
{
    const char *dir = testing_dir();
    const char *cassette = SOURCE_DIR "/cassettes/quickstart/margin-drop.yaml";
    const char *tools = SOURCE_DIR "/goldens/quickstart/tools.yaml";
    const char *run = path_of("%s/run", dir);
    CHECK_STATUS(ASSAY("eval", SOURCE_DIR "/goldens/quickstart.yaml", "--replay",
                       SOURCE_DIR "/cassettes/quickstart", "--task", "margin-drop", "--out", run),
                 0);
    size_t n = 0, cuts = 0;
    const char *trace = path_of("%s/traces/margin-drop.jsonl", run);
    const char *log = read_text(trace, &n);
    CU_ASSERT_FATAL(log != NULL);
    for (const char *at = strstr(log, "\n{\"seq\":3"); at != NULL && at[1] != '\0';
         at = strchr(at + 1, '\n')) {
        write_bytes(dir, "cut.jsonl", log, (size_t)(at - log) + 1);
        const char *cut = path_of("%s/cut.jsonl", dir);
        const struct ran *r =
            ASSAY("resume", cut, "--replay", cassette, "--tools", tools, "--strict");
        CHECK_STATUS(r, 0);
        CU_ASSERT(log_ends(read_text(cut, NULL), "completed"));
        cuts++;
    }
    CU_ASSERT(cuts > 5);
}

/* Rules that may be used so often were used by what the log holds already. */
static void rules(void)
{
    const char *dir = testing_dir(), *trace = path_of("%s/t.jsonl", dir);
    const char *script = write_text(
        dir, "r.yaml",
        "version: 1\nseed: 9\nrules:\n"
        "- {when: {last_tool: {absent: true}}, times: 1, fault: {status: 503}}\n"
        "- {when: {last_user: Go.}, times: 1, reply: {calls: [{name: now}], chunk: random}}\n"
        "- {when: {tools: [calculator, search_docs, now]}, times: 1, reply: {calls: [{name: "
        "calculator, arguments: {expression: 1+1}}]}}\n"
        "- {when: {last_tool: {contains: \"2\"}}, times: 1, reply: {text: Done.}}\n"
        "- {reply: {text: One too many.}}\n");
    CHECK_STATUS(ASSAY("run", "--fake", script, "--trace", trace, "Go."), 0);
    const char *whole = read_text(trace, NULL);
    CU_ASSERT(strstr(whole, "\"answer\":\"Done.\"") != NULL);
    const char *want = strstr(whole, "\"type\":\"run_end\"");
    for (const char *at = strstr(whole, "\n{\"seq\":3"); strchr(at + 1, '\n')[1] != '\0';
         at = strchr(at + 1, '\n')) {
        write_bytes(dir, "cut.jsonl", whole, (size_t)(at - whole) + 1);
        const char *cut = path_of("%s/cut.jsonl", dir);
        const struct ran *r = ASSAY("resume", cut, "--fake", script);
        CHECK_STATUS(r, 0);
        CHECK_TEXT(r->out, "Done.\n");
        const char *end = strstr(read_text(cut, NULL), "\"type\":\"run_end\"");
        const char *sum = strstr(want, "\"sum\"");
        CU_ASSERT(end != NULL && strncmp(end, want, (size_t)(sum - want)) == 0);
    }
}

/* The budget had ended the run at the line that the fork begins with. */
static void more_budget(void)
{
    const char *dir = testing_dir(), *trace = path_of("%s/t.jsonl", dir);
    const char *script = write_text(dir, "s.yaml",
                                    "version: 1\nsteps:\n- reply: {calls: [{name: now}]}\n"
                                    "- reply: {text: Done.}\n");
    const struct ran *r =
        ASSAY("run", "--fake", script, "--trace", trace, "--budget", "steps=1", "Go.");
    CHECK_STATUS(r, 1);
    const char *log = read_text(trace, NULL), *fork = path_of("%s/f.jsonl", dir);
    const char *at = path_of("%zu", count_lines(log) - 1);
    r = ASSAY("fork", trace, "--at", at, "--trace", fork, "--fake", script);
    CHECK_STATUS(r, 1);
    CHECK_ERR(r, "the run had ended");
    r = ASSAY("fork", trace, "--at", at, "--trace", fork, "--fake", script, "--budget", "steps=3");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "Done.\n");
    CHECK_STATUS(ASSAY("trace", "verify", fork), 0);
    CU_ASSERT(strncmp(read_text(fork, NULL), log, strlen(log)) == 0);
}

/* ---- generated scripts ---- */

static const char *const steps[] = {
    "- reply: {calls: [{name: calculator, arguments: {expression: \"%u+1\"}}]}\n",
    "- reply: {calls: [{name: calculator, arguments: {expression: \"%u+\"}}, {name: now}]}\n",
    ("- reply: {calls: [{name: search_docs, arguments: {query: \"q%u\"}}, {name: now}, {name: "
     "now}]}\n"),
    "- reply: {calls: [{name: nothing, arguments: {n: %u}}]}\n",
    "- reply: {calls: [{name: calculator, arguments: \"{\\\"expression\\\": \\\"%u\"}]}\n",
    "- reply: {calls: [{id: x, name: now}, {id: x, name: calculator, arguments: {x: %u}}]}\n",
    "- reply: {text: \"part %u\", stop: max_tokens}\n",
    "- reply: {text: \"wait %u\", stop: pause}\n",
    "- reply: {text: \"\\u4e2d %u\", usage: {input: 10, output: 5}, ttft_ms: 7}\n",
    "- reply: {text: null, reasoning: \"hm %u\", calls: [{name: now}]}\n",
    "- {fault: {status: 429, retry_after_s: 2}, repeat: 2} # %u\n",
    "- fault: {status: 503} # %u\n",
    "- fault: {kind: reset} # %u\n",
    "- fault: {kind: truncate, after_bytes: 100} # %u\n",
    "- fault: {kind: bad_json} # %u\n",
    "- reply: {calls: [{name: task_done, arguments: {answer: \"%u\"}}, {name: now}]}\n"};

static const char *generated(struct rng *rng, const char *dir)
{
    enum { N = sizeof steps / sizeof steps[0] };
    struct buf text = {0};
    buf_addz(&text, "version: 1\nsteps:\n");
    for (size_t n = 1 + rng_below(rng, 7), i = 0; i < n; i++) {
        size_t which = rng_below(rng, N);
        const char *mark = strstr(steps[which], "%u");
        buf_add(&text, (struct str){steps[which], (size_t)(mark - steps[which])});
        buf_fmt(&text, "%u%s", (unsigned)rng_below(rng, 4), mark + 2);
    }
    buf_addz(&text, "- reply: {text: The end.}\n");
    buf_char(&text, '\0');
    const char *path = write_text(dir, "g.yaml", text.p);
    buf_free(&text);
    return path;
}

/* Each run's log verifies; so does what a resume makes of it when it is cut somewhere. */
static void generated_runs(void)
{
    struct rng rng = rng_seeded(20261129);
    struct err e;
    bool seen[RUN_CANCELLED + 1] = {false};
    struct toolset *tools = toolset_new();
    const char *dir = testing_dir(), *trace = path_of("%s/g.jsonl", dir);
    const char *const names[] = {"calculator", "search_docs", "now", "task_done"};
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(toolset_add_builtin(tools, str_of(names[i]), &e), 0);
    }
    for (size_t i = 0; i < 1000; i++) {
        const char *script = generated(&rng, dir);
        struct rig_options o = {.path = script,
                                .tools = tools,
                                .prompt = STR("Go."),
                                .identity = STR("generated"),
                                .trace = trace,
                                .budget = BUDGET_DEFAULT};
        o.budget.steps = 1 + (int64_t)rng_below(&rng, 8);
        o.budget.calls = (int64_t)rng_below(&rng, 8);
        o.budget.seconds = 1 + (int64_t)rng_below(&rng, 6);
        o.budget.tokens = 100 + (int64_t)rng_below(&rng, 2000);
        seen[world_play(&o)] = true;
        bool good = world_verifies(trace, tools);
        for (size_t cut = 0; good && cut < 3; cut++) { /* what goes on may be cut off too */
            size_t n = 0;
            const char *log = read_text(trace, &n);
            write_bytes(dir, "g.jsonl", log, rng_below(&rng, (uint64_t)n));
            good = !world_go_on(trace, script, tools) || world_verifies(trace, tools);
        }
        if (!good) {
            FAIL("script %zu:\n%s\n%s", i, read_text(script, NULL), read_text(trace, NULL));
        }
    }
    size_t ways = 0;
    for (size_t i = 0; i < sizeof seen; i++) {
        ways += seen[i];
    }
    CU_ASSERT(ways >= 7); /* to end */
    toolset_free(tools);
}

TESTS(resume, {"a_log_cut_at_every_byte_is_resumed_to_the_same_end", every_byte},
      {"a_log_with_any_byte_changed_is_refused", every_changed_byte},
      {"a_log_cut_around_every_line_is_resumed_by_the_program", every_line},
      {"a_run_that_completed_has_nothing_to_resume", nothing},
      {"damage_in_the_middle_of_a_log_is_told_and_left_alone", damaged},
      {"a_new_message_goes_on_behind_the_end", another_message},
      {"forks_begin_with_the_lines_of_their_log", forks},
      {"a_fork_may_change_prompt_model_tools_and_budget", fork_elsewhere},
      {"a_run_killed_in_the_middle_of_a_call_is_resumed", killed},
      {"a_replay_goes_on_where_the_log_ends", replays},
      {"rules_were_used_as_often_as_the_log_tells", rules},
      {"a_fork_with_more_budget_goes_on_behind_a_spent_one", more_budget},
      {"logs_of_generated_scripts_verify_also_when_resumed", generated_runs})
