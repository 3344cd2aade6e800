/* Strings are a pointer and a length; nothing may assume a NUL. Builders grow up to a cap. */
#ifndef KERNEL_BASE_STR_H
#define KERNEL_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A view of bytes that somebody else owns. p may be NULL when n is 0. */
struct str {
    const char *p;
    size_t n;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})

/* For printf's "%.*s". Cut at INT_MAX by the cast, so only for short texts. */
#define STR_FMT(s) (int)(s).n, (s).p

/* A view of a NUL-terminated string; NULL gives the empty view. Inline, as what follows is: the
 * length of a literal is then known when it is compiled. */
static inline struct str str_of(const char *z)
{
    return (struct str){z, z == NULL ? 0 : strlen(z)};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || (a.p[0] == b.p[0] && memcmp(a.p, b.p, a.n) == 0));
}

static inline bool str_is(struct str a, const char *z)
{
    return str_eq(a, str_of(z));
}

static inline bool str_starts(struct str a, const char *prefix)
{
    size_t n = strlen(prefix);
    return a.n >= n && (n == 0 || memcmp(a.p, prefix, n) == 0);
}

bool str_ends(struct str a, const char *suffix);

/* Byte order, like memcmp, the shorter first. < 0, 0, > 0. */
int str_cmp(struct str a, struct str b);

/* The same with ASCII letters taken as lower case, in every locale. */
bool str_is_nocase(struct str a, const char *z);
bool str_is_one_of_nocase(struct str a, const char *const *words); /* words: ends with NULL */
bool str_starts_nocase(struct str a, const char *prefix);
int str_cmp_nocase(struct str a, struct str b);

/* Which of `words` (NULL ends them) s is, -1 = none. */
int str_index(struct str s, const char *const *words);

/* Whether s is one or more ASCII letters, digits and characters of `others`. */
bool str_is_name(struct str s, const char *others);

/* Where `needle` begins in `s`, or SIZE_MAX. The empty needle is found at 0. */
size_t str_find(struct str s, struct str needle);

/* `s` without leading and trailing ASCII white space. */
struct str str_trim(struct str s);

/* Part [from, to) of `s`; both are clamped to the length. */
static inline struct str str_slice(struct str s, size_t from, size_t to)
{
    to = to > s.n ? s.n : to;
    from = from > to ? to : from;
    return (struct str){from == 0 ? s.p : s.p + from, to - from};
}

/* The part of *rest before the first `at`, or all of it. *rest becomes what stands behind that
 * `at`; {NULL, 0} where there is none. */
struct str str_cut(struct str *rest, char at);

/* A growing buffer. Owned memory, freed by buf_free. Zero-initialised is empty and uncapped (1
 * GiB). Invariant: n < cap, also where it is full; or both are 0. */
struct buf {
    char *p;
    size_t n;
    size_t cap;
    size_t max;     /* most bytes it may hold, set while it is empty; 0 = 1 GiB */
    bool truncated; /* something did not fit and was left out, from then on everything is */
};

void buf_free(struct buf *b);
void buf_clear(struct buf *b); /* empty again; keeps the memory */
/* Appends what may not fit in the memory that there is: for the three below. */
void buf_add_more(struct buf *b, struct str s);

/* These are inline for the many short pieces that JSON is written of. */
static inline void buf_add(struct buf *b, struct str s)
{
    if (s.n >= b->cap - b->n || b->truncated) {
        buf_add_more(b, s);
    } else if (s.n > 0) {
        memcpy(b->p + b->n, s.p, s.n);
        b->n += s.n;
    }
}

static inline void buf_addz(struct buf *b, const char *z)
{
    buf_add(b, str_of(z));
}

static inline void buf_char(struct buf *b, char c)
{
    if (b->cap - b->n <= 1 || b->truncated) {
        buf_add_more(b, (struct str){&c, 1});
    } else {
        b->p[b->n++] = c;
    }
}

void buf_int(struct buf *b, int64_t v);
void buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The content, valid until the buffer changes. */
struct str buf_str(const struct buf *b);
#endif
