/* Inside the YAML loader: how plain scalars resolve; how what is read becomes values; the two ways
 * to read. */
#ifndef KERNEL_BASE_YAML_INT_H
#define KERNEL_BASE_YAML_INT_H

#include "kernel/base/doc.h"
#include "kernel/base/yaml.h"

/* ---- yaml_scalar.c ---- */

enum yaml_plain {
    PLAIN_STRING,
    PLAIN_NULL,
    PLAIN_TRUE,
    PLAIN_FALSE,
    PLAIN_INT,
    PLAIN_FLOAT,
    PLAIN_NOT_FINITE, /* .inf and .nan, which JSON numbers cannot hold */
    PLAIN_TOO_LONG    /* a hex, octal, binary or base 60 number of too many digits to convert */
};

enum { YAML_RADIX_CHARS_MAX = 300 }; /* of a number that has to be converted to decimal */

/* What a plain scalar stands for. For PLAIN_INT and PLAIN_FLOAT its text in JSON's number grammar
 * is appended to `number`, all digits kept.
 * Source: YAML 1.2.2 section 10.3.2; PyYAML's implicit resolvers. */
enum yaml_plain yaml_resolve(enum yaml_rules rules, struct str text, struct buf *number);

/* ---- yaml_build.c: the values of a document, put together as its parts are met ---- */

struct load;

/* A document to be read; the arguments as of yaml_parse_items, items may be NULL. Mistakes are not
 * told, only returned, until yaml_load_anew names an error to fill. */
struct load *yaml_load_new(struct arena *arena, const char *file, enum yaml_rules rules,
                           const struct val_items *items);

/* Drops what an attempt has left, so that the text can be read from its start. e: NULL = mistakes
 * are not told. */
void yaml_load_anew(struct load *l, struct err *e);

/* Gives the document where rc is 0, and frees l. Returns rc. */
int yaml_load_end(struct load *l, int rc, struct val **out) MUST_CHECK;

/* A map or list begins, ends; a scalar without tag and anchor, which is a key where one is due.
 * plain: it has no quotes and is resolved. Errors as yaml_parse. */
int yaml_open(struct load *l, enum val_kind kind, uint32_t line, uint32_t column) MUST_CHECK;
int yaml_close(struct load *l) MUST_CHECK;
int yaml_scalar(struct load *l, struct str text, bool plain, uint32_t line,
                uint32_t column) MUST_CHECK;

/* A scalar, an alias, or where a map or list begins, with all that YAML allows there. It belongs to
 * the caller and is needed for the call only. */
struct yaml_part {
    struct str text;    /* of a scalar; the anchor's name of an alias */
    bool plain;         /* a scalar without quotes */
    const char *tag;    /* in full; NULL = none */
    const char *anchor; /* the name that it gets; NULL = none */
    uint32_t line, column;
};

/* Like yaml_scalar and yaml_open; and an alias. Errors as yaml_parse. */
int yaml_on_scalar(struct load *l, const struct yaml_part *part) MUST_CHECK;
int yaml_on_alias(struct load *l, const struct yaml_part *part) MUST_CHECK;
int yaml_on_open(struct load *l, enum val_kind kind, const struct yaml_part *part) MUST_CHECK;

/* What JSON texts are held to as well, told at the place of v. The first returns ERR_LIMIT; the
 * second adds to *nodes and returns 0, or ERR_LIMIT. */
int yaml_too_deep(const char *file, const struct val *v, struct err *e) MUST_CHECK;
int yaml_count(size_t *nodes, size_t more, const char *file, const struct val *v,
               struct err *e) MUST_CHECK;

/* ---- yaml_tag.c ---- */

/* Makes v, which has its place, what a scalar stands for; without tag and anchor: its text alone.
 * plain: it has no quotes. Errors as yaml_parse. */
int yaml_set_scalar(struct doc d, enum yaml_rules rules, const struct yaml_part *part,
                    struct val *v, struct err *e) MUST_CHECK;
int yaml_set_untagged(struct doc d, enum yaml_rules rules, struct str text, bool plain,
                      struct val *v, struct err *e) MUST_CHECK;

/* Whether the tag may stand before a list or map. */
bool yaml_tag_opens(enum yaml_rules rules, enum val_kind kind, const char *tag);

/* Tells of a tag at v that is not known. Returns ERR_INPUT. */
int yaml_bad_tag(struct doc d, const struct val *v, const char *tag, struct err *e);

/* ---- yaml_map.c ---- */

/* Tells of the first key that stands in a map for the second time, at its place: ERR_INPUT. */
int yaml_refuse_duplicates(struct doc d, const struct val *map, struct err *e) MUST_CHECK;

/* Puts the members that << brings before those of `map`. merges: the values of its << (n of them).
 * Its own members win, then the earlier map of a list, then (PyYAML) the later <<. ERR_INPUT: a
 * value that is no map, nor a list of maps. */
int yaml_merge(struct doc d, struct val *map, const struct val *const *merges, size_t n,
               struct err *e) MUST_CHECK;

/* ---- yaml_events.c ---- */

/* Reads a text by libyaml into l, which is new or begun anew. file and e: as l has them. Errors as
 * yaml_parse. */
int yaml_read_any(struct load *l, const char *file, struct str text, struct err *e) MUST_CHECK;

/* The same of a text that comes piece by piece; mistakes are not told. A negative code also where
 * read fails. */
int yaml_stream_any(struct load *l, bool (*read)(void *ctx, char *out, size_t n, size_t *got),
                    void *ctx) MUST_CHECK;

/* ---- yaml_simple.c ---- */

/* Reads a text of valid UTF-8 into l, which is empty. false: it is not as simple as that, or wrong;
 * what l then holds is of no use. */
bool yaml_read_simple(struct load *l, struct str text);

/* The same of a text that comes piece by piece, and may not be UTF-8. false also where read fails.
 */
bool yaml_stream_simple(struct load *l, bool (*read)(void *ctx, char *out, size_t n, size_t *got),
                        void *ctx);
#endif
