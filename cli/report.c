#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "evals/runs.h"
#include "kernel/drive/files.h"
#include "reports/report.h"

static const char help_text[] =
    "assay report: what people and CI read of finished runs\n"
    "\n"
    "usage: assay report RUN... [--format F,...] [-o DIR] [--plots]\n"
    "\n"
    "  --format F,...      text (default), junit, markdown, json, csv; one goes to the standard\n"
    "                      output, several want -o\n"
    "  -o, --out DIR       write report.txt, junit.xml, report.md, report.json, trials.csv there\n"
    "  --baseline RUN      one run: text, markdown and json also tell what changed since that one\n"
    "  --plots             success against cost for each model, and the distribution of times, as\n"
    "                      SVG and PNG in DIR, made by gnuplot; their scripts and data stay there\n"
    "\n"
    "Several runs become several suites, rows and models of one report.\n"
    "\n"
    "exit status: 0 whatever the runs came to, 2 bad input, 4 disk\n"
    "\n"
    "example\n"
    "  assay report runs/today --format junit,markdown -o reports\n";

enum { RUNS_MAX = 256 };

enum format { FORMAT_TEXT, FORMAT_JUNIT, FORMAT_MARKDOWN, FORMAT_JSON, FORMAT_CSV };
static const struct {
    const char *name;
    const char *file;
} formats[] = {[FORMAT_TEXT] = {"text", "report.txt"},
               [FORMAT_JUNIT] = {"junit", "junit.xml"},
               [FORMAT_MARKDOWN] = {"markdown", "report.md"},
               [FORMAT_JSON] = {"json", "report.json"},
               [FORMAT_CSV] = {"csv", "trials.csv"}};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

struct reporting {
    struct run_data *runs[RUNS_MAX];
    const struct eval_report *reports[RUNS_MAX];
    size_t n;
    bool wanted[N_FORMATS];
    size_t n_wanted;
    const char *out;
    const char *baseline;
    struct run_data *base;
    struct comparison_result *comparison;
    struct report_baseline compared;
    bool plots;
};

static int read_format(struct reporting *r, struct str name, struct err *e)
{
    for (size_t i = 0; i < N_FORMATS; i++) {
        if (str_is(name, formats[i].name)) {
            r->n_wanted += r->wanted[i] ? 0 : 1;
            r->wanted[i] = true;
            return 0;
        }
    }
    return err_set(e, ERR_USAGE, "--format knows text, junit, markdown, json and csv, got \"%.*s\"",
                   STR_FMT(name));
}

static int read_formats(struct reporting *r, const char *list, struct err *e)
{
    struct str rest = str_of(list == NULL ? "text" : list);
    int rc = 0;
    while (rc == 0 && rest.p != NULL) {
        rc = read_format(r, str_trim(str_cut(&rest, ',')), e);
    }
    if (rc == 0 && r->out == NULL && (r->n_wanted > 1 || r->plots)) {
        rc = err_set(e, ERR_USAGE, "%s wants a folder: name it with -o DIR",
                     r->plots ? "--plots" : "more than one format");
    }
    return rc;
}

static void fill(struct sink *out, const struct reporting *r, enum format f, bool color)
{
    const struct report_baseline *b = r->comparison == NULL ? NULL : &r->compared;
    switch (f) {
    case FORMAT_TEXT:
        for (size_t i = 0; i < r->n; i++) {
            buf_addz(&out->text, i > 0 ? "\n" : "");
            report_table(out, r->reports[i], color);
        }
        if (b != NULL) {
            buf_char(&out->text, '\n');
            report_compare(out, b->result, b->name, r->reports[0]->out, color);
        }
        break;
    case FORMAT_JUNIT: report_junit(out, r->reports, r->n); break;
    case FORMAT_MARKDOWN: report_markdown(out, r->reports, r->n, b); break;
    case FORMAT_JSON: report_json(out, r->reports, r->n, b); break;
    case FORMAT_CSV: report_csv(out, r->reports, r->n); break;
    }
}

static int write_piece(void *ctx, struct str piece, struct err *e)
{
    return file_writer_add(ctx, piece, e);
}

static int write_file(const struct reporting *r, enum format f, const char *path, struct err *e)
{
    struct file_writer *file = NULL;
    int rc = file_writer_open(path, &file, e);
    if (rc != 0) {
        return rc;
    }
    struct sink out = {.write = write_piece, .ctx = file};
    fill(&out, r, f, false);
    return file_writer_end(file, sink_end(&out, e), e);
}

static int write_files(const struct reporting *r, struct err *e)
{
    struct arena *arena = arena_new();
    int rc = dir_make(r->out, e);
    for (size_t i = 0; rc == 0 && i < N_FORMATS; i++) {
        if (r->wanted[i]) {
            rc = write_file(r, (enum format)i, path_join(arena, r->out, formats[i].file), e);
        }
    }
    if (rc == 0 && r->plots) {
        bool drawn = false;
        struct buf why = {0};
        rc = report_plots(r->out, r->reports, r->n, &drawn, &why, e);
        if (rc == 0 && why.n > 0) {
            tell("%.*s", STR_FMT(buf_str(&why)));
        }
        buf_free(&why);
    }
    arena_free(arena);
    return rc;
}

static int print_one(const struct reporting *r)
{
    struct sink out = sink_to_stdout();
    for (size_t i = 0; i < N_FORMATS; i++) {
        if (r->wanted[i]) {
            fill(&out, r, (enum format)i, want_color(STDOUT_FILENO));
        }
    }
    return sink_end_stdout(&out) ? EXIT_OK : EXIT_ENVIRONMENT;
}

static int load(struct reporting *r, const struct words *words, struct err *e)
{
    if (words->n == 0 || words->n > RUNS_MAX) {
        return err_set(e, ERR_USAGE,
                       "report wants 1 to %d folders of runs; assay report --help shows an example",
                       RUNS_MAX);
    }
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < words->n; i++) {
        rc = run_load(words->at[i], &r->runs[i], e);
        if (rc == 0) {
            r->reports[r->n++] = r->runs[i]->report;
        }
    }
    return rc;
}

/* With the margin that compare has where nothing else is said. */
static int compare(struct reporting *r, struct err *e)
{
    if (r->baseline == NULL) {
        return 0;
    }
    if (r->n != 1) {
        return err_set(e, ERR_USAGE, "--baseline wants one run to compare with it, got %zu", r->n);
    }
    int rc = run_load(r->baseline, &r->base, e);
    rc = rc != 0 ? rc
                 : eval_compare(r->base->report, r->reports[0], MARGIN_USUAL, &r->comparison, e);
    r->compared = (struct report_baseline){r->baseline, r->comparison};
    return rc;
}

static int report(int argc, char **argv, struct reporting *r)
{
    const char *list = NULL;
    const struct option options[] = {{"format", OPTION_NAME, &list, 0, 0},
                                     {"out", OPTION_NAME, &r->out, 0, 0},
                                     {"baseline", OPTION_NAME, &r->baseline, 0, 0},
                                     {"plots", OPTION_FLAG, &r->plots, 0, 0}};
    struct words words;
    struct err e;
    int rc = options_parse(options, sizeof options / sizeof options[0], argc, argv, &words, &e);
    rc = rc != 0 ? rc : read_formats(r, list, &e);
    rc = rc != 0 ? rc : load(r, &words, &e);
    rc = rc != 0 ? rc : compare(r, &e);
    if (rc == 0 && r->out != NULL) {
        rc = write_files(r, &e);
    } else if (rc == 0) {
        return print_one(r);
    }
    return rc == 0 ? EXIT_OK : tell_error(&e);
}

static int run(int argc, char **argv)
{
    struct reporting r = {.n = 0};
    int status = report(argc, argv, &r);
    eval_compare_free(r.comparison);
    run_data_free(r.base);
    for (size_t i = 0; i < r.n; i++) {
        run_data_free(r.runs[i]);
    }
    return status;
}

const struct verb verb_report = {
    "report", "JUnit, Markdown, CSV, JSON and plots of runs", {help_text}, run};
