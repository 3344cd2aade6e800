/* gnuplot is whatever stands first in PATH: it may do anything. */
#include "ci/testing/testing.h"
#include "kernel/base/arena.h"
#include "kernel/drive/files.h"
#include "reports/report_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *does; /* the shell script in gnuplot's place; NULL = none */
    uint64_t ms_max;
    const char *says; /* NULL = drawn */
} plotters[] = {
    {"echo x > a.svg; echo x > a.png; test \"$1\" = a.gp", 60000, NULL},
    {"sleep 1000", 1, "gnuplot took longer than 0 s and was killed; to draw them: cd "},
    {"sleep 1000 & wait", 1, "gnuplot took longer than 0 s and was killed; to draw them: cd "},
    {"yes", 60000, "gnuplot wrote more than 1 MiB and was killed"},
    {"yes 1>&2", 60000, "gnuplot wrote more than 1 MiB and was killed: y"},
    {"true", 60000, "gnuplot said that all is well, but "},
    {"echo x > a.svg", 60000, "a.png is not there"},
    {"printf 'plot x\\n  ^\\n\"a.gp\" line 3: no\\033[31m\\n' >&2; exit 3", 60000,
     "gnuplot failed with status 3: \"a.gp\" line 3: no [31m; to draw them: cd "},
    {"kill -9 $$", 60000, "gnuplot was ended by signal 9"},
    {NULL, 60000, "gnuplot is not there (apt-get install gnuplot-nox)"},
};

/* Puts the script into a folder, as the only gnuplot there is. */
static void put(struct arena *arena, const char *dir, const char *does)
{
    struct err e;
    const char *path = path_join(arena, dir, "gnuplot");
    struct str text = arena_printf(arena, "#!/bin/sh\n%s\n", does == NULL ? "" : does);
    if (does != NULL) {
        CU_ASSERT_EQUAL_FATAL(file_replace(path, text, &e), 0);
        CU_ASSERT_EQUAL_FATAL(chmod(path, 0700), 0);
        dir = arena_printf(arena, "%s:/usr/bin:/bin", dir).p;
    }
    CU_ASSERT_EQUAL_FATAL(setenv("PATH", dir, 1), 0);
}

static void any_gnuplot(void)
{
    struct arena *arena = arena_new();
    const char *path = arena_cstr(arena, str_of(getenv("PATH")));
    for (size_t i = 0; i < sizeof plotters / sizeof plotters[0]; i++) {
        struct buf why = {0};
        const char *dir = arena_cstr(arena, str_of(testing_dir()));
        put(arena, testing_dir(), plotters[i].does);
        bool drawn = gnuplot_draw(dir, "a", plotters[i].ms_max, &why);
        CU_ASSERT_EQUAL(drawn, plotters[i].says == NULL);
        if (plotters[i].says == NULL) {
            CU_ASSERT_EQUAL(why.n, 0);
        } else if (str_find(buf_str(&why), str_of(plotters[i].says)) == SIZE_MAX) {
            buf_char(&why, '\0');
            CHECK_TEXT(why.p, plotters[i].says);
        }
        buf_free(&why);
    }
    CU_ASSERT_EQUAL_FATAL(setenv("PATH", path, 1), 0);
    arena_free(arena);
}

/* What an earlier report has drawn is not taken for this one's. */
static void old_pictures(void)
{
    struct arena *arena = arena_new();
    const char *path = arena_cstr(arena, str_of(getenv("PATH"))), *dir = testing_dir();
    struct buf why = {0};
    struct err e;
    const char *svg = path_join(arena, dir, "a.svg");
    CU_ASSERT_EQUAL_FATAL(file_replace(svg, STR("x"), &e), 0);
    CU_ASSERT_EQUAL_FATAL(file_replace(path_join(arena, dir, "a.png"), STR("x"), &e), 0);
    put(arena, testing_dir(), "true");
    CU_ASSERT_FALSE(gnuplot_draw(dir, "a", 60000, &why));
    CU_ASSERT_FALSE(path_exists(svg));
    buf_free(&why);
    CU_ASSERT_EQUAL_FATAL(setenv("PATH", path, 1), 0);
    arena_free(arena);
}

TESTS(plots, {"plots_meet_any_gnuplot_and_say_what_it_did", any_gnuplot},
      {"plots_of_an_earlier_report_are_not_this_ones", old_pictures})
