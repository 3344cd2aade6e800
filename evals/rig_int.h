/* Shared by the files of the rig: rig_source.c is where its answers come from, rig.c the session
 * around them. */
#ifndef EVALS_RIG_INT_H
#define EVALS_RIG_INT_H

#include "cassettes/player.h"
#include "cassettes/recorder.h"
#include "evals/log_calls_int.h"
#include "evals/resume.h"
#include "evals/rig.h"
#include "fakellm/fake.h"
#include "kernel/drive/endpoint.h"
#include "kernel/drive/session.h"
#include "kernel/drive/snapshots.h"

/* The start of every run that has no time of its own: fake models, other programs' recordings. */
#define EPOCH_TEXT "2026-11-29T18:00:00.000Z"

struct rig {
    struct arena *arena;
    struct rig_options options;
    struct live_settings live;
    struct kernel_config config;
    int64_t started_at_ms;
    struct sched *sched;
    struct toolbox *local;
    struct toolbox *tools;       /* local, or a wrapper that somebody else owns */
    struct transport *transport; /* fake or live, owned; NULL in a replay */
    struct transport *model;     /* that, or a wrapper that somebody else owns */
    struct llm *llm;
    struct session *session;
    const struct fake_script *script;
    struct fake_script *own_script; /* NULL = the options have it */
    struct fake_session *fake;
    struct cassette *cassette; /* with a recorder: what it goes on with */
    struct rules *rules;       /* the cassette's and the options' */
    struct player *player;
    struct recorder *recorder;
    struct appender *trace; /* opened with the first line */
    struct snapshots *snapshots;
    struct err log_error;   /* code 0: all is well */
    bool bare;              /* it has no session (rig_answers) */
    bool holds;             /* virtual time stands still while somebody decides */
    struct tool_call asked; /* the call that is being decided about */
    uint64_t asked_at;
    struct str decided;    /* a recorded decision, on its way; n 0 = a miss */
    struct timer *verdict; /* when it comes; NULL = none on its way */
    struct buf warning;
    struct buf note;
    struct call_list calls; /* that the log tells of, since the rig was made; texts in arena */
    struct buf adopted;     /* the options that a recording spoke for, as words of a command */
};

/* ---- rig.c ---- */

/* How somebody is asked on behalf of the run: where its own model is, on its clock, with its
 * headers; key_from counts only live. Notes are the caller's to add. */
struct endpoint_options rig_endpoint(struct rig *r, enum wire_format format, struct str base_url,
                                     struct str api_key, struct str key_from);

/* What became of its source, into the parts of *out that tell of it. */
void rig_source_outcome(struct rig *r, struct rig_outcome *out);

/* ---- rig_source.c ---- */

/* Whether it calls a live endpoint; known once it is loaded. */
bool rig_is_live(const struct rig *r);

/* Loads the script or the cassette, and what these say of the run: identity, model, settings that
 * the options leave open. Errors as rig_new. */
int rig_load(struct rig *r, struct err *e) MUST_CHECK;

/* A clock for it, owned by the caller: whatever is replayed has one of its own, until something
 * live comes. */
struct sched *rig_clock(const struct rig *r, struct loop *loop);

/* Makes r->model and r->tools, on r->sched and r->local. Errors as recorder_new. */
int rig_connect(struct rig *r, struct loop *loop, struct err *e) MUST_CHECK;

/* Moves clock and source on to where the log of a run ends that goes on. ERR_INPUT: the cassette
 * begins behind it. */
int rig_catch_up(struct rig *r, struct err *e) MUST_CHECK;
#endif
