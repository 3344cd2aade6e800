/* A hash table of pieces that somebody else owns: open addressing, at most half full. Nothing is
 * ever taken out. */
#ifndef KERNEL_BASE_TABLE_H
#define KERNEL_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_slot {
    uint64_t hash;
    void *piece; /* NULL = free */
};

/* All 0 is an empty one. */
struct table {
    struct table_slot *slots;
    size_t room; /* a power of 2, or 0 */
    size_t n;    /* pieces */
};

/* Whether `piece`, which has the hash of `key`, is the one that is looked for. */
typedef bool table_same(const void *key, const void *piece);

/* The slot of the piece that is the same as `key`, or a free one for it, which table_put fills;
 * valid until the next call. The hash is that of `key`, by whatever function. */
struct table_slot *table_find(struct table *t, uint64_t hash, const void *key, table_same *same);

/* Fills the free slot that table_find has just given. piece: not NULL, outlives the table. */
void table_put(struct table *t, struct table_slot *slot, uint64_t hash, void *piece);

/* Leaves an empty one; the pieces stay. */
void table_free(struct table *t);
#endif
