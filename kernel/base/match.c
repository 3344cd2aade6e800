#include "kernel/base/match.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/dec.h"
#include "kernel/base/json.h"
#include "kernel/base/regex.h"
#include "kernel/base/text.h"

enum {
    SHOWN_CHARS = 120,
    SHOWN_BYTES = 2048,  /* of JSON written before it is cut to SHOWN_CHARS */
    UNORDERED_MAX = 256, /* matchers of one `unordered`: pairing tries all pairs */
    DIFFERENCES_MAX = 10 /* said of one call */
};

/* Appends text in quotes on one line, cut when long. */
static void show_text(struct buf *out, struct str s)
{
    struct str head = utf8_prefix(s, SHOWN_CHARS);
    json_add_string(out, head);
    if (head.n < s.n) {
        buf_fmt(out, "… (%zu bytes)", s.n);
    }
}

/* Appends a value as JSON on one line, cut when long. */
static void show_value(struct buf *out, const struct val *v)
{
    if (v->kind == VAL_STRING) {
        show_text(out, v->text);
        return;
    }
    struct buf json = {.max = SHOWN_BYTES};
    json_add_spaced(&json, v);
    struct str head = utf8_prefix(buf_str(&json), SHOWN_CHARS);
    buf_add(out, head);
    if (head.n < json.n || json.truncated) {
        buf_addz(out, "…");
    }
    buf_free(&json);
}

static int compile_regex(struct doc d, const struct val *v, struct regex **out, struct err *e)
{
    if (v->kind != VAL_STRING) {
        return doc_fail(d, v, e, "\"regex\" must be a string, got %s", val_kind_name(v->kind));
    }
    struct err why;
    int rc = regex_new(v->text, out, &why);
    return rc == 0 ? 0 : doc_fail(d, v, e, "%s", why.message);
}

/* Text conditions. */

enum cond_kind { COND_EQUALS, COND_CONTAINS, COND_REGEX, COND_ONE_OF, COND_ABSENT };

struct text_cond {
    enum cond_kind kind;
    const struct val *want; /* a string; of one_of a list of strings */
    struct regex *regex;    /* COND_REGEX */
};

static int cond_string(struct doc d, const struct val *v, const char *key, struct err *e)
{
    return v->kind == VAL_STRING
               ? 0
               : doc_fail(d, v, e, "\"%s\" must be a string, got %s", key, val_kind_name(v->kind));
}

static int compile_cond(struct doc d, const struct member *m, struct text_cond *c, struct err *e)
{
    static const char *const names[] = {"equals", "contains", "regex", "one_of", "absent"};
    const struct val *v = &m->value;
    size_t kind = 0;
    while (kind < COND_ABSENT && !str_is(m->key, names[kind])) {
        kind++;
    }
    c->kind = (enum cond_kind)kind;
    c->want = v;
    switch (c->kind) {
    case COND_EQUALS:
    case COND_CONTAINS: return cond_string(d, v, names[kind], e);
    case COND_REGEX: return compile_regex(d, v, &c->regex, e);
    case COND_ONE_OF:
        if (v->kind != VAL_ARRAY || v->count == 0) {
            return doc_fail(d, v, e, "\"one_of\" must be a list of at least one string");
        }
        for (size_t i = 0; i < v->count; i++) {
            int rc = cond_string(d, &v->items[i], "one_of", e);
            if (rc != 0) {
                return rc;
            }
        }
        return 0;
    case COND_ABSENT:
        return v->kind == VAL_BOOL && v->boolean ? 0
                                                 : doc_fail(d, v, e, "\"absent\" takes only true");
    }
    return 0;
}

int text_cond_new(struct doc d, const struct val *v, bool allow_absent, struct text_cond **out,
                  struct err *e)
{
    static const char *const with_absent[] = {"absent", "equals", "contains",
                                              "regex",  "one_of", NULL};
    const char *const *keys = allow_absent ? with_absent : with_absent + 1;
    const char *what = "a text condition";
    struct text_cond *c = arena_alloc(d.arena, sizeof *c);
    *out = c;
    if (v->kind == VAL_STRING) {
        c->kind = COND_EQUALS;
        c->want = v;
        return 0;
    }
    if (v->kind != VAL_OBJECT) {
        return doc_fail(d, v, e,
                        "expected a text condition: a string, or a map with one of equals, "
                        "contains, regex, one_of%s; got %s",
                        allow_absent ? ", absent" : "", val_kind_name(v->kind));
    }
    int rc = doc_keys(d, v, what, keys, e);
    if (rc == 0 && v->count != 1) {
        rc = doc_fail(d, v, e,
                      "a text condition has exactly one of equals, contains, regex, one_of%s; "
                      "this map has %zu keys",
                      allow_absent ? ", absent" : "", v->count);
    }
    return rc == 0 ? compile_cond(d, &v->members[0], c, e) : rc;
}

void text_cond_free(struct text_cond *c)
{
    if (c != NULL) {
        regex_free(c->regex);
        c->regex = NULL;
    }
}

static bool one_of_texts(const struct val *list, struct str s)
{
    for (size_t i = 0; i < list->count; i++) {
        if (str_eq(list->items[i].text, s)) {
            return true;
        }
    }
    return false;
}

static bool cond_holds(const struct text_cond *c, const struct str *s)
{
    if (s == NULL) {
        return c->kind == COND_ABSENT;
    }
    switch (c->kind) {
    case COND_EQUALS: return str_eq(c->want->text, *s);
    case COND_CONTAINS: return str_find(*s, c->want->text) != SIZE_MAX;
    case COND_REGEX: return regex_search(c->regex, *s) == 1;
    case COND_ONE_OF: return one_of_texts(c->want, *s);
    case COND_ABSENT: return false;
    }
    return false;
}

bool text_cond_test(const struct text_cond *c, const struct str *s, struct buf *why)
{
    static const char *const words[] = {"", "text containing ", "text matching the regex ",
                                        "one of ", ""};
    if (cond_holds(c, s)) {
        return true;
    }
    if (why != NULL) {
        buf_fmt(why, "expected %s", words[c->kind]);
        if (c->kind == COND_ABSENT) {
            buf_addz(why, "no text");
        } else {
            show_value(why, c->want);
        }
        buf_addz(why, ", got ");
        if (s == NULL) {
            buf_addz(why, "no text");
        } else {
            show_text(why, *s);
        }
        if (s != NULL && text_cond_unsure(c, *s)) {
            buf_addz(why, " (the regex needs too many steps here; make it simpler)");
        }
    }
    return false;
}

bool text_cond_unsure(const struct text_cond *c, struct str s)
{
    return c->kind == COND_REGEX && regex_search(c->regex, s) < 0;
}

/* Argument matchers. The order of the first ones is that of `matcher_keys`. */

enum arg_kind {
    ARG_EQUALS,
    ARG_ONE_OF,
    ARG_REGEX,
    ARG_CONTAINS,
    ARG_NEAR,
    ARG_RANGE,
    ARG_ANY,
    ARG_ABSENT,
    ARG_OPTIONAL,
    ARG_EACH,
    ARG_UNORDERED,
    ARG_LIST, /* a plain list: every item a matcher */
    ARG_MAP   /* a plain map: every value a matcher */
};

static const char *const matcher_keys[] = {"equals",   "one_of", "regex",     "contains",
                                           "near",     "range",  "any",       "absent",
                                           "optional", "each",   "unordered", NULL};

const char *const *args_match_keys(void)
{
    return matcher_keys;
}

struct arg_match {
    enum arg_kind kind;
    struct str key;          /* in a map */
    const struct val *want;  /* what stands in the file: for messages, and for equals */
    struct regex *regex;     /* ARG_REGEX */
    struct str low, high;    /* ARG_RANGE; ARG_NEAR: value and within */
    struct arg_match *items; /* of one_of, unordered, lists and maps; one of each, optional,
                                contains */
    size_t n;
};

/* Where a matcher stands: under a map's key it may say that there is nothing. */
enum arg_place { IN_MAP, IN_LIST };

static int compile_arg(struct doc d, const struct val *v, enum arg_place place, struct arg_match *m,
                       struct err *e);

static int compile_items(struct doc d, const struct val *list, enum arg_place place,
                         struct arg_match *m, struct err *e)
{
    m->items = arena_array(d.arena, list->count, sizeof *m->items);
    for (size_t i = 0; i < list->count; i++) {
        m->n = i + 1;
        int rc = compile_arg(d, &list->items[i], place, &m->items[i], e);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static int compile_one(struct doc d, const struct val *v, enum arg_place place, struct arg_match *m,
                       struct err *e)
{
    m->items = arena_alloc(d.arena, sizeof *m->items);
    m->n = 1;
    return compile_arg(d, v, place, m->items, e);
}

static int compile_map(struct doc d, const struct val *v, struct arg_match *m, struct err *e)
{
    m->items = arena_array(d.arena, v->count, sizeof *m->items);
    for (size_t i = 0; i < v->count; i++) {
        m->n = i + 1;
        m->items[i].key = v->members[i].key;
        int rc = compile_arg(d, &v->members[i].value, IN_MAP, &m->items[i], e);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static int compile_near(struct doc d, const struct val *v, struct arg_match *m, struct err *e)
{
    static const char *const keys[] = {"value", "within", NULL};
    struct dec number;
    int rc = doc_keys(d, v, "near (a literal map with this key stands under equals)", keys, e);
    if (rc != 0) {
        return rc;
    }
    const struct val *value = val_get(v, "value"), *within = val_get(v, "within");
    if (!val_is(value, VAL_NUMBER) || !val_is(within, VAL_NUMBER) ||
        num_compare(within->text, STR("0")) < 0) {
        return doc_fail(d, v, e, "\"near\" takes {value: NUMBER, within: NUMBER of at least 0}");
    }
    if (dec_parse(value->text, &number) != 0 || dec_parse(within->text, &number) != 0) {
        return doc_fail(d, v, e, "a number in \"near\" has more than %d digits", DEC_DIGITS_MAX);
    }
    m->low = value->text;
    m->high = within->text;
    return 0;
}

static int compile_range(struct doc d, const struct val *v, struct arg_match *m, struct err *e)
{
    const struct val *low = val_item(v, 0), *high = val_item(v, 1);
    if (v->kind != VAL_ARRAY || v->count != 2 || !val_is(low, VAL_NUMBER) ||
        !val_is(high, VAL_NUMBER)) {
        return doc_fail(d, v, e,
                        "\"range\" takes [LOWEST, HIGHEST], two numbers (a literal map with this "
                        "key stands under equals)");
    }
    if (num_compare(low->text, high->text) > 0) {
        return doc_fail(d, v, e, "\"range\" has its lowest above its highest");
    }
    m->low = low->text;
    m->high = high->text;
    return 0;
}

static int compile_list_of(struct doc d, const struct val *v, enum arg_place place,
                           struct arg_match *m, struct err *e)
{
    if (v->kind != VAL_ARRAY) {
        return doc_fail(d, v, e,
                        "\"%s\" takes a list, got %s (a literal map with this key stands "
                        "under equals)",
                        matcher_keys[m->kind], val_kind_name(v->kind));
    }
    if (m->kind == ARG_ONE_OF && v->count == 0) {
        return doc_fail(d, v, e, "\"one_of\" takes a list of at least one value");
    }
    if (m->kind == ARG_UNORDERED && v->count > UNORDERED_MAX) {
        return doc_fail(d, v, e, "\"unordered\" takes at most %d items, got %zu", UNORDERED_MAX,
                        v->count);
    }
    return compile_items(d, v, place, m, e);
}

/* The operand of one matcher key. */
static int compile_matcher(struct doc d, const struct val *v, enum arg_place place,
                           struct arg_match *m, struct err *e)
{
    m->want = v;
    switch (m->kind) {
    case ARG_EQUALS: return 0;
    case ARG_REGEX: return compile_regex(d, v, &m->regex, e);
    case ARG_NEAR: return compile_near(d, v, m, e);
    case ARG_RANGE: return compile_range(d, v, m, e);
    case ARG_ANY:
    case ARG_ABSENT:
        if (v->kind != VAL_BOOL || !v->boolean) {
            return doc_fail(d, v, e, "\"%s\" takes only true", matcher_keys[m->kind]);
        }
        break;
    case ARG_ONE_OF: return compile_list_of(d, v, place, m, e);
    case ARG_UNORDERED: return compile_list_of(d, v, IN_LIST, m, e);
    case ARG_OPTIONAL: return compile_one(d, v, place, m, e);
    case ARG_EACH:
    case ARG_CONTAINS: return compile_one(d, v, IN_LIST, m, e);
    case ARG_LIST:
    case ARG_MAP: assert(!"no matcher key");
    }
    if (m->kind == ARG_ABSENT && place == IN_LIST) {
        return doc_fail(d, v, e, "\"absent\" cannot stand in a list, where every item is present");
    }
    return 0;
}

static int compile_arg(struct doc d, const struct val *v, enum arg_place place, struct arg_match *m,
                       struct err *e)
{
    m->want = v;
    if (v->kind == VAL_ARRAY) {
        m->kind = ARG_LIST;
        return compile_items(d, v, IN_LIST, m, e);
    }
    if (v->kind != VAL_OBJECT) {
        m->kind = ARG_EQUALS;
        return 0;
    }
    for (size_t i = 0; i < v->count; i++) {
        int index = str_index(v->members[i].key, matcher_keys);
        if (index >= 0 && v->count > 1) {
            return err_at(e, ERR_INPUT, d.file, v->members[i].line, v->members[i].column,
                          "\"%s\" is a matcher and must be the only key of its map; write a "
                          "literal map as {equals: {...}}",
                          matcher_keys[index]);
        }
        if (index >= 0) {
            m->kind = (enum arg_kind)index;
            return compile_matcher(d, &v->members[i].value, place, m, e);
        }
    }
    m->kind = ARG_MAP;
    return compile_map(d, v, m, e);
}

int args_match_new(struct doc d, const struct val *v, struct arg_match **out, struct err *e)
{
    struct arg_match *m = arena_alloc(d.arena, sizeof *m);
    m->kind = ARG_MAP;
    m->want = v;
    *out = m;
    if (v == NULL || v->kind == VAL_NULL) {
        return 0;
    }
    if (v->kind != VAL_OBJECT) {
        return doc_fail(d, v, e, "expected a map from parameter names to values, got %s",
                        val_kind_name(v->kind));
    }
    return compile_map(d, v, m, e);
}

/* Depth is that of the file. */
void args_match_free(struct arg_match *m)
{
    if (m == NULL) {
        return;
    }
    regex_free(m->regex);
    m->regex = NULL;
    for (size_t i = 0; i < m->n; i++) {
        args_match_free(&m->items[i]);
    }
}

/* A place in the arguments, from the inside out. */
struct path {
    const struct path *up; /* NULL: the arguments themselves */
    struct str key;
    size_t index;      /* where key.p is NULL */
    bool *unsure;      /* of the arguments, args_match_options's; else NULL */
    struct told *told; /* of the arguments: what is said of them; else NULL */
};

/* The differences that one test says, a line each. */
struct told {
    size_t n;
    size_t max;
};

/* Where the test began. */
static const struct path *root_of(const struct path *at)
{
    while (at->up != NULL) {
        at = at->up;
    }
    return at;
}

static void show_path(struct buf *out, const struct path *p)
{
    if (p->up == NULL) {
        buf_addz(out, "args");
        return;
    }
    show_path(out, p->up);
    if (p->key.p == NULL) {
        buf_fmt(out, "[%zu]", p->index);
    } else {
        buf_char(out, '.');
        struct str key = utf8_prefix(p->key, SHOWN_CHARS);
        for (size_t at = 0; at < key.n;) {
            uint32_t code = utf8_next(key, &at);
            utf8_add(out, text_is_control(code) ? ' ' : code);
        }
    }
}

static void show_expected(struct buf *out, const struct arg_match *m)
{
    switch (m->kind) {
    case ARG_EQUALS:
    case ARG_LIST:
    case ARG_MAP: show_value(out, m->want); break;
    case ARG_ONE_OF:
        buf_addz(out, "one of ");
        show_value(out, m->want);
        break;
    case ARG_REGEX:
        buf_addz(out, "text matching the regex ");
        show_value(out, m->want);
        break;
    case ARG_CONTAINS:
        buf_addz(out, "something containing ");
        show_value(out, m->want);
        break;
    case ARG_NEAR:
        buf_fmt(out, "a number within %.*s of %.*s", STR_FMT(utf8_prefix(m->high, SHOWN_CHARS)),
                STR_FMT(utf8_prefix(m->low, SHOWN_CHARS)));
        break;
    case ARG_RANGE:
        buf_fmt(out, "a number from %.*s to %.*s", STR_FMT(utf8_prefix(m->low, SHOWN_CHARS)),
                STR_FMT(utf8_prefix(m->high, SHOWN_CHARS)));
        break;
    case ARG_ANY: buf_addz(out, "any value"); break;
    case ARG_ABSENT: buf_addz(out, "nothing"); break;
    case ARG_OPTIONAL: show_expected(out, &m->items[0]); break;
    case ARG_EACH:
        buf_addz(out, "a list with each item ");
        show_expected(out, &m->items[0]);
        break;
    case ARG_UNORDERED:
        buf_addz(out, "in any order ");
        show_value(out, m->want);
        break;
    }
}

/* Begins the line of a difference; false where enough is said. */
static bool begin_line(struct buf *why, const struct path *at)
{
    struct told *told = root_of(at)->told;
    if (why == NULL || told->n == told->max) {
        return false;
    }
    if (told->n++ > 0) {
        buf_char(why, '\n');
    }
    show_path(why, at);
    return true;
}

/* Whether the test goes on behind a difference, to say the next one. */
static bool goes_on(const struct buf *why, const struct path *at)
{
    const struct told *told = root_of(at)->told;
    return why != NULL && told->n < told->max;
}

/* Says what is wrong at a place. v NULL = nothing stands there. Returns false. */
static bool mismatch(const struct arg_match *m, const struct val *v, const struct path *at,
                     struct buf *why)
{
    if (begin_line(why, at)) {
        buf_addz(why, ": expected ");
        show_expected(why, m);
        buf_addz(why, ", got ");
        if (v == NULL) {
            buf_addz(why, "nothing");
        } else {
            show_value(why, v);
        }
    }
    return false;
}

static bool meets(const struct arg_match *m, const struct val *v, const struct val *schema,
                  const struct path *at, struct buf *why);

static bool is_near(const struct arg_match *m, const struct val *v)
{
    struct dec value, want, within;
    if (v->kind != VAL_NUMBER || dec_parse(v->text, &value) != 0 || dec_parse(m->low, &want) != 0 ||
        dec_parse(m->high, &within) != 0 || dec_sub(&value, &want, &value) != 0) {
        return false;
    }
    value.negative = false;
    return dec_cmp(&value, &within) <= 0;
}

static bool in_range(const struct arg_match *m, const struct val *v)
{
    return v->kind == VAL_NUMBER && num_compare(v->text, m->low) >= 0 &&
           num_compare(v->text, m->high) <= 0;
}

static bool contains(const struct arg_match *m, const struct val *v, const struct val *schema,
                     const struct path *at)
{
    if (v->kind == VAL_STRING) {
        return m->want->kind == VAL_STRING && str_find(v->text, m->want->text) != SIZE_MAX;
    }
    for (size_t i = 0; v->kind == VAL_ARRAY && i < v->count; i++) {
        if (meets(&m->items[0], &v->items[i], schema, at, NULL)) {
            return true;
        }
    }
    return false;
}

/* Pairs matchers with items, each used once. `fits` is n × n; `taken[item]` is the matcher that
 * has it, or n. */
struct pairing {
    size_t n;
    bool *fits;
    size_t *taken;
    bool *seen;
};

/* Finds an item for matcher i, moving others on where needed. Recursion ends at UNORDERED_MAX. */
static bool pair_one(struct pairing *p, size_t i)
{
    for (size_t j = 0; j < p->n; j++) {
        if (!p->fits[i * p->n + j] || p->seen[j]) {
            continue;
        }
        p->seen[j] = true;
        if (p->taken[j] == p->n || pair_one(p, p->taken[j])) {
            p->taken[j] = i;
            return true;
        }
    }
    return false;
}

static bool unordered(const struct arg_match *m, const struct val *v, const struct val *schema,
                      const struct path *at)
{
    if (v->kind != VAL_ARRAY || v->count != m->n) {
        return false;
    }
    size_t n = m->n;
    struct pairing p = {.n = n,
                        .fits = mem_zero(n * n),
                        .taken = mem_alloc(n * sizeof *p.taken),
                        .seen = mem_zero(n)};
    for (size_t i = 0; i < n; i++) {
        p.taken[i] = n;
        for (size_t j = 0; j < n; j++) {
            p.fits[i * n + j] = meets(&m->items[i], &v->items[j], schema, at, NULL);
        }
    }
    bool all = true;
    for (size_t i = 0; i < n && all; i++) {
        memset(p.seen, 0, n);
        all = pair_one(&p, i);
    }
    free(p.fits);
    free(p.taken);
    free(p.seen);
    return all;
}

/* Whether every item meets its matcher: item i of a list, or the same of `each`. */
static bool items_meet(const struct arg_match *m, const struct val *v, const struct val *schema,
                       const struct path *at, struct buf *why)
{
    if (v->kind != VAL_ARRAY || (m->kind == ARG_LIST && v->count != m->n)) {
        return mismatch(m, v, at, why);
    }
    const struct val *item_schema = val_get(schema, "items");
    bool all = true;
    for (size_t i = 0; i < v->count && (all || goes_on(why, at)); i++) {
        struct path inner = {.up = at, .index = i};
        const struct arg_match *item = &m->items[m->kind == ARG_LIST ? i : 0];
        all = meets(item, &v->items[i], item_schema, &inner, why) && all;
    }
    return all;
}

/* One parameter: what stands there, or its default, or nothing. */
static bool member_meets(const struct arg_match *m, const struct val *v, const struct val *schema,
                         const struct path *at, struct buf *why)
{
    const struct val *fallback = val_get(schema, "default");
    if (v == NULL && fallback != NULL && meets(m, fallback, schema, at, NULL)) {
        return true;
    }
    if (v != NULL && fallback != NULL && val_equal(v, fallback) &&
        meets(m, NULL, schema, at, NULL)) {
        return true;
    }
    return meets(m, v, schema, at, why);
}

static bool named(const struct arg_match *m, struct str key)
{
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->items[i].key, key)) {
            return true;
        }
    }
    return false;
}

/* Says that a member stands there which the expectation does not name. */
static void not_expected(const struct member *extra, const struct path *at, struct buf *why)
{
    struct path inner = {.up = at, .key = extra->key};
    if (begin_line(why, &inner)) {
        buf_fmt(why, ": not expected (the expectation does not list it; list it%s), got ",
                at->up == NULL ? ", or set extra_args: ignore" : "");
        show_value(why, &extra->value);
    }
}

/* Whether no member stands there that neither a matcher names nor its default explains. */
static bool no_extra(const struct arg_match *m, const struct val *v, const struct val *properties,
                     const struct path *at, struct buf *why)
{
    bool none = true;
    for (size_t i = 0; i < v->count && (none || goes_on(why, at)); i++) {
        const struct member *extra = &v->members[i];
        const struct val *fallback = val_get(val_find(properties, extra->key), "default");
        if (!named(m, extra->key) && (fallback == NULL || !val_equal(&extra->value, fallback))) {
            not_expected(extra, at, why);
            none = false;
        }
    }
    return none;
}

static bool map_meets(const struct arg_match *m, const struct val *v, const struct val *schema,
                      bool ignore_extra, const struct path *at, struct buf *why)
{
    if (v->kind != VAL_OBJECT) {
        return mismatch(m, v, at, why);
    }
    const struct val *properties = val_get(schema, "properties");
    bool all = true;
    for (size_t i = 0; i < m->n && (all || goes_on(why, at)); i++) {
        const struct arg_match *inner = &m->items[i];
        struct path place = {.up = at, .key = inner->key};
        all = member_meets(inner, val_find(v, inner->key), val_find(properties, inner->key), &place,
                           why) &&
              all;
    }
    bool extra = !ignore_extra && (all || goes_on(why, at)) && !no_extra(m, v, properties, at, why);
    return all && !extra;
}

static bool any_meets(const struct arg_match *m, const struct val *v, const struct val *schema,
                      const struct path *at)
{
    for (size_t i = 0; i < m->n; i++) {
        if (meets(&m->items[i], v, schema, at, NULL)) {
            return true;
        }
    }
    return false;
}

/* Whether nothing at all meets m. */
static bool absence_meets(const struct arg_match *m, const struct path *at)
{
    return m->kind == ARG_ABSENT || m->kind == ARG_OPTIONAL ||
           (m->kind == ARG_ONE_OF && any_meets(m, NULL, NULL, at));
}

static bool is_found(const struct regex *r, struct str text, const struct path *at)
{
    int found = regex_search(r, text);
    bool *unsure = root_of(at)->unsure;
    if (found < 0 && unsure != NULL) {
        *unsure = true;
    }
    return found == 1;
}

/* v NULL = nothing stands there. Recursion ends at the file's depth. */
static bool meets(const struct arg_match *m, const struct val *v, const struct val *schema,
                  const struct path *at, struct buf *why)
{
    bool holds = false;
    if (v == NULL) {
        return absence_meets(m, at) || mismatch(m, v, at, why);
    }
    switch (m->kind) {
    case ARG_EQUALS: holds = val_equal(m->want, v); break;
    case ARG_ONE_OF: holds = any_meets(m, v, schema, at); break;
    case ARG_REGEX: holds = v->kind == VAL_STRING && is_found(m->regex, v->text, at); break;
    case ARG_CONTAINS: holds = contains(m, v, val_get(schema, "items"), at); break;
    case ARG_NEAR: holds = is_near(m, v); break;
    case ARG_RANGE: holds = in_range(m, v); break;
    case ARG_ANY: holds = true; break;
    case ARG_ABSENT: break;
    case ARG_OPTIONAL: return meets(&m->items[0], v, schema, at, why);
    case ARG_UNORDERED: holds = unordered(m, v, val_get(schema, "items"), at); break;
    case ARG_EACH:
    case ARG_LIST: return items_meet(m, v, schema, at, why);
    case ARG_MAP: return map_meets(m, v, schema, false, at, why);
    }
    return holds || mismatch(m, v, at, why);
}

bool args_match_test(const struct arg_match *m, const struct val *args,
                     const struct args_match_options *o, struct buf *why)
{
    struct told told = {.max = o->all ? DIFFERENCES_MAX : 1};
    struct path root = {.up = NULL, .unsure = o->unsure, .told = &told};
    if (args == NULL || args->kind != VAL_OBJECT) {
        if (why != NULL) {
            buf_fmt(why, "args: expected a map, got %s",
                    args == NULL ? "nothing" : val_kind_name(args->kind));
        }
        return false;
    }
    return map_meets(m, args, o->schema, o->ignore_extra, &root, why);
}
