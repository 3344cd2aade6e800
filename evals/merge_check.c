/* What is looked at before shards are joined: that each trial is there once, with its trace. */
#include "evals/run_int.h"
#include "evals/runs.h"
#include "kernel/base/text.h"
#include "kernel/drive/files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_CHARS_SHOWN = 200 };

struct sharded_trial {
    const struct run_data *shard;
    const struct eval_trial *trial;
};

static int by_trial(const void *a, const void *b)
{
    const struct eval_trial *x = ((const struct sharded_trial *)a)->trial;
    const struct eval_trial *y = ((const struct sharded_trial *)b)->trial;
    int order = str_cmp(x->task, y->task);
    order = order != 0 ? order : str_cmp(x->model, y->model);
    return order != 0 ? order : (x->trial > y->trial) - (x->trial < y->trial);
}

static int by_trace(const void *a, const void *b)
{
    return str_cmp(((const struct sharded_trial *)a)->trial->trace,
                   ((const struct sharded_trial *)b)->trial->trace);
}

/* Two shards that hold one trial, or one trace, would make a run that nobody can read. */
static int check_once(struct sharded_trial *all, size_t n, int (*order)(const void *, const void *),
                      struct err *e)
{
    qsort(all, n, sizeof *all, order);
    for (size_t i = 1; i < n; i++) {
        const struct sharded_trial *a = &all[i - 1], *b = &all[i];
        if (order(a, b) == 0 && (order == by_trial || eval_ran(a->trial))) {
            return err_at(e, ERR_INPUT, b->shard->report->out, 0, 0,
                          "trial %" PRId64 " of %.*s is also in %s%s: expected each once",
                          b->trial->trial, STR_FMT(b->trial->task), a->shard->report->out,
                          order == by_trial ? "" : ", or has the trace of another one");
        }
    }
    return 0;
}

/* What a shard from elsewhere names may lie anywhere. */
static bool is_trace(struct str name)
{
    bool inside = str_starts(name, "traces/") && str_ends(name, ".jsonl") &&
                  memchr(name.p, '\0', name.n) == NULL;
    for (size_t i = 1; inside && i < name.n; i++) {
        inside = name.p[i - 1] != '/' || (name.p[i] != '.' && name.p[i] != '/');
    }
    return inside;
}

/* Before anything is written: that all is there to be copied. */
static int check_trace(const struct run_data *d, const struct eval_trial *t, struct err *e)
{
    struct arena *scratch = arena_new();
    int rc = 0;
    if (!is_trace(t->trace)) {
        rc = err_at(e, ERR_INPUT, d->report->out, 0, 0,
                    "the trace of trial %" PRId64 " of %.*s is \"%.*s\": expected "
                    "traces/NAME.jsonl, as assay eval writes it",
                    t->trial, STR_FMT(t->task), STR_FMT(utf8_prefix(t->trace, NAME_CHARS_SHOWN)));
    } else if (!path_is_file(path_join(scratch, d->report->out, t->trace.p))) {
        rc = err_at(e, ERR_INPUT, path_join(scratch, d->report->out, t->trace.p), 0, 0,
                    "the trace of trial %" PRId64 " of %.*s is missing: expected all traces that "
                    "the run wrote",
                    t->trial, STR_FMT(t->task));
    }
    arena_free(scratch);
    return rc;
}

int merge_check(struct run_data *const *shards, size_t n_shards, struct err *e)
{
    size_t n = 0;
    int rc = 0;
    for (size_t i = 0; i < n_shards; i++) {
        n += shards[i]->report->n;
    }
    struct sharded_trial *all = mem_alloc((n + 1) * sizeof *all);
    n = 0;
    for (size_t i = 0; i < n_shards; i++) {
        for (size_t k = 0; k < shards[i]->report->n; k++) {
            all[n++] = (struct sharded_trial){shards[i], &shards[i]->report->trials[k]};
        }
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = eval_ran(all[i].trial) ? check_trace(all[i].shard, all[i].trial, e) : 0;
    }
    rc = rc != 0 ? rc : check_once(all, n, by_trial, e);
    rc = rc != 0 ? rc : check_once(all, n, by_trace, e);
    free(all);
    return rc;
}
