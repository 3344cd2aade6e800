/* Tools that are functions of the program, with parameters declared as tables in C.
 *
 *     static const struct tool_param params[] = {
 *         {"order_id", PARAM_STRING, .description = "As on the invoice.", .required = true},
 *         {"lines", PARAM_INTEGER, .minimum = "1", .maximum = "100", .default_json = "10"},
 *         {0}};
 *     static const struct tool_function lookup = {
 *         .name = "lookup", .description = "Look up an order.", .params = params, .call = look_up};
 *     int rc = toolset_add_function(set, &lookup, &e);
 */
#ifndef KERNEL_DRIVE_TOOLS_FUNCTION_H
#define KERNEL_DRIVE_TOOLS_FUNCTION_H

#include "kernel/drive/tools.h"

enum param_type {
    PARAM_NONE, /* ends a table */
    PARAM_STRING,
    PARAM_INTEGER,
    PARAM_NUMBER,
    PARAM_BOOLEAN,
    PARAM_ARRAY,
    PARAM_OBJECT
};

/* A parameter: an entry of a table that ends with {0}. What is left out of an entry stands nowhere
 * in its schema. All texts are UTF-8. */
struct tool_param {
    const char *name; /* 1 to 64 letters, digits, "_", "." or "-"; NULL in `items` */
    enum param_type type;
    const char *description;
    bool required;             /* not in `items` */
    const char *const *values; /* PARAM_STRING: the only ones, ends with NULL; NULL = any */
    /* The least and the most, in JSON's grammar ("1", "0.5"): of a number; of a string's
     * characters; of an array's items. NULL = no bound. */
    const char *minimum;
    const char *maximum;
    const char *default_json; /* JSON that tells the model what absence means; nobody puts it in */
    const struct tool_param *items;   /* PARAM_ARRAY: what each of them is, one entry */
    const struct tool_param *members; /* PARAM_OBJECT: a table */
};

enum { TOOL_PARAMS_MAX = 1000, TOOL_PARAM_VALUES_MAX = 1000, TOOL_PARAM_DEPTH_MAX = 16 };

/* A function as a tool. */
struct tool_function {
    const char *name;                /* 1 to 64 letters, digits, "_" or "-", as providers want it */
    const char *description;         /* NULL = none */
    const struct tool_param *params; /* NULL = none */
    /* Answers one call. args: an object that fits the declaration. *out is all zero: a success sets
     * ok and content, a failure code (empty = TOOL_ERROR), message, retryable, hint; the other
     * fields do not count. Texts are copied when it returns: they may stand in `arena`, which goes
     * with the call, in ctx, or be static. Called in the event loop, which waits: it must be quick
     * (slow work belongs in a command), cannot time out, and may not touch the session, the toolbox
     * or the set. In virtual time it takes 0 ms. A run can be replayed only as far as it gives the
     * same answer to the same arguments, or the cassette holds the call. */
    void (*call)(void *ctx, const struct val *args, struct arena *arena, struct tool_output *out);
    void *ctx; /* must outlive the toolbox */
    enum tool_tier tier;
    bool serial;
    bool idempotent;
    bool polling;
    bool terminal;
    int64_t max_output; /* characters; 0 = TOOL_OUTPUT_CHARS, -1 = no limit */
};

/* Adds it; the declaration is copied. The schema is compact and always the same bytes: type,
 * properties in the table's order, required where there are any, additionalProperties false; in a
 * property type, description, enum, bounds, items or members, default (JSON Schema 2020-12).
 * ERR_INPUT, with the tool's name and the parameter's path: a name that providers refuse or that is
 * there already, a type that is none, an empty list of values, a value twice, a minimum above the
 * maximum, a default that does not fit, something that the type cannot have. ERR_LIMIT: one of the
 * limits above, more than 1024 tools. */
int toolset_add_function(struct toolset *t, const struct tool_function *f,
                         struct err *e) MUST_CHECK;
#endif
