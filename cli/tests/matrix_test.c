/* Each task with several models, at several providers: live, recorded, replayed, in shards. */
#include "ci/testing/testing.h"
#include "cli/tests/model_server.h"
#include "cli/tests/program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Two tasks; a model at two providers, and another one. */
static const char set_text[] =
    "version: 1\nname: matrix\n"
    "models: [{model: m/1, provider: openai}, {model: m/1, provider: anthropic}, .n]\n"
    "tasks:\n"
    "- {id: a, tags: [x, y], prompt: p, expect: {answer: {contains: So}}}\n"
    "- {id: b, tags: [x], prompt: q, expect: {answer: {contains: So}}}\n";

static const char *const labels[] = {"m/1@openai", "m/1@anthropic", ".n"};
static const char *const folders[] = {"m_1_openai", "m_1_anthropic", "_n"};

static const char *matrix_set(const char *dir)
{
    return write_text(dir, "set.yaml", set_text);
}

struct matrix {
    struct server server;
    const char *more[3];
};

/* A server that says the same to all, under both providers' variables. */
static void serve(struct matrix *m)
{
    SERVE(&m->server, "--script",
          write_text(
              testing_dir(), "s.script.yaml",
              "version: 1\nrules:\n- reply: {text: So be it., usage: {input: 10, output: 5}}\n"));
    m->more[0] = m->server.more[0];
    m->more[1] = path_of("ANTHROPIC_BASE_URL=%s", m->server.url);
    m->more[2] = NULL;
}

/* Whether `text` has a line for each task, model and trial, in this order. */
static void check_order(const char *text, int trials)
{
    for (int task = 0; task < 2; task++) {
        for (int model = 0; model < 3; model++) {
            for (int trial = 1; trial <= trials; trial++) {
                const char *head = path_of("{\"task\":\"%c\",\"trial\":%d,\"model\":\"%s\",",
                                           'a' + task, trial, labels[model]);
                if (text == NULL || strncmp(text, head, strlen(head)) != 0) {
                    FAIL("expected %s, got %.100s", head, text == NULL ? "nothing" : text);
                    return;
                }
                text = strchr(text, '\n');
                text = text == NULL ? NULL : text + 1;
            }
        }
    }
    CU_ASSERT(text != NULL && *text == '\0');
}

static bool same_files(const char *a, const char *b, const char *name)
{
    return same_bytes(path_of("%s/%s", a, name), path_of("%s/%s", b, name));
}

static void recorded_and_replayed(void)
{
    const char *dir = testing_dir(), *set = matrix_set(dir);
    const char *tapes = path_of("%s/tapes", dir), *recorded = path_of("%s/recorded", dir);
    const char *replayed = path_of("%s/replayed", dir);
    struct matrix m;
    serve(&m);
    struct program_options o = {.more = m.more};
    const struct ran *r =
        ASSAY_WITH(&o, "eval", set, "--record", tapes, "--trials", "2", "--out", recorded);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "12 passed, 0 failed, 0 errors");
    CHECK_ERR(r, "recorded 12 cassettes");
    CHECK_STATUS(server_end(&m.server), 0);
    const char *results = read_text(path_of("%s/results.jsonl", recorded), NULL);
    check_order(results, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(results, "\"cassette\":\""));
    for (int i = 0; i < 3; i++) {
        CU_ASSERT(access(path_of("%s/%s/b.2.yaml", tapes, folders[i]), R_OK) == 0);
        CU_ASSERT(access(path_of("%s/traces/%s--a.1.jsonl", recorded, folders[i]), R_OK) == 0);
    }
    CU_ASSERT_PTR_NOT_NULL(
        strstr(read_text(path_of("%s/m_1_anthropic/a.yaml", tapes), NULL), "/v1/messages"));
    r = ASSAY("eval", set, "--replay", tapes, "--trials", "2", "--strict", "--out", replayed);
    CHECK_STATUS(r, 0);
    CU_ASSERT(same_files(recorded, replayed, "results.jsonl"));
    CU_ASSERT(same_files(recorded, replayed, "traces/m_1_anthropic--b.2.jsonl"));
    r = ASSAY("report", replayed);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "m/1@anthropic");
    CHECK_STATUS(ASSAY("compare", recorded, replayed), 0);
    CHECK_STATUS(ASSAY("score", replayed), 0);
    CU_ASSERT(same_files(recorded, replayed, "results.jsonl"));
}

/* One of the models, by its name or its label, is found in its folder. */
static void one_of_them(void)
{
    const char *dir = testing_dir(), *set = matrix_set(dir), *tapes = path_of("%s/tapes", dir);
    struct matrix m;
    serve(&m);
    struct program_options o = {.more = m.more};
    CHECK_STATUS(ASSAY_WITH(&o, "eval", set, "--record", tapes, "--out", path_of("%s/r", dir)), 0);
    CHECK_STATUS(server_end(&m.server), 0);
    const struct {
        const char *model;
        const char *counts;
    } cases[] = {{".n", "2 passed"}, {"m/1", "4 passed"}, {"m/1@anthropic", "2 passed"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = ASSAY("eval", set, "--replay", tapes, "--model", cases[i].model,
                                    "--out", path_of("%s/one%zu", dir, i));
        CHECK_STATUS(r, 0);
        CHECK_OUT(r, cases[i].counts);
    }
    const char *alone = path_of("%s/alone", dir);
    CHECK_STATUS(ASSAY("eval", set, "--replay", tapes, "--model", "m/1", "--provider", "anthropic",
                       "--out", alone),
                 0);
    CU_ASSERT(same_files(path_of("%s/one2", dir), alone, "results.jsonl"));
    CU_ASSERT(strstr(read_text(path_of("%s/results.jsonl", alone), NULL),
                     "\"model\":\"m/1@anthropic\"") != NULL);
    const char *bare =
        write_text(dir, "bare.yaml", "version: 1\nname: bare\ntasks: [{id: a, prompt: p}]\n");
    const struct ran *r = ASSAY("eval", bare, "--replay", tapes, "--out", path_of("%s/b", dir));
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r,
              "only folders of models in it: _n, m_1_anthropic, m_1_openai; name one, or several,"
              " as in --model _n");
    CHECK_STATUS(ASSAY("eval", bare, "--replay", tapes, "--model", "_n", "--match", "order",
                       "--out", path_of("%s/b", dir)),
                 0);
    unlink(path_of("%s/_n/b.yaml", tapes));
    r = ASSAY("eval", set, "--replay", tapes, "--task", "a,b", "--out", path_of("%s/miss", dir));
    CHECK_STATUS(r, 3);
    CHECK_OUT(r, "_n/b.yaml is not there");
    CHECK_OUT(r,
              path_of("to record it: assay eval --mode all --model .n --task b %s --record", set));
}

/* Scripts name their models: --model says others, each of which plays all tasks. */
static void fakes(void)
{
    const char *dir = testing_dir(), *set = matrix_set(dir);
    const char *script =
        write_text(dir, "f.script.yaml", "version: 1\nmodel: f\nsteps: [{reply: {text: So.}}]\n");
    const struct ran *r =
        ASSAY("eval", set, "--fake", "--script", script, "--out", path_of("%s/one", dir));
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "2 passed");
    const char *out = path_of("%s/three", dir);
    r = ASSAY("eval", set, "--fake", "--script", script, "--model", "x", "--model", "y", "--model",
              "x", "--out", out);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "4 passed");
    CU_ASSERT(access(path_of("%s/traces/y--b.jsonl", out), R_OK) == 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(read_text(path_of("%s/manifest.json", out), NULL), "\"model\":\t\"y\""));
    r = ASSAY("eval", set, "--fake", "--script", script, "--model", "x", "--model", "X", "--out",
              path_of("%s/four", dir));
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "the models x and X would share file names (x, X; capitals do not count)");
}

/* Letters of all scripts stay in the names of files; what a file or a terminal may not hold does
 * not, nor what names always had a _ for. */
static void names_of_files(void)
{
    static const struct {
        const char *model;
        const char *file;
    } cases[] = {{"\xE9\x80\x9A\xE4\xB9\x89", "\xE9\x80\x9A\xE4\xB9\x89"},
                 {"\xE5\x8D\x83\xE9\x97\xAE", "\xE5\x8D\x83\xE9\x97\xAE"},
                 {"caf\xC3\xA9/1:7b", "caf\xC3\xA9_1_7b"},
                 {".\xC3\xA9", "_\xC3\xA9"},
                 {"a\xE2\x80\xAE\xC2\x85z", "a_____z"},
                 {"openai/gpt-4o", "openai_gpt-4o"},
                 {"qwen2.5:7b", "qwen2.5_7b"}};
    const char *dir = testing_dir(), *set = matrix_set(dir), *out = path_of("%s/out", dir);
    const char *script =
        write_text(dir, "f.script.yaml", "version: 1\nsteps: [{reply: {text: So.}}]\n");
    enum { N = sizeof cases / sizeof cases[0] };
    const char *argv[8 + 2 * N + 1] = {"eval", set, "--fake", "--script", script, "--out", out};
    for (size_t i = 0; i < N; i++) {
        argv[7 + 2 * i] = "--model";
        argv[8 + 2 * i] = cases[i].model;
    }
    CHECK_STATUS(program_run(argv, NULL), 0);
    for (size_t i = 0; i < N; i++) {
        CU_ASSERT(access(path_of("%s/traces/%s--b.jsonl", out, cases[i].file), R_OK) == 0);
    }
    CHECK_STATUS(ASSAY("score", out), 0);
    CHECK_STATUS(ASSAY("report", out), 0);
}

/* What is told of a trial names its model, and what is told of a run is told of each. */
static void told_apart(void)
{
    const char *dir = testing_dir(), *set = matrix_set(dir), *out = path_of("%s/out", dir);
    const char *script = write_text(dir, "f.script.yaml",
                                    "version: 1\nrules:\n- when: {model: y}\n  reply: {text: No.}\n"
                                    "- reply: {text: So.}\n");
    const struct ran *r = ASSAY("eval", set, "--fake", "--script", script, "--model", "x",
                                "--model", "y", "--out", out);
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "task  model  outcome  made/expected");
    CHECK_OUT(r, "\na     x      pass ");
    CHECK_OUT(r, "\na     y      fail ");
    CHECK_OUT(r, "\nfail a (y) (");
    r = ASSAY("report", out, "--format", "markdown");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "/out | 2/4 |");
    CHECK_OUT(r, "/out (x) | 2/2 |");
    CHECK_OUT(r, "/out (y) | 0/2 |");
    CHECK_OUT(r, "**a (y)** (");
    CHECK_OUT(r, "/out (x) | 100.0% |");
    CHECK_OUT(r, "/out (y) | 0.0% |");
}

/* The dearer model comes first in both pictures, by its name, so that it has one colour. */
static void drawn_alike(void)
{
    const char *dir = testing_dir(), *set = matrix_set(dir), *out = path_of("%s/out", dir);
    const char *script = write_text(dir, "f.script.yaml",
                                    "version: 1\nrules:\n- reply: {text: So., usage: {input: 1000, "
                                    "output: 100}}\n");
    const char *prices =
        write_text(dir, "prices.yaml",
                   "version: 1\ntables:\n- currency: USD\n  models:\n"
                   "  - {match: x, input: 2, output: 10}\n  - {match: y, input: 1, output: 5}\n");
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--script", script, "--model", "x", "--model", "y",
                       "--prices", prices, "--out", out),
                 0);
    CHECK_STATUS(ASSAY("report", out, "--plots", "-o", out), 0); /* with gnuplot or without */
    const char *cost = read_text(path_of("%s/success-cost.dat", out), NULL);
    const char *x = strstr(cost, "\"x\"\n0.003000000 1.000000");
    const char *y = strstr(cost, "\"y\"\n0.001500000 1.000000");
    CU_ASSERT(x != NULL && y != NULL && x < y);
    const char *times = read_text(path_of("%s/latency.dat", out), NULL);
    CU_ASSERT(strncmp(times, "\"x\"\n", 4) == 0 && strstr(times, "\n\"y\"\n") != NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(read_text(path_of("%s/latency.gp", out), NULL), "800,460 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(read_text(path_of("%s/success-cost.gp", out), NULL), "800,480 "));
}

static void shards(void)
{
    const char *dir = testing_dir(), *set = matrix_set(dir);
    const char *script =
        write_text(dir, "f.script.yaml", "version: 1\nmodel: f\nsteps: [{reply: {text: So.}}]\n");
    const char *whole = path_of("%s/whole", dir), *joined = path_of("%s/joined", dir);
    const char *parts[2] = {path_of("%s/p1", dir), path_of("%s/p2", dir)};
#define EVAL_TWO                                                                                   \
    "eval", set, "--fake", "--script", script, "--model", "x", "--model", "y", "--trials", "2"
    CHECK_STATUS(ASSAY(EVAL_TWO, "--jobs", "1", "--out", whole), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(ASSAY(EVAL_TWO, "--shard", path_of("%d/2", i + 1), "--out", parts[i]), 0);
    }
    CHECK_STATUS(ASSAY("merge", parts[1], parts[0], "--out", joined), 0);
    CU_ASSERT(same_files(whole, joined, "manifest.json"));
    CU_ASSERT(same_files(whole, joined, "results.jsonl"));
    CU_ASSERT(same_files(whole, joined, "trials.jsonl"));
    CU_ASSERT(same_files(whole, joined, "traces/y--b.2.jsonl"));
}

static void no_model(void)
{
    const char *dir = testing_dir();
    const char *set =
        write_text(dir, "bare.yaml", "version: 1\nname: bare\ntasks: [{id: a, prompt: p}]\n");
    const struct ran *r = ASSAY("eval", set, "--out", path_of("%s/out", dir));
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "no model is named: give --model NAME, set MODEL, or name the models");
    CHECK_ERR(r, ". --replay DIR needs none, nor does --fake, which lets the tasks' scripts play");
    r = ASSAY("eval", set, "--model", "", "--out", path_of("%s/out", dir));
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "--model wants a value");
    const char *const more[] = {"MODEL=a\xff", NULL};
    const struct program_options o = {.more = more};
    r = ASSAY_WITH(&o, "eval", set, "--base-url", "http://127.0.0.1:1", "--out",
                   path_of("%s/out", dir));
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "MODEL is not UTF-8");
}

static void filters(void)
{
    const char *dir = testing_dir(), *set = matrix_set(dir);
    const char *script =
        write_text(dir, "f.script.yaml", "version: 1\nsteps: [{reply: {text: So.}}]\n");
    const struct {
        const char *one, *two;
        const char *counts; /* NULL = an error */
        const char *error;
    } cases[] = {{"x", NULL, "2 passed", NULL},
                 {"y,x", NULL, "2 passed", NULL},
                 {"x", "y", "1 passed", NULL},
                 {"!y", NULL, "1 passed", NULL},
                 {"x,!y", NULL, "1 passed", NULL},
                 {"y", "!x", NULL, "no task fits --filter y and !x; the tags there: x, y"},
                 {"x", "!z", NULL, "no task has the tag z; the tags there: x, y"},
                 {"x,,y", NULL, NULL, "--filter wants tags with commas"},
                 {"!", NULL, NULL, "--filter wants tags with commas"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *out = path_of("%s/out%zu", dir, i);
        const char *more = cases[i].two == NULL ? NULL : "--filter";
        const struct ran *r = ASSAY("eval", set, "--fake", "--script", script, "--out", out,
                                    "--filter", cases[i].one, more, cases[i].two);
        CHECK_STATUS(r, cases[i].counts == NULL ? 2 : 0);
        if (cases[i].counts != NULL) {
            CHECK_OUT(r, cases[i].counts);
        } else {
            CHECK_ONE_LINE(r);
            CHECK_ERR(r, cases[i].error);
        }
    }
}

TESTS(matrix, {"models_of_a_set_are_recorded_and_replayed", recorded_and_replayed},
      {"models_are_found_in_their_folders", one_of_them},
      {"models_of_the_command_line_play_each_script", fakes},
      {"models_name_files_in_all_scripts", names_of_files},
      {"models_are_told_apart_in_reports", told_apart},
      {"models_have_one_colour_in_both_pictures", drawn_alike},
      {"models_merge_from_shards_to_the_same_bytes", shards},
      {"models_are_wanted_where_one_is_asked", no_model},
      {"filters_choose_tasks_by_their_tags", filters})
