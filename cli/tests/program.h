/* Running the real program from outside, as a user does, and looking at what it says. Everything
 * returned here stays valid until the tests end. */
#ifndef CLI_TESTS_PROGRAM_H
#define CLI_TESTS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What takes so long hangs: many times what the longest run takes on a slow and busy machine. */
enum { PROGRAM_LIMIT_S = 900 };

/* How a run of the program ended. Texts are NUL-terminated. */
struct ran {
    int status; /* exit status, or minus the signal: -14 (SIGALRM) is a hang */
    const char *out;
    size_t out_n;
    const char *err;
    size_t err_n;
    long peak_kb; /* memory */
    char command[1024];
};

struct program_options {
    const char *program;     /* NULL: the program under test */
    const char *dir;         /* working folder; NULL: a new empty one */
    const char *in;          /* standard input; NULL: none */
    const char *out;         /* a path for standard output instead of `ran.out`; NULL: none */
    const char *err;         /* likewise for standard error */
    const char *const *more; /* "NAME=value", NULL-terminated, beside PATH and the sanitizers'; may
                                be NULL */
};

/* Runs it with these words (NULL-terminated) and waits. A crash, a sanitizer's report, a hang or an
 * exit status that README.md does not know fails the running test. */
const struct ran *program_run(const char *const *words, const struct program_options *o);
#define ASSAY(...)               program_run((const char *const[]){__VA_ARGS__, NULL}, NULL)
#define ASSAY_WITH(options, ...) program_run((const char *const[]){__VA_ARGS__, NULL}, (options))

/* The same in two steps, to do something while it runs. */
struct program_running {
    pid_t pid;
    char dir[512]; /* where its outputs are collected */
    char command[1024];
};
void program_start(const char *const *words, const struct program_options *o,
                   struct program_running *p);
const struct ran *program_wait(struct program_running *p);
/* Waits until this file is there and has something in it. A program that ends before that fails
 * the running test. */
void program_await_file(const struct program_running *p, const char *path);

/* Whether this system has pseudo terminals; else the running test is skipped with a message, and
 * shall return. */
bool program_has_terminal(void);

/* Runs it with a terminal as standard output, in the default settings; what it showed there, at
 * most a page and cut to size - 1 bytes, goes to seen. */
const struct ran *program_on_terminal(const char *const *words, char *seen, size_t size);
/* Likewise with a terminal of so many columns as standard error. */
const struct ran *program_tells_terminal(const char *const *words, const char *const *more,
                                         unsigned short columns, char *seen, size_t size);

/* ---- checks, shown with the whole run when they fail ---- */

#define CHECK_STATUS(r, want) check_status(__FILE__, __LINE__, (r), (want))
#define CHECK_ERR(r, part)    check_part(__FILE__, __LINE__, (r), (r)->err, (part))
#define CHECK_OUT(r, part)    check_part(__FILE__, __LINE__, (r), (r)->out, (part))
/* Exactly one line on stderr, which begins with "assay: ", and nothing on stdout. */
#define CHECK_ONE_LINE(r) check_one_line(__FILE__, __LINE__, (r))
bool check_status(const char *file, int line, const struct ran *r, int want);
bool check_part(const char *file, int line, const struct ran *r, const char *text,
                const char *part);
bool check_one_line(const char *file, int line, const struct ran *r);

/* Fails the running test with a printf-style message. */
#define FAIL(...) fail_test(__FILE__, __LINE__, __VA_ARGS__)
void fail_test(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- files ---- */

/* printf into a path, or any other text. */
const char *path_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A path as it stands in a command that is to be copied into a shell. */
const char *path_word(const char *path);
/* Writes dir/name and returns its path. */
const char *write_bytes(const char *dir, const char *name, const void *bytes, size_t n);
const char *write_text(const char *dir, const char *name, const char *text);
/* The whole file, NUL-terminated; NULL when it is not there. n may be NULL. */
const char *read_text(const char *path, size_t *n);
bool same_bytes(const char *a, const char *b);
size_t count_lines(const char *text);

/* ---- event logs and other JSON lines ---- */

/* The types of a log's events joined by spaces; "" for a text that is no log. */
const char *event_types(const char *log);
/* Whether every line is whole and parses as JSON; `n` (may be NULL) gets their number. */
bool json_lines(const char *text, size_t *n);
/* A valid log that ends with run_end of this status: numbered lines, times that do not go back. */
bool log_ends(const char *log, const char *status);
#endif
