/* A judge is asked about an answer: a session of its own for each rubric, without tools, that asks
 * where the run has asked, or plays a script of its own. A verdict is final; what is no verdict is
 * told to the judge, once. */
#include "evals/rubric_int.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "evals/rig_int.h"
#include "kernel/base/hash.h"
#include "kernel/base/text.h"
#include "kernel/drive/appender.h"
#include "kernel/drive/files.h"

enum { TRIES_MAX = 2, SECONDS_MAX = 600, TOKENS_MAX = 1000000000, SHOWN_CHARS = 120 };

struct rubrics {
    struct arena *arena;
    struct rubric_options o;
    struct fake_session *fake;
    struct transport *scripted;
    struct toolset *no_tools;
    struct toolbox *tools;
    struct llm *llm;
    struct kernel_config config;
    struct session *session; /* about `rubric`; NULL = none under way */
    struct str rubric;
    int tries;
    struct appender *log;
    struct err log_error; /* code 0: all is well */
    struct buf note;
    enum rubrics_end end;
    int code;
    struct str problem;
    struct eval_judged judged;
    size_t room; /* in its verdicts */
};

static struct golden_verdicts verdicts_of(const struct rubrics *r)
{
    return (struct golden_verdicts){r->judged.verdicts, r->judged.n_verdicts, r->o.model};
}

/* ---- one session ---- */

static void on_note(void *ctx, struct str text)
{
    struct rubrics *r = ctx;
    buf_clear(&r->note);
    buf_add(&r->note, text);
}

/* The first failure counts, and ends the session. */
static int on_log(void *ctx, struct str lines)
{
    struct rubrics *r = ctx;
    return r->log_error.code != 0 ? r->log_error.code : appender_add(r->log, lines, &r->log_error);
}

static int open_log(struct rubrics *r)
{
    struct str name = arena_printf(r->arena, "%" PRId64 ".jsonl", r->judged.asked);
    int rc = dir_make(r->o.logs, &r->log_error);
    return rc != 0 ? rc
                   : appender_open(path_join(r->arena, r->o.logs, name.p), APPEND_TRUNCATE, &r->log,
                                   &r->log_error);
}

static void close_log(struct rubrics *r)
{
    bool first = r->log_error.code == 0;
    int rc = r->log == NULL ? 0 : appender_close(r->log, first ? &r->log_error : NULL);
    (void)rc; /* log_error has it */
    r->log = NULL;
}

static void on_over(void *arg);

static void on_done(void *ctx)
{
    struct rubrics *r = ctx;
    loop_defer(r->o.loop, on_over, r);
}

static void open_session(struct rubrics *r)
{
    struct buf prompt = {0};
    struct rig *rig = r->o.rig;
    r->judged.asked++;
    r->tries = 1;
    int rc = open_log(r);
    (void)rc; /* the session's first line will tell */
    verdict_request(&prompt, r->o.task, r->o.answer, r->rubric);
    r->config.run =
        arena_printf(r->arena, "%012" PRIx64,
                     hash64((uint64_t)r->judged.asked, rig->config.run) & 0xffffffffffffu);
    rig_keep_time(rig);
    struct session_options o = {.config = r->config,
                                .prompt = arena_str(r->arena, buf_str(&prompt)),
                                .llm = r->llm,
                                .tools = r->tools,
                                .sched = rig->sched,
                                .stream = rig->options.stream,
                                .max_tokens = -1,
                                .ctx = r,
                                .log = on_log,
                                .done = on_done};
    r->session = session_new(&o);
    buf_free(&prompt);
}

static void close_session(struct rubrics *r)
{
    struct run_result result;
    if (r->session != NULL && session_result(r->session, &result)) {
        usage_add(&r->judged.usage, &result.usage);
        r->judged.cost_nano = r->judged.cost_nano < 0 || result.cost_nano < 0
                                  ? -1
                                  : r->judged.cost_nano + result.cost_nano;
    }
    session_free(r->session);
    r->session = NULL;
    close_log(r);
}

/* ---- what comes of it ---- */

static void finish(struct rubrics *r, enum rubrics_end end, int code, struct str problem)
{
    r->end = end;
    r->code = code;
    r->problem = problem;
    close_session(r);
    r->o.done(r->o.ctx);
}

static struct str shown(struct rubrics *r)
{
    return text_preview(r->arena, r->rubric, SHOWN_CHARS);
}

/* It could not be asked. */
static void fail(struct rubrics *r, const struct run_result *result, int code)
{
    struct str note = buf_str(&r->note);
    const char *script = result->status == RUN_SCRIPT_MISMATCH ? r->o.script : NULL;
    finish(r, RUBRICS_FAILED, code,
           arena_printf(
               r->arena,
               "the judge %.*s could not be asked about the rubric \"%.*s\": %s%s%.*s%s%.*s%s",
               STR_FMT(r->o.model), STR_FMT(shown(r)), script == NULL ? "" : script,
               script == NULL ? "" : ": ", STR_FMT(result->reason), note.n > 0 ? " (" : "",
               STR_FMT(note), note.n > 0 ? ")" : ""));
}

/* What it said is no verdict: it is told so, and then asked no more. */
static void ask_again(struct rubrics *r, struct str why)
{
    struct buf text = {0};
    if (r->tries == TRIES_MAX) {
        finish(r, RUBRICS_FAILED, ERR_NET,
               arena_printf(r->arena,
                            "the judge %.*s gave no verdict on the rubric \"%.*s\", asked twice: "
                            "%.*s (judge%s/%" PRId64 ".jsonl of the run has what it said)",
                            STR_FMT(r->o.model), STR_FMT(shown(r)), STR_FMT(why),
                            strrchr(r->o.logs, '/'), r->judged.asked));
        return;
    }
    r->tries++;
    verdict_again(&text, why);
    rig_keep_time(r->o.rig);
    session_say(r->session, buf_str(&text));
    buf_free(&text);
}

static void add_verdict(struct rubrics *r, bool pass, struct str reason)
{
    struct eval_judged *j = &r->judged;
    j->verdicts = mem_room(j->verdicts, j->n_verdicts, &r->room, sizeof *j->verdicts);
    j->verdicts[j->n_verdicts++] = (struct golden_verdict){r->rubric, pass, reason};
}

static void ask_next(struct rubrics *r)
{
    struct golden_verdicts v = verdicts_of(r);
    r->rubric = golden_answer_open(r->o.task->expect.answer, r->o.answer, &v);
    if (r->rubric.p == NULL) {
        finish(r, RUBRICS_JUDGED, 0, STR(""));
    } else {
        open_session(r);
    }
}

static void take_reply(struct rubrics *r, struct str reply)
{
    bool pass = false;
    struct str reason = {NULL, 0};
    struct buf why = {0};
    if (verdict_read(r->arena, reply, &pass, &reason, &why)) {
        add_verdict(r, pass, reason);
        close_session(r);
        ask_next(r);
    } else {
        ask_again(r, buf_str(&why));
    }
    buf_free(&why);
}

static void on_over(void *arg)
{
    struct rubrics *r = arg;
    struct run_result result;
    bool over = session_result(r->session, &result);
    assert(over);
    if (!over || r->end == RUBRICS_CANCELLED) {
        finish(r, RUBRICS_CANCELLED, 0, STR(""));
        return;
    }
    switch (result.status) {
    case RUN_COMPLETED: take_reply(r, result.answer); return;
    case RUN_CANCELLED: finish(r, RUBRICS_CANCELLED, 0, STR("")); return;
    case RUN_CASSETTE_MISS: fail(r, &result, ERR_MISS); return;
    case RUN_MODEL_ERROR:
    case RUN_SCRIPT_MISMATCH:
    case RUN_PROGRAM_FAILED:
    case RUN_TIME_BUDGET:
    case RUN_TOKEN_BUDGET:
    case RUN_COST_BUDGET: fail(r, &result, ERR_NET); return;
    case RUN_MAX_STEPS:
    case RUN_CALL_BUDGET:
    case RUN_REPEATED_CALLS: ask_again(r, STR("it is empty, or calls a tool")); return;
    case RUN_NO_PROGRESS:
    case RUN_TRUNCATED:
    case RUN_REFUSED: break;
    }
    ask_again(r, arena_printf(r->arena, "it ended with %s", run_status_name(result.status)));
}

/* ---- all together ---- */

static void configure(struct rubrics *r)
{
    const struct rubric_options *o = &r->o;
    const struct prices *prices = o->prices == NULL ? prices_shipped() : o->prices;
    struct kernel_config *c = &r->config;
    *c = kernel_config_default();
    c->seed = o->rig->config.seed;
    c->started_at = o->rig->config.started_at;
    c->model = o->model;
    c->provider = str_of(wire_provider(o->format));
    c->system = str_of(verdict_system);
    c->budget = (struct budget){.steps = 1,
                                .tokens = TOKENS_MAX,
                                .seconds = SECONDS_MAX,
                                .cost_nano = PRICE_NANO_MAX,
                                .calls = 0,
                                .calls_per_reply = 1};
    c->context_tokens = 0;
    c->price = prices_find(prices, o->model, &c->currency);
    r->judged.currency = c->currency;
}

static void connect(struct rubrics *r)
{
    struct rig *rig = r->o.rig;
    struct transport *transport = rig->model;
    if (r->o.loaded != NULL) {
        r->fake = fake_session_new(r->o.loaded);
        r->scripted = transport_fake(r->fake, rig->sched);
        transport = r->scripted;
    }
    r->no_tools = toolset_new();
    r->tools = toolbox_local(r->no_tools, rig->sched, r->o.loop, rig->started_at_ms);
    struct endpoint_options endpoint =
        rig_endpoint(rig, r->o.format, r->o.base_url, r->o.api_key, r->o.key_from);
    endpoint.note = on_note;
    endpoint.note_ctx = r;
    r->llm = llm_endpoint(transport, &endpoint);
}

struct rubrics *rubrics_new(const struct rubric_options *o)
{
    struct rubrics *r = mem_zero(sizeof *r);
    r->arena = arena_new();
    r->o = *o;
    r->judged.model = o->model;
    configure(r);
    connect(r);
    ask_next(r);
    return r;
}

/* What a cancel stops is no part of a recording. */
void rubrics_cancel(struct rubrics *r)
{
    if (r->o.rig->recorder != NULL) {
        recorder_abandon(r->o.rig->recorder);
    }
    if (r->session != NULL) {
        r->end = RUBRICS_CANCELLED;
        session_cancel(r->session, STR("interrupted"));
    }
}

void rubrics_outcome(const struct rubrics *r, struct arena *arena, struct rubrics_outcome *out)
{
    struct eval_judged *j = &out->judged;
    *out = (struct rubrics_outcome){r->end, r->code, arena_str(arena, r->problem), r->judged};
    j->model = arena_str(arena, r->judged.model);
    j->currency = arena_str(arena, r->judged.currency);
    j->verdicts = arena_array(arena, j->n_verdicts, sizeof *j->verdicts);
    for (size_t i = 0; i < j->n_verdicts; i++) {
        const struct golden_verdict *v = &r->judged.verdicts[i];
        j->verdicts[i] = (struct golden_verdict){arena_str(arena, v->rubric), v->pass,
                                                 arena_str(arena, v->reason)};
    }
}

int rubrics_free(struct rubrics *r, struct err *e)
{
    if (r == NULL) {
        return 0;
    }
    loop_undefer(r->o.loop, on_over, r);
    close_session(r);
    int rc = r->log_error.code;
    if (rc != 0 && e != NULL) {
        *e = r->log_error;
    }
    if (r->llm != NULL) {
        r->llm->ops->free(r->llm);
    }
    if (r->scripted != NULL) {
        r->scripted->ops->free(r->scripted);
    }
    if (r->tools != NULL) {
        r->tools->ops->free(r->tools);
    }
    toolset_free(r->no_tools);
    fake_session_free(r->fake);
    buf_free(&r->note);
    free(r->judged.verdicts);
    arena_free(r->arena);
    free(r);
    return rc;
}
