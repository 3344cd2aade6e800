/* What the files of a trial are called. */
#include "evals/run_int.h"

#include <inttypes.h>
#include <string.h>

const char *plan_trace(const struct plan *p, const struct plan_item *item, struct arena *arena)
{
    struct buf name = {0};
    buf_addz(&name, "traces/");
    if (p->n_models > 1) {
        buf_fmt(&name, "%.*s--", STR_FMT(item->model->file));
    }
    buf_add(&name, plan_task(p, item).id);
    if (p->several) {
        buf_fmt(&name, ".%" PRId64, item->trial);
    }
    buf_addz(&name, ".jsonl");
    const char *made = arena_cstr(arena, buf_str(&name));
    buf_free(&name);
    return made;
}

const char *plan_cassette(const struct plan *p, const struct plan_item *item, const char *mark,
                          struct arena *arena)
{
    struct str id = plan_task(p, item).id;
    struct str name = item->trial > 1 ? arena_printf(arena, "%.*s.%" PRId64 "%s.yaml", STR_FMT(id),
                                                     item->trial, mark)
                                      : arena_printf(arena, "%.*s%s.yaml", STR_FMT(id), mark);
    return path_join(arena, item->model->cassettes, name.p);
}

static struct str trace_stem(struct str trace)
{
    size_t from = str_starts(trace, "traces/") ? strlen("traces/") : 0;
    return str_slice(trace, from, trace.n - strlen(".jsonl"));
}

const char *stderr_name(struct str trace, struct arena *arena)
{
    return arena_printf(arena, "stderr/%.*s.txt", STR_FMT(trace_stem(trace))).p;
}

const char *judge_logs(struct str trace, struct arena *arena)
{
    return arena_printf(arena, "judge/%.*s", STR_FMT(trace_stem(trace))).p;
}
