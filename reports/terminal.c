#include "reports/report_int.h"

#include "kernel/base/text.h"

#include <inttypes.h>

struct range {
    uint32_t from;
    uint32_t to;
};

/* Unicode's East Asian Width W and F, in the blocks that people meet (UAX #11). */
static const struct range wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x2614, 0x2615},
    {0x26a1, 0x26a1},   {0x2705, 0x2705},   {0x274c, 0x274c},   {0x2e80, 0x303e},
    {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},   {0xff01, 0xff60},
    {0xffe0, 0xffe6},   {0x16fe0, 0x18aff}, {0x1b000, 0x1b2ff}, {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd}};

/* Combining marks and characters without a width of their own. */
static const struct range none[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f}, {0x0e31, 0x0e31},
    {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
    {0x2060, 0x2064}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}};

static bool within(uint32_t code, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n && ranges[i].from <= code; i++) {
        if (code <= ranges[i].to) {
            return true;
        }
    }
    return false;
}

size_t text_width(struct str s)
{
    size_t width = 0;
    for (size_t at = 0; at < s.n;) {
        uint32_t code = utf8_next(s, &at);
        if (within(code, wide, sizeof wide / sizeof wide[0])) {
            width += 2;
        } else if (!within(code, none, sizeof none / sizeof none[0])) {
            width += 1;
        }
    }
    return width;
}

static void spaces(struct buf *out, size_t n)
{
    while (n-- > 0) {
        buf_char(out, ' ');
    }
}

void cell_add(struct buf *out, struct str s, size_t width, enum align align)
{
    size_t w = text_width(s);
    size_t room = w < width ? width - w : 0;
    spaces(out, align == ALIGN_RIGHT ? room : 0);
    buf_add(out, s);
    spaces(out, align == ALIGN_LEFT ? room : 0);
}

static const char *paint_code(enum paint paint)
{
    switch (paint) {
    case PAINT_NONE: return "";
    case PAINT_GOOD: return "\033[32m";
    case PAINT_BAD: return "\033[31m";
    case PAINT_ODD: return "\033[33m";
    case PAINT_DIM: return "\033[2m";
    case PAINT_BOLD: return "\033[1m";
    }
    return "";
}

void paint_add(struct buf *out, struct str s, enum paint paint, bool color)
{
    bool painted = color && paint != PAINT_NONE;
    buf_addz(out, painted ? paint_code(paint) : "");
    buf_add(out, s);
    buf_addz(out, painted ? "\033[0m" : "");
}

void seconds_add(struct buf *out, int64_t ms)
{
    buf_fmt(out, "%" PRId64 ".%03" PRId64 " s", ms / 1000, ms % 1000);
}

void count_add(struct buf *out, int64_t n, const char *what)
{
    if (n >= 0) {
        buf_fmt(out, "%" PRId64 " %s%s", n, what, n == 1 ? "" : "s");
    } else {
        buf_fmt(out, "? %ss", what);
    }
}

static void side_add(struct buf *out, int64_t n, const char *what)
{
    if (n >= 0) {
        buf_fmt(out, "%" PRId64 " %s", n, what);
    } else {
        buf_fmt(out, "? %s", what);
    }
}

static void part_add(struct buf *out, int64_t n, const char *what)
{
    if (n > 0) {
        buf_fmt(out, " (%" PRId64 " %s)", n, what);
    }
}

void tokens_add(struct buf *out, const struct usage *u)
{
    if (u->input < 0 && u->output < 0) {
        buf_addz(out, "tokens unknown");
        return;
    }
    buf_addz(out, "tokens ");
    side_add(out, u->input, "in");
    part_add(out, u->cached, "cached");
    buf_addz(out, ", ");
    side_add(out, u->output, "out");
    part_add(out, u->reasoning, "reasoning");
}

void line_add(struct buf *out, struct str s)
{
    size_t from = out->n;
    text_add_plain(out, s);
    for (size_t i = from; i < out->n; i++) {
        out->p[i] = out->p[i] == '\n' || out->p[i] == '\t' ? ' ' : out->p[i];
    }
}

void task_add(struct buf *out, struct str task, struct str model)
{
    line_add(out, task);
    if (model.n > 0) {
        buf_addz(out, " (");
        line_add(out, model);
        buf_char(out, ')');
    }
}

void word_add(struct buf *out, struct str s)
{
    struct buf word = {0};
    text_add_word(&word, s);
    line_add(out, buf_str(&word));
    buf_free(&word);
}

void block_add(struct buf *out, struct str s, size_t indent, size_t max_chars)
{
    struct str shown = max_chars == 0 ? s : utf8_prefix(s, max_chars);
    struct str rest = shown;
    do {
        spaces(out, indent);
        text_add_plain(out, str_cut(&rest, '\n'));
        buf_char(out, '\n');
    } while (rest.n > 0);
    if (shown.n < s.n) {
        spaces(out, indent);
        buf_fmt(out, "… (%zu of %zu characters)\n", max_chars, utf8_count(s));
    }
}
