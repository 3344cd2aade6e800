/* JUnit as Jenkins' schema has it (xunit-plugin, junit-10.xsd): which elements stand in which, with
 * which attributes; ci/reports asks the schema itself. */
#include "ci/testing/testing.h"
#include "evals/rows_int.h"
#include "reports/report_int.h"

#include <string.h>

/* Every kind of character that XML cannot hold, or holds in another form. */
#define ODD                                                                                        \
    "a\001b\x1b\x7f\xc2\x9b\xe2\x80\xae<&>\"' ]]> \xff \xef\xbf\xbe \xf0\x9f\x98\x80 "             \
    "\xe9\x94\x99\r\n\tnext"

static struct eval_check checks[] = {
    {{"status", sizeof "status" - 1}, true, {NULL, 0}},
    {{"answer", sizeof "answer" - 1}, false, {ODD, sizeof ODD - 1}},
    {{"steps", sizeof "steps" - 1}, false, {"at most 3", sizeof "at most 3" - 1}},
};

static struct eval_trial trials[] = {
    {.set = "desk", .task = {"good", sizeof "good" - 1}, .trial = 1, .result = {.ended_ms = 7}},
    {.set = "desk",
     .file = "s/desk.yaml",
     .line = 12,
     .task = {"\"b<a>d\"", sizeof "\"b<a>d\"" - 1},
     .trial = 1,
     .verdict = {.outcome = EVAL_FAIL, .checks = checks, .n_checks = 3},
     .result = {.ended_ms = 1234567},
     .trace = {"traces/bad.jsonl", sizeof "traces/bad.jsonl" - 1}},
    {.task = {"lost", sizeof "lost" - 1},
     .trial = 1,
     .verdict = {.outcome = EVAL_ERROR},
     .result = {.status = RUN_CASSETTE_MISS},
     .problem = {"no such file\nassay eval", sizeof "no such file\nassay eval" - 1}},
};

/* A run of n of the trials, whose lines are in `file`. */
static struct eval_report *run_of(const char *out, size_t n, struct buf *file)
{
    struct eval_report *r = report_new(out);
    for (size_t i = 0; i < n; i++) {
        size_t at = file->n;
        eval_trial_json(file, &trials[i]);
        struct str line = str_slice(buf_str(file), at, file->n - 1);
        CU_ASSERT_EQUAL(report_add_line(r, &trials[i], line, at, NULL), 0);
        r->summary.failed += trials[i].verdict.outcome == EVAL_FAIL;
        r->summary.errors += trials[i].verdict.outcome == EVAL_ERROR;
    }
    report_read_from(r, lines_over(out, buf_str(file)));
    return r;
}

#define ODD_TEXT                                                                                   \
    "a\xef\xbf\xbd"                                                                                \
    "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd&lt;&amp;&gt;&quot;' ]]&gt; \xef\xbf\xbd "   \
    "\xef\xbf\xbd \xf0\x9f\x98\x80 "                                                               \
    "\xe9\x94\x99&#13;"

static const char wanted[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<testsuites name=\"assay\" tests=\"3\" failures=\"1\" errors=\"1\" time=\"1234.574\">\n"
    "  <testsuite name=\"runs/a&amp;b\" tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\" "
    "time=\"1234.574\">\n"
    "    <testcase classname=\"desk\" name=\"good\" time=\"0.007\"/>\n"
    "    <testcase classname=\"desk\" name=\"&quot;b&lt;a&gt;d&quot;\" time=\"1234.567\">\n"
    "      <failure message=\"answer: " ODD_TEXT "\" type=\"answer\">answer: " ODD_TEXT "\n"
    "\tnext\n"
    "steps: at most 3\n"
    "s/desk.yaml:12\n"
    "assay trace show runs/a&amp;b/traces/bad.jsonl</failure>\n"
    "    </testcase>\n"
    "    <testcase classname=\"assay\" name=\"lost\" time=\"0.000\">\n"
    "      <error message=\"no such file\" type=\"cassette_miss\">no such file\n"
    "assay eval</error>\n"
    "    </testcase>\n"
    "  </testsuite>\n"
    "  <testsuite name=\"runs/none\" tests=\"0\" failures=\"0\" errors=\"0\" skipped=\"0\" "
    "time=\"0.000\">\n"
    "  </testsuite>\n"
    "</testsuites>\n";

static void all_is_as_the_schema_has_it(void)
{
    struct buf file = {0}, none = {0};
    struct eval_report *runs[] = {run_of("runs/a&b", 3, &file), run_of("runs/none", 0, &none)};
    struct sink out = {.write = NULL};
    report_junit(&out, (const struct eval_report *const *)runs, 2);
    CU_ASSERT_EQUAL(out.code, 0);
    CU_ASSERT_EQUAL_FATAL(out.text.n, sizeof wanted - 1);
    CU_ASSERT(memcmp(out.text.p, wanted, out.text.n) == 0);
    buf_free(&out.text);
    for (size_t i = 0; i < 2; i++) {
        eval_report_free(runs[i]);
    }
    buf_free(&file);
    buf_free(&none);
}

TESTS(junit, {"junit_is_as_the_schema_of_jenkins_has_it", all_is_as_the_schema_has_it})
