/* Speed of a replay: a cassette of INTERACTIONS requests of about 4 KB is written to FILE, loaded,
 * and asked for all of them in another order, by whole body, one after the other. Usage:
 * bench_replay FILE. Prints "interactions bytes load_ns index_ns replay_ns": the fastest of ROUNDS;
 * index_ns is what a player takes to be made, replay_ns is for all requests. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cassettes/player.h"
#include "kernel/base/json.h"
#include "kernel/drive/files.h"
#include "kernel/drive/loop.h"

enum { INTERACTIONS = 10000, BODY_BYTES = 4096, STEP = 7919, ROUNDS = 7 };

/* Of the processor, so that other programs of the machine count less. */
static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static _Noreturn void broken(const char *what)
{
    fprintf(stderr, "bench_replay: %s\n", what);
    exit(1);
}

/* A session of some turns, as an encoder sends it. */
static void add_request(struct buf *out, int i)
{
    size_t start = out->n;
    buf_addz(out, "{\"model\":\"gpt-4.1-mini\",\"messages\":[");
    for (int turn = 0; out->n - start < BODY_BYTES - 700; turn++) {
        buf_fmt(out,
                "%s{\"role\":\"user\",\"content\":\"Question %d of session %d: what does order "
                "%d hold, and when was it sent?\"},{\"role\":\"assistant\",\"content\":\"It holds "
                "%d parts \\u2014 sent on day %d.\\nAnything else?\"}",
                turn == 0 ? "" : ",", turn, i, i * 31 + turn, turn + 3, turn * 2);
    }
    buf_addz(out, "],\"tools\":[");
    for (int t = 0; t < 3; t++) {
        buf_fmt(out,
                "%s{\"type\":\"function\",\"function\":{\"name\":\"look_up_%d\",\"description\":"
                "\"Looks up an order.\",\"parameters\":{\"type\":\"object\",\"properties\":{\"id\":"
                "{\"type\":\"string\"}},\"required\":[\"id\"]}}}",
                t == 0 ? "" : ",", t);
    }
    buf_addz(out, "],\"temperature\":0}");
}

static void write_cassette(const char *path)
{
    struct buf file = {0};
    struct buf body = {0};
    struct err e;
    buf_addz(&file, "version: 1\nassay: {format: 1, encoder: 1, run: ab, seed: 1, started_at: "
                    "\"2026-11-29T18:00:00.000Z\"}\ninteractions:\n");
    for (int i = 0; i < INTERACTIONS; i++) {
        buf_clear(&body);
        add_request(&body, i);
        const struct interaction it = {
            .method = STR("POST"),
            .uri = STR("https://api.openai.com/v1/chat/completions"),
            .request_body = buf_str(&body),
            .status = 200,
            .reason = STR("OK"),
            .body = STR("{\"id\":\"1\",\"object\":\"chat.completion\",\"model\":\"m\",\"choices\":["
                        "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Yes.\"},"
                        "\"finish_reason\":\"stop\"}]}")};
        cassette_add_interaction(&file, &it);
    }
    if (file_replace(path, buf_str(&file), &e) != 0) {
        broken("the file cannot be written");
    }
    buf_free(&file);
    buf_free(&body);
}

static void on_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                    size_t n)
{
    (void)ctx;
    (void)status;
    (void)reason;
    (void)headers;
    (void)n;
}

static void on_body(void *ctx, struct str piece)
{
    (void)ctx;
    (void)piece;
}

static void on_end(void *ctx, enum http_end end, struct str detail)
{
    int *answered = ctx;
    (void)detail;
    *answered += end == HTTP_CLEAN;
}

struct times {
    int64_t load, index, replay;
};

static void keep_less(int64_t *best, int64_t took)
{
    *best = *best == 0 || took < *best ? took : *best;
}

static void replay(const struct cassette *c, const struct buf *bodies, struct times *best)
{
    int answered = 0;
    struct loop *loop = loop_new();
    struct sched *sched = sched_virtual(loop);
    const struct player_options o = {.cassette = c, .sched = sched};
    int64_t start = now_ns();
    struct player *p = player_new(&o);
    keep_less(&best->index, now_ns() - start);
    struct transport *t = player_transport(p);
    start = now_ns();
    for (size_t i = 0; i < INTERACTIONS; i++) {
        const struct http_request rq = {STR("POST"), STR("https://h/v1/chat/completions"), NULL, 0,
                                        buf_str(&bodies[i * STEP % INTERACTIONS])};
        t->ops->start(t, &rq, (struct http_sink){&answered, on_head, on_body, on_end});
        loop_run(loop);
    }
    keep_less(&best->replay, now_ns() - start);
    if (answered != INTERACTIONS) {
        broken("a request was not answered");
    }
    player_free(p);
    sched_free(sched);
    loop_free(loop);
}

int main(int argc, char **argv)
{
    struct times best = {0, 0, 0};
    struct err e;
    size_t bytes = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: bench_replay FILE\n");
        return 2;
    }
    struct buf *bodies = mem_zero(INTERACTIONS * sizeof *bodies);
    for (int i = 0; i < INTERACTIONS; i++) {
        add_request(&bodies[i], i);
    }
    write_cassette(argv[1]);
    for (int round = 0; round < ROUNDS; round++) {
        struct cassette *c = NULL;
        int64_t start = now_ns();
        if (cassette_load(argv[1], &c, NULL, &e) != 0) {
            broken("its own cassette is refused");
        }
        keep_less(&best.load, now_ns() - start);
        bytes = c->source.n;
        replay(c, bodies, &best);
        cassette_free(c);
    }
    printf("%d %zu %lld %lld %lld\n", INTERACTIONS, bytes, (long long)best.load,
           (long long)best.index, (long long)best.replay);
    for (int i = 0; i < INTERACTIONS; i++) {
        buf_free(&bodies[i]);
    }
    free(bodies);
    return 0;
}
