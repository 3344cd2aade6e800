/* What counts as the size of a request: the estimated tokens of system message, history and tools.
 * Seen from outside: whether the history was compacted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/text.h"
#include "kernel/base/tokens.h"
#include "kernel/core/kernel.h"

enum { STEPS = 3, ROOM = 500, LONG_WORDS = 1000 };

static char result_text[512], long_text[LONG_WORDS * 6 + 1];
static struct tool_spec tools[2];
static struct kernel_config config;
static struct kernel *k;
static struct buf log_text;

/* A session's history here takes about 300 tokens, a long text 1000. */
static void set_up(void)
{
    result_text[0] = '\0';
    for (size_t n = 0; n + 6 < sizeof result_text - 30; n += 6) {
        memcpy(result_text + n, "words ", 7);
    }
    for (size_t i = 0; i < LONG_WORDS; i++) {
        memcpy(long_text + i * 6, "words ", 7);
    }
    for (size_t i = 0; i < 2; i++) {
        tools[i] = (struct tool_spec){.name = i == 0 ? STR("lookup") : STR("other"),
                                      .description = STR("Look something up."),
                                      .parameters = STR("{\"type\":\"object\"}"),
                                      .timeout_ms = TOOL_TIMEOUT_MS,
                                      .max_output = TOOL_OUTPUT_CHARS};
    }
    config = kernel_config_default();
    config.run = STR("000000000001");
    config.started_at = STR("2026-11-29T18:00:00.000Z");
    config.model = STR("m");
    config.tools = tools;
    config.n_tools = 2;
    config.context_tokens = ROOM;
    config.keep_steps = 1;
}

static void tear_down(void)
{
    kernel_free(k);
    k = NULL;
    buf_free(&log_text);
}

static void feed(struct event ev)
{
    struct command c;
    CU_ASSERT_EQUAL(kernel_feed(k, &ev, 0), 0);
    buf_add(&log_text, kernel_take_log(k));
    while (kernel_poll(k, &c)) {
    }
}

static void reply(struct str text, struct tool_call *calls, size_t n_calls)
{
    struct reply r = {.content = text,
                      .reasoning = {NULL, 0},
                      .calls = calls,
                      .n_calls = n_calls,
                      .stop = n_calls > 0 ? STOP_TOOL_USE : STOP_END_TURN,
                      .stop_raw = {NULL, 0},
                      .usage = USAGE_UNKNOWN};
    feed((struct event){.kind = EV_REPLY, .reply = &r});
}

/* A user's message, STEPS calls with their results, and an answer. */
static void session(void)
{
    k = kernel_new(&config);
    feed((struct event){.kind = EV_USER_MESSAGE, .text = STR("go")});
    for (int i = 0; i < STEPS; i++) {
        char id[8], arguments[16];
        snprintf(id, sizeof id, "c%d", i);
        snprintf(arguments, sizeof arguments, "{\"n\":%d}", i);
        struct tool_call call = {str_of(id), STR("lookup"), str_of(arguments)};
        struct tool_output o = {.ok = true, .content = str_of(result_text)};
        reply((struct str){"", 0}, &call, 1);
        feed((struct event){.kind = EV_TOOL_RESULT, .call_id = str_of(id), .output = &o});
    }
    reply(STR("done"), NULL, 0);
}

static bool compacted(void)
{
    return str_find(buf_str(&log_text), STR("\"type\":\"compaction\"")) != SIZE_MAX;
}

static void small_tools_leave_the_history(void)
{
    set_up();
    session();
    CU_ASSERT(!compacted());
    tear_down();
}

static void each_part_of_a_tool_counts(void)
{
    for (int part = 0; part < 3; part++) {
        set_up();
        struct str text = {long_text, LONG_WORDS * 6};
        tools[1].name = part == 0 ? text : tools[1].name;
        tools[1].description = part == 1 ? text : tools[1].description;
        tools[1].parameters = part == 2 ? text : tools[1].parameters;
        session();
        CU_ASSERT(compacted());
        tear_down();
    }
}

static void counts_tools_once(void)
{
    set_up();
    tools[1].description = (struct str){long_text, LONG_WORDS * 6};
    config.context_tokens = ROOM + text_tokens(tools[1].description);
    session();
    CU_ASSERT(!compacted());
    tear_down();
}

static void counts_the_system_message(void)
{
    set_up();
    config.system = (struct str){long_text, LONG_WORDS * 6};
    session();
    CU_ASSERT(compacted());
    tear_down();
}

static void counts_the_tools_of_a_resumed_run(void)
{
    set_up();
    session();
    CU_ASSERT(!compacted());
    tools[1].description = (struct str){long_text, LONG_WORDS * 6};
    feed((struct event){.kind = EV_RESUME, .config = &config, .text = STR("and more")});
    CU_ASSERT(compacted());
    tear_down();
}

static void forgets_tools_that_went(void)
{
    set_up();
    struct kernel_config fewer = config;
    fewer.n_tools = 1;
    tools[1].description = (struct str){long_text, LONG_WORDS * 6};
    config.context_tokens = 0; /* never, until it is resumed */
    session();
    feed((struct event){.kind = EV_RESUME, .config = &fewer, .text = STR("and more")});
    CU_ASSERT(!compacted());
    tear_down();
}

TESTS(size, {"size_of_small_tools_leaves_the_history", small_tools_leave_the_history},
      {"size_counts_a_tools_name_description_and_parameters", each_part_of_a_tool_counts},
      {"size_counts_tools_once", counts_tools_once},
      {"size_counts_the_system_message", counts_the_system_message},
      {"size_counts_the_tools_of_a_resumed_run", counts_the_tools_of_a_resumed_run},
      {"size_forgets_tools_that_went", forgets_tools_that_went})
