/* Times of day in headers (decode_error.c). */
#ifndef KERNEL_WIRE_DATE_INT_H
#define KERNEL_WIRE_DATE_INT_H

#include "kernel/base/str.h"

/* Seconds since 1970 of "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 5.6.7) and of
 * "2026-11-29T18:00:00Z" (RFC 3339; a fraction is dropped); -1 for anything else. */
int64_t error_http_date_s(struct str text);
int64_t error_rfc3339_s(struct str text);
#endif
