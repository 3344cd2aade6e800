#include "kernel/core/tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/json.h"

/* What is known of a call of the last reply. */
struct watched {
    struct str id;
    struct str name;
    bool started;   /* its tool_start stands in the log */
    bool commanded; /* CMD_CALL_TOOL came for it */
    bool open;      /* and it has no result yet */
    bool stop_due;  /* it was answered while open: CMD_STOP_TOOL must come */
    bool asking;
    bool answered;
};

enum { FAULT_BYTES = 256 };

struct check {
    struct kernel_config config;
    struct arena *arena;
    char fault[FAULT_BYTES];
    int64_t seq;
    uint64_t t_ms;
    bool model_open;
    bool logged_end; /* run_end is the last line */
    bool finished;   /* CMD_FINISH has come since the last start or resume */
    bool working;    /* the user has spoken and the run has not ended */
    bool time_up;    /* the time budget was spent when EV_TIME was fed: the run must have ended */
    bool cut;        /* the last reply was cut */
    bool compacted;  /* since the last reply */
    size_t said;     /* user messages behind the last reply */
    struct watched *calls;
    size_t n_calls;
    size_t last_start; /* one past the call whose tool_start came last */
    struct str due;    /* the call whose result was fed: its line comes next; n 0 = none */
    int64_t steps, tokens, calls_run, cost; /* since the user's message */
    int64_t reply_calls_run;
    int64_t cost_all;
    bool cost_known;
    uint64_t began_ms;     /* of the user's message */
    struct budget allowed; /* as it was when the last reply came */
};

/* ---- faults ---- */

static void blame(struct check *c, const char *what, struct str who)
{
    if (c->fault[0] == '\0') {
        struct str named = who.n == 0 ? STR("") : who; /* with a pointer, which gcc 12 asks for */
        snprintf(c->fault, sizeof c->fault, "%s%s%.*s (line %lld)", what, who.n == 0 ? "" : ": ",
                 STR_FMT(named), (long long)c->seq);
    }
}

static void must(struct check *c, bool holds, const char *what)
{
    if (!holds) {
        blame(c, what, (struct str){NULL, 0});
    }
}

struct check *check_new(const struct kernel_config *config)
{
    struct check *c = mem_zero(sizeof *c);
    c->config = *config;
    c->arena = arena_new();
    c->cost_known = config->price != NULL;
    return c;
}

void check_free(struct check *c)
{
    if (c != NULL) {
        arena_free(c->arena);
        free(c);
    }
}

const char *check_fault(const struct check *c)
{
    return c->fault[0] == '\0' ? NULL : c->fault;
}

static struct watched *find(struct check *c, struct str id)
{
    for (size_t i = 0; i < c->n_calls; i++) {
        if (str_eq(c->calls[i].id, id)) {
            return &c->calls[i];
        }
    }
    return NULL;
}

/* ---- events ---- */

/* Whether a tool runs, or has not been told to stop. */
static bool tools_open(const struct check *c)
{
    for (size_t i = 0; i < c->n_calls; i++) {
        if (c->calls[i].open || c->calls[i].stop_due) {
            return true;
        }
    }
    return false;
}

static void after_resume(struct check *c, const struct event *ev)
{
    if (ev->config != NULL) {
        struct str system = c->config.system;
        c->config = *ev->config;
        c->config.system = system; /* the run keeps its own */
    }
    c->finished = false;
}

static void check_time(struct check *c)
{
    must(c, !c->time_up || c->logged_end, "I9: the run outlives its time");
    c->time_up = false;
}

void check_event(struct check *c, const struct event *ev, int rc, uint64_t now)
{
    if (rc != 0) {
        return;
    }
    must(c, now >= c->t_ms, "I5: an event was taken from the past");
    must(c, !c->finished || ev->kind == EV_RESUME, "I7: an event was taken after the end");
    c->due = (struct str){NULL, 0};
    check_time(c);
    switch (ev->kind) {
    case EV_REPLY:
    case EV_SUMMARY:
        must(c, c->model_open, "I6: a reply was taken that nobody asked for");
        c->model_open = false;
        break;
    case EV_FAILURE:
        must(c,
             c->model_open || ev->failure->class == FAIL_MISS || ev->failure->class == FAIL_SCRIPT,
             "I6: a failure was taken of a call that nobody made");
        c->model_open = false;
        break;
    case EV_TOOL_RESULT: {
        struct watched *w = find(c, ev->call_id);
        if (w == NULL || !w->open) {
            blame(c, "I2: a result was taken of a call that is not open", ev->call_id);
            return;
        }
        w->open = false;
        c->due = w->id;
        break;
    }
    case EV_RESUME: after_resume(c, ev); break;
    case EV_TIME:
        c->time_up = c->working && now >= c->began_ms + (uint64_t)c->config.budget.seconds * 1000;
        break;
    case EV_USER_MESSAGE:
    case EV_APPROVAL:
    case EV_CANCEL: break;
    }
}

void check_crash(struct check *c)
{
    c->model_open = false;
    c->finished = false;
    c->time_up = false;
    for (size_t i = 0; i < c->n_calls; i++) {
        c->calls[i].open = false;
        c->calls[i].stop_due = false;
        c->calls[i].asking = false;
    }
}

/* ---- lines ---- */

static int64_t whole(const struct val *v, const char *key, int64_t otherwise)
{
    int64_t n = otherwise;
    return val_int(val_get(v, key), &n) ? n : otherwise;
}

static struct str word(const struct val *v, const char *key)
{
    return val_text(val_get(v, key));
}

/* The budgets as they must stand when a step begins. */
static void on_step_start(struct check *c)
{
    const struct budget *b = &c->config.budget;
    must(c, c->steps < b->steps, "I9: a step beyond the budget of steps");
    must(c, c->tokens < b->tokens, "I9: a step beyond the budget of tokens");
    must(c, c->t_ms < c->began_ms + (uint64_t)b->seconds * 1000,
         "I9: a step beyond the budget of time");
    must(c, !c->cost_known || c->cost < b->cost_nano, "I9: a step beyond the budget of cost");
    c->steps++;
    c->working = true;
    for (size_t i = 0; i < c->n_calls; i++) {
        if (!c->calls[i].answered) {
            blame(c, "I2: a step begins before this call has its result", c->calls[i].id);
        }
    }
}

static void add_usage(struct check *c, const struct val *line)
{
    const struct val *usage = val_get(line, "usage");
    int64_t in = whole(usage, "input", -1), out = whole(usage, "output", -1);
    int64_t cost = whole(line, "cost_nano", -1);
    c->tokens += (in > 0 ? in : 0) + (out > 0 ? out : 0);
    c->cost += cost > 0 ? cost : 0;
    c->cost_all += cost > 0 ? cost : 0;
    c->cost_known = c->cost_known && cost >= 0;
}

static void on_reply(struct check *c, const struct val *line)
{
    const struct val *calls = val_get(line, "calls");
    struct str stop = word(line, "stop");
    for (size_t i = 0; i < c->n_calls; i++) {
        if (!c->calls[i].answered) {
            blame(c, "I2: a reply comes before this call has its result", c->calls[i].id);
        }
    }
    c->cut =
        str_is(stop, "max_tokens") || str_is(stop, "content_filter") || str_is(stop, "refusal");
    c->n_calls = calls->count;
    c->calls = arena_array(c->arena, c->n_calls, sizeof *c->calls);
    c->last_start = 0;
    c->reply_calls_run = 0;
    c->compacted = false;
    c->said = 0;
    c->allowed = c->config.budget;
    for (size_t i = 0; i < c->n_calls; i++) {
        const struct val *call = val_item(calls, i);
        c->calls[i] = (struct watched){.id = word(call, "id"), .name = word(call, "name")};
    }
    add_usage(c, line);
}

static void on_tool_start(struct check *c, const struct watched *w, struct str id)
{
    if (w == NULL) {
        blame(c, "I3: a call starts that the last reply did not make", id);
        return;
    }
    size_t i = (size_t)(w - c->calls);
    must(c, !w->answered && !w->started, "I2: a call starts that has its result");
    must(c, i >= c->last_start, "I8: calls start out of their order");
    for (size_t j = 0; j < i; j++) {
        must(c, !c->calls[j].asking, "I8: a call overtakes one that waits for approval");
    }
    c->calls[i].started = true;
    c->last_start = i + 1;
}

static void on_tool_result(struct check *c, struct watched *w, struct str id, const struct val *v)
{
    if (w == NULL) {
        blame(c, "I3: a result of a call that the last reply did not make", id);
        return;
    }
    bool cancelled = str_is(word(val_get(v, "error"), "code"), "CANCELLED");
    if (w->answered) {
        blame(c, "I2: a second result for a call", id);
    }
    must(c, w->started || cancelled, "I8: a result of a call that has not started");
    must(c, c->due.n == 0 || str_eq(c->due, id), "I8: results stand out of the order of finishing");
    c->due = (struct str){NULL, 0};
    w->answered = true;
    w->stop_due = w->open;
    w->open = false;
    w->asking = false;
}

static void on_tool_retry(struct check *c, struct watched *w, struct str id)
{
    must(c, c->due.n == 0 || str_eq(c->due, id), "I8: a retry of another call than ended");
    must(c, w != NULL && w->started && !w->answered, "I2: a retry of a call that is not due");
    c->due = (struct str){NULL, 0};
    if (w != NULL) {
        w->stop_due = w->open;
        w->open = false;
    }
}

/* What the line says of budget and currency. */
static void on_resume(struct check *c, const struct val *changed)
{
    const struct val *v = val_get(changed, "budget"), *cost = val_get(v, "cost_usd");
    struct budget *b = &c->config.budget;
    const struct budget usual = BUDGET_DEFAULT;
    if (v != NULL) {
        *b = (struct budget){.steps = whole(v, "steps", 0),
                             .tokens = whole(v, "tokens", 0),
                             .seconds = whole(v, "seconds", 0),
                             .calls = whole(v, "calls", usual.calls),
                             .calls_per_reply = whole(v, "calls_per_reply", usual.calls_per_reply)};
        must(c, num_scaled(cost->text, 9, &b->cost_nano), "I9: a budget of cost that is none");
    }
    if (val_get(changed, "currency") != NULL && c->cost_all > 0) {
        c->cost_known = false;
    }
}

static void on_user_message(struct check *c)
{
    c->steps = c->tokens = c->calls_run = c->cost = 0;
    c->began_ms = c->t_ms;
    c->working = true;
    c->said++;
    for (size_t i = 0; i < c->n_calls; i++) {
        if (!c->calls[i].answered) {
            blame(c, "I2: the user speaks before this call has its result", c->calls[i].id);
        }
    }
}

static void on_run_end(struct check *c)
{
    for (size_t i = 0; i < c->n_calls; i++) {
        if (!c->calls[i].answered) {
            blame(c, "I2: the run ends before this call has its result", c->calls[i].id);
        }
    }
    c->logged_end = true;
    c->working = false;
}

static void on_final(struct check *c)
{
    for (size_t i = 0; i < c->n_calls; i++) {
        must(c, !c->calls[i].commanded, "I10: a call was carried out beside a terminal call");
    }
}

static void take_line(struct check *c, const struct val *v)
{
    struct str type = word(v, "type"), id = word(v, "call_id");
    int64_t t = whole(v, "t_ms", -1);
    must(c, whole(v, "seq", -1) == c->seq + 1, "I11: seq leaves a gap");
    must(c, t >= (int64_t)c->t_ms, "I5: t_ms falls");
    must(c, !c->logged_end || str_is(type, "resume"), "I7: a line after the end");
    c->seq++;
    c->t_ms = t < 0 ? 0 : (uint64_t)t;
    c->logged_end = false;
    if (str_is(type, "step_start")) {
        on_step_start(c);
    } else if (str_is(type, "llm_reply")) {
        on_reply(c, v);
    } else if (str_is(type, "tool_start")) {
        on_tool_start(c, find(c, id), id);
    } else if (str_is(type, "tool_result")) {
        on_tool_result(c, find(c, id), id, v);
    } else if (str_is(type, "tool_retry")) {
        on_tool_retry(c, find(c, id), id);
    } else if (str_is(type, "user_message")) {
        on_user_message(c);
    } else if (str_is(type, "compaction")) {
        c->compacted = true;
        if (val_get(v, "usage") != NULL) {
            add_usage(c, v);
        }
    } else if (str_is(type, "approval") && find(c, id) != NULL) {
        find(c, id)->asking = false;
    } else if (str_is(type, "resume")) {
        on_resume(c, val_get(v, "changed"));
    } else if (str_is(type, "final")) {
        on_final(c);
    } else if (str_is(type, "run_end")) {
        on_run_end(c);
    }
}

void check_lines(struct check *c, struct str lines)
{
    while (lines.n > 0) {
        size_t end = str_find(lines, STR("\n"));
        struct val *v = NULL;
        if (end == SIZE_MAX ||
            json_parse(c->arena, NULL, arena_str(c->arena, str_slice(lines, 0, end)), &v, NULL) !=
                0) {
            blame(c, "I11: no whole line of JSON", str_slice(lines, 0, 80));
            return;
        }
        take_line(c, v);
        lines = str_slice(lines, end + 1, lines.n);
    }
}

/* ---- histories ---- */

/* Where the results of message i's calls end; blames what is missing, doubled or misplaced. */
static size_t check_results(struct check *c, const struct message *m, size_t n, size_t i)
{
    for (size_t j = 0; j < m[i].n_calls; j++) {
        struct str id = m[i].calls[j].id;
        size_t at = i + 1 + j;
        must(c, id.n > 0 && m[i].calls[j].name.n > 0, "I1: a call without its id or name");
        if (at >= n || m[at].role != ROLE_TOOL || !str_eq(m[at].call_id, id)) {
            blame(c, "I1: a call without its result in its place", id);
            return at;
        }
        for (size_t other = 0; other < j; other++) {
            must(c, !str_eq(id, m[i].calls[other].id), "I1: an id stands twice in one message");
        }
    }
    return i + 1 + m[i].n_calls;
}

static void check_messages(struct check *c, const struct message *m, size_t n)
{
    struct str system = c->config.system;
    bool first = n > 0 && m[0].role == ROLE_SYSTEM;
    must(c, first == (system.p != NULL) && (!first || str_eq(m[0].content, system)),
         "I4: the system message is not message 0");
    for (size_t i = first ? 1 : 0; i < n;) {
        must(c, m[i].role != ROLE_SYSTEM, "I4: a second system message");
        must(c, m[i].role != ROLE_TOOL, "I1: a result without its call");
        must(c, m[i].role == ROLE_ASSISTANT || m[i].n_calls == 0, "I1: a call that no model made");
        i = m[i].role == ROLE_ASSISTANT ? check_results(c, m, n, i) : i + 1;
    }
}

/* The newest messages are the calls of the last reply and then their results. */
static void check_tail(struct check *c, const struct message *m, size_t n)
{
    size_t behind = c->said;
    if (c->n_calls == 0 || c->compacted) {
        return;
    }
    if (n < c->n_calls + 1 + behind) {
        blame(c, "I2: the last reply's calls are not in the history", (struct str){NULL, 0});
        return;
    }
    const struct message *owner = &m[n - behind - c->n_calls - 1];
    must(c, owner->role == ROLE_ASSISTANT && owner->n_calls == c->n_calls,
         "I3: the reply does not stand before its results");
    for (size_t i = 0; i < c->n_calls; i++) {
        must(c, str_eq(owner[i + 1].call_id, c->calls[i].id), "I2: results out of call order");
    }
}

/* ---- commands ---- */

static void on_call_model(struct check *c, const struct command *cmd)
{
    must(c, !c->model_open, "I6: a second model call");
    must(c, !tools_open(c), "I6: a model call beside a tool");
    c->model_open = true;
    if (cmd->kind == CMD_CALL_MODEL) {
        check_messages(c, cmd->messages, cmd->n_messages);
        check_tail(c, cmd->messages, cmd->n_messages);
    }
}

static void on_call_tool(struct check *c, const struct command *cmd)
{
    struct watched *w = find(c, cmd->call_id);
    const struct budget *b = &c->allowed;
    struct val *v = NULL;
    if (w == NULL || w->answered || w->open || !w->started) {
        blame(c, "I2: a call is carried out that is not due", cmd->call_id);
        return;
    }
    must(c, !c->model_open, "I6: a tool beside a model call");
    must(c, !c->cut, "I10: a call of a reply that was cut");
    must(c, json_parse(c->arena, NULL, cmd->arguments, &v, NULL) == 0 && val_is(v, VAL_OBJECT),
         "I10: arguments that are no object");
    if (!w->commanded) {
        c->calls_run++;
        c->reply_calls_run++;
    }
    must(c, c->calls_run <= b->calls, "I9: a call beyond the budget of calls");
    must(c, c->reply_calls_run <= b->calls_per_reply, "I9: too many calls of one reply");
    must(c, c->tokens < b->tokens, "I9: a call beyond the budget of tokens");
    w->commanded = w->open = true;
}

void check_command(struct check *c, const struct command *cmd)
{
    struct watched *w = find(c, cmd->call_id);
    must(c, !c->finished, "I7: a command after the end");
    check_time(c);
    switch (cmd->kind) {
    case CMD_CALL_MODEL:
    case CMD_SUMMARISE: on_call_model(c, cmd); break;
    case CMD_STOP_MODEL:
        must(c, c->model_open, "I6: a model call is stopped that is not open");
        c->model_open = false;
        break;
    case CMD_CALL_TOOL: on_call_tool(c, cmd); break;
    case CMD_STOP_TOOL:
        must(c, w != NULL && w->commanded, "I2: a tool is stopped that is not open");
        if (w != NULL) {
            w->stop_due = false;
        }
        break;
    case CMD_ASK_APPROVAL:
        must(c, w != NULL && !w->started && !w->answered, "I8: approval of a call that is not due");
        if (w != NULL) {
            w->asking = true;
        }
        break;
    case CMD_FINISH:
        must(c, c->logged_end, "I7: the end is not in the log");
        must(c, !c->model_open && !tools_open(c), "I7: something is open at the end");
        c->finished = true;
        break;
    }
}
