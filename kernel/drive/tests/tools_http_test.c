#include "ci/testing/testing.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/tests/loopback.h"
#include "kernel/drive/tools.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

/* A server that gives every request the same answer, and the tools that call it. */
static struct {
    struct toolset *set;
    struct loop *loop;
    struct sched *sched;
    struct toolbox *box;
    struct tool_run *run;
    struct loopback server;
    const char *answer; /* NULL: none comes */
    struct buf seen;
    bool stop_at_request;
} t;

/* ---- the server ---- */

static void on_sent(uv_write_t *write, int status)
{
    (void)status;
    loopback_close(write->data);
}

static void on_request(struct loopback_peer *p)
{
    if (t.stop_at_request) {
        t.box->ops->stop(t.box, t.run);
    }
    if (t.answer != NULL) {
        loopback_send(p, t.answer, on_sent);
    }
}

static void server_start(void)
{
    t.server.on_request = on_request;
    loopback_start(&t.server, loop_uv(t.loop));
}

/* ---- the tools ---- */

/* `http` is what follows the tool's address in the file, `more` the tool's other keys. */
static void begin(const char *path, const char *http, const char *more, const char *answer)
{
    char file[512];
    struct err e = {0};
    memset(&t, 0, sizeof t);
    t.loop = loop_new();
    t.sched = sched_virtual(t.loop);
    t.answer = answer;
    server_start();
    snprintf(file, sizeof file, "%s/tools.yaml", testing_dir());
    FILE *f = fopen(file, "wb");
    CU_ASSERT_FATAL(f != NULL);
    fprintf(f, "version: 1\ntools:\n- {name: a, http: {url: \"http://127.0.0.1:%d%s\"%s}%s}\n",
            t.server.port, path, http, more);
    CU_ASSERT_EQUAL(fclose(f), 0);
    t.set = toolset_new();
    CU_ASSERT_EQUAL_FATAL(toolset_add_file(t.set, file, &e), 0);
    t.box = toolbox_local(t.set, t.sched, t.loop, 0);
}

static void end(void)
{
    t.box->ops->free(t.box);
    sched_free(t.sched);
    loopback_stop(&t.server);
    loop_free(t.loop);
    toolset_free(t.set);
    buf_free(&t.server.request);
    buf_free(&t.seen);
}

static void note(void *ctx, const struct tool_output *o, bool miss)
{
    (void)ctx;
    CU_ASSERT_FALSE(miss);
    buf_fmt(&t.seen, "@%d ", (int)sched_now(t.sched));
    buf_add(&t.seen, o->ok ? o->content : o->code);
    if (!o->ok) {
        buf_fmt(&t.seen, "%s: %.*s", o->retryable ? "!" : "", STR_FMT(o->message));
    }
}

static void call(const char *arguments)
{
    const struct tool_request rq = {.call_id = STR("c"),
                                    .name = STR("a"),
                                    .arguments = str_of(arguments),
                                    .order = 1,
                                    .attempt = 1,
                                    .request_id = STR("0123-7")};
    t.run = t.box->ops->start(t.box, &rq, (struct tool_sink){NULL, note});
    CU_ASSERT_EQUAL(t.seen.n, 0); /* nothing from inside start */
}

static void expect(const char *want)
{
    loop_run(t.loop);
    buf_char(&t.seen, '\0');
    CHECK_TEXT(t.seen.p, want);
    buf_clear(&t.seen);
}

static void check_request(const char *part, bool there)
{
    bool found = str_find(buf_str(&t.server.request), str_of(part)) != SIZE_MAX;
    if (found != there) {
        printf("\n  got  %.*s\n  %s %s\n", STR_FMT(buf_str(&t.server.request)),
               there ? "want" : "not", part);
    }
    CU_ASSERT_EQUAL(found, there);
}

#define ANSWER(status, body) "HTTP/1.1 " status "\r\nConnection: close\r\n\r\n" body

/* ---- calls ---- */

static void arguments_are_the_body(void)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE"};
    for (size_t i = 0; i < 3; i++) {
        char http[32], line[64];
        snprintf(http, sizeof http, ", method: %s", methods[i]);
        snprintf(line, sizeof line, "%s /orders?x=1 HTTP/1.1\r\n", methods[i]);
        begin("/orders?x=1", http, "", ANSWER("201 Created", "{\"n\": 7}\n"));
        call("{\"id\":\"\\u00e9\"}");
        expect("@0 {\"n\": 7}\n");
        check_request(line, true);
        check_request("Content-Type: application/json\r\n", true);
        check_request("Idempotency-Key: 0123-7\r\n", true);
        check_request("\r\n\r\n{\"id\":\"\\u00e9\"}", true);
        end();
    }
    begin("/", "", "", ANSWER("204 No Content", ""));
    call("{}");
    expect("@0 ");
    check_request("POST / HTTP/1.1\r\n", true); /* unless the file says otherwise */
    end();
}

static void arguments_are_the_query_of_a_get(void)
{
    static const struct {
        const char *path;
        const char *arguments;
        const char *line;
    } cases[] = {
        {"/o", "{}", "GET /o HTTP/1.1\r\n"},
        {"/o", "{\"id\":\"a b&c=d/\\u00e9?~\"}",
         "GET /o?id=a%20b%26c%3Dd%2F%C3%A9%3F~ HTTP/1.1\r\n"},
        {"/o?k=v", "{\"a\":1.50,\"b\":true,\"c\":null,\"d\":\"\"}",
         "GET /o?k=v&a=1.50&b=true&d= HTTP/1.1\r\n"},
        {"/o", "{\"a\\r\\nX: y\":\"\\u0000\"}", "GET /o?a%0D%0AX%3A%20y=%00 HTTP/1.1\r\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(cases[i].path, ", method: GET", "", ANSWER("200 OK", "fine"));
        call(cases[i].arguments);
        expect("@0 fine");
        check_request(cases[i].line, true);
        check_request("Content-Type", false);
        end();
    }
    begin("/o", ", method: GET", "", ANSWER("200 OK", "fine"));
    call("{\"ids\":[1]}");
    expect("@0 TOOL_ERROR: the argument ids is a list or a map; this tool is called by GET, which "
           "takes texts, numbers and booleans");
    CU_ASSERT_EQUAL(t.server.requests, 0);
    end();
}

static void other_statuses_are_failures(void)
{
    static const struct {
        const char *answer;
        const char *seen;
    } cases[] = {
        {ANSWER("404 Not Found", "no order\n 7\n"),
         "@0 TOOL_ERROR: the server answered 404 Not Found: no order  7"},
        {ANSWER("302 Found", ""), "@0 TOOL_ERROR: the server answered 302 Found"},
        {ANSWER("408 Slow", ""), "@0 TOOL_ERROR!: the server answered 408 Slow"},
        {ANSWER("429 Busy", ""), "@0 TOOL_ERROR!: the server answered 429 Busy"},
        {ANSWER("503 ", "x"), "@0 TOOL_ERROR!: the server answered 503: x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin("/", "", "", cases[i].answer);
        call("{}");
        expect(cases[i].seen);
        end();
    }
}

/* So that nobody else listens there. */
static int keep_port(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CU_ASSERT_EQUAL(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    CU_ASSERT_EQUAL(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void broken_answers_are_failures_that_may_be_retried(void)
{
    char want[128];
    begin("/o?key=k", "", "", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    call("{}");
    snprintf(want, sizeof want, "@0 TOOL_ERROR!: the connection to http://127.0.0.1:%d/o broke",
             t.server.port);
    expect(want);
    uv_close((uv_handle_t *)&t.server.listener, NULL);
    loop_run(t.loop); /* until it is closed */
    int kept = keep_port(t.server.port);
    call("{}");
    snprintf(want, sizeof want, "@0 TOOL_ERROR!: cannot connect to http://127.0.0.1:%d/o",
             t.server.port);
    expect(want);
    close(kept);
    end();
    begin("/o", "", ", timeout_ms: 30", NULL);
    call("{}");
    snprintf(want, sizeof want, "@0 TIMEOUT!: http://127.0.0.1:%d/o did not answer in time",
             t.server.port);
    expect(want);
    end();
}

static void floods_are_cut_off(void)
{
    enum { MORE = (1 << 20) + 1 };
    for (int n = MORE - 1; n <= MORE; n++) {
        struct buf flood = {0};
        buf_addz(&flood, ANSWER("200 OK", ""));
        for (int i = 0; i < n; i++) {
            buf_char(&flood, 'x');
        }
        buf_char(&flood, '\0');
        begin("/", "", "", flood.p);
        call("{}");
        loop_run(t.loop);
        if (n == MORE) {
            CU_ASSERT_TRUE(
                str_is(buf_str(&t.seen),
                       "@0 TOOL_ERROR: the server answered with more than 1048576 bytes"));
        } else {
            CU_ASSERT_EQUAL(t.seen.n, (size_t)n + strlen("@0 "));
        }
        end();
        buf_free(&flood);
    }
}

static void headers_take_the_environment_and_hide_it(void)
{
    CU_ASSERT_EQUAL(setenv("ASSAY_TEST_TOKEN", "s3cret-one\n", 1), 0);
    begin("/", ", headers: {Authorization: \"Bearer ${ASSAY_TEST_TOKEN}$\", content-type: text/x}",
          "", ANSWER("200 OK", "you said Bearer s3cret-one and s3cret-one."));
    call("{}");
    expect("@0 you said Bearer REDACTED and REDACTED.");
    check_request("Authorization: Bearer s3cret-one$\r\n", true);
    check_request("content-type: text/x\r\n", true);
    check_request("application/json", false);
    t.answer = ANSWER("401 s3cret-one", "bad s3cret-one");
    call("{}");
    expect("@0 TOOL_ERROR: the server answered 401 REDACTED: bad REDACTED");
    CU_ASSERT_EQUAL(setenv("ASSAY_TEST_TOKEN", "a\r\nX: y", 1), 0);
    call("{}");
    expect("@0 TOOL_ERROR: ASSAY_TEST_TOKEN of the environment holds a character that the header "
           "Authorization cannot hold");
    CU_ASSERT_EQUAL(unsetenv("ASSAY_TEST_TOKEN"), 0);
    call("{}");
    expect("@0 TOOL_ERROR: the header Authorization needs ASSAY_TEST_TOKEN of the environment, "
           "which is not set");
    CU_ASSERT_EQUAL(t.server.requests, 2);
    struct err e = {0};
    CU_ASSERT_EQUAL(toolset_programs(t.set, &e), ERR_IO);
    CU_ASSERT_EQUAL(e.line, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "ASSAY_TEST_TOKEN"));
    end();
}

static void stopped_calls_tell_nothing(void)
{
    begin("/", "", "", ANSWER("200 OK", "late"));
    t.stop_at_request = true;
    call("{}");
    expect("");
    CU_ASSERT_EQUAL(t.server.requests, 1);
    t.stop_at_request = false;
    t.answer = NULL;
    call("{}"); /* stopped with the box */
    end();
}

TESTS(tools_http, {"http_tools_send_their_arguments_as_the_body", arguments_are_the_body},
      {"http_tools_send_their_arguments_as_the_query_of_a_get", arguments_are_the_query_of_a_get},
      {"http_tools_fail_by_status", other_statuses_are_failures},
      {"http_tools_fail_when_the_server_does", broken_answers_are_failures_that_may_be_retried},
      {"http_tools_take_a_mebibyte", floods_are_cut_off},
      {"http_tools_hide_what_the_environment_gave", headers_take_the_environment_and_hide_it},
      {"http_tools_stop_silently", stopped_calls_tell_nothing})
