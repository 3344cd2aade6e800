/* The file tools: they see one folder and what is below it. A path is walked name by name from that
 * folder, never through a symbolic link, so that no path and no link leads out of it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/drive/tools_int.h"

enum {
    PATH_BYTES_MAX = 4096,
    CONTENT_BYTES_MAX = 1 << 20, /* read or written */
    ENTRIES_MAX = 10000,         /* of a folder */
    SHOWN_CHARS = 200            /* of a path, in messages */
};

/* One call. */
struct errand {
    struct arena *arena;
    const char *root;
    struct str path;
    const char **names; /* of the path, without "." */
    size_t n;
    struct tool_output *out;
};

static void refuse(struct errand *a, struct str why, const char *hint)
{
    struct str path = text_preview(a->arena, a->path, SHOWN_CHARS);
    *a->out = (struct tool_output){.code = STR("TOOL_ERROR"), .hint = str_of(hint)};
    a->out->message =
        arena_printf(a->arena, "%.*s%s%.*s", STR_FMT(path), path.n > 0 ? ": " : "", STR_FMT(why));
}

/* Says why `name` of the folder `dir` could not be opened or made. */
static void refuse_for(struct errand *a, int dir, const char *name, int error)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
        refuse(a, arena_printf(a->arena, "\"%s\" is a symbolic link, which is not followed", name),
               NULL);
        return;
    }
    switch (error) {
    case ENOENT:
        refuse(a, STR("there is no such file or folder"), "list_files tells what is there");
        return;
    case ENOTDIR: refuse(a, arena_printf(a->arena, "\"%s\" is no folder", name), NULL); return;
    default: refuse(a, str_of(strerror(error)), NULL); return;
    }
}

/* Takes the path apart; false and a refusal where it is none below the root. */
static bool take_path(struct errand *a)
{
    struct str path = a->path;
    if (path.n > PATH_BYTES_MAX || (path.n > 0 && memchr(path.p, '\0', path.n) != NULL)) {
        a->path = (struct str){0};
        refuse(a, STR("the path is too long, or holds a NUL"), NULL);
        return false;
    }
    if (str_starts(path, "/")) {
        refuse(a, STR("the path is absolute"), "paths are relative, as list_files shows them");
        return false;
    }
    a->names = arena_array(a->arena, path.n / 2 + 1, sizeof *a->names);
    for (size_t at = 0; at < path.n;) {
        struct str rest = str_slice(path, at, path.n);
        struct str name = str_slice(rest, 0, str_find(rest, STR("/")));
        at += name.n + 1;
        if (str_is(name, "..")) {
            refuse(a, STR("the path may not hold \"..\""), NULL);
            return false;
        }
        if (name.n > 0 && !str_is(name, ".")) {
            a->names[a->n++] = arena_cstr(a->arena, name);
        }
    }
    return true;
}

/* Opens the folder of the first n names of the path, making what is missing if `make`. -1 and a
 * refusal. */
static int open_folder(struct errand *a, size_t n, bool make)
{
    int dir = open(a->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) {
        refuse(a, STR("the folder of the tool cannot be opened"), "its `root` is in the tool file");
    }
    for (size_t i = 0; i < n && dir >= 0; i++) {
        const char *name = a->names[i];
        const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int below = openat(dir, name, flags);
        if (below < 0 && errno == ENOENT && make && mkdirat(dir, name, 0777) == 0) {
            below = openat(dir, name, flags);
        }
        if (below < 0) {
            refuse_for(a, dir, name, errno);
        }
        close(dir);
        dir = below;
    }
    return dir;
}

/* ---- read_file ---- */

/* Reads to the end, or one byte more than may be there. False with errno. */
static bool read_all(int fd, struct buf *out)
{
    char chunk[16384];
    ssize_t n = 0;
    while (out->n <= CONTENT_BYTES_MAX) {
        n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        buf_add(out, (struct str){chunk, (size_t)n});
    }
    return n >= 0;
}

static void take_content(struct errand *a, int fd, int64_t max_chars)
{
    struct stat st;
    struct buf content = {0};
    size_t bad = SIZE_MAX;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        bool folder = S_ISDIR(st.st_mode);
        refuse(a, folder ? STR("this is a folder") : STR("this is no file with a text"),
               folder ? "list_files shows a folder" : NULL);
    } else if (!read_all(fd, &content)) {
        refuse(a, str_of(strerror(errno)), NULL);
    } else if (content.n > CONTENT_BYTES_MAX) {
        refuse(a,
               arena_printf(a->arena, "the file has more than the %d bytes that can be read",
                            CONTENT_BYTES_MAX),
               NULL);
    } else if ((bad = utf8_invalid_at(buf_str(&content))) != SIZE_MAX) {
        refuse(a, arena_printf(a->arena, "this is no text: byte %zu is not UTF-8", bad + 1), NULL);
    } else {
        bool cut;
        struct str text = arena_str(a->arena, buf_str(&content));
        text = text_truncate(a->arena, text, (size_t)max_chars, &cut);
        *a->out = (struct tool_output){.ok = true, .content = text};
    }
    buf_free(&content);
}

static void read_file(struct errand *a, const struct val *args)
{
    int64_t max_chars = 0;
    (void)val_int(val_get(args, "max_chars"), &max_chars);
    if (a->n == 0) {
        refuse(a, STR("the path names no file"), NULL);
        return;
    }
    int dir = open_folder(a, a->n - 1, false);
    if (dir < 0) {
        return;
    }
    const char *name = a->names[a->n - 1];
    /* A pipe would be waited for: O_NONBLOCK. */
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        refuse_for(a, dir, name, errno);
    } else {
        take_content(a, fd, max_chars < 0 ? 0 : max_chars);
        close(fd);
    }
    close(dir);
}

/* ---- write_file ---- */

static bool write_all(int fd, struct str s)
{
    while (s.n > 0) {
        ssize_t n = write(fd, s.p, s.n);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        s = n > 0 ? str_slice(s, (size_t)n, s.n) : s;
    }
    return fsync(fd) == 0;
}

/* Writes beside the file and renames, so that the name has the old or the new content, and what has
 * the name, if a link, is never followed. */
static bool replace(struct errand *a, int dir, const char *name, mode_t mode, struct str content)
{
    const char *fresh = arena_cstr(a->arena, arena_printf(a->arena, ".assay-%ld", (long)getpid()));
    (void)unlinkat(dir, fresh, 0); /* of a process that died */
    int fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool good = fd >= 0 && (mode == 0 || fchmod(fd, mode) == 0) && write_all(fd, content);
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && renameat(dir, fresh, dir, name) != 0) {
        good = false;
        error = errno;
    }
    if (!good) {
        (void)unlinkat(dir, fresh, 0);
        refuse_for(a, dir, name, error);
    }
    return good;
}

static void write_file(struct errand *a, const struct val *args)
{
    struct str content = val_text(val_get(args, "content"));
    if (a->n == 0 || str_ends(a->path, "/")) {
        refuse(a, STR("the path names no file"), NULL);
        return;
    }
    if (content.n > CONTENT_BYTES_MAX) {
        refuse(a, arena_printf(a->arena, "at most %d bytes can be written", CONTENT_BYTES_MAX),
               NULL);
        return;
    }
    int dir = open_folder(a, a->n - 1, true);
    if (dir < 0) {
        return;
    }
    const char *name = a->names[a->n - 1];
    struct stat st = {.st_mode = 0};
    bool exists = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && !S_ISREG(st.st_mode)) {
        refuse(a,
               S_ISDIR(st.st_mode)   ? STR("this is a folder")
               : S_ISLNK(st.st_mode) ? STR("this is a symbolic link, which is not followed")
                                     : STR("this is no file with a text"),
               NULL);
    } else if (replace(a, dir, name, exists ? st.st_mode & 0777 : 0, content)) {
        struct buf out = {0};
        buf_addz(&out, "{\"ok\":true");
        json_put_int(&out, "bytes", (int64_t)content.n);
        buf_char(&out, '}');
        *a->out = (struct tool_output){.ok = true, .content = arena_str(a->arena, buf_str(&out))};
        buf_free(&out);
    }
    close(dir);
}

/* ---- list_files ---- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Files and folders as they can be asked for, folders with a slash; links and the like cannot. */
static const char *shown_name(struct errand *a, int dir, const char *name)
{
    struct stat st;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return NULL;
    }
    if (S_ISDIR(st.st_mode)) {
        return arena_cstr(a->arena, arena_printf(a->arena, "%s/", name));
    }
    return S_ISREG(st.st_mode) ? arena_cstr(a->arena, str_of(name)) : NULL;
}

static void list_entries(struct errand *a, DIR *d)
{
    const char **names = arena_array(a->arena, ENTRIES_MAX, sizeof *names);
    size_t n = 0;
    bool more = false;
    for (struct dirent *entry = readdir(d); entry != NULL && !more; entry = readdir(d)) {
        const char *name = shown_name(a, dirfd(d), entry->d_name);
        more = name != NULL && n == ENTRIES_MAX;
        if (name != NULL && !more) {
            names[n++] = name;
        }
    }
    if (more) {
        refuse(a, arena_printf(a->arena, "the folder holds more than %d files", ENTRIES_MAX), NULL);
        return;
    }
    qsort(names, n, sizeof *names, by_bytes);
    struct buf out = {0};
    buf_addz(&out, "{\"ok\":true,\"files\":[");
    for (size_t i = 0; i < n; i++) {
        json_next(&out);
        json_add_string(&out, str_of(names[i]));
    }
    buf_addz(&out, "]}");
    *a->out = (struct tool_output){.ok = true, .content = arena_str(a->arena, buf_str(&out))};
    buf_free(&out);
}

static void list_files(struct errand *a)
{
    int dir = open_folder(a, a->n, false);
    if (dir < 0) {
        return;
    }
    DIR *d = fdopendir(dir);
    if (d == NULL) {
        refuse(a, str_of(strerror(errno)), NULL);
        close(dir);
        return;
    }
    list_entries(a, d);
    closedir(d);
}

void file_tool_answer(const struct tool_def *def, const struct val *args, struct arena *arena,
                      struct tool_output *out)
{
    struct errand a = {
        .arena = arena, .root = def->root, .path = val_text(val_get(args, "path")), .out = out};
    if (!take_path(&a)) {
        return;
    }
    switch (def->builtin) {
    case BUILTIN_READ_FILE: read_file(&a, args); break;
    case BUILTIN_WRITE_FILE: write_file(&a, args); break;
    case BUILTIN_LIST_FILES: list_files(&a); break;
    case BUILTIN_CALCULATOR:
    case BUILTIN_SEARCH_DOCS:
    case BUILTIN_NOW:
    case BUILTIN_TASK_DONE: break; /* see builtin_answer */
    }
}
