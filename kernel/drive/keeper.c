/* A keeper is a process between us and a program that stands apart. It is a fork of ours that never
 * becomes another program: the parent of all that the program starts, also of what leaves its
 * process group, so that nothing outlives it. Between the fork and its end it makes only calls that
 * are safe in a fork of several threads. */
#define _GNU_SOURCE /* _Fork, closefrom */
#include "kernel/drive/child_int.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { PATIENCE_S = 5, PIDS_BYTES = 4096 };

/* What its first child ended by, once it has. */
struct program_end {
    pid_t pid;
    bool ended;
    int status; /* of waitpid */
};

/* False: there are no children any more. */
static bool reap(struct program_end *program)
{
    int status = 0;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == program->pid) {
            program->ended = true;
            program->status = status;
        }
    }
    return pid == 0;
}

/* A list longer than the buffer is read again when these are gone. False: this system has none. */
static bool kill_children(void)
{
    char pids[PIDS_BYTES];
    int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, pids, sizeof pids) : 0;
    pid_t pid = 0;
    for (ssize_t i = 0; i < n; i++) {
        if (pids[i] != ' ') {
            pid = pid * 10 + (pids[i] - '0');
        } else {
            kill(pid, SIGKILL);
            pid = 0;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

static time_t seconds(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? now.tv_sec : 0;
}

/* Whose parent dies becomes ours, so that one generation goes after the other. What cannot be
 * killed, a program of another user, is left after a while. */
static void kill_all(struct program_end *program, const sigset_t *ended)
{
    static const struct timespec a_while = {.tv_nsec = 10000000};
    time_t last = seconds() + PATIENCE_S;
    kill(-program->pid, SIGKILL);
    while (reap(program) && seconds() <= last && kill_children()) {
        sigtimedwait(ended, NULL, &a_while);
    }
}

/* Ends as the program did. */
static _Noreturn void end_as(int status)
{
    if (WIFSIGNALED(status)) {
        sigset_t one;
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(WTERMSIG(status), SIG_DFL);
        sigemptyset(&one);
        sigaddset(&one, WTERMSIG(status));
        kill(getpid(), WTERMSIG(status));
        sigprocmask(SIG_UNBLOCK, &one, NULL);
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static _Noreturn void keep(pid_t pid)
{
    struct program_end program = {.pid = pid};
    bool stopped = false;
    sigset_t all, awaited, ended;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    awaited = ended;
    sigaddset(&awaited, SIGTERM);
    closefrom(0);
    while (!stopped && !program.ended) {
        stopped = sigwaitinfo(&awaited, NULL) == SIGTERM;
        reap(&program);
    }
    stopped = stopped || (sigpending(&all) == 0 && sigismember(&all, SIGTERM) == 1);
    kill_all(&program, &ended);
    end_as(stopped ? SIGKILL : program.status); /* a pipe that broke meanwhile does not count */
}

static void die_with_parent(pid_t parent, int by)
{
    prctl(PR_SET_PDEATHSIG, by);
    if (getppid() != parent) {
        _exit(1); /* it was gone before */
    }
}

/* The program waits until the keeper is ready, for it may stop its parent at once: then none of our
 * files may be open there, by which we wait for the program's start. */
static void await_keeper(pid_t keeper, const int ready[2])
{
    char none;
    ssize_t n;
    die_with_parent(keeper, SIGKILL);
    close(ready[1]);
    do {
        n = read(ready[0], &none, 1); /* at its end when the keeper has closed all */
    } while (n < 0 && errno == EINTR);
    close(ready[0]);
}

void keeper_part(pid_t parent, bool keeps)
{
    int ready[2];
    pid_t keeper = getpid();
    pid_t program = -1;
    if (keeps && pipe(ready) == 0) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        program = _Fork();
        if (program < 0) {
            close(ready[0]);
            close(ready[1]);
        }
    }
    switch (program) {
    case 0: await_keeper(keeper, ready); break;
    case -1:
        prctl(PR_SET_CHILD_SUBREAPER, 0);
        die_with_parent(parent, SIGKILL);
        break;
    default: die_with_parent(parent, SIGTERM); keep(program);
    }
}
#else
void keeper_part(pid_t parent, bool keeps)
{
    (void)parent;
    (void)keeps;
}
#endif

void keeper_kill(pid_t pid)
{
    if (kill(-pid, SIGKILL) != 0) {
        kill(pid, SIGTERM);
        kill(pid, SIGCONT); /* who has a keeper may have stopped it */
    }
}
