/* Running golden sets. One run's wiring (source, clock, tools, session) is rig.h, on which each
 * trial is built; how it is scored, judge.h. */
#ifndef EVALS_EVAL_H
#define EVALS_EVAL_H

#include "cassettes/player.h"
#include "cassettes/recorder.h"
#include "evals/judge.h"
#include "kernel/drive/endpoint.h"
#include "kernel/drive/limiter.h"
#include "kernel/drive/prices.h"

enum eval_source { EVAL_FAKE, EVAL_REPLAY, EVAL_LIVE, EVAL_RECORD };
bool eval_is_live(enum eval_source s); /* a model is asked over the network */

/* How a process calls live endpoints; nothing of it counts in a replay, but that HTTP tools share
 * the network. */
struct live_settings {
    struct str key_from; /* as in endpoint_options, likewise the headers */
    const struct http_header *headers;
    size_t n_headers;
    struct transport_limits deadlines;
    struct transport_net net;
    struct limiter_options limiter;
};
#define LIVE_SETTINGS_DEFAULT                                                                      \
    ((struct live_settings){.key_from = {"OPENAI_API_KEY", 14},                                    \
                            .deadlines = {10000, 300000, 60000, 600000, false}})

/* Makes a new loop call so; live: whether it calls a model (s NULL: nothing is done). */
void live_prepare(struct loop *loop, const struct live_settings *s, bool live);

/* How cassettes are recorded and replayed. */
struct eval_cassettes {
    enum cassette_mode mode;   /* EVAL_RECORD */
    enum cassette_match match; /* where something is replayed, like the rest */
    bool strict;               /* what only is a warning otherwise is an error */
    const struct rules *rules; /* also for what is recorded; NULL = none */
    struct rechunk rechunk;
    uint32_t speed; /* thousandths of the recorded one, in real time; 0 = at once. EVAL_REPLAY */
    int64_t max_age_ms; /* 0 = any */
};

enum { EVAL_CURRENCIES_MAX = 8 };

/* What was spent in one currency. */
struct eval_cost {
    struct str currency;
    int64_t nano;
};

/* How far a run is. */
struct eval_progress {
    size_t done, total; /* trials */
    size_t kept;        /* of those done: by an earlier run, which this one goes on with */
    size_t errors;      /* likewise, that ended in one */
    const struct eval_cost *costs; /* so far, of what is priced, by currency */
    size_t n_costs;
};

/* Where the models of a wire format are asked. */
struct eval_endpoint {
    const char *base_url; /* {task} in it stands for the task's id; NULL = the provider's own */
    const char *api_key;  /* NULL = none */
    struct str key_from;  /* as in endpoint_options */
};

struct eval_options {
    const char *const *sets;
    size_t n_sets;
    enum eval_source source;
    const char *cassettes; /* folder: read by EVAL_REPLAY, written by EVAL_RECORD. The recording of
                              a trial that did not end well is named TASK.failed.yaml there */
    const char *script;    /* EVAL_FAKE: played in every task in place of its own; NULL = those */
    /* EVAL_REPLAY: the command that records anew, "assay eval …", shown where recordings are
     * missing; NULL = none. */
    const char *mend;
    const char *mend_trial; /* the same without --task and --model, which a trial's miss adds */
    struct eval_cassettes how;
    /* Each task is run with each of them; NAME@PROVIDER where the set has a name twice. n_models 0
     * = each set's own; or, with scripts, and with recordings that lie in no folder of a model,
     * what these name. */
    const char *const *models;
    size_t n_models;
    const char *model;           /* where there would be none; NULL = none */
    const char *provider;        /* of all models, as wire_provider names it; NULL = the set's, the
                                    cassette's, or openai */
    const struct prices *prices; /* NULL = as shipped */
    /* Asked once for each wire format that a model has, before anything is run; what it gives must
     * outlive the run. NULL = the providers' own, without keys. */
    int (*endpoint)(void *ctx, enum wire_format f, struct eval_endpoint *out, struct err *e);
    void *endpoint_ctx;
    const struct live_settings *live; /* NULL = the defaults */
    const char *judge;                /* the model that judges by rubrics; NULL = as the set says */
    bool stream;
    const char *temperature; /* number text; NULL = not sent */
    int64_t max_tokens;      /* 0 = not sent */
    /* A program under test in the place of our own loop: its command (agent.h); NULL = none. A
     * model is then only handed on, provider, stream, temperature and max_tokens do not count, and
     * the base URLs are by enum wire_format, {task} in them as above; n 0 = the provider's own. */
    const char *agent;
    struct str upstream[3];
    /* Tags with commas: a task has one of them, and none with a ! in front. Each must hold. */
    const char *const *filters;
    size_t n_filters;
    const char *task; /* an id, or several with commas; NULL = all tasks */
    int64_t trials;   /* at most EVAL_TRIALS_MAX; 0 = as the set says */
    /* Sessions in flight, 1 to EVAL_JOBS_MAX; fewer where the system's limit on open files says so.
     */
    int64_t jobs;
    int64_t allow_errors;
    int64_t shard, shards; /* 0 = the whole set; else task i (from 0) is run where i mod shards is
                              shard - 1 */
    int64_t max_cost_nano; /* USD; no trial starts once so much is spent, or a trial's cost is not
                              known; 0 = no budget */
    uint64_t seed;         /* for live runs; 0 = random */
    const char *out;       /* run directory; NULL = runs/<set name> */
    /* Goes on with the run directory, or the newest runs/<set name>: trials that passed or failed
     * are kept. Where there is none it begins. */
    bool resume;
    const char *version; /* of the program, for the manifest; NULL = not known */
    /* Called after each finished trial, in order of finishing, for a progress line. May be NULL. */
    void (*progress)(void *ctx, const struct eval_progress *p);
    void *ctx;
};

/* What a judge was asked about a trial's answer. */
struct eval_judged {
    int64_t asked;    /* rubrics; 0 = nobody was asked */
    struct str model; /* the judge */
    struct golden_verdict *verdicts;
    size_t n_verdicts; /* fewer than asked where the judge gave none */
    struct usage usage;
    int64_t cost_nano; /* -1 = unknown */
    struct str currency;
};

struct eval_trial {
    const char *set;
    const char *file; /* where the task is written; NULL = unknown */
    uint32_t line;
    struct str task;
    const struct str *tags; /* of the task */
    size_t n_tags;
    int64_t trial;
    struct str model;
    struct eval_verdict verdict;
    struct run_result result;  /* of the run alone, as all its figures */
    struct eval_judged judged; /* beside it */
    struct eval_call *calls;
    size_t n_calls;
    int64_t expected_calls; /* as the task lists them; -1 = it says nothing of calls */
    struct str trace;       /* relative to the run directory; n 0 = nothing was run */
    struct str problem; /* miss, drift or error text for people, without a last newline; n 0 = none
                         */
    int code; /* of an error: ERR_MISS, ERR_INPUT (a bad cassette), ERR_NET, ERR_IO …; else 0 */
    size_t drifts;
    struct str cassette; /* XXH3-64 in hex of its recording; n 0 = none was replayed or made */
    bool recorded;       /* EVAL_RECORD: something was, and it ended well */
};

/* Whether there was a run at all: not where its cassette was missing, for example. What such a
 * trial took and gave is unknown. */
bool eval_ran(const struct eval_trial *t);

/* ---- what a report holds of each trial ---- */

/* What many trials have in common; each combination stands once in a report. */
struct eval_shared {
    const char *set;
    const char *file; /* where the task is written; NULL = unknown */
    struct str model;
    struct str currency;
    const struct str *tags; /* of the task */
    size_t n_tags;
    struct str trace_begin; /* of the trace's path, before the task's id; and behind it */
    struct str trace_end;
};

enum eval_trace {
    EVAL_TRACE_NONE,     /* nothing was run */
    EVAL_TRACE_TASK,     /* BEGIN TASK END .jsonl */
    EVAL_TRACE_NUMBERED, /* BEGIN TASK END .TRIAL.jsonl */
    EVAL_TRACE_OTHER     /* as its line says */
};

/* What was asked of judges about a trial, at least one rubric. */
struct eval_row_judge {
    int64_t asked;
    int64_t cost_nano; /* -1 = unknown */
    struct str currency;
};

/* A trial without its checks, calls, answer and problem: those are read back from the run directory
 * when they are wanted (eval_details), so that a large run takes little memory. */
struct eval_row {
    const struct eval_shared *shared;
    const struct eval_scores *scores;   /* likewise of many trials */
    const struct eval_row_judge *judge; /* NULL = none was asked */
    struct str task;
    struct usage usage;
    int64_t cost_nano; /* -1 = unknown */
    int64_t ended_ms;
    uint64_t at;    /* the byte at which its line of results begins */
    uint32_t bytes; /* of the line, without its newline */
    uint32_t hash;  /* of the line, so that another one is not taken for it */
    uint32_t line;  /* of the task in shared->file */
    int32_t trial;
    int32_t steps;
    int32_t calls;
    int32_t expected_calls; /* -1 = the task says nothing of calls */
    int32_t drifts;
    int16_t code;    /* of an error */
    uint8_t outcome; /* enum eval_outcome; EVAL_NONE: did not come to its end */
    uint8_t status;  /* enum run_status */
    uint8_t trace;   /* enum eval_trace */
    bool told;       /* a check failed, or there is a problem */
};

bool eval_row_ran(const struct eval_row *r);    /* as eval_ran */
bool eval_row_scored(const struct eval_row *r); /* passed or failed */

struct eval_summary {
    size_t trials, passed, failed, errors, misses, drifts;
    struct ratio success; /* passed of those that passed or failed */
    /* Means over the trials that passed or failed and have the score; den 0 = none has. */
    struct ratio tool_selection, precision, recall, f1, arguments, trajectory;
    /* Of all trials that ran; -1 where one that was scored does not know it, or none ran. */
    struct usage usage;
    /* Likewise; one for each currency, in the order of their names: amounts of two currencies have
     * no sum. n_costs 0 = unpriced. */
    struct eval_cost costs[EVAL_CURRENCIES_MAX];
    size_t n_costs;
    int64_t judged; /* rubrics that judges were asked about, in all trials */
    struct eval_cost judge_costs[EVAL_CURRENCIES_MAX]; /* likewise, beside the costs above */
    size_t n_judge_costs;
    int64_t p50_latency_ms, p95_latency_ms;
    int64_t steps, calls;
};

struct eval_pool;
struct lines;

/* What a trial says of its misses, in parts. */
struct eval_miss {
    struct str text; /* without the command */
    struct str why;  /* what is the same where other tasks miss for the same reason */
    /* The command that records all trials like it anew, in two parts: --task goes between. Both n 0
     * = it is not known. */
    struct str begin, end;
};

/* Whether the trial is an error for the want of a recording; its parts, in arena, into *out. */
bool eval_missed(const struct eval_trial *t, struct arena *arena, struct eval_miss *out);

/* A finished evaluation. */
struct eval_report {
    struct arena *arena;
    struct eval_pool *pool; /* what its rows share; NULL = another report's */
    struct lines *details;  /* the file that the lines of the rows stand in */
    const char *out;
    struct eval_row *rows; /* in the order of the set, then model, then trial */
    size_t n;
    struct eval_summary summary;
    size_t recorded; /* EVAL_RECORD: cassettes that were made or added to */
    bool whole;      /* all tasks of its sets were asked for; false also where that is not known */
    bool interrupted;
    struct str stopped; /* why no more trials were started; n 0 = all were */
    int exit_status;    /* errors count beyond what is allowed */
};

/* Reads a trial back, its texts into arena. ERR_INPUT: its line has changed since the run was read;
 * ERR_IO. */
int eval_details(const struct eval_report *r, const struct eval_row *row, struct arena *arena,
                 struct eval_trial *out, struct err *e) MUST_CHECK;
/* Its line of results alone, without its newline; valid until the next line of this report is read.
 * Errors as eval_details. */
int eval_line(const struct eval_report *r, const struct eval_row *row, struct str *out,
              struct err *e) MUST_CHECK;
/* The path of a trial's trace, relative to the run directory, into *out (p NULL = nothing was run),
 * in arena. Errors as eval_details. */
int eval_trace_path(const struct eval_report *r, const struct eval_row *row, struct arena *arena,
                    struct str *out, struct err *e) MUST_CHECK;

enum { EVAL_JOBS_MAX = 100000, EVAL_TRIALS_MAX = 1000000 };

/* Runs the sets. Every finished trial is in trials.jsonl at once; results.jsonl is renamed into
 * place at the end. ERR_*: nothing was run (bad sets or scripts, ERR_EXISTS: a run directory that
 * is not empty or a cassette that would be overwritten, …); or ERR_IO: something could not be
 * written midway, what was finished by then stays in trials.jsonl. The report is owned by the
 * caller. */
int eval_run(const struct eval_options *o, struct eval_report **out, struct err *e) MUST_CHECK;
void eval_report_free(struct eval_report *r); /* NULL allowed */

/* Appends the line of results.jsonl of one trial, with its newline. */
void eval_trial_json(struct buf *out, const struct eval_trial *t);
/* Appends the summary as an object. */
void eval_summary_json(struct buf *out, const struct eval_summary *s);
#endif
