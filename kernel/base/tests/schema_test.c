#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/json.h"
#include "kernel/base/schema.h"

static struct val *parse(struct arena *arena, const char *text)
{
    struct val *v = NULL;
    struct err e;
    if (json_parse(arena, NULL, str_of(text), &v, &e) != 0) {
        printf("bad test JSON: %s in %s\n", e.message, text);
        abort();
    }
    return v;
}

/* ---- the JSON Schema Test Suite ---- */

/* What the suite asks for that lies outside of one document. */
static const struct {
    const char *draft;
    const char *file;
    const char *group; /* NULL = all */
    const char *why;
} left_out[] = {
    {"draft2020-12", "refRemote", NULL, "needs documents from a server"},
    {"draft2020-12", "defs", "validate definition against metaschema", "needs the metaschema"},
    {"draft2020-12", "ref", "remote ref, containing refs itself", "needs the metaschema"},
    {"draft2020-12", "vocabulary",
     "schema that uses custom metaschema with with no validation vocabulary",
     "needs a metaschema from a server"},
    {"draft2020-12", "dynamicRef", "strict-tree schema, guards against misspelled properties",
     "needs tree.json from a server"},
    {"draft2020-12", "dynamicRef", "tests for implementation dynamic anchor and reference link",
     "needs extendible-dynamic-ref.json from a server"},
    {"draft2020-12", "dynamicRef", "$ref and $dynamicAnchor are independent of order - $defs first",
     "needs extendible-dynamic-ref.json from a server"},
    {"draft2020-12", "dynamicRef", "$ref and $dynamicAnchor are independent of order - $ref first",
     "needs extendible-dynamic-ref.json from a server"},
    {"draft2020-12", "dynamicRef", "$ref to $dynamicRef finds detached $dynamicAnchor",
     "needs detached-dynamicref.json from a server"},
    {"draft7", "refRemote", NULL, "needs documents from a server"},
    {"draft7", "definitions", "validate definition against metaschema", "needs the metaschema"},
    {"draft7", "ref", "remote ref, containing refs itself", "needs the metaschema"},
};

static bool is_left_out(const char *draft, const char *file, struct str group)
{
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++) {
        if (strcmp(left_out[i].draft, draft) == 0 && strcmp(left_out[i].file, file) == 0 &&
            (left_out[i].group == NULL || str_is(group, left_out[i].group))) {
            return true;
        }
    }
    return false;
}

static struct str read_all(struct arena *arena, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return (struct str){0};
    }
    char *text = arena_alloc(arena, 1 << 20);
    size_t n = fread(text, 1, 1 << 20, f);
    fclose(f);
    return (struct str){text, n};
}

static size_t run_group(const char *draft, const char *file, const struct val *group)
{
    struct str name = val_text(val_get(group, "description"));
    if (is_left_out(draft, file, name)) {
        return 0;
    }
    enum schema_draft which = strcmp(draft, "draft7") == 0 ? SCHEMA_DRAFT_7 : SCHEMA_2020_12;
    struct schema *s = NULL;
    struct err e;
    if (schema_new(val_get(group, "schema"), which, &s, &e) != 0) {
        printf("\n%s/%s: %.*s: %s\n", draft, file, STR_FMT(name), e.message);
        CU_FAIL("schema refused");
        return 0;
    }
    const struct val *tests = val_get(group, "tests");
    for (size_t i = 0; i < tests->count; i++) {
        const struct val *t = &tests->items[i];
        struct buf why = {0};
        bool want = val_get(t, "valid")->boolean;
        bool got = schema_valid(s, val_get(t, "data"), &why);
        if (got != want) {
            printf("\n%s/%s: %.*s: %.*s: got %s %.*s\n", draft, file, STR_FMT(name),
                   STR_FMT(val_text(val_get(t, "description"))), got ? "valid" : "invalid",
                   STR_FMT(buf_str(&why)));
        }
        CU_ASSERT_EQUAL(got, want);
        CU_ASSERT_EQUAL(got, why.n == 0);
        buf_free(&why);
    }
    schema_free(s);
    return tests->count;
}

static size_t run_file(const char *draft, const char *file)
{
    char name[200];
    CU_ASSERT(snprintf(name, sizeof name, "json-schema/%s/%s.json", draft, file) > 0);
    const char *path = testing_corpus(name);
    if (path == NULL) {
        return 0;
    }
    struct arena *arena = arena_new();
    struct val *groups;
    struct err e;
    size_t n = 0;
    if (json_parse(arena, path, read_all(arena, path), &groups, &e) != 0) {
        CU_FAIL("a file of the suite is not JSON");
    } else {
        for (size_t i = 0; i < groups->count; i++) {
            n += run_group(draft, file, &groups->items[i]);
        }
    }
    arena_free(arena);
    return n;
}

static const char *const shared_files[] = {"additionalProperties",
                                           "allOf",
                                           "anyOf",
                                           "boolean_schema",
                                           "const",
                                           "contains",
                                           "default",
                                           "enum",
                                           "exclusiveMaximum",
                                           "exclusiveMinimum",
                                           "format",
                                           "if-then-else",
                                           "infinite-loop-detection",
                                           "items",
                                           "maxItems",
                                           "maxLength",
                                           "maxProperties",
                                           "maximum",
                                           "minItems",
                                           "minLength",
                                           "minProperties",
                                           "minimum",
                                           "multipleOf",
                                           "not",
                                           "oneOf",
                                           "pattern",
                                           "patternProperties",
                                           "properties",
                                           "propertyNames",
                                           "ref",
                                           "refRemote",
                                           "required",
                                           "type",
                                           "uniqueItems"};
static const char *const new_files[] = {"anchor",
                                        "content",
                                        "defs",
                                        "dependentRequired",
                                        "dependentSchemas",
                                        "dynamicRef",
                                        "maxContains",
                                        "minContains",
                                        "prefixItems",
                                        "unevaluatedItems",
                                        "unevaluatedProperties",
                                        "vocabulary"};
static const char *const old_files[] = {"additionalItems", "definitions", "dependencies"};

static void run_suite(const char *draft, const char *const *own, size_t n_own, size_t want)
{
    if (testing_corpus("json-schema") == NULL) {
        testing_skip("no JSON Schema Test Suite");
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < sizeof shared_files / sizeof shared_files[0]; i++) {
        n += run_file(draft, shared_files[i]);
    }
    for (size_t i = 0; i < n_own; i++) {
        n += run_file(draft, own[i]);
    }
    CU_ASSERT_EQUAL(n, want);
    if (n != want) {
        printf("\n%s: ran %zu tests\n", draft, n);
    }
}

static void suite_new(void)
{
    run_suite("draft2020-12", new_files, sizeof new_files / sizeof new_files[0], 1248);
}

static void suite_old(void)
{
    run_suite("draft7", old_files, sizeof old_files / sizeof old_files[0], 900);
}

/* ---- messages ---- */

static const struct {
    const char *schema;
    const char *value;
    const char *why; /* "" = valid */
} verdicts[] = {
    {"{\"properties\":{\"order_id\":{\"type\":\"string\"}}}", "{\"order_id\":3}",
     "order_id: expected a string, got a number 3"},
    {"{\"type\":\"object\"}", "[1,2]", "value: expected a map, got a list of 2"},
    {"{\"type\":[\"string\",\"null\"]}", "true", "value: expected null or a string, got true"},
    {"{\"required\":[\"sku\"]}", "{}", "sku: required, but missing"},
    {"{\"properties\":{\"a\":{},\"b\":{}},\"additionalProperties\":false}", "{\"c\":1}",
     "c: not allowed here; expected only a, b"},
    {"{\"properties\":{\"items\":{\"items\":{\"properties\":{\"sku\":{\"minLength\":2}}}}}}",
     "{\"items\":[{\"sku\":\"ab\"},{\"sku\":\"\xC3\xA9\"}]}",
     "items[1].sku: expected at least 2 characters, got 1"},
    {"{\"items\":{\"enum\":[\"a\",\"b\"]}}", "[\"a\",\"c\"]",
     "value[1]: expected one of [\"a\",\"b\"], got a string \"c\""},
    {"{\"const\":1}", "1.0", ""},
    {"{\"const\":"
     "\"汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉"
     "汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉"
     "汉汉汉汉汉汉汉汉汉汉\"}",
     "1",
     "value: expected "
     "\"汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉"
     "汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉"
     "汉汉汉汉汉汉汉汉…, got a number 1"},
    {"{\"const\":{\"a\":1,\"b\":2}}", "{\"b\":2,\"a\":1.0}", ""},
    {"{\"maximum\":9007199254740993}", "9007199254740994",
     "value: expected at most 9007199254740993, got a number 9007199254740994"},
    {"{\"multipleOf\":0.1}", "0.30", ""},
    {"{\"multipleOf\":0.1}", "0.35", "value: expected a multiple of 0.1, got a number 0.35"},
    {"{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":5}]}", "3",
     "value: fits none of 2 alternatives (value: expected a string, got a number 3; value: "
     "expected at least 5, got a number 3)"},
    {"{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "3",
     "value: fits 2 of 2 alternatives, expected exactly one"},
    {"{\"pattern\":\"^a$\"}", "\"a\\n\"",
     "value: expected text that fits the pattern ^a$, got a string \"a\\n\""},
    {"{\"pattern\":\"^[$]\\\\u0061\\\\$$\"}", "\"$a$\"", ""},
    {"{\"uniqueItems\":true}", "[1,\"1\",1.0]", "value: expected no item twice"},
    {"{\"$ref\":\"#\"}", "1",
     "value: not decided: checking it takes more than 1000 levels or 2000000 steps"},
    {"{\"not\":{\"$ref\":\"#\"}}", "1",
     "value: not decided: checking it takes more than 1000 levels or 2000000 steps"},
    {"false", "1", "value: nothing is allowed here"},
    {"{\"items\":[{\"type\":\"string\"}],\"additionalItems\":false}", "[\"a\",1]",
     "value[1]: nothing is allowed here"},
    {"{\"format\":\"date\"}", "\"no date\"", ""},
};

static void tells_what_is_wrong(void)
{
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        struct arena *arena = arena_new();
        struct schema *s = NULL;
        struct err e;
        CU_ASSERT_EQUAL_FATAL(schema_new(parse(arena, verdicts[i].schema), SCHEMA_2020_12, &s, &e),
                              0);
        struct buf why = {0};
        bool valid = schema_valid(s, parse(arena, verdicts[i].value), &why);
        CU_ASSERT_EQUAL(valid, verdicts[i].why[0] == '\0');
        CHECK_TEXT(arena_cstr(arena, buf_str(&why)), verdicts[i].why);
        CU_ASSERT_EQUAL(schema_valid(s, parse(arena, verdicts[i].value), NULL), valid);
        buf_free(&why);
        schema_free(s);
        arena_free(arena);
    }
}

static const struct {
    const char *schema;
    int code;
    unsigned column;
    const char *message;
} refused[] = {
    {"[]", ERR_INPUT, 1, "a schema is a map or a boolean, found a list"},
    {"{\"properties\":{\"a\":3}}", ERR_INPUT, 20, "a schema is a map or a boolean, found a number"},
    {"{\"type\":\"strin\"}", ERR_INPUT, 9,
     "strin is no type; types are null, boolean, integer, number, string, array, object"},
    {"{\"type\":[]}", ERR_INPUT, 9,
     "this is no type; types are null, boolean, integer, number, string, array, object"},
    {"{\"$ref\":\"#/$defs/x\"}", ERR_INPUT, 9, "the reference #/$defs/x leads nowhere"},
    {"{\"$ref\":\"#x\"}", ERR_INPUT, 9, "the reference #x leads nowhere"},
    {"{\"$ref\":\"#"
     "汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉"
     "汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉"
     "汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉"
     "汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉"
     "汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉\"}",
     ERR_INPUT, 9,
     "the reference "
     "#汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉"
     "汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉"
     "汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉"
     "汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉"
     "汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉… leads nowhere"},
    {"{\"type\":"
     "\"汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉\"}",
     ERR_INPUT, 9,
     "汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉… is no "
     "type; types are null, boolean, integer, number, string, array, object"},
    {"{\"$ref\":\"http://example.com/a\"}", ERR_UNSUPPORTED, 9,
     "the reference http://example.com/a leads outside of the schema; copy what it means under "
     "$defs"},
    {"{\"minLength\":-1}", ERR_INPUT, 14, "minLength must be a whole number, 0 or more"},
    {"{\"multipleOf\":0}", ERR_INPUT, 15, "multipleOf must be a number above 0"},
    {"{\"required\":true}", ERR_INPUT, 13, "required must be a list, found a boolean"},
    {"{\"required\":[1]}", ERR_INPUT, 14, "a property's name must be a string, found a number"},
    {"{\"anyOf\":[]}", ERR_INPUT, 10, "anyOf must not be empty"},
};

static void refuses_what_is_no_schema(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct arena *arena = arena_new();
        struct schema *s = NULL;
        struct err e = {0};
        int rc = schema_new(parse(arena, refused[i].schema), SCHEMA_2020_12, &s, &e);
        CU_ASSERT_EQUAL(rc, refused[i].code);
        CU_ASSERT_EQUAL(e.column, refused[i].column);
        CHECK_TEXT(e.message, refused[i].message);
        CU_ASSERT_EQUAL(schema_new(parse(arena, refused[i].schema), SCHEMA_2020_12, &s, NULL), rc);
        arena_free(arena);
    }
}

static void refuses_bad_patterns(void)
{
    struct arena *arena = arena_new();
    struct schema *s = NULL;
    struct err e = {0};
    int rc = schema_new(parse(arena, "{\"pattern\":\"(\"}"), SCHEMA_2020_12, &s, &e);
    CU_ASSERT_EQUAL(rc, ERR_INPUT);
    CU_ASSERT_EQUAL(e.column, 12);
    CU_ASSERT_EQUAL(str_find(str_of(e.message), STR("bad pattern: ")), 0);
    arena_free(arena);
}

/* Each level tries both branches of the one below: 2^40 ways. */
static void bounds_exponential_schemas(void)
{
    struct buf text = {0};
    buf_addz(&text, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < 40; i++) {
        buf_fmt(&text,
                "\"d%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},", i,
                i + 1, i + 1);
    }
    buf_addz(&text, "\"d40\":false}}");
    struct arena *arena = arena_new();
    struct schema *s = NULL;
    struct err e;
    char *schema = arena_cstr(arena, buf_str(&text));
    CU_ASSERT_EQUAL_FATAL(schema_new(parse(arena, schema), SCHEMA_2020_12, &s, &e), 0);
    struct buf why = {0};
    CU_ASSERT_FALSE(schema_valid(s, parse(arena, "1"), &why));
    CU_ASSERT_NOT_EQUAL(str_find(buf_str(&why), STR("not decided")), SIZE_MAX);
    buf_free(&why);
    buf_free(&text);
    schema_free(s);
    arena_free(arena);
}

/* ---- coercion ---- */

static const struct {
    const char *schema;
    const char *value;
    const char *out;
    bool changed;
} coercions[] = {
    {"{\"properties\":{\"n\":{\"type\":\"integer\"}}}", "{\"n\":\"3\",\"m\":\"3\"}",
     "{\"n\":3,\"m\":\"3\"}", true},
    {"{\"properties\":{\"n\":{\"type\":\"integer\"}}}", "{\"n\":\"3.5\"}", "{\"n\":\"3.5\"}",
     false},
    {"{\"properties\":{\"n\":{\"type\":\"number\"}}}", "{\"n\":\"03\"}", "{\"n\":\"03\"}", false},
    {"{\"properties\":{\"n\":{\"type\":\"number\"}}}", "{\"n\":\" 3\"}", "{\"n\":\" 3\"}", false},
    {"{\"properties\":{\"n\":{\"type\":\"number\"}}}", "{\"n\":\"-1e3\"}", "{\"n\":-1e3}", true},
    {"{\"properties\":{\"n\":{\"type\":\"number\",\"maximum\":2}}}", "{\"n\":\"3\"}",
     "{\"n\":\"3\"}", false},
    {"{\"properties\":{\"b\":{\"type\":\"boolean\"}}}", "{\"b\":\"true\"}", "{\"b\":true}", true},
    {"{\"properties\":{\"b\":{\"type\":\"boolean\"}}}", "{\"b\":\"True\"}", "{\"b\":\"True\"}",
     false},
    {"{\"properties\":{\"s\":{\"type\":\"string\"}}}", "{\"s\":123}", "{\"s\":\"123\"}", true},
    {"{\"properties\":{\"s\":{\"type\":\"string\"}}}", "{\"s\":1.50}", "{\"s\":\"1.50\"}", true},
    {"{\"properties\":{\"s\":{\"type\":\"string\",\"pattern\":\"^[a-z]\"}}}", "{\"s\":1}",
     "{\"s\":1}", false},
    {"{\"properties\":{\"s\":{\"type\":\"string\"}}}", "{\"s\":true}", "{\"s\":true}", false},
    {"{\"properties\":{\"s\":{\"type\":[\"string\",\"number\"]}}}", "{\"s\":\"3\"}",
     "{\"s\":\"3\"}", false},
    {"{\"properties\":{\"n\":{\"type\":[\"null\",\"number\"]}}}", "{\"n\":\"3\"}", "{\"n\":3}",
     true},
    {"{\"properties\":{\"n\":{}}}", "{\"n\":\"3\"}", "{\"n\":\"3\"}", false},
    {"{\"properties\":{\"n\":{\"$ref\":\"#/$defs/n\"}},\"$defs\":{\"n\":{\"type\":\"number\"}}}",
     "{\"n\":\"3\"}", "{\"n\":3}", true},
    {"{\"properties\":{\"l\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}}}",
     "{\"l\":[1,\"2\",\"x\"]}", "{\"l\":[1,2,\"x\"]}", true},
    {"{\"additionalProperties\":{\"type\":\"integer\"}}", "{\"a\":\"1\",\"b\":2}",
     "{\"a\":1,\"b\":2}", true},
};

static void coerces_what_is_safe(void)
{
    for (size_t i = 0; i < sizeof coercions / sizeof coercions[0]; i++) {
        struct arena *arena = arena_new();
        struct schema *s = NULL;
        struct err e;
        CU_ASSERT_EQUAL_FATAL(schema_new(parse(arena, coercions[i].schema), SCHEMA_2020_12, &s, &e),
                              0);
        const struct val *v = parse(arena, coercions[i].value);
        const struct val *out = NULL;
        bool changed = false;
        schema_coerce(s, arena, v, &out, &changed);
        struct buf text = {0};
        json_add(&text, out);
        CHECK_TEXT(arena_cstr(arena, buf_str(&text)), coercions[i].out);
        CU_ASSERT_EQUAL(changed, coercions[i].changed);
        CU_ASSERT_EQUAL(out == v, !changed);
        buf_clear(&text);
        json_add(&text, v);
        CHECK_TEXT(arena_cstr(arena, buf_str(&text)), coercions[i].value);
        buf_free(&text);
        schema_free(s);
        arena_free(arena);
    }
}

TESTS(schema, {"schema_passes_the_2020_12_suite", suite_new},
      {"schema_passes_the_draft_7_suite", suite_old},
      {"schema_tells_place_expectation_and_finding", tells_what_is_wrong},
      {"schema_refuses_what_is_no_schema", refuses_what_is_no_schema},
      {"schema_refuses_bad_patterns", refuses_bad_patterns},
      {"schema_bounds_exponential_schemas", bounds_exponential_schemas},
      {"schema_coerces_only_what_is_safe", coerces_what_is_safe})
