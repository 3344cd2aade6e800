#include "kernel/drive/server.h"

#include "ci/testing/testing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

enum { FLOOD_PIECE = 64 << 10, FLOODS_MAX = 4096 };

/* The server under test and what it told. */
static struct {
    struct loop *loop;
    struct server *server;
    struct buf asked;   /* "METHOD URL [body]" of each request, a line each */
    struct buf refused; /* "STATUS URL" of each that the server did not take in */
    struct exchange *open;
    size_t gone;
    size_t full, drained;
    bool stopped;
    bool loop_ends_when_gone;
} t;

/* ---- what the server is asked for ---- */

static void say(struct exchange *x, const char *body, enum http_end end)
{
    const struct http_header type = {STR("Content-Type"), STR("text/plain")};
    exchange_head(x, 200, &type, 1);
    exchange_body(x, str_of(body));
    exchange_end(x, end);
}

/* When the client has the first one: else both would be one answer of known length. */
static void say_second_piece(void)
{
    exchange_body(t.open, STR("second"));
    exchange_end(t.open, HTTP_CLEAN);
    t.open = NULL;
}

static void on_request(void *ctx, struct exchange *x, const struct http_request *rq)
{
    (void)ctx;
    buf_fmt(&t.asked, "%.*s %.*s [%.*s]\n", STR_FMT(rq->method), STR_FMT(rq->url),
            STR_FMT(rq->body));
    if (str_is(rq->url, "/pieces")) {
        t.open = x;
        exchange_head(x, 200, NULL, 0);
        exchange_body(x, STR("first"));
    } else if (str_is(rq->url, "/reset")) {
        exchange_head(x, 200, NULL, 0);
        exchange_body(x, STR("half a "));
        t.open = x; /* ended when the client has it */
    } else if (str_is(rq->url, "/nothing")) {
        exchange_end(x, HTTP_RESET);
    } else if (str_is(rq->url, "/empty")) {
        exchange_end(x, HTTP_CLEAN);
    } else if (str_is(rq->url, "/never")) {
        t.open = x;
        loop_stop(t.loop);
    } else if (str_is(rq->url, "/flood")) {
        t.open = x;
        exchange_head(x, 200, NULL, 0);
        loop_stop(t.loop);
    } else {
        say(x, "hi", HTTP_CLEAN);
    }
}

static void on_gone(void *ctx, struct exchange *x)
{
    (void)ctx;
    CU_ASSERT_PTR_EQUAL(x, t.open);
    t.open = NULL;
    t.gone++;
    if (t.loop_ends_when_gone) {
        loop_stop(t.loop);
    }
}

static void on_refused(void *ctx, const struct http_request *rq, int status)
{
    (void)ctx;
    buf_fmt(&t.refused, "%d %.*s\n", status, STR_FMT(rq->url));
}

static void on_full(void *ctx, struct exchange *x, bool full)
{
    (void)ctx;
    (void)x;
    *(full ? &t.full : &t.drained) += 1;
    loop_stop(t.loop);
}

static void begin(struct server_limits limits)
{
    struct err e = {0};
    struct server_options o = {
        .address = "127.0.0.1",
        .limits = limits,
        .request = on_request,
        .gone = on_gone,
        .refused = on_refused,
        .full = on_full,
    };
    memset(&t, 0, sizeof t);
    t.loop = loop_new();
    o.loop = t.loop;
    int rc = server_new(&o, &t.server, &e);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
}

static void finish(void)
{
    server_free(t.server);
    loop_run(t.loop);
    loop_free(t.loop);
    buf_free(&t.asked);
    buf_free(&t.refused);
}

/* ---- a client that sends what it is told ---- */

struct peer {
    int fd;
    struct buf got; /* with a NUL behind, which is not counted */
    const char *until;
    struct loop_watch *watch;
    bool closed;
};

static void on_readable(void *arg)
{
    struct peer *p = arg;
    char bytes[4096];
    ssize_t n = recv(p->fd, bytes, sizeof bytes, 0);
    if (n > 0) {
        buf_add(&p->got, (struct str){bytes, (size_t)n});
        buf_char(&p->got, '\0');
        p->got.n--;
    }
    p->closed = n == 0 || (n < 0 && errno != EAGAIN);
    if (p->closed || (p->until != NULL && p->got.n > 0 && strstr(p->got.p, p->until) != NULL)) {
        loop_stop(t.loop);
    }
}

static void peer_open(struct peer *p)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(server_port(t.server))};
    *p = (struct peer){.fd = socket(AF_INET, SOCK_STREAM, 0)};
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    CU_ASSERT_EQUAL_FATAL(connect(p->fd, (struct sockaddr *)&to, sizeof to), 0);
}

static void peer_say(struct peer *p, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = send(p->fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        CU_ASSERT_FATAL(n > 0);
        bytes = str_slice(bytes, (size_t)n, bytes.n);
    }
}

/* Runs the loop until this text has come, NULL: until the server closes. */
static const char *peer_read(struct peer *p, const char *until)
{
    p->until = until;
    p->watch = loop_watch(t.loop, p->fd, on_readable, p);
    while (!p->closed && (until == NULL || p->got.n == 0 || strstr(p->got.p, until) == NULL)) {
        loop_run(t.loop);
    }
    loop_unwatch(p->watch);
    return p->got.n == 0 ? "" : p->got.p;
}

static void peer_close(struct peer *p)
{
    close(p->fd);
    buf_free(&p->got);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

/* ---- answers ---- */

static void whole(void)
{
    struct peer p;
    begin(SERVER_LIMITS_DEFAULT);
    peer_open(&p);
    peer_say(&p, STR("POST /a/../b?x=%2e&y HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nb\ndy"));
    const char *got = peer_read(&p, "hi");
    CU_ASSERT_PTR_NOT_NULL(strstr(got, "HTTP/1.1 200 OK\r\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(got, "Content-Length: 2\r\n"));
    CU_ASSERT_PTR_NULL(strstr(got, "chunked"));
    buf_clear(&p.got);
    peer_say(&p, STR(GET("/second")));
    peer_read(&p, "hi"); /* on the same connection */
    buf_char(&t.asked, '\0');
    CHECK_TEXT(t.asked.p, "POST /a/../b?x=%2e&y [b\ndy]\nGET /second []\n");
    peer_close(&p);
    finish();
}

static void pipelined(void)
{
    struct peer p;
    begin(SERVER_LIMITS_DEFAULT);
    peer_open(&p);
    peer_say(&p, STR(GET("/1") GET("/pieces") "GET /3 HTTP/1.1\r\nHost: h\r\n"
                                              "Connection: close\r\n\r\n"));
    peer_read(&p, "first");
    say_second_piece();
    const char *got = peer_read(&p, NULL);
    buf_char(&t.asked, '\0');
    CHECK_TEXT(t.asked.p, "GET /1 []\nGET /pieces []\nGET /3 []\n");
    const char *second = strstr(got, "first");
    CU_ASSERT_PTR_NOT_NULL_FATAL(second);
    CU_ASSERT(strstr(got, "hi") < second);
    CU_ASSERT_PTR_NOT_NULL(strstr(second, "hi"));
    peer_close(&p);
    finish();
}

static void pieces(void)
{
    struct peer p;
    begin(SERVER_LIMITS_DEFAULT);
    peer_open(&p);
    peer_say(&p, STR(GET("/pieces")));
    peer_read(&p, "first");
    say_second_piece();
    const char *got = peer_read(&p, "0\r\n\r\n");
    CU_ASSERT_PTR_NOT_NULL(strstr(got, "Transfer-Encoding: chunked"));
    CU_ASSERT_PTR_NOT_NULL(strstr(got, "5\r\nfirst\r\n6\r\nsecond\r\n0\r\n\r\n"));
    peer_close(&p);
    finish();
}

static void broken(void)
{
    struct peer p;
    begin(SERVER_LIMITS_DEFAULT);
    peer_open(&p);
    peer_say(&p, STR(GET("/reset")));
    peer_read(&p, "half a ");
    exchange_end(t.open, HTTP_RESET);
    t.open = NULL;
    const char *got = peer_read(&p, NULL);
    CU_ASSERT_PTR_NULL(strstr(got, "\r\n0\r\n"));
    peer_close(&p);
    peer_open(&p);
    peer_say(&p, STR(GET("/nothing")));
    CHECK_TEXT(peer_read(&p, NULL), "");
    peer_close(&p);
    peer_open(&p);
    peer_say(&p, STR(GET("/empty")));
    CU_ASSERT_PTR_NOT_NULL(strstr(peer_read(&p, "\r\n\r\n"), "HTTP/1.1 500 "));
    peer_close(&p);
    CU_ASSERT_EQUAL(t.gone, 0);
    finish();
}

static void client_gone(void)
{
    struct peer p;
    begin(SERVER_LIMITS_DEFAULT);
    t.loop_ends_when_gone = true;
    peer_open(&p);
    peer_say(&p, STR(GET("/never")));
    loop_run(t.loop);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t.open);
    peer_close(&p);
    loop_run(t.loop);
    CU_ASSERT_EQUAL(t.gone, 1);
    peer_open(&p); /* a server that goes on */
    peer_say(&p, STR(GET("/next")));
    peer_read(&p, "hi");
    peer_close(&p);
    finish();
}

/* ---- limits ---- */

static void too_large(void)
{
    struct server_limits limits = SERVER_LIMITS_DEFAULT;
    struct peer p;
    limits.body_bytes = 1000;
    begin(limits);
    peer_open(&p);
    peer_say(&p, STR("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(peer_read(&p, NULL), "HTTP/1.1 413 "));
    peer_close(&p);
    peer_open(&p); /* a chunk whose length does not end */
    struct buf endless = {0};
    buf_addz(&endless, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;");
    for (int i = 0; i < 100000; i++) {
        buf_char(&endless, 'x');
    }
    peer_say(&p, buf_str(&endless));
    shutdown(p.fd, SHUT_WR);
    peer_read(&p, NULL);
    peer_close(&p);
    buf_free(&endless);
    peer_open(&p); /* one that does not say how much comes */
    peer_say(&p, STR("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n258\r\n"));
    struct buf half = {0};
    for (int i = 0; i < 600; i++) {
        buf_char(&half, 'x');
    }
    peer_say(&p, buf_str(&half));
    peer_say(&p, STR("\r\n258\r\n"));
    peer_say(&p, buf_str(&half));
    peer_say(&p, STR("\r\n0\r\n\r\n"));
    peer_read(&p, NULL);
    CU_ASSERT_EQUAL(t.asked.n, 0);
    CU_ASSERT(str_is(buf_str(&t.refused), "413 /\n413 /\n")); /* the first and the last one */
    peer_close(&p);
    buf_free(&half);
    finish();
}

static void header_too_large(void)
{
    struct server_limits limits = SERVER_LIMITS_DEFAULT;
    struct peer p;
    struct buf large = {0};
    limits.header_bytes = 4096;
    begin(limits);
    buf_addz(&large, "GET / HTTP/1.1\r\nHost: h\r\nX-Large: ");
    for (int i = 0; i < 5000; i++) {
        buf_char(&large, 'x');
    }
    buf_addz(&large, "\r\n\r\n");
    peer_open(&p);
    peer_say(&p, buf_str(&large));
    CU_ASSERT_PTR_NOT_NULL(strstr(peer_read(&p, NULL), "HTTP/1.1 431 "));
    CU_ASSERT_EQUAL(t.asked.n, 0);
    peer_close(&p);
    buf_free(&large);
    finish();
}

/* A body that is shorter than was said, of a client that says no more but wants to hear. */
static void half_closed(void)
{
    static const char *const said[] = {
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n12345678",
        "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 9\r\n\r\n12345678",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", "GET ",
        "GET / HTTP/1.1\r\nHost: h\r\nX-Half: "};
    enum { N = sizeof said / sizeof said[0] };
    struct peer p[N];
    begin(SERVER_LIMITS_DEFAULT);
    for (size_t i = 0; i < N; i++) {
        peer_open(&p[i]);
        peer_say(&p[i], str_of(said[i]));
        shutdown(p[i].fd, SHUT_WR);
    }
    for (size_t i = 0; i < N; i++) {
        peer_read(&p[i], NULL);
        peer_close(&p[i]);
    }
    CU_ASSERT_EQUAL(t.asked.n, 0);
    finish();
}

/* A header that never ends, a body that never comes, and a client that says nothing at all. */
static void slow(void)
{
    static const char *const said[] = {"GET / HTTP/1.1\r\nHost: h\r\nX-Slow: ",
                                       "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx",
                                       ""};
    struct server_limits limits = SERVER_LIMITS_DEFAULT;
    struct peer p[3];
    limits.request_ms = 20;
    begin(limits);
    for (size_t i = 0; i < 3; i++) {
        peer_open(&p[i]);
        peer_say(&p[i], str_of(said[i]));
    }
    for (size_t i = 0; i < 3; i++) {
        peer_read(&p[i], NULL);
        CU_ASSERT(p[i].closed);
        peer_close(&p[i]);
    }
    CU_ASSERT_EQUAL(t.asked.n, 0);
    finish();
}

static void slow_reader(void)
{
    static char piece[FLOOD_PIECE];
    struct server_limits limits = SERVER_LIMITS_DEFAULT;
    struct peer p;
    memset(piece, 'x', sizeof piece);
    limits.unsent_bytes = 2 * FLOOD_PIECE;
    begin(limits);
    peer_open(&p);
    peer_say(&p, STR(GET("/flood")));
    loop_run(t.loop);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t.open);
    size_t sent = 0;
    while (t.full == 0 && sent < FLOODS_MAX) {
        exchange_body(t.open, (struct str){piece, sizeof piece});
        sent++;
    }
    CU_ASSERT_EQUAL(t.full, 1);
    CU_ASSERT_EQUAL(t.drained, 0);
    exchange_body(t.open, STR("\nlast\n"));
    peer_read(&p, "\nlast\n");
    CU_ASSERT_EQUAL(t.full, 1);
    CU_ASSERT_EQUAL(t.drained, 1);
    exchange_end(t.open, HTTP_CLEAN);
    t.open = NULL;
    peer_read(&p, "0\r\n\r\n");
    peer_close(&p);
    finish();
}

/* ---- what is no request ---- */

static void garbage(void)
{
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {
#define BYTES(text) {text, sizeof text - 1}
        BYTES("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
        BYTES("GET\r\n\r\n"),
        BYTES("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: many\r\n\r\n"),
        BYTES("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n"),
        BYTES("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n"),
        BYTES("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        BYTES("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
              "ffffffffffffffffff\r\n"),
#undef BYTES
    };
    struct peer p;
    begin(SERVER_LIMITS_DEFAULT);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        peer_open(&p);
        peer_say(&p, (struct str){cases[i].bytes, cases[i].n});
        shutdown(p.fd, SHUT_WR);
        const char *got = peer_read(&p, NULL);
        CU_ASSERT(got[0] == '\0' || strncmp(got, "HTTP/1.1 4", 10) == 0);
        peer_close(&p);
    }
    CU_ASSERT_EQUAL(t.asked.n, 0);
    peer_open(&p);
    peer_say(&p, STR(GET("/")));
    peer_read(&p, "hi");
    peer_close(&p);
    finish();
}

/* ---- the server's life ---- */

static void on_stopped(void *arg)
{
    (void)arg;
    t.stopped = true;
    loop_stop(t.loop);
}

static void stop(void)
{
    struct peer p;
    begin(SERVER_LIMITS_DEFAULT);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(server_port(t.server))};
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    peer_open(&p);
    peer_say(&p, STR(GET("/never")));
    loop_run(t.loop);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t.open);
    server_stop(t.server, on_stopped, NULL);
    CU_ASSERT_FALSE(t.stopped);
    int late = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_NOT_EQUAL(connect(late, (struct sockaddr *)&to, sizeof to), 0);
    close(late);
    say(t.open, "goodbye", HTTP_CLEAN);
    t.open = NULL;
    peer_read(&p, "goodbye");
    while (!t.stopped) {
        loop_run(t.loop);
    }
    peer_close(&p);
    finish();
    begin(SERVER_LIMITS_DEFAULT); /* with nothing under way it is at once */
    server_stop(t.server, on_stopped, NULL);
    CU_ASSERT(t.stopped);
    finish();
}

static void cut_off(void)
{
    struct peer p;
    begin(SERVER_LIMITS_DEFAULT);
    peer_open(&p);
    peer_say(&p, STR(GET("/never")));
    loop_run(t.loop);
    finish(); /* the exchange ends without a word */
    CU_ASSERT_EQUAL(t.gone, 0);
    char byte;
    CU_ASSERT(recv(p.fd, &byte, 1, 0) <= 0);
    peer_close(&p);
}

static void bad_address(void)
{
    struct err e = {0};
    struct server *other = NULL;
    struct loop *loop = loop_new();
    struct server_options o = {.loop = loop,
                               .address = "localhost",
                               .limits = SERVER_LIMITS_DEFAULT,
                               .request = on_request,
                               .gone = on_gone};
    int rc = server_new(&o, &other, &e);
    CU_ASSERT_EQUAL(rc, ERR_USAGE);
    begin(SERVER_LIMITS_DEFAULT);
    o.address = "127.0.0.1";
    o.port = server_port(t.server);
    rc = server_new(&o, &other, &e);
    CU_ASSERT_EQUAL(rc, ERR_NET);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "127.0.0.1"));
    finish();
    loop_free(loop);
}

TESTS(server, {"server_sends_a_whole_answer_with_its_length_and_keeps_the_connection", whole},
      {"server_answers_pipelined_requests_in_their_order", pipelined},
      {"server_sends_pieces_as_they_come", pieces},
      {"server_closes_in_the_middle_where_an_answer_breaks", broken},
      {"server_tells_once_that_a_client_is_gone", client_gone},
      {"server_refuses_a_body_beyond_its_limit", too_large},
      {"server_refuses_headers_beyond_their_limit", header_too_large},
      {"server_closes_on_who_keeps_a_request_back", slow},
      {"server_closes_on_who_says_less_than_a_request_and_no_more", half_closed},
      {"server_tells_when_a_client_reads_too_slowly", slow_reader},
      {"server_answers_or_closes_on_what_is_no_request", garbage},
      {"server_stops_when_the_answers_under_way_have_ended", stop},
      {"server_is_freed_with_answers_under_way", cut_off},
      {"server_says_why_it_cannot_listen", bad_address})
