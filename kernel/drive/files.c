/* Reading files, and how what goes wrong with them is told. */
#include "kernel/drive/files.h"
#include "kernel/drive/files_int.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    READ_BYTES = 64 * 1024,
    WRITER_WAIT_MS = 2000 /* for somebody who writes to a named pipe */
};

/* ---- errors: the path stands in e->file, the reason in words in e->message ---- */

static int fail_as(struct err *e, int code, const char *path, const char *what, int reason)
{
    const char *hint = "";
    if (reason == EISDIR) {
        return err_at(e, ERR_INPUT, path, 0, 0, "is a folder; a file was expected");
    }
    if (reason == ENOSPC || reason == EDQUOT) {
        hint = "; free some space and run it again";
    } else if (reason == EACCES || reason == EPERM || reason == EROFS) {
        hint = "; check the permissions or choose another place";
    } else if (reason == ENXIO) {
        hint = "; it is a pipe that nobody reads or a socket: choose another place";
    }
    return err_at(e, code, path, 0, 0, "%s: %s%s", what, strerror(reason), hint);
}

int file_fail(struct err *e, const char *path, const char *what, int reason)
{
    return fail_as(e, ERR_IO, path, what, reason);
}

/* A path that cannot be read is a mistake of who named it, as one that is not there; what else may
 * keep us from a file is the machine's. */
int file_fail_open(struct err *e, const char *path, int reason)
{
    switch (reason) {
    case ENOENT:
    case ENOTDIR:
        return err_at(e, ERR_NOT_FOUND, path, 0, 0, "there is no such file; check the path");
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EIO: return file_fail(e, path, "cannot open", reason);
    }
    return fail_as(e, ERR_INPUT, path, "cannot open", reason);
}

/* ---- reading ---- */

/* Waits for something to read, or the end; at most wait_ms, -1 = without limit. False: neither. */
static bool wait_to_read(int fd, int wait_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int rc;
    do {
        rc = poll(&p, 1, wait_ms);
    } while (rc < 0 && errno == EINTR);
    return rc != 0;
}

/* Reads until the end of the file or until p is full. `end`: where the file ended when it was
 * looked at, SIZE_MAX = unknown: reading that stops there, though p had room for more, need not be
 * told again that this is the end. Returns 0 or an errno. */
static int fill(int fd, char *p, size_t cap, size_t end, size_t *n)
{
    while (*n < cap && *n != end) {
        ssize_t got = read(fd, p + *n, cap - *n);
        if (got < 0 && errno == EAGAIN) {
            wait_to_read(fd, -1);
            continue;
        }
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? errno : 0;
        }
        *n += (size_t)got;
    }
    return 0;
}

/* Reads on until the end of the file or until *n is beyond max. Returns 0 or an errno. */
static int read_all(int fd, size_t max, char **p, size_t *n, size_t cap)
{
    for (;;) {
        int reason = fill(fd, *p, cap, SIZE_MAX, n);
        if (reason != 0 || *n < cap || *n > max) {
            return reason;
        }
        cap *= 2;
        *p = mem_grow(*p, cap);
    }
}

static int read_open(struct arena *arena, int fd, const char *name, size_t max_bytes,
                     struct str *out, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return file_fail(e, name, "cannot read", errno);
    }
    if (S_ISDIR(st.st_mode)) {
        return err_at(e, ERR_INPUT, name, 0, 0, "is a folder; a file was expected");
    }
    /* Opened without waiting, a pipe that nobody writes to seems to be at its end. One that
     * somebody writes to, as to <(...), may be empty for a while. */
    bool silent = S_ISFIFO(st.st_mode) && fd != STDIN_FILENO && !wait_to_read(fd, WRITER_WAIT_MS);
    bool sized = S_ISREG(st.st_mode) && st.st_size > 0;
    if (sized && (uintmax_t)st.st_size > max_bytes) {
        return err_at(e, ERR_LIMIT, name, 0, 0, "has %jd bytes; at most %zu are read",
                      (intmax_t)st.st_size, max_bytes);
    }
    size_t cap = sized ? (size_t)st.st_size + 1 : READ_BYTES; /* + 1: sees the end at once */
    size_t n = 0;
    char *p = sized ? arena_room(arena, cap + 1) : NULL; /* + 1: for the NUL */
    int reason = sized ? fill(fd, p, cap, cap - 1, &n) : 0;
    if (sized && reason == 0 && n < cap) {
        p[n] = '\0';
        *out = (struct str){p, n}; /* a big file is in memory but once */
        return 0;
    }
    char *begun = p;
    p = mem_alloc(cap);
    if (n > 0) {
        memcpy(p, begun, n);
    }
    reason = reason != 0 ? reason : read_all(fd, max_bytes, &p, &n, cap);
    int rc = 0;
    if (reason != 0) {
        rc = file_fail(e, name, "cannot read", reason);
    } else if (n > max_bytes) {
        rc = err_at(e, ERR_LIMIT, name, 0, 0, "has more than %zu bytes, the most that are read",
                    max_bytes);
    } else if (silent && n == 0) {
        rc = err_at(e, ERR_INPUT, name, 0, 0,
                    "is a pipe that nobody writes to; a file was expected");
    } else {
        *out = arena_str(arena, (struct str){p, n});
    }
    free(p);
    return rc;
}

/* Opens without waiting for somebody who writes to a pipe. Returns the descriptor or -1 with errno.
 */
static int open_to_read(const char *path)
{
    return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int file_read(struct arena *arena, const char *path, size_t max_bytes, struct str *out,
              struct err *e)
{
    if (strcmp(path, "-") == 0) {
        return read_open(arena, STDIN_FILENO, "standard input", max_bytes, out, e);
    }
    int fd = open_to_read(path);
    if (fd < 0) {
        return file_fail_open(e, path, errno);
    }
    int rc = read_open(arena, fd, path, max_bytes, out, e);
    close(fd);
    return rc;
}

struct file_pieces {
    int fd;
};

struct file_pieces *file_pieces_open(const char *path, size_t min_bytes)
{
    struct stat st;
    int fd = open_to_read(path);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        (uintmax_t)st.st_size < min_bytes) {
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    struct file_pieces *f = mem_alloc(sizeof *f);
    f->fd = fd;
    return f;
}

bool file_pieces_next(struct file_pieces *f, char *out, size_t n, size_t *got)
{
    *got = 0;
    return fill(f->fd, out, n, SIZE_MAX, got) == 0;
}

bool file_pieces_again(struct file_pieces *f)
{
    return lseek(f->fd, 0, SEEK_SET) == 0;
}

void file_pieces_close(struct file_pieces *f)
{
    if (f != NULL) {
        close(f->fd);
        free(f);
    }
}

/* Looked at when it is open, so that nobody puts another file in its place. */
static int check_secret(int fd, const char *path, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return file_fail(e, path, "cannot read", errno);
    }
    if (S_ISDIR(st.st_mode)) {
        return err_at(e, ERR_INPUT, path, 0, 0, "is a folder; a file was expected");
    }
    if (st.st_uid != geteuid()) {
        return err_at(e, ERR_INPUT, path, 0, 0, "belongs to another user; use a file of your own");
    }
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return err_at(e, ERR_INPUT, path, 0, 0, "is open to others (mode %03o); chmod 600 it",
                      (unsigned)(st.st_mode & 0777));
    }
    return 0;
}

int file_read_secret(struct arena *arena, const char *path, size_t max_bytes, struct str *out,
                     struct err *e)
{
    int fd = open_to_read(path);
    if (fd < 0) {
        return file_fail_open(e, path, errno);
    }
    int rc = check_secret(fd, path, e);
    rc = rc != 0 ? rc : read_open(arena, fd, path, max_bytes, out, e);
    close(fd);
    return rc;
}

bool file_begins_otherwise(const char *path, struct str head)
{
    char begins[64];
    struct stat st;
    assert(head.n > 0 && head.n <= sizeof begins);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, begins, head.n) : 0;
    close(fd);
    return n > 0 && memcmp(begins, head.p, (size_t)n) != 0;
}
