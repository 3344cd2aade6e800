#include "evals/rig_int.h"
#include "evals/rubric_int.h"
#include "evals/run_int.h"

#include "kernel/base/hash.h"
#include "kernel/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASSETTE_BYTES_MAX = 1 << 30 };

struct trial {
    struct arena *arena;
    struct loop *loop;
    const struct eval_options *o;
    const struct plan *plan;
    const struct plan_item *item;
    struct golden_entry entry; /* of its task */
    struct golden_task *task;  /* NULL: it could not be loaded, `error` says why */
    const char *dir;           /* the run directory */
    const char *trace;         /* relative to it */
    const char *trace_path;    /* from here */
    const char *cassette;      /* NULL unless replaying or recording */
    const char *recording; /* NULL unless recording: where the cassette is until all went well */
    struct rig_options options;
    struct shared_script *script, *judge_script; /* EVAL_FAKE; NULL = not played */
    struct rig *rig;                             /* NULL = could not be started: `error` says why */
    struct agent *agent;                         /* in its place, of a program under test */
    size_t said;                                 /* turns of the user that are over */
    struct err error;
    struct rubrics *rubrics; /* once a judge is asked about the answer */
    struct err judge_error;  /* why none could be; code 0 = all is well */
    struct rig_outcome run;
    struct err write_error; /* of its trace; code 0 = all is well */
    void (*done)(void *ctx);
    void *ctx;
};

/* The user speaks on as long as the model answers. */
static bool says_more(struct trial *t)
{
    const struct golden_task *task = t->task;
    enum run_status status;
    if (t->rig == NULL || !rig_status(t->rig, &status) || status != RUN_COMPLETED ||
        t->said + 1 >= task->n_turns) {
        return false;
    }
    rig_say(t->rig, task->turns[++t->said]);
    return true;
}

/* A base URL with each {task} replaced by the task's id, so that one server can tell tasks apart.
 */
static struct str base_url(const struct trial *t, struct str from)
{
    const struct str mark = STR("{task}");
    struct str rest = from;
    struct buf url = {0};
    for (size_t at; (at = str_find(rest, mark)) != SIZE_MAX;) {
        buf_add(&url, str_slice(rest, 0, at));
        buf_add(&url, t->entry.id);
        rest = str_slice(rest, at + mark.n, rest.n);
    }
    buf_add(&url, rest);
    struct str s = arena_str(t->arena, buf_str(&url));
    buf_free(&url);
    return s;
}

static void tell_done(void *arg);

/* The session is still on the stack: hand over in the loop's next turn. */
static void on_done(void *ctx)
{
    struct trial *t = ctx;
    loop_defer(t->loop, tell_done, t);
}

/* What the run has come to by now, into t->run; false where it is not over. */
static bool take_outcome(struct trial *t)
{
    if (t->agent == NULL) {
        return t->rig != NULL && rig_outcome(t->rig, &t->run);
    }
    struct err e;
    int rc = agent_outcome(t->agent, &t->run, &e);
    if (rc != 0 && t->write_error.code == 0) {
        t->write_error = e;
    }
    return true;
}

/* Takes the script at path (NULL = none) for this trial. */
static int play(struct trial *t, const char *path, struct shared_script **held,
                const struct fake_script **out, struct err *e)
{
    int rc = path == NULL ? 0 : scripts_get(t->plan->loaded, path, held, e);
    *out = rc == 0 && path != NULL ? scripts_script(*held) : NULL;
    return rc;
}

static int ask_judge(struct trial *t, struct err *e)
{
    struct plan_judge judge;
    struct rig *rig = t->agent != NULL ? agent_rig(t->agent) : t->rig;
    bool known = plan_judge(t->o, t->task->judge, &judge);
    struct plan_model asked = {.provider =
                                   judge.provider.n > 0 ? judge.provider : rig->config.provider};
    enum wire_format format = plan_format(&asked);
    const struct eval_endpoint *endpoint = &t->plan->endpoints[format];
    struct rubric_options o = {
        .loop = t->loop,
        .rig = rig,
        .task = t->task,
        .answer = arena_str(t->arena, t->run.result.answer),
        .model = judge.model,
        .format = format,
        .base_url = base_url(t, str_of(endpoint->base_url)),
        .api_key = str_of(endpoint->api_key),
        .key_from = endpoint->key_from,
        .script = t->o->source == EVAL_FAKE ? judge.script : NULL,
        .prices = t->o->prices,
        .logs = path_join(t->arena, t->dir, judge_logs(str_of(t->trace), t->arena)),
        .ctx = t,
        .done = on_done};
    int rc = known ? play(t, o.script, &t->judge_script, &o.loaded, e)
                   : err_set(e, ERR_INPUT, "nobody judges its rubrics");
    return rc != 0 ? rc : rubrics_new(&o, &t->rubrics, e);
}

/* A judge is asked once the run has ended with an answer whose check hangs on it. */
static bool asks_judge(struct trial *t)
{
    const struct golden_answer *check = t->task == NULL ? NULL : t->task->expect.answer;
    if (t->rubrics != NULL || golden_answer_rubric(check) == NULL || !take_outcome(t)) {
        return false;
    }
    enum eval_outcome so_far = eval_outcome_of_status(t->run.result.status);
    bool open = golden_answer_open(check, t->run.result.answer, NULL).p != NULL;
    return eval_is_scored(so_far) && open && ask_judge(t, &t->judge_error) == 0;
}

static void tell_done(void *arg)
{
    struct trial *t = arg;
    if (!says_more(t) && !asks_judge(t)) {
        t->done(t->ctx);
    }
}

/* What a trial is called where nothing else names it: its seed and run id come from it. */
static struct str identity(struct trial *t)
{
    struct str label = t->plan->n_models > 1 ? t->item->model->label : STR("");
    return arena_printf(t->arena, "%.*s#%" PRId64 "%s%.*s", STR_FMT(t->entry.id), t->item->trial,
                        label.n > 0 ? "@" : "", STR_FMT(label));
}

/* 0 = the rig chooses one. */
static uint64_t seed_of(const struct trial *t, struct str name)
{
    bool live = eval_is_live(t->o->source);
    if (!live || t->o->seed == 0) {
        return 0;
    }
    uint64_t seed = hash64(t->o->seed, name) >> 11; /* at most 2^53 */
    return seed == 0 ? 1 : seed;
}

/* The command that records anew, for this task and model alone. */
static struct str mend_task(const struct trial *t)
{
    const char *verb = RIG_MEND_EVAL;
    const char *all = t->o->mend_trial != NULL ? t->o->mend_trial : t->o->mend;
    struct str label = t->item->model->label;
    struct buf mend = {0};
    if (!str_starts(str_of(all), verb)) {
        return str_of(all);
    }
    buf_addz(&mend, verb);
    if (label.n > 0) {
        buf_addz(&mend, " --model ");
        text_add_word(&mend, label);
    }
    buf_fmt(&mend, RIG_MEND_TASK "%.*s%s", STR_FMT(t->entry.id), all + strlen(verb));
    struct str made = arena_str(t->arena, buf_str(&mend));
    buf_free(&mend);
    return made;
}

static int start_agent(struct trial *t, struct agents *all)
{
    struct agent_options o = {.rig = &t->options, .task = t->task, .trial = t->item->trial};
    o.stderr_name = stderr_name(str_of(t->trace), t->arena);
    o.stderr_path = path_join(t->arena, t->dir, o.stderr_name);
    if (t->o->resume) {
        (void)remove(o.stderr_path);
    }
    for (enum wire_format f = WIRE_CHAT; f <= WIRE_MESSAGES; f++) {
        struct str url = t->o->upstream[f];
        o.upstream[f] = base_url(t, url.n > 0 ? url : str_of(endpoint_provider_url(f)));
    }
    return agent_new(all, &o, &t->agent, &t->error);
}

static int start(struct trial *t, const struct plan *plan)
{
    const struct golden_task *task = t->task;
    const struct plan_model *model = t->item->model;
    const struct eval_endpoint *endpoint = &plan->endpoints[plan_format(model)];
    struct str name = identity(t);
    t->options =
        (struct rig_options){.source = t->o->source,
                             .path = t->recording != NULL        ? t->recording
                                     : t->o->source == EVAL_FAKE ? plan_script(t->o, task->fake)
                                                                 : t->cassette,
                             .base = t->recording != NULL ? t->cassette : NULL,
                             .how = t->o->how,
                             .tools = task->tools != NULL ? task->tools : plan->no_tools,
                             .prompt = task->prompt,
                             .system = task->system,
                             .budget = task->budget,
                             .model = model->name,
                             .provider = model->provider,
                             .prices = t->o->prices,
                             .base_url = base_url(t, str_of(endpoint->base_url)),
                             .api_key = str_of(endpoint->api_key),
                             .key_from = endpoint->key_from,
                             .live = t->o->live,
                             .stream = t->o->stream,
                             .temperature = str_of(t->o->temperature),
                             .max_tokens = t->o->max_tokens > 0 ? t->o->max_tokens : -1,
                             .seed = seed_of(t, name),
                             .mend = mend_task(t),
                             .identity = name,
                             .trace = t->trace_path,
                             .ctx = t,
                             .done = on_done};
    int rc = play(t, t->o->source == EVAL_FAKE ? t->options.path : NULL, &t->script,
                  &t->options.script, &t->error);
    if (rc != 0) {
        return rc;
    }
    return plan->agents != NULL ? start_agent(t, plan->agents)
                                : rig_new(t->loop, &t->options, &t->rig, &t->error);
}

/* What a try that was killed, or ended in an error, left. */
static void remove_remains(struct trial *t)
{
    const char *logs = path_join(t->arena, t->dir, judge_logs(str_of(t->trace), t->arena));
    struct str *names = NULL;
    size_t n = 0;
    (void)remove(t->trace_path);
    if (dir_list(t->arena, logs, "", &names, &n, NULL) == 0) {
        for (size_t i = 0; i < n; i++) {
            (void)remove(path_join(t->arena, logs, arena_cstr(t->arena, names[i])));
        }
        (void)remove(logs);
    }
}

struct trial *trial_new(struct loop *loop, const struct eval_options *o, const struct plan *plan,
                        const struct plan_item *item, const char *dir, void (*done)(void *ctx),
                        void *ctx)
{
    struct trial *t = mem_zero(sizeof *t);
    t->arena = arena_new();
    t->loop = loop;
    t->o = o;
    t->plan = plan;
    t->item = item;
    t->entry = plan_task(plan, item);
    t->done = done;
    t->ctx = ctx;
    t->dir = dir;
    t->trace = plan_trace(plan, item, t->arena);
    t->trace_path = path_join(t->arena, dir, t->trace);
    if (o->source == EVAL_REPLAY || o->source == EVAL_RECORD) {
        t->cassette = plan_cassette(plan, item, "", t->arena);
    }
    if (o->source == EVAL_RECORD) {
        t->recording = plan_cassette(plan, item, ".failed", t->arena);
    }
    if (o->resume) {
        remove_remains(t);
    }
    if (golden_task_load(plan->sets[item->set], item->task, &t->task, &t->error) != 0 ||
        start(t, plan) != 0) {
        loop_defer(loop, tell_done, t);
    }
    return t;
}

void trial_cancel(struct trial *t)
{
    if (t->rubrics != NULL) {
        rubrics_cancel(t->rubrics);
    } else if (t->rig != NULL) {
        rig_cancel(t->rig, STR("interrupted"));
    } else if (t->agent != NULL) {
        agent_cancel(t->agent);
    }
}

/* ---- what it came to ---- */

void trial_make_error(struct eval_trial *out, int code, struct str problem)
{
    out->code = code;
    out->problem = problem;
    out->verdict = (struct eval_verdict){.outcome = EVAL_ERROR, .scores = {.trajectory = -1}};
}

static struct str missing_cassette(const struct trial *t, struct arena *arena)
{
    struct str mend = mend_task(t);
    return arena_printf(arena,
                        "%s is not there, so trial %" PRId64 " of %.*s cannot be replayed%s%.*s",
                        t->cassette, t->item->trial, STR_FMT(t->entry.id),
                        mend.n == 0 ? "" : "; " MISS_RECORD, STR_FMT(mend));
}

/* A trial that could not be started. */
static void settle_refused(const struct trial *t, struct arena *arena, struct eval_trial *out)
{
    char text[sizeof t->error.file + sizeof t->error.message + 32];
    err_text(&t->error, text, sizeof text);
    int code = t->error.code;
    bool replay = t->o->source == EVAL_REPLAY;
    struct str problem = arena_str(arena, str_of(text));
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
        char text[sizeof t->judge_error.file + sizeof t->judge_error.message + 32];
        err_text(&t->judge_error, text, sizeof text);
        out->end = RUBRICS_FAILED;
        out->code = t->judge_error.code;
        out->problem = arena_str(arena, str_of(text));
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
    if (t->plan->n_models > 1 && t->item->model->label.n > 0) {
        out->model = arena_str(arena, t->item->model->label); /* which tells two apart */
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
        char text[sizeof first.file + sizeof first.message + 32];
        err_text(&first, text, sizeof text);
        trial_make_error(out, rc, arena_str(arena, str_of(text)));
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
    if (well && file_read(t->arena, t->cassette, CASSETTE_BYTES_MAX, &text, NULL) == 0) {
        out->cassette = arena_printf(arena, "%016" PRIx64, hash64(0, text));
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
    bool over = take_outcome(t);
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
