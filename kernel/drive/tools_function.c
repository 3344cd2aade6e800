#include "kernel/drive/tools_function.h"

#include <stdlib.h>

#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/drive/tools_int.h"

static const struct {
    const char *word; /* of JSON Schema */
    const char *minimum;
    const char *maximum;
    bool whole; /* bounds are whole numbers */
    bool size;  /* bounds are counts */
} types[] = {
    [PARAM_STRING] = {"string", "minLength", "maxLength", true, true},
    [PARAM_INTEGER] = {"integer", "minimum", "maximum", true, false},
    [PARAM_NUMBER] = {"number", "minimum", "maximum", false, false},
    [PARAM_BOOLEAN] = {"boolean", NULL, NULL, false, false},
    [PARAM_ARRAY] = {"array", "minItems", "maxItems", true, true},
    [PARAM_OBJECT] = {"object", NULL, NULL, false, false},
};

enum { TYPES = sizeof types / sizeof types[0] };

/* Where in the declaration: a chain to the tool itself, whose `up` is NULL. */
struct path {
    const struct path *up;
    const char *name; /* NULL = an item */
    unsigned depth;
};

/* A schema while it is written. */
struct writer {
    struct arena *arena;
    struct buf out;
    size_t params;
    struct err *e;
};

static void add_path(struct buf *out, const struct path *at)
{
    if (at->up->up != NULL) {
        add_path(out, at->up);
    }
    if (at->name == NULL) {
        buf_addz(out, "[]");
    } else {
        buf_addz(out, at->up->up == NULL ? "" : ".");
        buf_add(out, utf8_prefix(str_of(at->name), TOOL_NAME_MAX));
    }
}

/* An error at a parameter, or at the tool. */
__attribute__((format(printf, 4, 5))) static int fail(const struct writer *w, const struct path *at,
                                                      int code, const char *fmt, ...)
{
    struct err why;
    va_list args;
    va_start(args, fmt);
    (void)err_vat(&why, code, NULL, 0, 0, fmt, args);
    va_end(args);
    const struct path *tool = at;
    while (tool->up != NULL) {
        tool = tool->up;
    }
    struct buf place = {0};
    if (at != tool) {
        buf_addz(&place, ", parameter ");
        add_path(&place, at);
    }
    code = err_set(w->e, code, "the tool \"%s\"%.*s: %s", tool->name, STR_FMT(buf_str(&place)),
                   why.message);
    buf_free(&place);
    return code;
}

static int check_description(const struct writer *w, const struct path *at, const char *text)
{
    bool good = utf8_invalid_at(str_of(text)) == SIZE_MAX;
    return good ? 0 : fail(w, at, ERR_INPUT, "its description is not UTF-8");
}

static int put_description(struct writer *w, const struct path *at, const char *text)
{
    int rc = check_description(w, at, text);
    if (rc == 0 && text != NULL && *text != '\0') {
        json_put_text(&w->out, "description", str_of(text));
    }
    return rc;
}

/* ---- one parameter ---- */

/* Whether everything that is set is something its type can have. */
static int check_shape(const struct writer *w, const struct tool_param *p, const struct path *at)
{
    if (p->type == PARAM_NONE || (size_t)p->type >= TYPES) {
        return fail(w, at, ERR_INPUT, "%d is no type; give it one, such as PARAM_STRING",
                    (int)p->type);
    }
    const char *word = types[p->type].word;
    if (p->values != NULL && p->type != PARAM_STRING) {
        return fail(w, at, ERR_INPUT, "values are for a string, this is of type %s", word);
    }
    if ((p->minimum != NULL || p->maximum != NULL) && types[p->type].minimum == NULL) {
        return fail(w, at, ERR_INPUT, "minimum and maximum are not for type %s", word);
    }
    if (p->items != NULL && p->type != PARAM_ARRAY) {
        return fail(w, at, ERR_INPUT, "items are for an array, this is of type %s", word);
    }
    if (p->members != NULL && p->type != PARAM_OBJECT) {
        return fail(w, at, ERR_INPUT, "members are for an object, this is of type %s", word);
    }
    if (p->items == NULL && p->type == PARAM_ARRAY) {
        return fail(w, at, ERR_INPUT, "an array must say what its items are: set `items`");
    }
    if (p->members == NULL && p->type == PARAM_OBJECT) {
        return fail(w, at, ERR_INPUT, "an object must say what its members are: set `members`");
    }
    return 0;
}

static int put_values(struct writer *w, const struct tool_param *p, const struct path *at)
{
    if (p->values == NULL) {
        return 0;
    }
    json_key(&w->out, "enum");
    buf_char(&w->out, '[');
    size_t n = 0;
    for (; p->values[n] != NULL; n++) {
        struct str value = str_of(p->values[n]);
        if (n == TOOL_PARAM_VALUES_MAX) {
            return fail(w, at, ERR_LIMIT, "more than %d values; does the list end with NULL?",
                        TOOL_PARAM_VALUES_MAX);
        }
        if (utf8_invalid_at(value) != SIZE_MAX) {
            return fail(w, at, ERR_INPUT, "value %zu is not UTF-8", n + 1);
        }
        for (size_t i = 0; i < n; i++) {
            if (str_is(value, p->values[i])) {
                return fail(w, at, ERR_INPUT, "value %zu is the same as value %zu", n + 1, i + 1);
            }
        }
        json_next(&w->out);
        json_add_string(&w->out, value);
    }
    buf_char(&w->out, ']');
    return n > 0 ? 0 : fail(w, at, ERR_INPUT, "its list of values is empty: no string would fit");
}

static int put_bound(struct writer *w, const struct tool_param *p, const struct path *at,
                     const char *key, const char *bound)
{
    struct val *v;
    if (bound == NULL) {
        return 0;
    }
    if (json_parse(w->arena, NULL, str_of(bound), &v, NULL) != 0 || v->kind != VAL_NUMBER) {
        return fail(w, at, ERR_INPUT, "%s is \"%s\", no number as JSON writes it", key, bound);
    }
    if (types[p->type].whole && !num_is_integer(v->text)) {
        return fail(w, at, ERR_INPUT, "%s is %s, but must be a whole number", key, bound);
    }
    if (types[p->type].size && num_compare(v->text, STR("0")) < 0) {
        return fail(w, at, ERR_INPUT, "%s is %s, below 0", key, bound);
    }
    json_key(&w->out, key);
    json_add(&w->out, v);
    return 0;
}

static int put_bounds(struct writer *w, const struct tool_param *p, const struct path *at)
{
    int rc = put_bound(w, p, at, types[p->type].minimum, p->minimum);
    if (rc == 0) {
        rc = put_bound(w, p, at, types[p->type].maximum, p->maximum);
    }
    if (rc == 0 && p->minimum != NULL && p->maximum != NULL &&
        num_compare(str_trim(str_of(p->minimum)), str_trim(str_of(p->maximum))) > 0) {
        rc = fail(w, at, ERR_INPUT, "its minimum %s is above its maximum %s", p->minimum,
                  p->maximum);
    }
    return rc;
}

/* Appends the default where it fits the schema that was written from `from` on and lacks its
 * closing brace. */
static int put_default(struct writer *w, const struct tool_param *p, const struct path *at,
                       size_t from)
{
    struct val *v;
    struct val *root;
    struct schema *schema;
    struct err why;
    if (p->default_json == NULL) {
        return 0;
    }
    if (json_parse(w->arena, NULL, str_of(p->default_json), &v, &why) != 0) {
        return fail(w, at, ERR_INPUT, "its default is no JSON: %s", why.message);
    }
    struct str open = str_slice(buf_str(&w->out), from, w->out.n);
    struct str text = arena_printf(w->arena, "%.*s}", STR_FMT(open));
    int rc = json_parse(w->arena, NULL, text, &root, w->e);
    if (rc == 0) {
        rc = schema_new(root, SCHEMA_2020_12, &schema, w->e);
    }
    if (rc != 0) {
        return rc;
    }
    struct buf reason = {0};
    if (!schema_valid(schema, v, &reason)) {
        rc = fail(w, at, ERR_INPUT, "its default does not fit: %.*s", STR_FMT(buf_str(&reason)));
    }
    buf_free(&reason);
    schema_free(schema);
    json_key(&w->out, "default");
    json_add(&w->out, v);
    return rc;
}

static int put_object(struct writer *w, const struct tool_param *table, const struct path *at);

/* Appends the schema of a parameter. */
static int put_param(struct writer *w, const struct tool_param *p, const struct path *at)
{
    size_t from = w->out.n;
    int rc = check_shape(w, p, at);
    if (rc == 0 && ++w->params > TOOL_PARAMS_MAX) {
        rc = fail(w, at, ERR_LIMIT, "more than %d parameters; does each table end with {0}?",
                  TOOL_PARAMS_MAX);
    }
    if (rc == 0 && at->depth > TOOL_PARAM_DEPTH_MAX) {
        rc = fail(w, at, ERR_LIMIT, "more than %d levels", TOOL_PARAM_DEPTH_MAX);
    }
    if (rc != 0) {
        return rc;
    }
    buf_char(&w->out, '{');
    json_put_text(&w->out, "type", str_of(types[p->type].word));
    rc = put_description(w, at, p->description);
    if (rc == 0) {
        rc = put_values(w, p, at);
    }
    if (rc == 0) {
        rc = put_bounds(w, p, at);
    }
    if (rc == 0 && p->members != NULL) {
        rc = put_object(w, p->members, at);
    }
    if (rc == 0 && p->items != NULL) {
        struct path item = {at, NULL, at->depth + 1};
        rc = p->items->name == NULL && !p->items->required
                 ? 0
                 : fail(w, &item, ERR_INPUT, "an item has no name and cannot be required");
        json_key(&w->out, "items");
        rc = rc == 0 ? put_param(w, p->items, &item) : rc;
    }
    if (rc == 0) {
        rc = put_default(w, p, at, from);
    }
    buf_char(&w->out, '}');
    return rc;
}

/* ---- objects ---- */

static bool is_end(const struct tool_param *p)
{
    return p->name == NULL && p->type == PARAM_NONE;
}

static int check_name(const struct writer *w, const struct tool_param *table,
                      const struct tool_param *p, const struct path *object)
{
    struct path at = {object, p->name, 0};
    if (p->name == NULL) {
        return fail(w, object, ERR_INPUT, "entry %zu of its table has no name",
                    (size_t)(p - table) + 1);
    }
    if (!tool_name_ok(str_of(p->name), "_.-")) {
        return fail(w, &at, ERR_INPUT,
                    "a parameter's name is 1 to %d letters, digits, \"_\", \".\" or \"-\"",
                    TOOL_NAME_MAX);
    }
    for (const struct tool_param *other = table; other < p; other++) {
        if (str_is(str_of(p->name), other->name)) {
            return fail(w, &at, ERR_INPUT, "there are two of this name");
        }
    }
    return 0;
}

/* Appends properties, required and additionalProperties to an object that is open. */
static int put_object(struct writer *w, const struct tool_param *table, const struct path *at)
{
    int rc = 0;
    struct buf required = {0};
    json_key(&w->out, "properties");
    buf_char(&w->out, '{');
    for (const struct tool_param *p = table; rc == 0 && p != NULL && !is_end(p); p++) {
        rc = check_name(w, table, p, at);
        if (rc == 0) {
            struct path param = {at, p->name, at->depth + 1};
            json_key(&w->out, p->name);
            rc = put_param(w, p, &param);
        }
        if (rc == 0 && p->required) {
            buf_char(&required, required.n == 0 ? '[' : ',');
            json_add_string(&required, str_of(p->name));
        }
    }
    buf_char(&w->out, '}');
    if (required.n > 0) {
        json_key(&w->out, "required");
        buf_add(&w->out, buf_str(&required));
        buf_char(&w->out, ']');
    }
    buf_free(&required);
    json_put_bool(&w->out, "additionalProperties", false);
    return rc;
}

int params_schema(struct arena *arena, const char *tool, const struct tool_param *params,
                  struct val **out, struct err *e)
{
    struct path at = {NULL, tool, 0};
    struct writer w = {.arena = arena, .e = e};
    buf_char(&w.out, '{');
    json_put_text(&w.out, "type", STR("object"));
    int rc = put_object(&w, params, &at);
    buf_char(&w.out, '}');
    if (rc == 0) {
        rc = json_parse(arena, NULL, arena_str(arena, buf_str(&w.out)), out, e);
    }
    buf_free(&w.out);
    return rc;
}

/* ---- tools ---- */

static int check_function(const struct tool_function *f, struct err *e)
{
    struct str name = utf8_prefix(str_of(f->name), TOOL_NAME_MAX);
    const struct path at = {NULL, f->name, 0};
    const struct writer w = {.e = e};
    if (!tool_name_ok(str_of(f->name), "_-")) {
        return err_set(e, ERR_INPUT,
                       "\"%.*s\" cannot name a function: providers take 1 to %d letters, digits, "
                       "\"_\" or \"-\"",
                       STR_FMT(name), TOOL_NAME_MAX);
    }
    if (f->call == NULL) {
        return fail(&w, &at, ERR_INPUT, "it has no function; set `call`");
    }
    if ((int)f->tier < TIER_READ || f->tier > TIER_DANGER) {
        return fail(&w, &at, ERR_INPUT, "%d is no tier; TIER_READ, TIER_WRITE and TIER_DANGER are",
                    (int)f->tier);
    }
    if (f->max_output < -1 || f->max_output > TOOL_CHARS_MAX) {
        return fail(&w, &at, ERR_INPUT, "max_output is 1 to %d, 0 for %d or -1 for no limit",
                    TOOL_CHARS_MAX, TOOL_OUTPUT_CHARS);
    }
    return check_description(&w, &at, f->description);
}

int toolset_add_function(struct toolset *t, const struct tool_function *f, struct err *e)
{
    int rc = check_function(f, e);
    if (rc != 0) {
        return rc;
    }
    struct tool_spec spec = {
        .name = arena_str(t->arena, str_of(f->name)),
        .description = arena_str(t->arena, str_of(f->description)),
        .tier = f->tier,
        .serial = f->serial,
        .idempotent = f->idempotent,
        .polling = f->polling,
        .terminal = f->terminal,
        .timeout_ms = TOOL_TIMEOUT_MS,
        .max_output = f->max_output == 0 ? TOOL_OUTPUT_CHARS : f->max_output,
    };
    spec.max_output = spec.max_output < 0 ? 0 : spec.max_output;
    const struct tool_def def = {.source = TOOL_FUNCTION, .call = f->call, .ctx = f->ctx};
    return toolset_add_made(t, &spec, &def, f->params, e);
}
