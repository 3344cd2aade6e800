/* Places that cannot be written, and disks that fill up: status 4, one clear line, and what was
 * finished before stays whole. */
#include "ci/testing/testing.h"
#include "cli/tests/loopback.h"
#include "cli/tests/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUICKSTART SOURCE_DIR "/goldens/quickstart.yaml"

static const char one_step[] = "version: 1\nsteps:\n- reply: {text: Fine.}\n";

static const struct loopback_answer good = {
    .bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
             "{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Fine.\"}"
             ",\"finish_reason\":\"stop\"}]}"};

static void unwritable_trace(void)
{
    const char *dir = testing_dir();
    const char *script = write_text(dir, "s.yaml", one_step);
    const char *const places[] = {path_of("%s/t.jsonl", script), path_of("%s/no/such/t.jsonl", dir),
                                  "/proc/t.jsonl"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const struct ran *r = ASSAY("run", "--fake", script, "--trace", places[i], "Hello.");
        CHECK_STATUS(r, 4);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, places[i]);
    }
    const struct ran *r = ASSAY("run", "--fake", script, "--trace", dir, "Hello.");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "is a folder");
}

/* The disk is full from the first line of the log on. */
static void full_trace(void)
{
    const char *script = write_text(testing_dir(), "s.yaml", one_step);
    const struct ran *r = ASSAY("run", "--fake", script, "--trace", "/dev/full", "Hello.");
    CHECK_STATUS(r, 4);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "/dev/full");
    CHECK_ERR(r, "No space left on device");
    struct program_options o = {.out = "/dev/full"};
    r = ASSAY_WITH(&o, "run", "--fake", script, "--trace", "-", "Hello.");
    CHECK_STATUS(r, 4);
    CU_ASSERT_EQUAL(count_lines(r->err), 1);
    r = ASSAY_WITH(&o, "run", "--fake", script, "Hello.");
    CHECK_STATUS(r, 4);
    CU_ASSERT_EQUAL(count_lines(r->err), 1);
    CHECK_ERR(r, "standard output");
    r = ASSAY_WITH(&o, "run", "--json", "--fake", script, "Hello.");
    CHECK_STATUS(r, 4);
    CU_ASSERT_EQUAL(count_lines(r->err), 1);
}

static void unwritable_run(void)
{
    const char *dir = testing_dir();
    const char *file = write_text(dir, "file", "x");
    const char *const places[] = {path_of("%s/run", file), path_of("%s/a/b/run", file), file,
                                  "/proc/run"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const struct ran *r = ASSAY("eval", QUICKSTART, "--fake", "--out", places[i]);
        CHECK_STATUS(r, 4);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, places[i]);
    }
    CHECK_TEXT(read_text(file, NULL), "x");
}

static void unwritable_recording(void)
{
    struct loopback *l = loopback_start(&good, 1);
    const char *dir = testing_dir();
    const char *file = write_text(dir, "file", "x");
    const char *set =
        write_text(dir, "set.yaml", "version: 1\nname: one\ntasks:\n- {id: a, prompt: A}\n");
    const char *place = path_of("%s/c.yaml", file);
    const struct ran *r =
        ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "--record", place, "Hello.");
    CHECK_STATUS(r, 4);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, file);
    r = ASSAY("eval", set, "--base-url", loopback_url(l), "--model", "m", "--record", file, "--out",
              path_of("%s/run", dir));
    CHECK_STATUS(r, 4);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, file);
    CU_ASSERT_EQUAL(loopback_stop(l), 0); /* no call is paid for that could not be kept */
}

/* ---- a disk that fills up ---- */

/* Mounts a file system of some bytes; NULL with the test skipped where that is not allowed. */
static const char *small_disk(const char *options)
{
    const char *dir = path_of("%s/disk", testing_dir());
    if (mkdir(dir, 0777) != 0 || mount("tmpfs", dir, "tmpfs", 0, options) != 0) {
        testing_skip(path_of("no small disk can be mounted: %s", strerror(errno)));
        return NULL;
    }
    return dir;
}

static void full_run(void)
{
    static const char *const sizes[] = {"size=16k", "size=32k", "size=64k", "size=160k",
                                        "size=400k,nr_inodes=12"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *disk = small_disk(sizes[i]);
        if (disk == NULL) {
            return;
        }
        const char *out = path_of("%s/run", disk);
        const struct ran *r =
            ASSAY("eval", QUICKSTART, "--fake", "--trials", "20", "--jobs", "5", "--out", out);
        CHECK_STATUS(r, 4);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, "No space left on device");
        CHECK_ERR(r, out);
        const char *journal = read_text(path_of("%s/trials.jsonl", out), NULL);
        size_t n = 0;
        CU_ASSERT(journal == NULL || json_lines(journal, &n));
        if (n > 0) {
            CHECK_ERR(r, path_of("%zu finished trials", n));
        }
        CU_ASSERT(umount2(disk, MNT_DETACH) == 0);
    }
}

static void full_log(void)
{
    const char *disk = small_disk("size=4k");
    if (disk == NULL) {
        return;
    }
    const char *script = write_text(
        testing_dir(), "s.yaml",
        "version: 1\nsteps:\n- reply: {calls: [{name: now, arguments: {}}]}\n  repeat: 2\n"
        "- reply: {calls: [{name: search_docs, arguments: {query: agents}}]}\n"
        "- reply: {calls: [{name: search_docs, arguments: {query: orders}}]}\n"
        "- reply: {calls: [{name: search_docs, arguments: {query: tools}}]}\n"
        "- reply: {calls: [{name: search_docs, arguments: {query: budget}}]}\n"
        "- reply: {calls: [{name: search_docs, arguments: {query: lamps}}]}\n"
        "- reply: {text: Done.}\n");
    const char *trace = path_of("%s/t.jsonl", disk);
    const struct ran *r = ASSAY("run", "--fake", script, "--trace", trace, "Hello.");
    CHECK_STATUS(r, 4);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "No space left on device");
    size_t n = 0;
    const char *log = read_text(trace, NULL);
    CU_ASSERT(log != NULL && json_lines(log, &n) && n >= 3); /* whole lines, as far as it goes */
    CHECK_STATUS(ASSAY("trace", "show", trace), 0);
    CU_ASSERT(umount2(disk, MNT_DETACH) == 0);
}

/* An answer larger than the disk that is to hold its recording. */
static void full_recording(void)
{
    enum { ANSWER_BYTES = 30000 };
    static char bytes[ANSWER_BYTES + 1000];
    const char *disk = small_disk("size=16k");
    if (disk == NULL) {
        return;
    }
    size_t n = (size_t)snprintf(bytes, sizeof bytes,
                                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                "Connection: close\r\n\r\n{\"choices\":[{\"index\":0,\"message\":{"
                                "\"role\":\"assistant\",\"content\":\"");
    memset(bytes + n, 'x', ANSWER_BYTES);
    n += ANSWER_BYTES;
    n += (size_t)snprintf(bytes + n, sizeof bytes - n, "\"},\"finish_reason\":\"stop\"}]}");
    const struct loopback_answer large = {.bytes = bytes, .n = n};
    struct loopback *l = loopback_start(&large, 1);
    const char *cassette = path_of("%s/c.yaml", disk);
    const struct ran *r =
        ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "--record", cassette, "Hello.");
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "No space left on device");
    CHECK_ERR(r, cassette);
    CU_ASSERT_EQUAL(count_lines(r->err), 1);
    r = ASSAY("cassette", "check", cassette);
    CU_ASSERT(r->status == 0 || r->status == 2); /* cut off, but no harm */
    CU_ASSERT(umount2(disk, MNT_DETACH) == 0);
    loopback_stop(l);
}

TESTS(disk, {"disk_that_cannot_take_the_trace_is_told", unwritable_trace},
      {"disk_that_is_full_for_the_trace_is_told", full_trace},
      {"disk_that_cannot_take_the_run_is_told", unwritable_run},
      {"disk_that_cannot_take_the_recording_is_told", unwritable_recording},
      {"disk_that_fills_up_keeps_finished_trials", full_run},
      {"disk_that_fills_up_keeps_whole_lines_of_the_log", full_log},
      {"disk_that_fills_up_under_a_recording_is_told", full_recording})
