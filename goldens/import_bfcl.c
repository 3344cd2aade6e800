/* Questions of the Berkeley Function Calling Leaderboard as a golden set. Each function becomes a
 * tool that answers "done"; the accepted values of an argument become a matcher. */
#include "goldens/bfcl.h"
#include "goldens/import_bfcl_int.h"
#include "goldens/make.h"
#include "kernel/base/json.h"
#include "kernel/base/schema.h"
#include "kernel/base/text.h"

struct import {
    const struct bfcl_set *from;
    void (*left)(void *ctx, const struct finding *f);
    void *ctx;
};

static void leave(const struct import *m, const struct bfcl_case *c, const char *why)
{
    struct buf text = {0};
    struct arena *scratch = arena_new();
    buf_fmt(&text, "the question %.*s: %s", STR_FMT(text_preview(scratch, c->id, 80)), why);
    struct finding f = {m->from->questions, c->line,          1,
                        FINDING_WARNING,    "not_taken_over", buf_str(&text)};
    m->left(m->ctx, &f);
    buf_free(&text);
    arena_free(scratch);
}

/* ---- functions ---- */

/* Names of types that are Python's in the data. "any" is no type at all. */
static const char *type_name(struct str type)
{
    static const char *const names[][2] = {
        {"dict", "object"}, {"float", "number"}, {"tuple", "array"}, {"any", NULL}};
    static const char *const kept[] = {"object",  "number",  "array", "string",
                                       "integer", "boolean", "null"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (str_is(type, names[i][0])) {
            return names[i][1];
        }
    }
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        if (str_is(type, kept[i])) {
            return kept[i];
        }
    }
    return NULL;
}

/* Appends a schema as JSON; a member "type" that is a text is a type's name. Recursion ends at
 * JSON's depth. */
static void add_schema(struct buf *out, const struct val *v)
{
    if (v->kind == VAL_ARRAY) {
        buf_char(out, '[');
        for (size_t i = 0; i < v->count; i++) {
            json_next(out);
            add_schema(out, &v->items[i]);
        }
        buf_char(out, ']');
        return;
    }
    if (v->kind != VAL_OBJECT) {
        json_add(out, v);
        return;
    }
    buf_char(out, '{');
    for (size_t i = 0; i < v->count; i++) {
        const struct member *m = &v->members[i];
        bool type = str_is(m->key, "type") && m->value.kind == VAL_STRING;
        const char *name = type ? type_name(m->value.text) : NULL;
        if (type && name == NULL) {
            continue;
        }
        json_next(out);
        json_add_string(out, m->key);
        buf_char(out, ':');
        if (type) {
            json_add_string(out, str_of(name));
        } else {
            add_schema(out, &m->value);
        }
    }
    buf_char(out, '}');
}

/* Providers take no dots in names. */
static void add_name(struct buf *out, struct str name)
{
    buf_char(out, '"');
    for (size_t i = 0; i < name.n; i++) {
        buf_char(out, name.p[i] == '.' ? '_' : name.p[i]);
    }
    buf_char(out, '"');
}

static bool is_name(struct str name)
{
    bool good = name.n > 0 && name.n <= 64;
    for (size_t i = 0; i < name.n && good; i++) {
        char c = name.p[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.' || c == '-';
    }
    return good;
}

/* The tool that a function makes; false where its schema is none. */
static bool put_tool(const struct val *function, enum bfcl_code code, struct buf *out)
{
    struct arena *arena = arena_new();
    struct buf schema = {0};
    struct schema *made = NULL;
    struct val *v = NULL;
    const struct val *parameters = val_get(function, "parameters");
    struct str name = val_text(val_get(function, "name"));
    bool good = is_name(name) && val_is(parameters, VAL_OBJECT);
    if (good) {
        if (code == BFCL_CODE_NONE) {
            add_schema(&schema, parameters);
        } else {
            bfcl_code_add_schema(code, parameters, &schema);
        }
        good = json_parse(arena, NULL, buf_str(&schema), &v, NULL) == 0 &&
               str_is(val_text(val_get(v, "type")), "object") &&
               schema_new(v, SCHEMA_2020_12, &made, NULL) == 0;
    }
    if (good) {
        buf_addz(out, "  - name: ");
        add_name(out, name);
        buf_addz(out, "\n    description: ");
        golden_put_text(out, val_text(val_get(function, "description")));
        buf_addz(out, "\n    parameters: ");
        golden_put_value(out, v);
        buf_addz(out, "\n    answers: [{result: done}]\n");
    }
    schema_free(made);
    buf_free(&schema);
    arena_free(arena);
    return good;
}

/* ---- answers ---- */

static void put_accepted(const struct val *list, struct buf *out);
static void put_code(const struct val *list, enum bfcl_code code, struct str type, struct buf *out);

/* One accepted value: in a map every member is a list of accepted values again. */
static void put_value(const struct val *v, struct buf *out)
{
    bool map = v->kind == VAL_OBJECT;
    if (!map && v->kind != VAL_ARRAY) {
        golden_put_value(out, v);
        return;
    }
    buf_char(out, map ? '{' : '[');
    for (size_t i = 0; i < v->count; i++) {
        buf_addz(out, i > 0 ? ", " : "");
        if (!map) {
            put_value(&v->items[i], out);
            continue;
        }
        golden_put_text(out, v->members[i].key);
        buf_addz(out, ": ");
        if (v->members[i].value.kind == VAL_ARRAY) {
            put_accepted(&v->members[i].value, out);
        } else {
            put_value(&v->members[i].value, out);
        }
    }
    buf_char(out, map ? '}' : ']');
}

static bool is_gap(const struct val *v)
{
    return v->kind == VAL_STRING && v->text.n == 0;
}

static void put_matcher(struct str items, size_t n, bool optional, struct buf *out)
{
    buf_addz(out, optional ? "{optional: " : "");
    buf_addz(out, n > 1 ? "{one_of: [" : "");
    buf_add(out, n == 0 ? STR("\"\"") : items);
    buf_addz(out, n > 1 ? "]}" : "");
    buf_addz(out, optional ? "}" : "");
}

/* A matcher of accepted values; an empty text among them means that the argument may be left out.
 */
static void put_accepted(const struct val *list, struct buf *out)
{
    put_code(list, BFCL_CODE_NONE, (struct str){0}, out);
}

static void put_code(const struct val *list, enum bfcl_code code, struct str type, struct buf *out)
{
    struct buf items = {0};
    size_t n = 0;
    bool optional = false;
    for (size_t i = 0; i < list->count; i++) {
        const struct val *v = &list->items[i];
        if (is_gap(v)) {
            optional = true;
            continue;
        }
        buf_addz(&items, n > 0 ? ", " : "");
        if (code == BFCL_CODE_NONE) {
            put_value(v, &items);
            n++;
        } else {
            n += bfcl_code_put_value(code, type, v, &items);
        }
    }
    put_matcher(buf_str(&items), n, optional, out);
    buf_free(&items);
}

/* The documented type of a parameter; n 0 = none. */
static struct str type_of(const struct bfcl_case *c, struct str function, struct str parameter)
{
    for (size_t i = 0; i < c->functions->count; i++) {
        const struct val *f = &c->functions->items[i];
        if (str_eq(val_text(val_get(f, "name")), function)) {
            const struct val *properties = val_get(val_get(f, "parameters"), "properties");
            return val_text(val_get(val_find(properties, parameter), "type"));
        }
    }
    return (struct str){0};
}

static bool put_call(const struct bfcl_case *c, const struct val *call, const char *indent,
                     struct buf *out)
{
    if (call->kind != VAL_OBJECT || call->count != 1 || !is_name(call->members[0].key) ||
        call->members[0].value.kind != VAL_OBJECT) {
        return false;
    }
    const struct val *args = &call->members[0].value;
    buf_fmt(out, "%s- ", indent);
    add_name(out, call->members[0].key);
    buf_addz(out, ": {");
    for (size_t i = 0; i < args->count; i++) {
        if (args->members[i].value.kind != VAL_ARRAY) {
            return false;
        }
        buf_addz(out, i > 0 ? ", " : "");
        golden_put_text(out, args->members[i].key);
        buf_addz(out, ": ");
        put_code(&args->members[i].value, bfcl_code_of(c->id),
                 type_of(c, call->members[0].key, args->members[i].key), out);
    }
    buf_addz(out, "}\n");
    return true;
}

/* Several calls are wanted in one reply. */
static bool put_expect(const struct bfcl_case *c, struct buf *out)
{
    const struct val *truth = c->truth;
    if (truth == NULL) {
        buf_addz(out, "  expect: {no_calls: true}\n");
        return true;
    }
    bool good = truth->kind == VAL_ARRAY && truth->count > 0;
    bool several = good && truth->count > 1;
    buf_addz(out, "  expect:\n    calls:\n      list:\n");
    buf_addz(out, several ? "      - parallel:\n" : "");
    for (size_t i = 0; good && i < truth->count; i++) {
        good = put_call(c, &truth->items[i], several ? "        " : "      ", out);
    }
    return good;
}

/* ---- questions ---- */

/* The messages of one turn, of which one may be the system's; false for others. */
static bool put_prompt(const struct val *turn, struct buf *out)
{
    size_t users = 0;
    for (size_t i = 0; val_is(turn, VAL_ARRAY) && i < turn->count; i++) {
        const struct val *m = &turn->items[i];
        struct str role = val_text(val_get(m, "role"));
        struct str content = val_text(val_get(m, "content"));
        bool user = str_is(role, "user");
        if (content.n == 0 || (!user && !(str_is(role, "system") && i == 0))) {
            return false;
        }
        users += user ? 1 : 0;
        buf_addz(out, user ? "  prompt: " : "  system: ");
        golden_put_text(out, content);
        buf_char(out, '\n');
    }
    return users == 1;
}

static const char *put_case(const struct bfcl_case *c, struct buf *out)
{
    const struct val *turn = val_item(c->question, 0);
    if (str_find(c->id, STR("relevance")) == SIZE_MAX && c->truth == NULL) {
        return "it has no answer; name the file of answers with --answers";
    }
    if (str_starts(c->id, "live_relevance")) {
        return "any call is right, which no expectation says";
    }
    if (!val_is(c->question, VAL_ARRAY) || c->question->count != 1) {
        return "it has several turns, and the leaderboard judges the state that its services end "
               "in";
    }
    buf_addz(out, "- id: ");
    golden_put_text(out, c->id);
    buf_char(out, '\n');
    if (!put_prompt(turn, out)) {
        return "it is no text of the user, with a system message at most";
    }
    if (!val_is(c->functions, VAL_ARRAY) || c->functions->count == 0) {
        return "it has no functions";
    }
    buf_addz(out, "  tools:\n");
    for (size_t i = 0; i < c->functions->count; i++) {
        if (!put_tool(&c->functions->items[i], bfcl_code_of(c->id), out)) {
            return "the schema of a function is none";
        }
    }
    return put_expect(c, out) ? NULL : "its answer is no list of calls";
}

static int put_cases(const struct import *m, struct golden_made *out, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->from->n; i++) {
        const struct bfcl_case *c = &m->from->cases[i];
        struct buf task = {0};
        const char *why = put_case(c, &task);
        if (why != NULL) {
            leave(m, c, why);
        } else {
            rc = golden_made_add(out, buf_str(&task), c->line, 1, e);
        }
        buf_free(&task);
    }
    return rc;
}

int golden_import_bfcl(struct golden_made *out, const char *answers, struct str name,
                       void (*left)(void *ctx, const struct finding *f), void *ctx, struct err *e)
{
    struct bfcl_set *from = NULL;
    int rc = bfcl_set_load(out->from, answers, &from, e);
    if (rc != 0) {
        return rc;
    }
    struct arena *scratch = arena_new();
    const struct import m = {.from = from, .left = left, .ctx = ctx};
    buf_fmt(&out->text, "version: 1\nname: %.*s\ntasks:\n",
            STR_FMT(golden_word(scratch, name, "bfcl")));
    rc = put_cases(&m, out, e);
    arena_free(scratch);
    bfcl_set_free(from);
    if (rc == 0 && out->tasks == 0) {
        rc = err_at(e, ERR_INPUT, out->from, 0, 0, "none of its questions can be taken over");
    }
    return rc;
}
