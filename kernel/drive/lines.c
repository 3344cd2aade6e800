#include "kernel/drive/lines.h"
#include "kernel/drive/files_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_BYTES = 64 * 1024 };

struct lines {
    char *name;
    int fd;           /* -1 = all of it is in the window, which is somebody else's */
    const char *view; /* the window: */
    char *room;       /* the same where it is ours */
    size_t cap;
    uint64_t from; /* the byte of the file that it begins with */
    size_t n;
};

static struct lines *lines_new(const char *name, int fd)
{
    struct lines *l = mem_zero(sizeof *l);
    size_t size = strlen(name) + 1;
    l->name = mem_alloc(size);
    memcpy(l->name, name, size);
    l->fd = fd;
    return l;
}

int lines_open(const char *path, struct lines **out, struct err *e)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return file_fail_open(e, path, errno);
    }
    int reason = fstat(fd, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? EISDIR : 0;
    if (reason == 0 && !S_ISREG(st.st_mode)) {
        close(fd);
        return err_at(e, ERR_INPUT, path, 0, 0, "is no regular file, and is read here and there");
    }
    if (reason != 0) {
        close(fd);
        return file_fail(e, path, "cannot read", reason);
    }
    *out = lines_new(path, fd);
    return 0;
}

struct lines *lines_over(const char *name, struct str text)
{
    struct lines *l = lines_new(name, -1);
    l->view = text.p;
    l->n = text.n;
    return l;
}

void lines_free(struct lines *l)
{
    if (l == NULL) {
        return;
    }
    if (l->fd >= 0) {
        close(l->fd);
    }
    free(l->room);
    free(l->name);
    free(l);
}

const char *lines_name(const struct lines *l)
{
    return l->name;
}

/* Reads n bytes from byte `at` on behind the `kept` first ones of the window. Returns 0 or an
 * errno.
 */
static int fill(struct lines *l, uint64_t at, size_t kept, size_t n)
{
    if (l->cap < kept + n) {
        l->cap = kept + n;
        l->room = mem_grow(l->room, l->cap);
        l->view = l->room;
    }
    l->n = kept;
    while (n > 0) {
        ssize_t got = pread(l->fd, l->room + l->n, n, (off_t)at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? errno : 0;
        }
        l->n += (size_t)got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

/* Moves the window to byte `at` and makes it hold at least n bytes from there, where there are so
 * many. Returns 0 or an errno. */
static int move_window(struct lines *l, uint64_t at, size_t n)
{
    uint64_t end = l->from + l->n;
    if (l->fd < 0 || (at >= l->from && at + n <= end)) {
        return 0;
    }
    size_t kept = at >= l->from && at < end ? (size_t)(end - at) : 0;
    if (kept > 0) {
        memmove(l->room, l->room + (at - l->from), kept);
    }
    l->from = at;
    size_t more = n - kept > WINDOW_BYTES ? n - kept : WINDOW_BYTES;
    return fill(l, at + kept, kept, more);
}

int lines_at(struct lines *l, uint64_t at, size_t n, struct str *out, struct err *e)
{
    int reason = move_window(l, at, n);
    if (reason != 0) {
        return file_fail(e, l->name, "cannot read", reason);
    }
    uint64_t end = l->from + l->n;
    bool inside = at >= l->from && at < end;
    size_t there = inside ? (size_t)(end - at) : 0;
    *out = (struct str){inside ? l->view + (at - l->from) : "", there < n ? there : n};
    return 0;
}

int lines_next(struct lines *l, uint64_t *at, struct str *out, enum line_found *found,
               struct err *e)
{
    size_t looked = 0;
    for (size_t want = 1;; want = looked + WINDOW_BYTES) {
        struct str text;
        int rc = lines_at(l, *at, want, &text, e);
        if (rc != 0) {
            return rc;
        }
        uint64_t end = l->from + l->n;
        text.n = *at < end ? (size_t)(end - *at) : 0; /* all that the window has */
        const char *newline =
            text.n > looked ? memchr(text.p + looked, '\n', text.n - looked) : NULL;
        if (newline != NULL || text.n < want) {
            *out = (struct str){text.p, newline != NULL ? (size_t)(newline - text.p) : text.n};
            *found = newline != NULL ? LINE_WHOLE : text.n > 0 ? LINE_TORN : LINE_NONE;
            *at += newline != NULL ? out->n + 1 : 0;
            return 0;
        }
        looked = text.n;
        if (looked > LINES_LINE_MAX) {
            return err_at(e, ERR_LIMIT, l->name, 0, 0, "a line has more than %d bytes",
                          LINES_LINE_MAX);
        }
    }
}
