/* Whether the arguments that a task expects can come about: each against its own part of the tool's
 * schema. References into the rest of the schema are left to the run. */
#include "goldens/golden_int.h"
#include "kernel/base/dec.h"
#include "kernel/base/json.h"
#include "kernel/base/regex.h"
#include "kernel/base/schema.h"
#include "kernel/base/text.h"

#include <inttypes.h>

/* Kinds of JSON values, as bits. */
enum {
    IS_NULL = 1,
    IS_BOOL = 2,
    IS_NUMBER = 4,
    IS_STRING = 8,
    IS_ARRAY = 16,
    IS_OBJECT = 32,
    IS_WHOLE = 64, /* beside IS_NUMBER: whole ones only */
    IS_ANYTHING = 63
};

static const struct {
    const char *type;
    const char *words;
    unsigned kinds;
} types[] = {{"null", "null", IS_NULL},         {"boolean", "a boolean", IS_BOOL},
             {"number", "a number", IS_NUMBER}, {"integer", "an integer", IS_NUMBER | IS_WHOLE},
             {"string", "a string", IS_STRING}, {"array", "a list", IS_ARRAY},
             {"object", "a map", IS_OBJECT}};

enum { TYPES = sizeof types / sizeof types[0] };

/* The check of one call's arguments. */
struct checking {
    const struct golden_report *report;
    const struct tool_spec *tool;
    struct arena *arena;
};

/* A value that is expected, and where it stands among the arguments. */
struct place {
    const struct val *v;
    const struct val *schema; /* NULL = nothing is known */
    struct str path;          /* "filter.sku" */
    bool alternative;         /* one of several: it need not be possible */
};

static void check(const struct checking *c, const struct place *p);

/* ---- what a schema's `type` says ---- */

static size_t type_index(struct str name)
{
    size_t i = 0;
    while (i < TYPES && !str_is(name, types[i].type)) {
        i++;
    }
    return i;
}

/* The kinds of values that `type` lets through; appends them in words (NULL: nowhere). */
static unsigned kinds_of(const struct val *schema, struct buf *words)
{
    const struct val *type = val_get(schema, "type");
    size_t n = val_is(type, VAL_STRING) ? 1 : val_is(type, VAL_ARRAY) ? type->count : 0;
    unsigned kinds = 0;
    bool fractions = false;
    for (size_t i = 0; i < n; i++) {
        size_t t = type_index(val_text(type->kind == VAL_STRING ? type : &type->items[i]));
        if (t == TYPES) {
            return IS_ANYTHING;
        }
        kinds |= types[t].kinds;
        fractions = fractions || types[t].kinds == IS_NUMBER;
        if (words != NULL) {
            buf_addz(words, words->n > 0 ? " or " : "");
            buf_addz(words, types[t].words);
        }
    }
    return n == 0 ? IS_ANYTHING : fractions ? kinds & ~(unsigned)IS_WHOLE : kinds;
}

static unsigned kind_of(const struct val *v)
{
    static const unsigned bits[] = {
        [VAL_NULL] = IS_NULL,     [VAL_BOOL] = IS_BOOL,   [VAL_NUMBER] = IS_NUMBER,
        [VAL_STRING] = IS_STRING, [VAL_ARRAY] = IS_ARRAY, [VAL_OBJECT] = IS_OBJECT};
    return bits[v->kind];
}

/* ---- findings ---- */

static void add_matchers(struct buf *out)
{
    const char *const *keys = args_match_keys();
    buf_addz(out, "; matchers are: ");
    for (size_t i = 0; keys[i] != NULL; i++) {
        buf_addz(out, i > 0 ? ", " : "");
        buf_addz(out, keys[i]);
    }
}

/* Whether one of `kinds` may stand there; else tells that `what` can never do `verb` to it. */
static bool may_be(const struct checking *c, const struct place *p, unsigned kinds,
                   const char *what, const char *verb)
{
    struct buf words = {0};
    bool fits = p->alternative || (kinds_of(p->schema, &words) & kinds) != 0;
    if (!fits) {
        struct dec number;
        struct buf message = {0};
        buf_fmt(&message, "\"%.*s\" is %.*s in the schema of the tool \"%.*s\"; %s can never %s it",
                STR_FMT(p->path), STR_FMT(buf_str(&words)), STR_FMT(c->tool->name), what, verb);
        if (p->v->kind == VAL_OBJECT) {
            add_matchers(&message);
        } else if (p->v->kind == VAL_NUMBER && kinds_of(p->schema, NULL) == IS_STRING) {
            buf_fmt(&message, "; put it in quotes: \"%.*s\"",
                    STR_FMT(text_preview(c->arena, p->v->text, 40)));
        } else if (p->v->kind == VAL_STRING && (kinds_of(p->schema, NULL) & IS_NUMBER) != 0 &&
                   dec_parse(p->v->text, &number) == 0) {
            buf_addz(&message, "; leave the quotes out");
        }
        golden_tell(c->report, p->v->line, p->v->column, FINDING_ERROR, "bad_argument", &message);
    }
    buf_free(&words);
    return fits;
}

/* A literal by the whole of its schema. */
static void check_literal(const struct checking *c, const struct place *p)
{
    struct schema *schema;
    struct buf words = {0};
    bool whole = (kinds_of(p->schema, &words) & IS_WHOLE) != 0;
    buf_free(&words);
    if (p->schema == NULL || p->alternative ||
        !may_be(c, p, kind_of(p->v), val_kind_name(p->v->kind), "equal")) {
        return;
    }
    if (whole && p->v->kind == VAL_NUMBER && !num_is_integer(p->v->text)) {
        struct place fraction = *p;
        (void)may_be(c, &fraction, 0, "a number with a fraction", "equal");
        return;
    }
    if (schema_new(p->schema, SCHEMA_2020_12, &schema, NULL) != 0) {
        return;
    }
    struct buf why = {0};
    if (!schema_valid(schema, p->v, &why)) {
        struct buf message = {0};
        buf_fmt(&message,
                "the tool \"%.*s\" does not allow this for \"%.*s\": ", STR_FMT(c->tool->name),
                STR_FMT(p->path));
        buf_add(&message, buf_str(&why));
        golden_tell(c->report, p->v->line, p->v->column, FINDING_ERROR, "bad_argument", &message);
    }
    buf_free(&why);
    schema_free(schema);
}

/* ---- maps ---- */

/* What some put around the arguments. */
static bool is_wrapper(struct str key)
{
    static const char *const words[] = {"arguments", "args", "parameters", "params", "input"};
    size_t i = 0;
    while (i < sizeof words / sizeof words[0] && !str_is(key, words[i])) {
        i++;
    }
    return i < sizeof words / sizeof words[0];
}

/* A member that the schema does not have: an error where it refuses others, else a doubt. */
static void check_unknown(const struct checking *c, const struct place *p, const struct member *m)
{
    const struct val *properties = val_get(p->schema, "properties");
    if (!schema_lists_members(p->schema) || val_get(&m->value, "absent") != NULL) {
        return;
    }
    bool refused = val_get(p->schema, "additionalProperties") != NULL;
    struct buf message = {0};
    buf_fmt(&message, "the tool \"%.*s\" has no parameter \"%.*s\"", STR_FMT(c->tool->name),
            STR_FMT(text_preview(c->arena, m->key, 100)));
    if (p->path.n > 0) {
        buf_fmt(&message, " in \"%.*s\"", STR_FMT(p->path));
    }
    if (p->path.n == 0 && m->value.kind == VAL_OBJECT && is_wrapper(m->key)) {
        buf_addz(&message, "; arguments stand right under the tool's name");
    } else {
        doc_add_closest(&message, properties, m->key);
    }
    golden_tell(c->report, m->line, m->column, refused ? FINDING_ERROR : FINDING_WARNING,
                "unknown_parameter", &message);
}

/* Parameters that the schema requires and the map leaves out. at: where that is told. */
static void check_required(const struct checking *c, const struct place *p, const struct val *at)
{
    const struct val *required = val_get(p->schema, "required");
    for (size_t i = 0; val_is(required, VAL_ARRAY) && i < required->count; i++) {
        struct str name = val_text(&required->items[i]);
        const struct val *expected = val_find(p->v, name);
        const struct val *property = val_find(val_get(p->schema, "properties"), name);
        bool absent = val_get(expected, "absent") != NULL && expected->count == 1;
        if ((expected != NULL && !absent) || val_get(property, "default") != NULL) {
            continue;
        }
        struct buf message = {0};
        struct str shown = text_preview(c->arena, name, 100);
        buf_fmt(&message, "the tool \"%.*s\" requires \"%.*s\"", STR_FMT(c->tool->name),
                STR_FMT(shown));
        if (p->path.n > 0) {
            buf_fmt(&message, " in \"%.*s\"", STR_FMT(p->path));
        }
        buf_fmt(&message,
                ", which %s here: no call that it accepts fits; write %.*s: {any: true} if it "
                "does not matter",
                absent ? "is expected to be absent" : "is not listed", STR_FMT(shown));
        const struct val *told = absent ? expected : at;
        golden_tell(c->report, told->line, told->column, FINDING_ERROR, "missing_argument",
                    &message);
    }
}

static void check_members(const struct checking *c, const struct place *p)
{
    const struct val *properties = val_get(p->schema, "properties");
    for (size_t i = 0; i < p->v->count; i++) {
        const struct member *m = &p->v->members[i];
        const struct val *part = val_find(properties, m->key);
        if (part == NULL && p->schema != NULL) {
            check_unknown(c, p, m);
        }
        struct str key = text_preview(c->arena, m->key, 100);
        struct place inner = {
            &m->value, part,
            p->path.n == 0 ? key
                           : arena_printf(c->arena, "%.*s.%.*s", STR_FMT(p->path), STR_FMT(key)),
            p->alternative};
        check(c, &inner);
    }
    if (p->path.n > 0 && !p->alternative) {
        check_required(c, p, p->v); /* extra_args does not reach into maps */
    }
}

/* A map with one key that is nearly a matcher's, and that nothing says could be a literal. */
static bool is_slip(const struct checking *c, const struct place *p)
{
    const char *const *keys = args_match_keys();
    size_t n = 0;
    while (keys[n] != NULL) {
        n++;
    }
    const struct member *m = &p->v->members[0];
    bool known = p->v->count != 1 || val_find(val_get(p->schema, "properties"), m->key) != NULL;
    const char *meant = known ? NULL : text_closest(m->key, keys, n);
    if (meant == NULL) {
        return false;
    }
    struct buf message = {0};
    buf_fmt(&message,
            "\"%.*s\" is no matcher; did you mean \"%s\"? A map that is meant literally stands "
            "under equals",
            STR_FMT(text_preview(c->arena, m->key, 100)), meant);
    golden_tell(c->report, m->line, m->column, FINDING_ERROR, "unknown_matcher", &message);
    return true;
}

/* ---- matchers ---- */

static void check_items(const struct checking *c, const struct place *p, const struct val *list,
                        const struct val *schema, bool alternative)
{
    for (size_t i = 0; i < list->count; i++) {
        struct place item = {&list->items[i], schema, p->path, alternative};
        check(c, &item);
    }
}

static void count(void *ctx, const struct finding *f)
{
    size_t *errors = ctx;
    *errors += f->severity == FINDING_ERROR;
}

/* `any` among others takes what they do not. */
static void check_any_among(const struct checking *c, const struct val *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct buf message = {0};
        if (val_get(&list->items[i], "any") != NULL && list->items[i].count == 1) {
            buf_addz(&message, "with {any: true} among them every value fits; leave it out, or the "
                               "others");
            golden_tell(c->report, list->items[i].line, list->items[i].column, FINDING_WARNING,
                        "accepts_anything", &message);
            return;
        }
    }
}

/* Tells when nothing under `one_of` can ever come. */
static void check_one_of(const struct checking *c, const struct place *p, const struct val *list)
{
    size_t possible = list->count;
    for (size_t i = 0; i < list->count; i++) {
        size_t errors = 0;
        const struct golden_report quiet = {count, &errors, c->report->file};
        const struct checking alone = {&quiet, c->tool, c->arena};
        struct place item = {&list->items[i], p->schema, p->path, false};
        check(&alone, &item);
        possible -= errors > 0;
    }
    if (possible == 0 && !p->alternative) {
        struct buf message = {0};
        buf_fmt(&message,
                "none of these values can ever be the \"%.*s\" of the tool \"%.*s\"; name one that "
                "its schema allows",
                STR_FMT(p->path), STR_FMT(c->tool->name));
        golden_tell(c->report, p->v->line, p->v->column, FINDING_ERROR, "bad_argument", &message);
        return;
    }
    check_items(c, p, list, p->schema, true);
    check_any_among(c, list);
}

/* More items than the tool takes, or fewer. */
static void check_count(const struct checking *c, const struct place *p, const struct val *list)
{
    struct buf n = {0}, message = {0};
    const struct val *most = val_get(p->schema, "maxItems");
    const struct val *least = val_get(p->schema, "minItems");
    buf_fmt(&n, "%zu", list->count);
    bool above = val_is(most, VAL_NUMBER) && num_compare(buf_str(&n), most->text) > 0;
    bool below = val_is(least, VAL_NUMBER) && num_compare(buf_str(&n), least->text) < 0;
    if ((above || below) && !p->alternative) {
        buf_fmt(&message,
                "the tool \"%.*s\" never takes %zu items as \"%.*s\": its schema has %s %.*s",
                STR_FMT(c->tool->name), list->count, STR_FMT(p->path),
                above ? "maxItems" : "minItems", STR_FMT((above ? most : least)->text));
        golden_tell(c->report, p->v->line, p->v->column, FINDING_ERROR, "bad_argument", &message);
    }
    buf_free(&n);
}

/* What a matcher of texts takes whatever the text is says no more than `any`. */
static void check_vague(const struct checking *c, const struct place *p, bool vague, bool empty)
{
    struct buf message = {0};
    if (vague) {
        buf_fmt(&message,
                "every text%s fits here; name a part of the \"%.*s\" that is meant, or write "
                "{any: true}",
                empty ? "" : " that is not empty", STR_FMT(p->path));
        golden_tell(c->report, p->v->line, p->v->column, FINDING_WARNING, "accepts_anything",
                    &message);
    }
}

/* A regex that is found in texts as unlike each other as can be. */
static void check_regex(const struct checking *c, const struct place *p, struct str pattern)
{
    static const char *const probes[] = {"zq", "7", " - ", "订单"};
    struct regex *regex;
    size_t found = 0;
    if (regex_new(pattern, &regex, NULL) != 0) {
        return;
    }
    bool empty = regex_search(regex, STR("")) == 1;
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
        found += regex_search(regex, str_of(probes[i])) == 1;
    }
    regex_free(regex);
    check_vague(c, p, found == sizeof probes / sizeof probes[0], empty);
}

/* Whether v is written with a matcher. */
static bool is_matcher(const struct val *v)
{
    const char *const *keys = args_match_keys();
    for (size_t i = 0; v->kind == VAL_OBJECT && v->count == 1 && keys[i] != NULL; i++) {
        if (str_is(v->members[0].key, keys[i])) {
            return true;
        }
    }
    return false;
}

static bool beyond(const struct val *number, const struct val *bound, int side)
{
    return val_is(number, VAL_NUMBER) && val_is(bound, VAL_NUMBER) &&
           num_compare(number->text, bound->text) * side > 0;
}

/* A range that lies outside of what the schema allows. */
static void check_bounds(const struct checking *c, const struct place *p, const struct val *range)
{
    bool below = beyond(val_item(range, 1), val_get(p->schema, "minimum"), -1);
    bool above = beyond(val_item(range, 0), val_get(p->schema, "maximum"), 1);
    struct buf message = {0};
    if ((below || above) && !p->alternative) {
        buf_fmt(&message,
                "the tool \"%.*s\" never takes a \"%.*s\" in this range: its schema has the "
                "%s %.*s",
                STR_FMT(c->tool->name), STR_FMT(p->path), below ? "minimum" : "maximum",
                STR_FMT(val_get(p->schema, below ? "minimum" : "maximum")->text));
        golden_tell(c->report, p->v->line, p->v->column, FINDING_ERROR, "bad_argument", &message);
    }
}

/* Whether one of the values that the schema lists fits the matcher. */
static bool any_fits(const struct checking *c, const struct place *p, const struct val *values)
{
    struct arg_match *match = NULL;
    struct doc d = {c->arena, NULL};
    struct member member = {STR("v"), p->v->line, p->v->column, *p->v};
    const struct val args = {.kind = VAL_OBJECT, .count = 1, .members = &member};
    const struct args_match_options o = {0};
    bool fits = args_match_new(d, &args, &match, NULL) != 0;
    for (size_t i = 0; i < values->count && !fits; i++) {
        struct member given = {STR("v"), 0, 0, values->items[i]};
        const struct val call = {.kind = VAL_OBJECT, .count = 1, .members = &given};
        fits = args_match_test(match, &call, &o, NULL);
    }
    args_match_free(match);
    return fits;
}

/* Whether no whole number fits a matcher of numbers where the schema wants one; then says so. from:
 * the lowest number that fits, or the one that is to be near. */
static bool check_whole(const struct checking *c, const struct place *p, const struct val *from)
{
    int64_t n = 0;
    if (p->alternative || (kinds_of(p->schema, NULL) & IS_WHOLE) == 0 ||
        !val_is(from, VAL_NUMBER) || !num_scaled(from->text, 0, &n) || n == INT64_MAX) {
        return false;
    }
    struct val around[] = {
        {.kind = VAL_NUMBER, .text = arena_printf(c->arena, "%" PRId64, n)},
        {.kind = VAL_NUMBER, .text = arena_printf(c->arena, "%" PRId64, n + 1)},
    };
    const struct val values = {.kind = VAL_ARRAY, .count = 2, .items = around};
    if (any_fits(c, p, &values)) {
        return false;
    }
    struct buf message = {0};
    buf_fmt(&message,
            "\"%.*s\" is an integer in the schema of the tool \"%.*s\"; no whole number fits "
            "here",
            STR_FMT(p->path), STR_FMT(c->tool->name));
    golden_tell(c->report, p->v->line, p->v->column, FINDING_ERROR, "bad_argument", &message);
    return true;
}

/* A number outside of what the schema allows, and not near enough to the bound. */
static void check_near(const struct checking *c, const struct place *p, const struct val *value)
{
    const char *key = beyond(value, val_get(p->schema, "maximum"), 1)    ? "maximum"
                      : beyond(value, val_get(p->schema, "minimum"), -1) ? "minimum"
                                                                         : NULL;
    if (key == NULL || p->alternative) {
        return;
    }
    struct val bound = *val_get(p->schema, key);
    const struct val bounds = {.kind = VAL_ARRAY, .count = 1, .items = &bound};
    if (!any_fits(c, p, &bounds)) {
        struct buf message = {0};
        buf_fmt(&message,
                "the tool \"%.*s\" never takes a \"%.*s\" near this: its schema has the %s %.*s",
                STR_FMT(c->tool->name), STR_FMT(p->path), key, STR_FMT(bound.text));
        golden_tell(c->report, p->v->line, p->v->column, FINDING_ERROR, "bad_argument", &message);
    }
}

/* A matcher that fits none of the values that the schema lists; true when that was told. */
static bool check_listed(const struct checking *c, const struct place *p)
{
    static const char *const keys[] = {"regex", "contains", "near", "range"};
    const struct val *values = val_get(p->schema, "enum");
    bool tests = false;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        tests = tests || val_get(p->v, keys[i]) != NULL;
    }
    if (!tests || p->alternative || !val_is(values, VAL_ARRAY) || any_fits(c, p, values)) {
        return false;
    }
    struct buf message = {0};
    buf_fmt(&message, "this fits none of the values that the tool \"%.*s\" has for \"%.*s\": ",
            STR_FMT(c->tool->name), STR_FMT(p->path));
    json_add_spaced(&message, values);
    golden_tell(c->report, p->v->line, p->v->column, FINDING_ERROR, "bad_argument", &message);
    return true;
}

static void check_matcher(const struct checking *c, const struct place *p)
{
    struct str key = p->v->members[0].key;
    const struct val *operand = &p->v->members[0].value;
    const struct val *items = val_get(p->schema, "items");
    struct place inner = {operand, p->schema, p->path, p->alternative};
    if (check_listed(c, p)) {
        return;
    }
    if (str_is(key, "equals")) {
        check_literal(c, &inner);
    } else if (str_is(key, "optional")) {
        check(c, &inner);
    } else if (str_is(key, "one_of")) {
        check_one_of(c, p, operand);
    } else if (str_is(key, "regex")) {
        if (may_be(c, p, IS_STRING, "a regex", "match") &&
            !golden_check_slashes(c->report, operand, operand->text)) {
            check_regex(c, p, operand->text);
        }
    } else if (str_is(key, "near") || str_is(key, "range")) {
        (void)may_be(c, p, IS_NUMBER, "a range of numbers", "match");
        const struct val *near = val_get(operand, "value");
        if (!check_whole(c, p, near != NULL ? near : val_item(operand, 0))) {
            check_bounds(c, p, operand);
            check_near(c, p, near);
        }
    } else if (str_is(key, "contains")) {
        inner.schema = items;
        if (operand->kind != VAL_STRING) {
            if (may_be(c, p, IS_ARRAY, "contains of what is no text", "match")) {
                check(c, &inner);
            }
        } else if (!may_be(c, p, IS_STRING | IS_ARRAY, "contains", "match")) {
            return;
        } else if (operand->kind == VAL_STRING) {
            check_vague(c, p, operand->text.n == 0, true);
        }
    } else if (str_is(key, "unordered") || str_is(key, "each")) {
        inner.schema = items;
        bool fits = may_be(c, p, IS_ARRAY, "a matcher of lists", "match");
        if (fits && str_is(key, "each")) {
            check(c, &inner);
        } else if (fits) {
            check_count(c, p, operand);
            check_items(c, p, operand, items, p->alternative);
        }
    }
}

/* Whether nothing in it is a map, so that it stands for itself. */
static bool is_plain(const struct val *v)
{
    bool plain = v->kind != VAL_OBJECT;
    for (size_t i = 0; v->kind == VAL_ARRAY && plain && i < v->count; i++) {
        plain = is_plain(&v->items[i]);
    }
    return plain;
}

/* Recursion ends at the file's depth. */
static void check(const struct checking *c, const struct place *p)
{
    if (is_matcher(p->v)) {
        check_matcher(c, p);
    } else if (is_plain(p->v)) {
        check_literal(c, p);
    } else if (p->v->kind == VAL_ARRAY) {
        if (may_be(c, p, IS_ARRAY, "a list", "equal")) {
            check_count(c, p, p->v);
            check_items(c, p, p->v, val_get(p->schema, "items"), p->alternative);
        }
    } else if (!is_slip(c, p) && may_be(c, p, IS_OBJECT, "a map", "equal")) {
        check_members(c, p);
    }
}

void golden_check_args(const struct golden_report *r, const struct tool_spec *tool,
                       const struct val *args)
{
    struct checking c = {r, tool, arena_new()};
    struct place all = {args, tool->schema, {0}, false};
    if (val_is(args, VAL_OBJECT)) {
        check_members(&c, &all);
    }
    arena_free(c.arena);
}

void golden_check_required(const struct golden_report *r, const struct tool_spec *tool,
                           const struct val *args, const struct val *at)
{
    struct checking c = {r, tool, arena_new()};
    struct place all = {args, tool->schema, {0}, false};
    check_required(&c, &all, at);
    arena_free(c.arena);
}
