/* Price tables: what models cost. prices.yaml is the one that comes with the program. */
#ifndef KERNEL_DRIVE_PRICES_H
#define KERNEL_DRIVE_PRICES_H

#include "kernel/base/err.h"
#include "kernel/core/model.h"

enum {
    PRICES_BYTES_MAX = 4 << 20, /* of a file */
    PRICES_MODELS_MAX = 10000,  /* names and patterns in it */
    PRICES_NAME_MAX = 256       /* bytes of one */
};

/* A price table as loaded. */
struct prices;

/* Loads a file of price tables (YAML or JSON; prices.schema.json describes it). Owned by the
 * caller. ERR_NOT_FOUND, ERR_IO; ERR_LIMIT; ERR_INPUT with file:line:column: unknown keys, no
 * amount, a name or pattern that is priced twice, … */
int prices_load(const char *path, struct prices **out, struct err *e) MUST_CHECK;
void prices_free(struct prices *p); /* NULL allowed */

/* The table of prices.yaml as it was when the program was built. Lives as long as the program. */
const struct prices *prices_shipped(void);

/* XXH3-64 of the text of a table; NULL = the one that comes with the program. */
uint64_t prices_hash(const struct prices *p);

/* What `model` costs, or NULL where the table does not say. An exact name counts before every
 * pattern, then the pattern with the most characters besides its stars, then the one that stands
 * first. *currency is set where there is a price. Both are valid as long as the table. */
const struct price *prices_find(const struct prices *p, struct str model, struct str *currency);
#endif
