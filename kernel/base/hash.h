/* Hashes that are the same on every machine and in every version: they stand in files. */
#ifndef KERNEL_BASE_HASH_H
#define KERNEL_BASE_HASH_H

#include "kernel/base/str.h"

/* XXH3-64 of the text (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md); with seed 0 what
 * `xxhsum -H3` shows. */
uint64_t hash64(uint64_t seed, struct str text);
#endif
