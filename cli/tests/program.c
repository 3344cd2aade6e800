#define _DEFAULT_SOURCE     /* wait4 */
#define _XOPEN_SOURCE   700 /* posix_openpt */
#include "cli/tests/program.h"

#include "ci/testing/testing.h"
#include "kernel/base/arena.h"
#include "kernel/base/text.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_BYTES = 8192, SHOWN_BYTES = 2000 };

/* Paths, texts and results stay until the tests end, so that no test has to think of them. */
static struct arena *kept(void)
{
    static struct arena *arena;
    arena = arena == NULL ? arena_new() : arena;
    return arena;
}

void fail_test(const char *file, int line, const char *fmt, ...)
{
    va_list args;
    printf("\n%s:%d: ", file, line);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
    CU_assertImplementation(CU_FALSE, (unsigned)line, "FAIL", file, "", CU_FALSE);
}

/* ---- files ---- */

const char *path_of(const char *fmt, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n < 0 || n >= TEXT_BYTES) {
        FAIL("a text is too long: %s", text);
    }
    return arena_cstr(kept(), str_of(text));
}

const char *path_word(const char *path)
{
    struct buf word = {0};
    text_add_word(&word, str_of(path));
    const char *copy = arena_cstr(kept(), buf_str(&word));
    buf_free(&word);
    return copy;
}

const char *write_bytes(const char *dir, const char *name, const void *bytes, size_t n)
{
    const char *path = path_of("%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) {
        FAIL("%s cannot be written: %s", path, strerror(errno));
    }
    return path;
}

const char *write_text(const char *dir, const char *name, const char *text)
{
    return write_bytes(dir, name, text, strlen(text));
}

const char *read_text(const char *path, size_t *n)
{
    struct buf text = {.max = 1 << 30};
    char piece[1 << 16];
    size_t got;
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return NULL;
    }
    while ((got = fread(piece, 1, sizeof piece, f)) > 0) {
        buf_add(&text, (struct str){piece, got});
    }
    fclose(f);
    const char *copy = arena_cstr(kept(), buf_str(&text));
    if (n != NULL) {
        *n = text.n;
    }
    buf_free(&text);
    return copy;
}

bool same_bytes(const char *a, const char *b)
{
    size_t an = 0, bn = 0;
    const char *at = read_text(a, &an);
    const char *bt = read_text(b, &bn);
    return at != NULL && bt != NULL && an == bn && memcmp(at, bt, an) == 0;
}

size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += *text == '\n';
    }
    return n;
}

/* ---- running ---- */

enum { WORDS = 8192, ENV = 32, ENV_ALWAYS = 5 }; /* with the NULL */

/* What the child needs, made before the fork: behind it only calls that are safe there. */
struct launch {
    const char *argv[WORDS];
    const char *env[ENV];
    const char *dir;
    int fds[3];
};

static void fill_words(const char *const *words, const struct program_options *o, struct launch *l)
{
    size_t n = 0;
    l->argv[n++] = o->program != NULL ? o->program : BUILD_DIR "/assay";
    for (size_t i = 0; words[i] != NULL && n + 1 < WORDS; i++) {
        l->argv[n++] = words[i];
    }
    l->argv[n] = NULL;
}

static void fill_env(const struct program_options *o, const char *dir, struct launch *l)
{
    size_t n = 0;
    /* The first of two equal names counts. */
    for (size_t i = 0; o->more != NULL && o->more[i] != NULL && n + ENV_ALWAYS < ENV; i++) {
        l->env[n++] = o->more[i];
    }
    l->env[n++] = path_of("PATH=%s", getenv("PATH") != NULL ? getenv("PATH") : "/usr/bin:/bin");
    l->env[n++] = path_of("HOME=%s", dir);
    l->env[n++] = "ASAN_OPTIONS=exitcode=99";
    l->env[n++] = "LSAN_OPTIONS=exitcode=99";
    l->env[n] = NULL;
}

static int open_or_fail(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0) {
        FAIL("%s: %s", path, strerror(errno));
    }
    return fd;
}

static void open_fds(const struct program_options *o, const char *dir, struct launch *l)
{
    enum { WRITE = O_WRONLY | O_CREAT | O_TRUNC };
    l->fds[0] =
        open_or_fail(o->in == NULL ? "/dev/null" : write_text(dir, "stdin", o->in), O_RDONLY);
    l->fds[1] = open_or_fail(o->out != NULL ? o->out : path_of("%s/stdout", dir), WRITE);
    l->fds[2] = open_or_fail(o->err != NULL ? o->err : path_of("%s/stderr", dir), WRITE);
    l->dir = o->dir != NULL ? o->dir : dir;
}

/* execve wants its words unqualified and changes none of them. */
static char *const *plain(const char *const *words)
{
    union {
        const char *const *from;
        char *const *to;
    } u = {words};
    return u.to;
}

static void become(const struct launch *l)
{
    for (int i = 0; i < 3; i++) {
        if (dup2(l->fds[i], i) < 0) {
            _exit(126);
        }
    }
    if (chdir(l->dir) != 0) {
        _exit(126);
    }
    alarm(PROGRAM_LIMIT_S); /* stays across exec: a hang ends by SIGALRM */
    execve(l->argv[0], plain(l->argv), plain(l->env));
    _exit(127);
}

void program_start(const char *const *words, const struct program_options *o,
                   struct program_running *p)
{
    static const struct program_options usual = {0};
    static const char *base;
    static unsigned turn;
    o = o != NULL ? o : &usual;
    base = base != NULL ? base : testing_dir();
    snprintf(p->dir, sizeof p->dir, "%s/%u", base, turn++);
    if (mkdir(p->dir, 0777) != 0) {
        FAIL("%s: %s", p->dir, strerror(errno));
    }
    size_t n = (size_t)snprintf(p->command, sizeof p->command, "%s",
                                o->program != NULL ? o->program : "assay");
    for (size_t i = 0; words[i] != NULL && n < sizeof p->command; i++) {
        n += (size_t)snprintf(p->command + n, sizeof p->command - n, " %.200s", words[i]);
    }
    static struct launch launch;
    fill_words(words, o, &launch);
    fill_env(o, p->dir, &launch);
    open_fds(o, p->dir, &launch);
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0) {
        become(&launch);
    }
    for (int i = 0; i < 3; i++) {
        close(launch.fds[i]);
    }
}

static void show(const struct ran *r)
{
    printf("  %s\n  status %d\n  stdout %.*s\n  stderr %.*s\n", r->command, r->status, SHOWN_BYTES,
           r->out, SHOWN_BYTES, r->err);
}

/* What must hold of every run whatever it was given. */
static void check_sane(const struct ran *r)
{
    bool known = (r->status >= 0 && r->status <= 4) || r->status == 130;
    if (!known || strstr(r->err, "Sanitizer") != NULL || strstr(r->err, "runtime error:") != NULL) {
        FAIL("the program broke");
        show(r);
    }
}

const struct ran *program_wait(struct program_running *p)
{
    struct ran *r = arena_alloc(kept(), sizeof *r);
    struct rusage usage;
    int status = 0;
    pid_t pid;
    do {
        pid = wait4(p->pid, &status, 0, &usage);
    } while (pid < 0 && errno == EINTR);
    r->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    r->peak_kb = usage.ru_maxrss;
    r->out = read_text(path_of("%s/stdout", p->dir), &r->out_n);
    r->err = read_text(path_of("%s/stderr", p->dir), &r->err_n);
    r->out = r->out != NULL ? r->out : "";
    r->err = r->err != NULL ? r->err : "";
    memcpy(r->command, p->command, sizeof r->command);
    check_sane(r);
    return r;
}

/* Looks without reaping: program_wait wants its status. */
static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

void program_await_file(const struct program_running *p, const char *path)
{
    struct stat file;
    while (stat(path, &file) != 0 || file.st_size == 0) {
        if (has_ended(p->pid)) {
            FAIL("%s ended before %s was there", p->command, path);
            return;
        }
        sched_yield();
    }
}

const struct ran *program_run(const char *const *words, const struct program_options *o)
{
    struct program_running p;
    program_start(words, o, &p);
    return program_wait(&p);
}

static int open_terminal(void)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal >= 0 && (grantpt(terminal) != 0 || unlockpt(terminal) != 0)) {
        close(terminal);
        return -1;
    }
    return terminal;
}

bool program_has_terminal(void)
{
    int terminal = open_terminal();
    if (terminal < 0) {
        testing_skip("this system has no pseudo terminals (is /dev/pts mounted?)");
        return false;
    }
    close(terminal);
    return true;
}

/* Reads until the other end is closed. */
static void read_terminal(int terminal, char *seen, size_t size)
{
    size_t n = 0;
    ssize_t got = 0;
    while (n + 1 < size && (got = read(terminal, seen + n, size - 1 - n)) > 0) {
        n += (size_t)got;
    }
    seen[n] = '\0';
    close(terminal);
}

const struct ran *program_on_terminal(const char *const *words, char *seen, size_t size)
{
    int terminal = open_terminal();
    if (terminal < 0) {
        FAIL("there is no terminal to be had: %s", strerror(errno));
    }
    const struct program_options o = {.out = path_of("%s", ptsname(terminal))};
    const struct ran *r = program_run(words, &o);
    read_terminal(terminal, seen, size);
    return r;
}

const struct ran *program_tells_terminal(const char *const *words, const char *const *more,
                                         unsigned short columns, char *seen, size_t size)
{
    const struct winsize wide = {.ws_row = 24, .ws_col = columns};
    int terminal = open_terminal();
    if (terminal < 0 || ioctl(terminal, TIOCSWINSZ, &wide) != 0) {
        FAIL("there is no terminal to be had: %s", strerror(errno));
    }
    const struct program_options o = {.err = path_of("%s", ptsname(terminal)), .more = more};
    const struct ran *r = program_run(words, &o);
    read_terminal(terminal, seen, size);
    return r;
}

/* ---- checks ---- */

static bool check(const char *file, int line, bool holds, const struct ran *r, const char *what)
{
    if (!holds) {
        fail_test(file, line, "%s", what);
        show(r);
    } else {
        CU_assertImplementation(CU_TRUE, (unsigned)line, what, file, "", CU_FALSE);
    }
    return holds;
}

bool check_status(const char *file, int line, const struct ran *r, int want)
{
    return check(file, line, r->status == want, r, path_of("wanted status %d", want));
}

bool check_part(const char *file, int line, const struct ran *r, const char *text, const char *part)
{
    return check(file, line, strstr(text, part) != NULL, r, path_of("wanted the text: %s", part));
}

bool check_one_line(const char *file, int line, const struct ran *r)
{
    bool holds = strncmp(r->err, "assay: ", 7) == 0 && count_lines(r->err) == 1 &&
                 r->err[r->err_n - 1] == '\n' && r->out_n == 0;
    return check(file, line, holds, r, "wanted one line on stderr and none on stdout");
}

/* ---- JSON lines ---- */

/* The line at *text as JSON (freed by the caller), and *text behind it; NULL for a line that is not
 * whole. */
static cJSON *take_line(const char **text)
{
    const char *end = strchr(*text, '\n');
    if (end == NULL) {
        return NULL;
    }
    cJSON *line = cJSON_ParseWithLength(*text, (size_t)(end - *text));
    *text = end + 1;
    return line;
}

bool json_lines(const char *text, size_t *n)
{
    size_t count = 0;
    while (*text != '\0') {
        cJSON *line = take_line(&text);
        if (!cJSON_IsObject(line)) {
            cJSON_Delete(line);
            return false;
        }
        cJSON_Delete(line);
        count++;
    }
    if (n != NULL) {
        *n = count;
    }
    return true;
}

const char *event_types(const char *log)
{
    struct buf types = {0};
    while (log != NULL && *log != '\0') {
        cJSON *line = take_line(&log);
        const char *type = cJSON_GetStringValue(cJSON_GetObjectItem(line, "type"));
        if (type == NULL) {
            log = NULL; /* a line that is no event */
            buf_clear(&types);
        } else {
            buf_fmt(&types, "%s%s", types.n > 0 ? " " : "", type);
        }
        cJSON_Delete(line);
    }
    const char *text = arena_cstr(kept(), buf_str(&types));
    buf_free(&types);
    return text;
}

bool log_ends(const char *log, const char *status)
{
    double seq = 0, at = 0;
    bool good = log != NULL && *log != '\0', ended = false;
    while (good && *log != '\0') {
        cJSON *line = take_line(&log);
        const char *type = cJSON_GetStringValue(cJSON_GetObjectItem(line, "type"));
        const cJSON *t_ms = cJSON_GetObjectItem(line, "t_ms");
        good = type != NULL && !ended && cJSON_IsNumber(t_ms) && t_ms->valuedouble >= at &&
               cJSON_GetNumberValue(cJSON_GetObjectItem(line, "seq")) == ++seq;
        if (good) {
            at = t_ms->valuedouble;
            ended = strcmp(type, "run_end") == 0;
            const char *got = cJSON_GetStringValue(cJSON_GetObjectItem(line, "status"));
            good = !ended || (got != NULL && strcmp(got, status) == 0);
        }
        cJSON_Delete(line);
    }
    return good && ended;
}
