#include "ci/testing/testing.h"
#include "goldens/tests/opened.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

#include <stdio.h>
#include <string.h>

/* Writes `text` as a set in a new folder and loads it. */
static const char *write_set(struct arena *arena, struct str text)
{
    struct err e;
    const char *path = path_join(arena, testing_dir(), "set.yaml");
    CU_ASSERT_EQUAL_FATAL(file_replace(path, text, &e), 0);
    return path;
}

static int load_text(struct arena *arena, const char *text, struct golden_set **out, struct err *e)
{
    return golden_load(write_set(arena, str_of(text)), out, e);
}

struct findings {
    struct buf text; /* "line:column severity code" lines */
};

static void note(void *ctx, const struct finding *f)
{
    struct findings *all = ctx;
    CU_ASSERT(f->message.n > 0);
    buf_fmt(&all->text, "%u:%u %s %s\n", f->line, f->column, finding_severity_name(f->severity),
            f->code);
}

static void note_mistake(void *ctx, const struct err *e)
{
    struct findings *all = ctx;
    buf_fmt(&all->text, "%u:%u %s\n", e->line, e->column, e->message);
}

/* What a check of the set at `path` tells, mistakes in front. */
static void check_all(const char *path, struct findings *all)
{
    golden_check(path, note_mistake, note, all);
}

#define HEAD "version: 1\nname: s\n"
#define TASK HEAD "tasks:\n- id: a\n  prompt: p\n"

/* Longer than any message shows; a cut by bytes would fall into a character. */
#define LONG "aéééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé"

/* What is refused, where, and a part of what is said. */
static const struct {
    const char *yaml;
    uint32_t line;
    uint32_t column;
    const char *says;
} refused[] = {
    {"name: s\ntasks: [{id: a, prompt: p}]\n", 1, 1, "version"},
    {"version: 1\ntasks: [{id: a, prompt: p}]\n", 1, 1, "name"},
    {HEAD, 1, 1, "tasks"},
    {HEAD "tasks: []\n", 3, 8, "1 to"},
    {HEAD "tasks: {}\n", 3, 8, "list"},
    {HEAD "task: []\n", 3, 1, "tasks"},
    {HEAD "models: []\ntasks: [{id: a, prompt: p}]\n", 3, 9, "1 to 100 models"},
    {HEAD "models: x\ntasks: [{id: a, prompt: p}]\n", 3, 9, "list"},
    {HEAD "models: [5]\ntasks: [{id: a, prompt: p}]\n", 3, 10, "name of a model"},
    {HEAD "models: [x, '']\ntasks: [{id: a, prompt: p}]\n", 3, 13, "an empty text"},
    {HEAD "models: [x, {model: X}]\ntasks: [{id: a, prompt: p}]\n", 3, 13, "twice"},
    {HEAD "judge: ''\ntasks: [{id: a, prompt: p}]\n", 3, 8, "an empty text"},
    {HEAD "judge: 5\ntasks: [{id: a, prompt: p}]\n", 3, 8, "a number"},
    {HEAD "judge: {model: ''}\ntasks: [{id: a, prompt: p}]\n", 3, 16, "is empty"},
    {HEAD "judge: {fake: x}\ntasks: [{id: a, prompt: p}]\n", 3, 8, "model"},
    {HEAD "judge: {model: x, provider: y}\ntasks: [{id: a, prompt: p}]\n", 3, 29, "anthropic"},
    {HEAD "judge: {modle: x}\ntasks: [{id: a, prompt: p}]\n", 3, 9, "model"},
    {HEAD "models: [{name: x}]\ntasks: [{id: a, prompt: p}]\n", 3, 11, "model"},
    {HEAD "models: [{provider: openai}]\ntasks: [{id: a, prompt: p}]\n", 3, 10, "model"},
    {HEAD "models: [{model: x, provider: y}]\ntasks: [{id: a, prompt: p}]\n", 3, 31,
     "openai, responses or anthropic"},
    {HEAD "include: [x.yaml]\ntasks: [{id: a, prompt: p}]\n", 3, 11, "no golden set"},
    {HEAD "include: [.]\n", 3, 11, "is a folder: expected the path of a golden set"},
    {HEAD "include: /dev/zero\n", 3, 10, "is no plain file: expected the path of a golden set"},
    {HEAD "include: []\n", 3, 10, "an empty list"},
    {HEAD "include: {}\n", 3, 10, "a map"},
    {HEAD "include: [5]\n", 3, 11, "a number"},
    {HEAD "include: ''\n", 3, 10, "an empty text"},
    {HEAD "include: set.yaml\n", 3, 10, "includes itself"},
    {HEAD "include: null\n", 1, 1, "tasks"},
    {HEAD "defaults: {fake: 5}\ntasks: [{id: a, prompt: p}]\n", 3, 18, "string"},
    {HEAD "defaults: {budget: {step: 1}}\ntasks: [{id: a, prompt: p}]\n", 3, 21, "steps"},
    {HEAD "defaults: {budget: {steps: 0}}\ntasks: [{id: a, prompt: p}]\n", 3, 28, "1"},
    {HEAD "defaults: {budget: {cost_usd: -1}}\ntasks: [{id: a, prompt: p}]\n", 3, 31, "0"},
    {HEAD "defaults: {trials: 0}\ntasks: [{id: a, prompt: p}]\n", 3, 20, "1"},
    {HEAD "defaults: {tools: nowhere.yaml}\ntasks: [{id: a, prompt: p}]\n", 3, 19, "nowhere.yaml"},
    {HEAD "defaults: {tools: 5}\ntasks: [{id: a, prompt: p}]\n", 3, 19, "path of a tool file"},
    {HEAD "defaults: {tools: [{builtin: calculato}]}\ntasks: [{id: a, prompt: p}]\n", 3, 30,
     "calculator"},
    {HEAD "tasks: [x]\n", 3, 9, "map"},
    {HEAD "tasks: [{prompt: p}]\n", 3, 9, "id"},
    {HEAD "tasks: [{id: a}]\n", 3, 9, "prompt"},
    {HEAD "tasks: [{id: a, prompt: ''}]\n", 3, 25, "empty"},
    {"version: 1\nname: my set\ntasks: [{id: a, prompt: p}]\n", 2, 7, "file name"},
    {"version: 1\nname: ''\ntasks: [{id: a, prompt: p}]\n", 2, 7, "file name"},
    {"version: 1\nname: ../up\ntasks: [{id: a, prompt: p}]\n", 2, 7, "file name"},
    {HEAD "tasks: [{id: a/b, prompt: p}]\n", 3, 14, "file name"},
    {HEAD "tasks: [{id: '', prompt: p}]\n", 3, 14, "file name"},
    {HEAD "tasks: [{id: " LONG ", prompt: p}]\n", 3, 14, "ééé…\""},
    {HEAD "tasks: [{id: '..', prompt: p}]\n", 3, 14, "file name"},
    {HEAD "tasks: [{id: 5, prompt: p}]\n", 3, 14, "string"},
    {HEAD "tasks: [{id: a, turns: []}]\n", 3, 24, "1 to 1000 turns"},
    {HEAD "tasks: [{id: a, turns: x}]\n", 3, 24, "list"},
    {HEAD "tasks: [{id: a, turns: [x]}]\n", 3, 25, "map"},
    {HEAD "tasks: [{id: a, turns: [{}]}]\n", 3, 25, "user"},
    {HEAD "tasks: [{id: a, turns: [{user: ''}]}]\n", 3, 32, "user's message is empty"},
    {HEAD "tasks: [{id: a, turns: [{usr: x}]}]\n", 3, 26, "user"},
    {HEAD "tasks: [{id: a, turns: [{user: x}], prompt: p}]\n", 3, 24, "found both"},
    {HEAD "tasks: [{id: a, turns: null}]\n", 3, 9, "prompt"},
    /* what editors leave behind */
    {HEAD "tasks:\n\t- {id: a, prompt: p}\n", 4, 1, "tab"},
    {HEAD "tasks:\n- {id: a, prompt: p}\n- &x {id: b, prompt: *y}\n", 5, 22, "y"},
    {HEAD "tasks:\n- &x {id: a, prompt: *x}\n", 4, 22, "x"},
    {HEAD "tasks:\n- {id: a, prompt: p, prompt: q}\n", 4, 22, "prompt"},
    {HEAD "tasks:\n- {id: a, prompt: p, trials: .nan}\n", 4, 30, "finite number"},
    {HEAD "tasks:\n- {id: a, prompt: p, trials: 99999999999999999999}\n", 4, 30, "trials"},
    {HEAD "tasks: [{id: a, promt: p}]\n", 3, 17, "prompt"},
    {HEAD "tasks:\n- {id: a, prompt: p}\n- {id: b, prompt: p}\n- {id: A, prompt: p}\n", 6, 3,
     "line 4"},
    {HEAD "tasks:\n- {id: a.2, prompt: p}\n- {id: a, prompt: p}\n", 4, 3, "further trial"},
    {TASK "  tags: x\n", 6, 9, "list"},
    {TASK "  tags: [1]\n", 6, 10, "tag"},
    {TASK "  tags: [a, '']\n", 6, 13, "tag"},
    {TASK "  expect: x\n", 6, 11, "map"},
    {TASK "  expect: {call: {}}\n", 6, 12, "calls"},
    {TASK "  expect: {calls: []}\n", 6, 19, "map"},
    {TASK "  expect: {calls: {}}\n", 6, 19, "list"},
    {TASK "  expect: {calls: {mode: some, list: []}}\n", 6, 26, "superset"},
    {TASK "  expect: {calls: {list: [], extra_args: maybe}}\n", 6, 42, "ignore"},
    {TASK "  expect: {calls: {list: [5]}}\n", 6, 27, "tool's name"},
    {TASK "  expect: {calls: {list: [{a: {}, b: {}}]}}\n", 6, 27, "one key"},
    {TASK "  expect: {calls: {list: [{a: 5}]}}\n", 6, 31, "`- a: {PARAMETER: VALUE}`"},
    {TASK "  expect: {calls: {list: [{name: a, arguments: {x: 1}}]}}\n", 6, 27,
     "`- a: {PARAMETER: VALUE}`"},
    {TASK "  expect: {calls: {list: [{a: , x: 1}]}}\n", 6, 31, "`- a: {x: ...}`"},
    {TASK "  expect: {calls: {list: [{a: {}, b: {}}]}}\n", 6, 27, "a `- ` of its own"},
    {TASK "  expect: {calls: {list: [{}]}}\n", 6, 27, "a map of 0 keys"},
    {TASK "  expect: {calls: {list: [{parallel: [{parallel: [a]}]}]}}\n", 6, 50,
     "does not stand in another"},
    {TASK "  expect: {calls: [a]}\n", 6, 19, "list: [...]"},
    {TASK "  expect: {calls: {list: [], limits: {}}}\n", 6, 30, "beside `calls`"},
    {TASK "  expect: {mode: exact}\n", 6, 12, "under `calls`"},
    {TASK "  expect: {answer: {within: 1}}\n", 6, 21, "number: {value: ..., within: ...}"},
    {TASK "  answer: x\n", 6, 3, "under `expect`"},
    {HEAD "system: x\ntasks: [{id: a, prompt: p}]\n", 3, 1, "under `defaults`"},
    {TASK "  expect: {calls: {list: [a: ]}}\n", 6, 27, "`- a: {}`"},
    {TASK "  expect: {calls: {list: [" LONG LONG ": ]}}\n", 6, 27, "ééé…: {}`"},
    {TASK "  expect: {calls: {list: [{parallel: []}]}}\n", 6, 38, "at least one"},
    {TASK "  expect: {calls: {list: [{a: {x: {regex: '('}}}]}}\n", 6, 43, "regular expression"},
    {TASK "  expect: {forbid: a}\n", 6, 20, "list"},
    {TASK "  expect: {forbid: [{}]}\n", 6, 21, "name of a tool"},
    {TASK "  expect: {forbid: ['']}\n", 6, 21, "name of a tool"},
    {TASK "  expect: {no_calls: 1}\n", 6, 22, "true"},
    {TASK "  expect: {no_calls: true, calls: {list: [a]}}\n", 6, 22, "contradicts"},
    {TASK "  expect: {answer: 4.2}\n", 6, 20, "a number"},
    {TASK "  expect: {answer: {like: a}}\n", 6, 21, "like"},
    {TASK "  expect: {answer: {}}\n", 6, 20, "exactly one"},
    {TASK "  expect: {answer: {contains: a, equals: b}}\n", 6, 20, "all"},
    {TASK "  expect: {answer: {rubric: ''}}\n", 6, 29, "found an empty one"},
    {TASK "  expect: {answer: {rubric: ' '}}\n", 6, 29, "found an empty one"},
    {TASK "  expect: {answer: {all: [{rubric: [a]}]}}\n", 6, 36, "a list"},
    {TASK "  expect: {answer: {number: 4}}\n", 6, 29, "map"},
    {TASK "  expect: {answer: {number: {within: 1}}}\n", 6, 29, "value"},
    {TASK "  expect: {answer: {number: {value: x}}}\n", 6, 37, "number"},
    {TASK "  expect: {answer: {number: {value: 1, within: -1}}}\n", 6, 48, "below 0"},
    {TASK "  expect: {answer: {json: {path: a}}}\n", 6, 27, "exactly one"},
    {TASK "  expect: {answer: {json: {path: a, eq: 1}}}\n", 6, 37, "equals"},
    {TASK "  expect: {answer: {schema: {type: 5}}}\n", 6, 29, "JSON Schema"},
    {TASK "  expect: {answer: {all: []}}\n", 6, 26, "not empty"},
    {TASK "  expect: {answer: {not: {any: [{like: a}]}}}\n", 6, 34, "like"},
    {TASK "  expect: {limits: {steps: 0}}\n", 6, 28, "1"},
    {TASK "  expect: {limits: {stepz: 1}}\n", 6, 21, "steps"},
    {TASK "  expect: {limits: {seconds: x}}\n", 6, 30, "number"},
    {TASK "  expect: {status: done}\n", 6, 20, "completed"},
    {TASK "  expect: {status: model_error}\n", 6, 20, "no trial passes by ending as"},
    {TASK "  expect: {status: cassette_miss}\n", 6, 20, "an error"},
    {TASK "  expect: {status: cancelled}\n", 6, 20, "run again"},
    {TASK "  expect: {status: cancelld}\n", 6, 20, "\"program_failed\", got"},
};

static void names_the_place_of_every_mistake(void)
{
    struct arena *arena = arena_new();
    const char *path = path_join(arena, testing_dir(), "set.yaml");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct err e = {0};
        struct golden_set *set;
        CU_ASSERT_EQUAL_FATAL(file_replace(path, str_of(refused[i].yaml), &e), 0);
        int rc = golden_load(path, &set, &e);
        bool good = rc == ERR_INPUT && e.line == refused[i].line && e.column == refused[i].column &&
                    strstr(e.message, refused[i].says) != NULL &&
                    utf8_invalid_at(str_of(e.message)) == SIZE_MAX;
        if (!good) {
            printf("\n  case %zu: %s  gave %d at %u:%u %s\n", i, refused[i].yaml, rc, e.line,
                   e.column, e.message);
        }
        CU_ASSERT(good);
        bool loads;
        CU_ASSERT(opened_agrees(path, &loads));
    }
    arena_free(arena);
}

static void tells_a_missing_file_from_a_bad_one(void)
{
    struct golden_set *set;
    struct err e = {0};
    CU_ASSERT_EQUAL(golden_load("no/such/set.yaml", &set, &e), ERR_NOT_FOUND);
    CU_ASSERT_EQUAL(golden_load("goldens", &set, &e), ERR_INPUT);
    CU_ASSERT_EQUAL(golden_load("goldens/golden.h", &set, &e), ERR_INPUT);
}

static void tasks_inherit_and_override_the_defaults(void)
{
    struct arena *arena = arena_new();
    struct golden_set *set;
    struct err e = {0};
    int rc = load_text(arena,
                       HEAD "defaults:\n"
                            "  system: be brief\n"
                            "  tools: [{builtin: calculator}]\n"
                            "  budget: {steps: 4, cost_usd: 0.25}\n"
                            "  trials: 3\n"
                            "tasks:\n"
                            "- {id: a, prompt: p, fake: x/a.yaml, tags: [t, u]}\n"
                            "- {id: b, prompt: p, system: other, budget: {steps: 9, tokens: 7}, "
                            "trials: 1, tools: [{builtin: now}, {builtin: calculator}]}\n"
                            "- {id: c, prompt: p, system: null, tools: null}\n",
                       &set, &e);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    const struct golden_task *a = &set->tasks[0];
    const struct golden_task *b = &set->tasks[1];
    const struct golden_task *c = &set->tasks[2];
    size_t n;
    CU_ASSERT_EQUAL(set->n_tasks, 3);
    CU_ASSERT(str_is(a->system, "be brief"));
    CU_ASSERT_EQUAL(a->budget.steps, 4);
    CU_ASSERT_EQUAL(a->budget.cost_nano, 250000000);
    CU_ASSERT_EQUAL(a->budget.tokens, 60000);
    CU_ASSERT_EQUAL(a->trials, 3);
    CU_ASSERT_EQUAL(a->n_tags, 2);
    CU_ASSERT(str_ends(str_of(a->fake), "/x/a.yaml"));
    CU_ASSERT_EQUAL(a->expect.status, RUN_COMPLETED);
    CU_ASSERT_EQUAL(a->expect.max_steps, -1);
    CU_ASSERT(str_is(toolset_specs(a->tools, &n)[0].name, "calculator") && n == 1);
    CU_ASSERT(str_is(b->system, "other"));
    CU_ASSERT_EQUAL(b->budget.steps, 9);
    CU_ASSERT_EQUAL(b->budget.tokens, 7);
    CU_ASSERT_EQUAL(b->budget.cost_nano, 250000000);
    CU_ASSERT_EQUAL(b->trials, 1);
    CU_ASSERT(str_is(toolset_specs(b->tools, &n)[0].name, "now") && n == 2);
    CU_ASSERT_PTR_NULL(b->fake);
    CU_ASSERT_PTR_NULL(c->system.p);
    (void)toolset_specs(c->tools, &n);
    CU_ASSERT_EQUAL(n, 0);
    golden_free(set);
    arena_free(arena);
}

static void turns_stand_in_place_of_a_prompt(void)
{
    struct arena *arena = arena_new();
    struct golden_set *set;
    struct err e = {0};
    int rc = load_text(arena,
                       HEAD "tasks:\n- {id: a, turns: [{user: one}, {user: two}]}\n"
                            "- {id: b, prompt: p, turns: null}\n",
                       &set, &e);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    const struct golden_task *a = &set->tasks[0];
    const struct golden_task *b = &set->tasks[1];
    CU_ASSERT_EQUAL_FATAL(a->n_turns, 2);
    CU_ASSERT(str_is(a->prompt, "one") && str_is(a->turns[0], "one"));
    CU_ASSERT(str_is(a->turns[1], "two"));
    CU_ASSERT_EQUAL_FATAL(b->n_turns, 1);
    CU_ASSERT(str_is(b->prompt, "p") && str_is(b->turns[0], "p"));
    golden_free(set);
    arena_free(arena);
}

static void write_file(struct arena *arena, const char *dir, const char *name, const char *text)
{
    struct err e = {0};
    const char *path = path_join(arena, dir, name);
    CU_ASSERT_EQUAL_FATAL(dir_make(path_dir(arena, path), &e), 0);
    CU_ASSERT_EQUAL_FATAL(file_replace(path, str_of(text), &e), 0);
}

static void included_sets_keep_their_defaults_and_folders(void)
{
    struct arena *arena = arena_new();
    const char *dir = testing_dir();
    struct golden_set *set;
    struct err e = {0};
    write_file(arena, dir, "set.yaml",
               HEAD "include: [sub/more.yaml, last.yaml]\n"
                    "models: [m1, {model: m2, provider: anthropic}]\n"
                    "defaults: {system: outer, fake: outer.yaml}\n"
                    "tasks: [{id: own, prompt: p}, {id: mute, prompt: p, fake: null}]\n");
    write_file(arena, dir, "sub/more.yaml",
               "version: 1\nname: more\nmodels: [other]\ninclude: deep.yaml\n"
               "defaults: {system: inner}\ntasks: [{id: b, prompt: p, fake: b.yaml}]\n");
    write_file(arena, dir, "sub/deep.yaml",
               "version: 1\nname: deep\ntasks: [{id: a, prompt: p}]\n");
    write_file(arena, dir, "last.yaml", "version: 1\nname: last\ntasks: [{id: c, prompt: p}]\n");
    CU_ASSERT_EQUAL_FATAL(golden_load(path_join(arena, dir, "set.yaml"), &set, &e), 0);
    static const char *const order[] = {"a", "b", "c", "own", "mute"};
    CU_ASSERT_EQUAL_FATAL(set->n_tasks, 5);
    CU_ASSERT(str_is(set->name, "s"));
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT(str_is(set->tasks[i].id, order[i]));
    }
    CU_ASSERT_PTR_NULL(set->tasks[0].system.p);
    CU_ASSERT(str_is(set->tasks[1].system, "inner"));
    CU_ASSERT(str_ends(str_of(set->tasks[1].fake), "/sub/b.yaml"));
    CU_ASSERT(str_ends(str_of(set->tasks[1].path), "/sub/more.yaml"));
    CU_ASSERT_PTR_NULL(set->tasks[2].fake);
    CU_ASSERT(str_ends(str_of(set->tasks[3].fake), "/outer.yaml"));
    CU_ASSERT(str_is(set->tasks[3].system, "outer"));
    CU_ASSERT_PTR_NULL(set->tasks[4].fake);
    CU_ASSERT_EQUAL(set->n_files, 4);
    CU_ASSERT_EQUAL_FATAL(set->n_models, 2);
    CU_ASSERT(str_is(set->models[0].name, "m1") && set->models[0].provider.n == 0);
    CU_ASSERT(str_is(set->models[1].name, "m2"));
    CU_ASSERT(str_is(set->models[1].provider, "anthropic"));
    golden_free(set);
    arena_free(arena);
}

/* A mistake in an included file is told with that file; a ring and an id that two files have too.
 */
static void mistakes_name_the_included_file(void)
{
    static const struct {
        const char *other;
        const char *file;
        uint32_t line;
        const char *says;
    } bad[] = {
        {"version: 1\nname: o\ntasks: [{id: x}]\n", "/other.yaml", 3, "prompt"},
        {"version: 1\nname: o\ninclude: set.yaml\n", "/other.yaml", 3, "includes itself"},
        {"version: 1\nname: o\ntasks: [{id: A, prompt: p}]\n", "/set.yaml", 4, "other.yaml"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct arena *arena = arena_new();
        const char *dir = testing_dir();
        struct golden_set *set;
        struct err e = {0};
        write_file(arena, dir, "set.yaml",
                   HEAD "include: other.yaml\ntasks: [{id: a, prompt: p}]\n");
        write_file(arena, dir, "other.yaml", bad[i].other);
        CU_ASSERT_EQUAL(golden_load(path_join(arena, dir, "set.yaml"), &set, &e), ERR_INPUT);
        CU_ASSERT(str_ends(str_of(e.file), bad[i].file));
        CU_ASSERT_EQUAL(e.line, bad[i].line);
        CU_ASSERT_PTR_NOT_NULL(strstr(e.message, bad[i].says));
        arena_free(arena);
    }
}

/* BOM, CRLF and anchors are no mistakes. */
static void what_editors_write_is_read(void)
{
    static const char *const texts[] = {
        "\xEF\xBB\xBF" HEAD "tasks:\n- {id: a, prompt: one}\n",
        "version: 1\r\nname: s\r\ntasks:\r\n- id: a\r\n  prompt: one\r\n",
        HEAD "tasks:\n- id: a\n  prompt: &p one\n- {id: b, prompt: *p}\n",
        HEAD "tasks:\n- &t\n  id: a\n  prompt: one\n- {<<: *t, id: b}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct arena *arena = arena_new();
        struct golden_set *set;
        struct err e = {0};
        int rc = load_text(arena, texts[i], &set, &e);
        if (rc != 0) {
            printf("\n  %s: %u:%u %s\n", texts[i], e.line, e.column, e.message);
        }
        CU_ASSERT_EQUAL_FATAL(rc, 0);
        CU_ASSERT(str_is(set->tasks[set->n_tasks - 1].prompt, "one"));
        golden_free(set);
        arena_free(arena);
    }
}

static void put_tasks(struct buf *out, size_t n)
{
    buf_addz(out, HEAD "tasks:\n");
    for (size_t i = 0; i < n; i++) {
        buf_fmt(out, "- {id: t%zu, prompt: p%zu, expect: {no_calls: true}}\n", i, i);
    }
    buf_char(out, '\0');
}

static void a_set_may_have_100000_tasks(void)
{
    for (size_t n = 100000; n <= 100001; n++) {
        struct arena *arena = arena_new();
        struct golden_set *set = NULL;
        struct err e = {0};
        struct buf text = {0};
        put_tasks(&text, n);
        int rc = load_text(arena, text.p, &set, &e);
        CU_ASSERT_EQUAL(rc, n == 100000 ? 0 : ERR_INPUT);
        if (rc == 0) {
            CU_ASSERT_EQUAL(set->n_tasks, n);
            struct findings all = {0};
            check_all(set->path, &all);
            CU_ASSERT_EQUAL(all.text.n, 0);
            buf_free(&all.text);
            golden_free(set);
        }
        buf_free(&text);
        arena_free(arena);
    }
}

static void expectations_are_read_as_written(void)
{
    struct arena *arena = arena_new();
    struct golden_set *set;
    struct err e = {0};
    int rc = load_text(arena,
                       TASK "  expect:\n"
                            "    calls:\n"
                            "      mode: any_order\n"
                            "      extra_args: ignore\n"
                            "      list:\n"
                            "      - now\n"
                            "      - parallel: [a, {b: {x: 1}}]\n"
                            "      - c: {}\n"
                            "      - parallel: [d]\n"
                            "    forbid: [f, g]\n"
                            "    limits: {steps: 3, calls: 2, tokens: 5000, cost_usd: 0.01, "
                            "seconds: 1.5}\n"
                            "    status: max_steps\n",
                       &set, &e);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    const struct golden_expect *x = &set->tasks[0].expect;
    static const char *const names[] = {"now", "a", "b", "c", "d"};
    static const uint32_t groups[] = {0, 1, 1, 0, 2};
    CU_ASSERT_TRUE(x->has_calls);
    CU_ASSERT_EQUAL(x->mode, GOLDEN_ANY_ORDER);
    CU_ASSERT_TRUE(x->ignore_extra_args);
    CU_ASSERT_EQUAL_FATAL(x->n_calls, 5);
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT(str_is(x->calls[i].name, names[i]));
        CU_ASSERT_EQUAL(x->calls[i].group, groups[i]);
    }
    CU_ASSERT_PTR_NULL(x->calls[0].args);
    CU_ASSERT_PTR_NOT_NULL(x->calls[3].args);
    CU_ASSERT_EQUAL(x->n_forbid, 2);
    CU_ASSERT_EQUAL(x->max_steps, 3);
    CU_ASSERT_EQUAL(x->max_calls, 2);
    CU_ASSERT_EQUAL(x->max_tokens, 5000);
    CU_ASSERT_EQUAL(x->max_cost_nano, 10000000);
    CU_ASSERT_EQUAL(x->max_ms, 1500);
    CU_ASSERT_EQUAL(x->status, RUN_MAX_STEPS);
    golden_free(set);
    arena_free(arena);
}

static void tasks_that_name_the_same_tool_file_share_it(void)
{
    struct arena *arena = arena_new();
    const char *dir = testing_dir();
    struct golden_set *set;
    struct err e = {0};
    const char *path = path_join(arena, dir, "set.yaml");
    CU_ASSERT_EQUAL_FATAL(file_replace(path_join(arena, dir, "t.yaml"),
                                       STR("version: 1\ntools: [{builtin: now}]\n"), &e),
                          0);
    CU_ASSERT_EQUAL_FATAL(
        file_replace(path,
                     STR(HEAD "defaults: {tools: t.yaml}\ntasks:\n- {id: a, prompt: p}\n"
                              "- {id: b, prompt: p, tools: t.yaml}\n"
                              "- {id: c, prompt: p, tools: [{builtin: now}]}\n"),
                     &e),
        0);
    CU_ASSERT_EQUAL_FATAL(golden_load(path, &set, &e), 0);
    CU_ASSERT_PTR_EQUAL(set->tasks[0].tools, set->tasks[1].tools);
    CU_ASSERT_PTR_NOT_EQUAL(set->tasks[0].tools, set->tasks[2].tools);
    golden_free(set);
    arena_free(arena);
}

/* ---- findings ---- */

/* A tool with a parameter of each type, and one task that expects a call of it. */
static const char quote_begins[] = TASK "  expect: {calls: {list: [{quote: {";
static const char quote_ends[] =
    "}}]}}\n"
    "  tools:\n"
    "  - name: quote\n"
    "    answers: [{result: 1}]\n"
    "    parameters:\n"
    "      type: object\n"
    "      properties:\n"
    "        sku: {type: string}\n"
    "        quantity: {type: integer}\n"
    "        price: {type: [number, \"null\"]}\n"
    "        tags: {type: array, items: {type: string}}\n"
    "        to: {type: object, properties: {city: {type: string}, reach: {type: integer}}}\n"
    "        free: {}\n";

/* What an expectation can never meet, and what it can. */
static const struct {
    const char *args;
    const char *code; /* NULL = nothing is found */
    const char *at;   /* what the place of the finding shows */
    const char *says;
} argument_cases[] = {
    {"sku: {contians: a}", "unknown_matcher", "contians", "did you mean \"contains\"?"},
    {"free: {equls: a}", "unknown_matcher", "equls", "stands under equals"},
    {"to: {city: {contians: a}}", "unknown_matcher", "contians", "no matcher"},
    {"tags: [{optinal: a}]", "unknown_matcher", "optinal", "optional"},
    {"free: {one_of: [{containz: a}, b]}", "unknown_matcher", "containz", "contains"},
    {"to: {reach: 5}", NULL, "", ""},
    {"free: {a: {b: [1, {c: 2}]}}", NULL, "", ""},
    {"quantity: {a: 1, b: 2}", "bad_argument", "{a: 1",
     "\"quantity\" is an integer in the schema of the tool \"quote\"; a map can never equal it; "
     "matchers are: equals, one_of, regex, contains, near, range, any, absent, optional, each, "
     "unordered"},
    {"quantity: '2'", "bad_argument", "'2'", "a string can never equal it"},
    {"quantity: 2.5", "bad_argument", "2.5", "a number with a fraction"},
    {"quantity: 2.0", NULL, "", ""},
    {"quantity: [2]", "bad_argument", "[2]", "a list can never equal it"},
    {"quantity: {equals: {a: 1}}", "bad_argument", "{a: 1", "a map can never equal"},
    {"quantity: {regex: '2'}", "bad_argument", "{regex", "a regex can never match it"},
    {"quantity: {each: 2}", "bad_argument", "{each", "a matcher of lists"},
    {"quantity: {one_of: [2, '2']}", NULL, "", ""},
    {"quantity: {optional: {range: [1, 2]}}", NULL, "", ""},
    {"sku: {range: [1, 2]}", "bad_argument", "{range", "a range of numbers"},
    {"price: x", "bad_argument", "x", "is a number or null in"},
    {"price: null", NULL, "", ""},
    {"price: 2.5", NULL, "", ""},
    {"tags: [a, 5]", "bad_argument", "[a, 5]", "tags"},
    {"tags: [{any: true}, 5]", "bad_argument", "5]", "\"tags\" is a string"},
    {"tags: {each: {range: [1, 2]}}", "bad_argument", "{range", "range"},
    {"tags: {unordered: [a, {regex: b}]}", NULL, "", ""},
    {"tags: {contains: a}", NULL, "", ""},
    {"to: {city: 5}", "bad_argument", "5", "\"to.city\" is a string"},
    {"to: {equals: {city: Oslo}}", NULL, "", ""},
    {"to: {equals: {city: 5}}", "bad_argument", "{city", "city"},
    {"to: {cty: Oslo}", "unknown_parameter", "cty", "\"cty\" in \"to\"; did you mean \"city\"?"},
    {"quantty: 2", "unknown_parameter", "quantty", "did you mean \"quantity\"?"},
    {"note: {absent: true}", NULL, "", ""},
};

struct one_finding {
    size_t n;
    size_t at; /* column, from 0, behind what stands before the arguments */
    struct buf text;
};

static void note_one(void *ctx, const struct finding *f)
{
    struct one_finding *one = ctx;
    one->n++;
    one->at = f->column - sizeof "  expect: {calls: {list: [{quote: {";
    buf_clear(&one->text);
    buf_fmt(&one->text, "%s: %.*s", f->code, STR_FMT(f->message));
    CU_ASSERT_EQUAL(f->line, 6);
}

static void no_mistake(void *ctx, const struct err *e)
{
    (void)ctx;
    printf("\n  %u:%u %s\n", e->line, e->column, e->message);
    CU_FAIL("it must load");
}

static void arguments_that_can_never_come_are_found(void)
{
    for (size_t i = 0; i < sizeof argument_cases / sizeof argument_cases[0]; i++) {
        struct arena *arena = arena_new();
        const char *args = argument_cases[i].args;
        const char *code = argument_cases[i].code;
        struct one_finding one = {0};
        struct str text = arena_printf(arena, "%s%s%s", quote_begins, args, quote_ends);
        golden_check(write_set(arena, text), no_mistake, note_one, &one);
        bool right = code == NULL ? one.n == 0
                                  : one.n == 1 && one.at < strlen(args) &&
                                        str_starts(str_of(args + one.at), argument_cases[i].at) &&
                                        str_starts(buf_str(&one.text), code) &&
                                        str_find(buf_str(&one.text),
                                                 str_of(argument_cases[i].says)) != SIZE_MAX;
        if (!right) {
            printf("\n  %s: %zu findings, at %zu %.*s\n", args, one.n, one.at,
                   STR_FMT(buf_str(&one.text)));
        }
        CU_ASSERT_TRUE(right);
        buf_free(&one.text);
        arena_free(arena);
    }
}

static void doubts_are_found_with_their_places(void)
{
    static const struct {
        const char *yaml;
        const char *want;
    } cases[] = {
        {TASK, "4:3 warning expects_nothing\n"},
        {TASK "  fake: none.yaml\n  expect: {answer: a}\n", "6:9 error missing_script\n"},
        {TASK "  fake: set.yaml\n  expect: {answer: a}\n", "2:1 error bad_script\n"},
        {TASK "  expect: {calls: {list: [nwo]}}\n  tools: [{builtin: now}]\n",
         "6:27 error unknown_tool\n"},
        {TASK "  expect: {calls: {list: [task_done]}}\n  tools: [{builtin: task_done}]\n",
         "6:27 error terminal_call\n"},
        {TASK "  expect: {calls: {list: [now]}, forbid: [now, pay]}\n"
              "  tools: [{builtin: now}]\n",
         "6:27 error forbidden_call\n4:3 warning unknown_forbidden_tool\n"},
        {TASK "  expect: {calls: {list: [{search_docs: {query: 5, limit: 9, qury: a}}]}}\n"
              "  tools: [{builtin: search_docs}]\n",
         "6:49 error bad_argument\n6:59 error bad_argument\n6:62 error unknown_parameter\n"},
        {TASK "  expect: {calls: {list: [{search_docs: {query: {regex: a}, limit: {range: [1, "
              "9]}}}]}}\n  tools: [{builtin: search_docs}]\n",
         ""},
        {TASK "  expect: {calls: {list: [{search_docs: {query: {equals: 5}}}]}}\n"
              "  tools: [{builtin: search_docs}]\n",
         "6:58 error bad_argument\n"},
        {TASK "  expect: {no_calls: true}\n  tools:\n  - name: a\n    command: [no-such-program]\n"
              "  - name: b\n    parameters: {type: object, properties: {}, required: [x]}\n"
              "    answers: [{when: {y: 1}, result: 1}]\n",
         "9:15 warning missing_program\n11:59 warning undeclared_required\n"
         "12:23 warning unknown_when_parameter\n"},
        {TASK "  expect: {no_calls: true}\n", ""},
        {TASK "  expect: {limits: {steps: 1}}\n", ""},
        {TASK "  expect: {status: max_steps}\n", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *arena = arena_new();
        struct findings all = {0};
        check_all(write_set(arena, str_of(cases[i].yaml)), &all);
        buf_char(&all.text, '\0');
        CHECK_TEXT(all.text.p, cases[i].want);
        buf_free(&all.text);
        arena_free(arena);
    }
}

/* Every task's first mistake, broken tools once, and the doubts of the tasks that are right. */
static void a_check_goes_on_behind_a_mistake(void)
{
    struct arena *arena = arena_new();
    struct findings all = {0};
    check_all(
        write_set(arena, STR(HEAD "defaults: {tools: [{builtin: nwo}]}\ntasks:\n"
                                  "- {id: a, prompt: 5}\n"
                                  "- {id: b, prompt: p, tools: [], expect: {status: done}}\n"
                                  "- {id: c, prompt: p, tools: [{builtin: now}]}\n"
                                  "- {id: d, prompt: p}\n"
                                  "- {id: e, prompt: p}\n"
                                  "- {id: f, prompt: p, tools: [], expect: {calls: {list: [{x: {y: "
                                  "{regex: a}}}, 5]}}}\n"
                                  "- {id: C, prompt: p, tools: []}\n")),
        &all);
    buf_char(&all.text, '\0');
    static const char *const lines[] = {
        "5:19 \"prompt\"",
        "\n6:50 \"status\"",
        "\n3:30 there is no built-in",
        "\n10:79 expected a tool's",
        "\n11:3 the id \"C\" is taken",
        "\n7:3 warning expects_nothing\n11:3 warning expects_nothing\n"};
    size_t at = 0;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct str rest = str_slice(buf_str(&all.text), at, all.text.n);
        size_t found = str_find(rest, str_of(lines[i]));
        CU_ASSERT_NOT_EQUAL(found, SIZE_MAX);
        if (found == SIZE_MAX) {
            printf("\n  no %s in %s\n", lines[i], all.text.p);
            break;
        }
        at += found + 1;
    }
    size_t n = 0;
    for (size_t i = 0; i < all.text.n; i++) {
        n += all.text.p[i] == '\n';
    }
    CU_ASSERT_EQUAL(n, sizeof lines / sizeof lines[0] + 1);
    buf_free(&all.text);
    arena_free(arena);
}

static void a_file_that_is_no_set_is_one_mistake(void)
{
    struct findings all = {0};
    check_all("no/such/set.yaml", &all);
    buf_char(&all.text, '\0');
    CHECK_TEXT(all.text.p, "0:0 there is no such file; check the path\n");
    buf_free(&all.text);
}

/* ---- what we ship ---- */

static void check_schema(struct arena *arena, const char *schema_path, const char *path)
{
    struct err e = {0};
    struct str text;
    struct val *root;
    struct val *v;
    struct schema *schema;
    struct buf why = {0};
    CU_ASSERT_EQUAL_FATAL(file_read(arena, schema_path, 1 << 20, &text, &e), 0);
    CU_ASSERT_EQUAL_FATAL(json_parse(arena, NULL, text, &root, &e), 0);
    CU_ASSERT_EQUAL_FATAL(schema_new(root, SCHEMA_2020_12, &schema, &e), 0);
    CU_ASSERT_EQUAL_FATAL(file_read(arena, path, 1 << 20, &text, &e), 0);
    CU_ASSERT_EQUAL_FATAL(yaml_parse(arena, path, text, YAML_CORE, &v, &e), 0);
    bool valid = schema_valid(schema, v, &why);
    buf_char(&why, '\0');
    CHECK_TEXT(valid ? "" : why.p, "");
    struct val wrong = *v;
    wrong.count--; /* the last key, which is required, is gone */
    CU_ASSERT_FALSE(schema_valid(schema, &wrong, NULL));
    buf_free(&why);
    schema_free(schema);
}

static void shipped_files_fit_their_schemas(void)
{
    struct arena *arena = arena_new();
    check_schema(arena, "goldens/schema/golden.schema.json", "goldens/quickstart.yaml");
    check_schema(arena, "goldens/schema/tools.schema.json", "goldens/quickstart/tools.yaml");
    check_schema(arena, "goldens/schema/golden.schema.json", "goldens/order-desk/order-desk.yaml");
    check_schema(arena, "goldens/schema/tools.schema.json", "goldens/order-desk/tools.yaml");
    check_schema(arena, "goldens/schema/golden.schema.json", "cli/init/first.golden.yaml");
    check_schema(arena, "goldens/schema/tools.schema.json", "cli/init/first.tools.yaml");
    arena_free(arena);
}

static void the_quickstart_set_raises_no_doubts(void)
{
    struct golden_set *set;
    struct err e = {0};
    struct findings all = {0};
    CU_ASSERT_EQUAL_FATAL(golden_load("goldens/quickstart.yaml", &set, &e), 0);
    CU_ASSERT(set->n_tasks >= 12);
    check_all(set->path, &all);
    buf_char(&all.text, '\0');
    CHECK_TEXT(all.text.p, "");
    buf_free(&all.text);
    golden_free(set);
}

TESTS(golden_load, {"names_the_place_of_every_mistake", names_the_place_of_every_mistake},
      {"tells_a_missing_file_from_a_bad_one", tells_a_missing_file_from_a_bad_one},
      {"tasks_inherit_and_override_the_defaults", tasks_inherit_and_override_the_defaults},
      {"expectations_are_read_as_written", expectations_are_read_as_written},
      {"turns_stand_in_place_of_a_prompt", turns_stand_in_place_of_a_prompt},
      {"included_sets_keep_their_defaults_and_folders",
       included_sets_keep_their_defaults_and_folders},
      {"mistakes_name_the_included_file", mistakes_name_the_included_file},
      {"what_editors_write_is_read", what_editors_write_is_read},
      {"a_set_may_have_100000_tasks", a_set_may_have_100000_tasks},
      {"tasks_that_name_the_same_tool_file_share_it", tasks_that_name_the_same_tool_file_share_it},
      {"doubts_are_found_with_their_places", doubts_are_found_with_their_places},
      {"arguments_that_can_never_come_are_found", arguments_that_can_never_come_are_found},
      {"a_check_goes_on_behind_a_mistake", a_check_goes_on_behind_a_mistake},
      {"a_file_that_is_no_set_is_one_mistake", a_file_that_is_no_set_is_one_mistake},
      {"shipped_files_fit_their_schemas", shipped_files_fit_their_schemas},
      {"the_quickstart_set_raises_no_doubts", the_quickstart_set_raises_no_doubts})
