/* HTTP by libcurl's multi interface on libuv. A hub holds a multi handle and its
 * connections; a loop has several where many calls are open at once. curl's callbacks only collect
 * what came; sinks are called after curl has returned, so that whatever they do (stop this call or
 * others, start new ones, free all) is allowed.
 *
 * Headers are never logged: they may hold keys. */
#include "kernel/drive/curl.h"

#include "kernel/base/arena.h"
#include "kernel/base/ascii.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/loop_int.h"
#include "kernel/drive/machine.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum {
    BODY_BYTES_MAX = 65 << 20, /* of one answer, decoded: a little more than a decoder takes, which
                                  says so better than we can */
    HEAD_BYTES_MAX = 1 << 20,
    CONNECTIONS_MAX = 16384, /* of a loop; curl lets more requests wait */
    HUB_CALLS_MAX = 256,     /* of a hub: at each call's start and end curl looks at all its
                                connections */
    FILES_SPARE = 64         /* open files that are none of ours */
};
/* In place of no limit, where curl has a shorter one of its own. */
#define CONNECT_MS_MAX (24L * 3600 * 1000)

/* What all calls of a loop share before there is a hub. */
struct net {
    struct arena *arena;
    struct transport_net options; /* its texts in arena */
};

struct hub {
    struct hub *next;
    struct loop *loop;
    CURLM *multi;
    uv_timer_t *timer; /* curl's own */
    size_t n_calls;
    struct http_call *ready; /* a queue of calls with something to hand on */
    struct http_call **ready_end;
};

enum call_state {
    CALL_OPEN,
    CALL_IN_SINK,
    CALL_STOPPED /* inside a sink: freed when that returns */
};

enum head_state { HEAD_AWAITED, HEAD_COMING, HEAD_COMPLETE, HEAD_GIVEN };

enum outcome {
    OUTCOME_OPEN,
    OUTCOME_CURL, /* curl is done, with `code` */
    OUTCOME_LATE, /* a deadline has passed: `late` */
    OUTCOME_BIG   /* more than we take */
};

enum deadline { DEADLINE_CONNECT, DEADLINE_FIRST_BYTE, DEADLINE_IDLE, DEADLINE_TOTAL };

/* What is waited for, and so which deadline counts beside the total. */
enum phase { PHASE_CONNECT, PHASE_FIRST_BYTE, PHASE_BODY };

struct http_call {
    struct hub *hub;
    struct sched *sched;
    struct transport_limits limits;
    struct http_sink sink;
    enum call_state state;
    enum outcome outcome;
    CURLcode code;
    CURL *easy;
    struct curl_slist *request_headers;
    char error[CURL_ERROR_SIZE];
    bool queued;
    struct http_call *next_ready;
    enum phase phase;
    bool paused;
    enum deadline late; /* OUTCOME_LATE: which has passed */
    uv_timer_t *watch;  /* for the first byte and for silence */
    uint64_t started_ms;
    uint64_t heard_ms;   /* when the phase began or the newest byte came */
    struct arena *arena; /* of the head */
    enum head_state head;
    size_t head_bytes;
    int status;
    struct str reason;
    struct http_header *headers;
    size_t n_headers;
    size_t cap_headers;
    size_t total; /* bytes of body so far */
    struct buf body;
};

struct curl_transport {
    struct transport transport;
    struct loop *loop;
    struct sched *sched;
    struct transport_limits limits;
};

/* curl's set-up functions fail only on wrong options and when memory is out. */
static void must(int code)
{
    assert(code == 0);
    (void)code;
}

/* ---- the queue of calls with something to hand on ---- */

static void queue(struct http_call *c)
{
    if (!c->queued) {
        c->queued = true;
        c->next_ready = NULL;
        *c->hub->ready_end = c;
        c->hub->ready_end = &c->next_ready;
    }
}

static void unqueue(struct http_call *c)
{
    struct hub *hub = c->hub;
    if (!c->queued) {
        return;
    }
    struct http_call **at = &hub->ready;
    while (*at != c) {
        at = &(*at)->next_ready;
    }
    *at = c->next_ready;
    if (hub->ready_end == &c->next_ready) {
        hub->ready_end = at;
    }
    c->queued = false;
}

/* ---- what curl's callbacks collect ---- */

static uint64_t loop_now(const struct http_call *c)
{
    return uv_now(loop_uv(c->hub->loop));
}

static void on_watch(uv_timer_t *timer);

/* The limit of silence in this phase; 0 = none, or curl's to watch. */
static int64_t silence_ms(const struct http_call *c)
{
    if (c->paused) { /* it is us who do not listen */
        return 0;
    }
    switch (c->phase) {
    case PHASE_CONNECT: return 0;
    case PHASE_FIRST_BYTE: return c->limits.first_byte_ms;
    case PHASE_BODY: return c->limits.idle_ms;
    }
    return 0;
}

static void enter(struct http_call *c, enum phase phase)
{
    c->phase = phase;
    c->heard_ms = loop_now(c);
    uv_timer_stop(c->watch);
    if (silence_ms(c) > 0) {
        must(uv_timer_start(c->watch, on_watch, (uint64_t)silence_ms(c), 0));
    }
}

static void heard(struct http_call *c)
{
    c->heard_ms = loop_now(c);
    if (c->phase != PHASE_BODY) {
        enter(c, PHASE_BODY);
    }
}

/* curl has a connection and is about to send the request. */
static int on_connected(void *arg, char *ip, char *local_ip, int port, int local_port)
{
    struct http_call *c = arg;
    (void)ip;
    (void)local_ip;
    (void)port;
    (void)local_port;
    enter(c, PHASE_FIRST_BYTE);
    return CURL_PREREQFUNC_OK;
}

/* "HTTP/1.1 200 OK": curl has checked its form. */
static void take_status(struct http_call *c, struct str line)
{
    struct str rest = str_slice(line, str_find(line, STR(" ")), line.n);
    rest = str_trim(rest);
    c->status = 0;
    for (size_t i = 0; i < 3 && i < rest.n && ascii_digit(rest.p[i]); i++) {
        c->status = c->status * 10 + (rest.p[i] - '0');
    }
    c->reason = arena_str(c->arena, str_trim(str_slice(rest, 3, rest.n)));
    c->n_headers = 0;
    c->head = HEAD_COMING;
}

static void take_header(struct http_call *c, struct str line)
{
    size_t colon = str_find(line, STR(":"));
    if (colon == SIZE_MAX) {
        return;
    }
    if (c->n_headers == c->cap_headers) {
        c->cap_headers = c->cap_headers == 0 ? 16 : c->cap_headers * 2;
        struct http_header *bigger = arena_array(c->arena, c->cap_headers, sizeof *bigger);
        if (c->n_headers > 0) {
            memcpy(bigger, c->headers, c->n_headers * sizeof *bigger);
        }
        c->headers = bigger;
    }
    c->headers[c->n_headers++] = (struct http_header){
        .name = arena_str(c->arena, str_trim(str_slice(line, 0, colon))),
        .value = arena_str(c->arena, str_trim(str_slice(line, colon + 1, line.n)))};
}

/* curl decodes a coded body although we ask for none; then what the head says of it is untrue. */
static void drop_coding(struct http_call *c)
{
    if (http_header_get(c->headers, c->n_headers, "Content-Encoding").p == NULL) {
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < c->n_headers; i++) {
        struct str name = c->headers[i].name;
        if (!str_is_nocase(name, "Content-Encoding") && !str_is_nocase(name, "Content-Length")) {
            c->headers[n++] = c->headers[i];
        }
    }
    c->n_headers = n;
}

/* Interim answers (1xx) are passed over; trailers behind the body are dropped. */
static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
    struct http_call *c = arg;
    struct str line = str_trim((struct str){p, size * n});
    heard(c);
    c->head_bytes += size * n;
    if (c->head_bytes > HEAD_BYTES_MAX) {
        c->outcome = OUTCOME_BIG;
        return 0;
    }
    switch (c->head) {
    case HEAD_AWAITED:
        if (str_starts(line, "HTTP/")) {
            take_status(c, line);
        }
        break;
    case HEAD_COMING:
        if (line.n > 0) {
            take_header(c, line);
        } else if (c->status >= 100 && c->status < 200) {
            c->head = HEAD_AWAITED;
        } else {
            drop_coding(c);
            c->head = HEAD_COMPLETE;
            queue(c);
        }
        break;
    case HEAD_COMPLETE:
    case HEAD_GIVEN: break;
    }
    return size * n;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    struct http_call *c = arg;
    heard(c);
    c->total += size * n;
    if (!c->limits.endless && c->total > BODY_BYTES_MAX) {
        c->outcome = OUTCOME_BIG;
        return 0;
    }
    buf_add(&c->body, (struct str){p, size * n});
    queue(c);
    return size * n;
}

/* ---- ends ---- */

/* Lets go of everything outside the call itself. */
static void detach(struct http_call *c)
{
    if (c->easy == NULL) {
        return;
    }
    unqueue(c);
    must((int)curl_multi_remove_handle(c->hub->multi, c->easy));
    curl_easy_cleanup(c->easy);
    c->easy = NULL;
    curl_slist_free_all(c->request_headers);
    loop_timer_free(c->watch);
    c->hub->n_calls--;
    if (c->hub->n_calls == 0) {
        uv_timer_stop(c->hub->timer); /* nothing of ours keeps the loop going */
    }
}

static void call_free(struct http_call *c)
{
    detach(c);
    arena_free(c->arena);
    buf_free(&c->body);
    free(c);
}

/* Milliseconds as seconds: "10", "0.05". */
static void buf_seconds(struct buf *out, int64_t ms)
{
    buf_fmt(out, "%lld", (long long)(ms / 1000));
    if (ms % 1000 != 0) {
        char digits[8];
        int n = snprintf(digits, sizeof digits, ".%03d", (int)(ms % 1000));
        while (n > 0 && digits[n - 1] == '0') {
            n--;
        }
        buf_add(out, (struct str){digits, (size_t)n});
    }
}

/* What to try where curl's words for its code do not say. */
static void add_advice(CURLcode code, struct buf *detail)
{
    static const struct {
        CURLcode code;
        const char *advice;
    } all[] = {
        {CURLE_COULDNT_RESOLVE_HOST, "is the host's name right, does the name service work?"},
        {CURLE_COULDNT_RESOLVE_PROXY, "is the proxy of the environment (https_proxy) right?"},
        {CURLE_PEER_FAILED_VERIFICATION,
         "its certificate is not trusted; --ca FILE (or SSL_CERT_FILE) names the authority that "
         "signed it"},
        {CURLE_SSL_CONNECT_ERROR, "no TLS could be agreed on; does the port speak https?"},
        {CURLE_SSL_CACERT_BADFILE, "--ca (or SSL_CERT_FILE) wants a file of PEM certificates"},
        {CURLE_WEIRD_SERVER_REPLY, "what answers there is no HTTP server"},
        {CURLE_UNSUPPORTED_PROTOCOL, "what answers there is no HTTP server"},
        {CURLE_BAD_CONTENT_ENCODING, "the body is not coded as its header says"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].code == code) {
            buf_fmt(detail, "; %s", all[i].advice);
        }
    }
}

/* Whether curl's code says that no request could be made at all. */
static bool is_refusal(const struct http_call *c)
{
    static const CURLcode codes[] = {
        CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT,     CURLE_COULDNT_RESOLVE_PROXY,
        CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,   CURLE_PROXY,
        CURLE_INTERFACE_FAILED,     CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_INITFAILED,
        CURLE_SSL_CERTPROBLEM,      CURLE_SSL_CIPHER,        CURLE_PEER_FAILED_VERIFICATION,
        CURLE_SSL_CACERT_BADFILE};
    long sent = 0;
    must((int)curl_easy_getinfo(c->easy, CURLINFO_REQUEST_SIZE, &sent));
    for (size_t i = 0; sent == 0 && i < sizeof codes / sizeof codes[0]; i++) {
        if (c->code == codes[i]) {
            return true;
        }
    }
    return false;
}

/* curl watches two deadlines: until the connection stands, and the total. */
static void curl_late(struct http_call *c)
{
    bool total =
        c->phase != PHASE_CONNECT ||
        (c->limits.total_ms > 0 && loop_now(c) - c->started_ms + 1 >= (uint64_t)c->limits.total_ms);
    c->outcome = OUTCOME_LATE;
    c->late = total ? DEADLINE_TOTAL : DEADLINE_CONNECT;
}

static enum http_end curl_end(const struct http_call *c, struct buf *detail)
{
    if (c->code == CURLE_OK && c->head == HEAD_GIVEN) {
        return HTTP_CLEAN;
    }
    if (c->code == CURLE_OK) { /* curl does not mind a head that is cut */
        buf_addz(detail, "the connection was closed inside the answer's headers");
        return HTTP_RESET;
    }
    buf_addz(detail, c->error[0] != '\0' ? c->error : curl_easy_strerror(c->code));
    add_advice(c->code, detail);
    if (c->code == CURLE_OPERATION_TIMEDOUT) { /* a limit of curl's own */
        return HTTP_TIMEOUT;
    }
    return is_refusal(c) ? HTTP_REFUSED : HTTP_RESET;
}

static void add_late(const struct http_call *c, struct buf *detail)
{
    const struct {
        const char *name;
        int64_t ms;
        const char *what;
    } deadlines[] = {
        [DEADLINE_CONNECT] = {"connect", c->limits.connect_ms,
                              "no connection stood; is the address right, is a proxy needed?"},
        [DEADLINE_FIRST_BYTE] = {"first-byte", c->limits.first_byte_ms,
                                 "no byte of an answer came; a model that thinks long may need "
                                 "more"},
        [DEADLINE_IDLE] = {"idle", c->limits.idle_ms,
                           "the answer stopped coming; is the server stuck?"},
        [DEADLINE_TOTAL] = {"total", c->limits.total_ms, "the answer was not complete"}};
    buf_fmt(detail, "the deadline %s=", deadlines[c->late].name);
    buf_seconds(detail, deadlines[c->late].ms);
    buf_fmt(detail, " s passed: %s", deadlines[c->late].what);
}

static enum http_end outcome_end(const struct http_call *c, struct buf *detail)
{
    switch (c->outcome) {
    case OUTCOME_OPEN: break;
    case OUTCOME_CURL: return curl_end(c, detail);
    case OUTCOME_LATE: add_late(c, detail); return HTTP_TIMEOUT;
    case OUTCOME_BIG:
        buf_fmt(detail, "the answer is bigger than the %d MiB of body and %d MiB of headers taken",
                BODY_BYTES_MAX >> 20, HEAD_BYTES_MAX >> 20);
        return HTTP_RESET;
    }
    assert(!"an end without an outcome");
    return HTTP_RESET;
}

/* The sink may free the transport and the scheduler, so c alone is touched after it. */
static void give_end(struct http_call *c)
{
    struct buf detail = {0};
    enum http_end end = outcome_end(c, &detail);
    detach(c);
    c->sink.end(c->sink.ctx, end, buf_str(&detail));
    buf_free(&detail);
    call_free(c);
}

/* Whether the call was stopped by the sink that has just returned; it is freed then. */
static bool was_stopped(struct http_call *c)
{
    if (c->state == CALL_STOPPED) {
        call_free(c);
        return true;
    }
    c->state = CALL_OPEN;
    return false;
}

static void hand_on(struct http_call *c)
{
    sched_touch(c->sched);
    if (c->head == HEAD_COMPLETE) {
        c->head = HEAD_GIVEN;
        c->state = CALL_IN_SINK;
        c->sink.head(c->sink.ctx, c->status, c->reason, c->headers, c->n_headers);
        if (was_stopped(c)) {
            return;
        }
    }
    if (c->head == HEAD_GIVEN && c->body.n > 0) {
        c->state = CALL_IN_SINK;
        c->sink.body(c->sink.ctx, buf_str(&c->body));
        if (was_stopped(c)) {
            return;
        }
        buf_clear(&c->body);
    }
    if (c->outcome != OUTCOME_OPEN) {
        give_end(c);
    }
}

/* ---- the hub: curl's sockets and timer on libuv ---- */

/* Hands on what curl's last round brought. */
static void hub_hand_on(struct hub *hub)
{
    int left;
    for (CURLMsg *m = curl_multi_info_read(hub->multi, &left); m != NULL;
         m = curl_multi_info_read(hub->multi, &left)) {
        struct http_call *c = NULL;
        if (m->msg != CURLMSG_DONE) {
            continue;
        }
        must((int)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c));
        c->code = m->data.result;
        if (c->outcome == OUTCOME_OPEN) {
            c->outcome = OUTCOME_CURL;
            if (c->code == CURLE_OPERATION_TIMEDOUT) {
                curl_late(c);
            }
        }
        queue(c);
    }
    while (hub->ready != NULL) {
        struct http_call *c = hub->ready;
        unqueue(c);
        hand_on(c);
    }
}

static void act(struct hub *hub, curl_socket_t socket, int events)
{
    int running;
    must((int)curl_multi_socket_action(hub->multi, socket, events, &running));
    hub_hand_on(hub);
}

struct watch {
    uv_poll_t poll; /* first: freed through it */
    struct hub *hub;
    curl_socket_t socket;
};

static void free_watch(uv_handle_t *handle)
{
    free(handle);
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
    struct watch *w = poll->data;
    int flags = status < 0 ? CURL_CSELECT_ERR : 0;
    flags |= (events & UV_READABLE) != 0 ? CURL_CSELECT_IN : 0;
    flags |= (events & UV_WRITABLE) != 0 ? CURL_CSELECT_OUT : 0;
    act(w->hub, w->socket, flags);
}

static struct watch *watch_new(struct hub *hub, curl_socket_t socket)
{
    struct watch *w = mem_zero(sizeof *w);
    w->hub = hub;
    w->socket = socket;
    loop_must("a connection cannot be watched",
              uv_poll_init_socket(loop_uv(hub->loop), &w->poll, socket));
    w->poll.data = w;
    must((int)curl_multi_assign(hub->multi, socket, w));
    return w;
}

static int on_want_socket(CURL *easy, curl_socket_t socket, int what, void *arg, void *of_socket)
{
    struct hub *hub = arg;
    struct watch *w = of_socket;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (w != NULL) {
            uv_poll_stop(&w->poll);
            uv_close((uv_handle_t *)&w->poll, free_watch);
            must((int)curl_multi_assign(hub->multi, socket, NULL));
        }
        return 0;
    }
    if (w == NULL) {
        w = watch_new(hub, socket);
    }
    int events = (what & CURL_POLL_IN) != 0 ? UV_READABLE : 0;
    events |= (what & CURL_POLL_OUT) != 0 ? UV_WRITABLE : 0;
    loop_must("a connection cannot be watched", uv_poll_start(&w->poll, events, on_socket));
    return 0;
}

static void on_curl_timer(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_want_timer(CURLM *multi, long delay_ms, void *arg)
{
    struct hub *hub = arg;
    (void)multi;
    if (delay_ms < 0) {
        uv_timer_stop(hub->timer);
    } else {
        must(uv_timer_start(hub->timer, on_curl_timer, (uint64_t)delay_ms, 0));
    }
    return 0;
}

/* Frees a loop's hubs, from the first on. */
static void hubs_free(void *p)
{
    struct hub *next;
    for (struct hub *hub = p; hub != NULL; hub = next) {
        next = hub->next;
        assert(hub->n_calls == 0);
        must((int)curl_multi_cleanup(hub->multi));
        loop_timer_free(hub->timer);
        curl_global_cleanup();
        free(hub);
    }
}

size_t transport_connections_max(void)
{
    size_t files = files_open_max();
    size_t fit = files > 2 * FILES_SPARE ? files - FILES_SPARE : FILES_SPARE;
    return fit < CONNECTIONS_MAX ? fit : CONNECTIONS_MAX;
}

static struct hub *hub_new(struct loop *loop, long connections)
{
    struct hub *hub = mem_zero(sizeof *hub);
    hub->loop = loop;
    hub->ready_end = &hub->ready;
    hub->timer = loop_timer_new(loop, hub);
    must((int)curl_global_init(CURL_GLOBAL_DEFAULT));
    hub->multi = mem_need(curl_multi_init());
    int bad = (int)curl_multi_setopt(hub->multi, CURLMOPT_SOCKETFUNCTION, on_want_socket);
    bad |= (int)curl_multi_setopt(hub->multi, CURLMOPT_SOCKETDATA, hub);
    bad |= (int)curl_multi_setopt(hub->multi, CURLMOPT_TIMERFUNCTION, on_want_timer);
    bad |= (int)curl_multi_setopt(hub->multi, CURLMOPT_TIMERDATA, hub);
    bad |= (int)curl_multi_setopt(hub->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections);
    bad |= (int)curl_multi_setopt(hub->multi, CURLMOPT_MAXCONNECTS, connections);
    must(bad);
    return hub;
}

/* The first hub with room, so that few calls share few connections; a new one where there is none
 * and files may be open for it. Beyond that calls wait in the last. */
static struct hub *hub_of(struct loop *loop)
{
    size_t most = transport_connections_max();
    size_t each = most < HUB_CALLS_MAX ? most : HUB_CALLS_MAX;
    size_t n = 0;
    struct hub *last = NULL;
    for (struct hub *hub = loop_slot(loop, LOOP_SLOT_CURL); hub != NULL; hub = hub->next) {
        if (hub->n_calls < each) {
            return hub;
        }
        last = hub;
        n++;
    }
    if (last != NULL && n >= most / each) {
        return last;
    }
    struct hub *hub = hub_new(loop, (long)each);
    if (last == NULL) {
        loop_slot_set(loop, LOOP_SLOT_CURL, hub, hubs_free);
    } else {
        last->next = hub;
    }
    return hub;
}

/* ---- what a loop's calls share ---- */

static void net_free(void *p)
{
    struct net *net = p;
    arena_free(net->arena);
    free(net);
}

void transport_set_net(struct loop *loop, const struct transport_net *options)
{
    struct net *net = mem_zero(sizeof *net);
    net->arena = arena_new();
    net->options =
        (struct transport_net){.http_proxy = arena_str(net->arena, options->http_proxy),
                               .https_proxy = arena_str(net->arena, options->https_proxy),
                               .no_proxy = arena_str(net->arena, options->no_proxy),
                               .ca_file = arena_str(net->arena, options->ca_file)};
    loop_slot_set(loop, LOOP_SLOT_NET, net, net_free);
}

/* A call waits until it is known whether it can share a connection that is being made. TLS says so
 * at once; without it curl would wait for that connection's first answer, which may take minutes.
 */
static void set_sharing(struct http_call *c, struct str url)
{
    long wait = str_starts_nocase(url, "https:") ? 1 : 0;
    must((int)curl_easy_setopt(c->easy, CURLOPT_PIPEWAIT, wait));
}

/* curl reads no environment where it is told all of this. */
static void set_net(struct http_call *c, struct str url)
{
    const struct net *net = loop_slot(c->hub->loop, LOOP_SLOT_NET);
    struct transport_net none = {0};
    const struct transport_net *o = net == NULL ? &none : &net->options;
    struct str proxy = str_starts_nocase(url, "https:") ? o->https_proxy : o->http_proxy;
    int bad = (int)curl_easy_setopt(c->easy, CURLOPT_PROXY, arena_cstr(c->arena, proxy));
    bad |= (int)curl_easy_setopt(c->easy, CURLOPT_NOPROXY, arena_cstr(c->arena, o->no_proxy));
    if (o->ca_file.n > 0) {
        const char *file = arena_cstr(c->arena, o->ca_file);
        bad |= (int)curl_easy_setopt(c->easy, CURLOPT_CAINFO, file);
        bad |= (int)curl_easy_setopt(c->easy, CURLOPT_PROXY_CAINFO, file);
    }
    must(bad);
}

/* ---- requests ---- */

static void add_header(struct http_call *c, const char *line)
{
    c->request_headers = mem_need(curl_slist_append(c->request_headers, line));
}

static void set_request(struct http_call *c, const struct http_request *rq)
{
    for (size_t i = 0; i < rq->n_headers; i++) {
        struct buf line = {0};
        buf_add(&line, rq->headers[i].name);
        buf_addz(&line, rq->headers[i].value.n > 0 ? ": " : ";"); /* curl's word for an empty one */
        buf_add(&line, rq->headers[i].value);
        buf_char(&line, '\0');
        add_header(c, line.p);
        buf_free(&line);
    }
    if (http_header_get(rq->headers, rq->n_headers, "content-type").p == NULL) {
        add_header(c, "Content-Type:"); /* curl would say that a body is a form */
    }
    add_header(c, "Expect:"); /* curl would wait for 100-continue before a big body */
    int bad = (int)curl_easy_setopt(c->easy, CURLOPT_URL, arena_cstr(c->arena, rq->url));
    bad |= (int)curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->request_headers);
    if (rq->body.n > 0 || str_is(rq->method, "POST")) {
        const char *body = rq->body.n > 0 ? rq->body.p : "";
        bad |= (int)curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)rq->body.n);
        bad |= (int)curl_easy_setopt(c->easy, CURLOPT_COPYPOSTFIELDS, body);
    }
    if (str_is(rq->method, "HEAD")) {
        bad |= (int)curl_easy_setopt(c->easy, CURLOPT_NOBODY,
                                     1L); /* none comes, whatever its length */
    }
    bad |= (int)curl_easy_setopt(c->easy, CURLOPT_PATH_AS_IS, 1L);
    bad |= (int)curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, arena_cstr(c->arena, rq->method));
    must(bad);
}

static void set_manners(struct http_call *c)
{
    CURL *easy = c->easy;
    int bad = (int)curl_easy_setopt(easy, CURLOPT_PRIVATE, c);
    bad |= (int)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, c->error);
    bad |= (int)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    bad |= (int)curl_easy_setopt(easy, CURLOPT_HEADERDATA, c);
    bad |= (int)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    bad |= (int)curl_easy_setopt(easy, CURLOPT_WRITEDATA, c);
    bad |= (int)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    bad |= (int)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    bad |= (int)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    bad |= (int)curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    bad |= (int)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    bad |= (int)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    bad |= (int)curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "identity");
    bad |= (int)curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
    bad |= (int)curl_easy_setopt(easy, CURLOPT_PREREQDATA, c);
    long connect = c->limits.connect_ms > 0 ? (long)c->limits.connect_ms : CONNECT_MS_MAX;
    bad |= (int)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect);
    bad |= (int)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)c->limits.total_ms);
    must(bad);
}

static void on_watch(uv_timer_t *timer)
{
    struct http_call *c = timer->data;
    uint64_t limit = (uint64_t)silence_ms(c);
    uint64_t silent = uv_now(timer->loop) - c->heard_ms;
    if (silent < limit) {
        must(uv_timer_start(timer, on_watch, limit - silent, 0));
        return;
    }
    c->outcome = OUTCOME_LATE;
    c->late = c->phase == PHASE_FIRST_BYTE ? DEADLINE_FIRST_BYTE : DEADLINE_IDLE;
    hand_on(c);
}

static struct http_call *curl_start(struct transport *transport, const struct http_request *rq,
                                    struct http_sink sink)
{
    struct curl_transport *t = (struct curl_transport *)transport; /* its first member */
    struct http_call *c = mem_zero(sizeof *c);
    c->hub = hub_of(t->loop);
    c->sched = t->sched;
    c->limits = t->limits;
    c->sink = sink;
    c->arena = arena_new();
    c->easy = mem_need(curl_easy_init());
    uv_update_time(loop_uv(t->loop)); /* limits count from here */
    c->watch = loop_timer_new(t->loop, c);
    c->started_ms = loop_now(c);
    set_manners(c);
    set_request(c, rq);
    set_net(c, rq->url);
    set_sharing(c, rq->url);
    c->hub->n_calls++;
    enter(c, PHASE_CONNECT);
    must((int)curl_multi_add_handle(c->hub->multi, c->easy));
    return c;
}

static void curl_stop(struct transport *transport, struct http_call *c)
{
    (void)transport;
    switch (c->state) {
    case CALL_OPEN: call_free(c); return;
    case CALL_IN_SINK:
        detach(c);
        c->state = CALL_STOPPED;
        return;
    case CALL_STOPPED: assert(!"stopped twice"); return;
    }
}

/* The bytes that curl holds may come from inside of its call; its timer hands them on. */
static void curl_pause(struct transport *transport, struct http_call *c, bool paused)
{
    (void)transport;
    if (c->state == CALL_STOPPED || c->outcome != OUTCOME_OPEN || c->paused == paused) {
        return;
    }
    c->paused = paused;
    enter(c, c->phase);
    CURLcode code = curl_easy_pause(c->easy, paused ? CURLPAUSE_RECV : CURLPAUSE_CONT);
    if (code != CURLE_OK) {
        c->code = code;
        c->outcome = c->outcome == OUTCOME_OPEN ? OUTCOME_CURL : c->outcome;
        queue(c);
        must(uv_timer_start(c->hub->timer, on_curl_timer, 0, 0));
    }
}

static void curl_free_transport(struct transport *transport)
{
    free(transport);
}

struct transport *transport_curl(struct loop *loop, struct sched *s, struct transport_limits limits)
{
    static const struct transport_ops ops = {curl_start, curl_stop, curl_free_transport,
                                             curl_pause};
    struct curl_transport *t = mem_zero(sizeof *t);
    t->transport.ops = &ops;
    t->loop = loop;
    t->sched = s;
    t->limits = limits;
    return &t->transport;
}
