/* An arena: memory that is taken piece by piece and freed as a whole. One per session and per
 * loaded document. Memory exhaustion ends the process with a message (mem_on_exhausted): what was
 * written before is on disk, and no caller can do better; so nothing here returns NULL. */
#ifndef KERNEL_BASE_ARENA_H
#define KERNEL_BASE_ARENA_H

#include "kernel/base/str.h"

struct arena;

/* A new, empty arena. The caller owns it. Never NULL. */
struct arena *arena_new(void);

/* Frees the arena and everything taken from it. NULL is allowed. */
void arena_free(struct arena *a);

/* Takes back everything that was taken, and keeps a block for what comes: for work that is done
 * over and over. */
void arena_clear(struct arena *a);

/* Gives what was taken from `from` to `a`, where it lives on, and frees `from`. */
void arena_join(struct arena *a, struct arena *from);

/* `size` zeroed bytes, aligned for any type, valid until arena_free. size 0 gives a unique pointer.
 */
void *arena_alloc(struct arena *a, size_t size);

/* An array of `count` zeroed elements of `size` bytes; an overflow of the product ends the process.
 */
void *arena_array(struct arena *a, size_t count, size_t size);

/* The same with anything in them: for what is written at once. */
void *arena_room(struct arena *a, size_t size);

/* A copy of `s` followed by a NUL that is not counted. */
struct str arena_str(struct arena *a, struct str s);

/* A NUL-terminated copy of `s`. */
char *arena_cstr(struct arena *a, struct str s);

/* printf into the arena; the NUL is not counted. */
struct str arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* What ends the process when there is no memory left: it may take none, and must not return. NULL =
 * an assertion that fails. A program sets it once, before it does anything else. */
void mem_on_exhausted(void (*end)(void));
/* Ends the process so: for what a library could not take. */
_Noreturn void mem_exhausted(void);

/* malloc, calloc(1, n), realloc that never return NULL. Freed with free(). */
void *mem_alloc(size_t size);
void *mem_zero(size_t size);
void *mem_grow(void *p, size_t size);
/* A list of n items of `size` bytes each, made longer where *cap, which it has room for, is used
 * up. list NULL, *cap 0 = an empty one. */
void *mem_room(void *list, size_t n, size_t *cap, size_t size);
/* p, which a library took from memory; NULL ends the process as there. */
void *mem_need(void *p);
#endif
