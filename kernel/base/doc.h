/* Reading the files that people write: typed access to a loaded document, every error with its
 * place, what was found, what was expected and the closest known key. */
#ifndef KERNEL_BASE_DOC_H
#define KERNEL_BASE_DOC_H

#include "kernel/base/err.h"
#include "kernel/base/val.h"

/* Where values came from; passed by value through a loader. */
struct doc {
    struct arena *arena; /* the document's memory */
    const char *file;    /* for errors; lives as long as the arena */
};

/* An error at value v (NULL: no position). Returns ERR_INPUT. */
int doc_fail(struct doc d, const struct val *v, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Checks that v is a map whose keys are all among `keys` (NULL-terminated), none twice. `what`
 * names the thing in messages ("a task"). ERR_INPUT: not a map; unknown key, with the closest known
 * one. */
int doc_keys(struct doc d, const struct val *v, const char *what, const char *const *keys,
             struct err *e) MUST_CHECK;

/* The same, where people put some keys that belong elsewhere: `elsewhere` (NULL: none) ends with a
 * key NULL, and its hint is told in the place of the known keys ("it stands under expect"). */
struct doc_elsewhere {
    const char *key;
    const char *hint;
};
int doc_keys_or(struct doc d, const struct val *v, const char *what, const char *const *keys,
                const struct doc_elsewhere *elsewhere, struct err *e) MUST_CHECK;

/* Appends `; did you mean "KEY"?` with the key of a map (NULL, another kind: none) that `word` is
 * likely a slip of, where there is one. */
void doc_add_closest(struct buf *out, const struct val *map, struct str word);

/* Readers of one member of map v. An absent member leaves *out untouched (null counts as absent)
 * and returns 0, unless `required` (ERR_INPUT at the map). A wrong type or
 * range is ERR_INPUT at the value. Views point into the document. */
enum doc_need { DOC_OPTIONAL, DOC_REQUIRED };
int doc_str(struct doc d, const struct val *v, const char *key, enum doc_need need, struct str *out,
            struct err *e) MUST_CHECK;
int doc_int(struct doc d, const struct val *v, const char *key, enum doc_need need, int64_t min,
            int64_t max, int64_t *out, struct err *e) MUST_CHECK;
int doc_bool(struct doc d, const struct val *v, const char *key, bool *out,
             struct err *e) MUST_CHECK;
int doc_list(struct doc d, const struct val *v, const char *key, enum doc_need need,
             const struct val **out, struct err *e) MUST_CHECK;
int doc_map(struct doc d, const struct val *v, const char *key, enum doc_need need,
            const struct val **out, struct err *e) MUST_CHECK;

/* A list of strings, none of them empty; `what` names one in messages ("the name of a tool"). The
 * array lives in the document's arena; it is not NULL where the list is there, though empty. */
int doc_strings(struct doc d, const struct val *v, const char *key, const char *what,
                struct str **out, size_t *n, struct err *e) MUST_CHECK;

/* A number as an integer in units of 10^-scale, in [min, max] of those units: seconds with scale 3
 * give milliseconds, USD with scale 9 nano-dollars. */
int doc_scaled(struct doc d, const struct val *v, const char *key, int scale, int64_t min,
               int64_t max, int64_t *out, struct err *e) MUST_CHECK;

/* A member that is a whole number (scale 0) or one in units of 10^-scale, in [min, max]. */
struct doc_number {
    const char *key;
    int scale;
    int64_t min;
    int64_t max;
    int64_t *out;
};

/* A map that holds nothing but those numbers, each optional; `what` names it in messages. */
int doc_numbers(struct doc d, const struct val *v, const char *key, const char *what,
                const struct doc_number *numbers, size_t n, struct err *e) MUST_CHECK;

/* One of `names` (NULL-terminated) as its index; anything else is an error that lists them. */
int doc_enum(struct doc d, const struct val *v, const char *key, const char *const *names, int *out,
             struct err *e) MUST_CHECK;

/* Checks `version: 1` at the top of a file; required. */
int doc_version(struct doc d, const struct val *root, struct err *e) MUST_CHECK;
#endif
