#include <stdlib.h>

#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/drive/tools_int.h"

enum { ASKED_CHARS = 300 };

struct local {
    struct toolbox base; /* first */
    const struct toolset *set;
    struct sched *sched;
    struct loop *loop;
    int64_t started_at_ms;
    int64_t *used;         /* of each canned answer of the set: how often it was given */
    struct tool_run *runs; /* all under way */
};

/* Exactly one of timer, job and fetch is set: the output is known and waits for its time, or the
 * command or the server is still at work and the clock is held. */
struct tool_run {
    struct local *box;
    struct tool_run *next;
    struct tool_run *before;
    struct arena *arena;
    struct tool_sink sink;
    struct tool_output output;
    uint32_t order;
    struct timer *timer;
    struct job *job;
    struct fetch *fetch;
};

static void unlink_run(struct tool_run *r)
{
    if (r->before == NULL) {
        r->box->runs = r->next;
    } else {
        r->before->next = r->next;
    }
    if (r->next != NULL) {
        r->next->before = r->before;
    }
}

/* The toolbox may be freed by the sink. */
static void deliver(void *arg)
{
    struct tool_run *r = arg;
    unlink_run(r);
    r->sink.end(r->sink.ctx, &r->output, false);
    arena_free(r->arena);
}

static void post(struct tool_run *r, int64_t delay_ms)
{
    r->timer = sched_post(r->box->sched, (uint64_t)delay_ms, r->order, deliver, r);
}

static void fail(struct tool_run *r, const char *code, struct str message)
{
    r->output = (struct tool_output){.code = str_of(code), .message = message};
}

/* Keeps an output whose texts will not last. */
static void keep(struct tool_run *r, const struct tool_output *output)
{
    r->output = (struct tool_output){.ok = output->ok,
                                     .content = arena_str(r->arena, output->content),
                                     .code = arena_str(r->arena, output->code),
                                     .message = arena_str(r->arena, output->message),
                                     .hint = arena_str(r->arena, output->hint),
                                     .retryable = output->retryable};
}

static void answer_function(struct tool_run *r, const struct tool_def *def, const struct val *args)
{
    struct tool_output out = {0};
    def->call(def->ctx, args, r->arena, &out);
    if (!out.ok && out.message.n == 0) {
        out.message = STR("the tool's function gave no reason");
    }
    keep(r, &out);
}

static void answer_builtin(struct tool_run *r, const struct tool_def *def, const struct val *args)
{
    struct buf out = {0};
    builtin_answer(def->builtin, args, r->arena,
                   r->box->started_at_ms + (int64_t)sched_now(r->box->sched), &out);
    r->output = (struct tool_output){.ok = true, .content = arena_str(r->arena, buf_str(&out))};
    buf_free(&out);
}

/* Finds the first canned answer that fits and is not used up. Returns its delay. */
static int64_t answer_canned(struct tool_run *r, size_t tool, const struct val *args,
                             const struct tool_request *rq)
{
    const struct tool_def *def = &r->box->set->defs[tool];
    const struct args_match_options options = {.schema = r->box->set->specs[tool].schema,
                                               .ignore_extra = true};
    size_t spent = 0;
    for (size_t i = 0; i < def->n_answers; i++) {
        const struct canned *c = &def->answers[i];
        int64_t *used = &r->box->used[def->first_answer + i];
        if (c->when != NULL && !args_match_test(c->when, args, &options, NULL)) {
            continue;
        }
        if (c->times > 0 && *used >= c->times) {
            spent++;
            continue;
        }
        ++*used;
        r->output = c->output;
        return c->delay_ms;
    }
    struct str asked = text_preview(r->arena, rq->arguments, ASKED_CHARS);
    fail(r, "TOOL_ERROR",
         arena_printf(r->arena, "no canned answer of %.*s %s these arguments: %.*s",
                      STR_FMT(rq->name), spent > 0 ? "is left for" : "fits", STR_FMT(asked)));
    r->output.hint = STR("the tool file's `answers` can be given one more entry");
    return 0;
}

static void work_done(void *ctx, const struct tool_output *output)
{
    struct tool_run *r = ctx;
    struct sched *s = r->box->sched;
    r->job = NULL;
    r->fetch = NULL;
    keep(r, output);
    sched_touch(s);
    post(r, 0);
    sched_release(s);
}

/* A virtual clock stands still while a command or a server is at work, so the loop's timeout cannot
 * end it: real time does. */
static int64_t real_limit_ms(const struct local *b, size_t tool)
{
    return sched_is_virtual(b->sched) ? b->set->specs[tool].timeout_ms : 0;
}

static void start_command(struct tool_run *r, size_t tool, const struct tool_request *rq)
{
    struct local *b = r->box;
    const struct tool_def *def = &b->set->defs[tool];
    struct job_options options = {
        .loop = b->loop,
        .argv = def->argv,
        .dir = def->dir,
        .input = rq->arguments,
        .request_id = rq->request_id,
        .limit_ms = real_limit_ms(b, tool),
        .ctx = r,
        .done = work_done,
    };
    r->job = job_start(&options, r->arena, &r->output);
    if (r->job == NULL) {
        post(r, 0);
    } else {
        sched_hold(b->sched);
    }
}

static void start_fetch(struct tool_run *r, size_t tool, const struct val *args,
                        const struct tool_request *rq)
{
    struct local *b = r->box;
    struct fetch_options options = {
        .loop = b->loop,
        .sched = b->sched,
        .tool = &b->set->defs[tool].http,
        .args = args,
        .arguments = rq->arguments,
        .request_id = rq->request_id,
        .limit_ms = real_limit_ms(b, tool),
        .ctx = r,
        .done = work_done,
    };
    r->fetch = fetch_start(&options, r->arena, &r->output);
    if (r->fetch == NULL) {
        post(r, 0);
    } else {
        sched_hold(b->sched);
    }
}

static void start_checked(struct tool_run *r, const struct tool_request *rq)
{
    const struct toolset *set = r->box->set;
    size_t tool = toolset_find(set, rq->name);
    if (tool == SIZE_MAX) {
        fail(r, "UNKNOWN_TOOL",
             arena_printf(r->arena, "there is no tool called %.*s", STR_FMT(rq->name)));
        post(r, 0);
        return;
    }
    struct val *args;
    struct err e;
    if (json_parse(r->arena, NULL, arena_str(r->arena, rq->arguments), &args, &e) != 0 ||
        args->kind != VAL_OBJECT) {
        fail(r, "BAD_ARGUMENTS", STR("the arguments are not a JSON object"));
        post(r, 0);
        return;
    }
    int64_t delay_ms = 0;
    switch (set->defs[tool].source) {
    case TOOL_BUILTIN: answer_builtin(r, &set->defs[tool], args); break;
    case TOOL_FILE: file_tool_answer(&set->defs[tool], args, r->arena, &r->output); break;
    case TOOL_FUNCTION: answer_function(r, &set->defs[tool], args); break;
    case TOOL_CANNED: delay_ms = answer_canned(r, tool, args, rq); break;
    case TOOL_COMMAND: start_command(r, tool, rq); return;
    case TOOL_HTTP: start_fetch(r, tool, args, rq); return;
    }
    post(r, delay_ms);
}

static struct tool_run *local_start(struct toolbox *t, const struct tool_request *rq,
                                    struct tool_sink sink)
{
    struct local *b = (struct local *)t;
    struct arena *arena = arena_new();
    struct tool_run *r = arena_alloc(arena, sizeof *r);
    *r = (struct tool_run){
        .box = b, .arena = arena, .sink = sink, .order = rq->order, .next = b->runs};
    if (b->runs != NULL) {
        b->runs->before = r;
    }
    b->runs = r;
    start_checked(r, rq);
    return r;
}

static void local_stop(struct toolbox *t, struct tool_run *r)
{
    struct local *b = (struct local *)t;
    if (r->job != NULL) {
        job_stop(r->job);
        sched_release(b->sched);
    } else if (r->fetch != NULL) {
        fetch_stop(r->fetch);
        sched_release(b->sched);
    } else {
        sched_cancel(b->sched, r->timer);
    }
    unlink_run(r);
    arena_free(r->arena);
}

static void local_free(struct toolbox *t)
{
    struct local *b = (struct local *)t;
    while (b->runs != NULL) {
        local_stop(t, b->runs);
    }
    free(b->used);
    free(b);
}

struct toolbox *toolbox_local(const struct toolset *t, struct sched *s, struct loop *loop,
                              int64_t started_at_ms)
{
    static const struct toolbox_ops ops = {local_start, local_stop, local_free};
    struct local *b = mem_zero(sizeof *b);
    b->base.ops = &ops;
    b->set = t;
    b->sched = s;
    b->loop = loop;
    b->started_at_ms = started_at_ms;
    b->used = mem_zero((t->n_answers + 1) * sizeof *b->used);
    return &b->base;
}
