/* The text is cut as o200k_base cuts it before it looks into its vocabulary: a word with the one
 * space or mark before it, up to three digits, a run of marks with the line ends behind it, a run
 * of white space. What the vocabulary then makes of a piece is a mean by the piece's kind and
 * length, fitted on some hundred kilobytes of prose, JSON, code, tables and manual pages in many
 * languages. */
#include "kernel/base/tokens.h"

#include "kernel/base/text.h"
#include "kernel/base/tokens_int.h"

enum { TOKEN = 100 }; /* costs are hundredths of a token */

enum kind {
    KIND_LOWER,  /* a letter a to z */
    KIND_UPPER,  /* A to Z */
    KIND_ACCENT, /* a Latin letter with a mark; part of a word of the two above */
    KIND_LETTER, /* of a script without a Latin alphabet */
    KIND_DIGIT,
    KIND_BLANK, /* white space within a line */
    KIND_NEWLINE,
    KIND_MARK /* punctuation, symbols and all else */
};

/* What stands before a word. */
enum lead {
    LEAD_SPACE, /* a blank, which the word takes in */
    LEAD_NONE,  /* a line's begin, or marks that stay by themselves */
    LEAD_MARK,  /* one mark, which the word takes in */
    LEAD_DIGIT, /* digits: the word is likely part of an id */
    LEAD_WORD,  /* another word: camelCase */
    LEADS
};

/* How a word is written. */
enum form { FORM_LOWER, FORM_CAPITAL, FORM_UPPER, FORM_MIXED, FORMS };

struct word_cost {
    int base;   /* of one or two letters */
    int letter; /* of each further one */
};

static const struct word_cost word_costs[LEADS][FORMS] = {
    [LEAD_SPACE] = {{100, 2}, {98, 4}, {105, 13}, {175, 10}},
    [LEAD_NONE] = {{100, 4}, {98, 5}, {104, 22}, {190, 10}},
    [LEAD_MARK] = {{110, 8}, {135, 8}, {140, 16}, {220, 20}},
    [LEAD_DIGIT] = {{100, 48}, {112, 46}, {120, 45}, {150, 46}},
    [LEAD_WORD] = {{120, 0}, {118, 1}, {107, 45}, {153, 46}},
};

enum {
    WORD_USUAL = 13, /* letters; longer words are seldom in a vocabulary */
    WORD_LONGER = 22,
    ACCENT = 80,
    HAN = 100,
    HAN_COMMON = 48, /* those of han_common */
    LETTERS_BASE = 25,
    CONTRACTION = 35, /* 's, 'll, … behind a word */
    MARKS_KNOWN = 3,  /* marks in a row that are mostly one token */
    MARKS_MORE = 45,
    MARK_AGAIN = 2,
    MARK_WIDE = 35, /* beyond ASCII, behind another */
    NEWLINES_MAX = 16,
    BLANKS_MAX = 80 /* in one token */
};

/* Characters beyond ASCII, in order; what stands in no range is a mark of one token. */
struct range {
    uint32_t first, last;
    enum kind kind;
    int cost; /* of each */
};

static const struct range ranges[] = {
    {0x85, 0x85, KIND_NEWLINE, 100},    {0xa0, 0xa0, KIND_BLANK, 100},
    {0xaa, 0xaa, KIND_LETTER, 100},     {0xb5, 0xb5, KIND_LETTER, 100},
    {0xba, 0xba, KIND_LETTER, 100},     {0xc0, 0xd6, KIND_ACCENT, ACCENT},
    {0xd8, 0xf6, KIND_ACCENT, ACCENT},  {0xf8, 0x24f, KIND_ACCENT, ACCENT},
    {0x250, 0x2af, KIND_LETTER, 110},   {0x300, 0x36f, KIND_ACCENT, 80},
    {0x370, 0x3ff, KIND_LETTER, 37},    {0x400, 0x52f, KIND_LETTER, 22},
    {0x531, 0x587, KIND_LETTER, 40},    {0x590, 0x5ff, KIND_LETTER, 42},
    {0x600, 0x6ff, KIND_LETTER, 34},    {0x700, 0x8ff, KIND_LETTER, 100},
    {0x900, 0xdff, KIND_LETTER, 35},    {0xe00, 0xe7f, KIND_LETTER, 41},
    {0xe80, 0x109f, KIND_LETTER, 60},   {0x10a0, 0x10ff, KIND_LETTER, 32},
    {0x1100, 0x11ff, KIND_LETTER, 100}, {0x1200, 0x1dff, KIND_LETTER, 100},
    {0x1e00, 0x1eff, KIND_ACCENT, 0},   {0x1f00, 0x1fff, KIND_LETTER, 150},
    {0x2000, 0x200a, KIND_BLANK, 100},  {0x2028, 0x2029, KIND_NEWLINE, 100},
    {0x3000, 0x3000, KIND_BLANK, 100},  {0x3005, 0x3007, KIND_LETTER, 80},
    {0x3040, 0x309f, KIND_LETTER, 62},  {0x30a0, 0x30ff, KIND_LETTER, 66},
    {0x3100, 0x312f, KIND_LETTER, 150}, {0x3400, 0x4dbf, KIND_LETTER, 250},
    {0xa000, 0xa4cf, KIND_LETTER, 200}, {0xac00, 0xd7a3, KIND_LETTER, 66},
    {0xf900, 0xfaff, KIND_LETTER, 250}, {0xfe00, 0xfe0f, KIND_MARK, 60},
    {0x1f000, 0x1faff, KIND_MARK, 180}, {0x20000, 0x3ffff, KIND_LETTER, 300},
};

struct letter {
    enum kind kind;
    int cost;
    size_t next; /* where the character behind it begins */
};

/* Where the cutting stands. */
struct cut {
    struct str s;
    size_t at;
    enum lead lead;
    int64_t cost;
};

/* clang-format off */
enum { L = KIND_LOWER, U = KIND_UPPER, D = KIND_DIGIT, B = KIND_BLANK, N = KIND_NEWLINE, M = KIND_MARK };
static const unsigned char ascii_kinds[0x80] = {
    M, M, M, M, M, M, M, M, M, B, N, B, B, N, M, M,
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
    B, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
    D, D, D, D, D, D, D, D, D, D, M, M, M, M, M, M,
    M, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U,
    U, U, U, U, U, U, U, U, U, U, U, M, M, M, M, M,
    M, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L,
    L, L, L, L, L, L, L, L, L, L, L, M, M, M, M, M,
};
/* clang-format on */

static int han_cost(uint32_t c)
{
    uint32_t i = c - HAN_FIRST;
    return han_common[i >> 8][i >> 6 & 3] >> (i & 63) & 1 ? HAN_COMMON : HAN;
}

static struct letter wide(struct str s, size_t at)
{
    uint32_t c = utf8_next(s, &at);
    if (c >= HAN_FIRST && c <= HAN_LAST) { /* most of what is not ASCII, and not worth a search */
        return (struct letter){KIND_LETTER, han_cost(c), at};
    }
    size_t low = 0, high = sizeof ranges / sizeof ranges[0];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].last < c) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < sizeof ranges / sizeof ranges[0] && ranges[low].first <= c) {
        return (struct letter){ranges[low].kind, ranges[low].cost, at};
    }
    return (struct letter){KIND_MARK, TOKEN, at};
}

/* The character at `at` < s.n. */
static struct letter letter_at(struct str s, size_t at)
{
    unsigned char c = (unsigned char)s.p[at];
    return c < 0x80 ? (struct letter){(enum kind)ascii_kinds[c], TOKEN, at + 1} : wide(s, at);
}

/* Where a contraction ('s, 't, 'm, 'd, 're, 've, 'll) ends that begins at `at`; `at` when there is
 * none. */
static size_t contraction_end(struct str s, size_t at)
{
    if (s.n - at < 2 || s.p[at] != '\'') {
        return at;
    }
    char one = s.p[at + 1], two = '\0';
    if (s.n - at > 2) {
        two = s.p[at + 2];
    }
    if (one == 's' || one == 't' || one == 'm' || one == 'd') {
        return at + 2;
    }
    bool pair =
        (one == 'r' && two == 'e') || (one == 'v' && two == 'e') || (one == 'l' && two == 'l');
    return pair ? at + 3 : at;
}

/* Takes a word of Latin letters: capitals, then small ones; a capital behind a small letter begins
 * the next. Returns where it ends. */
static size_t take_word(struct cut *c)
{
    size_t at = c->at;
    int64_t extra = 0;
    while (at < c->s.n && letter_at(c->s, at).kind == KIND_UPPER) {
        at++;
    }
    int64_t capital = (int64_t)(at - c->at), n = capital;
    for (; at < c->s.n; n++) {
        struct letter l = letter_at(c->s, at);
        if (l.kind != KIND_LOWER && l.kind != KIND_ACCENT) {
            break;
        }
        extra += l.kind == KIND_ACCENT ? l.cost : 0;
        at = l.next;
    }
    enum form form = FORM_LOWER;
    if (capital == n && n > 1) {
        form = FORM_UPPER;
    } else if (capital > 0) {
        form = capital == 1 ? FORM_CAPITAL : FORM_MIXED;
    }
    struct word_cost w = word_costs[c->lead][form];
    c->cost += w.base + extra + (n > 2 ? w.letter * (n - 2) : 0);
    c->cost += n > WORD_USUAL ? WORD_LONGER * (n - WORD_USUAL) : 0;
    size_t end = contraction_end(c->s, at);
    c->cost += end > at ? CONTRACTION : 0;
    c->lead = LEAD_WORD;
    return end;
}

/* Takes letters of other scripts. */
static size_t take_letters(struct cut *c)
{
    size_t at = c->at;
    int64_t cost = LETTERS_BASE;
    while (at < c->s.n) {
        struct letter l = letter_at(c->s, at);
        if (l.kind != KIND_LETTER) {
            break;
        }
        cost += l.cost;
        at = l.next;
    }
    c->cost += cost < TOKEN ? TOKEN : cost;
    c->lead = LEAD_NONE;
    return at;
}

static size_t take_digits(struct cut *c)
{
    size_t at = c->at;
    while (at < c->s.n && letter_at(c->s, at).kind == KIND_DIGIT) {
        at++;
    }
    c->cost += (int64_t)((at - c->at + 2) / 3) * TOKEN;
    c->lead = LEAD_DIGIT;
    return at;
}

/* Takes white space: all up to its last line end is one token, the blanks behind it another; but
 * the last blank goes into a word that follows, or, if a space, into marks. */
static size_t take_space(struct cut *c)
{
    size_t at = c->at;
    int64_t blanks = 0, ends = 0;
    enum kind behind = KIND_NEWLINE;
    while (at < c->s.n) {
        struct letter l = letter_at(c->s, at);
        if (l.kind == KIND_BLANK) {
            blanks++;
        } else if (l.kind == KIND_NEWLINE) {
            ends++;
            blanks = 0;
        } else {
            behind = l.kind;
            break;
        }
        at = l.next;
    }
    c->cost += (ends + NEWLINES_MAX - 1) / NEWLINES_MAX * TOKEN;
    c->lead = LEAD_NONE;
    if (blanks > 0 && behind != KIND_NEWLINE) { /* the last one stands by itself, or is taken in */
        blanks--;
        if (behind <= KIND_LETTER || (behind == KIND_MARK && c->s.p[at - 1] == ' ')) {
            c->lead = LEAD_SPACE;
        } else {
            c->cost += TOKEN;
        }
    }
    c->cost += (blanks + BLANKS_MAX - 1) / BLANKS_MAX * TOKEN;
    return at;
}

/* Takes a run of marks with the line ends behind it. A single one before a Latin word goes into
 * it. */
static size_t take_marks(struct cut *c)
{
    size_t at = c->at;
    int64_t cost = TOKEN, n = 0, turns = 0; /* turns: marks unlike the one before */
    struct letter l = letter_at(c->s, at);
    while (l.kind == KIND_MARK) {
        if (l.next - at > 1) {
            cost += l.cost - TOKEN + (n > 0 ? MARK_WIDE : 0);
        } else if (n > 0 && c->s.p[at] == c->s.p[at - 1]) {
            cost += MARK_AGAIN;
        } else {
            turns++;
        }
        n++;
        at = l.next;
        if (at == c->s.n) {
            break;
        }
        l = letter_at(c->s, at);
    }
    if (n == 1 && c->lead != LEAD_SPACE && l.kind < KIND_LETTER) {
        c->lead = LEAD_MARK;
        return at;
    }
    c->cost += cost + (turns > MARKS_KNOWN ? MARKS_MORE * (turns - MARKS_KNOWN) : 0);
    while (at < c->s.n && (c->s.p[at] == '\n' || c->s.p[at] == '\r')) {
        at++;
    }
    c->lead = LEAD_NONE;
    return at;
}

int64_t text_tokens(struct str s)
{
    struct cut c = {.s = s, .lead = LEAD_NONE};
    while (c.at < s.n) {
        switch (letter_at(s, c.at).kind) {
        case KIND_LOWER:
        case KIND_UPPER:
        case KIND_ACCENT: c.at = take_word(&c); break;
        case KIND_LETTER: c.at = take_letters(&c); break;
        case KIND_DIGIT: c.at = take_digits(&c); break;
        case KIND_BLANK:
        case KIND_NEWLINE: c.at = take_space(&c); break;
        case KIND_MARK: c.at = take_marks(&c); break;
        }
    }
    return (c.cost + TOKEN / 2) / TOKEN;
}
