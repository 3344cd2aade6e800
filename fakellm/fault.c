#include "fakellm/fake_int.h"
#include "kernel/base/rng.h"

#include <string.h>

enum { GARBAGE_BYTES = 256, SLOW_MS = 5000 };

static size_t end_at(const struct fake_draft *draft, size_t i)
{
    size_t end;
    memcpy(&end, draft->ends.p + i * sizeof end, sizeof end);
    return end;
}

static void add_end(struct fake_draft *draft, size_t end)
{
    buf_add(&draft->ends, (struct str){(const char *)&end, sizeof end});
}

static size_t n_ends(const struct fake_draft *draft)
{
    return draft->ends.n / sizeof(size_t);
}

/* Replaces the whole body by what is in `body`, in one piece, and takes it over. */
static void replace_body(struct fake_draft *draft, struct buf body)
{
    buf_free(&draft->body);
    draft->body = body;
    buf_clear(&draft->ends);
    if (body.n > 0) {
        add_end(draft, body.n);
    }
}

/* Keeps the first n bytes, in the pieces they had. */
static void cut_body(struct fake_draft *draft, size_t n)
{
    size_t kept = 0;
    while (kept < n_ends(draft) && end_at(draft, kept) < n) {
        kept++;
    }
    draft->ends.n = kept * sizeof(size_t);
    draft->body.n = n;
    if (n > 0) {
        add_end(draft, n);
    }
}

/* How much of the body still comes: what the script says, but never all of it. */
static size_t bytes_kept(const struct fake_fault *fault, const struct fake_draft *draft,
                         size_t usual)
{
    size_t want = fault->after_bytes < 0 ? usual : (size_t)fault->after_bytes;
    size_t most = draft->body.n > 0 ? draft->body.n - 1 : 0;
    return want < most ? want : most;
}

static struct str error_message(const struct fake_fault *fault)
{
    return fault->message.n > 0 ? fault->message : STR("a failure that the script asked for");
}

static void make_garbage(uint64_t seed, struct fake_draft *draft)
{
    struct buf body = {0};
    struct rng rng = rng_seeded(seed);
    for (size_t i = 0; i < GARBAGE_BYTES; i++) {
        buf_char(&body, (char)(unsigned char)rng_below(&rng, 256));
    }
    replace_body(draft, body);
}

/* A comma behind the first brace of the body, in a stream of its middle event. */
static void make_bad_json(const struct fake_request *rq, struct fake_draft *draft)
{
    size_t events = n_ends(draft);
    size_t event = rq->stream && events > 1 ? (events - 1) / 2 : 0;
    size_t from = event == 0 ? 0 : end_at(draft, event - 1);
    struct str rest = str_slice(buf_str(&draft->body), from, draft->body.n);
    size_t brace = str_find(rest, STR("{"));
    if (brace == SIZE_MAX) {
        return;
    }
    struct buf body = {0};
    buf_add(&body, str_slice(buf_str(&draft->body), 0, from + brace + 1));
    buf_char(&body, ',');
    buf_add(&body, str_slice(rest, brace + 1, rest.n));
    struct buf ends = draft->ends;
    draft->ends = (struct buf){0};
    for (size_t i = 0; i < events; i++) {
        size_t end;
        memcpy(&end, ends.p + i * sizeof end, sizeof end);
        add_end(draft, i < event ? end : end + 1);
    }
    buf_free(&ends);
    buf_free(&draft->body);
    draft->body = body;
}

/* An error object: in a stream as the second event, else as the whole body. */
static void make_error_event(const struct fake_fault *fault, const struct fake_request *rq,
                             struct fake_draft *draft)
{
    struct buf body = {0};
    if (!rq->stream) {
        wire_encode_error(rq->format, 500, error_message(fault), &body);
        replace_body(draft, body);
        return;
    }
    cut_body(draft, end_at(draft, 0));
    wire_encode_error_event(rq->format, 500, error_message(fault), &draft->body);
    add_end(draft, draft->body.n);
}

static void make_drip(const struct fake_fault *fault, struct fake_draft *draft)
{
    buf_clear(&draft->ends);
    for (size_t at = 0; at < draft->body.n;) {
        size_t left = draft->body.n - at;
        at += (size_t)fault->bytes < left ? (size_t)fault->bytes : left;
        add_end(draft, at);
    }
}

static void make_status(const struct fake_fault *fault, const struct fake_request *rq,
                        struct fake_draft *draft, struct fake_answer *out)
{
    struct buf body = {0};
    wire_encode_error(rq->format, fault->status, error_message(fault), &body);
    replace_body(draft, body);
    out->status = fault->status;
    out->retry_after_ms = fault->retry_after_ms;
    out->content_type = STR("application/json");
}

void fake_fault_apply(const struct fake_fault *fault, const struct fake_request *rq, uint64_t seed,
                      struct fake_draft *draft, struct fake_answer *out)
{
    switch (fault->kind) {
    case FAULT_STATUS: make_status(fault, rq, draft, out); break;
    case FAULT_RESET:
    case FAULT_HANG:
        out->end = fault->kind == FAULT_RESET ? HTTP_RESET : HTTP_TIMEOUT;
        cut_body(draft, bytes_kept(fault, draft, 0));
        if (draft->body.n == 0) {
            out->status = 0;
        }
        break;
    case FAULT_TRUNCATE: cut_body(draft, bytes_kept(fault, draft, draft->body.n / 2)); break;
    case FAULT_GARBAGE: make_garbage(seed, draft); break;
    case FAULT_BAD_JSON: make_bad_json(rq, draft); break;
    case FAULT_ERROR_EVENT: make_error_event(fault, rq, draft); break;
    case FAULT_DRIP: make_drip(fault, draft); break;
    case FAULT_WRONG_TYPE: out->content_type = STR("text/html"); break;
    case FAULT_SLOW_FIRST_BYTE: break;
    }
}

int64_t fake_fault_delay_ms(const struct fake_fault *fault)
{
    int64_t usual = fault->kind == FAULT_SLOW_FIRST_BYTE ? SLOW_MS : 0;
    return fault->delay_ms >= 0 ? fault->delay_ms : usual;
}
