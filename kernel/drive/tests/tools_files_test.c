#include "ci/testing/testing.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder "in" is the tools' root; "secret" and "out" stand beside it. */
static struct {
    struct toolset *set;
    struct loop *loop;
    struct sched *sched;
    struct toolbox *box;
    struct buf seen;
    const char *dir;
} t;

static const char *place(const char *name)
{
    static char path[2][600];
    static unsigned turn;
    char *kept = path[turn++ % 2];
    int n = snprintf(kept, sizeof path[0], "%s/%s", t.dir, name);
    CU_ASSERT_FATAL(n > 0 && n < (int)sizeof path[0]);
    return kept;
}

static void put(const char *name, struct str text)
{
    FILE *f = fopen(place(name), "wb");
    CU_ASSERT_FATAL(f != NULL);
    CU_ASSERT_EQUAL(fwrite(text.p, 1, text.n, f), text.n);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

static void check_content(const char *name, const char *want)
{
    char got[64] = "";
    FILE *f = fopen(place(name), "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    got[fread(got, 1, sizeof got - 1, f)] = '\0';
    CU_ASSERT_EQUAL(fclose(f), 0);
    CHECK_TEXT(got, want);
}

static void begin(void)
{
    struct err e = {0};
    memset(&t, 0, sizeof t);
    t.dir = testing_dir();
    (void)mkdir(place("in"), 0755);
    (void)mkdir(place("in/sub"), 0755);
    (void)mkdir(place("out"), 0755);
    put("secret", STR("s"));
    put("out/kept", STR("o"));
    put("in/b.txt", STR("two\n"));
    put("in/sub/c.txt", STR("three"));
    put("files.yaml",
        STR("version: 1\ntools:\n- {builtin: read_file, root: in/}\n"
            "- {builtin: write_file, root: in}\n- {builtin: list_files, root: in}\n"));
    t.set = toolset_new();
    CU_ASSERT_EQUAL_FATAL(toolset_add_file(t.set, place("files.yaml"), &e), 0);
    t.loop = loop_new();
    t.sched = sched_virtual(t.loop);
    t.box = toolbox_local(t.set, t.sched, t.loop, 0);
}

static void end(void)
{
    t.box->ops->free(t.box);
    sched_free(t.sched);
    loop_free(t.loop);
    toolset_free(t.set);
    buf_free(&t.seen);
}

static void note(void *ctx, const struct tool_output *o, bool miss)
{
    (void)ctx;
    CU_ASSERT_FALSE(miss || o->retryable);
    buf_clear(&t.seen);
    if (!o->ok) {
        buf_add(&t.seen, o->code);
        buf_char(&t.seen, ' ');
    }
    buf_add(&t.seen, o->ok ? o->content : o->message);
    buf_char(&t.seen, '\0');
}

static void run(const char *name, const char *arguments)
{
    const struct tool_request rq = {.call_id = STR("c"),
                                    .name = str_of(name),
                                    .arguments = str_of(arguments),
                                    .order = 1,
                                    .attempt = 1};
    CU_ASSERT_PTR_NOT_NULL(t.box->ops->start(t.box, &rq, (struct tool_sink){NULL, note}));
    loop_run(t.loop);
}

static void check(const char *name, const char *arguments, const char *want)
{
    run(name, arguments);
    CHECK_TEXT(t.seen.p, want);
}

static void files_are_read_written_and_listed(void)
{
    begin();
    check("read_file", "{\"path\":\"b.txt\"}", "two\n");
    check("read_file", "{\"path\":\"./sub//c.txt\"}", "three");
    check("list_files", "{}", "{\"ok\":true,\"files\":[\"b.txt\",\"sub/\"]}");
    check("list_files", "{\"path\":\"sub/\"}", "{\"ok\":true,\"files\":[\"c.txt\"]}");
    CU_ASSERT_EQUAL(chmod(place("in/b.txt"), 0600), 0);
    check("write_file", "{\"path\":\"b.txt\",\"content\":\"n\\u00e9w\"}",
          "{\"ok\":true,\"bytes\":4}");
    check_content("in/b.txt", "n\xc3\xa9w");
    struct stat st;
    CU_ASSERT_EQUAL(stat(place("in/b.txt"), &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
    check("write_file", "{\"path\":\"x/y/z\",\"content\":\"\"}", "{\"ok\":true,\"bytes\":0}");
    check("list_files", "{\"path\":\"x/y\"}", "{\"ok\":true,\"files\":[\"z\"]}");
    CU_ASSERT_EQUAL(remove(place("in/x/y/z")), 0);
    put("in/long", STR("0123456789"));
    check("read_file", "{\"path\":\"long\",\"max_chars\":10}", "0123456789");
    run("read_file", "{\"path\":\"long\",\"max_chars\":3}");
    CU_ASSERT_TRUE(str_starts(buf_str(&t.seen), "01") && strstr(t.seen.p, "10") != NULL);
    CU_ASSERT_PTR_NULL(strstr(t.seen.p, "45"));
    CU_ASSERT_EQUAL(remove(place("in/long")), 0);
    end();
}

static void what_cannot_be_read_or_written_is_told(void)
{
    begin();
    check("read_file", "{\"path\":\"no\"}", "TOOL_ERROR no: there is no such file or folder");
    check("read_file", "{\"path\":\"no/b\"}", "TOOL_ERROR no/b: there is no such file or folder");
    check("read_file", "{\"path\":\"b.txt/b\"}", "TOOL_ERROR b.txt/b: \"b.txt\" is no folder");
    check("read_file", "{\"path\":\"sub\"}", "TOOL_ERROR sub: this is a folder");
    check("read_file", "{\"path\":\"./\"}", "TOOL_ERROR ./: the path names no file");
    check("read_file", "{\"path\":\"a\\u0000b\"}",
          "TOOL_ERROR the path is too long, or holds a NUL");
    check("list_files", "{\"path\":\"b.txt\"}", "TOOL_ERROR b.txt: \"b.txt\" is no folder");
    check("write_file", "{\"path\":\"sub\",\"content\":\"\"}", "TOOL_ERROR sub: this is a folder");
    check("write_file", "{\"path\":\"new/\",\"content\":\"\"}",
          "TOOL_ERROR new/: the path names no file");
    put("in/binary", STR("ab\xff"));
    check("read_file", "{\"path\":\"binary\"}",
          "TOOL_ERROR binary: this is no text: byte 3 is not UTF-8");
    CU_ASSERT_EQUAL(remove(place("in/binary")), 0);
    CU_ASSERT_EQUAL(mkfifo(place("in/pipe"), 0600), 0);
    check("read_file", "{\"path\":\"pipe\"}", "TOOL_ERROR pipe: this is no file with a text");
    check("write_file", "{\"path\":\"pipe\",\"content\":\"\"}",
          "TOOL_ERROR pipe: this is no file with a text");
    CU_ASSERT_EQUAL(remove(place("in/pipe")), 0);
    end();
}

static void a_mebibyte_can_be_read(void)
{
    enum { FULL = 1 << 20 };
    struct buf big = {0};
    begin();
    for (int i = 0; i < FULL; i++) {
        buf_char(&big, 'x');
    }
    put("in/big", buf_str(&big));
    buf_char(&big, '\0');
    check("read_file", "{\"path\":\"big\"}", big.p);
    big.p[FULL] = 'x';
    put("in/big", buf_str(&big));
    check("read_file", "{\"path\":\"big\"}",
          "TOOL_ERROR big: the file has more than the 1048576 bytes that can be read");
    CU_ASSERT_EQUAL(remove(place("in/big")), 0);
    buf_free(&big);
    end();
}

/* Neither dots, nor absolute paths, nor links, at any place of a path and for any tool. */
static void nothing_leads_out_of_the_root(void)
{
    static const char *const tools[] = {"read_file", "write_file", "list_files"};
    static const struct {
        const char *path;
        const char *why;
    } cases[] = {
        {"../secret", "the path may not hold \"..\""},
        {"..", "the path may not hold \"..\""},
        {"sub/../../secret", "the path may not hold \"..\""},
        {"sub/..", "the path may not hold \"..\""},
        {"/etc/passwd", "the path is absolute"},
        {"/", "the path is absolute"},
        {"up/kept", "\"up\" is a symbolic link, which is not followed"},
        {"up/new", "\"up\" is a symbolic link, which is not followed"},
        {"sub/up/kept", "\"up\" is a symbolic link, which is not followed"},
        {"sub/up/new/new", "\"up\" is a symbolic link, which is not followed"},
    };
    begin();
    CU_ASSERT_EQUAL(symlink("../out", place("in/up")), 0);
    CU_ASSERT_EQUAL(symlink(place("out"), place("in/sub/up")), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t j = 0; j < 3; j++) {
            char arguments[128], want[160];
            snprintf(arguments, sizeof arguments, "{\"path\":\"%s\",\"content\":\"bad\"}",
                     cases[i].path);
            snprintf(want, sizeof want, "TOOL_ERROR %s: %s", cases[i].path, cases[i].why);
            check(tools[j], arguments, want);
        }
    }
    CU_ASSERT_NOT_EQUAL(access(place("out/new"), F_OK), 0);
    CU_ASSERT_EQUAL(symlink("../secret", place("in/link")), 0);
    CU_ASSERT_EQUAL(symlink("../fresh", place("in/dangling")), 0);
    check("read_file", "{\"path\":\"link\"}",
          "TOOL_ERROR link: \"link\" is a symbolic link, which is not followed");
    check("write_file", "{\"path\":\"link\",\"content\":\"bad\"}",
          "TOOL_ERROR link: this is a symbolic link, which is not followed");
    check("write_file", "{\"path\":\"dangling\",\"content\":\"bad\"}",
          "TOOL_ERROR dangling: this is a symbolic link, which is not followed");
    check("list_files", "{\"path\":\"up\"}",
          "TOOL_ERROR up: \"up\" is a symbolic link, which is not followed");
    check_content("secret", "s");
    check_content("out/kept", "o");
    CU_ASSERT_NOT_EQUAL(access(place("fresh"), F_OK), 0);
    static const char *const links[] = {"in/up", "in/sub/up", "in/link", "in/dangling"};
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(remove(place(links[i])), 0);
    }
    end();
}

static void file_tools_want_a_folder_that_is_there(void)
{
    struct err e = {0};
    size_t n;
    begin();
    enum tool_source source;
    const struct tool_spec *specs = toolset_specs(t.set, &n);
    CU_ASSERT_EQUAL(n, 3);
    CU_ASSERT_TRUE(specs[0].tier == TIER_READ && specs[1].tier == TIER_WRITE);
    CU_ASSERT_TRUE(toolset_source(t.set, STR("read_file"), &source) && source == TOOL_FILE);
    CU_ASSERT_EQUAL(toolset_programs(t.set, &e), 0);
    end();
    struct toolset *set = toolset_new();
    CU_ASSERT_EQUAL(toolset_add_builtin(set, STR("read_file"), &e), ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "{builtin: read_file, root: DIR}"));
    put("files.yaml", STR("version: 1\ntools:\n- {builtin: list_files, root: gone}\n"));
    CU_ASSERT_EQUAL(toolset_add_file(set, place("files.yaml"), &e), 0);
    CU_ASSERT_EQUAL(toolset_programs(set, &e), ERR_IO);
    CU_ASSERT_TRUE(e.line == 3 && e.column == 31 &&
                   strstr(e.message, "there is no folder") != NULL);
    toolset_free(set);
}

TESTS(tools_files, {"file_tools_read_write_and_list", files_are_read_written_and_listed},
      {"file_tools_tell_what_they_cannot_do", what_cannot_be_read_or_written_is_told},
      {"file_tools_read_a_mebibyte", a_mebibyte_can_be_read},
      {"file_tools_never_leave_their_folder", nothing_leads_out_of_the_root},
      {"file_tools_want_a_folder_that_is_there", file_tools_want_a_folder_that_is_there})
