#include <string.h>

#include "kernel/base/json.h"
#include "kernel/base/schema_int.h"

enum { REFERENCES_MAX = 16 };

struct coercion {
    struct check check; /* its steps bound the whole */
    struct arena *arena;
    unsigned depth;
};

static const struct val *coerce(struct coercion *c, const struct node *n, const struct val *v);

/* The number that s spells exactly, NULL when it spells none. */
static struct val *number_of(struct arena *arena, struct str s)
{
    struct val *v;
    return json_parse(arena, NULL, s, &v, NULL) == 0 && v->kind == VAL_NUMBER && str_eq(v->text, s)
               ? v
               : NULL;
}

/* v as another type that `types` wants, or NULL. */
static struct val *other_spelling(struct coercion *c, const struct val *v, unsigned types)
{
    struct val *out = NULL;
    if (v->kind == VAL_STRING && !v->binary) {
        bool is_true = str_is(v->text, "true");
        if ((types & TYPE_BOOLEAN) != 0 && (is_true || str_is(v->text, "false"))) {
            out = arena_alloc(c->arena, sizeof *out);
            out->kind = VAL_BOOL;
            out->boolean = is_true;
        } else if ((types & (TYPE_INTEGER | TYPE_NUMBER)) != 0) {
            out = number_of(c->arena, v->text);
        }
    } else if (v->kind == VAL_NUMBER && (types & TYPE_STRING) != 0) {
        out = arena_alloc(c->arena, sizeof *out);
        *out = val_of_str(v->text);
    }
    if (out != NULL) {
        out->raw = (struct str){0};
        out->line = v->line;
        out->column = v->column;
    }
    return out;
}

static const struct node *property_node(const struct node *n, struct str key)
{
    for (size_t i = 0; i < n->properties.n; i++) {
        if (str_eq(n->properties.items[i].key, key)) {
            return n->properties.items[i].node;
        }
    }
    return n->patterns.n == 0 ? n->additional : NULL;
}

static struct val *copy_of(struct coercion *c, const struct val *v)
{
    struct val *copy = arena_alloc(c->arena, sizeof *copy);
    *copy = *v;
    copy->raw = (struct str){0};
    if (v->kind == VAL_OBJECT) {
        copy->members = arena_array(c->arena, v->count, sizeof *copy->members);
        memcpy(copy->members, v->members, v->count * sizeof *copy->members);
    } else {
        copy->items = arena_array(c->arena, v->count, sizeof *copy->items);
        memcpy(copy->items, v->items, v->count * sizeof *copy->items);
    }
    return copy;
}

/* Coerces the parts of v; the first change makes a copy. */
static const struct val *coerce_parts(struct coercion *c, const struct node *n, const struct val *v)
{
    struct val *copy = NULL;
    bool is_map = v->kind == VAL_OBJECT;
    for (size_t i = 0; i < v->count; i++) {
        const struct node *part = is_map            ? property_node(n, v->members[i].key)
                                  : i < n->prefix.n ? n->prefix.items[i]
                                                    : n->items;
        const struct val *before = is_map ? &v->members[i].value : &v->items[i];
        const struct val *after = part == NULL ? before : coerce(c, part, before);
        if (after == before) {
            continue;
        }
        copy = copy == NULL ? copy_of(c, v) : copy;
        *(is_map ? &copy->members[i].value : &copy->items[i]) = *after;
    }
    return copy == NULL ? v : copy;
}

static const struct val *coerce(struct coercion *c, const struct node *n, const struct val *v)
{
    for (int i = 0; i < REFERENCES_MAX && n->types == 0 && n->ref != NULL; i++) {
        n = n->ref;
    }
    if (n->kind != NODE_RULES || c->depth >= SCHEMA_DEPTH_MAX) {
        return v;
    }
    if (n->types != 0 && (n->types & types_of(v)) == 0) {
        const struct val *other = other_spelling(c, v, n->types);
        return other != NULL && check_node(&c->check, n, other) ? other : v;
    }
    if (v->kind != VAL_OBJECT && v->kind != VAL_ARRAY) {
        return v;
    }
    c->depth++;
    const struct val *out = coerce_parts(c, n, v);
    c->depth--;
    return out;
}

void schema_coerce(const struct schema *s, struct arena *arena, const struct val *v,
                   const struct val **out, bool *changed)
{
    struct coercion c = {.check = {.schema = s}, .arena = arena};
    *out = coerce(&c, s->root, v);
    *changed = *out != v;
}
