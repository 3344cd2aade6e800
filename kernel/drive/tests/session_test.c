#include "ci/testing/testing.h"
#include "kernel/base/arena.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/session.h"

#include <stdlib.h>
#include <string.h>

/* A model that plays one move a request, and a tool "echo" that answers after its delay. */
enum move_kind { MOVE_CALLS, MOVE_TEXT, MOVE_FAIL, MOVE_HANG };

struct move {
    enum move_kind kind;
    const char *text; /* of the reply; also shown as deltas, a word each */
    size_t n_calls;   /* MOVE_CALLS */
};

struct llm_call {
    struct llm_sink sink;
    struct timer *timer;
    const struct move *move;
};

struct tool_run {
    struct tool_sink sink;
    struct timer *timer;
    struct tool_output output;
    bool miss;
};

static struct {
    struct llm llm;
    struct toolbox toolbox;
    struct loop *loop;
    struct sched *sched;
    struct session *session;
    const struct move *moves;
    size_t at;
    struct tool_output output;
    bool tool_hangs;
    bool miss;
    size_t stopped; /* model and tool calls */
    size_t done;
    struct buf log;
    struct buf shown;
    size_t log_room; /* lines until the sink fails */
    bool free_in_done;
    bool cancel_in_delta;
    bool cancel_in_log;
    bool asks; /* calls want approval, also without `ask` */
    void (*ask)(void *ctx, struct str call_id, struct str name, struct str arguments);
} t;

static void model_answers(void *arg)
{
    struct llm_call *c = arg;
    struct tool_call calls[] = {{STR("c1"), STR("echo"), STR("{\"n\":1}")},
                                {STR("c2"), STR("echo"), STR("{\"n\":2}")}};
    struct failure failure = {.class = FAIL_AUTH, .status = 401, .message = STR("no key")};
    struct reply reply = {
        .content = str_of(c->move->text), .stop = STOP_END_TURN, .usage = {10, -1, -1, 5, -1}};
    c->timer = NULL;
    if (c->move->kind == MOVE_CALLS) {
        reply.calls = calls;
        reply.n_calls = c->move->n_calls;
        reply.stop = STOP_TOOL_USE;
    }
    bool failed = c->move->kind == MOVE_FAIL;
    c->sink.end(c->sink.ctx, failed ? NULL : &reply, failed ? &failure : NULL);
    free(c);
}

static void model_shows(void *arg)
{
    struct llm_call *c = arg;
    c->timer = sched_post(t.sched, 60, 0, model_answers, c);
    c->sink.delta(c->sink.ctx, str_of(c->move->text));
}

static struct llm_call *model_start(struct llm *m, const struct llm_request *rq,
                                    struct llm_sink sink)
{
    struct llm_call *c = mem_zero(sizeof *c);
    CU_ASSERT_PTR_EQUAL(m, &t.llm);
    CU_ASSERT_TRUE(str_is(rq->model, "m-1"));
    CU_ASSERT_EQUAL(history_check(rq->messages, rq->n_messages, NULL), 0);
    c->sink = sink;
    c->move = &t.moves[t.at++];
    if (c->move->kind != MOVE_HANG) {
        c->timer = rq->stream ? sched_post(t.sched, 40, 0, model_shows, c)
                              : sched_post(t.sched, 100, 0, model_answers, c);
    }
    return c;
}

static void model_stop(struct llm *m, struct llm_call *c)
{
    (void)m;
    t.stopped++;
    sched_cancel(t.sched, c->timer);
    free(c);
}

static void tool_answers(void *arg)
{
    struct tool_run *r = arg;
    r->sink.end(r->sink.ctx, &r->output, r->miss);
    free(r);
}

static struct tool_run *tool_start(struct toolbox *b, const struct tool_request *rq,
                                   struct tool_sink sink)
{
    struct tool_run *r = mem_zero(sizeof *r);
    (void)b;
    CU_ASSERT_TRUE(str_is(rq->name, "echo"));
    r->sink = sink;
    r->output = t.output;
    r->miss = t.miss;
    if (!t.tool_hangs) { /* the first call of a reply ends last */
        r->timer = sched_post(t.sched, rq->order == 1 ? 9 : 5, rq->order, tool_answers, r);
    }
    return r;
}

static void tool_stop(struct toolbox *b, struct tool_run *r)
{
    (void)b;
    t.stopped++;
    sched_cancel(t.sched, r->timer);
    free(r);
}

/* Keeps "type@t_ms " of each line. */
static int on_log(void *ctx, struct str lines)
{
    (void)ctx;
    while (lines.n > 0) {
        size_t end = str_find(lines, STR("\n"));
        CU_ASSERT_FATAL(end != SIZE_MAX);
        if (t.log_room-- == 0) {
            return -1;
        }
        struct str line = str_slice(lines, 0, end);
        struct str time = str_slice(line, str_find(line, STR("\"t_ms\":")) + 7, end);
        struct str type = str_slice(line, str_find(line, STR("\"type\":\"")) + 8, end);
        buf_add(&t.log, str_slice(type, 0, str_find(type, STR("\""))));
        buf_char(&t.log, '@');
        buf_add(&t.log, str_slice(time, 0, str_find(time, STR(","))));
        buf_char(&t.log, ' ');
        lines = str_slice(lines, end + 1, lines.n);
    }
    if (t.cancel_in_log) {
        session_cancel(t.session, STR("enough"));
    }
    return 0;
}

static void on_delta(void *ctx, struct str text)
{
    (void)ctx;
    buf_add(&t.shown, text);
    buf_char(&t.shown, '|');
    if (t.cancel_in_delta) {
        session_cancel(t.session, STR("seen enough"));
    }
}

static void on_done(void *ctx)
{
    struct run_result result;
    (void)ctx;
    t.done++;
    CU_ASSERT_TRUE(session_result(t.session, &result));
    if (t.free_in_done) {
        session_free(t.session);
        sched_free(t.sched);
        t.session = NULL;
        t.sched = NULL;
    }
}

static struct tool_spec echo;

static void begin(const struct move *moves)
{
    static const struct llm_ops llm_ops = {model_start, model_stop, NULL};
    static const struct toolbox_ops toolbox_ops = {tool_start, tool_stop, NULL};
    t.llm.ops = &llm_ops;
    t.toolbox.ops = &toolbox_ops;
    t.loop = loop_new();
    t.sched = sched_virtual(t.loop);
    t.moves = moves;
    t.output = (struct tool_output){.ok = true, .content = STR("fine")};
    t.log_room = 1000;
    echo = (struct tool_spec){.name = STR("echo"),
                              .description = STR("Gives back."),
                              .parameters = STR("{\"type\":\"object\"}"),
                              .timeout_ms = 2000,
                              .max_output = 60};
}

static void run_with(struct str prompt, bool stream)
{
    struct session_options o = {.config = kernel_config_default(),
                                .prompt = prompt,
                                .llm = &t.llm,
                                .tools = &t.toolbox,
                                .sched = t.sched,
                                .stream = stream,
                                .max_tokens = -1,
                                .log = on_log,
                                .delta = on_delta,
                                .ask = t.ask,
                                .done = on_done};
    o.config.tiers[TIER_WRITE] = t.ask != NULL || t.asks ? TIER_POLICY_ASK : TIER_POLICY_ALLOW;
    o.config.run = STR("000000000001");
    o.config.started_at = STR("2026-11-29T18:00:00.000Z");
    o.config.model = STR("m-1");
    o.config.tools = &echo;
    o.config.n_tools = 1;
    t.session = session_new(&o);
    CU_ASSERT_EQUAL(t.log.n, 0);
    loop_run(t.loop);
}

static void run(bool stream)
{
    run_with(STR("Go."), stream);
}

/* Checks the log and the status ("" = do not look), and clears everything. */
static void expect(const char *log, const char *status)
{
    struct run_result result = {0};
    buf_char(&t.log, '\0');
    CHECK_TEXT(t.log.p, log);
    CU_ASSERT_EQUAL(t.done, 1);
    if (status[0] != '\0') {
        CU_ASSERT_TRUE(session_result(t.session, &result));
        CHECK_TEXT(run_status_name(result.status), status);
        session_cancel(t.session, STR("too late")); /* nothing after the end */
        CU_ASSERT_EQUAL(t.done, 1);
    }
    session_free(t.session);
    sched_free(t.sched);
    loop_free(t.loop);
    buf_free(&t.log);
    buf_free(&t.shown);
    memset(&t, 0, sizeof t);
}

static const struct move two_calls_then_text[] = {{MOVE_CALLS, "", 2}, {MOVE_TEXT, "Done.", 0}};
static const struct move hang[] = {{MOVE_HANG, "", 0}};
static const struct move one_text[] = {{MOVE_TEXT, "Hello.", 0}};

static void runs_to_its_end(void)
{
    begin(two_calls_then_text);
    run(false);
    expect("run_start@0 user_message@0 step_start@0 llm_reply@100 tool_start@100 tool_start@100 "
           "tool_result@105 tool_result@109 step_start@109 llm_reply@209 final@209 run_end@209 ",
           "completed");
}

static void hands_on_deltas(void)
{
    begin(one_text);
    run(true);
    buf_char(&t.shown, '\0');
    CHECK_TEXT(t.shown.p, "Hello.|");
    expect("run_start@0 user_message@0 step_start@0 llm_reply@100 final@100 run_end@100 ",
           "completed");
}

static void cuts_long_outputs(void)
{
    static char big[5000];
    size_t n;
    memset(big, 'x', sizeof big);
    begin(two_calls_then_text);
    t.output.content = (struct str){big, sizeof big};
    run(false);
    const struct message *history = kernel_history(session_kernel(t.session), &n);
    CU_ASSERT_EQUAL_FATAL(n, 5);
    CU_ASSERT_TRUE(history[2].content.n < 300);
    CU_ASSERT_NOT_EQUAL(str_find(history[2].content, STR("5000")), SIZE_MAX);
    expect("run_start@0 user_message@0 step_start@0 llm_reply@100 tool_start@100 tool_start@100 "
           "tool_result@105 tool_result@109 step_start@109 llm_reply@209 final@209 run_end@209 ",
           "completed");
}

static void ends_at_its_time_budget(void)
{
    begin(hang);
    run(false);
    CU_ASSERT_EQUAL(t.stopped, 1);
    expect("run_start@0 user_message@0 step_start@0 run_end@120000 ", "time_budget");
}

static void stops_tools_that_take_too_long(void)
{
    static const struct move moves[] = {{MOVE_CALLS, "", 1}, {MOVE_TEXT, "Done.", 0}};
    begin(moves);
    t.tool_hangs = true;
    run(false);
    CU_ASSERT_EQUAL(t.stopped, 2); /* the call and its one retry */
    buf_char(&t.log, '\0');
    CU_ASSERT_PTR_NOT_NULL(strstr(t.log.p, "tool_start@100 tool_retry@2100 tool_result@"));
    t.log.n--;
    expect(t.log.p, "completed");
}

static void ends_with_the_failure_that_no_retry_helps(void)
{
    static const struct move moves[] = {{MOVE_FAIL, "", 0}};
    begin(moves);
    run(false);
    expect("run_start@0 user_message@0 step_start@0 llm_failure@100 run_end@100 ", "model_error");
}

static void ends_as_a_miss_when_a_tool_was_not_recorded(void)
{
    begin(two_calls_then_text);
    t.miss = true;
    t.output = (struct tool_output){.message = STR("echo was not recorded; record again")};
    run(false);
    CU_ASSERT_EQUAL(t.stopped, 1); /* the other call */
    struct run_result result;
    CU_ASSERT_TRUE(session_result(t.session, &result));
    CU_ASSERT_TRUE(str_is(result.reason, "echo was not recorded; record again"));
    buf_char(&t.log, '\0');
    CU_ASSERT_PTR_NOT_NULL(strstr(t.log.p, "run_end@105 "));
    t.log.n--;
    expect(t.log.p, "cassette_miss");
}

static void is_cancelled_when_its_log_cannot_be_kept(void)
{
    begin(two_calls_then_text);
    t.log_room = 5;
    run(false);
    CU_ASSERT_EQUAL(t.stopped, 0); /* the tools were never started */
    expect("run_start@0 user_message@0 step_start@0 llm_reply@100 tool_start@100 ", "cancelled");
}

static void cancel_now(void *arg)
{
    (void)arg;
    session_cancel(t.session, STR("interrupted"));
}

static void cancelling_stops_what_is_open(void)
{
    begin(two_calls_then_text);
    t.tool_hangs = true;
    sched_post(t.sched, 300, 0, cancel_now, NULL);
    run(false);
    CU_ASSERT_EQUAL(t.stopped, 2);
    expect("run_start@0 user_message@0 step_start@0 llm_reply@100 tool_start@100 tool_start@100 "
           "cancel@300 tool_result@300 tool_result@300 run_end@300 ",
           "cancelled");
}

static void may_be_cancelled_from_its_callbacks(void)
{
    begin(one_text);
    t.cancel_in_delta = true;
    run(true);
    CU_ASSERT_EQUAL(t.stopped, 1);
    expect("run_start@0 user_message@0 step_start@0 cancel@40 run_end@40 ", "cancelled");
    begin(one_text);
    t.cancel_in_log = true;
    run(false);
    expect("run_start@0 user_message@0 step_start@0 cancel@0 run_end@0 ", "cancelled");
}

static void may_be_cancelled_before_it_began(void)
{
    begin(one_text);
    loop_defer(t.loop, cancel_now, NULL); /* before the session's first turn */
    run(false);
    expect("run_start@0 cancel@0 run_end@0 ", "cancelled");
}

static void may_be_freed_when_done(void)
{
    begin(two_calls_then_text);
    t.free_in_done = true;
    run(false);
    expect("run_start@0 user_message@0 step_start@0 llm_reply@100 tool_start@100 tool_start@100 "
           "tool_result@105 tool_result@109 step_start@109 llm_reply@209 final@209 run_end@209 ",
           "");
}

static void stop_loop(void *arg)
{
    (void)arg;
    loop_stop(t.loop);
    sched_hold(t.sched);
}

static void may_be_freed_while_it_runs(void)
{
    begin(two_calls_then_text);
    t.tool_hangs = true;
    sched_post(t.sched, 101, 0, stop_loop, NULL);
    run(false);
    session_free(t.session);
    t.session = NULL;
    CU_ASSERT_EQUAL(t.stopped, 2);
    CU_ASSERT_EQUAL(t.done, 0);
    t.done = 1;
    expect("run_start@0 user_message@0 step_start@0 llm_reply@100 tool_start@100 tool_start@100 ",
           "");
}

static void say(void *arg)
{
    session_say(t.session, str_of(arg));
}

/* Three messages, the second of which is cut short. */
static void goes_on_with_the_next_message(void)
{
    static const struct move moves[] = {
        {MOVE_TEXT, "Hello.", 0}, {MOVE_HANG, "", 0}, {MOVE_TEXT, "Still here.", 0}};
    static char second[] = "Second.", third[] = "Third.";
    begin(moves);
    run(false);
    CU_ASSERT_EQUAL(t.done, 1);
    say(second);
    CU_ASSERT_EQUAL(t.done, 1);
    sched_post(t.sched, 50, 0, cancel_now, NULL);
    loop_run(t.loop);
    CU_ASSERT_EQUAL(t.done, 2);
    say(third);
    loop_run(t.loop);
    CU_ASSERT_EQUAL(t.done, 3);
    size_t n = 0;
    const struct message *history = kernel_history(session_kernel(t.session), &n);
    CU_ASSERT_EQUAL(n, 5);
    CU_ASSERT_TRUE(str_is(history[2].content, "Second.") && str_is(history[3].content, "Third."));
    t.done = 1;
    expect("run_start@0 user_message@0 step_start@0 llm_reply@100 final@100 run_end@100 "
           "resume@100 user_message@100 step_start@100 cancel@150 run_end@150 "
           "resume@150 user_message@150 step_start@150 llm_reply@250 final@250 run_end@250 ",
           "completed");
}

/* Without a prompt it waits for the first message; what was said stays where a cancel comes before
 * its first step. */
static void may_begin_without_a_prompt(void)
{
    static const struct move moves[] = {{MOVE_TEXT, "Hello.", 0}};
    static char first[] = "First.", second[] = "Second.";
    begin(moves);
    run_with((struct str){NULL, 0}, false);
    CU_ASSERT_EQUAL(t.done, 0);
    CU_ASSERT_EQUAL(t.log.n, 0);
    say(first);
    session_cancel(t.session, STR("no"));
    CU_ASSERT_EQUAL(t.done, 1);
    say(second);
    loop_run(t.loop);
    CU_ASSERT_EQUAL(t.done, 2);
    t.done = 1;
    expect("run_start@0 user_message@0 step_start@0 cancel@0 run_end@0 resume@0 user_message@0 "
           "step_start@0 llm_reply@100 final@100 run_end@100 ",
           "completed");
}

static void answer_at_once(void *ctx, struct str call_id, struct str name, struct str arguments)
{
    (void)ctx;
    CU_ASSERT_TRUE(str_is(name, "echo") && str_starts(arguments, "{\"n\":"));
    session_approve(t.session, call_id, DECIDED_ALWAYS);
}

static void asks_whether_a_tool_may_run(void)
{
    begin(two_calls_then_text);
    echo.tier = TIER_WRITE;
    t.ask = answer_at_once;
    run(false);
    expect("run_start@0 user_message@0 step_start@0 llm_reply@100 approval_required@100 "
           "approval@100 tool_start@100 tool_start@100 tool_result@105 tool_result@109 "
           "step_start@109 llm_reply@209 final@209 run_end@209 ",
           "completed");
}

static void denies_where_nobody_is_asked(void)
{
    begin(two_calls_then_text);
    echo.tier = TIER_WRITE;
    t.asks = true;
    run(false);
    expect("run_start@0 user_message@0 step_start@0 llm_reply@100 approval_required@100 "
           "approval@100 tool_start@100 approval_required@100 tool_result@100 approval@100 "
           "tool_start@100 tool_result@100 step_start@100 llm_reply@200 final@200 run_end@200 ",
           "completed");
}

TESTS(session, {"session_runs_to_its_end", runs_to_its_end},
      {"session_hands_on_deltas", hands_on_deltas},
      {"session_cuts_long_outputs_before_they_are_fed", cuts_long_outputs},
      {"session_ends_at_its_time_budget_to_the_millisecond", ends_at_its_time_budget},
      {"session_stops_tools_that_take_too_long", stops_tools_that_take_too_long},
      {"session_ends_with_a_failure_that_no_retry_helps",
       ends_with_the_failure_that_no_retry_helps},
      {"session_ends_as_a_miss_when_a_tool_was_not_recorded",
       ends_as_a_miss_when_a_tool_was_not_recorded},
      {"session_is_cancelled_when_its_log_cannot_be_kept",
       is_cancelled_when_its_log_cannot_be_kept},
      {"session_stops_what_is_open_when_cancelled", cancelling_stops_what_is_open},
      {"session_may_be_cancelled_from_its_callbacks", may_be_cancelled_from_its_callbacks},
      {"session_may_be_cancelled_before_it_began", may_be_cancelled_before_it_began},
      {"session_may_be_freed_when_done", may_be_freed_when_done},
      {"session_may_be_freed_while_it_runs", may_be_freed_while_it_runs},
      {"session_goes_on_with_the_next_message", goes_on_with_the_next_message},
      {"session_may_begin_without_a_prompt", may_begin_without_a_prompt},
      {"session_asks_whether_a_tool_may_run", asks_whether_a_tool_may_run},
      {"session_denies_where_nobody_is_asked", denies_where_nobody_is_asked})
