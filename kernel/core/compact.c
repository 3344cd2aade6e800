/* Keeping the history within its size: old results are shortened, then whole old turns or
 * steps are left out, with a notice in their place. A call and its results stay together, the
 * system message and the user's newest message stay, and so do the newest steps. */
#include <assert.h>
#include <string.h>

#include "kernel/base/text.h"
#include "kernel/base/tokens.h"
#include "kernel/core/kernel_int.h"

enum {
    SHORT_RESULT_CHARS = 400,
    MARKER_CHARS_MAX = 100, /* of text_truncate */
    MESSAGE_TOKENS = 4,     /* what frames a message or a call */
    TOOL_TOKENS = 8,        /* what frames a tool's definition */
    NOTICE_TOKENS = 32      /* what a notice without a summary takes at most */
};

int64_t message_size(const struct message *m)
{
    int64_t n = MESSAGE_TOKENS + text_tokens(m->content) + text_tokens(m->reasoning) +
                text_tokens(m->parts);
    for (size_t i = 0; i < m->n_calls; i++) {
        n += MESSAGE_TOKENS + text_tokens(m->calls[i].name) + text_tokens(m->calls[i].arguments);
    }
    return n;
}

void size_tools(struct kernel *k)
{
    const struct kernel_config *c = &k->config;
    int64_t before = k->tools_size;
    k->tools_size = 0;
    for (size_t i = 0; i < c->n_tools; i++) {
        k->tools_size += TOOL_TOKENS + text_tokens(c->tools[i].name) +
                         text_tokens(c->tools[i].description) + text_tokens(c->tools[i].parameters);
    }
    k->size += k->tools_size - before;
    if (k->size_left > 0) { /* they are in what could not be got below */
        k->size_left += k->tools_size - before;
    }
}

static void grow(struct kernel *k)
{
    size_t cap = k->cap_history == 0 ? 4 : k->cap_history * 2;
    struct message *history = arena_array(k->arena, cap, sizeof *history);
    int64_t *sizes = arena_array(k->arena, cap, sizeof *sizes);
    if (k->n_history > 0) {
        memcpy(history, k->history, k->n_history * sizeof *history);
        memcpy(sizes, k->sizes, k->n_history * sizeof *sizes);
    }
    k->history = history;
    k->sizes = sizes;
    k->cap_history = cap;
}

void remember(struct kernel *k, struct message m)
{
    if (k->n_history == k->cap_history) {
        grow(k);
    }
    k->sizes[k->n_history] = message_size(&m);
    k->size += k->sizes[k->n_history];
    k->history[k->n_history++] = m;
}

/* A message of the user, not a notice of ours. */
static bool is_user(const struct message *m)
{
    return m->role == ROLE_USER && !m->notice;
}

/* The user's newest message, which stays. There is one: no step begins before the user has spoken.
 */
static size_t newest_user(const struct kernel *k)
{
    size_t i = k->n_history - 1;
    while (!is_user(&k->history[i])) {
        assert(i > 0);
        i--;
    }
    return i;
}

/* Where the newest steps begin, which are left whole: the keep_steps-th assistant message from the
 * end, or the user's newest message where that comes later. */
static size_t kept_from(const struct kernel *k)
{
    size_t user = newest_user(k), i = k->n_history;
    for (int64_t steps = 0; i > user && steps < k->config.keep_steps;) {
        i--;
        steps += k->history[i].role == ROLE_ASSISTANT;
    }
    return i;
}

/* Shortens the long results before `to`; returns how many. What was shortened before stays. */
static int64_t shorten(struct kernel *k, size_t to)
{
    int64_t n = 0;
    for (size_t i = 0; i < to; i++) {
        struct message *m = &k->history[i];
        bool cut = false;
        if (m->role != ROLE_TOOL || m->content.n <= SHORT_RESULT_CHARS + MARKER_CHARS_MAX ||
            utf8_count(m->content) <= SHORT_RESULT_CHARS + MARKER_CHARS_MAX) {
            continue;
        }
        m->content = text_truncate(k->arena, m->content, SHORT_RESULT_CHARS, &cut);
        k->size -= k->sizes[i];
        k->sizes[i] = message_size(m);
        k->size += k->sizes[i];
        n++;
    }
    return n;
}

/* The first message that may go: behind the system message. */
static size_t first_of(const struct kernel *k)
{
    return k->history[0].role == ROLE_SYSTEM ? 1 : 0;
}

/* The end of the unit that begins at i: an assistant message with its results, or one other
 * message. */
static size_t unit_end(const struct kernel *k, size_t i, size_t to)
{
    i++;
#ifndef PLANT_SPLIT_PAIR /* I1: the call goes, its result stays */
    while (i < to && k->history[i].role == ROLE_TOOL) {
        i++;
    }
#endif
    return i;
}

/* How far to drop from `from`, in whole turns where there are older ones, else in whole steps of
 * this one, until the notice fits too. */
static size_t drop_end(const struct kernel *k, size_t from, size_t to, int64_t over)
{
    size_t end = from;
    while (end < to && over + NOTICE_TOKENS > 0) {
        size_t next = unit_end(k, end, to);
        /* an older turn goes whole: to the next user message */
        while (next < to && is_user(&k->history[end]) && !is_user(&k->history[next])) {
            next = unit_end(k, next, to);
        }
        for (size_t i = end; i < next; i++) {
            over -= k->sizes[i];
        }
        end = next;
    }
    return end;
}

/* Puts a notice in the place of messages [from, end). */
static void replace(struct kernel *k, size_t from, size_t end, struct str summary)
{
    size_t n = end - from;
    struct str text =
        summary.p == NULL
            ? arena_printf(k->arena, "[%zu earlier messages were left out to save room.]", n)
            : arena_printf(k->arena,
                           "[%zu earlier messages were left out to save room. Summary: %.*s]", n,
                           STR_FMT(summary));
    struct message notice = {.role = ROLE_USER, .content = text, .notice = true};
    for (size_t i = from; i < end; i++) {
        k->size -= k->sizes[i];
    }
    k->history[from] = notice;
    k->sizes[from] = message_size(&notice);
    k->size += k->sizes[from];
    memmove(k->history + from + 1, k->history + end, (k->n_history - end) * sizeof *k->history);
    memmove(k->sizes + from + 1, k->sizes + end, (k->n_history - end) * sizeof *k->sizes);
    k->n_history -= n - 1;
}

/* Requests that were handed out keep their own messages: changes happen in a copy. */
static void own_history(struct kernel *k)
{
    struct message *copy = arena_array(k->arena, k->cap_history, sizeof *copy);
    memcpy(copy, k->history, k->n_history * sizeof *copy);
    k->history = copy;
}

static void done(struct kernel *k, int64_t dropped, struct str summary, const struct usage *usage)
{
    log_compaction(k, dropped, summary, usage);
    k->size_left = k->size > k->config.context_tokens ? k->size : 0;
}

/* Whether it is worth trying: the history is over its size, and has grown well beyond what an
 * earlier try could not get below. */
static bool due(const struct kernel *k)
{
    int64_t room = k->config.context_tokens;
    int64_t tried = k->size_left == 0 ? 0 : k->size_left + room / 4;
    return room > 0 && k->size > room && k->size > tried;
}

/* What is dropped makes room for a while, so that not every step of a long run has to drop
 * something. */
static int64_t target(const struct kernel *k)
{
    return k->config.context_tokens - k->config.context_tokens / 4;
}

/* Chooses messages of [from, to) to drop. False when that would save nothing. */
static bool choose_from(struct kernel *k, size_t from, size_t to)
{
    size_t end = drop_end(k, from, to, k->size - target(k));
    int64_t saved = 0;
    for (size_t i = from; i < end; i++) {
        saved += k->sizes[i];
    }
    k->dropping_from = from;
    k->dropping = end - from;
    return saved > NOTICE_TOKENS;
}

/* Chooses what to drop: older turns, or else older steps of this one. */
static bool choose(struct kernel *k)
{
    size_t user = newest_user(k), kept = kept_from(k);
    return k->size > k->config.context_tokens &&
           (choose_from(k, first_of(k), user) ||
            (user + 1 < kept && choose_from(k, user + 1, kept)));
}

bool compact(struct kernel *k)
{
    if (!due(k)) {
        return false;
    }
    own_history(k);
    k->shortened = shorten(k, kept_from(k));
    if (!choose(k)) {
        if (k->shortened > 0) {
            done(k, 0, (struct str){NULL, 0}, NULL);
        } else {
            k->size_left = k->size;
        }
        return false;
    }
    if (k->config.compaction == COMPACT_SUMMARISE) {
        return true;
    }
    do { /* older turns first, and steps of this one where that was not enough */
        compact_with(k, (struct str){NULL, 0}, NULL);
        k->shortened = 0;
    } while (choose(k));
    return false;
}

void compact_with(struct kernel *k, struct str summary, const struct usage *usage)
{
    int64_t dropped = (int64_t)k->dropping;
    own_history(k);
    replace(k, k->dropping_from, k->dropping_from + k->dropping, summary);
    k->dropping = 0;
    done(k, dropped, summary, usage);
}
