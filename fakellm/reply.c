#include "fakellm/fake_int.h"
#include "kernel/base/json.h"

enum {
    MS_MAX = 24 * 3600 * 1000,
    TOKENS_MAX = 1000000000,
    BYTES_MAX = 1 << 20,
    TOKEN_BYTES = 4, /* what one token of `chunk: {tokens: N}` counts */
    RETRY_AFTER_MS_MAX = 24 * 3600 * 1000,
};

#define FAKE_NAME(name, text) text,
const char *const fake_fault_names[] = {FAKE_FAULTS(FAKE_NAME) NULL};
#undef FAKE_NAME

static int load_arguments(struct doc d, const struct val *v, struct str *out, struct err *e)
{
    const struct val *a = val_get(v, "arguments");
    if (a == NULL) {
        *out = STR("{}");
        return 0;
    }
    if (a->kind == VAL_STRING) {
        *out = a->text;
        return 0;
    }
    if (a->kind != VAL_OBJECT) {
        return doc_fail(d, a, e,
                        "expected a map of arguments, or a string that is sent as it is; found %s",
                        val_kind_name(a->kind));
    }
    struct buf text = {0};
    json_add(&text, a);
    *out = arena_str(d.arena, buf_str(&text));
    buf_free(&text);
    return 0;
}

static int load_calls(struct doc d, const struct val *v, struct fake_reply *out, struct err *e)
{
    static const char *const keys[] = {"id", "name", "arguments", NULL};
    const struct val *list = NULL;
    int rc = doc_list(d, v, "calls", DOC_OPTIONAL, &list, e);
    if (rc != 0 || list == NULL) {
        return rc;
    }
    out->calls = arena_array(d.arena, list->count, sizeof *out->calls);
    out->n_calls = list->count;
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        const struct val *item = &list->items[i];
        struct tool_call *call = &out->calls[i];
        rc = doc_keys(d, item, "a call", keys, e);
        rc = rc != 0 ? rc : doc_str(d, item, "id", DOC_OPTIONAL, &call->id, e);
        rc = rc != 0 ? rc : doc_str(d, item, "name", DOC_REQUIRED, &call->name, e);
        rc = rc != 0 ? rc : load_arguments(d, item, &call->arguments, e);
    }
    return rc;
}

static int load_usage(struct doc d, const struct val *v, struct usage *out, struct err *e)
{
    const struct doc_number numbers[] = {
        {"input", 0, 0, TOKENS_MAX, &out->input},
        {"output", 0, 0, TOKENS_MAX, &out->output},
        {"cached", 0, 0, TOKENS_MAX, &out->cached},
        {"reasoning", 0, 0, TOKENS_MAX, &out->reasoning},
    };
    *out = USAGE_UNKNOWN;
    return doc_numbers(d, v, "usage", "usage", numbers, sizeof numbers / sizeof numbers[0], e);
}

static int load_stop(struct doc d, const struct val *v, struct fake_reply *out, struct err *e)
{
    const char *names[STOP_PAUSE + 2] = {0};
    for (int i = 0; i <= STOP_PAUSE; i++) {
        names[i] = stop_name((enum stop_reason)i);
    }
    int stop = out->n_calls > 0 ? STOP_TOOL_USE : STOP_END_TURN;
    int rc = doc_enum(d, v, "stop", names, &stop, e);
    out->stop = (enum stop_reason)stop;
    return rc;
}

static int load_chunk(struct doc d, const struct val *v, struct fake_reply *out, struct err *e)
{
    static const char *const keys[] = {"bytes", "tokens", NULL};
    const struct val *c = val_get(v, "chunk");
    if (c == NULL || c->kind == VAL_NULL) {
        return 0;
    }
    if (c->kind == VAL_STRING && str_is(c->text, "random")) {
        out->chunking = CHUNK_RANDOM;
        return 0;
    }
    if (c->kind != VAL_OBJECT) {
        return doc_fail(d, c, e, "expected {bytes: N}, {tokens: N} or random, found %s",
                        c->kind == VAL_STRING ? "another word" : val_kind_name(c->kind));
    }
    int64_t tokens = 0;
    int rc = doc_keys(d, c, "chunk", keys, e);
    if (rc == 0 && c->count != 1) {
        return doc_fail(d, c, e, "expected exactly one of bytes and tokens");
    }
    rc = rc != 0 ? rc : doc_int(d, c, "bytes", DOC_OPTIONAL, 1, BYTES_MAX, &out->piece_bytes, e);
    rc = rc != 0 ? rc : doc_int(d, c, "tokens", DOC_OPTIONAL, 1, BYTES_MAX, &tokens, e);
    if (rc == 0) {
        out->chunking = CHUNK_BYTES;
        out->piece_bytes = tokens > 0 ? tokens * TOKEN_BYTES : out->piece_bytes;
    }
    return rc;
}

int fake_reply_load(struct doc d, const struct val *v, struct fake_reply *out, struct err *e)
{
    static const char *const keys[] = {"text",  "reasoning", "calls",    "usage", "stop",
                                       "chunk", "ttft_ms",   "chunk_ms", NULL};
    int rc = doc_keys(d, v, "a reply", keys, e);
    rc = rc != 0 ? rc : doc_str(d, v, "text", DOC_OPTIONAL, &out->text, e);
    rc = rc != 0 ? rc : doc_str(d, v, "reasoning", DOC_OPTIONAL, &out->reasoning, e);
    rc = rc != 0 ? rc : load_calls(d, v, out, e);
    rc = rc != 0 ? rc : load_usage(d, v, &out->usage, e);
    rc = rc != 0 ? rc : load_stop(d, v, out, e);
    rc = rc != 0 ? rc : load_chunk(d, v, out, e);
    rc = rc != 0 ? rc : doc_int(d, v, "ttft_ms", DOC_OPTIONAL, 0, MS_MAX, &out->ttft_ms, e);
    rc = rc != 0 ? rc : doc_int(d, v, "chunk_ms", DOC_OPTIONAL, 0, MS_MAX, &out->chunk_ms, e);
    out->text_null = !val_is(val_get(v, "text"), VAL_STRING);
    return rc;
}

/* Refuses keys that mean nothing for the kind of fault. */
static int check_fault_keys(struct doc d, const struct val *v, enum fake_fault_kind kind,
                            struct err *e)
{
    static const struct {
        const char *key;
        uint32_t kinds;
    } only[] = {
        {"status", 1U << FAULT_STATUS},
        {"retry_after_s", 1U << FAULT_STATUS},
        {"message", 1U << FAULT_STATUS | 1U << FAULT_ERROR_EVENT},
        {"after_bytes", 1U << FAULT_RESET | 1U << FAULT_HANG | 1U << FAULT_TRUNCATE},
        {"chunk_ms", 1U << FAULT_DRIP},
        {"bytes", 1U << FAULT_DRIP},
    };
    for (size_t i = 0; i < sizeof only / sizeof only[0]; i++) {
        const struct val *at = val_get(v, only[i].key);
        if (at != NULL && (only[i].kinds >> kind & 1U) == 0) {
            return doc_fail(d, at, e, "\"%s\" means nothing for the fault \"%s\"; leave it out",
                            only[i].key, fake_fault_names[kind]);
        }
    }
    return 0;
}

/* The kind by `status: N` or `kind: WORD`, of which one must be there. */
static int load_fault_kind(struct doc d, const struct val *v, struct fake_fault *out, struct err *e)
{
    const struct val *status = val_get(v, "status");
    const struct val *kind = val_get(v, "kind");
    if ((status == NULL || status->kind == VAL_NULL) == (kind == NULL || kind->kind == VAL_NULL)) {
        return doc_fail(d, v, e, "expected exactly one of status and kind");
    }
    if (status != NULL && status->kind != VAL_NULL) {
        int64_t code = 0;
        int rc = doc_int(d, v, "status", DOC_REQUIRED, 400, 599, &code, e);
        out->kind = FAULT_STATUS;
        out->status = (int)code;
        return rc;
    }
    int word = 0;
    int rc = doc_enum(d, v, "kind", fake_fault_names + 1, &word, e);
    out->kind = (enum fake_fault_kind)(word + 1);
    return rc;
}

int fake_fault_load(struct doc d, const struct val *v, struct fake_fault *out, struct err *e)
{
    static const char *const keys[] = {"status",   "kind",        "retry_after_s",
                                       "message",  "after_bytes", "delay_ms",
                                       "chunk_ms", "bytes",       NULL};
    *out = (struct fake_fault){
        .retry_after_ms = -1, .after_bytes = -1, .delay_ms = -1, .chunk_ms = 20, .bytes = 1};
    int rc = doc_keys(d, v, "a fault", keys, e);
    rc = rc != 0 ? rc : load_fault_kind(d, v, out, e);
    rc = rc != 0 ? rc : check_fault_keys(d, v, out->kind, e);
    rc = rc != 0
             ? rc
             : doc_scaled(d, v, "retry_after_s", 3, 0, RETRY_AFTER_MS_MAX, &out->retry_after_ms, e);
    rc = rc != 0 ? rc : doc_str(d, v, "message", DOC_OPTIONAL, &out->message, e);
    rc = rc != 0 ? rc
                 : doc_int(d, v, "after_bytes", DOC_OPTIONAL, 0, BYTES_MAX, &out->after_bytes, e);
    rc = rc != 0 ? rc : doc_int(d, v, "delay_ms", DOC_OPTIONAL, 0, MS_MAX, &out->delay_ms, e);
    rc = rc != 0 ? rc : doc_int(d, v, "chunk_ms", DOC_OPTIONAL, 0, MS_MAX, &out->chunk_ms, e);
    return rc != 0 ? rc : doc_int(d, v, "bytes", DOC_OPTIONAL, 1, BYTES_MAX, &out->bytes, e);
}
