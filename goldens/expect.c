#include "goldens/golden_int.h"
#include "kernel/base/text.h"

enum { COUNT_MAX = 1000000000, DAY_MS = 24 * 3600 * 1000, SHOWN_CHARS = 100 };

static const char of_defaults[] = "it stands under `defaults`, or in a task";
static const char of_expect[] = "it stands under `expect`";
static const char of_task[] = "it stands in the task, beside `expect`";
static const char of_calls[] = "it stands under `calls`, beside `list`";
static const char of_number[] = "write number: {value: ..., within: ...}";
static const char is_prompt[] = "what the user says is `prompt`, or `turns`";
static const char is_comment[] = "write a comment: # ...";

const struct doc_elsewhere golden_not_in_set[] = {{"system", of_defaults},
                                                  {"tools", of_defaults},
                                                  {"budget", of_defaults},
                                                  {"trials", of_defaults},
                                                  {"fake", of_defaults},
                                                  {"id", "a set has a `name`"},
                                                  {"tests", "the list of tasks is `tasks`"},
                                                  {"cases", "the list of tasks is `tasks`"},
                                                  {"prompt", "it stands in a task, under `tasks`"},
                                                  {"expect", "it stands in a task, under `tasks`"},
                                                  {"description", is_comment},
                                                  {NULL, NULL}};

const struct doc_elsewhere golden_not_in_task[] = {{"calls", of_expect},
                                                   {"forbid", of_expect},
                                                   {"no_calls", of_expect},
                                                   {"answer", of_expect},
                                                   {"limits", of_expect},
                                                   {"status", of_expect},
                                                   {"name", "a task has an `id`"},
                                                   {"script", "the script of --fake is `fake`"},
                                                   {"input", is_prompt},
                                                   {"question", is_prompt},
                                                   {"user", is_prompt},
                                                   {"messages", is_prompt},
                                                   {"description", is_comment},
                                                   {NULL, NULL}};

const struct doc_elsewhere golden_not_in_answer[] = {
    {"value", of_number},
    {"within", of_number},
    {"near", of_number},
    {"path", "write json: {path: ..., MATCHER}"},
    {"range", "of a number write number: {value: ..., within: ...}"},
    {NULL, NULL}};

static const struct doc_elsewhere not_in_expect[] = {{"mode", of_calls},
                                                     {"list", of_calls},
                                                     {"extra_args", of_calls},
                                                     {"system", of_task},
                                                     {"tools", of_task},
                                                     {"budget", of_task},
                                                     {"trials", of_task},
                                                     {"fake", of_task},
                                                     {"prompt", of_task},
                                                     {"tags", of_task},
                                                     {"steps", "it stands under `limits`"},
                                                     {"tokens", "it stands under `limits`"},
                                                     {"seconds", "it stands under `limits`"},
                                                     {"cost_usd", "it stands under `limits`"},
                                                     {"contains", "it stands under `answer`"},
                                                     {"regex", "it stands under `answer`"},
                                                     {NULL, NULL}};

static const char beside_calls[] = "it stands under `expect`, beside `calls`";
static const struct doc_elsewhere not_in_calls[] = {{"forbid", beside_calls},
                                                    {"no_calls", beside_calls},
                                                    {"limits", beside_calls},
                                                    {"answer", beside_calls},
                                                    {"status", beside_calls},
                                                    {"parallel", "it stands in the `list`"},
                                                    {NULL, NULL}};

/* A map that is no call: what people mean by it. */
static int not_a_call(struct doc d, const struct val *v, struct err *e)
{
    const struct val *name = val_get(v, "name");
    if (val_is(name, VAL_STRING) && v->count == 2) {
        return doc_fail(d, v, e,
                        "expected a map with one key, the tool's name; write `- %.*s: "
                        "{PARAMETER: VALUE}`",
                        STR_FMT(text_preview(d.arena, name->text, SHOWN_CHARS)));
    }
    struct str first = v->count == 0 ? STR("") : v->members[0].key;
    if (v->count > 1 && v->members[0].value.kind == VAL_NULL) {
        return doc_fail(d, &v->members[0].value, e,
                        "expected a map with one key, the tool's name, found %zu keys; arguments "
                        "stand deeper than the name: `- %.*s: {%.*s: ...}`",
                        v->count, STR_FMT(text_preview(d.arena, first, SHOWN_CHARS)),
                        STR_FMT(text_preview(d.arena, v->members[1].key, SHOWN_CHARS)));
    }
    return doc_fail(d, v, e,
                    "expected a tool's name, or a map with one key: the tool's name and under it "
                    "its arguments; found a map of %zu keys%s",
                    v->count, v->count > 1 ? ": each call begins with a `- ` of its own" : "");
}

/* What stands in the place of a call's arguments and is none. */
static int not_arguments(struct doc d, const struct golden_call *call, const struct val *at,
                         struct err *e)
{
    const struct val *v = &call->at->members[0].value;
    struct str shown = text_preview(d.arena, call->name, SHOWN_CHARS);
    if (str_is(call->name, "parallel")) {
        return doc_fail(d, at, e,
                        "expected a list of calls under parallel, found %s; one `parallel` does "
                        "not stand in another",
                        val_kind_name(v->kind));
    }
    if (v->kind == VAL_NULL) {
        return doc_fail(d, at, e,
                        "expected a map of arguments under \"%.*s\", found null; write `- %.*s` "
                        "for any arguments and `- %.*s: {}` for none",
                        STR_FMT(shown), STR_FMT(shown), STR_FMT(shown));
    }
    return doc_fail(d, at, e,
                    "expected a map of arguments under \"%.*s\", found %s; write `- %.*s: "
                    "{PARAMETER: VALUE}`",
                    STR_FMT(shown), val_kind_name(v->kind), STR_FMT(shown));
}

/* One call of a list: `- now`, or `- tool: {arguments}`. */
static int load_call(struct doc d, const struct val *v, uint32_t group, struct golden_call *out,
                     struct err *e)
{
    out->at = v;
    out->group = group;
    if (v->kind == VAL_STRING) {
        out->name = v->text;
        return 0;
    }
    if (v->kind != VAL_OBJECT) {
        return doc_fail(d, v, e,
                        "expected a tool's name, or a map with one key: the tool's name and under "
                        "it its arguments; found %s",
                        val_kind_name(v->kind));
    }
    if (v->count != 1) {
        return not_a_call(d, v, e);
    }
    const struct val *args = &v->members[0].value;
    out->name = v->members[0].key;
    if (args->kind != VAL_OBJECT) {
        return not_arguments(d, out, args->kind == VAL_NULL ? v : args, e);
    }
    return args_match_new(d, args, &out->args, e);
}

/* The list under `parallel`, NULL for a single call. A map there belongs to a tool of that name. */
static const struct val *parallel_list(const struct val *item)
{
    const struct val *list = val_get(item, "parallel");
    return item->kind == VAL_OBJECT && item->count == 1 && val_is(list, VAL_ARRAY) ? list : NULL;
}

static int load_list(struct doc d, const struct val *list, struct golden_expect *out, struct err *e)
{
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct val *group = parallel_list(&list->items[i]);
        n += group == NULL ? 1 : group->count;
        if (group != NULL && group->count == 0) {
            return doc_fail(d, group, e, "expected at least one call under parallel");
        }
    }
    out->calls = arena_array(d.arena, n, sizeof *out->calls);
    uint32_t groups = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct val *item = &list->items[i];
        const struct val *group = parallel_list(item);
        const struct val *calls = group == NULL ? item : group->items;
        uint32_t number = group == NULL ? 0 : ++groups;
        for (size_t j = 0; j < (group == NULL ? 1 : group->count); j++) {
            struct golden_call *call = &out->calls[out->n_calls++];
            int rc = load_call(d, &calls[j], number, call, e);
            if (rc != 0) {
                return rc;
            }
        }
    }
    return 0;
}

static int load_calls(struct doc d, const struct val *v, struct golden_expect *out, struct err *e)
{
    static const char *const keys[] = {"mode", "list", "extra_args", NULL};
    static const char *const modes[] = {"exact",  "in_order", "any_order",
                                        "subset", "superset", NULL};
    static const char *const extra[] = {"error", "ignore", NULL};
    const struct val *calls = NULL;
    const struct val *list = NULL;
    int mode = GOLDEN_EXACT;
    int ignore = 0;
    if (val_is(val_get(v, "calls"), VAL_ARRAY)) {
        return doc_fail(d, val_get(v, "calls"), e,
                        "\"calls\" must be a map, got a list; write calls: {mode: exact, list: "
                        "[...]}");
    }
    int rc = doc_map(d, v, "calls", DOC_OPTIONAL, &calls, e);
    if (rc != 0 || calls == NULL) {
        return rc;
    }
    out->has_calls = true;
    rc = doc_keys_or(d, calls, "calls", keys, not_in_calls, e);
    rc = rc != 0 ? rc : doc_enum(d, calls, "mode", modes, &mode, e);
    rc = rc != 0 ? rc : doc_enum(d, calls, "extra_args", extra, &ignore, e);
    rc = rc != 0 ? rc : doc_list(d, calls, "list", DOC_REQUIRED, &list, e);
    out->mode = (enum golden_mode)mode;
    out->ignore_extra_args = ignore == 1;
    return rc != 0 ? rc : load_list(d, list, out, e);
}

static int load_limits(struct doc d, const struct val *v, struct golden_expect *out, struct err *e)
{
    const struct doc_number numbers[] = {
        {"steps", 0, 1, COUNT_MAX, &out->max_steps},
        {"calls", 0, 0, COUNT_MAX, &out->max_calls},
        {"tokens", 0, 0, COUNT_MAX, &out->max_tokens},
        {"cost_usd", 9, 0, INT64_MAX, &out->max_cost_nano},
        {"seconds", 3, 0, DAY_MS, &out->max_ms},
    };
    return doc_numbers(d, v, "limits", "limits", numbers, sizeof numbers / sizeof numbers[0], e);
}

/* Why no trial can pass by ending so; NULL for an end that the model is judged by. */
static const char *never_judged(enum run_status s)
{
    static const struct {
        enum run_status status;
        const char *what;
    } ends[] = {
        {RUN_MODEL_ERROR, "the endpoint's failure, an error"},
        {RUN_CASSETTE_MISS, "the recording's failure, an error"},
        {RUN_CANCELLED, "an interrupted trial, which is run again"},
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends[i].status == s) {
            return ends[i].what;
        }
    }
    return NULL;
}

static int load_status(struct doc d, const struct val *v, struct golden_expect *out, struct err *e)
{
    const struct val *at = val_get(v, "status");
    const char *names[RUN_CANCELLED + 2] = {0};
    size_t n = 0;
    for (int i = 0; i <= RUN_CANCELLED; i++) {
        if (never_judged((enum run_status)i) == NULL) {
            names[n++] = run_status_name((enum run_status)i);
        }
    }
    if (run_status_of_name(val_text(at), &out->status) && never_judged(out->status) != NULL) {
        return doc_fail(d, at, e,
                        "no trial passes by ending as \"%s\": that is %s; expected the status of a "
                        "run that is judged",
                        run_status_name(out->status), never_judged(out->status));
    }
    int index = 0; /* completed */
    int rc = doc_enum(d, v, "status", names, &index, e);
    return run_status_of_name(str_of(names[index]), &out->status) ? rc : ERR_STATE;
}

int golden_expect_load(struct golden_loaded *l, const struct val *v, struct golden_expect *out,
                       struct err *e)
{
    static const char *const keys[] = {"calls",  "forbid", "no_calls", "answer",
                                       "limits", "status", NULL};
    struct doc d = l->doc;
    *out = (struct golden_expect){.max_steps = -1,
                                  .max_calls = -1,
                                  .max_tokens = -1,
                                  .max_cost_nano = -1,
                                  .max_ms = -1,
                                  .status = RUN_COMPLETED};
    if (v == NULL || v->kind == VAL_NULL) {
        return 0;
    }
    int rc = doc_keys_or(d, v, "expect", keys, not_in_expect, e);
    rc = rc != 0 ? rc : load_calls(d, v, out, e);
    rc = rc != 0
             ? rc
             : doc_strings(d, v, "forbid", "the name of a tool", &out->forbid, &out->n_forbid, e);
    rc = rc != 0 ? rc : doc_bool(d, v, "no_calls", &out->no_calls, e);
    rc = rc != 0 ? rc : load_limits(d, v, out, e);
    rc = rc != 0 ? rc : load_status(d, v, out, e);
    const struct val *answer = val_get(v, "answer");
    if (rc == 0 && answer != NULL && answer->kind != VAL_NULL) {
        rc = golden_answer_load(l, answer, &out->answer, e);
    }
    if (rc == 0 && out->no_calls && out->n_calls > 0) {
        return doc_fail(d, val_get(v, "no_calls"), e,
                        "no_calls contradicts the calls that are expected; leave one out");
    }
    return rc;
}

void golden_expect_free(struct golden_expect *x)
{
    for (size_t i = 0; i < x->n_calls; i++) {
        args_match_free(x->calls[i].args);
    }
}
