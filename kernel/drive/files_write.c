/* Files that are written as a whole: beside their place, flushed, then renamed into it. */
#include "kernel/drive/files.h"
#include "kernel/drive/files_int.h"
#include "kernel/drive/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMP_TRIES = 16, WRITER_BYTES = 64 * 1024 };

int file_open_to_write(const char *path, int more)
{
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | more, 0666);
    int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
    if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int file_write_some(int fd, struct str data, size_t *done)
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
    return file_write_some(fd, data, &done);
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

int file_finish(int fd)
{
    int reason = flush_fd(fd);
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
        return file_fail(e, path, "cannot write", EISDIR);
    }
    struct arena *arena = arena_new();
    const char *temp = NULL;
    int fd = exists && !S_ISREG(st.st_mode)
                 ? file_open_to_write(path, 0)
                 : open_temp(arena, path, exists ? st.st_mode & 0777 : 0666, &temp);
    if (fd < 0) {
        int reason = errno;
        arena_free(arena);
        return file_fail(e, path, "cannot write", reason);
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
    return w->reason == 0 ? 0 : file_fail(e, w->path, "cannot write", w->reason);
}

/* Puts what is whole on disk into its place. Returns 0 or an errno. */
static int settle(struct file_writer *w)
{
    int reason = w->reason != 0 ? w->reason : write_waiting(w);
    int finished = file_finish(w->fd);
    reason = reason != 0 ? reason : finished;
    if (reason == 0 && w->temp != NULL && rename(w->temp, w->path) != 0) {
        reason = errno;
    }
    if (reason == 0 && w->temp != NULL) {
        flush_dir_of(w->arena, w->path);
    }
    return reason;
}

int file_writer_end(struct file_writer *w, int rc, struct err *e)
{
    int reason = 0;
    if (rc == 0) {
        reason = settle(w);
    } else {
        close(w->fd);
    }
    rc = reason == 0 ? rc : file_fail(e, w->path, "cannot write", reason);
    if (w->temp != NULL && rc != 0) {
        unlink(w->temp);
    }
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
    return file_writer_end(w, file_writer_add(w, data, e), e);
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
    return reason == 0 ? 0 : file_fail(e, path, "cannot write", reason);
}

int file_rename(const char *from, const char *to, struct err *e)
{
    struct arena *arena = arena_new();
    int reason = rename(from, to) == 0 ? 0 : errno;
    if (reason == 0) {
        flush_dir_of(arena, to);
    }
    arena_free(arena);
    return reason == 0 ? 0 : file_fail(e, to, "cannot rename the file to this", reason);
}

int file_cut(const char *path, uint64_t bytes, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int reason = fd < 0 || ftruncate(fd, (off_t)bytes) != 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    return reason == 0 ? 0 : file_fail(e, path, "cannot cut the file", reason);
}
