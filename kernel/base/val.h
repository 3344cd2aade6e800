/* One document model for JSON and YAML: values with their exact text and their place in the source.
 * Values live in the arena of the document that holds them and never change after loading. */
#ifndef KERNEL_BASE_VAL_H
#define KERNEL_BASE_VAL_H

#include "kernel/base/arena.h"
#include "kernel/base/str.h"

enum val_kind { VAL_NULL, VAL_BOOL, VAL_NUMBER, VAL_STRING, VAL_ARRAY, VAL_OBJECT };

struct member;

struct val {
    enum val_kind kind;
    bool boolean;  /* VAL_BOOL */
    bool binary;   /* VAL_STRING from YAML !!binary: text holds the decoded bytes, any bytes */
    uint32_t line; /* of its first character, from 1; 0 = built by the program */
    uint32_t column;
    struct str
        text; /* VAL_STRING: its characters. VAL_NUMBER: a number in JSON's grammar, digits kept */
    struct str raw; /* the value's bytes in a JSON source; empty for YAML and built values */
    size_t count;   /* of items or members */
    union {
        struct val *items;      /* VAL_ARRAY */
        struct member *members; /* VAL_OBJECT, in source order, duplicates kept */
    };
};

struct member {
    struct str key;
    uint32_t line;
    uint32_t column;
    struct val value;
};

/* The last member named `key` (as most JSON readers decide), or NULL. v may be NULL or no object.
 */
const struct val *val_find(const struct val *v, struct str key);
static inline const struct val *val_get(const struct val *v, const char *key)
{
    return val_find(v, str_of(key));
}

/* Follows keys, e.g. val_path(v, "usage", "prompt_tokens", NULL). NULL where the path ends early.
 */
const struct val *val_path(const struct val *v, ...) __attribute__((sentinel));

/* Item i of an array, or NULL. */
const struct val *val_item(const struct val *v, size_t i);

bool val_is(const struct val *v, enum val_kind kind); /* false for NULL */

/* The text of a string value; the empty view for anything else and for NULL. */
struct str val_text(const struct val *v);

/* A whole number (also 3.0 and 1e2) that fits int64 into *out; false and *out untouched otherwise.
 */
bool val_int(const struct val *v, int64_t *out);

/* Equal as data: numbers by exact value (3 = 3.0), objects without regard to order, last duplicate
 * counts, strings by bytes. */
bool val_equal(const struct val *a, const struct val *b);

/* "null", "a boolean", "a number", "a string", "a list", "a map": for messages. */
const char *val_kind_name(enum val_kind kind);

/* Takes the items of one long list as they are read, so that they need not be in memory all at
 * once: the list under `key` in the map at the top of a text. */
struct val_items {
    const char *key;
    /* Item i. When the call returns it is gone, unless it `stays`: then it lives as long as the
     * document. i is 0 again where a text is read anew: what came before is void. */
    void (*item)(void *ctx, size_t i, const struct val *v, bool stays);
    void *ctx;
};

/* Builder, for the rare value that the program makes. */
struct val val_of_str(struct str s);

/* Numbers as text in JSON's grammar. */

/* Canonical form of a number: no plus, no leading or trailing zeros, plain digits while the
 * exponent is within [-7, 21), else d.ddde±x; -0 is 0. Exact: no digit is lost. */
void num_canonical(struct buf *out, struct str number);

/* Exact order of two numbers: < 0, 0, > 0. */
int num_compare(struct str a, struct str b);

bool num_is_integer(struct str number);

/* number × 10^scale as an integer rounded half away from zero; false when it does not fit int64.
 * num_scaled("0.5", 9, &nano) gives 500000000. */
bool num_scaled(struct str number, int scale, int64_t *out);
#endif
