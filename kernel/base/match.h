/* Text conditions and argument matchers, as goldens/README.md describes them. */
#ifndef KERNEL_BASE_MATCH_H
#define KERNEL_BASE_MATCH_H

#include "kernel/base/doc.h"

/* A text condition: a string (equal), or a map with exactly one of equals, contains, regex, one_of;
 * where allow_absent is set also {absent: true}. */
struct text_cond;

/* Compiles the condition written at v. It lives as long as d.arena; regular expressions in it are
 * freed by text_cond_free. ERR_INPUT with the place. */
int text_cond_new(struct doc d, const struct val *v, bool allow_absent, struct text_cond **out,
                  struct err *e) MUST_CHECK;
void text_cond_free(struct text_cond *c); /* NULL allowed */

/* Whether `s` meets it; s NULL = there is no such text (meets only absent). On false *why (may be
 * NULL) gets one line: expected …, got …. */
bool text_cond_test(const struct text_cond *c, const struct str *s, struct buf *why);

/* Whether it is not known if `s` meets it, since its regular expression came to the match limit;
 * text_cond_test says false then, which nobody may take for a no. */
bool text_cond_unsure(const struct text_cond *c, struct str s);

/* An argument matcher: a plain value (equal; numbers by value), or a map with exactly one of
 * equals, one_of, regex, contains, near {value, within}, range [lo, hi], any, absent, optional,
 * each, unordered. Recursive: in a plain list every item is a matcher; a map with none of those
 * keys is a map of matchers.
 */
struct arg_match;

/* The keys that make a map a matcher, NULL-terminated. */
const char *const *args_match_keys(void);

/* Compiles the matchers of one call's arguments: v is a map from parameter name to matcher (NULL or
 * an empty map allowed). Same lifetime rule as text_cond. ERR_INPUT with the place. */
int args_match_new(struct doc d, const struct val *v, struct arg_match **out,
                   struct err *e) MUST_CHECK;
void args_match_free(struct arg_match *m); /* NULL allowed */

struct args_match_options {
    const struct val *schema; /* the tool's parameters, for defaults: a parameter that equals its
                                 default is the same as one left out. May be NULL */
    bool ignore_extra;        /* arguments that no matcher names are allowed */
    bool *unsure; /* set where a regular expression came to the match limit, so that false is no
                     certain no; left alone otherwise. May be NULL */
    bool all;     /* say every difference, a line each, not the first alone (10 at most) */
};

/* Whether `args` (an object; anything else fails) meets m. On false *why (may be NULL) gets one
 * line with the path: `args.sku: expected "A-1", got "A1"`. */
bool args_match_test(const struct arg_match *m, const struct val *args,
                     const struct args_match_options *o, struct buf *why);
#endif
