#include "ci/testing/testing.h"
#include "kernel/drive/files.h"
#include "kernel/drive/lines.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct arena *arena;

/* Lines of 0 to 200,000 bytes: within the window and beyond it. */
static void fill(struct buf *out, size_t *starts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t size = i % 5 == 4 ? 200000 / (i % 7 + 1) : i * 37 % 900;
        starts[i] = out->n;
        for (size_t k = 0; k < size; k++) {
            buf_char(out, (char)('a' + (i + k) % 26));
        }
        buf_char(out, '\n');
    }
    starts[n] = out->n;
}

/* All lines from the first on, then some by their place. */
static void check_lines(struct lines *l, struct str text, const size_t *starts, size_t n)
{
    uint64_t at = 0;
    struct str line;
    enum line_found found = LINE_NONE;
    struct err e;
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT_EQUAL_FATAL(lines_next(l, &at, &line, &found, &e), 0);
        CU_ASSERT_EQUAL(found, LINE_WHOLE);
        CU_ASSERT_EQUAL(at, starts[i + 1]);
        CU_ASSERT(str_eq(line, str_slice(text, starts[i], starts[i + 1] - 1)));
    }
    CU_ASSERT_EQUAL(lines_next(l, &at, &line, &found, &e), 0);
    CU_ASSERT_EQUAL(found, LINE_NONE);
    for (size_t k = 0; k < 3 * n; k++) {
        size_t i = k * 7 % n;
        CU_ASSERT_EQUAL(lines_at(l, starts[i], starts[i + 1] - starts[i], &line, &e), 0);
        CU_ASSERT(str_eq(line, str_slice(text, starts[i], starts[i + 1])));
    }
    CU_ASSERT_EQUAL(lines_at(l, text.n - 3, 100, &line, &e), 0);
    CU_ASSERT_EQUAL(line.n, 3);
    CU_ASSERT_EQUAL(lines_at(l, text.n + 5, 100, &line, &e), 0);
    CU_ASSERT_EQUAL(line.n, 0);
}

static void lines_are_read_in_order_and_by_place(void)
{
    enum { LINES = 300 };
    arena = arena_new();
    const char *path = path_join(arena, testing_dir(), "f");
    size_t starts[LINES + 1];
    struct buf text = {0};
    struct lines *l = NULL;
    fill(&text, starts, LINES);
    CU_ASSERT_EQUAL_FATAL(file_replace(path, buf_str(&text), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(lines_open(path, &l, NULL), 0);
    CU_ASSERT_STRING_EQUAL(lines_name(l), path);
    check_lines(l, buf_str(&text), starts, LINES);
    lines_free(l);
    l = lines_over("memory", buf_str(&text));
    check_lines(l, buf_str(&text), starts, LINES);
    lines_free(l);
    buf_free(&text);
    arena_free(arena);
}

static void a_line_without_its_end_is_torn(void)
{
    struct lines *l = lines_over("f", STR("one\ntw"));
    uint64_t at = 0;
    struct str line;
    enum line_found found;
    CU_ASSERT_EQUAL(lines_next(l, &at, &line, &found, NULL), 0);
    CU_ASSERT(found == LINE_WHOLE && str_is(line, "one"));
    CU_ASSERT_EQUAL(lines_next(l, &at, &line, &found, NULL), 0);
    CU_ASSERT(found == LINE_TORN && str_is(line, "tw"));
    CU_ASSERT_EQUAL(at, 4);
    lines_free(l);
}

static void only_files_are_opened(void)
{
    arena = arena_new();
    const char *dir = testing_dir();
    struct lines *l = NULL;
    struct err e;
    const char *pipe = path_join(arena, dir, "pipe");
    CU_ASSERT_EQUAL(mkfifo(pipe, 0600), 0);
    CU_ASSERT_EQUAL(lines_open(path_join(arena, dir, "none"), &l, &e), ERR_NOT_FOUND);
    CU_ASSERT_EQUAL(lines_open(dir, &l, &e), ERR_INPUT);
    CU_ASSERT_EQUAL(lines_open(pipe, &l, &e), ERR_INPUT);
    CU_ASSERT_PTR_NULL(l);
    lines_free(l);
    arena_free(arena);
}

/* Until it is closed and kept, what had the name stays. */
static void a_file_takes_its_place_as_a_whole(void)
{
    arena = arena_new();
    const char *dir = testing_dir();
    const char *path = path_join(arena, dir, "f");
    struct str big = {arena_alloc(arena, 200000), 200000}, got, *names = NULL;
    struct file_writer *w = NULL;
    size_t n = 0;
    CU_ASSERT_EQUAL(file_replace(path, STR("old"), NULL), 0);
    for (int keep = 0; keep < 2; keep++) {
        CU_ASSERT_EQUAL_FATAL(file_writer_open(path, &w, NULL), 0);
        CU_ASSERT_EQUAL(file_writer_add(w, STR("head"), NULL), 0);
        CU_ASSERT_EQUAL(file_writer_add(w, big, NULL), 0);
        CU_ASSERT_EQUAL(file_writer_add(w, STR("tail"), NULL), 0);
        CU_ASSERT_EQUAL(file_read(arena, path, 1 << 20, &got, NULL), 0);
        CU_ASSERT(str_is(got, "old"));
        int rc = keep == 1 ? 0 : ERR_INPUT;
        CU_ASSERT_EQUAL(file_writer_end(w, rc, NULL), rc);
        CU_ASSERT_EQUAL(dir_list(arena, dir, "", &names, &n, NULL), 0);
        CU_ASSERT_EQUAL(n, 1); /* nothing is left beside it */
    }
    CU_ASSERT_EQUAL(file_read(arena, path, 1 << 20, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.n, 200008);
    CU_ASSERT(str_starts(got, "head") && str_ends(got, "tail"));
    CU_ASSERT_EQUAL(file_writer_open(dir, &w, NULL), ERR_INPUT);
    if (path_exists("/dev/full")) {
        CU_ASSERT_EQUAL_FATAL(file_writer_open("/dev/full", &w, NULL), 0);
        CU_ASSERT_EQUAL(file_writer_add(w, big, NULL), ERR_IO);
        CU_ASSERT_EQUAL(file_writer_add(w, STR("more"), NULL), ERR_IO);
        CU_ASSERT_EQUAL(file_writer_end(w, 0, NULL), ERR_IO);
    }
    arena_free(arena);
}

TESTS(lines, {"lines_are_read_in_order_and_by_place", lines_are_read_in_order_and_by_place},
      {"a_line_without_its_end_is_torn", a_line_without_its_end_is_torn},
      {"only_files_are_opened_as_lines", only_files_are_opened},
      {"a_file_takes_its_place_as_a_whole", a_file_takes_its_place_as_a_whole})
