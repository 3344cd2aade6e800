#include "cassettes/player_int.h"
#include "kernel/base/hash.h"
#include "kernel/base/json.h"

#include <stdlib.h>
#include <string.h>

struct asked player_recorded(const struct interaction *it)
{
    return (struct asked){it->method, it->uri, it->request_body, it->request_json};
}

/* ---- what is left ---- */

void player_use(struct player *p, uint32_t i)
{
    p->n_used += p->used[i] ? 0 : 1;
    p->used[i] = true;
    while (p->first_unused < p->o.cassette->n && p->used[p->first_unused]) {
        p->first_unused++;
    }
}

/* Each used one passed over leads straight to the end of the walk from then on. */
uint32_t player_unused_from(struct player *p, uint32_t i)
{
    uint32_t end = i;
    while (end != INDEX_NONE && p->used[end]) {
        end = p->jump[end];
    }
    while (i != end) {
        uint32_t next = p->jump[i];
        p->jump[i] = end;
        i = next;
    }
    return end;
}

/* ---- how far apart ---- */

static void add_part(struct buf *parts, uint64_t place, const struct val *v)
{
    uint64_t part = hash64(place + (uint64_t)v->kind, v->text);
    part += v->kind == VAL_BOOL && v->boolean ? 1 : 0;
    buf_add(parts, (struct str){(const char *)&part, sizeof part});
}

/* Adds every value without values in it. `place` is a hash of what leads there. */
static void add_parts(struct buf *parts, uint64_t place, const struct val *v)
{
    bool list = v->kind == VAL_ARRAY;
    if ((!list && v->kind != VAL_OBJECT) || v->count == 0) {
        add_part(parts, place, v);
        return;
    }
    for (size_t i = 0; i < v->count; i++) {
        if (list) {
            add_parts(parts, hash64(place, (struct str){(const char *)&i, sizeof i}), &v->items[i]);
        } else {
            add_parts(parts, hash64(place, v->members[i].key), &v->members[i].value);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return *x < *y ? -1 : *x > *y;
}

static struct signature signature_of(const struct player *p, const struct asked *a,
                                     struct arena *arena)
{
    struct buf meaning = {0};
    struct buf parts = {0};
    struct arena *scratch = arena_new();
    struct val *v = NULL;
    cassette_meaning_by(p->rules, a->uri, a->body, a->json, &meaning);
    if (a->json != NULL && json_parse(scratch, NULL, buf_str(&meaning), &v, NULL) == 0) {
        add_parts(&parts, 0, v);
    } else {
        const struct val whole = {.kind = VAL_STRING, .text = buf_str(&meaning)};
        add_parts(&parts, 0, &whole);
    }
    struct signature s = {.n = parts.n / sizeof *s.parts};
    s.parts = arena_array(arena, s.n, sizeof *s.parts);
    memcpy(s.parts, parts.p, parts.n);
    qsort(s.parts, s.n, sizeof *s.parts, by_value);
    buf_free(&meaning);
    buf_free(&parts);
    arena_free(scratch);
    return s;
}

/* How many values one of two has and the other has not. */
static size_t distance(const struct signature *a, const struct signature *b)
{
    size_t i = 0;
    size_t k = 0;
    size_t common = 0;
    while (i < a->n && k < b->n) {
        bool same = a->parts[i] == b->parts[k];
        bool less = a->parts[i] < b->parts[k];
        common += same;
        i += same || less;
        k += same || !less;
    }
    return a->n + b->n - 2 * common;
}

static const struct signature *signature_at(struct player *p, uint32_t i)
{
    struct signature *s = &p->signatures[i];
    if (s->n == 0) {
        struct asked a = player_recorded(&p->o.cassette->items[i]);
        *s = signature_of(p, &a, p->arena);
    }
    return s;
}

uint32_t player_nearest(struct player *p, struct key place, const struct asked *a, bool used)
{
    struct arena *arena = arena_new();
    struct signature sent = signature_of(p, a, arena);
    uint32_t first = cassette_index_first(p->places, place);
    uint32_t found = INDEX_NONE;
    size_t best = SIZE_MAX;
    unsigned seen = 0;
    for (uint32_t i = player_unused_from(p, first); i != INDEX_NONE && seen < NEAREST_MAX; seen++) {
        size_t d = distance(signature_at(p, i), &sent);
        found = d < best ? i : found;
        best = d < best ? d : best;
        i = player_unused_from(p, cassette_index_after(p->places, i));
    }
    seen = 0;
    for (uint32_t i = first; used && i != INDEX_NONE && seen < NEAREST_MAX; seen++) {
        size_t d = p->used[i] ? distance(signature_at(p, i), &sent) : SIZE_MAX;
        found = d < best ? i : found;
        best = d < best ? d : best;
        i = cassette_index_after(p->places, i);
    }
    arena_free(arena);
    return found;
}
