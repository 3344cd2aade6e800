/* Running golden sets. One run's wiring (source, clock, tools, session) is rig.h, on which each
 * trial is built; how it is scored, judge.h;
 * what came of it, results.h. */
#ifndef EVALS_EVAL_H
#define EVALS_EVAL_H

#include "cassettes/player.h"
#include "cassettes/recorder.h"
#include "evals/results.h"
#include "kernel/drive/curl.h"
#include "kernel/drive/endpoint.h"
#include "kernel/drive/limiter.h"
#include "kernel/drive/prices.h"

enum eval_source { EVAL_FAKE, EVAL_REPLAY, EVAL_LIVE, EVAL_RECORD };
bool eval_is_live(enum eval_source s);       /* a model is asked over the network */
bool eval_has_cassettes(enum eval_source s); /* they are read or written */

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

/* How far a run is. */
struct eval_progress {
    size_t done, total; /* trials */
    size_t kept;        /* of those done: by an earlier run, which this one goes on with */
    size_t errors;      /* likewise, that ended in one */
    const struct eval_costs *costs; /* so far, of what is priced */
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

enum { EVAL_JOBS_MAX = 100000 };

/* Reads "I/N" with I from 1 to N, at most nine digits each and no zero in front, as in --shard and
 * in manifests; false for anything else. */
bool eval_shard_parse(struct str text, int64_t *shard, int64_t *shards) MUST_CHECK;

/* Runs the sets. Every finished trial is in trials.jsonl at once; results.jsonl is renamed into
 * place at the end. ERR_*: nothing was run (bad sets or scripts, ERR_EXISTS: a run directory that
 * is not empty or a cassette that would be overwritten, …); or ERR_IO: something could not be
 * written midway, what was finished by then stays in trials.jsonl. The report is owned by the
 * caller. */
int eval_run(const struct eval_options *o, struct eval_report **out, struct err *e) MUST_CHECK;
#endif
