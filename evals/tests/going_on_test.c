/* A run that was cut off is gone on with: what was done stays, the rest is done, the bytes are
 * those of a run that nothing disturbed. */
#include "ci/testing/testing.h"
#include "evals/eval.h"
#include "kernel/drive/appender.h"
#include "kernel/drive/files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct arena *arena; /* of the test at hand */

static const char *put(const char *dir, const char *name, struct str text)
{
    struct err e;
    const char *path = path_join(arena, dir, name);
    CU_ASSERT_EQUAL_FATAL(dir_make(path_dir(arena, path), &e), 0);
    CU_ASSERT_EQUAL_FATAL(file_replace(path, text, &e), 0);
    return path;
}

static struct str get(const char *dir, const char *name)
{
    struct str text = {0};
    struct err e;
    int rc = file_read(arena, path_join(arena, dir, name), 1 << 24, &text, &e);
    return rc == 0 ? text : STR("(no such file)");
}

static const char *make_set(const char *dir)
{
    put(dir, "s.yaml", STR("version: 1\nsteps: [{reply: {text: it is 3}}]\n"));
    put(dir, "t.yaml", STR("version: 1\ntools: [{builtin: now}]\n"));
    return put(dir, "set.yaml",
               STR("version: 1\nname: small\ndefaults: {fake: s.yaml, tools: t.yaml}\ntasks:\n"
                   "- {id: a, prompt: p, expect: {answer: it is 3}}\n"
                   "- {id: b, prompt: p, expect: {answer: it is 4}}\n"));
}

static struct eval_options options_of(const char *const *set, const char *out)
{
    return (struct eval_options){
        .sets = set, .n_sets = 1, .source = EVAL_FAKE, .jobs = 2, .out = out};
}

/* The report's exit status; -1 = an error, in *e. */
static int run(const struct eval_options *o, struct err *e)
{
    struct eval_report *r = NULL;
    int status = eval_run(o, &r, e) == 0 ? r->exit_status : -1;
    eval_report_free(r);
    return status;
}

static const char *const files[] = {"manifest.json", "results.jsonl", "traces/a.jsonl",
                                    "traces/b.jsonl"};
enum { N_FILES = sizeof files / sizeof files[0] };

static bool same_runs(const char *a, const char *b)
{
    bool same = true;
    for (size_t i = 0; i < N_FILES; i++) {
        same = same && str_eq(get(a, files[i]), get(b, files[i]));
    }
    return same;
}

/* The run as it was when so much of its journal had been written; what was under way has begun its
 * trace. */
static void cut_off(const char *whole, const char *dir, struct str journal, size_t at, bool results)
{
    put(dir, "manifest.json", get(whole, "manifest.json"));
    put(dir, "trials.jsonl", str_slice(journal, 0, at));
    put(dir, "traces/a.jsonl", get(whole, "traces/a.jsonl"));
    put(dir, "traces/b.jsonl",
        str_slice(get(whole, "traces/b.jsonl"), 0, at == journal.n ? SIZE_MAX : 100));
    put(dir, "results.jsonl.0a1b2c3d.tmp", STR("half"));
    if (results) {
        put(dir, "results.jsonl", get(whole, "results.jsonl"));
    }
}

static void every_cut(void)
{
    arena = arena_new();
    const char *dir = testing_dir(), *set = make_set(dir), *whole = path_join(arena, dir, "whole");
    struct err e = {0};
    struct eval_options o = options_of(&set, whole);
    o.jobs = 1;
    CU_ASSERT_EQUAL_FATAL(run(&o, &e), 1);
    struct str journal = get(whole, "trials.jsonl");
    size_t wrong = 0;
    for (size_t at = 0; at <= journal.n && wrong < 3; at++) {
        const char *cut = arena_printf(arena, "%s/cut%zu", dir, at).p;
        cut_off(whole, cut, journal, at, at == journal.n);
        o = options_of(&set, cut);
        o.resume = true;
        bool good = run(&o, &e) == 1 && same_runs(whole, cut) &&
                    str_eq(get(cut, "trials.jsonl"), journal) &&
                    !path_exists(path_join(arena, cut, "results.jsonl.0a1b2c3d.tmp"));
        if (!good) {
            wrong++;
            CU_FAIL("the bytes are others");
            fprintf(stderr, "cut at %zu of %zu: %s\n", at, journal.n, e.message);
        }
    }
    arena_free(arena);
}

/* Killed before there was a journal, a manifest, or anything at all. */
static void begun_anew(void)
{
    static const char *const left[] = {NULL, "traces/", "manifest.json.00000000.tmp"};
    arena = arena_new();
    const char *dir = testing_dir(), *set = make_set(dir), *whole = path_join(arena, dir, "whole");
    struct err e = {0};
    struct eval_options o = options_of(&set, whole);
    CU_ASSERT_EQUAL_FATAL(run(&o, &e), 1);
    for (size_t i = 0; i < 3; i++) {
        const char *out = arena_printf(arena, "%s/out%zu", dir, i).p;
        if (left[i] != NULL && strchr(left[i], '/') != NULL) {
            CU_ASSERT_EQUAL(dir_make(path_join(arena, out, "traces"), &e), 0);
            put(out, "trials.jsonl", STR(""));
        } else if (left[i] != NULL) {
            put(out, left[i], STR("{"));
        }
        o = options_of(&set, out);
        o.resume = true;
        CU_ASSERT_EQUAL(run(&o, &e), 1);
        CU_ASSERT(same_runs(whole, out));
    }
    const char *other = path_join(arena, dir, "other");
    put(other, "letter.txt", STR("dear"));
    o = options_of(&set, other);
    o.resume = true;
    CU_ASSERT_EQUAL(run(&o, &e), -1);
    CU_ASSERT_EQUAL(e.code, ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "no manifest.json"));
    CU_ASSERT(!path_exists(path_join(arena, other, "trials.jsonl")));
    arena_free(arena);
}

/* Of a finished run results were damaged, or traces removed: the journal has all that was in them.
 */
static void made_whole(void)
{
    arena = arena_new();
    const char *dir = testing_dir(), *set = make_set(dir), *out = path_join(arena, dir, "out");
    const char *whole = path_join(arena, dir, "whole");
    struct err e = {0};
    struct eval_options o = options_of(&set, whole);
    CU_ASSERT_EQUAL_FATAL(run(&o, &e), 1);
    struct str results = get(whole, "results.jsonl"), journal = get(whole, "trials.jsonl");
    size_t first = str_find(results, STR("\n")) + 1;
    const struct str damaged[] = {
        str_slice(results, 0, results.n - 20), str_slice(results, 0, results.n - 1),
        str_slice(results, 0, first), STR(""),
        arena_printf(arena, "%.*s%.*s", STR_FMT(results), (int)first, results.p)};
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        cut_off(whole, out, journal, journal.n, false);
        put(out, "results.jsonl", damaged[i]);
        o = options_of(&set, out);
        o.resume = true;
        CU_ASSERT_EQUAL(run(&o, &e), 1);
        CU_ASSERT(same_runs(whole, out));
    }
    for (size_t i = 0; i < N_FILES; i++) {
        if (strncmp(files[i], "traces/", 7) == 0) {
            CU_ASSERT_EQUAL(remove(path_join(arena, out, files[i])), 0);
        }
    }
    CU_ASSERT_EQUAL(rmdir(path_join(arena, out, "traces")), 0);
    CU_ASSERT_EQUAL(run(&o, &e), 1);
    CU_ASSERT(same_runs(whole, out));
    arena_free(arena);
}

/* What was asked for otherwise is named, and nothing is changed. */
static void other_run(void)
{
    arena = arena_new();
    const char *dir = testing_dir(), *set = make_set(dir), *whole = path_join(arena, dir, "whole");
    const char *model[] = {"m"}, *tags[] = {"x"};
    struct err e = {0};
    struct eval_options o = options_of(&set, whole);
    CU_ASSERT_EQUAL_FATAL(run(&o, &e), 1);
    struct str journal = get(whole, "trials.jsonl");
    const char *tagged = put(
        dir, "tagged.yaml",
        STR("version: 1\nname: tagged\ntasks: [{id: a, tags: [x], prompt: p, fake: s.yaml}]\n"));
    struct eval_options cases[8];
    static const char *const words[8] = {"\"models\" is [] there and [{\"model\":\"m\"",
                                         "\"trials\" is 2 there and 4 here",
                                         "another set: \"sets[0].name\" is \"small\" there and",
                                         "\"script\" is missing there",
                                         "\"shard\" is missing there",
                                         "\"max_tokens\" is null there and 7 here",
                                         "\"assay\" is null there and \"9\" here",
                                         "another set"};
    for (size_t i = 0; i < 8; i++) {
        cases[i] = options_of(&set, whole);
        cases[i].resume = true;
    }
    cases[0].models = model;
    cases[0].n_models = 1;
    cases[1].trials = 2;
    cases[2].sets = &tagged;
    cases[3].script = path_join(arena, dir, "s.yaml");
    cases[4].shard = cases[4].shards = 1;
    cases[5].max_tokens = 7;
    cases[6].version = "9";
    cases[7].sets = &tagged;
    cases[7].filters = tags;
    cases[7].n_filters = 1;
    for (size_t i = 0; i < 8; i++) {
        CU_ASSERT_EQUAL(run(&cases[i], &e), -1);
        CU_ASSERT_EQUAL(e.code, ERR_INPUT);
        if (strstr(e.message, words[i]) == NULL) {
            CHECK_TEXT(e.message, words[i]);
        }
    }
    static const char *const changed[] = {"set.yaml", "s.yaml", "t.yaml"};
    static const char *const keys[] = {"\"sets[0].xxh3\"", "\"scripts[0].xxh3\"",
                                       "\"tools[0].xxh3\""};
    for (size_t i = 0; i < 3; i++) {
        struct str before = get(dir, changed[i]);
        put(dir, changed[i], arena_printf(arena, "%.*s# more\n", STR_FMT(before)));
        o = options_of(&set, whole);
        o.resume = true;
        CU_ASSERT_EQUAL(run(&o, &e), -1);
        CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "has changed since it began"));
        CU_ASSERT_PTR_NOT_NULL(strstr(e.message, keys[i]));
        put(dir, changed[i], before);
    }
    CU_ASSERT(str_eq(get(whole, "trials.jsonl"), journal));
    CU_ASSERT_EQUAL(run(&o, &e), 1);
    arena_free(arena);
}

static void bad_journal(void)
{
    arena = arena_new();
    const char *dir = testing_dir(), *set = make_set(dir), *whole = path_join(arena, dir, "whole");
    struct err e = {0};
    struct eval_options o = options_of(&set, whole);
    CU_ASSERT_EQUAL_FATAL(run(&o, &e), 1);
    struct str journal = get(whole, "trials.jsonl");
    char *other = arena_cstr(arena, journal);
    memcpy(strstr(other, "{\"task\":\"b\""), "{\"task\":\"c\"", 11);
    const struct {
        struct str text;
        const char *words;
    } cases[] = {{arena_printf(arena, "x\n%.*s", STR_FMT(journal)), "no line of results"},
                 {str_of(other), "trial 1 of c (fake-1) is none of this run"}};
    o.resume = true;
    for (size_t i = 0; i < 2; i++) {
        put(whole, "trials.jsonl", cases[i].text);
        CU_ASSERT_EQUAL(run(&o, &e), -1);
        CU_ASSERT_PTR_NOT_NULL(strstr(e.message, cases[i].words));
        CU_ASSERT(str_eq(get(whole, "trials.jsonl"), cases[i].text));
        CU_ASSERT(path_exists(path_join(arena, whole, "results.jsonl")));
    }
    arena_free(arena);
}

/* A recording that was missing is there now: what ended in an error is tried again, nothing else.
 */
static void errors_again(void)
{
    static const char tape[] =
        "version: 1\ninteractions:\n- request:\n    method: POST\n"
        "    uri: http://x/v1/chat/completions\n    headers: {}\n    body: '{\"model\":\"m\","
        "\"messages\":[{\"role\":\"user\",\"content\":\"?\"}]}'\n"
        "  response:\n    status: {code: 200, message: OK}\n    headers: {}\n"
        "    body: {string: '{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"it "
        "is "
        "3\"},\"finish_reason\":\"stop\"}]}'}\n";
    arena = arena_new();
    const char *dir = testing_dir(), *set = make_set(dir);
    const char *half = path_join(arena, dir, "half"), *whole = path_join(arena, dir, "whole");
    struct err e = {0};
    struct eval_options o = options_of(&set, half);
    o.source = EVAL_REPLAY;
    o.how.match = CASSETTE_ORDER;
    o.cassettes = path_join(arena, dir, "tapes");
    put(o.cassettes, "b.yaml", str_of(tape));
    CU_ASSERT_EQUAL(run(&o, &e), 3);
    put(o.cassettes, "a.yaml", str_of(tape));
    o.resume = true;
    CU_ASSERT_EQUAL(run(&o, &e), 1);
    o.out = whole;
    CU_ASSERT_EQUAL(run(&o, &e), 1);
    CU_ASSERT(same_runs(half, whole));
    struct str journal = get(half, "trials.jsonl");
    size_t lines = 0;
    for (size_t i = 0; i < journal.n; i++) {
        lines += journal.p[i] == '\n';
    }
    CU_ASSERT_EQUAL(lines, 3);
    arena_free(arena);
}

static void locked(void)
{
    arena = arena_new();
    const char *dir = testing_dir(), *set = make_set(dir), *whole = path_join(arena, dir, "whole");
    struct err e = {0};
    struct eval_options o = options_of(&set, whole);
    CU_ASSERT_EQUAL_FATAL(run(&o, &e), 1);
    struct appender *other = NULL;
    CU_ASSERT_EQUAL_FATAL(
        appender_open(path_join(arena, whole, "trials.jsonl"), APPEND_CONTINUE, &other, &e), 0);
    o.resume = true;
    CU_ASSERT_EQUAL(run(&o, &e), -1);
    CU_ASSERT_EQUAL(e.code, ERR_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "another run is writing it"));
    CU_ASSERT_EQUAL(appender_close(other, &e), 0);
    CU_ASSERT_EQUAL(run(&o, &e), 1);
    arena_free(arena);
}

TESTS(going_on, {"resume_ends_with_the_same_bytes_after_a_cut_anywhere", every_cut},
      {"resume_begins_where_nothing_was_begun", begun_anew},
      {"resume_makes_damaged_results_and_removed_traces_anew", made_whole},
      {"resume_refuses_another_run", other_run}, {"resume_refuses_a_damaged_journal", bad_journal},
      {"resume_tries_errors_again", errors_again},
      {"resume_waits_for_nobody_who_writes_the_run", locked})
