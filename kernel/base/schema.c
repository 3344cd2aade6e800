/* Compiling: a walk from the root makes a node of every schema it meets at the places where
 * keywords hold schemas, and notes ids, anchors and references. Then the references are resolved;
 * one that points elsewhere compiles what it points at, which may add references. Every value is
 * compiled once, so loops of references are loops of nodes. */
#include "kernel/base/schema_int.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/dec.h"
#include "kernel/base/hash.h"
#include "kernel/base/table.h"
#include "kernel/base/text.h"
#include "kernel/base/val_int.h"

enum { TYPE_CHARS = 40, REFERENCE_CHARS = 200 };

/* What a keyword's value is, and so how it is read. */
enum keyword_kind {
    KW_SCHEMA,     /* a schema */
    KW_LIST,       /* a list of schemas, not empty */
    KW_PROPERTIES, /* a map of schemas */
    KW_PATTERNS,   /* the same, with patterns for names */
    KW_DEPENDENT,  /* a map of schemas or lists of names */
    KW_DEFS,       /* schemas that are only referred to */
    KW_COUNT,      /* a whole number, 0 or more */
    KW_NUMBER,
    KW_DIVISOR, /* a number above 0 */
    KW_VALUE,   /* anything */
    KW_CHOICES, /* a list */
    KW_NAMES,   /* a list of strings */
    KW_BOOL,
    KW_PATTERN,
    KW_TYPE,
    KW_ITEMS,
    KW_REF,
    KW_DYNAMIC_REF
};

enum { OLD = 1, NEW = 2, BOTH = 3 }; /* draft 7, 2020-12 */

struct keyword {
    const char *name;
    enum keyword_kind kind;
    unsigned drafts;
    size_t offset; /* of its field in struct node */
};

#define FIELD(member) offsetof(struct node, member)
static const struct keyword keywords[] = {
    {"$defs", KW_DEFS, BOTH, 0},
    {"definitions", KW_DEFS, BOTH, 0},
    {"$ref", KW_REF, BOTH, FIELD(ref)},
    {"$dynamicRef", KW_DYNAMIC_REF, NEW, FIELD(dynamic_ref)},
    {"type", KW_TYPE, BOTH, FIELD(types)},
    {"const", KW_VALUE, BOTH, FIELD(constant)},
    {"enum", KW_CHOICES, BOTH, FIELD(choices)},
    {"multipleOf", KW_DIVISOR, BOTH, FIELD(multiple_of)},
    {"minimum", KW_NUMBER, BOTH, FIELD(minimum)},
    {"maximum", KW_NUMBER, BOTH, FIELD(maximum)},
    {"exclusiveMinimum", KW_NUMBER, BOTH, FIELD(above)},
    {"exclusiveMaximum", KW_NUMBER, BOTH, FIELD(below)},
    {"minLength", KW_COUNT, BOTH, FIELD(min_length)},
    {"maxLength", KW_COUNT, BOTH, FIELD(max_length)},
    {"pattern", KW_PATTERN, BOTH, FIELD(pattern)},
    {"prefixItems", KW_LIST, NEW, FIELD(prefix)},
    {"items", KW_ITEMS, BOTH, FIELD(items)},
    {"additionalItems", KW_ITEMS, BOTH, FIELD(items)},
    {"contains", KW_SCHEMA, BOTH, FIELD(contains)},
    {"minContains", KW_COUNT, NEW, FIELD(min_contains)},
    {"maxContains", KW_COUNT, NEW, FIELD(max_contains)},
    {"minItems", KW_COUNT, BOTH, FIELD(min_items)},
    {"maxItems", KW_COUNT, BOTH, FIELD(max_items)},
    {"uniqueItems", KW_BOOL, BOTH, FIELD(unique)},
    {"unevaluatedItems", KW_SCHEMA, NEW, FIELD(unevaluated_items)},
    {"properties", KW_PROPERTIES, BOTH, FIELD(properties)},
    {"patternProperties", KW_PATTERNS, BOTH, FIELD(patterns)},
    {"additionalProperties", KW_SCHEMA, BOTH, FIELD(additional)},
    {"propertyNames", KW_SCHEMA, BOTH, FIELD(names)},
    {"dependencies", KW_DEPENDENT, BOTH, FIELD(dependent)},
    {"dependentSchemas", KW_DEPENDENT, NEW, FIELD(dependent)},
    {"dependentRequired", KW_DEPENDENT, NEW, FIELD(dependent)},
    {"required", KW_NAMES, BOTH, FIELD(required)},
    {"minProperties", KW_COUNT, BOTH, FIELD(min_properties)},
    {"maxProperties", KW_COUNT, BOTH, FIELD(max_properties)},
    {"unevaluatedProperties", KW_SCHEMA, NEW, FIELD(unevaluated_properties)},
    {"allOf", KW_LIST, BOTH, FIELD(all_of)},
    {"anyOf", KW_LIST, BOTH, FIELD(any_of)},
    {"oneOf", KW_LIST, BOTH, FIELD(one_of)},
    {"not", KW_SCHEMA, BOTH, FIELD(not_this)},
    {"if", KW_SCHEMA, BOTH, FIELD(if_this)},
    {"then", KW_SCHEMA, BOTH, FIELD(then)},
    {"else", KW_SCHEMA, BOTH, FIELD(otherwise)},
};
#undef FIELD
enum { KEYWORDS = sizeof keywords / sizeof keywords[0] };

struct reference {
    struct node *from;
    const struct val *at;
    bool dynamic;
};

struct compiler {
    struct schema *s;
    struct err *e;
    struct table nodes; /* of every compiled value */
    struct reference *references;
    size_t n_references;
    size_t cap_references;
    size_t n_resources;
    size_t n_anchors;
    unsigned depth;
};

static int compile(struct compiler *c, const struct val *v, const struct resource *base,
                   struct node **out);

__attribute__((format(printf, 4, 5))) static int fail(struct compiler *c, int code,
                                                      const struct val *at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int rc = err_vat(c->e, code, NULL, at->line, at->column, fmt, args);
    va_end(args);
    return rc;
}

/* ---- the table of compiled values ---- */

static bool is_of(const void *v, const void *node)
{
    return ((const struct node *)node)->at == v;
}

static uint64_t hash_of(const struct val *v)
{
    return hash64(0, (struct str){(const char *)&v, sizeof v});
}

static void remember(struct compiler *c, struct node *n)
{
    uint64_t hash = hash_of(n->at);
    table_put(&c->nodes, table_find(&c->nodes, hash, n->at, is_of), hash, n);
}

static struct node *known_node(struct compiler *c, const struct val *v)
{
    return table_find(&c->nodes, hash_of(v), v, is_of)->piece;
}

/* ---- ids and anchors ---- */

static int add_anchor(struct compiler *c, const struct val *at, const struct resource *r,
                      struct str name, struct node *n, bool dynamic)
{
    if (++c->n_anchors > SCHEMA_NAMES_MAX) {
        return fail(c, ERR_LIMIT, at, "more than %d anchors", SCHEMA_NAMES_MAX);
    }
    struct anchor *a = arena_alloc(c->s->arena, sizeof *a);
    *a = (struct anchor){c->s->anchors, r, name, n, dynamic};
    c->s->anchors = a;
    return 0;
}

static int read_anchors(struct compiler *c, struct node *n)
{
    static const char *const names[] = {"$anchor", "$dynamicAnchor"};
    for (int i = 0; i < 2; i++) {
        const struct val *name = val_get(n->at, names[i]);
        if (name == NULL) {
            continue;
        }
        if (name->kind != VAL_STRING || name->text.n == 0) {
            return fail(c, ERR_INPUT, name, "%s must be a name", names[i]);
        }
        int rc = add_anchor(c, name, n->resource, name->text, n, i == 1);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static struct resource *find_resource(const struct schema *s, struct str uri)
{
    for (struct resource *r = s->resources; r != NULL; r = r->next) {
        if (str_eq(r->uri, uri)) {
            return r;
        }
    }
    return NULL;
}

/* Reads `$id`: a new resource, or in draft 7 an anchor ("#name"). */
static int read_id(struct compiler *c, struct node *n)
{
    const struct val *id = val_get(n->at, "$id");
    bool old = c->s->draft == SCHEMA_DRAFT_7;
    if (id == NULL || (old && val_get(n->at, "$ref") != NULL)) {
        return 0;
    }
    if (id->kind != VAL_STRING) {
        return fail(c, ERR_INPUT, id, "$id must be a URI, found %s", val_kind_name(id->kind));
    }
    if (id->text.n > 1 && id->text.p[0] == '#') {
        return old ? add_anchor(c, id, n->resource, str_slice(id->text, 1, id->text.n), n, false)
                   : fail(c, ERR_INPUT, id, "$id may have no fragment; use $anchor");
    }
    if (++c->n_resources > SCHEMA_NAMES_MAX) {
        return fail(c, ERR_LIMIT, id, "more than %d values of $id", SCHEMA_NAMES_MAX);
    }
    struct resource *r = arena_alloc(c->s->arena, sizeof *r);
    r->uri = uri_resolve(c->s->arena, n->resource->uri, id->text);
    r->root = n->at;
    r->next = c->s->resources;
    c->s->resources = r;
    n->resource = r;
    return 0;
}

/* ---- keywords ---- */

static void *field(struct node *n, const struct keyword *k)
{
    return (char *)n + k->offset;
}

static int need(struct compiler *c, const struct val *v, enum val_kind kind, const char *name)
{
    return v->kind == kind ? 0
                           : fail(c, ERR_INPUT, v, "%s must be %s, found %s", name,
                                  val_kind_name(kind), val_kind_name(v->kind));
}

static int read_list(struct compiler *c, struct node *n, const struct val *v, const char *name,
                     struct node_list *out)
{
    int rc = need(c, v, VAL_ARRAY, name);
    if (rc != 0) {
        return rc;
    }
    out->n = v->count;
    out->items = arena_array(c->s->arena, v->count, sizeof *out->items);
    for (size_t i = 0; i < v->count && rc == 0; i++) {
        rc = compile(c, &v->items[i], n->resource, &out->items[i]);
    }
    return rc;
}

static int read_pattern(struct compiler *c, const struct val *at, struct str text,
                        const struct pattern **out)
{
    struct buf spelled = {0};
    pattern_translate(text, &spelled);
    struct pattern *p = arena_alloc(c->s->arena, sizeof *p);
    struct err why;
    int rc = regex_new(buf_str(&spelled), &p->regex, &why);
    buf_free(&spelled);
    if (rc != 0) {
        return fail(c, ERR_INPUT, at, "bad pattern: %s", why.message);
    }
    p->next = c->s->patterns;
    c->s->patterns = p;
    *out = p;
    return 0;
}

static int read_names(struct compiler *c, const struct val *v, const char *name,
                      const struct val **out)
{
    int rc = need(c, v, VAL_ARRAY, name);
    for (size_t i = 0; rc == 0 && i < v->count; i++) {
        rc = need(c, &v->items[i], VAL_STRING, "a property's name");
    }
    *out = v;
    return rc;
}

static int read_member(struct compiler *c, struct node *n, const struct keyword *k,
                       const struct member *from, struct named *out)
{
    const struct val *value = &from->value;
    out->key = from->key;
    if (k->kind == KW_DEPENDENT && value->kind == VAL_ARRAY) {
        return read_names(c, value, k->name, &out->names);
    }
    int rc = k->kind == KW_PATTERNS ? read_pattern(c, value, out->key, &out->pattern) : 0;
    return rc == 0 ? compile(c, value, n->resource, &out->node) : rc;
}

/* Adds the members of a map of schemas, sorted by key, behind what the list already holds. */
static int read_map(struct compiler *c, struct node *n, const struct keyword *k,
                    const struct val *v, struct named_list *out)
{
    int rc = need(c, v, VAL_OBJECT, k->name);
    if (rc != 0) {
        return rc;
    }
    size_t n_sorted;
    const struct member **sorted = val_sorted(v, &n_sorted);
    struct named *items = arena_array(c->s->arena, out->n + n_sorted, sizeof *items);
    if (out->n > 0) {
        memcpy(items, out->items, out->n * sizeof *items);
    }
    for (size_t i = 0; i < n_sorted && rc == 0; i++) {
        rc = read_member(c, n, k, sorted[i], &items[out->n + i]);
    }
    free(sorted);
    out->items = items;
    out->n += n_sorted;
    return rc;
}

static int read_defs(struct compiler *c, struct node *n, const struct val *v, const char *name)
{
    int rc = need(c, v, VAL_OBJECT, name);
    struct node *unused;
    for (size_t i = 0; rc == 0 && i < v->count; i++) {
        rc = compile(c, &v->members[i].value, n->resource, &unused);
    }
    return rc;
}

static int read_type(struct compiler *c, const struct val *v, unsigned *out)
{
    static const char *const names[] = {"null",   "boolean", "integer", "number",
                                        "string", "array",   "object",  NULL};
    if (v->kind == VAL_ARRAY && v->count > 0) {
        int rc = 0;
        for (size_t i = 0; i < v->count && rc == 0; i++) {
            rc = v->items[i].kind == VAL_ARRAY ? need(c, &v->items[i], VAL_STRING, "a type")
                                               : read_type(c, &v->items[i], out);
        }
        return rc;
    }
    int type = str_index(val_text(v), names);
    if (type >= 0) {
        *out |= 1u << type;
        return 0;
    }
    struct str found = text_preview(c->s->arena, val_text(v), TYPE_CHARS);
    return fail(c, ERR_INPUT, v,
                "%.*s%sis no type; types are null, boolean, integer, number, string, array, object",
                STR_FMT(found), found.n > 0 ? " " : "this ");
}

/* `items`, and `additionalItems` behind a list of `items` (draft 7, and old schemas that do not say
 * so). */
static int read_items(struct compiler *c, struct node *n, const struct keyword *k,
                      const struct val *v)
{
    const struct val *items = val_get(n->at, "items");
    bool is_tuple = val_is(items, VAL_ARRAY);
    if (strcmp(k->name, "items") == 0) {
        return is_tuple ? read_list(c, n, v, k->name, &n->prefix)
                        : compile(c, v, n->resource, &n->items);
    }
    struct node *unused;
    return compile(c, v, n->resource, is_tuple ? &n->items : &unused);
}

static int read_reference(struct compiler *c, struct node *n, const struct keyword *k,
                          const struct val *v)
{
    int rc = need(c, v, VAL_STRING, k->name);
    if (rc != 0) {
        return rc;
    }
    c->references =
        mem_room(c->references, c->n_references, &c->cap_references, sizeof *c->references);
    c->references[c->n_references++] = (struct reference){n, v, k->kind == KW_DYNAMIC_REF};
    return 0;
}

static int read_number(struct compiler *c, const struct keyword *k, const struct val *v,
                       struct str *out)
{
    int rc = need(c, v, VAL_NUMBER, k->name);
    if (rc != 0) {
        return rc;
    }
    if (k->kind == KW_DIVISOR) {
        struct dec d;
        if (dec_parse(v->text, &d) != 0 || d.negative || d.n == 0) {
            return fail(c, ERR_INPUT, v, "%s must be a number above 0", k->name);
        }
    }
    *out = v->text;
    return 0;
}

static int read_count(struct compiler *c, const struct keyword *k, const struct val *v,
                      int64_t *out)
{
    int64_t count;
    if (!val_int(v, &count) || count < 0) {
        return fail(c, ERR_INPUT, v, "%s must be a whole number, 0 or more", k->name);
    }
    *out = count;
    return 0;
}

static int read_keyword(struct compiler *c, struct node *n, const struct keyword *k,
                        const struct val *v)
{
    switch (k->kind) {
    case KW_SCHEMA: return compile(c, v, n->resource, field(n, k));
    case KW_LIST:
        if (val_is(v, VAL_ARRAY) && v->count == 0) {
            return fail(c, ERR_INPUT, v, "%s must not be empty", k->name);
        }
        return read_list(c, n, v, k->name, field(n, k));
    case KW_PROPERTIES:
    case KW_PATTERNS:
    case KW_DEPENDENT: return read_map(c, n, k, v, field(n, k));
    case KW_DEFS: return read_defs(c, n, v, k->name);
    case KW_COUNT: return read_count(c, k, v, field(n, k));
    case KW_NUMBER:
    case KW_DIVISOR: return read_number(c, k, v, field(n, k));
    case KW_VALUE: *(const struct val **)field(n, k) = v; return 0;
    case KW_CHOICES: *(const struct val **)field(n, k) = v; return need(c, v, VAL_ARRAY, k->name);
    case KW_NAMES: return read_names(c, v, k->name, field(n, k));
    case KW_BOOL: *(bool *)field(n, k) = v->boolean; return need(c, v, VAL_BOOL, k->name);
    case KW_PATTERN: {
        int rc = need(c, v, VAL_STRING, k->name);
        return rc == 0 ? read_pattern(c, v, v->text, field(n, k)) : rc;
    }
    case KW_TYPE: return read_type(c, v, field(n, k));
    case KW_ITEMS: return read_items(c, n, k, v);
    case KW_REF:
    case KW_DYNAMIC_REF: return read_reference(c, n, k, v);
    }
    return 0;
}

/* Reads the keywords in the order of the table, so that what is wrong first is told first, whatever
 * the order in the file. In draft 7 a `$ref` hides its siblings. */
static int read_keywords(struct compiler *c, struct node *n)
{
    bool old = c->s->draft == SCHEMA_DRAFT_7;
    bool only_ref = old && val_get(n->at, "$ref") != NULL;
    for (size_t i = 0; i < KEYWORDS; i++) {
        const struct keyword *k = &keywords[i];
        bool hidden = only_ref && k->kind != KW_REF && k->kind != KW_DEFS;
        const struct val *v = val_get(n->at, k->name);
        if (v != NULL && !hidden && (k->drafts & (old ? OLD : NEW)) != 0) {
            int rc = read_keyword(c, n, k, v);
            if (rc != 0) {
                return rc;
            }
        }
    }
    return 0;
}

static struct node *node_new(struct compiler *c, const struct val *v, const struct resource *base)
{
    struct node *n = arena_alloc(c->s->arena, sizeof *n);
    n->at = v;
    n->resource = base;
    n->kind = v->kind == VAL_OBJECT ? NODE_RULES : v->boolean ? NODE_ANY : NODE_NONE;
    for (size_t i = 0; i < KEYWORDS; i++) {
        if (keywords[i].kind == KW_COUNT) {
            *(int64_t *)field(n, &keywords[i]) = -1;
        }
    }
    return n;
}

static int compile(struct compiler *c, const struct val *v, const struct resource *base,
                   struct node **out)
{
    *out = known_node(c, v);
    if (*out != NULL) {
        return 0;
    }
    if (v->kind != VAL_OBJECT && v->kind != VAL_BOOL) {
        return fail(c, ERR_INPUT, v, "a schema is a map or a boolean, found %s",
                    val_kind_name(v->kind));
    }
    if (c->nodes.n >= SCHEMA_NODES_MAX) {
        return fail(c, ERR_LIMIT, v, "more than %d schemas in one", SCHEMA_NODES_MAX);
    }
    if (c->depth >= SCHEMA_DEPTH_MAX) {
        return fail(c, ERR_LIMIT, v, "schemas nested more than %d deep", SCHEMA_DEPTH_MAX);
    }
    c->depth++;
    *out = node_new(c, v, base);
    remember(c, *out);
    int rc = 0;
    if (v->kind == VAL_OBJECT) {
        rc = read_id(c, *out);
        if (rc == 0 && c->s->draft == SCHEMA_2020_12) {
            rc = read_anchors(c, *out);
        }
        rc = rc == 0 ? read_keywords(c, *out) : rc;
    }
    c->depth--;
    return rc;
}

/* ---- references ---- */

/* The next token of a JSON pointer (RFC 6901) behind its slash, unescaped. */
static struct str next_token(struct arena *arena, struct str *pointer)
{
    size_t end = 1;
    while (end < pointer->n && pointer->p[end] != '/') {
        end++;
    }
    char *out = arena_alloc(arena, end);
    size_t n = 0;
    for (size_t i = 1; i < end; i++) {
        bool escaped = pointer->p[i] == '~' && i + 1 < end &&
                       (pointer->p[i + 1] == '0' || pointer->p[i + 1] == '1');
        out[n++] = !escaped ? pointer->p[i] : pointer->p[++i] == '0' ? '~' : '/';
    }
    *pointer = str_slice(*pointer, end, pointer->n);
    return (struct str){out, n};
}

static const struct val *step_into(const struct val *v, struct str token)
{
    if (v->kind == VAL_OBJECT) {
        return val_find(v, token);
    }
    size_t index = 0;
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] < '0' || token.p[i] > '9' || i > 8) {
            return NULL;
        }
        index = index * 10 + (size_t)(token.p[i] - '0');
    }
    return v->kind == VAL_ARRAY && token.n > 0 ? val_item(v, index) : NULL;
}

/* Follows a pointer from the root of r. What it leads to is compiled with the nearest base on the
 * way. */
static int resolve_pointer(struct compiler *c, const struct val *at, const struct resource *r,
                           struct str pointer, struct node **out)
{
    const struct val *v = r->root;
    while (pointer.n > 0) {
        v = step_into(v, next_token(c->s->arena, &pointer));
        if (v == NULL) {
            return fail(c, ERR_INPUT, at, "the reference %.*s leads nowhere",
                        STR_FMT(text_preview(c->s->arena, at->text, REFERENCE_CHARS)));
        }
        const struct node *passed = known_node(c, v);
        r = passed != NULL ? passed->resource : r;
    }
    return compile(c, v, r, out);
}

static struct anchor *find_anchor(const struct schema *s, const struct resource *r, struct str name)
{
    struct anchor *found = NULL;
    for (struct anchor *a = s->anchors; a != NULL; a = a->next) {
        if (a->resource == r && str_eq(a->name, name) && (found == NULL || a->dynamic)) {
            found = a;
        }
    }
    return found;
}

static int resolve(struct compiler *c, struct reference ref)
{
    struct str text = ref.at->text;
    struct str shown = text_preview(c->s->arena, text, REFERENCE_CHARS);
    struct node *from = ref.from;
    struct node **out = ref.dynamic ? &from->dynamic_ref : &from->ref;
    struct str uri = uri_resolve(c->s->arena, from->resource->uri, text);
    struct str fragment = uri_fragment(c->s->arena, text);
    const struct resource *r = find_resource(c->s, uri);
    if (r == NULL) {
        return fail(c, ERR_UNSUPPORTED, ref.at,
                    "the reference %.*s leads outside of the schema; copy what it means under "
                    "$defs",
                    STR_FMT(shown));
    }
    if (fragment.n == 0 || fragment.p[0] == '/') {
        return resolve_pointer(c, ref.at, r, fragment, out);
    }
    const struct anchor *a = find_anchor(c->s, r, fragment);
    if (a == NULL) {
        return fail(c, ERR_INPUT, ref.at, "the reference %.*s leads nowhere", STR_FMT(shown));
    }
    *out = a->node;
    if (ref.dynamic && a->dynamic) {
        from->dynamic_name = a->name;
    }
    return 0;
}

/* ---- the public side ---- */

static enum schema_draft draft_of(const struct val *root, enum schema_draft fallback)
{
    struct str uri = val_text(val_get(root, "$schema"));
    if (str_find(uri, STR("json-schema.org/draft/2020-12/")) != SIZE_MAX) {
        return SCHEMA_2020_12;
    }
    return str_find(uri, STR("json-schema.org/draft-07/")) != SIZE_MAX ? SCHEMA_DRAFT_7 : fallback;
}

int schema_new(const struct val *root, enum schema_draft draft, struct schema **out, struct err *e)
{
    struct schema *s = mem_zero(sizeof *s);
    s->arena = arena_new();
    s->draft = draft_of(root, draft);
    struct resource *base = arena_alloc(s->arena, sizeof *base);
    base->root = root;
    s->resources = base;
    struct compiler c = {.s = s, .e = e};
    int rc = compile(&c, root, base, &s->root);
    for (size_t i = 0; rc == 0 && i < c.n_references; i++) {
        rc = resolve(&c, c.references[i]);
    }
    table_free(&c.nodes);
    free(c.references);
    if (rc != 0) {
        schema_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void schema_free(struct schema *s)
{
    if (s == NULL) {
        return;
    }
    for (const struct pattern *p = s->patterns; p != NULL; p = p->next) {
        regex_free(p->regex);
    }
    arena_free(s->arena);
    free(s);
}

bool schema_valid(const struct schema *s, const struct val *v, struct buf *why)
{
    struct check c = {.schema = s, .why = why};
    return check_node(&c, s->root, v);
}

bool schema_lists_members(const struct val *schema)
{
    static const char *const others[] = {
        "patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (val_get(schema, others[i]) != NULL) {
            return false;
        }
    }
    const struct val *more = val_get(schema, "additionalProperties");
    return more == NULL ? val_get(schema, "properties") != NULL
                        : more->kind == VAL_BOOL && !more->boolean;
}
