/* One trial under way: a rig or a program under test, and a judge where the answer needs one. */
#include "evals/rig_int.h"
#include "evals/trial_int.h"

#include "kernel/base/hash.h"
#include "kernel/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

bool trial_take_outcome(struct trial *t)
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
    t->rubrics = rc == 0 ? rubrics_new(&o) : NULL;
    return rc;
}

/* A judge is asked once the run has ended with an answer whose check hangs on it. */
static bool asks_judge(struct trial *t)
{
    const struct golden_answer *check = t->task == NULL ? NULL : t->task->expect.answer;
    if (t->rubrics != NULL || golden_answer_rubric(check) == NULL || !trial_take_outcome(t)) {
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

struct str trial_mend(const struct trial *t)
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
                             .trial = t->item->trial,
                             .mend = trial_mend(t),
                             .identity = name,
                             .trace = t->trace_path,
                             .trace_again = !eval_is_live(t->o->source) && t->o->agent == NULL,
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
    if (eval_has_cassettes(o->source)) {
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
