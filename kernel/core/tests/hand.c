#include "kernel/core/tests/hand.h"

#include <stdio.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/json.h"

struct hand hand;

struct tool_spec hand_tool(const char *name, const char *schema)
{
    struct tool_spec t = {.name = str_of(name),
                          .parameters = str_of(schema),
                          .timeout_ms = TOOL_TIMEOUT_MS,
                          .max_output = TOOL_OUTPUT_CHARS};
    struct val *v = NULL;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(json_parse(hand.arena, NULL, t.parameters, &v, &e), 0);
    CU_ASSERT_EQUAL_FATAL(schema_new(v, SCHEMA_2020_12, &t.validator, &e), 0);
    t.schema = v;
    return t;
}

void hand_set_up(void)
{
    const char *any = "{\"type\":\"object\"}";
    hand = (struct hand){.arena = arena_new()};
    hand.tools[LOOKUP] =
        hand_tool("lookup", "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},"
                            "\"n\":{\"type\":\"integer\"}},\"additionalProperties\":false}");
    hand.tools[REFUND] = hand_tool("refund", any);
    hand.tools[REFUND].tier = TIER_WRITE;
    hand.tools[WATCH] = hand_tool("watch", any);
    hand.tools[WATCH].polling = true;
    hand.tools[DONE_TOOL] =
        hand_tool("task_done", "{\"type\":\"object\",\"properties\":{\"report\":{\"type\":"
                               "\"string\"}},\"required\":[\"report\"]}");
    hand.tools[DONE_TOOL].terminal = true;
    hand.tools[SERIAL] = hand_tool("in_turn", any);
    hand.tools[SERIAL].serial = true;
    hand.tools[SET_KEY] = hand_tool("set_key", any);
    hand.tools[SET_KEY].tier = TIER_WRITE;
    hand.tools[SET_KEY].idempotent = true;
    hand.config = kernel_config_default();
    hand.config.run = STR("000000000001");
    hand.config.seed = 7;
    hand.config.started_at = STR("2026-11-29T18:00:00.000Z");
    hand.config.model = STR("m");
    hand.config.tools = hand.tools;
    hand.config.n_tools = N_TOOLS;
}

static void collect(const struct event *ev, int rc, uint64_t now)
{
    struct str lines = kernel_take_log(hand.k);
    buf_add(&hand.log, lines);
    hand.n_commands = 0;
    while (hand.n_commands < HAND_COMMANDS &&
           kernel_poll(hand.k, &hand.commands[hand.n_commands])) {
        hand.n_commands++;
    }
    if (hand.check == NULL) {
        return;
    }
    if (ev != NULL) {
        check_event(hand.check, ev, rc, now);
    }
    check_lines(hand.check, lines);
    for (size_t i = 0; i < hand.n_commands; i++) {
        check_command(hand.check, &hand.commands[i]);
    }
}

int hand_feed(struct event ev, uint64_t now)
{
    int rc = kernel_feed(hand.k, &ev, now);
    collect(&ev, rc, now);
    return rc;
}

void hand_begin(void)
{
    hand.k = kernel_new(&hand.config);
    hand.check = check_new(&hand.config);
    CU_ASSERT_EQUAL(hand_feed((struct event){.kind = EV_USER_MESSAGE, .text = STR("go")}, 0), 0);
}

/* Brings a fresh kernel up from the first lines of the log. */
static struct kernel *bring_up(struct arena *arena, size_t lines, struct kernel_replay *out)
{
    struct kernel_config config;
    struct err e = {0};
    struct str log = arena_str(arena, buf_str(&hand.log));
    *out = (struct kernel_replay){.tools = hand.tools, .n_tools = N_TOOLS};
    bool own = hand.config.tools == hand.tools;
    int rc = kernel_config_of_log(arena, "log", log, own ? hand.tools : hand.config.tools,
                                  own ? N_TOOLS : hand.config.n_tools, &config, &e);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    struct kernel *k = kernel_new(&config);
    rc = kernel_replay(k, "log", log, lines, out, &e);
    if (rc != 0) {
        printf("\nline %u: %s\n", e.line, e.message);
    }
    CU_ASSERT_EQUAL(rc, 0);
    return k;
}

void hand_crash(size_t lines)
{
    struct kernel_replay out;
    struct kernel *k = bring_up(hand.arena, lines, &out);
    kernel_free(hand.k);
    hand.k = k;
    hand.log.n = out.bytes;
    buf_add(&hand.log, buf_str(&out.missing));
    buf_free(&out.missing);
    check_free(hand.check);
    hand.check = check_new(&hand.config);
    check_lines(hand.check, buf_str(&hand.log));
    check_crash(hand.check);
    hand.n_commands = 0;
}

void hand_tear_down(void)
{
    if (hand.k != NULL && !hand.unchecked) {
        struct arena *arena = arena_new();
        struct kernel_replay out;
        struct kernel *k = bring_up(arena, SIZE_MAX, &out);
        CU_ASSERT_TRUE(out.bytes == hand.log.n && out.missing.n == 0);
        buf_free(&out.missing);
        kernel_free(k);
        arena_free(arena);
        if (hand.check != NULL && check_fault(hand.check) != NULL) {
            CHECK_TEXT(check_fault(hand.check), "no fault");
        }
    }
    kernel_free(hand.k);
    check_free(hand.check);
    buf_free(&hand.log);
    for (size_t i = 0; i < N_TOOLS; i++) {
        schema_free(hand.tools[i].validator);
    }
    arena_free(hand.arena);
    hand = (struct hand){.n_commands = 0};
}

/* ---- events ---- */

int hand_reply(uint64_t now, enum stop_reason stop, const char *text, ...)
{
    struct tool_call calls[16];
    struct reply r = {.content_null = text == NULL,
                      .content = str_of(text),
                      .calls = calls,
                      .stop = stop,
                      .usage = USAGE_UNKNOWN};
    va_list args;
    va_start(args, text);
    for (const char *id = va_arg(args, const char *); id != NULL; id = va_arg(args, const char *)) {
        const char *name = va_arg(args, const char *);
        const char *arguments = va_arg(args, const char *);
        calls[r.n_calls++] = (struct tool_call){str_of(id), str_of(name), str_of(arguments)};
    }
    va_end(args);
    r.usage.input = 10;
    r.usage.output = 5;
    return hand_feed((struct event){.kind = EV_REPLY, .reply = &r}, now);
}

int hand_result(uint64_t now, const char *id, const char *content)
{
    struct tool_output o = {.ok = true, .content = str_of(content)};
    return hand_feed((struct event){.kind = EV_TOOL_RESULT, .call_id = str_of(id), .output = &o},
                     now);
}

int hand_tool_fails(uint64_t now, const char *id, const char *code, bool retryable)
{
    struct tool_output o = {
        .code = str_of(code), .message = STR("it broke"), .retryable = retryable};
    return hand_feed((struct event){.kind = EV_TOOL_RESULT, .call_id = str_of(id), .output = &o},
                     now);
}

int hand_fails(uint64_t now, enum fail_class class, int64_t retry_after_ms)
{
    struct failure f = {
        .class = class, .status = 500, .retry_after_ms = retry_after_ms, .message = STR("no")};
    return hand_feed((struct event){.kind = EV_FAILURE, .failure = &f}, now);
}

int hand_tick(uint64_t now)
{
    return hand_feed((struct event){.kind = EV_TIME}, now);
}

int hand_cancel(uint64_t now)
{
    return hand_feed((struct event){.kind = EV_CANCEL, .text = STR("interrupted")}, now);
}

int hand_approve(uint64_t now, const char *id, enum decision decision)
{
    return hand_feed(
        (struct event){.kind = EV_APPROVAL, .call_id = str_of(id), .decision = decision}, now);
}

int hand_resume(uint64_t now, const char *text)
{
    return hand_feed(
        (struct event){.kind = EV_RESUME, .text = str_of(text), .config = &hand.config}, now);
}

/* ---- what came of it ---- */

enum run_status hand_status(void)
{
    struct run_result r = {0};
    CU_ASSERT_TRUE_FATAL(kernel_result(hand.k, &r));
    return r.status;
}

const char *hand_types(void)
{
    static char out[4096];
    struct arena *a = arena_new();
    struct str rest = buf_str(&hand.log);
    size_t n = 0;
    out[0] = '\0';
    while (rest.n > 0) {
        size_t end = str_find(rest, STR("\n"));
        struct val *v = NULL;
        CU_ASSERT_NOT_EQUAL_FATAL(end, SIZE_MAX);
        CU_ASSERT_EQUAL_FATAL(json_parse(a, NULL, str_slice(rest, 0, end), &v, NULL), 0);
        struct str type = val_text(val_get(v, "type"));
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%.*s", n == 0 ? "" : " ", STR_FMT(type));
        rest = str_slice(rest, end + 1, rest.n);
    }
    arena_free(a);
    return out;
}

size_t hand_times_logged(const char *text)
{
    struct str rest = buf_str(&hand.log);
    size_t n = 0;
    for (size_t at; (at = str_find(rest, str_of(text))) != SIZE_MAX; n++) {
        rest = str_slice(rest, at + 1, rest.n);
    }
    return n;
}

bool hand_logged(const char *text)
{
    return hand_times_logged(text) > 0;
}

size_t hand_lines(void)
{
    return hand_times_logged("\n");
}

size_t hand_commanded(enum command_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < hand.n_commands; i++) {
        n += hand.commands[i].kind == kind;
    }
    return n;
}

size_t hand_messages(void)
{
    size_t n = 0;
    (void)kernel_history(hand.k, &n);
    return n;
}

const struct message *hand_message(size_t i)
{
    size_t n = 0;
    const struct message *m = kernel_history(hand.k, &n);
    CU_ASSERT_TRUE_FATAL(i < n);
    return &m[n - 1 - i];
}

void hand_check_history(void)
{
    size_t n = 0;
    struct err e;
    const struct message *m = kernel_history(hand.k, &n);
    CU_ASSERT_EQUAL(history_check(m, n, &e), 0);
}

void hand_check_reason(const char *want)
{
    struct run_result r;
    CU_ASSERT_FATAL(kernel_result(hand.k, &r));
    CHECK_TEXT(arena_cstr(hand.arena, r.reason), want);
}
