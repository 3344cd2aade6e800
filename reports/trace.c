#include "reports/report_int.h"

#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/core/kernel.h"

#include <inttypes.h>
#include <string.h>

enum { TEXT_CHARS = 2000, RESULT_CHARS = 400, WORD_CHARS = 200 };

/* Printing one log. */
struct printer {
    struct buf *out;
    const char *file;
    uint32_t line;
    bool full;
    bool color;
    bool ended;           /* the newest segment has its run_end */
    struct buf shown;     /* the newest reply's text */
    struct buf said;      /* what the newest resume said, until its user_message comes */
    struct buf currency;  /* of the costs, as far as the log has told */
    struct arena *arena;  /* of the line at hand */
    const struct val *ev; /* likewise */
    int64_t t_ms;
};

/* ---- reading an event ---- */

/* A count that may be null. */
static int64_t known(const struct val *v, const char *key)
{
    int64_t n = -1;
    return val_int(val_get(v, key), &n) && n >= 0 ? n : -1;
}

static struct str text(const struct printer *p, const char *key)
{
    return val_text(val_get(p->ev, key));
}

/* A name or reason, on one line and not too long. */
static struct str word_of(const struct printer *p, const struct val *v)
{
    return text_preview(p->arena, val_text(v), WORD_CHARS);
}

static struct str word(const struct printer *p, const char *key)
{
    return word_of(p, val_get(p->ev, key));
}

static struct usage usage_of(const struct val *v)
{
    const struct val *u = val_get(v, "usage");
    return (struct usage){known(u, "input"), known(u, "cached"), known(u, "cache_write"),
                          known(u, "output"), known(u, "reasoning")};
}

/* ---- writing ---- */

static void head(struct printer *p, const char *what, enum paint paint)
{
    struct buf time = {0};
    seconds_add(&time, p->t_ms);
    struct buf cell = {0};
    cell_add(&cell, buf_str(&time), 10, ALIGN_RIGHT);
    paint_add(p->out, buf_str(&cell), PAINT_DIM, p->color);
    buf_addz(p->out, "  ");
    paint_add(p->out, str_of(what), paint, p->color);
    buf_free(&time);
    buf_free(&cell);
}

static void add_word(struct printer *p, const char *before, struct str s)
{
    buf_addz(p->out, before);
    buf_add(p->out, s);
}

static void block(struct printer *p, struct str s, size_t max_chars)
{
    block_add(p->out, s, 14, p->full ? 0 : max_chars);
}

/* Keeps the currency that v names, if it does. */
static void note_currency(struct printer *p, const struct val *v)
{
    struct str currency = text_preview(p->arena, val_text(val_get(v, "currency")), WORD_CHARS);
    if (currency.n > 0) {
        buf_clear(&p->currency);
        buf_add(&p->currency, currency);
    }
}

static void add_cost(struct printer *p)
{
    int64_t nano = known(p->ev, "cost_nano");
    buf_addz(p->out, nano < 0 ? ", unpriced" : ", cost ");
    if (nano >= 0) {
        money_add(p->out, nano, buf_str(&p->currency));
    }
}

static void add_error(struct printer *p, const struct val *error)
{
    const struct val *hint = val_get(error, "hint");
    add_word(p, " ", word_of(p, val_get(error, "code")));
    add_word(p, ": ", word_of(p, val_get(error, "message")));
    if (val_is(hint, VAL_STRING)) {
        add_word(p, "; ", word_of(p, hint));
    }
}

/* ---- the events ---- */

static void show_run_start(struct printer *p)
{
    const struct val *tools = val_get(p->ev, "tools");
    int64_t seed = 0;
    p->ended = false;
    buf_clear(&p->currency);
    note_currency(p, val_get(p->ev, "config"));
    head(p, "run", PAINT_BOLD);
    add_word(p, " ", word(p, "run"));
    add_word(p, ", model ", word(p, "model"));
    add_word(p, " (", word(p, "provider"));
    add_word(p, "), started ", word(p, "started_at"));
    if (val_int(val_get(p->ev, "seed"), &seed)) {
        buf_fmt(p->out, ", seed %" PRId64, seed);
    }
    buf_addz(p->out, "\n              tools:");
    for (size_t i = 0; val_item(tools, i) != NULL; i++) {
        add_word(p, i > 0 ? ", " : " ", word_of(p, val_item(tools, i)));
    }
    buf_addz(p->out, val_item(tools, 0) == NULL ? " none\n" : "\n");
    if (text(p, "agent").n > 0) {
        head(p, "agent", PAINT_BOLD);
        add_word(p, " ", word(p, "agent"));
        buf_char(p->out, '\n');
    }
    if (val_is(val_get(p->ev, "system"), VAL_STRING)) {
        head(p, "system\n", PAINT_BOLD);
        block(p, text(p, "system"), TEXT_CHARS);
    }
}

/* Which one a line belongs to, where a program had several. */
static void add_conversation(struct printer *p)
{
    int64_t number = known(p->ev, "conversation");
    if (number > 1) {
        buf_fmt(p->out, " (conversation %" PRId64 ")", number);
    }
    buf_char(p->out, '\n');
}

static void show_user(struct printer *p)
{
    head(p, "user", PAINT_BOLD);
    add_conversation(p);
    block(p, text(p, "content"), TEXT_CHARS);
}

/* The one behind a resume is shown with it. */
static void show_message(struct printer *p)
{
    if (p->said.n == 0 || !str_eq(text(p, "content"), buf_str(&p->said))) {
        show_user(p);
    }
    buf_clear(&p->said);
}

static void show_step(struct printer *p)
{
    head(p, "step", PAINT_BOLD);
    buf_fmt(p->out, " %" PRId64, known(p->ev, "step"));
    add_conversation(p);
}

static void show_call(struct printer *p, const struct val *call)
{
    buf_addz(p->out, "              call ");
    add_word(p, "", word_of(p, val_get(call, "id")));
    add_word(p, " ", word_of(p, val_get(call, "name")));
    buf_char(p->out, '\n');
    block_add(p->out, val_text(val_get(call, "arguments")), 16, p->full ? 0 : RESULT_CHARS);
}

static void show_reply(struct printer *p)
{
    const struct val *calls = val_get(p->ev, "calls");
    struct usage usage = usage_of(p->ev);
    int64_t attempts = known(p->ev, "attempts");
    head(p, "reply", PAINT_BOLD);
    add_word(p, " ", word(p, "stop"));
    buf_addz(p->out, " after ");
    seconds_add(p->out, known(p->ev, "latency_ms") < 0 ? 0 : known(p->ev, "latency_ms"));
    if (attempts > 1) {
        buf_fmt(p->out, " (attempt %" PRId64 ")", attempts);
    }
    buf_addz(p->out, ", ");
    tokens_add(p->out, &usage);
    add_cost(p);
    buf_char(p->out, '\n');
    if (text(p, "reasoning").n > 0) {
        buf_addz(p->out, "              reasoning\n");
        block_add(p->out, text(p, "reasoning"), 16, p->full ? 0 : RESULT_CHARS);
    }
    buf_clear(&p->shown);
    buf_add(&p->shown, text(p, "content"));
    if (p->shown.n > 0) {
        block(p, text(p, "content"), TEXT_CHARS);
    }
    for (size_t i = 0; val_item(calls, i) != NULL; i++) {
        show_call(p, val_item(calls, i));
    }
}

static void add_retry(struct printer *p)
{
    int64_t wait = known(p->ev, "retry_in_ms");
    if (wait >= 0) {
        buf_addz(p->out, "; again in ");
        seconds_add(p->out, wait);
    }
    buf_char(p->out, '\n');
}

static void show_failure(struct printer *p)
{
    int64_t status = known(p->ev, "status");
    head(p, "failure", PAINT_BAD);
    add_word(p, " ", word(p, "class"));
    if (status > 0) {
        buf_fmt(p->out, " (HTTP %" PRId64 ")", status);
    }
    add_word(p, ": ", word(p, "message"));
    add_retry(p);
}

static void show_discard(struct printer *p)
{
    head(p, "discard", PAINT_ODD);
    add_word(p, ": ", word(p, "reason"));
    buf_char(p->out, '\n');
}

static void show_tool_start(struct printer *p)
{
    head(p, "tool", PAINT_NONE);
    add_word(p, " ", word(p, "call_id"));
    add_word(p, " ", word(p, "name"));
    if (text(p, "coerced").n > 0) {
        add_word(p, ", arguments taken as ", word(p, "coerced"));
    }
    buf_char(p->out, '\n');
}

static void show_tool_retry(struct printer *p)
{
    head(p, "retry", PAINT_ODD);
    add_word(p, " ", word(p, "call_id"));
    add_error(p, val_get(p->ev, "error"));
    add_retry(p);
}

static bool is_true(const struct val *v)
{
    return val_is(v, VAL_BOOL) && v->boolean;
}

static void show_tool_result(struct printer *p)
{
    bool ok = is_true(val_get(p->ev, "ok"));
    int64_t latency = known(p->ev, "latency_ms");
    int64_t attempts = known(p->ev, "attempts");
    head(p, ok ? "result" : "error", ok ? PAINT_GOOD : PAINT_BAD);
    add_word(p, " ", word(p, "call_id"));
    add_word(p, " ", word(p, "name"));
    buf_addz(p->out, " after ");
    seconds_add(p->out, latency < 0 ? 0 : latency);
    if (attempts > 1) {
        buf_fmt(p->out, " (attempt %" PRId64 ")", attempts);
    }
    buf_addz(p->out, is_true(val_get(p->ev, "cached")) ? ", cached" : "");
    buf_addz(p->out, is_true(val_get(p->ev, "truncated")) ? ", truncated" : "");
    if (ok) {
        buf_char(p->out, '\n');
        block(p, text(p, "content"), RESULT_CHARS);
    } else {
        buf_addz(p->out, ":");
        add_error(p, val_get(p->ev, "error"));
        buf_char(p->out, '\n');
    }
}

static void show_cancel(struct printer *p)
{
    head(p, "cancel", PAINT_ODD);
    add_word(p, ": ", word(p, "reason"));
    buf_char(p->out, '\n');
}

/* An answer that has just been read as a reply is not printed again. */
static void show_final(struct printer *p)
{
    struct str answer = text(p, "answer");
    if (answer.n > 0 && str_eq(answer, buf_str(&p->shown))) {
        head(p, "answer", PAINT_BOLD);
        buf_addz(p->out, ": the reply above\n");
        return;
    }
    head(p, "answer\n", PAINT_BOLD);
    block(p, answer, TEXT_CHARS);
}

static void show_run_end(struct printer *p)
{
    struct str status = word(p, "status");
    struct usage usage = usage_of(p->ev);
    p->ended = true;
    note_currency(p, p->ev);
    head(p, "end", PAINT_BOLD);
    buf_char(p->out, ' ');
    paint_add(p->out, status, str_is(status, "completed") ? PAINT_GOOD : PAINT_BAD, p->color);
    buf_addz(p->out, " after ");
    count_add(p->out, known(p->ev, "steps"), "step");
    buf_addz(p->out, ", ");
    tokens_add(p->out, &usage);
    add_cost(p);
    buf_char(p->out, '\n');
}

static void show_ask(struct printer *p)
{
    head(p, "ask", PAINT_ODD);
    add_word(p, " ", word(p, "call_id"));
    add_word(p, " ", word(p, "name"));
    buf_addz(p->out, ": is it allowed?\n");
}

static void show_decision(struct printer *p)
{
    head(p, "decision", str_is(text(p, "decision"), "deny") ? PAINT_BAD : PAINT_GOOD);
    add_word(p, " ", word(p, "call_id"));
    add_word(p, ": ", word(p, "decision"));
    buf_char(p->out, '\n');
}

/* A member that is a list or map, with its name before it; nothing where it is empty. */
static void show_member(struct printer *p, const char *name)
{
    const struct val *v = val_get(p->ev, name);
    struct buf line = {0};
    if (v != NULL && v->count > 0) {
        buf_fmt(&line, "%s ", name);
        json_add_spaced(&line, v);
        block(p, buf_str(&line), RESULT_CHARS);
    }
    buf_free(&line);
}

/* What is otherwise from here on, and the calls that had not begun; then the user's message. */
static void show_resume(struct printer *p)
{
    p->ended = false;
    note_currency(p, val_get(p->ev, "changed"));
    head(p, "resume\n", PAINT_BOLD);
    show_member(p, "changed");
    show_member(p, "not_begun");
    buf_clear(&p->said);
    if (text(p, "content").n > 0) {
        show_user(p);
        buf_add(&p->said, text(p, "content"));
    }
}

static void show_compaction(struct printer *p)
{
    head(p, "compaction", PAINT_ODD);
    buf_addz(p->out, ": ");
    count_add(p->out, known(p->ev, "dropped"), "message");
    buf_addz(p->out, " left out, ");
    count_add(p->out, known(p->ev, "shortened"), "result");
    buf_addz(p->out, " shortened\n");
    if (text(p, "summary").n > 0) {
        block(p, text(p, "summary"), TEXT_CHARS);
    }
}

/* Types without a picture of their own, also those of later versions: their members as they are. */
static void show_other(struct printer *p)
{
    struct buf members = {0};
    json_add_spaced(&members, p->ev);
    head(p, "", PAINT_NONE);
    add_word(p, "", word(p, "type"));
    buf_char(p->out, '\n');
    block(p, buf_str(&members), RESULT_CHARS);
    buf_free(&members);
}

static const struct {
    const char *type;
    void (*show)(struct printer *p);
} events[] = {{"run_start", show_run_start},
              {"user_message", show_message},
              {"step_start", show_step},
              {"llm_reply", show_reply},
              {"llm_failure", show_failure},
              {"discard", show_discard},
              {"tool_start", show_tool_start},
              {"tool_retry", show_tool_retry},
              {"tool_result", show_tool_result},
              {"approval_required", show_ask},
              {"approval", show_decision},
              {"resume", show_resume},
              {"compaction", show_compaction},
              {"cancel", show_cancel},
              {"final", show_final},
              {"run_end", show_run_end}};

static void show_event(struct printer *p)
{
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        if (str_is(text(p, "type"), events[i].type)) {
            events[i].show(p);
            return;
        }
    }
    show_other(p);
}

/* ---- the log ---- */

static int read_event(struct printer *p, struct str line, struct err *e)
{
    struct val *v = NULL;
    struct err why;
    if (json_parse(p->arena, NULL, line, &v, &why) != 0) {
        return err_at(e, ERR_INPUT, p->file, p->line, why.column,
                      "expected an event, one JSON object a line: %s", why.message);
    }
    const struct val *type = val_get(v, "type");
    if (!val_is(v, VAL_OBJECT) || !val_is(type, VAL_STRING) ||
        !val_int(val_get(v, "t_ms"), &p->t_ms) || p->t_ms < 0) {
        return err_at(e, ERR_INPUT, p->file, p->line, 1,
                      "expected an event with a type and its t_ms (milliseconds since the start), "
                      "got %s",
                      val_is(v, VAL_OBJECT) ? "an object without them" : val_kind_name(v->kind));
    }
    p->ev = v;
    return 0;
}

/* Shows one line. A last line without its newline that is half an event was cut off by a crash. */
static int show_line(struct printer *p, struct str line, bool last, struct err *e)
{
    p->arena = arena_new();
    int rc = 0;
    if (last && line.n > 0 && json_is_prefix(line)) {
        buf_fmt(p->out, "the last line (%u) was cut off: its %zu bytes are left out\n", p->line,
                line.n);
    } else if ((rc = read_event(p, line, e)) == 0) {
        show_event(p);
    }
    arena_free(p->arena);
    return rc;
}

int report_trace(struct buf *out, const char *file, struct str log, bool full, bool color,
                 struct err *e)
{
    struct printer p = {.out = out, .file = file, .full = full, .color = color};
    int rc = 0;
    if (log.n == 0) {
        return err_at(e, ERR_INPUT, file, 0, 0,
                      "the file is empty: expected an event log, one JSON object a line");
    }
    for (size_t at = 0; rc == 0 && at < log.n;) {
        const char *newline = memchr(log.p + at, '\n', log.n - at);
        size_t end = newline == NULL ? log.n : (size_t)(newline - log.p);
        p.line++;
        rc = show_line(&p, str_slice(log, at, end), newline == NULL, e);
        at = end + 1;
    }
    if (rc == 0 && !p.ended) {
        buf_addz(out, "interrupted: the log has no run_end\n");
    }
    buf_free(&p.shown);
    buf_free(&p.said);
    buf_free(&p.currency);
    return rc;
}
