#include <stdio.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/text.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/session.h"
#include "kernel/drive/tools_function.h"

static void answers_nothing(void *ctx, const struct val *args, struct arena *arena,
                            struct tool_output *out)
{
    (void)ctx, (void)args, (void)arena, (void)out;
}

static int add(struct toolset *set, const struct tool_param *params, struct err *e)
{
    const struct tool_function f = {.name = "t", .params = params, .call = answers_nothing};
    return toolset_add_function(set, &f, e);
}

/* ---- schemas, written by hand from JSON Schema 2020-12 ---- */

static const char *const words[] = {"open", "\"shipped\"", "\xc3\xa9", NULL};

static const struct tool_param any_string = {.type = PARAM_STRING};
static const struct tool_param short_string = {.type = PARAM_STRING, .maximum = "9"};
static const struct tool_param any_strings = {.type = PARAM_ARRAY, .items = &any_string};

static const struct tool_param street[] = {
    {"street", PARAM_STRING, .description = "With its number.", .required = true},
    {.name = "zip-code", .type = PARAM_STRING},
    {0}};
static const struct tool_param street_item = {.type = PARAM_OBJECT, .members = street};

static const struct tool_param none[] = {{0}};
static const struct tool_param all[] = {
    {"order_id", PARAM_STRING, .description = "As on \"it\".", .required = true},
    {"limit", PARAM_INTEGER, .minimum = "1", .maximum = "100", .default_json = " 10 "},
    {"share", PARAM_NUMBER, .minimum = "-0.50", .maximum = "1e2", .required = true},
    {"status", PARAM_STRING, .values = words, .default_json = "\"open\""},
    {"x.y", PARAM_BOOLEAN, .description = ""},
    {0}};
static const struct tool_param nested[] = {
    {"tags", PARAM_ARRAY, .description = "Words.", .minimum = "1", .items = &short_string},
    {"grid", PARAM_ARRAY, .items = &any_strings},
    {"address", PARAM_OBJECT, .required = true, .members = street},
    {"others", PARAM_ARRAY, .items = &street_item, .default_json = "[]"},
    {"empty", PARAM_OBJECT, .members = none},
    {0}};

#define STREET                                                                                     \
    "{\"type\":\"object\",\"properties\":{\"street\":{\"type\":\"string\",\"description\":\"With " \
    "its number.\"},\"zip-code\":{\"type\":\"string\"}},\"required\":[\"street\"],"                \
    "\"additionalProperties\":false"

static const struct {
    const struct tool_param *params;
    const char *schema;
} schemas[] = {
    {NULL, "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"},
    {none, "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"},
    {all, "{\"type\":\"object\",\"properties\":{"
          "\"order_id\":{\"type\":\"string\",\"description\":\"As on \\\"it\\\".\"},"
          "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100,\"default\":10},"
          "\"share\":{\"type\":\"number\",\"minimum\":-0.50,\"maximum\":1e2},"
          "\"status\":{\"type\":\"string\",\"enum\":[\"open\",\"\\\"shipped\\\"\",\"\xc3\xa9\"],"
          "\"default\":\"open\"},"
          "\"x.y\":{\"type\":\"boolean\"}},"
          "\"required\":[\"order_id\",\"share\"],\"additionalProperties\":false}"},
    {nested, "{\"type\":\"object\",\"properties\":{"
             "\"tags\":{\"type\":\"array\",\"description\":\"Words.\",\"minItems\":1,"
             "\"items\":{\"type\":\"string\",\"maxLength\":9}},"
             "\"grid\":{\"type\":\"array\",\"items\":{\"type\":\"array\","
             "\"items\":{\"type\":\"string\"}}},"
             "\"address\":" STREET "},"
             "\"others\":{\"type\":\"array\",\"items\":" STREET "},\"default\":[]},"
             "\"empty\":{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}},"
             "\"required\":[\"address\"],\"additionalProperties\":false}"},
};

static void check_schema(const struct tool_spec *spec, const char *want)
{
    CHECK_TEXT(spec->parameters.p, want);
    CU_ASSERT_EQUAL(spec->parameters.n, strlen(want));
    CU_ASSERT_PTR_NOT_NULL(spec->validator);
    CU_ASSERT_TRUE(schema_lists_members(spec->schema));
}

static void doubt(void *ctx, const struct finding *f)
{
    printf("\n  %.*s\n", STR_FMT(f->message));
    ++*(size_t *)ctx;
}

static void schemas_are_made(void)
{
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++) {
        struct toolset *set = toolset_new();
        struct err e = {0};
        size_t n, doubts = 0;
        CU_ASSERT_EQUAL(add(set, schemas[i].params, &e), 0);
        CHECK_TEXT(e.message, "");
        const struct tool_spec *spec = toolset_specs(set, &n);
        CU_ASSERT_EQUAL_FATAL(n, 1);
        check_schema(spec, schemas[i].schema);
        toolset_check(set, doubt, &doubts);
        CU_ASSERT_EQUAL(doubts, 0);
        CU_ASSERT_EQUAL(toolset_programs(set, &e), 0);
        toolset_free(set);
    }
}

/* Recordings are keyed by these bytes. */
static void builtin_schemas_stay(void)
{
    static const char *const want[][2] = {
        {"calculator", "{\"type\":\"object\",\"properties\":{\"expression\":{\"type\":\"string\"}},"
                       "\"required\":[\"expression\"],\"additionalProperties\":false}"},
        {"search_docs",
         "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\"},\"limit\":{\"type\":"
         "\"integer\",\"minimum\":1,\"maximum\":5,\"default\":3}},\"required\":[\"query\"],"
         "\"additionalProperties\":false}"},
        {"now", "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"},
        {"task_done", "{\"type\":\"object\",\"properties\":{\"report\":{\"type\":\"string\"}},"
                      "\"required\":[\"report\"],\"additionalProperties\":false}"},
    };
    struct toolset *set = toolset_new();
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        size_t n;
        CU_ASSERT_EQUAL(toolset_add_builtin(set, str_of(want[i][0]), NULL), 0);
        const struct tool_spec *specs = toolset_specs(set, &n);
        CU_ASSERT_EQUAL_FATAL(n, i + 1);
        check_schema(&specs[i], want[i][1]);
    }
    toolset_free(set);
}

/* ---- declarations that are refused ---- */

#define P(...) ((const struct tool_param[]){__VA_ARGS__, {0}})

/* Parameter a, itself an object with a member a, and so on. */
static const struct tool_param endless[2] = {{"a", PARAM_OBJECT, .members = endless}, {0}};

#define VALUES(...) ((const char *const[]){__VA_ARGS__, NULL})
static const struct tool_param twice[] = {
    {.name = "street", .type = PARAM_STRING}, {.name = "street", .type = PARAM_INTEGER}, {0}};
static const struct tool_param twice_item = {.type = PARAM_OBJECT, .members = twice};
static const struct tool_param named = {.name = "x", .type = PARAM_STRING};
static const struct tool_param required = {.type = PARAM_STRING, .required = true};
static const char *const no_values[] = {NULL};

static const struct {
    const struct tool_param *params;
    int code;
    const char *message;
} refused[] = {
    {twice, ERR_INPUT, "the tool \"t\", parameter street: there are two of this name"},
    {P({.name = "a", .type = PARAM_OBJECT, .members = twice}), ERR_INPUT,
     "the tool \"t\", parameter a.street: there are two of this name"},
    {P({.name = "a", .type = PARAM_ARRAY, .items = &twice_item}), ERR_INPUT,
     "the tool \"t\", parameter a[].street: there are two of this name"},
    {P({.name = "a b", .type = PARAM_STRING}), ERR_INPUT,
     "parameter a b: a parameter's name is 1 to 64 letters, digits, \"_\", \".\" or \"-\""},
    {P({.name = "", .type = PARAM_STRING}), ERR_INPUT, "1 to 64 letters"},
    {P({.name = "a2345678901234567890123456789012345678901234567890123456789012345",
        .type = PARAM_STRING}),
     ERR_INPUT, "1 to 64 letters"},
    {P({.name = "a", .type = PARAM_STRING}, {.type = PARAM_STRING}), ERR_INPUT,
     "the tool \"t\": entry 2 of its table has no name"},
    {P({.name = "a"}), ERR_INPUT, "parameter a: 0 is no type"},
    {P({.name = "a", .type = (enum param_type)7}), ERR_INPUT, "parameter a: 7 is no type"},
    {P({.name = "a", .type = PARAM_STRING, .description = "\xff"}), ERR_INPUT, "not UTF-8"},
    {P({.name = "a", .type = PARAM_STRING, .values = no_values}), ERR_INPUT,
     "parameter a: its list of values is empty"},
    {P({.name = "a", .type = PARAM_STRING, .values = VALUES("x", "y", "x")}), ERR_INPUT,
     "value 3 is the same as value 1"},
    {P({.name = "a", .type = PARAM_STRING, .values = VALUES("x", "\xff")}), ERR_INPUT,
     "value 2 is not UTF-8"},
    {P({.name = "a", .type = PARAM_INTEGER, .values = VALUES("x")}), ERR_INPUT,
     "values are for a string, this is of type integer"},
    {P({.name = "a", .type = PARAM_INTEGER, .minimum = "2", .maximum = "1"}), ERR_INPUT,
     "parameter a: its minimum 2 is above its maximum 1"},
    {P({.name = "a", .type = PARAM_NUMBER, .minimum = "0.10", .maximum = "0.09"}), ERR_INPUT,
     "above"},
    {P({.name = "a", .type = PARAM_INTEGER, .minimum = "0.5"}), ERR_INPUT, "whole number"},
    {P({.name = "a", .type = PARAM_INTEGER, .minimum = "01"}), ERR_INPUT,
     "minimum is \"01\", no number as JSON writes it"},
    {P({.name = "a", .type = PARAM_NUMBER, .maximum = "true"}), ERR_INPUT, "no number"},
    {P({.name = "a", .type = PARAM_STRING, .minimum = "-1"}), ERR_INPUT,
     "minLength is -1, below 0"},
    {P({.name = "a", .type = PARAM_BOOLEAN, .maximum = "1"}), ERR_INPUT,
     "minimum and maximum are not for type boolean"},
    {P({.name = "a", .type = PARAM_ARRAY}), ERR_INPUT, "set `items`"},
    {P({.name = "a", .type = PARAM_STRING, .items = &any_string}), ERR_INPUT,
     "items are for an array, this is of type string"},
    {P({.name = "a", .type = PARAM_ARRAY, .items = &named}), ERR_INPUT,
     "parameter a[]: an item has no name"},
    {P({.name = "a", .type = PARAM_ARRAY, .items = &required}), ERR_INPUT, "cannot be required"},
    {P({.name = "a", .type = PARAM_OBJECT}), ERR_INPUT, "set `members`"},
    {P({.name = "a", .type = PARAM_ARRAY, .items = &any_string, .members = none}), ERR_INPUT,
     "members are for an object, this is of type array"},
    {P({.name = "a", .type = PARAM_INTEGER, .default_json = "x"}), ERR_INPUT, "no JSON"},
    {P({.name = "a", .type = PARAM_INTEGER, .maximum = "5", .default_json = "6"}), ERR_INPUT,
     "parameter a: its default does not fit: "},
    {P({.name = "a", .type = PARAM_OBJECT, .members = street, .default_json = "{}"}), ERR_INPUT,
     "does not fit: "},
    {endless, ERR_LIMIT, "more than 16 levels"},
};

static void check_refused(int rc, const struct err *e, int code, const char *message)
{
    CU_ASSERT_EQUAL(rc, code);
    if (strstr(e->message, message) == NULL) {
        printf("\n  got %s\n  want %s\n", e->message, message);
        CU_FAIL("another message");
    }
}

static void bad_declarations_are_refused(void)
{
    struct toolset *set = toolset_new();
    size_t n;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct err e = {0};
        int rc = add(set, refused[i].params, &e);
        check_refused(rc, &e, refused[i].code, refused[i].message);
    }
    (void)toolset_specs(set, &n);
    CU_ASSERT_EQUAL(n, 0);
    toolset_free(set);
}

static void bad_functions_are_refused(void)
{
    static const struct {
        struct tool_function f;
        const char *message;
    } cases[] = {
        {{.call = answers_nothing}, "cannot name a function"},
        {{.name = "a.b", .call = answers_nothing},
         "\"a.b\" cannot name a function: providers take 1 to 64 letters, digits, \"_\" or \"-\""},
        {{.name = "calculator", .call = answers_nothing},
         "there is already a tool called calculator, a built-in one"},
        {{.name = "first", .call = answers_nothing},
         "there is already a tool called first, a function"},
        {{.name = "a"}, "the tool \"a\": it has no function"},
        {{.name = "a", .description = "\xff", .call = answers_nothing}, "not UTF-8"},
        {{.name = "a", .tier = (enum tool_tier)3, .call = answers_nothing}, "3 is no tier"},
        {{.name = "a", .max_output = -2, .call = answers_nothing}, "max_output"},
    };
    struct toolset *set = toolset_new();
    const struct tool_function first = {.name = "first", .call = answers_nothing};
    size_t n;
    CU_ASSERT_EQUAL(toolset_add_builtin(set, STR("calculator"), NULL), 0);
    CU_ASSERT_EQUAL(toolset_add_function(set, &first, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e = {0};
        int rc = toolset_add_function(set, &cases[i].f, &e);
        check_refused(rc, &e, ERR_INPUT, cases[i].message);
    }
    (void)toolset_specs(set, &n);
    CU_ASSERT_EQUAL(n, 2);
    toolset_free(set);
}

static void limits_hold(void)
{
    enum { MANY = 1001 };
    static char names[MANY][8];
    static struct tool_param table[MANY + 1];
    static const char *values[MANY + 1];
    const struct tool_param choice[] = {{"a", PARAM_STRING, .values = values}, {0}};
    struct toolset *set = toolset_new();
    struct err e = {0};
    for (size_t i = 0; i < MANY; i++) {
        CU_ASSERT(snprintf(names[i], sizeof names[i], "p%zu", i) > 0);
        table[i] = (struct tool_param){.name = names[i], .type = PARAM_STRING};
        values[i] = names[i];
    }
    int rc = add(set, table, &e);
    check_refused(rc, &e, ERR_LIMIT, "parameter p1000: more than 1000 parameters");
    rc = add(set, choice, &e);
    check_refused(rc, &e, ERR_LIMIT, "more than 1000 values");
    table[MANY - 1] = (struct tool_param){0};
    values[MANY - 1] = NULL;
    CU_ASSERT_EQUAL(add(set, table, &e), 0);
    toolset_free(set);
}

static void settings_reach_the_spec(void)
{
    char name[] = "wipe", description[] = "Wipe it.";
    const struct tool_function f = {.name = name,
                                    .description = description,
                                    .call = answers_nothing,
                                    .tier = TIER_DANGER,
                                    .serial = true,
                                    .idempotent = true,
                                    .polling = true,
                                    .terminal = true,
                                    .max_output = -1};
    const struct tool_function plain = {.name = "plain", .call = answers_nothing};
    struct toolset *set = toolset_new();
    enum tool_source source;
    size_t n;
    CU_ASSERT_EQUAL(toolset_add_function(set, &f, NULL), 0);
    CU_ASSERT_EQUAL(toolset_add_function(set, &plain, NULL), 0);
    name[0] = description[0] = '?'; /* both were copied */
    const struct tool_spec *s = toolset_specs(set, &n);
    CU_ASSERT_EQUAL_FATAL(n, 2);
    CU_ASSERT_TRUE(str_is(s[0].name, "wipe") && str_is(s[0].description, "Wipe it."));
    CU_ASSERT_TRUE(s[0].tier == TIER_DANGER && s[0].serial && s[0].idempotent && s[0].polling &&
                   s[0].terminal && s[0].max_output == 0);
    CU_ASSERT_TRUE(s[1].tier == TIER_READ && !s[1].serial && !s[1].idempotent && !s[1].polling &&
                   !s[1].terminal && s[1].max_output == 4000 && s[1].description.n == 0);
    CU_ASSERT_TRUE(toolset_source(set, STR("wipe"), &source) && source == TOOL_FUNCTION);
    toolset_free(set);
}

/* ---- whole runs: a model that calls, and says what it read ---- */

struct llm_call {
    struct llm_sink sink;
};

static struct {
    struct llm llm;
    struct sched *sched;
    struct loop *loop;
    const char *const *moves; /* the arguments of one call of "find" each; NULL = the last words */
    struct llm_call call;
    size_t at;
    size_t found; /* calls of the function */
    struct buf seen;
} t;

static void model_answers(void *arg)
{
    static const char *const ids[] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
    struct llm_call *c = arg;
    const char *move = t.moves[t.at];
    struct tool_call call = {str_of(ids[t.at]), STR("find"), str_of(move)};
    struct reply reply = {.content = STR("Done."), .stop = STOP_END_TURN, .usage = USAGE_UNKNOWN};
    if (move != NULL) {
        reply = (struct reply){
            .calls = &call, .n_calls = 1, .stop = STOP_TOOL_USE, .usage = USAGE_UNKNOWN};
        t.at++;
    }
    c->sink.end(c->sink.ctx, &reply, NULL);
}

static struct llm_call *model_start(struct llm *m, const struct llm_request *rq,
                                    struct llm_sink sink)
{
    (void)m;
    const struct message *last = &rq->messages[rq->n_messages - 1];
    if (last->role == ROLE_TOOL) {
        buf_add(&t.seen, last->content);
        buf_char(&t.seen, '\n');
    }
    t.call.sink = sink;
    (void)sched_post(t.sched, 10, 0, model_answers, &t.call);
    return &t.call;
}

static void find(void *ctx, const struct val *args, struct arena *arena, struct tool_output *out)
{
    int64_t limit = 3;
    CU_ASSERT_PTR_EQUAL(ctx, &t);
    struct str what = val_text(val_get(args, "what"));
    (void)val_int(val_get(args, "limit"), &limit);
    t.found++;
    out->truncated = out->cached = true; /* not the tool's to say */
    if (str_is(what, "nothing")) {
        return;
    }
    if (str_is(what, "trouble")) {
        char text[] = "the shelf is locked";
        out->code = STR("LOCKED");
        out->message = arena_str(arena, STR(text));
        out->hint = STR("come back");
        return;
    }
    if (str_is(what, "much")) {
        char *text = arena_alloc(arena, 500);
        memset(text, 'x', 500);
        text[0] = '<';
        text[499] = '>';
        *out = (struct tool_output){.ok = true, .content = {text, 500}};
        return;
    }
    static char kept[64]; /* overwritten by the next call, so it must be copied */
    int n = snprintf(kept, sizeof kept, "%.*s*%d", STR_FMT(what), (int)limit);
    out->ok = true;
    out->content = (struct str){kept, (size_t)n};
}

static const struct tool_param find_params[] = {
    {"what", PARAM_STRING, .required = true},
    {"limit", PARAM_INTEGER, .minimum = "1", .maximum = "5", .default_json = "3"},
    {0}};

static struct run_result run(const char *const *moves)
{
    static const struct llm_ops ops = {model_start, NULL, NULL};
    const struct tool_function f = {
        .name = "find", .params = find_params, .call = find, .ctx = &t, .max_output = 120};
    struct toolset *set = toolset_new();
    CU_ASSERT_EQUAL_FATAL(toolset_add_function(set, &f, NULL), 0);
    t.llm.ops = &ops;
    t.loop = loop_new();
    t.sched = sched_virtual(t.loop);
    t.moves = moves;
    t.at = t.found = 0;
    struct toolbox *box = toolbox_local(set, t.sched, t.loop, 0);
    struct session_options o = {.config = kernel_config_default(),
                                .prompt = STR("Find it."),
                                .llm = &t.llm,
                                .tools = box,
                                .sched = t.sched,
                                .max_tokens = -1};
    o.config.run = STR("0123456789ab");
    o.config.started_at = STR("2026-11-29T18:00:00.000Z");
    o.config.model = STR("m-1");
    o.config.provider = STR("openai");
    o.config.tools = toolset_specs(set, &o.config.n_tools);
    struct session *session = session_new(&o);
    loop_run(t.loop);
    struct run_result result = {.status = RUN_CANCELLED};
    CU_ASSERT_TRUE(session_result(session, &result));
    result.answer = (struct str){NULL, 0};
    session_free(session);
    box->ops->free(box);
    toolset_free(set);
    sched_free(t.sched);
    loop_free(t.loop);
    return result;
}

/* What the model read: as many lines as parts, each with its part in it. */
static void expect_seen(const char *const *parts, size_t n)
{
    struct str rest = buf_str(&t.seen);
    for (size_t i = 0; i < n; i++) {
        size_t end = str_find(rest, STR("\n"));
        CU_ASSERT_FATAL(end != SIZE_MAX);
        if (str_find(str_slice(rest, 0, end), str_of(parts[i])) == SIZE_MAX) {
            printf("\n  got %.*s\n  want %s\n", (int)end, rest.p, parts[i]);
            CU_FAIL("a part is missing");
        }
        rest = str_slice(rest, end + 1, rest.n);
    }
    CU_ASSERT_EQUAL(rest.n, 0);
    buf_free(&t.seen);
}

static void functions_answer_in_a_run(void)
{
    static const char *const moves[] = {"{\"what\":\"nut\"}", "{\"what\":\"bolt\",\"limit\":5}",
                                        "{\"what\":\"trouble\"}", "{\"what\":\"nothing\"}", NULL};
    struct run_result result = run(moves);
    CU_ASSERT_EQUAL(result.status, RUN_COMPLETED);
    CU_ASSERT_EQUAL(result.ended_ms, 50); /* five replies; the functions took no time */
    CU_ASSERT_EQUAL(t.found, 4);
    static const char *const read[] = {
        "nut*3", "bolt*5",
        "{\"code\":\"LOCKED\",\"message\":\"the shelf is locked\",\"retryable\":false,"
        "\"hint\":\"come back\"}",
        "{\"code\":\"TOOL_ERROR\",\"message\":\"the tool's function gave no reason\","
        "\"retryable\":false"};
    expect_seen(read, 4);
}

static void bad_arguments_do_not_reach_the_function(void)
{
    static const char *const moves[] = {
        "{}", "{\"what\":[]}", "{\"what\":\"nut\",\"limit\":6}", "{\"what\":\"nut\",\"x\":1}", "[]",
        NULL};
    struct run_result result = run(moves);
    CU_ASSERT_EQUAL(result.status, RUN_COMPLETED);
    CU_ASSERT_EQUAL(t.found, 0);
    static const char *const read[] = {
        "BAD_PARAMETERS\",\"message\":\"what: ", "BAD_PARAMETERS\",\"message\":\"what: ",
        "BAD_PARAMETERS\",\"message\":\"limit: ", "BAD_PARAMETERS\",\"message\":\"x: ",
        "BAD_ARGUMENTS"};
    expect_seen(read, 5);
}

static void long_outputs_are_cut(void)
{
    static const char *const moves[] = {"{\"what\":\"much\"}", NULL};
    struct run_result result = run(moves);
    CU_ASSERT_EQUAL(result.status, RUN_COMPLETED);
    struct str seen = str_trim(buf_str(&t.seen));
    CU_ASSERT_TRUE(str_starts(seen, "<xxx") && str_ends(seen, "xxx>"));
    CU_ASSERT_TRUE(str_find(seen, STR("500")) != SIZE_MAX); /* the whole size is told */
    CU_ASSERT_TRUE(utf8_count(seen) < 250);
    buf_free(&t.seen);
}

TESTS(tools_function, {"function_schemas_are_made_from_declarations", schemas_are_made},
      {"function_declarations_keep_the_bytes_of_builtin_schemas", builtin_schemas_stay},
      {"function_declarations_that_are_wrong_are_refused", bad_declarations_are_refused},
      {"function_tools_that_are_wrong_are_refused", bad_functions_are_refused},
      {"function_declarations_have_limits", limits_hold},
      {"function_settings_reach_the_spec", settings_reach_the_spec},
      {"functions_answer_in_a_run", functions_answer_in_a_run},
      {"functions_never_see_bad_arguments", bad_arguments_do_not_reach_the_function},
      {"function_outputs_are_cut_as_others_are", long_outputs_are_cut})
