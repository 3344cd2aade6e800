/* Hashes that are the same on every machine and in every version: they stand in files. */
#ifndef KERNEL_BASE_HASH_H
#define KERNEL_BASE_HASH_H

#include "kernel/base/str.h"

/* XXH3-64 of the text (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md); with seed 0 what
 * `xxhsum -H3` shows. */
uint64_t hash64(uint64_t seed, struct str text);

/* A hash as files have it: 16 hexadecimal digits, and a NUL. */
enum { HASH_HEX = 17 };
const char *hash_hex(uint64_t hash, char out[HASH_HEX]);

/* hash64 of a text that comes piece by piece. Owned by the caller until hasher_end, which gives
 * the hash. */
struct hasher;
struct hasher *hasher_new(uint64_t seed);
void hasher_add(struct hasher *h, struct str piece);
uint64_t hasher_end(struct hasher *h);
#endif
