/* One call against one expected call: names, required parameters, each argument, what is left out.
 */
#include <string.h>

#include "evals/bfcl/bfcl_int.h"

static const char no_key[] = BFCL_EXCEPTION "KeyError";
static const char no_type[] = BFCL_EXCEPTION "TypeError";

struct type_name {
    const char *name;
    enum bfcl_type type;
};

static const struct type_name python_types[] = {
    {"string", BFCL_STR},   {"integer", BFCL_INT}, {"float", BFCL_FLOAT},
    {"boolean", BFCL_BOOL}, {"array", BFCL_LIST},  {"tuple", BFCL_LIST},
    {"dict", BFCL_DICT},    {"any", BFCL_STR},     {NULL, BFCL_NONE}};
/* A set is no value that we have. */
static const struct type_name java_types[] = {
    {"byte", BFCL_INT},       {"short", BFCL_INT},    {"integer", BFCL_INT},
    {"float", BFCL_FLOAT},    {"double", BFCL_FLOAT}, {"long", BFCL_INT},
    {"boolean", BFCL_BOOL},   {"char", BFCL_STR},     {"Array", BFCL_LIST},
    {"ArrayList", BFCL_LIST}, {"Set", BFCL_OTHER},    {"HashMap", BFCL_DICT},
    {"Hashtable", BFCL_DICT}, {"Queue", BFCL_LIST},   {"Stack", BFCL_LIST},
    {"String", BFCL_STR},     {"any", BFCL_STR},      {NULL, BFCL_NONE}};
static const struct type_name js_types[] = {
    {"String", BFCL_STR}, {"integer", BFCL_INT},  {"float", BFCL_FLOAT},
    {"Bigint", BFCL_INT}, {"Boolean", BFCL_BOOL}, {"dict", BFCL_DICT},
    {"array", BFCL_LIST}, {"any", BFCL_STR},      {NULL, BFCL_NONE}};
/* Names that documents of JSON Schema have, and on which the official checker breaks off. */
static const struct type_name other_types[] = {
    {"number", BFCL_FLOAT}, {"double", BFCL_FLOAT}, {"int", BFCL_INT},
    {"long", BFCL_INT},     {"bool", BFCL_BOOL},    {"object", BFCL_DICT},
    {"list", BFCL_LIST},    {"str", BFCL_STR},      {NULL, BFCL_NONE}};

static bool find_type(const struct type_name *names, struct str name, enum bfcl_type *out)
{
    for (; names->name != NULL; names++) {
        if (str_is(name, names->name)) {
            *out = names->type;
            return true;
        }
    }
    return false;
}

static const struct type_name *types_of(enum bfcl_language language)
{
    switch (language) {
    case BFCL_PYTHON: return python_types;
    case BFCL_JAVA: return java_types;
    case BFCL_JAVASCRIPT: break;
    }
    return js_types;
}

static void say(const struct bfcl_checker *c, const char *what, struct str name)
{
    if (c->why != NULL) {
        *c->why = arena_printf(c->work->arena, "%s \"%.*s\"", what, STR_FMT(name));
    }
}

/* The type that `doc` (of a parameter or of its items) names. */
static const char *read_type(const struct bfcl_checker *c, const struct val *doc, struct str *name,
                             enum bfcl_type *out)
{
    const struct val *type = val_get(doc, "type");
    *name = val_text(type);
    if (val_is(type, VAL_STRING) && find_type(types_of(c->language), type->text, out)) {
        return NULL;
    }
    if (c->mended && find_type(other_types, *name, out)) {
        say(c, "the official checker breaks off on the type", *name);
        return NULL;
    }
    return val_is(type, VAL_ARRAY) || val_is(type, VAL_OBJECT) ? no_type : no_key;
}

static bool has_items(enum bfcl_language language, struct str type)
{
    static const char *const python[] = {"array", "tuple", NULL};
    static const char *const others[] = {"Array", "ArrayList", "array", NULL};
    const char *const *names = language == BFCL_PYTHON ? python : others;
    for (; *names != NULL; names++) {
        if (str_is(type, *names)) {
            return true;
        }
    }
    return false;
}

/* The value that a string of Java or JavaScript stands for. */
static const char *convert(const struct bfcl_checker *c, const struct bfcl_types *t,
                           struct str items, struct bfcl_value *value)
{
    const struct str *nested = t->nested ? &items : NULL;
    struct str text = value->text;
    return c->language == BFCL_JAVA ? bfcl_java_value(c->work, text, t->name, nested, value)
                                    : bfcl_js_value(c->work, text, t->name, nested, value);
}

/* Where an answer accepts nothing at all, what is empty is meant. */
static bool is_empty_value(const struct bfcl_value *v)
{
    return v->type == BFCL_NONE ||
           ((v->type == BFCL_LIST || v->type == BFCL_TUPLE || v->type == BFCL_DICT) && v->n == 0) ||
           bfcl_is_empty_str(v);
}

static const char *check_argument(const struct bfcl_checker *c, const struct val *doc,
                                  struct str param, const struct bfcl_value *given,
                                  const struct val *accepted)
{
    struct bfcl_types t = {.type = BFCL_NONE};
    struct str items = {NULL, 0};
    struct bfcl_value value = *given;
    const char *error = read_type(c, doc, &t.name, &t.type);
    if (error != NULL) {
        return error;
    }
    if (c->language != BFCL_PYTHON && given->type != BFCL_STR) {
        return c->language == BFCL_JAVA ? "type_error:java" : "type_error:js";
    }
    if (has_items(c->language, t.name) && (!c->mended || val_get(doc, "items") != NULL)) {
        const struct val *of = val_get(doc, "items");
        t.nested = true;
        if (of != NULL && of->kind != VAL_OBJECT) {
            return no_type;
        }
        error = read_type(c, of, &items, &t.items);
    }
    if (error == NULL && c->language != BFCL_PYTHON) {
        error = convert(c, &t, items, &value);
    }
    if (error != NULL) {
        return error;
    }
    if (c->mended && accepted->count == 0) {
        say(c, "the answer accepts no value, so an empty one is meant, for", param);
        return is_empty_value(&value) ? NULL : "value_error:others";
    }
    struct bfcl_value list = bfcl_of_val(c->work->arena, accepted);
    return bfcl_check_value(c, &t, &value, &list);
}

/* Whether the call's function is the documented one. */
static bool same_name(const struct bfcl_checker *c, struct str documented,
                      const struct bfcl_value *name)
{
    if (name->type != BFCL_STR || name->text.n != documented.n) {
        return false;
    }
    if (!c->underscore_to_dot) {
        return str_eq(name->text, documented);
    }
    for (size_t i = 0; i < documented.n; i++) {
        char want = documented.p[i];
        want = want == '.' ? '_' : want;
        if (name->text.p[i] != want) {
            return false;
        }
    }
    return true;
}

static const char *check_required(const struct bfcl_checker *c, const struct val *properties,
                                  const struct val *required, const struct bfcl_value *arguments)
{
    for (size_t i = 0; val_is(required, VAL_ARRAY) && i < required->count; i++) {
        struct str param = val_text(&required->items[i]);
        if (c->mended && val_find(properties, param) == NULL) {
            say(c, "the function requires a parameter that it does not describe:", param);
            continue;
        }
        if (bfcl_get(arguments, param) == NULL) {
            return "simple_function_checker:missing_required";
        }
    }
    return NULL;
}

static bool accepts_empty(const struct val *accepted)
{
    for (size_t i = 0; i < accepted->count; i++) {
        if (accepted->items[i].kind == VAL_STRING && accepted->items[i].text.n == 0) {
            return true;
        }
    }
    return false;
}

static const char *check_left_out(const struct bfcl_checker *c, const struct val *properties,
                                  const struct val *expected, const struct bfcl_value *arguments)
{
    for (size_t i = 0; i < expected->count; i++) {
        const struct member *m = &expected->members[i];
        if (bfcl_get(arguments, m->key) != NULL || accepts_empty(&m->value)) {
            continue;
        }
        if (c->mended && val_find(properties, m->key) == NULL) {
            say(c, "the answer wants a parameter that the function does not have:", m->key);
            continue;
        }
        return "simple_function_checker:missing_optional";
    }
    return NULL;
}

struct bfcl_function bfcl_function_of(const struct val *document)
{
    const struct val *parameters = val_get(document, "parameters");
    return (struct bfcl_function){document, val_text(val_get(document, "name")),
                                  val_get(parameters, "properties"),
                                  val_get(parameters, "required")};
}

const char *bfcl_check_call(const struct bfcl_checker *c, const struct bfcl_function *function,
                            const struct bfcl_call *call, const struct val *expected)
{
    if (function->document == NULL) {
        return no_type;
    }
    const struct val *answer = &expected->members[0].value;
    const struct val *properties = function->properties;
    const struct val *required = function->required;
    if (!c->mended && (properties == NULL || required == NULL)) {
        return no_key;
    }
    if (!same_name(c, function->name, &call->name)) {
        return "simple_function_checker:wrong_func_name";
    }
    const struct bfcl_value *arguments = &call->arguments;
    const char *error = check_required(c, properties, required, arguments);
    for (size_t i = 0; error == NULL && i < arguments->n; i++) {
        const struct bfcl_pair *pair = &arguments->pairs[i];
        bool named = pair->key.type == BFCL_STR;
        const struct val *doc = named ? val_find(properties, pair->key.text) : NULL;
        const struct val *accepted = named ? val_find(answer, pair->key.text) : NULL;
        error = doc == NULL || accepted == NULL
                    ? "simple_function_checker:unexpected_param"
                    : check_argument(c, doc, pair->key.text, &pair->value, accepted);
    }
    return error != NULL ? error : check_left_out(c, properties, answer, arguments);
}
