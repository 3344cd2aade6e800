/* Whatever the expression, the answer is one JSON object with `ok`. */
#include <stdlib.h>

#include "kernel/base/json.h"
#include "kernel/drive/tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out = {0};
    calculator_answer((struct str){(const char *)data, size}, &out);
    struct arena *arena = arena_new();
    struct val *v;
    if (json_parse(arena, NULL, buf_str(&out), &v, NULL) != 0 ||
        !val_is(val_get(v, "ok"), VAL_BOOL)) {
        abort();
    }
    arena_free(arena);
    buf_free(&out);
    return 0;
}
