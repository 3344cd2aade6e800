/* Feeding a log again. What the log says happened goes in, what the kernel decides must come out as
 * the same bytes, so that one walk serves resume, fork, verification and audit. */
#include "kernel/core/replay.h"

#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/core/kernel_int.h"

enum { SHOWN_BEFORE = 60, SHOWN_CHARS = 160 }; /* of a line that is not as it should be */

/* A line of the log: its bytes with the newline, and what they say. */
struct line {
    struct str bytes;
    size_t number; /* from 1 */
    const struct val *v;
    struct str type;
    uint64_t t_ms;
};

struct walk {
    struct kernel *k;
    struct arena *arena; /* of one line; emptied after each */
    const char *file;
    struct str log;
    size_t at;     /* what comes next in the log */
    size_t number; /* of lines before it */
    size_t lines_max;
    struct kernel_replay *out;
    struct err *e;
    struct reply reply;
    struct failure failure;
    struct tool_output output;
    struct kernel_config config;
    struct kernel_asked open; /* the newest request; command.n_messages 0 = none open */
    size_t cap_asked;
};

static int bad(const struct walk *w, size_t number, const char *what)
{
    return err_at(w->e, ERR_INPUT, w->file, (uint32_t)number, 0, "%s", what);
}

/* The whole line at `at`; false at the end or before a line that has no newline. */
static bool cut_line(struct str log, size_t at, struct str *out)
{
    size_t end = str_find(str_slice(log, at, log.n), STR("\n"));
    if (end == SIZE_MAX) {
        return false;
    }
    *out = str_slice(log, at, at + end + 1);
    return true;
}

static int read_line(struct walk *w, size_t at, size_t number, struct line *l)
{
    struct err inner;
    struct val *v = NULL;
    int64_t t = -1;
    *l = (struct line){.number = number};
    if (!cut_line(w->log, at, &l->bytes)) {
        return 0;
    }
    struct str text = str_slice(l->bytes, 0, l->bytes.n - 1);
    if (json_parse(w->arena, NULL, text, &v, &inner) != 0) {
        return err_at(w->e, ERR_INPUT, w->file, (uint32_t)number, inner.column, "no event: %s",
                      inner.message);
    }
    l->v = v;
    l->type = val_text(val_get(v, "type"));
    if (l->type.n == 0 || !val_int(val_get(v, "t_ms"), &t) || t < 0) {
        return bad(w, number, "no event: a line needs type and t_ms");
    }
    l->t_ms = (uint64_t)t;
    return 0;
}

static bool flag(const struct val *v, const char *key)
{
    const struct val *b = val_get(v, key);
    return val_is(b, VAL_BOOL) && b->boolean;
}

static int64_t number_or(const struct val *v, const char *key, int64_t otherwise)
{
    int64_t n = otherwise;
    return val_int(val_get(v, key), &n) ? n : otherwise;
}

static struct str text_of(const struct val *v, const char *key)
{
    const struct val *s = val_get(v, key);
    if (!val_is(s, VAL_STRING)) {
        return (struct str){NULL, 0};
    }
    return s->text;
}

/* ---- lines into events ---- */

static struct usage usage_of(const struct val *v)
{
    const struct val *usage = val_get(v, "usage");
    return (struct usage){number_or(usage, "input", -1), number_or(usage, "cached", -1),
                          number_or(usage, "cache_write", -1), number_or(usage, "output", -1),
                          number_or(usage, "reasoning", -1)};
}

static void reply_of(struct walk *w, const struct val *v)
{
    const struct val *calls = val_get(v, "calls");
    size_t n = val_is(calls, VAL_ARRAY) ? calls->count : 0;
    const struct val *parts = val_get(v, "parts");
    struct str content = text_of(v, "content");
    w->reply = (struct reply){.content_null = content.p == NULL,
                              .content = content,
                              .reasoning = text_of(v, "reasoning"),
                              .parts = parts != NULL ? parts->raw : (struct str){NULL, 0},
                              .calls = arena_array(w->arena, n, sizeof *w->reply.calls),
                              .n_calls = n,
                              .stop_raw = text_of(v, "stop_raw"),
                              .usage = usage_of(v)};
    for (size_t i = 0; i < n; i++) {
        const struct val *c = val_item(calls, i);
        w->reply.calls[i] =
            (struct tool_call){text_of(c, "id"), text_of(c, "name"), text_of(c, "arguments")};
    }
    if (!stop_of_name(text_of(v, "stop"), &w->reply.stop)) {
        w->reply.stop = STOP_END_TURN;
    }
}

static void failure_of(struct walk *w, const struct val *v)
{
    w->failure = (struct failure){.status = (int)number_or(v, "status", 0),
                                  .retry_after_ms = number_or(v, "retry_after_ms", -1),
                                  .shown = flag(v, "shown"),
                                  .message = text_of(v, "message")};
    if (!fail_of_name(text_of(v, "class"), &w->failure.class)) {
        w->failure.class = FAIL_PROTOCOL;
    }
}

/* The message as the tool gave it: what the kernel adds about retries is taken off. */
static struct str without_retries(struct str message, int64_t attempts)
{
    if (attempts < 2 || !str_ends(message, attempts == 2 ? " retry)" : " retries)")) {
        return message;
    }
    size_t at = message.n;
    while (at > 0 && message.p[at - 1] != '(') {
        at--;
    }
    return at < 2 ? message : str_slice(message, 0, at - 2);
}

static void output_of(struct walk *w, const struct val *v)
{
    const struct val *error = val_get(v, "error");
    if (error == NULL) {
        w->output = (struct tool_output){
            .ok = true, .content = text_of(v, "content"), .truncated = flag(v, "truncated")};
        return;
    }
    w->output = (struct tool_output){
        .code = text_of(error, "code"),
        .message = without_retries(text_of(error, "message"), number_or(v, "attempts", 1)),
        .hint = text_of(error, "hint"),
        .retryable = flag(error, "retryable")};
}

static enum decision decision_of(struct str word)
{
    return str_is(word, "deny")     ? DECIDED_DENY
           : str_is(word, "always") ? DECIDED_ALWAYS
                                    : DECIDED_ALLOW;
}

static void budget_of(const struct val *v, struct budget *b)
{
    if (v == NULL) {
        return;
    }
    *b = BUDGET_DEFAULT; /* what stands at its default is left out */
    b->steps = number_or(v, "steps", b->steps);
    b->tokens = number_or(v, "tokens", b->tokens);
    b->seconds = number_or(v, "seconds", b->seconds);
    b->calls = number_or(v, "calls", b->calls);
    b->calls_per_reply = number_or(v, "calls_per_reply", b->calls_per_reply);
    const struct val *cost = val_get(v, "cost_usd");
    if (val_is(cost, VAL_NUMBER)) {
        (void)num_scaled(cost->text, 9, &b->cost_nano);
    }
}

/* The price and its currency where v names them. False: they are none. */
static bool price_of(struct arena *keep, const struct val *v, struct kernel_config *c)
{
    struct str currency = text_of(v, "currency");
    const struct val *price = val_get(v, "price");
    c->currency = currency.n > 0 ? arena_str(keep, currency) : c->currency;
    return price == NULL || price_read(keep, price, &c->price);
}

/* The specs of the tools that are named, in that order. */
static int tools_of(const struct tool_spec *specs, size_t n_specs, const struct val *names,
                    struct kernel_config *c, struct arena *keep, const char *file, size_t line,
                    struct err *e)
{
    size_t n = val_is(names, VAL_ARRAY) ? names->count : 0;
    struct tool_spec *tools = arena_array(keep, n, sizeof *tools);
    for (size_t i = 0; i < n; i++) {
        struct str name = val_text(val_item(names, i));
        if (name.n == 0) {
            return err_at(e, ERR_INPUT, file, (uint32_t)line, 0, "a tool of the run has no name");
        }
        const struct tool_spec *spec = tool_find(specs, n_specs, name);
        if (spec == NULL) {
            return err_at(
                e, ERR_NOT_FOUND, file, (uint32_t)line, 0,
                "the log offers the tool %.*s, which is not given: name its tool file with "
                "--tools",
                STR_FMT(name));
        }
        tools[i] = *spec;
    }
    c->tools = tools;
    c->n_tools = n;
    return 0;
}

/* A setting of small whole numbers, 0 to max; false when the line names another. */
static bool choice_of(const struct val *v, const char *key, int64_t max, int64_t *out)
{
    *out = number_or(v, key, *out);
    return *out >= 0 && *out <= max;
}

static bool numbers_of(const struct val *v, struct kernel_config *c)
{
    const struct {
        const char *name;
        int64_t *out;
    } numbers[] = {{"max_consecutive", &c->max_consecutive},
                   {"tool_retries", &c->tool_retries},
                   {"tool_backoff_ms", &c->tool_backoff_ms},
                   {"model_attempts", &c->model_attempts},
                   {"backoff_ms", &c->backoff_ms},
                   {"backoff_cap_ms", &c->backoff_cap_ms},
                   {"no_progress", &c->no_progress},
                   {"context_tokens", &c->context_tokens},
                   {"keep_steps", &c->keep_steps}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (!choice_of(v, numbers[i].name, INT32_MAX, numbers[i].out)) {
            return false;
        }
    }
    return c->max_consecutive >= 2 && c->model_attempts >= 1 && c->keep_steps >= 1;
}

static bool choices_of(const struct val *v, struct kernel_config *c)
{
    const char *const tiers[] = {"tier_read", "tier_write", "tier_danger"};
    int64_t fenced = c->fenced_calls, close = c->close_names;
    int64_t summarise = c->compaction == COMPACT_SUMMARISE;
    struct str repeat = text_of(v, "repeat");
    if (repeat.p != NULL) {
        c->repeat = str_is(repeat, "cache")   ? REPEAT_CACHE
                    : str_is(repeat, "allow") ? REPEAT_ALLOW
                                              : REPEAT_BLOCK;
    }
    if (!choice_of(v, "fenced_calls", 1, &fenced) || !choice_of(v, "close_names", 1, &close) ||
        !choice_of(v, "summarise", 1, &summarise)) {
        return false;
    }
    c->fenced_calls = fenced == 1;
    c->close_names = close == 1;
    c->compaction = summarise == 1 ? COMPACT_SUMMARISE : COMPACT_DROP;
    for (size_t i = 0; i < sizeof tiers / sizeof tiers[0]; i++) {
        int64_t policy = c->tiers[i];
        if (!choice_of(v, tiers[i], TIER_POLICY_DENY, &policy)) {
            return false;
        }
        c->tiers[i] = (enum tier_policy)policy;
    }
    return true;
}

static bool budget_is_sane(const struct budget *b)
{
    return b->steps >= 0 && b->tokens >= 0 && b->seconds >= 0 && b->seconds < INT32_MAX &&
           b->cost_nano >= 0 && b->calls >= 0 && b->calls_per_reply >= 0;
}

/* The members "budget" and "config" of v into c, whose views live in keep. */
static int settings_of(const struct walk *w, size_t number, const struct val *v, struct arena *keep,
                       struct kernel_config *c)
{
    const struct val *config = val_get(v, "config");
    budget_of(val_get(v, "budget"), &c->budget);
    if (!price_of(keep, config, c)) {
        return bad(w, number, "a price of the run is none");
    }
    if (!numbers_of(config, c) || !choices_of(config, c) || !budget_is_sane(&c->budget)) {
        return bad(w, number, "a setting of the run is out of range");
    }
    return 0;
}

static int resume_of(struct walk *w, const struct line *l, struct event *ev)
{
    const struct val *changed = val_get(l->v, "changed"), *not_begun = val_get(l->v, "not_begun");
    struct arena *keep = w->k->arena;
    w->config = w->k->config;
    struct str model = text_of(changed, "model"), provider = text_of(changed, "provider");
    w->config.model = model.p == NULL ? w->config.model : arena_str(keep, model);
    w->config.provider = provider.p == NULL ? w->config.provider : arena_str(keep, provider);
    const struct val *tools = val_get(changed, "tools");
    int rc = settings_of(w, l->number, changed, keep, &w->config);
    if (rc == 0 && tools != NULL) {
        rc = tools_of(w->out->tools, w->out->n_tools, tools, &w->config, keep, w->file, l->number,
                      w->e);
    }
    for (size_t i = 0; val_is(not_begun, VAL_ARRAY) && i < not_begun->count; i++) {
        batch_not_begun(w->k, val_text(val_item(not_begun, i)));
    }
    w->k->cold = true;
    ev->config = &w->config;
    ev->text = text_of(l->v, "content");
    return rc;
}

/* What must have happened for the line to be written. EV_TIME where it says only what the kernel
 * decided. */
static int event_of(struct walk *w, const struct line *l, struct event *ev)
{
    *ev = (struct event){.kind = EV_TIME, .call_id = text_of(l->v, "call_id")};
    if (str_is(l->type, "user_message")) {
        ev->kind = EV_USER_MESSAGE;
        ev->text = text_of(l->v, "content");
    } else if (str_is(l->type, "llm_reply")) {
        reply_of(w, l->v);
        ev->kind = EV_REPLY;
        ev->reply = &w->reply;
    } else if (str_is(l->type, "llm_failure")) {
        failure_of(w, l->v);
        ev->kind = EV_FAILURE;
        ev->failure = &w->failure;
    } else if (str_is(l->type, "tool_result") || str_is(l->type, "tool_retry")) {
        output_of(w, l->v);
        ev->kind = EV_TOOL_RESULT;
        ev->output = &w->output;
    } else if (str_is(l->type, "approval")) {
        ev->kind = EV_APPROVAL;
        ev->decision = decision_of(text_of(l->v, "decision"));
    } else if (str_is(l->type, "compaction")) {
        ev->kind = EV_SUMMARY;
        ev->text = text_of(l->v, "summary");
        w->reply = (struct reply){.usage = usage_of(l->v)};
        ev->reply = val_get(l->v, "usage") == NULL ? NULL : &w->reply;
    } else if (str_is(l->type, "cancel")) {
        ev->kind = EV_CANCEL;
        ev->text = text_of(l->v, "reason");
    } else if (str_is(l->type, "resume")) {
        ev->kind = EV_RESUME;
        return resume_of(w, l, ev);
    }
    return 0;
}

/* ---- the walk ---- */

/* What to show of a line that differs from another at byte `at`: some of what is before, on one
 * line. */
static struct str around(struct str line, size_t at)
{
    size_t from = at > SHOWN_BEFORE ? at - SHOWN_BEFORE : 0;
    while (from > 0 && (line.p[from] & 0xc0) == 0x80) {
        from--; /* to the beginning of a character */
    }
    return str_trim(utf8_prefix(str_slice(line, from, line.n), SHOWN_CHARS));
}

static int differs(const struct walk *w, struct str want, struct str have)
{
    size_t at = 0;
    while (want.p[at] ==
           have.p[at]) { /* neither begins the other: they end with their only newline */
        at++;
    }
    const struct str sum = STR("\"sum\":");
    size_t a = str_find(want, sum), b = str_find(have, sum);
    if (a != SIZE_MAX && a == b && str_eq(str_slice(want, 0, a), str_slice(have, 0, a))) {
        return err_at(w->e, ERR_INPUT, w->file, (uint32_t)w->number, 0,
                      "a line before this one was changed: what stands there gives another sum");
    }
    return err_at(w->e, ERR_INPUT, w->file, (uint32_t)w->number, 0,
                  "the log does not follow from what it says happened: expected %.*s, found %.*s",
                  STR_FMT(around(want, at)), STR_FMT(around(have, at)));
}

/* The kernel's new lines against the log; what the log does not hold yet is kept in out->missing.
 */
static int compare(struct walk *w)
{
    struct str made = kernel_take_log(w->k);
    while (made.n > 0) {
        struct str want = {NULL, 0}, have;
        (void)cut_line(made, 0, &want);
        if (w->number == w->lines_max || !cut_line(w->log, w->at, &have)) {
            buf_add(&w->out->missing, made);
            return 0;
        }
        w->number++;
#ifndef PLANT_BLIND /* the log is not compared with what follows from it */
        if (!str_eq(want, have)) {
            return differs(w, want, have);
        }
#endif
        w->at += have.n;
        made = str_slice(made, want.n, made.n);
    }
    return 0;
}

static void note_asked(struct walk *w, const struct command *c)
{
    if (c->kind == CMD_CALL_MODEL || c->kind == CMD_SUMMARISE) {
        const struct kernel_config *config = &w->k->config;
        w->open = (struct kernel_asked){*c, config->model, config->tools, config->n_tools};
    }
}

/* Whether the event is an end of a model call that somebody had taken up. */
static bool is_answer(const struct event *ev)
{
    return ev->kind == EV_REPLY || ev->kind == EV_SUMMARY ||
           (ev->kind == EV_FAILURE && ev->failure->class != FAIL_MISS &&
            ev->failure->class != FAIL_SCRIPT && ev->failure->class != FAIL_HISTORY);
}

static void note_answer(struct walk *w, const struct event *ev)
{
    struct kernel_replay *out = w->out;
    if (!out->asks || w->open.command.n_messages == 0 || !is_answer(ev)) {
        return;
    }
    if (out->n_asked == w->cap_asked) {
        struct kernel_asked *old = out->asked;
        w->cap_asked = w->cap_asked == 0 ? 16 : w->cap_asked * 2;
        out->asked = arena_array(w->k->arena, w->cap_asked, sizeof *out->asked);
        for (size_t i = 0; i < out->n_asked; i++) {
            out->asked[i] = old[i];
        }
    }
    out->asked[out->n_asked++] = w->open;
    w->open.command.n_messages = 0;
}

static int feed(struct walk *w, const struct event *ev, uint64_t now)
{
    struct command c;
    if (kernel_feed(w->k, ev, now) != 0) {
        return bad(w, w->number + 1, "this event cannot happen here");
    }
    note_answer(w, ev);
    while (kernel_poll(w->k, &c)) { /* carried out when the log was written */
        note_asked(w, &c);
    }
    return compare(w);
}

/* Whether a wake-up came before the line: its deadline has passed, or the line says what the
 * wake-up did. A process that died has no wake-ups until it is resumed. */
static bool woken(struct walk *w, const struct line *l, const struct event *ev, uint64_t due)
{
    if (due > l->t_ms || ev->kind == EV_RESUME) {
        return false;
    }
    bool of_end = due == run_time_limit(w->k) &&
                  (str_is(l->type, "run_end") ||
                   str_is(text_of(val_get(l->v, "error"), "code"), "CANCELLED"));
    return due < l->t_ms || of_end || !kernel_takes(w->k, ev);
}

static int take_line(struct walk *w, const struct line *l)
{
    struct event ev;
    uint64_t due = kernel_deadline(w->k);
    int rc = event_of(w, l, &ev);
    if (rc != 0) {
        return rc;
    }
    if (woken(w, l, &ev, due)) {
        ev = (struct event){.kind = EV_TIME};
        return feed(w, &ev, due < w->k->now ? w->k->now : due);
    }
    size_t before = w->at;
    rc = feed(w, &ev, l->t_ms);
    if (rc == 0 && w->at == before) {
        return bad(w, l->number, "this line does not follow from what the log says happened");
    }
    return rc;
}

int kernel_replay(struct kernel *k, const char *file, struct str log, size_t lines_max,
                  struct kernel_replay *out, struct err *e)
{
    struct walk w = {.k = k, .file = file, .log = log, .lines_max = lines_max, .out = out, .e = e};
    int rc = compare(&w);
    out->restored = 0;
    if (rc == 0 && out->missing.n == 0 && out->snapshot.p != NULL &&
        kernel_restore(k, out->snapshot, log, lines_max, out->tools, out->n_tools)) {
        w.number = out->restored = (size_t)k->seq;
        w.at = (size_t)k->logged;
    }
    while (rc == 0 && w.number < lines_max && out->missing.n == 0) {
        struct line l;
        w.arena = arena_new();
        rc = read_line(&w, w.at, w.number + 1, &l);
        if (rc == 0 && l.bytes.n > 0) {
            rc = take_line(&w, &l);
        }
        arena_free(w.arena);
        if (l.bytes.n == 0) {
            break;
        }
    }
    out->lines = w.number;
    out->bytes = w.at;
    out->torn = w.number < lines_max && w.at < log.n;
    batch_begun_before(k, (int64_t)w.number + 1); /* the driver writes before it acts */
    k->cold = true;
    out->config = k->config;
    return rc;
}

int config_read(struct arena *keep, const struct val *v, const struct tool_spec *specs, size_t n,
                struct kernel_config *c)
{
    struct walk w = {.arena = keep};
    int rc = tools_of(specs, n, val_get(v, "tools"), c, keep, NULL, 0, NULL);
    return rc != 0 ? rc : settings_of(&w, 0, v, keep, c);
}

int kernel_config_of_log(struct arena *arena, const char *file, struct str log,
                         const struct tool_spec *specs, size_t n_specs, struct kernel_config *out,
                         struct err *e)
{
    struct walk w = {.arena = arena, .file = file, .log = log, .e = e};
    struct line l;
    int64_t schema = 0;
    int rc = read_line(&w, 0, 1, &l);
    if (rc != 0) {
        return rc;
    }
    if (l.bytes.n == 0 || !str_is(l.type, "run_start")) {
        return bad(&w, 1, "an event log begins with run_start");
    }
    if (!val_int(val_get(l.v, "schema"), &schema) || schema != 1) {
        return bad(&w, 1, "this version reads event logs of schema 1");
    }
    if (val_get(l.v, "agent") != NULL) {
        return bad(&w, 1,
                   "is the traffic of another program (eval --agent): what that decided "
                   "cannot be followed, and it is not gone on with; trace check and trace "
                   "show take it");
    }
    *out = kernel_config_default();
    out->run = text_of(l.v, "run");
    out->seed = (uint64_t)number_or(l.v, "seed", 0);
    out->started_at = text_of(l.v, "started_at");
    out->model = text_of(l.v, "model");
    out->provider = text_of(l.v, "provider");
    out->system = text_of(l.v, "system");
    rc = tools_of(specs, n_specs, val_get(l.v, "tools"), out, arena, file, 1, e);
    return rc != 0 ? rc : settings_of(&w, 1, l.v, arena, out);
}
