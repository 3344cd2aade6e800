/* Answers of OpenAI Responses. Source: OpenAI API reference, "Responses" and "Streaming events". */
#include "kernel/base/text.h"
#include "kernel/wire/wire_int.h"

/* INDEX_SETTLED: of an item that is complete and came without output_index. */
enum { INDEX_NONE = -1, INDEX_SETTLED = -2, STATUS_CHARS = 40 };

static const struct stop_word incomplete_words[] = {
    {"max_output_tokens", STOP_MAX_TOKENS},
    {"max_tokens", STOP_MAX_TOKENS},
    {"content_filter", STOP_CONTENT_FILTER},
    {NULL, STOP_END_TURN},
};

static void take_usage(struct draft *d, const struct val *u)
{
    struct usage *out = &d->usage;
    draft_count(&out->input, val_get(u, "input_tokens"));
    draft_count(&out->cached, val_path(u, "input_tokens_details", "cached_tokens", NULL));
    draft_count(&out->cache_write, val_path(u, "input_tokens_details", "cache_write_tokens", NULL));
    draft_count(&out->output, val_get(u, "output_tokens"));
    draft_count(&out->reasoning, val_path(u, "output_tokens_details", "reasoning_tokens", NULL));
}

/* A whole text: nothing of it is handed on as a delta. */
static void put_text(struct draft *d, enum block_kind kind, int64_t index, const struct val *text)
{
    struct block *b = val_is(text, VAL_STRING) ? draft_add(d, kind, index) : NULL;
    if (b != NULL) {
        buf_add(&b->text, text->text);
    }
}

static void put_call(struct draft *d, enum block_kind kind, int64_t index, struct str id,
                     struct str name, struct str arguments)
{
    struct block *b = draft_add(d, kind, index);
    if (b != NULL) {
        b->id = arena_str(d->arena, id);
        b->name = arena_str(d->arena, name);
        buf_add(&b->text, arguments);
    }
}

/* The texts of a list's items. Returns how many there were. */
static size_t put_list(struct draft *d, enum block_kind kind, int64_t index, const struct val *list)
{
    size_t n = 0;
    for (size_t i = 0; val_is(list, VAL_ARRAY) && i < list->count; i++) {
        const struct val *text = val_get(val_item(list, i), "text");
        put_text(d, kind, index, text);
        n += val_is(text, VAL_STRING);
    }
    return n;
}

/* An item that goes back as it came. */
static void keep_item(struct draft *d, int64_t index, const struct val *item)
{
    own_begin(d, draft_add(d, BLOCK_OTHER, index), item);
}

/* Reasoning without its encrypted form or its text is only a name for what the provider has not
 * kept. */
static void take_reasoning(struct draft *d, int64_t index, const struct val *item)
{
    const struct val *content = val_get(item, "content");
    if (val_text(val_get(item, "encrypted_content")).n > 0 ||
        (val_is(content, VAL_ARRAY) && content->count > 0)) {
        keep_item(d, index, item);
    }
    if (put_list(d, BLOCK_REASONING, index, val_get(item, "summary")) == 0) {
        put_list(d, BLOCK_REASONING, index, val_get(item, "content"));
    }
}

static void take_message(struct draft *d, int64_t index, const struct val *item)
{
    const struct val *content = val_get(item, "content");
    size_t before = d->n_blocks;
    bool phase = val_text(val_get(item, "phase")).n > 0;
    if (phase) { /* whether it is comment or answer: the model wants to know that of itself */
        keep_item(d, index, item);
    }
    put_list(d, BLOCK_TEXT, index, content);
    for (size_t i = before; phase && i < d->n_blocks; i++) {
        d->blocks[i].told = d->blocks[i].kind == BLOCK_TEXT;
    }
    for (size_t i = 0; val_is(content, VAL_ARRAY) && i < content->count; i++) {
        put_text(d, BLOCK_REFUSAL, index, val_get(val_item(content, i), "refusal"));
    }
}

/* Items of built-in tools that the client carries out; of all other built-in tools the provider
 * does. */
static bool client_carries_out(struct str type, const struct val *item)
{
    if (str_is(type, "tool_search_call")) {
        return str_is(val_text(val_get(item, "execution")), "client");
    }
    if (str_is(type, "shell_call")) {
        return !str_starts(val_text(val_path(item, "environment", "type", NULL)), "container");
    }
    return str_is(type, "function_call") || str_is(type, "custom_tool_call") ||
           str_is(type, "computer_call") || str_is(type, "local_shell_call") ||
           str_is(type, "apply_patch_call");
}

/* What a call was made with: the first member that is there. */
static struct str item_arguments(const struct val *item)
{
    static const char *const keys[] = {"arguments", "input", "action",
                                       "operation", "code",  "queries"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct val *v = val_get(item, keys[i]);
        if (v != NULL && v->kind != VAL_NULL) {
            return arguments_text(v);
        }
    }
    return STR("");
}

static void take_call(struct draft *d, int64_t index, struct str type, const struct val *item)
{
    struct str id = val_text(val_get(item, "call_id"));
    struct str name = val_text(val_get(item, "name"));
    if (id.n == 0) {
        id = val_text(val_get(item, "id"));
    }
    if (name.n == 0) {
        name = str_slice(type, 0, type.n - STR("_call").n);
    }
    enum block_kind kind = client_carries_out(type, item) ? BLOCK_CALL : BLOCK_SERVER_CALL;
    put_call(d, kind, index, id, name, item_arguments(item));
    struct block *b = draft_find(d, BLOCK_SERVER_CALL, index);
    if (kind == BLOCK_SERVER_CALL && b != NULL) {
        own_begin(d, b, item);
    }
}

/* An output item in its newest form, in place of what is known of it. */
static void take_item(struct draft *d, int64_t index, const struct val *item)
{
    struct str type = val_text(val_get(item, "type"));
    draft_drop(d, index);
    if (str_is(type, "message")) {
        take_message(d, index, item);
    } else if (str_is(type, "reasoning")) {
        take_reasoning(d, index, item);
    } else if (str_ends(type, "_call")) {
        take_call(d, index, type, item);
    } else if (type.n > 0) {
        keep_item(d, index, item);
    }
}

static void fail_response(struct draft *d, const struct val *v, struct str status)
{
    if (error_is(v)) {
        error_fail(d, 200, v, STR(""));
    } else {
        draft_fmt(d, FAIL_SERVER, 0, "the response ended with status \"%.*s\"",
                  STR_FMT(text_preview(d->arena, status, STATUS_CHARS)));
    }
}

/* How a response object ended. */
static void take_status(struct draft *d, const struct val *v)
{
    struct str status = val_text(val_get(v, "status"));
    struct str reason = val_text(val_path(v, "incomplete_details", "reason", NULL));
    take_usage(d, val_get(v, "usage"));
    if (str_is(status, "incomplete")) {
        enum stop_reason stop = stop_of_word(incomplete_words, reason);
        draft_finish(d, stop == STOP_END_TURN ? STOP_MAX_TOKENS : stop,
                     reason.n > 0 ? reason : status);
    } else if (str_is(status, "completed") || status.n == 0) {
        draft_finish(d, STOP_END_TURN, status.n > 0 ? status : STR("completed"));
    } else if (str_is(status, "queued") || str_is(status, "in_progress")) {
        draft_fmt(d, FAIL_PROTOCOL, 0,
                  "the response is still %.*s: requests in the background are not followed",
                  STR_FMT(status));
    } else {
        fail_response(d, v, status);
    }
}

static void take_output(struct draft *d, const struct val *output)
{
    for (size_t i = 0; i < output->count; i++) {
        take_item(d, (int64_t)i, val_item(output, i));
    }
}

void responses_body(struct draft *d, const struct val *v)
{
    const struct val *output = val_get(v, "output");
    if (!val_is(output, VAL_ARRAY)) {
        draft_fmt(d, FAIL_PROTOCOL, 0,
                  "the answer is no response: it has no output list; is the base URL right?");
        return;
    }
    take_output(d, output);
    take_status(d, v);
}

/* The last event holds the whole response; some servers leave its output out. */
static void take_final(struct draft *d, const struct val *v)
{
    const struct val *response = val_get(v, "response");
    const struct val *output = val_get(response, "output");
    if (val_is(output, VAL_ARRAY) && output->count > 0) {
        for (size_t i = 0; i < d->n_blocks; i++) {
            d->blocks[i].kind = BLOCK_GONE;
            buf_free(&d->blocks[i].text);
        }
        take_output(d, output);
    }
    take_status(d, response);
    if (d->state == DRAFT_FINISHED) {
        d->state = DRAFT_DONE;
    }
}

/* Arguments of the item at an index: a piece of them, or (`whole`) all. */
static void take_arguments(struct draft *d, int64_t index, const struct val *text, bool whole)
{
    struct block *call = draft_find(d, BLOCK_CALL, index);
    struct block *b = call != NULL ? call : draft_find(d, BLOCK_SERVER_CALL, index);
    if (b == NULL || !val_is(text, VAL_STRING)) {
        return;
    }
    if (whole) {
        buf_clear(&b->text);
    }
    buf_add(&b->text, text->text);
}

static void take_item_event(struct draft *d, int64_t index, const struct val *item, bool done)
{
    take_item(d, index, item);
    for (size_t i = 0; done && index == INDEX_NONE && i < d->n_blocks; i++) {
        if (d->blocks[i].index == INDEX_NONE) {
            d->blocks[i].index = INDEX_SETTLED;
        }
    }
}

void responses_event(struct draft *d, const struct val *v)
{
    struct str type = val_text(val_get(v, "type"));
    struct str delta = val_text(val_get(v, "delta"));
    int64_t index = INDEX_NONE;
    if (!val_int(val_get(v, "output_index"), &index) || index < 0) {
        index = INDEX_NONE;
    }
    if (str_is(type, "response.output_text.delta")) {
        draft_say(d, BLOCK_TEXT, index, delta);
    } else if (str_is(type, "response.refusal.delta")) {
        draft_say(d, BLOCK_REFUSAL, index, delta);
    } else if (str_is(type, "response.reasoning_summary_text.delta") ||
               str_is(type, "response.reasoning_text.delta")) {
        draft_say(d, BLOCK_REASONING, index, delta);
    } else if (str_ends(type, "_arguments.delta") || str_ends(type, "_call_input.delta") ||
               str_ends(type, "_call_code.delta")) {
        take_arguments(d, index, val_get(v, "delta"), false);
    } else if (str_ends(type, "_arguments.done")) {
        take_arguments(d, index, val_get(v, "arguments"), true);
    } else if (str_is(type, "response.output_item.added")) {
        take_item_event(d, index, val_get(v, "item"), false);
    } else if (str_is(type, "response.output_item.done")) {
        take_item_event(d, index, val_get(v, "item"), true);
    } else if (str_is(type, "response.completed") || str_is(type, "response.incomplete") ||
               str_is(type, "response.failed") || str_is(type, "response.cancelled") ||
               str_is(type, "response.done")) {
        take_final(d, v);
    }
}
