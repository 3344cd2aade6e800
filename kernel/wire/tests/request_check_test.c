/* What providers refuse, and in which words. Each case is a good request with one thing wrong: the
 * good ones are checked, too. Expected: error bodies that users of the providers quote (issues of
 * the SDKs and of agents), and the API references. */
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/json.h"
#include "kernel/wire/wire.h"

struct refused {
    const char *body;    /* with 'for " */
    const char *message; /* NULL = it is taken */
    const char *param;
    const char *code;
};

/* Bodies are written with ' for " so that they can be read. */
static struct str json_of(struct arena *arena, const char *text)
{
    char *copy = arena_cstr(arena, str_of(text));
    for (char *p = copy; *p != '\0'; p++) {
        *p = *p == '\'' ? '"' : *p == '"' ? '\'' : *p;
    }
    return str_of(copy);
}

static void check_case(enum wire_format f, const struct refused *want)
{
    struct arena *arena = arena_new();
    struct wire_refusal r = {0};
    struct val *body;
    struct err e;
    int rc = json_parse(arena, NULL, json_of(arena, want->body), &body, &e);
    if (rc != 0) {
        CHECK_TEXT(want->body, e.message);
        arena_free(arena);
        return;
    }
    bool taken = wire_check_request(f, body, true, arena, &r);
    if (want->message == NULL || taken) {
        CHECK_TEXT(taken ? "taken" : arena_cstr(arena, r.message),
                   want->message == NULL ? "taken" : want->message);
    } else {
        struct str message = json_of(arena, want->message);
        CHECK_TEXT(arena_cstr(arena, r.message), message.p);
        CU_ASSERT_EQUAL(r.status, 400);
        CHECK_TEXT(r.param.p == NULL ? "null" : arena_cstr(arena, r.param),
                   want->param == NULL ? "null" : want->param);
        CHECK_TEXT(r.code.p == NULL ? "null" : arena_cstr(arena, r.code),
                   want->code == NULL ? "null" : want->code);
    }
    arena_free(arena);
}

static void check_cases(enum wire_format f, const struct refused *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check_case(f, &cases[i]);
    }
}

#define CHECK_CASES(f, cases) check_cases((f), (cases), sizeof(cases) / sizeof((cases)[0]))

/* In messages, too, ' and " are swapped. */
#define CHAT(messages)  "{'model':'m','messages':[" messages "]}"
#define CHAT_WITH(rest) "{'model':'m','messages':[{'role':'user','content':'Hi'}]," rest "}"
#define CALL(id)        "{'id':'" id "','type':'function','function':{'name':'f','arguments':'{}'}}"
#define ASKS(calls)     "{'role':'assistant','content':null,'tool_calls':[" calls "]}"
#define RESULT(id)      "{'role':'tool','tool_call_id':'" id "','content':'ok'}"
#define USER            "{'role':'user','content':'Hi'}"
#define TOOL(function)  "'tools':[{'type':'function','function':" function "}]"

static void chat_pairs_calls_and_results(void)
{
    static const struct refused cases[] = {
        {CHAT(USER "," ASKS(CALL("a") "," CALL("b")) "," RESULT("b") "," RESULT("a")), NULL, NULL,
         NULL},
        {CHAT(USER "," ASKS(CALL("a") "," CALL("b")) "," RESULT("b")),
         "An assistant message with \"tool_calls\" must be followed by tool messages responding to "
         "each \"tool_call_id\". The following tool_call_ids did not have response messages: a",
         "messages.[2].role", NULL},
        {CHAT(USER "," ASKS(CALL("a") "," CALL("b")) "," USER),
         "An assistant message with \"tool_calls\" must be followed by tool messages responding to "
         "each \"tool_call_id\". The following tool_call_ids did not have response messages: a, b",
         "messages.[2].role", NULL},
        {CHAT(USER "," RESULT("a")),
         "Invalid parameter: messages with role \"tool\" must be a response to a preceeding "
         "message "
         "with \"tool_calls\".",
         "messages.[1].role", NULL},
        {CHAT(USER "," ASKS(CALL("a")) "," RESULT("a") "," USER "," RESULT("a")),
         "Invalid parameter: messages with role \"tool\" must be a response to a preceeding "
         "message "
         "with \"tool_calls\".",
         "messages.[4].role", NULL},
        {CHAT(USER "," ASKS(CALL("a")) "," RESULT("x")),
         "Invalid parameter: \"tool_call_id\" of \"x\" not found in \"tool_calls\" of previous "
         "message.",
         "messages.[2].tool_call_id", NULL},
        {CHAT(USER "," ASKS(CALL("a")) "," RESULT("a") "," RESULT("a")),
         "Invalid parameter: Duplicate value for \"tool_call_id\" of \"a\", in messages[2] and "
         "messages[3].",
         "messages.[3].tool_call_id", NULL},
        {CHAT(USER "," ASKS(CALL("a")) ",{'role':'tool','content':'ok'}"),
         "Missing required parameter: \"messages[2].tool_call_id\".", "messages[2].tool_call_id",
         "missing_required_parameter"},
    };
    CHECK_CASES(WIRE_CHAT, cases);
}

static void chat_wants_messages(void)
{
    static const struct refused cases[] = {
        {"[]", "The body of a request must be a JSON object.", NULL, NULL},
        {"{'messages':[]}", "you must provide a model parameter", NULL, NULL},
        {"{'model':3,'messages':[" USER "]}",
         "Invalid type for \"model\": expected a string, but got an integer instead.", "model",
         "invalid_type"},
        {"{'model':'m'}", "Missing required parameter: \"messages\".", "messages",
         "missing_required_parameter"},
        {"{'model':'m','messages':'Hi'}",
         "Invalid type for \"messages\": expected an array of objects, but got a string instead.",
         "messages", "invalid_type"},
        {"{'model':'m','messages':[]}",
         "Invalid \"messages\": empty array. Expected an array with minimum length 1, but got an "
         "empty array instead.",
         "messages", "empty_array"},
        {CHAT("{'role':'model','content':'Hi'}"),
         "Invalid value: \"model\". Supported values are: \"system\", \"assistant\", \"user\", "
         "\"function\", \"tool\", and \"developer\".",
         "messages[0].role", "invalid_value"},
        {CHAT("{'content':'Hi'}"), "Missing required parameter: \"messages[0].role\".",
         "messages[0].role", "missing_required_parameter"},
        {CHAT("{'role':'user','content':null}"),
         "Invalid value for \"content\": expected a string, got null.", "messages.[0].content",
         NULL},
        {CHAT("{'role':'user','content':{'text':'Hi'}}"),
         "Invalid type for \"messages[0].content\": expected one of a string or array of objects, "
         "but got an object instead.",
         "messages[0].content", "invalid_type"},
        {CHAT("{'role':'user','content':[{'type':'text','text':'Hi'}]}"), NULL, NULL, NULL},
        {CHAT("{'role':'user','content':[{'type':'text'}]}"),
         "Missing required parameter: \"messages[0].content[0].text\".",
         "messages[0].content[0].text", "missing_required_parameter"},
        {CHAT(USER ",{'role':'assistant'}," USER),
         "Invalid value for \"content\": expected a string, got null.", "messages.[1].content",
         NULL},
        {CHAT(USER "," ASKS("")),
         "Invalid \"messages[1].tool_calls\": empty array. Expected an array with minimum length "
         "1, "
         "but got an empty array instead.",
         "messages[1].tool_calls", "empty_array"},
        {CHAT(USER "," ASKS("{'type':'function','function':{'name':'f','arguments':'{}'}}")),
         "Missing required parameter: \"messages[1].tool_calls[0].id\".",
         "messages[1].tool_calls[0].id", "missing_required_parameter"},
        {CHAT(USER "," ASKS("{'id':'a','type':'function','function':{'name':'f','arguments':{}}}")),
         "Invalid type for \"messages[1].tool_calls[0].function.arguments\": expected a string, "
         "but "
         "got an object instead.",
         "messages[1].tool_calls[0].function.arguments", "invalid_type"},
    };
    CHECK_CASES(WIRE_CHAT, cases);
}

static void chat_wants_good_tools(void)
{
    static const struct refused cases[] = {
        {CHAT_WITH(TOOL("{'name':'f'}")), NULL, NULL, NULL},
        {CHAT_WITH(TOOL("{'name':'f','parameters':{'type':'object','properties':{}}}")), NULL, NULL,
         NULL},
        {CHAT_WITH("'tools':[]"),
         "Invalid \"tools\": empty array. Expected an array with minimum length 1, but got an "
         "empty "
         "array instead.",
         "tools", "empty_array"},
        {CHAT_WITH(TOOL("{'name':'a b'}")),
         "Invalid \"tools[0].function.name\": string does not match pattern. Expected a string "
         "that "
         "matches the pattern \"^[a-zA-Z0-9_-]+$\".",
         "tools[0].function.name", "invalid_value"},
        {CHAT_WITH(TOOL("{'name':'a23456789012345678901234567890123456789012345678901234567890123"
                        "45'}")),
         "Invalid \"tools[0].function.name\": string too long. Expected a string with maximum "
         "length 64, but got a string with length 65 instead.",
         "tools[0].function.name", "string_above_max_length"},
        {CHAT_WITH(TOOL("{'description':'d'}")),
         "Missing required parameter: \"tools[0].function.name\".", "tools[0].function.name",
         "missing_required_parameter"},
        {CHAT_WITH("'tools':[{'type':'function','name':'f'}]"),
         "Missing required parameter: \"tools[0].function\".", "tools[0].function",
         "missing_required_parameter"},
        {CHAT_WITH("'tools':[{'type':'tool','function':{'name':'f'}}]"),
         "Invalid value: \"tool\". Supported values are: \"function\" and \"custom\".",
         "tools[0].type", "invalid_value"},
        {CHAT_WITH("'tools':[{'type':'function','function':{'name':'f'}},{'type':'function',"
                   "'function':{'name':'f'}}]"),
         "Invalid \"tools[1].function.name\": tools[0] is called \"f\", too.",
         "tools[1].function.name", "invalid_value"},
    };
    CHECK_CASES(WIRE_CHAT, cases);
}

static void chat_wants_good_schemas_and_choices(void)
{
    static const struct refused cases[] = {
        {CHAT_WITH(TOOL("{'name':'f','parameters':{'type':'string'}}")),
         "Invalid schema for function \"f\": schema must be a JSON Schema of \"type: 'object'\", "
         "got \"type: 'string'\".",
         "tools[0].function.parameters", "invalid_function_parameters"},
        {CHAT_WITH(TOOL("{'name':'f','parameters':{'type':'object'}}")),
         "Invalid schema for function \"f\": In context=(), object schema missing properties.",
         "tools[0].function.parameters", "invalid_function_parameters"},
        {CHAT_WITH(TOOL("{'name':'f','parameters':{'type':'object','properties':{'a':{'type':"
                        "'array'}}}}")),
         "Invalid schema for function \"f\": In context=(\"properties\", \"a\"), array schema "
         "missing items.",
         "tools[0].function.parameters", "invalid_function_parameters"},
        {CHAT_WITH(TOOL("{'name':'f','strict':true,'parameters':{'type':'object','properties':{'a':"
                        "{'type':'string'}},'required':['a']}}")),
         "Invalid schema for function \"f\": In context=(), \"additionalProperties\" is required "
         "to "
         "be supplied and to be false.",
         "tools[0].function.parameters", "invalid_function_parameters"},
        {CHAT_WITH(TOOL("{'name':'f','strict':true,'parameters':{'type':'object','properties':{'a':"
                        "{'type':'string'},'b':{'type':'string'}},'required':['a'],"
                        "'additionalProperties':false}}")),
         "Invalid schema for function \"f\": In context=(), \"required\" is required to be "
         "supplied "
         "and to be an array including every key in properties. Missing \"b\".",
         "tools[0].function.parameters", "invalid_function_parameters"},
        {CHAT_WITH(TOOL("{'name':'f'}") ",'tool_choice':'any'"),
         "Invalid value: \"any\". Supported values are: \"none\", \"auto\", and \"required\".",
         "tool_choice", "invalid_value"},
        {CHAT_WITH(
             TOOL("{'name':'f'}") ",'tool_choice':{'type':'function','function':{'name':'g'}}"),
         "Tool choice \"g\" not found in \"tools\" parameter.", "tool_choice", NULL},
        {CHAT_WITH("'tool_choice':'auto'"),
         "Invalid value for \"tool_choice\": \"tool_choice\" is only allowed when \"tools\" are "
         "specified.",
         "tool_choice", NULL},
        {CHAT_WITH("'parallel_tool_calls':true"),
         "Invalid value for \"parallel_tool_calls\": \"parallel_tool_calls\" is only allowed when "
         "\"tools\" are specified.",
         "parallel_tool_calls", NULL},
    };
    CHECK_CASES(WIRE_CHAT, cases);
}

static void chat_wants_numbers_in_range(void)
{
    static const struct refused cases[] = {
        {CHAT_WITH("'temperature':2.0,'top_p':0,'n':1,'seed':-4,'max_tokens':null"), NULL, NULL,
         NULL},
        {CHAT_WITH("'temperature':2.1"),
         "Invalid \"temperature\": decimal above maximum value. Expected a value <= 2, but got 2.1 "
         "instead.",
         "temperature", "decimal_above_max_value"},
        {CHAT_WITH("'temperature':'hot'"),
         "Invalid type for \"temperature\": expected a decimal, but got a string instead.",
         "temperature", "invalid_type"},
        {CHAT_WITH("'max_completion_tokens':0"),
         "Invalid \"max_completion_tokens\": integer below minimum value. Expected a value >= 1, "
         "but got 0 instead.",
         "max_completion_tokens", "integer_below_min_value"},
        {CHAT_WITH("'max_tokens':1.5"),
         "Invalid type for \"max_tokens\": expected an integer, but got a decimal instead.",
         "max_tokens", "invalid_type"},
        {CHAT_WITH("'stream':'yes'"),
         "Invalid type for \"stream\": expected a boolean, but got a string instead.", "stream",
         "invalid_type"},
        {CHAT_WITH("'stream_options':{'include_usage':true}"),
         "The \"stream_options\" parameter is only allowed when \"stream\" is enabled.",
         "stream_options", NULL},
        {CHAT_WITH("'response_format':{'type':'json_object'}"),
         "\"messages\" must contain the word \"json\" in some form, to use \"response_format\" of "
         "type \"json_object\".",
         "messages", NULL},
        {CHAT_WITH("'response_format':{'type':'json_schema','json_schema':{'name':'city','strict':"
                   "true,'schema':{'type':'object','properties':{}}}}"),
         "Invalid schema for response_format \"city\": In context=(), \"additionalProperties\" is "
         "required to be supplied and to be false.",
         "response_format", NULL},
    };
    CHECK_CASES(WIRE_CHAT, cases);
}

/* ---- Responses ---- */

#define INPUT(items)         "{'model':'m','input':[" items "]}"
#define RESPONSES_WITH(rest) "{'model':'m','input':'Hi'," rest "}"
#define FUNCTION_CALL(id)    "{'type':'function_call','call_id':'" id "','name':'f','arguments':'{}'}"
#define FUNCTION_OUTPUT(id)  "{'type':'function_call_output','call_id':'" id "','output':'ok'}"
#define SAID                 "{'role':'assistant','content':'Hi'}"

static void responses_pair_calls_and_outputs(void)
{
    static const struct refused cases[] = {
        {INPUT(USER "," FUNCTION_CALL("a") "," FUNCTION_CALL("b") "," FUNCTION_OUTPUT(
             "b") "," FUNCTION_OUTPUT("a")),
         NULL, NULL, NULL},
        {INPUT(USER "," FUNCTION_CALL("a")), "No tool output found for function call a.", "input",
         NULL},
        {INPUT(USER "," FUNCTION_OUTPUT("a")),
         "No tool call found for function call output with call_id a.", "input", NULL},
        {INPUT(USER ",{'type':'custom_tool_call','call_id':'a','name':'f','input':''}"),
         "No tool output found for custom tool call a.", "input", NULL},
        {"{'model':'m','previous_response_id':'resp_1','input':[" FUNCTION_OUTPUT("a") "]}", NULL,
         NULL, NULL},
        {INPUT("{'type':'item_reference','id':'fc_1'}," FUNCTION_OUTPUT("a")), NULL, NULL, NULL},
        {INPUT(USER ",{'type':'reasoning','id':'rs_1','summary':[]}," SAID), NULL, NULL, NULL},
        {INPUT(USER ",{'type':'reasoning','id':'rs_1','summary':[]}," USER),
         "Item \"rs_1\" of type \"reasoning\" was provided without its required following item.",
         "input", NULL},
    };
    CHECK_CASES(WIRE_RESPONSES, cases);
}

static void responses_want_good_parameters(void)
{
    static const struct refused cases[] = {
        {"{'input':'Hi'}", "Missing required parameter: \"model\".", "model",
         "missing_required_parameter"},
        {"{'model':'m','input':[]}",
         "One of 'input' or 'previous_response_id' or \"prompt\" or \"conversation_id\" must be "
         "provided.",
         "input", "missing_required_parameter"},
        {"{'model':'m','input':3}",
         "Invalid type for \"input\": expected an array of objects, but got an integer instead.",
         "input", "invalid_type"},
        {INPUT("{'role':'tool','content':'ok'}"),
         "Invalid value: \"tool\". Supported values are: \"assistant\", \"system\", \"developer\", "
         "and \"user\".",
         "input[0].role", "invalid_value"},
        {INPUT("{'role':'user'}"), "Missing required parameter: \"input[0].content\".",
         "input[0].content", "missing_required_parameter"},
        {INPUT("{'type':'function_call','name':'f','arguments':'{}'}"),
         "Missing required parameter: \"input[0].call_id\".", "input[0].call_id",
         "missing_required_parameter"},
        {INPUT(FUNCTION_CALL("a") ",{'type':'function_call_output','call_id':'a'}"),
         "Missing required parameter: \"input[1].output\".", "input[1].output",
         "missing_required_parameter"},
        {RESPONSES_WITH("'max_output_tokens':1"),
         "Invalid \"max_output_tokens\": integer below minimum value. Expected a value >= 16, but "
         "got 1 instead.",
         "max_output_tokens", "integer_below_min_value"},
        {RESPONSES_WITH("'tools':[{'type':'function','name':'f','parameters':{'type':'object',"
                        "'properties':{}}},{'type':'web_search'}]"),
         NULL, NULL, NULL},
        {RESPONSES_WITH(TOOL("{'name':'f'}")), "Missing required parameter: \"tools[0].name\".",
         "tools[0].name", "missing_required_parameter"},
        {RESPONSES_WITH("'tools':[{'type':'function','name':'f'},{'type':'function','name':'f'}]"),
         "Invalid \"tools[1].name\": tools[0] is called \"f\", too.", "tools[1].name",
         "invalid_value"},
        {RESPONSES_WITH("'tools':[{'type':'function','name':'f','parameters':{'type':'array'}}]"),
         "Invalid schema for function \"f\": schema must be a JSON Schema of \"type: 'object'\", "
         "got \"type: 'array'\".",
         "tools[0].parameters", "invalid_function_parameters"},
        {RESPONSES_WITH("'tools':[],'tool_choice':{'type':'function','name':'g'}"),
         "Tool choice \"g\" not found in \"tools\" parameter.", "tool_choice", NULL},
        {RESPONSES_WITH("'text':{'format':{'type':'json_schema','schema':{'type':'object'}}}"),
         "Missing required parameter: \"text.format.name\".", "text.format.name",
         "missing_required_parameter"},
    };
    CHECK_CASES(WIRE_RESPONSES, cases);
}

/* ---- Messages ---- */

#define MESSAGES(list) "{'model':'m','max_tokens':9,'messages':[" list "]}"
#define MESSAGES_WITH(rest)                                                                        \
    "{'model':'m','max_tokens':9,'messages':[{'role':'user','content':'Hi'}]," rest "}"
#define TURN(role, blocks) "{'role':'" role "','content':[" blocks "]}"
#define TEXT               "{'type':'text','text':'Hi'}"
#define USE(id)            "{'type':'tool_use','id':'" id "','name':'f','input':{}}"
#define DONE(id)           "{'type':'tool_result','tool_use_id':'" id "','content':'ok'}"
#define THOUGHT            "{'type':'thinking','thinking':'Hm','signature':'x'}"
#define THINKING(list)                                                                             \
    "{'model':'m','max_tokens':2000,'thinking':{'type':'enabled','budget_tokens':1024},"           \
    "'messages':[" list "]}"

static void messages_pair_calls_and_results(void)
{
    static const struct refused cases[] = {
        {MESSAGES(USER "," TURN("assistant", TEXT "," USE("a") "," USE("b")) "," TURN(
             "user", DONE("b") "," DONE("a") "," TEXT)),
         NULL, NULL, NULL},
        {MESSAGES(USER "," TURN("assistant", USE("a") "," USE("b")) "," TURN(
             "user", DONE("a")) "," TURN("user", DONE("b"))),
         NULL, NULL, NULL},
        {MESSAGES(USER "," TURN("assistant", USE("a") "," USE("b")) "," TURN("user", DONE("b"))),
         "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. "
         "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
         NULL, NULL},
        {MESSAGES(USER "," TURN("assistant", USE("a"))),
         "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. "
         "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
         NULL, NULL},
        {MESSAGES(USER "," TURN("assistant", USE("a")) "," TURN("user", TEXT "," DONE("a"))),
         "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. "
         "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
         NULL, NULL},
        {MESSAGES(USER
                  "," TURN("assistant", USE("a")) ",{'role':'system','content':'Be good.'}," TURN(
                      "user", DONE("a"))),
         NULL, NULL, NULL},
        {"{'model':'m','max_tokens':9,'thread':{'type':'continue','previous_message_id':'msg_1'},"
         "'messages':[" TURN("user", DONE("a")) "]}",
         NULL, NULL, NULL},
        {MESSAGES(TURN("user", DONE("a"))),
         "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a. Each "
         "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
         NULL, NULL},
        {MESSAGES(USER "," TURN("assistant", USE("a")) "," TURN("user", DONE("a")) "," TURN(
             "assistant", TEXT) "," TURN("user", DONE("a"))),
         "messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a. Each "
         "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
         NULL, NULL},
        {MESSAGES(USER "," TURN("assistant", USE("a")) "," TURN("user", DONE("a") "," DONE("a"))),
         "messages.2.content.1: each tool_use must have a single result. Found multiple "
         "`tool_result` blocks with id: a",
         NULL, NULL},
        {MESSAGES(USER "," TURN("assistant", USE("a") "," USE("a")) "," TURN("user", DONE("a"))),
         "messages.1.content.1: `tool_use` ids must be unique", NULL, NULL},
        {MESSAGES(TURN("user", USE("a"))),
         "messages.0: `tool_use` blocks can only be in `assistant` messages", NULL, NULL},
        {MESSAGES(USER "," TURN("assistant", DONE("a"))),
         "messages.1: `tool_result` blocks can only be in `user` messages", NULL, NULL},
    };
    CHECK_CASES(WIRE_MESSAGES, cases);
}

static void messages_want_good_parameters(void)
{
    static const struct refused cases[] = {
        {"{'max_tokens':9,'messages':[" USER "]}", "model: Field required", NULL, NULL},
        {"{'model':'m','messages':[" USER "]}", "max_tokens: Field required", NULL, NULL},
        {"{'model':'m','max_tokens':0,'messages':[" USER "]}",
         "max_tokens: Input should be greater than or equal to 1", NULL, NULL},
        {"{'model':'m','max_tokens':'9','messages':[" USER "]}",
         "max_tokens: Input should be a valid number", NULL, NULL},
        {"{'model':'m','max_tokens':9}", "messages: Field required", NULL, NULL},
        {"{'model':'m','max_tokens':9,'messages':{}}", "messages: Input should be a valid list",
         NULL, NULL},
        {MESSAGES(""), "messages: at least one message is required", NULL, NULL},
        {MESSAGES("{'role':'system','content':'Be good.'}"),
         "messages: Unexpected role 'system'. The Messages API accepts a top-level `system` "
         "parameter, not 'system' as an input message role.",
         NULL, NULL},
        {MESSAGES("{'role':'tool','content':'ok'}"),
         "messages: Unexpected role 'tool'. Allowed roles are 'user' or 'assistant'", NULL, NULL},
        {MESSAGES("{'role':'user','content':''}"),
         "messages.0: all messages must have non-empty content except for the optional final "
         "assistant message",
         NULL, NULL},
        {MESSAGES(USER ",{'role':'assistant','content':''}"), NULL, NULL, NULL},
        {MESSAGES(TURN("user", "{'type':'text','text':''}")),
         "messages: text content blocks must be non-empty", NULL, NULL},
        {MESSAGES(TURN("user", "{'type':'text','text':' '}")),
         "messages: text content blocks must contain non-whitespace text", NULL, NULL},
        {MESSAGES(USER ",{'role':'assistant','content':'I '}"),
         "messages: final assistant content cannot end with trailing whitespace", NULL, NULL},
        {MESSAGES(USER
                  "," TURN("assistant", "{'type':'tool_use','id':'a','name':'f','input':'{}'}")),
         "messages.1.content.0.tool_use.input: Input should be a valid dictionary", NULL, NULL},
        {MESSAGES(USER
                  "," TURN("assistant", "{'type':'tool_use','id':'a:1','name':'f','input':{}}")),
         "messages.1.content.0.tool_use.id: String should match pattern \"^[a-zA-Z0-9_-]+$\"", NULL,
         NULL},
        {MESSAGES_WITH("'temperature':1.5"), "temperature: range: 0..1", NULL, NULL},
        {MESSAGES_WITH("'temperature':'hot'"), "temperature: Input should be a valid number", NULL,
         NULL},
        {MESSAGES_WITH("'stream':1"), "stream: Input should be a valid boolean", NULL, NULL},
    };
    CHECK_CASES(WIRE_MESSAGES, cases);
}

#define MESSAGES_TOOL(name, schema) "{'name':'" name "','input_schema':" schema "}"

static void messages_want_good_tools(void)
{
    static const struct refused cases[] = {
        {MESSAGES_WITH("'tools':[" MESSAGES_TOOL(
             "f", "{'type':'object'}") ",{'type':"
                                       "'web_search_20250305','name':'web_search'}]"),
         NULL, NULL, NULL},
        {MESSAGES_WITH("'tools':[{'name':'f'}]"), "tools.0.custom.input_schema: Field required",
         NULL, NULL},
        {MESSAGES_WITH("'tools':[{'input_schema':{'type':'object'}}]"),
         "tools.0.custom.name: Field required", NULL, NULL},
        {MESSAGES_WITH("'tools':[" MESSAGES_TOOL("a b", "{'type':'object'}") "]"),
         "tools.0.custom.name: String should match pattern \"^[a-zA-Z0-9_-]{1,128}$\"", NULL, NULL},
        {MESSAGES_WITH("'tools':[" MESSAGES_TOOL("f", "{'type':'object'}") "," MESSAGES_TOOL(
             "f", "{'type':'object'}") "]"),
         "tools: Tool names must be unique.", NULL, NULL},
        {MESSAGES_WITH("'tools':[" MESSAGES_TOOL("f", "{}") "]"),
         "tools.0.custom.input_schema.type: Field required", NULL, NULL},
        {MESSAGES_WITH("'tools':[" MESSAGES_TOOL("f", "{'type':'string'}") "]"),
         "tools.0.custom.input_schema.type: Input should be \"object\"", NULL, NULL},
        {MESSAGES_WITH("'tools':[" MESSAGES_TOOL(
             "f", "{'type':'object','properties':{'a':{'type':'strin'}}}") "]"),
         "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft "
         "2020-12",
         NULL, NULL},
        {MESSAGES_WITH("'tools':[" MESSAGES_TOOL("f", "{'type':'object','anyOf':[]}") "]"),
         "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the "
         "top level",
         NULL, NULL},
        {MESSAGES_WITH("'tool_choice':{'type':'any'}"),
         "tool_choice may only be specified while providing tools.", NULL, NULL},
        {MESSAGES_WITH("'tool_choice':{'type':'tool','name':'g'},'tools':[" MESSAGES_TOOL(
             "f", "{'type':'object'}") "]"),
         "Tool \"g\" not found in provided tools", NULL, NULL},
    };
    CHECK_CASES(WIRE_MESSAGES, cases);
}

static void messages_want_thoughts_while_calls_go_on(void)
{
    static const struct refused cases[] = {
        {THINKING(USER "," TURN("assistant", THOUGHT "," USE("a")) "," TURN("user", DONE("a"))),
         NULL, NULL, NULL},
        {THINKING(USER "," TURN("assistant", THOUGHT "," USE("a")) "," TURN(
             "user", DONE("a")) "," TURN("assistant", USE("b")) "," TURN("user", DONE("b"))),
         NULL, NULL, NULL},
        {THINKING(USER "," TURN("assistant", USE("a")) "," TURN("user", DONE("a")) "," TURN(
             "assistant", TEXT) "," USER),
         NULL, NULL, NULL},
        {THINKING(USER "," TURN("assistant", USE("a")) "," TURN("user", DONE("a"))),
         "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
         "`tool_use`. When `thinking` is enabled, a final `assistant` message must start with a "
         "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
         NULL, NULL},
        {"{'model':'m','max_tokens':2000,'thinking':{'type':'enabled','budget_tokens':9},"
         "'messages':[" USER "]}",
         "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", NULL,
         NULL},
        {"{'model':'m','max_tokens':2000,'thinking':{'type':'enabled','budget_tokens':1024},"
         "'temperature':0,'messages':[" USER "]}",
         "`temperature` may only be set to 1 when thinking is enabled.", NULL, NULL},
    };
    CHECK_CASES(WIRE_MESSAGES, cases);
}

/* ---- bodies ---- */

static void refusals_have_the_providers_bodies(void)
{
    struct arena *arena = arena_new();
    const struct wire_refusal r = {400, STR("No \"a\"."), STR("input"), {0}};
    const struct wire_refusal path =
        wire_refuse_path(WIRE_CHAT, STR("POST"), STR("/v1/x"), false, arena);
    const struct wire_refusal key = wire_refuse_key(WIRE_MESSAGES, false);
    struct buf out = {0};
    wire_encode_refusal(WIRE_RESPONSES, &r, &out);
    buf_char(&out, '\n');
    wire_encode_refusal(WIRE_MESSAGES, &r, &out);
    buf_char(&out, '\n');
    wire_encode_refusal(WIRE_CHAT, &path, &out);
    buf_char(&out, '\n');
    wire_encode_refusal(WIRE_MESSAGES, &key, &out);
    buf_char(&out, '\0');
    CHECK_TEXT(out.p,
               "{\"error\":{\"message\":\"No \\\"a\\\".\",\"type\":\"invalid_request_error\","
               "\"param\":\"input\",\"code\":null}}\n"
               "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\","
               "\"message\":\"No \\\"a\\\".\"},\"request_id\":null}\n"
               "{\"error\":{\"message\":\"Invalid URL (POST /v1/x)\",\"type\":"
               "\"invalid_request_error\",\"param\":null,\"code\":null}}\n"
               "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\","
               "\"message\":\"x-api-key header is required\"},\"request_id\":null}");
    CU_ASSERT_EQUAL(path.status, 404);
    CU_ASSERT_EQUAL(key.status, 401);
    buf_free(&out);
    arena_free(arena);
}

TESTS(request_check, {"chat_pairs_calls_and_results", chat_pairs_calls_and_results},
      {"chat_wants_messages", chat_wants_messages},
      {"chat_wants_good_tools", chat_wants_good_tools},
      {"chat_wants_good_schemas_and_choices", chat_wants_good_schemas_and_choices},
      {"chat_wants_numbers_in_range", chat_wants_numbers_in_range},
      {"responses_pair_calls_and_outputs", responses_pair_calls_and_outputs},
      {"responses_want_good_parameters", responses_want_good_parameters},
      {"messages_pair_calls_and_results", messages_pair_calls_and_results},
      {"messages_want_good_parameters", messages_want_good_parameters},
      {"messages_want_good_tools", messages_want_good_tools},
      {"messages_want_thoughts_while_calls_go_on", messages_want_thoughts_while_calls_go_on},
      {"refusals_have_the_providers_bodies", refusals_have_the_providers_bodies})
