#include "kernel/core/tests/play.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernel/base/hash.h"
#include "kernel/base/json.h"
#include "kernel/core/snapshot.h"

enum { CALLS_MAX = 5, EVENTS_MAX = 600, TEXT_LONG = 1200 };

/* A call that has its result, or of a tool that must not be used twice and has begun. */
struct done {
    struct done *next;
    int64_t step;
    struct str id;
};

static uint64_t below(struct play *p, uint64_t bound)
{
    return p->choose(p->ctx, bound);
}

/* True n times in `of`. */
static bool chance(struct play *p, uint64_t n, uint64_t of)
{
    return below(p, of) < n;
}

__attribute__((format(printf, 2, 3))) static void fault(struct play *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (p->fault[0] == '\0') {
        vsnprintf(p->fault, sizeof p->fault, fmt, args);
    }
    va_end(args);
}

const char *play_fault(const struct play *p)
{
    return p->fault[0] != '\0' ? p->fault : p->check == NULL ? NULL : check_fault(p->check);
}

/* ---- what things are made of ---- */

static const char *const tool_names[PLAY_TOOLS] = {"lookup", "refund",  "task_done", "in_turn",
                                                   "watch",  "set_key", "destroy"};

void play_make_tools(struct arena *arena, struct tool_spec tools[PLAY_TOOLS])
{
    static const char *const schema =
        "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"n\":{\"type\":"
        "\"integer\"}},\"additionalProperties\":false}";
    for (size_t i = 0; i < PLAY_TOOLS; i++) {
        struct val *v = NULL;
        tools[i] = (struct tool_spec){.name = str_of(tool_names[i]),
                                      .parameters = i % 2 == 0 ? str_of(schema)
                                                               : STR("{\"type\":\"object\"}"),
                                      .tier = i == 1 || i == 5 ? TIER_WRITE
                                              : i == 6         ? TIER_DANGER
                                                               : TIER_READ,
                                      .terminal = i == 2,
                                      .serial = i == 3,
                                      .polling = i == 4,
                                      .idempotent = i == 5,
                                      .timeout_ms = 1000,
                                      .max_output = TOOL_OUTPUT_CHARS};
        if (json_parse(arena, NULL, tools[i].parameters, &v, NULL) == 0 &&
            schema_new(v, SCHEMA_2020_12, &tools[i].validator, NULL) == 0) {
            tools[i].schema = v;
        }
    }
}

void play_free_tools(struct tool_spec tools[PLAY_TOOLS])
{
    for (size_t i = 0; i < PLAY_TOOLS; i++) {
        schema_free(tools[i].validator);
    }
}

static struct str some_text(struct play *p)
{
    static const char *const texts[] = {
        "hello",
        "",
        "  ",
        "the answer is 4.2",
        "\xe4\xbb\xb7\xe6\xa0\xbc \xf0\x9f\x98\x80",
        "bad \xff\xc3( bytes",
        "```json\n{\"name\":\"lookup\",\"arguments\":{\"id\":\"7\"}}\n```",
        "a \"quoted\"\\ line\nand another\t",
        "it failed (after 1 retry)",
    };
    uint64_t which = below(p, sizeof texts / sizeof texts[0] + 1);
    if (which < sizeof texts / sizeof texts[0]) {
        return str_of(texts[which]);
    }
    char *text = arena_alloc(p->arena, TEXT_LONG);
    memset(text, 'a' + (int)below(p, 26), TEXT_LONG);
    return (struct str){text, 100 + below(p, TEXT_LONG - 100)};
}

static struct price some_price(struct play *p)
{
    return (struct price){.input = 1000000000 + (int64_t)below(p, 1000),
                          .cached = chance(p, 1, 2) ? -1 : 100000000,
                          .cache_write = -1,
                          .output = 5000000000,
                          .reasoning = -1};
}

static void choose_price(struct play *p, struct kernel_config *c)
{
    c->price = NULL;
    if (chance(p, 1, 2)) {
        struct price *price = arena_alloc(p->arena, sizeof *price);
        *price = some_price(p);
        c->price = price;
    }
}

static void choose_budget(struct play *p, struct budget *b)
{
    *b = BUDGET_DEFAULT;
    b->steps = 1 + (int64_t)below(p, 30);
    b->calls_per_reply = chance(p, 1, 2) ? 10 : (int64_t)below(p, 4);
    b->calls = chance(p, 1, 2) ? 50 : (int64_t)below(p, 8);
    b->tokens = chance(p, 1, 2) ? 60000 : (int64_t)below(p, 3000);
    b->seconds = chance(p, 1, 2) ? 120 : (int64_t)below(p, 20);
    b->cost_nano = chance(p, 3, 4) ? 500000000 : (int64_t)below(p, 3000000);
}

static void choose_settings(struct play *p, struct kernel_config *c)
{
    c->repeat = (enum repeat_policy)below(p, 3);
    c->max_consecutive = 2 + (int64_t)below(p, 3);
    c->no_progress = chance(p, 1, 2) ? 0 : (int64_t)below(p, 6);
    for (size_t i = 0; i < 3; i++) {
        c->tiers[i] = chance(p, 1, 2) ? TIER_POLICY_ALLOW : (enum tier_policy)below(p, 3);
    }
    c->context_tokens = chance(p, 1, 2) ? 24000 : (int64_t)below(p, 800);
    c->compaction = (enum compaction)below(p, 2);
    c->keep_steps = 1 + (int64_t)below(p, 3);
    c->fenced_calls = chance(p, 1, 2);
    c->close_names = chance(p, 1, 2);
    c->tool_retries = (int64_t)below(p, 3);
    c->tool_backoff_ms = chance(p, 1, 4) ? 0 : 200;
    c->model_attempts = 1 + (int64_t)below(p, 3);
    c->backoff_ms = chance(p, 1, 4) ? 0 : 500;
    c->backoff_cap_ms = chance(p, 1, 2) ? 60000 : 1000;
}

/* ---- commands ---- */

static bool is_done(const struct play *p, int64_t step, struct str id)
{
    for (const struct done *d = p->done; d != NULL; d = d->next) {
        if (d->step == step && str_eq(d->id, id)) {
            return true;
        }
    }
    return false;
}

static void note_done(struct play *p, int64_t step, struct str id)
{
    struct done *d = arena_alloc(p->arena, sizeof *d);
    *d = (struct done){p->done, step, arena_str(p->arena, id)};
    p->done = d;
}

static size_t find_open(const struct play *p, struct str id)
{
    for (size_t i = 0; i < p->n_open; i++) {
        if (str_eq(p->open[i], id)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static void close_tool(struct play *p, struct str id)
{
    size_t i = find_open(p, id);
    if (i != SIZE_MAX) {
        p->open[i] = p->open[--p->n_open];
    }
}

static void call_tool(struct play *p, const struct command *c)
{
    const struct tool_spec *tool = &p->config.tools[c->tool];
    if (is_done(p, c->step, c->call_id)) {
        fault(p, "%.*s of step %lld is carried out again", STR_FMT(c->call_id), (long long)c->step);
    }
    if (!str_eq(tool->name, c->name)) {
        fault(p, "%.*s is to be carried out by %.*s", STR_FMT(c->name), STR_FMT(tool->name));
    }
    if (tool->tier != TIER_READ && !tool->idempotent) {
        note_done(p, c->step, c->call_id); /* it has its effect as soon as it begins */
    }
    if (p->n_open < PLAY_OPEN_MAX) {
        p->open[p->n_open++] = arena_str(p->arena, c->call_id);
    }
}

static void hash_text(struct play *p, struct str text)
{
    p->commanded = hash64(p->commanded ^ (text.p == NULL), text);
}

static void hash_command(struct play *p, const struct command *c)
{
    const int64_t numbers[] = {c->kind,    (int64_t)c->n_messages, c->step,
                               c->attempt, (int64_t)c->tool,       c->order,
                               c->status};
    const struct str texts[] = {c->call_id, c->name, c->arguments, c->request_id};
    hash_text(p, (struct str){(const char *)numbers, sizeof numbers});
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        hash_text(p, texts[i]);
    }
    for (size_t i = 0; i < c->n_messages; i++) {
        const struct message *m = &c->messages[i];
        const struct str words[] = {m->content, m->reasoning, m->parts, m->call_id};
        const char marks[] = {(char)m->role, m->content_null, m->notice};
        hash_text(p, (struct str){marks, sizeof marks});
        for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
            hash_text(p, words[w]);
        }
        for (size_t t = 0; t < m->n_calls; t++) {
            hash_text(p, m->calls[t].id);
            hash_text(p, m->calls[t].name);
            hash_text(p, m->calls[t].arguments);
        }
    }
}

static void take(struct play *p, const struct command *c)
{
    check_command(p->check, c);
    hash_command(p, c);
    switch (c->kind) {
    case CMD_CALL_MODEL:
        if ((history_check(c->messages, c->n_messages, NULL) == 0) !=
            (check_fault(p->check) == NULL || strncmp(check_fault(p->check), "I1", 2) != 0)) {
            fault(p, "history_check and the checker of I1 do not agree");
        }
        p->model_open = true;
        break;
    case CMD_SUMMARISE:
        p->summary_open = true;
        p->summaries++;
        break;
    case CMD_STOP_MODEL: p->model_open = p->summary_open = false; break;
    case CMD_CALL_TOOL: call_tool(p, c); break;
    case CMD_STOP_TOOL: close_tool(p, c->call_id); break;
    case CMD_ASK_APPROVAL:
        p->asking = arena_str(p->arena, c->call_id);
        p->approvals++;
        break;
    case CMD_FINISH:
        p->finished = true;
        p->ends++;
        break;
    }
}

/* The results that stand in these lines: their calls are never to be carried out again. */
static void note_results(struct play *p, struct str lines)
{
    for (size_t end; (end = str_find(lines, STR("\n"))) != SIZE_MAX;) {
        struct val *v = NULL;
        struct str line = arena_str(p->arena, str_slice(lines, 0, end));
        int64_t step = 0;
        if (json_parse(p->arena, NULL, line, &v, NULL) == 0) {
            struct str type = val_text(val_get(v, "type"));
            if (str_is(type, "tool_result") && val_int(val_get(v, "step"), &step)) {
                note_done(p, step, val_text(val_get(v, "call_id")));
            }
            p->compactions += str_is(type, "compaction");
        }
        lines = str_slice(lines, end + 1, lines.n);
    }
}

static int feed(struct play *p, const struct event *ev);

/* A driver wakes the kernel before any event that is later than its deadline. */
static void wake(struct play *p)
{
    for (int i = 0; !p->finished && kernel_deadline(p->k) < p->now; i++) {
        feed(p, &(struct event){.kind = EV_TIME});
        if (i == 100) {
            fault(p, "the deadline does not pass");
            return;
        }
    }
}

/* What comes from the past is refused, whatever it is. */
static void feed_past(struct play *p)
{
    uint64_t now = kernel_now(p->k);
    if (now > 0 &&
        kernel_feed(p->k, &(struct event){.kind = EV_CANCEL, .text = STR("late")}, now - 1) == 0) {
        fault(p, "I5: an event was taken from the past");
    }
}

static void take_snapshot(struct play *p)
{
    struct buf text = {0};
    if (p->snapshots > 0 && kernel_snapshot(p->k, &text, NULL) && p->quiet++ % p->snapshots == 0) {
        buf_clear(&p->snapshot);
        buf_add(&p->snapshot, buf_str(&text));
    }
    buf_free(&text);
}

/* Feeds an event, writes the lines, carries out the commands. Where the process may die it may do
 * so at any byte of what is written, before anything of it is carried out. */
static int feed(struct play *p, const struct event *ev)
{
    struct command c;
    struct str id = arena_str(p->arena, ev->call_id);
    if (ev->kind != EV_TIME && ev->kind != EV_RESUME) {
        wake(p);
    }
    bool takes = kernel_takes(p->k, ev);
    int rc = kernel_feed(p->k, ev, p->now);
    struct str lines = kernel_take_log(p->k);
    if (rc == 0 ? !takes : (rc != ERR_STATE || lines.n > 0)) {
        fault(p, "kernel_feed gave %d with %zu bytes of log", rc, lines.n);
    }
    if (rc == 0 && p->crashes && lines.n > 0 && chance(p, 1, 40)) {
        size_t bytes = p->log.n + below(p, lines.n);
        buf_add(&p->log, lines);
        play_resume(p, bytes, SIZE_MAX, chance(p, 1, 4), (struct str){NULL, 0});
        return 0;
    }
    if (rc == 0 && (ev->kind == EV_REPLY || ev->kind == EV_SUMMARY || ev->kind == EV_FAILURE)) {
        p->model_open = p->summary_open = false;
    } else if (rc == 0 && ev->kind == EV_TOOL_RESULT) {
        close_tool(p, id);
    } else if (rc == 0 && (ev->kind == EV_APPROVAL || ev->kind == EV_RESUME)) {
        p->asking.n = 0;
    }
    check_event(p->check, ev, rc, p->now);
    buf_add(&p->log, lines);
    check_lines(p->check, lines);
    note_results(p, lines);
    if (lines.n > 0) {
        take_snapshot(p);
    }
    while (kernel_poll(p->k, &c)) {
        take(p, &c);
    }
    return rc;
}

/* ---- events ---- */

static int64_t some_count(struct play *p)
{
    uint64_t which = below(p, 12);
    return which == 0 ? -1 : which == 1 ? (int64_t)below(p, 5000) : (int64_t)below(p, 100);
}

static void feed_reply(struct play *p)
{
    static const char *const arguments[] = {"{}",
                                            "",
                                            "{\"id\":\"1\"}",
                                            "{\"id\":1}",
                                            "{\"id\":\"2\"",
                                            "[1]",
                                            "null",
                                            "{\"n\":\"3\"}",
                                            "{\"x\":1}",
                                            "\xff\xfe",
                                            "{\"n\":9007199254740993}",
                                            "{\"id\":\"\xff\"}"};
    static const char *const ids[] = {"c1", "c2", "", "call_1_1", "call_10", "\xfe"};
    struct tool_call calls[CALLS_MAX];
    struct reply r = {.content_null = chance(p, 1, 4),
                      .content = some_text(p),
                      .reasoning = chance(p, 1, 8) ? some_text(p) : (struct str){NULL, 0},
                      .calls = calls,
                      .n_calls = chance(p, 1, 3) ? 0 : below(p, CALLS_MAX + 1),
                      .stop = chance(p, 2, 3) ? STOP_END_TURN
                                              : (enum stop_reason)below(p, STOP_PAUSE + 1),
                      .stop_raw = chance(p, 1, 4) ? some_text(p) : (struct str){NULL, 0},
                      .usage = {some_count(p), some_count(p), -1, some_count(p), -1}};
    for (size_t i = 0; i < r.n_calls; i++) {
        uint64_t name = below(p, PLAY_TOOLS * 2 + 3);
        struct str n = name < PLAY_TOOLS * 2 ? str_of(tool_names[name % PLAY_TOOLS])
                                             : str_of(name % 3 == 0   ? "lokup"
                                                      : name % 3 == 1 ? "nobody"
                                                                      : "");
        if (str_is(n, "task_done") && chance(p, 3, 4)) {
            n = STR("lookup");
        }
        struct str args = str_of(arguments[below(p, sizeof arguments / sizeof arguments[0])]);
        if (chance(p, 1, 2)) {
            args = arena_printf(p->arena, "{\"n\":%d}", (int)below(p, 1000));
        }
        calls[i] = (struct tool_call){str_of(ids[below(p, sizeof ids / sizeof ids[0])]), n, args};
    }
    feed(p, &(struct event){.kind = EV_REPLY, .reply = &r});
}

static void feed_failure(struct play *p)
{
    struct failure f = {.class = chance(p, 5, 6) ? (enum fail_class)below(p, FAIL_AUTH)
                                                 : (enum fail_class)below(p, FAIL_SCRIPT + 1),
                        .status = chance(p, 1, 2) ? 0 : 500,
                        .retry_after_ms = chance(p, 1, 2) ? -1 : (int64_t)below(p, 2000),
                        .shown = chance(p, 1, 3),
                        .message = some_text(p)};
    feed(p, &(struct event){.kind = EV_FAILURE, .failure = &f});
}

static void feed_result(struct play *p)
{
    bool ok = chance(p, 3, 4);
    struct tool_output o = {.ok = ok,
                            .content = some_text(p),
                            .code = ok || chance(p, 1, 4) ? STR("")
                                    : chance(p, 1, 3)     ? STR("TIMEOUT")
                                                          : STR("TOOL_ERROR"),
                            .message = some_text(p),
                            .hint = chance(p, 1, 4) ? some_text(p) : (struct str){NULL, 0},
                            .truncated = chance(p, 1, 8),
                            .retryable = chance(p, 1, 2)};
    struct str id = p->n_open == 0 ? STR("c9") : p->open[below(p, p->n_open)];
    feed(p, &(struct event){.kind = EV_TOOL_RESULT, .call_id = id, .output = &o});
}

static void feed_summary(struct play *p)
{
    struct reply r = {.usage = {some_count(p), -1, -1, some_count(p), -1}};
    feed(p, &(struct event){
                .kind = EV_SUMMARY, .text = some_text(p), .reply = chance(p, 1, 2) ? &r : NULL});
}

static void feed_decision(struct play *p)
{
    feed(p, &(struct event){
                .kind = EV_APPROVAL, .call_id = p->asking, .decision = (enum decision)below(p, 3)});
}

/* Lets time pass as a driver does: no deadline is slept through. */
static void pass_time(struct play *p, uint64_t ms)
{
    uint64_t until = p->now + ms;
    for (int i = 0; !p->finished && kernel_deadline(p->k) <= until; i++) {
        uint64_t due = kernel_deadline(p->k);
        if (i == 100) {
            fault(p, "the deadline %llu does not pass", (unsigned long long)due);
            return;
        }
        p->now = due > p->now ? due : p->now;
        feed(p, &(struct event){.kind = EV_TIME});
    }
    p->now = until > p->now ? until : p->now;
}

static void wait_some(struct play *p)
{
    static const uint64_t steps[] = {0, 1, 100, 999, 1000, 5000, 61000};
    pass_time(p, steps[below(p, sizeof steps / sizeof steps[0])]);
}

/* The run goes on after its end, maybe otherwise. */
static void feed_resume(struct play *p)
{
    struct event ev = {.kind = EV_RESUME};
    struct kernel_config config = p->config;
    if (chance(p, 1, 3)) {
        ev.text = some_text(p);
    }
    if (chance(p, 1, 2)) {
        choose_budget(p, &config.budget);
        ev.config = &config;
    }
    if (ev.config != NULL && chance(p, 1, 2)) {
        choose_settings(p, &config);
        choose_price(p, &config);
        config.model = chance(p, 1, 2) ? STR("m") : STR("m-2");
        config.n_tools = chance(p, 1, 2) ? PLAY_TOOLS : below(p, PLAY_TOOLS + 1);
    }
    bool on = kernel_stage(p->k) == STAGE_WORKING, was = p->finished;
    struct kernel_config before = p->config;
    p->finished = false;
    p->config = ev.config == NULL ? before : config;
    if (feed(p, &ev) != 0) {
        p->finished = was;
        p->config = before;
    } else if (on) {
        fault(p, "a run that is on was resumed");
    } else {
        p->resumed++;
    }
}

/* What the world has to say, mostly in its turn. */
static void answer(struct play *p)
{
    if (p->asking.n > 0 && chance(p, 1, 2)) {
        feed_decision(p);
    } else if (p->summary_open && chance(p, 3, 4)) {
        feed_summary(p);
    } else if ((p->model_open || p->summary_open) && chance(p, 1, 5)) {
        feed_failure(p);
    } else if (p->model_open) {
        feed_reply(p);
    } else if (p->n_open > 0) {
        feed_result(p);
    } else if (kernel_stage(p->k) == STAGE_WAITING) {
        feed(p, &(struct event){.kind = EV_USER_MESSAGE, .text = some_text(p)});
    } else {
        wait_some(p);
    }
}

/* What comes when it may, and when it may not. */
static void disturb(struct play *p)
{
    switch (below(p, 9)) {
    case 0: feed_reply(p); break;
    case 1: feed_failure(p); break;
    case 2: feed_result(p); break;
    case 3: feed_summary(p); break;
    case 4: feed(p, &(struct event){.kind = EV_CANCEL, .text = some_text(p)}); break;
    case 5: feed_decision(p); break;
    case 6: feed_resume(p); break;
    case 7: feed_past(p); break;
    default: feed(p, &(struct event){.kind = EV_USER_MESSAGE, .text = some_text(p)}); break;
    }
}

void play_event(struct play *p)
{
    if (p->finished) {
        if (chance(p, 1, 2)) {
            feed_resume(p);
        } else {
            disturb(p);
        }
    } else if (p->crashes && chance(p, 1, 60)) {
        play_resume(p, p->log.n, SIZE_MAX, chance(p, 1, 4),
                    chance(p, 1, 4) ? some_text(p) : (struct str){NULL, 0});
    } else if (chance(p, 1, 12)) {
        disturb(p);
    } else if (chance(p, 1, 6)) {
        wait_some(p);
    } else {
        answer(p);
    }
}

void play_to_end(struct play *p)
{
    for (int i = 0; !p->finished && play_fault(p) == NULL; i++) {
        if (i == EVENTS_MAX) {
            fault(p, "the run does not end");
        }
        answer(p);
    }
}

/* ---- lives ---- */

void play_begin(struct play *p, play_choose *choose, void *ctx)
{
    *p = (struct play){.choose = choose, .ctx = ctx, .arena = arena_new()};
    play_make_tools(p->arena, p->tools);
    struct kernel_config *c = &p->config;
    *c = kernel_config_default();
    c->run = STR("000000000001");
    c->seed = below(p, 1000);
    c->started_at = STR("2026-11-29T18:00:00.000Z");
    c->model = STR("m");
    c->system = chance(p, 1, 2) ? STR("be exact") : (struct str){NULL, 0};
    c->tools = p->tools;
    c->n_tools = PLAY_TOOLS;
    choose_budget(p, &c->budget);
    choose_settings(p, c);
    choose_price(p, c);
    p->first = *c;
    p->k = kernel_new(c);
    p->check = check_new(c);
    struct str lines = kernel_take_log(p->k);
    buf_add(&p->log, lines);
    check_lines(p->check, lines);
}

/* Brings a kernel up from the log's first bytes; what is behind them is cut off. */
static bool bring_up(struct play *p, size_t bytes, size_t lines_max)
{
    struct kernel_replay r = {
        .tools = p->tools, .n_tools = PLAY_TOOLS, .snapshot = buf_str(&p->snapshot)};
    struct kernel_config config;
    struct err e = {0};
    struct str log = arena_str(p->arena, str_slice(buf_str(&p->log), 0, bytes));
    kernel_free(p->k);
    check_free(p->check);
    p->k = NULL;
    p->check = NULL;
    int rc = kernel_config_of_log(p->arena, "log", log, p->tools, PLAY_TOOLS, &config, &e);
    if (rc == 0) {
        p->k = kernel_new(&config);
        rc = kernel_replay(p->k, "log", log, lines_max, &r, &e);
    }
    if (rc != 0) {
        fault(p, "cut at byte %zu: line %u: %s", bytes, e.line, e.message);
    }
    p->restored += r.restored > 0;
    p->log.n = 0;
    buf_add(&p->log, str_slice(log, 0, r.bytes));
    buf_add(&p->log, buf_str(&r.missing));
    buf_free(&r.missing);
    p->check = check_new(&p->first);
    check_lines(p->check, buf_str(&p->log));
    note_results(p, buf_str(&p->log));
    check_crash(p->check);
    return rc == 0;
}

void play_resume(struct play *p, size_t bytes, size_t lines_max, bool change, struct str text)
{
    size_t first = str_find(buf_str(&p->log), STR("\n"));
    if (bytes <= first || first == SIZE_MAX) { /* nothing to resume: it is begun anew */
        bytes = first == SIZE_MAX ? 0 : first + 1;
    }
    p->crashed++;
    p->model_open = p->summary_open = p->finished = false;
    p->n_open = 0;
    p->asking.n = 0;
    bool crashes = p->crashes;
    p->crashes = false;
    if (bring_up(p, bytes, lines_max)) {
        struct event ev = {.kind = EV_RESUME, .text = text, .config = &p->config};
        p->now = kernel_now(p->k) > p->now ? kernel_now(p->k) : p->now;
        if (change) {
            choose_budget(p, &p->config.budget);
            p->config.model = STR("m-3");
            p->config.n_tools = below(p, PLAY_TOOLS + 1);
        }
        if (kernel_stage(p->k) == STAGE_WAITING && text.p == NULL) {
            ev.text = STR("hello again");
        }
        if (feed(p, &ev) != 0) {
            fault(p, "cut at byte %zu: EV_RESUME is not taken", bytes);
        }
    }
    p->crashes = crashes;
}

void play_fork(struct play *p, const struct play *from, size_t bytes, size_t lines_max, bool change,
               struct str text)
{
    *p = (struct play){.choose = from->choose,
                       .ctx = from->ctx,
                       .arena = arena_new(),
                       .config = from->config,
                       .first = from->first};
    play_make_tools(p->arena, p->tools);
    p->config.tools = p->first.tools = p->tools;
    p->snapshots = from->snapshots;
    buf_add(&p->log, buf_str(&from->log));
    buf_add(&p->snapshot, buf_str(&from->snapshot));
    play_resume(p, bytes, lines_max, change, text);
}

size_t play_count_lines(struct str log)
{
    size_t n = 0;
    for (size_t i = 0; i < log.n; i++) {
        n += log.p[i] == '\n';
    }
    return n;
}

void play_end(struct play *p)
{
    kernel_free(p->k);
    check_free(p->check);
    buf_free(&p->log);
    buf_free(&p->snapshot);
    play_free_tools(p->tools);
    arena_free(p->arena);
}
