#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel/base/json.h"
#include "kernel/base/tests/pieces.h"
#include "kernel/base/val_pack.h"
#include "kernel/base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WRITTEN_MAX = 1 << 20 };

/* Whatever the bytes are: a document or an error with a message; and a document can be written and,
 * where it fits, read again as the same data. */
static void check(struct str text, enum yaml_rules rules)
{
    struct arena *a = arena_new();
    struct val *v = NULL, *again = NULL;
    struct err e = {.code = 0};
    int rc = yaml_parse(a, "fuzz.yaml", text, rules, &v, &e);
    if (rc != 0) {
        assert(rc == e.code && e.message[0] != '\0');
    } else {
        struct buf json = {.max = WRITTEN_MAX};
        json_add(&json, v);
        if (!json.truncated && (v->kind == VAL_OBJECT || v->kind == VAL_ARRAY)) {
            rc = json_parse(a, NULL, buf_str(&json), &again, &e);
            assert(rc == 0);
        }
        buf_free(&json);
    }
    arena_free(a);
}

static void add_item(void *ctx, size_t i, const struct val *v, bool stays)
{
    struct buf *items = ctx;
    (void)stays;
    if (i == 0) {
        buf_clear(items);
    }
    val_pack(items, v);
}

/* Whatever the way, the items of a list are the same, and so is what is wrong. */
static void check_items(struct str text)
{
    struct arena *a = arena_new();
    struct val *whole = NULL, *parts = NULL, *streamed = NULL;
    struct err want = {.code = 0}, got = {.code = 0};
    struct buf some = {0}, same = {0}, all = {0};
    struct val_items items = {"tasks", add_item, &some};
    int rc = yaml_parse(a, "fuzz.yaml", text, YAML_CORE, &whole, &want);
    int with = yaml_parse_items(a, "fuzz.yaml", text, &items, &parts, &got);
    assert(rc == with && strcmp(want.message, got.message) == 0 && want.line == got.line);
    items.ctx = &same;
    struct pieces p = {text, 5, text};
    const struct yaml_source from = {next_piece, from_the_start, &p};
    int stream = yaml_stream_items(a, NULL, &from, &items, &streamed);
    assert(rc == 0 || stream != 0);
    if (rc == 0 && some.n > 0) {
        const struct val *list = val_get(whole, "tasks");
        assert(val_get(parts, "tasks")->count == list->count);
        for (size_t i = 0; i < list->count; i++) {
            val_pack(&all, &list->items[i]);
        }
        assert(str_eq(buf_str(&some), buf_str(&all)));
        assert(stream != 0 || str_eq(buf_str(&some), buf_str(&same)));
    }
    buf_free(&some);
    buf_free(&same);
    buf_free(&all);
    arena_free(a);
}

/* Whether two values are equal, their places too. */
static bool same(const struct val *a, const struct val *b)
{
    bool equal = a->kind == b->kind && a->line == b->line && a->column == b->column &&
                 a->count == b->count && str_eq(a->text, b->text) && a->boolean == b->boolean;
    for (size_t i = 0; equal && i < a->count; i++) {
        if (a->kind == VAL_ARRAY) {
            equal = same(&a->items[i], &b->items[i]);
        } else if (a->kind == VAL_OBJECT) {
            const struct member *m = &a->members[i], *n = &b->members[i];
            equal = m->line == n->line && m->column == n->column && str_eq(m->key, n->key) &&
                    same(&m->value, &n->value);
        }
    }
    return equal;
}

/* What is read without libyaml is read as by libyaml, which a mark of the document's end behind it
 * makes read it. */
static void check_both(struct str text)
{
    struct arena *a = arena_new();
    struct buf plain = {0}, marked = {0};
    struct val *v = NULL, *w = NULL;
    struct err e;
    buf_add(&plain, text);
    buf_char(&plain, '\n');
    buf_add(&marked, buf_str(&plain));
    buf_addz(&marked, "...\n");
    if (str_find(text, STR("...")) == SIZE_MAX && str_find(text, STR("---")) == SIZE_MAX &&
        yaml_parse(a, NULL, buf_str(&plain), YAML_CORE, &v, &e) == 0) {
        int rc = yaml_parse(a, NULL, buf_str(&marked), YAML_CORE, &w, &e);
        assert(rc == 0 || str_starts(str_trim(text), "{") || str_starts(str_trim(text), "["));
        assert(rc != 0 || same(v, w) || str_starts(str_trim(text), "{") ||
               str_starts(str_trim(text), "["));
    }
    buf_free(&plain);
    buf_free(&marked);
    arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    check_both(text);
    check(text, YAML_CORE);
    check(text, YAML_PYYAML);
    check_items(text);
    return 0;
}
