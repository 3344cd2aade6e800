/* Writes a cassette while a session runs. What passes is kept until its end, then appended in one
 * write, so that a killed recorder leaves every finished interaction. An error of the disk never
 * disturbs the session: the first one is told by recorder_close. */
#include "cassettes/recorder.h"
#include "cassettes/cassette_int.h"
#include "kernel/base/json.h"
#include "kernel/drive/appender.h"
#include "kernel/drive/files.h"

#include <assert.h>
#include <stdlib.h>

enum {
    CUT_BYTES = 1 << 20, /* kept of a body beyond CASSETTE_BODY_MAX */
    CHUNKS_MAX = 1 << 20 /* of a body */
};

static_assert(CASSETTE_BODY_MAX == 64 << 20 && CUT_BYTES == 1 << 20, "as the text says");
static const char cut_detail[] =
    "the recording ends here: the answer went on beyond the 64 MiB that a cassette takes, and its "
    "beginning (at most 1 MiB) was kept";

/* One HTTP call under way, outside and inside. */
struct http_call {
    struct recording_transport *t;
    struct http_call *next;
    struct http_call **link; /* what points here */
    struct http_call *inner;
    struct http_sink sink;
    struct arena *arena;
    struct interaction it;
    struct buf body;
    struct buf chunks; /* struct cassette_chunk */
    bool cut;          /* the body was too large: what is kept is its beginning */
};

struct tool_run {
    struct recording_toolbox *t;
    struct tool_run *next;
    struct tool_run **link;
    struct tool_run *inner;
    struct tool_sink sink;
    struct arena *arena;
    struct interaction it;
};

struct recording_transport {
    struct transport base;
    struct recorder *r;
    struct transport *inner;
    struct recording_transport *next;
    struct http_call *calls;
};

struct recording_toolbox {
    struct toolbox base;
    struct recorder *r;
    struct toolbox *inner;
    struct recording_toolbox *next;
    struct tool_run *runs;
};

struct recorder {
    struct appender *file;
    struct sched *sched;
    struct recording_transport *transports;
    struct recording_toolbox *toolboxes;
    bool abandoned; /* what is stopped from now on is not written */
    size_t before;  /* interactions of the cassette that is gone on with */
    size_t written;
    size_t first_cut; /* the interaction whose body was cut first; 0 = none */
    int rc;           /* the first error */
    struct err error;
};

static void append(struct recorder *r, const struct buf *text)
{
    if (r->rc == 0 && text->truncated) {
        r->rc = err_set(&r->error, ERR_LIMIT, "an interaction is too large to be recorded");
    }
    if (r->rc == 0) {
        r->rc = appender_add(r->file, buf_str(text), &r->error);
    }
}

static void append_interaction(struct recorder *r, struct interaction *it)
{
    struct buf text = {0};
    struct buf why = {0};
    it->took_ms = (int64_t)sched_now(r->sched) - it->at_ms;
    cassette_add_interaction(&text, it);
    if (r->rc == 0 && cassette_says_secret(buf_str(&text), &why)) {
        r->rc = err_set(&r->error, ERR_INPUT,
                        "the recording ends before an interaction that holds %.*s, which could not "
                        "be hidden",
                        STR_FMT(buf_str(&why)));
    }
    append(r, &text);
    buf_free(&why);
    r->written += r->rc == 0 ? 1 : 0;
    buf_free(&text);
}

static struct http_header *copy_headers(struct arena *arena, const struct http_header *headers,
                                        size_t n)
{
    struct http_header *copy = arena_array(arena, n, sizeof *copy);
    for (size_t i = 0; i < n; i++) {
        copy[i].name = arena_str(arena, headers[i].name);
        copy[i].value = arena_str(arena, headers[i].value);
    }
    return copy;
}

/* ---- HTTP ---- */

static void free_call(struct http_call *call)
{
    *call->link = call->next;
    if (call->next != NULL) {
        call->next->link = call->link;
    }
    buf_free(&call->body);
    buf_free(&call->chunks);
    arena_free(call->arena);
    free(call);
}

/* Pieces matter where the reader sees them come: in a stream, or when the body came in several. */
static void take_chunks(struct http_call *call)
{
    struct interaction *it = &call->it;
    struct str type = http_header_get(it->headers, it->n_headers, "content-type");
    size_t n = call->chunks.n / sizeof(struct cassette_chunk);
    bool stream = str_starts_nocase(type, "text/event-stream");
    if (n > 1 || (n == 1 && (stream || it->ended == HTTP_STOPPED))) {
        it->chunks = (struct cassette_chunk *)(void *)call->chunks.p;
        it->n_chunks = n;
    }
}

static void write_call(struct http_call *call, enum http_end end, struct str detail)
{
    struct recorder *r = call->t->r;
    struct interaction *it = &call->it;
    it->body = buf_str(&call->body);
    it->ended = call->cut ? HTTP_RESET : end;
    it->detail = call->cut ? str_of(cut_detail) : detail;
    take_chunks(call);
    int rc = cassette_undo_coding(it, call->arena, NULL);
    (void)rc; /* a damaged body is kept as it came */
    append_interaction(r, it);
    if (call->cut && r->first_cut == 0) {
        r->first_cut = r->before + r->written;
    }
}

static void on_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                    size_t n_headers)
{
    struct http_call *call = ctx;
    call->it.status = status;
    call->it.reason = arena_str(call->arena, reason);
    call->it.headers = copy_headers(call->arena, headers, n_headers);
    call->it.n_headers = n_headers;
    call->sink.head(call->sink.ctx, status, reason, headers, n_headers);
}

/* Of a body that is too large the beginning is kept: the rest would fill the memory of a client
 * that reads on and on. */
static void cut(struct http_call *call)
{
    struct buf kept = {0};
    struct cassette_chunk *chunks = (struct cassette_chunk *)(void *)call->chunks.p;
    size_t n = 0;
    for (int64_t left = CUT_BYTES; left > 0 && n < call->chunks.n / sizeof *chunks; n++) {
        chunks[n].bytes = chunks[n].bytes < left ? chunks[n].bytes : left;
        left -= chunks[n].bytes;
    }
    call->chunks.n = n * sizeof *chunks;
    buf_add(&kept, str_slice(buf_str(&call->body), 0, CUT_BYTES));
    buf_free(&call->body);
    call->body = kept;
    call->cut = true;
}

/* One piece more; where there are very many, the last one grows. */
static void add_chunk(struct http_call *call, size_t bytes)
{
    int64_t at = (int64_t)sched_now(call->t->r->sched) - call->it.at_ms;
    size_t n = call->chunks.n / sizeof(struct cassette_chunk);
    if (n == CHUNKS_MAX) {
        struct cassette_chunk *last = (struct cassette_chunk *)(void *)call->chunks.p + n - 1;
        *last = (struct cassette_chunk){at, last->bytes + (int64_t)bytes};
        return;
    }
    struct cassette_chunk chunk = {at, (int64_t)bytes};
    buf_add(&call->chunks, (struct str){(const char *)&chunk, sizeof chunk});
}

static void on_body(void *ctx, struct str piece)
{
    struct http_call *call = ctx;
    if (!call->cut) {
        buf_add(&call->body, piece);
        if (call->body.truncated) {
            cut(call);
        } else {
            add_chunk(call, piece.n);
        }
    }
    call->sink.body(call->sink.ctx, piece);
}

/* A miss is no answer, so there is nothing to record. */
static void on_end(void *ctx, enum http_end end, struct str detail)
{
    struct http_call *call = ctx;
    struct http_sink sink = call->sink;
    if (end != HTTP_MISS) {
        write_call(call, end, detail);
    }
    free_call(call);
    sink.end(sink.ctx, end, detail);
}

static struct http_call *start_call(struct transport *base, const struct http_request *rq,
                                    struct http_sink sink)
{
    struct recording_transport *t = (struct recording_transport *)base;
    struct http_call *call = mem_zero(sizeof *call);
    call->t = t;
    call->sink = sink;
    call->arena = arena_new();
    call->body.max = CASSETTE_BODY_MAX;
    call->it.method = arena_str(call->arena, rq->method);
    call->it.uri = arena_str(call->arena, rq->url);
    call->it.request_headers = copy_headers(call->arena, rq->headers, rq->n_headers);
    call->it.n_request_headers = rq->n_headers;
    call->it.request_body = arena_str(call->arena, rq->body);
    call->it.at_ms = (int64_t)sched_now(t->r->sched);
    call->next = t->calls;
    call->link = &t->calls;
    if (t->calls != NULL) {
        t->calls->link = &call->next;
    }
    t->calls = call;
    call->inner =
        t->inner->ops->start(t->inner, rq, (struct http_sink){call, on_head, on_body, on_end});
    return call;
}

static void stop_call(struct transport *base, struct http_call *call)
{
    struct recording_transport *t = (struct recording_transport *)base;
    t->inner->ops->stop(t->inner, call->inner);
    if (!t->r->abandoned) {
        write_call(call, HTTP_STOPPED, STR(""));
    }
    free_call(call);
}

static void pause_call(struct transport *base, struct http_call *call, bool paused)
{
    http_pause(((struct recording_transport *)base)->inner, call->inner, paused);
}

/* The recorder owns it. */
static void free_transport(struct transport *t)
{
    (void)t;
}

/* ---- tools ---- */

static void free_run(struct tool_run *run)
{
    *run->link = run->next;
    if (run->next != NULL) {
        run->next->link = run->link;
    }
    arena_free(run->arena);
    free(run);
}

/* {"code","message","retryable","hint"}: what a replay needs to fail in the same way. */
static void add_failure(struct buf *out, const struct tool_output *o)
{
    buf_char(out, '{');
    json_put_text(out, "code", o->code);
    json_put_text(out, "message", o->message);
    json_put_bool(out, "retryable", o->retryable);
    if (o->hint.n > 0) {
        json_put_text(out, "hint", o->hint);
    }
    buf_char(out, '}');
}

static void write_run(struct tool_run *run, const struct tool_output *o)
{
    struct interaction *it = &run->it;
    struct buf failure = {0};
    if (o == NULL) {
        it->ended = HTTP_STOPPED;
    } else if (o->ok) {
        it->status = 200;
        it->reason = STR("OK");
        it->body = o->content;
    } else {
        add_failure(&failure, o);
        it->status = 500;
        it->reason = o->code;
        it->body = buf_str(&failure);
    }
    append_interaction(run->t->r, it);
    buf_free(&failure);
}

static void on_result(void *ctx, const struct tool_output *output, bool miss)
{
    struct tool_run *run = ctx;
    struct tool_sink sink = run->sink;
    if (!miss) {
        write_run(run, output);
    }
    free_run(run);
    sink.end(sink.ctx, output, miss);
}

static struct tool_run *start_run(struct toolbox *base, const struct tool_request *rq,
                                  struct tool_sink sink)
{
    struct recording_toolbox *t = (struct recording_toolbox *)base;
    struct tool_run *run = mem_zero(sizeof *run);
    run->t = t;
    run->sink = sink;
    run->arena = arena_new();
    run->it.tool = true;
    run->it.method = STR("CALL");
    run->it.uri = arena_printf(run->arena, "tool:%.*s", STR_FMT(rq->name));
    run->it.request_body = arena_str(run->arena, rq->arguments);
    run->it.call_id = arena_str(run->arena, rq->call_id);
    run->it.at_ms = (int64_t)sched_now(t->r->sched);
    run->next = t->runs;
    run->link = &t->runs;
    if (t->runs != NULL) {
        t->runs->link = &run->next;
    }
    t->runs = run;
    run->inner = t->inner->ops->start(t->inner, rq, (struct tool_sink){run, on_result});
    return run;
}

static void stop_run(struct toolbox *base, struct tool_run *run)
{
    struct recording_toolbox *t = (struct recording_toolbox *)base;
    t->inner->ops->stop(t->inner, run->inner);
    if (!t->r->abandoned) {
        write_run(run, NULL);
    }
    free_run(run);
}

void recorder_decided(struct recorder *r, const struct tool_call *call, struct str word,
                      uint64_t at_ms)
{
    struct arena *arena = arena_new();
    struct interaction it = {.tool = true,
                             .decision = true,
                             .method = STR("ASK"),
                             .uri = arena_printf(arena, "approval:%.*s", STR_FMT(call->name)),
                             .request_body = call->arguments,
                             .call_id = call->id,
                             .status = 200,
                             .reason = STR("OK"),
                             .body = word,
                             .at_ms = (int64_t)at_ms};
    append_interaction(r, &it);
    arena_free(arena);
}

/* The recorder owns it. */
static void free_toolbox(struct toolbox *t)
{
    (void)t;
}

/* ---- the recorder ---- */

static const struct transport_ops transport_ops = {start_call, stop_call, free_transport,
                                                   pause_call};
static const struct toolbox_ops toolbox_ops = {start_run, stop_run, free_toolbox};

/* A recording's folders are made as needed; a folder is no recording. */
static int open_file(const struct recorder_options *o, enum append_mode mode, struct appender **out,
                     struct err *e)
{
    if (path_is_dir(o->path) || str_ends(str_of(o->path), "/")) {
        return err_at(e, ERR_INPUT, o->path, 0, 0,
                      "is a folder; a recording needs a file, such as %s%ssession.yaml", o->path,
                      str_ends(str_of(o->path), "/") ? "" : "/");
    }
    struct arena *arena = arena_new();
    int rc = dir_make(path_dir(arena, o->path), e);
    arena_free(arena);
    return rc != 0 ? rc : appender_open(o->path, mode, out, e);
}

/* Only a recording is overwritten by one: also a damaged one of ours, which is what recording anew
 * mends. A slip in a path would cost any other file. */
static int check_replaced(const char *path, struct err *e)
{
    static const char head[] = "version: 1\nassay:";
    struct arena *arena = arena_new();
    struct str text = {NULL, 0};
    struct cassette *c = NULL;
    struct err why;
    int rc = path_is_file(path) ? file_read(arena, path, CASSETTE_BYTES_MAX, &text, e) : 0;
    bool known = text.n < sizeof head ? str_starts(str_of(head), arena_cstr(arena, text))
                                      : str_starts(text, head);
    if (rc == 0 && !known && cassette_parse(path, text, &c, NULL, &why) != 0) {
        rc = err_at(e, ERR_INPUT, path, 0, 0,
                    "is there and is no cassette, so it is not overwritten: remove it, or name "
                    "another file");
    }
    cassette_free(c);
    arena_free(arena);
    return rc;
}

static int start_file(struct recorder *r, const struct recorder_options *o, struct err *e)
{
    int rc = o->overwrite ? check_replaced(o->path, e) : 0;
    if (rc != 0) {
        return rc;
    }
    rc = open_file(o, o->overwrite ? APPEND_TRUNCATE : APPEND_NEW, &r->file, e);
    if (rc == ERR_EXISTS) {
        return err_at(e, rc, o->path, 0, 0,
                      "a cassette exists already: --mode all records it anew, new_episodes adds "
                      "what it lacks, another --record path keeps it");
    }
    if (rc == 0) {
        const struct cassette_head head = {o->run, o->seed, o->started_at, o->place, o->rules};
        struct buf text = {0};
        cassette_add_head(&text, &head);
        append(r, &text);
        buf_free(&text);
    }
    return rc;
}

/* ---- going on with a cassette ---- */

/* What is kept of it: all but a torn tail, to the end of a line. */
static void add_kept(struct buf *out, const struct cassette *c)
{
    buf_add(out, str_slice(c->source, 0, c->whole));
    buf_addz(out, out->n > 0 && out->p[out->n - 1] != '\n' ? "\n" : "");
}

/* Whether an interaction that is added behind the file is read as its next one: not so where
 * another program, or a hand, wrote it in another form. */
static int check_form(const struct cassette *c, struct err *e)
{
    struct buf text = {0};
    struct cassette *longer = NULL;
    const struct interaction probe = {
        .method = STR("POST"), .uri = STR("http://h/"), .status = 200, .reason = STR("OK")};
    add_kept(&text, c);
    cassette_add_interaction(&text, &probe);
    bool good = c->ours && cassette_parse(c->path, buf_str(&text), &longer, NULL, NULL) == 0 &&
                longer->n == c->n + 1 && !longer->torn;
    cassette_free(longer);
    buf_free(&text);
    return good ? 0
                : err_at(e, ERR_INPUT, c->path, 0, 0,
                         "%s, so nothing can be added to it: record it anew with --mode all, or "
                         "bring it into our form with assay cassette import",
                         c->ours ? "its interactions do not end the file"
                                 : "another program recorded it");
}

/* The file is ours alone from here on: it must still be what was loaded. */
static int check_unchanged(const struct cassette *c, struct err *e)
{
    struct arena *arena = arena_new();
    struct str now;
    int rc = file_read(arena, c->path, CASSETTE_BYTES_MAX, &now, e);
    if (rc == 0 && !str_eq(now, c->source)) {
        rc = err_at(e, ERR_IO, c->path, 0, 0,
                    "another run has changed it meanwhile; start this one again");
    }
    arena_free(arena);
    return rc;
}

static int go_on(struct recorder *r, const struct recorder_options *o, struct err *e)
{
    const struct cassette *c = o->after;
    bool same = path_same(o->path, c->path);
    int rc = check_form(c, e);
    rc = rc != 0 ? rc : open_file(o, same ? APPEND_CONTINUE : APPEND_TRUNCATE, &r->file, e);
    if (rc == 0 && same) {
        rc = check_unchanged(c, e);
    }
    if (rc == 0 && same && c->whole < c->source.n) {
        rc = file_cut(o->path, c->whole, e);
    }
    if (rc == 0) {
        struct buf head = {0};
        add_kept(&head, c);
        struct str rest = str_slice(buf_str(&head), same ? c->whole : 0, head.n);
        rc = rest.n == 0 ? 0 : appender_add(r->file, rest, e);
        buf_free(&head);
    }
    if (rc != 0 && r->file != NULL) {
        int closed = appender_close(r->file, NULL);
        (void)closed; /* the first error is the one to tell */
    }
    return rc;
}

int recorder_new(const struct recorder_options *o, struct recorder **out, struct err *e)
{
    struct recorder *r = mem_zero(sizeof *r);
    r->sched = o->sched;
    r->before = o->after != NULL ? o->after->n : 0;
    int rc = o->after != NULL ? go_on(r, o, e) : start_file(r, o, e);
    if (rc != 0) {
        free(r);
        return rc;
    }
    *out = r;
    return 0;
}

size_t recorder_count(const struct recorder *r)
{
    return r->written;
}

struct transport *recorder_transport(struct recorder *r, struct transport *inner)
{
    struct recording_transport *t = mem_zero(sizeof *t);
    *t = (struct recording_transport){{&transport_ops}, r, inner, r->transports, NULL};
    r->transports = t;
    return &t->base;
}

struct toolbox *recorder_toolbox(struct recorder *r, struct toolbox *inner)
{
    struct recording_toolbox *t = mem_zero(sizeof *t);
    *t = (struct recording_toolbox){{&toolbox_ops}, r, inner, r->toolboxes, NULL};
    r->toolboxes = t;
    return &t->base;
}

void recorder_abandon(struct recorder *r)
{
    r->abandoned = true;
}

int recorder_close(struct recorder *r, struct err *e)
{
    while (r->transports != NULL) {
        struct recording_transport *t = r->transports;
        while (t->calls != NULL) {
            stop_call(&t->base, t->calls);
        }
        r->transports = t->next;
        free(t);
    }
    while (r->toolboxes != NULL) {
        struct recording_toolbox *t = r->toolboxes;
        while (t->runs != NULL) {
            stop_run(&t->base, t->runs);
        }
        r->toolboxes = t->next;
        free(t);
    }
    int rc = r->rc;
    if (rc == 0 && r->first_cut > 0) {
        rc = err_set(&r->error, ERR_NET,
                     "interaction %zu is cut in the recording: its answer went on beyond %d MiB",
                     r->first_cut, CASSETTE_BODY_MAX >> 20);
    }
    struct err late;
    int closed = appender_close(r->file, &late);
    if (rc == 0 && closed != 0) {
        rc = closed;
        r->error = late;
    }
    if (rc != 0 && e != NULL) {
        *e = r->error;
    }
    free(r);
    return rc;
}
