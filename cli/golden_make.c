/* assay golden promote and import: sets made from other things. */
#include "cli/golden_make.h"

#include <stdio.h>
#include <string.h>

#include "cassettes/cassette.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "goldens/make.h"
#include "kernel/base/text.h"
#include "kernel/drive/files.h"

enum { CASSETTE_BYTES_MAX = 256 << 20 };

/* ---- promote ---- */

struct promoting {
    struct golden_promotion p;
    const char *cassette; /* the session's recording; NULL = none */
    const char *folder;   /* where it is put: beside the set */
    struct arena *arena;
};

/* The recording must load, and its name must be free. */
static int read_cassette(const struct promoting *q, const char *to, struct str *bytes,
                         struct err *e)
{
    struct cassette *c = NULL;
    struct buf warning = {0};
    if (path_exists(to)) {
        return err_at(e, ERR_EXISTS, to, 0, 0,
                      "is there already and is not overwritten; name another task with --id");
    }
    int rc = cassette_load(q->cassette, &c, &warning, e);
    rc = rc != 0 ? rc : file_read(q->arena, q->cassette, CASSETTE_BYTES_MAX, bytes, e);
    cassette_free(c);
    buf_free(&warning);
    return rc;
}

static bool tell_promoted(const struct promoting *q, struct str id)
{
    struct buf out = {0};
    buf_fmt(&out, "%s has the task %.*s", q->p.set, STR_FMT(id));
    if (q->cassette != NULL) {
        buf_fmt(&out, ", and %s/%.*s.yaml its recording", q->folder, STR_FMT(id));
    }
    buf_addz(&out, "\nits answer is expected word for word: loosen it where other words will do\n");
    buf_addz(&out, "  assay golden check ");
    text_add_word(&out, str_of(q->p.set));
    if (q->cassette != NULL) {
        buf_addz(&out, "\n  assay eval ");
        text_add_word(&out, str_of(q->p.set));
        buf_fmt(&out, " --task %.*s --replay ", STR_FMT(id));
        text_add_word(&out, str_of(q->folder));
    }
    buf_char(&out, '\n');
    bool written = put_out(buf_str(&out));
    buf_free(&out);
    return written;
}

static int promote_task(struct promoting *q, struct str *id, struct err *e)
{
    struct buf task = {0};
    struct str bytes = {0};
    const char *to = NULL;
    int rc = golden_promote(&q->p, q->arena, &task, id, e);
    if (rc == 0 && q->cassette != NULL) {
        q->folder = path_join(q->arena, path_dir(q->arena, q->p.set), "cassettes");
        to = path_join(q->arena, q->folder, arena_printf(q->arena, "%.*s.yaml", STR_FMT(*id)).p);
        rc = read_cassette(q, to, &bytes, e);
    }
    rc = rc != 0 ? rc : golden_add_task(q->p.set, *id, buf_str(&task), e);
    if (rc == 0 && to != NULL) {
        rc = dir_make(q->folder, e);
        rc = rc != 0 ? rc : file_replace(to, bytes, e);
    }
    buf_free(&task);
    return rc;
}

int golden_verb_promote(int argc, char **argv)
{
    struct promoting q = {.arena = arena_new()};
    const char *id = NULL;
    const struct option options[] = {{"out", OPTION_TEXT, &q.p.set, 0, 0},
                                     {"cassette", OPTION_TEXT, &q.cassette, 0, 0},
                                     {"tools", OPTION_TEXT, &q.p.tools, 0, 0},
                                     {"id", OPTION_TEXT, &id, 0, 0}};
    struct words words;
    struct err e;
    struct str made = {0};
    int rc = options_parse(options, sizeof options / sizeof options[0], argc, argv, &words, &e);
    if (rc == 0 && (words.n != 1 || q.p.set == NULL)) {
        rc = err_set(&e, ERR_USAGE,
                     "golden promote wants an event log and a set: assay golden promote TRACE -o "
                     "SET.yaml");
    }
    if (rc == 0) {
        q.p.trace = words.at[0];
        q.p.id = str_of(id);
        rc = promote_task(&q, &made, &e);
    }
    int status = rc != 0 ? tell_error(&e) : tell_promoted(&q, made) ? EXIT_OK : EXIT_ENVIRONMENT;
    arena_free(q.arena);
    return status;
}

/* ---- import ---- */

static void on_left(void *ctx, const struct finding *f)
{
    ++*(size_t *)ctx;
    tell("%s:%u:%u: not taken over: %.*s", f->file, (unsigned)f->line, (unsigned)f->column,
         STR_FMT(f->message));
}

/* The file's name without folder and ending. */
static struct str name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct str name = str_of(slash == NULL ? path : slash + 1);
    return str_slice(name, 0, str_find(name, STR(".")));
}

enum format { FORMAT_PROMPTFOO, FORMAT_BFCL };

static int import_file(enum format format, const char *path, const char *answers, const char *out)
{
    struct err e;
    struct golden_made set = {.from = path};
    size_t left = 0;
    int rc = 0;
    switch (format) {
    case FORMAT_PROMPTFOO:
        rc = golden_import_promptfoo(&set, name_of(out), on_left, &left, &e);
        break;
    case FORMAT_BFCL:
        rc = golden_import_bfcl(&set, answers, name_of(out), on_left, &left, &e);
        break;
    }
    rc = rc != 0 ? rc : golden_write_made(out, &set, &e);
    golden_made_free(&set);
    if (rc != 0) {
        return tell_error(&e);
    }
    struct buf said = {0};
    buf_fmt(&said, "%s has %zu task%s; %zu thing%s not taken over\n", out, set.tasks,
            set.tasks == 1 ? "" : "s", left, left == 1 ? " was" : "s were");
    bool written = put_out(buf_str(&said));
    buf_free(&said);
    return written ? EXIT_OK : EXIT_ENVIRONMENT;
}

int golden_verb_import(int argc, char **argv)
{
    const char *out = NULL, *answers = NULL;
    const struct option options[] = {{"out", OPTION_TEXT, &out, 0, 0},
                                     {"answers", OPTION_TEXT, &answers, 0, 0}};
    struct words words;
    struct err e;
    if (options_parse(options, 2, argc, argv, &words, &e) != 0) {
        return tell_error(&e);
    }
    if (words.n != 2 || out == NULL) {
        err_set(&e, ERR_USAGE,
                "golden import wants a format, a file and a set: assay golden import "
                "bfcl|promptfoo FILE -o SET.yaml");
        return tell_error(&e);
    }
    bool bfcl = strcmp(words.at[0], "bfcl") == 0;
    if (!bfcl && strcmp(words.at[0], "promptfoo") != 0) {
        err_set(&e, ERR_USAGE, "golden import knows no \"%s\": expected bfcl or promptfoo",
                words.at[0]);
        return tell_error(&e);
    }
    if (!bfcl && answers != NULL) {
        err_set(&e, ERR_USAGE, "--answers goes with golden import bfcl");
        return tell_error(&e);
    }
    return import_file(bfcl ? FORMAT_BFCL : FORMAT_PROMPTFOO, words.at[1], answers, out);
}
