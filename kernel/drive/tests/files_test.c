#include "ci/testing/testing.h"
#include "kernel/drive/appender.h"
#include "kernel/drive/files.h"
#include "kernel/drive/machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *in_dir(struct arena *a, const char *name)
{
    return path_join(a, testing_dir(), name);
}

static void check_error(int rc, int want, const struct err *e, const char *part)
{
    CU_ASSERT_EQUAL(rc, want);
    if (strstr(e->message, part) == NULL) {
        printf("\n  got  %s\n  want %s\n", e->message, part);
        CU_FAIL("message");
    }
}

static void reads_back_what_was_replaced(void)
{
    struct arena *a = arena_new();
    const char *path = in_dir(a, "f");
    struct str got = {NULL, 0};
    static const char bytes[] = "one\0two\r\n\xff";
    struct str want = {bytes, sizeof bytes - 1};
    CU_ASSERT_EQUAL(file_replace(path, STR("old and much longer than the new text"), NULL), 0);
    CU_ASSERT_EQUAL(file_replace(path, want, NULL), 0);
    CU_ASSERT_EQUAL(file_read(a, path, want.n, &got, NULL), 0);
    CU_ASSERT_TRUE(str_eq(got, want));
    CU_ASSERT_EQUAL(file_replace(path, STR(""), NULL), 0);
    CU_ASSERT_EQUAL(file_read(a, path, 0, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.n, 0);
    arena_free(a);
}

static void a_file_is_read_piece_by_piece(void)
{
    struct arena *a = arena_new();
    const char *path = in_dir(a, "f");
    char room[4];
    size_t got = 9;
    struct buf all = {0};
    CU_ASSERT_EQUAL(file_replace(path, STR("0123456789"), NULL), 0);
    struct file_pieces *f = file_pieces_open(path, 10);
    CU_ASSERT_PTR_NULL(file_pieces_open(path, 11));
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    while (file_pieces_next(f, room, sizeof room, &got) && got > 0) {
        buf_add(&all, (struct str){room, got});
        buf_char(&all, '|');
    }
    buf_char(&all, '\0');
    CHECK_TEXT(all.p, "0123|4567|89|");
    file_pieces_close(f);
    file_pieces_close(NULL);
    CU_ASSERT_PTR_NULL(file_pieces_open(in_dir(a, "none"), 0));
    CU_ASSERT_PTR_NULL(file_pieces_open(testing_dir(), 0));
    CU_ASSERT_PTR_NULL(file_pieces_open("/dev/null", 0));
    buf_free(&all);
    arena_free(a);
}

static void replacing_keeps_the_mode_and_leaves_no_other_file(void)
{
    struct arena *a = arena_new();
    const char *path = in_dir(a, "f");
    struct stat st;
    CU_ASSERT_EQUAL(file_replace(path, STR("x"), NULL), 0);
    CU_ASSERT_EQUAL(chmod(path, 0600), 0);
    CU_ASSERT_EQUAL(file_replace(path, STR("y"), NULL), 0);
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(rmdir(path_dir(a, path)), 0); /* it is empty */
    CU_ASSERT_EQUAL(dir_make(path_dir(a, path), NULL), 0);
    arena_free(a);
}

/* As replacing, but with the mode of another file; without that file nothing is written. */
static void swapping_takes_the_mode_of_another(void)
{
    struct arena *a = arena_new();
    const char *path = in_dir(a, "f"), *like = in_dir(a, "like");
    struct str got = {NULL, 0};
    struct stat st;
    struct err e;
    check_error(file_swap(path, like, STR("x"), &e), ERR_IO, &e, "cannot write");
    CU_ASSERT_FALSE(path_exists(path));
    CU_ASSERT_EQUAL(file_replace(like, STR(""), NULL), 0);
    CU_ASSERT_EQUAL(chmod(like, 0600), 0);
    CU_ASSERT_EQUAL(file_replace(in_dir(a, "f.tmp"), STR("of one that was killed"), NULL), 0);
    CU_ASSERT_EQUAL(file_swap(path, like, STR("x"), NULL), 0);
    CU_ASSERT_EQUAL(file_swap(path, like, STR("new"), NULL), 0);
    CU_ASSERT_EQUAL(file_read(a, path, 9, &got, NULL), 0);
    CU_ASSERT_TRUE(str_is(got, "new"));
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
    CU_ASSERT_FALSE(path_exists(in_dir(a, "f.tmp")));
    arena_free(a);
}

static void secrets_are_closed_to_others(void)
{
    static const struct {
        mode_t mode;
        int rc;
    } cases[] = {{0600, 0},         {0400, 0},         {0640, ERR_INPUT},
                 {0604, ERR_INPUT}, {0610, ERR_INPUT}, {0601, ERR_INPUT}};
    struct arena *a = arena_new();
    const char *path = in_dir(a, "key");
    struct err e = {.message = ""};
    struct str got;
    check_error(file_read_secret(a, path, 9, &got, &e), ERR_NOT_FOUND, &e, "no such file");
    check_error(file_read_secret(a, testing_dir(), 9, &got, &e), ERR_INPUT, &e, "folder");
    CU_ASSERT_EQUAL(file_replace(path, STR("k-1"), NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        e.message[0] = '\0';
        CU_ASSERT_EQUAL(chmod(path, cases[i].mode), 0);
        check_error(file_read_secret(a, path, 3, &got, &e), cases[i].rc, &e,
                    cases[i].rc == 0 ? "" : "chmod 600");
    }
    CU_ASSERT_EQUAL(chmod(path, 0600), 0);
    CU_ASSERT_EQUAL(file_read_secret(a, path, 3, &got, &e), 0);
    CU_ASSERT_TRUE(str_is(got, "k-1"));
    check_error(file_read_secret(a, path, 2, &got, &e), ERR_LIMIT, &e, "at most 2");
    arena_free(a);
}

static void says_why_it_cannot_read(void)
{
    struct arena *a = arena_new();
    struct err e;
    struct str got;
    const char *dir = testing_dir();
    const char *path = path_join(a, dir, "f");
    CU_ASSERT_EQUAL(file_replace(path, STR("12345"), NULL), 0);
    check_error(file_read(a, path_join(a, dir, "none"), 9, &got, &e), ERR_NOT_FOUND, &e,
                "no such file");
    CHECK_TEXT(e.file, path_join(a, dir, "none"));
    check_error(file_read(a, path_join(a, path, "below"), 9, &got, &e), ERR_NOT_FOUND, &e,
                "no such file");
    check_error(file_read(a, dir, 9, &got, &e), ERR_INPUT, &e, "is a folder");
    check_error(file_read(a, path, 4, &got, &e), ERR_LIMIT, &e, "has 5 bytes; at most 4");
    check_error(file_read(a, "/dev/zero", 100000, &got, &e), ERR_LIMIT, &e, "more than 100000");
    if (geteuid() != 0) {
        CU_ASSERT_EQUAL(chmod(path, 0), 0);
        check_error(file_read(a, path, 9, &got, &e), ERR_INPUT, &e, "Permission denied");
    }
    arena_free(a);
}

/* A named pipe nobody writes to, nor reads, is told and not waited for; one that somebody does is
 * read to its end. */
static void pipes_want_somebody_at_the_other_end(void)
{
    enum { BYTES = 300000 };
    struct arena *a = arena_new();
    struct err e;
    struct str got;
    struct appender *grows = NULL;
    int opened[2];
    char byte;
    const char *path = in_dir(a, "pipe");
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    check_error(file_read(a, path, BYTES, &got, &e), ERR_INPUT, &e, "a pipe that nobody writes to");
    check_error(appender_open(path, APPEND_CONTINUE, &grows, &e), ERR_IO, &e, "nobody reads");
    check_error(file_replace(path, STR("x"), &e), ERR_IO, &e, "nobody reads");
    int first = open(path, O_RDONLY | O_NONBLOCK); /* lets the writer open it */
    CU_ASSERT_FATAL(first >= 0 && pipe(opened) == 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        static char text[BYTES];
        int fd = open(path, O_WRONLY);
        bool told = write(opened[1], "o", 1) == 1;
        _exit(fd < 0 || !told || write(fd, text, BYTES) != BYTES);
    }
    CU_ASSERT_EQUAL(read(opened[0], &byte, 1), 1);
    CU_ASSERT_EQUAL(file_read(a, path, BYTES, &got, &e), 0);
    CU_ASSERT_EQUAL(got.n, BYTES);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    close(first);
    close(opened[0]);
    close(opened[1]);
    arena_free(a);
}

/* Nobody can open a socket. */
static void a_socket_is_no_file(void)
{
    struct arena *a = arena_new();
    struct err e;
    struct str got;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const char *path = in_dir(a, "s");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int n = snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    if (fd < 0 || n >= (int)sizeof at.sun_path ||
        bind(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
        testing_skip("no socket can be made there");
    } else {
        check_error(file_read(a, path, 9, &got, &e), ERR_INPUT, &e, "cannot open");
    }
    close(fd);
    arena_free(a);
}

static void says_why_it_cannot_write(void)
{
    struct arena *a = arena_new();
    struct err e;
    struct appender *ap;
    const char *dir = testing_dir();
    const char *path = path_join(a, dir, "f");
    check_error(file_replace(dir, STR("x"), &e), ERR_INPUT, &e, "is a folder");
    check_error(file_replace(path_join(a, dir, "no/f"), STR("x"), &e), ERR_IO, &e,
                "No such file or directory");
    CHECK_TEXT(e.file, path_join(a, dir, "no/f"));
    check_error(file_replace("/dev/full", STR("x"), &e), ERR_IO, &e, "No space left on device");
    CU_ASSERT_EQUAL(appender_open("/dev/full", APPEND_CONTINUE, &ap, &e), 0);
    check_error(appender_add(ap, STR("x"), &e), ERR_IO, &e, "No space left on device");
    CHECK_TEXT(e.file, "/dev/full");
    CU_ASSERT_EQUAL(appender_close(ap, NULL), 0);
    CU_ASSERT_EQUAL(file_replace(path, STR("x"), NULL), 0);
    check_error(appender_open(path, APPEND_NEW, &ap, &e), ERR_EXISTS, &e, "exists already");
    check_error(appender_open(dir, APPEND_CONTINUE, &ap, &e), ERR_INPUT, &e, "is a folder");
    check_error(appender_open(dir, APPEND_NEW, &ap, &e), ERR_INPUT, &e, "is a folder");
    check_error(dir_make(path, &e), ERR_IO, &e, "Not a directory");
    check_error(dir_make(path_join(a, path, "d"), &e), ERR_IO, &e, "Not a directory");
    check_error(dir_make("", &e), ERR_IO, &e, "No such file");
    arena_free(a);
}

static void appends_keep_what_was_there(void)
{
    struct arena *a = arena_new();
    const char *path = in_dir(a, "log");
    struct appender *ap;
    struct str got = {NULL, 0};
    static const struct {
        enum append_mode mode;
        const char *want;
    } cases[] = {
        {APPEND_NEW, "1\n2\n"}, {APPEND_CONTINUE, "1\n2\n1\n2\n"}, {APPEND_TRUNCATE, "1\n2\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT_EQUAL_FATAL(appender_open(path, cases[i].mode, &ap, NULL), 0);
        CU_ASSERT_EQUAL(appender_add(ap, STR("1\n"), NULL), 0);
        CU_ASSERT_EQUAL(appender_add(ap, STR("2\n"), NULL), 0);
        CU_ASSERT_EQUAL(file_read(a, path, 100, &got, NULL), 0); /* before it is closed */
        CHECK_TEXT(got.p, cases[i].want);
        int rc = i % 2 == 0 ? appender_close(ap, NULL) : appender_close_unsynced(ap, NULL);
        CU_ASSERT_EQUAL(rc, 0);
    }
    arena_free(a);
}

static void a_file_has_one_appender_at_a_time(void)
{
    static const enum append_mode modes[] = {APPEND_TRUNCATE, APPEND_CONTINUE};
    struct arena *a = arena_new();
    const char *path = in_dir(a, "one");
    struct appender *first, *second;
    struct str got;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(appender_open(path, APPEND_NEW, &first, &e), 0);
    CU_ASSERT_EQUAL(appender_add(first, STR("1\n"), &e), 0);
    for (size_t i = 0; i < 2; i++) {
        check_error(appender_open(path, modes[i], &second, &e), ERR_IO, &e, "another run");
    }
    CU_ASSERT_EQUAL(file_read(a, path, 100, &got, NULL), 0);
    CHECK_TEXT(got.p, "1\n");
    CU_ASSERT_EQUAL(appender_close(first, &e), 0);
    CU_ASSERT_EQUAL_FATAL(appender_open(path, APPEND_TRUNCATE, &second, &e), 0);
    CU_ASSERT_EQUAL(appender_close(second, &e), 0);
    arena_free(a);
}

static void makes_folders_with_their_parents(void)
{
    struct arena *a = arena_new();
    const char *dir = in_dir(a, "x/y//z/");
    CU_ASSERT_EQUAL(dir_make(dir, NULL), 0);
    CU_ASSERT_TRUE(path_is_dir(dir));
    CU_ASSERT_EQUAL(dir_make(dir, NULL), 0);
    CU_ASSERT_TRUE(path_exists(dir));
    CU_ASSERT_FALSE(path_exists(path_join(a, dir, "w")));
    CU_ASSERT_FALSE(path_is_dir("/dev/null"));
    arena_free(a);
}

static void splits_and_joins_paths(void)
{
    struct arena *a = arena_new();
    static const struct {
        const char *path, *dir;
    } dirs[] = {{"a", "."}, {"a/b", "a"}, {"/a", "/"}, {"/a/b/c", "/a/b"}, {"a/", "a"}, {"", "."}};
    static const struct {
        const char *dir, *name, *want;
    } joins[] = {{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a", "/b", "/b"},
                 {".", "b", "b"},   {".", "-", "./-"},  {"/", "b", "/b"}};
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        CHECK_TEXT(path_dir(a, dirs[i].path), dirs[i].dir);
    }
    for (size_t i = 0; i < sizeof joins / sizeof joins[0]; i++) {
        CHECK_TEXT(path_join(a, joins[i].dir, joins[i].name), joins[i].want);
    }
    arena_free(a);
}

static void randomness_differs(void)
{
    CU_ASSERT_NOT_EQUAL(random_u64(), random_u64());
    CU_ASSERT_TRUE(clock_unix_ms() > 1700000000000);
}

/* Hidden names, other endings and links to folders are left out. */
static void lists_the_files_below_a_folder(void)
{
    static const char *const made[] = {"b.yaml",         "a/z.yml",   "a/b/c.yaml",   "a/x.txt",
                                       ".hidden/y.yaml", "a/.s.yaml", "c.yaml/d.yaml"};
    static const char *const wanted[] = {"a/b/c.yaml", "a/z.yml", "b.yaml", "c.yaml/d.yaml"};
    static const char *const endings[] = {".yaml", ".yml", NULL};
    const char *dir = testing_dir();
    struct arena *arena = arena_new();
    const char **files = NULL;
    size_t n = 0;
    struct err e;
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        const char *path = path_join(arena, dir, made[i]);
        CU_ASSERT_EQUAL_FATAL(dir_make(path_dir(arena, path), &e), 0);
        CU_ASSERT_EQUAL_FATAL(file_replace(path, STR("x"), &e), 0);
    }
    CU_ASSERT_EQUAL(symlink(".", path_join(arena, dir, "loop")), 0);
    CU_ASSERT_EQUAL_FATAL(dir_tree(arena, dir, endings, &files, &n, &e), 0);
    CU_ASSERT_EQUAL_FATAL(n, 4);
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT_STRING_EQUAL(files[i], path_join(arena, dir, wanted[i]));
    }
    CU_ASSERT_EQUAL(dir_tree(arena, path_join(arena, dir, "none"), endings, &files, &n, &e),
                    ERR_NOT_FOUND);
    const char *deep = path_join(arena, dir, "a");
    for (int i = 0; i < 32; i++) {
        deep = path_join(arena, deep, "a");
    }
    CU_ASSERT_EQUAL_FATAL(dir_make(deep, &e), 0);
    CU_ASSERT_EQUAL(dir_tree(arena, dir, endings, &files, &n, &e), ERR_LIMIT);
    arena_free(arena);
}

TESTS(files, {"a_file_is_read_piece_by_piece", a_file_is_read_piece_by_piece},
      {"files_read_back_what_was_replaced", reads_back_what_was_replaced},
      {"files_replaced_keep_their_mode_and_leave_no_other_file",
       replacing_keeps_the_mode_and_leaves_no_other_file},
      {"files_swapped_take_the_mode_of_another", swapping_takes_the_mode_of_another},
      {"files_that_are_secret_are_closed_to_others", secrets_are_closed_to_others},
      {"files_say_why_they_cannot_be_read", says_why_it_cannot_read},
      {"files_that_are_pipes_want_somebody_at_the_other_end", pipes_want_somebody_at_the_other_end},
      {"files_that_are_sockets_are_refused", a_socket_is_no_file},
      {"files_say_why_they_cannot_be_written", says_why_it_cannot_write},
      {"files_that_grow_keep_what_was_there", appends_keep_what_was_there},
      {"files_that_grow_have_one_appender_at_a_time", a_file_has_one_appender_at_a_time},
      {"files_make_folders_with_their_parents", makes_folders_with_their_parents},
      {"files_below_a_folder_are_listed", lists_the_files_below_a_folder},
      {"files_split_and_join_paths", splits_and_joins_paths},
      {"files_draw_different_random_numbers", randomness_differs})
