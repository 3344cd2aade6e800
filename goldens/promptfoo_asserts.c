/* What promptfoo's asserts come to: checks of the answer, and limits. */
#include "goldens/make.h"
#include "goldens/promptfoo_int.h"
#include "kernel/base/dec.h"
#include "kernel/base/regex.h"
#include "kernel/base/schema.h"

#include <inttypes.h>

/* What the asserts of a test come to. */
struct checks {
    struct buf answer; /* items of an `all`, a line each */
    size_t n;
    struct str cost; /* number text; n 0 = none */
    int64_t max_ms;  /* -1 = none */
};

static void add_pattern(struct buf *out, const char *before, struct str text)
{
    struct buf pattern = {0};
    buf_addz(&pattern, before);
    golden_add_pattern(&pattern, text);
    golden_put_text(out, buf_str(&pattern));
    buf_free(&pattern);
}

/* One text that must be there. */
static void put_contains(struct buf *out, struct str text, bool any_case)
{
    buf_addz(out, any_case ? "{regex: " : "{contains: ");
    if (any_case) {
        add_pattern(out, "(?i)", text);
    } else {
        golden_put_text(out, text);
    }
    buf_char(out, '}');
}

/* The texts of a value, each rendered: a list, or one text with commas. */
static bool texts_of(struct promptfoo *m, const struct val *test, const struct val *value,
                     struct str **out, size_t *n)
{
    bool list = val_is(value, VAL_ARRAY);
    struct str rest = val_text(value);
    size_t cap = list ? value->count : 1;
    for (size_t i = 0; i < rest.n; i++) {
        cap += rest.p[i] == ',';
    }
    *out = arena_array(m->arena, cap, sizeof **out);
    *n = 0;
    for (size_t i = 0; list && i < value->count; i++) {
        const struct val *item = &value->items[i];
        struct str text = item->text;
        if ((item->kind != VAL_STRING && item->kind != VAL_NUMBER) ||
            !promptfoo_render(m, test, text, item, &(*out)[(*n)++])) {
            return false;
        }
    }
    for (bool more = !list; more; more = rest.p != NULL) {
        struct str text = str_trim(str_cut(&rest, ','));
        if (!promptfoo_render(m, test, text, value, &(*out)[(*n)++])) {
            return false;
        }
    }
    return *n > 0;
}

static bool put_several(struct promptfoo *m, const struct val *test, const struct val *value,
                        bool all, bool any_case, struct buf *out)
{
    struct str *texts = NULL;
    size_t n = 0;
    if (!texts_of(m, test, value, &texts, &n)) {
        return false;
    }
    buf_addz(out, all ? "{all: [" : "{any: [");
    for (size_t i = 0; i < n; i++) {
        buf_addz(out, i > 0 ? ", " : "");
        put_contains(out, texts[i], any_case);
    }
    buf_addz(out, "]}");
    return true;
}

static bool put_schema(const struct val *value, struct buf *out)
{
    if (value == NULL) {
        buf_addz(out, "{schema: true}");
        return true;
    }
    struct schema *made = NULL;
    if (value->kind != VAL_OBJECT || schema_new(value, SCHEMA_2020_12, &made, NULL) != 0) {
        return false;
    }
    schema_free(made);
    buf_addz(out, "{schema: ");
    golden_put_value(out, value);
    buf_char(out, '}');
    return true;
}

/* Types of asserts that an answer check can stand for. */
enum form { EQUALS, CONTAINS, ALL, ANY, REGEX, STARTS, RUBRIC, IS_JSON };

static const struct {
    const char *type;
    enum form form;
    bool any_case;
} forms[] = {
    {"equals", EQUALS, false},    {"contains", CONTAINS, false},     {"icontains", CONTAINS, true},
    {"contains-all", ALL, false}, {"contains-any", ANY, false},      {"icontains-all", ALL, true},
    {"icontains-any", ANY, true}, {"regex", REGEX, false},           {"starts-with", STARTS, false},
    {"is-json", IS_JSON, false},  {"contains-json", IS_JSON, false}, {"llm-rubric", RUBRIC, false},
};

enum { FORMS = sizeof forms / sizeof forms[0] };

/* A check of one text that is rendered. */
static void put_text_check(enum form form, bool any_case, struct str text, struct buf *out)
{
    if (form == CONTAINS) {
        put_contains(out, text, any_case);
    } else if (form == STARTS) {
        buf_addz(out, "{regex: ");
        add_pattern(out, "^", text);
        buf_char(out, '}');
    } else {
        buf_addz(out, form == EQUALS ? "{equals: " : form == RUBRIC ? "{rubric: " : "{regex: ");
        golden_put_text(out, text);
        buf_char(out, '}');
    }
}

/* JavaScript's regular expressions are not all ours. */
static bool is_pattern(struct str text)
{
    struct regex *made = NULL;
    bool good = regex_new(text, &made, NULL) == 0;
    regex_free(made);
    return good;
}

static bool put_check(struct promptfoo *m, const struct val *test, const struct val *assert_at,
                      size_t form, struct buf *out)
{
    const struct val *value = val_get(assert_at, "value");
    struct str text;
    bool any_case = forms[form].any_case;
    switch (forms[form].form) {
    case ALL:
    case ANY: return put_several(m, test, value, forms[form].form == ALL, any_case, out);
    case IS_JSON: return put_schema(value, out);
    case EQUALS:
    case CONTAINS:
    case REGEX:
    case STARTS:
    case RUBRIC: break;
    }
    if ((!val_is(value, VAL_STRING) && !val_is(value, VAL_NUMBER)) ||
        str_starts(value->text, "file://") ||
        !promptfoo_render(m, test, value->text, value, &text) ||
        (forms[form].form == REGEX && !is_pattern(text))) {
        return false;
    }
    put_text_check(forms[form].form, any_case, text, out);
    return true;
}

static void add_limit(const struct promptfoo *m, const struct val *v, struct str type,
                      struct checks *out)
{
    const struct val *threshold = val_get(v, "threshold");
    int64_t ms;
    if (!val_is(threshold, VAL_NUMBER) || num_compare(threshold->text, STR("0")) < 0) {
        promptfoo_leave(m, v, "%.*s without a threshold", STR_FMT(type));
    } else if (str_is(type, "cost")) {
        out->cost = threshold->text;
    } else if (num_scaled(threshold->text, 0, &ms) && ms <= INT64_C(86400000)) {
        out->max_ms = ms;
    } else {
        promptfoo_leave(m, v, "a latency of more than a day");
    }
}

/* Whether an assert is about something else than the answer as it came. */
static bool is_transformed(const struct promptfoo *m, const struct val *test, const struct val *v)
{
    static const char *const keys[] = {"transform", "postprocess"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (val_get(v, keys[i]) != NULL || val_get(val_get(test, "options"), keys[i]) != NULL ||
            val_get(val_get(m->usual, "options"), keys[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void add_assert(struct promptfoo *m, const struct val *test, const struct val *v,
                       struct checks *out)
{
    static const char *const known[] = {"type", "value", "threshold", "metric", NULL};
    struct str type = val_text(val_get(v, "type"));
    bool negated = str_starts(type, "not-");
    struct str plain = negated ? str_slice(type, 4, type.n) : type;
    size_t form = 0;
    struct buf check = {0};
    if (!negated && (str_is(type, "cost") || str_is(type, "latency"))) {
        add_limit(m, v, type, out);
        return;
    }
    while (form < FORMS && !str_is(plain, forms[form].type)) {
        form++;
    }
    if (is_transformed(m, test, v)) {
        promptfoo_leave(m, v, "the assert \"%.*s\" looks at a transformed answer",
                        STR_FMT(promptfoo_shown(m, type)));
        return;
    }
    promptfoo_leave_others(m, v, known, "an assert");
    if (form == FORMS || !put_check(m, test, v, form, &check)) {
        promptfoo_leave(m, v, "the assert \"%.*s\"%s", STR_FMT(promptfoo_shown(m, type)),
                        form == FORMS ? " has no counterpart" : ": its value cannot be taken over");
    } else {
        buf_addz(&out->answer, negated ? "      - {not: " : "      - ");
        buf_add(&out->answer, buf_str(&check));
        buf_addz(&out->answer, negated ? "}\n" : "\n");
        out->n++;
    }
    buf_free(&check);
}

static void add_asserts(struct promptfoo *m, const struct val *test, const struct val *from,
                        struct checks *out)
{
    const struct val *list = val_get(from, "assert");
    if (list != NULL && list->kind != VAL_ARRAY) {
        promptfoo_leave(m, list, "expected a list of asserts");
    }
    for (size_t i = 0; val_is(list, VAL_ARRAY) && i < list->count; i++) {
        add_assert(m, test, &list->items[i], out);
    }
}

static void put_expect(const struct checks *c, struct buf *out)
{
    if (c->n == 0 && c->cost.n == 0 && c->max_ms < 0) {
        return;
    }
    buf_addz(out, "  expect:\n");
    if (c->n > 0) {
        buf_addz(out, "    answer:\n      all:\n");
        buf_add(out, buf_str(&c->answer));
    }
    if (c->cost.n > 0 || c->max_ms >= 0) {
        buf_addz(out, "    limits: {");
        if (c->cost.n > 0) {
            buf_fmt(out, "cost_usd: %.*s%s", STR_FMT(c->cost), c->max_ms >= 0 ? ", " : "");
        }
        if (c->max_ms >= 0) {
            buf_fmt(out, "seconds: %" PRId64 ".%03" PRId64, c->max_ms / 1000, c->max_ms % 1000);
        }
        buf_addz(out, "}\n");
    }
}

void promptfoo_expect(struct promptfoo *m, const struct val *test, struct buf *out)
{
    struct checks checks = {.max_ms = -1};
    add_asserts(m, test, m->usual, &checks);
    add_asserts(m, test, test, &checks);
    put_expect(&checks, out);
    buf_free(&checks.answer);
}
