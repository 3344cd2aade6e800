/* Joining the shards of a run: task i of the set is in shard 1 + i mod N, with all its trials. */
#include "evals/own_trace_int.h"
#include "evals/rows_int.h"
#include "evals/rundir_int.h"
#include "evals/runs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct shards {
    struct run_data **at; /* by number */
    size_t n;
    struct arena *arena;
};

/* ---- what fits together ---- */

static int check_shard(const struct run_data *d, size_t n, struct err *e)
{
    const char *dir = d->report->out;
    if (d->shards == 0) {
        return err_at(e, ERR_INPUT, dir, 0, 0,
                      "a whole run, no shard of one: expected runs of assay eval --shard I/N; "
                      "assay report takes several runs as they are");
    }
    if (d->shards != (int64_t)n) {
        return err_at(e, ERR_INPUT, dir, 0, 0,
                      "it is shard %" PRId64 " of %" PRId64 ": expected all %" PRId64
                      " of them, got %zu",
                      d->shard, d->shards, d->shards, n);
    }
    if (d->report->interrupted) {
        return err_at(e, ERR_INPUT, dir, 0, 0,
                      "it is not finished: %zu of %" PRId64 " trials%s; run the shard again",
                      d->report->n, d->planned, d->journal ? ", and no results.jsonl" : "");
    }
    return 0;
}

static int load_shards(const char *const *dirs, struct shards *s, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->n; i++) {
        struct run_data *d = NULL;
        rc = run_load(dirs[i], &d, e);
        rc = rc != 0 ? rc : check_shard(d, s->n, e);
        if (rc == 0 && s->at[d->shard - 1] != NULL) {
            rc = err_at(e, ERR_INPUT, dirs[i], 0, 0,
                        "it is shard %" PRId64 " of %" PRId64 ", and so is %s: expected each once",
                        d->shard, d->shards, s->at[d->shard - 1]->report->out);
        }
        if (rc != 0) {
            run_data_free(d);
        } else {
            s->at[d->shard - 1] = d;
        }
    }
    for (size_t i = 1; rc == 0 && i < s->n; i++) {
        if (!manifest_same_run(s->at[0]->manifest, s->at[i]->manifest)) {
            rc = err_at(e, ERR_INPUT, s->at[i]->report->out, 0, 0,
                        "its manifest is that of another run than %s: expected the same sets, "
                        "source, model and options",
                        s->at[0]->report->out);
        }
    }
    return rc;
}

/* ---- the joined run ---- */

/* How many lines from `from` on are of one task. */
static size_t run_length(const struct eval_report *r, size_t from)
{
    size_t n = 1;
    while (from + n < r->n && str_eq(r->rows[from].task, r->rows[from + n].task)) {
        n++;
    }
    return n;
}

/* Where the joined lines go; NULL = nowhere yet: it is only seen whether they can be joined. */
struct joined {
    struct file_writer *journal, *results;
};

static int copy_lines(const struct eval_report *r, size_t from, size_t n, const struct joined *to,
                      struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct str line;
        rc = eval_line(r, &r->rows[from + i], &line, e);
        line.n++; /* its newline */
        rc = rc != 0 ? rc : file_writer_add(to->journal, line, e);
        rc = rc != 0 ? rc : file_writer_add(to->results, line, e);
    }
    return rc;
}

static int join_lines(const struct shards *s, const struct joined *to, struct err *e)
{
    struct arena *scratch = arena_new();
    size_t *at = arena_array(scratch, s->n, sizeof *at);
    size_t left = 0;
    int rc = 0;
    for (size_t i = 0; i < s->n; i++) {
        left += s->at[i]->report->n;
    }
    for (size_t k = 0; rc == 0 && left > 0; k = (k + 1) % s->n) {
        const struct run_data *d = s->at[k];
        if (at[k] == d->report->n) {
            rc = err_at(e, ERR_INPUT, d->report->out, 0, 0,
                        "it holds fewer tasks than its neighbours: expected the tasks of one set, "
                        "dealt out in turn");
            break;
        }
        size_t n = run_length(d->report, at[k]);
        rc = to == NULL ? 0 : copy_lines(d->report, at[k], n, to, e);
        at[k] += n;
        left -= n;
    }
    arena_free(scratch);
    return rc;
}

static int write_lines(const struct shards *s, const char *out, struct err *e)
{
    struct joined to = {NULL, NULL};
    int rc = file_writer_open(path_join(s->arena, out, "trials.jsonl"), &to.journal, e);
    if (rc != 0) {
        return rc;
    }
    rc = file_writer_open(path_join(s->arena, out, "results.jsonl"), &to.results, e);
    rc = rc != 0 ? rc : join_lines(s, &to, e);
    rc = file_writer_end(to.journal, rc, e);
    return to.results == NULL ? rc : file_writer_end(to.results, rc, e);
}

static int write_manifest(const struct shards *s, const char *path, struct err *e)
{
    int64_t trials = 0;
    for (size_t i = 0; i < s->n; i++) {
        trials += s->at[i]->planned;
    }
    return manifest_joined(path, s->at[0]->manifest, trials, e);
}

static int copy_log(const struct run_data *d, const char *name, const char *out,
                    struct arena *scratch, struct err *e)
{
    struct str text = {0};
    const char *from = path_join(scratch, d->report->out, name);
    const char *to = path_join(scratch, out, name);
    int rc = file_read(scratch, from, TRACE_BYTES_MAX, &text, e);
    rc = rc != 0 ? rc : dir_make(path_dir(scratch, to), e);
    return rc != 0 ? rc : file_swap(to, from, text, e);
}

/* What a program under test wrote there, where that was kept. */
static int copy_stderr(const struct run_data *d, struct str trace, const char *out,
                       struct arena *scratch, struct err *e)
{
    const char *name = stderr_name(trace, scratch);
    return path_is_file(path_join(scratch, d->report->out, name))
               ? copy_log(d, name, out, scratch, e)
               : 0;
}

static int copy_traces(const struct run_data *d, const char *out, struct err *e)
{
    const struct eval_report *r = d->report;
    struct arena *scratch = arena_new();
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < r->n; i++) {
        const struct eval_row *row = &r->rows[i];
        struct str trace = {NULL, 0};
        arena_clear(scratch);
        rc = eval_trace_path(r, row, scratch, &trace, e);
        if (rc == 0 && trace.n > 0) {
            rc = copy_log(d, trace.p, out, scratch, e);
            rc = rc != 0 ? rc : copy_stderr(d, trace, out, scratch, e);
        }
        for (int64_t k = 1; rc == 0 && row->judge != NULL && k <= row->judge->asked; k++) {
            const char *logs = judge_logs(trace, scratch);
            rc = copy_log(d, arena_printf(scratch, "%s/%" PRId64 ".jsonl", logs, k).p, out, scratch,
                          e);
        }
    }
    arena_free(scratch);
    return rc;
}

static int write_run(const struct shards *s, const char *out, struct err *e)
{
    int rc = merge_check(s->at, s->n, e);
    rc = rc != 0 ? rc : join_lines(s, NULL, e);
    rc = rc != 0 ? rc : rundir_new(out, s->arena, e);
    for (size_t i = 0; rc == 0 && i < s->n; i++) {
        rc = copy_traces(s->at[i], out, e);
    }
    rc = rc != 0 ? rc : write_lines(s, out, e);
    /* the last: without it, nothing takes what was cut off here for a run */
    return rc != 0 ? rc : write_manifest(s, path_join(s->arena, out, "manifest.json"), e);
}

int run_merge(const char *const *dirs, size_t n, const char *out, struct err *e)
{
    struct shards s = {.n = n, .arena = arena_new()};
    s.at = arena_array(s.arena, n, sizeof *s.at);
    int rc = load_shards(dirs, &s, e);
    rc = rc != 0 ? rc : write_run(&s, out, e);
    for (size_t i = 0; i < n; i++) {
        run_data_free(s.at[i]);
    }
    arena_free(s.arena);
    return rc;
}
