/* A schema and a value, split at the first newline. Whatever they are, validation ends, and what
 * was coerced is valid where the value was. */
#include <stdlib.h>

#include "kernel/base/json.h"
#include "kernel/base/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_value(const struct schema *s, struct arena *arena, const struct val *v)
{
    struct buf why = {0};
    bool valid = schema_valid(s, v, &why);
    if (valid != (why.n == 0)) {
        abort();
    }
    const struct val *out;
    bool changed;
    schema_coerce(s, arena, v, &out, &changed);
    if (valid && !schema_valid(s, out, NULL)) {
        abort();
    }
    buf_free(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = {(const char *)data, size};
    size_t newline = str_find(all, STR("\n"));
    if (newline == SIZE_MAX) {
        return 0;
    }
    struct arena *arena = arena_new();
    struct val *root, *v;
    struct schema *s;
    if (json_parse(arena, NULL, str_slice(all, 0, newline), &root, NULL) == 0 &&
        json_parse(arena, NULL, str_slice(all, newline + 1, size), &v, NULL) == 0 &&
        schema_new(root, SCHEMA_2020_12, &s, NULL) == 0) {
        try_value(s, arena, v);
        schema_free(s);
    }
    arena_free(arena);
    return 0;
}
