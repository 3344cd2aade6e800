/* What is looked at before shards are joined: that each trial is there once, with its trace. */
#include "evals/order_int.h"
#include "evals/rows_int.h"
#include "evals/rundir_int.h"
#include "evals/runs.h"
#include "kernel/drive/files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct sharded_trial {
    const struct run_data *shard;
    const struct eval_row *row;
};

static int by_trial(const void *a, const void *b)
{
    const struct sharded_trial *x = a, *y = b;
    return eval_row_cmp(x->row, y->row);
}

/* Two shards that hold one trial would make a run that nobody can read. */
static int check_once(struct sharded_trial *all, size_t n, struct err *e)
{
    order_list(all, n, sizeof *all, by_trial);
    for (size_t i = 1; i < n; i++) {
        const struct sharded_trial *a = &all[i - 1], *b = &all[i];
        if (by_trial(a, b) == 0) {
            return err_at(e, ERR_INPUT, b->shard->report->out, 0, 0,
                          "trial %" PRId32 " of %.*s is also in %s: expected each once",
                          b->row->trial, STR_FMT(b->row->task), a->shard->report->out);
        }
    }
    return 0;
}

/* Before anything is written: that all is there to be copied. */
static int check_trace(const struct run_data *d, const struct eval_row *row, struct arena *scratch,
                       struct err *e)
{
    struct str trace = {NULL, 0};
    int rc = eval_trace_path(d->report, row, scratch, &trace, e);
    if (rc != 0 || trace.p == NULL) {
        return rc;
    }
    const char *path = path_join(scratch, d->report->out, trace.p);
    if (!path_is_file(path)) {
        return err_at(e, ERR_INPUT, path, 0, 0,
                      "the trace of trial %" PRId32 " of %.*s is missing: expected all traces "
                      "that the run wrote",
                      row->trial, STR_FMT(row->task));
    }
    return 0;
}

int merge_check(struct run_data *const *shards, size_t n_shards, struct err *e)
{
    struct arena *scratch = arena_new();
    size_t n = 0, at = 0;
    int rc = 0;
    for (size_t i = 0; i < n_shards; i++) {
        n += shards[i]->report->n;
    }
    struct sharded_trial *all = mem_alloc((n + 1) * sizeof *all);
    for (size_t i = 0; i < n_shards; i++) {
        for (size_t k = 0; k < shards[i]->report->n; k++) {
            all[at++] = (struct sharded_trial){shards[i], &shards[i]->report->rows[k]};
        }
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        arena_clear(scratch);
        rc = check_trace(all[i].shard, all[i].row, scratch, e);
    }
    rc = rc != 0 ? rc : check_once(all, n, e);
    free(all);
    arena_free(scratch);
    return rc;
}
