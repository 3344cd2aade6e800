/* Planted mistakes: for each the linter says one thing, with its place and what to try. */
#include "ci/testing/testing.h"
#include "goldens/golden.h"
#include "kernel/drive/files.h"

#include <stdio.h>
#include <string.h>

/* A right set around the mistake: its tools, a first task, and the task that the case gives. */
static const char begin[] = "version: 1\n"
                            "name: lint\n"
                            "defaults: {tools: tools.yaml, budget: {steps: 4, calls: 3}}\n"
                            "tasks:\n"
                            "- id: good\n"
                            "  prompt: Where is order 1?\n"
                            "  expect:\n"
                            "    calls: {list: [{get_order: {id: A-1}}]}\n"
                            "    forbid: [pay]\n"
                            "    answer: {contains: shipped}\n";

static const char tools[] = "version: 1\n"
                            "tools:\n"
                            "- name: get_order\n"
                            "  parameters:\n"
                            "    type: object\n"
                            "    properties:\n"
                            "      id: {type: string, pattern: '^[A-Z]-[0-9]+$'}\n"
                            "      size: {type: integer, minimum: 1, maximum: 9}\n"
                            "      state: {type: string, enum: [open, shipped]}\n"
                            "      tags: {type: array, items: {type: string}, maxItems: 3}\n"
                            "      box: {type: object, required: [w, h, unit], properties: {w: {}, "
                            "h: {}, unit: {default: cm}}}\n"
                            "    required: [id]\n"
                            "    additionalProperties: false\n"
                            "  answers: [{result: 1}]\n"
                            "- {name: pay, answers: [{result: 1}]}\n"
                            "- builtin: task_done\n";

#define TASK(more)        "- id: bad\n  prompt: What now?\n" more
#define EXPECT(expect)    TASK("  expect: {" expect "}\n")
#define CALL(args)        EXPECT("calls: {list: [{get_order: {" args "}}]}")
#define SEES(place, text) place " " text "\n"

static const struct {
    const char *task;
    const char *want; /* "line:column severity code message" lines */
} planted[] = {
    {CALL("id: A1"),
     SEES("13:44",
          "error bad_argument the tool \"get_order\" does not allow this for \"id\": value: "
          "expected text that fits the pattern ^[A-Z]-[0-9]+$, got a string \"A1\"")},
    {CALL("id: 5"),
     SEES("13:44", "error bad_argument \"id\" is a string in the schema of the tool "
                   "\"get_order\"; a number can never equal it; put it in quotes: \"5\"")},
    {CALL("id: A-1, size: '5'"),
     SEES("13:55", "error bad_argument \"size\" is an integer in the schema of the tool "
                   "\"get_order\"; a string can never equal it; leave the quotes out")},
    {CALL("id: {contains: 5}"),
     SEES("13:44", "error bad_argument \"id\" is a string in the schema of the tool "
                   "\"get_order\"; contains of what is no text can never match it; matchers are: "
                   "equals, one_of, regex, contains, near, range, any, absent, optional, each, "
                   "unordered")},
    {CALL("id: {oneOf: [A-1]}"),
     SEES("13:45", "error unknown_matcher \"oneOf\" is no matcher; did you mean \"one_of\"? A map "
                   "that is meant literally stands under equals")},
    {CALL("id: A-1, args: {size: 3}"),
     SEES("13:49", "error unknown_parameter the tool \"get_order\" has no parameter \"args\"; "
                   "arguments stand right under the tool's name")},
    {CALL("id: {regex: '/A-1/i'}"),
     SEES("13:52", "warning slashes the slashes of this regex and the letters behind them are "
                   "looked for in the text; without regard to capitals it is (?i)A-1")},
    {EXPECT("limits: {tokens: 0}"),
     SEES("13:29", "error never_holds the limit of tokens is 0, and every reply takes some; raise "
                   "the limit, or leave it out")},
    {EXPECT("answer: {not: {regex: '/no/i'}}"),
     SEES("13:34", "warning slashes the slashes of this regex and the letters behind them are "
                   "looked for in the text; without regard to capitals it is (?i)no")},
    {TASK("  expect:\n    answer: |\n      It is 4.\n"),
     SEES("14:13", "warning trailing_newline this text ends with a newline, and answers seldom do; "
                   "write |- in the place of |")},
#define TEN "a.a.a.a.a.a.a.a.a.a."
#define BAD_PATH(path, why)                                                                        \
    {                                                                                              \
        EXPECT("answer: {json: {path: '" path "', equals: 1}}"),                                   \
            SEES("13:34",                                                                          \
                 "error bad_path this path leads nowhere: " why                                    \
                 "; a path is such as items[0].price, and $ or an empty one is the whole")         \
    }
    BAD_PATH("a[", "a bracket of it is open"),
    BAD_PATH("a[0", "a bracket of it is open"),
    BAD_PATH("a]", "a bracket of it is open"),
    BAD_PATH("a..b", "a part of it is empty"),
    BAD_PATH("a[]", "a part of it is empty"),
    BAD_PATH("a.", "a part of it is empty"),
    BAD_PATH("a[-1]", "items are counted from 0, from the beginning"),
    BAD_PATH("a[9999999999]", "no list has that many items"),
    BAD_PATH(TEN TEN TEN TEN TEN TEN "a.a.a.a.a", "it has too many parts"),
    BAD_PATH("a[\"b\"]", "keys stand in it without quotes"),
    BAD_PATH("a[*].b", "* does not stand for all items; use `each` at the list"),
    {TASK("  expect: {no_calls: true}\n- id: x\n  prompt: Order #12 now\n  expect:\n    answer: "
          "a # a remark\n"),
     SEES("15:11", "warning comment_in_text this text ends before \"#12 now\", which is a comment "
                   "in YAML; put the whole text in quotes")},
    {"- id: blank\n  turns: [{user: x}, {user: ' '}]\n  expect: {no_calls: true}\n",
     SEES("11:3", "warning blank_prompt the user of the task \"blank\" says nothing but white "
                  "space")},
    {CALL("id: A-1, tags: {unordered: [a, b, c, d]}"),
     SEES("13:55", "error bad_argument the tool \"get_order\" never takes 4 items as \"tags\": its "
                   "schema has maxItems 3")},
    {CALL("id: A-1, tags: [{contains: a}, b, c, {regex: d}]"),
     SEES("13:55", "error bad_argument the tool \"get_order\" never takes 4 items as \"tags\": its "
                   "schema has maxItems 3")},
    {CALL("id: A-1, size: {near: {value: 12, within: 2}}"),
     SEES("13:55",
          "error bad_argument the tool \"get_order\" never takes a \"size\" near this: its "
          "schema has the maximum 9")},
    {CALL("id: A-1, size: {near: {value: 12, within: 3}}"), ""},
#define NO_WHOLE                                                                                   \
    "error bad_argument \"size\" is an integer in the schema of the tool \"get_order\"; no whole " \
    "number fits here"
    {CALL("id: A-1, size: {range: [2.2, 2.9]}"), SEES("13:55", NO_WHOLE)},
    {CALL("id: A-1, size: {range: [2.6, 2.9]}"), SEES("13:55", NO_WHOLE)},
    {CALL("id: A-1, size: {range: [-2.9, -2.6]}"), SEES("13:55", NO_WHOLE)},
    {CALL("id: A-1, size: {near: {value: 2.5, within: 0.4}}"), SEES("13:55", NO_WHOLE)},
    {CALL("id: A-1, size: {range: [1.5, 2]}"), ""},
    {CALL("id: A-1, size: {range: [2, 2.5]}"), ""},
    {CALL("id: A-1, size: {range: [2.2, 1e30]}"), ""},
    {CALL("id: A-1, size: {near: {value: 2.5, within: 0.5}}"), ""},
    {CALL("id: A-1, size: {one_of: [{range: [2.2, 2.9]}, 3]}"), ""},
    {CALL("id: A-1, box: {w: {regex: a}}"),
     SEES("13:54",
          "error missing_argument the tool \"get_order\" requires \"h\" in \"box\", which is not "
          "listed here: no call that it accepts fits; write h: {any: true} if it does not matter")},
    {CALL("id: A-1, box: {w: {regex: a}, h: {absent: true}}"),
     SEES("13:73",
          "error missing_argument the tool \"get_order\" requires \"h\" in \"box\", which is "
          "expected to be absent here: no call that it accepts fits; write h: {any: true} if it "
          "does not matter")},
    {EXPECT("calls: {list: [{get_order: {id: A-1, box: {w: {regex: a}}}}], extra_args: ignore}"),
     SEES("13:54",
          "error missing_argument the tool \"get_order\" requires \"h\" in \"box\", which is not "
          "listed here: no call that it accepts fits; write h: {any: true} if it does not matter")},
    {CALL("id: A-1, box: {w: {regex: a}, h: {any: true}}"), ""},
    {CALL("id: A-1, box: {one_of: [{w: {regex: a}}, {w: 1, h: 2}]}"), ""},
    {CALL("id: {one_of: [A-1, {any: true}]}"),
     SEES("13:59", "warning accepts_anything with {any: true} among them every value fits; leave "
                   "it out, or the others")},
    {EXPECT("calls: {list: [get_order: {id: A-1}, get_order: {id: A-1}, get_order: {id: A-1}]}"),
     SEES("13:71",
          "error never_holds the run ends with repeated_calls at this call, the third in "
          "a row that is the same; write `polling: true` at the tool \"get_order\" if that "
          "is meant")},
    {EXPECT("calls: {list: [get_order: {id: A-1}, get_order: {id: A-1}, get_order: {id: A-2}]}"),
     ""},
    {EXPECT("calls: {mode: superset, list: [get_order: {id: A-1}, get_order: {id: A-1}, "
            "get_order: {id: A-1}]}"),
     ""},
    {TASK("  budget: {steps: 1}\n  tools: [{name: p, answers: [{result: 1}]}]\n"
          "  expect: {calls: {list: [p]}}\n"),
     SEES("13:19", "error never_holds the budget of steps is 1 and 2 are needed: the calls and the "
                   "answer to them are a reply each; raise the budget")},
    {EXPECT("answer: {all: [{one_of: [a, b]}, {contains: c}]}"),
     SEES("13:45", "error never_holds no answer passes this check and the one at line 13, which "
                   "lets those texts alone through: expected text containing \"c\", got \"b\"")},
    {EXPECT("answer: {all: [{one_of: [a, b]}, {contains: b}]}"), ""},
    {CALL("id: A-1, colour: red"),
     SEES("13:49", "error unknown_parameter the tool \"get_order\" has no parameter \"colour\"")},
    {CALL("size: 3"),
     SEES("13:27", "error missing_argument the tool \"get_order\" requires \"id\", which is not "
                   "listed here: no call that it accepts fits; write id: {any: true} if it does "
                   "not matter")},
    {CALL("id: {absent: true}"),
     SEES(
         "13:44",
         "error missing_argument the tool \"get_order\" requires \"id\", which is expected to be "
         "absent here: no call that it accepts fits; write id: {any: true} if it does not matter")},
    {CALL("id: {regx: A}"),
     SEES("13:45", "error unknown_matcher \"regx\" is no matcher; did you mean \"regex\"? A map "
                   "that is meant literally stands under equals")},
    {CALL("id: A-1, size: {range: [10, 12]}"),
     SEES("13:55", "error bad_argument the tool \"get_order\" never takes a \"size\" in this "
                   "range: its schema has the maximum 9")},
    {CALL("id: A-1, state: {regex: '^sent'}"),
     SEES("13:56", "error bad_argument this fits none of the values that the tool \"get_order\" "
                   "has for \"state\": [\"open\", \"shipped\"]")},
    {CALL("id: A-1, size: {one_of: ['1', two]}"),
     SEES("13:55", "error bad_argument none of these values can ever be the \"size\" of the tool "
                   "\"get_order\"; name one that its schema allows")},
    {CALL("id: {regex: '.*'}"),
     SEES("13:44", "warning accepts_anything every text fits here; name a part of the \"id\" that "
                   "is meant, or write {any: true}")},
    {CALL("id: {contains: ''}"),
     SEES("13:44", "warning accepts_anything every text fits here; name a part of the \"id\" that "
                   "is meant, or write {any: true}")},
    {EXPECT("calls: {list: [get_oder]}"),
     SEES("13:27",
          "error unknown_tool the task \"bad\" expects a call of \"get_oder\", a tool that "
          "it does not offer; did you mean \"get_order\"?")},
    {EXPECT("calls: {list: [task_done]}"),
     SEES("13:27", "error terminal_call \"task_done\" is a terminal tool: its call is the answer, "
                   "not a call; check it with `answer`")},
    {EXPECT("forbid: [get_order], calls: {list: [get_order]}"),
     SEES("13:48", "error forbidden_call a call of \"get_order\" is expected and forbidden")},
    {EXPECT("forbid: [pya]"),
     SEES("11:3", "warning unknown_forbidden_tool the task \"bad\" forbids \"pya\", a tool that it "
                  "does not offer; did you mean \"pay\"?")},
    {EXPECT("calls: {list: [get_order, get_order]}, limits: {calls: 1}"),
     SEES("13:67", "error never_holds the limit of calls is 1 and the calls expected are 2; raise "
                   "the limit, or leave it out")},
    {TASK("  tools: [{builtin: now}]\n  expect: {calls: {list: [now]}, limits: {steps: 1}}\n"),
     SEES("14:50", "error never_holds the limit of steps is 1 and 2 are needed: the calls and the "
                   "answer to them are a reply each; raise the limit")},
    {EXPECT("calls: {list: [get_order, get_order, get_order, get_order]}"),
     SEES("13:19", "error never_holds the budget of calls is 3 and the calls expected of a run "
                   "that completes are 4; raise the budget")},
    {EXPECT("no_calls: true, limits: {steps: 9}"),
     SEES("13:44", "warning idle_limit this limit can never be broken: the budget ends the run "
                   "before; lower the limit below the budget's steps, or leave it out")},
    {EXPECT("status: max_steps, answer: done"),
     SEES("13:39", "error never_holds a run that ends with status max_steps gives no answer that "
                   "could be checked; leave out answer or status")},
    {EXPECT("status: max_steps, limits: {steps: 2}"),
     SEES("13:47", "error never_holds the limit of steps is 2 and the run ends with max_steps "
                   "after 4; make budget and limit equal")},
    {EXPECT("status: repeated_calls, no_calls: true"),
     SEES("13:46", "error never_holds a run ends with status repeated_calls by its calls, and "
                   "no_calls allows none; leave one out")},
    {EXPECT("answer: {all: ['14', {contains: pieces}]}"),
     SEES("13:33", "error never_holds no answer passes this check and the one at line 13, which "
                   "lets one text alone through: expected text containing \"pieces\", got \"14\"")},
    {EXPECT("answer: {all: [{contains: a}, {not: {contains: a}}]}"),
     SEES("13:42", "error never_holds no answer passes this check and the one at line 13, which "
                   "wants the opposite; leave one out")},
    {EXPECT("answer: {regex: '.'}"),
     SEES("13:20",
          "warning accepts_anything every answer that is not empty passes this check; name "
          "something that a right answer has, or leave the check out")},
    {EXPECT("answer: {any: [{contains: x}, {contains: ''}]}"),
     SEES("13:42", "warning accepts_anything every answer passes this check; name something that a "
                   "right answer has, or leave the check out")},
    {EXPECT("answer: {not: {regex: '.*'}}"),
     SEES("13:20",
          "error never_holds no answer passes this: what stands under `not` holds for every "
          "answer")},
    {EXPECT("answer: {schema: {}}"),
     SEES("13:20", "warning accepts_anything every JSON fits this schema; name a type and what is "
                   "required, or write `schema: true`")},
#define REFUSES_ALL                                                                                \
    "error never_holds no answer passes this: the schema refuses every JSON; name a type and "     \
    "what "                                                                                        \
    "is required"
    {EXPECT("answer: {schema: false}"), SEES("13:29", REFUSES_ALL)},
    {EXPECT("answer: {schema: {not: {}}}"), SEES("13:29", REFUSES_ALL)},
    {EXPECT("answer: {schema: {type: object, not: true}}"), SEES("13:29", REFUSES_ALL)},
    {EXPECT("answer: {schema: {not: {type: string}}}"), ""},
    {EXPECT("answer: {schema: {not: false, type: object}}"), ""},
    {EXPECT("calls: {mode: superset, list: []}"),
     SEES("13:42",
          "warning accepts_anything an empty list in this mode lets any calls through; name "
          "a call, or write no_calls: true")},
    {TASK(""), SEES("11:3", "warning expects_nothing the task \"bad\" expects nothing: every run "
                            "that completes passes; add `expect`")},
    {"- id: twin\n  prompt: Where is order 1?\n  expect:\n"
     "    forbid: [pay]\n    answer: {contains: shipped}\n"
     "    calls: {list: [{get_order: {id: A-1}}]}\n",
     SEES("11:3", "warning duplicate_task the task \"twin\" asks and expects the same as \"good\" "
                  "(line 5); leave one out, or use `trials` to run it more often")},
    {TASK("  fake: nowhere.script.yaml\n  expect: {no_calls: true}\n"),
     SEES("13:9", "error missing_script there is no script nowhere.script.yaml")},
    {"- {id: CON, prompt: p, expect: {no_calls: true}}\n",
     SEES("11:8", "warning bad_file_name the id \"CON\" makes a bad file name: Windows keeps this "
                  "name for a device; choose another")},
    {"- {id: NUL.txt, prompt: p, expect: {no_calls: true}}\n",
     SEES("11:8", "warning bad_file_name the id \"NUL.txt\" makes a bad file name: Windows keeps "
                  "this name for a device; choose another")},
    {"- {id: com7, prompt: p, expect: {no_calls: true}}\n",
     SEES("11:8", "warning bad_file_name the id \"com7\" makes a bad file name: Windows keeps this "
                  "name for a device; choose another")},
    {"- {id: a., prompt: p, expect: {no_calls: true}}\n",
     SEES("11:8",
          "warning bad_file_name the id \"a.\" makes a bad file name: Windows drops a dot at "
          "the end; choose another")},
    {"- {id: a.failed, prompt: p, expect: {no_calls: true}}\n",
     SEES("11:8",
          "warning bad_file_name the id \"a.failed\" makes a bad file name: a recording that "
          "failed gets this ending; choose another")},
    /* near misses, of which nothing is said */
    {CALL("id: A-1, size: {range: [9, 12]}"), ""},
    {CALL("id: {regex: '^A'}, state: {regex: ship}"), ""},
    {CALL("id: {one_of: [A-1, 5]}"), ""},
    {CALL("id: {any: true}"), ""},
    {EXPECT("calls: {list: [{get_order: {size: 3}}], extra_args: ignore}"), ""},
    {EXPECT("calls: {mode: subset, list: [get_order]}, limits: {calls: 0, steps: 1}"), ""},
    {EXPECT("calls: {list: [get_order]}, limits: {steps: 1}"), ""}, /* task_done ends it */
    {EXPECT("status: max_steps, limits: {steps: 4}"), ""},
    {EXPECT("answer: {all: [{contains: a}, {not: {contains: b}}]}"), ""},
    {EXPECT("answer: {not: {contains: sorry}}"), ""},
    {EXPECT("answer: {json: {path: '$.a[0].b', equals: 1}}"), ""},
    {EXPECT("answer: {json: {path: '', equals: {}}}"), ""},
    {EXPECT("answer: {json: {path: '$', equals: {}}}"), ""},
    {EXPECT("answer: {json: {path: '[0][1].c-d', equals: 1}}"), ""},
    {EXPECT("answer: {regex: '/v1/orders/'}"), ""},
    {TASK("  expect:\n    answer: |-\n      It is #4.\n"), ""},
    {TASK("  expect:\n    answer: 'It is #4 #5'\n"), ""},
    {TASK("  expect:\n    answer: It is # a remark\n"), ""},
    {"- {id: b, prompt: say it, expect: {no_calls: true}} #12\n", ""},
    {"- {id: b, expect: {answer: {one_of: [a, b c]}}, prompt: d e} #12\n", ""},
    {"- {id: b, expect: {no_calls: true}, prompt: say it  #12\n  }\n",
     SEES("11:45", "warning comment_in_text this text ends before \"#12\", which is a comment in "
                   "YAML; put the whole text in quotes")},
    {EXPECT("answer: {schema: true}"), ""},
    {EXPECT("answer: {all: ['14 pieces', {contains: pieces}, {number: {value: 14}}]}"), ""},
    {"- {id: CONsole, prompt: p, expect: {no_calls: true}}\n", ""},
    {"- {id: com, prompt: p, expect: {no_calls: true}}\n", ""},
    {"- {id: a.failed.b, prompt: p, expect: {no_calls: true}}\n", ""},
    {"- {id: b, prompt: 'Where is order 1?', expect: {no_calls: true}}\n", ""},
};

static void note(void *ctx, const struct finding *f)
{
    struct str file = str_of(f->file);
    CU_ASSERT(str_ends(file, "set.yaml"));
    buf_fmt(ctx, "%u:%u %s %s %.*s\n", f->line, f->column, finding_severity_name(f->severity),
            f->code, STR_FMT(f->message));
}

static void write_file(struct arena *arena, const char *dir, const char *name, struct str text)
{
    struct err e = {0};
    CU_ASSERT_EQUAL_FATAL(file_replace(path_join(arena, dir, name), text, &e), 0);
}

/* The folder in a message is the test's own. */
static void cut_folder(struct buf *text, const char *dir)
{
    struct arena *arena = arena_new();
    struct str folder = arena_printf(arena, "%s/", dir);
    struct buf out = {0};
    struct str rest = buf_str(text);
    for (size_t at; (at = str_find(rest, folder)) != SIZE_MAX;) {
        buf_add(&out, str_slice(rest, 0, at));
        rest = str_slice(rest, at + folder.n, rest.n);
    }
    buf_add(&out, rest);
    buf_char(&out, '\0');
    buf_free(text);
    *text = out;
    arena_free(arena);
}

static void note_mistake(void *ctx, const struct err *e)
{
    buf_fmt(ctx, "%u:%u %s\n", e->line, e->column, e->message);
}

static void each_planted_mistake_is_found_once(void)
{
    struct arena *arena = arena_new();
    const char *dir = testing_dir();
    write_file(arena, dir, "tools.yaml", str_of(tools));
    const char *path = path_join(arena, dir, "set.yaml");
    for (size_t i = 0; i < sizeof planted / sizeof planted[0]; i++) {
        struct buf found = {0};
        write_file(arena, dir, "set.yaml", arena_printf(arena, "%s%s", begin, planted[i].task));
        golden_check(path, note_mistake, note, &found);
        cut_folder(&found, dir);
        CHECK_TEXT(found.p, planted[i].want);
        buf_free(&found);
    }
    arena_free(arena);
}

static void note_with_file(void *ctx, const struct finding *f)
{
    buf_fmt(ctx, "%s:%u:%u %s %.*s\n", f->file, f->line, f->column, f->code, STR_FMT(f->message));
}

/* A tool of a file that no task names, told at the tool; tools that end a run are answers. */
static void tools_that_nobody_expects_are_found(void)
{
    struct arena *arena = arena_new();
    const char *dir = testing_dir();
    struct buf found = {0};
    write_file(arena, dir, "tools.yaml", str_of(tools));
    write_file(arena, dir, "set.yaml",
               STR("version: 1\nname: s\ndefaults: {tools: tools.yaml}\ntasks:\n"
                   "- {id: a, prompt: p, expect: {calls: {list: [get_order]}}}\n"
                   "- {id: b, prompt: q, expect: {no_calls: true}}\n"
                   "- {id: c, prompt: q, tools: [{builtin: now}, {builtin: calculator}],"
                   " expect: {calls: {list: [now]}}}\n"));
    golden_check(path_join(arena, dir, "set.yaml"), note_mistake, note_with_file, &found);
    cut_folder(&found, dir);
    CHECK_TEXT(found.p, "tools.yaml:15:1 unused_tool no task expects or forbids a call of: pay; "
                        "write tasks for them, or take them out of the file\n");
    buf_free(&found);
    arena_free(arena);
}

/* Right for a program under test, which brings its own tools. */
static void a_set_without_tools_is_a_doubt(void)
{
    struct arena *arena = arena_new();
    const char *dir = testing_dir();
    struct buf found = {0};
    write_file(arena, dir, "set.yaml",
               STR("version: 1\nname: s\ntasks:\n"
                   "- {id: a, prompt: p, expect: {calls: {list: [x, y]}, forbid: [z]}}\n"
                   "- {id: b, prompt: q, expect: {forbid: [z]}}\n"
                   "- {id: c, prompt: q, tools: null, expect: {calls: {list: [x]}}}\n"));
    golden_check(path_join(arena, dir, "set.yaml"), note_mistake, note, &found);
    cut_folder(&found, dir);
    CHECK_TEXT(found.p,
               "4:3 warning no_tools the task \"a\" expects calls and offers no tools: only a "
               "program under test (--agent) can make them; else name a tool file as `tools`\n"
               "6:59 error unknown_tool the task \"c\" expects a call of \"x\", a tool that it "
               "does not offer\n");
    buf_free(&found);
    arena_free(arena);
}

/* What a task with a mistake was to name is not called unused. */
static void a_mistake_has_no_echo(void)
{
    static const struct {
        const char *task;
        const char *want;
    } cases[] = {
        {"- {id: b, prompt: q, expect: {forbid: pay}}\n",
         "6:39 \"forbid\" must be a list, got a string \"pay\"\n"},
        {"- {id: b, prompt: q, expect: {calls: {list: [pya]}}}\n",
         "set.yaml:6:46 unknown_tool the task \"b\" expects a call of \"pya\", a tool that it does "
         "not offer; did you mean \"pay\"?\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *arena = arena_new();
        const char *dir = testing_dir();
        struct buf found = {0};
        write_file(arena, dir, "tools.yaml", str_of(tools));
        write_file(arena, dir, "set.yaml",
                   arena_printf(arena,
                                "version: 1\nname: s\ndefaults: {tools: tools.yaml}\ntasks:\n"
                                "- {id: a, prompt: p, expect: {calls: {list: [get_order]}}}\n%s",
                                cases[i].task));
        golden_check(path_join(arena, dir, "set.yaml"), note_mistake, note_with_file, &found);
        cut_folder(&found, dir);
        CHECK_TEXT(found.p, cases[i].want);
        buf_free(&found);
        arena_free(arena);
    }
}

static void note_code(void *ctx, const struct finding *f)
{
    const char *slash = strrchr(f->file, '/');
    buf_fmt(ctx, "%s:%u:%u %s\n", slash == NULL ? f->file : slash + 1, f->line, f->column, f->code);
}

static void put_prompts(struct buf *out, size_t n, size_t bytes)
{
    for (size_t i = 0; i < n; i++) {
        buf_fmt(out, "- {id: t%zu, expect: {no_calls: true}, prompt: \"%zu ", i, i);
        for (size_t j = 0; j < bytes; j++) {
            buf_char(out, 'x');
        }
        buf_addz(out, "\"}\n");
    }
}

/* Files are looked through piece by piece, and one line may hold many texts. */
static void a_comment_in_a_text_is_found_wherever_it_stands(void)
{
    static const char last[] =
        "- {id: z, expect: {answer: {any: [\"a #1\", 'b #2', 'c']}}, prompt: "
        "Order #7 now\n  }\n";
    static const struct {
        size_t n;
        size_t bytes;
        uint32_t line;
    } cases[] = {{0, 0, 4}, {1, 70000, 5}, {3, 65480, 7}, {3000, 100, 3004}, {40000, 1, 40004}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *arena = arena_new();
        const char *dir = testing_dir();
        struct buf text = {0};
        struct buf found = {0};
        buf_addz(&text, "version: 1\nname: s\ntasks:\n");
        put_prompts(&text, cases[i].n, cases[i].bytes);
        buf_addz(&text, last);
        write_file(arena, dir, "set.yaml", buf_str(&text));
        golden_check(path_join(arena, dir, "set.yaml"), note_mistake, note_with_file, &found);
        cut_folder(&found, dir);
        CHECK_TEXT(found.p, arena_printf(arena,
                                         "set.yaml:%u:67 comment_in_text this text ends before "
                                         "\"#7 now\", which is a comment in YAML; put the whole "
                                         "text in quotes\n",
                                         cases[i].line)
                                .p);
        buf_free(&text);
        buf_free(&found);
        arena_free(arena);
    }
}

/* Its line alone would be looked for in the wrong file. */
static void a_twin_in_another_file_is_told_with_that_file(void)
{
    struct arena *arena = arena_new();
    const char *dir = testing_dir();
    struct buf found = {0};
    write_file(arena, dir, "in.yaml",
               STR("version: 1\nname: i\ntasks:\n"
                   "- {id: a, prompt: p, expect: {no_calls: true}}\n"));
    write_file(arena, dir, "set.yaml",
               STR("version: 1\nname: s\ninclude: in.yaml\ntasks:\n"
                   "- {id: b, prompt: p, expect: {no_calls: true}}\n"));
    golden_check(path_join(arena, dir, "set.yaml"), note_mistake, note_with_file, &found);
    cut_folder(&found, dir);
    CHECK_TEXT(found.p, "set.yaml:5:3 duplicate_task the task \"b\" asks and expects the same as "
                        "\"a\" (line 4 of in.yaml); leave one out, or use `trials` to run it more "
                        "often\n");
    buf_free(&found);
    arena_free(arena);
}

/* Mistakes; then doubts about tasks, comments by file, ids, twins, tools in order of their use. */
static void findings_stand_in_one_order(void)
{
    struct arena *arena = arena_new();
    const char *dir = testing_dir();
    struct buf found = {0};
    write_file(arena, dir, "two.yaml",
               STR("version: 1\ntools:\n- name: b\n  command: [no-such-b]\n"));
    write_file(arena, dir, "in.yaml",
               STR("version: 1\nname: i\ndefaults: {tools: two.yaml}\ntasks:\n"
                   "- {id: aux, prompt: p}\n- {id: i2, prompt: say #1\n  }\n"));
    write_file(arena, dir, "set.yaml",
               STR("version: 1\nname: s\ninclude: in.yaml\ntasks:\n"
                   "- {id: a, prompt: p, tools: [{name: c, command: [no-such-c]}]}\n"
                   "- {id: b, prompt: say #2\n  }\n"
                   "- {id: c, prompt: p, tools: [{name: d, command: [no-such-d]}], expct: 1}\n"
                   "- {id: d, prompt: p, tools: [{name: e, command: [no-such-e]}], expect: 1}\n"
                   "- {id: e., prompt: q, tools: two.yaml}\n"
                   "- {id: f, prompt: q, tools: two.yaml}\n"));
    golden_check(path_join(arena, dir, "set.yaml"), note_mistake, note_code, &found);
    buf_char(&found, '\0');
    CHECK_TEXT(found.p, "8:64 unknown key \"expct\" in a task; did you mean \"expect\"?\n"
                        "9:72 expected a map for expect (keys \"calls\", \"forbid\", \"no_calls\", "
                        "\"answer\", \"limits\", \"status\"), got a number 1\n"
                        "in.yaml:5:3 expects_nothing\n"
                        "in.yaml:6:3 expects_nothing\n"
                        "set.yaml:5:3 expects_nothing\n"
                        "set.yaml:6:3 expects_nothing\n"
                        "set.yaml:10:3 expects_nothing\n"
                        "set.yaml:11:3 expects_nothing\n"
                        "set.yaml:6:19 comment_in_text\n"
                        "in.yaml:6:20 comment_in_text\n"
                        "in.yaml:5:8 bad_file_name\n"
                        "set.yaml:10:8 bad_file_name\n"
                        "set.yaml:11:3 duplicate_task\n"
                        "two.yaml:4:13 missing_program\n"
                        "set.yaml:5:50 missing_program\n"
                        "set.yaml:9:50 missing_program\n");
    buf_free(&found);
    arena_free(arena);
}

TESTS(golden_lint, {"each_planted_mistake_is_found_once", each_planted_mistake_is_found_once},
      {"tools_that_nobody_expects_are_found", tools_that_nobody_expects_are_found},
      {"a_set_without_tools_is_a_doubt", a_set_without_tools_is_a_doubt},
      {"a_mistake_has_no_echo", a_mistake_has_no_echo},
      {"a_comment_in_a_text_is_found_wherever_it_stands",
       a_comment_in_a_text_is_found_wherever_it_stands},
      {"a_twin_in_another_file_is_told_with_that_file",
       a_twin_in_another_file_is_told_with_that_file},
      {"findings_stand_in_one_order", findings_stand_in_one_order})
