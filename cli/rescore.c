#include <unistd.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "evals/runs.h"
#include "reports/report.h"

static void print(struct sink *out, const struct eval_report *r, bool json)
{
    if (json) {
        report_json_lines(out, r, NULL, NULL);
    } else {
        report_table(out, r, want_color(STDOUT_FILENO));
    }
}

int score_run(int argc, char **argv)
{
    struct option_list sets = {.n = 0};
    bool json = false;
    int64_t allow_errors = 0;
    const struct option options[] = {{"set", OPTION_LIST, &sets, 0, 0},
                                     {"json", OPTION_FLAG, &json, 0, 0},
                                     {"allow-errors", OPTION_INT, &allow_errors, 0, 1 << 30}};
    struct words words;
    struct err e;
    struct eval_report *report = NULL;
    size_t changed = 0;
    int rc = options_parse(options, sizeof options / sizeof options[0], argc, argv, &words, &e);
    if (rc == 0 && words.n != 1) {
        rc = err_set(&e, ERR_USAGE,
                     "score wants the folder of one run, or bfcl: assay score RUN; assay "
                     "score --help shows an example");
    }
    rc = rc != 0 ? rc
                 : run_rescore(words.at[0], sets.at, sets.n, allow_errors, &report, &changed, &e);
    if (rc != 0) {
        return tell_error(&e);
    }
    struct sink out = sink_to_stdout();
    print(&out, report, json);
    int status = sink_end_stdout(&out) ? report->exit_status : EXIT_ENVIRONMENT;
    tell("%zu of %zu trials have another outcome than before", changed, report->n);
    eval_report_free(report);
    return status;
}
