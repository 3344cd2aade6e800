#include "kernel/drive/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/base/arena.h"

enum { WINDOW_BYTES = 16 * 1024 };

/* The file holds the first `filed` bytes, `rest` those after them. Bytes in the file never change,
 * so that neither do those of them that are in the window. */
struct spool {
    size_t max_in_memory;
    FILE *file; /* NULL = none yet */
    enum { SPOOL_FILES, SPOOL_STAYS /* in memory: the file failed */ } state;
    uint64_t filed;
    char *rest;
    size_t n;
    size_t cap;
    char *window; /* of the file: most is read in the order it was added in; NULL = none yet */
    uint64_t window_at;
    size_t window_n;
};

struct spool *spool_new(size_t max_in_memory)
{
    struct spool *s = mem_zero(sizeof *s);
    s->max_in_memory = max_in_memory;
    return s;
}

void spool_free(struct spool *s)
{
    if (s == NULL) {
        return;
    }
    if (s->file != NULL) {
        fclose(s->file);
    }
    free(s->rest);
    free(s->window);
    free(s);
}

/* A file that children of this process do not get. */
static FILE *open_file(void)
{
    FILE *f = tmpfile();
    if (f != NULL && fcntl(fileno(f), F_SETFD, FD_CLOEXEC) != 0) {
        fclose(f);
        return NULL;
    }
    return f;
}

static bool write_rest(const struct spool *s)
{
    size_t done = 0;
    while (done < s->n) {
        ssize_t n = pwrite(fileno(s->file), s->rest + done, s->n - done, (off_t)(s->filed + done));
        if (n <= 0 && errno != EINTR) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void file_rest(struct spool *s)
{
    if (s->file == NULL) {
        s->file = open_file();
    }
    if (s->file == NULL || !write_rest(s)) {
        s->state = SPOOL_STAYS;
        return;
    }
    s->filed += s->n;
    s->n = 0;
}

uint64_t spool_add(struct spool *s, struct str bytes)
{
    if (s->state == SPOOL_FILES && s->n > 0 && s->n + bytes.n > s->max_in_memory) {
        file_rest(s);
    }
    if (bytes.n > s->cap - s->n) {
        s->cap = s->n + bytes.n > 2 * s->cap ? s->n + bytes.n : 2 * s->cap;
        s->rest = mem_grow(s->rest, s->cap);
    }
    uint64_t at = s->filed + s->n;
    if (bytes.n > 0) {
        memcpy(s->rest + s->n, bytes.p, bytes.n);
    }
    s->n += bytes.n;
    return at;
}

static int read_file(const struct spool *s, uint64_t at, char *out, size_t n, struct err *e)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = pread(fileno(s->file), out + done, n - done, (off_t)(at + done));
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return err_set(e, ERR_IO, "cannot read what was put aside in /tmp: %s",
                           got == 0 ? "it is cut off" : strerror(errno));
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

/* Likewise, through the window. */
static int read_filed(struct spool *s, uint64_t at, char *out, size_t n, struct err *e)
{
    bool inside = at >= s->window_at && at + n <= s->window_at + s->window_n;
    if (n > WINDOW_BYTES) {
        return read_file(s, at, out, n, e);
    }
    if (!inside) {
        size_t most = s->filed - at < WINDOW_BYTES ? (size_t)(s->filed - at) : WINDOW_BYTES;
        s->window = s->window == NULL ? mem_alloc(WINDOW_BYTES) : s->window;
        s->window_n = 0;
        int rc = read_file(s, at, s->window, most, e);
        if (rc != 0) {
            return rc;
        }
        s->window_at = at;
        s->window_n = most;
    }
    memcpy(out, s->window + (at - s->window_at), n);
    return 0;
}

int spool_read(struct spool *s, uint64_t at, size_t n, char *out, struct err *e)
{
    assert(at <= s->filed + s->n && n <= s->filed + s->n - at);
    size_t filed = at >= s->filed ? 0 : s->filed - at < n ? (size_t)(s->filed - at) : n;
    int rc = filed == 0 ? 0 : read_filed(s, at, out, filed, e);
    if (rc == 0 && filed < n) {
        memcpy(out + filed, s->rest + (at + filed - s->filed), n - filed);
    }
    return rc;
}
