/* Answers of Anthropic Messages. Source: Anthropic API reference, "Messages" and "Streaming
 * Messages". */
#include "kernel/wire/wire_int.h"

static const struct stop_word stop_words[] = {
    {"end_turn", STOP_END_TURN},
    {"tool_use", STOP_TOOL_USE},
    {"max_tokens", STOP_MAX_TOKENS},
    {"model_context_window_exceeded", STOP_MAX_TOKENS},
    {"stop_sequence", STOP_STOP_SEQUENCE},
    {"pause_turn", STOP_PAUSE},
    {"refusal", STOP_REFUSAL},
    {NULL, STOP_END_TURN},
};

/* Counts are cumulative: those that come later replace the earlier ones. */
static void take_usage(struct draft *d, const struct val *u)
{
    draft_count(&d->usage.input, val_get(u, "input_tokens"));
    draft_count(&d->usage.cached, val_get(u, "cache_read_input_tokens"));
    draft_count(&d->usage.cache_write, val_get(u, "cache_creation_input_tokens"));
    draft_count(&d->usage.output, val_get(u, "output_tokens"));
}

static void take_stop(struct draft *d, const struct val *reason)
{
    if (val_is(reason, VAL_STRING)) {
        draft_finish(d, stop_of_word(stop_words, reason->text), reason->text);
    }
}

static void take_call(struct draft *d, enum block_kind kind, int64_t index, const struct val *v)
{
    struct str caller = val_text(val_path(v, "caller", "type", NULL));
    struct block *b = draft_add(d, kind, index);
    if (b == NULL) {
        return;
    }
    b->id = arena_str(d->arena, val_text(val_get(v, "id")));
    b->name = arena_str(d->arena, val_text(val_get(v, "name")));
    b->whole = arena_str(d->arena, arguments_text(val_get(v, "input")));
    /* a call that the provider's own code made is known by its caller */
    if (kind == BLOCK_SERVER_CALL || (caller.n > 0 && !str_is(caller, "direct"))) {
        own_begin(d, b, v);
    }
}

/* A content block. What a reply has no words for is kept as it is: results of server tools,
 * redacted thinking, kinds that came after this was written. */
static void take_block(struct draft *d, int64_t index, const struct val *v)
{
    struct str type = val_text(val_get(v, "type"));
    if (str_is(type, "text")) {
        own_begin(d, draft_add(d, BLOCK_TEXT, index), v);
        draft_say(d, BLOCK_TEXT, index, val_text(val_get(v, "text")));
    } else if (str_is(type, "thinking")) {
        own_begin(d, draft_add(d, BLOCK_REASONING, index), v);
        draft_say(d, BLOCK_REASONING, index, val_text(val_get(v, "thinking")));
    } else if (str_is(type, "tool_use")) {
        take_call(d, BLOCK_CALL, index, v);
    } else if (str_is(type, "server_tool_use") || str_is(type, "mcp_tool_use")) {
        take_call(d, BLOCK_SERVER_CALL, index, v);
    } else if (type.n > 0) {
        own_begin(d, draft_add(d, BLOCK_OTHER, index), v);
    }
}

/* A piece of a block of an unknown kind: its texts grow. */
static void take_other(struct draft *d, struct block *b, const struct val *delta)
{
    for (size_t i = 0; i < delta->count; i++) {
        const struct member *m = &delta->members[i];
        if (str_is(m->key, "partial_json")) {
            own_json(d, b, STR("input"), val_text(&m->value));
        } else if (str_is(m->key, "citation")) {
            own_item(d, b, STR("citations"), &m->value);
        } else if (!str_is(m->key, "type") && val_is(&m->value, VAL_STRING)) {
            own_say(d, b, m->key, m->value.text);
        }
    }
}

/* A piece that only the block's own JSON holds. */
static void take_own(struct draft *d, struct block *b, struct str type, const struct val *delta)
{
    if (b == NULL || b->own == NULL) {
        return;
    }
    if (str_is(type, "signature_delta")) {
        own_say(d, b, STR("signature"), val_text(val_get(delta, "signature")));
    } else if (str_is(type, "citations_delta") && val_get(delta, "citation") != NULL) {
        own_item(d, b, STR("citations"), val_get(delta, "citation"));
    }
}

static void take_delta(struct draft *d, int64_t index, const struct val *delta)
{
    struct str type = val_text(val_get(delta, "type"));
    struct block *b = draft_at(d, index);
    if (b != NULL && b->kind == BLOCK_OTHER) {
        if (b->own != NULL && val_is(delta, VAL_OBJECT)) {
            take_other(d, b, delta);
        }
    } else if (str_is(type, "text_delta")) {
        draft_say(d, BLOCK_TEXT, index, val_text(val_get(delta, "text")));
    } else if (str_is(type, "thinking_delta")) {
        draft_say(d, BLOCK_REASONING, index, val_text(val_get(delta, "thinking")));
    } else if (!str_is(type, "input_json_delta")) {
        take_own(d, b, type, delta);
    } else if (b != NULL && (b->kind == BLOCK_CALL || b->kind == BLOCK_SERVER_CALL)) {
        buf_add(&b->text, val_text(val_get(delta, "partial_json")));
    }
}

void messages_event(struct draft *d, const struct val *v)
{
    struct str type = val_text(val_get(v, "type"));
    int64_t index = -1;
    (void)val_int(val_get(v, "index"), &index);
    if (str_is(type, "message_start")) {
        take_usage(d, val_path(v, "message", "usage", NULL));
    } else if (str_is(type, "content_block_start")) {
        take_block(d, index, val_get(v, "content_block"));
    } else if (str_is(type, "content_block_delta")) {
        take_delta(d, index, val_get(v, "delta"));
    } else if (str_is(type, "message_delta")) {
        take_usage(d, val_get(v, "usage"));
        take_stop(d, val_path(v, "delta", "stop_reason", NULL));
    } else if (str_is(type, "message_stop")) {
        if (d->state == DRAFT_OPEN) {
            draft_fmt(d, FAIL_PROTOCOL, 0,
                      "incomplete: the stream ended (message_stop) without a stop reason");
        } else {
            d->state = DRAFT_DONE;
        }
    }
}

void messages_body(struct draft *d, const struct val *v)
{
    const struct val *content = val_get(v, "content");
    if (!val_is(content, VAL_ARRAY)) {
        draft_fmt(d, FAIL_PROTOCOL, 0,
                  "the answer is no message: it has no content list; is the base URL right?");
        return;
    }
    for (size_t i = 0; i < content->count; i++) {
        take_block(d, (int64_t)i, val_item(content, i));
    }
    take_usage(d, val_get(v, "usage"));
    take_stop(d, val_get(v, "stop_reason"));
}
