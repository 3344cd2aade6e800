#include "evals/call_diff_int.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"

#include <inttypes.h>

enum { SHOWN_CHARS = 120, ERROR_CHARS = 500 };

/* The first with this outcome, else the first. */
static const struct eval_row *first_of(const struct eval_group *g, enum eval_outcome outcome)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->rows[i]->outcome == outcome) {
            return g->rows[i];
        }
    }
    return g->rows[0];
}

static struct str shown(const struct val *v, struct arena *arena)
{
    struct buf text = {0};
    json_add_spaced(&text, v);
    struct str s = text_preview(arena, buf_str(&text), SHOWN_CHARS);
    buf_free(&text);
    return s;
}

/* Appends where a and b, which differ, first do so: ".sku: "A-1", now "A1"". */
static void add_place(struct buf *out, const struct val *a, const struct val *b,
                      struct arena *arena)
{
    for (size_t i = 0; val_is(a, VAL_OBJECT) && val_is(b, VAL_OBJECT) && i < a->count; i++) {
        const struct val *other = val_find(b, a->members[i].key);
        if (other == NULL || !val_equal(&a->members[i].value, other)) {
            buf_fmt(out, ".%.*s", STR_FMT(a->members[i].key));
            if (other == NULL) {
                buf_fmt(out, ": %.*s, now missing", STR_FMT(shown(&a->members[i].value, arena)));
            } else {
                add_place(out, &a->members[i].value, other, arena);
            }
            return;
        }
    }
    for (size_t i = 0; val_is(a, VAL_OBJECT) && val_is(b, VAL_OBJECT) && i < b->count; i++) {
        if (val_find(a, b->members[i].key) == NULL) {
            buf_fmt(out, ".%.*s: was missing, now %.*s", STR_FMT(b->members[i].key),
                    STR_FMT(shown(&b->members[i].value, arena)));
            return;
        }
    }
    for (size_t i = 0; val_is(a, VAL_ARRAY) && val_is(b, VAL_ARRAY) && i < a->count; i++) {
        const struct val *other = val_item(b, i);
        if (other != NULL && !val_equal(&a->items[i], other)) {
            buf_fmt(out, "[%zu]", i);
            add_place(out, &a->items[i], other, arena);
            return;
        }
    }
    buf_fmt(out, ": %.*s, now %.*s", STR_FMT(shown(a, arena)), STR_FMT(shown(b, arena)));
}

static bool same_arguments(struct str a, struct str b, struct buf *why, struct arena *arena)
{
    struct val *x = NULL, *y = NULL;
    if (str_eq(a, b)) {
        return true;
    }
    if (json_parse(arena, NULL, a, &x, NULL) != 0 || json_parse(arena, NULL, b, &y, NULL) != 0) {
        buf_fmt(why, ": %.*s, now %.*s", STR_FMT(text_preview(arena, a, SHOWN_CHARS)),
                STR_FMT(text_preview(arena, b, SHOWN_CHARS)));
        return false;
    }
    if (val_equal(x, y)) {
        return true;
    }
    add_place(why, x, y, arena);
    return false;
}

/* Appends what differs at call i; false where nothing does. */
static bool add_call(struct buf *out, const struct eval_trial *a, const struct eval_trial *b,
                     size_t i, struct arena *arena)
{
    const struct eval_call *x = i < a->n_calls ? &a->calls[i] : NULL;
    const struct eval_call *y = i < b->n_calls ? &b->calls[i] : NULL;
    struct str was = x == NULL ? STR("none") : text_preview(arena, x->name, SHOWN_CHARS);
    struct str now = y == NULL ? STR("none") : text_preview(arena, y->name, SHOWN_CHARS);
    struct buf why = {0};
    bool differs = true;
    if (x == NULL || y == NULL || !str_eq(x->name, y->name)) {
        buf_fmt(out, "call %zu: %.*s, now %.*s", i + 1, STR_FMT(was), STR_FMT(now));
    } else if (!same_arguments(x->arguments, y->arguments, &why, arena)) {
        buf_fmt(out, "call %zu: %.*s.args", i + 1, STR_FMT(now));
        buf_add(out, buf_str(&why));
    } else {
        differs = false;
    }
    buf_free(&why);
    return differs;
}

static void add_answers(struct buf *out, struct str was, struct str now, struct arena *arena)
{
    if (!str_eq(was, now)) {
        struct str a = was.p == NULL ? STR("none") : text_preview(arena, was, SHOWN_CHARS);
        struct str b = now.p == NULL ? STR("none") : text_preview(arena, now, SHOWN_CHARS);
        buf_fmt(out, "same calls; the answer was: %.*s; now: %.*s", STR_FMT(a), STR_FMT(b));
    }
}

/* Appends why one of the two is no run that can be compared; false where both are. */
static bool add_errors(struct buf *out, const struct eval_trial *a, const struct eval_trial *b,
                       struct arena *arena)
{
    const struct eval_trial *sides[] = {a, b};
    const char *const words[] = {"was an error: ", "now an error: "};
    for (size_t i = 0; i < 2; i++) {
        struct eval_miss miss;
        if (sides[i]->verdict.outcome == EVAL_ERROR) {
            (void)eval_missed(sides[i], arena, &miss);
            buf_fmt(out, "%s%s%.*s", out->n > 0 ? "\n" : "", words[i],
                    STR_FMT(text_preview(arena, miss.text, ERROR_CHARS)));
        }
    }
    return out->n > 0;
}

static struct str difference(const struct eval_trial *a, const struct eval_trial *b,
                             struct arena *arena)
{
    struct buf out = {0};
    size_t n = a->n_calls > b->n_calls ? a->n_calls : b->n_calls;
    bool found = add_errors(&out, a, b, arena);
    for (size_t i = 0; !found && i < n; i++) {
        found = add_call(&out, a, b, i, arena);
    }
    if (!found) {
        add_answers(&out, a->result.answer, b->result.answer, arena);
    }
    struct str s = out.n == 0 ? (struct str){NULL, 0} : arena_str(arena, buf_str(&out));
    buf_free(&out);
    return s;
}

int calls_difference(const struct comparison_result *c, const struct compared_task *t,
                     struct arena *arena, struct str *out, struct err *e)
{
    const struct eval_group *base = t->base, *head = t->head;
    bool fell = base->passed * head->scored >= head->passed * base->scored;
    struct eval_trial a, b;
    int rc = eval_details(c->base, first_of(base, fell ? EVAL_PASS : EVAL_FAIL), arena, &a, e);
    rc = rc != 0
             ? rc
             : eval_details(c->head, first_of(head, fell ? EVAL_FAIL : EVAL_PASS), arena, &b, e);
    if (rc == 0) {
        *out = difference(&a, &b, arena);
    }
    return rc;
}
