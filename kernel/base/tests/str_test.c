#include "kernel/base/str.h"

#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/arena.h"
#include "kernel/base/err.h"
#include "kernel/base/hash.h"
#include "kernel/base/rng.h"
#include "kernel/base/text.h"

static void compares_by_bytes(void)
{
    CU_ASSERT(str_cmp(STR("a"), STR("b")) < 0);
    CU_ASSERT(str_cmp(STR("ab"), STR("a")) > 0);
    CU_ASSERT(str_cmp(STR("a"), STR("ab")) < 0);
    CU_ASSERT(str_cmp(STR("\xC3"), STR("z")) > 0);
    CU_ASSERT(str_cmp(STR(""), str_of(NULL)) == 0);
    CU_ASSERT(str_eq(str_of(NULL), STR("")));
    CU_ASSERT(!str_eq(STR("a"), STR("b")));
    CU_ASSERT(str_is_nocase(STR("Content-TYPE"), "content-type"));
    CU_ASSERT(!str_is_nocase(STR("content"), "contents"));
    CU_ASSERT(!str_is_nocase(STR("["), "{"));
    CU_ASSERT(str_starts_nocase(STR("Bearer x"), "bearer "));
    CU_ASSERT(!str_starts_nocase(STR("Bea"), "bearer"));
    CU_ASSERT(str_starts_nocase(str_of(NULL), ""));
    CU_ASSERT(str_cmp_nocase(STR("aB"), STR("Ab")) == 0);
    CU_ASSERT(str_cmp_nocase(STR("A"), STR("b")) < 0);
    CU_ASSERT(str_cmp_nocase(STR("_"), STR("A")) < 0); /* as lower case: '_' before 'a' */
    CU_ASSERT(str_cmp_nocase(STR("ab"), STR("A")) > 0);
    CU_ASSERT(str_cmp_nocase(STR("\xC3"), STR("z")) > 0);
}

static void finds_and_cuts(void)
{
    CU_ASSERT(str_find(STR("aaab"), STR("aab")) == 1);
    CU_ASSERT(str_find(STR("abc"), STR("")) == 0);
    CU_ASSERT(str_find(str_of(NULL), STR("")) == 0);
    CU_ASSERT(str_find(STR("abc"), STR("abcd")) == SIZE_MAX);
    CU_ASSERT(str_find(STR("abc"), STR("cb")) == SIZE_MAX);
    CU_ASSERT(str_is(str_trim(STR(" \t\r\na b\n")), "a b"));
    CU_ASSERT(str_is(str_trim(STR(" \n ")), ""));
    CU_ASSERT(str_is(str_slice(STR("hello"), 1, 3), "el"));
    CU_ASSERT(str_is(str_slice(STR("hello"), 3, 99), "lo"));
    CU_ASSERT(str_is(str_slice(STR("hello"), 4, 2), ""));
    CU_ASSERT(str_starts(STR("tool:x"), "tool:"));
    CU_ASSERT(!str_starts(STR("to"), "tool:"));
    CU_ASSERT(str_ends(STR("a.yaml"), ".yaml"));
    CU_ASSERT(!str_ends(STR("yaml"), ".yaml"));
}

static void knows_names(void)
{
    CU_ASSERT(str_is_name(STR("aZ09"), ""));
    CU_ASSERT(str_is_name(STR("a-b_c"), "_-"));
    CU_ASSERT(!str_is_name(STR("a-b"), "_"));
    CU_ASSERT(!str_is_name(STR(""), "_"));
    CU_ASSERT(!str_is_name(STR("a\0"), "_"));
    CU_ASSERT(!str_is_name(STR("\xC3\xA9"), "_"));
    static const char ends[] = "@[`{/:"; /* beside the letters and digits */
    for (size_t i = 0; ends[i] != '\0'; i++) {
        CU_ASSERT(!str_is_name((struct str){&ends[i], 1}, "_"));
    }
}

static void parts_are_cut_off(void)
{
    struct str rest = STR("a,,b,");
    CU_ASSERT(str_is(str_cut(&rest, ','), "a") && str_is(rest, ",b,"));
    CU_ASSERT(str_is(str_cut(&rest, ','), "") && str_is(rest, "b,"));
    CU_ASSERT(str_is(str_cut(&rest, ','), "b") && rest.n == 0 && rest.p != NULL);
    CU_ASSERT(str_is(str_cut(&rest, ','), "") && rest.n == 0 && rest.p == NULL);
    CU_ASSERT(str_is(str_cut(&rest, ','), "") && rest.p == NULL);
}

static void buffer_grows(void)
{
    struct buf b = {0};
    for (int i = 0; i < 1000; i++) {
        buf_int(&b, i % 10);
    }
    CU_ASSERT(b.n == 1000);
    CU_ASSERT(memcmp(b.p + 990, "0123456789", 10) == 0);
    buf_clear(&b);
    buf_fmt(&b, "%s-%d", "x", 7);
    buf_char(&b, '!');
    buf_int(&b, INT64_MIN);
    buf_int(&b, INT64_MAX);
    buf_int(&b, -10);
    CU_ASSERT(str_is(buf_str(&b), "x-7!-92233720368547758089223372036854775807-10"));
    buf_free(&b);
    CU_ASSERT(b.p == NULL && b.n == 0);
}

static void buffer_stops_at_its_cap(void)
{
    struct buf b = {.max = 8};
    buf_addz(&b, "12345678");
    CU_ASSERT(!b.truncated);
    buf_char(&b, '9');
    CU_ASSERT(b.truncated);
    CU_ASSERT(b.n == 8);
    buf_clear(&b);
    buf_addz(&b, "123456789");
    buf_addz(&b, "a");
    CU_ASSERT(b.n == 0 && b.truncated);
    buf_free(&b);
}

static void arena_gives_zeroed_aligned_memory(void)
{
    struct arena *a = arena_new();
    for (size_t size = 0; size < 20000; size = size * 2 + 1) {
        unsigned char *p = arena_alloc(a, size);
        CU_ASSERT((uintptr_t)p % 16 == 0);
        bool zero = true;
        for (size_t i = 0; i < size; i++) {
            zero = zero && p[i] == 0;
        }
        CU_ASSERT(zero);
        memset(p, 0xAA, size);
    }
    CU_ASSERT(arena_alloc(a, 0) != arena_alloc(a, 0));
    CHECK_TEXT(arena_cstr(a, STR("abc")), "abc");
    struct str copy = arena_str(a, STR("a\0b"));
    CU_ASSERT(copy.n == 3 && copy.p[3] == '\0' && copy.p[2] == 'b');
    struct str text = arena_printf(a, "%05d|%s", 42, "x");
    CHECK_TEXT(text.p, "00042|x");
    CU_ASSERT(text.n == 7);
    arena_free(a);
    arena_free(NULL);
}

static void error_text_shows_the_known_parts(void)
{
    struct err e;
    char out[64];
    CU_ASSERT(err_set(&e, ERR_LIMIT, "too %s", "big") == ERR_LIMIT);
    CHECK_TEXT(err_text(&e, out, sizeof out), "too big");
    CU_ASSERT(err_at(&e, ERR_INPUT, "a.yaml", 3, 7, "bad") == ERR_INPUT);
    CHECK_TEXT(err_text(&e, out, sizeof out), "a.yaml:3:7: bad");
    CU_ASSERT(err_at(&e, ERR_INPUT, "a.yaml", 3, 0, "bad") == ERR_INPUT);
    CHECK_TEXT(err_text(&e, out, sizeof out), "a.yaml:3: bad");
    CU_ASSERT(err_at(&e, ERR_INPUT, "a.yaml", 0, 0, "bad") == ERR_INPUT);
    CHECK_TEXT(err_text(&e, out, sizeof out), "a.yaml: bad");
    CHECK_TEXT(err_text(&e, out, 7), "a.yaml");
    CU_ASSERT(err_set(NULL, ERR_IO, "nobody listens") == ERR_IO);
    char words[2048]; /* of three bytes each, so that a cut falls into one for two of the starts */
    for (size_t i = 0; i + 3 < sizeof words; i += 3) {
        memcpy(words + i, "汉", 4);
    }
    for (const char *start = "xx"; *start != '\0'; start++) {
        CU_ASSERT(err_set(&e, ERR_INPUT, "%s%s", start, words) == ERR_INPUT);
        CU_ASSERT(strlen(e.message) > sizeof e.message - 4);
        CU_ASSERT(utf8_invalid_at(str_of(e.message)) == SIZE_MAX);
    }
}

/* The first outputs for seed 1234567, as published with many splitmix64 implementations (for
 * example Rosetta Code's task "Pseudo-random numbers/Splitmix64"). */
static void random_numbers_are_splitmix64(void)
{
    static const uint64_t want[] = {6457827717110365317u, 3203168211198807973u,
                                    9817491932198370423u, 4593380528125082431u,
                                    16408922859458223821u};
    struct rng r = rng_seeded(1234567);
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT(rng_next(&r) == want[i]);
    }
}

static void random_numbers_stay_below_the_bound(void)
{
    struct rng r = rng_seeded(7);
    unsigned seen[5] = {0};
    for (int i = 0; i < 5000; i++) {
        uint64_t v = rng_below(&r, 5);
        CU_ASSERT_FATAL(v < 5);
        seen[v]++;
    }
    for (int i = 0; i < 5; i++) {
        CU_ASSERT(seen[i] > 850 && seen[i] < 1150);
    }
    CU_ASSERT(rng_below(&r, 0) == 0);
    CU_ASSERT(rng_below(&r, 1) == 0);
}

/* From xxHash's own sanity tests (the empty text), and what xxhsum -H3 shows. */
static void hashes_are_xxh3(void)
{
    CU_ASSERT(hash64(0, STR("")) == 0x2D06800538D394C2u);
    CU_ASSERT(hash64(0, str_of(NULL)) == 0x2D06800538D394C2u);
    CU_ASSERT(hash64(0x9E3779B185EBCA8Du, STR("")) == 0xA8A6B918B2F0364Au);
    CU_ASSERT(hash64(0, STR("a")) == 0xE6C632B61E964E1Fu);
    CU_ASSERT(hash64(0, STR("abc")) == 0x78AF5F94892F3950u);
}

TESTS(str, {"str_compares_by_bytes", compares_by_bytes}, {"str_finds_and_cuts", finds_and_cuts},
      {"str_knows_names", knows_names}, {"str_cut_takes_part_after_part", parts_are_cut_off},
      {"buf_grows", buffer_grows}, {"buf_stops_at_its_cap", buffer_stops_at_its_cap},
      {"arena_gives_zeroed_aligned_memory", arena_gives_zeroed_aligned_memory},
      {"err_text_shows_the_known_parts", error_text_shows_the_known_parts},
      {"rng_is_splitmix64", random_numbers_are_splitmix64},
      {"rng_stays_below_the_bound", random_numbers_stay_below_the_bound},
      {"hash64_is_xxh3", hashes_are_xxh3})
