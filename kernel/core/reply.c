/* What a model call came to: a reply, or a failure that may be tried again. */
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/core/kernel_int.h"

/* Beyond these a count is a mistake of the provider's, and unknown; sums of them cannot overflow.
 */
#define TOKENS_MAX INT64_C(1000000000000)
#define COST_MAX   INT64_C(4000000000000000000)

/* ---- failures ---- */

int64_t retry_wait(struct kernel *k, int64_t base, int64_t tries)
{
    int64_t cap = k->config.backoff_cap_ms;
    int64_t wait = base;
    for (int64_t i = 1; i < tries && wait < cap; i++) {
        wait *= 2;
    }
    wait = wait > cap ? cap : wait;
    return wait / 2 + (int64_t)rng_below(&k->rng, (uint64_t)(wait - wait / 2) + 1);
}

/* Why the run ends with this failure, with the HTTP status where one came. */
static struct str failure_reason(struct kernel *k, const struct failure *f)
{
    if (f->status == 0 || f->class == FAIL_MISS || f->class == FAIL_SCRIPT) {
        return f->message;
    }
    struct buf text = {0};
    buf_fmt(&text, "HTTP %d: ", f->status);
    buf_add(&text, f->message);
    struct str reason = arena_str(k->arena, buf_str(&text));
    buf_free(&text);
    return reason;
}

/* The call that failed has ended by itself: there is nothing to stop. */
static void fail(struct kernel *k, const struct failure *f)
{
    log_failure(k, f, -1);
    if (k->state != STATE_TOOLS) {
        k->state = STATE_IDLE;
    }
    k->result.failed = f->class;
    run_finish(k,
               f->class == FAIL_MISS     ? RUN_CASSETTE_MISS
               : f->class == FAIL_SCRIPT ? RUN_SCRIPT_MISMATCH
                                         : RUN_MODEL_ERROR,
               failure_reason(k, f));
}

void reply_failed(struct kernel *k, const struct failure *f)
{
    if (!fail_retryable(f->class) || k->attempt >= k->config.model_attempts ||
        f->retry_after_ms > k->config.backoff_cap_ms) { /* a longer wait is no wait */
        fail(k, f);
        return;
    }
    int64_t wait = retry_wait(k, k->config.backoff_ms, k->attempt);
    if (f->retry_after_ms >= 0) {
        wait = f->retry_after_ms;
    }
    log_failure(k, f, wait);
    if (f->shown) {
        log_discard(k, "the reply broke off and is asked for again");
    }
    k->state = STATE_BACKOFF;
    k->retry_at = k->now + (uint64_t)wait;
}

/* ---- replies ---- */

static int64_t sane(int64_t count)
{
    return count < 0 || count > TOKENS_MAX ? -1 : count;
}

struct usage usage_take(struct kernel *k, const struct usage *from, const struct usage *guess)
{
    struct usage u = {sane(from->input), sane(from->cached), sane(from->cache_write),
                      sane(from->output), sane(from->reasoning)};
    int64_t cost = usage_cost_nano(&u, k->config.price);
    usage_add(&k->usage, &u);
    k->tokens += (u.input < 0 ? guess->input : u.input) + (u.output < 0 ? guess->output : u.output);
    k->cost_nano =
        k->cost_nano < 0 || cost < 0 || k->cost_nano > COST_MAX - cost ? -1 : k->cost_nano + cost;
    return u;
}

/* The estimated tokens of what a model said. */
static int64_t reply_size(const struct reply *r)
{
    return message_size(&(struct message){.content = r->content,
                                          .reasoning = r->reasoning,
                                          .parts = r->parts,
                                          .calls = r->calls,
                                          .n_calls = r->n_calls});
}

static void remember_reply(struct kernel *k, const struct reply *r)
{
    struct message m = {.role = ROLE_ASSISTANT,
                        .content_null = r->content_null,
                        .content = r->content,
                        .reasoning = r->reasoning,
                        .parts = r->parts,
                        .n_calls = k->n_calls};
    m.calls = arena_array(k->arena, k->n_calls, sizeof *m.calls);
    for (size_t i = 0; i < k->n_calls; i++) {
        const struct call *c = &k->calls[i];
        /* providers refuse a history with a nameless call, and the model shall hear of its slip */
        struct str name = c->name.n == 0 ? STR("unnamed") : c->name;
        m.calls[i] = (struct tool_call){c->id, name, c->arguments};
    }
    remember(k, m);
}

/* A reply that neither answers nor calls: the history is sent again, as often as PAUSES_MAX, or
 * until the model has said the same three times. */
static void on_pause(struct kernel *k, const struct reply *r, const char *why)
{
    uint64_t text = hash64(0, r->content);
    k->pauses_same = k->pauses > 0 && text == k->last_text ? k->pauses_same + 1 : 1;
    k->last_text = text;
    if (++k->pauses > PAUSES_MAX ||
        (k->pauses_same >= SAME_TEXT_MAX && str_trim(r->content).n > 0)) {
        run_finish(k, RUN_NO_PROGRESS, str_of(why));
        return;
    }
    step_start(k);
}

static void on_last_words(struct kernel *k, const struct reply *r)
{
    switch (r->stop) {
    case STOP_MAX_TOKENS:
        run_finish(k, RUN_TRUNCATED, STR("the reply was cut at its token limit"));
        return;
    case STOP_CONTENT_FILTER:
        run_finish(k, RUN_REFUSED, STR("the provider's content filter stopped the reply"));
        return;
    case STOP_REFUSAL: run_finish(k, RUN_REFUSED, STR("the model refused to answer")); return;
    case STOP_PAUSE: on_pause(k, r, "the model paused again and again"); return;
    case STOP_END_TURN:
    case STOP_TOOL_USE:
    case STOP_STOP_SEQUENCE:
        if (str_trim(r->content).n == 0) { /* nothing said and nothing asked for is no answer */
            on_pause(k, r, "the model says nothing");
        } else {
            run_complete(k, r->content);
        }
        return;
    }
}

/* A reply with calls: a refused one ends the run, a terminal call too; else they are carried out.
 */
static void on_calls(struct kernel *k, const struct reply *r)
{
    k->pauses = 0;
    if (r->stop == STOP_CONTENT_FILTER || r->stop == STOP_REFUSAL) {
        on_last_words(k, r);
        return;
    }
    struct call *terminal = calls_terminal(k);
#ifdef PLANT_SIBLINGS /* I10: calls beside a terminal one are carried out */
    if (terminal != NULL && k->n_calls > 1) {
        k->state = STATE_TOOLS;
        batch_start(k);
        return;
    }
#endif
    if (terminal != NULL) {
        batch_end_by(k, terminal);
        run_complete(k, terminal->checked);
    } else if (!run_over_budget(k, false)) {
        k->state = STATE_TOOLS;
        batch_start(k);
    }
}

/* Deeper than codecs make them, and shallow enough for the log's line and the request around them.
 */
enum { PARTS_DEPTH_MAX = JSON_DEPTH_MAX / 2 + 32 };

static bool deeper_than(const struct val *v, int depth)
{
    bool list = v->kind == VAL_ARRAY;
    if (!list && v->kind != VAL_OBJECT) {
        return false;
    }
    bool deeper = depth == 0;
    for (size_t i = 0; i < v->count && !deeper; i++) {
        deeper = deeper_than(list ? &v->items[i] : &v->members[i].value, depth - 1);
    }
    return deeper;
}

/* The parts in the kernel's own memory; what is no JSON object, or nested too deep for a log, is
 * left out. */
static struct str own_parts(struct kernel *k, struct str from)
{
    struct str own = {NULL, 0};
    struct arena *arena = from.p == NULL ? NULL : arena_new();
    struct val *v = NULL;
    if (arena != NULL && json_parse(arena, NULL, from, &v, NULL) == 0 && val_is(v, VAL_OBJECT) &&
        !deeper_than(v, PARTS_DEPTH_MAX)) {
        struct buf compact = {0};
        json_add(&compact, v);
        own = arena_str(k->arena, buf_str(&compact));
        buf_free(&compact);
    }
    arena_free(arena);
    return own;
}

/* The reply in the kernel's own memory, as its line in the log tells it. */
static struct reply own_reply(struct kernel *k, const struct reply *from)
{
    struct reply r = *from;
    r.content_null = from->content_null || from->content.p == NULL;
    r.content = r.content_null ? STR("") : own_text(k, from->content);
    r.reasoning = own_text(k, from->reasoning);
    r.parts = own_parts(k, from->parts);
    r.calls = arena_array(k->arena, from->n_calls, sizeof *r.calls);
    for (size_t i = 0; i < from->n_calls; i++) {
        const struct tool_call *c = &from->calls[i];
        r.calls[i] =
            (struct tool_call){own_text(k, c->id), own_text(k, c->name), own_text(k, c->arguments)};
    }
    return r;
}

void reply_take(struct kernel *k, const struct reply *from)
{
    struct tool_call written;
    struct reply r = own_reply(k, from);
    if (call_in_text(k, &r, &written)) {
        r.calls = &written;
        r.n_calls = 1;
    }
    struct usage guess = {.input = k->size, .output = from->usage.output < 0 ? reply_size(&r) : 0};
    r.usage = usage_take(k, &from->usage, &guess);
    calls_take(k, &r,
               r.stop == STOP_MAX_TOKENS || r.stop == STOP_CONTENT_FILTER ||
                   r.stop == STOP_REFUSAL);
    log_reply(k, &r);
    k->state = STATE_IDLE; /* the model call has ended: nothing is to be stopped */
    k->attempt = 0;
    /* providers refuse an assistant message that says nothing */
    if (r.n_calls > 0 || str_trim(r.content).n > 0 || r.parts.p != NULL) {
        remember_reply(k, &r);
    }
    if (r.n_calls > 0) {
        on_calls(k, &r);
    } else {
        on_last_words(k, &r);
    }
}
