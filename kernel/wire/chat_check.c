/* Chat Completions: what is refused. Source: OpenAI API reference, "Create chat completion"; errors
 * as quoted by users (docs of each check). */
#include "kernel/wire/check_int.h"

static struct str indexed(struct check *c, const char *list, size_t i, const char *rest)
{
    return arena_printf(c->arena, "%s[%zu]%s", list, i, rest);
}

/* messages.[I].KEY: how the checks of a conversation name a place. */
static struct str dotted(struct check *c, size_t i, const char *key)
{
    return arena_printf(c->arena, "messages.[%zu].%s", i, key);
}

/* ---- tools ---- */

static bool check_tool(struct check *c, const struct val *tool, size_t i, struct check_ids *names)
{
    static const char *const types[] = {"function", "custom", NULL};
    const struct val *type = val_get(tool, "type"); /* Mistral's SDK leaves it out */
    if (!openai_kind(c, tool, VAL_OBJECT, true, indexed(c, "tools", i, "")) ||
        (type != NULL && !openai_one_of(c, type, types, indexed(c, "tools", i, ".type")))) {
        return false;
    }
    bool custom = str_is(val_text(type), "custom");
    const char *kind = custom ? "custom" : "function";
    const struct val *function = val_get(tool, kind);
    struct str path = arena_printf(c->arena, "tools[%zu].%s", i, kind);
    struct str name_path = arena_printf(c->arena, "%.*s.name", STR_FMT(path));
    const struct val *name = val_get(function, "name");
    if (!openai_kind(c, function, VAL_OBJECT, true, path) || !openai_name(c, name, name_path)) {
        return false;
    }
    if (!check_ids_add(names, name->text, i)) {
        return check_refuse(
            c, "invalid_value", name_path,
            arena_printf(c->arena, "Invalid '%.*s': tools[%zu] is called '%.*s', too.",
                         STR_FMT(name_path), check_ids_find(names, name->text)->place,
                         STR_FMT(name->text)));
    }
    return custom ||
           openai_function_schema(c, function, arena_printf(c->arena, "%.*s.", STR_FMT(path)));
}

static bool refuse_without_tools(struct check *c, const char *key)
{
    return check_refuse(
        c, NULL, str_of(key),
        arena_printf(c->arena,
                     "Invalid value for '%s': '%s' is only allowed when 'tools' are specified.",
                     key, key));
}

static bool check_tools(struct check *c)
{
    const struct val *tools = val_get(c->body, "tools");
    const struct val *choice = val_get(c->body, "tool_choice");
    const struct val *parallel = val_get(c->body, "parallel_tool_calls");
    if (!openai_kind(c, tools, VAL_ARRAY, false, STR("tools"))) {
        return false;
    }
    if (!val_is(tools, VAL_ARRAY)) {
        if (choice != NULL && choice->kind != VAL_NULL) {
            return refuse_without_tools(c, "tool_choice");
        }
        return parallel == NULL || parallel->kind == VAL_NULL ||
               refuse_without_tools(c, "parallel_tool_calls");
    }
    if (tools->count == 0) {
        return openai_refuse_empty(c, STR("tools"));
    }
    struct check_ids names = check_ids_new(c->arena, tools->count);
    for (size_t i = 0; i < tools->count; i++) {
        if (!check_tool(c, &tools->items[i], i, &names)) {
            return false;
        }
    }
    return openai_choice(c, &names, "function");
}

/* ---- messages one by one ---- */

/* Other providers of this format know further types. */
static bool check_part(struct check *c, const struct val *part, struct str path)
{
    return openai_kind(c, part, VAL_OBJECT, true, path) &&
           openai_kind(c, val_get(part, "type"), VAL_STRING, true,
                       arena_printf(c->arena, "%.*s.type", STR_FMT(path))) &&
           (!str_is(val_text(val_get(part, "type")), "text") ||
            openai_kind(c, val_get(part, "text"), VAL_STRING, true,
                        arena_printf(c->arena, "%.*s.text", STR_FMT(path))));
}

static bool is_set(const struct val *v)
{
    return v != NULL && v->kind != VAL_NULL;
}

/* An assistant's message may be without content where it says something else. */
static bool check_content(struct check *c, const struct val *m, size_t i, bool assistant)
{
    const struct val *content = val_get(m, "content");
    bool other = assistant && (is_set(val_get(m, "tool_calls")) || is_set(val_get(m, "refusal")) ||
                               is_set(val_get(m, "function_call")) || is_set(val_get(m, "audio")));
    if (!is_set(content)) {
        return other ||
               check_refuse(c, NULL, dotted(c, i, "content"),
                            STR("Invalid value for 'content': expected a string, got null."));
    }
    struct str path = indexed(c, "messages", i, ".content");
    if (content->kind == VAL_STRING) {
        return true;
    }
    if (content->kind != VAL_ARRAY) {
        return check_refuse(c, "invalid_type", path,
                            arena_printf(c->arena,
                                         "Invalid type for '%.*s': expected one of a string or "
                                         "array of objects, but got %s instead.",
                                         STR_FMT(path), openai_kind_words(content)));
    }
    for (size_t k = 0; k < content->count; k++) {
        if (!check_part(c, &content->items[k],
                        arena_printf(c->arena, "%.*s[%zu]", STR_FMT(path), k))) {
            return false;
        }
    }
    return true;
}

static bool check_call(struct check *c, const struct val *call, struct str path)
{
    static const char *const types[] = {"function", "custom", NULL};
    struct arena *a = c->arena;
    if (!openai_kind(c, call, VAL_OBJECT, true, path) ||
        !openai_kind(c, val_get(call, "id"), VAL_STRING, true,
                     arena_printf(a, "%.*s.id", STR_FMT(path))) ||
        !openai_one_of(c, val_get(call, "type"), types,
                       arena_printf(a, "%.*s.type", STR_FMT(path)))) {
        return false;
    }
    bool custom = str_is(val_text(val_get(call, "type")), "custom");
    const char *kind = custom ? "custom" : "function";
    const char *key = custom ? "input" : "arguments";
    const struct val *function = val_get(call, kind);
    return openai_kind(c, function, VAL_OBJECT, true,
                       arena_printf(a, "%.*s.%s", STR_FMT(path), kind)) &&
           openai_name(c, val_get(function, "name"),
                       arena_printf(a, "%.*s.%s.name", STR_FMT(path), kind)) &&
           openai_kind(c, val_get(function, key), VAL_STRING, true,
                       arena_printf(a, "%.*s.%s.%s", STR_FMT(path), kind, key));
}

static bool check_calls(struct check *c, const struct val *m, size_t i)
{
    const struct val *calls = val_get(m, "tool_calls");
    struct str path = indexed(c, "messages", i, ".tool_calls");
    if (!openai_kind(c, calls, VAL_ARRAY, false, path)) {
        return false;
    }
    if (!val_is(calls, VAL_ARRAY)) {
        return true;
    }
    if (calls->count == 0) {
        return openai_refuse_empty(c, path);
    }
    for (size_t k = 0; k < calls->count; k++) {
        if (!check_call(c, &calls->items[k],
                        arena_printf(c->arena, "%.*s[%zu]", STR_FMT(path), k))) {
            return false;
        }
    }
    return true;
}

/* ---- calls and their results ---- */

/* The assistant's message whose calls wait for their results. */
struct open_calls {
    const struct val *calls; /* NULL = none */
    struct check_ids ids;
};

static bool check_answered(struct check *c, const struct open_calls *open, size_t next)
{
    struct buf missing = {0};
    for (size_t k = 0; open->calls != NULL && k < open->calls->count; k++) {
        struct str id = val_text(val_get(&open->calls->items[k], "id"));
        if (check_ids_find(&open->ids, id)->answer_place == SIZE_MAX) {
            buf_addz(&missing, missing.n == 0 ? "" : ", ");
            buf_add(&missing, id);
        }
    }
    bool good = missing.n == 0;
    if (!good) {
        (void)check_refuse(
            c, NULL, dotted(c, next, "role"),
            arena_printf(c->arena,
                         "An assistant message with 'tool_calls' must be followed by tool messages "
                         "responding to each 'tool_call_id'. The following tool_call_ids did not "
                         "have response messages: %.*s",
                         STR_FMT(buf_str(&missing))));
    }
    buf_free(&missing);
    return good;
}

static void open_calls(struct check *c, struct open_calls *open, const struct val *m, size_t i)
{
    const struct val *calls = val_get(m, "tool_calls");
    open->calls = val_is(calls, VAL_ARRAY) ? calls : NULL;
    if (open->calls != NULL) {
        open->ids = check_ids_new(c->arena, calls->count);
        for (size_t k = 0; k < calls->count; k++) {
            (void)check_ids_add(&open->ids, val_text(val_get(&calls->items[k], "id")), i);
        }
    }
}

static bool check_result(struct check *c, const struct open_calls *open, const struct val *m,
                         size_t i)
{
    const struct val *id = val_get(m, "tool_call_id");
    struct str place = dotted(c, i, "tool_call_id");
    if (open->calls == NULL) {
        return check_refuse(c, NULL, dotted(c, i, "role"),
                            STR("Invalid parameter: messages with role 'tool' must be a response "
                                "to a preceeding message with 'tool_calls'."));
    }
    if (!openai_kind(c, id, VAL_STRING, true, indexed(c, "messages", i, ".tool_call_id"))) {
        return false;
    }
    struct check_id *found = check_ids_find(&open->ids, id->text);
    if (found == NULL) {
        return check_refuse(c, NULL, place,
                            arena_printf(c->arena,
                                         "Invalid parameter: 'tool_call_id' of '%.*s' not found in "
                                         "'tool_calls' of previous message.",
                                         STR_FMT(id->text)));
    }
    if (found->answer_place != SIZE_MAX) {
        return check_refuse(c, NULL, place,
                            arena_printf(c->arena,
                                         "Invalid parameter: Duplicate value for 'tool_call_id' of "
                                         "'%.*s', in messages[%zu] and messages[%zu].",
                                         STR_FMT(id->text), found->answer_place, i));
    }
    found->answer_place = i;
    return true;
}

static bool check_message(struct check *c, const struct val *m, size_t i, struct open_calls *open)
{
    static const char *const roles[] = {"system", "assistant", "user", "function",
                                        "tool",   "developer", NULL};
    if (!openai_kind(c, m, VAL_OBJECT, true, indexed(c, "messages", i, "")) ||
        !openai_one_of(c, val_get(m, "role"), roles, indexed(c, "messages", i, ".role"))) {
        return false;
    }
    struct str role = val_text(val_get(m, "role"));
    bool assistant = str_is(role, "assistant");
    if (str_is(role, "tool")) {
        return check_result(c, open, m, i) && check_content(c, m, i, false);
    }
    if (!check_answered(c, open, i) || (assistant && !check_calls(c, m, i)) ||
        !check_content(c, m, i, assistant)) {
        return false;
    }
    open->calls = NULL;
    if (assistant) {
        open_calls(c, open, m, i);
    }
    return true;
}

static bool check_messages(struct check *c)
{
    const struct val *list = val_get(c->body, "messages");
    struct open_calls open = {0};
    if (!openai_kind(c, list, VAL_ARRAY, true, STR("messages"))) {
        return false;
    }
    if (list->count == 0) {
        return openai_refuse_empty(c, STR("messages"));
    }
    for (size_t i = 0; i < list->count; i++) {
        if (!check_message(c, &list->items[i], i, &open)) {
            return false;
        }
    }
    return check_answered(c, &open, list->count - 1);
}

/* ---- the rest ---- */

static bool says_json(struct str text)
{
    for (size_t i = 0; i + 4 <= text.n; i++) {
        if (str_starts_nocase(str_slice(text, i, i + 4), "json")) {
            return true;
        }
    }
    return false;
}

static bool check_format(struct check *c)
{
    const struct val *format = val_get(c->body, "response_format");
    const struct val *form = val_get(format, "json_schema");
    struct str type = val_text(val_get(format, "type"));
    if (str_is(type, "json_object") && !says_json(val_get(c->body, "messages")->raw)) {
        return check_refuse(c, NULL, STR("messages"),
                            STR("'messages' must contain the word 'json' in some form, to use "
                                "'response_format' of type 'json_object'."));
    }
    if (!str_is(type, "json_schema")) {
        return true;
    }
    const struct val *schema = val_get(form, "schema");
    const struct val *strict = val_get(form, "strict");
    if (!openai_kind(c, form, VAL_OBJECT, true, STR("response_format.json_schema")) ||
        !openai_name(c, val_get(form, "name"), STR("response_format.json_schema.name")) ||
        !openai_kind(c, schema, VAL_OBJECT, false, STR("response_format.json_schema.schema"))) {
        return false;
    }
    return !val_is(schema, VAL_OBJECT) || !val_is(strict, VAL_BOOL) || !strict->boolean ||
           openai_schema(c, schema, true,
                         arena_printf(c->arena, "response_format '%.*s'",
                                      STR_FMT(val_text(val_get(form, "name")))),
                         NULL, STR("response_format"));
}

static bool check_stream(struct check *c)
{
    const struct val *stream = val_get(c->body, "stream");
    const struct val *options = val_get(c->body, "stream_options");
    if (!openai_kind(c, stream, VAL_BOOL, false, STR("stream"))) {
        return false;
    }
    return !val_is(options, VAL_OBJECT) || (val_is(stream, VAL_BOOL) && stream->boolean) ||
           check_refuse(
               c, NULL, STR("stream_options"),
               STR("The 'stream_options' parameter is only allowed when 'stream' is enabled."));
}

bool chat_check(struct check *c)
{
    static const struct openai_limit limits[] = {{"temperature", false, "0", "2"},
                                                 {"top_p", false, "0", "1"},
                                                 {"presence_penalty", false, "-2", "2"},
                                                 {"frequency_penalty", false, "-2", "2"},
                                                 {"n", true, "1", "128"},
                                                 {"max_tokens", true, "1", NULL},
                                                 {"max_completion_tokens", true, "1", NULL},
                                                 {"top_logprobs", true, "0", "20"},
                                                 {"seed", true, NULL, NULL}};
    const struct val *model = val_get(c->body, "model");
    if (!val_is(c->body, VAL_OBJECT)) {
        return check_refuse(c, NULL, (struct str){0},
                            STR("The body of a request must be a JSON object."));
    }
    if (!is_set(model) || (model->kind == VAL_STRING && model->text.n == 0)) {
        return check_refuse(c, NULL, (struct str){0}, STR("you must provide a model parameter"));
    }
    return openai_kind(c, model, VAL_STRING, true, STR("model")) &&
           openai_numbers(c, limits, sizeof limits / sizeof limits[0]) && check_messages(c) &&
           check_tools(c) && check_stream(c) && check_format(c);
}
