#include "ci/testing/testing.h"
#include "fakellm/fake.h"
#include "goldens/golden.h"
#include "kernel/base/json.h"
#include "kernel/base/schema.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

#include <stdio.h>
#include <string.h>

#define SET_FILE       "goldens/schema/golden.schema.json"
#define TOOLS_FILE     "goldens/schema/tools.schema.json"
#define SCRIPT_FILE    "fakellm/script.schema.json"
#define PRICES_FILE    "kernel/drive/prices.schema.json"
#define DECISIONS_FILE "cli/decisions.schema.json"

static const char *const schema_files[] = {SET_FILE, TOOLS_FILE, SCRIPT_FILE, PRICES_FILE,
                                           DECISIONS_FILE};

static const struct val *read_schema(struct arena *arena, const char *path)
{
    struct err e;
    struct str text;
    struct val *root;
    CU_ASSERT_EQUAL_FATAL(file_read(arena, path, 1 << 20, &text, &e), 0);
    CU_ASSERT_EQUAL_FATAL(json_parse(arena, path, text, &root, &e), 0);
    return root;
}

/* The definition that a "#/$defs/NAME" leads to, else the schema itself. */
static const struct val *resolved(const struct val *root, const struct val *schema)
{
    struct str ref = val_text(val_get(schema, "$ref"));
    return str_starts(ref, "#/$defs/")
               ? val_find(val_get(root, "$defs"), str_slice(ref, sizeof "#/$defs/" - 1, ref.n))
               : schema;
}

/* Counts the keys that people may write, and names those that nothing describes. */
static size_t count_keys(const struct val *root, const struct val *v, const char *file)
{
    size_t n = 0;
    bool closed = val_is(val_get(v, "additionalProperties"), VAL_BOOL);
    for (size_t i = 0; v->kind == VAL_OBJECT && i < v->count; i++) {
        n += count_keys(root, &v->members[i].value, file);
        if (!closed || !str_is(v->members[i].key, "properties")) {
            continue;
        }
        const struct val *properties = &v->members[i].value;
        for (size_t j = 0; j < properties->count; j++) {
            const struct val *key = &properties->members[j].value;
            bool described = val_text(val_get(key, "description")).n > 0 ||
                             val_text(val_get(resolved(root, key), "description")).n > 0;
            if (!described) {
                printf("\n  %s: %.*s has no description\n", file,
                       STR_FMT(properties->members[j].key));
            }
            CU_ASSERT_TRUE(described);
            n++;
        }
    }
    for (size_t i = 0; v->kind == VAL_ARRAY && i < v->count; i++) {
        n += count_keys(root, &v->items[i], file);
    }
    return n;
}

static void every_key_is_described(void)
{
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof schema_files / sizeof schema_files[0]; i++) {
        const struct val *root = read_schema(arena, schema_files[i]);
        CU_ASSERT(count_keys(root, root, schema_files[i]) >= 5);
    }
    arena_free(arena);
}

#define SET(task)       SET_FILE, "{version: 1, name: s, tasks: [{id: a, prompt: p, " task "}]}"
#define EXPECT(expect)  SET("expect: {" expect "}")
#define CALL(args)      EXPECT("calls: {list: [{t: {" args "}}]}")
#define TOOL(tool)      TOOLS_FILE, "{version: 1, tools: [{" tool "}]}"
#define DECISIONS(rule) DECISIONS_FILE, "{version: 1, decisions: [{" rule "}]}"
#define STEP(step)      SCRIPT_FILE, "{version: 1, steps: [{" step "}]}"

/* What the loaders take and refuse by form alone, the schemas take and refuse too. */
static const struct {
    bool good;
    const char *schema;
    const char *yaml;
} cases[] = {
    {true, SET("tags: [x]")},
    {true, SET("tools: [{builtin: now}], system: null, budget: {steps: 1, cost_usd: 0.5}")},
    {true, SET("fake: x.yaml, turns: null")},
    {true, SET_FILE, "{version: 1, name: s, tasks: [{id: a, turns: [{user: x}, {user: y}]}]}"},
    {true, SET_FILE,
     "{version: 1, name: s, models: [x, {model: y, provider: anthropic}], defaults: {fake: f}, "
     "tasks: [{id: a, prompt: p}]}"},
    {true, EXPECT("answer: hi, forbid: [x], no_calls: false, limits: {seconds: 1.5}")},
    {true, EXPECT("answer: {all: [{not: {contains: a}}, {json: {path: a, near: {value: 1, "
                  "within: 0}}}]}")},
    {true, EXPECT("calls: {list: [now, {parallel: [a, {b: {}}]}]}")},
    {true, EXPECT("answer: {any: [{rubric: is kind}, {not: {rubric: is rude}}]}")},
    {true, SET_FILE, "{version: 1, name: s, judge: m, tasks: [{id: a, prompt: p}]}"},
    {true, SET_FILE,
     "{version: 1, name: s, judge: {model: m, provider: anthropic, fake: f.yaml}, tasks: [{id: a, "
     "prompt: p}]}"},
    {false, SET_FILE, "{version: 1, name: s, judge: '', tasks: [{id: a, prompt: p}]}"},
    {false, SET_FILE,
     "{version: 1, name: s, judge: {provider: openai}, tasks: [{id: a, prompt: p}]}"},
    {false, SET_FILE,
     "{version: 1, name: s, judge: {model: m, script: x}, tasks: [{id: a, prompt: p}]}"},
    {false, SET_FILE,
     "{version: 1, name: s, judge: {model: m, provider: x}, tasks: [{id: a, prompt: p}]}"},
    {true, CALL("x: {regex: a}, y: {a: 1, b: [1, {any: true}]}, z: {equals: {regex: 5}}")},
    {true, CALL("x: {optional: {one_of: [1, {range: [1, 2]}]}}, y: {each: {contains: a}}")},
    {true, TOOL("builtin: now, tier: read")},
    {true, TOOL("name: a, command: [sh]")},
    {true, TOOL("name: a, terminal: true")},
    {true, TOOL("name: a, terminal: true, answers: [{result: null, when: {x: 1}}]")},
    {true, STEP("fault: {kind: drip, bytes: 3}, reply: {text: a}")},
    {true, STEP("expect: {last_tool: {absent: true}}, reply: {calls: [{name: a}]}")},
    {true, DECISIONS_FILE, "{version: 1, decisions: []}"},
    {true, DECISIONS("tool: a, when: {x: {range: [1, 2]}}, decision: always")},
    {true, DECISIONS("tool: a, decision: deny, when: null")},
    {false, DECISIONS_FILE, "{version: 1}"},
    {false, DECISIONS_FILE, "{decisions: []}"},
    {false, DECISIONS("tool: a")},
    {false, DECISIONS("decision: allow")},
    {false, DECISIONS("tool: '', decision: allow")},
    {false, DECISIONS("tool: a, decision: ask")},
    {false, DECISIONS("tool: a, decision: allow, if: {}")},
    {false, DECISIONS("tool: a, when: [], decision: allow")},
    {false, SET_FILE, "{version: 1, name: s}"},
    {false, SET_FILE, "{version: 1, name: '', tasks: [{id: a, prompt: p}]}"},
    {false, SET_FILE, "{version: 1, name: a b, tasks: [{id: a, prompt: p}]}"},
    {false, SET_FILE, "{version: 2, name: s, tasks: [{id: a, prompt: p}]}"},
    {false, SET_FILE, "{version: 1, name: s, tasks: []}"},
    {false, SET_FILE, "{version: 1, name: s, tasks: [{id: .a, prompt: p}]}"},
    {false, SET_FILE, "{version: 1, name: s, tasks: [{id: a}]}"},
    {false, SET_FILE, "{version: 1, name: s, tasks: [{id: a, turns: []}]}"},
    {false, SET_FILE, "{version: 1, name: s, tasks: [{id: a, turns: [x]}]}"},
    {false, SET_FILE, "{version: 1, name: s, tasks: [{id: a, turns: [{user: ''}]}]}"},
    {false, SET_FILE, "{version: 1, name: s, tasks: [{id: a, turns: null}]}"},
    {false, SET_FILE, "{version: 1, name: s, models: [], tasks: [{id: a, prompt: p}]}"},
    {false, SET_FILE, "{version: 1, name: s, models: [5], tasks: [{id: a, prompt: p}]}"},
    {false, SET_FILE, "{version: 1, name: s, models: [{}], tasks: [{id: a, prompt: p}]}"},
    {false, SET_FILE,
     "{version: 1, name: s, models: [{model: x, provider: y}], tasks: [{id: a, prompt: p}]}"},
    {false, SET_FILE, "{version: 1, name: s, include: []}"},
    {false, SET_FILE, "{version: 1, name: s, include: null}"},
    {false, SET_FILE, "{version: 1, name: s, tasks: null}"},
    {false, SET_FILE, "{version: 1, name: s, include: ''}"},
    {false, SET_FILE, "{version: 1, name: s, include: [5]}"},
    {false, SET_FILE, "{version: 1, name: s, include: {}}"},
    {false, SET("turns: [{user: x}]")},
    {false, SET("tag: x")},
    {false, SET("budget: {steps: 0}")},
    {false, SET("trials: 0")},
    {false, SET("tools: {}")},
    {false, EXPECT("calls: {}")},
    {false, EXPECT("calls: {mode: some, list: []}")},
    {false, EXPECT("calls: {list: [{a: {}, b: {}}]}")},
    {false, EXPECT("calls: {list: [{a: 5}]}")},
    {false, EXPECT("calls: {list: [{parallel: []}]}")},
    {false, EXPECT("answer: 5")},
    {false, EXPECT("answer: {contains: a, regex: b}")},
    {false, EXPECT("answer: {number: {within: 1}}")},
    {false, EXPECT("answer: {json: {path: a}}")},
    {false, EXPECT("answer: {rubric: ''}")},
    {false, EXPECT("answer: {rubric: ' '}")},
    {false, EXPECT("answer: {rubric: [a]}")},
    {false, EXPECT("status: done")},
    {false, EXPECT("limits: {steps: 0}")},
    {false, CALL("x: {regex: 5}")},
    {false, CALL("x: {regex: a, b: 1}")},
    {false, CALL("x: {near: {value: 1}}")},
    {false, CALL("x: {range: [1]}")},
    {false, CALL("x: {a: {one_of: []}}")},
    {false, CALL("x: [{any: false}]")},
    {false, TOOL("name: a")},
    {false, TOOL("command: [sh]")},
    {false, TOOL("name: a b, command: [sh]")},
    {false, TOOL("name: a, command: []")},
    {false, TOOL("name: a, command: [sleep, 5]")},
    {false, TOOL("name: a, command: [sh], answers: [{result: 1}]")},
    {false, TOOL("name: a, terminal: false")},
    {false, TOOL("name: a, builtin: now")},
    {false, TOOL("builtin: then")},
    {false, TOOL("builtin: now, command: [sh]")},
    {true, TOOL("name: a, http: {url: 'http://x'}")},
    {true, TOOL("name: a, terminal: true, http: {url: 'HTTPS://x:1/y?z', method: GET}")},
    {true, TOOL("name: a, http: {url: 'http://x', headers: {A: 'b ${C}'}}")},
    {true, TOOL("builtin: read_file, root: x")},
    {false, TOOL("builtin: read_file")},
    {false, TOOL("builtin: read_file, root: ''")},
    {false, TOOL("builtin: now, root: x")},
    {false, TOOL("name: a, command: [sh], root: x")},
    {false, TOOL("name: a, http: {}")},
    {false, TOOL("name: a, http: {url: 'ftp://x'}")},
    {false, TOOL("name: a, http: {url: 'http:///x'}")},
    {false, TOOL("name: a, http: {url: 'http://u@x'}")},
    {false, TOOL("name: a, http: {url: 'http://x/#y'}")},
    {false, TOOL("name: a, http: {url: 'http://x', method: get}")},
    {false, TOOL("name: a, http: {url: 'http://x', headers: {A: 1}}")},
    {false, TOOL("name: a, http: {url: 'http://x'}, answers: [{result: 1}]")},
    {false, TOOL("name: a, answers: [{result: 1, error: {message: b}}]")},
    {false, TOOL("name: a, answers: [{error: {code: b}}]")},
    {false, TOOL("name: a, answers: [{when: {x: 1}}]")},
    {false, TOOL("name: a, command: [sh], parameters: {type: string}")},
    {false, TOOL("name: a, command: [sh], timeout: 5")},
    {false, SCRIPT_FILE, "{version: 1}"},
    {false, SCRIPT_FILE, "{version: 1, steps: [{reply: {}}], rules: [{reply: {}}]}"},
    {false, SCRIPT_FILE, "{version: 1, rules: [{reply: {}, repeat: 2}]}"},
    {false, STEP("repeat: 2")},
    {false, STEP("reply: {txt: a}")},
    {false, STEP("reply: {}, repeat: always")},
    {false, STEP("reply: {chunk: {bytes: 1, tokens: 1}}")},
    {false, STEP("reply: {}, fault: {status: 500}")},
    {false, STEP("fault: {status: 200}")},
    {false, STEP("fault: {kind: drip, after_bytes: 3}")},
    {false, STEP("fault: {kind: hang, message: a}")},
    {false, STEP("fault: {kind: hang, status: 500}")},
    {false, STEP("reply: {}, expect: {last_user: {like: a}}")},
};

/* Whether the loader that the schema describes takes the text; decisions are the program's own. */
static bool loads(struct arena *arena, const char *schema, const char *yaml)
{
    const char *path = path_join(arena, testing_dir(), "file.yaml");
    struct err e = {0};
    int rc = file_replace(path, str_of(yaml), &e);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    if (strcmp(schema, SET_FILE) == 0) {
        struct golden_set *set = NULL;
        rc = golden_load(path, &set, &e);
        golden_free(rc == 0 ? set : NULL);
    } else if (strcmp(schema, TOOLS_FILE) == 0) {
        struct toolset *tools = toolset_new();
        rc = toolset_add_file(tools, path, &e);
        toolset_free(tools);
    } else {
        struct fake_script *script = NULL;
        rc = fake_load(path, &script, &e);
        fake_free(rc == 0 ? script : NULL);
    }
    return rc == 0;
}

static void schemas_agree_with_the_loaders(void)
{
    struct arena *arena = arena_new();
    struct err e;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct val *v;
        struct schema *schema;
        struct buf why = {0};
        const struct val *root = read_schema(arena, cases[i].schema);
        CU_ASSERT_EQUAL_FATAL(schema_new(root, SCHEMA_2020_12, &schema, &e), 0);
        CU_ASSERT_EQUAL_FATAL(yaml_parse(arena, NULL, str_of(cases[i].yaml), YAML_CORE, &v, &e), 0);
        bool valid = schema_valid(schema, v, &why);
        if (valid != cases[i].good) {
            printf("\n  %s: %s%.*s\n", cases[i].yaml, valid ? "is taken" : "", STR_FMT(why));
        }
        CU_ASSERT_EQUAL(valid, cases[i].good);
        bool taken = strcmp(cases[i].schema, DECISIONS_FILE) == 0
                         ? cases[i].good
                         : loads(arena, cases[i].schema, cases[i].yaml);
        if (taken != cases[i].good) {
            printf("\n  the loader %s %s\n", taken ? "takes" : "refuses", cases[i].yaml);
        }
        CU_ASSERT_EQUAL(taken, cases[i].good);
        buf_free(&why);
        schema_free(schema);
    }
    arena_free(arena);
}

TESTS(schemas, {"every_key_of_the_schemas_is_described", every_key_is_described},
      {"schemas_agree_with_the_loaders", schemas_agree_with_the_loaders})
