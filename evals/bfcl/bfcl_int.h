/* What the files evals/bfcl/ share: values as Python has them, since the checker of the Berkeley
 * Function Calling Leaderboard compares by Python's rules; calls; and the parts of the scorer. */
#ifndef EVALS_BFCL_BFCL_INT_H
#define EVALS_BFCL_BFCL_INT_H

#include "evals/bfcl/bfcl.h"
#include "kernel/base/text.h"
#include "kernel/base/val.h"

/* ---- value.c ---- */

/* BFCL_OTHER: a value that equals nothing here (bytes, a complex number). */
enum bfcl_type {
    BFCL_NONE,
    BFCL_BOOL,
    BFCL_INT,
    BFCL_FLOAT,
    BFCL_STR,
    BFCL_LIST,
    BFCL_TUPLE,
    BFCL_DICT,
    BFCL_OTHER
};

struct bfcl_pair;
struct bfcl_index;
struct bfcl_patterns;

/* What every part works with: memory for one case, and the patterns that were compiled so far. */
struct bfcl_work {
    struct arena *arena;
    struct bfcl_patterns *patterns;
};

struct bfcl_value {
    enum bfcl_type type;
    bool boolean;    /* BFCL_BOOL */
    double real;     /* BFCL_FLOAT */
    struct str text; /* BFCL_STR: characters. BFCL_INT: digits, canonical. BFCL_OTHER: its repr */
    size_t n;        /* items or pairs */
    struct bfcl_index *index; /* BFCL_DICT: finds pairs by key; NULL while there are few */
    union {
        struct bfcl_value *items; /* BFCL_LIST, BFCL_TUPLE */
        struct bfcl_pair *pairs;  /* BFCL_DICT, in order, no key twice */
    };
};

struct bfcl_pair {
    struct bfcl_value key;
    struct bfcl_value value;
};

/* Keys of one dict that are no strings: each is compared with all before it. */
enum { BFCL_ODD_KEYS_MAX = 256 };

struct bfcl_value bfcl_str(struct str s);
struct bfcl_value bfcl_int(struct arena *arena, int64_t v);

/* The value of a JSON value as Python's json module gives it: 1e3 is a float, the last of equal
 * keys counts. Text is shared with v. */
struct bfcl_value bfcl_of_val(struct arena *arena, const struct val *v);

/* A dict of n pairs: of equal keys the first keeps its place and the last its value. false where
 * more than BFCL_ODD_KEYS_MAX keys are no strings, or one is a list or dict. */
bool bfcl_dict(struct arena *arena, struct bfcl_pair *pairs, size_t n, struct bfcl_value *out);

/* The value of a key, or NULL. */
const struct bfcl_value *bfcl_get(const struct bfcl_value *dict, struct str key);

/* Python's ==: 1 == 1.0 == True, a list is no tuple, NaN is nothing. */
bool bfcl_equal(const struct bfcl_value *a, const struct bfcl_value *b);

/* Whether a list (or tuple) has an equal item. */
bool bfcl_in(const struct bfcl_value *v, const struct bfcl_value *list);
/* Whether it has the empty string: the mark of what may be left out. */
bool bfcl_has_empty(const struct bfcl_value *list);
bool bfcl_is_empty_str(const struct bfcl_value *v);

/* Appends repr(v) of Python 3.11. */
void bfcl_repr(struct bfcl_work *w, struct buf *out, const struct bfcl_value *v);

/* ---- number.c ---- */

/* The double next to a decimal number (JSON's grammar, also "5." and ".5"), ties to even; infinity
 * beyond the largest. */
double bfcl_double(struct str number);

/* Canonical digits of a whole number: no plus, no leading zeros, no -0. In arena where it differs.
 */
struct str bfcl_digits(struct arena *arena, struct str number);

/* Whether the whole number equals the double exactly. */
bool bfcl_int_is_double(struct str digits, double d);

/* Appends repr(d): the fewest digits that give d again. */
void bfcl_real_repr(struct buf *out, double d);

/* int(s) and float(s) of Python where s is a string: white space around, underscores between
 * digits, inf and nan. false where Python raises ValueError. */
bool bfcl_parse_int(struct arena *arena, struct str s, struct bfcl_value *out);
bool bfcl_parse_float(struct arena *arena, struct str s, struct bfcl_value *out);

/* ---- text.c ---- */

/* A string as the checker compares it: without spaces and , . / - _ * ^, lower case, ' as ". In
 * the arena, or s itself. */
struct str bfcl_plain(struct bfcl_work *w, struct str s);

/* An identifier as Python reads it (NFKC, as far as letters with marks and full-width forms go);
 * false where it is none. */
bool bfcl_identifier(struct bfcl_work *w, struct str s, struct str *out);

/* ---- patterns.c ---- */

enum bfcl_pattern {
    BFCL_RE_SIGMA, /* a capital sigma at the end of a word */
    BFCL_RE_IDENTIFIER,
    BFCL_RE_UNPRINTABLE,
    BFCL_RE_INTEGER,
    BFCL_RE_JAVA_FLOAT,
    BFCL_RE_JAVA_DOUBLE,
    BFCL_RE_JAVA_LONG,
    BFCL_RE_JAVA_ARRAY,
    BFCL_RE_JAVA_AS_LIST,
    BFCL_RE_JAVA_ADDS,
    BFCL_RE_JAVA_ADD,
    BFCL_RE_JAVA_NEW_LIST,
    BFCL_RE_JAVA_PUTS,
    BFCL_RE_JAVA_PUT,
    BFCL_RE_JAVA_NEW_MAP,
    BFCL_RE_JS_FLOAT,
    BFCL_RE_JS_BIGINT,
    BFCL_RE_JS_ARRAY_2D,
    BFCL_RE_JS_INNER,
    BFCL_RE_JS_ARRAY,
    BFCL_RE_JS_DICT,
    BFCL_RE_JS_PAIR,
    BFCL_PATTERNS
};

/* Each is compiled when it is first used. Owned by the caller. */
struct bfcl_patterns *bfcl_patterns_new(void);
void bfcl_patterns_free(struct bfcl_patterns *p); /* NULL allowed */

/* The first match at or behind `from`: what \K leaves of it to *found (a part of s). A match that
 * costs too much is none. */
bool bfcl_find(struct bfcl_work *w, enum bfcl_pattern which, struct str s, size_t from,
               struct str *found);

/* ---- unicode.c ---- */

/* Lower case of one character, itself where it has none. */
uint32_t bfcl_lower_of(uint32_t code);

/* The one character that a base and a mark make (canonical composition), 0 where there is none. */
uint32_t bfcl_compose(uint32_t base, uint32_t mark);

/* ---- python.c, bfcl_java.c, bfcl_js.c: reading calls ---- */

/* Calls as the checker sees them. */
struct bfcl_call {
    struct bfcl_value name;      /* a string; None for a call of nothing that has a name */
    struct bfcl_value arguments; /* a dict */
};

struct bfcl_calls {
    struct bfcl_call *at;
    size_t n;
};

/* How a reply was read. */
enum bfcl_reading {
    BFCL_READ,
    BFCL_UNREADABLE,   /* ast_decoder:decoder_failed */
    BFCL_WRONG_FORMAT, /* ast_decoder:decoder_wrong_output_format */
};

/* Texts beyond it are not read. */
enum { BFCL_TEXT_MAX = 4 << 20, BFCL_BRACKETS_MAX = 200, BFCL_DEPTH_MAX = 1000 };

/* A text that holds calls in the syntax of a language. */
enum bfcl_reading bfcl_read_text(struct bfcl_work *w, enum bfcl_language language, struct str text,
                                 struct bfcl_calls *out);

/* The inside of a text that is a Java or JavaScript call. */
enum bfcl_reading bfcl_read_java(struct bfcl_work *w, struct str text, struct bfcl_calls *out);
enum bfcl_reading bfcl_read_js(struct bfcl_work *w, struct str text, struct bfcl_calls *out);

/* What a model gave: a result in BFCL's format, or a list of calls. */
enum bfcl_reading bfcl_read_result(struct bfcl_work *w, enum bfcl_language language,
                                   enum bfcl_output output, const struct bfcl_result *r,
                                   struct bfcl_calls *out);

/* ---- convert.c: Java's and JavaScript's values ---- */

/* The value that a string stands for by its documented type; nested: of items, NULL = none.
 * NULL, or the exception that the official converter ends with. */
const char *bfcl_java_value(struct bfcl_work *w, struct str s, struct str type,
                            const struct str *nested, struct bfcl_value *out);
const char *bfcl_js_value(struct bfcl_work *w, struct str s, struct str type,
                          const struct str *nested, struct bfcl_value *out);

/* ---- check.c ---- */

/* One of BFCL's own words for what is wrong; NULL = all is well. Those that begin with
 * BFCL_EXCEPTION are not verdicts: the official checker breaks off there. */
#define BFCL_EXCEPTION "EXCEPTION:"

struct bfcl_checker {
    struct bfcl_work *work;
    enum bfcl_language language;
    bool underscore_to_dot;
    bool mended;     /* our own scorer: the checker's known faults are mended */
    struct str *why; /* mended: which fault made a difference, when one did; in the arena */
};

/* What is documented of a parameter. */
struct bfcl_types {
    struct str name; /* as documented */
    enum bfcl_type type;
    bool nested;
    enum bfcl_type items; /* nested: of its items */
};

/* Checks the type and value of one argument. */
const char *bfcl_check_value(const struct bfcl_checker *c, const struct bfcl_types *t,
                             const struct bfcl_value *value, const struct bfcl_value *accepted);

/* ---- call.c ---- */

/* A documented function: parts of its document, NULL where that lacks them. */
struct bfcl_function {
    const struct val *document; /* NULL = there is none */
    struct str name;
    const struct val *properties;
    const struct val *required;
};

struct bfcl_function bfcl_function_of(const struct val *document);

/* Checks one call against {function: {parameter: [accepted, …]}}. */
const char *bfcl_check_call(const struct bfcl_checker *c, const struct bfcl_function *function,
                            const struct bfcl_call *call, const struct val *expected);

/* ---- case.c ---- */

/* Checks all calls of a case by its category. */
const char *bfcl_check_calls(const struct bfcl_checker *c, const char *category,
                             const struct bfcl_case *k, const struct bfcl_calls *calls);

/* Whether a reply that cannot be read was meant as a call of an offered function. */
bool bfcl_means_call(const struct bfcl_case *k, const struct bfcl_result *r);
#endif
