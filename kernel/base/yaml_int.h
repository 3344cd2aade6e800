/* Inside the YAML loader: how plain scalars resolve, and what they hold; how what is read becomes
 * values. */
#ifndef KERNEL_BASE_YAML_INT_H
#define KERNEL_BASE_YAML_INT_H

#include "kernel/base/yaml.h"

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

/* ---- yaml.c: the values of a document, put together as its parts are met ---- */

struct load;

/* A map or list begins, ends; a scalar without tag and anchor, which is a key where one is due.
 * plain: it has no quotes and is resolved. Errors as yaml_parse. */
int yaml_open(struct load *l, enum val_kind kind, uint32_t line, uint32_t column) MUST_CHECK;
int yaml_close(struct load *l) MUST_CHECK;
int yaml_scalar(struct load *l, struct str text, bool plain, uint32_t line,
                uint32_t column) MUST_CHECK;

/* ---- yaml_simple.c ---- */

/* Reads a text of valid UTF-8 into l, which is empty. false: it is not as simple as that, or wrong;
 * what l then holds is of no use. */
bool yaml_read_simple(struct load *l, struct str text);

/* The same of a text that comes piece by piece, and may not be UTF-8. false also where read fails.
 */
bool yaml_stream_simple(struct load *l, bool (*read)(void *ctx, char *out, size_t n, size_t *got),
                        void *ctx);
#endif
