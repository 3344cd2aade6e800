/* A condition or matcher and a value, split at the first newline, both JSON. What does not hold
 * says why, what holds says nothing; a matcher made of a value itself holds for it. */
#include <assert.h>

#include "kernel/base/json.h"
#include "kernel/base/match.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_text(struct doc d, const struct val *cond, const struct val *v)
{
    struct text_cond *c;
    struct err e = {.code = 0};
    struct buf why = {0};
    struct str text = val_text(v);
    if (text_cond_new(d, cond, true, &c, &e) != 0) {
        assert(e.message[0] != '\0');
        return;
    }
    bool holds = text_cond_test(c, val_is(v, VAL_STRING) ? &text : NULL, &why);
    assert(holds == (why.n == 0));
    buf_free(&why);
    text_cond_free(c);
}

static void try_args(struct doc d, const struct val *matcher, const struct val *v)
{
    struct arg_match *m;
    struct err e = {.code = 0};
    struct args_match_options strict = {0};
    struct args_match_options loose = {.ignore_extra = true};
    struct buf why = {0};
    if (args_match_new(d, matcher, &m, &e) != 0) {
        assert(e.message[0] != '\0');
        return;
    }
    bool holds = args_match_test(m, v, &strict, &why);
    assert(holds == (why.n == 0));
    assert(!holds || args_match_test(m, v, &loose, NULL));
    buf_free(&why);
    args_match_free(m);
}

/* {"key": {"equals": value}, …} of every member of v; the last of a name counts. */
static void try_itself(struct doc d, const struct val *v)
{
    struct buf text = {0};
    struct val *matcher = NULL;
    struct arg_match *m;
    struct args_match_options strict = {0};
    for (size_t i = 0; i < v->count; i++) {
        if (val_find(v, v->members[i].key) != &v->members[i].value) {
            continue;
        }
        buf_char(&text, text.n == 0 ? '{' : ',');
        json_add_string(&text, v->members[i].key);
        buf_addz(&text, ":{\"equals\":");
        json_add(&text, &v->members[i].value);
        buf_char(&text, '}');
    }
    buf_addz(&text, text.n == 0 ? "{}" : "}");
    int rc = json_parse(d.arena, NULL, buf_str(&text), &matcher, NULL);
    if (rc == 0 && args_match_new(d, matcher, &m, NULL) == 0) {
        assert(args_match_test(m, v, &strict, NULL));
        args_match_free(m);
    }
    buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = {(const char *)data, size};
    size_t newline = str_find(all, STR("\n"));
    if (newline == SIZE_MAX) {
        return 0;
    }
    struct arena *arena = arena_new();
    struct doc d = {arena, "fuzz"};
    struct val *matcher, *v;
    if (json_parse(arena, NULL, str_slice(all, 0, newline), &matcher, NULL) == 0 &&
        json_parse(arena, NULL, str_slice(all, newline + 1, size), &v, NULL) == 0) {
        try_text(d, matcher, v);
        try_args(d, matcher, v);
        if (val_is(v, VAL_OBJECT)) {
            try_itself(d, v);
        }
    }
    arena_free(arena);
    return 0;
}
