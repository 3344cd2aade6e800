/* The line that shows how far an evaluation is, on a terminal only. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "kernel/base/text.h"
#include "kernel/drive/machine.h"

enum { REDRAW_MS = 100, BAR_CELLS = 20, WIDTH_USUAL = 80, RATE_AFTER_MS = 1000 };

struct progress {
    int64_t began_ms;
    int64_t drawn_ms; /* 0 = not yet */
};

struct progress *progress_new(void)
{
    if (!draws(STDERR_FILENO)) {
        return NULL;
    }
    struct progress *p = mem_zero(sizeof *p);
    p->began_ms = clock_unix_ms();
    return p;
}

static size_t columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                           : WIDTH_USUAL;
}

/* "45 s", "12 min", "3 h 20 min" */
static void add_time(struct buf *out, int64_t seconds)
{
    int64_t minutes = (seconds + 30) / 60;
    if (seconds < 100) {
        buf_fmt(out, "%" PRId64 " s", seconds);
    } else if (minutes < 100) {
        buf_fmt(out, "%" PRId64 " min", minutes);
    } else {
        buf_fmt(out, "%" PRId64 " h %" PRId64 " min", minutes / 60, minutes % 60);
    }
}

static void add_bar(struct buf *out, const struct eval_progress *p)
{
    size_t full = p->total == 0 ? 0 : p->done * BAR_CELLS / p->total;
    buf_char(out, '[');
    for (size_t i = 0; i < BAR_CELLS; i++) {
        buf_char(out, i < full ? '=' : ' ');
    }
    buf_addz(out, "] ");
}

/* What was done before this run began says nothing of how fast it is. */
static void add_rate(struct buf *out, const struct eval_progress *p, int64_t took_ms)
{
    int64_t done = (int64_t)(p->done - p->kept), left = (int64_t)(p->total - p->done);
    if (done == 0 || took_ms < RATE_AFTER_MS) {
        return;
    }
    int64_t tenths = (done * 10000 + took_ms / 2) / took_ms;
    buf_fmt(out, ", %" PRId64 ".%" PRId64 "/s, ", tenths / 10, tenths % 10);
    add_time(out, (left * took_ms / done + 999) / 1000);
    buf_addz(out, " left");
}

/* What does not fit as a whole is left out: half a number is another one. */
static void add_part(struct buf *line, const struct buf *part, size_t width)
{
    if (line->n + part->n < width) {
        buf_add(line, buf_str(part));
    }
}

static void add_costs(struct buf *out, const struct eval_progress *p)
{
    for (size_t i = 0; i < p->costs->n; i++) {
        buf_addz(out, ", ");
        money_add(out, p->costs->of[i].nano, p->costs->of[i].currency);
    }
}

static void add_line(struct buf *line, const struct eval_progress *p, int64_t took_ms, size_t width)
{
    struct buf count = {0}, rate = {0}, costs = {0}, errors = {0};
    if (width > 2 * WIDTH_USUAL / 3) {
        add_bar(&count, p);
    }
    buf_fmt(&count, "%zu/%zu", p->done, p->total);
    add_rate(&rate, p, took_ms);
    add_costs(&costs, p);
    if (p->errors > 0) {
        buf_fmt(&errors, ", %zu error%s", p->errors, p->errors == 1 ? "" : "s");
    }
    add_part(line, &count, width);
    if (line->n > 0) {
        add_part(line, &rate, width);
        add_part(line, &costs, width);
        add_part(line, &errors, width);
    }
    buf_free(&count);
    buf_free(&rate);
    buf_free(&costs);
    buf_free(&errors);
}

void progress_show(void *progress, const struct eval_progress *p)
{
    struct progress *bar = progress;
    struct buf line = {0};
    int64_t now = clock_unix_ms();
    if (bar->drawn_ms != 0 && now - bar->drawn_ms < REDRAW_MS && now >= bar->drawn_ms) {
        return;
    }
    bar->drawn_ms = now;
    add_line(&line, p, now - bar->began_ms, columns());
    tell_over(buf_str(&line));
    buf_free(&line);
}

void progress_free(struct progress *p)
{
    if (p != NULL) {
        tell_over((struct str){NULL, 0});
    }
    free(p);
}
