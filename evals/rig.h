/* One run, wired together: where the model's answers come from, the tools, the clock, and a session
 * around them. `assay run` and every trial of an evaluation are made of it. */
#ifndef EVALS_RIG_H
#define EVALS_RIG_H

#include "cassettes/player.h"
#include "evals/eval.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/prices.h"

struct rig;
struct fake_script; /* fakellm/fake.h */
struct resumed;     /* resume.h */

/* How the command begins that records a trial of an eval anew, and what stands before its task. */
#define RIG_MEND_EVAL "assay eval --mode all"
#define RIG_MEND_TASK " --task "

struct rig_options {
    enum eval_source source;
    const char *path; /* the script, or the cassette to replay or to write; NULL for EVAL_LIVE */
    const struct fake_script *script; /* EVAL_FAKE: what `path` holds; NULL = it is loaded */
    const char *base;                 /* EVAL_RECORD: the cassette that may be there; NULL = path */
    struct eval_cassettes how;
    const struct toolset *tools; /* must outlive the rig, like all views here */
    /* A run to go on with, which this one takes the kernel of; NULL = a new run. Run id, seed,
     * start and system message are then the log's, so are the model (n 0), the tools (NULL, which
     * must be built in) and the price (no model and no prices); the prompt may be NULL. EVAL_RECORD
     * then records the rest of the run. */
    struct resumed *resume;
    struct str prompt; /* p NULL, of a new run = rig_say comes first */
    struct str system; /* p NULL = none */
    struct budget budget;
    /* Every other setting of the loop, NULL = the defaults, or the log's. Of a run that goes on it
     * is a copy of its configuration with changes; of a new one identity, provider, model, system,
     * tools, budget and price in it do not count. */
    const struct kernel_config *settings;
    struct str model;    /* n 0 = the script's or the cassette's */
    struct str provider; /* as wire_provider names it; n 0 = the cassette's, the log's, "openai" */
    const struct prices *prices; /* what the model may cost; NULL = as shipped */
    struct str base_url;         /* n 0 = the provider's own */
    struct str api_key;          /* n 0 = none */
    struct str key_from;         /* as in endpoint_options; n 0 = as `live` says */
    const struct live_settings
        *live; /* NULL = the defaults. The loop was prepared with it (live_prepare) */
    /* In a replay what its cassette's first request has counts where these leave it open. */
    bool stream;
    struct str temperature; /* number text; n 0 = not sent */
    int64_t max_tokens;     /* -1 = not sent */
    uint64_t seed;          /* 0 = the script's, the cassette's, or a random one */
    int64_t trial;          /* of those that play one script, from 1; 0 = the first */
    struct str mend;     /* the command that records anew, shown under a miss; n 0 = none. What the
                          * recording says of model and endpoint is put behind its verb and mode, of
                          * RIG_MEND_EVAL before its RIG_MEND_TASK */
    struct str identity; /* names the run where nothing else does: its hash is the run id under
                            EVAL_FAKE and for recordings of other programs */
    /* Where the event log goes, "-" = standard output; NULL = nowhere. An existing file is replaced
     * when the first event comes: a run that cannot begin leaves it alone. */
    const char *trace;
    bool trace_again; /* the same trace can be had again for nothing: it is not synced to disk */
    bool snapshots;   /* kept beside the trace (kernel/drive/snapshots.h) */
    void *ctx;
    int (*log)(void *ctx, struct str lines);   /* as in session_options; may be NULL */
    void (*delta)(void *ctx, struct str text); /* may be NULL */
    void (*ask)(
        void *ctx, struct str call_id, struct str name,
        struct str arguments); /* as in session_options; answer with rig_approve. May be NULL */
    void (*done)(void *ctx);   /* once a message, when its run is over */
};

/* Loads what is named and starts the run in the loop's next turn. ERR_NOT_FOUND, ERR_INPUT, ERR_IO,
 * ERR_LIMIT: the script or cassette. ERR_EXISTS: the cassette to write is there already. ERR_MISS:
 * it is too old, which is an error. ERR_USAGE: no model is named. ERR_IO also: the program of a
 * command tool is not there, where the run would start it. */
int rig_new(struct loop *loop, const struct rig_options *o, struct rig **out,
            struct err *e) MUST_CHECK;

/* The same without a session of ours: what answers it is asked by somebody else, and nothing is
 * done at its end. Of a recording any part may be asked for. Errors as rig_new. */
int rig_answers(struct loop *loop, const struct rig_options *o, struct rig **out,
                struct err *e) MUST_CHECK;

/* Moves a replay on to when its next request was recorded, where nothing else is due: so long
 * somebody took before it. */
void rig_keep_time(struct rig *r);

/* The user's next message, after the end of the run before; as session_say. */
void rig_say(struct rig *r, struct str text);

/* Decides about a call that `ask` has told. In virtual time the wait for it took none. */
void rig_approve(struct rig *r, struct str call_id, enum decision decision);

/* Ends the run with status cancelled; done is called. Nothing after the end. What a recording then
 * still waited for is left out of it, so that its replay ends there as a miss. */
void rig_cancel(struct rig *r, struct str reason);

/* How the run ended; false while it is not over. */
bool rig_status(const struct rig *r, enum run_status *out);

/* What a finished run came to. Views are valid until rig_free. */
struct rig_outcome {
    const struct err *log_error; /* what cancelled the run: its log could not be kept; or NULL */
    struct run_result result;
    struct str model;              /* that was asked */
    const struct eval_call *calls; /* made since the rig was, without a terminal tool's */
    size_t n_calls;
    size_t recorded;             /* interactions that were written */
    struct player_report replay; /* of a replay: misses, drift, unused interactions */
    struct str cassette; /* XXH3-64 in hex of the recording that was replayed; n 0 = none was */
    const char *script;  /* EVAL_FAKE: its file, which no log names; else NULL */
    struct str leftover; /* EVAL_FAKE: steps that were never asked for; n 0 = none */
    struct str warning;  /* of loading the cassette; n 0 = none */
    struct str note;     /* what else may help where a call of the model broke; n 0 = nothing */
};

/* False while the run is not over: *out then holds no result. */
bool rig_outcome(struct rig *r, struct rig_outcome *out) MUST_CHECK;

/* Whether there are steps left over that fail the run. They do not where it was cancelled or ended
 * in an error or at a request that the script did not expect: that says enough. */
bool rig_leftover_fails(const struct rig_outcome *o);

/* Frees everything; closes the trace and a recording: ERR_IO when a part of them could not be
 * written, told once of the first. r NULL allowed. */
int rig_free(struct rig *r, struct err *e) MUST_CHECK;
#endif
