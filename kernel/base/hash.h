/* Hashes that are the same on every machine and in every version: they stand in files. */
#ifndef KERNEL_BASE_HASH_H
#define KERNEL_BASE_HASH_H

#include "kernel/base/str.h"

/* XXH3-64 of the text (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md); with seed 0 what
 * `xxhsum -H3` shows. */
uint64_t hash64(uint64_t seed, struct str text);

/* A hash as it stands in files: 16 hexadecimal digits, no NUL. */
void hash_hex(uint64_t hash, char out[16]);

/* The same of a text that comes piece by piece. Owned by the caller until hasher_end, which gives
 * the hash. */
struct hasher;
struct hasher *hasher_new(uint64_t seed);
void hasher_add(struct hasher *h, struct str piece);
uint64_t hasher_end(struct hasher *h);
#endif
