/* A reply under construction: blocks of text and calls that grow by pieces, whatever the format. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/text.h"
#include "kernel/wire/wire_int.h"

void draft_free(struct draft *d)
{
    for (size_t i = 0; i < d->n_blocks; i++) {
        buf_free(&d->blocks[i].text);
        own_free(d->blocks[i].own);
    }
    free(d->blocks);
    buf_free(&d->delta);
}

struct block *draft_find(struct draft *d, enum block_kind kind, int64_t index)
{
    for (size_t i = d->n_blocks; i > 0; i--) {
        struct block *b = &d->blocks[i - 1];
        if (b->kind == kind && b->index == index) {
            return b;
        }
    }
    return NULL;
}

struct block *draft_at(struct draft *d, int64_t index)
{
    for (size_t i = d->n_blocks; i > 0; i--) {
        struct block *b = &d->blocks[i - 1];
        if (b->kind != BLOCK_GONE && b->index == index) {
            return b;
        }
    }
    return NULL;
}

struct block *draft_add(struct draft *d, enum block_kind kind, int64_t index)
{
    if (d->n_blocks == WIRE_BLOCKS_MAX) {
        draft_fmt(d, FAIL_PROTOCOL, 0, "the reply has more than %d texts and calls",
                  WIRE_BLOCKS_MAX);
        return NULL;
    }
    d->blocks = mem_room(d->blocks, d->n_blocks, &d->cap_blocks, sizeof *d->blocks);
    struct block *b = &d->blocks[d->n_blocks++];
    *b = (struct block){.kind = kind, .index = index};
    return b;
}

void draft_say(struct draft *d, enum block_kind kind, int64_t index, struct str text)
{
    struct block *b = draft_find(d, kind, index);
    if (b == NULL) {
        b = draft_add(d, kind, index);
    }
    if (b == NULL) {
        return;
    }
    buf_add(&b->text, text);
    if (d->streamed && (kind == BLOCK_TEXT || kind == BLOCK_REFUSAL)) {
        buf_add(&d->delta, text);
    }
}

void draft_drop(struct draft *d, int64_t index)
{
    for (size_t i = 0; i < d->n_blocks; i++) {
        struct block *b = &d->blocks[i];
        if (b->index == index) {
            b->kind = BLOCK_GONE;
            buf_free(&b->text);
        }
    }
}

void draft_fail(struct draft *d, enum fail_class class, int status, struct str message)
{
    if (d->state == DRAFT_FAILED) {
        return;
    }
    d->state = DRAFT_FAILED;
    d->failure = (struct failure){.class = class,
                                  .status = status,
                                  .retry_after_ms = -1,
                                  .message = arena_str(d->arena, message)};
}

void draft_fmt(struct draft *d, enum fail_class class, int status, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    assert(n >= 0);
    size_t size = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    draft_fail(d, class, status, utf8_whole((struct str){text, size}));
}

void draft_finish(struct draft *d, enum stop_reason stop, struct str raw)
{
    d->stop = stop;
    d->stop_raw = arena_str(d->arena, raw);
    if (d->state == DRAFT_OPEN) {
        d->state = DRAFT_FINISHED;
    }
}

/* A larger count is none, and sums of such would leave their type. */
static const int64_t COUNT_MAX = INT64_C(1) << 53;

void draft_count(int64_t *out, const struct val *v)
{
    int64_t count = 0;
    if (val_int(v, &count) && count >= 0 && count <= COUNT_MAX) {
        *out = count;
    }
}

enum stop_reason stop_of_word(const struct stop_word *words, struct str raw)
{
    for (; words->word != NULL; words++) {
        if (str_is(raw, words->word)) {
            return words->stop;
        }
    }
    return STOP_END_TURN;
}

struct str arguments_text(const struct val *v)
{
    if (v == NULL || v->kind == VAL_NULL) {
        return STR("");
    }
    return v->kind == VAL_STRING ? v->text : v->raw;
}

static size_t count_kind(const struct draft *d, enum block_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n_blocks; i++) {
        n += d->blocks[i].kind == kind;
    }
    return n;
}

/* All blocks of a kind, joined with nothing between; p NULL when there is none. */
static struct str joined(const struct draft *d, enum block_kind kind)
{
    size_t size = 0;
    const struct block *only = NULL;
    for (size_t i = 0; i < d->n_blocks; i++) {
        if (d->blocks[i].kind == kind) {
            size += d->blocks[i].text.n;
            only = &d->blocks[i];
        }
    }
    if (only == NULL) {
        return (struct str){NULL, 0};
    }
    if (size == only->text.n) {
        return size == 0 ? STR("") : buf_str(&only->text);
    }
    char *p = arena_alloc(d->arena, size);
    size_t at = 0;
    for (size_t i = 0; i < d->n_blocks; i++) {
        const struct block *b = &d->blocks[i];
        if (b->kind == kind && b->text.n > 0) {
            memcpy(p + at, b->text.p, b->text.n);
            at += b->text.n;
        }
    }
    return (struct str){p, size};
}

static struct str block_arguments(const struct block *b)
{
    return b->text.n > 0 ? buf_str(&b->text) : b->whole;
}

static bool id_used(const struct tool_call *calls, size_t n, struct str id)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(calls[i].id, id)) {
            return true;
        }
    }
    return false;
}

/* An id for a call that has none of its own: its number in the reply, the same in every run. */
static struct str made_id(const struct draft *d, const struct tool_call *calls, size_t n,
                          size_t position)
{
    struct str id = arena_printf(d->arena, "call_%zu", position + 1);
    for (size_t i = 1; id_used(calls, n, id); i++) {
        id = arena_printf(d->arena, "call_%zu_%zu", position + 1, i);
    }
    return id;
}

/* Calls in order. An id that is missing or stands twice gets a made one, so that each result can be
 * told to its call. */
static void take_calls(const struct draft *d, struct reply *r)
{
    size_t n = count_kind(d, BLOCK_CALL);
    r->calls = arena_array(d->arena, n, sizeof *r->calls);
    for (size_t i = 0; i < d->n_blocks; i++) {
        const struct block *b = &d->blocks[i];
        if (b->kind == BLOCK_CALL) {
            struct tool_call *call = &r->calls[r->n_calls++];
            *call = (struct tool_call){b->id, b->name, block_arguments(b)};
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (r->calls[i].id.n == 0 || id_used(r->calls, i, r->calls[i].id)) {
            r->calls[i].id = made_id(d, r->calls, n, i);
        }
    }
}

static void take_server_calls(const struct draft *d, struct wire_result *out)
{
    size_t n = count_kind(d, BLOCK_SERVER_CALL);
    out->server_calls = arena_array(d->arena, n, sizeof *out->server_calls);
    for (size_t i = 0; i < d->n_blocks; i++) {
        const struct block *b = &d->blocks[i];
        if (b->kind == BLOCK_SERVER_CALL) {
            out->server_calls[out->n_server_calls++] =
                (struct wire_server_call){b->id, b->name, block_arguments(b)};
        }
    }
}

/* Whether calls are present decides, unless the reply was cut: providers also stop
 * for "stop" with calls and for "tool_calls" without any. */
static enum stop_reason final_stop(enum stop_reason stop, bool calls, bool refused)
{
    switch (stop) {
    case STOP_MAX_TOKENS:
    case STOP_CONTENT_FILTER:
    case STOP_REFUSAL: return stop;
    case STOP_PAUSE: return calls ? STOP_TOOL_USE : STOP_PAUSE;
    case STOP_STOP_SEQUENCE: return calls ? STOP_TOOL_USE : STOP_STOP_SEQUENCE;
    case STOP_END_TURN:
    case STOP_TOOL_USE: break;
    }
    return calls ? STOP_TOOL_USE : refused ? STOP_REFUSAL : STOP_END_TURN;
}

/* Anthropic's input_tokens leave the cached ones out. */
static struct usage final_usage(struct usage u, enum wire_format f)
{
    if (f == WIRE_MESSAGES && u.input >= 0) {
        int64_t extra[2] = {u.cached, u.cache_write};
        for (size_t i = 0; i < 2; i++) {
            if (extra[i] > 0 && u.input <= INT64_MAX - extra[i]) {
                u.input += extra[i];
            }
        }
    }
    return u;
}

void draft_result(struct draft *d, enum wire_format f, struct wire_result *out)
{
    out->streamed = d->streamed;
    if (d->state == DRAFT_FAILED) {
        out->failure = d->failure;
        return;
    }
    out->ok = true;
    struct reply *r = &out->reply;
    struct str refusal = joined(d, BLOCK_REFUSAL);
    r->content = joined(d, BLOCK_TEXT);
    if (r->content.n == 0 && refusal.n > 0) {
        r->content = refusal;
    }
    r->content_null = r->content.p == NULL;
    r->reasoning = joined(d, BLOCK_REASONING);
    if (r->reasoning.n == 0) {
        r->reasoning = (struct str){NULL, 0};
    }
    take_calls(d, r);
    take_server_calls(d, out);
    r->parts = parts_kept(d, f);
    r->stop = final_stop(d->stop, r->n_calls > 0, refusal.n > 0);
    r->stop_raw = d->stop_raw;
    r->usage = final_usage(d->usage, f);
}
