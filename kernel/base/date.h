/* Times of day as text, in the proleptic Gregorian calendar. */
#ifndef KERNEL_BASE_DATE_H
#define KERNEL_BASE_DATE_H

#include "kernel/base/arena.h"

/* Unix milliseconds as "2026-11-29T18:00:00.000Z", in arena; a time that is not in the years 0 to
 * 9999 is shown as the nearest one that is. */
struct str date_text(struct arena *arena, int64_t unix_ms);

/* Each: Unix milliseconds of a text; false for any other text, *unix_ms is then untouched. */

/* Of the form above alone. */
bool date_parse(struct str text, int64_t *unix_ms);

/* "2026-11-29T19:00:00.5+01:00" as other programs write it (RFC 3339; offsets also as ISO 8601's
 * +0100, none is UTC), with white space around it. What is finer than a millisecond is dropped. */
bool date_parse_iso(struct str text, int64_t *unix_ms);

/* "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 5.6.7: the one form that servers may send), with white
 * space around it. */
bool date_parse_http(struct str text, int64_t *unix_ms);
#endif
