/* What the files of the loader share. */
#ifndef CASSETTES_LOAD_INT_H
#define CASSETTES_LOAD_INT_H

#include "cassettes/cassette_int.h"
#include "kernel/base/doc.h"

/* What one loading works with. */
struct loader {
    struct doc d;
    struct cassette *c;
    struct err *e;
};

/* Whether v is a map; in our own files, and there alone, also that all its keys are among `keys`.
 */
int load_keys(struct loader *l, const struct val *v, const char *what,
              const char *const *keys) MUST_CHECK;

/* ---- load_http.c: of a request or a response v ---- */

int load_method(struct loader *l, const struct val *v, struct str *out) MUST_CHECK;
int load_address(struct loader *l, const struct val *v, struct str *out) MUST_CHECK;
int load_status(struct loader *l, const struct val *v, struct interaction *it) MUST_CHECK;
int load_headers(struct loader *l, const struct val *v, struct http_header **out,
                 size_t *n) MUST_CHECK;
/* `parsed_body` where it stands, as its JSON text and in *value; else `body` (or httpx's
 * `content`), *value is then untouched. */
int load_body(struct loader *l, const struct val *v, struct str *out,
              const struct val **value) MUST_CHECK;

/* ---- load_torn.c ---- */

/* What is left of a text that cannot be read since its recorder was killed: *root without the last
 * interaction, which begins in line *cut. False: it is wrong for another reason. */
bool load_torn(struct cassette *c, struct str text, struct val **root, uint32_t *cut);

/* Whether the last of the interactions `list` can be read but was not finished. */
bool load_is_unfinished(const struct val *root, const struct val *list);

/* Notes, and tells in `warning` (may be NULL), that the recording is cut off in its last
 * interaction, number n, which begins in this line. mend: what to do where it is not so. */
void load_warn_torn(struct cassette *c, size_t n, uint32_t line, const char *mend,
                    struct buf *warning);
#endif
