/* The recording proxy between a client and an upstream that say every byte themselves. */
#include "fakellm/serve.h"

#include "ci/testing/testing.h"
#include "kernel/base/arena.h"
#include "kernel/drive/curl.h"
#include "kernel/drive/files.h"
#include "kernel/drive/tests/loopback.h"
#include "kernel/wire/wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes, NULs among them. */
#define BYTES(text)                                                                                \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }

static struct {
    struct loop *loop;
    struct arena *arena;
    struct loopback upstream;
    struct str answer;
    bool hangs;                 /* the upstream stays open behind its answer */
    struct loopback_peer *last; /* that asked it */
    struct buf notes;
    const char *path; /* of the cassette */
} t;

static void on_sent(uv_write_t *write, int status)
{
    struct loopback_peer *p = write->data;
    if (status == 0 && !t.hangs) {
        loopback_close(p);
    }
}

static void on_asked(struct loopback_peer *p)
{
    t.last = p;
    if (t.answer.n > 0) {
        loopback_send_bytes(p, t.answer.p, t.answer.n, on_sent);
    }
}

static void on_note(void *ctx, struct str line)
{
    (void)ctx;
    buf_add(&t.notes, line);
    buf_char(&t.notes, '\n');
}

static void begin(void)
{
    memset(&t, 0, sizeof t);
    t.loop = loop_new();
    t.arena = arena_new();
    t.upstream.on_request = on_asked;
    loopback_start(&t.upstream, loop_uv(t.loop));
    t.path = path_join(t.arena, testing_dir(), "c.yaml");
}

static void on_listener_closed(uv_handle_t *handle)
{
    (void)handle;
}

static void finish(void)
{
    uv_close((uv_handle_t *)&t.upstream.listener, on_listener_closed);
    loop_run(t.loop);
    loop_free(t.loop);
    arena_free(t.arena);
    buf_free(&t.notes);
    buf_free(&t.upstream.request);
}

static struct serve_options options(enum serve_source source)
{
    struct serve_options o = {
        .loop = t.loop,
        .address = "127.0.0.1",
        .source = source,
        .path = t.path,
        .mode = CASSETTE_ALL,
        .limits = SERVER_LIMITS_DEFAULT,
        .sessions_max = 1000,
        .note = on_note,
    };
    struct str url = arena_printf(t.arena, "http://127.0.0.1:%d/v1", t.upstream.port);
    for (enum wire_format f = WIRE_CHAT; f <= WIRE_MESSAGES; f++) {
        o.upstream[f] = url;
    }
    return o;
}

static struct serve *serve_with(const struct serve_options *o)
{
    struct serve *v = NULL;
    struct err e = {0};
    int rc = serve_new(o, &v, &e);
    if (rc != 0) {
        printf("\n%s\n", e.message);
    }
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    return v;
}

static struct serve *serve_from(enum serve_source source)
{
    struct serve_options o = options(source);
    return serve_with(&o);
}

static void serve_end(struct serve *v)
{
    struct err e = {0};
    int rc = serve_free(v, &e);
    if (rc != 0) {
        printf("\n%s\n", e.message);
    }
    CU_ASSERT_EQUAL(rc, 0);
}

static struct str recorded(void)
{
    struct str text = {0};
    struct err e = {0};
    int rc = file_read(t.arena, t.path, 8 << 20, &text, &e);
    CU_ASSERT_EQUAL(rc, 0);
    return text;
}

#define CHECK_HAS(text, part, has) check_has(__LINE__, (text), (part), (has))
static void check_has(int line, struct str text, const char *part, bool has)
{
    bool found = str_find(text, str_of(part)) != SIZE_MAX;
    if (found != has) {
        printf("\n%s:%d: %s \"%s\" in\n%.*s\n", __FILE__, line, has ? "no" : "there is", part,
               STR_FMT(text));
    }
    CU_ASSERT_EQUAL(found, has);
}

/* ---- a client that sends what it is told ---- */

struct peer {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    uv_buf_t out;
    struct buf got;
    bool closed;
    char input[16 << 10];
};

static void on_peer_closed(uv_handle_t *handle)
{
    struct peer *p = handle->data;
    p->closed = true;
    loop_stop(t.loop);
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *out)
{
    struct peer *p = handle->data;
    (void)size;
    *out = uv_buf_init(p->input, sizeof p->input);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *in)
{
    struct peer *p = stream->data;
    if (n < 0) {
        uv_close((uv_handle_t *)&p->tcp, on_peer_closed);
        return;
    }
    buf_add(&p->got, (struct str){in->base, (size_t)n});
    loop_stop(t.loop);
}

static void on_written(uv_write_t *write, int status)
{
    (void)write;
    CU_ASSERT_EQUAL(status, 0);
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct peer *p = connect->data;
    CU_ASSERT_EQUAL_FATAL(status, 0);
    uv_write(&p->write, (uv_stream_t *)&p->tcp, &p->out, 1, on_written);
    uv_read_start((uv_stream_t *)&p->tcp, on_room, on_read);
}

/* Connects and sends; p must live until it has closed. */
static void peer_start(struct peer *p, const struct serve *v, struct str request)
{
    struct sockaddr_in to;
    memset(p, 0, sizeof *p);
    int port = (int)strtol(serve_url(v).p + strlen("http://127.0.0.1:"), NULL, 10);
    uv_tcp_init(loop_uv(t.loop), &p->tcp);
    p->tcp.data = p;
    p->connect.data = p;
    p->out = uv_buf_init(arena_cstr(t.arena, request), (unsigned)request.n);
    CU_ASSERT_EQUAL_FATAL(uv_ip4_addr("127.0.0.1", port, &to), 0);
    uv_tcp_connect(&p->connect, &p->tcp, (const struct sockaddr *)&to, on_connected);
}

static void peer_wait(struct peer *p)
{
    while (!p->closed) {
        loop_run(t.loop);
    }
}

/* What came until the connection was closed. */
static struct str talk(const struct serve *v, struct str request)
{
    struct peer p;
    peer_start(&p, v, request);
    peer_wait(&p);
    struct str got = arena_str(t.arena, buf_str(&p.got));
    buf_free(&p.got);
    return got;
}

static struct str body_of(struct str answer)
{
    size_t head = str_find(answer, STR("\r\n\r\n"));
    CU_ASSERT_NOT_EQUAL(head, SIZE_MAX);
    return str_slice(answer, head + 4, answer.n);
}

/* ---- what passes ---- */

struct passing {
    struct str request, answer;
    const char *asked[3];   /* of what the upstream reads */
    const char *unasked[4]; /* nothing of this reaches it */
    const char *got[4];     /* of what the client reads, in the recording too */
    const char *ungot[3];
    struct str body; /* of what it reads */
};

#define END "Host: h\r\nConnection: close\r\n"
#define OK  "HTTP/1.1 200 OK\r\n"

static const struct passing passings[] = {
    {BYTES("GET /v1/files?limit=2&after=a%2Fb HTTP/1.1\r\n" END "\r\n"),
     BYTES(OK "Content-Length: 2\r\n\r\n{}"),
     {"GET /v1/files?limit=2&after=a%2Fb HTTP/1.1\r\n"},
     {"Content-Type", "Content-Length"},
     {"HTTP/1.1 200", "Content-Length: 2\r\n"},
     {NULL},
     BYTES("{}")},
    {BYTES("GET /v1/files/a/../b/./c HTTP/1.1\r\n" END "\r\n"),
     BYTES(OK "Content-Length: 0\r\n\r\n"),
     {"GET /v1/files/a/../b/./c HTTP/1.1\r\n"},
     {NULL},
     {"HTTP/1.1 200", "Content-Length: 0\r\n"},
     {NULL},
     BYTES("")},
    {BYTES("POST /v1/embeddings HTTP/1.1\r\nHost: h\r\nConnection: close, X-Hop\r\nX-Hop: a\r\n"
           "TE: trailers\r\nKeep-Alive: 5\r\nX-Mine: b\r\nX-Empty:\r\nx-assay-session: main\r\n"
           "Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"input\":\"a\"}"),
     BYTES(OK "Connection: X-Up\r\nX-Up: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: close\r\n"
              "Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"data\":[]}"),
     {"X-Mine: b\r\n", "X-Empty:", "\r\n\r\n{\"input\":\"a\"}"},
     {"X-Hop", "TE:", "Keep-Alive", "x-assay"},
     {"HTTP/1.1 200", "Content-Type: application/json\r\n", "Content-Length: 11\r\n"},
     {"X-Up", "timeout=5", "Proxy-Connection"},
     BYTES("{\"data\":[]}")},
    {BYTES("HEAD /v1/models/m HTTP/1.1\r\n" END "\r\n"),
     BYTES(OK "Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n"),
     {"HEAD /v1/models/m HTTP/1.1\r\n"},
     {NULL},
     {"HTTP/1.1 200", "Content-Type: application/json\r\n"},
     {NULL},
     BYTES("")},
    {BYTES("DELETE /v1/files/f-1 HTTP/1.1\r\n" END "\r\n"),
     BYTES(OK "Content-Length: 16\r\n\r\n{\"deleted\":true}"),
     {"DELETE /v1/files/f-1 HTTP/1.1\r\n"},
     {"Content-Type"},
     {"HTTP/1.1 200"},
     {NULL},
     BYTES("{\"deleted\":true}")},
    {BYTES("PUT /v1/x HTTP/1.1\r\n" END "Content-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc"),
     BYTES("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"),
     {"PUT /v1/x HTTP/1.1\r\n", "Content-Type: text/plain\r\n", "\r\n\r\nabc"},
     {NULL},
     {"HTTP/1.1 201"},
     {NULL},
     BYTES("")},
    {BYTES("POST /v1/batches/b/cancel HTTP/1.1\r\n" END "Content-Length: 0\r\n\r\n"),
     BYTES("HTTP/1.1 204 No Content\r\n\r\n"),
     {"POST /v1/batches/b/cancel HTTP/1.1\r\n", "Content-Length: 0\r\n"},
     {"Content-Type"},
     {"HTTP/1.1 204"},
     {"Transfer-Encoding", "chunked"},
     BYTES("")},
    {BYTES("GET /v1/models HTTP/1.1\r\n" END "If-None-Match: \"a\"\r\n\r\n"),
     BYTES("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n"),
     {"If-None-Match: \"a\"\r\n"},
     {NULL},
     {"HTTP/1.1 304"},
     {"chunked"},
     BYTES("")},
    {BYTES("POST /v1/files HTTP/1.1\r\n" END
           "Content-Type: multipart/form-data; boundary=b0\r\nContent-Length: 71\r\n\r\n"
           "--b0\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\na\0b\xff\r\n\r\n\r\n"
           "--b0--\r\n"),
     BYTES(OK "Content-Length: 10\r\n\r\n{\"id\":\"f\"}"),
     {"Content-Type: multipart/form-data; boundary=b0\r\n", "Content-Length: 71\r\n"},
     {"Expect"},
     {"HTTP/1.1 200"},
     {NULL},
     BYTES("{\"id\":\"f\"}")},
    {BYTES("GET /v1/files/f/content HTTP/1.1\r\n" END "\r\n"),
     BYTES(OK "Content-Type: application/octet-stream\r\nContent-Length: 5\r\n\r\n\0\x01\xff\r\n"),
     {NULL},
     {NULL},
     {"Content-Type: application/octet-stream\r\n", "Content-Length: 5\r\n"},
     {NULL},
     BYTES("\0\x01\xff\r\n")},
    {BYTES("GET /v1/models HTTP/1.1\r\n" END "Accept-Encoding: gzip, br\r\n\r\n"),
     BYTES(
         OK
         "Content-Encoding: gzip\r\nContent-Length: 34\r\n\r\n"
         "\037\213\010\000\000\000\000\000\002\377\253\126\112\316\117\111\115\121\262\052\051\052"
         "\115\255\005\000\311\007\324\365\016\000\000\000"),
     {"Accept-Encoding: identity\r\n"},
     {"gzip"},
     {"HTTP/1.1 200"},
     {"Content-Encoding", "Content-Length: 34"},
     BYTES("{\"coded\":true}")},
    {BYTES("GET /v1/models HTTP/1.1\r\n" END "\r\n"),
     BYTES("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" OK "Transfer-Encoding: chunked\r\n"
           "Trailer: X-T\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n"),
     {NULL},
     {NULL},
     {"HTTP/1.1 200"},
     {"X-T", "Link", "103"},
     {NULL, 0}},
    {BYTES("POST /v1/chat/completions HTTP/1.1\r\n" END "Content-Length: 2\r\n\r\n{}"),
     BYTES("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 12\r\n\r\n"
           "{\"error\":{}}"),
     {NULL},
     {NULL},
     {"HTTP/1.1 429", "Retry-After: 7\r\n"},
     {NULL},
     BYTES("{\"error\":{}}")},
    {BYTES("GET /v1/old HTTP/1.1\r\n" END "\r\n"),
     BYTES("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/v1/new?a=b\r\n"
           "Content-Length: 4\r\n\r\nmove"),
     {NULL},
     {NULL},
     {"HTTP/1.1 307", "Location: http://127.0.0.1:1/v1/new?a=b\r\n"},
     {NULL},
     BYTES("move")},
    {BYTES("GET /v1/x HTTP/1.1\r\n" END "\r\n"),
     BYTES("HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\n<p>"),
     {NULL},
     {NULL},
     {"HTTP/1.1 502", "Content-Type: text/html\r\n"},
     {NULL},
     BYTES("<p>")},
};

static void check_answer(const struct passing *p, struct str got)
{
    for (size_t i = 0; i < 4 && p->got[i] != NULL; i++) {
        CHECK_HAS(got, p->got[i], true);
    }
    for (size_t i = 0; i < 3 && p->ungot[i] != NULL; i++) {
        CHECK_HAS(got, p->ungot[i], false);
    }
    if (p->body.p != NULL) {
        struct str body = body_of(got);
        CU_ASSERT_TRUE(str_eq(body, p->body));
    }
}

static void passes(void)
{
    begin();
    for (size_t i = 0; i < sizeof passings / sizeof passings[0]; i++) {
        const struct passing *p = &passings[i];
        t.answer = p->answer;
        struct serve *v = serve_from(SERVE_RECORD);
        check_answer(p, talk(v, p->request));
        struct str asked = buf_str(&t.upstream.request);
        for (size_t k = 0; k < 3 && p->asked[k] != NULL; k++) {
            CHECK_HAS(asked, p->asked[k], true);
        }
        for (size_t k = 0; k < 4 && p->unasked[k] != NULL; k++) {
            CHECK_HAS(asked, p->unasked[k], false);
        }
        serve_end(v);
        size_t before = t.upstream.requests;
        v = serve_from(SERVE_REPLAY);
        check_answer(p, talk(v, p->request));
        CU_ASSERT_EQUAL(t.upstream.requests, before);
        CU_ASSERT_EQUAL(serve_report(v).refused, 0);
        serve_end(v);
    }
    finish();
}

/* The client's word comes first: 100 Continue is ours to say, at once. */
static void expects_continue(void)
{
    begin();
    t.answer = (struct str)BYTES(OK "Content-Length: 2\r\n\r\nok");
    struct serve *v = serve_from(SERVE_RECORD);
    struct str got = talk(v, (struct str)BYTES("POST /v1/files HTTP/1.1\r\n" END
                                               "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"
                                               "abc"));
    CHECK_HAS(got, "HTTP/1.1 200", true);
    CHECK_HAS(got, "\r\n\r\nok", true);
    CHECK_HAS(buf_str(&t.upstream.request), "Expect", false);
    CHECK_HAS(buf_str(&t.upstream.request), "\r\n\r\nabc", true);
    serve_end(v);
    finish();
}

/* A question as it is recorded, and as a later run asks it. */
static const struct {
    struct str recorded, asked;
    const char *answer;
} again[] = {
    {BYTES("GET /v1/files?after=a HTTP/1.1\r\n" END "\r\n"),
     BYTES("GET /v1/files?after=a HTTP/1.1\r\n" END "\r\n"), OK "Content-Length: 1\r\n\r\na"},
    {BYTES("GET /v1/files?after=b&key=sk-1 HTTP/1.1\r\n" END "\r\n"),
     BYTES("GET /v1/files?after=b&key=sk-2 HTTP/1.1\r\n" END "\r\n"),
     OK "Content-Length: 1\r\n\r\nb"},
    {BYTES("POST /v1/files HTTP/1.1\r\n" END
           "Content-Type: multipart/form-data; boundary=x7\r\nContent-Length: "
           "63\r\n\r\n--x7\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\none\r\n--x7--\r\n"),
     BYTES("POST /v1/files HTTP/1.1\r\n" END
           "Content-Type: multipart/form-data; boundary=yyy8\r\nContent-Length: "
           "67\r\n\r\n--yyy8\r\nContent-Disposition: form-data; "
           "name=\"f\"\r\n\r\none\r\n--yyy8--\r\n"),
     OK "Content-Length: 1\r\n\r\nc"},
    {BYTES("POST /v1/files HTTP/1.1\r\n" END
           "Content-Type: multipart/form-data; boundary=x7\r\nContent-Length: "
           "63\r\n\r\n--x7\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\ntwo\r\n--x7--\r\n"),
     BYTES("POST /v1/files HTTP/1.1\r\n" END
           "Content-Type: multipart/form-data; boundary=zz\r\nContent-Length: "
           "63\r\n\r\n--zz\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\ntwo\r\n--zz--\r\n"),
     OK "Content-Length: 1\r\n\r\nd"},
};

/* What names a request beside a body of JSON: its query, but no key in it; its form, but not what
 * divides the parts. They are asked for in another order than recorded. */
static void finds_by_query_and_form(void)
{
    enum { N = sizeof again / sizeof again[0] };
    begin();
    struct serve *v = serve_from(SERVE_RECORD);
    for (size_t i = 0; i < N; i++) {
        t.answer = str_of(again[i].answer);
        (void)talk(v, again[i].recorded);
    }
    serve_end(v);
    v = serve_from(SERVE_REPLAY);
    for (size_t i = N; i-- > 0;) {
        struct str want = body_of(str_of(again[i].answer));
        struct str body = body_of(talk(v, again[i].asked));
        CU_ASSERT_TRUE(str_eq(body, want));
    }
    struct str miss = talk(v, (struct str)BYTES("GET /v1/files?after=c HTTP/1.1\r\n" END "\r\n"));
    CHECK_HAS(miss, "HTTP/1.1 400", true);
    serve_end(v);
    finish();
}

/* ---- clients that go, upstreams that break ---- */

static void on_left(struct loopback_peer *p)
{
    CU_ASSERT_PTR_EQUAL(p, t.last);
    t.last = NULL;
    loop_stop(t.loop);
}

static void client_leaves(void)
{
    struct peer p;
    begin();
    t.hangs = true;
    t.answer = (struct str)BYTES(OK "Content-Type: text/event-stream\r\n\r\ndata: {\"n\":1}\n\n");
    struct serve *v = serve_from(SERVE_RECORD);
    peer_start(&p, v,
               (struct str)BYTES("POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\n"
                                 "Content-Length: 2\r\n\r\n{}"));
    while (str_find(buf_str(&p.got), STR("data: ")) == SIZE_MAX) {
        loop_run(t.loop);
    }
    t.upstream.on_left = on_left;
    uv_close((uv_handle_t *)&p.tcp, on_peer_closed);
    while (!p.closed || t.last != NULL) { /* until the upstream is let go too */
        loop_run(t.loop);
    }
    serve_end(v);
    CHECK_HAS(recorded(), "ended: stopped", true);
    CHECK_HAS(recorded(), "data: {\"n\":1}", true);
    buf_free(&p.got);
    finish();
}

static void upstream_breaks(void)
{
    static const struct str request =
        BYTES("POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}");
    begin();
    t.answer = (struct str)BYTES(OK "Content-Length: 100\r\n\r\nhalf");
    struct serve *v = serve_from(SERVE_RECORD);
    struct str got = talk(v, request);
    CHECK_HAS(got, "Content-Length: 100\r\n", true);
    CHECK_HAS(got, "\r\n\r\nhalf", true);
    serve_end(v);
    CHECK_HAS(recorded(), "ended: reset", true);
    v = serve_from(SERVE_REPLAY);
    CHECK_HAS(talk(v, request), "\r\n4\r\nhalf\r\n",
              true); /* its length is no part of a recording */
    serve_end(v);
    finish();
}

/* A port that nobody listens at just now. */
static uint16_t free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&a, size), 0);
    CU_ASSERT_EQUAL(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    close(fd);
    return ntohs(a.sin_port);
}

/* The server has the port that the upstream names; where somebody else has taken it meanwhile,
 * another one is named. */
static void own_address(void)
{
    enum { PORTS_MAX = 100 };
    static const char *const hosts[] = {"127.0.0.1", "LOCALHOST", "[::1]", "127.1.2.3"};
    begin();
    struct serve_options o = options(SERVE_RECORD);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        struct serve *v = NULL;
        struct err e = {0};
        int rc = ERR_NET;
        for (int n = 0; rc == ERR_NET && n < PORTS_MAX; n++) {
            o.port = free_port();
            o.upstream[WIRE_MESSAGES] =
                arena_printf(t.arena, "http://%s:%u/v1", hosts[i], (unsigned)o.port);
            rc = serve_new(&o, &v, &e);
        }
        CU_ASSERT_EQUAL(rc, ERR_USAGE);
        CHECK_HAS(str_of(e.message), "is this server itself", true);
    }
    finish();
}

/* ---- several at once ---- */

static struct loopback_peer *first_asked;

static void on_asked_twice(struct loopback_peer *p)
{
    if (first_asked == NULL) {
        first_asked = p;
        loop_stop(t.loop);
        return;
    }
    loopback_send(p, OK "Content-Length: 6\r\n\r\nsecond", on_sent);
    loopback_send(first_asked, OK "Content-Length: 5\r\n\r\nfirst", on_sent);
}

static const struct str two_requests[] = {
    BYTES("POST /v1/responses HTTP/1.1\r\n" END "Content-Length: 13\r\n\r\n{\"input\":\"a\"}"),
    BYTES("POST /v1/responses HTTP/1.1\r\n" END "Content-Length: 13\r\n\r\n{\"input\":\"b\"}"),
};

static void parallel(void)
{
    struct peer p[2];
    begin();
    first_asked = NULL;
    t.upstream.on_request = on_asked_twice;
    struct serve *v = serve_from(SERVE_RECORD);
    peer_start(&p[0], v, two_requests[0]);
    while (first_asked == NULL) {
        loop_run(t.loop);
    }
    peer_start(&p[1], v, two_requests[1]);
    peer_wait(&p[0]);
    peer_wait(&p[1]);
    CHECK_HAS(buf_str(&p[0].got), "\r\n\r\nfirst", true);
    CHECK_HAS(buf_str(&p[1].got), "\r\n\r\nsecond", true);
    serve_end(v);
    v = serve_from(SERVE_REPLAY);
    CHECK_HAS(talk(v, two_requests[1]), "\r\n\r\nsecond", true);
    CHECK_HAS(talk(v, two_requests[0]), "\r\n\r\nfirst", true);
    serve_end(v);
    buf_free(&p[0].got);
    buf_free(&p[1].got);
    finish();
}

/* ---- streams without end ---- */

enum {
    PIECE = 256 << 10,
    STREAM = 200 << 20,
    HOPS = 2,
    HELD_MAX = 28 << 20, /* in curl, in ours */
    QUIET_TURNS = 50
};

/* What left the upstream, and what the client has read. */
static struct {
    char *piece;
    size_t sent, read, most, most_max;
    size_t stops;
    uv_timer_t tick;
    size_t seen; /* sent, at the tick before */
    int quiet;
    bool paused;
    struct transport *client;
    struct http_call *call;
    enum http_end ended;
    bool over;
} flood;

static void send_more(uv_write_t *write, int status)
{
    struct loopback_peer *p = write->data;
    if (status != 0 || flood.sent >= STREAM) {
        loopback_close(p);
        return;
    }
    flood.sent += PIECE;
    loopback_send_bytes(p, flood.piece, PIECE, send_more);
}

static void on_flood_asked(struct loopback_peer *p)
{
    loopback_send(p, OK "Content-Type: text/event-stream\r\n\r\n", send_more);
}

static void on_flood_head(void *ctx, int status, struct str reason,
                          const struct http_header *headers, size_t n)
{
    (void)ctx;
    (void)reason;
    (void)headers;
    (void)n;
    CU_ASSERT_EQUAL(status, 200);
}

/* The client stops at every 40 MiB, until nothing moves any more. */
static void on_flood_body(void *ctx, struct str piece)
{
    (void)ctx;
    flood.read += piece.n;
    flood.most = flood.sent - flood.read > flood.most ? flood.sent - flood.read : flood.most;
    if (flood.read / (40 << 20) > flood.stops) {
        flood.stops++;
        flood.quiet = 0;
        flood.paused = true;
        http_pause(flood.client, flood.call, true);
    }
}

static void on_flood_end(void *ctx, enum http_end end, struct str detail)
{
    (void)ctx;
    (void)detail;
    flood.ended = end;
    flood.over = true;
    loop_stop(t.loop);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    flood.quiet = flood.sent == flood.seen ? flood.quiet + 1 : 0;
    flood.seen = flood.sent;
    if (flood.paused && flood.quiet > QUIET_TURNS) {
        flood.most = flood.sent - flood.read > flood.most ? flood.sent - flood.read : flood.most;
        flood.paused = false;
        http_pause(flood.client, flood.call, false);
    }
}

static void flood_through(const struct serve_options *o, const char *path, const char *cut)
{
    struct err e = {0};
    struct serve *v = serve_with(o);
    struct sched *sched = sched_real(t.loop);
    flood.client = transport_curl(t.loop, sched, (struct transport_limits){.endless = true});
    struct http_request rq = {.method = STR("GET"),
                              .url = arena_printf(t.arena, "%.*s%s", STR_FMT(serve_url(v)), path)};
    flood.call = flood.client->ops->start(
        flood.client, &rq, (struct http_sink){NULL, on_flood_head, on_flood_body, on_flood_end});
    while (!flood.over) {
        loop_run(t.loop);
    }
    flood.client->ops->free(flood.client);
    sched_free(sched);
    CU_ASSERT_EQUAL(flood.ended, HTTP_CLEAN);
    CU_ASSERT_EQUAL(flood.read, STREAM);
    CU_ASSERT_EQUAL(flood.stops, 5);
    CU_ASSERT(flood.most < flood.most_max);
    if (flood.most >= flood.most_max) {
        printf("\n%zu bytes on their way, expected fewer than %zu\n", flood.most, flood.most_max);
    }
    int rc = serve_free(v, &e);
    CU_ASSERT_EQUAL(rc, ERR_NET);
    CHECK_HAS(str_of(e.message), cut, true);
}

/* The most that this system lets a socket hold on one side (tcp(7)): the last of three numbers. */
static size_t socket_bytes(const char *name)
{
    size_t bytes = 0;
    FILE *f = fopen(path_join(t.arena, "/proc/sys/net/ipv4", name), "r");
    CU_ASSERT_FATAL(f != NULL && fscanf(f, "%*s %*s %zu", &bytes) == 1);
    fclose(f);
    return bytes;
}

static void flood_begin(void)
{
    begin();
    memset(&flood, 0, sizeof flood);
    flood.most_max = HELD_MAX + HOPS * (socket_bytes("tcp_rmem") + socket_bytes("tcp_wmem"));
    flood.piece = mem_alloc(PIECE);
    memset(flood.piece, 'x', PIECE);
    uv_timer_init(loop_uv(t.loop), &flood.tick);
    uv_timer_start(&flood.tick, on_tick, 1, 1);
    t.upstream.on_request = on_flood_asked;
}

static void flood_finish(void)
{
    uv_close((uv_handle_t *)&flood.tick, on_listener_closed);
    free(flood.piece);
    finish();
}

static void slow_reader(void)
{
    flood_begin();
    struct serve_options o = options(SERVE_RECORD);
    flood_through(&o, "/v1/x", "interaction 1 is cut in the recording");
    struct str text = recorded();
    CU_ASSERT(text.n > 900000 && text.n < 1100000);
    CHECK_HAS(text, "the recording ends here: ", true);
    struct serve *v = serve_from(SERVE_REPLAY);
    t.upstream.on_request = on_asked;
    CU_ASSERT(talk(v, (struct str)BYTES("GET /v1/x HTTP/1.1\r\n" END "\r\n")).n > 900000);
    CHECK_HAS(buf_str(&t.notes), "the recording ends here: ", true);
    serve_end(v);
    flood_finish();
}

/* Through everything that may stand between the client and its upstream. */
static void slow_reader_of_new_episodes(void)
{
    flood_begin();
    struct serve_options o = options(SERVE_RECORD);
    t.upstream.on_request = on_asked;
    t.answer = (struct str)BYTES(OK "Content-Length: 2\r\n\r\n{}");
    struct serve *v = serve_with(&o);
    (void)talk(v, (struct str)BYTES("GET /v1/y HTTP/1.1\r\n" END "\r\n"));
    serve_end(v);
    t.upstream.on_request = on_flood_asked;
    o.mode = CASSETTE_NEW_EPISODES;
    o.limited = true;
    flood_through(&o, "/v1/x", "interaction 2 is cut in the recording");
    CHECK_HAS(recorded(), "/v1/y", true);
    CHECK_HAS(recorded(), "the recording ends here: ", true);
    flood_finish();
}

TESTS(proxy, {"proxy_passes_all_of_http_on_and_replays_it", passes},
      {"proxy_answers_expect_itself", expects_continue},
      {"proxy_finds_recordings_by_query_and_form", finds_by_query_and_form},
      {"proxy_lets_the_upstream_go_with_its_client", client_leaves},
      {"proxy_breaks_where_its_upstream_does", upstream_breaks},
      {"proxy_never_asks_itself", own_address},
      {"proxy_replays_parallel_requests_by_what_they_ask", parallel},
      {"proxy_makes_a_fast_upstream_wait_for_a_slow_client", slow_reader},
      {"proxy_makes_it_wait_behind_limiter_and_recordings_too", slow_reader_of_new_episodes})
