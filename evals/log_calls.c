/* What a run called, as its log tells: the history is no witness, since what was compacted is not
 * in it any more. */
#include "evals/log_calls_int.h"

#include <stdlib.h>

#include "kernel/base/json.h"
#include "kernel/core/model.h"

static void add_call(struct call_list *list, struct eval_call call)
{
    list->at = mem_room(list->at, list->n, &list->room, sizeof *list->at);
    list->at[list->n++] = call;
}

void calls_of_reply(struct call_list *list, const struct val *reply, const struct tool_spec *specs,
                    size_t n_specs)
{
    const struct val *calls = val_get(reply, "calls");
    int64_t step = 0;
    (void)val_int(val_get(reply, "step"), &step);
    for (size_t i = 0; val_is(calls, VAL_ARRAY) && i < calls->count; i++) {
        struct str name = val_text(val_get(&calls->items[i], "name"));
        const struct tool_spec *tool = tool_find(specs, n_specs, name);
        if (tool == NULL || !tool->terminal) {
            struct str arguments = val_text(val_get(&calls->items[i], "arguments"));
            add_call(list, (struct eval_call){name, arguments, step});
        }
    }
}

static bool is_reply_with_calls(struct str line)
{
    /* No text can hold this: its quotes are escaped. */
    return str_is(log_line_type(line), "llm_reply") &&
           str_find(line, STR("\"calls\":[{")) != SIZE_MAX;
}

void calls_of_lines(struct call_list *list, struct str lines, const struct tool_spec *specs,
                    size_t n_specs, struct arena *arena)
{
    struct arena *scratch = NULL;
    while (lines.n > 0) {
        struct str line = str_cut(&lines, '\n');
        struct val *v = NULL;
        if (!is_reply_with_calls(line)) {
            continue;
        }
        scratch = scratch == NULL ? arena_new() : scratch;
        size_t before = list->n;
        if (json_parse(scratch, NULL, line, &v, NULL) == 0) {
            calls_of_reply(list, v, specs, n_specs);
        }
        for (size_t i = before; i < list->n; i++) {
            list->at[i].name = arena_str(arena, list->at[i].name);
            list->at[i].arguments = arena_str(arena, list->at[i].arguments);
        }
    }
    arena_free(scratch);
}
