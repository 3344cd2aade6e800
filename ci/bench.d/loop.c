/* Speed and size of the loop. Usage:
 *   bench_loop steps         the kernel alone, its driver a few lines of C
 *   bench_loop session       sessions over the codecs and a scripted model, in virtual time
 *   bench_loop state         sessions that wait for their user
 *   bench_loop resume        feeding a log of 100,000 events again
 *   bench_loop restore       the same with the last snapshot that was due as it was written
 *   bench_loop log           a run that writes such a log
 *   bench_loop snapshots     the same with snapshots
 * Prints "N ns": the fastest of ROUNDS, and how many steps or events it took; `state` prints
 * "bytes messages": for one session, and of them those of its system message. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fakellm/fake.h"
#include "kernel/base/json.h"
#include "kernel/core/replay.h"
#include "kernel/core/snapshot.h"
#include "kernel/drive/endpoint.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/session.h"
#include "kernel/drive/tools.h"

enum {
    ROUNDS = 15,
    RUNS = 1000,
    RUN_STEPS = 50,
    SESSION_RUNS = 100,
    SESSIONS = 1000,
    EVENTS = 100000,
    STEP_EVENTS = 4
};

static const char system_text[] = "You are a careful assistant. Use the tools for every number.";

/* Of the processor, so that other programs of the machine count less. */
static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static _Noreturn void broken(const char *what)
{
    fprintf(stderr, "bench_loop: %s\n", what);
    exit(1);
}

static struct kernel_config config_of(const struct toolset *tools)
{
    struct kernel_config c = kernel_config_default();
    c.run = STR("0123456789ab");
    c.started_at = STR("2026-11-29T18:00:00.000Z");
    c.model = STR("fake-1");
    c.system = str_of(system_text);
    c.tools = toolset_specs(tools, &c.n_tools);
    c.budget = (struct budget){.steps = EVENTS,
                               .tokens = INT64_C(1000000000000),
                               .seconds = 1000000,
                               .cost_nano = 1,
                               .calls = EVENTS,
                               .calls_per_reply = 10};
    return c;
}

/* ---- the kernel alone ---- */

static void feed(struct kernel *k, struct event ev)
{
    if (kernel_feed(k, &ev, kernel_now(k)) != 0) {
        broken("the kernel did not take an event");
    }
}

/* What a model asks for in each step: made before the clock runs. */
static struct tool_call asked[EVENTS / STEP_EVENTS + 1];

static void think(struct arena *arena)
{
    for (unsigned i = 0; i <= EVENTS / STEP_EVENTS; i++) {
        asked[i].id = arena_printf(arena, "call_%u", i);
        asked[i].name = STR("calculator");
        asked[i].arguments = arena_printf(arena, "{\"expression\":\"%u + 1\"}", i);
    }
}

/* Each step asks for another sum, the last one answers. */
static void feed_reply(struct kernel *k, int64_t step, int64_t last)
{
    struct tool_call call = asked[step];
    struct reply reply = {.content_null = true,
                          .reasoning = {NULL, 0},
                          .calls = &call,
                          .n_calls = 1,
                          .stop = STOP_TOOL_USE,
                          .stop_raw = STR("tool_calls"),
                          .usage = {100, 0, -1, 20, -1}};
    if (step == last) {
        reply.content_null = false;
        reply.content = STR("That is all.");
        reply.n_calls = 0;
        reply.stop = STOP_END_TURN;
    }
    feed(k, (struct event){.kind = EV_REPLY, .reply = &reply});
}

static void feed_result(struct kernel *k, struct str call_id)
{
    struct tool_output output = {.ok = true, .content = call_id};
    feed(k, (struct event){.kind = EV_TOOL_RESULT, .call_id = call_id, .output = &output});
}

/* Keeps the snapshot that is due, as a driver that writes the log does. */
static void keep_snapshot(const struct kernel *k, struct snapshot_mark *last, struct buf *snapshot)
{
    if (snapshot == NULL || !kernel_snapshot_due(k, last)) {
        return;
    }
    buf_clear(snapshot);
    if (!kernel_snapshot(k, snapshot, last)) {
        broken("a snapshot was due and not taken");
    }
}

/* One run of so many steps; its log is appended to `log` and its last snapshot left in `snapshot`,
 * where they are not NULL. */
static void play(const struct kernel_config *config, int64_t steps, struct buf *log,
                 struct buf *snapshot)
{
    struct snapshot_mark last = {.size = 0};
    struct kernel *k = kernel_new(config);
    struct command c;
    struct run_result result;
    feed(k, (struct event){.kind = EV_USER_MESSAGE, .text = STR("Add the numbers.")});
    while (kernel_poll(k, &c)) {
        struct str lines = kernel_take_log(k);
        if (log != NULL) {
            buf_add(log, lines);
            keep_snapshot(k, &last, snapshot);
        }
        if (c.kind == CMD_CALL_MODEL) {
            feed_reply(k, c.step, steps);
        } else if (c.kind == CMD_CALL_TOOL) {
            feed_result(k, c.call_id);
        }
    }
    if (!kernel_result(k, &result) || result.status != RUN_COMPLETED || result.steps != steps) {
        broken("a run did not end as it should");
    }
    kernel_free(k);
}

static size_t run_steps(const struct kernel_config *config)
{
    for (int i = 0; i < RUNS; i++) {
        play(config, RUN_STEPS, NULL, NULL);
    }
    return (size_t)RUNS * RUN_STEPS;
}

/* ---- sessions ---- */

static struct fake_script *script;
static const struct toolset *session_tools;

static void on_done(void *ctx)
{
    loop_stop(ctx);
}

/* All that belongs to one session. */
struct whole {
    struct sched *sched;
    struct fake_session *fake;
    struct transport *transport;
    struct llm *llm;
    struct toolbox *tools;
    struct session *session;
};

static void whole_begin(struct whole *w, struct loop *loop, const struct kernel_config *config)
{
    w->sched = sched_virtual(loop);
    w->fake = fake_session_new(script);
    w->transport = transport_fake(w->fake, w->sched);
    struct endpoint_options endpoint = {.format = WIRE_CHAT, .sched = w->sched};
    w->llm = llm_endpoint(w->transport, &endpoint);
    w->tools = toolbox_local(session_tools, w->sched, loop, 0);
    w->session = session_new(&(struct session_options){.config = *config,
                                                       .prompt = {NULL, 0},
                                                       .llm = w->llm,
                                                       .tools = w->tools,
                                                       .sched = w->sched,
                                                       .max_tokens = -1,
                                                       .ctx = loop,
                                                       .done = on_done});
}

static void whole_end(struct whole *w)
{
    session_free(w->session);
    w->tools->ops->free(w->tools);
    w->llm->ops->free(w->llm);
    w->transport->ops->free(w->transport);
    fake_session_free(w->fake);
    sched_free(w->sched);
}

static void run_session(const struct kernel_config *config)
{
    struct loop *loop = loop_new();
    struct whole w;
    struct run_result result;
    whole_begin(&w, loop, config);
    session_say(w.session, STR("Add the numbers."));
    loop_run(loop);
    if (!session_result(w.session, &result) || result.status != RUN_COMPLETED ||
        result.steps != RUN_STEPS) {
        broken("a session did not end as it should");
    }
    whole_end(&w);
    loop_free(loop);
}

static size_t run_sessions(const struct kernel_config *config)
{
    for (int i = 0; i < SESSION_RUNS; i++) {
        run_session(config);
    }
    return (size_t)SESSION_RUNS * RUN_STEPS;
}

static void load_script(struct arena *arena)
{
    struct buf text = {0};
    struct val *v;
    struct err e;
    buf_addz(&text, "{\"version\":1,\"steps\":[");
    for (int i = 1; i < RUN_STEPS; i++) {
        buf_fmt(&text,
                "{\"reply\":{\"calls\":[{\"name\":\"calculator\",\"arguments\":"
                "{\"expression\":\"%d + 1\"}}]}},",
                i);
    }
    buf_addz(&text, "{\"reply\":{\"text\":\"That is all.\"}}]}");
    struct doc d = {.arena = arena, .file = "bench"};
    if (json_parse(arena, NULL, arena_str(arena, buf_str(&text)), &v, &e) != 0 ||
        fake_load_doc(d, v, &script, &e) != 0) {
        broken(e.message);
    }
    buf_free(&text);
}

/* ---- resuming ---- */

static struct buf long_log;
static struct buf long_snapshot;

static size_t run_replay(const struct kernel_config *config)
{
    struct arena *arena = arena_new();
    struct kernel_config from_log;
    struct err e;
    if (kernel_config_of_log(arena, "log", buf_str(&long_log), config->tools, config->n_tools,
                             &from_log, &e) != 0) {
        broken(e.message);
    }
    struct kernel *k = kernel_new(&from_log);
    struct kernel_replay out = {
        .tools = config->tools, .n_tools = config->n_tools, .snapshot = buf_str(&long_snapshot)};
    if (kernel_replay(k, "log", buf_str(&long_log), SIZE_MAX, &out, &e) != 0) {
        broken(e.message);
    }
    if ((out.restored > 0) != (long_snapshot.n > 0)) {
        broken("the snapshot does not fit");
    }
    size_t lines = out.lines;
    buf_free(&out.missing);
    kernel_free(k);
    arena_free(arena);
    return lines;
}

static size_t write_log(const struct kernel_config *config, struct buf *snapshot)
{
    buf_clear(&long_log);
    play(config, EVENTS / STEP_EVENTS, &long_log, snapshot);
    return EVENTS / STEP_EVENTS;
}

static size_t run_log(const struct kernel_config *config)
{
    return write_log(config, NULL);
}

static size_t run_snapshots(const struct kernel_config *config)
{
    return write_log(config, &long_snapshot);
}

/* ---- what is measured ---- */

static void measure(size_t (*run)(const struct kernel_config *), const struct kernel_config *config)
{
    int64_t best = INT64_MAX;
    size_t n = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t start = now_ns();
        n = run(config);
        int64_t took = now_ns() - start;
        best = took < best ? took : best;
    }
    printf("%zu %lld\n", n, (long long)best);
}

/* They wait for their user. */
static void measure_state(const struct kernel_config *config)
{
    static struct whole sessions[SESSIONS];
    struct loop *loop = loop_new();
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < SESSIONS; i++) {
        whole_begin(&sessions[i], loop, config);
    }
    size_t bytes = (mallinfo2().uordblks - before) / SESSIONS;
    for (int i = 0; i < SESSIONS; i++) {
        whole_end(&sessions[i]);
    }
    loop_free(loop);
    printf("%zu %zu\n", bytes, sizeof system_text);
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    struct arena *arena = arena_new();
    struct toolset *tools = toolset_new();
    struct err e;
    if (toolset_add_builtin(tools, STR("calculator"), &e) != 0) {
        broken(e.message);
    }
    struct kernel_config config = config_of(tools);
    think(arena);
    session_tools = tools;
    if (strcmp(what, "steps") == 0) {
        measure(run_steps, &config);
    } else if (strcmp(what, "session") == 0) {
        load_script(arena);
        measure(run_sessions, &config);
        fake_free(script);
    } else if (strcmp(what, "state") == 0) {
        load_script(arena);
        measure_state(&config);
        fake_free(script);
    } else if (strcmp(what, "resume") == 0) {
        run_log(&config);
        measure(run_replay, &config);
    } else if (strcmp(what, "restore") == 0) {
        run_snapshots(&config);
        measure(run_replay, &config);
    } else if (strcmp(what, "log") == 0) {
        measure(run_log, &config);
    } else if (strcmp(what, "snapshots") == 0) {
        measure(run_snapshots, &config);
    } else {
        broken("usage: bench_loop steps | session | state | resume | restore | log | snapshots");
    }
    buf_free(&long_log);
    buf_free(&long_snapshot);
    toolset_free(tools);
    arena_free(arena);
    return 0;
}
