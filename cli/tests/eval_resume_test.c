/* An evaluation that did not come to its end, from outside: what it says, and how it goes on. */
#include "ci/testing/testing.h"
#include "cli/tests/forty.h"
#include "cli/tests/model_server.h"
#include "cli/tests/program.h"
#include "kernel/drive/appender.h"
#include "kernel/drive/files.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int none[] = {0};
static const int two[] = {7, 23, 0};

static const char *in(const char *dir, const char *name)
{
    return path_of("%s/%s", dir, name);
}

/* The run as it was when n lines of its journal were there. */
static const char *cut_off(const char *whole, const char *name, size_t n)
{
    const char *dir = in(testing_dir(), name);
    const char *journal = read_text(in(whole, "trials.jsonl"), NULL);
    size_t at = 0;
    CU_ASSERT_FATAL(journal != NULL);
    for (size_t i = 0; i < n; i++) {
        at += strcspn(journal + at, "\n") + 1;
    }
    struct err e;
    CU_ASSERT_EQUAL_FATAL(dir_make(in(dir, "traces"), &e), 0);
    write_bytes(dir, "trials.jsonl", journal, at + 10);
    size_t bytes = 0;
    const char *manifest = read_text(in(whole, "manifest.json"), &bytes);
    write_bytes(dir, "manifest.json", manifest, bytes);
    return dir;
}

/* Stopped at its budget, gone on with under a higher one: four trials of 0.00112 USD reach 0.004.
 */
static void budget(void)
{
    const char *set = forty_tasks(two), *dir = testing_dir();
    const char *whole = in(dir, "whole"), *out = in(dir, "out");
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--jobs", "1", "--out", whole), 1);
    const struct ran *r =
        ASSAY("eval", set, "--fake", "--jobs", "1", "--max-cost", "0.004", "--out", out);
    CHECK_STATUS(r, 1);
    CHECK_ERR(r, path_of("assay: to go on: assay eval --resume %s --fake --jobs 1 --max-cost 0.004 "
                         "--out %s (with a higher --max-cost)",
                         set, out));
    r = ASSAY("eval", set, "--fake", "--resume", "--max-cost", "0.004", "--out", out);
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "4 passed, 0 failed, 0 errors");
    CHECK_OUT(r, "36 of 40 trials were not started");
    r = ASSAY("eval", set, "--fake", "--resume", "--max-cost", "0.0057", "--jobs", "1", "--out",
              out);
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "6 passed, 0 failed, 0 errors");
    r = ASSAY("eval", set, "--fake", "--resume", "--max-cost", "1", "--out", out);
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "38 passed, 2 failed, 0 errors");
    CU_ASSERT(r->err_n == 0);
    CU_ASSERT(same_bytes(in(whole, "results.jsonl"), in(out, "results.jsonl")));
    CU_ASSERT(same_bytes(in(whole, "manifest.json"), in(out, "manifest.json")));
    r = ASSAY("eval", set, "--fake", "--resume", "--out", out); /* nothing is left to do */
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "38 passed, 2 failed, 0 errors");
    CU_ASSERT(count_lines(read_text(in(out, "trials.jsonl"), NULL)) == 40);
}

/* The newest of the runs that nobody named. */
static void newest(void)
{
    const char *set = forty_tasks(none), *dir = testing_dir();
    struct program_options o = {.dir = dir};
    CHECK_STATUS(ASSAY_WITH(&o, "eval", set, "--fake", "--resume"), 0); /* it begins */
    CU_ASSERT(access(in(dir, "runs/forty/results.jsonl"), R_OK) == 0);
    CHECK_STATUS(ASSAY_WITH(&o, "eval", set, "--fake"), 0);
    unlink(in(dir, "runs/forty-2/results.jsonl"));
    CHECK_STATUS(ASSAY_WITH(&o, "eval", set, "--fake", "--resume"), 0);
    CU_ASSERT(
        same_bytes(in(dir, "runs/forty/results.jsonl"), in(dir, "runs/forty-2/results.jsonl")));
    CU_ASSERT(access(in(dir, "runs/forty-3"), F_OK) != 0);
}

/* What was scored again by another set stays so. */
static void scored_again(void)
{
    const char *set = forty_tasks(two), *dir = testing_dir(), *out = in(dir, "out");
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--out", out), 1);
    char text[65536];
    snprintf(text, sizeof text, "%s", read_text(set, NULL));
    char *at = strstr(text, "{sku: A-1}");
    CU_ASSERT_FATAL(at != NULL);
    memcpy(at, "{sku: A1 }", 10);
    write_text(path_of("%.*s", (int)(strrchr(set, '/') - set), set), strrchr(set, '/') + 1, text);
    CHECK_STATUS(ASSAY("score", out, "--set", set), 1);
    const char *scored = read_text(in(out, "results.jsonl"), NULL);
    const struct ran *r = ASSAY("eval", set, "--fake", "--resume", "--out", out);
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "37 passed, 3 failed");
    CHECK_TEXT(read_text(in(out, "results.jsonl"), NULL), scored);
    unlink(in(out, "results.jsonl"));
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--resume", "--out", out), 1);
    CHECK_TEXT(read_text(in(out, "results.jsonl"), NULL), scored);
}

/* A trial whose trace is gone is run again: nothing could be read of it. */
/* A trace that is gone, empty, or short of its last line or byte, as after a loss of power. */
static void lost_trace(void)
{
    const char *set = forty_tasks(none), *dir = testing_dir(), *out = in(dir, "out");
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--out", out), 0);
    const char *trace = read_text(in(out, "traces/t7.jsonl"), NULL);
    const char *results = read_text(in(out, "results.jsonl"), NULL);
    const size_t whole = strlen(trace);
    const size_t left[] = {0, 1, whole - 1, (size_t)(strstr(trace, "\"run_end\"") - trace) - 12};
    unlink(in(out, "traces/t7.jsonl"));
    for (size_t i = 0; i <= sizeof left / sizeof left[0]; i++) {
        CHECK_STATUS(ASSAY("eval", set, "--fake", "--resume", "--out", out), 0);
        CHECK_TEXT(read_text(in(out, "traces/t7.jsonl"), NULL), trace);
        CHECK_TEXT(read_text(in(out, "results.jsonl"), NULL), results);
        CU_ASSERT(count_lines(read_text(in(out, "trials.jsonl"), NULL)) == 41 + i);
        if (i < sizeof left / sizeof left[0]) {
            write_bytes(out, "traces/t7.jsonl", trace, left[i]);
        }
    }
}

/* Nobody writes a run that is being written. */
static void held(void)
{
    const char *set = forty_tasks(none), *out = in(testing_dir(), "out");
    struct appender *journal = NULL;
    struct err e;
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--out", out), 0);
    CU_ASSERT_EQUAL_FATAL(appender_open(in(out, "trials.jsonl"), APPEND_CONTINUE, &journal, &e), 0);
    const struct ran *r = ASSAY("score", out);
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "another run is writing it");
    r = ASSAY("eval", set, "--fake", "--resume", "--out", out);
    CHECK_STATUS(r, 4);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "another run is writing it");
    r = ASSAY("eval", set, "--fake", "--out", out);
    CHECK_STATUS(r, 2);
    CU_ASSERT_EQUAL(appender_close(journal, &e), 0);
}

/* The kill came between the recording's name and the journal's line, or before the name. */
static void recorded(void)
{
    const char *dir = testing_dir(), *tapes = in(dir, "tapes"), *whole = in(dir, "whole");
    const char *set = write_text(dir, "set.yaml",
                                 "version: 1\nname: tapes\ntasks:\n"
                                 "- {id: a, prompt: p, expect: {answer: {contains: So}}}\n"
                                 "- {id: b, prompt: q, expect: {answer: {contains: So}}}\n"
                                 "- {id: c, prompt: r, expect: {answer: {contains: So}}}\n");
    struct server s;
    SERVE(&s, "--script",
          write_text(dir, "s.script.yaml", "version: 1\nrules:\n- reply: {text: So be it.}\n"));
    const char *url = path_of("%s/v1", s.url);
#define RECORD "eval", set, "--record", tapes, "--model", "m", "--base-url", url
    CHECK_STATUS(ASSAY(RECORD, "--jobs", "1", "--out", whole), 0);
    const char *cut = cut_off(whole, "cut", 1);
    size_t n = 0;
    const char *tape = read_text(in(tapes, "c.yaml"), &n);
    unlink(in(tapes, "c.yaml"));
    write_bytes(tapes, "c.failed.yaml", tape, n / 2);
    const struct ran *r = ASSAY(RECORD, "--resume", "--out", cut);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "3 passed");
    CHECK_ERR(r, "recorded 1 cassette into");
    CHECK_STATUS(server_end(&s), 0);
    CU_ASSERT(access(in(tapes, "c.failed.yaml"), F_OK) != 0);
    CHECK_STATUS(ASSAY("eval", set, "--replay", tapes, "--strict", "--out", in(dir, "replayed")),
                 0);
    CU_ASSERT(same_bytes(in(cut, "results.jsonl"), in(dir, "replayed/results.jsonl")));
    r = ASSAY("eval", set, "--replay", tapes, "--resume", "--out", cut);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "\"source\" is \"record\" there and \"replay\" here");
}

/* A shard that was cut off is gone on with, and joins the others. */
static void shards(void)
{
    const char *set = forty_tasks(none), *dir = testing_dir(), *whole = in(dir, "whole");
    const char *one = in(dir, "one"), *other = in(dir, "two"), *joined = in(dir, "joined");
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--jobs", "1", "--out", whole), 0);
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--shard", "1/2", "--out", one), 0);
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--shard", "2/2", "--out", other), 0);
    const char *cut = cut_off(one, "cut", 5);
    const struct ran *r = ASSAY("eval", set, "--fake", "--shard", "2/2", "--resume", "--out", cut);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "\"shard\" is \"1/2\" there and \"2/2\" here");
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--shard", "1/2", "--resume", "--out", cut), 0);
    CU_ASSERT(same_bytes(in(one, "results.jsonl"), in(cut, "results.jsonl")));
    /* the traces of what was kept are not in this copy: they are those of the shard */
    CHECK_STATUS(ASSAY("merge", one, other, "--out", joined), 0);
    CU_ASSERT(same_bytes(in(whole, "results.jsonl"), in(joined, "results.jsonl")));
    CU_ASSERT(same_bytes(in(whole, "manifest.json"), in(joined, "manifest.json")));
}

static void interrupted(void)
{
    const char *dir = testing_dir(), *out = in(dir, "out"), *started = in(dir, "started");
    const char *set = write_text(
        dir, "set.yaml",
        path_of("version: 1\nname: slow\ndefaults: {tools: [{name: wait, description: w, "
                "parameters: {type: object, properties: {}}, "
                "command: [sh, -c, 'echo > \"%s\"; exec sleep 100']}]}\n"
                "tasks: [{id: a, prompt: p, fake: s.yaml}]\n",
                started));
    write_text(dir, "s.yaml", "version: 1\nsteps: [{reply: {calls: [{name: wait}]}}]\n");
    struct program_running p;
    const char *const words[] = {"eval", set, "--fake", "--out", out, NULL};
    program_start(words, NULL, &p);
    program_await_file(&p, started);
    kill(p.pid, SIGINT);
    const struct ran *r = program_wait(&p);
    CHECK_STATUS(r, 130);
    CHECK_ERR(r,
              path_of("interrupted; to go on: assay eval --resume %s --fake --out %s\n", set, out));
}

TESTS(eval_resume, {"resume_goes_on_behind_a_budget", budget},
      {"resume_takes_the_newest_run", newest}, {"resume_keeps_what_was_scored_again", scored_again},
      {"resume_runs_again_what_lost_its_trace", lost_trace},
      {"resume_and_score_leave_a_run_that_is_written", held},
      {"resume_goes_on_with_a_recording", recorded}, {"resume_goes_on_with_a_shard", shards},
      {"an_interrupted_run_says_how_to_go_on", interrupted})
