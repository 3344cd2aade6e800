/* Regular expressions (PCRE2, used in regex.c alone): UTF, search semantics, with match limits. */
#ifndef KERNEL_BASE_REGEX_H
#define KERNEL_BASE_REGEX_H

#include "kernel/base/err.h"
#include "kernel/base/str.h"

struct regex;

/* Compiles a pattern. ERR_INPUT with PCRE2's reason and the offset in the message. Owned by the
 * caller. */
int regex_new(struct str pattern, struct regex **out, struct err *e) MUST_CHECK;
void regex_free(struct regex *r);

/* 1 = found anywhere in s, 0 = not; ERR_LIMIT when the pattern needs more than the match limit;
 * subjects that are not UTF-8 do not match. */
int regex_search(const struct regex *r, struct str s) MUST_CHECK;

/* The same from byte `from` (0 to s.n) on; what stands before it is in sight of ^ and lookbehind.
 * When 1, the match is the *n bytes at *at. */
int regex_find(const struct regex *r, struct str s, size_t from, size_t *at, size_t *n) MUST_CHECK;
#endif
