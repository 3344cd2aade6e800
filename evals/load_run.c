/* Reading run directories: what results.c and rundir.c write. */
#include "evals/rows_int.h"
#include "evals/run_int.h"
#include "evals/rundir_int.h"
#include "evals/trial_lines_int.h"
#include "kernel/base/json.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- the manifest ---- */

static int not_a_run(const char *path, struct err *e)
{
    return err_at(
        e, ERR_INPUT, path, 0, 0,
        "no manifest of a run: expected version 1, sets with name and path, and trials, as "
        "assay eval writes them");
}

static int read_manifest(struct run_data *d, const char *path, struct err *e)
{
    struct arena *arena = d->report->arena;
    struct val *root = NULL;
    int64_t version = 0;
    int rc = file_read(arena, path, MANIFEST_BYTES_MAX, &d->manifest, e);
    rc = rc != 0 ? rc : json_parse(arena, path, d->manifest, &root, e);
    if (rc != 0) {
        return rc;
    }
    if (val_int(val_get(root, "version"), &version) && version != 1) {
        return err_at(e, ERR_INPUT, path, 0, 0,
                      "version %" PRId64 ": this assay knows version 1; use the one that wrote it",
                      version);
    }
    rc = members_check(path, 0, root, e);
    if (rc != 0) {
        return rc;
    }
    const struct val *sets = val_get(root, "sets");
    if (version != 1 || !val_is(sets, VAL_ARRAY) ||
        !val_int(val_get(root, "trials"), &d->planned) || d->planned < 0) {
        return not_a_run(path, e);
    }
    const struct val *shard = val_get(root, "shard");
    if (shard != NULL && !eval_shard_parse(val_text(shard), &d->shard, &d->shards)) {
        return err_at(e, ERR_INPUT, path, 0, 0,
                      "its shard is no I/N with I from 1 to N, as assay eval --shard writes it");
    }
    d->n_sets = sets->count;
    d->sets = arena_array(arena, d->n_sets, sizeof *d->sets);
    for (size_t i = 0; i < d->n_sets; i++) {
        const struct val *s = &sets->items[i];
        d->sets[i] = (struct run_set){arena_str(arena, val_text(val_get(s, "name"))),
                                      arena_str(arena, val_text(val_get(s, "path"))),
                                      arena_str(arena, val_text(val_get(s, "xxh3")))};
        if (d->sets[i].name.n == 0 || d->sets[i].path.n == 0) {
            return not_a_run(path, e);
        }
    }
    d->fake = str_is(val_text(val_get(root, "source")), "fake");
    return 0;
}

/* ---- the lines ---- */

const char *run_set_path(const struct run_data *d, const char *name)
{
    for (size_t i = 0; i < d->n_sets; i++) {
        if (str_is(d->sets[i].name, name)) {
            return d->sets[i].path.p;
        }
    }
    return NULL;
}

static int read_lines(struct run_data *d, struct arena *scratch, struct err *e)
{
    struct trial_lines l = {.from = d->report->details, .journal = d->journal, .scratch = scratch};
    int rc = trial_lines_next(&l, e);
    while (rc == 0 && l.found == LINE_WHOLE) {
        l.trial.file = run_set_path(d, l.trial.set);
        rc = report_add_line(d->report, &l.trial, l.text, l.at, e);
        rc = rc != 0 ? rc : trial_lines_next(&l, e);
    }
    d->torn = l.found == LINE_TORN;
    return rc;
}

static int read_results(struct run_data *d, const char *path, struct err *e)
{
    struct lines *lines = NULL;
    int rc = lines_open(path, &lines, e);
    if (rc != 0) {
        return rc;
    }
    report_read_from(d->report, lines);
    struct arena *scratch = arena_new();
    rc = read_lines(d, scratch, e);
    arena_free(scratch);
    rc = rc != 0 ? rc : report_check_twice(d->report, d->journal, e);
    if (rc == 0) {
        d->report->interrupted = d->journal || (int64_t)d->report->n < d->planned;
        eval_sum(d->report, 0);
    }
    return rc;
}

int run_open(const char *dir, struct run_data **out, struct err *e)
{
    struct run_data *d = mem_zero(sizeof *d);
    d->report = report_new(dir);
    const char *manifest = path_join(d->report->arena, dir, "manifest.json");
    int rc = 0;
    if (!path_is_dir(dir) || !path_exists(manifest)) {
        rc = err_at(e, ERR_NOT_FOUND, dir, 0, 0,
                    "%s: expected the folder of a run, as assay eval makes with --out",
                    path_is_dir(dir)   ? "there is no manifest.json in it"
                    : path_exists(dir) ? "is a file"
                                       : "no such folder");
    }
    rc = rc != 0 ? rc : read_manifest(d, manifest, e);
    if (rc != 0) {
        run_data_free(d);
        return rc;
    }
    *out = d;
    return 0;
}

int run_load(const char *dir, struct run_data **out, struct err *e)
{
    struct run_data *d = NULL;
    int rc = run_open(dir, &d, e);
    if (rc != 0) {
        return rc;
    }
    const char *results = path_join(d->report->arena, dir, "results.jsonl");
    d->journal = !path_exists(results);
    rc =
        read_results(d, d->journal ? path_join(d->report->arena, dir, "trials.jsonl") : results, e);
    if (rc != 0) {
        run_data_free(d);
        return rc;
    }
    *out = d;
    return 0;
}

void run_data_free(struct run_data *d)
{
    if (d != NULL) {
        eval_report_free(d->report);
        free(d);
    }
}
