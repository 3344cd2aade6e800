#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "kernel/base/json.h"
#include "kernel/drive/endpoint.h"
#include "reports/report.h"

static const char help_text[] =
    "assay eval: run golden sets and score them\n"
    "\n"
    "usage: assay eval SET... [options]\n"
    "\n"
    "where the answers come from (default: a live endpoint)\n"
    "  --replay DIR        recordings DIR/TASK.yaml (trial N: DIR/TASK.N.yaml); no network, no "
    "clock\n"
    "  --fake              each task's own script\n"
    "  --record DIR        a live endpoint, recorded into DIR\n"
    "                      The recording of a trial that ends in an error is set aside as\n"
    "                      TASK.failed.yaml. --mode once goes on where this was "
    "interrupted\n";

static const char help_model[] =
    "  --model NAME  --base-url URL  --provider P  --stream  --temperature X  --max-tokens N  "
    "--seed N\n"
    "                      as for assay run; {task} in the URL stands for the task's id\n";

static const char help_end[] =
    "\n"
    "the evaluation\n"
    "  --filter TAG        only tasks with this tag\n"
    "  --task ID,...       only these tasks\n"
    "  --trials N          trials a task (default: as the set says)\n"
    "  --jobs N            sessions in flight (default 16); results are the same for every N. "
    "Fewer\n"
    "                      where the limit on open files (ulimit -n) says so, which --verbose "
    "tells\n"
    "  --allow-errors N    so many trials may end in an error (default 0)\n"
    "  --prices FILE       what models cost, instead of the table that comes with the program\n"
    "  --out DIR           the run directory (default runs/NAME, numbered when it exists)\n"
    "  --verbose           tell of waits for the limits of an endpoint\n"
    "  --json              a line a trial as in results.jsonl, then {\"summary\": ..., \"run\": "
    "DIR}\n"
    "\n"
    "exit status: 0 all passed, 1 a task failed, 2 bad input, 3 a recording is missing or stale,\n"
    "4 endpoint or disk, 130 interrupted\n"
    "\n"
    "example\n"
    "  assay eval goldens/quickstart.yaml --replay cassettes/quickstart --out runs/today\n";

static void progress(void *ctx, size_t done, size_t total, const char *task, const char *outcome)
{
    bool *drawn = ctx;
    *drawn = true;
    fprintf(stderr, "\r\033[K%zu/%zu %s %s", done, total, outcome, task);
}

/* What the command line asked for, with what it points to. */
struct request {
    struct eval_options options;
    struct live_flags live_flags;
    struct live live;
    struct words words;
    struct arena *arena;
    struct prices *prices;
    struct rules *rules;
    bool json;
};

enum { EVAL_OPTIONS = 20 };

static int parse(int argc, char **argv, struct request *q, struct err *e)
{
    const char *replay = NULL, *record = NULL, *table = NULL;
    struct replay_flags how = {.mode = NULL};
    struct eval_options *o = &q->options;
    bool fake = false;
    int64_t seed = 0;
    struct option options[EVAL_OPTIONS + LIVE_OPTIONS + REPLAY_OPTIONS] = {
        {"replay", OPTION_NAME, &replay, 0, 0},
        {"record", OPTION_NAME, &record, 0, 0},
        {"fake", OPTION_FLAG, &fake, 0, 0},
        {"mode", OPTION_TEXT, &how.mode, 0, 0},
        {"provider", OPTION_TEXT, &o->provider, 0, 0},
        {"stream", OPTION_FLAG, &o->stream, 0, 0},
        {"json", OPTION_FLAG, &q->json, 0, 0},
        {"verbose", OPTION_FLAG, &q->live_flags.verbose, 0, 0},
        {"model", OPTION_NAME, &o->model, 0, 0},
        {"base-url", OPTION_NAME, &o->base_url, 0, 0},
        {"temperature", OPTION_TEXT, &o->temperature, 0, 0},
        {"max-tokens", OPTION_INT, &o->max_tokens, 1, 1 << 30},
        {"filter", OPTION_NAME, &o->filter, 0, 0},
        {"task", OPTION_TEXT, &o->task, 0, 0},
        {"out", OPTION_NAME, &o->out, 0, 0},
        {"prices", OPTION_NAME, &table, 0, 0},
        {"trials", OPTION_INT, &o->trials, 1, 1000000},
        {"jobs", OPTION_INT, &o->jobs, 1, 100000},
        {"allow-errors", OPTION_INT, &o->allow_errors, 0, 1 << 30},
        {"seed", OPTION_INT, &seed, 1, INT64_C(1) << 53}};
    live_options(&q->live_flags, options + EVAL_OPTIONS);
    size_t n = EVAL_OPTIONS + LIVE_OPTIONS;
    n += replay_options(&how, options + n);
    int rc = options_parse(options, n, argc, argv, &q->words, e);
    if (rc != 0) {
        return rc;
    }
    if (q->words.n == 0) {
        return err_set(e, ERR_USAGE, "eval wants a golden set; assay eval --help shows an example");
    }
    if ((replay != NULL) + (record != NULL) + fake > 1) {
        return err_set(e, ERR_USAGE, "give one of --replay, --record and --fake");
    }
    o->source = fake             ? EVAL_FAKE
                : replay != NULL ? EVAL_REPLAY
                : record != NULL ? EVAL_RECORD
                                 : EVAL_LIVE;
    o->cassettes = replay != NULL ? replay : record;
    o->seed = (uint64_t)seed;
    rc = replay_parse(&how, o->source, &o->how, &q->rules, e);
    rc = rc != 0 ? rc : temperature_check(o->temperature, e);
    rc = rc != 0 ? rc : provider_check(o->provider, e);
    rc = rc != 0 ? rc : text_check("model", o->model, e);
    rc = rc != 0 ? rc : prices_open(table, &q->prices, e);
    o->prices = q->prices;
    return rc;
}

/* What comes from the environment, where the flags leave it open. */
static int complete(struct request *q, struct err *e)
{
    struct eval_options *o = &q->options;
    bool live = o->source == EVAL_LIVE || o->source == EVAL_RECORD;
    int rc = live_open(&q->live_flags, provider_format(o->provider), o->base_url, live, q->arena,
                       &q->live, e);
    if (rc != 0) {
        return rc;
    }
    o->sets = q->words.at;
    o->n_sets = q->words.n;
    o->live = &q->live.settings;
    o->api_key = arena_cstr(q->arena, q->live.api_key);
    o->base_url = q->live.base_url.n == 0 ? NULL : arena_cstr(q->arena, q->live.base_url);
    o->model = live && o->model == NULL ? getenv("MODEL") : o->model;
    return 0;
}

static bool print_report(const struct eval_report *r, bool json)
{
    struct buf out = {0};
    if (json) {
        for (size_t i = 0; i < r->n; i++) {
            eval_trial_json(&out, &r->trials[i]);
        }
        buf_addz(&out, "{\"summary\":");
        eval_summary_json(&out, &r->summary);
        json_put_text(&out, "run", str_of(r->out));
        buf_addz(&out, "}\n");
    } else {
        report_table(&out, r, want_color(STDOUT_FILENO));
    }
    bool written = put_out(buf_str(&out));
    buf_free(&out);
    return written;
}

static int evaluate(int argc, char **argv, struct request *q)
{
    struct err e;
    bool drawn = false;
    struct eval_options *o = &q->options;
    if (parse(argc, argv, q, &e) != 0 || complete(q, &e) != 0) {
        return tell_error(&e);
    }
    if (isatty(STDERR_FILENO) == 1) {
        o->progress = progress;
        o->ctx = &drawn;
    }
    struct eval_report *report = NULL;
    struct buf mend = {0};
    mend_command(&mend, "eval", argc, argv);
    buf_char(&mend, '\0');
    o->mend = mend.p;
    int rc = eval_run(o, &report, &e);
    buf_free(&mend);
    if (drawn) {
        fputs("\r\033[K", stderr);
    }
    if (rc != 0) {
        return tell_error(&e);
    }
    int status = report->exit_status;
    if (!print_report(report, q->json)) {
        status = exit_worse(status, EXIT_ENVIRONMENT);
    }
    if (o->source == EVAL_RECORD) {
        tell("recorded %zu cassette%s into %s", report->recorded, report->recorded == 1 ? "" : "s",
             o->cassettes);
    }
    eval_report_free(report);
    return status;
}

static int run(int argc, char **argv)
{
    struct request q = {
        .options = {.jobs = 16}, .live_flags = LIVE_FLAGS_NONE, .arena = arena_new()};
    int status = evaluate(argc, argv, &q);
    prices_free(q.prices);
    cassette_rules_free(q.rules);
    arena_free(q.arena);
    return status;
}

const struct verb verb_eval = {"eval",
                               "run golden sets and score them",
                               {help_text, help_recordings, help_model, help_endpoint, help_end},
                               run};
