/* Conversations of a program are told apart, and stand in the same order whenever their requests
 * came. */
#include "ci/testing/testing.h"
#include "evals/agent_int.h"
#include "kernel/base/json.h"

#include <stdlib.h>
#include <string.h>

/* ---- a program's traffic, in Chat Completions ---- */

#define CALL(id, name, args)                                                                       \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name                      \
    "\",\"arguments\":\"" args "\"}}"
#define USER(text)     "{\"role\":\"user\",\"content\":\"" text "\"}"
#define TOOL(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"
#define CALLS(calls)   "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" calls "]}"
#define SAYS(text)     "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define REQUEST(list)  "{\"model\":\"m\",\"messages\":[" list "]}"
#define REPLY(message, stop)                                                                       \
    "{\"id\":\"x\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\",\"choices\":[{"    \
    "\"index\":0,\"message\":" message ",\"finish_reason\":\"" stop "\"}],\"usage\":{"             \
    "\"prompt_tokens\":10,\"completion_tokens\":2,\"total_tokens\":12}}"

struct exchange {
    const char *request;
    const char *reply; /* NULL = a status 500 */
    int after;         /* it is made when this one was answered; -1 = at once */
};

static void put(struct traffic *t, const struct exchange *x, int64_t at_ms)
{
    const struct http_header type = {STR("Content-Type"), STR("application/json")};
    struct turn *turn = traffic_request(t, WIRE_CHAT, str_of(x->request), at_ms);
    CU_ASSERT_PTR_NOT_NULL_FATAL(turn);
    traffic_head(turn, x->reply == NULL ? 500 : 200, &type, 1);
    traffic_body(t, turn, x->reply == NULL ? STR("{}") : str_of(x->reply));
    traffic_end(t, turn, HTTP_CLEAN, STR(""), at_ms + 5);
}

/* The log and the calls ("name name …") of exchanges that came in this order. */
static char *log_of(const struct exchange *all, const int *order, size_t n, char *calls,
                    struct run_result *result)
{
    struct arena *arena = arena_new();
    struct traffic t;
    struct buf log = {0};
    struct rig_outcome out = {.log_error = NULL};
    static const struct golden_task task = {.id = {"t", 1}};
    struct agent_facts facts = {.run = STR("r"),
                                .started_at = STR("2026-01-01T00:00:00.000Z"),
                                .command = STR("x"),
                                .task = &task,
                                .status = RUN_COMPLETED};
    traffic_init(&t, arena, STR("Compare."));
    for (size_t i = 0; i < n; i++) {
        put(&t, &all[order[i]], (int64_t)(10 * i));
    }
    agent_log(&t, &facts, &log, &out);
    calls[0] = '\0';
    for (size_t i = 0; i < out.n_calls; i++) {
        strncat(calls, " ", 2);
        strncat(calls, out.calls[i].name.p, out.calls[i].name.n);
        strncat(calls, out.calls[i].arguments.p, out.calls[i].arguments.n);
    }
    if (result != NULL) {
        *result = out.result;
        result->answer = (struct str){NULL, 0}; /* goes with the arena */
    }
    buf_char(&log, '\0');
    arena_free(arena);
    return log.p;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part)) {
        n++;
    }
    return n;
}

/* ---- a program with two workers ---- */

#define DELEGATES                                                                                  \
    CALL("d1", "delegate", "{\\\"task\\\":\\\"Paris\\\"}")                                         \
    "," CALL("d2", "delegate", "{\\\"task\\\":\\\"Oslo\\\"}")
#define WEATHER(city) CALL("c1", "weather", "{\\\"city\\\":\\\"" city "\\\"}")
#define WORKER(city)  "{\"role\":\"system\",\"content\":\"You work.\"}," USER("Do: " city)

static const struct exchange workers[] = {
    {REQUEST(USER("Compare.")), REPLY(CALLS(DELEGATES), "tool_calls"), -1},
    {REQUEST(WORKER("Paris")), REPLY(CALLS(WEATHER("Paris")), "tool_calls"), 0},
    {REQUEST(WORKER("Paris") "," CALLS(WEATHER("Paris")) "," TOOL("c1", "21")),
     REPLY(SAYS("21 degrees"), "stop"), 1},
    {REQUEST(WORKER("Oslo")), REPLY(CALLS(WEATHER("Oslo")), "tool_calls"), 0},
    {REQUEST(WORKER("Oslo") "," CALLS(WEATHER("Oslo")) "," TOOL("c1", "4")),
     REPLY(SAYS("4 degrees"), "stop"), 3},
    {REQUEST(USER("Name this chat.")), REPLY(SAYS("Weather"), "stop"), -1},
    {REQUEST(USER("Compare.") "," CALLS(DELEGATES) "," TOOL("d1", "21 degrees") "," TOOL(
         "d2", "4 degrees")),
     REPLY(SAYS("Paris is warmer."), "stop"), 4},
};
enum { WORKERS = sizeof workers / sizeof workers[0] };

/* Every order in which the exchanges may have come; `seen` gets the first one's log. */
static void try_orders(int *order, size_t n, char **seen, size_t *tried)
{
    char calls[2048];
    if (n == WORKERS) {
        char *log = log_of(workers, order, n, calls, NULL);
        CU_ASSERT_STRING_EQUAL(calls, " delegate{\"task\":\"Paris\"} delegate{\"task\":\"Oslo\"}"
                                      " weather{\"city\":\"Paris\"} weather{\"city\":\"Oslo\"}");
        if (*seen == NULL) {
            *seen = log;
        } else {
            CU_ASSERT_STRING_EQUAL(log, *seen);
            free(log);
        }
        ++*tried;
        return;
    }
    for (int next = 0; next < WORKERS; next++) {
        bool made = false, may = workers[next].after < 0;
        for (size_t i = 0; i < n; i++) {
            made = made || order[i] == next;
            may = may || order[i] == workers[next].after;
        }
        bool last = next == WORKERS - 1; /* waits for both workers */
        for (size_t both = 0, i = 0; last && i < n; i++) {
            both += order[i] == 2 || order[i] == 4;
            may = both == 2;
        }
        if (!made && may && !(last && n < 5)) {
            order[n] = next;
            try_orders(order, n + 1, seen, tried);
        }
    }
}

static void order_of_coming_does_not_count(void)
{
    int order[WORKERS];
    char *seen = NULL;
    size_t tried = 0;
    try_orders(order, 0, &seen, &tried);
    CU_ASSERT(tried > 40);
    CU_ASSERT_PTR_NOT_NULL_FATAL(seen);
    CU_ASSERT_EQUAL(count(seen, "\"type\":\"llm_reply\""), 7);
    CU_ASSERT_EQUAL(count(seen, "\"conversation\":4"), 3); /* the one that nobody's call led to */
    const char *start = strstr(seen, "\"call_id\":\"d1\"");
    const char *worker = strstr(seen, "Do: Paris"), *other = strstr(seen, "Do: Oslo");
    const char *result = strstr(seen, "\"content\":\"21 degrees\",\"latency_ms\"");
    CU_ASSERT(start != NULL && worker > start && other > worker && result > other);
    free(seen);
}

/* Two calls are alike, and one is another: each stands before its own workers, in call order. */
static void equal_calls_have_a_worker_each(void)
{
#define ORDERS                                                                                     \
    CALL("d1", "delegate", "{\\\"task\\\":\\\"Paris\\\"}")                                         \
    "," CALL("d2", "delegate", "{\\\"task\\\":\\\"Reykjavik\\\"}") "," CALL(                       \
        "d3", "delegate", "{\\\"task\\\":\\\"Paris\\\"}")
    static const struct exchange all[] = {
        {REQUEST(USER("Compare.")), REPLY(CALLS(ORDERS), "tool_calls"), -1},
        {REQUEST(WORKER("Paris")), REPLY(CALLS(WEATHER("Paris")), "tool_calls"), 0},
        {REQUEST(WORKER("Paris")), REPLY(CALLS(WEATHER("Paris")), "tool_calls"), 0},
        {REQUEST(WORKER("Reykjavik")), REPLY(CALLS(WEATHER("Reykjavik")), "tool_calls"), 0}};
    static const int orders[][4] = {{0, 1, 2, 3}, {0, 3, 2, 1}, {0, 2, 3, 1}};
    for (size_t i = 0; i < 3; i++) {
        char calls[1024];
        char *log = log_of(all, orders[i], 4, calls, NULL);
        const char *first = strstr(calls, "weather{\"city\":\"Paris\"}");
        const char *other = strstr(calls, "weather{\"city\":\"Reykjavik\"}");
        CU_ASSERT_FATAL(first != NULL && other != NULL);
        const char *last = strstr(first + 1, "weather{\"city\":\"Paris\"}");
        CU_ASSERT(first < other && last != NULL && other < last);
        free(log);
    }
}

/* ---- the same question again ---- */

static void failed_requests_are_attempts(void)
{
    static const struct exchange all[] = {
        {REQUEST(USER("Compare.")), NULL, -1},
        {REQUEST(USER("Compare.")), NULL, -1},
        {REQUEST(USER("Compare.")), REPLY(SAYS("Done."), "stop"), -1}};
    static const int order[] = {0, 1, 2};
    char calls[64];
    struct run_result r;
    char *log = log_of(all, order, 3, calls, &r);
    CU_ASSERT_EQUAL(r.steps, 1);
    CU_ASSERT_EQUAL(r.usage.input, 10);
    CU_ASSERT(strstr(log, "\"attempts\":3") != NULL);
    CU_ASSERT(strstr(log, "conversation") == NULL);
    CU_ASSERT(strstr(log, "\"answer\":\"Done.\"") != NULL);
    free(log);
}

static void samples_are_conversations(void)
{
    static const struct exchange all[] = {
        {REQUEST(USER("Compare.")), REPLY(SAYS("B"), "stop"), -1},
        {REQUEST(USER("Compare.")), REPLY(SAYS("A"), "stop"), -1},
        {REQUEST(USER("Compare.") "," SAYS("A") "," USER("Sure?")), REPLY(SAYS("Yes"), "stop"),
         -1}};
    static const int one[] = {0, 1, 2}, other[] = {1, 0, 2};
    char calls[64];
    struct run_result r;
    char *a = log_of(all, one, 3, calls, &r), *b = log_of(all, other, 3, calls, NULL);
    CU_ASSERT_EQUAL(r.steps, 3);
    CU_ASSERT(strstr(a, "\"conversation\":2") != NULL && strstr(a, "\"conversation\":3") == NULL);
    char *ta = strstr(a, "\"content\":\"A\""), *tb = strstr(a, "\"content\":\"B\"");
    CU_ASSERT(ta != NULL && tb > ta); /* by what was said */
    CU_ASSERT(b != NULL && strstr(b, "\"content\":\"A\"") < strstr(b, "\"content\":\"B\""));
    free(a);
    free(b);
}

TESTS(agent, {"the_log_is_the_same_whenever_requests_came", order_of_coming_does_not_count},
      {"equal_calls_have_a_worker_each_in_call_order", equal_calls_have_a_worker_each},
      {"a_request_made_again_is_an_attempt_of_the_same_step", failed_requests_are_attempts},
      {"equal_requests_that_were_answered_are_conversations_of_their_own",
       samples_are_conversations})
