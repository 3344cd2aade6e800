#include "kernel/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash64(uint64_t seed, struct str text)
{
    return XXH3_64bits_withSeed(text.n == 0 ? "" : text.p, text.n, seed);
}
