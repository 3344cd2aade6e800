#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/mend.h"
#include "kernel/base/text.h"

static void add_word(struct buf *out, const char *word)
{
    buf_char(out, ' ');
    text_add_word(out, str_of(word));
}

void mend_record(struct buf *out, const char *path, const char *mode, const struct rules *rules,
                 char **argv)
{
    buf_addz(out, "assay record -o");
    add_word(out, path);
    buf_fmt(out, " --mode %s", mode);
    for (size_t i = 0; i < cassette_rules_count(rules); i++) {
        enum cassette_rule_kind kind;
        struct str text = cassette_rules_text(rules, i, &kind);
        struct buf word = {0};
        buf_add(&word, text);
        buf_char(&word, '\0');
        buf_addz(out, kind == RULE_IGNORE ? " --ignore" : " --normalise");
        add_word(out, word.p);
        buf_free(&word);
    }
    buf_addz(out, " --");
    for (; *argv != NULL; argv++) {
        add_word(out, *argv);
    }
}

/* Whether the word is one of these options, which take a value; *words is how many words it takes
 * with that. */
static bool is_one_of(const char *word, const char *const *names, int *words)
{
    for (; *names != NULL; names++) {
        size_t n = strlen(*names);
        if (strncmp(word, *names, n) == 0 && (word[n] == '\0' || word[n] == '=')) {
            *words = word[n] == '=' ? 1 : 2;
            return true;
        }
    }
    *words = 1;
    return false;
}

/* Whether argv[i] is one of the options that make no sense while recording. */
static bool is_for_replay(const char *word, int *words)
{
    static const char *const with_value[] = {"--match",   "--mode",    "--out", "--speed",
                                             "--rechunk", "--max-age", NULL};
    return is_one_of(word, with_value, words) || strcmp(word, "--strict") == 0 ||
           strcmp(word, "--json") == 0 || strcmp(word, "--resume") == 0;
}

void mend_trial(struct buf *out, int argc, char **argv)
{
    static const char *const chosen[] = {"--task", "--model", "--filter", "--shard", NULL};
    char **kept = mem_alloc(((size_t)argc + 1) * sizeof *kept);
    int n = 0;
    bool words_only = false;
    for (int i = 0; i < argc; i++) {
        int skip = 0;
        words_only = words_only || strcmp(argv[i], "--") == 0;
        if (!words_only && is_one_of(argv[i], chosen, &skip)) {
            i += skip - 1;
        } else {
            kept[n++] = argv[i];
        }
    }
    mend_command(out, "eval", n, kept);
    free(kept);
}

void mend_command(struct buf *out, const char *verb, int argc, char **argv)
{
    bool words_only = false;
    buf_fmt(out, "assay %s --mode all", verb);
    for (int i = 0; i < argc; i++) {
        int skip = 0;
        words_only = words_only || strcmp(argv[i], "--") == 0;
        if (!words_only && is_for_replay(argv[i], &skip)) {
            i += skip - 1;
        } else if (!words_only && strcmp(argv[i], "--replay") == 0) {
            buf_addz(out, " --record");
        } else if (!words_only && strncmp(argv[i], "--replay=", 9) == 0) {
            buf_addz(out, " --record");
            add_word(out, argv[i] + 9);
        } else {
            add_word(out, argv[i]);
        }
    }
}

void resume_command(struct buf *out, int argc, char **argv, const char *dir)
{
    bool resume = false, named = false, words_only = false;
    for (int i = 0; i < argc; i++) {
        words_only = words_only || strcmp(argv[i], "--") == 0;
        resume = resume || (!words_only && strcmp(argv[i], "--resume") == 0);
        named =
            named || (!words_only && (strcmp(argv[i], "--out") == 0 || strcmp(argv[i], "-o") == 0 ||
                                      strncmp(argv[i], "--out=", 6) == 0));
    }
    buf_addz(out, resume ? "assay eval" : "assay eval --resume");
    if (!named) {
        buf_addz(out, " --out");
        add_word(out, dir);
    }
    for (int i = 0; i < argc; i++) {
        add_word(out, argv[i]);
    }
}
