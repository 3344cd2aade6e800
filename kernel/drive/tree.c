/* The files below a folder. */
#include "kernel/drive/files.h"

#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 32, TREE_FILES_MAX = 100000 };

struct tree {
    struct arena *arena;
    const char *const *endings;
    struct buf found; /* const char * */
};

static bool ends(const struct tree *t, struct str name)
{
    for (size_t i = 0; t->endings[i] != NULL; i++) {
        if (str_ends(name, t->endings[i]) && name.n > str_of(t->endings[i]).n) {
            return true;
        }
    }
    return false;
}

/* A link that leads to a folder is none here: it could lead back. */
static bool is_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int add_folder(struct tree *t, const char *path, size_t depth, struct err *e)
{
    struct str *names = NULL;
    size_t n = 0;
    if (depth == DEPTH_MAX) {
        return err_at(e, ERR_LIMIT, path, 0, 0, "more than %d folders in each other",
                      (int)DEPTH_MAX);
    }
    int rc = dir_list(t->arena, path, "", &names, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const char *file = path_join(t->arena, path, arena_cstr(t->arena, names[i]));
        if (is_folder(file)) {
            rc = add_folder(t, file, depth + 1, e);
        } else if (ends(t, names[i]) && path_is_file(file)) {
            buf_add(&t->found, (struct str){(const char *)&file, sizeof file});
        }
        if (t->found.n > TREE_FILES_MAX * sizeof file) {
            rc = err_at(e, ERR_LIMIT, path, 0, 0, "more than %d files below one folder",
                        (int)TREE_FILES_MAX);
        }
    }
    return rc;
}

int dir_tree(struct arena *arena, const char *path, const char *const *endings, const char ***out,
             size_t *n, struct err *e)
{
    struct tree t = {.arena = arena, .endings = endings};
    int rc = add_folder(&t, path, 0, e);
    *n = t.found.n / sizeof **out;
    *out = arena_array(arena, *n, sizeof **out);
    if (*n > 0) {
        memcpy(*out, t.found.p, t.found.n);
    }
    buf_free(&t.found);
    return rc;
}
