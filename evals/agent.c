/* One run of the program under test: its process, its session at the server, and what it came to.
 * The session is answered by a tap around what a rig would ask, so that everything that passes is
 * heard. */
#include "evals/agent.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "evals/agent_int.h"
#include "evals/rig_int.h"
#include "fakellm/serve.h"
#include "kernel/base/text.h"
#include "kernel/drive/appender.h"
#include "kernel/drive/child.h"
#include "kernel/drive/loop.h"

enum {
    STDOUT_BYTES_MAX = 1 << 20,
    STDERR_BYTES_KEPT = 64 << 10,      /* the end */
    WORD_BYTES_MAX = (128 << 10) - 64, /* a word or variable of a program (Linux) */
    VARIABLES_MAX = SERVE_VARIABLES + 4,
    LAST_LINE_CHARS = 300
};

struct agents {
    struct loop *loop;
    const struct agent_command *command;
    struct str no_proxy;
    struct serve *serve;
    uint64_t runs; /* names their sessions */
};

enum agent_state {
    AGENT_RUNNING,
    AGENT_EXITED,
    AGENT_TIMED_OUT,
    AGENT_HELD,     /* it had ended; what it left running kept its streams open until the limit */
    AGENT_TOO_MUCH, /* it wrote or asked more than may be; killed */
    AGENT_CANCELLED
};

struct tap {
    struct transport base; /* first */
    struct agent *agent;
};

struct agent {
    struct agents *all;
    struct arena *arena;
    struct agent_options o;
    struct rig *rig;
    struct tap tap;
    struct session *session;
    struct child *child;
    struct sched *clock; /* the wall's: for the limit */
    struct timer *limit;
    struct http_call *calls; /* under way */
    struct traffic traffic;
    enum agent_state state;
    const char *too_much; /* what there was too much of */
    struct str refused;   /* why a request did not come through to us; n 0 = all did */
    int status, signal;
    bool ended;
    struct buf out;
    struct buf err;
    struct buf log;
    bool told; /* what it came to, which is `outcome` but for its source */
    struct rig_outcome outcome;
};

/* ---- the tap ---- */

struct http_call {
    struct agent *agent;
    struct http_call *next;
    struct http_call **link; /* what points here */
    struct http_call *inner;
    struct http_sink sink;
    struct turn *turn; /* NULL = it is no request of a model */
    int64_t took_ms;   /* as recorded; -1 = it is being measured */
};

static void free_call(struct http_call *call)
{
    *call->link = call->next;
    if (call->next != NULL) {
        call->next->link = call->link;
    }
    free(call);
}

static void on_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                    size_t n)
{
    struct http_call *call = ctx;
    if (call->turn != NULL) {
        traffic_head(call->turn, status, headers, n);
    }
    call->sink.head(call->sink.ctx, status, reason, headers, n);
}

static void on_body(void *ctx, struct str piece)
{
    struct http_call *call = ctx;
    if (call->turn != NULL) {
        traffic_body(&call->agent->traffic, call->turn, piece);
    }
    call->sink.body(call->sink.ctx, piece);
}

static void end_turn(struct http_call *call, enum http_end end, struct str detail)
{
    struct agent *a = call->agent;
    if (call->turn != NULL) {
        int64_t now = (int64_t)sched_now(a->rig->sched);
        traffic_end(&a->traffic, call->turn, end, detail,
                    call->took_ms >= 0 ? call->turn->at_ms + call->took_ms : now);
    }
}

static void on_end(void *ctx, enum http_end end, struct str detail)
{
    struct http_call *call = ctx;
    struct http_sink sink = call->sink;
    end_turn(call, end, detail);
    free_call(call);
    sink.end(sink.ctx, end, detail);
}

static void kill_agent(struct agent *a, enum agent_state why)
{
    if (a->state == AGENT_RUNNING) {
        a->state = why;
        child_kill(a->child);
    }
}

/* A recorded request has the times of its recording. */
static void take_times(struct http_call *call)
{
    const struct rig *r = call->agent->rig;
    const struct interaction *it = r->player == NULL ? NULL : player_last(r->player);
    if (it != NULL && call->turn != NULL) {
        call->turn->at_ms = it->at_ms;
        call->took_ms = it->took_ms;
    }
}

static void on_too_much(void *arg)
{
    kill_agent(arg, AGENT_TOO_MUCH);
}

static struct http_call *tap_start(struct transport *t, const struct http_request *rq,
                                   struct http_sink sink)
{
    struct agent *a = ((struct tap *)t)->agent;
    struct transport *inner = a->rig->model;
    struct http_call *call = mem_zero(sizeof *call);
    enum wire_format f;
    call->agent = a;
    call->sink = sink;
    call->took_ms = -1;
    call->next = a->calls;
    call->link = &a->calls;
    if (call->next != NULL) {
        call->next->link = &call->next;
    }
    a->calls = call;
    if (wire_of_url(rq->url, &f)) {
        int64_t now = (int64_t)sched_now(a->rig->sched);
        call->turn = traffic_request(&a->traffic, f, rq->body, now);
        if (call->turn == NULL) {
            a->too_much = "asked its models more";
            loop_defer(a->all->loop, on_too_much, a);
        }
    }
    call->inner = inner->ops->start(inner, rq, (struct http_sink){call, on_head, on_body, on_end});
    take_times(call);
    return call;
}

static void tap_stop(struct transport *t, struct http_call *call)
{
    struct transport *inner = ((struct tap *)t)->agent->rig->model;
    inner->ops->stop(inner, call->inner);
    end_turn(call, HTTP_STOPPED, STR(""));
    free_call(call);
}

static void tap_free(struct transport *t)
{
    (void)t; /* the agent's */
}

static void tap_pause(struct transport *t, struct http_call *call, bool paused)
{
    http_pause(((struct tap *)t)->agent->rig->model, call->inner, paused);
}

static const struct transport_ops tap_ops = {tap_start, tap_stop, tap_free, tap_pause};

/* ---- the process ---- */

static void on_wrote(void *ctx, int fd, struct str piece)
{
    struct agent *a = ctx;
    if (fd == 1 && piece.n > STDOUT_BYTES_MAX - a->out.n) {
        a->too_much = "wrote more to its standard output";
        loop_defer(a->all->loop, on_too_much, a);
    } else if (fd == 1) {
        buf_add(&a->out, piece);
    } else {
        buf_add(&a->err, piece);
        if (a->err.n > 2 * STDERR_BYTES_KEPT) {
            size_t from = a->err.n - STDERR_BYTES_KEPT;
            memmove(a->err.p, a->err.p + from, STDERR_BYTES_KEPT);
            a->err.n = STDERR_BYTES_KEPT;
        }
    }
}

static void close_session(struct agent *a)
{
    if (a->session != NULL) {
        serve_displace(a->session);
        a->session = NULL;
    }
}

static void on_ended(void *ctx, int status, int signal)
{
    struct agent *a = ctx;
    a->ended = true;
    a->status = status;
    a->signal = signal;
    if (a->state == AGENT_RUNNING) {
        a->state = AGENT_EXITED;
    }
    loop_undefer(a->all->loop, on_too_much, a);
    sched_cancel(a->clock, a->limit);
    a->limit = NULL;
    close_session(a);
    a->o.rig->done(a->o.rig->ctx);
}

static void on_limit(void *arg)
{
    struct agent *a = arg;
    a->limit = NULL;
    kill_agent(a, child_is_running(a->child) ? AGENT_TIMED_OUT : AGENT_HELD);
}

/* A word of the command with each {prompt} and {task} replaced. */
static char *fill_word(struct agent *a, struct str word)
{
    const struct {
        const char *mark;
        struct str text;
    } marks[] = {{"{prompt}", a->o.rig->prompt}, {"{task}", a->o.task->id}};
    struct buf out = {0};
    for (size_t at = 0; at < word.n;) {
        struct str rest = str_slice(word, at, word.n);
        size_t m = 0;
        while (m < 2 && !str_starts(rest, marks[m].mark)) {
            m++;
        }
        if (m < 2) {
            buf_add(&out, marks[m].text);
            at += strlen(marks[m].mark);
        } else {
            buf_char(&out, word.p[at++]);
        }
    }
    char *filled = arena_cstr(a->arena, buf_str(&out));
    buf_free(&out);
    return filled;
}

static int fill_command(struct agent *a, char ***out, struct err *e)
{
    const struct agent_command *c = a->all->command;
    struct str prompt = a->o.rig->prompt;
    char **argv = arena_array(a->arena, c->n + 1, sizeof *argv);
    for (size_t i = 0; i < c->n; i++) {
        bool has = str_find(c->words[i], STR("{prompt}")) != SIZE_MAX;
        argv[i] = fill_word(a, c->words[i]);
        if (has && prompt.n > 0 && memchr(prompt.p, '\0', prompt.n) != NULL) {
            return err_set(e, ERR_INPUT,
                           "the prompt of %.*s holds a NUL character, which no word "
                           "of a command can: let the program read its standard "
                           "input",
                           STR_FMT(a->o.task->id));
        }
        if (strlen(argv[i]) > WORD_BYTES_MAX) {
            return err_set(e, ERR_INPUT,
                           "the prompt of %.*s is too long for a word of a command "
                           "(%zu bytes): let the program read its standard input",
                           STR_FMT(a->o.task->id), prompt.n);
        }
    }
    *out = argv;
    return 0;
}

/* What the program sees beside our own environment. */
static size_t fill_variables(struct agent *a, struct str name, struct child_variable *out)
{
    const struct rig_options *r = a->o.rig;
    size_t n =
        serve_variables(a->all->serve, name, a->all->no_proxy, !rig_is_live(a->rig), a->arena, out);
    bool fits = r->prompt.n <= WORD_BYTES_MAX &&
                (r->prompt.n == 0 || memchr(r->prompt.p, '\0', r->prompt.n) == NULL);
    if (fits) {
        out[n++] = (struct child_variable){"ASSAY_PROMPT", arena_cstr(a->arena, r->prompt), false};
    }
    out[n++] = (struct child_variable){"ASSAY_TASK", arena_cstr(a->arena, a->o.task->id), false};
    out[n++] = (struct child_variable){"ASSAY_TRIAL",
                                       arena_printf(a->arena, "%" PRId64, a->o.trial).p, false};
    if (r->model.n > 0) {
        out[n++] = (struct child_variable){"MODEL", arena_cstr(a->arena, r->model), false};
    }
    return n;
}

static int start_child(struct agent *a, struct str name, struct err *e)
{
    struct child_variable variables[VARIABLES_MAX];
    char **argv = NULL;
    int rc = fill_command(a, &argv, e);
    if (rc != 0) {
        return rc;
    }
    struct child_options o = {.loop = a->all->loop,
                              .argv = argv,
                              .variables = variables,
                              .n_variables = fill_variables(a, name, variables),
                              .apart = true,
                              .input = a->o.rig->prompt,
                              .wrote = on_wrote,
                              .ctx = a,
                              .ended = on_ended};
    return child_start(&o, &a->child, e);
}

static void on_refused(void *ctx, struct str why)
{
    struct agent *a = ctx;
    if (a->refused.n == 0) {
        a->refused = arena_str(a->arena, why);
    }
}

static int start(struct agent *a, struct err *e)
{
    int rc = rig_answers(a->all->loop, a->o.rig, &a->rig, e);
    if (rc != 0) {
        return rc;
    }
    struct str name = arena_printf(a->arena, "run-%" PRIu64, ++a->all->runs);
    struct serve_placement placement = {.refused = on_refused,
                                        .ctx = a,
                                        .name = name,
                                        .transport = &a->tap.base,
                                        .sched = a->rig->sched,
                                        .fake = a->rig->fake,
                                        .upstream = rig_is_live(a->rig) ? a->o.upstream : NULL};
    rc = serve_place(a->all->serve, &placement, &a->session, e);
    rc = rc != 0 ? rc : start_child(a, name, e);
    if (rc != 0) {
        return rc;
    }
    a->clock = sched_real(a->all->loop);
    a->limit = sched_post(a->clock, (uint64_t)a->o.task->budget.seconds * 1000, 0, on_limit, a);
    return 0;
}

int agent_new(struct agents *all, const struct agent_options *o, struct agent **out, struct err *e)
{
    struct agent *a = mem_zero(sizeof *a);
    a->all = all;
    a->o = *o;
    a->arena = arena_new();
    a->tap = (struct tap){{&tap_ops}, a};
    traffic_init(&a->traffic, a->arena, o->rig->prompt);
    int rc = start(a, e);
    if (rc != 0) {
        int closed = agent_free(a, NULL);
        (void)closed; /* the first error is the one to tell */
        return rc;
    }
    *out = a;
    return 0;
}

void agent_cancel(struct agent *a)
{
    if (a->rig->recorder != NULL && a->state == AGENT_RUNNING) {
        recorder_abandon(a->rig->recorder);
    }
    kill_agent(a, AGENT_CANCELLED);
}

int agent_free(struct agent *a, struct err *e)
{
    if (a == NULL) {
        return 0;
    }
    child_free(a->child);
    loop_undefer(a->all->loop, on_too_much, a);
    sched_free(a->clock);
    close_session(a);
    int rc = rig_free(a->rig, e);
    buf_free(&a->out);
    buf_free(&a->err);
    buf_free(&a->log);
    arena_free(a->arena);
    free(a);
    return rc;
}

/* ---- what it came to ---- */

/* The last line of stderr, without the address of our server, which is another one each time. */
static struct str last_line(struct agent *a)
{
    struct str all = str_trim(buf_str(&a->err));
    size_t from = all.n;
    while (from > 0 && all.p[from - 1] != '\n') {
        from--;
    }
    struct str line = text_preview(a->arena, str_slice(all, from, all.n), LAST_LINE_CHARS);
    struct str url = serve_url(a->all->serve);
    struct str host = str_slice(url, strlen("http://"), url.n);
    size_t at = str_find(line, host);
    return at == SIZE_MAX
               ? line
               : arena_printf(a->arena, "%.*s127.0.0.1%.*s", STR_FMT(str_slice(line, 0, at)),
                              STR_FMT(str_slice(line, at + host.n, line.n)));
}

/* How the process ended, with the end of what it complained of. */
static struct str process_end(struct agent *a)
{
    struct str said = last_line(a);
    struct str how = a->signal != 0
                         ? arena_printf(a->arena, "the program was ended by signal %d", a->signal)
                         : arena_printf(a->arena, "the program ended with status %d", a->status);
    return said.n == 0 ? how
                       : arena_printf(a->arena, "%.*s: %.*s (%s)", STR_FMT(how), STR_FMT(said),
                                      a->o.stderr_name);
}

static enum run_status status_of(struct agent *a, struct str *reason)
{
    const struct failure *unanswered = traffic_unanswered(&a->traffic);
    *reason = STR("");
    if (a->state == AGENT_CANCELLED) {
        return RUN_CANCELLED;
    }
    if (a->rig->player != NULL && player_report(a->rig->player).misses > 0) {
        return RUN_CASSETTE_MISS;
    }
    if (a->traffic.mismatch.n > 0) {
        *reason = a->traffic.mismatch;
        return RUN_SCRIPT_MISMATCH;
    }
    switch (a->state) {
    case AGENT_TIMED_OUT:
        *reason = arena_printf(a->arena, "the program was killed after %" PRId64 " s",
                               a->o.task->budget.seconds);
        return RUN_TIME_BUDGET;
    case AGENT_HELD:
        *reason = arena_printf(a->arena,
                               "the program ended, but what it left running outside of its process "
                               "group kept its output open until %" PRId64
                               " s were over: give that another output (>/dev/null)",
                               a->o.task->budget.seconds);
        return RUN_TIME_BUDGET;
    case AGENT_TOO_MUCH:
        *reason = arena_printf(a->arena, "the program %s than may be and was killed", a->too_much);
        return RUN_PROGRAM_FAILED;
    case AGENT_RUNNING:
    case AGENT_EXITED:
    case AGENT_CANCELLED: break;
    }
    if (a->status == 0 && a->signal == 0) {
        return RUN_COMPLETED;
    }
    if (unanswered != NULL || a->refused.n > 0) {
        struct str why = a->refused.n > 0 ? a->refused : unanswered->message;
        *reason = arena_printf(a->arena, "%.*s; %.*s", STR_FMT(why), STR_FMT(process_end(a)));
        return RUN_MODEL_ERROR;
    }
    *reason = process_end(a);
    return RUN_PROGRAM_FAILED;
}

static int write_file(const char *path, struct str text, struct err *e)
{
    struct appender *f = NULL;
    int rc = appender_open(path, APPEND_TRUNCATE, &f, e);
    if (rc != 0) {
        return rc;
    }
    rc = appender_add(f, text, e);
    int closed = appender_close(f, rc == 0 ? e : NULL);
    return rc != 0 ? rc : closed;
}

/* What it wrote to stderr is kept where it did not end well. */
static int keep_stderr(struct agent *a, enum run_status status, struct err *e)
{
    int rc = 0;
    if (a->err.n > 0 && status != RUN_COMPLETED && status != RUN_CANCELLED) {
        rc = dir_make(path_dir(a->arena, a->o.stderr_path), e);
        rc = rc != 0 ? rc : write_file(a->o.stderr_path, buf_str(&a->err), e);
    }
    return rc;
}

static struct agent_facts facts_of(struct agent *a)
{
    const struct kernel_config *c = &a->rig->config;
    struct str said = str_trim(buf_str(&a->out));
    struct agent_facts f = {.run = c->run,
                            .seed = c->seed,
                            .started_at = c->started_at,
                            .command = a->all->command->text,
                            .task = a->o.task,
                            .prices = a->o.rig->prices,
                            .timed = a->rig->fake == NULL,
                            .answer = said.n > 0 ? said : (struct str){NULL, 0}};
    f.status = status_of(a, &f.reason);
    return f;
}

struct rig *agent_rig(struct agent *a)
{
    return a->rig;
}

/* Its trace and what it complained of are written once. */
static int tell_outcome(struct agent *a, struct err *e)
{
    struct agent_facts facts = facts_of(a);
    a->told = true;
    agent_log(&a->traffic, &facts, &a->log, &a->outcome);
    int rc = write_file(a->o.rig->trace, buf_str(&a->log), e);
    return rc != 0 ? rc : keep_stderr(a, facts.status, e);
}

int agent_outcome(struct agent *a, struct rig_outcome *out, struct err *e)
{
    int rc = a->told ? 0 : tell_outcome(a, e);
    *out = a->outcome;
    rig_source_outcome(a->rig, out);
    if (a->refused.n > 0 && out->result.status == RUN_COMPLETED) {
        out->warning = a->refused;
    } else if (a->traffic.requests == 0 && out->result.status == RUN_COMPLETED) {
        out->warning = STR("the program asked no model: does it take its base URL from "
                           "OPENAI_BASE_URL or ANTHROPIC_BASE_URL?");
    }
    return rc;
}

/* ---- the server ---- */

int agents_new(struct loop *loop, const struct agent_command *command, struct str no_proxy,
               struct agents **out, struct err *e)
{
    struct agents *a = mem_zero(sizeof *a);
    a->loop = loop;
    a->command = command;
    a->no_proxy = no_proxy;
    struct serve_options o = {.loop = loop,
                              .address = "127.0.0.1",
                              .source = SERVE_PLACED,
                              .limits = SERVER_LIMITS_DEFAULT,
                              .sessions_max = EVAL_JOBS_MAX};
    int rc = serve_new(&o, &a->serve, e);
    if (rc != 0) {
        free(a);
        return rc;
    }
    *out = a;
    return 0;
}

void agents_free(struct agents *a)
{
    if (a != NULL) {
        int rc = serve_free(a->serve, NULL);
        (void)rc; /* it records nothing itself */
        free(a);
    }
}
