/* What golden sets may hold, seen from outside: included sets, turns, models. */
#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD "version: 1\nname: s\n"

/* Tasks of included sets are run first, each with the script of its own folder. */
static void included_sets_are_run(void)
{
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    CU_ASSERT_EQUAL_FATAL(mkdir(path_of("%s/sub", dir), 0777), 0);
    write_text(dir, "s.yaml",
               HEAD "include: sub/o.yaml\ndefaults: {fake: x.script.yaml}\ntasks:\n"
                    "- {id: own, prompt: p, expect: {answer: outer}}\n");
    write_text(dir, "x.script.yaml", "version: 1\nrules:\n- {reply: {text: outer}}\n");
    write_text(dir, "sub/o.yaml",
               "version: 1\nname: o\ndefaults: {fake: x.script.yaml}\ntasks:\n"
               "- {id: inner, prompt: p, expect: {answer: inner}}\n"
               "- {id: wrong, prompt: p, expect: {answer: outer}}\n");
    write_text(dir, "sub/x.script.yaml", "version: 1\nrules:\n- {reply: {text: inner}}\n");
    const struct ran *r = ASSAY_WITH(&in_dir, "eval", "s.yaml", "--fake", "--out", "run");
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "2 passed, 1 failed, 0 errors");
    CHECK_OUT(r, "sub/o.yaml:6"); /* where the task that failed is written */
    const char *results = read_text(path_of("%s/run/results.jsonl", dir), NULL);
    const char *inner = strstr(results, "\"task\":\"inner\"");
    CU_ASSERT(inner != NULL && strstr(inner, "\"task\":\"own\"") != NULL);
    /* what an included set says is part of what was run */
    const char *first = read_text(path_of("%s/run/manifest.json", dir), NULL);
    write_text(dir, "sub/o.yaml",
               "version: 1\nname: o\ndefaults: {fake: x.script.yaml}\ntasks:\n"
               "- {id: inner, prompt: q, expect: {answer: inner}}\n"
               "- {id: wrong, prompt: p, expect: {answer: outer}}\n");
    CHECK_STATUS(ASSAY_WITH(&in_dir, "eval", "s.yaml", "--fake", "--out", "run2"), 1);
    CU_ASSERT(strcmp(first, read_text(path_of("%s/run2/manifest.json", dir), NULL)) != 0);
}

/* A turn that does not end in an answer is the last one. */
static void turns_go_on_while_the_model_answers(void)
{
    static const char script[] = "version: 1\nrules:\n"
                                 "- {when: {last_user: loop}, reply: {calls: [{name: now}]}}\n"
                                 "- {when: {last_user: hello}, reply: {text: hi}}\n"
                                 "- {when: {last_user: bye}, reply: {text: so long}}\n";
    static const struct {
        const char *turns;
        const char *expect;
        int status;
        const char *says;
    } cases[] = {
        {"[{user: hello}, {user: bye}]", "{answer: so long, limits: {steps: 2}}", 0, "1 passed"},
        {"[{user: bye}, {user: hello}]", "{answer: so long}", 1,
         "expected \"so long\", got \"hi\""},
        {"[{user: loop}, {user: bye}]", "{status: max_steps}", 0, "1 passed"},
        {"[{user: loop}, {user: bye}]", "{answer: so long}", 1,
         "expected completed, got max_steps"},
        {"[{user: hello}, {user: hello}, {user: hello}]", "{limits: {steps: 2}}", 1,
         "expected at most 2, got 3"},
    };
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    write_text(dir, "x.script.yaml", script);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text(dir, "s.yaml",
                   path_of(HEAD "defaults: {fake: x.script.yaml, budget: {steps: 1}}\ntasks:\n"
                                "- id: a\n  tools: [{builtin: now}]\n  turns: %s\n  expect: %s\n",
                           cases[i].turns, cases[i].expect));
        const char *out = path_of("run%zu", i);
        const struct ran *r = ASSAY_WITH(&in_dir, "eval", "s.yaml", "--fake", "--out", out);
        CHECK_STATUS(r, cases[i].status);
        CHECK_OUT(r, cases[i].says);
    }
}

/* A set as large as one may be is checked in one go. */
static void a_large_set_is_checked(void)
{
    const char *dir = testing_dir();
    FILE *f = fopen(path_of("%s/s.yaml", dir), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs("\xEF\xBB\xBF" HEAD "tasks:\r\n", f);
    for (int i = 0; i < 100000; i++) {
        fprintf(f, "- {id: t%d, prompt: p%d, expect: {no_calls: true}}\r\n", i, i / 2 * 2 + i % 2);
    }
    fputs("- {id: T5, prompt: p}\r\n", f);
    fclose(f);
    const struct program_options in_dir = {.dir = dir};
    const struct ran *r = ASSAY_WITH(&in_dir, "golden", "check", "s.yaml");
    CHECK_STATUS(r, 2);
    CHECK_OUT(r, "s.yaml:4:1: error: expected 1 to 100000 tasks in all, found 100001");
}

/* Other files of YAML that stand there, ours or not, are left alone; a broken set is not. */
static void a_folder_stands_for_the_sets_below_it(void)
{
    const char *dir = testing_dir();
    const struct program_options in_dir = {.dir = dir};
    write_text(dir, "a.yaml", HEAD "tasks: [{id: a, prompt: p, expect: {no_calls: true}}]\n");
    write_text(dir, "b.script.yaml", "version: 1\nsteps:\n- reply: {text: x}\n");
    write_text(dir, "c.tools.yaml", "version: 1\ntools: [{builtin: now}]\n");
    write_text(dir, "ci.yml", "include: [{local: x}]\nstages: [a]\n");
    const struct ran *r = ASSAY_WITH(&in_dir, "golden", "check", ".");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "1 golden set checked: 0 errors");
    r = ASSAY_WITH(&in_dir, "fake", "check", ".");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "1 script checked: 0 errors");
    write_text(dir, "d.golden.yaml", "\ttask: 1\n");
    write_text(dir, "e.yaml", "\xEF\xBB\xBF" HEAD "tasks:\r\n- {id: a, promt: p}\r\n");
    r = ASSAY_WITH(&in_dir, "golden", "check", ".");
    CHECK_STATUS(r, 2);
    CHECK_OUT(r, "\ne.yaml:4:");
    CHECK_OUT(r, "3 golden sets checked: 2 errors");
    CU_ASSERT(strncmp(r->out, "d.golden.yaml:1:", 16) == 0);
    CU_ASSERT(mkdir(path_of("%s/none", dir), 0777) == 0);
    r = ASSAY_WITH(&in_dir, "golden", "check", "none");
    CHECK_STATUS(r, 2);
    CHECK_OUT(r, "none: error: is a folder that holds no golden set (*.golden.yaml, or");
}

/* A file whose name is misspelt: one beside it has nearly that name. */
static void close_files(void)
{
    static const struct {
        const char *file, *text; /* what is there */
        const char *set;
        const char *says;
    } cases[] = {
        {"order.script.yaml", "version: 1\nsteps:\n- reply: {text: Fine.}\n",
         "tasks:\n- {id: a, prompt: p, fake: ordr.script.yaml, expect: {answer: a}}\n",
         "ordr.script.yaml; did you mean order.script.yaml? [missing_script]\n"},
        {"tools.yaml", "version: 1\ntools:\n- builtin: now\n",
         "defaults: {tools: tool.yaml}\ntasks:\n- {id: a, prompt: p, expect: {answer: a}}\n",
         "tool.yaml; did you mean tools.yaml?"},
        {"more.golden.yaml",
         "version: 1\nname: m\ntasks:\n- {id: b, prompt: p, expect: {answer: a}}\n",
         "include: mor.golden.yaml\n", "mor.golden.yaml; did you mean more.golden.yaml?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *dir = testing_dir();
        write_text(dir, cases[i].file, cases[i].text);
        const char *set =
            write_text(dir, "s.golden.yaml", path_of("version: 1\nname: s\n%s", cases[i].set));
        const struct ran *r = ASSAY("golden", "check", set);
        CHECK_STATUS(r, 2);
        CHECK_OUT(r, cases[i].says);
    }
}

TESTS(sets, {"sets_with_a_misspelt_file_say_which_is_meant", close_files},
      {"sets_folder_stands_for_those_below_it", a_folder_stands_for_the_sets_below_it},
      {"sets_included_ones_are_run", included_sets_are_run},
      {"sets_turns_go_on_while_the_model_answers", turns_go_on_while_the_model_answers},
      {"sets_a_large_one_is_checked", a_large_set_is_checked})
