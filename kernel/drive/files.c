#include "kernel/drive/files.h"
#include "kernel/drive/files_int.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_BYTES = 64 * 1024,
    TEMP_TRIES = 16,
    LOCKS_BYTES_MAX = 1 << 20,
    WRITER_WAIT_MS = 2000, /* for somebody who writes to a named pipe */
    FILES_OPEN_MAX = 1 << 16,
    FILES_OPEN_GUESS = 256 /* where the system does not say */
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

static int fail_io(struct err *e, const char *path, const char *what, int reason)
{
    return fail_as(e, ERR_IO, path, what, reason);
}

int file_fail_read(struct err *e, const char *path, int reason)
{
    return fail_io(e, path, "cannot read", reason);
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
    case EIO: return fail_io(e, path, "cannot open", reason);
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

/* Reads until the end of the file or until p is full. Returns 0 or an errno. */
static int fill(int fd, char *p, size_t cap, size_t *n)
{
    while (*n < cap) {
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
        int reason = fill(fd, *p, cap, n);
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
        return fail_io(e, name, "cannot read", errno);
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
    char *p = sized ? arena_alloc(arena, cap + 1) : NULL; /* + 1: for the NUL */
    int reason = sized ? fill(fd, p, cap, &n) : 0;
    if (sized && reason == 0 && n < cap) {
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
        rc = fail_io(e, name, "cannot read", reason);
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
    return fill(f->fd, out, n, got) == 0;
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
        return fail_io(e, path, "cannot read", errno);
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

/* ---- writing ---- */

/* Opens without waiting for somebody who reads a pipe; writes then wait as usual. Returns the
 * descriptor or -1 with errno. */
static int open_to_write(const char *path, int more)
{
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | more, 0666);
    int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
    if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Returns 0 or an errno; *done: so many bytes were written. */
static int write_some(int fd, struct str data, size_t *done)
{
    *done = 0;
    while (*done < data.n) {
        ssize_t n = write(fd, data.p + *done, data.n - *done);
        if (n < 0 && errno != EINTR) {
            return errno;
        }
        if (n > 0) {
            *done += (size_t)n;
        }
    }
    return 0;
}

static int write_all(int fd, struct str data)
{
    size_t done;
    return write_some(fd, data, &done);
}

/* Pipes, terminals and devices cannot be flushed to disk, which is no error. Returns 0 or an errno.
 */
static int flush_fd(int fd)
{
    int rc;
    do {
        rc = fsync(fd);
    } while (rc != 0 && errno == EINTR);
    return rc != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS ? errno : 0;
}

/* Writes, flushes and closes fd in every case. Returns 0 or the first errno. */
static int finish_fd(int fd, struct str data)
{
    int reason = write_all(fd, data);
    if (reason == 0) {
        reason = flush_fd(fd);
    }
    if (close(fd) != 0 && reason == 0 && errno != EINTR) {
        reason = errno;
    }
    return reason;
}

/* A new file beside path; its name into *temp (in arena). Returns the descriptor or -1 with errno.
 */
static int open_temp(struct arena *arena, const char *path, mode_t mode, const char **temp)
{
    for (int i = 0; i < TEMP_TRIES; i++) {
        *temp = arena_printf(arena, "%s.%08" PRIx32 ".tmp", path, (uint32_t)random_u64()).p;
        int fd = open(*temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
    }
    return -1;
}

/* The new name of a file is safe only when its folder is on disk too; where a folder cannot be
 * flushed there is nothing more to do. */
static void flush_dir_of(struct arena *arena, const char *path)
{
    int fd = open(path_dir(arena, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)flush_fd(fd);
        close(fd);
    }
}

enum { WRITER_BYTES = 64 * 1024 };

struct file_writer {
    struct arena *arena;
    const char *path;
    const char *temp; /* NULL = what has the name is no regular file, and is written to as it is */
    int fd;
    int reason; /* errno of the first failure */
    struct buf waiting;
};

/* What is no regular file (a device, a pipe, a symbolic link to one) is written to as it is. */
int file_writer_open(const char *path, struct file_writer **out, struct err *e)
{
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) {
        return fail_io(e, path, "cannot write", EISDIR);
    }
    struct arena *arena = arena_new();
    const char *temp = NULL;
    int fd = exists && !S_ISREG(st.st_mode)
                 ? open_to_write(path, 0)
                 : open_temp(arena, path, exists ? st.st_mode & 0777 : 0666, &temp);
    if (fd < 0) {
        int reason = errno;
        arena_free(arena);
        return fail_io(e, path, "cannot write", reason);
    }
    struct file_writer *w = mem_zero(sizeof *w);
    *w = (struct file_writer){
        .arena = arena, .path = arena_cstr(arena, str_of(path)), .temp = temp, .fd = fd};
    *out = w;
    return 0;
}

static int write_waiting(struct file_writer *w)
{
    int reason = write_all(w->fd, buf_str(&w->waiting));
    buf_clear(&w->waiting);
    return reason;
}

int file_writer_add(struct file_writer *w, struct str data, struct err *e)
{
    if (w->reason == 0 && w->waiting.n + data.n > WRITER_BYTES) {
        w->reason = write_waiting(w);
    }
    if (w->reason == 0 && data.n > WRITER_BYTES) {
        w->reason = write_all(w->fd, data);
    } else if (w->reason == 0) {
        buf_add(&w->waiting, data);
    }
    return w->reason == 0 ? 0 : fail_io(e, w->path, "cannot write", w->reason);
}

/* Puts what is whole on disk into its place. Returns 0 or an errno. */
static int settle(struct file_writer *w)
{
    int reason = w->reason != 0 ? w->reason : write_waiting(w);
    int finished = finish_fd(w->fd, (struct str){NULL, 0});
    reason = reason != 0 ? reason : finished;
    if (reason == 0 && w->temp != NULL && rename(w->temp, w->path) != 0) {
        reason = errno;
    }
    if (reason == 0 && w->temp != NULL) {
        flush_dir_of(w->arena, w->path);
    }
    return reason;
}

int file_writer_close(struct file_writer *w, bool keep, struct err *e)
{
    int reason = 0;
    if (keep) {
        reason = settle(w);
    } else {
        close(w->fd);
    }
    if (w->temp != NULL && (!keep || reason != 0)) {
        unlink(w->temp);
    }
    int rc = reason == 0 ? 0 : fail_io(e, w->path, "cannot write", reason);
    buf_free(&w->waiting);
    arena_free(w->arena);
    free(w);
    return rc;
}

int file_replace(const char *path, struct str data, struct err *e)
{
    struct file_writer *w = NULL;
    int rc = file_writer_open(path, &w, e);
    if (rc != 0) {
        return rc;
    }
    rc = file_writer_add(w, data, e);
    int closed = file_writer_close(w, rc == 0, rc == 0 ? e : NULL);
    return rc != 0 ? rc : closed;
}

int file_swap(const char *path, const char *like, struct str data, struct err *e)
{
    struct stat st;
    struct arena *arena = arena_new();
    const char *temp = arena_printf(arena, "%s.tmp", path).p;
    int fd = -1, reason = stat(like, &st) == 0 ? 0 : errno;
    if (reason == 0) {
        unlink(temp); /* of one that was killed */
        fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode & 0666);
        reason = fd < 0 ? errno : write_all(fd, data);
    }
    if (fd >= 0 && close(fd) != 0 && reason == 0 && errno != EINTR) {
        reason = errno;
    }
    if (reason == 0 && rename(temp, path) != 0) {
        reason = errno;
    }
    if (reason != 0) {
        unlink(temp);
    }
    arena_free(arena);
    return reason == 0 ? 0 : fail_io(e, path, "cannot write", reason);
}

int file_rename(const char *from, const char *to, struct err *e)
{
    struct arena *arena = arena_new();
    int reason = rename(from, to) == 0 ? 0 : errno;
    if (reason == 0) {
        flush_dir_of(arena, to);
    }
    arena_free(arena);
    return reason == 0 ? 0 : fail_io(e, to, "cannot rename the file to this", reason);
}

int file_cut(const char *path, uint64_t bytes, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int reason = fd < 0 || ftruncate(fd, (off_t)bytes) != 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    return reason == 0 ? 0 : fail_io(e, path, "cannot cut the file", reason);
}

bool path_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
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

/* ---- files that grow ---- */

struct appender {
    int fd;
    int broken; /* errno of the first append that failed: a file with a gap would be worse than a
                   short one */
    char *name;
};

static const char stdout_name[] = "standard output";

/* Opens without changing what is there. Returns the descriptor or -1 with errno. */
static int open_to_append(const char *path, enum append_mode mode)
{
    int exclusive = mode == APPEND_NEW ? O_EXCL : 0;
    return open_to_write(path, O_APPEND | O_CREAT | exclusive);
}

/* Takes a regular file for this descriptor alone, as long as it is open; where a file system knows
 * no locks nothing can be done. Then empties it if that is asked for. Returns 0 or an errno. */
static int take_file(int fd, enum append_mode mode)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return 0;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return EWOULDBLOCK;
    }
    return mode == APPEND_TRUNCATE && ftruncate(fd, 0) != 0 ? errno : 0;
}

/* The process that holds the lock of a line such as
 * "1: FLOCK  ADVISORY  WRITE 708 08:01:13248 0 EOF"; 0 = the line is of another file. */
static long holder_in(const char *line, ino_t file)
{
    long pid = 0;
    unsigned major_id = 0, minor_id = 0;
    uintmax_t inode = 0;
    int n = sscanf(line, "%*d: FLOCK %*s %*s %ld %x:%x:%ju", &pid, &major_id, &minor_id, &inode);
    return n == 4 && inode == (uintmax_t)file ? pid : 0;
}

/* The process that has a file locked, as Linux tells it; 0 = not known. */
static long lock_holder(const char *path)
{
    struct arena *arena = arena_new();
    struct str text = {NULL, 0};
    struct stat st;
    long holder = 0;
    if (stat(path, &st) == 0 &&
        file_read(arena, "/proc/locks", LOCKS_BYTES_MAX, &text, NULL) == 0) {
        while (text.n > 0 && holder == 0) {
            size_t end = str_find(text, STR("\n"));
            holder = holder_in(arena_cstr(arena, str_slice(text, 0, end)), st.st_ino);
            text = end == SIZE_MAX ? (struct str){NULL, 0} : str_slice(text, end + 1, text.n);
        }
    }
    arena_free(arena);
    return holder;
}

static int open_failed(const char *path, int reason, struct err *e)
{
    if (path_is_dir(path)) {
        return fail_io(e, path, "cannot write", EISDIR);
    }
    if (reason == EEXIST) {
        return err_at(e, ERR_EXISTS, path, 0, 0,
                      "exists already and is not overwritten; remove it or name another file");
    }
    if (reason == EWOULDBLOCK) {
        char who[40] = "";
        long pid = lock_holder(path);
        if (pid > 0) {
            snprintf(who, sizeof who, " (process %ld)", pid);
        }
        return err_at(e, ERR_IO, path, 0, 0,
                      "another run is writing it%s; wait for its end or name another file", who);
    }
    return fail_io(e, path, "cannot write", reason);
}

int appender_open(const char *path, enum append_mode mode, struct appender **out, struct err *e)
{
    int fd = STDOUT_FILENO;
    const char *name = stdout_name;
    if (strcmp(path, "-") != 0) {
        fd = open_to_append(path, mode);
        int reason = fd < 0 ? errno : take_file(fd, mode);
        if (reason != 0) {
            if (fd >= 0) {
                close(fd);
            }
            return open_failed(path, reason, e);
        }
        name = path;
    }
    size_t size = strlen(name) + 1;
    struct appender *a = mem_alloc(sizeof *a);
    a->fd = fd;
    a->broken = 0;
    a->name = mem_alloc(size);
    memcpy(a->name, name, size);
    *out = a;
    return 0;
}

int appender_check(const char *path, struct err *e)
{
    if (strcmp(path, "-") == 0) {
        return 0;
    }
    if (path_is_dir(path)) {
        return fail_io(e, path, "cannot write", EISDIR);
    }
    struct arena *scratch = arena_new();
    const char *place = path_exists(path) ? path : path_dir(scratch, path);
    int reason = access(place, W_OK) == 0 ? 0 : errno;
    arena_free(scratch);
    return reason == 0 ? 0 : fail_io(e, path, "cannot write", reason);
}

/* Writes all of data or nothing of it, where that can be undone. Returns 0 or an errno. */
static int append_whole(int fd, struct str data)
{
    struct stat st;
    size_t done;
    int reason = write_some(fd, data, &done);
    if (reason != 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)done &&
        ftruncate(fd, st.st_size - (off_t)done) != 0) {
        return reason; /* the first failure is the one to tell */
    }
    return reason;
}

int appender_add(struct appender *a, struct str data, struct err *e)
{
    if (a->broken == 0) {
        a->broken = append_whole(a->fd, data);
    }
    return a->broken == 0 ? 0 : fail_io(e, a->name, "cannot write", a->broken);
}

int appender_close(struct appender *a, struct err *e)
{
    int reason = 0;
    if (a->fd != STDOUT_FILENO) {
        reason = finish_fd(a->fd, (struct str){NULL, 0});
    }
    int rc = reason == 0 ? 0 : fail_io(e, a->name, "cannot write", reason);
    free(a->name);
    free(a);
    return rc;
}

/* ---- folders and paths ---- */

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
    return reason == 0 ? 0 : fail_io(e, path, "cannot make the folder", reason);
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
                                  : fail_io(e, path, "cannot read the folder", errno);
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

/* ---- open files, clock, randomness ---- */

size_t files_open_max(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return FILES_OPEN_GUESS;
    }
    rlim_t want = files.rlim_max < FILES_OPEN_MAX ? files.rlim_max : FILES_OPEN_MAX;
    if (files.rlim_cur < want) {
        struct rlimit raised = {want, files.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) {
            files = raised;
        }
    }
    return files.rlim_cur < FILES_OPEN_MAX ? (size_t)files.rlim_cur : FILES_OPEN_MAX;
}

int64_t clock_unix_ms(void)
{
    struct timespec now;
    int rc = clock_gettime(CLOCK_REALTIME, &now);
    assert(rc == 0);
    (void)rc;
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint64_t random_u64(void)
{
    uint64_t value = 0;
    ssize_t got;
    do {
        got = getrandom(&value, sizeof value, 0);
    } while (got < 0 && errno == EINTR);
    assert(got == (ssize_t)sizeof value);
    return value;
}
