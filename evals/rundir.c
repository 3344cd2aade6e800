/* The folder of a run: which one it is, made, gone on with, its results. */
#include "evals/rows_int.h"
#include "evals/rundir_int.h"

#include "kernel/base/val.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NUMBERS_MAX = 10000, NAME_BYTES_MAX = 100 };

/* ---- which folder ---- */

/* The sets' names joined; the loader sees to it that they are fit for a folder. */
static const char *run_name(const struct plan *plan, struct arena *arena)
{
    struct buf name = {.max = NAME_BYTES_MAX};
    for (size_t i = 0; i < plan->n_sets; i++) {
        buf_addz(&name, i > 0 ? "+" : "");
        buf_add(&name, plan->sets[i]->name);
    }
    const char *made = arena_cstr(arena, buf_str(&name));
    buf_free(&name);
    return made;
}

/* Makes the first of runs/NAME, runs/NAME-2, … that is free. mkdir decides, so that two programs
 * never share one. */
static int make_numbered(const struct plan *plan, struct arena *arena, const char **dir,
                         struct err *e)
{
    const char *base = path_join(arena, "runs", run_name(plan, arena));
    int rc = dir_make("runs", e);
    for (int i = 1; rc == 0 && i <= NUMBERS_MAX; i++) {
        *dir = i == 1 ? base : arena_printf(arena, "%s-%d", base, i).p;
        if (mkdir(*dir, 0777) == 0) {
            return 0;
        }
        if (errno != EEXIST) {
            return dir_make(*dir, e); /* says why not */
        }
    }
    return rc != 0 ? rc
                   : err_set(e, ERR_EXISTS, "%s-%d exists already: name another folder with --out",
                             base, NUMBERS_MAX);
}

static bool is_empty(const char *path)
{
    DIR *d = opendir(path);
    if (d == NULL) {
        return false;
    }
    const struct dirent *entry;
    bool empty = true;
    while (empty && (entry = readdir(d)) != NULL) {
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    }
    closedir(d);
    return empty;
}

static int make_named(const char *path, struct err *e)
{
    if (path_is_dir(path) && !is_empty(path)) {
        return err_set(e, ERR_EXISTS,
                       "%s: the run directory is not empty, and a run never overwrites another; "
                       "name a new one with --out",
                       path);
    }
    return dir_make(path, e);
}

/* ---- begun ---- */

/* Closes the journal again where something went wrong. */
static int settle(struct rundir *d, int rc)
{
    if (rc != 0 && d->journal != NULL) {
        int closed = appender_close(d->journal, NULL);
        (void)closed; /* the first error is the one to tell */
        d->journal = NULL;
    }
    return rc;
}

/* The journal comes first: whoever holds it has the folder. */
static int fill(const struct eval_options *o, const struct plan *plan, struct arena *arena,
                enum append_mode mode, struct rundir *d, struct err *e)
{
    int rc = d->journal != NULL
                 ? 0
                 : appender_open(path_join(arena, d->path, "trials.jsonl"), mode, &d->journal, e);
    rc = rc != 0 ? rc : dir_make(path_join(arena, d->path, "traces"), e);
    rc = rc != 0 ? rc : manifest_write(o, plan, path_join(arena, d->path, "manifest.json"), e);
    return settle(d, rc);
}

int rundir_make(const struct eval_options *o, const struct plan *plan, struct arena *arena,
                struct rundir *out, struct err *e)
{
    int rc = 0;
    *out = (struct rundir){.path = NULL};
    if (o->out == NULL) {
        rc = make_numbered(plan, arena, &out->path, e);
    } else {
        out->path = arena_cstr(arena, str_of(o->out));
        rc = make_named(out->path, e);
    }
    return rc != 0 ? rc : fill(o, plan, arena, APPEND_NEW, out, e);
}

/* ---- gone on with ---- */

/* N of "NAME-N", 1 of "NAME"; 0 = another run's. */
static int64_t number_of(struct str file, struct str name)
{
    int64_t n = 0;
    struct str rest = str_slice(file, name.n, file.n);
    if (!str_eq(str_slice(file, 0, name.n), name) || rest.n == 0) {
        return str_eq(file, name) ? 1 : 0;
    }
    struct str digits = str_slice(rest, 1, rest.n);
    bool numbered = rest.p[0] == '-' && digits.n > 0 && digits.n < 10 && num_is_integer(digits) &&
                    num_scaled(digits, 0, &n) && n > 1;
    return numbered ? n : 0;
}

static bool is_newer(const struct stat *a, const struct stat *b)
{
    return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec > b->st_mtim.tv_sec
                                                  : a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

/* By the time of its manifest, or of the folder where there is none; then by its number. */
static const char *newest(const struct plan *plan, struct arena *arena)
{
    struct str name = str_of(run_name(plan, arena)), *files = NULL;
    struct stat best = {.st_size = 0};
    const char *found = NULL;
    int64_t number = 0;
    size_t n = 0;
    if (dir_list(arena, "runs", "", &files, &n, NULL) != 0) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        int64_t k = number_of(files[i], name);
        const char *dir = path_join(arena, "runs", arena_cstr(arena, files[i]));
        bool there =
            k > 0 && path_is_dir(dir) &&
            (stat(path_join(arena, dir, "manifest.json"), &st) == 0 || stat(dir, &st) == 0);
        if (there &&
            (found == NULL || is_newer(&st, &best) || (!is_newer(&best, &st) && k > number))) {
            found = dir;
            best = st;
            number = k;
        }
    }
    return found;
}

const char *rundir_find(const struct eval_options *o, const struct plan *plan, struct arena *arena)
{
    if (o->out == NULL) {
        return newest(plan, arena);
    }
    return path_is_dir(o->out) && !is_empty(o->out) ? arena_cstr(arena, str_of(o->out)) : NULL;
}

/* Whether all that is there may be what a run left that was killed while it made its folder. */
static bool is_unbegun(const char *dir, struct arena *arena)
{
    struct str *names = NULL;
    size_t n = 0;
    bool unbegun = dir_list(arena, dir, "", &names, &n, NULL) == 0;
    for (size_t i = 0; unbegun && i < n; i++) {
        const char *path = path_join(arena, dir, arena_cstr(arena, names[i]));
        struct stat st;
        unbegun = (str_is(names[i], "traces") && is_empty(path)) ||
                  (str_is(names[i], "trials.jsonl") && stat(path, &st) == 0 && st.st_size == 0) ||
                  (str_starts(names[i], "manifest.json.") && str_ends(names[i], ".tmp"));
    }
    return unbegun;
}

/* What a kill between writing a file and renaming it left. */
static void remove_remains(const char *dir, struct arena *arena)
{
    struct str *names = NULL;
    size_t n = 0;
    if (dir_list(arena, dir, ".tmp", &names, &n, NULL) != 0) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (str_starts(names[i], "manifest.json.") || str_starts(names[i], "results.jsonl.")) {
            (void)remove(path_join(arena, dir, arena_cstr(arena, names[i])));
        }
    }
}

int rundir_open(const struct eval_options *o, const struct plan *plan, const char *path,
                struct arena *arena, struct rundir *out, struct err *e)
{
    const char *manifest = path_join(arena, path, "manifest.json");
    *out = (struct rundir){.path = path};
    if (!path_exists(manifest) && !is_unbegun(path, arena)) {
        return err_at(e, ERR_INPUT, path, 0, 0,
                      "there is no manifest.json in it, and other files are: expected the run "
                      "directory of the run to go on with");
    }
    int rc =
        appender_open(path_join(arena, path, "trials.jsonl"), APPEND_CONTINUE, &out->journal, e);
    if (rc != 0) {
        return rc;
    }
    remove_remains(path, arena);
    if (!path_exists(manifest)) {
        return fill(o, plan, arena, APPEND_CONTINUE, out, e);
    }
    rc = manifest_check(o, plan, manifest, e);
    rc = rc != 0 ? rc : dir_make(path_join(arena, path, "traces"), e);
    return settle(out, rc);
}

/* ---- parts ---- */

int rundir_new(const char *dir, struct arena *arena, struct err *e)
{
    int rc = make_named(dir, e);
    return rc != 0 ? rc : dir_make(path_join(arena, dir, "traces"), e);
}

/* Copies the lines; each row then names the byte where its line stands in the copy. */
static int copy_lines(struct eval_report *r, struct file_writer *to, struct err *e)
{
    uint64_t at = 0;
    for (size_t i = 0; i < r->n; i++) {
        struct eval_row *row = &r->rows[i];
        struct str line;
        int rc = eval_line(r, row, &line, e);
        rc = rc != 0 ? rc : file_writer_add(to, (struct str){line.p, line.n + 1}, e);
        if (rc != 0) {
            return rc;
        }
        row->at = at;
        at += (uint64_t)row->bytes + 1;
    }
    return 0;
}

int rundir_results(struct eval_report *r, struct err *e)
{
    const char *path = path_join(r->arena, r->out, "results.jsonl");
    struct file_writer *to = NULL;
    struct lines *lines = NULL;
    int rc = file_writer_open(path, &to, e);
    if (rc != 0) {
        return rc;
    }
    rc = file_writer_end(to, copy_lines(r, to, e), e);
    rc = rc != 0 ? rc : lines_open(path, &lines, e);
    if (rc == 0) {
        report_read_from(r, lines);
    }
    return rc;
}
