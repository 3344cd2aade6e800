/* Folders, what is in them, and paths. */
#include "kernel/drive/files.h"
#include "kernel/drive/files_int.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 32, TREE_FILES_MAX = 100000 };

/* Returns 0 or an errno. */
static int make_one(const char *path)
{
    if (mkdir(path, 0777) == 0) {
        return 0;
    }
    int reason = errno;
    if (path_is_dir(path)) {
        return 0;
    }
    return reason == EEXIST ? ENOTDIR : reason;
}

int dir_make(const char *path, struct err *e)
{
    struct arena *arena = arena_new();
    char *part = arena_cstr(arena, str_of(path));
    int reason = 0;
    for (char *at = part; reason == 0 && *at != '\0'; at++) {
        if (*at == '/' && at != part) {
            *at = '\0';
            reason = make_one(part);
            *at = '/';
        }
    }
    if (reason == 0) {
        reason = make_one(part);
    }
    arena_free(arena);
    return reason == 0 ? 0 : file_fail(e, path, "cannot make the folder", reason);
}

static int by_bytes(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

int dir_list(struct arena *arena, const char *path, const char *ending, struct str **out, size_t *n,
             struct err *e)
{
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return errno == ENOENT    ? err_at(e, ERR_NOT_FOUND, path, 0, 0, "no such folder")
               : errno == ENOTDIR ? err_at(e, ERR_INPUT, path, 0, 0, "is no folder")
                                  : file_fail(e, path, "cannot read the folder", errno);
    }
    struct buf names = {0}; /* struct str */
    for (const struct dirent *d = readdir(dir); d != NULL; d = readdir(dir)) {
        struct str name = str_of(d->d_name);
        if (name.n > str_of(ending).n && name.p[0] != '.' && str_ends(name, ending)) {
            struct str copy = arena_str(arena, name);
            buf_add(&names, (struct str){(const char *)&copy, sizeof copy});
        }
    }
    closedir(dir);
    *n = names.n / sizeof **out;
    *out = arena_array(arena, *n, sizeof **out);
    if (*n > 0) {
        memcpy(*out, names.p, names.n);
        qsort(*out, *n, sizeof **out, by_bytes);
    }
    buf_free(&names);
    return 0;
}

/* ---- a folder and those below it ---- */

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

/* ---- paths ---- */

bool path_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

bool path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool path_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool path_is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

const char *path_dir(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return ".";
    }
    size_t n = (size_t)(slash - path);
    return n == 0 ? "/" : arena_cstr(arena, (struct str){path, n});
}

const char *path_join(struct arena *arena, const char *dir, const char *name)
{
    bool here = strcmp(dir, ".") == 0 && name[0] != '-'; /* "-" alone has a meaning of its own */
    if (name[0] == '/' || here) {
        return arena_cstr(arena, str_of(name));
    }
    size_t n_dir = strlen(dir), n_name = strlen(name);
    size_t n_slash = str_ends((struct str){dir, n_dir}, "/") ? 0 : 1;
    char *path = arena_alloc(arena, n_dir + n_slash + n_name + 1);
    memcpy(path, dir, n_dir);
    memcpy(path + n_dir, "/", n_slash);
    memcpy(path + n_dir + n_slash, name, n_name + 1);
    return path;
}
