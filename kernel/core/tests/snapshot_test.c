/* Snapshots of random runs (play.h): what is brought up with one is, to every later command and log
 * line, what is brought up by feeding the whole log; and whatever else is in their place is passed
 * over. The whole log is the reference. */
#include "kernel/core/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/hash.h"
#include "kernel/base/rng.h"
#include "kernel/core/kernel_int.h"
#include "kernel/core/tests/play.h"

enum { RUNS = 8, EVENTS = 50, SNAPSHOTS_MAX = 400, CHECK_BYTES = 29 };

/* A run and every snapshot that was taken of it. */
struct taken {
    struct play p;
    struct rng rng;
    size_t n;
    struct str text[SNAPSHOTS_MAX];
    size_t at[SNAPSHOTS_MAX]; /* bytes of the log then */
};

static struct taken taken;

static uint64_t from_rng(void *ctx, uint64_t bound)
{
    return rng_below(ctx, bound);
}

static void play(uint64_t seed, bool crashes)
{
    struct play *p = &taken.p;
    uint64_t quiet = 0;
    taken.n = 0;
    taken.rng = rng_seeded(seed);
    play_begin(p, from_rng, &taken.rng);
    p->crashes = crashes;
    p->snapshots = 1;
    for (int i = 0; i < EVENTS && play_fault(p) == NULL; i++) {
        play_event(p);
        struct str log = buf_str(&p->log), text = buf_str(&p->snapshot);
        if (p->quiet > quiet && taken.n < SNAPSHOTS_MAX) {
            quiet = p->quiet;
            struct str sum = str_slice(text, str_find(text, STR("\"bytes\":")) + 8, text.n);
            size_t bytes = 0;
            for (size_t d = 0; sum.p[d] != ','; d++) {
                bytes = bytes * 10 + (size_t)(sum.p[d] - '0');
            }
            if (bytes <= log.n) { /* a crash may have cut the log meanwhile */
                taken.at[taken.n] = bytes;
                taken.text[taken.n++] = arena_str(p->arena, text);
            }
        }
    }
    CU_ASSERT_PTR_NULL(play_fault(p));
}

/* A kernel brought up from a log. */
struct brought {
    struct arena *arena;
    struct kernel *k;
    struct kernel_replay out;
    int rc;
    struct buf state; /* n 0 = no quiet place */
};

static struct brought bring_up(struct str log, size_t lines_max, struct str snapshot)
{
    struct brought b = {.arena = arena_new()};
    struct kernel_config config;
    struct err e = {0};
    b.out =
        (struct kernel_replay){.tools = taken.p.tools, .n_tools = PLAY_TOOLS, .snapshot = snapshot};
    b.rc = kernel_config_of_log(b.arena, "log", log, taken.p.tools, PLAY_TOOLS, &config, &e);
    CU_ASSERT_EQUAL_FATAL(b.rc, 0);
    b.k = kernel_new(&config);
    b.rc = kernel_replay(b.k, "log", log, lines_max, &b.out, &e);
    if (b.rc != 0) {
        printf("\nline %u: %s\n", e.line, e.message);
    }
    if (!kernel_snapshot(b.k, &b.state, NULL)) {
        CU_ASSERT_EQUAL(b.state.n, 0);
    }
    return b;
}

static void let_go(struct brought *b)
{
    kernel_free(b->k);
    buf_free(&b->out.missing);
    buf_free(&b->state);
    arena_free(b->arena);
}

static bool same(const struct brought *a, const struct brought *b)
{
    return a->rc == b->rc && a->out.lines == b->out.lines && a->out.bytes == b->out.bytes &&
           a->out.torn == b->out.torn && kernel_stage(a->k) == kernel_stage(b->k) &&
           kernel_now(a->k) == kernel_now(b->k) &&
           str_eq(buf_str(&a->out.missing), buf_str(&b->out.missing)) &&
           str_eq(buf_str(&a->state), buf_str(&b->state));
}

/* Whether a log is brought up the same with the snapshot and without, and whether it was used. */
static bool comes_to_the_same(struct str log, size_t lines_max, struct str snapshot, bool used)
{
    struct brought with = bring_up(log, lines_max, snapshot);
    struct brought without = bring_up(log, lines_max, (struct str){NULL, 0});
    bool right = with.rc == 0 && same(&with, &without) && (with.out.restored > 0) == used;
    let_go(&with);
    let_go(&without);
    return right;
}

/* ---- what they are for ---- */

/* What the run had come to when it was taken is what the log comes to. */
static void tell_what_the_log_tells(void)
{
    size_t n = 0;
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        play(seed, seed % 2 == 1);
        for (size_t i = 0; i < taken.n; i++, n++) {
            struct str prefix = str_slice(buf_str(&taken.p.log), 0, taken.at[i]);
            struct brought fed = bring_up(prefix, SIZE_MAX, (struct str){NULL, 0});
            struct brought restored = bring_up(prefix, SIZE_MAX, taken.text[i]);
            CU_ASSERT(str_eq(buf_str(&fed.state), taken.text[i]));
            CU_ASSERT(str_eq(buf_str(&restored.state), taken.text[i]));
            CU_ASSERT(same(&fed, &restored));
            CU_ASSERT_EQUAL(restored.out.restored, play_count_lines(prefix));
            let_go(&fed);
            let_go(&restored);
        }
        play_end(&taken.p);
    }
    CU_ASSERT(n > RUNS * 4);
}

/* Behind each of them any number of the log's lines may follow, and the log may be cut there. */
static void whole_logs_behind_them(void)
{
    for (uint64_t seed = 100; seed < 100 + RUNS; seed++) {
        play(seed, seed % 2 == 1);
        struct str log = buf_str(&taken.p.log);
        for (size_t i = 0; i < taken.n; i++) {
            size_t lines = play_count_lines(str_slice(log, 0, taken.at[i])),
                   all = play_count_lines(log);
            size_t cut = taken.at[i] + rng_below(&taken.rng, log.n - taken.at[i] + 1);
            CU_ASSERT(comes_to_the_same(log, SIZE_MAX, taken.text[i], true));
            CU_ASSERT(comes_to_the_same(str_slice(log, 0, cut), SIZE_MAX, taken.text[i], true));
            CU_ASSERT(comes_to_the_same(log, lines + rng_below(&taken.rng, all - lines + 1),
                                        taken.text[i], true));
            CU_ASSERT(comes_to_the_same(log, lines - 1, taken.text[i], false));
            CU_ASSERT(comes_to_the_same(str_slice(log, 0, taken.at[i] - 1), SIZE_MAX, taken.text[i],
                                        false));
        }
        play_end(&taken.p);
    }
}

/* Two lives go on from one place, one of them brought up with a snapshot: the same world does the
 * same to both, and they say and ask for the same until the end. */
static void lives_go_on_the_same(void)
{
    unsigned restored = 0;
    for (uint64_t seed = 200; seed < 200 + RUNS; seed++) {
        play(seed, false);
        for (size_t i = 0; i < taken.n; i++) {
            struct play life[2];
            struct rng rng[2];
            size_t rest = taken.p.log.n - taken.at[i];
            size_t bytes = taken.at[i] + rng_below(&taken.rng, rest < 600 ? rest + 1 : 600);
            struct str text =
                i % 3 == 0 ? (struct str){NULL, 0} : STR("another question of the user");
            for (int j = 0; j < 2; j++) {
                struct play from = taken.p;
                rng[j] = rng_seeded(seed * 1000 + i);
                from.ctx = &rng[j];
                from.snapshots = 0;
                from.snapshot = (struct buf){.p = NULL};
                if (j == 1) {
                    buf_add(&from.snapshot, taken.text[i]);
                }
                play_fork(&life[j], &from, bytes, SIZE_MAX, i % 2 == 0, text);
                for (int n = 0; n < EVENTS && play_fault(&life[j]) == NULL; n++) {
                    play_event(&life[j]);
                }
                play_to_end(&life[j]);
                CU_ASSERT_PTR_NULL(play_fault(&life[j]));
                buf_free(&from.snapshot);
            }
            restored += life[1].restored;
            CU_ASSERT(str_eq(buf_str(&life[0].log), buf_str(&life[1].log)));
            CU_ASSERT_EQUAL(life[0].commanded, life[1].commanded);
            play_end(&life[0]);
            play_end(&life[1]);
        }
        play_end(&taken.p);
    }
    CU_ASSERT(restored > RUNS * 4);
}

/* Every count that a later decision or line can depend on, named here once more. */
static void every_count_comes_back(void)
{
    struct kernel_config config = kernel_config_default();
    config.run = config.started_at = config.model = STR("m");
    struct kernel *k[2] = {kernel_new(&config), kernel_new(&config)};
    struct buf log = {0}, text = {0};
    CU_ASSERT_EQUAL(
        kernel_feed(k[0], &(struct event){.kind = EV_USER_MESSAGE, .text = STR("a")}, 5), 0);
    buf_add(&log, kernel_take_log(k[0]));
    int64_t value = 1000;
    for (int i = 0; i < 2; i++) {
        int64_t *const counts[] = {&k[i]->step,
                                   &k[i]->attempt,
                                   &k[i]->pauses,
                                   &k[i]->pauses_same,
                                   &k[i]->calls_made,
                                   &k[i]->nothing_new,
                                   &k[i]->size_left,
                                   &k[i]->streak,
                                   &k[i]->tokens,
                                   &k[i]->cost_nano,
                                   &k[i]->usage.input,
                                   &k[i]->usage.cached,
                                   &k[i]->usage.output,
                                   &k[i]->base.steps,
                                   &k[i]->usage.reasoning,
                                   &k[i]->base.tokens,
                                   &k[i]->base.calls,
                                   &k[i]->base.cost_nano,
                                   &k[i]->usage.cache_write};
        uint64_t *const others[] = {&k[i]->now, &k[i]->attempt_at, &k[i]->base.ms, &k[i]->last_text,
                                    &k[i]->rng.state};
        if (i == 1) {
            CU_ASSERT(kernel_snapshot(k[0], &text, NULL));
            CU_ASSERT(kernel_restore(k[1], buf_str(&text), buf_str(&log), SIZE_MAX, NULL, 0));
            value = 1000;
        }
        for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
            *counts[n] = i == 0 ? value : *counts[n];
            CU_ASSERT_EQUAL(*counts[n], value++);
        }
        for (size_t n = 0; n < sizeof others / sizeof others[0]; n++) {
            *others[n] = i == 0 ? (uint64_t)value : *others[n];
            CU_ASSERT_EQUAL(*others[n], (uint64_t)value++);
        }
        for (size_t n = 0; n < ALTERNATION_STEPS; n++) {
            uint64_t sign = UINT64_MAX - n; /* any 64 bits */
            k[i]->step_sign[n] = i == 0 ? sign : k[i]->step_sign[n];
            CU_ASSERT_EQUAL(k[i]->step_sign[n], sign);
        }
        k[i]->order = i == 0 ? UINT32_MAX : k[i]->order;
        CU_ASSERT_EQUAL(k[i]->order, UINT32_MAX);
    }
    CU_ASSERT(k[1]->state == STATE_MODEL && k[1]->seq == k[0]->seq && k[1]->size == k[0]->size);
    for (int i = 0; i < 2; i++) {
        kernel_free(k[i]);
    }
    buf_free(&log);
    buf_free(&text);
}

/* ---- what is passed over ---- */

/* A run with a snapshot somewhere in its middle. */
static size_t play_some(void)
{
    uint64_t seed = 300;
    play(seed, false);
    while (taken.n < 6) {
        play_end(&taken.p);
        play(++seed, false);
    }
    return taken.n / 2;
}

static bool restores(struct str log, struct str snapshot)
{
    struct kernel_config config;
    struct err e;
    struct arena *arena = arena_new();
    CU_ASSERT_EQUAL_FATAL(
        kernel_config_of_log(arena, "log", log, taken.p.tools, PLAY_TOOLS, &config, &e), 0);
    struct kernel *k = kernel_new(&config);
    bool yes = kernel_restore(k, snapshot, log, SIZE_MAX, taken.p.tools, PLAY_TOOLS);
    kernel_free(k);
    arena_free(arena);
    return yes;
}

static void changed_ones(void)
{
    size_t which = play_some();
    struct str log = buf_str(&taken.p.log), text = taken.text[which];
    struct buf copy = {0};
    buf_add(&copy, text);
    CU_ASSERT(restores(log, buf_str(&copy)));
    for (size_t i = 0; i < copy.n; i++) {
        char was = copy.p[i];
        copy.p[i] = (char)(was ^ (1 << rng_below(&taken.rng, 8)));
        CU_ASSERT(!restores(log, buf_str(&copy)));
        if (i % 97 == 0) {
            CU_ASSERT(comes_to_the_same(log, SIZE_MAX, buf_str(&copy), false));
        }
        copy.p[i] = was;
        CU_ASSERT(!restores(log, str_slice(text, 0, i)));
    }
    buf_addz(&copy, "\n");
    CU_ASSERT(!restores(log, buf_str(&copy)));
    CU_ASSERT(comes_to_the_same(log, SIZE_MAX, STR(""), false));
    buf_free(&copy);
    play_end(&taken.p);
}

/* A log that was changed, were it only in one byte, has no use for it: it is fed, and what is wrong
 * with it is told. */
static void of_another_log(void)
{
    size_t which = play_some();
    struct buf log = {0};
    buf_add(&log, buf_str(&taken.p.log));
    struct str text = taken.text[which];
    for (size_t at = 1; at < taken.at[which]; at += 7) {
        log.p[at] ^= 1;
        CU_ASSERT(at % 70 != 1 || restores(buf_str(&taken.p.log), text));
        struct kernel *k = kernel_new(&taken.p.first);
        CU_ASSERT(!kernel_restore(k, text, buf_str(&log), SIZE_MAX, taken.p.tools, PLAY_TOOLS));
        kernel_free(k);
        log.p[at] ^= 1;
    }
    buf_free(&log);
    play_end(&taken.p);
}

/* Whoever changes a tool gets what feeding the log gives. */
static void of_other_tools(void)
{
    size_t which = play_some();
    struct tool_spec tools[PLAY_TOOLS];
    struct str log = buf_str(&taken.p.log);
    CU_ASSERT(strstr(taken.text[which].p, "\"tools\":[]") == NULL);
    for (int i = 0; i < 5; i++) {
        memcpy(tools, taken.p.tools, sizeof tools);
        switch (i) {
        case 0: tools[0].timeout_ms++; break;
        case 1: tools[0].description = STR("another"); break;
        case 2: tools[0].parameters = STR("{\"type\":\"object\"}"); break;
        case 3: tools[0].terminal = !tools[0].terminal; break;
        case 4: tools[0].max_output = 7; break;
        }
        struct kernel *k = kernel_new(&taken.p.first);
        CU_ASSERT(!kernel_restore(k, taken.text[which], log, SIZE_MAX, tools, PLAY_TOOLS));
        CU_ASSERT(kernel_restore(k, taken.text[which], log, SIZE_MAX, taken.p.tools, PLAY_TOOLS));
        kernel_free(k);
    }
    play_end(&taken.p);
}

/* The snapshot with its first `was` replaced, and a check that fits. */
static struct str forged(struct arena *arena, struct str text, const char *was, const char *is)
{
    struct buf b = {0};
    size_t at = str_find(text, str_of(was));
    CU_ASSERT_FATAL(at != SIZE_MAX && at < text.n - CHECK_BYTES);
    buf_add(&b, str_slice(text, 0, at));
    buf_addz(&b, is);
    buf_add(&b, str_slice(text, at + str_of(was).n, text.n - CHECK_BYTES));
    buf_fmt(&b, ",\"check\":\"%016" PRIx64 "\"}\n", hash64(0, buf_str(&b)));
    struct str s = arena_str(arena, buf_str(&b));
    buf_free(&b);
    return s;
}

/* A check that fits says nothing of what is in it. */
static void impossible_ones(void)
{
    static const char *const changes[][2] = {
        {"{\"snapshot\":1", "{\"snapshot\":2"},
        {"\"lines\":", "\"lines\":0,\"x\":"},
        {"\"lines\":", "\"lines\":-5,\"x\":"},
        {"\"bytes\":", "\"bytes\":0,\"x\":"},
        {"\"bytes\":", "\"bytes\":1,\"x\":"},
        {"\"bytes\":", "\"bytes\":99999999,\"x\":"},
        {"\"sum\":\"", "\"sum\":\"0"},
        {"\"state\":\"", "\"state\":\"tools\",\"x\":\""},
        {"\"step\":", "\"step\":-1,\"x\":"},
        {"\"step\":", "\"step\":\"1\",\"x\":"},
        {"\"step\":", "\"x\":"},
        {"\"tokens\":", "\"tokens\":9223372036854775807,\"x\":"},
        {"\"order\":", "\"order\":4294967296,\"x\":"},
        {"\"run\":{", "\"run\":{\"model\":7,\"x\":1},\"y\":{"},
        {"\"run\":{", "\"run\":[],\"y\":{"},
        {"\"tools\":[", "\"tools\":[\"nobody\","},
        {"\"budget\":{", "\"budget\":{\"steps\":-1},\"x\":{"},
        {"\"config\":{", "\"config\":{\"keep_steps\":0},\"x\":{"},
        {"\"tools_hash\":", "\"tools_hash\":1,\"x\":"},
        {"\"always\":[", "\"always\":[\"nobody\"],\"x\":["},
        {"\"seen\":[", "\"seen\":[[\"k\",1]],\"x\":["},
        {"\"seen\":[", "\"seen\":[[\"k\",-1,null]],\"x\":["},
        {"\"seen\":[", "\"seen\":[7],\"x\":["},
        {"\"seen\":[", "\"seen\":[[\"k\",-1,null],"},
        {"\"state\":\"", "\"state\":\"done\",\"result\":{},\"x\":\""},
        {"\"history\":[", "\"history\":[],\"x\":["},
        {"\"history\":[", "\"history\":[{\"role\":\"system\",\"content\":\"a\"}],\"x\":["},
        {"\"last_seen\":", "\"last_seen\":5000,\"x\":"},
        {"\"last_seen\":", "\"last_seen\":-2,\"x\":"},
        {"\"told\":[", "\"told\":[\"a\"],\"x\":["},
        {"\"history\":[", "\"history\":[{\"role\":\"nobody\",\"content\":\"\"},"},
        {"\"history\":[", "\"history\":[{\"role\":\"user\"},"},
        {"\"history\":[", "\"history\":[{\"role\":\"tool\",\"content\":\"\",\"call_id\":\"a\"},"},
        {"\"history\":[", "\"history\":[{\"role\":\"system\",\"content\":\"a\"},"
                          "{\"role\":\"system\",\"content\":\"a\"},"},
        {"\"history\":[", "\"history\":[{\"role\":\"assistant\",\"content\":\"\",\"calls\":"
                          "[{\"id\":\"a\",\"name\":\"b\"}]},"},
        {"\"history\":[", "\"history\":[{\"role\":\"assistant\",\"content\":\"a\"}],\"x\":["},
    };
    size_t which = play_some();
    struct play *p = &taken.p;
    struct str log = buf_str(&p->log), text = taken.text[which];
    CU_ASSERT(restores(log, forged(p->arena, text, "\"told\":[", "\"told\":[")));
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct str wrong = forged(p->arena, text, changes[i][0], changes[i][1]);
        bool refused = !restores(log, wrong);
        if (!refused) {
            printf("\ntaken for a snapshot: %s\n", changes[i][1]);
        }
        CU_ASSERT(refused);
        CU_ASSERT(comes_to_the_same(log, SIZE_MAX, wrong, false));
    }
    play_end(p);
}

/* ---- when they are taken ---- */

static void due_by_lines_and_bytes(void)
{
    static const struct {
        int64_t lines;
        size_t size, bytes;
        bool due;
    } cases[] = {
        {64, 0, 1, true},       {63, 0, 1000000, false},  {64, 1000, 1000, true},
        {64, 1000, 999, false}, {6400, 1000, 999, false}, {65, 1000, 5000, true},
    };
    struct kernel_config config = kernel_config_default();
    config.run = config.started_at = config.model = STR("m");
    struct kernel *k = kernel_new(&config);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct snapshot_mark last = {.size = cases[i].size};
        k->seq = cases[i].lines;
        k->logged = cases[i].bytes;
        CU_ASSERT(!kernel_snapshot_due(k, &last)); /* lines wait to be taken */
        (void)kernel_take_log(k);
        CU_ASSERT_EQUAL(kernel_snapshot_due(k, &last), cases[i].due);
        k->log_taken = 0;
    }
    kernel_free(k);
}

/* All snapshots of a long run together are a small multiple of its log. */
static void small_beside_the_log(void)
{
    struct rng rng = rng_seeded(7);
    struct play p;
    struct snapshot_mark last = {.size = 0};
    size_t written = 0, n = 0;
    play_begin(&p, from_rng, &rng);
    for (int i = 0; i < 4000; i++) {
        struct buf text = {0};
        play_event(&p);
        if (kernel_snapshot_due(p.k, &last) && kernel_snapshot(p.k, &text, &last)) {
            CU_ASSERT(last.size == text.n && last.bytes == p.log.n);
            n++;
            written += text.n;
        }
        buf_free(&text);
    }
    CU_ASSERT_PTR_NULL(play_fault(&p));
    CU_ASSERT(n > 10 && written - last.size <= p.log.n);
    play_end(&p);
}

TESTS(snapshot, {"snapshots_tell_what_the_log_tells", tell_what_the_log_tells},
      {"snapshots_stand_before_any_rest_of_their_log", whole_logs_behind_them},
      {"a_run_goes_on_from_a_snapshot_as_from_its_log", lives_go_on_the_same},
      {"snapshots_keep_every_count", every_count_comes_back},
      {"snapshots_with_a_changed_byte_are_passed_over", changed_ones},
      {"snapshots_of_another_log_are_passed_over", of_another_log},
      {"snapshots_of_other_tools_are_passed_over", of_other_tools},
      {"snapshots_that_fit_and_say_the_impossible_are_passed_over", impossible_ones},
      {"snapshots_are_due_by_lines_and_bytes", due_by_lines_and_bytes},
      {"snapshots_are_small_beside_their_log", small_beside_the_log})
