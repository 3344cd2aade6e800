/* What the tests of this room share: decoding a body at a given split, and a result as text. */
#ifndef KERNEL_WIRE_TESTS_RENDERING_H
#define KERNEL_WIRE_TESTS_RENDERING_H

#include "kernel/wire/wire.h"

/* How a body is cut into feeds. */
enum split { SPLIT_WHOLE, SPLIT_BYTES, SPLIT_RANDOM };

struct answer {
    enum wire_format format;
    int status;
    const struct http_header *headers;
    size_t n_headers;
    struct str body;
    enum http_end end;
    struct str detail;
    bool brief; /* long texts as size and hash */
};

/* Decodes and appends what it came to, a line a fact:
 *     streamed
 *     text "..."               also null
 *     reasoning "..."          only where there is some
 *     parts JSON               only where there are some
 *     call ID NAME ARGUMENTS   in canonical form where Messages sends a value, else as sent
 *     server ID NAME ARGUMENTS in canonical form
 *     stop STOP RAW
 *     usage input=N cached=N cache_write=N output=N reasoning=N      only the known ones
 * or
 *     failure CLASS STATUS MESSAGE
 *     retry_after_ms N         only when asked for
 * Texts of more than 200 bytes, and parts, stand as "N bytes HASH", their 64-bit FNV-1a, where
 * `brief`. `deltas` (may be NULL) gets the text handed out on the way. */
void rendering_of(const struct answer *a, enum split split, struct buf *out, struct buf *deltas);

/* The same of a result. */
void rendering_add(struct buf *out, enum wire_format f, const struct wire_result *r, bool brief);

/* The next line of *text without its end; false at the end. */
bool rendering_line(struct str *text, struct str *line);

/* The content of a file below the sources; the test fails where it cannot be read. */
void rendering_file(const char *relative, struct buf *out);
#endif
