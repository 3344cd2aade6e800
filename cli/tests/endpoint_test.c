#include "ci/testing/testing.h"
#include "cli/tests/loopback.h"
#include "cli/tests/program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JSON_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define HTML      "<html><body><h1>Welcome to the router</h1></body></html>"
#define GOOD_BODY                                                                                  \
    "{\"id\":\"1\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\",\"choices\":[{"    \
    "\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Fine.\"},\"finish_reason\":"    \
    "\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}"
#define EVENT                                                                                      \
    "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","      \
    "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Half an \"},"       \
    "\"finish_reason\":null}]}\n\n"

static const struct loopback_answer good = {.bytes =
                                                JSON_HEAD "Connection: close\r\n\r\n" GOOD_BODY};
static const struct loopback_answer hanging = {.end = LOOPBACK_HANG};

/* What an endpoint may do that ends a run as model_error, and what the user must read about it. */
static const struct bad_endpoint {
    const char *name;
    struct loopback_answer answer;
    const char *parts[3];
    bool refuses;
    bool stream;
} bad_endpoints[] = {
    {"refuses", {0}, {"no connection", "127.0.0.1", "base URL"}, true, false},
    {"closes at once", {0}, {"closed the connection"}, false, false},
    {"half a head",
     {.bytes = "HTTP/1.1 200 OK\r\nContent-Ty"},
     {"closed", "headers"},
     false,
     false},
    {"no HTTP", {.bytes = "SSH-2.0-OpenSSH_9.2\r\n"}, {"HTTP"}, false, false},
    {"HTML",
     {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" HTML},
     {"HTML", "base URL"},
     false,
     false},
    {"HTML to a stream",
     {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" HTML},
     {"HTML", "base URL"},
     false,
     true},
    {"HTML with 404",
     {.bytes =
          "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" HTML},
     {"404", "base URL"},
     false,
     false},
    {"HTML with 502",
     {.bytes =
          "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" HTML},
     {"502"},
     false,
     false},
    {"401",
     {.bytes = "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nConnection: "
               "close\r\n\r\n{\"error\":{\"message\":\"Incorrect API key "
               "provided\",\"type\":\"invalid_request_error\",\"code\":\"invalid_api_key\"}}"},
     {"401", "Incorrect API key provided", "API key right"},
     false,
     false},
    {"429 always",
     {.bytes = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nConnection: "
               "close\r\n\r\n{\"error\":{\"message\":\"Rate limit reached\"}}"},
     {"429", "Rate limit reached"},
     false,
     false},
    {"500 without a body",
     {.bytes = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"},
     {"500"},
     false,
     false},
    {"an empty body", {.bytes = JSON_HEAD "Content-Length: 0\r\n\r\n"}, {"empty"}, false, false},
    {"half a JSON",
     {.bytes = JSON_HEAD "Connection: close\r\n\r\n{\"id\":\"1\",\"choices\":[{\"index\":0,\"mess"},
     {"JSON"},
     false,
     false},
    {"less than promised",
     {.bytes = JSON_HEAD "Content-Length: 5000\r\n\r\n{\"id\":\"1\",\"choi"},
     {"closed the connection"},
     false,
     false},
    {"no choices", {.bytes = JSON_HEAD "Connection: close\r\n\r\n{}"}, {"choices"}, false, false},
    {"a list",
     {.bytes = JSON_HEAD "Connection: close\r\n\r\n[1, 2]"},
     {"no chat completion", "base URL"},
     false,
     false},
    {"an error with 200",
     {.bytes = JSON_HEAD "Connection: close\r\n\r\n{\"error\":{\"message\":\"no such model\"}}"},
     {"no such model"},
     false,
     false},
    {"a stream cut between events",
     {.bytes =
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" EVENT},
     {"stream"},
     false,
     true},
    {"a stream cut inside an event",
     {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: "
               "close\r\n\r\n" EVENT "data: {\"id\":\"1\",\"cho"},
     {"stream"},
     false,
     true},
    {"a stream cut in chunked coding",
     {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
               "chunked\r\n\r\nfff\r\n" EVENT},
     {"closed the connection"},
     false,
     true},
    {"a redirect",
     {.bytes = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"},
     {"302"},
     false,
     false},
};
enum { N_BAD = sizeof bad_endpoints / sizeof bad_endpoints[0] };

/* All at once: most wait for their retries. */
static void bad(void)
{
    static struct program_running running[N_BAD];
    struct loopback *servers[N_BAD];
    const char *dir = testing_dir();
    for (size_t i = 0; i < N_BAD; i++) {
        const struct bad_endpoint *b = &bad_endpoints[i];
        servers[i] = b->refuses ? NULL : loopback_start(&b->answer, 1);
        const char *url = b->refuses ? loopback_refusing() : loopback_url(servers[i]);
        const char *trace = path_of("%s/%zu.jsonl", dir, i);
        const char *words[] = {"run",     "--base-url", url,      "--model", "m",
                               "--trace", trace,        "Hello.", NULL,      NULL};
        words[8] = b->stream ? "--stream" : NULL;
        program_start(words, NULL, &running[i]);
    }
    for (size_t i = 0; i < N_BAD; i++) {
        const struct bad_endpoint *b = &bad_endpoints[i];
        const struct ran *r = program_wait(&running[i]);
        bool good_run = CHECK_STATUS(r, 4) && CHECK_ERR(r, "model_error");
        if (!b->stream) {
            good_run = CHECK_ONE_LINE(r) && good_run;
        } else if (count_lines(r->err) != 1) { /* what came of the text is on stdout */
            FAIL("wanted one line on stderr");
            good_run = false;
        }
        for (size_t j = 0; j < 3 && b->parts[j] != NULL; j++) {
            good_run = CHECK_ERR(r, b->parts[j]) && good_run;
        }
        if (!log_ends(read_text(path_of("%s/%zu.jsonl", dir, i), NULL), "model_error")) {
            FAIL("the log does not end with model_error");
            good_run = false;
        }
        if (!good_run) {
            printf("  endpoint: %s\n", b->name);
        }
        if (servers[i] != NULL) {
            loopback_stop(servers[i]);
        }
    }
}

static void no_url(void)
{
    static const struct {
        const char *url;
        const char *part;
    } cases[] = {
        {"not a url", "--base-url"},
        {"ftp://127.0.0.1/x", "http"},
        {"http://", "--base-url"},
        {"file:///etc/passwd", "http"},
        {"http://:80/v1", "--base-url"},
        {"http://127.0.0.1:0/", "--base-url"},
        {"http://127.0.0.1:/", "--base-url"},
        {"http://127.0.0.1:99999/v1", "--base-url"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *trace = path_of("%s/t.jsonl", testing_dir());
        const struct ran *r = ASSAY("run", "--base-url", cases[i].url, "--model", "m", "--trace",
                                    trace, "--budget", "seconds=5", "Hello.");
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
    }
}

static void no_model(void)
{
    const struct ran *r = ASSAY("run", "Hello.");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "--model");
}

static void live(void)
{
    struct loopback *l = loopback_start(&good, 1);
    const char *trace = path_of("%s/t.jsonl", testing_dir());
    const struct ran *r =
        ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "--trace", trace, "Hello.");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "Fine.\n");
    CU_ASSERT(log_ends(read_text(trace, NULL), "completed"));
    CU_ASSERT_EQUAL(loopback_stop(l), 1);
}

static void hang(void)
{
    struct loopback *l = loopback_start(&hanging, 1);
    const char *trace = path_of("%s/t.jsonl", testing_dir());
    const struct ran *r = ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "--budget",
                                "seconds=1", "--trace", trace, "Hello.");
    CHECK_STATUS(r, 1);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "time_budget");
    CU_ASSERT(log_ends(read_text(trace, NULL), "time_budget"));
    loopback_stop(l);
}

static void interrupt_run(void)
{
    static const int signals[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2; i++) {
        struct loopback *l = loopback_start(&hanging, 1);
        const char *trace = path_of("%s/t.jsonl", testing_dir());
        const char *words[] = {"run",     "--base-url", loopback_url(l), "--model", "m",
                               "--trace", trace,        "Hello.",        NULL};
        struct program_running p;
        program_start(words, NULL, &p);
        loopback_wait_request(l);
        kill(p.pid, signals[i]);
        const struct ran *r = program_wait(&p);
        CHECK_STATUS(r, 130);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, "cancelled: interrupted");
        const char *log = read_text(trace, NULL);
        CU_ASSERT(log_ends(log, "cancelled"));
        CHECK_TEXT(event_types(log), "run_start user_message step_start cancel run_end");
        CHECK_STATUS(ASSAY("trace", "show", trace), 0);
        loopback_stop(l);
    }
}

static void interrupt_tool(void)
{
    const char *dir = testing_dir();
    const char *started = path_of("%s/started", dir);
    const char *tools = write_text(
        dir, "t.yaml",
        path_of("version: 1\ntools:\n- name: slow\n  parameters: {type: object, properties: {}}\n"
                "  command: [sh, -c, 'echo > \"%s\"; exec sleep 100']\n",
                started));
    const char *script = write_text(
        dir, "s.yaml", "version: 1\nsteps:\n- reply: {calls: [{name: slow, arguments: {}}]}\n");
    const char *trace = path_of("%s/t.jsonl", dir);
    const char *words[] = {"run",     "--fake", script,   "--tools", tools,
                           "--trace", trace,    "Hello.", NULL};
    struct program_running p;
    program_start(words, NULL, &p);
    program_await_file(&p, started);
    kill(p.pid, SIGINT);
    const struct ran *r = program_wait(&p);
    CHECK_STATUS(r, 130);
    CHECK_ERR(r, "cancelled: interrupted");
    CU_ASSERT(log_ends(read_text(trace, NULL), "cancelled"));
}

static const char three_tasks[] = "version: 1\nname: three\ntasks:\n"
                                  "- {id: a, prompt: A, expect: {answer: Fine.}}\n"
                                  "- {id: b, prompt: B, expect: {answer: Fine.}}\n"
                                  "- {id: c, prompt: C, expect: {answer: Fine.}}\n";

/* The first trial ends, the second one hangs and is interrupted: what ended stays. */
static void interrupt_eval(void)
{
    const struct loopback_answer answers[] = {good, hanging};
    struct loopback *l = loopback_start(answers, 2);
    const char *dir = testing_dir();
    const char *set = write_text(dir, "set.yaml", three_tasks);
    const char *out = path_of("%s/run", dir);
    const char *words[] = {"eval",    set, "--base-url", loopback_url(l),
                           "--model", "m", "--jobs",     "1",
                           "--out",   out, NULL};
    struct program_running p;
    program_start(words, NULL, &p);
    loopback_wait_request(l);
    loopback_wait_request(l);
    kill(p.pid, SIGINT);
    const struct ran *r = program_wait(&p);
    CHECK_STATUS(r, 130);
    size_t n = 0;
    const char *journal = read_text(path_of("%s/trials.jsonl", out), NULL);
    CU_ASSERT(journal != NULL && json_lines(journal, &n) && n == 1);
    CU_ASSERT(strstr(journal, "\"task\":\"a\"") != NULL);
    CU_ASSERT(log_ends(read_text(path_of("%s/traces/a.jsonl", out), NULL), "completed"));
    CU_ASSERT(log_ends(read_text(path_of("%s/traces/b.jsonl", out), NULL), "cancelled"));
    CU_ASSERT(strstr(r->err, "interrupted") != NULL || strstr(r->out, "interrupted") != NULL);
    loopback_stop(l);
}

/* An endpoint that is not there: each trial is an error with its reason, status 4. */
static void eval_refused(void)
{
    const char *dir = testing_dir();
    const char *set = write_text(dir, "set.yaml", three_tasks);
    const char *out = path_of("%s/run", dir);
    const struct ran *r =
        ASSAY("eval", set, "--base-url", loopback_refusing(), "--model", "m", "--out", out);
    CHECK_STATUS(r, 4);
    CHECK_OUT(r, "0 passed, 0 failed, 3 errors");
    CHECK_OUT(r, "no connection to the endpoint");
    size_t n = 0;
    CU_ASSERT(json_lines(read_text(path_of("%s/results.jsonl", out), NULL), &n) && n == 3);
    r = ASSAY("eval", set, "--base-url", loopback_refusing(), "--model", "m", "--out",
              path_of("%s/run2", dir), "--allow-errors", "3");
    CHECK_STATUS(r, 0);
}

/* What was recorded replays to the same log, byte for byte. */
static void record(void)
{
    struct loopback *l = loopback_start(&good, 1);
    const char *dir = testing_dir();
    const char *cassette = path_of("%s/c.yaml", dir);
    const char *live_log = path_of("%s/live.jsonl", dir), *log = path_of("%s/replay.jsonl", dir);
    const char *url = loopback_url(l);
    CHECK_STATUS(ASSAY("run", "--base-url", url, "--model", "m", "--record", cassette, "--trace",
                       live_log, "Hello."),
                 0);
    const struct ran *r = ASSAY("run", "--replay", cassette, "--strict", "--trace", log, "Hello.");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "Fine.\n");
    CU_ASSERT(same_bytes(live_log, log));
    CHECK_STATUS(ASSAY("cassette", "check", cassette), 0);
    size_t n = 0;
    const char *before = read_text(cassette, &n);
    r = ASSAY("run", "--base-url", url, "--model", "m", "--record", cassette, "Hello.");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "c.yaml");
    CHECK_ERR(r, "--mode all");
    CHECK_TEXT(read_text(cassette, NULL), before);
    r = ASSAY("run", "--base-url", url, "--model", "m", "--record", cassette, "--mode", "all",
              "Other.");
    CHECK_STATUS(r, 0);
    CHECK_STATUS(ASSAY("run", "--replay", cassette, "--strict", "Other."), 0);
    CU_ASSERT_EQUAL(loopback_stop(l), 2);
}

static void record_eval(void)
{
    struct loopback *l = loopback_start(&good, 1);
    const char *dir = testing_dir();
    const char *set = write_text(dir, "set.yaml", three_tasks);
    const char *cassettes = path_of("%s/cassettes", dir);
    const char *a = path_of("%s/a", dir), *b = path_of("%s/b", dir);
    CHECK_STATUS(ASSAY("eval", set, "--base-url", loopback_url(l), "--model", "m", "--record",
                       cassettes, "--out", a),
                 0);
    CHECK_STATUS(ASSAY("eval", set, "--replay", cassettes, "--strict", "--out", b), 0);
    CU_ASSERT(same_bytes(path_of("%s/results.jsonl", a), path_of("%s/results.jsonl", b)));
    CU_ASSERT(same_bytes(path_of("%s/traces/b.jsonl", a), path_of("%s/traces/b.jsonl", b)));
    const struct ran *r = ASSAY("eval", set, "--base-url", loopback_url(l), "--model", "m",
                                "--record", cassettes, "--out", path_of("%s/c", dir));
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "--mode all");
    r = ASSAY("eval", set, "--base-url", loopback_url(l), "--model", "m", "--record", cassettes,
              "--mode", "all", "--out", path_of("%s/d", dir));
    CHECK_STATUS(r, 0);
    CU_ASSERT_EQUAL(loopback_stop(l), 6);
}

/* An answer beyond what a recording can hold is its trial's trouble alone. */
static void record_flood(void)
{
    const size_t n = (65 << 20) + strlen(LOOPBACK_JSON);
    char *flood = malloc(n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(flood);
    memset(flood, ' ', n);
    memcpy(flood, LOOPBACK_JSON, strlen(LOOPBACK_JSON));
    const struct loopback_answer answers[] = {{.bytes = flood, .n = n}, good};
    struct loopback *l = loopback_start(answers, 2);
    const char *dir = testing_dir();
    const char *set = write_text(dir, "set.yaml", three_tasks);
    const char *cassettes = path_of("%s/cassettes", dir), *out = path_of("%s/run", dir);
    const struct ran *r =
        ASSAY("eval", set, "--base-url", loopback_url(l), "--model", "m", "--record", cassettes,
              "--out", out, "--jobs", "1", "--allow-errors", "1");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "2 passed, 0 failed, 1 error");
    CHECK_OUT(r, path_of("what was recorded until then is in %s/a.failed.yaml", cassettes));
    size_t lines = 0;
    CU_ASSERT(json_lines(read_text(path_of("%s/results.jsonl", out), NULL), &lines) && lines == 3);
    CU_ASSERT(access(path_of("%s/a.yaml", cassettes), F_OK) != 0);
    CU_ASSERT(access(path_of("%s/b.yaml", cassettes), F_OK) == 0);
    loopback_stop(l);
    free(flood);
}

/* Likewise a recording that is there but cannot be gone on with. */
static void record_bad_one(void)
{
    struct loopback *l = loopback_start(&good, 1);
    const char *dir = testing_dir();
    const char *set = write_text(dir, "set.yaml", three_tasks);
    const char *cassettes = path_of("%s/cassettes", dir), *out = path_of("%s/run", dir);
    CU_ASSERT_EQUAL_FATAL(mkdir(cassettes, 0700), 0);
    const char *bad = write_text(cassettes, "a.yaml", "no: cassette\n");
    const struct ran *r =
        ASSAY("eval", set, "--base-url", loopback_url(l), "--model", "m", "--record", cassettes,
              "--mode", "once", "--out", out, "--allow-errors", "1");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "2 passed, 0 failed, 1 error");
    CHECK_OUT(r, bad);
    CHECK_TEXT(read_text(bad, NULL), "no: cassette\n");
    loopback_stop(l);
}

/* A call without a name is scored again as what it was. */
static void nameless_call(void)
{
    const struct loopback_answer answers[] = {
        {.bytes = LOOPBACK_REPLY("{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":"
                                 "\"c1\",\"type\":\"function\",\"function\":{\"name\":\"\","
                                 "\"arguments\":\"{}\"}}]}",
                                 "tool_calls")},
        good};
    struct loopback *l = loopback_start(answers, 2);
    const char *dir = testing_dir(), *out = path_of("%s/run", dir);
    const char *set = write_text(dir, "set.yaml",
                                 "version: 1\nname: one\ntasks:\n"
                                 "- {id: a, prompt: A, tools: [{builtin: calculator}], expect: "
                                 "{answer: Fine.}}\n");
    CHECK_STATUS(ASSAY("eval", set, "--base-url", loopback_url(l), "--model", "m", "--out", out),
                 0);
    const char *before = read_text(path_of("%s/results.jsonl", out), NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(before, "\"calls\":[{\"name\":\"\",\"arguments\":\"{}\"}]"));
    CHECK_STATUS(ASSAY("score", out), 0);
    CHECK_TEXT(read_text(path_of("%s/results.jsonl", out), NULL), before);
    loopback_stop(l);
}

TESTS(endpoint, {"endpoint_misbehaviour_is_one_clear_line", bad},
      {"endpoint_with_a_bad_url_is_told", no_url}, {"endpoint_needs_a_model", no_model},
      {"endpoint_answers_a_live_run", live}, {"endpoint_that_hangs_meets_the_time_budget", hang},
      {"interrupt_leaves_a_valid_log", interrupt_run},
      {"interrupt_ends_a_tool_under_way", interrupt_tool},
      {"interrupt_of_eval_keeps_what_ended", interrupt_eval},
      {"eval_counts_a_refusing_endpoint_as_errors", eval_refused},
      {"record_replays_to_the_same_log_and_is_never_overwritten", record},
      {"record_of_eval_replays_to_the_same_results", record_eval},
      {"a_call_without_a_name_is_scored_again_as_it_was", nameless_call},
      {"record_of_eval_survives_an_answer_too_large_to_hold", record_flood},
      {"record_of_eval_survives_a_recording_that_is_broken", record_bad_one})
