#include "evals/rig.h"

#include <inttypes.h>
#include <stdlib.h>

#include "evals/resume.h"
#include "fakellm/fake.h"
#include "kernel/base/hash.h"
#include "kernel/drive/endpoint.h"
#include "kernel/drive/files.h"
#include "kernel/drive/session.h"
#include "kernel/drive/snapshots.h"

/* The start of every run that has no time of its own: fake models, other programs' recordings. */
#define EPOCH_TEXT "2026-11-29T18:00:00.000Z"

struct rig {
    struct arena *arena;
    struct rig_options options;
    struct live_settings live;
    struct kernel_config config;
    int64_t started_at_ms;
    struct sched *sched;
    struct toolbox *local;
    struct toolbox *tools;       /* local, or a wrapper that somebody else owns */
    struct transport *transport; /* fake or live, owned; NULL in a replay */
    struct transport *model;     /* that, or a wrapper that somebody else owns */
    struct llm *llm;
    struct session *session;
    struct fake_script *script;
    struct fake_session *fake;
    struct cassette *cassette; /* with a recorder: what it goes on with */
    struct rules *rules;       /* the cassette's and the options' */
    struct player *player;
    struct recorder *recorder;
    struct appender *trace; /* opened with the first line */
    struct snapshots *snapshots;
    struct err log_error;   /* code 0: all is well */
    bool holds;             /* virtual time stands still while somebody decides */
    struct tool_call asked; /* the call that is being decided about */
    uint64_t asked_at;
    struct str decided;    /* a recorded decision, on its way; n 0 = a miss */
    struct timer *verdict; /* when it comes; NULL = none on its way */
    struct buf warning;
    struct buf note;
};

static bool is_live(const struct rig *r)
{
    return r->options.source == EVAL_LIVE || r->options.source == EVAL_RECORD;
}

static struct str run_id(struct rig *r, uint64_t value)
{
    return arena_printf(r->arena, "%012" PRIx64, value & 0xffffffffffffu);
}

/* A run that is the same every time: identity names it. */
static void fixed_identity(struct rig *r, uint64_t seed)
{
    struct str identity = r->options.identity;
    r->config.seed = seed;
    r->config.run = run_id(r, hash64(seed, identity));
    r->config.started_at = STR(EPOCH_TEXT);
}

static void live_identity(struct rig *r)
{
    /* at most 2^53, so that every JSON reader keeps it */
    r->config.seed = r->options.seed != 0 ? r->options.seed : random_u64() >> 11;
    r->config.run = run_id(r, random_u64());
    r->config.started_at = time_text(r->arena, clock_unix_ms());
}

static int load_script(struct rig *r, struct err *e)
{
    int rc = fake_load(r->options.path, &r->script, e);
    if (rc != 0) {
        return rc;
    }
    r->fake = fake_session_new(r->script);
    fixed_identity(r, r->options.seed != 0 ? r->options.seed : fake_seed(r->script));
    if (r->config.model.n == 0) {
        r->config.model = fake_model(r->script);
    }
    return 0;
}

/* What the options leave open is as in the recording's first request, so that a replay need not
 * repeat it. */
static void adopt_request(struct rig *r, const struct val *first)
{
    struct rig_options *o = &r->options;
    const struct val *stream = val_get(first, "stream");
    const struct val *temperature = val_get(first, "temperature");
    const struct val *max = val_get(first, "max_completion_tokens");
    int64_t max_tokens;
    if (r->config.model.n == 0) {
        r->config.model = val_text(val_get(first, "model"));
    }
    if (val_is(stream, VAL_BOOL) && stream->boolean) {
        o->stream = true;
    }
    if (o->temperature.n == 0 && val_is(temperature, VAL_NUMBER)) {
        o->temperature = temperature->text;
    }
    if (!val_is(max, VAL_NUMBER)) {
        max = val_get(first, "max_tokens");
    }
    if (o->max_tokens < 0 && val_int(max, &max_tokens) && max_tokens >= 0) {
        o->max_tokens = max_tokens;
    }
}

/* A new run asks as the recorded one did. */
static void adopt_provider(struct rig *r, struct str uri)
{
    enum wire_format format;
    if (r->options.resume == NULL && r->options.provider.n == 0 && wire_of_url(uri, &format)) {
        r->options.provider = str_of(wire_provider(format));
    }
}

/* A recording that is too old is an error where that is asked for, else a warning. */
static int check_age(struct rig *r, struct err *e)
{
    const struct eval_cassettes *how = &r->options.how;
    struct buf text = {0};
    int rc = 0;
    if (how->max_age_ms > 0 &&
        !cassette_is_young(r->cassette, clock_unix_ms(), how->max_age_ms, &text)) {
        struct str mend = r->options.mend;
        buf_fmt(&text, "%s%.*s", mend.n > 0 ? "; to record it anew: " : "", STR_FMT(mend));
        rc = how->strict ? err_set(e, ERR_MISS, "%.*s", STR_FMT(buf_str(&text))) : 0;
        buf_addz(&r->warning, r->warning.n > 0 ? "\n" : "");
        buf_add(&r->warning, buf_str(&text));
    }
    buf_free(&text);
    return rc;
}

/* What is added to a cassette is found by the rules of its head, which stay as they are. */
static int join_rules(struct rig *r, struct err *e)
{
    const struct rules *asked = r->options.how.rules;
    r->rules = cassette_rules_new();
    int rc = cassette_rules_add_all(r->rules, r->cassette->rules, e);
    size_t n = cassette_rules_count(r->rules);
    rc = rc != 0 ? rc : cassette_rules_add_all(r->rules, asked, e);
    if (rc == 0 && r->options.source == EVAL_RECORD && cassette_rules_count(r->rules) > n) {
        rc = err_at(e, ERR_INPUT, r->cassette->path, 0, 0,
                    "its head has other rules than --ignore and --normalise: put them there, or "
                    "record anew with --mode all");
    }
    return rc;
}

/* The settings that are open as in the first request; a replay needs one. */
static int adopt_session(struct rig *r, struct err *e)
{
    struct buf why = {0};
    const struct cassette *c = r->cassette;
    const struct interaction *first = cassette_session(c, &why);
    int rc = 0;
    if (first != NULL) {
        adopt_request(r, first->request_json);
        adopt_provider(r, first->uri);
    }
    if (r->options.resume == NULL && (c->place.requests > 0 || c->place.calls > 0)) {
        rc = err_at(e, ERR_INPUT, c->path, 0, 0,
                    "holds the rest of a run, behind its first %lld requests: assay resume LOG "
                    "--replay replays it",
                    (long long)c->place.requests);
    } else if (first == NULL && r->options.source == EVAL_REPLAY) {
        rc = err_at(e, ERR_INPUT, c->path, 0, 0, "%.*s", STR_FMT(buf_str(&why)));
    } else if (first != NULL && r->config.model.n == 0) {
        rc =
            err_at(e, ERR_INPUT, c->path, first->line, 1, "its first request %s: give --model NAME",
                   first->request_json == NULL ? "is no JSON" : "names no model");
    }
    buf_free(&why);
    return rc;
}

static int load_cassette(struct rig *r, const char *path, struct err *e)
{
    int rc = cassette_load(path, &r->cassette, &r->warning, e);
    rc = rc != 0 ? rc : check_age(r, e);
    rc = rc != 0 ? rc : join_rules(r, e);
    if (rc != 0) {
        return rc;
    }
    const struct cassette *c = r->cassette;
    fixed_identity(r, c->ours ? c->seed : r->options.seed);
    if (c->run.n > 0) {
        r->config.run = c->run;
    }
    if (c->started_at.n > 0) {
        r->config.started_at = c->started_at;
    }
    return adopt_session(r, e);
}

/* What becomes of a cassette that is there already. One that is only replayed makes a replay of the
 * whole run: there is nothing in it then that could call a model. */
static int load_recording(struct rig *r, struct err *e)
{
    struct rig_options *o = &r->options;
    const char *base = o->base != NULL ? o->base : o->path;
    switch (o->how.mode) {
    case CASSETTE_NEW:
    case CASSETTE_ALL: break;
    case CASSETTE_ONCE:
        if (path_exists(base)) {
            o->source = EVAL_REPLAY;
            o->path = base;
            return load_cassette(r, base, e);
        }
        break;
    case CASSETTE_NEW_EPISODES:
        if (path_exists(base)) {
            return load_cassette(r, base, e);
        }
        break;
    }
    live_identity(r);
    return 0;
}

/* What the source needs before there is a clock. */
static int load(struct rig *r, struct err *e)
{
    r->config.model = r->options.model;
    switch (r->options.source) {
    case EVAL_FAKE: return load_script(r, e);
    case EVAL_REPLAY: return load_cassette(r, r->options.path, e);
    case EVAL_RECORD: return load_recording(r, e);
    case EVAL_LIVE: live_identity(r); return 0;
    }
    return 0;
}

/* A tool that needs nothing of the world may run in a replay that does not hold its call. */
static bool runs_without(void *ctx, struct str name)
{
    const struct rig *r = ctx;
    enum tool_source source;
    return toolset_source(r->options.tools, name, &source) &&
           (source == TOOL_BUILTIN || source == TOOL_CANNED);
}

/* What the run that goes on had asked so far. */
static struct cassette_place place_of(struct rig *r)
{
    struct resumed *from = r->options.resume;
    if (from == NULL) {
        return (struct cassette_place){0, 0};
    }
    resumed_count(from, true);
    return (struct cassette_place){(int64_t)from->requests, (int64_t)from->n_calls};
}

/* Puts a player in front of model and tools. live, fallback: who answers what it does not hold. */
static void connect_player(struct rig *r, struct transport *live, struct toolbox *fallback)
{
    const struct player_options play = {.cassette = r->cassette,
                                        .match = r->options.how.match,
                                        .rules = r->rules,
                                        .rechunk = r->options.how.rechunk,
                                        .sched = r->sched,
                                        .mend = r->options.mend,
                                        .fallback = fallback,
                                        .runs_without = runs_without,
                                        .ctx = r,
                                        .live = live};
    r->player = player_new(&play);
    r->model = player_transport(r->player);
    r->tools = player_toolbox(r->player);
}

static int connect_recorder(struct rig *r, struct err *e)
{
    const struct rig_options *o = &r->options;
    const struct recorder_options record = {.path = o->path,
                                            .overwrite =
                                                o->how.mode == CASSETTE_ALL || o->base != NULL,
                                            .run = r->config.run,
                                            .seed = r->config.seed,
                                            .started_at = r->config.started_at,
                                            .place = place_of(r),
                                            .rules = o->how.rules,
                                            .after = r->cassette,
                                            .sched = r->sched};
    int rc = recorder_new(&record, &r->recorder, e);
    if (rc != 0) {
        return rc;
    }
    r->model = recorder_transport(r->recorder, r->transport);
    r->tools = recorder_toolbox(r->recorder, r->local);
    if (r->cassette != NULL) {
        connect_player(r, r->model, r->tools);
    }
    return 0;
}

static int connect_source(struct rig *r, struct loop *loop, struct err *e)
{
    r->tools = r->local;
    switch (r->options.source) {
    case EVAL_FAKE:
        r->transport = transport_fake(r->fake, r->sched);
        r->model = r->transport;
        return 0;
    case EVAL_REPLAY: connect_player(r, NULL, r->local); return 0;
    case EVAL_LIVE:
    case EVAL_RECORD:
        r->transport =
            limiter_transport(limiter_of(loop), transport_curl(loop, r->sched, r->live.deadlines));
        r->model = r->transport;
        break;
    }
    return r->options.source == EVAL_RECORD ? connect_recorder(r, e) : 0;
}

/* Whatever is replayed has a clock of its own, until something live comes. */
static struct sched *clock_of(const struct rig *r, struct loop *loop)
{
    bool live = r->options.source == EVAL_LIVE || r->options.source == EVAL_RECORD;
    if (live && r->cassette == NULL) {
        return sched_real(loop);
    }
    return r->options.source == EVAL_REPLAY && r->options.how.speed > 0
               ? sched_paced(loop, r->options.how.speed)
               : sched_virtual(loop);
}

void live_prepare(struct loop *loop, const struct live_settings *s, bool live)
{
    if (s == NULL) {
        return;
    }
    transport_set_net(loop, &s->net);
    if (live) {
        limiter_set(loop, &s->limiter);
    }
}

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

void rig_say(struct rig *r, struct str text)
{
    int64_t at = r->player == NULL ? -1 : player_next_at(r->player);
    if (at > 0 && (uint64_t)at > sched_now(r->sched)) {
        sched_skip(r->sched, (uint64_t)at - sched_now(r->sched)); /* so long the user took */
    }
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

static void start_session(struct rig *r)
{
    const struct rig_options *o = &r->options;
    struct endpoint_options endpoint = {.format = format_of(r),
                                        .base_url = o->base_url,
                                        .api_key = o->api_key,
                                        .key_from = is_live(r) ? r->live.key_from : STR(""),
                                        .headers = r->live.headers,
                                        .n_headers = r->live.n_headers,
                                        .used = is_live(r) ? on_used : NULL,
                                        .used_ctx = r,
                                        .sched = r->sched,
                                        .note = on_note,
                                        .note_ctx = r};
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

/* Asks the script again what the log's run has asked, so that its rules are used up as they were.
 */
static void ask_again(struct rig *r)
{
    const struct kernel_asked *asked = NULL;
    size_t n = resumed_requests(r->options.resume, &asked);
    for (size_t i = 0; i < n; i++) {
        struct err e;
        struct buf body = {0};
        struct fake_answer answer;
        struct arena *arena = arena_new();
        struct llm_request rq = {.model = asked[i].model,
                                 .messages = asked[i].command.messages,
                                 .n_messages = asked[i].command.n_messages,
                                 .tools = asked[i].tools,
                                 .n_tools = asked[i].n_tools,
                                 .max_tokens = -1};
        if (asked[i].command.kind == CMD_SUMMARISE) {
            rq.messages = session_summary_request(&asked[i].command, arena);
            rq.n_messages = 1;
            rq.n_tools = 0;
        }
        if (wire_encode_request(WIRE_CHAT, &rq, &body, &e) == 0) {
            fake_answer(r->fake, STR("http://fake/v1/chat/completions"), buf_str(&body), &answer);
        }
        buf_free(&body);
        arena_free(arena);
    }
}

/* Moves the player on to where the log ends. */
static int skip_played(struct rig *r, struct err *e)
{
    const struct resumed *from = r->options.resume;
    struct cassette_place place = r->cassette->place;
    if ((int64_t)from->requests < place.requests || (int64_t)from->n_calls < place.calls) {
        return err_at(e, ERR_INPUT, r->cassette->path, 0, 0,
                      "goes on behind %lld requests and %lld tool calls of its run; %s holds %zu "
                      "and %zu",
                      (long long)place.requests, (long long)place.calls, from->path, from->requests,
                      from->n_calls);
    }
    player_skip_requests(r->player, from->requests - (size_t)place.requests);
    for (size_t i = (size_t)place.calls; i < from->n_calls; i++) {
        player_skip_call(r->player, from->calls[i].name, from->calls[i].arguments);
    }
    bool whole = place.requests == 0 && place.calls == 0; /* the rest may not hold them */
    for (size_t i = 0; whole && i < from->n_decided; i++) {
        player_skip_decision(r->player, from->decided[i].name, from->decided[i].arguments);
    }
    return 0;
}

/* Moves clock and source on to where the log ends. */
static int catch_up(struct rig *r, struct err *e)
{
    struct resumed *from = r->options.resume;
    sched_skip(r->sched, kernel_now(from->kernel));
    if (r->fake != NULL || r->player != NULL) {
        resumed_count(from, r->player != NULL);
    }
    if (r->fake != NULL && fake_has_rules(r->script)) {
        ask_again(r);
    } else if (r->fake != NULL) {
        fake_session_skip(r->fake, from->requests);
    }
    return r->player == NULL ? 0 : skip_played(r, e);
}

static int build(struct rig *r, struct loop *loop, struct err *e)
{
    int rc = load(r, e);
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
    if (!time_parse(r->config.started_at, &r->started_at_ms)) {
        const char *file = r->options.resume != NULL ? r->options.resume->path : r->options.path;
        return err_set(e, ERR_INPUT, "%s: started_at is no time like %s", file, EPOCH_TEXT);
    }
    if (r->options.source != EVAL_REPLAY) {
        rc = toolset_programs(r->options.tools, e);
    }
    if (rc != 0) {
        return rc;
    }
    r->sched = clock_of(r, loop);
    r->local = toolbox_local(r->options.tools, r->sched, loop, r->started_at_ms);
    rc = connect_source(r, loop, e);
    if (rc == 0 && r->options.resume != NULL) {
        rc = catch_up(r, e);
    }
    if (rc == 0) {
        start_session(r);
    }
    return rc;
}

int rig_new(struct loop *loop, const struct rig_options *o, struct rig **out, struct err *e)
{
    struct rig *r = mem_zero(sizeof *r);
    r->arena = arena_new();
    r->options = *o;
    r->live = o->live != NULL ? *o->live : LIVE_SETTINGS_DEFAULT;
    r->config = o->settings == NULL ? kernel_config_default() : *o->settings;
    int rc = build(r, loop, e);
    if (rc != 0) {
        int closed = rig_free(r, NULL);
        (void)closed; /* the first error is the one to tell */
        return rc;
    }
    *out = r;
    return 0;
}

/* What a cancel stops is no part of the recording: it would replay as an endpoint that hangs. */
void rig_cancel(struct rig *r, struct str reason)
{
    if (r->recorder != NULL) {
        recorder_abandon(r->recorder);
    }
    session_cancel(r->session, reason);
}

static bool is_terminal(const struct rig *r, struct str name)
{
    const struct tool_spec *tool = tool_find(r->config.tools, r->config.n_tools, name);
    return tool != NULL && tool->terminal;
}

/* The calls that the history holds, in order, each with its reply's number. */
static struct eval_call *calls_made(struct rig *r, size_t *count)
{
    size_t n_history = 0, room = 0, n = 0;
    const struct message *history = kernel_history(session_kernel(r->session), &n_history);
    for (size_t i = 0; i < n_history; i++) {
        room += history[i].n_calls;
    }
    struct eval_call *calls = arena_array(r->arena, room, sizeof *calls);
    int64_t step = 0;
    for (size_t i = 0; i < n_history; i++) {
        step += history[i].role == ROLE_ASSISTANT;
        for (size_t j = 0; j < history[i].n_calls; j++) {
            const struct tool_call *c = &history[i].calls[j];
            if (!is_terminal(r, c->name)) {
                calls[n++] = (struct eval_call){c->name, c->arguments, step};
            }
        }
    }
    *count = n;
    return calls;
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
                                .warning = buf_str(&r->warning),
                                .log_error = r->log_error.code == 0 ? NULL : &r->log_error};
    if (!session_result(r->session, &out->result)) {
        return false;
    }
    out->note = buf_str(&r->note);
    out->calls = calls_made(r, &out->n_calls);
    out->recorded = r->recorder == NULL ? 0 : recorder_count(r->recorder);
    if (r->player != NULL) {
        out->replay = player_report(r->player);
    }
    if (r->fake != NULL) {
        out->script = fake_path(r->script);
        out->leftover = fake_leftover(r->fake);
    }
    return true;
}

bool rig_leftover_fails(const struct rig_outcome *o)
{
    enum run_status s = o->result.status;
    enum eval_outcome outcome = eval_outcome_of_status(s);
    return o->leftover.n > 0 && (outcome == EVAL_PASS || outcome == EVAL_FAIL) &&
           s != RUN_SCRIPT_MISMATCH;
}

/* The lines of `text` below a heading. */
static void add_lines(struct buf *out, struct str text)
{
    for (text = str_trim(text); text.n > 0;) {
        size_t end = str_find(text, STR("\n"));
        buf_addz(out, "\n  ");
        buf_add(out, str_slice(text, 0, end));
        text = end == SIZE_MAX ? (struct str){NULL, 0} : str_slice(text, end + 1, text.n);
    }
}

bool replay_text(const struct player_report *p, bool strict, struct buf *out)
{
    const char *error = strict ? ", and --strict makes that an error" : "";
    buf_add(out, str_trim(p->miss_text));
    if (p->drifts > 0) {
        buf_fmt(out, "%s%zu request%s differed from the recording%s:", out->n > 0 ? "\n" : "",
                p->drifts, p->drifts == 1 ? "" : "s", error);
        add_lines(out, p->drift_text);
    }
    bool unused = p->unused > 0 && strict && p->misses == 0;
    if (unused) {
        buf_fmt(out, "%s%zu recorded interaction%s not used%s:", out->n > 0 ? "\n" : "", p->unused,
                p->unused == 1 ? " was" : "s were", error);
        add_lines(out, p->unused_text);
    }
    return p->misses > 0 || unused || (p->drifts > 0 && strict);
}

/* The first failure of writing the trace counts. */
static int close_trace(struct rig *r, struct err *e)
{
    int rc = r->log_error.code;
    int closed = r->trace == NULL ? 0 : appender_close(r->trace, rc == 0 ? e : NULL);
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
    fake_free(r->script);
    cassette_free(r->cassette);
    cassette_rules_free(r->rules);
    buf_free(&r->warning);
    buf_free(&r->note);
    arena_free(r->arena);
    free(r);
    return rc;
}
