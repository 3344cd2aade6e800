/* The regular expressions of BFCL's value converters, and what of Unicode's properties we need. */
#include <assert.h>
#include <stdlib.h>

#include "evals/bfcl/bfcl_int.h"
#include "kernel/base/regex.h"

/* Characters that count as letters with a case, and those that do not keep them apart: Cased and
 * Case_Ignorable of The Unicode Standard, 3.13, D135 and D136. */
#define IGNORABLE                                                                                  \
    "[\\p{Mn}\\p{Me}\\p{Cf}\\p{Lm}\\p{Sk}'.:\\x{B7}\\x{387}\\x{55F}\\x{5F4}\\x{2018}\\x{2019}"     \
    "\\x{2024}\\x{2027}\\x{FE13}\\x{FE52}\\x{FE55}\\x{FF07}\\x{FF0E}\\x{FF1A}]"
#define CASED "[\\p{Lu}\\p{Ll}\\p{Lt}\\x{AA}\\x{BA}\\x{2160}-\\x{217F}\\x{24B6}-\\x{24E9}]"
/* XID_Start and XID_Continue of UAX #31. */
#define START    "\\p{L}\\p{Nl}_\\x{2118}\\x{212E}"
#define NEW_LIST "new\\s+ArrayList<\\w*>\\("
#define ITEM     "\\s*\\[.*?\\]\\s*"
#define ROWS     ITEM "(,\\s*\\[.*?\\]\\s*)*"

/* What is not wanted of a match is before \K or in a look-ahead. */
static const char *const sources[BFCL_PATTERNS] = {
    [BFCL_RE_SIGMA] = "(?!" IGNORABLE ")" CASED IGNORABLE "*\\K\\x{3A3}(?!" IGNORABLE
                      "*(?!" IGNORABLE ")" CASED ")",
    [BFCL_RE_IDENTIFIER] =
        "\\A[" START "][" START "\\p{Mn}\\p{Mc}\\p{Nd}\\p{Pc}\\x{B7}\\x{387}]*\\z",
    [BFCL_RE_UNPRINTABLE] = "[\\p{C}\\p{Zl}\\p{Zp}]|(?! )\\p{Zs}",
    [BFCL_RE_INTEGER] = "^-?\\d+$",
    [BFCL_RE_JAVA_FLOAT] = "^-?\\d+(\\.\\d+)?([eE][+-]?\\d+)?(?=[fF]$)",
    [BFCL_RE_JAVA_DOUBLE] = "^-?\\d+(\\.\\d+)?([eE][+-]?\\d+)?$",
    [BFCL_RE_JAVA_LONG] = "^-?\\d+(?=[lL]$)",
    [BFCL_RE_JAVA_ARRAY] = "new\\s+\\w+\\[\\]\\s*\\{\\K.*?(?=\\})",
    [BFCL_RE_JAVA_AS_LIST] = NEW_LIST "Arrays\\.asList\\(\\K.+?(?=\\)\\))",
    [BFCL_RE_JAVA_ADDS] = "(?s)" NEW_LIST "\\)\\s*\\{\\{\\s*\\K.+?(?=\\s*\\}\\})",
    [BFCL_RE_JAVA_ADD] = "add\\(\\K.+?(?=\\))",
    [BFCL_RE_JAVA_NEW_LIST] = NEW_LIST "\\)",
    [BFCL_RE_JAVA_PUTS] =
        "(?s)new\\s+HashMap<.*?>\\s*\\(\\)\\s*\\{\\s*\\{?\\s*\\K.*?(?=\\s*\\}?\\s*\\})",
    [BFCL_RE_JAVA_PUT] = "put\\(\"\\K.*?\",\\s*.*?(?=\\))",
    [BFCL_RE_JAVA_NEW_MAP] = "(?s)new\\s+HashMap<.*?>\\s*\\(\\)",
    [BFCL_RE_JS_FLOAT] = "^-?\\d+(\\.\\d+)?$",
    [BFCL_RE_JS_BIGINT] = "^-?\\d+(?=n$)",
    [BFCL_RE_JS_ARRAY_2D] = "\\A(?:\\[" ROWS "\\]|new\\s+Array\\(" ROWS "\\))",
    [BFCL_RE_JS_INNER] = "\\[\\K.*?(?=\\])",
    [BFCL_RE_JS_ARRAY] = "\\A(?:\\[\\K.*?(?=\\])|new\\s+Array\\(\\K.*?(?=\\)))",
    [BFCL_RE_JS_DICT] = "\\A\\{\\K.*?(?=\\})",
    [BFCL_RE_JS_PAIR] = "[^:]+:\\s*.*?(?:,\\s*(?=[^,]+:)|$)",
};

struct bfcl_patterns {
    struct regex *compiled[BFCL_PATTERNS];
};

struct bfcl_patterns *bfcl_patterns_new(void)
{
    return mem_zero(sizeof(struct bfcl_patterns));
}

void bfcl_patterns_free(struct bfcl_patterns *p)
{
    for (size_t i = 0; p != NULL && i < BFCL_PATTERNS; i++) {
        regex_free(p->compiled[i]);
    }
    free(p);
}

bool bfcl_find(struct bfcl_work *w, enum bfcl_pattern which, struct str s, size_t from,
               struct str *found)
{
    struct regex **r = &w->patterns->compiled[which];
    size_t at = 0;
    size_t n = 0;
    if (*r == NULL) {
        struct err e;
        int rc = regex_new(str_of(sources[which]), r, &e);
        assert(rc == 0);
        (void)rc;
    }
    if (regex_find(*r, s, from, &at, &n) != 1) {
        return false;
    }
    *found = str_slice(s, at, at + n);
    return true;
}
