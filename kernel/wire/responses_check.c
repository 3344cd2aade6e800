/* Responses: what is refused. Source: OpenAI API reference, "Create a model response"; errors as
 * quoted by users. */
#include "kernel/wire/check_int.h"

static struct str place_of(struct check *c, const char *list, size_t i, const char *rest)
{
    return arena_printf(c->arena, "%s[%zu]%s", list, i, rest);
}

static bool is_set(const struct val *v)
{
    return v != NULL && v->kind != VAL_NULL;
}

/* ---- tools ---- */

static bool check_tools(struct check *c)
{
    const struct val *tools = val_get(c->body, "tools");
    if (!openai_kind(c, tools, VAL_ARRAY, false, STR("tools"))) {
        return false;
    }
    size_t n = val_is(tools, VAL_ARRAY) ? tools->count : 0;
    struct check_ids names = check_ids_new(c->arena, n);
    for (size_t i = 0; i < n; i++) {
        const struct val *tool = &tools->items[i];
        const struct val *type = val_get(tool, "type");
        struct str name_path = place_of(c, "tools", i, ".name");
        if (!openai_kind(c, tool, VAL_OBJECT, true, place_of(c, "tools", i, "")) ||
            !openai_kind(c, type, VAL_STRING, true, place_of(c, "tools", i, ".type"))) {
            return false;
        }
        if (!str_is(type->text, "function") && !str_is(type->text, "custom")) {
            continue; /* the provider's own tools */
        }
        struct str name = val_text(val_get(tool, "name"));
        if (!openai_name(c, val_get(tool, "name"), name_path)) {
            return false;
        }
        if (!check_ids_add(&names, name, i)) {
            return check_refuse(c, "invalid_value", name_path,
                                arena_printf(c->arena,
                                             "Invalid '%.*s': tools[%zu] is called '%.*s', too.",
                                             STR_FMT(name_path),
                                             check_ids_find(&names, name)->place, STR_FMT(name)));
        }
        if (str_is(type->text, "function") &&
            !openai_function_schema(c, tool, place_of(c, "tools", i, "."))) {
            return false;
        }
    }
    return openai_choice(c, &names, NULL);
}

/* ---- items ---- */

enum item_kind { ITEM_MESSAGE, ITEM_CALL, ITEM_OUTPUT, ITEM_REASONING, ITEM_OTHER };

static enum item_kind item_kind(const struct val *item)
{
    struct str type = val_text(val_get(item, "type"));
    if (type.n == 0 || str_is(type, "message")) {
        return ITEM_MESSAGE;
    }
    if (str_is(type, "function_call") || str_is(type, "custom_tool_call")) {
        return ITEM_CALL;
    }
    if (str_is(type, "function_call_output") || str_is(type, "custom_tool_call_output")) {
        return ITEM_OUTPUT;
    }
    return str_is(type, "reasoning") ? ITEM_REASONING : ITEM_OTHER;
}

static bool check_message(struct check *c, const struct val *item, size_t i)
{
    static const char *const roles[] = {"assistant", "system", "developer", "user", NULL};
    const struct val *content = val_get(item, "content");
    struct str path = place_of(c, "input", i, ".content");
    if (!openai_one_of(c, val_get(item, "role"), roles, place_of(c, "input", i, ".role"))) {
        return false;
    }
    return val_is(content, VAL_STRING) || openai_kind(c, content, VAL_ARRAY, true, path);
}

static bool check_call(struct check *c, const struct val *item, size_t i)
{
    bool custom = str_is(val_text(val_get(item, "type")), "custom_tool_call");
    const char *key = custom ? "input" : "arguments";
    return openai_kind(c, val_get(item, "call_id"), VAL_STRING, true,
                       place_of(c, "input", i, ".call_id")) &&
           openai_name(c, val_get(item, "name"), place_of(c, "input", i, ".name")) &&
           openai_kind(c, val_get(item, key), VAL_STRING, true,
                       arena_printf(c->arena, "input[%zu].%s", i, key));
}

static bool check_output(struct check *c, const struct val *item, size_t i)
{
    const struct val *output = val_get(item, "output");
    return openai_kind(c, val_get(item, "call_id"), VAL_STRING, true,
                       place_of(c, "input", i, ".call_id")) &&
           (val_is(output, VAL_ARRAY) ||
            openai_kind(c, output, VAL_STRING, true, place_of(c, "input", i, ".output")));
}

/* Thoughts belong to what the model said or did next. */
static bool check_reasoning(struct check *c, const struct val *input, size_t i)
{
    const struct val *item = &input->items[i];
    const struct val *next = val_item(input, i + 1);
    struct str role = val_text(val_get(next, "role"));
    bool followed = next != NULL && item_kind(next) != ITEM_OUTPUT &&
                    (item_kind(next) != ITEM_MESSAGE || str_is(role, "assistant"));
    return followed ||
           check_refuse(c, NULL, STR("input"),
                        arena_printf(c->arena,
                                     "Item '%.*s' of type 'reasoning' was provided without its "
                                     "required following item.",
                                     STR_FMT(val_text(val_get(item, "id")))));
}

static bool check_item(struct check *c, const struct val *input, size_t i)
{
    const struct val *item = &input->items[i];
    if (!openai_kind(c, item, VAL_OBJECT, true, place_of(c, "input", i, ""))) {
        return false;
    }
    switch (item_kind(item)) {
    case ITEM_MESSAGE: return check_message(c, item, i);
    case ITEM_CALL: return check_call(c, item, i);
    case ITEM_OUTPUT: return check_output(c, item, i);
    case ITEM_REASONING: return check_reasoning(c, input, i);
    case ITEM_OTHER: break;
    }
    return true;
}

/* ---- calls and their outputs ---- */

static const char *call_words(const struct val *item)
{
    return str_starts(val_text(val_get(item, "type")), "custom") ? "custom tool call"
                                                                 : "function call";
}

/* before: an earlier response, which is not seen here, may hold calls. */
static bool check_pairs(struct check *c, const struct val *input, bool before)
{
    struct check_ids ids = check_ids_new(c->arena, input->count);
    for (size_t i = 0; i < input->count; i++) {
        const struct val *item = &input->items[i];
        struct str id = val_text(val_get(item, "call_id"));
        enum item_kind kind = item_kind(item);
        if (kind == ITEM_CALL) {
            (void)check_ids_add(&ids, id, i);
        }
        struct check_id *call = kind == ITEM_OUTPUT ? check_ids_find(&ids, id) : NULL;
        if (call != NULL) {
            call->answer_place = i;
        } else if (kind == ITEM_OUTPUT && !before) {
            return check_refuse(c, NULL, STR("input"),
                                arena_printf(c->arena,
                                             "No tool call found for %s output with call_id %.*s.",
                                             call_words(item), STR_FMT(id)));
        }
    }
    for (size_t i = 0; i < input->count; i++) {
        const struct val *item = &input->items[i];
        struct str id = val_text(val_get(item, "call_id"));
        if (item_kind(item) == ITEM_CALL && check_ids_find(&ids, id)->answer_place == SIZE_MAX) {
            return check_refuse(c, NULL, STR("input"),
                                arena_printf(c->arena, "No tool output found for %s %.*s.",
                                             call_words(item), STR_FMT(id)));
        }
    }
    return true;
}

static bool has_reference(const struct val *input)
{
    for (size_t i = 0; i < input->count; i++) {
        if (str_is(val_text(val_get(&input->items[i], "type")), "item_reference")) {
            return true;
        }
    }
    return false;
}

static bool check_input(struct check *c)
{
    const struct val *input = val_get(c->body, "input");
    bool before = is_set(val_get(c->body, "previous_response_id")) ||
                  is_set(val_get(c->body, "conversation"));
    bool empty = !is_set(input) || (input->kind == VAL_ARRAY && input->count == 0);
    if (empty && !before && !is_set(val_get(c->body, "prompt"))) {
        return check_refuse(c, "missing_required_parameter", STR("input"),
                            STR("One of \"input\" or \"previous_response_id\" or 'prompt' or "
                                "'conversation_id' must be provided."));
    }
    if (empty || input->kind == VAL_STRING) {
        return true;
    }
    if (!openai_kind(c, input, VAL_ARRAY, true, STR("input"))) {
        return false;
    }
    for (size_t i = 0; i < input->count; i++) {
        if (!check_item(c, input, i)) {
            return false;
        }
    }
    return has_reference(input) || check_pairs(c, input, before);
}

/* ---- the rest ---- */

static bool check_format(struct check *c)
{
    const struct val *format = val_path(c->body, "text", "format", NULL);
    const struct val *schema = val_get(format, "schema");
    const struct val *strict = val_get(format, "strict");
    if (!str_is(val_text(val_get(format, "type")), "json_schema")) {
        return true;
    }
    if (!openai_name(c, val_get(format, "name"), STR("text.format.name")) ||
        !openai_kind(c, schema, VAL_OBJECT, true, STR("text.format.schema"))) {
        return false;
    }
    return !val_is(strict, VAL_BOOL) || !strict->boolean ||
           openai_schema(c, schema, true,
                         arena_printf(c->arena, "response_format '%.*s'",
                                      STR_FMT(val_text(val_get(format, "name")))),
                         "invalid_json_schema", STR("text.format.schema"));
}

bool responses_check(struct check *c)
{
    static const struct openai_limit limits[] = {{"temperature", false, "0", "2"},
                                                 {"top_p", false, "0", "1"},
                                                 {"top_logprobs", true, "0", "20"},
                                                 {"max_output_tokens", true, "16", NULL},
                                                 {"max_tool_calls", true, "1", NULL}};
    const struct val *model = val_get(c->body, "model");
    if (!val_is(c->body, VAL_OBJECT)) {
        return check_refuse(c, NULL, (struct str){0},
                            STR("The body of a request must be a JSON object."));
    }
    bool model_named = is_set(val_get(c->body, "prompt")); /* a prompt of the platform has one */
    return openai_kind(c, model, VAL_STRING, !model_named, STR("model")) &&
           openai_numbers(c, limits, sizeof limits / sizeof limits[0]) &&
           openai_kind(c, val_get(c->body, "stream"), VAL_BOOL, false, STR("stream")) &&
           openai_kind(c, val_get(c->body, "instructions"), VAL_STRING, false,
                       STR("instructions")) &&
           check_input(c) && check_tools(c) && check_format(c);
}
