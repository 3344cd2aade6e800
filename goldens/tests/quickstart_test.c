#include "ci/testing/testing.h"
#include "fakellm/fake.h"
#include "goldens/golden.h"
#include "kernel/base/json.h"
#include "kernel/drive/endpoint.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/session.h"

#include <stdio.h>

/* One task of the set, played by its script through the whole kernel. */
struct play {
    struct loop *loop;
    struct sched *sched;
    struct fake_script *script;
    struct fake_session *fake;
    struct transport *transport;
    struct llm *llm;
    struct toolbox *tools;
    struct session *session;
    struct buf log;
};

static int keep(void *ctx, struct str lines)
{
    buf_add(ctx, lines);
    return 0;
}

static void finished(void *ctx)
{
    (void)ctx;
}

static void play_begin(struct play *p, const struct golden_task *t, bool stream)
{
    struct err e = {0};
    CU_ASSERT_EQUAL_FATAL(fake_load(t->fake, &p->script, &e), 0);
    p->loop = loop_new();
    p->sched = sched_virtual(p->loop);
    p->fake = fake_session_new(p->script);
    p->transport = transport_fake(p->fake, p->sched);
    struct endpoint_options at = {
        .format = WIRE_CHAT, .base_url = STR("http://fake"), .sched = p->sched};
    p->llm = llm_endpoint(p->transport, &at);
    p->tools = toolbox_local(t->tools, p->sched, p->loop, 1796061600000);
    struct session_options o = {.config = kernel_config_default(), .prompt = t->prompt};
    o.config.run = STR("0123456789ab");
    o.config.started_at = STR("2026-11-30T18:00:00.000Z");
    o.config.model = fake_model(p->script);
    o.config.system = t->system;
    o.config.budget = t->budget;
    o.config.tools = toolset_specs(t->tools, &o.config.n_tools);
    o.llm = p->llm;
    o.tools = p->tools;
    o.sched = p->sched;
    o.stream = stream;
    o.max_tokens = -1;
    o.ctx = &p->log;
    o.log = keep;
    o.done = finished;
    p->session = session_new(&o);
    loop_run(p->loop);
}

static void play_end(struct play *p)
{
    session_free(p->session);
    p->tools->ops->free(p->tools);
    p->llm->ops->free(p->llm);
    p->transport->ops->free(p->transport);
    fake_session_free(p->fake);
    fake_free(p->script);
    sched_free(p->sched);
    loop_free(p->loop);
    buf_free(&p->log);
}

/* The names of the tools that the model called, in order. */
static void called(struct str log, struct buf *out)
{
    struct arena *arena = arena_new();
    while (log.n > 0) {
        size_t end = str_find(log, STR("\n"));
        struct val *v;
        CU_ASSERT_EQUAL_FATAL(json_parse(arena, NULL, str_slice(log, 0, end), &v, NULL), 0);
        const struct val *calls = val_get(v, "calls");
        for (size_t i = 0; str_is(val_text(val_get(v, "type")), "llm_reply") && i < calls->count;
             i++) {
            buf_addz(out, i > 0 ? "+" : out->n > 0 ? " " : "");
            buf_add(out, val_text(val_get(&calls->items[i], "name")));
        }
        log = str_slice(log, end + 1, log.n);
    }
    arena_free(arena);
}

/* Each task: the calls that its description asks for ("+" = of one reply), and what the log of a
 * run must hold for the situation to have come about. */
static const struct {
    const char *task;
    const char *calls;
    const char *log;
} situations[] = {
    {"margin-drop", "calculator", "\"value\\\":4.2"},
    {"margin-drop-zh", "calculator", "毛利率下降了"},
    {"order-quote", "get_order_status check_stock+get_price send_quote", "Q-881"},
    {"order-quote-zh", "get_order_status check_stock+get_price", "台灯"},
    {"three-prices", "get_price+get_price+get_price calculator", "478.9"},
    {"clock", "now", "2026-11-30T18:00"},
    {"return-policy", "search_docs", "within 30 days"},
    {"no-tool-needed", "", "Merci"},
    {"refuse-refund", "search_docs+get_order_status", "cannot refund"},
    {"carrier-slow", "track_parcel", "tool_retry"},
    {"unknown-tool", "get_order get_order_status", "UNKNOWN_TOOL"},
    {"wrong-arguments", "get_order_status get_order_status", "BAD_PARAMETERS"},
    {"half-arguments", "calculator calculator", "BAD_ARGUMENTS"},
    {"missing-order", "get_order_status", "there is no order with this number"},
    {"busy-model", "check_stock", "\"retry_in_ms\":1000"},
    {"stuck-loop", "check_stock check_stock check_stock", "REPEATED_CALL"},
    {"step-budget", "search_docs search_docs search_docs", "max_steps"},
    {"hand-over", "check_stock task_done", "\"report\\\":"},
};

static void check_play(const struct golden_task *t, size_t i, bool stream)
{
    struct play p = {0};
    struct buf calls = {0};
    struct buf why = {0};
    struct run_result r;
    play_begin(&p, t, stream);
    CU_ASSERT_TRUE_FATAL(session_result(p.session, &r));
    called(buf_str(&p.log), &calls);
    buf_char(&calls, '\0');
    CHECK_TEXT(calls.p, situations[i].calls);
    CHECK_TEXT(run_status_name(r.status), run_status_name(t->expect.status));
    CU_ASSERT_EQUAL(fake_leftover(p.fake).n, 0);
    bool passes = golden_answer_test(t->expect.answer, r.answer, &why);
    bool shown = str_find(buf_str(&p.log), str_of(situations[i].log)) != SIZE_MAX;
    if (!passes || !shown) {
        printf("\n  %s: %.*s\n%.*s\n", situations[i].task, STR_FMT(buf_str(&why)),
               STR_FMT(buf_str(&p.log)));
    }
    CU_ASSERT_TRUE(passes);
    CU_ASSERT_TRUE(shown);
    CU_ASSERT(t->expect.max_steps < 0 || r.steps <= t->expect.max_steps);
    CU_ASSERT(t->expect.max_tokens < 0 || r.usage.input + r.usage.output <= t->expect.max_tokens);
    buf_free(&why);
    buf_free(&calls);
    play_end(&p);
}

static void every_task_comes_to_its_situation(void)
{
    struct golden_set *set;
    struct err e = {0};
    CU_ASSERT_EQUAL_FATAL(golden_load("goldens/quickstart.yaml", &set, &e), 0);
    CU_ASSERT_EQUAL_FATAL(set->n_tasks, sizeof situations / sizeof situations[0]);
    for (size_t i = 0; i < set->n_tasks; i++) {
        CU_ASSERT_TRUE_FATAL(str_is(set->tasks[i].id, situations[i].task));
        check_play(&set->tasks[i], i, false);
        check_play(&set->tasks[i], i, true);
    }
    golden_free(set);
}

TESTS(quickstart, {"every_task_comes_to_its_situation", every_task_comes_to_its_situation})
