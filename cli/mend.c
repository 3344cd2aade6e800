#include <string.h>

#include "cli/cli.h"
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

/* Whether argv[i] is one of the options that make no sense while recording; *words is how many
 * words it takes. */
static bool is_for_replay(const char *word, int *words)
{
    static const char *const with_value[] = {"--match", "--mode",    "--out",
                                             "--speed", "--rechunk", "--max-age"};
    for (size_t i = 0; i < sizeof with_value / sizeof with_value[0]; i++) {
        size_t n = strlen(with_value[i]);
        if (strncmp(word, with_value[i], n) == 0 && (word[n] == '\0' || word[n] == '=')) {
            *words = word[n] == '=' ? 1 : 2;
            return true;
        }
    }
    *words = 1;
    return strcmp(word, "--strict") == 0 || strcmp(word, "--json") == 0;
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
