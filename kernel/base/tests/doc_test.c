#include "kernel/base/doc.h"

#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/yaml.h"

static const char *const task_keys[] = {"id", "prompt", "steps", "tags", "budget", "mode", NULL};
static const char *const modes[] = {"exact", "in_order", "any_order", NULL};

/* Reads one document and hands it to `read`; *e is its error. */
static int with(const char *text, int (*read)(struct doc, const struct val *, struct err *),
                struct err *e)
{
    struct doc d = {arena_new(), "set.yaml"};
    struct val *v = NULL;
    *e = (struct err){.code = 0};
    int rc = yaml_parse(d.arena, d.file, str_of(text), YAML_CORE, &v, e);
    if (rc == 0) {
        rc = read(d, v, e);
    }
    arena_free(d.arena);
    return rc;
}

static int read_keys(struct doc d, const struct val *v, struct err *e)
{
    return doc_keys(d, v, "a task", task_keys, e);
}

static int read_task(struct doc d, const struct val *v, struct err *e)
{
    struct str id;
    int64_t steps = 0, seconds = 0;
    bool serial = false;
    int mode = 0;
    const struct val *list = NULL, *map = NULL;
    int rc = doc_str(d, v, "id", DOC_REQUIRED, &id, e);
    rc = rc != 0 ? rc : doc_int(d, v, "steps", DOC_OPTIONAL, 1, 1000000, &steps, e);
    rc = rc != 0 ? rc : doc_int(d, v, "seed", DOC_OPTIONAL, 0, INT64_MAX, &steps, e);
    rc = rc != 0 ? rc : doc_int(d, v, "any", DOC_OPTIONAL, INT64_MIN, INT64_MAX, &steps, e);
    rc = rc != 0 ? rc : doc_scaled(d, v, "seconds", 3, 0, 86400000, &seconds, e);
    rc = rc != 0 ? rc : doc_scaled(d, v, "least", 9, 1, 1500000000, &seconds, e);
    rc = rc != 0 ? rc : doc_bool(d, v, "serial", &serial, e);
    rc = rc != 0 ? rc : doc_list(d, v, "tags", DOC_OPTIONAL, &list, e);
    rc = rc != 0 ? rc : doc_map(d, v, "budget", DOC_OPTIONAL, &map, e);
    return rc != 0 ? rc : doc_enum(d, v, "mode", modes, &mode, e);
}

struct doc_case {
    const char *text;
    const char *want; /* line:column message; "" = no error */
};

static void check(const struct doc_case *cases, size_t n,
                  int (*read)(struct doc, const struct val *, struct err *))
{
    for (size_t i = 0; i < n; i++) {
        struct err e;
        char got[2048] = "";
        int rc = with(cases[i].text, read, &e);
        if (rc != 0) {
            CU_ASSERT_EQUAL(rc, ERR_INPUT);
            CU_ASSERT(str_starts(str_of(err_text(&e, got, sizeof got)), "set.yaml:"));
        }
        CHECK_TEXT(rc == 0 ? "" : got + strlen("set.yaml:"), cases[i].want);
    }
}

#define CHECK(cases, read) check(cases, sizeof(cases) / sizeof(cases)[0], read)

static void unknown_keys(void)
{
    static const struct doc_case cases[] = {
        {"{id: a, prompt: b}", ""},
        {"id: a\npromt: b\n", "2:1: unknown key \"promt\" in a task; did you mean \"prompt\"?"},
        {"id: a\nzzzzzz: b\n",
         "2:1: unknown key \"zzzzzz\" in a task; known keys are \"id\", \"prompt\", \"steps\", "
         "\"tags\", \"budget\", \"mode\""},
        {"[a]", "1:1: expected a map for a task (keys \"id\", \"prompt\", \"steps\", \"tags\", "
                "\"budget\", \"mode\"), got a list"},
    };
    CHECK(cases, read_keys);
}

static void types_and_ranges(void)
{
    static const struct doc_case cases[] = {
        {"{id: a, steps: 3.0, serial: true, tags: [], budget: {}, mode: in_order}", ""},
        {"{id: a, steps: null, serial: null, tags: null, budget: null, mode: null}", ""},
        {"{steps: 1}", "1:1: \"id\" is missing here; it is required"},
        {"{id: null}", "1:6: \"id\" is required, got null"},
        {"{id: 5}", "1:6: \"id\" must be a string (put it in quotes), got a number 5"},
        {"{id: [a]}", "1:6: \"id\" must be a string, got a list"},
        {"id: a\nsteps: \"x\"\n",
         "2:8: \"steps\" must be a whole number between 1 and 1000000, got a string \"x\""},
        {"{id: a, steps: 0}",
         "1:16: \"steps\" must be a whole number between 1 and 1000000, got a number 0"},
        {"{id: a, steps: 1.5}",
         "1:16: \"steps\" must be a whole number between 1 and 1000000, got a number 1.5"},
        {"{id: a, seed: -1}",
         "1:15: \"seed\" must be a whole number of at least 0, got a number -1"},
        {"{id: a, any: 99999999999999999999}",
         "1:14: \"any\" must be a whole number, got a number 99999999999999999999"},
        {"{id: a, seconds: 0.5}", ""},
        {"{id: a, seconds: 86400.001}",
         "1:18: \"seconds\" must be a number between 0 and 86400, got a number 86400.001"},
        {"{id: a, least: 0}",
         "1:16: \"least\" must be a number between 0.000000001 and 1.5, got a number 0"},
        {"{id: a, serial: \"true\"}",
         "1:17: \"serial\" must be true or false, got a string \"true\""},
        {"{id: a, tags: x}", "1:15: \"tags\" must be a list, got a string \"x\""},
        {"{id: a, budget: true}", "1:17: \"budget\" must be a map, got true"},
        {"{id: a, mode: in_ordr}",
         "1:15: \"mode\" must be one of \"exact\", \"in_order\", \"any_order\", got a string "
         "\"in_ordr\"; did you mean \"in_order\"?"},
        {"{id: a, mode: 7}",
         "1:15: \"mode\" must be one of \"exact\", \"in_order\", \"any_order\", got a number 7"},
    };
    CHECK(cases, read_task);
}

static int read_lists(struct doc d, const struct val *v, struct err *e)
{
    struct str *names = NULL;
    size_t n = 7;
    int64_t steps = -1, nano = -1;
    const struct doc_number numbers[] = {{"steps", 0, 1, 9, &steps},
                                         {"cost", 9, 0, 1500000000, &nano}};
    int rc = doc_strings(d, v, "names", "the name of a tool", &names, &n, e);
    rc = rc != 0 ? rc : doc_numbers(d, v, "budget", "a budget", numbers, 2, e);
    if (rc != 0) {
        return rc;
    }
    bool absent = val_get(v, "names") == NULL;
    CU_ASSERT(absent ? names == NULL && n == 7 : names != NULL);
    CU_ASSERT(absent || n == 0 || (n == 2 && str_is(names[0], "a") && str_is(names[1], "b")));
    CU_ASSERT(val_get(v, "budget") == NULL || (steps == 3 && nano == 250000000));
    return 0;
}

static void lists_of_strings_and_maps_of_numbers(void)
{
    static const struct doc_case cases[] = {
        {"{names: [a, b], budget: {cost: 0.25, steps: 3}}", ""},
        {"{names: []}", ""},
        {"{other: 1}", ""},
        {"{names: a}", "1:9: \"names\" must be a list, got a string \"a\""},
        {"{names: [a, 5]}",
         "1:13: \"names\" lists strings: expected the name of a tool, got a number 5"},
        {"{names: ['']}",
         "1:10: \"names\" lists strings: expected the name of a tool, got a string \"\""},
        {"{budget: 5}", "1:10: \"budget\" must be a map, got a number 5"},
        {"{budget: {steps: 0.5}}",
         "1:18: \"steps\" must be a whole number between 1 and 9, got a number 0.5"},
        {"{budget: {cost: 2}}",
         "1:17: \"cost\" must be a number between 0 and 1.5, got a number 2"},
        {"{budget: {step: 2}}", "1:11: unknown key \"step\" in a budget; did you mean \"steps\"?"},
    };
    CHECK(cases, read_lists);
}

static void versions(void)
{
    static const struct doc_case cases[] = {
        {"version: 1", ""},
        {"a: 1", "1:1: \"version\" is missing; begin the file with \"version: 1\""},
        {"version: 2", "1:10: \"version\" must be 1 (the only version this program reads), got a "
                       "number 2"},
        {"version: \"1\"", "1:10: \"version\" must be 1 (the only version this program reads), "
                           "got a string \"1\""},
        {"[1]", "1:1: expected a map that begins with \"version: 1\", got a list"},
    };
    CHECK(cases, doc_version);
}

static int read_values(struct doc d, const struct val *v, struct err *e)
{
    int64_t ms = -1, nano = -1, kept = 77;
    struct str s = {NULL, 0};
    int mode = -1;
    CU_ASSERT_EQUAL(doc_scaled(d, v, "seconds", 3, 0, 100000, &ms, e), 0);
    CU_ASSERT_EQUAL(doc_scaled(d, v, "cost", 9, 0, INT64_MAX, &nano, e), 0);
    CU_ASSERT_EQUAL(doc_int(d, v, "absent", DOC_OPTIONAL, 0, 9, &kept, e), 0);
    CU_ASSERT_EQUAL(doc_str(d, v, "name", DOC_REQUIRED, &s, e), 0);
    CU_ASSERT_EQUAL(doc_enum(d, v, "mode", modes, &mode, e), 0);
    CU_ASSERT_EQUAL(ms, 2500);
    CU_ASSERT_EQUAL(nano, 500000000);
    CU_ASSERT_EQUAL(kept, 77);
    CU_ASSERT(str_is(s, "x"));
    CU_ASSERT_EQUAL(mode, 2);
    return 0;
}

static void values(void)
{
    struct err e;
    CU_ASSERT_EQUAL(with("{seconds: 2.5, cost: 0.50, name: x, mode: any_order}", read_values, &e),
                    0);
}

TESTS(doc, {"doc_names_unknown_keys_and_the_closest", unknown_keys},
      {"doc_refuses_wrong_types_and_ranges_at_their_place", types_and_ranges},
      {"doc_reads_lists_of_strings_and_maps_of_numbers", lists_of_strings_and_maps_of_numbers},
      {"doc_wants_version_1", versions}, {"doc_reads_values_in_their_units", values})
