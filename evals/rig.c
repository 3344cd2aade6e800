/* One run, wired: the session with its tools, its log, and who decides about calls; what it came
 * to. */
#include <stdlib.h>

#include "evals/rig_int.h"
#include "kernel/base/date.h"
#include "kernel/base/hash.h"
#include "kernel/drive/appender.h"
#include "kernel/drive/files.h"

/* An estimate of the limiter's is made good. */
static void on_used(void *ctx, int64_t tokens)
{
    const struct rig *r = ctx;
    limiter_used(r->transport, tokens);
}

static void on_note(void *ctx, struct str text)
{
    struct rig *r = ctx;
    buf_clear(&r->note);
    buf_add(&r->note, text);
}

static int open_trace(struct rig *r)
{
    const struct rig_options *o = &r->options;
    int rc = o->resume != NULL ? resumed_trace(o->resume, o->trace, &r->trace, &r->log_error)
                               : appender_open(o->trace, APPEND_TRUNCATE, &r->trace, &r->log_error);
    if (rc == 0 && o->snapshots) {
        bool goes_on = o->resume != NULL && path_same(o->resume->path, o->trace);
        r->snapshots = snapshots_new(o->trace, !goes_on);
    }
    return rc;
}

static int write_trace(struct rig *r, struct str lines)
{
    int rc = r->log_error.code;
    if (r->options.trace == NULL) {
        return 0;
    }
    if (rc == 0 && r->trace == NULL) {
        rc = open_trace(r);
    }
    rc = rc != 0 ? rc : appender_add(r->trace, lines, &r->log_error);
    if (rc == 0) {
        snapshots_take(r->snapshots, session_kernel(r->session));
    }
    return rc;
}

/* A log that cannot be written cancels the run. */
static int on_log(void *ctx, struct str lines)
{
    struct rig *r = ctx;
    int rc = write_trace(r, lines);
    calls_of_lines(&r->calls, lines, r->config.tools, r->config.n_tools, r->arena);
    if (rc == 0 && r->options.log != NULL) {
        rc = r->options.log(r->options.ctx, lines);
    }
    if (rc != 0 && r->recorder != NULL) {
        recorder_abandon(r->recorder);
    }
    return rc;
}

static void on_delta(void *ctx, struct str text)
{
    struct rig *r = ctx;
    r->options.delta(r->options.ctx, text);
}

static void let_go(struct rig *r)
{
    if (r->holds) {
        r->holds = false;
        sched_release(r->sched);
    }
}

static void on_verdict(void *arg)
{
    struct rig *r = arg;
    r->verdict = NULL;
    if (r->decided.n > 0) {
        session_approve(r->session, r->asked.id, decision_of_name(r->decided));
    } else {
        session_miss(r->session, STR("a decision about a tool call is not in the cassette"));
    }
}

/* Whether the recording decides: at the time it did then. */
static bool ask_recording(struct rig *r, struct str name, struct str arguments)
{
    int64_t took_ms = 0;
    r->decided = STR("");
    if (r->player == NULL || !player_decides(r->player)) {
        return false;
    }
    if (!player_decision(r->player, name, arguments, &r->decided, &took_ms) &&
        r->recorder != NULL) {
        return false;
    }
    r->verdict = sched_post(r->sched, (uint64_t)took_ms, 0, on_verdict, r);
    return true;
}

/* Who is asked may take their time, in which nothing may come due that a replay would see. */
static void on_ask(void *ctx, struct str call_id, struct str name, struct str arguments)
{
    struct rig *r = ctx;
    r->asked = (struct tool_call){call_id, name, arguments};
    r->asked_at = sched_now(r->sched);
    if (ask_recording(r, name, arguments)) {
        return;
    }
    if (sched_is_virtual(r->sched)) {
        r->holds = true;
        sched_hold(r->sched);
    }
    r->options.ask(r->options.ctx, call_id, name, arguments);
}

void rig_approve(struct rig *r, struct str call_id, enum decision decision)
{
    session_approve(r->session, call_id, decision);
    if (r->recorder != NULL && str_eq(call_id, r->asked.id)) {
        recorder_decided(r->recorder, &r->asked, str_of(decision_name(decision)), r->asked_at);
    }
    let_go(r);
}

void rig_keep_time(struct rig *r)
{
    int64_t at = r->player == NULL ? -1 : player_next_at(r->player);
    if (at > 0 && (uint64_t)at > sched_now(r->sched)) {
        sched_skip(r->sched, (uint64_t)at - sched_now(r->sched));
    }
}

void rig_say(struct rig *r, struct str text)
{
    rig_keep_time(r); /* so long the user took */
    session_say(r->session, text);
}

static void on_done(void *ctx)
{
    struct rig *r = ctx;
    let_go(r);
    sched_cancel(r->sched, r->verdict);
    r->verdict = NULL;
    if (r->options.done != NULL) {
        r->options.done(r->options.ctx);
    }
}

static enum wire_format format_of(const struct rig *r)
{
    enum wire_format format = WIRE_CHAT;
    (void)wire_of_provider(r->config.provider, &format);
    return format;
}

struct endpoint_options rig_endpoint(struct rig *r, enum wire_format format, struct str base_url,
                                     struct str api_key, struct str key_from)
{
    bool live = rig_is_live(r);
    return (struct endpoint_options){.format = format,
                                     .base_url = base_url,
                                     .api_key = api_key,
                                     .key_from = live ? key_from : STR(""),
                                     .headers = r->live.headers,
                                     .n_headers = r->live.n_headers,
                                     .used = live ? on_used : NULL,
                                     .used_ctx = r,
                                     .sched = r->sched};
}

static void start_session(struct rig *r)
{
    const struct rig_options *o = &r->options;
    struct endpoint_options endpoint =
        rig_endpoint(r, format_of(r), o->base_url, o->api_key,
                     o->key_from.n > 0 ? o->key_from : r->live.key_from);
    endpoint.note = on_note;
    endpoint.note_ctx = r;
    r->llm = llm_endpoint(r->model, &endpoint);
    struct session_options session = {
        .config = r->config,
        .prompt = o->prompt,
        .resume = o->resume == NULL ? NULL : o->resume->kernel,
        .llm = r->llm,
        .tools = r->tools,
        .sched = r->sched,
        .stream = o->stream,
        .temperature = o->temperature,
        .max_tokens = o->max_tokens,
        .ctx = r,
        .log = on_log,
        .delta = o->delta == NULL ? NULL : on_delta,
        .ask = o->ask != NULL || (r->player != NULL && player_decides(r->player)) ? on_ask : NULL,
        .done = on_done};
    r->session = session_new(&session);
    if (o->resume != NULL) {
        o->resume->kernel = NULL; /* the session's now */
    }
}

static void set_price(struct rig *r)
{
    const struct prices *prices = r->options.prices == NULL ? prices_shipped() : r->options.prices;
    r->config.price = prices_find(prices, r->config.model, &r->config.currency);
}

/* The settings of a new run that the options say. */
static void configure(struct rig *r)
{
    r->config.provider = r->options.provider.n > 0 ? r->options.provider : STR("openai");
    r->config.tools = toolset_specs(r->options.tools, &r->config.n_tools);
    r->config.system = r->options.system;
    r->config.budget = r->options.budget;
    set_price(r);
}

/* A run that goes on has the settings of its log, but for what the options change. */
static void reconfigure(struct rig *r)
{
    struct rig_options *o = &r->options;
    r->config = o->settings != NULL ? *o->settings : o->resume->config;
    r->config.budget = o->budget;
    r->config.provider = o->provider.n > 0 ? o->provider : r->config.provider;
    if (o->tools != NULL) {
        r->config.tools = toolset_specs(o->tools, &r->config.n_tools);
    } else {
        o->tools = o->resume->builtins;
    }
    bool other = o->model.n > 0 && !str_eq(o->model, r->config.model);
    r->config.model = other ? o->model : r->config.model;
    if (other || o->prices != NULL) {
        set_price(r);
    }
}

static int build(struct rig *r, struct loop *loop, struct err *e)
{
    int rc = rig_load(r, e);
    if (rc != 0) {
        return rc;
    }
    if (r->config.model.n == 0 && r->options.resume == NULL) {
        return err_set(e, ERR_USAGE, "no model is named: give --model NAME or set MODEL");
    }
    if (r->options.resume != NULL) {
        reconfigure(r);
    } else {
        configure(r);
    }
    if (!date_parse(r->config.started_at, &r->started_at_ms)) {
        const char *file = r->options.resume != NULL ? r->options.resume->path : r->options.path;
        return err_set(e, ERR_INPUT, "%s: started_at is no time like %s", file, EPOCH_TEXT);
    }
    if (r->options.source != EVAL_REPLAY) {
        rc = toolset_programs(r->options.tools, e);
    }
    if (rc != 0) {
        return rc;
    }
    r->sched = rig_clock(r, loop);
    r->local = toolbox_local(r->options.tools, r->sched, loop, r->started_at_ms);
    rc = rig_connect(r, loop, e);
    if (rc == 0 && r->options.resume != NULL) {
        rc = rig_catch_up(r, e);
    }
    if (rc == 0) {
        start_session(r);
    }
    return rc;
}

static struct rig *begin(const struct rig_options *o)
{
    struct rig *r = mem_zero(sizeof *r);
    r->arena = arena_new();
    r->options = *o;
    r->live = o->live != NULL ? *o->live : LIVE_SETTINGS_DEFAULT;
    r->config = o->settings == NULL ? kernel_config_default() : *o->settings;
    return r;
}

/* The rig into *out, or frees it. */
static int finish(struct rig *r, int rc, struct rig **out)
{
    if (rc != 0) {
        int closed = rig_free(r, NULL);
        (void)closed; /* the first error is the one to tell */
        return rc;
    }
    *out = r;
    return 0;
}

int rig_new(struct loop *loop, const struct rig_options *o, struct rig **out, struct err *e)
{
    struct rig *r = begin(o);
    return finish(r, build(r, loop, e), out);
}

int rig_answers(struct loop *loop, const struct rig_options *o, struct rig **out, struct err *e)
{
    struct rig *r = begin(o);
    r->bare = true;
    int rc = rig_load(r, e);
    if (rc == 0) {
        r->sched = rig_clock(r, loop);
        rc = rig_connect(r, loop, e);
    }
    return finish(r, rc, out);
}

/* What a cancel stops is no part of the recording: it would replay as an endpoint that hangs. */
void rig_cancel(struct rig *r, struct str reason)
{
    if (r->recorder != NULL) {
        recorder_abandon(r->recorder);
    }
    session_cancel(r->session, reason);
}

bool rig_status(const struct rig *r, enum run_status *out)
{
    struct run_result result;
    bool over = session_result(r->session, &result);
    if (over) {
        *out = result.status;
    }
    return over;
}

bool rig_outcome(struct rig *r, struct rig_outcome *out)
{
    *out = (struct rig_outcome){.model = r->config.model,
                                .log_error = r->log_error.code == 0 ? NULL : &r->log_error};
    rig_source_outcome(r, out);
    if (!session_result(r->session, &out->result)) {
        return false;
    }
    out->note = buf_str(&r->note);
    out->calls = r->calls.at;
    out->n_calls = r->calls.n;
    return true;
}

void rig_source_outcome(struct rig *r, struct rig_outcome *out)
{
    char hash[HASH_HEX];
    out->warning = buf_str(&r->warning);
    out->recorded = r->recorder == NULL ? 0 : recorder_count(r->recorder);
    if (r->player != NULL) {
        out->replay = player_report(r->player);
    }
    if (r->cassette != NULL && r->options.source == EVAL_REPLAY) {
        out->cassette = arena_str(r->arena, str_of(hash_hex(hash64(0, r->cassette->source), hash)));
    }
    if (r->fake != NULL) {
        out->script = fake_path(r->script);
        out->leftover = fake_leftover(r->fake);
    }
}

bool rig_leftover_fails(const struct rig_outcome *o)
{
    enum run_status s = o->result.status;
    enum eval_outcome outcome = eval_outcome_of_status(s);
    return o->leftover.n > 0 && eval_is_scored(outcome) && s != RUN_SCRIPT_MISMATCH &&
           s != RUN_PROGRAM_FAILED;
}

/* The first failure of writing the trace counts. */
static int close_trace(struct rig *r, struct err *e)
{
    int rc = r->log_error.code;
    struct err *late = rc == 0 ? e : NULL;
    int closed = r->trace == NULL         ? 0
                 : r->options.trace_again ? appender_close_unsynced(r->trace, late)
                                          : appender_close(r->trace, late);
    if (rc != 0 && e != NULL) {
        *e = r->log_error;
    }
    return rc != 0 ? rc : closed;
}

int rig_free(struct rig *r, struct err *e)
{
    if (r == NULL) {
        return 0;
    }
    if (r->recorder != NULL) {
        recorder_abandon(r->recorder); /* a run that is over has no call open */
    }
    session_free(r->session);
    if (r->llm != NULL) {
        r->llm->ops->free(r->llm);
    }
    int rc = close_trace(r, e);
    player_free(r->player);
    if (r->recorder != NULL) {
        int closed = recorder_close(r->recorder, rc == 0 ? e : NULL);
        rc = rc != 0 ? rc : closed;
    }
    if (r->transport != NULL) {
        r->transport->ops->free(r->transport);
    }
    if (r->local != NULL) {
        r->local->ops->free(r->local);
    }
    sched_free(r->sched);
    snapshots_free(r->snapshots);
    fake_session_free(r->fake);
    fake_free(r->own_script);
    cassette_free(r->cassette);
    cassette_rules_free(r->rules);
    buf_free(&r->warning);
    buf_free(&r->note);
    buf_free(&r->adopted);
    free(r->calls.at);
    arena_free(r->arena);
    free(r);
    return rc;
}
