/* The snapshot beside an event log. Whatever stands there - the right one, an older or a newer one,
 * a torn one, another log's - a run goes on as from its log alone, which is the reference. */
#include "ci/testing/testing.h"
#include "cli/tests/program.h"
#include "evals/resume.h"
#include "kernel/base/hash.h"
#include "kernel/core/snapshot.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEPS = 60, STEP_LINES = 4, CHECK_BYTES = 29 };

#define BUDGET "steps=1000,tokens=100000000,calls=1000"

/* A run of STEPS calls and an answer, and its log. */
static struct {
    const char *dir, *script, *tools, *trace, *snapshot;
    const char *log;
    size_t n;
} whole;

static const char *script_of(const char *name, int steps)
{
    struct buf text = {0};
    buf_addz(&text, "version: 1\nsteps:\n");
    for (int i = 0; i < steps; i++) {
        buf_fmt(&text,
                "- reply: {calls: [{name: calculator, arguments: {expression: \"%d + 1\"}}]}\n", i);
    }
    buf_addz(&text, "- reply: {text: Done.}\n");
    buf_char(&text, '\0');
    const char *path = write_text(whole.dir, name, text.p);
    buf_free(&text);
    return path;
}

static const struct ran *run(const char *script)
{
    return ASSAY("run", "--fake", script, "--tools", whole.tools, "--trace", whole.trace,
                 "--budget", BUDGET, "Add.");
}

static void begin(void)
{
    whole.dir = testing_dir();
    whole.tools =
        write_text(whole.dir, "tools.yaml", "version: 1\ntools:\n- builtin: calculator\n");
    whole.script = script_of("long.yaml", STEPS);
    whole.trace = path_of("%s/t.jsonl", whole.dir);
    whole.snapshot = path_of("%s.snap", whole.trace);
    unlink(whole.snapshot);
    const struct ran *r = run(whole.script);
    CHECK_STATUS(r, 0);
    whole.log = read_text(whole.trace, &whole.n);
    CU_ASSERT_FATAL(whole.log != NULL && count_lines(whole.log) > STEPS * STEP_LINES);
}

/* The bytes of the log's first lines. */
static size_t bytes_of(size_t lines)
{
    const char *at = whole.log;
    for (size_t i = 0; i < lines; i++) {
        at = strchr(at, '\n') + 1;
    }
    return (size_t)(at - whole.log);
}

static void put(const char *name, struct str bytes)
{
    write_bytes(whole.dir, name, bytes.p, bytes.n);
}

static void cut(size_t lines)
{
    put("t.jsonl", (struct str){whole.log, bytes_of(lines)});
}

/* A snapshot behind so many lines, or fewer: there must be a quiet place. */
static void snapshot_at(size_t lines, struct buf *out)
{
    struct err e;
    struct resumed *r = NULL;
    buf_clear(out);
    for (bool taken = false; !taken; lines--) {
        unlink(whole.snapshot);
        cut(lines);
        CU_ASSERT_EQUAL_FATAL(resumed_open(whole.trace, SIZE_MAX, NULL, &r, &e), 0);
        taken = r->missing.n == 0 && kernel_snapshot(r->kernel, out, NULL);
        resumed_free(r);
    }
}

/* How many lines the snapshot saves those who open the log as it stands there. */
static size_t saved(size_t lines_max)
{
    struct err e;
    struct resumed *r = NULL;
    CU_ASSERT_EQUAL_FATAL(resumed_open(whole.trace, lines_max, NULL, &r, &e), 0);
    size_t n = r->restored;
    resumed_free(r);
    return n;
}

static const struct ran *resume(void)
{
    return ASSAY("resume", whole.trace, "--fake", whole.script, "--tools", whole.tools);
}

static void check_whole(const char *want)
{
    const char *log = read_text(whole.trace, NULL);
    CU_ASSERT(log != NULL && strcmp(log, want) == 0);
    const struct ran *r = ASSAY("trace", "verify", whole.trace, "--tools", whole.tools);
    CHECK_STATUS(r, 0);
}

/* ---- tests ---- */

static void long_runs_keep_one(void)
{
    struct stat st;
    begin();
    const char *text = read_text(whole.snapshot, NULL);
    CU_ASSERT_FATAL(text != NULL);
    CU_ASSERT(strncmp(text, SNAPSHOT_BEGINNING, strlen(SNAPSHOT_BEGINNING)) == 0);
    CU_ASSERT(saved(SIZE_MAX) >= SNAPSHOT_LINES);
    CU_ASSERT(stat(path_of("%s.tmp", whole.snapshot), &st) != 0);
    /* a short one removes what is an older run's, and keeps none */
    CHECK_STATUS(run(script_of("short.yaml", 2)), 0);
    CU_ASSERT(stat(whole.snapshot, &st) != 0);
    /* what is no snapshot is somebody's file */
    put("t.jsonl.snap", STR("{\"mine\":1}"));
    CHECK_STATUS(run(whole.script), 0);
    CU_ASSERT(strcmp(read_text(whole.snapshot, NULL), "{\"mine\":1}") == 0);
}

/* The snapshot is as private as its log. */
static void as_private_as_the_log(void)
{
    struct stat st;
    begin();
    CU_ASSERT_EQUAL(chmod(whole.trace, 0600), 0);
    unlink(whole.snapshot);
    CHECK_STATUS(run(whole.script), 0);
    CU_ASSERT(stat(whole.snapshot, &st) == 0 && (st.st_mode & 0777) == 0600);
}

static void any_snapshot_goes_on_the_same(void)
{
    struct buf own = {0}, ahead = {0}, torn = {0};
    begin();
    for (size_t lines = 70; lines < STEPS * STEP_LINES; lines += 37) {
        snapshot_at(lines + 20, &ahead);
        snapshot_at(lines - 6, &own);
        buf_clear(&torn);
        buf_add(&torn, str_slice(buf_str(&own), 0, own.n / 2));
        cut(lines);
        unlink(whole.snapshot);
        CHECK_STATUS(resume(), 0);
        const char *want = read_text(whole.trace, NULL);
        const struct {
            struct str bytes;
            bool fits;
        } cases[] = {{buf_str(&own), true},   {buf_str(&ahead), false},
                     {buf_str(&torn), false}, {STR(""), false},
                     {STR("not one"), false}, {{whole.log, whole.n}, false}};
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            cut(lines);
            put("t.jsonl.snap", cases[i].bytes);
            put("t.jsonl.snap.tmp", STR("of one that was killed"));
            CU_ASSERT_EQUAL(saved(SIZE_MAX) > 0, cases[i].fits);
            CHECK_STATUS(resume(), 0);
            check_whole(want);
        }
    }
    buf_free(&own);
    buf_free(&ahead);
    buf_free(&torn);
}

/* What does not follow behind a snapshot is told as without one. */
static void damage_is_told_the_same(void)
{
    struct buf own = {0}, log = {0};
    begin();
    snapshot_at(100, &own);
    buf_add(&log, (struct str){whole.log, whole.n});
    for (size_t lines = 90; lines < 130; lines += 10) { /* before it and behind it */
        char *at = log.p + bytes_of(lines) + 8;
        char was = *at;
        *at = was == '9' ? '8' : '9';
        put("t.jsonl", buf_str(&log));
        unlink(whole.snapshot);
        const struct ran *without = resume();
        CHECK_STATUS(without, 2);
        put("t.jsonl.snap", buf_str(&own));
        const struct ran *with = resume();
        CHECK_STATUS(with, 2);
        CU_ASSERT(strcmp(with->err, without->err) == 0);
        *at = was;
    }
    buf_free(&own);
    buf_free(&log);
}

/* A fork begins behind a snapshot that stands before its place, and is the same as without. */
static void forks_are_the_same(void)
{
    struct buf own = {0};
    begin();
    const char *fork = path_of("%s/f.jsonl", whole.dir), *want = NULL;
    snapshot_at(120, &own);
    for (int at = 110; at <= 130; at += 20) {
        for (int with = 0; with < 2; with++) {
            put("t.jsonl", (struct str){whole.log, whole.n});
            unlink(whole.snapshot);
            if (with == 1) {
                put("t.jsonl.snap", buf_str(&own));
                CU_ASSERT_EQUAL(saved((size_t)at) > 0, at == 130);
            }
            const struct ran *r =
                ASSAY("fork", whole.trace, "--at", path_of("%d", at), "--trace", fork, "--fake",
                      whole.script, "--tools", whole.tools, "--budget", BUDGET);
            CHECK_STATUS(r, 0);
            const char *log = read_text(fork, NULL);
            CU_ASSERT(with == 0 || strcmp(log, want) == 0);
            want = log;
        }
    }
    buf_free(&own);
}

/* The audit feeds every line: a snapshot that says a log is right counts for nothing. */
static void the_audit_does_not_look(void)
{
    struct buf log = {0}, forged = {0};
    begin();
    struct buf own = {0};
    snapshot_at(150, &own);
    buf_add(&log, (struct str){whole.log, whole.n});
    size_t at = bytes_of(1) + str_find(str_slice(buf_str(&log), bytes_of(1), log.n), STR("Add."));
    log.p[at] = 'B';
    struct str text = str_slice(buf_str(&own), 0, own.n - CHECK_BYTES);
    size_t sum = str_find(text, STR("\"sum\":\"")) + 7;
    const char *bytes = text.p + str_find(text, STR("\"bytes\":")) + 8;
    size_t n = 0;
    while (*bytes != ',') {
        n = n * 10 + (size_t)(*bytes++ - '0');
    }
    buf_add(&forged, str_slice(text, 0, sum));
    buf_fmt(&forged, "%016" PRIx64, hash64(0, str_slice(buf_str(&log), 0, n)));
    buf_add(&forged, str_slice(text, sum + 16, text.n));
    buf_fmt(&forged, ",\"check\":\"%016" PRIx64 "\"}\n", hash64(0, buf_str(&forged)));
    put("t.jsonl", str_slice(buf_str(&log), 0, n));
    put("t.jsonl.snap", buf_str(&forged));
    CU_ASSERT(saved(SIZE_MAX) > 0); /* it does fit */
    put("t.jsonl", buf_str(&log));
    const struct ran *with = ASSAY("trace", "verify", whole.trace, "--tools", whole.tools);
    CHECK_STATUS(with, 1);
    unlink(whole.snapshot);
    const struct ran *without = ASSAY("trace", "verify", whole.trace, "--tools", whole.tools);
    CU_ASSERT(strcmp(with->err, without->err) == 0 && strcmp(with->out, without->out) == 0);
    buf_free(&log);
    buf_free(&own);
    buf_free(&forged);
}

TESTS(snapshot, {"long_runs_keep_a_snapshot_and_short_ones_none", long_runs_keep_one},
      {"a_snapshot_is_as_private_as_its_log", as_private_as_the_log},
      {"a_run_goes_on_the_same_beside_any_snapshot", any_snapshot_goes_on_the_same},
      {"damage_is_told_the_same_beside_a_snapshot", damage_is_told_the_same},
      {"forks_are_the_same_beside_a_snapshot", forks_are_the_same},
      {"verify_looks_at_no_snapshot", the_audit_does_not_look})
