/* Drives a model server over loopback, one thread, and says how long it took.
 *
 *   bench_serve load PORT CONNECTIONS REQUESTS FILE   as many requests as it is told over
 * connections that stay open, each the bytes of FILE, "@@@@@@" in them replaced by the request's
 * number; prints: requests nanoseconds p50 p99 bytes bench_serve pass      is itself an upstream:
 * prints its port, reads the port of a proxy before it (or 0: its client asks it directly), and
 * sends streams of pieces; prints the nanoseconds from the upstream's write to the client's read:
 * p50 p99 of first pieces, p50 p99 of later ones */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_MAX = 1 << 20, REQUEST_MAX = 1 << 16, STREAMS = 300, PIECES = 10, EVENTS = 256 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void must_write(int fd, const char *p, size_t n)
{
    if (send(fd, p, n, MSG_NOSIGNAL) != (ssize_t)n) {
        die("send");
    }
}

static void quick(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int dial(long port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        die("connect");
    }
    quick(fd);
    return fd;
}

static int by_size(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The value that `percent` of the others do not exceed; sorts them. */
static int64_t percentile(int64_t *values, size_t n, size_t percent)
{
    qsort(values, n, sizeof *values, by_size);
    return values[(n - 1) * percent / 100];
}

/* ---- load ---- */

struct connection {
    int fd;
    int64_t since;
    size_t n;
    char *answer;
};

static char request[REQUEST_MAX];
static size_t request_n;
static char *number; /* in the request, or NULL */
static size_t asked, answered, bytes;

static void read_request(const char *path)
{
    FILE *f = fopen(path, "rb");
    request_n = f == NULL ? 0 : fread(request, 1, sizeof request - 1, f);
    if (request_n == 0) {
        die(path);
    }
    fclose(f);
    number = strstr(request, "@@@@@@");
}

static void ask(struct connection *c)
{
    if (number != NULL) {
        char digits[8];
        snprintf(digits, sizeof digits, "%06zu", asked % 1000000);
        memcpy(number, digits, 6);
    }
    asked++;
    c->n = 0;
    c->since = now_ns();
    must_write(c->fd, request, request_n);
}

/* An answer ends where its length or its last chunk says. */
static bool is_whole(const struct connection *c)
{
    const char *head = strstr(c->answer, "\r\n\r\n");
    const char *length = strstr(c->answer, "Content-Length: ");
    if (head == NULL) {
        return false;
    }
    if (length != NULL && length < head) {
        return c->n == (size_t)(head + 4 - c->answer) + strtoul(length + 16, NULL, 10);
    }
    return c->n > 5 && memcmp(c->answer + c->n - 5, "0\r\n\r\n", 5) == 0;
}

static void take(struct connection *c, size_t requests, int64_t *took)
{
    ssize_t n = recv(c->fd, c->answer + c->n, ANSWER_MAX - c->n - 1, 0);
    if (n <= 0) {
        fprintf(stderr, "a connection ended after %zu answers\n", answered);
        exit(1);
    }
    c->n += (size_t)n;
    c->answer[c->n] = '\0';
    if (!is_whole(c)) {
        return;
    }
    if (memcmp(c->answer, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "answer %zu: %.200s\n", answered, c->answer);
        exit(1);
    }
    bytes += c->n;
    took[answered++] = now_ns() - c->since;
    if (asked < requests) {
        ask(c);
    }
}

static void load(long port, size_t n, size_t requests)
{
    struct connection *all = calloc(n, sizeof *all);
    int64_t *took = calloc(requests, sizeof *took);
    struct epoll_event events[EVENTS];
    int poll = epoll_create1(0);
    if (all == NULL || took == NULL) {
        die("memory");
    }
    for (size_t i = 0; i < n; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
        all[i].fd = dial(port);
        all[i].answer = malloc(ANSWER_MAX);
        if (all[i].answer == NULL || epoll_ctl(poll, EPOLL_CTL_ADD, all[i].fd, &event) != 0) {
            die("epoll");
        }
    }
    int64_t start = now_ns();
    for (size_t i = 0; i < n && asked < requests; i++) {
        ask(&all[i]);
    }
    while (answered < requests) {
        int ready = epoll_wait(poll, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            take(events[i].data.ptr, requests, took);
        }
    }
    int64_t all_ns = now_ns() - start;
    int64_t p50 = percentile(took, requests, 50), p99 = percentile(took, requests, 99);
    printf("%zu %" PRId64 " %" PRId64 " %" PRId64 " %zu\n", requests, all_ns, p50, p99, bytes);
}

/* ---- pass ---- */

static int64_t firsts[STREAMS], laters[STREAMS * (PIECES - 1)];

/* Reads until `text` has come; text is at the end of what comes. */
static void read_until(int fd, const char *text)
{
    static char got[REQUEST_MAX];
    size_t n = 0;
    do {
        ssize_t more = recv(fd, got + n, sizeof got - n - 1, 0);
        if (more <= 0) {
            die("recv");
        }
        n += (size_t)more;
        got[n] = '\0';
    } while (strstr(got, text) == NULL);
}

static void stream(int client, int upstream, size_t s)
{
    static const char question[] =
        "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
        "Content-Length: 15\r\n\r\n{\"stream\":true}";
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    const struct timespec gap = {.tv_nsec = 500000};
    must_write(client, question, sizeof question - 1);
    read_until(upstream, "{\"stream\":true}");
    for (size_t i = 0; i < PIECES; i++) {
        char event[64], out[512];
        int n = snprintf(event, sizeof event, "data: {\"s\":%zu,\"i\":%zu}\n\n", s, i);
        int m = snprintf(out, sizeof out, "%s%x\r\n%s\r\n", i == 0 ? head : "", (unsigned)n, event);
        nanosleep(&gap, NULL);
        int64_t start = now_ns();
        must_write(upstream, out, (size_t)m);
        read_until(client, event);
        *(i == 0 ? &firsts[s] : &laters[s * (PIECES - 1) + i - 1]) = now_ns() - start;
    }
    must_write(upstream, "0\r\n\r\n", 5);
    read_until(client, "0\r\n\r\n");
}

static void pass(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    char line[32];
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 8) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &size) != 0) {
        die("listen");
    }
    printf("%u\n", (unsigned)ntohs(at.sin_port));
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL) {
        die("stdin");
    }
    long port = strtol(line, NULL, 10);
    int client = dial(port != 0 ? port : ntohs(at.sin_port));
    if (port != 0) { /* the proxy connects when it is asked first: a request that is thrown away */
        must_write(client, "GET /v1/x HTTP/1.1\r\nHost: h\r\n\r\n", 31);
    }
    int upstream = accept(listener, NULL, NULL);
    quick(upstream);
    if (port != 0) {
        read_until(upstream, "\r\n\r\n");
        must_write(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 40);
        read_until(client, "\r\n\r\nok");
    }
    for (size_t s = 0; s < STREAMS; s++) {
        stream(client, upstream, s);
    }
    size_t n = STREAMS * (PIECES - 1);
    int64_t a = percentile(firsts, STREAMS, 50), b = percentile(firsts, STREAMS, 99);
    int64_t c = percentile(laters, n, 50), d = percentile(laters, n, 99);
    printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", a, b, c, d);
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "load") == 0) {
        read_request(argv[5]);
        load(strtol(argv[2], NULL, 10), strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
    } else if (argc == 2 && strcmp(argv[1], "pass") == 0) {
        pass();
    } else {
        fprintf(stderr, "usage: bench_serve load PORT CONNECTIONS REQUESTS FILE | pass\n");
        return 2;
    }
    return 0;
}
