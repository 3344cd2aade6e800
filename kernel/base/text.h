/* UTF-8 and wording helpers. */
#ifndef KERNEL_BASE_TEXT_H
#define KERNEL_BASE_TEXT_H

#include "kernel/base/arena.h"
#include "kernel/base/str.h"

/* Where the first byte that is not valid UTF-8 stands, or SIZE_MAX when all is valid (RFC 3629: no
 * surrogates, no overlongs, up to U+10FFFF). */
size_t utf8_invalid_at(struct str s);

/* Decodes one character at s.p[*at] (*at < s.n) and moves *at past it; an invalid byte gives U+FFFD
 * and moves 1. */
uint32_t utf8_next(struct str s, size_t *at);

/* Writes one code point (surrogates and beyond U+10FFFF as U+FFFD) into out; returns its 1 to 4
 * bytes. No NUL is added. */
unsigned utf8_put(uint32_t code, char out[4]);

/* Appends one code point, as utf8_put writes it. */
void utf8_add(struct buf *out, uint32_t code);

/* Number of characters. */
size_t utf8_count(struct str s);

/* The longest prefix of at most max_chars characters, cut at a character. */
struct str utf8_prefix(struct str s, size_t max_chars);

/* The longest suffix of at most max_chars characters, cut at a character. */
struct str utf8_suffix(struct str s, size_t max_chars);

/* s without the part of a character that a cut by bytes may have left at its end. */
struct str utf8_whole(struct str s);

/* Line and column (from 1, in characters) of byte `at`. */
void text_place(struct str s, size_t at, uint32_t *line, uint32_t *column);

/* The name that differs from `word` in capitals, `_`, `-` and blanks alone; else the closest by
 * edit distance, if near enough to be a likely slip; else NULL.
 * names: n NUL-terminated strings. */
const char *text_closest(struct str word, const char *const *names, size_t n);

/* Edit distance (insert, delete, replace, swap of neighbours count 1), at most `max` + 1. */
unsigned text_distance(struct str a, struct str b, unsigned max);

/* Truncates a tool result to max_chars characters: the first 2/3 and the last 1/3 of the
 * room, cut at character boundaries, joined by a marker that states total and shown size. Returns s
 * itself when it fits. max_chars 0 = no limit. *truncated tells. The result lives in `arena`. */
struct str text_truncate(struct arena *arena, struct str s, size_t max_chars, bool *truncated);

/* Whether a character is obeyed rather than shown: the controls C0, DEL and C1, the line and
 * paragraph separators, and what turns the writing round (Unicode's Bidi_Control, UAX #9). */
bool text_is_control(uint32_t code);

/* Appends s for a terminal: each control character but newline and tab becomes a space, each byte
 * that is not UTF-8 U+FFFD. */
void text_add_plain(struct buf *out, struct str s);

/* A short one-line preview for people: control characters shown as spaces, at most max_chars
 * characters, "…" appended when cut. */
struct str text_preview(struct arena *arena, struct str s, size_t max_chars);

/* Appends a word of a command as a POSIX shell takes it: in quotes where it needs them. */
void text_add_word(struct buf *out, struct str word);
#endif
