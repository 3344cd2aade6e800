/* Doubts about answer checks: those that every answer passes, and those that none can. */
#include "goldens/answer_int.h"
#include "kernel/base/json.h"
#include "kernel/base/schema.h"

#include <string.h>

/* Answers as unlike each other as can be; the empty one first. A check that takes them all says
 * nothing. */
static const char *const probes[] = {"", "zq", "7", " - ", "订单", "{\"a\":[1]}"};

enum { PROBES = sizeof probes / sizeof probes[0] };

/* How many of the probes pass, from the second on; *empty: whether the first does. */
static size_t passes(const struct golden_answer *a, bool *empty)
{
    size_t n = 0;
    *empty = golden_answer_test(a, str_of(probes[0]), NULL);
    for (size_t i = 1; i < PROBES; i++) {
        n += golden_answer_test(a, str_of(probes[i]), NULL);
    }
    return n;
}

/* What a block scalar (`|`) brings along, and answers seldom have. */
static void check_newline(const struct golden_report *r, const struct val *text)
{
    if (val_is(text, VAL_STRING) && text->text.n > 1 && str_ends(text->text, "\n")) {
        struct buf message = {0};
        buf_addz(&message, "this text ends with a newline, and answers seldom do; write |- in the "
                           "place of |");
        golden_tell(r, text->line, text->column, FINDING_WARNING, "trailing_newline", &message);
    }
}

static void check_words(const struct golden_report *r, const struct golden_answer *a)
{
    static const char *const keys[] = {"equals", "contains", "regex"};
    const struct val *list = val_get(a->at, "one_of");
    const struct val *regex = val_get(a->at, "regex");
    check_newline(r, a->at);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        check_newline(r, val_get(a->at, keys[i]));
    }
    for (size_t i = 0; val_is(list, VAL_ARRAY) && i < list->count; i++) {
        check_newline(r, &list->items[i]);
    }
    if (val_is(regex, VAL_STRING)) {
        (void)golden_check_slashes(r, regex, regex->text);
    }
}

static void check_text(const struct golden_report *r, const struct golden_answer *a)
{
    bool empty = false;
    if (passes(a, &empty) < PROBES - 1) {
        return;
    }
    struct buf message = {0};
    buf_fmt(&message,
            "every answer%s passes this check; name something that a right answer has, "
            "or leave the check out",
            empty ? "" : " that is not empty");
    golden_tell(r, a->at->line, a->at->column, FINDING_WARNING, "accepts_anything", &message);
}

/* `false`, or `not` of what everything fits: `{not: {}}`. */
static bool refuses_all(const struct val *schema)
{
    const struct val *not = val_get(schema, "not");
    return (val_is(schema, VAL_BOOL) && !schema->boolean) ||
           (val_is(not, VAL_BOOL) && not ->boolean) ||
           (val_is(not, VAL_OBJECT) && not ->count == 0);
}

static void never(const struct golden_report *r, const struct val *at, struct buf *message)
{
    golden_tell(r, at->line, at->column, FINDING_ERROR, "never_holds", message);
}

static void check_schema(const struct golden_report *r, const struct golden_answer *a)
{
    static const char *const texts[] = {"{}", "[]", "1", "\"x\"", "null"};
    size_t n = 0;
    const struct val *schema = val_get(a->at, "schema");
    struct buf message = {0};
    if (refuses_all(schema)) {
        buf_addz(&message, "no answer passes this: the schema refuses every JSON; name a type and "
                           "what is required");
        never(r, schema, &message);
        return;
    }
    if (val_is(schema, VAL_BOOL)) {
        return; /* said outright: any JSON */
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        n += golden_answer_test(a, str_of(texts[i]), NULL);
    }
    if (n == sizeof texts / sizeof texts[0]) {
        buf_addz(&message, "every JSON fits this schema; name a type and what is required, or "
                           "write `schema: true`");
        golden_tell(r, a->at->line, a->at->column, FINDING_WARNING, "accepts_anything", &message);
    }
}

/* The only texts that a check lets through; 0 where it lets others through too. */
static size_t only_texts(const struct golden_answer *a, const struct val **out)
{
    const struct val *v = a->at;
    const struct val *list = val_get(v, "one_of");
    v = v->kind == VAL_OBJECT && list == NULL ? val_get(v, "equals") : v;
    *out = list != NULL ? list->items : v;
    return a->kind != ANSWER_TEXT ? 0 : list != NULL ? list->count : val_is(v, VAL_STRING) ? 1 : 0;
}

/* Whether b fails for every text that a lets through; *why: what it says of the last. */
static bool shuts_out(const struct golden_answer *a, const struct golden_answer *b, struct buf *why)
{
    const struct val *texts = NULL;
    size_t n = only_texts(a, &texts);
    for (size_t i = 0; i < n; i++) {
        buf_clear(why);
        if (golden_answer_judge(b, val_text(&texts[i]), NULL, why) != GOLDEN_FAILS) {
            return false;
        }
    }
    return n > 0;
}

/* Whether b is the `not` of what a says. */
static bool contradicts(const struct golden_answer *a, const struct golden_answer *b)
{
    return b->kind == ANSWER_NOT && val_equal(b->parts[0]->at, a->at);
}

/* Two checks of one `all`. */
static void check_pair(const struct golden_report *r, const struct golden_answer *a,
                       const struct golden_answer *b)
{
    const struct val *texts = NULL;
    struct buf why = {0};
    struct buf message = {0};
    if (contradicts(a, b) || contradicts(b, a)) {
        buf_fmt(&message,
                "no answer passes this check and the one at line %u, which wants the "
                "opposite; leave one out",
                a->at->line);
        never(r, b->at, &message);
    } else if (shuts_out(a, b, &why)) {
        buf_fmt(&message,
                "no answer passes this check and the one at line %u, which lets %s: ", a->at->line,
                only_texts(a, &texts) == 1 ? "one text alone through"
                                           : "those texts alone through");
        buf_add(&message, buf_str(&why));
        never(r, b->at, &message);
    }
    buf_free(&why);
}

enum { PAIRED_MAX = 100 }; /* checks of one `all` that are compared with each other */

static void check_all(const struct golden_report *r, const struct golden_answer *a)
{
    size_t n = a->n_parts < PAIRED_MAX ? a->n_parts : PAIRED_MAX;
    const struct val *texts = NULL;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            if (j > i || (j != i && only_texts(a->parts[i], &texts) > 0 &&
                          only_texts(a->parts[j], &texts) == 0)) {
                check_pair(r, a->parts[i], a->parts[j]);
            }
        }
    }
}

/* An index that has too many digits to be one. */
static bool is_huge(struct str part)
{
    size_t digits = 0;
    while (digits < part.n && part.p[digits] >= '0' && part.p[digits] <= '9') {
        digits++;
    }
    return digits == part.n && digits > ANSWER_INDEX_DIGITS_MAX;
}

/* What is wrong with one part of a path, between dots or in brackets; NULL = nothing. */
static const char *bad_part(struct str part, bool bracket)
{
    return part.n == 0         ? "a part of it is empty"
           : str_is(part, "*") ? "* does not stand for all items; use `each` at the list"
           : memchr(part.p, '"', part.n) != NULL || memchr(part.p, '\'', part.n) != NULL
               ? "keys stand in it without quotes"
           : bracket && part.p[0] == '-' ? "items are counted from 0, from the beginning"
           : bracket && is_huge(part)    ? "no list has that many items"
                                         : NULL;
}

/* A path that can lead nowhere; NULL = it can lead somewhere. `items[0].price`, `$.items`. */
static const char *bad_path(struct str path)
{
    size_t at = str_starts(path, "$") ? 1 : 0;
    const char *why = NULL;
    bool first = at == 0;
    for (size_t parts = 0; at < path.n && why == NULL; parts++) {
        bool bracket = path.p[at] == '[';
        at += bracket || (path.p[at] == '.' && !first) ? 1 : 0;
        first = false;
        size_t end = at;
        while (end < path.n && path.p[end] != ']' &&
               (bracket || (path.p[end] != '.' && path.p[end] != '['))) {
            end++;
        }
        if (bracket != (end < path.n && path.p[end] == ']')) {
            return "a bracket of it is open";
        }
        why = parts == ANSWER_PATH_PARTS_MAX ? "it has too many parts"
                                             : bad_part(str_slice(path, at, end), bracket);
        at = end + (bracket ? 1 : 0);
    }
    return why;
}

static void check_path(const struct golden_report *r, const struct golden_answer *a)
{
    const struct val *at = val_get(val_get(a->at, "json"), "path");
    const char *why = bad_path(a->path);
    if (why != NULL && at != NULL) {
        struct buf message = {0};
        buf_fmt(&message,
                "this path leads nowhere: %s; a path is such as items[0].price, and $ or an empty "
                "one is the whole",
                why);
        golden_tell(r, at->line, at->column, FINDING_ERROR, "bad_path", &message);
    }
}

static void check_not(const struct golden_report *r, const struct golden_answer *a)
{
    bool empty = false;
    const struct golden_answer *inner = a->parts[0];
    if (inner->kind != ANSWER_TEXT || passes(inner, &empty) < PROBES - 1) {
        return;
    }
    struct buf message = {0};
    buf_addz(&message, "no answer passes this: what stands under `not` holds for every answer");
    never(r, a->at, &message);
}

/* Recursion ends at the file's depth. */
static void check(const struct golden_report *r, const struct golden_answer *a)
{
    switch (a->kind) {
    case ANSWER_TEXT: check_text(r, a); return;
    case ANSWER_SCHEMA: check_schema(r, a); return;
    case ANSWER_NUMBER:
    case ANSWER_RUBRIC:
    case ANSWER_JSON: return;
    case ANSWER_NOT: check_not(r, a); return;
    case ANSWER_ALL: check_all(r, a); break;
    case ANSWER_ANY: break;
    }
    for (size_t i = 0; i < a->n_parts; i++) {
        check(r, a->parts[i]);
    }
}

/* What is written otherwise than it was meant, also under `not`. Recursion ends at the file's
 * depth.
 */
static void check_written(const struct golden_report *r, const struct golden_answer *a)
{
    if (a->kind == ANSWER_TEXT) {
        check_words(r, a);
    } else if (a->kind == ANSWER_JSON) {
        check_path(r, a);
    }
    for (size_t i = 0; i < a->n_parts; i++) {
        check_written(r, a->parts[i]);
    }
}

void golden_check_answer(const struct golden_report *r, const struct golden_answer *a)
{
    if (a != NULL) {
        check_written(r, a);
        check(r, a);
    }
}
