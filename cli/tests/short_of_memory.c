/* Part of the program assay_short, which is assay with this in place of its malloc and realloc:
 * each time it takes memory, a child in which there is none has to end at once, with status 4 and
 * one line; then the run goes on. So one run tries every allocation, by its number.
 *
 * SHORT_REPORT in the environment names the file that gets, at the end, how many there were;
 * SHORT_TRACE, where it is set, an event log: each time it has grown, and before the next
 * allocation, its folder is copied to at.N beside it, N the log's bytes. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *p, size_t size);

enum { ENDS_WITH = 4, FIRST_REFUSED = 97 };

static unsigned long allocations;
static off_t copied;
static pid_t self; /* 0 until main, and in a child */

/* Called behind a fork too, so it takes no memory. */
static void fault(const char *what)
{
    char text[96];
    int n = snprintf(text, sizeof text, "allocation %lu: %s\n", allocations, what);
    ssize_t written = write(STDERR_FILENO, text, (size_t)n);
    (void)written;
    _exit(FIRST_REFUSED);
}

static void wait_for(pid_t pid, int status, const char *otherwise)
{
    int ended = 0;
    if (pid < 0 || waitpid(pid, &ended, 0) != pid || !WIFEXITED(ended) ||
        WEXITSTATUS(ended) != status) {
        fault(otherwise);
    }
}

/* What a process that ends here leaves on disk. */
static void copy_world(void)
{
    const char *trace = getenv("SHORT_TRACE");
    struct stat st;
    if (trace == NULL || stat(trace, &st) != 0 || st.st_size == copied) {
        return;
    }
    copied = st.st_size;
    char command[1024];
    snprintf(command, sizeof command,
             "cd \"$(dirname \"$SHORT_TRACE\")\" && mkdir at.%jd && "
             "for f in *; do case $f in at.*) ;; *) cp -r \"$f\" at.%jd ;; esac; done",
             (intmax_t)copied, (intmax_t)copied);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(FIRST_REFUSED);
    }
    wait_for(pid, 0, "the folder could not be copied");
}

/* Whether the allocation that is asked for fails: in the child, always. */
static bool fails(void)
{
    if (self == 0 || getpid() != self) {
        return self != 0;
    }
    allocations++;
    copy_world();
    pid_t pid = fork();
    if (pid == 0) {
        return true;
    }
    wait_for(pid, ENDS_WITH, "without it the program did not end with status 4");
    return false;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}

static void report(void)
{
    const char *path = getenv("SHORT_REPORT");
    int fd = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (getpid() == self && (fd < 0 || dprintf(fd, "%lu\n", allocations) < 0)) {
        fault("SHORT_REPORT cannot be written");
    }
}

__attribute__((constructor)) static void begin(void)
{
    self = getpid();
    atexit(report);
}
