/* Lists whose items are handed out, and values that are packed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/hash.h"
#include "kernel/base/json.h"
#include "kernel/base/tests/pieces.h"
#include "kernel/base/val_pack.h"
#include "kernel/base/yaml.h"

/* What was handed out, as "line:column json" lines; those that stay are looked at at the end. */
struct seen {
    struct buf text;
    struct buf stay;
    const struct val *kept[16];
    size_t n_kept;
};

static void note(void *ctx, size_t i, const struct val *v, bool stays)
{
    struct seen *s = ctx;
    if (i == 0) {
        buf_clear(&s->text);
        s->n_kept = 0;
    }
    buf_fmt(&s->text, "%u:%u ", v->line, v->column);
    json_add(&s->text, v);
    buf_char(&s->text, ';');
    if (stays) {
        s->kept[s->n_kept++] = v;
    }
}

static const struct {
    const char *text;
    const char *items; /* those handed out */
    const char *tree;  /* the rest; the list is empty in it */
    const char *stay;  /* those that stay */
} cases[] = {
    {"a: 1\nlist:\n- x\n- {b: [1, 2]}\n- [3]\nc: z\n", "3:3 \"x\";4:3 {\"b\":[1,2]};5:3 [3];",
     "{\"a\":1,\"list\":[],\"c\":\"z\"}", ""},
    {"{\"list\":[1,{\"list\":[2]},[]],\"a\":{\"list\":[3]}}", "1:10 1;1:12 {\"list\":[2]};1:25 [];",
     "{\"list\":[],\"a\":{\"list\":[3]}}", ""},
    {"list: []\n", "", "{\"list\":[]}", ""},
    {"list: {list: [1]}\n", "", "{\"list\":{\"list\":[1]}}", ""},
    {"{\"list\": {\"list\": [1]}}", "", "{\"list\":{\"list\":[1]}}", ""},
    {"- list: [1]\n", "", "[{\"list\":[1]}]", ""},
    {"[{\"list\":[1]}]", "", "[{\"list\":[1]}]", ""},
    {"list: &l [1, 2]\nb: *l\n", "", "{\"list\":[1,2],\"b\":[1,2]}", ""},
    {"<<: {list: [1, 2]}\nb: 1\n", "", "{\"list\":[1,2],\"b\":1}", ""},
    {"a: &a 7\nlist: [*a, &b {x: 1}, 5, *b]\nc: *b\n",
     "2:8 7;2:12 {\"x\":1};2:23 5;2:26 {\"x\":1};", "{\"a\":7,\"list\":[],\"c\":{\"x\":1}}",
     "7{\"x\":1}{\"x\":1}"},
    {"{\"list\": [1, 2, 'x', 4]}", "1:11 1;1:14 2;1:17 \"x\";1:22 4;", "{\"list\":[]}", ""},
};

/* The tree with the list that was handed out empty. */
static void add_tree(struct buf *out, struct val *root)
{
    for (size_t i = 0; root->kind == VAL_OBJECT && i < root->count; i++) {
        struct val *v = &root->members[i].value;
        if (v->kind == VAL_ARRAY && v->items == NULL) {
            v->count = 0;
        }
    }
    json_add(out, root);
    buf_char(out, '\0');
}

static void items_of_one_list_are_handed_out(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_new();
        struct seen s = {.n_kept = 0};
        struct val *root = NULL;
        struct buf tree = {0};
        struct val_items items = {"list", note, &s};
        struct err e = {0};
        CU_ASSERT_EQUAL_FATAL(yaml_parse_items(a, NULL, str_of(cases[i].text), &items, &root, &e),
                              0);
        for (size_t j = 0; j < s.n_kept; j++) {
            json_add(&s.stay, s.kept[j]);
        }
        buf_char(&s.text, '\0');
        buf_char(&s.stay, '\0');
        add_tree(&tree, root);
        CHECK_TEXT(s.text.p, cases[i].items);
        CHECK_TEXT(s.stay.p, cases[i].stay);
        CHECK_TEXT(tree.p, cases[i].tree);
        buf_free(&s.text);
        buf_free(&s.stay);
        buf_free(&tree);
        arena_free(a);
    }
}

static bool breaks_off(void *ctx, char *out, size_t n, size_t *got)
{
    struct pieces *p = ctx;
    return p->rest.n > 40 && next_piece(ctx, out, n, got);
}

/* What comes piece by piece is what it is as a whole, but JSON, which is left to that. */
static void items_come_from_a_stream_likewise(void)
{
    static const size_t sizes[] = {1, 7, 1024, 100000};
    struct buf text = {0};
    buf_addz(&text, "\xEF\xBB\xBF# \xC3\xA9\nlist:\n");
    for (size_t i = 0; i < 3000; i++) {
        buf_fmt(&text, "- {id: %zu, text: \"\xE6\xBC\xA2 \xF0\x9F\x98\x80\"}\n", i);
    }
    buf_addz(&text, "z: 1\n");
    struct arena *a = arena_new();
    struct val *root = NULL;
    struct seen want = {.n_kept = 0};
    struct val_items items = {"list", note, &want};
    CU_ASSERT_EQUAL(yaml_parse_items(a, NULL, buf_str(&text), &items, &root, NULL), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct seen got = {.n_kept = 0};
        struct pieces p = {buf_str(&text), sizes[i], buf_str(&text)};
        struct yaml_source from = {next_piece, from_the_start, &p};
        items.ctx = &got;
        CU_ASSERT_EQUAL(yaml_stream_items(a, NULL, &from, &items, &root), 0);
        CU_ASSERT(str_eq(buf_str(&got.text), buf_str(&want.text)));
        CU_ASSERT(val_is(val_get(root, "list"), VAL_ARRAY) && val_get(root, "list")->count == 3000);
        CU_ASSERT(str_is(val_get(root, "z")->text, "1"));
        p.rest = buf_str(&text);
        from.read = breaks_off;
        CU_ASSERT(yaml_stream_items(a, NULL, &from, &items, &root) < 0);
        buf_free(&got.text);
    }
    static const char *const refused[] = {
        "",          "  \n",     "{\"list\": []}",   "list: [\n", "list: \"\xFF\"\n",
        "a: \x01\n", "\xFF\xFE", "list: [&a [*a]]\n"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct pieces p = {str_of(refused[i]), 3, str_of(refused[i])};
        const struct yaml_source from = {next_piece, from_the_start, &p};
        CU_ASSERT(yaml_stream_items(a, NULL, &from, &items, &root) < 0);
    }
    buf_free(&want.text);
    buf_free(&text);
    arena_free(a);
}

/* Lines of all kinds, cut anywhere; libyaml is asked where one of them is not simple. */
static void pieces_of_any_size_give_the_same(void)
{
    static const char *const texts[] = {
        "list:\n- text: |\n    a\n\n      b\n\n  last: {x: [1, 'it''s']}\n- |-\n  c\n- 3\nz: 1",
        "# c\n\nlist:\n  - a: b\n    c:\n    - d\n\n  - \"e\"\n\n\n# end\n",
        "list:\n- |\n  no end of its line",
        "list:\n- |\n  a\n  b\x7F\n- 2\n",
        "list:\n- |\n  a\n  b\xC2\x85 c\n- 2\n",
        "list:\n- 1\n- &a 2\n- *a\n",
        "list:\n- 1\n- \"over\n  lines\"\n",
        "list:\n- 1\n- 2: [\n",
        "list:\n- 1\n...\n",
        "list: [a, b]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct arena *a = arena_new();
        struct str text = str_of(texts[i]);
        struct seen want = {.n_kept = 0};
        struct val_items items = {"list", note, &want};
        struct val *root = NULL;
        int rc = yaml_parse_items(a, NULL, text, &items, &root, NULL);
        for (size_t most = 1; most <= text.n; most++) {
            struct seen got = {.n_kept = 0};
            struct pieces p = {text, most, text};
            const struct yaml_source from = {next_piece, from_the_start, &p};
            struct val *streamed = NULL;
            items.ctx = &got;
            CU_ASSERT_EQUAL(yaml_stream_items(a, NULL, &from, &items, &streamed), rc);
            CU_ASSERT(rc != 0 || str_eq(buf_str(&got.text), buf_str(&want.text)));
            CU_ASSERT(rc != 0 || streamed->count == root->count);
            buf_free(&got.text);
            buf_free(&got.stay);
        }
        buf_free(&want.text);
        buf_free(&want.stay);
        arena_free(a);
    }
}

static void a_hash_of_pieces_is_that_of_the_whole(void)
{
    char text[1000];
    memset(text, 'x', sizeof text);
    for (size_t n = 0; n <= sizeof text; n += 37) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            struct hasher *h = hasher_new(seed);
            for (size_t at = 0; at < n; at += 10) {
                hasher_add(h, str_slice((struct str){text, n}, at, at + 10));
            }
            CU_ASSERT_EQUAL(hasher_end(h), hash64(seed, (struct str){text, n}));
        }
    }
}

static void ignore(void *ctx, size_t i, const struct val *v, bool stays)
{
    (void)ctx;
    (void)i;
    (void)v;
    (void)stays;
}

/* What is wrong in an item or behind it is told as if nothing had been handed out. */
static void mistakes_are_the_same_with_items_handed_out(void)
{
    static const char *const wrong[] = {
        "list:\n- {a: 1, a: 2}\nb: [\n",
        "list:\n- {a: 1}\n- {a: *x}\n",
        "list: [1]\nlist: [2]\n",
        "{\"list\": [{\"a\":1,\"a\":2}], \"b\": 1, \"b\": 2}",
        "{\"b\":1, \"list\": [{\"a\":1,\"a\":2}, {\"c\":1,\"c\":2}]}",
        "{\"list\": [1, 2",
        "{\"list\": [\"\\q\"]}",
        "list: [!!int x]\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct arena *a = arena_new();
        struct val *root = NULL;
        struct val_items items = {"list", ignore, NULL};
        struct err want = {0};
        struct err got = {0};
        char text[2][2048];
        CU_ASSERT(yaml_parse(a, "f", str_of(wrong[i]), YAML_CORE, &root, &want) != 0);
        CU_ASSERT(yaml_parse_items(a, "f", str_of(wrong[i]), &items, &root, &got) != 0);
        CHECK_TEXT(err_text(&got, text[0], sizeof text[0]),
                   err_text(&want, text[1], sizeof text[1]));
        CU_ASSERT_EQUAL(got.code, want.code);
        arena_free(a);
    }
}

static bool same_places(const struct val *a, const struct val *b)
{
    bool same = a->kind == b->kind && a->line == b->line && a->column == b->column &&
                a->binary == b->binary && a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        const struct member *m = &a->members[i];
        const struct member *n = &b->members[i];
        same = a->kind == VAL_ARRAY
                   ? same_places(&a->items[i], &b->items[i])
                   : m->line == n->line && m->column == n->column && str_eq(m->key, n->key) &&
                         same_places(&m->value, &n->value);
    }
    return same;
}

static void packed_values_come_back_with_their_places(void)
{
    static const char *const texts[] = {
        "null\n",
        "[]\n",
        "{}\n",
        "a: [true, false, null, ~, 1.50, -0, 123456789012345678901234567890]\n"
        "b: {c: \"\", \"\": \"x\\0y\", d: [[], {}, [{e: f}]]}\n",
        "!!binary aGVsbG8=\n",
        "\n\n\n\n                                                                                  "
        "  "
        "                                                       - x\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct arena *a = arena_new();
        struct val *v = NULL;
        struct buf packed = {0};
        CU_ASSERT_EQUAL_FATAL(yaml_parse(a, NULL, str_of(texts[i]), YAML_CORE, &v, NULL), 0);
        val_pack(&packed, v);
        struct val *again = val_unpack(a, buf_str(&packed));
        CU_ASSERT_PTR_NOT_NULL_FATAL(again);
        CU_ASSERT(val_equal(v, again) && same_places(v, again));
        for (size_t n = 0; n < packed.n; n++) {
            CU_ASSERT_PTR_NULL(val_unpack(a, (struct str){packed.p, n}));
        }
        buf_char(&packed, '\0');
        CU_ASSERT_PTR_NULL(val_unpack(a, buf_str(&packed)));
        buf_free(&packed);
        arena_free(a);
    }
}

static void an_arena_takes_over_another(void)
{
    static const size_t sizes[][2] = {{0, 0},    {10, 0},   {0, 10},
                                      {5000, 3}, {3, 5000}, {90000, 90000}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct arena *a = arena_new();
        struct arena *b = arena_new();
        struct str text = {NULL, 0};
        for (size_t n = 0; n < sizes[i][0]; n += 10) {
            (void)arena_alloc(a, 10);
        }
        for (size_t n = 0; n < sizes[i][1]; n += 10) {
            text = arena_printf(b, "text %zu", n);
        }
        arena_join(a, b);
        (void)arena_alloc(a, 100000);
        CU_ASSERT(text.p == NULL || str_starts(text, "text "));
        (void)arena_alloc(a, 10);
        arena_free(a);
    }
}

TESTS(items, {"items_of_one_list_are_handed_out", items_of_one_list_are_handed_out},
      {"items_come_from_a_stream_likewise", items_come_from_a_stream_likewise},
      {"pieces_of_any_size_give_the_same", pieces_of_any_size_give_the_same},
      {"a_hash_of_pieces_is_that_of_the_whole", a_hash_of_pieces_is_that_of_the_whole},
      {"mistakes_are_the_same_with_items_handed_out", mistakes_are_the_same_with_items_handed_out},
      {"packed_values_come_back_with_their_places", packed_values_come_back_with_their_places},
      {"an_arena_takes_over_another", an_arena_takes_over_another})
