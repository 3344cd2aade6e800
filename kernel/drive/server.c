/* The HTTP server. libmicrohttpd runs without a thread of its own: its epoll descriptor is watched
 * by the loop, and a connection whose answer has nothing to send is suspended until there is more.
 * The library is loaded at first need, since it brings a TLS library with it that costs every start
 * of the program more than the rest of it. */
#include "kernel/drive/server.h"

#include "kernel/base/arena.h"
#include "kernel/base/val.h"
#include "kernel/drive/loop_int.h"
#include "kernel/drive/machine.h"

#include <arpa/inet.h>
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

enum {
    HEADERS_MAX = 256,
    READ_BYTES = 16 << 10,
    SWEEP_MS = 1000,
    LOOKS_MAX = 16,
    SPARE_DESCRIPTORS = 64
};

/* ---- the library ---- */

#define LIBRARY_CALLS(X)                                                                           \
    X(MHD_start_daemon)                                                                            \
    X(MHD_stop_daemon)                                                                             \
    X(MHD_quiesce_daemon)                                                                          \
    X(MHD_run)                                                                                     \
    X(MHD_get_timeout)                                                                             \
    X(MHD_get_daemon_info)                                                                         \
    X(MHD_get_connection_info)                                                                     \
    X(MHD_get_connection_values)                                                                   \
    X(MHD_suspend_connection)                                                                      \
    X(MHD_resume_connection)                                                                       \
    X(MHD_create_response_from_callback)                                                           \
    X(MHD_create_response_from_buffer)                                                             \
    X(MHD_add_response_header)                                                                     \
    X(MHD_queue_response)                                                                          \
    X(MHD_destroy_response)

#define LIBRARY_MEMBER(name) __typeof__(name) *name;
#define LIBRARY_NAME(name)   #name,
static struct {
    LIBRARY_CALLS(LIBRARY_MEMBER)
} lib;
static const char *const library_names[] = {LIBRARY_CALLS(LIBRARY_NAME)};
#undef LIBRARY_MEMBER
#undef LIBRARY_NAME

/* The functions of `lib` by their names; all of its members are pointers of one size. */
static int library_load(struct err *e)
{
    static void *handle;
    if (handle != NULL) {
        return 0;
    }
    handle = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    void *calls[sizeof library_names / sizeof library_names[0]];
    static_assert(sizeof calls == sizeof lib, "a name for each member");
    for (size_t i = 0; handle != NULL && i < sizeof calls / sizeof calls[0]; i++) {
        calls[i] = dlsym(handle, library_names[i]);
        if (calls[i] == NULL) {
            dlclose(handle);
            handle = NULL;
        }
    }
    if (handle == NULL) {
        return err_set(e, ERR_UNSUPPORTED,
                       "libmicrohttpd.so.12 cannot be loaded: install it (Debian: apt-get install "
                       "libmicrohttpd12)");
    }
    memcpy(&lib, calls, sizeof lib);
    return 0;
}

/* ---- types ---- */

struct server {
    struct server_options options; /* without address */
    struct MHD_Daemon *daemon;
    uv_poll_t *poll;   /* on the daemon's epoll descriptor */
    uv_timer_t *sweep; /* looks for connections that keep their request to themselves */
    bool pump_due;
    struct exchange *exchanges;  /* that the library is not done with */
    struct client *first, *last; /* connections that owe a request, longest first */
    void (*stopped)(void *arg);
    void *stopped_arg;
};

/* A connection. */
struct client {
    struct server *server;
    struct client *prev, *next; /* among those that owe a request */
    bool owes;
    uint64_t since; /* owes: loop time */
    int fd;
    uv_poll_t *gone;        /* tells when the client has said its last word; NULL = it was told */
    int unread, looks;      /* of the client's last words: how often it was as much */
    struct exchange *early; /* whose headers are not complete: nobody else knows it */
    struct exchange *asked; /* whose answer is due or under way */
};

enum exchange_state {
    EXCHANGE_READING, /* the request is coming in */
    EXCHANGE_ASKED,   /* its answer is being made */
    EXCHANGE_ENDED    /* the answer is complete: the user has let go of it */
};

struct exchange {
    struct server *server;
    struct exchange *next;
    struct exchange **link; /* what points here */
    struct MHD_Connection *connection;
    enum exchange_state state;
    bool suspended;
    bool wake_due;
    bool full; /* the user was told so */
    enum http_end end;
    struct arena *arena; /* holds what the request's views show */
    struct http_request request;
    struct buf upload;
    bool head;
    int status;
    int64_t length; /* of the body, as the answer's headers say; -1 = they do not */
    struct http_header *headers;
    size_t n_headers;
    struct buf unsent;
    size_t sent; /* bytes of unsent that were taken */
    void *data;
};

static void free_handle(uv_handle_t *h)
{
    free(h);
}

static void exchange_free(struct exchange *x)
{
    *x->link = x->next;
    if (x->next != NULL) {
        x->next->link = x->link;
    }
    buf_free(&x->upload);
    buf_free(&x->unsent);
    arena_free(x->arena);
    free(x);
}

/* ---- running the library ---- */

static void pump(void *arg);

static void pump_soon(struct server *s)
{
    if (!s->pump_due) {
        s->pump_due = true;
        loop_defer(s->options.loop, pump, s);
    }
}

/* Everything that the library does, and so all of its callbacks, happens in here. */
static void pump(void *arg)
{
    struct server *s = arg;
    s->pump_due = false;
    lib.MHD_run(s->daemon);
    MHD_UNSIGNED_LONG_LONG wait;
    if (lib.MHD_get_timeout(s->daemon, &wait) == MHD_YES && wait == 0) {
        pump_soon(s);
    }
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    pump_soon(poll->data);
}

/* ---- clients that owe a request ---- */

static void client_unlink(struct client *c)
{
    struct server *s = c->server;
    if (!c->owes) {
        return;
    }
    c->owes = false;
    *(c->prev != NULL ? &c->prev->next : &s->first) = c->next;
    *(c->next != NULL ? &c->next->prev : &s->last) = c->prev;
}

static void client_owes(struct client *c)
{
    struct server *s = c->server;
    client_unlink(c);
    c->owes = true;
    c->since = uv_now(loop_uv(s->options.loop));
    c->next = NULL;
    c->prev = s->last;
    *(s->last != NULL ? &s->last->next : &s->first) = c;
    s->last = c;
}

/* The library sees the end of the connection at its next read. */
static void on_sweep(uv_timer_t *timer)
{
    struct server *s = timer->data;
    uint64_t now = uv_now(timer->loop);
    while (s->first != NULL && now - s->first->since >= (uint64_t)s->options.limits.request_ms) {
        struct client *c = s->first;
        client_unlink(c);
        shutdown(c->fd, SHUT_RDWR);
    }
}

static struct client *client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        lib.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info->socket_context;
}

/* ---- the exchange's life ---- */

static void stopped(struct server *s)
{
    void (*done)(void *arg) = s->stopped;
    for (const struct exchange *x = s->exchanges; x != NULL && done != NULL; x = x->next) {
        if (x->state != EXCHANGE_READING) { /* who has not asked yet is not waited for */
            return;
        }
    }
    if (done != NULL) {
        s->stopped = NULL;
        done(s->stopped_arg);
    }
}

static void wake(void *arg)
{
    struct exchange *x = arg;
    x->wake_due = false;
    if (x->suspended) {
        x->suspended = false;
        lib.MHD_resume_connection(x->connection);
        pump_soon(x->server);
    }
}

/* The connection is looked at again in the next turn, so that what comes in this one goes out
 * together. */
static void wake_soon(struct exchange *x)
{
    if (!x->wake_due) {
        x->wake_due = true;
        loop_defer(x->server->options.loop, wake, x);
    }
}

static void suspend(struct exchange *x)
{
    x->suspended = true;
    lib.MHD_suspend_connection(x->connection);
}

/* The user has not ended it, and never can. */
static void exchange_abort(struct exchange *x)
{
    if (x->state == EXCHANGE_ASKED) {
        x->state = EXCHANGE_ENDED;
        x->end = HTTP_RESET;
        x->server->options.gone(x->server->options.ctx, x);
    }
}

/* The library's last word about a request. */
static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    (void)code;
    struct server *s = cls;
    struct exchange *x = *context;
    if (x == NULL) {
        return;
    }
    exchange_abort(x);
    if (x->wake_due) {
        loop_undefer(s->options.loop, wake, x);
    }
    client_of(connection)->early = NULL;
    client_of(connection)->asked = NULL;
    client_owes(client_of(connection));
    exchange_free(x);
    *context = NULL;
    stopped(s);
}

static void client_unwatch(struct client *c)
{
    if (c->gone != NULL) {
        uv_close((uv_handle_t *)c->gone, free_handle);
        c->gone = NULL;
    }
}

/* The client closed, or says no more. Where an answer is under way nobody wants it; else the
 * library would wait for the rest of a request that does not come. */
static void on_client_gone(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct client *c = poll->data;
    int unread = 0;
    if (c->asked == NULL && ioctl(c->fd, FIONREAD, &unread) == 0 && unread > 0) {
        c->looks = unread == c->unread ? c->looks + 1 : 0;
        c->unread = unread;
        if (c->looks < LOOKS_MAX) {
            pump_soon(c->server);
            return; /* it is told again when the library has read some of what is there */
        }
    }
    client_unwatch(c);
    if (c->asked == NULL) {
        shutdown(c->fd, SHUT_RDWR);
    } else {
        exchange_abort(c->asked);
        wake_soon(c->asked);
    }
}

static void client_watch(struct client *c)
{
    uv_poll_t *poll = mem_zero(sizeof *poll);
    if (uv_poll_init(loop_uv(c->server->options.loop), poll, c->fd) != 0) {
        free(poll);
        return;
    }
    poll->data = c;
    c->gone = poll;
    (void)uv_poll_start(poll, UV_DISCONNECT, on_client_gone);
    uv_unref((uv_handle_t *)poll);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct server *s = cls;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        struct client *c = mem_zero(sizeof *c);
        const union MHD_ConnectionInfo *info =
            lib.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        c->server = s;
        c->fd = info != NULL ? (int)info->connect_fd : -1;
        *context = c;
        client_owes(c);
        client_watch(c);
    } else if (*context != NULL) {
        struct client *c = *context;
        client_unlink(c);
        client_unwatch(c);
        if (c->early != NULL) {
            exchange_free(c->early);
        }
        free(c);
        *context = NULL;
    }
}

/* ---- answers ---- */

/* The next bytes of a body; asked for whenever the client can take more. */
static ssize_t read_body(void *cls, uint64_t at, char *out, size_t max)
{
    (void)at;
    struct exchange *x = cls;
    struct str rest = str_slice(buf_str(&x->unsent), x->sent, SIZE_MAX);
    size_t n = rest.n < max ? rest.n : max;
    if (n == 0 && x->state == EXCHANGE_ENDED) {
        return x->end == HTTP_CLEAN ? MHD_CONTENT_READER_END_OF_STREAM
                                    : MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (n == 0) {
        suspend(x);
        return 0;
    }
    memcpy(out, rest.p, n);
    x->sent += n;
    if (x->sent == x->unsent.n) {
        buf_clear(&x->unsent);
        x->sent = 0;
    }
    if (x->full && x->unsent.n - x->sent <= x->server->options.limits.unsent_bytes / 2) {
        x->full = false;
        if (x->state == EXCHANGE_ASKED) {
            x->server->options.full(x->server->options.ctx, x, false);
        }
    }
    return (ssize_t)n;
}

/* The response for what is known of the answer: one that is complete goes out in one piece. */
static struct MHD_Response *response_new(struct exchange *x)
{
    bool whole = x->state == EXCHANGE_ENDED && x->end == HTTP_CLEAN;
    if (whole && (x->length < 0 || (uint64_t)x->length == x->unsent.n)) {
        return lib.MHD_create_response_from_buffer(x->unsent.n, x->unsent.p,
                                                   MHD_RESPMEM_PERSISTENT);
    }
    return lib.MHD_create_response_from_callback(
        x->length >= 0 ? (uint64_t)x->length : MHD_SIZE_UNKNOWN, READ_BYTES, read_body, x, NULL);
}

static enum MHD_Result respond(struct exchange *x)
{
    if (!x->head && x->end != HTTP_CLEAN) {
        return MHD_NO; /* the connection is closed without a word */
    }
    struct MHD_Response *r = response_new(x);
    if (r == NULL) {
        return MHD_NO;
    }
    for (size_t i = 0; i < x->n_headers; i++) {
        lib.MHD_add_response_header(r, x->headers[i].name.p, x->headers[i].value.p);
    }
    unsigned status = x->status >= 200 && x->status <= 999 ? (unsigned)x->status : 500;
    enum MHD_Result rc = lib.MHD_queue_response(x->connection, status, r);
    lib.MHD_destroy_response(r);
    return rc;
}

/* An answer of the server's own, to a request that nobody else shall see. */
static void tell_refused(struct exchange *x, unsigned status)
{
    const struct server_options *o = &x->server->options;
    if (o->refused != NULL) {
        o->refused(o->ctx, &x->request, (int)status);
    }
}

static enum MHD_Result refuse(struct exchange *x, unsigned status, const char *body)
{
    union {
        const char *in;
        void *out; /* persistent: the library only reads it */
    } text = {body};
    struct MHD_Response *r =
        lib.MHD_create_response_from_buffer(strlen(body), text.out, MHD_RESPMEM_PERSISTENT);
    if (r == NULL) {
        return MHD_NO;
    }
    lib.MHD_add_response_header(r, "Content-Type", "application/json");
    lib.MHD_add_response_header(r, "Connection", "close");
    x->state = EXCHANGE_ENDED;
    client_of(x->connection)->asked = x;
    tell_refused(x, status);
    enum MHD_Result rc = lib.MHD_queue_response(x->connection, status, r);
    lib.MHD_destroy_response(r);
    return rc;
}

void exchange_head(struct exchange *x, int status, const struct http_header *headers, size_t n)
{
    assert(x->state == EXCHANGE_ASKED && !x->head);
    x->head = true;
    x->status = status;
    x->headers = arena_array(x->arena, n, sizeof *x->headers);
    for (size_t i = 0; i < n; i++) {
        if (str_is_nocase(headers[i].name, "content-length")) {
            struct val text = {.kind = VAL_NUMBER, .text = headers[i].value};
            (void)val_int(&text, &x->length);
        } else if (!str_is_nocase(headers[i].name, "transfer-encoding") &&
                   !str_is_nocase(headers[i].name, "connection")) {
            x->headers[x->n_headers++] = (struct http_header){
                arena_str(x->arena, headers[i].name), arena_str(x->arena, headers[i].value)};
        }
    }
    wake_soon(x);
}

void exchange_body(struct exchange *x, struct str piece)
{
    assert(x->state == EXCHANGE_ASKED && x->head);
    if (x->sent > x->unsent.n / 2) { /* what was sent makes room */
        x->unsent.n -= x->sent;
        memmove(x->unsent.p, x->unsent.p + x->sent, x->unsent.n);
        x->sent = 0;
    }
    buf_add(&x->unsent, piece);
    wake_soon(x);
    if (!x->full && x->server->options.full != NULL &&
        x->unsent.n - x->sent > x->server->options.limits.unsent_bytes) {
        x->full = true;
        x->server->options.full(x->server->options.ctx, x, true);
    }
}

void exchange_end(struct exchange *x, enum http_end end)
{
    assert(x->state == EXCHANGE_ASKED);
    x->state = EXCHANGE_ENDED;
    x->end = end;
    wake_soon(x);
}

void exchange_set(struct exchange *x, void *data)
{
    x->data = data;
}

void *exchange_data(const struct exchange *x)
{
    return x->data;
}

/* ---- requests ---- */

/* The request's target as it came, before the library takes it apart. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *connection)
{
    struct server *s = cls;
    struct exchange *x = mem_zero(sizeof *x);
    x->server = s;
    x->connection = connection;
    x->length = -1;
    x->status = 500;
    x->arena = arena_new();
    x->upload.max = s->options.limits.body_bytes;
    x->request.url = arena_str(x->arena, str_of(target));
    x->next = s->exchanges;
    x->link = &s->exchanges;
    if (x->next != NULL) {
        x->next->link = &x->next;
    }
    s->exchanges = x;
    client_of(connection)->early = x;
    return x;
}

struct taking {
    struct exchange *x;
    struct http_header *headers;
    size_t n;
};

static enum MHD_Result take_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    (void)kind;
    struct taking *t = cls;
    if (t->n == HEADERS_MAX) {
        return MHD_NO;
    }
    t->headers[t->n++] = (struct http_header){arena_str(t->x->arena, str_of(name)),
                                              arena_str(t->x->arena, str_of(value))};
    return MHD_YES;
}

/* False when there are too many. */
static bool take_headers(struct exchange *x, const char *method)
{
    struct taking t = {.x = x, .headers = arena_array(x->arena, HEADERS_MAX, sizeof *t.headers)};
    int n = lib.MHD_get_connection_values(x->connection, MHD_HEADER_KIND, take_header, &t);
    x->request.method = arena_str(x->arena, str_of(method));
    x->request.headers = t.headers;
    x->request.n_headers = t.n;
    return n >= 0 && (size_t)n == t.n;
}

/* Whether the request says that its body is larger than may be. */
static bool says_too_large(const struct exchange *x)
{
    int64_t n = 0;
    struct val length = {
        .kind = VAL_NUMBER,
        .text = http_header_get(x->request.headers, x->request.n_headers, "content-length")};
    return length.text.n > 0 && val_int(&length, &n) &&
           (n < 0 || (uint64_t)n > x->server->options.limits.body_bytes);
}

static enum MHD_Result ask(struct exchange *x)
{
    client_unlink(client_of(x->connection));
    client_of(x->connection)->asked = x;
    x->state = EXCHANGE_ASKED;
    x->request.body = buf_str(&x->upload);
    x->server->options.request(x->server->options.ctx, x, &x->request);
    suspend(x); /* an answer that is there already goes out in the next turn */
    return MHD_YES;
}

/* The library calls it when the headers are there, for each part of the body, at the body's end,
 * and after each resume until a response is queued. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_n, void **context)
{
    (void)cls;
    (void)connection;
    (void)url;
    (void)version;
    struct exchange *x = *context;
    if (x->request.headers == NULL) {
        client_of(x->connection)->early = NULL;
        if (!take_headers(x, method)) {
            return refuse(x, 431, "{\"error\":{\"message\":\"the request has too many headers\"}}");
        }
        return says_too_large(x)
                   ? refuse(x, 413, "{\"error\":{\"message\":\"the request is too large\"}}")
                   : MHD_YES;
    }
    if (*upload_n > 0) {
        buf_add(&x->upload, (struct str){upload, *upload_n});
        *upload_n = 0;
        if (x->upload.truncated) {
            tell_refused(x, 413);
            return MHD_NO;
        }
        return MHD_YES;
    }
    if (x->state == EXCHANGE_READING) {
        return ask(x);
    }
    if (!x->head && x->state == EXCHANGE_ASKED) { /* resumed for another reason */
        suspend(x);
        return MHD_YES;
    }
    return respond(x);
}

/* ---- the server's life ---- */

static int address_of(const char *text, uint16_t port, struct sockaddr_storage *out, struct err *e)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    *out = (struct sockaddr_storage){0};
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        return 0;
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        return 0;
    }
    return err_set(e, ERR_USAGE, "\"%s\" is no IP address: give one such as 127.0.0.1", text);
}

/* A descriptor for each connection, as far as the system lets us. Returns how many there may be. */
static size_t connections_within_limit(size_t wanted)
{
    size_t files = files_open_max();
    size_t most = files > 2 * SPARE_DESCRIPTORS ? files - SPARE_DESCRIPTORS : SPARE_DESCRIPTORS;
    return wanted < most ? wanted : most;
}

static struct MHD_Daemon *daemon_start(struct server *s, const struct sockaddr_storage *address)
{
    const struct server_limits *limits = &s->options.limits;
    size_t connections = connections_within_limit(limits->connections);
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_SUPPRESS_DATE_NO_CLOCK;
    if (address->ss_family == AF_INET6) {
        flags |= MHD_USE_IPv6;
    }
    return lib.MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, s, MHD_OPTION_SOCK_ADDR, address,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        limits->header_bytes, MHD_OPTION_URI_LOG_CALLBACK, on_target, s,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        s, MHD_OPTION_LISTENING_ADDRESS_REUSE, 0U, MHD_OPTION_END);
}

static void watch_daemon(struct server *s)
{
    const union MHD_DaemonInfo *info = lib.MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    uv_loop_t *uv = loop_uv(s->options.loop);
    s->poll = mem_zero(sizeof *s->poll);
    s->poll->data = s;
    loop_must("watch the server", uv_poll_init(uv, s->poll, info->epoll_fd));
    loop_must("watch the server", uv_poll_start(s->poll, UV_READABLE, on_ready));
    s->sweep = mem_zero(sizeof *s->sweep);
    s->sweep->data = s;
    loop_must("start a timer", uv_timer_init(uv, s->sweep));
    loop_must("start a timer", uv_timer_start(s->sweep, on_sweep, SWEEP_MS, SWEEP_MS));
    uv_unref((uv_handle_t *)s->sweep);
}

int server_new(const struct server_options *o, struct server **out, struct err *e)
{
    struct sockaddr_storage address;
    int rc = address_of(o->address, o->port, &address, e);
    if (rc == 0) {
        rc = library_load(e);
    }
    if (rc != 0) {
        return rc;
    }
    struct server *s = mem_zero(sizeof *s);
    s->options = *o;
    s->options.address = NULL;
    errno = 0;
    s->daemon = daemon_start(s, &address);
    if (s->daemon == NULL) {
        rc = err_set(e, ERR_NET, "cannot listen on %s, port %u: %s", o->address, (unsigned)o->port,
                     errno != 0 ? strerror(errno) : "libmicrohttpd refused");
        free(s);
        return rc;
    }
    watch_daemon(s);
    *out = s;
    return 0;
}

uint16_t server_port(const struct server *s)
{
    const union MHD_DaemonInfo *info =
        lib.MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info->port;
}

static void server_quiesce(struct server *s)
{
    MHD_socket fd = lib.MHD_quiesce_daemon(s->daemon);
    if (fd != MHD_INVALID_SOCKET) {
        close(fd);
    }
}

void server_stop(struct server *s, void (*done)(void *arg), void *arg)
{
    s->stopped = done;
    s->stopped_arg = arg;
    server_quiesce(s);
    stopped(s);
}

void server_free(struct server *s)
{
    if (s == NULL) {
        return;
    }
    s->stopped = NULL;
    server_quiesce(s);
    for (struct exchange *x = s->exchanges; x != NULL; x = x->next) {
        if (x->state == EXCHANGE_ASKED) {
            x->state = EXCHANGE_ENDED;
            x->end = HTTP_RESET;
        }
        if (x->wake_due) {
            loop_undefer(s->options.loop, wake, x);
        }
        wake(x);
    }
    lib.MHD_run(s->daemon);
    lib.MHD_stop_daemon(s->daemon);
    if (s->pump_due) {
        loop_undefer(s->options.loop, pump, s);
    }
    uv_close((uv_handle_t *)s->poll, free_handle);
    uv_close((uv_handle_t *)s->sweep, free_handle);
    free(s);
}
