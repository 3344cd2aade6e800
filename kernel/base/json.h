/* JSON text (RFC 8259): strict parsing with positions, exact numbers, canonical form, writing. */
#ifndef KERNEL_BASE_JSON_H
#define KERNEL_BASE_JSON_H

#include "kernel/base/err.h"
#include "kernel/base/val.h"

enum {
    JSON_DEPTH_MAX = 512,      /* nesting */
    JSON_VALUES_MAX = 10000000 /* in one text; 64 bytes and more each in memory */
};

/* Parses one JSON text (white space around it allowed, a UTF-8 BOM too) into `arena`. Strict: no
 * trailing text, no leading zeros, no NaN, valid UTF-8; lone \u surrogates become U+FFFD.
 * file: named in errors, may be NULL. text must stay valid as long as the arena (raw spans point
 * in). Returns 0 and *out; ERR_INPUT with position; ERR_LIMIT beyond the limits above. */
int json_parse(struct arena *arena, const char *file, struct str text, struct val **out,
               struct err *e) MUST_CHECK;

/* The same, with the items of one list handed out: in *out that list has its count and no items.
 * items: NULL hands out none. No item of a JSON text stays. */
int json_parse_items(struct arena *arena, const char *file, struct str text,
                     const struct val_items *items, struct val **out, struct err *e) MUST_CHECK;

/* How far a text that json_parse refused got: true when it only ends too early (half JSON), so that
 * more bytes could make it valid. */
bool json_is_prefix(struct str text);

/* Decodes the escape at raw.p[*at], a backslash inside of a string that json_parse took: at most 4
 * bytes into out, never more than the escape has, whose number is returned; *at moves behind it. */
unsigned json_decode_escape(struct str raw, size_t *at, char *out);

/* Appends a JSON string literal: escapes only what must be (quote, backslash, controls), keeps
 * other UTF-8, writes U+FFFD for bytes that are not UTF-8. */
void json_add_string(struct buf *out, struct str s);

/* Appends v as compact JSON (no white space), order and number text kept. */
void json_add(struct buf *out, const struct val *v);

/* Appends v with ", " and ": ", on one line. */
void json_add_spaced(struct buf *out, const struct val *v);

/* Appends v as a request body is stored in cassettes: the top object's members a line each with two
 * spaces, the items of their non-empty lists a line each with four, everything deeper spaced on one
 * line; ends without a newline. Other values are written spaced. */
void json_add_pretty(struct buf *out, const struct val *v);

/* Appends the canonical form: keys sorted by bytes, last duplicate kept, numbers by num_canonical.
 * Two values are equal as data exactly when their canonical forms are the same bytes. */
void json_add_canonical(struct buf *out, const struct val *v);

/* ---- writing objects and lists piece by piece ---- */

/* Appends a comma, unless an object or list has just been opened. */
void json_next(struct buf *out);

/* Appends json_next, then "key": for the value that follows. key: needs no escapes. */
void json_key(struct buf *out, const char *key);

/* Appends a member: a string; one that is null where s.p is NULL; a list of n strings; a whole
 * number; one that is null where it is negative; a boolean; a hash as a string of 16 hexadecimal
 * digits. */
void json_put_text(struct buf *out, const char *key, struct str s);
void json_put_text_or_null(struct buf *out, const char *key, struct str s);
void json_put_texts(struct buf *out, const char *key, const struct str *list, size_t n);
void json_put_int(struct buf *out, const char *key, int64_t v);
void json_put_known(struct buf *out, const char *key, int64_t v);
void json_put_bool(struct buf *out, const char *key, bool v);
void json_put_hash(struct buf *out, const char *key, uint64_t hash);
#endif
