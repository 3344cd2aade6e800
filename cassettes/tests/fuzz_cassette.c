/* Any bytes as a cassette: what loads is shown as JSON lines and checked, and loads again from what
 * we write of it. */
#include <assert.h>

#include "cassettes/cassette_int.h"
#include "kernel/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json_lines(const struct cassette *c)
{
    struct buf out = {0};
    size_t lines = 0;
    cassette_show(c, true, &out);
    for (struct str rest = buf_str(&out); rest.n > 0; lines++) {
        struct arena *arena = arena_new();
        struct val *v;
        size_t end = str_find(rest, STR("\n"));
        int rc = json_parse(arena, NULL, str_slice(rest, 0, end), &v, NULL);
        assert(rc == 0 && end != SIZE_MAX);
        rest = str_slice(rest, end + 1, rest.n);
        arena_free(arena);
    }
    assert(lines == c->n);
    buf_clear(&out);
    cassette_show(c, false, &out);
    buf_free(&out);
}

static void on_finding(void *ctx, const struct finding *f)
{
    (void)ctx;
    assert(f->severity != NULL && f->code != NULL && f->message.n > 0);
}

static void check_written(const struct cassette *c)
{
    struct buf text = {0};
    struct cassette *again;
    struct err e;
    cassette_add_header(&text, STR("abc"), 7, STR("2026-11-29T18:00:00.000Z"));
    for (size_t i = 0; i < c->n; i++) {
        cassette_add_interaction(&text, &c->items[i]);
    }
    int rc = cassette_parse("written.yaml", buf_str(&text), &again, NULL, &e);
    assert(rc == 0);
    assert(again->n == c->n && !again->torn);
    for (size_t i = 0; i < c->n; i++) {
        struct buf want = {0};
        redact_text(c->items[i].body, &want, NULL);
        assert(again->items[i].status == c->items[i].status);
        assert(str_eq(again->items[i].body, buf_str(&want)));
        buf_free(&want);
    }
    cassette_free(again);
    buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cassette *c;
    struct buf warning = {0};
    struct err e = {.code = 0};
    if (cassette_parse("fuzz.yaml", (struct str){(const char *)data, size}, &c, &warning, &e) ==
        0) {
        check_json_lines(c);
        cassette_check(c, on_finding, NULL);
        if (c->n > 0) {
            check_written(c);
        }
        cassette_free(c);
    } else {
        assert(e.message[0] != '\0');
    }
    buf_free(&warning);
    return 0;
}
