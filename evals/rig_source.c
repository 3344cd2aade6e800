/* Where a rig's answers come from: a script, a recording, a live endpoint, or one with a recorder
 * around it. */
#include <inttypes.h>
#include <string.h>

#include "evals/rig_int.h"
#include "kernel/base/date.h"
#include "kernel/base/hash.h"
#include "kernel/base/text.h"
#include "kernel/drive/curl.h"
#include "kernel/drive/endpoint.h"
#include "kernel/drive/files.h"
#include "kernel/drive/machine.h"

bool eval_is_live(enum eval_source s)
{
    return s == EVAL_LIVE || s == EVAL_RECORD;
}

bool eval_has_cassettes(enum eval_source s)
{
    return s == EVAL_REPLAY || s == EVAL_RECORD;
}

bool rig_is_live(const struct rig *r)
{
    return eval_is_live(r->options.source);
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
    r->config.started_at = date_text(r->arena, clock_unix_ms());
}

static int load_script(struct rig *r, struct err *e)
{
    int rc = r->options.script != NULL ? 0 : fake_load(r->options.path, &r->own_script, e);
    if (rc != 0) {
        return rc;
    }
    r->script = r->options.script != NULL ? r->options.script : r->own_script;
    r->fake = fake_session_new(r->script);
    fake_session_trial(r->fake, r->options.trial);
    fixed_identity(r, r->options.seed != 0 ? r->options.seed : fake_seed(r->script));
    if (r->config.model.n == 0) {
        r->config.model = fake_model(r->script);
    }
    return 0;
}

static void note_adopted(struct rig *r, const char *flag, struct str value)
{
    buf_fmt(&r->adopted, " %s ", flag);
    text_add_word(&r->adopted, value);
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
    if (r->config.model.n == 0 && val_text(val_get(first, "model")).n > 0) {
        r->config.model = val_text(val_get(first, "model"));
        note_adopted(r, "--model", r->config.model);
    }
    if (!o->stream && val_is(stream, VAL_BOOL) && stream->boolean) {
        o->stream = true;
        buf_addz(&r->adopted, " --stream");
    }
    if (o->temperature.n == 0 && val_is(temperature, VAL_NUMBER)) {
        o->temperature = temperature->text;
        note_adopted(r, "--temperature", o->temperature);
    }
    if (!val_is(max, VAL_NUMBER)) {
        max = val_get(first, "max_tokens");
    }
    if (o->max_tokens < 0 && val_int(max, &max_tokens) && max_tokens >= 0) {
        o->max_tokens = max_tokens;
        note_adopted(r, "--max-tokens", max->text);
    }
}

/* The task of an eval's command; n 0 = it is another. */
static struct str mended_task(const struct rig *r)
{
    struct str mend = r->options.mend;
    size_t at = str_starts(mend, RIG_MEND_EVAL) ? str_find(mend, STR(RIG_MEND_TASK)) : SIZE_MAX;
    if (at == SIZE_MAX) {
        return (struct str){NULL, 0};
    }
    struct str rest = str_slice(mend, at + strlen(RIG_MEND_TASK), mend.n);
    return str_slice(rest, 0, str_find(rest, STR(" ")));
}

/* An address that has the task's id as a part of its path is that of all tasks with {task}. */
static struct str for_all_tasks(struct rig *r, struct str url)
{
    struct str task = mended_task(r);
    if (task.n == 0) {
        return url;
    }
    struct str part = arena_printf(r->arena, "/%.*s/", STR_FMT(task));
    size_t at = str_find(url, part);
    return at == SIZE_MAX
               ? url
               : arena_printf(r->arena, "%.*s/{task}/%.*s", STR_FMT(str_slice(url, 0, at)),
                              STR_FMT(str_slice(url, at + part.n, url.n)));
}

/* A new run asks as the recorded one did. */
static void adopt_provider(struct rig *r, struct str uri)
{
    struct rig_options *o = &r->options;
    enum wire_format format;
    if (o->resume != NULL || !wire_of_url(uri, &format)) {
        return;
    }
    if (o->provider.n == 0) {
        o->provider = str_of(wire_provider(format));
        if (format != WIRE_CHAT) {
            note_adopted(r, "--provider", o->provider);
        }
    }
    if (!str_is(o->provider, wire_provider(format))) {
        return;
    }
    size_t end = str_find(uri, STR("?"));
    struct str path = str_slice(uri, 0, end);
    struct str base = str_slice(path, 0, path.n - strlen(wire_path(format)) - 1);
    if (o->base_url.n == 0 && !str_is(base, endpoint_provider_url(format)) &&
        str_find(uri, STR("REDACTED")) == SIZE_MAX) {
        struct str url =
            arena_printf(r->arena, "%.*s%.*s", STR_FMT(base), STR_FMT(str_slice(uri, end, uri.n)));
        note_adopted(r, "--base-url", for_all_tasks(r, url));
    }
}

/* The command that records anew says what this replay has from its recording. There is none for
 * what another program recorded: it would be overwritten by what that program does not make. */
static void complete_mend(struct rig *r)
{
    static const char *const verbs[] = {"assay run --mode all", "assay chat --mode all",
                                        RIG_MEND_EVAL};
    struct str *mend = &r->options.mend;
    if (!r->cassette->ours) {
        *mend = STR("");
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (r->options.source == EVAL_REPLAY && str_starts(*mend, verbs[i])) {
            size_t task = str_find(*mend, STR(RIG_MEND_TASK));
            size_t at =
                strcmp(verbs[i], RIG_MEND_EVAL) == 0 && task != SIZE_MAX ? task : strlen(verbs[i]);
            *mend =
                arena_printf(r->arena, "%.*s%.*s%.*s", STR_FMT(str_slice(*mend, 0, at)),
                             STR_FMT(buf_str(&r->adopted)), STR_FMT(str_slice(*mend, at, mend->n)));
        }
    }
}

/* A recording that is too old is an error where that is asked for, else a warning. */
static int check_age(struct rig *r, struct err *e)
{
    const struct eval_cassettes *how = &r->options.how;
    struct buf text = {0};
    int rc = 0;
    buf_fmt(&text, "%s: ", r->cassette->path);
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
    if (r->bare) {
        return 0;
    }
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
    rc = adopt_session(r, e);
    complete_mend(r);
    return rc != 0 ? rc : check_age(r, e);
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

int rig_load(struct rig *r, struct err *e)
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

/* ---- the seams ---- */

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

int rig_connect(struct rig *r, struct loop *loop, struct err *e)
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

struct sched *rig_clock(const struct rig *r, struct loop *loop)
{
    if (rig_is_live(r) && r->cassette == NULL) {
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

/* ---- a run that goes on ---- */

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

int rig_catch_up(struct rig *r, struct err *e)
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
