#define _GNU_SOURCE /* accept4, pipe2 */
#include "cli/tests/loopback.h"

#include "cli/tests/program.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HELD_MAX = 256, REQUEST_BYTES_MAX = 1 << 20, WAIT_MS = PROGRAM_LIMIT_S * 1000 };

const struct loopback_answer loopback_fine = {
    .bytes = LOOPBACK_REPLY("{\"role\":\"assistant\",\"content\":\"Fine.\"}", "stop")};
const struct loopback_answer loopback_calling = {
    .bytes =
        LOOPBACK_REPLY("{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\","
                       "\"type\":\"function\",\"function\":{\"name\":\"calculator\",\"arguments\":"
                       "\"{\\\"expression\\\":\\\"1+1\\\"}\"}}]}",
                       "tool_calls")};
const struct loopback_answer loopback_hanging = {.end = LOOPBACK_HANG};

struct loopback {
    const struct loopback_answer *answers;
    size_t n;
    int listener;
    int stop[2];     /* a byte ends the thread */
    int requests[2]; /* a byte a request */
    size_t connections;
    size_t read_whole;
    int held[HELD_MAX];
    size_t n_held;
    pthread_t thread;
    char url[64];
};

/* Programs that are started meanwhile get none of the server's ends: what it closes is closed. */
static int bind_somewhere(unsigned *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &size) != 0) {
        abort();
    }
    *port = ntohs(a.sin_port);
    return fd;
}

/* Whether the text holds a whole request. */
static int is_whole(const char *text, size_t n)
{
    const char *head = strstr(text, "\r\n\r\n");
    if (head == NULL) {
        return 0;
    }
    size_t length = 0;
    for (const char *line = text; line < head; line = strstr(line, "\r\n") + 2) {
        if (strncasecmp(line, "content-length:", 15) == 0) {
            length = strtoul(line + 15, NULL, 10);
        }
    }
    return n >= (size_t)(head + 4 - text) + length;
}

/* Reads until the request is whole; false when the client went away or the server is stopped. */
static int read_request(const struct loopback *l, int fd)
{
    static char text[REQUEST_BYTES_MAX];
    size_t n = 0;
    while (n + 1 < sizeof text) {
        struct pollfd wait[2] = {{fd, POLLIN, 0}, {l->stop[0], POLLIN, 0}};
        if (poll(wait, 2, WAIT_MS) <= 0 || wait[1].revents != 0) {
            return 0;
        }
        ssize_t got = recv(fd, text + n, sizeof text - n - 1, 0);
        if (got <= 0) {
            return 0;
        }
        n += (size_t)got;
        text[n] = '\0';
        if (is_whole(text, n)) {
            return 1;
        }
    }
    return 0;
}

static void answer(struct loopback *l, int fd)
{
    size_t turn = l->connections < l->n ? l->connections : l->n - 1;
    const struct loopback_answer *a = &l->answers[turn];
    l->connections++;
    if (!read_request(l, fd)) {
        close(fd);
        return;
    }
    size_t n = a->bytes == NULL ? 0 : a->n != 0 ? a->n : strlen(a->bytes);
    for (size_t at = 0; at < n;) {
        ssize_t sent = send(fd, a->bytes + at, n - at, MSG_NOSIGNAL);
        if (sent <= 0) {
            break;
        }
        at += (size_t)sent;
    }
    l->read_whole++;
    if (a->end == LOOPBACK_HANG && l->n_held < HELD_MAX) {
        l->held[l->n_held++] = fd;
    } else {
        shutdown(fd, SHUT_WR);
        close(fd);
    }
    if (write(l->requests[1], "r", 1) != 1) {
        abort();
    }
}

static void *serve(void *arg)
{
    struct loopback *l = arg;
    for (;;) {
        struct pollfd wait[2] = {{l->listener, POLLIN, 0}, {l->stop[0], POLLIN, 0}};
        if (poll(wait, 2, -1) <= 0) {
            continue;
        }
        if (wait[1].revents != 0) {
            return NULL;
        }
        int fd = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            answer(l, fd);
        }
    }
}

struct loopback *loopback_start(const struct loopback_answer *answers, size_t n)
{
    struct loopback *l = calloc(1, sizeof *l);
    unsigned port = 0;
    if (l == NULL || pipe2(l->stop, O_CLOEXEC) != 0 || pipe2(l->requests, O_CLOEXEC) != 0) {
        abort();
    }
    l->answers = answers;
    l->n = n;
    l->listener = bind_somewhere(&port);
    snprintf(l->url, sizeof l->url, "http://127.0.0.1:%u/v1", port);
    if (listen(l->listener, 128) != 0 || pthread_create(&l->thread, NULL, serve, l) != 0) {
        abort();
    }
    return l;
}

const char *loopback_url(const struct loopback *l)
{
    return l->url;
}

void loopback_wait_request(struct loopback *l)
{
    struct pollfd wait = {l->requests[0], POLLIN, 0};
    char byte;
    if (poll(&wait, 1, WAIT_MS) <= 0 || read(l->requests[0], &byte, 1) != 1) {
        FAIL("no request came");
    }
}

size_t loopback_stop(struct loopback *l)
{
    if (write(l->stop[1], "s", 1) != 1 || pthread_join(l->thread, NULL) != 0) {
        abort();
    }
    size_t requests = l->read_whole;
    for (size_t i = 0; i < l->n_held; i++) {
        close(l->held[i]);
    }
    close(l->listener);
    close(l->stop[0]);
    close(l->stop[1]);
    close(l->requests[0]);
    close(l->requests[1]);
    free(l);
    return requests;
}

const char *loopback_refusing(void)
{
    unsigned port = 0;
    bind_somewhere(&port); /* until the tests end: nobody else can listen there */
    return path_of("http://127.0.0.1:%u/v1", port);
}
