/* Invariants:
 * 1. The log's lines are handed on before the commands that follow from them are carried out.
 * 2. A call's handle is forgotten before its end is fed, so that it is never stopped after its end.
 * 3. done is the last thing a run does: nothing is touched after it, which may free all.
 * 4. While the run is on, a wake-up stands at the kernel's deadline. */
#include "kernel/drive/session.h"

#include "kernel/base/text.h"

#include <assert.h>
#include <stdlib.h>

enum session_state {
    SESSION_WAITING, /* for the world, or for its first turn */
    SESSION_DRIVING, /* carrying out commands */
    SESSION_OVER     /* until session_say */
};

/* A tool call under way. */
struct open_tool {
    struct open_tool *next;
    struct session *session;
    struct str call_id;
    size_t tool;
    struct tool_run *run;
};

/* A decision on its way to the kernel. */
struct decided {
    struct session *session;
    struct str call_id;
    enum decision decision;
};

struct session {
    struct session_options o;
    enum session_state state;
    struct kernel *kernel;
    struct llm_request request;
    struct llm_call *model; /* NULL = none open */
    struct open_tool *tools;
    struct arena *summary; /* memory of a request for a summary; NULL = none open */
    struct str asked;      /* the call that approval was last asked for */
    struct decided *decision;
    struct timer *decided; /* when that is fed; NULL = nothing on the way */
    struct timer *denial;  /* of that call, where nobody can be asked */
    struct timer *begin;
    struct arena *said; /* memory of `next`; NULL = nobody has spoken but the prompt */
    struct str next;    /* what session_say told */
    struct timer *wake;
    uint64_t wake_at;
    struct arena *reason;     /* memory of cancel_reason; NULL = no cancel waits */
    struct str cancel_reason; /* asked for while commands were carried out */
};

static void drive(struct session *s);

static void feed(struct session *s, const struct event *ev)
{
    int rc = kernel_feed(s->kernel, ev, sched_now(s->o.sched));
    assert(rc == 0); /* an llm or a toolbox broke its contract */
    (void)rc;
}

/* ---- the model ---- */

static void on_delta(void *ctx, struct str text)
{
    struct session *s = ctx;
    if (s->o.delta != NULL) {
        s->o.delta(s->o.ctx, text);
    }
}

static void on_model_end(void *ctx, const struct reply *reply, const struct failure *failure)
{
    struct session *s = ctx;
    assert((reply == NULL) != (failure == NULL));
    s->model = NULL;
    struct event ev = {.kind = EV_FAILURE, .failure = failure};
    if (reply != NULL) {
        ev = (struct event){.kind = EV_REPLY, .reply = reply};
    }
    feed(s, &ev);
    drive(s);
}

static void call_model(struct session *s, const struct command *c)
{
    assert(s->model == NULL);
    s->request = (struct llm_request){.model = s->o.config.model,
                                      .messages = c->messages,
                                      .n_messages = c->n_messages,
                                      .tools = s->o.config.tools,
                                      .n_tools = s->o.config.n_tools,
                                      .stream = s->o.stream,
                                      .temperature = s->o.temperature,
                                      .max_tokens = s->o.max_tokens};
    struct llm_sink sink = {.ctx = s, .delta = on_delta, .end = on_model_end};
    s->model = s->o.llm->ops->start(s->o.llm, &s->request, sink);
}

static void on_summary_end(void *ctx, const struct reply *reply, const struct failure *failure)
{
    struct session *s = ctx;
    s->model = NULL;
    struct event ev = {.kind = EV_FAILURE, .failure = failure};
    if (reply != NULL) {
        ev = (struct event){.kind = EV_SUMMARY, .text = reply->content, .reply = reply};
    }
    feed(s, &ev);
    arena_free(s->summary);
    s->summary = NULL;
    drive(s);
}

static void on_summary_delta(void *ctx, struct str text)
{
    (void)ctx; /* nobody reads a summary as it comes */
    (void)text;
}

const struct message *session_summary_request(const struct command *c, struct arena *arena)
{
    struct buf text = {0};
    buf_addz(&text, "Summarise this part of a conversation in a few sentences. Keep every "
                    "decision, every number "
                    "and every name.\n");
    for (size_t i = 0; i < c->n_messages; i++) {
        const struct message *m = &c->messages[i];
        buf_fmt(&text, "\n%s: ", role_name(m->role));
        buf_add(&text, m->content);
        for (size_t j = 0; j < m->n_calls; j++) {
            buf_addz(&text, "\ncalls ");
            buf_add(&text, m->calls[j].name);
            buf_char(&text, ' ');
            buf_add(&text, m->calls[j].arguments);
        }
    }
    struct message *m = arena_alloc(arena, sizeof *m);
    *m = (struct message){.role = ROLE_USER, .content = arena_str(arena, buf_str(&text))};
    buf_free(&text);
    return m;
}

/* Asks the model for a summary: one request of its own, the old messages written out as text. */
static void summarise(struct session *s, const struct command *c)
{
    s->summary = arena_new();
    s->request = (struct llm_request){.model = s->o.config.model,
                                      .messages = session_summary_request(c, s->summary),
                                      .n_messages = 1,
                                      .temperature = s->o.temperature,
                                      .max_tokens = s->o.max_tokens};
    struct llm_sink sink = {.ctx = s, .delta = on_summary_delta, .end = on_summary_end};
    s->model = s->o.llm->ops->start(s->o.llm, &s->request, sink);
}

static void stop_model(struct session *s)
{
    if (s->model != NULL) {
        struct llm_call *call = s->model;
        s->model = NULL;
        s->o.llm->ops->stop(s->o.llm, call);
    }
}

/* ---- tools ---- */

static void forget_tool(struct session *s, struct open_tool *t)
{
    struct open_tool **at = &s->tools;
    while (*at != t) {
        at = &(*at)->next;
    }
    *at = t->next;
    free(t);
}

static void feed_miss(struct session *s, struct str why)
{
    struct failure miss = {.class = FAIL_MISS, .retry_after_ms = -1, .message = why};
    feed(s, &(struct event){.kind = EV_FAILURE, .failure = &miss});
}

static void feed_result(struct session *s, struct str call_id, size_t tool,
                        const struct tool_output *output)
{
    struct arena *arena = arena_new();
    struct tool_output cut = *output;
    if (output->ok) {
        bool truncated = false;
        int64_t max = s->o.config.tools[tool].max_output;
        cut.content = text_truncate(arena, output->content, max > 0 ? (size_t)max : 0, &truncated);
        cut.truncated = cut.truncated || truncated;
    }
    feed(s, &(struct event){.kind = EV_TOOL_RESULT, .call_id = call_id, .output = &cut});
    arena_free(arena);
}

static void on_tool_end(void *ctx, const struct tool_output *output, bool miss)
{
    struct open_tool *t = ctx;
    struct session *s = t->session;
    struct str call_id = t->call_id;
    size_t tool = t->tool;
    forget_tool(s, t);
    if (miss) {
        feed_miss(s, output->message);
    } else {
        feed_result(s, call_id, tool, output);
    }
    drive(s);
}

static void call_tool(struct session *s, const struct command *c)
{
    struct open_tool *t = mem_zero(sizeof *t);
    *t = (struct open_tool){.next = s->tools, .session = s, .call_id = c->call_id, .tool = c->tool};
    s->tools = t;
    struct tool_request rq = {.call_id = c->call_id,
                              .name = c->name,
                              .arguments = c->arguments,
                              .order = c->order,
                              .attempt = c->attempt,
                              .request_id = c->request_id};
    struct tool_sink sink = {.ctx = t, .end = on_tool_end};
    t->run = s->o.tools->ops->start(s->o.tools, &rq, sink);
}

static void stop_one(struct session *s, struct open_tool *t)
{
    s->o.tools->ops->stop(s->o.tools, t->run);
    forget_tool(s, t);
}

static void stop_tool(struct session *s, struct str call_id)
{
    for (struct open_tool *t = s->tools; t != NULL; t = t->next) {
        if (str_eq(t->call_id, call_id)) {
            stop_one(s, t);
            return;
        }
    }
}

/* ---- approval ---- */

/* An answer that nobody can give now is fed in a turn of its own. */
static void on_denied(void *arg)
{
    struct session *s = arg;
    s->denial = NULL;
    session_approve(s, s->asked, DECIDED_DENY);
}

static void ask(struct session *s, const struct command *c)
{
    s->asked = c->call_id;
    if (s->o.ask == NULL) {
        s->denial = sched_post(s->o.sched, 0, 0, on_denied, s);
    } else {
        s->o.ask(s->o.ctx, c->call_id, c->name, c->arguments);
    }
}

/* ---- driving ---- */

static void on_wake(void *arg)
{
    struct session *s = arg;
    s->wake = NULL;
    feed(s, &(struct event){.kind = EV_TIME});
    drive(s);
}

static void set_wake(struct session *s)
{
    uint64_t at = kernel_deadline(s->kernel);
    if (s->wake != NULL && s->wake_at == at) {
        return;
    }
    sched_cancel(s->o.sched, s->wake);
    s->wake = NULL;
    if (at != UINT64_MAX) {
        s->wake_at = at;
        s->wake = sched_wake(s->o.sched, at, on_wake, s);
    }
}

/* A cancel that the kernel refuses came after the end, and means nothing. */
static void feed_cancel(struct session *s, struct str reason)
{
    int rc = kernel_feed(s->kernel, &(struct event){.kind = EV_CANCEL, .text = reason},
                         sched_now(s->o.sched));
    assert(rc == 0 || rc == ERR_STATE);
    (void)rc;
}

/* A log with a gap is worse than one that ends early: after a failure no more lines are given. */
static void write_log(struct session *s)
{
    struct str lines = kernel_take_log(s->kernel);
    if (s->o.log != NULL && lines.n > 0 && s->o.log(s->o.ctx, lines) != 0) {
        s->o.log = NULL;
        feed_cancel(s, STR("the event log could not be written"));
    }
    if (s->reason != NULL) {
        feed_cancel(s, s->cancel_reason);
        arena_free(s->reason);
        s->reason = NULL;
    }
}

/* Nothing is begun any more when a cancel has overtaken the command. */
static void carry_out(struct session *s, const struct command *c)
{
    bool over = kernel_stage(s->kernel) == STAGE_ENDED;
    switch (c->kind) {
    case CMD_CALL_MODEL:
        if (!over) {
            call_model(s, c);
        }
        return;
    case CMD_CALL_TOOL:
        if (!over) {
            call_tool(s, c);
        }
        return;
    case CMD_SUMMARISE:
        if (!over) {
            summarise(s, c);
        }
        return;
    case CMD_ASK_APPROVAL:
        if (!over) {
            ask(s, c);
        }
        return;
    case CMD_STOP_MODEL: stop_model(s); return;
    case CMD_STOP_TOOL: stop_tool(s, c->call_id); return;
    case CMD_FINISH: s->state = SESSION_OVER; return;
    }
}

static void drive(struct session *s)
{
    struct command c;
    s->state = SESSION_DRIVING;
    write_log(s);
    while (kernel_poll(s->kernel, &c)) {
        carry_out(s, &c);
    }
    write_log(s); /* what a cancel added meanwhile, */
    while (kernel_poll(s->kernel, &c)) {
        carry_out(s, &c);
    }
    set_wake(s);
    if (s->state == SESSION_DRIVING) {
        s->state = SESSION_WAITING;
        return;
    }
    if (s->o.done != NULL) {
        s->o.done(s->o.ctx);
    }
}

static void on_begin(void *arg)
{
    struct session *s = arg;
    struct event ev = {.kind = EV_USER_MESSAGE, .text = s->o.prompt};
    s->begin = NULL;
    if (s->o.resume != NULL) {
        ev.kind = EV_RESUME;
        ev.config = &s->o.config;
    }
    feed(s, &ev);
    drive(s);
}

static void feed_next(struct session *s)
{
    struct event ev = {.kind = EV_RESUME, .text = s->next};
    s->begin = NULL;
    if (kernel_stage(s->kernel) == STAGE_WAITING) {
        ev.kind = EV_USER_MESSAGE;
    }
    feed(s, &ev);
}

static void on_next(void *arg)
{
    struct session *s = arg;
    feed_next(s);
    drive(s);
}

/* ---- the public face ---- */

struct session *session_new(const struct session_options *o)
{
    assert(o->llm != NULL && o->tools != NULL && o->sched != NULL);
    struct session *s = mem_zero(sizeof *s);
    s->o = *o;
    s->kernel = o->resume != NULL ? o->resume : kernel_new(&o->config);
    if (o->resume == NULL && o->prompt.p == NULL) {
        s->state = SESSION_OVER;
    } else {
        s->begin = sched_post(o->sched, 0, 0, on_begin, s);
    }
    return s;
}

void session_say(struct session *s, struct str text)
{
    assert(s->state == SESSION_OVER && s->begin == NULL && text.p != NULL);
    s->state = SESSION_WAITING;
    arena_free(s->said);
    s->said = arena_new();
    s->next = arena_str(s->said, text);
    sched_touch(s->o.sched);
    s->begin = sched_post(s->o.sched, 0, 0, on_next, s);
}

/* A decision that comes while commands are carried out waits for its own turn. */
static void on_decided(void *arg)
{
    struct decided *d = arg;
    struct session *s = d->session;
    s->decided = NULL;
    s->decision = NULL;
    struct event ev = {.kind = EV_APPROVAL, .call_id = d->call_id, .decision = d->decision};
    bool takes = kernel_takes(s->kernel, &ev);
    free(d);
    if (takes) {
        feed(s, &ev);
        drive(s);
    }
}

void session_approve(struct session *s, struct str call_id, enum decision decision)
{
    if (s->state == SESSION_OVER || s->decided != NULL || !str_eq(call_id, s->asked)) {
        return;
    }
    struct decided *d = mem_zero(sizeof *d);
    *d = (struct decided){s, s->asked, decision};
    s->decision = d;
    if (s->state != SESSION_DRIVING) {
        sched_touch(s->o.sched); /* an answer at once takes no time, so that a replay is the same */
    }
    s->decided = sched_post(s->o.sched, 0, 0, on_decided, d);
}

void session_miss(struct session *s, struct str why)
{
    if (s->state == SESSION_WAITING) {
        feed_miss(s, why);
        drive(s);
    }
}

void session_cancel(struct session *s, struct str reason)
{
    switch (s->state) {
    case SESSION_OVER: return;
    case SESSION_DRIVING:
        if (s->reason == NULL) {
            s->reason = arena_new();
            s->cancel_reason = arena_str(s->reason, reason);
        }
        return;
    case SESSION_WAITING:
        sched_cancel(s->o.sched, s->begin);
        if (s->begin != NULL && s->said != NULL) {
            feed_next(s); /* what was said belongs to the history */
        }
        s->begin = NULL;
        sched_touch(s->o.sched);
        feed_cancel(s, reason);
        drive(s);
        return;
    }
}

const struct kernel *session_kernel(const struct session *s)
{
    return s->kernel;
}

bool session_result(const struct session *s, struct run_result *out)
{
    return kernel_result(s->kernel, out);
}

void session_free(struct session *s)
{
    if (s == NULL) {
        return;
    }
    assert(s->state != SESSION_DRIVING);
    sched_cancel(s->o.sched, s->begin);
    sched_cancel(s->o.sched, s->wake);
    sched_cancel(s->o.sched, s->denial);
    sched_cancel(s->o.sched, s->decided);
    free(s->decision);
    stop_model(s);
    arena_free(s->summary);
    while (s->tools != NULL) {
        stop_one(s, s->tools);
    }
    arena_free(s->said);
    arena_free(s->reason);
    kernel_free(s->kernel);
    free(s);
}
