/* Answers of OpenAI Chat Completions and of the many servers that speak it (Azure, Mistral, Hugging
 * Face, DeepSeek, vLLM, OpenRouter). Source: OpenAI API reference, "Chat" and "Chat streaming". */
#include "kernel/wire/wire_int.h"

/* Index of the call in the old `function_call` member, of which there is one. */
enum { INDEX_NONE = -1, INDEX_LEGACY = -2 };

static const struct stop_word stop_words[] = {
    {"stop", STOP_END_TURN},
    {"tool_calls", STOP_TOOL_USE},
    {"function_call", STOP_TOOL_USE},
    {"length", STOP_MAX_TOKENS},
    {"max_tokens", STOP_MAX_TOKENS},
    {"model_length", STOP_MAX_TOKENS},
    {"content_filter", STOP_CONTENT_FILTER},
    {"stop_sequence", STOP_STOP_SEQUENCE},
    {NULL, STOP_END_TURN},
};

static void take_usage(struct draft *d, const struct val *u)
{
    struct usage *out = &d->usage;
    draft_count(&out->input, val_get(u, "prompt_tokens"));
    draft_count(&out->output, val_get(u, "completion_tokens"));
    draft_count(&out->cached, val_get(u, "num_cached_tokens"));       /* Mistral */
    draft_count(&out->cached, val_get(u, "prompt_cache_hit_tokens")); /* DeepSeek */
    draft_count(&out->cached, val_path(u, "prompt_tokens_details", "cached_tokens", NULL));
    draft_count(&out->cache_write,
                val_path(u, "prompt_tokens_details", "cache_write_tokens", NULL));
    draft_count(&out->reasoning,
                val_path(u, "completion_tokens_details", "reasoning_tokens", NULL));
}

/* The choice with index 0 or without an index. */
static const struct val *first_choice(const struct val *v)
{
    const struct val *choices = val_get(v, "choices");
    for (size_t i = 0; val_is(choices, VAL_ARRAY) && i < choices->count; i++) {
        const struct val *choice = val_item(choices, i);
        int64_t index = 0;
        if (val_is(choice, VAL_OBJECT) &&
            (!val_int(val_get(choice, "index"), &index) || index == 0)) {
            return choice;
        }
    }
    return NULL;
}

static void say_reasoning(struct draft *d, struct str text)
{
    if (text.n > 0) {
        draft_say(d, BLOCK_REASONING, INDEX_NONE, text);
    }
}

/* A refusal is what the reader sees where there is no text. */
static void say_refusal(struct draft *d, struct str text)
{
    if (text.n > 0) {
        draft_say(d, BLOCK_REFUSAL, INDEX_NONE, text);
    }
}

/* The block that a piece of reasoning_details goes on with: of the same type and index; NULL when
 * it begins one. */
static struct block *detail_of_piece(struct draft *d, int64_t index, struct str type)
{
    for (size_t i = d->n_blocks; i > 0 && d->streamed; i--) {
        struct block *b = &d->blocks[i - 1];
        if (b->kind == BLOCK_OTHER && b->index == index && str_eq(b->name, type)) {
            return b;
        }
    }
    return NULL;
}

/* One of OpenRouter's reasoning_details, or a piece of one: its text grows, the rest is told once.
 */
static void take_detail(struct draft *d, const struct val *v)
{
    struct str type = val_text(val_get(v, "type"));
    int64_t index = INDEX_NONE;
    (void)val_int(val_get(v, "index"), &index);
    struct block *b = detail_of_piece(d, index, type);
    if (b == NULL || b->own == NULL) {
        b = type.n > 0 ? draft_add(d, BLOCK_OTHER, index) : NULL;
        if (b != NULL) {
            b->name = arena_str(d->arena, type);
        }
        own_begin(d, b, v);
        return;
    }
    for (size_t i = 0; i < v->count; i++) {
        const struct member *m = &v->members[i];
        bool grows = str_is(m->key, "text") || str_is(m->key, "summary") || str_is(m->key, "data");
        if (grows) {
            own_say(d, b, m->key, val_text(&m->value));
        } else if (!str_is(m->key, "type") && val_text(&m->value).n > 0) {
            own_set(d, b, m->key, m->value.text);
        }
    }
}

/* extra_content (Gemini's signatures): of the call before it, else of the message. */
static void take_extra(struct draft *d, const struct val *v)
{
    const struct val *extra = val_get(v, "extra_content");
    if (val_is(extra, VAL_OBJECT)) {
        struct member member = {.key = STR("extra_content"), .value = *extra};
        struct val own = {.kind = VAL_OBJECT, .count = 1, .members = &member};
        own_begin(d, draft_add(d, BLOCK_OTHER, INDEX_NONE), &own);
    }
}

/* Content as a list of parts: text, thinking (Mistral), refusal. */
static void take_parts(struct draft *d, const struct val *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        const struct val *part = val_item(parts, i);
        const struct val *text = val_get(part, "text");
        const struct val *thinking = val_get(part, "thinking");
        if (val_is(text, VAL_STRING)) {
            draft_say(d, BLOCK_TEXT, INDEX_NONE, text->text);
        } else if (val_is(part, VAL_STRING)) {
            draft_say(d, BLOCK_TEXT, INDEX_NONE, part->text);
        }
        say_reasoning(d, val_text(thinking));
        for (size_t k = 0; val_is(thinking, VAL_ARRAY) && k < thinking->count; k++) {
            say_reasoning(d, val_text(val_get(val_item(thinking, k), "text")));
        }
        say_refusal(d, val_text(val_get(part, "refusal")));
    }
}

/* One call, or a piece of one, as it stands in a message or a delta. */
struct piece {
    int64_t index;
    struct str id;
    struct str name;
    struct str arguments;
};

static bool ends_in(struct str s, char c)
{
    return s.n > 0 && s.p[s.n - 1] == c;
}

/* Whether a piece with the index of call b, or without one, begins another call: a new id or name,
 * or a second object behind a whole one (servers that give all calls index 0 and no id). */
static bool begins_call(const struct block *b, const struct piece *p)
{
    if (p->id.n > 0 && b->id.n > 0) {
        return !str_eq(p->id, b->id);
    }
    if (p->name.n == 0 || b->name.n == 0) {
        return false;
    }
    return !str_eq(p->name, b->name) ||
           (ends_in(buf_str(&b->text), '}') && str_starts(p->arguments, "{"));
}

static struct block *newest_call(struct draft *d, struct str id)
{
    for (size_t i = d->n_blocks; i > 0; i--) {
        struct block *b = &d->blocks[i - 1];
        if (b->kind == BLOCK_CALL && (id.n == 0 || str_eq(b->id, id))) {
            return b;
        }
    }
    return NULL;
}

/* The call that a piece of a stream goes on with; NULL when it begins one. */
static struct block *call_of_piece(struct draft *d, const struct piece *p)
{
    struct block *b = NULL;
    if (p->index != INDEX_NONE) {
        b = draft_find(d, BLOCK_CALL, p->index);
    } else if (p->id.n > 0 || p->name.n == 0) {
        b = newest_call(d, p->id);
    }
    return b == NULL || begins_call(b, p) ? NULL : b;
}

static void take_piece(struct draft *d, const struct piece *p)
{
    struct block *b = d->streamed ? call_of_piece(d, p) : NULL;
    if (b == NULL) {
        b = draft_add(d, BLOCK_CALL, p->index);
    }
    if (b == NULL) {
        return;
    }
    if (b->id.n == 0 && p->id.n > 0) {
        b->id = arena_str(d->arena, p->id);
    }
    if (b->name.n == 0 && p->name.n > 0) {
        b->name = arena_str(d->arena, p->name);
    }
    buf_add(&b->text, p->arguments);
}

static void take_call(struct draft *d, const struct val *v)
{
    const struct val *custom = val_get(v, "custom");
    const struct val *function = val_get(v, "function");
    struct piece p = {.index = INDEX_NONE, .id = val_text(val_get(v, "id"))};
    if (val_int(val_get(v, "index"), &p.index) && p.index < 0) {
        p.index = INDEX_NONE;
    }
    if (val_is(custom, VAL_OBJECT)) {
        p.name = val_text(val_get(custom, "name"));
        p.arguments = arguments_text(val_get(custom, "input"));
    } else {
        const struct val *from = val_is(function, VAL_OBJECT) ? function : v;
        p.name = val_text(val_get(from, "name"));
        p.arguments = arguments_text(val_get(from, "arguments"));
    }
    take_piece(d, &p);
    take_extra(d, v);
}

/* A message, or the delta of one. */
static void take_message(struct draft *d, const struct val *m)
{
    const struct val *content = val_get(m, "content");
    const struct val *calls = val_get(m, "tool_calls");
    const struct val *legacy = val_get(m, "function_call");
    struct str reasoning = val_text(val_get(m, "reasoning_content"));
    say_reasoning(d, reasoning.n > 0 ? reasoning : val_text(val_get(m, "reasoning")));
    if (val_is(content, VAL_STRING)) {
        draft_say(d, BLOCK_TEXT, INDEX_NONE, content->text);
    } else if (val_is(content, VAL_ARRAY)) {
        take_parts(d, content);
    }
    say_refusal(d, val_text(val_get(m, "refusal")));
    take_extra(d, m);
    const struct val *details = val_get(m, "reasoning_details");
    for (size_t i = 0; val_is(details, VAL_ARRAY) && i < details->count; i++) {
        take_detail(d, val_item(details, i));
    }
    for (size_t i = 0; val_is(calls, VAL_ARRAY) && i < calls->count; i++) {
        if (val_is(val_item(calls, i), VAL_OBJECT)) {
            take_call(d, val_item(calls, i));
        }
    }
    if (val_is(legacy, VAL_OBJECT)) {
        struct piece p = {.index = INDEX_LEGACY,
                          .name = val_text(val_get(legacy, "name")),
                          .arguments = arguments_text(val_get(legacy, "arguments"))};
        take_piece(d, &p);
    }
}

static void take_finish(struct draft *d, const struct val *choice)
{
    const struct val *reason = val_get(choice, "finish_reason");
    if (!val_is(reason, VAL_STRING)) {
        return;
    }
    if (error_is(choice) || str_is(reason->text, "error")) {
        error_fail(d, 200, choice,
                   STR("the provider ended the reply with finish reason \"error\""));
        return;
    }
    draft_finish(d, stop_of_word(stop_words, reason->text), reason->text);
}

void chat_event(struct draft *d, const struct val *v)
{
    const struct val *choice = first_choice(v);
    take_usage(d, val_get(v, "usage"));
    take_usage(d, val_path(v, "x_groq", "usage", NULL));
    if (choice == NULL) {
        return;
    }
    const struct val *delta = val_get(choice, "delta");
    take_message(d, val_is(delta, VAL_OBJECT) ? delta : val_get(choice, "message"));
    take_finish(d, choice);
}

void chat_body(struct draft *d, const struct val *v)
{
    const struct val *choice = first_choice(v);
    if (choice == NULL) {
        draft_fmt(d, FAIL_PROTOCOL, 0,
                  "the answer is no chat completion: it has no choices; is the base URL right?");
        return;
    }
    take_usage(d, val_get(v, "usage"));
    take_message(d, val_get(choice, "message"));
    take_finish(d, choice);
}
