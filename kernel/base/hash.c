#include "kernel/base/hash.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kernel/base/arena.h"

uint64_t hash64(uint64_t seed, struct str text)
{
    return XXH3_64bits_withSeed(text.n == 0 ? "" : text.p, text.n, seed);
}

const char *hash_hex(uint64_t hash, char out[HASH_HEX])
{
    for (size_t i = HASH_HEX - 1; i-- > 0; hash >>= 4) {
        out[i] = "0123456789abcdef"[hash & 15];
    }
    out[HASH_HEX - 1] = '\0';
    return out;
}

struct hasher {
    XXH3_state_t *state;
};

struct hasher *hasher_new(uint64_t seed)
{
    struct hasher *h = mem_alloc(sizeof *h);
    h->state = mem_need(XXH3_createState());
    (void)XXH3_64bits_reset_withSeed(h->state, seed);
    return h;
}

void hasher_add(struct hasher *h, struct str piece)
{
    (void)XXH3_64bits_update(h->state, piece.n == 0 ? "" : piece.p, piece.n);
}

uint64_t hasher_end(struct hasher *h)
{
    uint64_t hash = XXH3_64bits_digest(h->state);
    (void)XXH3_freeState(h->state);
    free(h);
    return hash;
}
