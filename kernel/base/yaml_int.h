/* Inside the YAML loader: how plain scalars resolve, and what they hold. */
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
#endif
