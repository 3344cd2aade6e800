#include "cli/init_int.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "kernel/base/text.h"
#include "kernel/drive/appender.h"
#include "kernel/drive/files.h"

static const char help_text[] =
    "assay init: a first golden set with all that it needs\n"
    "\n"
    "usage: assay init [DIR]\n"
    "\n"
    "Writes into DIR (default: here), which is made where it is missing:\n"
    "  first.golden.yaml           four tasks: what the agent must do\n"
    "  first.tools.yaml            the tools that it is offered, with answers\n"
    "  first.script.yaml           a scripted model, which passes\n"
    "  .github/workflows/assay.yml a job that gates pull requests on the set. It builds assay from "
    "the\n"
    "                              git repository that the variable ASSAY_REPOSITORY names\n"
    "A file that is there is never overwritten: where one is, nothing is written.\n"
    "\n"
    "exit status: 0 written, 2 a file is there already, 4 it cannot be written\n"
    "\n"
    "example\n"
    "  assay init desk && cd desk && assay eval first.golden.yaml --fake\n";

/* In the order of writing. */
static const struct {
    const char *path;
    const unsigned char *bytes;
    const size_t *size;
    const char *what;
} files[] = {
    {"first.golden.yaml", init_set, &init_set_size, "four tasks: what the agent must do"},
    {"first.tools.yaml", init_tools, &init_tools_size, "the tools that it is offered"},
    {"first.script.yaml", init_script, &init_script_size, "a scripted model"},
    {".github/workflows/assay.yml", init_job, &init_job_size, "a job that gates on the set"},
};

enum { FILES = sizeof files / sizeof files[0] };

/* Before anything is written. */
static int check_free(struct arena *arena, const char *dir, struct err *e)
{
    for (size_t i = 0; i < FILES; i++) {
        const char *path = path_join(arena, dir, files[i].path);
        if (path_exists(path)) {
            return err_at(e, ERR_EXISTS, path, 0, 0,
                          "is there already, and nothing was written; name an empty folder: assay "
                          "init DIR");
        }
    }
    return 0;
}

static int write_new(const char *path, struct str text, struct err *e)
{
    struct appender *out = NULL;
    int rc = appender_open(path, APPEND_NEW, &out, e);
    if (rc != 0) {
        return rc;
    }
    rc = appender_add(out, text, e);
    int closed = appender_close(out, rc == 0 ? e : NULL);
    return rc != 0 ? rc : closed;
}

static int write_all(struct arena *arena, const char *dir, struct err *e)
{
    int rc = check_free(arena, dir, e);
    for (size_t i = 0; rc == 0 && i < FILES; i++) {
        const char *path = path_join(arena, dir, files[i].path);
        rc = dir_make(path_dir(arena, path), e);
        rc = rc != 0
                 ? rc
                 : write_new(path, (struct str){(const char *)files[i].bytes, *files[i].size}, e);
    }
    return rc;
}

static bool tell_next(const char *dir)
{
    struct buf out = {0};
    bool here = strcmp(dir, ".") == 0;
    for (size_t i = 0; i < FILES; i++) {
        buf_fmt(&out, "wrote %s%s%-28s%s\n", here ? "" : dir, here ? "" : "/", files[i].path,
                files[i].what);
    }
    buf_addz(&out, "\nnow:\n");
    if (!here) {
        buf_addz(&out, "  cd ");
        text_add_word(&out, str_of(dir));
        buf_char(&out, '\n');
    }
    buf_addz(
        &out,
        "  assay golden check first.golden.yaml\n"
        "  assay eval first.golden.yaml --fake\n"
        "\nthen with a real model (OPENAI_API_KEY is its key), and again without it:\n"
        "  assay eval first.golden.yaml --record cassettes --model gpt-4.1-mini\n"
        "  assay eval first.golden.yaml --replay cassettes\n"
        "\nthe job builds assay: set the variable ASSAY_REPOSITORY of your GitHub project to the\n"
        "address of its git repository\n");
    bool written = put_out(buf_str(&out));
    buf_free(&out);
    return written;
}

static int run(int argc, char **argv)
{
    struct words words;
    struct err e;
    int rc = options_parse(NULL, 0, argc, argv, &words, &e);
    if (rc == 0 && words.n > 1) {
        rc = err_set(&e, ERR_USAGE, "init wants one folder at most: assay init [DIR]");
    }
    const char *dir = rc == 0 && words.n == 1 ? words.at[0] : ".";
    struct arena *arena = arena_new();
    rc = rc != 0 ? rc : write_all(arena, dir, &e);
    arena_free(arena);
    if (rc != 0) {
        return tell_error(&e);
    }
    return tell_next(dir) ? EXIT_OK : EXIT_ENVIRONMENT;
}

const struct verb verb_init = {
    "init", "write a first golden set, with tools, script and CI job", {help_text}, run};
