#include "kernel/drive/appender.h"

#include "kernel/drive/files.h"
#include "kernel/drive/files_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCKS_BYTES_MAX = 1 << 20 };

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
    return file_open_to_write(path, O_APPEND | O_CREAT | exclusive);
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
        return file_fail(e, path, "cannot write", EISDIR);
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
    return file_fail(e, path, "cannot write", reason);
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
        return file_fail(e, path, "cannot write", EISDIR);
    }
    struct arena *scratch = arena_new();
    const char *place = path_exists(path) ? path : path_dir(scratch, path);
    int reason = access(place, W_OK) == 0 ? 0 : errno;
    arena_free(scratch);
    return reason == 0 ? 0 : file_fail(e, path, "cannot write", reason);
}

/* Writes all of data or nothing of it, where that can be undone. Returns 0 or an errno. */
static int append_whole(int fd, struct str data)
{
    struct stat st;
    size_t done;
    int reason = file_write_some(fd, data, &done);
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
    return a->broken == 0 ? 0 : file_fail(e, a->name, "cannot write", a->broken);
}

/* Frees it, and tells what closing came to: 0 or an errno. */
static int end_with(struct appender *a, int reason, struct err *e)
{
    int rc = reason == 0 ? 0 : file_fail(e, a->name, "cannot write", reason);
    free(a->name);
    free(a);
    return rc;
}

int appender_close(struct appender *a, struct err *e)
{
    return end_with(a, a->fd == STDOUT_FILENO ? 0 : file_finish(a->fd), e);
}

int appender_close_unsynced(struct appender *a, struct err *e)
{
    bool failed = a->fd != STDOUT_FILENO && close(a->fd) != 0 && errno != EINTR;
    return end_with(a, failed ? errno : 0, e);
}
