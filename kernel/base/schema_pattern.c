#include "kernel/base/ascii.h"
#include "kernel/base/schema_int.h"

/* PCRE2 knows the general categories by their short names only. */
static const struct {
    const char *name;
    const char *category;
} categories[] = {
    {"Letter", "L"},
    {"Lowercase_Letter", "Ll"},
    {"Uppercase_Letter", "Lu"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"Format", "Cf"},
    {"Private_Use", "Co"},
    {"Unassigned", "Cn"},
};

static bool is_hex4(struct str s)
{
    for (size_t i = 0; i < 4; i++) {
        if (i >= s.n || ascii_hex(s.p[i]) < 0) {
            return false;
        }
    }
    return true;
}

/* \p{...} at s; returns its length, 0 when it is none with a long name. */
static size_t add_category(struct str s, struct buf *out)
{
    if (s.n < 4 || (s.p[1] != 'p' && s.p[1] != 'P') || s.p[2] != '{') {
        return 0;
    }
    size_t end = 3;
    while (end < s.n && s.p[end] != '}') {
        end++;
    }
    struct str name = str_slice(s, 3, end);
    for (size_t i = 0; end < s.n && i < sizeof categories / sizeof categories[0]; i++) {
        if (str_is(name, categories[i].name)) {
            buf_add(out, str_slice(s, 0, 3));
            buf_addz(out, categories[i].category);
            buf_char(out, '}');
            return end + 1;
        }
    }
    return 0;
}

/* An escape sequence at s; returns its length. */
static size_t add_escape(struct str s, struct buf *out)
{
    size_t n = add_category(s, out);
    if (n > 0) {
        return n;
    }
    if (s.n >= 6 && s.p[1] == 'u' && is_hex4(str_slice(s, 2, 6))) {
        buf_addz(out, "\\x{");
        buf_add(out, str_slice(s, 2, 6));
        buf_char(out, '}');
        return 6;
    }
    n = s.n < 2 ? s.n : 2;
    buf_add(out, str_slice(s, 0, n));
    return n;
}

/* `$` is the very end in ECMA 262; PCRE2's also fits before a last newline. */
void pattern_translate(struct str pattern, struct buf *out)
{
    bool in_class = false;
    for (size_t i = 0; i < pattern.n;) {
        char c = pattern.p[i];
        if (c == '\\') {
            i += add_escape(str_slice(pattern, i, pattern.n), out);
            continue;
        }
        if (c == '$' && !in_class) {
            buf_addz(out, "\\z");
        } else {
            buf_char(out, c);
        }
        in_class = c == '[' || (in_class && c != ']');
        i++;
    }
}
