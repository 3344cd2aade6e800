/* Answer checks as they are written. */
#include "goldens/answer_int.h"
#include "kernel/base/dec.h"
#include "kernel/base/schema.h"

enum { RUBRIC_BYTES_MAX = 1 << 16 };

static int number_member(struct doc d, const struct val *v, const char *key, struct str usual,
                         struct str *out, struct err *e)
{
    const struct val *m = val_get(v, key);
    *out = usual;
    if (m == NULL && usual.n > 0) {
        return 0;
    }
    if (!val_is(m, VAL_NUMBER)) {
        return doc_fail(d, m == NULL ? v : m, e, "expected a number in \"%s\"", key);
    }
    struct dec checked;
    if (dec_parse(m->text, &checked) != 0) {
        return doc_fail(d, m, e, "the number in \"%s\" is too long or too large", key);
    }
    *out = m->text;
    return 0;
}

static int load_number(struct golden_loaded *l, const struct val *v, struct golden_answer *a,
                       struct err *e)
{
    static const char *const keys[] = {"value", "within", NULL};
    a->kind = ANSWER_NUMBER;
    int rc = doc_keys(l->doc, v, "a number check", keys, e);
    rc = rc != 0 ? rc : number_member(l->doc, v, "value", (struct str){0}, &a->value, e);
    rc = rc != 0 ? rc : number_member(l->doc, v, "within", STR("0"), &a->within, e);
    if (rc == 0 && num_compare(a->within, STR("0")) < 0) {
        return doc_fail(l->doc, val_get(v, "within"), e, "expected a number that is not below 0");
    }
    return rc;
}

/* {path: P, MATCHER: …} becomes the matcher of a parameter called P. */
static int load_json(struct golden_loaded *l, const struct val *v, struct golden_answer *a,
                     struct err *e)
{
    static const char *const keys[] = {"path",  "equals", "one_of", "regex",     "contains", "near",
                                       "range", "any",    "absent", "unordered", "each",     NULL};
    struct arena *arena = l->doc.arena;
    a->kind = ANSWER_JSON;
    int rc = doc_keys(l->doc, v, "a json check", keys, e);
    rc = rc != 0 ? rc : doc_str(l->doc, v, "path", DOC_REQUIRED, &a->path, e);
    if (rc != 0) {
        return rc;
    }
    if (v->count != 2) {
        return doc_fail(l->doc, v, e,
                        "expected path and exactly one of equals, one_of, regex, contains, near, "
                        "range, any, absent, unordered, each");
    }
    struct val *matcher = arena_alloc(arena, sizeof *matcher);
    *matcher = *v;
    matcher->count = 1;
    matcher->members = arena_alloc(arena, sizeof *matcher->members);
    matcher->members[0] = v->members[str_is(v->members[0].key, "path") ? 1 : 0];
    struct val *args = arena_alloc(arena, sizeof *args);
    *args = *matcher;
    args->members = arena_alloc(arena, sizeof *args->members);
    args->members[0] = (struct member){a->path, v->line, v->column, *matcher};
    return args_match_new(l->doc, args, &a->match, e);
}

static int load_schema(struct golden_loaded *l, const struct val *v, struct golden_answer *a,
                       struct err *e)
{
    struct err reason = {0};
    a->kind = ANSWER_SCHEMA;
    int rc = schema_new(v, SCHEMA_2020_12, &a->schema, &reason);
    return rc == 0 ? 0 : doc_fail(l->doc, v, e, "this is no JSON Schema: %s", reason.message);
}

static int load_rubric(struct golden_loaded *l, const struct val *v, struct golden_answer *a,
                       struct err *e)
{
    struct str text = val_is(v, VAL_STRING) ? str_trim(v->text) : STR("");
    if (text.n == 0 || text.n > RUBRIC_BYTES_MAX) {
        return doc_fail(l->doc, v, e,
                        "expected a text of 1 to %d bytes that says what the answer must be like, "
                        "found %s",
                        (int)RUBRIC_BYTES_MAX,
                        !val_is(v, VAL_STRING) ? val_kind_name(v->kind)
                        : text.n == 0          ? "an empty one"
                                               : "a longer one");
    }
    a->kind = ANSWER_RUBRIC;
    a->rubric = text;
    if (l->judge != NULL) {
        l->judge->used = true;
    }
    return 0;
}

static int load_parts(struct golden_loaded *l, const struct val *v, enum answer_kind kind,
                      struct golden_answer *a, struct err *e)
{
    a->kind = kind;
    if (kind == ANSWER_NOT) {
        a->parts = arena_array(l->doc.arena, 1, sizeof(struct golden_answer *));
        a->n_parts = 1;
        return golden_answer_load(l, v, &a->parts[0], e);
    }
    if (v->kind != VAL_ARRAY || v->count == 0) {
        return doc_fail(l->doc, v, e, "expected a list of answer checks that is not empty");
    }
    a->parts = arena_array(l->doc.arena, v->count, sizeof(struct golden_answer *));
    for (size_t i = 0; i < v->count; i++) {
        int rc = golden_answer_load(l, &v->items[i], &a->parts[i], e);
        if (rc != 0) {
            return rc;
        }
        a->n_parts = i + 1;
    }
    return 0;
}

static int load_keyed(struct golden_loaded *l, const struct val *v, struct golden_answer *a,
                      struct err *e)
{
    static const char *const keys[] = {"equals", "contains", "regex", "one_of", "number", "json",
                                       "schema", "rubric",   "all",   "any",    "not",    NULL};
    int rc = doc_keys_or(l->doc, v, "an answer check", keys, golden_not_in_answer, e);
    if (rc != 0) {
        return rc;
    }
    if (v->count != 1) {
        return doc_fail(l->doc, v, e,
                        "expected exactly one check of the answer, found %zu; join several as "
                        "`all: [...]`",
                        v->count);
    }
    struct str key = v->members[0].key;
    const struct val *value = &v->members[0].value;
    if (str_is(key, "number")) {
        return load_number(l, value, a, e);
    }
    if (str_is(key, "json")) {
        return load_json(l, value, a, e);
    }
    if (str_is(key, "schema")) {
        return load_schema(l, value, a, e);
    }
    if (str_is(key, "rubric")) {
        return load_rubric(l, value, a, e);
    }
    if (str_is(key, "all") || str_is(key, "any")) {
        return load_parts(l, value, str_is(key, "all") ? ANSWER_ALL : ANSWER_ANY, a, e);
    }
    if (str_is(key, "not")) {
        return load_parts(l, value, ANSWER_NOT, a, e);
    }
    a->kind = ANSWER_TEXT;
    return text_cond_new(l->doc, v, false, &a->text, e);
}

int golden_answer_load(struct golden_loaded *l, const struct val *v, struct golden_answer **out,
                       struct err *e)
{
    struct golden_answer *a = arena_alloc(l->doc.arena, sizeof *a);
    a->at = v;
    a->made_before = l->answers;
    l->answers = a;
    *out = a;
    if (v->kind == VAL_OBJECT) {
        return load_keyed(l, v, a, e);
    }
    if (v->kind != VAL_STRING) {
        return doc_fail(l->doc, v, e,
                        "expected a text, or a map with one check such as {contains: ...} or "
                        "{number: {value: ...}}; found %s",
                        val_kind_name(v->kind));
    }
    a->kind = ANSWER_TEXT;
    return text_cond_new(l->doc, v, false, &a->text, e);
}

void golden_answers_free(struct golden_answer *all)
{
    for (struct golden_answer *a = all; a != NULL; a = a->made_before) {
        text_cond_free(a->text);
        args_match_free(a->match);
        schema_free(a->schema);
    }
}
