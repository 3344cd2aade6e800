/* JSON Schema validation: drafts 2020-12 and 7, with local $ref. */
#ifndef KERNEL_BASE_SCHEMA_H
#define KERNEL_BASE_SCHEMA_H

#include "kernel/base/err.h"
#include "kernel/base/val.h"

enum schema_draft { SCHEMA_2020_12, SCHEMA_DRAFT_7 };

struct schema;

/* Prepares `root` (kept, must outlive the schema). The draft is taken from "$schema" where it names
 * one, else `draft`. ERR_INPUT: not an object or boolean, a bad pattern, a $ref that leads nowhere.
 * Remote references are refused with ERR_UNSUPPORTED. Owned by the caller. */
int schema_new(const struct val *root, enum schema_draft draft, struct schema **out,
               struct err *e) MUST_CHECK;
void schema_free(struct schema *s); /* NULL allowed */

/* Whether v is valid. On false *why (may be NULL) gets one line: the path in the instance, what was
 * expected, what was found ("order_id: expected a string, got a number 3"; the root is "value").
 * Endless recursion and hostile sizes are bounded; hitting the bound is "not valid" with that
 * reason. */
bool schema_valid(const struct schema *s, const struct val *v, struct buf *why);

/* Whether `properties` alone tells which members an object of this schema has: it is there or
 * others are refused, nothing beside it names further ones, and others are not allowed in so many
 * words. */
bool schema_lists_members(const struct val *schema);

/* Safe coercion: a copy of v in arena where a string that exactly spells a number or boolean
 * stands for it, and a number for its string, only at places where the schema's plain `type` wants
 * the other and the result is then valid there. *changed tells whether anything was changed; when
 * nothing, *out = v. */
void schema_coerce(const struct schema *s, struct arena *arena, const struct val *v,
                   const struct val **out, bool *changed);
#endif
