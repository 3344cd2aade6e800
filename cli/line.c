#include "cli/line.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include "kernel/base/arena.h"
#include "kernel/base/text.h"

enum { HISTORY_LINES = 1000, CHUNK_BYTES = 4096, PROMPT_BYTES = 64 };

/* What the prompt's colour stands between, so that libedit does not count it. */
#define UNCOUNTED '\1'

struct line_reader {
    bool color;
    EditLine *edit; /* NULL: no terminal */
    History *history;
    locale_t utf8; /* for libedit alone; 0 = there is none */
    char prompt[PROMPT_BYTES];
    struct buf line;
    struct buf ahead; /* bytes read behind the line */
    size_t taken;     /* of `ahead` */
    sigset_t waiting; /* the signals that are blocked while nobody waits */
};

static volatile sig_atomic_t caught; /* the signal that ended the wait; 0 = none */

static void on_caught(int signal)
{
    caught = signal;
}

/* Waits until standard input can be read; false where a signal came. */
static bool wait_input(const struct line_reader *l)
{
    while (caught == 0) {
        fd_set in;
        FD_ZERO(&in);
        FD_SET(STDIN_FILENO, &in);
        int n = pselect(STDIN_FILENO + 1, &in, NULL, NULL, NULL, &l->waiting);
        if (n > 0 || (n < 0 && errno != EINTR)) {
            return caught == 0;
        }
    }
    return false;
}

/* More bytes into `ahead`; false at the end of the input and when a signal came. */
static bool read_ahead(struct line_reader *l)
{
    char bytes[CHUNK_BYTES];
    if (l->taken == l->ahead.n) {
        buf_clear(&l->ahead);
        l->taken = 0;
    }
    while (wait_input(l)) {
        ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        if (n > 0) {
            buf_add(&l->ahead, (struct str){bytes, (size_t)n});
        }
        return n > 0;
    }
    return false;
}

/* ---- with editing ---- */

/* How many bytes the character takes that begins with `first`. */
static size_t char_bytes(unsigned char first)
{
    return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* libedit's way to read a character. */
static int next_char(EditLine *edit, wchar_t *out)
{
    struct line_reader *l = NULL;
    el_get(edit, EL_CLIENTDATA, &l);
    while (l->taken == l->ahead.n ||
           l->ahead.n - l->taken < char_bytes((unsigned char)l->ahead.p[l->taken])) {
        if (!read_ahead(l)) {
            return caught != 0 ? -1 : 0;
        }
    }
    *out = (wchar_t)utf8_next(buf_str(&l->ahead), &l->taken);
    return 1;
}

static char *show_prompt(EditLine *edit)
{
    struct line_reader *l = NULL;
    el_get(edit, EL_CLIENTDATA, &l);
    return l->prompt;
}

static void open_edit(struct line_reader *l)
{
    HistEvent event;
    l->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    l->history = history_init();
    history(l->history, &event, H_SETSIZE, HISTORY_LINES);
    history(l->history, &event, H_SETUNIQUE, 1);
    l->edit = el_init("assay", stdin, stdout, stderr);
    el_set(l->edit, EL_CLIENTDATA, l);
    el_set(l->edit, EL_PROMPT_ESC, show_prompt, UNCOUNTED);
    el_set(l->edit, EL_EDITOR, "emacs");
    el_set(l->edit, EL_HIST, history, l->history);
    el_set(l->edit, EL_GETCFN, next_char);
}

static enum line_end edit_line(struct line_reader *l, const char *prompt, struct str *out)
{
    int n = 0;
    HistEvent event;
    const char *color = l->color ? "\1\033[1;36m\1" : "", *plain = l->color ? "\1\033[0m\1" : "";
    /* libedit wants a character behind the last uncounted part */
    snprintf(l->prompt, sizeof l->prompt, "%s%s%s ", color, prompt, plain);
    el_resize(l->edit);
    const char *line = el_gets(l->edit, &n);
    if (caught != 0) {
        fputs("\n", stdout);
        fflush(stdout);
        el_reset(l->edit);
        return LINE_INTERRUPTED;
    }
    if (line == NULL || n <= 0) {
        fputs("\n", stdout);
        fflush(stdout);
        return LINE_OVER;
    }
    history(l->history, &event, H_ENTER, line);
    buf_add(&l->line, str_of(line));
    *out = str_trim(buf_str(&l->line));
    return out->n > LINE_BYTES_MAX ? LINE_TOO_LONG : LINE_READ;
}

/* ---- without ---- */

static enum line_end plain_line(struct line_reader *l, struct str *out)
{
    bool more = true;
    bool ended = false;
    while (more && !ended) {
        struct str rest = {l->ahead.p + l->taken, l->ahead.n - l->taken};
        size_t end = str_find(rest, STR("\n"));
        ended = end != SIZE_MAX;
        buf_add(&l->line, str_slice(rest, 0, end));
        l->taken += ended ? end + 1 : rest.n;
        more = ended || read_ahead(l);
    }
    if (caught != 0) {
        return LINE_INTERRUPTED;
    }
    *out = buf_str(&l->line);
    if (l->line.truncated) {
        return LINE_TOO_LONG;
    }
    return ended || out->n > 0 ? LINE_READ : LINE_OVER;
}

/* ---- the public face ---- */

struct line_reader *line_open(bool color)
{
    struct line_reader *l = mem_zero(sizeof *l);
    l->color = color;
    if (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1) {
        open_edit(l);
    }
    return l;
}

void line_close(struct line_reader *l)
{
    if (l == NULL) {
        return;
    }
    if (l->edit != NULL) {
        el_end(l->edit);
        history_end(l->history);
    }
    if (l->utf8 != (locale_t)0) {
        freelocale(l->utf8);
    }
    buf_free(&l->line);
    buf_free(&l->ahead);
    free(l);
}

bool line_edits(const struct line_reader *l)
{
    return l->edit != NULL;
}

enum line_end line_next(struct line_reader *l, const char *prompt, struct str *out)
{
    struct sigaction action = {.sa_handler = on_caught}, old_int, old_term;
    sigset_t blocked;
    buf_free(&l->line);
    l->line.max = LINE_BYTES_MAX;
    caught = 0;
    sigemptyset(&action.sa_mask);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &l->waiting);
    sigaction(SIGINT, &action, &old_int);
    sigaction(SIGTERM, &action, &old_term);
    locale_t before = l->utf8 != (locale_t)0 ? uselocale(l->utf8) : (locale_t)0;
    enum line_end end = l->edit != NULL ? edit_line(l, prompt, out) : plain_line(l, out);
    if (before != (locale_t)0) {
        uselocale(before);
    }
    end = caught == SIGTERM ? LINE_TERMINATED : end;
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    sigprocmask(SIG_SETMASK, &l->waiting, NULL);
    return end;
}
