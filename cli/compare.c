#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/gates.h"
#include "cli/options.h"
#include "evals/runs.h"
#include "kernel/base/json.h"
#include "reports/report.h"

static const char help_text[] =
    "assay compare: two runs, task by task\n"
    "\n"
    "usage: assay compare BASE HEAD [options]\n"
    "\n"
    "Tells what regressed, improved, still fails, is flaky, new or gone, with the first "
    "difference\n"
    "in each task's calls; and whether the change is more than chance (exact McNemar; intervals "
    "by\n"
    "a paired bootstrap over tasks; Holm's correction over tags).\n"
    "\n"
    "  --json              one object\n" GATE_HELP
    "  --unfinished X      pass or fail (default): what gates say of a HEAD that was cut off\n"
    "\n"
    "exit status: 1 where a task regressed or the head is worse by more than chance, with --gate\n"
    "where one does not hold; 2 bad input; else 0\n"
    "\n"
    "examples\n"
    "  assay compare runs/main runs/today\n"
    "  assay compare runs/main runs/today --gate 'worse_p>=0.05' --gate 'success_drop<=0.02'\n";

struct comparing {
    struct run_data *base, *head;
    struct comparison_result *result;
    struct gates gates;
    const char
        *unfinished; /* what a head that is not whole does to gates: pass, fail; NULL = fail */
    bool json;
};

static void add_unfinished(struct buf *out, const struct run_data *d)
{
    buf_fmt(out, "%s is not finished: %zu of %lld trials%s%s", d->report->out, d->report->n,
            (long long)d->planned, d->torn ? ", a last line that is cut off left out" : "",
            d->journal ? ", and no results.jsonl" : "");
}

static void tell_run(const struct run_data *d)
{
    struct buf text = {0};
    if (d->report->interrupted) {
        add_unfinished(&text, d);
        tell("%.*s", STR_FMT(buf_str(&text)));
    }
    buf_free(&text);
}

/* What the gates say, and of a head that was cut off that too: what is not there cannot fail. */
static int check_gates(const struct comparing *c, struct buf *out)
{
    const struct eval_report *head = c->head->report;
    bool passes = c->unfinished != NULL && strcmp(c->unfinished, "pass") == 0;
    struct buf text = {0};
    int held = gates_check(&c->gates, head, c->result, c->json ? NULL : out, c->json ? out : NULL);
    if (c->gates.n == 0 || !head->interrupted || passes) {
        return held;
    }
    add_unfinished(&text, c->head);
    if (c->json) {
        json_next(out);
        buf_char(out, '{');
        json_put_text(out, "gate", STR("finished"));
        json_put_text(out, "verdict", STR("fail"));
        json_put_bool(out, "passed", false);
        json_put_text(out, "message", buf_str(&text));
        buf_char(out, '}');
    } else {
        buf_fmt(out, "gate: %.*s; this fails (--unfinished pass would not)\n",
                STR_FMT(buf_str(&text)));
    }
    buf_free(&text);
    return exit_worse(held, EXIT_FAILED);
}

static bool same_sets(const struct run_data *a, const struct run_data *b)
{
    bool same = a->n_sets == b->n_sets;
    for (size_t i = 0; same && i < a->n_sets; i++) {
        same = str_eq(a->sets[i].hash, b->sets[i].hash);
    }
    return same;
}

static int print(const struct comparing *c)
{
    const char *base = c->base->report->out, *head = c->head->report->out;
    bool regressed = c->result->counts[TASK_REGRESSED] > 0;
    int status = regressed || c->result->verdict == COMPARED_WORSE ? EXIT_FAILED : EXIT_OK;
    struct buf gates = {0};
    struct sink out = sink_to_stdout();
    int held = check_gates(c, &gates);
    if (c->json) {
        eval_compare_json(&out, c->result, base, head);
        out.text.n--; /* goes on before its brace */
        buf_addz(&out.text, ",\"gates\":[");
        buf_add(&out.text, buf_str(&gates));
        buf_addz(&out.text, "]}\n");
    } else {
        report_compare(&out, c->result, base, head, want_color(STDOUT_FILENO));
        buf_add(&out.text, buf_str(&gates));
    }
    status = c->gates.n > 0 ? held : status;
    status = sink_end_stdout(&out) ? status : EXIT_ENVIRONMENT;
    buf_free(&gates);
    return status;
}

static int compare(int argc, char **argv, struct comparing *c)
{
    struct gate_flags flags = {.unsure = NULL};
    struct option options[2 + GATE_OPTIONS] = {{"json", OPTION_FLAG, &c->json, 0, 0},
                                               {"unfinished", OPTION_NAME, &c->unfinished, 0, 0}};
    size_t n = 2 + gate_options(&flags, options + 2);
    struct words words;
    struct err e;
    int rc = options_parse(options, n, argc, argv, &words, &e);
    if (rc == 0 && words.n != 2) {
        rc = err_set(&e, ERR_USAGE,
                     "compare wants two runs, BASE HEAD; assay compare --help shows "
                     "an example");
    }
    if (rc == 0 && c->unfinished != NULL && strcmp(c->unfinished, "pass") != 0 &&
        strcmp(c->unfinished, "fail") != 0) {
        rc = err_set(&e, ERR_USAGE, "--unfinished wants pass or fail, got \"%s\"", c->unfinished);
    }
    rc = rc != 0 ? rc : gates_parse(&flags, true, &c->gates, &e);
    rc = rc != 0 ? rc : run_load(words.at[0], &c->base, &e);
    rc = rc != 0 ? rc : run_load(words.at[1], &c->head, &e);
    rc = rc != 0 ? rc
                 : eval_compare(c->base->report, c->head->report, c->gates.margin, &c->result, &e);
    if (rc != 0) {
        return tell_error(&e);
    }
    tell_run(c->base);
    tell_run(c->head);
    if (!same_sets(c->base, c->head)) {
        tell("the golden set has changed between the runs: tasks are told apart by their names");
    }
    return print(c);
}

static int run(int argc, char **argv)
{
    struct comparing c = {.json = false};
    int status = compare(argc, argv, &c);
    eval_compare_free(c.result);
    run_data_free(c.base);
    run_data_free(c.head);
    return status;
}

const struct verb verb_compare = {"compare", "compare two runs, task by task", {help_text}, run};
