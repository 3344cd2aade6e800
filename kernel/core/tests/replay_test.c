/* Feeding logs again: logs of random runs (play.h), as they are, cut anywhere, changed anywhere,
 * forked anywhere. What must hold is said by DESIGN.md (the log is the whole truth) and checked by
 * check.h. A failing seed is printed. */
#include "kernel/core/replay.h"

#include <stdio.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/json.h"
#include "kernel/base/rng.h"
#include "kernel/core/tests/play.h"

enum { RUNS = 120, EVENTS = 80, CUT_RUNS = 6, CUT_EVENTS = 30, BYTE_RUNS = 2, BYTE_EVENTS = 12 };

static uint64_t from_rng(void *ctx, uint64_t bound)
{
    return rng_below(ctx, bound);
}

/* A played run of so many events, and maybe to its end. */
static void played(struct play *p, struct rng *rng, uint64_t seed, int events, bool crashes)
{
    *rng = rng_seeded(seed);
    play_begin(p, from_rng, rng);
    p->crashes = crashes;
    p->snapshots = seed % 3;
    for (int i = 0; i < events && play_fault(p) == NULL; i++) {
        play_event(p);
    }
    if (seed % 4 != 0) {
        play_to_end(p);
    }
}

static void no_fault(const struct play *p, uint64_t seed, const char *where, size_t at)
{
    const char *found = play_fault(p);
    if (found != NULL) {
        printf("\nseed %llu, %s %zu: %s\n", (unsigned long long)seed, where, at, found);
    }
    CU_ASSERT_PTR_NULL(found);
}

/* Feeds a log from the start; the error where it does not follow. */
static int verify(const struct play *p, struct str log, size_t lines_max, struct kernel_replay *out,
                  struct err *e)
{
    struct arena *arena = arena_new();
    struct kernel_config config;
    *out = (struct kernel_replay){.tools = p->tools, .n_tools = PLAY_TOOLS};
    int rc = kernel_config_of_log(arena, "log", log, p->tools, PLAY_TOOLS, &config, e);
    if (rc == 0) {
        struct kernel *k = kernel_new(&config);
        rc = kernel_replay(k, "log", log, lines_max, out, e);
        kernel_free(k);
    }
    arena_free(arena);
    return rc;
}

/* ---- tests ---- */

static void whole_logs_verify(void)
{
    unsigned ends = 0, crashed = 0, restored = 0, resumed = 0, compactions = 0, summaries = 0,
             approvals = 0;
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        struct play p;
        struct rng rng;
        struct kernel_replay out;
        struct err e = {0};
        played(&p, &rng, seed, EVENTS, seed % 2 == 1);
        no_fault(&p, seed, "event", 0);
        struct str log = buf_str(&p.log);
        int rc = verify(&p, log, SIZE_MAX, &out, &e);
        if (rc != 0 || out.bytes != log.n) {
            printf("\nseed %llu: line %u: %s\n", (unsigned long long)seed, e.line, e.message);
        }
        CU_ASSERT_EQUAL(rc, 0);
        CU_ASSERT_TRUE(out.bytes == log.n && out.lines == play_count_lines(log) && !out.torn);
        CU_ASSERT_EQUAL(out.missing.n, 0);
        buf_free(&out.missing);
        ends += p.ends;
        crashed += p.crashed;
        restored += p.restored;
        resumed += p.resumed;
        compactions += p.compactions;
        summaries += p.summaries;
        approvals += p.approvals;
        play_end(&p);
    }
    /* the runs are not all of a kind */
    CU_ASSERT_TRUE(ends > RUNS && crashed > RUNS / 4 && resumed > RUNS / 4 && restored > RUNS / 8);
    CU_ASSERT_TRUE(compactions > 20 && summaries > 10 && approvals > 20);
}

/* The decided lines that follow from the last event of a prefix are those that were there. */
static void cut_at(const struct play *p, uint64_t seed, size_t bytes)
{
    struct kernel_replay out;
    struct err e = {0};
    struct str log = buf_str(&p->log), prefix = str_slice(log, 0, bytes);
    int rc = verify(p, prefix, SIZE_MAX, &out, &e);
    struct str behind = str_slice(log, out.bytes, log.n);
    struct str missing = buf_str(&out.missing);
    bool follows = rc == 0 && str_eq(missing, str_slice(behind, 0, missing.n));
    if (!follows) {
        printf("\nseed %llu, cut at byte %zu: %s line %u: %s\n", (unsigned long long)seed, bytes,
               rc == 0 ? "other decisions than before" : "refused", e.line, e.message);
    }
    CU_ASSERT_TRUE(follows);
    CU_ASSERT_TRUE(out.bytes <= bytes && out.lines == play_count_lines(prefix));
    CU_ASSERT_EQUAL(out.torn, bytes > 0 && prefix.p[bytes - 1] != '\n');
    buf_free(&out.missing);
}

/* The run goes on from the cut, ends, and its log verifies again. */
static void goes_on_from(const struct play *p, uint64_t seed, size_t bytes, bool change,
                         struct str text)
{
    struct play fork;
    struct kernel_replay out;
    struct err e = {0};
    size_t whole = bytes;
    while (whole > 0 && p->log.p[whole - 1] != '\n') {
        whole--;
    }
    play_fork(&fork, p, bytes, SIZE_MAX, change, text);
    play_to_end(&fork);
    no_fault(&fork, seed, "cut at byte", bytes);
    struct str log = buf_str(&fork.log);
    CU_ASSERT_TRUE(str_eq(str_slice(log, 0, whole), str_slice(buf_str(&p->log), 0, whole)));
    if (verify(p, log, SIZE_MAX, &out, &e) != 0) {
        printf("\nseed %llu, gone on from byte %zu: line %u: %s\n", (unsigned long long)seed, bytes,
               e.line, e.message);
    }
    CU_ASSERT_EQUAL(out.bytes, log.n);
    CU_ASSERT_EQUAL(out.missing.n, 0);
    buf_free(&out.missing);
    play_end(&fork);
}

static size_t first_line(const struct play *p)
{
    return str_find(buf_str(&p->log), STR("\n")) + 1;
}

static void logs_cut_at_any_line_go_on(void)
{
    for (uint64_t seed = 1000; seed < 1000 + CUT_RUNS; seed++) {
        struct play p;
        struct rng rng;
        played(&p, &rng, seed, CUT_EVENTS, seed % 2 == 1);
        for (size_t at = first_line(&p); at <= p.log.n && play_fault(&p) == NULL; at++) {
            if (p.log.p[at - 1] == '\n') {
                cut_at(&p, seed, at);
                goes_on_from(&p, seed, at, false, (struct str){NULL, 0});
            }
        }
        play_end(&p);
    }
}

static void logs_cut_at_any_byte_go_on(void)
{
    for (uint64_t seed = 2000; seed < 2000 + BYTE_RUNS; seed++) {
        struct play p;
        struct rng rng;
        played(&p, &rng, seed, BYTE_EVENTS, false);
        size_t end = p.log.n < 4000 ? p.log.n : 4000;
        for (size_t at = first_line(&p); at <= end; at++) {
            cut_at(&p, seed, at);
            if (at % 11 == 0) {
                goes_on_from(&p, seed, at, false, (struct str){NULL, 0});
            }
        }
        play_end(&p);
    }
}

static void forks_keep_their_prefix(void)
{
    for (uint64_t seed = 3000; seed < 3000 + CUT_RUNS; seed++) {
        struct play p;
        struct rng rng;
        played(&p, &rng, seed, CUT_EVENTS, seed % 2 == 1);
        size_t lines = play_count_lines(buf_str(&p.log));
        for (size_t n = 1; n <= lines && play_fault(&p) == NULL; n++) {
            struct play fork;
            size_t at = 0;
            for (size_t left = n; left > 0; at++) {
                left -= p.log.p[at] == '\n';
            }
            play_fork(&fork, &p, p.log.n, n, n % 2 == 0,
                      n % 3 == 0 ? (struct str){NULL, 0} : STR("another question"));
            play_to_end(&fork);
            no_fault(&fork, seed, "forked at line", n);
            CU_ASSERT_TRUE(fork.log.n >= at && memcmp(fork.log.p, p.log.p, at) == 0);
            goes_on_from(&p, seed, at, true, STR("another question"));
            play_end(&fork);
        }
        play_end(&p);
    }
}

static size_t line_of(struct str log, size_t at)
{
    return play_count_lines(str_slice(log, 0, at)) + 1;
}

static size_t next_end_line(struct str log, size_t at)
{
    size_t end = str_find(str_slice(log, at, log.n), STR("\"type\":\"run_end\""));
    return end == SIZE_MAX ? 0 : line_of(log, at + end);
}

/* A changed byte of an ended log: its own line does not follow, or the sum of the next run_end does
 * not, or a line between them; or the log ends too early. */
static void changed_at(const struct play *p, uint64_t seed, struct str log, size_t at)
{
    struct kernel_replay out = {0};
    struct err e = {0};
    int rc = verify(p, log, SIZE_MAX, &out, &e);
    size_t line = line_of(buf_str(&p->log), at), last = next_end_line(buf_str(&p->log), at);
    bool torn = rc == 0 && (out.torn || out.missing.n > 0);
    bool told = rc != 0 && e.line >= line && (last == 0 || e.line <= last);
    if (!torn && !told && last != 0) {
        printf("\nseed %llu, byte %zu of line %zu changed to %d: rc %d line %u: %s\n",
               (unsigned long long)seed, at, line, log.p[at], rc, e.line, e.message);
        CU_FAIL("a changed byte was not found");
    }
    buf_free(&out.missing);
}

static void changed_bytes_are_found(void)
{
    static const char others[] = "\n\"{}0919,:truefalsenul x\\\x01\xff";
    for (uint64_t seed = 4000; seed < 4000 + CUT_RUNS; seed++) {
        struct play p;
        struct rng rng;
        played(&p, &rng, seed | 1, CUT_EVENTS / 2, false);
        struct buf copy = {0};
        buf_add(&copy, buf_str(&p.log));
        for (int i = 0; i < 300 && play_fault(&p) == NULL; i++) {
            size_t at = rng_below(&rng, copy.n);
            char was = copy.p[at];
            copy.p[at] = i % 2 == 0 ? (char)(was ^ (1 << rng_below(&rng, 7)))
                                    : others[rng_below(&rng, sizeof others - 1)];
            if (copy.p[at] != was) {
                changed_at(&p, seed, buf_str(&copy), at);
            }
            copy.p[at] = was;
        }
        buf_free(&copy);
        play_end(&p);
    }
}

TESTS(replay, {"replay_takes_every_log", whole_logs_verify},
      {"replay_goes_on_from_any_line", logs_cut_at_any_line_go_on},
      {"replay_goes_on_from_any_byte", logs_cut_at_any_byte_go_on},
      {"replay_forks_keep_their_prefix", forks_keep_their_prefix},
      {"replay_finds_changed_bytes", changed_bytes_are_found})
