/* Any bytes as an event stream: the events do not depend on how the bytes are cut. */
#include <assert.h>

#include "kernel/wire/wire_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(struct str bytes, size_t step, struct buf *out)
{
    struct sse s = {0};
    struct sse_event event;
    for (size_t at = 0; at < bytes.n; at += step) {
        struct str piece = str_slice(bytes, at, at + step);
        while (sse_next(&s, &piece, &event)) {
            buf_fmt(out, "%zu:%zu:", event.name.n, event.data.n);
            buf_add(out, event.name);
            buf_add(out, event.data);
        }
        assert(piece.n == 0);
    }
    if (sse_end(&s, &event)) {
        buf_fmt(out, "%zu:%zu:", event.name.n, event.data.n);
        buf_add(out, event.name);
        buf_add(out, event.data);
    }
    assert(!sse_end(&s, &event));
    sse_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};
    struct buf whole = {0};
    parse(bytes, size + 1, &whole);
    for (size_t step = 1; step <= 3; step++) {
        struct buf cut = {0};
        parse(bytes, step, &cut);
        assert(str_eq(buf_str(&whole), buf_str(&cut)));
        buf_free(&cut);
    }
    buf_free(&whole);
    return 0;
}
