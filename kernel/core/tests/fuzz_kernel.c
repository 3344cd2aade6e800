/* Any bytes as what happens to a run: messages, replies with any calls, failures, results in any
 * order, time. The invariants at the top of kernel.c hold, and the same bytes give the same log. */
#include <assert.h>

#include "kernel/base/json.h"
#include "kernel/core/kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OPEN_MAX = 64, OPS_MAX = 2000, CALLS_MAX = 4, N_TOOLS = 4 };

/* A run under test, and what of its commands is open. */
struct fuzz {
    const uint8_t *data;
    size_t size;
    size_t at;
    struct arena *arena;
    struct kernel *k;
    struct buf log;
    uint64_t now;
    struct str open[OPEN_MAX]; /* ids of tool calls under way */
    size_t n_open;
    bool model_open;
    bool finished;
};

static uint8_t next(struct fuzz *f)
{
    return f->at < f->size ? f->data[f->at++] : 0;
}

static const struct str names[] = {{"lookup", 6},  {"refund", 6}, {"task_done", 9},
                                   {"in_turn", 7}, {"nobody", 6}, {"", 0}};
static const struct str arguments[] = {{"{}", 2},
                                       {"", 0},
                                       {"{\"id\":\"1\"}", 10},
                                       {"{\"id\":1}", 8},
                                       {"{\"id\":\"2\"", 9},
                                       {"[1]", 3},
                                       {"{\"n\":\"3\"}", 9},
                                       {"null", 4},
                                       {"{\"x\":1}", 7},
                                       {"\xff\xfe", 2}};
static const struct str ids[] = {{"c1", 2}, {"c2", 2}, {"", 0}, {"c1", 2}};

static struct tool_spec make_tool(struct arena *arena, size_t i)
{
    static const struct str schemas[N_TOOLS] = {
        STR("{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"n\":{\"type\":"
            "\"integer\"}},\"additionalProperties\":false}"),
        STR("{\"type\":\"object\"}"), STR("{\"type\":\"object\"}"), STR("{\"type\":\"object\"}")};
    struct tool_spec t = {.name = names[i],
                          .parameters = schemas[i],
                          .tier = i == 1 ? TIER_WRITE : TIER_READ,
                          .terminal = i == 2,
                          .serial = i == 3,
                          .timeout_ms = 1000,
                          .max_output = TOOL_OUTPUT_CHARS};
    struct val *v = NULL;
    int rc = json_parse(arena, NULL, t.parameters, &v, NULL);
    rc = rc != 0 ? rc : schema_new(v, SCHEMA_2020_12, &t.validator, NULL);
    assert(rc == 0);
    t.schema = v;
    return t;
}

/* ---- commands ---- */

static size_t find_open(const struct fuzz *f, struct str id)
{
    for (size_t i = 0; i < f->n_open; i++) {
        if (str_eq(f->open[i], id)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static void close_tool(struct fuzz *f, size_t i)
{
    assert(i != SIZE_MAX);
    f->open[i] = f->open[--f->n_open];
}

static void take(struct fuzz *f, const struct command *c)
{
    struct val *v;
    assert(!f->finished);
    switch (c->kind) {
    case CMD_CALL_MODEL:
        assert(!f->model_open && f->n_open == 0);
        assert(history_check(c->messages, c->n_messages, NULL) == 0);
        f->model_open = true;
        break;
    case CMD_STOP_MODEL:
        assert(f->model_open);
        f->model_open = false;
        break;
    case CMD_CALL_TOOL:
        assert(!f->model_open && f->n_open < OPEN_MAX && find_open(f, c->call_id) == SIZE_MAX);
        assert(json_parse(f->arena, NULL, c->arguments, &v, NULL) == 0 && v->kind == VAL_OBJECT);
        f->open[f->n_open++] = c->call_id;
        break;
    case CMD_STOP_TOOL: close_tool(f, find_open(f, c->call_id)); break;
    case CMD_FINISH:
        assert(!f->model_open && f->n_open == 0);
        f->finished = true;
        break;
    }
}

static void feed(struct fuzz *f, const struct event *ev)
{
    struct command c;
    bool over = f->finished;
    int rc = kernel_feed(f->k, ev, f->now);
    struct str lines = kernel_take_log(f->k);
    assert(rc == 0 || (rc == ERR_STATE && lines.n == 0));
    assert(!over || rc != 0);
    buf_add(&f->log, lines);
    if (rc == 0 && (ev->kind == EV_REPLY || ev->kind == EV_FAILURE)) {
        assert(f->model_open || (ev->kind == EV_FAILURE && (ev->failure->class == FAIL_MISS ||
                                                            ev->failure->class == FAIL_SCRIPT)));
        f->model_open = false;
    }
    if (rc == 0 && ev->kind == EV_TOOL_RESULT) {
        close_tool(f, find_open(f, ev->call_id));
    }
    while (kernel_poll(f->k, &c)) {
        assert(rc == 0);
        take(f, &c);
    }
}

/* ---- events ---- */

static void feed_reply(struct fuzz *f)
{
    struct tool_call calls[CALLS_MAX];
    uint8_t how = next(f);
    struct reply r = {.content_null = (how & 1) != 0,
                      .content = (how & 1) != 0 ? STR("") : STR("text"),
                      .calls = calls,
                      .n_calls = (how >> 1) % (CALLS_MAX + 1),
                      .stop = (enum stop_reason)(next(f) % (STOP_PAUSE + 1)),
                      .usage = {next(f) * 100, -1, -1, next(f), -1}};
    for (size_t i = 0; i < r.n_calls; i++) {
        uint8_t which = next(f);
        calls[i] =
            (struct tool_call){ids[which % 4], names[(which >> 2) % 6],
                               arguments[next(f) % (sizeof arguments / sizeof arguments[0])]};
    }
    feed(f, &(struct event){.kind = EV_REPLY, .reply = &r});
}

static void feed_failure(struct fuzz *f)
{
    struct failure x = {.class = (enum fail_class)(next(f) % (FAIL_SCRIPT + 1)),
                        .status = 500,
                        .retry_after_ms = (int64_t)next(f) * 50 - 1,
                        .message = STR("broken")};
    feed(f, &(struct event){.kind = EV_FAILURE, .failure = &x});
}

static void feed_result(struct fuzz *f)
{
    uint8_t how = next(f);
    struct tool_output o = {.ok = (how & 1) != 0,
                            .content = STR("4.2"),
                            .code = (how & 1) != 0 ? STR("") : STR("TOOL_ERROR"),
                            .message = STR("no"),
                            .retryable = (how & 2) != 0};
    struct str id = f->n_open == 0 || (how & 4) != 0 ? STR("c9") : f->open[(how >> 3) % f->n_open];
    feed(f, &(struct event){.kind = EV_TOOL_RESULT, .call_id = id, .output = &o});
}

/* Lets time pass as a driver does: no deadline is slept through. */
static void pass_time(struct fuzz *f)
{
    static const uint64_t steps[] = {0, 1, 100, 1000, 5000, 61000};
    uint64_t until = f->now + steps[next(f) % 6];
    uint64_t before = UINT64_MAX;
    while (!f->finished && kernel_deadline(f->k) <= until) {
        uint64_t due = kernel_deadline(f->k);
        assert(due != before);
        before = due;
        f->now = due > f->now ? due : f->now;
        feed(f, &(struct event){.kind = EV_TIME});
    }
    f->now = until;
}

static void happen(struct fuzz *f)
{
    switch (next(f) % 8) {
    case 0: feed(f, &(struct event){.kind = EV_USER_MESSAGE, .text = STR("hello")}); break;
    case 1:
    case 2: feed_reply(f); break;
    case 3: feed_failure(f); break;
    case 4:
    case 5: feed_result(f); break;
    case 6: pass_time(f); break;
    default:
        feed(f, &(struct event){.kind = next(f) == 0 ? EV_CANCEL : EV_TIME, .text = STR("te")});
    }
}

/* ---- afterwards ---- */

static void check_log(struct fuzz *f)
{
    int64_t seq = 0, t_ms = 0, was_ms = 0, line = 0;
    bool ended = false;
    for (struct str rest = buf_str(&f->log); rest.n > 0;) {
        size_t end = str_find(rest, STR("\n"));
        struct val *v = NULL;
        int rc = json_parse(f->arena, NULL, str_slice(rest, 0, end), &v, NULL);
        assert(end != SIZE_MAX && rc == 0 && !ended);
        assert(val_int(val_get(v, "seq"), &seq) && seq == ++line);
        assert(val_int(val_get(v, "t_ms"), &t_ms) && t_ms >= was_ms);
        was_ms = t_ms;
        ended = str_is(val_text(val_get(v, "type")), "run_end");
        rest = str_slice(rest, end + 1, rest.n);
    }
    assert(ended == f->finished);
}

static struct buf play(const uint8_t *data, size_t size)
{
    struct fuzz f = {.data = data, .size = size, .arena = arena_new()};
    struct tool_spec tools[N_TOOLS];
    struct kernel_config config = kernel_config_default();
    for (size_t i = 0; i < N_TOOLS; i++) {
        tools[i] = make_tool(f.arena, i);
    }
    config.run = STR("000000000001");
    config.seed = next(&f);
    config.started_at = STR("2026-11-29T18:00:00.000Z");
    config.model = STR("m");
    config.tools = tools;
    config.n_tools = N_TOOLS;
    config.repeat = (enum repeat_policy)(next(&f) % (REPEAT_ALLOW + 1));
    config.budget.steps = 1 + next(&f) % 32;
    f.k = kernel_new(&config);
    buf_add(&f.log, kernel_take_log(f.k));
    for (int i = 0; i < OPS_MAX && f.at < size; i++) {
        happen(&f);
    }
    check_log(&f);
    kernel_free(f.k);
    for (size_t i = 0; i < N_TOOLS; i++) {
        schema_free(tools[i].validator);
    }
    arena_free(f.arena);
    return f.log;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf once = play(data, size);
    struct buf again = play(data, size);
    assert(str_eq(buf_str(&once), buf_str(&again)));
    buf_free(&once);
    buf_free(&again);
    return 0;
}
