#include "cassettes/cassette_int.h"

/* One key: its first and last interaction and the next to be taken. */
struct slot {
    struct key key;
    uint32_t first; /* INDEX_NONE = empty */
    uint32_t last;
    uint32_t cursor;
};

/* Open addressing with linear probing, at most half full. */
struct index {
    struct slot *slots;
    size_t mask;
    uint32_t *after; /* by interaction: the next of the same key */
};

struct index *cassette_index_new(struct arena *arena, uint32_t n)
{
    struct index *x = arena_alloc(arena, sizeof *x);
    size_t size = 4;
    while (size < (size_t)n * 2) {
        size *= 2;
    }
    x->slots = arena_array(arena, size, sizeof *x->slots);
    x->mask = size - 1;
    x->after = arena_array(arena, n, sizeof *x->after);
    for (size_t i = 0; i < size; i++) {
        x->slots[i].first = INDEX_NONE;
    }
    return x;
}

/* The slot of the key, or the empty one where it belongs. */
static struct slot *slot_of(const struct index *x, struct key key)
{
    size_t at = (size_t)key.low & x->mask;
    while (x->slots[at].first != INDEX_NONE &&
           (x->slots[at].key.low != key.low || x->slots[at].key.high != key.high)) {
        at = (at + 1) & x->mask;
    }
    return &x->slots[at];
}

void cassette_index_add(struct index *x, struct key key, uint32_t item)
{
    struct slot *s = slot_of(x, key);
    x->after[item] = INDEX_NONE;
    if (s->first == INDEX_NONE) {
        *s = (struct slot){key, item, item, item};
    } else {
        x->after[s->last] = item;
        s->last = item;
    }
}

uint32_t cassette_index_take(struct index *x, struct key key)
{
    struct slot *s = slot_of(x, key);
    if (s->first == INDEX_NONE || s->cursor == INDEX_NONE) {
        return INDEX_NONE;
    }
    uint32_t item = s->cursor;
    s->cursor = x->after[item];
    return item;
}

uint32_t cassette_index_first(const struct index *x, struct key key)
{
    return slot_of(x, key)->first;
}

uint32_t cassette_index_after(const struct index *x, uint32_t item)
{
    return x->after[item];
}
