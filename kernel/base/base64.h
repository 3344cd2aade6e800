/* Base64 (RFC 4648, section 4). */
#ifndef KERNEL_BASE_BASE64_H
#define KERNEL_BASE_BASE64_H

#include "kernel/base/str.h"

/* Appends the bytes that `text` stands for; spaces and line ends in it are skipped. False when it
 * is no base64: what was appended is then undefined. */
bool base64_decode(struct str text, struct buf *out);

/* Appends `bytes` as base64 with padding, without line ends. */
void base64_add(struct buf *out, struct str bytes);
#endif
