/* Any bytes as JSON: what parses is written and read again without loss, every cut of it is half
 * JSON, and what does not parse has a place inside the text. */
#include <assert.h>

#include "kernel/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_same(struct arena *arena, const struct val *v, const struct buf *written)
{
    struct val *again = NULL;
    struct err e;
    int rc = json_parse(arena, NULL, buf_str(written), &again, &e);
    assert(rc == 0);
    assert(val_equal(v, again));
}

static void check_writing(struct arena *arena, const struct val *v)
{
    void (*const writers[])(struct buf *, const struct val *) = {json_add, json_add_spaced,
                                                                 json_add_pretty};
    struct buf canonical = {0};
    json_add_canonical(&canonical, v);
    check_same(arena, v, &canonical);
    for (unsigned i = 0; i < 3; i++) {
        struct buf text = {0};
        writers[i](&text, v);
        check_same(arena, v, &text);
        buf_free(&text);
    }
    buf_free(&canonical);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    struct str text = {(const char *)data, size};
    struct val *v = NULL;
    struct err e;
    int rc = json_parse(arena, "fuzz", text, &v, &e);
    if (rc == 0) {
        check_writing(arena, v);
        assert(!json_is_prefix(text));
        struct str cut = str_slice(text, 0, size * 7 / 8);
        struct val *part = NULL;
        assert(json_parse(arena, NULL, cut, &part, NULL) == 0 || json_is_prefix(cut));
    } else {
        assert(rc == ERR_INPUT || rc == ERR_LIMIT);
        assert(e.line >= 1 && e.column >= 1 && e.line <= size + 1 && e.column <= size + 1);
        (void)json_is_prefix(text);
    }
    arena_free(arena);
    return 0;
}
