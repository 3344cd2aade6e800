/* What both formats of OpenAI check in the same words: types, numbers, tools and their schemas. */
#include "kernel/wire/check_int.h"

enum { NAME_MAX_CHARS = 64 };

/* ---- types ---- */

const char *openai_kind_words(const struct val *v)
{
    switch (v->kind) {
    case VAL_NULL: return "null";
    case VAL_BOOL: return "a boolean";
    case VAL_NUMBER: return num_is_integer(v->text) ? "an integer" : "a decimal";
    case VAL_STRING: return "a string";
    case VAL_ARRAY: return "an array";
    case VAL_OBJECT: return "an object";
    }
    return "";
}

static const char *wanted_words(enum val_kind kind)
{
    switch (kind) {
    case VAL_NULL: return "null";
    case VAL_BOOL: return "a boolean";
    case VAL_NUMBER: return "a decimal";
    case VAL_STRING: return "a string";
    case VAL_ARRAY: return "an array of objects";
    case VAL_OBJECT: return "an object";
    }
    return "";
}

static bool refuse_type(struct check *c, const struct val *v, const char *wanted, struct str path)
{
    return check_refuse(c, "invalid_type", path,
                        arena_printf(c->arena,
                                     "Invalid type for '%.*s': expected %s, but got %s instead.",
                                     STR_FMT(path), wanted, openai_kind_words(v)));
}

bool openai_kind(struct check *c, const struct val *v, enum val_kind kind, bool required,
                 struct str path)
{
    if (v == NULL && required) {
        return check_refuse(
            c, "missing_required_parameter", path,
            arena_printf(c->arena, "Missing required parameter: '%.*s'.", STR_FMT(path)));
    }
    if (v == NULL || v->kind == kind || (!required && v->kind == VAL_NULL)) {
        return true;
    }
    return refuse_type(c, v, wanted_words(kind), path);
}

bool openai_refuse_empty(struct check *c, struct str path)
{
    return check_refuse(c, "empty_array", path,
                        arena_printf(c->arena,
                                     "Invalid '%.*s': empty array. Expected an array with minimum "
                                     "length 1, but got an empty array instead.",
                                     STR_FMT(path)));
}

bool openai_name(struct check *c, const struct val *v, struct str path)
{
    if (!openai_kind(c, v, VAL_STRING, true, path)) {
        return false;
    }
    if (v->text.n == 0) {
        return check_refuse(c, "empty_string", path,
                            arena_printf(c->arena,
                                         "Invalid '%.*s': empty string. Expected a string with "
                                         "minimum length 1, but got an empty string instead.",
                                         STR_FMT(path)));
    }
    if (!str_is_name(v->text, "_-")) {
        return check_refuse(c, "invalid_value", path,
                            arena_printf(c->arena,
                                         "Invalid '%.*s': string does not match pattern. Expected "
                                         "a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
                                         STR_FMT(path)));
    }
    if (v->text.n > NAME_MAX_CHARS) {
        return check_refuse(c, "string_above_max_length", path,
                            arena_printf(c->arena,
                                         "Invalid '%.*s': string too long. Expected a string with "
                                         "maximum length %d, but got a string with length %zu "
                                         "instead.",
                                         STR_FMT(path), NAME_MAX_CHARS, v->text.n));
    }
    return true;
}

bool openai_one_of(struct check *c, const struct val *v, const char *const *values, struct str path)
{
    if (!openai_kind(c, v, VAL_STRING, true, path)) {
        return false;
    }
    if (str_index(v->text, values) >= 0) {
        return true;
    }
    struct buf list = {0};
    for (size_t i = 0; values[i] != NULL; i++) {
        bool last = values[i + 1] == NULL;
        buf_fmt(&list, "%s'%s'",
                i == 0   ? ""
                : !last  ? ", "
                : i == 1 ? " and "
                         : ", and ",
                values[i]);
    }
    (void)check_refuse(c, "invalid_value", path,
                       arena_printf(c->arena, "Invalid value: '%.*s'. Supported values are: %.*s.",
                                    STR_FMT(v->text), STR_FMT(buf_str(&list))));
    buf_free(&list);
    return false;
}

/* ---- numbers ---- */

static bool refuse_number(struct check *c, const struct openai_limit *limit, bool above,
                          struct str got)
{
    const char *kind = limit->whole ? "integer" : "decimal";
    return check_refuse(
        c, arena_printf(c->arena, "%s_%s_value", kind, above ? "above_max" : "below_min").p,
        str_of(limit->name),
        arena_printf(c->arena,
                     "Invalid '%s': %s %s value. Expected a value %s %s, but got %.*s instead.",
                     limit->name, kind, above ? "above maximum" : "below minimum",
                     above ? "<=" : ">=", above ? limit->max : limit->min, STR_FMT(got)));
}

bool openai_numbers(struct check *c, const struct openai_limit *limits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct openai_limit *limit = &limits[i];
        const struct val *v = val_get(c->body, limit->name);
        if (v == NULL || v->kind == VAL_NULL) {
            continue;
        }
        if (v->kind != VAL_NUMBER || (limit->whole && !num_is_integer(v->text))) {
            return refuse_type(c, v, limit->whole ? "an integer" : "a decimal",
                               str_of(limit->name));
        }
        if (limit->min != NULL && num_compare(v->text, str_of(limit->min)) < 0) {
            return refuse_number(c, limit, false, v->text);
        }
        if (limit->max != NULL && num_compare(v->text, str_of(limit->max)) > 0) {
            return refuse_number(c, limit, true, v->text);
        }
    }
    return true;
}

/* ---- schemas ---- */

/* A walk through a schema. The place is told as OpenAI does: ('properties', 'city'). */
struct walk {
    struct check *c;
    bool strict;
    bool loose; /* arrays need no items */
    struct str what;
    const char *code;
    struct str param;
    struct buf place; /* its words with commas and spaces behind them */
    size_t depth;
};

static bool refuse_schema(struct walk *w, const char *wrong)
{
    struct str place = buf_str(&w->place);
    place.n -= place.n > 0 && w->depth != 1 ? 2 : place.n > 0 ? 1 : 0; /* Python's ('items',) */
    return check_refuse(w->c, w->code, w->param,
                        arena_printf(w->c->arena, "Invalid schema for %.*s: In context=(%.*s), %s",
                                     STR_FMT(w->what), STR_FMT(place), wrong));
}

static void enter(struct walk *w, const char *word, struct str name)
{
    buf_fmt(&w->place, "'%s', ", word);
    w->depth++;
    if (name.p != NULL) {
        buf_fmt(&w->place, "'%.*s', ", STR_FMT(name));
        w->depth++;
    }
}

static void leave(struct walk *w, size_t place, size_t depth)
{
    w->place.n = place;
    w->depth = depth;
}

static bool is_type(struct str name)
{
    static const char *const types[] = {"string", "number", "integer", "boolean",
                                        "object", "array",  "null",    NULL};
    return str_index(name, types) >= 0;
}

/* Whether `type` says, or has in its list, that type. */
static bool has_type(const struct val *type, const char *name)
{
    for (size_t i = 0; val_is(type, VAL_ARRAY) && i < type->count; i++) {
        if (str_is(val_text(&type->items[i]), name)) {
            return true;
        }
    }
    return str_is(val_text(type), name);
}

static bool check_type(struct walk *w, const struct val *type)
{
    bool good = type == NULL || (type->kind == VAL_STRING && is_type(type->text)) ||
                (type->kind == VAL_ARRAY && type->count > 0);
    for (size_t i = 0; good && val_is(type, VAL_ARRAY) && i < type->count; i++) {
        good = is_type(val_text(&type->items[i]));
    }
    return good || refuse_schema(w, "'type' is none of the types of JSON Schema.");
}

/* Structured outputs: nothing may be left out or added. */
static bool check_strict(struct walk *w, const struct val *schema)
{
    const struct val *more = val_get(schema, "additionalProperties");
    const struct val *properties = val_get(schema, "properties");
    const struct val *required = val_get(schema, "required");
    size_t n = val_is(required, VAL_ARRAY) ? required->count : 0;
    struct check_ids names = check_ids_new(w->c->arena, n);
    if (!val_is(more, VAL_BOOL) || more->boolean) {
        return refuse_schema(w,
                             "'additionalProperties' is required to be supplied and to be false.");
    }
    for (size_t i = 0; i < n; i++) {
        (void)check_ids_add(&names, val_text(&required->items[i]), i);
    }
    for (size_t i = 0; val_is(properties, VAL_OBJECT) && i < properties->count; i++) {
        struct str key = properties->members[i].key;
        if (check_ids_find(&names, key) == NULL) {
            return refuse_schema(
                w, arena_printf(w->c->arena,
                                "'required' is required to be supplied and to be an array "
                                "including every key in properties. Missing '%.*s'.",
                                STR_FMT(key))
                       .p);
        }
    }
    return true;
}

static bool walk(struct walk *w, const struct val *schema);

/* The schemas in a map or a list of them. */
static bool walk_all(struct walk *w, const struct val *schema, const char *key, enum val_kind kind)
{
    const struct val *all = val_get(schema, key);
    size_t place = w->place.n;
    size_t depth = w->depth;
    if (all == NULL) {
        return true;
    }
    if (all->kind != kind) {
        return refuse_schema(w, arena_printf(w->c->arena, "'%s' is not of type '%s'.", key,
                                             kind == VAL_OBJECT ? "object" : "array")
                                    .p);
    }
    for (size_t i = 0; i < all->count; i++) {
        bool map = kind == VAL_OBJECT;
        enter(w, key, map ? all->members[i].key : arena_printf(w->c->arena, "%zu", i));
        if (!walk(w, map ? &all->members[i].value : &all->items[i])) {
            return false;
        }
        leave(w, place, depth);
    }
    return true;
}

static bool walk_items(struct walk *w, const struct val *schema)
{
    const struct val *items = val_get(schema, "items");
    size_t place = w->place.n;
    size_t depth = w->depth;
    if (!val_is(items, VAL_OBJECT)) { /* true, or a list of draft 7 */
        return true;
    }
    enter(w, "items", (struct str){0});
    bool good = walk(w, items);
    leave(w, place, depth);
    return good;
}

static bool walk(struct walk *w, const struct val *schema)
{
    if (schema->kind == VAL_BOOL) {
        return true;
    }
    if (schema->kind != VAL_OBJECT) {
        return refuse_schema(w, "the schema is not of type 'object', 'boolean'.");
    }
    const struct val *type = val_get(schema, "type");
    const struct val *required = val_get(schema, "required");
    if (!check_type(w, type)) {
        return false;
    }
    if (required != NULL && required->kind != VAL_ARRAY) {
        return refuse_schema(w, "'required' is not of type 'array'.");
    }
    if (!w->loose && has_type(type, "array") && val_get(schema, "items") == NULL &&
        val_get(schema, "prefixItems") == NULL) {
        return refuse_schema(w, "array schema missing items.");
    }
    if (w->strict && has_type(type, "object") && !check_strict(w, schema)) {
        return false;
    }
    return walk_all(w, schema, "properties", VAL_OBJECT) && walk_items(w, schema) &&
           walk_all(w, schema, "anyOf", VAL_ARRAY) && walk_all(w, schema, "$defs", VAL_OBJECT);
}

bool check_json_schema(const struct val *schema)
{
    struct arena *arena = arena_new();
    struct wire_refusal refusal;
    struct check c = {.arena = arena, .out = &refusal};
    struct walk w = {.c = &c, .loose = true};
    bool good = walk(&w, schema);
    buf_free(&w.place);
    arena_free(arena);
    return good;
}

bool openai_schema(struct check *c, const struct val *schema, bool strict, struct str what,
                   const char *code, struct str param)
{
    struct walk w = {.c = c, .strict = strict, .what = what, .code = code, .param = param};
    const struct val *type = val_get(schema, "type");
    bool good;
    if (schema->count > 0 && !str_is(val_text(type), "object") && val_get(schema, "$ref") == NULL) {
        struct str found = val_is(type, VAL_STRING) ? type->text : STR("None");
        good = check_refuse(c, code, param,
                            arena_printf(c->arena,
                                         "Invalid schema for %.*s: schema must be a JSON Schema of "
                                         "'type: \"object\"', got 'type: \"%.*s\"'.",
                                         STR_FMT(what), STR_FMT(found)));
    } else if (str_is(val_text(type), "object") && val_get(schema, "properties") == NULL &&
               val_get(schema, "additionalProperties") == NULL) {
        good = refuse_schema(&w, "object schema missing properties.");
    } else {
        good = walk(&w, schema);
    }
    buf_free(&w.place);
    return good;
}

/* ---- tools ---- */

bool openai_function_schema(struct check *c, const struct val *function, struct str path)
{
    const struct val *schema = val_get(function, "parameters");
    const struct val *strict = val_get(function, "strict");
    struct str param = arena_printf(c->arena, "%.*sparameters", STR_FMT(path));
    if (!openai_kind(c, schema, VAL_OBJECT, false, param)) {
        return false;
    }
    if (!val_is(schema, VAL_OBJECT)) {
        return true;
    }
    struct str name = val_text(val_get(function, "name"));
    return openai_schema(c, schema, val_is(strict, VAL_BOOL) && strict->boolean,
                         arena_printf(c->arena, "function '%.*s'", STR_FMT(name)),
                         "invalid_function_parameters", param);
}

bool openai_choice(struct check *c, const struct check_ids *names, const char *function)
{
    static const char *const words[] = {"none", "auto", "required", NULL};
    const struct val *choice = val_get(c->body, "tool_choice");
    if (val_is(choice, VAL_STRING)) {
        return openai_one_of(c, choice, words, STR("tool_choice"));
    }
    if (!str_is(val_text(val_get(choice, "type")), "function")) {
        return true;
    }
    struct str path = function == NULL ? STR("tool_choice.name") : STR("tool_choice.function.name");
    const struct val *name = val_get(function == NULL ? choice : val_get(choice, function), "name");
    if (!openai_kind(c, name, VAL_STRING, true, path)) {
        return false;
    }
    return check_ids_find(names, name->text) != NULL ||
           check_refuse(c, NULL, STR("tool_choice"),
                        arena_printf(c->arena, "Tool choice '%.*s' not found in 'tools' parameter.",
                                     STR_FMT(name->text)));
}
