#include "ci/testing/testing.h"
#include "kernel/base/arena.h"
#include "kernel/base/json.h"
#include "kernel/base/sink.h"

#include <string.h>

/* What was handed on, and what the next piece meets. */
struct heard {
    struct buf text;
    size_t pieces;
    int code;
};

static int hear(void *ctx, struct str piece, struct err *e)
{
    struct heard *h = ctx;
    h->pieces++;
    buf_add(&h->text, piece);
    return h->code == 0 ? 0 : err_set(e, h->code, "no room");
}

/* A list of so many numbers: commas are set by what stands before them. */
static void put_list(struct sink *s, int n)
{
    buf_char(&s->text, '[');
    for (int i = 0; sink_ease(s) && i < n; i++) {
        json_next(&s->text);
        buf_int(&s->text, i);
    }
    buf_char(&s->text, ']');
}

static void pieces_make_the_whole(void)
{
    enum { NUMBERS = 100000 };
    struct heard h = {.pieces = 0};
    struct sink kept = {.write = NULL}, handed = {.write = hear, .ctx = &h};
    put_list(&kept, NUMBERS);
    put_list(&handed, NUMBERS);
    CU_ASSERT(handed.text.cap < 4 * SINK_BYTES);
    CU_ASSERT_EQUAL(sink_end(&handed, NULL), 0);
    CU_ASSERT(h.pieces > 5);
    CU_ASSERT(str_eq(buf_str(&h.text), buf_str(&kept.text)));
    CU_ASSERT_EQUAL(sink_end(&kept, NULL), 0);
    buf_free(&h.text);
}

static void a_failure_ends_it(void)
{
    struct heard h = {.code = ERR_IO};
    struct sink s = {.write = hear, .ctx = &h};
    struct err e;
    put_list(&s, 1000000);
    CU_ASSERT_EQUAL(h.pieces, 1);
    CU_ASSERT_EQUAL(sink_end(&s, &e), ERR_IO);
    CU_ASSERT_EQUAL(h.pieces, 1);
    CU_ASSERT_STRING_EQUAL(e.message, "no room");
    buf_free(&h.text);
}

static void what_is_too_large_is_told(void)
{
    struct heard h = {.code = 0};
    struct sink s = {.write = hear, .ctx = &h, .text = {.max = 10}};
    buf_addz(&s.text, "twelve bytes");
    CU_ASSERT_EQUAL(sink_end(&s, NULL), ERR_LIMIT);
    buf_free(&h.text);
}

/* Cleared, an arena gives zeroed memory again. */
static void a_cleared_arena_begins_anew(void)
{
    struct arena *a = arena_new();
    arena_clear(a);
    for (int i = 0; i < 100; i++) {
        for (size_t size = 1; size < 100000; size *= 3) {
            char *p = arena_alloc(a, size);
            CU_ASSERT(p[0] == 0 && memcmp(p, p + 1, size - 1) == 0);
            memset(p, 'x', size);
        }
        arena_clear(a);
    }
    arena_free(a);
}

TESTS(sink, {"sink_hands_on_pieces_that_make_the_whole", pieces_make_the_whole},
      {"sink_ends_with_a_failure", a_failure_ends_it},
      {"sink_tells_what_is_too_large", what_is_too_large_is_told},
      {"a_cleared_arena_begins_anew", a_cleared_arena_begins_anew})
