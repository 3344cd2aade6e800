#include "kernel/drive/machine.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

enum {
    FILES_OPEN_MAX = 1 << 16,
    FILES_OPEN_GUESS = 256 /* where the system does not say */
};

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
