/* The words of `assay cassette` that write files. */
#include "cli/cassette_edit.h"

#include <stdlib.h>
#include <string.h>

#include "cassettes/edit.h"
#include "cli/check.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "kernel/drive/files.h"

enum { ITEMS_MAX = 64 };

/* "a,b": the words between commas, views of `text`; the rest beyond ITEMS_MAX is an error. */
static int split(const char *text, const char *option, struct str *out, size_t *n, struct err *e)
{
    struct str rest = str_of(text);
    *n = 0;
    for (bool more = rest.n > 0; more; more = rest.p != NULL) {
        struct str item = str_trim(str_cut(&rest, ','));
        if (item.n == 0 || *n == ITEMS_MAX) {
            return err_set(e, ERR_USAGE, "--%s wants at most %d names with commas, got \"%s\"",
                           option, ITEMS_MAX, text);
        }
        out[(*n)++] = item;
    }
    return 0;
}

/* A file for the result, where none is. */
static int write_new(const char *path, struct str text, struct err *e)
{
    if (path_exists(path)) {
        return err_at(e, ERR_EXISTS, path, 0, 0, "is there already; name another file");
    }
    return file_replace(path, text, e);
}

/* What each file comes to, the worst of it; a folder stands for those below it. `several` is the
 * error where there is more than one, NULL = fine. */
static int each_file(const struct words *words, const char *several,
                     int (*each)(void *ctx, const char *path), void *ctx)
{
    struct arena *arena = arena_new();
    struct err e;
    const char **files = NULL;
    size_t n = 0;
    int rc = words_files(arena, words, &kind_cassette, &files, &n, &e);
    if (rc == 0 && n > 1 && several != NULL) {
        rc = err_set(&e, ERR_USAGE, "%s", several);
    }
    int status = rc != 0 ? tell_error(&e) : EXIT_OK;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        status = exit_worse(status, each(ctx, files[i]));
    }
    arena_free(arena);
    return status;
}

/* ---- redact ---- */

struct redacting {
    const char *out;
    bool in_place;
    struct hiding hiding;
    struct str headers[ITEMS_MAX];
    struct str paths[ITEMS_MAX];
    bool found[ITEMS_MAX]; /* something at that path, in this file */
};

static void count_found(void *ctx, const struct finding *f)
{
    (void)f;
    ++*(size_t *)ctx;
}

/* Tells what is left although it was looked for: a key over several blocks of a reply. */
static void tell_left(void *ctx, const struct finding *f)
{
    ++*(size_t *)ctx;
    tell("%s:%u:%u: still there: %.*s", f->file, (unsigned)f->line, (unsigned)f->column,
         STR_FMT(f->message));
}

static int redact_loaded(const struct redacting *r, struct cassette *c, struct buf *out,
                         size_t *hidden, struct err *e)
{
    size_t named = 0;
    int rc = cassette_whole(c, e);
    if (rc != 0) {
        return rc;
    }
    cassette_check_secrets(c, count_found, hidden);
    rc = cassette_hide(c, &r->hiding, &named, e);
    *hidden += named;
    if (rc == 0) {
        cassette_write(c, out);
    }
    return rc;
}

/* Whether the new text holds no secret that we know. */
static bool is_clean(const char *path, struct str text, struct err *e)
{
    struct cassette *c;
    size_t left = 0;
    if (cassette_parse(path, text, &c, NULL, e) != 0) {
        tell_error(e);
        return false;
    }
    cassette_check_secrets(c, tell_left, &left);
    cassette_free(c);
    return left == 0;
}

/* A slip in a path would leave what it should hide. */
static void tell_not_found(const struct redacting *r, const char *path)
{
    for (size_t i = 0; i < r->hiding.n_paths; i++) {
        if (!r->found[i]) {
            tell("%s: warning: nothing stands at the path %.*s, so it hid nothing", path,
                 STR_FMT(r->paths[i]));
        }
    }
}

static int redact_file(void *ctx, const char *path)
{
    struct redacting *r = ctx;
    struct cassette *c;
    struct buf out = {0};
    struct err e;
    size_t hidden = 0;
    int status = EXIT_OK;
    int rc = cassette_load(path, &c, NULL, &e);
    if (rc != 0) {
        return tell_error(&e);
    }
    memset(r->found, 0, sizeof r->found);
    rc = redact_loaded(r, c, &out, &hidden, &e);
    const char *to = r->in_place ? path : r->out;
    if (rc == 0 && to == NULL) {
        status = put_out(buf_str(&out)) ? EXIT_OK : EXIT_ENVIRONMENT;
    } else if (rc == 0) {
        rc = r->in_place ? cassette_replace(to, buf_str(&out), &e)
                         : write_new(to, buf_str(&out), &e);
    }
    if (rc != 0) {
        status = tell_error(&e);
    } else {
        tell("%s: %zu secret%s hidden", path, hidden, hidden == 1 ? "" : "s");
        tell_not_found(r, path);
        status = is_clean(to == NULL ? path : to, buf_str(&out), &e)
                     ? status
                     : exit_worse(status, EXIT_FAILED);
    }
    cassette_free(c);
    buf_free(&out);
    return status;
}

int cassette_edit_redact(int argc, char **argv)
{
    struct redacting *r = mem_zero(sizeof *r);
    const char *headers = NULL;
    const char *paths = NULL;
    const struct option options[] = {{"out", OPTION_TEXT, &r->out, 0, 0},
                                     {"in-place", OPTION_FLAG, &r->in_place, 0, 0},
                                     {"header", OPTION_TEXT, &headers, 0, 0},
                                     {"path", OPTION_TEXT, &paths, 0, 0}};
    struct words words;
    struct err e;
    int status = EXIT_OK;
    int rc = options_parse(options, 4, argc, argv, &words, &e);
    r->hiding.headers = r->headers;
    r->hiding.paths = r->paths;
    r->hiding.found = r->found;
    if (rc == 0) {
        rc = split(headers, "header", r->headers, &r->hiding.n_headers, &e);
    }
    if (rc == 0) {
        rc = split(paths, "path", r->paths, &r->hiding.n_paths, &e);
    }
    if (rc == 0 && r->in_place && r->out != NULL) {
        rc = err_set(&e, ERR_USAGE, "give --in-place or -o, not both");
    }
    if (rc != 0) {
        status = tell_error(&e);
    } else if (words.n == 0) {
        status = tell_no_file("cassette", "redact");
    } else {
        status = each_file(&words,
                           r->in_place ? NULL : "several files are redacted with --in-place only",
                           redact_file, r);
    }
    free(r);
    return status;
}

/* ---- repair ---- */

static int repair_file(void *ctx, const char *path)
{
    struct buf told = {0};
    struct err e;
    int status = EXIT_OK;
    (void)ctx;
    if (cassette_repair(path, &told, &e) != 0) {
        status = tell_error(&e);
    } else {
        tell("%.*s", STR_FMT(buf_str(&told)));
    }
    buf_free(&told);
    return status;
}

int cassette_edit_repair(int argc, char **argv)
{
    struct words words;
    struct err e;
    if (options_parse(NULL, 0, argc, argv, &words, &e) != 0) {
        return tell_error(&e);
    }
    return words.n == 0 ? tell_no_file("cassette", "repair")
                        : each_file(&words, NULL, repair_file, NULL);
}

/* ---- import ---- */

/* Appends the file's interactions, the first file's head before them. */
static int import_file(const char *path, bool first, struct buf *out, size_t *n, struct err *e)
{
    struct cassette *c;
    struct buf left_out = {0};
    int rc = cassette_import(path, &c, &left_out, e);
    if (left_out.n > 0) {
        tell("%.*s", STR_FMT(buf_str(&left_out)));
    }
    buf_free(&left_out);
    if (rc != 0) {
        return rc;
    }
    if (first) {
        cassette_write(c, out);
    } else {
        for (size_t i = 0; i < c->n; i++) {
            cassette_add_interaction(out, &c->items[i]);
        }
    }
    *n += c->n;
    cassette_free(c);
    return 0;
}

int cassette_edit_import(int argc, char **argv)
{
    const char *to = NULL;
    const struct option options[] = {{"out", OPTION_TEXT, &to, 0, 0}};
    struct words words;
    struct buf out = {0};
    struct err e;
    size_t n = 0;
    int rc = options_parse(options, 1, argc, argv, &words, &e);
    if (rc == 0 && words.n == 0) {
        return tell_no_file("cassette", "import");
    }
    if (rc == 0 && to == NULL) {
        rc = err_set(&e, ERR_USAGE, "cassette import wants -o OUT.yaml, the file it makes");
    }
    for (size_t i = 0; rc == 0 && i < words.n; i++) {
        rc = import_file(words.at[i], i == 0, &out, &n, &e);
    }
    if (rc == 0 && n == 0) {
        rc = err_set(&e, ERR_INPUT, "there is no interaction to take over");
    }
    if (rc == 0) {
        rc = write_new(to, buf_str(&out), &e);
    }
    buf_free(&out);
    if (rc != 0) {
        return tell_error(&e);
    }
    tell("%s: %zu interaction%s; assay cassette check %s tells whether a session can replay them",
         to, n, n == 1 ? "" : "s", to);
    return EXIT_OK;
}

/* ---- prune ---- */

struct prune {
    struct pruning what;
    bool dry;
};

static int prune_file(void *ctx, const char *path)
{
    const struct prune *p = ctx;
    struct cassette *c;
    struct buf out = {0};
    struct buf told = {0};
    struct err e;
    size_t dropped = 0;
    int rc = cassette_load(path, &c, NULL, &e);
    if (rc != 0) {
        return tell_error(&e);
    }
    rc = cassette_prune(c, &p->what, &out, &told, &dropped, &e);
    if (rc == 0 && dropped > 0 && !p->dry) {
        rc = cassette_replace(path, buf_str(&out), &e);
    }
    int status = rc == 0 ? EXIT_OK : tell_error(&e);
    if (rc == 0) {
        if (told.n > 0) {
            tell("%.*s", STR_FMT(buf_str(&told)));
        }
        tell("%s: %zu of %zu interactions %s", path, dropped, c->n,
             p->dry ? "would be dropped" : "dropped");
    }
    cassette_free(c);
    buf_free(&out);
    buf_free(&told);
    return status;
}

int cassette_edit_prune(int argc, char **argv)
{
    struct prune p = {0};
    struct pruning *what = &p.what;
    const struct option options[] = {{"drop", OPTION_TEXT, &what->drop, 0, 0},
                                     {"keep", OPTION_TEXT, &what->keep, 0, 0},
                                     {"model", OPTION_TEXT, &what->model, 0, 0},
                                     {"duplicates", OPTION_FLAG, &what->duplicates, 0, 0},
                                     {"failed", OPTION_FLAG, &what->failed, 0, 0},
                                     {"dry-run", OPTION_FLAG, &p.dry, 0, 0}};
    struct words words;
    struct err e;
    if (options_parse(options, 6, argc, argv, &words, &e) != 0) {
        return tell_error(&e);
    }
    if (words.n == 0) {
        return tell_no_file("cassette", "prune");
    }
    if (what->drop == NULL && what->keep == NULL && what->model == NULL && !what->duplicates &&
        !what->failed) {
        tell("cassette prune wants to know what to drop: --drop 3,5-7, --keep 1-4, --model M, "
             "--duplicates or --failed");
        return EXIT_USAGE;
    }
    bool numbered = what->drop != NULL || what->keep != NULL;
    return each_file(&words,
                     numbered ? "--drop and --keep number the interactions of one file" : NULL,
                     prune_file, &p);
}
