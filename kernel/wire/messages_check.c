/* Messages: what is refused. Source: Anthropic API reference, "Create a message", "How to implement
 * tool use", "Extended thinking"; errors as quoted by users. */
#include "kernel/wire/check_int.h"

enum { TOOL_NAME_MAX = 128 };

static bool refuse(struct check *c, struct str message)
{
    return check_refuse(c, NULL, (struct str){0}, message);
}

/* "PATH: words" */
static bool refuse_at(struct check *c, struct str path, const char *words)
{
    return refuse(c, arena_printf(c->arena, "%.*s: %s", STR_FMT(path), words));
}

static bool is_set(const struct val *v)
{
    return v != NULL && v->kind != VAL_NULL;
}

static const char *wanted_words(enum val_kind kind)
{
    switch (kind) {
    case VAL_NULL: return "Input should be None";
    case VAL_BOOL: return "Input should be a valid boolean";
    case VAL_NUMBER: return "Input should be a valid number";
    case VAL_STRING: return "Input should be a valid string";
    case VAL_ARRAY: return "Input should be a valid list";
    case VAL_OBJECT: return "Input should be a valid dictionary";
    }
    return "";
}

static bool check_kind(struct check *c, const struct val *v, enum val_kind kind, bool required,
                       struct str path)
{
    if (v == NULL) {
        return !required || refuse_at(c, path, "Field required");
    }
    return v->kind == kind || (!required && v->kind == VAL_NULL) ||
           refuse_at(c, path, wanted_words(kind));
}

static bool type_is(const struct val *v, const char *type)
{
    return str_is(val_text(val_get(v, "type")), type);
}

/* Whether the provider holds what went before (a thread): it is not seen here. */
static bool goes_on(const struct check *c)
{
    return type_is(val_get(c->body, "thread"), "continue");
}

/* ---- numbers ---- */

static bool check_whole(struct check *c, const struct val *v, const char *min, struct str path)
{
    if (!check_kind(c, v, VAL_NUMBER, true, path)) {
        return false;
    }
    if (!num_is_integer(v->text)) {
        return refuse_at(c, path, "Input should be a valid integer");
    }
    return num_compare(v->text, str_of(min)) >= 0 ||
           refuse(c, arena_printf(c->arena, "%.*s: Input should be greater than or equal to %s",
                                  STR_FMT(path), min));
}

static bool check_share(struct check *c, const char *name)
{
    const struct val *v = val_get(c->body, name);
    if (!check_kind(c, v, VAL_NUMBER, false, str_of(name)) || !val_is(v, VAL_NUMBER)) {
        return !is_set(v);
    }
    return (num_compare(v->text, STR("0")) >= 0 && num_compare(v->text, STR("1")) <= 0) ||
           refuse_at(c, str_of(name), "range: 0..1");
}

/* ---- tools ---- */

static bool check_schema(struct check *c, const struct val *schema, size_t i)
{
    static const char *const tops[] = {"oneOf", "allOf", "anyOf"};
    struct str path = arena_printf(c->arena, "tools.%zu.custom.input_schema", i);
    const struct val *type = val_get(schema, "type");
    if (!check_kind(c, schema, VAL_OBJECT, true, path)) {
        return false;
    }
    struct str type_path = arena_printf(c->arena, "%.*s.type", STR_FMT(path));
    if (type == NULL) {
        return refuse_at(c, type_path, "Field required");
    }
    if (!str_is(val_text(type), "object")) {
        return refuse_at(c, type_path, "Input should be 'object'");
    }
    for (size_t k = 0; k < sizeof tops / sizeof tops[0]; k++) {
        if (val_get(schema, tops[k]) != NULL) {
            return refuse_at(c, path,
                             "input_schema does not support oneOf, allOf, or anyOf at the top "
                             "level");
        }
    }
    return check_json_schema(schema) ||
           refuse_at(c, path, "JSON schema is invalid. It must match JSON Schema draft 2020-12");
}

static bool check_tool(struct check *c, const struct val *tool, size_t i, struct check_ids *names)
{
    struct str path = arena_printf(c->arena, "tools.%zu", i);
    const struct val *type = val_get(tool, "type");
    const struct val *name = val_get(tool, "name");
    if (!check_kind(c, tool, VAL_OBJECT, true, path)) {
        return false;
    }
    if (is_set(type) && !str_is(val_text(type), "custom")) { /* the provider's own */
        return name == NULL || check_ids_add(names, val_text(name), i) ||
               refuse(c, STR("tools: Tool names must be unique."));
    }
    struct str name_path = arena_printf(c->arena, "tools.%zu.custom.name", i);
    if (!check_kind(c, name, VAL_STRING, true, name_path)) {
        return false;
    }
    if (!str_is_name(name->text, "_-") || name->text.n > TOOL_NAME_MAX) {
        return refuse_at(c, name_path, "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
    }
    return check_schema(c, val_get(tool, "input_schema"), i) &&
           (check_ids_add(names, name->text, i) ||
            refuse(c, STR("tools: Tool names must be unique.")));
}

static bool check_choice(struct check *c, const struct check_ids *names, size_t n)
{
    const struct val *choice = val_get(c->body, "tool_choice");
    struct str name = val_text(val_get(choice, "name"));
    bool forced = type_is(choice, "any") || type_is(choice, "tool");
    if (!check_kind(c, choice, VAL_OBJECT, false, STR("tool_choice"))) {
        return false;
    }
    if (goes_on(c)) { /* the tools were sent before */
        return true;
    }
    if (forced && n == 0) {
        return refuse(c, STR("tool_choice may only be specified while providing tools."));
    }
    if (type_is(choice, "tool") && check_ids_find(names, name) == NULL) {
        return refuse(
            c, arena_printf(c->arena, "Tool '%.*s' not found in provided tools", STR_FMT(name)));
    }
    return !forced || !type_is(val_get(c->body, "thinking"), "enabled") ||
           refuse(c, STR("Thinking may not be enabled when tool_choice forces tool use."));
}

static bool check_tools(struct check *c)
{
    const struct val *tools = val_get(c->body, "tools");
    if (!check_kind(c, tools, VAL_ARRAY, false, STR("tools"))) {
        return false;
    }
    size_t n = val_is(tools, VAL_ARRAY) ? tools->count : 0;
    struct check_ids names = check_ids_new(c->arena, n);
    for (size_t i = 0; i < n; i++) {
        if (!check_tool(c, &tools->items[i], i, &names)) {
            return false;
        }
    }
    return check_choice(c, &names, n);
}

/* ---- blocks ---- */

static bool check_text(struct check *c, const struct val *text, struct str path)
{
    if (!check_kind(c, text, VAL_STRING, true, path)) {
        return false;
    }
    if (text->text.n == 0) {
        return refuse(c, STR("messages: text content blocks must be non-empty"));
    }
    return str_trim(text->text).n > 0 ||
           refuse(c, STR("messages: text content blocks must contain non-whitespace text"));
}

static bool check_place(struct check *c, const struct val *block, size_t i, bool assistant)
{
    struct str type = val_text(val_get(block, "type"));
    bool its =
        str_is(type, "tool_use") || str_is(type, "thinking") || str_is(type, "redacted_thinking");
    if (its && !assistant) {
        return refuse(c, arena_printf(c->arena,
                                      "messages.%zu: `%.*s` blocks can only be in `assistant` "
                                      "messages",
                                      i, STR_FMT(type)));
    }
    return !str_is(type, "tool_result") || !assistant ||
           refuse(c, arena_printf(c->arena,
                                  "messages.%zu: `tool_result` blocks can only be in `user` "
                                  "messages",
                                  i));
}

static bool check_use(struct check *c, const struct val *block, struct str path)
{
    struct arena *a = c->arena;
    struct str p = arena_printf(a, "%.*s.tool_use", STR_FMT(path));
    const struct val *id = val_get(block, "id");
    struct str id_path = arena_printf(a, "%.*s.id", STR_FMT(p));
    return check_kind(c, id, VAL_STRING, true, id_path) &&
           (str_is_name(id->text, "_-") ||
            refuse_at(c, id_path, "String should match pattern '^[a-zA-Z0-9_-]+$'")) &&
           check_kind(c, val_get(block, "name"), VAL_STRING, true,
                      arena_printf(a, "%.*s.name", STR_FMT(p))) &&
           check_kind(c, val_get(block, "input"), VAL_OBJECT, true,
                      arena_printf(a, "%.*s.input", STR_FMT(p)));
}

static bool check_block(struct check *c, const struct val *block, size_t i, size_t k,
                        bool assistant)
{
    struct str path = arena_printf(c->arena, "messages.%zu.content.%zu", i, k);
    if (!check_kind(c, block, VAL_OBJECT, true, path) ||
        !check_kind(c, val_get(block, "type"), VAL_STRING, true,
                    arena_printf(c->arena, "%.*s.type", STR_FMT(path))) ||
        !check_place(c, block, i, assistant)) {
        return false;
    }
    if (type_is(block, "text")) {
        return check_text(c, val_get(block, "text"),
                          arena_printf(c->arena, "%.*s.text.text", STR_FMT(path)));
    }
    if (type_is(block, "tool_use")) {
        return check_use(c, block, path);
    }
    return !type_is(block, "tool_result") ||
           check_kind(c, val_get(block, "tool_use_id"), VAL_STRING, true,
                      arena_printf(c->arena, "%.*s.tool_result.tool_use_id", STR_FMT(path)));
}

static bool check_role(struct check *c, const struct val *m, size_t i)
{
    const struct val *role = val_get(m, "role");
    struct str path = arena_printf(c->arena, "messages.%zu.role", i);
    if (!check_kind(c, role, VAL_STRING, true, path)) {
        return false;
    }
    if (str_is(role->text, "system") && i == 0) { /* later ones are messages of their own kind */
        return refuse(c, STR("messages: Unexpected role \"system\". The Messages API accepts a "
                             "top-level `system` parameter, not \"system\" as an input message "
                             "role."));
    }
    return str_is(role->text, "user") || str_is(role->text, "assistant") ||
           str_is(role->text, "system") ||
           refuse(c, arena_printf(c->arena,
                                  "messages: Unexpected role \"%.*s\". Allowed roles are \"user\" "
                                  "or \"assistant\"",
                                  STR_FMT(role->text)));
}

static bool check_message(struct check *c, const struct val *m, size_t i, bool last)
{
    const struct val *content = val_get(m, "content");
    struct str path = arena_printf(c->arena, "messages.%zu", i);
    struct str content_path = arena_printf(c->arena, "messages.%zu.content", i);
    if (!check_kind(c, m, VAL_OBJECT, true, path) || !check_role(c, m, i)) {
        return false;
    }
    bool assistant = str_is(val_text(val_get(m, "role")), "assistant");
    bool text = val_is(content, VAL_STRING);
    if (!text && !check_kind(c, content, VAL_ARRAY, true, content_path)) {
        return false;
    }
    if ((text ? content->text.n : content->count) == 0) {
        return (last && assistant) || refuse_at(c, path,
                                                "all messages must have non-empty content except "
                                                "for the optional final assistant message");
    }
    for (size_t k = 0; !text && k < content->count; k++) {
        if (!check_block(c, &content->items[k], i, k, assistant)) {
            return false;
        }
    }
    return true;
}

/* ---- calls and their results ---- */

/* Messages of one role in a row are one turn. */
struct turn {
    size_t from;
    size_t to; /* behind its last message */
};

static bool is_assistant(const struct val *m)
{
    return str_is(val_text(val_get(m, "role")), "assistant");
}

static bool is_system(const struct val *m)
{
    return str_is(val_text(val_get(m, "role")), "system");
}

static struct turn turn_at(const struct val *list, size_t from)
{
    struct turn t = {from, from};
    while (t.to < list->count &&
           is_assistant(&list->items[t.to]) == is_assistant(&list->items[from])) {
        t.to++;
    }
    return t;
}

static size_t blocks_of(const struct val *m)
{
    const struct val *content = val_get(m, "content");
    return val_is(content, VAL_ARRAY) ? content->count : 0;
}

static const struct val *block_of(const struct val *m, size_t k)
{
    return val_item(val_get(m, "content"), k);
}

/* The calls of an assistant's turn that nothing behind it answers, listed. */
static bool check_answered(struct check *c, const struct val *list, struct turn t,
                           const struct check_ids *ids)
{
    struct buf missing = {0};
    size_t last = t.from;
    for (size_t i = t.from; i < t.to; i++) {
        for (size_t k = 0; k < blocks_of(&list->items[i]); k++) {
            const struct val *block = block_of(&list->items[i], k);
            struct str id = val_text(val_get(block, "id"));
            if (type_is(block, "tool_use") && check_ids_find(ids, id)->answer_place == SIZE_MAX) {
                buf_addz(&missing, missing.n == 0 ? "" : ", ");
                buf_add(&missing, id);
                last = i;
            }
        }
    }
    bool good = missing.n == 0;
    if (!good) {
        (void)refuse(c, arena_printf(c->arena,
                                     "messages.%zu: `tool_use` ids were found without "
                                     "`tool_result` blocks immediately after: %.*s. Each "
                                     "`tool_use` block must have a corresponding `tool_result` "
                                     "block in the next message.",
                                     last, STR_FMT(buf_str(&missing))));
    }
    buf_free(&missing);
    return good;
}

/* One result: `before` is the assistant's turn before it. */
static bool check_result(struct check *c, const struct val *block, struct str path,
                         struct turn before, size_t place, const struct check_ids *ids)
{
    struct str id = val_text(val_get(block, "tool_use_id"));
    struct check_id *call = check_ids_find(ids, id);
    if (before.to == 0 && goes_on(c)) {
        return true;
    }
    if (call == NULL || call->place < before.from || call->place >= before.to) {
        return refuse_at(c, path,
                         arena_printf(c->arena,
                                      "unexpected `tool_use_id` found in `tool_result` blocks: "
                                      "%.*s. Each `tool_result` block must have a corresponding "
                                      "`tool_use` block in the previous message.",
                                      STR_FMT(id))
                             .p);
    }
    if (call->answer_place != SIZE_MAX) {
        return refuse_at(c, path,
                         arena_printf(c->arena,
                                      "each tool_use must have a single result. Found multiple "
                                      "`tool_result` blocks with id: %.*s",
                                      STR_FMT(id))
                             .p);
    }
    call->answer_place = place;
    return true;
}

/* Results stand before everything else of the user's turn; those behind it answer nothing. */
static bool check_results(struct check *c, const struct val *list, struct turn t,
                          struct turn before, const struct check_ids *ids)
{
    bool leading = true;
    for (size_t i = t.from; i < t.to; i++) {
        leading = leading && (is_system(&list->items[i]) || blocks_of(&list->items[i]) > 0);
        for (size_t k = 0; k < blocks_of(&list->items[i]); k++) {
            const struct val *block = block_of(&list->items[i], k);
            bool result = type_is(block, "tool_result");
            struct str path = arena_printf(c->arena, "messages.%zu.content.%zu", i, k);
            leading = leading && (result || is_system(&list->items[i]));
            if (result && !leading) {
                return check_answered(c, list, before, ids) &&
                       check_result(c, block, path, before, i, ids);
            }
            if (result && !check_result(c, block, path, before, i, ids)) {
                return false;
            }
        }
    }
    return true;
}

static bool collect_uses(struct check *c, const struct val *list, struct check_ids *ids)
{
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++) {
        n += blocks_of(&list->items[i]);
    }
    *ids = check_ids_new(c->arena, n);
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < blocks_of(&list->items[i]); k++) {
            const struct val *block = block_of(&list->items[i], k);
            if (type_is(block, "tool_use") &&
                !check_ids_add(ids, val_text(val_get(block, "id")), i)) {
                return refuse(c, arena_printf(c->arena,
                                              "messages.%zu.content.%zu: `tool_use` ids must be "
                                              "unique",
                                              i, k));
            }
        }
    }
    return true;
}

static bool check_pairs(struct check *c, const struct val *list)
{
    struct check_ids ids;
    struct turn before = {0, 0};
    if (!collect_uses(c, list, &ids)) {
        return false;
    }
    for (size_t i = 0; i < list->count;) {
        struct turn t = turn_at(list, i);
        if (!is_assistant(&list->items[i]) &&
            (!check_results(c, list, t, before, &ids) || !check_answered(c, list, before, &ids))) {
            return false;
        }
        before = is_assistant(&list->items[i]) ? t : (struct turn){0, 0};
        i = t.to;
    }
    return check_answered(c, list, before, &ids);
}

/* ---- thinking ---- */

static bool is_thought(const struct val *block)
{
    return type_is(block, "thinking") || type_is(block, "redacted_thinking");
}

/* A user's message that goes on with the loop of calls. */
static bool holds_results(const struct val *m)
{
    for (size_t k = 0; k < blocks_of(m); k++) {
        if (type_is(block_of(m, k), "tool_result")) {
            return true;
        }
    }
    return false;
}

/* While calls go on, what the model thought before the first of them must be there. */
static bool check_thoughts(struct check *c, const struct val *list)
{
    size_t first = SIZE_MAX;
    for (size_t i = list->count; i-- > 0;) {
        const struct val *m = &list->items[i];
        if (is_assistant(m)) {
            if (is_thought(block_of(m, 0))) {
                return true;
            }
            first = i;
        } else if (!holds_results(m) && !is_system(m)) {
            break;
        }
    }
    if (first == SIZE_MAX) {
        return true;
    }
    const struct val *block = block_of(&list->items[first], 0);
    struct str found = block == NULL ? STR("text") : val_text(val_get(block, "type"));
    return refuse(c, arena_printf(c->arena,
                                  "messages.%zu.content.0.type: Expected `thinking` or "
                                  "`redacted_thinking`, but found `%.*s`. When `thinking` is "
                                  "enabled, a final `assistant` message must start with a thinking "
                                  "block (preceeding the lastmost set of `tool_use` and "
                                  "`tool_result` blocks).",
                                  first, STR_FMT(found)));
}

static bool check_thinking(struct check *c, const struct val *list)
{
    const struct val *thinking = val_get(c->body, "thinking");
    const struct val *temperature = val_get(c->body, "temperature");
    if (!check_kind(c, thinking, VAL_OBJECT, false, STR("thinking"))) {
        return false;
    }
    if (!type_is(thinking, "enabled")) {
        return true;
    }
    if (!check_whole(c, val_get(thinking, "budget_tokens"), "1024",
                     STR("thinking.enabled.budget_tokens"))) {
        return false;
    }
    if (val_is(temperature, VAL_NUMBER) && num_compare(temperature->text, STR("1")) != 0) {
        return refuse(c, STR("`temperature` may only be set to 1 when thinking is enabled."));
    }
    return !c->thinks || goes_on(c) || check_thoughts(c, list);
}

/* ---- the whole ---- */

static bool check_system(struct check *c)
{
    const struct val *system = val_get(c->body, "system");
    if (!is_set(system) || system->kind == VAL_STRING) {
        return true;
    }
    if (!check_kind(c, system, VAL_ARRAY, true, STR("system"))) {
        return false;
    }
    for (size_t i = 0; i < system->count; i++) {
        struct str text = val_text(val_get(&system->items[i], "text"));
        if (text.n == 0) {
            return refuse(c, STR("system: text content blocks must be non-empty"));
        }
    }
    return true;
}

/* What the model is to go on with must not end with white space. */
static bool check_prefill(struct check *c, const struct val *list)
{
    const struct val *last = &list->items[list->count - 1];
    const struct val *content = val_get(last, "content");
    struct str text = val_text(content);
    if (blocks_of(last) > 0) {
        text = val_text(val_get(block_of(last, blocks_of(last) - 1), "text"));
    }
    return !is_assistant(last) || text.n == 0 ||
           str_trim(text).p + str_trim(text).n == text.p + text.n ||
           refuse(c, STR("messages: final assistant content cannot end with trailing whitespace"));
}

static bool check_messages(struct check *c)
{
    const struct val *list = val_get(c->body, "messages");
    if (!check_kind(c, list, VAL_ARRAY, true, STR("messages"))) {
        return false;
    }
    if (list->count == 0) {
        return refuse(c, STR("messages: at least one message is required"));
    }
    for (size_t i = 0; i < list->count; i++) {
        if (!check_message(c, &list->items[i], i, i + 1 == list->count)) {
            return false;
        }
    }
    return check_pairs(c, list) && check_thinking(c, list) && check_prefill(c, list);
}

bool messages_check(struct check *c)
{
    const struct val *model = val_get(c->body, "model");
    if (!val_is(c->body, VAL_OBJECT)) {
        return refuse(c,
                      STR("Input should be a valid dictionary or object to extract fields from"));
    }
    if (!check_kind(c, model, VAL_STRING, true, STR("model"))) {
        return false;
    }
    if (model->text.n == 0) {
        return refuse_at(c, STR("model"), "String should have at least 1 character");
    }
    return check_whole(c, val_get(c->body, "max_tokens"), "1", STR("max_tokens")) &&
           check_share(c, "temperature") && check_share(c, "top_p") &&
           check_kind(c, val_get(c->body, "stream"), VAL_BOOL, false, STR("stream")) &&
           check_system(c) && check_messages(c) && check_tools(c);
}
