#include "ci/testing/testing.h"
#include "goldens/tests/opened.h"
#include "kernel/drive/files.h"

#include <glob.h>
#include <stdio.h>

#define HEAD "version: 1\nname: s\n"

static const char *write_file(struct arena *arena, const char *dir, const char *name,
                              struct str text)
{
    struct err e = {0};
    const char *path = path_join(arena, dir, name);
    CU_ASSERT_EQUAL_FATAL(dir_make(path_dir(arena, path), &e), 0);
    CU_ASSERT_EQUAL_FATAL(file_replace(path, text, &e), 0);
    return path;
}

/* Sets of every form that YAML and JSON allow: NULL = must load, else a part of the message. */
static const struct {
    const char *text;
    const char *says;
} forms[] = {
    {HEAD "tasks:\n- id: a\n  prompt: one\n- id: b\n  prompt: two\n", NULL},
    {"\xEF\xBB\xBF" HEAD "tasks:\n- {id: a, prompt: one}\n", NULL},
    {"version: 1\r\nname: s\r\ntasks:\r\n- id: a\r\n  prompt: |\r\n    one\r\n    two\r\n", NULL},
    {HEAD "tasks:\n- id: a\n  prompt: \"a\tb\"\n  tags: [x,\ty]\n", NULL},
    {HEAD "tasks:\n- id: a\n  prompt: &p one\n  system: *p\n- {id: b, prompt: two}\n", NULL},
    {HEAD "tasks:\n- id: a\n  prompt: &p one\n- {id: c, prompt: x}\n- {id: b, prompt: *p}\n", NULL},
    {HEAD "tasks:\n- &t\n  id: a\n  prompt: one\n  tools: [{builtin: now}]\n- {<<: *t, id: b}\n"
          "- {<<: *t, id: c, tools: null}\n",
     NULL},
    {HEAD "defaults: {tools: &t [{builtin: now}]}\ntasks:\n- {id: a, prompt: one, tools: *t}\n"
          "- {id: b, prompt: p}\n",
     NULL},
    {"version: &v 1\nname: s\ntasks: &l\n- {id: a, prompt: one}\n- {id: b, prompt: two}\n", NULL},
    {"&root\nversion: 1\nname: s\ntasks:\n- {id: a, prompt: one}\n", NULL},
    {"&root\nversion: 1\nname: s\ntasks:\n- {id: a, prompt: one, expect: *root}\n", "own anchor"},
    {HEAD "<<: {tasks: [{id: a, prompt: one}, {id: b, prompt: p, tools: [{builtin: now}]}]}\n",
     NULL},
    {"{version: 1, name: s, tasks: [{id: a, prompt: one}, {id: b, prompt: two}]}\n", NULL},
    {"{\"version\":1,\"name\":\"s\",\"tasks\":[{\"id\":\"a\",\"prompt\":\"\\u00e9\\n\\u0000\"},"
     "{\"id\":\"b\",\"prompt\":\"p\",\"tools\":[{\"builtin\":\"now\"}]}],"
     "\"defaults\":{\"system\":\"x\"}}",
     NULL},
    {"{\"version\":1,\"name\":\"s\",\"tasks\":[{\"id\":\"a\",\"prompt\":\"p\"}],}", NULL},
    {"{\"version\":1,\"name\":\"s\",\"tasks\":[{\"id\":\"a\",\"prompt\":\"p\"}, 'x']}",
     "expected a map for a task"},
    {"{\"version\":1,\"name\":\"s\",\"tasks\":[{\"id\":\"a\",\"id\":\"b\",\"prompt\":\"p\"}]}",
     "stands twice"},
    {"{\"version\":1,\"name\":\"s\",\"name\":\"t\",\"tasks\":[{\"id\":\"a\",\"id\":\"b\"}]}",
     "\"name\" stands twice"},
    {"{\"version\":1,\"name\":\"s\",\"tasks\":[{\"id\":\"a\",\"id\":\"b\"}],\"tasks\":[]}",
     "\"tasks\" stands twice"},
    {"version: 1\n\"name\": s\n\"tasks\":\n-\n  id: a\n  prompt: one\n\n# two\n\n-\n  # deep\n  "
     "id: "
     "b\n  prompt: >-\n    folded\n    text\n\n- id: c\n  prompt: |+\n    kept\n\n\n",
     NULL},
    {"# \xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80\n" HEAD
     "tasks:\n- {id: a, prompt: \"\xE6\xBC\xA2\"}\n- "
     "{id: b, prompt: \"x\xE2\x80\xA8y\", tags: [\"\xC2\x85\", \xC3\xA9]}\n- {id: c, prompt: z}\n",
     NULL},
    {"tasks:\n- {id: a, prompt: one}\n- {id: b, prompt: two, system: null}\ndefaults: {system: "
     "late, trials: 3, fake: f.yaml}\nname: s\nversion: 1\n",
     NULL},
    {"--- # one\n" HEAD "tasks: [{id: a, prompt: one}, {id: b, prompt: two},\n"
     "  {id: c, prompt: 'it''s'}]\n...\n",
     NULL},
    {HEAD "tasks:\n    - id: a\n      prompt: one\n    - id: b\n      prompt: two\n", NULL},
    {HEAD "tasks:\n- id: a\n  prompt: !!binary aGVsbG8=\n", NULL},
    {HEAD "tasks:\n- {id: a, prompt: one, tags: [x, y]}\n- {id: b, prompt: p, tags: ['x,y']}\n"
          "- {id: c, prompt: p, tags: [x, y]}\n- {id: d, prompt: p, tags: []}\n",
     NULL},
    {HEAD "judge: {model: m}\ntasks:\n- {id: a, prompt: p, expect: {answer: {rubric: good}}}\n"
          "- {id: b, prompt: p}\n",
     NULL},
    {HEAD "tasks: []\n", "found 0"},
    {HEAD "tasks: {a: 1}\n", "must be a list"},
    {HEAD "tasks: [5, {id: a, prompt: p}]\n", "expected a map for a task"},
    {HEAD "tasks: [&a x, *a]\n", "expected a map for a task"},
    {HEAD "tasks: [{id: a, prompt: p}]\ntasks: [{id: b, prompt: p}]\n", "\"tasks\" stands twice"},
    {HEAD "tasks: [{id: a}]\nname: t\n", "\"name\" stands twice"},
    {HEAD "tasks: [{id: a}]\nnaem: t\n", "unknown key"},
    {HEAD "tasks: [{id: a}]\nmodels: 5\n", "must be a list"},
    {HEAD "tasks: [{id: a}]\ndefaults: {trials: 0}\n", "\"trials\""},
    {HEAD "tasks: [{id: a, prompt: p}, {id: b, prompt: p}, {id: A, prompt: p}]\n", "is taken"},
    {HEAD "tasks: [{id: a.2, prompt: p}, {id: a, prompt: p}]\n", "further trial"},
    {HEAD "tasks:\n- {id: a}\n- [\n", "not valid YAML"},
    {HEAD "tasks:\n- {id: a, prompt: *none}\n", "no anchor"},
    {HEAD "tasks:\n- {id: a, prompt: \"\xFF\"}\n", "not UTF-8"},
    {HEAD "tasks:\n- {id: a, prompt: p, tools: none.yaml}\n", "no tool file"},
    {HEAD "tasks:\n- {id: a, prompt: p, tools: [{builtin: nwo}]}\n", "nwo"},
    {HEAD "defaults: {tools: [{builtin: nwo}]}\ntasks:\n- {id: a, prompt: p}\n", "nwo"},
    {HEAD "tasks:\n- {id: a, prompt: p, expect: {answer: {regex: '('}}}\n", "regular"},
};

static void every_form_gives_the_same_tasks_and_mistakes(void)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct arena *arena = arena_new();
        const char *path = write_file(arena, testing_dir(), "set.yaml", str_of(forms[i].text));
        struct golden_set *set = NULL;
        struct err e = {0};
        bool loads = false;
        bool good = opened_agrees(path, &loads) && loads == (forms[i].says == NULL);
        if (golden_open(path, &set, &e) == 0) {
            golden_free(set);
        } else {
            good = good && forms[i].says != NULL && strstr(e.message, forms[i].says) != NULL;
        }
        if (!good) {
            printf("\n  case %zu: %s  %u:%u %s\n", i, forms[i].text, e.line, e.column, e.message);
        }
        CU_ASSERT(good);
        arena_free(arena);
    }
}

static size_t compare_all(const char *pattern)
{
    glob_t files;
    if (glob(pattern, 0, NULL, &files) != 0) {
        return 0;
    }
    size_t n = files.gl_pathc;
    for (size_t i = 0; i < n; i++) {
        bool loads;
        bool same = opened_agrees(files.gl_pathv[i], &loads);
        if (!same) {
            printf("\n  %s\n", files.gl_pathv[i]);
        }
        CU_ASSERT(same);
    }
    globfree(&files);
    return n;
}

/* Those that are no sets are refused in the same words. */
static void every_set_that_we_ship_opens_as_it_loads(void)
{
    CU_ASSERT(compare_all("goldens/*.yaml") > 0);
    CU_ASSERT(compare_all("goldens/order-desk/*.yaml") > 0);
    CU_ASSERT(compare_all("goldens/quickstart/*.yaml") > 0);
    CU_ASSERT(compare_all("cli/init/*.yaml") > 0);
    (void)compare_all("examples/*/*.yaml");
}

static void included_files_are_opened_likewise(void)
{
    struct arena *arena = arena_new();
    const char *dir = testing_dir();
    bool loads;
    const char *path = write_file(
        arena, dir, "set.yaml",
        STR(HEAD "tasks: [{id: own, prompt: p}, {id: mute, prompt: p, fake: null}]\n"
                 "include: [sub/more.yaml, last.json]\ndefaults: {system: outer, fake: o.yaml}\n"));
    write_file(arena, dir, "sub/more.yaml",
               STR("version: 1\nname: more\ninclude: deep.yaml\ndefaults: {system: inner, tools: "
                   "t.yaml}\ntasks: [{id: b, prompt: p, fake: b.yaml}, {id: c, prompt: p}]\n"));
    write_file(arena, dir, "sub/t.yaml", STR("version: 1\ntools: [{builtin: now}]\n"));
    write_file(arena, dir, "sub/deep.yaml",
               STR("version: 1\nname: deep\ntasks:\n- &a {id: a, prompt: p}\n- {<<: *a, id: d}\n"));
    write_file(
        arena, dir, "last.json",
        STR("{\"version\":1,\"name\":\"last\",\"tasks\":[{\"id\":\"e\",\"prompt\":\"p\"}]}"));
    CU_ASSERT(opened_agrees(path, &loads) && loads);
    struct golden_set *set = NULL;
    CU_ASSERT_EQUAL_FATAL(golden_open(path, &set, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(set->n_tasks, 7);
    CU_ASSERT(str_is(golden_entry(set, 0).id, "a") && str_is(golden_entry(set, 6).id, "mute"));
    CU_ASSERT_PTR_EQUAL(golden_entry(set, 2).tools, golden_entry(set, 3).tools);
    golden_free(set);
    write_file(arena, dir, "sub/deep.yaml", STR("version: 1\nname: deep\ntasks: [{id: x}]\n"));
    CU_ASSERT(opened_agrees(path, &loads) && !loads);
    write_file(arena, dir, "sub/deep.yaml", STR("version: 1\nname: d\ninclude: ../set.yaml\n"));
    CU_ASSERT(opened_agrees(path, &loads) && !loads);
    write_file(arena, dir, "sub/deep.yaml",
               STR("version: 1\nname: d\ntasks: [{id: e, prompt: p}]"));
    CU_ASSERT(opened_agrees(path, &loads) && !loads);
    arena_free(arena);
}

/* So much that the set is read piece by piece, and that most of it comes back from the file that
 * has no name; and what becomes of the set's own file does not matter any more. */
static void tasks_outlive_their_file(void)
{
    enum { TASKS = 300, PROMPT = 60000 };
    struct arena *arena = arena_new();
    struct buf text = {0};
    buf_addz(&text, HEAD "tasks:\n");
    for (size_t i = 0; i < TASKS; i++) {
        buf_fmt(&text, "- {id: t%zu, tags: [g%zu], prompt: \"%0*zu\"}\n", i, i % 7, PROMPT, i);
    }
    const char *path = write_file(arena, testing_dir(), "set.yaml", buf_str(&text));
    bool loads;
    CU_ASSERT(opened_agrees(path, &loads) && loads);
    struct golden_set *set = NULL;
    CU_ASSERT_EQUAL_FATAL(golden_open(path, &set, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(remove(path), 0);
    struct golden_task *first = NULL;
    struct golden_task *last = NULL;
    CU_ASSERT_EQUAL_FATAL(golden_task_load(set, 0, &first, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(golden_task_load(set, TASKS - 1, &last, NULL), 0);
    CU_ASSERT(str_is(first->id, "t0") && first->prompt.n == PROMPT);
    CU_ASSERT(str_is(last->id, "t299") && str_ends(last->prompt, "299"));
    CU_ASSERT_EQUAL(last->line, 2 + 1 + TASKS);
    CU_ASSERT_PTR_EQUAL(golden_entry(set, 0).tags, golden_entry(set, 7).tags);
    golden_task_free(last);
    golden_task_free(first);
    golden_free(set);
    buf_free(&text);
    arena_free(arena);
}

TESTS(golden_open,
      {"every_form_gives_the_same_tasks_and_mistakes",
       every_form_gives_the_same_tasks_and_mistakes},
      {"every_set_that_we_ship_opens_as_it_loads", every_set_that_we_ship_opens_as_it_loads},
      {"included_files_are_opened_likewise", included_files_are_opened_likewise},
      {"tasks_outlive_their_file", tasks_outlive_their_file})
