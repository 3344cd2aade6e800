/* The token estimate. Expected values: the counts of two published vocabularies, in
 * tokens.txt beside this file, which says how they were made. */
#include "kernel/base/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ci/testing/testing.h"

enum { WITHIN_PERCENT = 15, SEAM_TOKENS = 3, SAMPLES_MIN = 30, FILE_MAX = 1 << 16 };

struct sample {
    char name[40];
    long o200k, cl100k;
    struct str text;
};

static char file[FILE_MAX];
static struct sample samples[64];
static size_t n_samples;

/* Reads tokens.txt once. */
static void load(void)
{
    if (n_samples > 0) {
        return;
    }
    FILE *f = fopen(SOURCE_DIR "/kernel/base/tests/tokens.txt", "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    size_t n = fread(file, 1, sizeof file - 1, f);
    fclose(f);
    file[n] = '\0';
    for (char *at = strstr(file, "\n== "); at != NULL;) {
        struct sample *s = &samples[n_samples];
        CU_ASSERT_FATAL(++n_samples < sizeof samples / sizeof samples[0]);
        CU_ASSERT_EQUAL_FATAL(sscanf(at + 4, "%39s %ld %ld", s->name, &s->o200k, &s->cl100k), 3);
        char *text = strchr(at + 1, '\n') + 1;
        char *next = strstr(text - 1, "\n== ");
        char *end = next == NULL ? file + n - 1 : next;
        s->text = (struct str){text, (size_t)(end - text)};
        at = next;
    }
    CU_ASSERT_FATAL(n_samples >= SAMPLES_MIN);
}

static long error_percent(int64_t got, long want)
{
    long off = labs((long)got - want) * 100;
    return off / want + (off % want != 0);
}

static void is_near_o200k(void)
{
    load();
    for (size_t i = 0; i < n_samples; i++) {
        const struct sample *s = &samples[i];
        int64_t got = text_tokens(s->text);
        if (error_percent(got, s->o200k) > WITHIN_PERCENT) {
            printf("\n  %s: %lld, not %ld", s->name, (long long)got, s->o200k);
            CU_FAIL("a sample's estimate is off by more than 15 %");
        }
    }
}

/* The older vocabulary knows less Chinese, Japanese, Korean and Russian; of all else it makes much
 * the same. */
static void is_near_cl100k_without_other_scripts(void)
{
    load();
    for (size_t i = 0; i < n_samples; i++) {
        const struct sample *s = &samples[i];
        size_t wide = 0;
        for (size_t j = 0; j < s->text.n; j++) {
            wide += (unsigned char)s->text.p[j] >= 0x80;
        }
        if (wide * 20 < s->text.n &&
            error_percent(text_tokens(s->text), s->cl100k) > WITHIN_PERCENT) {
            printf("\n  %s: not %ld", s->name, s->cl100k);
            CU_FAIL("a sample's estimate is off by more than 15 %");
        }
    }
}

static void is_near_for_all_together(void)
{
    int64_t got = 0, want = 0;
    load();
    for (size_t i = 0; i < n_samples; i++) {
        got += text_tokens(samples[i].text);
        want += samples[i].o200k;
    }
    CU_ASSERT(error_percent(got, (long)want) <= 4);
}

static void adds_up_where_a_text_is_cut(void)
{
    load();
    for (size_t i = 0; i < n_samples; i++) {
        struct str s = samples[i].text;
        int64_t whole = text_tokens(s);
        for (size_t at = 0; at <= s.n; at++) {
            if (at < s.n && ((unsigned char)s.p[at] & 0xC0) == 0x80) {
                continue; /* within a character */
            }
            int64_t sum =
                text_tokens((struct str){s.p, at}) + text_tokens((struct str){s.p + at, s.n - at});
            if (llabs(sum - whole) > SEAM_TOKENS) {
                printf("\n  %s cut at %zu: %lld, not %lld", samples[i].name, at, (long long)sum,
                       (long long)whole);
                CU_FAIL("a seam costs more than a few tokens");
                break;
            }
        }
    }
}

static void counts_single_pieces(void)
{
    /* counted by o200k_base */
    static const struct {
        const char *text;
        int64_t tokens;
    } cases[] = {
        {"", 0},          {"a", 1},     {"the", 1},     {" the", 1},   {"0", 1},        {"123", 1},
        {"1234", 2},      {"\n", 1},    {"\n\n", 1},    {"    ", 1},   {".", 1},        {"...", 1},
        {"hello you", 2}, {"a1b2", 4},  {"1, 2, 3", 7}, {"x\n\ny", 3}, {"{}", 1},       {"的", 1},
        {"  \n  x", 3},   {"don't", 1}, {"a    b", 3},  {"a    1", 4}, {"--------", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t got = text_tokens(str_of(cases[i].text));
        if (got != cases[i].tokens) {
            printf("\n  \"%s\": %lld", cases[i].text, (long long)got);
            CU_FAIL("a piece is counted otherwise");
        }
    }
    CU_ASSERT_EQUAL(text_tokens((struct str){NULL, 0}), 0);
}

/* Any bytes, each text in memory of its own length, so that a step beyond is found. */
static void takes_any_bytes(void)
{
    static const char *const bytes[] = {
        "\x80",
        "\xff\xfe\xff",
        "\xe4\xbd",
        "\xf0\x9f\x98",
        "a\xc3",
        "\xc3(",
        "\xed\xa0\x80",
        "'",
        "a'",
        "a'r",
        "a'l\xff",
        " \xe4",
        "\xf4\x90\x80\x80",
        "\xe3\x80\x80",
        "\xef\xbf\xbd",
        "\xc2\x85\n",
        "\t.",
    };
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        size_t n = strlen(bytes[i]);
        char *copy = malloc(n);
        CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
        memcpy(copy, bytes[i], n);
        int64_t got = text_tokens((struct str){copy, n});
        CU_ASSERT(got >= 1 && got <= 4);
        free(copy);
    }
    CU_ASSERT(text_tokens((struct str){"\0\0\0", 3}) >= 1);
}

static void grows_with_the_text(void)
{
    enum { MANY = 100000 };
    static const char *const parts[] = {"word ", "字", "a", "A", "7",  "-",  ".,", "\n", " ",
                                        "\xff",  "é",  "ж", "😀", "aB", "あ", "'s", "。"};
    char *text = malloc(MANY);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t n = strlen(parts[i]), filled = 0;
        for (; filled + n <= MANY; filled += n) {
            memcpy(text + filled, parts[i], n);
        }
        int64_t half = text_tokens((struct str){text, filled / n / 2 * n});
        int64_t whole = text_tokens((struct str){text, filled});
        CU_ASSERT(whole >= MANY / 100); /* no text is nearly free */
        CU_ASSERT(whole <= MANY);
        CU_ASSERT(llabs(whole - 2 * half) <= SEAM_TOKENS);
    }
    free(text);
}

TESTS(tokens, {"tokens_is_within_15_percent_of_o200k_base", is_near_o200k},
      {"tokens_is_within_15_percent_of_cl100k_base_in_latin", is_near_cl100k_without_other_scripts},
      {"tokens_is_within_4_percent_over_all_samples", is_near_for_all_together},
      {"tokens_of_two_parts_add_up_to_the_whole", adds_up_where_a_text_is_cut},
      {"tokens_counts_single_pieces", counts_single_pieces},
      {"tokens_takes_any_bytes", takes_any_bytes},
      {"tokens_grows_with_the_text", grows_with_the_text})
