/* Reading the lines of results.jsonl and trials.jsonl: what results.c writes. */
#include "evals/trial_lines_int.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRACTION_DEN_MAX = 700,
    NUMBER_MAX = 1000000000,
    MEMBERS_MAX = 100, /* of an object in a line */
    NAME_CHARS_SHOWN = 200,
    TRACE_PATH_MAX = 4096 /* of a trace's path */
};

/* Of tokens and milliseconds: sums over EVAL_TRIALS_MAX trials fit 64 bits. */
#define COUNT_MAX INT64_C(1000000000000)

/* One line being read. */
struct line {
    struct arena *arena;
    const char *file;
    uint32_t number;
    const struct val *object;
    int code;
    struct err *e;
};

/* in: the object of the line that the key is missed or wrong in. */
static void wrong(struct line *l, const struct val *in, const char *key, const char *expected)
{
    const struct val *v = val_get(in, key);
    if (l->code == 0) {
        l->code = err_at(l->e, ERR_INPUT, l->file, l->number, v == NULL ? 0 : v->column,
                         "\"%s\" is %s: expected %s, as assay eval writes it", key,
                         v == NULL ? "missing" : val_kind_name(v->kind), expected);
    }
}

int members_check(const char *file, uint32_t line, const struct val *object, struct err *e)
{
    uint64_t seen = 0;
    for (size_t i = 0; val_is(object, VAL_OBJECT) && i < object->count; i++) {
        const struct member *m = &object->members[i];
        struct str key = m->key;
        unsigned char ends = key.n == 0 ? 0 : (unsigned char)(key.p[0] * 3 + key.p[key.n - 1]);
        uint64_t bit = UINT64_C(1) << ((key.n * 7 + ends) % 64);
        for (size_t k = 0; (seen & bit) != 0 && k < i; k++) {
            if (str_eq(object->members[k].key, key)) {
                return err_at(e, ERR_INPUT, file, line, m->column,
                              "\"%.*s\" stands twice in one object: expected each once, as assay "
                              "eval writes it",
                              STR_FMT(utf8_prefix(key, NAME_CHARS_SHOWN)));
            }
        }
        seen |= bit;
        if (i == MEMBERS_MAX) {
            return err_at(e, ERR_LIMIT, file, line, m->column,
                          "more than %d members in one object of a line of results",
                          (int)MEMBERS_MAX);
        }
    }
    return 0;
}

static void check_members(struct line *l, const struct val *object)
{
    if (l->code == 0) {
        l->code = members_check(l->file, l->number, object, l->e);
    }
}

static struct str text_of(struct line *l, const char *key, bool needed)
{
    const struct val *v = val_get(l->object, key);
    if (v == NULL || v->kind != VAL_STRING) {
        if (needed || (v != NULL && v->kind != VAL_NULL)) {
            wrong(l, l->object, key, needed ? "a string" : "a string or null");
        }
        return (struct str){NULL, 0};
    }
    return v->text;
}

/* A count; null and what is missing give `none`, where that may be. */
static int64_t amount_of(struct line *l, const struct val *in, const char *key, int64_t none)
{
    const struct val *v = val_get(in, key);
    int64_t n = none;
    if (v != NULL && v->kind != VAL_NULL && (!val_int(v, &n) || n < 0 || n > COUNT_MAX)) {
        wrong(l, in, key, "a whole number from 0 to 10^12");
        n = none;
    }
    return n;
}

/* Likewise of trials, steps and lines. */
static int64_t count_of(struct line *l, const struct val *in, const char *key, bool needed,
                        int64_t none)
{
    const struct val *v = val_get(in, key);
    int64_t n = none;
    if (v == NULL || v->kind == VAL_NULL) {
        if (needed) {
            wrong(l, in, key, "a whole number");
        }
    } else if (!val_int(v, &n) || n < 0 || n > NUMBER_MAX) {
        wrong(l, in, key, "a whole number from 0 to 10^9");
        n = none;
    }
    return n;
}

/* The fraction with the smallest denominator that 6 decimals stand for: scores are fractions of
 * counts of calls, so that sums of what was read are those of what was written. */
static struct ratio fraction(int64_t millionths)
{
    for (int64_t den = 1; den <= FRACTION_DEN_MAX; den++) {
        int64_t num = (millionths * den + 500000) / 1000000;
        if ((num * 2000000 + den) / (2 * den) == millionths) {
            return (struct ratio){num, den};
        }
    }
    return (struct ratio){millionths, 1000000};
}

static struct ratio score_of(struct line *l, const struct val *scores, const char *key)
{
    const struct val *v = val_get(scores, key);
    int64_t millionths = 0;
    if (v == NULL || v->kind == VAL_NULL) {
        return (struct ratio){0, 0};
    }
    if (v->kind != VAL_NUMBER || !num_scaled(v->text, 6, &millionths) || millionths < 0 ||
        millionths > 1000000) {
        if (l->code == 0) {
            l->code = err_at(l->e, ERR_INPUT, l->file, l->number, v->column,
                             "the score %s is no number from 0 to 1", key);
        }
        return (struct ratio){0, 0};
    }
    return fraction(millionths);
}

static void read_scores(struct line *l, struct eval_scores *s)
{
    const struct val *v = val_get(l->object, "scores");
    if (!val_is(v, VAL_OBJECT)) {
        wrong(l, l->object, "scores", "an object");
        return;
    }
    check_members(l, v);
    s->tool_selection = score_of(l, v, "tool_selection");
    s->precision = score_of(l, v, "precision");
    s->recall = score_of(l, v, "recall");
    s->f1 = score_of(l, v, "f1");
    s->arguments = score_of(l, v, "arguments");
    const struct val *trajectory = val_get(v, "trajectory");
    s->trajectory = val_is(trajectory, VAL_BOOL) ? trajectory->boolean : -1;
    const struct val *success = val_get(v, "success");
    s->success = val_is(success, VAL_BOOL) && success->boolean;
}

static const struct val *list_of(struct line *l, const char *key)
{
    const struct val *v = val_get(l->object, key);
    if (!val_is(v, VAL_ARRAY)) {
        wrong(l, l->object, key, "a list");
        return NULL;
    }
    return v;
}

static void read_checks(struct line *l, struct eval_verdict *out)
{
    const struct val *list = list_of(l, "checks");
    out->n_checks = list == NULL ? 0 : list->count;
    out->checks = arena_array(l->arena, out->n_checks, sizeof *out->checks);
    for (size_t i = 0; i < out->n_checks; i++) {
        const struct val *passed = val_get(&list->items[i], "passed");
        const struct val *message = val_get(&list->items[i], "message");
        out->checks[i] = (struct eval_check){
            val_text(val_get(&list->items[i], "name")), val_is(passed, VAL_BOOL) && passed->boolean,
            val_is(message, VAL_STRING) ? message->text : (struct str){NULL, 0}};
    }
}

static void read_calls(struct line *l, struct eval_trial *out)
{
    const struct val *list = list_of(l, "calls");
    out->n_calls = list == NULL ? 0 : list->count;
    out->calls = arena_array(l->arena, out->n_calls, sizeof *out->calls);
    for (size_t i = 0; i < out->n_calls; i++) {
        out->calls[i] = (struct eval_call){val_text(val_get(&list->items[i], "name")),
                                           val_text(val_get(&list->items[i], "arguments")), 0};
    }
}

static void read_tags(struct line *l, struct eval_trial *out)
{
    const struct val *list = val_get(l->object, "tags");
    out->n_tags = val_is(list, VAL_ARRAY) ? list->count : 0;
    struct str *tags = arena_array(l->arena, out->n_tags, sizeof *tags);
    for (size_t i = 0; i < out->n_tags; i++) {
        tags[i] = val_text(&list->items[i]);
    }
    out->tags = tags;
}

static bool outcome_of(struct str name, enum eval_outcome *out)
{
    for (int o = EVAL_PASS; o <= EVAL_ERROR; o++) {
        if (str_is(name, eval_outcome_name((enum eval_outcome)o))) {
            *out = (enum eval_outcome)o;
            return true;
        }
    }
    return false;
}

/* Up to a million of the currency. */
static int64_t cost_of(struct line *l, const struct val *in)
{
    const struct val *v = val_get(in, "cost_nano");
    int64_t nano = -1;
    if (v != NULL && v->kind != VAL_NULL &&
        (!val_int(v, &nano) || nano < 0 || nano > PRICE_NANO_MAX)) {
        wrong(l, in, "cost_nano", "a whole number from 0 to 10^15, or null");
        nano = -1;
    }
    return nano;
}

static struct usage usage_of(struct line *l, const struct val *in)
{
    const struct val *u = val_get(in, "usage");
    check_members(l, u);
    return (struct usage){amount_of(l, u, "input", -1), amount_of(l, u, "cached", -1),
                          amount_of(l, u, "cache_write", -1), amount_of(l, u, "output", -1),
                          amount_of(l, u, "reasoning", -1)};
}

/* What a judge was asked; missing where nobody was. */
static void read_judged(struct line *l, struct eval_judged *out)
{
    const struct val *v = val_get(l->object, "judge");
    const struct val *list = val_get(v, "verdicts");
    if (v == NULL || v->kind == VAL_NULL) {
        return;
    }
    if (v->kind != VAL_OBJECT || !val_is(list, VAL_ARRAY)) {
        wrong(l, l->object, "judge", "an object with its verdicts");
        return;
    }
    check_members(l, v);
    out->asked = count_of(l, v, "asked", true, 0);
    out->model = val_text(val_get(v, "model"));
    out->usage = usage_of(l, v);
    out->cost_nano = cost_of(l, v);
    out->currency = val_text(val_get(v, "currency"));
    out->n_verdicts = list->count;
    out->verdicts = arena_array(l->arena, list->count, sizeof *out->verdicts);
    for (size_t i = 0; i < list->count; i++) {
        const struct val *pass = val_get(&list->items[i], "pass");
        out->verdicts[i] = (struct golden_verdict){val_text(val_get(&list->items[i], "rubric")),
                                                   val_is(pass, VAL_BOOL) && pass->boolean,
                                                   val_text(val_get(&list->items[i], "reason"))};
        if (!val_is(pass, VAL_BOOL)) {
            wrong(l, l->object, "judge", "verdicts whose \"pass\" is true or false");
        }
    }
}

static void read_ends(struct line *l, struct eval_trial *out)
{
    struct run_result *r = &out->result;
    if (!outcome_of(text_of(l, "outcome", true), &out->verdict.outcome)) {
        wrong(l, l->object, "outcome", "pass, fail or error");
    }
    if (!run_status_of_name(text_of(l, "status", true), &r->status)) {
        wrong(l, l->object, "status", "how a run ends");
    }
    r->answer = text_of(l, "answer", false);
    r->steps = count_of(l, l->object, "steps", true, 0);
    r->usage = usage_of(l, l->object);
    r->cost_nano = cost_of(l, l->object);
    r->currency = text_of(l, "currency", false);
    r->ended_ms = (uint64_t)amount_of(l, l->object, "latency_ms", 0);
    r->calls_made = (int64_t)out->n_calls;
    if (out->verdict.outcome == EVAL_ERROR) {
        out->code = r->status == RUN_CASSETTE_MISS ? ERR_MISS : ERR_NET;
    }
}

/* What a run from elsewhere names could lie anywhere. */
static bool is_trace(struct str name)
{
    bool inside = str_starts(name, "traces/") && str_ends(name, ".jsonl") &&
                  memchr(name.p, '\0', name.n) == NULL;
    for (size_t i = 1; inside && i < name.n; i++) {
        inside = name.p[i - 1] != '/' || (name.p[i] != '.' && name.p[i] != '/');
    }
    return inside && name.n <= TRACE_PATH_MAX;
}

static struct str trace_of(struct line *l)
{
    struct str name = text_of(l, "trace", false);
    if (name.p == NULL || is_trace(name)) {
        return name;
    }
    if (l->code == 0) {
        l->code = err_at(l->e, ERR_INPUT, l->file, l->number, val_get(l->object, "trace")->column,
                         "the trace is \"%.*s\": expected traces/NAME.jsonl, as assay eval writes "
                         "it",
                         STR_FMT(utf8_prefix(name, NAME_CHARS_SHOWN)));
    }
    return (struct str){NULL, 0};
}

int run_trial_read(struct arena *arena, const char *file, uint32_t line, struct str text,
                   struct eval_trial *out, struct err *e)
{
    struct val *object = NULL;
    struct err inside;
    *out = (struct eval_trial){.verdict = {.outcome = EVAL_NONE}};
    if (str_starts(text, "\xef\xbb\xbf")) { /* reports copy lines as they stand */
        return err_at(e, ERR_INPUT, file, line, 1,
                      "a byte order mark, which assay does not write: save the file without it");
    }
    int rc = json_parse(arena, file, text, &object, &inside);
    if (rc != 0 || object->kind != VAL_OBJECT) {
        return err_at(e, rc == ERR_LIMIT ? rc : ERR_INPUT, file, line, rc != 0 ? inside.column : 1,
                      "no line of results: %s", rc != 0 ? inside.message : "expected an object");
    }
    struct line l = {arena, file, line, object, 0, e};
    check_members(&l, object);
    out->task = text_of(&l, "task", true);
    out->trial = count_of(&l, object, "trial", true, 1);
    out->model = text_of(&l, "model", false);
    struct str set = text_of(&l, "set", false);
    out->set = set.n == 0 ? "" : arena_cstr(arena, set);
    out->line = (uint32_t)count_of(&l, object, "line", false, 0);
    out->expected_calls = count_of(&l, object, "expected_calls", false, -1);
    out->cassette = text_of(&l, "cassette", false);
    out->drifts = (size_t)count_of(&l, object, "drifts", false, 0);
    out->trace = trace_of(&l);
    out->problem = text_of(&l, "problem", false);
    read_scores(&l, &out->verdict.scores);
    read_checks(&l, &out->verdict);
    read_calls(&l, out);
    read_tags(&l, out);
    read_ends(&l, out);
    read_judged(&l, &out->judged);
    return l.code;
}

int trial_lines_next(struct trial_lines *l, struct err *e)
{
    l->at = l->next;
    l->number++;
    int rc = lines_next(l->from, &l->next, &l->text, &l->found, e);
    if (rc != 0 || l->found == LINE_NONE) {
        return rc;
    }
    if (l->found == LINE_TORN) {
        return l->journal
                   ? 0
                   : err_at(e, ERR_INPUT, lines_name(l->from), l->number, 0,
                            "the last line is cut off; the whole ones are in trials.jsonl beside "
                            "it, from which assay eval --resume makes it anew");
    }
    arena_clear(l->scratch);
    return run_trial_read(l->scratch, lines_name(l->from), l->number, l->text, &l->trial, e);
}
