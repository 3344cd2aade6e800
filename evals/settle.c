/* What a finished trial came to. */
#include "evals/trial_int.h"
#include "kernel/base/hash.h"
#include "kernel/drive/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASSETTE_BYTES_MAX = 1 << 30 };

void trial_make_error(struct eval_trial *out, int code, struct str problem)
{
    out->code = code;
    out->problem = problem;
    out->verdict = (struct eval_verdict){.outcome = EVAL_ERROR, .scores = {.trajectory = -1}};
}

static struct str text_of(const struct err *e, struct arena *arena)
{
    char text[sizeof e->file + sizeof e->message + 32];
    return arena_str(arena, str_of(err_text(e, text, sizeof text)));
}

static struct str missing_cassette(const struct trial *t, struct arena *arena)
{
    struct str mend = trial_mend(t);
    return arena_printf(arena,
                        "%s is not there, so trial %" PRId64 " of %.*s cannot be replayed%s%.*s",
                        t->cassette, t->item->trial, STR_FMT(t->entry.id),
                        mend.n == 0 ? "" : "; " MISS_RECORD, STR_FMT(mend));
}

/* A trial that could not be started. */
static void settle_refused(const struct trial *t, struct arena *arena, struct eval_trial *out)
{
    int code = t->error.code;
    bool replay = t->o->source == EVAL_REPLAY;
    struct str problem = text_of(&t->error, arena);
    if (replay && code == ERR_NOT_FOUND) {
        code = ERR_MISS;
        problem = missing_cassette(t, arena);
    }
    out->result.status = code == ERR_MISS ? RUN_CASSETTE_MISS : RUN_MODEL_ERROR;
    out->model = arena_str(arena, t->item->model->label);
    trial_make_error(out, code, problem);
}

static struct str copy(struct arena *arena, struct str s)
{
    return s.p == NULL ? s : arena_str(arena, s);
}

static void keep_calls(struct arena *arena, const struct rig_outcome *run, struct eval_trial *out)
{
    out->n_calls = run->n_calls;
    out->calls = arena_array(arena, run->n_calls, sizeof *out->calls);
    for (size_t i = 0; i < run->n_calls; i++) {
        out->calls[i] =
            (struct eval_call){arena_str(arena, run->calls[i].name),
                               arena_str(arena, run->calls[i].arguments), run->calls[i].step};
    }
}

/* Misses are errors in any case, drift and unused recordings when that was asked for. */
static void settle_replay(const struct trial *t, struct arena *arena, const struct player_report *p,
                          struct eval_trial *out)
{
    struct buf text = {0};
    bool error = player_report_text(p, t->o->how.strict, &text);
    out->drifts = p->drifts;
    if (p->misses > 0) {
        out->result.status = RUN_CASSETTE_MISS;
    }
    if (error) {
        trial_make_error(out, ERR_MISS, arena_str(arena, buf_str(&text)));
    } else if (text.n > 0) {
        out->problem = arena_str(arena, buf_str(&text));
    }
    buf_free(&text);
}

/* Where the recording of a trial that did not end well is. */
static void add_recording(const struct trial *t, bool recorded, struct arena *arena,
                          struct eval_trial *out)
{
    if (recorded && out->verdict.outcome == EVAL_ERROR) {
        out->problem = arena_printf(arena, "%.*s; what was recorded until then is in %s",
                                    STR_FMT(out->problem), t->recording);
    }
}

/* What the judge was asked, and what came of it. */
static void settle_judge(const struct trial *t, struct arena *arena, struct rubrics_outcome *out)
{
    *out = (struct rubrics_outcome){.end = RUBRICS_JUDGED};
    if (t->rubrics != NULL) {
        rubrics_outcome(t->rubrics, arena, out);
    } else if (t->judge_error.code != 0) {
        out->end = RUBRICS_FAILED;
        out->code = t->judge_error.code;
        out->problem = text_of(&t->judge_error, arena);
    }
    if (out->end == RUBRICS_ASKING) {
        out->end = RUBRICS_FAILED;
        out->code = ERR_STATE;
        out->problem = STR("the judge's session stopped without an end; please report this");
    }
}

static void settle_run(const struct trial *t, struct arena *arena, const struct rig_outcome *run,
                       struct eval_trial *out)
{
    struct rubrics_outcome judge;
    settle_judge(t, arena, &judge);
    out->result = run->result;
    out->result.answer = copy(arena, run->result.answer);
    out->result.reason = copy(arena, run->result.reason);
    out->result.currency = copy(arena, run->result.currency);
    out->model = arena_str(arena, run->model);
    out->trace = arena_str(arena, str_of(t->trace));
    out->cassette = arena_str(arena, run->cassette);
    keep_calls(arena, run, out);
    const struct plan_model *m = t->item->model;
    if (m->label.n > 0 && (t->plan->n_models > 1 || !str_eq(m->label, m->name))) {
        out->model = arena_str(arena, m->label); /* which tells two apart */
    }
    out->judged = judge.judged;
    struct eval_run judged = {out->calls,
                              out->n_calls,
                              out->model,
                              out->result,
                              {judge.judged.verdicts, judge.judged.n_verdicts, judge.judged.model}};
    eval_judge(t->task, &judged, arena, &out->verdict);
    if (judge.end == RUBRICS_CANCELLED) {
        out->verdict.outcome = EVAL_NONE;
    }
    if (out->verdict.outcome == EVAL_NONE) {
        return;
    }
    if (judge.end == RUBRICS_FAILED && out->verdict.outcome != EVAL_ERROR) {
        trial_make_error(out, judge.code, judge.problem);
    } else if (out->verdict.outcome == EVAL_ERROR) {
        trial_make_error(out, run->result.status == RUN_CASSETTE_MISS ? ERR_MISS : ERR_NET,
                         run->note.n == 0
                             ? out->result.reason
                             : arena_printf(arena, "%.*s (%.*s)", STR_FMT(out->result.reason),
                                            STR_FMT(run->note)));
    }
    settle_replay(t, arena, &run->replay, out);
    if (judge.code == ERR_MISS) {
        out->problem = arena_printf(arena,
                                    "%.*s\n  the run itself is recorded: with --mode new_episodes "
                                    "in place of --mode all only the judge is asked",
                                    STR_FMT(out->problem));
    }
    add_recording(t, run->recorded > 0, arena, out);
    if (rig_leftover_fails(run)) {
        struct eval_check unplayed = {STR("script"), false, arena_str(arena, run->leftover)};
        eval_fail_also(&out->verdict, &unplayed, arena);
    }
    if (out->verdict.outcome == EVAL_FAIL && run->result.status == RUN_SCRIPT_MISMATCH) {
        out->problem = arena_printf(arena, "the script is %s", run->script);
    }
    if (run->warning.n > 0) {
        out->problem = arena_printf(arena, "%.*s%s%.*s", STR_FMT(str_trim(run->warning)),
                                    out->problem.n > 0 ? "\n" : "", STR_FMT(out->problem));
    }
}

static bool goes_on(const struct trial *t)
{
    enum cassette_mode mode = t->o->how.mode;
    return mode == CASSETTE_ONCE || mode == CASSETTE_NEW_EPISODES;
}

/* The recording of a trial that ended well gets its name; one that nothing was added to is the copy
 * of its cassette, or is not there. */
static int keep_recording(const struct trial *t, bool recorded, enum eval_outcome outcome,
                          struct err *e)
{
    if (t->recording == NULL || !eval_is_scored(outcome)) {
        return 0;
    }
    if (!recorded && goes_on(t) && path_exists(t->cassette)) {
        if (t->o->how.mode == CASSETTE_NEW_EPISODES) {
            (void)remove(t->recording);
        }
        return 0;
    }
    if (t->o->how.mode == CASSETTE_NEW && path_exists(t->cassette)) {
        return err_at(e, ERR_EXISTS, t->cassette, 0, 0,
                      "somebody else has made it meanwhile; this recording is in %s", t->recording);
    }
    return file_rename(t->recording, t->cassette, e);
}

/* Closes what was written. What could not be written ends the run (ERR_IO); a recording that had to
 * be cut, or whose name somebody else has taken, is an error of this trial alone. */
static int close_files(struct trial *t, bool set_aside, struct arena *arena, struct eval_trial *out,
                       struct err *e)
{
    struct err first, later;
    bool recorded = t->run.recorded > 0;
    int rc = rubrics_free(t->rubrics, &first);
    int closed = t->agent != NULL ? agent_free(t->agent, rc == 0 ? &first : &later)
                                  : rig_free(t->rig, rc == 0 ? &first : &later);
    rc = rc != 0 ? rc : closed;
    scripts_put(t->plan->loaded, t->script);
    scripts_put(t->plan->loaded, t->judge_script);
    if (rc == 0) {
        rc = keep_recording(t, recorded, set_aside ? EVAL_ERROR : out->verdict.outcome, &first);
    }
    if (rc == 0 || rc == ERR_IO) {
        if (rc != 0 && e != NULL) {
            *e = first;
        }
        return rc;
    }
    out->recorded = false;
    if (eval_is_scored(out->verdict.outcome)) {
        trial_make_error(out, rc, text_of(&first, arena));
        add_recording(t, recorded && rc != ERR_EXISTS, arena, out);
    }
    return 0;
}

int64_t expected_calls(const struct golden_expect *x)
{
    return x->has_calls ? (int64_t)x->n_calls : x->no_calls ? 0 : -1;
}

static const struct str *copy_tags(struct arena *arena, const struct golden_entry *task)
{
    struct str *tags = arena_array(arena, task->n_tags, sizeof *tags);
    for (size_t i = 0; i < task->n_tags; i++) {
        tags[i] = arena_str(arena, task->tags[i]);
    }
    return tags;
}

/* That of a trial that ended well has its name now. */
static void hash_recording(struct trial *t, struct arena *arena, struct eval_trial *out)
{
    bool well = eval_is_scored(out->verdict.outcome);
    struct str text = {0};
    char hash[HASH_HEX];
    if (well && file_read(t->arena, t->cassette, CASSETTE_BYTES_MAX, &text, NULL) == 0) {
        out->cassette = arena_str(arena, str_of(hash_hex(hash64(0, text), hash)));
    }
}

int trial_finish(struct trial *t, struct arena *arena, struct eval_trial *out, struct err *e)
{
    *out = (struct eval_trial){.set = arena_cstr(arena, t->plan->sets[t->item->set]->name),
                               .file = arena_cstr(arena, str_of(t->entry.path)),
                               .line = t->entry.line,
                               .task = arena_str(arena, t->entry.id),
                               .tags = copy_tags(arena, &t->entry),
                               .n_tags = t->entry.n_tags,
                               .trial = t->item->trial,
                               .result = {.usage = USAGE_UNKNOWN, .cost_nano = -1},
                               .expected_calls =
                                   t->task == NULL ? -1 : expected_calls(&t->task->expect),
                               .verdict = {.outcome = EVAL_NONE, .scores = {.trajectory = -1}}};
    int rc = 0;
    bool over = trial_take_outcome(t);
    const struct rig_outcome *run = &t->run;
    if (t->write_error.code != 0) {
        rc = t->write_error.code;
        *e = t->write_error;
    }
    if (over) {
        settle_run(t, arena, run, out);
    } else if (t->rig == NULL) {
        settle_refused(t, arena, out);
        if (t->o->source == EVAL_RECORD && t->error.code == ERR_IO) {
            rc = ERR_IO; /* the recording cannot be written: nothing else can either */
            *e = t->error;
        }
    } else {
        out->result.status = RUN_MODEL_ERROR;
        trial_make_error(out, ERR_STATE,
                         STR("the session stopped without an end; please report this"));
    }
    enum eval_outcome outcome = out->verdict.outcome;
    out->recorded = run->recorded > 0 && eval_is_scored(outcome);
    bool nothing = out->result.status == RUN_PROGRAM_FAILED && run->recorded == 0;
    int closed = close_files(t, nothing, arena, out, rc == 0 ? e : NULL);
    if (rc == 0 && closed == 0 && t->recording != NULL) {
        hash_recording(t, arena, out);
    }
    golden_task_free(t->task);
    arena_free(t->arena);
    free(t);
    return rc != 0 ? rc : closed;
}
