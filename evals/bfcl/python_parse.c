/* The expressions of Python's grammar, by recursive descent. Each function takes what its rule
 * names, or returns NULL, which ends the parse. */
#include <string.h>

#include "evals/bfcl/python_int.h"

enum { KEYWORD_BYTES_MAX = 8 };

struct parser {
    struct bfcl_work *work;
    struct py_tokens tokens;
    struct py_token now;
    unsigned nesting; /* of rules, beyond what brackets limit */
};

static struct py_node *expression(struct parser *p);
static struct py_node *named(struct parser *p);
static struct py_node *choice(struct parser *p);
static struct py_node *bit_or(struct parser *p);
static struct py_node *unary(struct parser *p);
static struct py_node *starred_or_named(struct parser *p);

/* ---- tokens ---- */

static void advance(struct parser *p)
{
    p->now = py_next(&p->tokens);
}

/* The first characters decide nearly always. */
static bool at_text(const struct parser *p, enum py_token_kind kind, const char *text)
{
    return p->now.kind == kind && p->now.text.p[0] == text[0] && str_is(p->now.text, text);
}

static bool at_sign(const struct parser *p, const char *sign)
{
    return at_text(p, PY_SIGN, sign);
}

static bool at_word(const struct parser *p, const char *word)
{
    return at_text(p, PY_WORD, word);
}

static bool take_sign(struct parser *p, const char *sign)
{
    bool here = at_sign(p, sign);
    if (here) {
        advance(p);
    }
    return here;
}

static bool take_word(struct parser *p, const char *word)
{
    bool here = at_word(p, word);
    if (here) {
        advance(p);
    }
    return here;
}

/* A sign that no operator begins with: nearly always one stands behind a value. */
static bool at_close(const struct parser *p)
{
    if (p->now.kind != PY_SIGN || p->now.text.n > 1) {
        return false;
    }
    switch (p->now.text.p[0]) {
    case ',':
    case ')':
    case ']':
    case '}':
    case ':':
    case '=': return true;
    default: return false;
    }
}

/* A word that is no keyword. Sorted by the first character. */
static bool at_name(const struct parser *p)
{
    static const char *const keywords[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
    const size_t n = sizeof keywords / sizeof keywords[0];
    if (p->now.kind != PY_WORD || p->now.text.n > KEYWORD_BYTES_MAX) {
        return p->now.kind == PY_WORD;
    }
    for (size_t i = 0; i < n && keywords[i][0] <= p->now.text.p[0]; i++) {
        if (keywords[i][0] == p->now.text.p[0] && at_word(p, keywords[i])) {
            return false;
        }
    }
    return true;
}

static struct str take_name(struct parser *p)
{
    struct str name = p->now.text;
    advance(p);
    return name;
}

/* ---- nodes ---- */

static struct py_node *node_new(struct parser *p, enum py_kind kind, struct str text)
{
    struct py_node *n = arena_alloc(p->work->arena, sizeof *n);
    n->kind = kind;
    n->text = text;
    n->depth = 1;
    return n;
}

static void deepen(struct py_node *n, const struct py_node *child)
{
    if (child != NULL && child->depth >= n->depth) {
        n->depth = child->depth + 1;
    }
}

/* A node with its parts; NULL where it is too deep. */
static struct py_node *node_of(struct parser *p, enum py_kind kind, struct str text,
                               struct py_node *left, struct py_node *right)
{
    struct py_node *n = node_new(p, kind, text);
    n->left = left;
    n->right = right;
    deepen(n, left);
    deepen(n, right);
    return n->depth > BFCL_DEPTH_MAX ? NULL : n;
}

/* Adds a child; the array grows by doubling at powers of two. */
static bool add_child(struct parser *p, struct py_node *n, struct str name, struct py_node *key,
                      struct py_node *child)
{
    if ((n->n & (n->n - 1)) == 0 || n->n == 0) {
        size_t cap = n->n == 0 ? 1 : 2 * n->n;
        struct py_child *more = arena_array(p->work->arena, cap, sizeof *more);
        memcpy(more, n->n == 0 ? more : n->children, n->n * sizeof *more);
        n->children = more;
    }
    n->children[n->n++] = (struct py_child){name, key, child};
    deepen(n, key);
    deepen(n, child);
    return n->depth <= BFCL_DEPTH_MAX;
}

static const struct str no_name = {NULL, 0};

/* Guards rules that nest without brackets. */
static bool enter(struct parser *p)
{
    return ++p->nesting <= BFCL_DEPTH_MAX;
}

/* ---- atoms ---- */

static struct py_node *constant(struct parser *p, struct bfcl_value value)
{
    struct py_node *n = node_new(p, PY_CONSTANT, no_name);
    n->value = value;
    return n;
}

/* Strings that stand side by side are one. */
static struct py_node *strings(struct parser *p)
{
    struct buf out = {0};
    struct py_token token = p->now;
    struct str source = token.text;
    bool unicode = source.p[0] == 'u' || source.p[0] == 'U';
    bool format = false, bytes = false, plain = false, good = true;
    advance(p);
    if (p->now.kind != PY_STRING && py_is_verbatim(source)) {
        return constant(p, bfcl_str(str_slice(source, 1, source.n - 1)));
    }
    while (good && token.kind == PY_STRING) {
        enum py_prefix prefix;
        source.n = (size_t)(token.text.p + token.text.n - source.p);
        good = py_string(token.text, &out, &prefix);
        format = format || prefix == PY_FORMAT;
        bytes = bytes || prefix == PY_BYTES;
        plain = plain || prefix != PY_BYTES;
        token = p->now;
        if (token.kind == PY_STRING) {
            advance(p);
        }
    }
    struct py_node *n = NULL;
    if (good && format && !bytes) {
        n = node_new(p, PY_FORMATTED, source);
    } else if (good && bytes && !plain) {
        struct buf repr = {0};
        py_repr_string(p->work, &repr, buf_str(&out), PY_BYTES);
        n = constant(p, (struct bfcl_value){.type = BFCL_OTHER,
                                            .text = arena_str(p->work->arena, buf_str(&repr))});
        buf_free(&repr);
    } else if (good && !bytes) {
        n = constant(p, bfcl_str(arena_str(p->work->arena, buf_str(&out))));
        n->unicode = unicode;
    }
    buf_free(&out);
    return n;
}

/* What may stand on the left of "in" or of an assignment. */
static bool is_target(const struct py_node *n)
{
    switch (n->kind) {
    case PY_NAME:
    case PY_ATTRIBUTE:
    case PY_SUBSCRIPT: return true;
    case PY_STARRED: return is_target(n->left);
    case PY_LIST:
    case PY_TUPLE:
        for (size_t i = 0; i < n->n; i++) {
            if (!is_target(n->children[i].node)) {
                return false;
            }
        }
        return true;
    case PY_CONSTANT:
    case PY_ELLIPSIS:
    case PY_FORMATTED:
    case PY_SLICE:
    case PY_CALL:
    case PY_UNARY:
    case PY_BINARY:
    case PY_BOOLEAN:
    case PY_COMPARE:
    case PY_CHOICE:
    case PY_LAMBDA:
    case PY_SET:
    case PY_DICT:
    case PY_COMPREHENSION:
    case PY_NAMED:
    case PY_AWAIT:
    case PY_YIELD: break;
    }
    return false;
}

/* star_targets: one, or several with commas. */
static struct py_node *targets(struct parser *p)
{
    struct py_node *all = node_new(p, PY_TUPLE, no_name);
    bool comma = false;
    do {
        struct str star = p->now.text;
        struct py_node *one;
        if (comma && at_word(p, "in")) {
            break;
        }
        if (take_sign(p, "*")) {
            one = bit_or(p);
            one = one == NULL ? NULL : node_of(p, PY_STARRED, star, one, NULL);
        } else {
            one = bit_or(p);
        }
        if (one == NULL || !is_target(one) || !add_child(p, all, no_name, NULL, one)) {
            return NULL;
        }
        comma = take_sign(p, ",");
    } while (comma);
    bool alone = all->n == 1 && !comma;
    if (alone && all->children[0].node->kind == PY_STARRED) {
        return NULL;
    }
    return alone ? all->children[0].node : all;
}

static bool at_comprehension(const struct parser *p)
{
    return at_word(p, "for") || at_word(p, "async");
}

/* "for x in y if z", any number, behind the element of a comprehension. */
static struct py_node *comprehension(struct parser *p, struct str open, struct py_node *left,
                                     struct py_node *right)
{
    struct py_node *n = node_of(p, PY_COMPREHENSION, open, left, right);
    while (n != NULL && at_comprehension(p)) {
        struct str name = take_word(p, "async") ? STR("async for") : STR("for");
        struct py_node *target = take_word(p, "for") ? targets(p) : NULL;
        struct py_node *from = target != NULL && take_word(p, "in") ? choice(p) : NULL;
        if (from == NULL || !add_child(p, n, name, target, from)) {
            return NULL;
        }
        while (take_word(p, "if")) {
            struct py_node *test = choice(p);
            if (test == NULL || !add_child(p, n, STR("if"), NULL, test)) {
                return NULL;
            }
        }
    }
    return n;
}

/* Items up to the closing bracket, which is taken; the first may be there already. */
static struct py_node *items(struct parser *p, enum py_kind kind, const char *close,
                             struct py_node *first)
{
    struct py_node *n = node_new(p, kind, no_name);
    if (first != NULL) {
        if (!add_child(p, n, no_name, NULL, first)) {
            return NULL;
        }
        if (!take_sign(p, ",")) {
            return take_sign(p, close) ? n : NULL;
        }
    }
    while (!take_sign(p, close)) {
        struct py_node *one = starred_or_named(p);
        if (one == NULL || !add_child(p, n, no_name, NULL, one)) {
            return NULL;
        }
        if (!take_sign(p, ",")) {
            return take_sign(p, close) ? n : NULL;
        }
    }
    return n;
}

/* yield, in parentheses. */
static struct py_node *yield(struct parser *p)
{
    struct py_node *value = NULL;
    advance(p);
    if (take_word(p, "from")) {
        value = expression(p);
        return value == NULL ? NULL : node_of(p, PY_YIELD, STR("yield from"), value, NULL);
    }
    if (!at_sign(p, ")")) {
        struct py_node *all = node_new(p, PY_TUPLE, no_name);
        bool comma = false;
        do {
            if (comma && at_sign(p, ")")) {
                break;
            }
            value = starred_or_named(p);
            if (value == NULL || value->kind == PY_NAMED ||
                !add_child(p, all, no_name, NULL, value)) {
                return NULL;
            }
            comma = take_sign(p, ",");
        } while (comma);
        if (all->n > 1 || comma) {
            value = all;
        } else if (value->kind == PY_STARRED) {
            return NULL;
        }
    }
    return node_of(p, PY_YIELD, STR("yield"), value, NULL);
}

/* ( … ): a group, a tuple or a generator. */
static struct py_node *parentheses(struct parser *p)
{
    advance(p);
    if (take_sign(p, ")")) {
        return node_new(p, PY_TUPLE, no_name);
    }
    if (at_word(p, "yield")) {
        struct py_node *y = yield(p);
        return y != NULL && take_sign(p, ")") ? y : NULL;
    }
    struct py_node *first = starred_or_named(p);
    if (first == NULL) {
        return NULL;
    }
    if (at_comprehension(p)) {
        bool plain = first->kind != PY_STARRED;
        first = plain ? comprehension(p, STR("("), first, NULL) : NULL;
        return first != NULL && take_sign(p, ")") ? first : NULL;
    }
    if (at_sign(p, ",")) {
        return items(p, PY_TUPLE, ")", first);
    }
    if (first->kind == PY_STARRED || !take_sign(p, ")")) {
        return NULL;
    }
    first->grouped = true;
    return first;
}

static struct py_node *brackets(struct parser *p)
{
    advance(p);
    if (at_sign(p, "]")) {
        return items(p, PY_LIST, "]", NULL);
    }
    struct py_node *first = starred_or_named(p);
    if (first != NULL && at_comprehension(p)) {
        first = first->kind == PY_STARRED ? NULL : comprehension(p, STR("["), first, NULL);
        return first != NULL && take_sign(p, "]") ? first : NULL;
    }
    return first == NULL ? NULL : items(p, PY_LIST, "]", first);
}

/* key: value, or **map; *key is NULL for the latter. */
static bool dict_item(struct parser *p, struct py_node **key, struct py_node **value)
{
    *key = NULL;
    if (take_sign(p, "**")) {
        *value = bit_or(p);
        return *value != NULL;
    }
    *key = expression(p);
    *value = *key != NULL && take_sign(p, ":") ? expression(p) : NULL;
    return *value != NULL;
}

/* The rest of a dict behind its first item. */
static struct py_node *dict(struct parser *p, struct py_node *key, struct py_node *value)
{
    if (key != NULL && at_comprehension(p)) {
        struct py_node *made = comprehension(p, STR("{"), key, value);
        return made != NULL && take_sign(p, "}") ? made : NULL;
    }
    struct py_node *n = node_new(p, PY_DICT, no_name);
    for (;;) {
        if (!add_child(p, n, no_name, key, value)) {
            return NULL;
        }
        bool comma = take_sign(p, ",");
        if (take_sign(p, "}")) {
            return n;
        }
        if (!comma || !dict_item(p, &key, &value)) {
            return NULL;
        }
    }
}

static struct py_node *braces(struct parser *p)
{
    struct py_node *value = NULL;
    advance(p);
    if (take_sign(p, "}")) {
        return node_new(p, PY_DICT, no_name);
    }
    if (at_sign(p, "**")) {
        struct py_node *key;
        return dict_item(p, &key, &value) ? dict(p, NULL, value) : NULL;
    }
    struct py_node *first = starred_or_named(p);
    if (first == NULL) {
        return NULL;
    }
    if (first->kind != PY_STARRED && (first->kind != PY_NAMED || first->grouped) &&
        take_sign(p, ":")) {
        value = expression(p);
        return value == NULL ? NULL : dict(p, first, value);
    }
    if (at_comprehension(p)) {
        first = first->kind == PY_STARRED ? NULL : comprehension(p, STR("{"), first, NULL);
        return first != NULL && take_sign(p, "}") ? first : NULL;
    }
    return items(p, PY_SET, "}", first);
}

static struct py_node *atom(struct parser *p)
{
    struct bfcl_value value = {.type = BFCL_NONE};
    switch (p->now.kind) {
    case PY_STRING: return strings(p);
    case PY_NUMBER:
        if (!py_number(p->work, p->now.text, &value)) {
            return NULL;
        }
        advance(p);
        return constant(p, value);
    case PY_SIGN:
        if (take_sign(p, "...")) {
            return node_new(p, PY_ELLIPSIS, no_name);
        }
        return at_sign(p, "(")   ? parentheses(p)
               : at_sign(p, "[") ? brackets(p)
               : at_sign(p, "{") ? braces(p)
                                 : NULL;
    case PY_WORD: break;
    case PY_END:
    case PY_NEWLINE:
    case PY_BAD: return NULL;
    }
    if (take_word(p, "None")) {
        return constant(p, value);
    }
    if (at_word(p, "True") || at_word(p, "False")) {
        value = (struct bfcl_value){.type = BFCL_BOOL, .boolean = at_word(p, "True")};
        advance(p);
        return constant(p, value);
    }
    return at_name(p) ? node_new(p, PY_NAME, take_name(p)) : NULL;
}

/* ---- what follows an atom ---- */

/* Where arguments are: the order of Python's rule. */
enum stage { STAGE_POSITIONS, STAGE_KEYWORDS, STAGE_UNPACKED };

/* One argument; *stage moves on. */
static bool argument(struct parser *p, struct py_node *call, enum stage *stage)
{
    struct str sign = p->now.text;
    struct py_node *value;
    if (take_sign(p, "**")) {
        *stage = STAGE_UNPACKED;
        value = expression(p);
        return value != NULL && add_child(p, call, STR("**"), NULL, value);
    }
    if (take_sign(p, "*")) {
        value = *stage == STAGE_UNPACKED ? NULL : expression(p);
        value = value == NULL ? NULL : node_of(p, PY_STARRED, sign, value, NULL);
        return value != NULL && add_child(p, call, no_name, NULL, value);
    }
    value = named(p);
    if (value == NULL) {
        return false;
    }
    if (at_sign(p, "=")) {
        struct str name = value->text;
        if (value->kind != PY_NAME || value->grouped) {
            return false;
        }
        advance(p);
        *stage = *stage == STAGE_POSITIONS ? STAGE_KEYWORDS : *stage;
        value = expression(p);
        return value != NULL && add_child(p, call, name, NULL, value);
    }
    if (at_comprehension(p)) { /* only as the one argument */
        value = call->n == 0 ? comprehension(p, STR("("), value, NULL) : NULL;
        return value != NULL && at_sign(p, ")") && add_child(p, call, no_name, NULL, value);
    }
    return *stage == STAGE_POSITIONS && add_child(p, call, no_name, NULL, value);
}

static struct py_node *call(struct parser *p, struct py_node *function)
{
    struct py_node *n = node_of(p, PY_CALL, no_name, function, NULL);
    enum stage stage = STAGE_POSITIONS;
    advance(p);
    while (n != NULL && !take_sign(p, ")")) {
        if (!argument(p, n, &stage)) {
            return NULL;
        }
        if (!take_sign(p, ",")) {
            return take_sign(p, ")") ? n : NULL;
        }
    }
    return n;
}

static struct py_node *slice(struct parser *p)
{
    struct py_node *parts[3] = {NULL, NULL, NULL};
    size_t colons = 0;
    struct str star = p->now.text;
    if (take_sign(p, "*")) {
        struct py_node *value = bit_or(p);
        return value == NULL ? NULL : node_of(p, PY_STARRED, star, value, NULL);
    }
    if (!at_sign(p, ":")) {
        parts[0] = named(p);
        if (parts[0] == NULL || !at_sign(p, ":")) {
            return parts[0];
        }
        if (parts[0]->kind == PY_NAMED && !parts[0]->grouped) {
            return NULL;
        }
    }
    while (colons < 2 && take_sign(p, ":")) {
        colons++;
        if (!at_sign(p, ":") && !at_sign(p, ",") && !at_sign(p, "]")) {
            parts[colons] = expression(p);
            if (parts[colons] == NULL) {
                return NULL;
            }
        }
    }
    struct py_node *n = node_of(p, PY_SLICE, no_name, parts[0], parts[1]);
    if (n != NULL) {
        n->third = parts[2];
        deepen(n, parts[2]);
    }
    return n;
}

static struct py_node *subscript(struct parser *p, struct py_node *of)
{
    struct py_node *all = node_new(p, PY_TUPLE, no_name);
    bool comma = false;
    advance(p);
    do {
        if (comma && at_sign(p, "]")) {
            break;
        }
        struct py_node *one = slice(p);
        if (one == NULL || !add_child(p, all, no_name, NULL, one)) {
            return NULL;
        }
        comma = take_sign(p, ",");
    } while (comma);
    bool alone = all->n == 1 && !comma && all->children[0].node->kind != PY_STARRED;
    struct py_node *index = alone ? all->children[0].node : all;
    return take_sign(p, "]") ? node_of(p, PY_SUBSCRIPT, no_name, of, index) : NULL;
}

static struct py_node *primary(struct parser *p)
{
    struct py_node *n = atom(p);
    while (n != NULL) {
        if (at_sign(p, "(")) {
            n = call(p, n);
        } else if (at_sign(p, "[")) {
            n = subscript(p, n);
        } else if (take_sign(p, ".")) {
            n = at_name(p) ? node_of(p, PY_ATTRIBUTE, take_name(p), n, NULL) : NULL;
        } else {
            return n;
        }
    }
    return NULL;
}

/* ---- operators ---- */

static struct py_node *power(struct parser *p)
{
    struct py_node *n;
    if (take_word(p, "await")) {
        n = primary(p);
        n = n == NULL ? NULL : node_of(p, PY_AWAIT, no_name, n, NULL);
    } else {
        n = primary(p);
    }
    if (n == NULL || !at_sign(p, "**")) {
        return n;
    }
    struct str sign = p->now.text;
    advance(p);
    struct py_node *right = unary(p);
    return right == NULL ? NULL : node_of(p, PY_BINARY, sign, n, right);
}

static struct py_node *unary(struct parser *p)
{
    struct py_node *n;
    if (!enter(p)) {
        return NULL;
    }
    if (at_sign(p, "+") || at_sign(p, "-") || at_sign(p, "~")) {
        struct str sign = p->now.text;
        advance(p);
        n = unary(p);
        n = n == NULL ? NULL : node_of(p, PY_UNARY, sign, n, NULL);
    } else {
        n = power(p);
    }
    p->nesting--;
    return n;
}

/* The levels of binary operators, the loosest first. */
static const char *const levels[][6] = {{"|", NULL},      {"^", NULL},
                                        {"&", NULL},      {"<<", ">>", NULL},
                                        {"+", "-", NULL}, {"*", "/", "//", "%", "@", NULL}};
enum { LEVELS = sizeof levels / sizeof levels[0] };

static bool at_level(const struct parser *p, size_t level)
{
    for (size_t i = 0; levels[level][i] != NULL; i++) {
        if (at_sign(p, levels[level][i])) {
            return true;
        }
    }
    return false;
}

/* The level of the operator here, LEVELS where there is none. */
static size_t level_here(const struct parser *p)
{
    size_t level = p->now.kind == PY_SIGN && !at_close(p) ? 0 : LEVELS;
    while (level < LEVELS && !at_level(p, level)) {
        level++;
    }
    return level;
}

/* Operators of `level` and tighter, by precedence climbing. */
static struct py_node *binary(struct parser *p, size_t level)
{
    struct py_node *n = unary(p);
    size_t here;
    while (n != NULL && (here = level_here(p)) < LEVELS && here >= level) {
        struct str sign = p->now.text;
        advance(p);
        struct py_node *right = binary(p, here + 1);
        n = right == NULL ? NULL : node_of(p, PY_BINARY, sign, n, right);
    }
    return n;
}

static struct py_node *bit_or(struct parser *p)
{
    return binary(p, 0);
}

/* A comparison's operator, taken; n 0 = there is none. */
static struct str comparison_sign(struct parser *p)
{
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
    if (at_close(p)) {
        return no_name;
    }
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (take_sign(p, signs[i])) {
            return str_of(signs[i]);
        }
    }
    if (take_word(p, "in")) {
        return STR("in");
    }
    if (take_word(p, "is")) {
        return take_word(p, "not") ? STR("is not") : STR("is");
    }
    if (take_word(p, "not")) { /* an operator here only before "in" */
        return take_word(p, "in") ? STR("not in") : STR("not");
    }
    return no_name;
}

static struct py_node *comparison(struct parser *p)
{
    struct py_node *first = bit_or(p);
    struct py_node *n = NULL;
    for (;;) {
        struct str sign = first == NULL ? no_name : comparison_sign(p);
        if (sign.n == 0) {
            return n != NULL ? n : first;
        }
        struct py_node *right = str_is(sign, "not") ? NULL : bit_or(p);
        n = n != NULL ? n : node_of(p, PY_COMPARE, no_name, first, NULL);
        if (right == NULL || n == NULL || !add_child(p, n, sign, NULL, right)) {
            return NULL;
        }
    }
}

static struct py_node *inversion(struct parser *p)
{
    struct py_node *n;
    if (!enter(p)) {
        return NULL;
    }
    if (take_word(p, "not")) {
        n = inversion(p);
        n = n == NULL ? NULL : node_of(p, PY_UNARY, STR("not"), n, NULL);
    } else {
        n = comparison(p);
    }
    p->nesting--;
    return n;
}

static struct py_node *joined(struct parser *p, const char *word,
                              struct py_node *(*part)(struct parser *p))
{
    struct py_node *first = part(p);
    if (first == NULL || !at_word(p, word)) {
        return first;
    }
    struct py_node *n = node_new(p, PY_BOOLEAN, p->now.text);
    if (!add_child(p, n, no_name, NULL, first)) {
        return NULL;
    }
    while (take_word(p, word)) {
        struct py_node *next = part(p);
        if (next == NULL || !add_child(p, n, no_name, NULL, next)) {
            return NULL;
        }
    }
    return n;
}

static struct py_node *conjunction(struct parser *p)
{
    return joined(p, "and", inversion);
}

/* disjunction */
static struct py_node *choice(struct parser *p)
{
    return joined(p, "or", conjunction);
}

/* The parameters of a lambda, without annotations. */
static bool parameters(struct parser *p, struct py_node *n)
{
    bool star = false, slash = false, defaults = false, bare = false;
    while (!at_sign(p, ":")) {
        struct str name = p->now.text;
        struct py_node *value = NULL;
        if (take_sign(p, "/")) {
            if (slash || star || n->n == 0) {
                return false;
            }
            slash = true;
        } else if (take_sign(p, "**")) {
            name =
                at_name(p) ? arena_printf(p->work->arena, "**%.*s", STR_FMT(p->now.text)) : no_name;
            if (name.n == 0 || bare) {
                return false;
            }
            advance(p);
            take_sign(p, ",");
            return at_sign(p, ":") && add_child(p, n, name, NULL, NULL);
        } else if (take_sign(p, "*")) {
            if (star) {
                return false;
            }
            star = true;
            bare = !at_name(p);
            struct str rest = bare ? no_name : take_name(p);
            name = arena_printf(p->work->arena, "*%.*s", STR_FMT(rest));
            defaults = false;
        } else if (at_name(p)) {
            advance(p);
            bare = false;
            if (take_sign(p, "=")) {
                value = expression(p);
                if (value == NULL) {
                    return false;
                }
                defaults = !star;
            } else if (defaults) {
                return false;
            }
        } else {
            return false;
        }
        if (!add_child(p, n, name, NULL, value)) {
            return false;
        }
        if (!take_sign(p, ",")) {
            break;
        }
    }
    return !bare;
}

static struct py_node *lambda(struct parser *p)
{
    struct py_node *n = node_new(p, PY_LAMBDA, no_name);
    if (!parameters(p, n) || !take_sign(p, ":")) {
        return NULL;
    }
    n->left = expression(p);
    deepen(n, n->left);
    return n->left == NULL || n->depth > BFCL_DEPTH_MAX ? NULL : n;
}

static struct py_node *conditional(struct parser *p)
{
    struct py_node *n = choice(p);
    if (n == NULL || !take_word(p, "if")) {
        return n;
    }
    struct py_node *test = choice(p);
    struct py_node *other = test != NULL && take_word(p, "else") ? expression(p) : NULL;
    n = other == NULL ? NULL : node_of(p, PY_CHOICE, no_name, n, test);
    if (n != NULL) {
        n->third = other;
        deepen(n, other);
    }
    return n == NULL || n->depth > BFCL_DEPTH_MAX ? NULL : n;
}

/* A constant or a name alone, as most expressions are: no level of operators has to look at it.
 * NULL: it goes on, and nothing is taken. */
static struct py_node *lone_atom(struct parser *p)
{
    const struct py_token first = p->now;
    const size_t at = p->tokens.at;
    const unsigned depth = p->tokens.depth;
    if (first.kind != PY_STRING && first.kind != PY_NUMBER && first.kind != PY_WORD) {
        return NULL;
    }
    struct py_node *n = atom(p);
    if (n != NULL && at_close(p)) {
        return n;
    }
    p->now = first;
    p->tokens.at = at;
    p->tokens.depth = depth; /* what follows was at most one bracket that opens */
    return NULL;
}

static struct py_node *expression(struct parser *p)
{
    struct py_node *n = NULL;
    if (enter(p)) {
        n = p->nesting < BFCL_DEPTH_MAX / 2 ? lone_atom(p) : NULL;
        n = n != NULL ? n : take_word(p, "lambda") ? lambda(p) : conditional(p);
    }
    p->nesting--;
    return n;
}

/* named_expression: x := y, or an expression. */
static struct py_node *named(struct parser *p)
{
    struct py_node *n = expression(p);
    if (n == NULL || !at_sign(p, ":=")) {
        return n;
    }
    if (n->kind != PY_NAME || n->grouped) {
        return NULL;
    }
    advance(p);
    struct py_node *value = expression(p);
    return value == NULL ? NULL : node_of(p, PY_NAMED, n->text, value, NULL);
}

static struct py_node *starred_or_named(struct parser *p)
{
    struct str star = p->now.text;
    if (!take_sign(p, "*")) {
        return named(p);
    }
    struct py_node *value = bit_or(p);
    return value == NULL ? NULL : node_of(p, PY_STARRED, star, value, NULL);
}

/* One expression, or several with commas, and nothing behind it. */
struct py_node *py_parse(struct bfcl_work *w, struct str text)
{
    struct parser p = {.work = w, .tokens = {.work = w, .text = text}};
    advance(&p);
    struct py_node *n = expression(&p);
    if (n != NULL && at_sign(&p, ",")) {
        struct py_node *all = node_new(&p, PY_TUPLE, no_name);
        while (n != NULL && add_child(&p, all, no_name, NULL, n) && take_sign(&p, ",")) {
            if (p.now.kind == PY_END || p.now.kind == PY_NEWLINE) {
                break;
            }
            n = expression(&p);
        }
        n = n == NULL ? NULL : all;
    }
    while (p.now.kind == PY_NEWLINE) {
        advance(&p);
    }
    return p.now.kind == PY_END ? n : NULL;
}
