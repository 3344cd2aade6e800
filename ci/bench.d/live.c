/* Live sessions at once in one process. Usage: bench_live N. A second process is the endpoint: it
 * answers nobody before all N requests have come, twice: a call of a tool, then the answer. Prints
 * "sessions ms bytes connections": how many completed, how long all took, memory a session at the
 * peak, connections that the endpoint has seen. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "kernel/drive/curl.h"
#include "kernel/drive/endpoint.h"
#include "kernel/drive/limiter.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/machine.h"
#include "kernel/drive/session.h"
#include "kernel/drive/tools.h"

enum { SESSIONS_MAX = 15000, READ_BYTES = 2048 };

static _Noreturn void broken(const char *what)
{
    fprintf(stderr, "bench_live: %s\n", what);
    exit(1);
}

/* ---- the endpoint ---- */

struct peer {
    uv_tcp_t tcp;
    uv_write_t write;
    size_t length; /* of the request's body, known with its head; SIZE_MAX = not yet */
    struct buf got;
};

static struct {
    size_t wanted;
    size_t asked; /* requests of this round that are whole */
    size_t connections;
    struct peer *peers[SESSIONS_MAX];
    size_t round;
} server;

#define CALL                                                                                       \
    "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"type\":"  \
    "\"function\",\"function\":{\"name\":\"calculator\",\"arguments\":\"{\\\"expression\\\":"      \
    "\\\"1+1\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":9,"        \
    "\"completion_tokens\":9}}"
#define ANSWER                                                                                     \
    "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"Two.\"},\"finish_reason\":"  \
    "\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":9}}"

static void answer_all(void)
{
    static char text[1024];
    const char *body = server.round == 0 ? CALL : ANSWER;
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                     "%zu\r\n\r\n%s",
                     strlen(body), body);
    server.round++;
    for (size_t i = 0; i < server.asked; i++) {
        uv_buf_t out = uv_buf_init(text, (unsigned)n);
        uv_write(&server.peers[i]->write, (uv_stream_t *)&server.peers[i]->tcp, &out, 1, NULL);
    }
    server.asked = 0;
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *out)
{
    static char input[READ_BYTES]; /* one reads at a time */
    (void)handle;
    (void)size;
    *out = uv_buf_init(input, sizeof input);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *in)
{
    struct peer *p = stream->data;
    if (n < 0) {
        uv_close((uv_handle_t *)stream, NULL);
        return;
    }
    buf_add(&p->got, (struct str){in->base, (size_t)n});
    struct str got = buf_str(&p->got);
    size_t head = str_find(got, STR("\r\n\r\n"));
    size_t length = str_find(got, STR("Content-Length: "));
    if (head == SIZE_MAX || length == SIZE_MAX ||
        got.n < head + 4 + strtoul(got.p + length + 16, NULL, 10)) {
        return;
    }
    buf_free(&p->got);
    server.peers[server.asked++] = p;
    if (server.asked == server.wanted) {
        answer_all();
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct peer *p = mem_zero(sizeof *p);
    server.connections++;
    uv_tcp_init(listener->loop, &p->tcp);
    p->tcp.data = p;
    if (status != 0 || uv_accept(listener, (uv_stream_t *)&p->tcp) != 0) {
        broken("a connection cannot be taken");
    }
    uv_read_start((uv_stream_t *)&p->tcp, on_room, on_read);
}

static void on_term(uv_signal_t *signal, int number)
{
    (void)number;
    uv_stop(signal->loop);
}

/* Writes its port to `out`, and when it is told to end how many connections came. */
static void serve(size_t wanted, int out)
{
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_t listener;
    uv_signal_t term;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int size = sizeof a;
    server.wanted = wanted;
    uv_tcp_init(loop, &listener);
    uv_signal_init(loop, &term);
    if (uv_tcp_bind(&listener, (struct sockaddr *)&a, 0) != 0 ||
        uv_listen((uv_stream_t *)&listener, 4096, on_connection) != 0 ||
        uv_tcp_getsockname(&listener, (struct sockaddr *)&a, &size) != 0 ||
        uv_signal_start(&term, on_term, SIGTERM) != 0) {
        broken("the endpoint cannot listen");
    }
    int port = ntohs(a.sin_port);
    if (write(out, &port, sizeof port) != sizeof port) {
        broken("pipe");
    }
    uv_run(loop, UV_RUN_DEFAULT);
    if (write(out, &server.connections, sizeof server.connections) < 0) {
        broken("pipe");
    }
    _exit(0);
}

/* ---- the sessions ---- */

struct one {
    struct sched *sched;
    struct transport *transport;
    struct llm *llm;
    struct toolbox *tools;
    struct session *session;
};

static size_t left;

static void on_done(void *ctx)
{
    if (--left == 0) {
        loop_stop(ctx);
    }
}

static void begin(struct one *o, struct loop *loop, struct str url, const struct toolset *tools)
{
    struct kernel_config config = kernel_config_default();
    config.run = STR("0123456789ab");
    config.started_at = STR("2026-11-29T18:00:00.000Z");
    config.model = STR("m");
    config.tools = toolset_specs(tools, &config.n_tools);
    config.budget = (struct budget){.steps = 8,
                                    .tokens = 60000,
                                    .seconds = 600,
                                    .cost_nano = -1,
                                    .calls = 50,
                                    .calls_per_reply = 10};
    o->sched = sched_real(loop);
    o->transport = limiter_transport(limiter_of(loop),
                                     transport_curl(loop, o->sched, TRANSPORT_LIMITS_DEFAULT));
    struct endpoint_options e = {.format = WIRE_CHAT, .base_url = url, .sched = o->sched};
    o->llm = llm_endpoint(o->transport, &e);
    o->tools = toolbox_local(tools, o->sched, loop, 0);
    o->session = session_new(&(struct session_options){.config = config,
                                                       .prompt = STR("One and one?"),
                                                       .llm = o->llm,
                                                       .tools = o->tools,
                                                       .sched = o->sched,
                                                       .max_tokens = -1,
                                                       .ctx = loop,
                                                       .done = on_done});
}

static bool finish(struct one *o)
{
    struct run_result result;
    bool good = session_result(o->session, &result) && result.status == RUN_COMPLETED;
    session_free(o->session);
    o->tools->ops->free(o->tools);
    o->llm->ops->free(o->llm);
    o->transport->ops->free(o->transport);
    sched_free(o->sched);
    return good;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static size_t run(size_t n, int port, int64_t *took_ms, long *kib)
{
    struct one *all = mem_zero(n * sizeof *all);
    struct loop *loop = loop_new();
    struct toolset *tools = toolset_new();
    struct buf url = {0};
    struct err e;
    size_t good = 0;
    buf_fmt(&url, "http://127.0.0.1:%d/v1", port);
    if (toolset_add_builtin(tools, STR("calculator"), &e) != 0) {
        broken(e.message);
    }
    begin(&all[0], loop, buf_str(&url), tools); /* what all share is there from now on */
    long before = peak_kib();
    int64_t start = now_ms();
    for (size_t i = 1; i < n; i++) {
        begin(&all[i], loop, buf_str(&url), tools);
    }
    left = n;
    loop_run(loop);
    *took_ms = now_ms() - start;
    *kib = peak_kib() - before;
    for (size_t i = 0; i < n; i++) {
        good += finish(&all[i]) ? 1 : 0;
    }
    loop_free(loop);
    toolset_free(tools);
    buf_free(&url);
    free(all);
    return good;
}

int main(int argc, char **argv)
{
    size_t n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    int port, out[2], status;
    if (n < 1 || n > SESSIONS_MAX) {
        broken("usage: bench_live N, of 1 to 15000 sessions");
    }
    if (transport_connections_max() < n) {
        fprintf(stderr, "bench_live: %zu sessions want as many open files; ulimit -n says %zu\n", n,
                files_open_max());
        return 1;
    }
    pid_t pid = pipe(out) == 0 ? fork() : -1;
    if (pid == 0) {
        serve(n, out[1]);
    }
    if (pid < 0 || read(out[0], &port, sizeof port) != sizeof port) {
        broken("no endpoint");
    }
    int64_t took_ms;
    long kib;
    size_t connections = 0;
    size_t good = run(n, port, &took_ms, &kib);
    kill(pid, SIGTERM);
    if (read(out[0], &connections, sizeof connections) != sizeof connections ||
        waitpid(pid, &status, 0) != pid) {
        broken("the endpoint broke");
    }
    printf("%zu %lld %lld %zu\n", good, (long long)took_ms, (long long)kib * 1024 / (long long)n,
           connections);
    return good == n ? 0 : 1;
}
