#include "kernel/drive/tests/loopback.h"

#include "ci/testing/testing.h"
#include "kernel/base/arena.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static void on_closed(uv_handle_t *handle)
{
    struct loopback_peer *p = handle->data;
    *p->at_me = p->next;
    if (p->next != NULL) {
        p->next->at_me = p->at_me;
    }
    buf_free(&p->got);
    free(p);
}

static void on_pause_closed(uv_handle_t *handle)
{
    struct loopback_peer *p = handle->data;
    uv_close((uv_handle_t *)&p->tcp, on_closed);
}

bool loopback_closing(const struct loopback_peer *p)
{
    return uv_is_closing((const uv_handle_t *)&p->pause) != 0;
}

void loopback_close(struct loopback_peer *p)
{
    if (!loopback_closing(p)) {
        uv_close((uv_handle_t *)&p->pause, on_pause_closed);
    }
}

void loopback_send(struct loopback_peer *p, const char *text, uv_write_cb sent)
{
    loopback_send_bytes(p, text, strlen(text), sent);
}

void loopback_send_bytes(struct loopback_peer *p, const char *bytes, size_t n, uv_write_cb sent)
{
    union {
        const char *from;
        char *to; /* libuv does not write there */
    } bytes_of = {bytes};
    uv_buf_t out = uv_buf_init(bytes_of.to, (unsigned)n);
    uv_write(&p->write, (uv_stream_t *)&p->tcp, &out, 1, sent);
}

/* A request is whole when its head has come and as many bytes as Content-Length says; only a POST
 * must say it. */
static bool is_whole(struct str s)
{
    size_t head = str_find(s, STR("\r\n\r\n"));
    size_t length = str_find(s, STR("Content-Length: "));
    if (head == SIZE_MAX || (length == SIZE_MAX && str_starts(s, "POST "))) {
        return false;
    }
    size_t body = length == SIZE_MAX ? 0 : strtoul(s.p + length + 16, NULL, 10);
    return s.n >= head + 4 + body;
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *out)
{
    struct loopback_peer *p = handle->data;
    (void)size;
    *out = uv_buf_init(p->input, sizeof p->input);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *in)
{
    struct loopback_peer *p = stream->data;
    struct loopback *s = p->server;
    if (n < 0) {
        if (s->on_left != NULL) {
            s->on_left(p);
        }
        loopback_close(p);
        return;
    }
    buf_add(&p->got, (struct str){in->base, (size_t)n});
    if (s->greets || is_whole(buf_str(&p->got))) {
        s->requests++;
        buf_clear(&s->request);
        buf_add(&s->request, buf_str(&p->got));
        buf_clear(&p->got);
        s->on_request(p);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct loopback_peer *p = mem_zero(sizeof *p);
    CU_ASSERT_EQUAL(status, 0);
    p->server = listener->data;
    p->server->connections++;
    p->next = p->server->peers;
    p->at_me = &p->server->peers;
    if (p->next != NULL) {
        p->next->at_me = &p->next;
    }
    p->server->peers = p;
    uv_tcp_init(listener->loop, &p->tcp);
    uv_timer_init(listener->loop, &p->pause);
    p->tcp.data = p;
    p->pause.data = p;
    p->write.data = p;
    CU_ASSERT_EQUAL(uv_accept(listener, (uv_stream_t *)&p->tcp), 0);
    uv_unref((uv_handle_t *)&p->tcp);
    uv_read_start((uv_stream_t *)&p->tcp, on_room, on_read);
}

void loopback_start(struct loopback *s, uv_loop_t *loop)
{
    struct sockaddr_in address;
    int size = sizeof address;
    uv_tcp_init(loop, &s->listener);
    s->listener.data = s;
    CU_ASSERT_EQUAL_FATAL(uv_ip4_addr("127.0.0.1", 0, &address), 0);
    CU_ASSERT_EQUAL_FATAL(uv_tcp_bind(&s->listener, (struct sockaddr *)&address, 0), 0);
    CU_ASSERT_EQUAL_FATAL(uv_listen((uv_stream_t *)&s->listener, 1024, on_connection), 0);
    CU_ASSERT_EQUAL(uv_tcp_getsockname(&s->listener, (struct sockaddr *)&address, &size), 0);
    s->port = ntohs(address.sin_port);
    uv_unref((uv_handle_t *)&s->listener);
}

void loopback_stop(struct loopback *s)
{
    if (!uv_is_closing((uv_handle_t *)&s->listener)) {
        uv_close((uv_handle_t *)&s->listener, NULL);
    }
    for (struct loopback_peer *p = s->peers; p != NULL; p = p->next) {
        loopback_close(p);
    }
}
