/* Calls in the syntax of Java and JavaScript, f(a=1, b="x"): read as BFCL's parsers
 * (bfcl_eval/model_handler/parser of ShishirPatil/gorilla) read the trees of tree-sitter. Values
 * stay text: Java's without white space between tokens, JavaScript's as they are written. */
#include <string.h>

#include "evals/bfcl/bfcl_int.h"
#include "kernel/base/ascii.h"

enum { CODE_BYTES_MAX = 1 << 16, CODE_DEPTH_MAX = 200 };

/* Without its semicolon a Java statement so short is an error to tree-sitter, which rather skips a
 * text than think of a token that is missing. */
enum { JAVA_SKIPPED_BYTES_MAX = 10 };

enum kind { END, NAME, NUMBER, STRING, CHARACTER, TEMPLATE, PATTERN, SIGN, BAD };

struct token {
    enum kind kind;
    size_t from;
    size_t to;
};

/* An argument: a name and its value, or a lone name. */
struct argument {
    struct str name; /* n 0: a lone name, which is the value */
    struct str value;
};

/* The call that was read last: its function and its arguments. */
struct code_call {
    size_t from, name_to, to;
    struct argument *arguments;
    size_t n;
};

struct code {
    struct bfcl_work *work;
    bool java;
    struct str text;
    size_t *offsets; /* Java: of each character; NULL where all are of one byte */
    size_t n_chars;
    struct token now;
    size_t before; /* where the token before it ended */
    unsigned depth;
    struct str *spans; /* the text of Java's value at hand, in parts */
    size_t n_spans, cap_spans;
    struct code_call call;
};

static bool expression(struct code *c);

/* ---- tokens ---- */

static char char_at(const struct code *c, size_t at)
{
    return at < c->text.n ? c->text.p[at] : '\0';
}

static bool is_name_char(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           ch == '_' || ch == '$' || (unsigned char)ch >= 0x80;
}

/* Behind white space and comments. */
static size_t skip_space(const struct code *c, size_t at)
{
    for (;;) {
        while (at < c->text.n && memchr(" \t\r\n\f\v", c->text.p[at], 6) != NULL) {
            at++;
        }
        if (char_at(c, at) != '/' || (char_at(c, at + 1) != '/' && char_at(c, at + 1) != '*')) {
            return at;
        }
        struct str rest = str_slice(c->text, at + 2, c->text.n);
        bool line = char_at(c, at + 1) == '/';
        size_t end = str_find(rest, line ? STR("\n") : STR("*/"));
        at = end == SIZE_MAX ? c->text.n : at + 2 + end + (line ? 1 : 2);
    }
}

/* Behind the quote that ends what begins at `at`; 0 = there is none. */
static size_t quoted_end(const struct code *c, size_t at)
{
    char quote = c->text.p[at];
    for (at++; at < c->text.n; at++) {
        char ch = c->text.p[at];
        if (ch == quote) {
            return at + 1;
        }
        if (ch == '\n' && quote != '`') {
            return 0;
        }
        at += ch == '\\' ? 1 : 0;
    }
    return 0;
}

/* Behind a regular expression and its flags; 0 = it does not end. */
static size_t pattern_end(const struct code *c, size_t at)
{
    bool set = false;
    for (at++; at < c->text.n && c->text.p[at] != '\n'; at++) {
        char ch = c->text.p[at];
        if (ch == '/' && !set) {
            do {
                at++;
            } while (char_at(c, at) >= 'a' && char_at(c, at) <= 'z');
            return is_name_char(char_at(c, at)) ? 0 : at;
        }
        set = ch == '[' || (set && ch != ']');
        at += ch == '\\' ? 1 : 0;
    }
    return 0;
}

/* Behind a number; 0 = it has two points, or letters that no number ends with. */
static size_t number_end(const struct code *c, size_t at)
{
    const char *suffixes = c->java ? "fFdDlL" : "n";
    bool based = char_at(c, at) == '0' && memchr("xXbBoO", char_at(c, at + 1), 6) != NULL;
    unsigned points = 0;
    bool exponent = false;
    for (;; at++) {
        char ch = char_at(c, at);
        char next = char_at(c, at + 1);
        if (based ? is_name_char(ch) : ascii_digit(ch) || ch == '_') {
            continue;
        }
        if (ch == '.' && points == 0 && !exponent && !based) {
            points++;
        } else if ((ch == 'e' || ch == 'E') && !exponent) {
            exponent = true;
            at += next == '+' || next == '-' ? 1 : 0;
        } else {
            break;
        }
    }
    at += char_at(c, at) != '\0' && strchr(suffixes, char_at(c, at)) != NULL ? 1 : 0;
    return is_name_char(char_at(c, at)) || char_at(c, at) == '.' ? 0 : at;
}

static size_t sign_end(const struct code *c, size_t at)
{
    static const char *const signs[] = {
        ">>>=", "===", "!==", "**=", "<<=", ">>=", "&&=", "||=", "?\?=", "...", "->",
        "=>",   "::",  "++",  "--",  "&&",  "||",  "?\?", "?.",  "**",   "==",  "!=",
        "<=",   ">=",  "+=",  "-=",  "*=",  "/=",  "%=",  "&=",  "|=",   "^=",  "<<"};
    struct str rest = str_slice(c->text, at, c->text.n);
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (str_starts(rest, signs[i])) {
            return at + strlen(signs[i]);
        }
    }
    return strchr("()[]{},;:.?+-*/%&|^~!<>=", rest.p[0]) != NULL ? at + 1 : 0;
}

/* operand: a value is expected, so that a slash begins a pattern. */
static struct token token_at(const struct code *c, size_t at, bool operand)
{
    at = skip_space(c, at);
    struct token t = {END, at, at};
    if (at >= c->text.n) {
        return t;
    }
    char ch = c->text.p[at];
    if (ch == '"' || ch == '\'' || (ch == '`' && !c->java)) {
        t.kind = ch == '"' ? STRING : ch == '`' ? TEMPLATE : c->java ? CHARACTER : STRING;
        t.to = quoted_end(c, at);
    } else if (ascii_digit(ch) || (ch == '.' && ascii_digit(char_at(c, at + 1)))) {
        t.kind = NUMBER;
        t.to = number_end(c, at);
    } else if (is_name_char(ch)) {
        t.kind = NAME;
        while (is_name_char(char_at(c, t.to))) {
            t.to++;
        }
    } else if (ch == '/' && operand && !c->java) {
        t.kind = PATTERN;
        t.to = pattern_end(c, at);
    } else {
        t.kind = SIGN;
        t.to = ch == '\0' ? 0 : sign_end(c, at);
    }
    bool empty = t.kind == CHARACTER && t.to == at + 2;
    return t.to == 0 || empty ? (struct token){BAD, at, at} : t;
}

static struct str raw(const struct code *c, size_t from, size_t to)
{
    return str_slice(c->text, from, to);
}

static bool is(const struct code *c, struct token t, const char *text)
{
    return (t.kind == SIGN || t.kind == NAME) && str_is(raw(c, t.from, t.to), text);
}

/* The token behind `t`. */
static struct token token_after(const struct code *c, struct token t)
{
    bool operand = t.kind == SIGN ? !is(c, t, ")") && !is(c, t, "]") && !is(c, t, "}")
                                  : is(c, t, "typeof") || is(c, t, "return") || t.to == 0;
    return token_at(c, t.to, operand);
}

static void advance(struct code *c)
{
    c->before = c->now.to;
    c->now = token_after(c, c->now);
}

static bool at(const struct code *c, const char *text)
{
    return is(c, c->now, text);
}

static bool at_any(const struct code *c, const char *const *texts)
{
    for (; *texts != NULL; texts++) {
        if (at(c, *texts)) {
            return true;
        }
    }
    return false;
}

/* ---- the text of Java's values ---- */

/* What Python's source[from:to] is, with the places in bytes taken for places in characters: what
 * the official parser does. */
static struct str text_of(const struct code *c, size_t from, size_t to)
{
    if (c->offsets == NULL) {
        return raw(c, from, to);
    }
    size_t first = from < c->n_chars ? c->offsets[from] : c->text.n;
    size_t last = to < c->n_chars ? c->offsets[to] : c->text.n;
    return raw(c, first, last);
}

static void push(struct code *c, struct str s)
{
    if (!c->java) {
        return;
    }
    if (c->n_spans == c->cap_spans) {
        c->cap_spans = c->cap_spans == 0 ? 32 : 2 * c->cap_spans;
        struct str *more = arena_array(c->work->arena, c->cap_spans, sizeof *more);
        memcpy(more, c->n_spans == 0 ? more : c->spans, c->n_spans * sizeof *more);
        c->spans = more;
    }
    c->spans[c->n_spans++] = s;
}

/* Takes the token here into the value. */
static void keep(struct code *c)
{
    push(c, text_of(c, c->now.from, c->now.to));
    advance(c);
}

static bool keep_if(struct code *c, const char *text)
{
    bool here = at(c, text);
    if (here) {
        keep(c);
    }
    return here;
}

static bool take_if(struct code *c, const char *text)
{
    bool here = at(c, text);
    if (here) {
        advance(c);
    }
    return here;
}

static struct str joined(struct code *c, size_t mark)
{
    struct buf out = {0};
    for (size_t i = mark; i < c->n_spans; i++) {
        buf_add(&out, c->spans[i]);
    }
    struct str s = arena_str(c->work->arena, buf_str(&out));
    buf_free(&out);
    return s;
}

/* ---- parts that are only balanced ---- */

/* Keeps an open bracket and everything up to the one that closes it. */
static bool balanced(struct code *c)
{
    unsigned open = 0;
    do {
        if (at(c, "(") || at(c, "[") || at(c, "{")) {
            open++;
        } else if (at(c, ")") || at(c, "]") || at(c, "}")) {
            open--;
        } else if (c->now.kind == END || c->now.kind == BAD) {
            return false;
        }
        keep(c);
    } while (open > 0);
    return true;
}

/* The token behind the bracket that closes the one here. */
static struct token behind(const struct code *c)
{
    unsigned open = 0;
    struct token t = c->now;
    for (;;) {
        if (is(c, t, "(") || is(c, t, "[") || is(c, t, "{")) {
            open++;
        } else if (is(c, t, ")") || is(c, t, "]") || is(c, t, "}")) {
            open--;
        } else if (t.kind == END || t.kind == BAD) {
            return t;
        }
        t = token_after(c, t);
        if (open == 0) {
            return t;
        }
    }
}

/* ---- calls ---- */

static bool is_lone_name(const struct code *c, struct token t)
{
    static const char *const words[] = {"null", "false", "this", "undefined", "super", NULL};
    for (size_t i = 0; words[i] != NULL; i++) {
        if (is(c, t, words[i])) {
            return false;
        }
    }
    return t.kind == NAME && !(c->java && is(c, t, "true"));
}

static struct str unquoted(struct str s)
{
    bool quoted = s.n > 0 && (s.p[0] == '"' || s.p[0] == '\'') && s.p[s.n - 1] == s.p[0];
    return !quoted ? s : s.n < 2 ? (struct str){NULL, 0} : str_slice(s, 1, s.n - 1);
}

/* A value from its first token on, and its text. */
static bool value(struct code *c, struct str *out)
{
    size_t mark = c->n_spans;
    struct token first = c->now;
    if (!expression(c)) {
        return false;
    }
    bool literal = (first.kind == STRING || first.kind == CHARACTER) && c->before == first.to;
    struct str whole = c->java ? joined(c, mark) : raw(c, first.from, c->before);
    *out = !c->java || literal ? unquoted(whole) : whole;
    if (c->java && literal && whole.n >= 2) { /* whatever its ends are */
        *out = str_slice(whole, 1, whole.n - 1);
    }
    return true;
}

static void add_argument(struct code *c, struct code_call *call, struct argument a)
{
    if ((call->n & (call->n - 1)) == 0) {
        size_t cap = call->n == 0 ? 1 : 2 * call->n;
        struct argument *more = arena_array(c->work->arena, cap, sizeof *more);
        memcpy(more, call->n == 0 ? more : call->arguments, call->n * sizeof *more);
        call->arguments = more;
    }
    call->arguments[call->n++] = a;
}

static bool argument(struct code *c, struct code_call *call)
{
    struct token first = c->now;
    struct argument a = {0};
    if (!c->java && at(c, "...")) {
        advance(c);
        return expression(c);
    }
    if (first.kind == NAME && is(c, token_after(c, first), "=")) {
        a.name = text_of(c, first.from, first.to);
        keep(c);
        keep(c);
        if (!value(c, &a.value)) {
            return false;
        }
        add_argument(c, call, a);
        return true;
    }
    if (!expression(c)) {
        return false;
    }
    if (c->before == first.to && is_lone_name(c, first)) {
        a.value = text_of(c, first.from, first.to);
        add_argument(c, call, a);
    }
    return true;
}

/* ( … ), kept; the call is remembered as the last one. */
static bool arguments(struct code *c, size_t from)
{
    struct code_call call = {.from = from, .name_to = c->before};
    keep(c);
    while (!at(c, ")")) {
        if (!argument(c, &call)) {
            return false;
        }
        if (!at(c, ",")) {
            break;
        }
        keep(c);
        if (at(c, ")") && c->java) {
            return false;
        }
    }
    call.to = c->now.to;
    if (!keep_if(c, ")")) {
        return false;
    }
    c->call = call;
    return true;
}

/* ---- Java's new ---- */

/* A type's name with what is between < and >, kept. */
static bool type_name(struct code *c)
{
    do {
        if (c->now.kind != NAME) {
            return false;
        }
        keep(c);
        if (c->java && at(c, "<")) {
            int open = 0;
            do {
                open += at(c, "<") ? 1 : at(c, ">") ? -1 : 0;
                bool fits = c->now.kind == NAME || at(c, "<") || at(c, ">") || at(c, ",") ||
                            at(c, "?") || at(c, ".") || at(c, "[") || at(c, "]") || at(c, "&");
                if (!fits) {
                    return false;
                }
                keep(c);
            } while (open > 0);
        }
    } while (keep_if(c, "."));
    return true;
}

/* {a, {b}}, kept */
static bool array_items(struct code *c)
{
    if (++c->depth > CODE_DEPTH_MAX || !keep_if(c, "{")) {
        return false;
    }
    while (!at(c, "}")) {
        if (!(at(c, "{") ? array_items(c) : expression(c))) {
            return false;
        }
        if (!keep_if(c, ",")) {
            break;
        }
    }
    c->depth--;
    return keep_if(c, "}");
}

/* The arguments of a new object, with one comma and one space between them whatever is written. */
static bool java_arguments(struct code *c)
{
    push(c, STR("("));
    advance(c);
    while (!at(c, ")")) {
        if (!expression(c)) {
            return false;
        }
        if (take_if(c, ",")) {
            push(c, STR(", "));
            if (at(c, ")")) {
                return false;
            }
        } else if (!at(c, ")")) {
            return false;
        }
    }
    push(c, STR(")"));
    advance(c);
    return true;
}

/* new T[]{…}, new T(…) {…}: the body of a class is left out of the text. */
static bool java_new(struct code *c)
{
    advance(c);
    push(c, STR("new "));
    if (!type_name(c)) {
        return false;
    }
    if (at(c, "[")) {
        while (take_if(c, "[")) {
            if (!take_if(c, "]")) {
                return false; /* new T[5], on which the official parser breaks off */
            }
        }
        push(c, STR("[]"));
        return array_items(c);
    }
    if (!at(c, "(") || !java_arguments(c)) {
        return false;
    }
    size_t mark = c->n_spans;
    bool good = !at(c, "{") || balanced(c);
    c->n_spans = mark;
    return good;
}

/* ---- JavaScript's own literals ---- */

static bool js_items(struct code *c)
{
    advance(c);
    while (!at(c, "]")) {
        if (take_if(c, ",")) {
            continue;
        }
        take_if(c, "...");
        if (!expression(c)) {
            return false;
        }
        if (!at(c, ",") && !at(c, "]")) {
            return false;
        }
    }
    advance(c);
    return true;
}

/* A member of an object: key: value, a lone name, a method, or ...value */
static bool js_member(struct code *c)
{
    if (take_if(c, "...")) {
        return expression(c);
    }
    while ((at(c, "get") || at(c, "set") || at(c, "async")) &&
           token_after(c, c->now).kind == NAME) {
        advance(c);
    }
    bool name = c->now.kind == NAME;
    if (at(c, "[")) {
        if (!balanced(c)) {
            return false;
        }
    } else if (name || c->now.kind == STRING || c->now.kind == NUMBER) {
        advance(c);
    } else {
        return false;
    }
    if (take_if(c, ":")) {
        return expression(c);
    }
    if (at(c, "(")) {
        return balanced(c) && at(c, "{") && balanced(c);
    }
    return name && (!take_if(c, "=") || expression(c));
}

static bool js_object(struct code *c)
{
    advance(c);
    while (!at(c, "}")) {
        if (!js_member(c)) {
            return false;
        }
        if (!take_if(c, ",") && !at(c, "}")) {
            return false;
        }
    }
    advance(c);
    return true;
}

/* function name(…) {…}, class name {…} */
static bool js_definition(struct code *c)
{
    bool class = at(c, "class");
    advance(c);
    take_if(c, "*");
    while (c->now.kind == NAME || (class && at(c, "."))) {
        advance(c);
    }
    if (!class && (!at(c, "(") || !balanced(c))) {
        return false;
    }
    return at(c, "{") && balanced(c);
}

static bool js_new(struct code *c)
{
    advance(c);
    if (at(c, "new")) {
        return ++c->depth <= CODE_DEPTH_MAX && js_new(c);
    }
    if (!type_name(c)) {
        return false;
    }
    return !at(c, "(") || arguments(c, c->now.from);
}

/* ---- expressions ---- */

/* What follows -> or =>. */
static bool body(struct code *c)
{
    return at(c, "{") ? balanced(c) : expression(c);
}

static bool is_arrow(const struct code *c, struct token t)
{
    return is(c, t, c->java ? "->" : "=>");
}

/* ( … ): the parameters of a function, a cast, or a group. */
static bool parentheses(struct code *c)
{
    struct token next = behind(c);
    if (is_arrow(c, next)) {
        return balanced(c) && (keep(c), body(c));
    }
    bool operand = next.kind == NAME || next.kind == NUMBER || next.kind == STRING ||
                   next.kind == CHARACTER || is(c, next, "(") || is(c, next, "!");
    if (c->java && operand && !is(c, next, "instanceof")) {
        return balanced(c) && expression(c);
    }
    keep(c);
    if (!expression(c)) {
        return false;
    }
    while (!c->java && take_if(c, ",")) {
        if (!expression(c)) {
            return false;
        }
    }
    return keep_if(c, ")");
}

static bool primary(struct code *c)
{
    struct token first = c->now;
    switch (first.kind) {
    case NUMBER:
    case STRING:
    case CHARACTER:
    case TEMPLATE:
    case PATTERN: keep(c); return true;
    case SIGN:
        return at(c, "(")   ? parentheses(c)
               : c->java    ? false
               : at(c, "[") ? js_items(c)
               : at(c, "{") ? js_object(c)
                            : false;
    case NAME: break;
    case END:
    case BAD: return false;
    }
    if (at(c, "new")) {
        return c->java ? java_new(c) : js_new(c);
    }
    if (!c->java && (at(c, "function") || at(c, "class"))) {
        return js_definition(c);
    }
    if (!c->java && at(c, "async") && !is_arrow(c, token_after(c, first))) {
        advance(c);
        return primary(c);
    }
    keep(c);
    if (is_arrow(c, c->now)) {
        keep(c);
        return body(c);
    }
    return true;
}

/* [ … ] behind a value: an item of it, or nothing where it is Java's type of an array. */
static bool item(struct code *c)
{
    keep(c);
    if (c->java && keep_if(c, "]")) {
        return true;
    }
    if (!expression(c)) {
        return false;
    }
    return keep_if(c, "]");
}

/* .name, or .<T>name */
static bool member(struct code *c)
{
    keep(c);
    if (!c->java && (at(c, "(") || at(c, "["))) {
        return true; /* behind ?. */
    }
    if (c->java && at(c, "<")) {
        while (!at(c, ">")) {
            if (c->now.kind == END || c->now.kind == BAD) {
                return false;
            }
            keep(c);
        }
        keep(c);
    }
    if (c->now.kind != NAME) {
        return false;
    }
    keep(c);
    return true;
}

static bool postfix(struct code *c)
{
    size_t mark = c->n_spans;
    size_t from = c->now.from;
    bool named = c->now.kind == NAME; /* what may be called in Java */
    if (!primary(c)) {
        return false;
    }
    for (;;) {
        if (at(c, ".") || at(c, "?.")) {
            if (!member(c)) {
                return false;
            }
            named = true;
        } else if (at(c, "(") && (named || !c->java)) {
            if (!arguments(c, from)) {
                return false;
            }
            c->n_spans = mark; /* a call is taken as it is written */
            push(c, text_of(c, from, c->before));
            named = false;
        } else if (at(c, "[")) {
            if (!item(c)) {
                return false;
            }
            named = false;
        } else if (c->java && at(c, "::")) {
            keep(c);
            if (c->now.kind != NAME) {
                return false;
            }
            keep(c);
        } else if (at(c, "++") || at(c, "--") || c->now.kind == TEMPLATE) {
            keep(c);
        } else {
            return true;
        }
    }
}

static bool operand(struct code *c)
{
    static const char *const java[] = {"+", "-", "!", "~", "++", "--", NULL};
    static const char *const js[] = {"+",      "-",    "!",      "~",     "++", "--",
                                     "typeof", "void", "delete", "await", NULL};
    while (at_any(c, c->java ? java : js)) {
        keep(c);
    }
    return postfix(c);
}

/* An operator between two values, kept. */
static bool operator_here(struct code *c)
{
    static const char *const both[] = {"+",  "-",  "*",   "/",          "%",  "==", "!=", "<",
                                       ">",  "<=", ">=",  "&&",         "||", "&",  "|",  "^",
                                       "<<", "=",  "+=",  "-=",         "*=", "/=", "%=", "&=",
                                       "|=", "^=", "<<=", "instanceof", NULL};
    static const char *const js[] = {"===", "!==", "**",  "?\?",  "in",
                                     "**=", "&&=", "||=", "?\?=", NULL};
    if (!at_any(c, both) && (c->java || !at_any(c, js))) {
        return false;
    }
    bool shift = at(c, ">");
    keep(c);
    while (shift && (at(c, ">") || at(c, ">="))) { /* >> and >>> are read in parts */
        keep(c);
    }
    return true;
}

static bool expression(struct code *c)
{
    if (++c->depth > CODE_DEPTH_MAX || !operand(c)) {
        return false;
    }
    for (;;) {
        if (operator_here(c)) {
            if (!operand(c)) {
                return false;
            }
        } else if (at(c, "?")) {
            keep(c);
            if (!expression(c) || !keep_if(c, ":") || !expression(c)) {
                return false;
            }
        } else {
            c->depth--;
            return true;
        }
    }
}

/* ---- texts ---- */

/* The arguments of the call as a dict; false where a name comes twice. */
static bool call_value(struct code *c, const struct code_call *call, struct bfcl_call *out)
{
    struct bfcl_pair *pairs = arena_array(c->work->arena, call->n, sizeof *pairs);
    for (size_t i = 0; i < call->n; i++) {
        const struct argument *a = &call->arguments[i];
        pairs[i].key =
            a->name.p == NULL ? (struct bfcl_value){.type = BFCL_NONE} : bfcl_str(a->name);
        pairs[i].value = bfcl_str(a->value);
    }
    out->name = bfcl_str(text_of(c, call->from, call->name_to));
    return bfcl_dict(c->work->arena, pairs, call->n, &out->arguments) &&
           out->arguments.n == call->n;
}

/* Where each character of a Java text begins, unless all are of one byte. */
static void find_offsets(struct code *c)
{
    size_t n = utf8_count(c->text);
    if (n == c->text.n) {
        return;
    }
    c->offsets = arena_array(c->work->arena, n, sizeof *c->offsets);
    for (size_t from = 0; from < c->text.n;) {
        c->offsets[c->n_chars++] = from;
        utf8_next(c->text, &from);
    }
}

/* Statements; the first that is a call and nothing else is the call. */
static enum bfcl_reading statements(struct code *c, struct bfcl_calls *out)
{
    struct code_call found = {0};
    bool any = false;
    bool earlier = false; /* a statement before the one at hand */
    advance(c);
    while (c->now.kind != END) {
        if (take_if(c, ";")) {
            continue;
        }
        bool returned = take_if(c, "return");
        size_t from = c->now.from;
        c->call = (struct code_call){0};
        if (!expression(c)) {
            return BFCL_UNREADABLE;
        }
        bool call = c->call.to == c->before && c->call.from == from && !at(c, ",") &&
                    (c->java || !returned);
        if (call && !any) {
            found = c->call;
            any = true;
        }
        while (!c->java && take_if(c, ",")) {
            if (!expression(c)) {
                return BFCL_UNREADABLE;
            }
        }
        struct str gap = raw(c, c->before, c->now.from);
        bool apart = c->now.kind == END || at(c, ";") ||
                     (!c->java && gap.n > 0 && memchr(gap.p, '\n', gap.n) != NULL);
        bool skipped =
            c->java && c->now.kind == END && !earlier && c->before - from <= JAVA_SKIPPED_BYTES_MAX;
        if (!apart || skipped) {
            return BFCL_UNREADABLE;
        }
        earlier = true;
    }
    if (!any) {
        return BFCL_WRONG_FORMAT;
    }
    out->at = arena_alloc(c->work->arena, sizeof *out->at);
    out->n = 1;
    return call_value(c, &found, &out->at[0]) ? BFCL_READ : BFCL_UNREADABLE;
}

/* Whether all brackets are closed and none are too deep: the parser may then look ahead from one to
 * the one that closes it. */
static bool is_balanced(const struct code *c)
{
    struct token t = {END, 0, 0};
    int open = 0;
    do {
        t = token_after(c, t);
        open += is(c, t, "(") || is(c, t, "[") || is(c, t, "{") ? 1 : 0;
        open -= is(c, t, ")") || is(c, t, "]") || is(c, t, "}") ? 1 : 0;
    } while (t.kind != END && t.kind != BAD && open >= 0 && open <= CODE_DEPTH_MAX);
    return t.kind == END && open == 0;
}

static enum bfcl_reading read_code(struct bfcl_work *w, bool java, struct str text,
                                   struct bfcl_calls *out)
{
    struct code c = {.work = w, .java = java, .text = text};
    if (text.n > CODE_BYTES_MAX) {
        return BFCL_UNREADABLE;
    }
    if (java) {
        find_offsets(&c);
    }
    if (!is_balanced(&c)) {
        return BFCL_UNREADABLE;
    }
    return statements(&c, out);
}

enum bfcl_reading bfcl_read_java(struct bfcl_work *w, struct str text, struct bfcl_calls *out)
{
    return read_code(w, true, text, out);
}

enum bfcl_reading bfcl_read_js(struct bfcl_work *w, struct str text, struct bfcl_calls *out)
{
    return read_code(w, false, text, out);
}
