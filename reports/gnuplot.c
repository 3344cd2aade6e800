/* gnuplot is a program that we do not know: it runs within a time, and what it says is kept short.
 */
#include "kernel/base/text.h"
#include "kernel/drive/child.h"
#include "kernel/drive/files.h"
#include "kernel/drive/sched.h"
#include "reports/report_int.h"

#include <inttypes.h>
#include <stdio.h>

enum { HEARD_BYTES_MAX = 1 << 20, KEPT_BYTES_MAX = 64 << 10, SHOWN_CHARS = 200 };

enum drawing_state { DRAWING_GOING, DRAWING_ENDED, DRAWING_TOO_LONG, DRAWING_TOO_MUCH };

struct drawing {
    struct loop *loop;
    struct child *child;
    enum drawing_state state;
    int status, signal; /* of one that has ended */
    size_t heard;       /* bytes */
    struct buf said;    /* on its standard error: the beginning */
};

static void stop(struct drawing *d, enum drawing_state state)
{
    if (d->state == DRAWING_GOING) {
        d->state = state;
        loop_stop(d->loop);
    }
}

static void on_late(void *arg)
{
    stop(arg, DRAWING_TOO_LONG);
}

static void on_wrote(void *ctx, int fd, struct str piece)
{
    struct drawing *d = ctx;
    d->heard += piece.n;
    if (fd == 2) {
        buf_add(&d->said, str_slice(piece, 0, KEPT_BYTES_MAX));
    }
    if (d->heard > HEARD_BYTES_MAX) {
        stop(d, DRAWING_TOO_MUCH);
    }
}

static void on_ended(void *ctx, int status, int signal)
{
    struct drawing *d = ctx;
    d->status = status;
    d->signal = signal;
    stop(d, DRAWING_ENDED);
}

/* Its complaint stands last, behind the line of the script that it is about. */
static struct str last_line(struct str said, struct arena *arena)
{
    struct str all = str_trim(said);
    size_t from = all.n;
    while (from > 0 && all.p[from - 1] != '\n') {
        from--;
    }
    return text_preview(arena, str_slice(all, from, all.n), SHOWN_CHARS);
}

static const char *picture(struct arena *arena, const char *dir, const char *name, const char *end)
{
    return path_join(arena, dir, arena_printf(arena, "%s.%s", name, end).p);
}

/* What went wrong; NULL = nothing did. */
static const char *failure(const struct drawing *d, uint64_t ms_max, struct arena *arena)
{
    struct str said = last_line(buf_str(&d->said), arena);
    const char *colon = said.n > 0 ? ": " : "";
    switch (d->state) {
    case DRAWING_GOING:
    case DRAWING_TOO_LONG:
        return arena_printf(arena, "gnuplot took longer than %" PRIu64 " s and was killed%s%.*s",
                            ms_max / 1000, colon, STR_FMT(said))
            .p;
    case DRAWING_TOO_MUCH:
        return arena_printf(arena, "gnuplot wrote more than %d MiB and was killed%s%.*s",
                            HEARD_BYTES_MAX >> 20, colon, STR_FMT(said))
            .p;
    case DRAWING_ENDED: break;
    }
    if (d->signal != 0) {
        return arena_printf(arena, "gnuplot was ended by signal %d%s%.*s", d->signal, colon,
                            STR_FMT(said))
            .p;
    }
    if (d->status != 0) {
        return arena_printf(arena, "gnuplot failed with status %d%s%.*s", d->status, colon,
                            STR_FMT(said))
            .p;
    }
    return NULL;
}

/* Runs it to its end. False: it could not be started. */
static bool run(struct drawing *d, const char *dir, char *script, uint64_t ms_max, struct err *e)
{
    char program[] = "gnuplot";
    char *words[] = {program, script, NULL};
    struct child_options o = {.loop = d->loop,
                              .argv = words,
                              .dir = dir,
                              .apart = true,
                              .wrote = on_wrote,
                              .ctx = d,
                              .ended = on_ended};
    if (child_start(&o, &d->child, e) != 0) {
        return false;
    }
    struct sched *clock = sched_real(d->loop);
    sched_post(clock, ms_max, 0, on_late, d);
    loop_run(d->loop);
    sched_free(clock);
    child_free(d->child);
    return true;
}

bool gnuplot_draw(const char *dir, const char *name, uint64_t ms_max, struct buf *why)
{
    struct arena *arena = arena_new();
    struct drawing d = {.loop = loop_new(), .said = {.max = KEPT_BYTES_MAX}};
    struct err e;
    const char *svg = picture(arena, dir, name, "svg"), *png = picture(arena, dir, name, "png");
    const char *problem = "gnuplot is not there (apt-get install gnuplot-nox)";
    struct str script = arena_printf(arena, "%s.gp", name);
    (void)remove(svg); /* those of an earlier report are not this one's */
    (void)remove(png);
    if (program_found(arena, "gnuplot", dir)) {
        problem = run(&d, dir, arena_cstr(arena, script), ms_max, &e) ? failure(&d, ms_max, arena)
                                                                      : e.message;
    }
    if (problem == NULL && (!path_is_file(svg) || !path_is_file(png))) {
        problem = arena_printf(arena, "gnuplot said that all is well, but %s is not there",
                               path_is_file(svg) ? png : svg)
                      .p;
    }
    if (problem != NULL) {
        buf_fmt(why, "no plots are drawn: %s; to draw them: cd ", problem);
        text_add_word(why, str_of(dir));
        buf_addz(why, " && gnuplot *.gp");
    }
    loop_free(d.loop);
    buf_free(&d.said);
    arena_free(arena);
    return problem == NULL;
}
