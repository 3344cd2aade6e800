#include <stdlib.h>
#include <string.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "kernel/base/arena.h"
#include "kernel/base/text.h"

enum { SUBS_MAX = 16 };

/* "check, show" */
static void list_subs(struct buf *out, const struct sub_verb *subs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_fmt(out, "%s%s", i > 0 ? ", " : "", subs[i].name);
    }
    buf_char(out, '\0');
}

static int tell_unknown(const char *verb, const struct sub_verb *subs, size_t n, const char *word)
{
    const char *names[SUBS_MAX];
    struct buf list = {0};
    list_subs(&list, subs, n);
    for (size_t i = 0; i < n && i < SUBS_MAX; i++) {
        names[i] = subs[i].name;
    }
    if (word == NULL) {
        tell("%s wants one of: %s; assay %s --help shows an example", verb, list.p, verb);
    } else {
        const char *close = text_closest(str_of(word), names, n < SUBS_MAX ? n : SUBS_MAX);
        tell("%s has no \"%s\" (it has: %s)%s%s%s", verb, word, list.p,
             close == NULL ? "" : "; did you mean \"", close == NULL ? "" : close,
             close == NULL ? "" : "\"?");
    }
    buf_free(&list);
    return EXIT_USAGE;
}

int sub_verb_run(const char *verb, const struct sub_verb *subs, size_t n, int argc, char **argv)
{
    int at = 0;
    while (at < argc && argv[at][0] == '-') { /* flags may stand before it */
        at++;
    }
    const char *word = at < argc ? argv[at] : NULL;
    for (size_t i = 0; word != NULL && i < n; i++) {
        if (strcmp(word, subs[i].name) == 0) {
            char **rest = mem_alloc((size_t)argc * sizeof *rest);
            memcpy(rest, argv, (size_t)at * sizeof *rest);
            memcpy(rest + at, argv + at + 1, (size_t)(argc - at - 1) * sizeof *rest);
            int status = subs[i].run(argc - 1, rest);
            free(rest);
            return status;
        }
    }
    return tell_unknown(verb, subs, n, word);
}

int check_files(int argc, char **argv, const char *verb, const struct file_kind *kind,
                void (*check_file)(const char *path, struct findings *f))
{
    struct findings findings = {0};
    const struct option options[] = {{"json", OPTION_FLAG, &findings.json, 0, 0}};
    struct words words;
    struct err e;
    if (options_parse(options, 1, argc, argv, &words, &e) != 0) {
        return tell_error(&e);
    }
    if (words.n == 0) {
        return tell_no_file(verb, "check");
    }
    struct arena *arena = arena_new();
    const char **files = NULL;
    size_t n = 0;
    int rc = words_files(arena, &words, kind, &files, &n, &e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        check_file(files[i], &findings);
    }
    if (rc != 0) {
        findings_add_err(&findings, words.at[0], &e);
    }
    int status = findings_end(&findings, kind->what, n);
    arena_free(arena);
    return status;
}
