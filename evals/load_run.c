/* Reading run directories: what results.c and rundir.c write. */
#include "evals/rows_int.h"
#include "evals/run_int.h"
#include "evals/rundir_int.h"
#include "evals/runs.h"
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
    SHARD_DIGITS_MAX = 9,
    TRACE_BYTES_MAX = 4096 /* of a trace's path */
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

/* Of two members with one name readers take either: nobody knows what is meant. */
static void check_names(struct line *l, const struct val *object)
{
    const struct member *twice = NULL;
    uint64_t seen = 0;
    for (size_t i = 0; val_is(object, VAL_OBJECT) && twice == NULL && i < object->count; i++) {
        struct str key = object->members[i].key;
        unsigned char ends = key.n == 0 ? 0 : (unsigned char)(key.p[0] * 3 + key.p[key.n - 1]);
        uint64_t bit = UINT64_C(1) << ((key.n * 7 + ends) % 64);
        for (size_t k = 0; (seen & bit) != 0 && twice == NULL && k < i; k++) {
            twice = str_eq(object->members[k].key, key) ? &object->members[i] : NULL;
        }
        seen |= bit;
        if (i == MEMBERS_MAX && twice == NULL && l->code == 0) {
            l->code =
                err_at(l->e, ERR_LIMIT, l->file, l->number, object->members[i].column,
                       "more than %d members in one object of a line of results", (int)MEMBERS_MAX);
            return;
        }
    }
    if (twice != NULL && l->code == 0) {
        l->code = err_at(l->e, ERR_INPUT, l->file, l->number, twice->column,
                         "\"%.*s\" stands twice in one object: expected each once, as assay eval "
                         "writes it",
                         STR_FMT(utf8_prefix(twice->key, NAME_CHARS_SHOWN)));
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
    check_names(l, v);
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
    check_names(l, u);
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
    check_names(l, v);
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
    return inside && name.n <= TRACE_BYTES_MAX;
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
    check_names(&l, object);
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

/* ---- the manifest ---- */

static int not_a_run(const char *path, struct err *e)
{
    return err_at(
        e, ERR_INPUT, path, 0, 0,
        "no manifest of a run: expected version 1, sets with name and path, and trials, as "
        "assay eval writes them");
}

/* A number as --shard takes it. */
static bool shard_of(struct str text, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < (i == 0 ? '1' : '0') || text.p[i] > '9' || i == SHARD_DIGITS_MAX) {
            return false;
        }
        *out = *out * 10 + (text.p[i] - '0');
    }
    return text.n > 0;
}

static bool read_shard(struct run_data *d, const struct val *v)
{
    if (v == NULL) {
        return true;
    }
    struct str text = val_text(v);
    size_t slash = str_find(text, STR("/"));
    return slash != SIZE_MAX && shard_of(str_slice(text, 0, slash), &d->shard) &&
           shard_of(str_slice(text, slash + 1, text.n), &d->shards) && d->shard <= d->shards;
}

static int read_manifest(struct run_data *d, const char *path, struct err *e)
{
    struct arena *arena = d->report->arena;
    struct val *root = NULL;
    int64_t version = 0;
    int rc = file_read(arena, path, MANIFEST_BYTES_MAX, &d->manifest, e);
    rc = rc != 0 ? rc : json_parse(arena, path, d->manifest, &root, e);
    if (rc != 0) {
        return rc;
    }
    if (val_int(val_get(root, "version"), &version) && version != 1) {
        return err_at(e, ERR_INPUT, path, 0, 0,
                      "version %" PRId64 ": this assay knows version 1; use the one that wrote it",
                      version);
    }
    struct line whole = {arena, path, 0, root, 0, e};
    check_names(&whole, root);
    if (whole.code != 0) {
        return whole.code;
    }
    const struct val *sets = val_get(root, "sets");
    if (version != 1 || !val_is(sets, VAL_ARRAY) ||
        !val_int(val_get(root, "trials"), &d->planned) || d->planned < 0) {
        return not_a_run(path, e);
    }
    if (!read_shard(d, val_get(root, "shard"))) {
        return err_at(e, ERR_INPUT, path, 0, 0,
                      "its shard is no I/N with I from 1 to N, as assay eval --shard writes it");
    }
    d->n_sets = sets->count;
    d->sets = arena_array(arena, d->n_sets, sizeof *d->sets);
    for (size_t i = 0; i < d->n_sets; i++) {
        const struct val *s = &sets->items[i];
        d->sets[i] = (struct run_set){arena_str(arena, val_text(val_get(s, "name"))),
                                      arena_str(arena, val_text(val_get(s, "path"))),
                                      arena_str(arena, val_text(val_get(s, "xxh3")))};
        if (d->sets[i].name.n == 0 || d->sets[i].path.n == 0) {
            return not_a_run(path, e);
        }
    }
    d->fake = str_is(val_text(val_get(root, "source")), "fake");
    return 0;
}

/* ---- the lines ---- */

const char *run_set_path(const struct run_data *d, const char *name)
{
    for (size_t i = 0; i < d->n_sets; i++) {
        if (str_is(d->sets[i].name, name)) {
            return d->sets[i].path.p;
        }
    }
    return NULL;
}

/* What a line of the file at `number` and byte `at` says becomes a row. */
static int add_line(struct run_data *d, struct arena *scratch, uint32_t number, struct str line,
                    uint64_t at, struct err *e)
{
    struct eval_report *r = d->report;
    struct eval_trial t;
    arena_clear(scratch);
    int rc = r->n == EVAL_TRIALS_MAX
                 ? err_at(e, ERR_LIMIT, lines_name(r->details), number, 0,
                          "more than %d trials in one run", EVAL_TRIALS_MAX)
                 : run_trial_read(scratch, lines_name(r->details), number, line, &t, e);
    if (rc == 0) {
        t.file = run_set_path(d, t.set);
        report_fill_row(r, &t, line, at, report_add_row(r));
    }
    return rc;
}

static int read_lines(struct run_data *d, struct arena *scratch, struct err *e)
{
    struct lines *lines = d->report->details;
    for (uint32_t number = 1;; number++) {
        struct str line;
        enum line_found found;
        uint64_t at = d->bytes;
        int rc = lines_next(lines, &d->bytes, &line, &found, e);
        if (rc != 0 || found == LINE_NONE) {
            return rc;
        }
        d->torn = found == LINE_TORN;
        if (d->torn && !d->journal) {
            return err_at(e, ERR_INPUT, lines_name(lines), number, 0, RUN_CUT_OFF);
        }
        rc = d->torn ? 0 : add_line(d, scratch, number, line, at, e);
        if (rc != 0 || d->torn) {
            return rc;
        }
    }
}

static int read_results(struct run_data *d, const char *path, struct err *e)
{
    struct lines *lines = NULL;
    int rc = lines_open(path, &lines, e);
    if (rc != 0) {
        return rc;
    }
    report_read_from(d->report, lines);
    struct arena *scratch = arena_new();
    rc = read_lines(d, scratch, e);
    arena_free(scratch);
    rc = rc != 0 ? rc : report_check_twice(d->report, d->journal, e);
    if (rc == 0) {
        d->report->interrupted = d->journal || (int64_t)d->report->n < d->planned;
        eval_sum(d->report, 0);
    }
    return rc;
}

int run_open(const char *dir, struct run_data **out, struct err *e)
{
    struct run_data *d = mem_zero(sizeof *d);
    d->report = report_new(dir);
    const char *manifest = path_join(d->report->arena, dir, "manifest.json");
    int rc = 0;
    if (!path_is_dir(dir) || !path_exists(manifest)) {
        rc = err_at(e, ERR_NOT_FOUND, dir, 0, 0,
                    "%s: expected the folder of a run, as assay eval makes with --out",
                    path_is_dir(dir)   ? "there is no manifest.json in it"
                    : path_exists(dir) ? "is a file"
                                       : "no such folder");
    }
    rc = rc != 0 ? rc : read_manifest(d, manifest, e);
    if (rc != 0) {
        run_data_free(d);
        return rc;
    }
    *out = d;
    return 0;
}

int run_load(const char *dir, struct run_data **out, struct err *e)
{
    struct run_data *d = NULL;
    int rc = run_open(dir, &d, e);
    if (rc != 0) {
        return rc;
    }
    const char *results = path_join(d->report->arena, dir, "results.jsonl");
    d->journal = !path_exists(results);
    rc =
        read_results(d, d->journal ? path_join(d->report->arena, dir, "trials.jsonl") : results, e);
    if (rc != 0) {
        run_data_free(d);
        return rc;
    }
    *out = d;
    return 0;
}

void run_data_free(struct run_data *d)
{
    if (d != NULL) {
        eval_report_free(d->report);
        free(d);
    }
}
