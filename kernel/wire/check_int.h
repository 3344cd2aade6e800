/* What the checks of requests share: how they refuse, and the words of OpenAI's two formats. */
#ifndef KERNEL_WIRE_CHECK_INT_H
#define KERNEL_WIRE_CHECK_INT_H

#include "kernel/base/val.h"
#include "kernel/wire/wire.h"

/* A request under check. Every check returns true when all is well, else false with *out set. */
struct check {
    const struct val *body;
    struct arena *arena;
    bool thinks;
    struct wire_refusal *out;
};

/* Sets *out to a 400 and returns false. code: NULL = none; param: p NULL = none. */
bool check_refuse(struct check *c, const char *code, struct str param, struct str message);

/* ---- ids that are seen once ---- */

struct check_id {
    struct str id;       /* p NULL = an empty slot */
    size_t place;        /* where it was seen */
    size_t answer_place; /* SIZE_MAX = not answered */
};

struct check_ids {
    struct check_id *slots;
    size_t n_slots; /* a power of two, more than there are ids */
};

/* Room for so many ids, in arena. */
struct check_ids check_ids_new(struct arena *arena, size_t n);

/* The id's slot, or NULL. */
struct check_id *check_ids_find(const struct check_ids *ids, struct str id);

/* Adds an id; false when it is there already. There must be room. */
bool check_ids_add(struct check_ids *ids, struct str id, size_t place);

/* ---- openai_check.c ---- */

/* "an integer", "an object", … */
const char *openai_kind_words(const struct val *v);

/* v must be of this kind. NULL: refused where `required`. Null counts as left out where not. */
bool openai_kind(struct check *c, const struct val *v, enum val_kind kind, bool required,
                 struct str path);

/* v must be a name of a tool: 1 to 64 letters, digits, _ and -. */
bool openai_name(struct check *c, const struct val *v, struct str path);

/* v must be one of `values` (NULL-terminated). */
bool openai_one_of(struct check *c, const struct val *v, const char *const *values,
                   struct str path);

/* A number of the body between two bounds; NULL = without that one. */
struct openai_limit {
    const char *name;
    bool whole;
    const char *min;
    const char *max;
};
bool openai_numbers(struct check *c, const struct openai_limit *limits, size_t n);

/* An empty list. */
bool openai_refuse_empty(struct check *c, struct str path);

/* The schema of a function or of a response's format: `what` is "function 'NAME'". */
bool openai_schema(struct check *c, const struct val *schema, bool strict, struct str what,
                   const char *code, struct str param);

/* Whether the schema's keywords have values that they may have. */
bool check_json_schema(const struct val *schema);

/* The parameters of a function must be a schema of an object, or left out. path: with its last dot.
 */
bool openai_function_schema(struct check *c, const struct val *function, struct str path);

/* The body's `tool_choice`, and that it names a tool of `names`. function: where the name of a
 * chosen function stands, NULL = in the choice itself. */
bool openai_choice(struct check *c, const struct check_ids *names, const char *function);

/* ---- the formats ---- */

bool chat_check(struct check *c);
bool responses_check(struct check *c);
bool messages_check(struct check *c);
#endif
