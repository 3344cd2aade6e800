/* The provider's own JSON of a part, which it wants to see again: it begins as one value, and grows
 * by the pieces of a stream. Whole and streamed it comes to the same. */
#include <stdlib.h>

#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

enum { GROWTHS_MAX = 8 }; /* members of one part that grow; no provider has more than two */

/* GROWS_TEXT: characters go behind those that it began with. GROWS_LIST: items do. GROWS_JSON: the
 * pieces are JSON text, which takes the place of what it began with. SET_TEXT: characters do. */
enum growth_kind { GROWS_TEXT, GROWS_LIST, GROWS_JSON, SET_TEXT };

/* A member that grows. */
struct growth {
    struct str key;
    enum growth_kind kind;
    struct buf text;
};

struct own {
    const struct val *start; /* a map */
    struct growth growths[GROWTHS_MAX];
    size_t n;
};

void own_begin(struct draft *d, struct block *b, const struct val *v)
{
    struct buf text = {0};
    struct val *start = NULL;
    if (b == NULL || !val_is(v, VAL_OBJECT)) {
        return;
    }
    json_add(&text, v);
    if (json_parse(d->arena, NULL, arena_str(d->arena, buf_str(&text)), &start, NULL) == 0) {
        b->own = arena_alloc(d->arena, sizeof *b->own);
        b->own->start = start;
    }
    buf_free(&text);
}

void own_free(struct own *o)
{
    for (size_t i = 0; o != NULL && i < o->n; i++) {
        buf_free(&o->growths[i].text);
    }
}

static const struct growth *find(const struct own *o, struct str key)
{
    for (size_t i = 0; i < o->n; i++) {
        if (str_eq(o->growths[i].key, key)) {
            return &o->growths[i];
        }
    }
    return NULL;
}

bool own_tells(const struct own *o, const char *key)
{
    const struct growth *g = find(o, str_of(key));
    const struct val *v = val_get(o->start, key);
    if (g != NULL && g->text.n > 0) {
        return true;
    }
    return v != NULL && v->kind != VAL_NULL && !(v->kind == VAL_ARRAY && v->count == 0);
}

/* The growth of a member, or NULL where it grows in another way or too many do. */
static struct growth *growth_of(struct draft *d, struct own *o, struct str key,
                                enum growth_kind kind)
{
    for (size_t i = 0; i < o->n; i++) {
        if (str_eq(o->growths[i].key, key)) {
            return o->growths[i].kind == kind ? &o->growths[i] : NULL;
        }
    }
    if (o->n == GROWTHS_MAX) {
        return NULL;
    }
    struct growth *g = &o->growths[o->n++];
    g->key = arena_str(d->arena, key);
    g->kind = kind;
    return g;
}

void own_say(struct draft *d, struct block *b, struct str key, struct str piece)
{
    struct growth *g = growth_of(d, b->own, key, GROWS_TEXT);
    if (g != NULL) {
        buf_add(&g->text, piece);
    }
}

void own_item(struct draft *d, struct block *b, struct str key, const struct val *item)
{
    struct growth *g = growth_of(d, b->own, key, GROWS_LIST);
    if (g != NULL) {
        buf_addz(&g->text, g->text.n == 0 ? "" : ",");
        json_add(&g->text, item);
    }
}

void own_json(struct draft *d, struct block *b, struct str key, struct str piece)
{
    struct growth *g = growth_of(d, b->own, key, GROWS_JSON);
    if (g != NULL) {
        buf_add(&g->text, piece);
    }
}

void own_set(struct draft *d, struct block *b, struct str key, struct str text)
{
    struct growth *g = growth_of(d, b->own, key, SET_TEXT);
    if (g != NULL) {
        buf_clear(&g->text);
        buf_add(&g->text, text);
    }
}

/* ---- its JSON ---- */

/* Appends a text that begins with `start`. */
static void add_text(struct buf *out, const struct val *start, struct str more)
{
    struct buf text = {0};
    buf_add(&text, val_text(start));
    buf_add(&text, more);
    json_add_string(out, buf_str(&text));
    buf_free(&text);
}

static void add_list(struct buf *out, const struct val *start, struct str more)
{
    buf_char(out, '[');
    for (size_t i = 0; val_is(start, VAL_ARRAY) && i < start->count; i++) {
        json_next(out);
        json_add(out, val_item(start, i));
    }
    if (more.n > 0) {
        json_next(out);
        buf_add(out, more);
    }
    buf_char(out, ']');
}

/* Appends the JSON that replaces `start`; what is no JSON does not. */
static void add_json(struct buf *out, struct arena *arena, const struct val *start, struct str text)
{
    struct val *v = NULL;
    if (json_parse(arena, NULL, text, &v, NULL) == 0) {
        json_add(out, v);
    } else if (start != NULL) {
        json_add(out, start);
    } else {
        buf_addz(out, "{}");
    }
}

static void add_value(struct buf *out, struct arena *arena, const struct val *start,
                      const struct growth *g)
{
    switch (g->kind) {
    case GROWS_TEXT: add_text(out, start, buf_str(&g->text)); break;
    case GROWS_LIST: add_list(out, start, buf_str(&g->text)); break;
    case GROWS_JSON: add_json(out, arena, start, buf_str(&g->text)); break;
    case SET_TEXT: json_add_string(out, buf_str(&g->text)); break;
    }
}

static void add_key(struct buf *out, struct str key)
{
    json_next(out);
    json_add_string(out, key);
    buf_char(out, ':');
}

void own_add(struct buf *out, const struct own *o)
{
    struct arena *arena = arena_new();
    buf_char(out, '{');
    for (size_t i = 0; i < o->start->count; i++) {
        const struct member *m = &o->start->members[i];
        const struct growth *g = find(o, m->key);
        add_key(out, m->key);
        if (g != NULL && g->text.n > 0) {
            add_value(out, arena, &m->value, g);
        } else {
            json_add(out, &m->value);
        }
    }
    for (size_t i = 0; i < o->n; i++) {
        const struct growth *g = &o->growths[i];
        if (g->text.n > 0 && val_find(o->start, g->key) == NULL) {
            add_key(out, g->key);
            add_value(out, arena, NULL, g);
        }
    }
    buf_char(out, '}');
    arena_free(arena);
}
