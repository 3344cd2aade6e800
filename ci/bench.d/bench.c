/* Speed of our parsers beside others' on the same bytes, in turns, so that both see the same
 * machine. Usage: bench json FILE | sse FILE | cassette FILE | codec PROVIDER. Prints "bytes
 * ours_ns theirs_ns": the fastest of ROUNDS each; theirs_ns 0 = nothing to compare with. A codec is
 * measured on a stream that it has written, beside our own JSON parser on the events alone. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cassettes/cassette.h"
#include "kernel/base/json.h"
#include "kernel/drive/files.h"
#include "kernel/wire/wire.h"

enum { ROUNDS = 50, FILE_BYTES_MAX = 256 << 20 };

/* What is timed: false when it cannot read the text. */
typedef bool (*job)(const char *path, struct str text);

static bool ours_json(const char *path, struct str text)
{
    struct arena *arena = arena_new();
    struct val *v;
    bool ok = json_parse(arena, path, text, &v, NULL) == 0;
    arena_free(arena);
    return ok;
}

static bool theirs_json(const char *path, struct str text)
{
    (void)path;
    cJSON *v = cJSON_ParseWithLength(text.p, text.n);
    cJSON_Delete(v);
    return v != NULL;
}

static bool ours_sse(const char *path, struct str text)
{
    (void)path;
    struct wire_result r;
    struct http_header type = {STR("content-type"), STR("text/event-stream")};
    struct wire_decoder *d = wire_decoder_new(WIRE_CHAT, 200, &type, 1);
    wire_decoder_feed(d, text);
    wire_decoder_end(d, HTTP_CLEAN, STR(""), &r);
    bool ok = r.ok;
    wire_decoder_free(d);
    return ok;
}

/* Only the JSON of each event, put together into nothing: less work than ours. */
static bool theirs_sse(const char *path, struct str text)
{
    (void)path;
    while (text.n > 0) {
        size_t end = str_find(text, STR("\n\n"));
        struct str event = str_slice(text, 0, end);
        if (str_starts(event, "data: {")) {
            cJSON *v = cJSON_ParseWithLength(event.p + 6, event.n - 6);
            cJSON_Delete(v);
        }
        text = end == SIZE_MAX ? (struct str){NULL, 0} : str_slice(text, end + 2, text.n);
    }
    return true;
}

static enum wire_format codec;

static bool ours_codec(const char *path, struct str text)
{
    (void)path;
    struct wire_result r;
    struct wire_decoder *d = wire_decoder_new(codec, 200, NULL, 0);
    wire_decoder_feed(d, text);
    wire_decoder_end(d, HTTP_CLEAN, STR(""), &r);
    bool ok = r.ok;
    wire_decoder_free(d);
    return ok;
}

static bool parser_alone(const char *path, struct str text)
{
    bool ok = true;
    while (text.n > 0 && ok) {
        size_t end = str_find(text, STR("\n\n"));
        struct str event = str_slice(text, 0, end);
        size_t data = str_find(event, STR("data: {"));
        if (data != SIZE_MAX) {
            struct arena *arena = arena_new();
            struct val *v;
            ok = json_parse(arena, path, str_slice(event, data + 6, event.n), &v, NULL) == 0;
            arena_free(arena);
        }
        text = str_slice(text, end + 2, text.n);
    }
    return ok;
}

/* A long answer in pieces as providers send them, and calls. */
static bool make_stream(struct buf *out)
{
    enum { CALLS = 20, SENTENCES = 2000, PIECE_BYTES = 16 };
    struct tool_call calls[CALLS];
    struct buf text = {0};
    for (int i = 0; i < SENTENCES; i++) {
        buf_addz(&text, "The \"gross margin\" fell by 4.2\xC2\xA0points, from 42.4 to 38.2 %.\n");
    }
    for (int i = 0; i < CALLS; i++) {
        static char ids[CALLS][16];
        snprintf(ids[i], sizeof ids[i], "call_%d", i);
        calls[i] = (struct tool_call){str_of(ids[i]), STR("calculator"),
                                      STR("{\"expression\":\"42.4-38.2\",\"digits\":12}")};
    }
    struct reply r = {.content = buf_str(&text),
                      .calls = calls,
                      .n_calls = CALLS,
                      .stop = STOP_TOOL_USE,
                      .usage = {1000, -1, -1, 1000, -1}};
    struct wire_reply_options o = {.model = STR("m"),
                                   .id = STR("id-0123456789abcdef"),
                                   .stream = true,
                                   .include_usage = true,
                                   .piece_bytes = PIECE_BYTES};
    struct err e;
    int rc = wire_encode_reply(codec, &r, &o, out, NULL, &e);
    buf_free(&text);
    return rc == 0;
}

static bool ours_cassette(const char *path, struct str text)
{
    (void)text;
    struct cassette *c;
    struct buf warning = {0};
    bool ok = cassette_load(path, &c, &warning, NULL) == 0;
    buf_free(&warning);
    if (ok) {
        cassette_free(c);
    }
    return ok;
}

static const struct {
    const char *name;
    job ours;
    job theirs;
} benches[] = {
    {"json", ours_json, theirs_json},
    {"sse", ours_sse, theirs_sse},
    {"cassette", ours_cassette, NULL},
    {"codec", ours_codec, parser_alone},
};

enum { CODEC = 3 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Runs `run` once and keeps its time in *best where that is less. */
static bool time_once(job run, const char *path, struct str text, int64_t *best)
{
    int64_t start = now_ns();
    bool ok = run(path, text);
    int64_t took = now_ns() - start;
    *best = *best == 0 || took < *best ? took : *best;
    return ok;
}

static int measure(size_t which, const char *path, struct str text)
{
    int64_t ours = 0;
    int64_t theirs = 0;
    for (int i = 0; i < ROUNDS; i++) {
        if (!time_once(benches[which].ours, path, text, &ours) ||
            (benches[which].theirs != NULL &&
             !time_once(benches[which].theirs, path, text, &theirs))) {
            fprintf(stderr, "bench: %s is no %s\n", path, benches[which].name);
            return 1;
        }
    }
    printf("%zu %lld %lld\n", text.n, (long long)ours, (long long)theirs);
    return 0;
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    struct str text;
    int status = 2;
    if (argc == 3 && strcmp(argv[1], "codec") == 0 && wire_of_provider(str_of(argv[2]), &codec)) {
        struct buf stream = {0};
        status = make_stream(&stream) ? measure(CODEC, argv[2], buf_str(&stream)) : 1;
        buf_free(&stream);
    }
    for (size_t i = 0; argc == 3 && i < CODEC; i++) {
        if (strcmp(argv[1], benches[i].name) == 0) {
            status = file_read(arena, argv[2], FILE_BYTES_MAX, &text, NULL) == 0
                         ? measure(i, argv[2], text)
                         : 1;
        }
    }
    if (status == 2) {
        fprintf(stderr, "usage: bench json|sse|cassette FILE | codec PROVIDER\n");
    }
    arena_free(arena);
    return status;
}
