/* Files of a kind, named one by one or by the folder that they stand below. */
#include <string.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "kernel/drive/files.h"

enum { FILE_BYTES_MAX = 256 << 20 };

static const char *const yaml[] = {".yaml", ".yml", NULL};
static const char *const yaml_or_json[] = {".yaml", ".yml", ".json", NULL};

/* Whether a line of a YAML text begins with this key: one of the whole document. */
static bool has_key(struct str text, const char *key)
{
    struct str word = str_of(key);
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n');
        bool quoted = str_starts(line, "\"") || str_starts(line, "'");
        line = quoted ? str_slice(line, 1, line.n) : line;
        if (str_starts(line, key) && line.n > word.n &&
            line.p[word.n] == (quoted ? line.p[-1] : ':')) {
            return true;
        }
    }
    return false;
}

enum reading { READ_NO /* it could not be */, READ_WITHOUT, READ_WITH };

/* Whether the file has `version` and one of the keys (NULL ends them). */
static enum reading look_for(const char *path, const char *const *keys)
{
    struct arena *arena = arena_new();
    struct str text;
    enum reading found = READ_NO;
    if (file_read(arena, path, FILE_BYTES_MAX, &text, NULL) == 0) {
        text = str_starts(text, "\xef\xbb\xbf") ? str_slice(text, 3, text.n) : text;
        found = READ_WITHOUT;
        for (size_t i = 0; keys[i] != NULL && has_key(text, "version"); i++) {
            found = has_key(text, keys[i]) ? READ_WITH : found;
        }
    }
    arena_free(arena);
    return found;
}

/* A file that cannot be read may well be one of each: that is told when it is loaded. */
static bool is_set(const char *path)
{
    static const char *const keys[] = {"tasks", "include", NULL};
    return str_ends(str_of(path), ".golden.yaml") || look_for(path, keys) != READ_WITHOUT;
}

static bool is_script(const char *path)
{
    static const char *const keys[] = {"steps", "rules", NULL};
    return str_ends(str_of(path), ".script.yaml") || look_for(path, keys) != READ_WITHOUT;
}

/* All but the other files of ours: one that is broken, or of another kind, is to be told. */
static bool is_cassette(const char *path)
{
    static const char *const own[] = {"interactions", NULL};
    static const char *const keys[] = {"tools", "tasks", "include", "steps", "rules", NULL};
    return look_for(path, own) == READ_WITH || look_for(path, keys) != READ_WITH;
}

const struct file_kind kind_cassette = {"cassette", yaml_or_json, is_cassette,
                                        "*.yaml, *.yml or *.json"};
const struct file_kind kind_set = {"golden set", yaml, is_set,
                                   "*.golden.yaml, or a *.yaml with the keys version and tasks"};
const struct file_kind kind_script = {"script", yaml, is_script,
                                      "*.script.yaml, or a *.yaml with the keys version and steps"};

/* Appends the path of each file. */
static int add_word(struct arena *arena, const char *word, const struct file_kind *kind,
                    struct buf *paths, struct err *e)
{
    const char **files = &word;
    size_t n = 1, before = paths->n;
    bool folder = path_is_dir(word);
    int rc = folder ? dir_tree(arena, word, kind->endings, &files, &n, e) : 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (!folder || kind->is_one == NULL || kind->is_one(files[i])) {
            buf_add(paths, (struct str){(const char *)&files[i], sizeof files[i]});
        }
    }
    if (rc == 0 && paths->n == before) {
        rc = err_at(e, ERR_INPUT, word, 0, 0, "is a folder that holds no %s (%s)", kind->what,
                    kind->like);
    }
    return rc;
}

int words_files(struct arena *arena, const struct words *words, const struct file_kind *kind,
                const char ***out, size_t *n, struct err *e)
{
    struct buf paths = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < words->n; i++) {
        rc = add_word(arena, words->at[i], kind, &paths, e);
    }
    *n = paths.n / sizeof **out;
    *out = arena_array(arena, *n, sizeof **out);
    if (*n > 0) {
        memcpy(*out, paths.p, paths.n);
    }
    buf_free(&paths);
    return rc;
}
