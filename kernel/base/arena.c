#include "kernel/base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks begin small, for thousands of sessions that wait, and double. */
enum { BLOCK_BYTES_FIRST = 1024, BLOCK_BYTES_MAX = 16 * 1024, ALIGN_BYTES = 16 };

enum { LIST_FIRST = 8 };

struct block {
    struct block *next;
    size_t used;
    size_t size;
    size_t pad; /* keeps data aligned to ALIGN_BYTES */
    unsigned char data[];
};

struct arena {
    struct block *top;
    size_t next_size; /* of the next block, at least */
};

static void (*end_of_memory)(void);

void mem_on_exhausted(void (*end)(void))
{
    end_of_memory = end;
}

_Noreturn void mem_exhausted(void)
{
    if (end_of_memory != NULL) {
        end_of_memory();
    }
    assert(!"out of memory");
    abort();
}

void *mem_alloc(size_t size)
{
    void *p = malloc(size == 0 ? 1 : size);
    if (p == NULL) {
        mem_exhausted();
    }
    return p;
}

void *mem_zero(size_t size)
{
    void *p = mem_alloc(size);
    memset(p, 0, size);
    return p;
}

void *mem_grow(void *p, size_t size)
{
    void *q = realloc(p, size == 0 ? 1 : size);
    if (q == NULL) {
        mem_exhausted();
    }
    return q;
}

void *mem_room(void *list, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return list;
    }
    *cap = *cap == 0 ? LIST_FIRST : *cap * 2;
    return mem_grow(list, *cap * size);
}

void *mem_need(void *p)
{
    if (p == NULL) {
        mem_exhausted();
    }
    return p;
}

struct arena *arena_new(void)
{
    struct arena *a = mem_zero(sizeof *a);
    a->next_size = BLOCK_BYTES_FIRST;
    return a;
}

void arena_free(struct arena *a)
{
    if (a == NULL) {
        return;
    }
    struct block *b = a->top;
    while (b != NULL) {
        struct block *next = b->next;
        free(b);
        b = next;
    }
    free(a);
}

/* Keeps the top, which is never the block of a big piece while there is another. */
void arena_clear(struct arena *a)
{
    struct block *top = a->top;
    if (top == NULL) {
        return;
    }
    for (struct block *b = top->next; b != NULL;) {
        struct block *next = b->next;
        free(b);
        b = next;
    }
    top->next = NULL;
    top->used = 0;
    if (top->size > BLOCK_BYTES_MAX) {
        free(top);
        a->top = NULL;
    }
}

void arena_join(struct arena *a, struct arena *from)
{
    struct block **end = &from->top;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    /* Below the top, which keeps its room. */
    struct block **below = a->top == NULL ? &a->top : &a->top->next;
    *end = *below;
    *below = from->top;
    free(from);
}

static struct block *block_new(size_t size)
{
    struct block *b = mem_alloc(sizeof *b + size);
    b->used = 0;
    b->size = size;
    return b;
}

/* A big piece gets a block of its own, put below the top so that the top keeps its room. */
static void *take_big(struct arena *a, size_t size)
{
    struct block *b = block_new(size);
    b->used = size;
    if (a->top == NULL) {
        b->next = NULL;
        a->top = b;
    } else {
        b->next = a->top->next;
        a->top->next = b;
    }
    return b->data;
}

void *arena_room(struct arena *a, size_t size)
{
    if (size > SIZE_MAX / 2) {
        mem_exhausted();
    }
    size = size == 0 ? ALIGN_BYTES : (size + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    if (size > BLOCK_BYTES_MAX / 4) {
        return take_big(a, size);
    }
    if (a->top == NULL || a->top->size - a->top->used < size) {
        while (a->next_size < size) {
            a->next_size *= 2;
        }
        struct block *b = block_new(a->next_size);
        b->next = a->top;
        a->top = b;
        a->next_size *= a->next_size < BLOCK_BYTES_MAX ? 2 : 1;
    }
    void *p = a->top->data + a->top->used;
    a->top->used += size;
    return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
    return memset(arena_room(a, size), 0, size);
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        mem_exhausted();
    }
    return arena_alloc(a, bytes);
}

char *arena_cstr(struct arena *a, struct str s)
{
    char *p = arena_room(a, s.n + 1);
    if (s.n > 0) {
        memcpy(p, s.p, s.n);
    }
    p[s.n] = '\0';
    return p;
}

struct str arena_str(struct arena *a, struct str s)
{
    return (struct str){arena_cstr(a, s), s.n};
}

struct str arena_printf(struct arena *a, const char *fmt, ...)
{
    char first[256];
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(first, sizeof first, fmt, args);
    va_end(args);
    size_t size = n < 0 ? 0 : (size_t)n;
    char *p = arena_room(a, size + 1);
    p[size] = '\0';
    if (size < sizeof first) {
        memcpy(p, first, size);
    } else if (vsnprintf(p, size + 1, fmt, again) != n) {
        size = 0;
        p[0] = '\0';
    }
    va_end(again);
    return (struct str){p, size};
}
