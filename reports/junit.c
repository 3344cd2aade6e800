#include "kernel/base/text.h"
#include "reports/report_int.h"

#include <inttypes.h>

/* Text of XML 1.0: controls, which it cannot hold or viewers would obey, and bytes that are not
 * UTF-8 become U+FFFD. */
static void add_xml(struct buf *out, struct str s, bool attribute)
{
    for (size_t at = 0; at < s.n;) {
        uint32_t code = utf8_next(s, &at);
        bool held = code == '\t' || code == '\n' || code == '\r' ||
                    (!text_is_control(code) && code != 0xfffe && code != 0xffff);
        switch (code) {
        case '&': buf_addz(out, "&amp;"); break;
        case '<': buf_addz(out, "&lt;"); break;
        case '>': buf_addz(out, "&gt;"); break;
        case '"': buf_addz(out, "&quot;"); break;
        case '\r': buf_addz(out, "&#13;"); break;
        case '\n': buf_addz(out, attribute ? "&#10;" : "\n"); break;
        case '\t': buf_addz(out, attribute ? "&#9;" : "\t"); break;
        default: utf8_add(out, held ? code : 0xfffd); break;
        }
    }
}

static void add_attribute(struct buf *out, const char *name, struct str value)
{
    buf_fmt(out, " %s=\"", name);
    add_xml(out, value, true);
    buf_char(out, '"');
}

static void add_time(struct buf *out, int64_t ms)
{
    buf_fmt(out, " time=\"%" PRId64 ".%03" PRId64 "\"", ms / 1000, ms % 1000);
}

/* The first line of what is wrong: what lists of tests show. */
static struct str first_line(struct str s)
{
    return str_slice(s, 0, str_find(s, STR("\n")));
}

static void add_place(struct buf *out, const struct eval_report *r, const struct eval_trial *t)
{
    struct buf text = {0};
    if (t->file != NULL) {
        buf_fmt(&text, "\n%s:%" PRIu32, t->file, t->line);
    }
    if (eval_ran(t)) {
        buf_fmt(&text, "\nassay trace show %s/%.*s", r->out, STR_FMT(t->trace));
    }
    add_xml(out, buf_str(&text), false);
    buf_free(&text);
}

static void add_failure(struct buf *out, const struct eval_report *r, const struct eval_trial *t)
{
    struct buf text = {0};
    struct str type = STR("");
    for (size_t i = 0; i < t->verdict.n_checks; i++) {
        const struct eval_check *c = &t->verdict.checks[i];
        if (!c->passed) {
            type = type.n == 0 ? c->name : type;
            buf_fmt(&text, "%s%.*s: ", text.n > 0 ? "\n" : "", STR_FMT(c->name));
            buf_add(&text, c->message);
        }
    }
    buf_addz(out, "      <failure");
    add_attribute(out, "message", first_line(buf_str(&text)));
    add_attribute(out, "type", type);
    buf_char(out, '>');
    add_xml(out, buf_str(&text), false);
    add_place(out, r, t);
    buf_addz(out, "</failure>\n");
    buf_free(&text);
}

static void add_error(struct buf *out, const struct eval_report *r, const struct eval_trial *t)
{
    buf_addz(out, "      <error");
    add_attribute(out, "message", first_line(t->problem));
    add_attribute(out, "type", str_of(run_status_name(t->result.status)));
    buf_char(out, '>');
    add_xml(out, t->problem, false);
    add_place(out, r, t);
    buf_addz(out, "</error>\n");
}

static void add_name(struct buf *out, const struct eval_row *t, bool several, bool models)
{
    struct buf name = {0}, class = {0};
    const char *set = t->shared->set;
    buf_add(&name, t->task);
    if (several) {
        buf_fmt(&name, " #%" PRId32, t->trial);
    }
    buf_addz(&class, set == NULL || *set == '\0' ? "assay" : set);
    if (models && t->shared->model.n > 0) {
        buf_fmt(&class, ".%.*s", STR_FMT(t->shared->model));
    }
    add_attribute(out, "classname", buf_str(&class));
    add_attribute(out, "name", buf_str(&name));
    buf_free(&name);
    buf_free(&class);
}

/* What was wrong, read back. */
static void add_wrong(struct sink *out, const struct eval_report *r, const struct eval_row *row,
                      struct arena *scratch)
{
    struct eval_trial t;
    if (out->code == 0) {
        out->code = eval_details(r, row, scratch, &t, &out->error);
    }
    if (out->code != 0) {
        return;
    }
    if (t.verdict.outcome == EVAL_FAIL) {
        add_failure(&out->text, r, &t);
    } else {
        add_error(&out->text, r, &t);
    }
}

/* The class is the set, and the model where there are several: viewers show it as a tree. */
static void add_case(struct sink *sink, const struct eval_report *r, const struct eval_row *t,
                     bool several, bool models, struct arena *scratch)
{
    struct buf *out = &sink->text;
    buf_addz(out, "    <testcase");
    add_name(out, t, several, models);
    add_time(out, t->ended_ms);
    if (t->outcome == EVAL_PASS) {
        buf_addz(out, "/>\n");
        return;
    }
    buf_addz(out, ">\n");
    add_wrong(sink, r, t, scratch);
    buf_addz(out, "    </testcase>\n");
}

static int64_t time_of(const struct eval_report *r)
{
    int64_t ms = 0;
    for (size_t i = 0; i < r->n; i++) {
        ms += r->rows[i].ended_ms;
    }
    return ms;
}

/* A run that was cut off shall not look as if it had passed. */
static void add_unfinished(struct buf *out, const struct eval_report *r)
{
    if (r->interrupted) {
        buf_fmt(out,
                "    <testcase classname=\"assay\" name=\"the run is finished\" time=\"0.000\">\n"
                "      <error message=\"the run is not finished: %zu trial%s\" "
                "type=\"not_finished\"/>\n    </testcase>\n",
                r->n, r->n == 1 ? " is there" : "s are there");
    }
}

static void add_counts(struct buf *out, size_t tests, size_t failures, size_t errors)
{
    buf_fmt(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", tests, failures, errors);
}

static void add_suite(struct sink *sink, const struct eval_report *r)
{
    struct buf *out = &sink->text;
    struct arena *scratch = arena_new();
    bool several = several_trials(r), models = eval_several_models(r);
    buf_addz(out, "  <testsuite");
    add_attribute(out, "name", str_of(r->out));
    size_t more = r->interrupted ? 1 : 0;
    add_counts(out, r->n + more, r->summary.failed, r->summary.errors + more);
    buf_addz(out, " skipped=\"0\"");
    add_time(out, time_of(r));
    if (r->n > 0 && r->rows[0].shared->file != NULL) {
        add_attribute(out, "file", str_of(r->rows[0].shared->file));
    }
    buf_addz(out, ">\n");
    for (size_t i = 0; sink_ease(sink) && i < r->n; i++) {
        arena_clear(scratch);
        add_case(sink, r, &r->rows[i], several, models, scratch);
    }
    add_unfinished(out, r);
    buf_addz(out, "  </testsuite>\n");
    arena_free(scratch);
}

void report_junit(struct sink *sink, const struct eval_report *const *runs, size_t n)
{
    struct buf *out = &sink->text;
    size_t tests = 0, failures = 0, errors = 0;
    int64_t ms = 0;
    for (size_t i = 0; i < n; i++) {
        size_t more = runs[i]->interrupted ? 1 : 0;
        tests += runs[i]->n + more;
        failures += runs[i]->summary.failed;
        errors += runs[i]->summary.errors + more;
        ms += time_of(runs[i]);
    }
    buf_addz(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\"");
    add_counts(out, tests, failures, errors);
    add_time(out, ms);
    buf_addz(out, ">\n");
    for (size_t i = 0; i < n; i++) {
        add_suite(sink, runs[i]);
    }
    buf_addz(out, "</testsuites>\n");
}
