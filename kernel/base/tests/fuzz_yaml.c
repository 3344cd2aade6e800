#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/base/json.h"
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
    return 0;
}
