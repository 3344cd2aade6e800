/* Doubts about answer checks: those that every answer passes, and those that none can. */
#include "goldens/answer_int.h"
#include "kernel/base/json.h"
#include "kernel/base/schema.h"

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

static void check_schema(const struct golden_report *r, const struct golden_answer *a)
{
    static const char *const texts[] = {"{}", "[]", "1", "\"x\"", "null"};
    size_t n = 0;
    if (a->at->kind == VAL_OBJECT && val_is(val_get(a->at, "schema"), VAL_BOOL)) {
        return; /* said outright: any JSON */
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        n += golden_answer_test(a, str_of(texts[i]), NULL);
    }
    if (n == sizeof texts / sizeof texts[0]) {
        struct buf message = {0};
        buf_addz(&message, "every JSON fits this schema; name a type and what is required, or "
                           "write `schema: true`");
        golden_tell(r, a->at->line, a->at->column, FINDING_WARNING, "accepts_anything", &message);
    }
}

static void never(const struct golden_report *r, const struct val *at, struct buf *message)
{
    golden_tell(r, at->line, at->column, FINDING_ERROR, "never_holds", message);
}

/* The one text that a check lets through; false where there are several. */
static bool only_text(const struct golden_answer *a, struct str *out)
{
    const struct val *v = a->at;
    const struct val *list = val_get(v, "one_of");
    v = v->kind == VAL_OBJECT && list == NULL ? val_get(v, "equals") : v;
    v = list != NULL && list->count == 1 ? &list->items[0] : v;
    *out = val_text(v);
    return a->kind == ANSWER_TEXT && val_is(v, VAL_STRING);
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
    struct str text;
    struct buf why = {0};
    struct buf message = {0};
    if (contradicts(a, b) || contradicts(b, a)) {
        buf_fmt(&message,
                "no answer passes this check and the one at line %u, which wants the "
                "opposite; leave one out",
                a->at->line);
        never(r, b->at, &message);
    } else if (only_text(a, &text) && golden_answer_judge(b, text, NULL, &why) == GOLDEN_FAILS) {
        buf_fmt(&message,
                "no answer passes this check and the one at line %u, which lets one text "
                "alone through: ",
                a->at->line);
        buf_add(&message, buf_str(&why));
        never(r, b->at, &message);
    }
    buf_free(&why);
}

enum { PAIRED_MAX = 100 }; /* checks of one `all` that are compared with each other */

static void check_all(const struct golden_report *r, const struct golden_answer *a)
{
    size_t n = a->n_parts < PAIRED_MAX ? a->n_parts : PAIRED_MAX;
    struct str text;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            if (j > i ||
                (j != i && only_text(a->parts[i], &text) && !only_text(a->parts[j], &text))) {
                check_pair(r, a->parts[i], a->parts[j]);
            }
        }
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

void golden_check_answer(const struct golden_report *r, const struct golden_answer *a)
{
    if (a != NULL) {
        check(r, a);
    }
}
