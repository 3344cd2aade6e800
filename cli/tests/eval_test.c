#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUICKSTART SOURCE_DIR "/goldens/quickstart.yaml"
#define CASSETTES  SOURCE_DIR "/cassettes/quickstart"

static bool recorded(void)
{
    if (access(CASSETTES, R_OK) != 0) {
        testing_skip("cassettes/quickstart is not there");
        return false;
    }
    return true;
}

/* Whether two run directories hold the same results and the same traces, byte for byte. */
static bool same_runs(const char *a, const char *b)
{
    size_t n_a = 0, n_b = 0;
    bool same = same_bytes(path_of("%s/results.jsonl", a), path_of("%s/results.jsonl", b));
    DIR *d = opendir(path_of("%s/traces", b));
    while (d != NULL && readdir(d) != NULL) {
        n_b++;
    }
    if (d != NULL) {
        closedir(d);
    }
    d = opendir(path_of("%s/traces", a));
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        n_a++;
        if (e->d_name[0] != '.' && !same_bytes(path_of("%s/traces/%s", a, e->d_name),
                                               path_of("%s/traces/%s", b, e->d_name))) {
            FAIL("traces/%s differs between %s and %s", e->d_name, a, b);
            same = false;
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return same && n_a == n_b && n_a > 2;
}

static const struct ran *replay(const char *program, const char *out, const char *jobs)
{
    struct program_options o = {.program = program};
    return ASSAY_WITH(&o, "eval", QUICKSTART, "--replay", CASSETTES, "--strict", "--jobs", jobs,
                      "--out", out);
}

/* The same bytes for every number of jobs and from every compiler. */
static void deterministic(void)
{
    static const char *const builds[] = {"/build/clang/assay", "/build/release/assay",
                                         "/build/dev/assay"};
    if (!recorded()) {
        return;
    }
    const char *dir = testing_dir();
    const char *first = path_of("%s/jobs1", dir), *second = path_of("%s/jobs64", dir);
    CHECK_STATUS(replay(NULL, first, "1"), 0);
    CHECK_STATUS(replay(NULL, second, "64"), 0);
    CU_ASSERT(same_runs(first, second));
    size_t compared = 0;
    for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
        const char *program = path_of("%s%s", SOURCE_DIR, builds[i]);
        if (access(program, X_OK) == 0) {
            const char *out = path_of("%s/build%zu", dir, i);
            CHECK_STATUS(replay(program, out, "7"), 0);
            CU_ASSERT(same_runs(first, out));
            compared++;
        }
    }
    if (compared == 0) {
        testing_skip("no other build is there to compare with");
    }
}

static void no_socket(void)
{
    const char *dir = testing_dir();
    const char *release = path_of("%s/build/release/assay", SOURCE_DIR);
    const char *program = access(release, X_OK) == 0 ? release : BUILD_DIR "/assay";
    const char *log = path_of("%s/strace.txt", dir);
    struct program_options o = {
        .program = "/usr/bin/strace",
        .more = (const char *const[]){"ASAN_OPTIONS=detect_leaks=0:exitcode=99", NULL}};
    if (!recorded()) {
        return;
    }
    if (access(o.program, X_OK) != 0 ||
        ASSAY_WITH(&o, "-f", "-o", "/dev/null", "/bin/true")->status != 0) {
        testing_skip("strace is not there or may not trace");
        return;
    }
    const struct ran *r =
        ASSAY_WITH(&o, "-f", "-e", "trace=socket,connect,bind", "-o", log, program, "eval",
                   QUICKSTART, "--replay", CASSETTES, "--out", path_of("%s/run", dir));
    CHECK_STATUS(r, 0);
    const char *calls = read_text(log, NULL);
    CU_ASSERT(calls != NULL && strstr(calls, "exited with 0") != NULL);
    CU_ASSERT(calls != NULL && strstr(calls, "AF_INET") == NULL);
}

/* The n-th line of a file as JSON, freed by the caller. */
static cJSON *line_of(const char *text, size_t n)
{
    for (; text != NULL && n > 0; n--) {
        text = strchr(text, '\n');
        text = text == NULL ? NULL : text + 1;
    }
    const char *end = text == NULL ? NULL : strchr(text, '\n');
    return end == NULL ? NULL : cJSON_ParseWithLength(text, (size_t)(end - text));
}

/* All that a fake run and the replay of its recording must agree in. */
static void check_agree(cJSON *a, cJSON *b)
{
    static const char *const keys[] = {"task",  "trial",  "outcome", "status", "scores",
                                       "calls", "answer", "steps",   "usage"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const cJSON *x = cJSON_GetObjectItem(a, keys[i]);
        const cJSON *y = cJSON_GetObjectItem(b, keys[i]);
        if (x == NULL || !cJSON_Compare(x, y, 1)) {
            char *xs = cJSON_PrintUnformatted(a), *ys = cJSON_PrintUnformatted(b);
            FAIL("%s differs:\n  %s\n  %s", keys[i], xs, ys);
            cJSON_free(xs);
            cJSON_free(ys);
        }
    }
}

static void agree(void)
{
    if (!recorded()) {
        return;
    }
    const char *dir = testing_dir();
    const char *fake = path_of("%s/fake", dir), *replayed = path_of("%s/replay", dir);
    CHECK_STATUS(ASSAY("eval", QUICKSTART, "--fake", "--out", fake), 0);
    CHECK_STATUS(replay(NULL, replayed, "16"), 0);
    const char *a = read_text(path_of("%s/results.jsonl", fake), NULL);
    const char *b = read_text(path_of("%s/results.jsonl", replayed), NULL);
    size_t n = a == NULL ? 0 : count_lines(a);
    CU_ASSERT(n >= 12 && b != NULL && count_lines(b) == n);
    for (size_t i = 0; i < n; i++) {
        cJSON *x = line_of(a, i), *y = line_of(b, i);
        check_agree(x, y);
        cJSON_Delete(x);
        cJSON_Delete(y);
    }
}

/* The journal holds what the results hold, in its own order; every trace ends. */
static void run_directory(void)
{
    const char *out = path_of("%s/run", testing_dir());
    CHECK_STATUS(ASSAY("eval", QUICKSTART, "--fake", "--out", out), 0);
    size_t results = 0, journal = 0, n = 0;
    const char *lines = read_text(path_of("%s/results.jsonl", out), &n);
    CU_ASSERT(json_lines(lines, &results) && results >= 12);
    const char *trials = read_text(path_of("%s/trials.jsonl", out), NULL);
    CU_ASSERT(json_lines(trials, &journal) && journal == results);
    for (size_t i = 0; i < results; i++) {
        cJSON *line = line_of(lines, i);
        const char *trace = cJSON_GetStringValue(cJSON_GetObjectItem(line, "trace"));
        const char *status = cJSON_GetStringValue(cJSON_GetObjectItem(line, "status"));
        CU_ASSERT(trace != NULL && status != NULL &&
                  log_ends(read_text(path_of("%s/%s", out, trace), NULL), status));
        cJSON_Delete(line);
    }
    cJSON *manifest = cJSON_Parse(read_text(path_of("%s/manifest.json", out), NULL));
    CU_ASSERT(cJSON_IsObject(manifest));
    cJSON_Delete(manifest);
}

static void json(void)
{
    const char *out = path_of("%s/run", testing_dir());
    const struct ran *r = ASSAY("eval", QUICKSTART, "--fake", "--json", "--out", out);
    CHECK_STATUS(r, 0);
    size_t n = 0;
    CU_ASSERT(json_lines(r->out, &n) && n >= 13);
    cJSON *last = line_of(r->out, n - 1);
    const cJSON *summary = cJSON_GetObjectItem(last, "summary");
    CU_ASSERT(cJSON_IsObject(summary));
    CU_ASSERT_EQUAL(cJSON_GetNumberValue(cJSON_GetObjectItem(summary, "errors")), 0);
    cJSON_Delete(last);
    const char *results = read_text(path_of("%s/results.jsonl", out), NULL);
    CU_ASSERT(results != NULL && strncmp(r->out, results, strlen(results)) == 0);
}

static const char answers_script[] = "version: 1\nsteps:\n- reply: {text: It is 5.}\n";

/* A set of one task whose expectation its script does not meet. */
static const char *failing_set(const char *dir)
{
    write_text(dir, "s.yaml", answers_script);
    return write_text(dir, "set.yaml",
                      "version: 1\nname: failing\ntasks:\n- id: sum\n  prompt: What is 2+2?\n"
                      "  fake: s.yaml\n  tags: [math]\n"
                      "  expect: {answer: {number: {value: 4}}}\n");
}

static void failing(void)
{
    const char *dir = testing_dir();
    const char *out = path_of("%s/run", dir);
    const struct ran *r = ASSAY("eval", failing_set(dir), "--fake", "--out", out);
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "0 passed, 1 failed, 0 errors");
    CHECK_OUT(r, "sum");
    CHECK_OUT(r, "It is 5.");                                           /* what came */
    CHECK_OUT(r, "4");                                                  /* what was expected */
    CHECK_OUT(r, path_of("assay trace show %s/traces/sum.jsonl", out)); /* where to look */
    CHECK_STATUS(ASSAY("trace", "show", path_of("%s/traces/sum.jsonl", out)), 0);
}

/* A task that its script plays wrongly says which file that is. */
static void off_script(void)
{
    static const char *const scripts[] = {
        "version: 1\nsteps:\n- expect: {last_user: hello}\n  reply: {text: '4'}\n",
        "version: 1\nsteps:\n- reply: {text: '4'}\n- reply: {text: '4'}\n"};
    for (size_t i = 0; i < 2; i++) {
        const char *dir = testing_dir();
        const char *set = failing_set(dir);
        write_text(dir, "s.yaml", scripts[i]);
        const struct ran *r = ASSAY("eval", set, "--fake", "--out", path_of("%s/run", dir));
        CHECK_STATUS(r, 1);
        CHECK_OUT(r, path_of("the script %s%s/s.yaml", i == 0 ? "is " : "", dir));
        CHECK_OUT(r, i == 0 ? "line 3" : "line 4");
        CHECK_OUT(r, i == 0 ? "\nwhy: answer 1, script_mismatch 1\n" : "\nwhy: script 1\n");
    }
}

static void missing(void)
{
    const char *dir = testing_dir();
    const char *set = failing_set(dir);
    const char *empty = testing_dir();
    const struct ran *r = ASSAY("eval", set, "--replay", empty, "--out", path_of("%s/run", dir));
    CHECK_STATUS(r, 3);
    CHECK_OUT(r, path_of("%s/sum.yaml", empty));
    CHECK_OUT(r, "assay eval ");
    CHECK_OUT(r, set);
    CHECK_OUT(r, path_of("--record %s", empty));
    CHECK_OUT(r, "0 passed, 0 failed, 1 error\nwhy: cassette_miss 1\n");
    r = ASSAY("eval", set, "--replay", path_of("%s/nowhere", dir), "--out", path_of("%s/b", dir));
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "--record");
    r = ASSAY("eval", set, "--replay", set, "--out", path_of("%s/c", dir));
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
}

/* A cassette of another session: the miss is shown with the first difference. */
static void stale(void)
{
    if (!recorded()) {
        return;
    }
    const char *dir = testing_dir(), *cassettes = testing_dir();
    size_t n = 0;
    const char *other = read_text(CASSETTES "/margin-drop.yaml", &n);
    write_bytes(cassettes, "sum.yaml", other, n);
    const struct ran *r =
        ASSAY("eval", failing_set(dir), "--replay", cassettes, "--out", path_of("%s/run", dir));
    CHECK_STATUS(r, 3);
    CHECK_OUT(r, "0 passed, 0 failed, 1 error");
    CHECK_OUT(r, "--record");
    CHECK_OUT(r, "2+2");
}

static void existing(void)
{
    const char *dir = testing_dir();
    const char *set = failing_set(dir);
    const char *out = path_of("%s/run", dir);
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--out", out), 1);
    size_t n = 0;
    const char *before = read_text(path_of("%s/results.jsonl", out), &n);
    const struct ran *r = ASSAY("eval", set, "--fake", "--out", out);
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "--out");
    CHECK_TEXT(read_text(path_of("%s/results.jsonl", out), NULL), before);
}

static void numbered(void)
{
    const char *dir = testing_dir();
    const char *set = failing_set(dir);
    struct program_options o = {.dir = dir};
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(ASSAY_WITH(&o, "eval", set, "--fake"), 1);
    }
    CU_ASSERT(same_runs(path_of("%s/runs/failing", dir), path_of("%s/runs/failing-2", dir)));
    CU_ASSERT(access(path_of("%s/runs/failing-3/results.jsonl", dir), R_OK) == 0);
}

static void trials(void)
{
    const char *dir = testing_dir();
    const char *out = path_of("%s/run", dir);
    CHECK_STATUS(ASSAY("eval", failing_set(dir), "--fake", "--trials", "3", "--out", out), 1);
    size_t n = 0;
    CU_ASSERT(json_lines(read_text(path_of("%s/results.jsonl", out), NULL), &n) && n == 3);
    CU_ASSERT(log_ends(read_text(path_of("%s/traces/sum.3.jsonl", out), NULL), "completed"));
}

static void filter(void)
{
    const char *dir = testing_dir();
    const char *set = failing_set(dir);
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--filter", "math", "--out", path_of("%s/a", dir)),
                 1);
    const struct ran *r =
        ASSAY("eval", set, "--fake", "--filter", "maths", "--out", path_of("%s/b", dir));
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "maths");
}

static void bad_sets(void)
{
    const char *dir = testing_dir();
    const char *set = failing_set(dir);
    const char *no_fake =
        write_text(dir, "no.yaml", "version: 1\nname: no\ntasks:\n- {id: a, prompt: A}\n");
    const char *lost =
        write_text(dir, "lost.yaml",
                   "version: 1\nname: lost\ntasks:\n- {id: a, prompt: A, fake: nowhere.yaml}\n");
    struct {
        const char *set;
        const char *part;
    } cases[] = {
        {path_of("%s/nowhere.yaml", dir), "nowhere.yaml"},
        {dir, dir},
        {no_fake, "no.yaml:4"},
        {lost, "nowhere.yaml"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *out = path_of("%s/run", dir);
        const struct ran *r = ASSAY("eval", cases[i].set, "--fake", "--out", out);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
        CU_ASSERT(access(out, F_OK) != 0); /* nothing was begun */
    }
    const struct ran *r = ASSAY("eval", set, set, "--fake", "--out", path_of("%s/two", dir));
    CHECK_STATUS(r, 2); /* ids become file names: twice the same set cannot be */
    CHECK_ONE_LINE(r);
}

TESTS(eval, {"eval_is_the_same_for_every_number_of_jobs_and_compiler", deterministic},
      {"eval_opens_no_socket_in_replay", no_socket}, {"eval_fake_and_replay_agree", agree},
      {"eval_writes_a_whole_run_directory", run_directory}, {"eval_json_is_lines", json},
      {"eval_fails_readably", failing}, {"eval_names_the_script_that_does_not_fit", off_script},
      {"eval_without_a_cassette_names_the_command", missing},
      {"eval_with_a_stale_cassette_shows_the_difference", stale},
      {"eval_never_overwrites_a_run", existing}, {"eval_numbers_its_runs", numbered},
      {"eval_runs_several_trials", trials}, {"eval_filters_by_tag", filter},
      {"eval_refuses_bad_sets_before_anything_runs", bad_sets})
