/* Validation is a walk of the node graph along the instance. A node that looks at what its
 * neighbours left over (unevaluated…) gathers marks, one byte an item or member, from every node
 * applied to the same value; a node that fails gives none.
 *
 * Bounds: SCHEMA_DEPTH_MAX nodes entered at once, SCHEMA_STEPS_MAX steps of work. When one is hit
 * `exceeded` stays set, everything fails from then on, and the whole is not valid, also under
 * `not`. */
#include "kernel/base/schema_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/dec.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/base/val_int.h"

enum { SHOWN_CHARS = 60, LIST_CHARS = 200, BRANCH_BYTES = 300, BRANCHES_SHOWN = 3 };

/* Where in the instance: a chain from the value to the root. */
struct place {
    const struct place *up;
    struct str key; /* p NULL = index counts */
    size_t index;
};

/* The resources entered, from the inside out. */
struct scope {
    const struct scope *up;
    const struct resource *resource;
};

/* A value being checked against a node. */
struct subject {
    const struct node *n;
    const struct val *v;
    const struct place *at;
    unsigned char *marks; /* NULL = nobody asks; else one for each item or member */
};

static bool check(struct check *c, const struct node *n, const struct val *v,
                  const struct place *at, unsigned char *marks);

/* ---- messages ---- */

static void add_place(struct buf *out, const struct place *at)
{
    enum { SHOWN = 64 };
    const struct place *chain[SHOWN];
    size_t n = 0;
    for (; at != NULL && at->up != NULL && n < SHOWN; at = at->up) {
        chain[n++] = at;
    }
    if (n == 0) {
        buf_addz(out, "value");
    }
    for (size_t i = n; i > 0; i--) {
        if (chain[i - 1]->key.p == NULL) {
            buf_fmt(out, "%s[%zu]", i == n ? "value" : "", chain[i - 1]->index);
        } else {
            buf_addz(out, i == n ? "" : ".");
            buf_add(out, utf8_prefix(chain[i - 1]->key, SHOWN_CHARS));
        }
    }
}

static void add_compact(struct buf *out, const struct val *v, size_t max)
{
    struct buf text = {.max = max * 8};
    if (v->kind == VAL_STRING) {
        json_add_string(&text, utf8_prefix(v->text, max)); /* the whole might not fit */
    } else {
        json_add(&text, v);
    }
    struct str shown = utf8_prefix(buf_str(&text), max);
    buf_add(out, shown);
    if (shown.n < text.n || text.truncated) {
        buf_addz(out, "…");
    }
    buf_free(&text);
}

static void add_found(struct buf *out, const struct val *v)
{
    switch (v->kind) {
    case VAL_NULL: buf_addz(out, "null"); break;
    case VAL_BOOL: buf_addz(out, v->boolean ? "true" : "false"); break;
    case VAL_NUMBER:
    case VAL_STRING:
        buf_addz(out, val_kind_name(v->kind));
        buf_char(out, ' ');
        add_compact(out, v, SHOWN_CHARS);
        break;
    case VAL_ARRAY:
    case VAL_OBJECT: buf_fmt(out, "%s of %zu", val_kind_name(v->kind), v->count); break;
    }
}

/* A failure after a bound was hit says nothing about the value. */
static bool wants_reason(const struct check *c)
{
    return c->why != NULL && !c->exceeded;
}

/* Tells a failure where one is wanted: "PLACE: MESSAGE". Always false. */
__attribute__((format(printf, 3, 4))) static bool tell(struct check *c, const struct place *at,
                                                       const char *fmt, ...)
{
    if (wants_reason(c)) {
        char message[256];
        va_list args;
        va_start(args, fmt);
        int n = vsnprintf(message, sizeof message, fmt, args);
        va_end(args);
        add_place(c->why, at);
        buf_addz(c->why, ": ");
        buf_addz(c->why, n < 0 ? "not valid" : message);
    }
    return false;
}

/* The same with what was found behind it. */
static bool expected(struct check *c, const struct subject *s, const char *what, struct str detail)
{
    if (wants_reason(c)) {
        tell(c, s->at, "expected %s", what);
        buf_add(c->why, utf8_prefix(detail, LIST_CHARS));
        buf_addz(c->why, ", got ");
        add_found(c->why, s->v);
    }
    return false;
}

static bool expected_count(struct check *c, const struct subject *s, const char *what,
                           int64_t wanted, const char *of, size_t got)
{
    return tell(c, s->at, "expected %s %lld %s, got %zu", what, (long long)wanted, of, got);
}

/* Accounts for work; false when there was too much. */
static bool spend(struct check *c, size_t steps)
{
    c->steps += steps;
    c->exceeded = c->exceeded || c->steps > SCHEMA_STEPS_MAX;
    return !c->exceeded;
}

/* check, without a word about a failure. */
static bool try_quietly(struct check *c, const struct node *n, const struct subject *s,
                        unsigned char *marks)
{
    struct buf *why = c->why;
    c->why = NULL;
    bool ok = check(c, n, s->v, s->at, marks);
    c->why = why;
    return ok;
}

/* ---- values ---- */

unsigned types_of(const struct val *v)
{
    switch (v->kind) {
    case VAL_NULL: return TYPE_NULL;
    case VAL_BOOL: return TYPE_BOOLEAN;
    case VAL_NUMBER: return TYPE_NUMBER | (num_is_integer(v->text) ? TYPE_INTEGER : 0);
    case VAL_STRING: return TYPE_STRING;
    case VAL_ARRAY: return TYPE_ARRAY;
    case VAL_OBJECT: return TYPE_OBJECT;
    }
    return 0;
}

static bool check_type(struct check *c, const struct subject *s)
{
    static const char *const names[] = {"null",     "a boolean", "a whole number", "a number",
                                        "a string", "a list",    "a map"};
    if (s->n->types == 0 || (s->n->types & types_of(s->v)) != 0) {
        return true;
    }
    struct buf wanted = {0};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((s->n->types & (1u << i)) != 0) {
            buf_addz(&wanted, wanted.n > 0 ? " or " : "");
            buf_addz(&wanted, names[i]);
        }
    }
    expected(c, s, "", buf_str(&wanted));
    buf_free(&wanted);
    return false;
}

static bool expected_value(struct check *c, const struct subject *s, const char *what,
                           const struct val *wanted)
{
    if (!wants_reason(c)) {
        return false;
    }
    struct buf text = {0};
    add_compact(&text, wanted, LIST_CHARS / 2);
    expected(c, s, what, buf_str(&text));
    buf_free(&text);
    return false;
}

static bool check_value(struct check *c, const struct subject *s)
{
    const struct node *n = s->n;
    if (n->constant != NULL && !val_equal(n->constant, s->v)) {
        return expected_value(c, s, "", n->constant);
    }
    if (n->choices == NULL) {
        return true;
    }
    if (!spend(c, n->choices->count)) {
        return false;
    }
    for (size_t i = 0; i < n->choices->count; i++) {
        if (val_equal(&n->choices->items[i], s->v)) {
            return true;
        }
    }
    return expected_value(c, s, "one of ", n->choices);
}

static bool check_multiple(struct check *c, const struct subject *s)
{
    struct dec value, divisor;
    bool whole = false;
    if (dec_parse(s->n->multiple_of, &divisor) == 0 && dec_parse(s->v->text, &value) == 0 &&
        dec_is_multiple(&value, &divisor, &whole) == 0 && whole) {
        return true;
    }
    return expected(c, s, "a multiple of ", s->n->multiple_of);
}

static bool check_number(struct check *c, const struct subject *s)
{
    const struct node *n = s->n;
    struct str number = s->v->text;
    if (n->minimum.n > 0 && num_compare(number, n->minimum) < 0) {
        return expected(c, s, "at least ", n->minimum);
    }
    if (n->maximum.n > 0 && num_compare(number, n->maximum) > 0) {
        return expected(c, s, "at most ", n->maximum);
    }
    if (n->above.n > 0 && num_compare(number, n->above) <= 0) {
        return expected(c, s, "more than ", n->above);
    }
    if (n->below.n > 0 && num_compare(number, n->below) >= 0) {
        return expected(c, s, "less than ", n->below);
    }
    return n->multiple_of.n == 0 || check_multiple(c, s);
}

static bool search(struct check *c, const struct pattern *p, struct str text)
{
    int found = spend(c, 1 + text.n / 64) ? regex_search(p->regex, text) : 0;
    c->exceeded = c->exceeded || found < 0;
    return found == 1;
}

static bool check_string(struct check *c, const struct subject *s)
{
    const struct node *n = s->n;
    if (n->min_length >= 0 || n->max_length >= 0) {
        size_t length = utf8_count(s->v->text);
        if (n->min_length >= 0 && length < (uint64_t)n->min_length) {
            return expected_count(c, s, "at least", n->min_length, "characters", length);
        }
        if (n->max_length >= 0 && length > (uint64_t)n->max_length) {
            return expected_count(c, s, "at most", n->max_length, "characters", length);
        }
    }
    if (n->pattern != NULL && !search(c, n->pattern, s->v->text)) {
        return expected(c, s, "text that fits the pattern ", val_text(val_get(n->at, "pattern")));
    }
    return true;
}

/* ---- lists ---- */

/* Equal items have equal canonical texts: as keys of a map they are one. */
static bool check_unique(struct check *c, const struct subject *s)
{
    size_t count = s->v->count;
    if (count < 2) {
        return true;
    }
    struct buf all = {0};
    size_t *ends = mem_alloc(count * sizeof *ends);
    for (size_t i = 0; i < count; i++) {
        json_add_canonical(&all, &s->v->items[i]);
        ends[i] = all.n;
    }
    struct member *keys = mem_zero(count * sizeof *keys);
    for (size_t i = 0; i < count; i++) {
        keys[i].key = str_slice(buf_str(&all), i == 0 ? 0 : ends[i - 1], ends[i]);
    }
    struct val map = {.kind = VAL_OBJECT, .count = count, .members = keys};
    size_t different;
    free(val_sorted(&map, &different));
    free(keys);
    free(ends);
    buf_free(&all);
    return different == count || tell(c, s->at, "expected no item twice");
}

static bool check_contains(struct check *c, const struct subject *s)
{
    const struct node *n = s->n;
    size_t found = 0;
    for (size_t i = 0; i < s->v->count; i++) {
        struct place at = {s->at, {0}, i};
        struct subject item = {n, &s->v->items[i], &at, NULL};
        if (try_quietly(c, n->contains, &item, NULL)) {
            found++;
            if (s->marks != NULL) {
                s->marks[i] = 1;
            }
        }
    }
    int64_t least = n->min_contains >= 0 ? n->min_contains : 1;
    if (found < (uint64_t)least) {
        return expected_count(c, s, "at least", least, "items that fit `contains`", found);
    }
    if (n->max_contains >= 0 && found > (uint64_t)n->max_contains) {
        return expected_count(c, s, "at most", n->max_contains, "items that fit `contains`", found);
    }
    return true;
}

static bool check_list(struct check *c, const struct subject *s)
{
    const struct node *n = s->n;
    size_t count = s->v->count;
    if (n->min_items >= 0 && count < (uint64_t)n->min_items) {
        return expected_count(c, s, "at least", n->min_items, "items", count);
    }
    if (n->max_items >= 0 && count > (uint64_t)n->max_items) {
        return expected_count(c, s, "at most", n->max_items, "items", count);
    }
    for (size_t i = 0; i < count; i++) {
        const struct node *item = i < n->prefix.n ? n->prefix.items[i] : n->items;
        if (item == NULL) {
            break;
        }
        struct place at = {s->at, {0}, i};
        if (!check(c, item, &s->v->items[i], &at, NULL)) {
            return false;
        }
        if (s->marks != NULL) {
            s->marks[i] = 1;
        }
    }
    return (n->contains == NULL || check_contains(c, s)) && (!n->unique || check_unique(c, s));
}

/* ---- maps ---- */

static const struct named *find_property(const struct node *n, struct str key)
{
    size_t low = 0;
    size_t high = n->properties.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(n->properties.items[middle].key, key);
        if (order == 0) {
            return &n->properties.items[middle];
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

/* A member that the schema does not know. */
static bool unknown_member(struct check *c, const struct node *n, const struct place *at)
{
    if (!wants_reason(c)) {
        return false;
    }
    tell(c, at, "not allowed here; expected ");
    buf_addz(c->why, n->properties.n == 0 ? "no members" : "only ");
    size_t start = c->why->n;
    for (size_t i = 0; i < n->properties.n; i++) {
        if (c->why->n - start > LIST_CHARS) {
            buf_addz(c->why, ", …");
            break;
        }
        buf_addz(c->why, i == 0 ? "" : ", ");
        buf_add(c->why, utf8_prefix(n->properties.items[i].key, SHOWN_CHARS));
    }
    return false;
}

static bool check_member(struct check *c, const struct subject *s, size_t i)
{
    const struct node *n = s->n;
    const struct member *m = &s->v->members[i];
    struct place at = {s->at, m->key.p == NULL ? STR("") : m->key, 0};
    const struct named *property = find_property(n, m->key);
    bool known = property != NULL;
    if (known && !check(c, property->node, &m->value, &at, NULL)) {
        return false;
    }
    for (size_t k = 0; k < n->patterns.n; k++) {
        if (search(c, n->patterns.items[k].pattern, m->key)) {
            known = true;
            if (!check(c, n->patterns.items[k].node, &m->value, &at, NULL)) {
                return false;
            }
        }
    }
    if (!known && n->additional != NULL) {
        known = true;
        if (n->additional->kind == NODE_NONE) {
            return unknown_member(c, n, &at);
        }
        if (!check(c, n->additional, &m->value, &at, NULL)) {
            return false;
        }
    }
    if (known && s->marks != NULL) {
        s->marks[i] = 1;
    }
    if (n->names != NULL) {
        struct val name = {.kind = VAL_STRING, .text = m->key};
        return check(c, n->names, &name, &at, NULL);
    }
    return !c->exceeded;
}

static bool has_all(struct check *c, const struct subject *s, const struct val *names)
{
    for (size_t i = 0; names != NULL && i < names->count; i++) {
        struct str name = names->items[i].text;
        if (!spend(c, 1 + s->v->count / 8)) {
            return false;
        }
        if (val_find(s->v, name) == NULL) {
            struct place at = {s->at, name.p == NULL ? STR("") : name, 0};
            return tell(c, &at, "required, but missing");
        }
    }
    return true;
}

static bool check_dependent(struct check *c, const struct subject *s)
{
    for (size_t i = 0; i < s->n->dependent.n; i++) {
        const struct named *d = &s->n->dependent.items[i];
        if (!spend(c, 1 + s->v->count / 8)) {
            return false;
        }
        if (val_find(s->v, d->key) == NULL) {
            continue;
        }
        if (!has_all(c, s, d->names) ||
            (d->node != NULL && !check(c, d->node, s->v, s->at, s->marks))) {
            return false;
        }
    }
    return true;
}

static bool check_map(struct check *c, const struct subject *s)
{
    const struct node *n = s->n;
    size_t count = s->v->count;
    if (!has_all(c, s, n->required)) {
        return false;
    }
    if (n->min_properties >= 0 && count < (uint64_t)n->min_properties) {
        return expected_count(c, s, "at least", n->min_properties, "members", count);
    }
    if (n->max_properties >= 0 && count > (uint64_t)n->max_properties) {
        return expected_count(c, s, "at most", n->max_properties, "members", count);
    }
    bool looks = n->properties.n + n->patterns.n > 0 || n->additional != NULL || n->names != NULL;
    for (size_t i = 0; looks && i < count; i++) {
        if (!check_member(c, s, i)) {
            return false;
        }
    }
    return check_dependent(c, s);
}

/* ---- schemas on the same value ---- */

static bool check_all_of(struct check *c, const struct subject *s)
{
    for (size_t i = 0; i < s->n->all_of.n; i++) {
        if (!check(c, s->n->all_of.items[i], s->v, s->at, s->marks)) {
            return false;
        }
    }
    return true;
}

/* Says that no alternative fits, and of the first few why. */
static bool none_fits(struct check *c, const struct subject *s, size_t n, struct str reasons)
{
    tell(c, s->at, "fits none of %zu alternatives", n);
    if (wants_reason(c) && reasons.n > 0) {
        buf_addz(c->why, " (");
        buf_add(c->why, reasons);
        buf_char(c->why, ')');
    }
    return false;
}

/* Counts the alternatives that fit; with `enough` set it may stop at the first. */
static size_t count_fits(struct check *c, const struct subject *s, const struct node_list *list,
                         bool enough, struct buf *reasons)
{
    struct buf *why = c->why;
    size_t fits = 0;
    for (size_t i = 0; i < list->n && !(enough && fits > 0); i++) {
        struct buf reason = {.max = BRANCH_BYTES};
        c->why = why != NULL && i < BRANCHES_SHOWN ? &reason : NULL;
        if (check(c, list->items[i], s->v, s->at, s->marks)) {
            fits++;
        } else if (reason.n > 0) {
            buf_addz(reasons, reasons->n > 0 ? "; " : "");
            buf_add(reasons, buf_str(&reason));
        }
        buf_free(&reason);
    }
    c->why = why;
    return fits;
}

static bool check_any_of(struct check *c, const struct subject *s)
{
    const struct node_list *list = &s->n->any_of;
    if (list->n == 0) {
        return true;
    }
    struct buf reasons = {.max = BRANCH_BYTES * BRANCHES_SHOWN};
    bool ok = count_fits(c, s, list, s->marks == NULL, &reasons) > 0;
    if (!ok) {
        none_fits(c, s, list->n, buf_str(&reasons));
    }
    buf_free(&reasons);
    return ok;
}

static bool check_one_of(struct check *c, const struct subject *s)
{
    const struct node_list *list = &s->n->one_of;
    if (list->n == 0) {
        return true;
    }
    struct buf reasons = {.max = BRANCH_BYTES * BRANCHES_SHOWN};
    size_t fits = count_fits(c, s, list, false, &reasons);
    if (fits == 0) {
        none_fits(c, s, list->n, buf_str(&reasons));
    } else if (fits > 1) {
        tell(c, s->at, "fits %zu of %zu alternatives, expected exactly one", fits, list->n);
    }
    buf_free(&reasons);
    return fits == 1;
}

static bool check_logic(struct check *c, const struct subject *s)
{
    const struct node *n = s->n;
    if (!check_all_of(c, s) || !check_any_of(c, s) || !check_one_of(c, s)) {
        return false;
    }
    if (n->not_this != NULL && try_quietly(c, n->not_this, s, NULL)) {
        return tell(c, s->at, "is what `not` rules out");
    }
    if (n->if_this == NULL) {
        return true;
    }
    const struct node *then = try_quietly(c, n->if_this, s, s->marks) ? n->then : n->otherwise;
    return then == NULL || check(c, then, s->v, s->at, s->marks);
}

/* The target of a $dynamicRef: the anchor of its name in the outermost resource entered that has
 * one. */
static const struct node *dynamic_target(const struct check *c, const struct node *n)
{
    const struct node *target = n->dynamic_ref;
    if (n->dynamic_name.n == 0) {
        return target;
    }
    for (const struct scope *i = c->scope; i != NULL; i = i->up) {
        for (const struct anchor *a = c->schema->anchors; a != NULL; a = a->next) {
            if (a->dynamic && a->resource == i->resource && str_eq(a->name, n->dynamic_name)) {
                target = a->node;
            }
        }
    }
    return target;
}

static bool check_references(struct check *c, const struct subject *s)
{
    const struct node *n = s->n;
    if (n->ref != NULL && !check(c, n->ref, s->v, s->at, s->marks)) {
        return false;
    }
    return n->dynamic_ref == NULL || check(c, dynamic_target(c, n), s->v, s->at, s->marks);
}

/* ---- what is left over ---- */

static bool check_unevaluated(struct check *c, const struct subject *s)
{
    bool is_map = s->v->kind == VAL_OBJECT;
    const struct node *rest = is_map                    ? s->n->unevaluated_properties
                              : s->v->kind == VAL_ARRAY ? s->n->unevaluated_items
                                                        : NULL;
    for (size_t i = 0; rest != NULL && i < s->v->count; i++) {
        if (s->marks[i] != 0) {
            continue;
        }
        struct place at = {s->at, {0}, i};
        if (is_map) {
            at.key = s->v->members[i].key.p == NULL ? STR("") : s->v->members[i].key;
        }
        if (rest->kind == NODE_NONE) {
            return tell(c, &at, "not allowed here");
        }
        if (!check(c, rest, is_map ? &s->v->members[i].value : &s->v->items[i], &at, NULL)) {
            return false;
        }
        s->marks[i] = 1;
    }
    return true;
}

static bool check_rules(struct check *c, const struct subject *s)
{
    if (!check_type(c, s) || !check_value(c, s)) {
        return false;
    }
    bool ok = true;
    switch (s->v->kind) {
    case VAL_NULL:
    case VAL_BOOL: break;
    case VAL_NUMBER: ok = check_number(c, s); break;
    case VAL_STRING: ok = check_string(c, s); break;
    case VAL_ARRAY: ok = check_list(c, s); break;
    case VAL_OBJECT: ok = check_map(c, s); break;
    }
    return ok && check_references(c, s) && check_logic(c, s) && check_unevaluated(c, s);
}

/* Marks of this node are its own until it is known to be valid. */
static bool check(struct check *c, const struct node *n, const struct val *v,
                  const struct place *at, unsigned char *marks)
{
    c->exceeded = c->exceeded || c->depth >= SCHEMA_DEPTH_MAX;
    if (!spend(c, 1)) {
        return false;
    }
    if (n->kind != NODE_RULES) {
        return n->kind == NODE_ANY || tell(c, at, "nothing is allowed here");
    }
    struct scope scope = {c->scope, n->resource};
    const struct scope *outer = c->scope;
    c->scope = outer != NULL && outer->resource == n->resource ? outer : &scope;
    c->depth++;
    bool asked = marks != NULL || n->unevaluated_items != NULL || n->unevaluated_properties != NULL;
    bool is_container = v->kind == VAL_ARRAY || v->kind == VAL_OBJECT;
    struct subject s = {n, v, at, NULL};
    if (asked && is_container && v->count > 0) {
        s.marks = spend(c, v->count / 64) ? mem_zero(v->count) : NULL;
    }
    bool ok = !c->exceeded && check_rules(c, &s) && !c->exceeded;
    for (size_t i = 0; ok && marks != NULL && s.marks != NULL && i < v->count; i++) {
        marks[i] |= s.marks[i];
    }
    free(s.marks);
    c->depth--;
    c->scope = outer;
    return ok;
}

bool check_node(struct check *c, const struct node *n, const struct val *v)
{
    struct place root = {0};
    c->scope = NULL;
    bool ok = check(c, n, v, &root, NULL);
    if (c->exceeded && c->why != NULL) {
        buf_fmt(c->why, "value: not decided: checking it takes more than %d levels or %d steps",
                SCHEMA_DEPTH_MAX, SCHEMA_STEPS_MAX);
    }
    return ok && !c->exceeded;
}
