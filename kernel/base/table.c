#include "kernel/base/table.h"
#include "kernel/base/arena.h"

#include <assert.h>
#include <stdlib.h>

enum { ROOM_FIRST = 16 };

/* Which slot it belongs into, where none that is there is the same. */
static size_t free_slot(const struct table *t, uint64_t hash)
{
    size_t at = (size_t)hash & (t->room - 1);
    while (t->slots[at].piece != NULL) {
        at = (at + 1) & (t->room - 1);
    }
    return at;
}

static void grow(struct table *t)
{
    struct table bigger = {.room = t->room == 0 ? ROOM_FIRST : t->room * 2, .n = t->n};
    bigger.slots = mem_zero(bigger.room * sizeof *bigger.slots);
    for (size_t i = 0; i < t->room; i++) {
        if (t->slots[i].piece != NULL) {
            bigger.slots[free_slot(&bigger, t->slots[i].hash)] = t->slots[i];
        }
    }
    free(t->slots);
    *t = bigger;
}

struct table_slot *table_find(struct table *t, uint64_t hash, const void *key, table_same *same)
{
    if (2 * t->n >= t->room) {
        grow(t);
    }
    size_t at = (size_t)hash & (t->room - 1);
    while (t->slots[at].piece != NULL &&
           (t->slots[at].hash != hash || !same(key, t->slots[at].piece))) {
        at = (at + 1) & (t->room - 1);
    }
    return &t->slots[at];
}

void table_put(struct table *t, struct table_slot *slot, uint64_t hash, void *piece)
{
    assert(slot->piece == NULL && piece != NULL && 2 * t->n < t->room);
    *slot = (struct table_slot){hash, piece};
    t->n++;
}

void table_free(struct table *t)
{
    free(t->slots);
    *t = (struct table){0};
}
