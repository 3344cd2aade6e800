#include "kernel/base/text.h"

#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/rng.h"

/* RFC 3629 section 4, and Unicode's table 3-7 of well-formed sequences. */
static void finds_the_first_byte_that_is_not_utf8(void)
{
    static const struct {
        struct str text;
        size_t at;
    } cases[] = {
        {{"", 0}, SIZE_MAX},
        {{"plain ascii, and more than eight bytes", 38}, SIZE_MAX},
        {{"\0", 1}, SIZE_MAX},
        {{"\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF", 16}, SIZE_MAX},
        {{"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", 8}, SIZE_MAX},
        {{"ab\x80", 3}, 2},
        {{"a\xC0\x80", 3}, 1},
        {{"\xC1\xBF", 2}, 0},
        {{"\xE0\x9F\xBF", 3}, 0},
        {{"\xED\xA0\x80", 3}, 0},
        {{"\xF0\x8F\xBF\xBF", 4}, 0},
        {{"\xF4\x90\x80\x80", 4}, 0},
        {{"\xF5\x80\x80\x80", 4}, 0},
        {{"\xFF", 1}, 0},
        {{"ok \xE4\xB8", 5}, 3},
        {{"ok \xE4\xB8z", 6}, 3},
        {{"01234567\xE4\xB8\xAD"
          "01234567\xF0\x9F\x98",
          22},
         19},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT(utf8_invalid_at(cases[i].text) == cases[i].at);
    }
}

static void decodes_what_it_encodes(void)
{
    unsigned wrong = 0;
    for (uint32_t code = 0; code <= 0x110000; code++) {
        char bytes[4];
        struct str s = {bytes, utf8_put(code, bytes)};
        size_t at = 0;
        uint32_t got = utf8_next(s, &at);
        bool is_character = code < 0xD800 || (code > 0xDFFF && code <= 0x10FFFF);
        size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        wrong += at != s.n || got != (is_character ? code : 0xFFFD) || utf8_count(s) != 1 ||
                 (is_character && s.n != length);
    }
    CU_ASSERT(wrong == 0);
}

static void decodes_bad_bytes_one_by_one(void)
{
    struct str s = STR("\xE4\xB8"
                       "a\xFF");
    size_t at = 0;
    CU_ASSERT(utf8_next(s, &at) == 0xFFFD && at == 1);
    CU_ASSERT(utf8_next(s, &at) == 0xFFFD && at == 2);
    CU_ASSERT(utf8_next(s, &at) == 'a' && at == 3);
    CU_ASSERT(utf8_next(s, &at) == 0xFFFD && at == 4);
    CU_ASSERT(utf8_count(s) == 4);
}

static void cuts_at_characters(void)
{
    struct str s = STR("a汉é😀b");
    CU_ASSERT(utf8_count(s) == 5);
    CU_ASSERT(str_is(utf8_prefix(s, 0), ""));
    CU_ASSERT(str_is(utf8_prefix(s, 2), "a汉"));
    CU_ASSERT(str_is(utf8_prefix(s, 4), "a汉é😀"));
    CU_ASSERT(str_is(utf8_prefix(s, 99), "a汉é😀b"));
    CU_ASSERT(str_is(utf8_suffix(s, 0), ""));
    CU_ASSERT(str_is(utf8_suffix(s, 2), "😀b"));
    CU_ASSERT(str_is(utf8_suffix(s, 5), "a汉é😀b"));
    CU_ASSERT(str_is(utf8_suffix(s, SIZE_MAX), "a汉é😀b"));
    CU_ASSERT(str_is(utf8_prefix(STR("0123456789abcdef"), 11), "0123456789a"));
    CU_ASSERT(str_is(utf8_suffix(STR("0123456789abcdef"), 11), "56789abcdef"));
}

static void places_count_characters(void)
{
    struct str s = STR("ab\n汉字x\n\nz");
    static const struct {
        size_t at;
        uint32_t line, column;
    } cases[] = {{0, 1, 1},  {2, 1, 3},  {3, 2, 1},  {6, 2, 2}, {9, 2, 3},
                 {11, 3, 1}, {12, 4, 1}, {13, 4, 2}, {99, 4, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t line, column;
        text_place(s, cases[i].at, &line, &column);
        CU_ASSERT(line == cases[i].line && column == cases[i].column);
    }
}

static void measures_edit_distance(void)
{
    static const struct {
        const char *a, *b;
        unsigned max, distance;
    } cases[] = {
        {"", "", 3, 0},
        {"abc", "abc", 0, 0},
        {"abc", "abd", 0, 1},
        {"", "abc", 5, 3},
        {"abc", "", 5, 3},
        {"", "abc", 2, 3},
        {"kitten", "sitting", 9, 3},
        {"kitten", "sitting", 3, 3},
        {"kitten", "sitting", 2, 3},
        {"kitten", "sitting", 1, 2},
        {"prompt", "promtp", 2, 1},
        {"saturday", "sunday", 8, 3},
        {"ca", "abc", 9, 3},
        {"abcdef", "bcdefa", 9, 2},
        {"abcdef", "ghijkl", 4, 5},
        {"flaw", "lawn", 4000000000u, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT(text_distance(str_of(cases[i].a), str_of(cases[i].b), cases[i].max) ==
                  cases[i].distance);
    }
}

/* The distance from its definition, without a band or rows that are used again. */
static unsigned plain_distance(struct str a, struct str b)
{
    unsigned d[16][16];
    for (unsigned i = 0; i <= a.n; i++) {
        for (unsigned j = 0; j <= b.n; j++) {
            unsigned best = i == 0 ? j : j == 0 ? i : 99;
            if (i > 0 && j > 0) {
                unsigned replaced = d[i - 1][j - 1] + (a.p[i - 1] != b.p[j - 1]);
                unsigned dropped = d[i - 1][j] + 1, added = d[i][j - 1] + 1;
                best = replaced < dropped ? replaced : dropped;
                best = added < best ? added : best;
            }
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1] &&
                d[i - 2][j - 2] + 1 < best) {
                best = d[i - 2][j - 2] + 1;
            }
            d[i][j] = best;
        }
    }
    return d[a.n][b.n];
}

static void band_does_not_change_the_distance(void)
{
    struct rng r = rng_seeded(11);
    unsigned wrong = 0;
    for (int i = 0; i < 20000; i++) {
        char x[12], y[12];
        struct str a = {x, rng_below(&r, 12)}, b = {y, rng_below(&r, 12)};
        for (int k = 0; k < 12; k++) {
            x[k] = (char)('a' + rng_below(&r, 3));
            y[k] = (char)('a' + rng_below(&r, 3));
        }
        unsigned max = (unsigned)rng_below(&r, 8), want = plain_distance(a, b);
        wrong += text_distance(a, b, max) != (want > max ? max + 1 : want);
    }
    CU_ASSERT(wrong == 0);
}

static void closest_is_a_likely_slip(void)
{
    static const char *const names[] = {"prompt", "expect", "tags", "id", "text", "budget"};
    static const struct {
        const char *word, *closest;
    } cases[] = {{"promt", "prompt"}, {"expects", "expect"}, {"tag", "tags"},      {"text", "text"},
                 {"tetx", "text"},    {"zebra", NULL},       {"ix", "id"},         {"", NULL},
                 {"q", NULL},         {"bugdet", "budget"},  {"temperature", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = text_closest(str_of(cases[i].word), names, 6);
        CHECK_TEXT(got == NULL ? "(none)" : got,
                   cases[i].closest == NULL ? "(none)" : cases[i].closest);
    }
    CU_ASSERT(text_closest(STR("x"), NULL, 0) == NULL);
    static const char *const words[] = {"order_id", "one_of", "order-id", "ab"};
    CHECK_TEXT(text_closest(STR("ORDER_ID"), words, 4), "order_id");
    CHECK_TEXT(text_closest(STR("orderId"), words, 4), "order_id");
    CHECK_TEXT(text_closest(STR("order-id"), words, 4), "order-id");
    CHECK_TEXT(text_closest(STR("oneOf"), words, 4), "one_of");
    CU_ASSERT(text_closest(STR("oneOfs2"), words, 4) == NULL);
    CU_ASSERT(text_closest(STR("__"), words, 4) == NULL);
}

static void truncation_keeps_two_thirds_and_one_third(void)
{
    struct arena *a = arena_new();
    bool truncated = true;
    struct str fits = text_truncate(a, STR("123456789"), 9, &truncated);
    CU_ASSERT(!truncated && str_is(fits, "123456789"));
    struct str cut = text_truncate(a, STR("1234567890"), 9, &truncated);
    CU_ASSERT(truncated);
    CHECK_TEXT(cut.p, "123456\n… [truncated: 10 characters in all, 9 shown] …\n890");
    cut = text_truncate(a, STR("汉字一二三四五六七八"), 6, &truncated);
    CU_ASSERT(truncated);
    CHECK_TEXT(cut.p, "汉字一二\n… [truncated: 10 characters in all, 6 shown] …\n七八");
    struct str all = text_truncate(a, STR("1234567890"), 0, &truncated);
    CU_ASSERT(!truncated && str_is(all, "1234567890"));
    arena_free(a);
}

/* A tool without a max_output of its own: 4000 characters, here of 12000. */
static void truncation_of_a_long_result(void)
{
    struct arena *a = arena_new();
    struct buf text = {0};
    for (int i = 0; i < 12000; i++) {
        buf_addz(&text, i < 6000 ? "é" : "x");
    }
    bool truncated = false;
    struct str cut = text_truncate(a, buf_str(&text), 4000, &truncated);
    struct str marker = STR("\n… [truncated: 12000 characters in all, 4000 shown] …\n");
    size_t at = str_find(cut, marker);
    CU_ASSERT(truncated && at != SIZE_MAX);
    CU_ASSERT(utf8_count(str_slice(cut, 0, at)) == 2667);
    CU_ASSERT(utf8_count(str_slice(cut, at + marker.n, cut.n)) == 1333);
    CU_ASSERT(utf8_invalid_at(cut) == SIZE_MAX);
    buf_free(&text);
    arena_free(a);
}

static void a_cut_character_is_dropped(void)
{
    static const struct {
        const char *text;
        size_t kept;
    } cases[] = {
        {"", 0},
        {"ab", 2},
        {"aé", 3},
        {"a\xC3", 1},
        {"a\xE6\xB1", 1},
        {"a\xE6", 1},
        {"汉", 3},
        {"\xF0\x9F\x98", 0},
        {"😀", 4},
        {"\xF0\x9F\x98x", 4},
        {"\x80\x80\x80", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT_EQUAL(utf8_whole(str_of(cases[i].text)).n, cases[i].kept);
    }
}

static void preview_is_one_line(void)
{
    struct arena *a = arena_new();
    CHECK_TEXT(text_preview(a, STR("a\nb\tc\x7F"), 99).p, "a b c ");
    CHECK_TEXT(text_preview(a,
                            STR("a\xE2\x80\xA8"
                                "b\xC2\x85"
                                "c\xFF"),
                            99)
                   .p,
               "a b c\xEF\xBF\xBD");
    CHECK_TEXT(text_preview(a, STR("汉字文本"), 2).p, "汉字…");
    CHECK_TEXT(text_preview(a, STR("汉字"), 2).p, "汉字");
    CHECK_TEXT(text_preview(a, STR(""), 2).p, "");
    arena_free(a);
}

/* The characters are Unicode's: C0 and C1 controls, and PropList.txt's Bidi_Control. */
static void controls_are_not_shown(void)
{
    static const uint32_t controls[] = {
        0,      7,      0x1B,   0x7F,   0x80,   0x85,   0x9B,   0x9F,   0x061C, 0x200E, 0x200F,
        0x2028, 0x2029, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069};
    static const uint32_t shown[] = {' ',    '~',    0xA0,   0x061B, 0x061D, 0x200D,
                                     0x2010, 0x202F, 0x2065, 0x206A, 0x6F22, 0x1F600};
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++) {
        char bytes[4];
        struct str s = {bytes, utf8_put(controls[i], bytes)};
        CU_ASSERT(text_is_control(controls[i]));
        CHECK_TEXT(text_preview(a, s, 9).p, " ");
    }
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        CU_ASSERT(!text_is_control(shown[i]));
    }
    arena_free(a);
}

static void plain_text_keeps_lines_and_tabs(void)
{
    struct buf out = {0};
    text_add_plain(&out, STR("a\tb\r\n\x1B[2J\xC2\x9B"
                             "汉\xE2\x80\xAE"
                             "é\xFF"));
    buf_char(&out, '\0');
    CHECK_TEXT(out.p, "a\tb \n [2J 汉 é\xEF\xBF\xBD");
    buf_free(&out);
}

static void quotes_words_that_a_shell_would_change(void)
{
    static const char *const cases[][2] = {{"gpt-4.1-mini", "gpt-4.1-mini"},
                                           {"http://h:1/v1", "http://h:1/v1"},
                                           {"", "''"},
                                           {"two words", "'two words'"},
                                           {"it's", "'it'\\''s'"},
                                           {"$HOME;ls", "'$HOME;ls'"},
                                           {"~/k", "'~/k'"},
                                           {"汉", "'汉'"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = {0};
        text_add_word(&out, str_of(cases[i][0]));
        buf_char(&out, '\0');
        CHECK_TEXT(out.p, cases[i][1]);
        buf_free(&out);
    }
}

TESTS(text, {"words_are_quoted_for_a_shell", quotes_words_that_a_shell_would_change},
      {"utf8_finds_the_first_bad_byte", finds_the_first_byte_that_is_not_utf8},
      {"utf8_decodes_what_it_encodes", decodes_what_it_encodes},
      {"utf8_decodes_bad_bytes_one_by_one", decodes_bad_bytes_one_by_one},
      {"utf8_cuts_at_characters", cuts_at_characters},
      {"text_places_count_characters", places_count_characters},
      {"text_measures_edit_distance", measures_edit_distance},
      {"text_band_does_not_change_the_distance", band_does_not_change_the_distance},
      {"text_closest_is_a_likely_slip", closest_is_a_likely_slip},
      {"text_truncation_keeps_two_thirds_and_one_third", truncation_keeps_two_thirds_and_one_third},
      {"text_truncation_of_a_long_result", truncation_of_a_long_result},
      {"utf8_drops_a_cut_character", a_cut_character_is_dropped},
      {"text_preview_is_one_line", preview_is_one_line},
      {"text_knows_what_a_terminal_obeys", controls_are_not_shown},
      {"text_for_a_terminal_keeps_lines_and_tabs", plain_text_keeps_lines_and_tabs})
