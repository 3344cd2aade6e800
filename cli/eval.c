#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/gates.h"
#include "cli/live.h"
#include "cli/mend.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/replay.h"
#include "evals/runs.h"
#include "kernel/base/val.h"
#include "kernel/drive/endpoint.h"
#include "reports/report.h"

static const char help_text[] =
    "assay eval: run golden sets and score them\n"
    "\n"
    "usage: assay eval SET... [options]\n"
    "\n"
    "where the answers come from (default: a live endpoint)\n"
    "  --replay DIR        recordings DIR/TASK.yaml (trial N: DIR/TASK.N.yaml), of several models\n"
    "                      DIR/MODEL/TASK.yaml; no network, no clock\n"
    "  --fake              each task's own script; with --script FILE that one in every task\n"
    "  --record DIR        a live endpoint, recorded into DIR\n"
    "                      The recording of a trial that ends in an error is set aside as\n"
    "                      TASK.failed.yaml. --mode once goes on where this was "
    "interrupted\n";

static const char help_model[] =
    "  --model NAME        may be repeated: each task is run with each. Else those of the set's\n"
    "                      `models`, or MODEL. NAME@PROVIDER: one that the set has with several\n"
    "  --base-url URL  --provider P  --stream  --temperature X  --max-tokens N  --seed N\n"
    "                      as for assay run; {task} in the URL stands for the task's id\n"
    "  --judge NAME        the model that judges answers by a rubric, instead of the set's "
    "`judge`.\n"
    "                      Asked after the run and recorded with it; its cost is told apart\n";

static const char help_agent[] =
    "\n"
    "a program as the subject\n"
    "  --agent 'CMD'       'python3 agent.py', say: started once a trial in the place of assay's "
    "own loop, with "
    "OPENAI_BASE_URL,\n"
    "                      ANTHROPIC_BASE_URL and their kin set to us; judged by what it asks its\n"
    "                      models and by what it prints. The prompt comes on its standard input, "
    "as\n"
    "                      ASSAY_PROMPT, and for {prompt} in CMD. No shell reads CMD: quotes and\n"
    "                      backslashes are as there, for more say sh -c '...'. --base-url is "
    "where\n"
    "                      its requests go to, --model is handed on to it as MODEL\n";

static const char help_end[] =
    "\n"
    "the evaluation\n"
    "  --filter TAG,...    only tasks with one of these tags; !TAG: none with that one. Several\n"
    "                      --filter must all hold\n"
    "  --task ID,...       only these tasks\n"
    "  --trials N          trials a task (default: as the set says)\n"
    "  --jobs N            sessions in flight (default 16); results are the same for every N. "
    "Fewer\n"
    "                      where the limit on open files (ulimit -n) says so, which --verbose "
    "tells\n"
    "  --shard I/N         only the I-th of N parts of the set; assay merge joins them\n"
    "  --max-cost X        start no trial once X dollars are spent (exit 1)\n"
    "  --baseline RUN      compare with an earlier run, as assay compare does\n" GATE_HELP
    "  --allow-errors N    so many trials may end in an error (default 0)\n"
    "  --prices FILE       what models cost, instead of the table that comes with the program\n"
    "  --out DIR           the run directory (default runs/NAME, numbered when it exists)\n"
    "  --resume            go on with that one, or the newest runs/NAME: the same command again.\n"
    "                      What passed or failed is kept, errors are tried again\n"
    "  --verbose           tell of waits for the limits of an endpoint\n"
    "  --json              a line a trial as in results.jsonl, then {\"summary\": ..., \"run\": "
    "DIR}\n"
    "\n"
    "Of a run of more than 200 trials the table lists those that did not pass, at most 200, and "
    "why\n"
    "50 of them did not; --json and assay report have all.\n"
    "\n"
    "exit status: 0 all passed, 1 a task failed, 2 bad input, 3 a recording is missing or stale,\n"
    "4 endpoint or disk, 130 interrupted\n"
    "\n"
    "example\n"
    "  assay eval goldens/quickstart.yaml --replay cassettes/quickstart --out runs/today\n";

/* What the command line asked for, with what it points to. */
struct request {
    struct eval_options options;
    struct live_flags live_flags;
    struct live live;
    struct words words;
    struct arena *arena;
    struct prices *prices;
    struct rules *rules;
    struct live lives[3];     /* by enum wire_format, of those that a model has */
    const char *key_variable; /* in whose place --key-file stands; NULL = not known yet */
    const char *base_url;
    const char *max_cost, *shard, *baseline;
    struct option_list models, filters;
    struct gate_flags gate_flags;
    struct gates gates;
    struct run_data *base; /* NULL = no baseline */
    bool json;
};

/* What the program under test decides itself. */
static int check_agent(const struct eval_options *o, struct err *e)
{
    const char *flag = o->provider != NULL      ? "provider"
                       : o->stream              ? "stream"
                       : o->temperature != NULL ? "temperature"
                       : o->max_tokens > 0      ? "max-tokens"
                                                : NULL;
    if (o->agent == NULL || flag == NULL) {
        return 0;
    }
    return err_set(e, ERR_USAGE, "--%s does not go with --agent: the program asks as it likes",
                   flag);
}

static int check_models(const struct option_list *models, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < models->n; i++) {
        rc = models->at[i][0] == '\0'
                 ? err_set(e, ERR_USAGE, "--model wants a value, got an empty one")
                 : text_check("--model", models->at[i], e);
    }
    return rc;
}

/* "2/7" */
static int parse_shard(const char *text, int64_t *shard, int64_t *shards, struct err *e)
{
    return eval_shard_parse(str_of(text), shard, shards)
               ? 0
               : err_set(e, ERR_USAGE, "--shard wants I/N, as in 1/4 to 4/4, got \"%s\"", text);
}

/* What part of the set is run, up to which cost, and what it is held to: bad input is told before
 * anything is run. */
static int parse_run(struct request *q, struct err *e)
{
    struct eval_options *o = &q->options;
    int rc = q->shard == NULL ? 0 : parse_shard(q->shard, &o->shard, &o->shards, e);
    if (rc == 0 && q->max_cost != NULL) {
        rc = decimal_parse("max-cost", q->max_cost, &o->max_cost_nano, e);
        if (rc == 0 && o->max_cost_nano <= 0) {
            rc = err_set(e, ERR_USAGE, "--max-cost wants an amount above 0, got \"%s\"",
                         q->max_cost);
        }
    }
    rc = rc != 0 ? rc : gates_parse(&q->gate_flags, q->baseline != NULL, &q->gates, e);
    return rc == 0 && q->baseline != NULL ? run_load(q->baseline, &q->base, e) : rc;
}

/* Flags that what they ask for is worked out of. */
struct flags {
    const char *replay, *record, *prices;
    bool fake;
    int64_t seed;
    struct replay_flags how;
};

static int read_flags(int argc, char **argv, struct request *q, struct flags *f, struct err *e)
{
    struct eval_options *o = &q->options;
    const struct option own[] = {{"replay", OPTION_NAME, &f->replay, 0, 0},
                                 {"record", OPTION_NAME, &f->record, 0, 0},
                                 {"fake", OPTION_FLAG, &f->fake, 0, 0},
                                 {"agent", OPTION_TEXT, &o->agent, 0, 0},
                                 {"script", OPTION_TEXT, &o->script, 0, 0},
                                 {"mode", OPTION_TEXT, &f->how.mode, 0, 0},
                                 {"provider", OPTION_TEXT, &o->provider, 0, 0},
                                 {"stream", OPTION_FLAG, &o->stream, 0, 0},
                                 {"json", OPTION_FLAG, &q->json, 0, 0},
                                 {"verbose", OPTION_FLAG, &q->live_flags.verbose, 0, 0},
                                 {"model", OPTION_LIST, &q->models, 0, 0},
                                 {"judge", OPTION_NAME, &o->judge, 0, 0},
                                 {"base-url", OPTION_NAME, &q->base_url, 0, 0},
                                 {"temperature", OPTION_TEXT, &o->temperature, 0, 0},
                                 {"max-tokens", OPTION_INT, &o->max_tokens, 1, 1 << 30},
                                 {"filter", OPTION_LIST, &q->filters, 0, 0},
                                 {"task", OPTION_TEXT, &o->task, 0, 0},
                                 {"out", OPTION_NAME, &o->out, 0, 0},
                                 {"prices", OPTION_NAME, &f->prices, 0, 0},
                                 {"trials", OPTION_INT, &o->trials, 1, EVAL_TRIALS_MAX},
                                 {"jobs", OPTION_INT, &o->jobs, 1, EVAL_JOBS_MAX},
                                 {"allow-errors", OPTION_INT, &o->allow_errors, 0, 1 << 30},
                                 {"shard", OPTION_NAME, &q->shard, 0, 0},
                                 {"max-cost", OPTION_NAME, &q->max_cost, 0, 0},
                                 {"resume", OPTION_FLAG, &o->resume, 0, 0},
                                 {"baseline", OPTION_NAME, &q->baseline, 0, 0},
                                 {"seed", OPTION_INT, &f->seed, 1, INT64_C(1) << 53}};
    size_t n = sizeof own / sizeof own[0];
    struct option
        options[sizeof own / sizeof own[0] + LIVE_OPTIONS + REPLAY_OPTIONS + GATE_OPTIONS];
    memcpy(options, own, sizeof own);
    live_options(&q->live_flags, options + n);
    n += LIVE_OPTIONS;
    n += replay_options(&f->how, options + n);
    n += gate_options(&q->gate_flags, options + n);
    return options_parse(options, n, argc, argv, &q->words, e);
}

static int choose_source(const struct flags *f, struct eval_options *o, struct err *e)
{
    if ((f->replay != NULL) + (f->record != NULL) + f->fake > 1) {
        return err_set(e, ERR_USAGE, "give one of --replay, --record and --fake");
    }
    if (o->script != NULL && !f->fake) {
        return err_set(e, ERR_USAGE,
                       "--script FILE plays the model, which --fake asks for: give "
                       "both");
    }
    o->source = f->fake             ? EVAL_FAKE
                : f->replay != NULL ? EVAL_REPLAY
                : f->record != NULL ? EVAL_RECORD
                                    : EVAL_LIVE;
    o->cassettes = f->replay != NULL ? f->replay : f->record;
    o->seed = (uint64_t)f->seed;
    return 0;
}

static int parse(int argc, char **argv, struct request *q, struct err *e)
{
    struct flags f = {.replay = NULL};
    struct eval_options *o = &q->options;
    int rc = read_flags(argc, argv, q, &f, e);
    if (rc == 0 && q->words.n == 0) {
        return err_set(e, ERR_USAGE, "eval wants a golden set; assay eval --help shows an example");
    }
    rc = rc != 0 ? rc : choose_source(&f, o, e);
    rc = rc != 0 ? rc : replay_parse(&f.how, o->source, &o->how, &q->rules, e);
    rc = rc != 0 ? rc : temperature_check(o->temperature, e);
    rc = rc != 0 ? rc : provider_check(o->provider, e);
    rc = rc != 0 ? rc : check_models(&q->models, e);
    rc = rc != 0 ? rc : text_check("--judge", o->judge, e);
    rc = rc != 0 ? rc : text_check("--agent", o->agent, e);
    rc = rc != 0 ? rc : check_agent(o, e);
    rc = rc != 0 ? rc : prices_open(f.prices, &q->prices, e);
    o->prices = q->prices;
    return rc != 0 ? rc : parse_run(q, e);
}

/* A key is shown to one provider alone, unless one endpoint stands for all. */
static int check_key_file(struct request *q, enum wire_format f, struct err *e)
{
    const char *variable = endpoint_key_variable(f);
    bool other = q->key_variable != NULL && strcmp(q->key_variable, variable) != 0;
    q->key_variable = variable;
    if (!other || q->live_flags.key_file == NULL || q->base_url != NULL) {
        return 0;
    }
    return err_set(e, ERR_USAGE,
                   "--key-file holds the key of one provider, and models or judges of several are "
                   "asked: set OPENAI_API_KEY and ANTHROPIC_API_KEY instead");
}

/* Where a provider's models are asked, and with which key. */
static int find_endpoint(void *ctx, enum wire_format f, struct eval_endpoint *out, struct err *e)
{
    struct request *q = ctx;
    struct live *l = &q->lives[f];
    int rc = eval_is_live(q->options.source) ? check_key_file(q, f, e) : 0;
    rc = rc != 0 ? rc
                 : live_open(&q->live_flags, f, q->base_url, eval_is_live(q->options.source),
                             q->arena, l, e);
    *out = (struct eval_endpoint){.base_url =
                                      l->base_url.n == 0 ? NULL : arena_cstr(q->arena, l->base_url),
                                  .api_key = arena_cstr(q->arena, l->api_key),
                                  .key_from = l->settings.key_from};
    return rc;
}

/* What comes from the environment, where the flags leave it open. */
static int complete(struct request *q, struct err *e)
{
    struct eval_options *o = &q->options;
    int rc = live_open(&q->live_flags, provider_format(o->provider), q->base_url, false, q->arena,
                       &q->live, e);
    if (rc == 0 && eval_is_live(o->source) && o->agent != NULL) {
        rc = upstreams_of("--base-url", q->base_url, o->upstream, e);
    }
    if (rc != 0) {
        return rc;
    }
    o->sets = q->words.at;
    o->n_sets = q->words.n;
    o->models = q->models.at;
    o->n_models = q->models.n;
    o->filters = q->filters.at;
    o->n_filters = q->filters.n;
    o->live = &q->live.settings;
    o->endpoint = find_endpoint;
    o->endpoint_ctx = q;
    o->model = eval_is_live(o->source) && q->models.n == 0 ? getenv("MODEL") : NULL;
    o->version = ASSAY_VERSION;
    return text_check("MODEL", o->model, e);
}

/* What the gates say replaces what failed tasks stand for. */
static int gated_status(const struct eval_report *r, int held)
{
    int status = r->exit_status == EXIT_FAILED && r->stopped.n == 0 ? EXIT_OK : r->exit_status;
    return exit_worse(status, held);
}

/* What a report is told together with. */
struct told {
    const struct request *q;
    const struct eval_report *report;
    const struct comparison_result *comparison; /* NULL = none */
    struct buf gates;
};

static void put_more(void *ctx, struct sink *out)
{
    const struct told *t = ctx;
    if (t->comparison != NULL) {
        buf_addz(&out->text, ",\"comparison\":");
        eval_compare_json(out, t->comparison, t->q->baseline, t->report->out);
    }
    if (t->q->gates.n > 0) {
        buf_addz(&out->text, ",\"gates\":[");
        buf_add(&out->text, buf_str(&t->gates));
        buf_char(&out->text, ']');
    }
}

static void put_table(const struct told *t, struct sink *out)
{
    report_table(out, t->report, want_color(STDOUT_FILENO));
    if (t->comparison != NULL) {
        buf_char(&out->text, '\n');
        report_compare(out, t->comparison, t->q->baseline, t->report->out,
                       want_color(STDOUT_FILENO));
    }
    buf_add(&out->text, buf_str(&t->gates));
}

/* Prints the report, its comparison and its gates; the exit status that they stand for. */
static int print_report(const struct request *q, const struct eval_report *r,
                        const struct comparison_result *c)
{
    struct told t = {q, r, c, {0}};
    struct sink out = sink_to_stdout();
    int held = gates_check(&q->gates, r, c, q->json ? NULL : &t.gates, q->json ? &t.gates : NULL);
    if (q->json) {
        report_json_lines(&out, r, put_more, &t);
    } else {
        put_table(&t, &out);
    }
    int status = q->gates.n > 0 ? gated_status(r, held) : r->exit_status;
    status = sink_end_stdout(&out) ? status : exit_worse(status, EXIT_ENVIRONMENT);
    buf_free(&t.gates);
    return status;
}

/* The run is on disk whatever comes of its comparison. */
static int conclude(const struct request *q, const struct eval_report *r)
{
    struct comparison_result *c = NULL;
    struct err e;
    if (q->base != NULL && eval_compare(q->base->report, r, q->gates.margin, &c, &e) != 0) {
        return exit_worse(tell_error(&e), r->exit_status);
    }
    int status = print_report(q, r, c);
    eval_compare_free(c);
    return status;
}

/* How to go on where not all was done. */
static void tell_resume(const struct eval_report *r, int argc, char **argv)
{
    struct buf text = {0};
    if (r->interrupted || r->stopped.n > 0) {
        resume_command(&text, argc, argv, r->out);
        tell("%s: %.*s%s", r->interrupted ? "interrupted; to go on" : "to go on",
             STR_FMT(buf_str(&text)), r->stopped.n > 0 ? " (with a higher --max-cost)" : "");
    }
    buf_free(&text);
}

static int evaluate(int argc, char **argv, struct request *q)
{
    struct err e;
    struct eval_options *o = &q->options;
    if (parse(argc, argv, q, &e) != 0 || complete(q, &e) != 0) {
        return tell_error(&e);
    }
    struct progress *bar = progress_new();
    o->progress = bar == NULL ? NULL : progress_show;
    o->ctx = bar;
    struct eval_report *report = NULL;
    struct buf mend = {0}, one = {0};
    mend_command(&mend, "eval", argc, argv);
    buf_char(&mend, '\0');
    mend_trial(&one, argc, argv);
    buf_char(&one, '\0');
    o->mend = mend.p;
    o->mend_trial = one.p;
    int rc = eval_run(o, &report, &e);
    buf_free(&mend);
    buf_free(&one);
    progress_free(bar);
    if (rc != 0) {
        return tell_error(&e);
    }
    int status = conclude(q, report);
    tell_resume(report, argc, argv);
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
    run_data_free(q.base);
    arena_free(q.arena);
    return status;
}

const struct verb verb_eval = {
    "eval",
    "run golden sets and score them",
    {help_text, help_recordings, help_model, help_endpoint, help_agent, help_end},
    run};
