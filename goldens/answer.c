#include "goldens/answer_int.h"
#include "kernel/base/dec.h"
#include "kernel/base/json.h"
#include "kernel/base/schema.h"
#include "kernel/base/text.h"

#include <string.h>

enum { PATH_PARTS_MAX = 64, PREVIEW_CHARS = 120 };

/* ---- loading ---- */

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
    int rc = doc_keys(l->doc, v, "an answer check", keys, e);
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
        return doc_fail(l->doc, value, e,
                        "this version does not support rubrics yet; check the answer by text, "
                        "number, json or schema");
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

/* ---- testing ---- */

static void add_preview(struct buf *why, struct str text)
{
    struct arena *arena = arena_new();
    json_add_string(why, text_preview(arena, text, PREVIEW_CHARS));
    arena_free(arena);
}

static void say(struct buf *why, const char *what, struct str text)
{
    if (why != NULL) {
        buf_addz(why, what);
        add_preview(why, text);
    }
}

struct near {
    struct dec value;
    struct dec within;
};

static bool is_near(void *ctx, struct str number)
{
    const struct near *want = ctx;
    struct dec got;
    struct dec distance;
    if (dec_parse(number, &got) != 0 || dec_sub(&got, &want->value, &distance) != 0) {
        return false;
    }
    distance.negative = false;
    return dec_cmp(&distance, &want->within) <= 0;
}

static bool test_number(const struct golden_answer *a, struct str answer, struct buf *why)
{
    struct near want;
    bool parsed = dec_parse(a->value, &want.value) == 0 && dec_parse(a->within, &want.within) == 0;
    if (parsed && golden_numbers(answer, is_near, &want)) {
        return true;
    }
    if (why != NULL) {
        buf_fmt(why, "expected the number %.*s (within %.*s) in the answer, got ",
                STR_FMT(a->value), STR_FMT(a->within));
        add_preview(why, answer);
    }
    return false;
}

/* The JSON in an answer: the whole of it, or its first fenced block. NULL when there is none. */
static const struct val *answer_json(struct arena *arena, struct str answer)
{
    struct val *v;
    if (json_parse(arena, NULL, answer, &v, NULL) == 0) {
        return v;
    }
    size_t open = str_find(answer, STR("```"));
    if (open == SIZE_MAX) {
        return NULL;
    }
    struct str rest = str_slice(answer, open + 3, answer.n);
    size_t line = str_find(rest, STR("\n"));
    rest = line == SIZE_MAX ? rest : str_slice(rest, line + 1, rest.n);
    size_t close = str_find(rest, STR("```"));
    rest = str_slice(rest, 0, close == SIZE_MAX ? rest.n : close);
    return json_parse(arena, NULL, rest, &v, NULL) == 0 ? v : NULL;
}

static bool read_index(struct str part, size_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < part.n; i++) {
        if (part.p[i] < '0' || part.p[i] > '9' || i >= 9) {
            return false;
        }
        n = n * 10 + (size_t)(part.p[i] - '0');
    }
    *out = n;
    return part.n > 0;
}

/* Follows a path such as items[0].price, items.0.price or $.items[0]. NULL where it ends early. */
static const struct val *follow(const struct val *v, struct str path)
{
    size_t at = str_starts(path, "$") ? 1 : 0;
    for (size_t parts = 0; at < path.n && v != NULL; parts++) {
        at += path.p[at] == '.' || path.p[at] == '[' ? 1 : 0;
        size_t end = at;
        while (end < path.n && path.p[end] != '.' && path.p[end] != '[' && path.p[end] != ']') {
            end++;
        }
        struct str part = str_slice(path, at, end);
        size_t index;
        if (parts >= PATH_PARTS_MAX) {
            return NULL;
        }
        if (val_is(v, VAL_ARRAY)) {
            v = read_index(part, &index) ? val_item(v, index) : NULL;
        } else {
            v = val_find(v, part);
        }
        at = end + (end < path.n && path.p[end] == ']' ? 1 : 0);
    }
    return v;
}

/* What stands at the path of the answer. */
static bool test_path(const struct golden_answer *a, const struct val *root, bool *unsure,
                      struct buf *why)
{
    const struct val *found = follow(root, a->path);
    struct member member = {.key = a->path};
    struct val args = {.kind = VAL_OBJECT, .members = &member};
    if (found != NULL) {
        member.value = *found;
        args.count = 1;
    }
    struct args_match_options o = {.unsure = unsure};
    struct buf reason = {0};
    bool holds = args_match_test(a->match, &args, &o, &reason);
    if (!holds && why != NULL) {
        struct str text = buf_str(&reason);
        buf_addz(why, "json ");
        buf_add(why, str_slice(text, str_starts(text, "args.") ? 5 : 0, text.n));
    }
    buf_free(&reason);
    return holds;
}

/* `json` and `schema`: the answer as a value. */
static bool test_value(const struct golden_answer *a, struct str answer, bool *unsure,
                       struct buf *why)
{
    struct arena *arena = arena_new();
    const struct val *root = answer_json(arena, answer);
    bool holds = false;
    if (root == NULL) {
        say(why, "expected JSON, got ", answer);
    } else if (a->kind == ANSWER_SCHEMA) {
        holds = schema_valid(a->schema, root, why);
    } else {
        holds = test_path(a, root, unsure, why);
    }
    arena_free(arena);
    return holds;
}

/* A check may stay undecided: its regular expression came to the match limit. Then it does not
 * hold, and neither does its opposite. */
enum verdict { VERDICT_NO, VERDICT_YES, VERDICT_UNSURE };

static enum verdict judge(const struct golden_answer *a, struct str answer, struct buf *why);

static enum verdict verdict_of(bool holds, bool unsure)
{
    return holds ? VERDICT_YES : unsure ? VERDICT_UNSURE : VERDICT_NO;
}

static enum verdict judge_text(const struct text_cond *c, struct str answer, struct buf *why)
{
    bool holds = text_cond_test(c, &answer, why);
    return verdict_of(holds, !holds && text_cond_unsure(c, answer));
}

static enum verdict judge_value(const struct golden_answer *a, struct str answer, struct buf *why)
{
    bool unsure = false;
    bool holds = test_value(a, answer, &unsure, why);
    return verdict_of(holds, unsure);
}

static enum verdict judge_any(const struct golden_answer *a, struct str answer, struct buf *why)
{
    struct buf reasons = {0};
    enum verdict all = VERDICT_NO;
    for (size_t i = 0; i < a->n_parts && all != VERDICT_YES; i++) {
        buf_addz(&reasons, i == 0 ? "none of these holds: " : "; ");
        enum verdict part = judge(a->parts[i], answer, &reasons);
        all = part == VERDICT_NO ? all : part;
    }
    if (all != VERDICT_YES && why != NULL) {
        buf_add(why, buf_str(&reasons));
    }
    buf_free(&reasons);
    return all;
}

static enum verdict judge_all(const struct golden_answer *a, struct str answer, struct buf *why)
{
    enum verdict all = VERDICT_YES;
    for (size_t i = 0; i < a->n_parts && all != VERDICT_NO; i++) {
        enum verdict part = judge(a->parts[i], answer, all == VERDICT_YES ? why : NULL);
        all = part == VERDICT_YES ? all : part;
    }
    return all;
}

static enum verdict judge_not(const struct golden_answer *a, struct str answer, struct buf *why)
{
    switch (judge(a->parts[0], answer, NULL)) {
    case VERDICT_NO: return VERDICT_YES;
    case VERDICT_YES:
        say(why, "the check under `not` holds for the answer ", answer);
        return VERDICT_NO;
    case VERDICT_UNSURE: break;
    }
    say(why,
        "whether the check under `not` holds is not known (its regex needs too many steps here; "
        "make it simpler) for the answer ",
        answer);
    return VERDICT_UNSURE;
}

static enum verdict judge(const struct golden_answer *a, struct str answer, struct buf *why)
{
    switch (a->kind) {
    case ANSWER_TEXT: return judge_text(a->text, answer, why);
    case ANSWER_NUMBER: return verdict_of(test_number(a, answer, why), false);
    case ANSWER_JSON:
    case ANSWER_SCHEMA: return judge_value(a, answer, why);
    case ANSWER_ALL: return judge_all(a, answer, why);
    case ANSWER_ANY: return judge_any(a, answer, why);
    case ANSWER_NOT: return judge_not(a, answer, why);
    }
    return VERDICT_NO;
}

bool golden_answer_test(const struct golden_answer *a, struct str answer, struct buf *why)
{
    if (a == NULL) {
        return true;
    }
    if (answer.p == NULL) {
        if (why != NULL) {
            buf_addz(why, "expected an answer, got none");
        }
        return false;
    }
    return judge(a, answer, why) == VERDICT_YES;
}
